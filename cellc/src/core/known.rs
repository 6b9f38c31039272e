//! Tensors during the translation of a model.

use super::Source;
use crate::model::{ElementType, Tensor};

/// A tensor during the translation of a model.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// A compile-time tensor with the element type of the model. The stored elements may have
    /// another type, with equal values.
    Constant(Tensor, ElementType),
    /// A run-time tensor: an input, a variable or a computed value.
    Source(Source, ElementType),
    /// The iteration number of a loop, as a tensor of this shape.
    Iteration(Vec<usize>, ElementType),
}

impl Known {
    /// A constant of floating-point numbers. `values` has one number for each element of the shape.
    pub(crate) fn floats(shape: Vec<usize>, values: &[f32], element: ElementType) -> Self {
        let tensor = Tensor::from_f32(shape, values);
        Self::Constant(tensor.expect("core: a shape has as many elements as numbers"), element)
    }

    /// A constant of integers. `values` has one number for each element of the shape.
    pub(crate) fn integers(shape: Vec<usize>, values: &[i64], element: ElementType) -> Self {
        let tensor = Tensor::from_i64(shape, values);
        Self::Constant(tensor.expect("core: a shape has as many elements as numbers"), element)
    }

    /// A constant of one element, with the element type of another tensor.
    pub(crate) fn number_like(like: &Self, value: f32) -> Self {
        match like.element().is_float() {
            true => Self::floats(Vec::new(), &[value], like.element()),
            false => Self::integers(Vec::new(), &[value as i64], like.element()),
        }
    }

    /// The element type in the model.
    pub(crate) fn element(&self) -> ElementType {
        match self {
            Self::Constant(_, element) | Self::Source(_, element) | Self::Iteration(_, element) => {
                *element
            }
        }
    }

    /// The tensor of a constant. `None` for run-time tensors and for the iteration number.
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Constant(tensor, _) => Some(tensor),
            Self::Source(..) | Self::Iteration(..) => None,
        }
    }
}
