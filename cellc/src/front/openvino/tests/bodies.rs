//! TensorIterator, Loop and If.

use super::*;
use crate::front::read_model::ReadModel;
use crate::model::{Dim, If, Loop, LoopInput, LoopOutput, Slicing};

/// A body with Parameters 0 and 1. Result 4 is the tanh of their sum, Result 5 the sum. All shapes
/// are `[1, 1, 3]`.
fn body() -> Graph {
    let mut body = Graph::default();
    let (x, h) = (body.parameter("1,1,3", "f32"), body.parameter("1,1,3", "f32"));
    let sum = body.layer(("Add", "opset1"), "", &[(x, 0), (h, 0)], 1, "");
    let tanh = body.layer(("Tanh", "opset1"), "", &[(sum, 2)], 1, "");
    body.result(tanh, 1);
    body.result(sum, 2);
    body
}

const PORT_MAP: &str = r#"<input axis="1" external_port_id="0" internal_layer_id="0" start="-1" end="0" stride="-1" part_size="1"/>
<input external_port_id="1" internal_layer_id="1"/>
<output external_port_id="2" internal_layer_id="4"/>
<output axis="1" external_port_id="3" internal_layer_id="5" start="-1" end="0" stride="-1" part_size="1"/>
"#;
const BACK_EDGES: &str = r#"<edge from-layer="4" to-layer="1"/>"#;

/// The elements of the layer besides the ports: port map, back edges and body.
fn inside(port_map: &str, back_edges: &str, body: &Graph) -> String {
    format!(
        "\n<port_map>{port_map}</port_map><back_edges>{back_edges}</back_edges><body>{}</body>",
        body.inside()
    )
}

fn iterator(inside: &str) -> String {
    let mut graph = Graph::default();
    let (x, h) = (graph.parameter("1,4,3", "f32"), graph.parameter("1,1,3", "f32"));
    let layer = graph.layer(("TensorIterator", "opset1"), "", &[(x, 0), (h, 0)], 2, inside);
    graph.result(layer, 2);
    graph.result(layer, 3);
    graph.text()
}

/// The only Loop of a valid model.
fn the_loop(text: &str) -> Loop {
    let ReadModel { model, problems: said } = lowered(text);
    assert_eq!(said, Diagnostics::default(), "{said}");
    let mut loops = model.nodes.into_iter().filter_map(|node| match node.op {
        Op::Loop(inner) => Some(*inner),
        _ => None,
    });
    let first = loops.next().unwrap();
    assert!(loops.next().is_none());
    first
}

/// A model with a valid TensorIterator.
pub(super) fn iterator_model() -> String {
    iterator(&inside(PORT_MAP, BACK_EDGES, &body()))
}

/// A model with a valid Loop.
pub(super) fn loop_model() -> String {
    counted(COUNTED, 4)
}

#[test]
fn an_iterator_becomes_a_loop() {
    let inner = the_loop(&iterator(&inside(PORT_MAP, BACK_EDGES, &body())));
    let slice = Slicing { axis: 1, start: -1, end: 0, stride: -1, part_size: 1 };
    assert_eq!(
        inner.inputs,
        [
            LoopInput { parameter: 0, input: 0, slice: Some(slice), back_edge: None },
            LoopInput { parameter: 1, input: 1, slice: None, back_edge: Some(0) },
        ]
    );
    assert_eq!(
        inner.outputs,
        [
            LoopOutput { result: 0, concatenation: None },
            LoopOutput { result: 1, concatenation: Some(slice) }
        ]
    );
    assert_eq!((inner.counted, inner.current_iteration, inner.condition), (false, None, None));
    let ops: Vec<&str> = inner.body.nodes.iter().map(|node| node.kind.as_str()).collect();
    let around = "in the body of id 2";
    assert_eq!(ops[2..4], [format!("Add, id 2 {around}"), format!("Tanh, id 3 {around}")]);
    assert_eq!((inner.body.parameters.len(), inner.body.results.len()), (2, 2));
    assert_eq!(inner.body.name, None);

    // absent attributes have their defaults, and the order of the entries has no effect
    let short = r#"<output axis="0" external_port_id="3" internal_layer_id="5"/><output external_port_id="2" internal_layer_id="4"/>
        <input external_port_id="0" internal_layer_id="1"/><input axis="-1" external_port_id="1" internal_layer_id="0"/>"#;
    let inner = the_loop(&iterator(&inside(short, "", &body())));
    let slice = |axis| Slicing { axis, start: 0, end: -1, stride: 1, part_size: 1 };
    assert_eq!(
        inner.inputs,
        [
            LoopInput { parameter: 0, input: 1, slice: Some(slice(-1)), back_edge: None },
            LoopInput { parameter: 1, input: 0, slice: None, back_edge: None },
        ]
    );
    assert_eq!(inner.outputs[1].concatenation, Some(slice(0)));
}

/// A Loop of 62 iterations whose body also reads the number of the iteration.
fn counted(port_map: &str, inputs: usize) -> String {
    let mut body = body();
    let trip = body.parameter("", "i64");
    let go_on = body.layer(
        ("Const", "opset1"),
        "element_type=\"boolean\" shape=\"1\" offset=\"7\" size=\"1\"",
        &[],
        1,
        "",
    );
    body.result(go_on, 0);
    assert_eq!((trip, go_on), (6, 7));
    let mut graph = Graph::default();
    let (x, h) = (graph.parameter("1,62,3", "f32"), graph.parameter("1,1,3", "f32"));
    // in the weights, the bytes 7 to 10 are 62, 0, 0, 0
    let trips = graph.layer(
        ("Const", "opset1"),
        "element_type=\"i32\" shape=\"\" offset=\"7\" size=\"4\"",
        &[],
        1,
        "",
    );
    let first = graph.layer(
        ("Const", "opset1"),
        "element_type=\"boolean\" shape=\"\" offset=\"7\" size=\"1\"",
        &[],
        1,
        "",
    );
    let inputs = &[(trips, 0), (first, 0), (x, 0), (h, 0)][..inputs];
    let layer =
        graph.layer(("Loop", "opset5"), "", inputs, 2, &inside(port_map, BACK_EDGES, &body));
    graph.result(layer, inputs.len() + 1);
    graph.text()
}

const COUNTED: &str = r#"<input axis="1" external_port_id="2" internal_layer_id="0" start="0" end="-1" stride="1" part_size="1"/>
<input external_port_id="3" internal_layer_id="1"/>
<output external_port_id="4" internal_layer_id="4"/>
<output axis="1" external_port_id="5" internal_layer_id="5"/>
<input external_port_id="-1" internal_layer_id="6" purpose="current_iteration"/>
<output external_port_id="-1" internal_layer_id="8" purpose="execution_condition"/>
"#;

#[test]
fn a_loop_says_how_often_and_whether() {
    let inner = the_loop(&counted(COUNTED, 4));
    assert!(inner.counted);
    assert_eq!((inner.current_iteration, inner.condition), (Some(2), Some(2)));
    let inputs: Vec<(usize, usize)> =
        inner.inputs.iter().map(|input| (input.parameter, input.input)).collect();
    assert_eq!(inputs, [(0, 2), (1, 3)]);
    assert_eq!(inner.inputs[1].back_edge, Some(0));
    let node = &inner.body.nodes[inner.body.parameters[2]];
    assert_eq!(inner.parameter(2), node.outputs.first().copied());
    assert_eq!(inner.body.values[node.outputs[0].0].element, ElementType::I64);
}

#[test]
fn outputs_have_the_types_of_the_body_and_the_shapes_of_the_ports() {
    let mut inner = Graph::default();
    let x = inner.parameter("1,3", "f32");
    let shape = inner.layer(("ShapeOf", "opset3"), "output_type=\"i32\"", &[(x, 0)], 1, "");
    inner.result(shape, 1);
    let map = "<input axis=\"0\" external_port_id=\"0\" internal_layer_id=\"0\"/>\
               <output external_port_id=\"1\" internal_layer_id=\"2\"/>";
    let mut graph = Graph::default();
    let x = graph.parameter("4,3", "f32");
    let layer =
        graph.layer(("TensorIterator", "opset1"), "", &[(x, 0)], 1, &inside(map, "", &inner));
    graph.result(layer, 1);
    let text = edit(&graph.text(), "<output><port id=\"1\"/></output>\n<port_map>", {
        "<output><port id=\"1\" names=\"s\" \
         precision=\"I32\"><dim>2</dim></port></output>\n<port_map>"
    });
    let ReadModel { model, problems: said } = lowered(&text);
    assert_eq!(said, Diagnostics::default(), "{said}");
    let value = &model.values[model.nodes[1].outputs[0].0];
    assert_eq!((value.element, &value.shape), (ElementType::I32, &Some(vec![Dim::Fixed(2)])));
    assert_eq!(value.names, ["s"]);
}

/// A graph with `levels` TensorIterators inside each other.
fn nested(levels: usize) -> String {
    let mut graph = Graph::default();
    let x = graph.parameter("1,3", "f32");
    let y = match levels {
        0 => (graph.layer(("Tanh", "opset1"), "", &[(x, 0)], 1, ""), 1),
        _ => {
            let map = format!(
                "<input external_port_id=\"0\" internal_layer_id=\"0\"/>\
                 <output external_port_id=\"1\" internal_layer_id=\"{}\"/>",
                2
            );
            let inside = format!("<port_map>{map}</port_map><body>{}</body>", nested(levels - 1));
            (graph.layer(("TensorIterator", "opset1"), "", &[(x, 0)], 1, &inside), 1)
        }
    };
    graph.result(y.0, y.1);
    graph.inside()
}

#[test]
fn bodies_stand_inside_each_other_up_to_a_limit() {
    let text = |levels| format!("<net name=\"m\" version=\"11\">{}</net>", nested(levels));
    let mut inner = the_loop(&text(8)).body;
    for level in 2..=8 {
        let node = inner.nodes.iter().find(|node| matches!(node.op, Op::Loop(_))).unwrap();
        assert_eq!(node.kind.matches("in the body of").count(), level - 1);
        let Op::Loop(next) = &node.op else { panic!() };
        inner = next.body.clone();
    }
    assert!(inner.nodes.iter().any(|node| matches!(node.op, Op::Elementwise(_))));
    let refusal = refused(&text(9));
    assert!(refusal.contains("more than 8 loops or branches inside each other"), "{refusal}");
    // bodies far beyond the limit need no more stack
    let body = "<layers><layer id=\"0\" type=\"Result\"><input><port id=\"0\"/></input></layer>\
                <layer id=\"1\" type=\"TensorIterator\" version=\"opset1\"><output><port \
                id=\"0\"/></output><port_map><output external_port_id=\"0\" \
                internal_layer_id=\"0\"/></port_map><body>";
    let edge =
        "<edges><edge from-layer=\"1\" from-port=\"0\" to-layer=\"0\" to-port=\"0\"/></edges>";
    let many = 20_000;
    let text = format!(
        "<net version=\"11\">{}{}</net>",
        body.repeat(many),
        format!("</body></layer></layers>{edge}").repeat(many)
    );
    let refusal = refused(&text);
    assert!(refusal.contains("more than 8 loops or branches inside each other"), "{refusal}");
}

#[test]
fn port_maps_that_do_not_fit_the_body() {
    let map =
        |from: &str, to: &str| iterator(&inside(&edit(PORT_MAP, from, to), BACK_EDGES, &body()));
    let edges = |back_edges: &str| iterator(&inside(PORT_MAP, back_edges, &body()));
    let whole = inside(PORT_MAP, BACK_EDGES, &body());
    let second_input = "<input external_port_id=\"1\" internal_layer_id=\"1\"/>";
    let cases = [
        ("no port map", iterator(&edit(&whole, &format!("<port_map>{PORT_MAP}</port_map>"), ""))),
        ("no body", iterator(&whole[..whole.find("<body>").unwrap()])),
        ("two bodies", iterator(&format!("{whole}<body/>"))),
        ("an empty body", iterator(&format!("{}<body/>", &whole[..whole.find("<body>").unwrap()]))),
        ("an input that is not there", map("external_port_id=\"1\"", "external_port_id=\"7\"")),
        ("an output that is not there", map("external_port_id=\"2\"", "external_port_id=\"1\"")),
        (
            "a Parameter that is not there",
            map("internal_layer_id=\"1\"", "internal_layer_id=\"2\""),
        ),
        ("a Result that is not there", map("internal_layer_id=\"4\"", "internal_layer_id=\"40\"")),
        ("no id of the body", map(" internal_layer_id=\"4\"", "")),
        ("no port", map(" external_port_id=\"1\"", "")),
        ("a port of words", map("external_port_id=\"1\"", "external_port_id=\"one\"")),
        ("a Parameter left out", map(second_input, "")),
        ("a Parameter twice", map(second_input, &second_input.repeat(2))),
        ("an output left out", map("<output external_port_id=\"2\" internal_layer_id=\"4\"/>", "")),
        ("an output twice", map("external_port_id=\"2\"", "external_port_id=\"3\"")),
        ("pieces of no length", PORT_MAP.replacen("part_size=\"1\"", "part_size=\"0\"", 1)),
        ("a stride of 0", PORT_MAP.replacen("stride=\"-1\"", "stride=\"0\"", 1)),
        ("an axis of words", PORT_MAP.replacen("axis=\"1\"", "axis=\"time\"", 1)),
        (
            "an attribute of no meaning",
            map(second_input, &second_input.replace("<input ", "<input step=\"2\" ")),
        ),
        (
            "attributes without effect",
            map(
                second_input,
                &second_input.replace("<input ", "<input start=\"0\" internal_port_id=\"0\" "),
            ),
        ),
        (
            "a purpose",
            map(
                second_input,
                &second_input.replace("<input ", "<input purpose=\"current_iteration\" "),
            ),
        ),
        (
            "elements of no meaning",
            iterator(&inside(&format!("{PORT_MAP}<x/>"), &format!("{BACK_EDGES}<y/>"), &body())),
        ),
        ("a back edge from nowhere", edges("<edge from-layer=\"9\" to-layer=\"1\"/>")),
        ("a back edge to nowhere", edges("<edge from-layer=\"4\" to-layer=\"4\"/>")),
        ("a back edge without an end", edges("<edge from-layer=\"4\"/>")),
        ("two back edges", edges(&format!("{BACK_EDGES}<edge from-layer=\"5\" to-layer=\"1\"/>"))),
        ("a back edge to a slice", edges("<edge from-layer=\"5\" to-layer=\"0\"/>")),
        ("a back edge with more", edges("<edge from-layer=\"4\" to-layer=\"1\" when=\"1\"/>")),
    ];
    let cases = cases.map(|(name, text)| match text.starts_with("<net") {
        true => (name, text),
        false => (name, iterator(&inside(&text, BACK_EDGES, &body()))),
    });
    for (part, cases) in cases.chunks(9).enumerate() {
        let said = said(cases.to_vec());
        insta::assert_snapshot!(format!("port_maps_that_do_not_fit_the_body_{part}"), said);
    }
}

#[test]
fn loops_that_do_not_fit_the_body() {
    let map = |from: &str, to: &str| counted(&edit(COUNTED, from, to), 4);
    let iteration =
        "<input external_port_id=\"-1\" internal_layer_id=\"6\" purpose=\"current_iteration\"/>";
    let cases = [
        (
            "no condition",
            map(
                "<output external_port_id=\"-1\" internal_layer_id=\"8\" \
                 purpose=\"execution_condition\"/>",
                "",
            ),
        ),
        ("a Parameter left out", map(iteration, "")),
        (
            "two numbers of the trip",
            map(
                "external_port_id=\"3\" internal_layer_id=\"1\"",
                "external_port_id=\"-1\" internal_layer_id=\"1\" purpose=\"current_iteration\"",
            ),
        ),
        (
            "a number with a port",
            map(
                "external_port_id=\"-1\" internal_layer_id=\"6\"",
                "external_port_id=\"3\" internal_layer_id=\"6\"",
            ),
        ),
        (
            "another purpose",
            map("purpose=\"execution_condition\"", "purpose=\"current_iteration\""),
        ),
        ("one input", counted("", 1)),
        (
            "an input left out",
            counted(COUNTED, 4).replace(
                "<input external_port_id=\"3\" internal_layer_id=\"1\"/>",
                "<input external_port_id=\"2\" internal_layer_id=\"1\"/>",
            ),
        ),
    ];
    insta::assert_snapshot!(said(cases));
}

#[test]
fn what_is_wrong_inside_a_body_is_said_there() {
    let with = |kind: (&str, &str), data: &str| {
        let mut body = body();
        let layer = body.layer(kind, data, &[(3, 1)], 1, "");
        body.result(layer, 1);
        iterator(&inside(PORT_MAP, BACK_EDGES, &body))
    };
    let cases = [
        ("an unknown type", with(("Bucketize", "opset1"), "")),
        ("an attribute", with(("SoftMax", "opset1"), "axis=\"x\"")),
        ("a variable", with(("Assign", "opset6"), "variable_id=\"v\"")),
        (
            "a cycle",
            iterator(
                &inside(PORT_MAP, BACK_EDGES, &body())
                    .replace(&between(0, 0, 2, 0), &between(3, 1, 2, 0)),
            ),
        ),
        (
            "no Result",
            iterator(&inside(PORT_MAP, BACK_EDGES, &body()).replace("\"Result\"", "\"Nothing\"")),
        ),
        (
            "more than layers and edges",
            iterator(&inside(PORT_MAP, BACK_EDGES, &body()).replace("<body>", "<body><z/>")),
        ),
    ];
    insta::assert_snapshot!(said_by_the_reader(cases));
}

/// A branch with Parameter 0 and Result 2: the elementwise operation `kind` of the Parameter and
/// itself.
fn branch(kind: &str) -> Graph {
    let mut body = Graph::default();
    let x = body.parameter("1,3", "f32");
    let sum = body.layer((kind, "opset1"), "", &[(x, 0), (x, 0)], 1, "");
    body.result(sum, 2);
    body
}

/// The port map of one branch of an If with the input ports 0 to 2 and the output port 3.
fn ports(branch: &str, input: usize) -> String {
    format!(
        "<{branch}_port_map><input external_port_id=\"{input}\" internal_layer_id=\"0\"/>\
         <output external_port_id=\"3\" internal_layer_id=\"2\"/></{branch}_port_map>"
    )
}

fn branches() -> String {
    let (then, otherwise) = (branch("Add").inside(), branch("Multiply").inside());
    let (ports, bodies) = (
        format!("{}{}", ports("else", 2), ports("then", 1)),
        format!("<then_body>{then}</then_body><else_body>{otherwise}</else_body>"),
    );
    format!("\n{ports}{bodies}")
}

fn either(inside: &str) -> String {
    let mut graph = Graph::default();
    let (x, y) = (graph.parameter("1,3", "f32"), graph.parameter("1,3", "f32"));
    // in the weights, byte 7 is not 0
    let which = graph.layer(
        ("Const", "opset1"),
        "element_type=\"boolean\" shape=\"\" offset=\"7\" size=\"1\"",
        &[],
        1,
        "",
    );
    let layer = graph.layer(("If", "opset8"), "", &[(which, 0), (x, 0), (y, 0)], 1, inside);
    graph.result(layer, 3);
    graph.text()
}

/// A model with a valid If.
pub(super) fn either_model() -> String {
    either(&branches())
}

#[test]
fn branches_take_their_inputs_and_give_their_outputs() {
    let ReadModel { model, problems: said } = lowered(&either(&branches()));
    assert_eq!(said, Diagnostics::default(), "{said}");
    let found = model.nodes.into_iter().find_map(|node| match node.op {
        Op::If(inner) => Some(*inner),
        _ => None,
    });
    let If { then, otherwise } = found.expect("an If");
    assert_eq!((&then.inputs[..], &otherwise.inputs[..]), (&[1][..], &[2][..]));
    for (branch, kind) in [(&then, "Add"), (&otherwise, "Multiply")] {
        assert_eq!((branch.body.parameters.len(), branch.body.results.len()), (1, 1));
        let result = &branch.body.nodes[branch.body.results[0]];
        let made =
            branch.body.nodes.iter().find(|node| node.outputs.first() == result.inputs.first());
        assert!(made.expect("the value is made").kind.starts_with(kind));
    }
}

#[test]
fn branches_that_do_not_fit() {
    let with = |from: &str, to: &str| either(&edit(&branches(), from, to));
    let input = "<input external_port_id=\"1\" internal_layer_id=\"0\"/>";
    let output = "<output external_port_id=\"3\" internal_layer_id=\"2\"/>";
    let then = ports("then", 1);
    let cases = [
        ("no ports of a branch", with(&then, "")),
        ("no else", either(&branches()[..branches().find("<else_body>").unwrap()])),
        ("a body of a Loop", with("</else_body>", "</else_body><body/>")),
        ("an input that is not there", with(input, &input.replace('1', "7"))),
        ("a Parameter left out", with(input, "")),
        ("an output left out", with(&then, &then.replace(output, ""))),
        ("an axis", with(input, &input.replace("<input ", "<input axis=\"0\" "))),
        ("an output with an axis", with(&then, &then.replace("<output ", "<output axis=\"0\" "))),
        (
            "a purpose",
            with(input, &input.replace("<input ", "<input purpose=\"current_iteration\" ")),
        ),
        ("an unknown type", with("\"Multiply\"", "\"Bucketize\"")),
    ];
    insta::assert_snapshot!(said_by_the_reader(cases));
}
