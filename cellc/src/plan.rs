//! Decides every size: panels, tiles, unrolling, weight layout, precision. A pure function of model and options.
//!
//! What sets the order of summation (panels never do; only which terms a sum has and in what order) depends on the
//! model alone, so that every instruction set computes the same bits. Tiles depend on the instruction set.

mod cost;
mod fusion;

pub use cost::tile_vectors;
pub use fusion::{Along, Chain, Fusion, along};

use std::fmt;

use crate::model::{CellKind, Dense, ResetGate, ValidCell, ValidModel, ValidOp};
use crate::options::{Fma, Options, Unroll};
use crate::target::Isa;

/// Weight blocks start at multiples of this many f32: a cache line.
const LINE: usize = 16;

/// Below this magnitude, 2^-100, a state becomes 0 where `--flush-denormals` asks for it.
pub const FLUSH_BELOW: f32 = f32::from_bits((127 - 100) << 23);

/// Columns of a GRU whose reset gate stands before the product that one panel holds: 18 vectors of sums.
const MOST_AT_ONCE: usize = 96;

/// Rows times vectors of a cell up to which `--unroll auto` unrolls it fully.
///
/// Straight-line code takes rustc more than linear time: 20 vectors of 16 lanes half a second, 240 some 20 seconds.
const UNROLL_BUDGET: usize = 32;

/// What multiplies R in a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The state h.
    Hidden,
    /// r.h, known only once the reset gate is.
    ResetHidden,
}

/// One sum of a product: `(x terms + h terms) + bias`, each part summed from zero in [`Phase::chains`] chains.
///
/// The bias comes last because short chains round less: on the corpus this halves the 95th percentile of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// What generated code calls it.
    pub name: &'static str,
    /// Which part of B is added last.
    pub bias: Option<usize>,
    /// Which gate of W adds to it.
    pub w: Option<usize>,
    /// Which gate of R adds to it, and times what.
    pub r: Option<(usize, Operand)>,
    /// Which part of P, times a cell state, is added after the bias.
    pub peephole: Option<usize>,
}

const fn sum(name: &'static str, bias: usize, w: Option<usize>, r: Option<(usize, Operand)>) -> Sum {
    Sum { name, bias: Some(bias), w, r, peephole: None }
}

/// The sums of a cell, in the order in which a row of packed weights holds them.
pub fn sums(cell: &ValidCell) -> Vec<Sum> {
    use Operand::{Hidden, ResetHidden};
    let gate = |name, gate| sum(name, gate, Some(gate), Some((gate, Hidden)));
    match (cell.kind, cell.kind.reset_gate()) {
        (CellKind::Lstm, _) => {
            let all = [("f", Some(0)), ("i", Some(1)), ("c", None), ("o", Some(2))].into_iter().enumerate();
            all.filter(|(_, (name, _))| *name != "i" || !cell.input_forget)
                .map(|(at, (name, p))| Sum { peephole: p.filter(|_| cell.p.is_some()), ..gate(name, at) })
                .collect()
        }
        (_, Some(ResetGate::BeforeMatMul)) => {
            vec![gate("z", 0), gate("r", 1), sum("n", 2, Some(2), Some((2, ResetHidden)))]
        }
        (_, Some(ResetGate::AfterMatMul)) => {
            vec![gate("z", 0), gate("r", 1), sum("n", 2, Some(2), None), sum("m", 3, None, Some((2, Hidden)))]
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
    /// How many units there are: hidden_size, or the length of a row of y.
    pub units: usize,
    /// How many rows are computed, one after the other.
    pub rows: usize,
    /// How many times that is done: the steps of a sequence.
    pub steps: usize,
}

impl From<&ValidCell> for Product {
    fn from(cell: &ValidCell) -> Self {
        Self {
            sums: sums(cell),
            input_size: cell.input_size,
            units: cell.hidden_size,
            rows: cell.batch,
            steps: cell.sequence.as_ref().map_or(1, |s| s.steps),
        }
    }
}

impl From<&Dense> for Product {
    fn from(dense: &Dense) -> Self {
        let y = Sum { name: "y", bias: None, w: Some(0), r: None, peephole: None };
        Self { sums: vec![y], input_size: dense.inputs, units: dense.outputs, rows: dense.rows, steps: 1 }
    }
}

impl Product {
    /// How many rows of weights a phase walks.
    pub fn phase_rows(&self, phase: Phase) -> usize {
        match phase {
            Phase::Input => self.input_size,
            Phase::Hidden | Phase::ResetHidden => self.units,
        }
    }

    /// How many sums take part in a phase.
    pub fn active(&self, phase: Phase) -> usize {
        self.sums.iter().filter(|s| s.gate(phase).is_some()).count()
    }

    /// In which row of a panel's biases that of a sum stands: among the early ones, or among the late ones.
    pub fn bias_row(&self, sum: usize) -> usize {
        let late = self.sums[sum].is_late();
        self.sums[..sum].iter().filter(|s| s.is_late() == late && s.bias.is_some()).count()
    }

    /// In which row of a panel's biases the peepholes of a sum stand: after all early biases.
    pub fn peephole_row(&self, sum: usize) -> usize {
        let biases = self.sums.iter().filter(|s| !s.is_late() && s.bias.is_some()).count();
        biases + self.sums[..sum].iter().filter(|s| s.peephole.is_some()).count()
    }

    /// How many sums before this one take part in a phase: which run of columns of a row of weights is its own.
    pub fn position(&self, phase: Phase, sum: usize) -> usize {
        self.sums[..sum].iter().filter(|s| s.gate(phase).is_some()).count()
    }

    /// How many chains of additions the terms of a phase are dealt out to, term `k` to chain `k % chains`; the chains
    /// are added pairwise at the end.
    ///
    /// More chains hide the latency of a multiply-add where rows are short, and shorten the length over which errors
    /// grow. Part of what a model means to cellc: it depends neither on the instruction set nor on panels.
    pub fn chains(&self, phase: Phase) -> usize {
        let lanes = self.active(phase) * self.units;
        match phase {
            Phase::Hidden | Phase::ResetHidden if (1..=64).contains(&lanes) && self.phase_rows(phase) > 1 => 2,
            _ => 1,
        }
    }

    /// The most chains that a phase has, and the most sums.
    fn widest(&self) -> (usize, usize) {
        let most = |of: &dyn Fn(Phase) -> usize| Phase::ALL.into_iter().map(of).max().unwrap_or(1);
        (most(&|phase| self.chains(phase)), most(&|phase| self.active(phase)))
    }

    /// The multiply-adds of one row, once.
    pub fn multiply_adds(&self) -> usize {
        Phase::ALL.iter().map(|&p| self.active(p) * self.phase_rows(p) * self.units).sum()
    }
}

/// A phase of a product: which rows of weights are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The rows of W, one for each element of x.
    Input,
    /// The rows of R that multiply h.
    Hidden,
    /// The rows of R that multiply r.h.
    ResetHidden,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 3] = [Self::Input, Self::Hidden, Self::ResetHidden];
}

impl Sum {
    /// Whether the sum is complete only after the ResetHidden phase.
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

    /// The gate of W or R whose rows add to the sum in a phase.
    pub fn gate(&self, phase: Phase) -> Option<usize> {
        match (phase, self.r) {
            (Phase::Input, _) => self.w,
            (Phase::Hidden, Some((gate, Operand::Hidden))) => Some(gate),
            (Phase::ResetHidden, Some((gate, Operand::ResetHidden))) => Some(gate),
            _ => None,
        }
    }
}

/// Equal panels: `count` times `columns` neighbouring elements of h, and where their weights stand.
///
/// The weights of one panel are, from `offset + p * stride`: a row of biases, one of peepholes, the rows of the Input phase and those of the
/// Hidden phase; for sums that are complete only after the ResetHidden phase, biases and rows of that phase stand after
/// all panels, from `late_offset + p * late_stride`. A row holds the columns of each sum that takes part, sum after sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panels {
    /// How many.
    pub count: usize,
    /// Elements of h in one.
    pub columns: usize,
    /// First element of h.
    pub first: usize,
    /// Where the first panel's biases start.
    pub offset: usize,
    /// Elements between panels.
    pub stride: usize,
    /// Where the rows of the Input phase start, from the panel's start.
    pub input: usize,
    /// Where the rows of the Hidden phase start, from the panel's start.
    pub hidden: usize,
    /// Where the first panel's late biases start.
    pub late_offset: usize,
    /// Where the rows of the ResetHidden phase start, from there.
    pub late_rows: usize,
    /// Elements between panels there.
    pub late_stride: usize,
}

/// How one instruction set covers the columns of one panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tiling {
    /// Tiles of whole vectors, the same columns of every sum at once; the pointwise part works on the accumulators.
    /// One entry for each pass over the panel's rows: its vectors as (column, lanes).
    Columns(Vec<Vec<(usize, usize)>>),
    /// The lanes of neighbouring sums as one run, for panels that are no multiple of a vector; the pointwise part works
    /// on stored gates. Sums that share their phases form a run.
    Runs,
}

/// How one product is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductPlan {
    /// What is computed.
    pub product: Product,
    /// Its panels: full ones, then what is left.
    pub panels: Vec<Panels>,
    /// Packed f32, biases and alignment included.
    pub weights: usize,
    /// Whether the loops over rows are unrolled.
    pub unroll: bool,
    /// Whether every other step walks the panels from the last to the first: what the step before read last is still in
    /// the cache.
    pub snake: bool,
    /// Whether the x terms of all steps of a sequence are computed first, several steps at once.
    pub input_first: bool,
    /// For each instruction set of [`Plan::isas`]: how many rows are computed at once.
    pub rows_at_once: Vec<usize>,
    /// For each instruction set of [`Plan::isas`], for each of `panels`.
    pub tilings: Vec<Vec<Tiling>>,
    /// Why, a line each.
    pub reasons: Vec<String>,
}

/// How a model is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The instruction sets, generic first, and whether each fuses multiply-add.
    pub isas: Vec<(&'static Isa, bool)>,
    /// One for each cell and each dense layer of [`ValidModel::all_nodes`].
    pub products: Vec<ProductPlan>,
    /// What is done in registers where its operand is computed.
    pub fusion: Fusion,
    /// Whether states below [`FLUSH_BELOW`] become 0.
    pub flush_denormals: bool,
}

impl Plan {
    /// Whether a step of the model remembers in which order the one before walked large weights: sequences know it
    /// from the number of the step.
    pub fn alternates(&self, model: &ValidModel) -> bool {
        let ops = model.all_nodes().into_iter().map(|node| &node.op);
        let products = ops.filter(|op| matches!(op, ValidOp::Cell(_) | ValidOp::Dense(_)));
        let cell = |op: &ValidOp| matches!(op, ValidOp::Cell(cell) if cell.sequence.is_none());
        products.zip(&self.products).any(|(op, product)| product.snake && cell(op))
    }
}

/// Plans a model.
pub fn plan(model: &ValidModel, options: &Options) -> Plan {
    let isas: Vec<_> = options.isas().into_iter().map(|isa| (isa, isa.fma && options.fma == Fma::Auto)).collect();
    let product = |op: &ValidOp| {
        let mut reasons = Vec::new();
        let product = match op {
            ValidOp::Cell(cell) => Product::from(cell),
            ValidOp::Dense(dense) => Product::from(dense),
            _ => return None,
        };
        let (columns, why) = match options.tuning.panel_columns {
            Some(columns) => (columns.clamp(1, product.units), "asked for".to_string()),
            None if product.rows > 1 => {
                let why = "what the first level of a cache holds, for several rows";
                (cost::shared_columns(&product, LINE), why.to_string())
            }
            None => panel_columns(op, &product),
        };
        reasons.push(format!("panels of {columns} columns: {why}"));
        Some(plan_product(product, columns, reasons, options, &isas))
    };
    let products = model.all_nodes().into_iter().filter_map(|node| product(&node.op)).collect();
    Plan { isas, products, fusion: Fusion::new(model), flush_denormals: options.flush_denormals }
}

fn plan_product(
    product: Product,
    width: usize,
    mut reasons: Vec<String>,
    options: &Options,
    isas: &[(&'static Isa, bool)],
) -> ProductPlan {
    let (panels, weights) = layout(&product, width);
    let vectors = |phase| product.phase_rows(phase) * (product.active(phase) * product.units).div_ceil(LINE);
    let work = Phase::ALL.iter().map(|&phase| vectors(phase)).sum::<usize>();
    let once = product.rows == 1 && product.steps == 1;
    let unroll = match options.unroll {
        Unroll::Full => true,
        Unroll::None => false,
        Unroll::Auto => work <= UNROLL_BUDGET && once,
    };
    reasons.push(match options.unroll {
        Unroll::Auto if unroll => {
            format!("unrolled: {work} vectors of weights are within the budget of {UNROLL_BUDGET}")
        }
        Unroll::Auto if product.rows > 1 => "loops kept: batch above 1".to_string(),
        Unroll::Auto if product.steps > 1 => "loops kept: several steps".to_string(),
        Unroll::Auto => format!("loops kept: {work} vectors of weights are over the budget of {UNROLL_BUDGET}"),
        Unroll::Full => "unrolled: asked for".to_string(),
        Unroll::None => "loops kept: asked for".to_string(),
    });
    let tile = |p: &Panels, isa| tiling(&product.sums, p.columns, isa);
    let tilings = isas.iter().map(|(isa, _)| panels.iter().map(|p| tile(p, isa)).collect()).collect();
    let tuning = &options.tuning;
    let several = product.rows > 1 || product.steps > 1;
    let mut chosen = |(isa, _): &(&'static Isa, bool)| {
        let (rows, cycles) = cost::rows_at_once(&product, &panels, isa);
        match tuning.rows_at_once {
            Some(rows) => rows.clamp(1, product.rows.max(product.steps)),
            None if several => {
                reasons.push(format!("{}: {rows} rows at once, {cycles:.1} cycles for a row of a panel", isa.name));
                rows
            }
            None => rows,
        }
    };
    let rows_at_once = isas.iter().map(&mut chosen).collect();
    let recurs = product.sums.iter().any(|s| s.r.is_some());
    let alternate = tuning.alternate.unwrap_or(weights * 4 > cost::ALTERNATE_FROM);
    let snake = recurs && product.rows == 1 && panels.iter().any(|p| p.count > 1) && alternate;
    if snake {
        reasons.push(match tuning.alternate {
            Some(_) => "panels in alternating order: asked for".to_string(),
            None => format!("panels in alternating order: more than {} KiB of weights", cost::ALTERNATE_FROM >> 10),
        });
    }
    let widest = isas.last().expect("options: generic is always there").0;
    let worth = match tuning.input_first {
        Some(first) if first && product.steps > 1 => Ok("x terms of all steps first: asked for".to_string()),
        Some(_) => Err(String::new()),
        None => cost::input_first(&product, &panels, weights, widest),
    };
    let input_first = worth.is_ok();
    reasons.extend(Some(worth.unwrap_or_else(|reason| reason)).filter(|reason| !reason.is_empty()));
    ProductPlan { product, panels, weights, unroll, snake, input_first, rows_at_once, tilings, reasons }
}

/// Columns of a full panel where one row is computed at a time, and why.
fn panel_columns(op: &ValidOp, product: &Product) -> (usize, String) {
    let activations = match op {
        ValidOp::Cell(cell)
            if cell.kind.reset_gate() == Some(ResetGate::BeforeMatMul) && product.units <= MOST_AT_ONCE =>
        {
            return (product.units, "reset before: r.h of all columns is wanted at once".to_string());
        }
        ValidOp::Cell(cell) => match cell.kind {
            CellKind::Rnn => 1,
            CellKind::Gru(_) | CellKind::Augru(_) => 3,
            CellKind::Lstm => 5,
        },
        _ => 0,
    };
    cost::own_columns(product, activations, LINE)
}

fn layout(product: &Product, width: usize) -> (Vec<Panels>, usize) {
    let line = |n: usize| n.next_multiple_of(LINE);
    let biases = |late: bool| product.sums.iter().filter(|s| s.is_late() == late && s.bias.is_some()).count();
    let peepholes = product.sums.iter().filter(|s| s.peephole.is_some()).count();
    let mut panels = Vec::new();
    let mut at = 0;
    let full = product.units / width;
    let rest = product.units % width;
    for (count, columns, first) in [(full, width, 0), (1, rest, full * width)] {
        if columns == 0 {
            continue;
        }
        let rows = |phase| line(product.phase_rows(phase) * product.active(phase) * columns);
        let input = line((biases(false) + peepholes) * columns);
        let hidden = input + rows(Phase::Input);
        let stride = hidden + rows(Phase::Hidden);
        let late_rows = line(biases(true) * columns);
        let late_stride = late_rows + rows(Phase::ResetHidden);
        let offset = at;
        panels.push(Panels {
            count,
            columns,
            first,
            offset,
            stride,
            input,
            hidden,
            late_offset: 0,
            late_rows,
            late_stride,
        });
        at += count * stride;
    }
    for panel in &mut panels {
        panel.late_offset = at;
        at += panel.count * panel.late_stride;
    }
    (panels, at)
}

/// Vectors that cover `columns`, widest first, none wider than `lanes`: 17 columns on 16 lanes are 16 + 1.
pub fn vectors(columns: usize, lanes: usize) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut width = lanes;
    let mut all = Vec::new();
    while at < columns {
        while width > columns - at {
            width /= 2;
        }
        all.push((at, width));
        at += width;
    }
    all
}

/// Vectors of sums of a panel that one pass may hold for one row, with all their chains.
pub fn pass_vectors(product: &Product, isa: &Isa) -> usize {
    (accumulators(isa) / product.widest().0).max(1)
}

/// Accumulators that one pass may hold: three quarters of the registers, the rest for operands.
pub fn accumulators(isa: &Isa) -> usize {
    isa.registers * 3 / 4
}

fn tiling(sums: &[Sum], columns: usize, isa: &Isa) -> Tiling {
    if sums.len() > 1 && !columns.is_multiple_of(isa.lanes) {
        return Tiling::Runs;
    }
    let active =
        Phase::ALL.iter().map(|&phase| sums.iter().filter(|s| s.gate(phase).is_some()).count()).max().unwrap_or(1);
    let at_once = (accumulators(isa) / active).max(1);
    let vectors = vectors(columns, isa.lanes);
    // passes of equal size, as a short one would wait for the latency of its few chains; but of whole cache lines, or
    // neighbouring passes would both read the line between them (measured: 1.15 against 1.46 of the floor at H = 48)
    let passes = vectors.len().div_ceil(at_once);
    let line = (LINE / isa.lanes).max(1);
    let size = vectors.len().div_ceil(passes).next_multiple_of(line).min(at_once);
    Tiling::Columns(vectors.chunks(size).map(<[_]>::to_vec).collect())
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (isa, fused) in &self.isas {
            let profile = if *fused { "fused" } else { "split" };
            writeln!(f, "{}: {} lanes, {} registers, {profile} multiply-add", isa.name, isa.lanes, isa.registers)?;
        }
        if self.flush_denormals {
            writeln!(f, "states below 2^-100 become 0")?;
        }
        for chain in self.fusion.chains() {
            let links: Vec<_> = chain.links.iter().map(|v| format!("value {v}")).collect();
            writeln!(f, "value {}: on to {} in registers", chain.root, links.join(", "))?;
        }
        for (i, cell) in self.products.iter().enumerate() {
            writeln!(f, "product {i}: {} packed weights ({} bytes)", cell.weights, cell.weights * 4)?;
            for reason in &cell.reasons {
                writeln!(f, "  {reason}")?;
            }
            for (p, panels) in cell.panels.iter().enumerate() {
                writeln!(f, "  {} panel(s) of {} columns from column {}", panels.count, panels.columns, panels.first)?;
                for ((isa, _), tilings) in self.isas.iter().zip(&cell.tilings) {
                    match &tilings[p] {
                        Tiling::Columns(passes) => {
                            let text: Vec<_> = passes
                                .iter()
                                .map(|v| v.iter().map(|(_, w)| w.to_string()).collect::<Vec<_>>().join("+"))
                                .collect();
                            writeln!(f, "    {}: passes over columns {}", isa.name, text.join(", "))?;
                        }
                        Tiling::Runs => writeln!(f, "    {}: gates as runs of lanes", isa.name)?,
                    }
                }
            }
        }
        Ok(())
    }
}
