//! Integers and booleans at run time. Kernels hold them as f32, which are whole numbers up to 2^24
//! exactly: what may go beyond is refused, unless it is a sum that only becomes floating point,
//! which is rounded anyway.

use std::collections::HashSet;

use super::{Known, Validation};
use crate::core::{CoreOp, Integers, Parameter, PointwiseFunction, Source};
use crate::diagnostic::Diagnostic;
use crate::model::{Activation, ElementType, Elementwise, Groups, Node, Op, Tensor, ValueId};

/// Up to this magnitude every whole number is a f32.
const EXACT: f64 = 16_777_216.0;

/// The least and the largest value of a tensor of integers.
pub(super) type Range = [f64; 2];

/// Nothing is known.
const ANY: Range = [f64::NEG_INFINITY, f64::INFINITY];

/// Those of 0 and 1.
const TRUTH: Range = [0.0, 1.0];

fn union(a: Range, b: Range) -> Range {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// Of all combinations of the ends of two ranges.
fn ends(a: Range, b: Range, of: impl Fn(f64, f64) -> f64) -> Range {
    let all = [of(a[0], b[0]), of(a[0], b[1]), of(a[1], b[0]), of(a[1], b[1])];
    // zero times infinity is nothing that is known
    if all.iter().any(|v| v.is_nan()) {
        return ANY;
    }
    [
        all.iter().copied().fold(f64::INFINITY, f64::min),
        all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    ]
}

impl Validation<'_> {
    /// An input of integers as kernels compute with it.
    pub(super) fn integers_of(
        &mut self,
        node: &Node,
        parameter: usize,
        element: ElementType,
    ) -> Known {
        let out = self.value(self.valid.parameters[parameter].shape.clone());
        let [least, most] = Integers::limits(element);
        self.emit(node, CoreOp::Integers(Integers { parameter, least, most, out }));
        self.integers.ranges.insert(out, [least.into(), most.into()]);
        self.integers.parameter_of.insert(out, (parameter, true));
        Known::Source(Source::Value(out), element)
    }

    /// Notices of inputs of integers whose numbers count as others where f32 does not hold them
    /// with room for arithmetic.
    pub(super) fn limits_of_integers(&mut self) {
        let mut notices = Vec::new();
        for node in self.valid.all_nodes() {
            let CoreOp::Integers(Integers { parameter, least, most, .. }) = node.op else {
                continue;
            };
            // what is looked up has the rows of its table as limits, lengths have the steps, and
            // narrow integers have theirs
            let Parameter { rows, length, element, .. } = &self.valid.parameters[parameter];
            let of_steps =
                length.is_some_and(|steps| least == 0 && i32::try_from(steps) == Ok(most));
            if rows.is_some() || of_steps || element.bits() < 32 {
                continue;
            }
            let input = &self.model.nodes[self.model.parameters[parameter]];
            let found = format!(
                "the integers of the input become f32: one below {least} is read as {least}, one \
                 above {most} as {most}"
            );
            let help = "give numbers within these limits; cellc run says where a file has others";
            notices.push(
                Diagnostic::notice(input.origin.clone(), found).layer(input.label()).help(help),
            );
        }
        notices.into_iter().for_each(|notice| self.diagnostics.push(notice));
    }

    /// The input that a tensor of integers is, all of it in its order.
    pub(super) fn given_integers(&self, source: Source) -> Option<usize> {
        match source {
            Source::Parameter(parameter) => Some(parameter),
            Source::Value(value) => self
                .integers
                .parameter_of
                .get(&value)
                .filter(|(_, is_whole)| *is_whole)
                .map(|(parameter, _)| *parameter),
            _ => None,
        }
    }

    /// What is known of a tensor of integers.
    pub(super) fn range_of(&self, known: &Known) -> Range {
        match known {
            Known::Source(_, ElementType::Bool) => TRUTH,
            Known::Source(Source::Value(value), _) => {
                self.integers.ranges.get(value).copied().unwrap_or(ANY)
            }
            Known::Constant(tensor, _) if !tensor.is_empty() => {
                let all = (0..tensor.len()).map(|i| tensor.get_f64(i));
                all.fold([f64::INFINITY, f64::NEG_INFINITY], |range, v| union(range, [v, v]))
            }
            Known::Constant(..) => TRUTH,
            Known::Source(..) | Known::Iteration(..) => ANY,
        }
    }

    /// What is known of several tensors together.
    pub(super) fn range_of_all(&self, all: &[Known]) -> Range {
        all.iter().map(|known| self.range_of(known)).fold([f64::INFINITY, f64::NEG_INFINITY], union)
    }

    /// Remembers it.
    pub(super) fn set_range(&mut self, known: &Known, range: Range) {
        if let Known::Source(Source::Value(value), element) = known
            && !element.is_float()
        {
            self.integers.ranges.insert(*value, range);
        }
    }

    /// Refuses what kernels cannot hold exactly.
    pub(super) fn all_exact(&mut self, node: &Node, inputs: &[Known]) -> Option<()> {
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

    fn too_large_integer(&mut self, node: &Node, found: String) {
        let valid = format!("integers of at most {EXACT} in magnitude, which f32 holds");
        let help = "clip the integers before, or compute this part outside of the model";
        self.error(node, &node.origin, found, valid, help);
    }

    /// True if all that is made of a value of the graph is floating point, in between at most
    /// moved, added and subtracted.
    fn becomes_float(&self, value: ValueId) -> bool {
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

    /// Notes between which numbers a difference of floating point lies whose terms were integers.
    pub(super) fn range_of_difference(&mut self, node: &Node, function: Elementwise) {
        if let (Elementwise::Subtract, [a, b]) = (function, &node.inputs[..])
            && let (Some(a), Some(b)) = (self.bounded(*a), self.bounded(*b))
        {
            self.bound_float(node, ends(a, b, |a, b| a - b));
        }
    }

    /// Notes between which numbers sums of products of floating point lie whose factors were
    /// integers: those of quantised operators.
    pub(super) fn range_of_products(&mut self, node: &Node, op: &Op) {
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

    /// Range of a value of the graph; `None` if it is not known, or if a constant holds a number
    /// that is no integer.
    fn bounded(&self, value: ValueId) -> Option<Range> {
        let known = self.known[value.0].as_ref()?;
        // weights of floating point end this search at one of their first elements
        let is_integral =
            |tensor: &Tensor| (0..tensor.len()).all(|i| tensor.get_f64(i).fract() == 0.0);
        if known.tensor().is_some_and(|tensor| !is_integral(tensor)) {
            return None;
        }
        let range = self.range_of(known);
        range.iter().all(|end| end.is_finite()).then_some(range)
    }

    fn bound_float(&mut self, node: &Node, range: Range) {
        if let Some(Known::Source(Source::Value(value), element)) = &self.known[node.outputs[0].0]
            && element.is_float()
        {
            self.integers.ranges.insert(*value, range);
        }
    }

    /// A tensor of integers in that range; `None` after an error.
    fn exact_integers(
        &mut self,
        node: &Node,
        source: Source,
        element: ElementType,
        range: Range,
    ) -> Option<Known> {
        if range.iter().any(|end| end.is_nan() || end.abs() > EXACT) {
            let text = |v: f64| if v.is_finite() { v.to_string() } else { "any number".to_owned() };
            self.too_large_integer(
                node,
                format!("{} from {} to {}", element.name(), text(range[0]), text(range[1])),
            );
            return None;
        }
        self.wrapped(node, source, element, range)
    }

    /// Numbers as a type has them: narrow integers wrap around.
    pub(super) fn wrapped(
        &mut self,
        node: &Node,
        source: Source,
        element: ElementType,
        range: Range,
    ) -> Option<Known> {
        use PointwiseFunction as P;
        let [least, most] = Integers::limits(element).map(f64::from);
        let known = Known::Source(source, element);
        let is_narrow = element.bits() <= 16 && !element.is_float() && element != ElementType::Bool;
        if !is_narrow || least <= range[0] && range[1] <= most {
            self.set_range(&known, range);
            return Some(known);
        }
        // less the multiple of the size that is nearest below, all of it exact
        let shape = self.shape_of(&known);
        let size = (most - least + 1.0) as f32;
        let [first, size, part] =
            [least as f32, size, 1.0 / size].map(|number| self.scalar(number));
        let from_first = self.pointwise(node, P::Subtract, &[source, first], &shape)?;
        let times = self.pointwise(node, P::Multiply, &[from_first, part], &shape)?;
        let times = self.pointwise(node, P::Activation(Activation::Floor), &[times], &shape)?;
        let beyond = self.pointwise(node, P::Multiply, &[times, size], &shape)?;
        let wrapped =
            Known::Source(self.pointwise(node, P::Subtract, &[source, beyond], &shape)?, element);
        self.set_range(&wrapped, [least, most]);
        Some(wrapped)
    }

    /// What is known of so many elements that become one; `None` after an error.
    pub(super) fn reduced_range(
        &mut self,
        node: &Node,
        function: PointwiseFunction,
        input: &Known,
        size: usize,
    ) -> Option<Range> {
        let range = self.range_of(input);
        if input.element().is_float() {
            return Some(range);
        }
        let range = match function {
            PointwiseFunction::Add => range.map(|end| end * size as f64),
            PointwiseFunction::Multiply => {
                let most = range[0]
                    .abs()
                    .max(range[1].abs())
                    .max(1.0)
                    .powi(i32::try_from(size).unwrap_or(i32::MAX));
                [-most, most]
            }
            _ => range,
        };
        if range.iter().any(|end| end.abs() > EXACT) {
            self.too_large_integer(node, format!("{size} integers by {}", function.name()));
            return None;
        }
        Some(range)
    }

    /// An operation on integers at run time.
    pub(super) fn of_integers(
        &mut self,
        node: &Node,
        function: Elementwise,
        inputs: &[Known],
        shape: &[usize],
    ) -> Option<Known> {
        use Elementwise as E;
        use PointwiseFunction as P;
        self.all_exact(node, inputs)?;
        let element = inputs[0].element();
        let a = self.range_of(&inputs[0]);
        let b = inputs.get(1).map_or(TRUTH, |known| self.range_of(known));
        let sources: Vec<Source> = inputs.iter().filter_map(|input| self.source(input)).collect();
        let (source, range) = match function {
            E::Add => (self.pointwise(node, P::Add, &sources, shape)?, ends(a, b, |a, b| a + b)),
            E::Subtract => {
                (self.pointwise(node, P::Subtract, &sources, shape)?, ends(a, b, |a, b| a - b))
            }
            E::Multiply => {
                (self.pointwise(node, P::Multiply, &sources, shape)?, ends(a, b, |a, b| a * b))
            }
            E::Maximum => (
                self.pointwise(node, P::Maximum, &sources, shape)?,
                [a[0].max(b[0]), a[1].max(b[1])],
            ),
            E::Minimum => (
                self.pointwise(node, P::Minimum, &sources, shape)?,
                [a[0].min(b[0]), a[1].min(b[1])],
            ),
            E::Negative => {
                let minus = self.scalar(-1.0);
                (self.pointwise(node, P::Multiply, &[sources[0], minus], shape)?, [-a[1], -a[0]])
            }
            E::Abs => {
                let least = if a[0] > 0.0 { a[0] } else { (-a[1]).max(0.0) };
                (self.absolute(node, sources[0], shape)?, [least, a[0].abs().max(a[1].abs())])
            }
            E::Clamp { min, max } => {
                let [min_of, max_of] = [f64::from(min).ceil(), f64::from(max).floor()];
                let source = self.clamp(node, sources[0], min_of as f32, max_of as f32, shape)?;
                (source, a.map(|v| v.clamp(min_of, max_of)))
            }
            E::Divide | E::Mod | E::FloorMod => {
                let mut quotient = self.pointwise(node, P::Divide, &sources, shape)?;
                if b[0] <= 0.0 && b[1] >= 0.0 {
                    let zero = self.scalar(0.0);
                    let own = self.shape_of(&inputs[1]);
                    let no_divisor = self.pointwise(node, P::Equal, &[sources[1], zero], &own)?;
                    quotient =
                        self.pointwise(node, P::Select, &[no_divisor, zero, quotient], shape)?;
                }
                // the quotient of whole numbers below 2^24 is rounded to no whole number that it is
                // not
                let rounded =
                    if function == E::Mod { Activation::Truncate } else { Activation::Floor };
                let whole = self.pointwise(node, P::Activation(rounded), &[quotient], shape)?;
                let divisor = b[0].abs().max(b[1].abs());
                if function == E::Divide {
                    let most = a[0].abs().max(a[1].abs());
                    (whole, [-most, most])
                } else {
                    let product = self.pointwise(node, P::Multiply, &[whole, sources[1]], shape)?;
                    let rest = self.pointwise(node, P::Subtract, &[sources[0], product], shape)?;
                    // of a division by 0 all is left
                    let most =
                        if b[0] <= 0.0 && b[1] >= 0.0 { a[0].abs().max(a[1].abs()) } else { 0.0 }
                            .max(divisor - 1.0);
                    (rest, [-most, most])
                }
            }
            E::Floor | E::Ceiling | E::Round | E::Truncate => return Some(inputs[0].clone()),
            E::Sign => (self.sign(node, sources[0], shape)?, [-1.0, 1.0]),
            _ => {
                let found = format!("{} at run time", element.name());
                let help = "convert the integers to floating point before";
                self.error(node, &node.origin, found, super::floats(), help);
                return None;
            }
        };
        let is_sum = matches!(function, E::Add | E::Subtract);
        // a sum beyond 2^24 is rounded as its conversion would round it
        if is_sum && element.bits() > 16 && self.becomes_float(node.outputs[0]) {
            let known = Known::Source(source, element);
            self.set_range(&known, range);
            return Some(known);
        }
        // what is no arithmetic rounds nothing
        if matches!(
            function,
            E::Maximum | E::Minimum | E::Negative | E::Abs | E::Clamp { .. } | E::Sign
        ) {
            return self.wrapped(node, source, element, range);
        }
        self.exact_integers(node, source, element, range)
    }

    /// -1, 0 or 1.
    pub(super) fn sign(&mut self, node: &Node, input: Source, shape: &[usize]) -> Option<Source> {
        use PointwiseFunction as P;
        let zero = self.scalar(0.0);
        let above = self.pointwise(node, P::Less, &[zero, input], shape)?;
        let below = self.pointwise(node, P::Less, &[input, zero], shape)?;
        let sign = self.pointwise(node, P::Subtract, &[above, below], shape)?;
        // NaN stays
        let number = self.pointwise(node, P::Equal, &[input, input], shape)?;
        self.pointwise(node, P::Select, &[number, sign, input], shape)
    }

    /// Comparisons, what is made of them, and choices by them; `None` after an error.
    pub(super) fn decision(
        &mut self,
        node: &Node,
        function: Elementwise,
        inputs: &[Known],
        shape: &[usize],
    ) -> Option<Known> {
        use Elementwise as E;
        use PointwiseFunction as P;
        self.all_exact(node, inputs)?;
        let sources: Vec<Source> = inputs.iter().filter_map(|input| self.source(input)).collect();
        let swapped: Vec<Source> = sources.iter().rev().copied().collect();
        let truth = |source: Source| Some(Known::Source(source, ElementType::Bool));
        let is_truth = inputs[0].element() == ElementType::Bool;
        match function {
            E::Less => truth(self.pointwise(node, P::Less, &sources, shape)?),
            E::Greater => truth(self.pointwise(node, P::Less, &swapped, shape)?),
            E::LessEqual => truth(self.pointwise(node, P::LessEqual, &sources, shape)?),
            E::GreaterEqual => truth(self.pointwise(node, P::LessEqual, &swapped, shape)?),
            E::Equal => truth(self.pointwise(node, P::Equal, &sources, shape)?),
            E::NotEqual => {
                let equal = self.pointwise(node, P::Equal, &sources, shape)?;
                truth(self.not(node, equal, shape)?)
            }
            E::LogicalNot if is_truth => truth(self.not(node, sources[0], shape)?),
            E::LogicalAnd if is_truth => {
                truth(self.pointwise(node, P::Minimum, &sources, shape)?)
            }
            E::LogicalOr if is_truth => truth(self.pointwise(node, P::Maximum, &sources, shape)?),
            E::Select => {
                let condition = match inputs[0].element() {
                    ElementType::Bool => sources[0],
                    _ => {
                        let own = self.shape_of(&inputs[0]);
                        self.is_not_zero(node, sources[0], &own)?
                    }
                };
                let element = inputs[1].element();
                let of = [condition, sources[1], sources[2]];
                let known = Known::Source(self.pointwise(node, P::Select, &of, shape)?, element);
                self.set_range(&known, self.range_of_all(&inputs[1..]));
                Some(known)
            }
            _ => {
                let found =
                    format!("a logical operation on {} at run time", inputs[0].element().name());
                self.error(
                    node,
                    &node.origin,
                    found,
                    "booleans",
                    "compare the integers with 0 before",
                );
                None
            }
        }
    }

    fn not(&mut self, node: &Node, truth: Source, shape: &[usize]) -> Option<Source> {
        let one = self.scalar(1.0);
        self.pointwise(node, PointwiseFunction::Subtract, &[one, truth], shape)
    }

    fn is_not_zero(&mut self, node: &Node, source: Source, shape: &[usize]) -> Option<Source> {
        let zero = self.scalar(0.0);
        let equal = self.pointwise(node, PointwiseFunction::Equal, &[source, zero], shape)?;
        self.not(node, equal, shape)
    }

    /// A conversion at run time of which one side is no floating point; `None` after an error.
    pub(super) fn converted(
        &mut self,
        node: &Node,
        known: &Known,
        element: ElementType,
    ) -> Option<Known> {
        let shape = self.shape_of(known);
        let (source, before) = (self.source(known)?, known.element());
        let range = self.range_of(known);
        if element == before || element.is_float() {
            return Some(Known::Source(source, element));
        }
        if element == ElementType::Bool {
            return Some(Known::Source(self.is_not_zero(node, source, &shape)?, element));
        }
        if before.is_float() {
            let whole = PointwiseFunction::Activation(Activation::Truncate);
            let whole = self.pointwise(node, whole, &[source], &shape)?;
            if element.bits() > 16 {
                let converted = Known::Source(whole, element);
                self.set_range(&converted, range.map(f64::trunc));
                return Some(converted);
            }
            // what a narrow type does not hold has no rule: the nearest that it holds
            let [least, most] = Integers::limits(element);
            let inside = self.clamp(node, whole, least as f32, most as f32, &shape)?;
            let converted = Known::Source(inside, element);
            self.set_range(&converted, [least.into(), most.into()]);
            return Some(converted);
        }
        self.wrapped(node, source, element, range)
    }
}
