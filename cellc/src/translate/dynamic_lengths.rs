//! Tensors with a run-time length: outputs of loops that end by a condition, Ranges and Slices with
//! computed limits. A tensor has the largest length; the elements behind the run-time length are
//! zero or undefined.

use super::convolution::convolution_of_open_length;
use super::normalize::normalizes_inside;
use super::operands::Operands;
use super::parts::{Lengthened, OpenOperand, sizes_at_run_time};
use super::prefixes::{axis_of_product, product_over_parts};
use super::refusal::{Refusal, Rule};
use super::translator::Translator;
use crate::core::{CoreBuilder, Divider, DynamicLength, Known, ResultValue, Source, axis_index};
use crate::model::{Axes, ElementType, Elementwise, Node, Primitive};

/// The advice for a run-time Range that serves as a mask of lengths.
pub(super) const COUNT_ALL: &str = "where it makes a mask of lengths, count all steps of x: \
    torch.arange(x.shape[1]) for torch.arange(lengths.max()), \
    tf.sequence_mask(lengths, x.shape[1]) for tf.sequence_mask(lengths)";

/// The advice for a Slice that cuts steps off at a run-time length.
const MASK_STEPS: &str = "keep all steps of x, and mask those behind the lengths: \
    x.masked_fill(torch.arange(x.shape[1]) >= lengths[:, None], 0) for x[:, :lengths.max()]";

impl<'a> Translator<'_, 'a> {
    /// Notes the run-time length of the outputs of an operation, if an operand has a run-time
    /// length. Refuses operations that would read the elements behind this length. True if the node
    /// needs no further translation.
    pub(super) fn note_dynamic_length(&mut self, node: &'a Node) -> bool {
        let args = self.operands(node);
        let open = open_operands(&self.core, &args);
        let Some(&first @ OpenOperand { port, length, axis }) = open.first() else { return false };
        let passed_on = match node.op.facts().axes {
            Axes::Same => {
                self.current_length = Some(length);
                return false;
            }
            Axes::Sizes => {
                let sizes = self.build(node, |core| sizes_at_run_time(core, &args, length, axis));
                sizes.into_iter().for_each(|sizes| self.set(node, 0, sizes));
                return true;
            }
            Axes::Reduced if port == 0 => return false,
            Axes::Broadcast(function) => {
                let axis = axis_of_elements(&self.core, &args, function, &open);
                if let Err(found) = axis {
                    self.refuse_elements(node, length, found);
                    return true;
                }
                axis.ok()
            }
            // `softmax` replaces the elements behind the run-time length by minus infinity
            Axes::Softmax => Some(axis),
            Axes::Normalized(normalization) if open.len() == 1 && port == 0 => {
                normalizes_inside(&self.core, &args, normalization, axis).then_some(axis)
            }
            Axes::Convolved(convolution) if open.len() == 1 && port == 0 => {
                let y = self.build(node, |core| {
                    convolution_of_open_length(core, &args, convolution, length, axis)
                });
                return self.set_lengthened(node, length, y);
            }
            Axes::Product { transpose_a, transpose_b } => {
                let transposed = [transpose_a, transpose_b];
                let axis = (open.len() == 1)
                    .then(|| axis_of_product(&self.core, &args, first, transposed[port]))
                    .flatten();
                if axis.is_none() {
                    self.set_product_over_parts(node, &args, &open, transposed);
                    return true;
                }
                axis
            }
            Axes::Indexed { .. } | Axes::Inserted | Axes::Removed | Axes::Permuted
                if open.len() == 1 =>
            {
                let Some(axis) = self.build(node, |core| moved_axis(core, &args, first)) else {
                    return true;
                };
                axis
            }
            _ => None,
        };
        match passed_on {
            Some(axis) => self.pass_length(length, axis),
            None => self.refuse_dynamic_length(node, length),
        }
        passed_on.is_none()
    }

    /// Sets the output of a matrix product that sums along the run-time length of its operands.
    fn set_product_over_parts(
        &mut self,
        node: &'a Node,
        args: &Operands,
        open: &[OpenOperand],
        transposed: [bool; 2],
    ) {
        match self.build(node, |core| product_over_parts(core, args, open, transposed)) {
            Some(Some(y)) => self.set(node, 0, y),
            Some(None) => self.refuse_dynamic_length(node, open[0].length),
            None => {}
        }
    }

    /// Sets the output of a node that computes a new run-time length. `Some(None)` as output: the
    /// node would read elements behind the length of its operand. Returns true.
    fn set_lengthened(
        &mut self,
        node: &'a Node,
        length: DynamicLength,
        output: Option<Option<Lengthened>>,
    ) -> bool {
        match output {
            Some(Some(Lengthened { known, length })) => {
                self.current_length = Some(length);
                self.set(node, 0, known);
            }
            Some(None) => self.refuse_dynamic_length(node, length),
            None => {}
        }
        true
    }

    /// Notes that the outputs of the current operation have the run-time length of an operand,
    /// along `axis`. The elements behind this length are undefined.
    fn pass_length(&mut self, length: DynamicLength, axis: usize) {
        let length = DynamicLength { parts_along: Some(axis), is_zero: false, ..length };
        self.current_length = Some(length);
    }

    /// Refuses an element-wise operation whose operands have different lengths, at least one known
    /// only at run time.
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

    /// Refuses an operation that would read the elements behind the run-time length.
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

    /// Refuses results of a body that have a run-time length. `None` after an error.
    pub(super) fn refuse_dynamic_lengths(
        &mut self,
        node: &'a Node,
        results: &[Known],
    ) -> Option<()> {
        let open = results.iter().find_map(|known| {
            self.core.facts.dynamic_length(known).filter(|length| length.parts_along.is_some())
        });
        match open {
            Some(length) => {
                self.refuse_dynamic_length(node, length);
                None
            }
            None => Some(()),
        }
    }

    /// Adds the output NAME_len for outputs with an axis of run-time length, and NAME_truncated for
    /// outputs of loops that the limit of the options may cut off.
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

/// The operands of a node that have a run-time length.
fn open_operands(core: &CoreBuilder, args: &Operands) -> Vec<OpenOperand> {
    let open = |port: usize| {
        let length = core.facts.dynamic_length(args.known(port)?)?;
        Some(OpenOperand { port, length, axis: length.parts_along? })
    };
    (0..args.len()).filter_map(open).collect()
}

/// The axis with the run-time length in the output of an operation that moves elements. `Ok(None)`
/// if no single axis of the output has the length.
fn moved_axis(
    core: &CoreBuilder,
    args: &Operands,
    OpenOperand { port, axis: along, .. }: OpenOperand,
) -> Rule<Option<usize>> {
    let rank = core.shape_of(&args.get(0)?).len();
    match args.node.op.facts().axes {
        Axes::Indexed { batch_dims: 0 } if port == 1 => {
            let axis = axis_index(args.integer(2, "the axis")?, rank);
            Ok(axis.map(|axis| axis + along))
        }
        Axes::Inserted => {
            let axes = args.integers(1, "the axes")?;
            let rank = rank + axes.len();
            let added: Option<Vec<usize>> =
                axes.iter().map(|&axis| axis_index(axis, rank)).collect();
            let kept = |added: Vec<usize>| (0..rank).filter(move |axis| !added.contains(axis));
            Ok(added.and_then(|added| kept(added).nth(along)))
        }
        Axes::Removed if args.len() > 1 => {
            let axes = args.integers(1, "the axes")?;
            let removed: Option<Vec<usize>> =
                axes.iter().map(|&axis| axis_index(axis, rank)).collect();
            let keeps = |removed: &Vec<usize>| !removed.is_empty() && !removed.contains(&along);
            Ok(removed
                .filter(keeps)
                .map(|removed| along - removed.iter().filter(|&&axis| axis < along).count()))
        }
        Axes::Permuted => {
            let order = args.integers(1, "the order")?;
            Ok(match order.is_empty() {
                true => Some(rank - 1 - along),
                false => order.iter().position(|&axis| axis_index(axis, rank) == Some(along)),
            })
        }
        _ => Ok(None),
    }
}

/// The shapes of the operands of an element-wise operation, aligned at the last axis.
struct Aligned {
    shapes: Vec<Vec<usize>>,
    /// The rank of the output.
    rank: usize,
    /// The index of the operand that may lie along axis 1: the slopes of a PRelu.
    slopes: Option<usize>,
}

impl Aligned {
    fn new(core: &CoreBuilder, args: &Operands, function: Elementwise) -> Self {
        let shape = |port: usize| args.known(port).map_or(Vec::new(), |known| core.shape_of(known));
        let shapes: Vec<Vec<usize>> = (0..args.len()).map(shape).collect();
        let is_prelu = function == Primitive::PRelu.into();
        let slopes = (is_prelu && shapes[1].len() == 1).then_some(1);
        // a slope of one number may have more axes than the scaled operand
        let rank = match is_prelu {
            true => shapes[0].len(),
            false => shapes.iter().map(Vec::len).max().unwrap_or(0),
        };
        Self { shapes, rank, slopes }
    }

    /// The axis of the output to which the first axis of an operand belongs.
    fn first_axis(&self, port: usize) -> usize {
        let shape = &self.shapes[port];
        let is_by_channel =
            self.slopes == Some(port) && self.rank > 1 && self.shapes[0][1] == shape[0];
        if is_by_channel { 1 } else { self.rank.saturating_sub(shape.len()) }
    }

    /// The axis of the output to which an axis of an operand belongs, aligned at the last axis.
    fn axis(&self, port: usize, axis: usize) -> usize {
        axis + self.rank.saturating_sub(self.shapes[port].len())
    }

    /// The size of an operand along an axis of the output. `None` if the operand has no such axis.
    fn size(&self, port: usize, axis: usize) -> Option<usize> {
        self.shapes[port].get(axis.checked_sub(self.first_axis(port))?).copied()
    }
}

/// The axis with the run-time length in the output of an element-wise operation.
///
/// # Errors
/// The operands whose lengths differ, in words.
fn axis_of_elements(
    core: &CoreBuilder,
    args: &Operands,
    function: Elementwise,
    open: &[OpenOperand],
) -> Result<usize, &'static str> {
    let aligned = Aligned::new(core, args, function);
    let OpenOperand { port, length, axis } = open[0];
    let along = aligned.axis(port, axis);
    for port in 0..args.len() {
        let Some(other) = open.iter().find(|operand| operand.port == port) else {
            if aligned.size(port, along).is_some_and(|size| size != 1) {
                return Err(
                    "a fixed number of elements, one for each part of an output of a loop \
                    that ends by its condition: how many parts it has only a call knows",
                );
            }
            continue;
        };
        if aligned.slopes == Some(port) {
            return Err("slopes whose number only a call knows");
        }
        if other.length.count != length.count || aligned.axis(port, other.axis) != along {
            return Err("outputs of loops that end by their conditions, with parts that are \
                counted apart");
        }
    }
    Ok(along)
}
