//! The types of layers that the reader treats in ways of their own.

use crate::model::Family;

/// What a layer is for the reader of its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerType {
    Parameter,
    Result,
    Cell(Family),
    Sequence(Family),
    Assign,
    TensorIterator,
    Loop,
    If,
    /// Any other type that is read.
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
