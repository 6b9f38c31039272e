//! Choices for a product: layout of rows, blocks of zeros, panels, threads, unrolling, and rows at
//! once.

use super::choose::most_tile_rows;
use super::panels::{PanelLayout, Panels, Width, layout, padded};
use super::passes::{tiling, vectors_of_blocks};
use super::present::{BLOCK_ROWS, SparseMatrix};
use super::product::{Product, row_by_row};
use super::reason::{
    Alternation, InputFirst, PanelWidth, Reason, RowsTogether, Sharing, Threading, Unrolling,
};
use super::row_layout::{RowLayout, ZeroBlocks};
use super::sparse::{self, Blocks};
use super::threads::{halves, threads};
use super::unrolling::{Unrolled, of_blocks, unrolling};
use super::values::Values;
use super::{OwnMultiples, ProductPlan, cost};
use crate::arch::{Arch, Isa, PlannedIsa};
use crate::core::{CoreModel, PlannedProduct};
use crate::encoding::WeightFormat;
use crate::model::{CellKind, ResetGate};
use crate::numerics::{ProductPrecision, Vector};
use crate::request::{Language, Options, Unroll, WeightsAs};

/// The most units in the only panel of a cell whose reset gate precedes the matrix product and
/// whose weights are not f32. Larger cells of integers read several panels in alternating order;
/// larger cells in 16-bit floats were not measured.
const MOST_NARROW_AT_ONCE: usize = 96;

/// The choices for the products of a model.
pub(super) struct ProductPlanner<'a> {
    model: &'a CoreModel,
    options: &'a Options,
    arch: &'static Arch,
    isas: &'a [PlannedIsa],
    /// The instruction sets for the choice of blocks. In Rust without fused multiply-adds, which
    /// blocks of floats need.
    of_blocks: Vec<PlannedIsa>,
    values: Values,
}

/// The panels of a product, with the bytes of their weights.
struct PlannedPanels<'a> {
    product: &'a Product,
    panels: &'a [Panels],
    bytes: usize,
}

impl<'a> ProductPlanner<'a> {
    pub(super) fn new(model: &'a CoreModel, options: &'a Options, isas: &'a [PlannedIsa]) -> Self {
        let language = options.output.language;
        // blocks of floats need C, as generated Rust has no function for them
        let of_block =
            |own: &PlannedIsa| PlannedIsa { fuses: own.fuses && language == Language::C, ..*own };
        let values = Values::new(language, isas);
        let of_blocks = isas.iter().map(of_block).collect();
        Self { model, options, arch: options.machine.target, isas, of_blocks, values }
    }

    /// The plan of a product with a precision.
    pub(super) fn plan(
        &self,
        operation: PlannedProduct<'_>,
        precision: &ProductPrecision,
    ) -> ProductPlan {
        let mut product = Product::new(operation, self.arch);
        product.layout = RowLayout::new(precision.stored(), self.isas);
        let threading = threads(operation, &product, self.options);
        let blocks = self.blocks(operation, &product, threading);
        product.layout.blocks = blocks.map(|blocks| blocks.form);
        let (columns, why) = self.columns(operation, &product, threading);
        let mut reasons = vec![Reason::Panels(columns, why)];
        reasons.extend(row_by_row(operation).filter(|_| product.rows > 1).map(Reason::RowByRow));
        let width = match why {
            PanelWidth::Padded(_) => Width::Padded(columns),
            _ => Width::Columns(columns),
        };
        let indexed = match product.layout.indexed() {
            Some(_) => SparseMatrix::all(self.model, operation, &product).unwrap_or_default(),
            None => Vec::new(),
        };
        let cut = threading.is_two() && product.rows == 1;
        let PanelLayout { panels, weights, biases } =
            layout(&product, width, cut, self.arch.memory.alignment, &indexed);
        let halves = if threading.is_two() { halves(&product, &panels) } else { None };
        reasons.extend(match threading {
            Threading::Unasked => None,
            Threading::Two(_) if halves.is_none() => {
                Some(Reason::Threading(Threading::One(Sharing::OnePanel)))
            }
            threading => Some(Reason::Threading(threading)),
        });
        let (unrolled, reason) = self.unrolling(&product, blocks.as_ref());
        reasons.push(Reason::Unrolling(reason));
        let bytes = product.layout.bytes(weights, biases);
        let planned = PlannedPanels { product: &product, panels: &panels, bytes };
        let input_first = self.input_first(&planned);
        let is_input_first = input_first.is_some_and(InputFirst::is_first);
        let rows_at_once = self.rows_at_once(&planned, is_input_first, &mut reasons);
        let alternation = alternation(&planned, self.arch, self.options.tuning.alternate);
        reasons.extend(alternation.map(Reason::Alternation));
        reasons.extend(input_first.map(Reason::InputFirst));
        let tile =
            |panels: &Panels, isa| tiling(&product, bytes, panels, (isa, self.arch), self.values);
        let mut plan = ProductPlan {
            arithmetic: precision.arithmetic(),
            multiples: OwnMultiples {
                x: precision.own(Vector::X, product.input_size),
                h: precision.own(Vector::H, product.units),
            },
            values: self.values.of_product(&product),
            weights,
            biases,
            unrolled,
            loads_apart: self.loads_apart(&planned),
            alternate: alternation.is_some(),
            input_first: is_input_first,
            tiles: self.options.tuning.tiles,
            halves,
            rows_at_once,
            tilings: self
                .isas
                .iter()
                .map(|planned| panels.iter().map(|panels| tile(panels, planned.isa)).collect())
                .collect(),
            product,
            panels,
            reasons,
        };
        let of_loops = plan.reasons_of_loops(self.isas);
        plan.reasons.extend(of_loops);
        plan
    }

    /// The blocks of zeros that kernels leave out. `None` if leaving them out saves no time, or if
    /// the options rule it out: weights at run time, two threads, panels of other widths.
    fn blocks(
        &self,
        operation: PlannedProduct<'_>,
        product: &Product,
        threading: Threading,
    ) -> Option<Blocks> {
        let tuning = &self.options.tuning;
        let fits = |columns: usize| sparse::fits_panels(columns, product, &self.of_blocks);
        // weights that come at run time may have zeros anywhere
        let is_known = self.options.output.weights_as != WeightsAs::RunTime;
        let is_asked = is_known
            && tuning.sparse != Some(false)
            && !threading.is_two()
            && tuning.panel_columns.is_none_or(fits);
        if !is_asked {
            return None;
        }
        let target = (&self.of_blocks[..], self.arch);
        // blocks with an index need a loop
        let has_loops = tuning.unroll != Unroll::Full;
        sparse::blocks(self.model, operation, product, target)
            .filter(|of| has_loops || matches!(of.form, ZeroBlocks::Unrolled(_)))
    }

    /// Columns of a full panel, with the reason.
    fn columns(
        &self,
        operation: PlannedProduct<'_>,
        product: &Product,
        threading: Threading,
    ) -> (usize, PanelWidth) {
        let (tuning, arch) = (&self.options.tuning, self.arch);
        if let Some(columns) = tuning.panel_columns {
            return match columns > product.units {
                true => (product.units, PanelWidth::AllOf(columns)),
                false => (columns, PanelWidth::Asked),
            };
        }
        if let Some(columns) = one_pass(product, self.isas) {
            return (columns, PanelWidth::OnePass);
        }
        if product.layout.indexed().is_some() {
            return (BLOCK_ROWS.min(product.units), PanelWidth::Block);
        }
        let is_alone = !threading.is_two() && tuning.rows_at_once.is_none();
        if let (PlannedProduct::Cell(cell), true) = (operation, is_alone)
            && let Some(columns) = padded(cell, product, self.isas)
        {
            return (columns, PanelWidth::Padded(product.units));
        }
        if let Some(narrow) = cost::narrow_columns(product, arch) {
            return narrow;
        }
        if product.rows > 1 {
            return (cost::shared_columns(product, arch), PanelWidth::FirstLevel);
        }
        // each of two threads computes whole panels, so panels cover half of the units
        let share = match threading {
            Threading::Two(_) => {
                product.units.div_ceil(2).next_multiple_of(arch.memory.line / 4).min(product.units)
            }
            Threading::Unasked | Threading::One(_) => product.units,
        };
        panel_columns(operation, product, share, arch)
    }

    /// The unrolling of loops over rows, with the reason.
    fn unrolling(&self, product: &Product, blocks: Option<&Blocks>) -> (Unrolled, Unrolling) {
        match blocks {
            Some(blocks) => of_blocks(blocks),
            None => unrolling(product, self.arch, self.options.tuning.unroll, self.values),
        }
    }

    /// True if loops are unrolled to reach the load distance of the instruction set: for weights
    /// larger than the L1 cache, up to `partly_near` bytes.
    fn loads_apart(&self, of: &PlannedPanels<'_>) -> bool {
        let (layout, caches) = (&of.product.layout, &self.arch.costs.caches);
        // other formats are unpacked, which takes longer than the loads, so the distance of loads
        // gains nothing
        let is_loaded = matches!(
            layout.format,
            WeightFormat::F32 | WeightFormat::Int16 | WeightFormat::Int8Quad
        );
        let is_near = (caches.first_level + 1..=caches.partly_near).contains(&of.bytes);
        let is_auto = self.options.tuning.unroll == Unroll::Auto;
        is_auto && is_loaded && is_near && layout.blocks.is_none()
    }

    /// The reason for computing the x terms of all steps first, or not. `None`: there is one step,
    /// or the user decided against it.
    fn input_first(&self, of: &PlannedPanels<'_>) -> Option<InputFirst> {
        let best = self.isas.last().expect("options: the baseline is always there").isa;
        match self.options.tuning.input_first {
            Some(first) => (first && of.product.steps > 1).then_some(InputFirst::Asked),
            None => cost::input_first(of.product, of.panels, of.bytes, best, self.arch),
        }
    }

    /// For each instruction set: rows computed together.
    fn rows_at_once(
        &self,
        of: &PlannedPanels<'_>,
        input_first: bool,
        reasons: &mut Vec<Reason>,
    ) -> Vec<usize> {
        let product = of.product;
        let several = product.together > 1 && (product.steps == 1 || input_first);
        let choices = self.isas.iter().map(|planned| self.rows_on(of, planned.isa));
        let (rows, whys): (Vec<_>, Vec<_>) = choices.unzip();
        if several {
            reasons.extend(whys.into_iter().flatten().map(Reason::RowsTogether));
            let is_asked = self.options.tuning.rows_at_once.is_some();
            reasons.extend(is_asked.then(|| Reason::RowsTogether(RowsTogether::Asked(rows[0]))));
        }
        rows
    }

    /// Rows computed together on an instruction set, with the reasons for several rows.
    fn rows_on(&self, of: &PlannedPanels<'_>, isa: &'static Isa) -> (usize, Vec<RowsTogether>) {
        let &PlannedPanels { product, panels, .. } = of;
        let tuning = &self.options.tuning;
        let by_tiles =
            tuning.rows_at_once.map_or(product.tile_rows(isa), |rows| rows.min(product.together));
        let in_tiles = product.has_tiles(by_tiles, panels, tuning.tiles, isa);
        let of_input = product.steps > 1;
        let is_padded = panels.iter().any(Panels::is_padded);
        let is_asked = tuning.rows_at_once.is_some();
        let (by_vectors, cycles) = cost::rows_at_once(product, panels, isa, self.arch);
        let is_narrow = is_padded || cost::is_narrow(product, isa) && !is_asked;
        let rows = match () {
            () if in_tiles || is_asked => by_tiles,
            () if is_narrow => 1,
            () => by_vectors,
        };
        let name = isa.name;
        let why = match () {
            () if is_narrow => Some(RowsTogether::Narrow(name)),
            () if in_tiles => Some(RowsTogether::InTiles { isa: name, rows, of_input }),
            () if is_asked => None,
            () => Some(RowsTogether::InVectors { isa: name, rows, of_input, cycles }),
        };
        let mut whys: Vec<_> = why.into_iter().collect();
        if !in_tiles && most_tile_rows(isa) > 0 && product.fits_tiles_somewhere() {
            let why = product.without_tiles(by_tiles, panels, tuning.tiles, isa);
            whys.push(RowsTogether::NoTiles(name, why));
        }
        (rows, whys)
    }
}

/// Columns of a panel whose sums one pass computes, for a product whose code without loops leaves
/// out blocks of zeros. `None` for other products.
fn one_pass(product: &Product, isas: &[PlannedIsa]) -> Option<usize> {
    let Some(ZeroBlocks::Unrolled(lanes)) = product.layout.blocks else { return None };
    let skips = |isa: &&Isa| sparse::skips(isa, product.layout.format);
    let isa = isas.iter().rev().map(|planned| planned.isa).find(skips)?;
    Some((vectors_of_blocks(product, isa) * lanes).min(product.units))
}

/// The reason for reading panels in alternating order. `None`: every step reads them in one
/// order.
fn alternation(
    &PlannedPanels { product, panels, bytes }: &PlannedPanels<'_>,
    arch: &Arch,
    asked: Option<bool>,
) -> Option<Alternation> {
    let [fewest, most] = arch.costs.caches.alternate_near;
    let is_short = |p: &Panels| product.weight_bytes(p.columns) <= fewest;
    // a cell of one step would have to remember the order between calls: in f32 such a cell stays a
    // function of its inputs alone
    let remembers = product.steps > 1 || product.layout.format.is_of_integers();
    let first_level = remembers
        && (fewest..=most).contains(&bytes)
        && panels.iter().filter(|p| p.count > 1).all(is_short);
    let limit = arch.costs.caches.alternate_from;
    let alternates = asked.unwrap_or(first_level || bytes > limit)
        && product.recurs()
        && product.rows == 1
        && product.layout.blocks.is_none()
        && panels.iter().any(|p| p.count > 1);
    let why = match asked {
        Some(_) => Alternation::Asked,
        None if first_level => Alternation::FirstLevel,
        None => Alternation::MoreThan(limit),
    };
    alternates.then_some(why)
}

/// Activations of a unit in one step of a cell.
fn activations(kind: CellKind) -> usize {
    match kind {
        CellKind::Rnn => 1,
        CellKind::Gru(_) | CellKind::Augru(_) => 3,
        CellKind::Lstm => 5,
    }
}

/// Columns of a full panel for single rows and `units` units, with the reason.
fn panel_columns(
    operation: PlannedProduct<'_>,
    product: &Product,
    units: usize,
    arch: &Arch,
) -> (usize, PanelWidth) {
    let most_at_once = match product.layout.format {
        WeightFormat::F32 => arch.costs.limits.most_at_once,
        _ => arch.costs.limits.most_at_once.min(MOST_NARROW_AT_ONCE),
    };
    let activations = match operation {
        PlannedProduct::Cell(cell)
            if cell.kind.reset_gate() == Some(ResetGate::BeforeMatMul)
                && product.units <= most_at_once =>
        {
            return (product.units, PanelWidth::ResetGate);
        }
        PlannedProduct::Cell(cell) => activations(cell.kind),
        PlannedProduct::Dense(_) => 0,
    };
    cost::own_columns(product, units, activations, arch)
}
