//! A row of weights and its accumulators, shared by the micro-kernels that multiply row by row.

use super::RowGroup;
use crate::kernel::{Expr, LaneOp, Place, Stmt, Var};
use crate::lower::builder::op;
use crate::plan::DotWord;

/// The accumulators of some neighbouring columns of a sum.
#[derive(Clone)]
pub(super) struct Accumulator {
    /// The first of the columns, in elements or words from the start of a row of weights.
    pub(super) at: usize,
    pub(super) lanes: usize,
    /// One for each operand.
    pub(super) vars: Vec<Var>,
}

/// The sums of a phase, while rows of weights are multiplied and added.
pub(super) struct Accumulation {
    /// The suffix of the phase in names.
    pub(super) name: &'static str,
    /// One list per chain. Row k adds to chain `k % chains.len()`.
    pub(super) chains: Vec<Vec<Accumulator>>,
    /// The integers that one operation multiplies. `None` for f32.
    pub(super) word: Option<DotWord>,
    /// Elements of a row of weights. With interleaved words, elements of one of the interleaved
    /// rows.
    pub(super) len: usize,
    /// Rows of weights: of elements for f32, of words for integers.
    pub(super) count: usize,
    /// The start of the first row.
    pub(super) rows: Place,
    /// Neighbouring vectors of weights per load instruction.
    pub(super) loads: usize,
}

/// One row of weights in an iteration of the loop over rows.
#[derive(Clone, Copy)]
pub(super) struct WeightRow<'s> {
    /// The sums that the row adds to.
    pub(super) sum: &'s Accumulation,
    /// The start of the first row of the iteration.
    pub(super) first: Place,
    /// For each operand, the words of each part.
    pub(super) elements: &'s [Vec<Place>],
    /// The index of the row's word in `elements`.
    pub(super) element: usize,
    /// The index of the row in the iteration.
    pub(super) k: usize,
    /// The number of rows in the iteration.
    pub(super) count: usize,
}

/// A word of an operand that a row of weights is multiplied by.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    /// The index of the operand.
    pub(super) operand: usize,
    /// The index of the word, among the words that one word of weights multiplies.
    pub(super) part: usize,
    /// The lanes of the accumulator.
    pub(super) lanes: usize,
}

/// The multiply-adds of a micro-kernel, in one iteration of the loop over rows.
pub(super) trait MultiplyAdd {
    /// The most accumulators whose weights are loaded together.
    fn most_together(&self) -> usize {
        usize::MAX
    }

    /// Begins a row.
    fn begin(&mut self, rows: &mut RowGroup<'_, '_, '_>, body: &mut Vec<Stmt>, row: WeightRow<'_>);

    /// The weights of a row for an accumulator.
    fn weight(
        &mut self,
        rows: &mut RowGroup<'_, '_, '_>,
        body: &mut Vec<Stmt>,
        row: WeightRow<'_>,
        accumulator: &Accumulator,
    ) -> Expr;

    /// The operation that multiplies and adds, and the word or element that it multiplies the
    /// weights by.
    fn factor(
        &mut self,
        rows: &mut RowGroup<'_, '_, '_>,
        body: &mut Vec<Stmt>,
        row: WeightRow<'_>,
        factor: Factor,
    ) -> (LaneOp, Expr);
}

/// The broadcast elements of a row: each is loaded once for all accumulators with equally many
/// lanes.
#[derive(Default)]
pub(super) struct Broadcasts(Vec<(Factor, Expr)>);

impl Broadcasts {
    /// Forgets the elements of the row before.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// True if no element was loaded yet.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an element.
    pub(super) fn add(&mut self, factor: Factor, value: Expr) {
        self.0.push((factor, value));
    }

    /// A variable that has an element in every lane.
    pub(super) fn element(
        &mut self,
        rows: &mut RowGroup<'_, '_, '_>,
        body: &mut Vec<Stmt>,
        row: WeightRow<'_>,
        factor: Factor,
    ) -> Expr {
        let key = |known: &Factor| (known.operand, known.part, known.lanes);
        if let Some((_, value)) = self.0.iter().find(|(own, _)| key(own) == key(&factor)) {
            return value.clone();
        }
        let lanes = factor.lanes;
        let from = row.elements[factor.operand][factor.part].at(row.element);
        let splat = Expr::Splat { from, lanes };
        let name = format!("{}_k", row.sum.name);
        let value = match row.sum.word {
            Some(_) => {
                let bits = op(LaneOp::ToBits, vec![splat]);
                rows.builder.let_bits(body, &name, lanes, bits)
            }
            None => rows.builder.let_(body, name, lanes, splat),
        };
        self.add(factor, value.clone());
        value
    }
}

impl WeightRow<'_> {
    /// The weights of an accumulator.
    pub(super) fn weights(&self, rows: &RowGroup<'_, '_, '_>, accumulator: &Accumulator) -> Expr {
        rows.weight(self.first, self.sum.len, self.k, accumulator.at, accumulator.lanes)
    }

    /// The accumulators of the row in the order of its weights, in groups of at most `most` with
    /// joint loads. If `one_lane` and one instruction loads several weights, a group has neighbours
    /// only.
    pub(super) fn loaded_together(&self, most: usize, one_lane: bool) -> Vec<Vec<&Accumulator>> {
        let sum = self.sum;
        let loads_neighbours = one_lane && sum.loads > 1;
        let mut accumulators: Vec<&Accumulator> =
            sum.chains[self.k % sum.chains.len()].iter().collect();
        accumulators.sort_by_key(|accumulator| accumulator.at);
        let mut groups: Vec<Vec<&Accumulator>> = Vec::new();
        for accumulator in accumulators {
            let continues = |group: &&mut Vec<&Accumulator>| {
                let is_neighbour =
                    group.last().is_some_and(|last| last.at + last.lanes == accumulator.at);
                (is_neighbour || !loads_neighbours) && group.len() < most
            };
            match groups.last_mut().filter(continues) {
                Some(group) => group.push(accumulator),
                None => groups.push(vec![accumulator]),
            }
        }
        groups
    }
}
