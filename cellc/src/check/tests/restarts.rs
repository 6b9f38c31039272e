//! Layers that restart at every call although their initial state is no constant, and layers that
//! keep a state although they seem to restart.

use super::states::{GRU, H, N, started, zeros};
use super::*;
use crate::model::{Direction, Loop, LoopInput, LoopOutput, SizesOf, Slicing, Softmax};
use crate::stream::dependence::Dependence;

const PRODUCT: Op = Op::MatMul { transpose_a: false, transpose_b: false };
const TANH: Activation = Activation::Tanh;
const SIGMOID: Activation = Activation::Sigmoid;

/// The initial state of a cell, computed from x.
type Initial = fn(&mut Graph, ValueId) -> ValueId;

/// The next value of a variable, computed from x, the variable and the cell's h.
type Next = fn(&mut Graph, [ValueId; 3]) -> ValueId;

/// A cell with an initial state computed from x by `start`.
fn from(start: fn(&mut Graph, ValueId) -> ValueId) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 2]);
    let h = start(&mut graph, x);
    let h_out = graph.rnn("cell", x, h);
    graph.result("y", h_out);
    graph
}

fn product(graph: &mut Graph, x: ValueId, rows: usize, columns: usize, value: f32) -> ValueId {
    let w = graph.floats(&[rows, columns], &vec![value; rows * columns]);
    graph.op(PRODUCT, &[x, w])
}

fn variable(graph: &mut Graph, name: &str) -> ValueId {
    let zero = graph.floats(&[1, 3], &[0.0; 3]);
    graph.op(Op::ReadValue { variable: name.to_owned(), shape: None, element: None }, &[zero])
}

fn assign(graph: &mut Graph, name: &str, value: ValueId) {
    graph.op(Op::Assign { variable: name.to_owned() }, &[value]);
}

/// A cell that starts from a variable. The next value of the variable is `next` of x, the variable
/// and the cell's h.
fn assigned(next: fn(&mut Graph, [ValueId; 3]) -> ValueId) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 2]);
    let h = variable(&mut graph, "v");
    let h_out = graph.rnn("cell", x, h);
    let next = next(&mut graph, [x, h, h_out]);
    assign(&mut graph, "v", next);
    graph.result("y", h_out);
    graph
}

fn zero(graph: &mut Graph) -> ValueId {
    graph.floats(&[1, 3], &[0.0; 3])
}

fn restarts(graph: &Graph, options: &Options) -> Vec<String> {
    let (valid, _) = core_model(&graph.0, options).unwrap_or_else(|d| panic!("{d}"));
    valid.restarts.into_iter().map(|restart| restart.name).collect()
}

/// A value that every call computes alike is no state.
#[test]
fn states_that_are_computed_from_constants_alone_start_anew() {
    let starts: Vec<(&str, Initial)> = vec![
        ("tanh", |g, _| {
            let c = g.constant(&[1, 3]);
            g.elementwise(TANH, &[c])
        }),
        ("a product", |g, _| {
            let c = g.constant(&[1, 5]);
            product(g, c, 5, 3, 0.5)
        }),
        ("softmax, moved", |g, _| {
            let c = g.constant(&[3, 1]);
            let c = g.op(Op::Softmax(Softmax { axis: 0, log: false }), &[c]);
            let order = g.ints(&[1, 0]);
            g.op(Op::Transpose, &[c, order])
        }),
        ("a cell of constants", |g, _| {
            let (x, h) = (g.constant(&[1, 2]), zero(g));
            g.rnn("start", x, h)
        }),
        ("x times zero", |g, x| {
            let wide = product(g, x, 2, 3, 0.5);
            let zero = g.floats(&[], &[0.0]);
            g.elementwise(Binary::Multiply, &[wide, zero])
        }),
        ("zero times x, and a constant", |g, x| {
            let wide = product(g, x, 2, 3, 0.0);
            let c = g.constant(&[1, 3]);
            g.elementwise(Binary::Add, &[wide, c])
        }),
        ("x less x", |g, x| {
            let wide = product(g, x, 2, 3, 0.5);
            g.elementwise(Binary::Subtract, &[wide, wide])
        }),
        ("a variable times zero", |g, _| {
            let (v, zero) = (variable(g, "v"), zero(g));
            assign(g, "v", v);
            g.elementwise(Binary::Multiply, &[zero, v])
        }),
    ];
    for (name, start) in starts {
        let found = restarts(&from(start), &Options::default());
        assert_eq!(found.last().map(String::as_str), Some("cell"), "{name}");
    }
    let starts: Vec<(&str, Initial)> = vec![
        ("an encoder", |g, x| product(g, x, 2, 3, 0.5)),
        ("an input times a product of constants", |g, x| {
            let wide = product(g, x, 2, 3, 0.5);
            let c = g.constant(&[1, 3]);
            let c = g.elementwise(TANH, &[c]);
            g.elementwise(Binary::Multiply, &[wide, c])
        }),
        ("an input", |g, _| g.parameter("h", &[1, 3])),
    ];
    for (name, start) in starts {
        assert_eq!(restarts(&from(start), &Options::default()), [""; 0], "{name}");
    }
}

#[test]
fn variables_that_the_last_state_does_not_reach_keep_nothing() {
    let lost: Vec<(&str, Next)> = vec![
        ("a constant", |g, _| g.constant(&[1, 3])),
        ("itself", |_, [_, h, _]| h),
        ("half of itself", |g, [_, h, _]| {
            let half = g.floats(&[], &[0.5]);
            g.elementwise(Binary::Multiply, &[h, half])
        }),
        ("what is computed from x", |g, [x, ..]| product(g, x, 2, 3, 0.5)),
        ("the last state times zero", |g, [_, _, last]| {
            let zero = zero(g);
            g.elementwise(Binary::Multiply, &[last, zero])
        }),
        ("another cell's last state", |g, [x, ..]| {
            let h = variable(g, "w");
            let last = g.rnn("other", x, h);
            assign(g, "w", last);
            last
        }),
    ];
    let mut cases = Vec::new();
    for (name, next) in lost {
        assert_eq!(restarts(&assigned(next), &Options::default()), ["cell"], "{name}");
        cases.push((name, assigned(next), Options::default()));
    }
    cases.push((
        "tanh of a variable",
        from(|g, x| {
            let v = variable(g, "v");
            let next = product(g, x, 2, 3, 0.5);
            assign(g, "v", next);
            g.elementwise(TANH, &[v])
        }),
        Options::default(),
    ));
    insta::assert_snapshot!(said(cases));
    let kept: Vec<(&str, Next)> = vec![
        ("the last state", |_, [.., last]| last),
        ("the last state, faded", |g, [_, h, last]| {
            let sum = g.elementwise(Binary::Add, &[h, last]);
            g.elementwise(TANH, &[sum])
        }),
        ("what a second cell makes of it", |g, [x, _, last]| g.rnn("second", x, last)),
        ("by way of another variable", |g, [.., last]| {
            let other = variable(g, "w");
            assign(g, "w", last);
            other
        }),
        ("an input decides", |g, [_, _, last]| {
            let keep = g.parameter("keep", &[1, 1]);
            g.elementwise(Binary::Multiply, &[last, keep])
        }),
    ];
    for (name, next) in kept {
        assert_eq!(restarts(&assigned(next), &Options::default()), [""; 0], "{name}");
    }
    // two layers with crossed variables: each state reaches the other cell and comes back a call
    // later
    let mut crossed = Graph::default();
    let x = crossed.parameter("x", &[1, 2]);
    let (a, b) = (variable(&mut crossed, "a"), variable(&mut crossed, "b"));
    let first = crossed.rnn("first", x, a);
    let second = crossed.rnn("second", x, b);
    assign(&mut crossed, "a", second);
    assign(&mut crossed, "b", first);
    crossed.result("y", second);
    assert_eq!(restarts(&crossed, &Options::default()), [""; 0]);
}

/// h of an LSTM is kept and c is not.
#[test]
fn each_state_of_a_cell_counts() {
    let mut graph = Graph::default();
    let (x, h, c) =
        (graph.parameter("x", &[1, 2]), variable(&mut graph, "h"), graph.constant(&[1, 3]));
    let weights = [graph.constant(&[12, 2]), graph.constant(&[12, 3]), graph.constant(&[12])];
    let inputs = [x, h, c, weights[0], weights[1], weights[2]];
    let out = graph.ops(Op::Cell(Cell::new(CellKind::Lstm, 3)), &inputs, 2);
    assign(&mut graph, "h", out[0]);
    graph.result("y", out[0]);
    let (_, warnings) = core_model(&graph.0, &Options::default()).unwrap();
    assert!(warnings.to_string().contains("nothing keeps c between calls\n"), "{warnings}");
}

/// Unrolled steps of a cell. Each step has constants of its own; `equal`: true if all steps have
/// equal weights.
fn written_out(
    steps: usize,
    equal: bool,
    between: fn(&mut Graph, ValueId, ValueId) -> ValueId,
) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 2]);
    let mut h = zero(&mut graph);
    for step in 0..steps {
        if step > 0 {
            h = between(&mut graph, h, x);
        }
        let value = if equal { 0.5 } else { step as f32 };
        let weights =
            [[3, 2], [3, 3]].map(|shape| graph.floats(&shape, &vec![value; shape[0] * shape[1]]));
        let b = graph.constant(&[3]);
        h = graph.cell(&format!("step {step}"), rnn(3), &[x, h, weights[0], weights[1], b]);
    }
    graph.result("y", h);
    graph
}

#[test]
fn steps_that_are_written_out_go_on_where_their_weights_are_equal() {
    let as_it_is = |_: &mut Graph, h: ValueId, _: ValueId| h;
    let masked = |graph: &mut Graph, h: ValueId, x: ValueId| {
        let gate = product(graph, x, 2, 3, 0.5);
        let gate = graph.elementwise(SIGMOID, &[gate]);
        graph.elementwise(Binary::Multiply, &[h, gate])
    };
    for between in [as_it_is, masked] {
        assert_eq!(restarts(&written_out(3, true, between), &Options::default()), [""; 0]);
        // with other weights in the second step, the steps are two cells: no state comes back to
        // the first
        assert_eq!(restarts(&written_out(2, false, between), &Options::default()), ["step 0"]);
    }
    let with = |other: bool| {
        let mut graph = written_out(2, true, |_, h, _| h);
        let h = if other { zero(&mut graph) } else { graph.parameter("h", &[1, 3]) };
        let y = graph.rnn("alone", ValueId(0), h);
        graph.result("z", y);
        graph
    };
    assert_eq!(
        restarts(&with(true), &Options::default()),
        ["alone"],
        "equal weights, and no step of the others"
    );
    assert_eq!(restarts(&with(false), &Options::default()), [""; 0]);
}

#[test]
fn long_chains_are_looked_at_once() {
    let variables = |count: usize| {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[1, 2]);
        // each variable takes the value of the next one: the last state comes back after `count`
        // calls
        let variables: Vec<ValueId> =
            (0..count).map(|i| variable(&mut graph, &format!("v{i}"))).collect();
        let h_out = graph.rnn("cell", x, variables[0]);
        for (i, _) in variables.iter().enumerate() {
            let next = variables.get(i + 1).copied().unwrap_or(h_out);
            assign(&mut graph, &format!("v{i}"), next);
        }
        graph.result("y", h_out);
        graph
    };
    let steps = |count: usize| written_out(count, true, |_, h, _| h);
    for chain in [&variables as &dyn Fn(usize) -> Graph, &steps] {
        let looks = [500, 1_000].map(|count| {
            let graph = chain(count);
            assert_eq!(restarts(&graph, &Options::default()), [""; 0]);
            let (valid, _) =
                core_model(&graph.0, &Options::default()).unwrap_or_else(|d| panic!("{d}"));
            Dependence::new(&valid, &valid.all_nodes()).looks
        });
        // a chain of twice the length costs twice the looks
        assert!(looks[0] > 500 && looks[1] <= 2 * looks[0] + 100, "{looks:?}");
    }
}

/// A loop of one iteration without a cell: the next carried value is tanh of the sum of the slice
/// and the carried value.
fn handed_on(start: fn(&mut Graph, ValueId) -> ValueId, keep: bool) -> Graph {
    handed_on_for(1, start, keep)
}

/// As [`handed_on`], with `trips` iterations.
fn handed_on_for(trips: isize, start: fn(&mut Graph, ValueId) -> ValueId, keep: bool) -> Graph {
    let mut body = Graph::default();
    let [x, h] = ["x", "h"]
        .map(|name| body.node(name, Op::Parameter, &[], Graph::value(None, ElementType::F32)));
    let sum = body.elementwise(Binary::Add, &[x, h]);
    let next = body.elementwise(TANH, &[sum]);
    body.result("h", next);
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[trips, 3]);
    let h = start(&mut graph, x);
    let slice = Slicing { axis: 0, start: 0, end: -1, stride: 1, part_size: 1 };
    let inputs = vec![
        LoopInput { parameter: 0, input: 0, slice: Some(slice), back_edge: None },
        LoopInput { parameter: 1, input: 1, slice: None, back_edge: Some(0) },
    ];
    let outputs = vec![LoopOutput { result: 0, concatenation: None }];
    let op = Loop {
        body: body.0,
        counted: false,
        inputs,
        outputs,
        current_iteration: None,
        condition: None,
    };
    let out = graph.op(Op::Loop(Box::new(op)), &[x, h]);
    if keep {
        assign(&mut graph, "v", out);
    }
    graph.result("y", out);
    graph
}

#[test]
fn loops_of_one_iteration_start_anew_as_cells_do() {
    let constant = |g: &mut Graph, _: ValueId| {
        let c = g.constant(&[1, 3]);
        g.elementwise(TANH, &[c])
    };
    assert_eq!(restarts(&handed_on(constant, false), &Options::default()), ["loop"]);
    assert_eq!(restarts(&handed_on(|g, _| variable(g, "v"), false), &Options::default()), ["loop"]);
    assert_eq!(restarts(&handed_on(|g, _| variable(g, "v"), true), &Options::default()), [""; 0]);
    assert_eq!(restarts(&handed_on(|_, x| x, false), &Options::default()), [""; 0]);
}

/// The warning advises an open number of steps only if the model then has no errors.
#[test]
fn ways_out_are_ways_out() {
    let options = shapes(&[("x", &[1, 1, H])]);
    let open = Options::default().with_shapes(vec![("x".to_owned(), vec![Some(1), None, Some(H)])]);
    let learned = |graph: &mut Graph, x: ValueId| {
        let zeros = zeros(graph, x);
        graph.elementwise(SIGMOID, &[zeros])
    };
    for (start, is_way) in [(zeros as fn(&mut Graph, ValueId) -> ValueId, true), (learned, false)] {
        let graph = started(GRU, Direction::Forward, -1, start);
        let (_, warnings) = core_model(&graph.0, &options).unwrap();
        assert_eq!(
            warnings.to_string().contains("leave the number of steps open"),
            is_way,
            "{warnings}"
        );
        assert_eq!(core_model(&graph.0, &open).is_ok(), is_way);
    }
}

/// With the option against states, layers that restart cause no warning, and the header lists them.
#[test]
fn nothing_is_said_where_no_state_is_wanted() {
    let none = Options::default().with_state(State::None);
    let graph = from(|g, _| zero(g));
    let (valid, warnings) = core_model(&graph.0, &none).unwrap();
    assert_eq!((valid.restarts.len(), warnings.0.len()), (1, 0), "{warnings}");
    let (_, warnings) = core_model(&graph.0, &Options::default()).unwrap();
    assert!(warnings.to_string().contains("--no-state"), "{warnings}");
}

/// A cell of PyTorch written as single operations, with 3 units and 3 or 4 gates. h and c start
/// from `start` of x.
fn in_parts(gates: usize, steps: usize, start: fn(&mut Graph, ValueId) -> ValueId) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[N as isize, 2]);
    let (w, r, b) = (
        graph.constant(&[2, 3 * gates]),
        graph.constant(&[3, 3 * gates]),
        graph.constant(&[3 * gates]),
    );
    let (mut h, mut c) = (start(&mut graph, x), start(&mut graph, x));
    for _ in 0..steps {
        let split = |graph: &mut Graph, value: ValueId| {
            let value = graph.elementwise(Binary::Add, &[value, b]);
            let axis = graph.int(1);
            graph.ops(Op::Split { parts: gates }, &[value, axis], gates)
        };
        let wx = graph.op(PRODUCT, &[x, w]);
        let rh = graph.node("hidden", PRODUCT, &[h, r], Graph::value(None, ElementType::F32));
        let (wx, rh) = (split(&mut graph, wx), split(&mut graph, rh));
        let mut two = |function, a, b| graph.elementwise(function, &[a, b]);
        use Binary::{Add, Multiply, Subtract};
        if gates == 3 {
            let [r, z] = [0, 1].map(|i| two(Add, wx[i], rh[i]));
            let [r, z] = [r, z].map(|gate| graph.elementwise(SIGMOID, &[gate]));
            let n = graph.elementwise(Multiply, &[r, rh[2]]);
            let n = graph.elementwise(Add, &[n, wx[2]]);
            let n = graph.elementwise(TANH, &[n]);
            let d = graph.elementwise(Subtract, &[h, n]);
            let d = graph.elementwise(Multiply, &[d, z]);
            h = graph.elementwise(Add, &[d, n]);
        } else {
            let sums = [0, 1, 2, 3].map(|i| two(Add, wx[i], rh[i]));
            let [i, f, o] = [0, 1, 3].map(|gate| graph.elementwise(SIGMOID, &[sums[gate]]));
            let g = graph.elementwise(TANH, &[sums[2]]);
            let (old, new) =
                (graph.elementwise(Multiply, &[f, c]), graph.elementwise(Multiply, &[i, g]));
            c = graph.elementwise(Add, &[old, new]);
            let bounded = graph.elementwise(TANH, &[c]);
            h = graph.elementwise(Multiply, &[o, bounded]);
        }
    }
    graph.result("y", h);
    graph
}

#[test]
fn cells_in_parts_that_start_from_a_constant_are_warned_about() {
    let rows = |graph: &mut Graph, _: ValueId| graph.floats(&[N, 3], &[0.0; 3 * N]);
    let encoded = |graph: &mut Graph, x: ValueId| product(graph, x, 2, 3, 0.5);
    for gates in [3, 4] {
        assert_eq!(restarts(&in_parts(gates, 1, rows), &Options::default()), ["hidden"], "{gates}");
        assert_eq!(
            restarts(&in_parts(gates, 2, rows), &Options::default()),
            [""; 0],
            "steps that are written out"
        );
        assert_eq!(restarts(&in_parts(gates, 1, encoded), &Options::default()), [""; 0], "{gates}");
    }
    insta::assert_snapshot!(said(vec![("nn.GRUCell", in_parts(3, 1, rows), Options::default())]));
}

/// Products of constants that belong to no cell: a learned query, and gates with a learned
/// condition.
#[test]
fn products_of_constants_are_no_cells_by_themselves() {
    for gates in [1, 3, 4] {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[N as isize, 3]);
        let query = graph.constant(&[N, 3]);
        let (q, k) = (
            product(&mut graph, query, 3, 3 * gates, 0.5),
            product(&mut graph, x, 3, 3 * gates, 0.25),
        );
        let sum = graph.elementwise(Binary::Add, &[q, k]);
        let (a, b) = (graph.elementwise(TANH, &[sum]), graph.elementwise(SIGMOID, &[sum]));
        let y = graph.elementwise(Binary::Multiply, &[a, b]);
        graph.result("y", y);
        assert_eq!(restarts(&graph, &Options::default()), [""; 0]);
    }
}

/// Notices about layers whose states begin anew at each call of several steps.
#[test]
fn states_that_begin_anew_at_calls_of_several_steps_are_said() {
    let whole = |steps: usize| shapes(&[("x", &[1, steps, H])]);
    let said = |graph: &Graph, options: &Options| {
        let (_, warnings) = core_model(&graph.0, options).unwrap_or_else(|d| panic!("{d}"));
        let all: Vec<_> = warnings.0.into_iter().filter(|d| d.found.contains("anew")).collect();
        assert!(all.len() < 2, "{all:?}");
        Diagnostics(all).to_string()
    };
    let learned = |graph: &mut Graph, x: ValueId| {
        let zeros = zeros(graph, x);
        graph.elementwise(SIGMOID, &[zeros])
    };
    const SAYS: &str = "begins anew at each call of 7 steps";
    for start in [zeros as fn(&mut Graph, ValueId) -> ValueId, learned] {
        for kind in [GRU, CellKind::Lstm] {
            let text = said(&started(kind, Direction::Forward, 7, start), &whole(7));
            assert!(text.contains(SAYS), "{kind:?}: {text}");
        }
    }
    let open = said(&started(GRU, Direction::Forward, -1, zeros), &whole(7));
    assert!(
        open.contains(&format!("leave the number of steps open, --shape 'x=1,?,{H}'")),
        "{open}"
    );
    assert!(said(&handed_on_for(7, |g, _| zero(g), false), &Options::default()).contains(SAYS));
    // no notice if the state is an input or kept, if the layer runs in reverse, or if the user
    // wants no state
    let from_input = |graph: &mut Graph, _: ValueId| graph.parameter("h", &[1, 3]);
    assert_eq!(said(&handed_on_for(7, from_input, false), &Options::default()), "");
    assert_eq!(said(&handed_on_for(7, |g, _| variable(g, "v"), true), &Options::default()), "");
    assert_eq!(said(&started(GRU, Direction::Reverse, 7, zeros), &whole(7)), "");
    assert_eq!(
        said(&started(GRU, Direction::Forward, -1, zeros), &whole(7).with_state(State::None)),
        ""
    );
    let left_open =
        Options::default().with_shapes(vec![("x".to_owned(), vec![Some(1), None, Some(H)])]);
    assert_eq!(said(&started(GRU, Direction::Forward, -1, zeros), &left_open), "");
    // no notice for a model with the sizes of a call
    let mut of_files = started(GRU, Direction::Forward, 7, zeros);
    of_files.0.sizes = SizesOf::Calls;
    assert_eq!(said(&of_files, &whole(7)), "");
}

/// Unrolled steps, as Keras traces them, restart at every call, too.
#[test]
fn steps_that_are_written_out_begin_anew() {
    for (fed, is_said) in [(true, true), (false, false)] {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[1, 5, 3]);
        let (axis, weights) = (graph.int(1), graph.floats(&[3, 3], &[0.25; 9]));
        let mut h = graph.floats(&[1, 3], &[0.0; 3]);
        for step in 0..5 {
            let at = graph.int(step);
            let piece = graph.op(Op::Gather { batch_dims: 0 }, &[x, at, axis]);
            // a dense layer on each step keeps no state
            let product = graph.op(PRODUCT, &[if fed { h } else { piece }, weights]);
            let sum = graph.elementwise(Binary::Add, &[product, piece]);
            h = graph.elementwise(TANH, &[sum]);
            if !fed {
                graph.result(&format!("y{step}"), h);
            }
        }
        if fed {
            graph.result("y", h);
        }
        let (_, warnings) =
            core_model(&graph.0, &Options::default()).unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(
            warnings.to_string().contains("begins anew at each call of 5 steps"),
            is_said,
            "{warnings}"
        );
    }
}

/// A size that the user gave by name is opened by name. For a fixed size, lines change the file.
#[test]
fn the_number_of_steps_is_opened_where_it_was_fixed() {
    let graph = |file: &str, producer: Option<&str>, steps: isize| {
        let mut graph = started(GRU, Direction::Forward, steps, zeros);
        let x = graph.0.nodes[graph.0.parameters[0]].outputs[0].0;
        graph.0.values[x].names = vec!["x".to_owned()];
        graph.0.values[x].shape.as_mut().unwrap()[0] = Dim::Fixed(1);
        graph.0.files = vec![InputFile { name: file.to_owned(), sha256: String::new() }];
        graph.0.producer = producer.map(str::to_owned);
        graph
    };
    let said =
        |graph: &Graph, options: &Options| core_model(&graph.0, options).unwrap().1.to_string();
    for steps in [1, 7] {
        let mut named = graph("net.onnx", Some("pytorch"), steps);
        let name = |name: &str| crate::model::AxisName {
            input: "x".to_owned(),
            axis: 1,
            name: name.to_owned(),
        };
        named.0.axis_names = vec![name("frames")];
        let given = Options::default().with_dims(vec![("frames".to_owned(), Some(steps as usize))]);
        let text = said(&named, &given);
        assert!(text.contains("leave the number of steps open, --dim 'frames=?'"), "{text}");
        assert!(!text.contains("export("), "{text}");
        let pytorch = said(&graph("net.onnx", Some("pytorch"), steps), &Options::default());
        assert!(
            pytorch.contains("dynamic_shapes={\"x\": {1: torch.export.Dim(\"steps\")}})"),
            "{pytorch}"
        );
        assert!(
            pytorch.contains("\n# in a new process: PyTorch 2.15 ignores dynamic_shapes"),
            "{pytorch}"
        );
        // a Keras model has no torch.nn.Module to export
        if steps > 1 {
            let keras = said(&graph("net.onnx", Some("keras"), steps), &Options::default());
            assert!(
                keras.contains("model.export with format=\"openvino\"") && !keras.contains("torch"),
                "{keras}"
            );
        }
        let onnx = said(&graph("my net.onnx", None, steps), &Options::default());
        assert!(onnx.contains("x.type.tensor_type.shape.dim[1].dim_param = \"steps\""), "{onnx}");
        let openvino = said(&graph("net.xml", None, steps), &Options::default());
        assert!(
            openvino.contains(&format!("model.reshape({{\"x\": [1, -1, {H}]}})")),
            "{openvino}"
        );
    }
}

/// With an open number of steps, the state starts from the constant of the model and is kept. A
/// warning says so if the user wants no state.
#[test]
fn no_state_beside_open_steps_is_warned_about() {
    let learned = |graph: &mut Graph, _: ValueId| graph.floats(&[1, 1, H], &[0.5, -0.25, 0.125]);
    let graph = started(GRU, Direction::Forward, -1, learned);
    let open = vec![("x".to_owned(), vec![Some(1), None, Some(H)])];
    for (state, is_warned) in [(State::None, true), (State::Auto, false)] {
        let options = Options::default().with_shapes(open.clone()).with_state(state);
        let (valid, warnings) = core_model(&graph.0, &options).unwrap_or_else(|d| panic!("{d}"));
        assert!(valid.steps.is_some());
        // the state is a variable that begins with the constant of the model
        assert_eq!(valid.variables.iter().filter(|variable| variable.initial.is_some()).count(), 1);
        let said = warnings.to_string();
        assert_eq!(
            said.contains("--no-state has no effect where the number of steps is open"),
            is_warned,
            "{said}"
        );
    }
}
