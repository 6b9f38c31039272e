//! Counts the work of a step from its kernels.
//!
//! A statement counts once per iteration of the loops around it. The blocks of a branch count by
//! how often each is taken, if the condition depends only on iteration numbers and on lengths known
//! when compiling; otherwise only the dearer block counts. Sequences have full length.

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::{Calls, Instructions, Isa, TILE_WORDS, WorkKind};
use crate::kernel::{
    Base, BlockProduct, BlockSums, BodyRef, BufferId, Copied, Element, Expr, Kernel, LaneOp, Local,
    Place, Stmt, Var, WindowId,
};

/// The amount of each kind of work, in the order of [`WorkKind::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amounts([f64; WorkKind::ALL.len()]);

impl Amounts {
    /// The amount of `work`.
    pub fn amount(&self, work: WorkKind) -> f64 {
        self.0[work as usize]
    }

    /// Instructions for this work.
    pub fn instructions(&self, costs: &Instructions) -> f64 {
        costs.each.iter().map(|(work, each)| each * self.amount(*work)).sum()
    }

    /// Code size of this work, in bytes.
    pub fn bytes(&self, costs: &Instructions) -> f64 {
        let written: f64 =
            WorkKind::ALL.iter().map(|work| costs.written(*work) * self.amount(*work)).sum();
        written * costs.bytes
    }

    pub(super) fn add(&mut self, work: WorkKind, count: f64) {
        self.0[work as usize] += count;
    }

    pub(super) fn add_all(&mut self, other: &Self, times: f64) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, amount)| *sum += amount * times);
    }
}

/// The kind of work of one operation in the product of a block of weights.
fn block_work(product: BlockProduct) -> WorkKind {
    match product {
        BlockProduct::Floats | BlockProduct::FloatQuads => WorkKind::MultiplyAdd,
        BlockProduct::Quads | BlockProduct::WidenedQuads => WorkKind::DotQuads,
        BlockProduct::Pairs => WorkKind::DotPairs,
    }
}

/// Work of the kernels in one step.
pub(super) fn of_step(body: BodyRef<'_>, isa: &Isa, costs: &Instructions) -> Amounts {
    let mut work = Amounts::default();
    for kernel in body.of_step() {
        work.add_all(&of_kernel(kernel, body, isa, costs, false), 1.0);
    }
    work
}

/// Work in the code of a body, each statement once. Kernels that differ only in their buffers share
/// code.
pub(super) fn of_text(body: BodyRef<'_>, isa: &Isa, costs: &Instructions) -> Amounts {
    let mut work = Amounts::default();
    let mut seen = BTreeSet::new();
    for kernel in &body.kernels {
        if seen.insert(kernel.anonymous()) {
            work.add_all(&of_kernel(kernel, body, isa, costs, true), 1.0);
        }
    }
    if isa.code.calls != Calls::Inlined {
        functions(body, isa, costs).iter().for_each(|function| work.add_all(function, 1.0));
    }
    work
}

/// Work of each function for one vector.
fn functions(body: BodyRef<'_>, isa: &Isa, costs: &Instructions) -> Vec<Amounts> {
    let one = |function: &crate::kernel::ScalarFunction| {
        let mut counting = Counting {
            body,
            isa,
            costs,
            locals: &function.locals,
            functions: &[],
            windows: BTreeMap::new(),
            lengths: BTreeMap::new(),
            iterations: BTreeMap::new(),
            text: false,
        };
        let mut sum = counting.block(&function.body);
        if let Some(result) = &function.result {
            counting.expression(result, &mut sum);
        }
        sum
    };
    body.functions.iter().map(one).collect()
}

/// Work of a kernel in one step, or in its code if `text`.
pub(super) fn of_kernel(
    kernel: &Kernel,
    body: BodyRef<'_>,
    isa: &Isa,
    costs: &Instructions,
    text: bool,
) -> Amounts {
    let mut functions = functions(body, isa, costs);
    if text && isa.code.calls != Calls::Inlined {
        // functions are counted in `of_text`
        functions.fill(Amounts::default());
    }
    let mut counting = Counting {
        body,
        isa,
        costs,
        locals: &kernel.locals,
        functions: &functions,
        windows: BTreeMap::new(),
        lengths: BTreeMap::new(),
        iterations: BTreeMap::new(),
        text,
    };
    let mut sum = counting.block(&kernel.body);
    sum.add(WorkKind::Kernel, 1.0);
    sum
}

/// Counts the work of one kernel or function.
struct Counting<'a> {
    body: BodyRef<'a>,
    isa: &'a Isa,
    costs: &'a Instructions,
    locals: &'a [Local],
    /// Work of each function for one vector.
    functions: &'a [Amounts],
    /// The buffer of each window.
    windows: BTreeMap<WindowId, BufferId>,
    /// All values of each length known when compiling.
    lengths: BTreeMap<Var, Vec<u32>>,
    /// The number of iterations of the loop of each counter.
    iterations: BTreeMap<Var, u32>,
    /// True to count code (each statement once), false to count executions.
    text: bool,
}

impl Counting<'_> {
    fn block(&mut self, body: &[Stmt]) -> Amounts {
        let mut sum = Amounts::default();
        let mut rest = body;
        while let [stmt, others @ ..] = rest {
            rest = &others[self.neighbours(stmt, others)..];
            self.statement(stmt, &mut sum);
        }
        sum
    }

    /// Number of following statements whose loads merge into this statement's load instruction.
    fn neighbours(&self, stmt: &Stmt, others: &[Stmt]) -> usize {
        let Stmt::Let { value: Expr::Load { from, lanes }, .. } = stmt else { return 0 };
        if self.element(*from) != Element::F32 {
            return 0;
        }
        let is_next = |(at, stmt): &(usize, &Stmt)| match stmt {
            Stmt::Let { mutable: false, value: Expr::Load { from: other, lanes: n }, .. } => {
                let next = from.offset + (at + 1) * lanes;
                other.base == from.base && other.offset == next && n == lanes
            }
            _ => false,
        };
        let together = (self.isa.code.loads / self.registers(*lanes)).max(1);
        others.iter().enumerate().take(together - 1).take_while(is_next).count()
    }

    /// True if one instruction loads the several registers of a value.
    fn is_one_load(&self, value: &Expr) -> bool {
        let Expr::Load { from, lanes } = value else { return false };
        let registers = self.registers(*lanes);
        self.element(*from) == Element::F32 && (2..=self.isa.code.loads).contains(&registers)
    }

    fn statement(&mut self, stmt: &Stmt, sum: &mut Amounts) {
        match stmt {
            Stmt::Let { var, value, .. } => {
                if let Expr::Length { from, most, .. } = value
                    && let Some(all) = self.table(*from)
                {
                    let limited = all
                        .iter()
                        .map(|length| (*length).min(u32::try_from(*most).unwrap_or(u32::MAX)));
                    self.lengths.insert(*var, limited.collect());
                }
                match self.is_one_load(value) {
                    true => sum.add(WorkKind::Load, 1.0),
                    false => self.expression(value, sum),
                }
            }
            Stmt::Set { value, .. } => self.expression(value, sum),
            Stmt::Store { value, .. } => {
                self.expression(value, sum);
                sum.add(WorkKind::Store, self.vectors(value.ty(self.locals).lanes));
            }
            Stmt::For { count, counter, walks, body, .. } => {
                if let Some(counter) = counter {
                    self.iterations.insert(*counter, u32::try_from(*count).unwrap_or(u32::MAX));
                }
                for walk in walks {
                    let buffer = self.buffer(walk.start);
                    self.windows.insert(walk.window, buffer);
                }
                let mut inner = self.block(body);
                inner.add(WorkKind::Iteration, 1.0);
                inner.add(WorkKind::Window, walks.len() as f64);
                inner.add(
                    WorkKind::Overlap,
                    walks.iter().filter(|walk| walk.stride < walk.len).count() as f64,
                );
                sum.add_all(&inner, if self.text { 1.0 } else { *count as f64 });
                sum.add(WorkKind::Loop, 1.0);
            }
            Stmt::Pick { at, walk, body, .. } => {
                self.expression(at, sum);
                let buffer = self.buffer(walk.start);
                self.windows.insert(walk.window, buffer);
                let inner = self.block(body);
                sum.add(WorkKind::Window, 1.0);
                sum.add_all(&inner, 1.0);
            }
            Stmt::If { less, then, otherwise } => {
                self.expression(&less.0, sum);
                self.expression(&less.1, sum);
                sum.add(WorkKind::Branch, 1.0);
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                let dearer = then.instructions(self.costs) >= otherwise.instructions(self.costs);
                let taken = self.often(less).unwrap_or(if dearer { 1.0 } else { 0.0 });
                sum.add_all(&then, if self.text { 1.0 } else { taken });
                sum.add_all(&otherwise, if self.text { 1.0 } else { 1.0 - taken });
            }
            Stmt::LeaveUnless { less } => {
                self.expression(&less.0, sum);
                self.expression(&less.1, sum);
                sum.add(WorkKind::Branch, 1.0);
            }
            Stmt::Copy(copied) => self.copy(copied, sum),
            // dot products across lanes; the cost includes the loads
            Stmt::Tiles(tiles) if tiles.abreast > 1 => {
                let work =
                    if tiles.in_word == 4 { WorkKind::DotQuads } else { WorkKind::DotPairsOfOne };
                let (iterations, rest) = tiles.iterations(self.isa.code.rows);
                let iterations = if self.text { iterations.min(1) } else { iterations };
                let vectors = tiles.columns * (iterations * self.isa.code.rows + rest);
                sum.add(work, (tiles.rows * tiles.panels * vectors) as f64);
            }
            Stmt::Blocks(sums) => self.blocks(sums, sum),
            // one AMX instruction: 16 words for each of 16 rows and 16 columns
            Stmt::Tiles(tiles) => {
                let each = (TILE_WORDS * TILE_WORDS * TILE_WORDS) as f64;
                sum.add(
                    WorkKind::DotQuads,
                    if self.text { 1.0 } else { tiles.products() as f64 / each },
                );
            }
            Stmt::Comment(_) => {}
        }
    }

    /// Sums over blocks: only the blocks that are not zero take time.
    fn blocks(&self, sums: &BlockSums, sum: &mut Amounts) {
        let (present, rows) = match self.text {
            true => (1.0, 1.0),
            false => (sums.present as f64, sums.block_rows as f64),
        };
        let operations = (sums.rows * sums.product.operations().len()) as f64;
        sum.add(block_work(sums.product), present * operations);
        let words = sums.block_words() + sums.product.element_words();
        // integers are loaded in pairs
        let together = if sums.product.is_float() { sums.rows } else { 2 };
        let loads = words.div_ceil(together.min(self.isa.code.loads).max(1));
        sum.add(WorkKind::Load, present * loads as f64);
        sum.add(WorkKind::Length, present + rows);
        sum.add(WorkKind::Iteration, present);
        sum.add(WorkKind::Loop, rows);
        sum.add(WorkKind::Window, rows);
        sum.add(WorkKind::Store, rows * sums.rows as f64);
    }

    /// Contents of the table at `from`, or `None` if `from` is no table.
    fn table(&self, from: Place) -> Option<&[u32]> {
        let buffer = self.buffer(from);
        self.body
            .program
            .tables
            .iter()
            .find(|(known, _)| *known == buffer)
            .map(|(_, values)| &values[..])
    }

    /// Fraction of iterations with first < second. `None` if unknown when compiling.
    fn often(&self, (first, second): &(Expr, Expr)) -> Option<f64> {
        let named = |expr: &Expr| match expr {
            Expr::Const { bits, .. } => Some(vec![*bits]),
            Expr::Var(var) => match self.iterations.get(var) {
                Some(count) => Some((0..*count).collect()),
                None => self.lengths.get(var).cloned(),
            },
            _ => None,
        };
        // reverse sequences count down
        let values = |expr: &Expr| match expr {
            Expr::Op(LaneOp::WrappingSub, args) => match &args[..] {
                [Expr::Const { bits, .. }, other] => {
                    Some(named(other)?.into_iter().map(|value| bits.wrapping_sub(value)).collect())
                }
                _ => None,
            },
            _ => named(expr),
        };
        let (first, second) = (values(first)?, values(second)?);
        let below = |limit: &u32| first.iter().filter(|value| *value < limit).count();
        let pairs = first.len() * second.len();
        (pairs > 0).then(|| second.iter().map(below).sum::<usize>() as f64 / pairs as f64)
    }

    fn copy(&self, copied: &Copied, sum: &mut Amounts) {
        let extents = copied.dims.iter().map(|dim| dim.extent as f64);
        let elements: f64 = if self.text { 1.0 } else { extents.product() };
        let line = copied.dims.last().map_or(1, |dim| dim.extent) as f64;
        let neighbours =
            copied.dims.last().is_none_or(|dim| dim.from_stride == 1 && dim.to_stride == 1);
        sum.add(if neighbours { WorkKind::Neighbour } else { WorkKind::Element }, elements);
        sum.add(WorkKind::Line, if self.text { 1.0 } else { elements / line });
    }

    fn expression(&self, expr: &Expr, sum: &mut Amounts) {
        let vectors = self.vectors(expr.ty(self.locals).lanes);
        match expr {
            Expr::Load { from, .. } => {
                let work = match self.element(*from) {
                    Element::F16 => WorkKind::LoadHalf,
                    Element::I8 => WorkKind::LoadByte,
                    Element::I8Pair => WorkKind::LoadBytePairs,
                    _ => WorkKind::Load,
                };
                sum.add(work, vectors);
            }
            Expr::Splat { .. } => sum.add(WorkKind::Splat, 1.0),
            Expr::Length { .. } => sum.add(WorkKind::Length, 1.0),
            Expr::Const { .. } => sum.add(WorkKind::Constant, 1.0),
            Expr::Var(_) => {}
            // a load of bits costs as much as a load of f32
            Expr::Op(LaneOp::ToBits, args)
                if matches!(args[..], [Expr::Load { .. } | Expr::Splat { .. }]) =>
            {
                self.expression(&args[0], sum);
            }
            Expr::Op(operation, args) if operation.is_dot() => {
                for arg in args {
                    match arg {
                        Expr::Op(LaneOp::ToBits, args) => {
                            args.iter().for_each(|expr| self.expression(expr, sum))
                        }
                        _ => self.expression(arg, sum),
                    }
                }
                let work = match operation {
                    LaneOp::DotPairs => WorkKind::DotPairs,
                    LaneOp::DotPairsByLane(_) => WorkKind::DotPairsOfOne,
                    _ => WorkKind::DotQuads,
                };
                sum.add(work, vectors);
            }
            Expr::Op(operation, args) => {
                args.iter().for_each(|arg| self.expression(arg, sum));
                let work = match operation {
                    LaneOp::MulAdd => WorkKind::MultiplyAdd,
                    LaneOp::Add | LaneOp::Sub => WorkKind::Add,
                    LaneOp::Mul => WorkKind::Multiply,
                    LaneOp::Div => WorkKind::Divide,
                    LaneOp::Max | LaneOp::Min | LaneOp::MaxMagnitude | LaneOp::SelectLess => {
                        WorkKind::Select
                    }
                    LaneOp::Flush => WorkKind::Flush,
                    LaneOp::FromSigned => WorkKind::Convert,
                    _ => WorkKind::Bits,
                };
                sum.add(work, vectors);
            }
            Expr::Call(function, args) => {
                args.iter().for_each(|arg| self.expression(arg, sum));
                sum.add(WorkKind::Call, vectors);
                sum.add_all(&self.functions[*function], vectors);
            }
        }
    }

    fn vectors(&self, lanes: usize) -> f64 {
        self.registers(lanes) as f64
    }

    /// The number of registers that hold a value of `lanes` lanes.
    fn registers(&self, lanes: usize) -> usize {
        lanes.div_ceil(self.isa.lanes)
    }

    fn element(&self, place: Place) -> Element {
        self.body.buffer(self.buffer(place)).element
    }

    fn buffer(&self, place: Place) -> BufferId {
        match place.base {
            Base::Buffer(buffer) => buffer,
            Base::Window(window) => self.windows[&window],
        }
    }
}
