//! Products of matrices.

use super::shape::{Geometry, broadcast, broadcast_strides, strides};
use super::{Known, Validation};
use crate::model::{Dense, MatMul, Node, Source, Tensor, ValidOp, WeightSource};

/// A factor as a matrix, or many: a vector is a row on the left, a column on the right.
struct Factor {
    known: Known,
    /// `[.., rows, columns]` as it stands.
    shape: Vec<usize>,
    /// Whether rows are meant as columns.
    transposed: bool,
    vector: bool,
}

impl Factor {
    /// How many matrices, by dimension.
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

    /// The constant as one matrix, as it stands.
    fn matrix(&self) -> Option<Tensor> {
        let tensor = self.known.tensor()?;
        let one = self.batch().iter().all(|&size| size == 1);
        if one { tensor.part(0, self.shape[self.shape.len() - 2..].to_vec()) } else { None }
    }
}

impl<'a> Validation<'a> {
    pub(super) fn matmul(&mut self, node: &'a Node, transpose_a: bool, transpose_b: bool) {
        let Some(inputs) = self.inputs(node) else { return };
        if let Some(product) = self.product(node, &inputs, transpose_a, transpose_b) {
            self.set(node, 0, product);
        }
    }

    /// The product of two tensors of matrices.
    pub(super) fn product(
        &mut self,
        node: &'a Node,
        inputs: &[Known],
        transpose_a: bool,
        transpose_b: bool,
    ) -> Option<Known> {
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| self.shape_of(input)).collect();
        let valid = "a [.., M, K] and b [.., K, N], the dimensions before them broadcast";
        let help = "transpose or reshape one of them";
        if shapes.iter().any(Vec::is_empty) {
            self.shapes_differ(node, &shapes, valid, help);
            return None;
        }
        self.all_floats(node, inputs)?;
        let factor = |i: usize, transposed: bool, vector: fn(usize) -> Vec<usize>| match shapes[i][..] {
            [n] => Factor { known: inputs[i].clone(), shape: vector(n), transposed: false, vector: true },
            _ => Factor { known: inputs[i].clone(), shape: shapes[i].clone(), transposed, vector: false },
        };
        let a = factor(0, transpose_a, |n| vec![1, n]);
        let b = factor(1, transpose_b, |n| vec![n, 1]);
        let ((rows, inner), (b_rows, columns)) = (a.rows_and_columns(), b.rows_and_columns());
        let batch = broadcast([a.batch(), b.batch()]).filter(|_| inner == b_rows);
        let Some(batch) = batch else {
            self.shapes_differ(node, &shapes, valid, help);
            return None;
        };
        let mut shape = batch.clone();
        shape.extend((!a.vector).then_some(rows));
        shape.extend((!b.vector).then_some(columns));
        self.computable(node, &shape)?;
        let element = inputs[0].element();
        let product = if let Some(w) = b.matrix() {
            // b is one matrix: the batch is a's, and its rows are all rows
            let rows = batch.iter().product::<usize>() * rows;
            self.dense(node, &a, w, b.transposed, [rows, inner, columns], shape)
        } else if let Some(w) = a.matrix().filter(|_| columns == 1) {
            // (W x)' = x' W'
            let count = batch.iter().product();
            let a_transposed = a.transposed;
            self.dense(node, &Factor { transposed: false, ..b }, w, !a_transposed, [count, inner, rows], shape)
        } else {
            self.both_computed(node, &a, &b, &batch, [rows, inner, columns], shape)
        };
        Some(Known::Source(product?, element))
    }

    fn dense(
        &mut self,
        node: &'a Node,
        x: &Factor,
        w: Tensor,
        transposed: bool,
        [rows, inputs, outputs]: [usize; 3],
        shape: Vec<usize>,
    ) -> Option<Source> {
        let known = if x.transposed { self.matrices(node, x, x.batch())? } else { x.known.clone() };
        let x = self.source(&known)?;
        let w = WeightSource::Constant(self.intern(&w));
        let out = self.value(shape);
        self.layers.insert(out, node);
        let chains = Dense::chains(inputs, outputs);
        self.emit(node, ValidOp::Dense(Dense { rows, inputs, outputs, x, w, transposed, chains, out }));
        Some(Source::Value(out))
    }

    fn both_computed(
        &mut self,
        node: &Node,
        a: &Factor,
        b: &Factor,
        batch: &[usize],
        [rows, inner, columns]: [usize; 3],
        shape: Vec<usize>,
    ) -> Option<Source> {
        let one = b.batch().iter().all(|&size| size == 1);
        let count: usize = batch.iter().product();
        // one matrix on the right: all rows on the left are rows of one
        let (of_a, of_b) = if one { (a.batch(), b.batch()) } else { (batch, batch) };
        let (batch, rows) = if one { (1, count * rows) } else { (count, rows) };
        let (a, b) = (self.matrices(node, a, of_a)?, self.matrices(node, b, of_b)?);
        let (a, b) = (self.source(&a)?, self.source(&b)?);
        let out = self.value(shape);
        self.emit(node, ValidOp::MatMul(MatMul { batch, rows, inner, columns, a, b, out }));
        Some(Source::Value(out))
    }

    /// A factor in C order, transposed where that is meant, broadcast to a batch.
    fn matrices(&mut self, node: &Node, factor: &Factor, batch: &[usize]) -> Option<Known> {
        let (rows, columns) = factor.rows_and_columns();
        if !factor.transposed && factor.batch() == batch {
            return Some(factor.known.clone());
        }
        let own = strides(&factor.shape);
        let outer = factor.shape.len() - 2;
        let matrix = if factor.transposed { [own[outer + 1], own[outer]] } else { [own[outer], own[outer + 1]] };
        let size = factor.shape[outer] * factor.shape[outer + 1];
        let of_batch = broadcast_strides(factor.batch(), batch).into_iter().map(|stride| stride * size);
        let geometry = Geometry {
            offset: 0,
            strides: of_batch.chain(matrix).map(|stride| stride as isize).collect(),
            shape: [batch, &[rows, columns]].concat(),
        };
        self.view(node, &factor.known, geometry)
    }
}
