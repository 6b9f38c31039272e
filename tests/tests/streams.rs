//! Independent streams: each row of a step has the bits of a step of a single stream.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::internals::compile::{compile, compile_core, core_model, with_model_errors};
use cellc::internals::core::streams::{self, RowKind};
use cellc::internals::core::{CoreModel, CoreOp, Source};
use cellc::internals::front::openvino;
use cellc::internals::numerics::Precisions;
use cellc::{Builder, Language, Options, Precision};
use cellc_tests::corpus;
use cellc_tests::driver::{c_compilers, run, rustc, undefined};
use cellc_tests::random::{DENORMAL, ORDINARY, SATURATING, SPECIAL, on};
use cellc_tests::recipe::{Recipe, drawn, seed};
use cellc_tests::subject::{Subject, bits};

/// The call of each row.
const ROWS: [usize; 4] = [SPECIAL, ORDINARY, DENORMAL, SATURATING];

/// False for models that cellc refuses for independent streams.
fn is_taken(core: &CoreModel) -> bool {
    let is_taken = |op: &CoreOp| match op {
        CoreOp::Loop(looped) => looped.running.is_none(),
        CoreOp::Lookup(lookup) => matches!(lookup.table, Source::Constant(_)),
        _ => true,
    };
    core.all_nodes().iter().all(|node| is_taken(&node.op))
        && core.results.iter().all(|result| result.parts.is_none())
}

/// The model of a recipe, and the same in rows. `None`: cellc refuses rows.
fn one_and_rows(k: usize, recipe: &Recipe) -> Option<[Subject; 2]> {
    let name = format!("streams_{k}");
    let one = on(&name, recipe, Options::default());
    let file = recipe.file();
    let text = file.text();
    let read = openvino::read_bytes("net.xml", text.as_bytes(), Some(("net.bin", file.weights)));
    let model = with_model_errors(read.expect("a model")).expect("a model").model;
    let options = &one.compilation.options;
    let (mut core, _) = core_model(&model, options).expect("a model");
    if !is_taken(&core) {
        return None;
    }
    streams::repeat(&mut core, ROWS.len(), RowKind::Streams);
    let precisions = Precisions::new(&core, &options.numerics);
    let rows = Subject { compilation: compile_core(core, precisions, options), ..one.clone() };
    Some([one, rows])
}

/// Compares three steps on every instruction set. Returns the number of comparisons.
fn compare([one, rows]: &[Subject; 2]) -> usize {
    let mut compared = 0;
    for (isa, name, fused) in rows.distinct() {
        let Some((of_one, ..)) = one.distinct().into_iter().find(|(.., other)| *other == fused)
        else {
            continue;
        };
        compared += 1;
        let weight = |i: usize| one.model().parameters[i].weight;
        let mut each: Vec<_> = ROWS.map(|call| one.calls[call].clone()).into();
        let mut variables: Vec<_> = ROWS.map(|_| one.variables()).into();
        let mut all = rows.variables();
        for step in 0..3 {
            for parameters in &mut each[..] {
                let shared = one.calls[ORDINARY].iter().enumerate().filter(|(i, _)| weight(*i));
                shared.for_each(|(i, weights)| parameters[i].clone_from(weights));
            }
            let together = (0..each[0].len()).map(|i| match weight(i) {
                true => each[0][i].clone(),
                false => each.iter().flat_map(|parameters| parameters[i].clone()).collect(),
            });
            let together: Vec<Vec<f32>> = together.collect();
            let found = rows.interpret_from(isa, &together, &mut all);
            for (row, parameters) in each.iter_mut().enumerate() {
                let alone = one.interpret_from(of_one, parameters, &mut variables[row]);
                for (result, (expected, found)) in alone.iter().zip(&found).enumerate() {
                    let found = &found[row * expected.len()..][..expected.len()];
                    let what = format!("{} on {name}, step {step}, {result}", one.name);
                    let as_bits =
                        |values: &[f32]| values.iter().map(|v| bits(*v)).collect::<Vec<_>>();
                    assert_eq!(as_bits(found), as_bits(expected), "{what}, row {row}");
                }
                for pair in &one.model().states {
                    parameters[pair.parameter].clone_from(&alone[pair.result]);
                }
            }
        }
    }
    compared
}

#[test]
fn rows_of_random_models_have_the_bits_of_one_stream() {
    let (mut compared, mut kept) = (0, 0);
    for (k, recipe) in drawn(60, seed()).into_iter().enumerate() {
        let Some(both) = one_and_rows(k, &recipe) else { continue };
        let [one, _] = &both;
        kept += usize::from(!one.model().states.is_empty() || !one.model().variables.is_empty());
        compared += compare(&both);
    }
    assert!(compared > 80, "{compared}");
    assert!(kept > 5, "{kept}");
}

/// Models of one stream and of eight streams, in both languages: a cell with its state as an
/// output, a cell in integers with two states, and a network with variables and an open number of
/// steps.
fn write(folder: &Path, language: Language) {
    let case = |name: &str| Builder::new(corpus::folder().join(name).join("model.xml"));
    let values = |len: usize| (0..len).map(|i| ((i * 7919 % 255) as f32 - 127.0) / 300.0).collect();
    let [w, r, b]: [Vec<f32>; 3] = [values(4 * 24 * 16), values(4 * 24 * 24), values(4 * 24)];
    for (streams, ending) in [(None, "one"), (Some(1), "row"), (Some(8), "rows")] {
        let write = |builder: Builder, name: &str| {
            let builder = streams.into_iter().fold(builder, Builder::streams);
            let name = format!("{name}_{ending}");
            let builder = builder.name(name).language(language).runtime(false);
            builder.out_dir(folder).compile().expect("it is compiled");
        };
        write(case("gru_cell_128_fp16"), "cell");
        let lstm = Builder::lstm(24, 16).weight_values(&w, &r, &b);
        write(lstm.precision(Precision::Int8), "lstm");
        write(case("torch_gru2_head").open_shape("x", [Some(1), None, Some(10)]), "net");
    }
}

/// The generated files and a program, in a new folder.
fn folder(language: Language, program: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("streams-{language:?}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the old folder goes");
    }
    fs::create_dir_all(&folder).expect("a folder");
    write(&folder, language);
    fs::write(folder.join(program), text).expect("a file");
    folder
}

const RUST: &str = r#"
mod cell_one; mod cell_row; mod cell_rows;
mod lstm_one; mod lstm_row; mod lstm_rows;
mod net_one; mod net_row; mod net_rows;

fn x<const I: usize>(stream: usize, step: usize) -> [f32; I] {
    core::array::from_fn(|i| ((stream * 31 + step * 17 + i * 7) % 19) as f32 / 9.0 - 1.0)
}

macro_rules! check {
    ($one:ident::$One:ident, $rows:ident::$Rows:ident, $inputs:literal, $outputs:literal) => {{
        // eleven streams: a group of eight, and three
        let mut alone: Vec<_> = (0..11).map(|_| $one::$One::new()).collect();
        let mut states = [$rows::RowState::new(); 11];
        let mut group = $rows::$Rows::new();
        let mut before = Vec::new();
        for step in 0..5 {
            let x: Vec<[f32; $inputs]> = (0..11).map(|stream| x(stream, step)).collect();
            let mut found = vec![[0.0; $outputs]; 11];
            let mut states: Vec<_> = states.iter_mut().collect();
            group.step_many(&mut states, &x, &mut found).unwrap();
            assert_eq!(group.step_many(&mut states, &x[1..], &mut found), Err($rows::UnequalStreams));
            for (stream, alone) in alone.iter_mut().enumerate() {
                let mut expected = [0.0; $outputs];
                alone.step(&x[stream], &mut expected);
                assert_eq!(found[stream].map(f32::to_bits), expected.map(f32::to_bits), "{stream}");
            }
            assert_ne!(found, before);
            before = found;
        }
        // eight streams in rows: rows 2 and 5 rest, row 3 ends, stream 10 continues there
        let mut rows = $rows::$Rows::new();
        for row in 0..8 { assert!(rows.set_row(row, &states[row])); }
        assert!(!rows.set_row(8, &states[0]) && !rows.reset_row(8) && rows.row(8).is_none());
        let x: [[f32; $inputs]; 8] = core::array::from_fn(|row| x(row, 5));
        let (mut found, mut expected) = ([[0.0; $outputs]; 8], [0.0; $outputs]);
        rows.step_active(&core::array::from_fn(|row| row != 2 && row != 5), &x, &mut found);
        assert_eq!([rows.row(2), rows.row(5)], [Some(states[2]), Some(states[5])]);
        for row in [0, 1, 3, 4, 6, 7] {
            alone[row].step(&x[row], &mut expected);
            assert_eq!(found[row].map(f32::to_bits), expected.map(f32::to_bits), "{row}");
        }
        assert!(rows.reset_row(0));
        let bytes = states[10].to_bytes();
        assert!(rows.set_row(3, &$rows::RowState::from_bytes(&bytes).unwrap()));
        rows.step(&x, &mut found);
        for (row, alone) in [(0, &mut $one::$One::new()), (3, &mut alone[10].clone()), (2, &mut alone[2])] {
            alone.step(&x[row], &mut expected);
            assert_eq!(found[row].map(f32::to_bits), expected.map(f32::to_bits), "{row}");
        }
        // bytes of another model, too few bytes
        let mut wrong = bytes;
        wrong[3] ^= 1;
        assert_eq!($rows::RowState::from_bytes(&wrong), Err($rows::OtherState));
        assert_eq!($rows::RowState::from_bytes(&bytes[1..]), Err($rows::OtherState));
    }};
}

fn lstm() {
    let mut alone: Vec<_> = (0..11).map(|_| lstm_one::LstmOne::new()).collect();
    let mut states = [lstm_rows::RowState::new(); 11];
    let mut group = lstm_rows::LstmRows::new();
    for step in 0..5 {
        let x: Vec<[f32; 16]> = (0..11).map(|stream| x(stream, step)).collect();
        let (mut h, mut c) = ([[0.0; 24]; 11], [[0.0; 24]; 11]);
        group.step_many(&mut states.iter_mut().collect::<Vec<_>>(), &x, &mut h, &mut c).unwrap();
        for (stream, alone) in alone.iter_mut().enumerate() {
            let mut expected = lstm_one::Outputs::new();
            alone.step(&x[stream], &mut expected);
            assert_eq!(h[stream].map(f32::to_bits), expected.h_out.map(f32::to_bits), "{stream}");
            assert_eq!(c[stream].map(f32::to_bits), expected.c_out.map(f32::to_bits), "{stream}");
        }
        assert_eq!((states[7].h, states[7].c), (h[7], c[7]));
    }
}

/// One network for many states.
macro_rules! one_row {
    ($one:ident::$One:ident, $row:ident::$Row:ident, $rows:ident, $inputs:literal, $outputs:literal) => {{
        let mut alone: Vec<_> = (0..3).map(|_| $one::$One::new()).collect();
        let mut states = [$row::RowState::new(); 3];
        let mut network = $row::$Row::new();
        for step in 0..3 {
            let x: Vec<[f32; $inputs]> = (0..3).map(|stream| x(stream, step)).collect();
            let mut found = vec![[0.0; $outputs]; 3];
            network.step_many(&mut states.iter_mut().collect::<Vec<_>>(), &x, &mut found).unwrap();
            for (stream, alone) in alone.iter_mut().enumerate() {
                let mut expected = [0.0; $outputs];
                alone.step(&x[stream], &mut expected);
                assert_eq!(found[stream].map(f32::to_bits), expected.map(f32::to_bits), "{stream}");
            }
        }
        // a state goes on in rows, and back
        let state = $rows::RowState::from_bytes(&states[2].to_bytes()).unwrap();
        assert_eq!($row::RowState::from_bytes(&state.to_bytes()), Ok(states[2]));
        assert!(network.set_row(0, &states[1]) && !network.set_row(1, &states[1]));
        network.step_active(&[false], &x(1, 3), &mut [0.0; $outputs]);
        assert_eq!(network.row(0), Some(states[1]));
        network.step_active(&[true], &x(1, 3), &mut [0.0; $outputs]);
        assert_ne!(network.row(0), Some(states[1]));
    }};
}

/// Two steps of eight rows in one call.
fn steps() {
    let frames: [[[f32; 10]; 8]; 2] =
        core::array::from_fn(|step| core::array::from_fn(|row| x(row, step)));
    let (mut rows, mut found) = (net_rows::NetRows::new(), [[[0.0; 4]; 8]; 2]);
    rows.steps(&frames, &mut found).unwrap();
    for row in 0..8 {
        let (mut one, mut expected) = (net_one::NetOne::new(), [[0.0; 4]; 2]);
        one.steps(&[frames[0][row], frames[1][row]], &mut expected).unwrap();
        assert_eq!([found[0][row], found[1][row]], expected);
    }
}

fn main() {
    fn is_plain<T: Copy + Send + Sync + PartialEq>() {}
    is_plain::<cell_rows::RowState>();
    check!(cell_one::CellOne, cell_rows::CellRows, 16, 128);
    check!(net_one::NetOne, net_rows::NetRows, 10, 4);
    one_row!(cell_one::CellOne, cell_row::CellRow, cell_rows, 16, 128);
    one_row!(net_one::NetOne, net_row::NetRow, net_rows, 10, 4);
    lstm_row::LstmRow::new().step(&[0.5; 16], &mut lstm_row::Outputs::new());
    lstm();
    steps();
}
"#;

#[test]
fn streams_join_and_leave_in_rust() {
    let folder = folder(Language::Rust, "main.rs", RUST);
    let program = folder.join("main");
    let flags = ["--edition=2021", "-Copt-level=3", "-Dwarnings", "-Adead_code"];
    run(rustc().args(flags).arg(folder.join("main.rs")).arg("-o").arg(&program));
    run(&mut Command::new(program));
    // in profiles for small code, too
    for name in ["cell_row", "cell_rows", "lstm_rows", "net_rows"] {
        let object = format!("{name}.o");
        let flags = ["--edition=2021", "-Copt-level=s", "--crate-type=lib", "--emit=obj"];
        let mut command = rustc();
        command.args(flags).arg(folder.join(format!("{name}.rs")));
        run(command.arg("-o").arg(folder.join(&object)));
        let Some(symbols) = undefined(&folder, &object) else { return };
        assert!(!symbols.iter().any(|symbol| symbol.contains("panic")), "{symbols:?}");
    }
}

const C: &str = r#"
#include <stdio.h>
#include <string.h>
#include "cell_one.h"
#include "cell_row.h"
#include "cell_rows.h"
#include "lstm_one.h"
#include "lstm_rows.h"
#include "net_one.h"
#include "net_rows.h"

static int wrong;
static void same(const float *a, const float *b, size_t floats, int line) {
    if (memcmp(a, b, floats * sizeof *a) != 0) {
        printf("line %d\n", line);
        wrong = 1;
    }
}
static void is(int what, int line) {
    if (!what) {
        printf("line %d\n", line);
        wrong = 1;
    }
}
static float x[11 * 16], y[11 * 128], cs[11 * 24], expected[128], more[128];
static void draw(size_t step, size_t inputs) {
    for (size_t i = 0; i < 11 * inputs; i++) {
        x[i] = (float)((i * 31 + step * 17) % 19) / 9.0f - 1.0f;
    }
}

#define CHECK(ONE, ROWS, INPUTS, OUTPUTS, YS, EXPECTED) do { \
    static ONE alone[11]; \
    static ROWS group; \
    static ROWS##_row_state states[11]; \
    ROWS##_row_state *places[11], other; \
    unsigned char bytes[2048], active[8] = {1, 1, 0, 1, 1, 0, 1, 1}; \
    for (size_t i = 0; i < 11; i++) { \
        ONE##_init(&alone[i]); \
        ROWS##_row_state_init(&states[i]); \
        places[i] = &states[i]; \
    } \
    ROWS##_init(&group); \
    for (size_t step = 0; step < 5; step++) { \
        draw(step, INPUTS); \
        ROWS##_step_many(&group, 11, places, x, YS); \
        for (size_t i = 0; i < 11; i++) { \
            ONE##_step(&alone[i], x + i * INPUTS, EXPECTED); \
            same(y + i * OUTPUTS, expected, OUTPUTS, __LINE__); \
        } \
    } \
    for (size_t i = 0; i < 8; i++) is(ROWS##_set_row(&group, i, &states[i]), __LINE__); \
    is(!ROWS##_set_row(&group, 8, &states[0]) && !ROWS##_row(&group, 8, &other), __LINE__); \
    ROWS##_step_active(&group, active, x, YS); \
    is(ROWS##_row(&group, 2, &other) && memcmp(&other, &states[2], sizeof other) == 0, __LINE__); \
    ONE##_step(&alone[4], x + 4 * INPUTS, EXPECTED); \
    same(y + 4 * OUTPUTS, expected, OUTPUTS, __LINE__); \
    is(ROWS##_row_state_size() <= sizeof bytes && ROWS##_reset_row(&group, 0), __LINE__); \
    ROWS##_row_state_save(&states[10], bytes); \
    is(ROWS##_row_state_load(&other, bytes, ROWS##_row_state_size()), __LINE__); \
    is(ROWS##_set_row(&group, 3, &other), __LINE__); \
    ROWS##_step(&group, x, YS); \
    ONE##_step(&alone[10], x + 3 * INPUTS, EXPECTED); \
    same(y + 3 * OUTPUTS, expected, OUTPUTS, __LINE__); \
    ONE##_init(&alone[0]); \
    ONE##_step(&alone[0], x, EXPECTED); \
    same(y, expected, OUTPUTS, __LINE__); \
    bytes[3] ^= 1u; \
    is(!ROWS##_row_state_load(&other, bytes, ROWS##_row_state_size()), __LINE__); \
    is(!ROWS##_row_state_load(&other, bytes, 3), __LINE__); \
} while (0)
#define PAIR(A, B) A, B

/* one network for many states */
static void one_row(void) {
    static cell_one alone[3];
    static cell_row network;
    static cell_row_row_state states[3], *const places[3] = {&states[0], &states[1], &states[2]};
    static cell_rows_row_state other;
    unsigned char bytes[2048];
    cell_row_init(&network);
    for (size_t i = 0; i < 3; i++) {
        cell_one_init(&alone[i]);
        cell_row_row_state_init(&states[i]);
    }
    for (size_t step = 0; step < 3; step++) {
        draw(step, 16);
        cell_row_step_many(&network, 3, places, x, y);
        for (size_t i = 0; i < 3; i++) {
            cell_one_step(&alone[i], x + i * 16, expected);
            same(y + i * 128, expected, 128, __LINE__);
        }
    }
    /* a state goes on in rows */
    cell_row_row_state_save(&states[2], bytes);
    is(cell_rows_row_state_load(&other, bytes, cell_row_row_state_size()), __LINE__);
    same(other.h, states[2].h, 128, __LINE__);
}

int main(void) {
    CHECK(cell_one, cell_rows, 16, 128, y, expected);
    CHECK(net_one, net_rows, 10, 4, y, expected);
    CHECK(lstm_one, lstm_rows, 16, 24, PAIR(y, cs), PAIR(expected, more));
    one_row();
    return wrong;
}
"#;

#[test]
fn streams_join_and_leave_in_c() {
    let folder = folder(Language::C, "main.c", C);
    for compiler in c_compilers() {
        let program = folder.join(format!("main-{compiler}"));
        let flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Werror"];
        let mut command = Command::new(compiler);
        command.args(flags).arg("-o").arg(&program).arg(folder.join("main.c"));
        for name in ["cell", "lstm", "net"] {
            command.arg(folder.join(format!("{name}_one.c")));
            command.arg(folder.join(format!("{name}_row.c")));
            command.arg(folder.join(format!("{name}_rows.c")));
        }
        run(&mut command);
        run(&mut Command::new(program));
    }
}

#[test]
fn what_rows_cannot_have_in_common_is_refused_by_name() {
    let refused = |case: &str| {
        let options = Options::default().with_streams(Some(4));
        let problems = compile(&corpus::case(case).model, &options).expect_err("refused");
        problems.to_string()
    };
    let table = refused("neighbours_and_rows");
    assert!(table.contains("a table that is computed, \"Gather_16220\""), "{table}");
    let stateless = refused("torch_grucell");
    assert!(stateless.contains("keeps no state between steps"), "{stateless}");
}

#[test]
fn sizes_are_judged_with_all_streams() {
    let gru = |streams: usize| {
        let options = Options::default().with_streams(Some(streams));
        compile(&corpus::case("gru_cell_128_fp16").model, &options).map(|_| ())
    };
    gru(8).expect("eight streams");
    let refused = |streams: usize| gru(streams).expect_err("refused").to_string();
    for streams in [0, (1 << 24) + 1, usize::MAX] {
        let text = refused(streams);
        assert!(text.contains(&format!("{streams} independent streams")), "{text}");
        assert!(text.contains("1 to 16777216"), "{text}");
    }
    let tensor = refused(1 << 24);
    assert!(tensor.contains("in each of 16777216 independent streams"), "{tensor}");
    let interface = refused(1 << 17);
    assert!(interface.contains("inputs and outputs of 142606336 bytes"), "{interface}");
    // open number of steps: the model of one step has the rows
    let net = |streams: usize| {
        let options = Options::default().with_streams(Some(streams));
        let options = options.with_shapes(vec![("x".to_owned(), vec![Some(1), None, Some(10)])]);
        compile(&corpus::case("torch_gru2_head").model, &options).map(|_| ())
    };
    net(8).expect("eight streams of any number of steps");
    let interface = net(1 << 21).expect_err("refused").to_string();
    assert!(interface.contains("inputs and outputs of"), "{interface}");
    // the same rule for every interface
    let problem = Builder::gru(8, 4).streams(0).out_dir(env!("CARGO_TARGET_TMPDIR"));
    let problem = problem.compile().expect_err("refused").to_string();
    assert!(problem.contains("0 independent streams"), "{problem}");
    assert!(problem.contains("correct `Builder::streams`"), "{problem}");
    let both = Options::default().with_batch(Some(3)).with_streams(Some(4));
    let both = compile(&corpus::case("gru_cell_128_fp16").model, &both).expect_err("refused");
    assert!(both.to_string().contains("a batch of 3 in each of 4"), "{both}");
}
