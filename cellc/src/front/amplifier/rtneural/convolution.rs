//! RTNeural's convolutions: over the samples, and over the samples and the features of each sample.

use super::expect;
use crate::diagnostic::Diagnostic;
use crate::front::amplifier::causal::groups_are_legal;
use crate::front::amplifier::json::{Json, Object, valid_size};
use crate::front::amplifier::rate::Rates;
use crate::front::amplifier::refusal;
use crate::front::causal_conv::{CausalConv, Features};
use crate::front::layout::NamedTensor;
use crate::model::{Tensor, counted};

/// The keys of a convolution besides its shape and weights.
pub(super) struct ConvKeys {
    /// Taps along the samples.
    kernel: usize,
    /// Samples from tap to tap.
    dilation: usize,
    groups: usize,
    /// The keys on features. `None`: a convolution over the samples alone.
    frames: Option<FrameKeys>,
}

/// The keys on the features of a sample.
struct FrameKeys {
    /// Taps along the features.
    kernel: usize,
    stride: usize,
    features: usize,
    /// Filters of the input and of the output.
    filters: [usize; 2],
    padding: FramePadding,
}

/// The padding of features.
enum FramePadding {
    /// No padding.
    Valid,
    /// As many zeros as give one output for each stride, a partial stride at the end included.
    Same,
}

/// Takes a size: a number, or a list of one.
fn size(
    layer: &mut Object,
    key: &str,
    default: Option<usize>,
    key_path: &str,
) -> Result<usize, Diagnostic> {
    let value = match (layer.take(key), default) {
        (None | Some(Json::Null), Some(default)) => return Ok(default),
        (None, None) => return Err(refusal(key_path, format!("there is no \"{key}\""))),
        (Some(value), _) => value,
    };
    let one = match &value {
        Json::List(sizes) if sizes.len() == 1 => sizes[0].size(),
        value => value.size(),
    };
    one.ok_or_else(|| refusal(key_path, format!("\"{key}\" is {value}")).valid(valid_size()))
}

impl FrameKeys {
    fn read(layer: &mut Object, key_path: &str) -> Result<Self, Diagnostic> {
        let mut size = |key: &str| size(layer, key, None, key_path);
        let kernel = size("kernel_size_feature")?;
        let stride = size("strides")?;
        let features = size("num_features_in")?;
        let filters = [size("num_filters_in")?, size("num_filters_out")?];
        let padding = layer.need("padding", key_path)?;
        let padding = match &padding {
            Json::Text(name) if name == "valid" => FramePadding::Valid,
            Json::Text(name) if name == "same" => FramePadding::Same,
            other => {
                return Err(refusal(key_path, format!("\"padding\" is {other}"))
                    .valid("\"valid\", \"same\""));
            }
        };
        Ok(Self { kernel, stride, features, filters, padding })
    }

    /// The features of a sample, after a layer with `inputs` outputs.
    ///
    /// # Errors
    /// If the sizes contradict each other, or the number `units` of outputs.
    fn features(
        &self,
        key_path: &str,
        [inputs, units]: [usize; 2],
    ) -> Result<Features, Diagnostic> {
        let Self { kernel, stride, features, filters, .. } = *self;
        legal_features([features, filters[0]], inputs, key_path)?;
        let pads = match self.padding {
            FramePadding::Valid => 0,
            FramePadding::Same => match features % stride {
                0 => kernel.saturating_sub(stride),
                rest => kernel.saturating_sub(rest),
            },
        };
        if kernel > features + pads {
            let found = format!("{} over {features}", counted(kernel, "tap"));
            return Err(refusal(key_path, found).valid("at most as many taps as features"));
        }
        let pads = [pads / 2, pads - pads / 2];
        let found = Features { count: features, stride, pads };
        let outputs = found.outputs(kernel);
        if outputs as u64 * filters[1] as u64 != units as u64 {
            let found = format!("a shape of {units} values");
            let valid = format!("[null, null, {outputs}, {}]", filters[1]);
            return Err(refusal(key_path, found).valid(valid));
        }
        Ok(found)
    }
}

impl ConvKeys {
    /// The keys of a convolution over the samples.
    pub(super) fn conv1d(layer: &mut Object, key_path: &str) -> Result<Self, Diagnostic> {
        let kernel = size(layer, "kernel_size", None, key_path)?;
        let dilation = size(layer, "dilation", None, key_path)?;
        let groups = size(layer, "groups", Some(1), key_path)?;
        let strides = size(layer, "strides", Some(1), key_path)?;
        if strides != 1 {
            return Err(refusal(key_path, format!("\"strides\" is {strides}"))
                .valid("1: one output for each sample"));
        }
        Ok(Self { kernel, dilation, groups, frames: None })
    }

    /// The keys of a convolution over the samples and their features.
    pub(super) fn conv2d(layer: &mut Object, key_path: &str) -> Result<Self, Diagnostic> {
        let kernel = size(layer, "kernel_size_time", None, key_path)?;
        let dilation = size(layer, "dilation", None, key_path)?;
        let frames = Some(FrameKeys::read(layer, key_path)?);
        Ok(Self { kernel, dilation, groups: 1, frames })
    }

    /// The convolution. `tensors`: kernel, `[taps, inputs / groups, outputs]` or with features
    /// `[taps, taps along the features, inputs, outputs]`, and bias.
    pub(super) fn layer(
        &self,
        key_path: &str,
        [inputs, units]: [usize; 2],
        tensors: &[NamedTensor],
        rates: Rates,
    ) -> Result<CausalConv, Diagnostic> {
        let Self { kernel, groups, .. } = *self;
        let dilation = if kernel == 1 { 1 } else { rates.dilation(self.dilation, key_path)? };
        let frames = self.frames.as_ref();
        let features = frames.map(|keys| keys.features(key_path, [inputs, units])).transpose()?;
        let [reads, gives] = frames.map_or([inputs, units], |keys| keys.filters);
        groups_are_legal(groups, [reads, gives], key_path)?;
        let in_group = reads / groups;
        let wide = frames.map(|keys| keys.kernel);
        let (of_file, bias) = (&tensors[0].tensor, &tensors[1].tensor);
        let wanted: Vec<usize> =
            [Some(kernel), wide, Some(in_group), Some(gives)].into_iter().flatten().collect();
        expect(of_file, &wanted, of_file.shape() == wanted, "kernel", key_path)?;
        expect(bias, &[gives], bias.shape() == [gives], "bias", key_path)?;
        // the taps of a unit for one input, those along the features included
        let taps = kernel * wide.unwrap_or(1);
        let weight = |unit: usize, input: usize, tap: usize| {
            of_file.get_f32((tap * in_group + input) * gives + unit)
        };
        let weights: Vec<f32> = (0..gives)
            .flat_map(|unit| (0..in_group).map(move |input| (unit, input)))
            .flat_map(|(unit, input)| (0..taps).map(move |tap| weight(unit, input, tap)))
            .collect();
        let shape =
            [Some(gives), Some(in_group), Some(kernel), wide].into_iter().flatten().collect();
        let weight = Tensor::from_f32(shape, &weights).expect("as many values");
        Ok(CausalConv { weight, bias: bias.clone(), dilation, groups, features })
    }
}

/// The number of filters of a batch normalisation of features, after a layer with `inputs` outputs.
pub(super) fn filters(
    layer: &mut Object,
    key_path: &str,
    inputs: usize,
) -> Result<usize, Diagnostic> {
    let filters = size(layer, "num_filters_in", None, key_path)?;
    let features = size(layer, "num_features_in", None, key_path)?;
    legal_features([features, filters], inputs, key_path)?;
    Ok(filters)
}

/// Refuses numbers of features and filters that are not the values of the layer before.
fn legal_features(
    [features, filters]: [usize; 2],
    inputs: usize,
    key_path: &str,
) -> Result<(), Diagnostic> {
    if features as u64 * filters as u64 == inputs as u64 {
        return Ok(());
    }
    let found = format!(
        "{} of {} after {}",
        counted(features, "feature"),
        counted(filters, "filter"),
        counted(inputs, "value")
    );
    Err(refusal(key_path, found).valid(counted(inputs, "value")))
}
