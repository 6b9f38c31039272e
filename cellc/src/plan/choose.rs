//! The choice for a product: the layout of its rows of weights, and for each phase and instruction
//! set the micro-kernel, its chains and its loop. Blocks of zeros and blocks of time
//! steps are chosen in `sparse` and `step_blocks`.

use super::cost::tile_vectors;
use super::passes::{accumulators, most_per_pass};
use super::product::{Phase, Product, Sum};
use super::row_layout::{Interleave, RowLayout, ZeroBlocks};
use super::sparse;
use super::values::Values;
use super::{ProductPlan, Unrolled};
use crate::arch::{Arch, Dot, Isa, PlannedIsa, SHORT_LOOP_ITERATIONS, vectors};
use crate::encoding::WeightFormat;
use crate::kernel::{BlockProduct, LaneOp, Loops};

/// Least unroll factor, unless half of a loop's iterations are fewer (measured: with 16 rows of 576
/// bytes a GRU of 128 units takes 1.19 of the time of a short loop in Rust with AVX-512, with 32
/// rows 0.98).
const LEAST_UNROLL_FACTOR: usize = 32;

/// How the sums of one phase are computed on one instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The micro-kernel.
    pub kernel: Microkernel,
    /// The layout of the rows of weights.
    pub layout: RowLayout,
    /// The chains of each sum.
    pub chains: Chains,
    /// The loop over rows of weights.
    pub row_loop: RowLoop,
}

/// The inner loop of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Microkernel {
    /// f32: a vector of weights is multiplied by one element, which is broadcast to all lanes.
    Broadcast,
    /// f32, one column: the lanes of a vector are the chains of its sum.
    Lanes,
    /// Integers: each lane adds the dot product of a word of weights and a broadcast word of
    /// elements.
    Dot(DotWord),
    /// Integers: each lane adds the dot product of a word of weights and one lane of a vector of
    /// words of elements.
    ByLane(DotWord),
    /// Integers: the products of all lanes are added to one sum.
    Across(DotWord),
    /// Integers on one lane: words of weights and of elements are loaded in pairs (`SMLAD`).
    Smlad(DotWord),
    /// Integers of several rows: tiles of sums.
    Tiles(DotWord),
    /// Only blocks of weights that are not zero, each with the index of its inputs.
    Blocks(BlockProduct),
}

/// The integers of an operation that multiplies and adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DotWord {
    /// Two 16-bit integers.
    Pairs,
    /// Four signed bytes.
    Quads,
    /// Four signed bytes of weights and four unsigned bytes of elements.
    UnsignedQuads,
    /// Four signed bytes of weights, widened to 16 bits: each of two operations multiplies two
    /// bytes by two 16-bit elements.
    WidenedPairs,
}

/// The chains of additions of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chains {
    /// The number that the model defines.
    Model(usize),
    /// Exact sums of integers in any order: enough chains to hide the latency of a dot product.
    Free {
        /// At most one chain for each row of weights.
        rows: usize,
        /// Registers for sums.
        registers: usize,
    },
}

/// A loop over rows of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLoop {
    /// Smallest number of rows per iteration.
    rows: usize,
    /// Neighbouring vectors of weights per load instruction. 1: the multiply-add loads.
    pub loads: usize,
    /// Minimum distance in bytes between the loads of one instruction in successive iterations.
    /// Unrolling reaches this distance. `None`: no minimum.
    distance: Option<usize>,
}

impl Microkernel {
    /// The integers of an operation. `None` for f32.
    pub fn word(self) -> Option<DotWord> {
        match self {
            Self::Broadcast | Self::Lanes => None,
            Self::Blocks(BlockProduct::Floats | BlockProduct::FloatQuads) => None,
            Self::Blocks(BlockProduct::Quads) => Some(DotWord::Quads),
            Self::Blocks(BlockProduct::WidenedQuads) => Some(DotWord::WidenedPairs),
            Self::Blocks(BlockProduct::Pairs) => Some(DotWord::Pairs),
            Self::Dot(word)
            | Self::ByLane(word)
            | Self::Across(word)
            | Self::Smlad(word)
            | Self::Tiles(word) => Some(word),
        }
    }
}

impl DotWord {
    /// Elements per word of elements.
    pub fn elements(self) -> usize {
        match self {
            Self::Pairs | Self::WidenedPairs => 2,
            Self::Quads | Self::UnsignedQuads => 4,
        }
    }

    /// The operations that multiply one word of weights, one for each word of elements. A vector of
    /// elements is split into one part for each operation; operation i reads part i.
    pub fn operations(self) -> &'static [LaneOp] {
        match self {
            Self::Pairs => &[LaneOp::DotPairs],
            Self::Quads => &[LaneOp::DotQuads],
            Self::UnsignedQuads => &[LaneOp::DotUnsignedQuads],
            Self::WidenedPairs => &[LaneOp::WidenAndMultiplyEven, LaneOp::WidenAndMultiplyOdd],
        }
    }
}

impl Chains {
    /// The number of chains for `sums` registers of sums.
    pub fn count(self, sums: usize) -> usize {
        match self {
            Self::Model(chains) => chains,
            Self::Free { rows, registers } => {
                let fits = |chains: &usize| *chains <= rows && chains * sums <= registers * 3 / 4;
                let hides = |chains: &usize| chains / 2 * sums < 8;
                [4, 2].into_iter().find(|chains| fits(chains) && hides(chains)).unwrap_or(1)
            }
        }
    }
}

impl Choice {
    /// Rows of weights per iteration: at least one per chain, all rows of a packed word, and the
    /// minimum of the instruction set.
    pub fn rows_at_once(&self, chains: usize) -> usize {
        let least =
            if self.layout.format == WeightFormat::Bf16Pair { chains.max(2) } else { chains };
        self.row_loop.rows.next_multiple_of(least).next_multiple_of(self.layout.words_together())
    }

    /// The unroll factor of a loop over rows, if unrolled: the smallest multiple of eight that
    /// satisfies [`Code::load_distance`](crate::arch::Code::load_distance), at least
    /// [`LEAST_UNROLL_FACTOR`], and preferably without remainder. At least two iterations remain:
    /// without a loop, compilers load all elements before the loop over panels.
    pub fn unroll_factor(&self, iterations: usize, bytes: usize) -> Option<usize> {
        let distance = self.row_loop.distance?;
        if iterations * bytes < distance || iterations < 2 * SHORT_LOOP_ITERATIONS {
            return None;
        }
        let enough = distance.div_ceil(bytes).max(LEAST_UNROLL_FACTOR);
        let parts = (2..=iterations / enough)
            .rev()
            .find(|parts| iterations.is_multiple_of(parts * SHORT_LOOP_ITERATIONS));
        let half = iterations / 2 / SHORT_LOOP_ITERATIONS * SHORT_LOOP_ITERATIONS;
        Some(parts.map_or(enough.next_multiple_of(SHORT_LOOP_ITERATIONS).min(half), |parts| {
            iterations / parts
        }))
    }
}

impl RowLayout {
    /// The layout of matrices in a format that every one of `isas` reads.
    pub(super) fn new(format: WeightFormat, isas: &[PlannedIsa]) -> Self {
        let every_isa =
            |is_so: &dyn Fn(&Isa) -> bool| isas.iter().all(|planned| is_so(planned.isa));
        let format = match format {
            WeightFormat::Int8Pair if every_isa(&|isa| isa.has(Dot::WidenedPairs)) => {
                WeightFormat::Int8Quad
            }
            format => format,
        };
        let across = isas.iter().find(|planned| planned.isa.has(Dot::Across));
        let interleave = match across {
            _ if !format.is_of_integers() => Interleave::None,
            Some(planned) => Interleave::Words(planned.isa.lanes),
            None if every_isa(&|isa| multiplies_by_lane(isa, 2)) => {
                Interleave::Halves(isas[0].isa.lanes)
            }
            None => Interleave::None,
        };
        let corrects = format == WeightFormat::Int8Quad
            && isas.iter().any(|planned| planned.isa.has(Dot::UnsignedQuads));
        Self { format, interleave, blocks: None, corrects }
    }
}

/// The largest number of element rows of a tile. 0: the instruction set has no tiles.
pub(super) fn most_tile_rows(isa: &Isa) -> usize {
    let rows = |dot: &Dot| match dot {
        Dot::Tiles { rows } => Some(*rows),
        _ => None,
    };
    isa.dots.iter().find_map(rows).unwrap_or(0)
}

/// True if the instruction set multiplies words of `in_word` integers by one lane of elements.
fn multiplies_by_lane(isa: &Isa, in_word: usize) -> bool {
    isa.by_lane().any(|by_lane| by_lane.in_word == in_word)
}

impl Product {
    /// Registers for sums and their operands. Dot products by lane count the registers of f32
    /// multiply-adds; other integer sums count [`Isa::integer_registers`].
    pub fn registers(&self, isa: &Isa) -> usize {
        let in_word = if self.layout.format == WeightFormat::Int8Quad { 4 } else { 2 };
        match self.layout.format.is_of_integers() && !multiplies_by_lane(isa, in_word) {
            true => isa.integer_registers,
            false => isa.registers,
        }
    }

    /// The micro-kernel for panels of `columns` columns, if neither tiles nor blocks compute the
    /// sums.
    fn microkernel(&self, phase: Phase, columns: usize, isa: &Isa) -> Microkernel {
        let (layout, rows) = (&self.layout, self.phase_rows(phase));
        if !layout.format.is_of_integers() {
            let has_one_column = self.active(phase) * columns == 1;
            let lanes_are_chains = has_one_column
                && isa.lanes > 1
                && self.chains(phase) >= 4
                && layout.format != WeightFormat::Bf16Pair;
            return if lanes_are_chains { Microkernel::Lanes } else { Microkernel::Broadcast };
        }
        let in_word = layout.format.in_word(rows);
        let word = match in_word {
            4 if isa.has(Dot::WidenedPairs) => DotWord::WidenedPairs,
            4 if isa.has(Dot::UnsignedQuads) => DotWord::UnsignedQuads,
            4 => DotWord::Quads,
            _ => DotWord::Pairs,
        };
        let is_alone = layout.words_together() == 1;
        let by_lane = multiplies_by_lane(isa, word.elements())
            && (word != DotWord::Pairs || layout.interleaves_halves(rows, columns));
        match () {
            () if isa.has(Dot::Across) && !is_alone => Microkernel::Across(word),
            () if isa.lanes == 1 && isa.code.loads > 1 && is_alone => Microkernel::Smlad(word),
            () if by_lane => Microkernel::ByLane(word),
            () => Microkernel::Dot(word),
        }
    }
}

impl ProductPlan {
    /// The choice for a phase and panels of `columns` columns, with `count` rows computed together.
    pub fn choice(&self, phase: Phase, columns: usize, count: usize, isa: &Isa) -> Choice {
        let product = &self.product;
        let layout = product.layout;
        let in_tiles = product.fits_tiles(phase) && self.has_tiles(count, isa);
        let kernel = match layout.indexed() {
            Some(block) => Microkernel::Blocks(block),
            None if in_tiles => Microkernel::Tiles(DotWord::Quads),
            None => product.microkernel(phase, columns, isa),
        };
        let is_of_integers = layout.format.is_of_integers();
        let has_dot_quads = isa.has(Dot::UnsignedQuads);
        let chains = match is_of_integers && has_dot_quads && layout.words_together() == 1 {
            true => {
                Chains::Free { rows: product.packed_rows(phase), registers: isa.integer_registers }
            }
            false => Chains::Model(product.chains(phase)),
        };
        let shares_text = self.values == Values::OneText;
        // loops are unrolled for the distance of loads only if loads are the limit: without a dot
        // product instruction, four bytes take many more instructions than loads, and compilers
        // reorder sums of 16-bit pairs and run out of registers
        let is_limited_by_loads = layout.format == WeightFormat::F32 || has_dot_quads;
        let distance = Some(isa.code.load_distance)
            .filter(|distance| self.loads_apart && is_limited_by_loads && *distance > 0);
        let row_loop = RowLoop {
            rows: match (self.unrolled, self.loops(isa)) {
                (Unrolled::RowByRow, _) => 1,
                (_, Loops::WithoutZeros) => product.packed_rows(phase),
                _ => isa.code.rows,
            },
            loads: if shares_text { 1 } else { isa.code.loads },
            distance,
        };
        Choice { kernel, layout, chains, row_loop }
    }

    /// The loops of the product's kernel on an instruction set.
    pub fn loops(&self, isa: &Isa) -> Loops {
        match self.unrolled {
            Unrolled::Fully => Loops::Unrolled,
            Unrolled::WithoutZeros if sparse::skips(isa, self.product.layout.format) => {
                Loops::WithoutZeros
            }
            Unrolled::WithoutZeros | Unrolled::SeveralRows | Unrolled::RowByRow => Loops::Kept,
        }
    }

    /// Vectors of columns of a panel, as (first column, lanes). In code that leaves out zeros, a
    /// vector has the lanes of a block of weights, otherwise those of a register.
    pub fn vectors(&self, columns: usize, isa: &Isa) -> Vec<(usize, usize)> {
        let lanes = match (self.loops(isa), self.product.layout.blocks) {
            (Loops::WithoutZeros, Some(ZeroBlocks::Unrolled(lanes))) => lanes.min(isa.lanes),
            _ => isa.lanes,
        };
        vectors(columns, lanes)
    }

    /// The most vectors of sums that `rows` rows keep in registers, of `all` vectors.
    pub fn sums_at_once(&self, all: usize, rows: usize, isa: &Isa, arch: &Arch) -> usize {
        match self.loops(isa) {
            Loops::WithoutZeros => accumulators(isa),
            Loops::Kept | Loops::Unrolled => tile_vectors(&self.product, all, rows, isa, arch),
        }
    }

    /// True if x terms of late sums are summed after the pointwise part of the early sums: an
    /// out-of-order core sums during the latency of the activations.
    pub fn defers_late(&self, isa: &Isa, arch: &Arch) -> bool {
        // excluded on targets with scarce code memory
        most_per_pass(isa).is_none()
            && isa.lanes > 4
            && self.unrolled != Unrolled::Fully
            && !self.product.layout.format.is_of_integers()
            && self.bytes() <= arch.costs.limits.late_apart * isa.lanes
            && self.product.sums.iter().any(Sum::is_late)
    }
}
