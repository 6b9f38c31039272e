//! The corpus: models saved by OpenVINO, ONNX files, inputs, and the outputs of OpenVINO or ONNX
//! Runtime and of a float64 oracle.

use std::fs;
use std::path::{Path, PathBuf};

use cellc::Options;
use cellc::internals::compile::{self, compile};
use cellc::internals::diagnostic::Diagnostics;
use cellc::internals::front::formats::ReadOptions;
use cellc::internals::model::{Dim, Model};
use serde::Deserialize;

use crate::subject::Subject;

/// One model with its runs.
#[derive(Debug)]
pub struct Case {
    /// The name of the case's folder.
    pub name: String,
    /// The program that made the model, and how to make the model again.
    pub origin: String,
    /// The model as it was read.
    pub model: Model,
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// By output: the maximum distance of an element from the oracle.
    pub tolerance: Vec<f64>,
}

/// One call of a model.
#[derive(Clone, Debug)]
pub struct Run {
    /// The shape of every input.
    pub shapes: Vec<Vec<usize>>,
    /// Every input in C order.
    pub inputs: Vec<Vec<f32>>,
    /// The outputs of OpenVINO or, for an ONNX file, of ONNX Runtime. Empty if the engine refuses
    /// the model.
    pub openvino: Vec<Vec<f32>>,
    /// The outputs of the oracle.
    pub oracle: Vec<Vec<f64>>,
}

/// The folder of the cases.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The folder of the ONNX cases.
pub fn onnx_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("onnx/cases")
}

/// All cases, sorted by name.
///
/// # Panics
/// If a case cannot be read.
pub fn cases() -> Vec<Case> {
    let names = names(&folder());
    assert!(names.len() >= 36, "the corpus has lost cases: {names:?}");
    names.iter().map(|name| case(name)).collect()
}

/// The names of the entries of a folder, sorted.
///
/// # Panics
/// If the folder cannot be read.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let name =
        |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name().into_string();
    let mut names: Vec<_> = entries.map(|entry| name(entry).expect("names are UTF-8")).collect();
    names.sort();
    names
}

/// One case.
///
/// # Panics
/// If the case cannot be read.
pub fn case(name: &str) -> Case {
    case_in(&folder().join(name))
        .unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}"))
}

/// The case in a folder.
///
/// # Errors
/// The problems of the model.
///
/// # Panics
/// If another file cannot be read.
pub fn case_in(folder: &Path) -> Result<Case, Diagnostics> {
    let name = folder.file_name().expect("a name").to_string_lossy();
    let text = fs::read_to_string(folder.join("case.json")).expect("case.json is there");
    let described: Described =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: case.json: {error}"));
    let model = compile::read(&folder.join(&described.model), &ReadOptions::default())?.model;
    let runs = described.runs.iter().map(|run| run.read(folder)).collect();
    let tolerance = described.tolerance.iter().map(|tolerance| tolerance.abs).collect();
    Ok(Case { name: name.into_owned(), origin: described.origin, model, runs, tolerance })
}

impl Case {
    /// The model with inputs of these shapes.
    pub fn fixed(&self, shapes: &[Vec<usize>]) -> Model {
        let mut model = self.model.clone();
        for (&node, shape) in self.model.parameters.iter().zip(shapes) {
            let value = model.nodes[node].outputs[0];
            model.values[value.0].shape =
                Some(shape.iter().map(|&size| Dim::Fixed(size)).collect());
        }
        model
    }

    /// The case compiled, once for each distinct set of input shapes, with the runs of that shape:
    /// (subject, indices of runs). `ending` makes the names differ from those of another
    /// compilation.
    ///
    /// # Panics
    /// If the model is refused.
    pub fn subjects(&self, options: &Options, ending: &str) -> Vec<(Subject, Vec<usize>)> {
        self.compiled(options, ending)
            .unwrap_or_else(|problems| panic!("{} is refused: {problems:?}", self.name))
    }

    /// As [`Self::subjects`].
    ///
    /// # Errors
    /// The problems of the model.
    pub fn compiled(
        &self,
        options: &Options,
        ending: &str,
    ) -> Result<Vec<(Subject, Vec<usize>)>, Diagnostics> {
        let mut shapes: Vec<&Vec<Vec<usize>>> = self.runs.iter().map(|run| &run.shapes).collect();
        shapes.dedup();
        let subject = |shapes: &Vec<Vec<usize>>| {
            let mut name = self.name.clone();
            // the sizes of the first input that the model leaves open
            if let (Some(&node), Some(shape)) = (self.model.parameters.first(), shapes.first()) {
                let stated =
                    self.model.values[self.model.nodes[node].outputs[0].0].shape.iter().flatten();
                let open = stated.zip(shape).filter(|(dim, _)| matches!(dim, Dim::Dynamic { .. }));
                open.for_each(|(_, size)| name += &format!("_{size}"));
            }
            name += ending;
            let model = self.fixed(shapes);
            let options = options.clone().with_name(Some(name.clone()));
            let compilation = compile(&model, &options)?;
            let runs: Vec<usize> =
                (0..self.runs.len()).filter(|run| self.runs[*run].shapes == *shapes).collect();
            let calls = runs.iter().map(|run| self.runs[*run].inputs.clone()).collect();
            Ok((Subject { name, compilation, calls }, runs))
        };
        shapes.into_iter().map(subject).collect()
    }
}

/// `case.json`, as far as Rust reads it; `models/check_corpus.py` reads the rest.
#[derive(Deserialize)]
struct Described {
    origin: String,
    model: String,
    runs: Vec<DescribedRun>,
    tolerance: Vec<Tolerance>,
}

#[derive(Deserialize)]
struct DescribedRun {
    inputs: Vec<Tensor>,
    openvino: Vec<Tensor>,
    oracle: Vec<Tensor>,
}

#[derive(Deserialize)]
struct Tensor {
    file: String,
    dtype: ElementType,
    shape: Vec<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ElementType {
    F32,
    F64,
    I32,
    I64,
    Boolean,
}

#[derive(Deserialize)]
struct Tolerance {
    abs: f64,
    #[serde(rename = "rule")]
    _rule: Rule,
}

/// The rule of a tolerance. Any other rule is an error.
#[derive(Deserialize)]
enum Rule {
    #[serde(rename = "|out-oracle| <= abs")]
    DistanceToOracle,
}

impl DescribedRun {
    fn read(&self, folder: &Path) -> Run {
        let doubles = |tensors: &[Tensor]| -> Vec<Vec<f64>> {
            tensors.iter().map(|t| t.numbers(folder)).collect()
        };
        // kernels take f32; lengths are small enough to be exact
        let singles = |tensors: &[Tensor]| {
            doubles(tensors)
                .iter()
                .map(|tensor| tensor.iter().map(|v| *v as f32).collect())
                .collect()
        };
        Run {
            shapes: self.inputs.iter().map(|tensor| tensor.shape.clone()).collect(),
            inputs: singles(&self.inputs),
            openvino: singles(&self.openvino),
            oracle: doubles(&self.oracle),
        }
    }
}

impl Tensor {
    fn numbers(&self, folder: &Path) -> Vec<f64> {
        let bytes = fs::read(folder.join(&self.file))
            .unwrap_or_else(|error| panic!("{}: {error}", self.file));
        let numbers: Vec<f64> = match self.dtype {
            ElementType::F32 => {
                bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect()
            }
            ElementType::F64 => {
                bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
            }
            ElementType::I32 => {
                bytes.as_chunks().0.iter().map(|b| f64::from(i32::from_le_bytes(*b))).collect()
            }
            ElementType::Boolean => bytes.iter().map(|b| f64::from(*b)).collect(),
            ElementType::I64 => {
                bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b) as f64).collect()
            }
        };
        assert_eq!(numbers.len(), self.shape.iter().product::<usize>(), "{}", self.file);
        numbers
    }
}
