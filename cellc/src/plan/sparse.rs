//! Blocks of zeros in constant weights: code without loops leaves out their products.

use super::product::{Phase, Product};
use super::row_layout::{Interleave, WordOrder};
use crate::arch::{Arch, Dot, Isa, PlannedIsa};
use crate::core::{CoreModel, CoreOp, WeightSource};
use crate::encoding::WeightFormat;

/// Inputs of a block: one word of bytes.
const INPUTS: usize = 4;

/// Picoseconds of a dot product in code without loops: the instruction decoders bind (measured by
/// hand on a Zen 5: 0.15 ns).
const OF_INSTRUCTION: usize = 150;

/// Picoseconds of a byte of weights from the L2 cache, without loops (180 bytes a nanosecond) and
/// in a loop over all rows (64 bytes in 0.33 ns).
const OF_BYTE: (usize, usize) = (6, 5);

/// Picoseconds of 64 bytes of weights from the L1 cache in a loop over all rows.
const OF_LINE: usize = 167;

/// The most blocks in the code of one product: about 64 KiB of instructions.
const MOST_BLOCKS: usize = 6144;

/// The blocks of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Rows of a block, the lanes of a vector.
    pub(super) lanes: usize,
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

    /// Blocks of `lanes` units by four inputs: those with a weight other than zero, and all.
    fn blocks(&self, lanes: usize) -> (usize, usize) {
        let tensor = &self.model.constants[self.constant];
        let (unit, input) = self.steps;
        let is_present = |first: usize| {
            let mut all = (0..lanes).flat_map(|u| (0..INPUTS).map(move |k| (u, k)));
            all.any(|(u, k)| tensor.get_f32(first + u * unit + k * input) != 0.0)
        };
        let (mut present, mut all) = (0, 0);
        for gate in &self.gates {
            for u in (0..self.units).step_by(lanes) {
                for k in (0..self.inputs).step_by(INPUTS) {
                    present += usize::from(is_present(gate + u * unit + k * input));
                    all += 1;
                }
            }
        }
        (present, all)
    }
}

/// The blocks of zeros of a product, if leaving them out saves time: int8 on instruction sets with
/// a dot product of four bytes, one row and one step, sizes of whole blocks.
pub(super) fn blocks(
    model: &CoreModel,
    op: &CoreOp,
    product: &Product,
    (isas, arch): (&[PlannedIsa], &Arch),
) -> Option<Blocks> {
    let layout = product.layout;
    let phases: Vec<_> = Phase::ALL.into_iter().filter(|p| product.active(*p) > 0).collect();
    let in_quads = |phase: &Phase| {
        let rows = product.phase_rows(*phase);
        rows.is_multiple_of(INPUTS) && WeightFormat::Int8Quad.in_word(rows) == INPUTS
    };
    let broadcasts = |own: &PlannedIsa| {
        !own.isa.has(Dot::WidenedPairs) && own.isa.by_lane().all(|of| of.in_word != INPUTS)
    };
    let is_plain = layout.format == WeightFormat::Int8Quad
        && layout.interleave == Interleave::None
        && product.rows == 1
        && product.steps == 1
        && phases.iter().all(in_quads)
        && isas.iter().all(broadcasts);
    let best = isas.iter().rev().map(|own| own.isa).find(|isa| skips(isa)).filter(|_| is_plain)?;
    let matrices: Option<Vec<_>> =
        phases.iter().map(|phase| SparseMatrix::new(model, op, product, *phase)).collect();
    let matrices = matrices?;
    let of_lanes = |lanes: usize| {
        let all = matrices.iter().map(|matrix| matrix.blocks(lanes));
        let (present, all) = all.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        Blocks { lanes, present, all }
    };
    // one instruction multiplies a block of any number of lanes
    let widths = [best.lanes, 8].into_iter().filter(|lanes| product.units.is_multiple_of(*lanes));
    let near = arch.costs.caches.first_level;
    let saves = |blocks: &Blocks| {
        blocks.present <= MOST_BLOCKS && blocks.picoseconds(near) < blocks.dense_picoseconds(near)
    };
    widths.map(of_lanes).filter(saves).min_by_key(|blocks| blocks.picoseconds(near))
}

/// True if an instruction set multiplies blocks in code without loops.
pub(super) fn skips(isa: &Isa) -> bool {
    isa.has(Dot::UnsignedQuads)
}

impl Blocks {
    /// Bytes of the weights of some blocks.
    fn bytes(&self, blocks: usize) -> usize {
        blocks * self.lanes * INPUTS
    }

    /// Estimated time of the dot products of the present blocks, with an L1 cache of `near` bytes.
    fn picoseconds(&self, near: usize) -> usize {
        let bytes = self.bytes(self.present);
        let arrive = if bytes > near { bytes * OF_BYTE.0 } else { 0 };
        arrive.max(self.present * OF_INSTRUCTION)
    }

    /// Estimated time of a loop over all blocks.
    fn dense_picoseconds(&self, near: usize) -> usize {
        let bytes = self.bytes(self.all);
        if bytes > near { bytes * OF_BYTE.1 } else { bytes * OF_LINE / 64 }
    }

    /// The order of bytes in words: neighbouring inputs share a word.
    pub(super) fn order(&self) -> WordOrder {
        WordOrder::Neighbours { lanes: self.lanes }
    }
}
