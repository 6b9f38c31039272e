//! Shapes that hints print: the model is right with each of them.

use super::states::{FORWARD, GRU, H, started, zeros};
use super::*;
use crate::model::Direction;

/// The shapes in the help of a message, as `--shape` takes them.
fn printed(text: &str) -> Vec<(String, Vec<Option<usize>>)> {
    let words = text.split("--shape ").skip(1).map(|rest| rest.split([' ', ';', '\n']).next().unwrap_or_default());
    let shapes = words.filter_map(|word| word.trim_matches([',', '\'']).split_once('='));
    let size = |size: &str| if size == "?" { None } else { Some(size.parse().expect("a number, no letter")) };
    shapes.map(|(name, sizes)| (name.to_owned(), sizes.split(',').map(size).collect())).collect()
}

/// The help of a refusal, once each shape in it has been tried.
fn tried_help(graph: &Graph, options: &Options) -> (String, usize) {
    let refusal = validate(&graph.0, options).expect_err("sizes are open").to_string();
    let shapes = printed(&refusal);
    for shape in &shapes {
        let with = Options { shapes: vec![shape.clone()], ..Options::default() };
        assert!(validate(&graph.0, &with).is_ok(), "{shape:?} does not work: {refusal}");
    }
    (refusal, shapes.len())
}

/// Planes that a Reshape takes for one row of so many elements.
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
    let open =
        |sizes: &[Option<usize>]| Options { shapes: vec![("x".to_owned(), sizes.to_vec())], ..Options::default() };
    let cases = [
        ("a sequence", started(GRU, FORWARD, -1, zeros), Options::default(), 2),
        ("both directions", started(GRU, Direction::Bidirectional, -1, both), Options::default(), 1),
        ("rows first", started(GRU, FORWARD, -1, zeros), open(&[None, Some(16), Some(H)]), 1),
        ("rows first, fixed steps", started(GRU, FORWARD, 16, zeros), open(&[None, Some(16), Some(H)]), 1),
        ("planes", planes(&[-1, 1, -1, 1], 256), Options::default(), 1),
        ("planes of no length that is tried", planes(&[-1, 1, -1, 1], 7777), Options::default(), 0),
        ("planes of open width", planes(&[1, 1, -1, -1], 64 * 64), Options::default(), 1),
    ];
    for (name, graph, options, count) in cases {
        let (help, printed) = tried_help(&graph, &options);
        assert_eq!(printed, count, "{name}: {help}");
    }
}

#[test]
fn an_axis_of_rows_is_named() {
    let given = Options { shapes: vec![("x".to_owned(), vec![None, Some(16), Some(H)])], ..Options::default() };
    let (help, _) = tried_help(&started(GRU, FORWARD, -1, zeros), &given);
    assert!(help.contains(&format!("the first axis counts rows: --shape 'x=1,?,{H}'")), "{help}");
}

/// A row of samples has samples, not steps.
#[test]
fn samples_are_no_steps() {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[-1, -1]);
    let sizes = graph.ints(&[1, 16, 16]);
    let y = graph.op(Op::Reshape { zero_keeps: false }, &[x, sizes]);
    graph.result("y", y);
    let (help, count) = tried_help(&graph, &Options::default());
    assert!(count == 1 && help.contains("give the number of samples of a call, --shape x=1,256"), "{help}");
    assert!(!help.contains("steps"), "{help}");
}

/// Layers without names are not taken for the first node without a name.
#[test]
fn layers_without_names_are_told_apart() {
    let mut graph = started(GRU, FORWARD, 4, zeros);
    graph.0.nodes.iter_mut().for_each(|node| node.name.clear());
    let options = Options { threads: crate::options::Threads::Two, ..shapes(&[("in0", &[1, 4, H])]) };
    let refusal = validate(&graph.0, &options).expect_err("a sequence").to_string();
    assert!(refusal.contains("cannot share the GRUSequence without a name, a sequence"), "{refusal}");
    assert!(refusal.contains("layer: \"\" (GRUSequence,"), "{refusal}");
}

/// Integers that f32 does not hold are said to be limited; narrow ones and indices are not.
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
        let (_, said) = validate(&graph.0, &Options::default()).unwrap_or_else(|d| panic!("{d}"));
        said.to_string()
    };
    const SAYS: &str = "below -4194304 a number counts as -4194304, and above 4194303 as 4194303";
    for element in [ElementType::I32, ElementType::I64] {
        assert!(said(element, false).contains(SAYS), "{}", said(element, false));
        assert!(!said(element, true).contains("counts as"), "{}", said(element, true));
    }
    assert!(!said(ElementType::I16, false).contains("counts as"));
}
