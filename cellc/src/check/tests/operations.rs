//! Operations give the results of NumPy, at run time and folded.

use super::*;
use crate::model::{
    Activation, BroadcastMode, MathFunction, NoAxes, Normalization, PadMode, Padding, Pool,
    PoolKind, Reduce, Reduction, ReverseSequence, Rounding, RunningSum, SliceMasks, Softmax,
    Window,
};

/// The values 0, 1, 2 ... for a tensor of a shape.
pub(super) fn counting(shape: &[usize]) -> Vec<f64> {
    (0..shape.iter().product::<usize>()).map(|i| i as f64).collect()
}

/// The outputs of `build` for an input of the model. Asserts that a constant, which is folded,
/// gives nearly the same outputs.
#[track_caller]
pub(super) fn both_ways(
    shape: &[usize],
    data: &[f64],
    build: impl Fn(&mut Graph, ValueId) -> Vec<ValueId>,
) -> Vec<(Vec<usize>, Vec<f64>)> {
    let mut of_input = Graph::default();
    let x = of_input.input_of("x", shape, ElementType::F32);
    let mut of_constant = Graph::default();
    let data_f32: Vec<f32> = data.iter().map(|&v| v as f32).collect();
    let c = of_constant.floats(shape, &data_f32);
    for value in build(&mut of_input, x) {
        of_input.result("y", value);
    }
    for value in build(&mut of_constant, c) {
        of_constant.result("y", value);
    }
    let at_run_time = computed(&of_input, &[data.to_vec()]);
    let folded = computed(&of_constant, &[]);
    let close = |a: &(Vec<usize>, Vec<f64>), b: &(Vec<usize>, Vec<f64>)| {
        a.0 == b.0
            && a.1.iter().zip(&b.1).all(|(a, b)| {
                (a - b).abs() <= 1e-6 * b.abs()
                    || a.to_bits() == b.to_bits()
                    || (a.is_nan() && b.is_nan())
            })
    };
    assert!(
        at_run_time.iter().zip(&folded).all(|(a, b)| close(a, b)),
        "{at_run_time:?} at run time, {folded:?} folded"
    );
    at_run_time
}

/// Asserts the shape and the values of the output of `build` for the values of [`counting`].
#[track_caller]
pub(super) fn gives(
    shape: &[usize],
    build: impl Fn(&mut Graph, ValueId) -> ValueId,
    wanted: (&[usize], &[f64]),
) {
    let got = both_ways(shape, &counting(shape), |graph, x| vec![build(graph, x)]);
    assert_eq!(got, [(wanted.0.to_vec(), wanted.1.to_vec())]);
}

#[test]
fn large_products_of_constants_are_computed_once() {
    const N: usize = 256;
    let mut graph = Graph::default();
    // the values 0, 1, 2, 0, ... have exact sums; b is transposed
    let values =
        |count: usize, period: usize| (0..count).map(|i| (i % period) as f32).collect::<Vec<_>>();
    let (a, b) = (values(N * N, 3), values(2 * N * N, 5));
    let inputs = [graph.floats(&[N, N], &a), graph.floats(&[2, N, N], &b)];
    let y = graph.op(Op::MatMul { transpose_a: false, transpose_b: true }, &inputs);
    graph.result("y", y);
    let (shape, got) = computed(&graph, &[]).remove(0);
    assert_eq!(shape, [2, N, N]);
    for (m, i, j) in [(0, 0, 0), (1, 3, 200), (0, 255, 17), (1, 255, 255)] {
        let expected: f32 = (0..N).map(|k| a[i * N + k] * b[(m * N + j) * N + k]).sum();
        assert_eq!(got[(m * N + i) * N + j], f64::from(expected), "{m} {i} {j}");
    }
    let valid = accepted(&graph, &Options::default());
    assert!(
        !valid.nodes.iter().any(|node| matches!(node.op, CoreOp::MatMul(_) | CoreOp::Dense(_)))
    );
}

#[test]
fn shapes_change_and_elements_stay() {
    let six = counting(&[6]);
    for (to, zero_keeps, shape) in [
        (&[3i64, 2][..], false, &[3usize, 2][..]),
        (&[-1], false, &[6]),
        (&[0, -1, 1], true, &[2, 3, 1]),
        (&[1, -1, 2], false, &[1, 3, 2]),
        (&[0, 0], true, &[2, 3]),
    ] {
        let build = |g: &mut Graph, x| {
            let to = g.ints(to);
            g.op(Op::Reshape { zero_keeps }, &[x, to])
        };
        gives(&[2, 3], build, (shape, &six));
    }
    let squeeze = |axes: Option<&'static [i64]>, skip: bool| {
        move |g: &mut Graph, x| {
            let mut inputs = vec![x];
            inputs.extend(axes.map(|axes| g.ints(axes)));
            g.op(Op::Squeeze { skip }, &inputs)
        }
    };
    gives(&[1, 6, 1], squeeze(None, false), (&[6], &six));
    gives(&[1, 6, 1], squeeze(Some(&[]), false), (&[6], &six));
    gives(&[1, 6, 1], squeeze(Some(&[-1]), false), (&[1, 6], &six));
    gives(&[1, 6, 1], squeeze(Some(&[0, 2]), false), (&[6], &six));
    gives(&[1, 6, 1], squeeze(Some(&[1, 2]), true), (&[1, 6], &six));
    let unsqueeze = |g: &mut Graph, x| {
        let axes = g.ints(&[-1, 0]);
        g.op(Op::Unsqueeze, &[x, axes])
    };
    gives(&[2, 3], unsqueeze, (&[1, 2, 3, 1], &six));
    // a scalar
    let scalar = |g: &mut Graph, x| {
        let to = g.ints(&[]);
        g.op(Op::Reshape { zero_keeps: true }, &[x, to])
    };
    gives(&[1, 1], scalar, (&[], &[0.0]));
}

#[test]
fn elements_change_places() {
    let transpose = |order: &'static [i64]| {
        move |g: &mut Graph, x| {
            let order = g.ints(order);
            g.op(Op::Transpose, &[x, order])
        }
    };
    gives(&[2, 3], transpose(&[1, 0]), (&[3, 2], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
    gives(&[2, 3], transpose(&[]), (&[3, 2], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
    gives(
        &[2, 2, 2],
        transpose(&[-1, 0, 1]),
        (&[2, 2, 2], &[0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]),
    );
    let gather = |indices: &'static [i64], shape: &'static [usize], axis: i64| {
        move |g: &mut Graph, x| {
            let indices = g.tensor(Tensor::from_i64(shape.to_vec(), indices).unwrap());
            let axis = g.int(axis);
            g.op(Op::Gather { batch_dims: 0 }, &[x, indices, axis])
        }
    };
    gives(&[2, 3], gather(&[2], &[], 1), (&[2], &[2.0, 5.0]));
    gives(&[2, 3], gather(&[-1], &[1], -1), (&[2, 1], &[2.0, 5.0]));
    gives(&[2, 3], gather(&[2, 1, 0], &[3], 1), (&[2, 3], &[2.0, 1.0, 0.0, 5.0, 4.0, 3.0]));
    gives(&[4, 1], gather(&[0, 1, 2, 3], &[2, 2], 0), (&[2, 2, 1], &[0.0, 1.0, 2.0, 3.0]));
    // indices without an order: the output is a concatenation of parts
    gives(
        &[2, 3],
        gather(&[0, 2, 2, 1], &[2, 2], 1),
        (&[2, 2, 2], &[0.0, 2.0, 2.0, 1.0, 3.0, 5.0, 5.0, 4.0]),
    );
}

/// The maximum of integers, as quantised models compute it.
#[test]
fn maximum_of_integers() {
    gives(
        &[1, 1, 4],
        |g: &mut Graph, x| {
            let whole = g.convert(x, ElementType::I32);
            let padding = Padding::Explicit { begin: vec![1], end: vec![0] };
            let window = Window { strides: vec![2], dilations: Vec::new(), padding };
            let pool =
                Pool { kind: PoolKind::Max, kernel: vec![3], window, rounding: Rounding::Floor };
            let most = g.node(
                "pool",
                Op::Pool(Box::new(pool)),
                &[whole],
                Graph::value(None, ElementType::I32),
            );
            g.convert(most, ElementType::F32)
        },
        (&[1, 1, 2], &[1.0, 3.0]),
    );
}

/// `batch_dims`: each row of the batch has indices of its own.
#[test]
fn gather_by_rows() {
    let gather = |batch_dims: i64, indices: &'static [i64], shape: &'static [usize], axis: i64| {
        move |g: &mut Graph, x| {
            let indices = g.tensor(Tensor::from_i64(shape.to_vec(), indices).unwrap());
            let axis = g.int(axis);
            g.op(Op::Gather { batch_dims }, &[x, indices, axis])
        }
    };
    gives(&[2, 3], gather(1, &[2, 0, 1, -2], &[2, 2], 1), (&[2, 2], &[2.0, 0.0, 4.0, 4.0]));
    // one index for each row
    gives(&[2, 3], gather(-1, &[2, 1], &[2, 1], 1), (&[2, 1], &[2.0, 4.0]));
    gives(&[2, 3], gather(1, &[2, 1], &[2], 1), (&[2], &[2.0, 4.0]));
    // an axis between those of the batch and the axis of the indices
    gives(&[2, 2, 2], gather(1, &[1, 0], &[2, 1], 2), (&[2, 2, 1], &[1.0, 3.0, 4.0, 6.0]));
    // refused: another number of rows than the data, and an axis of the batch as `axis`
    let refused = |batch_dims: i64, shape: &'static [usize], axis: i64| {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[2, 3]);
        let y = gather(batch_dims, &[0, 1], shape, axis)(&mut graph, x);
        graph.result("y", y);
        core_model(&graph.0, &Options::default()).unwrap_err().to_string()
    };
    assert!(
        refused(1, &[1, 2], 1).contains("equal sizes in the batch"),
        "{}",
        refused(1, &[1, 2], 1)
    );
    assert!(refused(1, &[2], 0).contains("batch_dims of 1"), "{}", refused(1, &[2], 0));
}

#[test]
fn parts_and_their_opposite() {
    let split = both_ways(&[2, 4], &counting(&[2, 4]), |g, x| {
        let axis = g.int(-1);
        g.ops(Op::Split { parts: 2 }, &[x, axis], 2)
    });
    assert_eq!(
        split,
        [(vec![2, 2], vec![0.0, 1.0, 4.0, 5.0]), (vec![2, 2], vec![2.0, 3.0, 6.0, 7.0])]
    );
    let parts = both_ways(&[5, 1], &counting(&[5, 1]), |g, x| {
        let (axis, lengths) = (g.int(0), g.ints(&[1, -1, 2]));
        g.ops(Op::VariadicSplit, &[x, axis, lengths], 3)
    });
    assert_eq!(parts.iter().map(|part| part.1.len()).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!(parts[2].1, [3.0, 4.0]);
    let concat = |g: &mut Graph, x| {
        let c = g.floats(&[2, 1], &[7.0, 8.0]);
        g.op(Op::Concat { axis: -1 }, &[c, x, x])
    };
    gives(&[2, 2], concat, (&[2, 5], &[7.0, 0.0, 1.0, 0.0, 1.0, 8.0, 2.0, 3.0, 2.0, 3.0]));
}

/// Slices of one axis by start, stop and step.
#[test]
fn slices_are_those_of_numpy() {
    let (min, max) = (i64::from(i32::MIN), i64::MAX);
    for (start, stop, step, wanted) in [
        (1, 4, 1, &[1.0, 2.0, 3.0][..]),
        (-2, max, 1, &[3.0, 4.0]),
        (0, -1, 2, &[0.0, 2.0]),
        (-1, min, -1, &[4.0, 3.0, 2.0, 1.0, 0.0]),
        (max, 0, -2, &[4.0, 2.0]),
        (-100, 100, 3, &[0.0, 3.0]),
        (2, 3, max, &[2.0]),
        // a backward start in front of the first element is the first element, as in ONNX and
        // OpenVINO
        (-100, min, -1, &[0.0]),
    ] {
        let build = |g: &mut Graph, x| {
            let (start, stop, step, axes) =
                (g.ints(&[start]), g.ints(&[stop]), g.ints(&[step]), g.ints(&[-1]));
            g.op(Op::Slice, &[x, start, stop, step, axes])
        };
        gives(&[1, 5], build, (&[1, wanted.len()], wanted));
        let build = |g: &mut Graph, x| {
            let (start, stop, step) = (g.ints(&[0, start]), g.ints(&[1, stop]), g.ints(&[1, step]));
            g.op(Op::Slice, &[x, start, stop, step])
        };
        gives(&[1, 5], build, (&[1, wanted.len()], wanted));
    }
}

#[test]
fn strided_slices_and_their_masks() {
    let masks = |begin: &[bool], end: &[bool], new: &[bool], shrink: &[bool], ellipsis: &[bool]| {
        Op::StridedSlice(SliceMasks {
            begin: begin.to_vec(),
            end: end.to_vec(),
            new_axis: new.to_vec(),
            shrink_axis: shrink.to_vec(),
            ellipsis: ellipsis.to_vec(),
        })
    };
    let with =
        |op: Op, begin: &'static [i64], end: &'static [i64], steps: Option<&'static [i64]>| {
            move |g: &mut Graph, x| {
                let mut inputs = vec![x, g.ints(begin), g.ints(end)];
                inputs.extend(steps.map(|steps| g.ints(steps)));
                g.op(op.clone(), &inputs)
            }
        };
    let (f, t) = (false, true);
    gives(
        &[2, 3],
        with(masks(&[], &[], &[], &[], &[]), &[0, 1], &[1, 3], None),
        (&[1, 2], &[1.0, 2.0]),
    );
    gives(
        &[2, 3],
        with(masks(&[t, t], &[t, t], &[], &[], &[]), &[9, 9], &[9, 9], Some(&[-1, 2])),
        (&[2, 2], &[3.0, 5.0, 0.0, 2.0]),
    );
    gives(
        &[2, 3],
        with(masks(&[], &[], &[], &[t], &[]), &[-1], &[0], None),
        (&[3], &[3.0, 4.0, 5.0]),
    );
    gives(
        &[2, 3],
        with(masks(&[], &[f, t], &[t], &[], &[]), &[0, 1], &[0, 0], None),
        (&[1, 1, 3], &[3.0, 4.0, 5.0]),
    );
    gives(
        &[2, 1, 3],
        with(masks(&[], &[], &[], &[f, t], &[t]), &[0, 2], &[0, 0], None),
        (&[2, 1], &[2.0, 5.0]),
    );
}

#[test]
fn broadcasts() {
    let to = |mode: BroadcastMode, shape: &'static [i64], axes: Option<&'static [i64]>| {
        move |g: &mut Graph, x| {
            let mut inputs = vec![x, g.ints(shape)];
            inputs.extend(axes.map(|axes| g.ints(axes)));
            g.op(Op::Broadcast(mode), &inputs)
        }
    };
    gives(
        &[2, 1],
        to(BroadcastMode::Numpy, &[2, 2, 2], None),
        (&[2, 2, 2], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]),
    );
    gives(&[2, 1], to(BroadcastMode::Bidirectional, &[2], None), (&[2, 2], &[0.0, 0.0, 1.0, 1.0]));
    gives(&[1, 2], to(BroadcastMode::Bidirectional, &[1], None), (&[1, 2], &[0.0, 1.0]));
    gives(&[2], to(BroadcastMode::Explicit, &[2, 2], Some(&[0])), (&[2, 2], &[0.0, 0.0, 1.0, 1.0]));
}

#[test]
fn sequences_are_reversed_and_parts_replaced() {
    let reversed = |batch_axis: i64, seq_axis: i64, lengths: &'static [i64]| {
        move |g: &mut Graph, x| {
            let lengths = g.ints(lengths);
            g.op(Op::ReverseSequence(ReverseSequence { batch_axis, seq_axis }), &[x, lengths])
        }
    };
    gives(&[2, 2], reversed(0, 1, &[2, 2]), (&[2, 2], &[1.0, 0.0, 3.0, 2.0]));
    gives(&[1, 2, 2], reversed(-1, -2, &[2, 2]), (&[1, 2, 2], &[2.0, 3.0, 0.0, 1.0]));
    let replaced = |axis: i64, indices: &'static [i64], shape: &'static [usize]| {
        move |g: &mut Graph, x| {
            let new = g.floats(shape, &vec![9.0; shape.iter().product()]);
            let (indices, axis) = (g.ints(indices), g.int(axis));
            g.op(Op::ScatterUpdate, &[x, indices, new, axis])
        }
    };
    gives(&[3, 1], replaced(0, &[0], &[1, 1]), (&[3, 1], &[9.0, 1.0, 2.0]));
    gives(&[3, 1], replaced(0, &[1, 2], &[2, 1]), (&[3, 1], &[0.0, 9.0, 9.0]));
    gives(&[1, 3], replaced(-1, &[-2], &[1, 1]), (&[1, 3], &[0.0, 9.0, 2.0]));
    gives(&[2], replaced(0, &[0, 1], &[2]), (&[2], &[9.0, 9.0]));
}

#[test]
fn a_known_condition_selects_an_operand() {
    let selected = |condition: &'static [u8], swapped: bool| {
        move |g: &mut Graph, x| {
            let condition = g.bytes(&[condition.len(), 1], ElementType::Bool, condition);
            let other = g.floats(&[], &[9.0]);
            let (a, b) = if swapped { (other, x) } else { (x, other) };
            g.elementwise(Primitive::Select, &[condition, a, b])
        }
    };
    gives(&[2], selected(&[1], false), (&[1, 2], &[0.0, 1.0]));
    gives(&[2], selected(&[0, 0], false), (&[2, 2], &[9.0; 4]));
    gives(&[2], selected(&[0, 0], true), (&[2, 2], &[0.0, 1.0, 0.0, 1.0]));
}

#[test]
fn tiles() {
    let times = |repeats: &'static [i64]| {
        move |g: &mut Graph, x| {
            let repeats = g.ints(repeats);
            g.op(Op::Tile, &[x, repeats])
        }
    };
    gives(&[2, 2], times(&[1, 2]), (&[2, 4], &[0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 3.0]));
    gives(&[2, 1], times(&[2, 2]), (&[4, 2], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]));
    gives(&[1, 2], times(&[2]), (&[1, 4], &[0.0, 1.0, 0.0, 1.0]));
    gives(&[2], times(&[2, 1, 1]), (&[2, 1, 2], &[0.0, 1.0, 0.0, 1.0]));
    gives(&[1, 2], times(&[1, 1]), (&[1, 2], &[0.0, 1.0]));
}

#[test]
fn ranges_are_indices() {
    let taken = |bounds: [i64; 3]| {
        move |g: &mut Graph, x| {
            let (range, axis) = (g.range(bounds), g.int(0));
            g.op(Op::Gather { batch_dims: 0 }, &[x, range, axis])
        }
    };
    gives(&[4], taken([3, -1, -1]), (&[4], &[3.0, 2.0, 1.0, 0.0]));
    gives(&[4], taken([0, 4, 3]), (&[2], &[0.0, 3.0]));
    gives(&[4], taken([0, 3, 3]), (&[1], &[0.0]));
    gives(&[4], taken([-1, 0, i64::MAX]), (&[1], &[3.0]));
}

/// Integers without elements, such as the shape of a scalar.
#[test]
fn integers_without_elements_are_padded_or_refused() {
    let outcome = |mode: PadMode| {
        let mut graph = Graph::default();
        let (none, begin, end) = (graph.ints(&[]), graph.ints(&[1]), graph.ints(&[0]));
        let padded = graph.node(
            "padded",
            Op::Pad(mode),
            &[none, begin, end],
            Graph::value(None, ElementType::I64),
        );
        let float = graph.convert(padded, ElementType::F32);
        graph.result("y", float);
        core_model(&graph.0, &Options::default()).map(|_| ())
    };
    assert!(outcome(PadMode::Constant).is_ok());
    for mode in [PadMode::Reflect, PadMode::Edge, PadMode::Symmetric, PadMode::Wrap] {
        let said = outcome(mode).expect_err("nothing to repeat").to_string();
        assert!(said.contains("on 0 elements"), "{said}");
    }
}

#[test]
fn arithmetic_broadcasts_and_keeps_zeros_and_nan() {
    let values = [-2.0, -0.5, -0.0, 0.0, 0.5, f64::NAN];
    let of = |function: Elementwise| {
        both_ways(&[6], &values, |g, x| vec![g.elementwise(function, &[x])]).remove(0).1
    };
    let abs = of(Unary::Abs.into());
    assert_eq!(abs[..5], [2.0, 0.5, 0.0, 0.0, 0.5]);
    assert!(abs[2].is_sign_positive() && abs[3].is_sign_positive() && abs[5].is_nan());
    let negative = of(Unary::Negative.into());
    assert!(
        negative[2].is_sign_positive() && negative[3].is_sign_negative() && negative[5].is_nan()
    );
    let clamped = of(Unary::Clamp { min: -1.0, max: 0.25 }.into());
    assert_eq!(clamped[..5], [-1.0, -0.5, 0.0, 0.0, 0.25]);
    assert!(clamped[5].is_nan());
    let open = of(Unary::Clamp { min: f32::NEG_INFINITY, max: f32::INFINITY }.into());
    assert_eq!(open[..5], values[..5]);
    for end in [f32::NEG_INFINITY, f32::INFINITY] {
        let at_end = of(Unary::Clamp { min: end, max: end }.into());
        assert_eq!(at_end[..5], [f64::from(end); 5]);
        assert!(at_end[5].is_nan());
    }
    assert!((of(MathFunction::Exp.into())[4] - 0.5f64.exp()).abs() < 1e-6);
    assert!((of(MathFunction::Log.into())[4] - 0.5f64.ln()).abs() < 1e-6);

    let with = |function: Elementwise, other: &'static [f32]| {
        both_ways(&[2, 1], &[1.0, -3.0], |g, x| {
            let other = g.floats(&[other.len()], other);
            vec![g.elementwise(function, &[x, other])]
        })
        .remove(0)
    };
    assert_eq!(with(Binary::Add.into(), &[1.0, 2.0]), (vec![2, 2], vec![2.0, 3.0, -2.0, -1.0]));
    assert_eq!(with(Binary::Subtract.into(), &[1.0, 2.0]).1, [0.0, -1.0, -4.0, -5.0]);
    assert_eq!(with(Binary::Multiply.into(), &[1.0, 2.0]).1, [1.0, 2.0, -3.0, -6.0]);
    assert_eq!(with(Binary::Divide.into(), &[1.0, 2.0]).1, [1.0, 0.5, -3.0, -1.5]);
    assert_eq!(with(Binary::Maximum.into(), &[0.0, 2.0]).1, [1.0, 2.0, 0.0, 2.0]);
    assert_eq!(with(Binary::Minimum.into(), &[0.0, 2.0]).1, [0.0, 1.0, -3.0, -3.0]);
    assert_eq!(with(Primitive::PRelu.into(), &[0.5]).1, [1.0, -1.5]);

    // a single slope applies to all elements, whatever the rank of x
    for shape in [&[][..], &[2]] {
        let len = shape.iter().product();
        let one = both_ways(shape, &[-1.0, -3.0][..len], |g, x| {
            let slope = g.floats(&[1, 1], &[0.5]);
            vec![g.elementwise(Primitive::PRelu, &[x, slope])]
        });
        assert_eq!(one[0], (shape.to_vec(), [-0.5, -1.5][..len].to_vec()));
    }

    // a slope for each channel belongs to axis 1
    let slopes = both_ways(&[1, 2, 2], &[-1.0, 1.0, -1.0, -2.0], |g, x| {
        let slope = g.floats(&[2], &[0.5, 10.0]);
        vec![g.elementwise(Primitive::PRelu, &[x, slope])]
    });
    assert_eq!(slopes[0].1, [-0.5, 1.0, -10.0, -20.0]);
    let mut graph = Graph::default();
    let x = graph.input_of("x", &[3], ElementType::F32);
    let (alpha, beta) = (graph.floats(&[], &[0.5]), graph.floats(&[1], &[0.25]));
    let y = graph.elementwise(Composed::HardSigmoid, &[x, alpha, beta]);
    graph.result("y", y);
    assert_eq!(computed(&graph, &[vec![-1.0, 0.0, 9.0]])[0].1, [0.0, 0.25, 1.0]);
}

#[test]
fn remainders_by_a_power_of_two_and_ranges_of_floats() {
    for (function, by, expected) in [
        (Remainder::OfDividend, 0.5, [0.25, -0.25, 0.0, -0.125]),
        (Remainder::OfDivisor, 0.5, [0.25, 0.25, 0.0, 0.375]),
        (Remainder::OfDividend, -2.0, [1.75, -1.75, 0.0, -0.125]),
        (Remainder::OfDivisor, -2.0, [-0.25, -1.75, 0.0, -0.125]),
    ] {
        let mut graph = Graph::default();
        let x = graph.input_of("x", &[4], ElementType::F32);
        let by = graph.floats(&[], &[by]);
        let y = graph.elementwise(function, &[x, by]);
        graph.result("y", y);
        assert_eq!(
            computed(&graph, &[vec![1.75, -1.75, 2.0, -0.125]])[0].1,
            expected,
            "{function:?}"
        );
    }
    let range = |bounds: [f32; 3]| {
        let mut graph = Graph::default();
        let bounds = bounds.map(|bound| graph.floats(&[], &[bound]));
        let numbers = graph.op(Op::Range { run_time: true }, &bounds);
        graph.result("y", numbers);
        computed(&graph, &[]).remove(0)
    };
    assert_eq!(range([-1.0, 0.75, 0.5]), (vec![4], vec![-1.0, -0.5, 0.0, 0.5]));
    assert_eq!(range([3.0, 0.0, -1.5]), (vec![2], vec![3.0, 1.5]));
}

/// Arithmetic of integers and booleans is folded; results are converted to f32.
#[test]
fn integer_arithmetic_is_that_of_openvino() {
    let of = |function: Elementwise, a: &[i64], b: &[i64]| {
        let mut graph = Graph::default();
        let inputs = [graph.ints(a), graph.ints(b)];
        let value = graph.elementwise(function, &inputs[..function.facts().inputs]);
        let float = graph.convert(value, ElementType::F32);
        graph.result("y", float);
        computed(&graph, &[]).remove(0).1
    };
    let (a, b) = (&[7, -7, 7, -7][..], &[2, 2, -2, -2][..]);
    assert_eq!(of(Binary::Add.into(), a, b), [9.0, -5.0, 5.0, -9.0]);
    assert_eq!(of(Binary::Divide.into(), a, b), [3.0, -4.0, -4.0, 3.0], "down");
    assert_eq!(
        of(Remainder::OfDividend.into(), a, b),
        [1.0, -1.0, 1.0, -1.0],
        "the sign of the dividend"
    );
    assert_eq!(
        of(Remainder::OfDivisor.into(), a, b),
        [1.0, 1.0, -1.0, -1.0],
        "the sign of the divisor"
    );
    assert_eq!(of(Binary::Maximum.into(), a, b), [7.0, 2.0, 7.0, -2.0]);
    assert_eq!(of(Binary::Minimum.into(), a, b), [2.0, -7.0, -2.0, -7.0]);
    assert_eq!(of(Comparison::Greater.into(), a, b), [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(of(Comparison::GreaterEqual.into(), &[1, 2], &[2, 2]), [0.0, 1.0]);
    assert_eq!(of(Comparison::Less.into(), a, b), [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(of(Comparison::LessEqual.into(), &[1, 3], &[1]), [1.0, 0.0]);
    assert_eq!(of(Comparison::Equal.into(), &[1, 3], &[3]), [0.0, 1.0]);
    assert_eq!(of(Comparison::NotEqual.into(), &[1, 3], &[3]), [1.0, 0.0]);
    assert_eq!(of(Logic::And.into(), &[1, 0], &[1]), [1.0, 0.0]);
    assert_eq!(of(Logic::Or.into(), &[1, 0], &[0]), [1.0, 0.0]);
    assert_eq!(of(Logic::Not.into(), &[1, 0], &[]), [0.0, 1.0]);
    assert_eq!(of(Unary::Abs.into(), a, b), [7.0; 4]);
    let mut graph = Graph::default();
    let inputs = [graph.ints(&[1, 0]), graph.ints(&[5]), graph.ints(&[6])];
    let chosen = graph.elementwise(Primitive::Select, &inputs);
    // the chosen integers as a shape
    let x = graph.input_of("x", &[5, 6], ElementType::F32);
    let y = graph.op(Op::Reshape { zero_keeps: false }, &[x, chosen]);
    graph.result("y", y);
    assert_eq!(accepted(&graph, &Options::default()).results[0].shape, [5, 6]);

    let convert = |value: f32, element: ElementType| {
        let mut graph = Graph::default();
        let value = graph.floats(&[1], &[value]);
        let integer = graph.convert(value, element);
        let float = graph.convert(integer, ElementType::F32);
        graph.result("y", float);
        computed(&graph, &[])[0].1[0]
    };
    assert_eq!(convert(-2.9, ElementType::I32), -2.0, "toward zero");
    assert_eq!(convert(0.5, ElementType::Bool), 1.0);
    assert_eq!(convert(255.9, ElementType::U8), 255.0);
}

#[test]
fn shapes_are_known_and_sizes_come_from_them() {
    // x [3, 4] reshaped to [size 1 of x, -1] by the arithmetic that exporters write
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[-1, 4]);
    let shape = graph.op(Op::ShapeOf, &[x]);
    let (one, zero, minus) = (graph.ints(&[1]), graph.int(0), graph.ints(&[-1]));
    let size = graph.op(Op::Gather { batch_dims: 0 }, &[shape, one, zero]);
    let two = graph.int(2);
    let half = graph.elementwise(Binary::Divide, &[size, two]);
    let to = graph.op(Op::Concat { axis: 0 }, &[half, minus]);
    let y = graph.op(Op::Reshape { zero_keeps: false }, &[x, to]);
    graph.result("y", y);
    let valid = accepted(&graph, &batch(3));
    assert_eq!(valid.results[0].shape, [2, 6]);
    assert_eq!(
        (valid.nodes.len(), valid.values.len(), valid.constants.len()),
        (1, 1, 0),
        "nothing else is left"
    );
}

/// The product of two tensors by the definition of MatMul.
fn product(a: (&[usize], &[f64]), b: (&[usize], &[f64]), transpose: [bool; 2]) -> Vec<f64> {
    let matrix = |shape: &[usize], vector: [usize; 2]| {
        if shape.len() == 1 { vector.to_vec() } else { shape.to_vec() }
    };
    let (sa, sb) = (matrix(a.0, [1, a.0[0]]), matrix(b.0, [b.0[0], 1]));
    let ta = transpose[0] && a.0.len() > 1;
    let tb = transpose[1] && b.0.len() > 1;
    let last = |s: &[usize], t: bool| {
        let (r, c) = (s[s.len() - 2], s[s.len() - 1]);
        if t { (c, r) } else { (r, c) }
    };
    let ((m, k), (_, n)) = (last(&sa, ta), last(&sb, tb));
    let batch = crate::core::broadcast([&sa[..sa.len() - 2], &sb[..sb.len() - 2]]).unwrap();
    let offset = |s: &[usize], index: usize| {
        let strides = crate::core::broadcast_strides(&s[..s.len() - 2], &batch);
        let batch_strides = crate::core::strides(&batch);
        (0..batch.len()).map(|d| index / batch_strides[d] % batch[d] * strides[d]).sum::<usize>()
    };
    let mut out = Vec::new();
    for i in 0..batch.iter().product() {
        let (x, y) = (offset(&sa, i) * m * k, offset(&sb, i) * k * n);
        for row in 0..m {
            for column in 0..n {
                let of_a = |j: usize| a.1[x + if ta { j * m + row } else { row * k + j }];
                let of_b = |j: usize| b.1[y + if tb { column * k + j } else { j * n + column }];
                out.push((0..k).map(|j| of_a(j) * of_b(j)).sum());
            }
        }
    }
    out
}

#[test]
fn products_of_every_shape() {
    // the shape of a, the shape of b, which of them are transposed, the shape of the product
    type Case<'a> = (&'a [usize], &'a [usize], [bool; 2], &'a [usize]);
    let cases: [Case; 14] = [
        (&[2, 3], &[3, 4], [false, false], &[2, 4]),
        (&[2, 3], &[4, 3], [false, true], &[2, 4]),
        (&[3, 2], &[3, 4], [true, false], &[2, 4]),
        (&[5, 2, 3], &[3, 4], [false, false], &[5, 2, 4]),
        (&[5, 3, 2], &[4, 3], [true, true], &[5, 2, 4]),
        (&[5, 2, 3], &[5, 3, 4], [false, false], &[5, 2, 4]),
        (&[2, 3], &[5, 3, 4], [false, false], &[5, 2, 4]),
        (&[5, 1, 2, 3], &[6, 4, 3], [false, true], &[5, 6, 2, 4]),
        (&[3], &[3, 4], [true, false], &[4]),
        (&[2, 3], &[3], [false, true], &[2]),
        (&[3], &[3], [false, false], &[]),
        (&[3], &[5, 3, 4], [false, false], &[5, 4]),
        (&[2, 3], &[1, 1, 4, 3], [false, true], &[1, 1, 2, 4]),
        (&[2, 3], &[5, 3, 1], [false, false], &[5, 2, 1]),
    ];
    for (sa, sb, [ta, tb], wanted) in cases {
        let data = |shape: &[usize], from: f64| -> Vec<f64> {
            counting(shape).iter().map(|v| v * 0.5 - from).collect()
        };
        let (a, b) = (data(sa, 3.0), data(sb, 1.0));
        let expected = product((sa, &a), (sb, &b), [ta, tb]);
        // each operand as an input and as a constant; a constant matrix makes a dense layer
        for constant in [[false, false], [true, false], [false, true], [true, true]] {
            let mut graph = Graph::default();
            let mut given = Vec::new();
            let mut operand = |shape: &[usize], values: &[f64], constant: bool| {
                if constant {
                    let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
                    return graph.floats(shape, &values);
                }
                given.push(values.to_vec());
                graph.input_of("x", shape, ElementType::F32)
            };
            let inputs = [operand(sa, &a, constant[0]), operand(sb, &b, constant[1])];
            let y = graph.op(Op::MatMul { transpose_a: ta, transpose_b: tb }, &inputs);
            graph.result("y", y);
            let got = computed(&graph, &given).remove(0);
            assert_eq!(got.0, wanted, "{sa:?} {sb:?} {ta} {tb} {constant:?}");
            assert!(
                got.1.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9),
                "{sa:?} {sb:?} {ta} {tb} {constant:?}"
            );
            let valid = accepted(&graph, &Options::default());
            let dense = valid.nodes.iter().any(|node| matches!(node.op, CoreOp::Dense(_)));
            let matrix = |shape: &[usize]| {
                shape.len() < 3 || shape[..shape.len() - 2].iter().all(|&n| n == 1)
            };
            if constant[1] && matrix(sb) {
                assert!(dense, "{sa:?} {sb:?} {constant:?}");
            }
        }
    }
}

#[test]
fn compressed_weights_are_not_rounded_in_between() {
    // (q - zero) * scale in f32: f16 holds neither 0.1 nor the product of the nearest f16 and 77
    let scale = half::f16::from_f32(0.1);
    let f16 =
        |values: &[half::f16]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    for (element, bytes, quantised) in [
        (ElementType::U8, vec![0u8, 200, 77, 255], [0.0f32, 200.0, 77.0, 255.0]),
        (ElementType::I8, vec![0, 200, 77, 255], [0.0, -56.0, 77.0, -1.0]),
        (ElementType::U4, vec![0x3f, 0x80], [15.0, 3.0, 0.0, 8.0]),
        (ElementType::I4, vec![0x3f, 0x80], [-1.0, 3.0, 0.0, -8.0]),
    ] {
        for zero in [None, Some(3u8)] {
            let mut graph = Graph::default();
            let q = graph.bytes(&[2, 2, 1], element, &bytes);
            let mut w = graph.convert(q, ElementType::F16);
            if let Some(zero) = zero {
                let zero = graph.bytes(&[1, 1, 1], ElementType::U8, &[zero]);
                let zero = graph.convert(zero, ElementType::F16);
                w = graph.elementwise(Binary::Subtract, &[w, zero]);
            }
            let scale_bytes = f16(&[scale, scale]);
            let by = graph.bytes(&[2, 1, 1], ElementType::F16, &scale_bytes);
            w = graph.elementwise(Binary::Multiply, &[w, by]);
            let to = graph.ints(&[2, 2]);
            w = graph.op(Op::Reshape { zero_keeps: false }, &[w, to]);
            w = graph.convert(w, ElementType::F32);
            let x = graph.input_of("x", &[1, 2], ElementType::F32);
            let y = graph.op(Op::MatMul { transpose_a: false, transpose_b: true }, &[x, w]);
            graph.result("y", y);
            let valid = accepted(&graph, &Options::default());
            let wanted: Vec<f32> = quantised
                .iter()
                .map(|q| (q - f32::from(zero.unwrap_or(0))) * scale.to_f32())
                .collect();
            let tensor = &valid.constants[0];
            assert_eq!(
                (0..4).map(|i| tensor.get_f32(i)).collect::<Vec<_>>(),
                wanted,
                "{element:?} {zero:?}"
            );
            assert_eq!((valid.nodes.len(), valid.constants.len()), (1, 1));
        }
    }
    // an f32 constant converted to f16 is rounded, as the model demands
    let mut graph = Graph::default();
    let c = graph.floats(&[1], &[0.1]);
    let narrow = graph.convert(c, ElementType::F16);
    let wide = graph.convert(narrow, ElementType::F32);
    graph.result("y", wide);
    assert_eq!(computed(&graph, &[])[0].1, [f64::from(scale.to_f32())]);
}

#[test]
fn weights_are_cut_where_they_stand() {
    let mut graph = Graph::default();
    let w = graph.constant(&[4, 3]);
    let axis = graph.int(0);
    let halves = graph.ops(Op::Split { parts: 2 }, &[w, axis], 2);
    let to = graph.ints(&[3, 2]);
    let other = graph.op(Op::Reshape { zero_keeps: false }, &[halves[1], to]);
    graph.result("a", halves[0]);
    graph.result("b", other);
    let valid = accepted(&graph, &Options::default());
    let (a, b) = (&valid.constants[0], &valid.constants[1]);
    assert_eq!(a.address().0, b.address().0, "one allocation");
    assert_eq!(b.address().1 - a.address().1, 6 * 32, "in bits");
    // a transposed weight of a cell, as ONNX and Keras exports have it
    let mut graph = Graph::default();
    let (x, h) = (graph.parameter("x", &[1, 2]), graph.parameter("h", &[1, 3]));
    let w = graph.floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let order = graph.ints(&[1, 0]);
    let w = graph.op(Op::Transpose, &[w, order]);
    let (r, b) = (graph.constant(&[3, 3]), graph.constant(&[3]));
    let y = graph.cell("cell", rnn(3), &[x, h, w, r, b]);
    graph.result("y", y);
    let valid = accepted(&graph, &Options::default());
    let WeightSource::Constant(i) = valid.cells()[0].weights.w else { panic!("no constant") };
    assert_eq!(
        (0..6).map(|k| valid.constants[i].get_f32(k)).collect::<Vec<_>>(),
        [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    );
}

#[test]
fn what_nothing_reads_is_not_there() {
    let mut graph = Graph::default();
    let x = graph.input_of("x", &[2, 2], ElementType::F32);
    let c = graph.constant(&[2, 2]);
    let dead = graph.elementwise(Binary::Add, &[x, c]);
    graph.elementwise(MathFunction::Exp, &[dead]);
    let axis = graph.int(0);
    let parts = graph.ops(Op::Split { parts: 2 }, &[x, axis], 2);
    let y = graph.op(Op::Softmax(Softmax { axis: -1, log: false }), &[parts[1]]);
    graph.result("y", y);
    let valid = accepted(&graph, &Options::default());
    assert_eq!((valid.nodes.len(), valid.values.len(), valid.constants.len()), (2, 2, 0));
    assert_eq!(valid.nodes[1].kind, "Softmax");
    assert_eq!(valid.results[0].source, Source::Value(1));
}

/// A part without elements may be left unused, or be concatenated with other parts. No operation
/// computes the part.
#[test]
fn parts_without_elements_are_left_out() {
    let split = |g: &mut Graph, x: ValueId| {
        let (axis, lengths) = (g.int(1), g.ints(&[2, 0, 1, 0]));
        g.ops(Op::VariadicSplit, &[x, axis, lengths], 4)
    };
    let data = counting(&[2, 3]);
    let parts = both_ways(&[2, 3], &data, |g, x| {
        let parts = split(g, x);
        let whole = g.op(Op::Concat { axis: 1 }, &[parts[1], parts[0], parts[3], parts[2]]);
        let sizes = g.op(Op::ShapeOf, &[parts[3]]);
        let empty = g.op(Op::Reshape { zero_keeps: false }, &[parts[1], sizes]);
        let one = g.op(Op::Concat { axis: 1 }, &[parts[2], empty]);
        vec![parts[0], whole, one]
    });
    let expected = [
        (vec![2, 2], vec![0.0, 1.0, 3.0, 4.0]),
        (vec![2, 3], data.clone()),
        (vec![2, 1], vec![2.0, 5.0]),
    ];
    assert_eq!(parts, expected);
}

/// Running sums of constants are added in order, as at run time: a sum that is infinite once stays
/// infinite.
#[test]
fn running_sums_are_added_in_order() {
    let large = f64::from(3e38_f32);
    let infinite = f64::INFINITY;
    let cases = [
        ([false, false], [large, infinite, infinite, infinite]),
        ([true, false], [0.0, large, infinite, infinite]),
        ([false, true], [large, 0.0, -large, 1.0]),
        ([true, true], [0.0, -large, 1.0, 0.0]),
    ];
    for ([exclusive, reverse], wanted) in cases {
        let mut graph = Graph::default();
        let x = graph.floats(&[1, 4], &[3e38, 3e38, -3e38, 1.0]);
        let axis = graph.int(1);
        let sums = graph.op(Op::RunningSum(RunningSum { exclusive, reverse }), &[x, axis]);
        graph.result("y", sums);
        assert_eq!(computed(&graph, &[]), [(vec![1, 4], wanted.to_vec())]);
    }
    // integers are summed from the first on: the sum of the last two would overflow
    let mut graph = Graph::default();
    let (x, axis) = (graph.ints(&[-10, i64::MAX, 5]), graph.int(0));
    let sum = graph.op(Op::RunningSum(RunningSum { exclusive: false, reverse: false }), &[x, axis]);
    let last = graph.int(2);
    let last = graph.op(Op::Gather { batch_dims: 0 }, &[sum, last, axis]);
    let most = graph.int(i64::MAX - 7);
    let rest = graph.elementwise(Binary::Subtract, &[last, most]);
    let rest = graph.convert(rest, ElementType::F32);
    graph.result("y", rest);
    assert_eq!(computed(&graph, &[]), [(vec![], vec![2.0])]);
}

/// Sums over no elements are 0, in reductions and in matrix products. A mean of no elements and an
/// empty output are refused.
#[test]
fn parts_without_elements_are_folded() {
    let part = |g: &mut Graph, x: ValueId| {
        let (axis, lengths) = (g.int(1), g.ints(&[3, 0]));
        g.ops(Op::VariadicSplit, &[x, axis, lengths], 2)[1]
    };
    let reduce = |g: &mut Graph, reduction: Reduction, part: ValueId, keep: bool| {
        let axis = g.ints(&[1]);
        g.op(Op::Reduce(Reduce { reduction, keep, no_axes: NoAxes::All }), &[part, axis])
    };
    let data = counting(&[2, 3]);
    let folded = both_ways(&[2, 3], &data, |g, x| {
        let none = part(g, x);
        let reduced = [Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::L2]
            .map(|reduction| reduce(g, reduction, none, reduction == Reduction::Sum));
        let weights = g.constant(&[2, 2]);
        let product = g.op(Op::MatMul { transpose_a: true, transpose_b: false }, &[none, weights]);
        let square = g.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[none, product]);
        let relu = g.elementwise(Activation::Relu, &[none]);
        let column = g.constant(&[2, 1]);
        let sum = g.elementwise(Binary::Add, &[relu, column]);
        let whole = g.op(Op::Concat { axis: 1 }, &[x, sum]);
        [&reduced[..], &[square, whole]].concat()
    });
    let expected = [
        (vec![2, 1], vec![0.0; 2]),
        (vec![2], vec![1.0; 2]),
        (vec![2], vec![f64::NEG_INFINITY; 2]),
        (vec![2], vec![0.0; 2]),
        (vec![2, 2], vec![0.0; 4]),
        (vec![2, 3], data),
    ];
    assert_eq!(folded, expected);
    type Read<'r> = &'r dyn Fn(&mut Graph, ValueId) -> ValueId;
    let reads: [Read<'_>; 2] =
        [&|g, part| reduce(g, Reduction::Mean, part, false), &|_, part| part];
    for read in reads {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[2, 3]);
        let none = part(&mut graph, x);
        let y = read(&mut graph, none);
        graph.result("y", y);
        let said =
            core_model(&graph.0, &Options::default()).expect_err("it is refused").to_string();
        assert!(said.contains("of shape [2, 0]: a size of 0"), "{said}");
    }
}

/// A Concat of `torch.empty(0, 3)` and other parts.
#[test]
fn an_empty_constant_adds_nothing_to_what_is_joined() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[2, 3]);
    let none = graph.constant(&[0, 3]);
    let y = graph.op(Op::Concat { axis: 0 }, &[none, x]);
    graph.result("y", y);
    let (valid, _) =
        core_model(&graph.0, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(valid.results[0].shape, [2, 3]);
}

/// Functions composed of other activations have seven digits of the float64 function, near zero
/// too, and are NaN outside their domain.
#[test]
fn functions_of_circles_and_hyperbolas() {
    let of = |function: Composed, x: &[f64]| {
        both_ways(&[x.len()], x, |g, x| vec![g.elementwise(function, &[x])]).remove(0).1
    };
    type Exact = fn(f64) -> f64;
    let cases: [(Composed, Exact, &[f64]); 8] = [
        (Composed::Tan, f64::tan, &[-1.5, -0.0, 1e-6, 1.25, 3.0, 200.5]),
        (Composed::Sinh, f64::sinh, &[-80.0, -1.0, -0.0, 1e-6, 0.25, 3.0, 88.75, f64::INFINITY]),
        (Composed::Cosh, f64::cosh, &[-88.75, -1.0, 0.0, 1e-6, 0.25, f64::NEG_INFINITY]),
        (
            Composed::Asin,
            f64::asin,
            &[-1.0, -0.5, -0.0, 1e-6, 0.75, 0.9990234375, 1.0, 1.5, f64::INFINITY],
        ),
        (
            Composed::Acos,
            f64::acos,
            &[-1.0, -0.5, 0.0, 0.75, 0.9990234375, 1.0, -1.5, f64::NEG_INFINITY],
        ),
        (
            Composed::Asinh,
            f64::asinh,
            &[-1e30, -2.0, -0.0, 1e-6, 0.03125, 3.0, 1.5e9, f64::NEG_INFINITY],
        ),
        (
            Composed::Acosh,
            f64::acosh,
            &[1.0, 1.0009765625, 2.0, 1e30, 0.5, -3.0, f64::INFINITY, f64::NEG_INFINITY],
        ),
        (
            Composed::Atanh,
            f64::atanh,
            &[-1.0, -0.5, -0.0, 1e-6, 0.9990234375, 1.0, 1.5, f64::NEG_INFINITY],
        ),
    ];
    for (function, exact, x) in cases {
        // x rounded to f32
        let x: Vec<f64> = x.iter().map(|&v| f64::from(v as f32)).collect();
        for (v, y) in x.iter().zip(of(function, &x)) {
            let wanted = exact(*v);
            let same = y.is_nan() && wanted.is_nan()
                || y == wanted && y.is_sign_negative() == wanted.is_sign_negative();
            assert!(
                same || (y - wanted).abs() <= 4e-7 * wanted.abs(),
                "{function:?} of {v}: {y}, not {wanted}"
            );
        }
    }
    let squares = both_ways(&[3], &[1.0, -2.0, f64::NAN], |g, x| {
        let other = g.floats(&[1], &[0.5]);
        vec![g.elementwise(Composed::SquaredDifference, &[x, other])]
    });
    assert_eq!(squares[0].1[..2], [0.25, 6.25]);
    assert!(squares[0].1[2].is_nan());
}

#[test]
fn rolled_elements_and_ones_on_a_diagonal() {
    let roll = |shifts: &'static [i64], axes: &'static [i64]| {
        move |g: &mut Graph, x: ValueId| {
            let (shifts, axes) = (g.ints(shifts), g.ints(axes));
            g.op(Op::Roll, &[x, shifts, axes])
        }
    };
    gives(&[2, 3], roll(&[1], &[-1]), (&[2, 3], &[2.0, 0.0, 1.0, 5.0, 3.0, 4.0]));
    gives(&[2, 3], roll(&[-4, 1], &[1, 0]), (&[2, 3], &[4.0, 5.0, 3.0, 1.0, 2.0, 0.0]));
    gives(&[2, 3], roll(&[1], &[0, 1]), (&[2, 3], &[5.0, 3.0, 4.0, 2.0, 0.0, 1.0]));
    gives(&[2, 3], roll(&[1, 1], &[1, 1]), (&[2, 3], &[1.0, 2.0, 0.0, 4.0, 5.0, 3.0]));
    let plus_eye = |diagonal: i64| {
        move |g: &mut Graph, x: ValueId| {
            let sizes = [2, 3, diagonal].map(|number| g.int(number));
            let eye = g.op(Op::Eye, &sizes);
            g.elementwise(Binary::Add, &[x, eye])
        }
    };
    gives(&[2, 3], plus_eye(0), (&[2, 3], &[1.0, 1.0, 2.0, 3.0, 5.0, 5.0]));
    gives(&[2, 3], plus_eye(2), (&[2, 3], &[0.0, 1.0, 3.0, 3.0, 4.0, 5.0]));
    gives(&[2, 3], plus_eye(-9), (&[2, 3], &counting(&[2, 3])));
}

/// A model that takes the first steps of x, `[1, 2, 5]`, and applies `follows` to them.
fn cut_at(follows: impl FnOnce(&mut Graph, ValueId) -> ValueId) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 2, 5]);
    let n = graph.input_of("n", &[1], ElementType::I64);
    let [start, step, axis] = [0, 1, 2].map(|number| graph.ints(&[number]));
    let cut = graph.op(Op::Slice, &[x, start, n, step, axis]);
    let y = follows(&mut graph, cut);
    graph.result("y", y);
    graph
}

/// Convolutions and normalisations of a number of steps that each call gives, here three of five.
#[test]
fn convolutions_and_normalisations_follow_a_slice_up_to_a_computed_stop() {
    let x = [1.0, 2.0, 3.0, 40.0, 50.0, -1.0, 1.0, 2.0, 60.0, 70.0];
    let convolution = |graph: &mut Graph, x: ValueId, pads: [i64; 2], stride: usize| {
        let weights = graph.floats(&[1, 2, 2], &[1.0, 10.0, 0.5, 0.0]);
        let Op::Convolution(mut convolution_op) = super::hints::valid_convolution() else {
            unreachable!()
        };
        convolution_op.window.padding =
            Padding::Explicit { begin: vec![pads[0]], end: vec![pads[1]] };
        convolution_op.window.strides = vec![stride];
        graph.op(Op::Convolution(convolution_op), &[x, weights])
    };
    let convolved = [
        ([0, 0], vec![1.0 + 20.0 - 0.5, 2.0 + 30.0 + 0.5]),
        ([1, 0], vec![10.0, 1.0 + 20.0 - 0.5, 2.0 + 30.0 + 0.5]),
        ([0, 1], vec![1.0 + 20.0 - 0.5, 2.0 + 30.0 + 0.5, 3.0 + 1.0]),
    ];
    let inputs = [x.to_vec(), vec![3.0]];
    for (pads, expected) in convolved {
        let results = computed(&cut_at(|graph, x| convolution(graph, x, pads, 1)), &inputs);
        assert_eq!(&results[0].1[..expected.len()], expected, "{pads:?}");
        assert_eq!(results[1].1, [expected.len() as f64], "{pads:?}");
    }
    let batch = cut_at(|graph, x| {
        let numbers =
            [[2.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]].map(|pair| graph.floats(&[2], &pair));
        let [scale, shift, mean, variance] = numbers;
        graph.op(
            Op::Normalize(Normalization::Batch { eps: 0.0 }),
            &[x, scale, shift, mean, variance],
        )
    });
    let results = computed(&batch, &inputs);
    assert_eq!((&results[0].1[..3], &results[1].1[..]), (&[1.0, 3.0, 5.0][..], &[3.0][..]));
    let refused = [
        ("windows that move two steps", cut_at(|graph, x| convolution(graph, x, [0, 0], 2))),
        (
            "a mean over the steps",
            cut_at(|graph, x| {
                let layer = Normalization::Layer { axis: -1, eps: 0.0, root_mean_square: false };
                graph.op(Op::Normalize(layer), &[x])
            }),
        ),
    ];
    for (name, graph) in refused {
        let said = core_model(&graph.0, &Options::default()).expect_err(name).to_string();
        assert!(
            said.contains("a Slice is read whose stop is computed") && said.contains("mask those"),
            "{said}"
        );
    }
}
