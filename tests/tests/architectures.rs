//! An instruction set is a row of a table: one that cellc does not know, chosen when compiling, is
//! interpreted and printed like any other.

use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::internals::arch::{
    Arch, Condition, Detection, GENERIC, Isa, IsaId, RISCV64, TARGETS, X86_64,
};
use cellc::{Language, Options, Precision};
use cellc_tests::corpus::{self, Case};
use cellc_tests::driver;
use cellc_tests::machines::{BY_HAND, INSTALLED};
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::random;
use cellc_tests::subject::{Subject, Values, assert_same};

/// A small core without vectors: one lane, no fused multiply-add.
static SCALAR: Isa = Isa {
    id: IsaId::Scalar,
    name: "scalar",
    lanes: 1,
    detection: Detection::Compiling(Condition { c: "defined(SCALAR)", rust: "scalar" }),
    ..GENERIC
};

static WITH_SCALAR: Arch = Arch { isas: &[&SCALAR], ..X86_64 };

fn subjects() -> Vec<Subject> {
    let all = [
        ("gru_cell_min", Precision::F32),
        ("gru_cell_lbr0", Precision::F16),
        ("gru_cell_params", Precision::F32),
    ];
    let subjects = |(name, precision)| {
        let options = Options::default().with_target(&WITH_SCALAR).with_precision(Some(precision));
        Case::subjects(&corpus::case(name), &options, "").into_iter().map(|(subject, _)| subject)
    };
    all.into_iter().flat_map(subjects).collect()
}

/// The results of the interpreter on one instruction set.
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
        let without_isa =
            |((subject, _, call, way, result), bits)| ((subject, call, way, result), bits);
        expected(&subjects, isa).into_iter().map(without_isa).collect::<Vec<_>>()
    });
    assert!(!generic.is_empty());
    assert_eq!(generic, scalar);
}

#[test]
fn the_compiler_chooses_the_body() {
    let subjects = subjects();
    for (isa, rust, c) in
        [(&GENERIC, "--cfg=other", "-DOTHER"), (&SCALAR, "--cfg=scalar", "-DSCALAR")]
    {
        let expected = expected(&subjects, isa.name);
        assert_same(
            rust,
            &expected,
            &driver::rust(
                &folder(&format!("architectures-rust-{}", isa.name)),
                &subjects,
                &[rust, "-Copt-level=1"],
            ),
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

/// Products of numbers of any size, whose sums are exact, rounded, subnormal or infinite.
fn extreme_products() -> Subject {
    const ROWS: usize = 512;
    let mut bits = 1_u32;
    let mut any = move || {
        bits = bits.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        f32::from_bits(bits ^ bits >> 15)
    };
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[ROWS, 3]);
    // the magnitudes of columns differ, and half of the columns have few bits, so that some sums
    // lie between two numbers
    let weight = |at: usize| {
        let value = f64::from(1.0 + (at * 40_503 % 65_536) as f32 / 65_536.0)
            * f64::from(at as i32 % 5 - 2);
        let few = if at.is_multiple_of(2) { value } else { value.round() };
        (few * f64::exp2(f64::from((at as i32 * 37) % 200 - 100))) as f32
    };
    let w = file.constant(&[3, 16], Stored::F32, (0..48).map(weight));
    let y = file.operation(
        "MatMul",
        "opset1",
        "transpose_a=\"false\" transpose_b=\"false\"",
        &[&x, &w],
        &[ROWS, 16],
    );
    file.result(&y);
    let options = Options::default().with_target(&RISCV64).with_keep_denormals(true);
    let subject = random::compiled("extreme_products", file, options, 1);
    let call: Vec<f32> = (0..ROWS * 3).map(|_| any()).collect();
    Subject { calls: vec![vec![call]], ..subject }
}

#[test]
fn rust_has_the_bits_of_a_fused_multiply_add_where_the_instruction_is_not() {
    if cfg!(target_arch = "riscv64") {
        return;
    }
    let options = Options::default().with_target(&RISCV64);
    let cell = Case::subjects(&corpus::case("gru_cell_lbr0"), &options, "")
        .into_iter()
        .map(|(subject, _)| subject);
    let subjects: Vec<_> = cell.chain([extreme_products()]).collect();
    let expected = expected(&subjects, "scalar_fma");
    assert_same(
        "software",
        &expected,
        &driver::rust(&folder("architectures-software"), &subjects, &["-Copt-level=1"]),
    );
}

/// A target with a compiler has a machine of the tests and a row in the table of compilers.
#[test]
fn targets_with_a_compiler_are_tried_and_documented() {
    let page = crate::documents::read("docs/microcontrollers.md");
    for arch in TARGETS.into_iter().filter(|arch| !arch.c.compiler.is_empty()) {
        let is_tried = INSTALLED
            .into_iter()
            .chain(&BY_HAND)
            .any(|machine| (machine.options)().machine.target.name == arch.name);
        assert!(is_tried, "no machine of the tests has the target {}", arch.name);
        assert!(page.contains(&format!("\n| `{}` | `", arch.name)), "{} has no row", arch.name);
    }
}

/// A file for one architecture refuses to compile for another.
#[test]
fn files_for_one_architecture_are_refused_by_the_compilers_of_others() {
    let here =
        |arch: &Arch| arch.triples.iter().any(|start| start.starts_with(std::env::consts::ARCH));
    let mut tried = Vec::new();
    for arch in TARGETS.into_iter().filter(|arch| !arch.rust.held.is_empty() && !here(arch)) {
        for (language, help) in
            [(Language::Rust, arch.rust.otherwise), (Language::C, arch.c.refused.1)]
        {
            let options = Options::default().with_target(arch);
            let subjects = Case::subjects(&corpus::case("gru_cell_lbr0"), &options, "");
            let subjects: Vec<Subject> = subjects.into_iter().map(|(subject, _)| subject).collect();
            let folder = folder(&format!("architectures-refused-{}-{language:?}", arch.name));
            driver::write_files(&folder, &subjects, language);
            let extension = if language == Language::Rust { "rs" } else { "c" };
            let file = folder.join(format!("{}.{extension}", subjects[0].name));
            let mut compiler = match language {
                Language::Rust => driver::rustc(),
                Language::C => Command::new(driver::c_compilers()[0]),
            };
            match language {
                Language::Rust => {
                    compiler.args(["--crate-type=lib", "--emit=metadata", "--out-dir"]).arg(&folder)
                }
                Language::C => compiler.args(["-std=gnu11", "-fsyntax-only"]),
            };
            let output = compiler.arg(&file).output().expect("the compiler starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && said.contains(help),
                "{} in {language:?}: {said}",
                arch.name
            );
            tried.push((arch.name, language));
        }
    }
    assert!(
        cfg!(target_arch = "aarch64") || tried.contains(&("aarch64", Language::Rust)),
        "{tried:?}"
    );
}
