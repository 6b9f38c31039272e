//! Products of two unpacked matrices a and b: each row of b times one element of a row of a. Lanes
//! are columns of b.

use super::builder::{KernelBuilder, Lowered, MovingPlace, load, op};
use super::pointwise::Epilogue;
use super::product::for_rows;
use crate::core::MatMul;
use crate::kernel::{Expr, LaneOp, Place, Stmt, Var};
use crate::plan;

/// One row of a product.
struct ProductRow {
    /// Elements of the row of a.
    inner: usize,
    /// Elements of the row of the product.
    columns: usize,
    /// The row of a.
    a: Place,
    /// The matrix b.
    b: Place,
    /// The row of the product.
    out: Place,
    /// The operands of the epilogue at the row.
    operands: Vec<Place>,
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn matmul(&mut self, matmul: &'m MatMul) -> Lowered {
        let MatMul { batch, rows, inner, columns, .. } = *matmul;
        let mut before = Vec::new();
        let [a, b] = [("a", matmul.a), ("b", matmul.b)].map(|(name, source)| {
            let place = self.lowering.source(source);
            self.flushed_tensor(&mut before, name, source, place)
        });
        let out = self.stored(matmul.out);
        let epilogue = self.epilogue(matmul.out, columns);
        let operands = self.operand_rows(&epilogue, columns);
        let mut whole = vec![
            MovingPlace::new("a_matrix", a, rows * inner, false),
            MovingPlace::new("b_matrix", b, inner * columns, false),
            MovingPlace::new("out_matrix", out, rows * columns, true),
        ];
        whole.extend(operands.iter().filter_map(|(place, len)| {
            len.map(|len| MovingPlace::new("operand", *place, rows * len, false))
        }));
        before.extend(for_rows(self, batch, &whole, |builder, matrices| {
            let mut row = vec![
                MovingPlace::new("a_row", matrices[0], inner, false),
                MovingPlace::new("out_row", matrices[2], columns, true),
            ];
            let mut moving = matrices[3..].iter();
            for (_, len) in &operands {
                if let Some(len) = len {
                    row.push(MovingPlace::new(
                        "operand_row",
                        *moving.next().expect("lower: as many as were walked"),
                        *len,
                        false,
                    ));
                }
            }
            for_rows(builder, rows, &row, |builder, places| {
                let mut moving = places[2..].iter();
                let row_operands = operands
                    .iter()
                    .map(|(place, len)| len.and_then(|_| moving.next()).copied().unwrap_or(*place));
                let operands = row_operands.collect();
                let [a, b, out] = [places[0], matrices[1], places[1]];
                builder.product_row(&ProductRow { inner, columns, a, b, out, operands }, &epilogue)
            })
        }));
        let names = epilogue.names();
        Lowered::new(
            format!("{batch} products of [{rows}, {inner}] and [{inner}, {columns}]{names}."),
            before,
        )
    }

    /// One row of a product: for each pass over the columns, the sums over the rows of b.
    fn product_row(&mut self, row: &ProductRow, epilogue: &Epilogue<'m>) -> Vec<Stmt> {
        let by_column = epilogue.by_column();
        let mut body = Vec::new();
        let isa = self.lowering.isa;
        for pass in plan::vectors(row.columns, isa.lanes).chunks(plan::accumulators(isa)) {
            let pass = self.lowering.plan.values.of_pass(pass, isa);
            let mut sums = Vec::new();
            for (v, &(_, lanes)) in pass.iter().enumerate() {
                let zero = Expr::f32(0.0, lanes);
                sums.push(self.accumulator(&mut body, &format!("y{v}"), lanes, zero));
            }
            let (b_row, walk_b) = self.walk("b_row", row.b, row.columns, false);
            let (a_k, walk_a) = self.walk("a_k", row.a, 1, false);
            let multiplied = |(&(at, lanes), &var): (&(usize, usize), &Var)| {
                let element = Expr::Splat { from: a_k, lanes };
                let args = vec![load(b_row.at(at), lanes), element, Expr::Var(var)];
                Stmt::Set { var, value: op(LaneOp::MulAdd, args) }
            };
            let iteration = pass.iter().zip(&sums).map(multiplied).collect();
            body.push(Stmt::repeat(row.inner, vec![walk_b, walk_a], iteration));
            for (&(at, lanes), &var) in pass.iter().zip(&sums) {
                let operands: Vec<_> = row
                    .operands
                    .iter()
                    .zip(&by_column)
                    .map(|(place, by)| if *by { place.at(at) } else { *place })
                    .collect();
                let sum = Expr::Var(var);
                let value = self.finish_vector(&mut body, epilogue, sum, lanes, &operands);
                body.push(Stmt::Store { to: row.out.at(at), value });
            }
        }
        body
    }
}
