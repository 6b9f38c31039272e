//! Models of amplifiers (`tests/amplifiers`): what is read is what NumPy computes in float64, in
//! Rust and in C too.

use std::fs;
use std::path::{Path, PathBuf};

use cellc::internals::compile::compile;
use cellc::internals::compile::core_model;
use cellc::internals::front::formats::{self, ReadOptions};
use cellc::internals::model::Model;
use cellc::internals::reference::{initial_variables, reference};
use cellc::{Language, Options};
use cellc_tests::driver;
use cellc_tests::selection::with_fewer_bodies;
use cellc_tests::subject::{Subject, Values, assert_same, of_subjects};
use serde_json::Value;

struct Case {
    name: String,
    model: Model,
    /// By sample.
    x: Vec<Vec<f32>>,
    y: Vec<Vec<f64>>,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "expected"));
    paths.sort();
    assert!(paths.len() >= 11, "models have been lost: {paths:?}");
    paths.iter().map(|path| case(path)).collect()
}

fn case(expected: &Path) -> Case {
    let model = expected.with_extension("");
    let name = model.file_stem().expect("a name").to_string_lossy().into_owned();
    let (model, warnings) = formats::read(&model, &ReadOptions::default())
        .unwrap_or_else(|problems| panic!("{name}: {problems}"));
    assert_eq!(warnings.to_string(), "", "{name}");
    let text = fs::read_to_string(expected).expect("what is expected");
    let numbers: Value = serde_json::from_str(&text).expect("JSON");
    let rows = |key: &str| -> Vec<Vec<f64>> {
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let row = |row: &Value| {
            list(row).iter().map(|number| number.as_f64().expect("a number")).collect()
        };
        list(&numbers[key]).iter().map(row).collect()
    };
    let x = rows("x").iter().map(|row| row.iter().map(|v| *v as f32).collect()).collect();
    Case { name, model, x, y: rows("y") }
}

fn options(case: &Case) -> Options {
    Options::default().with_name(Some(case.name.clone()))
}

#[test]
fn samples_are_those_of_numpy() {
    for case in cases() {
        let (model, _) = core_model(&case.model, &options(&case))
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let mut variables = initial_variables(&model);
        for (t, (x, y)) in case.x.iter().zip(&case.y).enumerate() {
            let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
            let step = reference(&model, &[x], &variables);
            assert_eq!(step.results[0].len(), y.len(), "{}", case.name);
            for (got, want) in step.results[0].iter().zip(y) {
                // two biases of a GRU are summed in f32
                let allowed = if case.name.contains("lstm") { 1e-12 } else { 1e-6 };
                assert!((got - want).abs() < allowed, "{} {t}: {got}, not {want}", case.name);
            }
            variables = step.variables;
        }
    }
}

#[test]
fn generated_code_starts_from_the_initial_states_and_returns_to_them() {
    let subjects: Vec<Subject> = cases()
        .into_iter()
        .map(|case| {
            let compilation = compile(&case.model, &options(&case))
                .unwrap_or_else(|problems| panic!("{}: {problems}", case.name));
            let calls = case.x.iter().take(2).map(|x| vec![x.clone()]).collect();
            Subject { name: case.name, compilation, calls }
        })
        .collect();
    let isas = driver::isas();
    let expected: Values = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let in_rust = with_fewer_bodies(&subjects, Language::Rust);
    let found = driver::rust(&folder("amplifiers-rust"), &in_rust, &["-Copt-level=1"]);
    assert_same("rust", &of_subjects(&expected, &in_rust), &found);
    let in_c = with_fewer_bodies(&subjects, Language::C);
    for (compiler, taken) in driver::c_compilers_with(&in_c) {
        let found = driver::c(&folder("amplifiers-c"), &taken, compiler, &["-std=gnu11", "-O1"]);
        assert_same(compiler, &of_subjects(&expected, &taken), &found);
    }
}
