//! Nested graphs of nodes in functions: operator sets and names.

use super::{
    called, computed, field, file, floats, graph_attribute, int, ints, long, node, read, value,
};

/// The domain of the function `F`.
const OWN: &[u8] = b"own";

/// A file of operator set 17 with a function `F` of operator set `set` and the nodes `body`. The
/// function maps `a` to `b`, and declares the attribute `graph`. `y` is `F` of `x`, and `t` is -`x`.
fn with_function(set: i64, body: &[Vec<u8>], attributes: &[u8]) -> Vec<u8> {
    with_defaults(set, body, attributes, &[])
}

/// As [`with_function`], with encoded `defaults` of the function's attributes.
fn with_defaults(set: i64, body: &[Vec<u8>], attributes: &[u8], defaults: &[u8]) -> Vec<u8> {
    let body: Vec<u8> = body.iter().flat_map(|node| long(7, node)).collect();
    let names = [long(1, b"F"), long(4, b"a"), long(5, b"b"), long(6, b"graph")].concat();
    let function = [names, body, long(9, &int(2, set)), long(10, OWN), defaults.to_vec()].concat();
    let graph = [
        long(1, &node("Neg", &["x"], "t", &[])),
        long(1, &node("F", &["x"], "y", &[attributes, &long(7, OWN)].concat())),
        long(11, &value("x", 3)),
        long(12, &value("y", 3)),
    ];
    let own = long(8, &[long(1, OWN), int(2, 1)].concat());
    [file(&graph.concat(), 17), own, long(25, &function)].concat()
}

/// A node that makes the constant `c`: true.
fn truth() -> Vec<u8> {
    let tensor = long(5, &[int(2, 9), long(5, &ints(&[1]))].concat());
    node("Constant", &[], "c", &long(5, &[long(1, b"value"), tensor, int(20, 4)].concat()))
}

/// A node that makes `b` by one of two equal branches.
fn choice(branch: &[u8]) -> Vec<u8> {
    let branches = ["then_branch", "else_branch"].map(|name| graph_attribute(name, branch));
    node("If", &["c"], "b", &branches.concat())
}

#[test]
fn branches_of_a_function_have_the_operator_set_of_the_function() {
    // from operator set 11 on, the bounds of Clip are inputs
    let least = long(5, &[long(1, b"min"), field(2, 5, &floats(&[0.5])), int(20, 1)].concat());
    let branch = [long(1, &node("Clip", &["a"], "d", &least)), long(12, &value("d", 3))].concat();
    let bytes = with_function(10, &[truth(), choice(&branch)], &[]);
    assert_eq!(computed(&bytes, [1.0, -2.0, 0.25]), [1.0, 0.5, 0.5]);
    // and the nodes after the call have the operator set of the file
    let branch = [
        called("least", 1, &[], &long(4, &floats(&[0.5]))),
        long(1, &node("Clip", &["a", "least"], "d", &[])),
        long(12, &value("d", 3)),
    ];
    let bytes = with_function(17, &[truth(), choice(&branch.concat())], &[]);
    assert_eq!(computed(&bytes, [1.0, -2.0, 0.25]), [1.0, 0.5, 0.5]);
}

#[test]
fn sparse_tensors_of_branches_in_a_function_have_the_names_of_the_call() {
    let values = [int(1, 1), int(2, 1), long(8, b"s"), long(4, &floats(&[5.0]))].concat();
    let indices = [int(1, 1), int(2, 7), long(7, &ints(&[2]))].concat();
    let sparse = [long(1, &values), long(2, &indices), int(3, 3)].concat();
    let branch =
        [long(15, &sparse), long(1, &node("Add", &["a", "s"], "d", &[])), long(12, &value("d", 3))];
    let bytes = with_function(17, &[truth(), choice(&branch.concat())], &[]);
    assert_eq!(computed(&bytes, [1.0, -2.0, 0.5]), [1.0, -2.0, 5.5]);
}

/// A graph that is the attribute of a call reads names of the caller: `t` is the graph's, not the
/// function's.
#[test]
fn a_graph_that_a_call_passes_reads_the_names_of_the_caller() {
    let passed = graph_attribute(
        "graph",
        &[long(1, &node("Add", &["t", "t"], "d", &[])), long(12, &value("d", 3))].concat(),
    );
    let references = ["then_branch", "else_branch"]
        .map(|name| long(5, &[long(1, name.as_bytes()), int(20, 5), long(21, b"graph")].concat()));
    let inner = node("Abs", &["a"], "t", &[]);
    let choice = node("If", &["c"], "b", &references.concat());
    let bytes = with_function(17, &[truth(), inner, choice], &passed);
    assert_eq!(computed(&bytes, [1.0, -2.0, 0.5]), [-2.0, 4.0, -1.0]);
}

/// A node of a function may have a graph of the function and a graph that the call passes, also
/// inside of another graph of the function. Each graph has the operator sets of its author.
#[test]
fn own_and_passed_branches_of_a_node_have_operator_sets_of_their_own() {
    // from operator set 11 on, the bounds of Clip are inputs
    let least = long(5, &[long(1, b"min"), field(2, 5, &floats(&[0.5])), int(20, 1)].concat());
    let own = [long(1, &node("Clip", &["a"], "d", &least)), long(12, &value("d", 3))].concat();
    let passed = [
        called("least", 1, &[], &long(4, &floats(&[0.5]))),
        long(1, &node("Clip", &["t", "least"], "e", &[])),
        long(12, &value("e", 3)),
    ];
    let passed = graph_attribute("graph", &passed.concat());
    let reference =
        |name: &str| long(5, &[long(1, name.as_bytes()), int(20, 5), long(21, b"graph")].concat());
    let mixed = |output: &str, [of_own, of_passed]: [&str; 2]| {
        let branches = [graph_attribute(of_own, &own), reference(of_passed)].concat();
        node("If", &["c"], output, &branches)
    };
    let (then, otherwise) = ("then_branch", "else_branch");
    let cases = [([then, otherwise], [1.0, 0.5, 0.5]), ([otherwise, then], [0.5, 2.0, 0.5])];
    for (branches, wanted) in cases {
        let bytes = with_function(10, &[truth(), mixed("b", branches)], &passed);
        assert_eq!(computed(&bytes, [1.0, -2.0, 0.25]), wanted);
        let outer = [long(1, &mixed("i", branches)), long(12, &value("i", 3))].concat();
        let bytes = with_function(10, &[truth(), choice(&outer)], &passed);
        assert_eq!(computed(&bytes, [1.0, -2.0, 0.25]), wanted);
    }
}

/// A default graph with a node that refers to the default graph has no end.
#[test]
fn a_default_graph_that_contains_itself_is_refused() {
    let references = ["then_branch", "else_branch"]
        .map(|name| long(5, &[long(1, name.as_bytes()), int(20, 5), long(21, b"other")].concat()));
    let choice = |output: &str| node("If", &["c"], output, &references.concat());
    let graph = [long(1, &truth()), long(1, &choice("d")), long(12, &value("d", 3))].concat();
    let default = long(11, &[long(1, b"other"), long(6, &graph), int(20, 5)].concat());
    let bytes = with_defaults(17, &[truth(), choice("b")], &[], &default);
    let said = read(&bytes, None).expect_err("there is no end").to_string();
    assert!(said.contains("then_branch"), "{said}");
}
