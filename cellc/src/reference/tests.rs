use super::{Outcome, initial_variables, reference};
use crate::core::{
    Concat, CoreCell, CoreLoop, CoreOp, Dense, Lengths, LoopCarried, LoopResult, LoopSlice, MatMul,
    Pointwise, PointwiseFunction as P, Softmax, Source, View, WeightSource,
};
use crate::evaluate::test_models::{Written, node, relus, sequence};
use crate::model::{Activation, Binary, CellKind, Coupled, LstmGateOrder, ResetGate, WeightLayout};

fn results(model: &Written, parameters: &[&[f64]]) -> Vec<Vec<f64>> {
    let parameters: Vec<_> = parameters.iter().map(|p| p.to_vec()).collect();
    reference(&model.0, &parameters, &initial_variables(&model.0)).results
}

/// The numbers are equal up to roundings of f64.
fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-14 * b.abs().max(1.0);
    assert!(found.iter().zip(expected).all(near), "{found:?} is not {expected:?}");
}

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

#[test]
fn rnn_by_hand() {
    let mut model = Written::default();
    let (x, h) = (model.parameter(&[1, 2]), model.parameter(&[1, 1]));
    let weights = [
        model.weight(&[1, 2], &[2.0, 3.0]),
        model.weight(&[1, 1], &[-0.5]),
        model.weight(&[1], &[0.25]),
    ];
    let out = model.value(&[1, 1]);
    let mut rnn = CoreCell::new(CellKind::Rnn, [1, 2, 1], [x, h], weights);
    rnn.out.h = Some(out);
    model.push(CoreOp::Cell(rnn.clone()));
    model.result(Source::Value(out));
    // 2 * 0.1 + 3 * 0.2 - 0.5 * 0.4 + 0.25
    assert_near(&results(&model, &[&[0.1, 0.2], &[0.4]])[0], &[0.85f64.tanh()]);
    // only the sum is clipped
    rnn.clip = Some(0.5);
    rnn.activations = relus(1);
    model.0.nodes[0].op = CoreOp::Cell(rnn);
    assert_near(&results(&model, &[&[0.1, 0.2], &[0.4]])[0], &[0.5]);
    assert_near(&results(&model, &[&[0.01, 0.02], &[0.4]])[0], &[0.02 + 0.06 - 0.2 + 0.25]);
}

/// One unit; gates z, r, n with W = 1, 2, 3, R = 0.1, 0.2, 0.3, B = 0.01, 0.02, 0.03 (and Rbh =
/// 0.04).
fn gru(kind: CellKind) -> Written {
    let mut model = Written::default();
    let (x, h) = (model.parameter(&[1, 1]), model.parameter(&[1, 1]));
    let parts = kind.bias_parts();
    let weights = [
        model.weight(&[3, 1], &[1.0, 2.0, 3.0]),
        model.weight(&[3, 1], &[0.125, 0.25, 0.375]),
        model.weight(&[parts], &[0.5, 0.25, 0.75, 0.625][..parts]),
    ];
    let out = model.value(&[1, 1]);
    let mut gru = CoreCell::new(kind, [1, 1, 1], [x, h], weights);
    gru.out.h = Some(out);
    if kind.has_attention() {
        gru.a = Some(model.parameter(&[1, 1]));
    }
    model.push(CoreOp::Cell(gru));
    model.result(Source::Value(out));
    model
}

#[test]
fn gru_by_hand() {
    let (x, h) = (0.5, -0.75);
    let z = sigmoid(x + 0.125 * h + 0.5);
    let r = sigmoid(2.0 * x + 0.25 * h + 0.25);
    let before = (3.0 * x + 0.375 * (r * h) + 0.75).tanh();
    let after = (3.0 * x + 0.75 + r * (0.375 * h + 0.625)).tanh();
    for (reset, n) in [(ResetGate::BeforeMatMul, before), (ResetGate::AfterMatMul, after)] {
        assert_near(
            &results(&gru(CellKind::Gru(reset)), &[&[x], &[h]])[0],
            &[(1.0 - z) * n + z * h],
        );
        // the attention scales z after its activation
        let z = (1.0 - 0.25) * z;
        let augru = gru(CellKind::Augru(reset));
        assert_near(&results(&augru, &[&[x], &[h], &[0.25]])[0], &[(1.0 - z) * n + z * h]);
    }
}

/// One unit; gates f, i, c, o with W = 1, 2, 3, 4, R = 1/8, 2/8, 3/8, 4/8, B = 1/16, 2/16, 3/16,
/// 4/16.
fn lstm(order: LstmGateOrder, input_forget: bool, peepholes: bool, clip: Option<f32>) -> Written {
    let mut model = Written::default();
    let [x, h, c] = [0; 3].map(|_| model.parameter(&[1, 1]));
    let mut values = [0.0; 4];
    for (gate, index) in order.places().into_iter().enumerate() {
        values[index] = (gate + 1) as f32;
    }
    let weights = [
        model.weight(&[4, 1], &values),
        model.weight(&[4, 1], &values.map(|v| v / 8.0)),
        model.weight(&[4], &values.map(|v| v / 16.0)),
    ];
    let (h_out, c_out) = (model.value(&[1, 1]), model.value(&[1, 1]));
    let mut lstm = CoreCell::new(CellKind::Lstm, [1, 1, 1], [x, h], weights);
    lstm.weights.layout = WeightLayout::new(CellKind::Lstm, order);
    (lstm.coupled, lstm.c, lstm.clip) = (input_forget.then_some(Coupled::Input), Some(c), clip);
    (lstm.out.h, lstm.out.c) = (Some(h_out), Some(c_out));
    lstm.weights.p = peepholes.then(|| model.weight(&[3], &[0.5, 0.25, 0.75]));
    model.push(CoreOp::Cell(lstm));
    model.result(Source::Value(h_out));
    model.result(Source::Value(c_out));
    model
}

#[test]
fn lstm_by_hand() {
    let (x, h, c) = (0.5, -0.75, 0.375);
    for order in LstmGateOrder::ALL {
        for (input_forget, peepholes, clip) in [
            (false, false, None),
            (true, false, None),
            (false, true, None),
            (true, true, None),
            (false, true, Some(0.75)),
        ] {
            let clipped =
                |v: f64| clip.map_or(v, |clip: f32| v.min(clip.into()).max((-clip).into()));
            let sum = |k: f64| k * x + k / 8.0 * h + k / 16.0;
            let p = |p: f64, c: f64| if peepholes { p * c } else { 0.0 };
            let f = sigmoid(clipped(sum(1.0) + p(0.5, c)));
            let i = if input_forget { 1.0 - f } else { sigmoid(clipped(sum(2.0) + p(0.25, c))) };
            let next_c = f * c + i * clipped(sum(3.0)).tanh();
            let o = sigmoid(clipped(sum(4.0) + p(0.75, next_c)));
            let found = results(&lstm(order, input_forget, peepholes, clip), &[&[x], &[h], &[c]]);
            assert_near(&found.concat(), &[o * next_c.tanh(), next_c]);
        }
    }
}

/// The first activation applies to the gates f, i and o, the second to the candidate, the third to
/// the cell state.
#[test]
fn lstm_activations_stand_where_they_belong() {
    let mut model = lstm(LstmGateOrder::Fico, false, false, None);
    let CoreOp::Cell(lstm) = &mut model.0.nodes[0].op else { panic!("a cell") };
    lstm.activations = vec![Activation::Tanh, Activation::Sigmoid, Activation::Relu];
    let sum = |k: f64| k * 0.5 + k / 16.0;
    let c = sum(2.0).tanh() * sigmoid(sum(3.0));
    assert_near(&results(&model, &[&[0.5], &[0.0], &[0.0]]).concat(), &[sum(4.0).tanh() * c, c]);
}

/// A running sum: relu(x + h), with `H` = 1, over rows of 3 steps.
fn running_sum(reverse: bool, lengths: impl FnOnce(&mut Written) -> Lengths) -> Written {
    let mut model = Written::default();
    let (x, h) = (model.parameter(&[2, 3, 1]), model.parameter(&[2, 1, 1]));
    // two sets of weights; the cell uses the second
    let weights = [
        model.weight(&[2, 1, 1], &[99.0, 1.0]),
        model.weight(&[2, 1, 1], &[99.0, 1.0]),
        model.weight(&[2, 1], &[99.0, 0.0]),
    ];
    let mut rnn = CoreCell::new(CellKind::Rnn, [2, 1, 1], [x, h], weights);
    rnn.activations = relus(1);
    rnn.weights.set = 1;
    rnn.sequence = sequence(3, reverse, lengths(&mut model));
    let (y, h_out) = (model.value(&[2, 1, 3, 1]), model.value(&[2, 1, 1]));
    (rnn.out.y, rnn.out.h) = (Some(y), Some(h_out));
    model.push(CoreOp::Cell(rnn));
    model.result(Source::Value(y));
    model.result(Source::Value(h_out));
    model
}

#[test]
fn sequences_by_hand() {
    let (x, h) = ([1.0, 2.0, 4.0, 10.0, 20.0, 40.0], [0.5, 0.25]);
    let full = running_sum(false, |_| Lengths::Full);
    assert_eq!(
        results(&full, &[&x, &h]),
        [vec![1.5, 3.5, 7.5, 10.25, 30.25, 70.25], vec![7.5, 70.25]]
    );
    let full = running_sum(true, |_| Lengths::Full);
    assert_eq!(
        results(&full, &[&x, &h]),
        [vec![7.5, 6.5, 4.5, 70.25, 60.25, 40.25], vec![7.5, 70.25]]
    );
    // a reverse cell begins with the last of the first L steps, and Y keeps the order of time
    let constant = |reverse| running_sum(reverse, |_| Lengths::Constant(vec![2, 0]));
    assert_eq!(
        results(&constant(false), &[&x, &h]),
        [vec![1.5, 3.5, 0.0, 0.0, 0.0, 0.0], vec![3.5, 0.0]]
    );
    assert_eq!(
        results(&constant(true), &[&x, &h]),
        [vec![3.5, 2.5, 0.0, 0.0, 0.0, 0.0], vec![3.5, 0.0]]
    );
    // lengths at run time are clamped to 0..=T
    let given = running_sum(true, |model| model.lengths(2, 3));
    assert_eq!(results(&given, &[&x, &h, &[2.0, 0.0]]), results(&constant(true), &[&x, &h]));
    assert_eq!(results(&given, &[&x, &h, &[2.0, -5.0]]), results(&constant(true), &[&x, &h]));
    assert_eq!(results(&given, &[&x, &h, &[3.0, 9e18]]), results(&full, &[&x, &h]));
}

#[test]
fn augru_sequences_take_the_attention_of_their_step() {
    let mut model = gru(CellKind::Augru(ResetGate::BeforeMatMul));
    let step = |x: f64, h: f64, a: f64| results(&model, &[&[x], &[h], &[a]])[0][0];
    let first = step(0.5, 0.25, 0.125);
    let second = step(-1.0, first, 0.75);
    model.0.parameters[0].shape = vec![1, 2, 1];
    model.0.parameters[2].shape = vec![1, 2, 1];
    let y = model.value(&[1, 1, 2, 1]);
    let CoreOp::Cell(augru) = &mut model.0.nodes[0].op else { panic!("a cell") };
    augru.sequence = sequence(2, false, Lengths::Full);
    augru.out.y = Some(y);
    model.result(Source::Value(y));
    let found = results(&model, &[&[0.5, -1.0], &[0.25], &[0.125, 0.75]]);
    assert_eq!(found, [vec![second], vec![first, second]]);
}

#[test]
fn products_by_hand() {
    let mut model = Written::default();
    let x = model.parameter(&[2, 3]);
    let w = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    for transposed in [false, true] {
        let w = model.weight(if transposed { &[2, 3] } else { &[3, 2] }, &w);
        let out = model.value(&[2, 2]);
        model.push(CoreOp::Dense(Dense {
            rows: 2,
            inputs: 3,
            outputs: 2,
            x,
            w,
            transposed,
            chains: 1,
            out,
        }));
        model.result(Source::Value(out));
    }
    let w = model.parameter(&[1, 3, 2]);
    let out = model.value(&[1, 2, 2]);
    model.push(CoreOp::MatMul(MatMul { batch: 1, rows: 2, inner: 3, columns: 2, a: x, b: w, out }));
    model.result(Source::Value(out));
    let found =
        results(&model, &[&[1.0, 10.0, 100.0, 2.0, 20.0, 200.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]);
    assert_eq!(found[0], [531.0, 642.0, 1062.0, 1284.0]);
    assert_eq!(found[1], [321.0, 654.0, 642.0, 1308.0]);
    assert_eq!(found[2], found[0]);
}

#[test]
fn products_of_a_batch_keep_apart() {
    let mut model = Written::default();
    let (a, b) = (model.parameter(&[2, 1, 2]), model.parameter(&[2, 2, 1]));
    let out = model.value(&[2, 1, 1]);
    model.push(CoreOp::MatMul(MatMul { batch: 2, rows: 1, inner: 2, columns: 1, a, b, out }));
    model.result(Source::Value(out));
    assert_eq!(
        results(&model, &[&[1.0, 2.0, 3.0, 4.0], &[1.0, 10.0, 100.0, 1000.0]])[0],
        [21.0, 4300.0]
    );
}

#[test]
fn pointwise_by_hand() {
    let nan = f64::NAN;
    for (function, a, b, expected) in [
        (P::Binary(Binary::Add), 1.0, 2.5, 3.5),
        (P::Binary(Binary::Subtract), 1.0, 2.5, -1.5),
        (P::Binary(Binary::Multiply), 2.0, 2.5, 5.0),
        (P::Binary(Binary::Divide), 1.0, 4.0, 0.25),
        (P::Binary(Binary::Maximum), 1.0, 4.0, 4.0),
        (P::Binary(Binary::Minimum), 1.0, 4.0, 1.0),
        (P::PRelu, 3.0, 0.5, 3.0),
        (P::PRelu, -3.0, 0.5, -1.5),
        // NaN if either operand is NaN
        (P::Binary(Binary::Maximum), nan, 4.0, nan),
        (P::Binary(Binary::Minimum), 4.0, nan, nan),
    ] {
        let mut model = Written::default();
        let inputs = [model.parameter(&[1]), model.parameter(&[1])];
        let out = model.pointwise(function, &inputs, &[1]);
        model.result(out);
        let found = results(&model, &[&[a], &[b]])[0][0];
        assert!(
            found == expected || (found.is_nan() && expected.is_nan()),
            "{function:?} {a} {b}: {found}"
        );
    }
    let mut model = Written::default();
    let x = model.parameter(&[2]);
    let out = model.pointwise(P::Math(Activation::Relu.into()), &[x], &[2]);
    model.result(out);
    assert_eq!(results(&model, &[&[-1.0, 2.0]])[0], [0.0, 2.0]);
}

#[test]
fn shapes_broadcast_as_in_numpy() {
    let mut model = Written::default();
    let (a, b, scalar) =
        (model.parameter(&[2, 1, 3]), model.parameter(&[2, 1]), model.parameter(&[]));
    let sum = model.pointwise(P::Binary(Binary::Add), &[a, b], &[2, 2, 3]);
    let scaled = model.pointwise(P::Binary(Binary::Multiply), &[scalar, sum], &[2, 2, 3]);
    model.result(scaled);
    let found = results(&model, &[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[10.0, 20.0], &[2.0]]);
    assert_eq!(found[0], [22.0, 24.0, 26.0, 42.0, 44.0, 46.0, 28.0, 30.0, 32.0, 48.0, 50.0, 52.0]);
}

#[test]
fn softmax_by_hand() {
    for (axis, order) in [(0, [0, 2, 1, 3]), (1, [0, 1, 2, 3])] {
        for log in [false, true] {
            let mut model = Written::default();
            let input = model.parameter(&[2, 2]);
            let out = model.value(&[2, 2]);
            model.push(CoreOp::Softmax(Softmax { axis, log, input, out }));
            model.result(Source::Value(out));
            // two lines: 0 and ln 3, then two numbers whose exponentials overflow
            let mut x = [0.0; 4];
            let mut expected = [0.0; 4];
            for (k, at) in order.into_iter().enumerate() {
                x[at] = [0.0, 3f64.ln(), 10_000.0, 10_000.0][k];
                let share: f64 = [0.25, 0.75, 0.5, 0.5][k];
                expected[at] = if log { share.ln() } else { share };
            }
            assert_near(&results(&model, &[&x])[0], &expected);
        }
    }
}

#[test]
fn views_by_hand() {
    let mut model = Written::default();
    let input = model.parameter(&[2, 3]);
    for (shape, offset, strides) in [
        // the transpose, the last column in reverse and repeated, and a scalar
        (vec![3, 2], 0, vec![1, 3]),
        (vec![2, 2], 5, vec![-3, 0]),
        (vec![], 4, vec![]),
    ] {
        let out = model.value(&shape);
        model.push(CoreOp::View(View { input, offset, strides, out }));
        model.result(Source::Value(out));
    }
    let found = results(&model, &[&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]);
    assert_eq!(found, [vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0], vec![5.0, 5.0, 2.0, 2.0], vec![4.0]]);
}

#[test]
fn concatenations_by_hand() {
    let mut model = Written::default();
    let (a, b) = (model.parameter(&[2, 1]), model.parameter(&[2, 2]));
    let c = Source::Constant(model.constant(&[1, 3], &[7.0, 8.0, 9.0]));
    let beside = model.value(&[2, 3]);
    model.push(CoreOp::Concat(Concat {
        axis: 1,
        inputs: vec![a, b],
        is_window: false,
        out: beside,
    }));
    let below = model.value(&[3, 3]);
    model.push(CoreOp::Concat(Concat {
        axis: 0,
        inputs: vec![c, Source::Value(beside)],
        is_window: false,
        out: below,
    }));
    model.result(Source::Value(below));
    let found = results(&model, &[&[1.0, 4.0], &[2.0, 3.0, 5.0, 6.0]]);
    assert_eq!(found[0], [7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

/// `s <- 10 s + piece` over the columns of a `[2, 3]` tensor. Values from outside of the loop are
/// the same in every iteration.
#[test]
fn loops_by_hand() {
    for (reverse, put_reverse, sums, pieces) in [
        (false, false, [123.0, 456.0], [1.0, 12.0, 123.0, 4.0, 45.0, 456.0]),
        (true, false, [321.0, 654.0], [3.0, 32.0, 321.0, 6.0, 65.0, 654.0]),
        (true, true, [321.0, 654.0], [321.0, 32.0, 3.0, 654.0, 65.0, 6.0]),
    ] {
        let mut model = Written::default();
        let (source, initial) = (model.parameter(&[2, 3]), model.parameter(&[2, 1]));
        let ten = Source::Constant(model.constant(&[], &[10.0]));
        let [piece, value, product, next] = [0; 4].map(|_| model.value(&[2, 1]));
        let (all, last) = (model.value(&[2, 3]), model.value(&[2, 1]));
        let pointwise =
            |function, inputs, out| node(CoreOp::Pointwise(Pointwise { function, inputs, out }));
        model.push(CoreOp::Loop(CoreLoop {
            trips: 3,
            slices: vec![LoopSlice { whole: source, axis: 1, reverse, piece }],
            carried: vec![LoopCarried { initial, value, next: Source::Value(next) }],
            running: None,
            is_cell: false,
            body: vec![
                pointwise(P::Binary(Binary::Multiply), vec![Source::Value(value), ten], product),
                pointwise(
                    P::Binary(Binary::Add),
                    vec![Source::Value(product), Source::Value(piece)],
                    next,
                ),
            ],
            results: vec![
                LoopResult { value: Source::Value(next), pieces: Some((1, put_reverse)), out: all },
                LoopResult { value: Source::Value(next), pieces: None, out: last },
            ],
        }));
        model.result(Source::Value(all));
        model.result(Source::Value(last));
        let found = results(&model, &[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[0.0, 0.0]]);
        assert_eq!(found, [pieces.to_vec(), sums.to_vec()]);
    }
}

/// An iteration that exchanges two carried values reads both as the previous iteration left them.
#[test]
fn carried_values_change_together() {
    let mut model = Written::default();
    let (a, b) = (model.parameter(&[1]), model.parameter(&[1]));
    let [first, second, last] = [0; 3].map(|_| model.value(&[1]));
    model.push(CoreOp::Loop(CoreLoop {
        trips: 3,
        slices: Vec::new(),
        carried: vec![
            LoopCarried { initial: a, value: first, next: Source::Value(second) },
            LoopCarried { initial: b, value: second, next: Source::Value(first) },
        ],
        running: None,
        is_cell: false,
        body: Vec::new(),
        results: vec![LoopResult { value: Source::Value(first), pieces: None, out: last }],
    }));
    model.result(Source::Value(last));
    assert_eq!(results(&model, &[&[1.0], &[2.0]])[0], [1.0]);
}

#[test]
fn variables_go_from_step_to_step() {
    let mut model = Written::default();
    let x = model.parameter(&[2]);
    let initial = model.constant(&[2], &[10.0, 20.0]);
    let (sum, kept) = (model.variable(&[2], Some(initial)), model.variable(&[1], None));
    let next = model.pointwise(P::Binary(Binary::Add), &[x, Source::Variable(sum)], &[2]);
    model.0.variables[sum].next = Some(next);
    // a step reads the value before the step
    model.result(Source::Variable(sum));
    let first = initial_variables(&model.0);
    assert_eq!(first, [vec![10.0, 20.0], vec![0.0]]);
    let Outcome { results, variables } = reference(&model.0, &[vec![1.0, 2.0]], &first);
    assert_eq!((results, &variables), (vec![vec![10.0, 20.0]], &vec![vec![11.0, 22.0], vec![0.0]]));
    let Outcome { variables, .. } = reference(&model.0, &[vec![1.0, 2.0]], &variables);
    assert_eq!(variables[sum], [12.0, 24.0]);
    assert_eq!(variables[kept], [0.0]);
}

#[test]
fn weights_that_are_left_out_are_zero() {
    let mut model = gru(CellKind::Gru(ResetGate::AfterMatMul));
    let CoreOp::Cell(gru) = &mut model.0.nodes[0].op else { panic!("a cell") };
    gru.weights.b = vec![WeightSource::Zero];
    let (x, h) = (0.5, -0.75);
    let z = sigmoid(x + 0.125 * h);
    let r = sigmoid(2.0 * x + 0.25 * h);
    let n = (3.0 * x + r * (0.375 * h)).tanh();
    assert_near(&results(&model, &[&[x], &[h]])[0], &[(1.0 - z) * n + z * h]);
}
