//! Weights that are inputs of the model and that the graph reorders before a cell reads them.

use super::*;
use crate::model::{Direction, NoAxes, Reduce, Reduction};

/// How a test gives W, R and B.
#[derive(Clone, Copy, PartialEq)]
enum As {
    Input,
    Constant,
}

/// Numbers of few bits, so that their sums are exact.
fn numbers(shape: &[usize], from: usize) -> Vec<f32> {
    (from..from + shape.iter().product::<usize>())
        .map(|i| (i * 37 % 101) as f32 * 0.015625 - 0.75)
        .collect()
}

/// A graph, and the values of its inputs in a call.
struct TestGraph {
    graph: Graph,
    inputs: Vec<Vec<f64>>,
}

impl TestGraph {
    fn tensor(&mut self, given: As, name: &str, shape: &[usize]) -> ValueId {
        let values = numbers(shape, name.bytes().map(usize::from).sum());
        if given == As::Constant {
            return self.graph.floats(shape, &values);
        }
        self.inputs.push(values.into_iter().map(f64::from).collect());
        self.graph.input_of(name, shape, ElementType::F32)
    }

    fn parts(&mut self, data: ValueId, axis: i64, parts: usize) -> Vec<ValueId> {
        let axis = self.graph.int(axis);
        self.graph.ops(Op::Split { parts }, &[data, axis], parts)
    }

    /// The parts of a tensor along axis 1, in another order.
    fn in_order(&mut self, data: ValueId, order: &[usize]) -> ValueId {
        let parts = self.parts(data, 1, order.len());
        let parts: Vec<ValueId> = order.iter().map(|&at| parts[at]).collect();
        self.graph.op(Op::Concat { axis: 1 }, &parts)
    }

    /// A sequence with N 2, T 3, I 2, H 3 in both directions that reads these weights.
    fn sequence(mut self, kind: CellKind, [w, r, b]: [ValueId; 3]) -> Self {
        let x = self.tensor(As::Input, "X", &[2, 3, 2]);
        let states = 1 + usize::from(kind.has_cell_state());
        let mut inputs = vec![x];
        inputs.extend((0..states).map(|i| self.tensor(As::Input, ["h0", "c0"][i], &[2, 2, 3])));
        inputs.extend([self.graph.ints(&[3, 2]), w, r, b]);
        let cell = Op::Sequence(Cell::new(kind, 3), Direction::Bidirectional);
        let outputs = self.graph.ops(cell, &inputs, 1 + states);
        self.graph.result("Y", outputs[0]);
        self
    }
}

/// ONNX's weights of a kind of cell as a converter rearranges them; `given`: W, R and B.
fn converted(kind: CellKind, given: [As; 3]) -> TestGraph {
    let mut built = TestGraph { graph: Graph::default(), inputs: Vec::new() };
    let gates = kind.gates();
    let w = built.tensor(given[0], "W", &[2, gates * 3, 2]);
    let r = built.tensor(given[1], "R", &[2, gates * 3, 3]);
    let b = built.tensor(given[2], "B", &[2, 2 * gates * 3]);
    let order: &[usize] = if kind == CellKind::Lstm { &[2, 0, 3, 1] } else { &[1, 0, 2] };
    let (w, r) = (built.in_order(w, order), built.in_order(r, order));
    let b = match kind {
        CellKind::Gru(ResetGate::AfterMatMul) => {
            let parts = built.parts(b, 1, 6);
            let sums =
                [1, 0].map(|at| built.graph.elementwise(Binary::Add, &[parts[at], parts[at + 3]]));
            built.graph.op(Op::Concat { axis: 1 }, &[sums[0], sums[1], parts[2], parts[5]])
        }
        CellKind::Lstm => {
            let shape = built.graph.ints(&[2, 2, 12]);
            let halves = built.graph.op(Op::Reshape { zero_keeps: false }, &[b, shape]);
            let axes = built.graph.ints(&[1]);
            let reduce =
                Op::Reduce(Reduce { reduction: Reduction::Sum, keep: false, no_axes: NoAxes::All });
            let sum = built.graph.op(reduce, &[halves, axes]);
            built.in_order(sum, order)
        }
        _ => {
            let halves = built.parts(b, 1, 2);
            let sum = built.graph.elementwise(Binary::Add, &halves);
            built.in_order(sum, order)
        }
    };
    built.sequence(kind, [w, r, b])
}

#[test]
fn weights_in_another_order_are_packed_from_the_inputs() {
    let kinds = [
        CellKind::Lstm,
        CellKind::Gru(ResetGate::BeforeMatMul),
        CellKind::Gru(ResetGate::AfterMatMul),
    ];
    for kind in kinds {
        let folded = converted(kind, [As::Constant; 3]);
        let wanted = computed(&folded.graph, &folded.inputs);
        assert_ne!(wanted[0].1[0], wanted[0].1[1]);
        // constants among W, R and B are reordered when compiling
        let mixed = [[As::Input, As::Constant, As::Input], [As::Constant, As::Input, As::Constant]];
        for given in [[As::Input; 3]].into_iter().chain(mixed) {
            let built = converted(kind, given);
            assert_eq!(computed(&built.graph, &built.inputs), wanted, "{kind:?}");
            let valid = accepted(&built.graph, &Options::default());
            let weights = valid.parameters.iter().filter(|parameter| parameter.weight).count();
            assert_eq!(weights, given.iter().filter(|&&given| given == As::Input).count());
            let views = valid
                .nodes
                .iter()
                .filter(|node| matches!(node.op, CoreOp::Pointwise(_) | CoreOp::Reduce(_)));
            assert_eq!(views.count(), 0, "nothing is added at every step");
        }
    }
}

#[test]
fn biases_of_two_inputs_are_added_when_they_are_packed() {
    let of = |given: As| {
        let mut built = TestGraph { graph: Graph::default(), inputs: Vec::new() };
        let [w, r] =
            [("W", 2), ("R", 3)].map(|(name, row)| built.tensor(As::Constant, name, &[2, 3, row]));
        let [b, c] = ["Wb", "Rb"].map(|name| built.tensor(given, name, &[2, 3]));
        let b = built.graph.elementwise(Binary::Add, &[b, c]);
        built.sequence(CellKind::Rnn, [w, r, b])
    };
    let (inputs, constants) = (of(As::Input), of(As::Constant));
    assert_eq!(
        computed(&inputs.graph, &inputs.inputs),
        computed(&constants.graph, &constants.inputs)
    );
    assert_eq!(accepted(&inputs.graph, &Options::default()).cells()[0].weights.b.len(), 2);
}

/// A computation of W from an input.
type Change = fn(&mut TestGraph, ValueId) -> ValueId;

/// Computations of W `[2, 12, 2]` of an LSTM that packing cannot replace.
const CHANGES: [(&str, Change); 5] = [
    ("doubled", |each, w| {
        let two = each.graph.floats(&[], &[2.0]);
        each.graph.elementwise(Binary::Multiply, &[w, two])
    }),
    ("a gate twice", |built, w| built.in_order(w, &[0, 1, 2, 2])),
    ("R in another order", |built, w| built.in_order(w, &[1, 0, 2, 3])),
    ("units in another order", |built, w| built.in_order(w, &[1, 0, 2, 3, 4, 5])),
    ("an output too", |built, w| {
        built.graph.result("same", w);
        built.in_order(w, &[2, 0, 3, 1])
    }),
];

#[test]
fn computed_weights_give_what_folded_ones_give() {
    for (name, change) in CHANGES {
        let case = |given: As| {
            let mut built = TestGraph { graph: Graph::default(), inputs: Vec::new() };
            let w = built.tensor(given, "W", &[2, 12, 2]);
            let w = change(&mut built, w);
            let [r, b] = [("R", &[2, 12, 3][..]), ("B", &[2, 12])]
                .map(|(name, shape)| built.tensor(given, name, shape));
            built.sequence(CellKind::Lstm, [w, r, b])
        };
        let (inputs, constants) = (case(As::Input), case(As::Constant));
        let (found, wanted) = (
            computed(&inputs.graph, &inputs.inputs),
            computed(&constants.graph, &constants.inputs),
        );
        for ((_, found), (_, wanted)) in found.iter().zip(&wanted) {
            let near = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(near, "{name}: {found:?}, not {wanted:?}");
        }
        // the inputs are not packed as weights
        let valid = accepted(&inputs.graph, &Options::default());
        assert!(valid.parameters.iter().all(|parameter| !parameter.weight), "{name}");
    }
}

#[test]
fn an_input_of_computed_and_of_packed_weights_is_refused() {
    let case = |kind: CellKind, shared: bool| {
        let mut built = TestGraph { graph: Graph::default(), inputs: Vec::new() };
        let (gates, parts) = (kind.gates(), kind.bias_parts());
        let sets = if kind.has_attention() { 1 } else { 2 };
        let w = built.tensor(As::Input, "W", &[sets, gates * 3, 2]);
        let twice = built.in_order(w, &vec![0; gates]);
        let [r, b] = [("R", vec![sets, gates * 3, 3]), ("B", vec![sets, parts * 3])]
            .map(|(name, shape)| built.tensor(As::Constant, name, &shape));
        if kind.has_attention() {
            let [x, h, a] = [("X", [2, 3, 2]), ("h0", [2, 1, 3]), ("A", [2, 3, 1])]
                .map(|(name, shape)| built.tensor(As::Input, name, &shape));
            let lengths = built.graph.ints(&[3, 3]);
            let cell = Op::Sequence(Cell::new(kind, 3), Direction::Forward);
            let outputs = built.graph.ops(cell, &[x, h, lengths, twice, r, b, a], 2);
            built.graph.result("Y", outputs[0]);
            return built.graph;
        }
        let mut built = built.sequence(kind, [twice, r, b]);
        if shared {
            let [x, h] = [("x", &[2, 3, 2][..]), ("h", &[2, 2, 3])]
                .map(|(name, shape)| built.tensor(As::Input, name, shape));
            let lengths = built.graph.ints(&[3, 2]);
            let cell = Op::Sequence(Cell::new(kind, 3), Direction::Bidirectional);
            let outputs = built.graph.ops(cell, &[x, h, lengths, w, r, b], 2);
            built.graph.result("packed", outputs[0]);
        }
        built.graph
    };
    let gru = ResetGate::BeforeMatMul;
    let cases = vec![
        (
            "computed for one cell, packed for another",
            case(CellKind::Gru(gru), true),
            Options::default(),
        ),
        ("computed for one cell", case(CellKind::Gru(gru), false), Options::default()),
        ("with attention", case(CellKind::Augru(gru), false), Options::default()),
    ];
    insta::assert_snapshot!(said(cases));
}
