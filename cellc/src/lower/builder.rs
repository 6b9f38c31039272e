//! A kernel under construction.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Lowering;
use crate::kernel::{
    Base, BufferId, Copied, CopiedDim, Expr, Kernel, LaneOp, Local, Place, Role, Scalar, Stmt, Type, Var, Walk,
    WindowId,
};
use crate::model::{Activation, Pointwise, PointwiseFunction, Source, ValidNode, ValidOp};
use crate::plan::{Half, Phase};

/// A kernel under construction, and the program around it.
pub(super) struct KernelBuilder<'a, 'm> {
    pub(super) lowering: &'a mut Lowering<'m>,
    kernel: Kernel,
    /// What of a cell it is for, if not all of it.
    pub(super) half: Option<&'m Half>,
    windows: usize,
    /// By length: see [`Self::tile_rows`].
    tile_rows: BTreeMap<usize, Vec<Place>>,
    /// By name: what is left of tensors that were given, and for how many elements there is room.
    flushed: BTreeMap<&'static str, (Place, usize)>,
    /// By the length of a vector and by phase: its whole numbers, its scales, and for how many rows
    /// there is room.
    quantised: BTreeMap<(usize, Phase), (Place, Place, usize)>,
    /// By phase: see [`Self::tile_sums`], and how many there is room for.
    tile_sums: BTreeMap<Phase, (Place, usize)>,
    /// By name and number of lanes: see [`Self::lane_room`].
    lane_rooms: BTreeMap<(&'static str, usize), BufferId>,
}

impl<'a, 'm> KernelBuilder<'a, 'm> {
    pub(super) fn new(lowering: &'a mut Lowering<'m>) -> Self {
        let (kernel, tile_rows, flushed) = (Kernel::default(), BTreeMap::new(), BTreeMap::new());
        let (quantised, tile_sums, lane_rooms) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { lowering, kernel, half: None, windows: 0, tile_rows, flushed, quantised, tile_sums, lane_rooms }
    }

    /// What an operation does, with the pointwise work that is fused into it, and what to say of
    /// it.
    pub(super) fn statements(&mut self, node: &'m ValidNode) -> (Vec<String>, Vec<Stmt>) {
        self.kernel.nodes.push(self.lowering.positions[&node.op.outputs()[0]]);
        match self.lowering.root(node) {
            ValidOp::Cell(cell) => self.cell(cell),
            ValidOp::Dense(dense) => self.dense(dense),
            ValidOp::MatMul(matmul) => self.matmul(matmul),
            ValidOp::Convolve(convolve) => self.convolve(convolve),
            ValidOp::Pointwise(pointwise) => self.pointwise(pointwise),
            ValidOp::Softmax(softmax) => self.softmax(softmax),
            ValidOp::Reduce(reduce) => self.reduce(reduce),
            ValidOp::View(view) => self.view(view),
            ValidOp::Concat(concat) => self.concat(concat),
            ValidOp::Loop(body) => self.body(body),
            ValidOp::Integers(integers) => self.integers(integers),
            ValidOp::Lookup(lookup) => self.lookup(lookup),
            ValidOp::TopK(top) => self.top_k(top),
        }
    }

    /// The same, done only on the sides of conditions on which it is wanted.
    pub(super) fn statements_on_sides(&mut self, node: &'m ValidNode) -> (Vec<String>, Vec<Stmt>) {
        let (mut doc, mut body) = self.statements(node);
        let sides = self.lowering.sides(node);
        if !sides.is_empty() {
            doc.push("Only on the side of a condition that is taken.".to_owned());
        }
        for (condition, side) in sides.iter().rev() {
            let less = self.side(*condition, *side);
            body = vec![Stmt::If { less, then: body, otherwise: Vec::new() }];
        }
        (doc, body)
    }

    /// Ends the kernel, whose parameters are what its body uses.
    pub(super) fn finish(mut self, name: String, doc: Vec<String>, body: Vec<Stmt>, unroll: bool) {
        let mut params = params(&body);
        params.retain(|(id, _)| !self.kernel.scratch.contains(id));
        // weights, then what is read, then what is written
        let role = |id: BufferId| self.lowering.body_ref().buffer(id).role;
        params.sort_by_key(|(id, written)| (*written, role(*id) != Role::Weights, *id));
        self.kernel = Kernel { name, doc, params, body, unroll, ..self.kernel };
        self.lowering.push(self.kernel);
    }

    pub(super) fn window(&mut self) -> WindowId {
        self.windows += 1;
        WindowId(self.windows - 1)
    }

    /// A new window, and how it moves.
    pub(super) fn walk(&mut self, name: &str, of: Place, len: usize, written: bool) -> (Place, Walk) {
        self.stride(name, of, (len, len), written)
    }

    /// The same of windows of `len` elements that are `step` apart.
    pub(super) fn stride(
        &mut self,
        name: &str,
        of: Place,
        (len, step): (usize, usize),
        written: bool,
    ) -> (Place, Walk) {
        let window = self.window();
        (window.into(), Walk { window, name: name.into(), of, len, step, written, reverse: false })
    }

    /// A buffer that only this kernel uses.
    pub(super) fn scratch(&mut self, name: &str, len: usize) -> BufferId {
        let id = self.lowering.buffer(name, Role::Scratch, len);
        self.kernel.scratch.push(id);
        id
    }

    /// A buffer of which several rows have one each, or that has as many parts: small ones need no
    /// `State`.
    pub(super) fn shared(&mut self, name: &str, len: usize, rows: usize) -> Place {
        match len * rows <= self.lowering.plan.arch.own {
            true => self.scratch(name, len).into(),
            false => self.block(name, len),
        }
    }

    /// Buffers for the sums of rows that are computed together: each its own, as all are written at
    /// once.
    pub(super) fn tile_rows(&mut self, count: usize, len: usize) -> Vec<Place> {
        let mut rows = self.tile_rows.remove(&len).unwrap_or_default();
        while rows.len() < count {
            rows.push(self.shared(&format!("sums{}", rows.len()), len, count));
        }
        let all = rows[..count].to_vec();
        self.tile_rows.insert(len, rows);
        all
    }

    /// Room for the sums of a phase of rows that are computed together.
    pub(super) fn tile_sums(&mut self, phase: Phase, len: usize) -> Place {
        match self.tile_sums.get(&phase) {
            Some((place, room)) if *room >= len => *place,
            _ => {
                let place = self.shared("sums", len, 1);
                self.tile_sums.insert(phase, (place, len));
                place
            }
        }
    }

    /// Where vectors that multiply the weights of a phase are rounded to whole numbers, and their
    /// scales.
    pub(super) fn quantised_room(&mut self, phase: Phase, rows: usize, len: usize) -> (Place, Place) {
        match self.quantised.get(&(len, phase)) {
            Some((elements, scales, room)) if *room >= rows => (*elements, *scales),
            _ => {
                let (elements, scales) = (self.shared("rounded", len * rows, 1), self.scratch("scales", rows).into());
                self.quantised.insert((len, phase), (elements, scales, rows));
                (elements, scales)
            }
        }
    }

    /// Room for the lanes of one vector, which no statement leaves to another.
    pub(super) fn lane_room(&mut self, name: &'static str, lanes: usize) -> BufferId {
        match self.lane_rooms.get(&(name, lanes)) {
            Some(room) => *room,
            None => {
                let room = self.scratch(name, lanes);
                self.lane_rooms.insert((name, lanes), room);
                room
            }
        }
    }

    /// Some of the elements that lie at a place, for this kernel alone to write.
    pub(super) fn part(&mut self, place: Place, elements: Range<usize>) -> Place {
        let Base::Buffer(id) = place.base else { unreachable!("lower: a cell outside of loops writes buffers") };
        let memory = self.lowering.body_ref();
        let (of, at) = memory.whole(id);
        let (name, at) = (memory.buffer(of).name.clone(), at + place.offset + elements.start);
        self.lowering.buffer(name, Role::Part { of, at }, elements.len()).into()
    }

    /// May the kernel run at the same time as the one before it.
    pub(super) fn concurrent(&mut self, concurrent: bool) {
        self.kernel.concurrent = concurrent;
    }

    /// An element that an operation reads.
    pub(super) fn taken(&self, source: Source, value: Expr) -> Expr {
        self.lowering.taken(source, value)
    }

    /// An element that an operation computes.
    pub(super) fn made(&self, value: usize, element: Expr) -> Expr {
        if self.lowering.denormals.is_flushed_at(value) { flush(element) } else { element }
    }

    /// All of a tensor that lies at a place, or, if it was given, what is left of it once it is
    /// flushed.
    pub(super) fn given(&mut self, body: &mut Vec<Stmt>, name: &'static str, source: Source, from: Place) -> Place {
        let len = self.lowering.len(source);
        self.given_rows(body, name, source, from, len)
    }

    /// The same of some of its elements.
    pub(super) fn given_rows(
        &mut self,
        body: &mut Vec<Stmt>,
        name: &'static str,
        source: Source,
        from: Place,
        len: usize,
    ) -> Place {
        if !self.lowering.is_given(source) {
            return from;
        }
        let to = match self.flushed.get(name) {
            Some((place, room)) if *room >= len => *place,
            _ => {
                let to = self.shared(&format!("{name}_flushed"), len, 1);
                self.flushed.insert(name, (to, len));
                to
            }
        };
        self.flush_copy(body, from, to, len);
        to
    }

    /// Copies a tensor, flushed if it was given.
    pub(super) fn read(&mut self, source: Source, from: Place, to: Place) -> Vec<Stmt> {
        let len = self.lowering.len(source);
        self.read_rows(source, from, to, len)
    }

    /// The same of some of its elements.
    pub(super) fn read_rows(&mut self, source: Source, from: Place, to: Place, len: usize) -> Vec<Stmt> {
        self.copied(self.lowering.is_given(source), from, to, len)
    }

    /// Copies a tensor to where a result or a state is, where nothing is small enough to be
    /// flushed.
    pub(super) fn keep(&mut self, source: Source, from: Place, to: Place) -> Vec<Stmt> {
        self.copied(!self.lowering.is_flushed(source), from, to, self.lowering.len(source))
    }

    fn copied(&mut self, flushed: bool, from: Place, to: Place, len: usize) -> Vec<Stmt> {
        let mut body = Vec::new();
        match flushed {
            true => self.flush_copy(&mut body, from, to, len),
            false => body.push(copy(from, to, len)),
        }
        body
    }

    /// Copies what is left of elements once they are flushed.
    pub(super) fn flushed_copy(&mut self, from: Place, to: Place, len: usize) -> Vec<Stmt> {
        let mut body = Vec::new();
        self.flush_copy(&mut body, from, to, len);
        body
    }

    fn flush_copy(&mut self, body: &mut Vec<Stmt>, from: Place, to: Place, len: usize) {
        self.vectors(body, len, from, to, |_, value, _| flush(value));
    }

    /// A buffer in the block, which other kernels use before and after.
    pub(super) fn block(&mut self, name: &str, len: usize) -> Place {
        self.lowering.buffer(name, Role::Scratch, len).into()
    }

    pub(super) fn local(&mut self, name: impl Into<String>, ty: Type) -> Var {
        self.kernel.local(name, ty)
    }

    pub(super) fn locals(&self) -> &[Local] {
        &self.kernel.locals
    }

    /// Names a f32 value.
    pub(super) fn let_(&mut self, body: &mut Vec<Stmt>, name: impl Into<String>, lanes: usize, value: Expr) -> Expr {
        let var = self.local(name, Type::f32(lanes));
        body.push(Stmt::Let { var, mutable: false, value });
        Expr::Var(var)
    }

    /// Names a value that statements change.
    pub(super) fn accumulator(&mut self, body: &mut Vec<Stmt>, name: &str, lanes: usize, value: Expr) -> Var {
        let var = self.local(name, Type::f32(lanes));
        body.push(Stmt::Let { var, mutable: true, value });
        var
    }

    /// Says which accumulators are chains of the sums of one gate.
    pub(super) fn chains<'v>(&mut self, all: impl Iterator<Item = &'v Var>) {
        self.kernel.chains.extend(all);
    }

    /// Hides from LLVM that the loads from `window` overlap loads from other windows.
    pub(super) fn unrelated(&mut self, window: WindowId) {
        self.kernel.unrelated.push(window);
    }

    /// Says which accumulators are added to while something else is waited for.
    pub(super) fn meanwhile<'v>(&mut self, all: impl Iterator<Item = &'v Var>) {
        self.kernel.meanwhile.extend(all);
    }

    /// Says that a compiler is to unroll the loop whose first walk that is by so many turns.
    pub(super) fn unrolled_by(&mut self, walk: &Walk, turns: usize) {
        self.kernel.unrolled_by.push((walk.window, turns));
    }

    /// Says that the turns of the loop whose first walk that is take some columns of a panel each.
    pub(super) fn passes(&mut self, walk: &Walk) {
        self.kernel.passes.push(walk.window);
    }

    /// Says that what the kernel alone uses is stored as vectors and then read element by element.
    pub(super) fn elements(&mut self, of: Place) {
        if let Base::Buffer(id) = of.base {
            self.kernel.elements.push(id);
        }
    }

    /// A sum of integers, at first 0.
    pub(super) fn integer_sum(&mut self, body: &mut Vec<Stmt>, name: &str, lanes: usize, start: Option<Expr>) -> Var {
        let var = self.local(name, Type { scalar: Scalar::U32, lanes });
        let start = start.map_or_else(|| Expr::u32(0, lanes), |bits| op(LaneOp::ToBits, vec![bits]));
        body.push(Stmt::Let { var, mutable: true, value: start });
        var
    }

    /// Names a value of u32.
    pub(super) fn let_bits(&mut self, body: &mut Vec<Stmt>, name: &str, lanes: usize, value: Expr) -> Expr {
        let var = self.local(name, Type { scalar: Scalar::U32, lanes });
        body.push(Stmt::Let { var, mutable: false, value });
        Expr::Var(var)
    }

    /// The number of a turn.
    pub(super) fn turn(&mut self, name: &str) -> Var {
        self.local(name, Type { scalar: Scalar::U32, lanes: 1 })
    }

    pub(super) fn call(&mut self, activation: Activation, value: Expr) -> Expr {
        Expr::Call(self.lowering.function(activation), vec![value])
    }

    /// Two numbers of which the first is below the second where a boolean of one element holds, as
    /// Select takes it, or does not hold.
    pub(super) fn side(&self, condition: Source, holds: bool) -> (Expr, Expr) {
        let condition = Expr::Load { from: self.lowering.source(condition), lanes: 1 };
        let [half, zero, one] = [0.5, 0.0, 1.0].map(|v| Expr::f32(v, 1));
        let number = op(LaneOp::ToBits, vec![op(LaneOp::SelectLess, vec![condition, half, zero, one])]);
        if holds { (Expr::u32(1, 1), number) } else { (number, Expr::u32(1, 1)) }
    }

    /// One operation element by element; a value that is used twice is named first.
    pub(super) fn apply(&mut self, body: &mut Vec<Stmt>, link: &Pointwise, mut args: Vec<Expr>, lanes: usize) -> Expr {
        use PointwiseFunction as F;
        match link.function {
            F::Activation(activation) => self.call(activation, args.remove(0)),
            F::Add => op(LaneOp::Add, args),
            F::Subtract => op(LaneOp::Sub, args),
            F::Multiply => op(LaneOp::Mul, args),
            F::Divide => op(LaneOp::Div, args),
            F::Maximum => self.larger(body, LaneOp::Max, link, args, lanes),
            F::Minimum => self.larger(body, LaneOp::Min, link, args, lanes),
            F::PRelu => {
                let value = self.let_(body, "v", lanes, args.remove(0));
                let scaled = op(LaneOp::Mul, vec![value.clone(), args.remove(0)]);
                // so that a NaN takes the product, which is one
                op(LaneOp::SelectLess, vec![Expr::f32(0.0, lanes), value.clone(), value, scaled])
            }
            F::Less => {
                let [a, b] = [args.remove(0), args.remove(0)];
                op(LaneOp::SelectLess, vec![a, b, Expr::f32(1.0, lanes), Expr::f32(0.0, lanes)])
            }
            F::LessEqual => {
                let [a, b] = [0, 1].map(|_| self.let_(body, "v", lanes, args.remove(0)));
                let numbers = self.are_numbers(body, &a, &b, lanes);
                op(LaneOp::SelectLess, vec![b, a, Expr::f32(0.0, lanes), numbers])
            }
            F::Equal => {
                let [a, b] = [0, 1].map(|_| self.let_(body, "v", lanes, args.remove(0)));
                let numbers = self.are_numbers(body, &a, &b, lanes);
                let not_above = op(LaneOp::SelectLess, vec![b.clone(), a.clone(), Expr::f32(0.0, lanes), numbers]);
                op(LaneOp::SelectLess, vec![a, b, Expr::f32(0.0, lanes), not_above])
            }
            F::Select => {
                let [condition, then, otherwise] = [args.remove(0), args.remove(0), args.remove(0)];
                op(LaneOp::SelectLess, vec![condition, Expr::f32(0.5, lanes), otherwise, then])
            }
        }
    }
}

impl KernelBuilder<'_, '_> {
    /// Max or Min, which give their second operand where either is NaN, so that a NaN stays one
    /// whichever it is.
    fn larger(
        &mut self,
        body: &mut Vec<Stmt>,
        operation: LaneOp,
        link: &Pointwise,
        args: Vec<Expr>,
        lanes: usize,
    ) -> Expr {
        if self.is_number(link.inputs[0]) {
            return op(operation, args);
        }
        let [first, second] = [0, 1].map(|i| args[i].clone());
        self.chosen(body, operation, first, second, lanes)
    }

    /// The same of operands of which nothing is known.
    pub(super) fn chosen(
        &mut self,
        body: &mut Vec<Stmt>,
        operation: LaneOp,
        first: Expr,
        second: Expr,
        lanes: usize,
    ) -> Expr {
        let [first, second] = [first, second].map(|operand| self.let_(body, "v", lanes, operand));
        let chosen = op(operation, vec![first.clone(), second]);
        // at most 0, unless it is NaN
        let below = op(LaneOp::Min, vec![Expr::f32(0.0, lanes), first.clone()]);
        op(LaneOp::SelectLess, vec![below, Expr::f32(1.0, lanes), chosen, first])
    }

    /// 1 where neither of two is NaN, else 0.
    fn are_numbers(&mut self, body: &mut Vec<Stmt>, a: &Expr, b: &Expr, lanes: usize) -> Expr {
        // at most 0, unless one is NaN
        let below = |v: &Expr| op(LaneOp::Min, vec![Expr::f32(0.0, lanes), v.clone()]);
        let both = self.let_(body, "below", lanes, op(LaneOp::Add, vec![below(a), below(b)]));
        let [one, zero] = [1.0, 0.0].map(|v| Expr::f32(v, lanes));
        op(LaneOp::SelectLess, vec![both, one.clone(), one, zero])
    }

    /// Whether it is known to hold no NaN.
    fn is_number(&self, source: Source) -> bool {
        let Source::Constant(constant) = source else { return false };
        let tensor = &self.lowering.model.constants[constant];
        (0..tensor.len()).all(|k| !tensor.get_f32(k).is_nan())
    }
}

/// `len` neighbouring elements.
pub(super) fn copy(from: Place, to: Place, len: usize) -> Stmt {
    Stmt::Copy(Copied::new(from, to, vec![CopiedDim { extent: len, from_stride: 1, to_stride: 1 }]))
}

pub(super) fn op(operation: LaneOp, args: Vec<Expr>) -> Expr {
    Expr::Op(operation, args)
}

/// A value, or 0 where it is small.
pub(super) fn flush(value: Expr) -> Expr {
    op(LaneOp::Flush, vec![value])
}

pub(super) fn load(from: Place, lanes: usize) -> Expr {
    Expr::Load { from, lanes }
}

/// The buffers that statements use, `true` for buffers that statements write; buffers that are only
/// read come first.
pub(super) fn params(body: &[Stmt]) -> Vec<(BufferId, bool)> {
    let mut used = BTreeMap::new();
    uses(body, &mut used);
    let mut params: Vec<_> = used.into_iter().collect();
    params.sort_by_key(|(id, written)| (*written, *id));
    params
}

fn uses(body: &[Stmt], used: &mut BTreeMap<BufferId, bool>) {
    let mut note = |place: Place, written: bool| {
        if let Base::Buffer(id) = place.base {
            *used.entry(id).or_default() |= written;
        }
    };
    for stmt in body {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } => reads(value, &mut note),
            Stmt::Store { to, value } => {
                note(*to, true);
                reads(value, &mut note);
            }
            Stmt::Copy(copied) => {
                note(copied.from, false);
                note(copied.to, true);
            }
            Stmt::Tiles(tiles) => {
                note(tiles.elements, false);
                note(tiles.weights, false);
                note(tiles.to, true);
            }
            Stmt::For { walks, .. } => walks.iter().for_each(|walk| note(walk.of, walk.written)),
            Stmt::Pick { at, walk, .. } => {
                reads(at, &mut note);
                note(walk.of, false);
            }
            Stmt::If { less, .. } | Stmt::LeaveUnless { less } => {
                reads(&less.0, &mut note);
                reads(&less.1, &mut note);
            }
            Stmt::Comment(_) => {}
        }
    }
    for stmt in body {
        match stmt {
            Stmt::For { body, .. } | Stmt::Pick { body, .. } => uses(body, used),
            Stmt::If { then, otherwise, .. } => {
                uses(then, used);
                uses(otherwise, used);
            }
            _ => {}
        }
    }
}

fn reads(expr: &Expr, note: &mut impl FnMut(Place, bool)) {
    match expr {
        Expr::Load { from, .. } | Expr::Splat { from, .. } | Expr::Length { from, .. } => note(*from, false),
        Expr::Op(_, args) | Expr::Call(_, args) => args.iter().for_each(|arg| reads(arg, note)),
        Expr::Const { .. } | Expr::Var(_) => {}
    }
}
