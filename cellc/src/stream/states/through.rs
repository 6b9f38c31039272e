//! How an output follows from an input of its shape, where the input may be a state.

use std::collections::HashSet;

use super::Recurrences;
use crate::core::{CoreCell, CoreLoop, CoreModel, CoreNode, CoreOp, Lengths, PointwiseFunction, Source};
use crate::stream::flow::Producer;

/// The most states of recurrent operators, and the most inputs, that are followed.
pub(super) const MOST_FOLLOWED: usize = 64;

/// The most elements of an input that are followed one by one.
const MOST_MOVED: usize = 1 << 18;

/// The most sums and factors, one behind the other, by which an output follows from an input.
const MOST_TERMS: usize = 6;

/// Which operations tensors are followed through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those that move elements or work element by element.
    Near,
    /// All but recurrent operators and loops.
    Far,
    /// All.
    Any,
}

/// What is computed from tensors by way of some operations, and these tensors.
pub(crate) fn reached(model: &CoreModel, from: &[Source], reach: Reach) -> HashSet<Source> {
    let mut found: HashSet<Source> = from.iter().copied().collect();
    for node in &model.nodes {
        let passes = match &node.op {
            CoreOp::Pointwise(_) | CoreOp::View(_) | CoreOp::Concat(_) => true,
            CoreOp::Cell(_) => reach == Reach::Any,
            CoreOp::Loop(body) => reach == Reach::Any || body.trips == 1,
            _ => reach != Reach::Near,
        };
        if passes && node.op.reads().iter().any(|source| found.contains(source)) {
            found.extend(node.op.outputs().into_iter().map(Source::Value));
        }
    }
    found
}

/// A state of a recurrent operator, or of a loop.
struct CellState {
    initial: Source,
    /// True if it runs forward through all of its steps.
    forward: bool,
    /// What is near the state after the last step, and what is computed from it at all.
    near: HashSet<Source>,
    far: HashSet<Source>,
}

/// Where a state begins, where it ends, and whether it runs forward through all of its steps.
type Ends = (Source, Source, bool);

fn of_cell(cell: &CoreCell) -> Vec<Ends> {
    let forward = cell.sequence.as_ref().is_none_or(|s| !s.reverse && s.lengths == Lengths::Full);
    let states = [(Some(cell.h), cell.h_out.or(cell.y)), (cell.c, cell.c_out)];
    states.into_iter().filter_map(|(initial, last)| Some((initial?, Source::Value(last?), forward))).collect()
}

fn of_loop(body: &CoreLoop) -> Vec<Ends> {
    let forward = body.slices.iter().all(|slice| !slice.reverse);
    let mut found = Vec::new();
    for carried in &body.carried {
        let lasts = body.results.iter().filter(|result| result.pieces.is_none() && result.of == carried.next);
        found.extend(lasts.map(|last| (carried.initial, Source::Value(last.out), forward)));
    }
    found
}

/// What stands in an output beside elements of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum New {
    /// Computed elements, at least one.
    Computed,
    /// Constants alone, as in a mask of the places that calls have filled.
    Constant,
}

/// How an output follows from an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By way of a recurrent operator or a loop.
    Recurrent(Reach),
    /// Multiplied with a matrix for each gate of a cell in parts.
    Multiplied(Reach),
    /// As the end of the input, with new elements behind it.
    Appended(New),
    /// Each element moved by the same number of places.
    Moved(New),
    /// Times a factor, plus what other inputs give.
    Averaged,
}

impl Way {
    /// True if nothing but a state is likely to be computed in this way.
    pub(super) fn is_sure(self) -> bool {
        use New::Computed;
        matches!(self, Self::Recurrent(Reach::Near) | Self::Multiplied(Reach::Near))
            || matches!(self, Self::Appended(Computed) | Self::Moved(Computed))
    }

    /// What a call adds to a window; `None` if the output is no window of the input.
    pub(super) fn added_to_window(self) -> Option<New> {
        match self {
            Self::Appended(new) | Self::Moved(new) => Some(new),
            Self::Recurrent(_) | Self::Multiplied(_) | Self::Averaged => None,
        }
    }

    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Recurrent(_) => "the state passes other operations than the recurrent operator",
            Self::Multiplied(_) => "several operations compute the new state, not one recurrent operator",
            Self::Appended(_) => "the output is the input with new elements appended, which no recurrent operator does",
            Self::Averaged => {
                "the output is the input times a factor, plus new elements, which no recurrent operator computes"
            }
            Self::Moved(_) => {
                "the output holds elements of the input in other places, which no recurrent operator does"
            }
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

/// How a tensor follows from an input by factors and sums.
struct Linear {
    /// True if a factor multiplies the input.
    scaled: bool,
    /// True if something computed is added.
    added: bool,
}

/// An input, and what is computed from it.
pub(super) struct Start {
    parameter: usize,
    near: HashSet<Source>,
    far: HashSet<Source>,
    pub(super) any: HashSet<Source>,
    /// How far it is from products with matrices of gates, and what is computed from these
    /// products.
    multiplied: Option<(Reach, HashSet<Source>)>,
}

impl<'a, 'm> Passages<'a, 'm> {
    /// `needed`: by value, whether anything depends on it.
    pub(super) fn new(model: &'m CoreModel, recurrences: &'a Recurrences<'m>, needed: &'a [bool]) -> Self {
        let mut ends: Vec<Ends> = Vec::new();
        for node in &model.nodes {
            match &node.op {
                CoreOp::Cell(cell) => ends.extend(of_cell(cell)),
                CoreOp::Loop(body) if body.trips > 1 => ends.extend(of_loop(body)),
                _ => {}
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

    pub(super) fn start(&self, parameter: usize) -> Start {
        let of = |reach| reached(self.model, &[Source::Parameter(parameter)], reach);
        let (near, far, any) = (of(Reach::Near), of(Reach::Far), of(Reach::Any));
        let multiplied = self.multiplied(parameter, &near);
        Start { parameter, near, far, any, multiplied }
    }

    /// True if a recurrent operator that is not forward, or does not take every step, starts from
    /// the input and ends in the output.
    pub(super) fn runs_otherwise(&self, start: &Start, output: Source) -> bool {
        let otherwise =
            |state: &CellState| !state.forward && start.near.contains(&state.initial) && state.near.contains(&output);
        self.states.iter().any(otherwise)
    }

    /// How an output of the input's shape follows from it; `None` where nothing makes it a state.
    pub(super) fn way(&self, start: &Start, output: Source) -> Option<Way> {
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
        let multiplied = start.multiplied.as_ref().filter(|(_, computed)| computed.contains(&output));
        if recurrent(Reach::Near) {
            Some(Way::Recurrent(Reach::Near))
        } else if let Some(new) = appended(self.model, self.recurrences, input, output) {
            Some(Way::Appended(new))
        } else if let Some(new) = self.moved(input, output) {
            Some(Way::Moved(new))
        } else if let Some((reach, _)) = multiplied {
            Some(Way::Multiplied(*reach))
        } else if recurrent(Reach::Far) {
            Some(Way::Recurrent(Reach::Far))
        } else {
            self.averages(start, output).then_some(Way::Averaged)
        }
    }

    /// True if an output beside others is the input times a factor, plus what does not depend on
    /// the input.
    fn averages(&self, start: &Start, output: Source) -> bool {
        let linear = self.linear(start, output, MOST_TERMS);
        self.model.results.len() > 1 && linear.is_some_and(|linear| linear.scaled && linear.added)
    }

    /// How a tensor follows from the input by factors and sums alone; `None` where it does not.
    fn linear(&self, start: &Start, source: Source, most: usize) -> Option<Linear> {
        use PointwiseFunction::{Add, Multiply, Subtract};
        let source = self.behind_views(source);
        if source == Source::Parameter(start.parameter) {
            return Some(Linear { scaled: false, added: false });
        }
        let made = |node: &&CoreNode| node.op.outputs().into_iter().any(|value| Source::Value(value) == source);
        let most = most.checked_sub(1)?;
        let CoreOp::Pointwise(of) = &self.model.nodes.iter().find(made)?.op else { return None };
        let &[a, b] = &of.inputs[..] else { return None };
        let depends = |source: &Source| start.any.contains(source);
        match (of.function, depends(&a), depends(&b)) {
            (Add | Subtract, true, true) => {
                let (a, b) = (self.linear(start, a, most)?, self.linear(start, b, most)?);
                Some(Linear { scaled: a.scaled || b.scaled, added: a.added || b.added })
            }
            (Add | Subtract | Multiply, true, false) | (Add | Subtract | Multiply, false, true) => {
                let (own, other) = if depends(&a) { (a, b) } else { (b, a) };
                let Linear { scaled, added } = self.linear(start, own, most)?;
                let is_factor = of.function == Multiply;
                let more = !is_factor && !matches!(other, Source::Constant(_));
                Some(Linear { scaled: scaled || is_factor, added: added || more })
            }
            _ => None,
        }
    }

    /// How far the input is from products with a recurrent matrix, `[H, H]` for each gate, and what
    /// is computed from them.
    fn multiplied(&self, parameter: usize, near: &HashSet<Source>) -> Option<(Reach, HashSet<Source>)> {
        let (mut reach, mut products) = (Reach::Far, Vec::new());
        for node in &self.model.nodes {
            let CoreOp::Dense(dense) = &node.op else { continue };
            let gates = [1, 3, 4].into_iter().any(|gates| dense.outputs == gates * dense.inputs);
            let row = self.model.parameters[parameter].shape.last() == Some(&dense.inputs) && dense.inputs > 1;
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

    /// What stands in the output beside elements of the input, each of which is moved by the same
    /// number of places. `None` if the output holds no such elements, or nothing beside them.
    fn moved(&self, input: Source, output: Source) -> Option<New> {
        let Source::Value(value) = output else { return None };
        let computed = matches!(self.recurrences.flow.producer(value), Producer::Operation);
        if computed || self.model.len(output) > MOST_MOVED {
            return None;
        }
        let (mut by, mut new) = (None, None);
        for (place, (source, at)) in self.recurrences.flow.origins(output)?.into_iter().enumerate() {
            if source != input {
                let is_constant = matches!(source, Source::Constant(_));
                new = if is_constant { new.or(Some(New::Constant)) } else { Some(New::Computed) };
                continue;
            }
            let moved = at as isize - place as isize;
            if moved == 0 || *by.get_or_insert(moved) != moved {
                return None;
            }
        }
        new.filter(|_| by.is_some())
    }
}

/// What is appended to an input in a tensor that is cut out of a Concat of all of the input, first,
/// and other elements. `None` if the tensor is computed otherwise.
fn appended(model: &CoreModel, recurrences: &Recurrences, input: Source, mut output: Source) -> Option<New> {
    while let Source::Value(value) = output {
        let concat = match recurrences.flow.producer(value) {
            Producer::View(view) => {
                output = view.input;
                continue;
            }
            Producer::Concat(concat) => concat,
            _ => return None,
        };
        let at = concat.inputs.iter().position(|source| is_all_of(model, recurrences, *source, input));
        let behind: Vec<&Source> = concat.inputs.iter().skip(1).filter(|source| **source != input).collect();
        let is_constant = |source: &&Source| matches!(source, Source::Constant(_));
        let new = if behind.iter().all(is_constant) { New::Constant } else { New::Computed };
        return (at == Some(0) && !behind.is_empty()).then_some(new);
    }
    None
}

/// True if a tensor is all of an input behind views that keep every element.
fn is_all_of(model: &CoreModel, recurrences: &Recurrences, mut source: Source, input: Source) -> bool {
    while let Source::Value(value) = source {
        match recurrences.flow.producer(value) {
            Producer::View(view) if model.len(view.input) == model.len(source) => source = view.input,
            _ => return false,
        }
    }
    source == input
}
