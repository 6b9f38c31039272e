//! Linear attention: each head has a matrix as state, and every step adds an outer product to the
//! matrix.

use super::{
    CoreModel, CoreOp, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime, Reach,
    RecurrentSteps, Reference, Source, StateEnds, StateEndsMut, StepOrder, StreamRows, Treatment,
    Work, Zeros, drop_unneeded, product,
};
use crate::model::counted;

/// Linear attention, one step or a sequence. Each step computes, for each row of the batch and each
/// head, with the matrix S `[K, V]` of the head:
///
/// * `w = v`; with a rate, `w = rate (v - sum_i (k[i] decay[i]) S[i])`
/// * `S'[i] = k[i] w + decay[i] S[i]`
/// * `y = scale sum_i q[i] S'[i]` for each query of the head
///
/// Without a decay, every `decay[i]` is 1; a decay of heads has one factor for all i. A sum over i
/// consists of [`Self::chains`] partial sums, each of every [`Self::chains`]th element; the partial
/// sums are added in pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearAttention {
    /// The sizes.
    pub sizes: AttentionSizes,
    /// q, `[N, T, heads * queries * K]`
    pub query: Source,
    /// k, `[N, T, heads * K]`
    pub key: Source,
    /// v, `[N, T, heads * V]`
    pub value: Source,
    /// S before the first step, `[N, heads, K, V]`
    pub state: Source,
    /// The factor of S. `None`: 1.
    pub decay: Option<Decay>,
    /// The rate of the delta rule, `[N, T, heads]`. `None`: `w = v`.
    pub rate: Option<Source>,
    /// The factor of y.
    pub scale: f32,
    /// `[N, T, heads * queries * V]`, as a value. `None` if unused.
    pub y: Option<usize>,
    /// S after the last step, as a value. `None` if unused.
    pub last: Option<usize>,
}

/// The sizes of a [`LinearAttention`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionSizes {
    /// N: batch size.
    pub batch: usize,
    /// T: steps.
    pub steps: usize,
    /// Heads, each with one matrix for every batch row.
    pub heads: usize,
    /// Queries for each head.
    pub queries: usize,
    /// K: elements of a key.
    pub key: usize,
    /// V: elements of a value.
    pub value: usize,
}

/// The factors that a step multiplies the state by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// One factor for each head, `[N, T, heads]`.
    OfHeads(Source),
    /// One factor for each row of each matrix, `[N, T, heads * K]`.
    OfKeys(Source),
}

impl Decay {
    /// The tensor of the factors.
    pub fn source(self) -> Source {
        match self {
            Self::OfHeads(source) | Self::OfKeys(source) => source,
        }
    }

    fn source_mut(&mut self) -> &mut Source {
        match self {
            Self::OfHeads(source) | Self::OfKeys(source) => source,
        }
    }
}

impl AttentionSizes {
    /// Elements of a matrix of state.
    pub fn matrix(&self) -> usize {
        self.key * self.value
    }
}

impl LinearAttention {
    /// The number of partial sums in a sum over the rows of a matrix.
    pub fn chains(&self) -> usize {
        // short rows get more partial sums: one chain of additions takes longer than the loads
        match self.sizes {
            AttentionSizes { key, value, .. } if key.is_multiple_of(4) && value <= 16 => 4,
            AttentionSizes { key, .. } if key.is_multiple_of(2) => 2,
            _ => 1,
        }
    }

    /// The operands that have one element for each step.
    pub fn over_time(&self) -> impl Iterator<Item = Source> {
        let gates = [self.decay.map(Decay::source), self.rate];
        [self.query, self.key, self.value].into_iter().chain(gates.into_iter().flatten())
    }

    fn sources(&mut self) -> impl Iterator<Item = &mut Source> {
        let gates = [self.decay.as_mut().map(Decay::source_mut), self.rate.as_mut()];
        let always = [&mut self.query, &mut self.key, &mut self.value, &mut self.state];
        always.into_iter().chain(gates.into_iter().flatten())
    }
}

impl Operation for LinearAttention {
    fn facts(&self) -> Facts<'_> {
        let AttentionSizes { batch, steps, heads, queries, key, value } = self.sizes;
        let products = 1 + queries + usize::from(self.rate.is_some());
        Facts {
            name: "linear_attention",
            operands: self.over_time().chain([self.state]).collect(),
            weights: Vec::new(),
            outputs: [self.y, self.last].into_iter().flatten().collect(),
            work: Work::Products { steps, each: product(&[batch, heads, products, key, value]) },
            over_time: OverTime::Recurrent(RecurrentSteps {
                states: vec![StateEnds { initial: self.state, last: self.last, is_each: false }],
                over_time: self.over_time().collect(),
                steps: Some(steps),
                order: StepOrder::Forward,
                each: self.y.map(|y| (y, 1)),
                // the kernel reads each element of the state before it writes the element
                in_place: true,
            }),
            zeros: Zeros::Unknown,
            numbers: OutputNumbers::Any,
            product: None,
            kernel: KernelForm::Alone,
            notation: Notation::Function("linear_attention"),
            functions: Vec::new(),
            denormals: Treatment::EveryStep,
            constants: "constant",
            reach: Reach::Any,
            between_streams: None,
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        let AttentionSizes { batch, heads, key, value, .. } = self.sizes;
        let shape = vec![batch, heads, key, value];
        let (initial, last) = (&mut self.state, &mut self.last);
        vec![StateEndsMut { name: "state", shape, initial, last }]
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        self.sizes.batch *= rows.count;
        self.sources().for_each(|source| rows.copy(source));
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        let CoreOp::LinearAttention(other) = other else { return false };
        let sizes = |each: &Self| AttentionSizes { steps: 1, ..each.sizes };
        let of_heads =
            |attention: &Self| attention.decay.map(|decay| matches!(decay, Decay::OfHeads(_)));
        sizes(self) == sizes(other)
            && of_heads(self) == of_heads(other)
            && self.rate.is_some() == other.rate.is_some()
            && self.scale == other.scale
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        self.sources().for_each(|source| visit(Reference::Source(source)));
        let values = [&mut self.y, &mut self.last];
        values.into_iter().flatten().for_each(|value| visit(Reference::Value(value)));
    }

    fn drop_outputs(&mut self, needed: &[bool]) {
        [&mut self.y, &mut self.last].into_iter().for_each(|value| drop_unneeded(value, needed));
    }

    fn text(&self, _: &CoreModel) -> String {
        let AttentionSizes { batch, steps, heads, queries, key, value } = self.sizes;
        let gate = |name: &str, source: Option<Source>| {
            source.map_or_else(String::new, |source| format!(", {name} = {source}"))
        };
        format!(
            "linear attention, batch {batch}, {}, {heads} x {queries} of [{key}, {value}]\n\
             q = {}, k = {}, v = {}, S = {}{}{}, scale {}",
            counted(steps, "step"),
            self.query,
            self.key,
            self.value,
            self.state,
            gate("decay", self.decay.map(Decay::source)),
            gate("rate", self.rate),
            self.scale,
        )
    }
}
