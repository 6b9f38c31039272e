//! Layers, ports, edges and names.

use super::*;

#[test]
fn graphs_that_do_not_hold_together() {
    let edge = |layer: u32, port: u32| between(layer, 0, 5, port);
    let cell: Vec<&str> = GRU
        .lines()
        .skip_while(|l| !l.contains("id=\"5\" name"))
        .take_while(|l| !l.contains("id=\"6\""))
        .collect();
    let other = cell.join("\n").replace("id=\"5\" name=\"cell\"", "id=\"7\" name=\"other\"");
    let into_other: String = [0, 2, 3, 4].into_iter().map(|p| between(p, 0, 7, p)).collect();
    let cycle = edit(GRU, &edge(1, 1), &between(7, 5, 5, 1));
    let cycle = add(&cycle, &other, &format!("{into_other}{}", between(5, 5, 7, 1)));
    let no_edges = {
        let (before, rest) = GRU.split_once("<edges>").unwrap();
        format!("{before}{}", rest.split_once("</edges>").unwrap().1)
    };
    let x_port = port(0, &[1, 2]);
    let turned = edit(GRU, &x_port, "");
    let turned = edit(&turned, "\t\t\t</input>", &format!("{x_port}</input>"));
    let three = edit(&edit(GRU, &port(3, &[9, 3]), ""), &port(4, &[12]), "");
    let three = edit(&edit(&three, &edge(3, 3), ""), &edge(4, 4), "");
    let of_set = |set: &str| {
        edit(GRU, "\"GRUCell\" version=\"opset3\"", &format!("\"GRUCell\" version=\"{set}\""))
    };
    let output = GRU.lines().find(|line| line.contains("names=\"h_out\"><dim>")).unwrap();
    let assign = "<layer id=\"8\" name=\"a\" type=\"Assign\" version=\"opset6\"><data \
        variable_id=\"v\"/><input><port id=\"0\"/></input></layer>";
    let of_assign = add(&edit(GRU, &edge(2, 2), &edge(8, 2)), assign, &between(2, 0, 8, 0));
    let cases = [
        ("a cycle of two", cycle),
        ("a cycle of one", edit(GRU, &edge(1, 1), &between(5, 5, 5, 1))),
        ("an id twice", edit(GRU, "id=\"3\" name", "id=\"2\" name")),
        ("an id that is no number", edit(GRU, "id=\"3\" name", "id=\"three\" name")),
        ("no id", edit(GRU, "id=\"3\" name", "name")),
        ("an edge to nowhere", edit(GRU, &edge(2, 2), &between(2, 0, 77, 2))),
        ("an edge from nowhere", edit(GRU, &edge(2, 2), &edge(77, 2))),
        ("an edge from no port", edit(GRU, &edge(2, 2), &between(2, 3, 5, 2))),
        ("an edge to no port", edit(GRU, &edge(2, 2), &edge(2, 9))),
        ("no edge", edit(GRU, &edge(2, 2), "")),
        ("two edges into a port", edit(GRU, &edge(2, 2), &format!("{}{}", edge(2, 2), edge(3, 2)))),
        (
            "an edge with a word",
            edit(GRU, &edge(2, 2), "<edge from-layer=\"W\" from-port=\"0\" to-layer=\"5\" />"),
        ),
        ("an edge from a Result", edit(GRU, &edge(2, 2), &edge(6, 2))),
        ("an edge from an Assign", of_assign),
        ("no edges at all", no_edges),
        ("a port twice", edit(GRU, "<port id=\"3\"", "<port id=\"2\"")),
        ("a port without id", edit(GRU, "<port id=\"3\"", "<port")),
        (
            "a dimension of words",
            edit(GRU, &port(4, &[12]), &port(4, &[12]).replace("12", "twelve")),
        ),
        ("no output port", edit(GRU, output, "")),
        ("three inputs", three),
        ("no Result", edit(GRU, "type=\"Result\"", "type=\"Nothing\"")),
        ("data twice", edit(GRU, "<data shape=\"1,2\"", "<data/><data shape=\"1,2\"")),
        ("an operation set without the cell", of_set("opset2")),
        ("another operation set", of_set("extension")),
        ("ports in another order", turned),
    ];
    for (part, cases) in cases.chunks(8).enumerate() {
        insta::assert_snapshot!(
            format!("graphs_that_do_not_hold_together_{part}"),
            said(cases.to_vec())
        );
    }
}

#[test]
fn layers_that_are_not_read_are_named_once_each_and_only_if_needed() {
    let unknown = |id: u32, name: &str, kind: &str| {
        let ports = "<input><port id=\"0\"/></input><output><port id=\"1\"/></output>";
        format!(
            "<layer id=\"{id}\" name=\"{name}\" type=\"{kind}\" \
             version=\"opset1\">{ports}</layer>\n"
        )
    };
    // layers that no output depends on are not read, even if they are wrong
    let wrong = format!("{}<layer id=\"999\" type=\"Const\"/>", unknown(70, "u", "Bucketize"));
    assert_eq!(accepted(&add(GRU, &wrong, &between(999, 4, 70, 8))).cells().len(), 1);

    let reached = edit(GRU, &between(0, 0, 5, 0), &between(70, 1, 5, 0));
    let layers = [("u", "Bucketize"), ("v", "Bucketize"), ("\u{202e}\n", "Some&quot;thing")];
    let layers: String =
        (70..).zip(layers).map(|(id, (name, kind))| unknown(id, name, kind)).collect();
    let reached =
        add(&reached, &layers, &format!("{}{}", between(71, 1, 70, 0), between(72, 1, 71, 0)));
    let wrong_too = edit(&reached, "shape=\"12\" offset=\"180\"", "shape=\"11\" offset=\"180\"");
    let wrong_too = edit(&wrong_too, "sigmoid, tanh", "sigmoid, swish");
    let assign = "<layer id=\"8\" name=\"a\" type=\"Assign\" version=\"opset6\"><data \
        variable_id=\"v\"/><input><port id=\"0\"/></input></layer>";
    let assigned = add(GRU, assign, &between(5, 5, 8, 0));
    let read = "<layer id=\"9\" name=\"r\" type=\"ReadValue\" version=\"opset6\"><data variable_id=\"v\"/>\
                <input><port id=\"0\"/></input><output><port id=\"1\"/></output></layer>";
    let read = add(
        GRU,
        &format!("{read}{assign}"),
        &format!("{}{}", between(5, 5, 8, 0), between(2, 0, 9, 0)),
    );
    let lengths = "<layer id=\"8\" name=\"lengths\" type=\"Parameter\" version=\"opset1\">\
                   <data shape=\"1\" element_type=\"i64\"/>\
                   <output><port id=\"0\" precision=\"I64\"><dim>1</dim></port></output></layer>\n";
    let lengths =
        add(GRU, &format!("{lengths}{}", unknown(70, "u", "GRUSequence")), &between(8, 0, 70, 0));
    insta::assert_snapshot!(said([
        ("unknown", reached),
        ("other problems too", wrong_too),
        ("an Assign", assigned),
        ("an Assign of what nothing reads", read),
        ("an input of integers that nothing reads", lengths),
    ]));
}

/// The suggested option states the row length, which the weights determine; `--batch` alone does
/// not.
#[test]
fn the_shape_that_is_suggested_is_one_that_compiles() {
    let text = edit(GRU, "shape=\"1,2\"", "shape=\"?,?\"");
    let refusal = refused(&text);
    assert!(refusal.contains("help: give the whole shape: --shape x=1,2\n"), "{refusal}");
}

#[test]
fn names_are_split_as_openvino_splits_them() {
    let valid = accepted(&edit(GRU, "names=\"x\"", "names=\"a\\,b,c,,d\\\\,e\""));
    assert_eq!(valid.parameters[0].names, ["a,b", "c", "d\\,e", "x"]);
}

#[test]
fn ids_order_and_letter_case_mean_nothing() {
    let text = GRU
        .replace("id=\"6\" name", "id=\"4000000000000\" name")
        .replace("to-layer=\"6\"", "to-layer=\"4000000000000\"")
        .replace("type=\"GRUCell\"", "type=\"grucell\"")
        .replace("type=\"Const\"", "type=\"CONSTANT\"")
        .replace("type=\"Result\"", "type=\"result\"")
        .replace("type=\"Parameter\"", "type=\"PARAMETER\"");
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|l| l.contains("<layers>")).unwrap();
    let last = lines.iter().position(|l| l.contains("</layers>")).unwrap();
    let layers = lines[first + 1..last].join("\n");
    let mut blocks: Vec<&str> = layers.split_inclusive("</layer>").collect();
    blocks.reverse();
    // h is before x now: the order of the layers only determines the order of the Parameters
    let turned = format!(
        "{}\n{}\n{}",
        lines[..=first].join("\n"),
        blocks.concat(),
        lines[last..].join("\n")
    );
    let valid = accepted(&turned);
    let names: Vec<&str> = valid.parameters.iter().map(|p| p.names[0].as_str()).collect();
    assert_eq!(names, ["h", "x"]);
    assert_eq!(
        (valid.cells()[0].x, valid.cells()[0].h),
        (Source::Parameter(1), Source::Parameter(0))
    );
    assert_eq!(valid.constants.len(), 3);
}

#[test]
fn what_contradicts_without_changing_the_meaning_is_warned_about() {
    let cases = [
        (
            "the cell's output",
            edit(
                GRU,
                "names=\"h_out\"><dim>1</dim><dim>3</dim>",
                "names=\"h_out\"><dim>4</dim><dim>3</dim>",
            ),
        ),
        (
            "a rank",
            edit(GRU, "names=\"h_out\"><dim>1</dim><dim>3</dim>", "names=\"h_out\"><dim>3</dim>"),
        ),
        (
            "an input port of the cell",
            edit(
                GRU,
                "<port id=\"4\" precision=\"FP32\"><dim>12</dim>",
                "<port id=\"4\" precision=\"FP32\"><dim>18</dim>",
            ),
        ),
        (
            "a parameter's port",
            edit(
                GRU,
                "names=\"x\"><dim>1</dim><dim>2</dim>",
                "names=\"x\"><dim>1</dim><dim>7</dim>",
            ),
        ),
        (
            "a precision",
            edit(
                GRU,
                "<port id=\"0\" precision=\"FP32\" names=\"x\">",
                "<port id=\"0\" precision=\"FP16\" names=\"x\">",
            ),
        ),
        (
            "an element of a layer",
            edit(
                GRU,
                " output_names=\"h_out\">",
                " output_names=\"h_out\"><blobs/><rt_info><attribute/></rt_info>",
            ),
        ),
    ];
    insta::assert_snapshot!(said(cases));
    // unknown and absent dimensions of ports cause no warning
    let silent = GRU.replace("<dim>3</dim>", "<dim>-1</dim>").replace("<dim>12</dim>", "");
    assert_eq!(accepted(&silent).results[0].shape, [1, 3]);
}

#[test]
fn attributes_outside_the_definition_are_refused_wherever_they_stand() {
    let cases = [
        ("a parameter", edit(GRU, "<data shape=\"1,2\"", "<data layout=\"NC\" shape=\"1,2\"")),
        ("a layer", edit(GRU, "name=\"cell\"", "name=\"cell\" precision=\"FP16\"")),
        ("net", edit(GRU, "name=\"gru\"", "name=\"gru\" batch=\"4\"")),
    ];
    insta::assert_snapshot!(said(cases));
    // Model Optimizer of 2020 writes an attribute of transposed convolutions for all convolutions
    let padded = |padding: &str| {
        let mut graph = Graph::default();
        let [x, w] = ["1,1,5", "1,1,2"].map(|shape| (graph.parameter(shape, "f32"), 0));
        let data = format!(
            "strides=\"1\" dilations=\"1\" pads_begin=\"0\" pads_end=\"0\" \
             output_padding=\"{padding}\""
        );
        let layer = graph.layer(("Convolution", "opset1"), &data, &[x, w], 1, "");
        graph.result(layer, 2);
        compile(&graph.text())
    };
    assert!(padded("0").is_ok());
    let found = "the attribute \"output_padding\" has no known meaning on \"Convolution\"";
    let refused = padded("1").expect_err("it is refused");
    assert!(refused.contains(found), "{refused}");
}

#[test]
fn names_of_every_kind() {
    let long = "n".repeat(100_000);
    let text = GRU
        .replace("name=\"cell\"", &format!("name=\"{long}\""))
        .replace("names=\"x\"", &format!("names=\"{long},x,a\\,b,,\""))
        .replace("name=\"h\"", "name=\"*/ &#x202e; &quot;\"")
        .replace("names=\"h\"", "")
        .replace("output_names=\"h_out\"", "output_names=\"\"")
        .replace("names=\"h_out\"", "names=\"\"")
        .replace("name=\"Result_1\"", "name=\"\"");
    let valid = accepted(&text);
    assert_eq!(valid.cell_nodes()[0].0.name, long);
    assert_eq!(valid.parameters[0].names, [&"n".repeat(200), "x", "a,b"]);
    assert_eq!(valid.parameters[1].names, ["*/ \u{202e} \""]);
    assert_eq!(valid.results[0].names, [""; 0]);
    // messages cut long names
    let wrong = text.replace("sigmoid, tanh", "sigmoid");
    assert!(refused(&wrong).len() < 2000);
}
