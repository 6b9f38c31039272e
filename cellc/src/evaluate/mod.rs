//! The traversal of a model's operations for any arithmetic: numbers ([`crate::reference`]) or
//! properties of numbers ([`crate::bound`]).
//!
//! This module moves values and iterates over time. The [`Domain`] computes.

use crate::core::{
    Concat, Convolve, CoreCell, CoreLoop, CoreModel, CoreNode, CoreOp, Denormals, Dense,
    IntegerInput, Lengths, Lookup, LoopSlice, MatMul, Pointwise, PointwiseFunction, Reduce,
    RunningSum, Softmax, Source, TensorDenormals, TopK, Variable, View, WeightSource,
};
use crate::model::{Binary, Tensor};

mod linear_attention;
#[cfg(test)]
pub(crate) mod test_models;

/// The column of a table: the number of rows, and the element of each row.
pub(crate) type Column<'a, V> = (usize, &'a dyn Fn(usize) -> V);

/// An arithmetic: the representation of numbers, and the operations on them.
pub(crate) trait Domain {
    /// The representation of a number.
    type Value: Clone + PartialEq;
    /// The representation of a row of a matrix.
    type Row<'r>;

    /// An element of a parameter or variable.
    fn input(&self, number: f64) -> Self::Value;

    /// The magnitude below which inputs, states and outputs are flushed to zero. `None`: nothing is
    /// flushed.
    fn flush_below(&self) -> Option<f32> {
        None
    }

    /// The flushed value.
    fn flushed(&self, value: Self::Value) -> Self::Value {
        value
    }

    /// A constant.
    fn constant(&self, number: f64) -> Self::Value;

    /// The number, if the exact value is known and equals the computed value.
    fn known(&self, value: &Self::Value) -> Option<f64>;

    /// One step of a recurrent cell for one row of the batch.
    fn step(
        &self,
        cell: &CoreCell,
        weights: &CellWeights<'_>,
        step: StepInputs<'_, Self::Value>,
    ) -> State<Self::Value>;

    /// The first `length` steps of one row of a sequence.
    ///
    /// Returns h of every step in the order of time (zero for missing steps), and the last state
    /// (zero if `length` is 0). A `length` of NaN is unknown.
    fn sequence(
        &self,
        cell: &CoreCell,
        weights: &CellWeights<'_>,
        row: &BatchRow<'_, Self::Value>,
        length: f64,
    ) -> (Vec<Vec<Self::Value>>, State<Self::Value>) {
        steps_of(self, cell, weights, row, length)
    }

    /// The elements of a channel, rounded to integers times one scale, for a depthwise convolution
    /// of `taps` taps. `None` if the convolution multiplies in f32. `operation` is the first value
    /// of the convolution.
    fn rounded(
        &self,
        operation: usize,
        taps: usize,
        channel: &[Self::Value],
    ) -> Option<Vec<Self::Value>>;

    /// A row of a matrix in the format of its storage, encoded once for all vectors.
    fn encoded<'r>(&self, row: MatrixRow<'r>) -> Self::Row<'r>;

    /// The dot product of a row of a matrix and a vector.
    fn row(&self, row: &Self::Row<'_>, values: &[Self::Value]) -> Self::Value;

    /// The sum of the products of pairs of numbers.
    fn dot(&self, terms: impl ExactSizeIterator<Item = (Self::Value, Self::Value)>) -> Self::Value;

    /// An operation on single elements.
    fn pointwise(&self, function: PointwiseFunction, operands: &[Self::Value]) -> Self::Value;

    /// The element of a table's column for an index, as defined by [`crate::core::Lookup`].
    fn lookup(&self, column: Column<'_, Self::Value>, number: &Self::Value) -> Self::Value;

    /// The elements of a row that TopK chooses, each with its index, as defined by
    /// [`crate::core::TopK`].
    fn top_k(&self, top: &TopK, row: &[Self::Value]) -> Vec<(Self::Value, Self::Value)>;

    /// Softmax, or its logarithm, of the given elements.
    fn softmax(&self, values: &[Self::Value], log: bool) -> Vec<Self::Value>;
}

/// The first `length` steps of one row of a sequence, as defined by [`Domain::sequence`]. NaN is
/// not a valid `length` here.
pub(crate) fn steps_of<A: Domain + ?Sized>(
    arithmetic: &A,
    cell: &CoreCell,
    weights: &CellWeights<'_>,
    row: &BatchRow<'_, A::Value>,
    length: f64,
) -> (Vec<Vec<A::Value>>, State<A::Value>) {
    let steps = row.steps();
    let length = length.clamp(0.0, steps as f64) as usize;
    let mut state = row.initial.clone();
    let mut y = vec![vec![arithmetic.constant(0.0); cell.hidden_size]; steps];
    for k in 0..length {
        let t = if row.reverse { length - 1 - k } else { k };
        state = arithmetic.step(cell, weights, row.step(t, &state));
        y[t].clone_from(&state.h);
    }
    if length == 0 {
        state.h.fill(arithmetic.constant(0.0));
        state.c.fill(arithmetic.constant(0.0));
    }
    (y, state)
}

/// The operands of one step of one row.
pub(crate) struct StepInputs<'a, V> {
    /// The input, `[I]`.
    pub(crate) x: &'a [V],
    /// The hidden state, `[H]`.
    pub(crate) h: &'a [V],
    /// The cell state, `[H]`. Empty if the cell has no cell state.
    pub(crate) c: &'a [V],
    /// The attention of an AUGRU. `None` for other cells.
    pub(crate) a: Option<&'a V>,
}

/// The state of a cell.
#[derive(Clone, PartialEq)]
pub(crate) struct State<V> {
    /// The hidden state, `[H]`.
    pub(crate) h: Vec<V>,
    /// The cell state, `[H]`. Empty if the cell has no cell state.
    pub(crate) c: Vec<V>,
}

/// One row of the batch through time.
#[derive(PartialEq)]
pub(crate) struct BatchRow<'a, V> {
    x: &'a [V],
    a: Option<&'a [V]>,
    input_size: usize,
    /// The initial state.
    pub(crate) initial: State<V>,
    /// True if the steps run from the last to the first.
    pub(crate) reverse: bool,
}

impl<V> BatchRow<'_, V> {
    /// The number of steps.
    pub(crate) fn steps(&self) -> usize {
        self.x.len() / self.input_size
    }

    /// The operands of the step at time `t`, with `state`.
    pub(crate) fn step<'a>(&'a self, t: usize, state: &'a State<V>) -> StepInputs<'a, V> {
        let x = &self.x[t * self.input_size..][..self.input_size];
        StepInputs { x, h: &state.h, c: &state.c, a: self.a.map(|a| &a[t]) }
    }
}

/// Weights, read in place: a copy in f64 would be twice as large as the model.
#[derive(Clone, Copy)]
pub(crate) enum WeightNumbers<'a> {
    Constant(&'a Tensor),
    Given(&'a [f64]),
    Zero,
}

impl WeightNumbers<'_> {
    /// The number at index `i`. Constants are rounded to f32, as in kernels.
    pub(crate) fn at(self, i: usize) -> f64 {
        match self {
            Self::Constant(tensor) => f64::from(tensor.get_f32(i)),
            Self::Given(values) => values[i],
            Self::Zero => 0.0,
        }
    }
}

/// The vector that a row of a matrix multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowOperand {
    X,
    H,
    /// The state h times the reset gate r.
    ResetH,
    /// A window of a channel that [`Domain::rounded`] has rounded.
    Rounded,
}

/// A row of a layer's matrix.
#[derive(Clone, Copy)]
pub(crate) struct MatrixRow<'a> {
    /// The first value of the operation.
    pub(crate) value: usize,
    operand: RowOperand,
    numbers: WeightNumbers<'a>,
    /// The index of the first element in `numbers`. Elements are `stride` apart.
    first: usize,
    stride: usize,
    len: usize,
}

impl<'a> MatrixRow<'a> {
    /// The elements of the row.
    pub(crate) fn weights(self) -> impl ExactSizeIterator<Item = f64> + use<'a> {
        (0..self.len).map(move |i| self.numbers.at(self.first + i * self.stride))
    }

    /// The length of the operand, as x (or a window of x) or as h. Both are `None` for `r * h`.
    pub(crate) fn x_or_h(&self) -> [Option<usize>; 2] {
        match self.operand {
            RowOperand::X | RowOperand::Rounded => [Some(self.len), None],
            RowOperand::H => [None, Some(self.len)],
            RowOperand::ResetH => [None, None],
        }
    }

    /// True if [`Domain::rounded`] has already rounded the operand.
    pub(crate) fn is_of_rounded(&self) -> bool {
        self.operand == RowOperand::Rounded
    }

    /// A unique key of the row among the rows of constant matrices of one layout. `None` for
    /// run-time weights.
    pub(crate) fn key(self) -> Option<(usize, usize)> {
        match self.numbers {
            WeightNumbers::Constant(tensor) => {
                Some((std::ptr::from_ref(tensor).addr(), self.first))
            }
            WeightNumbers::Given(_) | WeightNumbers::Zero => None,
        }
    }
}

/// The weights of a cell: each tensor, and the index of its first element for the cell's set of
/// weights.
///
/// Arguments count gates and parts of B in the order of the kind of the cell; the layout of the
/// weights gives their places.
pub(crate) struct CellWeights<'a> {
    cell: &'a CoreCell,
    w: (WeightNumbers<'a>, usize),
    r: (WeightNumbers<'a>, usize),
    b: Vec<(WeightNumbers<'a>, usize)>,
    p: Option<(WeightNumbers<'a>, usize)>,
}

impl<'a> CellWeights<'a> {
    /// The row of W for `unit` of `gate`.
    pub(crate) fn w(&self, gate: usize, unit: usize) -> MatrixRow<'a> {
        self.row(self.w, true, gate, unit)
    }

    /// The row of R for `unit` of `gate`.
    pub(crate) fn r(&self, gate: usize, unit: usize) -> MatrixRow<'a> {
        self.row(self.r, false, gate, unit)
    }

    fn row(
        &self,
        matrix: (WeightNumbers<'a>, usize),
        of_x: bool,
        gate: usize,
        unit: usize,
    ) -> MatrixRow<'a> {
        let cell = self.cell;
        let (operand, len) = match of_x {
            true => (RowOperand::X, cell.input_size),
            false if cell.kind.multiplies_reset_h(gate) => (RowOperand::ResetH, cell.hidden_size),
            false => (RowOperand::H, cell.hidden_size),
        };
        let (numbers, first) = matrix;
        let first = first + (cell.weights.layout.gates[gate] * cell.hidden_size + unit) * len;
        let value = cell.outputs()[0];
        MatrixRow { value, operand, numbers, first, stride: 1, len }
    }

    /// The addends of the bias for `unit` of a part of B.
    pub(crate) fn b(&self, part: usize, unit: usize) -> impl Iterator<Item = f64> {
        self.cell.weights.layout.biases[part].iter().map(move |bias| {
            let (b, first) = self.b[bias.tensor];
            b.at(first + bias.part * self.cell.hidden_size + unit)
        })
    }

    /// The peephole weight of `unit` for f, i or o (0, 1 or 2). `None` without peepholes.
    pub(crate) fn p(&self, gate: usize, unit: usize) -> Option<f64> {
        self.p.map(|(p, first)| {
            p.at(first + self.cell.weights.layout.peepholes[gate] * self.cell.hidden_size + unit)
        })
    }
}

/// The outcome of a step: every result and the next value of every variable, each in C order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome<V> {
    /// Every result.
    pub results: Vec<Vec<V>>,
    /// The next value of every variable.
    pub variables: Vec<Vec<V>>,
}

impl<V> Outcome<V> {
    /// The results, and the variables after them.
    pub fn parts(&self) -> impl Iterator<Item = &Vec<V>> {
        self.results.iter().chain(&self.variables)
    }
}

/// One step of a model for all parameters and variables, each in C order.
///
/// # Panics
/// If the number of parameters or variables, or the number of elements of one of them, differs from
/// the model's.
pub(crate) fn evaluate<A: Domain>(
    arithmetic: &A,
    model: &CoreModel,
    parameters: &[Vec<f64>],
    variables: &[Vec<f64>],
) -> Outcome<A::Value> {
    assert_eq!(parameters.len(), model.parameters.len(), "a value for every parameter");
    for (parameter, values) in model.parameters.iter().zip(parameters) {
        assert_eq!(
            values.len(),
            parameter.shape.iter().product::<usize>(),
            "elements of {:?}",
            parameter.names
        );
    }
    assert_eq!(variables.len(), model.variables.len(), "a value for every variable");
    for (variable, values) in model.variables.iter().zip(variables) {
        assert_eq!(
            values.len(),
            variable.shape.iter().product::<usize>(),
            "elements of {:?}",
            variable.name
        );
    }
    let values = vec![Vec::new(); model.values.len()];
    let denormals = Denormals::new(model, arithmetic.flush_below(), usize::MAX);
    let mut evaluation = Evaluation { arithmetic, model, denormals, parameters, variables, values };
    evaluation.nodes(&model.nodes);
    let results = model.results.iter().map(|r| evaluation.kept(r.source)).collect();
    let next = |(i, v): (usize, &Variable)| evaluation.kept(v.next.unwrap_or(Source::Variable(i)));
    let variables = model.variables.iter().enumerate().map(next).collect();
    Outcome { results, variables }
}

struct Evaluation<'a, A: Domain> {
    arithmetic: &'a A,
    model: &'a CoreModel,
    denormals: Denormals,
    parameters: &'a [Vec<f64>],
    variables: &'a [Vec<f64>],
    /// The values computed so far. In a loop, the values of the body are of the current iteration.
    values: Vec<Vec<A::Value>>,
}

impl<'a, A: Domain> Evaluation<'a, A> {
    /// All elements of a tensor, in C order.
    fn get(&self, source: Source) -> Vec<A::Value> {
        let numbers = match source {
            Source::Value(i) => return self.values[i].clone(),
            Source::Constant(i) => WeightNumbers::Constant(&self.model.constants[i]),
            Source::Parameter(i) => WeightNumbers::Given(&self.parameters[i]),
            Source::Variable(i) => WeightNumbers::Given(&self.variables[i]),
        };
        let values = (0..self.model.len(source)).map(|i| self.number(numbers, i));
        if self.denormals.is_input(source) { self.flush(values) } else { values.collect() }
    }

    /// One element of a tensor. Avoids a copy of a table of which few elements are read.
    fn element(&self, source: Source, i: usize) -> A::Value {
        let numbers = match source {
            Source::Value(value) => return self.values[value][i].clone(),
            Source::Constant(constant) => WeightNumbers::Constant(&self.model.constants[constant]),
            Source::Parameter(parameter) => WeightNumbers::Given(&self.parameters[parameter]),
            Source::Variable(variable) => WeightNumbers::Given(&self.variables[variable]),
        };
        let number = self.number(numbers, i);
        if self.denormals.is_input(source) { self.arithmetic.flushed(number) } else { number }
    }

    /// All elements of a tensor as an output or a state stores them, flushed.
    fn kept(&self, source: Source) -> Vec<A::Value> {
        let values = self.get(source);
        match self.denormals.tensor(source) {
            TensorDenormals::Kept => self.flush(values),
            // `get` has flushed a given tensor, and a flushed tensor holds no denormals
            TensorDenormals::Given | TensorDenormals::Flushed => values,
        }
    }

    fn flush(&self, values: impl IntoIterator<Item = A::Value>) -> Vec<A::Value> {
        values.into_iter().map(|v| self.arithmetic.flushed(v)).collect()
    }

    fn number(&self, numbers: WeightNumbers<'_>, i: usize) -> A::Value {
        match numbers {
            WeightNumbers::Given(_) => self.arithmetic.input(numbers.at(i)),
            WeightNumbers::Constant(_) | WeightNumbers::Zero => {
                self.arithmetic.constant(numbers.at(i))
            }
        }
    }

    fn weight(&self, source: WeightSource) -> WeightNumbers<'a> {
        match source {
            WeightSource::Constant(i) => WeightNumbers::Constant(&self.model.constants[i]),
            WeightSource::Parameter(i) => WeightNumbers::Given(&self.parameters[i]),
            WeightSource::Zero => WeightNumbers::Zero,
        }
    }

    fn nodes(&mut self, nodes: &[CoreNode]) {
        for node in nodes {
            let (out, values) = match &node.op {
                CoreOp::Cell(cell) => {
                    self.cell(cell);
                    continue;
                }
                CoreOp::Loop(body) => {
                    self.trips(body);
                    continue;
                }
                CoreOp::LinearAttention(attention) => {
                    self.linear_attention(attention);
                    continue;
                }
                CoreOp::TopK(top) => {
                    self.top_k(top);
                    continue;
                }
                CoreOp::IntegerInput(integers) => (integers.out, self.integers(integers)),
                CoreOp::Lookup(lookup) => (lookup.out, self.lookup(lookup)),
                CoreOp::Dense(dense) => (dense.out, self.dense(dense)),
                CoreOp::MatMul(matmul) => (matmul.out, self.matmul(matmul)),
                CoreOp::Convolve(convolve) => (convolve.out, self.convolve(convolve)),
                CoreOp::Pointwise(pointwise) => (pointwise.out, self.pointwise(pointwise)),
                CoreOp::Softmax(softmax) => (softmax.out, self.softmax(softmax)),
                CoreOp::Reduce(reduce) => (reduce.out, self.reduce(reduce)),
                CoreOp::RunningSum(sum) => (sum.out, self.running_sum(sum)),
                CoreOp::View(view) => (view.out, self.view(view)),
                CoreOp::Concat(concat) => (concat.out, self.concat(concat)),
            };
            self.values[out] =
                if self.denormals.is_flushed_at(out) { self.flush(values) } else { values };
        }
    }

    /// A recurrent cell. A cell without a sequence is computed as a sequence of one step.
    fn cell(&mut self, cell: &CoreCell) {
        let (gates, units, inputs) = (cell.kind.gates(), cell.hidden_size, cell.input_size);
        let set = cell.weights.set;
        let b = cell.weights.b.iter().zip(cell.weights.layout.bias_tensors());
        let weights = CellWeights {
            w: (self.weight(cell.weights.w), set * gates * units * inputs),
            r: (self.weight(cell.weights.r), set * gates * units * units),
            b: b.map(|(b, parts)| (self.weight(*b), set * parts * units)).collect(),
            p: cell.weights.p.map(|p| (self.weight(p), set * 3 * units)),
            cell,
        };
        let (x, h) = (self.get(cell.x), self.get(cell.h));
        let (c, a) = (cell.c.map(|c| self.get(c)), cell.a.map(|a| self.get(a)));
        let steps = cell.steps();
        let reverse = cell.sequence.as_ref().is_some_and(|s| s.reverse);
        let length = |n: usize| match cell.sequence.as_ref().map(|s| &s.lengths) {
            None | Some(Lengths::Full) => steps as f64,
            Some(Lengths::Constant(lengths)) => lengths[n] as f64,
            Some(Lengths::Parameter(i)) => self.parameters[*i][n],
            Some(Lengths::Computed(source)) => {
                self.arithmetic.known(&self.get(*source)[n]).unwrap_or(f64::NAN)
            }
        };
        let row = |n: usize| BatchRow {
            x: &x[n * steps * inputs..][..steps * inputs],
            a: a.as_ref().map(|a| &a[n * steps..][..steps]),
            input_size: inputs,
            initial: State {
                h: h[n * units..][..units].to_vec(),
                c: c.as_ref().map_or(Vec::new(), |c| c[n * units..][..units].to_vec()),
            },
            reverse,
        };
        let (mut y, mut last) = (Vec::new(), State { h: Vec::new(), c: Vec::new() });
        let mut before = None;
        for n in 0..cell.batch {
            let row = (row(n), length(n));
            // equal rows have equal results: an analysis of ranges computes one row for the batch
            let (row_y, state) = match before {
                Some((same, result)) if same == row => result,
                _ => self.arithmetic.sequence(cell, &weights, &row.0, row.1),
            };
            y.extend(row_y.iter().flatten().cloned());
            last.h.extend_from_slice(&state.h);
            last.c.extend_from_slice(&state.c);
            before = Some((row, (row_y, state)));
        }
        for (out, values) in [(cell.out.y, y), (cell.out.h, last.h), (cell.out.c, last.c)] {
            if let Some(out) = out {
                self.values[out] = values;
            }
        }
    }

    /// `y[r, j] = sum_i x[r, i] W[i, j]`
    fn dense(&self, dense: &Dense) -> Vec<A::Value> {
        let (x, w) = (self.get(dense.x), self.weight(dense.w));
        let (inputs, outputs) = (dense.inputs, dense.outputs);
        let [of_row, stride] = dense.strides();
        let row = |j: usize| MatrixRow {
            value: dense.out,
            operand: RowOperand::X,
            numbers: w,
            first: j * of_row,
            stride,
            len: inputs,
        };
        let matrix: Vec<_> = (0..outputs).map(|j| self.arithmetic.encoded(row(j))).collect();
        let element =
            |r: usize, j: usize| self.arithmetic.row(&matrix[j], &x[r * inputs..][..inputs]);
        (0..dense.rows * outputs).map(|k| element(k / outputs, k % outputs)).collect()
    }

    /// `y[n, r, j] = sum_i a[n, r, i] b[n, i, j]`
    fn matmul(&self, matmul: &MatMul) -> Vec<A::Value> {
        let (a, b) = (self.get(matmul.a), self.get(matmul.b));
        let MatMul { batch, rows, inner, columns, .. } = *matmul;
        let element = |n: usize, r: usize, j: usize| {
            let term = |i: usize| {
                (a[(n * rows + r) * inner + i].clone(), b[(n * inner + i) * columns + j].clone())
            };
            self.arithmetic.dot((0..inner).map(term))
        };
        (0..batch * rows * columns)
            .map(|k| element(k / columns / rows, k / columns % rows, k % columns))
            .collect()
    }

    fn convolve(&self, convolve: &Convolve) -> Vec<A::Value> {
        let (x, w) = (self.get(convolve.x), self.get(convolve.w.into()));
        let (offsets, given) = (convolve.offsets(), convolve.unpadded_length());
        let Convolve { groups, inputs, outputs, positions, .. } = convolve;
        let (terms, sources) = (inputs * offsets.len(), convolve.sources());
        let zero = self.arithmetic.constant(0.0);
        // the rounded elements of each channel, followed by a zero for the padding
        let rounded: Option<Vec<Vec<A::Value>>> =
            convolve.is_depthwise().then_some(()).and_then(|()| {
                let channels = x
                    .chunks_exact(given)
                    .map(|channel| [channel, std::slice::from_ref(&zero)].concat());
                channels
                    .map(|channel| self.arithmetic.rounded(convolve.out, terms, &channel))
                    .collect()
            });
        let numbers = WeightNumbers::Constant(&self.model.constants[convolve.w.0]);
        let row = |m: usize| {
            let operand = RowOperand::Rounded;
            MatrixRow {
                value: convolve.out,
                operand,
                numbers,
                first: m * terms,
                stride: 1,
                len: terms,
            }
        };
        let rounded = rounded.map(|rounded| {
            (
                rounded,
                (0..groups * outputs).map(|m| self.arithmetic.encoded(row(m))).collect::<Vec<_>>(),
            )
        });
        let element = |n: usize, m: usize, q: usize| {
            let first = (n * groups + m / outputs) * inputs;
            let inside = |tap: usize| sources[convolve.start + q + offsets[tap]];
            if let Some((rounded, rows)) = &rounded {
                let values: Vec<_> = (0..terms)
                    .map(|k| rounded[first][inside(k).unwrap_or(given)].clone())
                    .collect();
                return self.arithmetic.row(&rows[m], &values);
            }
            let term = |k: usize| {
                let (channel, tap) = (first + k / offsets.len(), k % offsets.len());
                let element = inside(tap).map(|at| x[channel * given + at].clone());
                (element.unwrap_or_else(|| zero.clone()), w[m * terms + k].clone())
            };
            self.arithmetic.dot((0..terms).map(term))
        };
        let channels = groups * outputs;
        let elements = 0..convolve.batch * channels * positions;
        elements
            .map(|k| element(k / positions / channels, k / positions % channels, k % positions))
            .collect()
    }

    fn pointwise(&self, pointwise: &Pointwise) -> Vec<A::Value> {
        let shape = &self.model.values[pointwise.out].shape;
        let operands: Vec<_> = pointwise.inputs.iter().map(|&input| self.get(input)).collect();
        let strides = |&input: &Source| broadcast(self.model.shape(input), shape);
        let strides: Vec<_> = pointwise.inputs.iter().map(strides).collect();
        let element = |index: &[usize]| {
            let operand = |(values, strides): (&Vec<A::Value>, &Vec<isize>)| {
                values[offset_of(index, 0, strides)].clone()
            };
            let operands: Vec<_> = operands.iter().zip(&strides).map(operand).collect();
            self.arithmetic.pointwise(pointwise.function, &operands)
        };
        indices(shape).map(|index| element(&index)).collect()
    }

    fn softmax(&self, softmax: &Softmax) -> Vec<A::Value> {
        let mut values = self.get(softmax.input);
        let shape = self.model.shape(softmax.input);
        let (len, stride) =
            (shape[softmax.axis], shape[softmax.axis + 1..].iter().product::<usize>());
        for outer in 0..values.len() / (len * stride) {
            for inner in 0..stride {
                let at = |k: usize| (outer * len + k) * stride + inner;
                let line: Vec<_> = (0..len).map(|k| values[at(k)].clone()).collect();
                for (k, value) in
                    self.arithmetic.softmax(&line, softmax.log).into_iter().enumerate()
                {
                    values[at(k)] = value;
                }
            }
        }
        values
    }

    /// A reduction. Kernels combine the last elements of a row in another order: see [`Reduce`].
    fn reduce(&self, reduce: &Reduce) -> Vec<A::Value> {
        let values = self.get(reduce.input);
        let [outer, size, inner] = reduce.extents(self.model.shape(reduce.input));
        let element = |at: usize| {
            let (at, column) = (at / inner, at % inner);
            let element = |k: usize| values[(at * size + k) * inner + column].clone();
            let combined = |a: &A::Value, b: &A::Value| {
                self.arithmetic.pointwise(reduce.combiner.function(), &[a.clone(), b.clone()])
            };
            let mut chains: Vec<A::Value> = (0..reduce.chains).map(element).collect();
            for k in reduce.chains..size {
                let chain = k % reduce.chains;
                chains[chain] = combined(&chains[chain], &element(k));
            }
            while chains.len() > 1 {
                let (first, second) = chains.split_at(chains.len() / 2);
                chains = first.iter().zip(second).map(|(a, b)| combined(a, b)).collect();
            }
            chains.remove(0)
        };
        (0..outer * inner).map(element).collect()
    }

    fn running_sum(&self, sum: &RunningSum) -> Vec<A::Value> {
        let mut values = self.get(sum.input);
        let [_, size, inner] = sum.extents(self.model.shape(sum.input));
        let flushes = self.denormals.is_flushed_at(sum.out);
        let zero = self.arithmetic.constant(0.0);
        for at in 0..values.len() {
            let is_first = at % (size * inner) < inner;
            let before = if is_first { zero.clone() } else { values[at - inner].clone() };
            let next = self
                .arithmetic
                .pointwise(PointwiseFunction::Binary(Binary::Add), &[before, values[at].clone()]);
            values[at] = if flushes { self.arithmetic.flushed(next) } else { next };
        }
        values
    }

    /// An integer input, clamped to `least..=most`.
    fn integers(&self, integers: &IntegerInput) -> Vec<A::Value> {
        let taken = |v: &f64| v.clamp(integers.least.into(), integers.most.into());
        self.parameters[integers.parameter]
            .iter()
            .map(|v| self.arithmetic.input(taken(v)))
            .collect()
    }

    fn lookup(&self, lookup: &Lookup) -> Vec<A::Value> {
        let numbers = self.get(lookup.indices);
        let rows = self.model.len(lookup.table) / lookup.len.max(1);
        let mut rows_found = Vec::with_capacity(numbers.len() * lookup.len);
        for number in &numbers {
            for column in 0..lookup.len {
                let at = |row: usize| self.element(lookup.table, row * lookup.len + column);
                rows_found.push(self.arithmetic.lookup((rows, &at), number));
            }
        }
        rows_found
    }

    fn top_k(&mut self, top: &TopK) {
        let input = self.get(top.input);
        let rows = input.chunks_exact(top.size).map(|row| self.arithmetic.top_k(top, row));
        let (values, indices): (Vec<_>, Vec<_>) = rows.flatten().unzip();
        for (out, values) in [(top.values, values), (top.indices, indices)] {
            if let Some(out) = out {
                self.values[out] =
                    if self.denormals.is_flushed_at(out) { self.flush(values) } else { values };
            }
        }
    }

    fn view(&self, view: &View) -> Vec<A::Value> {
        let input = self.get(view.input);
        let shape = &self.model.values[view.out].shape;
        indices(shape)
            .map(|index| input[offset_of(&index, view.offset, &view.strides)].clone())
            .collect()
    }

    fn concat(&self, concat: &Concat) -> Vec<A::Value> {
        let part = |&input: &Source| {
            (self.get(input), self.model.shape(input)[concat.axis..].iter().product())
        };
        side_by_side(&concat.inputs.iter().map(part).collect::<Vec<_>>())
    }

    fn trips(&mut self, body: &CoreLoop) {
        for carried in &body.carried {
            self.values[carried.value] = self.kept(carried.initial);
        }
        let mut pieces: Vec<Vec<Vec<A::Value>>> = vec![Vec::new(); body.results.len()];
        for trip in 0..body.trips {
            for slice in &body.slices {
                self.values[slice.piece] = self.piece(slice, body.trips, trip);
            }
            self.nodes(&body.body);
            for (pieces, result) in pieces.iter_mut().zip(&body.results) {
                match result.pieces {
                    Some(_) => pieces.push(self.get(result.value)),
                    None => *pieces = vec![self.get(result.value)],
                }
            }
            let next: Vec<_> = body.carried.iter().map(|c| self.kept(c.next)).collect();
            for (carried, next) in body.carried.iter().zip(next) {
                self.values[carried.value] = next;
            }
        }
        for (mut pieces, result) in pieces.into_iter().zip(&body.results) {
            let axis = match result.pieces {
                Some((axis, reverse)) => {
                    if reverse {
                        pieces.reverse();
                    }
                    axis
                }
                None => 0,
            };
            let run =
                self.model.shape(result.value).get(axis..).unwrap_or_default().iter().product();
            self.values[result.out] =
                side_by_side(&pieces.into_iter().map(|p| (p, run)).collect::<Vec<_>>());
        }
    }

    /// The piece of a tensor that an iteration of a loop reads.
    fn piece(&self, slice: &LoopSlice, trips: usize, trip: usize) -> Vec<A::Value> {
        let whole = self.get(slice.whole);
        let piece = if slice.reverse { trips - 1 - trip } else { trip };
        let run = self.model.shape(slice.whole)[slice.axis..].iter().product::<usize>() / trips;
        whole.chunks_exact(run).skip(piece).step_by(trips).flatten().cloned().collect()
    }
}

/// The indices of all elements of a shape, in C order.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<'_> {
    (0..shape.iter().product()).map(move |mut k: usize| {
        let mut index = vec![0; shape.len()];
        for (i, &size) in index.iter_mut().zip(shape).rev() {
            (*i, k) = (k % size, k / size);
        }
        index
    })
}

/// `offset + sum i_d * strides_d`
fn offset_of(index: &[usize], offset: usize, strides: &[isize]) -> usize {
    let step = |(&i, &stride): (&usize, &isize)| i as isize * stride;
    (offset as isize + index.iter().zip(strides).map(step).sum::<isize>()) as usize
}

/// For each axis of `shape`, the stride in a tensor of shape `from`, in elements. 0 for a broadcast
/// axis.
fn broadcast(from: &[usize], shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut elements = 1;
    for (stride, &size) in strides.iter_mut().rev().zip(from.iter().rev()) {
        if size != 1 {
            *stride = elements as isize;
        }
        elements *= size;
    }
    strides
}

/// The concatenation of tensors along an axis. Each tensor comes with its number of elements per
/// index of the axes before.
fn side_by_side<V: Clone>(parts: &[(Vec<V>, usize)]) -> Vec<V> {
    let indices =
        parts.first().map_or(0, |(values, run)| values.len().checked_div(*run).unwrap_or(0));
    let at_index = |t: usize| {
        parts.iter().flat_map(move |(values, run)| values[t * run..][..*run].iter().cloned())
    };
    (0..indices).flat_map(at_index).collect()
}
