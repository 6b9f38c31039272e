//! Constant weights in the layout of the operations.

use crate::diagnostic::Diagnostics;
use crate::model::{Activation, InputFile, Tensor};

/// W, R, B and P as constants, in the layout of the operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CellWeights {
    pub(crate) w: Tensor,
    pub(crate) r: Tensor,
    pub(crate) b: Tensor,
    pub(crate) p: Option<Tensor>,
    /// Initial states of a row, also after `reset`: h, then c, each `[D * hidden_size]`. Empty:
    /// zero. Only a [`Stack`](super::stack::Stack) has initial states.
    pub(crate) initial: Vec<Tensor>,
}

/// Constant weights of all layers, and of the dense layer behind them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Baked {
    pub(crate) layers: Vec<CellWeights>,
    pub(crate) head: Option<DenseLayer>,
    /// The conversion of the weights in words, for the ledger.
    pub(crate) meaning: String,
    /// The file with the weights.
    pub(crate) file: Option<InputFile>,
    /// Warnings about tensors of the file.
    pub(crate) warnings: Diagnostics,
}

impl CellWeights {
    /// The tensors with their names.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&'static str, &Tensor)> {
        let tensors = [
            ("w", Some(&self.w)),
            ("r", Some(&self.r)),
            ("b", Some(&self.b)),
            ("p", self.p.as_ref()),
        ];
        tensors.into_iter().filter_map(|(name, tensor)| Some((name, tensor?)))
    }
}

impl Baked {
    /// Number of values in all weights and biases, without initial states.
    pub(crate) fn len(&self) -> usize {
        let layers = self.layers.iter().flat_map(CellWeights::tensors).map(|(_, tensor)| tensor);
        let head =
            self.head.iter().flat_map(|head| [Some(&head.weight), head.bias.as_ref()]).flatten();
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
