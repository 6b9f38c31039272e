//! The plan: panels, tiles, unrolling, weight layout, precision. A pure function of model and
//! options.
//!
//! The order of summation depends on the model alone, so all instruction sets compute equal bits.
//! The order consists of the terms of each sum and their sequence; panels do not affect it. Tiles
//! depend on the instruction set.

mod branches;
mod choose;
mod cost;
mod explain;
mod fusion;
mod layout;
mod panels;
mod passes;
mod product;
mod threads;
mod tiles;
mod values;

pub use branches::{Branches, Side};
pub use choose::{Unrolled, instruction_sets, plan};
pub use cost::{cycles, equal_parts, tile_vectors, window_channels, window_tile};
pub use fusion::{Along, Fusion, along};
pub use panels::{Blocks, Panels};
pub use passes::{Tiling, accumulators, late_passes, pass_vectors};
pub use product::{Operand, Phase, Product, Sum, sums};
pub use threads::Half;
pub use values::Values;

use std::collections::BTreeMap;

pub use crate::arch::vectors;
use crate::arch::{Arch, Dot, Isa, TURNS};
use crate::core::{CoreModel, CoreOp};
use crate::encoding::{Arithmetic, WeightFormat};
use crate::numerics::Multiples;
use crate::request::Accuracy;
use product::packed_bytes;

/// Smallest unroll factor of loops with at least twice as many iterations (measured: with 16 rows
/// of 576 bytes a GRU of 128 units takes 1.19 of the time of a short loop in Rust with AVX-512,
/// with 32 rows 0.98).
const LEAST_TURNS: usize = 32;

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
}
