//! Cells whose weights the model computes from its inputs, as a hypernetwork does: one step is
//! matrix products and pointwise operations, and a sequence is a loop over its steps. What does
//! not depend on h, the products with x included, is computed before the loop.

use super::elementwise::computed;
use super::layout::concats::put_together;
use super::matmul::product;
use super::translator::Translator;
use crate::check::cell::{CellPort, CellSizes, Recurrent};
use crate::check::limits::MOST_ITERATIONS;
use crate::core::{
    CoreLoop, CoreOp, Geometry, Integers, Known, Lengths, LoopCarried, LoopResult, LoopSlice,
    Source, signed, strides,
};
use crate::model::{Activation, BiasPart, CellKind, Coupled, Direction, Elementwise, ResetGate};

/// The operands of one direction that are constant over the steps.
struct Operands {
    /// By gate: `W x + b` of every step, `[T, N, H]`; of a cell of one step `[N, H]`.
    inputs: Vec<Known>,
    /// By gate: R transposed, `[H, H]`.
    r: Vec<Known>,
    /// Rbh, `[1, H]`, of a GRU with the reset gate after the product.
    late_bias: Option<Known>,
    /// The peepholes of f, i and o, `[1, H]`.
    peepholes: Option<[Known; 3]>,
    activations: Vec<Activation>,
}

/// The state between two steps, each `[N, H]`.
#[derive(Clone)]
struct State {
    h: Known,
    c: Option<Known>,
}

/// The values of a sequence in one direction: Y `[N, 1, T, H]`, then Ho and Co `[N, 1, H]`.
type Outputs = (Known, State);

impl<'a> Translator<'_, 'a> {
    /// Computes a recurrent operation with computed weights; `None` after an error.
    pub(super) fn with_computed_weights(
        &mut self,
        recurrent: &Recurrent<'a>,
        sizes: CellSizes,
    ) -> Option<()> {
        let node = recurrent.node;
        let Some(direction) = recurrent.direction else {
            let operands = self.constant_operands(recurrent, sizes, (0, 1))?;
            let first = self.initial(recurrent, sizes, (0, 1))?;
            let state = self.one_step(recurrent, &operands, &operands.inputs, &first)?;
            for (port, known) in std::iter::once(state.h).chain(state.c).enumerate() {
                self.set(node, port, known);
            }
            return Some(());
        };
        let ways: &[bool] = match direction {
            Direction::Forward => &[false],
            Direction::Reverse => &[true],
            Direction::Bidirectional => &[false, true],
        };
        let mask = self.steps_of_rows(recurrent, sizes)?;
        let (mut ys, mut hs, mut cs) = (Vec::new(), Vec::new(), Vec::new());
        for (set, &reverse) in ways.iter().enumerate() {
            let (y, state) =
                self.over_time(recurrent, sizes, ((set, ways.len()), reverse), mask.as_ref())?;
            ys.push(y);
            hs.push(state.h);
            cs.extend(state.c);
        }
        for (port, parts) in [ys, hs, cs].into_iter().filter(|parts| !parts.is_empty()).enumerate()
        {
            let whole = self.build(node, |core| put_together(core, &parts, 1))?;
            self.set(node, port, whole);
        }
        Some(())
    }

    /// One direction of a sequence, as a loop; `set` of `sets` sets of weights is read.
    fn over_time(
        &mut self,
        recurrent: &Recurrent<'a>,
        sizes: CellSizes,
        (set, reverse): ((usize, usize), bool),
        mask: Option<&Known>,
    ) -> Option<Outputs> {
        let (node, hidden) = (recurrent.node, recurrent.cell.hidden_size);
        let CellSizes { batch, steps, .. } = sizes;
        let operands = self.constant_operands(recurrent, sizes, set)?;
        let mut first = self.initial(recurrent, sizes, set)?;
        if let Some(mask) = mask {
            // a row without steps ends in zeros, and the mask of its first step says so
            let any = self.view(
                node,
                mask,
                Geometry { offset: 0, strides: vec![1, 1], shape: vec![batch, 1] },
            )?;
            first.h = self.where_running(recurrent, &any, &first.h, None)?;
            first.c = match first.c {
                Some(c) => Some(self.where_running(recurrent, &any, &c, None)?),
                None => None,
            };
        }
        let element = first.h.element();
        let mut slices = Vec::new();
        let mut pieces = Vec::new();
        for whole in operands.inputs.iter().chain(mask) {
            let columns = self.core.shape_of(whole)[2];
            let (of, piece) = (self.source(whole)?, self.core.value(vec![1, batch, columns]));
            slices.push(LoopSlice { of, axis: 0, reverse, piece });
            pieces.push((Known::Source(Source::Value(piece), element), columns));
        }
        let carry = |this: &mut Self, known: &Known| {
            let (initial, value) = (this.source(known)?, this.core.value(vec![batch, hidden]));
            this.steps.layers.insert(value, node);
            Some((initial, value))
        };
        let h = carry(self, &first.h)?;
        let c = if let Some(c) = &first.c { Some(carry(self, c)?) } else { None };
        let inside = |(_, value): (Source, usize)| Known::Source(Source::Value(value), element);
        let before = State { h: inside(h), c: c.map(inside) };
        self.depth += 1;
        let (after, body) = self.appended(Vec::new(), |this| {
            this.loop_body(recurrent, &operands, &pieces, mask.is_some(), &before)
        });
        self.depth -= 1;
        let (y, after) = after?;
        self.countable(node, steps, MOST_ITERATIONS)?;
        let mut carried =
            vec![LoopCarried { initial: h.0, value: h.1, next: self.source(&after.h)? }];
        if let (Some((initial, value)), Some(next)) = (c, &after.c) {
            carried.push(LoopCarried { initial, value, next: self.source(next)? });
        }
        let mut results = Vec::new();
        let mut result = |this: &mut Self, known: &Known, pieces, shape| {
            let (of, out) = (this.source(known)?, this.core.value(shape));
            results.push(LoopResult { of, pieces, out });
            Some(Known::Source(Source::Value(out), element))
        };
        let y = result(self, &y, Some((0, reverse)), vec![steps, batch, hidden])?;
        let last_h = result(self, &after.h, None, vec![batch, hidden])?;
        let last_c = match &after.c {
            Some(c) => Some(result(self, c, None, vec![batch, hidden])?),
            None => None,
        };
        self.core.emit(CoreOp::Loop(CoreLoop {
            trips: steps,
            slices,
            carried,
            running: None,
            body,
            results,
        }));
        let of_y = [hidden, 0, batch * hidden, 1];
        let shape = vec![batch, 1, steps, hidden];
        let y =
            self.view(node, &y, Geometry { offset: 0, strides: signed(of_y.to_vec()), shape })?;
        let of_state = Geometry::reshaped(vec![batch, 1, hidden]);
        let h = self.view(node, &last_h, of_state.clone())?;
        let c = if let Some(c) = last_c { Some(self.view(node, &c, of_state)?) } else { None };
        Some((y, State { h, c }))
    }

    /// One iteration: the piece of Y, `[1, N, H]`, and the next state.
    fn loop_body(
        &mut self,
        recurrent: &Recurrent<'a>,
        operands: &Operands,
        pieces: &[(Known, usize)],
        is_masked: bool,
        before: &State,
    ) -> Option<Outputs> {
        let (node, batch) = (recurrent.node, self.core.shape_of(&before.h)[0]);
        let mut rows = Vec::new();
        for (piece, columns) in pieces {
            rows.push(self.view(node, piece, Geometry::reshaped(vec![batch, *columns]))?);
        }
        let running = if is_masked { rows.pop() } else { None };
        let mut after = self.one_step(recurrent, operands, &rows, before)?;
        let mut y = after.h.clone();
        if let Some(running) = running {
            y = self.where_running(recurrent, &running, &after.h, None)?;
            after.h = self.where_running(recurrent, &running, &after.h, Some(&before.h))?;
            after.c = match (&after.c, &before.c) {
                (Some(after), Some(before)) => {
                    Some(self.where_running(recurrent, &running, after, Some(before))?)
                }
                _ => None,
            };
        }
        let shape = [&[1], &self.core.shape_of(&y)[..]].concat();
        Some((self.view(node, &y, Geometry::reshaped(shape))?, after))
    }

    /// `then` in rows whose `running` is 1, and `otherwise` or 0 in other rows.
    fn where_running(
        &mut self,
        recurrent: &Recurrent<'a>,
        running: &Known,
        then: &Known,
        otherwise: Option<&Known>,
    ) -> Option<Known> {
        let node = recurrent.node;
        let half = Known::number_like(running, 0.5);
        let condition = self.build(node, |core| {
            computed(core, Elementwise::Greater, vec![running.clone(), half])
        })?;
        let otherwise =
            if let Some(known) = otherwise { known.clone() } else { Known::number_like(then, 0.0) };
        self.build(node, |core| {
            computed(core, Elementwise::Select, vec![condition, then.clone(), otherwise])
        })
    }

    /// 1 for the steps of a row and 0 after its end, `[T, N, 1]`; `Some(None)` if every row has
    /// every step. `None` after an error.
    #[allow(clippy::option_option)] // an error, no mask, a mask
    fn steps_of_rows(
        &mut self,
        recurrent: &Recurrent<'a>,
        sizes: CellSizes,
    ) -> Option<Option<Known>> {
        let node = recurrent.node;
        if self.lengths(recurrent, sizes)? == Lengths::Full {
            return Some(None);
        }
        let CellSizes { batch, steps, .. } = sizes;
        let lengths = recurrent.known(CellPort::Lengths)?;
        let element = lengths.element();
        let lengths = match lengths {
            // an input that only gives lengths has no operation so far
            &Known::Source(Source::Parameter(parameter), element) => {
                let out = self.core.value(vec![batch]);
                let most = i32::try_from(steps).ok()?;
                self.core.emit(CoreOp::Integers(Integers { parameter, least: 0, most, out }));
                self.core
                    .facts
                    .set_range(&Known::Source(Source::Value(out), element), [0.0, most.into()]);
                Known::Source(Source::Value(out), element)
            }
            known => known.clone(),
        };
        let lengths = self.view(node, &lengths, Geometry::reshaped(vec![1, batch, 1]))?;
        let numbers: Vec<i64> = (0..steps as i64).collect();
        let step = Known::integers(vec![steps, 1, 1], &numbers, element);
        let runs =
            self.build(node, |core| computed(core, Elementwise::Less, vec![step, lengths]))?;
        let like = recurrent.known(CellPort::X)?;
        let (one, zero) = (Known::number_like(like, 1.0), Known::number_like(like, 0.0));
        Some(Some(
            self.build(node, |core| computed(core, Elementwise::Select, vec![runs, one, zero]))?,
        ))
    }

    /// h and c before the first step.
    fn initial(
        &mut self,
        recurrent: &Recurrent<'a>,
        sizes: CellSizes,
        (set, sets): (usize, usize),
    ) -> Option<State> {
        let hidden = recurrent.cell.hidden_size;
        let mut of = |role: CellPort| {
            let known = recurrent.known(role)?;
            let strides = vec![(sets * hidden) as isize, 1];
            let geometry =
                Geometry { offset: set * hidden, strides, shape: vec![sizes.batch, hidden] };
            self.view(recurrent.node, known, geometry)
        };
        let h = of(CellPort::H)?;
        let c = if recurrent.cell.kind.has_cell_state() { Some(of(CellPort::C)?) } else { None };
        Some(State { h, c })
    }

    /// The operands of a direction's set of weights that are constant over the steps.
    fn constant_operands(
        &mut self,
        recurrent: &Recurrent<'a>,
        sizes: CellSizes,
        (set, _): (usize, usize),
    ) -> Option<Operands> {
        let (node, cell, hidden) = (recurrent.node, recurrent.cell, recurrent.cell.hidden_size);
        let x = recurrent.known(CellPort::X)?;
        let (batch, input) = (sizes.batch, sizes.input);
        let x = match recurrent.direction {
            None => x.clone(),
            Some(_) => {
                let strides = signed(vec![input, sizes.steps * input, 1]);
                self.view(
                    node,
                    x,
                    Geometry { offset: 0, strides, shape: vec![sizes.steps, batch, input] },
                )?
            }
        };
        let rows = |gate: usize, columns: usize| Geometry {
            offset: (set * cell.kind.gates() + cell.layout.gates[gate]) * hidden * columns,
            strides: signed(strides(&[hidden, columns])),
            shape: vec![hidden, columns],
        };
        let (w, r) = (recurrent.known(CellPort::W)?, recurrent.known(CellPort::R)?);
        let (mut inputs, mut of_h) = (Vec::new(), Vec::new());
        for gate in 0..cell.kind.gates() {
            let w = self.view(node, w, rows(gate, input))?;
            let mut sum = self.build(node, |core| product(core, &[x.clone(), w], false, true))?;
            for bias in self.biases_of(recurrent, set, gate)? {
                sum = self.build(node, |core| computed(core, Elementwise::Add, vec![sum, bias]))?;
            }
            inputs.push(sum);
            let geometry = Geometry { strides: signed(vec![1, hidden]), ..rows(gate, hidden) };
            of_h.push(self.view(node, r, geometry)?);
        }
        let after = cell.kind.reset_gate() == Some(ResetGate::AfterMatMul);
        let mut late_bias = None;
        if after {
            for bias in self.biases_of(recurrent, set, cell.kind.gates())? {
                late_bias = Some(match late_bias {
                    None => bias,
                    Some(sum) => {
                        self.build(node, |core| computed(core, Elementwise::Add, vec![sum, bias]))?
                    }
                });
            }
        }
        let peepholes = match recurrent.known(CellPort::P) {
            None => None,
            Some(p) => {
                let mut part = |at: usize| {
                    let offset = (set * 3 + cell.layout.peepholes[at]) * hidden;
                    self.view(node, p, Geometry { offset, ..Geometry::reshaped(vec![1, hidden]) })
                };
                Some([part(0)?, part(1)?, part(2)?])
            }
        };
        let activations = cell.activations_of(set).to_vec();
        Some(Operands { inputs, r: of_h, late_bias, peepholes, activations })
    }

    /// The biases `[1, H]` of a part of B. Empty for a cell without B.
    fn biases_of(
        &mut self,
        recurrent: &Recurrent<'a>,
        set: usize,
        part: usize,
    ) -> Option<Vec<Known>> {
        let (cell, hidden) = (recurrent.cell, recurrent.cell.hidden_size);
        let parts = cell.layout.bias_tensors();
        let mut addends = Vec::new();
        for &BiasPart { tensor, part } in &cell.layout.biases[part] {
            let Some(b) = recurrent.known(CellPort::B(tensor)) else { continue };
            let offset = (set * parts[tensor] + part) * hidden;
            let geometry = Geometry { offset, ..Geometry::reshaped(vec![1, hidden]) };
            addends.push(self.view(recurrent.node, b, geometry)?);
        }
        Some(addends)
    }

    /// The state after a step, from `W x + b` of every gate.
    fn one_step(
        &mut self,
        recurrent: &Recurrent<'a>,
        operands: &Operands,
        inputs: &[Known],
        before: &State,
    ) -> Option<State> {
        use Elementwise::{Add, Multiply};
        let (node, cell) = (recurrent.node, recurrent.cell);
        let State { h, c } = before;
        let mut step = Step { translator: self, recurrent, operands, inputs };
        match (cell.kind, c) {
            (CellKind::Rnn, _) => {
                let sum = step.sum(0, h)?;
                Some(State { h: step.active(0, sum)?, c: None })
            }
            (CellKind::Gru(_) | CellKind::Augru(_), _) => {
                let (z, r) = (step.sum(0, h)?, step.sum(1, h)?);
                let (z, r) = (step.active(0, z)?, step.active(0, r)?);
                let n = step.candidate(h, r)?;
                let this = step.translator;
                let one = Known::number_like(h, 1.0);
                let rest = this.build(node, |core| {
                    computed(core, Elementwise::Subtract, vec![one, z.clone()])
                })?;
                let new = this.build(node, |core| computed(core, Multiply, vec![rest, n]))?;
                let old = this.build(node, |core| computed(core, Multiply, vec![z, h.clone()]))?;
                Some(State {
                    h: this.build(node, |core| computed(core, Add, vec![old, new]))?,
                    c: None,
                })
            }
            (CellKind::Lstm, Some(c)) => step.lstm(h, c),
            (CellKind::Lstm, None) => None,
        }
    }
}

/// One step under construction.
struct Step<'s, 'c, 'a> {
    translator: &'s mut Translator<'c, 'a>,
    recurrent: &'s Recurrent<'a>,
    operands: &'s Operands,
    inputs: &'s [Known],
}

impl Step<'_, '_, '_> {
    fn of(&mut self, function: Elementwise, operands: [&Known; 2]) -> Option<Known> {
        let operands = operands.map(Known::clone).to_vec();
        self.translator.build(self.recurrent.node, |core| computed(core, function, operands))
    }

    /// `R v` of a gate.
    fn of_h(&mut self, gate: usize, v: &Known) -> Option<Known> {
        let factors = [v.clone(), self.operands.r[gate].clone()];
        self.translator.build(self.recurrent.node, |core| product(core, &factors, false, false))
    }

    /// `W x + b + R v` of a gate.
    fn sum(&mut self, gate: usize, v: &Known) -> Option<Known> {
        let of_h = self.of_h(gate, v)?;
        self.of(Elementwise::Add, [&self.inputs[gate], &of_h])
    }

    /// An activation of a sum, clipped first if the cell has a clip.
    fn active(&mut self, function: usize, sum: Known) -> Option<Known> {
        let node = self.recurrent.node;
        let sum = match self.recurrent.cell.bound() {
            None => sum,
            Some(clip) => self.translator.build(node, |core| {
                computed(core, Elementwise::Clamp { min: -clip, max: clip }, vec![sum])
            })?,
        };
        let activation = Elementwise::Activation(self.operands.activations[function]);
        self.translator.build(node, |core| computed(core, activation, vec![sum]))
    }

    /// The candidate n of a GRU.
    fn candidate(&mut self, h: &Known, r: Known) -> Option<Known> {
        const GATE: usize = 2;
        let sum = match self.recurrent.cell.kind.reset_gate() {
            Some(ResetGate::AfterMatMul) => {
                let mut of_h = self.of_h(GATE, h)?;
                if let Some(bias) = &self.operands.late_bias {
                    of_h = self.of(Elementwise::Add, [&of_h, bias])?;
                }
                let reset = self.of(Elementwise::Multiply, [&r, &of_h])?;
                self.of(Elementwise::Add, [&self.inputs[GATE], &reset])?
            }
            _ => {
                let reset = self.of(Elementwise::Multiply, [&r, h])?;
                self.sum(GATE, &reset)?
            }
        };
        self.active(1, sum)
    }

    /// A gate f, i or o of an LSTM, by its place in W and among the peepholes.
    fn gate(&mut self, [gate, peephole]: [usize; 2], h: &Known, c: &Known) -> Option<Known> {
        let mut sum = self.sum(gate, h)?;
        if let Some(peepholes) = &self.operands.peepholes {
            let peep = self.of(Elementwise::Multiply, [&peepholes[peephole], c])?;
            sum = self.of(Elementwise::Add, [&sum, &peep])?;
        }
        self.active(0, sum)
    }

    fn lstm(&mut self, h: &Known, c: &Known) -> Option<State> {
        let rest = |this: &mut Self, gate: &Known| {
            let one = Known::number_like(gate, 1.0);
            this.of(Elementwise::Subtract, [&one, gate])
        };
        let (f, i) = match self.recurrent.cell.coupled {
            None => (self.gate([0, 0], h, c)?, self.gate([1, 1], h, c)?),
            Some(Coupled::Input) => {
                let f = self.gate([0, 0], h, c)?;
                (f.clone(), rest(self, &f)?)
            }
            Some(Coupled::Forget) => {
                let i = self.gate([1, 1], h, c)?;
                (rest(self, &i)?, i)
            }
        };
        let candidate = self.sum(2, h)?;
        let candidate = self.active(1, candidate)?;
        let old = self.of(Elementwise::Multiply, [&f, c])?;
        let new = self.of(Elementwise::Multiply, [&i, &candidate])?;
        let c = self.of(Elementwise::Add, [&old, &new])?;
        let o = self.gate([3, 2], h, &c)?;
        let activation = Elementwise::Activation(self.operands.activations[2]);
        let shown = self
            .translator
            .build(self.recurrent.node, |core| computed(core, activation, vec![c.clone()]))?;
        Some(State { h: self.of(Elementwise::Multiply, [&o, &shown])?, c: Some(c) })
    }
}
