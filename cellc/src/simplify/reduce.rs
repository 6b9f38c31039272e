//! Reductions along axes, and powers.

use super::translator::Translator;
use crate::check::report::UNDEFINED;
use crate::core::{Combiner, CoreOp, DynamicLength, Geometry, Known, Reduce, Source, fold};
use crate::model::{Activation, ElementType, Elementwise, NoAxes, Node, Reduction, Tensor};

/// Largest whole exponent computed by multiplications alone.
const MOST_MULTIPLIED: f32 = 128.0;

impl Translator<'_, '_> {
    pub(super) fn reduce(
        &mut self,
        node: &Node,
        reduction: Reduction,
        keep: bool,
        no_axes: NoAxes,
    ) {
        let Some(input) = self.input(node, 0) else { return };
        let rank = self.shape_of(&input).len();
        let given = match node.inputs.len() {
            1 => Vec::new(),
            _ => match self.integers(node, 1, "the axes") {
                Some(axes) => axes,
                None => return,
            },
        };
        let axes = match no_axes {
            NoAxes::Same if given.is_empty() => {
                self.set(node, 0, input);
                return;
            }
            NoAxes::Each if given.is_empty() => Some(Vec::new()),
            _ => self.listed_axes(node, &given, rank),
        };
        let Some(axes) = axes else { return };
        let known = match self.core.facts.dynamic_length(&input) {
            Some(length) if length.parts_along.is_some() => {
                self.reduced_parts(node, reduction, (&input, length), &axes, keep)
            }
            _ => self.reduced(node, reduction, &input, &axes, keep),
        };
        if let Some(known) = known {
            self.set(node, 0, known);
        }
    }

    /// A reduction of a tensor with a run-time number of parts.
    fn reduced_parts(
        &mut self,
        node: &Node,
        reduction: Reduction,
        (input, length): (&Known, DynamicLength),
        axes: &[usize],
        keep: bool,
    ) -> Option<Known> {
        let along = length.parts_along?;
        if !axes.contains(&along) {
            let before = axes.iter().filter(|&&axis| axis < along).count();
            let along = if keep { along } else { along - before };
            self.current_length =
                Some(DynamicLength { parts_along: Some(along), is_zero: false, ..length });
            return self.reduced(node, reduction, input, axes, keep);
        }
        let is_float = input.element().is_float();
        let count = Known::Source(length.count, ElementType::I64);
        let may_be_none = self.core.facts.range_of(&count)[0] < 1.0;
        if !is_float && may_be_none && matches!(reduction, Reduction::Max | Reduction::Min) {
            let found = "the largest or the smallest of integers of which a call may have none";
            let valid = "at least one integer, by Clip or Max of their number, or floating point";
            self.error(
                node,
                &node.origin,
                found,
                valid,
                "convert the integers to floating point before",
            );
            return None;
        }
        let [least, most] = if is_float {
            [f64::NEG_INFINITY, f64::INFINITY]
        } else {
            self.core.facts.range_of(input)
        };
        let neutral = match reduction {
            Reduction::Product | Reduction::All => 1.0,
            Reduction::Max | Reduction::LogSumExp => least,
            Reduction::Min => most,
            _ => 0.0,
        };
        let neutral = self.number_like(input, neutral as f32)?;
        let parts = self.padded_behind(node, input, length, &neutral)?;
        if reduction != Reduction::Mean {
            return self.reduced(node, reduction, &parts, axes, keep);
        }
        if !is_float {
            let found = "a mean of integers of which only a call knows how many there are";
            self.error(
                node,
                &node.origin,
                found,
                "a mean of floating point",
                "convert the integers before",
            );
            return None;
        }
        let sum = self.reduced(node, Reduction::Sum, &parts, axes, keep)?;
        let shape = self.shape_of(input);
        let others: usize =
            axes.iter().filter(|&&axis| axis != along).map(|&axis| shape[axis]).product();
        let count = self.converted(node, &count, ElementType::F32)?;
        let others = self.number_like(&sum, others as f32)?;
        let count = self.computed(node, Elementwise::Multiply, vec![count, others])?;
        self.computed(node, Elementwise::Divide, vec![sum, count])
    }

    /// The given axes in order; all axes if none are given.
    pub(super) fn listed_axes(
        &mut self,
        node: &Node,
        given: &[i64],
        rank: usize,
    ) -> Option<Vec<usize>> {
        let mut axes = Vec::new();
        for &axis in given {
            axes.push(self.axis(node, axis, rank)?);
        }
        if axes.is_empty() {
            axes = (0..rank).collect();
        }
        axes.sort_unstable();
        if axes.windows(2).any(|pair| pair[0] == pair[1]) {
            let found = format!("the axes {given:?}, of which two are the same");
            self.error(node, &node.origin, found, "each axis once", "correct the axes");
            return None;
        }
        Some(axes)
    }

    /// A reduction along axes in order.
    pub(super) fn reduced(
        &mut self,
        node: &Node,
        reduction: Reduction,
        input: &Known,
        axes: &[usize],
        keep: bool,
    ) -> Option<Known> {
        use Elementwise as E;
        let shape = self.shape_of(input);
        let is_float = input.element().is_float();
        let logical = matches!(reduction, Reduction::All | Reduction::Any);
        if logical && is_float {
            let found = "a logical reduction of floating point";
            self.error(
                node,
                &node.origin,
                found,
                "booleans",
                "make it a boolean: compare it with a number",
            );
            return None;
        }
        let value = match reduction {
            Reduction::Sum => self.combined(node, Combiner::Add, input, axes)?,
            Reduction::Max | Reduction::Any => {
                self.combined(node, Combiner::Maximum, input, axes)?
            }
            Reduction::Min | Reduction::All => {
                self.combined(node, Combiner::Minimum, input, axes)?
            }
            Reduction::Product => self.combined(node, Combiner::Multiply, input, axes)?,
            Reduction::Mean => {
                let mut sum = self.combined(node, Combiner::Add, input, axes)?;
                let count: usize = axes.iter().map(|&axis| shape[axis]).product();
                let count = self.number_like(&sum, count as f32)?;
                if !is_float {
                    // a mean of integers is rounded towards zero
                    let rest = self.computed(node, E::Mod, vec![sum.clone(), count.clone()])?;
                    sum = self.computed(node, E::Subtract, vec![sum, rest])?;
                }
                self.computed(node, E::Divide, vec![sum, count])?
            }
            Reduction::L1 => {
                let magnitudes = self.computed(node, E::Abs, vec![input.clone()])?;
                self.combined(node, Combiner::Add, &magnitudes, axes)?
            }
            Reduction::SumSquare | Reduction::L2 => {
                let squares = self.squared(node, input)?;
                let sum = self.combined(node, Combiner::Add, &squares, axes)?;
                match reduction {
                    Reduction::L2 => {
                        self.computed(node, E::Activation(Activation::Sqrt), vec![sum])?
                    }
                    _ => sum,
                }
            }
            Reduction::LogSum => {
                let sum = self.combined(node, Combiner::Add, input, axes)?;
                self.computed(node, E::Log, vec![sum])?
            }
            Reduction::LogSumExp => {
                let most = self.combined(node, Combiner::Maximum, input, axes)?;
                let finite = self.finite(node, &most)?;
                let below = self.computed(node, E::Subtract, vec![input.clone(), finite])?;
                let exponentials = self.computed(node, E::Exp, vec![below])?;
                let sum = self.combined(node, Combiner::Add, &exponentials, axes)?;
                let logarithm = self.computed(node, E::Log, vec![sum])?;
                self.computed(node, E::Add, vec![logarithm, most])?
            }
        };
        if keep {
            return Some(value);
        }
        let kept = shape
            .iter()
            .enumerate()
            .filter(|(axis, _)| !axes.contains(axis))
            .map(|(_, &size)| size)
            .collect();
        self.view(node, &value, Geometry::reshaped(kept))
    }

    /// The tensor with the largest finite numbers in place of infinities. Subtracting the result
    /// keeps infinities infinite.
    fn finite(&mut self, node: &Node, input: &Known) -> Option<Known> {
        let is_finite = |of: &Tensor| (0..of.len()).all(|i| of.get_f64(i).is_finite());
        if !input.element().is_float() || input.tensor().is_some_and(is_finite) {
            return Some(input.clone());
        }
        let max = match input.element() {
            ElementType::F16 => 65504.0,
            ElementType::Bf16 => f32::from_bits(0x7f7f_0000),
            _ => f32::MAX,
        };
        self.computed(node, Elementwise::Clamp { min: -max, max }, vec![input.clone()])
    }

    /// Every element times itself.
    pub(super) fn squared(&mut self, node: &Node, input: &Known) -> Option<Known> {
        match input.element().is_float() {
            true => self.computed(
                node,
                Elementwise::Activation(Activation::Square),
                vec![input.clone()],
            ),
            false => self.computed(node, Elementwise::Multiply, vec![input.clone(), input.clone()]),
        }
    }

    /// A constant of one element of the type of another tensor.
    pub(super) fn number_like(&mut self, like: &Known, value: f32) -> Option<Known> {
        let element = like.element();
        let tensor = match element.is_float() {
            true => Tensor::from_f32(Vec::new(), &[value])?,
            false => Tensor::from_i64(Vec::new(), &[value as i64])?,
        };
        Some(Known::Constant(tensor, element))
    }

    /// All elements along axes by one operation; the axes have a size of 1 then.
    fn combined(
        &mut self,
        node: &Node,
        combiner: Combiner,
        input: &Known,
        axes: &[usize],
    ) -> Option<Known> {
        let mut value = input.clone();
        // runs of neighbouring axes, the last one first
        let mut open = axes;
        while let Some(&last) = open.last() {
            let mut first = open.len() - 1;
            while first > 0 && open[first - 1] + 1 == open[first] {
                first -= 1;
            }
            value = self.combined_run(node, combiner, &value, open[first], last + 1)?;
            open = &open[..first];
        }
        Some(value)
    }

    fn combined_run(
        &mut self,
        node: &Node,
        combiner: Combiner,
        input: &Known,
        first: usize,
        end: usize,
    ) -> Option<Known> {
        let shape = self.shape_of(input);
        let mut to = shape.clone();
        to[first..end].fill(1);
        let [size, inner] =
            [&shape[first..end], &shape[end..]].map(|sizes| sizes.iter().product::<usize>());
        if size == 1 {
            return Some(input.clone());
        }
        if let Known::Constant(tensor, element) = input {
            self.foldable(node, &to, *element)?;
            self.folding(node, tensor.len())?;
            return match fold::reduce(combiner, tensor, *element, size, inner, to) {
                Ok(tensor) => Some(Known::Constant(tensor, *element)),
                Err(reason) => {
                    self.error(
                        node,
                        &node.origin,
                        reason,
                        "an operation that has a result",
                        UNDEFINED,
                    );
                    None
                }
            };
        }
        self.computable(node, &to)?;
        let range = self.reduced_range(node, combiner, input, size)?;
        let (source, out) = (self.source(input)?, self.value(to));
        let chains = Reduce::chains(size, inner);
        self.emit(
            node,
            CoreOp::Reduce(Reduce { combiner, first, end, chains, input: source, out }),
        );
        self.wrapped(node, Source::Value(out), input.element(), range)
    }

    /// A power of a run-time tensor.
    pub(super) fn power(
        &mut self,
        node: &Node,
        inputs: &[Known],
        shape: &[usize],
    ) -> Option<Known> {
        let exponent = inputs[1].tensor().filter(|tensor| !tensor.is_empty());
        let same =
            |tensor: &&Tensor| (1..tensor.len()).all(|i| tensor.get_f64(i) == tensor.get_f64(0));
        let exponent =
            exponent.filter(same).map(|tensor| tensor.get_f32(0)).filter(|e| e.is_finite());
        let Some(exponent) = exponent else {
            return self.raised_to_any(node, &inputs[0], &inputs[1]);
        };
        let base = self.selected(node, &inputs[0], shape.to_vec())?;
        self.raised(node, &base, exponent)
    }

    /// `base^exponent` as `exp(exponent log(|base|))`, with the sign of the base for odd exponents,
    /// and NaN for a negative base with a fractional exponent.
    fn raised_to_any(&mut self, node: &Node, base: &Known, exponent: &Known) -> Option<Known> {
        use Elementwise as E;
        self.all_floats(node, std::slice::from_ref(exponent))?;
        let [zero, half, one, two] =
            [0.0, 0.5, 1.0, 2.0].map(|number| self.number_like(exponent, number));
        let (zero, half, one, two) = (zero?, half?, one?, two?);
        let floor = self.computed(node, E::Floor, vec![exponent.clone()])?;
        let is_whole = self.computed(node, E::Equal, vec![exponent.clone(), floor])?;
        let size = self.computed(node, E::Abs, vec![base.clone()])?;
        let size = self.computed(node, E::Select, vec![is_whole, size, base.clone()])?;
        let logarithm = self.computed(node, E::Log, vec![size])?;
        let scaled = self.computed(node, E::Multiply, vec![logarithm, exponent.clone()])?;
        let power = self.computed(node, E::Exp, vec![scaled])?;
        let is_zero = self.computed(node, E::Equal, vec![exponent.clone(), zero.clone()])?;
        let is_one = self.computed(node, E::Equal, vec![base.clone(), one.clone()])?;
        let is_plain = self.computed(node, E::LogicalOr, vec![is_zero, is_one])?;
        let power = self.computed(node, E::Select, vec![is_plain, one.clone(), power])?;
        let even = self.computed(node, E::Multiply, vec![exponent.clone(), half])?;
        let even = self.computed(node, E::Floor, vec![even])?;
        let even = self.computed(node, E::Multiply, vec![even, two])?;
        let odd = self.computed(node, E::Subtract, vec![exponent.clone(), even])?;
        let is_odd = self.computed(node, E::Equal, vec![odd, one])?;
        let is_below = self.computed(node, E::Less, vec![base.clone(), zero])?;
        let is_negative = self.computed(node, E::LogicalAnd, vec![is_odd, is_below])?;
        let minus = self.computed(node, E::Negative, vec![power.clone()])?;
        self.computed(node, E::Select, vec![is_negative, minus, power])
    }

    /// `base^exponent`: by multiplications for a small whole exponent, by a root for a whole number
    /// and a half, else `exp(exponent log(base))`.
    fn raised(&mut self, node: &Node, base: &Known, exponent: f32) -> Option<Known> {
        use Elementwise as E;
        let one = self.number_like(base, 1.0)?;
        if exponent < 0.0
            && (exponent.fract() == 0.0 || exponent.fract() == -0.5)
            && exponent >= -MOST_MULTIPLIED
        {
            let inverse = self.raised(node, base, -exponent)?;
            return self.computed(node, E::Divide, vec![one, inverse]);
        }
        if exponent == 0.0 {
            let shape = self.shape_of(base);
            return self.selected(node, &one, shape);
        }
        let root = E::Activation(Activation::Sqrt);
        if exponent > 0.0 && exponent <= MOST_MULTIPLIED && exponent.fract() == 0.5 {
            let root = self.computed(node, root, vec![base.clone()])?;
            if exponent == 0.5 {
                return Some(root);
            }
            let whole = self.raised(node, base, exponent.trunc())?;
            return self.computed(node, E::Multiply, vec![whole, root]);
        }
        if exponent > 0.0 && exponent <= MOST_MULTIPLIED && exponent.fract() == 0.0 {
            let (mut rest, mut square, mut product) = (exponent as u32, base.clone(), None);
            loop {
                if rest & 1 == 1 {
                    product = match product {
                        None => Some(square.clone()),
                        Some(product) => {
                            Some(self.computed(node, E::Multiply, vec![product, square.clone()])?)
                        }
                    };
                }
                rest >>= 1;
                if rest == 0 {
                    return product;
                }
                square = self.squared(node, &square)?;
            }
        }
        // every f32 of 2^24 or more is even
        let whole = exponent.fract() == 0.0;
        let odd = whole && exponent.abs() < 16_777_216.0 && exponent as i64 % 2 != 0;
        let size =
            if whole { self.computed(node, E::Abs, vec![base.clone()])? } else { base.clone() };
        let logarithm = self.computed(node, E::Log, vec![size])?;
        // an odd power is an even power times or over the base: the product keeps the sign, and
        // avoids 0 times infinity
        let even = if odd { exponent - exponent.signum() } else { exponent };
        let by = self.number_like(base, even)?;
        let scaled = self.computed(node, E::Multiply, vec![logarithm, by])?;
        let power = self.computed(node, E::Exp, vec![scaled])?;
        match odd {
            true if exponent > 0.0 => self.computed(node, E::Multiply, vec![power, base.clone()]),
            true => self.computed(node, E::Divide, vec![power, base.clone()]),
            false => Some(power),
        }
    }
}
