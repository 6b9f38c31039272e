//! Values below 2^-100 in magnitude become 0 where a step reads an input, keeps a state or writes
//! an output, in Rust, in C and on every instruction set. All other values are kept.

use std::fs;
use std::path::Path;
use std::process::Command;

use cellc::{Language, Options, State};
use cellc_tests::driver;
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::random::compiled;
use cellc_tests::subject::{Subject, assert_same, bits};

/// 2^-100: values of this magnitude are kept.
const LIMIT: f32 = f32::from_bits(27 << 23);

/// The largest value that becomes 0.
const BELOW: f32 = f32::from_bits((27 << 23) - 1);

fn subject(
    name: &str,
    file: ModelFile,
    keep_denormals: bool,
    calls: Vec<Vec<Vec<f32>>>,
) -> Subject {
    let options = Options::default().with_keep_denormals(keep_denormals);
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

const X: [f32; 10] =
    [1e-40, -1e-40, BELOW, -BELOW, LIMIT, -LIMIT, -0.0, 1.0, f32::NAN, f32::NEG_INFINITY];

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
    let up = [
        0.0,
        0.0,
        0.0,
        0.0,
        LIMIT * 2f32.powi(60),
        -LIMIT * 2f32.powi(60),
        0.0,
        2f32.powi(60),
        X[8],
        X[9],
    ];
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
            assert_eq!(
                found.iter().copied().map(bits).collect::<Vec<_>>(),
                X.map(|x| bits(x * factor))
            );
        }
    }
}

#[test]
fn a_small_state_is_read_as_zero() {
    let tiny = vec![vec![1e-40; 3], vec![1e-40; 3]];
    let found =
        |keep| subject("amplifying", amplifying(), keep, Vec::new()).interpret(0, &tiny).concat();
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
            assert!(
                keep || h.concat().iter().all(|v| *v == 0.0 || *v >= LIMIT),
                "step {step}: {h:?}"
            );
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
    assert_same(
        "rust",
        &expected,
        &driver::rust(&folder("denormals-rust"), &subjects, &["-Copt-level=1"]),
    );
    let compiler = driver::c_compilers()[0];
    assert_same(
        "c",
        &expected,
        &driver::c(&folder("denormals-c"), &subjects, compiler, &["-std=gnu11", "-O2"]),
    );
}

/// A delay line. `d` and `x` are concatenated; `y` is the two oldest elements, and `next` the
/// others.
fn delayed() -> ModelFile {
    let mut file = ModelFile::default();
    let (d, x) = (file.parameter("d", &[1, 40]), file.parameter("x", &[1, 2]));
    let all = file.operation("Concat", "opset1", "axis=\"1\"", &[&d, &x], &[1, 42]);
    let (axis, lengths) = (file.integers(&[1], &[1]), file.integers(&[2], &[2, 40]));
    let outputs: [(&str, &[usize]); 2] = [("y", &[1, 2]), ("next", &[1, 40])];
    for output in file.named("VariadicSplit", "opset1", "", &[&all, &axis, &lengths], &outputs) {
        file.result(&output);
    }
    file
}

/// `next = d 2^60 + x`
fn growing() -> ModelFile {
    let mut file = ModelFile::default();
    let (d, x) = (file.parameter("d", &[1, 20]), file.parameter("x", &[1, 20]));
    let factor = file.constant(&[1, 1], Stored::F32, [2f32.powi(60)].into_iter());
    let more = file.operation("Multiply", "opset1", "", &[&d, &factor], &[1, 20]);
    let next = file.named("Add", "opset1", "", &[&more, &x], &[("next", &[1, 20])]).remove(0);
    file.result(&next);
    let mean = file.operation("Multiply", "opset1", "", &[&next, &factor], &[1, 20]);
    file.result(&mean);
    file
}

/// A state that a cell reads, and states of two models that read each element once.
fn with_states() -> Vec<Subject> {
    let pair =
        |input: &str, output: &str| State::Pairs(vec![(input.to_owned(), output.to_owned())]);
    let cell = Options::default().with_state(State::Auto);
    let moved = Options::default().with_state(pair("d", "next"));
    vec![
        compiled("delayed", delayed(), moved.clone(), 0),
        compiled("growing", growing(), moved, 0),
        compiled("amplifying", amplifying(), cell, 0),
    ]
}

/// The states that the program in C sets: model, field, elements of the state and of the other
/// input, outputs.
const STATES: [(&str, &str, usize, usize, &[usize]); 3] = [
    ("delayed", "d", 40, 2, &[2, 40]),
    ("growing", "d", 20, 20, &[20, 20]),
    ("amplifying", "h", 3, 3, &[3]),
];

/// A program in C: a state of small numbers gives the results of a state of 0.
fn program_in_c() -> String {
    let mut main = String::from("#include <stdio.h>\n#include <string.h>\n");
    main += &STATES.map(|(name, ..)| format!("#include \"{name}.h\"\n")).concat();
    main += "static const float set[5] = {1e-40f, -1e-40f, -0.0f, 0x1p-100f, -0x1.fffffep-101f};\n";
    main += "static const float read[5] = {0.0f, 0.0f, 0.0f, 0x1p-100f, 0.0f};\nint main(void) {\n";
    for (name, state, len, inputs, outputs) in STATES {
        let arrays = |of: &str| {
            let array = |(at, len): (usize, &usize)| format!("float {of}{at}[{len}];\n");
            outputs.iter().enumerate().map(array).collect::<String>()
        };
        let given =
            |of: &str| (0..outputs.len()).map(|at| format!(", {of}{at}")).collect::<String>();
        let same: String = (0..outputs.len())
            .map(|at| format!("if (memcmp(a{at}, b{at}, sizeof a{at}) != 0) {{ puts(\"{name}\"); return 1; }}\n"))
            .collect();
        main += &format!(
            "{{
                static {name} of_set, of_read;
                float x[{inputs}] = {{0}};
                {}{}
                {name}_init(&of_set);
                {name}_init(&of_read);
                for (int i = 0; i < {len}; i++) {{
                    of_set.{state}[i] = set[i % 5];
                    of_read.{state}[i] = read[i % 5];
                }}
                for (int step = 0; step < 3; step++) {{
                    {name}_step(&of_set, x{});
                    {name}_step(&of_read, x{});
                    {same}
                    if (memcmp(of_set.{state}, of_read.{state}, sizeof of_set.{state}) != 0) return 2;
                }}
            }}\n",
            arrays("a"),
            arrays("b"),
            given("a"),
            given("b"),
        );
    }
    main + "return 0;\n}\n"
}

#[test]
fn a_small_state_that_is_set_is_read_as_zero_in_c() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("denormals-states-c");
    driver::write_files(&folder, &with_states(), Language::C);
    fs::write(folder.join("main.c"), program_in_c()).expect("a file");
    let mut compiler = Command::new(driver::c_compilers()[0]);
    compiler.current_dir(&folder).args([
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "main.c",
    ]);
    driver::run(compiler.args(STATES.map(|(name, ..)| format!("{name}.c"))).args(["-o", "main"]));
    driver::run(&mut Command::new(folder.join("main")));
}

/// A state whose elements are read once is flushed while it is read; the state of a cell is flushed
/// in place.
#[test]
fn no_step_in_c_copies_a_state_to_flush_it() {
    for subject in with_states() {
        let files = subject.files(Language::C);
        let source = files.iter().find(|file| file.name.ends_with(".c")).expect("a source file");
        let text = String::from_utf8_lossy(source.bytes.as_slice()).into_owned();
        let step =
            text.split_once("_step(").expect("a step").1.split_once("\n}\n").expect("its end").0;
        let is_copied = |line: &&str| {
            line.contains("self->") && (line.contains("memcpy(") || line.contains("_copy_"))
        };
        assert_eq!(
            step.lines().filter(is_copied).count(),
            1,
            "{}: only the new state: {step}",
            subject.name
        );
        let is_cell = subject.name == "amplifying";
        assert_eq!(
            text.contains("_flush(float *to, const float *values, "),
            is_cell,
            "{}",
            subject.name
        );
        // the step of a cell in scalars calls the pure function, which flushes a copy
        let calls_run = step.contains("_run(&inputs, &outputs)");
        let flushes = step.contains("_flush(self->h, ");
        assert_eq!(flushes || calls_run, is_cell, "{}: {step}", subject.name);
    }
}
