//! An instruction set is a row: one that cellc does not know, chosen when compiling, is interpreted and printed like any other.

use std::path::{Path, PathBuf};

use cellc::internals::arch::{Arch, Condition, Detection, GENERIC, Isa, X86_64};
use cellc::{Options, WeightFormat};
use cellc_tests::corpus::{self, Case};
use cellc_tests::driver;
use cellc_tests::subject::{Subject, Values, assert_same};

/// One lane, no fused multiply-add: what a small core without vectors has.
static SCALAR: Isa = Isa {
    name: "scalar",
    lanes: 1,
    detection: Detection::Compiling(Condition { c: "defined(SCALAR)", rust: "scalar" }),
    ..GENERIC
};

static WITH_SCALAR: Arch = Arch { isas: &[&SCALAR], ..X86_64 };

fn subjects() -> Vec<Subject> {
    let all = [
        ("gru_cell_min", WeightFormat::F32),
        ("gru_cell_lbr0", WeightFormat::Int8),
        ("gru_cell_params", WeightFormat::F32),
    ];
    let subjects = |(name, weight_format)| {
        let options = Options { arch: &WITH_SCALAR, weight_format, ..Options::default() };
        Case::subjects(&corpus::case(name), &options, "").into_iter().map(|(subject, _)| subject)
    };
    all.into_iter().flat_map(subjects).collect()
}

/// What the interpreter makes of one instruction set's programs.
fn expected(subjects: &[Subject], isa: &str) -> Values {
    subjects.iter().flat_map(|subject| subject.expected(&[isa])).collect()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn lanes_change_no_bit() {
    let subjects = subjects();
    let [generic, scalar] = [GENERIC.name, SCALAR.name].map(|isa| {
        let without_isa = |((subject, _, call, way, result), bits)| ((subject, call, way, result), bits);
        expected(&subjects, isa).into_iter().map(without_isa).collect::<Vec<_>>()
    });
    assert!(!generic.is_empty());
    assert_eq!(generic, scalar);
}

#[test]
fn the_compiler_chooses_the_body() {
    let subjects = subjects();
    for (isa, rust, c) in [(&GENERIC, "--cfg=other", "-DOTHER"), (&SCALAR, "--cfg=scalar", "-DSCALAR")] {
        let expected = expected(&subjects, isa.name);
        assert_same(
            rust,
            &expected,
            &driver::rust(&folder(&format!("architectures-rust-{}", isa.name)), &subjects, &[rust, "-Copt-level=1"]),
        );
        for compiler in driver::c_compilers() {
            let folder = folder(&format!("architectures-{compiler}-{}", isa.name));
            assert_same(
                &format!("{compiler} {c}"),
                &expected,
                &driver::c(&folder, &subjects, compiler, &["-std=gnu11", "-O1", c]),
            );
        }
    }
}
