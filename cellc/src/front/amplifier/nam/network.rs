//! Networks of convolutions and work on each sample, alone or inside other networks.

use super::super::causal::{Causal, Signal};
use super::super::json::{Json, Object};
use super::super::{about, refusal};
use super::config::Config;
use super::{conv_net, known_version, linear, numbers, wavenet};
use crate::diagnostic::{Diagnostic, quoted};
use crate::model::{LedgerEntry, counted};

/// A network that gives as many samples as it reads.
pub(super) trait Network {
    /// Number of input channels.
    fn inputs(&self) -> usize;

    /// Number of output channels.
    fn outputs(&self) -> usize;

    /// Adds the network. `prefix`: the beginning of names of nodes.
    fn add(&self, net: &mut Causal, prefix: &str, x: &Signal) -> Signal;
}

/// The file around a nested model.
pub(super) struct Outer {
    /// Samples per second. `None` if the file does not say.
    pub sample_rate: Option<Json>,
    /// Facts about nested models without influence on their results.
    pub ledger: Vec<LedgerEntry>,
    /// Number of models around this one.
    pub depth: usize,
}

/// Most models inside one another.
const DEEPEST: usize = 8;

/// The architectures, for messages.
pub(super) const ARCHITECTURES: &str = "WaveNet, ConvNet, Linear, Sequential";

/// Reads the network of a model. `None` for another architecture.
pub(super) fn read(
    architecture: &str,
    config: Json,
    weights: impl FnOnce() -> Result<Vec<f32>, Diagnostic>,
    place: &str,
    outer: &mut Outer,
) -> Result<Option<Box<dyn Network>>, Diagnostic> {
    let place =
        if place.is_empty() { "\"config\"".to_owned() } else { format!("{place}, \"config\"") };
    let config = Config::of(config, &place)?;
    Ok(Some(match architecture {
        "WaveNet" => wavenet::read(config, weights()?, outer)?,
        "ConvNet" => conv_net::read(config, weights()?)?,
        "Linear" => linear::read(config, weights()?)?,
        "Sequential" | "sequential" => Box::new(Sequential::read(config, weights()?, outer)?),
        _ => return Ok(None),
    }))
}

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
    let mut model = Object::of(model).ok_or_else(|| refusal(place, "the model is no object"))?;
    known_version(&model.need("version", place)?, place)?;
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
    let config = model.need("config", place)?;
    let weights = model.need("weights", place);
    outer.depth += 1;
    let network = read(&architecture, config, || numbers(&weights?), place, outer);
    outer.depth -= 1;
    let network = network.map_err(|problem| within(problem, place))?.ok_or_else(|| {
        let found = format!("the architecture is {}", quoted(&architecture));
        refusal(place, found).valid(format!("inside another model, {ARCHITECTURES}"))
    })?;
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

/// Networks one after the other.
struct Sequential(Vec<Box<dyn Network>>);

impl Sequential {
    fn read(mut config: Config, weights: Vec<f32>, outer: &mut Outer) -> Result<Self, Diagnostic> {
        if !weights.is_empty() {
            let found = format!("{} of a Sequential", counted(weights.len(), "weight"));
            return Err(
                refusal("\"weights\"", found).valid("an empty list, and weights in each model")
            );
        }
        match config.take("weights_version") {
            None => {}
            Some(version) if version == Json::Number(2.0) => {}
            Some(version) => {
                return Err(config.refused(format!("weights_version is {version}")).valid("2"));
            }
        }
        let key = if config.has("models") { "models" } else { "layers" };
        let place = config.place_of(key);
        let Json::List(models) = config.need(key)? else {
            return Err(refusal(&place, "the models are no list").valid("a list of models"));
        };
        config.finish("models and weights_version")?;
        let mut networks: Vec<Box<dyn Network>> = Vec::new();
        for (number, model) in models.into_iter().enumerate() {
            let place = format!("{place}, number {number}");
            let network = nested(model, &place, outer)?;
            if let Some(before) = networks.last()
                && before.outputs() != network.inputs()
            {
                let found = format!(
                    "{} after {}",
                    counted(network.inputs(), "input"),
                    counted(before.outputs(), "output")
                );
                return Err(refusal(&place, found).valid("as many inputs as outputs"));
            }
            networks.push(network);
        }
        match networks.is_empty() {
            true => Err(refusal(&place, "there is no model").valid("one or more")),
            false => Ok(Self(networks)),
        }
    }
}

impl Network for Sequential {
    fn inputs(&self) -> usize {
        self.0.first().map_or(0, |network| network.inputs())
    }

    fn outputs(&self) -> usize {
        self.0.last().map_or(0, |network| network.outputs())
    }

    fn add(&self, net: &mut Causal, prefix: &str, x: &Signal) -> Signal {
        let mut out = x.clone();
        for (number, network) in self.0.iter().enumerate() {
            out = network.add(net, &format!("{prefix}model_{number}_"), &out);
        }
        out
    }
}
