//! Converted weights give the results of PyTorch, Keras and ONNX Runtime
//! (tests/frameworks/make.py), in the float64 reference.

use std::path::Path;

use super::{ConversionTarget, Framework, GateOrder, NamedTensor, WeightSet, convert};
use crate::compile::core_model;
use crate::diagnostic::Message;
use crate::front::apple::AppleResetGate;
use crate::front::keys::{Key, Spanned};
use crate::front::layer::Declared;
use crate::front::read_model::ReadModel;
use crate::front::safetensors::{self, TensorFile};
use crate::front::weights::{Baked, CellWeights};
use crate::model::{Activation, CellKind, Direction, ElementType, ResetGate, Tensor};
use crate::reference::reference;
use crate::request::Options;

/// The numbers of batch rows, steps, inputs and states in every file.
const N: usize = 2;
const T: usize = 4;
const I: usize = 3;
const H: usize = 5;
const AFTER: CellKind = CellKind::Gru(ResetGate::AfterMatMul);
const BEFORE: CellKind = CellKind::Gru(ResetGate::BeforeMatMul);
/// The frameworks compute in f32, the reference in float64.
const TOLERANCE: f64 = 3e-6;

fn file(name: &str) -> TensorFile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/frameworks");
    safetensors::read(&folder.join(format!("{name}.safetensors")))
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn tensor(file: &TensorFile, name: &str) -> Option<Tensor> {
    file.get(name).cloned()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    (0..tensor.len()).map(|i| tensor.get_f64(i)).collect()
}

/// File, framework, cell, number of layers, number of directions.
type Case = (&'static str, Framework, CellKind, usize, usize);

const CASES: [Case; 22] = [
    ("pytorch_rnn", Framework::PyTorch, CellKind::Rnn, 1, 1),
    ("pytorch_rnn_relu", Framework::PyTorch, CellKind::Rnn, 1, 1),
    ("pytorch_gru", Framework::PyTorch, AFTER, 1, 1),
    ("pytorch_gru_without_bias", Framework::PyTorch, AFTER, 1, 1),
    ("pytorch_gru_f16", Framework::PyTorch, AFTER, 1, 1),
    ("pytorch_gru_bf16", Framework::PyTorch, AFTER, 1, 1),
    ("pytorch_gru_f64", Framework::PyTorch, AFTER, 1, 1),
    ("pytorch_gru_two_layers_both_ways", Framework::PyTorch, AFTER, 2, 2),
    ("pytorch_lstm", Framework::PyTorch, CellKind::Lstm, 1, 1),
    ("pytorch_lstm_two_layers_both_ways", Framework::PyTorch, CellKind::Lstm, 2, 2),
    ("keras_rnn", Framework::Keras, CellKind::Rnn, 1, 1),
    ("keras_gru_reset_after", Framework::Keras, AFTER, 1, 1),
    ("keras_gru_reset_before", Framework::Keras, BEFORE, 1, 1),
    ("keras_gru_without_bias", Framework::Keras, AFTER, 1, 1),
    ("keras_gru_both_ways", Framework::Keras, AFTER, 1, 2),
    ("keras_lstm", Framework::Keras, CellKind::Lstm, 1, 1),
    ("onnx_rnn", Framework::Onnx, CellKind::Rnn, 1, 1),
    ("onnx_gru_reset_after", Framework::Onnx, AFTER, 1, 1),
    ("onnx_gru_reset_before", Framework::Onnx, BEFORE, 1, 1),
    ("onnx_gru_both_ways", Framework::Onnx, AFTER, 1, 2),
    ("onnx_lstm", Framework::Onnx, CellKind::Lstm, 1, 1),
    ("onnx_lstm_peepholes", Framework::Onnx, CellKind::Lstm, 1, 1),
];

/// The tensors of one layer and direction under the names that its framework has for them.
fn set(
    file: &TensorFile,
    framework: Framework,
    kind: CellKind,
    layer: usize,
    direction: usize,
) -> WeightSet {
    let name_of = |name: &str| match framework {
        Framework::PyTorch => {
            let reverse = if direction == 1 { "_reverse" } else { "" };
            format!("{}.{name}_l{layer}{reverse}", kind.family().name())
        }
        Framework::Keras if direction == 1 => format!("backward_{name}"),
        _ => name.to_owned(),
    };
    let named = |name: &str| {
        let name = name_of(name);
        let mut tensor = tensor(file, &name)?;
        if framework == Framework::Onnx {
            // the axis of directions is the first
            let shape = tensor.shape()[1..].to_vec();
            tensor = tensor.part(direction * shape.iter().product::<usize>(), shape)?;
        }
        Some(NamedTensor { name, tensor, flat: false })
    };
    let ([w, r], biases) = framework.tensor_names();
    WeightSet {
        w: named(w).expect("the first matrix"),
        r: named(r).expect("the second matrix"),
        biases: biases.iter().filter_map(|name| named(name)).collect(),
        peepholes: named("P"),
    }
}

fn wanted(kind: CellKind, input_size: usize, sequence: bool) -> ConversionTarget {
    ConversionTarget {
        kind,
        hidden_size: H,
        input_size,
        sequence,
        outer_bias: false,
        gate_order: None,
    }
}

/// One layer with `input_size` inputs: a sequence, or with peepholes one step, as no sequence has
/// peepholes.
fn layer(kind: CellKind, input_size: usize, weights: CellWeights, directions: usize) -> Declared {
    let mut declared = Declared::new(
        kind.family(),
        "test",
        Spanned::unplaced("net".to_owned()),
        Spanned::unplaced(H),
        Spanned::unplaced(input_size),
    );
    declared.keys.set(Key::Batch, Spanned::unplaced(N));
    if let Some(reset_gate) = kind.reset_gate() {
        let is_after = reset_gate == ResetGate::AfterMatMul;
        declared.keys.set(Key::LinearBeforeReset, Spanned::unplaced(is_after));
    }
    if weights.p.is_some() {
        declared.keys.set(Key::Peepholes, Spanned::unplaced(true));
    } else {
        declared.keys.set(Key::Steps, Spanned::unplaced(T));
        if directions == 2 {
            declared.keys.set(Key::Direction, Spanned::unplaced(Direction::Bidirectional));
        }
    }
    declared.weights = Some(Spanned::unplaced(Baked { layers: vec![weights], ..Baked::default() }));
    declared
}

/// The outputs of a model.
fn run(declared: &Declared, inputs: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let ReadModel { model, problems } = declared.model().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(problems.0, []);
    let (model, _) = core_model(&model, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let variables = crate::reference::initial_variables(&model);
    reference(&model, inputs, &variables).results
}

/// The outputs of a layer: y `[N, T, D*H]` and the states `[N, D, H]`.
fn outputs(
    declared: &Declared,
    directions: usize,
    x: &[f64],
    states: &[Vec<f64>],
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let inputs = |x: Vec<f64>, states: &[Vec<f64>]| [vec![x], states.to_vec()].concat();
    if declared.steps().is_some() {
        let mut results = run(declared, &inputs(x.to_vec(), states)).into_iter();
        let y = results.next().expect("y");
        let mut by_row = Vec::new();
        for (n, t) in (0..N).flat_map(|n| (0..T).map(move |t| (n, t))) {
            for d in 0..directions {
                by_row.extend_from_slice(&y[((n * directions + d) * T + t) * H..][..H]);
            }
        }
        return (by_row, results.collect());
    }
    let row = x.len() / N / T;
    let (mut y, mut states) = (vec![0.0; N * T * H], states.to_vec());
    for t in 0..T {
        let step = (0..N).flat_map(|n| x[(n * T + t) * row..][..row].to_vec()).collect();
        states = run(declared, &inputs(step, &states));
        for n in 0..N {
            y[(n * T + t) * H..][..H].copy_from_slice(&states[0][n * H..][..H]);
        }
    }
    (y, states)
}

fn error(got: &[f64], wanted: &Tensor) -> f64 {
    assert_eq!(got.len(), wanted.len());
    got.iter().zip(values(wanted)).map(|(got, wanted)| (got - wanted).abs()).fold(0.0, f64::max)
}

/// The largest difference from the results of the framework. `change`: changes the weights after
/// their conversion.
fn difference(
    (name, framework, kind, layers, directions): Case,
    change: impl Fn(&mut CellWeights),
) -> f64 {
    let file = file(name);
    let get = |name: &str| tensor(&file, name);
    let mut x = values(&get("x").expect("x"));
    let mut last_states = [Vec::new(), Vec::new()];
    for l in 0..layers {
        let sets: Vec<WeightSet> =
            (0..directions).map(|d| set(&file, framework, kind, l, d)).collect();
        let input_size = if l == 0 { I } else { directions * H };
        let sequence = sets[0].peepholes.is_none();
        let mut weights = convert(framework, wanted(kind, input_size, sequence), &sets)
            .expect("weights that fit");
        change(&mut weights);
        let mut declared = layer(kind, input_size, weights, directions);
        if name.ends_with("relu") {
            declared.keys.set(Key::Activations, Spanned::unplaced(vec![Activation::Relu]));
        }
        let state = |name: &str| {
            let all = values(&get(name)?);
            let of = |n: usize| all[(n * layers + l) * directions * H..][..directions * H].to_vec();
            Some((0..N).flat_map(of).collect::<Vec<f64>>())
        };
        let states: Vec<Vec<f64>> = [state("h0"), state("c0")].into_iter().flatten().collect();
        let (y, after) = outputs(&declared, directions, &x, &states);
        x = y;
        for (all, after) in last_states.iter_mut().zip(after) {
            all.push(after);
        }
    }
    let mut largest = error(&x, &get("y").expect("y"));
    for (all, name) in last_states.iter().zip(["hn", "cn"]) {
        let Some(given) = get(name) else { continue };
        let of = |n: usize| {
            all.iter()
                .flat_map(|layer| layer[n * directions * H..][..directions * H].to_vec())
                .collect()
        };
        largest =
            largest.max(error(&(0..N).flat_map::<Vec<f64>, _>(of).collect::<Vec<f64>>(), &given));
    }
    largest
}

#[test]
fn every_framework_gives_what_it_gives_itself() {
    for case in CASES {
        let difference = difference(case, |_| {});
        assert!(difference < TOLERANCE, "{}: {difference:e}", case.0);
    }
}

/// The rows of gates `a` and `b` exchanged.
fn exchanged(tensor: &Tensor, parts: usize, [a, b]: [usize; 2]) -> Tensor {
    let all: Vec<f32> = (0..tensor.len()).map(|i| tensor.get_f32(i)).collect();
    let rank = tensor.shape().len();
    // matrices and biases of a sequence begin with the axis of directions
    let directions = if tensor.shape()[0] <= 2 && rank > 1 { tensor.shape()[0] } else { 1 };
    let mut turned = Vec::new();
    for set in all.chunks_exact(all.len() / directions) {
        let len = set.len() / parts;
        for part in 0..parts {
            let from = if part == a {
                b
            } else if part == b {
                a
            } else {
                part
            };
            turned.extend_from_slice(&set[from * len..][..len]);
        }
    }
    Tensor::from_f32(tensor.shape().to_vec(), &turned).expect("as many values")
}

#[test]
fn any_other_order_of_gates_is_noticed() {
    for case in CASES {
        let gates = case.2.gates();
        for (a, b) in (0..gates).flat_map(|b| (0..b).map(move |a| (a, b))) {
            for of in 0..2 {
                let difference = difference(case, |weights| {
                    let matrix = if of == 0 { &mut weights.w } else { &mut weights.r };
                    *matrix = exchanged(matrix, gates, [a, b]);
                });
                assert!(
                    difference > 1e-3,
                    "{}: gates {a} and {b} of matrix {of}: {difference:e}",
                    case.0
                );
            }
        }
        let (parts, zero) = (case.2.bias_parts(), case.0.ends_with("without_bias"));
        for (a, b) in (0..parts).flat_map(|b| (0..b).map(move |a| (a, b))).filter(|_| !zero) {
            let difference =
                difference(case, |weights| weights.b = exchanged(&weights.b, parts, [a, b]));
            assert!(difference > 1e-3, "{}: biases {a} and {b}: {difference:e}", case.0);
        }
        if case.0.ends_with("peepholes") {
            for pair in [[0, 1], [0, 2], [1, 2]] {
                let difference = difference(case, |weights| {
                    weights.p = weights.p.as_ref().map(|p| exchanged(p, 3, pair));
                });
                assert!(difference > 1e-3, "{}: peepholes {pair:?}: {difference:e}", case.0);
            }
        }
    }
}

/// The rows of the gates in Apple's order r, n, z. `from`: the places of these gates in `named`.
fn rows_of_apple(named: &NamedTensor, from: [usize; 3]) -> NamedTensor {
    let tensor = &named.tensor;
    let len = tensor.len() / 3;
    let all: Vec<f32> =
        from.iter().flat_map(|&g| (g * len..(g + 1) * len).map(|i| tensor.get_f32(i))).collect();
    NamedTensor {
        tensor: Tensor::from_f32(tensor.shape().to_vec(), &all).expect("as many values"),
        ..named.clone()
    }
}

/// The outputs of Apple's operation for x and h0 of a file, with the steps as the first axis.
fn apple(
    file: &TensorFile,
    gate: AppleResetGate,
    set: WeightSet,
    output_sequence: bool,
) -> Vec<Vec<f64>> {
    let outer_bias = gate == AppleResetGate::AfterMatMulOuterBias;
    let wanted =
        ConversionTarget { outer_bias, ..wanted(CellKind::Gru(gate.reset_gate()), I, true) };
    let weights = convert(Framework::Apple, wanted, &[set]).expect("weights that fit");
    let mut declared = layer(wanted.kind, I, weights, 1);
    declared.is_apples = true;
    declared.keys.remove(Key::LinearBeforeReset);
    declared.keys.set(Key::ResetGate, Spanned::unplaced(gate));
    declared.keys.set(Key::OutputSequence, Spanned::unplaced(output_sequence));
    let x = values(&tensor(file, "x").expect("x"));
    let by_time = (0..T).flat_map(|t| (0..N).map(move |n| (n, t)));
    let x = by_time.flat_map(|(n, t)| x[(n * T + t) * I..][..I].to_vec()).collect();
    run(&declared, &[x, values(&tensor(file, "h0").expect("h0"))])
}

fn assert_is_apples(file: &TensorFile, results: &[Vec<f64>], output_sequence: bool) {
    let y = values(&tensor(file, "y").expect("y"));
    let steps = if output_sequence { 0..T } else { T - 1..T };
    let by_time = steps.flat_map(|t| (0..N).map(move |n| (n, t)));
    let y: Vec<f64> = by_time.flat_map(|(n, t)| y[(n * T + t) * H..][..H].to_vec()).collect();
    assert_eq!(results[0].len(), y.len());
    let difference = results[0].iter().zip(&y).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(difference < TOLERANCE, "{difference:e}");
    assert!(error(&results[1], &tensor(file, "hn").expect("hn")) < TOLERANCE);
}

#[test]
fn apples_three_places_of_the_reset_gate() {
    // reset gate after the product: PyTorch's GRU, with rows in Apple's order and the recurrent
    // bias first
    let pytorch = file("pytorch_gru");
    let given = set(&pytorch, Framework::PyTorch, AFTER, 0, 0);
    let turned = |named: &NamedTensor| rows_of_apple(named, [0, 2, 1]);
    let biases = vec![turned(&given.biases[1]), turned(&given.biases[0])];
    let after = WeightSet { w: turned(&given.w), r: turned(&given.r), biases, peepholes: None };
    for output_sequence in [true, false] {
        let results = apple(&pytorch, AppleResetGate::AfterMatMul, after.clone(), output_sequence);
        assert_is_apples(&pytorch, &results, output_sequence);
    }

    // reset gate before the product: Keras' GRU without reset_after, with gates z, r, n
    let keras = file("keras_gru_reset_before");
    let given = set(&keras, Framework::Keras, BEFORE, 0, 0);
    let in_order =
        convert(Framework::Keras, wanted(BEFORE, I, false), &[given]).expect("weights that fit");
    let of = |tensor: &Tensor| {
        rows_of_apple(
            &NamedTensor { name: String::new(), tensor: tensor.clone(), flat: false },
            [1, 2, 0],
        )
    };
    let before = WeightSet {
        w: of(&in_order.w),
        r: of(&in_order.r),
        biases: vec![of(&in_order.b)],
        peepholes: None,
    };
    assert_is_apples(&keras, &apple(&keras, AppleResetGate::BeforeMatMul, before, true), true);

    // reset gate after the product, recurrent bias outside: PyTorch's GRU with a recurrent bias of
    // 0 for the candidate, as Apple's bias is the sum of both
    let outer = file("pytorch_gru_outer_bias");
    let given = set(&outer, Framework::PyTorch, AFTER, 0, 0);
    let sum: Vec<f32> = (0..3 * H)
        .map(|i| given.biases[0].tensor.get_f32(i) + given.biases[1].tensor.get_f32(i))
        .collect();
    let sum = NamedTensor {
        tensor: Tensor::from_f32(vec![3 * H], &sum).expect("a bias"),
        ..given.biases[0].clone()
    };
    let only = WeightSet {
        w: turned(&given.w),
        r: turned(&given.r),
        biases: vec![turned(&sum)],
        peepholes: None,
    };
    let results = apple(&outer, AppleResetGate::AfterMatMulOuterBias, only.clone(), true);
    assert_is_apples(&outer, &results, true);
    // other places of the reset gate give other results
    for gate in [AppleResetGate::BeforeMatMul, AppleResetGate::AfterMatMul] {
        let other = apple(&outer, gate, only.clone(), true);
        let difference =
            other[0].iter().zip(&results[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(difference > 1e-3, "{}: {difference:e}", gate.name());
    }
}

#[test]
fn values_move_and_only_biases_are_added() {
    let named = |name: &str, shape: Vec<usize>, first: f32| {
        let len = shape.iter().product::<usize>();
        let values: Vec<f32> = (0..len).map(|i| first + i as f32).collect();
        let tensor = Tensor::from_f32(shape, &values).expect("as many values");
        NamedTensor { name: name.to_owned(), tensor, flat: false }
    };
    let wanted = |kind| ConversionTarget {
        kind,
        hidden_size: 1,
        input_size: 2,
        sequence: false,
        outer_bias: false,
        gate_order: None,
    };
    let f32s = |tensor: &Tensor| (0..tensor.len()).map(|i| tensor.get_f32(i)).collect::<Vec<_>>();

    let set = WeightSet {
        w: named("kernel", vec![2, 4], 0.0),
        r: named("recurrent_kernel", vec![1, 4], 100.0),
        biases: vec![named("bias", vec![4], 10.0)],
        peepholes: None,
    };
    // Keras: i, f, c, o in columns
    let weights =
        convert(Framework::Keras, wanted(CellKind::Lstm), &[set]).expect("weights that fit");
    assert_eq!(f32s(&weights.w), [1.0, 5.0, 0.0, 4.0, 2.0, 6.0, 3.0, 7.0]);
    assert_eq!(f32s(&weights.r), [101.0, 100.0, 102.0, 103.0]);
    assert_eq!(f32s(&weights.b), [11.0, 10.0, 12.0, 13.0]);

    // PyTorch: r, z, n; the two biases of n stay separate
    let set = WeightSet {
        w: named("weight_ih", vec![3, 2], 0.0),
        r: named("weight_hh", vec![3, 1], 100.0),
        biases: vec![named("bias_ih", vec![3], 0.25), named("bias_hh", vec![3], 1000.0)],
        peepholes: None,
    };
    let sets = [set.clone()];
    let weights = convert(Framework::PyTorch, wanted(AFTER), &sets).expect("weights that fit");
    assert_eq!(f32s(&weights.w), [2.0, 3.0, 0.0, 1.0, 4.0, 5.0]);
    assert_eq!(f32s(&weights.b), [1001.0 + 1.25, 1000.0 + 0.25, 2.25, 1002.0]);

    // a tensor in the right order is not copied
    let rnn = WeightSet {
        w: named("w", vec![1, 2], 0.0),
        r: named("r", vec![1, 1], 0.0),
        biases: Vec::new(),
        ..set
    };
    let weights = convert(Framework::Onnx, wanted(CellKind::Rnn), std::slice::from_ref(&rnn))
        .expect("weights that fit");
    assert_eq!(weights.w.address(), rnn.w.tensor.address());
    assert_eq!(weights.b, Tensor::from_f32(vec![1], &[0.0]).expect("one zero"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let pytorch = file("pytorch_gru");
    let given = || set(&pytorch, Framework::PyTorch, AFTER, 0, 0);
    let refused = |framework, wanted: ConversionTarget, set: WeightSet| {
        let problems = convert(framework, wanted, &[set]).expect_err("weights that do not fit");
        problems
            .0
            .iter()
            .map(|p| {
                format!("{p}: {}", p.valid.as_ref().map_or(String::new(), Message::with_options))
            })
            .collect::<Vec<_>>()
    };
    let gru = wanted(AFTER, I, true);
    assert_eq!(
        refused(Framework::PyTorch, ConversionTarget { input_size: 4, ..gru }, given()),
        ["`gru.weight_ih_l0` has the shape [15, 3]: [15, 4]"]
    );
    let mut one = given();
    one.biases.pop();
    assert_eq!(
        refused(Framework::PyTorch, gru, one),
        ["1 biases are given: bias_ih and bias_hh, or none"]
    );
    let mut whole = given();
    whole.w.tensor =
        Tensor::new(vec![15, 3], ElementType::I8, vec![0; 45].into(), 0..45).expect("a tensor");
    assert_eq!(
        refused(Framework::PyTorch, gru, whole),
        ["`gru.weight_ih_l0` has elements of type i8: f32, f16, bf16, f64"]
    );
    let lstm = ConversionTarget { kind: CellKind::Lstm, ..gru };
    assert_eq!(
        refused(Framework::Apple, lstm, given()),
        ["Apple has no LSTMCell whose weights could be read: "]
    );
    let before = ConversionTarget { kind: BEFORE, ..gru };
    assert_eq!(
        refused(Framework::Apple, before, given()),
        ["2 biases are given: bias, the sum of both biases"]
    );
    let mut flat = given();
    flat.w.flat = true;
    assert_eq!(
        refused(Framework::PyTorch, ConversionTarget { input_size: 4, ..gru }, flat),
        ["`gru.weight_ih_l0` has 45 values: 60 values, [15, 4]"]
    );
}

#[test]
fn gates_in_another_order_are_the_same_gates() {
    let tensor = |shape: &[usize], order: &str, own: &str| {
        // the values in the rows tell the gates
        let row = shape.iter().product::<usize>() / order.len();
        let values: Vec<f32> = order
            .chars()
            .flat_map(|gate| {
                let gate = own.find(gate).expect("a gate of the cell");
                (0..row).map(move |i| (gate * 1000 + i) as f32)
            })
            .collect();
        Tensor::from_f32(shape.to_vec(), &values).expect("as many values")
    };
    let set = |order: &str, own: &str| {
        let rows = order.len() * H;
        let named = |name: &str, shape: &[usize]| NamedTensor {
            name: name.to_owned(),
            tensor: tensor(shape, order, own),
            flat: false,
        };
        let biases = vec![named("bias_ih", &[rows]), named("bias_hh", &[rows])];
        WeightSet {
            w: named("weight_ih", &[rows, I]),
            r: named("weight_hh", &[rows, H]),
            biases,
            peepholes: None,
        }
    };
    let cases = [
        (AFTER, "rzn", ["zrn", "nzr", "zrh", "rzn"], "rcz"),
        (CellKind::Lstm, "ifco", ["icfo", "ofic", "ifgo", "ifco"], "rzno"),
    ];
    for (kind, own, orders, wrong) in cases {
        let expected = convert(Framework::PyTorch, wanted(kind, I, false), &[set(own, own)])
            .expect("weights that fit");
        for letters in orders {
            let order = GateOrder::new(letters).expect("an order");
            assert!(order.fits(kind), "{letters}");
            let wanted = ConversionTarget { gate_order: Some(order), ..wanted(kind, I, false) };
            let found = convert(Framework::PyTorch, wanted, &[set(&order.letters(), own)])
                .expect("weights that fit");
            assert_eq!(found, expected, "{letters}");
        }
        assert_eq!(GateOrder::new(wrong), None);
    }
    for wrong in ["", "r", "rzz", "ifcoi", "iffo", "ifc"] {
        assert_eq!(GateOrder::new(wrong), None, "{wrong}");
    }
}
