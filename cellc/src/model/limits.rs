//! The limits of models, which all input formats and interfaces share. Larger models are refused.
//! The limit of a single operation, such as the most runs of a Gather, stands next to the
//! translation of the operation.

/// The most bytes of all inputs and outputs together; weights that are inputs are not counted.
pub(crate) const MOST_INTERFACE_BYTES: usize = 1 << 26;
/// The most elements of all tensors together.
pub(crate) const MOST_ELEMENTS_IN_ALL: usize = 1 << 30;
/// The largest stride, dilation, pad or output size along an axis. Sums and products of two of
/// these numbers fit in 64 bits.
pub(crate) const MOST_ALONG_AXIS: usize = 1 << 24;
/// The most independent streams of a step.
pub(crate) const MOST_STREAMS: usize = 1 << 24;
/// The most iterations of a loop: generated code counts iterations in 32 bits.
pub(crate) const MOST_ITERATIONS: usize = u32::MAX as usize;
/// The most nodes that the translation visits in a model with bodies of loops or branches. Each
/// unrolled iteration visits its nodes again.
pub(crate) const MOST_VISITED: usize = 1 << 17;
/// The most multiply-adds of a model that `--unroll full` turns into straight-line code. rustc
/// takes more than linear time for straight-line code: some 20 seconds for 3,456 multiply-adds.
pub(crate) const MOST_UNROLLED: usize = 1 << 13;
/// The most cells of a model, the most inputs, the most outputs and the most variables: compilers
/// must accept the generated source.
pub(crate) const MOST_IN_MODEL: usize = 1000;
/// The most units of a cell. For more units, the recurrent matrix would exceed any file.
pub(crate) const MOST_UNITS: usize = 1 << 20;
/// The most numbers in the states of a declared layer, both directions together. The declaration is
/// checked before the model exists.
pub(crate) const MOST_STATES: usize = 1 << 23;
/// The most values of earlier samples that an amplifier model keeps.
pub(crate) const MOST_PAST: u64 = 1 << 24;
/// The greatest nesting depth of loops and branches. Readers replace deeper bodies by
/// [`Loop::too_deep`](super::Loop::too_deep).
pub(crate) const MOST_NESTED: usize = 8;
/// The most sizes or axes in a list.
pub(crate) const LONGEST_LIST: usize = 1 << 16;
/// The most elements of a constant or of an input: 1 GiB of f32.
pub(crate) const MOST_ELEMENTS: usize = 1 << 28;
/// The most elements of the result of an operation on constants. If the operands have more elements
/// together, their number is the limit.
pub(crate) const MOST_FOLDED_ALONE: usize = 1 << 24;
/// The most elements and products that operations on constants compute in a model without
/// constants: about a second in a build without optimisation. [`FOLDS_PER_BYTE`] raises the limit.
pub(crate) const MOST_FOLDED: usize = 1 << 26;
/// The elements and products by which each byte of the model's constants raises [`MOST_FOLDED`].
pub(crate) const FOLDS_PER_BYTE: usize = 64;
/// The most elements and products that operations on constants compute, whatever the size of the
/// constants: some seconds.
pub(crate) const MOST_FOLDED_EVER: usize = 1 << 29;
/// The most bytes of the results of operations on constants in a model without constants.
/// [`FOLDED_PER_BYTE`] raises the limit.
pub(crate) const MOST_FOLDED_BYTES: usize = 256 << 20;
/// The bytes by which each byte of the model's constants raises [`MOST_FOLDED_BYTES`]. A weight of
/// one byte may be converted, shifted, scaled and transposed, and each of these results has four
/// bytes.
pub(crate) const FOLDED_PER_BYTE: usize = 32;
/// The most operations of a core model. Unused operations count, and the operations of a body count
/// again each time the body is translated.
pub(crate) const MOST_OPERATIONS: usize = 1 << 14;
/// The most dimensions of a tensor.
pub(crate) const MOST_DIMS: usize = 16;
