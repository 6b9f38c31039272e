//! Models drawn at random: the interpreter is within the bound of the reference, and generated Rust
//! and C have the bits of the interpreter.
//!
//! Every run draws the same models. A longer run by hand:
//! `CELLC_MODELS=20000 CELLC_SEED=7 cargo test --release -p cellc-tests --features full --test all random_models`,
//! with another seed for other models, and `CELLC_COMPILED=300` for more models in generated code.
//! The k-th model of a run is called `random_k`: `CELLC_ONLY=k` with the same seed tries it alone,
//! and prints its recipe. The first test shrinks the models that it finds.

use std::cell::RefCell;
use std::path::Path;

use cellc::internals::arch::AVX512_VNNI;
use cellc::internals::core::CoreOp;
use cellc::internals::model::Activation;
use cellc::{Language, Options, Precision, Tuning};
use cellc_tests::agreement::Compared;
use cellc_tests::driver;
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::random::{DENORMAL, ORDINARY, SATURATING, SPECIAL, compiled, subject};
use cellc_tests::recipe::{self, Recipe, asked, recipes, seed};
use cellc_tests::selection::{covering, with_fewer_bodies};
use cellc_tests::subject::{Subject, Values, assert_same, of_subjects};
use proptest::test_runner::{TestCaseError, TestError};

/// The number of models for the interpreter. Generated code is compiled for the first [`COMPILED`].
const DRAWN: u32 = 400;
const COMPILED: u32 = 28;

/// The first recipes with their numbers, or the recipe given by `CELLC_ONLY`.
fn drawn(count: u32) -> Vec<(u32, Recipe)> {
    let only = asked::<u32>("CELLC_ONLY");
    let all = (0..).zip(recipe::drawn(only.map_or(count, |only| only + 1), seed()));
    all.filter(|(k, _)| only.is_none_or(|only| only == *k)).collect()
}

/// Statistics over many models: comparisons that are never close to failing would show nothing.
#[derive(Debug, Default)]
struct Seen {
    /// The largest ratio of an error to its bound.
    closest: f64,
    bounded: usize,
    unbounded: usize,
    nan: usize,
    kept: usize,
    flushed: usize,
    /// The number of depthwise convolutions in integers.
    windows: usize,
    /// The number of cells whose new state stays in registers.
    carried_on: usize,
    /// The numbers of loops that a condition ends, and of conditions of which only one side is
    /// computed.
    left: usize,
    sides: usize,
}

/// Checks everything that holds for the interpreter and the reference.
fn check(subject: &Subject, seen: &mut Seen) {
    let bodies = subject.distinct();
    for call in [ORDINARY, SATURATING, DENORMAL, SPECIAL] {
        // by profile: the bits of the first instruction set of the profile, all NaNs equal
        let mut first: [Option<Vec<Vec<u32>>>; 2] = [None, None];
        for &(isa, name, fused) in &bodies {
            let mut parameters = subject.calls[call].clone();
            let mut variables = subject.variables();
            let mut all = Vec::new();
            for step in 0..3 {
                let what = format!("{} call {call} step {step} on {name}", subject.name);
                // the others of a profile have the same bits, and therefore the same errors
                let results = if first[usize::from(fused)].is_none() {
                    let compared = Compared::step(subject, isa, &parameters, &mut variables);
                    judge(subject, &compared, call, step, &what, seen);
                    let singles = |values: &Vec<f64>| values.iter().map(|v| *v as f32).collect();
                    compared.found.results.iter().map(singles).collect()
                } else {
                    subject.interpret_from(isa, &parameters, &mut variables)
                };
                for pair in &subject.model().states {
                    parameters[pair.parameter].clone_from(&results[pair.result]);
                }
                let all_bits =
                    |all: &Vec<f32>| all.iter().copied().map(cellc_tests::subject::bits).collect();
                all.extend(results.iter().chain(&variables).map(all_bits));
            }
            match &first[usize::from(fused)] {
                None => first[usize::from(fused)] = Some(all),
                Some(other) => {
                    assert!(*other == all, "{} call {call}: other bits on {name}", subject.name)
                }
            }
        }
    }
}

/// Checks the results of one step against the reference.
fn judge(
    subject: &Subject,
    compared: &Compared,
    call: usize,
    step: usize,
    what: &str,
    seen: &mut Seen,
) {
    if call == SPECIAL {
        return no_nan_is_lost(compared, what, seen);
    }
    let single = call == ORDINARY && step == 0 && is_plain(subject);
    // weights of fewer bits have errors relative to their operands, and operands of saturating
    // calls are 30 times as large
    let about = match call {
        _ if stored_exactly(subject) => 1e-2,
        SATURATING => 9.0,
        _ => 0.3,
    };
    within(compared, what, single, (call != DENORMAL).then_some(about), seen);
    if call == DENORMAL {
        flushed(subject, compared, seen);
    }
}

/// True if matrices are stored exactly.
fn stored_exactly(subject: &Subject) -> bool {
    let options = &subject.compilation.options;
    options.numerics.precision.unwrap_or_default() == Precision::F32
        && options.numerics.precision_of.is_empty()
}

/// True if a model is one step of one cell whose activations have bounded results.
fn is_plain(subject: &Subject) -> bool {
    let bounded = |a: &Activation| matches!(a, Activation::Sigmoid | Activation::Tanh);
    let [node] = &subject.model().nodes[..] else { return false };
    let CoreOp::Cell(cell) = &node.op else { return false };
    cell.sequence.is_none() && cell.activations.iter().all(bounded) && stored_exactly(subject)
}

fn within(compared: &Compared, what: &str, single: bool, about: Option<f64>, seen: &mut Seen) {
    for ((part, k), found, right, limit) in compared.elements() {
        let error = (found - right).abs();
        let what = || format!("{what}, result {part} element {k}: {found:e}, {right:e}");
        if limit.is_finite() {
            seen.bounded += 1;
            assert!(error <= limit, "{}: off by {error:e}, bound {limit:e}", what());
            // a bound that permits any value would show nothing
            assert!(
                !(single && limit > 0.01 * right.abs().max(1.0)),
                "{}: bound {limit:e}",
                what()
            );
            if about.is_some() && limit > 0.0 {
                seen.closest = seen.closest.max(error / limit);
            }
        } else {
            seen.unbounded += 1;
            // no bound is claimed, but an ordinary value must be nearly right
            let wrong = |about: f64| {
                right.abs() < 1e6 && (error.is_nan() || error > about * right.abs().max(1.0))
            };
            assert!(!about.is_some_and(wrong), "{}: off by {error:e} without a bound", what());
        }
    }
}

fn no_nan_is_lost(compared: &Compared, what: &str, seen: &mut Seen) {
    for ((part, k), found, right, _) in compared.elements() {
        seen.nan += usize::from(right.is_nan());
        // sums of the largest numbers are finite in float64
        assert!(
            found.is_nan() || !right.is_nan(),
            "{what}, result {part} element {k}: a NaN is lost, {found:e}"
        );
    }
}

fn flushed(subject: &Subject, compared: &Compared, seen: &mut Seen) {
    let limit = 2f64.powi(-100);
    let small =
        compared.elements().filter(|(_, found, ..)| found.abs() < limit && *found != 0.0).count();
    if subject.compilation.options.numerics.keep_denormals {
        seen.kept += small;
    } else {
        assert_eq!(small, 0, "{}", subject.name);
        seen.flushed += 1;
    }
}

/// Panels, tiles of rows, orders and branches drawn with the model give the bits of the plan's own.
fn no_choice_of_the_plan_changes_a_bit(drawn: &Subject, file: ModelFile) {
    // if fusion is not drawn, the plan's fusion is compared with no fusion
    let fuse = drawn.compilation.options.tuning.fuse.is_none().then_some(false);
    let options = drawn.compilation.options.clone().with_tuning(Tuning::default().with_fuse(fuse));
    let planned = Subject { calls: drawn.calls.clone(), ..compiled("drawn", file, options, 0) };
    let bits = |subject: &Subject, isa, call: usize| -> Vec<Vec<u32>> {
        let results = subject.interpret(isa, &subject.calls[call]);
        results
            .into_iter()
            .map(|all| all.into_iter().map(cellc_tests::subject::bits).collect())
            .collect()
    };
    let of_planned = |name: &str| planned.isas().position(|(own, _)| own == name);
    let bodies = |isa: usize, own: usize| {
        (&drawn.compilation.program.bodies[isa], &planned.compilation.program.bodies[own])
    };
    let mut compared = Vec::new();
    for (isa, (name, _)) in drawn.isas().enumerate() {
        // the plan chooses tiles only if they pay
        let own =
            of_planned(name).or_else(|| of_planned(AVX512_VNNI.name)).expect("AMX extends it");
        let both = bodies(isa, own);
        if compared.contains(&both) {
            continue;
        }
        compared.push(both);
        for call in [ORDINARY, SPECIAL] {
            let tuning = &drawn.compilation.options.tuning;
            assert_eq!(
                bits(drawn, isa, call),
                bits(&planned, own, call),
                "call {call} on {name} with {tuning:?}"
            );
        }
    }
}

/// Models that were found by drawing, made small. Every run checks them.
fn found() -> Vec<Subject> {
    // a value, concatenated with a view of a view of itself, whose place is in the same result
    let mut views = ModelFile::default();
    let x = views.parameter("x", &[2, 1]);
    let value = views.operation("Tanh", "opset1", "", &[&x], &[2, 1]);
    let mut view = value.clone();
    for shape in [[1, 2], [2, 1]] {
        let target = views.integers(&[2], &shape);
        let shape = shape.map(|size| size as usize);
        view = views.operation(
            "Reshape",
            "opset1",
            "special_zero=\"false\"",
            &[&view, &target],
            &shape,
        );
    }
    let both = views.operation("Concat", "opset1", "axis=\"0\"", &[&value, &view], &[4, 1]);
    views.result(&both);
    // inputs that nothing reads, and a variable
    let mut unread = ModelFile::default();
    let x = unread.parameter("x", &[3]);
    let kept = unread.operation("Tanh", "opset1", "", &[&x], &[3]);
    unread.assign("kept", &kept);
    let constant = unread.constant(&[3], Stored::F32, [0.5, -1.0, 2.0].into_iter());
    unread.result(&constant);
    // variables that become views of each other, and of themselves
    let mut variables = ModelFile::default();
    let reads = ["a", "b", "c"].map(|name| {
        let data = format!("variable_id=\"{name}\" variable_shape=\"2\" variable_type=\"f32\"");
        let initial =
            variables.constant(&[2], Stored::F32, name.bytes().map(f32::from).chain([0.5]));
        let read = variables.operation("ReadValue", "opset6", &data, &[&initial], &[2]);
        variables.result(&read);
        let mut view = read;
        for shape in [&[1, 2][..], &[2]] {
            let target = variables
                .integers(&[shape.len()], &shape.iter().map(|n| *n as i64).collect::<Vec<_>>());
            view = variables.operation(
                "Reshape",
                "opset1",
                "special_zero=\"false\"",
                &[&view, &target],
                shape,
            );
        }
        view
    });
    for (name, next) in [("a", 1), ("b", 0), ("c", 2)] {
        variables.assign(name, &reads[next]);
    }
    let subject = |(name, file)| compiled(name, file, Options::default(), 0);
    [("found_views", views), ("found_unread", unread), ("found_variables", variables)]
        .map(subject)
        .into()
}

/// Cells whose new state stays in registers: rows of a batch whose state is a result as well, and
/// the steps of a reverse sequence, whose states nothing else reads.
fn carried_on() -> Vec<Subject> {
    let weights = |file: &mut ModelFile, shape: &[usize]| {
        let count: usize = shape.iter().product();
        file.constant(
            shape,
            Stored::F32,
            (0..count).map(|k| 0.4 * ((7 * k % 23) as f32 / 11.0 - 1.0)),
        )
    };
    let (batch, hidden, inputs, steps) = (9, 20, 3, 4);
    let mut rows = ModelFile::default();
    let [x, h] =
        [("x", inputs), ("h", hidden)].map(|(name, len)| rows.parameter(name, &[batch, len]));
    let skip = rows.parameter("skip", &[batch, hidden]);
    let [w, r, b] = [&[3 * hidden, inputs][..], &[3 * hidden, hidden], &[4 * hidden]]
        .map(|s| weights(&mut rows, s));
    let new = rows.cell("cell", "GRUCell", "linear_before_reset=\"true\"", &[&x, &h, &w, &r, &b]);
    let scale = weights(&mut rows, &[hidden]);
    let scaled = rows.operation("Multiply", "opset1", "", &[&new, &scale], &[batch, hidden]);
    let sum = rows.operation("Subtract", "opset1", "", &[&skip, &scaled], &[batch, hidden]);
    let end = rows.operation("Relu", "opset1", "", &[&sum], &[batch, hidden]);
    rows.result(&new);
    rows.result(&end);

    let mut sequence = ModelFile::default();
    let (batch, y) = (2, [2, steps, hidden]);
    let x = sequence.parameter("x", &[batch, steps, inputs]);
    let h = sequence.parameter("h", &[batch, 1, hidden]);
    let gain = sequence.parameter("gain", &[batch, steps, 1]);
    let skip = sequence.parameter("skip", &y);
    let lengths = sequence.integers(&[batch], &[steps as i64; 2]);
    let [w, r, b] = [&[1, hidden, inputs][..], &[1, hidden, hidden], &[1, hidden]]
        .map(|shape| weights(&mut sequence, shape));
    let data = format!("hidden_size=\"{hidden}\" direction=\"reverse\"");
    let shapes = [vec![batch, 1, steps, hidden], vec![batch, 1, hidden]];
    let outputs = sequence.operations(
        "RNNSequence",
        "opset5",
        &data,
        &[&x, &h, &lengths, &w, &r, &b],
        &shapes,
    );
    let target = sequence.integers(&[3], &y.map(|n| n as i64));
    let states = sequence.operation(
        "Reshape",
        "opset1",
        "special_zero=\"false\"",
        &[&outputs[0], &target],
        &y,
    );
    let scaled = sequence.operation("Multiply", "opset1", "", &[&states, &gain], &y);
    let end = sequence.operation("Add", "opset1", "", &[&scaled, &skip], &y);
    sequence.result(&end);

    let subject = |(name, file)| {
        let subject = compiled(name, file, Options::default(), 0);
        let [chain] = subject.compilation.plan.fusion.chains() else {
            panic!("{name}: one chain was expected")
        };
        assert!(chain.early && chain.links.len() > 1, "{name}: {chain:?}");
        subject
    };
    [("carried_rows", rows), ("carried_steps", sequence)].map(subject).into()
}

#[test]
fn every_error_is_within_the_bound() {
    let seen = RefCell::new(Seen::default());
    if asked::<u32>("CELLC_ONLY").is_some() {
        for (k, recipe) in drawn(0) {
            println!("{recipe:#?}\n{}", recipe.file().text());
            let subject = subject(&format!("random_{k}"), &recipe);
            println!("{}", subject.model());
            check(&subject, &mut seen.borrow_mut());
        }
        return;
    }
    for subject in found().into_iter().chain(carried_on()) {
        check(&subject, &mut seen.borrow_mut());
    }
    let count = asked("CELLC_MODELS").unwrap_or(DRAWN);
    let outcome = recipe::runner(count, seed()).run(&recipes(), |recipe| {
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let subject = subject("drawn", &recipe);
            check(&subject, &mut seen.borrow_mut());
            let ends = |op: &CoreOp| matches!(op, CoreOp::Loop(body) if body.running.is_some());
            seen.borrow_mut().left +=
                subject.model().all_nodes().iter().filter(|node| ends(&node.op)).count();
            seen.borrow_mut().windows += subject.compilation.plan.windows.len();
            seen.borrow_mut().sides += subject.compilation.plan.branches.counts().len();
            seen.borrow_mut().carried_on +=
                subject.compilation.plan.fusion.chains().iter().filter(|c| c.early).count();
            no_choice_of_the_plan_changes_a_bit(&subject, recipe.file());
        }));
        tried.map_err(|payload| {
            let text = payload.downcast_ref::<String>().cloned();
            let text =
                text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            TestCaseError::fail(text.unwrap_or_default())
        })
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, recipe)) => {
            panic!("{reason}\n{recipe:?}\n{}", recipe.file().text())
        }
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
    let seen = seen.into_inner();
    println!("{seen:?}");
    assert!(seen.closest > 0.05, "a bound that is never approached: {seen:?}");
    assert!(seen.unbounded * 20 < seen.bounded, "values without a bound: {seen:?}");
    assert!(seen.left > 2 && seen.sides > 2, "too little is decided at run time: {seen:?}");
    assert!(seen.windows > 2, "too few depthwise convolutions in integers: {seen:?}");
    assert!(seen.carried_on > 0, "too few cells with pointwise work at their end: {seen:?}");
    assert!(seen.nan > 1000 && seen.kept > 100 && seen.flushed > 10, "too few cases: {seen:?}");
}

#[test]
fn generated_code_is_the_interpreter_bit_for_bit() {
    let recipes = drawn(asked("CELLC_COMPILED").unwrap_or(COMPILED));
    let random = recipes.iter().map(|(k, recipe)| subject(&format!("random_{k}"), recipe));
    let subjects: Vec<Subject> = found().into_iter().chain(carried_on()).chain(random).collect();
    let isas = driver::isas();
    let expected: Values = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiler = driver::c_compilers()[0];
    let in_c = with_fewer_bodies(&subjects, Language::C);
    let c = driver::c(&folder("random-c"), &in_c, compiler, &["-std=gnu11", "-O1"]);
    assert_same("c", &of_subjects(&expected, &in_c), &c);
    // rustc takes long: only subjects that together have every form
    let subjects = with_fewer_bodies(&subjects, Language::Rust);
    let subjects: Vec<_> = covering(&subjects).into_iter().map(|at| subjects[at].clone()).collect();
    let rust =
        driver::rust(&folder("random-rust"), &subjects, &["-Copt-level=1", driver::ASSERTED]);
    assert_same("rust", &of_subjects(&expected, &subjects), &rust);
}
