use super::Activation;

/// Where the reset gate of a GRU stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetGate {
    /// `n = g(Wx + R(r.h) + b)`: `linear_before_reset` = 0.
    BeforeMatMul,
    /// `n = g(Wx + Wb + r.(Rh + Rb))`: `linear_before_reset` = 1.
    AfterMatMul,
}

/// Which recurrent cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// RNNCell: one gate.
    Rnn,
    /// GRUCell: gates z, r, h in this order.
    Gru(ResetGate),
    /// AUGRUCell: a GRU whose update gate is scaled by an attention, `z <- (1 - a).z`.
    Augru(ResetGate),
    /// LSTMCell: gates f, i, c, o in this order.
    Lstm,
}

impl CellKind {
    /// How many gates W and R hold.
    pub fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru(_) | Self::Augru(_) => 3,
            Self::Lstm => 4,
        }
    }

    /// How many hidden_size-long parts B holds.
    pub fn bias_parts(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru(ResetGate::BeforeMatMul) | Self::Augru(ResetGate::BeforeMatMul) => 3,
            Self::Gru(ResetGate::AfterMatMul) | Self::Augru(ResetGate::AfterMatMul) => 4,
            Self::Lstm => 4,
        }
    }

    /// How many activation functions it takes, and which when none is given.
    pub fn default_activations(self) -> &'static [Activation] {
        match self {
            Self::Rnn => &[Activation::Tanh],
            Self::Gru(_) | Self::Augru(_) => &[Activation::Sigmoid, Activation::Tanh],
            Self::Lstm => &[Activation::Sigmoid, Activation::Tanh, Activation::Tanh],
        }
    }

    /// Whether it has a cell state c beside its hidden state h.
    pub fn has_cell_state(self) -> bool {
        self == Self::Lstm
    }

    /// Whether it takes an attention a.
    pub fn has_attention(self) -> bool {
        matches!(self, Self::Augru(_))
    }

    /// The place of the reset gate, where there is one.
    pub fn reset_gate(self) -> Option<ResetGate> {
        match self {
            Self::Gru(reset) | Self::Augru(reset) => Some(reset),
            Self::Rnn | Self::Lstm => None,
        }
    }

    /// Whether a gate multiplies r * h by R: the candidate of a GRU that resets before.
    pub fn multiplies_reset_h(self, gate: usize) -> bool {
        self.reset_gate() == Some(ResetGate::BeforeMatMul) && self.gate(gate) == Some('h')
    }

    /// Its gates in W and R, a letter each, h being the candidate of a GRU and c that of an LSTM.
    pub fn gate_letters(self) -> &'static str {
        match self {
            Self::Rnn => "h",
            Self::Gru(_) | Self::Augru(_) => "zrh",
            Self::Lstm => "fico",
        }
    }

    /// The letter of one of them, of a cell that has several.
    fn gate(self, place: usize) -> Option<char> {
        self.gate_letters().chars().nth(place).filter(|_| self.gates() > 1)
    }

    /// What messages and comments call one step: its name in OpenVINO.
    pub fn op_name(self) -> &'static str {
        match self {
            Self::Rnn => "RNNCell",
            Self::Gru(_) => "GRUCell",
            Self::Augru(_) => "AUGRUCell",
            Self::Lstm => "LSTMCell",
        }
    }

    /// What messages and comments call a sequence: its name in OpenVINO.
    pub fn sequence_name(self) -> &'static str {
        match self {
            Self::Rnn => "RNNSequence",
            Self::Gru(_) => "GRUSequence",
            Self::Augru(_) => "AUGRUSequence",
            Self::Lstm => "LSTMSequence",
        }
    }
}

/// In which order W, R and B of an LSTM hold its gates: what LSTMCell-1 calls `weights_format`. c
/// is the candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum LstmGateOrder {
    /// OpenVINO's own.
    #[default]
    Fico,
    Icof,
    Ifco,
    Ifoc,
    Iofc,
}

impl LstmGateOrder {
    /// Every order, in the order in which messages list them.
    pub const ALL: [Self; 5] = [Self::Fico, Self::Icof, Self::Ifco, Self::Ifoc, Self::Iofc];

    /// OpenVINO's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fico => "fico",
            Self::Icof => "icof",
            Self::Ifco => "ifco",
            Self::Ifoc => "ifoc",
            Self::Iofc => "iofc",
        }
    }

    /// Where each of the gates f, i, c, o stands.
    pub fn places(self) -> [usize; 4] {
        ['f', 'i', 'c', 'o'].map(|gate| self.name().chars().position(|c| c == gate).unwrap_or_default())
    }
}

/// `hidden_size` elements of a tensor of biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BiasPart {
    /// Which of the tensors of biases.
    pub tensor: usize,
    /// Which part of it.
    pub part: usize,
}

/// How tensors hold the weights of a cell: gates and parts of B are counted as [`CellKind`] lists
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightLayout {
    /// Where in W and R each gate stands.
    pub gates: Vec<usize>,
    /// What each part of B is the sum of, added in f32 and in this order; of nothing, it is zero.
    pub biases: Vec<Vec<BiasPart>>,
    /// Where in P the peepholes of f, i and o stand.
    pub peepholes: [usize; 3],
    /// Whether the tensors of a sequence have the number of directions in front.
    pub directions: bool,
}

impl WeightLayout {
    /// OpenVINO's; `order` is that of an LSTM.
    pub fn new(kind: CellKind, order: LstmGateOrder) -> Self {
        let places = match kind {
            CellKind::Lstm => order.places().to_vec(),
            _ => (0..kind.bias_parts()).collect(),
        };
        let gates = places[..kind.gates()].to_vec();
        let biases = places.into_iter().map(|part| vec![BiasPart { tensor: 0, part }]).collect();
        Self { gates, biases, peepholes: [0, 1, 2], directions: true }
    }

    /// How many parts each tensor of biases holds.
    pub fn bias_tensors(&self) -> Vec<usize> {
        let mut tensors = Vec::new();
        for BiasPart { tensor, part } in self.biases.iter().flatten().copied() {
            tensors.resize(tensors.len().max(tensor + 1), 0);
            tensors[tensor] = tensors[tensor].max(part + 1);
        }
        tensors
    }

    /// The letters of the gates in the order in which W and R hold them.
    pub fn order(&self, kind: CellKind) -> String {
        let letter = |place| self.gates.iter().zip(kind.gate_letters().chars()).find(|(at, _)| **at == place);
        (0..self.gates.len()).filter_map(letter).map(|(_, letter)| letter).collect()
    }
}

/// Which gate of an LSTM is 1 minus the other: what W, R and B hold for it is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupled {
    /// `i = 1 - f`: OpenVINO's input_forget.
    Input,
    /// `f = 1 - i`: ONNX's input_forget.
    Forget,
}

impl Coupled {
    /// What it computes.
    pub fn equation(self) -> &'static str {
        match self {
            Self::Input => "i = 1 - f",
            Self::Forget => "f = 1 - i",
        }
    }
}

/// A recurrent cell's attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Which cell.
    pub kind: CellKind,
    /// The length of h.
    pub hidden_size: usize,
    /// As many as [`CellKind::default_activations`], in that order (GRU: f for z and r, g for the
    /// candidate; LSTM: f for f, i and o, g for the candidate, h for the cell state). Of a
    /// bidirectional sequence they are those of both directions, or twice as many: those of the
    /// reverse direction after those of the forward one.
    pub activations: Vec<Activation>,
    /// The bound on every gate's pre-activation sum; positive and finite where present.
    pub clip: Option<f32>,
    /// How W, R and the biases hold its weights.
    pub layout: WeightLayout,
    /// LSTM: whether one of its gates follows from another.
    pub coupled: Option<Coupled>,
    /// Whether B must be among the inputs; else it may be missing, and is zero.
    pub bias_required: bool,
    /// LSTM: whether the last input is P `[3*H]`, peepholes of f, i and o.
    pub peepholes: bool,
}

impl Cell {
    /// The bound that a number stands for: none, as OpenVINO has it, unless it is positive and
    /// finite.
    pub fn clip_bound(clip: f32) -> Option<f32> {
        (clip > 0.0 && clip.is_finite()).then_some(clip)
    }

    /// A cell as its kind computes it unless said otherwise.
    pub fn new(kind: CellKind, hidden_size: usize) -> Self {
        Self {
            kind,
            hidden_size,
            activations: kind.default_activations().to_vec(),
            clip: None,
            layout: WeightLayout::new(kind, LstmGateOrder::default()),
            coupled: None,
            bias_required: false,
            peepholes: false,
        }
    }

    /// The activations of a direction, 0 being the only or the forward one.
    pub fn activations_of(&self, direction: usize) -> &[Activation] {
        let count = self.kind.default_activations().len();
        self.activations.get(direction * count..(direction + 1) * count).unwrap_or(&self.activations)
    }
}

/// Which way through time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Direction {
    Forward,
    Reverse,
    Bidirectional,
}

impl Direction {
    /// Every direction, in the order in which messages list them.
    pub const ALL: [Self; 3] = [Self::Forward, Self::Reverse, Self::Bidirectional];

    /// OpenVINO's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::Bidirectional => "bidirectional",
        }
    }

    /// D, how many sets of weights it takes.
    pub fn count(self) -> usize {
        if self == Self::Bidirectional { 2 } else { 1 }
    }
}
