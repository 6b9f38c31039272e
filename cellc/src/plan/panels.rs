//! Panels: neighbouring columns of a product whose weights stand together.

use super::present::{PresentBlocks, SparseMatrix};
use super::product::{Phase, Product};

use crate::arch::{Isa, PlannedIsa};
use crate::core::CoreCell;
use crate::encoding::WeightFormat;
use crate::kernel::Element;
use crate::model::CellKind;

/// A block for each panel of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The start of the first panel's block.
    pub offset: usize,
    /// The distance, in elements, from one panel's block to the next panel's.
    pub stride: usize,
}

/// Panels of equal size: `count` times `units` neighbouring units (elements of h, or of y of a
/// dense layer), and the places of their weights.
///
/// The block of a panel in `early` holds biases, peepholes, the rows of the Input phase and the
/// rows of the Hidden phase. Sums with a ResetHidden phase have their biases and the rows of that
/// phase in a second block in `late`, after all early blocks.
///
/// A row holds the columns of each sum of the phase, sum after sum. With [interleaved
/// words](super::Interleave::Words), a row holds several words of each column, and [all rows of a
/// sum](Product::row_of) precede the rows of the next sum if the interleave factor divides the
/// columns. If [stored elements](super::RowLayout::element) are not f32, biases, peepholes, scales
/// and zero-point corrections are in a separate buffer. With blocks in `present` there are no rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panels {
    /// The number of panels.
    pub count: usize,
    /// Columns of each sum per panel.
    pub columns: usize,
    /// Units per panel: as many as columns, or fewer in a padded panel.
    pub units: usize,
    /// The first unit of the first panel.
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
    /// The early biases, peepholes, scales and zero-point corrections: at the start of `early`, or
    /// in a separate buffer.
    pub early_biases: Blocks,
    /// The late biases, scales and zero-point corrections: at the start of `late`, or in a separate
    /// buffer.
    pub late_biases: Blocks,
    /// The blocks of weights that are not zero, for each phase with weights. Empty if packed
    /// weights have no index of blocks.
    pub present: Vec<PresentBlocks>,
}

impl Panels {
    /// True if the last columns are padding: they have weights and biases of 0.
    pub fn is_padded(&self) -> bool {
        self.units < self.columns
    }

    /// The blocks for the first two phases, or for the last phase.
    pub fn blocks(&self, late: bool) -> Blocks {
        if late { self.late } else { self.early }
    }

    /// The biases, peepholes, scales and zero-point corrections of the first two phases, or of the
    /// last phase.
    pub fn biases(&self, late: bool) -> Blocks {
        if late { self.late_biases } else { self.early_biases }
    }
}

/// The panels of a product, and the sizes of their buffers.
pub(super) struct PanelLayout {
    pub(super) panels: Vec<Panels>,
    /// Packed elements, with alignment. Biases, peepholes, scales and zero-point corrections count
    /// if stored elements are f32, which may hold packed integers.
    pub(super) weights: usize,
    /// Separately packed f32: biases, peepholes, scales and zero-point corrections. 0 if stored
    /// elements are f32.
    pub(super) biases: usize,
}

/// The width of panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Columns of a full panel. The last panel may be narrower.
    Columns(usize),
    /// One panel of all units, padded to this number of columns.
    Padded(usize),
}

/// Columns of a padded panel.
const PADDED: usize = 8;

/// The columns to which a small LSTM of one step is padded, so that whole vectors of every
/// instruction set cover its units. `None` for other cells, coupled gates and weights that are not
/// f32; if more than a quarter of the columns would be padding; and if the baseline has one lane,
/// unless only as the fallback of an instruction set that flushes denormals.
pub(super) fn padded(cell: &CoreCell, product: &Product, isas: &[PlannedIsa]) -> Option<usize> {
    let is_one_step = cell.sequence.is_none() || cell.is_one_step();
    let is_plain = cell.kind == CellKind::Lstm && is_one_step && product.sums.len() == 4;
    let is_narrow = product.units < PADDED && 4 * (PADDED - product.units) <= PADDED;
    let fits = |isa: &Isa| PADDED.is_multiple_of(isa.lanes) || isa.lanes.is_multiple_of(PADDED);
    // on targets with optional vectors, code of one lane would compute the padding, too, with 1.38
    // times the instructions (riscv64) or 1.04 times (armv7)
    let scalar: Vec<_> = isas.iter().filter(|planned| planned.isa.lanes == 1).collect();
    let flushes = isas.iter().any(|planned| planned.isa.c.flushes.is_some());
    let is_fallback = scalar.len() == 1 && flushes;
    let has_vectors = isas[0].isa.lanes > 1 || scalar.len() < isas.len() && is_fallback;
    let are_floats = product.layout.format == WeightFormat::F32;
    let pays = is_plain && is_narrow && has_vectors && are_floats;
    (pays && isas.iter().all(|planned| fits(planned.isa))).then_some(PADDED)
}

/// The panels of a product, and the sizes of their buffers. `cut`: the first half of the panels,
/// rounded down, is a group of its own, for one of two threads.
pub(super) fn layout(
    product: &Product,
    width: Width,
    cut: bool,
    alignment: usize,
    indexed: &[SparseMatrix<'_>],
) -> PanelLayout {
    let format = product.layout.format;
    let element = format.encoding(0).element();
    let apart = element != Element::F32;
    let whole = |n: usize| n.next_multiple_of((alignment / element.size()).max(1));
    let rows = |phase, columns| match indexed {
        [] => whole(product.packed_rows(phase) * product.active(phase) * columns),
        _ => 0,
    };
    let biases = |late, columns: usize| {
        (product.bias_rows(late, format.has_scales()) * columns)
            .next_multiple_of((alignment / 4).max(1))
    };
    // the blocks of the rows also hold the biases if stored elements are f32
    let among = |biases: usize| if apart { 0 } else { biases };
    let mut panels = Vec::new();
    let (mut at, mut biases_at) = (0, 0);
    let blocks = |count: usize, stride: usize, at: &mut usize| {
        let offset = *at;
        *at += count * stride;
        Blocks { offset, stride }
    };
    let groups = match width {
        Width::Padded(columns) => vec![(1, columns, product.units, 0)],
        Width::Columns(width) => {
            let (full, rest) = (product.units / width, product.units % width);
            let begin = if cut { (full + usize::from(rest > 0)) / 2 } else { 0 };
            let groups =
                [(begin, width, 0), (full - begin, width, begin * width), (1, rest, full * width)];
            groups.map(|(count, columns, first)| (count, columns, columns, first)).to_vec()
        }
    };
    for (count, columns, units, first) in groups.into_iter().filter(|group| group.0 * group.1 > 0) {
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
            units,
            first,
            early,
            input,
            hidden,
            late,
            late_rows,
            early_biases,
            late_biases,
            present: Vec::new(),
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
    let (block, mut index) = (product.layout.indexed(), 0);
    for panel in &mut panels {
        for (matrix, block) in indexed.iter().zip(block.into_iter().cycle()) {
            let present =
                matrix.present((panel.first, panel.count, panel.columns), block, (at, index));
            at = whole(at + present.words());
            index += present.index().count();
            panel.present.push(present);
        }
    }
    PanelLayout { panels, weights: at, biases: biases_at }
}
