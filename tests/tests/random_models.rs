//! Models drawn at random: the reference bounds the interpreter, and generated Rust and C are the interpreter bit for bit.

use std::path::Path;

use cellc::bound::{Profile, bound};
use cellc::model::Activation;
use cellc_tests::driver;
use cellc_tests::random::{DENORMAL, ORDINARY, SATURATING, SPECIAL, subject};
use cellc_tests::subject::{Subject, assert_same};

/// How many models are drawn for the interpreter; generated code is compiled for the first [`COMPILED`].
const DRAWN: u64 = 250;
const COMPILED: u64 = 40;

fn subjects(count: u64) -> Vec<Subject> {
    (0..count).map(subject).collect()
}

#[test]
fn every_error_is_within_the_bound() {
    let mut closest = 0.0f64;
    for subject in subjects(DRAWN) {
        for call in [ORDINARY, SATURATING, DENORMAL] {
            let parameters = &subject.calls[call];
            let exact = subject.reference(parameters);
            let magnitudes: Vec<Vec<f64>> =
                parameters.iter().map(|p| p.iter().map(|v| f64::from(v.abs())).collect()).collect();
            for (isa, (name, fused)) in subject.isas().enumerate() {
                let flush_denormals = subject.compilation.options.flush_denormals;
                let limits = bound(subject.model(), Profile { fused, flush_denormals }, &magnitudes, &[]).results;
                for (i, found) in subject.interpret(isa, parameters).iter().enumerate() {
                    assert_eq!(found.len(), exact[i].len());
                    for ((found, exact), limit) in found.iter().zip(&exact[i]).zip(&limits[i]) {
                        let error = (f64::from(*found) - exact).abs();
                        let what = || format!("{} call {call} on {name}: {found:e}, {exact:e}", subject.name);
                        assert!(error <= *limit, "{}: off by {error:e}, bound {limit:e}", what());
                        // a bound that allows anything would show nothing; relu after relu does amplify, and a step may
                        // be taken by one of the two alone
                        let cells = subject.model().cells();
                        let steps = |a: &Activation| matches!(a, Activation::ThresholdedRelu { .. });
                        let single = cells.len() == 1 && !cells[0].activations.iter().any(steps);
                        let single = call == ORDINARY && single;
                        let loose = single && *limit > 0.01 * exact.abs().max(1.0);
                        assert!(!loose, "{}: bound {limit:e}", what());
                        if call != DENORMAL && *limit > 0.0 {
                            closest = closest.max(error / limit);
                        }
                    }
                }
            }
        }
    }
    println!("the largest error was {closest:.3} of its bound");
    assert!(closest > 0.05, "a bound that is never approached: {closest}");
}

#[test]
fn nan_comes_out_where_the_definition_has_it() {
    let mut seen = 0;
    for subject in subjects(DRAWN) {
        let parameters = &subject.calls[SPECIAL];
        let exact = subject.reference(parameters);
        let nan = |values: &[f32]| values.iter().map(|v| v.is_nan()).collect::<Vec<_>>();
        for (isa, (name, _)) in subject.isas().enumerate() {
            for (found, exact) in subject.interpret(isa, parameters).iter().zip(&exact) {
                for (k, (found, exact)) in nan(found).into_iter().zip(exact).enumerate() {
                    seen += usize::from(exact.is_nan());
                    // sums of largest numbers are finite in float64
                    assert!(found || !exact.is_nan(), "{} on {name}, element {k}: a NaN is lost", subject.name);
                }
            }
        }
    }
    assert!(seen > 1000, "{seen} NaN");
}

#[test]
fn states_are_flushed_where_that_was_asked_for() {
    let limit = 2f32.powi(-100);
    let (mut kept, mut flushed) = (0, 0);
    for subject in subjects(DRAWN) {
        let results = subject.interpret(0, &subject.calls[DENORMAL]);
        for state in &subject.model().states {
            let small = results[state.result].iter().filter(|v| v.abs() < limit && **v != 0.0).count();
            if subject.compilation.options.flush_denormals {
                assert_eq!(small, 0, "{}", subject.name);
                flushed += 1;
            } else {
                kept += small;
            }
        }
    }
    assert!(kept > 100 && flushed > 20, "{kept} small values kept, {flushed} states flushed");
}

#[test]
fn generated_code_is_the_interpreter_bit_for_bit() {
    let subjects = subjects(COMPILED);
    let isas = driver::isas();
    let expected = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let rust = driver::rust(&folder("random-rust"), &subjects, &["-Copt-level=2"]);
    assert_same("rust", &expected, &rust);
    let compiler = driver::c_compilers()[0];
    let c = driver::c(&folder("random-c"), &subjects, compiler, &["-std=gnu11", "-O2"]);
    assert_same("c", &expected, &c);
}
