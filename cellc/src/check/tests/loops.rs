//! Tests of loops.

use super::*;
use crate::model::{Loop, LoopInput, LoopOutput, MathFunction, Slicing};
use crate::numerics::NumberRanges;

fn forward(axis: i64) -> Slicing {
    Slicing { axis, start: 0, end: -1, stride: 1, part_size: 1 }
}

fn backward(axis: i64) -> Slicing {
    Slicing { axis, start: -1, end: 0, stride: -1, part_size: 1 }
}

/// h + x * w, with Parameters x, h, w.
fn sum() -> (Graph, ValueId) {
    let mut graph = Graph::default();
    let names = ["x", "h", "w"];
    let [x, h, w] = names
        .map(|name| graph.node(name, Op::Parameter, &[], Graph::value(None, ElementType::F32)));
    let product = graph.elementwise(Binary::Multiply, &[x, w]);
    let sum = graph.elementwise(Binary::Add, &[h, product]);
    (graph, sum)
}

/// A body with the Parameters x, h, w and the Results h' = h + x * w and 2 h'.
fn body() -> Model {
    let (mut graph, next) = sum();
    let two = graph.floats(&[], &[2.0]);
    let twice = graph.elementwise(Binary::Multiply, &[next, two]);
    graph.result("h'", next);
    graph.result("2h'", twice);
    graph.0
}

/// A loop over slices of x [1, 4], with h [1, part] and w [1]. Outputs: the last h', and all 2 h'.
fn iterated(slice: Slicing, concatenation: Slicing, part: usize) -> Graph {
    let mut graph = Graph::default();
    let x = graph.input_of("x", &[1, 4], ElementType::F32);
    let h = graph.input_of("h", &[1, part], ElementType::F32);
    let w = graph.input_of("w", &[1], ElementType::F32);
    let inputs = vec![
        LoopInput { parameter: 0, input: 0, slice: Some(slice), back_edge: None },
        LoopInput { parameter: 1, input: 1, slice: None, back_edge: Some(0) },
        LoopInput { parameter: 2, input: 2, slice: None, back_edge: None },
    ];
    let outputs = vec![
        LoopOutput { result: 0, concatenation: None },
        LoopOutput { result: 1, concatenation: Some(concatenation) },
    ];
    let op = Loop {
        body: body(),
        counted: false,
        inputs,
        outputs,
        current_iteration: None,
        condition: None,
    };
    let out = graph.ops(Op::Loop(Box::new(op)), &[x, h, w], 2);
    graph.result("last", out[0]);
    graph.result("all", out[1]);
    graph
}

#[test]
fn pieces_go_in_and_come_out_in_either_order() {
    let inputs = |part: usize| vec![vec![1.0, 2.0, 3.0, 4.0], vec![0.0; part], vec![10.0]];
    let of = |slice: Slicing, concatenation: Slicing, part: usize| {
        let got = computed(&iterated(slice, concatenation, part), &inputs(part));
        (got[0].1.clone(), got[1].1.clone())
    };
    assert_eq!(of(forward(1), forward(1), 1), (vec![100.0], vec![20.0, 60.0, 120.0, 200.0]));
    assert_eq!(of(backward(-1), forward(1), 1), (vec![100.0], vec![80.0, 140.0, 180.0, 200.0]));
    assert_eq!(of(backward(1), backward(1), 1), (vec![100.0], vec![200.0, 180.0, 140.0, 80.0]));
    let two = |s: Slicing| Slicing { stride: 2 * s.stride, part_size: 2, ..s };
    assert_eq!(
        of(two(forward(1)), two(forward(1)), 2),
        (vec![40.0, 60.0], vec![20.0, 40.0, 80.0, 120.0])
    );
    assert_eq!(
        of(two(backward(1)), two(backward(1)), 2),
        (vec![40.0, 60.0], vec![80.0, 120.0, 60.0, 80.0])
    );
    // slices without the ends, every other slice, slices that overlap
    let within = Slicing { start: 1, end: 3, ..forward(1) };
    assert_eq!(of(within, forward(1), 1), (vec![50.0], vec![40.0, 100.0]));
    let other = Slicing { stride: 2, ..forward(1) };
    assert_eq!(of(other, forward(1), 1), (vec![40.0], vec![20.0, 80.0]));
    let overlap = Slicing { end: 3, part_size: 2, ..forward(1) };
    let pairs = two(forward(1));
    assert_eq!(
        of(overlap, pairs, 2),
        (vec![60.0, 90.0], vec![20.0, 40.0, 60.0, 100.0, 120.0, 180.0])
    );

    let valid = accepted(&iterated(forward(1), backward(1), 1), &Options::default());
    let [CoreNode { op: CoreOp::Loop(body), .. }] = &valid.nodes[..] else { panic!("{valid}") };
    assert_eq!((body.trips, body.body.len(), body.slices.len(), body.carried.len()), (4, 3, 1, 1));
    assert_eq!(body.results[1].pieces, Some((1, true)));
    assert!(
        body.body[0].op.reads().contains(&Source::Parameter(2)),
        "what does not change is read where it is"
    );
}

#[test]
fn a_body_keeps_only_what_is_read() {
    let mut graph = iterated(forward(1), forward(1), 1);
    // with the last h' as the only output, the body computes no 2 h'
    graph.0.results.pop();
    graph.0.nodes.pop();
    let valid = accepted(&graph, &Options::default());
    let [CoreNode { op: CoreOp::Loop(body), .. }] = &valid.nodes[..] else { panic!("{valid}") };
    assert_eq!((body.body.len(), body.results.len()), (2, 1));
    assert_eq!(valid.constants.len(), 0);
}

/// A carried value is a multiple of a scale if the initial value is one, too, and every iteration
/// rounds: h' = clip(round(h + x w), 3) / 4.
#[test]
fn what_trips_hand_on_may_be_multiples() {
    let multiples = |initial: Option<f32>, rounds: bool| {
        let mut graph = Graph::default();
        let x = graph.input_of("x", &[4], ElementType::F32);
        let h = match initial {
            Some(number) => graph.floats(&[1], &[number]),
            None => graph.input_of("h", &[1], ElementType::F32),
        };
        let w = graph.floats(&[1], &[0.7]);
        let (mut body, sum) = sum();
        let whole = if rounds { body.elementwise(MathFunction::Round, &[sum]) } else { sum };
        let clipped = body.elementwise(Unary::Clamp { min: -3.0, max: 3.0 }, &[whole]);
        let quarter = body.floats(&[], &[0.25]);
        let scaled = body.elementwise(Binary::Multiply, &[clipped, quarter]);
        body.result("h'", scaled);
        let body = body.0;
        let inputs = vec![
            LoopInput { parameter: 0, input: 0, slice: Some(forward(0)), back_edge: None },
            LoopInput { parameter: 1, input: 1, slice: None, back_edge: Some(0) },
            LoopInput { parameter: 2, input: 2, slice: None, back_edge: None },
        ];
        let outputs = vec![LoopOutput { result: 0, concatenation: None }];
        let op = Loop {
            body,
            counted: false,
            inputs,
            outputs,
            current_iteration: None,
            condition: None,
        };
        let out = graph.ops(Op::Loop(Box::new(op)), &[x, h, w], 1);
        graph.result("last", out[0]);
        let valid = accepted(&graph, &Options::default());
        let Some(CoreOp::Loop(body)) =
            valid.nodes.iter().map(|node| &node.op).find(|op| matches!(op, CoreOp::Loop(_)))
        else {
            panic!("{valid}")
        };
        let [carried] = &body.carried[..] else { panic!("{valid}") };
        let numbers = NumberRanges::new(&valid);
        numbers.multiples(Source::Value(carried.value)).map(|(scale, ends, _)| (scale, ends))
    };
    assert_eq!(multiples(Some(0.0), true), Some((0.25, [-3, 3])));
    assert_eq!(multiples(Some(5.0), true), Some((0.25, [-3, 20])));
    assert_eq!(multiples(Some(0.3), true), None);
    assert_eq!(multiples(Some(0.2501), true), None);
    assert_eq!(multiples(None, true), None);
    assert_eq!(multiples(Some(0.0), false), None);
}

/// A counted Loop over `body`. The first inputs are the trip count and the condition.
fn counted(
    count: i64,
    go: i64,
    body: Model,
    current_iteration: Option<usize>,
    condition: Option<usize>,
) -> Graph {
    let mut graph = Graph::default();
    let (count, go) = (graph.int(count), graph.int(go));
    let x = graph.input_of("x", &[4], ElementType::F32);
    let zero = graph.floats(&[1], &[0.0]);
    let start = graph.ints(&[1]);
    let inputs = vec![
        LoopInput { parameter: 1, input: 2, slice: None, back_edge: None },
        LoopInput { parameter: 2, input: 3, slice: None, back_edge: Some(0) },
        LoopInput { parameter: 3, input: 4, slice: None, back_edge: Some(1) },
    ];
    let outputs = vec![
        LoopOutput { result: 0, concatenation: None },
        LoopOutput { result: 0, concatenation: Some(forward(0)) },
    ];
    let op = Loop { body, counted: true, inputs, outputs, current_iteration, condition };
    let out = graph.ops(Op::Loop(Box::new(op)), &[count, go, x, zero, start], 2);
    graph.result("last", out[0]);
    graph.result("all", out[1]);
    graph
}

/// The Results are s' = s + x[k] * n, where k is the iteration number i if
/// `reads_iteration`, else 0; n' = n + 1 if `counts`, else n; and i < 2 if `stops`, else 1.
fn counting_body(reads_iteration: bool, counts: bool, stops: bool) -> Model {
    let mut graph = Graph::default();
    let i = graph.input_of("i", &[], ElementType::I64);
    let [x, s] = ["x", "s"]
        .map(|name| graph.node(name, Op::Parameter, &[], Graph::value(None, ElementType::F32)));
    let n = graph.input_of("n", &[1], ElementType::I64);
    let (axis, one, two) = (graph.int(0), graph.ints(&[1]), graph.int(2));
    let index = if reads_iteration { i } else { axis };
    let element = graph.op(Op::Gather { batch_dims: 0 }, &[x, index, axis]);
    let float = graph.convert(n, ElementType::F32);
    let product = graph.elementwise(Binary::Multiply, &[element, float]);
    let sum = graph.elementwise(Binary::Add, &[s, product]);
    let next = if counts { graph.elementwise(Binary::Add, &[n, one]) } else { n };
    let go = if stops { graph.elementwise(Comparison::Less, &[i, two]) } else { one };
    graph.result("s'", sum);
    graph.result("n'", next);
    graph.result("go", go);
    graph.0
}

#[test]
fn iterations_that_differ_are_written_out() {
    let run = |count: i64, reads: bool, counts: bool, stops: bool| {
        let graph = counted(count, 1, counting_body(reads, counts, stops), Some(0), Some(2));
        let loops = accepted(&graph, &Options::default())
            .nodes
            .iter()
            .any(|n| matches!(n.op, CoreOp::Loop(_)));
        let got = computed(&graph, &[vec![1.0, 2.0, 3.0, 4.0]]);
        (loops, got[0].1[0], got[1].1.clone())
    };
    assert_eq!(
        run(3, false, false, false),
        (true, 3.0, vec![1.0, 2.0, 3.0]),
        "all the same: one body"
    );
    assert_eq!(run(3, true, false, false), (false, 6.0, vec![1.0, 3.0, 6.0]));
    assert_eq!(run(4, true, true, false), (false, 30.0, vec![1.0, 5.0, 14.0, 30.0]));
    // i < 2 is false in the third iteration
    assert_eq!(run(4, true, true, true), (false, 14.0, vec![1.0, 5.0, 14.0]));
    assert_eq!(run(-1, true, true, true), (false, 14.0, vec![1.0, 5.0, 14.0]));
    assert_eq!(run(1, false, true, false), (true, 1.0, vec![1.0]), "once is always the same");
}

/// h' = h + x and 2 h, until h' < limit is false.
fn body_with_an_end() -> Model {
    let mut graph = Graph::default();
    let [x, h, limit] = ["x", "h", "limit"]
        .map(|name| graph.node(name, Op::Parameter, &[], Graph::value(None, ElementType::F32)));
    let next = graph.elementwise(Binary::Add, &[h, x]);
    let two = graph.floats(&[], &[2.0]);
    let twice = graph.elementwise(Binary::Multiply, &[h, two]);
    let go = graph.elementwise(Comparison::Less, &[next, limit]);
    graph.result("h'", next);
    graph.result("2h", twice);
    graph.result("go", go);
    graph.0
}

/// The condition ends a loop: the outputs are those of the last iteration, and further iterations
/// write nothing.
#[test]
fn the_end_of_a_loop_is_where_its_condition_says() {
    let mut graph = Graph::default();
    let (count, go) = (graph.int(10), graph.input_of("go", &[], ElementType::Bool));
    let [x, h, limit] =
        ["x", "h", "limit"].map(|name| graph.input_of(name, &[1], ElementType::F32));
    let inputs = [None, Some(0), None].into_iter().enumerate();
    let inputs = inputs.map(|(parameter, back_edge)| LoopInput {
        parameter,
        input: 2 + parameter,
        slice: None,
        back_edge,
    });
    let outputs = [(0, None), (1, None), (2, None), (1, Some(forward(0)))];
    let op = Loop {
        body: body_with_an_end(),
        counted: true,
        inputs: inputs.collect(),
        outputs: outputs.map(|(result, concatenation)| LoopOutput { result, concatenation }).into(),
        current_iteration: None,
        condition: Some(2),
    };
    let out = graph.ops(Op::Loop(Box::new(op)), &[count, go, x, h, limit], 4);
    for (name, out) in ["h'", "2h", "go", "all"].into_iter().zip(out) {
        graph.result(name, out);
    }
    let run = |go: f64, x: f64, limit: f64| {
        let got = computed(&graph, &[vec![go], vec![x], vec![0.5], vec![limit]]);
        ([0, 1, 2].map(|result| got[result].1[0]), got[3].1.clone())
    };
    let after = |parts: &[f64]| [parts, &vec![0.0; 10 - parts.len()]].concat();
    assert_eq!(run(1.0, 1.0, 3.0), ([3.5, 5.0, 0.0], after(&[1.0, 3.0, 5.0])));
    assert_eq!(run(1.0, 1.0, 1.0), ([1.5, 1.0, 0.0], after(&[1.0])), "once");
    assert_eq!(
        run(1.0, 0.0, 1.0),
        ([0.5, 1.0, 1.0], after(&[1.0; 10])),
        "as often as there is room for"
    );
    assert_eq!(run(0.0, 1.0, 3.0), ([0.5, 0.0, 0.0], after(&[])), "not once");
}

#[test]
fn loops_stand_inside_loops() {
    // the inner loop adds the slices of a slice of the outer loop
    let mut outer = Graph::default();
    let [x, h, w] = ["x", "h", "w"]
        .map(|name| outer.node(name, Op::Parameter, &[], Graph::value(None, ElementType::F32)));
    let inputs = |slice: Slicing| {
        vec![
            LoopInput { parameter: 0, input: 0, slice: Some(slice), back_edge: None },
            LoopInput { parameter: 1, input: 1, slice: None, back_edge: Some(0) },
            LoopInput { parameter: 2, input: 2, slice: None, back_edge: None },
        ]
    };
    let outputs = vec![LoopOutput { result: 0, concatenation: None }];
    let of = |body: Model, slice: Slicing| {
        let inputs = inputs(slice);
        let outputs = outputs.clone();
        Op::Loop(Box::new(Loop {
            body,
            counted: false,
            inputs,
            outputs,
            current_iteration: None,
            condition: None,
        }))
    };
    let sum = outer.ops(of(body(), forward(1)), &[x, h, w], 1);
    outer.result("sum", sum[0]);
    let mut graph = Graph::default();
    let x = graph.input_of("x", &[3, 4], ElementType::F32);
    let h = graph.input_of("h", &[1, 1], ElementType::F32);
    let w = graph.input_of("w", &[1], ElementType::F32);
    let total = graph.ops(of(outer.0, backward(0)), &[x, h, w], 1);
    graph.result("y", total[0]);
    let data: Vec<f64> = (0..12).map(f64::from).collect();
    assert_eq!(computed(&graph, &[data, vec![0.5], vec![2.0]])[0].1, [132.5]);
    let valid = accepted(&graph, &Options::default());
    assert_eq!(
        valid.all_nodes().iter().filter(|node| matches!(node.op, CoreOp::Loop(_))).count(),
        2
    );
}

#[test]
fn loops_that_are_refused() {
    let none = Options::default;
    let wrong = |slice: Slicing| iterated(slice, forward(1), 1);
    let of_model = |change: fn(&mut Loop)| {
        let mut graph = iterated(forward(1), forward(1), 1);
        for node in &mut graph.0.nodes {
            if let Op::Loop(body) = &mut node.op {
                change(body);
            }
        }
        graph
    };
    let mut deep = body();
    for _ in 0..9 {
        let mut graph = Graph::default();
        let all = ["x", "h", "w"]
            .map(|name| graph.node(name, Op::Parameter, &[], Graph::value(None, ElementType::F32)));
        let inputs = vec![
            LoopInput { parameter: 0, input: 0, slice: Some(forward(1)), back_edge: None },
            LoopInput { parameter: 1, input: 1, slice: None, back_edge: Some(0) },
            LoopInput { parameter: 2, input: 2, slice: None, back_edge: None },
        ];
        let outputs = vec![LoopOutput { result: 0, concatenation: None }];
        let op = Loop {
            body: deep,
            counted: false,
            inputs,
            outputs,
            current_iteration: None,
            condition: None,
        };
        let out = graph.ops(Op::Loop(Box::new(op)), &all, 1);
        graph.result("y", out[0]);
        deep = graph.0;
    }
    let cases = vec![
        (
            "no iteration",
            counted(0, 1, counting_body(false, false, false), Some(0), Some(2)),
            none(),
        ),
        (
            "false from the start",
            counted(3, 0, counting_body(false, false, false), Some(0), Some(2)),
            none(),
        ),
        ("for ever", counted(-1, 1, counting_body(true, false, false), Some(0), Some(2)), none()),
        (
            "too many to write out",
            counted(65, 1, counting_body(false, true, false), Some(0), Some(2)),
            none(),
        ),
        ("beyond the end", wrong(Slicing { end: 5, ..forward(1) }), none()),
        ("a stride that does not fit", wrong(Slicing { stride: 3, ..forward(1) }), none()),
        ("a stride of 0", wrong(Slicing { stride: 0, ..forward(1) }), none()),
        ("an axis that is not there", wrong(Slicing { axis: 2, ..forward(1) }), none()),
        (
            "a concatenation with gaps",
            iterated(forward(1), Slicing { stride: 2, ..forward(1) }, 1),
            none(),
        ),
        ("a back edge of another shape", iterated(forward(1), forward(1), 3), none()),
        ("a Parameter that nothing gives", of_model(|body| body.inputs.truncate(2)), none()),
        (
            "a Parameter that is given twice",
            of_model(|body| body.inputs.push(body.inputs[0].clone())),
            none(),
        ),
        ("a port that is not there", of_model(|body| body.inputs[0].input = 7), none()),
        ("a Result that is not there", of_model(|body| body.outputs[0].result = 7), none()),
        ("nothing says how often", of_model(|body| body.inputs[0].slice = None), none()),
        (
            "a variable",
            of_model(|body| {
                let at = body
                    .body
                    .nodes
                    .iter()
                    .position(|node| matches!(node.op, Op::Constant(_)))
                    .unwrap();
                body.body.nodes[at].op =
                    Op::ReadValue { variable: "v".to_owned(), shape: None, element: None };
            }),
            none(),
        ),
        ("too deep", of_model(|_| {}), none()),
    ];
    let mut cases = cases;
    let last = cases.len() - 1;
    for node in &mut cases[last].1.0.nodes {
        if let Op::Loop(body) = &mut node.op {
            body.body = deep.clone();
            body.outputs.truncate(1);
            node.outputs.truncate(1);
        }
    }
    cases[last].1.0.nodes.pop();
    cases[last].1.0.results.pop();
    insta::assert_snapshot!(said(cases));
}
