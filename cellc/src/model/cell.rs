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
}

impl CellKind {
    /// How many gates W and R hold.
    pub fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru(_) => 3,
        }
    }

    /// How many hidden_size-long parts B holds.
    pub fn bias_parts(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru(ResetGate::BeforeMatMul) => 3,
            Self::Gru(ResetGate::AfterMatMul) => 4,
        }
    }

    /// How many activation functions it takes, and which when none is given.
    pub fn default_activations(self) -> &'static [Activation] {
        match self {
            Self::Rnn => &[Activation::Tanh],
            Self::Gru(_) => &[Activation::Sigmoid, Activation::Tanh],
        }
    }

    /// The operation's name in OpenVINO.
    pub fn op_name(self) -> &'static str {
        match self {
            Self::Rnn => "RNNCell",
            Self::Gru(_) => "GRUCell",
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
    /// As many as [`CellKind::default_activations`], in that order (GRU: f for z and r, g for the candidate).
    pub activations: Vec<Activation>,
    /// The bound on every gate's pre-activation sum; positive and finite where present.
    pub clip: Option<f32>,
}
