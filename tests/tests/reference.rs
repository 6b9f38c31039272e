//! The float64 reference against the results that are stored with every case of the corpus, which another program computed.
//!
//! Only reading and validating stand between a file and the reference: it is what all else is measured by.

use std::fs;
use std::path::Path;

use cellc::front::openvino;
use cellc::model::Dim;
use cellc::options::Options;
use cellc::reference::{Step, initial_variables, reference};
use cellc::validate::validate;
use cellc_tests::corpus;
use serde_json::Value;

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// The elements of one tensor of a run, by its type.
fn numbers(case: &Path, tensor: &Value) -> Vec<f64> {
    let file = tensor["file"].as_str().expect("a file's name");
    let bytes = fs::read(case.join(file)).expect("a file of the run");
    match tensor["dtype"].as_str() {
        Some("f32") => bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        Some("f64") => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        Some("i32") => bytes.as_chunks().0.iter().map(|b| f64::from(i32::from_le_bytes(*b))).collect(),
        Some("i64") => bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b) as f64).collect(),
        other => panic!("{file}: {other:?}"),
    }
}

fn shape(tensor: &Value) -> Option<Vec<Dim>> {
    Some(list(&tensor["shape"]).iter().map(|n| Dim::Fixed(n.as_u64().expect("a size") as usize)).collect())
}

#[test]
fn agrees_with_the_oracle() {
    let entries = fs::read_dir(corpus::folder()).expect("the corpus");
    for case in entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()) {
        let json = fs::read_to_string(case.join("case.json")).expect("case.json");
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let (mut model, _) = openvino::read(&case.join("model.xml"), None)
            .unwrap_or_else(|problems| panic!("{}: {problems}", case.display()));
        let mut variables = None;
        for run in list(&json["runs"]) {
            // sizes that the model leaves open are those of the run
            for (node, tensor) in model.parameters.iter().zip(list(&run["inputs"])) {
                let value = model.nodes[*node].outputs[0];
                model.values[value.0].shape = shape(tensor);
            }
            let (model, _) = validate(&model, &Options::default())
                .unwrap_or_else(|problems| panic!("{}: {problems}", case.display()));
            let parameters: Vec<_> = list(&run["inputs"]).iter().map(|tensor| numbers(&case, tensor)).collect();
            let before = variables.take().unwrap_or_else(|| initial_variables(&model));
            let Step { results, variables: after } = reference(&model, &parameters, &before);
            variables = Some(after);
            assert_eq!(results.len(), list(&run["oracle"]).len(), "{}", case.display());
            for (result, tensor) in results.iter().zip(list(&run["oracle"])) {
                let oracle = numbers(&case, tensor);
                assert_eq!(result.len(), oracle.len(), "{}: {tensor}", case.display());
                for (found, exact) in result.iter().zip(&oracle) {
                    assert!((found - exact).abs() < 1e-12, "{}: {tensor}: {found} is not {exact}", case.display());
                }
            }
        }
    }
}
