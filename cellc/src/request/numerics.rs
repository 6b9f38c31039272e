//! The arithmetic of the generated code, and the ranges of its error bound.

use crate::model::parse_f32;

use super::{Precision, Words};

words! {
    /// Whether multiply-add is fused.
    #[non_exhaustive]
    pub enum Fma {
        /// Fused if the instruction set has fused multiply-add.
        Auto = "auto",
        /// Never fused: every machine gives the same bits.
        Off = "off",
    }
}

words! {
    /// The largest error of activations.
    ///
    /// Activations with a cheap exact formula, such as relu and softsign, do not depend on the
    /// level.
    #[derive(Hash)]
    #[non_exhaustive]
    pub enum Accuracy {
        /// At most 2.5 units in the last place.
        Exact = "exact",
        /// A relative error of at most 2^-18; faster.
        Fast = "fast",
        /// A relative error of at most 2^-15; faster still.
        Audio = "audio",
    }
}

impl Accuracy {
    /// The name on the command line and in macros.
    pub fn name(self) -> &'static str {
        self.word()
    }
}

/// The magnitudes of inputs and states for the stated error bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// |x| of every input, states excepted.
    pub x: f32,
    /// |h| of every state.
    pub h: f32,
}

impl Default for Range {
    fn default() -> Self {
        Self { x: 1.0, h: 1.0 }
    }
}

impl Range {
    /// The magnitudes that a range may have, in words.
    pub(crate) const MAGNITUDE: &str = "a finite magnitude from 0";

    /// True for a magnitude that a range may have.
    pub(crate) fn is_magnitude(value: f32) -> bool {
        value.is_finite() && value >= 0.0
    }

    /// Reads the magnitude of inputs and, after a comma, that of states.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let magnitude = |text: &str| match parse_f32(text) {
            Ok(value) if Self::is_magnitude(value) => Ok(value),
            _ => Err(format!(
                "{} is needed, for inputs and, after a comma, for states: 2.5,1",
                Self::MAGNITUDE
            )),
        };
        match text.split_once(',') {
            None => Ok(Self { x: magnitude(text)?, ..Self::default() }),
            Some((x, h)) => Ok(Self { x: magnitude(x)?, h: magnitude(h)? }),
        }
    }
}

settings! {
    /// The arithmetic of the generated code, and the ranges of its error bound.
    Numerics in numerics {
        /// The largest error of activations.
        accuracy, with_accuracy: Accuracy;
        /// Whether multiply-add is fused.
        fma, with_fma: Fma;
        /// True to keep denormals. Otherwise inputs, kept states and outputs below 2^-100 in
        /// magnitude are flushed to zero.
        keep_denormals, with_keep_denormals: bool;
        /// The precision of matrices. `None`: f32, and 8 bits for weights of quantised models if 8
        /// bits hold the weights.
        precision, with_precision: Option<Precision>;
        /// The precision of single layers, by name.
        precision_of, with_precision_of: Vec<(String, Precision)>;
        /// The magnitudes for the stated error bound.
        range, with_range: Range;
    }
}

impl Numerics {
    /// The precision given for a layer, or else for all layers.
    pub(crate) fn given_in(&self, layer: &str) -> Option<Precision> {
        let layer_precision = self
            .precision_of
            .iter()
            .find(|(name, _)| name == layer)
            .map(|(_, precision)| *precision);
        layer_precision.or(self.precision)
    }

    /// The precision of a layer: f32 if none is given.
    pub(crate) fn precision_in(&self, layer: &str) -> Precision {
        self.given_in(layer).unwrap_or_default()
    }
}
