//! The plan: panels, tiles, unrolling, weight layout, precision. A pure function of model, options
//! and precisions.
//!
//! The order of summation in f32, the terms of each sum and their sequence, depends on the model
//! alone, and sums of integers are exact in any order. All instruction sets therefore compute equal
//! bits, if all or none of them have a fused multiply-add. Panels do not affect the order. Tiles
//! depend on the instruction set.

mod branches;
mod choose;
mod cost;
mod delay_lines;
mod explain;
mod fusion;
mod labels;
mod layout;
mod panels;
mod passes;
mod planner;
mod present;
mod product;
mod product_planner;
mod reason;
mod row_layout;
mod scalars;
mod sparse;
mod step_blocks;
mod threads;
mod tiles;
mod unrolling;
mod values;

pub use branches::{Branches, Side};
pub use choose::{Chains, Choice, DotWord, Microkernel};
pub use cost::{cycles, equal_parts, tile_vectors, window_channels, window_tile};
pub use delay_lines::{CopiedElements, DelayLines, KeptHistory, TapRow, Taps};
pub use fusion::{Along, Fusion, along};
pub use labels::Labels;
pub use panels::{Blocks, Panels};
pub use passes::{Tiling, accumulators, late_passes, most_per_pass, run_vectors};
pub use planner::{instruction_sets, plan};
pub use present::{BLOCK_ROWS, PresentBlocks};
pub use product::{Operand, Phase, Product, Sum, sums};
pub use reason::{
    Alternation, InputFirst, NoTiles, PanelWidth, Reason, RowByRow, RowsTogether, Sharing,
    Threading, Unrolling,
};
pub use row_layout::{Interleave, RowLayout, WordOrder, ZeroBlocks};
pub(crate) use scalars::fills_no_vector;
pub use threads::Half;
pub use unrolling::Unrolled;
pub use values::Values;

use std::collections::BTreeMap;

pub use crate::arch::vectors;
use crate::arch::{Arch, Isa, PlannedIsa};
use crate::core::{CoreModel, CoreOp, PlannedProduct};
use crate::encoding::{Arithmetic, WeightFormat};
use crate::numerics::Multiples;
use crate::request::Accuracy;

/// The quantisations of a product's operands by the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnMultiples {
    /// The quantisation of x.
    pub x: Option<Multiples>,
    /// The quantisation of h, without a reset gate applied.
    pub h: Option<Multiples>,
}

/// The plan of one product.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductPlan {
    /// The product.
    pub product: Product,
    /// The panels: full panels (in two groups for two threads), then the remainder.
    pub panels: Vec<Panels>,
    /// The arithmetic that the user asked for. F32 if the product multiplies the model's integers
    /// with the model's scales.
    pub arithmetic: Arithmetic,
    /// The quantisations of x and of h, if the product multiplies the model's integers.
    pub multiples: OwnMultiples,
    /// Packed elements, with alignment. Biases, peepholes, scales and zero-point corrections count
    /// if stored elements are f32, which may hold packed integers.
    pub weights: usize,
    /// Separately packed f32: biases, peepholes, scales and zero-point corrections. 0 if stored
    /// elements are f32.
    pub biases: usize,
    /// Registers per value.
    pub values: Values,
    /// The unrolling of loops over rows.
    pub unrolled: Unrolled,
    /// True if loops over rows are unrolled on instruction sets with a
    /// [`Code::load_distance`](crate::arch::Code::load_distance) to reach this distance.
    pub loads_apart: bool,
    /// True if every other step reads the panels from the last to the first, to begin with weights
    /// still in the cache.
    pub alternate: bool,
    /// True if the x terms of all steps of a sequence are computed first, several steps together.
    pub input_first: bool,
    /// The user's choice of tiles. `None`: tiles if they save time.
    pub tiles: Option<bool>,
    /// The halves for two threads. `None`: one thread computes the product.
    pub halves: Option<[Half; 2]>,
    /// For each instruction set of [`Plan::isas`]: rows, or steps of a sequence, computed together.
    pub rows_at_once: Vec<usize>,
    /// For each instruction set of [`Plan::isas`]: the tiling of each of `panels`.
    pub tilings: Vec<Vec<Tiling>>,
    /// The reasons for the choices.
    pub reasons: Vec<Reason>,
}

impl ProductPlan {
    /// Size of the packed weights.
    pub fn bytes(&self) -> usize {
        self.product.layout.bytes(self.weights, self.biases)
    }

    /// True if the elements of x may be anywhere in memory: the multiply-adds broadcast one element
    /// after the other.
    pub(super) fn reads_elements(&self, isas: &[PlannedIsa]) -> bool {
        let is_broadcast = |isa: &Isa, panels: &Panels| {
            let choice = self.choice(Phase::Input, panels.columns, 1, isa);
            choice.kernel == Microkernel::Broadcast
        };
        let broadcasts = |planned: &PlannedIsa| {
            self.panels.iter().all(|panels| is_broadcast(planned.isa, panels))
        };
        self.multiples.x.is_none()
            && self.product.layout.format != WeightFormat::Bf16Pair
            && self.product.chains(Phase::Input) == 1
            && isas.iter().all(broadcasts)
    }

    /// The index of the blocks of weights that are not zero, for all panels and phases. Empty if
    /// packed weights have all blocks.
    pub fn index(&self) -> Vec<u32> {
        let present = self.panels.iter().flat_map(|panels| &panels.present);
        let number = |n: usize| u32::try_from(n).expect("plan: a matrix has fewer inputs");
        present.flat_map(|present| present.index().map(number).collect::<Vec<_>>()).collect()
    }

    /// True if panels have columns that no unit has.
    pub fn is_padded(&self) -> bool {
        self.panels.iter().any(Panels::is_padded)
    }

    /// True if tiles compute the sums of a phase for `rows` rows.
    pub fn has_tiles(&self, rows: usize, isa: &Isa) -> bool {
        self.product.has_tiles(rows, &self.panels, self.tiles, isa)
    }

    /// The quantisation of the operand of a phase, if the phase multiplies the model's integers.
    pub fn own(&self, phase: Phase) -> Option<Multiples> {
        match phase {
            Phase::Input => self.multiples.x,
            Phase::Hidden => self.multiples.h,
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
}

/// The plan of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The architecture.
    pub arch: &'static Arch,
    /// The instruction sets, baseline first, best last.
    pub isas: Vec<PlannedIsa>,
    /// One for each cell and each dense layer of [`CoreModel::all_nodes`].
    pub products: Vec<ProductPlan>,
    /// Depthwise convolutions with integer products, by value: the arithmetic, and the quantisation
    /// of x if the convolution multiplies the model's integers.
    pub windows: BTreeMap<usize, (Arithmetic, Option<Multiples>)>,
    /// Operations computed only under a condition.
    pub branches: Branches,
    /// Operations fused into the kernel of their operand.
    pub fusion: Fusion,
    /// The variables that are kept as delay lines.
    pub delay_lines: DelayLines,
    /// The length of a step block: the most steps of a stream that a call computes together. 1: one
    /// step after the other.
    pub step_block: usize,
    /// The accuracy of activations.
    pub accuracy: Accuracy,
    /// The magnitude below which inputs, states and outputs are flushed to zero. `None`: denormals
    /// are kept.
    pub flush_below: Option<f32>,
    /// Registers per value of a kernel.
    pub values: Values,
}

impl Plan {
    /// Lanes of values outside passes on an instruction set: the largest number of lanes of all
    /// instruction sets if values join registers and passes form loops.
    pub fn width(&self, isa: &Isa) -> usize {
        match self.values {
            values if values.has_loops() && values.joins(isa) => {
                self.isas.iter().map(|planned| planned.isa.lanes).max().unwrap_or(isa.lanes)
            }
            _ => isa.lanes,
        }
    }

    /// True if the state must remember in which direction the step before read the panels, for
    /// cells of one step. Sequences derive the direction from the step's number.
    pub fn alternates(&self, model: &CoreModel) -> bool {
        let ops = model.all_nodes().into_iter().map(|node| &node.op);
        let products = ops.filter(|op| op.is_product());
        let is_one_step = |op: &CoreOp| match op.planned() {
            Some(PlannedProduct::Cell(cell)) => cell.is_one_step(),
            Some(PlannedProduct::Dense(_)) | None => false,
        };
        products.zip(&self.products).any(|(op, product)| product.alternate && is_one_step(op))
    }

    /// The index of the best instruction set that the target's C compiler selects without flags; 0
    /// if there is none.
    pub fn usual(&self) -> usize {
        self.isas
            .iter()
            .rposition(|planned| planned.isa.c.flags.is_some_and(<[_]>::is_empty))
            .unwrap_or(0)
    }
}
