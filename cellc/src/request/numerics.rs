//! The arithmetic of the generated code, and the ranges of its error bound.

use super::{CommandWords, Options, Precision};

/// Whether multiply-add is fused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fma {
    /// Fused if the instruction set has fused multiply-add.
    #[default]
    Auto,
    /// Never fused: results have equal bits on every instruction set.
    Off,
}

/// The largest error of activations.
///
/// Activations with a cheap exact formula, such as relu and softsign, do not depend on the level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Accuracy {
    /// At most 2.5 units in the last place.
    #[default]
    Exact,
    /// A relative error of at most 2^-18; faster.
    Fast,
    /// A relative error of at most 2^-15; faster still.
    Audio,
}

impl Accuracy {
    /// Every level, most exact first.
    pub const ALL: [Self; 3] = [Self::Exact, Self::Fast, Self::Audio];

    /// The name on the command line and in macros.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Fast => "fast",
            Self::Audio => "audio",
        }
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

/// The arithmetic of the generated code, and the ranges of its error bound.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Numerics {
    /// The largest error of activations.
    pub accuracy: Accuracy,
    /// Whether multiply-add is fused.
    pub fma: Fma,
    /// True to keep denormals. Otherwise inputs, kept states and outputs below 2^-100 in magnitude
    /// are flushed to zero.
    pub keep_denormals: bool,
    /// The precision of matrices. `None`: f32, and 8 bits for weights of quantised models if 8 bits
    /// hold the weights.
    pub precision: Option<Precision>,
    /// The precision of single layers, by name.
    pub precision_of: Vec<(String, Precision)>,
    /// The magnitudes for the stated error bound.
    pub range: Range,
}

impl Numerics {
    /// The precision given for a layer, or else for all layers.
    pub(crate) fn given_in(&self, layer: &str) -> Option<Precision> {
        let own = self
            .precision_of
            .iter()
            .find(|(name, _)| name == layer)
            .map(|(_, precision)| *precision);
        own.or(self.precision)
    }

    /// The precision of a layer: f32 if none is given.
    pub(crate) fn precision_in(&self, layer: &str) -> Precision {
        self.given_in(layer).unwrap_or_default()
    }

    /// The options that differ from their defaults.
    pub(super) fn given(&self, words: &mut CommandWords) {
        let default = Self::default();
        let Self { accuracy, fma, keep_denormals, precision, precision_of, range } = self;
        match fma {
            Fma::Auto => {}
            Fma::Off => words.option("--fma", "off"),
        }
        if *accuracy != default.accuracy {
            words.option("--accuracy", accuracy.name());
        }
        if *range != default.range {
            words.option("--range", &format!("{},{}", range.x, range.h));
        }
        if let Some(precision) = precision {
            words.option("--precision", precision.name());
        }
        for (layer, precision) in precision_of {
            words.option("--precision-of", &format!("{layer}={}", precision.name()));
        }
        if *keep_denormals {
            words.switch("--keep-denormals");
        }
    }
}

setters! {
    Options;
    /// Sets the largest error of activations.
    with_accuracy(numerics.accuracy: Accuracy);
    /// Sets whether multiply-add is fused.
    with_fma(numerics.fma: Fma);
    /// Sets whether denormals are kept.
    with_keep_denormals(numerics.keep_denormals: bool);
    /// Sets the precision of matrices.
    with_precision(numerics.precision: Option<Precision>);
    /// Sets the precision of single layers.
    with_precision_of(numerics.precision_of: Vec<(String, Precision)>);
    /// Sets the magnitudes for the stated error bound.
    with_range(numerics.range: Range);
}
