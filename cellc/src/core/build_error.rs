//! The reasons why a builder refuses a part of a core model.

/// The reason why a tensor or an operation cannot be built.
#[derive(Clone, Debug)]
pub(crate) enum BuildError {
    /// An operand is the iteration number of a loop, which kernels cannot read.
    Iteration,
    /// More operations than the limit.
    Operations,
    /// A tensor of this shape has no elements.
    NoElements(Vec<usize>),
    /// More dimensions than the limit: the number of dimensions.
    Dims(usize),
    /// More elements than the limit.
    Elements { shape: Vec<usize>, most: usize },
    /// The results of all operations on constants take more bytes than the limit.
    FoldedBytes { bytes: usize, most: usize },
    /// All operations on constants compute more elements and products than the limit.
    FoldedElements { elements: usize, most: usize },
}

/// A part of the core model, or the reason why it cannot be built.
pub(crate) type Built<T> = Result<T, BuildError>;
