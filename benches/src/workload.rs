//! What is computed: the workloads as data. The build script reads this file too.

use cellc::Activation::{self, Relu, Sigmoid, Tanh};
use cellc::model::{
    CellKind, ElementType, LstmGateOrder, Parameter, ResetGate, ResultValue, Source, Tensor, ValidCell, ValidModel,
    ValidNode, ValidOp, ValidValue, WeightLayout, WeightSource,
};

/// One cell at batch 1, its weights baked in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// As in the table of the README; in lower case, the name of the generated files.
    pub(crate) name: &'static str,
    /// Which cell.
    pub(crate) kind: CellKind,
    /// I: the length of x.
    pub(crate) input_size: usize,
    /// H: the length of h.
    pub(crate) hidden_size: usize,
    /// As many as the kind takes.
    pub(crate) activations: &'static [Activation],
}

const BEFORE: CellKind = CellKind::Gru(ResetGate::BeforeMatMul);
const AFTER: CellKind = CellKind::Gru(ResetGate::AfterMatMul);

/// Every workload. W2, W3 and W4 are the cells of RNNoise.
pub(crate) const WORKLOADS: [Workload; 5] = [
    workload("W1", AFTER, 16, 128, &[Sigmoid, Tanh]),
    workload("W2", BEFORE, 24, 24, &[Sigmoid, Relu]),
    workload("W3", BEFORE, 90, 48, &[Sigmoid, Relu]),
    workload("W4", BEFORE, 114, 96, &[Sigmoid, Relu]),
    workload("W9", CellKind::Rnn, 16, 128, &[Tanh]),
];

const fn workload(
    name: &'static str,
    kind: CellKind,
    input_size: usize,
    hidden_size: usize,
    activations: &'static [Activation],
) -> Workload {
    Workload { name, kind, input_size, hidden_size, activations }
}

impl Workload {
    /// W `[G*H, I]`, R `[G*H, H]` and B `[bias_parts*H]`, uniform in +-1/sqrt(H) as PyTorch draws them: a cell fed with its
    /// own state then neither grows nor dies away.
    pub(crate) fn weights(&self) -> [Vec<f32>; 3] {
        let range = 1.0 / (self.hidden_size as f32).sqrt();
        let rows = self.kind.gates() * self.hidden_size;
        let mut numbers = Numbers(1);
        [rows * self.input_size, rows * self.hidden_size, self.kind.bias_parts() * self.hidden_size]
            .map(|len| numbers.by_ref().take(len).map(|v| v * range).collect())
    }

    /// `rows` rows of x, uniform in +-1.
    pub(crate) fn inputs(&self, rows: usize) -> Vec<f32> {
        Numbers(2).take(rows * self.input_size).collect()
    }

    /// The multiply-adds of a step: one for each element of W and R.
    pub(crate) fn multiply_adds(&self) -> usize {
        self.kind.gates() * self.hidden_size * (self.input_size + self.hidden_size)
    }

    /// The weights that a step reads, biases too.
    pub(crate) fn weight_count(&self) -> usize {
        self.multiply_adds() + self.kind.bias_parts() * self.hidden_size
    }

    /// What it is, in words.
    pub(crate) fn describe(&self) -> String {
        let cell = match self.kind {
            CellKind::Rnn => "RNN",
            CellKind::Gru(ResetGate::AfterMatMul) => "GRU, linear_before_reset",
            CellKind::Gru(ResetGate::BeforeMatMul) => "GRU, reset before",
            CellKind::Augru(_) => "AUGRU",
            CellKind::Lstm => "LSTM",
        };
        let activations: Vec<_> = self.activations.iter().map(|a| a.name()).collect();
        let (inputs, units) = (self.input_size, self.hidden_size);
        format!("{cell}, {}, {inputs} inputs, {units} units", activations.join(" and "))
    }

    /// The model for the reference: parameters x and h, one result.
    pub(crate) fn model(&self) -> ValidModel {
        let Self { kind, input_size, hidden_size, .. } = *self;
        let rows = kind.gates() * hidden_size;
        let shapes = [vec![rows, input_size], vec![rows, hidden_size], vec![kind.bias_parts() * hidden_size]];
        let constants = shapes.into_iter().zip(self.weights());
        let parameter = |name: &str, len| Parameter {
            names: vec![name.to_string()],
            shape: vec![1, len],
            element: ElementType::F32,
            weight: false,
            length: None,
        };
        ValidModel {
            parameters: vec![parameter("x", input_size), parameter("h", hidden_size)],
            constants: constants.map(|(shape, v)| Tensor::from_f32(shape, &v).expect("as many as the shape")).collect(),
            values: vec![ValidValue { shape: vec![1, hidden_size] }],
            nodes: vec![node(ValidCell {
                name: self.name.to_string(),
                kind,
                batch: 1,
                input_size,
                hidden_size,
                activations: self.activations.to_vec(),
                clip: None,
                x: Source::Parameter(0),
                h: Source::Parameter(1),
                w: WeightSource::Constant(0),
                r: WeightSource::Constant(1),
                b: vec![WeightSource::Constant(2)],
                layout: WeightLayout::new(kind, LstmGateOrder::default()),
                input_forget: false,
                c: None,
                a: None,
                p: None,
                weight_set: 0,
                sequence: None,
                h_out: Some(0),
                c_out: None,
                y: None,
                ledger: Vec::new(),
            })],
            results: vec![ResultValue {
                names: vec!["h_out".to_string()],
                shape: vec![1, hidden_size],
                element: ElementType::F32,
                source: Source::Value(0),
            }],
            ..ValidModel::default()
        }
    }
}

fn node(cell: ValidCell) -> ValidNode {
    let kind = cell.kind.op_name().to_string();
    ValidNode { name: cell.name.clone(), kind, op: ValidOp::Cell(cell), ledger: Vec::new() }
}

/// Uniform in +-1, the same in every run: Knuth's linear congruential generator modulo 2^64, its high bits.
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = f32;

    fn next(&mut self) -> Option<f32> {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0)
    }
}
