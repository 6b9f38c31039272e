//! The integers that a quantised model multiplies.

use super::matrices::{Matrix, matrices_of};
use super::ranges::{NumberRanges, SCALES};
use super::{Multiples, Precisions, Vector};
use crate::core::{CoreModel, CoreNode, PlannedProduct, WeightSource};
use crate::encoding::{Arithmetic, INT8_MOST, Stored, WeightFormat, scale_of_whole_numbers};
use crate::request::Numerics;

/// The storage of the matrices of one operation of a quantised model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// The storage that the options ask for.
    Asked,
    /// Integers of 8 bits, instead of the format that the options ask for.
    Integers,
    /// Integers of 8 bits times a scale for each row, instead of the format that the options ask
    /// for.
    Scaled,
}

/// The integers of one operation of a quantised model: its weights, x and h.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantised {
    /// The storage of the matrices.
    pub(super) weights: Storage,
    /// The quantisation of x. `None` if x is not quantised, or if a sum may exceed 32 bits.
    pub(super) x: Option<Multiples>,
    /// The quantisation of h, for cells of one step. `None` as for `x`.
    pub(super) h: Option<Multiples>,
    /// The number of weights.
    pub(super) count: usize,
}

impl Quantised {
    /// True if the matrices are stored in 8 bits, instead of the format that the options ask for.
    pub(super) fn is_stored(&self) -> bool {
        self.weights != Storage::Asked
    }

    /// True if the matrices are integers of 8 bits, and rows have no scales.
    pub(crate) fn has_integer_weights(&self) -> bool {
        self.weights == Storage::Integers
    }

    /// True if the products use scales other than 1, so that f32 products round differently.
    pub(crate) fn is_scaled(&self) -> bool {
        self.vectors().any(|v| !self.has_integer_weights() || v.scale != 1.0)
    }

    /// True if the matrices are stored in 8 bits, but the products are not
    /// [scaled](Self::is_scaled).
    pub(crate) fn is_stored_alone(&self) -> bool {
        self.is_stored() && !self.is_scaled()
    }

    /// True if x is quantised.
    pub(crate) fn has_x(&self) -> bool {
        self.x.is_some()
    }

    /// The quantised operands.
    fn vectors(&self) -> impl Iterator<Item = Multiples> {
        self.x.into_iter().chain(self.h)
    }

    /// The storage of the matrices.
    pub(super) fn format(&self) -> WeightFormat {
        match self.has_x() {
            false => WeightFormat::Int8,
            true if self.vectors().all(|v| v.in_bytes()) => WeightFormat::Int8Quad,
            true => WeightFormat::Int8Pair,
        }
    }

    /// The quantisation of an operand of length `len`, if `arithmetic` multiplies the model's
    /// integers.
    pub(super) fn in_arithmetic(
        &self,
        arithmetic: Arithmetic,
        vector: Vector,
        len: usize,
    ) -> Option<Multiples> {
        let model_scale = match vector {
            Vector::X => self.x,
            Vector::H => self.h,
        };
        model_scale.filter(|model_scale| {
            let in_quads = arithmetic.stored(WeightFormat::F32).in_word(len) == 4;
            let fits = |largest| {
                if in_quads { model_scale.in_bytes() } else { model_scale.magnitude() <= largest }
            };
            self.is_stored() || arithmetic.largest(len).is_some_and(fits)
        })
    }
}

/// The least number of weights of a model to store in 8 bits where the options do not ask for 8
/// bits. Models with fewer such weights keep the storage that the options ask for.
const LEAST_INTEGERS: usize = 256;

/// The operations that multiply integers of a quantised model, by their first value.
///
/// Matrices are stored in 8 bits if they are integers of 8 bits or, in a model with constants of 8
/// bits or with a quantised x, integers times a scale for each row. If x is quantised, the model's
/// integers are multiplied. A precision given for a layer prevails, and so do f32, f16 and bf16
/// given for all layers. Empty for a model with weights as inputs.
pub(super) fn quantised(
    model: &CoreModel,
    asked: &Numerics,
    precisions: &Precisions,
) -> Vec<(usize, Quantised)> {
    if model.parameters.iter().any(|parameter| parameter.weight) {
        // packing at run time stores f32, or integers with scales computed from the weights
        return Vec::new();
    }
    let analysis = Analysis { model, asked, precisions, numbers: NumberRanges::new(model) };
    let nodes = model.all_nodes().into_iter().filter(|node| node.op.has_precision());
    let each = |node: &CoreNode| {
        analysis.quantised(node).map(|quantised| (node.op.first_value(), quantised))
    };
    let mut quantised: Vec<_> = nodes.filter_map(each).collect();
    let count: usize = quantised
        .iter()
        .filter(|(_, quantised)| quantised.is_stored())
        .map(|(_, quantised)| quantised.count)
        .sum();
    if count < LEAST_INTEGERS {
        quantised.iter_mut().for_each(|(_, quantised)| quantised.weights = Storage::Asked);
    }
    quantised
}

/// The analysis of a model's products.
struct Analysis<'a> {
    model: &'a CoreModel,
    asked: &'a Numerics,
    /// The precisions that were asked for.
    precisions: &'a Precisions,
    numbers: NumberRanges<'a>,
}

impl Analysis<'_> {
    /// The integers of one operation. `None` if the operation has no constant matrix, a weight
    /// given at run time, or neither a matrix to store in 8 bits nor a quantised operand.
    fn quantised(&self, node: &CoreNode) -> Option<Quantised> {
        let matrices = matrices_of(self.model, node);
        if matrices.is_empty() || has_weights_at_run_time(node) {
            return None;
        }
        let [x, h] = self.operands(node, &matrices);
        let count = matrices.iter().map(|matrix| matrix.rows * matrix.columns).sum();
        let quantised = Quantised { weights: Storage::Asked, x, h, count };
        let quantised = Some(quantised).filter(|quantised| quantised.vectors().next().is_some());
        if matrices.iter().any(Matrix::is_windows) {
            // unless the options ask for integers, f32 multiplies the model's integers exactly
            return quantised;
        }
        let weights = if self.in_f32(node) { self.storage(&matrices) } else { Storage::Asked };
        let in_whole_numbers = x.is_some()
            && !is_h_needed(node, h)
            && self.may_be_integers(node)
            && matrices.iter().all(rows_are_multiples);
        match (weights, in_whole_numbers) {
            (Storage::Asked, true) => {
                quantised.map(|quantised| Quantised { weights: Storage::Scaled, ..quantised })
            }
            (_, true) => quantised.map(|quantised| Quantised { weights, ..quantised }),
            (Storage::Asked, false) => quantised,
            (_, false) => Some(Quantised { weights, x: None, h: None, count }),
        }
    }

    /// The storage in 8 bits if all weights stay exact, else the storage that the options ask for.
    /// Scales for each row need a model with constants of 8 bits.
    fn storage(&self, matrices: &[Matrix<'_>]) -> Storage {
        if matrices.iter().all(has_integers) {
            Storage::Integers
        } else if self.model.has_bytes && matrices.iter().all(has_scales) {
            Storage::Scaled
        } else {
            Storage::Asked
        }
    }

    /// The quantisation of x and of h, if no sum exceeds 32 bits.
    fn operands(&self, node: &CoreNode, matrices: &[Matrix<'_>]) -> [Option<Multiples>; 2] {
        let product = node.op.facts().product;
        let factors = [product.map(|product| product.x), product.and_then(|product| product.h)];
        let multiples = |source| {
            let (scale, [least, most], off) = self.numbers.multiples(source)?;
            Some(Multiples { scale, least, most, off })
        };
        let fit = |v: &Multiples| matrices.iter().all(|matrix| fits(matrix, *v));
        factors
            .map(|factor| factor.and_then(|factor| factor.source).and_then(multiples).filter(fit))
    }

    /// True if products are f32, and the options ask for no f32 format of the layer.
    fn in_f32(&self, node: &CoreNode) -> bool {
        let is_f32 = self.precisions.get(node.op.first_value()).arithmetic() == Arithmetic::F32;
        is_f32
            && self
                .asked
                .given_in(&node.name)
                .is_none_or(|given| given.arithmetic() != Arithmetic::F32)
    }

    /// True if the options do not name the layer, and ask for no precision or for integers.
    fn may_be_integers(&self, node: &CoreNode) -> bool {
        let is_named = self.asked.precision_of.iter().any(|(name, _)| *name == node.name);
        let is_integer = self.precisions.get(node.op.first_value()).arithmetic() != Arithmetic::F32;
        !is_named && (self.in_f32(node) || is_integer)
    }
}

/// True if a matrix or a bias of the operation is given at run time.
fn has_weights_at_run_time(node: &CoreNode) -> bool {
    let of_call = |source: &WeightSource| matches!(source, WeightSource::Parameter(_));
    node.op.facts().weights.iter().any(of_call)
}

/// True if a product of the operation multiplies an h that is not quantised, or `r * h`.
fn is_h_needed(node: &CoreNode, h: Option<Multiples>) -> bool {
    let Some(PlannedProduct::Cell(cell)) = node.op.planned() else { return false };
    h.is_none() || (0..cell.kind.gates()).any(|gate| cell.kind.multiplies_reset_h(gate))
}

/// True if no sum of products with an operand can exceed 32 bits, for weights of up to 127.
fn fits(matrix: &Matrix<'_>, operand: Multiples) -> bool {
    matrix.columns.saturating_mul(usize::from(operand.magnitude()) * INT8_MOST as usize)
        <= i32::MAX as usize
}

/// True if all elements are integers from -127 to 127.
fn has_integers(matrix: &Matrix<'_>) -> bool {
    let in_8_bits = |w: f32| w.fract() == 0.0 && w.abs() <= INT8_MOST;
    matrix.elements().all(|k| in_8_bits(matrix.tensor.get_f32(k)))
}

/// True if 8 bits and a scale hold every row exactly.
fn has_scales(matrix: &Matrix<'_>) -> bool {
    let is_exact = |row: Vec<f32>| Stored::new(WeightFormat::Int8, &row).exact(&row) == row.len();
    (0..matrix.rows).all(|row| is_exact(matrix.row(row)))
}

/// True if every row is zero, or consists of integers times a scale within [`SCALES`].
fn rows_are_multiples(matrix: &Matrix<'_>) -> bool {
    let has_scale = |row: &[f32]| SCALES.contains(&scale_of_whole_numbers(row));
    (0..matrix.rows)
        .map(|row| matrix.row(row))
        .all(|row| row.iter().all(|w| *w == 0.0) || has_scale(&row))
}
