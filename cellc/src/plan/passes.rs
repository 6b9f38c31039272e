//! Passes: the vectors of columns whose sums one reading of a panel computes.

use super::cost;
use super::panels::Panels;
use super::product::{Phase, Product};
use super::values::Values;
use crate::arch::{Arch, Isa, vectors};

/// The coverage of a panel's columns by vectors of one instruction set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tiling {
    /// Vectors of equal columns of every sum. If there are several sums, whole vectors. The
    /// pointwise part works on accumulators. One entry for each pass over the panel's rows: its
    /// vectors as (column, lanes).
    Columns(Vec<Vec<(usize, usize)>>),
    /// The lanes of neighbouring sums as one run, for panels without whole vectors. The pointwise
    /// part works on stored gates. Neighbouring sums with equal phases form a run.
    Runs,
}

impl Tiling {
    /// The number of vectors of the widest pass. 1 for runs.
    pub(super) fn most_vectors(&self) -> usize {
        match self {
            Self::Columns(passes) => passes.iter().map(Vec::len).max().unwrap_or(1),
            Self::Runs => 1,
        }
    }
}

/// The largest number of neighbouring vectors of columns per pass over the rows of a panel, if
/// passes of equal size are a loop. `None`: as many as registers allow, each pass with separate
/// code.
pub fn most_per_pass(isa: &Isa) -> Option<usize> {
    Some(isa.code.vectors_per_pass).filter(|most| *most > 0)
}

/// Upper limit for sum vectors per pass over a panel for one row: the chains of all sums take three
/// quarters of the registers.
fn pass_vectors(product: &Product, isa: &Isa) -> usize {
    (product.registers(isa) * 3 / 4 / product.widest().0).max(1)
}

/// Upper limit for sum vectors per pass over a panel whose lanes are a run of `vectors`. A run
/// takes one pass if its sums leave registers for an element of x and a vector of weights.
pub fn run_vectors(product: &Product, isa: &Isa, vectors: usize) -> usize {
    let most = pass_vectors(product, isa);
    let (chains, _) = product.widest();
    if vectors * chains + 2 <= product.registers(isa) { most.max(vectors) } else { most }
}

/// Upper limit for accumulators per pass: three quarters of the registers, the rest for operands.
pub fn accumulators(isa: &Isa) -> usize {
    isa.registers * 3 / 4
}

/// The tiling of a panel on an instruction set. `bytes` is the size of the weights.
pub(super) fn tiling(
    product: &Product,
    bytes: usize,
    panels: &Panels,
    (isa, arch): (&Isa, &Arch),
    values: Values,
) -> Tiling {
    let (columns, is_padded) = (panels.columns, panels.is_padded());
    if product.sums.len() > 1 && !columns.is_multiple_of(isa.lanes) && !is_padded {
        return Tiling::Runs;
    }
    let (_, active) = product.widest();
    // vectors of padding alone are left out
    let mut vectors = vectors(columns, isa.lanes);
    vectors.retain(|(at, _)| *at < panels.units);
    let is_narrow = is_padded || cost::is_narrow(product, isa);
    if values == Values::OneText && active == 4 && is_narrow {
        return Tiling::Columns(vectors.chunks(1).map(<[_]>::to_vec).collect());
    }
    // whole cache lines, or neighbouring passes would both read the line between them (measured:
    // 1.15 against 1.46 of the floor at H = 48, 1.17 against 1.40 for an LSTM of 128 units)
    let line = arch.vectors_of_line(isa);
    let mut at_once = (product.registers(isa) * 3 / 4 / active).max(1);
    // integer sums of two registers each exhaust the registers sooner, for every cache level
    let takes_two = isa.lanes > 1 && product.registers(isa) < isa.registers;
    if takes_two
        || (arch.costs.caches.first_level + 1..=arch.costs.caches.alternate_from).contains(&bytes)
    {
        // limits the sums of a pass, as x terms stay in registers while h terms are added: with far
        // too many sums, compilers spill the wrong ones at every row (measured: 1.18 against 1.11
        // for a GRU of 128 units with 24 sums in 16 registers; 20 sums do no harm). For weights
        // beyond the L2 cache, one pass is still better: 1.06 against 1.24 for 512 units
        let held = product.active(Phase::Input) + product.active(Phase::Hidden);
        at_once = at_once.min(product.registers(isa) * 5 / 4 / held).max(1);
        // without vectors, whole lines save nothing, and integer sums share the registers with all
        // other values
        let least = if takes_two || isa.lanes == 1 && product.layout.format.is_of_integers() {
            at_once
        } else {
            line
        };
        at_once = (at_once - at_once % line).max(least);
    }
    let values = values.of_product(product);
    Tiling::Columns(passes(&vectors, at_once, line, isa, values))
}

/// Vectors of columns per pass over blocks of weights.
pub(super) fn vectors_of_blocks(product: &Product, isa: &Isa) -> usize {
    (isa.registers * 3 / 4 / product.widest().1).max(1)
}

/// Column vectors in passes of at most `at_once` vectors. Passes that can form a loop have one
/// size, if possible of whole cache lines. Other passes have nearly equal sizes, as a short pass
/// cannot hide the latency of its chains, rounded up to whole cache lines unless [`most_per_pass`]
/// has a limit.
fn passes(
    vectors: &[(usize, usize)],
    at_once: usize,
    line: usize,
    isa: &Isa,
    values: Values,
) -> Vec<Vec<(usize, usize)>> {
    let most = most_per_pass(isa);
    let at_once = most.map_or(at_once, |most| at_once.min(most));
    // a loop needs passes of one size, at least two thirds of the vectors that fit
    let is_even = values.has_loops() && vectors.windows(2).all(|two| two[0].1 == two[1].1);
    if is_even && vectors.len() > at_once {
        let sizes = || (1..=at_once).rev().filter(|size| vectors.len().is_multiple_of(*size));
        let fills = |size: &usize| 3 * size >= 2 * at_once;
        let whole_lines = sizes().filter(fills).find(|size| size.is_multiple_of(line));
        // in C, uneven passes may take whole lines, as they have separate code: two passes of 24
        // columns take 1.15 times as long as passes of 32 and 16 on AVX2 (GRU of 128 units, weights
        // in the L2 cache)
        let filling = || sizes().find(fills).filter(|_| values == Values::Passes || at_once < line);
        if let Some(size) = whole_lines.or_else(filling) {
            return vectors.chunks(size).map(<[_]>::to_vec).collect();
        }
    }
    let equal = vectors.len().div_ceil(vectors.len().div_ceil(at_once).max(1)).max(1);
    let size = if most.is_some() { equal } else { equal.next_multiple_of(line).min(at_once) };
    vectors.chunks(size).map(<[_]>::to_vec).collect()
}

/// The passes over the columns of a panel in the late phase.
pub fn late_passes(
    product: &Product,
    columns: usize,
    isa: &Isa,
    values: Values,
) -> Vec<Vec<(usize, usize)>> {
    let (vectors, at_once) = (vectors(columns, isa.lanes), pass_vectors(product, isa));
    match (most_per_pass(isa), values.of_product(product)) {
        (None, Values::Registers | Values::Joined) => {
            vectors.chunks(at_once).map(<[_]>::to_vec).collect()
        }
        (_, values) => passes(&vectors, at_once, 1, isa, values),
    }
}
