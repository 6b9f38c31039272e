//! The configuration of a WaveNet.

use super::super::super::causal::ConvSizes;
use super::super::super::json::Json;
use super::super::super::refusal;
use super::super::config::Config;
use super::super::functions::Function;
use super::super::nested::nested;
use super::super::network::{Network, Outer};
use super::super::weights::Weights;
use super::layer::{FILMS, Film, Gate, Layer};
use super::{Array, Head, Sizes, WaveNet, slim};
use crate::diagnostic::{Diagnostic, Origin};
use crate::model::{Activation, counted};

/// Reads a WaveNet.
pub(in super::super) fn read(
    mut config: Config,
    weights: Vec<f32>,
    outer: &mut Outer,
) -> Result<Box<dyn Network>, Diagnostic> {
    let inputs = config.size_or("in_channels", 1)?;
    let condition = match config.take("condition_dsp") {
        Some(model) => Some(nested(model, &config.path_of("condition_dsp"), outer)?),
        None => None,
    };
    let conditions = match &condition {
        Some(network) if network.inputs() != inputs => {
            let found = format!("a model of {}", counted(network.inputs(), "input"));
            let valid = counted(inputs, "input");
            return Err(refusal(&config.path_of("condition_dsp"), found).valid(valid));
        }
        Some(network) => network.outputs(),
        None => inputs,
    };
    let key_path = config.path_of("layers");
    let Json::List(layers) = config.need("layers")? else {
        return Err(refusal(&key_path, "the layers are no list").valid("a list of objects"));
    };
    let mut arrays: Vec<Array> = Vec::new();
    for (number, layer) in layers.into_iter().enumerate() {
        let layer = Config::parse(layer, &format!("{key_path}, number {number}"))?;
        let before = arrays
            .last()
            .map_or((inputs, None), |array| (array.rechannel.outputs, Some(array.head.outputs)));
        arrays.push(array(layer, before, conditions)?);
    }
    let Some(last) = arrays.last() else {
        return Err(refusal(&key_path, "there is no layer").valid("one or more"));
    };
    let head = match config.take("head") {
        Some(head) => {
            Some(Head::read(Config::parse(head, &config.path_of("head"))?, last.head.outputs)?)
        }
        None => None,
    };
    let place_of_scale = config.path_of("head_scale");
    let head_scale = config.need("head_scale")?.f32(&place_of_scale)?;
    config.finish("in_channels, condition_dsp, layers, head and head_scale")?;
    let sizes = Sizes { inputs, arrays, head };
    Weights::check(&weights, sizes.weights(), &sizes.text())?;
    // the last weight is the head scale again
    let in_weights = weights.last().copied().unwrap_or_default();
    if (in_weights - head_scale).abs() > 1e-5 * head_scale.abs() {
        let found = format!(
            "a head_scale of {head_scale}, and {in_weights} as the last weight: NAM computes with \
             the weight, and so does the generated code"
        );
        outer.warnings.push(Diagnostic::warning(Origin::Unknown, found).layer(place_of_scale));
    }
    let is_slimmable = sizes.arrays.iter().any(|array| !array.allowed.is_empty());
    let size = if is_slimmable && outer.depth == 0 { outer.size.take() } else { None };
    let (sizes, weights) = match size {
        Some(size) => slim::slimmed(sizes, weights, size)?,
        None => (sizes, weights),
    };
    Ok(Box::new(WaveNet { sizes, weights, condition }))
}

/// Reads an array with `inputs` inputs. `head_before`: number of outputs of the previous array's
/// head. `None` for the first array, whose inputs are those of the network.
fn array(
    mut config: Config,
    (inputs, head_before): (usize, Option<usize>),
    conditions: usize,
) -> Result<Array, Diagnostic> {
    same(&mut config, "input_size", inputs)?;
    same(&mut config, "condition_size", conditions)?;
    let channels = config.size("channels")?;
    let bottleneck = config.size_or("bottleneck", channels)?;
    let dilations = config.sizes("dilations")?;
    let count = dilations.len();
    let kernels = match (config.has("kernel_size"), config.has("kernel_sizes")) {
        (true, true) => {
            return Err(config.refused("a kernel_size and kernel_sizes").valid("one of the two"));
        }
        (false, true) => {
            let kernels = config.sizes("kernel_sizes")?;
            config.as_many(kernels, "kernel_sizes", count)?
        }
        _ => vec![config.size("kernel_size")?; count],
    };
    let activations = config.need("activation")?;
    let activations = config.functions(activations, "activation", count)?;
    let gates = gates(&mut config, count)?;
    let groups_input = config.size_or("groups_input", 1)?;
    let groups_mixin = config.size_or("groups_input_mixin", 1)?;
    let layer1x1 = layer1x1(&mut config, bottleneck, channels)?;
    let head1x1 = head1x1(&mut config, bottleneck)?;
    let summed = head1x1.map_or(bottleneck, |conv| conv.outputs);
    let head = head(&mut config, summed)?;
    if let Some(before) = head_before.filter(|before| *before != summed) {
        let found = format!(
            "a head of {}, after an array with a head of {before}",
            counted(summed, "channel")
        );
        return Err(config.refused(found).valid(counted(before, "channel")));
    }
    let allowed = slimmable(&mut config, channels)?;
    let films = films(&mut config)?;
    let mut layers = Vec::new();
    for (number, (activation, gate)) in activations.into_iter().zip(gates).enumerate() {
        let key_path = format!("{}, layer {number}", config.key_path);
        activation.check(bottleneck, &key_path)?;
        let outputs = match &gate {
            Gate::None => bottleneck,
            Gate::Gated(function) | Gate::Blended(function) => {
                function.check(bottleneck, &key_path)?;
                2 * bottleneck
            }
        };
        let conv = ConvSizes {
            inputs: channels,
            outputs,
            kernel: kernels[number],
            dilation: dilations[number],
            groups: groups_input,
            bias: true,
        };
        let mixin = ConvSizes { groups: groups_mixin, ..ConvSizes::one(conditions, outputs) };
        config.check(conv, "groups_input")?;
        config.check(mixin, "groups_input_mixin")?;
        let modulated =
            [channels, outputs, conditions, outputs, outputs, bottleneck, channels, summed];
        let mut of_layer = [None; FILMS.len()];
        for (key_path, film) in films.iter().enumerate() {
            let Some(FilmKeys { shift, groups }) = *film else { continue };
            let outputs = modulated[key_path] * if shift { 2 } else { 1 };
            let projection =
                ConvSizes { groups, bias: true, ..ConvSizes::one(conditions, outputs) };
            config.check(projection, FILMS[key_path])?;
            of_layer[key_path] = Some(Film { projection, shift });
        }
        layers.push(Layer { conv, mixin, layer1x1, head1x1, films: of_layer, activation, gate });
    }
    if head1x1.is_none() && films[FILMS.len() - 1].is_some() {
        return Err(config.refused("a head1x1_post_film without a head1x1").valid("both"));
    }
    const VALID: &str = "input_size, condition_size, channels, bottleneck, kernel_size, \
        kernel_sizes, dilations, activation, gating_mode, secondary_activation, gated, \
        groups_input, groups_input_mixin, layer1x1, head1x1, head, head_size, head_bias, \
        slimmable, and places of FiLM such as conv_pre_film";
    config.finish(VALID)?;
    Ok(Array { rechannel: ConvSizes::one(inputs, channels), layers, head, allowed })
}

/// Takes a size that other sizes determine.
fn same(config: &mut Config, key: &str, wanted: usize) -> Result<(), Diagnostic> {
    match config.size(key)? {
        size if size == wanted => Ok(()),
        size => Err(config.refused(format!("\"{key}\" is {size}")).valid(wanted.to_string())),
    }
}

impl Config {
    /// The list, if it has one item for each layer.
    ///
    /// # Errors
    /// If the list has another length.
    fn as_many<T>(&self, list: Vec<T>, key: &str, layers: usize) -> Result<Vec<T>, Diagnostic> {
        if list.len() == layers {
            return Ok(list);
        }
        let found = format!("a list of {} for {}", list.len(), counted(layers, "dilation"));
        Err(refusal(&self.path_of(key), found).valid("as many as there are dilations"))
    }

    /// One function for each layer: a list, or one for all.
    fn functions(
        &self,
        value: Json,
        key: &str,
        layers: usize,
    ) -> Result<Vec<Function>, Diagnostic> {
        let key_path = self.path_of(key);
        let Json::List(items) = value else {
            return Ok(vec![Function::read(value, &key_path)?; layers]);
        };
        let items = self.as_many(items, key, layers)?;
        items
            .into_iter()
            .enumerate()
            .map(|(number, item)| Function::read(item, &format!("{key_path}, number {number}")))
            .collect()
    }
}

/// The gate of each layer: "gating_mode" and "secondary_activation", or "gated" in older files.
fn gates(config: &mut Config, layers: usize) -> Result<Vec<Gate>, Diagnostic> {
    const VALID: &str = "none, gated or blended";
    let (key_path, secondary_path) =
        (config.path_of("gating_mode"), config.path_of("secondary_activation"));
    let gated = config.flag_or("gated", false)?;
    let modes = match config.take("gating_mode") {
        Some(_) if gated => {
            return Err(config.refused("\"gated\" and a gating_mode").valid("one of the two"));
        }
        Some(Json::List(modes)) => config.as_many(modes, "gating_mode", layers)?,
        Some(mode) => vec![mode; layers],
        None => vec![Json::Text(if gated { "gated" } else { "none" }.to_owned()); layers],
    };
    let functions = match config.take("secondary_activation") {
        Some(Json::List(functions)) => config.as_many(functions, "secondary_activation", layers)?,
        Some(function) => vec![function; layers],
        None => vec![Json::Null; layers],
    };
    let gate = |(mode, function): (Json, Json)| {
        let function = match function {
            Json::Null => Function::Activation(Activation::Sigmoid),
            function => Function::read(function, &secondary_path)?,
        };
        match mode {
            Json::Text(mode) if mode == "none" => Ok(Gate::None),
            Json::Text(mode) if mode == "gated" => Ok(Gate::Gated(function)),
            Json::Text(mode) if mode == "blended" => Ok(Gate::Blended(function)),
            other => Err(refusal(&key_path, format!("the mode is {other}")).valid(VALID)),
        }
    };
    modes.into_iter().zip(functions).map(gate).collect()
}

/// The convolution from the activation to the next layer.
fn layer1x1(config: &mut Config, inputs: usize, outputs: usize) -> Result<ConvSizes, Diagnostic> {
    let mut sizes = ConvSizes { bias: true, ..ConvSizes::one(inputs, outputs) };
    let Some(value) = config.take("layer1x1") else { return Ok(sizes) };
    let mut nested = Config::parse(value, &config.path_of("layer1x1"))?;
    if !nested.flag("active")? {
        return Err(nested
            .refused("\"active\" is false")
            .valid("true")
            .help("without it, NAM's trainer and its player compute different things"));
    }
    sizes.groups = nested.size_or("groups", 1)?;
    nested.finish("active and groups")?;
    config.check(sizes, "layer1x1")?;
    Ok(sizes)
}

/// The convolution from the activation to the head. Older files say "head_1x1".
fn head1x1(config: &mut Config, inputs: usize) -> Result<Option<ConvSizes>, Diagnostic> {
    let key = if config.has("head_1x1") { "head_1x1" } else { "head1x1" };
    let Some(value) = config.take(key) else { return Ok(None) };
    let mut nested = Config::parse(value, &config.path_of(key))?;
    let active = nested.flag("active")?;
    let outputs = nested.size_or("out_channels", 1)?;
    let groups = nested.size_or("groups", 1)?;
    nested.finish("active, out_channels and groups")?;
    let sizes = ConvSizes { bias: true, groups, ..ConvSizes::one(inputs, outputs) };
    if active {
        config.check(sizes, key)?;
    }
    Ok(active.then_some(sizes))
}

/// The convolution of the sum of the layers: "head", or "head_size" and "head_bias" in older
/// files.
fn head(config: &mut Config, inputs: usize) -> Result<ConvSizes, Diagnostic> {
    let Some(value) = config.take("head") else {
        let outputs = config.size("head_size")?;
        return Ok(ConvSizes {
            bias: config.flag("head_bias")?,
            ..ConvSizes::one(inputs, outputs)
        });
    };
    if let Some(key) = ["head_size", "head_bias"].into_iter().find(|key| config.has(key)) {
        return Err(config.refused(format!("\"head\" and \"{key}\"")).valid("one of the two"));
    }
    let mut nested = Config::parse(value, &config.path_of("head"))?;
    let sizes = ConvSizes {
        kernel: nested.size("kernel_size")?,
        bias: nested.flag("bias")?,
        ..ConvSizes::one(inputs, nested.size("out_channels")?)
    };
    nested.finish("out_channels, kernel_size and bias")?;
    Ok(sizes)
}

/// Numbers of channels that a player may compute, ascending. Empty: only the full number.
fn slimmable(config: &mut Config, channels: usize) -> Result<Vec<usize>, Diagnostic> {
    const METHOD: &str = "slice_channels_uniform";
    let Some(value) = config.take("slimmable") else { return Ok(Vec::new()) };
    let mut nested = Config::parse(value, &config.path_of("slimmable"))?;
    match nested.need("method")? {
        Json::Text(method) if method == METHOD => {}
        other => {
            return Err(nested.refused(format!("the method is {other}")).valid(METHOD));
        }
    }
    let mut allowed: Vec<usize> = (1..=channels).collect();
    if let Some(kwargs) = nested.take("kwargs") {
        let mut kwargs = Config::parse(kwargs, &nested.path_of("kwargs"))?;
        if kwargs.has("allowed_channels") {
            allowed = kwargs.sizes("allowed_channels")?;
            if !allowed.is_sorted_by(|a, b| a < b) || allowed.last() != Some(&channels) {
                let key_path = kwargs.path_of("allowed_channels");
                let found = format!("the numbers of channels are {allowed:?}");
                return Err(refusal(&key_path, found)
                    .valid(format!("ascending numbers, the last of which is {channels}")));
            }
        }
        // the next two keys matter to the trainer only
        kwargs.take("boosting");
        kwargs.take("init_strategy");
        kwargs.finish("allowed_channels, boosting and init_strategy")?;
    }
    nested.finish("method and kwargs")?;
    Ok(allowed)
}

/// The keys of one FiLM.
#[derive(Clone, Copy)]
struct FilmKeys {
    shift: bool,
    groups: usize,
}

fn films(config: &mut Config) -> Result<[Option<FilmKeys>; FILMS.len()], Diagnostic> {
    let mut films = [None; FILMS.len()];
    for (film, key) in films.iter_mut().zip(FILMS) {
        let value = match config.take(key) {
            None | Some(Json::Bool(false)) => continue,
            Some(value) => value,
        };
        let mut nested = Config::parse(value, &config.path_of(key))?;
        let active = nested.flag_or("active", true)?;
        let keys = FilmKeys {
            shift: nested.flag_or("shift", true)?,
            groups: nested.size_or("groups", 1)?,
        };
        nested.finish("active, shift and groups")?;
        *film = active.then_some(keys);
    }
    Ok(films)
}

impl Head {
    fn read(mut config: Config, inputs: usize) -> Result<Self, Diagnostic> {
        if config.has("in_channels") {
            same(&mut config, "in_channels", inputs)?;
        }
        let channels = config.size("channels")?;
        let outputs = config.size("out_channels")?;
        let activation = config.need("activation")?;
        let function = Function::read(activation, &config.path_of("activation"))?;
        let kernels = match config.has("num_layers") {
            true => {
                let layers = config.size("num_layers")?;
                vec![config.size_or("kernel_size", 1)?; layers]
            }
            false => config.sizes("kernel_sizes")?,
        };
        let key_path = config.key_path.clone();
        config.finish("in_channels, channels, out_channels, kernel_sizes and activation")?;
        let (mut convs, count) = (Vec::new(), kernels.len());
        let mut before = inputs;
        for (at, kernel) in kernels.into_iter().enumerate() {
            function.check(before, &format!("{key_path}, layer {at}"))?;
            let outputs = if at + 1 == count { outputs } else { channels };
            convs.push(ConvSizes { kernel, bias: true, ..ConvSizes::one(before, outputs) });
            before = outputs;
        }
        Ok(Self { function, convs })
    }
}
