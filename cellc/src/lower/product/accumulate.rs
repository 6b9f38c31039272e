//! Sums over the rows of weights of one phase, by the micro-kernel of the plan.

use super::rows::{Accumulation, Accumulator};
use super::sums::{add, added};
use super::terms::{Elements, Vectors};
use super::{PanelWeights, RowGroup, SumVector, first_row, suffix};
use crate::kernel::{Expr, LaneOp, Stmt};
use crate::lower::builder::op;
use crate::plan::{Choice, DotWord, Microkernel, Panels, Phase};

impl RowGroup<'_, '_, '_> {
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
                let operands = vectors.rows(self.taken_at_once(phase)).into_iter();
                let operands = &operands.map(Elements::neighbours).collect::<Vec<_>>()[..];
                let rows = weights.rows.at(first_row(panels, phase));
                let sums = self.accumulate_lanes(body, phase, rows, operands, part);
                let scaled = |sum| vec![Some(self.scaled(panels, weights, phase, part, sum, None))];
                sums.into_iter().map(scaled).collect()
            }
            Microkernel::Across(_) => {
                self.accumulate_across(body, panels, phase, weights, vectors, parts)
            }
            Microkernel::Tiles(_) | Microkernel::Blocks(_) => {
                unreachable!("lower: tiles and blocks compute all sums before")
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
        let chains = choice.chains.count(registers.sum::<usize>() * operands.len());
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
        let window = (between, weights.short * together);
        match *operands {
            [Elements::Taps(taps)] => self.add_taps(body, &sum, taps, window),
            _ => {
                let operands: Vec<_> =
                    operands.iter().map(|elements| elements.neighbours()).collect();
                self.add_rows(body, &sum, &choice, &operands, window);
            }
        }
        sum.add_chains_of_integers(body);
        let row = |row: usize| {
            let mut sums = (0..).map(|part| sum.value(part, row));
            let each = |part: &SumVector| {
                let sum = self.takes_part(phase, part).then(|| sums.next()).flatten()?;
                let guarded = match vectors.guard {
                    Some(from) => add(sum, Expr::Splat { from, lanes: part.lanes }),
                    None => sum,
                };
                Some(self.scaled(panels, weights, phase, part, guarded, vectors.scale(row)))
            };
            parts.iter().map(each).collect()
        };
        (0..operands.len()).map(row).collect()
    }

    /// True if the sum of a part has rows of weights in a phase.
    fn takes_part(&self, phase: Phase, part: &SumVector) -> bool {
        self.product().sums[part.sum].gate(phase).is_some()
    }

    /// Declares the accumulators of a part, whose first column is at `at`: for each chain, one for
    /// each operand. If the elements are unsigned, the first chain begins at `start`.
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
        // sums of several operands are stored, so their chains are not marked
        if sum.chains.len() > 1 && self.product().active(phase) == 1 && operands == 1 {
            self.builder.chains(vectors());
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
