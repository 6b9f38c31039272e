use std::collections::BTreeMap;

use super::{JOINS, Profile, bound, formula, over_range};
use crate::kernel::{Base, BufferId, Expr, Local, Operation, Program, Role, Stmt, interpret, verify};
use crate::model::{
    Activation, CellKind, ElementType, Parameter, ResetGate, ResultValue, Source, Tensor, ValidCell, ValidModel,
    WeightSource,
};
use crate::options::{Fma, Options};
use crate::plan::{Plan, plan};
use crate::reference::reference;
use crate::{lower, pack, pass};

/// Numbers without much structure, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// In -1..1.
    fn unit(&mut self) -> f32 {
        ((self.next() >> 40) as f32 / 8_388_608.0) - 1.0
    }

    fn values(&mut self, n: usize, scale: f32) -> Vec<f32> {
        (0..n).map(|_| self.unit() * scale).collect()
    }
}

const KINDS: [CellKind; 3] =
    [CellKind::Rnn, CellKind::Gru(ResetGate::BeforeMatMul), CellKind::Gru(ResetGate::AfterMatMul)];

fn parameter(shape: Vec<usize>) -> Parameter {
    Parameter { names: Vec::new(), shape, element: ElementType::F32, weight: false }
}

fn constant(model: &mut ValidModel, shape: Vec<usize>, values: &[f32]) -> WeightSource {
    model.constants.push(Tensor::from_f32(shape, values).expect("as many values as the shape needs"));
    WeightSource::Constant(model.constants.len() - 1)
}

/// Adds a cell with a state of its own, and a result for it; gives back what it produces.
fn push_cell(
    model: &mut ValidModel,
    (kind, batch, hidden_size): (CellKind, usize, usize),
    (x, input_size): (Source, usize),
    weights: [&[f32]; 3],
    activations: Vec<Activation>,
    clip: Option<f32>,
) -> Source {
    model.parameters.push(parameter(vec![batch, hidden_size]));
    let h = Source::Parameter(model.parameters.len() - 1);
    let rows = kind.gates() * hidden_size;
    let w = constant(model, vec![rows, input_size], weights[0]);
    let r = constant(model, vec![rows, hidden_size], weights[1]);
    let b = match weights[2] {
        [] => WeightSource::Zero,
        values => constant(model, vec![kind.bias_parts() * hidden_size], values),
    };
    let name = format!("cell{}", model.cells().len());
    let ledger = Vec::new();
    model.cells().push(ValidCell {
        name,
        kind,
        batch,
        input_size,
        hidden_size,
        activations,
        clip,
        x,
        h,
        w,
        r,
        b,
        ledger,
    });
    let source = Source::Cell(model.cells().len() - 1);
    let shape = vec![batch, hidden_size];
    model.results.push(ResultValue { names: Vec::new(), shape, element: ElementType::F32, source });
    source
}

fn random_model(random: &mut Random) -> ValidModel {
    let mut model = ValidModel::default();
    let batch = random.pick(&[1, 1, 1, 3]);
    let mut input_size = 1 + random.below(24);
    model.parameters.push(parameter(vec![batch, input_size]));
    let mut x = Source::Parameter(0);
    for _ in 0..random.pick(&[1, 1, 2, 3]) {
        let kind = random.pick(&KINDS);
        let hidden_size = 1 + random.below(40);
        let activations = (0..kind.default_activations().len()).map(|_| random.pick(&Activation::ALL)).collect();
        let clip = random.pick(&[None, None, Some(0.07), Some(0.8), Some(4.0)]);
        let scale = random.pick(&[1e-3, 0.1, 0.1, 0.5, 2.0, 30.0]);
        let rows = kind.gates() * hidden_size;
        let w = random.values(rows * input_size, scale);
        let r = random.values(rows * hidden_size, scale);
        let b = random.pick(&[0, 1, 1]) * kind.bias_parts() * hidden_size;
        let b = random.values(b, scale);
        x = push_cell(&mut model, (kind, batch, hidden_size), (x, input_size), [&w, &r, &b], activations, clip);
        input_size = hidden_size;
    }
    model
}

/// The program of one instruction set, as the pipeline makes it.
fn program(model: &ValidModel, plan: &Plan, isa: usize) -> Program {
    let mut program = lower::lower(model, plan, isa);
    verify(&program).expect("lowering");
    pass::expand(&mut program);
    if !plan.isas[isa].1 {
        pass::split(&mut program);
    }
    pass::unroll(&mut program, plan);
    verify(&program).expect("passes");
    program
}

fn run(model: &ValidModel, program: &Program, parameters: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let contents = |role: Role, len: usize| match role {
        Role::Parameter(i) => parameters[i].clone(),
        Role::Constant(i) => (0..len).map(|k| model.constants[i].get_f32(k)).collect(),
        Role::Result(_) | Role::Weights | Role::Scratch => vec![0.0; len],
    };
    let mut memory: Vec<_> = program.buffers.iter().map(|b| contents(b.role, b.len)).collect();
    for m in &program.packing {
        pack::run(m, |to, from| memory[m.to.0][to] = memory[m.from.0][from]);
    }
    interpret(program, &mut memory);
    let result = |i: usize| program.buffers.iter().position(|b| b.role == Role::Result(i)).expect("a result's buffer");
    (0..model.results.len()).map(|i| memory[result(i)].clone()).collect()
}

fn profiles() -> [Options; 3] {
    let flush = Options { flush_denormals: true, ..Options::default() };
    [Options::default(), Options { fma: Fma::Off, ..Options::default() }, flush]
}

/// The largest error over the bound; the bound may be missing only where `may_overflow`.
fn compare(model: &ValidModel, inputs: &[Vec<Vec<f32>>], may_overflow: bool) -> f64 {
    let mut worst = 0.0;
    for options in profiles() {
        let plan = plan(model, &options);
        let programs: Vec<_> = (0..plan.isas.len()).map(|isa| program(model, &plan, isa)).collect();
        for parameters in inputs {
            let exact: Vec<Vec<f64>> = parameters.iter().map(|p| p.iter().map(|v| f64::from(*v)).collect()).collect();
            let expected = reference(model, &exact);
            let mut outputs: Vec<(bool, Vec<Vec<f32>>)> = Vec::new();
            for ((_, fused), program) in plan.isas.iter().zip(&programs) {
                let found = run(model, program, parameters);
                // one profile, one result
                if let Some((_, same)) = outputs.iter().find(|o| o.0 == *fused) {
                    let bits = |all: &[Vec<f32>]| all.concat().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                    assert!(may_overflow || bits(same) == bits(&found), "instruction sets differ");
                }
                outputs.push((*fused, found));
            }
            for (fused, found) in outputs {
                let bounds = bound(model, Profile { fused, flush_denormals: options.flush_denormals }, &exact);
                let elements = expected.concat().into_iter().zip(found.concat()).zip(bounds.concat());
                for ((expected, found), bound) in elements {
                    let error = (f64::from(found) - expected).abs();
                    assert!(bound.is_finite() || may_overflow, "no bound: {:?}", model.cells());
                    // an error that is not a number may stand only where there is no bound
                    let holds = error <= bound || bound == f64::INFINITY;
                    assert!(holds, "{error:e} > {bound:e}: {:?} {options:?}", model.cells());
                    if bound.is_finite() {
                        worst = f64::max(worst, error / bound);
                    }
                }
            }
        }
    }
    worst
}

#[test]
fn holds_on_random_models() {
    let mut random = Random(1);
    let mut worst: f64 = 0.0;
    for _ in 0..60 {
        let model = random_model(&mut random);
        let mut inputs = Vec::new();
        for _ in 0..4 {
            let scales = [random.pick(&[1e-38, 0.01, 1.0, 1.0, 50.0]), random.pick(&[1e-38, 0.1, 1.0, 1.0, 7.0])];
            let sizes = model.parameters.iter().map(|p| p.shape.iter().product());
            let values = sizes.enumerate().map(|(i, n)| random.values(n, scales[usize::from(i > 0)]));
            inputs.push(values.collect());
        }
        worst = worst.max(compare(&model, &inputs, false));
    }
    println!("largest error over bound: {worst:.3}");
    assert!(worst > 0.2, "the bound is {:.0} times too wide even at its best", 1.0 / worst);
}

#[test]
fn holds_where_values_overflow() {
    let mut random = Random(2);
    for _ in 0..40 {
        let model = random_model(&mut random);
        let parameters: Vec<Vec<f32>> =
            model.parameters.iter().map(|p| random.values(p.shape.iter().product(), f32::MAX)).collect();
        compare(&model, &[parameters], true);
    }
}

/// A sum whose every rounding goes the same way: 1 and terms that are just below half its spacing.
#[test]
fn is_tight_for_sums() {
    let k = 300;
    let mut w = vec![0.999_f32 / 16_777_216.0; k];
    w[0] = 1.0;
    let mut model = ValidModel { parameters: vec![parameter(vec![1, k])], ..ValidModel::default() };
    let x = (Source::Parameter(0), k);
    push_cell(&mut model, (CellKind::Rnn, 1, 1), x, [&w, &[0.0], &[]], vec![Activation::Relu], None);
    let ratio = compare(&model, &[vec![vec![1.0; k], vec![0.0]]], false);
    assert!(ratio > 0.97, "{ratio}");
}

/// What the header states holds at every point of the range and is its supremum at a corner.
#[test]
fn over_a_range() {
    let mut random = Random(3);
    for _ in 0..20 {
        let model = random_model(&mut random);
        let profile = Profile { fused: true, flush_denormals: false };
        let at = |random: &mut Random, x: f32, h: f32| {
            let sizes = model.parameters.iter().map(|p| p.shape.iter().product());
            let values = sizes.enumerate().map(|(i, n): (usize, usize)| random.values(n, if i == 0 { x } else { h }));
            let values: Vec<Vec<f64>> = values.map(|v| v.into_iter().map(f64::from).collect()).collect();
            bound(&model, profile, &values)
        };
        let stated = over_range(&model, profile, 2.0, 0.5);
        for (bounds, stated) in at(&mut random, 2.0, 0.5).iter().zip(&stated) {
            assert!(bounds.iter().all(|b| b <= stated));
        }
        let corner: Vec<Vec<f64>> = model
            .parameters
            .iter()
            .enumerate()
            .map(|(i, p)| vec![if i == 0 { -2.0 } else { 0.5 }; p.shape.iter().product()])
            .collect();
        for (bounds, stated) in bound(&model, profile, &corner).iter().zip(&stated) {
            assert_eq!(bounds.iter().copied().fold(0.0, f64::max), *stated);
        }
    }
}

#[test]
fn weights_that_are_inputs_have_a_formula() {
    let mut random = Random(4);
    let mut model = random_model(&mut random);
    let profile = Profile { fused: true, flush_denormals: false };
    assert!(over_range(&model, profile, 1.0, 1.0).iter().all(|b| b.is_finite()));
    model.parameters.push(Parameter { weight: true, ..parameter(vec![1]) });
    assert!(over_range(&model, profile, 1.0, 1.0).iter().all(|b| *b == f64::INFINITY));
    let lines = formula(&model, profile);
    assert!(lines.iter().any(|l| l.starts_with("error <=") || l.contains(": error <=")), "{lines:?}");
}

/// How many roundings every term of every sum goes through, read off the kernels: what the analysis takes for granted.
#[test]
fn terms_round_no_more_often_than_stated() {
    let mut random = Random(5);
    for kind in KINDS {
        for (input_size, hidden_size) in [(1, 1), (3, 20), (20, 3), (2, 70)] {
            let mut model = ValidModel { parameters: vec![parameter(vec![1, input_size])], ..ValidModel::default() };
            let rows = kind.gates() * hidden_size;
            let [w, r] = [rows * input_size, rows * hidden_size].map(|n| random.values(n, 1.0));
            let b = random.values(kind.bias_parts() * hidden_size, 1.0);
            let cell = (kind, 1, hidden_size);
            let activations = kind.default_activations().to_vec();
            push_cell(&mut model, cell, (Source::Parameter(0), input_size), [&w, &r, &b], activations, None);
            for options in &profiles()[..2] {
                let plan = plan(&model, options);
                for (isa, (_, fused)) in plan.isas.iter().enumerate() {
                    let mut program = lower::lower(&model, &plan, isa);
                    if !fused {
                        pass::split(&mut program);
                    }
                    // the constants are W, R and B in this order
                    let constant = |id: BufferId| match program.buffer(id).role {
                        Role::Constant(i) => i,
                        other => panic!("{other:?} is packed"),
                    };
                    let mut origins = BTreeMap::new();
                    for m in &program.packing {
                        let from_constant = constant(m.from);
                        pack::run(m, |to, from| {
                            origins.insert(to, (from_constant, from));
                        });
                    }
                    let split = usize::from(!fused);
                    // s + r m
                    let after = usize::from(kind == CellKind::Gru(ResetGate::AfterMatMul)) * (1 + split);
                    let roundings = Roundings::of(&program);
                    assert!(roundings.len() >= hidden_size, "{roundings:?}");
                    for (at, found) in roundings {
                        let stated = after
                            + match origins[&at] {
                                (0, from) => input_size - from % input_size + JOINS + split,
                                (1, from) => hidden_size - from % hidden_size + JOINS + split,
                                (_, _) => 1,
                            };
                        assert!(found > 0 && found <= stated, "{kind:?} {:?}: {found} > {stated}", origins[&at]);
                    }
                }
            }
        }
    }
}

/// Packed weights, by the first of a vector, and how often what they became has been rounded.
type Rounded = BTreeMap<usize, usize>;

/// A run of a program on the roundings behind each value instead of on values.
struct Roundings<'a> {
    program: &'a Program,
    locals: &'a [Local],
    memory: Vec<Vec<Rounded>>,
    vars: Vec<Rounded>,
    windows: Vec<(usize, usize)>,
    /// The most behind an activation's argument, where a sum ends.
    most: Rounded,
}

impl<'a> Roundings<'a> {
    fn of(program: &'a Program) -> Rounded {
        let memory = program.buffers.iter().map(|b| vec![Rounded::new(); b.len]).collect();
        let (vars, windows, most) = (Vec::new(), Vec::new(), Rounded::new());
        let mut run = Self { program, locals: &[], memory, vars, windows, most };
        for kernel in &program.kernels {
            run.locals = &kernel.locals;
            run.vars = vec![Rounded::new(); kernel.locals.len()];
            run.block(&kernel.body);
        }
        run.most
    }

    fn at(&self, base: Base) -> (usize, usize) {
        match base {
            Base::Buffer(id) => (id.0, 0),
            Base::Window(id) => self.windows[id.0],
        }
    }

    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let { var, value, .. } | Stmt::Set { var, value } => self.vars[var.0] = self.expr(value),
                Stmt::Store { to, value } => {
                    let rounded = self.expr(value);
                    let (buffer, start) = self.at(to.base);
                    let lanes = value.ty(self.locals).lanes;
                    // only the first lane's weights are followed
                    self.memory[buffer][start + to.offset..][..lanes].fill(Rounded::new());
                    self.memory[buffer][start + to.offset] = rounded;
                }
                Stmt::For { count, walks, body } => {
                    for turn in 0..*count {
                        for walk in walks {
                            let (buffer, start) = self.at(walk.of.base);
                            self.windows.resize(self.windows.len().max(walk.window.0 + 1), (0, 0));
                            self.windows[walk.window.0] = (buffer, start + walk.of.offset + turn * walk.len);
                        }
                        self.block(body);
                    }
                }
                Stmt::Comment(_) => {}
            }
        }
    }

    fn join(&mut self, args: &[Expr]) -> Rounded {
        let mut all = Rounded::new();
        for arg in args {
            for (weight, n) in self.expr(arg) {
                let known = all.entry(weight).or_default();
                *known = n.max(*known);
            }
        }
        all
    }

    fn expr(&mut self, expr: &Expr) -> Rounded {
        match expr {
            Expr::Load { from, .. } | Expr::Splat { from, .. } => {
                let (buffer, start) = self.at(from.base);
                match self.program.buffers[buffer].role {
                    Role::Weights => Rounded::from([(start + from.offset, 0)]),
                    _ => self.memory[buffer][start + from.offset].clone(),
                }
            }
            Expr::Const { .. } => Rounded::new(),
            Expr::Var(var) => self.vars[var.0].clone(),
            Expr::Call(_, args) => {
                for (weight, n) in self.join(args) {
                    let known = self.most.entry(weight).or_default();
                    *known = n.max(*known);
                }
                Rounded::new()
            }
            Expr::Op(operation, args) => {
                let mut all = self.join(args);
                let rounds = matches!(
                    operation,
                    Operation::Add | Operation::Sub | Operation::Mul | Operation::Div | Operation::MulAdd
                );
                all.values_mut().for_each(|n| *n += usize::from(rounds));
                all
            }
        }
    }
}
