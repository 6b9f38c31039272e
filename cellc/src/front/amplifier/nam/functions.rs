//! NAM's activation functions.

use super::super::causal::{Causal, Signal};
use super::super::json::Json;
use super::super::refusal;
use super::config::Config;
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::math::exact;
use crate::model::{Activation, Composed, MathFunction, Unary, WrongAttribute, counted};

/// The names of the functions, for messages.
const NAMES: &str = "Tanh, Hardtanh, Fasttanh, ReLU, LeakyReLU, PReLU, Sigmoid, SiLU, Hardswish, \
    LeakyHardtanh, Softsign, Softsigmoid";

/// A function of each sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Function {
    Activation(Activation),
    /// v, clamped to -1 and 1.
    HardTanh,
    /// A quotient of polynomials near tanh.
    FastTanh,
    /// v, or a slope times v where v is negative. One slope for all channels, or one for each.
    PRelu(Vec<f32>),
    /// v sigmoid(v)
    Silu,
    /// v clamp(v / 6 + 1 / 2, 0, 1)
    HardSwish,
    LeakyHardTanh(LeakyHardTanh),
    /// (softsign(v) + 1) / 2
    SoftSigmoid,
}

/// v from `min` to `max`; straight lines outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LeakyHardTanh {
    min: f32,
    max: f32,
    min_slope: f32,
    max_slope: f32,
}

impl Function {
    /// Reads a function: its name, or an object with "type" and parameters.
    pub(super) fn read(value: Json, key_path: &str) -> Result<Self, Diagnostic> {
        let mut config = match value {
            Json::Text(name) => return Self::named(&name, key_path, None),
            value @ Json::Object(_) => Config::parse(value, key_path)?,
            other => {
                let found = format!("the activation is {other}");
                return Err(refusal(key_path, found).valid("a name, or an object with \"type\""));
            }
        };
        // the trainer's own configurations say "name"
        let key = if config.has("type") || !config.has("name") { "type" } else { "name" };
        let Json::Text(name) = config.need(key)? else {
            return Err(config.refused(format!("\"{key}\" is no name")).valid(NAMES));
        };
        let function = Self::named(&name, key_path, Some(&mut config))?;
        config.finish(function.parameters())?;
        Ok(function)
    }

    /// The keys next to "type", for messages.
    fn parameters(&self) -> &'static str {
        match self {
            Self::Activation(Activation::LeakyRelu { .. }) => "negative_slope",
            Self::Activation(Activation::Softsign) => "alpha",
            Self::HardTanh => "min_val of -1 and max_val of 1",
            Self::PRelu(_) => "negative_slope or negative_slopes",
            Self::LeakyHardTanh(_) => "min_val, max_val, min_slope and max_slope",
            _ => "no parameter",
        }
    }

    fn named(
        name: &str,
        key_path: &str,
        mut config: Option<&mut Config>,
    ) -> Result<Self, Diagnostic> {
        let mut number = |key: &str, default: f32| match config {
            Some(ref mut config) => config.number_or(key, default),
            None => Ok(default),
        };
        Ok(match name {
            "Tanh" => Self::Activation(Activation::Tanh),
            "Hardtanh" => {
                let limits = [number("min_val", -1.0)?, number("max_val", 1.0)?];
                if limits != [-1.0, 1.0] {
                    let [min, max] = limits;
                    let found = format!("a min_val of {min} and a max_val of {max} of Hardtanh");
                    return Err(refusal(key_path, found).valid("-1 and 1").help(
                        "NAM's player computes -1 and 1 whatever the file says, its trainer does \
                         not",
                    ));
                }
                Self::HardTanh
            }
            "Fasttanh" => Self::FastTanh,
            "ReLU" => Self::Activation(Activation::Relu),
            "LeakyReLU" => {
                let alpha = number("negative_slope", 0.01)?;
                Self::Activation(Activation::LeakyRelu { alpha })
            }
            "PReLU" => Self::PRelu(slopes(config)?),
            "Sigmoid" => Self::Activation(Activation::Sigmoid),
            "SiLU" => Self::Silu,
            "Hardswish" => Self::HardSwish,
            "LeakyHardtanh" | "LeakyHardTanh" => {
                let [min, max] = [number("min_val", -1.0)?, number("max_val", 1.0)?];
                if let Some(wrong) = WrongAttribute::wrong_bounds(name, [min, max]) {
                    let problem = wrong.problem.at(Origin::Unknown).layer(key_path);
                    return Err(problem.help("correct min_val or max_val"));
                }
                let [min_slope, max_slope] =
                    [number("min_slope", 0.01)?, number("max_slope", 0.01)?];
                Self::LeakyHardTanh(LeakyHardTanh { min, max, min_slope, max_slope })
            }
            "Softsign" => {
                let alpha = number("alpha", 1.0)?;
                if alpha != 1.0 {
                    let found = format!("an alpha of {alpha} of Softsign");
                    return Err(refusal(key_path, found).valid("1"));
                }
                Self::Activation(Activation::Softsign)
            }
            "Softsigmoid" => Self::SoftSigmoid,
            _ => {
                return Err(
                    refusal(key_path, format!("the activation {}", quoted(name))).valid(NAMES)
                );
            }
        })
    }

    /// Checks the number of slopes of a PReLU.
    ///
    /// # Errors
    /// If the function has parameters for another number of channels.
    pub(super) fn check(&self, channels: usize, key_path: &str) -> Result<(), Diagnostic> {
        match self {
            Self::PRelu(slopes) if ![1, channels].contains(&slopes.len()) => {
                let channels = counted(channels, "channel");
                let found = format!("{} for {channels}", counted(slopes.len(), "slope"));
                Err(refusal(key_path, found).valid("one slope, or one for each channel"))
            }
            _ => Ok(()),
        }
    }

    /// Adds the function to a network.
    pub(super) fn add(&self, net: &mut Causal, name: &str, x: &Signal) -> Signal {
        match self {
            Self::Activation(function) => math(net, name, *function, x),
            Self::HardTanh => clamp(net, name, [-1.0, 1.0], x),
            Self::FastTanh => fast_tanh(net, name, x),
            Self::PRelu(slopes) => {
                let slopes = match slopes[..] {
                    [slope] => vec![slope; x.channels()],
                    _ => slopes.clone(),
                };
                net.prelu(name, &slopes, x)
            }
            Self::Silu => {
                let silu = Composed::Swish { scaled: false };
                net.map(name, silu, x, |v| v / (1.0 + (-v).exp()))
            }
            Self::HardSwish => {
                net.map(name, Composed::HardSwish, x, |v| v * (v / 6.0 + 0.5).clamp(0.0, 1.0))
            }
            Self::LeakyHardTanh(function) => function.add(net, name, x),
            Self::SoftSigmoid => {
                let softsign = math(net, &format!("{name}_softsign"), Activation::Softsign, x);
                affine(net, name, [0.5, 0.5], &softsign)
            }
        }
    }
}

/// The slopes of a PReLU. Default: 0.01 for all channels.
fn slopes(config: Option<&mut Config>) -> Result<Vec<f32>, Diagnostic> {
    const DEFAULT: f32 = 0.01;
    let Some(config) = config else { return Ok(vec![DEFAULT]) };
    let Some(slopes) = config.take("negative_slopes") else {
        return Ok(vec![config.number_or("negative_slope", DEFAULT)?]);
    };
    let key_path = config.path_of("negative_slopes");
    let Json::List(slopes) = slopes else {
        return Err(
            refusal(&key_path, format!("the slopes are {slopes}")).valid("a list of numbers")
        );
    };
    slopes.iter().map(|slope| slope.f32(&key_path)).collect()
}

/// Adds a function of one number.
fn math(net: &mut Causal, name: &str, function: impl Into<MathFunction>, x: &Signal) -> Signal {
    let function = function.into();
    net.map(name, function, x, |v| exact(function, v))
}

fn clamp(net: &mut Causal, name: &str, [min, max]: [f32; 2], x: &Signal) -> Signal {
    let rest = |v: f64| v.clamp(f64::from(min), f64::from(max));
    net.map(name, Unary::Clamp { min, max }, x, rest)
}

/// `alpha x + beta`
fn affine(net: &mut Causal, name: &str, [alpha, beta]: [f32; 2], x: &Signal) -> Signal {
    math(net, name, Activation::Affine { alpha, beta }, x)
}

impl LeakyHardTanh {
    /// Adds the lines outside to the clamped signal.
    fn add(self, net: &mut Causal, name: &str, x: &Signal) -> Signal {
        let Self { min, max, min_slope, max_slope } = self;
        let mut out = clamp(net, &format!("{name}_clamp"), [min, max], x);
        for (side, inner, slope) in
            [("above", [1.0, -max], max_slope), ("below", [-1.0, min], -min_slope)]
        {
            if slope == 0.0 {
                continue;
            }
            let name = format!("{name}_{side}");
            let distance = affine(net, &format!("{name}_distance"), inner, x);
            let outside = math(net, &format!("{name}_relu"), Activation::Relu, &distance);
            let line = affine(net, &format!("{name}_line"), [slope, 0.0], &outside);
            out = net.add(&name, &out, &line);
        }
        out
    }
}

/// `x (a + a |x| + (b + c |x|) x x) / (d + (d + x x) |x + e x |x||)`
fn fast_tanh(net: &mut Causal, name: &str, x: &Signal) -> Signal {
    const A: f32 = 2.455_507_5;
    const B: f32 = 0.893_229_84;
    const C: f32 = 0.821_226_66;
    const D: f32 = 2.445_066_5;
    const E: f32 = 0.814_642_7;
    let at = |part: &str| format!("{name}_{part}");
    let size = net.map(&at("size"), Unary::Abs, x, f64::abs);
    let square = math(net, &at("square"), MathFunction::Square, x);
    let low = affine(net, &at("low"), [A, A], &size);
    let high = affine(net, &at("high"), [C, B], &size);
    let high = net.multiply(&at("high_square"), &high, &square);
    let sum = net.add(&at("sum"), &low, &high);
    let above = net.multiply(&at("above"), x, &sum);
    let bent = net.multiply(&at("bent"), x, &size);
    let bent = affine(net, &at("bent_scaled"), [E, 0.0], &bent);
    let bent = net.add(&at("bent_sum"), x, &bent);
    let bent = net.map(&at("bent_size"), Unary::Abs, &bent, f64::abs);
    let raised = affine(net, &at("raised"), [1.0, D], &square);
    let below = net.multiply(&at("product"), &raised, &bent);
    let below = affine(net, &at("below"), [1.0, D], &below);
    net.divide(name, &above, &below)
}
