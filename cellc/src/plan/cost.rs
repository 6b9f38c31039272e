//! The cost model of products, in cycles of one core. Plans minimise these costs. The constants
//! come from the architecture.

use super::panels::Panels;
use super::product::{Phase, Product};
use super::reason::{InputFirst, PanelWidth, Sharing, Threading};
use crate::arch::{Arch, Costs, Isa, TILE_WORDS};
use crate::encoding::WeightFormat;

/// The smallest number of rows for tiles. With fewer rows, vectors of words are faster (measured
/// with a GRU of 128 units: tiles take 1.4 times as long for 4 rows, 1.12 for 8, 0.88 for 16).
pub(super) const LEAST_TILE_ROWS: usize = 12;

/// The costs of tile instructions in cycles of Sapphire Rapids, from Intel's Optimization Reference
/// Manual.
struct TileCosts {
    /// Latency of setting new shapes.
    shapes: usize,
    /// Latency of a load before a product.
    load: usize,
    /// Latency of a product before an addition to its sums.
    latency: usize,
    /// Cycles between products and between stores of full tiles.
    each: usize,
    /// Cycles of a vector of sums through memory. Chosen to reproduce the measured ratios of
    /// [`LEAST_TILE_ROWS`]: the model gives 1.59 for 4 rows, 1.11 for 8, 0.87 for 16.
    sums: usize,
}

const TILES: TileCosts = TileCosts { shapes: 204, load: 45, latency: 52, each: 16, sums: 1 };

/// The larger of two times in cycles: vector operations, and loads of `bytes` at `rate` bytes per
/// cycle.
pub fn cycles(operations: f64, bytes: f64, rate: f64, costs: &Costs) -> f64 {
    (operations / costs.multiply_adds_per_cycle).max(bytes / rate)
}

/// The number of sum vectors, out of `vectors`, that a pass over the rows of a panel holds for each
/// of `rows` rows. 0 without vectors, or if the registers do not hold one vector. Besides
/// accumulators, registers hold the vectors of weights, one element, and one more element, since
/// compilers load the next element early and would otherwise spill at every row.
pub fn tile_vectors(
    product: &Product,
    vectors: usize,
    rows: usize,
    isa: &Isa,
    arch: &Arch,
) -> usize {
    let (chains, _) = product.widest();
    let most = (product.registers(isa) - 2) / (rows * chains + 1);
    if most == 0 || vectors == 0 {
        return 0;
    }
    // passes of equal size, since a short pass would wait for the latency of its few chains; whole
    // cache lines, to read no line twice
    let line = arch.vectors_of_line(isa);
    let equal = vectors.div_ceil(vectors.div_ceil(most));
    Some(equal.next_multiple_of(line)).filter(|whole| *whole <= most).unwrap_or(equal)
}

/// Divides `all` items into the fewest parts of at most `most` items, as equal as possible. Yields
/// (number of parts, size).
pub fn equal_parts(all: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = all.div_ceil(most.max(1)).max(1);
    let (size, larger) = (all / parts, all % parts);
    [(larger, size + 1), (parts - larger, size)]
        .into_iter()
        .filter(|(parts, size)| parts * size > 0)
}

/// The number of interleaved output channels of a convolution, on every instruction set.
pub fn window_channels(channels: usize, arch: &Arch) -> usize {
    channels.min(arch.costs.limits.most_channels)
}

/// The tile of a convolution: output channels and vectors of positions with sums in registers.
/// Besides the sums, registers hold either the vectors of x or the weights, whichever are fewer,
/// one operand of the other kind, and one spare value.
pub fn window_tile(
    channels: usize,
    vectors: usize,
    (isa, of_integers): (&Isa, bool),
    arch: &Arch,
) -> (usize, usize) {
    let costs = &arch.costs;
    let registers = if of_integers { isa.integer_registers } else { isa.registers };
    let packed = window_channels(channels, arch);
    let line_split = (isa.lanes - 1) as f64 * 4.0 / arch.memory.line as f64 * costs.line_split;
    let cycles = |channels: usize, vectors: usize| {
        let (multiply_adds, loads) = ((channels * vectors) as f64, (channels + vectors) as f64);
        (multiply_adds.max(loads) / costs.multiply_adds_per_cycle).max(costs.latency_hiding)
            + vectors as f64 * line_split
    };
    let columns = |held: usize, vectors: usize| -> f64 {
        let tiles = |count: usize| {
            equal_parts(count, held).map(|(tiles, count)| tiles as f64 * cycles(count, vectors))
        };
        equal_parts(channels, packed)
            .map(|(iterations, count)| iterations as f64 * tiles(count).sum::<f64>())
            .sum()
    };
    let total = |(channels, held): (usize, usize)| {
        let (full, rest) = (vectors / held, vectors % held);
        full as f64 * columns(channels, held) + if rest > 0 { columns(channels, rest) } else { 0.0 }
    };
    // gcc reloads operands with two uses from memory, so vectors stay in registers if several
    // channels use them
    let fits = |&(channels, held): &(usize, usize)| {
        channels * held + channels.min(held) + 2 <= registers && (held <= channels || channels < 4)
    };
    let tiles = (1..=packed).rev().flat_map(|channels| {
        (1..=vectors.min(costs.limits.most_sums)).map(move |held| (channels, held))
    });
    tiles.filter(fits).min_by(|a, b| total(*a).total_cmp(&total(*b))).unwrap_or((1, 1))
}

/// Cycles of one row of weights over all columns of a panel, with `rows` rows at once, and cycles
/// of the loads alone. Infinite if the registers do not suffice.
fn tile(product: &Product, columns: usize, rows: usize, isa: &Isa, arch: &Arch) -> (f64, f64) {
    let costs = &arch.costs;
    let (chains, active) = product.widest();
    // for a single row, gates are one run of lanes if columns fill no vector
    let vectors = match rows {
        1 => super::vectors(active * columns, isa.lanes).len(),
        _ => active * super::vectors(columns, isa.lanes).len(),
    };
    let most = tile_vectors(product, vectors, rows, isa, arch);
    let mut cost = (0.0, 0.0);
    if most == 0 {
        return (f64::INFINITY, f64::INFINITY);
    }
    for at in (0..vectors).step_by(most) {
        let held = most.min(vectors - at);
        let multiply_adds = (rows * held) as f64 / costs.multiply_adds_per_cycle;
        let loads = (held + rows) as f64 / costs.multiply_adds_per_cycle;
        cost.0 += multiply_adds.max(loads).max(costs.latency_hiding / chains as f64);
        cost.1 += loads;
    }
    cost
}

/// The best number of rows computed at once, and cycles per row of weights and row of x.
pub(super) fn rows_at_once(
    product: &Product,
    panels: &[Panels],
    isa: &Isa,
    arch: &Arch,
) -> (usize, f64) {
    let row_count = product.together;
    let columns = panels[0].columns;
    let total = |rows: usize| {
        let (cycles, loads) = tile(product, columns, rows, isa, arch);
        let rest = if row_count.is_multiple_of(rows) {
            (0.0, 0.0)
        } else {
            tile(product, columns, row_count % rows, isa, arch)
        };
        let each =
            |full: f64, rest: f64| ((row_count / rows) as f64 * full + rest) / row_count as f64;
        (each(cycles, rest.0), each(loads, rest.1))
    };
    let fewer = |a: &usize, b: &usize| {
        let (a, b) = (total(*a), total(*b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let rows = (1..=row_count.min(arch.costs.limits.most_rows)).rev().min_by(fewer).unwrap_or(1);
    (rows, total(rows).0)
}

/// Cycles for the sums of some rows, with tiles and with vectors.
///
/// Each panel is computed in groups of up to four tiles. The remaining columns take a narrow tile
/// with separate shapes, as slow as a full tile. Each group waits for the group before, a high cost
/// with few words per row.
pub(super) struct TileCycles {
    pub(super) rows: usize,
    pub(super) by_tiles: usize,
    pub(super) by_vectors: usize,
}

impl TileCycles {
    pub(super) fn new(product: &Product, panels: &[Panels], rows: usize, isa: &Isa) -> Self {
        let (mut by_tiles, mut by_vectors) = (0, 0);
        for phase in Phase::ALL.into_iter().filter(|phase| product.fits_tiles(*phase)) {
            let (active, words) = (product.active(phase), product.packed_rows(phase));
            let pass = |tiles: usize| {
                let products = words.div_ceil(TILE_WORDS) * (tiles * TILES.each).max(TILES.latency);
                if tiles > 0 {
                    TILES.load + products + TILES.latency + tiles * TILES.each
                } else {
                    0
                }
            };
            for panels in panels {
                let (full, narrow) =
                    (active * panels.columns / TILE_WORDS, active * panels.columns % TILE_WORDS);
                let narrow = usize::from(narrow > 0);
                let sums =
                    rows * panels.count * active * super::vectors(panels.columns, isa.lanes).len();
                by_tiles += (usize::from(full > 0) + narrow) * TILES.shapes + sums * TILES.sums;
                by_tiles += panels.count * (full / 4 * pass(4) + pass(full % 4) + narrow * pass(1));
                // two dot products per cycle
                by_vectors += sums * words / 2;
            }
        }
        Self { rows, by_tiles, by_vectors }
    }

    /// True if there are at least [`LEAST_TILE_ROWS`] rows, and tiles take at most 90 % of the time
    /// of vectors of words.
    pub(super) fn pay(&self) -> bool {
        self.rows >= LEAST_TILE_ROWS && self.by_tiles * 10 <= self.by_vectors * 9
    }
}

/// Decides whether to compute the x terms of all steps of a sequence first: if reading W at every
/// step takes longer than computing several rows at once and storing the sums, and if the stored
/// sums take at most a quarter of the memory of the weights. `None` for a single step.
pub(super) fn input_first(
    product: &Product,
    panels: &[Panels],
    weight_bytes: usize,
    isa: &Isa,
    arch: &Arch,
) -> Option<InputFirst> {
    let costs = &arch.costs;
    let sums = product.active(Phase::Input) * product.units;
    if product.steps == 1 {
        return None;
    }
    let sum_bytes = product.steps * sums * 4;
    if sum_bytes > weight_bytes / 4 {
        return Some(InputFirst::Memory(sum_bytes));
    }
    let vectors = (sums.div_ceil(isa.lanes)) as f64;
    let encoding = product.layout.format.encoding(product.input_size);
    let each = (encoding.len(product.input_size) * sums * encoding.element().size()) as f64
        / costs.caches.second_level_rate;
    let panel = (product.active(Phase::Input) * panels[0].columns).div_ceil(isa.lanes) as f64;
    let (rows, tile) = rows_at_once(product, panels, isa, arch);
    let first = product.input_size as f64 * tile * vectors / panel
        + 3.0 * vectors / costs.multiply_adds_per_cycle;
    Some(InputFirst::Cycles { rows, first, each })
}

/// The largest number of units of a cell that counts as narrow on instruction sets of one lane.
const NARROW_UNITS: usize = 8;

/// True for a cell of at most [`NARROW_UNITS`] units, not in integers, on an instruction set of one
/// lane: code for several rows, or for panels of several widths, would be longer than the weights.
pub(super) fn is_narrow(product: &Product, isa: &Isa) -> bool {
    isa.lanes == 1
        && product.recurs()
        && product.units <= NARROW_UNITS
        && !product.layout.format.is_of_integers()
}

/// Columns of a full panel of a narrow cell, with the reason, on a target of one lane. `None`: the
/// rules for all other products apply.
///
/// Counted on a Cortex-M4F with 26 cells of the corpus: LSTMs of 3 to 8 units take 0.88 to 1.00 of
/// the instructions of panels of 4 columns with one column, GRUs of 7 units 0.90 to 1.00 with two
/// columns. RNNs take up to 1.06.
pub(super) fn narrow_columns(product: &Product, arch: &Arch) -> Option<(usize, PanelWidth)> {
    if !arch.isas.is_empty() || !is_narrow(product, arch.baseline) {
        return None;
    }
    let (_, active) = product.widest();
    let columns = match active {
        4 => 1,
        // panels of 4 columns need a second text for the remaining columns
        3 if product.units > 4 && !product.units.is_multiple_of(2) => 2,
        _ => return None,
    };
    Some((columns, PanelWidth::OneText(product.units)))
}

/// Columns of a full panel if several rows share each weight: as many cache lines of columns as the
/// L1 cache holds, at least one, within [`Limits::most_shared`](crate::arch::Limits::most_shared),
/// so that later passes over a panel hit the L1 cache.
pub(super) fn shared_columns(product: &Product, arch: &Arch) -> usize {
    let (line, costs) = (arch.memory.line / 4, &arch.costs);
    let of_column: usize =
        Phase::ALL.iter().map(|&p| 4 * product.phase_rows(p) * product.active(p)).sum();
    (costs.caches.first_level / of_column.max(1) / line * line)
        .clamp(line, costs.limits.most_shared)
        .min(product.units)
}

/// Decides whether to use two threads: if they save at least twice the time of synchronisation. The
/// condition holds for weights beyond the L2 cache, too: two cores read more per cycle from the L3
/// cache than one core.
pub(super) fn two_threads(product: &Product, costs: &Costs) -> Threading {
    let bytes = |phase| {
        let rows = product.phase_rows(phase);
        let encoding = product.layout.format.encoding(rows);
        encoding.len(rows) * product.active(phase) * product.units * encoding.element().size()
    };
    let bytes = Phase::ALL.into_iter().map(bytes).sum::<usize>();
    let multiply_adds = (product.multiply_adds() * product.rows) as f64 / costs.lanes;
    let half = cycles(multiply_adds, bytes as f64, costs.caches.second_level_rate, costs) / 2.0;
    let sharing = Sharing::Cycles(half, costs.hand_over);
    match half >= 2.0 * costs.hand_over {
        true => Threading::Two(sharing),
        false => Threading::One(sharing),
    }
}

/// Columns of a full panel if one row is computed at a time and panels cover `units` units, with
/// the reason. `activations` is the number of activations per unit.
pub(super) fn own_columns(
    product: &Product,
    units: usize,
    activations: usize,
    arch: &Arch,
) -> (usize, PanelWidth) {
    let (line, costs) = (arch.memory.line / 4, &arch.costs);
    let (chains, active) = product.widest();
    let rows: usize = Phase::ALL
        .iter()
        .map(|&p| if product.active(p) > 0 { product.phase_rows(p) } else { 0 })
        .sum();
    let bytes = 4 * product.multiply_adds();
    if bytes > costs.caches.alternate_from {
        // loads from beyond the L2 cache dominate; two lines of each sum are prefetched best
        let columns = ((8 / active).max(2) * line).min(units);
        return (columns, PanelWidth::BeyondSecondLevel(bytes >> 10));
    }
    let [fewest, most] = costs.caches.alternate_near;
    let is_near = (fewest..=most).contains(&product.weight_bytes(units));
    if product.layout.format == WeightFormat::Int16 && is_near && line < units {
        // measured on a Zen 5: GRUs of 64 to 128 units take 0.80 to 1.00 of the time with 8 lanes,
        // 0.87 to 1.05 with 16
        return (line, PanelWidth::KeptInFirstLevel);
    }
    if arch.isas.is_empty() && arch.baseline.lanes == 1 && active > costs.limits.most_sums {
        // counted on a Cortex-M4F: LSTMs of 32 to 128 units take 0.83 to 0.85 of the instructions
        // of 4 columns
        let columns = (costs.limits.most_sums * line / active).clamp(1, units);
        return (columns, PanelWidth::Registers);
    }
    let speed = if bytes <= costs.caches.first_level / 2 {
        costs.caches.first_level_rate
    } else {
        costs.caches.second_level_rate
    };
    let arrives = (active * 4 * line) as f64 / costs.caches.second_level_rate;
    if bytes > costs.caches.first_level && arrives > costs.latency / chains as f64 && line < units {
        // more sums at once gain nothing, and every instruction set reads these rows contiguously
        // (measured on an Intel core: 0.87 to 0.95 of the time for LSTMs of 64 to 128 units with 8
        // lanes, 0.91 to 1.03 with 16)
        return (line, PanelWidth::SlowRow(arrives));
    }
    let total = |columns: usize| {
        let row = |columns: usize| {
            let vectors = (active * columns.div_ceil(line)) as f64;
            cycles(vectors, vectors * 4.0 * line as f64, speed, costs)
                .max(costs.latency / chains as f64)
        };
        let (full, rest) = (units / columns, units % columns);
        let panels =
            || std::iter::repeat_n(columns, full).chain(Some(rest).filter(|rest| *rest > 0));
        let activations =
            |columns: usize| (columns.div_ceil(line) * activations) as f64 * costs.activation;
        let rows = |columns: usize| rows as f64 * row(columns);
        let beside = panels().skip(1).map(|next| costs.hidden * rows(next)).chain([0.0]);
        let panel = |(own, beside): (usize, f64)| {
            costs.panel + rows(own) + (activations(own) - beside).max(0.0)
        };
        panels().zip(beside).map(panel).sum::<f64>()
            + if rest > 0 { costs.other_panel } else { 0.0 }
    };
    let fits = |columns: &usize| {
        *columns == line || active * chains * (columns / line) <= costs.limits.most_sums
    };
    let widths = (1..=costs.limits.most_sums)
        .map(|vectors| vectors * line)
        .filter(fits)
        .filter(|c| *c < units);
    let whole = Some(units)
        .filter(|units| active * chains * units.div_ceil(line) <= costs.limits.most_sums);
    let best = widths
        .chain(whole)
        .min_by(|a, b| total(*a).total_cmp(&total(*b)))
        .unwrap_or(units.min(line));
    (best, PanelWidth::Fewest(total(best)))
}
