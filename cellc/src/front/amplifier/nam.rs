//! Neural Amp Modeler's `.nam` files: LSTM, Linear, and containers with several sizes of these.

use super::json::{Json, Object};
use super::{AmplifierModel, about, of_metadata, refusal, remaining};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::front::keys::Spanned;
use crate::front::layer::Declared;
use crate::front::layout::{Framework, Named, WeightSet};
use crate::front::stack::Stack;
use crate::front::weights::DenseLayer;
use crate::model::{Family, LedgerEntry, Tensor, counted};

/// Name of the layers in messages.
const DECLARED_BY: &str = "NAM's LSTM";

/// Keys with facts about the model.
const ABOUT: [&str; 1] = ["sample_rate"];

/// True for versions of the format with the known meaning of an LSTM: 0.5.0 to 0.7.x.
fn is_known(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let known = matches!(
        (parts.next(), parts.next(), parts.next()),
        (Some(Some(0)), Some(Some(5..=7)), Some(Some(_)))
    );
    known && parts.next().is_none()
}

/// The contents of a file without the sizes of its layers.
struct Parts {
    name: Spanned<String>,
    config: Json,
    weights: Vec<f32>,
}

pub(super) fn read(mut file: Object, name: Spanned<String>) -> Result<AmplifierModel, Diagnostics> {
    let version = file.need("version", "")?;
    if !matches!(&version, Json::Text(text) if is_known(text)) {
        let found =
            refusal("\"version\"", format!("the version is {}", quoted(&version.to_string())));
        return Err(found.valid("0.5.0 to 0.7.x").into());
    }
    let architecture = file.need("architecture", "")?;
    let mut ledger = vec![about("version", &version)];
    let mut warnings = Diagnostics::default();
    if let Some(metadata) = file.take("metadata") {
        ledger.extend(of_metadata(metadata, &["loudness", "input_level_dbu", "output_level_dbu"]));
    }
    let config = file.need("config", "")?;
    if matches!(&architecture, Json::Text(text) if text == "SlimmableContainer") {
        let found = container(&mut file, config, name)?;
        ledger.extend(found.ledger);
        remaining(file, &ABOUT, &mut ledger, &mut warnings);
        warnings.extend(found.warnings);
        return Ok(AmplifierModel { stack: found.stack, ledger, warnings });
    }
    let read: fn(Parts) -> Result<Stack, Diagnostics> = match &architecture {
        Json::Text(text) if text == "LSTM" => {
            |parts| LstmSizes::of(parts.config)?.stack(&parts.weights, parts.name)
        }
        Json::Text(text) if text == "Linear" => linear,
        other => {
            let found = refusal(
                "\"architecture\"",
                format!("the architecture is {}", quoted(&other.to_string())),
            );
            let help =
                "export it to ONNX in the program that trains it, and compile the .onnx file";
            return Err(found
                .valid("LSTM, Linear and SlimmableContainer, of NAM's architectures")
                .help(help)
                .into());
        }
    };
    let weights = numbers(&file.need("weights", "")?)?;
    remaining(file, &ABOUT, &mut ledger, &mut warnings);
    Ok(AmplifierModel { stack: read(Parts { name, config, weights })?, ledger, warnings })
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

/// An impulse response (FIR filter): the weighted sum of the last samples, newest first, plus a
/// bias.
fn linear(Parts { name, config, weights }: Parts) -> Result<Stack, Diagnostics> {
    const PLACE: &str = "\"config\"";
    let mut config =
        Object::of(config).ok_or_else(|| refusal(PLACE, "the configuration is no object"))?;
    let taps = config.size("receptive_field", PLACE)?;
    let Json::Bool(has_bias) = config.need("bias", PLACE)? else {
        return Err(refusal(PLACE, "the bias is no boolean").valid("true or false").into());
    };
    for channels in ["in_channels", "out_channels"] {
        let given = config.take(channels).filter(|given| *given != Json::Number(1.0));
        if let Some(given) = given {
            return Err(refusal(PLACE, format!("{channels} is {given}")).valid("1").into());
        }
    }
    // the key selects an algorithm for the same sums
    config.take("implementation");
    if let Some((key, value)) = config.rest().next() {
        let found = format!("{} is {value}, and cellc does not know what it means", quoted(&key));
        return Err(refusal(PLACE, found)
            .valid("receptive_field, bias, in_channels and out_channels")
            .into());
    }
    let needed = taps + usize::from(has_bias);
    if weights.len() != needed {
        let found = format!("{} for a receptive field of {taps}", counted(weights.len(), "weight"));
        return Err(refusal("\"weights\"", found).valid(format!("{needed} weights")).into());
    }
    let (response, bias) = weights.split_at(taps);
    // the window has the newest sample last
    let reversed: Vec<f32> = response.iter().rev().copied().collect();
    let mut stack = Stack::new("NAM's Linear", name, Spanned::unplaced(1), None, None);
    let bias = bias.first().map(|bias| tensor(&[1], &[*bias]));
    stack.push_window(DenseLayer { weight: tensor(&[1, taps], &reversed), bias, activation: None });
    Ok(stack)
}

struct LstmSizes {
    input_size: usize,
    hidden_size: usize,
    num_layers: usize,
}

impl LstmSizes {
    fn of(config: Json) -> Result<Self, Diagnostic> {
        const PLACE: &str = "\"config\"";
        let found = config.to_string();
        let Some(mut config) = Object::of(config) else {
            return Err(refusal(PLACE, format!("the configuration is {found}")).valid("an object"));
        };
        let sizes = Self {
            input_size: config.size("input_size", PLACE)?,
            hidden_size: config.size("hidden_size", PLACE)?,
            num_layers: config.size("num_layers", PLACE)?,
        };
        match config.rest().next() {
            None => Ok(sizes),
            Some((key, value)) => Err(refusal(
                PLACE,
                format!("{} is {value}, and cellc does not know what it means", quoted(&key)),
            )
            .valid("input_size, hidden_size and num_layers alone")),
        }
    }

    /// Input size of a layer.
    fn inputs(&self, layer: usize) -> usize {
        if layer == 0 { self.input_size } else { self.hidden_size }
    }

    /// Number of weights in a file. Each layer has rows of `[4H, in + H]`, biases, and initial h
    /// and c. The head and its bias follow.
    fn weights(&self) -> u64 {
        let [inputs, hidden, layers] =
            [self.input_size, self.hidden_size, self.num_layers].map(|size| size as u64);
        let layer = |inputs: u64| 4 * hidden * (inputs + hidden) + 4 * hidden + 2 * hidden;
        layer(inputs) + (layers - 1) * layer(hidden) + hidden + 1
    }

    fn stack(&self, values: &[f32], name: Spanned<String>) -> Result<Stack, Diagnostics> {
        let hidden = self.hidden_size;
        let needed = self.weights();
        if values.len() as u64 != needed {
            let [inputs, units] =
                [(self.input_size, "input"), (hidden, "unit")].map(|(n, what)| counted(n, what));
            let layers = counted(self.num_layers, "layer");
            let found =
                format!("{} for {layers} of {units} and {inputs}", counted(values.len(), "weight"));
            return Err(refusal("\"weights\"", found).valid(format!("{needed} weights")).into());
        }
        let mut rest = values;
        let mut next = |count: usize| {
            let (taken, after) = rest.split_at(count);
            rest = after;
            taken
        };
        let mut stack =
            Stack::new(DECLARED_BY, name.clone(), Spanned::unplaced(self.input_size), None, None);
        for layer in 0..self.num_layers {
            let inputs = self.inputs(layer);
            // a row of the matrix multiplies x, then h
            let matrix = next(4 * hidden * (inputs + hidden));
            let columns = |from: usize, to: usize| -> Vec<f32> {
                matrix.chunks(inputs + hidden).flat_map(|row| &row[from..to]).copied().collect()
            };
            let named = |name: &str, shape: &[usize], values: &[f32]| Named {
                name: name.to_owned(),
                tensor: tensor(shape, values),
                flat: false,
            };
            let rows = 4 * hidden;
            let set = WeightSet {
                w: named("W", &[rows, inputs], &columns(0, inputs)),
                r: named("R", &[rows, hidden], &columns(inputs, inputs + hidden)),
                // the file has the sum of PyTorch's two biases
                biases: vec![
                    named("B", &[rows], next(rows)),
                    named("zero", &[rows], &vec![0.0; rows]),
                ],
                peepholes: None,
            };
            let initial = [next(hidden), next(hidden)].map(|state| tensor(&[hidden], state)).into();
            let declared = Declared::new(
                Family::Lstm,
                DECLARED_BY,
                name.clone(),
                Spanned::unplaced(hidden),
                Spanned::unplaced(inputs),
            );
            stack.add_recurrent(declared, Framework::PyTorch, set, initial)?;
        }
        let weight = tensor(&[1, hidden], next(hidden));
        stack.push_dense(DenseLayer {
            weight,
            bias: Some(tensor(&[1], next(1))),
            activation: None,
        });
        Ok(stack)
    }
}

fn tensor(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_f32(shape.to_vec(), values).expect("as many values as the shape has")
}
