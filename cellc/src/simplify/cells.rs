//! Recurrent operations as cells of the core: the sources of their weights, and the translation
//! that the sources need.

use super::translator::Translator;
use crate::check::cell::{CellPort, CellSizes, Recurrent, recurrent};
use crate::core::{Source, WeightSource, WeightSources};
use crate::diagnostic::Origin;
use crate::model::{Cell, Direction, LedgerEntry, Node};

/// The weights of a cell as sources of any kind.
pub(super) struct Given {
    pub(super) w: Source,
    pub(super) r: Source,
    /// `None` where B is left out.
    pub(super) b: Vec<Option<Source>>,
    pub(super) p: Option<Source>,
}

impl<'a> Translator<'_, 'a> {
    /// Translates a recurrent operation. `direction`: `None` for a cell of one step.
    pub(super) fn cell(&mut self, node: &'a Node, cell: &'a Cell, direction: Option<Direction>) {
        let inputs = (0..node.inputs.len()).map(|port| {
            let known = self.input(node, port)?;
            let shape = self.core.shape_of(&known);
            Some((known, shape))
        });
        let inputs = inputs.collect();
        let of = (self.model, node, cell);
        let Some((recurrent, sizes)) = recurrent(of, direction, inputs, self.diagnostics) else {
            return;
        };
        let Some(weights) = self.cell_weights(&recurrent, sizes) else { return };
        let Some(weights) = weights else {
            self.with_computed_weights(&recurrent, sizes);
            return;
        };
        let mut ledger = node.ledger.clone();
        if weights.b.contains(&WeightSource::Zero) {
            ledger.push(LedgerEntry {
                attribute: "B".to_owned(),
                text: None,
                meaning: "zero".to_owned(),
                origin: Origin::Unknown,
            });
        }
        self.recur(&recurrent, sizes, weights, ledger);
    }

    /// The origin of the weights of a cell; `Some(None)` for computed weights. `None` after an
    /// error.
    #[allow(clippy::option_option)] // an error, computed weights, sources
    fn cell_weights(
        &mut self,
        recurrent: &Recurrent,
        sizes: CellSizes,
    ) -> Option<Option<WeightSources>> {
        let mut source = |role: CellPort| recurrent.known(role).map(|known| self.source(known));
        let (w, r, p) = (source(CellPort::W)??, source(CellPort::R)??, source(CellPort::P));
        let tensors = 0..recurrent.cell.layout.bias_tensors().len();
        let b: Vec<_> = tensors.map(|tensor| source(CellPort::B(tensor))).collect();
        let p = if let Some(p) = p { Some(p?) } else { None };
        let b = b.into_iter().map(|b| if let Some(b) = b { Some(Some(b?)) } else { Some(None) });
        let b = b.collect::<Option<Vec<Option<Source>>>>()?;
        let given = |source: &Source| matches!(source, Source::Constant(_) | Source::Parameter(_));
        if ![w, r].iter().chain(b.iter().flatten()).chain(&p).all(given) {
            return self.regrouped(recurrent, Given { w, r, b, p }, sizes).ok();
        }
        let weight = |source: Source| match source {
            Source::Constant(i) => WeightSource::Constant(i),
            Source::Parameter(i) => WeightSource::Parameter(i),
            Source::Value(_) | Source::Variable(_) => unreachable!("looked at above"),
        };
        let b = b.into_iter().map(|b| b.map_or(WeightSource::Zero, weight)).collect();
        let layout = recurrent.cell.layout.clone();
        let (w, r, p) = (weight(w), weight(r), p.map(weight));
        Some(Some(WeightSources { w, r, b, p, set: 0, layout }))
    }
}
