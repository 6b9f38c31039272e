//! Estimated costs of kernels, from their statements.
//!
//! Every statement counts as often as loops run the statement: vector operations of arithmetic and
//! stores, and the bytes of loaded weights and constants. A branch counts as the side with more
//! operations.

use std::collections::BTreeMap;

use crate::arch::{Costs, Isa, TILE_WORDS};
use crate::kernel::{
    Base, BodyRef, BufferId, Copied, Expr, Kernel, LaneOp, Local, Place, Role, Stmt, Tiles,
    WindowId,
};
use crate::plan;

/// The cost of a division, in operations: a division occupies its unit about as long as eight
/// multiplications.
const DIVISION: u64 = 8;

/// The cost of a flush, in operations: the magnitude, a comparison, a mask.
const FLUSH: u64 = 3;

/// The cost of a strided copy per element, in operations: a load and a store.
const ELEMENT: u64 = 2;

/// The formula for cycles, as text for reports.
pub(super) fn formula(costs: &Costs) -> String {
    let begun = costs.multiply_adds_per_cycle;
    format!(
        "cycles = max(operations / {begun}, weight bytes read / (4 x lanes)): {begun} vector \
         operations, or one vector of weights, a cycle; a division counts as {DIVISION} \
         operations, an element copied out of order as {ELEMENT}, of two branches the dearer"
    )
}

/// The work of a kernel in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Vector operations.
    pub(super) operations: u64,
    /// Bytes of loaded weights and constants. Repeated loads count repeatedly.
    pub(super) weight_bytes: u64,
}

impl Cost {
    /// The cost of a kernel.
    pub(super) fn new(kernel: &Kernel, body: BodyRef<'_>, isa: &Isa) -> Self {
        // a scalar function costs as much as its vector version; functions call no functions
        let functions = body.functions.iter().map(|function| {
            let mut counting = Counting::new(body, isa, &function.locals, Vec::new());
            let body = counting.block(&function.body);
            function.result.as_ref().map_or(body, |result| body.and(counting.expression(result)))
        });
        Counting::new(body, isa, &kernel.locals, functions.collect()).block(&kernel.body)
    }

    /// The cycles, by [`formula`].
    pub(super) fn cycles(self, isa: &Isa, costs: &Costs) -> f64 {
        plan::cycles(
            self.operations as f64,
            self.weight_bytes as f64,
            (4 * isa.lanes) as f64,
            costs,
        )
    }

    fn and(self, other: Self) -> Self {
        Self {
            operations: self.operations.saturating_add(other.operations),
            weight_bytes: self.weight_bytes.saturating_add(other.weight_bytes),
        }
    }

    fn times(self, n: u64) -> Self {
        Self {
            operations: self.operations.saturating_mul(n),
            weight_bytes: self.weight_bytes.saturating_mul(n),
        }
    }

    fn operations(operations: u64) -> Self {
        Self { operations, weight_bytes: 0 }
    }
}

struct Counting<'a> {
    body: BodyRef<'a>,
    lanes: usize,
    locals: &'a [Local],
    /// The cost of each function of the body, per vector.
    functions: Vec<Cost>,
    /// The buffer under each window.
    windows: BTreeMap<WindowId, BufferId>,
}

impl<'a> Counting<'a> {
    fn new(body: BodyRef<'a>, isa: &Isa, locals: &'a [Local], functions: Vec<Cost>) -> Self {
        Self { body, lanes: isa.lanes, locals, functions, windows: BTreeMap::new() }
    }

    fn block(&mut self, body: &[Stmt]) -> Cost {
        body.iter().fold(Cost::default(), |sum, stmt| sum.and(self.statement(stmt)))
    }

    fn statement(&mut self, stmt: &Stmt) -> Cost {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } => self.expression(value),
            Stmt::Store { value, .. } => {
                let stores = self.vectors(value.ty(self.locals).lanes);
                self.expression(value).and(Cost::operations(stores))
            }
            Stmt::For { count, walks, body, .. } => {
                for walk in walks {
                    let buffer = self.buffer(walk.start);
                    self.windows.insert(walk.window, buffer);
                }
                self.block(body).times(*count as u64)
            }
            Stmt::Pick { at, walk, body, .. } => {
                let buffer = self.buffer(walk.start);
                self.windows.insert(walk.window, buffer);
                self.expression(at).and(self.block(body))
            }
            Stmt::If { less, then, otherwise } => {
                let condition = self.expression(&less.0).and(self.expression(&less.1));
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                condition.and(if then.operations >= otherwise.operations {
                    then
                } else {
                    otherwise
                })
            }
            Stmt::LeaveUnless { less } => self.expression(&less.0).and(self.expression(&less.1)),
            Stmt::Copy(copied) => self.copy(copied),
            Stmt::Tiles(tiles) => self.tiles(tiles),
            Stmt::Blocks(sums) => {
                let of_block = sums.rows * sums.product.operations().len();
                Cost {
                    operations: (sums.present * of_block) as u64,
                    weight_bytes: self.bytes(sums.weights, sums.present * sums.block_words()),
                }
            }
            Stmt::Comment(_) => Cost::default(),
        }
    }

    fn tiles(&self, tiles: &Tiles) -> Cost {
        let weights = tiles.panels * tiles.words * tiles.columns;
        // one operation multiplies TILE_WORDS vectors of words; interleaved words, one vector
        let each = if tiles.abreast > 1 { 1 } else { TILE_WORDS as u64 };
        let vectors = self.vectors(tiles.products()).div_ceil(each);
        Cost { operations: vectors, weight_bytes: self.bytes(tiles.weights, weights) }
    }

    fn copy(&self, copied: &Copied) -> Cost {
        let elements: usize = copied.dims.iter().map(|d| d.extent).product();
        let Some(inner) = copied.dims.last() else { return Cost::default() };
        let operations = match (inner.from_stride, inner.to_stride) {
            (1, 1) => self.vectors(inner.extent) * (elements / inner.extent.max(1)) as u64,
            _ => ELEMENT * elements as u64,
        };
        Cost { operations, weight_bytes: self.bytes(copied.from, elements) }
    }

    fn expression(&self, expr: &Expr) -> Cost {
        let cost_of = |args: &[Expr]| {
            args.iter().fold(Cost::default(), |sum, arg| sum.and(self.expression(arg)))
        };
        let vectors = self.vectors(expr.ty(self.locals).lanes);
        match expr {
            Expr::Load { from, lanes } => {
                Cost { operations: 0, weight_bytes: self.bytes(*from, *lanes) }
            }
            Expr::Splat { from, .. } => Cost { operations: 0, weight_bytes: self.bytes(*from, 1) },
            Expr::Const { .. } | Expr::Length { .. } | Expr::Var(_) => Cost::default(),
            Expr::Op(operation, args) => {
                let each = match operation {
                    LaneOp::Div => DIVISION,
                    LaneOp::ToBits | LaneOp::FromBits => 0,
                    LaneOp::Flush => FLUSH,
                    _ => 1,
                };
                cost_of(args).and(Cost::operations(each * vectors))
            }
            Expr::Call(function, args) => {
                cost_of(args).and(self.functions[*function].times(vectors))
            }
        }
    }

    fn vectors(&self, lanes: usize) -> u64 {
        lanes.div_ceil(self.lanes) as u64
    }

    /// The bytes of loaded elements, if weights or constants. Else 0.
    fn bytes(&self, from: Place, elements: usize) -> u64 {
        let buffer = self.body.buffer(self.buffer(from));
        match buffer.role {
            Role::Weights | Role::Constant(_) => (buffer.element.size() * elements) as u64,
            _ => 0,
        }
    }

    fn buffer(&self, place: Place) -> BufferId {
        match place.base {
            Base::Buffer(buffer) => buffer,
            Base::Window(window) => self.windows[&window],
        }
    }
}
