//! Neural Amp Modeler's `.nam` files: LSTM, WaveNet, ConvNet, Linear, Sequential, and containers of
//! several sizes.

mod config;
mod conv_net;
mod functions;
mod linear;
mod lstm;
mod nested;
mod network;
mod sequential;
mod wavenet;
mod weights;

use super::causal::Causal;
use super::json::{Json, Object};
use super::{AmplifierModel, Network, about, of_metadata, refusal, remaining};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::front::keys::Spanned;
use crate::model::{LedgerEntry, counted};
use config::Config;
use lstm::LstmSizes;
use nested::ARCHITECTURES;
use network::{Outer, Reader};

/// Keys with facts about the model.
const ABOUT: [&str; 1] = ["sample_rate"];

/// # Errors
/// If the architectures may have another meaning in the version: it is not 0.5.0 to 0.7.x.
fn known_version(version: &Json, place: &str) -> Result<(), Diagnostic> {
    let is_known = |version: &str| {
        let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
        let known = matches!(
            (parts.next(), parts.next(), parts.next()),
            (Some(Some(0)), Some(Some(5..=7)), Some(Some(_)))
        );
        known && parts.next().is_none()
    };
    if matches!(version, Json::Text(text) if is_known(text)) {
        return Ok(());
    }
    let place = if place.is_empty() { "\"version\"" } else { place };
    let found = refusal(place, format!("the version is {}", quoted(&version.to_string())));
    Err(found.valid("0.5.0 to 0.7.x"))
}

pub(super) fn read(mut file: Object, name: Spanned<String>) -> Result<AmplifierModel, Diagnostics> {
    let version = file.need("version", "")?;
    known_version(&version, "")?;
    let architecture = file.need("architecture", "")?;
    let mut ledger = vec![about("version", &version)];
    let mut warnings = Diagnostics::default();
    if let Some(metadata) = file.take("metadata") {
        ledger.extend(of_metadata(metadata, &METADATA));
    }
    let config = file.need("config", "")?;
    let Json::Text(architecture) = architecture else {
        return Err(other_architecture(&architecture.to_string()).into());
    };
    let network = match &architecture[..] {
        "SlimmableContainer" => {
            let found = container(&mut file, config, name)?;
            ledger.extend(found.ledger);
            warnings.extend(found.warnings);
            found.network
        }
        "LSTM" => {
            let weights = numbers(&file.need("weights", "")?)?;
            Network::Stack(Box::new(LstmSizes::of(config)?.stack(&weights, name)?))
        }
        _ => {
            let sample_rate = file.get("sample_rate").filter(|rate| **rate != Json::Null).cloned();
            let mut outer = Outer { sample_rate, ledger: Vec::new(), depth: 0, reader };
            let read = reader(&architecture).ok_or_else(|| other_architecture(&architecture))?;
            let weights = numbers(&file.need("weights", "")?)?;
            let network = read(Config::of(config, "\"config\"")?, weights, &mut outer)?;
            ledger.append(&mut outer.ledger);
            ledger.push(Causal::rest());
            let (mut causal, x) = Causal::new("NAM's network", network.inputs());
            let out = network.add(&mut causal, "", &x);
            Network::Model(Box::new(causal.model(out, &name)))
        }
    };
    remaining(file, &ABOUT, &mut ledger, &mut warnings);
    Ok(AmplifierModel { network, ledger, warnings })
}

/// The reader of a network of convolutions. `None` for another architecture.
fn reader(architecture: &str) -> Option<Reader> {
    Some(match architecture {
        "WaveNet" => wavenet::read,
        "ConvNet" => conv_net::read,
        "Linear" => linear::read,
        "Sequential" | "sequential" => sequential::read,
        _ => return None,
    })
}

/// Keys of the metadata by which a host adjusts its levels.
const METADATA: [&str; 4] = ["loudness", "gain", "input_level_dbu", "output_level_dbu"];

fn other_architecture(architecture: &str) -> Diagnostic {
    let found = format!("the architecture is {}", quoted(architecture));
    refusal("\"architecture\"", found)
        .valid(format!("LSTM, {ARCHITECTURES} and SlimmableContainer, of NAM's architectures"))
        .help("export it to ONNX in the program that trains it, and compile the .onnx file")
}

/// The weights of a model.
fn numbers(weights: &Json) -> Result<Vec<f32>, Diagnostic> {
    let Json::List(weights) = weights else {
        return Err(refusal("\"weights\"", "the weights are no list").valid("a list of numbers"));
    };
    let number = |(i, weight): (usize, &Json)| weight.f32(&format!("\"weights\", number {i}"));
    weights.iter().enumerate().map(number).collect()
}

/// Reads a container of models of several sizes, sorted by the largest value of the size control
/// for each model. The last model, for the value 1, is NAM's default and is read.
fn container(
    file: &mut Object,
    config: Json,
    name: Spanned<String>,
) -> Result<AmplifierModel, Diagnostics> {
    const PLACE: &str = "\"config\", \"submodels\"";
    if file
        .take("weights")
        .is_some_and(|weights| !matches!(&weights, Json::Null) && weights != Json::List(Vec::new()))
    {
        return Err(refusal("\"weights\"", "a SlimmableContainer with weights of its own")
            .valid("an empty list")
            .into());
    }
    let mut config = Object::of(config)
        .ok_or_else(|| refusal("\"config\"", "the configuration is no object"))?;
    let submodels = config.need("submodels", "\"config\"")?;
    if let Some((key, value)) = config.rest().next() {
        let found = format!("{} is {value}, and cellc does not know what it means", quoted(&key));
        return Err(refusal("\"config\"", found).valid("submodels alone").into());
    }
    let Json::List(submodels) = submodels else {
        return Err(refusal(PLACE, "the submodels are no list").into());
    };
    let (count, mut before, mut last) = (submodels.len(), f32::NEG_INFINITY, None);
    for (number, submodel) in submodels.into_iter().enumerate() {
        let place = format!("{PLACE}, number {number}");
        let mut submodel =
            Object::of(submodel).ok_or_else(|| refusal(&place, "the submodel is no object"))?;
        let most = submodel.need("max_value", &place)?.f32(&format!("{place}, \"max_value\""))?;
        let model = submodel.need("model", &place)?;
        if let Some((key, value)) = submodel.rest().next() {
            let found =
                format!("{} is {value}, and cellc does not know what it means", quoted(&key));
            return Err(refusal(&place, found).valid("max_value and model").into());
        }
        if most <= before {
            return Err(refusal(&place, format!("a max_value of {most} after {before}"))
                .valid("ascending ones")
                .into());
        }
        (before, last) = (most, Some((place, model)));
    }
    let Some((place, model)) = last.filter(|_| before >= 1.0) else {
        let found = format!("{count} submodels, the last up to a max_value of {before}");
        return Err(refusal(PLACE, found).valid("a last one with a max_value of 1 or more").into());
    };
    let rate =
        |object: &Object| object.get("sample_rate").filter(|rate| **rate != Json::Null).cloned();
    let model = Object::of(model).ok_or_else(|| refusal(&place, "the model is no object"))?;
    if let (Some(own), Some(outer)) = (rate(&model), rate(file))
        && own != outer
    {
        let found = format!("a sample_rate of {own} in a container with {outer}");
        return Err(refusal(&place, found).valid("one sample_rate").into());
    }
    let mut found = read(model, name).map_err(|mut problems| {
        for problem in &mut problems.0 {
            let inner = problem.layer.take().filter(|inner| !inner.is_empty());
            problem.layer = Some(inner.map_or(place.clone(), |inner| format!("{place}, {inner}")));
        }
        problems
    })?;
    let taken =
        format!("the last of {}, which is the largest, is compiled", counted(count, "submodel"));
    found.ledger.insert(
        0,
        LedgerEntry { meaning: taken, ..about("submodels", &Json::Number(count as f64)) },
    );
    Ok(found)
}
