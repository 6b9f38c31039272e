//! NAM's Sequential: complete models, each of which reads the output of the model before.

use super::super::causal::{Causal, Signal, total};
use super::super::json::Json;
use super::super::refusal;
use super::config::Config;
use super::nested::nested;
use super::network::{Network, Outer};
use crate::diagnostic::Diagnostic;
use crate::model::counted;

/// Networks one after the other.
struct Sequential(Vec<Box<dyn Network>>);

/// Reads the models of a Sequential one after the other.
pub(super) fn read(
    mut config: Config,
    weights: Vec<f32>,
    outer: &mut Outer,
) -> Result<Box<dyn Network>, Diagnostic> {
    if !weights.is_empty() {
        let found = format!("{} of a Sequential", counted(weights.len(), "weight"));
        return Err(refusal("\"weights\"", found).valid("an empty list, and weights in each model"));
    }
    match config.take("weights_version") {
        None => {}
        Some(Json::Number(2.0)) => {}
        Some(version) => {
            return Err(config.refused(format!("weights_version is {version}")).valid("2"));
        }
    }
    let key = if config.has("models") { "models" } else { "layers" };
    let key_path = config.path_of(key);
    let Json::List(models) = config.need(key)? else {
        return Err(refusal(&key_path, "the models are no list").valid("a list of models"));
    };
    config.finish("models and weights_version")?;
    let mut networks: Vec<Box<dyn Network>> = Vec::new();
    for (number, model) in models.into_iter().enumerate() {
        let key_path = format!("{key_path}, number {number}");
        let network = nested(model, &key_path, outer)?;
        if let Some(before) = networks.last()
            && before.outputs() != network.inputs()
        {
            let found = format!(
                "{} after {}",
                counted(network.inputs(), "input"),
                counted(before.outputs(), "output")
            );
            return Err(refusal(&key_path, found).valid("as many inputs as outputs"));
        }
        networks.push(network);
    }
    match networks.is_empty() {
        true => Err(refusal(&key_path, "there is no model").valid("one or more")),
        false => Ok(Box::new(Sequential(networks))),
    }
}

impl Network for Sequential {
    fn inputs(&self) -> usize {
        self.0.first().map_or(0, |network| network.inputs())
    }

    fn outputs(&self) -> usize {
        self.0.last().map_or(0, |network| network.outputs())
    }

    fn past(&self) -> u64 {
        total(self.0.iter().map(|network| network.past()))
    }

    fn add(&self, net: &mut Causal, prefix: &str, x: &Signal) -> Signal {
        let mut out = x.clone();
        for (number, network) in self.0.iter().enumerate() {
            out = network.add(net, &format!("{prefix}model_{number}_"), &out);
        }
        out
    }
}
