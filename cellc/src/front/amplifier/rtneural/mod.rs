//! The JSON of RTNeural, with AIDA-X's extensions: a skip connection and gains.
//!
//! The values of a step with features are `[features, filters]`.

mod convolution;

use super::causal::deviation;
use super::json::{Json, Object};
use super::rate::Rates;
use super::{AmplifierModel, Network, about, of_metadata, refusal, remaining};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::front::keys::{Key, Spanned};
use crate::front::layer::Declared;
use crate::front::layout::{Framework, NamedTensor, WeightSet};
use crate::front::stack::Stack;
use crate::front::weights::DenseLayer;
use crate::model::{Activation, Family, LedgerEntry, Tensor, counted, shape_text, wrong_past};
use convolution::ConvKeys;

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
const VALID_LAYERS: &str = "lstm, gru, dense, time-distributed-dense, conv1d, conv2d, \
    batchnorm, batchnorm2d, prelu, activation";

/// Reads a model of RTNeural or AIDA-X. `sample_rate`: the rate of the code in Hz; default: the
/// rate of the model.
///
/// # Errors
/// If the file is invalid, or if the rate does not fit the model.
pub(super) fn read(
    mut file: Object,
    name: Spanned<String>,
    sample_rate: Option<usize>,
) -> Result<AmplifierModel, Diagnostics> {
    let mut warnings = Diagnostics::default();
    let rates = Rates::new(&stored_rates(&file), None, sample_rate, &mut warnings)?;
    let shape = file.need("in_shape", "")?;
    let input_size = values(&shape, "\"in_shape\"")?;
    let Json::List(layers) = file.need("layers", "")? else {
        return Err(refusal("\"layers\"", "the layers are no list").into());
    };
    if layers.is_empty() {
        return Err(refusal("\"layers\"", "there is no layer").valid(VALID_LAYERS).into());
    }
    let mut ledger =
        vec![LedgerEntry { meaning: counted(input_size, "input"), ..about("in_shape", &shape) }];
    let mut stack =
        Stack::new(DECLARED_BY, name.clone(), Spanned::unplaced(input_size), None, None);
    ledger.extend(rates.ledger());
    let mut before = input_size;
    for (number, layer) in layers.into_iter().enumerate() {
        let key_path = format!("\"layers\", number {number}");
        before = add(&mut stack, &name, layer, &key_path, (before, rates))?;
    }
    let past = stack.past();
    if let Some(valid) = wrong_past(past) {
        let found = format!("{past} values of the past of all layers");
        return Err(refusal("\"layers\"", found).valid(valid).into());
    }
    // AIDA-X gives the controls of an amplifier as inputs after the sound
    stack.signals = 1;
    let signal = if input_size == 1 { "the input" } else { "the first input" };
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
        if on && before != 1 {
            let found = format!("a skip to {}", counted(before, "output"));
            return Err(refusal("\"in_skip\"", found).valid("a skip to one output").into());
        }
        stack.skip = on.then(|| Spanned::unplaced(true));
        ledger.push(LedgerEntry {
            meaning: match on {
                true => format!("{signal} is added to the output"),
                false => format!("{signal} is not added"),
            },
            ..about("in_skip", &skip)
        });
    }
    for (key, of_input) in [("in_gain", true), ("out_gain", false)] {
        let Some(value) = file.take(key).filter(|value| *value != Json::Null) else { continue };
        let key_path = format!("\"{key}\"");
        let gain = factor(value.f32(&key_path)?);
        if !gain.is_finite() {
            return Err(
                refusal(&key_path, format!("a gain of {value} dB is more than f32 holds")).into()
            );
        }
        let gains = if of_input { &mut stack.input_gain } else { &mut stack.output_gain };
        *gains = (gain != 1.0).then_some(gain);
        let signal = if of_input { signal } else { "the output, the skip included," };
        ledger.push(LedgerEntry {
            meaning: format!("{signal} is multiplied by {gain}"),
            ..about(key, &value)
        });
    }
    if let Some(metadata) = file.take("metadata") {
        ledger.extend(of_metadata(metadata, &["samplerate"]));
    }
    remaining(file, &ABOUT, &mut ledger, &mut warnings);
    let network = Network::Stack(Box::new(stack));
    Ok(AmplifierModel { network, ledger, warnings, code_rate: rates.code_rate() })
}

/// The keys with the sample rate of the model.
fn stored_rates(file: &Object) -> Vec<(&'static str, Json)> {
    let given = |value: Option<&Json>| value.filter(|rate| **rate != Json::Null).cloned();
    let metadata = file.get("metadata").cloned().and_then(Object::from_json);
    let of_metadata = metadata.as_ref().and_then(|metadata| metadata.get("samplerate"));
    [("samplerate", given(file.get("samplerate"))), ("metadata.samplerate", given(of_metadata))]
        .into_iter()
        .filter_map(|(key, rate)| Some((key, rate?)))
        .collect()
}

/// The factor of a gain in dB, computed as in AIDA-X: 0 at -90 dB and below.
pub(super) fn factor(decibels: f32) -> f32 {
    if decibels > -90.0 { 10f64.powf(f64::from(decibels) * 0.05) as f32 } else { 0.0 }
}

/// The number of values of a step, from the shape of a layer. Sizes before the last one may be
/// open, but not the features of four sizes.
fn values(shape: &Json, key_path: &str) -> Result<usize, Diagnostic> {
    let sizes = match shape {
        Json::List(sizes) => &sizes[..],
        _ => &[],
    };
    let size = match sizes {
        [_, _, features, filters] => {
            let both = features.size().zip(filters.size());
            both.and_then(|(features, filters)| features.checked_mul(filters))
        }
        [.., size] if sizes.len() <= 3 => size.size(),
        _ => None,
    };
    size.ok_or_else(|| {
        refusal(key_path, "the shape does not end in a size")
            .valid("[null, null, SIZE] or [null, null, FEATURES, FILTERS]")
    })
}

/// A type of layers.
#[derive(Clone, Copy, PartialEq)]
enum LayerKind {
    Cell(Family),
    Dense,
    Activation,
    Conv1d,
    Conv2d,
    BatchNorm,
    BatchNorm2d,
    PRelu,
}

impl LayerKind {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "lstm" => Self::Cell(Family::Lstm),
            "gru" => Self::Cell(Family::Gru),
            "dense" | "time-distributed-dense" => Self::Dense,
            "activation" => Self::Activation,
            "conv1d" => Self::Conv1d,
            "conv2d" => Self::Conv2d,
            "batchnorm" => Self::BatchNorm,
            "batchnorm2d" => Self::BatchNorm2d,
            "prelu" => Self::PRelu,
            _ => return None,
        })
    }

    /// The names of the `count` tensors of weights of a layer.
    fn tensors(self, count: usize) -> &'static [&'static str] {
        match self {
            Self::Activation => &[],
            Self::Dense | Self::Conv1d | Self::Conv2d => &["kernel", "bias"],
            Self::Cell(_) => &["kernel", "recurrent_kernel", "bias"],
            // without a scale and a shift
            Self::BatchNorm | Self::BatchNorm2d if count == 2 => &["mean", "variance"],
            Self::BatchNorm | Self::BatchNorm2d => &["gamma", "beta", "mean", "variance"],
            Self::PRelu => &["alpha"],
        }
    }

    /// The keys of a layer, for messages.
    fn keys(self) -> &'static str {
        match self {
            Self::Conv1d => {
                "type, activation, shape, weights, kernel_size, dilation, groups, and strides of 1"
            }
            Self::Conv2d => {
                "type, activation, shape, weights, kernel_size_time, kernel_size_feature, \
                 dilation, strides, num_filters_in, num_features_in, num_filters_out and padding"
            }
            Self::BatchNorm => "type, activation, shape, weights and epsilon",
            Self::BatchNorm2d => {
                "type, activation, shape, weights, epsilon, num_filters_in and num_features_in"
            }
            _ => "type, activation, shape and weights",
        }
    }
}

/// A layer of the file.
struct Layer {
    kind: LayerKind,
    units: usize,
    activation: Option<Function>,
    tensors: Vec<NamedTensor>,
    /// The further keys of a convolution.
    window: Option<ConvKeys>,
    /// The further keys of a batch normalisation.
    norm: Option<NormKeys>,
}

/// The keys of a batch normalisation besides its shape and weights.
struct NormKeys {
    epsilon: f32,
    /// The number of means: one for each unit, or one for each filter, shared by its features.
    filters: usize,
}

impl Layer {
    /// Reads a layer with `inputs` inputs.
    fn read(layer: Json, key_path: &str, inputs: usize) -> Result<Self, Diagnostic> {
        let Some(mut layer) = Object::from_json(layer) else {
            return Err(refusal(key_path, "the layer is no object"));
        };
        let type_name = layer.need("type", key_path)?;
        let Json::Text(type_name) = type_name else {
            return Err(refusal(key_path, format!("the type is {type_name}")).valid(VALID_LAYERS));
        };
        let Some(kind) = LayerKind::parse(&type_name) else {
            let found = refusal(key_path, format!("a layer of the type {}", quoted(&type_name)));
            let help = "export the network to ONNX in the program that trains it, and compile the \
                .onnx file";
            return Err(found.valid(VALID_LAYERS).help(help));
        };
        let units = values(&layer.need("shape", key_path)?, &format!("{key_path}, \"shape\""))?;
        let activation = activation(layer.take("activation"), key_path)?;
        let weights = match layer.take("weights") {
            None | Some(Json::Null) if kind == LayerKind::Activation => Vec::new(),
            Some(Json::List(weights)) => weights,
            _ => return Err(refusal(key_path, "there is no list of weights")),
        };
        let window = match kind {
            LayerKind::Conv1d => Some(ConvKeys::conv1d(&mut layer, key_path)?),
            LayerKind::Conv2d => Some(ConvKeys::conv2d(&mut layer, key_path)?),
            _ => None,
        };
        let norm = match kind {
            LayerKind::BatchNorm | LayerKind::BatchNorm2d => {
                let epsilon = layer.need("epsilon", key_path)?;
                let epsilon = epsilon.f32(&format!("{key_path}, \"epsilon\""))?;
                let filters = match kind {
                    LayerKind::BatchNorm => units,
                    _ => convolution::filters(&mut layer, key_path, inputs)?,
                };
                Some(NormKeys { epsilon, filters })
            }
            _ => None,
        };
        if let Some((key, value)) = layer.rest().next() {
            let found =
                format!("{} is {value}, and cellc does not know what it means", quoted(&key));
            return Err(refusal(key_path, found).valid(kind.keys()));
        }
        let tensors = tensors(&weights, kind.tensors(weights.len()), key_path)?;
        let keeps_size = matches!(
            kind,
            LayerKind::Activation
                | LayerKind::BatchNorm
                | LayerKind::BatchNorm2d
                | LayerKind::PRelu
        );
        if keeps_size && units != inputs {
            let found = format!("{units} units after {inputs}");
            return Err(refusal(key_path, found).valid(inputs.to_string()));
        }
        standard_activation(kind, &type_name, activation, key_path)?;
        Ok(Self { kind, units, activation, tensors, window, norm })
    }
}

/// Checks the activation of a layer. The file has one key for the activations of a cell, and
/// RTNeural always uses the standard ones.
///
/// # Errors
/// If the file gives a layer another activation than RTNeural computes.
fn standard_activation(
    kind: LayerKind,
    type_name: &str,
    activation: Option<Function>,
    key_path: &str,
) -> Result<(), Diagnostic> {
    let standard = match kind {
        LayerKind::Cell(_) => Some(Function::Activation(Activation::Tanh)),
        _ => None,
    };
    if let Some(activation) = activation
        && matches!(
            kind,
            LayerKind::Cell(_) | LayerKind::BatchNorm | LayerKind::BatchNorm2d | LayerKind::PRelu
        )
        && Some(activation) != standard
    {
        let found = format!("the activation of the {type_name} is {}", activation.name());
        let computed = standard.map_or("no activation", Function::name);
        let help = format!("RTNeural computes {computed} whatever the file says");
        return Err(refusal(key_path, found).valid(computed).help(help));
    }
    Ok(())
}

/// Adds a layer with `inputs` inputs to the stack. Returns the layer's number of outputs.
fn add(
    stack: &mut Stack,
    name: &Spanned<String>,
    layer: Json,
    key_path: &str,
    (inputs, rates): (usize, Rates),
) -> Result<usize, Diagnostics> {
    let Layer { kind, units, activation, tensors, window, norm } =
        Layer::read(layer, key_path, inputs)?;
    match kind {
        LayerKind::Cell(family) => {
            stack.state_delay =
                rates.state_delay().map_err(|problem| problem.layer(key_path.to_owned()))?;
            let in_layer =
                |problem: Diagnostic| Diagnostic { layer: Some(key_path.to_owned()), ..problem };
            return add_cell(stack, family, name, [inputs, units], tensors)
                .map(|()| units)
                .map_err(|problems| Diagnostics(problems.0.into_iter().map(in_layer).collect()));
        }
        LayerKind::Activation if activation.is_none() => {
            return Err(refusal(key_path, "an activation layer without an activation").into());
        }
        LayerKind::Activation => {}
        LayerKind::Dense => add_dense(stack, key_path, [inputs, units], &tensors)?,
        LayerKind::Conv1d | LayerKind::Conv2d => {
            let window = window.expect("the keys of a convolution");
            stack.push_convolution(window.layer(key_path, [inputs, units], &tensors, rates)?);
        }
        LayerKind::BatchNorm | LayerKind::BatchNorm2d => {
            let norm = norm.expect("the keys of a batch normalisation");
            add_batch_norm(stack, key_path, units, &tensors, &norm)?;
        }
        LayerKind::PRelu => stack.push_prelu(prelu_slopes(&tensors[0].tensor, units, key_path)?),
    }
    activation.into_iter().for_each(|function| function.push(stack));
    Ok(units)
}

/// One slope for each unit, from one slope for all units or one for each.
fn prelu_slopes(alpha: &Tensor, units: usize, key_path: &str) -> Result<Tensor, Diagnostic> {
    let slopes = match tensor_of(alpha)[..] {
        [slope] => vec![slope; units],
        ref slopes => slopes.to_vec(),
    };
    // one row only: RTNeural would read the first row and ignore others
    let is_row = alpha.shape().last().is_none_or(|last| [1, units].contains(last))
        && alpha.shape().iter().rev().skip(1).all(|&outer| outer == 1);
    expect(alpha, &[1, units], is_row && slopes.len() == units, "alpha", key_path)?;
    Ok(Tensor::from_f32(vec![units], &slopes).expect("as many values"))
}

/// The tensors of a layer.
fn tensors(
    weights: &[Json],
    wanted: &[&str],
    key_path: &str,
) -> Result<Vec<NamedTensor>, Diagnostic> {
    if weights.len() != wanted.len() {
        let valid = if wanted.is_empty() { "none".to_owned() } else { wanted.join(", ") };
        return Err(refusal(key_path, format!("{} tensors of weights", weights.len())).valid(valid));
    }
    let named = |(weight, name): (&Json, &&str)| {
        let tensor = weight.tensor(&format!("{key_path}, {name}"))?;
        Ok(NamedTensor { name: (*name).to_owned(), tensor, flat: false })
    };
    weights.iter().zip(wanted).map(named).collect()
}

/// The elements of a tensor.
fn tensor_of(tensor: &Tensor) -> Vec<f32> {
    (0..tensor.len()).map(|at| tensor.get_f32(at)).collect()
}

/// Refuses a tensor if `fits` is false. `wanted`: the shape in the message.
fn expect(
    tensor: &Tensor,
    wanted: &[usize],
    fits: bool,
    name: &str,
    key_path: &str,
) -> Result<(), Diagnostic> {
    if fits {
        return Ok(());
    }
    let found = format!("{name} has the shape {}", shape_text(tensor.shape()));
    Err(refusal(key_path, found).valid(shape_text(wanted)))
}

/// Adds a batch normalisation with constant mean and variance. `tensors`: gamma and beta where
/// present, mean, variance.
fn add_batch_norm(
    stack: &mut Stack,
    key_path: &str,
    units: usize,
    tensors: &[NamedTensor],
    norm: &NormKeys,
) -> Result<(), Diagnostic> {
    let NormKeys { epsilon, filters } = *norm;
    for NamedTensor { name, tensor, .. } in tensors {
        expect(tensor, &[filters], tensor.shape() == [filters], name, key_path)?;
    }
    let element_or = |name: &str, at: usize, default: f64| {
        let found = tensors.iter().find(|tensor| tensor.name == name);
        found.map_or(default, |found| found.tensor.get_f64(at))
    };
    let (mut factors, mut addends) = (Vec::new(), Vec::new());
    for unit in (0..units).map(|unit| unit % filters) {
        let variance = element_or("variance", unit, 0.0);
        let deviation = deviation(variance, f64::from(epsilon), key_path)?;
        let factor = element_or("gamma", unit, 1.0) / deviation;
        factors.push(factor as f32);
        addends
            .push((element_or("beta", unit, 0.0) - factor * element_or("mean", unit, 0.0)) as f32);
    }
    let by_unit = |values: &[f32]| Tensor::from_f32(vec![units], values).expect("as many values");
    stack.push_scale(by_unit(&factors), by_unit(&addends));
    Ok(())
}

/// Adds a recurrent layer to the stack. `tensors`: kernel, recurrent kernel, bias.
fn add_cell(
    stack: &mut Stack,
    family: Family,
    name: &Spanned<String>,
    [inputs, units]: [usize; 2],
    mut tensors: Vec<NamedTensor>,
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
    key_path: &str,
    [inputs, units]: [usize; 2],
    tensors: &[NamedTensor],
) -> Result<(), Diagnostics> {
    let shape = |tensor: &Tensor, shape: &[usize], name: &str| {
        if tensor.shape() == shape {
            return Ok(());
        }
        let found = format!("{name} has the shape {}", shape_text(tensor.shape()));
        Err(refusal(key_path, found).valid(shape_text(shape)))
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

/// The key "activation" of a layer. `None` for a missing key, null, an empty text, and linear.
fn activation(value: Option<Json>, key_path: &str) -> Result<Option<Function>, Diagnostic> {
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
                    refusal(key_path, found).valid("tanh, sigmoid, relu, elu, softmax, or none")
                );
            }
        },
        Some(other) => {
            return Err(refusal(key_path, format!("the activation is {other}")).valid("a name"));
        }
    })
}
