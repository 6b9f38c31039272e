//! What a product costs, in cycles of one core: what the plan chooses by.
//!
//! A core of a machine with vectors begins two multiply-adds and two loads a cycle, a multiply-add takes four; it reads
//! [`L2_BYTES`] a cycle from the second level of its cache and fewer from beyond. Panels are part of how weights are
//! packed, once for all instruction sets, so what chooses them knows no instruction set.

use super::{Panels, Phase, Product};
use crate::target::Isa;

/// Bytes of the first level that a panel may take: that of the smallest machine with vectors.
pub(super) const L1: usize = 32 << 10;

/// Bytes of weights from which on they are walked in alternating order: half of the second level of a server's core, as the
/// other half holds what else is read, and as much as a desktop's has in all.
pub(super) const ALTERNATE_FROM: usize = 512 << 10;

/// Bytes that a core reads in a cycle from the second level, sustained.
const L2_BYTES: f64 = 48.0;

/// Multiply-adds that begin in a cycle, and loads.
const BEGUN: f64 = 2.0;

/// Cycles until the result of a multiply-add can be added to.
const LATENCY: f64 = 4.0;

/// The most rows that are computed at once: as many sums as any instruction set has registers for.
const MOST_ROWS: usize = 8;

/// Vectors of columns of each sum that a pass over a panel may hold for `rows` rows at once, if any: beside the
/// accumulators there are a vector of weights for each column and sum, and the element that they are multiplied by.
pub fn tile_vectors(product: &Product, columns: usize, rows: usize, isa: &Isa) -> Option<usize> {
    let (chains, active) = product.widest();
    let most = isa.registers.saturating_sub(2) / (active * (rows * chains + 1));
    Some(most.min(columns.div_ceil(isa.lanes))).filter(|v| *v > 0)
}

/// Cycles for one row of weights, all columns of a panel, `rows` rows at once; infinite where that has no registers.
fn tile(product: &Product, columns: usize, rows: usize, isa: &Isa) -> f64 {
    let Some(vectors) = tile_vectors(product, columns, rows, isa) else { return f64::INFINITY };
    let (_, active) = product.widest();
    let passes = columns.div_ceil(isa.lanes).div_ceil(vectors) as f64;
    let multiply_adds = (rows * vectors * active) as f64 / BEGUN;
    let loads = (vectors * active + rows) as f64 / BEGUN;
    passes * multiply_adds.max(loads).max(LATENCY)
}

/// How many rows to compute at once, of as many as a product has, and cycles for a row of weights and a row of x.
pub(super) fn rows_at_once(product: &Product, panels: &[Panels], isa: &Isa) -> (usize, f64) {
    let all = product.rows.max(product.steps);
    let columns = panels[0].columns;
    let total = |rows: usize| {
        let rest = if all.is_multiple_of(rows) { 0.0 } else { tile(product, columns, all % rows, isa) };
        ((all / rows) as f64 * tile(product, columns, rows, isa) + rest) / all as f64
    };
    let rows = (1..=all.min(MOST_ROWS)).rev().min_by(|a, b| total(*a).total_cmp(&total(*b))).unwrap_or(1);
    (rows, total(rows))
}

/// Whether the x terms of all steps are worth computing first: what reading W at every step takes longer than several rows
/// at once and a detour of the sums through memory; and whether that memory is no more than a quarter of the weights'.
pub(super) fn input_first(product: &Product, panels: &[Panels], weights: usize, isa: &Isa) -> Result<String, String> {
    let sums = product.active(Phase::Input) * product.units;
    if product.steps == 1 {
        return Err(String::new());
    }
    if product.steps * sums > weights / 4 {
        return Err(format!("x at every step: its sums of all steps would take {} bytes", product.steps * sums * 4));
    }
    let vectors = (sums.div_ceil(isa.lanes)) as f64;
    let each = (product.input_size * sums * 4) as f64 / L2_BYTES;
    let panel = (product.active(Phase::Input) * panels[0].columns).div_ceil(isa.lanes) as f64;
    let (rows, tile) = rows_at_once(product, panels, isa);
    let first = product.input_size as f64 * tile * vectors / panel + 3.0 * vectors / BEGUN;
    let text = format!("{rows} rows at once: {first:.0} cycles a step, at every step: {each:.0} or more");
    if first < each {
        Ok(format!("x terms of all steps first, {text}"))
    } else {
        Err(format!("x at every step, {text}"))
    }
}

/// Columns of a full panel where several rows share each weight: as many as the first level holds, so that passes over a
/// panel find it there.
pub(super) fn shared_columns(product: &Product, line: usize) -> usize {
    let of_column: usize = Phase::ALL.iter().map(|&p| 4 * product.phase_rows(p) * product.active(p)).sum();
    (L1 / of_column.max(1) / line * line).clamp(line, 128).min(product.units)
}
