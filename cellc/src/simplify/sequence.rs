//! Translation of recurrent operations: a cell for each direction, and the concatenation of their
//! outputs.

use super::refusal::Refusal;
use super::translator::Translator;
use crate::check::cell::{CellPort, CellSizes, Recurrent};
use crate::core::{
    CellOutputs, Concat, CoreCell, CoreOp, Geometry, Known, Lengths, Sequence, Source,
    WeightSources,
};
use crate::model::{Direction, ElementType, LedgerEntry};

impl<'a> Translator<'_, 'a> {
    /// Adds the cells of a recurrent operation in which nothing is wrong but, perhaps, its lengths.
    pub(super) fn recur(
        &mut self,
        recurrent: &Recurrent<'a>,
        sizes: CellSizes,
        weights: WeightSources,
        ledger: Vec<LedgerEntry>,
    ) {
        let (node, cell, kind) = (recurrent.node, recurrent.cell, recurrent.cell.kind);
        let (batch, steps, hidden_size) = (sizes.batch, sizes.steps, cell.hidden_size);
        let lengths = match recurrent.direction {
            None => None,
            Some(_) => match self.lengths(recurrent, sizes) {
                Some(lengths) => Some(lengths),
                None => return,
            },
        };
        let ways: &[bool] = match recurrent.direction {
            None | Some(Direction::Forward) => &[false],
            Some(Direction::Reverse) => &[true],
            Some(Direction::Bidirectional) => &[false, true],
        };
        let of_state =
            if lengths.is_some() { vec![batch, 1, hidden_size] } else { vec![batch, hidden_size] };
        let of_y = vec![batch, 1, steps, hidden_size];
        let all = ways.len();
        if self
            .computable(node, &[batch, all, if lengths.is_some() { steps } else { 1 }, hidden_size])
            .is_none()
        {
            return;
        }
        let data = |this: &mut Self, role: CellPort| {
            recurrent.known(role).and_then(|known| this.source(known))
        };
        let (Some(x), a) = (data(self, CellPort::X), data(self, CellPort::A)) else { return };
        let (mut ys, mut hs, mut cs) = (Vec::new(), Vec::new(), Vec::new());
        for (weight_set, &reverse) in ways.iter().enumerate() {
            let mut state = |role: CellPort| -> Option<Source> {
                let known = recurrent.known(role)?;
                if all == 1 {
                    return self.source(known);
                }
                let geometry = Geometry {
                    offset: weight_set * hidden_size,
                    strides: vec![(all * hidden_size) as isize, hidden_size as isize, 1],
                    shape: of_state.clone(),
                };
                let part = self.view(node, known, geometry)?;
                self.source(&part)
            };
            let (Some(h), c) = (state(CellPort::H), state(CellPort::C)) else { return };
            let h_out = self.core.value(of_state.clone());
            let c_out = kind.has_cell_state().then(|| self.core.value(of_state.clone()));
            let y = lengths.is_some().then(|| self.core.value(of_y.clone()));
            let sequence = lengths.clone().map(|lengths| Sequence { steps, reverse, lengths });
            self.core.emit(CoreOp::Cell(CoreCell {
                name: node.name.clone(),
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
                ledger: ledger.clone(),
            }));
            ys.extend(y);
            hs.push(h_out);
            cs.extend(c_out);
        }
        hs.iter().for_each(|&h_out| _ = self.steps.layers.insert(h_out, node));
        // the outputs in order: Y of a sequence, then the states
        let element = recurrent.known(CellPort::X).map_or(ElementType::F32, Known::element);
        let outputs = [ys, hs, cs].into_iter().filter(|values| !values.is_empty());
        for (port, values) in outputs.enumerate() {
            let value = match values.as_slice() {
                [value] => *value,
                several => self.side_by_side(several),
            };
            self.set(node, port, Known::Source(Source::Value(value), element));
        }
    }

    /// Values of both directions along axis 1.
    fn side_by_side(&mut self, values: &[usize]) -> usize {
        let mut shape = self.core.model.values[values[0]].shape.clone();
        shape[1] *= values.len();
        let out = self.core.value(shape);
        let inputs = values.iter().map(|&value| Source::Value(value)).collect();
        self.core.emit(CoreOp::Concat(Concat { axis: 1, inputs, out }));
        out
    }

    /// How many steps the rows have; `None` after an error.
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

/// The refusal of a constant length that is negative or past the last step. `name`: the input.
fn out_of_range(name: &str, length: i64, row: usize, steps: usize) -> Refusal {
    let found = format!("{name} says {length} steps for row {row} of X");
    let valid = format!("0 to {steps}, the number of steps of X");
    let help = match length < 0 {
        true => format!("correct {name}"),
        false => format!("correct {name}, or give X more steps"),
    };
    Refusal::new(found, valid, help)
}
