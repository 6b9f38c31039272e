//! Recurrent cells.

use super::{Source, WeightSource};
use crate::model::{Activation, CellKind, Coupled, LedgerEntry, WeightLayout};

/// A recurrent cell in one direction, one step or a sequence, all sizes known.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreCell {
    /// The layer's name; may be anything.
    pub name: String,
    /// The kind of cell.
    pub kind: CellKind,
    /// N: rows of x and h.
    pub batch: usize,
    /// I: the length of a row of x.
    pub input_size: usize,
    /// H: the length of a row of h.
    pub hidden_size: usize,
    /// The activations; the kind determines their number.
    pub activations: Vec<Activation>,
    /// The bound on every gate's pre-activation sum.
    pub clip: Option<f32>,
    /// The layout of the weights in `w`, `r` and `b`.
    pub layout: WeightLayout,
    /// LSTM: true if the input gate is 1 - f.
    pub coupled: Option<Coupled>,
    /// x, `[N, I]`; of a sequence `[N, T, I]`.
    pub x: Source,
    /// h, `[N, H]`; of a sequence `[N, 1, H]`.
    pub h: Source,
    /// c, as h; LSTM only.
    pub c: Option<Source>,
    /// a, `[N, 1]`, of a sequence `[N, T, 1]`; AUGRU only.
    pub a: Option<Source>,
    /// W, `[D, G*H, I]` or, where D is 1, `[G*H, I]`.
    pub w: WeightSource,
    /// R, `[D, G*H, H]`
    pub r: WeightSource,
    /// The bias tensors, as `layout` describes; for OpenVINO one tensor B, `[D, bias_parts*H]`.
    pub b: Vec<WeightSource>,
    /// P, `[3*H]`, peepholes of f, i and o; LSTM only.
    pub p: Option<WeightSource>,
    /// The index among the D sets of weights.
    pub weight_set: usize,
    /// The sequence. `None` for a cell of one step.
    pub sequence: Option<Sequence>,
    /// The new h as a value: `[N, H]`; of a sequence Ho, `[N, 1, H]`. `None` if unused.
    pub h_out: Option<usize>,
    /// The new c, as `h_out`; LSTM only.
    pub c_out: Option<usize>,
    /// Y of a sequence as a value: `[N, 1, T, H]`. `None` if unused.
    pub y: Option<usize>,
    /// The interpretation of each attribute.
    pub ledger: Vec<LedgerEntry>,
}

impl CoreCell {
    /// T; 1 for a single step.
    pub fn steps(&self) -> usize {
        self.sequence.as_ref().map_or(1, |sequence| sequence.steps)
    }

    /// The values computed for later nodes.
    pub fn outputs(&self) -> Vec<usize> {
        [self.y, self.h_out, self.c_out].into_iter().flatten().collect()
    }

    /// True if the cell computes one step of every row; a sequence may have one step.
    pub fn is_one_step(&self) -> bool {
        self.sequence
            .as_ref()
            .is_none_or(|sequence| sequence.steps == 1 && sequence.lengths == Lengths::Full)
    }
}

#[cfg(test)]
impl CoreCell {
    /// A cell with the defaults of its kind: one step, without the inputs of LSTM and AUGRU.
    pub(crate) fn new(
        kind: CellKind,
        (batch, input_size, hidden_size): (usize, usize, usize),
        (x, h): (Source, Source),
        [w, r, b]: [WeightSource; 3],
    ) -> Self {
        Self {
            name: "cell".to_owned(),
            kind,
            batch,
            input_size,
            hidden_size,
            activations: kind.default_activations().to_vec(),
            clip: None,
            layout: WeightLayout::new(kind, Default::default()),
            coupled: None,
            x,
            h,
            c: None,
            a: None,
            w,
            r,
            b: vec![b],
            p: None,
            weight_set: 0,
            sequence: None,
            h_out: None,
            c_out: None,
            y: None,
            ledger: Vec::new(),
        }
    }
}

/// The attributes of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// T
    pub steps: usize,
    /// True if time runs backwards, from each row's last step to its first.
    pub reverse: bool,
    /// Steps per row.
    pub lengths: Lengths,
}

/// Steps of the rows of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// All T.
    Full,
    /// The N lengths, known when compiling; none above T.
    Constant(Vec<usize>),
    /// The i-th of `CoreModel::parameters`, integers `[N]`; clamped to 0..=T.
    Parameter(usize),
    /// Computed integers `[N]`; clamped to 0..=T.
    Computed(Source),
}
