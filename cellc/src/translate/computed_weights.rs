//! Cells whose weights the model computes from its inputs, as a hypernetwork does. One step becomes
//! matrix products and pointwise operations, and a sequence becomes a loop over its steps. Products
//! with x and other terms that do not depend on h are computed before the loop.

use super::elementwise::compute;
use super::layout::concats::put_together;
use super::loops::countable;
use super::matmul::product;
use super::refusal::{Refusal, Rule};
use super::sequence::ways;
use crate::core::{
    CoreBuilder, CoreLoop, CoreOp, Geometry, IntegerInput, Known, Lengths, LoopCarried, LoopResult,
    LoopSlice, Source, signed, strides,
};
use crate::model::limits::MOST_ITERATIONS;
use crate::model::{
    Activation, BiasPart, Binary, CellKind, Comparison, Coupled, Elementwise, Primitive, ResetGate,
    Unary,
};
use crate::rules::cell::{CellPort, CellSizes, Recurrent};

/// One direction of a sequence, or a cell of one step.
#[derive(Clone, Copy)]
struct Way {
    /// The set of weights.
    set: usize,
    /// The number of sets.
    sets: usize,
    /// True if the steps run from the last to the first.
    reverse: bool,
}

/// The operands of one direction that do not depend on the state.
struct CellOperands {
    /// By gate: `W x + b` of every step, `[T, N, H]`, or of a cell of one step, `[N, H]`.
    inputs: Vec<Known>,
    /// By gate: R transposed, `[H, H]`.
    r: Vec<Known>,
    /// Rbh, `[1, H]`, if the reset gate of a GRU is applied after the product. `None` also without
    /// B.
    late_bias: Option<Known>,
    /// The peepholes of f, i and o, `[1, H]`. `None`: the cell has none.
    peepholes: Option<[Known; 3]>,
    activations: Vec<Activation>,
}

/// The state between two steps, each `[N, H]`.
#[derive(Clone)]
struct State {
    h: Known,
    c: Option<Known>,
}

/// The values of a sequence in one direction, or of one iteration of its loop.
struct Outputs {
    /// Y `[N, 1, T, H]`, or its piece `[1, N, H]`.
    y: Known,
    /// The last state, `[N, 1, H]`, or the next state `[N, H]`.
    state: State,
}

/// A recurrent operation with computed weights. Returns Y of a sequence, then the last states.
/// `lengths`: `None` for a cell of one step.
pub(super) fn with_computed_weights(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    sizes: CellSizes,
    lengths: Option<Lengths>,
) -> Rule<Vec<Known>> {
    let Some((direction, lengths)) = recurrent.direction.zip(lengths) else {
        let way = Way { set: 0, sets: 1, reverse: false };
        let operands = constant_operands(core, recurrent, sizes, way)?;
        let first = initial(core, recurrent, sizes, way)?;
        let state = one_step(core, recurrent, &operands, &operands.inputs, &first)?;
        return Ok(std::iter::once(state.h).chain(state.c).collect());
    };
    let ways = ways(direction);
    let mask = match lengths {
        Lengths::Full => None,
        _ => Some(steps_of_rows(core, recurrent, sizes)?),
    };
    let (mut ys, mut hs, mut cs) = (Vec::new(), Vec::new(), Vec::new());
    for (set, &reverse) in ways.iter().enumerate() {
        let way = Way { set, sets: ways.len(), reverse };
        let Outputs { y, state } = over_time(core, recurrent, sizes, way, mask.as_ref())?;
        ys.push(y);
        hs.push(state.h);
        cs.extend(state.c);
    }
    let outputs = [ys, hs, cs].into_iter().filter(|parts| !parts.is_empty());
    outputs.map(|parts| put_together(core, &parts, 1)).collect()
}

/// A value that the loop carries from step to step.
#[derive(Clone, Copy)]
struct Carried {
    initial: Source,
    value: usize,
}

impl Carried {
    fn new(core: &mut CoreBuilder, initial: &Known, shape: Vec<usize>) -> Rule<Self> {
        let (initial, value) = (core.source(initial)?, core.value(shape));
        Ok(Self { initial, value })
    }

    /// The carried value, for the operations of the body.
    fn inside(self, like: &Known) -> Known {
        Known::Source(Source::Value(self.value), like.element())
    }

    /// The carried value together with its next value.
    fn with_next(self, core: &mut CoreBuilder, next: &Known) -> Rule<LoopCarried> {
        let Self { initial, value } = self;
        Ok(LoopCarried { initial, value, next: core.source(next)? })
    }
}

/// One direction of a sequence, as a loop. `mask`: 1 for the steps within the length of a row, else
/// 0, `[T, N, 1]`.
fn over_time(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    sizes: CellSizes,
    way: Way,
    mask: Option<&Known>,
) -> Rule<Outputs> {
    let hidden = recurrent.cell.hidden_size;
    let CellSizes { batch, steps, .. } = sizes;
    let operands = constant_operands(core, recurrent, sizes, way)?;
    let first = first_state(core, recurrent, sizes, way, mask)?;
    let element = first.h.element();
    let (mut slices, mut pieces) = (Vec::new(), Vec::new());
    for whole in operands.inputs.iter().chain(mask) {
        let columns = core.shape_of(whole)[2];
        let (source, piece) = (core.source(whole)?, core.value(vec![1, batch, columns]));
        slices.push(LoopSlice { whole: source, axis: 0, reverse: way.reverse, piece });
        pieces.push(Known::Source(Source::Value(piece), element));
    }
    let h = Carried::new(core, &first.h, vec![batch, hidden])?;
    let c = first.c.as_ref().map(|c| Carried::new(core, c, vec![batch, hidden])).transpose()?;
    let before = State { h: h.inside(&first.h), c: c.map(|c| c.inside(&first.h)) };
    let (after, body) =
        core.body(|core| loop_body(core, recurrent, &operands, &pieces, mask.is_some(), &before));
    let Outputs { y, state: after } = after?;
    countable(steps, MOST_ITERATIONS)?;
    let mut carried = vec![h.with_next(core, &after.h)?];
    if let (Some(c), Some(next)) = (c, &after.c) {
        carried.push(c.with_next(core, next)?);
    }
    let mut results = Vec::new();
    let mut result = |core: &mut CoreBuilder, known: &Known, pieces, shape| -> Rule<Known> {
        let (source, out) = (core.source(known)?, core.value(shape));
        results.push(LoopResult { value: source, pieces, out });
        Ok(Known::Source(Source::Value(out), element))
    };
    let y = result(core, &y, Some((0, way.reverse)), vec![steps, batch, hidden])?;
    let last_h = result(core, &after.h, None, vec![batch, hidden])?;
    let last_c =
        after.c.as_ref().map(|c| result(core, c, None, vec![batch, hidden])).transpose()?;
    let trips = steps;
    let (running, is_cell) = (None, true);
    core.emit(CoreOp::Loop(CoreLoop { trips, slices, carried, running, is_cell, body, results }));
    let strides = signed(vec![hidden, 0, batch * hidden, 1]);
    let shape = vec![batch, 1, steps, hidden];
    let y = core.view(&y, Geometry { offset: 0, strides, shape })?;
    let of_state = Geometry::reshaped(vec![batch, 1, hidden]);
    let h = core.view(&last_h, of_state.clone())?;
    let c = last_c.map(|c| core.view(&c, of_state)).transpose()?;
    Ok(Outputs { y, state: State { h, c } })
}

/// The state before the first step. Zeros for rows of length 0, which keep this state to the end.
fn first_state(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    sizes: CellSizes,
    way: Way,
    mask: Option<&Known>,
) -> Rule<State> {
    let State { h, c } = initial(core, recurrent, sizes, way)?;
    let Some(mask) = mask else { return Ok(State { h, c }) };
    let any = Geometry { offset: 0, strides: vec![1, 1], shape: vec![sizes.batch, 1] };
    let any = core.view(mask, any)?;
    let h = where_running(core, &any, &h, None)?;
    let c = c.map(|c| where_running(core, &any, &c, None)).transpose()?;
    Ok(State { h, c })
}

/// One iteration: the piece of Y, `[1, N, H]`, and the next state. `pieces`: the pieces of the
/// operands over time, then the piece of the mask if the sequence has a mask.
fn loop_body(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    operands: &CellOperands,
    pieces: &[Known],
    is_masked: bool,
    before: &State,
) -> Rule<Outputs> {
    let mut rows = Vec::new();
    for piece in pieces {
        let shape = core.shape_of(piece)[1..].to_vec();
        rows.push(core.view(piece, Geometry::reshaped(shape))?);
    }
    let running = if is_masked { rows.pop() } else { None };
    let mut after = one_step(core, recurrent, operands, &rows, before)?;
    let mut y = after.h.clone();
    if let Some(running) = running {
        y = where_running(core, &running, &after.h, None)?;
        after.h = where_running(core, &running, &after.h, Some(&before.h))?;
        after.c = match (&after.c, &before.c) {
            (Some(after), Some(before)) => {
                Some(where_running(core, &running, after, Some(before))?)
            }
            _ => None,
        };
    }
    let shape = [&[1], &core.shape_of(&y)[..]].concat();
    Ok(Outputs { y: core.view(&y, Geometry::reshaped(shape))?, state: after })
}

/// `then` in rows whose `running` is 1. `otherwise`, or 0, in other rows.
fn where_running(
    core: &mut CoreBuilder,
    running: &Known,
    then: &Known,
    otherwise: Option<&Known>,
) -> Rule<Known> {
    let half = Known::number_like(running, 0.5);
    let condition = compute(core, Comparison::Greater, vec![running.clone(), half])?;
    let otherwise = otherwise.cloned().unwrap_or_else(|| Known::number_like(then, 0.0));
    compute(core, Primitive::Select, vec![condition, then.clone(), otherwise])
}

/// 1 for the steps within the length of a row, 0 for the steps after its end, `[T, N, 1]`.
fn steps_of_rows(core: &mut CoreBuilder, recurrent: &Recurrent, sizes: CellSizes) -> Rule<Known> {
    let CellSizes { batch, steps, .. } = sizes;
    let lengths = operand(recurrent, CellPort::Lengths)?;
    let element = lengths.element();
    let lengths = match lengths {
        // an input that gives only lengths has no conversion yet
        &Known::Source(Source::Parameter(parameter), element) => {
            let out = core.value(vec![batch]);
            let most = i32::try_from(steps).map_err(|_| Refusal::Reported)?;
            core.emit(CoreOp::IntegerInput(IntegerInput { parameter, least: 0, most, out }));
            let lengths = Known::Source(Source::Value(out), element);
            core.facts.set_range(&lengths, [0.0, most.into()]);
            lengths
        }
        known => known.clone(),
    };
    let lengths = core.view(&lengths, Geometry::reshaped(vec![1, batch, 1]))?;
    let numbers: Vec<i64> = (0..steps as i64).collect();
    let step = Known::integers(vec![steps, 1, 1], &numbers, element);
    let runs = compute(core, Comparison::Less, vec![step, lengths])?;
    let like = operand(recurrent, CellPort::X)?;
    let (one, zero) = (Known::number_like(like, 1.0), Known::number_like(like, 0.0));
    compute(core, Primitive::Select, vec![runs, one, zero])
}

/// An operand that every recurrent operation has.
fn operand<'r>(recurrent: &'r Recurrent, role: CellPort) -> Rule<&'r Known> {
    recurrent.known(role).ok_or(Refusal::Reported)
}

/// h and c before the first step.
fn initial(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    sizes: CellSizes,
    way: Way,
) -> Rule<State> {
    let hidden = recurrent.cell.hidden_size;
    let mut matrix_of = |role: CellPort| -> Rule<Known> {
        let strides = vec![(way.sets * hidden) as isize, 1];
        let geometry =
            Geometry { offset: way.set * hidden, strides, shape: vec![sizes.batch, hidden] };
        Ok(core.view(operand(recurrent, role)?, geometry)?)
    };
    let h = matrix_of(CellPort::H)?;
    let c = if recurrent.cell.kind.has_cell_state() { Some(matrix_of(CellPort::C)?) } else { None };
    Ok(State { h, c })
}

/// The operands of one direction that do not depend on the state.
fn constant_operands(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    sizes: CellSizes,
    Way { set, .. }: Way,
) -> Rule<CellOperands> {
    let (cell, hidden) = (recurrent.cell, recurrent.cell.hidden_size);
    let (batch, input) = (sizes.batch, sizes.input);
    let mut x = operand(recurrent, CellPort::X)?.clone();
    if recurrent.direction.is_some() {
        let strides = signed(vec![input, sizes.steps * input, 1]);
        let shape = vec![sizes.steps, batch, input];
        x = core.view(&x, Geometry { offset: 0, strides, shape })?;
    }
    let rows = |gate: usize, columns: usize| Geometry {
        offset: (set * cell.kind.gates() + cell.layout.gates[gate]) * hidden * columns,
        strides: signed(strides(&[hidden, columns])),
        shape: vec![hidden, columns],
    };
    let (w, r) = (operand(recurrent, CellPort::W)?, operand(recurrent, CellPort::R)?);
    let (mut inputs, mut of_h) = (Vec::new(), Vec::new());
    for gate in 0..cell.kind.gates() {
        let w = core.view(w, rows(gate, input))?;
        let mut sum = product(core, &[x.clone(), w], false, true)?;
        for bias in biases_of(core, recurrent, set, gate)? {
            sum = compute(core, Binary::Add, vec![sum, bias])?;
        }
        inputs.push(sum);
        let geometry = Geometry { strides: signed(vec![1, hidden]), ..rows(gate, hidden) };
        of_h.push(core.view(r, geometry)?);
    }
    let mut late_bias = None;
    if cell.kind.reset_gate() == Some(ResetGate::AfterMatMul) {
        for bias in biases_of(core, recurrent, set, cell.kind.gates())? {
            late_bias = Some(match late_bias {
                None => bias,
                Some(sum) => compute(core, Binary::Add, vec![sum, bias])?,
            });
        }
    }
    let mut peephole = |p: &Known, at: usize| {
        let offset = (set * 3 + cell.layout.peepholes[at]) * hidden;
        core.view(p, Geometry { offset, ..Geometry::reshaped(vec![1, hidden]) })
    };
    let peepholes = match recurrent.known(CellPort::P) {
        None => None,
        Some(p) => Some([peephole(p, 0)?, peephole(p, 1)?, peephole(p, 2)?]),
    };
    let activations = cell.activations_of(set).to_vec();
    Ok(CellOperands { inputs, r: of_h, late_bias, peepholes, activations })
}

/// The biases `[1, H]` of a part of B. Empty if the model omits the bias tensors of the part.
fn biases_of(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    set: usize,
    part: usize,
) -> Rule<Vec<Known>> {
    let (cell, hidden) = (recurrent.cell, recurrent.cell.hidden_size);
    let parts = cell.layout.bias_tensors();
    let mut addends = Vec::new();
    for &BiasPart { tensor, part } in &cell.layout.biases[part] {
        let Some(b) = recurrent.known(CellPort::B(tensor)) else { continue };
        let offset = (set * parts[tensor] + part) * hidden;
        let geometry = Geometry { offset, ..Geometry::reshaped(vec![1, hidden]) };
        addends.push(core.view(b, geometry)?);
    }
    Ok(addends)
}

/// The state after a step. `inputs`: `W x + b` of every gate.
fn one_step(
    core: &mut CoreBuilder,
    recurrent: &Recurrent,
    operands: &CellOperands,
    inputs: &[Known],
    State { h, c }: &State,
) -> Rule<State> {
    let mut step = StepBuilder { core, recurrent, operands, inputs };
    match (recurrent.cell.kind, c) {
        (CellKind::Rnn, _) => {
            let sum = step.sum(0, h)?;
            Ok(State { h: step.active(0, sum)?, c: None })
        }
        (CellKind::Gru(_) | CellKind::Augru(_), _) => step.gru(h),
        (CellKind::Lstm, Some(c)) => step.lstm(h, c),
        (CellKind::Lstm, None) => Err(Refusal::Reported),
    }
}

/// One step under construction.
struct StepBuilder<'s> {
    core: &'s mut CoreBuilder,
    recurrent: &'s Recurrent<'s>,
    operands: &'s CellOperands,
    inputs: &'s [Known],
}

impl StepBuilder<'_> {
    fn apply(&mut self, function: impl Into<Elementwise>, operands: [&Known; 2]) -> Rule<Known> {
        compute(self.core, function, operands.map(Known::clone).to_vec())
    }

    /// `1 - v`
    fn one_minus(&mut self, v: &Known) -> Rule<Known> {
        self.apply(Binary::Subtract, [&Known::number_like(v, 1.0), v])
    }

    /// `R v` of a gate.
    fn of_h(&mut self, gate: usize, v: &Known) -> Rule<Known> {
        product(self.core, &[v.clone(), self.operands.r[gate].clone()], false, false)
    }

    /// `W x + b + R v` of a gate.
    fn sum(&mut self, gate: usize, v: &Known) -> Rule<Known> {
        let of_h = self.of_h(gate, v)?;
        self.apply(Binary::Add, [&self.inputs[gate], &of_h])
    }

    /// An activation of a sum, clipped first if the cell has a clip.
    fn active(&mut self, function: usize, mut sum: Known) -> Rule<Known> {
        if let Some(clip) = self.recurrent.cell.bound() {
            sum = compute(self.core, Unary::Clamp { min: -clip, max: clip }, vec![sum])?;
        }
        let activation = self.operands.activations[function];
        compute(self.core, activation, vec![sum])
    }

    fn gru(&mut self, h: &Known) -> Rule<State> {
        let (z, r) = (self.sum(0, h)?, self.sum(1, h)?);
        let (z, r) = (self.active(0, z)?, self.active(0, r)?);
        let n = self.candidate(h, &r)?;
        let rest = self.one_minus(&z)?;
        let new = self.apply(Binary::Multiply, [&rest, &n])?;
        let old = self.apply(Binary::Multiply, [&z, h])?;
        Ok(State { h: self.apply(Binary::Add, [&old, &new])?, c: None })
    }

    /// The candidate n of a GRU.
    fn candidate(&mut self, h: &Known, r: &Known) -> Rule<Known> {
        const GATE: usize = 2;
        let sum = match self.recurrent.cell.kind.reset_gate() {
            Some(ResetGate::AfterMatMul) => {
                let mut of_h = self.of_h(GATE, h)?;
                if let Some(bias) = &self.operands.late_bias {
                    of_h = self.apply(Binary::Add, [&of_h, bias])?;
                }
                let reset = self.apply(Binary::Multiply, [r, &of_h])?;
                self.apply(Binary::Add, [&self.inputs[GATE], &reset])?
            }
            _ => {
                let reset = self.apply(Binary::Multiply, [r, h])?;
                self.sum(GATE, &reset)?
            }
        };
        self.active(1, sum)
    }

    /// A gate f, i or o of an LSTM, by its indices among the gates and among the peepholes.
    fn gate(&mut self, [gate, peephole]: [usize; 2], h: &Known, c: &Known) -> Rule<Known> {
        let mut sum = self.sum(gate, h)?;
        if let Some(peepholes) = &self.operands.peepholes {
            let peep = self.apply(Binary::Multiply, [&peepholes[peephole], c])?;
            sum = self.apply(Binary::Add, [&sum, &peep])?;
        }
        self.active(0, sum)
    }

    fn lstm(&mut self, h: &Known, c: &Known) -> Rule<State> {
        let (f, i) = match self.recurrent.cell.coupled {
            None => (self.gate([0, 0], h, c)?, self.gate([1, 1], h, c)?),
            Some(Coupled::Input) => {
                let f = self.gate([0, 0], h, c)?;
                (f.clone(), self.one_minus(&f)?)
            }
            Some(Coupled::Forget) => {
                let i = self.gate([1, 1], h, c)?;
                (self.one_minus(&i)?, i)
            }
        };
        let candidate = self.sum(2, h)?;
        let candidate = self.active(1, candidate)?;
        let old = self.apply(Binary::Multiply, [&f, c])?;
        let new = self.apply(Binary::Multiply, [&i, &candidate])?;
        let c = self.apply(Binary::Add, [&old, &new])?;
        let o = self.gate([3, 2], h, &c)?;
        let activation = self.operands.activations[2];
        let shown = compute(self.core, activation, vec![c.clone()])?;
        Ok(State { h: self.apply(Binary::Multiply, [&o, &shown])?, c: Some(c) })
    }
}
