//! Refusals of operations: the message of each refused attribute, shape and size.

use super::*;
use crate::arch::{GENERIC, Isa, IsaId};
use crate::model::{
    Activation, BroadcastMode, GatherNd, MathFunction, Nearest, NoAxes, Reduce, Reduction, Resize,
    ResizeBy, ReverseSequence, Sampling, Scaling, SliceMasks, Softmax, TopKAttributes,
};

/// A model of x [2, 3] and y = `build(x)`.
fn of_x(build: impl Fn(&mut Graph, ValueId) -> ValueId) -> Graph {
    let mut graph = Graph::default();
    let x = graph.input_of("x", &[2, 3], ElementType::F32);
    let y = build(&mut graph, x);
    graph.result("y", y);
    graph
}

#[test]
fn operations_are_refused_by_name() {
    fn strided(
        g: &mut Graph,
        x: ValueId,
        begin: &[i64],
        end: &[i64],
        shrink: bool,
        ellipses: usize,
    ) -> ValueId {
        let (begin, end) = (g.ints(begin), g.ints(end));
        let op = Op::StridedSlice(SliceMasks {
            begin: Vec::new(),
            end: Vec::new(),
            new_axis: Vec::new(),
            shrink_axis: vec![shrink],
            ellipsis: vec![true; ellipses],
        });
        g.op(op, &[x, begin, end])
    }
    fn with_ints(g: &mut Graph, op: Op, x: ValueId, lists: &[&[i64]]) -> ValueId {
        let mut inputs = vec![x];
        inputs.extend(lists.iter().map(|list| g.ints(list)));
        g.op(op, &inputs)
    }
    let reshape = Op::Reshape { zero_keeps: false };
    let gather = Op::Gather { batch_dims: 0 };
    type Build = Box<dyn Fn(&mut Graph, ValueId) -> ValueId>;
    let simple = |op: Op, lists: &'static [&'static [i64]]| -> Build {
        Box::new(move |g: &mut Graph, x: ValueId| with_ints(g, op.clone(), x, lists))
    };
    let elementwise = |function: Elementwise| -> Build {
        Box::new(move |g: &mut Graph, x: ValueId| {
            let inputs = vec![x; function.facts().inputs];
            g.elementwise(function, &inputs)
        })
    };
    let folded = |function: Elementwise, a: i64, b: i64| -> Build {
        Box::new(move |g: &mut Graph, x: ValueId| {
            let (a, b) = (g.ints(&[a]), g.ints(&[b]));
            let value = g.elementwise(function, &[a, b]);
            let value = g.convert(value, ElementType::F32);
            g.elementwise(Binary::Add, &[x, value])
        })
    };
    let updated = |indices: &'static [i64], shape: &'static [usize]| -> Build {
        Box::new(move |g: &mut Graph, x: ValueId| {
            let (indices, new, axis) = (g.ints(indices), g.constant(shape), g.int(0));
            g.op(Op::ScatterUpdate, &[x, indices, new, axis])
        })
    };
    let all: Vec<(&str, Build)> = vec![
        ("reshape, too many", simple(reshape.clone(), &[&[4, 2]])),
        ("reshape, two open", simple(reshape.clone(), &[&[-1, -1]])),
        ("reshape, no divisor", simple(reshape.clone(), &[&[4, -1]])),
        ("reshape, negative", simple(reshape.clone(), &[&[-2, -3]])),
        ("reshape, a zero past the end", simple(Op::Reshape { zero_keeps: true }, &[&[2, 3, 0]])),
        ("reshape by what is computed", Box::new(move |g, x| g.op(reshape.clone(), &[x, x]))),
        ("squeeze, not 1", simple(Op::Squeeze { skip: false }, &[&[0]])),
        ("squeeze, no such axis", simple(Op::Squeeze { skip: false }, &[&[2]])),
        ("unsqueeze twice", simple(Op::Unsqueeze, &[&[0, -4]])),
        ("transpose, no permutation", simple(Op::Transpose, &[&[0, 0]])),
        ("transpose, too few", simple(Op::Transpose, &[&[0]])),
        ("gather, out of range", simple(gather.clone(), &[&[3], &[1]])),
        ("gather, negative out of range", simple(gather.clone(), &[&[-4], &[1]])),
        ("gather, batch", simple(Op::Gather { batch_dims: 1 }, &[&[0], &[1]])),
        ("gather, two axes", simple(gather, &[&[0], &[0, 1]])),
        ("split", simple(Op::Split { parts: 1 }, &[&[2]])),
        (
            "variadic split, too much",
            Box::new(|g, x| {
                let (axis, lengths) = (g.int(1), g.ints(&[2, 2]));
                g.ops(Op::VariadicSplit, &[x, axis, lengths], 2)[0]
            }),
        ),
        (
            "variadic split, two open",
            Box::new(|g, x| {
                let (axis, lengths) = (g.int(1), g.ints(&[-1, -1]));
                g.ops(Op::VariadicSplit, &[x, axis, lengths], 2)[0]
            }),
        ),
        (
            "split in unequal parts",
            Box::new(|g, x| {
                let axis = g.int(1);
                g.ops(Op::Split { parts: 2 }, &[x, axis], 2)[0]
            }),
        ),
        ("slice, nothing left", simple(Op::Slice, &[&[2], &[1], &[1], &[1]])),
        ("slice, a step of 0", simple(Op::Slice, &[&[0], &[1], &[0], &[1]])),
        ("slice, an axis twice", simple(Op::Slice, &[&[0, 0], &[1, 1], &[1, 1], &[0, -2]])),
        ("slice, of different lengths", simple(Op::Slice, &[&[0, 0], &[1], &[1], &[0]])),
        ("strided slice, two ellipses", Box::new(|g, x| strided(g, x, &[0, 0], &[1, 1], false, 2))),
        (
            "strided slice, too many",
            Box::new(|g, x| strided(g, x, &[0, 0, 0], &[1, 1, 1], false, 0)),
        ),
        ("strided slice, an index outside", Box::new(|g, x| strided(g, x, &[2], &[0], true, 0))),
        (
            "reverse, more than all",
            simple(Op::ReverseSequence(ReverseSequence { batch_axis: 0, seq_axis: 1 }), &[&[3, 4]]),
        ),
        (
            "reverse, other lengths",
            simple(Op::ReverseSequence(ReverseSequence { batch_axis: 0, seq_axis: 1 }), &[&[3]]),
        ),
        ("update, in no order", updated(&[1, 0], &[2, 3])),
        ("update, outside", updated(&[1, 2], &[2, 3])),
        ("update of another shape", updated(&[1], &[2, 3])),
        ("tile, no times", simple(Op::Tile, &[&[0, 1]])),
        ("tile beyond all limits", simple(Op::Tile, &[&[i64::MAX, 2]])),
        ("range, a step of 0", Box::new(|g, _| g.range([0, 3, 0]))),
        ("range beyond all limits", Box::new(|g, _| g.range([i64::MIN, i64::MAX, 1]))),
        ("broadcast", simple(Op::Broadcast(BroadcastMode::Numpy), &[&[2, 1]])),
        (
            "broadcast to a negative size",
            simple(Op::Broadcast(BroadcastMode::Bidirectional), &[&[-2, 3]]),
        ),
        (
            "explicit broadcast without axes",
            simple(Op::Broadcast(BroadcastMode::Explicit), &[&[2, 3]]),
        ),
        (
            "explicit broadcast in another order",
            simple(Op::Broadcast(BroadcastMode::Explicit), &[&[3, 2], &[1, 0]]),
        ),
        ("broadcast to nothing", simple(Op::Broadcast(BroadcastMode::Numpy), &[&[0, 2, 3]])),
        (
            "broadcast beyond all limits",
            simple(Op::Broadcast(BroadcastMode::Numpy), &[&[1 << 40, 2, 3]]),
        ),
        (
            "concat of other shapes",
            Box::new(|g, x| {
                let c = g.constant(&[3, 3]);
                g.op(Op::Concat { axis: 1 }, &[x, c])
            }),
        ),
        ("concat, no such axis", Box::new(|g, x| g.op(Op::Concat { axis: 2 }, &[x, x]))),
        (
            "concat of integers",
            Box::new(|g, x| {
                let c = g.tensor(Tensor::from_i64(vec![1, 3], &[1, 2, 3]).unwrap());
                g.op(Op::Concat { axis: 0 }, &[x, c])
            }),
        ),
        (
            "softmax, no such axis",
            Box::new(|g, x| g.op(Op::Softmax(Softmax { axis: -3, log: true }), &[x])),
        ),
        (
            "matmul",
            Box::new(|g, x| g.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[x, x])),
        ),
        (
            "matmul of a scalar",
            Box::new(|g, x| {
                let c = g.floats(&[], &[1.0]);
                g.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[x, c])
            }),
        ),
        (
            "matmul of integers",
            Box::new(|g, x| {
                let c = g.tensor(Tensor::from_i64(vec![3, 1], &[1, 2, 3]).unwrap());
                g.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[x, c])
            }),
        ),
        (
            "add of other shapes",
            Box::new(|g, x| {
                let c = g.constant(&[2]);
                g.elementwise(Binary::Add, &[x, c])
            }),
        ),
        (
            "add of integers",
            Box::new(|g, x| {
                let c = g.ints(&[1]);
                g.elementwise(Binary::Add, &[x, c])
            }),
        ),
        ("clamp", elementwise(Unary::Clamp { min: 1.0, max: -1.0 }.into())),
        ("hard sigmoid", elementwise(Composed::HardSigmoid.into())),
        (
            "hard sigmoid without end",
            Box::new(|g, x| {
                let (a, b) = (g.floats(&[], &[f32::INFINITY]), g.floats(&[], &[0.0]));
                g.elementwise(Composed::HardSigmoid, &[x, a, b])
            }),
        ),
        ("celu without a slope", elementwise(Composed::Celu { alpha: 0.0 }.into())),
        ("celu without end", elementwise(Composed::Celu { alpha: f32::INFINITY }.into())),
        ("celu of a negative slope", elementwise(Composed::Celu { alpha: -1.0 }.into())),
        (
            "thresholded relu above -inf",
            elementwise(Composed::ThresholdedRelu { alpha: f32::NEG_INFINITY }.into()),
        ),
        (
            "clamp between integers",
            Box::new(|g, x| {
                let x = g.convert(x, ElementType::I64);
                let clamped = g.elementwise(Unary::Clamp { min: 0.2, max: 0.8 }, &[x]);
                g.convert(clamped, ElementType::F32)
            }),
        ),
        (
            "clamp of constants between integers",
            Box::new(|g, _| {
                let x = g.ints(&[3]);
                let clamped = g.elementwise(Unary::Clamp { min: 0.2, max: 0.8 }, &[x]);
                g.convert(clamped, ElementType::F32)
            }),
        ),
        ("clamp to nan", elementwise(Unary::Clamp { min: 0.0, max: f32::NAN }.into())),
        (
            "selu without end",
            Box::new(|g, x| {
                let (a, b) = (g.floats(&[], &[1.0]), g.floats(&[], &[f32::NEG_INFINITY]));
                g.elementwise(Composed::Selu, &[x, a, b])
            }),
        ),
        (
            "prelu",
            Box::new(|g, x| {
                let c = g.constant(&[4, 2, 3]);
                g.elementwise(Primitive::PRelu, &[x, c])
            }),
        ),
        ("mod", elementwise(Remainder::OfDividend.into())),
        ("logical", elementwise(Logic::And.into())),
        ("select", elementwise(Primitive::Select.into())),
        (
            "select of two types",
            Box::new(|g, x| {
                let mask = g.bytes(&[3], ElementType::Bool, &[1, 0, 1]);
                let ints = g.ints(&[3]);
                g.elementwise(Primitive::Select, &[mask, x, ints])
            }),
        ),
        ("division by zero", folded(Binary::Divide.into(), 1, 0)),
        ("overflow", folded(Binary::Add.into(), i64::MAX, 1)),
        ("the least divided by -1", folded(Remainder::OfDividend.into(), i64::MIN, -1)),
        (
            "integers beyond what f32 holds",
            Box::new(|g, x| {
                let i = g.convert(x, ElementType::I32);
                let sum = g.elementwise(Binary::Add, &[i, i]);
                g.convert(sum, ElementType::I64)
            }),
        ),
        (
            "not a number to integers",
            Box::new(|g, _| {
                let c = g.floats(&[1], &[f32::NAN]);
                let i = g.convert(c, ElementType::I64);
                g.convert(i, ElementType::F32)
            }),
        ),
        (
            "the best of too many",
            Box::new(|g, x| {
                let count = g.ints(&[4]);
                g.op(
                    Op::TopK(TopKAttributes {
                        axis: 1,
                        largest: true,
                        last: false,
                        sorted_by_index: false,
                    }),
                    &[x, count],
                )
            }),
        ),
        ("too few inputs", Box::new(|g, x| g.op(Op::Slice, &[x]))),
    ];
    for (part, cases) in all.chunks(20).enumerate() {
        let cases =
            cases.iter().map(|(name, build)| (*name, of_x(build), Options::default())).collect();
        insta::assert_snapshot!(format!("operations_are_refused_by_name_{part}"), said(cases));
    }
}

/// Integer operands of activations are refused alike, whether constant or computed.
#[test]
fn integers_are_no_operands_of_activations() {
    let functions: [(Elementwise, &str); 3] = [
        (Activation::Tanh.into(), "tanh"),
        (Activation::Elu { alpha: 1.0 }.into(), "elu"),
        (Primitive::PRelu.into(), "prelu"),
    ];
    for (function, name) in functions {
        let of = |g: &mut Graph, integers: ValueId| {
            let y = g.elementwise(function, &vec![integers; function.facts().inputs]);
            g.convert(y, ElementType::F32)
        };
        let constant = of_x(|g, x| {
            let integers = g.ints(&[1, 2, 3]);
            let y = of(g, integers);
            g.elementwise(Binary::Add, &[x, y])
        });
        let computed = of_x(|g, x| {
            let integers = g.convert(x, ElementType::I64);
            of(g, integers)
        });
        for graph in [constant, computed] {
            let said = said(vec![("", graph, Options::default())]);
            assert!(said.contains(&format!("the function {name} of i64")), "{said}");
            assert!(said.contains("convert the integers to floating point before"), "{said}");
        }
    }
}

/// All gathers refuse wrong numbers of leading axes that data and indices share. Only Gather counts
/// negative numbers from the end.
#[test]
fn leading_axes_of_gathers_are_refused_by_number() {
    let gather = |batch_dims: i64| {
        of_x(move |g, x| {
            let (indices, axis) = (g.ints(&[0, 1]), g.int(1));
            g.op(Op::Gather { batch_dims }, &[x, indices, axis])
        })
    };
    let gather_nd = |batch_dims: i64| {
        of_x(move |g, x| {
            let indices = g.ints(&[0, 1]);
            g.op(Op::GatherNd(GatherNd { batch_dims, flattens_batch: false }), &[x, indices])
        })
    };
    for (graph, found, valid) in [
        (gather(-2), "batch_dims of -2", "-1 to 1"),
        (gather(2), "batch_dims of 2", "-1 to 1"),
        (gather_nd(-1), "batch_dims of -1", "0 to 0"),
        (gather_nd(i64::MIN), "batch_dims of -9223372036854775808", "0 to 0"),
    ] {
        let said = said(vec![("", graph, Options::default())]);
        assert!(said.contains(found) && said.contains(&format!("valid: {valid}")), "{said}");
    }
}

#[test]
fn choices_that_cannot_apply_are_said() {
    let relu = || of_x(|g, x| g.elementwise(MathFunction::Exp, &[x]));
    let twice = Options::default().with_isas(Some(vec![&crate::arch::AVX2, &crate::arch::AVX2]));
    let shape = |sizes: &[Option<usize>]| {
        Options::default().with_shapes(vec![("x".into(), sizes.to_vec())])
    };
    let large = Options::default().with_batch(Some(10_000_000));
    let mut batch = Graph::default();
    let x = batch.parameter("x", &[-1, 3]);
    let y = batch.elementwise(MathFunction::Exp, &[x]);
    batch.result("y", y);
    insta::assert_snapshot!(said(vec![
        ("an instruction set twice", relu(), twice),
        ("open, but known", relu(), shape(&[Some(2), None])),
        ("a large batch", batch, large),
    ]));
}

/// Errors of the options are reported even if the model has errors.
#[test]
fn options_are_checked_next_to_a_wrong_model() {
    let wrong = of_x(|g, x| {
        let sizes = g.ints(&[5, 5]);
        g.op(Op::Reshape { zero_keeps: false }, &[x, sizes])
    });
    let options = Options::default().with_interface(Some("common.txt".into()));
    let refused = core_model(&wrong.0, &options).expect_err("a wrong shape").to_string();
    for found in ["the output is not C", "\"common.txt\"", "[5, 5]"] {
        assert!(refused.contains(found), "{found} is not in {refused}");
    }
}

#[test]
fn what_would_take_for_ever_is_refused() {
    let large = of_x(|g, x| {
        let (c, to) = (g.floats(&[1, 3], &[1.0, 2.0, 3.0]), g.ints(&[1 << 28, 3]));
        let c = g.op(Op::Broadcast(BroadcastMode::Numpy), &[c, to]);
        g.op(Op::Concat { axis: 0 }, &[x, c])
    });
    let many = of_x(|g, x| {
        let mut y = x;
        for _ in 0..20_000 {
            y = g.elementwise(MathFunction::Exp, &[y]);
        }
        y
    });
    let unrolled = Options::default().with_tuning(Tuning::default().with_unroll(Unroll::Full));
    let dense = of_x(|g, x| {
        let w = g.constant(&[5_000, 3]);
        g.op(Op::MatMul { transpose_a: false, transpose_b: true }, &[x, w])
    });
    let none = Options::default;
    let cases =
        vec![("large", large, none()), ("many", many, none()), ("unrolled", dense, unrolled)];
    insta::assert_snapshot!(said(cases));
}

/// Files of a few bytes that describe large sizes are refused before memory of these sizes is
/// allocated.
#[test]
fn small_files_do_not_take_much_memory() {
    let resized = |sampling: Sampling, factor: f32| {
        of_x(move |g, x| {
            let factors = g.floats(&[2], &[1.0, factor]);
            let scaling = Scaling::HalfPixel;
            g.op(Op::Resize(Resize { by: ResizeBy::Factors, scaling, sampling }), &[x, factors])
        })
    };
    // both inputs of each operation are one tensor
    let doubled = of_x(|g, x| {
        let mut sizes = g.ints(&[0]);
        for _ in 0..28 {
            sizes = g.op(Op::Concat { axis: 0 }, &[sizes, sizes]);
        }
        g.op(Op::Gather { batch_dims: 0 }, &[x, sizes, sizes])
    });
    let squared = of_x(|g, x| {
        let (one, to) = (g.floats(&[1], &[1.0]), g.ints(&[1000, 1000]));
        let all = g.op(Op::Broadcast(BroadcastMode::Numpy), &[one, to]);
        let product = g.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[all, all]);
        g.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[x, product])
    });
    let gathered = of_x(|g, x| {
        let (one, to, axis) = (g.ints(&[1]), g.ints(&[1 << 14]), g.int(1));
        let same = g.op(Op::Broadcast(BroadcastMode::Numpy), &[one, to]);
        let zero = g.ints(&[0]);
        let places = g.op(Op::Concat { axis: 0 }, &[same, zero, same]);
        g.op(Op::Gather { batch_dims: 0 }, &[x, places, axis])
    });
    let cases = [
        ("3145728 elements between others", resized(Sampling::Linear, (1 << 20) as f32)),
        ("more than 256 runs of indices", resized(Sampling::Nearest(Nearest::Floor), 300_000.7)),
        ("more than 256 runs of indices", gathered),
        ("operations on constants give 536870896 bytes", doubled),
        ("operations on constants compute 1001000000 elements and products", squared),
    ];
    for (words, graph) in cases {
        let said = said(vec![("small", graph, Options::default())]);
        assert!(said.contains(words), "not {words}: {said}");
    }
}

#[test]
fn an_instruction_set_of_another_architecture_is_refused() {
    static OTHER: Isa = Isa { id: IsaId::Helium, name: "other", ..GENERIC };
    let graph = of_x(|g, x| g.elementwise(MathFunction::Exp, &[x]));
    let options = Options::default().with_isas(Some(vec![&GENERIC, &OTHER]));
    let said = said(vec![("another", graph, options)]);
    assert!(said.contains("Rust for the target any has no instruction set other"), "{said}");
    assert!(said.contains("generic, neon, avx2, avx_vnni, avx512, avx512_vnni, amx"), "{said}");
}

/// x where a step is below the length of its row, else 0: the numbers of steps below `limit` are
/// compared with the lengths.
fn masked(limit: fn(&mut Graph, [ValueId; 2]) -> ValueId) -> Graph {
    let mut graph = Graph::default();
    let x = graph.input_of("x", &[2, 3], ElementType::F32);
    let lengths = graph.input_of("lengths", &[2, 1], ElementType::I64);
    let inputs = [graph.int(0), limit(&mut graph, [x, lengths]), graph.int(1)];
    let steps = graph.node(
        "steps",
        Op::Range { run_time: true },
        &inputs,
        Graph::value(None, ElementType::I64),
    );
    let less = Op::elementwise(Comparison::Less);
    let mask = graph.node("mask", less, &[steps, lengths], Graph::value(None, ElementType::Bool));
    let mask = graph.convert(mask, ElementType::F32);
    let y = graph.elementwise(Binary::Multiply, &[x, mask]);
    graph.result("y", y);
    graph
}

#[test]
fn a_range_to_a_limit_of_run_time_is_refused_with_what_works() {
    let largest = masked(|graph, [_, lengths]| {
        let axes = graph.ints(&[0, 1]);
        let op =
            Op::Reduce(Reduce { reduction: Reduction::Max, keep: false, no_axes: NoAxes::All });
        graph.node("largest", op, &[lengths, axes], Graph::value(None, ElementType::I64))
    });
    let refusal = core_model(&largest.0, &Options::default()).unwrap_err().to_string();
    assert!(refusal.contains("the stop of Range is computed at run time"), "{refusal}");
    assert!(refusal.contains("torch.arange(x.shape[1])"), "{refusal}");
    assert!(!refusal.contains("the stop computed"), "said once: {refusal}");
    // the remedy: the limit is the size of x
    let all = masked(|graph, [x, _]| {
        let shape = graph.node("shape", Op::ShapeOf, &[x], Graph::value(None, ElementType::I64));
        let (second, axis) = (graph.int(1), graph.int(0));
        let gather = Op::Gather { batch_dims: 0 };
        graph.node("size", gather, &[shape, second, axis], Graph::value(None, ElementType::I64))
    });
    let [x, lengths] = [vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![1.0, 2.0]];
    assert_eq!(computed(&all, &[x, lengths])[0].1, [1.0, 0.0, 0.0, 4.0, 5.0, 0.0]);
}

/// A Range up to a limit that a call computes: the largest of lengths `[2, 1]`, at most 4.
fn numbers(graph: &mut Graph) -> (ValueId, ValueId) {
    let lengths = graph.input_of("lengths", &[2, 1], ElementType::I64);
    let axes = graph.ints(&[0, 1]);
    let op = Op::Reduce(Reduce { reduction: Reduction::Max, keep: false, no_axes: NoAxes::All });
    let largest = graph.node("largest", op, &[lengths, axes], Graph::value(None, ElementType::I64));
    let most = graph.int(4);
    let least = Op::elementwise(Binary::Minimum);
    let limit = graph.node("limit", least, &[largest, most], Graph::value(None, ElementType::I64));
    let inputs = [graph.int(1), limit, graph.int(1)];
    (
        graph.node(
            "numbers",
            Op::Range { run_time: true },
            &inputs,
            Graph::value(None, ElementType::I64),
        ),
        lengths,
    )
}

/// A Range with a bounded limit reserves its maximum length; readers take the computed elements.
#[test]
fn a_range_to_a_bounded_limit_counts_its_elements() {
    let reduced = |reduction: Reduction| {
        let mut graph = Graph::default();
        let (numbers, _) = numbers(&mut graph);
        let numbers = graph.convert(numbers, ElementType::F32);
        let axes = graph.ints(&[0]);
        let y = graph.op(
            Op::Reduce(Reduce { reduction, keep: false, no_axes: NoAxes::All }),
            &[numbers, axes],
        );
        graph.result("y", y);
        graph
    };
    let cases = [
        (Reduction::Sum, [6.0, 1.0, 0.0]),
        (Reduction::Mean, [2.0, 1.0, f64::NAN]),
        (Reduction::Max, [3.0, 1.0, f64::NEG_INFINITY]),
        (Reduction::Min, [1.0, 1.0, f64::INFINITY]),
        (Reduction::Product, [6.0, 1.0, 1.0]),
        (Reduction::SumSquare, [14.0, 1.0, 0.0]),
    ];
    for (reduction, results) in cases {
        for (lengths, result) in [[9.0, 2.0], [2.0, 0.0], [-5.0, 1.0]].into_iter().zip(results) {
            let found = computed(&reduced(reduction), &[lengths.to_vec()])[0].1[0];
            assert!(
                found == result || found.is_nan() && result.is_nan(),
                "{reduction:?} of {lengths:?}: {found}"
            );
        }
    }
    let mut mask = Graph::default();
    let (numbers, lengths) = numbers(&mut mask);
    let greater = Op::elementwise(Comparison::LessEqual);
    let is_step =
        mask.node("mask", greater, &[numbers, lengths], Graph::value(None, ElementType::Bool));
    let is_step = mask.convert(is_step, ElementType::F32);
    let table = mask.constant(&[4, 2]);
    let axis = mask.int(0);
    let rows = mask.op(Op::Gather { batch_dims: 0 }, &[table, numbers, axis]);
    mask.result("mask", is_step);
    mask.result("rows", rows);
    let found = computed(&mask, &[vec![2.0, 1.0]]);
    assert_eq!(found[0].1, [1.0, 0.0, 0.0, 1.0, 0.0, 0.0], "zeros behind the end");
    assert_eq!(found[1].1[2..], [0.0; 4], "of one number");
    let counts: Vec<&Vec<f64>> = found[2..].iter().map(|(_, numbers)| numbers).collect();
    assert_eq!(counts, [&[1.0], &[1.0]], "mask_len, rows_len");
}

/// Softmax gives no share to elements behind the computed length, along their axis and across it.
#[test]
fn a_softmax_of_a_bounded_range_is_one_of_the_elements_that_there_are() {
    for axis in [-1, 0] {
        let mut graph = Graph::default();
        let (numbers, _) = numbers(&mut graph);
        let numbers = graph.convert(numbers, ElementType::F32);
        let rows = graph.floats(&[2, 1], &[0.0, 1.0]);
        let x = graph.elementwise(Binary::Multiply, &[rows, numbers]);
        let y = graph.op(Op::Softmax(Softmax { axis, log: false }), &[x]);
        graph.result("y", y);
        for (lengths, count) in [([9.0, 2.0], 3), ([2.0, 0.0], 1), ([0.0, 0.0], 0)] {
            let found = computed(&graph, &[lengths.to_vec()]);
            let share = |row: usize, column: usize| {
                let exp = |row: usize, column: usize| (row as f64 * (column + 1) as f64).exp();
                let sum: f64 = match axis {
                    0 => (0..2).map(|row| exp(row, column)).sum(),
                    _ => (0..count).map(|column| exp(row, column)).sum(),
                };
                if column < count { exp(row, column) / sum } else { 0.0 }
            };
            for (at, y) in found[0].1.iter().enumerate() {
                let wanted = share(at / 3, at % 3);
                assert!((y - wanted).abs() < 1e-7, "{axis} {lengths:?}: {found:?}");
            }
            assert_eq!(found[1].1, [count as f64], "y_len");
        }
    }
}

/// Operations that would read a Range beyond its computed length are refused.
#[test]
fn a_range_to_a_bounded_limit_is_not_read_as_a_whole() {
    let refusal = |build: fn(&mut Graph, ValueId) -> ValueId| {
        let mut graph = Graph::default();
        let (numbers, _) = numbers(&mut graph);
        let numbers = graph.convert(numbers, ElementType::F32);
        let y = build(&mut graph, numbers);
        graph.result("y", y);
        core_model(&graph.0, &Options::default()).expect_err("a count of run time").to_string()
    };
    let added = refusal(|graph, numbers| {
        let x = graph.input_of("x", &[3], ElementType::F32);
        graph.elementwise(Binary::Add, &[x, numbers])
    });
    assert!(
        added.contains("meet a fixed number of others")
            && added.contains("torch.arange(x.shape[1])"),
        "{added}"
    );
    let product = refusal(|graph, numbers| {
        let x = graph.constant(&[3, 2]);
        graph.op(Op::MatMul { transpose_a: false, transpose_b: false }, &[numbers, x])
    });
    assert!(product.contains("elements of a Range are read whose limit is computed"), "{product}");
}
