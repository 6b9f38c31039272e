//! Blocks of zeros in constant weights: code without loops leaves out their products, and loops
//! over an index of the other blocks leave out their weights, too.

use super::choose::block_products;
use super::passes::most_per_pass;
use super::product::{Phase, Product};
use super::row_layout::{Interleave, ZeroBlocks};
use crate::arch::{Arch, Dot, Isa, PlannedIsa};
use crate::core::{CoreModel, CoreOp, WeightSource};
use crate::encoding::WeightFormat;
use crate::kernel::{BlockPlaces, BlockProduct};

/// Picoseconds of a dot product in code without loops: the instruction decoders bind (measured by
/// hand on a Zen 5: 0.15 ns).
const OF_INSTRUCTION: usize = 150;

/// Picoseconds of a byte of weights from the L2 cache, without loops (180 bytes a nanosecond) and
/// in a loop over all rows (64 bytes in 0.33 ns).
const OF_BYTE: (usize, usize) = (6, 5);

/// Picoseconds of 64 bytes of weights from the L1 cache in a loop over all rows.
const OF_LINE: usize = 167;

/// The largest share of blocks with a weight other than zero, in percent. Above, code without loops
/// may save time too, but not by its zeros.
const MOST_PRESENT: usize = 85;

/// The most blocks in the code of one product: about 96 KiB of instructions.
const MOST_BLOCKS: usize = 9216;

/// Rows of an indexed block: the sums that one lane keeps in registers.
pub const BLOCK_ROWS: usize = 4;

/// The blocks of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// How their products are left out.
    pub(super) form: ZeroBlocks,
    /// Rows of a block: in code without loops, the lanes of a vector.
    pub(super) lanes: usize,
    /// Inputs of a block.
    pub(super) inputs: usize,
    /// Blocks with a weight other than zero.
    pub(super) present: usize,
    /// All blocks.
    pub(super) all: usize,
}

/// The blocks of a phase that are not zero, of panels of equal size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentBlocks {
    /// The phase.
    pub phase: Phase,
    /// The product of a block.
    pub product: BlockProduct,
    /// The first word of the first block in the packed weights. The blocks follow each other.
    pub first: usize,
    /// The first element of the counts in the [index](super::ProductPlan::index) of the product.
    /// The inputs follow.
    pub index: usize,
    /// Rows of a block.
    pub rows: usize,
    /// The inputs of the blocks of each row of blocks, in numbers of blocks: panel after panel, in
    /// a panel sum after sum.
    pub inputs: Vec<Vec<usize>>,
}

impl PresentBlocks {
    /// The number of blocks.
    pub fn count(&self) -> usize {
        self.inputs.iter().map(Vec::len).sum()
    }

    /// The number of blocks of each row of blocks, then the inputs of all blocks.
    pub(super) fn index(&self) -> impl Iterator<Item = usize> {
        self.inputs.iter().map(Vec::len).chain(self.inputs.iter().flatten().copied())
    }

    /// The places of the blocks of the `nth` of `sums` sums, in panels of `columns` columns.
    pub fn places(&self, nth: usize, sums: usize, columns: usize) -> BlockPlaces {
        let (mut before, mut block_rows) = (0, Vec::new());
        let in_panel = columns / self.rows;
        for (at, inputs) in self.inputs.iter().enumerate() {
            if at / in_panel % sums == nth {
                block_rows.push((before, inputs.clone()));
            }
            before += inputs.len();
        }
        BlockPlaces { rows: self.rows, words: self.product.weight_words(), block_rows }
    }

    /// Words of weights of all blocks.
    pub fn words(&self) -> usize {
        self.count() * self.rows * self.product.weight_words()
    }
}

/// A matrix of constant weights, gate after gate.
pub(super) struct SparseMatrix<'m> {
    phase: Phase,
    model: &'m CoreModel,
    constant: usize,
    /// The first element of each gate that takes part.
    gates: Vec<usize>,
    units: usize,
    inputs: usize,
    /// Elements between units, and between inputs.
    steps: (usize, usize),
}

impl<'m> SparseMatrix<'m> {
    /// The matrix of a phase. `None` for weights that are not constant, and for phases without.
    fn new(model: &'m CoreModel, op: &CoreOp, product: &Product, phase: Phase) -> Option<Self> {
        let (units, inputs) = (product.units, product.phase_rows(phase));
        let gates = product.sums.iter().filter_map(|sum| sum.gate(phase));
        let (source, gates, steps) = match op {
            CoreOp::Cell(cell) => {
                let of = &cell.weights;
                let source = if phase == Phase::Input { of.w } else { of.r };
                let all = of.layout.gates.len();
                let first = |gate: usize| (of.set * all + of.layout.gates[gate]) * units * inputs;
                (source, gates.map(first).collect(), (inputs, 1))
            }
            CoreOp::Dense(dense) if dense.transposed => (dense.w, vec![0], (inputs, 1)),
            CoreOp::Dense(dense) => (dense.w, vec![0], (1, dense.outputs)),
            _ => return None,
        };
        let WeightSource::Constant(constant) = source else { return None };
        Some(Self { phase, model, constant, gates, units, inputs, steps })
    }

    /// The matrices of all phases of a product with weights. `None`: a matrix is not constant.
    pub(super) fn all(model: &'m CoreModel, op: &CoreOp, product: &Product) -> Option<Vec<Self>> {
        let phases = Phase::ALL.into_iter().filter(|phase| product.active(*phase) > 0);
        phases.map(|phase| Self::new(model, op, product, phase)).collect()
    }

    /// True if a block of `lanes` units from `unit` by `inputs` inputs from `input` has a weight
    /// other than zero. Blocks may reach beyond the last unit and the last input.
    fn is_present(&self, gate: usize, [unit, input]: [usize; 2], [lanes, inputs]: [usize; 2]) -> bool {
        let tensor = &self.model.constants[self.constant];
        let units = unit..(unit + lanes).min(self.units);
        let inputs = input..(input + inputs).min(self.inputs);
        let mut all = units.flat_map(|u| inputs.clone().map(move |k| (u, k)));
        all.any(|(u, k)| tensor.get_f32(gate + u * self.steps.0 + k * self.steps.1) != 0.0)
    }

    /// Blocks of `lanes` units by `inputs` inputs: those with a weight other than zero, and all.
    fn blocks(&self, lanes: usize, inputs: usize) -> (usize, usize) {
        let (mut present, mut all) = (0, 0);
        for gate in &self.gates {
            for u in (0..self.units).step_by(lanes) {
                for k in (0..self.inputs).step_by(inputs) {
                    present += usize::from(self.is_present(*gate, [u, k], [lanes, inputs]));
                    all += 1;
                }
            }
        }
        (present, all)
    }

    /// The blocks that are not zero of `count` panels of `columns` units from unit `first`, for
    /// packed weights from the word `at`, and an index from the element `index`.
    pub(super) fn present(
        &self,
        (first, count, columns): (usize, usize, usize),
        product: BlockProduct,
        (at, index): (usize, usize),
    ) -> PresentBlocks {
        let rows = columns.min(BLOCK_ROWS);
        let of_row = |gate: usize, unit: usize| {
            let blocks = 0..self.inputs.div_ceil(product.inputs());
            let is_present = |block: &usize| {
                let size = [rows, product.inputs()];
                self.is_present(gate, [unit, block * product.inputs()], size)
            };
            blocks.filter(is_present).collect::<Vec<_>>()
        };
        let mut inputs = Vec::new();
        for panel in 0..count {
            for gate in &self.gates {
                let units = (0..columns).step_by(rows).map(|u| first + panel * columns + u);
                inputs.extend(units.map(|unit| of_row(*gate, unit)));
            }
        }
        PresentBlocks { phase: self.phase, product, first: at, index, rows, inputs }
    }
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
        BlockProduct::FloatQuads => 23,
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
        BlockProduct::Pairs => 19,
    }
}

/// Instructions of a row of indexed blocks besides those of its blocks.
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
        // floats are read where they are
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
        let saves = instructions < all * of_dense(*block) && matrices.iter().all(is_of_blocks);
        let form = ZeroBlocks::Indexed(*block);
        let blocks = Blocks { form, lanes: BLOCK_ROWS, inputs, present, all };
        saves.then_some((instructions, blocks))
    };
    let best = blocks.iter().filter_map(found).min_by_key(|(instructions, _)| *instructions);
    best.map(|(_, blocks)| blocks)
}

/// The blocks of zeros of a product of one row and one step, if leaving them out saves time.
pub(super) fn blocks(
    model: &CoreModel,
    op: &CoreOp,
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
        !own.isa.has(Dot::WidenedPairs) && own.isa.by_lane().all(|of| of.in_word != inputs(format))
    };
    let is_plain = product.layout.interleave == Interleave::None
        && product.rows == 1
        && product.steps == 1
        && phases.iter().all(is_of_blocks)
        && (format == WeightFormat::F32 || isas.iter().all(broadcasts));
    let is_single = product.rows == 1 && product.steps == 1;
    let of_one_lane = block_products(format, isas);
    if is_single && !of_one_lane.is_empty() {
        return indexed(product, of_one_lane, &SparseMatrix::all(model, op, product)?);
    }
    let skips = |isa: &&Isa| skips(isa, format);
    let best = isas.iter().rev().map(|own| own.isa).find(skips).filter(|_| is_plain)?;
    let matrices = SparseMatrix::all(model, op, product)?;
    let of_lanes = |lanes: usize| {
        let all = matrices.iter().map(|matrix| matrix.blocks(lanes, inputs(format)));
        let (present, all) = all.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let form = ZeroBlocks::Unrolled(lanes);
        Blocks { form, lanes, inputs: inputs(format), present, all }
    };
    // one instruction multiplies a block of any number of lanes
    let mut widths = vec![best.lanes, 8];
    widths.retain(|lanes| *lanes <= best.lanes && product.units.is_multiple_of(*lanes));
    let near = arch.costs.caches.first_level;
    let saves = |blocks: &Blocks| {
        blocks.present <= MOST_BLOCKS
            && blocks.present * 100 <= blocks.all * MOST_PRESENT
            && blocks.picoseconds(near) < blocks.dense_picoseconds(near)
    };
    widths.into_iter().map(of_lanes).filter(saves).min_by_key(|blocks| blocks.picoseconds(near))
}

/// Inputs of a block: one word of bytes, or one number.
fn inputs(format: WeightFormat) -> usize {
    if format == WeightFormat::Int8Quad { 4 } else { 1 }
}

/// True if an instruction set multiplies a block of weights in one instruction, with code without
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
        let bytes = Self::bytes(self.all, self.lanes);
        if bytes > near { bytes * OF_BYTE.1 } else { bytes * OF_LINE / 64 }
    }
}
