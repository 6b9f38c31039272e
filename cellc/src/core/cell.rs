//! Recurrent cells.

use std::fmt::{self, Display, Formatter};

use super::{
    CoreModel, CoreOp, Factor, Facts, FixedMatrices, FixedProduct, KernelForm, Notation, Operation,
    OutputNumbers, OverTime, PlannedProduct, Reach, RecurrentSteps, Reference, Source, StateEnds,
    StateEndsMut, StepOrder, StreamRows, Treatment, WeightSource, Work, Zeros, drop_unneeded,
    product,
};
use crate::model::{Activation, CellKind, Coupled, ResetGate, WeightLayout, counted};

/// A recurrent cell in one direction, for one step or for a sequence, with all sizes known.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreCell {
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
    /// The bound on the magnitude of every pre-activation sum. `None`: no bound.
    pub clip: Option<f32>,
    /// LSTM: the gate that is 1 minus another gate, if any.
    pub coupled: Option<Coupled>,
    /// x, `[N, I]`; of a sequence `[N, T, I]`.
    pub x: Source,
    /// h, `[N, H]`; of a sequence `[N, 1, H]`.
    pub h: Source,
    /// c, as h; LSTM only.
    pub c: Option<Source>,
    /// a, `[N, 1]`, of a sequence `[N, T, 1]`; AUGRU only.
    pub a: Option<Source>,
    /// W, R, B and P.
    pub weights: WeightSources,
    /// The sequence. `None` for a cell of one step.
    pub sequence: Option<Sequence>,
    /// The values that the cell computes.
    pub out: CellOutputs,
}

/// The weights of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightSources {
    /// W, `[D, G*H, I]` or, where D is 1, `[G*H, I]`.
    pub w: WeightSource,
    /// R, `[D, G*H, H]` or, where D is 1, `[G*H, H]`.
    pub r: WeightSource,
    /// The bias tensors, each `[D, n*H]` or, where D is 1, `[n*H]`, with the n parts that `layout`
    /// gives.
    pub b: Vec<WeightSource>,
    /// P, `[D, 3*H]` or, where D is 1, `[3*H]`: peepholes of f, i and o; LSTM only.
    pub p: Option<WeightSource>,
    /// The index among the D sets of weights.
    pub set: usize,
    /// The layout of the weights in `w`, `r` and `b`.
    pub layout: WeightLayout,
}

/// The values that a cell computes, each `None` if unused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellOutputs {
    /// The new h: `[N, H]`; of a sequence Ho, `[N, 1, H]`.
    pub h: Option<usize>,
    /// The new c, with the shape of h; LSTM only.
    pub c: Option<usize>,
    /// Y of a sequence: `[N, 1, T, H]`.
    pub y: Option<usize>,
}

impl WeightSources {
    /// The tensors of the weights.
    pub fn tensors(&self) -> impl Iterator<Item = WeightSource> {
        [self.w, self.r].into_iter().chain(self.b.iter().copied()).chain(self.p)
    }
}

impl CoreCell {
    /// T; 1 for a single step.
    pub fn steps(&self) -> usize {
        self.sequence.as_ref().map_or(1, |sequence| sequence.steps)
    }

    /// The values that the cell computes for later nodes.
    pub fn outputs(&self) -> Vec<usize> {
        [self.out.y, self.out.h, self.out.c].into_iter().flatten().collect()
    }

    /// True if the first output is h after each step.
    fn has_new_state_first(&self) -> bool {
        match &self.sequence {
            None => self.out.h.is_some(),
            // skipped steps of a row write zeros, and a chain may turn zeros into other values
            Some(sequence) => self.out.y.is_some() && sequence.lengths == Lengths::Full,
        }
    }

    fn recurrence(&self) -> RecurrentSteps {
        let order = match &self.sequence {
            Some(sequence) if sequence.reverse => StepOrder::Reverse,
            Some(sequence) if sequence.lengths != Lengths::Full => StepOrder::Lengths,
            _ => StepOrder::Forward,
        };
        let h = StateEnds { initial: self.h, last: self.out.h, is_each: true };
        let c = self.c.map(|initial| StateEnds { initial, last: self.out.c, is_each: false });
        RecurrentSteps {
            states: [h].into_iter().chain(c).collect(),
            over_time: [self.x].into_iter().chain(self.a).collect(),
            steps: self.sequence.as_ref().map(|sequence| sequence.steps),
            order,
            each: self.out.y.map(|y| (y, 2)),
            in_place: false,
        }
    }

    /// True if the cell computes exactly one step of every row: a cell without sequence, or a
    /// sequence of one step without lengths.
    pub fn is_one_step(&self) -> bool {
        self.sequence
            .as_ref()
            .is_none_or(|sequence| sequence.steps == 1 && sequence.lengths == Lengths::Full)
    }
}

#[cfg(test)]
impl CoreCell {
    /// A cell of one step with the defaults of its kind, without the inputs c and a. Sizes:
    /// `[batch, input_size, hidden_size]`.
    pub(crate) fn new(
        kind: CellKind,
        [batch, input_size, hidden_size]: [usize; 3],
        [x, h]: [Source; 2],
        [w, r, b]: [WeightSource; 3],
    ) -> Self {
        Self {
            kind,
            batch,
            input_size,
            hidden_size,
            activations: kind.default_activations().to_vec(),
            clip: None,
            coupled: None,
            x,
            h,
            c: None,
            a: None,
            weights: WeightSources {
                w,
                r,
                b: vec![b],
                p: None,
                set: 0,
                layout: WeightLayout::new(kind, Default::default()),
            },
            sequence: None,
            out: CellOutputs::default(),
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

impl Operation for CoreCell {
    fn facts(&self) -> Facts<'_> {
        let lengths = self.sequence.as_ref().and_then(|s| match s.lengths {
            Lengths::Parameter(i) => Some(Source::Parameter(i)),
            Lengths::Computed(source) => Some(source),
            Lengths::Full | Lengths::Constant(_) => None,
        });
        let width = self.input_size.saturating_add(self.hidden_size);
        let x = Factor { source: Some(self.x), len: self.input_size };
        let h = Some(self.h).filter(|_| self.steps() == 1);
        let h = Factor { source: h, len: self.hidden_size };
        let fixed = Some(FixedProduct {
            x,
            h: Some(h),
            matrices: FixedMatrices::Planned(PlannedProduct::Cell(self)),
        });
        Facts {
            name: if self.sequence.is_none() { "cell" } else { "sequence" },
            operands: [Some(self.x), Some(self.h), self.c, self.a, lengths]
                .into_iter()
                .flatten()
                .collect(),
            weights: self.weights.tensors().collect(),
            outputs: self.outputs(),
            work: Work::Products {
                steps: self.steps(),
                each: product(&[self.batch, self.kind.gates(), self.hidden_size, width]),
            },
            over_time: OverTime::Recurrent(self.recurrence()),
            zeros: Zeros::Unknown,
            numbers: OutputNumbers::Any,
            product: fixed,
            kernel: if self.has_new_state_first() {
                KernelForm::NewState(self.hidden_size)
            } else {
                KernelForm::Alone
            },
            notation: Notation::Function("cell"),
            functions: self.activations.iter().map(|&function| function.into()).collect(),
            denormals: Treatment::EveryStep,
            constants: "initial_state",
            reach: Reach::Any,
            between_streams: None,
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        let shape = vec![self.batch, 1, self.hidden_size];
        let CellOutputs { h, c, .. } = &mut self.out;
        let h = StateEndsMut { name: "h", shape: shape.clone(), initial: &mut self.h, last: h };
        let c = self.c.as_mut().map(|initial| StateEndsMut { name: "c", shape, initial, last: c });
        [h].into_iter().chain(c).collect()
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        self.batch *= rows.count;
        let sources = [Some(&mut self.x), Some(&mut self.h), self.c.as_mut(), self.a.as_mut()];
        sources.into_iter().flatten().for_each(|source| rows.copy(source));
        match self.sequence.as_mut().map(|sequence| &mut sequence.lengths) {
            Some(Lengths::Constant(lengths)) => *lengths = lengths.repeat(rows.count),
            Some(Lengths::Computed(source)) => rows.copy(source),
            Some(Lengths::Full | Lengths::Parameter(_)) | None => {}
        }
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        let CoreOp::Cell(other) = other else { return false };
        let sizes =
            |each: &Self| (each.kind, each.hidden_size, each.input_size, each.clip, each.coupled);
        let is_reversed = |cell: &Self| cell.sequence.as_ref().map(|sequence| sequence.reverse);
        sizes(self) == sizes(other)
            && self.activations == other.activations
            && self.weights.layout == other.weights.layout
            && is_reversed(self) == is_reversed(other)
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        let sources = [Some(&mut self.x), Some(&mut self.h), self.c.as_mut(), self.a.as_mut()];
        sources.into_iter().flatten().for_each(|source| visit(Reference::Source(source)));
        let WeightSources { w, r, b, p, .. } = &mut self.weights;
        let weights = [w, r].into_iter().chain(b).chain(p);
        weights.for_each(|weight| visit(Reference::Weight(weight)));
        if let Some(Sequence { lengths: Lengths::Computed(source), .. }) = &mut self.sequence {
            visit(Reference::Source(source));
        }
        let values = [&mut self.out.y, &mut self.out.h, &mut self.out.c];
        values.into_iter().flatten().for_each(|value| visit(Reference::Value(value)));
    }

    fn drop_outputs(&mut self, needed: &[bool]) {
        let outputs = [&mut self.out.y, &mut self.out.h, &mut self.out.c];
        outputs.into_iter().for_each(|value| drop_unneeded(value, needed));
    }

    fn text(&self, _: &CoreModel) -> String {
        self.to_string()
    }
}

/// The cell, its attributes and its tensors.
impl Display for CoreCell {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sequence = self.sequence.as_ref();
        f.write_str(if sequence.is_some() {
            self.kind.sequence_name()
        } else {
            self.kind.op_name()
        })?;
        match self.kind.reset_gate() {
            None => {}
            Some(ResetGate::BeforeMatMul) => f.write_str(", reset before the matrix product")?,
            Some(ResetGate::AfterMatMul) => f.write_str(", reset after the matrix product")?,
        }
        let activations: Vec<_> = self.activations.iter().map(|a| a.label()).collect();
        write!(f, ", {}", activations.join(" "))?;
        if let Some(clip) = self.clip {
            write!(f, ", clip {clip}")?;
        }
        let order = self.weights.layout.order(self.kind);
        if self.kind.has_cell_state() || order != self.kind.gate_letters() {
            write!(f, ", gates {order}")?;
        }
        if let Some(coupled) = self.coupled {
            write!(f, ", {}", coupled.equation())?;
        }
        if let Some(sequence) = sequence {
            write!(
                f,
                ", {}{}",
                counted(sequence.steps, "step"),
                if sequence.reverse { ", last first" } else { "" }
            )?;
            match &sequence.lengths {
                Lengths::Full => {}
                Lengths::Constant(lengths) => write!(f, ", lengths {lengths:?}")?,
                Lengths::Parameter(i) => write!(f, ", lengths parameter {i}")?,
                Lengths::Computed(source) => write!(f, ", lengths {source}")?,
            }
        }
        writeln!(
            f,
            ", batch {}, input size {}, hidden size {}",
            self.batch, self.input_size, self.hidden_size
        )?;
        write!(f, "  x = {}, h = {}", self.x, self.h)?;
        for (name, source) in [("c", self.c), ("a", self.a)] {
            if let Some(source) = source {
                write!(f, ", {name} = {source}")?;
            }
        }
        let WeightSources { w, r, b, p, set, .. } = &self.weights;
        let b: Vec<_> = b.iter().map(ToString::to_string).collect();
        write!(f, ", w = {w}, r = {r}, b = {}", b.join(" and "))?;
        if let Some(p) = p {
            write!(f, ", p = {p}")?;
        }
        if *set > 0 {
            write!(f, ", set {set} of the weights")?;
        }
        for (name, value) in [("y", self.out.y), ("h'", self.out.h), ("c'", self.out.c)] {
            if let Some(value) = value {
                write!(f, ", {name} = value {value}")?;
            }
        }
        Ok(())
    }
}
