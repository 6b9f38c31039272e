//! What is below 2^-100 in magnitude becomes 0 where a step reads an input, keeps a state and writes an output, the same in Rust, in C and
//! on every instruction set, and nothing else does.

use std::path::Path;

use cellc::Options;
use cellc_tests::driver;
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::random::compiled;
use cellc_tests::subject::{Subject, assert_same, bits};

/// 2^-100: what is as large as that stays.
const LIMIT: f32 = f32::from_bits(27 << 23);

/// Just below.
const BELOW: f32 = f32::from_bits((27 << 23) - 1);

fn subject(name: &str, file: ModelFile, keep_denormals: bool, calls: Vec<Vec<Vec<f32>>>) -> Subject {
    let options = Options { keep_denormals, ..Options::default() };
    Subject { calls, ..compiled(name, file, options, 0) }
}

/// `up = x 2^60`, `down = x 2^-60`, `same = x`
fn scaled() -> ModelFile {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, 10]);
    for exponent in [60, -60] {
        let factor = file.constant(&[1, 1], Stored::F32, [2f32.powi(exponent)].into_iter());
        let scaled = file.operation("Multiply", "opset1", "", &[&x, &factor], &[1, 10]);
        file.result(&scaled);
    }
    file.result(&x);
    file
}

const X: [f32; 10] = [1e-40, -1e-40, BELOW, -BELOW, LIMIT, -LIMIT, -0.0, 1.0, f32::NAN, f32::NEG_INFINITY];

/// A GRU of 4 units with relu whose x is 0 and whose update gate is about 0.98: h fades.
fn fading() -> ModelFile {
    let mut file = ModelFile::default();
    let (x, h) = (file.parameter("x", &[1, 2]), file.parameter("h", &[1, 4]));
    let w = file.constant(&[12, 2], Stored::F32, (0..24).map(|k| k as f32 / 24.0));
    let r = file.constant(&[12, 4], Stored::F32, std::iter::repeat_n(0.0, 48));
    let b = file.constant(&[12], Stored::F32, (0..12).map(|k| if k < 4 { 4.0 } else { 0.0 }));
    let cell = "hidden_size=\"4\" activations=\"sigmoid,relu\"";
    let new = file.operation("GRUCell", "opset3", cell, &[&x, &h, &w, &r, &b], &[1, 4]);
    file.result(&new);
    file
}

/// A recurrent network with weights so large that a state of 1e-40 would be seen in its output.
fn amplifying() -> ModelFile {
    let mut file = ModelFile::default();
    let (x, h) = (file.parameter("x", &[1, 3]), file.parameter("h", &[1, 3]));
    let weights = |file: &mut ModelFile, shape: &[usize], value: f32| {
        let len = shape.iter().product();
        file.constant(shape, Stored::F32, std::iter::repeat_n(value, len))
    };
    let (w, r) = (weights(&mut file, &[3, 3], 1e38), weights(&mut file, &[3, 3], 1e38));
    let b = weights(&mut file, &[3], 0.0);
    let cell = "hidden_size=\"3\" activations=\"relu\"";
    let new = file.operation("RNNCell", "opset1", cell, &[&x, &h, &w, &r, &b], &[1, 3]);
    file.result(&new);
    file
}

#[test]
fn small_inputs_states_and_outputs_are_zero() {
    let subject = subject("scaled", scaled(), false, vec![vec![X.to_vec()]]);
    let up = [0.0, 0.0, 0.0, 0.0, LIMIT * 2f32.powi(60), -LIMIT * 2f32.powi(60), 0.0, 2f32.powi(60), X[8], X[9]];
    let down = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2f32.powi(-60), X[8], X[9]];
    let same = [0.0, 0.0, 0.0, 0.0, LIMIT, -LIMIT, 0.0, 1.0, X[8], X[9]];
    for isa in 0..subject.isas().count() {
        let found = subject.interpret(isa, &subject.calls[0]);
        for (found, expected) in found.iter().zip([up, down, same]) {
            assert_eq!(found.iter().copied().map(bits).collect::<Vec<_>>(), expected.map(bits));
        }
    }
}

#[test]
fn small_inputs_states_and_outputs_are_kept_where_that_is_asked_for() {
    let subject = subject("kept", scaled(), true, vec![vec![X.to_vec()]]);
    for isa in 0..subject.isas().count() {
        let found = subject.interpret(isa, &subject.calls[0]);
        for (found, factor) in found.iter().zip([2f32.powi(60), 2f32.powi(-60), 1.0]) {
            assert_eq!(found.iter().copied().map(bits).collect::<Vec<_>>(), X.map(|x| bits(x * factor)));
        }
    }
}

#[test]
fn a_small_state_is_read_as_zero() {
    let tiny = vec![vec![1e-40; 3], vec![1e-40; 3]];
    let found = |keep| subject("amplifying", amplifying(), keep, Vec::new()).interpret(0, &tiny).concat();
    assert_eq!(found(false).into_iter().map(bits).collect::<Vec<_>>(), [0; 3]);
    assert!(found(true).into_iter().all(|v| v > 0.05), "{:?}", found(true));
}

#[test]
fn a_state_that_fades_leaves_no_denormal() {
    let last = |keep| {
        let subject = subject("fading", fading(), keep, Vec::new());
        let mut h = vec![vec![1.0; 4]];
        for step in 0..7000 {
            h = subject.interpret(0, &[vec![0.0; 2], h.concat()]);
            assert!(keep || h.concat().iter().all(|v| *v == 0.0 || *v >= LIMIT), "step {step}: {h:?}");
        }
        h.concat()
    };
    assert_eq!(last(false).into_iter().map(bits).collect::<Vec<_>>(), [0; 4]);
    assert!(last(true).into_iter().all(f32::is_subnormal));
}

#[test]
fn both_languages_agree_on_small_values() {
    let tiny = |sizes: &[usize]| sizes.iter().map(|n| vec![1e-40; *n]).collect::<Vec<_>>();
    let mut subjects = Vec::new();
    for keep in [false, true] {
        let name = |of: &str| format!("{of}_{}", if keep { "kept" } else { "flushed" });
        subjects.push(subject(&name("scaled"), scaled(), keep, vec![vec![X.to_vec()]]));
        subjects.push(subject(&name("fading"), fading(), keep, vec![tiny(&[2, 4])]));
        subjects.push(subject(&name("amplifying"), amplifying(), keep, vec![tiny(&[3, 3])]));
    }
    let expected = subjects.iter().flat_map(|s| s.expected(&driver::isas())).collect();
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    assert_same("rust", &expected, &driver::rust(&folder("denormals-rust"), &subjects, &["-Copt-level=2"]));
    let compiler = driver::c_compilers()[0];
    assert_same("c", &expected, &driver::c(&folder("denormals-c"), &subjects, compiler, &["-std=gnu11", "-O2"]));
}
