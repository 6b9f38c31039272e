//! The kinds of layers, by the way to read them.

use crate::model::{Elementwise, Family, Reduction};

/// The way to read a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LayerType {
    Parameter,
    Const,
    Result,
    Cell(Family),
    Sequence(Family),
    /// Without attributes.
    Elementwise(Elementwise),
    /// With the attribute `auto_broadcast`.
    Broadcasting(Elementwise),
    Reduce(Reduction),
    Assign,
    TensorIterator,
    Loop,
    If,
    /// By the function in the row of the table.
    Other,
    /// Not read.
    Unknown,
}

impl LayerType {
    /// Whether a body stands inside the layer.
    pub(super) fn has_body(self) -> bool {
        matches!(self, Self::TensorIterator | Self::Loop | Self::If)
    }

    /// Whether every attribute may change what is computed.
    pub(super) fn is_recurrent(self) -> bool {
        matches!(self, Self::Cell(_) | Self::Sequence(_))
    }
}
