//! Rows of a table, by index.

use super::builder::{KernelBuilder, Lowered, MovingPlace, copy, op};
use super::integers::{between, number};
use super::product::for_rows;
use crate::core::{Lookup, Source};
use crate::kernel::{Expr, LaneOp, Stmt};
use crate::model::counted;

impl<'m> KernelBuilder<'_, 'm> {
    /// Copies one row of the table for each index. Negative indices count from the end of the
    /// table. Indices beyond either end are clamped, and NaN becomes 0.
    pub(super) fn lookup(&mut self, lookup: &'m Lookup) -> Lowered {
        let (size, len) = (lookup.size, lookup.len);
        let mut body = Vec::new();
        let table = self.lowering.source(lookup.table);
        let table = self.flushed_tensor(&mut body, "table", lookup.table, table);
        let indices = self.lowering.source(lookup.indices);
        let out = self.lowering.source(Source::Value(lookup.out));
        let count = self.lowering.len(lookup.indices);
        let is_flushed = self.lowering.denormals.is_flushed_at(lookup.out);
        let whole = [
            MovingPlace::new("index", indices, 1, false),
            MovingPlace::new("out_row", out, len, true),
        ];
        body.extend(for_rows(self, count, &whole, |builder, places| {
            let mut row = Vec::new();
            let index =
                builder.let_(&mut row, "index", 1, Expr::Load { from: places[0], lanes: 1 });
            let [zero, end] = [0.0, size as f32].map(|v| Expr::f32(v, 1));
            let from_end = op(LaneOp::Add, vec![index.clone(), end]);
            let counted = op(LaneOp::SelectLess, vec![index.clone(), zero, from_end, index]);
            let inside = between(counted, size - 1);
            let (place, walk) = builder.walk("row", table, len, false);
            let body = match is_flushed {
                true => builder.flushed_copy(place, places[1], len),
                false => vec![copy(place, places[1], len)],
            };
            row.push(Stmt::Pick { at: number(inside), count: size, walk, body });
            row
        }));
        Lowered::new(format!("{} of {size}.", counted(count, "row")), body)
    }
}
