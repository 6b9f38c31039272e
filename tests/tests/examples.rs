//! The Rust examples run, and print what they promise.

use std::process::Command;

fn output_of(package: &str) -> String {
    let output = Command::new(env!("CARGO"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args(["run", "--offline", "--quiet", "--package", package])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The numbers of a line.
fn numbers(line: &str) -> Vec<f32> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn macros() {
    let text = output_of("example-macro");
    // 8, 8 ... through h' = x / 4 + 3 h / 4
    let averages: Vec<f32> = text.lines().skip(2).take(8).map(|line| numbers(line)[1]).collect();
    let mut expected = 0.0;
    for (average, input) in averages.iter().zip([8.0, 8.0, 8.0, 8.0, 0.0, 0.0, 8.0, 0.0]) {
        expected = 0.25 * input + 0.75 * expected;
        assert!((average - expected).abs() < 1e-3, "{text}");
    }
    assert!(text.contains("step 6, row 1:"), "{text}");
    assert!(text.ends_with("[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]\n"), "{text}");
}

#[test]
fn build_script() {
    let text = output_of("example-build-script");
    let moves: Vec<f32> = text.lines().skip(2).map(|line| numbers(line)[1]).collect();
    assert_eq!(moves.len(), 24, "{text}");
    // the state settles while a tone lasts, and starts again with the next
    assert!(moves[11] < moves[0] / 10.0 && moves[12] > 10.0 * moves[11] && moves[23] < moves[12] / 10.0, "{text}");
}
