//! Tensors with a length that only a call knows: outputs of loops that end by a condition, Ranges
//! and Slices with computed limits. A tensor has the largest length, and zeros fill the rest.

use super::normalize::normalizes_inside;
use super::parts::sizes_at_run_time;
use super::refusal::Refusal;
use super::translator::Translator;
use crate::core::{Divider, DynamicLength, Known, ResultValue, Source};
use crate::model::{Axes, ElementType, Elementwise as E, Node};

/// The advice for a run-time Range used as a mask of lengths.
pub(super) const COUNT_ALL: &str = "where it makes a mask of lengths, count all steps of x: \
    torch.arange(x.shape[1]) for torch.arange(lengths.max()), \
    tf.sequence_mask(lengths, x.shape[1]) for tf.sequence_mask(lengths)";

/// The advice for steps cut off behind a length.
const MASK_STEPS: &str = "keep all steps of x, and mask those behind the lengths: \
    x.masked_fill(torch.arange(x.shape[1]) >= lengths[:, None], 0) for x[:, :lengths.max()]";

/// An operand with a dynamic length.
#[derive(Clone, Copy)]
pub(super) struct OpenOperand {
    pub(super) port: usize,
    pub(super) length: DynamicLength,
    /// The axis of the parts.
    pub(super) axis: usize,
}

impl<'a> Translator<'_, 'a> {
    /// Notes the dynamic length of the outputs of an operation, if an operand has one. Refuses
    /// operations that would read the elements behind the last part. True if the node is done.
    pub(super) fn note_dynamic_length(&mut self, node: &'a Node) -> bool {
        let open = self.open_operands(node);
        let Some(&OpenOperand { port, length, axis }) = open.first() else { return false };
        match node.op.facts().axes {
            Axes::Same => {
                self.current_length = Some(length);
                false
            }
            Axes::Sizes => {
                if let Some(sizes) =
                    self.rule(node, |core, args| sizes_at_run_time(core, args, length, axis))
                {
                    self.set(node, 0, sizes);
                }
                true
            }
            Axes::Broadcast(function) => {
                let parts = self.parts_of_elements(node, function, &open);
                if let Ok(axis) = parts {
                    self.pass_length(length, axis);
                }
                parts.map_err(|found| self.refuse_elements(node, length, found)).is_err()
            }
            Axes::Reduced if port == 0 => false,
            // elements behind the last part have no share of the sum
            Axes::Softmax => {
                self.pass_length(length, axis);
                false
            }
            Axes::Convolved(of) if open.len() == 1 && port == 0 => {
                let errors = self.diagnostics.0.len();
                match self.convolution_of_parts(node, of, length, axis) {
                    Some((y, length)) => {
                        self.current_length = Some(length);
                        self.set(node, 0, y);
                    }
                    None if self.diagnostics.0.len() == errors => {
                        self.refuse_dynamic_length(node, length)
                    }
                    None => {}
                }
                true
            }
            Axes::Normalized(normalization)
                if open.len() == 1
                    && normalizes_inside(&self.core, &self.operands(node), normalization, axis) =>
            {
                self.pass_length(length, axis);
                false
            }
            Axes::Product { transpose_a, transpose_b } => {
                let transposed = [transpose_a, transpose_b];
                self.product_with_parts(node, &open, transposed)
            }
            Axes::Indexed { .. } | Axes::Inserted | Axes::Removed | Axes::Permuted
                if open.len() == 1 =>
            {
                let moved = self.moved_parts(node, port, axis);
                match moved {
                    Some(axis) => self.pass_length(length, axis),
                    None => self.refuse_dynamic_length(node, length),
                }
                moved.is_none()
            }
            _ => {
                self.refuse_dynamic_length(node, length);
                true
            }
        }
    }

    /// The operands of a node with a dynamic length.
    fn open_operands(&self, node: &'a Node) -> Vec<OpenOperand> {
        let known = node.inputs.iter().map(|input| self.known[input.0].as_ref());
        let open = |(port, known): (usize, Option<&Known>)| {
            let length = self.core.facts.dynamic_length(known?)?;
            Some(OpenOperand { port, length, axis: length.parts_along? })
        };
        known.enumerate().filter_map(open).collect()
    }

    /// Notes that the outputs of the current operation have the parts of an operand along an axis,
    /// and any elements behind the last part.
    fn pass_length(&mut self, length: DynamicLength, axis: usize) {
        let length = DynamicLength { parts_along: Some(axis), is_zero: false, ..length };
        self.current_length = Some(length);
    }

    /// Refuses an element-wise operation whose operands do not have the same parts.
    fn refuse_elements(&mut self, node: &'a Node, length: DynamicLength, found: &str) {
        match length.by {
            Divider::Loop => {
                let valid = "for each part one element, or one for all of them";
                let help = "compute this part outside of the model";
                self.refuse(node, Refusal::new(found, valid, help));
            }
            Divider::Slice => self.refuse_dynamic_length(node, length),
            Divider::Range => {
                let found = "elements of a Range, of which only a call says how many there are, \
                    meet a fixed number of others: they fit at some calls only";
                let valid = "for each element of the Range one other, or one for all of them";
                self.refuse(node, Refusal::new(found, valid, COUNT_ALL));
            }
        }
    }

    /// A product of matrices with a run-time number of parts. True if the node is done.
    fn product_with_parts(
        &mut self,
        node: &'a Node,
        open: &[OpenOperand],
        transposed: [bool; 2],
    ) -> bool {
        if let &[OpenOperand { port, length, axis }] = open
            && let Some(axis) = self.parts_of_product(node, port, axis, transposed[port])
        {
            self.pass_length(length, axis);
            return false;
        }
        let errors = self.diagnostics.0.len();
        match self.product_of_parts(node, open, transposed) {
            Some(product) => self.set(node, 0, product),
            None if self.diagnostics.0.len() == errors => {
                self.refuse_dynamic_length(node, open[0].length)
            }
            None => {}
        }
        true
    }

    /// Refuses an operation that would read the elements behind the last part.
    fn refuse_dynamic_length(&mut self, node: &'a Node, length: DynamicLength) {
        let (found, help) = match length.by {
            Divider::Loop => (
                "an output of a loop that ends by its condition is read: how many parts it has \
                 only a call knows",
                "compute this part outside of the model",
            ),
            Divider::Range => (
                "elements of a Range are read whose limit is computed: how many there are only a \
                 call knows",
                COUNT_ALL,
            ),
            Divider::Slice => (
                "a Slice is read whose stop is computed: how many elements it has only a call \
                 knows",
                MASK_STEPS,
            ),
        };
        let valid = "an output of the model, operations element by element, reductions, Softmax, \
            products of matrices, convolutions of stride 1, normalisation of each element alone, \
            indices of Gather, Unsqueeze, Squeeze, Transpose";
        self.refuse(node, Refusal::new(found, valid, help));
    }

    /// Refuses results of a body with a dynamic length. `None` after an error.
    pub(super) fn refuse_dynamic_lengths(
        &mut self,
        node: &'a Node,
        results: &[Known],
    ) -> Option<()> {
        let open = results.iter().find_map(|known| {
            self.core.facts.dynamic_length(known).filter(|of| of.parts_along.is_some())
        });
        match open {
            Some(length) => {
                self.refuse_dynamic_length(node, length);
                None
            }
            None => Some(()),
        }
    }

    /// The axis of the parts in the output of an operation that moves elements. `None` if the
    /// operation scatters the axis.
    fn moved_parts(&mut self, node: &'a Node, port: usize, along: usize) -> Option<usize> {
        let rank =
            |this: &Self, port: usize| Some(this.core.shape_of(&this.input(node, port)?).len());
        let counted = |axis: i64, rank: usize| {
            usize::try_from(if axis < 0 { axis + rank as i64 } else { axis })
                .ok()
                .filter(|&axis| axis < rank)
        };
        match node.op.facts().axes {
            Axes::Indexed { batch_dims: 0 } if port == 1 => {
                let axis = counted(self.integer(node, 2, "the axis")?, rank(self, 0)?)?;
                Some(axis + along)
            }
            Axes::Inserted => {
                let axes = self.integers(node, 1, "the axes")?;
                let rank = rank(self, 0)? + axes.len();
                let added: Vec<usize> =
                    axes.iter().map(|&axis| counted(axis, rank)).collect::<Option<_>>()?;
                (0..rank).filter(|axis| !added.contains(axis)).nth(along)
            }
            Axes::Removed if node.inputs.len() > 1 => {
                let (axes, rank) = (self.integers(node, 1, "the axes")?, rank(self, 0)?);
                let removed: Vec<usize> =
                    axes.iter().map(|&axis| counted(axis, rank)).collect::<Option<_>>()?;
                let before = removed.iter().filter(|&&axis| axis < along).count();
                (!removed.is_empty() && !removed.contains(&along)).then(|| along - before)
            }
            Axes::Permuted => {
                let order = self.integers(node, 1, "the order")?;
                let rank = rank(self, 0)?;
                match order.is_empty() {
                    true => Some(rank - 1 - along),
                    false => order.iter().position(|&axis| counted(axis, rank) == Some(along)),
                }
            }
            _ => None,
        }
    }

    /// The axis of the parts in the output of an element-wise operation.
    ///
    /// # Errors
    /// The operands that do not have the same parts.
    fn parts_of_elements(
        &self,
        node: &'a Node,
        function: E,
        open: &[OpenOperand],
    ) -> Result<usize, &'static str> {
        let shapes: Vec<Vec<usize>> = node
            .inputs
            .iter()
            .map(|input| {
                self.known[input.0].as_ref().map_or(Vec::new(), |known| self.core.shape_of(known))
            })
            .collect();
        // a slope of one number may have more axes than the scaled operand
        let rank = if function == E::PRelu {
            shapes[0].len()
        } else {
            shapes.iter().map(Vec::len).max().unwrap_or(0)
        };
        // the slopes of a PRelu may stand along axis 1
        let by_channel = |port: usize| function == E::PRelu && port == 1 && shapes[port].len() == 1;
        let aligned = |port: usize, axis: usize| axis + rank.saturating_sub(shapes[port].len());
        let OpenOperand { port, length, axis } = open[0];
        let along = aligned(port, axis);
        for (port, shape) in shapes.iter().enumerate() {
            match open.iter().find(|operand| operand.port == port) {
                Some(_) if by_channel(port) => return Err("slopes whose number only a call knows"),
                Some(other)
                    if other.length.count != length.count || aligned(port, other.axis) != along =>
                {
                    return Err(
                        "outputs of loops that end by their conditions, with parts that are \
                         counted apart",
                    );
                }
                Some(_) => {}
                None => {
                    let start = if by_channel(port) && rank > 1 && shapes[0][1] == shape[0] {
                        1
                    } else {
                        rank.saturating_sub(shape.len())
                    };
                    let size = along.checked_sub(start).and_then(|at| shape.get(at));
                    if size.is_some_and(|&size| size != 1) {
                        return Err(
                            "a fixed number of elements, one for each part of an output of a loop \
                                    that ends by its condition: how many parts it has only a call \
                                    knows",
                        );
                    }
                }
            }
        }
        Ok(along)
    }

    /// Adds, for outputs with a dynamic length, the outputs NAME_len and NAME_truncated.
    pub(super) fn add_length_outputs(&mut self) {
        for at in 0..self.core.model.results.len() {
            let result = &self.core.model.results[at];
            let Source::Value(value) = result.source else { continue };
            let Some(length) = self.core.facts.lengths.get(&value) else { continue };
            let output = |suffix: &str, element, source| ResultValue {
                names: result.names.iter().map(|name| format!("{name}_{suffix}")).collect(),
                shape: Vec::new(),
                element,
                source,
                parts: None,
            };
            let len = length.parts_along.map(|_| output("len", ElementType::I64, length.count));
            let truncated =
                length.truncated.map(|source| output("truncated", ElementType::Bool, source));
            if length.parts_along == Some(0) {
                self.core.model.results[at].parts = Some(self.core.model.results.len());
            }
            self.core.model.results.extend(len.into_iter().chain(truncated));
        }
    }
}
