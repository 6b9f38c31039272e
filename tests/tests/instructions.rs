//! How many instructions a step takes on AVX2, as valgrind's callgrind counts them: no kernel grows unnoticed, and no test fails on time.

use std::fmt::Write as _;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use cellc::Activation::{Relu, Sigmoid};
use cellc::random::Random;
use cellc::{Builder, arch};
use cellc_tests::driver::{isas, run_all, rustc};
use cellc_tests::skipped::has;

/// By how much a count may differ from the one that is kept, in hundredths.
const LIMIT: u64 = 3;

/// The steps of the shorter run; the longer one makes twice as many. Even, since some kernels alternate between two orders.
const STEPS: u64 = 16;

/// What writes the numbers anew.
const UPDATE: &str = "CELLC_BLESS=1 cargo test -p cellc-tests --test instructions";

/// A workload of the table in benches/README.md, the cell, an input in Rust, room for the outputs in Rust.
type Workload = (&'static str, Builder, &'static str, &'static str);

fn workloads() -> [Workload; 6] {
    let gru =
        |hidden_size, input_size| with_weights(Builder::gru(hidden_size, input_size), hidden_size, input_size, 3, 4);
    let w2 = with_weights(Builder::gru(24, 24), 24, 24, 3, 3).activations([Sigmoid, Relu]);
    let w9 = with_weights(Builder::rnn(128, 16), 128, 16, 1, 1);
    let w10a = with_weights(Builder::lstm(128, 16), 128, 16, 4, 4);
    [
        ("gru_16_128", gru(128, 16).linear_before_reset(true), "[0.25; 16]", "[0.0; 128]"),
        ("gru_24_24_reset_before", w2, "[0.25; 24]", "[0.0; 24]"),
        ("gru_16_128_batch_8", gru(128, 16).linear_before_reset(true).batch(8), "[[0.25; 16]; 8]", "[[0.0; 128]; 8]"),
        ("rnn_16_128", w9, "[0.25; 16]", "[0.0; 128]"),
        ("lstm_16_128", w10a, "[0.25; 16]", "counted::Outputs::new()"),
        ("gru_1_8", gru(8, 1).linear_before_reset(true), "[0.25]", "[0.0; 8]"),
    ]
}

/// Gives a cell of so many gates and parts of B weights for which its state neither grows nor dies away.
fn with_weights(builder: Builder, hidden_size: usize, input_size: usize, gates: usize, bias_parts: usize) -> Builder {
    let mut random = Random::new(1);
    let range = 1.0 / (hidden_size as f32).sqrt();
    let mut tensor = |len: usize| -> Vec<f32> { random.even(len, range) };
    let rows = gates * hidden_size;
    builder.weight_values(&tensor(rows * input_size), &tensor(rows * hidden_size), &tensor(bias_parts * hidden_size))
}

/// Writes a program to `folder` that makes as many steps as its argument says; gives what compiles it.
fn program(folder: &Path, (_, builder, x, outputs): &Workload) -> Command {
    fs::create_dir_all(folder).expect("a folder");
    builder.clone().isa([&arch::AVX2]).runtime(false).name("counted").out_dir(folder).compile().expect("a kernel");
    let main = format!(
        "mod counted;\n\n\
         fn main() {{\n    \
             let steps: u64 = std::env::args().nth(1).unwrap().parse().unwrap();\n    \
             let mut cell = counted::Counted::with_isa(counted::Isa::from_name({:?}).unwrap());\n    \
             let (x, mut outputs) = ({x}, {outputs});\n    \
             for _ in 0..steps {{\n        \
                 cell.step(std::hint::black_box(&x), std::hint::black_box(&mut outputs));\n    \
             }}\n\
         }}\n",
        arch::AVX2.name
    );
    fs::write(folder.join("main.rs"), main).expect("a file");
    let mut command = rustc();
    // what is inlined must not depend on how the crate was cut into pieces
    command.args(["--edition=2021", "-Copt-level=3", "-Ccodegen-units=1", "main.rs", "-o", "program"]);
    command.current_dir(folder);
    command
}

/// The instructions of one step of the program in `folder`: of those of twice the steps, what the start does not take.
fn instructions(folder: &Path) -> u64 {
    let count = |steps: u64| {
        let text = fs::read_to_string(callgrind_file(folder, steps)).expect("callgrind writes its counts");
        let total = text.lines().find_map(|line| line.strip_prefix("summary: ")).expect("callgrind writes a summary");
        total.trim().parse::<u64>().expect("a number")
    };
    (count(2 * STEPS) - count(STEPS)) / STEPS
}

fn callgrind_file(folder: &Path, steps: u64) -> PathBuf {
    folder.join(format!("callgrind.{steps}"))
}

/// The counts of all workloads by name.
fn count() -> Vec<(&'static str, u64)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let workloads = workloads();
    let folders: Vec<PathBuf> = workloads.iter().map(|(name, ..)| folder.path().join(name)).collect();
    run_all(folders.iter().zip(&workloads).map(|(folder, workload)| program(folder, workload)).collect());
    let callgrind = |folder: &PathBuf, steps: u64| {
        let mut command = Command::new("valgrind");
        command.arg("--tool=callgrind");
        command.arg(format!("--callgrind-out-file={}", callgrind_file(folder, steps).display()));
        command.arg(folder.join("program")).arg(steps.to_string());
        command
    };
    run_all(folders.iter().flat_map(|folder| [STEPS, 2 * STEPS].map(|steps| callgrind(folder, steps))).collect());
    workloads.iter().zip(&folders).map(|((name, ..), folder)| (*name, instructions(folder))).collect()
}

/// The version by which numbers are kept: `1.95.0`.
fn compiler() -> String {
    let output = rustc().arg("--version").output().expect("rustc starts");
    let text = String::from_utf8(output.stdout).expect("rustc writes UTF-8");
    text.split(' ').nth(1).expect("rustc has a version").trim().to_string()
}

/// A line of the file: version of the compiler, workload, count.
fn read(line: &str) -> (&str, &str, u64) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [compiler, name, count] = words[..] else { panic!("not a compiler, a workload and a count: {line}") };
    (compiler, name, count.parse().expect("a count"))
}

/// The file with the numbers of one compiler in place of those that stand in it.
fn blessed(text: &str, compiler: &str, found: &[(&str, u64)]) -> String {
    let mut out = format!("# instructions of a step on AVX2: rustc, workload, count; written by {UPDATE}\n");
    for line in text.lines().filter(|line| !line.starts_with('#') && read(line).0 != compiler) {
        let _ = writeln!(out, "{line}");
    }
    for (name, count) in found {
        let _ = writeln!(out, "{compiler} {name} {count}");
    }
    out
}

/// What there is to say about the counts found, and which of it is refused.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    said: Vec<String>,
    refused: Vec<String>,
}

/// `required`: whether a compiler of which no numbers are kept is refused.
fn verdict(text: &str, compiler: &str, found: &[(&str, u64)], required: bool) -> Verdict {
    let kept: Vec<_> =
        text.lines().filter(|line| !line.starts_with('#')).map(read).filter(|l| l.0 == compiler).collect();
    let mut verdict = Verdict::default();
    if kept.is_empty() {
        let line = format!("no numbers are kept for rustc {compiler}; add them: {UPDATE}");
        if required { &mut verdict.refused } else { &mut verdict.said }.push(line);
        return verdict;
    }
    for (name, now) in found {
        let Some((_, _, was)) = kept.iter().find(|(_, workload, _)| workload == name) else {
            verdict.refused.push(format!("{name}: no number is kept; add it: {UPDATE}"));
            continue;
        };
        let change = format!("{name}: {now} instructions a step, {was} are kept");
        if now * 100 > was * (100 + LIMIT) {
            verdict.refused.push(format!("{change}: more than {LIMIT} % more; if it has to be: {UPDATE}"));
        } else if now * 100 < was * (100 - LIMIT) {
            verdict.said.push(format!("{change}: more than {LIMIT} % fewer; keep it so: {UPDATE}"));
        }
    }
    verdict
}

#[test]
fn no_kernel_takes_more_instructions_than_are_kept() {
    if !isas().contains(&arch::AVX2.name) || !has("valgrind") {
        return;
    }
    let (compiler, found) = (compiler(), count());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions.txt");
    let mut text = fs::read_to_string(&file).expect("the numbers that are kept");
    if env::var_os("CELLC_BLESS").is_some() {
        text = blessed(&text, &compiler, &found);
        fs::write(&file, &text).expect("the numbers can be written");
    }
    let verdict = verdict(&text, &compiler, &found, env::var_os("CI").is_some());
    verdict.said.iter().for_each(|line| say(line));
    assert!(verdict.refused.is_empty(), "{}", verdict.refused.join("\n"));
}

/// Says something that is seen where the test passes too.
fn say(line: &str) {
    writeln!(stderr(), "{line}").expect("standard error");
}

#[test]
fn growth_is_refused_and_the_rest_is_said() {
    let kept = blessed("", "1.95.0", &[("one", 1000), ("two", 100)]);
    let of = |compiler: &str, one, two| {
        let Verdict { said, refused } = verdict(&kept, compiler, &[("one", one), ("two", two)], false);
        (said.len(), refused.len())
    };
    assert_eq!(of("1.95.0", 1000, 100), (0, 0));
    assert_eq!(of("1.95.0", 1030, 97), (0, 0));
    assert_eq!(of("1.95.0", 1031, 100), (0, 1));
    assert_eq!(of("1.95.0", 969, 104), (1, 1));
    assert_eq!(of("1.96.0", 5000, 500), (1, 0));
    assert_eq!(verdict(&kept, "1.95.0", &[("three", 1)], false).refused.len(), 1);
    // what nobody has counted is no success
    assert_eq!(verdict(&kept, "1.96.0", &[("one", 1000)], true).refused.len(), 1);

    let both = blessed(&kept, "1.96.0", &[("one", 7)]);
    assert_eq!(both, format!("{kept}1.96.0 one 7\n"));
    let lines = |text: &str| text.lines().skip(1).map(str::to_string).collect::<Vec<_>>();
    assert_eq!(lines(&blessed(&both, "1.95.0", &[("one", 8)])), ["1.96.0 one 7", "1.95.0 one 8"]);
}
