//! The kinds of layers, by the way to read them.

use super::attributes::Data;
use super::layers::GraphReader;
use super::operations::ReadOperation;
use crate::model::{Elementwise, Family, Reduction};

/// Reads the attributes of a layer.
pub(super) type Reader = fn(&mut GraphReader<'_, '_>, &mut Data) -> Option<ReadOperation>;

/// The way to read a layer.
#[derive(Clone, Copy, Debug)]
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
    /// By a function.
    By(Reader),
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

    pub(super) fn is_result(self) -> bool {
        matches!(self, Self::Result)
    }

    pub(super) fn is_parameter(self) -> bool {
        matches!(self, Self::Parameter)
    }

    pub(super) fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown)
    }
}
