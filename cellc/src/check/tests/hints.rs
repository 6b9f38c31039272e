//! Shapes that hints print: the model has no error with any of these shapes.

use super::batch::recurrent_alone;
use super::states::{FORWARD, GRU, H, started, zeros};
use super::*;
use crate::model::{Convolution, Direction, Groups, OutputSizes, PadMode, Padding, Window};

/// The shapes in the help of a message, as `--shape` takes them: one list for each group of
/// adjacent `--shape` options.
fn printed(text: &str) -> Vec<Vec<(String, Vec<Option<usize>>)>> {
    let size = |size: &str| {
        if size == "?" { None } else { Some(size.parse().expect("a number, no letter")) }
    };
    let mut lines: Vec<Vec<(String, Vec<Option<usize>>)>> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    let mut follows = false;
    while let Some(word) = words.next() {
        if word != "--shape" {
            follows = false;
            continue;
        }
        let shape = words.next().unwrap_or_default();
        let Some((name, sizes)) = shape.trim_matches([',', '\'', ';']).split_once('=') else {
            continue;
        };
        let shape_of = (name.to_owned(), sizes.split(',').map(size).collect());
        match lines.last_mut().filter(|_| follows) {
            Some(line) => line.push(shape_of),
            None => lines.push(vec![shape_of]),
        }
        follows = !shape.ends_with([',', ';']);
    }
    lines
}

/// The help of a refusal, after a check that the model has no errors with each shape in the help,
/// and the number of these shapes.
fn tried_help(graph: &Graph, options: &Options) -> (String, usize) {
    let refusal = core_model(&graph.0, options).expect_err("sizes are open").to_string();
    let lines = printed(&refusal);
    for shapes in &lines {
        let with = Options::default().with_shapes(shapes.clone());
        assert!(core_model(&graph.0, &with).is_ok(), "{shapes:?} does not work: {refusal}");
    }
    for rows in [1, 2].into_iter().filter(|rows| refusal.contains(&format!("--batch {rows},"))) {
        assert!(
            core_model(&graph.0, &batch(rows)).is_ok(),
            "the batch size {rows} does not work: {refusal}"
        );
    }
    (refusal, lines.len())
}

/// An input of planes that a Reshape flattens to one row of `elements` elements.
fn planes(shape: &[isize], elements: i64) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", shape);
    let sizes = graph.ints(&[1, elements]);
    let y = graph.op(Op::Reshape { zero_keeps: false }, &[x, sizes]);
    graph.result("y", y);
    graph
}

#[test]
fn every_shape_that_a_hint_prints_works() {
    let both = |graph: &mut Graph, x: ValueId| {
        let one = zeros(graph, x);
        graph.op(Op::Concat { axis: 1 }, &[one, one])
    };
    let open = |sizes: &[Option<usize>]| {
        Options::default().with_shapes(vec![("x".to_owned(), sizes.to_vec())])
    };
    let cases = [
        ("a sequence", started(GRU, FORWARD, -1, zeros), Options::default(), 2),
        (
            "both directions",
            started(GRU, Direction::Bidirectional, -1, both),
            Options::default(),
            1,
        ),
        ("rows first", started(GRU, FORWARD, -1, zeros), open(&[None, Some(16), Some(H)]), 1),
        (
            "rows first, fixed steps",
            started(GRU, FORWARD, 16, zeros),
            open(&[None, Some(16), Some(H)]),
            1,
        ),
        ("planes", planes(&[-1, 1, -1, 1], 256), Options::default(), 1),
        ("planes of no length that is tried", planes(&[-1, 1, -1, 1], 7777), Options::default(), 0),
        ("planes of open width", planes(&[1, 1, -1, -1], 64 * 64), Options::default(), 1),
    ];
    for (name, graph, options, count) in cases {
        let (help, printed) = tried_help(&graph, &options);
        assert_eq!(printed, count, "{name}: {help}");
    }
}

/// If the batch size alone gives all open sizes, every hint proposes the batch size.
#[test]
fn one_batch_size_settles_several_inputs() {
    let state = |graph: &mut Graph, _: ValueId| graph.parameter("h", &[-1, 1, H as isize]);
    let mut graph = started(GRU, FORWARD, -1, state);
    let sequence =
        graph.0.nodes.iter().find(|node| matches!(node.op, Op::Sequence(..))).expect("a sequence");
    let next = sequence.outputs[1];
    graph.result("h_out", next);
    let (help, _) = tried_help(&graph, &Options::default());
    assert_eq!(help.matches("give the batch size, --batch 1").count(), 2, "{help}");
    assert!(
        help.contains("--batch 1: the number of steps stays open, and the state goes on"),
        "{help}"
    );
}

#[test]
fn an_axis_of_rows_is_named() {
    let given =
        Options::default().with_shapes(vec![("x".to_owned(), vec![None, Some(16), Some(H)])]);
    let (help, _) = tried_help(&started(GRU, FORWARD, -1, zeros), &given);
    assert!(
        help.contains("axis 0 of the input \"x\" counts the rows of the batch of \"grusequence\""),
        "{help}"
    );
    assert!(
        help.contains(&format!("leave axis 1 open and fix the batch, --shape 'x=1,?,{H}'")),
        "{help}"
    );
}

/// The help for a row of samples calls the steps samples.
#[test]
fn samples_are_no_steps() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[-1, -1]);
    let sizes = graph.ints(&[1, 16, 16]);
    let y = graph.op(Op::Reshape { zero_keeps: false }, &[x, sizes]);
    graph.result("y", y);
    let (help, count) = tried_help(&graph, &Options::default());
    assert!(
        count == 1 && help.contains("give the number of samples of a call, --shape x=1,256"),
        "{help}"
    );
    assert!(!help.contains("steps"), "{help}");
}

/// A convolution without pads.
pub(super) fn valid_convolution() -> Op {
    let padding = Padding::Explicit { begin: Vec::new(), end: Vec::new() };
    Op::Convolution(Box::new(Convolution {
        kernel: Vec::new(),
        window: Window { strides: Vec::new(), dilations: Vec::new(), padding },
        groups: Groups::Count(1),
        transposed: false,
        output_padding: Vec::new(),
        output_sizes: OutputSizes::Follow,
    }))
}

/// A convolution over time: its last axis counts the steps, which may stay open. The help calls
/// steps of one channel samples.
#[test]
fn steps_behind_channels_may_stay_open() {
    for (channels, count_of) in [(1, "number of samples"), (4, "number of steps")] {
        let mut graph = Graph::default();
        let x = graph.parameter("x", &[-1, channels, -1]);
        let [begin, end, zero] =
            [graph.ints(&[0, 0, 2]), graph.ints(&[0, 0, 0]), graph.floats(&[], &[0.0])];
        let padded = graph.op(Op::Pad(PadMode::Constant), &[x, begin, end, zero]);
        let w = graph.constant(&[3, channels as usize, 3]);
        let y = graph.op(valid_convolution(), &[padded, w]);
        graph.result("y", y);
        let (help, count) = tried_help(&graph, &Options::default());
        assert_eq!(count, 2, "{help}");
        assert!(
            help.contains(&format!("leave the {count_of} open, --shape 'x=1,{channels},?'")),
            "{help}"
        );
        assert!(!help.contains("other sizes"), "{help}");
    }
}

/// An error about a layer without a name is not placed at the first node without a name.
#[test]
fn layers_without_names_are_told_apart() {
    let mut graph = started(GRU, FORWARD, 4, zeros);
    graph.0.nodes.iter_mut().for_each(|node| node.name.clear());
    let options = shapes(&[("in0", &[1, 4, H])]).with_threads(crate::request::Threads::Two);
    let refusal = core_model(&graph.0, &options).expect_err("a sequence").to_string();
    assert!(
        refusal.contains("cannot share the GRUSequence without a name, a sequence"),
        "{refusal}"
    );
    assert!(refusal.contains("layer: \"\" (GRUSequence,"), "{refusal}");
}

/// Two threads are refused for open steps, with the reason of a sequence.
#[test]
fn two_threads_and_open_steps_have_their_own_reason() {
    let graph = started(GRU, FORWARD, -1, zeros);
    let open = vec![("in0".to_owned(), vec![Some(1), None, Some(H)])];
    let options = Options::default().with_shapes(open);
    let options = options.with_threads(crate::request::Threads::Two);
    let refusal = core_model(&graph.0, &options).expect_err("a sequence").to_string();
    let reason = "a sequence: they would have to synchronise at every step";
    assert!(refusal.contains(reason), "{refusal}");
    assert!(!refusal.contains("does not take every number"), "{refusal}");
}

/// A notice states the limits of 32-bit and 64-bit integers in f32. Narrow integers and indices
/// cause no notice.
#[test]
fn limits_of_integers_are_said() {
    let said = |element: ElementType, is_index: bool| {
        let mut graph = Graph::default();
        let n = graph.input_of("n", &[2], element);
        let y = match is_index {
            true => {
                let (table, axis) = (graph.constant(&[10, 3]), graph.int(0));
                graph.op(Op::Gather { batch_dims: 0 }, &[table, n, axis])
            }
            false => graph.convert(n, ElementType::F32),
        };
        graph.result("y", y);
        let (_, said) = core_model(&graph.0, &Options::default()).unwrap_or_else(|d| panic!("{d}"));
        said.to_string()
    };
    const SAYS: &str = "one below -4194304 is read as -4194304, one above 4194303 as 4194303";
    for element in [ElementType::I32, ElementType::I64] {
        assert!(said(element, false).contains(SAYS), "{}", said(element, false));
        assert!(!said(element, true).contains("is read as"), "{}", said(element, true));
    }
    assert!(!said(ElementType::I16, false).contains("is read as"));
}

/// The help prints the shapes of several inputs side by side. The hint finds a batch axis without a
/// name by the layer that reads the axis.
#[test]
fn hints_of_several_inputs_work_as_they_stand() {
    use super::batch::recurrent;
    for (steps_first, shape) in
        [(true, [5, -1]), (false, [-1, 5]), (false, [-1, -1]), (true, [-1, -1])]
    {
        let (help, count) = tried_help(&recurrent(steps_first, shape, &[]), &Options::default());
        assert!(count > 1 && help.contains(" --shape h=1,1,3"), "{help}");
        assert!(
            shape[1] == shape[0] || help.contains("--batch 1,") && !help.contains("steps"),
            "{help}"
        );
        accepted(&recurrent(steps_first, shape, &[]), &batch(1));
    }
}

/// An axis that is named steps, or that a layer reads as steps, is no batch axis.
#[test]
fn steps_in_front_are_found_by_name_and_by_layer() {
    let valid = accepted(&recurrent_alone(true, [-1, 1]), &Options::default());
    assert!(valid.steps.is_some());
    let mut named = Graph::default();
    let x = named.parameter("x", &[-1, 3]);
    let y = named.elementwise(Binary::Add, &[x, x]);
    named.result("y", y);
    let name = |name: &str| crate::model::AxisName {
        input: "x".to_owned(),
        axis: 0,
        name: name.to_owned(),
    };
    for (size, is_open) in
        [("steps", true), ("seq_len", true), ("T", true), ("batch", false), ("N", false)]
    {
        named.0.axis_names = vec![name(size)];
        assert_eq!(core_model(&named.0, &Options::default()).is_ok(), is_open, "{size}");
    }
}

/// For a model with fixed sizes, the lines of an export open the axis of steps, whichever axis the
/// user left open.
#[test]
fn an_export_opens_the_axis_of_steps() {
    for steps_first in [false, true] {
        let mut graph = recurrent_alone(steps_first, if steps_first { [10, 1] } else { [1, 10] });
        graph.0.producer = Some("pytorch".to_owned());
        let time = usize::from(!steps_first);
        for open in 0..3 {
            let shape = (0..3).map(|axis| Some(1).filter(|_| axis != open)).collect();
            let shape: Vec<Option<usize>> = shape;
            let fixed = graph.0.values[0].shape.clone().unwrap_or_default();
            let size = |(axis, size): (usize, Option<usize>)| match (size, &fixed[axis]) {
                (Some(_), Dim::Fixed(size)) => Some(*size),
                _ => None,
            };
            let shape = shape.into_iter().enumerate().map(size).collect();
            let options = Options::default().with_shapes(vec![("x".to_owned(), shape)]);
            let said = core_model(&graph.0, &options).expect_err("a fixed size").to_string();
            assert!(said.contains(&format!("{{{time}: torch.export.Dim(\"steps\")}}")), "{said}");
            let counts = if open == 2 { "features" } else { "the rows of a batch" };
            assert_eq!(
                said.contains(&format!("give the number of {counts}, which is fixed")),
                open != time,
                "{said}"
            );
        }
    }
}

/// If the steps of a GRU are the first axis, the second axis is the batch, whatever the name of its
/// size. Messages name the layer and a shape without errors, whichever option gave the axis.
#[test]
fn an_open_batch_is_not_taken_for_steps() {
    let name = |axis: usize, name: &str| crate::model::AxisName {
        input: "x".to_owned(),
        axis,
        name: name.to_owned(),
    };
    let graph = |steps: isize| {
        let mut graph = recurrent_alone(true, [steps, -1]);
        graph.0.axis_names = vec![name(0, "batch"), name(1, "steps")];
        graph.0.axis_names.retain(|name| name.axis > 0 || steps < 0);
        graph.0.producer = Some("pytorch".to_owned());
        graph
    };
    let open = |first: Option<usize>| {
        Options::default().with_shapes(vec![("x".to_owned(), vec![first, None, Some(H)])])
    };
    const ROWS: &str = "axis 1 of the input \"x\" counts the rows of the batch of \"grusequence\"";
    let (help, count) = tried_help(&graph(5), &open(Some(5)));
    assert!(help.contains(&format!("the number of steps is open, but {ROWS}")), "{help}");
    assert!(help.contains(", not its steps, which axis 0 counts"), "{help}");
    assert!(
        count == 1 && help.contains(&format!("--shape x=5,1,{H}, for calls of 5 steps")),
        "{help}"
    );
    assert!(help.contains("batch_first=True"), "{help}");
    assert!(help.contains("{0: torch.export.Dim(\"steps\")}"), "{help}");
    let (help, count) = tried_help(&graph(-1), &open(Some(1)));
    assert!(
        count == 1 && help.contains(ROWS) && help.contains(&format!("--shape 'x=?,1,{H}'")),
        "{help}"
    );
    // the refusal without options
    let (help, _) = tried_help(&graph(5), &Options::default());
    assert!(help.contains("give the batch size, --batch 1") && help.contains(ROWS), "{help}");
    // a batch of 100 rows, which the user may have meant as steps
    let rows = |rows: usize| {
        Options::default().with_shapes(vec![("x".to_owned(), vec![Some(5), Some(rows), Some(H)])])
    };
    let said = |graph: &Graph, options: &Options| {
        core_model(&graph.0, options).expect("a batch").1.to_string()
    };
    assert!(said(&graph(5), &rows(100)).contains(ROWS));
    // no notice about one row, nor about a batch axis that is named batch
    assert!(!said(&graph(5), &rows(1)).contains(ROWS));
    let mut called = graph(5);
    called.0.axis_names = vec![name(1, "batch")];
    assert!(!said(&called, &rows(100)).contains(ROWS));
}
