//! The walk over the statements and expressions of kernels and functions.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::block::Block;
use super::dialect::{Context, Dialect, PassForm, PrivateMemory};
use super::file_names::FileNames;
use super::statements::{BlockOperands, Operand, TileOperands};
use super::stored::Stored;
use super::text::Text;
use crate::emit::names::Scope;
use crate::kernel::{
    Base, BodyRef, BufferId, Expr, Kernel, Local, Loops, Place, ScalarFunction, Stmt, WindowId,
};

/// The statements after the leading stores of 0 in private memory.
fn without_zeros<'b>(mut body: &'b [Stmt], kernel: &Kernel) -> &'b [Stmt] {
    while let [Stmt::Store { to: Place { base: Base::Buffer(id), .. }, value }, rest @ ..] = body
        && kernel.scratch.contains(id)
        && *value == Expr::f32(0.0, 1)
    {
        body = rest;
    }
    body
}

impl FileNames {
    /// Writes all kernels of a body.
    pub(in crate::emit) fn all_kernels(&self, body: BodyRef<'_>, dialect: &mut impl Dialect) {
        for (kernel, name) in self.written(body.body) {
            let params: Vec<_> =
                kernel.params.iter().map(|(id, written)| (self.buffer(*id), *written)).collect();
            dialect.begin_kernel(kernel, name, &params);
            self.kernel(kernel, dialect);
            dialect.end_kernel();
        }
    }

    /// Walks the body of a kernel.
    fn kernel(&self, kernel: &Kernel, dialect: &mut impl Dialect) {
        let mut scope = Scope::within(Rc::clone(&self.scope));
        scope.take(kernel.scratch.iter().map(|id| &self.buffer(*id).name[..]));
        let mut walk = Traversal {
            shared: self,
            locals: &kernel.locals,
            names: vec![String::new(); kernel.locals.len()],
            kernel,
            windows: Vec::new(),
            wholes: BTreeMap::new(),
            hidden: BTreeMap::new(),
            scope,
            context: Context::Kernel,
        };
        // conditions around the whole kernel come before preparations
        let (mut body, mut conditions) = (&kernel.body[..], 0);
        while let [Stmt::If { less: (a, b), then, otherwise }] = body
            && otherwise.is_empty()
        {
            let (a, b) = (walk.expr(a, dialect), walk.expr(b, dialect));
            dialect.begin_if(a, b);
            (body, conditions) = (then, conditions + 1);
        }
        let loaded = kernel.loaded_lanes();
        for id in &kernel.scratch {
            dialect.scratch(self.buffer(*id), loaded.contains(&Base::Buffer(*id)));
        }
        if dialect.private_memory() == PrivateMemory::Zero {
            body = without_zeros(body, kernel);
        }
        walk.hide_counts(body, dialect);
        walk.block(body, dialect);
        for id in &kernel.hints.loaded_in_parts {
            dialect.loaded_in_parts(self.buffer(*id));
        }
        (0..conditions).for_each(|_| dialect.end_block());
    }

    /// Writes the functions for kernels, in as many variants as the dialect needs.
    pub(in crate::emit) fn all_functions(&self, body: BodyRef<'_>, dialect: &mut impl Dialect) {
        for (at, lanes) in dialect.wanted(&self.functions) {
            self.function(&body.functions[at], &self.functions[at], lanes, dialect);
        }
    }

    fn function(
        &self,
        function: &ScalarFunction,
        name: &str,
        lanes: usize,
        dialect: &mut impl Dialect,
    ) {
        let mut scope = Scope::within(Rc::clone(&self.outer));
        let mut names = vec![String::new(); function.locals.len()];
        for (name, param) in names.iter_mut().zip(&function.locals).take(function.params) {
            *name = scope.unique(&param.name);
        }
        dialect.begin_function(&function.doc, name, lanes, &names[..function.params]);
        let none = Kernel::default();
        let mut walk = Traversal {
            shared: self,
            locals: &function.locals,
            names,
            kernel: &none,
            windows: Vec::new(),
            wholes: BTreeMap::new(),
            hidden: BTreeMap::new(),
            scope,
            context: Context::Function,
        };
        walk.block(&function.body, dialect);
        let result = function.result.as_ref().expect("emit: activations are expanded");
        let result = walk.expr(result, dialect);
        dialect.end_function(name, lanes, result);
    }
}

pub(super) struct Traversal<'a> {
    pub(super) shared: &'a FileNames,
    pub(super) locals: &'a [Local],
    pub(super) names: Vec<String>,
    /// The kernel. Empty for functions.
    pub(super) kernel: &'a Kernel,
    pub(super) windows: Vec<Option<Block>>,
    /// The buffers behind windows of passes.
    pub(super) wholes: BTreeMap<WindowId, BufferId>,
    /// By number of iterations: the variable that hides the number from compilers.
    pub(super) hidden: BTreeMap<usize, String>,
    pub(super) scope: Scope,
    pub(super) context: Context,
}

impl Traversal<'_> {
    pub(super) fn base(&self, base: Base) -> &Block {
        match base {
            Base::Buffer(id) => self.shared.buffer(id),
            Base::Window(WindowId(i)) => {
                self.windows[i].as_ref().expect("emit: a window is used inside its loop")
            }
        }
    }

    /// The operand at a place. For places without column groups.
    pub(super) fn operand(&self, place: Place) -> Operand<'_> {
        Operand { block: self.base(place.base), offset: place.offset }
    }

    /// Binds a window to its memory.
    pub(super) fn enter(&mut self, WindowId(i): WindowId, window: Block) {
        if self.windows.len() <= i {
            self.windows.resize(i + 1, None);
        }
        self.windows[i] = Some(window);
    }

    pub(super) fn declare(&mut self, stmt: &Stmt, dialect: &mut impl Dialect) {
        if let Stmt::Let { var, mutable, value } = stmt {
            let value = self.expr(value, dialect);
            dialect.declare(
                &self.names[var.0],
                self.locals[var.0].ty,
                *mutable,
                value,
                self.context,
            );
        }
    }

    /// Names the values that a block declares. The names hide no surrounding buffer, function or
    /// value.
    fn name_values(&mut self, body: &[Stmt]) {
        for stmt in body {
            if let Stmt::Let { var, .. } = stmt {
                self.names[var.0] = self.scope.unique(&self.locals[var.0].name);
            }
        }
    }

    pub(super) fn block(&mut self, body: &[Stmt], dialect: &mut impl Dialect) {
        self.name_values(body);
        let mut at = 0;
        let mut stored = Stored::default();
        while let Some(stmt) = body.get(at) {
            let (done, others) = body.split_at(at + 1);
            at += match stmt {
                Stmt::Let { .. } => self.values(&body[at..], dialect),
                Stmt::Store { to, value } => {
                    self.store((*to, value), [done, others], &mut stored, dialect);
                    1
                }
                stmt => {
                    self.statement(stmt, dialect);
                    1
                }
            };
            let ends_pass = matches!(stmt, Stmt::Store { .. } | Stmt::Copy(_));
            if ends_pass && self.kernel.loops == Loops::WithoutZeros {
                self.read_again(others, dialect);
            }
        }
    }

    fn statement(&mut self, stmt: &Stmt, dialect: &mut impl Dialect) {
        match stmt {
            Stmt::Let { .. } | Stmt::Store { .. } => {
                unreachable!("emit: the block looks at the statements around")
            }
            Stmt::Set { var, value } => {
                let value = self.expr(value, dialect);
                dialect.assign(&self.names[var.0], value);
            }
            Stmt::For { count, walks, body, .. }
                if dialect.passes() == PassForm::Named && self.is_pass(walks) =>
            {
                self.passes(*count, walks, body, dialect)
            }
            Stmt::For { count, counter, backwards, walks, body } => {
                self.repeated(*count, [*counter, *backwards], (walks, body), dialect);
            }
            Stmt::Pick { at, count, walk, body } => self.picked((at, *count), walk, body, dialect),
            Stmt::If { less: (a, b), then, otherwise } => {
                let (a, b) = (self.expr(a, dialect), self.expr(b, dialect));
                dialect.begin_if(a, b);
                self.block(then, dialect);
                if !otherwise.is_empty() {
                    dialect.begin_else();
                    self.block(otherwise, dialect);
                }
                dialect.end_block();
            }
            Stmt::LeaveUnless { less: (a, b) } => {
                let (a, b) = (self.expr(a, dialect), self.expr(b, dialect));
                dialect.leave_unless(a, b);
            }
            Stmt::Copy(copied) => self.copy(copied, dialect),
            Stmt::Tiles(tiles) => {
                let [elements, weights, sums] =
                    [tiles.elements, tiles.weights, tiles.to].map(|place| self.operand(place));
                dialect.tiles(&TileOperands { elements, weights, sums }, tiles);
            }
            Stmt::Blocks(sums) => {
                let operands = BlockOperands {
                    elements: self.operand(sums.elements),
                    weights: self.operand(sums.weights),
                    counts: self.operand(sums.counts),
                    inputs: self.operand(sums.inputs),
                    sums: self.operand(sums.to),
                };
                dialect.blocks(&operands, sums);
            }
            Stmt::Comment(text) => dialect.comment(text),
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr, dialect: &mut impl Dialect) -> Text {
        match expr {
            Expr::Load { from: Place { base, offset }, lanes } => {
                let block = self.base(*base);
                dialect.load(block, block.at(*offset), *lanes)
            }
            Expr::Splat { from: Place { base, offset }, lanes } => {
                let block = self.base(*base);
                dialect.splat(block, block.at(*offset), *lanes)
            }
            Expr::Length { from: Place { base, offset }, least, most } => {
                dialect.length(self.base(*base), *offset, *least, *most)
            }
            Expr::Const { bits, ty } => dialect.constant(*bits, *ty, self.context),
            Expr::Var(var) => Text::atom(self.names[var.0].clone()),
            Expr::Op(operation, args) => {
                let ty = expr.ty(self.locals);
                let args = args.iter().map(|a| self.expr(a, dialect)).collect();
                dialect.operation(*operation, ty, args, self.context)
            }
            Expr::Call(function, args) => {
                let lanes = expr.ty(self.locals).lanes;
                let args = args.iter().map(|a| self.expr(a, dialect)).collect();
                dialect.call(&self.shared.functions[*function], lanes, args)
            }
        }
    }
}
