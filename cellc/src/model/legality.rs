//! Rules for attributes, whatever the inputs of the operation are. The checks of operations and
//! cells call the rules, and so do readers that read the attributes of composed operations.

use super::limits::{MOST_ALONG_AXIS, MOST_DIMS, MOST_IN_MODEL, MOST_PAST};
use super::{
    Activation, Cell, Composed, Direction, Elementwise, Heads, LinearAttention, MathFunction,
    Normalization, Numbers, Op, PARAMETERS, Primitive, Sampling, Spelling, Unary, counted,
};
use crate::diagnostic::{Problem, quoted};

/// One or several attributes whose value is refused.
#[derive(Debug)]
pub(crate) struct WrongAttribute {
    /// The name of the attribute to which the error points.
    pub(crate) attribute: &'static str,
    /// The problem of the value.
    pub(crate) problem: Problem,
}

impl WrongAttribute {
    /// A wrong parameter of a function. `to_correct`: the name of one parameter or of several.
    fn parameter(
        (attribute, to_correct): (&'static str, &str),
        found: String,
        valid: &str,
    ) -> Self {
        Self { attribute, problem: Problem::new(found, valid, format!("correct {to_correct}")) }
    }

    /// The rule for real-valued attributes: a finite number. The rule does not hold for the bounds
    /// of a Clamp, the clip of a cell, and values that fill tensors.
    pub(crate) fn not_finite(function: &str, name: &'static str, value: f32) -> Option<Self> {
        let found = format!("{name} of {function} is {value}");
        let wrong = || Self::parameter((name, name), found, "a finite number");
        (!value.is_finite()).then(wrong)
    }

    /// The rule for the bounds of a clamp: numbers or infinities, the lower one not above the upper
    /// one.
    pub(crate) fn wrong_bounds(function: &str, [min, max]: [f32; 2]) -> Option<Self> {
        let found = format!("{function} from {min} to {max}");
        let wrong = || Self::parameter(("min", "min or max"), found, "min of max or less");
        (min > max || min.is_nan() || max.is_nan()).then(wrong)
    }
}

impl Op {
    /// The refused real-valued attributes and blocks of no size. [`Cell::wrong_attributes`] checks
    /// recurrent cells.
    pub(crate) fn wrong_numbers(&self) -> Vec<WrongAttribute> {
        match self.facts().numbers {
            Numbers::None => Vec::new(),
            Numbers::Parameters(function) => function.wrong_parameters(),
            Numbers::Epsilon(eps) => {
                let attribute = Normalization::EPS;
                let problem = wrong_epsilon(eps.into());
                problem.into_iter().map(|problem| WrongAttribute { attribute, problem }).collect()
            }
            Numbers::BlockSize(0) => {
                let found = "blocks of 0".to_owned();
                vec![WrongAttribute::parameter(("block_size", "the size"), found, "1 or more")]
            }
            Numbers::BlockSize(_) => Vec::new(),
            Numbers::Resize(resize) => match resize.sampling {
                Sampling::Cubic { a, exclude_outside: _ } => {
                    let function = "a cubic interpolation";
                    WrongAttribute::not_finite(function, "cube_coeff", a).into_iter().collect()
                }
                Sampling::Nearest(_) | Sampling::Linear => Vec::new(),
            },
            Numbers::Attention(attention) => attention.wrong_attributes(),
        }
    }
}

impl Elementwise {
    /// The parameters that are infinite or NaN, an alpha of a Celu that is 0 or negative, and
    /// bounds of a Clamp that are NaN or in the wrong order.
    fn wrong_parameters(self) -> Vec<WrongAttribute> {
        match self {
            Self::Primitive(Primitive::Math(MathFunction::Activation(activation))) => {
                activation.wrong_parameters()
            }
            Self::Primitive(Primitive::Unary(Unary::Clamp { min, max })) => {
                WrongAttribute::wrong_bounds("Clamp", [min, max]).into_iter().collect()
            }
            Self::Composed(Composed::Celu { alpha }) if !alpha.is_finite() || alpha <= 0.0 => {
                let found = format!("alpha of Celu is {alpha}");
                let valid = "a finite number above 0";
                vec![WrongAttribute::parameter(("alpha", "alpha"), found, valid)]
            }
            Self::Composed(Composed::ThresholdedRelu { alpha }) => {
                WrongAttribute::not_finite("ThresholdedRelu", "alpha", alpha).into_iter().collect()
            }
            // no parameters
            Self::Primitive(
                Primitive::Math(_)
                | Primitive::PRelu
                | Primitive::Unary(Unary::Negative | Unary::Abs | Unary::Ceiling | Unary::Sign)
                | Primitive::Binary(_)
                | Primitive::Comparison(_)
                | Primitive::Logic(_)
                | Primitive::Select,
            )
            | Self::Remainder(_)
            | Self::Power
            | Self::Composed(
                Composed::HardSigmoid
                | Composed::Swish { scaled: _ }
                | Composed::Mish
                | Composed::HardSwish
                | Composed::Selu
                | Composed::Celu { alpha: _ }
                | Composed::GeluTanh
                | Composed::Gelu
                | Composed::Tan
                | Composed::Sinh
                | Composed::Cosh
                | Composed::Asin
                | Composed::Acos
                | Composed::Asinh
                | Composed::Acosh
                | Composed::Atanh
                | Composed::SquaredDifference
                | Composed::TruncatedQuotient,
            ) => Vec::new(),
        }
    }
}

impl Activation {
    /// The parameters that are infinite or NaN.
    pub(crate) fn wrong_parameters(self) -> Vec<WrongAttribute> {
        let function = format!("the activation {}", self.name());
        let parameters = PARAMETERS.into_iter().zip(self.parameters());
        let wrong = |(name, value)| WrongAttribute::not_finite(&function, name, value);
        parameters.filter_map(wrong).collect()
    }
}

impl LinearAttention {
    /// A scale that is infinite or NaN, and numbers of heads in attributes that do not fit each
    /// other.
    fn wrong_attributes(&self) -> Vec<WrongAttribute> {
        let scale = self
            .scale
            .and_then(|scale| WrongAttribute::not_finite("a linear attention", "scale", scale));
        let heads = match self.heads {
            Heads::Axis => None,
            Heads::Joined { queries, keys, .. } => self.heads.wrong_numbers([queries, keys, keys]),
        };
        let heads = heads.map(|problem| WrongAttribute { attribute: "q_num_heads", problem });
        scale.into_iter().chain(heads).collect()
    }
}

impl Heads {
    /// The refusal of numbers of heads of queries, keys and values that are not positive, or that
    /// are no multiples. `numbers`: the heads of queries, of keys and of values.
    pub(crate) fn wrong_numbers(self, numbers: [i64; 3]) -> Option<Problem> {
        let [queries, keys, values] = numbers;
        let (valid, may_share) = match self {
            Self::Joined { shares_queries: false, .. } => {
                ("heads of queries that are a multiple of those of keys and values", false)
            }
            _ => ("numbers of which one is a multiple of the other", true),
        };
        let divides = |a: i64, b: i64| b % a == 0;
        let is_legal = numbers.iter().all(|&number| number > 0)
            && divides(keys, values)
            && (divides(values, queries) || may_share && divides(queries, values));
        let problem = || {
            let found =
                format!("{queries} heads of queries, {keys} of keys and {values} of values");
            Problem::new(found, valid, "correct the numbers of heads")
        };
        (!is_legal).then(problem)
    }
}

impl Cell {
    /// The refused attributes: the number of units if no cell has it; otherwise the list of
    /// activations and each activation. `direction`: the direction of a sequence, `None` for a
    /// cell.
    pub(crate) fn wrong_attributes(
        &self,
        direction: Option<Direction>,
        spelling: &Spelling,
    ) -> Vec<WrongAttribute> {
        let name = spelling.hidden_size;
        if let Some(problem) = self.wrong_hidden_size(name) {
            return vec![WrongAttribute { attribute: name, problem }];
        }
        let list = self.wrong_activations(direction, spelling);
        let each = self.activations.iter().flat_map(|activation| activation.wrong_parameters());
        let each = each.map(|wrong| wrong.problem);
        let attribute = spelling.activations;
        list.into_iter().chain(each).map(|problem| WrongAttribute { attribute, problem }).collect()
    }
}

/// The valid number of cells, inputs, outputs or variables of a model, in words. `None` if `count`
/// is valid.
pub(crate) fn wrong_count(count: usize, least: usize) -> Option<String> {
    match least {
        _ if (least..=MOST_IN_MODEL).contains(&count) => None,
        0 => Some(format!("{MOST_IN_MODEL} or fewer")),
        _ => Some(format!("{least} to {MOST_IN_MODEL}")),
    }
}

/// The refusal of a tensor of too many dimensions.
pub(crate) fn wrong_rank(rank: usize) -> Option<Problem> {
    (rank > MOST_DIMS).then(|| too_many_dims(rank))
}

/// The problem of a tensor with more dimensions than the limit.
pub(crate) fn too_many_dims(rank: usize) -> Problem {
    let found = format!("a tensor of {rank} dimensions");
    Problem::new(found, format!("{MOST_DIMS} or fewer"), "reshape it to fewer")
}

/// The refusal of a stride, a dilation, a pad or a size along an axis whose magnitude is above the
/// limit.
pub(crate) fn wrong_extent(what: &str, number: i64) -> Option<Problem> {
    let problem = || {
        let valid = format!("at most {MOST_ALONG_AXIS} along an axis");
        Problem::new(format!("{what} of {number}"), valid, "correct the number")
    };
    (number.unsigned_abs() > MOST_ALONG_AXIS as u64).then(problem)
}

/// The valid number of earlier samples that an amplifier model keeps, in words. `None` if `values`
/// is valid.
pub(crate) fn wrong_past(values: u64) -> Option<String> {
    (values > MOST_PAST).then(|| format!("up to {MOST_PAST} values of the past"))
}

/// The refusal of the epsilon of a normalization.
fn wrong_epsilon(epsilon: f64) -> Option<Problem> {
    let problem = || {
        let found = format!("a normalization with an epsilon of {}", epsilon as f32);
        Problem::new(found, "a finite number of 0 or more", "correct the number")
    };
    (!(epsilon.is_finite() && epsilon >= 0.0)).then(problem)
}

/// The refusal of an epsilon, or of a variance and an epsilon whose sum is 0 or negative, as a
/// normalization divides by the root of the sum.
pub(crate) fn wrong_deviation(variance: f64, epsilon: f64) -> Option<Problem> {
    let problem = || {
        let found =
            format!("a variance of {} and an epsilon of {}", variance as f32, epsilon as f32);
        Problem::new(found, "a sum above 0", "correct the variance, or raise the epsilon")
    };
    wrong_epsilon(epsilon).or_else(|| (variance + epsilon <= 0.0).then(problem))
}

/// The number of groups or of heads that divide sizes into equal parts. `part`: "group" or "head".
/// Each size has its noun in the singular: `(4, "input channel")`.
///
/// # Errors
/// Unless the number is positive and divides all sizes, none of them 0.
pub(crate) fn legal_groups(
    part: &str,
    number: i64,
    sizes: &[(usize, &str)],
) -> Result<usize, Problem> {
    let divides = |number: &usize| {
        *number > 0 && sizes.iter().all(|&(size, _)| size > 0 && size.is_multiple_of(*number))
    };
    usize::try_from(number).ok().filter(divides).ok_or_else(|| {
        let plural = if number == 1 { "" } else { "s" };
        let all: Vec<String> = sizes.iter().map(|&(size, noun)| counted(size, noun)).collect();
        let mut divided: Vec<String> = sizes.iter().map(|(size, _)| size.to_string()).collect();
        divided.dedup();
        Problem::new(
            format!("{number} {part}{plural} for {}", all.join(" and ")),
            format!("a positive divisor of {}", divided.join(" and of ")),
            format!("correct the number of {part}s, or the shapes"),
        )
    })
}

/// The refusal of names that no activation of a cell has.
pub(crate) fn unknown_activations<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Problem> {
    const MOST_NAMED: usize = 5;
    let unknown = names.into_iter().filter(|name| Activation::takes(name).is_none());
    let mut shown: Vec<String> = unknown.map(|name| quoted(name.trim())).collect();
    let plural = if shown.len() > 1 { "s" } else { "" };
    if shown.len() > MOST_NAMED {
        let more = format!("and {} more", shown.len() - MOST_NAMED);
        shown.truncate(MOST_NAMED);
        shown.push(more);
    }
    let problem = || {
        let found = format!("unknown activation{plural} {}", shown.join(", "));
        let valid = format!("{}, in any letter case", Activation::NAMES.join(", "));
        Problem::new(found, valid, "correct the name")
    };
    (!shown.is_empty()).then(problem)
}

/// The index of an axis of a tensor of `rank` dimensions; a negative axis counts from the end.
/// `ends`: 1 if the axis may equal the rank.
///
/// # Errors
/// For an axis that the tensor does not have.
pub(crate) fn legal_axis(axis: i64, rank: usize, ends: usize) -> Result<usize, Problem> {
    let from_front = |rank: i64| if axis < 0 { axis.checked_add(rank) } else { Some(axis) };
    let index = i64::try_from(rank).ok().and_then(from_front);
    let index = index.and_then(|index| usize::try_from(index).ok());
    index.filter(|&index| index < rank + ends).ok_or_else(|| {
        let valid = match rank + ends {
            0 => "a tensor of one dimension or more".to_owned(),
            count => format!("{} to {}", -(rank as i64), count - 1),
        };
        let found = format!("the axis {axis} of a tensor of {rank} dimensions");
        Problem::new(found, valid, "correct the axis, or the shape of the tensor")
    })
}
