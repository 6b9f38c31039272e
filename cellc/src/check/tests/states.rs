//! States among the inputs, inputs that only resemble states, and states reset at every call.

use super::*;
use crate::model::{BroadcastMode, Direction, Loop, LoopInput, LoopOutput, SliceMasks, Slicing};

pub(super) const FORWARD: Direction = Direction::Forward;

/// Rows, and units of every layer and of x.
pub(super) const N: usize = 2;
pub(super) const H: usize = 3;

/// A sequence; its outputs are Y `[N, D, T, H]` and the last states `[N, D, H]`.
pub(super) fn sequence(
    graph: &mut Graph,
    (kind, direction): (CellKind, Direction),
    x: ValueId,
    lengths: ValueId,
    starts: &[ValueId],
) -> Vec<ValueId> {
    let (d, rows) = (direction.count(), kind.gates() * H);
    let mut inputs = vec![x];
    inputs.extend(starts);
    inputs.push(lengths);
    inputs.extend([
        graph.constant(&[d, rows, H]),
        graph.constant(&[d, rows, H]),
        graph.constant(&[d, kind.bias_parts() * H]),
    ]);
    graph.ops(Op::Sequence(Cell::new(kind, H), direction), &inputs, 1 + starts.len())
}

/// The lengths of N rows with all T steps.
fn full(graph: &mut Graph, steps: i64) -> ValueId {
    graph.ints(&[steps; N])
}

/// The operation by which a layer takes its part of `[L, N, H]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LayerSplit {
    Split,
    VariadicSplit,
    Gather,
    Slice,
    StridedSlice,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Join {
    /// The states of all layers, concatenated along axis 1, then transposed.
    Turned,
    /// Each state transposed, then all concatenated along axis 0.
    EachTurned,
    /// Each state with the axis of directions moved to the front, then all concatenated.
    Squeezed,
    /// As [`Self::EachTurned`], with the last layer first.
    Backwards,
    /// Concatenated along axis 1 and reshaped without a transposition: no state if there are
    /// several rows.
    Interleaved,
}

fn transpose(graph: &mut Graph, value: ValueId) -> ValueId {
    let order = graph.ints(&[1, 0, 2]);
    graph.op(Op::Transpose, &[value, order])
}

/// The part of one layer of a state `[L, N, H]`, as `[N, 1, H]`.
pub(super) fn part(
    graph: &mut Graph,
    how: LayerSplit,
    state: ValueId,
    layers: usize,
    layer: usize,
) -> ValueId {
    let at = layer as i64;
    let zero = graph.int(0);
    match how {
        LayerSplit::Split => {
            let all = graph.ops(Op::Split { parts: layers }, &[state, zero], layers);
            transpose(graph, all[layer])
        }
        LayerSplit::VariadicSplit => {
            let lengths = graph.ints(&[at, 1, -1][usize::from(layer == 0)..]);
            // the last layer has no part behind it: an empty tensor is not written
            let lengths = if layer + 1 == layers {
                graph.ints(&[at, 1][usize::from(layer == 0)..])
            } else {
                lengths
            };
            let parts = 1 + usize::from(layer > 0) + usize::from(layer + 1 < layers);
            let all = graph.ops(Op::VariadicSplit, &[state, zero, lengths], parts);
            transpose(graph, all[usize::from(layer > 0)])
        }
        LayerSplit::Gather => {
            let index = graph.int(at);
            let row = graph.op(Op::Gather { batch_dims: 0 }, &[state, index, zero]);
            let one = graph.ints(&[1]);
            graph.op(Op::Unsqueeze, &[row, one])
        }
        LayerSplit::Slice => {
            let ends = [at, at + 1, 1, 0].map(|i| graph.ints(&[i]));
            let row = graph.op(Op::Slice, &[state, ends[0], ends[1], ends[2], ends[3]]);
            transpose(graph, row)
        }
        LayerSplit::StridedSlice => {
            let (begin, end) = (graph.ints(&[at]), graph.ints(&[at + 1]));
            let masks = || vec![false];
            let op = Op::StridedSlice(SliceMasks {
                begin: masks(),
                end: masks(),
                new_axis: masks(),
                shrink_axis: vec![true],
                ellipsis: masks(),
            });
            let row = graph.op(op, &[state, begin, end]);
            let shape = graph.ints(&[N as i64, 1, -1]);
            graph.op(Op::Reshape { zero_keeps: false }, &[row, shape])
        }
    }
}

pub(super) fn joined(graph: &mut Graph, how: Join, lasts: &[ValueId]) -> ValueId {
    match how {
        Join::Turned => {
            let all = graph.op(Op::Concat { axis: 1 }, lasts);
            transpose(graph, all)
        }
        Join::EachTurned | Join::Backwards => {
            let mut all: Vec<ValueId> = lasts.iter().map(|&last| transpose(graph, last)).collect();
            if how == Join::Backwards {
                all.reverse();
            }
            graph.op(Op::Concat { axis: 0 }, &all)
        }
        Join::Squeezed => {
            let rows = lasts.iter().map(|&last| {
                let (one, zero) = (graph.ints(&[1]), graph.ints(&[0]));
                let row = graph.op(Op::Squeeze { skip: false }, &[last, one]);
                graph.op(Op::Unsqueeze, &[row, zero])
            });
            let rows: Vec<ValueId> = rows.collect();
            graph.op(Op::Concat { axis: 0 }, &rows)
        }
        Join::Interleaved => {
            let all = graph.op(Op::Concat { axis: 1 }, lasts);
            let shape = graph.ints(&[-1, N as i64, H as i64]);
            graph.op(Op::Reshape { zero_keeps: false }, &[all, shape])
        }
    }
}

/// Layers of T steps. The states of all layers are one input and one output: h and, for an LSTM, c.
fn stacked(kind: CellKind, layers: usize, steps: usize, how: LayerSplit, join: Join) -> Graph {
    let mut graph = Graph::default();
    let mut x = graph.parameter("x", &[N as isize, steps as isize, H as isize]);
    let names: &[&str] = if kind.has_cell_state() { &["h", "c"] } else { &["h"] };
    let states: Vec<ValueId> = names
        .iter()
        .map(|name| graph.parameter(name, &[layers as isize, N as isize, H as isize]))
        .collect();
    let mut lasts = vec![Vec::new(); names.len()];
    for layer in 0..layers {
        let starts: Vec<ValueId> =
            states.iter().map(|&state| part(&mut graph, how, state, layers, layer)).collect();
        let lengths = full(&mut graph, steps as i64);
        let out = sequence(&mut graph, (kind, FORWARD), x, lengths, &starts);
        let one = graph.ints(&[1]);
        x = graph.op(Op::Squeeze { skip: false }, &[out[0], one]);
        lasts.iter_mut().zip(&out[1..]).for_each(|(all, &last)| all.push(last));
    }
    graph.result("y", x);
    for (name, lasts) in names.iter().zip(&lasts) {
        let all = joined(&mut graph, join, lasts);
        graph.result(&format!("{name}n"), all);
    }
    graph
}

pub(super) const GRU: CellKind = CellKind::Gru(ResetGate::AfterMatMul);

#[test]
fn states_of_stacked_layers_are_found_through_views_that_undo_each_other() {
    let parts = [
        LayerSplit::Split,
        LayerSplit::VariadicSplit,
        LayerSplit::Gather,
        LayerSplit::Slice,
        LayerSplit::StridedSlice,
    ];
    for how in parts {
        for join in [Join::Turned, Join::EachTurned, Join::Squeezed] {
            for steps in [1, 4] {
                let valid = accepted(&stacked(GRU, 2, steps, how, join), &Options::default());
                assert_eq!(pairs(&valid), [(1, 1)], "{how:?} {join:?} {steps}");
                let valid =
                    accepted(&stacked(CellKind::Lstm, 3, steps, how, join), &Options::default());
                assert_eq!(pairs(&valid), [(1, 1), (2, 2)], "{how:?} {join:?} {steps}");
            }
        }
        for join in [Join::Backwards, Join::Interleaved] {
            let graph = stacked(GRU, 2, 4, how, join);
            assert_eq!(pairs(&accepted(&graph, &Options::default())), [], "{how:?} {join:?}");
            assert_eq!(
                pairs(&accepted(&graph, &states(&[("h", "hn")]))),
                [(1, 1)],
                "what is asked for"
            );
        }
    }
}

/// The states of a pair go on, element by element: two calls of half the steps give the states of
/// one call of all steps.
#[test]
fn a_state_that_was_found_goes_on_where_the_call_before_ended() {
    let values =
        |n: usize| (0..n).map(|i| f64::from((i * 37 % 64) as u32) / 32.0 - 1.0).collect::<Vec<_>>();
    for (kind, states) in [(GRU, 1), (CellKind::Lstm, 2)] {
        let (whole, half) = (
            stacked(kind, 2, 4, LayerSplit::Slice, Join::Turned),
            stacked(kind, 2, 2, LayerSplit::Slice, Join::Turned),
        );
        let x = values(N * 4 * H);
        let steps = |from: usize| -> Vec<f64> {
            (0..N).flat_map(|row| x[(row * 4 + from) * H..][..2 * H].to_vec()).collect()
        };
        let start = vec![values(2 * N * H); states];
        let all = computed(&whole, &[vec![x.clone()], start.clone()].concat());
        let first = computed(&half, &[vec![steps(0)], start].concat());
        let pairs = pairs(&accepted(&half, &Options::default()));
        let after = pairs.iter().map(|&(_, result)| first[result].1.clone()).collect();
        let second = computed(&half, &[vec![steps(2)], after].concat());
        for state in 1..=states {
            assert_eq!(all[state], second[state]);
        }
    }
}

/// A sequence of T steps, with an input and an output for each state.
fn single(kind: CellKind, direction: Direction, steps: i64, lengths: Option<&[i64]>) -> Graph {
    let mut graph = Graph::default();
    let d = direction.count() as isize;
    let x = graph.parameter("x", &[N as isize, steps as isize, H as isize]);
    let names: &[&str] = if kind.has_cell_state() { &["h", "c"] } else { &["h"] };
    let starts: Vec<ValueId> =
        names.iter().map(|name| graph.parameter(name, &[N as isize, d, H as isize])).collect();
    let lengths = match lengths {
        Some([]) => graph.input_of("lengths", &[N], ElementType::I64),
        Some(lengths) => graph.ints(lengths),
        None => full(&mut graph, steps),
    };
    let out = sequence(&mut graph, (kind, direction), x, lengths, &starts);
    ["y", "hn", "cn"].iter().zip(out).for_each(|(name, value)| graph.result(name, value));
    graph
}

/// A GRU with h read by another operation, two outputs for h, or two layers that start from h.
fn used_twice(how: &str) -> Graph {
    let mut graph = Graph::default();
    let mut x = graph.parameter("x", &[N as isize, 1, H as isize]);
    let h = graph.parameter("h", &[N as isize, 1, H as isize]);
    if how == "read" {
        x = graph.elementwise(Binary::Add, &[x, h]);
    }
    let lengths = full(&mut graph, 1);
    let out = sequence(&mut graph, (GRU, FORWARD), x, lengths, &[h]);
    if how == "y" {
        let one = graph.ints(&[1]);
        let y = graph.op(Op::Squeeze { skip: false }, &[out[0], one]);
        graph.result("y", y);
        return graph;
    }
    graph.result("hn", out[1]);
    if how == "two outputs" {
        graph.result("again", out[1]);
    }
    if how == "two layers" {
        let out = sequence(&mut graph, (GRU, FORWARD), x, lengths, &[h]);
        graph.result("y", out[0]);
    }
    if how == "another shape" {
        let flat = graph.ints(&[-1]);
        let flat = graph.op(Op::Reshape { zero_keeps: false }, &[out[1], flat]);
        graph.0.results.pop();
        graph.0.nodes.retain(|node| node.op != Op::Result);
        graph.result("flat", flat);
    }
    graph
}

/// tanh(x W + h R), with `columns` columns of x.
fn in_parts(columns: usize) -> Graph {
    let mut graph = Graph::default();
    let (x, h) = (graph.parameter("x", &[1, columns as isize]), graph.parameter("h", &[1, 3]));
    let (w, r) = (graph.constant(&[columns, 3]), graph.constant(&[3, 3]));
    let product = Op::MatMul { transpose_a: false, transpose_b: false };
    let (x, h) = (graph.op(product.clone(), &[x, w]), graph.op(product, &[h, r]));
    let sum = graph.elementwise(Binary::Add, &[x, h]);
    let new = graph.elementwise(Activation::Tanh, &[sum]);
    graph.result("hn", new);
    graph
}

#[test]
fn what_looks_like_a_state_and_is_none() {
    let none = Options::default;
    let cases = vec![
        ("in reverse", single(GRU, Direction::Reverse, 4, None), none()),
        ("both ways", single(CellKind::Rnn, Direction::Bidirectional, 4, None), none()),
        ("lengths of the model", single(GRU, FORWARD, 4, Some(&[4, 2])), none()),
        ("lengths at every call", single(CellKind::Lstm, FORWARD, 4, Some(&[])), none()),
        ("layers in another order", stacked(GRU, 2, 4, LayerSplit::Split, Join::Backwards), none()),
        (
            "elements in another order",
            stacked(GRU, 2, 4, LayerSplit::Split, Join::Interleaved),
            none(),
        ),
        ("read for something else", used_twice("read"), none()),
        ("two outputs", used_twice("two outputs"), none()),
        ("two layers", used_twice("two layers"), none()),
        ("another shape", used_twice("another shape"), none()),
        ("a cell in parts", in_parts(2), none()),
        ("which of the inputs is it?", in_parts(3), none()),
        (
            "h and c of layers in another order",
            stacked(CellKind::Lstm, 2, 4, LayerSplit::Split, Join::Backwards),
            none(),
        ),
        (
            "no states wanted",
            single(GRU, Direction::Reverse, 4, None),
            none().with_state(State::None),
        ),
        ("in reverse, asked for", single(GRU, Direction::Reverse, 4, None), states(&[("h", "hn")])),
        (
            "both ways, asked for",
            single(GRU, Direction::Bidirectional, 4, None),
            states(&[("h", "hn")]),
        ),
        (
            "lengths, asked for",
            single(CellKind::Lstm, FORWARD, 4, Some(&[])),
            states(&[("c", "cn")]),
        ),
    ];
    insta::assert_snapshot!(said(cases));
    // the last step of Y is the last state
    assert_eq!(pairs(&accepted(&used_twice("y"), &none())), [(1, 0)]);
    for (graph, state) in
        [(used_twice("read"), ("h", "hn")), (used_twice("two outputs"), ("h", "again"))]
    {
        assert_eq!(
            accepted(&graph, &states(&[state])).states.len(),
            1,
            "it is taken where it is asked for"
        );
    }
}

/// A sequence whose initial state `start` computes from x. `steps`: -1 leaves the number of steps
/// open.
pub(super) fn started(
    kind: CellKind,
    direction: Direction,
    steps: isize,
    start: fn(&mut Graph, ValueId) -> ValueId,
) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[-1, steps, H as isize]);
    let shape = graph.op(Op::ShapeOf, &[x]);
    let (zero, one) = (graph.int(0), graph.ints(&[1]));
    let rows = graph.ints(&[0]);
    let rows = graph.op(Op::Gather { batch_dims: 0 }, &[shape, rows, zero]);
    let time = graph.op(Op::Gather { batch_dims: 0 }, &[shape, one, zero]);
    let lengths = graph.op(Op::Broadcast(BroadcastMode::Numpy), &[time, rows]);
    let states: Vec<ValueId> =
        (0..1 + usize::from(kind.has_cell_state())).map(|_| start(&mut graph, x)).collect();
    let out = sequence(&mut graph, (kind, direction), x, lengths, &states);
    graph.result("y", out[0]);
    graph
}

/// Zeros `[N, 1, H]` for the rows of x, as PyTorch exports them.
pub(super) fn zeros(graph: &mut Graph, x: ValueId) -> ValueId {
    let shape = graph.op(Op::ShapeOf, &[x]);
    let (zero, row, rest) = (graph.int(0), graph.ints(&[0]), graph.ints(&[1, H as i64]));
    let rows = graph.op(Op::Gather { batch_dims: 0 }, &[shape, row, zero]);
    let shape = graph.op(Op::Concat { axis: 0 }, &[rows, rest]);
    let nothing = graph.floats(&[], &[0.0]);
    graph.op(Op::Broadcast(BroadcastMode::Numpy), &[nothing, shape])
}

fn two_ways(graph: &mut Graph, x: ValueId) -> ValueId {
    let one = zeros(graph, x);
    graph.op(Op::Concat { axis: 1 }, &[one, one])
}

/// A cell in the body of a loop of `trips` iterations, which starts from a constant or, if
/// `carried`, from the carried value.
fn body_of_a_cell(trips: isize, carried: bool) -> Graph {
    let mut body = Graph::default();
    let [x, h] = ["x", "h"]
        .map(|name| body.node(name, Op::Parameter, &[], Graph::value(None, ElementType::F32)));
    let start = if carried { h } else { body.constant(&[1, 3]) };
    let h_out = body.rnn("cell", x, start);
    body.result("h", h_out);
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[trips, 2]);
    let h = graph.constant(&[1, 3]);
    let slice = Slicing { axis: 0, start: 0, end: -1, stride: 1, part_size: 1 };
    let inputs = vec![
        LoopInput { parameter: 0, input: 0, slice: Some(slice), back_edge: None },
        LoopInput { parameter: 1, input: 1, slice: None, back_edge: Some(0) },
    ];
    let outputs = vec![LoopOutput { result: 0, concatenation: Some(slice) }];
    let op = Loop {
        body: body.0,
        counted: false,
        inputs,
        outputs,
        current_iteration: None,
        condition: None,
    };
    let out = graph.op(Op::Loop(Box::new(op)), &[x, h]);
    graph.result("y", out);
    graph
}

/// A cell that starts from a variable. `assigned`: true if the variable takes the cell's h.
fn variable(assigned: bool) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 2]);
    let zero = graph.floats(&[1, 3], &[0.0; 3]);
    let op = Op::ReadValue { variable: "h".to_owned(), shape: None, element: None };
    let h = graph.op(op, &[zero]);
    let h_out = graph.rnn("cell", x, h);
    if assigned {
        graph.op(Op::Assign { variable: "h".to_owned() }, &[h_out]);
    }
    graph.result("y", h_out);
    graph
}

/// Two unrolled steps of a cell.
fn written_out() -> Graph {
    let mut graph = Graph::default();
    let (x, zero) = (graph.parameter("x", &[1, 2]), graph.constant(&[1, 3]));
    let weights = [graph.constant(&[3, 2]), graph.constant(&[3, 3]), graph.constant(&[3])];
    let first = graph.cell("first", rnn(3), &[x, zero, weights[0], weights[1], weights[2]]);
    let second = graph.cell("second", rnn(3), &[x, first, weights[0], weights[1], weights[2]]);
    graph.result("y", second);
    graph
}

fn cell_from_a_constant() -> Graph {
    let mut graph = Graph::default();
    let (x, h) = (graph.parameter("x", &[1, 2]), graph.constant(&[1, 3]));
    let h_out = graph.rnn("cell", x, h);
    graph.result("y", h_out);
    graph
}

#[test]
fn layers_that_every_call_starts_anew_are_warned_about() {
    let one = || shapes(&[("x", &[1, 1, H])]);
    let cases = vec![
        ("a cell", cell_from_a_constant(), Options::default()),
        ("one step of an open number", started(GRU, FORWARD, -1, zeros), one()),
        ("one step", started(CellKind::Lstm, FORWARD, 1, zeros), one()),
        ("one step in reverse", started(GRU, Direction::Reverse, -1, zeros), one()),
        (
            "one step both ways",
            started(CellKind::Rnn, Direction::Bidirectional, 1, two_ways),
            one(),
        ),
        ("a body of one trip", body_of_a_cell(1, true), Options::default()),
        ("a body that forgets at every trip", body_of_a_cell(4, false), Options::default()),
        ("a variable that is never assigned", variable(false), Options::default()),
    ];
    for (name, graph, options) in &cases {
        let (valid, _) = core_model(&graph.0, options).unwrap();
        assert_eq!(valid.restarts.len(), usize::from(!name.contains("every trip")), "{name}");
    }
    insta::assert_snapshot!(said(cases));
    let open = Options::default().with_shapes(vec![("x".to_owned(), vec![Some(1), None, Some(H)])]);
    for (graph, options) in [
        (started(GRU, FORWARD, -1, zeros), shapes(&[("x", &[1, 2, H])])),
        (started(GRU, FORWARD, -1, zeros), open),
        (body_of_a_cell(4, true), Options::default()),
        (variable(true), Options::default()),
        (written_out(), Options::default()),
        (one_cell(1), Options::default()),
        (
            stacked(GRU, 2, 1, LayerSplit::Split, Join::Turned),
            Options::default().with_state(State::None),
        ),
    ] {
        assert_eq!(accepted(&graph, &options).restarts, []);
    }
}

/// The number of steps may be open if the state belongs to one cell alone, but not if other
/// operations read the state or if the state belongs to another cell.
#[test]
fn steps_stay_open_only_where_states_go_on_from_step_to_step() {
    let graph = |how: &str| {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[1, -1, H as isize]);
        let (a, b) =
            (graph.parameter("a", &[1, 1, H as isize]), graph.parameter("b", &[1, 1, H as isize]));
        let shape = graph.op(Op::ShapeOf, &[x]);
        let (one, zero) = (graph.ints(&[1]), graph.int(0));
        let time = graph.op(Op::Gather { batch_dims: 0 }, &[shape, one, zero]);
        let y = if how == "read" { graph.elementwise(Binary::Add, &[x, a]) } else { x };
        let first = sequence(&mut graph, (GRU, FORWARD), y, time, &[a]);
        let second = sequence(&mut graph, (GRU, FORWARD), x, time, &[b]);
        graph.result("an", first[1]);
        graph.result("bn", second[1]);
        graph
    };
    let open = |state: State| Options::default().with_state(state);
    let given = |pairs: &[(&str, &str)]| open(states(pairs).bindings.state);
    assert!(accepted(&graph(""), &open(State::Auto)).steps.is_some());
    assert!(accepted(&graph(""), &given(&[("a", "an"), ("b", "bn")])).steps.is_some());
    let cases = vec![
        ("crossed", graph(""), given(&[("a", "bn"), ("b", "an")])),
        ("read as well", graph("read"), given(&[("a", "an"), ("b", "bn")])),
        ("not all", graph(""), given(&[("a", "an")])),
    ];
    insta::assert_snapshot!(said(cases));
}

/// The last of three steps of Y is the last state, whichever operation takes the step.
#[test]
fn the_last_step_of_y_is_the_last_state() {
    let graph = |how: LayerSplit, step: i64, all_steps: bool| {
        let mut graph = Graph::default();
        let (x, h) = (
            graph.parameter("x", &[N as isize, 3, H as isize]),
            graph.parameter("h", &[N as isize, 1, H as isize]),
        );
        let lengths = full(&mut graph, 3);
        let y = sequence(&mut graph, (GRU, FORWARD), x, lengths, &[h])[0];
        let axis = graph.int(2);
        let last = match how {
            LayerSplit::Split => graph.ops(Op::Split { parts: 3 }, &[y, axis], 3)[step as usize],
            LayerSplit::VariadicSplit => {
                let lengths = graph.ints(&[step, 3 - step]);
                graph.ops(Op::VariadicSplit, &[y, axis, lengths], 2)[1]
            }
            LayerSplit::Gather => {
                let index = graph.int(step - 3);
                graph.op(Op::Gather { batch_dims: 0 }, &[y, index, axis])
            }
            LayerSplit::Slice => {
                let ends = [step - 3, i64::MAX, 1, 2].map(|i| graph.ints(&[i]));
                graph.op(Op::Slice, &[y, ends[0], ends[1], ends[2], ends[3]])
            }
            LayerSplit::StridedSlice => {
                let (begin, end) = (graph.ints(&[0, 0, step - 3]), graph.ints(&[0, 0, 0]));
                let masks = vec![true, true, false];
                let op = Op::StridedSlice(SliceMasks {
                    begin: masks.clone(),
                    end: if step == 2 { vec![true; 3] } else { masks },
                    new_axis: vec![false; 3],
                    shrink_axis: vec![false; 3],
                    ellipsis: vec![false; 3],
                });
                graph.op(op, &[y, begin, end])
            }
        };
        let shape = graph.ints(&[N as i64, 1, H as i64]);
        let last = graph.op(Op::Reshape { zero_keeps: false }, &[last, shape]);
        if all_steps {
            graph.result("y", y);
        }
        graph.result("hn", last);
        graph
    };
    for how in [
        LayerSplit::Split,
        LayerSplit::VariadicSplit,
        LayerSplit::Gather,
        LayerSplit::Slice,
        LayerSplit::StridedSlice,
    ] {
        for all_steps in [false, true] {
            let valid = accepted(&graph(how, 2, all_steps), &Options::default());
            assert_eq!(pairs(&valid), [(1, usize::from(all_steps))], "{how:?}");
        }
    }
    // the step before the last one is no state
    for how in [LayerSplit::Split, LayerSplit::Gather] {
        assert_eq!(pairs(&accepted(&graph(how, 1, false), &Options::default())), []);
    }
}

/// The refusal of an open number of steps names the reason; the advised command compiles.
#[test]
fn an_open_number_of_steps_that_the_model_does_not_take() {
    let graph = |how: &str| {
        let mut graph = Graph::default();
        let mut x = graph.parameter("x", &[1, -1, H as isize]);
        let steps = if how == "many lengths" { 300 } else { 3 };
        let lengths = if how == "lengths as an input" {
            graph.input_of("lengths", &[1], ElementType::I64)
        } else {
            graph.ints(&[steps])
        };
        if how == "a size" {
            let shape = graph.ints(&[3, 1, H as i64]);
            x = graph.op(Op::Reshape { zero_keeps: false }, &[x, shape]);
            let order = graph.ints(&[1, 0, 2]);
            x = graph.op(Op::Transpose, &[x, order]);
        }
        let h = graph.constant(&[1, 1, H]);
        let out = sequence(&mut graph, (GRU, FORWARD), x, lengths, &[h]);
        if how == "wrong all the same" {
            let other = graph.constant(&[7, 7]);
            let sum = graph.elementwise(Binary::Add, &[out[0], other]);
            graph.result("z", sum);
        }
        graph.result("y", out[0]);
        graph
    };
    let open =
        || Options::default().with_shapes(vec![("x".to_owned(), vec![Some(1), None, Some(H)])]);
    let names =
        ["constant lengths", "many lengths", "a size", "lengths as an input", "wrong all the same"];
    for name in &names {
        let asked = core_model(&graph(name).0, &open()).unwrap_err().to_string();
        assert!(
            !asked.contains(&format!("--shape 'x=1,?,{H}'")),
            "{name}: what was just done: {asked}"
        );
        let first = core_model(&graph(name).0, &Options::default()).unwrap_err().to_string();
        assert_eq!(first, asked, "{name}: nothing sends to where there is no way");
    }
    insta::assert_snapshot!(said(
        names.into_iter().map(|name| (name, graph(name), open())).collect()
    ));
    for (name, steps) in [("constant lengths", 3), ("a size", 3), ("many lengths", 300)] {
        accepted(&graph(name), &shapes(&[("x", &[1, steps, H])]));
    }
}

/// By `how`: a cell whose state is cleared before the cell reads it, a cell whose state other
/// arithmetic changes, a cache of samples, or an output that is no next state.
fn passed(how: &str) -> Graph {
    let mut graph = Graph::default();
    let (x, h) = (graph.parameter("x", &[1, 2]), graph.parameter("h", &[1, 3]));
    let done = graph.parameter("done", &[1, 1]);
    match how {
        "cleared" => {
            let one = graph.floats(&[1, 1], &[1.0]);
            let rest = graph.elementwise(Binary::Subtract, &[one, done]);
            let start = graph.elementwise(Binary::Multiply, &[h, rest]);
            let last = graph.rnn("cell", x, start);
            graph.result("hn", last);
        }
        "added" => {
            let last = graph.rnn("cell", x, h);
            let sum = graph.elementwise(Binary::Add, &[last, done]);
            graph.result("hn", sum);
        }
        "a cache" => {
            let wide = graph.op(Op::Concat { axis: 1 }, &[h, x]);
            let (axis, lengths) = (graph.int(1), graph.ints(&[2, 3]));
            let cut = graph.ops(Op::VariadicSplit, &[wide, axis, lengths], 2);
            let weights = graph.constant(&[5, 1]);
            let y =
                graph.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[wide, weights]);
            let y = graph.elementwise(Binary::Add, &[y, done]);
            graph.result("y", y);
            graph.result("hn", cut[1]);
        }
        _ => {
            // as wide as the state and computed from the state, but not the next state
            let y = graph.elementwise(Binary::Add, &[h, done]);
            graph.result("y", y);
            let twice = graph.elementwise(Binary::Add, &[x, x]);
            graph.result("x2", twice);
        }
    }
    graph
}

/// A state that other operations change is not kept by default. A notice prints the option that
/// keeps it.
#[test]
fn states_that_other_operations_pass_are_offered() {
    let cases = ["cleared", "added", "a cache", "no state"]
        .map(|how| (how, passed(how), Options::default()));
    let text = said(cases.into());
    assert_eq!(text.matches("--state h=hn").count(), 3, "{text}");
    insta::assert_snapshot!(text);
    for how in ["cleared", "added", "a cache"] {
        assert_eq!(
            pairs(&accepted(&passed(how), &states(&[("h", "hn")]))),
            [(1, usize::from(how == "a cache"))]
        );
    }
}

/// The printed option names an output as the header file does, not by a name that OpenVINO makes up
/// anew for each export.
#[test]
fn names_that_openvino_makes_up_are_not_printed() {
    let made_up = || {
        let mut graph = passed("cleared");
        let result = graph.0.results[0];
        graph.0.nodes[result].name = "Result_44995".to_owned();
        graph
    };
    let (text, graph) = (said(vec![("", made_up(), Options::default())]), made_up());
    assert!(text.contains("add --state h=out0") && !text.contains("Result_"), "{text}");
    assert_eq!(pairs(&accepted(&graph, &states(&[("h", "out0")]))), [(1, 0)]);
    let refused =
        core_model(&graph.0, &states(&[("h", "hn")])).expect_err("no such output").to_string();
    assert!(refused.contains("the outputs of the model: \"out0\""), "{refused}");
    // made-up names of inputs are not printed either
    let mut graph = Graph::default();
    let x = graph.parameter("Parameter_270", &[-1, 2]);
    graph.result("y", x);
    let text = said(vec![("", graph, Options::default())]);
    assert!(text.contains("--shape in0=1,2") && !text.contains("Parameter_270="), "{text}");
}

/// A state that no single recurrent operator updates. `names`: x, h and the last output.
fn kept(how: &str, names: [&str; 3]) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter(names[0], &[1, if how == "average" { 3 } else { 1 }]);
    let h = graph.parameter(names[1], &[1, 3]);
    match how {
        "average" | "average beside" => {
            let (old, new) = (graph.floats(&[1, 1], &[0.75]), graph.floats(&[1, 1], &[0.25]));
            let h = graph.elementwise(Binary::Multiply, &[h, old]);
            let x = graph.elementwise(Binary::Multiply, &[x, new]);
            let sum = graph.elementwise(Binary::Add, &[h, x]);
            if how == "average beside" {
                let y = graph.elementwise(Activation::Tanh, &[sum]);
                graph.result("y", y);
            }
            graph.result(names[2], sum);
        }
        "shifted" => {
            let (axis, lengths) = (graph.int(1), graph.ints(&[1, 2]));
            let cut = graph.ops(Op::VariadicSplit, &[h, axis, lengths], 2);
            let wide = graph.op(Op::Concat { axis: 1 }, &[cut[1], x]);
            graph.result(names[2], wide);
        }
        "halved" | "mapped" | "mapped behind" => {
            let half = graph.floats(&[1, 1], &[0.5]);
            let (square, wide) = (graph.constant(&[3, 3]), graph.constant(&[1, 2]));
            let product = Op::MatMul { transpose_a: false, transpose_b: false };
            let x = graph.op(product.clone(), &[x, wide]);
            let start = match how {
                "halved" => graph.elementwise(Binary::Multiply, &[h, half]),
                "mapped" => graph.op(product.clone(), &[h, square]),
                _ => h,
            };
            let mut last = graph.rnn("cell", x, start);
            if how == "mapped behind" {
                graph.result("y", last);
                last = graph.op(product, &[last, square]);
            }
            graph.result(names[2], last);
        }
        _ => {
            // each of two outputs may be the new state
            let (square, wide) = (graph.constant(&[3, 3]), graph.constant(&[1, 3]));
            let product = Op::MatMul { transpose_a: false, transpose_b: false };
            let (x, h) = (graph.op(product.clone(), &[x, wide]), graph.op(product, &[h, square]));
            let sum = graph.elementwise(Binary::Add, &[x, h]);
            let new = graph.elementwise(Activation::Tanh, &[sum]);
            let twice = graph.elementwise(Binary::Add, &[new, new]);
            if how == "two outputs" {
                graph.result("a", new);
            }
            graph.result(names[2], twice);
        }
    }
    graph
}

/// A notice offers each likely state with its `--state` option.
#[test]
fn states_without_a_recurrent_operator_are_offered() {
    let states = ["x", "state_in", "state_out"];
    let cases = [
        ("average", states),
        ("average", ["x", "state", "y"]),
        ("average beside", ["x", "Mul_1", "18"]),
        ("shifted", ["x", "a", "b"]),
        ("halved", ["x", "a", "b"]),
        ("mapped", ["x", "a", "b"]),
        ("mapped behind", ["x", "h", "hn"]),
        ("two outputs", states),
        ("two outputs", ["x", "h", "b"]),
    ];
    for (how, names) in cases {
        let text = said(vec![(how, kept(how, names), Options::default())]);
        let pair = (names[1].to_owned(), names[2].to_owned());
        assert!(text.contains(&format!("--state {}={}", pair.0, pair.1)), "{how}: {text}");
        let asked = Options::default().with_state(State::Pairs(vec![pair]));
        assert_eq!(accepted(&kept(how, names), &asked).states.len(), 1, "{how}");
        assert_eq!(
            accepted(&kept(how, names), &Options::default()).states,
            [],
            "{how}: nothing is guessed"
        );
    }
    insta::assert_snapshot!(said(
        cases.map(|(how, names)| (how, kept(how, names), Options::default())).into()
    ));
}

/// A window of earlier inputs, and a mask that moves with the window. `cut`: true if both are cut
/// before new elements are appended.
fn masked_window(cut: bool, has_window: bool) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 1]);
    let slide = |graph: &mut Graph, name: &str, new, after: &str| {
        let state = graph.parameter(name, &[1, 3]);
        let concat = Op::Concat { axis: 1 };
        let out = if cut {
            let (axis, lengths) = (graph.int(1), graph.ints(&[1, 2]));
            let kept = graph.ops(Op::VariadicSplit, &[state, axis, lengths], 2)[1];
            graph.op(concat, &[kept, new])
        } else {
            let (wide, axis, lengths) =
                (graph.op(concat, &[state, new]), graph.int(1), graph.ints(&[1, 3]));
            graph.ops(Op::VariadicSplit, &[wide, axis, lengths], 2)[1]
        };
        graph.result(after, out);
        out
    };
    let one = graph.floats(&[1, 1], &[1.0]);
    let mask = slide(&mut graph, "mask", one, "mask_out");
    let window = if has_window { slide(&mut graph, "seen", x, "seen_out") } else { x };
    let y = graph.elementwise(Binary::Multiply, &[window, mask]);
    graph.result("y", y);
    graph
}

/// The mask of a window is offered together with the window: the window alone would give wrong
/// results.
#[test]
fn a_mask_that_slides_with_a_window_is_offered() {
    for cut in [false, true] {
        let text = said(vec![("", masked_window(cut, true), Options::default())]);
        assert!(text.contains("add --state mask=mask_out --state seen=seen_out"), "{text}");
        let alone = said(vec![("", masked_window(cut, false), Options::default())]);
        assert!(!alone.contains("--state"), "{alone}");
    }
}

/// An input and an output of one shape are no state of an ordinary network.
#[test]
fn ordinary_networks_have_no_states() {
    for names in [
        ["x", "a", "b"],
        ["c", "x", "y"],
        ["mask", "hidden_states", "last_hidden_state"],
        ["c", "obs", "action"],
    ] {
        assert!(
            !said(vec![("", kept("average", names), Options::default())]).contains("--state"),
            "{names:?}"
        );
    }
    for names in [["c", "x", "y"], ["cond", "input", "output"]] {
        let graph = kept("one output", names);
        assert!(!said(vec![("", graph, Options::default())]).contains("--state"), "{names:?}");
    }
    let mut alone = Graph::default();
    let x = alone.parameter("x", &[1, 3]);
    let r = alone.constant(&[3, 3]);
    let mapped = alone.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[x, r]);
    let sum = alone.elementwise(Binary::Add, &[x, mapped]);
    alone.result("y", sum);
    assert!(!said(vec![("", alone, Options::default())]).contains("--state"));
}

/// The option replaces the found states, so the printed line names the found states, too.
#[test]
fn the_printed_option_names_the_states_that_are_found_too() {
    let mut graph = single(GRU, FORWARD, 4, None);
    let (level, gain) = (graph.parameter("level_state", &[1, 1]), graph.parameter("gain", &[1, 1]));
    let sum = graph.elementwise(Binary::Add, &[level, gain]);
    graph.result("new_level_state", sum);
    assert_eq!(pairs(&accepted(&graph, &Options::default())), [(1, 1)]);
    let text = said(vec![("", graph, Options::default())]);
    assert!(text.contains("add --state h=hn --state level_state=new_level_state"), "{text}");
}

/// A state that other operations change on its way to a bidirectional layer is neither offered nor
/// accepted.
#[test]
fn a_changed_state_of_both_directions_is_not_offered() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[N as isize, 4, H as isize]);
    let h = graph.parameter("h", &[N as isize, 2, H as isize]);
    let half = graph.floats(&[1, 1, 1], &[0.5]);
    let start = graph.elementwise(Binary::Multiply, &[h, half]);
    let lengths = full(&mut graph, 4);
    let out = sequence(&mut graph, (GRU, Direction::Bidirectional), x, lengths, &[start]);
    let last = graph.elementwise(Binary::Multiply, &[out[1], half]);
    graph.result("y", out[0]);
    graph.result("hn", last);
    let (_, warnings) = core_model(&graph.0, &Options::default()).unwrap();
    assert!(!warnings.to_string().contains("--state"), "{warnings}");
    let text = said(vec![("", graph, states(&[("h", "hn")]))]);
    assert!(text.contains("runs in both directions"), "{text}");
}

/// An integer counter that calls pass on is no state, and a notice says so.
#[test]
fn a_state_of_integers_is_named() {
    let said = |after: &str| {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[1, 3]);
        let count = graph.input_of("count_state", &[1], ElementType::I64);
        let one = graph.ints(&[1]);
        let next = graph.op(Op::elementwise(Binary::Add), &[count, one]);
        graph.result("y", x);
        graph.result(after, next);
        core_model(&graph.0, &Options::default()).expect("a counter").1.to_string()
    };
    let text = said("new_count_state");
    assert!(
        text.contains("the input \"count_state\" and the output \"new_count_state\""),
        "{text}"
    );
    assert!(text.contains("they are of type i64") && !text.contains("--state"), "{text}");
    assert!(!said("index").contains("state:"));
}

/// One input for h and c of an LSTM forms a state with neither of the two outputs, even if the
/// option names the pair.
#[test]
fn one_input_for_h_and_c_is_no_state_when_asked_for() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[N as isize, 4, H as isize]);
    let both = graph.parameter("c", &[N as isize, 1, H as isize]);
    let lengths = full(&mut graph, 4);
    let out = sequence(&mut graph, (CellKind::Lstm, FORWARD), x, lengths, &[both, both]);
    ["y", "hn", "cn"].iter().zip(out).for_each(|(name, value)| graph.result(name, value));
    for new in ["hn", "cn"] {
        let text = said(vec![("", Graph(graph.0.clone()), states(&[("c", new)]))]);
        assert!(text.contains(&format!("the state \"c\"=\"{new}\": h and c of ")), "{text}");
        assert!(
            text.contains("export the model with a tensor of its own for h and for c"),
            "{text}"
        );
    }
}

#[test]
fn a_state_is_not_made_of_integers() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 3]);
    let rounded = graph.convert(x, ElementType::I32);
    graph.result("n", rounded);
    let text = said(vec![("", graph, states(&[("x", "n")]))]);
    assert!(text.contains("the output is of integers"), "{text}");
}
