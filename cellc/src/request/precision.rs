//! The precisions of matrices.

use super::Words;
use super::word_enums::listed;

words! {
    /// The storage and arithmetic of the matrices of cells, dense layers and, for integers,
    /// depthwise convolutions. Biases, peepholes, activations and states stay f32.
    ///
    /// f16 and bf16 store compile-time weights; products and sums are f32. Integers have one scale
    /// per row of weights. At every step x and h are rounded to integers with one scale each;
    /// integer sums are exact.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Precision {
        /// Weights and products in f32.
        F32 = "f32",
        /// Weights in binary16, products in f32.
        F16 = "f16",
        /// Weights in bfloat16, two in 32 bits; products in f32.
        Bf16 = "bf16",
        /// Weights, x and h as integers of up to 16 bits, within ranges for which no sum exceeds 32
        /// bits.
        Int16 = "int16",
        /// Weights of 8 bits, x and h of up to 16.
        Int8x16 = "int8x16",
        /// Weights, x and h of 8 bits.
        Int8 = "int8",
    }
}

impl Precision {
    /// The name on the command line and in macros.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// Reads the precision of one layer: its name, '=' and the precision.
    pub(crate) fn of_layer(text: &str) -> Result<(String, Self), String> {
        // split at the last '=': names of layers may contain '=', precisions cannot
        let named = text.rsplit_once('=').and_then(|(layer, name)| {
            let precision = Self::from_word(name.trim())?;
            (!layer.is_empty()).then(|| (layer.to_owned(), precision))
        });
        named.ok_or_else(|| {
            let precisions = listed(&Self::ALL.map(Self::name));
            format!("the name of a layer, '=' and {precisions} are needed: head=f32")
        })
    }
}
