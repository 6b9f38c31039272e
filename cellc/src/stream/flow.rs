//! The origins of the elements of tensors, traced back through views, concatenations and loops of
//! one iteration.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::core::{Concat, CoreModel, CoreNode, CoreOp, Source, View};

/// The most work of one [`Flow`]. One unit of work traces one element through one operation.
const MOST_FLOW: usize = 1 << 26;

/// A tensor, and the index of one of its elements in C order.
pub(crate) type TensorElement = (Source, usize);

/// The producer of a value.
#[derive(Clone, Copy)]
pub(crate) enum Producer<'m> {
    View(&'m View),
    Concat(&'m Concat),
    /// A loop of one iteration: the value equals this tensor.
    Same(Source),
    /// Any other operation, which is the origin of the value's elements.
    Operation,
}

/// Traces elements back through a model.
pub(crate) struct Flow<'m> {
    model: &'m CoreModel,
    producers: Vec<Producer<'m>>,
    followed: Cell<usize>,
}

impl<'m> Flow<'m> {
    /// `nodes`: the nodes through which elements are traced, including nodes in bodies of loops.
    pub(crate) fn new(model: &'m CoreModel, nodes: &[&'m CoreNode]) -> Self {
        let mut producers = vec![Producer::Operation; model.values.len()];
        for node in nodes {
            match &node.op {
                CoreOp::View(view) => producers[view.out] = Producer::View(view),
                CoreOp::Concat(concat) => producers[concat.out] = Producer::Concat(concat),
                CoreOp::Loop(body) if body.trips == 1 => {
                    body.slices
                        .iter()
                        .for_each(|slice| producers[slice.piece] = Producer::Same(slice.whole));
                    body.carried
                        .iter()
                        .for_each(|c| producers[c.value] = Producer::Same(c.initial));
                    body.results
                        .iter()
                        .for_each(|result| producers[result.out] = Producer::Same(result.value));
                }
                _ => {}
            }
        }
        Self { model, producers, followed: Cell::new(0) }
    }

    /// Spends all work, so that every later search stops without a result.
    #[cfg(test)]
    pub(crate) fn give_up(&self) {
        self.followed.set(MOST_FLOW + 1);
    }

    /// True if a search stopped at [`MOST_FLOW`].
    pub(crate) fn gave_up(&self) -> bool {
        self.followed.get() > MOST_FLOW
    }

    /// The producer of a value.
    pub(crate) fn producer(&self, value: usize) -> Producer<'m> {
        self.producers[value]
    }

    /// The origin of each element of a tensor, in C order: an input, a constant, a variable, or a
    /// value with [`Producer::Operation`]. `None` if the search stopped at [`MOST_FLOW`].
    pub(crate) fn origins(&self, source: Source) -> Option<Vec<TensorElement>> {
        let len = self.model.len(source);
        let mut found: Vec<TensorElement> = Vec::with_capacity(len);
        found.extend((0..len).map(|i| (source, i)));
        let Source::Value(value) = source else { return Some(found) };
        // By value whose operation is not yet traced: pairs of an index in `found` and the index of
        // an element of the value. An operation reads values of smaller numbers, so the largest
        // value in `open` has all its pairs when it is taken.
        let mut open = BTreeMap::from([(value, (0..len).map(|i| (i, i)).collect::<Vec<_>>())]);
        while let Some((value, elements)) = open.pop_last() {
            self.followed.set(self.followed.get().saturating_add(elements.len()));
            if self.followed.get() > MOST_FLOW {
                return None;
            }
            let shape = &self.model.values[value].shape;
            for (position, index) in elements {
                let from = match self.producers[value] {
                    Producer::View(view) => (view.input, viewed(view, shape, index)),
                    Producer::Concat(concat) => self.part(concat, shape, index),
                    Producer::Same(source) => (source, index),
                    Producer::Operation => {
                        found[position] = (Source::Value(value), index);
                        continue;
                    }
                };
                match from {
                    (Source::Value(before), index) => {
                        open.entry(before).or_default().push((position, index))
                    }
                    element => found[position] = element,
                }
            }
        }
        Some(found)
    }

    /// The indices of a tensor's elements in the value `target`, if only views and loops of one
    /// iteration lead from `target` to the tensor. `None` for other tensors, or if the search
    /// stopped at [`MOST_FLOW`].
    pub(crate) fn places_in(&self, mut source: Source, target: usize) -> Option<Vec<usize>> {
        let mut places: Vec<usize> = (0..self.model.len(source)).collect();
        loop {
            let Source::Value(value) = source else { return None };
            if value == target {
                return Some(places);
            }
            self.followed.set(self.followed.get().saturating_add(places.len()));
            if self.gave_up() {
                return None;
            }
            source = match self.producers[value] {
                Producer::View(view) => {
                    let shape = &self.model.values[value].shape;
                    places.iter_mut().for_each(|element| *element = viewed(view, shape, *element));
                    view.input
                }
                Producer::Same(source) => source,
                Producer::Concat(_) | Producer::Operation => return None,
            };
        }
    }

    /// The input of a Concat, and the index of the element in this input, for element `index` of
    /// the output. `shape`: the output's shape.
    fn part(&self, concat: &Concat, shape: &[usize], index: usize) -> TensorElement {
        let inner: usize = shape[concat.axis + 1..].iter().product();
        let (outer, mut along, rest) =
            (index / inner / shape[concat.axis], index / inner % shape[concat.axis], index % inner);
        for &input in &concat.inputs {
            let size = self.model.shape(input)[concat.axis];
            if along < size {
                return (input, (outer * size + along) * inner + rest);
            }
            along -= size;
        }
        unreachable!("check: the parts of a Concat are smaller than the whole")
    }
}

/// Index, in the input of a view, of element `index` of the output. `shape`: the output's shape.
fn viewed(view: &View, shape: &[usize], index: usize) -> usize {
    let (mut rest, mut at) = (index, view.offset as isize);
    for (&size, &stride) in shape.iter().zip(&view.strides).rev() {
        at += (rest % size) as isize * stride;
        rest /= size;
    }
    usize::try_from(at).expect("check: a view reads in front of its input")
}
