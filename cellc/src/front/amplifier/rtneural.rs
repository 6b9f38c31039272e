//! The JSON of RTNeural, with AIDA-X's extensions: a skip connection and gains.

use super::json::{Json, Object};
use super::{AmplifierModel, Network, about, of_metadata, refusal, remaining};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::front::keys::{Key, Spanned};
use crate::front::layer::Declared;
use crate::front::layout::{Framework, Named, WeightSet};
use crate::front::stack::Stack;
use crate::front::weights::DenseLayer;
use crate::model::{Activation, Family, LedgerEntry, Tensor, counted, shape_text};

/// Name of the layers in messages.
const DECLARED_BY: &str = "RTNeural's layer";

/// Keys with facts about the model, written by trainers and plug-ins. `input_batch` and
/// `output_batch` are test data of the trainer.
const ABOUT: [&str; 16] = [
    "author",
    "based",
    "dataset",
    "date",
    "description",
    "esr",
    "input_batch",
    "license",
    "name",
    "output_batch",
    "param1",
    "param2",
    "samplerate",
    "source",
    "style",
    "version",
];

/// RTNeural's types of layers that are supported.
const VALID_LAYERS: &str = "lstm, gru, dense, time-distributed-dense, activation";

pub(super) fn read(mut file: Object, name: Spanned<String>) -> Result<AmplifierModel, Diagnostics> {
    let shape = file.need("in_shape", "")?;
    let input_size = last(&shape, "\"in_shape\"")?;
    let Json::List(layers) = file.need("layers", "")? else {
        return Err(refusal("\"layers\"", "the layers are no list").into());
    };
    if layers.is_empty() {
        return Err(refusal("\"layers\"", "there is no layer").valid(VALID_LAYERS).into());
    }
    let mut ledger =
        vec![LedgerEntry { meaning: counted(input_size, "input"), ..about("in_shape", &shape) }];
    let mut warnings = Diagnostics::default();
    let mut stack =
        Stack::new(DECLARED_BY, name.clone(), Spanned::unplaced(input_size), None, None);
    let mut before = input_size;
    for (number, layer) in layers.into_iter().enumerate() {
        before = add(&mut stack, &name, layer, &format!("\"layers\", number {number}"), before)?;
    }
    if let Some(skip) = file.take("in_skip") {
        let on = match skip {
            Json::Null | Json::Bool(false) => false,
            Json::Bool(true) => true,
            Json::Number(number) if number == 0.0 || number == 1.0 => number == 1.0,
            other => {
                return Err(refusal("\"in_skip\"", format!("the skip is {other}"))
                    .valid("0 or 1")
                    .into());
            }
        };
        if on && (input_size, before) != (1, 1) {
            let found = format!(
                "a skip over {} and {}",
                counted(input_size, "input"),
                counted(before, "output")
            );
            return Err(refusal("\"in_skip\"", found)
                .valid("a skip where there is one input and one output")
                .into());
        }
        stack.skip = on.then(|| Spanned::unplaced(true));
        ledger.push(LedgerEntry {
            meaning: if on { "the input is added to the output" } else { "the input is not added" }
                .to_owned(),
            ..about("in_skip", &skip)
        });
    }
    for (key, of_input) in [("in_gain", true), ("out_gain", false)] {
        let Some(value) = file.take(key).filter(|value| *value != Json::Null) else { continue };
        let place = format!("\"{key}\"");
        let gain = factor(value.f32(&place)?);
        if !gain.is_finite() {
            return Err(
                refusal(&place, format!("a gain of {value} dB is more than f32 holds")).into()
            );
        }
        if of_input && gain != 1.0 && input_size != 1 {
            let found = format!("a gain of {value} dB, and {input_size} inputs");
            return Err(refusal(&place, found).valid("a gain where there is one input").into());
        }
        let gains = if of_input { &mut stack.input_gain } else { &mut stack.output_gain };
        *gains = (gain != 1.0).then_some(gain);
        let what = if of_input { "the input" } else { "the output, the skip included," };
        ledger.push(LedgerEntry {
            meaning: format!("{what} is multiplied by {gain}"),
            ..about(key, &value)
        });
    }
    if let Some(metadata) = file.take("metadata") {
        ledger.extend(of_metadata(metadata, &["samplerate"]));
    }
    remaining(file, &ABOUT, &mut ledger, &mut warnings);
    Ok(AmplifierModel { network: Network::Stack(Box::new(stack)), ledger, warnings })
}

/// The factor of a gain in dB, computed as in AIDA-X: 0 at -90 dB and below.
pub(super) fn factor(decibels: f32) -> f32 {
    if decibels > -90.0 { 10f64.powf(f64::from(decibels) * 0.05) as f32 } else { 0.0 }
}

/// The last size of a shape. Sizes before it may be open.
fn last(shape: &Json, place: &str) -> Result<usize, Diagnostic> {
    let size = match shape {
        Json::List(sizes) if sizes.len() <= 3 => sizes.last().and_then(Json::size),
        _ => None,
    };
    size.ok_or_else(|| {
        refusal(place, "the shape does not end in a size").valid("[null, null, SIZE]")
    })
}

/// Adds a layer with `inputs` inputs to the stack. Returns the layer's number of outputs.
fn add(
    stack: &mut Stack,
    name: &Spanned<String>,
    layer: Json,
    place: &str,
    inputs: usize,
) -> Result<usize, Diagnostics> {
    let Some(mut layer) = Object::of(layer) else {
        return Err(refusal(place, "the layer is no object").into());
    };
    let kind = layer.need("type", place)?;
    let Json::Text(kind) = kind else {
        return Err(refusal(place, format!("the type is {kind}")).valid(VALID_LAYERS).into());
    };
    let family = match &kind[..] {
        "lstm" => Some(Family::Lstm),
        "gru" => Some(Family::Gru),
        "dense" | "time-distributed-dense" | "activation" => None,
        _ => {
            let found = refusal(place, format!("a layer of the type {}", quoted(&kind)));
            let help = "export the network to ONNX in the program that trains it, and compile the \
                .onnx file";
            return Err(found.valid(VALID_LAYERS).help(help).into());
        }
    };
    let units = last(&layer.need("shape", place)?, &format!("{place}, \"shape\""))?;
    let activation = activation(layer.take("activation"), place)?;
    let weights = match layer.take("weights") {
        None | Some(Json::Null) if kind == "activation" => Vec::new(),
        Some(Json::List(weights)) => weights,
        _ => return Err(refusal(place, "there is no list of weights").into()),
    };
    if let Some((key, value)) = layer.rest().next() {
        let found = format!("{} is {value}, and cellc does not know what it means", quoted(&key));
        return Err(refusal(place, found).valid("type, activation, shape and weights").into());
    }
    let wanted: &[&str] = match &kind[..] {
        "activation" => &[],
        "dense" | "time-distributed-dense" => &["kernel", "bias"],
        _ => &["kernel", "recurrent_kernel", "bias"],
    };
    if weights.len() != wanted.len() {
        let valid = if wanted.is_empty() { "none".to_owned() } else { wanted.join(", ") };
        return Err(refusal(place, format!("{} tensors of weights", weights.len()))
            .valid(valid)
            .into());
    }
    let mut tensors = Vec::new();
    for (weight, name) in weights.iter().zip(wanted) {
        tensors.push(Named {
            name: (*name).to_owned(),
            tensor: weight.tensor(&format!("{place}, {name}"))?,
            flat: false,
        });
    }
    let in_layer = |problems: Diagnostics| {
        let in_layer =
            |problem: Diagnostic| Diagnostic { layer: Some(place.to_owned()), ..problem };
        Diagnostics(problems.0.into_iter().map(in_layer).collect())
    };
    match family {
        Some(family) => {
            // the file has no other activations of a cell, and RTNeural always uses the standard
            // ones
            if !matches!(activation, None | Some(Function::Activation(Activation::Tanh))) {
                let found = format!(
                    "the activation of the {kind} is {}",
                    activation.map_or("", Function::name)
                );
                return Err(refusal(place, found)
                    .valid("tanh")
                    .help("RTNeural computes tanh whatever the file says")
                    .into());
            }
            add_cell(stack, family, name, [inputs, units], tensors).map_err(in_layer)?;
        }
        None if kind == "activation" => {
            if units != inputs {
                return Err(refusal(place, format!("{units} units after {inputs}"))
                    .valid(inputs.to_string())
                    .into());
            }
            let none =
                || Diagnostics(vec![refusal(place, "an activation layer without an activation")]);
            activation.ok_or_else(none)?.push(stack);
        }
        None => {
            add_dense(stack, place, [inputs, units], &tensors)?;
            activation.into_iter().for_each(|function| function.push(stack));
        }
    }
    Ok(units)
}

/// Adds a recurrent layer to the stack. `tensors`: kernel, recurrent kernel, bias.
fn add_cell(
    stack: &mut Stack,
    family: Family,
    name: &Spanned<String>,
    [inputs, units]: [usize; 2],
    mut tensors: Vec<Named>,
) -> Result<(), Diagnostics> {
    let mut declared = Declared::new(
        family,
        DECLARED_BY,
        name.clone(),
        Spanned::unplaced(units),
        Spanned::unplaced(inputs),
    );
    if family == Family::Gru {
        declared.keys.set(Key::LinearBeforeReset, Spanned::unplaced(true));
    }
    let bias = tensors.pop();
    let (Some(r), Some(w)) = (tensors.pop(), tensors.pop()) else { unreachable!("three tensors") };
    let set = WeightSet { w, r, biases: bias.into_iter().collect(), peepholes: None };
    stack.add_recurrent(declared, Framework::Keras, set, Vec::new())
}

/// Adds a dense layer without an activation to the stack. `tensors`: kernel, bias.
fn add_dense(
    stack: &mut Stack,
    place: &str,
    [inputs, units]: [usize; 2],
    tensors: &[Named],
) -> Result<(), Diagnostics> {
    let shape = |tensor: &Tensor, shape: &[usize], name: &str| {
        if tensor.shape() == shape {
            return Ok(());
        }
        let found = format!("{name} has the shape {}", shape_text(tensor.shape()));
        Err(refusal(place, found).valid(shape_text(shape)))
    };
    let (kernel, bias) = (&tensors[0].tensor, &tensors[1].tensor);
    shape(kernel, &[inputs, units], "kernel")?;
    shape(bias, &[units], "bias")?;
    let transposed: Vec<f32> = (0..units)
        .flat_map(|unit| (0..inputs).map(move |input| kernel.get_f32(input * units + unit)))
        .collect();
    let weight = Tensor::from_f32(vec![units, inputs], &transposed).expect("as many values");
    stack.push_dense(DenseLayer { weight, bias: Some(bias.clone()), activation: None });
    Ok(())
}

/// A function of a layer's outputs.
#[derive(Clone, Copy, PartialEq)]
enum Function {
    /// Applied to each value.
    Activation(Activation),
    /// Applied to all values together.
    Softmax,
}

impl Function {
    fn name(self) -> &'static str {
        match self {
            Self::Activation(activation) => activation.name(),
            Self::Softmax => "softmax",
        }
    }

    fn push(self, stack: &mut Stack) {
        match self {
            Self::Activation(activation) => stack.push_activation(activation),
            Self::Softmax => stack.push_softmax(),
        }
    }
}

/// The key "activation" of a layer. `None` for a missing or empty text, and for linear.
fn activation(value: Option<Json>, place: &str) -> Result<Option<Function>, Diagnostic> {
    Ok(match value {
        None | Some(Json::Null) => None,
        Some(Json::Text(name)) => match &name[..] {
            "" | "linear" => None,
            "tanh" => Some(Function::Activation(Activation::Tanh)),
            "sigmoid" => Some(Function::Activation(Activation::Sigmoid)),
            "relu" => Some(Function::Activation(Activation::Relu)),
            "elu" => Some(Function::Activation(Activation::Elu { alpha: 1.0 })),
            "softmax" => Some(Function::Softmax),
            _ => {
                let found = format!("the activation {}", quoted(&name));
                return Err(
                    refusal(place, found).valid("tanh, sigmoid, relu, elu, softmax, or none")
                );
            }
        },
        Some(other) => {
            return Err(refusal(place, format!("the activation is {other}")).valid("a name"));
        }
    })
}
