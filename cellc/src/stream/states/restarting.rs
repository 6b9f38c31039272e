//! Layers that lose their states at the end of every call, or of every iteration of a loop.

use std::collections::{BTreeMap, HashSet};

use super::search::Search;
use super::{InitialValue, Recurrence, begins_anew, cells_in_parts, lost, repeated_cells};
use crate::core::{CoreOp, Restart, Source, StepOrder};
use crate::model::{Node, Op};
use crate::stream::dependence::{Change, Dependence};

/// The states of a layer that are lost at the end of a call, or of an iteration of a loop.
pub(crate) struct Lost {
    pub(crate) start: InitialValue,
    pub(crate) states: LostStates,
}

/// States that are lost at the end of a call, or of an iteration of a loop.
pub(crate) enum LostStates {
    /// States of a cell, by their letters.
    OfCell(Vec<char>),
    /// The state of a cell that consists of separate operations.
    InParts,
    /// The carried value of a loop.
    Carried,
}

/// How often a layer starts from the initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartsEvery {
    /// `opens`: true if a model of an open number of steps may keep the state. False for cells of
    /// several rows and for layers with sequence lengths.
    Call {
        opens: bool,
    },
    Iteration,
}

/// A layer of one step whose last state is lost.
pub(crate) struct RestartingLayer<'a> {
    pub(crate) node: &'a Node,
    pub(crate) lost: Lost,
    pub(crate) starts_every: StartsEvery,
}

impl RestartingLayer<'_> {
    /// The layer as an entry of [`crate::core::CoreModel::restarts`]. `None` for a layer in a loop
    /// of several iterations.
    pub(super) fn restart(&self) -> Option<Restart> {
        let (name, kind) = (self.node.name.clone(), kind_of(self.node));
        matches!(self.starts_every, StartsEvery::Call { .. }).then_some(Restart { name, kind })
    }
}

/// The name of the layer's operation: for cells and sequences OpenVINO's name, else the name in the
/// input.
fn kind_of(node: &Node) -> String {
    match &node.op {
        Op::Cell(cell) => cell.kind.op_name().to_owned(),
        Op::Sequence(cell, _) => cell.kind.sequence_name().to_owned(),
        _ => node.operator().to_owned(),
    }
}

impl<'a> Search<'_, '_, 'a> {
    /// By place: the lost states of the layers that compute one step. `continued`: the recurrences
    /// that another recurrence of the model continues.
    pub(super) fn lost(
        &self,
        dependence: &Dependence,
        continued: &HashSet<usize>,
    ) -> BTreeMap<usize, Lost> {
        let mut found = self.lost_of_cells(dependence, continued);
        self.add_lost_of_loops(dependence, &mut found);
        for layer in cells_in_parts(self.model, dependence, self.needed) {
            found.insert(layer, Lost { start: InitialValue::InParts, states: LostStates::InParts });
        }
        found
    }

    /// The layers that compute several steps per call and do not continue from the previous call,
    /// each with the number of steps.
    pub(super) fn begin_anew(
        &self,
        dependence: &Dependence,
        continued: &HashSet<usize>,
    ) -> Vec<(&'a Node, usize)> {
        let found = begins_anew(self.model, self.recurrences, dependence, self.needed, continued);
        found.iter().filter_map(|(&layer, &steps)| Some((self.layer(layer)?, steps))).collect()
    }

    /// The layers that lose their states, each layer once. Layers in a loop of several iterations
    /// count if they start from constants.
    pub(super) fn restarting(&self, found: BTreeMap<usize, Lost>) -> Vec<RestartingLayer<'a>> {
        let repeated = repeated_cells(self.model);
        let mut seen: HashSet<*const Node> = HashSet::new();
        let mut layers = Vec::new();
        for (layer, lost) in found {
            let Some(node) = self.layer(layer) else { continue };
            if !seen.insert(node) {
                continue;
            }
            let starts_every = if !repeated.contains(&layer) {
                let is_other = |r: &Recurrence| {
                    r.order == StepOrder::Lengths || r.cell.is_some_and(|(c, _)| c.batch > 1)
                };
                let mut recurrences = self.recurrences.all.iter();
                StartsEvery::Call { opens: !recurrences.any(|r| r.layer == layer && is_other(r)) }
            } else if let InitialValue::Constant { .. } = lost.start {
                StartsEvery::Iteration
            } else {
                continue;
            };
            layers.push(RestartingLayer { node, lost, starts_every });
        }
        layers
    }

    /// By place: the lost states of recurrent cells that compute one step.
    fn lost_of_cells(
        &self,
        dependence: &Dependence,
        continued: &HashSet<usize>,
    ) -> BTreeMap<usize, Lost> {
        let mut found: BTreeMap<usize, Lost> = BTreeMap::new();
        for (index, recurrence) in self.recurrences.all.iter().enumerate() {
            let (Some((cell, state)), 1) = (recurrence.cell, recurrence.steps) else { continue };
            let Some(initial) = (if state == 'h' { Some(cell.h) } else { cell.c }) else {
                continue;
            };
            let Some(start) = lost(recurrence, cell, initial, dependence) else { continue };
            if continued.contains(&index) {
                continue;
            }
            match found.get_mut(&recurrence.layer) {
                Some(Lost { start: other, states: LostStates::OfCell(letters) }) => {
                    letters.push(state);
                    if start != (InitialValue::Constant { as_it_is: true }) {
                        *other = start;
                    }
                }
                _ => {
                    let states = LostStates::OfCell(vec![state]);
                    found.insert(recurrence.layer, Lost { start, states });
                }
            }
        }
        found
    }

    /// Adds loops of one iteration that cut slices from a tensor and have no cell or loop in the
    /// body, if elements of a carried value start from constants. The body of such a loop is a cell
    /// that consists of separate operations.
    fn add_lost_of_loops(&self, dependence: &Dependence, found: &mut BTreeMap<usize, Lost>) {
        let is_constant = |initial| {
            let origins = self.recurrences.flow.origins(initial).into_iter().flatten();
            origins
                .map(|(source, _)| dependence.change(source))
                .any(|change| change <= Change::Never)
        };
        for node in self.model.all_nodes() {
            let CoreOp::Loop(body) = &node.op else { continue };
            let cells = || {
                body.body.iter().any(|node| matches!(node.op, CoreOp::Cell(_) | CoreOp::Loop(_)))
            };
            if body.trips > 1 || body.slices.is_empty() || cells() {
                continue;
            }
            let mut carried = body
                .carried
                .iter()
                .filter(|c| c.next != Source::Value(c.value) && self.needed[c.value]);
            if carried.any(|c| is_constant(c.initial)) {
                let start = InitialValue::Constant { as_it_is: false };
                let states = LostStates::Carried;
                found.insert(body.carried[0].value, Lost { start, states });
            }
        }
    }
}
