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
    /// An elementwise operation without attributes.
    Elementwise(Elementwise),
    /// An elementwise operation with the attribute `auto_broadcast`.
    Broadcasting(Elementwise),
    Reduce(Reduction),
    Assign,
    TensorIterator,
    Loop,
    If,
    /// A layer read by the function in its row of the table.
    Other,
    /// A layer of an unsupported type.
    Unknown,
}

impl LayerType {
    /// True if the layer contains a body or branches.
    pub(super) fn has_body(self) -> bool {
        matches!(self, Self::TensorIterator | Self::Loop | Self::If)
    }

    /// True for recurrent cells and sequences. Their reader looks at all attributes, even after an
    /// error.
    pub(super) fn is_recurrent(self) -> bool {
        matches!(self, Self::Cell(_) | Self::Sequence(_))
    }
}
