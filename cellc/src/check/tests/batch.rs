//! Axes that count the rows of a batch.

use super::states::{FORWARD, GRU, H, sequence};
use super::*;
use crate::model::{AxisName, BroadcastMode, PadMode};

/// A GRU with the state `[1, N, H]` and x `[N, T, H]`, or `[T, N, H]` if `steps_first`. `names`:
/// input, axis and name of open sizes.
pub(super) fn recurrent(
    steps_first: bool,
    shape: [isize; 2],
    names: &[(&str, usize, &str)],
) -> Graph {
    recurrent_through(steps_first, shape, names, |_, h| h)
}

/// As [`recurrent`], with an operation on the initial state `[N, 1, H]`.
fn recurrent_through(
    steps_first: bool,
    shape: [isize; 2],
    names: &[(&str, usize, &str)],
    through: impl Fn(&mut Graph, ValueId) -> ValueId,
) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[shape[0], shape[1], H as isize]);
    let h = graph.parameter("h", &[1, -1, H as isize]);
    let order = graph.ints(&[1, 0, 2]);
    let turned = |graph: &mut Graph, value: ValueId| graph.op(Op::Transpose, &[value, order]);
    let rows = if steps_first { turned(&mut graph, x) } else { x };
    let start = turned(&mut graph, h);
    let start = through(&mut graph, start);
    let sizes = graph.op(Op::ShapeOf, &[rows]);
    let zero = graph.int(0);
    let [batch, time] = [0, 1].map(|axis| {
        let axis = graph.ints(&[axis]);
        graph.op(Op::Gather { batch_dims: 0 }, &[sizes, axis, zero])
    });
    let lengths = graph.op(Op::Broadcast(BroadcastMode::Numpy), &[time, batch]);
    let out = sequence(&mut graph, (GRU, FORWARD), rows, lengths, &[start]);
    let last = turned(&mut graph, out[1]);
    graph.result("y", out[0]);
    graph.result("hn", last);
    graph.0.axis_names = names
        .iter()
        .map(|&(input, axis, name)| AxisName {
            input: input.to_owned(),
            axis,
            name: name.to_owned(),
        })
        .collect();
    graph
}

/// A GRU without a state as input. x is `[N, T, H]`, or `[T, N, H]` if `steps_first`.
pub(super) fn recurrent_alone(steps_first: bool, shape: [isize; 2]) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[shape[0], shape[1], H as isize]);
    let order = graph.ints(&[1, 0, 2]);
    let rows = if steps_first { graph.op(Op::Transpose, &[x, order]) } else { x };
    let sizes = graph.op(Op::ShapeOf, &[rows]);
    let zero = graph.int(0);
    let [batch, time] = [0, 1].map(|axis| {
        let axis = graph.ints(&[axis]);
        graph.op(Op::Gather { batch_dims: 0 }, &[sizes, axis, zero])
    });
    let (one, zeros) = (graph.ints(&[1]), graph.constant(&[1, 1, H]));
    let lengths = graph.op(Op::Broadcast(BroadcastMode::Numpy), &[time, batch]);
    let start = graph.op(Op::Concat { axis: 0 }, &[batch, one]);
    let last = graph.ints(&[H as i64]);
    let start = graph.op(Op::Concat { axis: 0 }, &[start, last]);
    let start = graph.op(Op::Broadcast(BroadcastMode::Numpy), &[zeros, start]);
    let out = sequence(&mut graph, (GRU, FORWARD), rows, lengths, &[start]);
    graph.result("y", out[0]);
    graph
}

/// A state whose elements an operation moves is still a state: its open axis counts the batch.
#[test]
fn a_state_that_is_moved_before_its_cell_has_the_batch() {
    type Move = fn(&mut Graph, ValueId) -> ValueId;
    let moves: [(&str, Move); 4] = [
        ("Tile", |graph, h| {
            let once = graph.ints(&[1, 1, 1]);
            graph.op(Op::Tile, &[h, once])
        }),
        ("Roll", |graph, h| {
            let (shift, axis) = (graph.ints(&[1]), graph.ints(&[2]));
            graph.op(Op::Roll, &[h, shift, axis])
        }),
        ("Pad", |graph, h| {
            let (none, zero) = (graph.ints(&[0, 0, 0]), graph.floats(&[], &[0.0]));
            graph.op(Op::Pad(PadMode::Constant), &[h, none, none, zero])
        }),
        ("Trilu", |graph, h| graph.op(Op::Triangle { upper: true }, &[h])),
    ];
    for (name, through) in moves {
        let graph = recurrent_through(false, [-1, 4], &[], through);
        let valid = accepted(&graph, &Options::default().with_batch(Some(2)));
        let state =
            valid.parameters.iter().find(|parameter| parameter.names[0] == "h").expect("the state");
        assert_eq!(state.shape, [1, 2, H], "{name}");
    }
}

#[test]
fn one_batch_size_sets_all_axes_that_count_the_batch() {
    let cases = [
        ("by the state", false, &[][..]),
        ("batch", false, &[("x", 0, "batch"), ("x", 1, "steps"), ("h", 1, "batch")]),
        ("N", false, &[("x", 0, "N"), ("h", 1, "N")]),
        ("steps first", true, &[("x", 1, "batch_size"), ("h", 1, "batch_size")]),
        ("steps first, N", true, &[("x", 0, "T"), ("x", 1, "N")]),
    ];
    for (how, steps_first, names) in cases {
        let valid = accepted(&recurrent(steps_first, [-1, -1], names), &batch(1));
        assert_eq!(valid.parameters[1].shape, [1, 1, H], "{how}");
        assert!(valid.steps.is_some(), "{how}: the number of steps stays open");
        assert_eq!(pairs(&valid), [(1, 1)], "{how}");
        let shape = if steps_first { [5, -1] } else { [-1, 5] };
        let valid = accepted(&recurrent(steps_first, shape, names), &batch(4));
        assert_eq!(valid.parameters[1].shape, [1, 4, H], "{how}");
        assert_eq!(
            valid.parameters[0].shape,
            if steps_first { [5, 4, H] } else { [4, 5, H] },
            "{how}"
        );
    }
    // the letter N behind a first axis of size 1 may name the number of steps
    let valid = accepted(&recurrent(false, [1, -1], &[("x", 1, "N")]), &batch(1));
    assert!(valid.steps.is_some());
}

/// Sessions as rows of a batch keep no state over an open number of steps, so no message advises an
/// open number.
#[test]
fn several_rows_are_not_told_to_leave_the_steps_open() {
    for (rows, steps) in [(1, 1), (8, 1), (1, 100), (8, 100)] {
        let graph = recurrent_alone(false, [-1, -1]);
        let text = said(vec![("", graph, shapes(&[("x", &[rows, steps, H])]))]);
        assert!(
            text.contains("export the model with the state as an input and an output"),
            "{text}"
        );
        assert_eq!(
            text.contains("number of steps"),
            rows == 1,
            "{rows} rows of {steps} steps: {text}"
        );
    }
    // nor does a message advise an open number if the file has these sizes
    let text = said(vec![("", recurrent_alone(false, [8, 100]), Options::default())]);
    assert!(!text.contains("number of steps"), "{text}");
}

/// Converters that name unknown sizes have the batch first. Frames that a model computes one by one
/// are rows, not steps.
#[test]
fn the_first_axis_that_a_converter_named_is_a_batch() {
    for (name, is_batch) in
        [("unk__222", true), ("None", true), ("DynamicDimension.0", true), ("x0", false)]
    {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[-1, 7, H as isize]);
        let y = graph.elementwise(Activation::Tanh, &[x]);
        graph.result("y", y);
        graph.0.axis_names.push(AxisName { input: "x".to_owned(), axis: 0, name: name.to_owned() });
        let text = said(vec![("", graph, Options::default())]);
        assert!(text.contains("--batch 1"), "{text}");
        assert_eq!(text.contains("counts steps"), !is_batch, "{name}: {text}");
    }
}

/// A refusal asks for a batch size if the batch is open, and for steps if the steps are open.
#[test]
fn a_batch_is_never_called_steps() {
    let named: &[(&str, usize, &str)] = &[("x", 0, "batch"), ("x", 1, "seq"), ("h", 1, "batch")];
    let open =
        || Options::default().with_shapes(vec![("x".to_owned(), vec![Some(1), None, Some(H)])]);
    let cases = vec![
        ("no names", recurrent(false, [-1, -1], &[]), Options::default()),
        ("names", recurrent(false, [-1, -1], named), Options::default()),
        ("steps first", recurrent(true, [-1, -1], &[("x", 1, "batch")]), Options::default()),
        ("one step", recurrent(false, [-1, 1], named), Options::default()),
        ("the batch of the state", recurrent(false, [-1, -1], named), open()),
    ];
    insta::assert_snapshot!(said(cases));
}
