//! Precisions, formats of packed matrices, arithmetics of products.

/// The storage and arithmetic of the matrices of cells, dense layers and, for integers, depthwise
/// convolutions. Biases, peepholes, activations and states stay f32.
///
/// f16 and bf16 store compile-time weights; products and sums are f32. Integers have one scale per
/// row of weights. At every step x and h are rounded to integers with one scale each; integer sums
/// are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Precision {
    /// Weights and products in f32.
    #[default]
    F32,
    /// Weights in binary16, products in f32.
    F16,
    /// Weights in bfloat16, two in 32 bits; products in f32.
    Bf16,
    /// Weights, x and h as integers of up to 16 bits, within ranges for which no sum exceeds 32
    /// bits.
    Int16,
    /// Weights of 8 bits, x and h of up to 16.
    Int8x16,
    /// Weights, x and h of 8 bits.
    Int8,
}

impl Precision {
    /// Every precision.
    pub const ALL: [Self; 6] =
        [Self::F32, Self::F16, Self::Bf16, Self::Int16, Self::Int8x16, Self::Int8];

    /// The name on the command line and in macros.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Int16 => "int16",
            Self::Int8x16 => "int8x16",
            Self::Int8 => "int8",
        }
    }

    /// The arithmetic of products.
    pub(crate) fn arithmetic(self) -> Arithmetic {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => Arithmetic::F32,
            Self::Int16 => Arithmetic::Int16,
            Self::Int8x16 => Arithmetic::Int8x16,
            Self::Int8 => Arithmetic::Int8,
        }
    }

    /// The format of matrices with f32 products. f32 for integer precisions; [`Arithmetic::stored`]
    /// decides their format.
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

    /// Reads the precision of one layer: its name, '=' and the precision.
    pub(crate) fn of_layer(text: &str) -> Result<(String, Self), String> {
        // the last one: a name may hold '=', a precision cannot
        let named = text.rsplit_once('=').and_then(|(layer, name)| {
            let precision =
                Self::ALL.into_iter().find(|precision| precision.name() == name.trim())?;
            (!layer.is_empty()).then(|| (layer.to_owned(), precision))
        });
        let valid = "the name of a layer, '=' and f32, f16, bf16, int16, int8x16 or int8 are \
            needed: head=f32";
        named.ok_or_else(|| valid.to_owned())
    }
}

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
    /// 8 bits and one scale per row, multiplied in f32, for weights of quantised models if 8 bits
    /// hold the weights exactly.
    Int8,
    /// Int8 with four weights per word: storage of [`Arithmetic::Int8`], and of
    /// [`Arithmetic::Int8x16`] if an instruction set multiplies four bytes by two pairs of 16 bits.
    Int8Quad,
    /// Int8 with two weights per word: storage of [`Arithmetic::Int8x16`] on all other instruction
    /// sets.
    Int8Pair,
    /// 16 bits and one scale per row: storage of [`Arithmetic::Int16`].
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

/// Longest vector rounded to 16 bits instead of 8.
const MOST_IN_16_BITS: usize = 4;

/// The arithmetic of the matrix products of cells and dense layers. Biases, activations and states
/// stay f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arithmetic {
    /// f32, for every storage of the weights.
    #[default]
    F32,
    /// Weights, x and h as integers of 8 bits. One scale per row of weights, and at every step one
    /// for x and one for h; exact sums.
    Int8,
    /// Weights of 8 bits, x and h of up to 16.
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
            // a row of weights whose mean magnitude is half its largest then has as large a range
            Self::Int16 => Some((4_294_967_296.0 / len.max(1) as f64).sqrt().min(32_767.0) as u16),
        }
    }
}

impl Arithmetic {
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

    /// The storage of matrices for this arithmetic. `format` is the storage for f32 products.
    pub(crate) fn stored(self, format: WeightFormat) -> WeightFormat {
        match self {
            Self::F32 => format,
            Self::Int8 => WeightFormat::Int8Quad,
            Self::Int8x16 => WeightFormat::Int8Pair,
            Self::Int16 => WeightFormat::Int16,
        }
    }
}
