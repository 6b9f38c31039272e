//! Inputs whose state passes other operations than a recurrent operator, on its way in or out.

use std::collections::HashSet;

use super::super::flow::Producer;
use super::{Recurrences, Refused};
use crate::model::{Lengths, Source, StatePair, ValidCell, ValidModel, ValidOp};

/// The most states of recurrent operators, and the most inputs, that are followed.
const MOST_FOLLOWED: usize = 64;

/// What is computed from some tensors by operations that move elements or work element by element.
fn near(model: &ValidModel, from: Source) -> HashSet<Source> {
    let mut reached = HashSet::from([from]);
    for node in &model.nodes {
        let passes = matches!(node.op, ValidOp::Pointwise(_) | ValidOp::View(_) | ValidOp::Concat(_));
        if passes && node.op.reads().iter().any(|source| reached.contains(source)) {
            reached.extend(node.op.outputs().into_iter().map(Source::Value));
        }
    }
    reached
}

/// A state of a recurrent operator that runs forward through all of its steps.
struct CellState {
    initial: Source,
    /// What is near the state after the last step.
    after: HashSet<Source>,
}

fn cell_states(model: &ValidModel) -> Vec<CellState> {
    let is_forward = |cell: &&ValidCell| {
        cell.sequence.as_ref().is_none_or(|sequence| !sequence.reverse && sequence.lengths == Lengths::Full)
    };
    let cells =
        model.nodes.iter().filter_map(|node| if let ValidOp::Cell(cell) = &node.op { Some(cell) } else { None });
    let mut states = Vec::new();
    for cell in cells.filter(is_forward) {
        for (initial, last) in [(Some(cell.h), cell.h_out.or(cell.y)), (cell.c, cell.c_out)] {
            if let (Some(initial), Some(last)) = (initial, last) {
                states.push((initial, last));
            }
        }
    }
    if states.len() > MOST_FOLLOWED {
        return Vec::new();
    }
    let of = |(initial, last)| CellState { initial, after: near(model, Source::Value(last)) };
    states.into_iter().map(of).collect()
}

/// Inputs and outputs that recurrent operators start from and end in, by way of arithmetic; and
/// caches, to which new elements are appended. `known`: pairs of which something is said already.
pub(super) fn passed_through<'a>(
    model: &ValidModel,
    recurrences: &Recurrences,
    known: &[StatePair],
) -> Vec<Refused<'a>> {
    let states = cell_states(model);
    let is_free = |&parameter: &usize| {
        let of = &model.parameters[parameter];
        !of.weight && of.element.is_float() && known.iter().all(|pair| pair.parameter != parameter)
    };
    let inputs: Vec<usize> = (0..model.parameters.len()).filter(is_free).take(MOST_FOLLOWED).collect();
    let mut found: Vec<(StatePair, &str)> = Vec::new();
    for parameter in inputs {
        let source = Source::Parameter(parameter);
        let fits = |result: &usize| {
            let of = &model.results[*result];
            of.source != source
                && of.shape == model.parameters[parameter].shape
                && known.iter().all(|pair| pair.result != *result)
        };
        let results: Vec<usize> = (0..model.results.len()).filter(fits).collect();
        let around = near(model, source);
        let is_start: Vec<bool> = states.iter().map(|state| around.contains(&state.initial)).collect();
        let ends_there = |result: &&usize| {
            let end = model.results[**result].source;
            states.iter().zip(&is_start).all(|(state, is_start)| state.after.contains(&end) == *is_start)
        };
        let is_cache = |result: &&usize| appends(model, recurrences, source, model.results[**result].source);
        let starts = is_start.contains(&true);
        let (pairs, why): (Vec<&usize>, _) = match starts {
            true => {
                let why = "the state passes other operations than the recurrent operator";
                (results.iter().filter(ends_there).collect(), why)
            }
            false => {
                let why = "the output is the input with new elements appended, which no recurrent operator does";
                (results.iter().filter(is_cache).collect(), why)
            }
        };
        if let [result] = pairs[..] {
            found.push((StatePair { parameter, result: *result }, why));
        }
    }
    let once = |result: usize| found.iter().filter(|(pair, _)| pair.result == result).count() == 1;
    let refused =
        |&(pair, why): &(StatePair, &str)| Refused { pair, why: why.to_owned(), layer: None, on_demand: true };
    found.iter().filter(|(pair, _)| once(pair.result)).map(refused).collect()
}

/// True if a tensor is cut out of a Concat of all of an input, first, and computed elements.
fn appends(model: &ValidModel, recurrences: &Recurrences, input: Source, mut output: Source) -> bool {
    while let Source::Value(value) = output {
        let concat = match recurrences.flow.producer(value) {
            Producer::View(view) => {
                output = view.input;
                continue;
            }
            Producer::Concat(concat) => concat,
            _ => return false,
        };
        let computed = |source: &Source| *source != input && !matches!(source, Source::Constant(_));
        let at = concat.inputs.iter().position(|source| is_all_of(model, recurrences, *source, input));
        return at == Some(0) && concat.inputs.iter().skip(1).any(computed);
    }
    false
}

/// True if a tensor is all of an input behind views that keep every element.
fn is_all_of(model: &ValidModel, recurrences: &Recurrences, mut source: Source, input: Source) -> bool {
    while let Source::Value(value) = source {
        match recurrences.flow.producer(value) {
            Producer::View(view) if model.len(view.input) == model.len(source) => source = view.input,
            _ => return false,
        }
    }
    source == input
}
