//! What is computed: the workloads as data. The build script reads this file too.

use cellc::Activation::{self, Relu, Sigmoid, Tanh};
use cellc::internals::model::{CellKind, ResetGate};

/// A network of one layer, with its weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// As in the tables of the README.
    pub(crate) name: &'static str,
    /// What it computes.
    pub(crate) network: Network,
}

/// The layer of a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Network {
    Cell(Cell),
    Convolution(Convolution),
}

/// A convolution whose output is as long as its input: windows move element by element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convolution {
    /// Channels of x and of the output.
    pub(crate) channels: (usize, usize),
    /// Groups of channels: the outputs of one are made of the channels of the same.
    pub(crate) groups: usize,
    /// Elements of a channel, along each dimension.
    pub(crate) size: &'static [usize],
    /// Taps along each dimension.
    pub(crate) taps: &'static [usize],
    /// Zeros in front of the first element of each dimension, and behind the last.
    pub(crate) pads: (&'static [usize], &'static [usize]),
}

/// A recurrent cell, or a sequence of its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
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

/// A function that a contender may compute in the place of the workload's own, where that says
/// something or where it has no other.
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

/// The steps of a workload that is a sequence. Fewer where nothing is timed, since the bound of its
/// error, which the header of generated files states, takes as many times as long.
const T: usize = if cfg!(debug_assertions) { 4 } else { 100 };

const BEFORE: CellKind = CellKind::Gru(ResetGate::BeforeMatMul);
const AFTER: CellKind = CellKind::Gru(ResetGate::AfterMatMul);

/// Every workload. The GRUs that reset before the product are the cells of RNNoise; those of 1
/// input take samples of audio one by one. The convolutions over time are causal.
pub(crate) const WORKLOADS: [Workload; 19] = [
    workload("GRU 16 -> 128", cell(AFTER, 16, 128, &[Sigmoid, Tanh])),
    workload("GRU 24 -> 24, reset before", cell(BEFORE, 24, 24, &[Sigmoid, Relu])),
    workload("GRU 90 -> 48, reset before", cell(BEFORE, 90, 48, &[Sigmoid, Relu])),
    workload("GRU 114 -> 96, reset before", cell(BEFORE, 114, 96, &[Sigmoid, Relu])),
    workload("GRU 256 -> 256", cell(AFTER, 256, 256, &[Sigmoid, Tanh])),
    workload("GRU 512 -> 512", cell(AFTER, 512, 512, &[Sigmoid, Tanh])),
    workload("GRU 1024 -> 1024", cell(AFTER, 1024, 1024, &[Sigmoid, Tanh])),
    workload("GRU 16 -> 128, batch 8", Cell { batch: 8, ..cell(AFTER, 16, 128, &[Sigmoid, Tanh]) }),
    workload(
        "GRU 16 -> 128, batch 32",
        Cell { batch: 32, ..cell(AFTER, 16, 128, &[Sigmoid, Tanh]) },
    ),
    workload("RNN 16 -> 128", cell(CellKind::Rnn, 16, 128, &[Tanh])),
    workload("LSTM 16 -> 128", cell(CellKind::Lstm, 16, 128, &[Sigmoid, Tanh, Tanh])),
    workload("LSTM 256 -> 256", cell(CellKind::Lstm, 256, 256, &[Sigmoid, Tanh, Tanh])),
    workload(
        "GRU 16 -> 128, 100 steps",
        Cell { steps: T, ..cell(AFTER, 16, 128, &[Sigmoid, Tanh]) },
    ),
    workload(
        "GRU 512 -> 512, 100 steps",
        Cell { steps: T, ..cell(AFTER, 512, 512, &[Sigmoid, Tanh]) },
    ),
    workload("GRU 1 -> 8", cell(AFTER, 1, 8, &[Sigmoid, Tanh])),
    workload(
        "LSTM 1 -> 40, dense",
        Cell { head: true, ..cell(CellKind::Lstm, 1, 40, &[Sigmoid, Tanh, Tanh]) },
    ),
    convolution(
        "Convolution 64 -> 64, 3 taps",
        Convolution { channels: (64, 64), groups: 1, size: &[T], taps: &[3], pads: (&[2], &[0]) },
    ),
    convolution(
        "Convolution 16 -> 32, 3 x 3 taps",
        Convolution {
            channels: (16, 32),
            groups: 1,
            size: &[40, 20],
            taps: &[3, 3],
            pads: (&[1, 1], &[1, 1]),
        },
    ),
    convolution(
        "Convolution of 128 channels each, 9 taps",
        Convolution {
            channels: (128, 128),
            groups: 128,
            size: &[T],
            taps: &[9],
            pads: (&[8], &[0]),
        },
    ),
];

/// The largest cell of RNNoise with a state that fades and ends at denormal numbers: z is near 1,
/// and `z h` of so small an h is rounded to h again.
pub(crate) const FADING: Workload = workload(
    "GRU 114 -> 96, fading",
    Cell { fades: true, ..cell(BEFORE, 114, 96, &[Sigmoid, Relu]) },
);

/// The update gate's bias where h fades: z is about 0.98.
const HOLDING: f32 = 4.0;

/// Calls before x is zero where h fades.
const LEAD_IN: usize = 4;

/// Calls after which what fades has faded: from 1 to 2^-149 at 0.98 a call, three times over.
pub(crate) const FADED: usize = 16_000;

const fn workload(name: &'static str, cell: Cell) -> Workload {
    Workload { name, network: Network::Cell(cell) }
}

const fn cell(
    kind: CellKind,
    input_size: usize,
    hidden_size: usize,
    activations: &'static [Activation],
) -> Cell {
    Cell {
        kind,
        input_size,
        hidden_size,
        activations,
        batch: 1,
        steps: 1,
        head: false,
        fades: false,
    }
}

const fn convolution(name: &'static str, convolution: Convolution) -> Workload {
    Workload { name, network: Network::Convolution(convolution) }
}

/// W `[G*H, I]`, R `[G*H, H]` and B `[bias_parts*H]` of a cell; `[1, H]` and `[1]` of the dense
/// layer, if there is one.
pub(crate) struct CellWeights {
    pub(crate) w: Vec<f32>,
    pub(crate) r: Vec<f32>,
    pub(crate) b: Vec<f32>,
    pub(crate) head: Option<(Vec<f32>, f32)>,
}

impl Cell {
    /// Uniform in +-1/sqrt(H) as PyTorch draws them: a cell fed with its own state then neither
    /// grows nor dies away.
    pub(crate) fn weights(&self, variant: Variant) -> CellWeights {
        let range = 1.0 / (self.hidden_size as f32).sqrt();
        let stored =
            |v: f32| if variant == Variant::Rounded { (v * 256.0).round() / 256.0 } else { v };
        let mut numbers = Numbers(1).map(|v| stored(v * range));
        let mut draw = |len| numbers.by_ref().take(len).collect::<Vec<f32>>();
        let rows = self.kind.gates() * self.hidden_size;
        let (w, r) = (draw(rows * self.input_size), draw(rows * self.hidden_size));
        let mut b = draw(self.kind.bias_parts() * self.hidden_size);
        if self.fades {
            b.fill(0.0);
            b[..self.hidden_size].fill(HOLDING);
        }
        CellWeights { w, r, b, head: self.head.then(|| (draw(self.hidden_size), draw(1)[0])) }
    }

    /// The activations of a variant.
    pub(crate) fn activations(&self, variant: Variant) -> Vec<Activation> {
        let of = |a: &Activation| if variant == Variant::Tanh && *a == Relu { Tanh } else { *a };
        self.activations.iter().map(of).collect()
    }

    /// The elements of the output that is compared, of a row and step.
    fn output_size(&self, variant: Variant) -> usize {
        match variant {
            Variant::Product => self.kind.gates() * self.hidden_size,
            Variant::Itself | Variant::Tanh | Variant::Rounded if self.head => 1,
            Variant::Itself | Variant::Tanh | Variant::Rounded => self.hidden_size,
        }
    }

    fn describe(&self) -> String {
        let cell = match self.kind {
            CellKind::Rnn => "RNN",
            CellKind::Gru(ResetGate::AfterMatMul) => "GRU, linear_before_reset",
            CellKind::Gru(ResetGate::BeforeMatMul) => "GRU, reset before",
            CellKind::Augru(_) => "AUGRU",
            CellKind::Lstm => "LSTM",
        };
        let mut activations: Vec<_> = self.activations.iter().map(|a| a.name()).collect();
        activations.dedup();
        let mut text = format!(
            "{cell}, {}, {} inputs, {} units",
            activations.join(" and "),
            self.input_size,
            self.hidden_size
        );
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

impl Convolution {
    /// `[channels of the output, channels of a group, taps]` and a bias for each channel of the
    /// output, uniform in +-1 over the square root of the terms of a sum, as PyTorch draws them.
    pub(crate) fn weights(&self) -> (Vec<f32>, Vec<f32>) {
        let terms = self.terms();
        let range = 1.0 / (terms as f32).sqrt();
        let mut numbers = Numbers(1).map(|v| v * range);
        let w = numbers.by_ref().take(self.channels.1 * terms).collect();
        (w, numbers.take(self.channels.1).collect())
    }

    /// `[1, channels, ..]`, of x and of the output.
    pub(crate) fn shapes(&self) -> [Vec<usize>; 2] {
        [self.channels.0, self.channels.1].map(|channels| [&[1, channels], self.size].concat())
    }

    /// `[channels of the output, channels of a group, ..]`.
    pub(crate) fn weight_shape(&self) -> Vec<usize> {
        [&[self.channels.1, self.channels.0 / self.groups], self.taps].concat()
    }

    /// The terms of a sum.
    fn terms(&self) -> usize {
        self.weight_shape()[1..].iter().product()
    }

    fn describe(&self) -> String {
        let by =
            |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let (dimensions, taps, size) = (self.size.len(), by(self.taps), by(self.size));
        let groups = if self.groups > 1 { " each by itself" } else { "" };
        let (channels, outputs) = self.channels;
        format!(
            "{dimensions}-D convolution, {channels} to {outputs} channels{groups}, {taps} taps, {size} elements"
        )
    }
}

impl Workload {
    /// The cell, of those that have one.
    pub(crate) fn cell(&self) -> Option<&Cell> {
        match &self.network {
            Network::Cell(cell) => Some(cell),
            Network::Convolution(_) => None,
        }
    }

    /// All weights of the file, one after the other: W, R, B, the head and its bias; or those of
    /// the convolution and its bias.
    pub(crate) fn weights(&self) -> Vec<f32> {
        match &self.network {
            Network::Cell(cell) => {
                let CellWeights { w, r, b, head } = cell.weights(Variant::Itself);
                let head = head.iter().flat_map(|(matrix, bias)| matrix.iter().chain([bias]));
                w.iter().chain(&r).chain(&b).chain(head).copied().collect()
            }
            Network::Convolution(convolution) => {
                let (w, b) = convolution.weights();
                [w, b].concat()
            }
        }
    }

    /// Rows of x.
    pub(crate) fn batch(&self) -> usize {
        self.cell().map_or(1, |cell| cell.batch)
    }

    /// Steps of a call, as times are stated by step.
    pub(crate) fn steps(&self) -> usize {
        self.cell().map_or(1, |cell| cell.steps)
    }

    /// Whether x is zero after the first calls, and h fades.
    pub(crate) fn fades(&self) -> bool {
        self.cell().is_some_and(|cell| cell.fades)
    }

    /// The elements of x in a call: `[N, I]`, of a sequence `[N, T, I]`, of a convolution
    /// `[1, C, ..]`.
    pub(crate) fn input_len(&self, variant: Variant) -> usize {
        match &self.network {
            Network::Cell(cell) => {
                let states = if variant == Variant::Product { cell.hidden_size } else { 0 };
                cell.batch * cell.steps * (cell.input_size + states)
            }
            Network::Convolution(convolution) => convolution.shapes()[0].iter().product(),
        }
    }

    /// The elements of the output that is compared: h `[N, H]`, of a sequence y `[N, 1, T, H]`, of
    /// a dense layer y `[N, O]`, of a convolution `[1, C, ..]`.
    pub(crate) fn output_len(&self, variant: Variant) -> usize {
        match &self.network {
            Network::Cell(cell) => cell.batch * cell.steps * cell.output_size(variant),
            Network::Convolution(convolution) => convolution.shapes()[1].iter().product(),
        }
    }

    /// x of several calls, uniform in +-1: few enough to stay in the first level of cache beside
    /// small weights.
    pub(crate) fn inputs(&self, variant: Variant) -> Vec<f32> {
        let calls = (16 / (self.batch() * self.steps())).max(2);
        let calls = if self.cell().is_some() { calls } else { 2 };
        let mut inputs: Vec<f32> = Numbers(2).take(calls * self.input_len(variant)).collect();
        if self.fades() {
            inputs[LEAD_IN * self.input_len(variant)..].fill(0.0);
        }
        inputs
    }

    /// The calls whose inputs are not taken again.
    pub(crate) fn lead_in(&self) -> usize {
        if self.fades() { LEAD_IN } else { 0 }
    }

    /// The multiply-adds of a call: one for each element of W, R and the head, row and step; or of
    /// the weights and position.
    pub(crate) fn multiply_adds(&self) -> usize {
        match &self.network {
            Network::Cell(cell) => {
                let head = if cell.head { cell.hidden_size } else { 0 };
                let products =
                    cell.kind.gates() * cell.hidden_size * (cell.input_size + cell.hidden_size);
                cell.batch * cell.steps * (products + head)
            }
            Network::Convolution(of) => {
                of.channels.1 * of.terms() * of.size.iter().product::<usize>()
            }
        }
    }

    /// The name of the files of a variant: `gru_16_128_batch_8`.
    pub(crate) fn file(&self, variant: Variant) -> String {
        let words =
            self.name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let name = words.collect::<Vec<_>>().join("_").to_lowercase();
        match variant {
            Variant::Itself => name,
            Variant::Product => format!("{name}_product"),
            Variant::Tanh => format!("{name}_tanh"),
            Variant::Rounded => format!("{name}_rounded"),
        }
    }

    /// Those that are compiled or serve as a reference. Those of the cells of RNNoise are what
    /// oneDNN and nnnoiseless have.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        let mut all = vec![Variant::Itself];
        if let Network::Cell(cell) = &self.network {
            if cell.batch > 1 {
                all.push(Variant::Product);
            }
            if cell.activations.contains(&Relu) && !cell.fades {
                all.extend([Variant::Tanh, Variant::Rounded]);
            }
        }
        all
    }

    /// What it is, in words.
    pub(crate) fn describe(&self) -> String {
        match &self.network {
            Network::Cell(cell) => cell.describe(),
            Network::Convolution(convolution) => convolution.describe(),
        }
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

/// Uniform in +-1, the same in every run: Knuth's linear congruential generator modulo 2^64, its
/// high bits.
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = f32;

    fn next(&mut self) -> Option<f32> {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0)
    }
}
