//! Errors of all functions of one number, at every accuracy and in both arithmetic profiles.
//!
//! By default, the tests use a dense sample of arguments. The following command takes long and
//! covers every finite f32, for all measured functions or a named one:
//! `CELLC_EVERY_F32=1 cargo test --release -p cellc --lib -- math::tests --nocapture`

use super::{
    Constants, Evidence, FunctionBuilder, constants, definition, error, exact, expand, image,
    image_between, own_error, scaled_tanh, spacing,
};
use crate::core::fold::{self, Broadcasts};
use crate::kernel::{self, ScalarFunction, evaluate};
use crate::model::{Activation, ElementType, MathFunction, Tensor};
use crate::pass;
use crate::request::Accuracy;

/// The number of points evaluated at once.
const CHUNK: usize = 4096;

/// Functions with measured errors, with their default parameters.
fn measured() -> impl Iterator<Item = MathFunction> {
    with_default_parameters()
        .filter(|function| definition(*function).0.evidence == Evidence::Measured)
}

/// The name of the derived function with measured [`scaled_tanh::PARTS`].
const PARTS_OF: &str = "scaledtanh";

/// Activations with parameters of every sign and size, in addition to the default parameters.
const PARAMETERS: [Activation; 17] = [
    Activation::Affine { alpha: -1.7, beta: 0.3 },
    Activation::Affine { alpha: 0.1, beta: -1e3 },
    Activation::Affine { alpha: 0.0, beta: 0.7 },
    Activation::LeakyRelu { alpha: -1.3 },
    Activation::LeakyRelu { alpha: 1e-20 },
    Activation::ThresholdedRelu { alpha: -0.5 },
    Activation::ThresholdedRelu { alpha: 0.0 },
    Activation::ScaledTanh { alpha: 1.7159, beta: 0.666_666_7 },
    Activation::ScaledTanh { alpha: -1.0625, beta: 1.3 },
    Activation::ScaledTanh { alpha: 1.7, beta: 0.6 },
    Activation::ScaledTanh { alpha: 1e10, beta: 1e-10 },
    Activation::HardSigmoid { alpha: -0.3, beta: -3.7 },
    Activation::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 },
    Activation::Elu { alpha: -1.0 },
    Activation::Elu { alpha: 1.673_263_2 },
    Activation::Elu { alpha: 1.0625 },
    Activation::Elu { alpha: -1e-30 },
];

/// True if `CELLC_EVERY_F32` requests every f32 for the function `name`: 1 requests all functions,
/// a name one function. `None` if the variable is unset.
fn every_f32_of(name: &str) -> Option<bool> {
    let wanted = std::env::var("CELLC_EVERY_F32").ok()?;
    let mut names = measured().map(MathFunction::name).chain([PARTS_OF]);
    assert!(
        wanted == "1" || names.any(|n| n == wanted),
        "CELLC_EVERY_F32 is 1 or a function that is measured, not {wanted}"
    );
    Some(wanted == "1" || wanted == name)
}

fn expansion(function: MathFunction, accuracy: Accuracy, fused: bool) -> ScalarFunction {
    in_profile(expand(function, accuracy, &[fused]), fused)
}

#[test]
fn constants_have_the_exact_value() {
    let element = ElementType::F32;
    let numbers = [-2.5f32, -0.0, 0.75, 1.5, 2.25, f32::NAN];
    let tensor = Tensor::from_f32(vec![numbers.len()], &numbers).expect("as many numbers");
    for function in all().filter(|function| constants(*function) != Constants::AtRunTime) {
        let (inputs, shape) = ([(&tensor, element)], [numbers.len()]);
        let operands = Broadcasts::new(&inputs, &shape).expect("floating-point numbers");
        let (folded, _) = fold::elementwise(function.into(), &operands, exact)
            .expect("a function of floating-point numbers");
        for (at, number) in numbers.into_iter().enumerate() {
            let wanted = exact(function, number.into()) as f32;
            let folded = folded.get_f32(at);
            let is_right =
                folded.to_bits() == wanted.to_bits() || folded.is_nan() && wanted.is_nan();
            assert!(is_right, "{function}({number:?}) = {folded:?}");
        }
    }
}

fn in_profile(function: ScalarFunction, fused: bool) -> ScalarFunction {
    let mut body = kernel::Body { functions: vec![function], ..kernel::Body::default() };
    if !fused {
        pass::split(&mut body);
    }
    body.functions.remove(0)
}

fn with_default_parameters() -> impl Iterator<Item = MathFunction> {
    Activation::ALL.into_iter().map(MathFunction::from).chain(MathFunction::OTHERS)
}

fn all() -> impl Iterator<Item = MathFunction> {
    with_default_parameters().chain(PARAMETERS.into_iter().map(MathFunction::from))
}

/// The accuracies with distinct arithmetic for a function.
fn levels(function: MathFunction) -> impl Iterator<Item = Accuracy> {
    let same =
        expand(function, Accuracy::Fast, &[true]) == expand(function, Accuracy::Exact, &[true]);
    Accuracy::ALL.into_iter().filter(move |a| !same || *a == Accuracy::Exact)
}

/// All functions at all levels, in both profiles.
fn profiles() -> impl Iterator<Item = (MathFunction, Accuracy, bool)> {
    all().flat_map(|a| {
        levels(a).flat_map(move |accuracy| [(a, accuracy, true), (a, accuracy, false)])
    })
}

/// The function, the level and the profile, for messages.
fn named((function, accuracy, fused): (MathFunction, Accuracy, bool)) -> String {
    format!("{function}, {}, {}", accuracy.name(), if fused { "fused" } else { "split" })
}

/// The largest error over the points, and the point with this error. The error is in ulp, or
/// relative if the stated error is relative; the stated terms in other units are subtracted.
fn worst(profile: (MathFunction, Accuracy, bool), points: &[f32]) -> (f64, f32) {
    let (function, accuracy, fused) = profile;
    const LARGEST: f64 = f32::MAX as f64;
    let expanded = expansion(function, accuracy, fused);
    let stated = error(function, accuracy, fused);
    let image = image(function, LARGEST);
    let mut worst = (0.0, 0.0);
    for points in points.chunks(CHUNK) {
        let values = evaluate(&expanded, &[points]);
        for (&x, y) in points.iter().zip(values) {
            let (wide, exact) = (f64::from(x), exact(function, f64::from(x)));
            if exact.is_nan() {
                assert!(y.is_nan(), "{function}({x:e}) = {y:e}");
                continue;
            }
            let y = f64::from(y);
            assert!(image.least <= y && y <= image.most, "{function}({x:e}) = {y:e}");
            if exact.abs() > LARGEST || y.is_infinite() {
                // near the largest f32, either the value or the exact value may overflow
                let nearly = LARGEST * (1.0 - 1e-6 - stated.relative);
                assert!(
                    exact.abs() >= nearly && y.abs() >= nearly && exact.signum() == y.signum(),
                    "{function}({x:e}) = {y:e}"
                );
                continue;
            }
            let other = stated.of_argument * wide.abs() + stated.absolute;
            let unit = if stated.relative > 0.0 {
                exact.abs().max(f64::MIN_POSITIVE)
            } else {
                spacing(exact)
            };
            let error = ((y - exact).abs() - other) / unit;
            assert!(error.is_finite(), "{function}({x:e}) = {y:e}");
            if error > worst.0 {
                worst = (error, x);
            }
        }
    }
    worst
}

/// Element `i` of a pseudorandom sequence that is equal in every run.
fn scatter(i: u64) -> u32 {
    (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// About two million finite f32: all exponents, neighbourhoods of all seams of the expansions, and
/// the ends.
fn sample() -> Vec<f32> {
    let mut points = Vec::new();
    for exponent in 0..255_u32 {
        // most points where the functions are neither linear nor constant
        let n = if (100..135).contains(&exponent) { 12_000 } else { 400 };
        points.extend(
            (0..n).map(|i| {
                f32::from_bits(exponent << 23 | scatter(i * 255 + u64::from(exponent)) >> 9)
            }),
        );
    }
    let half_ln2 = std::f32::consts::LN_2 / 2.0;
    let seams =
        (0..310).map(|k| k as f32 * half_ln2 / 2.0).chain((155..310).map(|k| k as f32 * half_ln2));
    let clamps = [
        0.88,
        0.93,
        1.0,
        4.0,
        6.2,
        7.0,
        9.0,
        10.0,
        20.0,
        64.0,
        87.336,
        87.68,
        88.376,
        88.722,
        89.0,
        103.28,
        103.97,
        105.0,
        f32::MIN_POSITIVE,
        1e30,
        f32::MAX,
        0.0,
    ];
    let significands = (0..254).map(|exponent| f32::from_bits((exponent << 23) + 0x0035_04f3));
    for seam in seams.chain(clamps).chain(significands) {
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
    let sample = sample();
    let mut wrong = Vec::new();
    for profile in profiles() {
        let (function, accuracy, fused) = profile;
        let measured = measured().any(|other| other == function);
        let everything = every_f32_of(function.name());
        let (error, at) = match (everything, measured) {
            (Some(true), true) => worst_of_all(profile),
            (Some(_), _) => continue,
            (None, true) => worst(profile, &sample),
            (None, false) => worst(profile, &sample.iter().copied().step_by(7).collect::<Vec<_>>()),
        };
        let stated = super::error(function, accuracy, fused);
        let (unit, stated, room) = match stated.relative {
            0.0 => ("ulp", stated.ulp, 0.011),
            relative => ("of the value", relative, 0.02 * relative),
        };
        println!("{}: {error:.4e} {unit} at {at:e}", named(profile));
        if error > stated {
            wrong.push(format!("{}: {error:e} {unit} at {at:e}", named(profile)));
        }
        // a derived bound holds for all parameters; single parameters may stay below
        if measured {
            let least = if everything.is_some() { stated - room } else { stated * 0.8 };
            if error < least {
                wrong.push(format!(
                    "{}: the stated {stated} is too wide for {error:e}",
                    named(profile)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The documented error limits of the accuracy levels hold for all parameters.
#[test]
fn levels_keep_their_promise() {
    for profile in profiles() {
        let (function, accuracy, fused) = profile;
        let stated = super::error(function, accuracy, fused);
        let most = [0.0, 2f64.powi(-18), 2f64.powi(-15)][accuracy as usize];
        assert!(stated.relative <= most && stated.ulp <= 2.5, "{}: {stated}", named(profile));
        // the absolute term is far below any f32 of interest, unless a parameter scales this term
        let quick = stated.relative > 0.0
            && !matches!(function, MathFunction::Activation(Activation::ScaledTanh { .. }));
        assert!(!quick || stated.absolute < 1e-33, "{}: {stated}", named(profile));
    }
}

/// The measured errors from which [`error`] derives the errors of scaled tanh and elu.
#[test]
fn within_the_stated_relative_error() {
    let sample = sample();
    for fused in [true, false] {
        let part = |i: usize| {
            let (mut body, x) = FunctionBuilder::new("tanh", "One of its parts.");
            let [_, high, low] = scaled_tanh::parts(&mut body, &x);
            in_profile(body.finish([high, low][i].clone()), fused)
        };
        let elu = MathFunction::Activation(Activation::Elu { alpha: 1.0 });
        for (name, function, functions, stated) in [
            (
                PARTS_OF,
                MathFunction::Activation(Activation::Tanh),
                vec![part(0), part(1)],
                scaled_tanh::PARTS[usize::from(!fused)],
            ),
            (
                "elu",
                elu,
                vec![expansion(elu, Accuracy::Exact, fused)],
                super::elu::MAX_RELATIVE[usize::from(!fused)],
            ),
        ] {
            let everything = every_f32_of(name);
            if everything == Some(false) {
                continue;
            }
            let relative = |points: &[f32]| {
                // the parts of tanh are defined for arguments of at least 0
                let points: Vec<f32> = match function {
                    MathFunction::Activation(Activation::Tanh) => {
                        points.iter().map(|p| p.abs()).collect()
                    }
                    _ => points.to_vec(),
                };
                let values: Vec<_> = functions.iter().map(|f| evaluate(f, &[&points])).collect();
                let error = |(i, x): (usize, &f32)| {
                    let exact = exact(function, f64::from(*x));
                    let found: f64 = values.iter().map(|v| f64::from(v[i])).sum();
                    // results below are nearly denormal and have larger relative errors
                    if exact.abs() < 1e-30 { 0.0 } else { (found / exact - 1.0).abs() / super::U }
                };
                points.iter().enumerate().map(error).fold(0.0, f64::max)
            };
            let worst = match everything {
                None => sample.chunks(CHUNK).map(relative).fold(0.0, f64::max),
                Some(_) => (0x0000_u32..0x10000).fold(0.0, |worst, block| {
                    let points: Vec<f32> =
                        (0..=0xffff_u32).map(|i| f32::from_bits(block << 16 | i)).collect();
                    if points[0].is_finite() { f64::max(worst, relative(&points)) } else { worst }
                }),
            };
            println!("{name}, relative, {}: {worst:.4} u", if fused { "fused" } else { "split" });
            assert!(worst <= stated && worst >= 0.75 * stated, "{name}, fused {fused}: {worst}");
        }
    }
}

/// The largest error over all finite f32.
fn worst_of_all(profile: (MathFunction, Accuracy, bool)) -> (f64, f32) {
    let next = std::sync::atomic::AtomicU32::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut all = (0.0, 0.0);
        loop {
            let block = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if block > 0xffff {
                return all;
            }
            let points: Vec<f32> =
                (0..=0xffff_u32).map(|i| f32::from_bits(block << 16 | i)).collect();
            if points[0].is_finite() {
                let found = worst(profile, &points);
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
fn spacings() {
    let at =
        [1.0, 1.5, -0.99, 2.0, f64::from(f32::MIN_POSITIVE), 1e-40, 0.0].map(|v| spacing(v).log2());
    assert_eq!(at, [-23.0, -23.0, -24.0, -22.0, -149.0, -149.0, -149.0]);
}

#[test]
fn special_values() {
    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    use std::f32::consts::{FRAC_PI_2, LN_2 as LN2};
    let nans = [
        NAN,
        -NAN,
        f32::from_bits(0x7f80_0001),
        f32::from_bits(0xffff_ffff),
        f32::from_bits(0x7fab_cdef),
    ];
    let points = [0.0, -0.0, INF, -INF, -104.0, 1e-45, -1e-45];
    for (function, accuracy, fused) in profiles() {
        for (nan, y) in nans.iter().zip(evaluate(&expansion(function, accuracy, fused), &[&nans])) {
            assert!(y.is_nan(), "{function}({:x}) = {y:e}", nan.to_bits());
        }
    }
    let cases = [
        (MathFunction::Activation(Activation::Relu), [0.0, -0.0, INF, 0.0, 0.0, 1e-45, 0.0]),
        (MathFunction::Activation(Activation::Sigmoid), [0.5, 0.5, 1.0, 0.0, 0.0, 0.5, 0.5]),
        (MathFunction::Activation(Activation::Tanh), [0.0, -0.0, 1.0, -1.0, -1.0, 1e-45, -1e-45]),
        (
            MathFunction::Activation(Activation::Affine { alpha: 2.0, beta: 0.5 }),
            [0.5, 0.5, INF, -INF, -207.5, 0.5, 0.5],
        ),
        (
            MathFunction::Activation(Activation::Affine { alpha: -1.0, beta: -0.0 }),
            [-0.0, 0.0, -INF, INF, 104.0, -1e-45, 1e-45],
        ),
        (
            MathFunction::Activation(Activation::LeakyRelu { alpha: 0.5 }),
            [0.0, -0.0, INF, -INF, -52.0, 1e-45, -0.0],
        ),
        (
            MathFunction::Activation(Activation::LeakyRelu { alpha: -2.0 }),
            [0.0, -0.0, INF, INF, 208.0, 1e-45, 3e-45],
        ),
        (
            MathFunction::Activation(Activation::ThresholdedRelu { alpha: 0.0 }),
            [0.0, -0.0, INF, 0.0, 0.0, 1e-45, 0.0],
        ),
        (
            MathFunction::Activation(Activation::ThresholdedRelu { alpha: 1.0 }),
            [0.0, 0.0, INF, 0.0, 0.0, 0.0, 0.0],
        ),
        (
            MathFunction::Activation(Activation::ThresholdedRelu { alpha: -104.0 }),
            [0.0, -0.0, INF, 0.0, -104.0, 1e-45, -1e-45],
        ),
        (
            MathFunction::Activation(Activation::ScaledTanh { alpha: 2.0, beta: -1.0 }),
            [-0.0, 0.0, -2.0, 2.0, 2.0, -3e-45, 3e-45],
        ),
        (
            MathFunction::Activation(Activation::HardSigmoid { alpha: 0.5, beta: 0.25 }),
            [0.25, 0.25, 1.0, 0.0, 0.0, 0.25, 0.25],
        ),
        (
            MathFunction::Activation(Activation::HardSigmoid { alpha: -0.5, beta: 0.25 }),
            [0.25, 0.25, 0.0, 1.0, 1.0, 0.25, 0.25],
        ),
        (
            MathFunction::Activation(Activation::Elu { alpha: 1.0 }),
            [0.0, -0.0, INF, -1.0, -1.0, 1e-45, -1e-45],
        ),
        (
            MathFunction::Activation(Activation::Elu { alpha: -3.0 }),
            [0.0, -0.0, INF, 3.0, 3.0, 1e-45, 4e-45],
        ),
        (
            MathFunction::Activation(Activation::Softsign),
            [0.0, -0.0, NAN, NAN, -104.0 / 105.0, 1e-45, -1e-45],
        ),
        (MathFunction::Activation(Activation::Softplus), [LN2, LN2, INF, 0.0, 0.0, LN2, LN2]),
        (MathFunction::Exp, [1.0, 1.0, INF, 0.0, 0.0, 1.0, 1.0]),
        (MathFunction::Square, [0.0, 0.0, INF, INF, 10816.0, 0.0, 0.0]),
        (MathFunction::Sqrt, [0.0, -0.0, INF, NAN, NAN, 3.743_392e-23, NAN]),
        (MathFunction::Log, [-INF, -INF, INF, NAN, NAN, -103.278_93, NAN]),
        (MathFunction::Erf, [0.0, -0.0, 1.0, -1.0, -1.0, 1e-45, -1e-45]),
        (MathFunction::Sin, [0.0, -0.0, NAN, NAN, 0.321_622_4, 1e-45, -1e-45]),
        (MathFunction::Cos, [1.0, 1.0, NAN, NAN, -0.946_868, 1.0, 1.0]),
        (MathFunction::Atan, [0.0, -0.0, FRAC_PI_2, -FRAC_PI_2, -1.561_181_2, 1e-45, -1e-45]),
        (MathFunction::Floor, [0.0, 0.0, INF, -INF, -104.0, 0.0, -1.0]),
        (MathFunction::Round, [0.0, 0.0, INF, -INF, -104.0, 0.0, 0.0]),
        (MathFunction::Truncate, [0.0, 0.0, INF, -INF, -104.0, 0.0, 0.0]),
    ];
    for function in with_default_parameters() {
        let has_case = cases.iter().any(|(known, _)| known.name() == function.name());
        assert!(has_case, "{function} has no case");
    }
    for (function, expected) in cases {
        for (accuracy, fused) in levels(function).flat_map(|a| [(a, true), (a, false)]) {
            let what = named((function, accuracy, fused));
            let values = evaluate(&expansion(function, accuracy, fused), &[&points]);
            for ((x, y), expected) in points.iter().zip(values).zip(expected) {
                let same = y.to_bits() == expected.to_bits() || y.is_nan() && expected.is_nan();
                let stated = error(function, accuracy, fused);
                let most = stated.within(f64::from(x.abs()), f64::from(expected.abs()));
                let near = (f64::from(y) - f64::from(expected)).abs()
                    <= most + spacing(f64::from(expected));
                let quick = accuracy != Accuracy::Exact
                    && near
                    && y.is_sign_negative() == expected.is_sign_negative();
                assert!(same || quick, "{what}: {y:e} at {x:e}, not {expected:e}");
            }
        }
    }
}

/// The threshold itself passes.
#[test]
fn thresholds_are_met() {
    for alpha in [1.0, -0.5, 0.1_f32] {
        let points = [alpha.next_down(), alpha, alpha.next_up()];
        let values = evaluate(
            &expansion(
                MathFunction::Activation(Activation::ThresholdedRelu { alpha }),
                Accuracy::Exact,
                true,
            ),
            &[&points],
        );
        assert_eq!(values, [0.0, alpha, alpha.next_up()]);
    }
}

/// The exact functions against other formulas.
#[test]
fn exact_values() {
    for v in [-3.0, -0.7, -1e-9, 0.3, 2.5_f64] {
        let (p, e) = (0.7_f32, v.exp());
        let wide = f64::from(p);
        for (function, value) in [
            (MathFunction::Activation(Activation::Sigmoid), e / (e + 1.0)),
            (MathFunction::Activation(Activation::Tanh), (e * e - 1.0) / (e * e + 1.0)),
            (MathFunction::Activation(Activation::Affine { alpha: p, beta: 2.0 }), wide * v + 2.0),
            (
                MathFunction::Activation(Activation::LeakyRelu { alpha: p }),
                v.max(0.0) + wide * v.min(0.0),
            ),
            (
                MathFunction::Activation(Activation::ThresholdedRelu { alpha: p }),
                if v >= wide { v } else { 0.0 },
            ),
            (
                MathFunction::Activation(Activation::ScaledTanh { alpha: p, beta: 0.5 }),
                wide * (e - 1.0) / (e + 1.0),
            ),
            (
                MathFunction::Activation(Activation::HardSigmoid { alpha: 0.5, beta: p }),
                (0.5 * v + wide).clamp(0.0, 1.0),
            ),
            (
                MathFunction::Activation(Activation::Elu { alpha: p }),
                v.max(0.0) + wide * (e.min(1.0) - 1.0),
            ),
            (
                MathFunction::Activation(Activation::Softsign),
                if v < 0.0 { v / (1.0 - v) } else { v / (1.0 + v) },
            ),
            (MathFunction::Activation(Activation::Softplus), (1.0 + e).ln()),
            (MathFunction::Exp, 1.0 / (-v).exp()),
        ] {
            assert!((exact(function, v) - value).abs() < 1e-14, "{function}({v})");
        }
        assert!((exact(MathFunction::Log, e) - v).abs() < 1e-14);
    }
    // to sixteen digits
    for (v, value) in [
        (0.1, 0.112_462_916_018_284_9),
        (-0.5, -0.520_499_877_813_046_5),
        (1.0, 0.842_700_792_949_714_9),
        (2.0, 0.995_322_265_018_952_7),
        (3.5, 0.999_999_256_901_627_7),
        (7.0, 1.0),
    ] {
        assert!((exact(MathFunction::Erf, v) - value).abs() < 1e-14, "erf({v})");
    }
}

/// Ranges, slopes and steps of images hold for the exact function, and the error bound holds for
/// the expansion.
#[test]
fn images_hold() {
    for function in all().filter(|a| ![MathFunction::Log, MathFunction::Sqrt].contains(a)) {
        for magnitude in [0.0, 0.3, 1.0, 5.0, 40.0_f32] {
            let wide = f64::from(magnitude);
            let image = image(function, wide);
            let points: Vec<f32> = (-500..=500).map(|i| magnitude * (i as f32 / 500.0)).collect();
            let values: Vec<f64> = points.iter().map(|&x| exact(function, f64::from(x))).collect();
            assert!(
                values.iter().all(|v| image.low <= *v && *v <= image.high),
                "{function} of {magnitude}: {image:?}"
            );
            let [least, most] = values
                .iter()
                .fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], v| [v.min(a), v.max(b)]);
            let near = image.high - image.low - (most - least) <= 0.01 * wide;
            assert!(near, "{function} of {magnitude}: {image:?} is too wide for {least}..{most}");
            for (x, y) in points.windows(2).zip(values.windows(2)) {
                let most = image.slope * f64::from(x[1] - x[0]) * (1.0 + 1e-6) + image.jump;
                assert!((y[1] - y[0]).abs() <= most + 1e-12 * y[0].abs(), "{function} at {}", x[0]);
            }
            for (accuracy, fused) in levels(function).flat_map(|a| [(a, true), (a, false)]) {
                let error_bound = own_error(function, accuracy, fused, wide, &image);
                for (value, y) in
                    values.iter().zip(evaluate(&expansion(function, accuracy, fused), &[&points]))
                {
                    assert!(
                        (f64::from(y) - value).abs() <= error_bound,
                        "{function} of {magnitude}: {error_bound:e}"
                    );
                }
            }
        }
    }
    assert_eq!(image(MathFunction::Log, 5.0).high, 5.0_f64.ln());
}

/// An asymmetric range has the slope, values and error of its own arguments.
#[test]
fn images_between_hold() {
    let ends = [-40.0_f32, -5.0, -1.0, -0.2, 0.0, 0.3, 1.0, 2.5, 30.0];
    let ranges =
        ends.iter().enumerate().flat_map(|(i, low)| ends[i..].iter().map(|high| (*low, *high)));
    for (low, high) in ranges {
        let points: Vec<f32> =
            (0..=40).map(|i| (low + (high - low) * (i as f32 / 40.0)).min(high)).collect();
        for function in all().filter(|a| ![MathFunction::Log, MathFunction::Sqrt].contains(a)) {
            let image = image_between(function, [low.into(), high.into()], f64::from(high - low))
                .expect("every argument has a value");
            let wide = f64::from(low.abs().max(high.abs()));
            let values: Vec<f64> = points.iter().map(|&x| exact(function, f64::from(x))).collect();
            let holds = |v: &f64| image.low <= *v && *v <= image.high;
            assert!(values.iter().all(holds), "{function} of {low}..{high}: {image:?}");
            for (x, y) in points.windows(2).zip(values.windows(2)) {
                let most = image.slope * f64::from(x[1] - x[0]) * (1.0 + 1e-6) + image.jump;
                assert!(
                    (y[1] - y[0]).abs() <= most + 1e-12 * y[0].abs(),
                    "{function} at {}: {image:?}",
                    x[0]
                );
            }
            for (accuracy, fused) in levels(function).flat_map(|a| [(a, true), (a, false)]) {
                let error_bound = own_error(function, accuracy, fused, wide, &image);
                for (value, y) in
                    values.iter().zip(evaluate(&expansion(function, accuracy, fused), &[&points]))
                {
                    assert!(
                        (f64::from(y) - value).abs() <= error_bound,
                        "{function} of {low}..{high}: {error_bound:e}"
                    );
                }
            }
        }
    }
    // far from 0, the slopes of these functions are small
    for (function, slope) in [
        (MathFunction::Activation(Activation::Tanh), 2e-3),
        (MathFunction::Activation(Activation::Sigmoid), 1e-1),
        (MathFunction::Activation(Activation::Relu), 0.0),
    ] {
        let image = image_between(function, [-7.0, -4.0], 0.1).expect("every argument has one");
        assert!(image.slope <= slope, "{function}");
    }
}

/// An expansion is one function of one argument with the name of the math function, words
/// separated by underscores.
#[test]
fn names_are_readable() {
    for function in all() {
        for accuracy in Accuracy::ALL {
            assert_eq!(expand(function, accuracy, &[true]).name.replace('_', ""), function.name());
        }
        assert_eq!(MathFunction::from_label(&function.label()), Some(function));
    }
}

/// Clamps and scaling keep the smallest f32 results.
#[test]
fn tails_go_down_to_the_smallest_number() {
    for function in [
        MathFunction::Activation(Activation::Sigmoid),
        MathFunction::Activation(Activation::Softplus),
        MathFunction::Exp,
    ] {
        for fused in [true, false] {
            let values =
                evaluate(&expansion(function, Accuracy::Exact, fused), &[&[-103.9_f32, -100.0]]);
            assert_eq!(values[0].to_bits(), 1, "{function}");
            assert_eq!(values[1], (-100.0_f64).exp() as f32, "{function}");
        }
    }
}

#[test]
fn odd_functions_are_odd() {
    let points: Vec<f32> = sample().into_iter().step_by(7).collect();
    let negative: Vec<f32> = points.iter().map(|p| -p).collect();
    let odd = [
        MathFunction::Activation(Activation::Tanh),
        MathFunction::Activation(Activation::Softsign),
        MathFunction::Activation(Activation::ScaledTanh { alpha: 1.7, beta: 0.6 }),
        MathFunction::Erf,
        MathFunction::Sin,
        MathFunction::Atan,
    ];
    for (function, accuracy, fused) in profiles().filter(|(a, ..)| odd.contains(a)) {
        let expanded = expansion(function, accuracy, fused);
        let (a, b) = (evaluate(&expanded, &[&points]), evaluate(&expanded, &[&negative]));
        assert!(
            a.iter().zip(&b).all(|(a, b)| a.to_bits() ^ b.to_bits() == 0x8000_0000),
            "{function}"
        );
    }
}

/// The f32 at a distance of `bits` neighbours from 0; negative distances are below 0.
fn neighbour(bits: i32) -> f32 {
    let magnitude = f32::from_bits(bits.unsigned_abs());
    if bits < 0 { -magnitude } else { magnitude }
}

/// Finite f32 in runs of ascending neighbours: all f32, or runs around the arguments at which the
/// expansions of sigmoid and tanh change their form and around some 500 other magnitudes.
fn runs_of_neighbours(all: bool) -> Vec<std::ops::RangeInclusive<i32>> {
    const LAST: i32 = f32::MAX.to_bits() as i32;
    const RUN: usize = 1 << 16;
    if all {
        let ends = |at: i32| at..=at.saturating_add(RUN as i32).min(LAST);
        return (-LAST..LAST).step_by(RUN).map(ends).collect();
    }
    let boundaries = (0..512).map(|half| (half as f32 + 0.5) * std::f32::consts::LN_2 / 2.0);
    let near = boundaries.chain([0.0, 0.549_306_15]).map(|x| x.to_bits() as i32 & i32::MAX);
    let between = (0..LAST).step_by(LAST as usize / 500);
    let around = |at: i32| (at - 256).max(0)..=(at + 256).min(LAST);
    let positive: Vec<_> = near.chain(between).map(around).collect();
    let negative = positive.iter().map(|run| -run.end()..=-run.start());
    positive.iter().cloned().chain(negative).collect()
}

/// Exact sigmoid and tanh never decrease from one f32 to the next. Less accurate levels decrease by
/// at most 2^-22 (sigmoid) or 2^-20 (tanh) of the value. All values stay between the limits.
#[test]
fn sigmoid_and_tanh_rise() {
    for (function, limits, steps_down) in [
        (
            MathFunction::Activation(Activation::Sigmoid),
            0.0..=1.0,
            [0.0, 2f32.powi(-22), 2f32.powi(-22)],
        ),
        (
            MathFunction::Activation(Activation::Tanh),
            -1.0..=1.0,
            [0.0, 2f32.powi(-20), 2f32.powi(-20)],
        ),
    ] {
        let everything = every_f32_of(function.name());
        if everything == Some(false) {
            continue;
        }
        let runs = runs_of_neighbours(everything.is_some());
        for (accuracy, fused) in
            Accuracy::ALL.into_iter().flat_map(|accuracy| [(accuracy, true), (accuracy, false)])
        {
            let expanded = expansion(function, accuracy, fused);
            let (mut falls, mut largest) = (0, 0.0);
            for run in &runs {
                let points: Vec<f32> = run.clone().map(neighbour).collect();
                let values = evaluate(&expanded, &[&points]);
                assert!(
                    values.iter().all(|y| limits.contains(y)),
                    "{function}, {}",
                    accuracy.name()
                );
                for fall in values.windows(2).filter(|pair| pair[1] < pair[0]) {
                    falls += 1;
                    largest = f32::max(largest, (fall[0] - fall[1]) / fall[0].abs());
                }
            }
            let named = named((function, accuracy, fused));
            println!("{named}: {falls} steps down, at most {largest:e} of the value");
            assert!(
                largest <= steps_down[accuracy as usize],
                "{named}: {falls} steps down, at most {largest:e}"
            );
        }
    }
}
