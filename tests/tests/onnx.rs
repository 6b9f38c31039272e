//! ONNX files: every case of `onnx/cases` in the interpreter, in generated Rust and in C, and every
//! damaged or hostile file of `onnx/bad`.

use std::fs;
use std::path::{Path, PathBuf};

use cellc::internals::compile::{self, compile};
use cellc::internals::diagnostic::Diagnostics;
use cellc::internals::front::formats::ReadOptions;
use cellc::{Language, Options};
use cellc_tests::agreement;
use cellc_tests::corpus::{self, Case};
use cellc_tests::driver;
use cellc_tests::selection::with_fewer_bodies;
use cellc_tests::subject::{Subject, Values, assert_same, of_subjects};
use serde::Deserialize;

/// Refused cases, each with a part of the message.
const REFUSED: &[(&str, &str)] = &[("loop_until", "without a largest count")];

/// A case, compiled for each of its shapes.
type Compiled = (Case, Vec<(Subject, Vec<usize>)>);

fn compiled(folder: &Path, ending: &str) -> Result<Compiled, Diagnostics> {
    let case = corpus::case_in(folder)?;
    let subjects = case.compiled(&Options::default(), ending)?;
    Ok((case, subjects))
}

/// Every case that is read, including cases among the hostile files.
fn cases() -> Vec<Compiled> {
    let folder = corpus::onnx_folder();
    let (mut cases, mut read) = (Vec::new(), Vec::new());
    for name in corpus::names(&folder) {
        let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
        match (compiled(&folder.join(&name), ""), refused) {
            (Ok(case), None) => cases.push(case),
            (Err(problems), Some((_, word))) => {
                assert!(problems.to_string().contains(word), "{name}: {problems}");
            }
            (Ok(_), Some(_)) => read.push(name),
            (Err(problems), None) => panic!("{name} is refused: {problems}"),
        }
    }
    assert!(
        read.is_empty(),
        "{read:?} are read: take them out of the list of those that are refused"
    );
    assert!(cases.len() >= 40, "{} cases are left", cases.len());
    for file in hostile().into_iter().filter(|file| file.expected == "accept") {
        let problems = |problems| panic!("{} is refused: {problems}", file.name);
        cases.push(compiled(&bad_folder().join(&file.name), "").unwrap_or_else(problems));
    }
    cases
}

#[test]
fn every_case_is_within_its_tolerance_and_its_bound_with_the_same_bits_everywhere() {
    for (case, subjects) in cases() {
        for (subject, runs) in subjects {
            let mut variables: Vec<_> = subject.isas().map(|_| subject.variables()).collect();
            for (call, run) in runs.iter().enumerate() {
                let oracle = &case.runs[*run].oracle;
                agreement::on_all_isas(
                    &subject,
                    &subject.calls[call],
                    &mut variables,
                    |name, compared| {
                        let sizes = compared.found.results.iter().map(Vec::len);
                        assert!(
                            sizes.eq(oracle.iter().map(Vec::len)),
                            "{}: other sizes",
                            subject.name
                        );
                        for ((i, place), found, right, limit) in
                            compared.elements().filter(|e| e.0.0 < oracle.len())
                        {
                            let (golden, tolerance) = (oracle[i][place], case.tolerance[i]);
                            assert!(
                                same(found, golden, tolerance) && same(found, right, limit),
                                "{} run {run} on {name}, result {i} element {place}: {found}, not {golden}, allowed {tolerance:e}; reference {right}, bound {limit:e}",
                                subject.name
                            );
                        }
                    },
                );
            }
        }
    }
}

/// True if two numbers are within a distance, or are the same if they are not finite.
fn same(a: f64, b: f64, distance: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= distance
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn subjects() -> Vec<Subject> {
    let all = cases().into_iter().flat_map(|(_, subjects)| subjects);
    all.map(|(subject, _)| subject).collect()
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn generated_c_is_the_interpreter_bit_for_bit() {
    let (mut subjects, isas) = (subjects(), driver::isas());
    subjects.retain(|subject| {
        [
            "recurrent_",
            "lstm_",
            "gru_",
            "decisions",
            "decode_until",
            "counting_loop",
            "ends_early",
            "if_at",
            "scan_from",
            "tcn",
            "conv_",
            "causal_",
            "qdq_",
            "log_sum_exp",
            "masked_half",
            "matrices_of_state",
            "windows_of_state",
        ]
        .iter()
        .any(|part| subject.name.starts_with(part))
    });
    let expected: Values = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    let subjects = with_fewer_bodies(&subjects, Language::C);
    let mut flags = vec!["-std=gnu11", "-O1"];
    if isas.contains(&"avx2") {
        flags.push("-mfma");
    }
    let compiler = driver::c_compilers()[0];
    let found = driver::c(&folder("onnx-c"), &subjects, compiler, &flags);
    assert_same(&format!("{compiler} {flags:?}"), &of_subjects(&expected, &subjects), &found);
}

/// Features of ONNX alone: peepholes, lengths of sequences, f = 1 - i, and activations by
/// direction.
#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn generated_rust_is_the_interpreter_bit_for_bit() {
    let only = [
        "emb_bilstm_ts17",
        "packed_ts11",
        "lstm_input_forget",
        "lstm_lens_bi_dyn",
        "gru_relu_bi",
        "gru_lens_bi_dyn",
        "if_shape",
        "gru_in_a_branch",
        "ends_early",
        "tcn",
        "conv_planes",
        "causal_planes",
        "log_sum_exp",
    ];
    let mut subjects = subjects();
    subjects.retain(|subject| only.iter().any(|name| subject.name.starts_with(name)));
    let expected: Values = subjects.iter().flat_map(|s| s.expected(&driver::isas())).collect();
    let subjects = with_fewer_bodies(&subjects, Language::Rust);
    let found = driver::rust(&folder("onnx-rust"), &subjects, &["-Copt-level=1"]);
    assert_same("rust", &of_subjects(&expected, &subjects), &found);
}

/// Sums of one column in two rows of a batch at a time, which LLVM mistook for other sums; in
/// integers, too.
#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn optimised_rust_of_quantised_layers_is_the_interpreter_bit_for_bit() {
    let case =
        corpus::case_in(&corpus::onnx_folder().join("qdq_gru")).unwrap_or_else(|e| panic!("{e}"));
    let options = Options::default().with_precision(Some(cellc::Precision::Int8));
    let in_integers =
        case.compiled(&options, "_in_int8").expect("it compiles").into_iter().map(|(s, _)| s);
    let quantised = subjects().into_iter().filter(|subject| subject.name.starts_with("qdq_"));
    let subjects: Vec<_> = in_integers.chain(quantised).collect();
    let expected = subjects.iter().flat_map(|s| s.expected(&driver::isas())).collect();
    let found = driver::rust(&folder("onnx-optimised-rust"), &subjects, &["-Copt-level=3"]);
    assert_same("rust", &expected, &found);
}

fn bad_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("onnx/bad")
}

/// A damaged or hostile file, and true if the file has to be read.
#[derive(Deserialize)]
struct Hostile {
    name: String,
    expected: String,
    why: String,
}

fn hostile() -> Vec<Hostile> {
    let text = fs::read_to_string(bad_folder().join("manifest.json")).expect("the list is there");
    serde_json::from_str(&text).expect("a list of files")
}

#[test]
fn damaged_and_hostile_files_are_refused_with_words_or_right() {
    let all = hostile();
    assert!(all.len() >= 47, "{} files", all.len());
    for file in &all {
        let read = compile::read(
            &bad_folder().join(&file.name).join("model.onnx"),
            &ReadOptions::default(),
        );
        let compilation = read.and_then(|read| compile(&read.model, &Options::default()));
        let Hostile { name, why, .. } = file;
        match (compilation, &file.expected[..]) {
            (Ok(_), "reject") => panic!("{name} is read: {why}"),
            (Err(problems), "accept") => panic!("{name} is refused: {problems}"),
            (Err(problems), _) => {
                assert!(problems.has_errors(), "{name}: {problems}");
                for problem in &problems.0 {
                    assert!(problem.help.is_some(), "{name}: {problem}");
                }
            }
            (Ok(_), "accept" | "either") => {}
            (_, other) => panic!("{name} is expected to be {other}"),
        }
    }
}
