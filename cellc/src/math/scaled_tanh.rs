use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, U, UNDERFLOW, add, and,
    constant, div, from_bits, magnitude, mul, mul_add, polynomial, select_less, squared_sech, sub,
    tanh, to_bits, xor,
};
use crate::kernel::{Expr, ScalarFunction};
use crate::request::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |[alpha, beta], v| exact(alpha.into(), beta.into(), v),
    expand: |[alpha, beta], accuracy| expand(alpha, beta, accuracy),
    error: |[alpha, _], accuracy, fused| error(alpha.into(), accuracy, fused),
    image: |[alpha, beta], _, ends| image(alpha.into(), beta.into(), ends),
    image_between: |parameters, at| {
        let [alpha, beta] = parameters.map(|v| f64::from(v.abs()));
        at.monotone(alpha * beta * squared_sech(beta * at.nearest()))
    },
    evidence: Evidence::Derived,
    constants: Constants::AtRunTime,
};

fn exact(alpha: f64, beta: f64, v: f64) -> f64 {
    alpha * (beta * v).tanh()
}

/// The relative error of `high + low` from [`parts`] in units of 2^-24, with fused multiply-add and
/// without. Measured over every f32 from 2^-4 to 4 in magnitude, the range of the largest errors,
/// and over one in 31 elsewhere.
pub(super) const PARTS: [f64; 2] = [0.82, 0.92];

/// The error bound. Exact: the error of [`parts`], and half an ulp for the last rounding. All other
/// roundings are of numbers below 2^-11 of the value: 0.01 ulp. Other levels: the errors of tanh,
/// of the argument of tanh, and of the last rounding.
fn error(alpha: f64, accuracy: Accuracy, fused: bool) -> ErrorBound {
    let alpha = alpha.abs();
    match accuracy {
        Accuracy::Exact => ErrorBound {
            absolute: (8.0 * alpha + 4.0) * UNDERFLOW,
            ..ErrorBound::ulp(PARTS[usize::from(!fused)] + 0.51)
        },
        Accuracy::Fast | Accuracy::Audio => {
            let ErrorBound { relative, absolute, .. } = tanh::ERRORS.error(accuracy, fused);
            let relative = relative + 2.01 * U;
            ErrorBound {
                relative,
                absolute: alpha * (absolute + UNDERFLOW) + UNDERFLOW,
                ..ErrorBound::default()
            }
        }
    }
}

fn image(alpha: f64, beta: f64, ends: [f64; 2]) -> Image {
    Image::between((alpha * beta).abs(), ends, [-alpha.abs(), alpha.abs()])
}

fn expand(alpha: f32, beta: f32, accuracy: Accuracy) -> ScalarFunction {
    let (mut body, x) =
        FunctionBuilder::new("scaled_tanh", &format!("{alpha:?} tanh({beta:?} x)."));
    if accuracy != Accuracy::Exact {
        let v = body.float("v", mul(&x, &constant(beta)));
        let y = tanh::quotient(&mut body, &v, accuracy);
        let y = body.float("y", y);
        return body.finish(mul(&y, &constant(alpha)));
    }
    // products of halves are exact, fused or not
    let [alpha_high, alpha_low] = halves(alpha.abs());
    let [beta_high, beta_low] = halves(beta.abs());
    let negative = (alpha.to_bits() ^ beta.to_bits()) & 0x8000_0000;
    let sign = body.bits("sign", xor(&and(&to_bits(&x), 0x8000_0000), &Expr::u32(negative, 1)));
    body.comment("v + rest = |beta x|, exactly");
    let m = body.float("m", magnitude(&x));
    let v = body.float("v", mul(&m, &constant(beta.abs())));
    let m_high = body.float("m_high", high_half(&m));
    let m_low = body.float("m_low", sub(&m, &m_high));
    let rest = sub(&mul(&m_high, &constant(beta_high)), &v);
    let rest = mul_add(&m_low, &constant(beta_high), &mul_add(&m_high, &constant(beta_low), &rest));
    let rest = body.float("rest", mul_add(&m_low, &constant(beta_low), &rest));
    let [y, high, low] = parts(&mut body, &v);
    body.comment("and what the rest of the argument adds");
    let slope = sub(&constant(1.0), &mul(&y, &y));
    let added = select_less(&v, END, &mul(&rest, &slope), &constant(0.0));
    let low = body.float("low", add(&low, &added));
    body.comment("|alpha| (high + low)");
    let small = mul_add(&low, &constant(alpha_high), &mul(&y, &constant(alpha_low)));
    let value = body.float("value", mul_add(&high, &constant(alpha_high), &small));
    body.finish(from_bits(&xor(&to_bits(&value), &sign)))
}

/// From this argument on, tanh is 1.
const END: f32 = 10.0;

/// The argument up to which the polynomial is more accurate than the exponential.
const NEAR: f32 = 1.0;

/// `[y, high, low]` for a `v` of at least 0: tanh of `v` is about `y`, and more accurately
/// `high + low`. `high` has 12 bits.
pub(super) fn parts(body: &mut FunctionBuilder, v: &Expr) -> [Expr; 3] {
    let a = tanh::saturated(body, v);
    let d = tanh::half_of_exp_and_1(body, &a);
    let far = body.float("far", div(&constant(-1.0), &d));
    body.comment("near 0: tanh(a) = a + a^3 p");
    let a2 = body.float("a2", mul(&a, &a));
    // a minimax polynomial for the relative error up to 1, with coefficients rounded to f32: error
    // 2^-27
    let p = polynomial(
        &a2,
        &[
            -0.333_332_96,
            0.133_323_45,
            -0.053_879_8,
            0.021_486_655,
            -0.007_946_104,
            0.002_301_363_5,
            -0.000_358_451_83,
        ],
    );
    let p = body.float("p", p);
    let near = body.float("near", mul(&mul(&a2, &a), &p));
    body.comment("high + low = whole + part");
    let whole = body.float("whole", select_less(&a, NEAR, &a, &constant(1.0)));
    let part = body.float("part", select_less(&a, NEAR, &near, &far));
    let y = body.float("y", add(&whole, &part));
    let high = body.float("high", high_half(&y));
    let low = body.float("low", add(&sub(&whole, &high), &part));
    [y, high, low]
}

/// The first 12 bits of a number.
fn high_half(v: &Expr) -> Expr {
    from_bits(&and(&to_bits(v), HIGH))
}

const HIGH: u32 = 0xffff_f000;

/// A number of at least 0 as the sum of two numbers with at most 12 bits each.
fn halves(v: f32) -> [f32; 2] {
    let high = f32::from_bits(v.to_bits() & HIGH);
    [high, v - high]
}
