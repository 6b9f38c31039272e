//! The list of weights of a `.nam` file, in the order of the file.

use super::super::causal::{Conv, ConvSizes};
use super::super::refusal;
use crate::diagnostic::Diagnostic;
use crate::model::counted;

/// The weights that no layer has taken yet.
pub(super) struct Weights<'a>(&'a [f32]);

impl<'a> Weights<'a> {
    /// Checks the number of weights. `sizes`: the network, in a message.
    ///
    /// # Errors
    /// If the file has more or fewer weights than `needed`.
    pub(super) fn check(values: &[f32], needed: u64, sizes: &str) -> Result<(), Diagnostic> {
        if values.len() as u64 == needed {
            return Ok(());
        }
        let found = format!("{} for {sizes}", counted(values.len(), "weight"));
        Err(refusal("\"weights\"", found).valid(format!("{needed} weights")))
    }

    /// The weights of a network, as many as it needs.
    pub(super) fn new(values: &'a [f32]) -> Self {
        Self(values)
    }

    /// The next `count` weights.
    pub(super) fn next(&mut self, count: usize) -> &'a [f32] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    /// The next weights as a convolution.
    pub(super) fn conv(&mut self, sizes: ConvSizes) -> Conv {
        let weights = self.next(sizes.kernel_weights() as usize).to_vec();
        let bias = self.next(if sizes.bias { sizes.outputs } else { 0 }).to_vec();
        Conv { sizes, weights, bias }
    }
}
