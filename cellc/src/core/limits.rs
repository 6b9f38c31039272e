//! Limits for the operations and constants of a model. The builder refuses more.

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
