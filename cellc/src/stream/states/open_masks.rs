//! Masks that are states and are added before a softmax. The masks start as zeros and mask nothing.

use std::collections::{HashMap, HashSet};

use super::Recurrences;
use crate::core::{CoreModel, CoreOp, PointwiseFunction, Source, StatePair};
use crate::model::Binary;

/// By tensor: the operations outside of loops that read the tensor.
struct Readers<'m> {
    by_source: HashMap<Source, Vec<&'m CoreOp>>,
}

impl<'m> Readers<'m> {
    fn new(model: &'m CoreModel) -> Self {
        let mut readers: HashMap<Source, Vec<&CoreOp>> = HashMap::new();
        for node in &model.nodes {
            node.op
                .reads()
                .into_iter()
                .for_each(|source| readers.entry(source).or_default().push(&node.op));
        }
        Self { by_source: readers }
    }

    /// The tensor `start`, and the tensors to which operations move elements of `start` unchanged.
    /// `sums`: true to follow additions and subtractions, too.
    fn moved(&self, start: Source, sums: bool) -> HashSet<Source> {
        let (mut found, mut open) = (HashSet::from([start]), vec![start]);
        while let Some(source) = open.pop() {
            for op in self.by_source.get(&source).into_iter().flatten() {
                let is_added = matches!(op, CoreOp::Pointwise(sum) if is_sum(sum.function));
                if !(op.facts().is_move() || sums && is_added) {
                    continue;
                }
                let next = Source::Value(op.first_value());
                if found.insert(next) {
                    open.push(next);
                }
            }
        }
        found
    }

    /// True if a sum of a tensor and another one reaches a softmax through moves and sums.
    fn masks(&self, start: Source) -> bool {
        let added = |op: &&CoreOp| match op {
            CoreOp::Pointwise(pointwise)
                if pointwise.function == PointwiseFunction::Binary(Binary::Add) =>
            {
                Some(Source::Value(pointwise.out))
            }
            _ => None,
        };
        let sums = self
            .moved(start, false)
            .into_iter()
            .flat_map(|source| self.by_source.get(&source).into_iter().flatten());
        let sums: Vec<Source> = sums.filter_map(added).collect();
        sums.into_iter().any(|sum| {
            let reached = self.moved(sum, true);
            reached
                .iter()
                .flat_map(|source| self.by_source.get(source).into_iter().flatten())
                .any(is_softmax)
        })
    }
}

fn is_sum(function: PointwiseFunction) -> bool {
    matches!(function, PointwiseFunction::Binary(Binary::Add | Binary::Subtract))
}

fn is_softmax(op: &&CoreOp) -> bool {
    matches!(op, CoreOp::Softmax(_))
}

/// The inputs of states that are masks: the next state contains elements of the state, and the
/// state is added before a softmax.
pub(super) fn open_masks(
    model: &CoreModel,
    recurrences: &Recurrences,
    states: &[StatePair],
) -> Vec<usize> {
    if states.is_empty() || !model.nodes.iter().any(|node| is_softmax(&&node.op)) {
        return Vec::new();
    }
    let readers = Readers::new(model);
    let is_open = |pair: &&StatePair| {
        let source = Source::Parameter(pair.parameter);
        let origins = recurrences.flow.origins(model.results[pair.result].source);
        let slides =
            origins.is_some_and(|origins| origins.iter().any(|(origin, _)| *origin == source));
        slides && readers.masks(source)
    };
    states.iter().filter(is_open).map(|pair| pair.parameter).collect()
}
