//! An interpreter of programs, lane by lane.
//!
//! Every f32 operation is the IEEE 754 operation named by [`LaneOp`]. Interpreter and generated
//! code therefore give equal bits, apart from NaN payloads.

use super::{
    Base, BlockSums, BodyRef, BufferId, Copied, CopiedDim, Encoding, Expr, FLUSH_BELOW, Kernel,
    LaneOp, Place, Role, ScalarFunction, StepBlock, Stmt, Tiles, Var, Walk,
};

/// The contents of undefined memory at the start of a step. Reads of undefined memory show up in
/// the results.
const UNDEFINED: f32 = f32::NAN;

/// Runs one step. `memory[i]` is the contents of the program's buffer `i`. Weights are packed
/// already.
///
/// Results and the body's private memory are filled with NaN first, as programs must not rely on
/// their contents. Variables persist from step to step; [`Role::Backwards`] and [`Role::Phase`]
/// change after each step. Tables are filled from the program. Integer buffers hold f32 of equal
/// values; sequence lengths are small enough to be exact. Buffers of narrow weights also hold f32.
/// Concurrent kernels run one after the other.
///
/// Scratch buffers of [`super::Body::block`] share one block of memory, as in generated code: a
/// program with overlapping live buffers fails visibly.
///
/// # Panics
/// If `memory` does not match the sizes of the buffers, or if a kernel calls a symbolic function. A
/// program that `super::verify` rejects may panic.
pub fn interpret(body: BodyRef<'_>, memory: &mut [Vec<f32>]) {
    run(body, memory, body.of_step(), None);
    advance(body, memory, 1);
}

/// As [`interpret`], for `steps` steps, by the kernels that compute several steps together. `input`
/// holds the elements of the Parameter for each step. Returns the elements of the Result for each
/// step.
///
/// # Panics
/// As [`interpret`], or if the body has no kernels for several steps, or if `steps` exceeds
/// [`super::Program::steps_at_once`].
pub fn interpret_step_block(
    body: BodyRef<'_>,
    memory: &mut [Vec<f32>],
    input: &[f32],
    steps: usize,
) -> Vec<f32> {
    let step_block = body.step_block.as_ref().expect("kernels of several steps");
    assert!(steps <= body.program.steps_at_once, "at most as many steps as the kernels compute");
    let len = body.buffer(step_block.output).len / body.program.steps_at_once;
    let mut output = run(body, memory, body.of_steps(), Some((step_block, input)));
    advance(body, memory, steps);
    output.truncate(len * steps);
    output
}

/// Runs some kernels of a body. With `step_block`, returns the contents of the output buffer, else
/// nothing.
fn run(
    body: BodyRef<'_>,
    memory: &mut [Vec<f32>],
    kernels: &[Kernel],
    step_block: Option<(&StepBlock, &[f32])>,
) -> Vec<f32> {
    let program = body.program;
    assert_eq!(program.buffers.len(), memory.len(), "one block of memory for each buffer");
    for (buffer, contents) in program.buffers.iter().zip(memory.iter_mut()) {
        assert_eq!(buffer.len, contents.len(), "the size of buffer {:?}", buffer.name);
        if matches!(buffer.role, Role::Result(_)) {
            contents.fill(UNDEFINED);
        }
    }
    for id in &program.flushed_before {
        memory[id.0].iter_mut().filter(|v| v.abs() < FLUSH_BELOW).for_each(|v| *v = 0.0);
    }
    for (id, values) in &program.tables {
        for (element, value) in memory[id.0].iter_mut().zip(values) {
            *element = *value as f32;
        }
    }
    let views: Vec<_> =
        (0..program.buffers.len() + body.scratch.len()).map(|i| view(body, BufferId(i))).collect();
    let mut block = vec![UNDEFINED; body.block_len];
    let mut scratch: Vec<_> =
        body.scratch.iter().map(|buffer| vec![UNDEFINED; buffer.len]).collect();
    let block_offset =
        |id: BufferId| body.block_place(id).expect("verify: input and output are there");
    if let Some((step_block, input)) = step_block {
        block[block_offset(step_block.input)..][..input.len()].copy_from_slice(input);
    }
    for kernel in kernels {
        let machine = Machine {
            views: &views,
            block: &mut block,
            own: &mut scratch,
            ..Machine::new(&body.functions, memory)
        };
        machine.kernel(kernel);
    }
    step_block.map_or_else(Vec::new, |(step_block, _)| {
        block[block_offset(step_block.output)..][..body.buffer(step_block.output).len].to_vec()
    })
}

/// Advances directions and phases by `done` steps.
fn advance(body: BodyRef<'_>, memory: &mut [Vec<f32>], done: usize) {
    for (buffer, contents) in body.program.buffers.iter().zip(memory) {
        match buffer.role {
            Role::Backwards if done % 2 == 1 => contents[0] = 1.0 - contents[0],
            Role::Phase(steps) => contents[0] = (contents[0] + done as f32) % steps as f32,
            _ => {}
        }
    }
}

/// Applies an expanded function to every element of its arguments, all of one length.
///
/// # Panics
/// If the function is symbolic, or the arguments do not fit.
#[cfg(test)]
pub(crate) fn evaluate(function: &ScalarFunction, arguments: &[&[f32]]) -> Vec<f32> {
    assert_eq!(function.params, arguments.len(), "the arguments of {}", function.name);
    let width = arguments.first().map_or(1, |a| a.len());
    let arguments = arguments.iter().map(|a| {
        assert_eq!(a.len(), width, "equally long arguments");
        a.iter().map(|v| v.to_bits()).collect()
    });
    let arguments = arguments.collect();
    let lanes = Machine::new(&[], &mut []).call(function, arguments, width);
    lanes.into_iter().map(f32::from_bits).collect()
}

/// A value: the bits of every lane.
type Lanes = Vec<u32>;

/// The memory that holds a buffer.
#[derive(Clone, Copy)]
enum Area {
    /// In a buffer shared by all bodies.
    Shared(usize),
    /// In a private buffer of the body.
    Own(usize),
    /// In the block.
    Block,
}

/// The range of elements of a buffer or a live window.
#[derive(Clone, Copy)]
struct MemoryView {
    area: Area,
    start: usize,
    len: usize,
}

/// The range of elements of a buffer.
fn view(body: BodyRef<'_>, id: BufferId) -> MemoryView {
    let ((whole, at), len) = (body.whole(id), body.buffer(id).len);
    match (body.block_place(whole), whole.0.checked_sub(body.program.buffers.len())) {
        (Some(start), _) => MemoryView { area: Area::Block, start: start + at, len },
        (None, Some(own)) => MemoryView { area: Area::Own(own), start: at, len },
        (None, None) => MemoryView { area: Area::Shared(whole.0), start: at, len },
    }
}

struct Machine<'a> {
    functions: &'a [ScalarFunction],
    memory: &'a mut [Vec<f32>],
    /// The memory of each buffer, by [`BufferId`].
    views: &'a [MemoryView],
    block: &'a mut [f32],
    own: &'a mut [Vec<f32>],
    /// The values, by [`super::Var`].
    vars: Vec<Lanes>,
    /// The current place of each window, by [`super::WindowId`].
    windows: Vec<MemoryView>,
    /// Factor of the lanes of constants. In a function, whose locals have one lane: the lanes of
    /// the arguments. In a kernel: 1.
    width: usize,
    /// Vectors for reuse.
    free: Vec<Lanes>,
}

impl<'a> Machine<'a> {
    fn new(functions: &'a [ScalarFunction], memory: &'a mut [Vec<f32>]) -> Self {
        let (vars, windows, free) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            functions,
            memory,
            views: &[],
            block: &mut [],
            own: &mut [],
            vars,
            windows,
            width: 1,
            free,
        }
    }

    fn kernel(mut self, kernel: &Kernel) {
        self.vars.resize(kernel.locals.len(), Vec::new());
        self.run(&kernel.body);
    }

    /// Begins iteration `k` of `count`: sets the places of the windows, in the opposite order if
    /// `backwards`, and the iteration number.
    fn enter(
        &mut self,
        (k, count): (usize, usize),
        counter: Option<Var>,
        (walks, backwards): (&[Walk], bool),
    ) {
        for walk in walks {
            self.walk(walk, if walk.reverse != backwards { count - 1 - k } else { k });
        }
        if let Some(counter) = counter {
            let mut number = self.block_of_lanes();
            number.push(u32::try_from(k).expect("iterations are numbered in 32 bits"));
            self.set(counter, number);
        }
    }

    fn run(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let { var, value, .. } | Stmt::Set { var, value } => {
                    let value = self.expr(value);
                    self.set(*var, value);
                }
                Stmt::Store { to, value } => {
                    let value = self.expr(value);
                    for (element, lane) in self.elements(*to, value.len()).iter_mut().zip(&value) {
                        *element = f32::from_bits(*lane);
                    }
                    self.recycle(value);
                }
                Stmt::For { count, counter, backwards, walks, body } => {
                    let backwards = backwards.is_some_and(|var| self.vars[var.0][0] == 1);
                    for k in 0..*count {
                        self.enter((k, *count), *counter, (walks, backwards));
                        self.run(body);
                        if let Some(Stmt::LeaveUnless { less }) = body.last()
                            && !self.is_less(less)
                        {
                            break;
                        }
                    }
                }
                Stmt::Pick { at, count, walk, body } => {
                    let at = self.expr(at);
                    self.walk(walk, (at[0] as usize).min(*count - 1));
                    self.recycle(at);
                    self.run(body);
                }
                Stmt::If { less, then, otherwise } => {
                    let taken = if self.is_less(less) { then } else { otherwise };
                    self.run(taken);
                }
                Stmt::Copy(Copied { from, to, dims, encoding: Encoding::LowBytes, .. }) => {
                    let line = dims.last().map_or(0, |line| line.extent);
                    let fours = self.elements(*from, line).chunks_exact(4);
                    let words: Vec<f32> = fours.map(low_bytes).collect();
                    self.elements(*to, words.len()).copy_from_slice(&words);
                }
                Stmt::Copy(Copied { from, to, dims, .. }) => {
                    let (from_base, to_base) = (self.view(from.base), self.view(to.base));
                    self.copy((from_base, from.offset), (to_base, to.offset), dims);
                }
                Stmt::Tiles(tiles) => self.tiles(tiles),
                Stmt::Blocks(sums) => self.block_sums(sums),
                // the surrounding loop evaluates LeaveUnless, its last statement
                Stmt::LeaveUnless { .. } | Stmt::Comment(_) => {}
            }
        }
    }

    fn is_less(&mut self, (a, b): &(Expr, Expr)) -> bool {
        let (a, b) = (self.expr(a), self.expr(b));
        a[0] < b[0]
    }

    fn set(&mut self, var: Var, value: Lanes) {
        let old = std::mem::replace(&mut self.vars[var.0], value);
        self.recycle(old);
    }

    /// Binds a window to the k-th place.
    fn walk(&mut self, walk: &Walk, k: usize) {
        let base = self.view(walk.start.base);
        let offset = walk.start.offset + k * walk.stride;
        assert!(offset + walk.len <= base.len, "window {} leaves its base", walk.name);
        if self.windows.len() <= walk.window.0 {
            self.windows.resize(walk.window.0 + 1, base);
        }
        self.windows[walk.window.0] =
            MemoryView { start: base.start + offset, len: walk.len, ..base };
    }

    /// Copies along `dims`. `from` and `to`: a view, and the index of an element in the view.
    fn copy(&mut self, from: (MemoryView, usize), to: (MemoryView, usize), dims: &[CopiedDim]) {
        match dims {
            [] => {
                assert!(from.1 < from.0.len && to.1 < to.0.len, "a copy leaves its base");
                let value = self.slice(from.0)[from.1];
                self.slice(to.0)[to.1] = value;
            }
            [dim, rest @ ..] => {
                let mut read = from.1;
                for k in 0..dim.extent {
                    if k > 0 {
                        read = read
                            .checked_add_signed(dim.from_stride)
                            .expect("a copy leaves its base");
                    }
                    self.copy((from.0, read), (to.0, to.1 + k * dim.to_stride), rest);
                }
            }
        }
    }

    fn tiles(&mut self, tiles: &Tiles) {
        let [elements, weights, _] = tiles.reach().expect("sums that are verified");
        let elements = self.elements(tiles.elements, elements).to_vec();
        let weights = self.elements(tiles.weights, weights).to_vec();
        for (row, elements) in elements.chunks_exact(tiles.words).enumerate() {
            for (panel, weights) in weights.chunks(tiles.stride).enumerate() {
                let mut sums = vec![0; tiles.columns];
                for (k, element) in elements.iter().enumerate() {
                    let first = k / tiles.abreast * tiles.step + k % tiles.abreast;
                    let columns =
                        weights[first..].iter().step_by(tiles.abreast).take(tiles.columns);
                    let mut lanes: Lanes = columns.map(|weight| weight.to_bits()).collect();
                    apply(
                        tiles.operation(),
                        &mut lanes,
                        &[vec![element.to_bits(); tiles.columns], sums, Vec::new()],
                    );
                    sums = lanes;
                }
                let to = tiles.to.at(row * tiles.pitch + panel * tiles.columns);
                for (element, sum) in self.elements(to, tiles.columns).iter_mut().zip(sums) {
                    *element = f32::from_bits(sum);
                }
            }
        }
    }

    fn block_sums(&mut self, of: &BlockSums) {
        let [elements, weights, counts, inputs] =
            of.read().map(|(place, n)| self.elements(place, n).to_vec());
        let (words, size) = (of.product.element_words(), of.block_words());
        let mut blocks = weights.chunks_exact(size).zip(&inputs);
        for (row, count) in counts.iter().enumerate() {
            let mut sums = vec![0; of.rows];
            for (block, input) in blocks.by_ref().take(*count as usize) {
                let elements = &elements[*input as usize * words..][..words];
                for (operation, word, element) in of.product.operations() {
                    let row = &block[word * of.rows..][..of.rows];
                    let mut lanes: Lanes = row.iter().map(|weight| weight.to_bits()).collect();
                    let factor = vec![elements[*element].to_bits(); of.rows];
                    apply(*operation, &mut lanes, &[factor, sums, Vec::new()]);
                    sums = lanes;
                }
            }
            let to = self.elements(of.to.at(row * of.rows), of.rows);
            for (element, sum) in to.iter_mut().zip(sums) {
                *element = f32::from_bits(sum);
            }
        }
    }

    fn view(&self, base: Base) -> MemoryView {
        match base {
            Base::Buffer(id) => self.views[id.0],
            Base::Window(id) => self.windows[id.0],
        }
    }

    fn elements(&mut self, place: Place, n: usize) -> &mut [f32] {
        let view = self.view(place.base);
        assert!(place.offset + n <= view.len, "an access leaves its base");
        &mut self.slice(view)[place.offset..][..n]
    }

    fn slice(&mut self, view: MemoryView) -> &mut [f32] {
        let area = match view.area {
            Area::Shared(i) => &mut *self.memory[i],
            Area::Own(i) => &mut *self.own[i],
            Area::Block => &mut *self.block,
        };
        &mut area[view.start..][..view.len]
    }

    /// An empty list of lanes, reused if possible.
    fn block_of_lanes(&mut self) -> Lanes {
        let mut lanes = self.free.pop().unwrap_or_default();
        lanes.clear();
        lanes
    }

    fn recycle(&mut self, lanes: Lanes) {
        if lanes.capacity() > 0 {
            self.free.push(lanes);
        }
    }

    fn expr(&mut self, expr: &Expr) -> Lanes {
        match expr {
            Expr::Load { from, lanes } => {
                let mut value = self.block_of_lanes();
                value.extend(self.elements(*from, *lanes).iter().map(|v| v.to_bits()));
                value
            }
            Expr::Splat { from, lanes } => {
                let bits = self.elements(*from, 1)[0].to_bits();
                let mut value = self.block_of_lanes();
                value.resize(*lanes, bits);
                value
            }
            Expr::Const { bits, ty } => {
                let mut value = self.block_of_lanes();
                value.resize(ty.lanes * self.width, *bits);
                value
            }
            Expr::Length { from, least, most } => {
                let length = f64::from(self.elements(*from, 1)[0]) - f64::from(*least);
                let most = u32::try_from(*most).expect("lengths fit 32 bits");
                let mut value = self.block_of_lanes();
                // a conversion saturates: below 0 is 0
                value.push((length as u32).min(most));
                value
            }
            Expr::Var(var) => {
                let mut value = self.block_of_lanes();
                value.extend_from_slice(&self.vars[var.0]);
                value
            }
            Expr::Op(operation, args) => {
                let mut first = self.expr(&args[0]);
                let rest: [Lanes; 3] =
                    std::array::from_fn(|i| args.get(i + 1).map_or(Vec::new(), |a| self.expr(a)));
                apply(*operation, &mut first, &rest);
                rest.into_iter().for_each(|lanes| self.recycle(lanes));
                first
            }
            Expr::Call(function, args) => {
                let args: Vec<Lanes> = args.iter().map(|a| self.expr(a)).collect();
                let width = args.first().map_or(1, Vec::len);
                let functions = self.functions;
                self.call(&functions[*function], args, width)
            }
        }
    }

    fn call(&mut self, function: &ScalarFunction, args: Vec<Lanes>, width: usize) -> Lanes {
        let result = function.result.as_ref();
        let result = result
            .unwrap_or_else(|| panic!("{} is symbolic: pass::expand has not run", function.name));
        let mut vars = args;
        vars.resize(function.locals.len(), Vec::new());
        let outer =
            (std::mem::replace(&mut self.vars, vars), std::mem::replace(&mut self.width, width));
        self.run(&function.body);
        let value = self.expr(result);
        let vars;
        (vars, self.width) = (std::mem::replace(&mut self.vars, outer.0), outer.1);
        vars.into_iter().for_each(|lanes| self.recycle(lanes));
        value
    }
}

/// The low bytes of the bits of some numbers, the first lowest, as the bits of a number.
fn low_bytes(numbers: &[f32]) -> f32 {
    let low = numbers.iter().rev().map(|number| number.to_bits() & 0xff);
    f32::from_bits(low.fold(0, |word, byte| word << 8 | byte))
}

/// `a[i] = operation(a[i], rest[0][i], ..)`
fn apply(operation: LaneOp, a: &mut [u32], rest: &[Lanes]) {
    match operation {
        LaneOp::Add => float(a, rest, |a, b| a + b),
        LaneOp::Sub => float(a, rest, |a, b| a - b),
        LaneOp::Mul => float(a, rest, |a, b| a * b),
        LaneOp::Div => float(a, rest, |a, b| a / b),
        LaneOp::MulAdd => {
            for ((a, b), c) in a.iter_mut().zip(&rest[0]).zip(&rest[1]) {
                *a = f32::from_bits(*a).mul_add(f32::from_bits(*b), f32::from_bits(*c)).to_bits();
            }
        }
        LaneOp::Max => float(a, rest, |a, b| if a > b { a } else { b }),
        LaneOp::Min => float(a, rest, |a, b| if a < b { a } else { b }),
        LaneOp::MaxMagnitude => bits(a, rest, |a, b| (a & 0x7fff_ffff).max(b)),
        LaneOp::SelectLess => {
            for (((a, b), c), d) in a.iter_mut().zip(&rest[0]).zip(&rest[1]).zip(&rest[2]) {
                *a = if f32::from_bits(*a) < f32::from_bits(*b) { *c } else { *d };
            }
        }
        LaneOp::Flush => {
            a.iter_mut().filter(|a| f32::from_bits(**a).abs() < FLUSH_BELOW).for_each(|a| *a = 0);
        }
        LaneOp::ToBits | LaneOp::FromBits => {} // lanes are bits
        LaneOp::FromSigned => a.iter_mut().for_each(|a| *a = (a.cast_signed() as f32).to_bits()),
        LaneOp::DotPairs => {
            for ((a, b), c) in a.iter_mut().zip(&rest[0]).zip(&rest[1]) {
                let [low, high] =
                    [0, 16].map(|at| i32::from((*a >> at) as i16) * i32::from((*b >> at) as i16));
                *a = c.wrapping_add_signed(low).wrapping_add_signed(high);
            }
        }
        LaneOp::DotQuads | LaneOp::DotUnsignedQuads => {
            for ((a, b), c) in a.iter_mut().zip(&rest[0]).zip(&rest[1]) {
                let multiply = |a: u8, b: u8| match operation {
                    LaneOp::DotUnsignedQuads => i32::from(a.cast_signed()) * i32::from(b),
                    _ => i32::from(a.cast_signed()) * i32::from(b.cast_signed()),
                };
                let products =
                    a.to_le_bytes().into_iter().zip(b.to_le_bytes()).map(|(a, b)| multiply(a, b));
                *a = products.fold(*c, u32::wrapping_add_signed);
            }
        }
        LaneOp::WidenAndMultiplyEven | LaneOp::WidenAndMultiplyOdd => {
            let odd = if operation == LaneOp::WidenAndMultiplyOdd { 8 } else { 0 };
            for ((a, b), c) in a.iter_mut().zip(&rest[0]).zip(&rest[1]) {
                let pair =
                    |at: u32| i32::from((*a >> (at + odd)) as i8) * i32::from((*b >> at) as i16);
                *a = c.wrapping_add_signed(pair(0)).wrapping_add_signed(pair(16));
            }
        }
        LaneOp::DotPairsByLane(lane) => {
            let halves: Vec<i32> =
                a.iter().flat_map(|a| [*a as i16, (*a >> 16) as i16]).map(i32::from).collect();
            let element = rest[0][lane];
            let [low, high] = [element as i16, (element >> 16) as i16].map(i32::from);
            let (first, second) = halves.split_at(a.len());
            for (((a, first), second), c) in a.iter_mut().zip(first).zip(second).zip(&rest[1]) {
                *a = c.wrapping_add_signed(first * low).wrapping_add_signed(second * high);
            }
        }
        LaneOp::DotQuadsByLane(lane) => {
            apply(
                LaneOp::DotQuads,
                a,
                &[vec![rest[0][lane]; a.len()], rest[1].clone(), Vec::new()],
            );
        }
        LaneOp::WrappingAdd => bits(a, rest, u32::wrapping_add),
        LaneOp::WrappingSub => bits(a, rest, u32::wrapping_sub),
        LaneOp::And => bits(a, rest, |a, b| a & b),
        LaneOp::Or => bits(a, rest, |a, b| a | b),
        LaneOp::Xor => bits(a, rest, |a, b| a ^ b),
        LaneOp::ShiftLeft(by) => a.iter_mut().for_each(|a| *a <<= by),
        LaneOp::ShiftRight(by) => a.iter_mut().for_each(|a| *a >>= by),
    }
}

fn float(a: &mut [u32], rest: &[Lanes], f: impl Fn(f32, f32) -> f32) {
    bits(a, rest, |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits());
}

fn bits(a: &mut [u32], rest: &[Lanes], f: impl Fn(u32, u32) -> u32) {
    a.iter_mut().zip(&rest[0]).for_each(|(a, b)| *a = f(*a, *b));
}
