//! Formats of packed matrices.

use super::arithmetic::MOST_IN_16_BITS;

/// The format of a packed matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WeightFormat {
    /// IEEE binary32.
    #[default]
    F32,
    /// IEEE binary16; exact if the model's constants are FP16.
    F16,
    /// bfloat16, two weights in 32 bits.
    Bf16Pair,
    /// 8 bits and one scale per row, multiplied in f32. For weights of quantised models, if 8 bits
    /// hold the weights exactly.
    Int8,
    /// Int8 with four weights per word: storage of [int8](super::Arithmetic::Int8), and of
    /// [int8x16](super::Arithmetic::Int8x16) if every instruction set of the file multiplies four
    /// bytes by two pairs of 16 bits.
    Int8Quad,
    /// Int8 with two weights per word: storage of [int8x16](super::Arithmetic::Int8x16) in all
    /// other files.
    Int8Pair,
    /// 16 bits and one scale per row: storage of [int16](super::Arithmetic::Int16).
    Int16,
}

impl WeightFormat {
    /// Every format of f32 arithmetic.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 4] = [Self::F32, Self::F16, Self::Bf16Pair, Self::Int8];

    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16Pair => "bf16",
            Self::Int8 | Self::Int8Pair | Self::Int8Quad => "int8",
            Self::Int16 => "int16",
        }
    }

    /// True if products are products of integers.
    pub(crate) fn is_of_integers(self) -> bool {
        matches!(self, Self::Int8Pair | Self::Int8Quad | Self::Int16)
    }

    /// Elements per word in a row of `line` elements; one instruction multiplies all elements of a
    /// word.
    pub(crate) fn in_word(self, line: usize) -> usize {
        match self {
            Self::Int8Quad if line > MOST_IN_16_BITS => 4,
            Self::Int8Pair | Self::Int8Quad | Self::Int16 => 2,
            Self::F32 | Self::F16 | Self::Bf16Pair | Self::Int8 => 1,
        }
    }

    /// True if each row has a scale.
    pub(crate) fn has_scales(self) -> bool {
        matches!(self, Self::Int8 | Self::Int8Pair | Self::Int8Quad | Self::Int16)
    }
}
