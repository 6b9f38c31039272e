//! Limits for the size of a model. Larger models are refused.

use std::collections::HashSet;

use crate::model::Tensor;

/// The most elements of a constant: 1 GiB of f32.
pub(crate) const MOST_ELEMENTS: usize = 1 << 28;
/// Most elements of the result of an operation on constants; more if the operands have more.
pub(crate) const MOST_FOLDED_ALONE: usize = 1 << 24;
/// The most bytes of all inputs and outputs together; weights that are inputs are not counted.
pub(crate) const MOST_INTERFACE_BYTES: usize = 1 << 26;
/// The most elements of all tensors together.
pub(crate) const MOST_ELEMENTS_IN_ALL: usize = 1 << 30;
/// Most elements and products that all operations on constants compute, beside [`FOLDS_PER_BYTE`]:
/// a second in a build without optimisation.
pub(crate) const MOST_FOLDED: usize = 1 << 26;
/// Largest number of folded elements for each byte of the model's constants.
pub(crate) const FOLDS_PER_BYTE: usize = 64;
/// Upper limit for folded elements, for constants of any size: some seconds.
pub(crate) const MOST_FOLDED_EVER: usize = 1 << 29;
/// Most bytes of the results of all operations on constants, beside [`FOLDED_PER_BYTE`].
pub(crate) const MOST_FOLDED_BYTES: usize = 256 << 20;
/// Most bytes of these results for each byte of the model's own constants. A weight of one byte is
/// converted, shifted, scaled, transposed: each of the results has four bytes.
pub(crate) const FOLDED_PER_BYTE: usize = 32;
/// Largest number of cells, of Parameters and of Results: compilers must accept the generated
/// source.
pub(crate) const MOST_NODES: usize = 1000;
/// Largest number of operations: unused operations count, and operations of a body count once per
/// check of the body.
pub(crate) const MOST_OPERATIONS: usize = 1 << 14;
/// The most nodes visited in bodies of loops. Unrolled iterations count again.
pub(crate) const MOST_VISITED: usize = 1 << 17;
/// The most dimensions of a tensor.
pub(crate) const MOST_DIMS: usize = 16;
/// The most loops around an operation.
pub(crate) const MOST_LOOPS: usize = 8;
/// The most multiply-adds of a model that `--unroll full` writes out: straight-line code takes
/// rustc more than linear time, and 3,456 of them take some 20 seconds.
pub(crate) const MOST_UNROLLED: usize = 1 << 13;

/// The work and memory spent on constants.
#[derive(Default)]
pub(crate) struct Folded {
    /// Elements that were computed or added up.
    pub(crate) elements: usize,
    /// Bytes of all results.
    pub(crate) bytes: usize,
    /// Bytes of the model's own constants.
    pub(crate) given: usize,
    /// Addresses of constants counted in `given`: several nodes may share one.
    known: HashSet<(usize, usize)>,
}

impl Folded {
    /// Counts a constant of the model.
    pub(crate) fn given(&mut self, tensor: &Tensor) {
        let bytes = tensor.bytes();
        if self.known.insert((bytes.as_ptr().addr(), bytes.len())) {
            self.given = self.given.saturating_add(bytes.len());
        }
    }
}
