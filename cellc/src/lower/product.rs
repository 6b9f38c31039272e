//! The matrix-vector part that cells and dense layers share: sums over rows of packed weights.

use super::builder::{Builder, load, op};
use crate::kernel::{BufferId, Expr, Operation, Place, Stmt, Walk};
use crate::plan::{self, Panels, Phase, Product, ProductPlan, Sum, Tiling};

/// One row of a product being computed.
pub(super) struct Rows<'b, 'a, 'm> {
    pub(super) builder: &'b mut Builder<'a, 'm>,
    pub(super) plan: &'m ProductPlan,
    weights: BufferId,
}

/// What multiplies the weights: x, `input_size` long, and h, `units` long.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub(super) x: Place,
    pub(super) h: Option<Place>,
}

/// Something as long as there are units that panels walk through.
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

/// The sums of one vector of columns.
pub(super) struct Sums {
    /// The first column, from the panel's first.
    pub(super) lane: usize,
    pub(super) lanes: usize,
    /// By position in [`Product::sums`].
    pub(super) values: Vec<Expr>,
    /// Whether those are activated already that can be on whole runs.
    pub(super) active: bool,
}

impl<'b, 'a, 'm> Rows<'b, 'a, 'm> {
    pub(super) fn new(builder: &'b mut Builder<'a, 'm>, (plan, weights): (&'m ProductPlan, BufferId)) -> Self {
        Self { builder, plan, weights }
    }

    pub(super) fn product(&self) -> &'m Product {
        &self.plan.product
    }

    fn lanes(&self) -> usize {
        self.builder.lowering.isa.lanes
    }

    /// How many vectors of sums of a panel one pass may hold, with all their chains.
    pub(super) fn at_once(&self, panels: &Panels) -> usize {
        let product = self.product();
        let chains = |phase: Phase| phase.chains(product.phase_rows(phase), product.active(phase) * panels.columns);
        let most = Phase::ALL.map(chains).into_iter().max().unwrap_or(1);
        (plan::accumulators(self.builder.lowering.isa) / most).max(1)
    }

    /// How this instruction set covers the columns of the `index`-th group of panels.
    pub(super) fn tiling(&self, index: usize) -> &'m Tiling {
        &self.plan.tilings[self.builder.lowering.isa_index][index]
    }

    /// Where runs of the widest panel are stored, if any panel is tiled by runs.
    pub(super) fn runs_buffer(&mut self) -> Option<BufferId> {
        let panels = self.plan.panels.iter().enumerate();
        let widest = panels.filter(|(i, _)| *self.tiling(*i) == Tiling::Runs).map(|(_, p)| p.columns).max()?;
        let sums = self.product().sums.len();
        Some(self.builder.scratch("gates", sums * widest))
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
        let (panel, walk) = self.builder.walk("panel", weights, stride, false);
        let mut walks = vec![walk];
        let mut inner = Vec::new();
        for (column, of) in columns.iter().zip(places) {
            let name = format!("{}_panel", column.name);
            let (place, walk) = self.builder.walk(&name, of, panels.columns, column.written);
            inner.push(place);
            walks.push(walk);
        }
        let body = body(self, panel, &inner);
        vec![Stmt::For { count: panels.count, turn: None, walks, body }]
    }

    /// The weights of `lanes` columns from `at` on, in the `row`-th of the rows that start at `rows` and hold `len` each:
    /// how every sum reads W and R.
    pub(super) fn weight(&self, rows: Place, len: usize, row: usize, at: usize, lanes: usize) -> Expr {
        load(rows.at(row * len + at), lanes)
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
        let sums = &self.product().sums;
        let position = |sum: usize| sums[..sum].iter().filter(|s| s.gate(phase).is_some()).count();
        let len = position(sums.len()) * panels.columns;
        let count = self.product().phase_rows(phase);
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
                let name = format!("{}_{name}{suffix}", part.name);
                let var = self.builder.accumulator(body, &name, part.lanes, Expr::f32(0.0, part.lanes));
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
                let mut splats: Vec<(usize, Expr)> = Vec::new();
                for (at, lanes, _, accumulator) in accumulators.iter().filter(|a| a.2 == chain) {
                    let element = match splats.iter().find(|(l, _)| l == lanes) {
                        Some((_, element)) => element.clone(),
                        None => {
                            let splat = Expr::Splat { from: elements.at(chain), lanes: *lanes };
                            let element = this.builder.let_(&mut turn, format!("{name}_k"), *lanes, splat);
                            splats.push((*lanes, element.clone()));
                            element
                        }
                    };
                    let weight = this.weight(rows, len, chain, *at, *lanes);
                    let args = vec![weight, element, Expr::Var(*accumulator)];
                    turn.push(Stmt::Set { var: *accumulator, value: op(Operation::MulAdd, args) });
                }
            }
            turn
        };
        let turns = count / chains;
        if turns > 1 {
            let (row, walk_row) = self.builder.walk("row", rows, chains * len, false);
            let (element, walk_element) = self.builder.walk("element", operand, chains, false);
            let statements = turn(self, row, element, chains);
            body.push(Stmt::For { count: turns, turn: None, walks: vec![walk_row, walk_element], body: statements });
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
    fn early_sums(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        weights: Place,
        operands: Operands,
        parts: &[Part],
    ) -> Vec<Expr> {
        let product = self.product();
        let x = self.accumulate(body, panels, Phase::Input, weights.at(panels.input), operands.x, parts);
        let h = match operands.h {
            Some(h) => self.accumulate(body, panels, Phase::Hidden, weights.at(panels.hidden), h, parts),
            None => vec![None; parts.len()],
        };
        parts
            .iter()
            .zip(x.into_iter().zip(h))
            .map(|(part, terms)| {
                let terms = match terms {
                    (Some(x), Some(h)) => add(x, h),
                    (Some(terms), None) | (None, Some(terms)) => terms,
                    (None, None) => unreachable!("plan: a sum has terms"),
                };
                let sum = &product.sums[part.sum];
                if sum.is_late() || sum.bias.is_none() {
                    return terms;
                }
                let bias = weights.at(product.bias_row(part.sum) * panels.columns + part.lane);
                add(terms, load(bias, part.lanes))
            })
            .collect()
    }

    /// The runs of neighbouring sums that take part in the same phases, as (first sum, sums).
    fn runs(&self) -> Vec<(usize, usize)> {
        let phases = |s: &Sum| Phase::ALL.map(|p| s.gate(p).is_some());
        let sums = &self.product().sums;
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for i in 0..sums.len() {
            match runs.last_mut() {
                Some((first, n)) if phases(&sums[*first]) == phases(&sums[i]) => *n += 1,
                _ => runs.push((i, 1)),
            }
        }
        runs
    }

    /// The early phases of one panel: gives, for each pass, the sums of its vectors of columns.
    ///
    /// `activate` is asked for every part of a run, by its first sum, what becomes of it before it is stored; what it
    /// changes must be all of what the run holds.
    #[allow(clippy::too_many_arguments)] // each says something of its own
    pub(super) fn early(
        &mut self,
        group: usize,
        panels: &Panels,
        weights: Place,
        operands: Operands,
        stored: Option<BufferId>,
        activate: impl Fn(&mut Self, usize, Expr) -> Expr,
        mut pointwise: impl FnMut(&mut Self, &mut Vec<Stmt>, Vec<Sums>),
    ) -> Vec<Stmt> {
        let sums = &self.product().sums;
        let mut body = Vec::new();
        match self.tiling(group) {
            Tiling::Columns(passes) => {
                for pass in passes {
                    let mut parts = Vec::new();
                    for (v, &(lane, lanes)) in pass.iter().enumerate() {
                        let part = |(sum, s): (usize, &Sum)| Part { sum, lane, lanes, name: format!("{}{v}", s.name) };
                        parts.extend(sums.iter().enumerate().map(part));
                    }
                    let mut values = self.early_sums(&mut body, panels, weights, operands, &parts).into_iter();
                    let gates = |&(lane, lanes): &(usize, usize)| {
                        let values = values.by_ref().take(sums.len()).collect();
                        Sums { lane, lanes, values, active: false }
                    };
                    let gates = pass.iter().map(gates).collect();
                    pointwise(self, &mut body, gates);
                }
            }
            Tiling::Runs => {
                let stored = stored.expect("lower: runs are stored");
                let mut parts = Vec::new();
                for (first, n) in self.runs() {
                    let name: String = sums[first..first + n].iter().map(|s| s.name).collect();
                    for (v, (lane, lanes)) in plan::vectors(n * panels.columns, self.lanes()).into_iter().enumerate() {
                        parts.push(Part { sum: first, lane, lanes, name: format!("{name}{v}") });
                    }
                }
                for pass in parts.chunks(self.at_once(panels)) {
                    let values = self.early_sums(&mut body, panels, weights, operands, pass);
                    for (part, value) in pass.iter().zip(values) {
                        let value = activate(self, part.sum, value);
                        let to = Place::from(stored).at(part.sum * panels.columns + part.lane);
                        body.push(Stmt::Store { to, value });
                    }
                }
                for (lane, lanes) in plan::vectors(panels.columns, self.lanes()) {
                    let part = |sum: usize| load(Place::from(stored).at(sum * panels.columns + lane), lanes);
                    let values = (0..sums.len()).map(part).collect();
                    pointwise(self, &mut body, vec![Sums { lane, lanes, values, active: true }]);
                }
            }
        }
        body
    }
}

pub(super) fn add(a: Expr, b: Expr) -> Expr {
    op(Operation::Add, vec![a, b])
}

/// One loop over rows: each of `walks` moves a row a turn. One row needs no loop.
pub(super) fn for_rows<'a, 'm>(
    builder: &mut Builder<'a, 'm>,
    count: usize,
    rows: &[(&str, Place, usize, bool)],
    body: impl FnOnce(&mut Builder<'a, 'm>, &[Place]) -> Vec<Stmt>,
) -> Vec<Stmt> {
    if count == 1 {
        let places: Vec<_> = rows.iter().map(|(_, of, _, _)| *of).collect();
        return body(builder, &places);
    }
    let mut places = Vec::new();
    let mut walks: Vec<Walk> = Vec::new();
    for &(name, of, len, written) in rows {
        let (place, walk) = builder.walk(name, of, len, written);
        places.push(place);
        walks.push(walk);
    }
    let body = body(builder, &places);
    vec![Stmt::For { count, turn: None, walks, body }]
}
