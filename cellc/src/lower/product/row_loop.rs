//! The loop over the rows of weights of a phase, with the multiply-adds of a micro-kernel.

use super::RowGroup;
use super::broadcast::Broadcast;
use super::dot::Dot;
use super::dots_by_lane::ByLane;
use super::rows::{Accumulation, Factor, MultiplyAdd, WeightRow};
use super::smlad::{self, Smlad};
use crate::kernel::{Expr, Place, Stmt};
use crate::lower::builder::op;
use crate::plan::{Choice, Microkernel};

impl RowGroup<'_, '_, '_> {
    /// Adds the terms of all rows: a loop over rows, several per iteration, then the remaining
    /// rows. The window of an iteration spans its rows and `between` elements more, from the first
    /// sum's rows to the last sum's rows, and ends `short` elements early.
    pub(super) fn add_rows(
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
        let iterations = sum.count / taken;
        // for each operand, the first word of each part
        let parts = sum.word.map_or(1, |word| word.operations().len());
        let words = |start: &Place| (0..parts).map(|part| start.at(part * sum.count)).collect();
        let operands: Vec<Vec<Place>> = operands.iter().map(words).collect();
        if iterations > 1 {
            let stride = packed(taken);
            let (row, walk) =
                self.builder.stride("row", sum.rows, (between + stride - short, stride), false);
            let bytes = stride * layout.element_bytes();
            if let ([_], Some(at_once)) = (&operands[..], choice.unroll_factor(iterations, bytes)) {
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
            body.push(Stmt::repeat(iterations, walks, statements));
        } else {
            body.extend(self.iteration(
                sum,
                choice.kernel,
                sum.rows,
                &operands,
                iterations * taken,
            ));
        }
        let done = iterations * taken;
        let behind = |place: &Place| place.at(done);
        let rest: Vec<Vec<_>> =
            operands.iter().map(|parts| parts.iter().map(behind).collect()).collect();
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
        let mut multiply_add = Self::multiply_add(kernel, elements.len());
        for k in 0..count {
            let row = WeightRow { sum, first, elements, element: k, k, count };
            self.add_row(&mut body, &mut *multiply_add, row);
        }
        body
    }

    /// The multiply-adds of a micro-kernel for some operands.
    pub(super) fn multiply_add(kernel: Microkernel, operands: usize) -> Box<dyn MultiplyAdd> {
        match kernel {
            Microkernel::Dot(word) => Box::new(Dot::new(word)),
            Microkernel::ByLane(word) => Box::new(ByLane::new(word, operands)),
            Microkernel::Smlad(word) => Box::new(Smlad::new(word)),
            _ => Box::new(Broadcast::default()),
        }
    }

    /// The multiply-adds of one row.
    pub(super) fn add_row(
        &mut self,
        body: &mut Vec<Stmt>,
        kernel: &mut dyn MultiplyAdd,
        row: WeightRow<'_>,
    ) {
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
