//! Integers and booleans at run time. Kernels hold them as f32, exact up to 2^24. Larger integers
//! are refused, except sums converted to floating point, as a rounded sum is enough there.

use std::collections::HashSet;

use super::findings::{DynamicLength, Findings, Interval, Known};
use super::translator::Translator;
use crate::core::{Combiner, CoreModel, CoreOp, Integers, Parameter, Source};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{ElementType, Elementwise, Groups, Model, Node, Op, Tensor, ValueId};

/// f32 holds every integer up to this magnitude.
pub(crate) const EXACT: f64 = 16_777_216.0;

/// The range of unknown integers.
const ANY: Interval = [f64::NEG_INFINITY, f64::INFINITY];

/// The range of booleans.
pub(crate) const TRUTH: Interval = [0.0, 1.0];

fn union(a: Interval, b: Interval) -> Interval {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// The range of a function that is monotonic in both operands, from the ends of their ranges.
pub(crate) fn ends(a: Interval, b: Interval, of: impl Fn(f64, f64) -> f64) -> Interval {
    let all = [of(a[0], b[0]), of(a[0], b[1]), of(a[1], b[0]), of(a[1], b[1])];
    // zero times infinity is NaN, and the range is unknown
    if all.iter().any(|v| v.is_nan()) {
        return ANY;
    }
    [
        all.iter().copied().fold(f64::INFINITY, f64::min),
        all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    ]
}

/// Notices of integer inputs with numbers rounded in f32.
pub(crate) fn limits_of_integers(model: &Model, core: &CoreModel, diagnostics: &mut Diagnostics) {
    for node in core.all_nodes() {
        let CoreOp::Integers(Integers { parameter, least, most, .. }) = node.op else {
            continue;
        };
        // no notice for indices of tables, lengths of sequences and narrow integers: their limits
        // are below 2^24
        let Parameter { rows, length, element, .. } = &core.parameters[parameter];
        let of_steps = length.is_some_and(|steps| least == 0 && i32::try_from(steps) == Ok(most));
        if rows.is_some() || of_steps || element.bits() < 32 {
            continue;
        }
        let input = &model.nodes[model.parameters[parameter]];
        let found = format!(
            "the integers of the input become f32: one below {least} is read as {least}, one \
             above {most} as {most}"
        );
        let help = "give numbers within these limits; cellc run says where a file has others";
        diagnostics
            .push(Diagnostic::notice(input.origin.clone(), found).layer(input.label()).help(help));
    }
}

impl Findings<'_> {
    /// The input with exactly the elements of an integer tensor, in order.
    pub(crate) fn given_integers(&self, source: Source) -> Option<usize> {
        match source {
            Source::Parameter(parameter) => Some(parameter),
            Source::Value(value) => self
                .parameter_of
                .get(&value)
                .filter(|(_, is_whole)| *is_whole)
                .map(|(parameter, _)| *parameter),
            _ => None,
        }
    }

    /// The known range of an integer tensor.
    pub(crate) fn range_of(&self, known: &Known) -> Interval {
        match known {
            Known::Source(_, ElementType::Bool) => TRUTH,
            Known::Source(Source::Value(value), _) => {
                self.ranges.get(value).copied().unwrap_or(ANY)
            }
            Known::Constant(tensor, _) if !tensor.is_empty() => {
                let all = (0..tensor.len()).map(|i| tensor.get_f64(i));
                all.fold([f64::INFINITY, f64::NEG_INFINITY], |range, v| union(range, [v, v]))
            }
            Known::Constant(..) => TRUTH,
            Known::Source(..) | Known::Iteration(..) => ANY,
        }
    }

    /// The union of the intervals of several tensors.
    pub(crate) fn range_of_all(&self, all: &[Known]) -> Interval {
        all.iter().map(|known| self.range_of(known)).fold([f64::INFINITY, f64::NEG_INFINITY], union)
    }

    /// Stores the interval of a tensor of integers.
    pub(crate) fn set_range(&mut self, known: &Known, range: Interval) {
        if let Known::Source(Source::Value(value), element) = known
            && !element.is_float()
        {
            self.ranges.insert(*value, range);
        }
    }

    /// The run-time length of a tensor, if any.
    pub(crate) fn dynamic_length(&self, known: &Known) -> Option<DynamicLength> {
        match known {
            Known::Source(Source::Value(value), _) => self.lengths.get(value).copied(),
            _ => None,
        }
    }
}

impl Translator<'_, '_> {
    /// Adds the conversion of an integer input, and returns the converted tensor.
    pub(crate) fn integers_of(
        &mut self,
        node: &Node,
        parameter: usize,
        element: ElementType,
    ) -> Known {
        let out = self.value(self.core.parameters[parameter].shape.clone());
        let [least, most] = Integers::limits(element);
        self.emit(node, CoreOp::Integers(Integers { parameter, least, most, out }));
        self.findings.ranges.insert(out, [least.into(), most.into()]);
        self.findings.parameter_of.insert(out, (parameter, true));
        Known::Source(Source::Value(out), element)
    }

    /// Refuses constants that f32 does not hold exactly. `None` after an error.
    pub(crate) fn all_exact(&mut self, node: &Node, inputs: &[Known]) -> Option<()> {
        for input in inputs.iter().filter(|input| !input.element().is_float()) {
            let wrong = match input {
                Known::Constant(tensor, _) => {
                    (0..tensor.len()).find(|&i| tensor.get_f64(i).abs() > EXACT)
                }
                _ => None,
            };
            if let (Some(at), Some(tensor)) = (wrong, input.tensor()) {
                let found = format!("{} in arithmetic at run time", tensor.get_f64(at));
                self.too_large_integer(node, found);
                return None;
            }
        }
        Some(())
    }

    pub(crate) fn too_large_integer(&mut self, node: &Node, found: String) {
        let valid = format!("integers of at most {EXACT} in magnitude, which f32 holds");
        let help = "clip the integers before, or compute this part outside of the model";
        self.error(node, &node.origin, found, valid, help);
    }

    /// True if every use of an integer value ends in a conversion to floating point, with only
    /// moves, additions and subtractions before the conversion.
    pub(crate) fn becomes_float(&self, value: ValueId) -> bool {
        let nodes = &self.model.nodes;
        let (mut waiting, mut seen) = (vec![value], HashSet::from([value]));
        while let Some(value) = waiting.pop() {
            for node in nodes.iter().filter(|node| node.inputs.contains(&value)) {
                match node.op {
                    Op::Convert if self.model.values[node.outputs[0].0].element.is_float() => {}
                    Op::Elementwise(Elementwise::Add | Elementwise::Subtract)
                    | Op::Reshape { .. }
                    | Op::Transpose
                    | Op::Squeeze { .. }
                    | Op::Unsqueeze => {
                        waiting.extend(node.outputs.iter().filter(|&&output| seen.insert(output)))
                    }
                    _ => return false,
                }
            }
        }
        true
    }

    /// Notes the range of a difference of integers in floating point.
    pub(crate) fn range_of_difference(&mut self, node: &Node, function: Elementwise) {
        if let (Elementwise::Subtract, [a, b]) = (function, &node.inputs[..])
            && let (Some(a), Some(b)) = (self.bounded(*a), self.bounded(*b))
        {
            self.bound_float(node, ends(a, b, |a, b| a - b));
        }
    }

    /// Notes the range of sums of products of integers in floating point, as quantised operators
    /// compute.
    pub(crate) fn range_of_products(&mut self, node: &Node, op: &Op) {
        let &[a, b] = &node.inputs[..] else { return };
        let (Some(of_a), Some(of_b)) = (self.bounded(a), self.bounded(b)) else { return };
        let Some(w) = self.known[b.0].as_ref().map(|known| self.shape_of(known)) else { return };
        let terms: usize = match op {
            Op::MatMul { transpose_b, .. } => {
                w.iter().rev().nth(usize::from(!transpose_b && w.len() > 1)).map_or(1, |n| *n)
            }
            Op::Convolution(of) if !of.transposed && matches!(of.groups, Groups::Count(_)) => {
                w.iter().skip(1).product()
            }
            _ => w.iter().product(),
        };
        let most = of_a.iter().chain(&of_b).map(|end| end.abs());
        let [a, b] = [most.clone().take(2).fold(0.0, f64::max), most.skip(2).fold(0.0, f64::max)];
        let most = a * b * terms as f64;
        self.bound_float(node, [-most, most]);
    }

    /// Interval of a value of the graph; `None` if unknown, or if a constant holds a number with a
    /// fraction.
    fn bounded(&self, value: ValueId) -> Option<Interval> {
        let known = self.known[value.0].as_ref()?;
        // most weights have a fraction among their first elements, so this search is short
        let is_integral =
            |tensor: &Tensor| (0..tensor.len()).all(|i| tensor.get_f64(i).fract() == 0.0);
        if known.tensor().is_some_and(|tensor| !is_integral(tensor)) {
            return None;
        }
        let range = self.findings.range_of(known);
        range.iter().all(|end| end.is_finite()).then_some(range)
    }

    fn bound_float(&mut self, node: &Node, range: Interval) {
        if let Some(Known::Source(Source::Value(value), element)) = &self.known[node.outputs[0].0]
            && element.is_float()
        {
            self.findings.ranges.insert(*value, range);
        }
    }

    /// The range of `size` elements reduced to one; `None` after an error.
    pub(crate) fn reduced_range(
        &mut self,
        node: &Node,
        combiner: Combiner,
        input: &Known,
        size: usize,
    ) -> Option<Interval> {
        let range = self.findings.range_of(input);
        if input.element().is_float() {
            return Some(range);
        }
        let range = match combiner {
            Combiner::Add => range.map(|end| end * size as f64),
            Combiner::Multiply => {
                let most = range[0]
                    .abs()
                    .max(range[1].abs())
                    .max(1.0)
                    .powi(i32::try_from(size).unwrap_or(i32::MAX));
                [-most, most]
            }
            Combiner::Maximum | Combiner::Minimum => range,
        };
        if range.iter().any(|end| end.abs() > EXACT) {
            self.too_large_integer(
                node,
                format!("{size} integers by {}", combiner.function().name()),
            );
            return None;
        }
        Some(range)
    }
}
