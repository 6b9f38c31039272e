//! The blocks of constant weights that are not zero.

use super::product::{Phase, Product};
use crate::core::{CoreModel, PlannedProduct, WeightSource};
use crate::kernel::{BlockPlaces, BlockProduct};

/// Units of an indexed block: an instruction set of one lane keeps this number of sums in
/// registers.
pub const BLOCK_ROWS: usize = 4;

/// The blocks of a phase that are not zero, of panels of equal size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentBlocks {
    /// The phase.
    pub phase: Phase,
    /// The product of a block.
    pub product: BlockProduct,
    /// The first word of the first block in the packed weights. The blocks follow each other.
    pub first: usize,
    /// The position, in the [index](super::ProductPlan::index) of the product, of the phase's first
    /// count of blocks. Each row of blocks has a count. The inputs of the blocks follow the counts.
    pub index: usize,
    /// Units of a block.
    pub rows: usize,
    /// By row of blocks: the position of each block along the inputs, counted in blocks. Rows of
    /// blocks are in the order of panels, within a panel in the order of sums, within a sum in the
    /// order of units.
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
    pub(super) phase: Phase,
    model: &'m CoreModel,
    constant: usize,
    /// By sum with weights in the phase: the index of the first weight in the constant.
    pub(super) gates: Vec<usize>,
    units: usize,
    pub(super) inputs: usize,
    /// The distances, in elements, between units and between inputs.
    steps: [usize; 2],
}

impl<'m> SparseMatrix<'m> {
    /// The matrix of a phase. `None` if the weights are not constant.
    fn new(
        model: &'m CoreModel,
        operation: PlannedProduct<'_>,
        product: &Product,
        phase: Phase,
    ) -> Option<Self> {
        let (units, inputs) = (product.units, product.phase_rows(phase));
        let gates = product.sums.iter().filter_map(|sum| sum.gate(phase));
        let (source, gates, steps) = match operation {
            PlannedProduct::Cell(cell) => {
                let weights = &cell.weights;
                let source = if phase == Phase::Input { weights.w } else { weights.r };
                let gate_count = weights.layout.gates.len();
                let first = |gate: usize| {
                    (weights.set * gate_count + weights.layout.gates[gate]) * units * inputs
                };
                (source, gates.map(first).collect(), [inputs, 1])
            }
            PlannedProduct::Dense(dense) => (dense.w, vec![0], dense.strides()),
        };
        let WeightSource::Constant(constant) = source else { return None };
        Some(Self { phase, model, constant, gates, units, inputs, steps })
    }

    /// The matrices of all phases that have weights. `None` if one of them is not constant.
    pub(super) fn all(
        model: &'m CoreModel,
        operation: PlannedProduct<'_>,
        product: &Product,
    ) -> Option<Vec<Self>> {
        let phases = Phase::ALL.into_iter().filter(|phase| product.active(*phase) > 0);
        phases.map(|phase| Self::new(model, operation, product, phase)).collect()
    }

    /// True if a block of `lanes` units from `unit` by `inputs` inputs from `input` has a weight
    /// other than zero. Blocks may reach beyond the last unit and the last input.
    fn is_present(
        &self,
        gate: usize,
        [unit, input]: [usize; 2],
        [lanes, inputs]: [usize; 2],
    ) -> bool {
        let tensor = &self.model.constants[self.constant];
        let units = unit..(unit + lanes).min(self.units);
        let inputs = input..(input + inputs).min(self.inputs);
        let mut positions = units.flat_map(|u| inputs.clone().map(move |k| (u, k)));
        positions.any(|(u, k)| tensor.get_f32(gate + u * self.steps[0] + k * self.steps[1]) != 0.0)
    }

    /// The number of blocks of `lanes` units by `inputs` inputs with a weight other than zero, and
    /// the number of all blocks.
    pub(super) fn blocks(&self, lanes: usize, inputs: usize) -> (usize, usize) {
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

    /// The blocks that are not zero in `count` panels of `columns` units from unit `first`. Their
    /// packed weights begin at the word `at`, their counts and inputs at the element `index` of the
    /// index.
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
        // the statement needs at least one block: without any, one block of zeros stays
        if inputs.iter().all(Vec::is_empty) {
            inputs[0].push(0);
        }
        PresentBlocks { phase: self.phase, product, first: at, index, rows, inputs }
    }
}
