//! Two threads for a cell give the bits of one thread, in Rust and in C, with every pool and for
//! every delay of the helper thread.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::Language;
use cellc::internals::compile::compile;
use cellc::internals::front::openvino;
use cellc::internals::kernel::Body;
use cellc::{Options, Threads, Tuning};
use cellc_tests::driver;
use cellc_tests::model_file::{Branch, ModelFile, Stored};
use cellc_tests::random::{compiled, weight_scale};
use cellc_tests::selection::with_fewer_bodies;
use cellc_tests::skipped::has;
use cellc_tests::subject::{Subject, Values, assert_same, of_subjects};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The properties of a cell.
#[derive(Clone, Copy)]
struct Cell {
    kind: &'static str,
    rows: usize,
    inputs: usize,
    units: usize,
    attributes: &'static str,
    /// True if weights are inputs.
    at_run_time: bool,
}

const AFTER: &str = "linear_before_reset=\"true\"";

const GRU: Cell =
    Cell { kind: "GRUCell", rows: 1, inputs: 7, units: 40, attributes: AFTER, at_run_time: false };
const LSTM: Cell = Cell { kind: "LSTMCell", attributes: "", ..GRU };

/// A model of one cell: x and states are inputs, states are outputs.
fn file(cell: Cell) -> ModelFile {
    let Cell { kind, rows, inputs, units, attributes, at_run_time } = cell;
    let (set, gates, biases) = match kind {
        "GRUCell" => ("opset3", 3, if attributes == AFTER { 4 } else { 3 }),
        "LSTMCell" => ("opset4", 4, 4),
        _ => ("opset3", 1, 1),
    };
    let mut file = ModelFile::default();
    let mut ports = vec![file.parameter("x", &[rows, inputs]), file.parameter("h", &[rows, units])];
    if kind == "LSTMCell" {
        ports.push(file.parameter("c", &[rows, units]));
    }
    let states = vec![vec![rows, units]; ports.len() - 1];
    for (name, shape) in [
        ("w", vec![gates * units, inputs]),
        ("r", vec![gates * units, units]),
        ("b", vec![biases * units]),
    ] {
        let scale = weight_scale(&shape);
        let values = (0..shape.iter().product::<usize>())
            .map(|k| ((k * 37) % 101) as f32 / 50.0 * scale - scale);
        ports.push(match at_run_time {
            true => file.parameter(name, &shape),
            false => file.constant(&shape, Stored::F32, values),
        });
    }
    let data = format!("hidden_size=\"{units}\" {attributes}");
    let results = file.operations(kind, set, &data, &ports.iter().collect::<Vec<_>>(), &states);
    results.iter().for_each(|result| {
        file.result(result);
    });
    file
}

/// A model in which one of two GRUs takes a step.
fn branches() -> ModelFile {
    let mut file = ModelFile::default();
    let which = file.parameter_of("which", "boolean", &[]);
    let given = [file.parameter("x", &[1, 7]), file.parameter("h", &[1, 40])];
    let branches = [37, 41].map(|factor: usize| {
        let mut body = ModelFile::default();
        body.weights = std::mem::take(&mut file.weights);
        let [x, h] = given.each_ref().map(|port| body.parameter("", &port.shape));
        let weights = [vec![120, 7], vec![120, 40], vec![160]].map(|shape: Vec<usize>| {
            let scale = weight_scale(&shape);
            let values = (0..shape.iter().product())
                .map(|k: usize| ((k * factor) % 101) as f32 / 50.0 * scale - scale);
            body.constant(&shape, Stored::F32, values)
        });
        let [w, r, b] = &weights;
        let next = body.cell("", "GRUCell", AFTER, &[&x, &h, w, r, b]);
        file.weights = std::mem::take(&mut body.weights);
        Branch { body, inputs: vec![(1, x), (2, h)], results: vec![next] }
    });
    let next = file.either(&which, &given.each_ref(), branches);
    file.result(&next[0]);
    file
}

fn two(tuning: Tuning) -> Options {
    Options::default().with_threads(Threads::Two).with_tuning(tuning.with_halves(Some(true)))
}

/// Subjects on two threads, each with the same calls on one thread.
fn pairs() -> Vec<(Subject, Subject)> {
    let panels =
        |columns| Tuning::default().with_panel_columns(Some(columns)).with_alternate(Some(true));
    let cells = [
        ("gru", GRU, Tuning::default()),
        ("gru_small_panels", GRU, panels(5)),
        ("gru_rows", Cell { rows: 3, ..GRU }, Tuning::default()),
        ("gru_packed", Cell { at_run_time: true, ..GRU }, panels(16)),
        ("lstm", LSTM, panels(16)),
        (
            "lstm_rows",
            Cell { rows: 9, units: 17, ..LSTM },
            Tuning::default().with_rows_at_once(Some(4)),
        ),
        ("rnn", Cell { kind: "RNNCell", units: 24, attributes: "", ..GRU }, panels(8)),
    ];
    let pair = |name: &str, file: &dyn Fn() -> ModelFile, tuning: Tuning| {
        let shared = compiled(name, file(), two(tuning), 3);
        assert!(shared.compilation.program.bodies.iter().all(Body::has_halves), "{name}");
        let alone = Subject {
            calls: shared.calls.clone(),
            ..compiled(name, file(), Options::default(), 3)
        };
        (shared, alone)
    };
    let all = cells.into_iter().map(|(name, cell, tuning)| pair(name, &|| file(cell), tuning));
    let branch = pair("branches", &branches, panels(16));
    assert_eq!(branch.0.compilation.plan.branches.counts().len(), 2);
    all.chain([branch]).collect()
}

#[test]
fn two_threads_give_the_bits_of_one() {
    let isas = driver::isas();
    let (shared, alone): (Vec<_>, Vec<_>) = pairs().into_iter().unzip();
    let expected: Values = alone.iter().flat_map(|subject| subject.expected(&isas)).collect();
    let interpreted = shared.iter().flat_map(|subject| subject.expected(&isas)).collect();
    assert_same("interpreted", &expected, &interpreted);
    let in_rust = with_fewer_bodies(&shared, Language::Rust);
    let rust =
        driver::rust(&folder("threads-rust"), &in_rust, &["-Copt-level=1", driver::ASSERTED]);
    assert_same("rust", &of_subjects(&expected, &in_rust), &rust);
    let (compiler, in_c) = (driver::c_compilers()[0], with_fewer_bodies(&shared, Language::C));
    let c = driver::c(&folder("threads-c"), &in_c, compiler, &["-std=c11", "-O1"]);
    assert_same(compiler, &of_subjects(&expected, &in_c), &c);
}

/// The cell of the programs below, in a new folder: `one` on one thread, `two` on two threads.
fn written(name: &str, language: Language) -> PathBuf {
    let subjects = [("one", Options::default()), ("two", two(Tuning::default()))];
    let subjects = subjects.map(|(name, options)| compiled(name, file(GRU), options, 1));
    driver::write_files(&folder(name), &subjects, language);
    folder(name)
}

const RUST: &str = r#"
// not every item of a module is called here
#[allow(dead_code)]
mod one;
// nor of this one
#[allow(dead_code)]
mod two;

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use two::{Join, Pair};

/// Counts.
struct Counting;
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(1, Ordering::SeqCst);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}
#[global_allocator]
static COUNTING: Counting = Counting;

type Half<'a> = &'a mut (dyn FnMut() + Send);

struct Inline;
impl Join for Inline {
    fn join(&mut self, here: Half<'_>, there: Half<'_>) {
        here();
        there();
    }
}

struct Reversed;
impl Join for Reversed {
    fn join(&mut self, here: Half<'_>, there: Half<'_>) {
        there();
        here();
    }
}

/// Threads that live as long as a step.
struct Scoped;
impl Join for Scoped {
    fn join(&mut self, here: Half<'_>, there: Half<'_>) {
        std::thread::scope(|scope| {
            scope.spawn(there);
            here();
        });
    }
}

fn input(k: usize) -> [f32; 7] {
    std::array::from_fn(|i| ((k * 31 + i * 17) % 64) as f32 / 32.0 - 1.0)
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, |tasks| tasks.count())
}

fn main() {
    pools();
    everything_runs_once();
    panics_are_passed_on();
    helpers_end();
}

/// A cell gives the same on every pool, step after step, and allocates nothing once it has started.
fn pools() {
    let mut one = one::One::new();
    let mut own = two::Two::new();
    let mut cells = [two::Two::new(), two::Two::new(), two::Two::new()];
    let mut pools: [&mut dyn Join; 3] = [&mut Inline, &mut Reversed, &mut Scoped];
    assert!(own.pair().start());
    let mut expected = [0.0; 40];
    let mut out = [0.0; 40];
    let before = ALLOCATED.load(Ordering::SeqCst);
    for k in 0..20_000 {
        one.step(&input(k), &mut expected);
        own.step(&input(k), &mut out);
        assert_eq!(out.map(f32::to_bits), expected.map(f32::to_bits), "step {k}");
        if k % 5000 == 0 {
            // long enough for the helper to sleep
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    assert_eq!(ALLOCATED.load(Ordering::SeqCst), before);
    one.reset();
    for k in 0..300 {
        one.step(&input(k), &mut expected);
        for (cell, pool) in cells.iter_mut().zip(&mut pools) {
            cell.step_with(&mut **pool, &input(k), &mut out);
            assert_eq!(out.map(f32::to_bits), expected.map(f32::to_bits), "step {k}");
        }
    }
}

/// Each half runs once, whether the helper does it or the caller takes it over.
fn everything_runs_once() {
    let me = std::thread::current().id();
    let mut pair = Pair::new();
    let (mut by_helper, mut by_caller) = (0, 0);
    for k in 0..20_000u32 {
        let (mut here, mut there, mut on) = (0, 0, None);
        pair.join(
            &mut || {
                here += 1;
                if k % 64 == 0 {
                    std::thread::sleep(Duration::from_micros(300));
                }
            },
            &mut || {
                there += 1;
                on = Some(std::thread::current().id());
            },
        );
        assert_eq!((here, there), (1, 1));
        *(if on == Some(me) { &mut by_caller } else { &mut by_helper }) += 1;
    }
    println!("{by_helper} by the helper, {by_caller} by the caller");
}

/// A half that panics: the helper is not at work any more when the caller learns of it, and what comes after still runs.
fn panics_are_passed_on() {
    std::panic::set_hook(Box::new(|_| {}));
    for panics_there in [false, true] {
        for wait in [0, 2] {
            let mut pair = Pair::new();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pair.join(
                    &mut || {
                        std::thread::sleep(Duration::from_millis(wait));
                        assert!(panics_there);
                    },
                    &mut || assert!(!panics_there),
                );
            }));
            assert!(outcome.is_err());
            let (mut here, mut there) = (0, 0);
            for _ in 0..100 {
                pair.join(&mut || here += 1, &mut || there += 1);
            }
            assert_eq!((here, there), (100, 100));
        }
    }
    let _ = std::panic::take_hook();
}

/// A helper lives as long as its pair.
fn helpers_end() {
    let before = threads();
    for _ in 0..50 {
        let mut cell = two::Two::default();
        let mut out = [0.0; 40];
        cell.step(&input(0), &mut out);
        let mut other = cell.clone();
        other.step(&input(1), &mut out);
        assert!(before == 1 || threads() == before + 2);
    }
    assert_eq!(threads(), before);
}
"#;

#[test]
fn any_pool_of_rust_runs_each_half_once() {
    let folder = written("threads-pools-rust", Language::Rust);
    fs::write(folder.join("main.rs"), RUST).expect("a file");
    let program = folder.join("pools");
    for edition in ["2021", "2024"] {
        let mut rustc = driver::rustc();
        rustc.arg(format!("--edition={edition}")).args([
            "-Dwarnings",
            "-Cdebug-assertions=on",
            "-Copt-level=2",
        ]);
        driver::run(rustc.arg(folder.join("main.rs")).arg("-o").arg(&program));
    }
    driver::run(&mut Command::new(&program));
}

/// The output with two threads compiles like the output with one thread: in every edition, and in a
/// no_std crate.
#[test]
fn it_compiles_in_every_edition() {
    let folder = written("threads-editions", Language::Rust);
    fs::write(folder.join("no_std.rs"), "#![no_std]\n#![deny(warnings)]\npub mod two;\n")
        .expect("a file");
    for edition in ["2015", "2018", "2021", "2024"] {
        for root in ["two.rs", "no_std.rs"] {
            let mut rustc = driver::rustc();
            rustc.arg(format!("--edition={edition}")).args([
                "--crate-type=lib",
                "-Dwarnings",
                "--emit=metadata",
            ]);
            driver::run(rustc.current_dir(&folder).arg(root).args(["--crate-name", "two"]));
        }
    }
}

const C: &str = r#"
#include "one.h"
#include "two.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int right, int line) {
    if (!right) {
        fprintf(stderr, "main.c:%d: wrong\n", line);
        exit(1);
    }
}

static void in_order(void *context, void (*here)(void *), void *here_argument, void (*there)(void *), void *there_argument) {
    ++*(int *)context;
    here(here_argument);
    there(there_argument);
}

static void reversed(void *context, void (*here)(void *), void *here_argument, void (*there)(void *), void *there_argument) {
    ++*(int *)context;
    there(there_argument);
    here(here_argument);
}

int main(void) {
    enum { STEPS = 5000, POOLS = 4 };
    int calls[2] = {0, 0};
    two_pair pair;
    check(two_pair_start(&pair) == 0, __LINE__);
    const two_pool pools[POOLS - 1] = {two_pair_pool(&pair), {in_order, &calls[0]}, {reversed, &calls[1]}};
    one alone;
    one_init(&alone);
    two cells[POOLS];
    for (int i = 0; i < POOLS; i++) {
        two_init(&cells[i]);
        cells[i].pool = i < POOLS - 1 ? &pools[i] : NULL;
    }
    float x[ONE_X_SIZE], expected[sizeof alone.h / sizeof(float)], out[sizeof alone.h / sizeof(float)];
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < ONE_X_SIZE; i++) {
            x[i] = (float)((k * 31 + i * 17) % 64) / 32.0f - 1.0f;
        }
        one_step(&alone, x, expected);
        for (int i = 0; i < POOLS; i++) {
            two_step(&cells[i], x, out);
            check(memcmp(out, expected, sizeof out) == 0, __LINE__);
        }
    }
    check(calls[0] == STEPS && calls[1] == STEPS, __LINE__);
    two_pair_stop(&pair);
    two_pair_stop(&pair); /* nothing more to stop */
    for (int i = 0; i < 50; i++) {
        check(two_pair_start(&pair) == 0, __LINE__);
        two_step(&cells[0], x, out);
        two_pair_stop(&pair);
    }
    return 0;
}
"#;

#[test]
fn any_pool_of_c_runs_each_half_once() {
    let folder = written("threads-pools-c", Language::C);
    fs::write(folder.join("main.c"), C).expect("a file");
    fs::write(
        folder.join("two.cpp"),
        "#include \"two.h\"\nint main() { two_pool pool; return sizeof pool == 0; }\n",
    )
    .expect("a file");
    for compiler in driver::c_compilers() {
        for std in ["-std=c11", "-std=gnu11"] {
            let mut cc = Command::new(compiler);
            cc.current_dir(&folder).args([
                std,
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                "-O2",
                "-pthread",
            ]);
            driver::run(cc.args(["main.c", "one.c", "two.c", "-o", "pools"]));
        }
        driver::run(&mut Command::new(folder.join("pools")));
    }
    if has("g++") {
        let mut cc = Command::new("g++");
        driver::run(cc.current_dir(&folder).args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "two.cpp",
        ]));
    }
}

fn compiled_or_refused(
    cell: Cell,
    options: &Options,
) -> Result<cellc::internals::compile::Compilation, String> {
    let file = file(cell);
    let (text, bin) = (file.text(), file.weights);
    let model = openvino::read_bytes("net.xml", text.as_bytes(), Some(("net.bin", bin)))
        .expect("a model")
        .model;
    compile(&model, options).map_err(|problems| problems.to_string())
}

#[test]
fn the_plan_shares_what_is_large_enough() {
    let options = Options::default().with_threads(Threads::Two);
    for (cell, cut) in [
        (GRU, None),
        (Cell { inputs: 256, units: 256, ..GRU }, Some(128)),
        (Cell { inputs: 256, units: 200, ..LSTM }, Some(96)),
        (Cell { rows: 16, inputs: 64, units: 128, ..GRU }, Some(128)),
    ] {
        let compilation = compiled_or_refused(cell, &options).expect("compiles");
        let product = &compilation.plan.products[0];
        assert_eq!(
            product.halves.as_ref().map(|halves| halves[0].units.end),
            cut,
            "{}",
            cell.units
        );
        let threads = if cut.is_some() { "  two threads: " } else { "  one thread: " };
        assert!(compilation.plan.to_string().contains(threads));
        assert!(compilation.interface.pool);
        // with one thread, neither packing nor calls change
        let one = compiled_or_refused(cell, &Options::default()).expect("compiles");
        assert!(!one.interface.pool && !one.plan.to_string().contains("thread"));
    }
}

#[test]
fn what_halves_would_wait_for_is_refused() {
    let options = two(Tuning::default());
    let refused =
        compiled_or_refused(Cell { attributes: "", ..GRU }, &options).expect_err("reset before");
    assert!(
        refused.contains("linear_before_reset") && refused.contains("two threads"),
        "{refused}"
    );
    let mut relu = ModelFile::default();
    let x = relu.parameter("x", &[4]);
    let relu_of_x = relu.operation("Relu", "opset1", "", &[&x], &[4]);
    relu.result(&relu_of_x);
    let model =
        openvino::read_bytes("net.xml", relu.text().as_bytes(), Some(("net.bin", relu.weights)))
            .expect("a model")
            .model;
    assert!(
        compile(&model, &options)
            .expect_err("no cell")
            .to_string()
            .contains("the model has no cell")
    );
}
