//! The builder of one kernel: its statements, variables, windows and scratch buffers.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Lowering;
use crate::core::{CoreNode, CoreOp, Pointwise, PointwiseFunction, Source};
use crate::kernel::{
    Base, BufferId, Copied, CopiedDim, Expr, Kernel, LaneOp, Local, Loops, Place, Role, Scalar,
    Stmt, Type, Var, Walk, WindowId, params,
};
use crate::model::{Binary, MathFunction};
use crate::plan::{Half, Phase};

/// An operation, or a copy of the program's own, as statements of a kernel.
#[derive(Default)]
pub(super) struct Lowered {
    /// The documentation of the statements, by line.
    pub(super) doc: Vec<String>,
    pub(super) body: Vec<Stmt>,
}

impl Lowered {
    /// Statements with one line of documentation.
    pub(super) fn new(line: String, body: Vec<Stmt>) -> Self {
        Self { doc: vec![line], body }
    }
}

/// A place that moves in a loop.
#[derive(Clone, Copy)]
pub(super) struct MovingPlace {
    /// The name of the moving window in generated code.
    pub(super) name: &'static str,
    /// The place in the first iteration.
    pub(super) start: Place,
    /// Elements that one iteration uses.
    pub(super) len: usize,
    /// Elements between iterations. 0: the place stays.
    pub(super) stride: usize,
    pub(super) written: bool,
}

impl MovingPlace {
    /// A place that moves by its `len` elements.
    pub(super) fn new(name: &'static str, start: Place, len: usize, written: bool) -> Self {
        Self { name, start, len, stride: len, written }
    }
}

/// A kernel under construction, with access to the program around the kernel.
pub(super) struct KernelBuilder<'a, 'm> {
    pub(super) lowering: &'a mut Lowering<'m>,
    kernel: Kernel,
    /// The part of a cell that this kernel computes. `None`: all of the cell.
    pub(super) half: Option<&'m Half>,
    windows: usize,
    /// By row length: the buffers of [`Self::tile_rows`].
    tile_rows: BTreeMap<usize, Vec<Place>>,
    /// By name: the buffer of flushed copies of inputs and states, and its capacity in elements.
    flushed: BTreeMap<&'static str, (Place, usize)>,
    /// By vector length and phase: the buffer of quantised elements, the buffer of scales, and
    /// their capacity in rows.
    quantised: BTreeMap<(usize, Phase), (Place, Place, usize)>,
    /// By phase: the buffer of [`Self::tile_sums`], and its capacity in elements.
    tile_sums: BTreeMap<Phase, (Place, usize)>,
    /// By name and number of lanes: the buffer of [`Self::lane_room`].
    lane_rooms: BTreeMap<(&'static str, usize), BufferId>,
}

impl<'a, 'm> KernelBuilder<'a, 'm> {
    pub(super) fn new(lowering: &'a mut Lowering<'m>) -> Self {
        let (kernel, tile_rows, flushed) = (Kernel::default(), BTreeMap::new(), BTreeMap::new());
        let (quantised, tile_sums, lane_rooms) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self {
            lowering,
            kernel,
            half: None,
            windows: 0,
            tile_rows,
            flushed,
            quantised,
            tile_sums,
            lane_rooms,
        }
    }

    /// The statements of an operation with its fused pointwise work.
    pub(super) fn statements(&mut self, node: &'m CoreNode) -> Lowered {
        if self.lowering.steps == 1 {
            self.kernel.nodes.push(self.lowering.positions[&node.op.outputs()[0]]);
        }
        match self.lowering.root(node) {
            CoreOp::Cell(cell) => self.cell(cell),
            CoreOp::Dense(dense) => self.dense(dense),
            CoreOp::MatMul(matmul) => self.matmul(matmul),
            CoreOp::Convolve(convolve) => self.convolve(convolve),
            CoreOp::Pointwise(pointwise) => self.pointwise(pointwise),
            CoreOp::Softmax(softmax) => self.softmax(softmax),
            CoreOp::Reduce(reduce) => self.reduce(reduce),
            CoreOp::RunningSum(sum) => self.running_sum(sum),
            CoreOp::LinearAttention(attention) => self.linear_attention(attention),
            CoreOp::View(view) => self.view(view),
            CoreOp::Concat(concat) => self.concat(concat),
            CoreOp::Loop(body) => self.body(body),
            CoreOp::IntegerInput(integers) => self.integers(integers),
            CoreOp::Lookup(lookup) => self.lookup(lookup),
            CoreOp::TopK(top) => self.top_k(top),
        }
    }

    /// The statements of an operation, inside branches of the conditions under which the operation
    /// is computed.
    pub(super) fn statements_on_sides(&mut self, node: &'m CoreNode) -> Lowered {
        let Lowered { mut doc, mut body } = self.statements(node);
        let sides = self.lowering.sides(node);
        if !sides.is_empty() {
            doc.push("Only on the side of a condition that is taken.".to_owned());
        }
        for (condition, side) in sides.iter().rev() {
            let less = self.side(*condition, *side);
            body = vec![Stmt::If { less, then: body, otherwise: Vec::new() }];
        }
        Lowered { doc, body }
    }

    /// Ends a kernel that assigns to variables.
    pub(super) fn assigned(self, body: Vec<Stmt>) -> &'a mut Lowering<'m> {
        let name = self.lowering.name("assign");
        let doc = "variables take their new values".to_owned();
        self.end_kernel(name, Lowered::new(doc, body), Loops::Kept)
    }

    /// Ends the kernel. Its parameters are the buffers that the statements use, except the kernel's
    /// own scratch buffers.
    pub(super) fn finish(self, name: String, lowered: Lowered, loops: Loops) {
        self.end_kernel(name, lowered, loops);
    }

    fn end_kernel(
        mut self,
        name: String,
        Lowered { doc, body }: Lowered,
        loops: Loops,
    ) -> &'a mut Lowering<'m> {
        let mut params = params(&body);
        params.retain(|(id, _)| !self.kernel.scratch.contains(id));
        // weights, then other inputs, then outputs
        let role = |id: BufferId| self.lowering.body_ref().buffer(id).role;
        params.sort_by_key(|(id, written)| (*written, role(*id) != Role::Weights, *id));
        self.kernel = Kernel { name, doc, params, body, loops, ..self.kernel };
        self.lowering.push(self.kernel);
        self.lowering
    }

    pub(super) fn window(&mut self) -> WindowId {
        self.windows += 1;
        WindowId(self.windows - 1)
    }

    /// A new window of `len` elements that a loop moves by `len` elements per iteration.
    pub(super) fn walk(
        &mut self,
        name: &str,
        place: Place,
        len: usize,
        written: bool,
    ) -> (Place, Walk) {
        self.stride(name, place, (len, len), written)
    }

    /// A new window of `len` elements that a loop moves by `stride` elements per iteration.
    pub(super) fn stride(
        &mut self,
        name: &str,
        place: Place,
        (len, stride): (usize, usize),
        written: bool,
    ) -> (Place, Walk) {
        let window = self.window();
        (
            window.into(),
            Walk { window, name: name.into(), start: place, len, stride, written, reverse: false },
        )
    }

    /// A scratch buffer of this kernel alone, on the stack.
    pub(super) fn scratch(&mut self, name: &str, len: usize) -> BufferId {
        let id = self.lowering.buffer(name, Role::Scratch, len);
        self.kernel.scratch.push(id);
        id
    }

    /// A buffer of `len` elements: on the stack if `rows` buffers of `len` elements fit the stack
    /// limit, else scratch memory in `State`.
    pub(super) fn stack_or_state_buffer(&mut self, name: &str, len: usize, rows: usize) -> Place {
        match len * rows <= self.lowering.plan.arch.memory.stack_limit {
            true => self.scratch(name, len).into(),
            false => self.block(name, len),
        }
    }

    /// Buffers of sums, one for each of `count` rows computed together. The buffers are separate
    /// because one iteration writes to all of them.
    pub(super) fn tile_rows(&mut self, count: usize, len: usize) -> Vec<Place> {
        let mut rows = self.tile_rows.remove(&len).unwrap_or_default();
        while rows.len() < count {
            rows.push(self.stack_or_state_buffer(&format!("sums{}", rows.len()), len, count));
        }
        let taken_rows = rows[..count].to_vec();
        self.tile_rows.insert(len, rows);
        taken_rows
    }

    /// The buffer for the sums that tiles compute in a phase.
    pub(super) fn tile_sums(&mut self, phase: Phase, len: usize) -> Place {
        match self.tile_sums.get(&phase) {
            Some((place, room)) if *room >= len => *place,
            _ => {
                let place = self.stack_or_state_buffer("sums", len, 1);
                self.tile_sums.insert(phase, (place, len));
                place
            }
        }
    }

    /// The buffers for the quantised operand of a phase and its scales, one scale per row.
    pub(super) fn quantised_room(
        &mut self,
        phase: Phase,
        rows: usize,
        len: usize,
    ) -> (Place, Place) {
        match self.quantised.get(&(len, phase)) {
            Some((elements, scales, room)) if *room >= rows => (*elements, *scales),
            _ => {
                let (elements, scales) = (
                    self.stack_or_state_buffer("rounded", len * rows, 1),
                    self.scratch("scales", rows).into(),
                );
                self.quantised.insert((len, phase), (elements, scales, rows));
                (elements, scales)
            }
        }
    }

    /// A buffer for the lanes of one vector. Later calls with the same arguments return the same
    /// buffer and overwrite its contents.
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

    /// A range of the elements at `place`, as a buffer that only this kernel writes.
    pub(super) fn buffer_of_range(&mut self, place: Place, elements: Range<usize>) -> Place {
        let Base::Buffer(id) = place.base else {
            unreachable!("lower: a cell outside of loops writes buffers")
        };
        let memory = self.lowering.body_ref();
        let (buffer, at) = memory.whole(id);
        let (name, at) = (memory.buffer(buffer).name.clone(), at + place.offset + elements.start);
        self.lowering.buffer(name, Role::Part { whole: buffer, at }, elements.len()).into()
    }

    /// Sets whether the kernel runs concurrently with the kernel before it.
    pub(super) fn concurrent(&mut self, concurrent: bool) {
        self.kernel.concurrent = concurrent;
    }

    /// An element that an operation reads: flushed if operations must flush the tensor on load.
    pub(super) fn flushed_element(&self, source: Source, value: Expr) -> Expr {
        self.lowering.flushed_element(source, value)
    }

    /// An element that an operation computes: flushed if results of the operation must be flushed.
    pub(super) fn flushed_result(&self, value: usize, element: Expr) -> Expr {
        if self.lowering.denormals.is_flushed_at(value) { flush(element) } else { element }
    }

    /// The elements of a tensor at `from`: a flushed copy in scratch memory if operations must
    /// flush the tensor on load.
    pub(super) fn flushed_tensor(
        &mut self,
        body: &mut Vec<Stmt>,
        name: &'static str,
        source: Source,
        from: Place,
    ) -> Place {
        let len = self.lowering.len(source);
        self.flushed_rows(body, name, source, from, len)
    }

    /// The first `len` elements of a tensor at `from`: a flushed copy if operations must flush the
    /// tensor on load.
    pub(super) fn flushed_rows(
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
                let to = self.stack_or_state_buffer(&format!("{name}_flushed"), len, 1);
                self.flushed.insert(name, (to, len));
                to
            }
        };
        self.flush_copy(body, from, to, len);
        to
    }

    /// As [`Self::flushed_rows`], but a loop over single elements makes the copy.
    pub(super) fn flushed_by_element(
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
        let to = self.stack_or_state_buffer(&format!("{name}_flushed"), len, 1);
        let (element, read) = self.walk(&format!("{name}_element"), from, 1, false);
        let (flushed, written) = self.walk(&format!("{name}_to"), to, 1, true);
        let store = Stmt::Store { to: flushed, value: flush(load(element, 1)) };
        body.push(Stmt::repeat(len, vec![read, written], vec![store]));
        to
    }

    /// Copies a tensor. Flushes the elements if operations must flush the tensor on load.
    pub(super) fn copy_tensor(&mut self, source: Source, from: Place, to: Place) -> Vec<Stmt> {
        let len = self.lowering.len(source);
        self.copy_elements(source, from, to, len)
    }

    /// Copies `len` elements of a tensor. Flushes the elements if operations must flush the tensor
    /// on load.
    pub(super) fn copy_elements(
        &mut self,
        source: Source,
        from: Place,
        to: Place,
        len: usize,
    ) -> Vec<Stmt> {
        self.copy_or_flush(self.lowering.is_given(source), from, to, len)
    }

    /// Copies a tensor to a result or a state. Flushes the elements, unless the tensor holds no
    /// denormals or denormals are kept.
    pub(super) fn copy_to_result(&mut self, source: Source, from: Place, to: Place) -> Vec<Stmt> {
        self.copy_or_flush(!self.lowering.is_flushed(source), from, to, self.lowering.len(source))
    }

    fn copy_or_flush(&mut self, flushed: bool, from: Place, to: Place, len: usize) -> Vec<Stmt> {
        let mut body = Vec::new();
        match flushed {
            true => self.flush_copy(&mut body, from, to, len),
            false => body.push(copy(from, to, len)),
        }
        body
    }

    /// Copies elements and flushes them.
    pub(super) fn flushed_copy(&mut self, from: Place, to: Place, len: usize) -> Vec<Stmt> {
        let mut body = Vec::new();
        self.flush_copy(&mut body, from, to, len);
        body
    }

    fn flush_copy(&mut self, body: &mut Vec<Stmt>, from: Place, to: Place, len: usize) {
        self.vectors(body, len, from, to, |_, value, _| flush(value));
    }

    /// Scratch memory in `State`. Other kernels may use the memory before and after.
    pub(super) fn block(&mut self, name: &str, len: usize) -> Place {
        self.lowering.buffer(name, Role::Scratch, len).into()
    }

    pub(super) fn local(&mut self, name: impl Into<String>, ty: Type) -> Var {
        self.kernel.local(name, ty)
    }

    pub(super) fn locals(&self) -> &[Local] {
        &self.kernel.locals
    }

    /// Declares a constant f32 variable.
    pub(super) fn let_(
        &mut self,
        body: &mut Vec<Stmt>,
        name: impl Into<String>,
        lanes: usize,
        value: Expr,
    ) -> Expr {
        let var = self.local(name, Type::f32(lanes));
        body.push(Stmt::Let { var, mutable: false, value });
        Expr::Var(var)
    }

    /// Declares a constant f32 variable for the columns of a panel from `lane` on. In bodies
    /// without vectors the variable's name ends with the number of the column, as the names of sums
    /// do.
    pub(super) fn let_unit(
        &mut self,
        body: &mut Vec<Stmt>,
        name: &str,
        (lane, lanes): (usize, usize),
        value: Expr,
    ) -> Expr {
        let has_vectors = self.lowering.plan.width(self.lowering.isa) > 1;
        let name = if has_vectors { name.to_owned() } else { format!("{name}{lane}") };
        self.let_(body, name, lanes, value)
    }

    /// Declares a mutable f32 variable.
    pub(super) fn accumulator(
        &mut self,
        body: &mut Vec<Stmt>,
        name: &str,
        lanes: usize,
        value: Expr,
    ) -> Var {
        let var = self.local(name, Type::f32(lanes));
        body.push(Stmt::Let { var, mutable: true, value });
        var
    }

    /// Marks accumulators as chains of the sums of one gate.
    pub(super) fn chains<'v>(&mut self, all: impl Iterator<Item = &'v Var>) {
        self.kernel.hints.chains.extend(all);
    }

    /// Hides from LLVM that the loads from `window` overlap loads from other windows.
    pub(super) fn unrelated(&mut self, window: WindowId) {
        self.kernel.hints.unrelated.push(window);
    }

    /// Marks accumulators as deferred sums: loops add terms to hide the latency of other work.
    pub(super) fn meanwhile<'v>(&mut self, all: impl Iterator<Item = &'v Var>) {
        self.kernel.hints.meanwhile.extend(all);
    }

    /// Sets a compiler's unroll factor for a loop, named by its first walk. 1: the compiler must
    /// not unroll the loop.
    pub(super) fn unrolled_by(&mut self, walk: &Walk, factor: usize) {
        self.kernel.hints.unrolled_by.push((walk.window, factor));
    }

    /// Marks a loop, named by its first walk, as a loop over the columns of a panel.
    pub(super) fn passes(&mut self, walk: &Walk) {
        self.kernel.hints.passes.push(walk.window);
    }

    /// Marks a buffer of this kernel that is stored as vectors and loaded element by element.
    pub(super) fn elements(&mut self, place: Place) {
        if let Base::Buffer(id) = place.base {
            self.kernel.hints.elements.push(id);
        }
    }

    /// Declares an accumulator of integers. `start` is the initial value; `None`: 0.
    pub(super) fn integer_sum(
        &mut self,
        body: &mut Vec<Stmt>,
        name: &str,
        lanes: usize,
        start: Option<Expr>,
    ) -> Var {
        let var = self.local(name, Type { scalar: Scalar::U32, lanes });
        let start =
            start.map_or_else(|| Expr::u32(0, lanes), |bits| op(LaneOp::ToBits, vec![bits]));
        body.push(Stmt::Let { var, mutable: true, value: start });
        var
    }

    /// Declares a constant u32 variable.
    pub(super) fn let_bits(
        &mut self,
        body: &mut Vec<Stmt>,
        name: &str,
        lanes: usize,
        value: Expr,
    ) -> Expr {
        let var = self.local(name, Type { scalar: Scalar::U32, lanes });
        body.push(Stmt::Let { var, mutable: false, value });
        Expr::Var(var)
    }

    /// Declares a loop counter.
    pub(super) fn counter(&mut self, name: &str) -> Var {
        self.local(name, Type { scalar: Scalar::U32, lanes: 1 })
    }

    pub(super) fn call(&mut self, function: impl Into<MathFunction>, value: Expr) -> Expr {
        Expr::Call(self.lowering.function(function.into()), vec![value])
    }

    /// The operands of a comparison `a < b` that is true if the scalar boolean `condition` equals
    /// `holds`. As in Select, a condition below 0.5 is false, and any other is true.
    pub(super) fn side(&self, condition: Source, holds: bool) -> (Expr, Expr) {
        let condition = Expr::Load { from: self.lowering.source(condition), lanes: 1 };
        let [half, zero, one] = [0.5, 0.0, 1.0].map(|v| Expr::f32(v, 1));
        let number =
            op(LaneOp::ToBits, vec![op(LaneOp::SelectLess, vec![condition, half, zero, one])]);
        if holds { (Expr::u32(1, 1), number) } else { (number, Expr::u32(1, 1)) }
    }

    /// One pointwise operation. Operands with several uses become variables first.
    pub(super) fn apply(
        &mut self,
        body: &mut Vec<Stmt>,
        link: &Pointwise,
        mut args: Vec<Expr>,
        lanes: usize,
    ) -> Expr {
        use PointwiseFunction as F;
        match link.function {
            F::Math(function) => self.call(function, args.remove(0)),
            F::Binary(Binary::Add) => op(LaneOp::Add, args),
            F::Binary(Binary::Subtract) => op(LaneOp::Sub, args),
            F::Binary(Binary::Multiply) => op(LaneOp::Mul, args),
            F::Binary(Binary::Divide) => op(LaneOp::Div, args),
            F::Binary(Binary::Maximum) => self.max_or_min(body, LaneOp::Max, link, args, lanes),
            F::Binary(Binary::Minimum) => self.max_or_min(body, LaneOp::Min, link, args, lanes),
            F::PRelu => {
                let value = self.let_(body, "v", lanes, args.remove(0));
                let scaled = op(LaneOp::Mul, vec![value.clone(), args.remove(0)]);
                // for a NaN the comparison is false and selects the product, which is NaN too
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
                let not_above = op(
                    LaneOp::SelectLess,
                    vec![b.clone(), a.clone(), Expr::f32(0.0, lanes), numbers],
                );
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
    /// Maximum or minimum. [`LaneOp::Max`] and [`LaneOp::Min`] return the second operand if either
    /// is NaN, so a first operand that may be NaN needs a select.
    fn max_or_min(
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
        self.propagating_nan(body, operation, first, second, lanes)
    }

    /// Maximum or minimum; NaN if either operand is NaN.
    pub(super) fn propagating_nan(
        &mut self,
        body: &mut Vec<Stmt>,
        operation: LaneOp,
        first: Expr,
        second: Expr,
        lanes: usize,
    ) -> Expr {
        let [first, second] = [first, second].map(|operand| self.let_(body, "v", lanes, operand));
        let chosen = op(operation, vec![first.clone(), second]);
        // at most 0, or NaN if `first` is NaN
        let below = op(LaneOp::Min, vec![Expr::f32(0.0, lanes), first.clone()]);
        op(LaneOp::SelectLess, vec![below, Expr::f32(1.0, lanes), chosen, first])
    }

    /// 1 if neither `a` nor `b` is NaN, else 0.
    fn are_numbers(&mut self, body: &mut Vec<Stmt>, a: &Expr, b: &Expr, lanes: usize) -> Expr {
        // at most 0, or NaN if `v` is NaN
        let below = |v: &Expr| op(LaneOp::Min, vec![Expr::f32(0.0, lanes), v.clone()]);
        let count = self.let_(body, "below", lanes, op(LaneOp::Add, vec![below(a), below(b)]));
        let [one, zero] = [1.0, 0.0].map(|v| Expr::f32(v, lanes));
        op(LaneOp::SelectLess, vec![count, one.clone(), one, zero])
    }

    /// True if the tensor is a constant without NaNs.
    fn is_number(&self, source: Source) -> bool {
        let Source::Constant(constant) = source else { return false };
        let tensor = &self.lowering.model.constants[constant];
        (0..tensor.len()).all(|k| !tensor.get_f32(k).is_nan())
    }
}

/// A copy of `len` neighbouring elements.
pub(super) fn copy(from: Place, to: Place, len: usize) -> Stmt {
    Stmt::Copy(Copied::new(from, to, vec![CopiedDim { extent: len, from_stride: 1, to_stride: 1 }]))
}

pub(super) fn op(operation: LaneOp, args: Vec<Expr>) -> Expr {
    Expr::Op(operation, args)
}

/// A value, or 0 if its magnitude is below the flush limit.
pub(super) fn flush(value: Expr) -> Expr {
    op(LaneOp::Flush, vec![value])
}

pub(super) fn load(from: Place, lanes: usize) -> Expr {
    Expr::Load { from, lanes }
}
