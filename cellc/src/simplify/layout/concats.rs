//! Tensors side by side.

use crate::core::{Concat, CoreOp, Known, Source, fold};
use crate::model::{Node, Tensor};
use crate::simplify::translator::Translator;

impl<'a> Translator<'_, 'a> {
    pub(in crate::simplify) fn concat(&mut self, node: &'a Node, axis: i64) {
        let Some(inputs) = self.inputs(node) else { return };
        self.note_front(node, &inputs, axis);
        if let Some(whole) = self.put_together(node, &inputs, axis) {
            self.set(node, 0, whole);
        }
    }

    /// Tensors, one or more, side by side along an axis.
    pub(in crate::simplify) fn put_together(
        &mut self,
        node: &Node,
        inputs: &[Known],
        axis: i64,
    ) -> Option<Known> {
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| self.shape_of(input)).collect();
        let axis = self.axis(node, axis, shapes[0].len())?;
        let agree = |shape: &Vec<usize>| {
            shape.len() == shapes[0].len()
                && shape.iter().zip(&shapes[0]).enumerate().all(|(d, (a, b))| d == axis || a == b)
        };
        if !shapes.iter().all(agree) {
            let valid = format!("shapes that differ along axis {axis} only");
            self.shapes_differ(
                node,
                &shapes,
                &valid,
                "correct the axis, or the shapes of the inputs",
            );
            return None;
        }
        let mut shape = shapes[0].clone();
        shape[axis] = shapes.iter().map(|shape| shape[axis]).fold(0, usize::saturating_add);
        let element = inputs[0].element();
        if shape.contains(&0) && element.is_float() {
            return self.empty(node, element, shape);
        }
        let mut full: Vec<Known> = inputs.to_vec();
        full.retain(|input| !element.is_float() || self.shape_of(input)[axis] > 0);
        let inputs = &full[..];
        if let [one] = inputs {
            return Some(one.clone());
        }
        let tensors: Option<Vec<&Tensor>> = inputs.iter().map(Known::tensor).collect();
        if let Some(tensors) = tensors {
            if inputs.iter().any(|input| input.element().is_float() != element.is_float()) {
                self.differ_in_type(node, inputs);
                return None;
            }
            self.foldable(node, &shape, element)?;
            return Some(Known::Constant(fold::concat(&tensors, axis, shape, element), element));
        }
        if inputs.iter().any(|input| input.element().is_float() != element.is_float()) {
            self.differ_in_type(node, inputs);
            return None;
        }
        self.all_exact(node, inputs)?;
        self.computable(node, &shape)?;
        let range = self.core.facts.range_of_all(inputs);
        let inputs: Vec<Source> = inputs.iter().filter_map(|input| self.source(input)).collect();
        let out = self.value(shape);
        self.emit(node, CoreOp::Concat(Concat { axis, inputs, out }));
        let whole = Known::Source(Source::Value(out), element);
        self.core.facts.set_range(&whole, range);
        Some(whole)
    }
}
