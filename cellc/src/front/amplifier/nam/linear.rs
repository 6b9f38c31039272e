//! NAM's Linear: impulse responses (FIR filters), newest sample first, plus a bias.

use super::super::causal::{Causal, Conv, ConvSizes, Signal};
use super::config::Config;
use super::network::{Network, Outer};
use super::weights::Weights;
use crate::diagnostic::{Diagnostic, Origin};
use crate::model::{LedgerEntry, counted};

struct Linear(Conv);

/// Reads the configuration and the weights of a Linear model.
pub(super) fn read(
    mut config: Config,
    weights: Vec<f32>,
    outer: &mut Outer,
) -> Result<Box<dyn Network>, Diagnostic> {
    let taps = config.size("receptive_field")?;
    let has_bias = config.flag("bias")?;
    let inputs = config.size_or("in_channels", 1)?;
    let outputs = config.size_or("out_channels", 1)?;
    // the key has no effect: it selects an algorithm for equal sums
    config.take("implementation");
    let is_alike = inputs == outputs;
    if !is_alike && inputs != 1 && outputs != 1 {
        let found = format!("{inputs} in_channels and {outputs} out_channels");
        return Err(config.refused(found).valid("as many of both, or 1 of one"));
    }
    let repeat = if is_alike { outputs } else { 1 };
    let sizes = ConvSizes {
        kernel: taps,
        groups: repeat,
        bias: has_bias,
        ..ConvSizes::one(inputs, outputs)
    };
    config.check(sizes, "in_channels")?;
    config.finish("receptive_field, bias, in_channels, out_channels and implementation")?;
    let (responses, biases) = if is_alike { (1, 1) } else { (inputs.max(outputs), outputs) };
    let needed = taps as u64 * responses as u64 + if has_bias { biases as u64 } else { 0 };
    Weights::check(&weights, needed, &format!("a receptive field of {}", counted(taps, "sample")))?;
    outer.ledger.push(LedgerEntry {
        attribute: "weights".to_owned(),
        text: None,
        meaning: "newest sample first, as NAM's player reads them; NAM's trainer 0.13 computes \
                  with the oldest first"
            .to_owned(),
        origin: Origin::Unknown,
    });
    let mut reader = Weights::new(&weights);
    // the newest sample is the last tap of a convolution
    let reversed: Vec<f32> = reader
        .next(taps * responses)
        .chunks(taps)
        .flat_map(|taps| taps.iter().rev())
        .copied()
        .collect();
    let bias = reader.next(if has_bias { biases } else { 0 });
    Ok(Box::new(Linear(Conv {
        sizes,
        weights: reversed.repeat(repeat),
        bias: bias.repeat(repeat),
    })))
}

impl Network for Linear {
    fn inputs(&self) -> usize {
        self.0.sizes.inputs
    }

    fn outputs(&self) -> usize {
        self.0.sizes.outputs
    }

    fn past(&self) -> u64 {
        self.0.sizes.kept()
    }

    fn add(&self, net: &mut Causal, prefix: &str, x: &Signal) -> Signal {
        net.convolution(&format!("{prefix}response"), &self.0, x)
    }
}
