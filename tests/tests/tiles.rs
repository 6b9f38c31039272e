//! Products of several rows, computed by AMX's tiles, have the bits of every other instruction set.

use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::internals::arch::{AMX, AVX512_VNNI, GENERIC};
use cellc::internals::kernel::Stmt;
use cellc::{Accuracy, Language, Options, Precision, Tuning};
use cellc_tests::driver;
use cellc_tests::model_file::{ModelFile, Port, Stored};
use cellc_tests::random;
use cellc_tests::skipped::{Far, ONE_LINE, compiler_works, skip};
use cellc_tests::subject::{Subject, Values, assert_same, of_subjects};
use cellc_tests::tiled::{CALLS, Layer, values};

const AFTER: &str = "linear_before_reset=\"true\"";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A sequence whose products with x are computed first, for several steps at once; or a sequence of
/// one step, whose rows are computed at once.
fn sequence(name: &str, sizes: [usize; 4], options: Options) -> Subject {
    let tuning = options.tuning.with_input_first(Some(true));
    random::compiled(name, sequence_file(sizes), options.with_tuning(tuning), CALLS)
}

fn sequence_file([rows, steps, inputs, units]: [usize; 4]) -> ModelFile {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[rows, steps, inputs]);
    let h = file.parameter("h", &[rows, 1, units]);
    let lengths = file.integers(&[rows], &vec![steps as i64; rows]);
    let shapes = [vec![1, 3 * units, inputs], vec![1, 3 * units, units], vec![1, 3 * units]];
    let weights: Vec<Port> = (shapes.iter().enumerate())
        .map(|(seed, shape)| {
            file.constant(shape, Stored::F32, values(shape.iter().product(), seed))
        })
        .collect();
    let ports = [&x, &h, &lengths, &weights[0], &weights[1], &weights[2]];
    let data = format!("hidden_size=\"{units}\" direction=\"forward\"");
    let outputs = [vec![rows, 1, steps, units], vec![rows, 1, units]];
    for output in file.operations("GRUSequence", "opset5", &data, &ports, &outputs) {
        file.result(&output);
    }
    file
}

/// A dense layer, followed by a dense layer in f32.
fn dense(name: &str, [rows, inputs, outputs]: [usize; 3], options: Options) -> Subject {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[rows, inputs]);
    let transposed = "transpose_a=\"false\" transpose_b=\"true\"";
    let weights = file.constant(&[outputs, inputs], Stored::F32, values(outputs * inputs, 3));
    let y = file.operation("MatMul", "opset1", transposed, &[&x, &weights], &[rows, outputs]);
    let weights = file.constant(&[3, outputs], Stored::F32, values(outputs * 3, 4));
    let last = file.called("last", ("MatMul", "opset1"), transposed, &[&y, &weights], &[rows, 3]);
    file.result(&y);
    file.result(&last);
    let precision_of = vec![("last".to_owned(), Precision::F32)];
    random::compiled(name, file, options.with_precision_of(precision_of), CALLS)
}

/// Options that use tiles, whether they pay or not.
fn options() -> Options {
    let tuning = Tuning::default().with_tiles(Some(true));
    let isas = Some(vec![&GENERIC, &AVX512_VNNI, &AMX]);
    Options::default().with_precision(Some(Precision::Int8)).with_isas(isas).with_tuning(tuning)
}

/// Full tiles, tiles that end within the words of a row, tiles with few rows; an x with too few
/// inputs for tiles; a deferred product; more than one group of panels.
fn of_full_tiles() -> Vec<Subject> {
    let layer = |kind, attributes, [rows, inputs, units]: [usize; 3]| Layer {
        kind,
        attributes,
        rows,
        inputs,
        units,
    };
    vec![
        layer("GRUCell", AFTER, [32, 16, 64]).subject("tiled_gru", options(), false),
        layer("GRUCell", "", [20, 9, 112]).subject("tiled_gru_before", options(), false),
        layer("LSTMCell", "", [17, 3, 80]).subject("tiled_lstm", options(), false),
        layer("RNNCell", "", [13, 70, 144]).subject("tiled_rnn", options(), false),
        layer("GRUCell", AFTER, [16, 12, 48]).subject("tiled_given", options(), true),
        sequence("tiled_sequence", [1, 21, 70, 64], options()),
        sequence("tiled_step", [18, 1, 7, 32], options()),
        dense("tiled_dense", [35, 130, 80], options()),
    ]
}

/// Columns that are no multiple of a tile: with more or fewer of them than in full tiles, in one
/// panel or in several, after up to four full tiles and more; tiles that no row fills.
fn of_narrow_tiles() -> Vec<Subject> {
    let layer = |kind, attributes, [rows, inputs, units]: [usize; 3]| Layer {
        kind,
        attributes,
        rows,
        inputs,
        units,
    };
    let audio = options().with_accuracy(Accuracy::Audio);
    let panels_of = |columns| {
        let tuning = options().tuning.with_panel_columns(Some(columns));
        options().with_tuning(tuning)
    };
    vec![
        layer("GRUCell", "", [12, 5, 24]).subject("narrow_gru_before", options(), false),
        layer("RNNCell", "", [16, 20, 100]).subject("narrow_given", options(), true),
        layer("GRUCell", AFTER, [33, 70, 40]).subject("narrow_gru", audio, false),
        layer("LSTMCell", "", [13, 9, 25]).subject("narrow_lstm", options(), false),
        dense("narrow_dense", [20, 130, 10], options()),
        sequence("narrow_sequence", [1, 21, 67, 36], options()),
        layer("GRUCell", AFTER, [15, 16, 50]).subject("narrow_panels", panels_of(7), false),
    ]
}

/// True if a statement is computed by tiles, or contains one.
fn has_tiles(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Tiles(_) => true,
        Stmt::For { body, .. } => has_tiles(body),
        _ => false,
    })
}

/// The subjects whose Rust is compiled; rustc takes long for unrolled code. Of both kinds of tiles:
/// cells of one gate and of several gates, a dense layer, weights packed at run time.
const IN_RUST: [&str; 5] =
    ["tiled_rnn", "tiled_dense", "narrow_gru_before", "narrow_given", "narrow_dense"];

/// Interprets subjects, runs their C with a flag, and runs the Rust of some.
fn give_the_bits_of_vectors(name: &str, subjects: Vec<Subject>, flag: &str) {
    let isas = driver::isas();
    for subject in &subjects {
        let bodies = subject.isas().zip(&subject.compilation.program.bodies);
        for ((isa, _), body) in bodies {
            let tiled = body.kernels.iter().any(|kernel| has_tiles(&kernel.body));
            assert_eq!(tiled, isa == "amx", "{} on {isa}", subject.name);
        }
        let amx = subject
            .isas()
            .position(|(isa, _)| isa == "amx")
            .expect("a file with tiles holds their body");
        for call in &subject.calls {
            let bits = |isa| -> Vec<Vec<u32>> {
                let results = subject.interpret(isa, call);
                results
                    .iter()
                    .map(|result| result.iter().map(|value| value.to_bits()).collect())
                    .collect()
            };
            assert_eq!(bits(amx - 1), bits(amx), "{}", subject.name);
        }
    }
    let expected: Values = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    // the vectors of these subjects are compared above; other tests compile such vectors
    let tiles = |language| -> Vec<Subject> {
        subjects.iter().map(|subject| subject.with_bodies(language, |isa| isa == "amx")).collect()
    };
    for (compiler, subjects) in driver::c_compilers_with(&tiles(Language::C)) {
        if !compiler_works(compiler, &[flag], ONE_LINE, Far::Run) {
            skip(&format!("no {flag} of {compiler}"));
            continue;
        }
        let found =
            driver::c(&folder(&format!("{name}-c")), &subjects, compiler, &["-std=gnu11", flag]);
        assert_same(compiler, &of_subjects(&expected, &subjects), &found);
    }
    let subjects: Vec<_> =
        tiles(Language::Rust).into_iter().filter(|s| IN_RUST.contains(&&*s.name)).collect();
    assert!(subjects.len() > 1, "{name}");
    let found = driver::rust(&folder(&format!("{name}-rust")), &subjects, &["-Copt-level=1"]);
    assert_same("rust", &of_subjects(&expected, &subjects), &found);
}

#[test]
fn tiles_give_the_bits_of_vectors() {
    give_the_bits_of_vectors("tiles", of_full_tiles(), "-O1");
}

#[test]
fn tiles_of_few_columns_give_the_bits_of_vectors() {
    // the sanitizer checks every row that an emulated tile loads or stores
    give_the_bits_of_vectors("narrow-tiles", of_narrow_tiles(), "-fsanitize=address");
}

#[test]
fn a_file_holds_a_body_for_tiles_where_they_pay() {
    let layer = |rows, units| Layer { kind: "RNNCell", attributes: "", rows, inputs: 16, units };
    let options = |precision| Options::default().with_precision(Some(precision));
    let has_body = |subject: Subject| subject.isas().any(|(isa, _)| isa == "amx");
    for (name, layer, precision, pays) in [
        ("several_rows", layer(16, 144), Precision::Int8, true),
        ("units_that_fill_no_tile", layer(16, 200), Precision::Int8, true),
        (
            "gru",
            Layer { kind: "GRUCell", attributes: AFTER, ..layer(16, 112) },
            Precision::Int8,
            true,
        ),
        ("lstm", Layer { kind: "LSTMCell", ..layer(16, 100) }, Precision::Int8, true),
        ("one_row", layer(1, 144), Precision::Int8, false),
        ("few_rows", layer(11, 144), Precision::Int8, false),
        ("few_units", layer(16, 8), Precision::Int8, false),
        ("units_that_fill_few_tiles", layer(16, 100), Precision::Int8, false),
        (
            "smaller_gru",
            Layer { kind: "GRUCell", attributes: AFTER, ..layer(16, 100) },
            Precision::Int8,
            false,
        ),
        (
            "gru_of_three_phases",
            Layer { kind: "GRUCell", ..layer(16, 128) },
            Precision::Int8,
            false,
        ),
        ("wider", layer(16, 144), Precision::Int8x16, false),
        ("as_f32", layer(16, 144), Precision::F32, false),
    ] {
        assert_eq!(has_body(layer.subject(name, options(precision), false)), pays, "{name}");
    }
    for (tiles, rows) in [(true, 2), (false, 16)] {
        let tuning = Tuning::default().with_tiles(Some(tiles));
        let options = options(Precision::Int8).with_tuning(tuning);
        assert_eq!(has_body(layer(rows, 144).subject("asked", options, false)), tiles);
    }
}

#[test]
fn the_plan_says_why_there_are_no_tiles() {
    let of_amx = |rows, units| {
        let options = options().with_tuning(Tuning::default());
        let layer = Layer { kind: "RNNCell", attributes: "", rows, inputs: 16, units };
        layer.subject("rejected", options, false).compilation.plan.to_string()
    };
    for (rows, units, said) in [
        (
            16,
            256,
            Some(
                "  amx: no tiles: 8696 cycles for 16 rows, 8704 without: saves less than a tenth\n",
            ),
        ),
        (11, 144, Some(" without: fewer than 12 rows\n")),
        (16, 144, None),
    ] {
        let plan = of_amx(rows, units);
        assert!(plan.contains(said.unwrap_or("  amx: 16 rows at once, in tiles\n")), "{plan}");
        assert_eq!(plan.contains("no tiles"), said.is_some(), "{plan}");
    }
}

/// A program to which Linux refuses the tiles. It prints the name of the best instruction set
/// without them.
const REFUSED: &str = r#"#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "refused.h"

int main(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return 1;
    }
    printf("%s %d", refused_isa_name(refused_isa_detect()), refused_isa_available(REFUSED_ISA_AMX));
    return 0;
}
"#;

#[test]
fn where_linux_refuses_tiles_vectors_run() {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return skip("no Linux on x86-64");
    }
    let layer = Layer { kind: "RNNCell", attributes: "", rows: 16, inputs: 16, units: 144 };
    let options = Options::default().with_precision(Some(Precision::Int8));
    let subject = layer.subject("refused", options, false);
    let folder = folder("tiles-refused");
    driver::write_files(&folder, &[subject], Language::C);
    std::fs::write(folder.join("main.c"), REFUSED).expect("a file");
    for compiler in driver::c_compilers() {
        let compiled = Command::new(compiler)
            .current_dir(&folder)
            .args(["-O1", "main.c", "refused.c", "-o", "main", "-lm"])
            .output()
            .expect("the compiler runs");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let ran = Command::new(folder.join("main")).output().expect("the program runs");
        if !ran.status.success() {
            skip("no filter of system calls");
            continue;
        }
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let best =
            driver::isas_of_machine().into_iter().rfind(|isa| *isa != "amx").expect("one at least");
        assert_eq!(said, format!("{best} 0"), "{compiler}");
    }
}
