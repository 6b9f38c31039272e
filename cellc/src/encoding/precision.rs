//! The format and the arithmetic of matrices in each precision.

use super::{Arithmetic, WeightFormat};
use crate::request::Precision;

impl Arithmetic {
    /// The format of matrices for this arithmetic. `format` is the format for f32 products.
    pub(crate) fn stored(self, format: WeightFormat) -> WeightFormat {
        match self {
            Self::F32 => format,
            Self::Int8 => WeightFormat::Int8Quad,
            Self::Int8x16 => WeightFormat::Int8Pair,
            Self::Int16 => WeightFormat::Int16,
        }
    }
}

impl Precision {
    /// The arithmetic of products.
    pub(crate) fn arithmetic(self) -> Arithmetic {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => Arithmetic::F32,
            Self::Int16 => Arithmetic::Int16,
            Self::Int8x16 => Arithmetic::Int8x16,
            Self::Int8 => Arithmetic::Int8,
        }
    }

    /// The format of matrices with f32 products. f32 for integer precisions, whose format comes
    /// from [`Arithmetic::stored`].
    pub(crate) fn storage(self) -> WeightFormat {
        match self {
            Self::F16 => WeightFormat::F16,
            Self::Bf16 => WeightFormat::Bf16Pair,
            Self::F32 | Self::Int16 | Self::Int8x16 | Self::Int8 => WeightFormat::F32,
        }
    }

    /// The format of matrices.
    pub(crate) fn stored(self) -> WeightFormat {
        self.arithmetic().stored(self.storage())
    }
}
