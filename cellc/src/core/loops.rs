//! Loops.

use super::{
    CoreModel, CoreNode, CoreOp, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime,
    Reach, Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros, drop_unneeded,
    visit_references,
};

/// A body that runs `trips` times, at least once. The body's values are values of the model; the
/// body may read outer values directly.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreLoop {
    /// The number of iterations.
    pub trips: usize,
    /// The sliced inputs, one piece per iteration.
    pub slices: Vec<LoopSlice>,
    /// The values passed from one iteration to the next.
    pub carried: Vec<LoopCarried>,
    /// The carried value with the loop condition, as index into [`super::CoreModel::values`].
    /// `None`: every iteration computes. In an iteration whose condition is 0, the operations of
    /// the body keep the carried values and give pieces of 0, so generated code leaves the loop.
    pub running: Option<usize>,
    /// True for the steps of a cell with computed weights.
    pub is_cell: bool,
    /// The operations of the body, each after its operands.
    pub body: Vec<CoreNode>,
    /// The results.
    pub results: Vec<LoopResult>,
}

/// A sliced input: iteration `k` reads the k-th piece along an axis, or in reverse the k-th piece
/// from the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopSlice {
    /// The whole tensor; its size along the axis is `trips` times the size of a piece.
    pub whole: Source,
    /// The axis.
    pub axis: usize,
    /// True if the first iteration reads the last piece.
    pub reverse: bool,
    /// The piece, as a value.
    pub piece: usize,
}

/// A loop-carried value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopCarried {
    /// The initial value.
    pub initial: Source,
    /// The value in the body.
    pub value: usize,
    /// The value for the next iteration.
    pub next: Source,
}

/// A result of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopResult {
    /// The tensor that one iteration computes.
    pub value: Source,
    /// The axis along which the pieces of all iterations are concatenated, and true if the piece of
    /// the first iteration comes last. `None`: the result is the tensor of the last iteration.
    pub pieces: Option<(usize, bool)>,
    /// The result, as a value.
    pub out: usize,
}

impl Operation for CoreLoop {
    fn facts(&self) -> Facts<'_> {
        let mut operands: Vec<Source> = self.slices.iter().map(|slice| slice.whole).collect();
        operands.extend(self.carried.iter().flat_map(|carried| [carried.initial, carried.next]));
        operands.extend(self.results.iter().map(|result| result.value));
        operands.extend(self.body.iter().flat_map(|node| node.op.reads()));
        Facts {
            name: "loop",
            operands,
            weights: Vec::new(),
            outputs: self.results.iter().map(|result| result.out).collect(),
            work: Work::Body,
            over_time: OverTime::AnyStep,
            zeros: Zeros::Unknown,
            numbers: OutputNumbers::Any,
            product: None,
            kernel: KernelForm::Body,
            notation: Notation::Function("loop"),
            functions: Vec::new(),
            denormals: Treatment::Computes,
            constants: "constant",
            reach: if self.trips == 1 { Reach::Near } else { Reach::Any },
            between_streams: self.running.map(|_| "a loop that ends by its condition"),
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        Vec::new()
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        for slice in &mut self.slices {
            slice.axis += 1;
            rows.copy(&mut slice.whole);
        }
        for carried in &mut self.carried {
            rows.copy(&mut carried.initial);
            rows.copy(&mut carried.next);
        }
        for result in &mut self.results {
            rows.copy(&mut result.value);
            if let Some((axis, _)) = &mut result.pieces {
                *axis += 1;
            }
        }
        rows.repeat(&mut self.body);
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        let CoreOp::Loop(other) = other else { return false };
        let slices =
            |each: &Self| each.slices.iter().map(|s| (s.axis, s.reverse)).collect::<Vec<_>>();
        let results =
            |core_loop: &Self| core_loop.results.iter().map(|r| r.pieces).collect::<Vec<_>>();
        slices(self) == slices(other)
            && results(self) == results(other)
            && self.running.is_some() == other.running.is_some()
            && self.body.len() == other.body.len()
            && self.body.iter().zip(&other.body).all(|(a, b)| a.op.same_attributes(&b.op))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        for slice in &mut self.slices {
            visit(Reference::Source(&mut slice.whole));
            visit(Reference::Value(&mut slice.piece));
        }
        for carried in &mut self.carried {
            visit(Reference::Source(&mut carried.initial));
            visit(Reference::Value(&mut carried.value));
            visit(Reference::Source(&mut carried.next));
        }
        self.running.iter_mut().for_each(|value| visit(Reference::Value(value)));
        visit_references(&mut self.body, visit);
        for result in &mut self.results {
            visit(Reference::Source(&mut result.value));
            visit(Reference::Value(&mut result.out));
        }
    }

    fn drop_outputs(&mut self, needed: &[bool]) {
        self.slices.retain(|slice| needed[slice.piece]);
        self.carried.retain(|carried| needed[carried.value]);
        self.results.retain(|result| needed[result.out]);
        drop_unneeded(&mut self.running, needed);
    }

    fn text(&self, model: &CoreModel) -> String {
        let order = |reverse: bool| if reverse { ", last first" } else { "" };
        let mut lines = vec![format!("{} trips", self.trips)];
        for slice in &self.slices {
            let shape = &model.values[slice.piece].shape;
            let (piece, whole, axis, order) =
                (slice.piece, slice.whole, slice.axis, order(slice.reverse));
            lines.push(format!(
                "value {piece} {shape:?} = piece of {whole} along axis {axis}{order}"
            ));
        }
        for carried in &self.carried {
            let shape = &model.values[carried.value].shape;
            let (value, initial, next) = (carried.value, carried.initial, carried.next);
            lines.push(format!("value {value} {shape:?} = {initial} at first, then {next}"));
        }
        lines.extend(self.running.map(|value| format!("leaves where value {value} is 0")));
        if !self.body.is_empty() {
            lines.push(model.text_of(&self.body));
        }
        lines.extend(self.results.iter().map(|LoopResult { value: source, pieces, out }| {
            match pieces {
                None => format!("value {out} = the last {source}"),
                Some((axis, reverse)) => {
                    format!("value {out} = every {source} along axis {axis}{}", order(*reverse))
                }
            }
        }));
        lines.join("\n").replace('\n', "\n  ")
    }
}
