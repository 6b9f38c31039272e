//! Causal networks under construction: convolutions that reach back in time, and operations on each
//! sample. The number of samples is open, so generated code has `step` and `steps`.
//!
//! The state is the past input of each convolution. The state starts at rest: as if silence had
//! been played forever. At rest every signal is constant, so one value for each channel describes
//! the signal.

use super::rate::Rates;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Problem, quoted};
use crate::front::graph::Graph;
use crate::front::keys::Spanned;
use crate::model::{
    Binary, Dim, Elementwise, LedgerEntry, Model, Op, Primitive, Spelling, Tensor, ValueId,
    legal_groups, wrong_deviation,
};

/// A tensor `[1, channels, samples]`, or a constant that broadcasts to this shape.
#[derive(Clone, Debug)]
pub(super) struct Signal {
    value: ValueId,
    /// By channel: the value during silence.
    rest: Vec<f64>,
}

impl Signal {
    /// The number of channels.
    pub(super) fn channels(&self) -> usize {
        self.rest.len()
    }
}

/// The sizes of a convolution over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConvSizes {
    pub inputs: usize,
    pub outputs: usize,
    /// Number of taps.
    pub kernel: usize,
    /// Samples from tap to tap.
    pub dilation: usize,
    /// Groups of channels; a divisor of `inputs` and of `outputs`.
    pub groups: usize,
    pub bias: bool,
}

impl ConvSizes {
    /// A convolution of one tap, without a bias.
    pub(super) fn one(inputs: usize, outputs: usize) -> Self {
        Self { inputs, outputs, kernel: 1, dilation: 1, groups: 1, bias: false }
    }

    /// Samples before the newest one that the convolution reads.
    fn past(self) -> usize {
        (self.kernel - 1) * self.dilation
    }

    /// Number of values of earlier samples that the convolution keeps.
    pub(super) fn kept(self) -> u64 {
        [self.kernel - 1, self.dilation, self.inputs].map(|n| n as u64).iter().product()
    }

    /// Number of weights, the biases excluded.
    pub(super) fn kernel_weights(self) -> u64 {
        [self.outputs, self.inputs / self.groups, self.kernel].map(|n| n as u64).iter().product()
    }

    /// Number of weights and biases.
    pub(super) fn weights(self) -> u64 {
        self.kernel_weights() + if self.bias { self.outputs as u64 } else { 0 }
    }
}

/// Refuses a number of groups that does not divide the inputs and the outputs of a convolution.
pub(super) fn groups_are_legal(
    groups: usize,
    [inputs, outputs]: [usize; 2],
    key_path: &str,
) -> Result<(), Diagnostic> {
    let sizes = [(inputs, "input"), (outputs, "output")];
    let wrong = |problem: Problem| problem.at(Origin::Unknown).layer(key_path);
    legal_groups("group", groups as i64, &sizes).map(|_| ()).map_err(wrong)
}

/// The standard deviation: the root of `variance + epsilon`. Refuses sums that are not above 0, and
/// negative epsilons.
pub(super) fn deviation(variance: f64, epsilon: f64, key_path: &str) -> Result<f64, Diagnostic> {
    match wrong_deviation(variance, epsilon) {
        Some(problem) => Err(problem.at(Origin::Unknown).layer(key_path)),
        None => Ok((variance + epsilon).sqrt()),
    }
}

/// The sum of sizes, or the largest u64 if the sum is larger.
pub(super) fn total(sizes: impl IntoIterator<Item = u64>) -> u64 {
    sizes.into_iter().fold(0, u64::saturating_add)
}

/// A convolution over time.
#[derive(Clone, Debug)]
pub(super) struct Conv {
    pub sizes: ConvSizes,
    /// `[outputs, inputs / groups, kernel]`, the tap of the newest sample last.
    pub weights: Vec<f32>,
    /// By output; empty without a bias.
    pub bias: Vec<f32>,
}

impl Conv {
    /// The outputs for constant inputs.
    fn at_rest(&self, inputs: &[f64]) -> Vec<f64> {
        let ConvSizes { outputs, groups, kernel, .. } = self.sizes;
        let in_group = self.sizes.inputs / groups;
        let output = |at: usize| {
            let first = at / (outputs / groups) * in_group;
            let rows = &self.weights[at * in_group * kernel..][..in_group * kernel];
            let sums = rows
                .chunks(kernel)
                .zip(&inputs[first..])
                .map(|(taps, input)| taps.iter().map(|tap| f64::from(*tap)).sum::<f64>() * input);
            sums.sum::<f64>() + self.bias.get(at).map_or(0.0, |bias| f64::from(*bias))
        };
        (0..outputs).map(output).collect()
    }
}

/// A causal network under construction.
pub(super) struct Causal {
    graph: Graph,
    origin: Origin,
    rates: Rates,
    /// Errors for convolutions whose dilation is no whole number of samples of the code.
    problems: Diagnostics,
}

impl Causal {
    /// A network with the input x of `channels`.
    pub(super) fn new(declared_by: &'static str, channels: usize, rates: Rates) -> (Self, Signal) {
        let origin = Origin::Unknown;
        let mut graph = Graph::new(declared_by, &Spelling::OWN);
        let value = graph.input("x", vec![1, channels, 1], &origin);
        let samples = Dim::Dynamic { min: 1, max: None };
        graph.model.values[value.0].shape =
            Some(vec![Dim::Fixed(1), Dim::Fixed(channels), samples]);
        graph.model.open_axes.push((value, 2));
        let problems = Diagnostics::default();
        (Self { graph, origin, rates, problems }, Signal { value, rest: vec![0.0; channels] })
    }

    /// A ledger entry on the initial state.
    pub(super) fn rest() -> LedgerEntry {
        LedgerEntry {
            attribute: "initial state".to_owned(),
            text: None,
            meaning: "as silence leaves it, computed by cellc: a first call does not click"
                .to_owned(),
            origin: Origin::Unknown,
        }
    }

    /// The finished model, with the output `out`.
    ///
    /// # Errors
    /// If the dilation of a convolution is no whole number of samples of the code.
    pub(super) fn model(
        mut self,
        out: Signal,
        name: &Spanned<String>,
    ) -> Result<Model, Diagnostics> {
        if self.problems.has_errors() {
            return Err(self.problems);
        }
        self.graph.result("out", out.value, &self.origin);
        self.graph.model.name = Some(name.value.clone());
        Ok(self.graph.model)
    }

    fn computed(&mut self, name: &str, op: Op, inputs: Vec<ValueId>) -> ValueId {
        self.graph.computed(name, op, inputs, &self.origin)
    }

    /// A constant `[1, channels, len]` with one value for each channel.
    fn by_channel(&mut self, name: &str, values: &[f64], len: usize) -> ValueId {
        let elements: Vec<f32> =
            values.iter().flat_map(|value| std::iter::repeat_n(*value as f32, len)).collect();
        let tensor =
            Tensor::from_f32(vec![1, values.len(), len], &elements).expect("as many values");
        self.graph.constant(name, &tensor, &self.origin)
    }

    /// A convolution's sizes at the rate of the code. Keeps an error for [`Self::model`].
    fn at_code_rate(&mut self, sizes: ConvSizes, name: &str) -> ConvSizes {
        if sizes.kernel == 1 {
            return sizes;
        }
        match self.rates.dilation(sizes.dilation, &format!("the convolution {}", quoted(name))) {
            Ok(dilation) => ConvSizes { dilation, ..sizes },
            Err(problem) => {
                self.problems.push(problem);
                sizes
            }
        }
    }

    /// Adds a convolution. The past starts at rest.
    pub(super) fn convolution(&mut self, name: &str, conv: &Conv, x: &Signal) -> Signal {
        let sizes = self.at_code_rate(conv.sizes, name);
        let ConvSizes { inputs, outputs, kernel, dilation, groups, bias } = sizes;
        let mut data = x.value;
        if sizes.past() > 0 {
            let past = self.by_channel(&format!("{name}_past"), &x.rest, sizes.past());
            data = self.computed(name, Op::Concat { axis: 2 }, vec![past, data]);
        }
        let shape = vec![outputs, inputs / groups, kernel];
        let weights = Tensor::from_f32(shape, &conv.weights).expect("as many values");
        let weights = self.graph.constant(&format!("{name}_weight"), &weights, &self.origin);
        let mut operands = vec![data, weights];
        if bias {
            let bias = Tensor::from_f32(vec![outputs], &conv.bias).expect("as many values");
            operands.push(self.graph.constant(&format!("{name}_bias"), &bias, &self.origin));
        }
        let value = self.graph.convolved(name, operands, [dilation, groups], &self.origin);
        Signal { value, rest: conv.at_rest(&x.rest) }
    }

    /// Adds an operation on each sample. `rest`: the operation as a function in f64.
    pub(super) fn map(
        &mut self,
        name: &str,
        op: impl Into<Elementwise>,
        x: &Signal,
        rest: impl Fn(f64) -> f64,
    ) -> Signal {
        let value = self.computed(name, Op::elementwise(op), vec![x.value]);
        Signal { value, rest: x.rest.iter().map(|value| rest(*value)).collect() }
    }

    /// Adds an operation on two signals with equal numbers of channels. `rest`: the operation as a
    /// function in f64.
    fn zip(
        &mut self,
        name: &str,
        op: Binary,
        [a, b]: [&Signal; 2],
        rest: fn(f64, f64) -> f64,
    ) -> Signal {
        let value = self.computed(name, Op::elementwise(op), vec![a.value, b.value]);
        Signal { value, rest: a.rest.iter().zip(&b.rest).map(|(a, b)| rest(*a, *b)).collect() }
    }

    /// Adds two signals, element by element.
    pub(super) fn add(&mut self, name: &str, a: &Signal, b: &Signal) -> Signal {
        self.zip(name, Binary::Add, [a, b], |a, b| a + b)
    }

    /// Subtracts the second signal from the first, element by element.
    pub(super) fn subtract(&mut self, name: &str, a: &Signal, b: &Signal) -> Signal {
        self.zip(name, Binary::Subtract, [a, b], |a, b| a - b)
    }

    /// Multiplies two signals, element by element.
    pub(super) fn multiply(&mut self, name: &str, a: &Signal, b: &Signal) -> Signal {
        self.zip(name, Binary::Multiply, [a, b], |a, b| a * b)
    }

    /// Divides the first signal by the second, element by element.
    pub(super) fn divide(&mut self, name: &str, a: &Signal, b: &Signal) -> Signal {
        self.zip(name, Binary::Divide, [a, b], |a, b| a / b)
    }

    /// Adds a signal that never changes, with one value for each channel.
    pub(super) fn constant(&mut self, name: &str, values: &[f32]) -> Signal {
        let rest: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        Signal { value: self.by_channel(name, &rest, 1), rest }
    }

    /// Adds a signal with the same number in every channel.
    pub(super) fn number(&mut self, name: &str, number: f32, channels: usize) -> Signal {
        let tensor = Tensor::from_f32(vec![1], &[number]).expect("one value");
        let value = self.graph.constant(name, &tensor, &self.origin);
        Signal { value, rest: vec![f64::from(number); channels] }
    }

    /// Adds a PReLU: `x`, or `slopes x` where x is negative.
    pub(super) fn prelu(&mut self, name: &str, slopes: &[f32], x: &Signal) -> Signal {
        let slopes = self.constant(&format!("{name}_slopes"), slopes);
        let value =
            self.computed(name, Op::elementwise(Primitive::PRelu), vec![x.value, slopes.value]);
        let activated = |(x, slope): (&f64, &f64)| if *x < 0.0 { x * slope } else { *x };
        Signal { value, rest: x.rest.iter().zip(&slopes.rest).map(activated).collect() }
    }

    /// Splits the channels into the first and the second half.
    pub(super) fn halves(&mut self, name: &str, x: &Signal) -> [Signal; 2] {
        let axis = Tensor::from_i64(Vec::new(), &[1]).expect("one value");
        let axis = self.graph.constant(&format!("{name}_axis"), &axis, &self.origin);
        let [first, second] = ["first", "second"]
            .map(|half| self.graph.value(&format!("{name}_{half}"), None, &self.origin));
        let (op, inputs) = (Op::Split { parts: 2 }, vec![x.value, axis]);
        let node = self.graph.node(name, op, inputs, vec![first, second], Vec::new(), &self.origin);
        self.graph.model.nodes[node].kind = "Split".to_owned();
        let (before, behind) = x.rest.split_at(x.rest.len() / 2);
        [
            Signal { value: first, rest: before.to_vec() },
            Signal { value: second, rest: behind.to_vec() },
        ]
    }
}
