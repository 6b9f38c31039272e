//! The plan: panels, tiles, unrolling, weight layout, precision. A pure function of model and
//! options.
//!
//! The order of summation depends on the model alone, so all instruction sets compute equal bits.
//! The order consists of the terms of each sum and their sequence; panels do not affect it. Tiles
//! depend on the instruction set.

mod branches;
mod cost;
mod fusion;
mod layout;

pub use branches::{Branches, Side};
pub use cost::{cycles, equal_parts, tile_vectors, window_channels, window_tile};
pub use fusion::{Along, Fusion, along};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

pub use crate::arch::vectors;
use crate::arch::{Arch, Dot, Isa, TURNS};
use crate::core::{CoreCell, CoreModel, CoreNode, CoreOp, Dense};
use crate::encoding::{Arithmetic, WeightFormat};
use crate::kernel::Element;
use crate::model::{CellKind, Coupled, ResetGate, counted};
use crate::numerics::{Multiples, Precisions, Vector, flush_below};
use crate::request::{Accuracy, Fma, Language, Options, Threads, Unroll};

/// Smallest unroll factor of loops with at least twice as many iterations (measured: with 16 rows
/// of 576 bytes a GRU of 128 units takes 1.19 of the time of a short loop in Rust with AVX-512,
/// with 32 rows 0.98).
const LEAST_TURNS: usize = 32;

/// Upper limit for rows times vectors of a cell that `--unroll auto` unrolls fully.
///
/// Compile times of straight-line code grow faster than its length: rustc takes half a second for
/// 20 vectors of 16 lanes, about 20 seconds for 240.
const UNROLL_BUDGET: usize = 32;

/// The factor of R in a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The state h.
    Hidden,
    /// r.h, known only once the reset gate is.
    ResetHidden,
}

/// One sum of a product: `(x terms + h terms) + bias`, each part summed from zero in
/// [`Product::chains`] chains.
///
/// The bias comes last because short chains round less: on the corpus this halves the 95th
/// percentile of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The name in generated code.
    pub name: &'static str,
    /// The part of B, added last. `None`: no bias.
    pub bias: Option<usize>,
    /// The gate of W with weights of the sum. `None`: no x terms.
    pub w: Option<usize>,
    /// The gate of R with weights of the sum, and the factor of R. `None`: no h terms.
    pub r: Option<(usize, Operand)>,
    /// The part of P, multiplied by a cell state and added after the bias.
    pub peephole: Option<usize>,
}

const fn sum(
    name: &'static str,
    bias: usize,
    w: Option<usize>,
    r: Option<(usize, Operand)>,
) -> Sum {
    Sum { name, bias: Some(bias), w, r, peephole: None }
}

/// The sums of a cell, in the order of a row of packed weights.
pub fn sums(cell: &CoreCell) -> Vec<Sum> {
    use Operand::{Hidden, ResetHidden};
    let gate = |name, gate| sum(name, gate, Some(gate), Some((gate, Hidden)));
    match (cell.kind, cell.kind.reset_gate()) {
        (CellKind::Lstm, _) => {
            let all = [("f", Some(0)), ("i", Some(1)), ("c", None), ("o", Some(2))]
                .into_iter()
                .enumerate();
            all.filter(|(_, (name, _))| match cell.coupled {
                None => true,
                Some(Coupled::Input) => *name != "i",
                Some(Coupled::Forget) => *name != "f",
            })
            .map(|(at, (name, p))| Sum {
                peephole: p.filter(|_| cell.p.is_some()),
                ..gate(name, at)
            })
            .collect()
        }
        (_, Some(ResetGate::BeforeMatMul)) => {
            vec![gate("z", 0), gate("r", 1), sum("n", 2, Some(2), Some((2, ResetHidden)))]
        }
        (_, Some(ResetGate::AfterMatMul)) => {
            vec![
                gate("z", 0),
                gate("r", 1),
                sum("n", 2, Some(2), None),
                sum("m", 3, None, Some((2, Hidden))),
            ]
        }
        (_, None) => vec![gate("s", 0)],
    }
}

/// Vectors times fixed matrices: the gates of a cell, or a dense layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// The sums of each unit.
    pub sums: Vec<Sum>,
    /// The length of a row of x.
    pub input_size: usize,
    /// The number of units: hidden_size, or the length of a row of y.
    pub units: usize,
    /// Rows of x.
    pub rows: usize,
    /// Steps of a sequence; else 1.
    pub steps: usize,
    /// Upper limit for rows, or steps of a row, per weight load. Several steps share weights of x
    /// only.
    pub together: usize,
    /// Chains of additions for the terms of x.
    pub input_chains: usize,
    /// The storage of the matrices.
    pub format: WeightFormat,
    /// True if an instruction set multiplies unsigned byte elements, stored with an offset.
    pub starts: bool,
    /// Interleave factor of packed weight words: the lanes of an instruction set that adds products
    /// across lanes.
    pub abreast: usize,
    /// Interleave factor of the low and high halves of packed 16-bit weights: the lanes of an
    /// instruction set that multiplies halves by one element. 1: not interleaved.
    pub apart: usize,
}

impl From<&CoreCell> for Product {
    fn from(cell: &CoreCell) -> Self {
        Self {
            sums: sums(cell),
            input_size: cell.input_size,
            units: cell.hidden_size,
            rows: cell.batch,
            steps: cell.steps(),
            together: match row_by_row(cell) {
                None => cell.batch,
                Some(_) => cell.steps(),
            },
            input_chains: 1,
            format: WeightFormat::F32,
            starts: false,
            abreast: 1,
            apart: 1,
        }
    }
}

impl From<&Dense> for Product {
    fn from(dense: &Dense) -> Self {
        let y = Sum { name: "y", bias: None, w: Some(0), r: None, peephole: None };
        Self {
            sums: vec![y],
            input_size: dense.inputs,
            units: dense.outputs,
            rows: dense.rows,
            steps: 1,
            together: dense.rows,
            input_chains: dense.chains,
            format: WeightFormat::F32,
            starts: false,
            abreast: 1,
            apart: 1,
        }
    }
}

/// Why the rows of a batch share no step of a cell, if so.
fn row_by_row(cell: &CoreCell) -> Option<&'static str> {
    match cell {
        _ if cell.steps() > 1 => Some("several steps"),
        _ if !cell.is_one_step() => Some("each has a length"),
        CoreCell { p: Some(_), .. } => Some("peepholes"),
        CoreCell { a: Some(_), .. } => Some("attention"),
        _ => None,
    }
}

fn packed_bytes(format: WeightFormat, weights: usize, biases: usize) -> usize {
    weights * format.encoding(0).element().size() + biases * 4
}

impl ProductPlan {
    /// Size of the packed weights.
    pub fn bytes(&self) -> usize {
        packed_bytes(self.product.format, self.weights, self.biases)
    }

    /// True if tiles compute the sums of a phase for `rows` rows.
    pub fn has_tiles(&self, rows: usize, isa: &Isa) -> bool {
        self.product.has_tiles(rows, &self.panels, self.tiles, isa)
    }

    /// The quantisation of the operand of a phase, if the phase multiplies the model's integers.
    pub fn own(&self, phase: Phase) -> Option<Multiples> {
        match phase {
            Phase::Input => self.own_x,
            Phase::Hidden => self.own_h,
            Phase::ResetHidden => None,
        }
    }

    /// True if the kernel of the `at`-th instruction set uses tiles.
    fn uses_tiles(&self, at: usize, isa: &Isa) -> bool {
        self.has_rows_at_once() && self.has_tiles(self.rows_at_once[at], isa)
    }

    /// True if several rows or steps are computed together; the instruction set decides how many.
    fn has_rows_at_once(&self) -> bool {
        self.product.together > 1 && (self.product.steps == 1 || self.input_first)
    }

    /// Matrix rows per loop iteration: at least one per chain, all rows of a packed word, and the
    /// minimum of the instruction set.
    pub fn turn_rows(&self, chains: usize, isa: &Isa) -> usize {
        let rows = if self.unrolled == Unrolled::RowByRow { 1 } else { isa.code.rows };
        let least = match self.product.format {
            WeightFormat::Bf16Pair => 2.max(chains),
            WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Int8 => chains,
            WeightFormat::Int8Pair | WeightFormat::Int8Quad | WeightFormat::Int16 => chains,
        };
        rows.next_multiple_of(least).next_multiple_of(self.product.abreast)
    }

    /// Parallel chains per integer sum. The order of integer sums is free: enough chains to hide
    /// the latency of a dot product, limited by registers.
    pub fn chains(&self, phase: Phase, sums: usize, isa: &Isa) -> usize {
        let is_one = self.product.format.is_of_integers()
            && isa.has(Dot::UnsignedQuads)
            && self.product.abreast == 1;
        let most = self.product.packed_rows(phase);
        let fits = |chains: &usize| {
            is_one && *chains <= most && chains * sums <= isa.integer_registers * 3 / 4
        };
        let hides = |chains: &usize| chains / 2 * sums < 8;
        [4, 2]
            .into_iter()
            .find(|chains| fits(chains) && hides(chains))
            .unwrap_or(self.product.chains(phase))
    }

    /// The instruction sets with a property of a phase, for products of single rows, and the
    /// largest value.
    fn on_isas(
        &self,
        isas: &[(&'static Isa, bool)],
        number: impl Fn(usize, &Isa, Phase) -> Option<usize>,
    ) -> Option<(String, usize)> {
        let Product { rows, together, .. } = self.product;
        let is_alone = |at: usize| rows == 1 || together == 1 || self.rows_at_once[at] == 1;
        let phases = || Phase::ALL.into_iter().filter(|phase| self.product.active(*phase) > 0);
        let most = |(at, (isa, _)): (usize, &(&'static Isa, bool))| {
            let most = phases().filter_map(|phase| number(at, isa, phase)).max()?;
            Some((isa.name, most))
        };
        let found: Vec<_> =
            isas.iter().enumerate().filter(|(at, _)| is_alone(*at)).filter_map(most).collect();
        let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
        Some((names.join(", "), found.iter().map(|(_, most)| *most).max()?))
    }

    /// The description of the loops over rows.
    fn said_of_loops(&self, isas: &[(&'static Isa, bool)]) -> Vec<String> {
        self.unrolled_rows(isas).into_iter().chain(self.said_chains(isas)).collect()
    }

    /// The instruction sets with chains in integer sums, and the largest number of chains.
    fn said_chains(&self, isas: &[(&'static Isa, bool)]) -> Option<String> {
        let (names, most) = self.on_isas(isas, |at, isa, phase| {
            let sums = self.tilings[at]
                .iter()
                .map(|tiling| tiling.most_vectors() * self.product.active(phase));
            let most = sums.map(|sums| self.chains(phase, sums, isa)).max();
            most.filter(|chains| *chains > 1 && self.product.format.is_of_integers())
        })?;
        Some(format!(
            "{names}: each sum is added up in up to {most} chains, which hide the latency of \
             instructions"
        ))
    }

    /// The instruction sets with unrolled loops over rows, and the largest factor.
    fn unrolled_rows(&self, isas: &[(&'static Isa, bool)]) -> Option<String> {
        let size = self.product.format.encoding(0).element().size();
        let (names, most) = self.on_isas(isas, |at, isa, phase| {
            let of_panels = |(panels, tiling): (&Panels, &Tiling)| {
                let chains =
                    self.chains(phase, tiling.most_vectors() * self.product.active(phase), isa);
                let rows = self.turn_rows(chains, isa);
                let bytes = rows * self.product.row_of(phase, panels.columns, 0).1 * size;
                Some(
                    rows * self.turns_at_once(
                        self.product.packed_rows(phase) / rows,
                        bytes,
                        isa,
                    )?,
                )
            };
            self.panels.iter().zip(&self.tilings[at]).filter_map(of_panels).max()
        })?;
        // see `emit::rust::unroll`
        let language = if self.product.format == WeightFormat::Int16 { "in C " } else { "" };
        Some(format!(
            "{names}: {language}loops over rows of weights are unrolled by up to {most}: faster \
             where weights are in the L2 cache"
        ))
    }

    /// The unroll factor of a loop over rows, if unrolled: the smallest multiple of eight that
    /// satisfies [`Code::load_distance`](crate::arch::Code::load_distance), at least
    /// [`LEAST_TURNS`], and preferably without remainder. At least two iterations remain: without a
    /// loop, compilers load all elements before the loop over panels.
    pub fn turns_at_once(&self, turns: usize, bytes: usize, isa: &Isa) -> Option<usize> {
        // without a dot product instruction, four bytes take so many instructions that loads are
        // not the limit, and compilers reorder sums of 16-bit pairs and run out of registers
        let is_limit = self.product.format == WeightFormat::F32 || isa.has(Dot::UnsignedQuads);
        let distance = isa.code.load_distance;
        if !self.loads_apart
            || !is_limit
            || distance == 0
            || turns * bytes < distance
            || turns < 2 * TURNS
        {
            return None;
        }
        let enough = distance.div_ceil(bytes).max(LEAST_TURNS);
        let parts = (2..=turns / enough).rev().find(|parts| turns.is_multiple_of(parts * TURNS));
        let half = turns / 2 / TURNS * TURNS;
        Some(parts.map_or(enough.next_multiple_of(TURNS).min(half), |parts| turns / parts))
    }
}

impl Product {
    /// Sets the storage of the matrices and dependent values.
    fn store_as(&mut self, format: WeightFormat, isas: &[(&'static Isa, bool)]) {
        (self.format, self.abreast, self.apart) = (format, 1, 1);
        if format == WeightFormat::Int8Pair
            && isas.iter().all(|(isa, _)| isa.has(Dot::WidenedPairs))
        {
            self.format = WeightFormat::Int8Quad;
        }
        if self.format.is_of_integers() {
            self.abreast =
                isas.iter().find(|(isa, _)| isa.has(Dot::Across)).map_or(1, |(isa, _)| isa.lanes);
            let by_lane = |(isa, _): &(&Isa, bool)| isa.by_lane().any(|own| own.in_word == 2);
            self.apart = if isas.iter().all(by_lane) { isas[0].0.lanes } else { 1 };
        }
        self.starts = self.format == WeightFormat::Int8Quad
            && isas.iter().any(|(isa, _)| isa.has(Dot::UnsignedQuads));
    }

    /// True if tiles can compute the sums of a phase for several rows: words must hold four bytes.
    /// Several steps share only x terms.
    pub fn fits_tiles(&self, phase: Phase) -> bool {
        self.format == WeightFormat::Int8Quad
            && self.format.in_word(self.phase_rows(phase)) == 4
            && self.active(phase) > 0
            && (self.steps == 1 || phase == Phase::Input)
    }

    /// True if tiles can compute the sums of a phase.
    fn fits_tiles_somewhere(&self) -> bool {
        Phase::ALL.into_iter().any(|phase| self.fits_tiles(phase))
    }

    /// True if tiles compute the sums of a phase for `rows` rows: if tiles save time, or as
    /// `asked`.
    fn has_tiles(&self, rows: usize, panels: &[Panels], asked: Option<bool>, isa: &Isa) -> bool {
        (2..=isa.tile_rows()).contains(&rows)
            && self.fits_tiles_somewhere()
            && asked.unwrap_or_else(|| cost::TileCycles::new(self, panels, rows, isa).pay())
    }

    /// Rows per tile: equal parts of all rows, unless the parts are too small.
    fn tile_rows(&self, isa: &Isa) -> usize {
        let all = self.together;
        let equal = all.div_ceil(all.div_ceil(isa.tile_rows().max(1)));
        if equal < cost::LEAST_TILE_ROWS { all.min(isa.tile_rows()) } else { equal }
    }

    /// The reason against tiles for `rows` rows, on an instruction set with tiles.
    fn without_tiles(
        &self,
        rows: usize,
        panels: &[Panels],
        asked: Option<bool>,
        isa: &Isa,
    ) -> String {
        match asked {
            Some(false) => "asked for".to_owned(),
            _ if !(2..=isa.tile_rows()).contains(&rows) => {
                format!("they take 2 to {} rows", isa.tile_rows())
            }
            _ => cost::TileCycles::new(self, panels, rows, isa).to_string(),
        }
    }

    /// True if the halves of weight words are interleaved in a phase, for panels of `columns`
    /// columns: all vectors must be full.
    pub fn is_apart(&self, phase: Phase, columns: usize) -> bool {
        self.apart > 1
            && columns.is_multiple_of(self.apart)
            && self.format.in_word(self.phase_rows(phase)) == 2
    }

    /// Registers for sums and their operands.
    pub fn registers(&self, isa: &Isa) -> usize {
        let in_word = if self.format == WeightFormat::Int8Quad { 4 } else { 2 };
        match self.format.is_of_integers() && isa.by_lane().all(|own| own.in_word != in_word) {
            true => isa.integer_registers,
            false => isa.registers,
        }
    }

    /// Weight rows of a phase.
    pub fn phase_rows(&self, phase: Phase) -> usize {
        match phase {
            Phase::Input => self.input_size,
            Phase::Hidden | Phase::ResetHidden => self.units,
        }
    }

    /// Words or elements per column of a packed row of a phase's matrix.
    pub fn packed_rows(&self, phase: Phase) -> usize {
        let rows = self.phase_rows(phase);
        self.format.encoding(rows).len(rows).next_multiple_of(self.abreast)
    }

    /// True if all rows of a sum precede those of the next sum in a panel: for sums across lanes.
    pub fn sums_are_apart(&self, columns: usize) -> bool {
        self.abreast > 1 && columns.is_multiple_of(self.abreast)
    }

    /// The offset of the first column of the `position`-th sum of a phase in the rows of a panel,
    /// and the distance, in elements, between rows or between groups of interleaved rows.
    pub fn row_of(&self, phase: Phase, columns: usize, position: usize) -> (usize, usize) {
        match self.sums_are_apart(columns) {
            true => (position * columns * self.packed_rows(phase), columns * self.abreast),
            false => {
                (position * columns * self.abreast, self.active(phase) * columns * self.abreast)
            }
        }
    }

    /// Sums of a phase.
    pub fn active(&self, phase: Phase) -> usize {
        self.sums.iter().filter(|s| s.gate(phase).is_some()).count()
    }

    /// The row of a sum's bias among the early or late biases of a panel.
    pub fn bias_row(&self, sum: usize) -> usize {
        let late = self.sums[sum].is_late();
        self.sums[..sum].iter().filter(|s| s.is_late() == late && s.bias.is_some()).count()
    }

    /// The row of a sum's peepholes: after all early biases of a panel.
    pub fn peephole_row(&self, sum: usize) -> usize {
        let biases = self.sums.iter().filter(|s| !s.is_late() && s.bias.is_some()).count();
        biases + self.sums[..sum].iter().filter(|s| s.peephole.is_some()).count()
    }

    /// The position of a sum among the sums of a phase: the index of its columns in a row of
    /// weights.
    pub fn position(&self, phase: Phase, sum: usize) -> usize {
        self.sums[..sum].iter().filter(|s| s.gate(phase).is_some()).count()
    }

    /// Chains of additions of a phase. Chain `k % chains` sums term `k`; the chains are added
    /// pairwise at the end.
    ///
    /// More chains hide the latency of a multiply-add for short rows, and reduce rounding errors.
    /// The number is part of the semantics of a model: independent of instruction set and panels.
    pub fn chains(&self, phase: Phase) -> usize {
        let lanes = self.active(phase) * self.units;
        match phase {
            // exact sums need no order
            _ if self.format.is_of_integers() => 1,
            Phase::Hidden | Phase::ResetHidden
                if (1..=64).contains(&lanes) && self.phase_rows(phase) > 1 =>
            {
                2
            }
            Phase::Hidden | Phase::ResetHidden => 1,
            Phase::Input => self.input_chains,
        }
    }

    /// Size of the packed weights of `columns` columns.
    fn weight_bytes(&self, columns: usize) -> usize {
        let weights = |phase| self.packed_rows(phase) * self.active(phase) * columns;
        Phase::ALL.into_iter().map(weights).sum::<usize>()
            * self.format.encoding(0).element().size()
    }

    /// The largest number of chains in any phase, and the largest number of sums.
    fn widest(&self) -> (usize, usize) {
        let most = |of: &dyn Fn(Phase) -> usize| Phase::ALL.into_iter().map(of).max().unwrap_or(1);
        (most(&|phase| self.chains(phase)), most(&|phase| self.active(phase)))
    }

    /// The row of the scales of a sum in a phase, for matrices with scales: after all biases and
    /// peepholes of a panel.
    pub fn scale_row(&self, sum: usize, phase: Phase) -> usize {
        let late = phase == Phase::ResetHidden;
        let before = self.bias_rows(late, false);
        let hidden = if phase == Phase::Hidden { self.active(Phase::Input) } else { 0 };
        before + hidden + self.position(phase, sum)
    }

    /// Rows of biases, peepholes and scales of a panel, early or late.
    pub fn bias_rows(&self, late: bool, scales: bool) -> usize {
        let biases = self.sums.iter().filter(|s| s.is_late() == late && s.bias.is_some()).count();
        let peepholes = self.sums.iter().filter(|s| !late && s.peephole.is_some()).count();
        let phases = match late {
            true => &[Phase::ResetHidden][..],
            false => &[Phase::Input, Phase::Hidden],
        };
        let of_phase =
            |&phase: &Phase| self.active(phase) * (1 + usize::from(self.has_starts(phase)));
        let scaled = if scales { phases.iter().map(of_phase).sum() } else { 0 };
        biases + peepholes + scaled
    }

    /// True if the sums of a phase need a zero-point correction for unsigned byte elements; false
    /// for 16-bit elements.
    pub fn has_starts(&self, phase: Phase) -> bool {
        self.starts && WeightFormat::Int8Quad.in_word(self.phase_rows(phase)) == 4
    }

    /// The row of the zero-point corrections: after all scales of a panel.
    pub fn start_row(&self, sum: usize, phase: Phase) -> usize {
        let late = phase == Phase::ResetHidden;
        let starts = |phase| if self.has_starts(phase) { self.active(phase) } else { 0 };
        let behind = match phase {
            Phase::Input => starts(Phase::Input) + starts(Phase::Hidden),
            Phase::Hidden | Phase::ResetHidden => starts(phase),
        };
        self.bias_rows(late, true) - behind + self.position(phase, sum)
    }

    /// True for the product of a cell.
    fn recurs(&self) -> bool {
        self.sums.iter().any(|s| s.r.is_some())
    }

    /// The multiply-adds of one row, once.
    pub fn multiply_adds(&self) -> usize {
        Phase::ALL.iter().map(|&p| self.active(p) * self.phase_rows(p) * self.units).sum()
    }
}

/// A phase of a product: a group of weight rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The rows of W, one for each element of x.
    Input,
    /// The rows of R, multiplied by h.
    Hidden,
    /// The rows of R, multiplied by r.h.
    ResetHidden,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 3] = [Self::Input, Self::Hidden, Self::ResetHidden];
}

impl Sum {
    /// True if only the ResetHidden phase completes the sum.
    pub fn is_late(&self) -> bool {
        self.gate(Phase::ResetHidden).is_some()
    }

    /// The phase that completes the sum.
    pub fn last_phase(&self) -> Phase {
        match self.r {
            None => Phase::Input,
            Some((_, Operand::Hidden)) => Phase::Hidden,
            Some((_, Operand::ResetHidden)) => Phase::ResetHidden,
        }
    }

    /// The gate of W or R with weights of the sum in a phase. `None`: no weights in the phase.
    pub fn gate(&self, phase: Phase) -> Option<usize> {
        match (phase, self.r) {
            (Phase::Input, _) => self.w,
            (Phase::Hidden, Some((gate, Operand::Hidden))) => Some(gate),
            (Phase::ResetHidden, Some((gate, Operand::ResetHidden))) => Some(gate),
            _ => None,
        }
    }
}

/// A block for each panel of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The start of the first panel's block.
    pub offset: usize,
    /// Elements between panels.
    pub stride: usize,
}

/// Panels of equal size: `count` times `columns` neighbouring elements of h, and the places of
/// their weights.
///
/// The block of a panel in `early` holds biases, peepholes, the rows of the Input phase and the
/// rows of the Hidden phase. Sums with a ResetHidden phase have their biases and the rows of that
/// phase in a second block in `late`, after all early blocks.
///
/// A row holds the columns of each sum of the phase, sum after sum. With [interleaved
/// words](Product::abreast), each column has several words of a row, and [all rows of a
/// sum](Product::row_of) precede the rows of the next sum. If matrices are not f32, biases,
/// peepholes and scales are in a separate buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panels {
    /// The number of panels.
    pub count: usize,
    /// Elements of h per panel.
    pub columns: usize,
    /// First element of h.
    pub first: usize,
    /// The blocks for the first two phases.
    pub early: Blocks,
    /// The offset of the rows of the Input phase in a block.
    pub input: usize,
    /// The offset of the rows of the Hidden phase in a block.
    pub hidden: usize,
    /// The blocks for the ResetHidden phase.
    pub late: Blocks,
    /// The offset of the rows of the ResetHidden phase in a block.
    pub late_rows: usize,
    /// The early biases: in the same blocks, or in a separate buffer.
    pub early_biases: Blocks,
    /// The late biases.
    pub late_biases: Blocks,
}

impl Panels {
    /// The blocks for the first two phases, or for the last phase.
    pub fn blocks(&self, late: bool) -> Blocks {
        if late { self.late } else { self.early }
    }

    /// The biases, peepholes and scales.
    pub fn biases(&self, late: bool) -> Blocks {
        if late { self.late_biases } else { self.early_biases }
    }
}

/// The coverage of a panel's columns by vectors of one instruction set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tiling {
    /// Tiles of whole vectors, for equal columns of every sum. The pointwise part works on
    /// accumulators. One entry for each pass over the panel's rows: its vectors as (column, lanes).
    Columns(Vec<Vec<(usize, usize)>>),
    /// The lanes of neighbouring sums as one run, for panels without whole vectors. The pointwise
    /// part works on stored gates. Neighbouring sums with equal phases form a run.
    Runs,
}

impl Tiling {
    /// The vectors of the widest pass.
    fn most_vectors(&self) -> usize {
        match self {
            Self::Columns(passes) => passes.iter().map(Vec::len).max().unwrap_or(1),
            Self::Runs => 1,
        }
    }
}

/// The prefix of reasons against two threads.
const ONE_THREAD: &str = "one thread: ";

/// The plan of one product.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductPlan {
    /// The product.
    pub product: Product,
    /// The panels: full panels, then the remainder.
    pub panels: Vec<Panels>,
    /// The arithmetic of all or most matrices.
    pub arithmetic: Arithmetic,
    /// The quantisation of x, if the product multiplies the model's integers.
    pub own_x: Option<Multiples>,
    /// The quantisation of h, without a reset gate applied.
    pub own_h: Option<Multiples>,
    /// Packed elements, with alignment; includes biases of the element type.
    pub weights: usize,
    /// Separately packed f32: biases, peepholes and scales of matrices that are not f32.
    pub biases: usize,
    /// The unrolling of loops over rows.
    pub unrolled: Unrolled,
    /// True if loops over rows are unrolled to satisfy
    /// [`Code::load_distance`](crate::arch::Code::load_distance).
    pub loads_apart: bool,
    /// True if every other step reads the panels from the last to the first, to begin with weights
    /// still in the cache.
    pub snake: bool,
    /// True if the x terms of all steps of a sequence are computed first, several steps together.
    pub input_first: bool,
    /// The user's choice of tiles. `None`: tiles if they save time.
    pub tiles: Option<bool>,
    /// The halves for two threads.
    pub halves: Option<[Half; 2]>,
    /// For each instruction set of [`Plan::isas`]: rows computed together.
    pub rows_at_once: Vec<usize>,
    /// For each instruction set of [`Plan::isas`], for each of `panels`.
    pub tilings: Vec<Vec<Tiling>>,
    /// The reasons, one line each.
    pub reasons: Vec<String>,
}

/// The unrolling of a product's loops over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrolled {
    /// No loop is left.
    Fully,
    /// An iteration takes the rows per iteration of the instruction set; two iterations or more are
    /// a loop.
    InTurns,
    /// An iteration takes one row, or the rows of a packed word: the smallest code, which
    /// instruction
    /// sets share.
    RowByRow,
}

/// The half of a cell for one of two threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Half {
    /// True if rows are divided, false if units are divided.
    pub is_of_rows: bool,
    /// The range of batch rows.
    pub rows: Range<usize>,
    /// The range of units of each row.
    pub units: Range<usize>,
    /// The range of [`ProductPlan::panels`] with the units.
    pub panels: Range<usize>,
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, Range { start, end }) =
            if self.is_of_rows { ("row", &self.rows) } else { ("unit", &self.units) };
        match end - start {
            1 => write!(f, "{what} {start}"),
            _ => write!(f, "{what}s {start} to {}", end - 1),
        }
    }
}

/// The plan of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The architecture.
    pub arch: &'static Arch,
    /// The instruction sets, baseline first, best last; true for fused multiply-add.
    pub isas: Vec<(&'static Isa, bool)>,
    /// One for each cell and each dense layer of [`CoreModel::all_nodes`].
    pub products: Vec<ProductPlan>,
    /// Depthwise convolutions with integer products, by value: the arithmetic, and the quantisation
    /// of x if the convolution multiplies the model's integers.
    pub windows: BTreeMap<usize, (Arithmetic, Option<Multiples>)>,
    /// Operations computed only under a condition.
    pub branches: Branches,
    /// Operations fused into the kernel of their operand.
    pub fusion: Fusion,
    /// The accuracy of activations.
    pub accuracy: Accuracy,
    /// The magnitude below which inputs, states and outputs are flushed to zero. `None`: denormals
    /// are kept.
    pub flush_below: Option<f32>,
    /// Registers per value of a kernel.
    pub values: Values,
}

/// Vector registers per value of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One: dot products of integers are operations of registers.
    Registers,
    /// All columns of a pass, in a struct in generated C.
    Joined,
    /// All columns of a pass, and passes of equal size are a loop. One lane is a number.
    Passes,
    /// All columns of a pass on every instruction set, including scalar ones, as the bodies of a C
    /// file share the text of their kernels.
    OneText,
}

impl Values {
    /// The registers per value in a language. In C, all bodies share one text of the kernels if a
    /// file has several bodies with vectors.
    pub fn of(language: Language, isas: &[(&'static Isa, bool)]) -> Self {
        let mut others = isas.iter().map(|(isa, _)| *isa).filter(|isa| isa.lanes > 1).skip(1);
        match language {
            Language::Rust => Self::Passes,
            Language::C if others.any(|isa| isa.code.joins) => Self::OneText,
            Language::C => Self::Joined,
        }
    }

    /// True if passes of equal size form a loop.
    fn has_loops(self) -> bool {
        matches!(self, Self::Passes | Self::OneText)
    }

    /// The registers per value in a product. Integer dot products use single registers.
    pub fn of_product(self, product: &Product) -> Self {
        if product.format.is_of_integers() { Self::Registers } else { self }
    }

    /// True if a value covers several registers on an instruction set. In generated Rust, one lane
    /// is a plain number.
    fn joins(self, isa: &Isa) -> bool {
        match self {
            Self::Registers => false,
            Self::Joined => isa.code.joins,
            Self::Passes => isa.lanes > 1,
            Self::OneText => true,
        }
    }

    /// The values of a pass, as (column, lanes). On instruction sets with joined registers,
    /// neighbouring vectors form one value.
    pub fn of_pass(self, vectors: &[(usize, usize)], isa: &Isa) -> Vec<(usize, usize)> {
        match self.joins(isa) {
            false => vectors.to_vec(),
            true => {
                vectors.iter().fold(Vec::new(), |mut all: Vec<(usize, usize)>, &(at, lanes)| {
                    match all.last_mut() {
                        Some((first, joined)) if *first + *joined == at => *joined += lanes,
                        _ => all.push((at, lanes)),
                    }
                    all
                })
            }
        }
    }
}

impl Plan {
    /// Lanes of values outside passes on an instruction set. If values join registers, the lanes of
    /// the widest value.
    pub fn width(&self, isa: &Isa) -> usize {
        match self.values {
            values if values.has_loops() && values.joins(isa) => {
                self.isas.iter().map(|(isa, _)| isa.lanes).max().unwrap_or(isa.lanes)
            }
            _ => isa.lanes,
        }
    }

    /// True if a step remembers the reading direction of the step before; sequences derive the
    /// direction from the step's number.
    pub fn alternates(&self, model: &CoreModel) -> bool {
        let ops = model.all_nodes().into_iter().map(|node| &node.op);
        let products = ops.filter(|op| op.is_product());
        let cell = |op: &CoreOp| matches!(op, CoreOp::Cell(cell) if cell.is_one_step());
        products.zip(&self.products).any(|(op, product)| product.snake && cell(op))
    }

    /// The instruction set that the target's C compiler selects by default.
    pub fn usual(&self) -> usize {
        self.isas.iter().rposition(|(isa, _)| isa.c.flags.is_some_and(<[_]>::is_empty)).unwrap_or(0)
    }

    /// Options without effect on the model, one sentence each.
    pub fn without_effect(&self, options: &Options) -> Vec<String> {
        let mut said = Vec::new();
        let cells = || self.products.iter().filter(|plan| plan.product.recurs());
        if options.machine.threads == Threads::Two && cells().all(|plan| plan.halves.is_none()) {
            let mut why: Vec<&str> = cells()
                .flat_map(|plan| &plan.reasons)
                .filter_map(|reason| reason.strip_prefix(ONE_THREAD))
                .collect();
            why.dedup();
            said.push(format!(
                "a second thread has nothing to do, as no cell is shared: {}",
                why.join("; ")
            ));
        }
        said
    }
}

/// The instruction sets to write, the baseline first, the best last.
pub fn instruction_sets(options: &Options, precisions: &Precisions) -> Vec<&'static Isa> {
    let asked = |isa: &&'static Isa| match &options.machine.isas {
        Some(list) => list.contains(isa),
        None => isa.words().is_empty() || precisions.multiply_any(&isa.words()),
    };
    let baseline = options.machine.target.baseline;
    // an instruction set that flushes subnormal numbers to zero needs the set of one lane, too
    let flushes = options.known_isas().any(|isa| isa.c.flushes.is_some() && asked(&isa));
    options
        .known_isas()
        .filter(|isa| *isa == baseline || asked(isa) || flushes && isa.lanes == 1)
        .collect()
}

/// Plans a model.
pub fn plan(model: &CoreModel, options: &Options, precisions: &Precisions) -> Plan {
    let isas = instruction_sets(options, precisions);
    let all = plan_for(model, options, precisions, &isas);
    // without products in tiles, an instruction set with tiles equals the one that it extends
    let unused = |at: usize, isa: &Isa| {
        options.machine.isas.is_none()
            && isa.tile_rows() > 0
            && all.products.iter().all(|plan| !plan.uses_tiles(at, isa))
    };
    let used: Vec<_> = isas
        .iter()
        .enumerate()
        .filter(|(at, isa)| !unused(*at, isa))
        .map(|(_, isa)| *isa)
        .collect();
    if used.len() == isas.len() { all } else { plan_for(model, options, precisions, &used) }
}

/// Plans a model for these instruction sets.
fn plan_for(
    model: &CoreModel,
    options: &Options,
    precisions: &Precisions,
    isas: &[&'static Isa],
) -> Plan {
    let arch = options.machine.target;
    // safe Rust cannot spell every machine's fused multiply-add
    let spelled =
        |isa: &Isa| options.output.language == Language::C || !isa.rust.mul_add.is_empty();
    let fused = |isa: &Isa| isa.fma && options.numerics.fma == Fma::Auto && spelled(isa);
    let isas: Vec<_> = isas.iter().map(|isa| (*isa, fused(isa))).collect();
    let product = |node: &CoreNode| {
        let op = &node.op;
        let mut reasons = Vec::new();
        let mut product = match op {
            CoreOp::Cell(cell) => {
                let mut product = Product::from(cell);
                // r is waited for
                if cell.kind.reset_gate() == Some(ResetGate::BeforeMatMul)
                    && arch.costs.limits.late_apart > 0
                {
                    product.sums.swap(0, 1);
                }
                product
            }
            CoreOp::Dense(dense) => Product::from(dense),
            _ => return None,
        };
        let precision = precisions.of(op.first_value());
        let arithmetic = precision.arithmetic();
        product.store_as(precision.stored(), &isas);
        let threads = threads(op, &product, options);
        // each of two threads has panels of its own
        let share = match threads {
            Ok(_) if product.rows == 1 => {
                product.units.div_ceil(2).next_multiple_of(arch.memory.line / 4).min(product.units)
            }
            _ => product.units,
        };
        let (columns, why) = match options.tuning.panel_columns {
            Some(columns) if columns > product.units => {
                (product.units, format!("all, {columns} are asked for"))
            }
            Some(columns) => (columns.max(1), "asked for".to_string()),
            None if product.rows > 1 => {
                let why = "fits the L1 cache, for several rows";
                (cost::shared_columns(&product, arch), why.to_string())
            }
            None => panel_columns(op, &product, share, arch),
        };
        reasons.push(format!("panels of {}: {why}", counted(columns, "column")));
        if let CoreOp::Cell(cell) = op
            && let Some(why) = row_by_row(cell).filter(|_| cell.batch > 1)
        {
            reasons.push(format!("one row at a time: {why}"));
        }
        let own_x = precision.own(Vector::X, product.input_size);
        let own_h = precision.own(Vector::H, product.units);
        let plan = plan_product((product, arithmetic), columns, threads, reasons, options, &isas);
        Some(ProductPlan { own_x, own_h, ..plan })
    };
    let (mut products, mut halved) = (Vec::new(), BTreeSet::new());
    for node in model.all_nodes() {
        let Some(product) = product(node) else { continue };
        halved.extend(product.halves.is_some().then(|| node.op.outputs()[0]));
        products.push(product);
    }
    let mut windows = BTreeMap::new();
    for node in model.all_nodes() {
        let (CoreOp::Convolve(of), Some(taps)) = (&node.op, node.op.input_size()) else { continue };
        let precision = precisions.of(of.out);
        if precision.arithmetic() != Arithmetic::F32 {
            windows.insert(
                of.out,
                (precision.arithmetic().of_windows(), precision.own(Vector::X, taps)),
            );
        }
    }
    let accuracy = options.numerics.accuracy;
    let flush_below = flush_below(&options.numerics);
    let fuses = options.tuning.fuse != Some(false);
    let lanes = isas.iter().map(|(isa, _)| isa.lanes).max().unwrap_or(1);
    let branches = Branches::new(model, lanes, options.tuning.branches);
    let fusion = if fuses { Fusion::new(model, &halved, &branches) } else { Fusion::default() };
    let values = Values::of(options.output.language, &isas);
    Plan { arch, isas, products, windows, branches, fusion, accuracy, flush_below, values }
}

/// True if two threads share a product, with the reason. An empty `Err` if one thread was
/// requested.
fn threads(op: &CoreOp, product: &Product, options: &Options) -> Result<String, String> {
    match (options.machine.threads, op) {
        (Threads::One, _) => Err(String::new()),
        (Threads::Two, CoreOp::Cell(_)) => match options.tuning.halves {
            Some(true) => Ok("two threads: asked for".to_string()),
            Some(false) => Err(format!("{ONE_THREAD}asked for")),
            None => cost::two_threads(product, product.format, &options.machine.target.costs),
        },
        (Threads::Two, _) => Err(format!("{ONE_THREAD}no cell")),
    }
}

/// The halves of a product: halves of its rows, or of its panels; the panels of the first half are
/// a separate group.
fn halves(product: &Product, panels: &[Panels]) -> Option<[Half; 2]> {
    let (rows, units) = (product.rows, product.units);
    if rows > 1 {
        let half = |rows| Half { is_of_rows: true, rows, units: 0..units, panels: 0..panels.len() };
        return Some([half(0..rows.div_ceil(2)), half(rows.div_ceil(2)..rows)]);
    }
    let cut = panels.get(1)?.first;
    let half = |units, panels| Half { is_of_rows: false, rows: 0..1, units, panels };
    Some([half(0..cut, 0..1), half(cut..units, 1..panels.len())])
}

/// Plans a product in an arithmetic.
fn plan_product(
    (product, arithmetic): (Product, Arithmetic),
    width: usize,
    threads: Result<String, String>,
    mut reasons: Vec<String>,
    options: &Options,
    isas: &[(&'static Isa, bool)],
) -> ProductPlan {
    let (arch, format) = (options.machine.target, product.format);
    let cut = threads.is_ok() && product.rows == 1;
    let PanelLayout { panels, weights, biases } =
        layout(&product, width, cut, format, arch.memory.alignment);
    let halves = if threads.is_ok() { halves(&product, &panels) } else { None };
    reasons.push(match (threads, &halves) {
        (Ok(_), None) => format!("{ONE_THREAD}one panel"),
        (Ok(reason) | Err(reason), _) => reason,
    });
    reasons.retain(|reason| !reason.is_empty());
    let vectors = |phase| {
        product.phase_rows(phase)
            * (4 * product.active(phase) * product.units).div_ceil(arch.memory.line)
    };
    let work = Phase::ALL.iter().map(|&phase| vectors(phase)).sum::<usize>();
    let once = product.rows == 1 && product.steps == 1;
    let values = Values::of(options.output.language, isas);
    let unrolled = match options.tuning.unroll {
        Unroll::Full => Unrolled::Fully,
        Unroll::None => Unrolled::RowByRow,
        Unroll::Auto if work <= UNROLL_BUDGET && once => Unrolled::Fully,
        Unroll::Auto if values.of_product(&product) == Values::OneText => Unrolled::RowByRow,
        Unroll::Auto => Unrolled::InTurns,
    };
    reasons.push(match options.tuning.unroll {
        Unroll::Auto if unrolled == Unrolled::Fully => {
            format!("unrolled: {work} vectors of weights are within the limit of {UNROLL_BUDGET}")
        }
        Unroll::Auto if product.rows > 1 => "loops kept: batch above 1".to_string(),
        Unroll::Auto if product.steps > 1 => "loops kept: several steps".to_string(),
        Unroll::Auto => {
            format!("loops kept: {work} vectors of weights exceed the limit of {UNROLL_BUDGET}")
        }
        Unroll::Full => "unrolled: asked for".to_string(),
        Unroll::None => "loops kept: asked for".to_string(),
    });
    let bytes = packed_bytes(format, weights, biases);
    // other formats are unpacked, which takes longer than loads
    let is_loaded =
        matches!(format, WeightFormat::F32 | WeightFormat::Int16 | WeightFormat::Int8Quad);
    let is_near =
        (arch.costs.caches.first_level + 1..=arch.costs.caches.partly_near).contains(&bytes);
    let loads_apart = options.tuning.unroll == Unroll::Auto && is_loaded && is_near;
    let tile = |p: &Panels, isa| tiling(&product, bytes, p.columns, (isa, arch), values);
    let tilings =
        isas.iter().map(|(isa, _)| panels.iter().map(|p| tile(p, isa)).collect()).collect();
    let tuning = &options.tuning;
    let best = isas.last().expect("options: the baseline is always there").0;
    let worth = match tuning.input_first {
        Some(first) if first && product.steps > 1 => {
            Ok("x terms of all steps first: asked for".to_string())
        }
        Some(_) => Err(String::new()),
        None => cost::input_first(&product, &panels, format, bytes, best, arch),
    };
    let several = product.together > 1 && (product.steps == 1 || worth.is_ok());
    let mut chosen = |(isa, _): &(&'static Isa, bool)| {
        let (by_vectors, cycles) = cost::rows_at_once(&product, &panels, isa, arch);
        let by_tiles = tuning
            .rows_at_once
            .map_or(product.tile_rows(isa), |rows| rows.clamp(1, product.together));
        let in_tiles = product.has_tiles(by_tiles, &panels, tuning.tiles, isa);
        // h terms of a sequence wait for the step before
        let of = if product.steps > 1 { "x terms of " } else { "" };
        let rows = if in_tiles || tuning.rows_at_once.is_some() { by_tiles } else { by_vectors };
        if several && in_tiles {
            reasons.push(format!("{}: {of}{} at once, in tiles", isa.name, counted(rows, "row")));
        } else if several && tuning.rows_at_once.is_none() {
            let rows = counted(rows, "row");
            reasons.push(format!(
                "{}: {of}{rows} at once, {cycles:.1} cycles for a row of a panel",
                isa.name
            ));
        }
        if several && !in_tiles && isa.tile_rows() > 0 && product.fits_tiles_somewhere() {
            let why = product.without_tiles(by_tiles, &panels, tuning.tiles, isa);
            reasons.push(format!("{}: no tiles: {why}", isa.name));
        }
        rows
    };
    let rows_at_once: Vec<_> = isas.iter().map(&mut chosen).collect();
    if tuning.rows_at_once.is_some() && several {
        reasons.push(format!("rows at once: {}, asked for", rows_at_once[0]));
    }
    let [fewest, most] = arch.costs.caches.alternate_near;
    let is_short = |p: &Panels| product.weight_bytes(p.columns) <= fewest;
    // a cell of one step has to remember the order: in f32 it stays a function of its inputs alone
    let remembers = product.steps > 1 || product.format.is_of_integers();
    let first_level = remembers
        && (fewest..=most).contains(&bytes)
        && panels.iter().filter(|p| p.count > 1).all(is_short);
    let alternate =
        tuning.alternate.unwrap_or(first_level || bytes > arch.costs.caches.alternate_from);
    let snake =
        product.recurs() && product.rows == 1 && panels.iter().any(|p| p.count > 1) && alternate;
    if snake {
        reasons.push(match tuning.alternate {
            Some(_) => "panels in alternating order: asked for".to_string(),
            None if first_level => {
                "panels in alternating order: the L1 cache holds a part of the weights".to_string()
            }
            None => {
                format!(
                    "panels in alternating order: more than {} KiB of weights",
                    arch.costs.caches.alternate_from >> 10
                )
            }
        });
    }
    let input_first = worth.is_ok();
    reasons.extend(Some(worth.unwrap_or_else(|reason| reason)).filter(|reason| !reason.is_empty()));
    let mut plan = ProductPlan {
        product,
        panels,
        arithmetic,
        own_x: None,
        own_h: None,
        weights,
        biases,
        unrolled,
        loads_apart,
        snake,
        input_first,
        tiles: tuning.tiles,
        halves,
        rows_at_once,
        tilings,
        reasons,
    };
    let said = plan.said_of_loops(isas);
    plan.reasons.extend(said);
    plan
}

/// Columns of a full panel for single rows and `units` units, with the reason.
fn panel_columns(op: &CoreOp, product: &Product, units: usize, arch: &Arch) -> (usize, String) {
    let activations = match op {
        CoreOp::Cell(cell)
            if cell.kind.reset_gate() == Some(ResetGate::BeforeMatMul)
                && product.units <= arch.costs.limits.most_at_once =>
        {
            return (
                product.units,
                "reset gate before the product: r.h is needed for all columns at once".to_string(),
            );
        }
        CoreOp::Cell(cell) => match cell.kind {
            CellKind::Rnn => 1,
            CellKind::Gru(_) | CellKind::Augru(_) => 3,
            CellKind::Lstm => 5,
        },
        _ => 0,
    };
    cost::own_columns(product, units, activations, arch)
}

struct PanelLayout {
    panels: Vec<Panels>,
    /// As [`ProductPlan::weights`].
    weights: usize,
    /// As [`ProductPlan::biases`].
    biases: usize,
}

/// `cut`: half of the full panels, or one more, are a group of their own.
fn layout(
    product: &Product,
    width: usize,
    cut: bool,
    format: WeightFormat,
    alignment: usize,
) -> PanelLayout {
    let element = format.encoding(0).element();
    let apart = element != Element::F32;
    let whole = |n: usize| n.next_multiple_of((alignment / element.size()).max(1));
    let rows = |phase, columns| whole(product.packed_rows(phase) * product.active(phase) * columns);
    let biases = |late, columns: usize| {
        (product.bias_rows(late, format.has_scales()) * columns)
            .next_multiple_of((alignment / 4).max(1))
    };
    // biases are among the rows if both have one element type
    let among = |biases: usize| if apart { 0 } else { biases };
    let mut panels = Vec::new();
    let (mut at, mut biases_at) = (0, 0);
    let blocks = |count: usize, stride: usize, at: &mut usize| {
        let offset = *at;
        *at += count * stride;
        Blocks { offset, stride }
    };
    let (full, rest) = (product.units / width, product.units % width);
    let begin = if cut { (full + usize::from(rest > 0)) / 2 } else { 0 };
    let groups = [(begin, width, 0), (full - begin, width, begin * width), (1, rest, full * width)];
    let groups = groups.into_iter().filter(|(count, columns, _)| count * columns > 0);
    for (count, columns, first) in groups {
        let input = among(biases(false, columns));
        let hidden = input + rows(Phase::Input, columns);
        let early = blocks(count, hidden + rows(Phase::Hidden, columns), &mut at);
        let early_biases =
            if apart { blocks(count, biases(false, columns), &mut biases_at) } else { early };
        let late_rows = among(biases(true, columns));
        let late = Blocks { offset: 0, stride: late_rows + rows(Phase::ResetHidden, columns) };
        let late_biases =
            Blocks { offset: 0, stride: if apart { biases(true, columns) } else { late.stride } };
        panels.push(Panels {
            count,
            columns,
            first,
            early,
            input,
            hidden,
            late,
            late_rows,
            early_biases,
            late_biases,
        });
    }
    for panel in &mut panels {
        panel.late = blocks(panel.count, panel.late.stride, &mut at);
        panel.late_biases = if apart {
            blocks(panel.count, panel.late_biases.stride, &mut biases_at)
        } else {
            panel.late
        };
    }
    PanelLayout { panels, weights: at, biases: biases_at }
}

/// Upper limit for sum vectors per pass over a panel for one row, including all chains.
pub fn pass_vectors(product: &Product, isa: &Isa) -> usize {
    (product.registers(isa) * 3 / 4 / product.widest().0).max(1)
}

/// Upper limit for accumulators per pass: three quarters of the registers, the rest for operands.
pub fn accumulators(isa: &Isa) -> usize {
    isa.registers * 3 / 4
}

/// The tiling of a panel on an instruction set. `bytes` is the size of the weights.
fn tiling(
    product: &Product,
    bytes: usize,
    columns: usize,
    (isa, arch): (&Isa, &Arch),
    values: Values,
) -> Tiling {
    if product.sums.len() > 1 && !columns.is_multiple_of(isa.lanes) {
        return Tiling::Runs;
    }
    let (_, active) = product.widest();
    let vectors = vectors(columns, isa.lanes);
    // whole cache lines, or neighbouring passes would both read the line between them (measured:
    // 1.15 against 1.46 of the floor at H = 48, 1.17 against 1.40 for an LSTM of 128 units)
    let line = arch.vectors_of_line(isa);
    let mut at_once = (product.registers(isa) * 3 / 4 / active).max(1);
    // integer sums of two registers each exhaust the registers sooner, for every cache level
    let takes_two = isa.lanes > 1 && product.registers(isa) < isa.registers;
    if takes_two
        || (arch.costs.caches.first_level + 1..=arch.costs.caches.alternate_from).contains(&bytes)
    {
        // x terms stay in registers while h terms are added: with far too many sums, compilers
        // spill the wrong ones at every row (measured: 1.18 against 1.11 for a GRU of 128 units
        // with 24 sums in 16 registers; 20 sums do no harm). For weights beyond the L2 cache, one
        // pass is still better: 1.06 against 1.24 for 512 units
        let held = product.active(Phase::Input) + product.active(Phase::Hidden);
        at_once = at_once.min(product.registers(isa) * 5 / 4 / held).max(1);
        // without vectors, whole lines save nothing, and integer sums share the registers with all
        // other values
        let least = if takes_two || isa.lanes == 1 && product.format.is_of_integers() {
            at_once
        } else {
            line
        };
        at_once = (at_once - at_once % line).max(least);
    }
    let values = values.of_product(product);
    Tiling::Columns(passes(&vectors, at_once, line, isa, values))
}

/// Column vectors in passes of limited size. Passes have equal sizes, as a short pass cannot hide
/// the latency of its chains, and take whole cache lines unless the passes then form a loop.
fn passes(
    vectors: &[(usize, usize)],
    at_once: usize,
    line: usize,
    isa: &Isa,
    values: Values,
) -> Vec<Vec<(usize, usize)>> {
    let at_once = if isa.code.pass > 0 { at_once.min(isa.code.pass) } else { at_once };
    // a loop needs passes of one size, worth at most a third of the vectors that fit
    let is_even = values.has_loops() && vectors.windows(2).all(|two| two[0].1 == two[1].1);
    if is_even && vectors.len() > at_once {
        let sizes = || (1..=at_once).rev().filter(|size| vectors.len().is_multiple_of(*size));
        let fills = |size: &usize| 3 * size >= 2 * at_once;
        let whole_lines = sizes().filter(fills).find(|size| size.is_multiple_of(line));
        // C has a text of its own for uneven passes: two passes of 24 columns take 1.15 times as
        // long as passes of 32 and 16 on AVX2 (GRU of 128 units, weights in the L2 cache)
        let others = || sizes().find(fills).filter(|_| values == Values::Passes || at_once < line);
        if let Some(size) = whole_lines.or_else(others) {
            return vectors.chunks(size).map(<[_]>::to_vec).collect();
        }
    }
    let equal = vectors.len().div_ceil(vectors.len().div_ceil(at_once).max(1)).max(1);
    let size = if isa.code.pass > 0 { equal } else { equal.next_multiple_of(line).min(at_once) };
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
    match (isa.code.pass, values.of_product(product)) {
        (0, Values::Registers | Values::Joined) => {
            vectors.chunks(at_once).map(<[_]>::to_vec).collect()
        }
        (_, values) => passes(&vectors, at_once, 1, isa, values),
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |isa: &&Isa| self.isas.iter().any(|(other, _)| other == isa);
        for (isa, fused) in &self.isas {
            let profile = if *fused { "fused" } else { "unfused" };
            match isa.body_of.filter(known) {
                None => {
                    let lanes = counted(isa.lanes, "lane");
                    writeln!(
                        f,
                        "{}: {lanes}, {} registers, {profile} multiply-add",
                        isa.name, isa.registers
                    )?;
                }
                Some(of) => writeln!(f, "{}: as {}, {profile} multiply-add", isa.name, of.name)?,
            }
        }
        if self.accuracy != Accuracy::Exact {
            writeln!(f, "activations: {}", self.accuracy.name())?;
        }
        if self.flush_below.is_none() {
            writeln!(f, "denormals are kept")?;
        }
        for ((condition, side), count) in self.branches.counts() {
            let side = if side { "holds" } else { "does not hold" };
            writeln!(f, "{} only where {condition} {side}", counted(count, "operation"))?;
        }
        for chain in self.fusion.chains() {
            let links: Vec<_> = chain.links.iter().map(|v| format!("value {v}")).collect();
            writeln!(f, "value {}: continued to {} in registers", chain.root, links.join(", "))?;
        }
        let own = |x: Multiples| match x.scale {
            1.0 => format!("whole numbers up to {}", x.magnitude()),
            scale => format!("whole numbers up to {} times {scale:e}", x.magnitude()),
        };
        for (value, (arithmetic, x)) in &self.windows {
            let x = x.map_or(String::new(), |x| format!(", x is {}", own(x)));
            writeln!(f, "value {value}: windows multiplied in {}{x}", arithmetic.name())?;
        }
        for (i, cell) in self.products.iter().enumerate() {
            let format = |plan: &ProductPlan| {
                let format = match plan.product.format {
                    WeightFormat::F32 => String::new(),
                    other => format!(" as {}", other.name()),
                };
                let vectors = [("x", plan.own_x), ("h", plan.own_h)];
                let vectors = vectors
                    .into_iter()
                    .filter_map(|(name, of)| Some((name, own(of?))))
                    .collect::<Vec<_>>();
                match (plan.arithmetic, &vectors[..]) {
                    (Arithmetic::F32, []) => format,
                    (Arithmetic::F32, [(_, x)]) => format!("{format}, multiplied with {x}"),
                    (other, vectors) => {
                        let vectors = vectors
                            .iter()
                            .map(|(name, own)| format!(", {name} is {own}"))
                            .collect::<String>();
                        let multiplied =
                            if other == Arithmetic::F32 { "integers" } else { other.name() };
                        format!("{format}, multiplied in {multiplied}{vectors}")
                    }
                }
            };
            let stored = |plan: &ProductPlan| {
                let count = plan.weights + plan.biases;
                format!("{count} packed weights{} ({} bytes)", format(plan), plan.bytes())
            };
            writeln!(f, "product {i}: {}", stored(cell))?;
            for reason in &cell.reasons {
                writeln!(f, "  {reason}")?;
            }
            if let Some([here, there]) = &cell.halves {
                writeln!(f, "  at the same time: {here}, {there}")?;
            }
            for (p, panels) in cell.panels.iter().enumerate() {
                let (count, columns) =
                    (counted(panels.count, "panel"), counted(panels.columns, "column"));
                writeln!(f, "  {count} of {columns} from column {}", panels.first)?;
                let own = |((isa, _), _): &(&(&'static Isa, bool), _)| {
                    isa.body_of.filter(known).is_none()
                };
                for ((isa, _), tilings) in self.isas.iter().zip(&cell.tilings).filter(own) {
                    match &tilings[p] {
                        Tiling::Columns(passes) => {
                            let text: Vec<_> = passes
                                .iter()
                                .map(|v| {
                                    v.iter()
                                        .map(|(_, w)| w.to_string())
                                        .collect::<Vec<_>>()
                                        .join("+")
                                })
                                .collect();
                            writeln!(
                                f,
                                "    {}: passes over columns {}",
                                isa.name,
                                text.join(", ")
                            )?;
                        }
                        Tiling::Runs => writeln!(f, "    {}: gates as runs of lanes", isa.name)?,
                    }
                }
            }
        }
        Ok(())
    }
}
