//! A model of ten million weights needs little memory, and its source is small.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use cellc_tests::skipped::has;
use cellc_tests::{command, corpus};

const INPUT_SIZE: usize = 640;
const HIDDEN_SIZE: usize = 1536;

/// Writes a GRU of ten million weights to `folder`. Returns the bytes of its weights.
fn write_model(folder: &Path) -> usize {
    let (i, h) = (INPUT_SIZE, HIDDEN_SIZE);
    let (w, r, b) = (3 * h * i * 4, 3 * h * h * 4, 4 * h * 4);
    let edits = [
        ("\"1,4\"", format!("\"1,{i}\"")),
        ("<dim>4</dim>", format!("<dim>{i}</dim>")),
        ("\"1,6\"", format!("\"1,{h}\"")),
        ("<dim>6</dim>", format!("<dim>{h}</dim>")),
        ("hidden_size=\"6\"", format!("hidden_size=\"{h}\"")),
        ("<dim>18</dim>", format!("<dim>{}</dim>", 3 * h)),
        ("<dim>24</dim>", format!("<dim>{}</dim>", 4 * h)),
        (
            "shape=\"18, 4\" offset=\"0\" size=\"288\"",
            format!("shape=\"{}, {i}\" offset=\"0\" size=\"{w}\"", 3 * h),
        ),
        (
            "shape=\"18, 6\" offset=\"288\" size=\"432\"",
            format!("shape=\"{}, {h}\" offset=\"{w}\" size=\"{r}\"", 3 * h),
        ),
        (
            "shape=\"24\" offset=\"720\" size=\"96\"",
            format!("shape=\"{}\" offset=\"{}\" size=\"{b}\"", 4 * h, w + r),
        ),
    ];
    let mut text = fs::read_to_string(corpus::folder().join("gru_cell_spec_attrs/model.xml"))
        .expect("a corpus case");
    for (from, to) in edits {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, &to);
    }
    // bytes that do not repeat, in values below 2^-6 in magnitude
    let mut state = 1u32;
    let mut weights = Vec::with_capacity(w + r + b);
    while weights.len() < w + r + b {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        weights.extend_from_slice(&(f32::from(state as u16 as i16) / 2_097_152.0).to_le_bytes());
    }
    fs::write(folder.join("model.xml"), text).expect("writing the model");
    fs::write(folder.join("model.bin"), &weights).expect("writing the weights");
    weights.len()
}

fn timed(what: &str, command: &mut Command) {
    let start = Instant::now();
    let output = command.output().expect("the program starts");
    // the time is only printed: no test fails on time
    println!("{what}: {:.1} s", start.elapsed().as_secs_f64());
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn compile_within_three_times_the_weights() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let weights = write_model(folder.path());
    // the limit is on the address space, including the program and its stacks
    let kilobytes = weights * 3 / 1024;
    for output in ["big.rs", "big.c"] {
        let script = format!("ulimit -v {kilobytes} && exec \"$0\" model.xml -o {output}");
        let mut cellc = Command::new("sh");
        cellc.args(["-c", &script]).arg(command::program()).current_dir(folder.path());
        // glibc reserves 64 MiB of addresses for a second thread (the progress bar's) if they
        // happen to be aligned
        cellc.env("MALLOC_ARENA_MAX", "1");
        timed(&format!("cellc, {output}, within {kilobytes} KiB"), &mut cellc);
        let source = fs::metadata(folder.path().join(output)).expect("the source").len();
        assert!(source < 200_000, "weights stand in {output}: {source} bytes");
    }
    let packed =
        fs::metadata(folder.path().join("big.rs.weights.bin")).expect("the weights").len() as usize;
    assert!(packed >= weights && packed < weights + weights / 100, "{packed} bytes for {weights}");

    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2021", "--crate-type=lib", "-Copt-level=3", "-Dwarnings", "big.rs"]);
    timed("rustc, a library", rustc.current_dir(folder.path()));
    if !has("cc") {
        return;
    }
    let mut cc = Command::new("cc");
    timed(
        "cc",
        cc.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-c", "big.c"])
            .current_dir(folder.path()),
    );
}
