//! How outputs are computed from inputs of equal shape, as evidence of states.

use std::collections::HashSet;

use super::Recurrences;
use crate::core::{
    CoreLoop, CoreModel, CoreNode, CoreOp, Facts, PointwiseFunction, Reach, RecurrentSteps, Source,
    StateEnds, StepOrder,
};
use crate::model::Binary;
use crate::stream::flow::Producer;

/// The most states of recurrent operators, and the most inputs, whose computed tensors the search
/// follows. If a model has more states, the search follows no state. If a model has more inputs,
/// the search follows the first inputs.
pub(super) const MOST_FOLLOWED: usize = 64;

/// Largest output, in elements, whose elements are traced back one by one.
const MOST_MOVED: usize = 1 << 18;

/// Longest chain of sums and products between an input and an output.
const MOST_TERMS: usize = 6;

/// The tensors `from`, and every tensor computed from them through the operations of `reach`.
pub(crate) fn reached(model: &CoreModel, from: &[Source], reach: Reach) -> HashSet<Source> {
    let mut found: HashSet<Source> = from.iter().copied().collect();
    for node in &model.nodes {
        let Facts { reach: least, operands, outputs, .. } = node.op.facts();
        if reach >= least && operands.iter().any(|source| found.contains(source)) {
            found.extend(outputs.into_iter().map(Source::Value));
        }
    }
    found
}

/// A state of a recurrent operator, or of a loop.
struct CellState {
    initial: Source,
    /// True if the operator runs forward through every step.
    forward: bool,
    /// The tensors computed from the last state through operations of [`Reach::Near`], and through
    /// operations of [`Reach::Far`].
    near: HashSet<Source>,
    far: HashSet<Source>,
}

/// The initial value of a state, its value after the last step, and true if the operator runs
/// forward through every step.
type Ends = (Source, Source, bool);

fn of_operation(steps: &RecurrentSteps) -> Vec<Ends> {
    let forward = steps.order == StepOrder::Forward;
    let each = steps.each.map(|(value, _)| value);
    let ends = |state: &StateEnds| {
        let last = state.last.or(each.filter(|_| state.is_each))?;
        Some((state.initial, Source::Value(last), forward))
    };
    steps.states.iter().filter_map(ends).collect()
}

fn of_loop(body: &CoreLoop) -> Vec<Ends> {
    let forward = body.slices.iter().all(|slice| !slice.reverse);
    let mut found = Vec::new();
    for carried in &body.carried {
        let lasts = body
            .results
            .iter()
            .filter(|result| result.pieces.is_none() && result.value == carried.next);
        found.extend(lasts.map(|last| (carried.initial, Source::Value(last.out), forward)));
    }
    found
}

/// The new elements of an output whose other elements come from the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum New {
    /// At least one new element is not a constant.
    Computed,
    /// All new elements are constants, as in a mask of filled places.
    Constant,
}

/// How an output is computed from an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateKind {
    /// Through a recurrent operator or a loop.
    Recurrent(Reach),
    /// By products with recurrent matrices, `[H, H]` for each gate, as in a cell that consists of
    /// separate operations.
    Multiplied(Reach),
    /// A view of the concatenation of the input and new elements.
    Appended(New),
    /// Elements of the input, all shifted by the same distance, and new elements.
    Moved(New),
    /// The input times a factor, plus a term independent of the input.
    Averaged,
}

impl UpdateKind {
    /// True if only the next values of states are likely to be computed in this way.
    pub(super) fn is_sure(self) -> bool {
        use New::Computed;
        matches!(self, Self::Recurrent(Reach::Near) | Self::Multiplied(Reach::Near))
            || matches!(self, Self::Appended(Computed) | Self::Moved(Computed))
    }

    /// The new elements of a window. `None` if the output is no window of the input.
    pub(super) fn added_to_window(self) -> Option<New> {
        match self {
            Self::Appended(new) | Self::Moved(new) => Some(new),
            Self::Recurrent(_) | Self::Multiplied(_) | Self::Averaged => None,
        }
    }
}

/// The states of a model's recurrent operators and loops.
pub(super) struct Passages<'a, 'm> {
    model: &'m CoreModel,
    recurrences: &'a Recurrences<'m>,
    needed: &'a [bool],
    states: Vec<CellState>,
}

/// How sums and products compute a tensor from an input.
struct Linear {
    /// True if a factor multiplies the input.
    scaled: bool,
    /// True if a term is added or subtracted that is independent of the input and no constant.
    added: bool,
}

/// An input, and the tensors computed from the input.
pub(super) struct InputReach {
    parameter: usize,
    near: HashSet<Source>,
    far: HashSet<Source>,
    pub(super) any: HashSet<Source>,
    /// The reach of the products of the input with recurrent matrices, and the tensors computed
    /// from the products. `None` if there are no products.
    multiplied: Option<(Reach, HashSet<Source>)>,
}

impl<'a, 'm> Passages<'a, 'm> {
    /// `needed`: by value, true if a Result or a variable depends on the value.
    pub(super) fn new(
        model: &'m CoreModel,
        recurrences: &'a Recurrences<'m>,
        needed: &'a [bool],
    ) -> Self {
        let mut ends: Vec<Ends> = Vec::new();
        for node in &model.nodes {
            match &node.op {
                CoreOp::Loop(body) if body.trips > 1 => ends.extend(of_loop(body)),
                op => ends.extend(op.facts().recurrence().into_iter().flat_map(of_operation)),
            }
        }
        if ends.len() > MOST_FOLLOWED {
            ends.clear();
        }
        let state = |(initial, last, forward)| CellState {
            initial,
            forward,
            near: reached(model, &[last], Reach::Near),
            far: reached(model, &[last], Reach::Far),
        };
        Self { model, recurrences, needed, states: ends.into_iter().map(state).collect() }
    }

    /// The tensors computed from an input.
    pub(super) fn start(&self, parameter: usize) -> InputReach {
        let reached_by = |reach| reached(self.model, &[Source::Parameter(parameter)], reach);
        let (near, far, any) =
            (reached_by(Reach::Near), reached_by(Reach::Far), reached_by(Reach::Any));
        let multiplied = self.multiplied(parameter, &near);
        InputReach { parameter, near, far, any, multiplied }
    }

    /// True if a recurrent operator or a loop between the input and the output runs in reverse or
    /// has sequence lengths. Between the operator and input or output lie only operations of
    /// [`Reach::Near`].
    pub(super) fn runs_otherwise(&self, start: &InputReach, output: Source) -> bool {
        let otherwise = |state: &CellState| {
            !state.forward && start.near.contains(&state.initial) && state.near.contains(&output)
        };
        self.states.iter().any(otherwise)
    }

    /// How an output is computed from an input of equal shape. `None` if nothing suggests a state.
    pub(super) fn update_kind(&self, start: &InputReach, output: Source) -> Option<UpdateKind> {
        let recurrent = |reach: Reach| {
            let from = if reach == Reach::Near { &start.near } else { &start.far };
            let starts = |state: &&CellState| from.contains(&state.initial);
            let ends = |state: &CellState| {
                let after = if reach == Reach::Near { &state.near } else { &state.far };
                after.contains(&output)
            };
            let mut forward = self.states.iter().filter(|state| state.forward);
            let any = forward.clone().any(|state| starts(&state));
            any && forward.all(|state| ends(state) == starts(&state))
        };
        let input = Source::Parameter(start.parameter);
        let multiplied =
            start.multiplied.as_ref().filter(|(_, computed)| computed.contains(&output));
        if recurrent(Reach::Near) {
            Some(UpdateKind::Recurrent(Reach::Near))
        } else if let Some(new) = appended(self.model, self.recurrences, input, output) {
            Some(UpdateKind::Appended(new))
        } else if let Some(new) = self.moved(input, output) {
            Some(UpdateKind::Moved(new))
        } else if let Some((reach, _)) = multiplied {
            Some(UpdateKind::Multiplied(*reach))
        } else if recurrent(Reach::Far) {
            Some(UpdateKind::Recurrent(Reach::Far))
        } else {
            self.averages(start, output).then_some(UpdateKind::Averaged)
        }
    }

    /// True if an output is the input times a factor, plus a term independent of the input. False
    /// if the model has no other output.
    fn averages(&self, start: &InputReach, output: Source) -> bool {
        let linear = self.linear(start, output, MOST_TERMS);
        self.model.results.len() > 1 && linear.is_some_and(|linear| linear.scaled && linear.added)
    }

    /// How sums and products compute a tensor from the input. `None` if other operations take part,
    /// or more than `most` sums and products.
    fn linear(&self, start: &InputReach, source: Source, most: usize) -> Option<Linear> {
        use Binary::{Add, Multiply, Subtract};
        let source = self.behind_views(source);
        if source == Source::Parameter(start.parameter) {
            return Some(Linear { scaled: false, added: false });
        }
        let made = |node: &&CoreNode| {
            node.op.outputs().into_iter().any(|value| Source::Value(value) == source)
        };
        let most = most.checked_sub(1)?;
        let CoreOp::Pointwise(pointwise) = &self.model.nodes.iter().find(made)?.op else {
            return None;
        };
        let &[a, b] = &pointwise.inputs[..] else { return None };
        let depends = |source: &Source| start.any.contains(source);
        let PointwiseFunction::Binary(function) = pointwise.function else { return None };
        match (function, depends(&a), depends(&b)) {
            (Add | Subtract, true, true) => {
                let (a, b) = (self.linear(start, a, most)?, self.linear(start, b, most)?);
                Some(Linear { scaled: a.scaled || b.scaled, added: a.added || b.added })
            }
            (Add | Subtract | Multiply, true, false) | (Add | Subtract | Multiply, false, true) => {
                let (own, other) = if depends(&a) { (a, b) } else { (b, a) };
                let Linear { scaled, added } = self.linear(start, own, most)?;
                let is_factor = function == Multiply;
                let more = !is_factor && !matches!(other, Source::Constant(_));
                Some(Linear { scaled: scaled || is_factor, added: added || more })
            }
            _ => None,
        }
    }

    /// The products of the input with recurrent matrices, `[H, H]` for each gate: their reach, and
    /// the tensors computed from the products. The reach is [`Reach::Near`] if only views lie
    /// between the input and a product. `None` if there are no products.
    fn multiplied(
        &self,
        parameter: usize,
        near: &HashSet<Source>,
    ) -> Option<(Reach, HashSet<Source>)> {
        let (mut reach, mut products) = (Reach::Far, Vec::new());
        for node in &self.model.nodes {
            let CoreOp::Dense(dense) = &node.op else { continue };
            let gates = [1, 3, 4].into_iter().any(|gates| dense.outputs == gates * dense.inputs);
            let row = self.model.parameters[parameter].shape.last() == Some(&dense.inputs)
                && dense.inputs > 1;
            if !(self.needed[dense.out] && gates && row && near.contains(&dense.x)) {
                continue;
            }
            if self.behind_views(dense.x) == Source::Parameter(parameter) {
                reach = Reach::Near;
            }
            products.push(Source::Value(dense.out));
        }
        let computed = reached(self.model, &products, Reach::Any);
        (!products.is_empty()).then_some((reach, computed))
    }

    fn behind_views(&self, mut source: Source) -> Source {
        while let Source::Value(value) = source {
            match self.recurrences.flow.producer(value) {
                Producer::View(view) => source = view.input,
                _ => break,
            }
        }
        source
    }

    /// The new elements of an output whose other elements are elements of the input, all shifted by
    /// the same distance. `None` for other outputs, for an output without new elements, and for an
    /// output that an operation computes or that has more than [`MOST_MOVED`] elements.
    fn moved(&self, input: Source, output: Source) -> Option<New> {
        let Source::Value(value) = output else { return None };
        let computed = matches!(self.recurrences.flow.producer(value), Producer::Operation);
        if computed || self.model.len(output) > MOST_MOVED {
            return None;
        }
        let (mut by, mut new) = (None, None);
        for (position, (source, at)) in
            self.recurrences.flow.origins(output)?.into_iter().enumerate()
        {
            if source != input {
                let is_constant = matches!(source, Source::Constant(_));
                new = if is_constant { new.or(Some(New::Constant)) } else { Some(New::Computed) };
                continue;
            }
            let moved = at as isize - position as isize;
            if moved == 0 || *by.get_or_insert(moved) != moved {
                return None;
            }
        }
        new.filter(|_| by.is_some())
    }
}

/// The new elements of an output that is a part of a Concat, if the first operand of the Concat is
/// the whole input and further operands follow. `None` for other outputs.
fn appended(
    model: &CoreModel,
    recurrences: &Recurrences,
    input: Source,
    mut output: Source,
) -> Option<New> {
    while let Source::Value(value) = output {
        let concat = match recurrences.flow.producer(value) {
            Producer::View(view) => {
                output = view.input;
                continue;
            }
            Producer::Concat(concat) => concat,
            _ => return None,
        };
        let at =
            concat.inputs.iter().position(|source| is_all_of(model, recurrences, *source, input));
        let behind: Vec<&Source> =
            concat.inputs.iter().skip(1).filter(|source| **source != input).collect();
        let is_constant = |source: &&Source| matches!(source, Source::Constant(_));
        let new = if behind.iter().all(is_constant) { New::Constant } else { New::Computed };
        return (at == Some(0) && !behind.is_empty()).then_some(new);
    }
    None
}

/// True if a tensor is the input, or a chain of views of the input that each have the input's
/// length.
fn is_all_of(
    model: &CoreModel,
    recurrences: &Recurrences,
    mut source: Source,
    input: Source,
) -> bool {
    while let Source::Value(value) = source {
        match recurrences.flow.producer(value) {
            Producer::View(view) if model.len(view.input) == model.len(source) => {
                source = view.input
            }
            _ => return false,
        }
    }
    source == input
}
