//! Operations over the steps next to states that go on from call to call: cellc keeps the earlier
//! steps that the operations read, or warns that they are lost.

use super::states::{H, sequence};
use super::*;
use crate::model::{
    Convolution, Direction, Groups, OutputSizes, PadMode, Padding, Pool, PoolKind, Reduce,
    Rounding, RunningSum, Softmax, Window,
};

/// An operation on channels over time, `[1, H, steps]`.
type Between = fn(&mut Graph, ValueId) -> ValueId;

const SEES: &str = "sees the steps of one call only";

fn window(begin: i64, end: i64) -> Window {
    let padding = Padding::Explicit { begin: vec![begin], end: vec![end] };
    Window { strides: Vec::new(), dilations: Vec::new(), padding }
}

fn convolved(graph: &mut Graph, x: ValueId, kernel: usize, [begin, end]: [i64; 2]) -> ValueId {
    let (window, groups) = (window(begin, end), Groups::Count(1));
    let (output_padding, output_sizes) = (Vec::new(), OutputSizes::Follow);
    let convolution = Convolution {
        kernel: Vec::new(),
        window,
        groups,
        transposed: false,
        output_padding,
        output_sizes,
    };
    let w = graph.constant(&[H, H, kernel]);
    graph.op(Op::Convolution(Box::new(convolution)), &[x, w])
}

fn transpose(graph: &mut Graph, x: ValueId) -> ValueId {
    let order = graph.ints(&[0, 2, 1]);
    graph.op(Op::Transpose, &[x, order])
}

/// An LSTM behind `between`, with h and c as inputs and outputs. `steps`: the steps of x, -1 for
/// any number.
fn kept_behind(steps: isize, between: Between) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, steps, H as isize]);
    let channels = transpose(&mut graph, x);
    let made = between(&mut graph, channels);
    let rows = transpose(&mut graph, made);
    let [h, c] = ["h", "c"].map(|name| graph.parameter(name, &[1, 1, H as isize]));
    let (zero, one) = (graph.int(0), graph.ints(&[1]));
    let shape = graph.op(Op::ShapeOf, &[rows]);
    let lengths = graph.op(Op::Gather { batch_dims: 0 }, &[shape, one, zero]);
    let out = sequence(&mut graph, (CellKind::Lstm, Direction::Forward), rows, lengths, &[h, c]);
    for (name, value) in ["y", "hn", "cn"].into_iter().zip(out) {
        graph.result(name, value);
    }
    graph
}

/// The warnings about operations that do not see earlier calls.
fn said(graph: &Graph, options: &Options) -> String {
    let (_, warnings) = core_model(&graph.0, options).unwrap_or_else(|d| panic!("{d}"));
    let all = warnings.0.into_iter().filter(|warning| warning.found.contains(SEES));
    Diagnostics(all.collect()).to_string()
}

fn open() -> Options {
    Options::default().with_shapes(vec![("x".to_owned(), vec![Some(1), None, Some(H)])])
}

/// Operations that read two earlier steps: behind the pads of a convolution, a Pad, or a Concat of
/// zeros in front. With an open number of steps, all of them keep the earlier steps between calls.
fn causal() -> Vec<(&'static str, Between)> {
    vec![
        ("convolution", |g, x| convolved(g, x, 3, [2, 0])),
        ("pad", |g, x| {
            let [begin, end, zero] =
                [g.ints(&[0, 0, 2]), g.ints(&[0, 0, 0]), g.floats(&[], &[0.0])];
            let padded = g.op(Op::Pad(PadMode::Constant), &[x, begin, end, zero]);
            convolved(g, padded, 3, [0, 0])
        }),
        ("concat", |g, x| {
            let zeros = g.floats(&[1, H, 2], &[0.0; 2 * H]);
            let padded = g.op(Op::Concat { axis: 2 }, &[zeros, x]);
            convolved(g, padded, 3, [0, 0])
        }),
    ]
}

#[test]
fn what_keeps_no_earlier_steps_is_warned_about_beside_kept_states() {
    for (name, between) in causal() {
        let graph = kept_behind(-1, between);
        for steps in [1, 7] {
            let text = said(&graph, &shapes(&[("x", &[1, steps, H])]));
            assert!(text.contains(&format!("\"{name}\" {SEES}")), "{name}, {steps}: {text}");
            assert!(
                text.contains("the states \"h\" and \"c\" go on from call to call"),
                "{name}: {text}"
            );
            assert!(text.contains("the last 2 inputs"), "{name}: {text}");
            // with the option that the warning prints, all earlier steps are kept
            assert!(
                text.contains(&format!("leave the number of steps open, --shape 'x=1,?,{H}'")),
                "{name}: {text}"
            );
        }
        assert_eq!(said(&graph, &open()), "", "{name}");
        assert_eq!(core_model(&graph.0, &open()).unwrap().0.variables.len(), 1, "{name}");
        // no warning if no state goes on
        assert_eq!(said(&graph, &shapes(&[("x", &[1, 1, H])]).with_state(State::None)), "");
    }
    // one warning names several operations
    let two = kept_behind(1, |g, x| {
        let y = convolved(g, x, 3, [2, 0]);
        convolved(g, y, 2, [1, 0])
    });
    let text = said(&two, &Options::default());
    assert!(text.contains("; so does \"convolution\""), "{text}");
}

/// Open steps are no remedy for operations that look ahead. The warning advises only to make the
/// earlier elements an input of the model.
#[test]
fn what_looks_ahead_is_told_to_keep_its_inputs() {
    let ahead: Vec<(&str, Between)> = vec![
        ("convolution", |g, x| convolved(g, x, 3, [1, 1])),
        ("pool", |g, x| {
            let pool = Pool {
                kind: PoolKind::Max,
                window: window(1, 1),
                kernel: vec![3],
                rounding: Rounding::Floor,
            };
            g.op(Op::Pool(Box::new(pool)), &[x])
        }),
    ];
    for (name, between) in ahead {
        let graph = kept_behind(-1, between);
        let text = said(&graph, &shapes(&[("x", &[1, 1, H])]));
        assert!(
            text.contains(SEES) && text.contains("as an input, and return the next as an output"),
            "{name}: {text}"
        );
        assert!(!text.contains("open"), "{name}: {text}");
        let refused = core_model(&graph.0, &open()).expect_err("looks ahead").to_string();
        assert!(
            refused.contains("give a whole sequence to every call, --shape x=1,100,"),
            "{name}: {refused}"
        );
        assert!(refused.contains("reset the states before it"), "{name}: {refused}");
    }
}

/// A running sum over the steps starts anew in every call. With an open number of steps, the sum
/// goes on.
#[test]
fn sums_of_steps_go_on_where_steps_are_open() {
    let graph = kept_behind(-1, |g, x| {
        let axis = g.int(2);
        g.op(Op::RunningSum(RunningSum { exclusive: false, reverse: false }), &[x, axis])
    });
    let text = said(&graph, &shapes(&[("x", &[1, 7, H])]));
    assert!(text.contains("it begins at zero in every call"), "{text}");
    assert!(
        text.contains(&format!("leave the number of steps open, --shape 'x=1,?,{H}'")),
        "{text}"
    );
    assert_eq!(said(&graph, &open()), "");
    assert_eq!(core_model(&graph.0, &open()).unwrap().0.variables.len(), 1);
    // refused for open steps: without an end, a sum may exceed the integers that f32 holds exactly
    let graph = kept_behind(-1, |g, x| {
        let axis = g.int(2);
        let integers = g.convert(x, ElementType::I32);
        let sum = g.node(
            "cumsum",
            Op::RunningSum(RunningSum { exclusive: false, reverse: false }),
            &[integers, axis],
            Graph::value(None, ElementType::I32),
        );
        g.convert(sum, ElementType::F32)
    });
    let refusal = core_model(&graph.0, &open()).expect_err("integers").to_string();
    // not offered: one step per call, whose running sum is the step itself
    assert!(!refusal.contains("x=1,1,"), "{refusal}");
    // a running sum over a batch of one row is no sum over steps
    let graph = kept_behind(-1, |g, x| {
        let axis = g.int(0);
        g.op(Op::RunningSum(RunningSum { exclusive: false, reverse: false }), &[x, axis])
    });
    assert_eq!(said(&graph, &shapes(&[("x", &[1, 1, H])])), "");
}

/// The help offers one step per call if all states then go on.
#[test]
fn one_step_is_offered_where_it_goes_on() {
    // all steps of a call are divided by the largest element of the call
    let graph = kept_behind(-1, |g, x| {
        let axes = g.ints(&[1, 2]);
        let reduction = crate::model::Reduction::Max;
        let most = g.op(
            Op::Reduce(Reduce { reduction, keep: true, no_axes: crate::model::NoAxes::All }),
            &[x, axes],
        );
        g.elementwise(Binary::Divide, &[x, most])
    });
    let refused = core_model(&graph.0, &open()).expect_err("looks ahead").to_string();
    assert!(
        refused
            .contains(&format!("take one step per call, --shape x=1,1,{H}: the states \"h\" and")),
        "{refused}"
    );
}

/// The help for windows without pads advises pads in front of the steps, or to keep the inputs.
#[test]
fn windows_without_pads_are_told_what_streams() {
    let graph = kept_behind(-1, |g, x| {
        let y = convolved(g, x, 3, [0, 0]);
        convolved(g, y, 2, [0, 0])
    });
    let refused = core_model(&graph.0, &open()).expect_err("too short").to_string();
    assert!(
        refused.contains("put 2 elements of padding in front of the steps of \"convolution\""),
        "{refused}"
    );
    assert!(
        refused.contains(
            "torch.nn.functional.pad(input, (2, 0)), where input is what that \
        layer takes, channels before steps, and likewise"
        ),
        "{refused}"
    );
    let refused =
        core_model(&graph.0, &shapes(&[("x", &[1, 1, H])])).expect_err("too short").to_string();
    assert!(
        refused.contains("put the last 2 inputs of \"convolution\" in front of the step"),
        "{refused}"
    );
}

/// Windows along other axes than the steps, and windows of pictures, read no earlier steps.
#[test]
fn windows_beside_the_steps_lose_nothing() {
    let graph = kept_behind(1, |g, x| {
        let rows = transpose(g, x);
        let w = g.constant(&[1, 1, 3]);
        let convolution = Convolution {
            kernel: Vec::new(),
            window: window(1, 1),
            groups: Groups::Count(1),
            transposed: false,
            output_padding: Vec::new(),
            output_sizes: OutputSizes::Follow,
        };
        let y = g.op(Op::Convolution(Box::new(convolution)), &[rows, w]);
        transpose(g, y)
    });
    assert_eq!(said(&graph, &Options::default()), "");
}

/// Attention of one element over a window of four. The state `mask` moves on by one place in each
/// call; `added` computes the added mask from the state.
fn masked(new: f32, added: Between) -> Graph {
    let mut graph = Graph::default();
    let (x, mask) = (graph.parameter("x", &[1, 4]), graph.parameter("mask", &[1, 4]));
    let new = graph.floats(&[1, 1], &[new]);
    let longer = graph.op(Op::Concat { axis: 1 }, &[mask, new]);
    let [start, stop, one] = [graph.ints(&[1]), graph.ints(&[5]), graph.ints(&[1])];
    let next = graph.op(Op::Slice, &[longer, start, stop, one, one]);
    let hidden = added(&mut graph, next);
    let scores = graph.elementwise(Binary::Add, &[x, hidden]);
    let shares = graph.op(Op::Softmax(Softmax { axis: 1, log: false }), &[scores]);
    graph.result("y", shares);
    graph.result("mask_out", next);
    graph
}

#[test]
fn kept_masks_that_begin_open_are_warned_of() {
    let said =
        |graph: &Graph, options: &Options| core_model(&graph.0, options).unwrap().1.to_string();
    let kept = states(&[("mask", "mask_out")]);
    const OPEN: &str =
        "the state \"mask\" is a mask that is added in front of a softmax, and it begins at zero";
    let text = said(&masked(0.0, |_, mask| mask), &kept);
    assert!(text.contains(OPEN) && text.contains("(mask - 1) * 1e9"), "{text}");
    // no warning about a mask that the program gives
    assert!(!said(&masked(0.0, |_, mask| mask), &Options::default()).contains(OPEN));
    let remedied = masked(1.0, |graph, mask| {
        let (one, large) = (graph.floats(&[], &[1.0]), graph.floats(&[], &[1e9]));
        let below = graph.elementwise(Binary::Subtract, &[mask, one]);
        graph.elementwise(Binary::Multiply, &[below, large])
    });
    assert_eq!(said(&remedied, &kept), "");
    // a kept sum in front of a softmax is no mask
    let mut summed = Graph::default();
    let (x, sum) = (summed.parameter("x", &[1, 4]), summed.parameter("sum", &[1, 4]));
    let next = summed.elementwise(Binary::Add, &[x, sum]);
    let shares = summed.op(Op::Softmax(Softmax { axis: 1, log: false }), &[next]);
    summed.result("y", shares);
    summed.result("sum_out", next);
    assert_eq!(said(&summed, &states(&[("sum", "sum_out")])), "");
}
