//! Tensors during the translation of a model.

use super::Source;
use crate::model::{ElementType, Tensor};

/// A tensor during the translation of a model.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// A compile-time tensor with the element type of the model. The bytes may have another type
    /// with equal values.
    Constant(Tensor, ElementType),
    /// A run-time tensor: an input, a variable or a computed value.
    Source(Source, ElementType),
    /// The number of a loop's iteration, of this shape.
    Iteration(Vec<usize>, ElementType),
}

impl Known {
    pub(crate) fn element(&self) -> ElementType {
        match self {
            Self::Constant(_, element) | Self::Source(_, element) | Self::Iteration(_, element) => {
                *element
            }
        }
    }

    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Constant(tensor, _) => Some(tensor),
            Self::Source(..) | Self::Iteration(..) => None,
        }
    }
}
