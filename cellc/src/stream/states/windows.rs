//! States that are windows: a step appends elements to the window, and the last elements of the
//! concatenation are the next state.

use super::super::flow::Flow;
use crate::core::{Concat, CoreModel, CoreNode, CoreOp, Source, StatePair};

/// The windows that operators define as states, each with its next value. A window does not count
/// if another operation or an output reads the input, or if two windows have one next value.
/// Windows of other operators may be inputs of data.
pub(crate) fn windows(model: &CoreModel, flow: &Flow) -> Vec<StatePair> {
    let pair = |node: &CoreNode| match &node.op {
        CoreOp::Concat(concat) if concat.is_window => window(model, flow, concat),
        _ => None,
    };
    let pairs: Vec<StatePair> = model.nodes.iter().filter_map(pair).collect();
    let is_alone = |pair: &&StatePair| {
        let source = Source::Parameter(pair.parameter);
        let reads = model.all_nodes().into_iter().flat_map(|node| node.op.reads());
        let reads = reads.chain(model.results.iter().map(|result| result.source));
        let is_own = |other: &&StatePair| other.result == pair.result;
        reads.filter(|read| *read == source).count() == 1
            && pairs.iter().filter(is_own).count() == 1
    };
    pairs.iter().filter(is_alone).copied().collect()
}

/// For a Concat of two operands that appends elements to an input: the input, and the only output
/// with the last elements of the concatenation, in the order of the input. `None` for other
/// Concats, or if several outputs have these elements.
pub(crate) fn window(model: &CoreModel, flow: &Flow, concat: &Concat) -> Option<StatePair> {
    let &[past, _] = &concat.inputs[..] else { return None };
    let front = flow.origins(past)?;
    let &(Source::Parameter(parameter), _) = front.first()? else { return None };
    let input = &model.parameters[parameter];
    let of_input = |(source, _): &(Source, usize)| *source == Source::Parameter(parameter);
    if !input.element.is_float() || !front.iter().all(of_input) {
        return None;
    }
    let shape = &model.values[concat.out].shape;
    let inner: usize = shape[concat.axis + 1..].iter().product();
    let (before, whole) = (model.shape(past)[concat.axis], shape[concat.axis]);
    let appended = whole - before;
    let is_kept = |(position, at): (usize, usize)| {
        let (line, frame) = (at / inner / whole, at / inner % whole);
        let of_past =
            frame.checked_sub(appended).map(|frame| (line * before + frame) * inner + at % inner);
        of_past.is_some_and(|of_past| front[of_past].1 == position)
    };
    let is_next = |result: &usize| {
        let result = &model.results[*result];
        result.element.is_float()
            && result.shape == input.shape
            && flow
                .places_in(result.source, concat.out)
                .is_some_and(|places| places.into_iter().enumerate().all(is_kept))
    };
    let mut next = (0..model.results.len()).filter(is_next);
    let (Some(result), None) = (next.next(), next.next()) else { return None };
    Some(StatePair { parameter, result })
}
