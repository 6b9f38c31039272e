//! Limits for the size of a model. Larger models are refused.

/// The most bytes of all inputs and outputs together; weights that are inputs are not counted.
pub(crate) const MOST_INTERFACE_BYTES: usize = 1 << 26;
/// The most elements of all tensors together.
pub(crate) const MOST_ELEMENTS_IN_ALL: usize = 1 << 30;
/// The most elements along an axis that a stride, a dilation, a pad or the size of an output may
/// name: sums and products of two of these numbers fit in 64 bits.
pub(crate) const MOST_ALONG_AXIS: usize = 1 << 24;
/// The most independent streams of a step.
pub(crate) const MOST_STREAMS: usize = 1 << 24;
/// The most iterations of a loop: generated code counts iterations in 32 bits.
pub(crate) const MOST_ITERATIONS: usize = u32::MAX as usize;
/// The most nodes visited in bodies of loops. Unrolled iterations count again.
pub(crate) const MOST_VISITED: usize = 1 << 17;
/// The most multiply-adds of a model that `--unroll full` writes out: straight-line code takes
/// rustc more than linear time, and 3,456 of them take some 20 seconds.
pub(crate) const MOST_UNROLLED: usize = 1 << 13;
