//! The matrix-vector part that all cells share: sums over rows of packed weights.

use super::Lowering;
use crate::kernel::{BufferId, Expr, Kernel, Operation, Place, Role, Stmt, Type, Var, Walk, WindowId};
use crate::model::{Activation, ValidCell};
use crate::plan::{self, CellPlan, Panels, Phase, Plan, Sum};
use crate::target::Isa;

/// The kernel of one cell under construction.
pub(super) struct Cell<'a, 'm> {
    lowering: &'a mut Lowering<'m>,
    pub(super) cell: &'a ValidCell,
    pub(super) plan: &'a CellPlan,
    pub(super) isa: &'static Isa,
    isa_index: usize,
    flush: bool,
    kernel: Kernel,
    windows: usize,
    x: BufferId,
    h: BufferId,
    out: BufferId,
    weights: BufferId,
}

/// What one row of the batch looks at.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// x, input_size long.
    pub(super) x: Place,
    /// h, hidden_size long.
    pub(super) h: Place,
    /// The new h, hidden_size long.
    pub(super) out: Place,
}

/// Something hidden_size long that panels walk through.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) of: Place,
    pub(super) written: bool,
}

/// One vector of one sum, or of a run of neighbouring sums.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The first sum it belongs to.
    pub(super) sum: usize,
    /// The first lane, from that sum's first column.
    pub(super) lane: usize,
    pub(super) lanes: usize,
    pub(super) name: String,
}

impl<'a, 'm> Cell<'a, 'm> {
    pub(super) fn new(
        lowering: &'a mut Lowering<'m>,
        cell: &'a ValidCell,
        plan: &'a Plan,
        isa_index: usize,
        weights: BufferId,
        index: usize,
    ) -> Self {
        let (isa, flush) = (plan.isas[isa_index].0, plan.flush_denormals);
        let plan = &plan.cells[index];
        let (x, h) = (lowering.source(cell.x), lowering.source(cell.h));
        let out = lowering.cells[index];
        let kernel = Kernel {
            name: format!("cell{index}"),
            doc: Vec::new(),
            params: vec![(weights, false)],
            scratch: Vec::new(),
            locals: Vec::new(),
            body: Vec::new(),
        };
        let mut this = Self { lowering, cell, plan, isa, isa_index, flush, kernel, windows: 0, x, h, out, weights };
        for (buffer, written) in [(x, false), (h, false), (out, true)] {
            if !this.kernel.params.contains(&(buffer, written)) {
                this.kernel.params.push((buffer, written));
            }
        }
        this
    }

    /// The kernel: `body` for every row of the batch.
    pub(super) fn finish(mut self, doc: Vec<String>, body: impl FnOnce(&mut Self, Rows) -> Vec<Stmt>) -> Kernel {
        self.kernel.doc = doc;
        let cell = self.cell;
        let whole = Rows { x: self.x.into(), h: self.h.into(), out: self.out.into() };
        self.kernel.body = if cell.batch == 1 {
            body(&mut self, whole)
        } else {
            let row = |this: &mut Self, name: &str, of, len, written| {
                let window = this.window();
                (window, Walk { window, name: name.into(), of, len, written, reverse: false })
            };
            let (x, walk_x) = row(&mut self, "x_row", whole.x, cell.input_size, false);
            let (h, walk_h) = row(&mut self, "h_row", whole.h, cell.hidden_size, false);
            let (out, walk_out) = row(&mut self, "out_row", whole.out, cell.hidden_size, true);
            let body = body(&mut self, Rows { x: x.into(), h: h.into(), out: out.into() });
            vec![Stmt::For { count: cell.batch, turn: None, walks: vec![walk_x, walk_h, walk_out], body }]
        };
        self.kernel
    }

    pub(super) fn sums(&self) -> &'static [Sum] {
        plan::sums(self.cell.kind)
    }

    fn window(&mut self) -> WindowId {
        self.windows += 1;
        WindowId(self.windows - 1)
    }

    /// A buffer that only this kernel uses.
    pub(super) fn scratch(&mut self, name: &str, len: usize) -> BufferId {
        let id = self.lowering.buffer(name, Role::Scratch, len);
        self.kernel.scratch.push(id);
        id
    }

    pub(super) fn let_(&mut self, body: &mut Vec<Stmt>, name: impl Into<String>, lanes: usize, value: Expr) -> Var {
        let var = self.kernel.local(name, Type::f32(lanes));
        body.push(Stmt::Let { var, mutable: false, value });
        var
    }

    /// The activation of a sum: clipped first where the cell clips.
    pub(super) fn activate(&mut self, activation: Activation, value: Expr, lanes: usize) -> Expr {
        let value = match self.cell.clip {
            None => value,
            // in this order of arguments a NaN stays a NaN
            Some(clip) => Expr::Op(
                Operation::Min,
                vec![Expr::f32(clip, lanes), Expr::Op(Operation::Max, vec![Expr::f32(-clip, lanes), value])],
            ),
        };
        Expr::Call(self.lowering.function(activation), vec![value])
    }

    /// Stores a new state, denormals flushed where that was asked for.
    pub(super) fn store_state(&mut self, body: &mut Vec<Stmt>, to: Place, value: Expr, lanes: usize) {
        if !self.flush {
            body.push(Stmt::Store { to, value });
            return;
        }
        let value = self.let_(body, "state", lanes, value);
        let op = |operation, args| Expr::Op(operation, args);
        let bits =
            op(Operation::And, vec![op(Operation::ToBits, vec![Expr::Var(value)]), Expr::u32(0x7fff_ffff, lanes)]);
        let magnitude = op(Operation::FromBits, vec![bits]);
        let limit = Expr::f32(plan::FLUSH_BELOW, lanes);
        let args = vec![magnitude, limit, Expr::f32(0.0, lanes), Expr::Var(value)];
        body.push(Stmt::Store { to, value: op(Operation::SelectLess, args) });
    }

    /// How many vectors of sums of a panel one pass may hold, with all their chains.
    pub(super) fn at_once(&self, panels: &Panels) -> usize {
        let lanes = |phase| self.sums().iter().filter(|s| s.gate(phase).is_some()).count() * panels.columns;
        let chains = Phase::ALL.map(|p| p.chains(plan::rows(self.cell, p), lanes(p))).into_iter().max().unwrap_or(1);
        (plan::accumulators(self.isa) / chains).max(1)
    }

    /// How this instruction set covers the columns of the `index`-th group of panels.
    pub(super) fn tiling(&self, index: usize) -> &'a plan::Tiling {
        &self.plan.tilings[self.isa_index][index]
    }

    /// `body` for every panel of a group: it is given the place of the panel's weights in `from`, `stride` apart, and the
    /// place of the panel's columns in each of `columns`.
    pub(super) fn panels(
        &mut self,
        panels: &Panels,
        from: usize,
        stride: usize,
        columns: &[Column],
        body: impl FnOnce(&mut Self, Place, &[Place]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let weights = Place::from(self.weights).at(from);
        let places: Vec<_> = columns.iter().map(|c| c.of.at(panels.first)).collect();
        if panels.count == 1 {
            return body(self, weights, &places);
        }
        let mut walks = Vec::new();
        let panel = self.window();
        walks.push(Walk {
            window: panel,
            name: "panel".into(),
            of: weights,
            len: stride,
            written: false,
            reverse: false,
        });
        let mut inner = Vec::new();
        for (column, of) in columns.iter().zip(places) {
            let window = self.window();
            inner.push(window.into());
            walks.push(Walk {
                window,
                name: format!("{}_panel", column.name),
                of,
                len: panels.columns,
                written: column.written,
                reverse: false,
            });
        }
        let body = body(self, panel.into(), &inner);
        vec![Stmt::For { count: panels.count, turn: None, walks, body }]
    }

    /// The sum over the rows of one phase, for those parts whose sum takes part in it: the chains, added up.
    ///
    /// `rows` is where the phase's first row stands, `operand` the vector whose elements multiply the rows.
    pub(super) fn accumulate(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        phase: Phase,
        rows: Place,
        operand: Place,
        parts: &[Part],
    ) -> Vec<Option<Expr>> {
        let sums = self.sums();
        let position = |sum: usize| sums[..sum].iter().filter(|s| s.gate(phase).is_some()).count();
        let len = position(sums.len()) * panels.columns;
        let count = plan::rows(self.cell, phase);
        let chains = phase.chains(count, len);
        let name = match phase {
            Phase::Input => "x",
            Phase::Hidden => "h",
            Phase::ResetHidden => "rh",
        };
        let takes_part = |part: &Part| sums[part.sum].gate(phase).is_some();
        let mut accumulators = Vec::new();
        for part in parts.iter().filter(|p| takes_part(p)) {
            for chain in 0..chains {
                let suffix = if chains == 1 { String::new() } else { chain.to_string() };
                let var = self.kernel.local(format!("{}_{name}{suffix}", part.name), Type::f32(part.lanes));
                body.push(Stmt::Let { var, mutable: true, value: Expr::f32(0.0, part.lanes) });
                accumulators.push((position(part.sum) * panels.columns + part.lane, part.lanes, chain, var));
            }
        }
        if accumulators.is_empty() {
            return vec![None; parts.len()];
        }
        // one turn takes a row for each chain; what is left over takes the first chains
        let turn = |this: &mut Self, rows: Place, elements: Place, taken: usize| {
            let mut turn = Vec::new();
            for chain in 0..taken {
                let mut splats: Vec<(usize, Var)> = Vec::new();
                for (at, lanes, _, accumulator) in accumulators.iter().filter(|a| a.2 == chain) {
                    let element = match splats.iter().find(|(l, _)| l == lanes) {
                        Some((_, var)) => *var,
                        None => {
                            let splat = Expr::Splat { from: elements.at(chain), lanes: *lanes };
                            let var = this.let_(&mut turn, format!("{name}_k"), *lanes, splat);
                            splats.push((*lanes, var));
                            var
                        }
                    };
                    let weights = Expr::Load { from: rows.at(chain * len + at), lanes: *lanes };
                    let args = vec![weights, Expr::Var(element), Expr::Var(*accumulator)];
                    turn.push(Stmt::Set { var: *accumulator, value: Expr::Op(Operation::MulAdd, args) });
                }
            }
            turn
        };
        let turns = count / chains;
        if turns > 1 {
            let (row, element) = (self.window(), self.window());
            let statements = turn(self, row.into(), element.into(), chains);
            let row =
                Walk { window: row, name: "row".into(), of: rows, len: chains * len, written: false, reverse: false };
            let element = Walk {
                window: element,
                name: "element".into(),
                of: operand,
                len: chains,
                written: false,
                reverse: false,
            };
            body.push(Stmt::For { count: turns, turn: None, walks: vec![row, element], body: statements });
        } else {
            let statements = turn(self, rows, operand, chains);
            body.extend(statements);
        }
        let done = turns * chains;
        let statements = turn(self, rows.at(done * len), operand.at(done), count - done);
        body.extend(statements);
        let mut vars = accumulators.iter().map(|(_, _, _, var)| Expr::Var(*var));
        parts
            .iter()
            .map(|part| {
                if !takes_part(part) {
                    return None;
                }
                let first = vars.next()?;
                let mut chains: Vec<_> = std::iter::once(first).chain(vars.by_ref().take(chains - 1)).collect();
                while chains.len() > 1 {
                    chains = chains.chunks(2).map(|pair| add(pair[0].clone(), pair[1].clone())).collect();
                }
                chains.pop()
            })
            .collect()
    }

    /// The early phases of a panel: for every part, `(x terms + h terms) + bias`, or the x terms alone where the rest
    /// comes late.
    pub(super) fn early(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        weights: Place,
        rows: Rows,
        parts: &[Part],
    ) -> Vec<Expr> {
        let sums = self.sums();
        let x = self.accumulate(body, panels, Phase::Input, weights.at(panels.input), rows.x, parts);
        let h = self.accumulate(body, panels, Phase::Hidden, weights.at(panels.hidden), rows.h, parts);
        parts
            .iter()
            .zip(x.into_iter().zip(h))
            .map(|(part, terms)| {
                let terms = match terms {
                    (Some(x), Some(h)) => add(x, h),
                    (Some(terms), None) | (None, Some(terms)) => terms,
                    (None, None) => unreachable!("plan: a sum has terms"),
                };
                if sums[part.sum].is_late() {
                    return terms;
                }
                let position = sums[..part.sum].iter().filter(|s| !s.is_late()).count();
                let bias = weights.at(position * panels.columns + part.lane);
                add(terms, Expr::Load { from: bias, lanes: part.lanes })
            })
            .collect()
    }

    /// The runs of neighbouring sums that take part in the same phases, as (first sum, sums).
    pub(super) fn runs(&self) -> Vec<(usize, usize)> {
        let phases = |s: &Sum| Phase::ALL.map(|p| s.gate(p).is_some());
        let sums = self.sums();
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for i in 0..sums.len() {
            match runs.last_mut() {
                Some((first, n)) if phases(&sums[*first]) == phases(&sums[i]) => *n += 1,
                _ => runs.push((i, 1)),
            }
        }
        runs
    }
}

pub(super) fn add(a: Expr, b: Expr) -> Expr {
    Expr::Op(Operation::Add, vec![a, b])
}
