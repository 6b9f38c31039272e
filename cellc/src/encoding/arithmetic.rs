//! Arithmetics of matrix products.

/// The longest vector that [`Arithmetic::Int8`] rounds to 16 bits instead of 8.
pub(super) const MOST_IN_16_BITS: usize = 4;

/// The arithmetic of the matrix products of cells and dense layers. Biases, activations and states
/// stay f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arithmetic {
    /// f32, for every storage of the weights.
    #[default]
    F32,
    /// Weights, x and h as integers of 8 bits; x and h of up to four elements have up to 16 bits.
    /// One scale for each row of weights, and at every step one scale for x and one for h. Sums are
    /// exact.
    Int8,
    /// Weights as integers of 8 bits, x and h as integers of up to 16 bits.
    Int8x16,
    /// Weights, x and h as integers of up to 16 bits, within ranges for which no sum exceeds 32
    /// bits.
    Int16,
}

impl Arithmetic {
    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int8 => "int8",
            Self::Int8x16 => "int8x16",
            Self::Int16 => "int16",
        }
    }

    /// The largest magnitude of integers in a vector of `len` elements, to keep sums within 32
    /// bits. `None` for f32.
    pub(crate) fn largest(self, len: usize) -> Option<u16> {
        // weights of 8 bits are at most 127
        let beside_bytes = (i32::MAX as usize / 127 / len.max(1)).clamp(1, 32_767) as u16;
        match self {
            Self::F32 => None,
            Self::Int8 if len > MOST_IN_16_BITS => Some(beside_bytes.min(127)),
            Self::Int8 | Self::Int8x16 => Some(beside_bytes),
            // the range of x equals the range of a row of weights whose mean magnitude is half of
            // the largest magnitude
            Self::Int16 => Some((4_294_967_296.0 / len.max(1) as f64).sqrt().min(32_767.0) as u16),
        }
    }

    /// Upper limit for the sum of the magnitudes of a row of 16-bit weights, so that no sum of
    /// products exceeds 32 bits.
    pub(crate) fn most_in_pairs(len: usize) -> u32 {
        i32::MAX.unsigned_abs() / u32::from(Self::Int16.largest(len).unwrap_or(1))
    }

    /// The arithmetic of depthwise convolutions: elements have 16 bits, as each weight multiplies
    /// many elements.
    pub(crate) fn of_windows(self) -> Self {
        if self == Self::Int8 { Self::Int8x16 } else { self }
    }
}
