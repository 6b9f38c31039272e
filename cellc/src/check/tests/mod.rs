//! Tests of models built by hand, as the macros and the Builder build models: without files.

mod batch;
mod branches;
mod hints;
mod history;
mod loops;
mod operations;
mod recurrent;
mod refusals;
mod regrouped;
mod restarts;
mod states;
mod steps;
mod transforms;

use std::fmt::Write;

use crate::compile::core_model;
use crate::core::WeightSource;
use crate::core::{CoreModel, CoreNode, CoreOp, Source};
use crate::diagnostic::{Diagnostics, Origin, Severity};
use crate::model::{
    Activation, Binary, Cell, CellKind, Comparison, Composed, Elementwise, InputFile, LedgerEntry,
    Logic, Primitive, Remainder, ResetGate, Spelling, Unary, Value,
};
use crate::model::{Dim, ElementType, Model, Node, Op, Tensor, ValueId};
use crate::reference::{initial_variables, reference};
use crate::request::{Options, State};
use crate::request::{Tuning, Unroll};

/// A graph under construction.
#[derive(Default)]
struct Graph(Model);

impl Graph {
    fn node(&mut self, name: &str, op: Op, inputs: &[ValueId], value: Option<Value>) -> ValueId {
        let outputs: Vec<ValueId> = value
            .into_iter()
            .map(|value| {
                self.0.values.push(value);
                ValueId(self.0.values.len() - 1)
            })
            .collect();
        let index = self.0.nodes.len();
        match op {
            Op::Parameter => self.0.parameters.push(index),
            Op::Result => self.0.results.push(index),
            _ => {}
        }
        let kind = format!("{}, id {index}", kind(&op));
        let origin = Origin::Token(index as u32);
        let name = name.to_owned();
        let (inputs, ledger) = (inputs.to_vec(), Vec::new());
        let output = outputs.first().copied();
        let spelling = &Spelling::OWN;
        let attribute_places = Vec::new();
        self.0.nodes.push(Node {
            name,
            kind,
            op,
            inputs,
            outputs,
            spelling,
            ledger,
            attribute_places,
            origin,
        });
        output.unwrap_or(ValueId(usize::MAX))
    }

    fn value(shape: Option<Vec<Dim>>, element: ElementType) -> Option<Value> {
        Some(Value { names: Vec::new(), shape, element, origin: Origin::Unknown })
    }

    fn parameter(&mut self, name: &str, shape: &[isize]) -> ValueId {
        let dims = shape
            .iter()
            .map(|&d| usize::try_from(d).map_or(Dim::Dynamic { min: 0, max: None }, Dim::Fixed));
        self.node(name, Op::Parameter, &[], Self::value(Some(dims.collect()), ElementType::F32))
    }

    fn constant(&mut self, shape: &[usize]) -> ValueId {
        let tensor = Tensor::from_f32(shape.to_vec(), &vec![0.5; shape.iter().product()]).unwrap();
        self.node("c", Op::Constant(tensor), &[], Self::value(None, ElementType::F32))
    }

    fn convert(&mut self, input: ValueId, element: ElementType) -> ValueId {
        self.node("v", Op::Convert, &[input], Self::value(None, element))
    }

    fn cell(&mut self, name: &str, cell: Cell, inputs: &[ValueId]) -> ValueId {
        self.node(name, Op::Cell(cell), inputs, Self::value(None, ElementType::F32))
    }

    /// An RNNCell of I = 2, H = 3 with constant weights.
    fn rnn(&mut self, name: &str, x: ValueId, h: ValueId) -> ValueId {
        let input_size = 2;
        let weights =
            [self.constant(&[3, input_size]), self.constant(&[3, 3]), self.constant(&[3])];
        self.cell(name, rnn(3), &[x, h, weights[0], weights[1], weights[2]])
    }

    /// Adds an operation with one output.
    fn op(&mut self, op: Op, inputs: &[ValueId]) -> ValueId {
        let name = kind(&op).to_lowercase();
        self.node(&name, op, inputs, Self::value(None, ElementType::F32))
    }

    /// Adds an operation with several outputs.
    fn ops(&mut self, op: Op, inputs: &[ValueId], outputs: usize) -> Vec<ValueId> {
        let first = self.op(op, inputs);
        let mut all = vec![first];
        for _ in 1..outputs {
            self.0.values.extend(Self::value(None, ElementType::F32));
            all.push(ValueId(self.0.values.len() - 1));
        }
        self.0.nodes.last_mut().unwrap().outputs =
            if outputs == 0 { Vec::new() } else { all.clone() };
        all
    }

    fn input_of(&mut self, name: &str, shape: &[usize], element: ElementType) -> ValueId {
        let dims = shape.iter().map(|&d| Dim::Fixed(d)).collect();
        self.node(name, Op::Parameter, &[], Self::value(Some(dims), element))
    }

    fn floats(&mut self, shape: &[usize], values: &[f32]) -> ValueId {
        self.tensor(Tensor::from_f32(shape.to_vec(), values).unwrap())
    }

    /// A list of integers.
    fn ints(&mut self, values: &[i64]) -> ValueId {
        self.tensor(Tensor::from_i64(vec![values.len()], values).unwrap())
    }

    fn int(&mut self, value: i64) -> ValueId {
        self.tensor(Tensor::from_i64(Vec::new(), &[value]).unwrap())
    }

    fn range(&mut self, bounds: [i64; 3]) -> ValueId {
        let inputs = bounds.map(|bound| self.int(bound));
        self.op(Op::Range { run_time: true }, &inputs)
    }

    fn tensor(&mut self, tensor: Tensor) -> ValueId {
        let element = tensor.element();
        self.node("c", Op::Constant(tensor), &[], Self::value(None, element))
    }

    fn bytes(&mut self, shape: &[usize], element: ElementType, bytes: &[u8]) -> ValueId {
        let tensor =
            Tensor::new(shape.to_vec(), element, bytes.to_vec().into(), 0..bytes.len()).unwrap();
        self.tensor(tensor)
    }

    fn elementwise(&mut self, function: impl Into<Elementwise>, inputs: &[ValueId]) -> ValueId {
        self.op(Op::elementwise(function), inputs)
    }

    fn result(&mut self, name: &str, input: ValueId) {
        self.node(name, Op::Result, &[input], None);
    }
}

/// The type of a layer.
fn kind(op: &Op) -> &'static str {
    match op {
        Op::Elementwise(_) => "Elementwise",
        _ => op.facts().name,
    }
}

fn rnn(hidden_size: usize) -> Cell {
    Cell::new(CellKind::Rnn, hidden_size)
}

fn gru(hidden_size: usize, reset: ResetGate) -> Cell {
    Cell::new(CellKind::Gru(reset), hidden_size)
}

/// x [n, 2], h [n, 3] -> y
fn one_cell(n: isize) -> Graph {
    let mut graph = Graph::default();
    let (x, h) = (graph.parameter("x", &[n, 2]), graph.parameter("h", &[n, 3]));
    let y = graph.rnn("cell", x, h);
    graph.result("y", y);
    graph
}

fn accepted(graph: &Graph, options: &Options) -> CoreModel {
    let (valid, mut warnings) = core_model(&graph.0, options).unwrap_or_else(|d| panic!("{d}"));
    warnings.0.retain(|d| d.severity > Severity::Notice);
    assert_eq!(warnings.to_string(), "");
    valid
}

/// The shapes and values of the outputs of one step, in float64.
fn computed(graph: &Graph, inputs: &[Vec<f64>]) -> Vec<(Vec<usize>, Vec<f64>)> {
    let valid = accepted(graph, &Options::default());
    let step = reference(&valid, inputs, &initial_variables(&valid));
    valid.results.iter().map(|result| result.shape.clone()).zip(step.results).collect()
}

/// The messages about each case, below its name.
fn said(cases: Vec<(&str, Graph, Options)>) -> String {
    let mut out = String::new();
    for (name, graph, options) in cases {
        let outcome = match core_model(&graph.0, &options) {
            Ok((_, warnings)) => format!("(accepted)\n{warnings}"),
            Err(refusal) => {
                let mut errors = refusal.0.iter().filter(|d| d.severity == Severity::Error);
                assert!(errors.all(|e| e.valid.is_some() && e.help.is_some()), "{refusal}");
                refusal.to_string()
            }
        };
        writeln!(out, "==== {name}\n{outcome}").unwrap();
    }
    out
}

fn batch(n: usize) -> Options {
    Options::default().with_batch(Some(n))
}

fn shapes(shapes: &[(&str, &[usize])]) -> Options {
    let shapes = shapes
        .iter()
        .map(|(name, shape)| ((*name).to_owned(), shape.iter().copied().map(Some).collect()))
        .collect();
    Options::default().with_shapes(shapes)
}

fn states(pairs: &[(&str, &str)]) -> Options {
    let pairs = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    Options::default().with_state(State::Pairs(pairs))
}

fn pairs(valid: &CoreModel) -> Vec<(usize, usize)> {
    valid.states.iter().map(|s| (s.parameter, s.result)).collect()
}

#[test]
fn sizes_that_are_open_are_fixed_by_the_options() {
    for options in [
        batch(4),
        shapes(&[("x", &[4, 2]), ("h", &[4, 3])]),
        shapes(&[("in0", &[4, 2]), ("in1", &[4, 3])]),
    ] {
        let valid = accepted(&one_cell(-1), &options);
        assert_eq!(valid.cells()[0].batch, 4);
        assert_eq!(valid.parameters[0].shape, [4, 2]);
        assert_eq!(valid.results[0].shape, [4, 3]);
    }
    let both = shapes(&[("x", &[4, 2])]).with_batch(Some(4));
    assert_eq!(accepted(&one_cell(-1), &both).cells()[0].batch, 4);
    // an option may repeat a size that the model states
    assert_eq!(accepted(&one_cell(5), &batch(5)).cells()[0].batch, 5);
    assert_eq!(accepted(&one_cell(5), &shapes(&[("h", &[5, 3])])).cells()[0].batch, 5);

    let ranged = |min, max| {
        let mut graph = one_cell(-1);
        for value in [0, 1] {
            graph.0.values[value].shape.as_mut().unwrap()[0] = Dim::Dynamic { min, max };
        }
        graph
    };
    assert_eq!(accepted(&ranged(1, Some(8)), &batch(8)).cells()[0].batch, 8);
    let columns = |x: &[isize], h: &[isize]| {
        let mut graph = Graph::default();
        let (x, h) = (graph.parameter("x", x), graph.parameter("h", h));
        let y = graph.rnn("cell", x, h);
        graph.result("y", y);
        graph
    };
    let cases = vec![
        ("nothing said", one_cell(-1), Options::default()),
        ("batch of 0", one_cell(-1), batch(0)),
        ("batch against the model", one_cell(2), batch(3)),
        ("batch out of range", ranged(1, Some(8)), batch(9)),
        ("batch against a shape", one_cell(-1), shapes(&[("x", &[5, 2])]).with_batch(Some(4))),
        ("shape against the model", one_cell(2), shapes(&[("x", &[2, 7])])),
        ("shape of another rank", one_cell(-1), shapes(&[("x", &[2, 2, 1]), ("h", &[2, 3])])),
        ("shape with a 0", one_cell(-1), shapes(&[("x", &[0, 2]), ("h", &[0, 3])])),
        ("shape of nothing", one_cell(1), shapes(&[("z", &[1, 2])])),
        (
            "shape given twice",
            one_cell(-1),
            shapes(&[("x", &[1, 2]), ("in0", &[1, 2]), ("h", &[1, 3])]),
        ),
        ("two batches", one_cell(-1), shapes(&[("x", &[1, 2]), ("h", &[2, 3])])),
        ("everything open", columns(&[-1, -1], &[-1, -1]), Options::default()),
        ("everything open but the batch that is given", columns(&[-1, -1], &[-1, -1]), batch(3)),
        ("columns open", columns(&[1, -1], &[1, 3]), batch(1)),
        ("a size of 0", columns(&[1, 0], &[1, 3]), Options::default()),
        ("too many elements", columns(&[1 << 40, 1 << 40], &[1, 3]), Options::default()),
        ("huge, but no overflow", columns(&[1 << 30, 2], &[1, 3]), Options::default()),
        (
            "no batch in the model",
            {
                let mut graph = Graph::default();
                let p = graph.parameter("p", &[7]);
                graph.result("q", p);
                graph
            },
            batch(2),
        ),
    ];
    insta::assert_snapshot!(said(cases));
}

#[test]
fn weights_at_run_time() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 3]);
    let h = graph.parameter("h", &[1, 3]);
    let w = graph.parameter("w", &[9, 3]);
    let b = graph.parameter("b", &[9]);
    let spare = graph.parameter("spare", &[5]);
    let wide = graph.convert(w, ElementType::F64);
    // one tensor is W and R of two cells; one of the reads passes a conversion
    let first = graph.cell("one", gru(3, ResetGate::BeforeMatMul), &[x, h, w, wide, b]);
    let second = graph.cell("two", gru(3, ResetGate::AfterMatMul), &[first, h, w, w]);
    graph.result("y", second);
    let (valid, _) = core_model(&graph.0, &Options::default()).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(
        valid.parameters.iter().map(|p| p.weight).collect::<Vec<_>>(),
        [false, false, true, true, false]
    );
    assert_eq!(valid.parameters[4].shape, [5], "what nothing reads is an input all the same");
    assert_eq!(valid.cells()[0].weights.r, WeightSource::Parameter(2));
    assert_eq!(valid.cells()[1].weights.b, [WeightSource::Zero]);
    assert_eq!(valid.cell_nodes()[1].0.ledger.last().unwrap().meaning, "zero");
    assert_eq!(valid.cells()[1].x, Source::Value(valid.cells()[0].out.h.unwrap()));
    assert_eq!(valid.constants.len(), 0);
    let _ = spare;

    let both = |use_as: fn(&mut Graph, ValueId)| {
        let mut graph = one_cell(1);
        let w = graph.parameter("w", &[3, 2]);
        let (r, b) = (graph.constant(&[3, 3]), graph.constant(&[3]));
        let y = graph.cell("other", rnn(3), &[ValueId(0), ValueId(1), w, r, b]);
        graph.result("z", y);
        use_as(&mut graph, w);
        graph
    };
    let cases = vec![
        (
            "weight and input",
            both(|g, w| {
                g.rnn("third", w, ValueId(1));
            }),
            Options::default(),
        ),
        ("weight and output", both(|g, w| g.result("same", w)), Options::default()),
        (
            "weight of open size",
            {
                let mut graph = one_cell(1);
                let w = graph.parameter("w", &[-1, 2]);
                let (r, b) = (graph.constant(&[3, 3]), graph.constant(&[3]));
                let y = graph.cell("other", rnn(3), &[ValueId(0), ValueId(1), w, r, b]);
                graph.result("z", y);
                graph
            },
            batch(1),
        ),
        (
            "weight from a cell",
            {
                let mut graph = Graph::default();
                let (x, h) = (graph.parameter("x", &[3, 2]), graph.parameter("h", &[3, 3]));
                let y = graph.rnn("cell", x, h);
                let (w, b) = (graph.constant(&[3, 2]), graph.constant(&[3]));
                let z = graph.cell("other", rnn(3), &[x, h, w, y, b]);
                graph.result("z", z);
                graph
            },
            Options::default(),
        ),
    ];
    insta::assert_snapshot!(said(cases));
}

#[test]
fn states_are_found_named_and_refused() {
    assert_eq!(pairs(&accepted(&one_cell(1), &Options::default())), [(1, 0)]);
    assert_eq!(pairs(&accepted(&one_cell(1), &Options::default().with_state(State::None))), []);
    assert_eq!(pairs(&accepted(&one_cell(1), &states(&[]))), []);
    assert_eq!(pairs(&accepted(&one_cell(1), &states(&[("h", "y")]))), [(1, 0)]);
    assert_eq!(pairs(&accepted(&one_cell(1), &states(&[("in1", "out0")]))), [(1, 0)]);

    // two layers with a state each; the first layer's output is an input of the second layer
    let two = |read_again: bool, results: &[usize]| {
        let mut graph = Graph::default();
        let (x, h1, h2) = (
            graph.parameter("x", &[1, 2]),
            graph.parameter("h1", &[1, 3]),
            graph.parameter("h2", &[1, 3]),
        );
        let first = graph.rnn("one", x, h1);
        let weights = [graph.constant(&[3, 3]), graph.constant(&[3, 3]), graph.constant(&[3])];
        let x2 = if read_again { h1 } else { first };
        let second = graph.cell("two", rnn(3), &[x2, h2, weights[0], weights[1], weights[2]]);
        for &cell in results {
            let value = graph.convert([first, second][cell], ElementType::F32);
            graph.result("y", value);
        }
        graph
    };
    assert_eq!(pairs(&accepted(&two(false, &[1, 0]), &Options::default())), [(1, 1), (2, 0)]);
    assert_eq!(
        pairs(&accepted(&two(false, &[1]), &Options::default())),
        [(2, 0)],
        "the first state is not returned"
    );
    assert_eq!(
        pairs(&accepted(&two(true, &[0, 1]), &Options::default())),
        [(2, 1)],
        "h1 is read as x too"
    );
    assert_eq!(
        pairs(&accepted(&two(false, &[0, 0, 1]), &Options::default())),
        [(2, 2)],
        "which of the two is it?"
    );

    // two cells start from one input
    let mut shared = one_cell(1);
    let y = shared.rnn("other", ValueId(0), ValueId(1));
    shared.result("z", y);
    assert_eq!(pairs(&accepted(&shared, &Options::default())), []);
    assert_eq!(pairs(&accepted(&shared, &states(&[("h", "z")]))), [(1, 1)]);

    // an initial state that is also returned unchanged
    let mut returned = one_cell(1);
    returned.result("h0", ValueId(1));
    let valid = accepted(&returned, &Options::default());
    assert_eq!((pairs(&valid), valid.results[1].source), (vec![], Source::Parameter(1)));

    let mut weights = one_cell(1);
    let w = weights.parameter("w", &[3, 2]);
    let (r, b) = (weights.constant(&[3, 3]), weights.constant(&[3]));
    let y = weights.cell("other", rnn(3), &[ValueId(0), ValueId(1), w, r, b]);
    weights.result("z", y);
    let cases = vec![
        ("no such input", one_cell(1), states(&[("hh", "y")])),
        ("no such output", one_cell(1), states(&[("h", "yy")])),
        ("neither", one_cell(1), states(&[("a", "in7")])),
        ("another shape", one_cell(1), states(&[("x", "y")])),
        ("twice", one_cell(1), states(&[("h", "y"), ("in1", "out0")])),
        ("a name of two", two(false, &[0, 1]), states(&[("h1", "y")])),
        ("a weight", weights, states(&[("w", "z")])),
    ];
    insta::assert_snapshot!(said(cases));
}

#[test]
fn constants_stand_once_and_may_be_anything_a_cell_reads() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 3]);
    let (h, square) = (graph.constant(&[1, 3]), graph.constant(&[3, 3]));
    let b = graph.constant(&[3]);
    let same = graph.convert(square, ElementType::F64);
    let unused = graph.constant(&[1000]);
    let y = graph.cell("one", rnn(3), &[x, h, square, square, b]);
    let z = graph.cell("two", rnn(3), &[h, y, same, square, b]);
    graph.result("z", z);
    graph.result("c", unused);
    graph.result("d", h);
    let (valid, _) = core_model(&graph.0, &Options::default()).unwrap();
    assert_eq!(valid.cells()[0].weights.w, valid.cells()[1].weights.w);
    assert_eq!(valid.cells()[0].h, valid.cells()[1].x);
    assert_eq!(valid.constants.len(), 4);
    assert_eq!(valid.results[1].shape, [1000]);
    assert_eq!(valid.results[2].source, valid.cells()[0].h);
    assert_eq!(valid.states, []);
}

#[test]
fn shapes_that_do_not_fit() {
    let cell = |cell: Cell, shapes: [&[isize]; 5]| {
        let mut graph = Graph::default();
        let inputs: Vec<ValueId> = ["x", "h", "w", "r", "b"]
            .iter()
            .zip(shapes)
            .map(|(n, s)| graph.parameter(n, s))
            .collect();
        let y = graph.cell("cell", cell, &inputs);
        graph.result("y", y);
        graph
    };
    let after = || gru(3, ResetGate::AfterMatMul);
    let none = Options::default;
    let cases = vec![
        (
            "all of another size",
            cell(after(), [&[1, 2], &[1, 4], &[12, 2], &[12, 4], &[16]]),
            none(),
        ),
        (
            "all but B of another size",
            cell(after(), [&[1, 2], &[1, 4], &[12, 2], &[12, 4], &[12]]),
            none(),
        ),
        ("transposed", cell(after(), [&[1, 2], &[1, 3], &[2, 9], &[3, 9], &[12]]), none()),
        (
            "of a sequence",
            cell(after(), [&[1, 2], &[1, 3], &[1, 9, 2], &[1, 9, 3], &[1, 12]]),
            none(),
        ),
        ("x of rank 3", cell(after(), [&[1, 1, 2], &[1, 3], &[9, 2], &[9, 3], &[12]]), none()),
        ("another batch in h", cell(after(), [&[2, 2], &[1, 3], &[9, 2], &[9, 3], &[12]]), none()),
        (
            "weights for one gate",
            cell(after(), [&[1, 2], &[1, 3], &[3, 2], &[3, 3], &[12]]),
            none(),
        ),
        ("RNN with ONNX's bias", cell(rnn(3), [&[1, 2], &[1, 3], &[3, 2], &[3, 3], &[6]]), none()),
        ("another input size", cell(rnn(3), [&[1, 2], &[1, 3], &[3, 5], &[3, 3], &[3]]), none()),
        (
            "too few and wrong",
            cell(
                Cell { activations: vec![Activation::Relu], clip: Some(-1.0), ..after() },
                [&[1, 2], &[1, 3], &[9, 2], &[9, 3], &[11]],
            ),
            none(),
        ),
        ("hidden size of 0", cell(rnn(0), [&[1, 2], &[1, 3], &[3, 5], &[3, 3], &[3]]), none()),
        (
            "hidden size that overflows",
            cell(
                gru(usize::MAX, ResetGate::AfterMatMul),
                [&[1, 2], &[1, 3], &[3, 5], &[3, 3], &[3]],
            ),
            none(),
        ),
        (
            "RNN without B",
            {
                let with_bias = Cell { bias_required: true, ..rnn(3) };
                let mut graph = cell(with_bias, [&[1, 2], &[1, 3], &[3, 2], &[3, 3], &[3]]);
                graph.0.nodes[5].inputs.pop();
                graph
            },
            none(),
        ),
    ];
    insta::assert_snapshot!(said(cases));
}

#[test]
fn models_that_no_input_can_say_are_refused_too() {
    let broken = |change: fn(&mut Model)| {
        let mut graph = one_cell(1);
        change(&mut graph.0);
        graph
    };
    let none = Options::default;
    let cases = vec![
        ("nothing", Graph::default(), none()),
        (
            "no result",
            broken(|m| {
                m.nodes.pop();
                m.results.clear();
            }),
            none(),
        ),
        (
            "unlisted parameter",
            broken(|m| {
                m.parameters.pop();
            }),
            none(),
        ),
        ("listed twice", broken(|m| m.results.push(m.results[0])), none()),
        ("listed, but not there", broken(|m| m.results.push(999)), none()),
        ("a result that is a cell", broken(|m| m.results = vec![5]), none()),
        ("input that is not there", broken(|m| m.nodes[5].inputs[0] = ValueId(999)), none()),
        (
            "input that comes later",
            broken(|m| m.nodes[5].inputs[0] = m.nodes[5].outputs[0]),
            none(),
        ),
        ("output that is not there", broken(|m| m.nodes[5].outputs[0] = ValueId(999)), none()),
        ("output of another", broken(|m| m.nodes[5].outputs[0] = ValueId(0)), none()),
        ("no output", broken(|m| m.nodes[5].outputs.clear()), none()),
        ("no inputs", broken(|m| m.nodes[5].inputs.clear()), none()),
        (
            "an empty constant",
            broken(|m| m.nodes[2].op = Op::Constant(Tensor::from_f32(vec![0, 3], &[]).unwrap())),
            none(),
        ),
        ("no shape", broken(|m| m.values[0].shape = None), none()),
    ];
    insta::assert_snapshot!(said(cases));
    let shaped = broken(|m| m.values[0].shape = None);
    assert_eq!(accepted(&shaped, &shapes(&[("x", &[1, 2])])).cells()[0].batch, 1);
}

#[test]
fn what_the_front_end_said_is_passed_on() {
    let mut graph = one_cell(1);
    graph.0.name = Some("m".to_owned());
    graph.0.files.push(InputFile { name: "f".to_owned(), sha256: "s".to_owned() });
    let entry = LedgerEntry {
        attribute: "clip".to_owned(),
        text: None,
        meaning: "none".to_owned(),
        origin: Origin::Unknown,
    };
    graph.0.nodes[5].ledger.push(entry.clone());
    graph.0.values[0].names = vec!["x:0".to_owned(), "x".to_owned(), String::new()];
    let valid = accepted(&graph, &Options::default());
    assert_eq!((valid.name.as_deref(), valid.files.len()), (Some("m"), 1));
    assert_eq!(valid.cell_nodes()[0].0.ledger, [entry]);
    assert_eq!(valid.parameters[0].names, ["x:0", "x"]);
}
