//! Places of values.
//!
//! Results, Concats and loops want some values at certain places, and kernels compute these values
//! there. A contiguous view is a place inside its input. Values fused into a kernel stay in
//! registers. Every other value gets a buffer.

use std::collections::{BTreeMap, BTreeSet};

use super::Lowering;
use crate::core::{CoreNode, CoreOp, Source, View};
use crate::kernel::{Base, Place, Role};

/// By value: the place where a result, a variable or another operation wants the value.
pub(super) type Destinations = BTreeMap<usize, Place>;

impl<'m> Lowering<'m> {
    /// The places that results and variables updated in place want for values. If several results
    /// have one value, the first result is the place.
    pub(super) fn wanted_by_results(&self) -> Destinations {
        let mut wanted = Destinations::new();
        for (result, buffer) in self.model.results.iter().zip(&self.memory.results) {
            if let Source::Value(value) = result.source
                && self.is_flushed(result.source)
                && result.element.is_float()
            {
                wanted.entry(value).or_insert((*buffer).into());
            }
        }
        for (i, buffer) in self.memory.variables.iter().enumerate() {
            if let Some(value) = self.updated_in_place(i) {
                wanted.entry(value).or_insert((*buffer).into());
            }
        }
        wanted
    }

    /// The new state of a recurrent operation that may overwrite a variable. `None` for other
    /// operations, in kernels of several steps, or if anything else reads the variable.
    fn updated_in_place(&self, variable: usize) -> Option<usize> {
        let Some(Source::Value(next)) = self.model.variables[variable].next else { return None };
        let before = Source::Variable(variable);
        let is_own = self.before_in_place(&self.producers.get(&next)?.op, next) == Some(before);
        let read = self.model.all_nodes().into_iter().flat_map(|node| node.op.reads());
        let read = read.chain(self.model.results.iter().map(|result| result.source));
        let read = read.chain(self.model.variables.iter().filter_map(|variable| variable.next));
        let is_alone = read.filter(|source| *source == before).count() == 1;
        (is_own && is_alone && self.steps == 1).then_some(next)
    }

    /// The state before the steps of a recurrent operation that `last` may overwrite. `None` for
    /// values that overwrite no state.
    fn before_in_place(&self, op: &CoreOp, last: usize) -> Option<Source> {
        let facts = op.facts();
        let steps = facts.recurrence().filter(|steps| steps.in_place)?;
        let state = steps.states.iter().find(|state| state.last == Some(last))?;
        Some(state.initial)
    }

    /// Chooses the places of the values of one level: the model, or one loop body.
    pub(super) fn assign_places(&mut self, nodes: &'m [CoreNode], mut wanted: Destinations) {
        let computed: BTreeSet<usize> = nodes.iter().flat_map(|node| node.op.outputs()).collect();
        for node in nodes.iter().rev() {
            match &node.op {
                CoreOp::View(view) => {
                    if let (Some(place), Source::Value(input)) =
                        (wanted.get(&view.out).copied(), view.input)
                        && self.only_reshapes(view)
                        && computed.contains(&input)
                    {
                        wanted.entry(input).or_insert(place);
                    }
                }
                CoreOp::Concat(concat) if !self.plan.delay_lines.has_no_memory(concat.out) => {
                    let model = self.model;
                    let shape = &model.values[concat.out].shape;
                    let place = match wanted.get(&concat.out) {
                        Some(place) => *place,
                        None => self.new_place(concat.out),
                    };
                    wanted.insert(concat.out, place);
                    if shape[..concat.axis].iter().any(|&n| n > 1) {
                        continue;
                    }
                    let mut at = 0;
                    for &input in &concat.inputs {
                        if let Source::Value(value) = input
                            && computed.contains(&value)
                            && !self.is_given(input)
                        {
                            wanted.entry(value).or_insert(place.at(at));
                        }
                        at += self.elements(input);
                    }
                }
                _ => {}
            }
        }
        for node in nodes {
            // a value is not placed in a buffer that its kernel reads, except a state updated in
            // place
            let mut busy = self.bases_read(node, &wanted);
            for value in node.op.outputs() {
                let in_place = |place: &Place| {
                    let before = self.before_in_place(&node.op, value);
                    before.is_some_and(|state| self.known_place(state) == Some(*place))
                };
                let place = match (
                    wanted
                        .get(&value)
                        .filter(|place| !busy.contains(&place.base) || in_place(place)),
                    &node.op,
                ) {
                    _ if self.plan.delay_lines.has_no_memory(value) => None,
                    (Some(place), _) => Some(*place),
                    (None, CoreOp::View(view))
                        if self.plan.delay_lines.taps.contains_key(&value) =>
                    {
                        Some(self.new_place(view.out))
                    }
                    (None, CoreOp::View(view))
                        if view.is_contiguous(&self.model.values[view.out].shape) =>
                    {
                        self.known_place(view.input).map(|place| place.at(view.offset * self.steps))
                    }
                    // the value stays in registers
                    _ if self.plan.fusion.is_inner(value) => None,
                    _ => Some(self.new_place(value)),
                };
                busy.extend(place.map(|place| place.base));
                self.places[value] = place;
            }
        }
    }

    /// The bases of the places that the kernel of a node reads: operands of the operation, of the
    /// operations fused into it, and conditions.
    fn bases_read(&self, node: &'m CoreNode, wanted: &Destinations) -> Vec<Base> {
        let root = self.root(node);
        let first = root.outputs()[0];
        let mut reads = root.reads();
        for link in self.plan.fusion.links(first) {
            reads.extend(self.producers[link].op.reads());
        }
        // conditions of branches
        reads.extend(self.sides(node).iter().map(|(condition, _)| *condition));
        // values of the root count as read: a kernel may store them and a fused result next to them
        reads.extend(root.outputs().into_iter().map(Source::Value));
        // a view whose input is already at the wanted place reads nothing
        if let CoreOp::View(view) = &node.op
            && self.only_reshapes(view)
            && self
                .known_place(view.input)
                .is_none_or(|place| wanted.get(&view.out) == Some(&place))
        {
            return Vec::new();
        }
        if let CoreOp::Concat(_) = &node.op {
            return Vec::new();
        }
        reads
            .into_iter()
            .filter_map(|source| self.known_place(source))
            .map(|place| place.base)
            .collect()
    }

    /// A new scratch buffer for a value.
    pub(super) fn new_place(&mut self, value: usize) -> Place {
        let len = self.elements(Source::Value(value));
        let name = format!("{}_out", self.memory.labels.operation(value));
        self.buffer(name, Role::Scratch, len).into()
    }

    fn known_place(&self, source: Source) -> Option<Place> {
        match source {
            Source::Value(value) => self.places[value],
            other => Some(self.source(other)),
        }
    }

    /// True if a view has all elements of its input, in order: only the shape differs.
    pub(super) fn only_reshapes(&self, view: &View) -> bool {
        view.only_reshapes(self.model)
    }

    /// True if an operation needs statements. False for views and Concats without a copy, for
    /// values without memory that delay lines replace, and for operations that another operation's
    /// kernel computes.
    pub(super) fn is_computed(&self, node: &CoreNode) -> bool {
        let lines = &self.plan.delay_lines;
        match &node.op {
            op if lines.has_no_memory(op.first_value()) => false,
            CoreOp::View(view) if lines.taps.contains_key(&view.out) => true,
            CoreOp::View(view) => {
                self.places[view.out].is_some_and(|place| {
                    self.known_place(view.input)
                        .is_none_or(|from| from.at(view.offset * self.steps) != place)
                }) && !self.plan.fusion.is_inner(view.out)
            }
            CoreOp::Concat(concat) => {
                let Some(mut place) = self.places[concat.out] else { return true };
                let outer: usize =
                    self.model.values[concat.out].shape[..concat.axis].iter().product();
                let mut in_place = outer == 1;
                for &input in &concat.inputs {
                    in_place &= self.source(input) == place;
                    place = place.at(self.elements(input));
                }
                !in_place
            }
            op => {
                let value = op.outputs()[0];
                match self.plan.fusion.chains().iter().find(|chain| chain.contains(value)) {
                    Some(chain) => chain.done_at() == value,
                    None => true,
                }
            }
        }
    }

    /// The operation at the start of the fused chain that ends with a node. The node's operation
    /// itself if nothing is fused.
    pub(super) fn root(&self, node: &'m CoreNode) -> &'m CoreOp {
        let chain = node.op.outputs().first().and_then(|value| self.plan.fusion.ending(*value));
        chain.map_or(&node.op, |chain| &self.producers[&chain.root].op)
    }
}
