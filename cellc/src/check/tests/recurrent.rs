//! Cells and sequences, variables.

use super::*;
use crate::core::Lengths;
use crate::model::Direction;

/// A sequence with N 2, T 3, I 2, H 2 and constant weights. `outputs`: the outputs that are
/// Results.
fn sequence(kind: CellKind, direction: Direction, lengths: &[i64], outputs: &[usize]) -> Graph {
    let mut graph = Graph::default();
    let lengths = graph.ints(lengths);
    add_sequence(&mut graph, kind, direction, lengths, outputs);
    graph
}

fn add_sequence(
    graph: &mut Graph,
    kind: CellKind,
    direction: Direction,
    lengths: ValueId,
    outputs: &[usize],
) {
    let (d, rows) = (direction.count(), kind.gates() * 2);
    let mut inputs =
        vec![graph.parameter("X", &[2, 3, 2]), graph.parameter("h0", &[2, d as isize, 2])];
    if kind.has_cell_state() {
        inputs.push(graph.parameter("c0", &[2, d as isize, 2]));
    }
    inputs.push(lengths);
    let mut values = |shape: &[usize]| {
        let all: Vec<f32> =
            (0..shape.iter().product::<usize>()).map(|i| (i % 7) as f32 * 0.2 - 0.5).collect();
        graph.floats(shape, &all)
    };
    inputs.extend([
        values(&[d, rows, 2]),
        values(&[d, rows, 2]),
        values(&[d, kind.bias_parts() * 2]),
    ]);
    if kind.has_attention() {
        inputs.push(graph.parameter("A", &[2, 3, 1]));
    }
    let all = graph.ops(
        Op::Sequence(Cell::new(kind, 2), direction),
        &inputs,
        if kind.has_cell_state() { 3 } else { 2 },
    );
    for &output in outputs {
        graph.result(["Y", "Ho", "Co"][output], all[output]);
    }
}

#[test]
fn both_directions_are_two_cells() {
    let graph = sequence(CellKind::Lstm, Direction::Bidirectional, &[3, 2], &[0, 2]);
    let valid = accepted(&graph, &Options::default());
    let cells = valid.cells();
    assert_eq!(cells.len(), 2);
    assert_eq!(cells.iter().map(|c| c.weights.set).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(cells[0].weights.w, cells[1].weights.w);
    for (cell, reverse) in cells.iter().zip([false, true]) {
        let sequence = cell.sequence.as_ref().unwrap();
        assert_eq!((sequence.steps, sequence.reverse), (3, reverse));
        assert_eq!(sequence.lengths, Lengths::Constant(vec![3, 2]));
        assert_eq!(
            (cell.out.y.is_some(), cell.out.h, cell.out.c.is_some()),
            (true, None, true),
            "Ho is not read"
        );
        assert_eq!(valid.shape(cell.h), [2, 1, 2]);
        assert_eq!(valid.shape(Source::Value(cell.out.y.unwrap())), [2, 1, 3, 2]);
    }
    assert_eq!(valid.results[0].shape, [2, 2, 3, 2]);
    assert_eq!(valid.results[1].shape, [2, 2, 2]);
    assert_eq!(valid.states, [], "h0 and c0 hold both directions");
    // the outputs of both directions are finite
    let step = |values: &[Vec<f64>]| computed(&graph, values);
    let x: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.1 - 0.5).collect();
    let state: Vec<f64> = (0..8).map(|i| f64::from(i) * 0.1).collect();
    let both = step(&[x, state.clone(), state]);
    assert!(both[0].1.iter().all(|v| v.is_finite()));
    // the second row has one step less: there Y is zero in both directions
    let y = |n: usize, d: usize, t: usize| &both[0].1[((n * 2 + d) * 3 + t) * 2..][..2];
    assert_eq!((y(1, 0, 2), y(1, 1, 2)), (&[0.0, 0.0][..], &[0.0, 0.0][..]));
    assert!(y(1, 0, 1).iter().chain(y(1, 1, 1)).all(|&v| v != 0.0));
}

#[test]
fn lengths_are_full_constant_or_given() {
    let lengths = |graph: &Graph| {
        accepted(graph, &Options::default()).cells()[0].sequence.clone().unwrap().lengths
    };
    let kind = CellKind::Gru(ResetGate::AfterMatMul);
    assert_eq!(lengths(&sequence(kind, Direction::Forward, &[3, 3], &[0])), Lengths::Full);
    assert_eq!(
        lengths(&sequence(kind, Direction::Reverse, &[0, 2], &[0])),
        Lengths::Constant(vec![0, 2])
    );
    // lengths as exporters write them: the number of steps, broadcast to the number of rows
    let mut graph = Graph::default();
    let (three, two) = (graph.int(3), graph.ints(&[2]));
    let all = graph.op(Op::Broadcast(crate::model::BroadcastMode::Numpy), &[three, two]);
    add_sequence(&mut graph, kind, Direction::Forward, all, &[0, 1]);
    assert_eq!(lengths(&graph), Lengths::Full);

    let mut graph = Graph::default();
    let given = graph.input_of("lengths", &[2], ElementType::I64);
    let narrow = graph.convert(given, ElementType::I32);
    add_sequence(&mut graph, kind, Direction::Forward, narrow, &[0]);
    let valid = accepted(&graph, &Options::default());
    assert_eq!(valid.cells()[0].sequence.as_ref().unwrap().lengths, Lengths::Parameter(0));
    assert_eq!(
        (valid.parameters[0].length, valid.parameters[0].element),
        (Some(3), ElementType::I64)
    );
    assert_eq!(valid.parameters[1].length, None);
}

#[test]
fn states_of_sequences_and_of_lstm() {
    let found = |graph: &Graph| pairs(&accepted(graph, &Options::default()));
    assert_eq!(found(&sequence(CellKind::Rnn, Direction::Forward, &[3, 3], &[0, 1])), [(1, 1)]);
    assert_eq!(found(&sequence(CellKind::Rnn, Direction::Forward, &[3, 3], &[0])), []);
    assert_eq!(
        found(&sequence(CellKind::Lstm, Direction::Forward, &[3, 3], &[2, 1, 0])),
        [(1, 1), (2, 0)]
    );
    assert_eq!(found(&sequence(CellKind::Lstm, Direction::Reverse, &[3, 3], &[2, 1, 0])), []);
    assert_eq!(found(&sequence(CellKind::Lstm, Direction::Forward, &[3, 2], &[2, 1, 0])), []);
    assert_eq!(found(&sequence(CellKind::Lstm, Direction::Bidirectional, &[3, 3], &[1, 2])), []);
    let mut graph = Graph::default();
    let inputs: Vec<ValueId> = [("x", 2), ("h", 3), ("c", 3)]
        .iter()
        .map(|(name, size)| graph.parameter(name, &[1, *size]))
        .collect();
    let weights = [
        graph.constant(&[12, 2]),
        graph.constant(&[12, 3]),
        graph.constant(&[12]),
        graph.constant(&[9]),
    ];
    let cell = Cell { peepholes: true, ..Cell::new(CellKind::Lstm, 3) };
    let out = graph.ops(Op::Cell(cell), &[&inputs[..], &weights].concat(), 2);
    graph.result("c", out[1]);
    graph.result("h", out[0]);
    let valid = accepted(&graph, &Options::default());
    assert_eq!(pairs(&valid), [(1, 1), (2, 0)]);
    let cell = valid.cells()[0];
    assert!(
        matches!(cell.weights.p, Some(WeightSource::Constant(i)) if valid.constants[i].shape() == [9])
    );
    // a ShapeOf does not use the state as data
    let mut graph = one_cell(1);
    let shape = graph.op(Op::ShapeOf, &[ValueId(1)]);
    let shape = graph.convert(shape, ElementType::F32);
    graph.result("shape", shape);
    assert_eq!(pairs(&accepted(&graph, &Options::default())), [(1, 0)]);
}

#[test]
fn attention_is_the_last_input() {
    let kind = CellKind::Augru(ResetGate::BeforeMatMul);
    let valid =
        accepted(&sequence(kind, Direction::Forward, &[3, 1], &[0, 1]), &Options::default());
    assert_eq!(valid.cells()[0].a, Some(Source::Parameter(2)));
    assert_eq!(valid.nodes[0].kind, "AUGRUSequence");
    let refused = |change: fn(&mut Cell), direction: Direction| {
        let mut graph = sequence(kind, direction, &[3, 3], &[0]);
        let node =
            graph.0.nodes.iter_mut().find(|node| matches!(node.op, Op::Sequence(..))).unwrap();
        if let Op::Sequence(cell, _) = &mut node.op {
            change(cell);
        }
        graph
    };
    let none = Options::default;
    let cases = vec![
        ("clip", refused(|cell| cell.clip = Some(1.0), Direction::Forward), none()),
        ("activations", refused(|cell| cell.activations.swap(0, 1), Direction::Forward), none()),
        ("direction", refused(|_| {}, Direction::Reverse), none()),
        (
            "reset gate",
            refused(
                |cell| *cell = Cell::new(CellKind::Augru(ResetGate::AfterMatMul), 2),
                Direction::Forward,
            ),
            none(),
        ),
        ("too long", sequence(CellKind::Rnn, Direction::Forward, &[3, 4], &[0]), none()),
        ("negative", sequence(CellKind::Rnn, Direction::Forward, &[3, -1], &[0]), none()),
        ("too many lengths", sequence(CellKind::Rnn, Direction::Forward, &[3, 3, 3], &[0]), none()),
        (
            "peepholes of a sequence",
            {
                let mut graph = sequence(CellKind::Lstm, Direction::Forward, &[3, 3], &[0]);
                let p = graph.constant(&[6]);
                let at = graph
                    .0
                    .nodes
                    .iter()
                    .position(|node| matches!(node.op, Op::Sequence(..)))
                    .unwrap();
                let constant = graph.0.nodes.pop().unwrap();
                graph.0.nodes.insert(at, constant);
                graph.0.results.iter_mut().for_each(|node| *node += 1);
                let node = &mut graph.0.nodes[at + 1];
                node.inputs.push(p);
                if let Op::Sequence(cell, _) = &mut node.op {
                    cell.peepholes = true;
                }
                graph
            },
            none(),
        ),
        (
            "a cell without time",
            {
                let mut graph = sequence(CellKind::Lstm, Direction::Forward, &[3, 3], &[0]);
                graph.0.values[1].shape = Some(vec![Dim::Fixed(2), Dim::Fixed(2)]);
                graph.0.values[2].shape = Some(vec![Dim::Fixed(2), Dim::Fixed(2)]);
                graph
            },
            none(),
        ),
        (
            "another hidden size",
            {
                let mut graph = sequence(CellKind::Lstm, Direction::Forward, &[3, 3], &[0]);
                for node in &mut graph.0.nodes {
                    if let Op::Sequence(cell, _) = &mut node.op {
                        cell.hidden_size = 4;
                    }
                }
                graph
            },
            none(),
        ),
    ];
    insta::assert_snapshot!(said(cases));
}

fn read(graph: &mut Graph, name: &str, initial: Option<ValueId>) -> ValueId {
    read_stated(graph, name, initial, None, None)
}

fn read_stated(
    graph: &mut Graph,
    name: &str,
    initial: Option<ValueId>,
    shape: Option<&[Dim]>,
    element: Option<ElementType>,
) -> ValueId {
    let inputs: Vec<ValueId> = initial.into_iter().collect();
    let op =
        Op::ReadValue { variable: name.to_owned(), shape: shape.map(<[Dim]>::to_vec), element };
    graph.node(
        "read",
        op,
        &inputs,
        Graph::value(Some(vec![Dim::Dynamic { min: 0, max: None }]), ElementType::F32),
    )
}

fn assign(graph: &mut Graph, name: &str, value: ValueId) -> ValueId {
    graph.op(Op::Assign { variable: name.to_owned() }, &[value])
}

#[test]
fn variables_live_between_steps() {
    let mut graph = Graph::default();
    let x = graph.input_of("x", &[2], ElementType::F32);
    let start = graph.floats(&[2], &[1.0, 2.0]);
    let (first, again) =
        (read(&mut graph, "sum", Some(start)), read(&mut graph, "sum", Some(start)));
    let zeros = graph.floats(&[2], &[0.0, 0.0]);
    let before = read(&mut graph, "before", Some(zeros));
    let sum = graph.elementwise(Binary::Add, &[first, x]);
    // the output of an Assign is its input
    let passed = assign(&mut graph, "sum", sum);
    assign(&mut graph, "before", again);
    graph.result("y", passed);
    graph.result("z", before);
    let valid = accepted(&graph, &Options::default());
    assert_eq!(valid.variables.len(), 2);
    assert_eq!(valid.variables[1].initial, None, "zeros need no constant");
    assert_eq!(valid.variables[1].next, Some(Source::Variable(0)));
    let one = reference(&valid, &[vec![10.0, 20.0]], &initial_variables(&valid));
    assert_eq!(one.results, [vec![11.0, 22.0], vec![0.0, 0.0]]);
    let two = reference(&valid, &[vec![0.5, 0.5]], &one.variables);
    assert_eq!(two.results, [vec![11.5, 22.5], vec![1.0, 2.0]]);

    // without an initial value, the variable starts at zero, with the stated shape
    let mut graph = Graph::default();
    let value = read(&mut graph, "v", None);
    graph.result("y", value);
    assert_eq!(accepted(&graph, &batch(3)).variables[0].shape, [3]);

    // an initial value of the stated shape and type
    let mut graph = Graph::default();
    let start = graph.floats(&[2], &[1.0, 2.0]);
    let open = [Dim::Dynamic { min: 1, max: Some(2) }];
    let value = read_stated(&mut graph, "v", Some(start), Some(&open), Some(ElementType::F32));
    graph.result("y", value);
    assert_eq!(accepted(&graph, &Options::default()).variables[0].shape, [2]);

    let with = |build: fn(&mut Graph, ValueId) -> ValueId| {
        let mut graph = Graph::default();
        let x = graph.input_of("x", &[2], ElementType::F32);
        let y = build(&mut graph, x);
        graph.result("y", y);
        graph
    };
    let none = Options::default;
    let cases = vec![
        ("a computed initial value", with(|g, x| read(g, "v", Some(x))), none()),
        ("an open shape", with(|g, _| read(g, "v", None)), none()),
        (
            "two initial values",
            with(|g, x| {
                let (a, b) = (g.floats(&[2], &[1.0, 2.0]), g.floats(&[2], &[1.0, 3.0]));
                let (a, b) = (read(g, "v", Some(a)), read(g, "v", Some(b)));
                g.op(Op::Concat { axis: 0 }, &[a, b, x])
            }),
            none(),
        ),
        (
            "assigned twice",
            with(|g, x| {
                let a = g.constant(&[2]);
                read(g, "v", Some(a));
                assign(g, "v", x);
                assign(g, "v", a)
            }),
            none(),
        ),
        ("assigned, never read", with(|g, x| assign(g, "v\n", x)), none()),
        (
            "read under one name, assigned under another",
            with(|g, x| {
                let a = g.constant(&[2]);
                read(g, "state", Some(a));
                assign(g, "State", x)
            }),
            none(),
        ),
        (
            "another shape",
            with(|g, x| {
                let a = g.constant(&[3]);
                read(g, "v", Some(a));
                assign(g, "v", x)
            }),
            none(),
        ),
        (
            "an initial value of another size",
            with(|g, _| {
                let a = g.constant(&[3]);
                read_stated(g, "v", Some(a), Some(&[Dim::Fixed(4)]), None)
            }),
            none(),
        ),
        (
            "an initial value of another rank",
            with(|g, _| {
                let a = g.constant(&[3]);
                read_stated(
                    g,
                    "v",
                    Some(a),
                    Some(&[Dim::Fixed(1), Dim::Dynamic { min: 0, max: None }]),
                    None,
                )
            }),
            none(),
        ),
        (
            "an initial value of another type",
            with(|g, _| {
                let a = g.constant(&[3]);
                read_stated(g, "v", Some(a), None, Some(ElementType::F16))
            }),
            none(),
        ),
        (
            "integers",
            with(|g, _| {
                let a = g.ints(&[3]);
                read(g, "v", Some(a))
            }),
            none(),
        ),
    ];
    insta::assert_snapshot!(said(cases));
}
