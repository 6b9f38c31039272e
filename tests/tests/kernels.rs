//! Every form that kernels have, in Rust and in C, on every instruction set that this machine has: bit for bit what the
//! interpreter computes.

use std::path::{Path, PathBuf};

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
