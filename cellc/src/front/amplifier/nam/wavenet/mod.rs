//! NAM's WaveNet: arrays of layers with dilated convolutions. Each layer adds to a sum, the head.

mod config;
mod layer;
mod slim;

use super::super::causal::{Causal, Conv, ConvSizes, Signal, total};
use super::functions::Function;
use super::network::Network;
use super::weights::Weights;
use crate::model::counted;
use layer::Layer;

pub(super) use config::read;

/// Layers with the same number of channels.
#[derive(Clone, Debug)]
struct Array {
    /// From the inputs of the array to its channels.
    rechannel: ConvSizes,
    layers: Vec<Layer>,
    /// From the sum of the layers to the head of the next array, or to the output.
    head: ConvSizes,
    /// Numbers of channels that a player may compute, ascending. Empty: only the full number.
    allowed: Vec<usize>,
}

/// The convolutions behind the last array. The function is applied to the input of each.
#[derive(Clone, Debug)]
struct Head {
    function: Function,
    convs: Vec<ConvSizes>,
}

#[derive(Clone, Debug)]
struct Sizes {
    inputs: usize,
    arrays: Vec<Array>,
    head: Option<Head>,
}

impl Sizes {
    /// Number of weights in a file: those of the arrays and of the head, and the head scale.
    fn weights(&self) -> u64 {
        let of_array = |array: &Array| {
            let layers = array.layers.iter().map(Layer::weights);
            total(layers.chain([array.rechannel.weights(), array.head.weights()]))
        };
        let head = self.head.iter().flat_map(|head| &head.convs).map(|conv| conv.weights());
        total(self.arrays.iter().map(of_array).chain(head).chain([1]))
    }

    /// Number of values of earlier samples that the convolutions keep.
    fn past(&self) -> u64 {
        let layers = self.arrays.iter().flat_map(|array| &array.layers).map(|layer| layer.conv);
        let heads = self.arrays.iter().map(|array| array.head);
        let last = self.head.iter().flat_map(|head| head.convs.iter().copied());
        total(layers.chain(heads).chain(last).map(ConvSizes::kept))
    }

    fn outputs(&self) -> usize {
        let arrays = self.arrays.iter().map(|array| array.head);
        let head = self.head.iter().flat_map(|head| head.convs.iter().copied());
        arrays.chain(head).next_back().map_or(0, |conv| conv.outputs)
    }

    fn text(&self) -> String {
        let layers: usize = self.arrays.iter().map(|array| array.layers.len()).sum();
        let channels: Vec<String> =
            self.arrays.iter().map(|array| array.rechannel.outputs.to_string()).collect();
        format!(
            "{} in {} of {} channels",
            counted(layers, "layer"),
            counted(self.arrays.len(), "array"),
            channels.join(" and ")
        )
    }
}

/// A WaveNet with its weights.
pub(super) struct WaveNet {
    sizes: Sizes,
    weights: Vec<f32>,
    /// Computes the condition of the layers from x. `None`: the condition is x.
    condition: Option<Box<dyn Network>>,
}

impl Network for WaveNet {
    fn inputs(&self) -> usize {
        self.sizes.inputs
    }

    fn outputs(&self) -> usize {
        self.sizes.outputs()
    }

    fn past(&self) -> u64 {
        let condition = self.condition.iter().map(|network| network.past());
        total(condition.chain([self.sizes.past()]))
    }

    fn add(&self, net: &mut Causal, prefix: &str, x: &Signal) -> Signal {
        let mut weights = Weights::new(&self.weights);
        let condition = match &self.condition {
            Some(network) => network.add(net, &format!("{prefix}condition_"), x),
            None => x.clone(),
        };
        let (mut layers, mut head) = (x.clone(), None);
        for (at, array) in self.sizes.arrays.iter().enumerate() {
            let name = format!("{prefix}array_{at}");
            let rechannel = weights.conv(array.rechannel);
            layers = net.convolution(&format!("{name}_in"), &rechannel, &layers);
            for (number, layer) in array.layers.iter().enumerate() {
                let name = format!("{name}_layer_{number}");
                let (next, own) = layer.add(net, &name, &mut weights, &layers, &condition);
                layers = next;
                head = Some(match head {
                    Some(sum) => net.add(&format!("{name}_head"), &sum, &own),
                    None => own,
                });
            }
            let conv = weights.conv(array.head);
            head = head.map(|sum| net.convolution(&format!("{name}_head"), &conv, &sum));
        }
        let head = head.expect("a layer in every array");
        let convs: Vec<Conv> = match &self.sizes.head {
            Some(head) => head.convs.iter().map(|sizes| weights.conv(*sizes)).collect(),
            None => Vec::new(),
        };
        let scale = net.number(&format!("{prefix}head_scale"), weights.next(1)[0], head.channels());
        let mut out = net.multiply(&format!("{prefix}head_scaled"), &head, &scale);
        let function = self.sizes.head.as_ref().map(|head| &head.function);
        for (at, (conv, function)) in convs.iter().zip(function.into_iter().cycle()).enumerate() {
            let name = format!("{prefix}head_{at}");
            out = function.add(net, &format!("{name}_activation"), &out);
            out = net.convolution(&name, conv, &out);
        }
        out
    }
}
