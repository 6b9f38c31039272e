//! Sums over the rows of weights of one phase, by the micro-kernel of the plan.

use super::broadcast::Broadcast;
use super::by_lane::ByLane;
use super::dot::Dot;
use super::operands::Vectors;
use super::rows::{Accumulation, Accumulator, Factor, MultiplyAdd, Row};
use super::smlad::{self, Smlad};
use super::sums::added;
use super::{PanelWeights, Rows, SumVector, first_row, suffix};
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::lower::builder::op;
use crate::plan::{Choice, DotWord, Microkernel, Panels, Phase};

impl Rows<'_, '_, '_> {
    /// The sums over the rows of one phase: the chains, added up and scaled. One list for each of
    /// `vectors`, with an entry per part. `None` for parts of sums without weights in the phase.
    pub(super) fn accumulate(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        phase: Phase,
        weights: PanelWeights,
        vectors: &Vectors,
        parts: &[SumVector],
    ) -> Vec<Vec<Option<Expr>>> {
        let choice = self.choice(phase, panels.columns);
        match choice.kernel {
            Microkernel::Broadcast
            | Microkernel::Dot(_)
            | Microkernel::ByLane(_)
            | Microkernel::Smlad(_) => {
                self.accumulate_rows(body, panels, (phase, choice), weights, vectors, parts)
            }
            Microkernel::Lanes => {
                let [part] = parts else { unreachable!("plan: one column has one sum") };
                let operands = &vectors.rows(self.taken_at_once(phase))[..];
                let rows = weights.rows.at(first_row(panels, phase));
                let sums = self.accumulate_lanes(body, phase, rows, operands, part);
                let scaled = |sum| vec![Some(self.scaled(panels, weights, phase, part, sum, None))];
                sums.into_iter().map(scaled).collect()
            }
            Microkernel::Across(_) => {
                self.accumulate_across(body, panels, phase, weights, vectors, parts)
            }
            Microkernel::Tiles(_) => {
                unreachable!("lower: tiles compute the sums of all rows before")
            }
        }
    }

    /// The sums of a micro-kernel whose loop takes some rows of weights per iteration.
    fn accumulate_rows(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        (phase, choice): (Phase, Choice),
        weights: PanelWeights,
        vectors: &Vectors,
        parts: &[SumVector],
    ) -> Vec<Vec<Option<Expr>>> {
        let product = self.product();
        let words = self.words(phase);
        let operands = &vectors.rows(self.taken_at_once(phase))[..];
        let taking_part: Vec<_> =
            parts.iter().filter(|part| self.takes_part(phase, part)).collect();
        if taking_part.is_empty() {
            return vec![vec![None; parts.len()]; operands.len()];
        }
        let registers = taking_part.iter().map(|part| part.lanes.div_ceil(self.lanes()));
        let chains = choice.chains.of(registers.sum::<usize>() * operands.len());
        let together = choice.layout.words_together();
        let mut sum = Accumulation {
            name: suffix(phase),
            chains: vec![Vec::new(); chains],
            word: choice.kernel.word(),
            len: product.row_of(phase, panels.columns, 0).1 / together,
            count: words.map_or(product.phase_rows(phase), |words| {
                words.of_weights(product.phase_rows(phase))
            }),
            rows: weights.rows.at(first_row(panels, phase)),
            loads: choice.row_loop.loads,
        };
        for part in taking_part {
            let start = self.start(panels, phase, weights, part);
            let position = product.position(phase, part.sum);
            let at = product.row_of(phase, panels.columns, position).0 / together + part.lane;
            self.declare(body, &mut sum, part, (at, start), operands.len());
        }
        self.mark(&sum, phase, operands.len());
        let last = product.row_of(phase, panels.columns, product.active(phase) - 1).0;
        let between = if choice.layout.separates_sums(panels.columns) { last } else { 0 };
        self.add_rows(body, &sum, &choice, operands, (between, weights.short * together));
        sum.add_chains_of_integers(body);
        let row = |row: usize| {
            let mut sums = (0..).map(|part| sum.value(part, row));
            let each = |part: &SumVector| {
                let sum = self.takes_part(phase, part).then(|| sums.next()).flatten()?;
                Some(self.scaled(panels, weights, phase, part, sum, vectors.scale(row)))
            };
            parts.iter().map(each).collect()
        };
        (0..operands.len()).map(row).collect()
    }

    /// True if the sum of a part has rows of weights in a phase.
    fn takes_part(&self, phase: Phase, part: &SumVector) -> bool {
        self.product().sums[part.sum].gate(phase).is_some()
    }

    /// Declares the accumulators of a part, whose first column stands at `at`: for each chain, one
    /// for each operand. The first chain of integers begins at `start`.
    fn declare(
        &mut self,
        body: &mut Vec<Stmt>,
        sum: &mut Accumulation,
        part: &SumVector,
        (at, start): (usize, Option<Expr>),
        operands: usize,
    ) {
        let chains = sum.chains.len();
        for (chain, accumulators) in sum.chains.iter_mut().enumerate() {
            let vars = (0..operands).map(|row| {
                let mut name = format!("{}_{}", part.name, sum.name);
                if chains > 1 {
                    name.push_str(&chain.to_string());
                }
                if operands > 1 {
                    name.push_str(&format!("_{row}"));
                }
                match sum.word {
                    Some(word) => {
                        let is_unsigned = word == DotWord::UnsignedQuads;
                        let start = start.clone().filter(|_| is_unsigned && chain == 0);
                        self.builder.integer_sum(body, &name, part.lanes, start)
                    }
                    None => self.builder.accumulator(
                        body,
                        &name,
                        part.lanes,
                        Expr::f32(0.0, part.lanes),
                    ),
                }
            });
            accumulators.push(Accumulator { at, lanes: part.lanes, vars: vars.collect() });
        }
    }

    /// Marks the chains of a single gate, and the deferred sums.
    fn mark(&mut self, sum: &Accumulation, phase: Phase, operands: usize) {
        let vectors =
            || sum.chains.iter().flatten().filter(|all| all.lanes > 1).flat_map(|all| &all.vars);
        if phase == Phase::Input && self.keeps_late_apart() {
            self.builder.meanwhile(vectors());
        }
        // the sums of several operands are stored
        if sum.chains.len() > 1 && self.product().active(phase) == 1 && operands == 1 {
            self.builder.chains(vectors());
        }
    }

    /// Adds the terms of all rows: a loop over rows, several per iteration, then the remaining
    /// rows. The window of an iteration spans its rows and `between` elements more, from the first
    /// sum's rows to the last sum's rows, and ends `short` elements early.
    fn add_rows(
        &mut self,
        body: &mut Vec<Stmt>,
        sum: &Accumulation,
        choice: &Choice,
        operands: &[Place],
        (between, short): (usize, usize),
    ) {
        let layout = choice.layout;
        let packed = |rows: usize| match sum.word {
            Some(_) => rows * sum.len,
            None => layout.format.encoding(rows).len(rows) * sum.len,
        };
        let usual = choice.rows_at_once(sum.chains.len());
        let taken = match choice.kernel {
            Microkernel::Smlad(word) => smlad::rows_at_once(word, usual, sum.count),
            _ => usual,
        };
        let turns = sum.count / taken;
        // for each operand, the first word of each part
        let parts = sum.word.map_or(1, |word| word.operations().len());
        let words = |of: &Place| (0..parts).map(|part| of.at(part * sum.count)).collect();
        let operands: Vec<Vec<Place>> = operands.iter().map(words).collect();
        if turns > 1 {
            let step = packed(taken);
            let (row, walk) =
                self.builder.stride("row", sum.rows, (between + step - short, step), false);
            let bytes = step * layout.element_bytes();
            if let ([_], Some(at_once)) = (&operands[..], choice.turns_at_once(turns, bytes)) {
                self.builder.unrolled_by(&walk, at_once);
            }
            let mut walks = vec![walk];
            let mut elements = Vec::new();
            for parts in &operands {
                let mut windows = Vec::new();
                for part in parts {
                    let (window, walk) = self.builder.walk("element", *part, taken, false);
                    windows.push(window);
                    walks.push(walk);
                }
                elements.push(windows);
            }
            let statements = self.iteration(sum, choice.kernel, row, &elements, taken);
            body.push(Stmt::For {
                count: turns,
                turn: None,
                backwards: None,
                walks,
                body: statements,
            });
        } else {
            body.extend(self.iteration(sum, choice.kernel, sum.rows, &operands, turns * taken));
        }
        let done = turns * taken;
        let rest: Vec<Vec<_>> =
            operands.iter().map(|parts| parts.iter().map(|of| of.at(done)).collect()).collect();
        let behind = sum.rows.at(packed(done));
        body.extend(self.iteration(sum, choice.kernel, behind, &rest, sum.count - done));
    }

    /// The multiply-adds of `count` rows of weights that start at `first`, by the elements of each
    /// operand.
    fn iteration(
        &mut self,
        sum: &Accumulation,
        kernel: Microkernel,
        first: Place,
        elements: &[Vec<Place>],
        count: usize,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        let mut multiply_add: Box<dyn MultiplyAdd> = match kernel {
            Microkernel::Dot(word) => Box::new(Dot::new(word)),
            Microkernel::ByLane(word) => Box::new(ByLane::new(word, elements.len())),
            Microkernel::Smlad(word) => Box::new(Smlad::new(word)),
            _ => Box::new(Broadcast::default()),
        };
        for k in 0..count {
            let row = Row { sum, first, elements, k, count };
            self.add_row(&mut body, &mut *multiply_add, row);
        }
        body
    }

    /// The multiply-adds of one row.
    fn add_row(&mut self, body: &mut Vec<Stmt>, kernel: &mut dyn MultiplyAdd, row: Row<'_>) {
        kernel.begin(self, body, row);
        for group in row.loaded_together(kernel.most_together(), self.lanes() == 1) {
            let mut weights = Vec::new();
            for accumulator in &group {
                weights.push(kernel.weight(self, body, row, accumulator));
            }
            for (operand, parts) in row.elements.iter().enumerate() {
                for part in 0..parts.len() {
                    for (accumulator, weight) in group.iter().zip(&weights) {
                        let factor = Factor { operand, part, lanes: accumulator.lanes };
                        let (operation, element) = kernel.factor(self, body, row, factor);
                        let var = accumulator.vars[operand];
                        let args = vec![weight.clone(), element, Expr::Var(var)];
                        body.push(Stmt::Set { var, value: op(operation, args) });
                    }
                }
            }
        }
    }
}

impl Accumulation {
    /// Adds the other chains of integers to the first.
    fn add_chains_of_integers(&self, body: &mut Vec<Stmt>) {
        let Some((first, others)) = self.chains.split_first().filter(|_| self.word.is_some())
        else {
            return;
        };
        for (sum, chain) in others.iter().flat_map(|chain| first.iter().zip(chain)) {
            for (&var, &chain) in sum.vars.iter().zip(&chain.vars) {
                let value = op(LaneOp::WrappingAdd, vec![Expr::Var(var), Expr::Var(chain)]);
                body.push(Stmt::Set { var, value });
            }
        }
    }

    /// The complete sum of a part for operand `row`.
    fn value(&self, part: usize, row: usize) -> Expr {
        match self.word {
            Some(_) => op(LaneOp::FromSigned, vec![Expr::Var(self.chains[0][part].vars[row])]),
            None => added(
                &self.chains.iter().map(|all| Expr::Var(all[part].vars[row])).collect::<Vec<_>>(),
            ),
        }
    }
}
