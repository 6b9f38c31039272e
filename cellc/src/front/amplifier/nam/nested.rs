//! Complete models inside other models.

use super::super::json::{Json, Object};
use super::super::{about, refusal};
use super::config::Config;
use super::network::{Network, Outer};
use super::{known_version, weights};
use crate::diagnostic::{Diagnostic, quoted};

/// Most models inside one another.
const DEEPEST: usize = 8;

/// The architectures, for messages.
pub(super) const ARCHITECTURES: &str = "WaveNet, ConvNet, Linear, Sequential";

/// Reads a model inside another one.
pub(super) fn nested(
    model: Json,
    place: &str,
    outer: &mut Outer,
) -> Result<Box<dyn Network>, Diagnostic> {
    if outer.depth == DEEPEST {
        let found = format!("models in models, more than {DEEPEST} deep");
        return Err(refusal(place, found));
    }
    let mut model =
        Object::from_json(model).ok_or_else(|| refusal(place, "the model is no object"))?;
    // a model without a version is of the version around it
    if let Some(version) = model.take("version") {
        known_version(&version, place)?;
    }
    let architecture = model.need("architecture", place)?;
    let Json::Text(architecture) = architecture else {
        return Err(refusal(place, format!("the architecture is {architecture}")));
    };
    if let (Some(own), Some(of_outer)) =
        (model.take("sample_rate").filter(|rate| *rate != Json::Null), outer.sample_rate.as_ref())
        && own != *of_outer
    {
        let found = format!("a sample_rate of {own} in a model with {of_outer}");
        return Err(refusal(place, found).valid("one sample_rate"));
    }
    let reader = (outer.reader)(&architecture).ok_or_else(|| {
        let found = format!("the architecture is {}", quoted(&architecture));
        refusal(place, found).valid(format!("inside another model, {ARCHITECTURES}"))
    })?;
    let config = Config::parse(model.need("config", place)?, &format!("{place}, \"config\""))?;
    let of_weights = |problem| within(problem, place);
    let weights = weights(&architecture, &mut model, place).map_err(of_weights)?;
    outer.depth += 1;
    let network = reader(config, weights, outer).map_err(of_weights);
    outer.depth -= 1;
    let network = network?;
    let key_of = |key: String| format!("{}, {key}", place.replace('"', ""));
    outer.ledger.extend(model.rest().map(|(key, value)| about(&key_of(key), &value)));
    Ok(network)
}

/// A problem whose place does not begin with the place of the nested model.
fn within(mut problem: Diagnostic, place: &str) -> Diagnostic {
    let inner = problem.layer.take().unwrap_or_default();
    problem.layer = Some(match inner.starts_with(place) {
        true => inner,
        false => format!("{place}, {inner}"),
    });
    problem
}
