//! Blocks of zeros in constant weights: code without loops leaves out their products.

use super::passes::most_per_pass;
use super::product::{Phase, Product};
use super::row_layout::Interleave;
use crate::arch::{Arch, Dot, Isa, PlannedIsa};
use crate::core::{CoreModel, CoreOp, WeightSource};
use crate::encoding::WeightFormat;

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

/// The blocks of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Rows of a block, the lanes of a vector.
    pub(super) lanes: usize,
    /// Inputs of a block.
    pub(super) inputs: usize,
    /// Blocks with a weight other than zero.
    pub(super) present: usize,
    /// All blocks.
    pub(super) all: usize,
}

/// A matrix of constant weights, gate after gate.
struct SparseMatrix<'m> {
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
        Some(Self { model, constant, gates, units, inputs, steps })
    }

    /// Blocks of `lanes` units by `inputs` inputs: those with a weight other than zero, and all.
    fn blocks(&self, lanes: usize, inputs: usize) -> (usize, usize) {
        let tensor = &self.model.constants[self.constant];
        let (unit, input) = self.steps;
        let is_present = |first: usize| {
            let mut all = (0..lanes).flat_map(|u| (0..inputs).map(move |k| (u, k)));
            all.any(|(u, k)| tensor.get_f32(first + u * unit + k * input) != 0.0)
        };
        let (mut present, mut all) = (0, 0);
        for gate in &self.gates {
            for u in (0..self.units).step_by(lanes) {
                for k in (0..self.inputs).step_by(inputs) {
                    present += usize::from(is_present(gate + u * unit + k * input));
                    all += 1;
                }
            }
        }
        (present, all)
    }
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
    let skips = |isa: &&Isa| skips(isa, format);
    let best = isas.iter().rev().map(|own| own.isa).find(skips).filter(|_| is_plain)?;
    let matrices: Option<Vec<_>> =
        phases.iter().map(|phase| SparseMatrix::new(model, op, product, *phase)).collect();
    let matrices = matrices?;
    let of_lanes = |lanes: usize| {
        let all = matrices.iter().map(|matrix| matrix.blocks(lanes, inputs(format)));
        let (present, all) = all.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        Blocks { lanes, inputs: inputs(format), present, all }
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
