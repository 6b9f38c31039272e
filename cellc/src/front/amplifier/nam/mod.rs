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
use super::rate::Rates;
use super::{AmplifierModel, Network, about, of_metadata, one_size, refusal, remaining};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::front::keys::Spanned;
use crate::model::{LedgerEntry, ModelSize, counted, wrong_past};
use config::Config;
use lstm::LstmSizes;
use nested::ARCHITECTURES;
use network::{Outer, Reader};

/// Keys with facts about the model.
const ABOUT: [&str; 1] = ["sample_rate"];

/// Checks the version of a file or of a nested model.
///
/// # Errors
/// If the version is not 0.5.0 to 0.7.x: the architectures may have another meaning.
fn known_version(version: &Json, key_path: &str) -> Result<(), Diagnostic> {
    let is_known = |version: &str| {
        let mut parts = version.split('.').map(|part| {
            // digits only, as parse accepts a plus sign
            part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u32>().ok())?
        });
        let known = matches!(
            (parts.next(), parts.next(), parts.next()),
            (Some(Some(0)), Some(Some(5..=7)), Some(Some(_)))
        );
        known && parts.next().is_none()
    };
    if matches!(version, Json::Text(text) if is_known(text)) {
        return Ok(());
    }
    let key_path = if key_path.is_empty() { "\"version\"" } else { key_path };
    let found = refusal(key_path, format!("the version is {version}"));
    Err(found.valid("0.5.0 to 0.7.x"))
}

/// The sample rate of files that give none, in Hz.
const DEFAULT_RATE: u64 = 48_000;

/// Reads a model. `size`: the size of a model that has several; default: the largest.
/// `sample_rate`: the rate of the code in Hz; default: the rate of the model.
pub(super) fn read(
    mut file: Object,
    name: Spanned<String>,
    size: Option<ModelSize>,
    sample_rate: Option<usize>,
) -> Result<AmplifierModel, Diagnostics> {
    let version = file.need("version", "")?;
    known_version(&version, "")?;
    let architecture = file.need("architecture", "")?;
    let mut ledger = vec![about("version", &version)];
    let mut warnings = Diagnostics::default();
    if let Some(metadata) = file.take("metadata") {
        ledger.extend(of_metadata(metadata, &METADATA));
    }
    let config = file.need("config", "")?;
    let Json::Text(known) = &architecture else {
        return Err(other_architecture(&architecture).into());
    };
    let mut size = size;
    let rate = stored_rate(&file);
    let stored: Vec<_> = rate.iter().map(|rate| ("sample_rate", rate.clone())).collect();
    let rates = Rates::new(&stored, Some(DEFAULT_RATE), sample_rate, &mut warnings)?;
    let mut code_rate = rates.code_rate();
    let network = match &known[..] {
        "SlimmableContainer" => {
            let found = container(&mut file, config, name, size.take(), sample_rate)?;
            ledger.extend(found.ledger);
            warnings.extend(found.warnings);
            code_rate = found.code_rate;
            found.network
        }
        "LSTM" => {
            let weights = numbers(&file.need("weights", "")?)?;
            let mut stack = LstmSizes::parse(config)?.stack(&weights, name)?;
            stack.state_delay = rates.state_delay()?;
            ledger.extend(rates.ledger());
            Network::Stack(Box::new(stack))
        }
        _ => {
            let mut outer = Outer {
                sample_rate: rate,
                ledger: Vec::new(),
                warnings: Diagnostics::default(),
                depth: 0,
                reader,
                size,
            };
            let read = reader(known).ok_or_else(|| other_architecture(&architecture))?;
            let weights = weights(known, &mut file, "")?;
            let network = read(Config::parse(config, "\"config\"")?, weights, &mut outer)?;
            let past = rates.past(network.past());
            if let Some(valid) = wrong_past(past) {
                let found = format!("{past} values of the past of all layers");
                return Err(refusal("\"config\"", found).valid(valid).into());
            }
            ledger.append(&mut outer.ledger);
            warnings.extend(outer.warnings);
            size = outer.size;
            ledger.push(Causal::rest());
            ledger.extend(rates.ledger());
            let (mut causal, x) = Causal::new("NAM's network", network.inputs(), rates);
            let out = network.add(&mut causal, "", &x);
            Network::Model(Box::new(causal.model(out, &name)?))
        }
    };
    // the reader of a model with several sizes has taken `size`: a size that is left is an error
    if size.is_some() {
        return Err(one_size().into());
    }
    remaining(file, &ABOUT, &mut ledger, &mut warnings);
    Ok(AmplifierModel { network, ledger, warnings, code_rate })
}

/// The sample rate in a file. `None` if the file gives no rate.
fn stored_rate(file: &Object) -> Option<Json> {
    file.get("sample_rate").filter(|rate| **rate != Json::Null).cloned()
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

/// Keys of the metadata that hosts use to adjust levels; only the ledger of a model lists them.
const METADATA: [&str; 4] = ["loudness", "gain", "input_level_dbu", "output_level_dbu"];

fn other_architecture(architecture: &Json) -> Diagnostic {
    let found = format!("the architecture is {architecture}");
    refusal("\"architecture\"", found)
        .valid(format!("LSTM, {ARCHITECTURES} and SlimmableContainer, of NAM's architectures"))
        .help("export it to ONNX in the program that trains it, and compile the .onnx file")
}

/// The list of weights of a model. A Sequential may have none.
fn weights(architecture: &str, file: &mut Object, key_path: &str) -> Result<Vec<f32>, Diagnostic> {
    if ["Sequential", "sequential"].contains(&architecture) && !file.has("weights") {
        return Ok(Vec::new());
    }
    numbers(&file.need("weights", key_path)?)
}

/// The weights of a model.
fn numbers(weights: &Json) -> Result<Vec<f32>, Diagnostic> {
    let Json::List(weights) = weights else {
        return Err(refusal("\"weights\"", "the weights are no list").valid("a list of numbers"));
    };
    let number = |(i, weight): (usize, &Json)| weight.weight(&format!("\"weights\", number {i}"));
    weights.iter().enumerate().map(number).collect()
}

/// Reads a SlimmableContainer: models of several sizes, smallest first. Each has a `max_value`:
/// settings of the size control below this value, and not below an earlier one, select the model.
/// The last model is NAM's default.
fn container(
    file: &mut Object,
    config: Json,
    name: Spanned<String>,
    size: Option<ModelSize>,
    sample_rate: Option<usize>,
) -> Result<AmplifierModel, Diagnostics> {
    if file
        .take("weights")
        .is_some_and(|weights| !matches!(&weights, Json::Null) && weights != Json::List(Vec::new()))
    {
        return Err(refusal("\"weights\"", "a SlimmableContainer with weights of its own")
            .valid("an empty list")
            .into());
    }
    let mut submodels = submodels(config)?;
    let count = submodels.len();
    let at = match size.unwrap_or(ModelSize::Largest) {
        ModelSize::Largest => count - 1,
        ModelSize::Smallest => 0,
        ModelSize::Control(control) => {
            let found = submodels.iter().position(|submodel| control < submodel.most);
            found.unwrap_or(count - 1)
        }
    };
    let Submodel { key_path, model, .. } = submodels.swap_remove(at);
    let model =
        Object::from_json(model).ok_or_else(|| refusal(&key_path, "the model is no object"))?;
    if let (Some(own), Some(outer)) = (stored_rate(&model), stored_rate(file))
        && own != outer
    {
        let found = format!("a sample_rate of {own} in a container with {outer}");
        return Err(refusal(&key_path, found).valid("one sample_rate").into());
    }
    let model = model.with_default("sample_rate", stored_rate(file));
    let mut found = read(model, name, None, sample_rate).map_err(|mut problems| {
        for problem in &mut problems.0 {
            let inner = problem.layer.take().filter(|inner| !inner.is_empty());
            problem.layer =
                Some(inner.map_or(key_path.clone(), |inner| format!("{key_path}, {inner}")));
        }
        problems
    })?;
    let submodels = counted(count, "submodel");
    let meaning = match at + 1 == count {
        true => format!("the last of {submodels}, which is the largest, is compiled"),
        false => format!("number {at} of {submodels}, from 0, is compiled"),
    };
    let entry = LedgerEntry { meaning, ..about("submodels", &Json::Number(count as f64)) };
    found.ledger.insert(0, entry);
    Ok(found)
}

/// A model of a container.
struct Submodel {
    key_path: String,
    /// Settings of the size control below this value select the model.
    most: f32,
    model: Json,
}

/// The models of a container, one or more.
fn submodels(config: Json) -> Result<Vec<Submodel>, Diagnostic> {
    let mut config = Config::parse(config, "\"config\"")?;
    let list_path = config.path_of("submodels");
    let submodels = config.need("submodels")?;
    config.finish("submodels alone")?;
    let Json::List(submodels) = submodels else {
        return Err(refusal(&list_path, "the submodels are no list"));
    };
    let (count, mut all) = (submodels.len(), Vec::<Submodel>::new());
    for (number, submodel) in submodels.into_iter().enumerate() {
        let key_path = format!("{list_path}, number {number}");
        let mut submodel = Config::parse(submodel, &key_path)?;
        let most = submodel.need("max_value")?.f32(&submodel.path_of("max_value"))?;
        let model = submodel.need("model")?;
        submodel.finish("max_value and model")?;
        let before = all.last().map_or(f32::NEG_INFINITY, |before| before.most);
        if most <= before {
            return Err(refusal(&key_path, format!("a max_value of {most} after {before}"))
                .valid("ascending ones"));
        }
        all.push(Submodel { key_path, most, model });
    }
    let Some(most) = all.last().map(|last| last.most) else {
        return Err(refusal(&list_path, "there is no submodel").valid("one submodel or more"));
    };
    if most < 1.0 {
        let found = format!("{count} submodels, the last up to a max_value of {most}");
        return Err(refusal(&list_path, found).valid("a last one with a max_value of 1 or more"));
    }
    Ok(all)
}
