//! What is computed: the workloads as data. The build script reads this file too.

use cellc::Activation::{self, Relu, Sigmoid, Tanh};
use cellc::internals::model::{CellKind, ResetGate};

/// A recurrent network with its weights, of one cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// As in the tables of the README.
    pub(crate) name: &'static str,
    /// Which cell.
    pub(crate) kind: CellKind,
    /// I: the length of x.
    pub(crate) input_size: usize,
    /// H: the length of h.
    pub(crate) hidden_size: usize,
    /// As many as the kind takes.
    pub(crate) activations: &'static [Activation],
    /// N: rows of x and h.
    pub(crate) batch: usize,
    /// T: steps in a call; a cell makes one.
    pub(crate) steps: usize,
    /// Whether a dense layer with one output stands behind the cell.
    pub(crate) head: bool,
    /// Whether x is zero after the first calls, and h fades.
    pub(crate) fades: bool,
}

/// A function that a contender may compute in the place of the workload's own, where that says something or where it has no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The workload.
    Itself,
    /// A dense layer: `[x h]` times `[W R]`, nothing else. As many multiply-adds.
    Product,
    /// Tanh in the place of relu.
    Tanh,
    /// Weights in whole units of 1/256.
    Rounded,
}

/// The steps of a workload that is a sequence.
const T: usize = 100;

const BEFORE: CellKind = CellKind::Gru(ResetGate::BeforeMatMul);
const AFTER: CellKind = CellKind::Gru(ResetGate::AfterMatMul);

/// Every workload. The GRUs that reset before the product are the cells of RNNoise; those of 1 input take samples of audio one by one.
pub(crate) const WORKLOADS: [Workload; 16] = [
    cell("GRU 16 -> 128", AFTER, 16, 128, &[Sigmoid, Tanh]),
    cell("GRU 24 -> 24, reset before", BEFORE, 24, 24, &[Sigmoid, Relu]),
    cell("GRU 90 -> 48, reset before", BEFORE, 90, 48, &[Sigmoid, Relu]),
    cell("GRU 114 -> 96, reset before", BEFORE, 114, 96, &[Sigmoid, Relu]),
    cell("GRU 256 -> 256", AFTER, 256, 256, &[Sigmoid, Tanh]),
    cell("GRU 512 -> 512", AFTER, 512, 512, &[Sigmoid, Tanh]),
    cell("GRU 1024 -> 1024", AFTER, 1024, 1024, &[Sigmoid, Tanh]),
    Workload { batch: 8, ..cell("GRU 16 -> 128, batch 8", AFTER, 16, 128, &[Sigmoid, Tanh]) },
    Workload { batch: 32, ..cell("GRU 16 -> 128, batch 32", AFTER, 16, 128, &[Sigmoid, Tanh]) },
    cell("RNN 16 -> 128", CellKind::Rnn, 16, 128, &[Tanh]),
    cell("LSTM 16 -> 128", CellKind::Lstm, 16, 128, &[Sigmoid, Tanh, Tanh]),
    cell("LSTM 256 -> 256", CellKind::Lstm, 256, 256, &[Sigmoid, Tanh, Tanh]),
    Workload { steps: T, ..cell("GRU 16 -> 128, 100 steps", AFTER, 16, 128, &[Sigmoid, Tanh]) },
    Workload { steps: T, ..cell("GRU 512 -> 512, 100 steps", AFTER, 512, 512, &[Sigmoid, Tanh]) },
    cell("GRU 1 -> 8", AFTER, 1, 8, &[Sigmoid, Tanh]),
    Workload { head: true, ..cell("LSTM 1 -> 40, dense", CellKind::Lstm, 1, 40, &[Sigmoid, Tanh, Tanh]) },
];

/// The largest cell of RNNoise with a state that fades and ends at denormal numbers: z is near 1, and `z h` of so small an h is rounded to h again.
pub(crate) const FADING: Workload =
    Workload { fades: true, ..cell("GRU 114 -> 96, fading", BEFORE, 114, 96, &[Sigmoid, Relu]) };

/// The update gate's bias where h fades: z is about 0.98.
const HOLDING: f32 = 4.0;

/// Calls before x is zero where h fades.
const LEAD_IN: usize = 4;

/// Calls after which what fades has faded: from 1 to 2^-149 at 0.98 a call, three times over.
pub(crate) const FADED: usize = 16_000;

const fn cell(
    name: &'static str,
    kind: CellKind,
    input_size: usize,
    hidden_size: usize,
    activations: &'static [Activation],
) -> Workload {
    Workload { name, kind, input_size, hidden_size, activations, batch: 1, steps: 1, head: false, fades: false }
}

/// W `[G*H, I]`, R `[G*H, H]` and B `[bias_parts*H]` of the cell; `[1, H]` and `[1]` of the dense layer, if there is one.
pub(crate) struct Weights {
    pub(crate) w: Vec<f32>,
    pub(crate) r: Vec<f32>,
    pub(crate) b: Vec<f32>,
    pub(crate) head: Option<(Vec<f32>, f32)>,
}

impl Weights {
    /// W, R, B, the head and its bias, one after the other.
    pub(crate) fn all(&self) -> Vec<f32> {
        let head = self.head.iter().flat_map(|(matrix, bias)| matrix.iter().chain([bias]));
        self.w.iter().chain(&self.r).chain(&self.b).chain(head).copied().collect()
    }
}

impl Workload {
    /// Uniform in +-1/sqrt(H) as PyTorch draws them: a cell fed with its own state then neither grows nor dies away.
    pub(crate) fn weights(&self, variant: Variant) -> Weights {
        let range = 1.0 / (self.hidden_size as f32).sqrt();
        let stored = |v: f32| if variant == Variant::Rounded { (v * 256.0).round() / 256.0 } else { v };
        let mut numbers = Numbers(1).map(|v| stored(v * range));
        let mut draw = |len| numbers.by_ref().take(len).collect::<Vec<f32>>();
        let rows = self.kind.gates() * self.hidden_size;
        let (w, r) = (draw(rows * self.input_size), draw(rows * self.hidden_size));
        let mut b = draw(self.kind.bias_parts() * self.hidden_size);
        if self.fades {
            b.fill(0.0);
            b[..self.hidden_size].fill(HOLDING);
        }
        Weights { w, r, b, head: self.head.then(|| (draw(self.hidden_size), draw(1)[0])) }
    }

    /// The elements of x in a call: `[N, I]`, of a sequence `[N, T, I]`.
    pub(crate) fn input_len(&self, variant: Variant) -> usize {
        let row = match variant {
            Variant::Product => self.input_size + self.hidden_size,
            Variant::Itself | Variant::Tanh | Variant::Rounded => self.input_size,
        };
        self.batch * self.steps * row
    }

    /// The elements of the output that is compared: h `[N, H]`, of a sequence y `[N, 1, T, H]`, of a dense layer y `[N, O]`.
    pub(crate) fn output_len(&self, variant: Variant) -> usize {
        let row = match variant {
            Variant::Product => self.kind.gates() * self.hidden_size,
            Variant::Itself | Variant::Tanh | Variant::Rounded => {
                if self.head {
                    1
                } else {
                    self.hidden_size
                }
            }
        };
        self.batch * self.steps * row
    }

    /// x of several calls, uniform in +-1: few enough to stay in the first level of cache beside small weights.
    pub(crate) fn inputs(&self, variant: Variant) -> Vec<f32> {
        let calls = (16 / (self.batch * self.steps)).max(2);
        let mut inputs: Vec<f32> = Numbers(2).take(calls * self.input_len(variant)).collect();
        if self.fades {
            inputs[LEAD_IN * self.input_len(variant)..].fill(0.0);
        }
        inputs
    }

    /// The calls whose inputs are not taken again.
    pub(crate) fn lead_in(&self) -> usize {
        if self.fades { LEAD_IN } else { 0 }
    }

    /// The multiply-adds of a call: one for each element of W, R and the head, row and step.
    pub(crate) fn multiply_adds(&self) -> usize {
        let cell = self.kind.gates() * self.hidden_size * (self.input_size + self.hidden_size);
        let head = if self.head { self.hidden_size } else { 0 };
        self.batch * self.steps * (cell + head)
    }

    /// The name of the files of a variant: `gru_16_128_batch_8`.
    pub(crate) fn file(&self, variant: Variant) -> String {
        let words = self.name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let name = words.collect::<Vec<_>>().join("_").to_lowercase();
        match variant {
            Variant::Itself => name,
            Variant::Product => format!("{name}_product"),
            Variant::Tanh => format!("{name}_tanh"),
            Variant::Rounded => format!("{name}_rounded"),
        }
    }

    /// Those that are compiled or serve as a reference. Those of the cells of RNNoise are what oneDNN and nnnoiseless have.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        let mut all = vec![Variant::Itself];
        if self.batch > 1 {
            all.push(Variant::Product);
        }
        if self.activations.contains(&Relu) && !self.fades {
            all.extend([Variant::Tanh, Variant::Rounded]);
        }
        all
    }

    /// The activations of a variant.
    pub(crate) fn activations(&self, variant: Variant) -> Vec<Activation> {
        let of = |a: &Activation| if variant == Variant::Tanh && *a == Relu { Tanh } else { *a };
        self.activations.iter().map(of).collect()
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
        let mut activations: Vec<_> = self.activations.iter().map(|a| a.name()).collect();
        activations.dedup();
        let mut text =
            format!("{cell}, {}, {} inputs, {} units", activations.join(" and "), self.input_size, self.hidden_size);
        if self.head {
            text += ", a dense layer with 1 output";
        }
        if self.batch > 1 {
            text += &format!(", batch {}", self.batch);
        }
        if self.steps > 1 {
            text += &format!(", {} steps in a call", self.steps);
        }
        if self.fades {
            text += ", x zero, a state that has faded";
        }
        text
    }
}

impl Variant {
    /// What a contender computes that computes something else.
    pub(crate) fn other_function(self) -> Option<&'static str> {
        match self {
            Self::Itself => None,
            Self::Product => Some("the matrix product only"),
            Self::Tanh => Some("tanh in the place of relu"),
            Self::Rounded => Some("weights of 8 bits"),
        }
    }
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
