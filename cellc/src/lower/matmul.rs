//! Products of two matrices, neither of them packed: rows of b, one after the other, times the
//! elements of a row of a.

use super::builder::{KernelBuilder, load, op};
use super::product::for_rows;
use crate::core::MatMul;
use crate::kernel::{Expr, LaneOp, Stmt};
use crate::plan;

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn matmul(&mut self, matmul: &'m MatMul) -> (Vec<String>, Vec<Stmt>) {
        let MatMul { batch, rows, inner, columns, .. } = *matmul;
        let mut before = Vec::new();
        let [a, b] = [("a", matmul.a), ("b", matmul.b)].map(|(name, source)| {
            let place = self.lowering.source(source);
            self.flushed_tensor(&mut before, name, source, place)
        });
        let out = self.stored(matmul.out);
        let epilogue = self.epilogue(matmul.out, columns);
        let by_column = epilogue.by_column();
        let operands = self.operand_rows(&epilogue, columns);
        let mut whole = vec![
            ("a_matrix", a, rows * inner, false),
            ("b_matrix", b, inner * columns, false),
            ("out_matrix", out, rows * columns, true),
        ];
        whole.extend(
            operands
                .iter()
                .filter_map(|(place, len)| len.map(|len| ("operand", *place, rows * len, false))),
        );
        before.extend(for_rows(self, batch, &whole, |builder, matrices| {
            let mut row =
                vec![("a_row", matrices[0], inner, false), ("out_row", matrices[2], columns, true)];
            let mut moving = matrices[3..].iter();
            for (_, len) in &operands {
                if let Some(len) = len {
                    row.push((
                        "operand_row",
                        *moving.next().expect("lower: as many as were walked"),
                        *len,
                        false,
                    ));
                }
            }
            for_rows(builder, rows, &row, |builder, places| {
                let mut moving = places[2..].iter();
                let row_operands: Vec<_> = operands
                    .iter()
                    .map(|(place, len)| len.and_then(|_| moving.next()).copied().unwrap_or(*place))
                    .collect();
                let mut body = Vec::new();
                let isa = builder.lowering.isa;
                for pass in plan::vectors(columns, isa.lanes).chunks(plan::accumulators(isa)) {
                    let pass = builder.lowering.plan.values.of_pass(pass, isa);
                    let sums: Vec<_> = pass
                        .iter()
                        .enumerate()
                        .map(|(v, (_, lanes))| {
                            builder.accumulator(
                                &mut body,
                                &format!("y{v}"),
                                *lanes,
                                Expr::f32(0.0, *lanes),
                            )
                        })
                        .collect();
                    let (b_row, walk_b) = builder.walk("b_row", matrices[1], columns, false);
                    let (a_k, walk_a) = builder.walk("a_k", places[0], 1, false);
                    let turn = pass
                        .iter()
                        .zip(&sums)
                        .map(|(&(at, lanes), &var)| {
                            let element = Expr::Splat { from: a_k, lanes };
                            let args = vec![load(b_row.at(at), lanes), element, Expr::Var(var)];
                            Stmt::Set { var, value: op(LaneOp::MulAdd, args) }
                        })
                        .collect();
                    body.push(Stmt::For {
                        count: inner,
                        turn: None,
                        backwards: None,
                        walks: vec![walk_b, walk_a],
                        body: turn,
                    });
                    for (&(at, lanes), &var) in pass.iter().zip(&sums) {
                        let operands: Vec<_> = row_operands
                            .iter()
                            .zip(&by_column)
                            .map(|(p, by)| if *by { p.at(at) } else { *p })
                            .collect();
                        let value = builder.finish_vector(
                            &mut body,
                            &epilogue,
                            Expr::Var(var),
                            lanes,
                            &operands,
                        );
                        body.push(Stmt::Store { to: places[1].at(at), value });
                    }
                }
                body
            })
        }));
        let names = epilogue.names();
        (
            vec![format!("{batch} products of [{rows}, {inner}] and [{inner}, {columns}]{names}.")],
            before,
        )
    }
}
