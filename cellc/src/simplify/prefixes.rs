//! Slices with a computed stop: the first elements along an axis, a run-time number of them, and
//! products of matrices over them.

use super::dynamic_lengths::OpenOperand;
use super::elementwise::computed;
use super::integers::converted;
use super::matmul::product;
use super::parts::padded_behind;
use super::translator::Translator;
use crate::core::{CoreOp, Divider, DynamicLength, Geometry, Known, Source, View, strides};
use crate::model::{ElementType, Elementwise as E, Node};

fn number(value: i64) -> Known {
    Known::integers(Vec::new(), &[value], ElementType::I64)
}

impl<'a> Translator<'_, 'a> {
    /// Translates a slice of the first elements along an axis with a computed stop. False for other
    /// nodes.
    pub(super) fn slices_by_run_time(&mut self, node: &'a Node) -> bool {
        let Some(axis) = self.axis_of_prefix(node) else { return false };
        if let Some((known, length)) = self.prefix(node, axis) {
            self.current_length = Some(length);
            self.set(node, 0, known);
        }
        true
    }

    /// The axis of a slice from 0 to a computed stop, in steps of 1.
    fn axis_of_prefix(&self, node: &'a Node) -> Option<usize> {
        let known = |port: usize| match self.input(node, port)? {
            Known::Constant(tensor, _) if tensor.len() == 1 => tensor.get_i64(0),
            _ => None,
        };
        let Some(Known::Source(Source::Parameter(_) | Source::Value(_), _)) = self.input(node, 0)
        else {
            return None;
        };
        let stop = self.input(node, 2).filter(|stop| matches!(stop, Known::Source(..)))?;
        let is_one =
            self.core.shape_of(&stop).iter().all(|&size| size == 1) && !stop.element().is_float();
        let rank = self.core.shape_of(&self.input(node, 0)?).len();
        let axis = if node.inputs.len() > 4 { known(4)? } else { 0 };
        let axis = usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok()?;
        (is_one && axis < rank && known(1)? == 0 && known(3)? == 1).then_some(axis)
    }

    /// All elements, with the number of elements before the stop.
    fn prefix(&mut self, node: &'a Node, axis: usize) -> Option<(Known, DynamicLength)> {
        let (input, stop) = (self.input(node, 0)?, self.input(node, 2)?);
        let shape = self.core.shape_of(&input);
        let all = number(i64::try_from(shape[axis]).ok()?);
        let stop = self.view(node, &stop, Geometry::reshaped(Vec::new()))?;
        let stop = self.build(node, |core| converted(core, &stop, ElementType::I64))?;
        // negative stops count from the end
        let from_end =
            self.build(node, |core| computed(core, E::Add, vec![stop.clone(), all.clone()]))?;
        let is_from_end =
            self.build(node, |core| computed(core, E::Less, vec![stop.clone(), number(0)]))?;
        let stop =
            self.build(node, |core| computed(core, E::Select, vec![is_from_end, from_end, stop]))?;
        let stop = self.build(node, |core| computed(core, E::Maximum, vec![stop, number(0)]))?;
        let count = self.build(node, |core| computed(core, E::Minimum, vec![stop, all]))?;
        let count = self.source(&count)?;
        self.computable(node, &shape)?;
        let (source, out) = (self.source(&input)?, self.core.value(shape.clone()));
        let strides = strides(&shape).into_iter().map(|stride| stride as isize).collect();
        self.core.emit(CoreOp::View(View { input: source, offset: 0, strides, out }));
        let known = Known::Source(Source::Value(out), input.element());
        self.core.facts.set_range(&known, self.core.facts.range_of(&input));
        let length = DynamicLength {
            count,
            by: Divider::Slice,
            is_zero: false,
            truncated: None,
            parts_along: Some(axis),
        };
        Some((known, length))
    }

    /// The axis of the parts in a product of a factor with a run-time length along rows, columns or
    /// matrices; `None` if the parts are summed.
    pub(super) fn parts_of_product(
        &self,
        node: &'a Node,
        port: usize,
        along: usize,
        transposed: bool,
    ) -> Option<usize> {
        let shapes =
            [0, 1].map(|port| self.input(node, port).map(|known| self.core.shape_of(&known)));
        let [Some(a), Some(b)] = shapes else { return None };
        let (own, other) = if port == 0 { (&a, &b) } else { (&b, &a) };
        if own.len() < 2 || other.len() < 2 {
            return None;
        }
        let rank = own.len().max(other.len());
        let behind = own.len() - along;
        if behind <= 2 {
            let is_inner = (behind == 1) == ((port == 0) != transposed);
            return (!is_inner).then(|| if port == 0 { rank - 2 } else { rank - 1 });
        }
        let meets = other.len().checked_sub(behind).is_some_and(|axis| other[axis] != 1);
        (!meets).then_some(rank - behind)
    }

    /// The product of factors with equal run-time lengths along the summed axis; `None` for other
    /// factors and after an error.
    pub(super) fn product_of_parts(
        &mut self,
        node: &'a Node,
        open: &[OpenOperand],
        transposed: [bool; 2],
    ) -> Option<Known> {
        let &[a @ OpenOperand { port: 0, .. }, b @ OpenOperand { port: 1, .. }] = open else {
            return None;
        };
        let inputs = self.inputs(node)?;
        let is_inner = |OpenOperand { port, axis, .. }: OpenOperand| {
            let rank = self.core.shape_of(&inputs[port]).len();
            let last = (port == 0) != transposed[port];
            rank >= 2 && axis + if last { 1 } else { 2 } == rank
        };
        if a.length.count != b.length.count || !is_inner(a) || !is_inner(b) {
            return None;
        }
        let mut factors = Vec::new();
        for (known, length) in inputs.iter().zip([a.length, b.length]) {
            let zero = Known::number_like(known, 0.0);
            factors.push(self.build(node, |core| padded_behind(core, known, length, &zero))?);
        }
        self.build(node, |core| product(core, &factors, transposed[0], transposed[1]))
    }
}
