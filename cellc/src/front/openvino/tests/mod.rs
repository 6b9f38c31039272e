//! The reader on a small valid model, and on invalid variants of the model.

mod attributes;
mod bodies;
mod files;
mod graphs;
mod mutations;
mod operations;
mod sizes;
mod tensors;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::weights::{BinFile, BinLocation};
use super::{SUPPORTED, net, xml};
use crate::compile::core_model;
use crate::core::{CoreModel, Source, WeightSource};
use crate::diagnostic::{Diagnostics, Origin, Severity};
use crate::front::read_model::ReadModel;
use crate::model::{Activation, CellKind, ElementType, Op, ResetGate, ValueId};
use crate::request::Options;

/// A GRUCell with I = 2, H = 3, N = 1 and `linear_before_reset`. The weights are constants in the
/// order W, R, B.
const GRU: &str = r#"<?xml version="1.0"?>
<net name="gru" version="11">
	<layers>
		<layer id="0" name="x" type="Parameter" version="opset1">
			<data shape="1,2" element_type="f32" />
			<output><port id="0" precision="FP32" names="x"><dim>1</dim><dim>2</dim></port></output>
		</layer>
		<layer id="1" name="h" type="Parameter" version="opset1">
			<data shape="1,3" element_type="f32" />
			<output><port id="0" precision="FP32" names="h"><dim>1</dim><dim>3</dim></port></output>
		</layer>
		<layer id="2" name="W" type="Const" version="opset1">
			<data element_type="f32" shape="9, 2" offset="0" size="72" />
			<output><port id="0" precision="FP32"><dim>9</dim><dim>2</dim></port></output>
		</layer>
		<layer id="3" name="R" type="Const" version="opset1">
			<data element_type="f32" shape="9, 3" offset="72" size="108" />
			<output><port id="0" precision="FP32"><dim>9</dim><dim>3</dim></port></output>
		</layer>
		<layer id="4" name="B" type="Const" version="opset1">
			<data element_type="f32" shape="12" offset="180" size="48" />
			<output><port id="0" precision="FP32"><dim>12</dim></port></output>
		</layer>
		<layer id="5" name="cell" type="GRUCell" version="opset3">
			<data linear_before_reset="true" hidden_size="3" activations="sigmoid, tanh" activations_alpha="" activations_beta="" clip="0" />
			<input>
				<port id="0" precision="FP32"><dim>1</dim><dim>2</dim></port>
				<port id="1" precision="FP32"><dim>1</dim><dim>3</dim></port>
				<port id="2" precision="FP32"><dim>9</dim><dim>2</dim></port>
				<port id="3" precision="FP32"><dim>9</dim><dim>3</dim></port>
				<port id="4" precision="FP32"><dim>12</dim></port>
			</input>
			<output><port id="5" precision="FP32" names="h_out"><dim>1</dim><dim>3</dim></port></output>
		</layer>
		<layer id="6" name="Result_1" type="Result" version="opset1" output_names="h_out">
			<input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input>
		</layer>
	</layers>
	<edges>
		<edge from-layer="0" from-port="0" to-layer="5" to-port="0" />
		<edge from-layer="1" from-port="0" to-layer="5" to-port="1" />
		<edge from-layer="2" from-port="0" to-layer="5" to-port="2" />
		<edge from-layer="3" from-port="0" to-layer="5" to-port="3" />
		<edge from-layer="4" from-port="0" to-layer="5" to-port="4" />
		<edge from-layer="5" from-port="5" to-layer="6" to-port="0" />
	</edges>
</net>
"#;

/// The bytes of the weights: element i of the file is i / 4.
fn weights() -> Vec<u8> {
    (0..57).flat_map(|i| (i as f32 / 4.0).to_le_bytes()).collect()
}

/// The text with `from` replaced by `to`. The text must have `from` exactly once.
fn edit(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from:?}");
    text.replace(from, to)
}

/// The model with more layers and edges.
fn add(text: &str, layers: &str, edges: &str) -> String {
    let text = edit(text, "\t</layers>", &format!("{layers}\n\t</layers>"));
    edit(&text, "\t</edges>", &format!("{edges}\n\t</edges>"))
}

fn between(from_layer: u32, from_port: u32, to_layer: u32, to_port: u32) -> String {
    format!(
        "<edge from-layer=\"{from_layer}\" from-port=\"{from_port}\" to-layer=\"{to_layer}\" \
         to-port=\"{to_port}\" />"
    )
}

/// An input port of the cell.
fn port(id: u32, dims: &[u32]) -> String {
    let dims: String = dims.iter().map(|dim| format!("<dim>{dim}</dim>")).collect();
    format!("<port id=\"{id}\" precision=\"FP32\">{dims}</port>\n")
}

/// The model with an attribute of the cell replaced, or removed for `None`.
fn with_attribute(name: &str, value: Option<&str>) -> String {
    let line = GRU.lines().find(|line| line.contains("hidden_size")).unwrap();
    let text = match line.split_once(&format!(" {name}=\"")) {
        Some((before, rest)) => {
            let (_, after) = rest.split_once('"').unwrap();
            match value {
                Some(value) => format!("{before} {name}=\"{value}\"{after}"),
                None => format!("{before}{after}"),
            }
        }
        None => edit(line, " clip=", &format!(" {name}=\"{}\" clip=", value.unwrap())),
    };
    edit(GRU, line, &text)
}

/// A model under construction. Input ports of a layer are numbered from 0, and output ports follow
/// the input ports.
#[derive(Clone, Default)]
struct Graph {
    layers: String,
    edges: String,
    count: usize,
}

impl Graph {
    /// Adds a layer. `data`: the attributes of the data element. `inputs`: layer and port of each
    /// input. `outputs`: the number of outputs. `inside`: any other elements.
    fn layer(
        &mut self,
        (kind, set): (&str, &str),
        data: &str,
        inputs: &[(usize, usize)],
        outputs: usize,
        inside: &str,
    ) -> usize {
        let id = self.count;
        self.count += 1;
        let data = if data.is_empty() { String::new() } else { format!("<data {data}/>") };
        let ports = |range: std::ops::Range<usize>| -> String {
            range.map(|port| format!("<port id=\"{port}\"/>")).collect()
        };
        let (first, last) = (inputs.len(), inputs.len() + outputs);
        writeln!(
            self.layers,
            "<layer id=\"{id}\" name=\"n{id}\" type=\"{kind}\" version=\"{set}\">{data}\n<input>{}</input>\
             <output>{}</output>{inside}</layer>",
            ports(0..first),
            ports(first..last)
        )
        .unwrap();
        for (port, (layer, from)) in inputs.iter().enumerate() {
            self.edges.push_str(&between(*layer as u32, *from as u32, id as u32, port as u32));
        }
        id
    }

    fn parameter(&mut self, shape: &str, element: &str) -> usize {
        let data = format!("shape=\"{shape}\" element_type=\"{element}\"");
        self.layer(("Parameter", "opset1"), &data, &[], 1, "")
    }

    fn result(&mut self, layer: usize, port: usize) -> usize {
        self.layer(("Result", "opset1"), "", &[(layer, port)], 0, "")
    }

    /// The elements inside of net or of a body.
    fn inside(&self) -> String {
        format!("<layers>\n{}</layers>\n<edges>{}</edges>", self.layers, self.edges)
    }

    fn text(&self) -> String {
        format!("<net name=\"m\" version=\"11\">{}</net>", self.inside())
    }
}

/// A model from files, or all errors.
fn read(xml: &Path, weights: Option<&Path>) -> Result<ReadModel, Diagnostics> {
    crate::compile::with_model_errors(super::read(xml.into(), weights)?)
}

/// A model from memory, or all errors.
fn read_bytes(
    name: &str,
    xml: &[u8],
    weights: Option<(&str, Vec<u8>)>,
) -> Result<ReadModel, Diagnostics> {
    crate::compile::with_model_errors(super::read_bytes(name, xml, weights)?)
}

/// The result of the reader for a text, before the model is checked.
fn lowered(text: &str) -> ReadModel {
    let document = xml::Document::parse("model.xml", text.as_bytes()).unwrap();
    let place = match text.contains("\"Const\"") {
        true => BinLocation::Memory("model.bin".to_owned(), weights()),
        false => BinLocation::Nowhere,
    };
    net::read(&document, &mut BinFile::new(place))
}

/// The diagnostics of the reader for each text, under the name of the case.
fn said_by_the_reader<'a>(cases: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut out = String::new();
    for (name, text) in cases {
        writeln!(out, "==== {name}\n{}", complete(lowered(&text).problems)).unwrap();
    }
    out
}

/// The valid model with the warnings, or the errors, as text.
fn compile(text: &str) -> Result<(CoreModel, String), String> {
    compile_bytes(text.as_bytes(), weights(), &Options::default())
}

fn compile_bytes(
    xml: &[u8],
    bin: Vec<u8>,
    options: &Options,
) -> Result<(CoreModel, String), String> {
    let ReadModel { model, problems: mut warnings } =
        read_bytes("model.xml", xml, Some(("model.bin", bin))).map_err(complete)?;
    let (valid, more) = core_model(&model, options).map_err(complete)?;
    warnings.extend(more);
    Ok((valid, warnings.to_string()))
}

/// The text of a refusal. Panics if an error has no valid input, no help or no place.
fn complete(refusal: Diagnostics) -> String {
    let all = refusal.0.iter().take(Diagnostics::MOST).filter(|d| d.severity == Severity::Error);
    for error in all {
        assert!(
            error.valid.is_some() && error.help.is_some() && error.origin != Origin::Unknown,
            "{}",
            error.render()
        );
    }
    refusal.to_string()
}

/// The model of a text that must be accepted without a warning.
fn accepted(text: &str) -> CoreModel {
    let (valid, warnings) = compile(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(warnings, "");
    valid
}

/// The errors or the warnings for each text, under the name of the case.
fn said<'a>(cases: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut out = String::new();
    for (name, text) in cases {
        let outcome = match compile(&text) {
            Ok((_, warnings)) => format!("(accepted)\n{warnings}"),
            Err(errors) => errors,
        };
        writeln!(out, "==== {name}\n{outcome}").unwrap();
    }
    out
}

#[test]
fn the_corpus_is_read_without_a_warning() {
    let corpus = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus"));
    let mut cases = 0;
    for case in std::fs::read_dir(corpus).unwrap() {
        let case = case.unwrap().path();
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let ReadModel { model, problems: warnings } =
            read(&case.join("model.xml"), None).unwrap_or_else(|d| panic!("{name}: {d}"));
        assert_eq!(warnings, Diagnostics::default(), "{name}");
        if !name.starts_with("gru_cell_") && !name.starts_with("rnn_cell_") {
            continue;
        }
        cases += 1;
        let batch = (name == "gru_cell_batchdyn").then_some(3);
        let options = Options::default().with_batch(batch);
        let (valid, warnings) =
            core_model(&model, &options).unwrap_or_else(|d| panic!("{name}: {d}"));
        assert_eq!(warnings, Diagnostics::default(), "{name}");
        assert_eq!(valid.cells().len(), 1, "{name}");
        assert_eq!(valid.states.len(), 1, "{name}");
        assert_eq!(valid.files.len(), if name == "gru_cell_params" { 1 } else { 2 }, "{name}");
        assert_eq!(valid.cells()[0].kind == CellKind::Rnn, name.starts_with("rnn"), "{name}");
    }
    assert_eq!(cases, 15);
}

#[test]
fn everything_that_a_model_says_is_kept() {
    let valid = accepted(GRU);
    assert_eq!(valid.name.as_deref(), Some("gru"));
    let names: Vec<&str> = valid.files.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["model.xml", "model.bin"]);
    assert_eq!(
        valid.files[1].sha256,
        "45a9bb923e54fbee4c78473fa457485dfb2c17c05eb66c2a454e14791a938a48"
    );
    assert_eq!(valid.parameters.len(), 2);
    assert_eq!(valid.parameters[0].names, ["x"]);
    assert_eq!(valid.parameters[0].shape, [1, 2]);
    assert_eq!(valid.parameters[1].shape, [1, 3]);
    assert!(valid.parameters.iter().all(|p| !p.weight && p.element == ElementType::F32));
    let [(node, cell)] = &valid.cell_nodes()[..] else { panic!() };
    assert_eq!(cell.kind, CellKind::Gru(ResetGate::AfterMatMul));
    assert_eq!((cell.batch, cell.input_size, cell.hidden_size), (1, 2, 3));
    assert_eq!(cell.activations, [Activation::Sigmoid, Activation::Tanh]);
    assert_eq!(cell.clip, None);
    assert_eq!((cell.x, cell.h), (Source::Parameter(0), Source::Parameter(1)));
    let constant = |weight| match weight {
        WeightSource::Constant(i) => &valid.constants[i],
        other => panic!("{other:?}"),
    };
    for (weight, shape, first) in [
        (cell.weights.w, &[9, 2][..], 0.0),
        (cell.weights.r, &[9, 3], 4.5),
        (cell.weights.b[0], &[12], 11.25),
    ] {
        assert_eq!(constant(weight).shape(), shape);
        assert_eq!(constant(weight).get_f32(0), first);
        assert_eq!(constant(weight).get_f32(1), first + 0.25);
    }
    let [result] = &valid.results[..] else { panic!() };
    assert_eq!(result.names, ["h_out", "Result_1"]);
    assert_eq!((result.shape.as_slice(), result.source), (&[1, 3][..], Source::Value(0)));
    assert_eq!((valid.states[0].parameter, valid.states[0].result), (1, 0));
    let ledger: Vec<(&str, Option<&str>, &str)> = node
        .ledger
        .iter()
        .map(|e| (e.attribute.as_str(), e.text.as_deref(), e.meaning.as_str()))
        .collect();
    assert_eq!(
        ledger,
        [
            ("hidden_size", Some("3"), "3"),
            (
                "linear_before_reset",
                Some("true"),
                "true: the reset gate is after the matrix product"
            ),
            ("activations", Some("sigmoid, tanh"), "sigmoid, tanh"),
            ("activations_alpha", Some(""), "none"),
            ("activations_beta", Some(""), "none"),
            ("clip", Some("0"), "no clipping"),
        ]
    );
}

/// The errors for a text that must be refused.
fn refused(text: &str) -> String {
    compile(text).map(|_| ()).unwrap_err()
}

/// The model with W stored as the type `element`, followed by a Convert to the type `to`.
fn converted(element: &str, precision: &str, bytes: usize, to: &str) -> String {
    let text = edit(
        GRU,
        "<data element_type=\"f32\" shape=\"9, 2\" offset=\"0\" size=\"72\" />",
        &format!(
            "<data element_type=\"{element}\" shape=\"9, 2\" offset=\"0\" size=\"{}\" />",
            18 * bytes
        ),
    );
    let text = edit(
        &text,
        "<output><port id=\"0\" precision=\"FP32\"><dim>9</dim><dim>2</dim></port></output>",
        &format!(
            "<output><port id=\"0\" \
             precision=\"{precision}\"><dim>9</dim><dim>2</dim></port></output>"
        ),
    );
    let layer = format!(
        "<layer id=\"50\" name=\"c\" type=\"Convert\" version=\"opset1\"><data destination_type=\"{to}\" />\
         <rt_info><attribute name=\"decompression\" version=\"0\" /></rt_info>\
         <input><port id=\"0\"><dim>9</dim><dim>2</dim></port></input>\
         <output><port id=\"1\"><dim>9</dim><dim>2</dim></port></output></layer>\n\t</layers>"
    );
    let text = edit(&text, "\t</layers>", &layer);
    edit(
        &text,
        "<edge from-layer=\"2\" from-port=\"0\" to-layer=\"5\" to-port=\"2\" />",
        "<edge from-layer=\"2\" from-port=\"0\" to-layer=\"50\" to-port=\"0\" />\
         <edge from-layer=\"50\" from-port=\"1\" to-layer=\"5\" to-port=\"2\" />",
    )
}
