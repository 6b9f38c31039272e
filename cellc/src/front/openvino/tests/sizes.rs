//! Huge files must be read in linear time and without exhausting the stack.

use super::*;
use crate::front::read_model::ReadModel;

/// Number of repetitions of an element, attribute or text in a huge file.
const MANY: usize = 20_000;

#[test]
fn nesting_has_no_limit_and_needs_no_stack() {
    // nested elements in rt_info, which is not read
    let nested =
        format!("<rt_info>{}{}</rt_info>\n\t<layers>", "<a>".repeat(MANY), "</a>".repeat(MANY));
    accepted(&edit(GRU, "<layers>", &nested));
    // nested layers, which are read
    let nested = format!("<layers>{}{}", "<layer id=\"9\">".repeat(MANY), "</layer>".repeat(MANY));
    assert_eq!(compile(&edit(GRU, "<layers>", &nested)).unwrap().0.cells().len(), 1);
    // elements without end tags
    let refusal = refused(&format!("{}{}", "<net>", "<a>".repeat(MANY)));
    assert!(refusal.contains("the file ends inside the element \"a\""), "{refusal}");
    assert!(refusal.contains(&format!("model.xml:1:{}", 6 + 3 * (MANY - 1))), "{refusal}");
    // bodies inside of bodies
    let body =
        "<layer id=\"9\" name=\"t\" type=\"TensorIterator\" version=\"opset1\"><body><layers>";
    let bodies =
        format!("<layers>{}{}", body.repeat(MANY), "</layers></body></layer>".repeat(MANY));
    accepted(&edit(GRU, "<layers>", &bodies));
}

#[test]
fn attributes_without_number_take_linear_time() {
    let many: String = (0..MANY).map(|i| format!(" a{i}=\"{i}\"")).collect();
    let refusal = refused(&edit(GRU, " hidden_size=\"3\"", &format!("{many} hidden_size=\"3\"")));
    assert!(refusal.contains("the attribute \"a0\" has no known meaning"), "{refusal}");
    assert!(refusal.ends_with("and 951 more problems\n"), "{refusal}");
    let twice = refused(&edit(GRU, "<net ", &format!("<net{many} a7=\"\" ")));
    assert!(twice.contains("the attribute \"a7\" is given twice"), "{twice}");
    let value = "x".repeat(10 * MANY);
    let refusal = refused(&with_attribute("activations", Some(&value)));
    assert!(refusal.contains("unknown activation") && refusal.len() < 2000, "{refusal}");
    let refusal = refused(&with_attribute("activations", Some(&"x,".repeat(MANY))));
    assert!(refusal.contains(&format!("and {} more", MANY - 4)), "{refusal}");
    let refusal = refused(&with_attribute("activations", Some(&"tanh,".repeat(MANY))));
    assert!(refusal.contains("unknown activation \"\""), "{refusal}");
    let refusal = refused(&with_attribute("activations_alpha", Some(&"1,".repeat(MANY))));
    assert!(refusal.contains("holds \"\", which is not a number"), "{refusal}");
    let refusal =
        refused(&with_attribute("activations_alpha", Some(&format!("{}1", "1,".repeat(MANY)))));
    assert!(refusal.contains("but there are 2 activations") && refusal.len() < 2000, "{refusal}");
    let refusal =
        refused(&with_attribute("activations", Some(&format!("{}elu", "softsign,".repeat(MANY)))));
    assert!(refusal.contains("but GRUCell takes 2") && refusal.len() < 2000, "{refusal}");
    let references = "&amp;".repeat(MANY);
    accepted(&edit(GRU, "name=\"cell\"", &format!("name=\"{references}\"")));
}

#[test]
fn elements_without_number_take_linear_time() {
    let layer = |i: usize| {
        format!("<layer id=\"{}\" name=\"\" type=\"Op{}\" version=\"opset1\"/>", i + 100, i % 7)
    };
    let layers: String = (0..MANY).map(layer).collect();
    assert_eq!(
        accepted(&edit(GRU, "\t</layers>", &format!("{layers}\t</layers>"))).cells().len(),
        1
    );

    // a chain of layers of different types, all read
    let ports = "<input><port id=\"0\"/></input><output><port id=\"1\"/></output>";
    let chain =
        (0..MANY).map(|i| format!("<layer id=\"{}\" type=\"T{i}\">{ports}</layer>", i + 100));
    let chain: String =
        chain.chain([format!("<layer id=\"{}\" type=\"T\"/>", MANY + 100)]).collect();
    let edges: String = (100..100 + MANY as u32).map(|i| between(i + 1, 1, i, 0)).collect();
    let text = add(GRU, &chain, &edges);
    let text = edit(&text, &between(0, 0, 5, 0), &between(100, 1, 5, 0));
    let refusal = refused(&text);
    assert!(refusal.contains("layers of type \"T0\" are not read"), "{refusal}");
    assert!(refusal.ends_with("and 951 more problems\n"), "{refusal}");
    // the chain as a cycle
    let text = edit(
        &text,
        "\t</edges>",
        &format!(
            "<edge from-layer=\"100\" from-port=\"1\" to-layer=\"{}\" to-port=\"0\"/></edges>",
            MANY + 100
        ),
    );
    let refusal = refused(&text);
    assert!(refusal.contains(&format!("({} layers) -> back to the first", MANY + 1)), "{refusal}");

    let refusal = refused(&edit(
        GRU,
        "\t</layers>",
        &format!("{}\t</layers>", "<layer id=\"3\"/>".repeat(MANY)),
    ));
    assert!(refusal.ends_with("and 951 more problems\n"), "{refusal}");
    let refusal = refused(&edit(
        GRU,
        "<dim>12</dim></port>\n",
        &format!("{}</port>\n", "<dim>12</dim>".repeat(MANY)),
    ));
    assert!(refusal.contains(&format!("a tensor of {MANY} dimensions")), "{refusal}");
    let ports: String = (5..MANY).map(|i| format!("<port id=\"{i}\"/>")).collect();
    let refusal = refused(&edit(GRU, "\t\t\t</input>", &format!("{ports}</input>")));
    assert!(refusal.contains("nothing is connected to the input port 5"), "{refusal}");
    let edges =
        "<edge from-layer=\"2\" from-port=\"0\" to-layer=\"5\" to-port=\"2\" />".repeat(MANY);
    let refusal = refused(&edit(GRU, "\t</edges>", &format!("{edges}</edges>")));
    assert!(refusal.contains("a second edge into the input port 2"), "{refusal}");
    let comments = format!("<!---->{}", "<!-- <a> --><?b c?>\n".repeat(MANY));
    accepted(&edit(GRU, "<edges>", &format!("{comments}<edges>")));
}

#[test]
fn ports_and_entries_without_number_take_linear_time() {
    const PORTS: usize = 6_000;
    // a layer with PORTS outputs, each read by a Result
    let mut graph = Graph::default();
    let (x, axis) = (graph.parameter("2,3", "f32"), graph.parameter("", "i64"));
    let split = graph.layer(
        ("Split", "opset1"),
        &format!("num_splits=\"{PORTS}\""),
        &[(x, 0), (axis, 0)],
        PORTS,
        "",
    );
    for port in 0..PORTS {
        graph.result(split, 2 + port);
    }
    let ReadModel { model, problems: said } = lowered(&graph.text());
    assert_eq!((said, model.results.len()), (Diagnostics::default(), PORTS));
    // a body with PORTS Parameters and PORTS Results, all in the port map
    let (mut body, mut graph) = (Graph::default(), Graph::default());
    let (mut map, mut edges) = (String::new(), String::new());
    for place in 0..PORTS {
        let id = body.parameter("1", "f32");
        writeln!(map, "<input external_port_id=\"{place}\" internal_layer_id=\"{id}\"/>").unwrap();
    }
    for place in 0..PORTS {
        let id = body.result(place, 0);
        writeln!(
            map,
            "<output external_port_id=\"{}\" internal_layer_id=\"{id}\"/>",
            PORTS + place
        )
        .unwrap();
        writeln!(edges, "<edge from-layer=\"{id}\" to-layer=\"{place}\"/>").unwrap();
    }
    let x = graph.parameter("1", "f32");
    let inside = |map: &str, edges: &str| {
        format!(
            "<port_map>{map}</port_map><back_edges>{edges}</back_edges><body>{}</body>",
            body.inside()
        )
    };
    let mut wrong = graph.clone();
    let inputs = vec![(x, 0); PORTS];
    let layer =
        graph.layer(("TensorIterator", "opset1"), "", &inputs, PORTS, &inside(&map, &edges));
    graph.result(layer, 2 * PORTS - 1);
    let ReadModel { model, problems: said } = lowered(&graph.text());
    assert_eq!(said, Diagnostics::default());
    let Op::Loop(inner) = &model.nodes[1].op else { panic!() };
    assert_eq!((inner.inputs.len(), inner.outputs.len()), (PORTS, PORTS));
    assert_eq!(inner.inputs[PORTS - 1].back_edge, Some(PORTS - 1));
    // the same body with an empty port map
    let layer = wrong.layer(("TensorIterator", "opset1"), "", &inputs, PORTS, &inside("", &edges));
    wrong.result(layer, 2 * PORTS - 1);
    let said = lowered(&wrong.text()).problems;
    assert!(said.has_errors() && said.0.len() <= Diagnostics::MOST + 1);
}

/// The model with `count` more Results, all of one tensor with `count` names.
fn with_results(count: usize) -> String {
    let port = "<input><port id=\"0\"/></input>";
    let results: String = (0..count)
        .map(|i| {
            format!(
                "<layer id=\"{}\" name=\"r\" type=\"Result\" version=\"opset1\">{port}</layer>",
                i + 100
            )
        })
        .collect();
    let edges: String = (0..count as u32).map(|i| between(5, 5, i + 100, 0)).collect();
    let names = format!("names=\"{}\"", (0..count).map(|i| format!("n{i},")).collect::<String>());
    edit(&add(GRU, &results, &edges), "names=\"h_out\"><dim>", &format!("{names}><dim>"))
}

#[test]
fn results_are_many_or_too_many() {
    let (valid, said) = compile(&with_results(999)).unwrap();
    assert!(said.starts_with("notice: ") && said.contains("1000 outputs hold it"), "{said}");
    assert_eq!(valid.results.len(), 1000);
    assert_eq!(valid.results[999].names, ["n0", "n1", "n2", "n3", "r"]);
    assert_eq!(valid.states, [], "more than one Result has the new state");
    let refusal = refused(&with_results(MANY));
    let first = format!("error: the model has {} outputs\n  --> model.xml:", MANY + 1);
    assert!(refusal.starts_with(&first), "{refusal}");
}
