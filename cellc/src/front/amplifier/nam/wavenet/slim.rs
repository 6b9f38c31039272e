//! A WaveNet with fewer channels: the first channels of each array.

use super::super::super::causal::{Conv, ConvSizes};
use super::super::super::refusal;
use super::super::functions::Function;
use super::super::weights::Weights;
use super::layer::{Gate, Layer};
use super::{Array, Sizes};
use crate::diagnostic::Diagnostic;
use crate::model::ModelSize;

/// The number of channels of an array for a size.
fn channels(array: &Array, size: ModelSize) -> usize {
    let full = array.rechannel.outputs;
    let at = match size {
        ModelSize::Largest => return full,
        ModelSize::Smallest => 0,
        ModelSize::Control(control) => (f64::from(control) * array.allowed.len() as f64) as usize,
    };
    array.allowed.get(at).copied().unwrap_or(full)
}

/// The sizes and the weights of a smaller network.
///
/// # Errors
/// If the network has a part for which no smaller size is defined.
pub(super) fn slimmed(
    full: Sizes,
    weights: Vec<f32>,
    size: ModelSize,
) -> Result<(Sizes, Vec<f32>), Diagnostic> {
    let kept_channels: Vec<usize> = full.arrays.iter().map(|array| channels(array, size)).collect();
    if full
        .arrays
        .iter()
        .zip(&kept_channels)
        .all(|(array, channels)| array.rechannel.outputs == *channels)
    {
        return Ok((full, weights));
    }
    if let Some(part) = full.unsliced() {
        let found = format!("a smaller size of a WaveNet with {part}");
        return Err(refusal("\"config\"", found).valid("the largest size"));
    }
    let mut reader = Weights::new(&weights);
    let (mut slim, mut taken) = (full.clone(), Vec::new());
    let count = kept_channels.len();
    for (at, array) in slim.arrays.iter_mut().enumerate() {
        let before = if at == 0 { array.rechannel.inputs } else { kept_channels[at - 1] };
        let after = if at + 1 == count { array.head.outputs } else { kept_channels[at + 1] };
        let mut take = |sizes: &mut ConvSizes, inputs: usize, outputs: usize| {
            let conv = reader.conv(*sizes);
            (sizes.inputs, sizes.outputs) = (inputs, outputs);
            taken.extend(first(&conv, *sizes));
        };
        take(&mut array.rechannel, before, kept_channels[at]);
        for layer in &mut array.layers {
            let halves = if layer.gate == Gate::None { 1 } else { 2 };
            take(&mut layer.conv, kept_channels[at], halves * kept_channels[at]);
            let conditions = layer.mixin.inputs;
            take(&mut layer.mixin, conditions, halves * kept_channels[at]);
            take(&mut layer.layer1x1, kept_channels[at], kept_channels[at]);
        }
        take(&mut array.head, kept_channels[at], after);
    }
    taken.extend(reader.next(1));
    Ok((slim, taken))
}

/// The weights of the first inputs and outputs of a convolution, then their biases.
fn first(conv: &Conv, sizes: ConvSizes) -> Vec<f32> {
    let Conv { sizes: full, weights, bias } = conv;
    let rows = weights.chunks(full.inputs * full.kernel).take(sizes.outputs);
    let row = |row: &[f32]| row[..sizes.inputs * sizes.kernel].to_vec();
    rows.flat_map(row).chain(bias.iter().take(sizes.outputs).copied()).collect()
}

impl Sizes {
    /// A part for which no smaller size is defined. `None` if there is no such part.
    fn unsliced(&self) -> Option<&'static str> {
        let layers = || self.arrays.iter().flat_map(|array| &array.layers);
        let any = |is: fn(&Layer) -> bool| layers().any(is);
        let grouped =
            |layer: &Layer| [layer.conv, layer.mixin, layer.layer1x1].iter().any(|c| c.groups > 1);
        let by_channel =
            |function: &Function| matches!(function, Function::PRelu(slopes) if slopes.len() > 1);
        let sloped = layers().any(|layer| {
            let gate = match &layer.gate {
                Gate::None => None,
                Gate::Gated(function) | Gate::Blended(function) => Some(function),
            };
            by_channel(&layer.activation) || gate.is_some_and(by_channel)
        });
        let parts = [
            ("a head", self.head.is_some()),
            ("a head of several taps", self.arrays.iter().any(|array| array.head.kernel > 1)),
            ("groups", any(grouped)),
            ("a head1x1", any(|layer| layer.head1x1.is_some())),
            ("FiLM", any(|layer| layer.films.iter().any(Option::is_some))),
            ("a bottleneck", any(|layer| layer.layer1x1.inputs != layer.layer1x1.outputs)),
            ("slopes for each channel", sloped),
        ];
        parts.into_iter().find_map(|(part, has)| has.then_some(part))
    }
}
