//! Loops over the rows of operands.

use super::terms::Terms;
use super::{Column, RowGroup};
use crate::kernel::{Place, Stmt, Walk};
use crate::lower::builder::{KernelBuilder, MovingPlace};
use crate::lower::memory::PackedProduct;
use crate::plan::Phase;

impl<'a, 'm> RowGroup<'_, 'a, 'm> {
    /// A loop over rows. `body` receives the terms of the row and the place of the row in each of
    /// `columns`.
    pub(super) fn each_row(
        &mut self,
        terms: &[(Phase, Option<&Terms>)],
        columns: &[Column],
        mut body: impl FnMut(&mut RowGroup<'_, 'a, 'm>, Vec<Terms>, &[Column]) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let product = self.product();
        let terms: Vec<_> =
            terms.iter().filter_map(|(phase, terms)| Some((*phase, (*terms)?))).collect();
        let of_row = |column: &&Column| column.each_row;
        let row = |column: &Column| {
            let len = if column.width == 0 { 1 } else { column.width * product.units };
            MovingPlace::new(column.name, column.start, len, column.written)
        };
        let mut rows: Vec<_> = columns.iter().filter(of_row).map(row).collect();
        let column_count = rows.len();
        for (phase, terms) in &terms {
            rows.extend(
                terms.rows(self.taken_at_once(*phase), product.active(*phase) * product.units),
            );
        }
        let packed = PackedProduct { plan: self.plan, weights: self.weights };
        let count = self.count;
        for_rows(self.builder, count, &rows, |builder, places| {
            let mut of_terms = places[column_count..].iter().copied();
            let terms = terms.iter().map(|(_, terms)| terms.of_row(&mut of_terms)).collect();
            let mut of_columns = places[..column_count].iter();
            let columns: Vec<_> = columns
                .iter()
                .map(|column| match column.each_row {
                    true => Column {
                        start: *of_columns.next().expect("lower: as many places as rows"),
                        ..*column
                    },
                    false => *column,
                })
                .collect();
            body(&mut RowGroup::new(builder, packed, 1, None), terms, &columns)
        })
    }
}

/// A loop over `count` rows: each entry of `rows` advances by one row per iteration. One row has no
/// loop.
pub(in crate::lower) fn for_rows<'a, 'm>(
    builder: &mut KernelBuilder<'a, 'm>,
    count: usize,
    rows: &[MovingPlace],
    mut body: impl FnMut(&mut KernelBuilder<'a, 'm>, &[Place]) -> Vec<Stmt>,
) -> Vec<Stmt> {
    for_tiles(builder, count, 1, rows, |builder, _, places| body(builder, places))
}

/// A loop over tiles of `at_once` rows, then the remaining rows. `body` receives the number of rows
/// of the tile.
pub(in crate::lower) fn for_tiles<'a, 'm>(
    builder: &mut KernelBuilder<'a, 'm>,
    count: usize,
    at_once: usize,
    rows: &[MovingPlace],
    mut body: impl FnMut(&mut KernelBuilder<'a, 'm>, usize, &[Place]) -> Vec<Stmt>,
) -> Vec<Stmt> {
    let mut stmts = Vec::new();
    let iterations = count / at_once;
    if iterations > 1 {
        let mut places = Vec::new();
        let mut walks: Vec<Walk> = Vec::new();
        for &MovingPlace { name, start, len, written, .. } in rows {
            let (place, walk) = builder.walk(name, start, len * at_once, written);
            places.push(place);
            walks.push(walk);
        }
        let body = body(builder, at_once, &places);
        stmts.push(Stmt::repeat(iterations, walks, body));
    }
    // the remaining rows
    let done = if iterations > 1 { iterations * at_once } else { 0 };
    let mut at = done;
    while at < count {
        let n = at_once.min(count - at);
        let places: Vec<_> = rows.iter().map(|row| row.start.at(at * row.len)).collect();
        stmts.extend(body(builder, n, &places));
        at += n;
    }
    stmts
}
