//! Operations element by element, and along one axis.

use super::translator::Translator;
use crate::activation::{self, Constants};
use crate::check::cell::parameters_are_finite;
use crate::check::report::UNDEFINED;
use crate::core::{
    CoreOp, Geometry, Known, Pointwise, PointwiseFunction, Softmax, Source, broadcast, fold,
};
use crate::model::{Activation, ElementType, Elementwise, Node, Tensor, shape_text};

/// The operand chosen by a Select with a known uniform condition.
fn decided(function: Elementwise, inputs: &[Known]) -> Option<usize> {
    let condition = inputs[0]
        .tensor()
        .filter(|condition| function == Elementwise::Select && !condition.is_empty())?;
    let is_true = |i: usize| condition.get_f64(i) != 0.0;
    let same = (1..condition.len()).all(|i| is_true(i) == is_true(0));
    same.then(|| if is_true(0) { 1 } else { 2 })
}

impl Translator<'_, '_> {
    pub(super) fn elementwise(&mut self, node: &Node, function: Elementwise) {
        let Some(inputs) = self.inputs(node) else { return };
        if let Some(known) = self.computed(node, function, inputs) {
            self.set(node, 0, known);
        }
    }

    /// The output of an operation; `None` after an error.
    pub(super) fn computed(
        &mut self,
        node: &Node,
        function: Elementwise,
        mut inputs: Vec<Known>,
    ) -> Option<Known> {
        use Elementwise as E;
        match function {
            E::Clamp { min, max }
                if min.partial_cmp(&max).is_none_or(std::cmp::Ordering::is_gt) =>
            {
                let found = format!("Clamp from {min} to {max}");
                self.error(node, &node.origin, found, "min of max or less", "correct min or max");
                return None;
            }
            E::HardSigmoid => return self.hard_sigmoid(node, &inputs),
            E::SquaredDifference => {
                let difference = self.computed(node, E::Subtract, inputs)?;
                return self.squared(node, &difference);
            }
            _ if function.is_composed() => {
                self.all_floats(node, &inputs)?;
                return match function.is_hyperbolic() {
                    true => self.hyperbolic(node, function, &inputs[0]),
                    false => self.composed(node, function, &inputs),
                };
            }
            _ => {}
        }
        if let Elementwise::Activation(activation) = function
            && !parameters_are_finite(
                node,
                node.attribute_origin("alpha"),
                activation,
                self.diagnostics,
            )
        {
            return None;
        }
        if function == Elementwise::PRelu {
            self.slope_by_channel(node, &mut inputs)?;
        }
        if matches!(function, E::Mod | E::FloorMod)
            && inputs[0].tensor().is_none()
            && inputs[0].element().is_float()
        {
            return self.remainder(node, function, &inputs);
        }
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| self.shape_of(input)).collect();
        let Some(shape) = broadcast(shapes.iter().map(Vec::as_slice)) else {
            let valid = "sizes that are equal or 1, compared from the last one to the first";
            self.shapes_differ(node, &shapes, valid, "reshape or broadcast one of them");
            return None;
        };
        self.types_agree(node, function, &inputs)?;
        let constants: Option<Vec<(&Tensor, ElementType)>> =
            inputs.iter().map(|input| Some((input.tensor()?, input.element()))).collect();
        // kernels compute these activations, also for constants: folding would need a second
        // implementation with the same bits
        let is_computed_in_kernels = match function {
            Elementwise::Activation(of) => activation::constants(of) == Constants::AtRunTime,
            _ => false,
        };
        match constants {
            Some(_) if is_computed_in_kernels => self.at_run_time(node, function, &inputs, &shape),
            Some(constants) => {
                let first = usize::from(function == E::Select);
                self.foldable(node, &shape, inputs[first].element())?;
                match fold::elementwise(function, &constants, shape) {
                    Ok((tensor, element)) => Some(Known::Constant(tensor, element)),
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
                }
            }
            None => match decided(function, &inputs) {
                Some(operand) => self.selected(node, &inputs[operand], shape),
                None => self.at_run_time(node, function, &inputs, &shape),
            },
        }
    }

    /// Refuses conditions of floats, and operands of which some are floats and others are not.
    /// `None` after an error.
    fn types_agree(&mut self, node: &Node, function: Elementwise, inputs: &[Known]) -> Option<()> {
        use Elementwise::{LogicalAnd, LogicalNot, LogicalOr, Select};
        let is_float = |input: &Known| input.element().is_float();
        let conditions = match function {
            LogicalAnd | LogicalNot | LogicalOr => inputs,
            Select => &inputs[..1],
            _ => &[],
        };
        if conditions.iter().any(is_float) {
            let help = "make it a boolean: compare it with a number";
            self.error(node, &node.origin, "the condition is floating point", "booleans", help);
            return None;
        }
        let operands = if function == Select { &inputs[1..] } else { inputs };
        if operands.iter().any(|input| is_float(input) != is_float(&operands[0])) {
            self.differ_in_type(node, inputs);
            return None;
        }
        Some(())
    }

    /// Functions that other functions express.
    fn composed(&mut self, node: &Node, function: Elementwise, inputs: &[Known]) -> Option<Known> {
        use Activation as A;
        use Elementwise as E;
        let x = &inputs[0];
        let by = match function {
            E::Swish { scaled } => {
                let inner = match scaled {
                    true => self.computed(node, E::Multiply, vec![x.clone(), inputs[1].clone()])?,
                    false => x.clone(),
                };
                self.computed(node, E::Activation(A::Sigmoid), vec![inner])?
            }
            E::Mish => {
                let inner = self.computed(node, E::Activation(A::Softplus), vec![x.clone()])?;
                self.computed(node, E::Activation(A::Tanh), vec![inner])?
            }
            E::HardSwish => {
                let gate = E::Activation(A::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 });
                self.computed(node, gate, vec![x.clone()])?
            }
            E::GeluTanh => {
                // (1 + tanh(v)) / 2 is the sigmoid of 2 v, and small sigmoids keep their digits
                let square = self.squared(node, x)?;
                let [most, least] = [0.071_354_814, 1.595_769_2].map(|v| self.number_like(x, v));
                let scaled = self.computed(node, E::Multiply, vec![square, most?])?;
                let scaled = self.computed(node, E::Add, vec![scaled, least?])?;
                let inner = self.computed(node, E::Multiply, vec![scaled, x.clone()])?;
                self.computed(node, E::Activation(A::Sigmoid), vec![inner])?
            }
            E::Gelu => {
                let [scale, one, half] =
                    [std::f32::consts::FRAC_1_SQRT_2, 1.0, 0.5].map(|v| self.number_like(x, v));
                let scaled = self.computed(node, E::Multiply, vec![x.clone(), scale?])?;
                let error = self.computed(node, E::Activation(A::Erf), vec![scaled])?;
                let above = self.computed(node, E::Add, vec![error, one?])?;
                self.computed(node, E::Multiply, vec![above, half?])?
            }
            E::Celu { alpha } => {
                if !(alpha.is_finite() && alpha != 0.0) {
                    let found = format!("Celu with alpha {alpha}");
                    self.error(
                        node,
                        &node.origin,
                        found,
                        "a finite number other than 0",
                        "correct it",
                    );
                    return None;
                }
                let alpha = self.number_like(x, alpha)?;
                let inner = self.computed(node, E::Divide, vec![x.clone(), alpha.clone()])?;
                let elu = self.computed(node, E::Activation(A::Elu { alpha: 1.0 }), vec![inner])?;
                return self.computed(node, E::Multiply, vec![elu, alpha]);
            }
            _ => {
                let number = |known: &Known| {
                    known.tensor().filter(|tensor| tensor.len() == 1).map(|t| t.get_f32(0))
                };
                let (alpha, gamma) = (number(&inputs[1]), number(&inputs[2]));
                let (Some(alpha), Some(gamma)) =
                    (alpha.filter(|v| v.is_finite()), gamma.filter(|v| v.is_finite()))
                else {
                    let found = "Selu whose alpha or gamma is not one finite number that is known \
                        when compiling";
                    self.error(
                        node,
                        &node.origin,
                        found,
                        "constants of one element",
                        "connect constants",
                    );
                    return None;
                };
                let elu = self.computed(node, E::Activation(A::Elu { alpha }), vec![x.clone()])?;
                let gamma = self.number_like(x, gamma)?;
                return self.computed(node, E::Multiply, vec![elu, gamma]);
            }
        };
        self.computed(node, E::Multiply, vec![x.clone(), by])
    }

    /// Inputs with both integers and floating point.
    pub(super) fn differ_in_type(&mut self, node: &Node, inputs: &[Known]) {
        let names: Vec<&str> = inputs.iter().take(8).map(|input| input.element().name()).collect();
        let found = format!("inputs of the types {}", names.join(", "));
        self.error(node, &node.origin, found, "one type for all inputs", "convert the others");
    }

    fn at_run_time(
        &mut self,
        node: &Node,
        function: Elementwise,
        inputs: &[Known],
        shape: &[usize],
    ) -> Option<Known> {
        use Elementwise as E;
        use PointwiseFunction as P;
        if function == E::Power {
            self.all_floats(node, &inputs[..1])?;
            return self.power(node, inputs, shape);
        }
        if matches!(
            function,
            E::Equal
                | E::NotEqual
                | E::Greater
                | E::GreaterEqual
                | E::Less
                | E::LessEqual
                | E::Select
        ) || matches!(function, E::LogicalAnd | E::LogicalOr | E::LogicalNot)
        {
            return self.decision(node, function, inputs, shape);
        }
        if !inputs[0].element().is_float() {
            return self.of_integers(node, function, inputs, shape);
        }
        let simple = match function {
            E::Activation(activation) => Some(P::Activation(activation)),
            E::Exp => Some(P::Activation(Activation::Exp)),
            E::Log => Some(P::Activation(Activation::Log)),
            E::Add => Some(P::Add),
            E::Subtract => Some(P::Subtract),
            E::Multiply => Some(P::Multiply),
            E::Divide => Some(P::Divide),
            E::Maximum => Some(P::Maximum),
            E::Minimum => Some(P::Minimum),
            E::PRelu => Some(match inputs[1].tensor() {
                Some(slope) if slope.len() == 1 && slope.get_f32(0).is_finite() => {
                    P::Activation(Activation::LeakyRelu { alpha: slope.get_f32(0) })
                }
                _ => P::PRelu,
            }),
            E::Floor => Some(P::Activation(Activation::Floor)),
            E::Round => Some(P::Activation(Activation::Round)),
            E::Truncate => Some(P::Activation(Activation::Truncate)),
            E::Clamp { .. } | E::Negative | E::Abs | E::HardSigmoid | E::Ceiling | E::Sign => None,
            _ => {
                let found = "this operation is computed on constants only";
                let valid = "inputs that are known when compiling";
                let help = "compute it outside of the model, or write it with arithmetic that is \
                    supported";
                self.error(node, &node.origin, found, valid, help);
                return None;
            }
        };
        self.all_floats(node, inputs)?;
        let sources: Vec<Source> = inputs.iter().filter_map(|input| self.source(input)).collect();
        let result = match (function, simple) {
            (_, Some(function @ P::Activation(_))) => {
                self.pointwise(node, function, &sources[..1], shape)
            }
            // the constant is the first operand, as lower::builder expects
            (_, Some(function @ (P::Maximum | P::Minimum))) => {
                let swapped = matches!(sources[1], Source::Constant(_));
                let sources =
                    if swapped { [sources[1], sources[0]] } else { [sources[0], sources[1]] };
                self.pointwise(node, function, &sources, shape)
            }
            (_, Some(function)) => self.pointwise(node, function, &sources, shape),
            (E::Clamp { min, max }, _) => self.clamp(node, sources[0], min, max, shape),
            (E::Sign, _) => self.sign(node, sources[0], shape),
            (E::Ceiling, _) => {
                let minus = self.scalar(-1.0);
                let negative = self.pointwise(node, P::Multiply, &[sources[0], minus], shape)?;
                let below =
                    self.pointwise(node, P::Activation(Activation::Floor), &[negative], shape)?;
                self.pointwise(node, P::Multiply, &[below, minus], shape)
            }
            (E::Negative, _) => {
                // 0 - v is never a negative zero
                let minus = self.scalar(-1.0);
                self.pointwise(node, P::Multiply, &[sources[0], minus], shape)
            }
            _ => self.absolute(node, sources[0], shape),
        };
        Some(Known::Source(result?, inputs[0].element()))
    }

    /// One operation.
    pub(super) fn pointwise(
        &mut self,
        node: &Node,
        function: PointwiseFunction,
        inputs: &[Source],
        shape: &[usize],
    ) -> Option<Source> {
        self.computable(node, shape)?;
        if let Some(Known::Source(source, _)) =
            self.pointwise_of_lines(node, function, inputs, shape)
        {
            return Some(source);
        }
        let out = self.value(shape.to_vec());
        self.emit(node, CoreOp::Pointwise(Pointwise { function, inputs: inputs.to_vec(), out }));
        Some(Source::Value(out))
    }

    pub(super) fn clamp(
        &mut self,
        node: &Node,
        input: Source,
        min: f32,
        max: f32,
        shape: &[usize],
    ) -> Option<Source> {
        let bounds = [(min, PointwiseFunction::Maximum), (max, PointwiseFunction::Minimum)];
        let mut value = input;
        for (bound, function) in bounds.into_iter().filter(|(bound, _)| bound.is_finite()) {
            let bound = self.scalar(bound);
            // v is the second operand, so that the result for NaN is NaN
            value = self.pointwise(node, function, &[bound, value], shape)?;
        }
        Some(value)
    }

    pub(super) fn absolute(
        &mut self,
        node: &Node,
        input: Source,
        shape: &[usize],
    ) -> Option<Source> {
        let (minus, zero) = (self.scalar(-1.0), self.scalar(0.0));
        let value = self.pointwise(node, PointwiseFunction::PRelu, &[input, minus], shape)?;
        // 0 times -1 is a negative zero, and a negative zero plus zero is zero
        self.pointwise(node, PointwiseFunction::Add, &[value, zero], shape)
    }

    fn hard_sigmoid(&mut self, node: &Node, inputs: &[Known]) -> Option<Known> {
        let number = |known: &Known| {
            known
                .tensor()
                .filter(|tensor| tensor.len() == 1 && known.element().is_float())
                .map(|t| t.get_f32(0))
        };
        let (Some(alpha), Some(beta)) = (number(&inputs[1]), number(&inputs[2])) else {
            let found =
                "HardSigmoid whose alpha or beta is not one number that is known when compiling";
            self.error(node, &node.origin, found, "constants of one element", "connect constants");
            return None;
        };
        let activation = Activation::HardSigmoid { alpha, beta };
        if !parameters_are_finite(node, &node.origin, activation, self.diagnostics) {
            return None;
        }
        let shape = self.shape_of(&inputs[0]);
        let function = Elementwise::Activation(activation);
        self.at_run_time(node, function, &inputs[..1], &shape)
    }

    /// The remainder of floats divided by a power of two. Only the last step rounds.
    fn remainder(&mut self, node: &Node, function: Elementwise, inputs: &[Known]) -> Option<Known> {
        let x = &inputs[0];
        let divisor =
            inputs[1].tensor().filter(|tensor| tensor.len() == 1).map(|tensor| tensor.get_f32(0));
        let is_power =
            |by: &f32| by.is_normal() && by.recip().is_normal() && by.to_bits() << 9 == 0;
        let Some(by) = divisor.filter(is_power).filter(|_| inputs[1].element().is_float()) else {
            let help = "write it as x - floor(x / b) * b";
            self.error(
                node,
                &node.origin,
                "the remainder of floats",
                "a divisor that is a constant power of two",
                help,
            );
            return None;
        };
        let round =
            if function == Elementwise::Mod { Activation::Truncate } else { Activation::Floor };
        let [by, inverse] = [by, by.recip()].map(|number| self.number_like(x, number));
        let (by, inverse) = (by?, inverse?);
        let quotient = self.computed(node, Elementwise::Multiply, vec![x.clone(), inverse])?;
        let whole = self.computed(node, Elementwise::Activation(round), vec![quotient])?;
        let whole = self.computed(node, Elementwise::Multiply, vec![whole, by])?;
        self.computed(node, Elementwise::Subtract, vec![x.clone(), whole])
    }

    /// The slopes of a PRelu with one slope for each channel lie along axis 1. A single slope may
    /// have more axes than the scaled operand.
    fn slope_by_channel(&mut self, node: &Node, inputs: &mut [Known]) -> Option<()> {
        let (shape, slope) = (self.shape_of(&inputs[0]), self.shape_of(&inputs[1]));
        let channel = usize::from(shape.len() > 1);
        if slope.len() == 1 && shape.get(channel) == Some(&slope[0]) {
            let mut aligned = vec![1; shape.len()];
            aligned[channel] = slope[0];
            inputs[1] = self.view(node, &inputs[1], Geometry::reshaped(aligned))?;
        } else if slope.len() > shape.len() && slope.iter().product::<usize>() == 1 {
            inputs[1] = self.view(node, &inputs[1], Geometry::reshaped(vec![1; shape.len()]))?;
        } else if broadcast([&shape[..], &slope]).as_ref() != Some(&shape) {
            let found =
                format!("a slope of shape {} for {}", shape_text(&slope), shape_text(&shape));
            self.error(
                node,
                &node.origin,
                found,
                "one number, or one a channel",
                "correct the shape of the slope",
            );
            return None;
        }
        Some(())
    }

    pub(super) fn softmax(&mut self, node: &Node, axis: i64, log: bool) {
        let Some(input) = self.input(node, 0) else { return };
        let shape = self.shape_of(&input);
        let Some(axis) = self.axis(node, axis, shape.len()) else { return };
        let input = match self
            .core
            .facts
            .dynamic_length(&input)
            .filter(|length| length.parts_along == Some(axis))
        {
            Some(length) => self
                .number_like(&input, f32::NEG_INFINITY)
                .and_then(|least| self.padded_behind(node, &input, length, &least)),
            None => Some(input),
        };
        if let Some(y) = input.and_then(|input| self.softmax_along(node, &input, axis, log)) {
            self.set(node, 0, y);
        }
    }

    /// `exp(v) / sum exp(v)` along an axis, or its logarithm.
    pub(super) fn softmax_along(
        &mut self,
        node: &Node,
        input: &Known,
        axis: usize,
        log: bool,
    ) -> Option<Known> {
        self.all_floats(node, std::slice::from_ref(input))?;
        let shape = self.shape_of(input);
        self.computable(node, &shape)?;
        let source = self.source(input)?;
        let out = self.value(shape);
        self.emit(node, CoreOp::Softmax(Softmax { axis, log, input: source, out }));
        Some(Known::Source(Source::Value(out), input.element()))
    }
}
