//! NAM's ConvNet: convolutions of two taps, each with an optional batch normalisation and a
//! function, then a convolution of one tap.

use super::super::causal::{Causal, Conv, ConvSizes, Signal, deviation, total};
use super::config::Config;
use super::functions::Function;
use super::network::{Network, Outer};
use super::weights::Weights;
use crate::diagnostic::Diagnostic;
use crate::model::counted;

/// Taps of each convolution.
const KERNEL: usize = 2;

struct ConvNet {
    blocks: Vec<Conv>,
    function: Function,
    head: Conv,
}

/// Reads the configuration and the weights of a ConvNet.
pub(super) fn read(
    mut config: Config,
    weights: Vec<f32>,
    _: &mut Outer,
) -> Result<Box<dyn Network>, Diagnostic> {
    let channels = config.size("channels")?;
    let dilations = config.sizes("dilations")?;
    let normalised = config.flag("batchnorm")?;
    let activation = config.need("activation")?;
    let function = Function::read(activation, &config.path_of("activation"))?;
    function.check(channels, &config.path_of("activation"))?;
    let groups = config.size_or("groups", 1)?;
    let inputs = config.size_or("in_channels", 1)?;
    let outputs = config.size_or("out_channels", 1)?;
    let mut blocks = Vec::new();
    for (at, &dilation) in dilations.iter().enumerate() {
        let inputs = if at == 0 { inputs } else { channels };
        blocks.push(ConvSizes {
            inputs,
            outputs: channels,
            kernel: KERNEL,
            dilation,
            groups,
            bias: !normalised,
        });
        config.check(blocks[at], "groups")?;
    }
    config.finish("channels, dilations, batchnorm, activation, groups and channels in and out")?;
    let head = ConvSizes { bias: true, ..ConvSizes::one(channels, outputs) };
    let of_norm = if normalised { 4 * channels as u64 + 1 } else { 0 };
    let of_blocks = blocks.iter().map(|block| block.weights() + of_norm);
    let needed = total(of_blocks.chain([head.weights()]));
    let text = format!("{} of {}", counted(dilations.len(), "block"), counted(channels, "channel"));
    Weights::check(&weights, needed, &text)?;
    let mut reader = Weights::new(&weights);
    let mut convs = Vec::new();
    for (at, sizes) in blocks.into_iter().enumerate() {
        let mut conv = reader.conv(sizes);
        if normalised {
            normalise(&mut conv, &mut reader, at)?;
        }
        convs.push(conv);
    }
    let head = reader.conv(head);
    Ok(Box::new(ConvNet { blocks: convs, function, head }))
}

/// Multiplies a batch normalisation into a convolution. The next weights are mean, variance, weight
/// and bias of all channels, and the epsilon.
fn normalise(conv: &mut Conv, left: &mut Weights, block: usize) -> Result<(), Diagnostic> {
    let channels = conv.sizes.outputs;
    let [mean, variance, weight, bias] = [(); 4].map(|()| left.next(channels));
    let eps = f64::from(left.next(1)[0]);
    let of_output = conv.weights.len() / channels;
    for channel in 0..channels {
        let key_path = format!("\"weights\", block {block}");
        let deviation = deviation(f64::from(variance[channel]), eps, &key_path)?;
        let scale = f64::from(weight[channel]) / deviation;
        for weight in &mut conv.weights[channel * of_output..][..of_output] {
            *weight = (f64::from(*weight) * scale) as f32;
        }
        let shift = f64::from(bias[channel]) - scale * f64::from(mean[channel]);
        conv.bias.push(shift as f32);
    }
    conv.sizes.bias = true;
    Ok(())
}

impl Network for ConvNet {
    fn inputs(&self) -> usize {
        self.blocks.first().map_or(0, |block| block.sizes.inputs)
    }

    fn outputs(&self) -> usize {
        self.head.sizes.outputs
    }

    fn past(&self) -> u64 {
        total(self.blocks.iter().map(|block| block.sizes.kept()))
    }

    fn add(&self, net: &mut Causal, prefix: &str, x: &Signal) -> Signal {
        let mut out = x.clone();
        for (at, block) in self.blocks.iter().enumerate() {
            let name = format!("{prefix}block_{at}");
            out = net.convolution(&name, block, &out);
            out = self.function.add(net, &format!("{name}_activation"), &out);
        }
        net.convolution(&format!("{prefix}head"), &self.head, &out)
    }
}
