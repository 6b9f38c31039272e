//! The corpus: models as OpenVINO saves them, inputs, what OpenVINO computed and what a float64 oracle computed.

use std::fs;
use std::path::{Path, PathBuf};

use cellc::compile::compile;
use cellc::front::formats::{self, ReadOptions};
use cellc::model::{Dim, Model};
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
    assert!(names.len() >= 36, "the corpus has lost cases: {names:?}");
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
    let (model, _) = formats::read(&folder.join("model.xml"), &ReadOptions::default())
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
    /// The model with inputs of these shapes.
    pub fn fixed(&self, shapes: &[Vec<usize>]) -> Model {
        let mut model = self.model.clone();
        for (&node, shape) in self.model.parameters.iter().zip(shapes) {
            let value = model.nodes[node].outputs[0];
            model.values[value.0].shape = Some(shape.iter().map(|&size| Dim::Fixed(size)).collect());
        }
        model
    }

    /// The case compiled, once for each distinct set of input shapes, with the runs of that shape: (subject, indices of
    /// runs). `ending` makes the names differ from those of another compilation.
    ///
    /// # Panics
    /// If it is refused.
    pub fn subjects(&self, options: &Options, ending: &str) -> Vec<(Subject, Vec<usize>)> {
        let mut shapes: Vec<&Vec<Vec<usize>>> = self.runs.iter().map(|run| &run.shapes).collect();
        shapes.dedup();
        let subject = |shapes: &Vec<Vec<usize>>| {
            let mut name = self.name.clone();
            // the sizes of the first input that the model leaves open
            if let (Some(&node), Some(shape)) = (self.model.parameters.first(), shapes.first()) {
                let stated = self.model.values[self.model.nodes[node].outputs[0].0].shape.iter().flatten();
                let open = stated.zip(shape).filter(|(dim, _)| matches!(dim, Dim::Dynamic { .. }));
                open.for_each(|(_, size)| name += &format!("_{size}"));
            }
            name += ending;
            let model = self.fixed(shapes);
            let options = Options { name: Some(name.clone()), ..options.clone() };
            let compilation =
                compile(&model, &options).unwrap_or_else(|problems| panic!("{} is refused: {problems:?}", self.name));
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
    let bytes =
        |tensor: &Value| fs::read(folder.join(tensor["file"].as_str().expect("a name"))).expect("the file is there");
    let shape = |tensor: &Value| -> Vec<usize> {
        list(&tensor["shape"]).iter().map(|size| size.as_u64().expect("a size") as usize).collect()
    };
    let singles = |key: &str| list(&run[key]).iter().map(|tensor| f32s(tensor, &bytes(tensor))).collect();
    let doubles = |tensor: &Value| -> Vec<f64> {
        assert_eq!(tensor["dtype"], "f64", "{tensor}");
        bytes(tensor).as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
    };
    Run {
        shapes: list(&run["inputs"]).iter().map(shape).collect(),
        inputs: singles("inputs"),
        openvino: singles("openvino"),
        oracle: list(&run["oracle"]).iter().map(doubles).collect(),
    }
}

/// The elements as kernels take them; lengths are small enough to be exact.
fn f32s(tensor: &Value, bytes: &[u8]) -> Vec<f32> {
    match tensor["dtype"].as_str() {
        Some("f32") => bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
        Some("i32") => bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b) as f32).collect(),
        Some("i64") => bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b) as f32).collect(),
        other => panic!("{tensor}: {other:?}"),
    }
}
