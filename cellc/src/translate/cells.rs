//! Recurrent operations as cells of the core. Weights are constants, inputs, or computed from
//! inputs.

use super::computed_weights::with_computed_weights;
use super::refusal::{Refusal, Rule};
use super::regrouped::{CellSources, CellWeights, regrouped};
use super::sequence::cells;
use super::translator::Translator;
use crate::core::{CoreBuilder, Source, WeightSource, WeightSources};
use crate::model::Node;
use crate::rules::cell::{CellPort, CellSizes, Recurrent, recurrent};

impl<'a> Translator<'_, 'a> {
    /// Translates a recurrent operation: a cell of one step, or a sequence.
    pub(super) fn cell(&mut self, node: &'a Node) {
        let inputs = (0..node.inputs.len()).map(|port| {
            let known = self.input(node, port)?;
            let shape = self.core.shape_of(&known);
            Some((known, shape))
        });
        let inputs = inputs.collect();
        let Some((recurrent, sizes)) = recurrent(self.model, node, inputs, self.diagnostics) else {
            return;
        };
        let Some(weights) = self.build(node, |core| cell_weights(core, &recurrent, sizes)) else {
            return;
        };
        let lengths = match recurrent.direction {
            None => None,
            Some(_) => match self.lengths(&recurrent, sizes) {
                Some(lengths) => Some(lengths),
                None => return,
            },
        };
        let outputs = self.build(node, |core| match weights {
            CellWeights::Given(weights) => cells(core, &recurrent, sizes, weights, lengths),
            CellWeights::Computed => with_computed_weights(core, &recurrent, sizes, lengths),
        });
        self.set_all(node, outputs);
    }
}

/// The weights of a cell.
fn cell_weights(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    sizes: CellSizes,
) -> Rule<CellWeights> {
    let mut optional = |role: CellPort| -> Rule<Option<Source>> {
        Ok(recurrent.known(role).map(|known| core.source(known)).transpose()?)
    };
    let (w, r) = (optional(CellPort::W)?, optional(CellPort::R)?);
    let p = optional(CellPort::P)?;
    let (Some(w), Some(r)) = (w, r) else { return Err(Refusal::Reported) };
    let tensors = 0..recurrent.cell.layout.bias_tensors().len();
    let b = tensors.map(|tensor| optional(CellPort::B(tensor))).collect::<Rule<Vec<_>>>()?;
    let is_given = |source: &Source| matches!(source, Source::Constant(_) | Source::Parameter(_));
    if ![w, r].iter().chain(b.iter().flatten()).chain(&p).all(is_given) {
        return regrouped(core, recurrent, &CellSources { w, r, b, p }, sizes);
    }
    let weight = |source: Source| match source {
        Source::Constant(i) => WeightSource::Constant(i),
        Source::Parameter(i) => WeightSource::Parameter(i),
        Source::Value(_) | Source::Variable(_) => unreachable!("looked at above"),
    };
    let b = b.into_iter().map(|b| b.map_or(WeightSource::Zero, weight)).collect();
    let layout = recurrent.cell.layout.clone();
    let (w, r, p) = (weight(w), weight(r), p.map(weight));
    Ok(CellWeights::Given(WeightSources { w, r, b, p, set: 0, layout }))
}
