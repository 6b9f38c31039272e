//! Every form that kernels have, in Rust and in C, on every instruction set that this machine has: bit for bit what the
//! interpreter computes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::Language;
use cellc_tests::subject::assert_same;
use cellc_tests::{driver, kernels};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn generated_rust_is_the_interpreter() {
    let subjects = [kernels::subject("made_by_hand")];
    let expected = subjects[0].expected(&driver::isas());
    // without optimisation every subtraction is checked
    for level in ["-Copt-level=0", "-Copt-level=3"] {
        let found = driver::rust(&folder("kernels-rust"), &subjects, &[level]);
        assert_same(level, &expected, &found);
    }
}

#[test]
fn generated_c_is_the_interpreter() {
    let subjects = [kernels::subject("made_by_hand")];
    let expected = subjects[0].expected(&driver::isas());
    for compiler in driver::c_compilers() {
        for flags in [&["-std=c11", "-O0"][..], &["-std=gnu11", "-O3"]] {
            let found = driver::c(&folder("kernels-c"), &subjects, compiler, flags);
            assert_same(&format!("{compiler} {flags:?}"), &expected, &found);
        }
    }
}

/// What a program sees of a model by way of the trait alone.
const BY_TRAIT: &str = r#"mod made_by_hand;

use cellc_runtime::{Cell, Element, Port};

fn check<C: Cell>(cell: &mut C, input: C::Input<'_>) {
    let port = |name, shape, element| Port { name, shape, element };
    let inputs = [
        port("x", &[2, 3, 4], Element::F32),
        port("sequence_lengths", &[2], Element::I64),
        port("block_2", &[1], Element::I32),
    ];
    assert_eq!(C::INPUTS, inputs);
    assert_eq!(C::OUTPUTS, [port("y", &[2, 12], Element::F32), port("mixed", &[90], Element::F32)]);
    assert_eq!(C::STATES, [port("state_1", &[2, 2], Element::F32), port("step_2", &[3], Element::F32)]);
    cell.step(input, &mut C::zeroed_output());
}

fn main() {
    let mut cell = made_by_hand::MadeByHand::new();
    let first = *cell.state_1();
    let (x, sequence_lengths, block_2) = (&[1.0; 24], &[2, 3], &[1]);
    check(&mut cell, &made_by_hand::Inputs { x, sequence_lengths, block_2 });
    assert!(*cell.state_1() != first && *cell.step_2() != [0.0; 3]);
    Cell::reset(&mut cell);
    assert!(*cell.state_1() == first && *cell.step_2() == [0.0; 3]);
}
"#;

#[test]
fn the_trait_tells_of_variables_and_integers() {
    let mut subject = kernels::subject("made_by_hand");
    subject.compilation.options.runtime = true;
    let folder = folder("kernels-trait");
    driver::write_files(&folder, &[subject], Language::Rust);
    fs::write(folder.join("main.rs"), BY_TRAIT).expect("a file");
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src/lib.rs");
    let rustc = || {
        let mut command = driver::rustc();
        command.current_dir(&folder).args(["--edition=2024", "-Dwarnings"]);
        command
    };
    driver::run(
        rustc()
            .args(["--crate-type=rlib", "--crate-name=cellc_runtime", "--check-cfg=cfg(feature, values(any()))"])
            .arg(runtime),
    );
    driver::run(rustc().args(["--extern=cellc_runtime=libcellc_runtime.rlib", "main.rs", "-o", "main"]));
    driver::run(&mut Command::new(folder.join("main")));
}
