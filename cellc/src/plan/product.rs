//! Products: sums of a cell or a dense layer, their phases, and the places of packed weights in a
//! panel.

use super::reason::RowByRow;
use super::row_layout::RowLayout;
use crate::arch::Arch;
use crate::core::{CoreCell, Dense, PlannedProduct, WeightSources};
use crate::encoding::WeightFormat;
use crate::model::{CellKind, Coupled, ResetGate};

/// The factor of R in a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The state h.
    Hidden,
    /// r.h, known only after the reset gate.
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
    /// The part of B, added after all terms. `None`: no bias.
    pub bias: Option<usize>,
    /// The gate of W with weights of the sum. `None`: no x terms.
    pub w: Option<usize>,
    /// The gate of R with weights of the sum, and the factor of R. `None`: no h terms.
    pub r: Option<(usize, Operand)>,
    /// The part of P, multiplied by a cell state and added after the bias. `None`: no peephole.
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

/// The sums of a cell, in the order of the gates. In a row of packed weights, r of a [`Product`]
/// may precede z.
pub fn sums(cell: &CoreCell) -> Vec<Sum> {
    use Operand::{Hidden, ResetHidden};
    let gate = |name, gate| sum(name, gate, Some(gate), Some((gate, Hidden)));
    match (cell.kind, cell.kind.reset_gate()) {
        (CellKind::Lstm, _) => {
            let gates = [("f", Some(0)), ("i", Some(1)), ("c", None), ("o", Some(2))]
                .into_iter()
                .enumerate();
            gates
                .filter(|(_, (name, _))| match cell.coupled {
                    None => true,
                    Some(Coupled::Input) => *name != "i",
                    Some(Coupled::Forget) => *name != "f",
                })
                .map(|(at, (name, p))| Sum {
                    peephole: p.filter(|_| cell.weights.p.is_some()),
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
    /// The layout of the rows of weights.
    pub layout: RowLayout,
}

impl Product {
    /// The product of an operation, its weights in f32.
    pub(super) fn new(operation: PlannedProduct<'_>, arch: &Arch) -> Self {
        match operation {
            PlannedProduct::Cell(cell) => Self::of_cell(cell, arch),
            PlannedProduct::Dense(dense) => Self::of_dense(dense),
        }
    }

    fn of_cell(cell: &CoreCell, arch: &Arch) -> Self {
        let mut sums = sums(cell);
        // r comes first, as the late phase waits for r
        if cell.kind.reset_gate() == Some(ResetGate::BeforeMatMul)
            && arch.costs.limits.late_apart > 0
        {
            sums.swap(0, 1);
        }
        Self {
            sums,
            input_size: cell.input_size,
            units: cell.hidden_size,
            rows: cell.batch,
            steps: cell.steps(),
            together: match row_by_row(PlannedProduct::Cell(cell)) {
                None => cell.batch,
                Some(_) => cell.steps(),
            },
            input_chains: 1,
            layout: RowLayout::F32,
        }
    }

    fn of_dense(dense: &Dense) -> Self {
        let y = Sum { name: "y", bias: None, w: Some(0), r: None, peephole: None };
        Self {
            sums: vec![y],
            input_size: dense.inputs,
            units: dense.outputs,
            rows: dense.rows,
            steps: 1,
            together: dense.rows,
            input_chains: dense.chains,
            layout: RowLayout::F32,
        }
    }
}

/// Why the rows of a batch share no step of a cell. `None`: they do.
pub(super) fn row_by_row(operation: PlannedProduct<'_>) -> Option<RowByRow> {
    let PlannedProduct::Cell(cell) = operation else { return None };
    match cell {
        _ if cell.steps() > 1 => Some(RowByRow::Steps),
        _ if !cell.is_one_step() => Some(RowByRow::Lengths),
        CoreCell { weights: WeightSources { p: Some(_), .. }, .. } => Some(RowByRow::Peepholes),
        CoreCell { a: Some(_), .. } => Some(RowByRow::Attention),
        _ => None,
    }
}

impl Product {
    /// True if tiles can compute the sums of a phase for several rows: words must hold four bytes.
    /// Several steps share only x terms.
    pub fn fits_tiles(&self, phase: Phase) -> bool {
        let format = self.layout.format;
        format == WeightFormat::Int8Quad
            && format.in_word(self.phase_rows(phase)) == 4
            && self.active(phase) > 0
            && (self.steps == 1 || phase == Phase::Input)
    }

    /// True if tiles can compute the sums of at least one phase.
    pub(super) fn fits_tiles_somewhere(&self) -> bool {
        Phase::ALL.into_iter().any(|phase| self.fits_tiles(phase))
    }

    /// The number of weight rows of a phase.
    pub fn phase_rows(&self, phase: Phase) -> usize {
        match phase {
            Phase::Input => self.input_size,
            Phase::Hidden | Phase::ResetHidden => self.units,
        }
    }

    /// Words or elements per column of a packed row of a phase's matrix.
    pub fn packed_rows(&self, phase: Phase) -> usize {
        self.layout.words(self.phase_rows(phase))
    }

    /// The offset of the first column of the `position`-th sum of a phase in the rows of a panel,
    /// and the distance, in elements, between rows or between groups of interleaved rows.
    pub fn row_of(&self, phase: Phase, columns: usize, position: usize) -> (usize, usize) {
        let together = self.layout.words_together();
        match self.layout.separates_sums(columns) {
            true => (position * columns * self.packed_rows(phase), columns * together),
            false => (position * columns * together, self.active(phase) * columns * together),
        }
    }

    /// The number of sums with weights in a phase.
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
            // sums of integers are exact in any order
            _ if self.layout.format.is_of_integers() => 1,
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
    pub(super) fn weight_bytes(&self, columns: usize) -> usize {
        let weights = |phase| self.packed_rows(phase) * self.active(phase) * columns;
        Phase::ALL.into_iter().map(weights).sum::<usize>() * self.layout.element_bytes()
    }

    /// The largest number of chains in any phase, and the largest number of sums in any phase.
    pub(super) fn widest(&self) -> (usize, usize) {
        let most =
            |count: &dyn Fn(Phase) -> usize| Phase::ALL.into_iter().map(count).max().unwrap_or(1);
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

    /// Rows of biases and peepholes of a panel, early or late; with `scales`, also of scales and
    /// zero-point corrections.
    pub fn bias_rows(&self, late: bool, scales: bool) -> usize {
        let biases = self.sums.iter().filter(|s| s.is_late() == late && s.bias.is_some()).count();
        let peepholes = self.sums.iter().filter(|s| !late && s.peephole.is_some()).count();
        let phases = match late {
            true => &[Phase::ResetHidden][..],
            false => &[Phase::Input, Phase::Hidden],
        };
        let of_phase =
            |&phase: &Phase| self.active(phase) * (1 + usize::from(self.has_corrections(phase)));
        let scaled = if scales { phases.iter().map(of_phase).sum() } else { 0 };
        biases + peepholes + scaled
    }

    /// True if the sums of a phase need a zero-point correction for unsigned byte elements; false
    /// for 16-bit elements.
    pub fn has_corrections(&self, phase: Phase) -> bool {
        self.layout.has_corrections(self.phase_rows(phase))
    }

    /// The row of the zero-point corrections: after all scales of a panel.
    pub fn correction_row(&self, sum: usize, phase: Phase) -> usize {
        let late = phase == Phase::ResetHidden;
        let corrections = |phase| if self.has_corrections(phase) { self.active(phase) } else { 0 };
        let behind = match phase {
            Phase::Input => corrections(Phase::Input) + corrections(Phase::Hidden),
            Phase::Hidden | Phase::ResetHidden => corrections(phase),
        };
        self.bias_rows(late, true) - behind + self.position(phase, sum)
    }

    /// True for the product of a cell: a sum has h terms.
    pub(super) fn recurs(&self) -> bool {
        self.sums.iter().any(|s| s.r.is_some())
    }

    /// The multiply-adds of one row in one step.
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
