//! Blocks of zeros in constant weights: code without loops leaves out their products, and loops
//! over an index of the other blocks leave out their weights, too.

use super::passes::most_per_pass;
use super::present::{BLOCK_ROWS, SparseMatrix};
use super::product::{Phase, Product};
use super::row_layout::{Interleave, ZeroBlocks};
use crate::arch::{Arch, Dot, Isa, PlannedIsa};
use crate::core::{CoreModel, PlannedProduct};
use crate::encoding::WeightFormat;
use crate::kernel::BlockProduct;

/// Picoseconds of a dot product in code without loops, which the instruction decoders limit
/// (measured by hand on a Zen 5: 0.15 ns).
const OF_INSTRUCTION: usize = 150;

/// Picoseconds of a byte of weights from the L2 cache, without loops (180 bytes a nanosecond) and
/// in a loop over all rows (64 bytes in 0.33 ns).
const OF_BYTE: (usize, usize) = (6, 5);

/// Picoseconds of 64 bytes of weights from the L1 cache in a loop over all rows.
const OF_LINE: usize = 167;

/// The largest share of blocks with a weight other than zero, in percent. Above this share, code
/// without loops may save time, too, but not because of the zeros.
const MOST_PRESENT: usize = 85;

/// The most blocks in the code of one product: about 96 KiB of instructions.
const MOST_BLOCKS: usize = 9216;

/// The blocks of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// How products of zero blocks are left out.
    pub(super) form: ZeroBlocks,
    /// Rows of a block: in code without loops, the lanes of a vector.
    pub(super) lanes: usize,
    /// Inputs of a block.
    pub(super) inputs: usize,
    /// Blocks with a weight other than zero.
    pub(super) present: usize,
    /// All blocks.
    pub(super) total: usize,
    /// Estimated instructions of blocks with an index, and of a loop over all weights. 0 without an
    /// index.
    pub(super) instructions: [usize; 2],
}

/// True if panels of `columns` columns have whole blocks, or if the product has no indexed blocks.
pub(super) fn fits_panels(columns: usize, product: &Product, isas: &[PlannedIsa]) -> bool {
    let columns = columns.min(product.units);
    block_products(product.layout.format, isas).is_empty()
        || columns.is_multiple_of(BLOCK_ROWS)
        || columns < BLOCK_ROWS
}

/// Instructions of an indexed block, counted on a Cortex-M4F.
fn of_indexed(product: BlockProduct) -> usize {
    match product {
        BlockProduct::Floats => 11,
        BlockProduct::FloatQuads => 27,
        BlockProduct::Quads => 48,
        BlockProduct::WidenedQuads => 24,
        BlockProduct::Pairs => 18,
    }
}

/// Instructions of a block in a loop over all weights, counted on a Cortex-M4F.
fn of_dense(product: BlockProduct) -> usize {
    match product {
        BlockProduct::Floats => 5,
        BlockProduct::FloatQuads => 19,
        BlockProduct::Quads => 40,
        BlockProduct::WidenedQuads => 21,
        BlockProduct::Pairs => 16,
    }
}

/// Instructions per row of indexed blocks, without the instructions of the blocks.
const OF_BLOCK_ROW: usize = 24;

/// The indexed blocks of a product of one row and one step, if they save time.
fn indexed(
    product: &Product,
    blocks: &[BlockProduct],
    matrices: &[SparseMatrix<'_>],
) -> Option<Blocks> {
    let format = product.layout.format;
    let rows = |matrix: &SparseMatrix<'_>| matrix.gates.len() * product.units.div_ceil(BLOCK_ROWS);
    let rows: usize = matrices.iter().map(rows).sum();
    let found = |block: &BlockProduct| {
        let inputs = block.inputs();
        // f32 elements are read in place, without padding, so blocks must divide the inputs
        let is_of_blocks = |matrix: &SparseMatrix<'_>| {
            let is_whole = !block.is_float() || matrix.inputs.is_multiple_of(inputs);
            let in_word = format.in_word(matrix.inputs);
            is_whole
                && product.chains(matrix.phase) == 1
                && (format != WeightFormat::Int8Quad || in_word == 4)
                && matrix.inputs.div_ceil(inputs) <= usize::from(u16::MAX)
        };
        let counts = matrices.iter().map(|matrix| matrix.blocks(BLOCK_ROWS, inputs));
        let (present, all) = counts.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let instructions = present * of_indexed(*block) + rows * OF_BLOCK_ROW;
        let dense = all * of_dense(*block);
        let saves = instructions < dense && matrices.iter().all(is_of_blocks);
        let (form, instructions) = (ZeroBlocks::Indexed(*block), [instructions, dense]);
        let lanes = BLOCK_ROWS;
        saves.then_some(Blocks { form, lanes, inputs, present, total: all, instructions })
    };
    blocks.iter().filter_map(found).min_by_key(|blocks| blocks.instructions[0])
}

/// The blocks of zeros of a product of one row and one step, if the weights are constant and
/// leaving out the blocks saves time.
pub(super) fn blocks(
    model: &CoreModel,
    operation: PlannedProduct<'_>,
    product: &Product,
    (isas, arch): (&[PlannedIsa], &Arch),
) -> Option<Blocks> {
    let format = product.layout.format;
    let phases: Vec<_> = Phase::ALL.into_iter().filter(|p| product.active(*p) > 0).collect();
    let is_of_blocks = |phase: &Phase| match format {
        WeightFormat::Int8Quad => {
            let rows = product.phase_rows(*phase);
            rows.is_multiple_of(inputs(format)) && format.in_word(rows) == inputs(format)
        }
        _ => true,
    };
    let broadcasts = |own: &PlannedIsa| {
        !own.isa.has(Dot::WidenedPairs)
            && own.isa.by_lane().all(|by_lane| by_lane.in_word != inputs(format))
    };
    let is_plain = product.layout.interleave == Interleave::None
        && product.rows == 1
        && product.steps == 1
        && phases.iter().all(is_of_blocks)
        && (format == WeightFormat::F32 || isas.iter().all(broadcasts));
    let is_single = product.rows == 1 && product.steps == 1;
    let of_one_lane = block_products(format, isas);
    if is_single && !of_one_lane.is_empty() {
        return indexed(product, of_one_lane, &SparseMatrix::all(model, operation, product)?);
    }
    let skips = |isa: &&Isa| skips(isa, format);
    let best = isas.iter().rev().map(|planned| planned.isa).find(skips).filter(|_| is_plain)?;
    let matrices = SparseMatrix::all(model, operation, product)?;
    let of_lanes = |lanes: usize| {
        let counts = matrices.iter().map(|matrix| matrix.blocks(lanes, inputs(format)));
        let (present, counts) = counts.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let form = ZeroBlocks::Unrolled(lanes);
        Blocks { form, lanes, inputs: inputs(format), present, total: counts, instructions: [0; 2] }
    };
    // blocks may be narrower than a register: one instruction multiplies a block of any width
    let mut widths = vec![best.lanes, 8];
    widths.retain(|lanes| *lanes <= best.lanes && product.units.is_multiple_of(*lanes));
    let near = arch.costs.caches.first_level;
    let saves = |blocks: &Blocks| {
        blocks.present <= MOST_BLOCKS
            && blocks.present * 100 <= blocks.total * MOST_PRESENT
            && blocks.picoseconds(near) < blocks.dense_picoseconds(near)
    };
    widths.into_iter().map(of_lanes).filter(saves).min_by_key(|blocks| blocks.picoseconds(near))
}

/// Inputs of a block: one word of bytes, or one number.
fn inputs(format: WeightFormat) -> usize {
    if format == WeightFormat::Int8Quad { 4 } else { 1 }
}

/// The products of a block of weights that are not zero, for matrices in a format that every one of
/// `isas` multiplies on one lane. Empty for other instruction sets or formats.
pub(super) fn block_products(format: WeightFormat, isas: &[PlannedIsa]) -> &'static [BlockProduct] {
    let every_isa = |is_so: &dyn Fn(&PlannedIsa) -> bool| isas.iter().all(is_so);
    match format {
        _ if !every_isa(&|planned| planned.isa.lanes == 1) => &[],
        WeightFormat::Int8Quad if every_isa(&|planned| planned.isa.has(Dot::WidenedPairs)) => {
            &[BlockProduct::WidenedQuads]
        }
        WeightFormat::Int8Quad
            if !isas.iter().any(|planned| planned.isa.has(Dot::WidenedPairs)) =>
        {
            &[BlockProduct::Quads]
        }
        WeightFormat::Int16 => &[BlockProduct::Pairs],
        WeightFormat::F32 if every_isa(&|planned| planned.fuses) => {
            &[BlockProduct::FloatQuads, BlockProduct::Floats]
        }
        _ => &[],
    }
}

/// True if an instruction set multiplies a block of weights in one instruction, in code without
/// loops.
pub(super) fn skips(isa: &Isa, format: WeightFormat) -> bool {
    match format {
        WeightFormat::Int8Quad => isa.has(Dot::UnsignedQuads),
        WeightFormat::F32 => isa.fma && isa.lanes >= 4 && most_per_pass(isa).is_none(),
        _ => false,
    }
}

impl Blocks {
    /// Bytes of the vectors of weights of some blocks.
    fn bytes(blocks: usize, lanes: usize) -> usize {
        blocks * lanes * 4
    }

    /// Estimated time of the products of the present blocks, with an L1 cache of `near` bytes.
    fn picoseconds(&self, near: usize) -> usize {
        let bytes = Self::bytes(self.present, self.lanes);
        let arrive = if bytes > near { bytes * OF_BYTE.0 } else { 0 };
        arrive.max(self.present * OF_INSTRUCTION)
    }

    /// Estimated time of a loop over all blocks.
    fn dense_picoseconds(&self, near: usize) -> usize {
        let bytes = Self::bytes(self.total, self.lanes);
        if bytes > near { bytes * OF_BYTE.1 } else { bytes * OF_LINE / 64 }
    }
}
