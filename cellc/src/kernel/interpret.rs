//! Runs a program, lane by lane, as both languages do.
//!
//! Every f32 operation is the one IEEE 754 operation that [`Operation`] names, so a program that the interpreter and
//! generated code both run gives the same bits, NaN payloads apart.

use super::{Base, Expr, Function, Kernel, Operation, Place, Program, Role, Stmt};

/// What memory holds whose contents are undefined at the start of a step: a read of it shows up in the results.
const UNDEFINED: f32 = f32::NAN;

/// Runs one step: `memory[i]` is the contents of buffer `i`, the weights buffers packed.
///
/// Results and scratch buffers are filled with NaN first, as a program may rely on neither.
///
/// # Panics
/// If `memory` has not the buffers' sizes, or the program is not one that `super::verify` accepts with every function
/// expanded.
pub fn interpret(program: &Program, memory: &mut [Vec<f32>]) {
    assert_eq!(program.buffers.len(), memory.len(), "one block of memory for each buffer");
    for (buffer, contents) in program.buffers.iter().zip(memory.iter_mut()) {
        assert_eq!(buffer.len, contents.len(), "the size of buffer {:?}", buffer.name);
        if matches!(buffer.role, Role::Result(_) | Role::Scratch) {
            contents.fill(UNDEFINED);
        }
    }
    for kernel in &program.kernels {
        Machine::new(&program.functions, memory).kernel(kernel);
    }
}

/// Applies an expanded function to every element of its arguments, which are equally long.
///
/// # Panics
/// If the function is symbolic, or the arguments do not fit it.
pub fn evaluate(function: &Function, arguments: &[&[f32]]) -> Vec<f32> {
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

/// Where a live window looks: a range of elements of a buffer.
#[derive(Clone, Copy, Default)]
struct View {
    buffer: usize,
    start: usize,
    len: usize,
}

struct Machine<'a> {
    functions: &'a [Function],
    memory: &'a mut [Vec<f32>],
    /// By [`super::Var`].
    vars: Vec<Lanes>,
    /// By [`super::WindowId`].
    windows: Vec<View>,
    /// How many lanes stand for one lane of the text: a function's body has one lane, and runs on all that it is called with.
    width: usize,
    /// Blocks for values, used again and again.
    free: Vec<Lanes>,
}

impl<'a> Machine<'a> {
    fn new(functions: &'a [Function], memory: &'a mut [Vec<f32>]) -> Self {
        Self { functions, memory, vars: Vec::new(), windows: Vec::new(), width: 1, free: Vec::new() }
    }

    fn kernel(&mut self, kernel: &Kernel) {
        self.vars.resize(kernel.locals.len(), Vec::new());
        self.block(&kernel.body);
    }

    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let { var, value, .. } | Stmt::Set { var, value } => {
                    let value = self.expr(value);
                    let old = std::mem::replace(&mut self.vars[var.0], value);
                    self.recycle(old);
                }
                Stmt::Store { to, value } => {
                    let value = self.expr(value);
                    for (element, lane) in self.elements(*to, value.len()).iter_mut().zip(&value) {
                        *element = f32::from_bits(*lane);
                    }
                    self.recycle(value);
                }
                Stmt::For { count, walks, body, .. } => {
                    for turn in 0..*count {
                        for walk in walks {
                            let base = self.view(walk.of.base);
                            let offset = walk.of.offset + turn * walk.len;
                            assert!(offset + walk.len <= base.len, "window {} leaves its base", walk.name);
                            if self.windows.len() <= walk.window.0 {
                                self.windows.resize(walk.window.0 + 1, View::default());
                            }
                            self.windows[walk.window.0] = View { start: base.start + offset, len: walk.len, ..base };
                        }
                        self.block(body);
                    }
                }
                Stmt::If { .. } | Stmt::Copy(_) => unreachable!("kernel: not yet"),
                Stmt::Comment(_) => {}
            }
        }
    }

    fn view(&self, base: Base) -> View {
        match base {
            Base::Buffer(id) => View { buffer: id.0, start: 0, len: self.memory[id.0].len() },
            Base::Window(id) => self.windows[id.0],
        }
    }

    fn elements(&mut self, place: Place, n: usize) -> &mut [f32] {
        let view = self.view(place.base);
        assert!(place.offset + n <= view.len, "an access leaves its base");
        &mut self.memory[view.buffer][view.start + place.offset..][..n]
    }

    /// An empty block to build a value in.
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
            Expr::Length { .. } => unreachable!("kernel: not yet"),
            Expr::Const { bits, ty } => {
                let mut value = self.block_of_lanes();
                value.resize(ty.lanes * self.width, *bits);
                value
            }
            Expr::Var(var) => {
                let mut value = self.block_of_lanes();
                value.extend_from_slice(&self.vars[var.0]);
                value
            }
            Expr::Op(operation, args) => {
                let mut first = self.expr(&args[0]);
                let rest: [Lanes; 3] = std::array::from_fn(|i| args.get(i + 1).map_or(Vec::new(), |a| self.expr(a)));
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

    fn call(&mut self, function: &Function, args: Vec<Lanes>, width: usize) -> Lanes {
        let result = function.result.as_ref();
        let result = result.unwrap_or_else(|| panic!("{} is symbolic: pass::expand has not run", function.name));
        let mut vars = args;
        vars.resize(function.locals.len(), Vec::new());
        let outer = (std::mem::replace(&mut self.vars, vars), std::mem::replace(&mut self.width, width));
        self.block(&function.body);
        let value = self.expr(result);
        let vars;
        (vars, self.width) = (std::mem::replace(&mut self.vars, outer.0), outer.1);
        vars.into_iter().for_each(|lanes| self.recycle(lanes));
        value
    }
}

/// `a[i] = operation(a[i], rest[0][i], ..)`
fn apply(operation: Operation, a: &mut [u32], rest: &[Lanes]) {
    match operation {
        Operation::Add => float(a, rest, |a, b| a + b),
        Operation::Sub => float(a, rest, |a, b| a - b),
        Operation::Mul => float(a, rest, |a, b| a * b),
        Operation::Div => float(a, rest, |a, b| a / b),
        Operation::MulAdd => {
            for ((a, b), c) in a.iter_mut().zip(&rest[0]).zip(&rest[1]) {
                *a = f32::from_bits(*a).mul_add(f32::from_bits(*b), f32::from_bits(*c)).to_bits();
            }
        }
        Operation::Max => float(a, rest, |a, b| if a > b { a } else { b }),
        Operation::Min => float(a, rest, |a, b| if a < b { a } else { b }),
        Operation::SelectLess => {
            for (((a, b), c), d) in a.iter_mut().zip(&rest[0]).zip(&rest[1]).zip(&rest[2]) {
                *a = if f32::from_bits(*a) < f32::from_bits(*b) { *c } else { *d };
            }
        }
        Operation::ToBits | Operation::FromBits => {} // lanes are bits
        Operation::WrappingAdd => bits(a, rest, u32::wrapping_add),
        Operation::WrappingSub => bits(a, rest, u32::wrapping_sub),
        Operation::And => bits(a, rest, |a, b| a & b),
        Operation::Or => bits(a, rest, |a, b| a | b),
        Operation::Xor => bits(a, rest, |a, b| a ^ b),
        Operation::ShiftLeft(by) => a.iter_mut().for_each(|a| *a <<= by),
        Operation::ShiftRight(by) => a.iter_mut().for_each(|a| *a >>= by),
    }
}

fn float(a: &mut [u32], rest: &[Lanes], f: impl Fn(f32, f32) -> f32) {
    bits(a, rest, |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits());
}

fn bits(a: &mut [u32], rest: &[Lanes], f: impl Fn(u32, u32) -> u32) {
    a.iter_mut().zip(&rest[0]).for_each(|(a, b)| *a = f(*a, *b));
}
