//! The limits of models, whatever the way in. Larger models are refused. Limits of one operation
//! alone, such as the most runs of a Gather, stand beside the translation of the operation.

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
/// The most cells, inputs, outputs and variables: compilers must accept the generated source.
pub(crate) const MOST_IN_MODEL: usize = 1000;
/// The most units of a cell; the square of a larger number exceeds any file.
pub(crate) const MOST_UNITS: usize = 1 << 20;
/// The most states of a declared layer, both directions together. Checked before the model exists.
pub(crate) const MOST_STATES: usize = 1 << 23;
/// The most values of earlier samples that an amplifier model keeps.
pub(crate) const MOST_PAST: u64 = 1 << 24;
/// The greatest nesting depth of loops and branches. Readers replace deeper bodies by
/// [`Loop::too_deep`](super::Loop::too_deep).
pub(crate) const MOST_NESTED: usize = 8;
/// The most sizes or axes in a list.
pub(crate) const LONGEST_LIST: usize = 1 << 16;
/// The most elements of a constant: 1 GiB of f32.
pub(crate) const MOST_ELEMENTS: usize = 1 << 28;
/// The most elements of the result of an operation on constants; more if the operands have more.
pub(crate) const MOST_FOLDED_ALONE: usize = 1 << 24;
/// The most elements and products that all operations on constants compute, beside
/// [`FOLDS_PER_BYTE`]: a second in a build without optimisation.
pub(crate) const MOST_FOLDED: usize = 1 << 26;
/// Largest number of folded elements for each byte of the model's constants.
pub(crate) const FOLDS_PER_BYTE: usize = 64;
/// The most folded elements, for constants of any size: some seconds.
pub(crate) const MOST_FOLDED_EVER: usize = 1 << 29;
/// The most bytes of the results of all operations on constants, beside [`FOLDED_PER_BYTE`].
pub(crate) const MOST_FOLDED_BYTES: usize = 256 << 20;
/// Most bytes of these results for each byte of the model's own constants. A weight of one byte is
/// converted, shifted, scaled, transposed: each of the results has four bytes.
pub(crate) const FOLDED_PER_BYTE: usize = 32;
/// The most operations: unused operations count, and operations of a body count once per
/// check of the body.
pub(crate) const MOST_OPERATIONS: usize = 1 << 14;
/// The most dimensions of a tensor.
pub(crate) const MOST_DIMS: usize = 16;
