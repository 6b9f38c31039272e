//! Detection of quantised tensors: tensors of whole numbers or of multiples of one scale, and the
//! ranges of these numbers. Quantised models round and clip operands before products.

use crate::core::{
    CoreLoop, CoreModel, CoreNode, CoreOp, Facts, OutputNumbers, Pointwise, PointwiseFunction,
    Source,
};
use crate::math::{U, exact};
use crate::model::{Binary, CurveShape};

/// The largest tolerated distance of a computed value from a multiple of the scale, as a fraction
/// of the scale.
const MOST_OFF: f64 = 1.0 / 1024.0;

/// Valid scales: reciprocals, and products of two scales, are normal numbers.
pub(crate) const SCALES: std::ops::RangeInclusive<f32> = 1e-15..=1e15;

/// The knowledge about the numbers of a tensor. A tensor may also hold NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NumberFacts {
    /// The smallest and the largest number.
    ends: [f64; 2],
    /// A scale and the largest distance of any number from a multiple of the scale. `None`: no
    /// scale is known.
    scale: Option<(f32, f64)>,
}

const NOTHING: NumberFacts = NumberFacts { ends: [f64::NEG_INFINITY, f64::INFINITY], scale: None };

impl NumberFacts {
    /// Numbers between `ends`, rounded to f32. If an end is NaN, no limits are known.
    fn between(ends: [f64; 2]) -> Self {
        // rounding keeps the order of numbers: rounded numbers lie between the rounded ends
        let rounded = ends.map(|end| f64::from(end as f32));
        Self {
            ends: if rounded.iter().any(|end| end.is_nan()) { NOTHING.ends } else { rounded },
            scale: None,
        }
    }

    fn integral(self) -> Self {
        Self { scale: Some((1.0, 0.0)), ..self }
    }

    fn is_integral(&self) -> bool {
        self.scale == Some((1.0, 0.0))
    }

    /// The number, if all are equal.
    fn number(&self) -> Option<f64> {
        (self.ends[0] == self.ends[1]).then_some(self.ends[0])
    }

    /// The largest magnitude.
    fn most(&self) -> f64 {
        self.ends[0].abs().max(self.ends[1].abs())
    }

    /// The largest distance of any number from a multiple of `scale`. `None` if unknown.
    fn off(&self, scale: f32) -> Option<f64> {
        match (self.scale, self.number()) {
            (Some((own, off)), _) if own == scale => Some(off),
            // a known number is a multiple up to rounding in f32, or no multiple
            (_, Some(number)) => {
                let each = f64::from(scale);
                let off = (number - (number / each).round() * each).abs();
                let limit = if scale == 1.0 { 0.0 } else { number.abs() * 4.0 * U };
                (off <= limit).then_some(off)
            }
            _ => None,
        }
    }

    /// A scale of two tensors, and for each the largest distance of any number from a multiple.
    /// `None` if no common scale is known.
    fn shared(&self, other: &Self) -> Option<(f32, [f64; 2])> {
        let scale_of =
            |known: &Self| known.scale.filter(|_| known.number().is_none()).map(|(scale, _)| scale);
        let scale = scale_of(self)
            .or(scale_of(other))
            .or(self.scale.and(other.scale).map(|(scale, _)| scale))?;
        Some((scale, [self.off(scale)?, other.off(scale)?]))
    }

    /// True if every statement of `other` also holds for `self`.
    fn is_within(&self, other: &Self) -> bool {
        let scaled = |(scale, most): (f32, f64)| self.off(scale).is_some_and(|off| off <= most);
        other.ends[0] <= self.ends[0]
            && self.ends[1] <= other.ends[1]
            && other.scale.is_none_or(scaled)
    }

    fn union(self, other: Self) -> Self {
        let ends = [self.ends[0].min(other.ends[0]), self.ends[1].max(other.ends[1])];
        Self { ends, scale: self.shared(&other).map(|(scale, off)| (scale, off[0].max(off[1]))) }
    }
}

/// The knowledge about every value of a model.
pub(crate) struct NumberRanges<'m> {
    model: &'m CoreModel,
    values: Vec<NumberFacts>,
}

impl<'m> NumberRanges<'m> {
    pub(crate) fn new(model: &'m CoreModel) -> Self {
        let mut ranges = Self { model, values: vec![NOTHING; model.values.len()] };
        ranges.read(&model.nodes);
        ranges
    }

    /// The scale of a tensor, the range of integers that multiply the scale, and the largest
    /// distance from a multiple. `None` if no scale is known, if the scale is not in [`SCALES`], if
    /// an integer exceeds 16 bits, or if the distance exceeds [`MOST_OFF`].
    pub(crate) fn multiples(&self, source: Source) -> Option<(f32, [i16; 2], f64)> {
        let NumberFacts { ends, scale } = self.known(source);
        let (scale, off) = scale?;
        let [least, most] = ends.map(|end| (end / f64::from(scale)).round());
        let fits =
            least >= f64::from(-i16::MAX) && most <= f64::from(i16::MAX) && SCALES.contains(&scale);
        let fits = fits && off <= f64::from(scale) * MOST_OFF;
        fits.then_some((scale, [least as i16, most as i16], off))
    }

    fn known(&self, source: Source) -> NumberFacts {
        match source {
            Source::Value(value) => self.values[value],
            Source::Constant(i) => {
                let tensor = &self.model.constants[i];
                let values = (0..tensor.len()).map(|i| tensor.get_f64(i));
                let each = values.map(|v| {
                    let known = NumberFacts::between([v, v]);
                    if v.fract() == 0.0 { known.integral() } else { known }
                });
                each.reduce(NumberFacts::union).unwrap_or(NOTHING)
            }
            Source::Parameter(_) | Source::Variable(_) => NOTHING,
        }
    }

    fn read(&mut self, nodes: &[CoreNode]) {
        for node in nodes {
            match &node.op {
                CoreOp::Pointwise(pointwise) => {
                    self.values[pointwise.out] = self.pointwise(pointwise)
                }
                CoreOp::Loop(body) => {
                    for slice in &body.slices {
                        self.values[slice.piece] = self.known(slice.whole);
                    }
                    self.read_body(body);
                    for result in &body.results {
                        // pieces of skipped iterations are zeros
                        let known = self.known(result.value);
                        self.values[result.out] = match result.pieces {
                            Some(_) => known.union(NumberFacts::between([0.0, 0.0]).integral()),
                            None => known,
                        };
                    }
                }
                op => self.read_facts(op.facts()),
            }
        }
    }

    /// Notes the numbers of the outputs of an operation, as the operation's facts state them.
    fn read_facts(&mut self, facts: Facts<'_>) {
        let known = match facts.numbers {
            OutputNumbers::Moved(from) => {
                from.into_iter().map(|source| self.known(source)).reduce(NumberFacts::union)
            }
            OutputNumbers::Integers(ends) => {
                Some(NumberFacts::between(ends.map(f64::from)).integral())
            }
            OutputNumbers::Chosen | OutputNumbers::Any => None,
        };
        for out in facts.outputs {
            self.values[out] = known.unwrap_or(NOTHING);
        }
    }

    /// The body of a loop. Carried values are assumed to stay within their initial and next values,
    /// as found without assumptions. A second analysis of the body must confirm the assumption;
    /// otherwise nothing is known of carried values.
    fn read_body(&mut self, body: &CoreLoop) {
        for carried in &body.carried {
            self.values[carried.value] = NOTHING;
        }
        self.read(&body.body);
        let assumed: Vec<_> = body
            .carried
            .iter()
            .map(|carried| self.known(carried.initial).union(self.known(carried.next)))
            .collect();
        for (carried, assumed) in body.carried.iter().zip(&assumed) {
            self.values[carried.value] = *assumed;
        }
        self.read(&body.body);
        if !body
            .carried
            .iter()
            .zip(&assumed)
            .all(|(carried, assumed)| self.known(carried.next).is_within(assumed))
        {
            for carried in &body.carried {
                self.values[carried.value] = NOTHING;
            }
            self.read(&body.body);
        }
    }

    /// The result of a pointwise operation. Sums of whole numbers stay whole after rounding, as
    /// every f32 from 2^23 on is whole.
    fn pointwise(&self, operation: &Pointwise) -> NumberFacts {
        let input = |i: usize| self.known(operation.inputs[i]);
        let by_ends = |ends: fn([f64; 2], [f64; 2]) -> [f64; 2]| {
            NumberFacts::between(ends(input(0).ends, input(1).ends))
        };
        let rounded = |round: &dyn Fn(f64) -> f64| match input(0) {
            known if known.is_integral() => known,
            known => NumberFacts::between(known.ends.map(round)).integral(),
        };
        match operation.function {
            PointwiseFunction::Math(steps) if steps.curve() == CurveShape::Stairs => {
                rounded(&|end| exact(steps, end))
            }
            PointwiseFunction::Math(ramp) if ramp.curve() == CurveShape::Ramp => {
                let known = input(0);
                NumberFacts { ends: known.ends.map(|end| end.max(0.0)), ..known }
            }
            PointwiseFunction::Binary(Binary::Add) => {
                added(by_ends(|a, b| [a[0] + b[0], a[1] + b[1]]), input(0), input(1))
            }
            PointwiseFunction::Binary(Binary::Subtract) => {
                added(by_ends(|a, b| [a[0] - b[1], a[1] - b[0]]), input(0), input(1))
            }
            PointwiseFunction::Binary(Binary::Maximum) => {
                let ends = by_ends(|a, b| [a[0].max(b[0]), a[1].max(b[1])]).ends;
                NumberFacts { ends, ..input(0).union(input(1)) }
            }
            PointwiseFunction::Binary(Binary::Minimum) => {
                let ends = by_ends(|a, b| [a[0].min(b[0]), a[1].min(b[1])]).ends;
                NumberFacts { ends, ..input(0).union(input(1)) }
            }
            PointwiseFunction::Binary(Binary::Multiply) => multiplied(input(0), input(1)),
            PointwiseFunction::Binary(Binary::Divide) => {
                match input(1).number().filter(|number| *number > 0.0) {
                    Some(number) => NumberFacts::between(input(0).ends.map(|end| end / number)),
                    None => NOTHING,
                }
            }
            PointwiseFunction::Select => input(1).union(input(2)),
            PointwiseFunction::Less | PointwiseFunction::LessEqual | PointwiseFunction::Equal => {
                NumberFacts::between([0.0, 1.0]).integral()
            }
            PointwiseFunction::Math(_) | PointwiseFunction::PRelu => NOTHING,
        }
    }
}

/// The knowledge about sums or differences of `a` and `b`, whose range is the range of `sum`.
fn added(sum: NumberFacts, a: NumberFacts, b: NumberFacts) -> NumberFacts {
    let Some((scale, off)) = a.shared(&b) else { return sum };
    // a rounded sum of whole numbers is whole
    let rounding = if scale == 1.0 && off == [0.0; 2] { 0.0 } else { sum.most() * U };
    NumberFacts { scale: Some((scale, off[0] + off[1] + rounding)), ..sum }
}

/// The knowledge about products. Whole numbers times one positive number are multiples of this
/// number.
fn multiplied(a: NumberFacts, b: NumberFacts) -> NumberFacts {
    let (all, number) = match (a.number(), b.number()) {
        (_, Some(number)) => (a, number),
        (Some(number), None) => (b, number),
        (None, None) => return NOTHING,
    };
    let product = match number > 0.0 && number.is_finite() {
        true => NumberFacts::between(all.ends.map(|end| end * number)),
        false => return NOTHING,
    };
    match all.scale {
        Some((1.0, 0.0)) if number == 1.0 => all,
        Some((1.0, 0.0)) => {
            NumberFacts { scale: Some((number as f32, product.most() * U)), ..product }
        }
        _ => product,
    }
}
