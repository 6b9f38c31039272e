//! The corpus: models as OpenVINO saves them, inputs, what OpenVINO computed and what a float64 oracle computed.

use std::fs;
use std::path::{Path, PathBuf};

use cellc::compile::compile;
use cellc::front::openvino;
use cellc::model::{Dim, Model, Op};
use cellc::options::Options;
use serde_json::Value;

use crate::subject::Subject;

/// One model with its runs.
#[derive(Debug)]
pub struct Case {
    /// Its folder's name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The model as it was read.
    pub model: Model,
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// By output: how far from the oracle an element may be.
    pub tolerance: Vec<f64>,
}

/// One call of a model.
#[derive(Clone, Debug)]
pub struct Run {
    /// The shape of every input.
    pub shapes: Vec<Vec<usize>>,
    /// Every input in C order.
    pub inputs: Vec<Vec<f32>>,
    /// What OpenVINO computed.
    pub openvino: Vec<Vec<f32>>,
    /// What it should be.
    pub oracle: Vec<Vec<f64>>,
}

/// Where the cases stand.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// All cases, sorted by name.
///
/// # Panics
/// If one cannot be read.
pub fn cases() -> Vec<Case> {
    let entries = fs::read_dir(folder()).expect("the corpus is there");
    let mut names: Vec<_> =
        entries.map(|e| e.expect("an entry").file_name().into_string().expect("names are UTF-8")).collect();
    names.sort();
    assert!(names.len() >= 15, "the corpus has lost cases: {names:?}");
    names.iter().map(|name| case(name)).collect()
}

/// One case.
///
/// # Panics
/// If it cannot be read.
pub fn case(name: &str) -> Case {
    let folder = folder().join(name);
    let text = fs::read_to_string(folder.join("case.json")).expect("case.json is there");
    let json: Value = serde_json::from_str(&text).expect("case.json is JSON");
    let (model, _) = openvino::read(&folder.join("model.xml"), None)
        .unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}"));
    let runs = list(&json["runs"]).iter().map(|run| read_run(&folder, run)).collect();
    let tolerance = list(&json["tolerance"])
        .iter()
        .map(|rule| {
            assert_eq!(rule["rule"], "|out-oracle| <= abs", "{name}: a rule that is not known");
            rule["abs"].as_f64().expect("a number")
        })
        .collect();
    Case { name: name.to_string(), folder, model, runs, tolerance }
}

impl Case {
    /// The case compiled, once for each distinct set of input shapes, with the runs of that shape: (subject, indices of
    /// runs). `ending` makes the names differ from those of another compilation.
    ///
    /// # Panics
    /// If it is refused.
    pub fn subjects(&self, options: &Options, ending: &str) -> Vec<(Subject, Vec<usize>)> {
        let mut shapes: Vec<&Vec<Vec<usize>>> = self.runs.iter().map(|run| &run.shapes).collect();
        shapes.dedup();
        let open = self.model.nodes.iter().filter(|node| matches!(node.op, Op::Parameter)).any(|node| {
            let shape = self.model.values[node.outputs[0].0].shape.as_ref();
            shape.is_none_or(|dims| dims.iter().any(|dim| matches!(dim, Dim::Dynamic { .. })))
        });
        let subject = |shapes: &Vec<Vec<usize>>| {
            let batch = shapes[0][0];
            let name = if open { format!("{}_{batch}{ending}", self.name) } else { format!("{}{ending}", self.name) };
            let options =
                Options { name: Some(name.clone()), batch: open.then_some(batch).or(options.batch), ..options.clone() };
            let compilation = compile(&self.model, &options)
                .unwrap_or_else(|problems| panic!("{} is refused: {problems:?}", self.name));
            let runs: Vec<usize> = (0..self.runs.len()).filter(|run| self.runs[*run].shapes == *shapes).collect();
            let calls = runs.iter().map(|run| self.runs[*run].inputs.clone()).collect();
            (Subject { name, compilation, calls }, runs)
        };
        shapes.into_iter().map(subject).collect()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn read_run(folder: &Path, run: &Value) -> Run {
    let bytes = |tensor: &Value, element: &str| {
        assert_eq!(tensor["dtype"], element, "{tensor}");
        fs::read(folder.join(tensor["file"].as_str().expect("a name"))).expect("the file is there")
    };
    let shape = |tensor: &Value| -> Vec<usize> {
        list(&tensor["shape"]).iter().map(|size| size.as_u64().expect("a size") as usize).collect()
    };
    let singles = |key: &str| list(&run[key]).iter().map(|tensor| f32s(&bytes(tensor, "f32"))).collect();
    let doubles = |tensor: &Value| -> Vec<f64> {
        let bytes = bytes(tensor, "f64");
        bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
    };
    Run {
        shapes: list(&run["inputs"]).iter().map(shape).collect(),
        inputs: singles("inputs"),
        openvino: singles("openvino"),
        oracle: list(&run["oracle"]).iter().map(doubles).collect(),
    }
}

fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}
