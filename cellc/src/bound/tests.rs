use std::collections::BTreeMap;

use super::{Claim, JOINS, Profile, bound, error, map, over_range, up_to};
use crate::arch::PlannedIsa;
use crate::core::{
    CellOutputs, Concat, CoreCell, CoreLoop, CoreModel, CoreOp, CoreValue, Dense, Lengths,
    LoopCarried, LoopResult, LoopSlice, MatMul, Parameter, Pointwise, PointwiseFunction as P,
    Softmax, Source, Variable, View, WeightSource,
};
use crate::evaluate::test_models::{self, Written};
use crate::kernel::{Base, BodyRef, BufferId, Expr, LaneOp, Local, Role, Stmt, interpret};
use crate::model::{
    Activation, BiasPart, Binary, CellKind, Coupled, LstmGateOrder, MathFunction, ResetGate,
    Tensor, WeightLayout,
};
use crate::numerics::Precisions;
use crate::plan::plan;
use crate::random::Random;
use crate::reference::{Outcome, reference};
use crate::request::{Accuracy, Fma, Numerics, Options};
use crate::{lower, pack, pass};

const KINDS: [CellKind; 4] = [
    CellKind::Rnn,
    CellKind::Gru(ResetGate::BeforeMatMul),
    CellKind::Gru(ResetGate::AfterMatMul),
    CellKind::Lstm,
];

/// Generator of random models with finite bounds for every input.
struct RandomModel<'a> {
    random: &'a mut Random,
    model: Written,
}

impl RandomModel<'_> {
    fn activation(&mut self) -> Activation {
        let (alpha, beta) = (self.random.unit(), self.random.unit());
        let all = [
            Activation::Relu,
            Activation::Sigmoid,
            Activation::Tanh,
            Activation::Affine { alpha, beta },
            Activation::LeakyRelu { alpha },
            Activation::ScaledTanh { alpha, beta },
            Activation::HardSigmoid { alpha, beta },
            Activation::Elu { alpha },
            Activation::Softsign,
            Activation::Softplus,
        ];
        self.random.choice(&all)
    }

    /// A Parameter, or with probability 1/4 a variable.
    fn state(&mut self, shape: &[usize]) -> Source {
        if self.random.below(4) > 0 {
            return self.model.parameter(shape);
        }
        let values = self.random.even(shape.iter().product(), 1.0);
        let initial = self.model.constant(shape, &values);
        let initial = self.random.choice(&[None, Some(initial)]);
        Source::Variable(self.model.variable(shape, initial))
    }

    fn keep(&mut self, state: Source, next: Source) {
        if let Source::Variable(i) = state {
            self.model.0.variables[i].next = Some(next);
        }
    }

    fn weight(&mut self, shape: &[usize], scale: f32) -> WeightSource {
        let values = self.random.even(shape.iter().product(), scale);
        self.model.weight(shape, &values)
    }

    /// A random cell with the input `x` of shape `[N, I]` or `[N, T, I]`, and with a new state.
    fn cell(
        &mut self,
        kind: CellKind,
        x: Source,
        hidden_size: usize,
        steps: Option<usize>,
    ) -> CoreCell {
        let shape = self.model.0.shape(x).to_vec();
        let (batch, input_size) = (shape[0], shape[shape.len() - 1]);
        let state =
            if steps.is_some() { vec![batch, 1, hidden_size] } else { vec![batch, hidden_size] };
        let h = self.state(&state);
        let scale = self.random.choice(&[1e-3, 0.1, 0.1, 0.5, 2.0, 30.0]);
        let rows = kind.gates() * hidden_size;
        let [w, r] = [input_size, hidden_size].map(|n| self.weight(&[rows, n], scale));
        let b = match self.random.below(3) {
            0 => WeightSource::Zero,
            _ => self.weight(&[kind.bias_parts() * hidden_size], scale),
        };
        let mut cell = CoreCell::new(kind, [batch, input_size, hidden_size], [x, h], [w, r, b]);
        cell.clip = self.random.choice(&[None, None, Some(0.07), Some(0.8), Some(4.0)]);
        if kind.has_attention() {
            let shape: Vec<usize> = [Some(batch), steps, Some(1)].into_iter().flatten().collect();
            cell.a = Some(self.model.parameter(&shape));
        } else {
            cell.activations =
                kind.default_activations().iter().map(|_| self.activation()).collect();
        }
        if kind == CellKind::Lstm {
            let c = self.state(&state);
            cell.c = Some(c);
            cell.weights.layout = WeightLayout::new(kind, self.random.choice(&LstmGateOrder::ALL));
            cell.coupled =
                [None, Some(Coupled::Input), Some(Coupled::Forget)][self.random.below(3)];
            if self.random.below(3) == 0 {
                cell.weights.p = Some(self.weight(&[3 * hidden_size], 1.0));
            }
            let c_out = self.model.value(&state);
            cell.out.c = Some(c_out);
            self.keep(c, Source::Value(c_out));
        }
        let h_out = self.model.value(&state);
        cell.out.h = Some(h_out);
        self.keep(h, Source::Value(h_out));
        if let Some(steps) = steps {
            let lengths = match self.random.below(3) {
                0 => Lengths::Full,
                1 => Lengths::Constant((0..batch).map(|_| self.random.below(steps + 1)).collect()),
                _ => self.model.lengths(batch, steps),
            };
            cell.sequence = test_models::sequence(steps, self.random.below(2) == 0, lengths);
            cell.out.y = Some(self.model.value(&[batch, 1, steps, hidden_size]));
        }
        cell
    }

    /// Appends a random operation on `x` of shape `[N, I]` and returns the operation's output of
    /// shape `[N, ..]`. May add further results to the model.
    fn operation(&mut self, x: Source) -> Source {
        let [batch, inputs] = self.model.0.shape(x)[..] else { panic!("a matrix") };
        let shape = [batch, inputs];
        let outputs = 1 + self.random.below(20);
        match self.random.below(9) {
            0 | 1 => {
                let (scale, transposed) =
                    (self.random.choice(&[0.1, 1.0]), self.random.below(2) == 0);
                let w = self
                    .weight(&if transposed { [outputs, inputs] } else { [inputs, outputs] }, scale);
                let out = self.model.value(&[batch, outputs]);
                let chains = Dense::chains(inputs, outputs);
                self.model.push(CoreOp::Dense(Dense {
                    rows: batch,
                    inputs,
                    outputs,
                    x,
                    w,
                    transposed,
                    chains,
                    out,
                }));
                Source::Value(out)
            }
            2 => {
                let activation = self.activation();
                self.model.pointwise(P::Math(activation.into()), &[x], &shape)
            }
            3 => {
                // constants away from 0, since a division by the constants needs a bound
                let values = self.random.even(inputs, 1.0);
                let values: Vec<f32> = values.into_iter().map(|v| v + 0.5f32.copysign(v)).collect();
                let constant = Source::Constant(self.model.constant(&[1, inputs], &values));
                let function = self.random.choice(&[
                    P::Binary(Binary::Divide),
                    P::PRelu,
                    P::Binary(Binary::Multiply),
                    P::Binary(Binary::Add),
                    P::Binary(Binary::Maximum),
                    P::Binary(Binary::Minimum),
                ]);
                self.model.pointwise(function, &[x, constant], &shape)
            }
            4 => {
                let other = self.model.parameter(self.random.choice(&[
                    &[][..],
                    &[inputs],
                    &shape,
                    &[batch, 1],
                ]));
                let function = self.random.choice(&[
                    P::Binary(Binary::Subtract),
                    P::Binary(Binary::Multiply),
                    P::Binary(Binary::Add),
                    P::Binary(Binary::Maximum),
                    P::Binary(Binary::Minimum),
                    P::PRelu,
                ]);
                let inputs = if self.random.below(2) == 0 { [x, other] } else { [other, x] };
                self.model.pointwise(function, &inputs, &shape)
            }
            5 => {
                let (axis, log, out) =
                    (self.random.below(2), self.random.below(2) == 0, self.model.value(&shape));
                self.model.push(CoreOp::Softmax(Softmax { axis, log, input: x, out }));
                Source::Value(out)
            }
            6 => {
                // x · xᵀ
                let transposed = self.model.value(&[inputs, batch]);
                let (strides, input) = (vec![1, inputs as isize], x);
                self.model.push(CoreOp::View(View { input, offset: 0, strides, out: transposed }));
                let out = self.model.value(&[1, batch, batch]);
                let (a, b) = (x, Source::Value(transposed));
                self.model.push(CoreOp::MatMul(MatMul {
                    batch: 1,
                    rows: batch,
                    inner: inputs,
                    columns: batch,
                    a,
                    b,
                    out,
                }));
                let flat = self.model.value(&[batch, batch]);
                let (strides, input) = (vec![batch as isize, 1], Source::Value(out));
                self.model.push(CoreOp::View(View { input, offset: 0, strides, out: flat }));
                Source::Value(flat)
            }
            7 => {
                let other = self.model.parameter(&[batch, outputs]);
                let out = self.model.value(&[batch, inputs + outputs]);
                self.model.push(CoreOp::Concat(Concat {
                    axis: 1,
                    inputs: vec![other, x],
                    is_window: false,
                    out,
                }));
                Source::Value(out)
            }
            // a loop over column blocks of a parameter; ranges and errors grow with each iteration
            _ => {
                let trips = 1 + self.random.below(3);
                let source = self.model.parameter(&[batch, trips * inputs]);
                let [piece, value, sum, next] = [0; 4].map(|_| self.model.value(&shape));
                let (all, last) =
                    (self.model.value(&[batch, trips * inputs]), self.model.value(&shape));
                let pointwise = |function, inputs, out| {
                    test_models::node(CoreOp::Pointwise(Pointwise { function, inputs, out }))
                };
                let (activation, reverse) = (self.activation(), self.random.below(2) == 0);
                self.model.push(CoreOp::Loop(CoreLoop {
                    trips,
                    slices: vec![LoopSlice { whole: source, axis: 1, reverse, piece }],
                    carried: vec![LoopCarried { initial: x, value, next: Source::Value(next) }],
                    running: None,
                    is_cell: false,
                    body: vec![
                        pointwise(
                            P::Binary(Binary::Add),
                            vec![Source::Value(value), Source::Value(piece)],
                            sum,
                        ),
                        pointwise(P::Math(activation.into()), vec![Source::Value(sum)], next),
                    ],
                    results: vec![
                        LoopResult {
                            value: Source::Value(next),
                            pieces: Some((1, reverse)),
                            out: all,
                        },
                        LoopResult { value: Source::Value(next), pieces: None, out: last },
                    ],
                }));
                self.model.result(Source::Value(all));
                Source::Value(last)
            }
        }
    }
}

/// A chain of cells. The outputs of every cell are results.
fn random_cells(random: &mut Random) -> CoreModel {
    let batch = random.choice(&[1, 1, 1, 3]);
    let mut drawn = RandomModel { random, model: Written::default() };
    let mut x = drawn.model.parameter(&[batch, 1 + drawn.random.below(24)]);
    for _ in 0..drawn.random.choice(&[1, 1, 2, 3]) {
        let kind = drawn.random.choice(&KINDS);
        let hidden_size = 1 + drawn.random.below(40);
        let cell = drawn.cell(kind, x, hidden_size, None);
        let outputs: Vec<usize> = [cell.out.h, cell.out.c].into_iter().flatten().collect();
        drawn.model.push(CoreOp::Cell(cell));
        x = Source::Value(outputs[0]);
        outputs.into_iter().for_each(|out| drawn.model.result(Source::Value(out)));
    }
    drawn.model.0
}

/// Cells with gates in random order. Each bias is a slice of one of two tensors, the sum of a slice
/// of each, or zero.
fn cells_in_any_layout(random: &mut Random) -> CoreModel {
    let mut model = random_cells(random);
    let mut constants = std::mem::take(&mut model.constants);
    for node in &mut model.nodes {
        let CoreOp::Cell(cell) = &mut node.op else { continue };
        let mut gates: Vec<usize> = (0..cell.kind.gates()).collect();
        for i in 1..gates.len() {
            gates.swap(i, random.below(i + 1));
        }
        let mut terms = |part: usize| {
            let tensors = [0, 1].into_iter().filter(|_| random.below(4) > 0);
            tensors.map(|tensor| BiasPart { tensor, part }).collect()
        };
        let biases = (0..cell.kind.bias_parts()).map(&mut terms).collect();
        cell.weights.layout = WeightLayout { gates, biases, ..cell.weights.layout };
        let tensors = cell.weights.layout.bias_tensors().into_iter().map(|parts| {
            // a tensor without readers has elements, too
            let len = parts.max(1) * cell.hidden_size;
            constants
                .push(Tensor::from_f32(vec![len], &random.even(len, 1.0)).expect("as many values"));
            WeightSource::Constant(constants.len() - 1)
        });
        cell.weights.b = tensors.collect();
    }
    CoreModel { constants, ..model }
}

/// A sequence or a plain input, followed by a few operations.
fn random_graph(random: &mut Random) -> CoreModel {
    let batch = random.choice(&[1, 2, 3]);
    let mut drawn = RandomModel { random, model: Written::default() };
    let inputs = 1 + drawn.random.below(10);
    let mut x = match drawn.random.below(2) {
        0 => drawn.model.parameter(&[batch, inputs]),
        _ => {
            let steps = 1 + drawn.random.below(4);
            let x = drawn.model.parameter(&[batch, steps, inputs]);
            let kind = match drawn.random.below(3) {
                0 => CellKind::Augru(
                    drawn.random.choice(&[ResetGate::BeforeMatMul, ResetGate::AfterMatMul]),
                ),
                _ => drawn.random.choice(&KINDS),
            };
            let hidden_size = 1 + drawn.random.below(12);
            let mut cell = drawn.cell(kind, x, hidden_size, Some(steps));
            if kind.has_attention() {
                // validation refuses clip with attention
                cell.clip = None;
            }
            let (y, h_out, c_out) = (cell.out.y, cell.out.h.expect("its output"), cell.out.c);
            drawn.model.push(CoreOp::Cell(cell));
            y.into_iter().chain(c_out).for_each(|out| drawn.model.result(Source::Value(out)));
            let out = drawn.model.value(&[batch, hidden_size]);
            let (strides, input) = (vec![hidden_size as isize, 1], Source::Value(h_out));
            drawn.model.push(CoreOp::View(View { input, offset: 0, strides, out }));
            Source::Value(out)
        }
    };
    for _ in 0..1 + drawn.random.below(4) {
        x = drawn.operation(x);
        if drawn.random.below(2) == 0 {
            drawn.model.result(x);
        }
    }
    drawn.model.result(x);
    drawn.model.0
}

/// Interprets `body`. Returns the values of all results, and after them of all variables.
fn run(
    model: &CoreModel,
    body: BodyRef<'_>,
    parameters: &[Vec<f32>],
    variables: &[Vec<f32>],
) -> Vec<Vec<f32>> {
    let contents = |role: Role, len: usize| match role {
        Role::Parameter(i) => parameters[i].clone(),
        Role::Variable(i) => body.program.variable_memory(i, &variables[i], 0),
        Role::Constant(i) => (0..len).map(|k| model.constants[i].get_f32(k)).collect(),
        _ => vec![0.0; len],
    };
    let mut memory: Vec<_> = body.program.buffers.iter().map(|b| contents(b.role, b.len)).collect();
    pack::pack_memory(body.program, &mut memory);
    interpret(body, &mut memory);
    let buffer = |role: Role| body.program.find(role).map(|id| id.0);
    let result = |i: usize| memory[buffer(Role::Result(i)).expect("a result's buffer")].clone();
    // unused variables have no buffer
    let variable = |i: usize| {
        buffer(Role::Variable(i)).map_or_else(
            || variables[i].clone(),
            |b| body.program.variable_values(i, &memory[b], 1),
        )
    };
    (0..model.results.len()).map(result).chain((0..model.variables.len()).map(variable)).collect()
}

fn profiles() -> [Options; 3] {
    let keep = Options::default().with_keep_denormals(true).with_accuracy(Accuracy::Fast);
    [Options::default(), Options::default().with_fma(Fma::Off).with_accuracy(Accuracy::Audio), keep]
}

/// The operands of a call: values of all parameters, and values of all variables.
type Call = (Vec<Vec<f32>>, Vec<Vec<f32>>);

fn exactly(values: &[Vec<f32>]) -> Vec<Vec<f64>> {
    values.iter().map(|p| p.iter().map(|v| f64::from(*v)).collect()).collect()
}

fn all(step: Outcome<f64>) -> Vec<f64> {
    step.results.into_iter().chain(step.variables).flatten().collect()
}

/// The largest ratio of error to bound. Infinite bounds are allowed only if `may_overflow`.
fn compare(model: &CoreModel, calls: &[Call], may_overflow: bool) -> f64 {
    let mut worst = 0.0;
    for options in profiles() {
        let precisions = Precisions::new(model, &options.numerics);
        let plan = plan(model, &options, &precisions);
        let program = pass::run(lower::lower(model, &plan), model, &plan);
        for (parameters, variables) in calls {
            let (exact, before) = (exactly(parameters), exactly(variables));
            let expected = all(reference(model, &exact, &before));
            let mut outputs: Vec<(bool, Vec<f32>)> = Vec::new();
            for (PlannedIsa { fuses: fused, .. }, body) in plan.isas.iter().zip(program.bodies()) {
                let found = run(model, body, parameters, variables).concat();
                // instruction sets with one profile give equal bits
                if let Some((_, same)) = outputs.iter().find(|o| o.0 == *fused) {
                    let bits = |all: &[f32]| all.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                    assert!(
                        may_overflow || bits(same) == bits(&found),
                        "instruction sets differ: {:?}",
                        model.nodes
                    );
                }
                outputs.push((*fused, found));
            }
            for (fused, found) in outputs {
                let profile = &Profile::new(fused, &options.numerics, &precisions);
                let bounds = all(bound(model, profile, &exact, &before));
                assert_eq!((expected.len(), expected.len()), (found.len(), bounds.len()));
                for (i, ((expected, found), bound)) in
                    expected.iter().zip(found).zip(bounds).enumerate()
                {
                    let error = (f64::from(found) - expected).abs();
                    assert!(bound.is_finite() || may_overflow, "no bound: {:?}", model.nodes);
                    // a NaN error needs an infinite bound
                    let holds = error <= bound || bound == f64::INFINITY;
                    assert!(
                        holds,
                        "element {i} is {found:e}, {error:e} > {bound:e} off: {:?} {options:?}",
                        model.nodes
                    );
                    if bound.is_finite() && bound > 0.0 {
                        worst = f64::max(worst, error / bound);
                    }
                }
            }
        }
    }
    worst
}

/// A random call. `scales`: the magnitude of the first parameter, and the magnitude of all other
/// parameters and variables. Sequence lengths are between -1 and T + 1.
fn call(random: &mut Random, model: &CoreModel, scales: [f32; 2]) -> Call {
    let parameter = |(i, p): (usize, &Parameter)| match p.length {
        Some(most) => (0..p.shape[0]).map(|_| random.below(most + 3) as f32 - 1.0).collect(),
        None => random.even(p.shape.iter().product(), scales[usize::from(i > 0)]),
    };
    let parameters = model.parameters.iter().enumerate().map(parameter).collect();
    let variable = |v: &Variable| random.even(v.shape.iter().product(), scales[1]);
    (parameters, model.variables.iter().map(variable).collect())
}

fn holds(
    random: &mut Random,
    draw: impl Fn(&mut Random) -> CoreModel,
    models: usize,
    may_overflow: bool,
) -> f64 {
    let mut worst: f64 = 0.0;
    for _ in 0..models {
        let model = draw(random);
        let mut calls = Vec::new();
        for _ in 0..4 {
            let scales = [
                random.choice(&[1e-38, 0.01, 1.0, 1.0, 50.0]),
                random.choice(&[1e-38, 0.1, 1.0, 1.0, 7.0]),
            ];
            calls.push(call(random, &model, scales));
        }
        worst = worst.max(compare(&model, &calls, may_overflow));
    }
    println!("largest error over bound: {worst:.3}");
    worst
}

#[test]
fn holds_on_random_cells() {
    let worst = holds(&mut Random::new(1), random_cells, 60, false);
    assert!(worst > 0.2, "the bound is {:.0} times too wide even at its best", 1.0 / worst);
}

#[test]
fn holds_for_weights_in_any_layout() {
    let worst = holds(&mut Random::new(3), cells_in_any_layout, 40, false);
    assert!(worst > 0.2, "the bound is {:.0} times too wide even at its best", 1.0 / worst);
}

#[test]
fn holds_on_random_graphs() {
    let worst = holds(&mut Random::new(6), random_graph, 150, false);
    assert!(worst > 0.2, "the bound is {:.0} times too wide even at its best", 1.0 / worst);
}

#[test]
fn holds_where_values_overflow() {
    let mut random = Random::new(2);
    for draw in [random_cells, random_graph] {
        for _ in 0..40 {
            let model = draw(&mut random);
            let call = call(&mut random, &model, [f32::MAX; 2]);
            compare(&model, &[call], true);
        }
    }
}

/// The terms of this sum are 1 and numbers just below half the spacing of f32 at 1: all roundings
/// have one sign, and the error nearly reaches the bound.
#[test]
fn is_tight_for_sums() {
    let k = 300;
    let mut w = vec![0.999_f32 / 16_777_216.0; k];
    w[0] = 1.0;
    let mut model = Written::default();
    let (x, h) = (model.parameter(&[1, k]), model.parameter(&[1, 1]));
    let weights = [model.weight(&[1, k], &w), model.weight(&[1, 1], &[0.0]), WeightSource::Zero];
    let out = model.value(&[1, 1]);
    let cell = CoreCell::new(CellKind::Rnn, [1, k, 1], [x, h], weights);
    model.push(CoreOp::Cell(CoreCell {
        activations: test_models::relus(1),
        out: CellOutputs { h: Some(out), ..CellOutputs::default() },
        ..cell
    }));
    model.result(Source::Value(out));
    let ratio = compare(&model.0, &[(vec![vec![1.0; k], vec![0.0]], Vec::new())], false);
    assert!(ratio > 0.97, "{ratio}");
}

/// The bound that generated files state in their header covers every input in the range.
#[test]
fn over_a_range() {
    let mut random = Random::new(3);
    let mut reached = 0;
    for k in 0..80 {
        let model = if k % 2 == 0 { random_cells(&mut random) } else { random_graph(&mut random) };
        let profile = &Profile::new(true, &Numerics::default(), &Precisions::F32);
        let stated: Vec<f64> =
            over_range(&model, profile, 2.0, 2.0).iter().map(|claim| claim.error).collect();
        let mut at = vec![0.0f64; stated.len()];
        for _ in 0..8 {
            let (parameters, variables) = call(&mut random, &model, [2.0; 2]);
            let bounds = bound(&model, profile, &exactly(&parameters), &exactly(&variables));
            let magnitudes = |all: &[Vec<f32>]| -> Vec<Vec<f64>> {
                all.iter()
                    .map(|values| values.iter().map(|v| f64::from(v.abs())).collect())
                    .collect()
            };
            let up_to = map(
                up_to(&model, profile, &magnitudes(&parameters), &magnitudes(&variables)),
                error,
            );
            let all = bounds.results.iter().zip(&up_to.results);
            for (((bounds, up_to), stated), at) in all.zip(&stated).zip(&mut at) {
                let holds = bounds
                    .iter()
                    .zip(up_to)
                    .all(|(bound, up_to)| bound <= up_to && up_to <= stated);
                assert!(holds, "{bounds:?}, {up_to:?} > {stated}: {:?}", model.nodes);
                *at = up_to.iter().copied().fold(*at, f64::max);
            }
        }
        reached += usize::from(at.iter().zip(&stated).any(|(at, stated)| *at > 0.5 * stated));
    }
    assert!(reached > 20, "{reached} of 80 ranges are as bad as was said");
}

/// The stated bound equals the bound with all inputs at their limits. Initial states of cells count
/// as states.
#[test]
fn over_a_range_is_the_corner() {
    let mut random = Random::new(8);
    for _ in 0..20 {
        let mut model = random_cells(&mut random);
        // makes the initial state a view of a parameter
        let (view, out) = (model.values.len(), model.values.len());
        model.values.push(CoreValue { shape: Vec::new() });
        let CoreOp::Cell(cell) = &mut model.nodes[0].op else { panic!("a cell") };
        let shape = vec![cell.batch, cell.hidden_size];
        let strides = vec![cell.hidden_size as isize, 1];
        let input = std::mem::replace(&mut cell.h, Source::Value(view));
        model.values[view].shape = shape;
        model
            .nodes
            .insert(0, test_models::node(CoreOp::View(View { input, offset: 0, strides, out })));
        let profile = &Profile::new(false, &Numerics::default(), &Precisions::F32);
        let size = |shape: &[usize]| shape.iter().product::<usize>();
        let corner =
            |(i, p): (usize, &Parameter)| vec![if i == 0 { 2.0 } else { 0.5 }; size(&p.shape)];
        let corner: Vec<_> = model.parameters.iter().enumerate().map(corner).collect();
        let variables: Vec<_> = model.variables.iter().map(|v| vec![0.5; size(&v.shape)]).collect();
        let stated = over_range(&model, profile, 2.0, 0.5);
        let up_to = map(up_to(&model, profile, &corner, &variables), error);
        for (bounds, stated) in up_to.results.iter().zip(&stated) {
            assert_eq!(bounds.iter().copied().fold(0.0, f64::max), stated.error);
        }
    }
}

/// No bound for x / d and log d if d may be 0, nor for √d if d may be negative. Otherwise the bound
/// is finite.
#[test]
fn quotients_and_logarithms() {
    for (shift, bounded) in [(0.0, false), (2.0, true)] {
        let mut model = Written::default();
        let x = model.parameter(&[4]);
        let tanh = model.pointwise(P::Math(Activation::Tanh.into()), &[x], &[4]);
        let shift = Source::Constant(model.constant(&[1], &[shift]));
        let divisor = model.pointwise(P::Binary(Binary::Add), &[tanh, shift], &[4]);
        let quotient = model.pointwise(P::Binary(Binary::Divide), &[x, divisor], &[4]);
        let logarithm = model.pointwise(P::Math(MathFunction::Log), &[divisor], &[4]);
        let root = model.pointwise(P::Math(MathFunction::Sqrt), &[divisor], &[4]);
        model.result(quotient);
        model.result(logarithm);
        model.result(root);
        let call = (vec![vec![-3.0, 0.1, 1.0, 2.5]], Vec::new());
        compare(&model.0, &[call], !bounded);
        let profile = &Profile::new(true, &Numerics::default(), &Precisions::F32);
        for Claim { error, .. } in over_range(&model.0, profile, 3.0, 1.0) {
            assert_eq!(error < 1e-5, bounded, "{error:e}");
        }
    }
}

/// Where errors may cross a jump, the bound covers both sides.
#[test]
fn covers_both_sides_of_a_jump() {
    let mut worst: f64 = 0.0;
    for x in [-2.3_f32, -1.7, -0.9, -0.4, 0.2, 0.6, 0.8, 1.2, 1.9] {
        let mut model = Written::default();
        let input = model.parameter(&[1]);
        let tanh = model.pointwise(P::Math(Activation::Tanh.into()), &[input], &[1]);
        let jump = Activation::ThresholdedRelu { alpha: x.tanh() };
        let cut = model.pointwise(P::Math(jump.into()), &[tanh], &[1]);
        model.result(cut);
        worst = worst.max(compare(&model.0, &[(vec![vec![x]], Vec::new())], false));
    }
    assert!(worst > 0.9, "no error has crossed a jump: {worst}");
}

/// Over many steps the bound never exceeds the output's range.
#[test]
fn grows_no_further_than_the_range() {
    let reset = [ResetGate::BeforeMatMul, ResetGate::AfterMatMul];
    for kind in [CellKind::Rnn, CellKind::Gru(reset[0]), CellKind::Gru(reset[1]), CellKind::Lstm] {
        let mut random = Random::new(14);
        let mut drawn = RandomModel { random: &mut random, model: Written::default() };
        let x = drawn.model.parameter(&[1, 200, 3]);
        let [h, c] = [0; 2].map(|_| drawn.model.parameter(&[1, 1, 3]));
        let rows = 3 * kind.gates();
        let weights =
            [drawn.weight(&[rows, 3], 9.0), drawn.weight(&[rows, 3], 9.0), WeightSource::Zero];
        let mut cell = CoreCell::new(kind, [1, 3, 3], [x, h], weights);
        cell.c = kind.has_cell_state().then_some(c);
        cell.sequence = test_models::sequence(200, false, Lengths::Full);
        let out = drawn.model.value(&[1, 1, 3]);
        cell.out.h = Some(out);
        drawn.model.push(CoreOp::Cell(cell));
        drawn.model.result(Source::Value(out));
        let profile = &Profile::new(true, &Numerics::default(), &Precisions::F32);
        let bound = over_range(&drawn.model.0, profile, 1.0, 1.0)[0].error;
        assert!((1.0..2.001).contains(&bound), "{kind:?}: {bound}");
    }
}

/// If nothing is known of the argument, the bound is the width of the function's range.
#[test]
fn is_no_larger_than_the_range() {
    let mut model = Written::default();
    let x = model.parameter(&[1]);
    let steep = Source::Constant(model.constant(&[1], &[1e30]));
    let x = model.pointwise(P::Binary(Binary::Multiply), &[x, steep], &[1]);
    let sigmoid = model.pointwise(P::Math(Activation::Sigmoid.into()), &[x], &[1]);
    let tanh = model.pointwise(P::Math(Activation::Tanh.into()), &[x], &[1]);
    model.result(sigmoid);
    model.result(tanh);
    let profile = &Profile::new(true, &Numerics::default(), &Precisions::F32);
    let claims = over_range(&model.0, profile, 1.0, 1.0);
    let claims: Vec<_> = claims.iter().map(|claim| (claim.error, claim.low, claim.high)).collect();
    assert_eq!(claims, [(1.0, 0.0, 1.0), (2.0, -1.0, 1.0)]);
}

#[test]
fn weights_that_are_inputs_have_no_bound_over_a_range() {
    let mut random = Random::new(4);
    let mut model = random_cells(&mut random);
    let profile = &Profile::new(true, &Numerics::default(), &Precisions::F32);
    assert!(over_range(&model, profile, 1.0, 1.0).iter().all(|claim| claim.error.is_finite()));
    model.parameters.push(Parameter { weight: true, ..model.parameters[0].clone() });
    assert!(over_range(&model, profile, 1.0, 1.0).iter().all(|claim| claim.error == f64::INFINITY));
}

/// The roundings of every term, counted in the kernels, do not exceed the number that the analysis
/// assumes.
#[test]
fn terms_round_no_more_often_than_stated() {
    let mut random = Random::new(5);
    for kind in KINDS {
        for (input_size, hidden_size) in [(1, 1), (3, 20), (20, 3), (2, 70)] {
            let mut drawn = RandomModel { random: &mut random, model: Written::default() };
            let (x, h) =
                (drawn.model.parameter(&[1, input_size]), drawn.model.parameter(&[1, hidden_size]));
            let rows = kind.gates() * hidden_size;
            let [w, r] = [input_size, hidden_size].map(|n| drawn.weight(&[rows, n], 1.0));
            let b = drawn.weight(&[kind.bias_parts() * hidden_size], 1.0);
            let mut cell = CoreCell::new(kind, [1, input_size, hidden_size], [x, h], [w, r, b]);
            cell.c = kind.has_cell_state().then(|| drawn.model.parameter(&[1, hidden_size]));
            let out = drawn.model.value(&[1, hidden_size]);
            cell.out.h = Some(out);
            drawn.model.push(CoreOp::Cell(cell));
            drawn.model.result(Source::Value(out));
            let model = drawn.model.0;
            for options in &profiles()[..2] {
                let precisions = Precisions::new(&model, &options.numerics);
                let plan = plan(&model, options, &precisions);
                let mut program = lower::lower(&model, &plan);
                for (body, _) in
                    program.bodies.iter_mut().zip(&plan.isas).filter(|(_, planned)| !planned.fuses)
                {
                    pass::split(body);
                }
                for (body, PlannedIsa { fuses: fused, .. }) in program.bodies().zip(&plan.isas) {
                    // the constants are W, R and B in this order
                    let constant = |id: BufferId| match program.buffer(id).role {
                        Role::Constant(i) => i,
                        other => panic!("{other:?} is packed"),
                    };
                    let mut origins = BTreeMap::new();
                    for (copied, from, _) in program.packing.copies() {
                        let from_constant = constant(from);
                        pack::elements(copied, |to, from| {
                            origins.insert(to, (from_constant, from));
                        });
                    }
                    let split = usize::from(!fused);
                    // this GRU multiplies R h by r and adds it to W x: one more rounding, two if
                    // unfused
                    let after =
                        usize::from(kind == CellKind::Gru(ResetGate::AfterMatMul)) * (1 + split);
                    let roundings = Roundings::count(body);
                    assert!(roundings.len() >= hidden_size, "{roundings:?}");
                    for (at, found) in roundings {
                        let stated = after
                            + match origins[&at] {
                                (0, from) => input_size - from % input_size + JOINS + split,
                                (1, from) => hidden_size - from % hidden_size + JOINS + split,
                                (_, _) => 1,
                            };
                        assert!(
                            found > 0 && found <= stated,
                            "{kind:?} {:?}: {found} > {stated}",
                            origins[&at]
                        );
                    }
                }
            }
        }
    }
}

/// Map from the index of a packed weight, in the first lane, to the roundings of its term so far.
type Rounded = BTreeMap<usize, usize>;

/// Interprets a program on rounding counts instead of values.
struct Roundings<'a> {
    body: BodyRef<'a>,
    locals: &'a [Local],
    memory: Vec<Vec<Rounded>>,
    vars: Vec<Rounded>,
    windows: Vec<(usize, usize)>,
    /// Largest counts in the arguments of activations.
    most: Rounded,
}

impl<'a> Roundings<'a> {
    fn count(body: BodyRef<'a>) -> Rounded {
        let memory = body.buffers().map(|b| vec![Rounded::new(); b.len]).collect();
        let (vars, windows, most) = (Vec::new(), Vec::new(), Rounded::new());
        let mut run = Self { body, locals: &[], memory, vars, windows, most };
        for kernel in &body.body.kernels {
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
                Stmt::Let { var, value, .. } | Stmt::Set { var, value } => {
                    self.vars[var.0] = self.expr(value)
                }
                Stmt::Store { to, value } => {
                    let rounded = self.expr(value);
                    let (buffer, start) = self.at(to.base);
                    let lanes = value.ty(self.locals).lanes;
                    // only first lanes are counted
                    self.memory[buffer][start + to.offset..][..lanes].fill(Rounded::new());
                    self.memory[buffer][start + to.offset] = rounded;
                }
                Stmt::Pick { .. } => unreachable!("no cell looks anything up"),
                Stmt::For { count, walks, body, .. } => {
                    for iteration in 0..*count {
                        for walk in walks {
                            let (buffer, start) = self.at(walk.start.base);
                            self.windows.resize(self.windows.len().max(walk.window.0 + 1), (0, 0));
                            let iteration =
                                if walk.reverse { count - 1 - iteration } else { iteration };
                            self.windows[walk.window.0] =
                                (buffer, start + walk.start.offset + iteration * walk.stride);
                        }
                        self.block(body);
                    }
                }
                Stmt::If { .. }
                | Stmt::LeaveUnless { .. }
                | Stmt::Copy(_)
                | Stmt::Tiles(_)
                | Stmt::Blocks(_) => {
                    panic!("a single step needs none")
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
                match self.body.buffer(BufferId(buffer)).role {
                    Role::Weights => Rounded::from([(start + from.offset, 0)]),
                    _ => self.memory[buffer][start + from.offset].clone(),
                }
            }
            Expr::Const { .. } | Expr::Length { .. } => Rounded::new(),
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
                    LaneOp::Add | LaneOp::Sub | LaneOp::Mul | LaneOp::Div | LaneOp::MulAdd
                );
                all.values_mut().for_each(|n| *n += usize::from(rounds));
                all
            }
        }
    }
}
