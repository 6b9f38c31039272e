//! The states of a model: the tensors that recurrent operators pass from step to step, with the
//! initial values and the values after the last step.

mod find;
mod offered;
mod open_masks;
mod pairs;
mod passages;
mod restarting;
mod restarts;
mod search;
mod sequence_restarts;
mod state_names;
mod windows;

use std::collections::{BTreeSet, HashMap};

pub(crate) use find::{FoundStates, RequestedStates, SearchContext, find_states};
pub(crate) use pairs::{Doubt, Misfit, NotTaken, Reason, RefusedPair};
pub(crate) use passages::UpdateKind;
pub(crate) use restarting::{Lost, LostStates, RestartingLayer, StartsEvery};
pub(crate) use restarts::InitialValue;
pub(crate) use windows::window;

use offered::offered;
use passages::reached;
use restarts::{cells_in_parts, lost, repeated_cells};
use sequence_restarts::begins_anew;
use state_names::NameWords;
use windows::windows;

use super::flow::{Flow, Producer, TensorElement};
use crate::core::{
    CoreCell, CoreLoop, CoreModel, CoreNode, CoreOp, Lengths, PlannedProduct, Reach,
    RecurrentSteps, Source, StepOrder,
};

/// A state passed from step to step: h or c of a cell, the state of a linear attention, or a
/// carried value of a loop.
pub(crate) struct Recurrence<'m> {
    /// The origin of each element of the initial state. `None` if the search for the origins
    /// stopped.
    pub(crate) initial: Option<Vec<TensorElement>>,
    /// The values with the state after the last step. Empty if unused.
    pub(crate) last: Vec<usize>,
    pub(crate) order: StepOrder,
    pub(crate) steps: usize,
    /// The cell and the letter of the state, 'h' or 'c'. `None` for a linear attention and for a
    /// loop.
    pub(crate) cell: Option<(&'m CoreCell, char)>,
    /// The value that identifies the layer: [`RecurrentSteps::place`], or the carried value of a
    /// loop.
    pub(crate) layer: usize,
}

/// Every recurrence of a model, and the tensors read for other purposes than as initial states.
pub(crate) struct Recurrences<'m> {
    pub(crate) flow: Flow<'m>,
    pub(crate) all: Vec<Recurrence<'m>>,
    /// By value with a state after the last step: the index of the recurrence.
    by_last: HashMap<usize, usize>,
    /// By value with a state after each step: the index of the recurrence.
    by_each: HashMap<usize, usize>,
    /// By tensor and element: the number of elements of initial states that come from this element.
    /// Elements that views and concatenations moved count at their origin.
    pub(crate) initial_elements: HashMap<Source, Vec<usize>>,
    /// Tensors read for other purposes than as initial states.
    pub(crate) read: BTreeSet<Source>,
}

impl<'m> Recurrences<'m> {
    /// `needed`: by value, true if a Result or a variable depends on the value.
    pub(crate) fn new(model: &'m CoreModel, needed: &[bool]) -> Self {
        let is_needed = |node: &&CoreNode| node.op.outputs().iter().any(|&value| needed[value]);
        let nodes: Vec<&CoreNode> = model.all_nodes().into_iter().filter(is_needed).collect();
        let flow = Flow::new(model, &nodes);
        let mut found = Self {
            flow,
            all: Vec::new(),
            by_last: HashMap::new(),
            by_each: HashMap::new(),
            initial_elements: HashMap::new(),
            read: BTreeSet::new(),
        };
        found.reads(model, &nodes);
        // in reverse order, the operators of a body come before their loop: a carried value of the
        // loop may be a state of these operators
        for node in nodes.iter().rev() {
            match &node.op {
                CoreOp::Loop(body) if body.trips > 1 => found.back_edges(model, body),
                op => {
                    if let Some(steps) = op.facts().recurrence() {
                        found.operation(op, steps);
                    }
                }
            }
        }
        found
    }

    fn add(&mut self, recurrence: Recurrence<'m>) -> usize {
        for &(source, index) in recurrence.initial.iter().flatten() {
            let starts = self.initial_elements.entry(source).or_default();
            if starts.len() <= index {
                starts.resize(index + 1, 0);
            }
            starts[index] += 1;
        }
        let index = self.all.len();
        recurrence.last.iter().for_each(|&value| _ = self.by_last.insert(value, index));
        self.all.push(recurrence);
        index
    }

    fn operation(&mut self, op: &'m CoreOp, steps: &RecurrentSteps) {
        let cell = match op.planned() {
            Some(PlannedProduct::Cell(cell)) => Some(cell),
            _ => None,
        };
        let layer = steps.place();
        for (state, letter) in steps.states.iter().zip(['h', 'c']) {
            let index = self.add(Recurrence {
                initial: self.flow.origins(state.initial),
                last: state.last.into_iter().collect(),
                order: steps.order,
                steps: steps.steps.unwrap_or(1),
                cell: cell.map(|cell| (cell, letter)),
                layer,
            });
            if let (Some((each, _)), true) = (steps.each, state.is_each) {
                self.by_each.insert(each, index);
            }
        }
    }

    /// Adds the carried values of a loop of several iterations that serve only as states of
    /// recurrent operators in the body, if results have their last values. Marks the initial values
    /// of other carried values as read.
    fn back_edges(&mut self, model: &CoreModel, body: &'m CoreLoop) {
        for carried in &body.carried {
            let value = Source::Value(carried.value);
            let update =
                self.update(model, carried.next, false).filter(|(source, ..)| *source == value);
            let last: Vec<usize> = body
                .results
                .iter()
                .filter(|r| r.pieces.is_none() && r.value == carried.next)
                .map(|r| r.out)
                .collect();
            match update {
                Some((_, true, through))
                    if self.serves_only_as_state(value) && !last.is_empty() =>
                {
                    let orders: Vec<StepOrder> =
                        through.iter().map(|&i| self.all[i].order).collect();
                    let order = match orders.iter().find(|order| **order != StepOrder::Forward) {
                        Some(order) => *order,
                        None if body.slices.iter().any(|slice| slice.reverse) => StepOrder::Reverse,
                        None => StepOrder::Forward,
                    };
                    let initial = self.flow.origins(carried.initial);
                    let (steps, layer) = (body.trips, carried.value);
                    self.add(Recurrence { initial, last, order, steps, cell: None, layer });
                }
                _ => self.mark(vec![carried.initial]),
            }
        }
    }

    /// True if a tensor serves only as initial states, and each element is the initial value of at
    /// most one element of a state.
    pub(crate) fn serves_only_as_state(&self, source: Source) -> bool {
        !self.read.contains(&source)
            && self
                .initial_elements
                .get(&source)
                .is_none_or(|starts| starts.iter().all(|n| *n <= 1))
    }

    /// The place of an LSTM whose initial h and initial c read the same element of a tensor. `None`
    /// if no LSTM does. Exporters merge equal tensors, so one input may be the initial value of
    /// both states.
    pub(crate) fn of_h_and_c(&self, source: Source) -> Option<usize> {
        let states_of = |letter: char| {
            let recurrences =
                self.all.iter().filter(move |r| r.cell.is_some_and(|(_, own)| own == letter));
            recurrences.flat_map(move |r| {
                let initial = r.initial.iter().flatten().filter(move |(from, _)| *from == source);
                initial.map(move |element| (r.layer, *element))
            })
        };
        let c: Vec<_> = states_of('c').collect();
        states_of('h').find(|start| c.contains(start)).map(|(layer, _)| layer)
    }

    /// Marks the tensors that Results, variables and operations read. Initial states are not
    /// marked, and operations that move elements read nothing by themselves.
    fn reads(&mut self, model: &CoreModel, nodes: &[&CoreNode]) {
        let mut read: Vec<Source> = model.results.iter().map(|result| result.source).collect();
        read.extend(model.variables.iter().filter_map(|variable| variable.next));
        for node in nodes.iter().filter(|node| !node.op.facts().is_move()) {
            match &node.op {
                CoreOp::Loop(body) if body.trips == 1 => {}
                CoreOp::Loop(body) => {
                    read.extend(body.slices.iter().map(|slice| slice.whole));
                    read.extend(
                        body.results.iter().filter(|r| r.pieces.is_some()).map(|r| r.value),
                    );
                    // `back_edges` marks the initial values of carried values that are no states
                }
                op => {
                    let facts = op.facts();
                    let recurrent = facts.recurrence().map(|steps| steps.over_time.clone());
                    read.extend(recurrent.unwrap_or(facts.operands));
                }
            }
        }
        self.mark(read);
    }

    /// Marks tensors as read, together with the tensors from which their elements were moved.
    fn mark(&mut self, read: Vec<Source>) {
        let mut open = read;
        while let Some(source) = open.pop() {
            if !self.read.insert(source) {
                continue;
            }
            if let Source::Value(value) = source {
                match self.flow.producer(value) {
                    Producer::View(view) => open.push(view.input),
                    Producer::Concat(concat) => open.extend(&concat.inputs),
                    Producer::Same(source) => open.push(source),
                    Producer::Operation => {}
                }
            }
        }
    }

    /// The recurrence whose last state contains an element, and the index of the element in the
    /// state. `by_y`: true if the last step of a cell's Y counts as the last state of h, too.
    fn recurrence_ending_in(
        &self,
        (source, index): TensorElement,
        by_y: bool,
    ) -> Option<(usize, usize)> {
        let Source::Value(value) = source else { return None };
        if let Some(&recurrence) = self.by_last.get(&value) {
            return Some((recurrence, index));
        }
        let recurrence = *self.by_each.get(&value).filter(|_| by_y)?;
        let (cell, _) = self.all[recurrence].cell?;
        let sequence = cell.sequence.as_ref()?;
        let (unit, step, row) = (
            index % cell.hidden_size,
            index / cell.hidden_size % sequence.steps,
            index / cell.hidden_size / sequence.steps,
        );
        let last = if sequence.reverse { 0 } else { sequence.steps - 1 };
        (step == last && sequence.lengths == Lengths::Full)
            .then_some((recurrence, row * cell.hidden_size + unit))
    }

    /// For a tensor that consists of last states: the tensor with the initial states, true if every
    /// element has the same index in both tensors, and the recurrences between the two tensors.
    /// `None` if some element is in no last state, if the initial states come from several tensors,
    /// if the two tensors differ in length, or if a search for origins stopped.
    pub(crate) fn update(
        &self,
        model: &CoreModel,
        source: Source,
        by_y: bool,
    ) -> Option<(Source, bool, BTreeSet<usize>)> {
        let mut update: Option<(Source, bool, BTreeSet<usize>)> = None;
        for (position, element) in self.flow.origins(source)?.into_iter().enumerate() {
            let (recurrence, index) = self.recurrence_ending_in(element, by_y)?;
            let (from, at) = self.all[recurrence].initial.as_ref()?[index];
            let (first, in_place, through) = update.get_or_insert((from, true, BTreeSet::new()));
            if *first != from {
                return None;
            }
            *in_place &= at == position;
            through.insert(recurrence);
        }
        update.filter(|(first, ..)| model.len(*first) == model.len(source))
    }
}

impl<'m> Recurrences<'m> {
    /// The first of the recurrences `through` that runs in reverse, else the first with sequence
    /// lengths. `None` if all recurrences run forward through every step.
    pub(crate) fn not_forward(&self, through: &BTreeSet<usize>) -> Option<&Recurrence<'m>> {
        let with_order = |order: StepOrder| {
            through.iter().map(|&index| &self.all[index]).find(|r| r.order == order)
        };
        with_order(StepOrder::Reverse).or_else(|| with_order(StepOrder::Lengths))
    }

    /// A recurrence that runs in reverse or has sequence lengths and lies between a parameter and a
    /// tensor. Element-wise arithmetic may lie between the parameter and the initial state, and
    /// between the last state and the tensor. `None` if there is no such recurrence, or if the
    /// search for the origins of `source` stopped.
    pub(crate) fn not_forward_between(
        &self,
        model: &CoreModel,
        parameter: usize,
        source: Source,
    ) -> Option<&Recurrence<'m>> {
        let ends: BTreeSet<usize> = self
            .flow
            .origins(source)?
            .into_iter()
            .filter_map(|e| self.recurrence_ending_in(e, true))
            .map(|(index, _)| index)
            .collect();
        let near = passages::reached(model, &[Source::Parameter(parameter)], Reach::Near);
        let starts = |index: &usize| {
            self.all[*index].initial.iter().flatten().any(|(source, _)| near.contains(source))
        };
        let ends_near = |index: &usize| {
            let recurrence = &self.all[*index];
            let reaches = |&last: &usize| {
                passages::reached(model, &[Source::Value(last)], Reach::Near).contains(&source)
            };
            recurrence.order != StepOrder::Forward && recurrence.last.iter().any(reaches)
        };
        let started: Vec<usize> = (0..self.all.len()).filter(starts).collect();
        self.not_forward(
            &started.into_iter().filter(|index| ends.contains(index) || ends_near(index)).collect(),
        )
    }
}

/// True if the state of a recurrent operator continues from call to call as from step to step: each
/// element of `initial` is kept between calls, by a state pair or a variable, and its next value is
/// the element of `last` with the same index.
pub(crate) fn goes_on(
    flow: &Flow,
    model: &CoreModel,
    initial: Source,
    last: Option<usize>,
) -> bool {
    let Some(initial) = flow.origins(initial) else { return false };
    let mut kept: HashMap<Source, Option<Vec<TensorElement>>> = HashMap::new();
    initial.iter().enumerate().all(|(position, &(source, index))| {
        let next = match source {
            Source::Parameter(parameter) => {
                let pair = model.states.iter().find(|pair| pair.parameter == parameter);
                pair.map(|pair| model.results[pair.result].source)
            }
            Source::Variable(variable) => model.variables[variable].next,
            Source::Constant(_) | Source::Value(_) => None,
        };
        let Some(next) = next else { return false };
        let next = kept.entry(source).or_insert_with(|| flow.origins(next));
        let element = next.as_ref().and_then(|next| next.get(index));
        element
            .is_some_and(|&(source, at)| last.map(Source::Value) == Some(source) && at == position)
    })
}
