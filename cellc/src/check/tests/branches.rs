//! Branches that depend on an input.

use super::*;
use crate::model::{Branch, If};

/// A wrong branch, with the name of an LSTM: it transposes a matrix by an order of three axes.
fn wrong_lstm() -> Branch {
    let mut body = Graph::default();
    let x = body.parameter("x", &[1, 4]);
    let order = body.ints(&[1, 0, 2]);
    let y = body.op(Op::Transpose, &[x, order]);
    let node = body.0.nodes.last_mut().unwrap();
    (node.name, node.kind) = ("rnn".to_owned(), "LSTM, node 7, opset 16".to_owned());
    body.result("y", y);
    Branch { body: body.0, inputs: vec![1] }
}

fn right() -> Branch {
    let mut body = Graph::default();
    let x = body.parameter("x", &[1, 4]);
    let y = body.elementwise(Unary::Negative, &[x]);
    body.result("y", y);
    Branch { body: body.0, inputs: vec![1] }
}

/// A branch whose output has twice as many rows as the input.
fn longer() -> Branch {
    let mut body = Graph::default();
    let x = body.parameter("x", &[1, 4]);
    let y = body.op(Op::Concat { axis: 0 }, &[x, x]);
    body.result("y", y);
    Branch { body: body.0, inputs: vec![1] }
}

type Condition = fn(&mut Graph, ValueId) -> ValueId;

fn choosing(wrong: bool, condition: Condition, sr: Option<i64>) -> Graph {
    between(if wrong { [wrong_lstm(), right()] } else { [right(), wrong_lstm()] }, condition, sr)
}

/// An If between two branches, with `condition` computed from the input or constant `sr`.
fn between([then, otherwise]: [Branch; 2], condition: Condition, sr: Option<i64>) -> Graph {
    let mut graph = Graph::default();
    let x = graph.parameter("x", &[1, 4]);
    let rate = match sr {
        Some(sr) => graph.int(sr),
        None => graph.input_of("sr", &[], ElementType::I64),
    };
    let holds = condition(&mut graph, rate);
    let y = graph.op(Op::If(Box::new(If { then, otherwise })), &[holds, x]);
    graph.result("y", y);
    graph
}

fn is_16000(graph: &mut Graph, sr: ValueId) -> ValueId {
    let number = graph.int(16000);
    graph.elementwise(Comparison::Equal, &[sr, number])
}

fn is_another(graph: &mut Graph, sr: ValueId) -> ValueId {
    let same = is_16000(graph, sr);
    graph.elementwise(Logic::Not, &[same])
}

fn is_above(graph: &mut Graph, sr: ValueId) -> ValueId {
    let number = graph.int(16000);
    graph.elementwise(Comparison::Greater, &[sr, number])
}

/// An error in a branch names the branch, the condition, and the option that leaves the branch out.
/// With the option, the branch is not checked.
#[test]
fn branches_that_are_wrong_are_named_and_can_be_left_out() {
    let cases = vec![
        ("unlike", choosing(false, is_16000, None), Options::default()),
        ("like", choosing(true, is_16000, None), Options::default()),
        ("negated", choosing(true, is_another, None), Options::default()),
        ("another comparison", choosing(true, is_above, None), Options::default()),
        ("the wrong constant", choosing(false, is_16000, Some(8000)), Options::default()),
    ];
    insta::assert_snapshot!(said(cases));
    accepted(&choosing(false, is_16000, Some(16000)), &Options::default());
    accepted(&choosing(true, is_another, Some(16000)), &Options::default());
}

/// If branches give different shapes, the message prints the option that takes each branch.
#[test]
fn the_constant_that_takes_a_branch_of_its_own_shape_is_printed() {
    let flag: Condition = |graph, _| graph.input_of("flag", &[], ElementType::Bool);
    let cases = [
        (
            is_16000 as Condition,
            "fix the input: --const sr=16000 gives [1, 4], another number [2, 4]",
        ),
        (is_another, "fix the input: --const sr=16000 gives [2, 4], another number [1, 4]"),
        (flag, "fix the input: --const flag=1 gives [1, 4], another number [2, 4]"),
        (is_above, "give the outputs of both branches the same shape"),
    ];
    for (condition, words) in cases {
        let refused =
            core_model(&between([right(), longer()], condition, None).0, &Options::default());
        let said = refused.expect_err(words).to_string();
        assert!(said.contains(words), "{said}");
    }
    accepted(&between([right(), longer()], is_16000, Some(16000)), &Options::default());
}
