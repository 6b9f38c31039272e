//! The micro-kernel for one column: the lanes of a vector are the chains of its sum, as weights and
//! elements of neighbouring rows are neighbours in memory.

use super::sums::added;
use super::{RowGroup, SumVector, lane_sums, suffix};
use crate::kernel::{Expr, LaneOp, Place, Stmt, Var};
use crate::lower::builder::{load, op};
use crate::plan::Phase;

impl RowGroup<'_, '_, '_> {
    /// The sums of one column for each operand, with lanes as chains. Scratch memory passes the
    /// lanes to the final additions.
    pub(super) fn accumulate_lanes(
        &mut self,
        body: &mut Vec<Stmt>,
        phase: Phase,
        rows: Place,
        operands: &[Place],
        part: &SumVector,
    ) -> Vec<Expr> {
        let (name, count) = (suffix(phase), self.product().phase_rows(phase));
        let chains = self.product().chains(phase);
        let width = chains.min(self.lanes());
        let vectors: Vec<usize> = (0..chains).step_by(width).collect();
        let mut accumulators: Vec<Vec<Var>> = Vec::new();
        for operand in 0..operands.len() {
            let sum = |at: &usize| {
                let mut name = format!("{}_{name}", part.name);
                if vectors.len() > 1 {
                    name += &format!("_from{at}");
                }
                if operands.len() > 1 {
                    name += &format!("_row{operand}");
                }
                self.builder.accumulator(body, &name, width, Expr::f32(0.0, width))
            };
            accumulators.push(vectors.iter().map(sum).collect());
        }
        let (row, walk) = self.builder.walk("row", rows, chains, false);
        let (mut walks, mut iteration) = (vec![walk], Vec::new());
        let mut elements = Vec::new();
        for operand in operands {
            let (element, walk) = self.builder.walk("element", *operand, chains, false);
            elements.push(element);
            walks.push(walk);
        }
        for (v, at) in vectors.iter().enumerate() {
            let weight = self.weight(row, 1, *at, 0, width);
            let weight = self.builder.let_(&mut iteration, "w", width, weight);
            for (element, sums) in elements.iter().zip(&accumulators) {
                let args = vec![weight.clone(), load(element.at(*at), width), Expr::Var(sums[v])];
                iteration.push(Stmt::Set { var: sums[v], value: op(LaneOp::MulAdd, args) });
            }
        }
        body.push(Stmt::repeat(count / chains, walks, iteration));
        let room = Place::from(self.builder.lane_room(lane_sums(phase), chains * operands.len()));
        let done = count / chains * chains;
        let mut lane_values = Vec::new();
        for (number, (operand, sums)) in operands.iter().zip(accumulators).enumerate() {
            let room = room.at(number * chains);
            for (at, sum) in vectors.iter().zip(sums) {
                body.push(Stmt::Store { to: room.at(*at), value: Expr::Var(sum) });
            }
            let sum = |chain: usize| {
                let sum = load(room.at(chain), 1);
                match done + chain {
                    k if k < count => op(
                        LaneOp::MulAdd,
                        vec![self.weight(rows, 1, k, 0, 1), load(operand.at(k), 1), sum],
                    ),
                    _ => sum,
                }
            };
            lane_values.push(added(&(0..chains).map(sum).collect::<Vec<_>>()));
        }
        lane_values
    }
}
