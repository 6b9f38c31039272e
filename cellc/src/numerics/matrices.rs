//! The constant matrices of a model, and the errors of storing the matrices in other formats than
//! f32.

use std::fmt::{self, Display, Formatter};

use super::Precisions;
use crate::core::{CoreModel, CoreNode, CoreOp, FixedMatrices, PlannedProduct, WeightSource};
use crate::encoding::{Stored, WeightFormat};
use crate::model::Tensor;

/// A constant matrix of an operation.
pub(crate) struct Matrix<'a> {
    /// The operation.
    pub(crate) node: &'a CoreNode,
    /// The name of the matrix in messages: "W", "R", "the matrix" or "the weights".
    pub(crate) name: &'static str,
    /// The constant that contains the matrix.
    pub(crate) tensor: &'a Tensor,
    /// The index of the first element of the matrix in the constant.
    first: usize,
    /// The number of rows: units of a cell, outputs of a dense layer, or output channels of a
    /// depthwise convolution.
    pub(super) rows: usize,
    /// The number of columns: elements of x or h, or taps.
    pub(super) columns: usize,
    /// The distances, in elements, between rows and between columns.
    strides: [usize; 2],
}

impl Matrix<'_> {
    /// The indices of the matrix's elements in the tensor, row by row.
    pub(crate) fn elements(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows)
            .flat_map(move |row| (0..self.columns).map(move |column| self.at(row, column)))
    }

    /// The format in which the generated file stores the matrix.
    pub(crate) fn format(&self, precisions: &Precisions) -> WeightFormat {
        let precision = precisions.get(self.node.op.first_value());
        match self.is_windows() {
            true => precision.arithmetic().of_windows().stored(WeightFormat::F32),
            false => precision.stored(),
        }
    }

    /// True for the taps of a depthwise convolution, one row per channel.
    pub(super) fn is_windows(&self) -> bool {
        matches!(self.node.op, CoreOp::Convolve(_))
    }

    fn at(&self, row: usize, column: usize) -> usize {
        self.first + row * self.strides[0] + column * self.strides[1]
    }

    /// The elements of a row.
    pub(super) fn row(&self, row: usize) -> Vec<f32> {
        (0..self.columns).map(|column| self.tensor.get_f32(self.at(row, column))).collect()
    }
}

/// The constant matrices of products: W and R of each gate of a cell, the matrices of dense layers,
/// and the taps of depthwise convolutions. Matrices given at run time are left out.
pub(crate) fn matrices(model: &CoreModel) -> Vec<Matrix<'_>> {
    model.all_nodes().into_iter().flat_map(|node| matrices_of(model, node)).collect()
}

/// The constant matrices of one operation.
pub(super) fn matrices_of<'a>(model: &'a CoreModel, node: &'a CoreNode) -> Vec<Matrix<'a>> {
    let mut matrices = Vec::new();
    let mut push = |name, source, first, [rows, columns]: [usize; 2], strides| {
        if let WeightSource::Constant(i) = source {
            matrices.push(Matrix {
                node,
                name,
                tensor: &model.constants[i],
                first,
                rows,
                columns,
                strides,
            });
        }
    };
    let Some(product) = node.op.facts().product else { return matrices };
    match product.matrices {
        FixedMatrices::Planned(PlannedProduct::Cell(cell)) => {
            let (gates, rows) = (cell.kind.gates(), cell.hidden_size);
            for (name, source, columns) in
                [("W", cell.weights.w, cell.input_size), ("R", cell.weights.r, cell.hidden_size)]
            {
                for gate in 0..gates {
                    let first = (cell.weights.set * gates + cell.weights.layout.gates[gate])
                        * rows
                        * columns;
                    push(name, source, first, [rows, columns], [columns, 1]);
                }
            }
        }
        FixedMatrices::Planned(PlannedProduct::Dense(dense)) => {
            push("the matrix", dense.w, 0, [dense.outputs, dense.inputs], dense.strides());
        }
        FixedMatrices::Windows(convolution) => {
            let taps = convolution.offsets().len();
            push(
                "the weights",
                WeightSource::Constant(convolution.w.0),
                0,
                [convolution.groups * convolution.outputs, taps],
                [taps, 1],
            );
        }
    }
    matrices
}

/// The distance of the stored matrices of one format from the matrices of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// The format of the stored matrices.
    pub format: WeightFormat,
    /// True for weights of depthwise convolutions. Their integers are stored in 16 bits, even if
    /// they are rounded to 8 bits.
    pub is_windows: bool,
    /// The largest error of a stored weight, divided by the largest magnitude in the weight's row.
    /// The product of stored value and scale is not rounded to f32 here, so the ratio may be above
    /// 0 although every weight is exact.
    pub largest: f64,
    /// The number of weights.
    pub weights: usize,
    /// The number of weights that are stored exactly.
    pub exact: usize,
}

impl Loss {
    /// One loss for each format other than f32. Matrices and the weights of depthwise convolutions
    /// have separate losses.
    pub fn by_format(model: &CoreModel, precisions: &Precisions) -> Vec<Self> {
        let mut formats: Vec<Self> = Vec::new();
        for matrix in matrices(model) {
            let format = matrix.format(precisions);
            if format == WeightFormat::F32 {
                continue;
            }
            let is_windows = matrix.is_windows();
            let is_same =
                |loss: &Self| (loss.format.name(), loss.is_windows) == (format.name(), is_windows);
            let at = formats.iter().position(is_same).unwrap_or_else(|| {
                formats.push(Self { format, is_windows, ..Self::default() });
                formats.len() - 1
            });
            formats[at].add(&matrix);
        }
        formats
    }

    fn add(&mut self, matrix: &Matrix<'_>) {
        let (format, loss) = (self.format, self);
        for row in (0..matrix.rows).map(|row| matrix.row(row)) {
            let most = row.iter().fold(0.0, |most: f64, w| most.max(f64::from(w.abs())));
            let stored = Stored::new(format, &row);
            loss.exact += stored.exact(&row);
            for error in stored.errors(&row) {
                loss.weights += 1;
                // an error above 0 implies a weight other than 0, so `most` is above MIN_POSITIVE
                loss.largest = loss.largest.max(if error > 0.0 {
                    error / most.max(f64::MIN_POSITIVE)
                } else {
                    0.0
                });
            }
        }
    }
}

impl Display for Loss {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { largest, weights, exact, .. } = self;
        let subject =
            if self.is_windows { "Weights of depthwise convolutions" } else { "Matrices" };
        match self.format {
            WeightFormat::Int8Pair if self.is_windows => {
                write!(f, "{subject} are rounded as int8 and stored in 16 bits: ")?
            }
            format => write!(f, "{subject} are stored as {}: ", format.name())?,
        }
        match exact == weights {
            true => write!(f, "lossless, all {weights} weights are what they are in the model."),
            false => write!(
                f,
                "{exact} of {weights} weights are what they are in the model, the others off by at \
                 most {largest:.2e} times the largest of their row. Bounds are those of the \
                 distance from the model with its own weights."
            ),
        }
    }
}
