//! Complete models inside other models.

use super::super::json::{Json, Object};
use super::super::{about, refusal};
use super::config::Config;
use super::network::{Network, Outer};
use super::{known_version, weights};
use crate::diagnostic::{Diagnostic, quoted};

/// The deepest nesting of models.
const DEEPEST: usize = 8;

/// The architectures, for messages.
pub(super) const ARCHITECTURES: &str = "WaveNet, ConvNet, Linear, Sequential";

/// Reads a model inside another one.
pub(super) fn nested(
    model: Json,
    key_path: &str,
    outer: &mut Outer,
) -> Result<Box<dyn Network>, Diagnostic> {
    if outer.depth == DEEPEST {
        let found = format!("models in models, more than {DEEPEST} deep");
        return Err(refusal(key_path, found));
    }
    let mut model =
        Object::from_json(model).ok_or_else(|| refusal(key_path, "the model is no object"))?;
    // a model without a version has the version of the outer model
    if let Some(version) = model.take("version") {
        known_version(&version, key_path)?;
    }
    let architecture = model.need("architecture", key_path)?;
    let Json::Text(architecture) = architecture else {
        return Err(refusal(key_path, format!("the architecture is {architecture}")));
    };
    if let (Some(own), Some(of_outer)) =
        (model.take("sample_rate").filter(|rate| *rate != Json::Null), outer.sample_rate.as_ref())
        && own != *of_outer
    {
        let found = format!("a sample_rate of {own} in a model with {of_outer}");
        return Err(refusal(key_path, found).valid("one sample_rate"));
    }
    let reader = (outer.reader)(&architecture).ok_or_else(|| {
        let found = format!("the architecture is {}", quoted(&architecture));
        refusal(key_path, found).valid(format!("inside another model, {ARCHITECTURES}"))
    })?;
    let config =
        Config::parse(model.need("config", key_path)?, &format!("{key_path}, \"config\""))?;
    let of_weights = |problem| within(problem, key_path);
    let weights = weights(&architecture, &mut model, key_path).map_err(of_weights)?;
    outer.depth += 1;
    let network = reader(config, weights, outer).map_err(of_weights);
    outer.depth -= 1;
    let network = network?;
    let key_of = |key: String| format!("{}, {key}", key_path.replace('"', ""));
    outer.ledger.extend(model.rest().map(|(key, value)| about(&key_of(key), &value)));
    Ok(network)
}

/// The problem, with a place that begins with the place of the nested model.
fn within(mut problem: Diagnostic, key_path: &str) -> Diagnostic {
    let inner = problem.layer.take().unwrap_or_default();
    problem.layer = Some(match inner.starts_with(key_path) {
        true => inner,
        false => format!("{key_path}, {inner}"),
    });
    problem
}
