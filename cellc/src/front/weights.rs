//! Weights that were read or given, as the operations take them.

use crate::diagnostic::Diagnostics;
use crate::model::{Activation, InputFile, Tensor};

/// W, R, B and P as constants, as the operation takes them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CellWeights {
    pub(crate) w: Tensor,
    pub(crate) r: Tensor,
    pub(crate) b: Tensor,
    pub(crate) p: Option<Tensor>,
    /// What a row's states are at first and after `reset`: h, then c, each `[D * hidden_size]`;
    /// none: zero. Only a [`Stack`](super::stack::Stack) has them.
    pub(crate) initial: Vec<Tensor>,
}

/// Weights that were read or given, for every layer, and what is behind them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Baked {
    pub(crate) layers: Vec<CellWeights>,
    pub(crate) head: Option<DenseLayer>,
    /// What was done to them, for the ledger.
    pub(crate) taken: String,
    /// The file that they are from.
    pub(crate) file: Option<InputFile>,
    /// What was said of the tensors of that file.
    pub(crate) warnings: Diagnostics,
}

impl CellWeights {
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&'static str, &Tensor)> {
        let all = [("w", Some(&self.w)), ("r", Some(&self.r)), ("b", Some(&self.b)), ("p", self.p.as_ref())];
        all.into_iter().filter_map(|(name, tensor)| Some((name, tensor?)))
    }
}

#[cfg(feature = "read-safetensors")]
impl Baked {
    /// How many values they hold.
    pub(crate) fn len(&self) -> usize {
        let layers = self.layers.iter().flat_map(CellWeights::tensors).map(|(_, tensor)| tensor);
        let head = self.head.iter().flat_map(|head| [Some(&head.weight), head.bias.as_ref()]).flatten();
        layers.chain(head).map(Tensor::len).sum()
    }
}

/// A dense layer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DenseLayer {
    /// `[outputs, inputs]`
    pub(crate) weight: Tensor,
    /// `[outputs]`
    pub(crate) bias: Option<Tensor>,
    pub(crate) activation: Option<Activation>,
}
