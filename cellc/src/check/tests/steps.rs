//! Models whose number of steps stays open.

use super::hints::valid_convolution;
use super::states::{FORWARD, GRU, H, Join, LayerSplit, joined, part, sequence};
use super::*;
use crate::model::{
    Branch, Heads, If, LinearAttention, MathFunction, NoAxes, PadMode, Reduce, Reduction, Softmax,
    UpdateRule,
};

/// Layers as PyTorch's exporters write them: x `[1, T, width]` is transposed to `[T, 1, width]` and
/// back, and the states `[L, 1, H]` are inputs and outputs.
fn transposed_layers(kind: CellKind, layers: usize, width: usize, how: LayerSplit) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, -1, width as isize]);
    let names: &[&str] = if kind.has_cell_state() { &["h", "c"] } else { &["h"] };
    let states: Vec<ValueId> =
        names.iter().map(|name| graph.parameter(name, &[layers as isize, 1, H as isize])).collect();
    let order = graph.ints(&[1, 0, 2]);
    let mut x = graph.op(Op::Transpose, &[x, order]);
    let shape = graph.op(Op::ShapeOf, &[x]);
    let first = [0, 0].map(|i| graph.int(i));
    let time = graph.op(Op::Gather { batch_dims: 0 }, &[shape, first[0], first[1]]);
    let one = graph.ints(&[1]);
    let lengths = graph.op(Op::Reshape { zero_keeps: false }, &[time, one]);
    let mut lasts = vec![Vec::new(); names.len()];
    for layer in 0..layers {
        let starts: Vec<ValueId> =
            states.iter().map(|&state| part(&mut graph, how, state, layers, layer)).collect();
        let rows = graph.op(Op::Transpose, &[x, order]);
        let inputs = if layer == 0 { width } else { H };
        let out = layer_of(&mut graph, kind, (rows, inputs), lengths, &starts);
        let y = graph.op(Op::Squeeze { skip: false }, &[out[0], one]);
        x = graph.op(Op::Transpose, &[y, order]);
        lasts.iter_mut().zip(&out[1..]).for_each(|(all, &last)| all.push(last));
    }
    let y = graph.op(Op::Transpose, &[x, order]);
    graph.result("y", y);
    for (name, lasts) in names.iter().zip(&lasts) {
        let all = joined(&mut graph, Join::Turned, lasts);
        graph.result(&format!("{name}n"), all);
    }
    graph
}

/// A forward sequence of any input width.
fn layer_of(
    graph: &mut Graph,
    kind: CellKind,
    (x, width): (ValueId, usize),
    lengths: ValueId,
    starts: &[ValueId],
) -> Vec<ValueId> {
    let rows = kind.gates() * H;
    let mut inputs = vec![x];
    inputs.extend(starts);
    inputs.push(lengths);
    inputs.extend([
        graph.constant(&[1, rows, width]),
        graph.constant(&[1, rows, H]),
        graph.constant(&[1, kind.bias_parts() * H]),
    ]);
    graph.ops(Op::Sequence(Cell::new(kind, H), FORWARD), &inputs, 1 + starts.len())
}

/// A Transpose of one step is folded. Its output then has the shape of a part of the state if both
/// widths are equal.
#[test]
fn steps_of_stacked_layers_stay_open_whatever_their_widths() {
    for kind in [GRU, CellKind::Lstm, CellKind::Rnn] {
        for layers in 1..=3 {
            for width in [H, H + 1] {
                for how in [LayerSplit::Split, LayerSplit::Gather, LayerSplit::Slice] {
                    let valid =
                        accepted(&transposed_layers(kind, layers, width, how), &Options::default());
                    let states = if kind.has_cell_state() { 2 } else { 1 };
                    assert_eq!(pairs(&valid).len(), states, "{kind:?} {layers} {width} {how:?}");
                    assert!(valid.steps.is_some(), "{kind:?} {layers} {width} {how:?}");
                }
            }
        }
    }
}

/// A branch of one elementwise function of its only input.
fn branch(function: impl Into<Elementwise>) -> Branch {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, -1, H as isize]);
    let y = graph.elementwise(function, &[x]);
    graph.result("y", y);
    Branch { body: graph.0, inputs: vec![1] }
}

/// The number of steps of `x`, a list of one integer.
fn time_of(graph: &mut Graph, x: ValueId) -> ValueId {
    let shape = graph.op(Op::ShapeOf, &[x]);
    let (one, zero) = (graph.ints(&[1]), graph.int(0));
    graph.op(Op::Gather { batch_dims: 0 }, &[shape, one, zero])
}

/// Refusals name the layer that computes with the number of steps, or that computes one step in
/// another way.
#[test]
fn layers_that_one_step_changes_are_named() {
    let graph = |how: &str| {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[1, -1, H as isize]);
        let (time, one) = (time_of(&mut graph, x), graph.ints(&[1]));
        let single = graph.elementwise(Comparison::Equal, &[time, one]);
        let y = match how {
            "an If" => {
                let choice =
                    If { then: branch(Unary::Negative), otherwise: branch(MathFunction::Exp) };
                graph.op(Op::If(Box::new(choice)), &[single, x])
            }
            "weights" => {
                let weights = graph.constant(&[H, H]);
                let count = graph.convert(time, ElementType::F32);
                let scaled = graph.elementwise(Binary::Multiply, &[weights, count]);
                graph.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[x, scaled])
            }
            _ => x,
        };
        let h = graph.parameter("h", &[1, 1, H as isize]);
        let out = sequence(&mut graph, (GRU, FORWARD), y, time, &[h]);
        graph.result("y", out[0]);
        graph.result("hn", out[1]);
        graph
    };
    accepted(&graph("nothing"), &Options::default());
    let cases = ["an If", "weights"].map(|name| (name, graph(name), Options::default()));
    insta::assert_snapshot!(said(cases.into()));
    for name in ["an If", "weights"] {
        accepted(&graph(name), &shapes(&[("x", &[1, 100, H])]));
    }
}

/// A refusal calls a linear attention outside of the steps an operator, not a cell.
#[test]
fn a_linear_attention_outside_of_the_steps_is_named() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, -1, H as isize]);
    let h = graph.parameter("h", &[1, 1, H as isize]);
    let lengths = time_of(&mut graph, x);
    let out = sequence(&mut graph, (GRU, FORWARD), x, lengths, &[h]);
    graph.result("y", out[0]);
    graph.result("hn", out[1]);
    let other = graph.parameter("other", &[1, 3, H as isize]);
    let attention = LinearAttention {
        rule: UpdateRule::Linear,
        heads: Heads::Joined { queries: 1, keys: 1, shares_queries: false },
        scale: None,
        has_past: false,
    };
    let z = graph.op(Op::LinearAttention(attention), &[other, other, other]);
    graph.result("z", z);
    let refused = said(vec![("attention", graph, Options::default())]);
    assert!(
        refused.contains("is a recurrent operator that does not follow the steps"),
        "{refused}"
    );
}

/// A cell over single steps, as Keras traces it: x is transposed to `[T, N, F]`, and `steps` are
/// read and, if `multiplied`, multiplied by weights.
fn traced(shape: &[isize], steps: &[i64], multiplied: bool) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", shape);
    let (order, axis, weights) = (graph.ints(&[1, 0, 2]), graph.int(0), graph.constant(&[4, 3]));
    let turned = graph.op(Op::Transpose, &[x, order]);
    for (at, &step) in steps.iter().enumerate() {
        let index = graph.int(step);
        let taken = graph.op(Op::Gather { batch_dims: 0 }, &[turned, index, axis]);
        let product = Op::MatMul { transpose_a: false, transpose_b: false };
        let y = if multiplied { graph.op(product, &[taken, weights]) } else { taken };
        graph.result(&format!("y{at}"), y);
    }
    graph
}

#[test]
fn an_input_of_which_one_step_is_read_is_warned_of() {
    let said = |graph: &Graph, given: Option<&[Option<usize>]>| {
        let shapes = given.map(|given| ("x".to_owned(), given.to_vec())).into_iter().collect();
        match core_model(&graph.0, &Options::default().with_shapes(shapes)) {
            Ok((_, said)) | Err(said) => said.to_string(),
        }
    };
    const ONLY: &str = "only the first of the steps of the input \"x\" is read";
    let open = traced(&[-1, -1, 4], &[0], true);
    for given in
        [None, Some(&[Some(1), Some(10), Some(4)][..]), Some(&[Some(1), None, Some(4)][..])]
    {
        let said = said(&open, given);
        let steps = if given.is_some_and(|given| given[1].is_some()) { 10 } else { 100 };
        let signature = format!(
            "input_signature=[keras.layers.InputSpec(shape=(1, {steps}, 4), dtype=\"float32\")])"
        );
        assert!(
            said.contains(ONLY) && said.contains("along axis 1") && said.contains(&signature),
            "{said}"
        );
        assert!(said.contains(&format!("model(keras.ops.zeros((1, {steps}, 4)))\n")), "{said}");
        assert_eq!(said.matches(ONLY).count(), 1, "{said}");
    }
    assert!(said(&traced(&[1, 7, 4], &[0], true), None).contains(ONLY));
    // one step behind a dense layer over the features of each step
    let mut behind = Graph::default();
    let x = behind.parameter("x", &[1, -1, 4]);
    let (weights, bias) = (behind.constant(&[4, 5]), behind.constant(&[5]));
    let dense = behind.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[x, weights]);
    let dense = behind.op(Op::elementwise(Binary::Add), &[dense, bias]);
    let (index, axis) = (behind.int(0), behind.int(1));
    let first = behind.op(Op::Gather { batch_dims: 0 }, &[dense, index, axis]);
    behind.result("y", first);
    assert!(said(&behind, None).contains(ONLY));
    // no warning if x has one step, if several or computed steps are read, or if the step is not
    // multiplied
    let one = [Some(1), Some(1), Some(4)];
    assert!(!said(&open, Some(&one)).contains("only the"));
    assert!(!said(&traced(&[1, 7, 4], &[0, 1], true), None).contains("only the"));
    assert!(!said(&traced(&[1, -1, 4], &[0, 0, -1], true), None).contains("only the"));
    assert!(!said(&traced(&[1, -1, 4], &[3], true), None).contains("only the"));
    assert!(!said(&traced(&[1, 7, 4], &[0], false), None).contains("only the"));
}

/// Attention over a cache `past` of `[1, 2, -1, 8]`, plain or permuted. Every call appends a key.
fn growing_cache(permuted: bool) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 2, 1, 8]);
    let past = graph.parameter("past", if permuted { &[1, -1, 2, 8] } else { &[1, 2, -1, 8] });
    let order = graph.ints(&[0, 2, 1, 3]);
    let turned = |graph: &mut Graph, value| match permuted {
        true => graph.op(Op::Transpose, &[value, order]),
        false => value,
    };
    let before = turned(&mut graph, past);
    let keys = graph.op(Op::Concat { axis: -2 }, &[before, x]);
    let scores = graph.op(Op::MatMul { transpose_a: false, transpose_b: true }, &[x, keys]);
    let weights = graph.op(Op::Softmax(Softmax { axis: -1, log: false }), &[scores]);
    let y = graph.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[weights, keys]);
    let present = turned(&mut graph, keys);
    graph.result("y", y);
    graph.result("present", present);
    graph
}

/// The refusal names a cache that grows, and prints a shape without errors.
#[test]
fn caches_that_grow_are_named() {
    let cases = [("as it is", false), ("permuted", true)];
    insta::assert_snapshot!(said(
        cases.map(|(name, permuted)| (name, growing_cache(permuted), Options::default())).into()
    ));
    for (permuted, sizes) in [(false, [1, 2, 100, 8]), (true, [1, 100, 2, 8])] {
        accepted(&growing_cache(permuted), &shapes(&[("past", &sizes)]));
    }
}

/// A mask over a growing cache has one element more than the cache, though a mask of one element
/// would broadcast.
#[test]
fn the_mask_of_a_growing_cache_is_longer_than_the_cache() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 1, 8]);
    let past = graph.parameter("past", &[1, -1, 8]);
    let mask = graph.parameter("mask", &[1, 1, -1]);
    let keys = graph.op(Op::Concat { axis: 1 }, &[past, x]);
    let scores = graph.op(Op::MatMul { transpose_a: false, transpose_b: true }, &[x, keys]);
    let scores = graph.elementwise(Binary::Add, &[scores, mask]);
    let weights = graph.op(Op::Softmax(Softmax { axis: -1, log: false }), &[scores]);
    let y = graph.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[weights, keys]);
    graph.result("y", y);
    graph.result("present", keys);
    let text = said(vec![("", graph, Options::default())]);
    assert!(text.contains("give --shape past=1,100,8 --shape mask=1,1,101\n"), "{text}");
}

/// One step behind a convolution is read. No shape is printed for an open number of steps: with a
/// fixed number, the model would still give one step.
#[test]
fn one_step_behind_a_convolution_is_warned_of() {
    let graph = padded(|graph, x| {
        let windows = convolved(graph, x, 3);
        let bias = graph.constant(&[1, 1, H]);
        let sum = graph.elementwise(Binary::Add, &[windows, bias]);
        let (index, axis) = (graph.int(0), graph.int(1));
        graph.op(Op::Gather { batch_dims: 0 }, &[sum, index, axis])
    });
    for options in [Options::default(), shapes(&[("x", &[1, 100, H])])] {
        let text = said(vec![("", Graph(graph.0.clone()), options)]);
        assert!(text.contains("only the first of the steps of the input \"x\" is read"), "{text}");
        assert!(text.contains("model.export(") && !text.contains("--shape"), "{text}");
    }
}

/// States of different sizes are an error with every number of steps, so the help does not advise
/// another number.
#[test]
fn a_wrong_pair_is_corrected_and_not_the_number_of_steps() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, -1, 3]);
    let weights = graph.constant(&[3, 5]);
    let y = graph.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[x, weights]);
    graph.result("y", y);
    let pair = vec![("x".to_owned(), "y".to_owned())];
    let options = shapes(&[("x", &[1, 1, 3])]).with_state(State::Pairs(pair));
    let shapes = vec![("x".to_owned(), vec![Some(1), None, Some(3)])];
    let text = said(vec![("", graph, options.with_shapes(shapes))]);
    let example = "with any number of steps, for example 101: ";
    assert!(text.contains(example), "{text}");
    assert!(text.contains("the input has the shape [1, 101, 3], the output [1, 101, 5]"), "{text}");
    assert!(text.contains("help: correct --state") && !text.contains("whole shape"), "{text}");
}

/// A model with a Pad of two elements in front of x, `[1, steps, H]`, and `follows` behind it.
fn padded(follows: impl FnOnce(&mut Graph, ValueId) -> ValueId) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, -1, H as isize]);
    let (begin, end) = (graph.ints(&[0, 2, 0]), graph.ints(&[0, 0, 0]));
    let zero = graph.floats(&[], &[0.0]);
    let padded = graph.op(Op::Pad(PadMode::Constant), &[x, begin, end, zero]);
    let y = follows(&mut graph, padded);
    graph.result("y", y);
    graph
}

/// A convolution without pads over `[1, steps, H]`.
fn convolved(graph: &mut Graph, x: ValueId, taps: usize) -> ValueId {
    let order = graph.ints(&[0, 2, 1]);
    let turned = graph.op(Op::Transpose, &[x, order]);
    let weights = graph.constant(&[H, H, taps]);
    let y = graph.op(valid_convolution(), &[turned, weights]);
    graph.op(Op::Transpose, &[y, order])
}

/// The number of steps may be open behind a Pad whose elements convolutions use up.
#[test]
fn elements_in_front_of_the_first_step_pass_through_other_operations() {
    let product = Op::MatMul { transpose_a: false, transpose_b: false };
    let cases = [
        padded(|graph, x| convolved(graph, x, 3)),
        padded(|graph, x| {
            let first = convolved(graph, x, 2);
            convolved(graph, first, 2)
        }),
        padded(|graph, x| {
            let weights = graph.constant(&[H, H]);
            let dense = graph.op(product.clone(), &[x, weights]);
            let bent = graph.elementwise(MathFunction::Exp, &[dense]);
            let both = graph.elementwise(Binary::Add, &[bent, x]);
            let scaled = graph.op(Op::Softmax(Softmax { axis: 2, log: false }), &[both]);
            convolved(graph, scaled, 3)
        }),
        padded(|graph, x| {
            let joined = graph.op(Op::Concat { axis: 1 }, &[x]);
            let [start, stop, step, axis] =
                [&[2], &[i64::MAX], &[1], &[1]].map(|list| graph.ints(list));
            let cut = graph.op(Op::Slice, &[joined, start, stop, step, axis]);
            let windows = convolved(graph, joined, 3);
            graph.elementwise(Binary::Add, &[cut, windows])
        }),
    ];
    for graph in cases {
        let valid = accepted(&graph, &Options::default());
        assert!(valid.steps.is_some());
        assert_eq!(
            valid.variables.iter().map(|variable| &variable.shape[..]).collect::<Vec<_>>(),
            [[1, 2, H]]
        );
    }
}

/// A Pad before an operation other than a convolution is refused by name, with a remedy.
#[test]
fn pads_in_front_of_what_takes_no_such_elements_are_named() {
    let shape_of = |graph: &mut Graph, x: ValueId| {
        let shape = graph.op(Op::ShapeOf, &[x]);
        let (one, zero) = (graph.ints(&[1]), graph.int(0));
        graph.op(Op::Gather { batch_dims: 0 }, &[shape, one, zero])
    };
    let cases = [
        ("an output", padded(|graph, x| graph.elementwise(Unary::Negative, &[x]))),
        ("an output behind too short a kernel", padded(|graph, x| convolved(graph, x, 2))),
        (
            "a recurrent layer",
            padded(|graph, x| {
                let bent = graph.elementwise(Unary::Negative, &[x]);
                let lengths = shape_of(graph, x);
                let h = graph.constant(&[1, 1, H]);
                layer_of(graph, GRU, (bent, H), lengths, &[h])[0]
            }),
        ),
        (
            "all steps",
            padded(|graph, x| {
                let axes = graph.ints(&[1]);
                graph.op(
                    Op::Reduce(Reduce {
                        reduction: Reduction::Mean,
                        keep: true,
                        no_axes: NoAxes::All,
                    }),
                    &[x, axes],
                )
            }),
        ),
    ];
    insta::assert_snapshot!(said(
        cases.map(|(name, graph)| (name, graph, Options::default())).into()
    ));
}
