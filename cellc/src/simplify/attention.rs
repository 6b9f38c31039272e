//! Scaled dot-product attention, made of products, a mask and a softmax.

use super::translator::Translator;
use crate::core::{Geometry, Known, broadcast};
use crate::model::{ElementType, Elementwise, Node, Tensor};

impl<'a> Translator<'_, 'a> {
    /// Inputs: query `[.., L, E]`, key `[.., S, E]`, value `[.., S, V]`, mask (booleans, or numbers
    /// to add), scale.
    pub(super) fn attention(&mut self, node: &'a Node, causal: bool) {
        if let Some(y) = self.attended(node, causal) {
            self.set(node, 0, y);
        }
    }

    fn attended(&mut self, node: &'a Node, causal: bool) -> Option<Known> {
        let [query, key, value] = [0, 1, 2].map(|port| self.input(node, port));
        let (query, key, value) = (query?, key?, value?);
        let shapes = [&query, &key, &value].map(|known| self.shape_of(known));
        if shapes.iter().any(|shape| shape.len() < 2) {
            let valid = "query [.., L, E], key [.., S, E] and value [.., S, V]";
            self.shapes_differ(node, &shapes, valid, "reshape them");
            return None;
        }
        let scale = match node.inputs.len() {
            5 => self.input(node, 4)?,
            _ => {
                let width = shapes[0].last().copied()? as f64;
                self.number_like(&query, (1.0 / width.sqrt()) as f32)?
            }
        };
        if self.shape_of(&scale).iter().product::<usize>() != 1 {
            let shape = self.shape_of(&scale);
            self.shapes_differ(node, &[shape], "a scale of one number", "correct the scale");
            return None;
        }
        let scores = self.product(node, &[query, key], false, true)?;
        let shape = self.shape_of(&scores);
        let scale = self.view(node, &scale, Geometry::reshaped(Vec::new()))?;
        let mut scores = self.computed(node, Elementwise::Multiply, vec![scores, scale])?;
        if causal {
            let mask = self.causal_mask(node, shape[shape.len() - 2], shape[shape.len() - 1])?;
            scores = self.masked(node, scores, mask)?;
        } else if node.inputs.len() > 3 {
            let mask = self.input(node, 3)?;
            let of_mask = self.shape_of(&mask);
            if broadcast([&shape[..], &of_mask]).as_ref() != Some(&shape) {
                let valid = "a mask that broadcasts to [.., L, S]";
                self.shapes_differ(node, &[shape, of_mask], valid, "correct the mask");
                return None;
            }
            scores = self.masked(node, scores, mask)?;
        }
        let weights = self.softmax_along(node, &scores, shape.len() - 1, false)?;
        self.product(node, &[weights, value], false, false)
    }

    /// Scores of minus infinity where a mask of booleans is false; other masks are added.
    fn masked(&mut self, node: &Node, scores: Known, mask: Known) -> Option<Known> {
        if mask.element() != ElementType::Bool {
            return self.computed(node, Elementwise::Add, vec![scores, mask]);
        }
        let none = self.number_like(&scores, f32::NEG_INFINITY)?;
        self.computed(node, Elementwise::Select, vec![mask, scores, none])
    }

    /// True if a key is not behind its query.
    fn causal_mask(&mut self, node: &Node, queries: usize, keys: usize) -> Option<Known> {
        let shape = vec![queries, keys];
        self.foldable(node, &shape, ElementType::Bool)?;
        let seen: Vec<i64> =
            (0..queries * keys).map(|at| i64::from(at % keys <= at / keys)).collect();
        Some(Known::Constant(Tensor::from_i64(shape, &seen)?, ElementType::Bool))
    }
}
