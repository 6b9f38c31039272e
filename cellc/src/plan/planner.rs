//! Choices for a model: instruction sets, panels, unrolling, rows at once, threads.

use std::collections::{BTreeMap, BTreeSet};

use super::choose::most_tile_rows;
use super::panels::{PanelLayout, Panels, Width, layout, padded};
use super::passes::{tiling, vectors_of_blocks};
use super::present::{BLOCK_ROWS, SparseMatrix};
use super::product::{Phase, Product, row_by_row};
use super::reason::{
    Alternation, InputFirst, PanelWidth, Reason, Sharing, Threading, Together, Unrolling,
};
use super::row_layout::{RowLayout, ZeroBlocks};
use super::threads::{halves, threads};
use super::together::steps_together;
use super::values::Values;
use super::{
    Branches, DelayLines, Fusion, Multiples, OwnMultiples, Plan, ProductPlan, cost, sparse,
};
use crate::arch::{Arch, Isa, PlannedIsa};
use crate::core::{CoreModel, CoreNode, CoreOp};
use crate::encoding::{Arithmetic, WeightFormat};
use crate::kernel::FrameOrder;
use crate::model::{CellKind, ResetGate};
use crate::numerics::{Precisions, Vector, flush_below};
use crate::request::{Fma, Language, Options, Unroll, WeightsAs};

/// Upper limit for rows times vectors of a cell that `--unroll auto` unrolls fully.
///
/// Compile times of straight-line code grow faster than its length: rustc takes half a second for
/// 20 vectors of 16 lanes, about 20 seconds for 240.
const UNROLL_BUDGET: usize = 32;

/// The most rows of weights that code for one lane unrolls.
const MOST_UNROLLED_ROWS: usize = 8;

/// The unrolling of a product's loops over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrolled {
    /// No loop is left.
    Fully,
    /// On instruction sets that multiply a block in one instruction, products have no loop and no
    /// blocks of zeros. On other instruction sets, loops stay.
    WithoutZeros,
    /// An iteration takes the rows per iteration of the instruction set; two iterations or more are
    /// a loop.
    InTurns,
    /// An iteration takes one row, or the rows of a packed word: the smallest code, which
    /// instruction sets share.
    RowByRow,
}

/// The instruction sets to write, the baseline first, the best last.
pub fn instruction_sets(options: &Options, precisions: &Precisions) -> Vec<&'static Isa> {
    let asked = |isa: &&'static Isa| match &options.machine.isas {
        Some(list) => list.contains(isa),
        None => isa.words().is_empty() || precisions.multiply_packed(&isa.words()),
    };
    let baseline = options.machine.target.baseline;
    // an instruction set that flushes denormals to zero needs the set of one lane, too
    let flushes = options.known_isas().any(|isa| isa.c.flushes.is_some() && asked(&isa));
    options
        .known_isas()
        .filter(|isa| *isa == baseline || asked(isa) || flushes && isa.lanes == 1)
        .collect()
}

/// Plans a model.
pub fn plan(model: &CoreModel, options: &Options, precisions: &Precisions) -> Plan {
    let isas = instruction_sets(options, precisions);
    let plan = plan_for(model, options, precisions, &isas);
    // without products in tiles, an instruction set with tiles equals the one that it extends and
    // is left out
    let unused = |at: usize, isa: &Isa| {
        options.machine.isas.is_none()
            && most_tile_rows(isa) > 0
            && plan.products.iter().all(|plan| !plan.uses_tiles(at, isa))
    };
    let unused = |at: usize, isa: &Isa| unused(at, isa) || is_too_wide(&plan, (at, isa), options);
    let used: Vec<_> = isas
        .iter()
        .enumerate()
        .filter(|(at, isa)| !unused(*at, isa))
        .map(|(_, isa)| *isa)
        .collect();
    if used.len() == isas.len() { plan } else { plan_for(model, options, precisions, &used) }
}

/// True if an instruction set would only add padding: the model is one padded cell, and the vectors
/// of the instruction set before cover its panels.
fn is_too_wide(plan: &Plan, (at, isa): (usize, &Isa), options: &Options) -> bool {
    let [product] = &plan.products[..] else { return false };
    let before = at.checked_sub(1).map(|before| plan.isas[before].isa);
    let covers = |before: &Isa| {
        before.fma == isa.fma
            && isa.lanes > before.lanes
            && product.panels.iter().all(|panels| panels.columns <= before.lanes)
    };
    options.machine.isas.is_none() && product.is_padded() && before.is_some_and(covers)
}

/// The delay lines of a model, with the products that read taps in place.
fn delay_lines(
    model: &CoreModel,
    products: &[ProductPlan],
    isas: &[PlannedIsa],
    order: FrameOrder,
) -> DelayLines {
    let mut lines = DelayLines::new(model, order);
    let nodes = model.all_nodes().into_iter().filter(|node| node.op.is_product());
    for (node, product) in nodes.zip(products) {
        if let CoreOp::Dense(dense) = &node.op
            && product.reads_elements(isas)
        {
            lines.read_in_place(model, dense);
        }
    }
    lines
}

/// The delay lines of a model, and the most steps that a call computes together.
fn stream(
    model: &CoreModel,
    products: &[ProductPlan],
    branches: &Branches,
    target: (&[PlannedIsa], &Arch, Option<f32>),
) -> (DelayLines, usize) {
    let lines = delay_lines(model, products, target.0, FrameOrder::Rows);
    match steps_together(model, &lines, products, branches, target) {
        1 => (lines, 1),
        steps => (delay_lines(model, products, target.0, FrameOrder::Rings { steps }), steps),
    }
}

/// Plans a model for these instruction sets.
fn plan_for(
    model: &CoreModel,
    options: &Options,
    precisions: &Precisions,
    isas: &[&'static Isa],
) -> Plan {
    let arch = options.machine.target;
    // safe Rust has no fused multiply-add for some machines
    let spelled =
        |isa: &Isa| options.output.language == Language::C || !isa.rust.mul_add.is_empty();
    let fused = |isa: &Isa| isa.fma && options.numerics.fma == Fma::Auto && spelled(isa);
    let isas: Vec<_> = isas.iter().map(|isa| PlannedIsa { isa, fuses: fused(isa) }).collect();
    // blocks of floats need C, as generated Rust has no function for them
    let of_blocks: Vec<_> = isas
        .iter()
        .map(|own| PlannedIsa {
            fuses: own.fuses && options.output.language == Language::C,
            ..*own
        })
        .collect();
    let product = |node: &CoreNode| {
        let op = &node.op;
        let mut reasons = Vec::new();
        let mut product = match op {
            CoreOp::Cell(cell) => {
                let mut product = Product::from(cell);
                // r comes first, as the late phase waits for r
                if cell.kind.reset_gate() == Some(ResetGate::BeforeMatMul)
                    && arch.costs.limits.late_apart > 0
                {
                    product.sums.swap(0, 1);
                }
                product
            }
            CoreOp::Dense(dense) => Product::from(dense),
            _ => return None,
        };
        let precision = precisions.get(op.first_value());
        let arithmetic = precision.arithmetic();
        product.layout = RowLayout::new(precision.stored(), &isas);
        let threads = threads(op, &product, options);
        let fits = |columns: usize| sparse::fits_panels(columns, &product, &of_blocks);
        // weights that come at run time may have zeros anywhere
        let is_known = options.output.weights_as != WeightsAs::RunTime;
        let is_asked = is_known
            && options.tuning.sparse != Some(false)
            && !threads.is_two()
            && options.tuning.panel_columns.is_none_or(fits);
        let blocks =
            is_asked.then(|| sparse::blocks(model, op, &product, (&of_blocks, arch))).flatten();
        // blocks with an index need a loop
        let has_loops = options.tuning.unroll != Unroll::Full;
        let blocks = blocks.filter(|of| has_loops || matches!(of.form, ZeroBlocks::Unrolled(_)));
        if let Some(blocks) = &blocks {
            product.layout.blocks = Some(blocks.form);
        }
        // each of two threads computes whole panels, so panels cover half of the units
        let share = match threads {
            Threading::Two(_) if product.rows == 1 => {
                product.units.div_ceil(2).next_multiple_of(arch.memory.line / 4).min(product.units)
            }
            _ => product.units,
        };
        let is_alone = !threads.is_two() && options.tuning.rows_at_once.is_none();
        let padded = match op {
            CoreOp::Cell(cell) if is_alone => padded(cell, &product, &isas),
            _ => None,
        };
        let padded = padded.map(|columns| (columns, PanelWidth::Padded(product.units)));
        let (columns, why) = match options.tuning.panel_columns {
            Some(columns) if columns > product.units => (product.units, PanelWidth::AllOf(columns)),
            Some(columns) => (columns, PanelWidth::Asked),
            None if let Some(columns) = one_pass(&product, &isas) => (columns, PanelWidth::OnePass),
            None if product.layout.indexed().is_some() => {
                (BLOCK_ROWS.min(product.units), PanelWidth::Block)
            }
            None => match padded.or_else(|| cost::narrow_columns(&product, arch)) {
                Some(narrow) => narrow,
                None if product.rows > 1 => {
                    (cost::shared_columns(&product, arch), PanelWidth::FirstLevel)
                }
                None => panel_columns(op, &product, share, arch),
            },
        };
        reasons.push(Reason::Panels(columns, why));
        if let CoreOp::Cell(cell) = op
            && let Some(why) = row_by_row(cell).filter(|_| cell.batch > 1)
        {
            reasons.push(Reason::RowByRow(why));
        }
        let multiples = OwnMultiples {
            x: precision.own(Vector::X, product.input_size),
            h: precision.own(Vector::H, product.units),
        };
        let indexed = match product.layout.indexed() {
            Some(_) => SparseMatrix::all(model, op, &product).unwrap_or_default(),
            None => Vec::new(),
        };
        let found = blocks.map(|blocks| (blocks, indexed));
        let width = match why {
            PanelWidth::Padded(_) => Width::Padded(columns),
            _ => Width::Columns(columns),
        };
        let plan =
            plan_product((product, arithmetic, found), width, threads, reasons, options, &isas);
        Some(ProductPlan { multiples, ..plan })
    };
    let (mut products, mut unfused) = (Vec::new(), BTreeSet::new());
    for node in model.all_nodes() {
        let Some(product) = product(node) else { continue };
        let is_alone = product.halves.is_some() || product.is_padded();
        unfused.extend(is_alone.then(|| node.op.outputs()[0]));
        products.push(product);
    }
    let windows = integer_windows(model, precisions);
    let accuracy = options.numerics.accuracy;
    let flush_below = flush_below(&options.numerics);
    let fuses = options.tuning.fuse != Some(false);
    let lanes = isas.iter().map(|planned| planned.isa.lanes).max().unwrap_or(1);
    let branches = Branches::new(model, lanes, options.tuning.branches);
    let fusion = if fuses { Fusion::new(model, &unfused, &branches) } else { Fusion::default() };
    let values = Values::new(options.output.language, &isas);
    let target = (&isas[..], arch, flush_below);
    let (delay_lines, steps_together) = stream(model, &products, &branches, target);
    Plan {
        arch,
        isas,
        products,
        windows,
        branches,
        fusion,
        delay_lines,
        steps_together,
        accuracy,
        flush_below,
        values,
    }
}

/// By the value of a convolution in integers: the arithmetic of its windows, and the quantisation
/// of x if the model quantises x.
fn integer_windows(
    model: &CoreModel,
    precisions: &Precisions,
) -> BTreeMap<usize, (Arithmetic, Option<Multiples>)> {
    let mut windows = BTreeMap::new();
    for node in model.all_nodes() {
        let (CoreOp::Convolve(convolution), Some(product)) = (&node.op, node.op.facts().product)
        else {
            continue;
        };
        let taps = product.x.len;
        let precision = precisions.get(convolution.out);
        if precision.arithmetic() != Arithmetic::F32 {
            windows.insert(
                convolution.out,
                (precision.arithmetic().of_windows(), precision.own(Vector::X, taps)),
            );
        }
    }
    windows
}

/// Columns of a panel whose sums one pass computes, for a product without blocks of zeros. `None`:
/// the product has all weights.
fn one_pass(product: &Product, isas: &[PlannedIsa]) -> Option<usize> {
    let Some(ZeroBlocks::Unrolled(lanes)) = product.layout.blocks else { return None };
    let skips = |isa: &&Isa| sparse::skips(isa, product.layout.format);
    let isa = isas.iter().rev().map(|planned| planned.isa).find(skips)?;
    Some((vectors_of_blocks(product, isa) * lanes).min(product.units))
}

/// Plans a product in an arithmetic.
fn plan_product(
    (product, arithmetic, found): (
        Product,
        Arithmetic,
        Option<(sparse::Blocks, Vec<SparseMatrix<'_>>)>,
    ),
    width: Width,
    threading: Threading,
    mut reasons: Vec<Reason>,
    options: &Options,
    isas: &[PlannedIsa],
) -> ProductPlan {
    let (arch, format) = (options.machine.target, product.layout.format);
    let cut = threading.is_two() && product.rows == 1;
    let (blocks, indexed) = found.unzip();
    let indexed = indexed.unwrap_or_default();
    let PanelLayout { panels, weights, biases } =
        layout(&product, width, cut, arch.memory.alignment, &indexed);
    let halves = if threading.is_two() { halves(&product, &panels) } else { None };
    let threading = match threading {
        Threading::Two(_) if halves.is_none() => Threading::One(Sharing::OnePanel),
        threading => threading,
    };
    reasons.extend((threading != Threading::Unasked).then_some(Reason::Threading(threading)));
    let values = Values::new(options.output.language, isas);
    let (unrolled, reason) = match blocks {
        Some(sparse::Blocks { form, lanes, inputs, present, total: all, instructions }) => {
            let shape = [lanes, inputs];
            match form {
                ZeroBlocks::Unrolled(_) => {
                    (Unrolled::WithoutZeros, Unrolling::WithoutZeros { present, all, shape })
                }
                ZeroBlocks::Indexed(_) => {
                    (Unrolled::InTurns, Unrolling::Indexed { present, all, shape, instructions })
                }
            }
        }
        None => unrolling(&product, arch, options.tuning.unroll, values),
    };
    reasons.push(Reason::Unrolling(reason));
    let bytes = product.layout.bytes(weights, biases);
    // other formats are unpacked, which takes longer than the loads, so the distance of loads gains
    // nothing
    let is_loaded =
        matches!(format, WeightFormat::F32 | WeightFormat::Int16 | WeightFormat::Int8Quad);
    let is_near =
        (arch.costs.caches.first_level + 1..=arch.costs.caches.partly_near).contains(&bytes);
    let loads_apart =
        options.tuning.unroll == Unroll::Auto && is_loaded && is_near && blocks.is_none();
    let tile = |p: &Panels, isa| tiling(&product, bytes, p, (isa, arch), values);
    let tilings =
        isas.iter().map(|planned| panels.iter().map(|p| tile(p, planned.isa)).collect()).collect();
    let tuning = &options.tuning;
    let best = isas.last().expect("options: the baseline is always there").isa;
    let worth = match tuning.input_first {
        Some(first) => (first && product.steps > 1).then_some(InputFirst::Asked),
        None => cost::input_first(&product, &panels, bytes, best, arch),
    };
    let input_first = worth.is_some_and(InputFirst::is_first);
    let several = product.together > 1 && (product.steps == 1 || input_first);
    let mut chosen = |PlannedIsa { isa, .. }: &PlannedIsa| {
        let (by_vectors, cycles) = cost::rows_at_once(&product, &panels, isa, arch);
        let by_tiles =
            tuning.rows_at_once.map_or(product.tile_rows(isa), |rows| rows.min(product.together));
        let in_tiles = product.has_tiles(by_tiles, &panels, tuning.tiles, isa);
        let of_input = product.steps > 1;
        let is_padded = panels.iter().any(Panels::is_padded);
        let is_narrow =
            is_padded || cost::is_narrow(&product, isa) && tuning.rows_at_once.is_none();
        let rows = match () {
            () if in_tiles || tuning.rows_at_once.is_some() => by_tiles,
            () if is_narrow => 1,
            () => by_vectors,
        };
        if several && is_narrow {
            reasons.push(Reason::Together(Together::Narrow(isa.name)));
        } else if several && in_tiles {
            reasons.push(Reason::Together(Together::InTiles { isa: isa.name, rows, of_input }));
        } else if several && tuning.rows_at_once.is_none() {
            let isa = isa.name;
            reasons.push(Reason::Together(Together::InVectors { isa, rows, of_input, cycles }));
        }
        if several && !in_tiles && most_tile_rows(isa) > 0 && product.fits_tiles_somewhere() {
            let why = product.without_tiles(by_tiles, &panels, tuning.tiles, isa);
            reasons.push(Reason::Together(Together::NoTiles(isa.name, why)));
        }
        rows
    };
    let rows_at_once: Vec<_> = isas.iter().map(&mut chosen).collect();
    if tuning.rows_at_once.is_some() && several {
        reasons.push(Reason::Together(Together::Asked(rows_at_once[0])));
    }
    let alternation =
        alternation(&product, &panels, bytes, arch, tuning.alternate).filter(|_| blocks.is_none());
    let alternate = alternation.is_some();
    reasons.extend(alternation.map(Reason::Alternation));
    reasons.extend(worth.map(Reason::InputFirst));
    let own_values = values.of_product(&product);
    let mut plan = ProductPlan {
        product,
        panels,
        arithmetic,
        multiples: OwnMultiples::default(),
        values: own_values,
        weights,
        biases,
        unrolled,
        loads_apart,
        alternate,
        input_first,
        tiles: tuning.tiles,
        halves,
        rows_at_once,
        tilings,
        reasons,
    };
    let of_loops = plan.reasons_of_loops(isas);
    plan.reasons.extend(of_loops);
    plan
}

/// The unrolling of a product's loops over rows, with the reason.
fn unrolling(
    product: &Product,
    arch: &Arch,
    asked: Unroll,
    values: Values,
) -> (Unrolled, Unrolling) {
    let vectors = |phase| {
        product.phase_rows(phase)
            * (4 * product.active(phase) * product.units).div_ceil(arch.memory.line)
    };
    let work = Phase::ALL.iter().map(|&phase| vectors(phase)).sum::<usize>();
    let once = product.rows == 1 && product.steps == 1;
    // on one lane, each row of weights is at least one statement per column: many rows make long
    // code
    let is_long = arch.isas.is_empty()
        && arch.baseline.lanes == 1
        && Phase::ALL.iter().any(|&phase| product.phase_rows(phase) > MOST_UNROLLED_ROWS);
    match asked {
        Unroll::Full => (Unrolled::Fully, Unrolling::AskedFull),
        Unroll::None => (Unrolled::RowByRow, Unrolling::AskedNone),
        Unroll::Auto if work <= UNROLL_BUDGET && once && !is_long => {
            (Unrolled::Fully, Unrolling::Within(work, UNROLL_BUDGET))
        }
        Unroll::Auto => {
            let kept = match values.of_product(product) {
                Values::OneText => Unrolled::RowByRow,
                Values::Registers | Values::Joined | Values::Passes => Unrolled::InTurns,
            };
            let why = match () {
                () if product.rows > 1 => Unrolling::Batch,
                () if product.steps > 1 => Unrolling::Steps,
                () if is_long => Unrolling::Rows(MOST_UNROLLED_ROWS),
                () => Unrolling::Beyond(work, UNROLL_BUDGET),
            };
            (kept, why)
        }
    }
}

/// The reason for reading panels in alternating order; `None` if every step reads them in one
/// order. `bytes` is the size of the weights.
fn alternation(
    product: &Product,
    panels: &[Panels],
    bytes: usize,
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

/// The most units in the only panel of a cell whose weights are not f32. Larger cells of integers
/// read several panels in alternating order; larger cells in 16-bit floats were not measured.
const MOST_NARROW_AT_ONCE: usize = 96;

/// Columns of a full panel for single rows and `units` units, with the reason.
fn panel_columns(op: &CoreOp, product: &Product, units: usize, arch: &Arch) -> (usize, PanelWidth) {
    let most_at_once = match product.layout.format {
        WeightFormat::F32 => arch.costs.limits.most_at_once,
        _ => arch.costs.limits.most_at_once.min(MOST_NARROW_AT_ONCE),
    };
    let activations = match op {
        CoreOp::Cell(cell)
            if cell.kind.reset_gate() == Some(ResetGate::BeforeMatMul)
                && product.units <= most_at_once =>
        {
            return (product.units, PanelWidth::ResetGate);
        }
        CoreOp::Cell(cell) => match cell.kind {
            CellKind::Rnn => 1,
            CellKind::Gru(_) | CellKind::Augru(_) => 3,
            CellKind::Lstm => 5,
        },
        _ => 0,
    };
    cost::own_columns(product, units, activations, arch)
}
