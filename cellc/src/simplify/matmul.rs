//! Products of matrices.

use super::translator::Translator;
use crate::core::{
    CoreOp, Dense, Geometry, Known, MatMul, Source, WeightSource, broadcast, broadcast_strides,
    fold, signed, strides,
};
use crate::encoding::WeightFormat;
use crate::model::{Node, Tensor};

/// The most matrices of a constant that become dense layers: each layer has code of its own.
const MOST_MATRICES: usize = 32;

/// Largest product of two constants computed at every step. Such a product shows the user a
/// recurrent layer that starts anew; larger products would take too long.
const MOST_REPEATED: usize = 1 << 24;

/// A factor as a matrix, or many: a vector is a row on the left, a column on the right.
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

    /// The transposed factor.
    fn turned(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Elements between matrices by dimension of a batch, between rows and between columns.
    fn strides(&self, batch: &[usize]) -> Vec<isize> {
        let own = strides(&self.shape);
        let outer = self.shape.len() - 2;
        let matrix = if self.transposed {
            [own[outer + 1], own[outer]]
        } else {
            [own[outer], own[outer + 1]]
        };
        let size = self.shape[outer] * self.shape[outer + 1];
        let of_batch =
            broadcast_strides(self.batch(), batch).into_iter().map(|stride| stride * size);
        signed(of_batch.chain(matrix).collect())
    }

    /// True for a constant of a few matrices.
    fn is_a_few_constants(&self) -> bool {
        self.known.tensor().is_some() && self.matrices() <= MOST_MATRICES
    }

    fn matrices(&self) -> usize {
        self.batch().iter().product()
    }

    /// The constant as one matrix, unchanged.
    fn matrix(&self) -> Option<Tensor> {
        let tensor = self.known.tensor()?;
        let one = self.batch().iter().all(|&size| size == 1);
        if one { tensor.part(0, self.shape[self.shape.len() - 2..].to_vec()) } else { None }
    }
}

impl<'a> Translator<'_, 'a> {
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
        let (a, b, batch) = self.factors(node, inputs, [transpose_a, transpose_b])?;
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
            self.folding(node, products)?;
            return self.product_of_constants(node, &a, &b, &batch, shape);
        }
        self.computable(node, &shape)?;
        // only dense layers have weights of fewer bits and integer arithmetic
        let as_layers =
            self.subject.options.numerics.precision_in(&node.name).stored() != WeightFormat::F32;
        if let Some(w) = b.matrix() {
            // b is one matrix, so the rows of all matrices of a are rows of one matrix
            let rows = batch.iter().product::<usize>() * rows;
            let x = if a.transposed { self.matrices(node, &a, a.batch())? } else { a.known };
            let chains = Dense::chains(inner, columns);
            return self.dense(
                node,
                &x,
                (&w, b.transposed),
                ([rows, inner, columns], chains),
                shape,
            );
        }
        // if columns are steps, one step is computed in the same way as several steps
        let is_vector = columns == 1 && (b.vector || self.inputs.open.is_none());
        if let Some(w) = a.matrix().filter(|_| is_vector) {
            // (W x)' = x' W'
            let count = batch.iter().product();
            let chains = Dense::chains(inner, rows);
            return self.dense(
                node,
                &b.known,
                (&w, !a.transposed),
                ([count, inner, rows], chains),
                shape,
            );
        }
        if as_layers && b.is_a_few_constants() {
            let product =
                self.matrix_by_matrix(node, &a, &b, &batch, ([rows, inner, columns], as_layers))?;
            return self.view(node, &product, Geometry::reshaped(shape));
        }
        if (as_layers || self.inputs.open.is_some()) && a.is_a_few_constants() {
            // (W X)' = X' W'
            let sizes = [columns, inner, rows];
            let turned =
                self.matrix_by_matrix(node, &b.turned(), &a.turned(), &batch, (sizes, as_layers))?;
            let turned = Factor {
                known: turned,
                shape: [&batch[..], &[columns, rows]].concat(),
                transposed: true,
                vector: false,
            };
            let product = self.matrices(node, &turned, &batch)?;
            return self.view(node, &product, Geometry::reshaped(shape));
        }
        let constants = [&a, &b].into_iter().find(|factor| factor.known.tensor().is_some());
        if constants.is_some_and(|factor| factor.matrices() > MOST_MATRICES) {
            self.core.model.in_f32.push((node.name.clone(), "more than 32 constant matrices"));
        }
        let product = self.both_computed(node, &a, &b, &batch, [rows, inner, columns], shape);
        Some(Known::Source(product?, element))
    }

    /// The factors of a product, and the common batch of their matrices. `None` after an error.
    fn factors(
        &mut self,
        node: &Node,
        inputs: &[Known],
        [transpose_a, transpose_b]: [bool; 2],
    ) -> Option<(Factor, Factor, Vec<usize>)> {
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| self.shape_of(input)).collect();
        let valid = "a [.., M, K] and b [.., K, N], the dimensions before them broadcast";
        let help = "transpose or reshape one of them";
        if shapes.iter().any(Vec::is_empty) {
            self.shapes_differ(node, &shapes, valid, help);
            return None;
        }
        self.all_floats(node, inputs)?;
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
            self.shapes_differ(node, &shapes, valid, help);
            return None;
        };
        Some((a, b, batch))
    }

    /// The product of two constants, computed when compiling.
    fn product_of_constants(
        &mut self,
        node: &Node,
        a: &Factor,
        b: &Factor,
        batch: &[usize],
        shape: Vec<usize>,
    ) -> Option<Known> {
        let element = a.known.element();
        let ((rows, inner), (_, columns)) = (a.rows_and_columns(), b.rows_and_columns());
        self.foldable(node, &shape, element)?;
        // the strides of the batch, the rows and the columns, then of the summed dimension
        let (mut of_a, mut of_b) = (a.strides(batch), b.strides(batch));
        let along = [of_a.pop()?, of_b.remove(batch.len())];
        of_a.push(0);
        of_b.insert(batch.len(), 0);
        let walked = fold::Product {
            shape: [batch, &[rows, columns]].concat(),
            strides: of_a.into_iter().zip(of_b).map(|(a, b)| [a, b]).collect(),
            inner,
            along,
        };
        Some(Known::Constant(
            fold::product([a.known.tensor()?, b.known.tensor()?], &walked, shape),
            element,
        ))
    }

    fn dense(
        &mut self,
        node: &'a Node,
        x: &Known,
        (w, transposed): (&Tensor, bool),
        ([rows, inputs, outputs], chains): ([usize; 3], usize),
        shape: Vec<usize>,
    ) -> Option<Known> {
        let element = x.element();
        let x = self.source(x)?;
        let w = WeightSource::Constant(self.intern(w));
        let out = self.value(shape);
        self.steps.layers.insert(out, node);
        self.emit(
            node,
            CoreOp::Dense(Dense { rows, inputs, outputs, x, w, transposed, chains, out }),
        );
        Some(Known::Source(Source::Value(out), element))
    }

    /// The products `[batch.., rows, columns]` of x and several constant matrices, each a dense
    /// layer.
    fn matrix_by_matrix(
        &mut self,
        node: &'a Node,
        x: &Factor,
        w: &Factor,
        batch: &[usize],
        ([rows, inner, columns], in_chains): ([usize; 3], bool),
    ) -> Option<Known> {
        let tensor = w.known.tensor()?;
        let matrix = &w.shape[w.batch().len()..];
        let of_w = broadcast_strides(w.batch(), batch);
        // the constant has several matrices along some dimensions; it is broadcast along others
        let (batched, along): (Vec<usize>, Vec<usize>) =
            (0..batch.len()).partition(|&d| of_w[d] > 0);
        let sizes = |dims: &[usize]| dims.iter().map(|&d| batch[d]).collect::<Vec<_>>();
        let (of_parts, of_rows) = (sizes(&batched), sizes(&along));
        let of_x = x.strides(batch);
        let part_strides = strides(&of_parts);
        let mut parts = Vec::new();
        for part in 0..of_parts.iter().product() {
            let place = |(k, &d): (usize, &usize)| {
                (part / part_strides[k] % of_parts[k]) as isize * of_x[d]
            };
            let geometry = Geometry {
                offset: batched.iter().enumerate().map(place).sum::<isize>() as usize,
                strides: along
                    .iter()
                    .map(|&d| of_x[d])
                    .chain(of_x[batch.len()..].iter().copied())
                    .collect(),
                shape: [&of_rows[..], &[rows, inner]].concat(),
            };
            let x = self.view(node, &x.known, geometry)?;
            let w_matrix = tensor.part(part * matrix[0] * matrix[1], matrix.to_vec())?;
            let size = [of_rows.iter().product::<usize>() * rows, inner, columns];
            let shape = [&of_rows[..], &[rows, columns]].concat();
            let chains = if in_chains { Dense::chains(inner, columns) } else { 1 };
            parts.push(self.dense(node, &x, (&w_matrix, w.transposed), (size, chains), shape)?);
        }
        // the columns of all matrices become the columns of one matrix
        let together = self.put_together(node, &parts, of_rows.len() as i64 + 1)?;
        let own = signed(strides(&[&of_rows[..], &[rows], &of_parts, &[columns]].concat()));
        let order = along.into_iter().chain([batch.len()]).chain(batched).chain([batch.len() + 1]);
        let mut strides = own.clone();
        for (d, stride) in order.zip(own) {
            strides[d] = stride;
        }
        self.view(
            node,
            &together,
            Geometry { offset: 0, strides, shape: [batch, &[rows, columns]].concat() },
        )
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
        // one matrix on the right: all rows on the left are rows of one matrix
        let (of_a, of_b) = if one { (a.batch(), b.batch()) } else { (batch, batch) };
        let (batch, rows) = if one { (1, count * rows) } else { (count, rows) };
        let (a, b) = (self.matrices(node, a, of_a)?, self.matrices(node, b, of_b)?);
        let (a, b) = (self.source(&a)?, self.source(&b)?);
        let out = self.value(shape);
        self.emit(node, CoreOp::MatMul(MatMul { batch, rows, inner, columns, a, b, out }));
        Some(Source::Value(out))
    }

    /// A factor in C order, transposed if asked, broadcast to a batch.
    fn matrices(&mut self, node: &Node, factor: &Factor, batch: &[usize]) -> Option<Known> {
        let (rows, columns) = factor.rows_and_columns();
        if !factor.transposed && factor.batch() == batch {
            return Some(factor.known.clone());
        }
        let shape = [batch, &[rows, columns]].concat();
        let geometry = Geometry { offset: 0, strides: factor.strides(batch), shape };
        self.view(node, &factor.known, geometry)
    }
}
