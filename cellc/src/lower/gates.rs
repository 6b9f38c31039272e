//! The matrix-vector part that all cells share: sums over rows of packed weights.

use super::Lowering;
use crate::kernel::{BufferId, Expr, Kernel, Operation, Place, Role, Stmt, Type, Var, Walk, WindowId};
use crate::model::{Activation, ValidCell};
use crate::plan::{self, CellPlan, Panels, Phase, Sum};
use crate::target::Isa;

/// The kernel of one cell under construction.
pub(super) struct Cell<'a, 'm> {
    lowering: &'a mut Lowering<'m>,
    pub(super) cell: &'a ValidCell,
    pub(super) plan: &'a CellPlan,
    pub(super) isa: &'static Isa,
    isa_index: usize,
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

/// An accumulator: one vector of one sum, or of a run of sums.
#[derive(Clone, Copy)]
pub(super) struct Accumulator {
    /// The first sum it belongs to.
    pub(super) sum: usize,
    /// The first lane, from that sum's first column.
    pub(super) lane: usize,
    pub(super) lanes: usize,
    pub(super) var: Var,
}

impl<'a, 'm> Cell<'a, 'm> {
    pub(super) fn new(
        lowering: &'a mut Lowering<'m>,
        cell: &'a ValidCell,
        plan: &'a CellPlan,
        isa: &'static Isa,
        isa_index: usize,
        weights: BufferId,
        index: usize,
    ) -> Self {
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
        let mut this = Self { lowering, cell, plan, isa, isa_index, kernel, windows: 0, x, h, out, weights };
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
                (window, Walk { window, name: name.into(), of, len, written })
            };
            let (x, walk_x) = row(&mut self, "x_row", whole.x, cell.input_size, false);
            let (h, walk_h) = row(&mut self, "h_row", whole.h, cell.hidden_size, false);
            let (out, walk_out) = row(&mut self, "out_row", whole.out, cell.hidden_size, true);
            let body = body(&mut self, Rows { x: x.into(), h: h.into(), out: out.into() });
            vec![Stmt::For { count: cell.batch, walks: vec![walk_x, walk_h, walk_out], body }]
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
        walks.push(Walk { window: panel, name: "panel".into(), of: weights, len: stride, written: false });
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
            });
        }
        let body = body(self, panel.into(), &inner);
        vec![Stmt::For { count: panels.count, walks, body }]
    }

    /// Declares one accumulator that starts from what is at `from`.
    pub(super) fn accumulator(&mut self, body: &mut Vec<Stmt>, name: String, from: Place, lanes: usize) -> Var {
        let var = self.kernel.local(name, Type::f32(lanes));
        body.push(Stmt::Let { var, mutable: true, value: Expr::Load { from, lanes } });
        var
    }

    /// Declares accumulators that start from the panel's biases: sum, first lane, lanes and name of each.
    pub(super) fn start(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        weights: Place,
        parts: &[(usize, usize, usize, String)],
    ) -> Vec<Accumulator> {
        parts
            .iter()
            .map(|(sum, lane, lanes, name)| {
                let from = weights.at(sum * panels.columns + lane);
                let var = self.accumulator(body, name.clone(), from, *lanes);
                Accumulator { sum: *sum, lane: *lane, lanes: *lanes, var }
            })
            .collect()
    }

    /// Adds the rows of one phase to those accumulators whose sum takes part in it.
    ///
    /// `rows` is where the phase's first row stands, `operand` the vector whose elements multiply the rows.
    pub(super) fn accumulate(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        phase: Phase,
        rows: Place,
        operand: Place,
        accumulators: &[Accumulator],
    ) {
        let sums = self.sums();
        let position = |sum: usize| sums[..sum].iter().filter(|s| s.gate(phase).is_some()).count();
        let parts: Vec<_> = accumulators
            .iter()
            .filter(|a| sums[a.sum].gate(phase).is_some())
            .map(|a| (position(a.sum) * panels.columns + a.lane, *a))
            .collect();
        if parts.is_empty() {
            return;
        }
        let len = position(sums.len()) * panels.columns;
        let count = plan::rows(self.cell, phase);
        let name = match phase {
            Phase::Input => "x_k",
            Phase::Hidden => "h_k",
            Phase::ResetHidden => "rh_k",
        };
        let turn = |this: &mut Self, row: Place, element: Place| {
            let mut turn = Vec::new();
            let mut splats: Vec<(usize, Var)> = Vec::new();
            for (at, accumulator) in &parts {
                let lanes = accumulator.lanes;
                let element = match splats.iter().find(|(l, _)| *l == lanes) {
                    Some((_, var)) => *var,
                    None => {
                        let var = this.let_(&mut turn, name, lanes, Expr::Splat { from: element, lanes });
                        splats.push((lanes, var));
                        var
                    }
                };
                let weights = Expr::Load { from: row.at(*at), lanes };
                turn.push(Stmt::Set {
                    var: accumulator.var,
                    value: Expr::Op(Operation::MulAdd, vec![weights, Expr::Var(element), Expr::Var(accumulator.var)]),
                });
            }
            turn
        };
        if count == 1 {
            let statements = turn(self, rows, operand);
            body.extend(statements);
            return;
        }
        let (row, element) = (self.window(), self.window());
        let statements = turn(self, row.into(), element.into());
        body.push(Stmt::For {
            count,
            walks: vec![
                Walk { window: row, name: "row".into(), of: rows, len, written: false },
                Walk { window: element, name: "element".into(), of: operand, len: 1, written: false },
            ],
            body: statements,
        });
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
