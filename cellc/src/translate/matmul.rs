//! Translation of matrix products.

use super::layout::concats::put_together;
use super::operands::{all_floats, shapes_differ};
use super::refusal::Rule;
use crate::core::CoreBuilder;
use crate::core::{
    CoreOp, Dense, Geometry, Known, MatMul, Source, WeightSource, broadcast, broadcast_strides,
    fold, signed, strides,
};
use crate::model::Tensor;

/// The most matrices of a constant that become dense layers. Each dense layer has code of its own.
const MOST_MATRICES: usize = 32;

/// Largest product of two constants, in multiply-adds, that stays an operation: checks of states
/// recognise a recurrent layer that starts every call anew by its product of constants. Larger
/// products are folded.
const MOST_REPEATED: usize = 1 << 24;

/// A factor as one or many matrices. A vector on the left is one row, a vector on the right is one
/// column.
struct Factor {
    known: Known,
    /// `[.., rows, columns]`, before a transposition.
    shape: Vec<usize>,
    /// True for a transposed factor.
    transposed: bool,
    vector: bool,
}

impl Factor {
    /// The sizes of the batch of matrices.
    fn batch(&self) -> &[usize] {
        &self.shape[..self.shape.len() - 2]
    }

    fn rows_and_columns(&self) -> (usize, usize) {
        match self.shape[self.shape.len() - 2..] {
            [rows, columns] if self.transposed => (columns, rows),
            [rows, columns] => (rows, columns),
            _ => (1, 1),
        }
    }

    /// The factor, transposed.
    fn transpose(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// The strides of the factor: along the dimensions of the batch, along rows and along columns.
    fn distances(&self, batch: &[usize]) -> Vec<isize> {
        let row_major = strides(&self.shape);
        let outer = self.shape.len() - 2;
        let matrix = if self.transposed {
            [row_major[outer + 1], row_major[outer]]
        } else {
            [row_major[outer], row_major[outer + 1]]
        };
        let size = self.shape[outer] * self.shape[outer + 1];
        let of_batch =
            broadcast_strides(self.batch(), batch).into_iter().map(|stride| stride * size);
        signed(of_batch.chain(matrix).collect())
    }

    /// True for a constant of at most [`MOST_MATRICES`] matrices.
    fn is_a_few_constants(&self) -> bool {
        self.known.tensor().is_some() && self.matrices() <= MOST_MATRICES
    }

    /// The tensor of a constant factor.
    fn tensor(&self) -> &Tensor {
        self.known.tensor().expect("translate: the factor is constant")
    }

    fn matrices(&self) -> usize {
        self.batch().iter().product()
    }

    /// The constant as one matrix, not transposed. `None` for computed factors and for several
    /// matrices.
    fn matrix(&self) -> Option<Tensor> {
        let tensor = self.known.tensor()?;
        let one = self.batch().iter().all(|&size| size == 1);
        if one { tensor.part(0, self.shape[self.shape.len() - 2..].to_vec()) } else { None }
    }
}

/// The product of two tensors of matrices.
pub(super) fn product(
    core: &mut CoreBuilder,
    inputs: &[Known],
    transpose_a: bool,
    transpose_b: bool,
) -> Rule<Known> {
    let Factors { a, b, batch } = factors(core, inputs, [transpose_a, transpose_b])?;
    let ((rows, inner), (_, columns)) = (a.rows_and_columns(), b.rows_and_columns());
    let mut shape = batch.clone();
    shape.extend((!a.vector).then_some(rows));
    shape.extend((!b.vector).then_some(columns));
    let element = inputs[0].element();
    let products = batch
        .iter()
        .chain(&[rows, inner, columns])
        .fold(1, |n: usize, &size| n.saturating_mul(size));
    if products > MOST_REPEATED && a.known.tensor().is_some() && b.known.tensor().is_some() {
        core.folding(products)?;
        return product_of_constants(core, &a, &b, &batch, shape);
    }
    core.computable(&shape)?;
    // only dense layers have quantised weights and integer arithmetic, so quantised constants
    // become dense layers
    let as_layers = core.layer.is_quantised;
    if let Some(w) = b.matrix() {
        // b is one matrix, so the rows of all matrices of a are rows of one matrix
        let rows = batch.iter().product::<usize>() * rows;
        let x = if a.transposed { matrices(core, &a, a.batch())? } else { a.known };
        let chains = Dense::chains(inner, columns);
        return dense(core, &x, (&w, b.transposed), ([rows, inner, columns], chains), shape);
    }
    // in a model of one step, the column may be one of many in the model of all steps, and must
    // have the bits that a product with many columns gives
    let is_vector = columns == 1 && (b.vector || !core.is_one_step);
    if let Some(w) = a.matrix().filter(|_| is_vector) {
        // (W x)' = x' W'
        let count = batch.iter().product();
        let chains = Dense::chains(inner, rows);
        return dense(core, &b.known, (&w, !a.transposed), ([count, inner, rows], chains), shape);
    }
    if as_layers && b.is_a_few_constants() {
        let product = matrix_by_matrix(core, &a, &b, &batch, ([rows, inner, columns], as_layers))?;
        return Ok(core.view(&product, Geometry::reshaped(shape))?);
    }
    if (as_layers || core.is_one_step) && a.is_a_few_constants() {
        // (W X)' = X' W'
        let sizes = [columns, inner, rows];
        let turned =
            matrix_by_matrix(core, &b.transpose(), &a.transpose(), &batch, (sizes, as_layers))?;
        let turned = Factor {
            known: turned,
            shape: [&batch[..], &[columns, rows]].concat(),
            transposed: true,
            vector: false,
        };
        let product = matrices(core, &turned, &batch)?;
        return Ok(core.view(&product, Geometry::reshaped(shape))?);
    }
    let constants = [&a, &b].into_iter().find(|factor| factor.known.tensor().is_some());
    if constants.is_some_and(|factor| factor.matrices() > MOST_MATRICES) {
        core.model.in_f32.push((core.layer.path, "more than 32 constant matrices"));
    }
    let product = both_computed(core, &a, &b, &batch, [rows, inner, columns], shape);
    Ok(Known::Source(product?, element))
}

/// The factors of a product.
struct Factors {
    a: Factor,
    b: Factor,
    /// The common batch of both factors.
    batch: Vec<usize>,
}

/// The factors of a product.
fn factors(
    core: &mut CoreBuilder,
    inputs: &[Known],
    [transpose_a, transpose_b]: [bool; 2],
) -> Rule<Factors> {
    let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| core.shape_of(input)).collect();
    let valid = "a [.., M, K] and b [.., K, N], the dimensions before them broadcast";
    let help = "transpose or reshape one of them";
    if shapes.iter().any(Vec::is_empty) {
        return Err(shapes_differ(&shapes, valid, help));
    }
    all_floats(inputs)?;
    let factor = |i: usize, transposed: bool, as_matrix: fn(usize) -> Vec<usize>| {
        let known = inputs[i].clone();
        match shapes[i][..] {
            [n] => Factor { known, shape: as_matrix(n), transposed: false, vector: true },
            _ => Factor { known, shape: shapes[i].clone(), transposed, vector: false },
        }
    };
    let a = factor(0, transpose_a, |n| vec![1, n]);
    let b = factor(1, transpose_b, |n| vec![n, 1]);
    let ((_, inner), (b_rows, _)) = (a.rows_and_columns(), b.rows_and_columns());
    let batch = broadcast([a.batch(), b.batch()]).filter(|_| inner == b_rows);
    let Some(batch) = batch else {
        return Err(shapes_differ(&shapes, valid, help));
    };
    Ok(Factors { a, b, batch })
}

/// The product of two constants, computed when compiling.
fn product_of_constants(
    core: &mut CoreBuilder,
    a: &Factor,
    b: &Factor,
    batch: &[usize],
    shape: Vec<usize>,
) -> Rule<Known> {
    let element = a.known.element();
    let ((rows, inner), (_, columns)) = (a.rows_and_columns(), b.rows_and_columns());
    core.foldable(&shape, element)?;
    // strides along the batch, the rows and the columns; `along` are the strides of the summed
    // dimension
    let (mut of_a, mut of_b) = (a.distances(batch), b.distances(batch));
    let along = [of_a.remove(batch.len() + 1), of_b.remove(batch.len())];
    of_a.push(0);
    of_b.insert(batch.len(), 0);
    let walked = fold::Product {
        shape: [batch, &[rows, columns]].concat(),
        strides: of_a.into_iter().zip(of_b).map(|(a, b)| [a, b]).collect(),
        inner,
        along,
    };
    Ok(Known::Constant(fold::product([a, b].map(Factor::tensor), &walked, shape), element))
}

fn dense(
    core: &mut CoreBuilder,
    x: &Known,
    (w, transposed): (&Tensor, bool),
    ([rows, inputs, outputs], chains): ([usize; 3], usize),
    shape: Vec<usize>,
) -> Rule<Known> {
    let element = x.element();
    let x = core.source(x)?;
    let w = WeightSource::Constant(core.intern(w));
    let out = core.value(shape);
    core.emit(CoreOp::Dense(Dense { rows, inputs, outputs, x, w, transposed, chains, out }));
    Ok(Known::Source(Source::Value(out), element))
}

/// The products `[batch.., rows, columns]` of x with several constant matrices: one dense layer for
/// each matrix.
fn matrix_by_matrix(
    core: &mut CoreBuilder,
    x: &Factor,
    w: &Factor,
    batch: &[usize],
    ([rows, inner, columns], in_chains): ([usize; 3], bool),
) -> Rule<Known> {
    let tensor = w.tensor();
    let matrix = &w.shape[w.batch().len()..];
    let of_w = broadcast_strides(w.batch(), batch);
    // the constant has several matrices along the dimensions `batched`, and broadcasts along the
    // other ones
    let (batched, along): (Vec<usize>, Vec<usize>) = (0..batch.len()).partition(|&d| of_w[d] > 0);
    let sizes = |dims: &[usize]| dims.iter().map(|&d| batch[d]).collect::<Vec<_>>();
    let (of_parts, of_rows) = (sizes(&batched), sizes(&along));
    let of_x = x.distances(batch);
    let part_strides = strides(&of_parts);
    let mut parts = Vec::new();
    for part in 0..of_parts.iter().product() {
        let offset =
            |(k, &d): (usize, &usize)| (part / part_strides[k] % of_parts[k]) as isize * of_x[d];
        let geometry = Geometry {
            offset: batched.iter().enumerate().map(offset).sum::<isize>() as usize,
            strides: along
                .iter()
                .map(|&d| of_x[d])
                .chain(of_x[batch.len()..].iter().copied())
                .collect(),
            shape: [&of_rows[..], &[rows, inner]].concat(),
        };
        let x = core.view(&x.known, geometry)?;
        let w_matrix = tensor.part(part * matrix[0] * matrix[1], matrix.to_vec());
        let w_matrix = w_matrix.expect("translate: a part of a tensor of matrices");
        let size = [of_rows.iter().product::<usize>() * rows, inner, columns];
        let shape = [&of_rows[..], &[rows, columns]].concat();
        let chains = if in_chains { Dense::chains(inner, columns) } else { 1 };
        parts.push(dense(core, &x, (&w_matrix, w.transposed), (size, chains), shape)?);
    }
    // the products are concatenated along columns, then viewed with the batch in front
    let together = put_together(core, &parts, of_rows.len() + 1)?;
    let row_major = signed(strides(&[&of_rows[..], &[rows], &of_parts, &[columns]].concat()));
    let order = along.into_iter().chain([batch.len()]).chain(batched).chain([batch.len() + 1]);
    let mut strides = row_major.clone();
    for (d, stride) in order.zip(row_major) {
        strides[d] = stride;
    }
    Ok(core.view(
        &together,
        Geometry { offset: 0, strides, shape: [batch, &[rows, columns]].concat() },
    )?)
}

fn both_computed(
    core: &mut CoreBuilder,
    a: &Factor,
    b: &Factor,
    batch: &[usize],
    [rows, inner, columns]: [usize; 3],
    shape: Vec<usize>,
) -> Rule<Source> {
    let one = b.batch().iter().all(|&size| size == 1);
    let count: usize = batch.iter().product();
    // if the right factor is one matrix, the rows of all left matrices are the rows of one matrix
    let (of_a, of_b) = if one { (a.batch(), b.batch()) } else { (batch, batch) };
    let (batch, rows) = if one { (1, count * rows) } else { (count, rows) };
    let (a, b) = (matrices(core, a, of_a)?, matrices(core, b, of_b)?);
    let (a, b) = (core.source(&a)?, core.source(&b)?);
    let out = core.value(shape);
    core.emit(CoreOp::MatMul(MatMul { batch, rows, inner, columns, a, b, out }));
    Ok(Source::Value(out))
}

/// A factor as matrices in C order, transposed if [`Factor::transposed`], broadcast to a batch.
fn matrices(core: &mut CoreBuilder, factor: &Factor, batch: &[usize]) -> Rule<Known> {
    let (rows, columns) = factor.rows_and_columns();
    if !factor.transposed && factor.batch() == batch {
        return Ok(factor.known.clone());
    }
    let shape = [batch, &[rows, columns]].concat();
    let geometry = Geometry { offset: 0, strides: factor.distances(batch), shape };
    Ok(core.view(&factor.known, geometry)?)
}
