//! Linear attention, as models state it.

/// [`Op::LinearAttention`](super::Op::LinearAttention).
#[derive(Clone, Debug, PartialEq)]
pub struct LinearAttention {
    /// The change of the state in a step.
    pub rule: UpdateRule,
    /// Heads of the queries.
    pub query_heads: i64,
    /// Heads of keys and values, each with a matrix of state. Neighbouring heads of the queries
    /// share a matrix; with more matrices than heads of queries, neighbouring matrices share a
    /// query.
    pub heads: i64,
    /// The factor of the outputs. `None`: one by the root of a key's length.
    pub scale: Option<f32>,
    /// True if the last input is the state before the first step; otherwise the state is zero.
    pub has_past: bool,
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
    /// All rules, each with its name in files.
    pub const ALL: [(&'static str, Self); 4] = [
        ("linear", Self::Linear),
        ("gated", Self::Gated),
        ("delta", Self::Delta),
        ("gated_delta", Self::GatedDelta),
    ];

    /// True if the state decays.
    pub fn has_decay(self) -> bool {
        matches!(self, Self::Gated | Self::GatedDelta)
    }

    /// True if the change of the state has a rate.
    pub fn has_rate(self) -> bool {
        matches!(self, Self::Delta | Self::GatedDelta)
    }
}
