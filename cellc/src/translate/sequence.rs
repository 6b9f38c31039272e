//! Translation of recurrent operations: one cell for each direction, and the concatenation of the
//! outputs.

use super::refusal::{Refusal, Rule};
use super::translator::Translator;
use crate::core::{
    CellOutputs, Concat, CoreBuilder, CoreCell, CoreOp, Geometry, Known, Lengths, Sequence, Source,
    WeightSource, WeightSources,
};
use crate::diagnostic::Origin;
use crate::model::{Direction, ElementType, LedgerEntry, Node};
use crate::rules::cell::{CellPort, CellSizes, Recurrent};

/// The cells of a recurrent operation. Returns Y of a sequence, then the last states. `lengths`:
/// `None` for a cell of one step.
pub(super) fn cells(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    sizes: CellSizes,
    weights: WeightSources,
    lengths: Option<Lengths>,
) -> Rule<Vec<Known>> {
    let (cell, kind) = (recurrent.cell, recurrent.cell.kind);
    let (batch, steps, hidden_size) = (sizes.batch, sizes.steps, cell.hidden_size);
    let ways = recurrent.direction.map_or(&[false][..], ways);
    let directions = ways.len();
    let of_state = match recurrent.direction {
        Some(_) => vec![batch, 1, hidden_size],
        None => vec![batch, hidden_size],
    };
    core.computable(&[batch, directions, if lengths.is_some() { steps } else { 1 }, hidden_size])?;
    let data = |core: &mut CoreBuilder, role: CellPort| {
        recurrent.known(role).map(|known| core.source(known)).transpose()
    };
    let Some(x) = data(core, CellPort::X)? else { return Err(Refusal::Reported) };
    let a = data(core, CellPort::A)?;
    let ledger = ledger(recurrent.node, &weights);
    let (mut ys, mut hs, mut cs) = (Vec::new(), Vec::new(), Vec::new());
    for (weight_set, &reverse) in ways.iter().enumerate() {
        let mut state = |role: CellPort| -> Rule<Option<Source>> {
            let Some(known) = recurrent.known(role) else { return Ok(None) };
            if directions == 1 {
                return Ok(Some(core.source(known)?));
            }
            let geometry = Geometry {
                offset: weight_set * hidden_size,
                strides: vec![(directions * hidden_size) as isize, hidden_size as isize, 1],
                shape: of_state.clone(),
            };
            let part = core.view(known, geometry)?;
            Ok(Some(core.source(&part)?))
        };
        let (Some(h), c) = (state(CellPort::H)?, state(CellPort::C)?) else {
            return Err(Refusal::Reported);
        };
        let h_out = core.value(of_state.clone());
        let c_out = kind.has_cell_state().then(|| core.value(of_state.clone()));
        let of_y = vec![batch, 1, steps, hidden_size];
        let y = lengths.is_some().then(|| core.value(of_y));
        let sequence = lengths.clone().map(|lengths| Sequence { steps, reverse, lengths });
        let cell = CoreCell {
            kind,
            batch,
            input_size: sizes.input,
            hidden_size,
            activations: cell.activations_of(weight_set).to_vec(),
            clip: cell.bound(),
            coupled: cell.coupled,
            x,
            h,
            c,
            a,
            weights: WeightSources { set: weight_set, ..weights.clone() },
            sequence,
            out: CellOutputs { h: Some(h_out), c: c_out, y },
        };
        core.emit_noted(CoreOp::Cell(cell), ledger.clone());
        ys.extend(y);
        hs.push(h_out);
        cs.extend(c_out);
    }
    let element = recurrent.known(CellPort::X).map_or(ElementType::F32, Known::element);
    let outputs = [ys, hs, cs].into_iter().filter(|values| !values.is_empty());
    let outputs = outputs.map(|values| Known::Source(side_by_side(core, &values), element));
    Ok(outputs.collect())
}

/// The ledger of a recurrent operation. A missing bias tensor gets an entry.
fn ledger(node: &Node, weights: &WeightSources) -> Vec<LedgerEntry> {
    let mut ledger = node.ledger.clone();
    if weights.b.contains(&WeightSource::Zero) {
        ledger.push(LedgerEntry {
            attribute: "B".to_owned(),
            text: None,
            meaning: "zero".to_owned(),
            origin: Origin::Unknown,
        });
    }
    ledger
}

/// By set of weights of a sequence: true if the steps run from the last to the first.
pub(super) fn ways(direction: Direction) -> &'static [bool] {
    match direction {
        Direction::Forward => &[false],
        Direction::Reverse => &[true],
        Direction::Bidirectional => &[false, true],
    }
}

/// The values of all directions, concatenated along axis 1.
fn side_by_side(core: &mut CoreBuilder, values: &[usize]) -> Source {
    if let [value] = values {
        return Source::Value(*value);
    }
    let mut shape = core.model.values[values[0]].shape.clone();
    shape[1] *= values.len();
    let out = core.value(shape);
    let inputs = values.iter().map(|&value| Source::Value(value)).collect();
    core.emit(CoreOp::Concat(Concat { axis: 1, inputs, is_window: false, out }));
    Source::Value(out)
}

impl<'a> Translator<'_, 'a> {
    /// The number of steps of each row. `None` after an error.
    pub(super) fn lengths(
        &mut self,
        recurrent: &Recurrent<'a>,
        sizes: CellSizes,
    ) -> Option<Lengths> {
        let node = recurrent.node;
        match recurrent.known(CellPort::Lengths)? {
            Known::Constant(tensor, _) => {
                let most = (0..tensor.len())
                    .filter_map(|row| usize::try_from(tensor.get_i64(row)?).ok())
                    .max();
                if let Some(most) = most
                    .filter(|&most| self.inputs.open == Some(sizes.steps) && most != sizes.steps)
                    && self.steps.most_lengths.is_none_or(|(before, _)| before < most)
                {
                    self.steps.most_lengths = Some((most, node));
                }
                let mut lengths = Vec::with_capacity(tensor.len());
                for row in 0..tensor.len() {
                    let length = tensor.get_i64(row).unwrap_or_default();
                    let inside = usize::try_from(length).ok().filter(|&n| n <= sizes.steps);
                    let Some(length) = inside else {
                        let name = node.spelling.sequence_lengths;
                        self.refuse(node, out_of_range(name, length, row, sizes.steps));
                        return None;
                    };
                    lengths.push(length);
                }
                let full = lengths.iter().all(|&length| length == sizes.steps);
                Some(if full { Lengths::Full } else { Lengths::Constant(lengths) })
            }
            Known::Source(source, _) if self.core.facts.given_integers(*source).is_some() => {
                let i = &self.core.facts.given_integers(*source)?;
                let length = &mut self.core.model.parameters[*i].length;
                *length = Some(length.map_or(sizes.steps, |most| most.max(sizes.steps)));
                Some(Lengths::Parameter(*i))
            }
            Known::Source(source, element) if !element.is_float() => {
                Some(Lengths::Computed(*source))
            }
            Known::Source(..) | Known::Iteration(..) => {
                let lengths = node.spelling.sequence_lengths;
                let found = format!("{lengths} are computed at every step");
                let help = "connect a constant or an input of the model of type i32 or i64";
                self.refuse(node, Refusal::new(found, "a constant or an input of the model", help));
                None
            }
        }
    }
}

/// The refusal of a constant length that is negative or above the number of steps. `name`: the
/// input.
fn out_of_range(name: &str, length: i64, row: usize, steps: usize) -> Refusal {
    let found = format!("{name} says {length} steps for row {row} of X");
    let valid = format!("0 to {steps}, the number of steps of X");
    let help = match length < 0 {
        true => format!("correct {name}"),
        false => format!("correct {name}, or give X more steps"),
    };
    Refusal::new(found, valid, help)
}
