//! The accuracy of every activation, in both arithmetic profiles.
//!
//! A dense sample by default. Over every f32, in minutes:
//! `CELLC_EVERY_F32=1 cargo test --release -p cellc --lib activation -- --nocapture`

use super::{exact, expand, max_ulp};
use crate::kernel::{Function, Program, evaluate};
use crate::model::Activation;
use crate::pass;

/// How many points are evaluated together.
const CHUNK: usize = 4096;

fn expansion(activation: Activation, fused: bool) -> Function {
    let mut program = Program { functions: vec![expand(activation)], ..Program::default() };
    if !fused {
        pass::split(&mut program);
    }
    program.functions.remove(0)
}

fn profiles() -> impl Iterator<Item = (Activation, bool)> {
    Activation::ALL.into_iter().flat_map(|a| [(a, true), (a, false)])
}

/// The spacing of f32 at `v`.
fn ulp(v: f64) -> f64 {
    let exponent = (v.to_bits() >> 52 & 0x7ff).max(1023 - 126);
    f64::from_bits((exponent - 23) << 52)
}

/// The largest error over the points, and where.
fn worst(activation: Activation, fused: bool, points: &[f32]) -> (f64, f32) {
    let function = expansion(activation, fused);
    let mut worst = (0.0, 0.0);
    for points in points.chunks(CHUNK) {
        let values = evaluate(&function, &[points]);
        for (&x, y) in points.iter().zip(values) {
            let exact = exact(activation, f64::from(x));
            let error = (f64::from(y) - exact).abs() / ulp(exact);
            assert!(error.is_finite(), "{activation:?}({x:e}) = {y:e}");
            if activation != Activation::Relu {
                assert!(y.abs() <= 1.0, "{activation:?}({x:e}) = {y:e}");
            }
            if error > worst.0 {
                worst = (error, x);
            }
        }
    }
    worst
}

/// A sequence without much structure, the same in every run.
fn scatter(i: u64) -> u32 {
    (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// A million finite f32: every exponent, the neighbourhood of every seam of the expansions, the ends.
fn sample() -> Vec<f32> {
    let mut points = Vec::new();
    for exponent in 0..255_u32 {
        // most points where the functions are neither linear nor constant
        let n = if (100..135).contains(&exponent) { 20_000 } else { 400 };
        points.extend((0..n).map(|i| f32::from_bits(exponent << 23 | scatter(i * 255 + u64::from(exponent)) >> 9)));
    }
    let half_ln2 = std::f32::consts::LN_2 / 2.0;
    let seams = (0..310).map(|k| k as f32 * half_ln2 / 2.0);
    let clamps = [9.0, 10.0, 20.0, 87.336, 88.722, 103.28, 103.97, 105.0, f32::MIN_POSITIVE, f32::MAX, 0.0];
    for seam in seams.chain(clamps) {
        let bits = seam.to_bits();
        points.extend((bits.saturating_sub(400)..bits.saturating_add(400)).map(f32::from_bits));
    }
    points.retain(|p| p.is_finite());
    let negative: Vec<f32> = points.iter().map(|p| -p).collect();
    points.extend(negative);
    points
}

#[test]
fn within_the_stated_error() {
    let everything = std::env::var_os("CELLC_EVERY_F32").is_some();
    let sample = if everything { Vec::new() } else { sample() };
    for (activation, fused) in profiles() {
        let (error, at) = if everything { worst_of_all(activation, fused) } else { worst(activation, fused, &sample) };
        println!("{activation:?}, {}: {error:.4} ulp at {at:e}", if fused { "fused" } else { "split" });
        let stated = max_ulp(activation, fused);
        assert!(error <= stated && stated <= 2.5, "{activation:?}, fused {fused}: {error} ulp at {at:e}");
        let least = if everything { stated - 0.01 } else { stated * 0.8 };
        assert!(error >= least, "{activation:?}, fused {fused}: the stated {stated} is too wide for {error}");
    }
}

/// The largest error over all finite f32.
fn worst_of_all(activation: Activation, fused: bool) -> (f64, f32) {
    let next = std::sync::atomic::AtomicU32::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut all = (0.0, 0.0);
        loop {
            let block = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if block > 0xffff {
                return all;
            }
            let points: Vec<f32> = (0..=0xffff_u32).map(|i| f32::from_bits(block << 16 | i)).collect();
            if points[0].is_finite() {
                let found = worst(activation, fused, &points);
                if found.0 > all.0 {
                    all = found;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let found = handles.into_iter().map(|h| h.join().expect("a thread that measures"));
        found.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    })
}

#[test]
fn spacing() {
    let at = [1.0, 1.5, -0.99, 2.0, f64::from(f32::MIN_POSITIVE), 1e-40, 0.0].map(|v| ulp(v).log2());
    assert_eq!(at, [-23.0, -23.0, -24.0, -22.0, -149.0, -149.0, -149.0]);
}

#[test]
fn special_values() {
    let nans =
        [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::from_bits(0xffff_ffff), f32::from_bits(0x7fab_cdef)];
    let points = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, -104.0, 1e-45, -1e-45];
    for (activation, fused) in profiles() {
        let function = expansion(activation, fused);
        for (nan, y) in nans.iter().zip(evaluate(&function, &[&nans])) {
            assert!(y.is_nan(), "{activation:?}({:x}) = {y:e}", nan.to_bits());
        }
        let expected = match activation {
            Activation::Relu => [0.0, 0.0, f32::INFINITY, 0.0, 0.0, 1e-45, 0.0],
            Activation::Sigmoid => [0.5, 0.5, 1.0, 0.0, 0.0, 0.5, 0.5],
            Activation::Tanh => [0.0, -0.0, 1.0, -1.0, -1.0, 1e-45, -1e-45],
        };
        let values = evaluate(&function, &[&points]);
        assert_eq!(values, expected, "{activation:?}");
        if activation == Activation::Tanh {
            assert_eq!([values[0].to_bits(), values[1].to_bits()], [0, 0x8000_0000]);
        }
    }
}

/// The least f32 that sigmoid gives is not lost to the clamp or to scaling.
#[test]
fn sigmoid_goes_down_to_the_smallest_number() {
    for fused in [true, false] {
        let values = evaluate(&expansion(Activation::Sigmoid, fused), &[&[-103.9_f32, -100.0]]);
        assert_eq!(values[0].to_bits(), 1);
        assert_eq!(values[1], (-100.0_f64).exp() as f32);
    }
}

#[test]
fn tanh_is_odd() {
    let points = sample();
    let negative: Vec<f32> = points.iter().map(|p| -p).collect();
    for fused in [true, false] {
        let function = expansion(Activation::Tanh, fused);
        let (a, b) = (evaluate(&function, &[&points]), evaluate(&function, &[&negative]));
        assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() ^ b.to_bits() == 0x8000_0000));
    }
}
