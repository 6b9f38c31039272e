//! The attributes of linear attention.

/// [`Op::LinearAttention`](super::Op::LinearAttention).
#[derive(Clone, Debug, PartialEq)]
pub struct LinearAttention {
    /// The change of the state in a step.
    pub rule: UpdateRule,
    /// The heads. Each head of the values has a matrix of state. If there are more heads of queries
    /// than matrices, neighbouring heads of the queries share a matrix. If there are fewer heads of
    /// queries or of keys, neighbouring matrices share a head.
    pub heads: Heads,
    /// The factor of the outputs. `None`: 1 / sqrt(length of a key).
    pub scale: Option<f32>,
    /// True if the fourth input is the state before the first step; otherwise the state is zero.
    pub has_past: bool,
}

/// The heads of linear attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    /// An axis of queries, keys and values.
    Axis,
    /// The heads are joined in the last axis.
    Joined {
        /// Heads of the queries.
        queries: i64,
        /// Heads of keys and values.
        keys: i64,
        /// True if several heads of keys may share a head of the queries.
        shares_queries: bool,
    },
}

/// The change of the state S of linear attention in a step, with key k and value v.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateRule {
    /// `S + k v`
    Linear,
    /// `exp(g) S + k v`
    Gated,
    /// `S + rate k (v - k S)`
    Delta,
    /// `exp(g) S + rate k (v - k exp(g) S)`
    GatedDelta,
}

impl UpdateRule {
    /// All rules.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Gated, Self::Delta, Self::GatedDelta];

    /// The rule's name in ONNX.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Gated => "gated",
            Self::Delta => "delta",
            Self::GatedDelta => "gated_delta",
        }
    }

    /// The state S after a step, from the state before, key k, value v, decay g and rate b.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Linear => "S' = S + k v",
            Self::Gated => "S' = exp(g) S + k v",
            Self::Delta => "S' = S + b k (v - k S)",
            Self::GatedDelta => "S' = exp(g) S + b k (v - k exp(g) S)",
        }
    }

    /// True if the state decays.
    pub fn has_decay(self) -> bool {
        matches!(self, Self::Gated | Self::GatedDelta)
    }

    /// True if the change of the state has a rate.
    pub fn has_rate(self) -> bool {
        matches!(self, Self::Delta | Self::GatedDelta)
    }
}
