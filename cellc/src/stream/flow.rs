//! Where the elements of a tensor come from, through operations that only move elements.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::core::{Concat, CoreModel, CoreNode, CoreOp, Source, View};

/// The most elements that are followed, one for each operation that they pass.
const MOST_FOLLOWED: usize = 1 << 26;

/// An element of a tensor, in C order.
pub(crate) type TensorElement = (Source, usize);

/// What computes a value.
#[derive(Clone, Copy)]
pub(crate) enum Producer<'m> {
    View(&'m View),
    Concat(&'m Concat),
    /// A loop of one iteration: the value is another one.
    Same(Source),
    /// An operation that computes.
    Operation,
}

/// Follows elements through a model.
pub(crate) struct Flow<'m> {
    model: &'m CoreModel,
    producers: Vec<Producer<'m>>,
    followed: Cell<usize>,
}

impl<'m> Flow<'m> {
    /// `nodes`: all nodes of the model, those of bodies too.
    pub(crate) fn new(model: &'m CoreModel, nodes: &[&'m CoreNode]) -> Self {
        let mut producers = vec![Producer::Operation; model.values.len()];
        for node in nodes {
            match &node.op {
                CoreOp::View(view) => producers[view.out] = Producer::View(view),
                CoreOp::Concat(concat) => producers[concat.out] = Producer::Concat(concat),
                CoreOp::Loop(body) if body.trips == 1 => {
                    body.slices.iter().for_each(|slice| producers[slice.piece] = Producer::Same(slice.of));
                    body.carried.iter().for_each(|c| producers[c.value] = Producer::Same(c.initial));
                    body.results.iter().for_each(|result| producers[result.out] = Producer::Same(result.of));
                }
                _ => {}
            }
        }
        Self { model, producers, followed: Cell::new(0) }
    }

    /// Whether a way was too long to follow.
    pub(crate) fn gave_up(&self) -> bool {
        self.followed.get() > MOST_FOLLOWED
    }

    /// What computes a value.
    pub(crate) fn producer(&self, value: usize) -> Producer<'m> {
        self.producers[value]
    }

    /// Where each element of a tensor comes from: none of them from an operation that only moves
    /// elements. `None` where the way is too long.
    pub(crate) fn origins(&self, source: Source) -> Option<Vec<TensorElement>> {
        let len = self.model.len(source);
        let mut found: Vec<TensorElement> = Vec::with_capacity(len);
        found.extend((0..len).map(|i| (source, i)));
        let Source::Value(value) = source else { return Some(found) };
        // by value: places in `found`, and the element that belongs there; a value reads values of
        // smaller numbers
        let mut open = BTreeMap::from([(value, (0..len).map(|i| (i, i)).collect::<Vec<_>>())]);
        while let Some((value, elements)) = open.pop_last() {
            self.followed.set(self.followed.get().saturating_add(elements.len()));
            if self.followed.get() > MOST_FOLLOWED {
                return None;
            }
            let shape = &self.model.values[value].shape;
            for (place, index) in elements {
                let from = match self.producers[value] {
                    Producer::View(view) => (view.input, viewed(view, shape, index)),
                    Producer::Concat(concat) => self.part(concat, shape, index),
                    Producer::Same(source) => (source, index),
                    Producer::Operation => {
                        found[place] = (Source::Value(value), index);
                        continue;
                    }
                };
                match from {
                    (Source::Value(before), index) => open.entry(before).or_default().push((place, index)),
                    element => found[place] = element,
                }
            }
        }
        Some(found)
    }

    /// The element of an input of a Concat that an element of its output is.
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
        unreachable!("validate: the parts of a Concat are smaller than the whole")
    }
}

/// The element of the input of a view that an element of its output is.
fn viewed(view: &View, shape: &[usize], index: usize) -> usize {
    let (mut rest, mut at) = (index, view.offset as isize);
    for (&size, &stride) in shape.iter().zip(&view.strides).rev() {
        at += (rest % size) as isize * stride;
        rest /= size;
    }
    usize::try_from(at).expect("validate: a view reads in front of its input")
}
