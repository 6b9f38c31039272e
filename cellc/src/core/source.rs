//! The origins of the tensors that operations read.

use std::fmt::{self, Display, Formatter};

/// The origin of a tensor of a `CoreModel`. Kernels read tensors as f32, except sequence lengths
/// and other integer inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The i-th of `CoreModel::parameters`.
    Parameter(usize),
    /// The i-th of `CoreModel::constants`.
    Constant(usize),
    /// The i-th of `CoreModel::variables`, before the step.
    Variable(usize),
    /// The i-th of `CoreModel::values`.
    Value(usize),
}

/// The index of a constant in `CoreModel::constants`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantId(pub usize);

impl From<ConstantId> for Source {
    fn from(constant: ConstantId) -> Self {
        Self::Constant(constant.0)
    }
}

impl Display for ConstantId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Source::from(*self).fmt(f)
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(i) => write!(f, "parameter {i}"),
            Self::Constant(i) => write!(f, "constant {i}"),
            Self::Variable(i) => write!(f, "variable {i}"),
            Self::Value(i) => write!(f, "value {i}"),
        }
    }
}

/// The origin of weights: W, R, B or P of a cell, or the matrix of a dense layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WeightSource {
    /// The i-th of `CoreModel::constants`.
    Constant(usize),
    /// The i-th of `CoreModel::parameters`, with `Parameter::weight` set.
    Parameter(usize),
    /// All zero: the model omits the bias tensor.
    Zero,
}

/// A reference of an operation to a tensor, for renumbering.
pub(crate) enum Reference<'n> {
    /// An operand.
    Source(&'n mut Source),
    /// An operand that is a constant.
    Constant(&'n mut ConstantId),
    /// The weights of a product.
    Weight(&'n mut WeightSource),
    /// A value that the operation computes.
    Value(&'n mut usize),
}

impl Display for WeightSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(i) => write!(f, "constant {i}"),
            Self::Parameter(i) => write!(f, "parameter {i}"),
            Self::Zero => f.write_str("zero"),
        }
    }
}

/// Sources, separated by commas.
pub(super) fn listed(sources: &[Source]) -> String {
    sources.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
