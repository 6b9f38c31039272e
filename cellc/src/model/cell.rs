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

    /// The operation's name in OpenVINO, for one step.
    pub fn op_name(self) -> &'static str {
        match self {
            Self::Rnn => "RNNCell",
            Self::Gru(_) => "GRUCell",
            Self::Augru(_) => "AUGRUCell",
            Self::Lstm => "LSTMCell",
        }
    }

    /// The operation's name in OpenVINO, for a sequence.
    pub fn sequence_name(self) -> &'static str {
        match self {
            Self::Rnn => "RNNSequence",
            Self::Gru(_) => "GRUSequence",
            Self::Augru(_) => "AUGRUSequence",
            Self::Lstm => "LSTMSequence",
        }
    }
}

/// In which order W, R and B of an LSTM hold its gates: what LSTMCell-1 calls `weights_format`. c is the candidate.
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

/// A recurrent cell's attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Which cell.
    pub kind: CellKind,
    /// The length of h.
    pub hidden_size: usize,
    /// As many as [`CellKind::default_activations`], in that order (GRU: f for z and r, g for the candidate; LSTM: f for
    /// f, i and o, g for the candidate, h for the cell state).
    pub activations: Vec<Activation>,
    /// The bound on every gate's pre-activation sum; positive and finite where present.
    pub clip: Option<f32>,
    /// LSTM: the order of the gates in W, R and B.
    pub gate_order: LstmGateOrder,
    /// LSTM: `i = 1 - f`, and what W, R and B hold for i is not used.
    pub input_forget: bool,
    /// LSTM: whether the last input is P `[3*H]`, peepholes of f, i and o.
    pub peepholes: bool,
}

impl Cell {
    /// A cell as its kind computes it unless said otherwise.
    pub fn new(kind: CellKind, hidden_size: usize) -> Self {
        Self {
            kind,
            hidden_size,
            activations: kind.default_activations().to_vec(),
            clip: None,
            gate_order: LstmGateOrder::default(),
            input_forget: false,
            peepholes: false,
        }
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
