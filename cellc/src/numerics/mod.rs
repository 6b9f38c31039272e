//! The precision of every product, by operation.

mod f32_layers;
mod matrices;
mod precisions;
mod quantised;
mod ranges;

pub(crate) use f32_layers::{keep_convolutions_in_f32, layers_in_f32};
pub use matrices::Loss;
pub(crate) use matrices::matrices;
pub(crate) use precisions::Vector;
pub use precisions::{Multiples, Precisions, ProductPrecision};
#[cfg(test)]
pub(crate) use ranges::NumberRanges;

use crate::kernel::FLUSH_BELOW;
use crate::request::Numerics;

/// The magnitude below which inputs, states and outputs are flushed to zero. `None`: denormals are
/// kept.
pub(crate) fn flush_below(asked: &Numerics) -> Option<f32> {
    (!asked.keep_denormals).then_some(FLUSH_BELOW)
}
