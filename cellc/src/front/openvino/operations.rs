//! The operation of a layer by type and attributes. [`super::cells`] reads the attributes of
//! recurrent cells.

use super::attributes::{COMPUTED, Data, Presence};
use super::layers::{GraphReader, SAVE_AGAIN};
use super::text::parse_shape;
use crate::diagnostic::quoted;
use crate::front::local_norm::LocalNorm;
use crate::model::{
    Binary, Composed, Dim, ElementType, LedgerEntry, MathFunction, Nearest, Normalization, Op,
    Resize, ResizeBy, Sampling, Scaling, Tensor, Value, ValueId, shape_text,
};

/// The element types of an operation's outputs.
pub(super) enum OutputTypes {
    /// The element type of an input, by index.
    Of(usize),
    /// One element type for all outputs.
    Is(ElementType),
    /// One element type for each output.
    Each(Vec<ElementType>),
}

/// Number of output ports of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ports {
    Exactly(usize),
    OneOrMore,
}

/// The operation that a layer's type and attributes determine.
pub(super) struct ReadOperation {
    pub(super) op: Op,
    pub(super) element: OutputTypes,
    /// The name of the attribute with the output's shape, and the shape.
    pub(super) shape: Option<(&'static str, Vec<Dim>)>,
    pub(super) ports: Ports,
    pub(super) ledger: Vec<LedgerEntry>,
    pub(super) rewrite: InputRewrite,
}

/// A rewrite of operation and inputs, to apply when the inputs are known.
pub(super) enum InputRewrite {
    Nothing,
    /// The second input gives the output type and is dropped.
    FirstInputOnly,
    /// Swish: an optional second input is the factor of the sigmoid's argument.
    Scaled,
    /// A constant axis of 1 becomes the last input.
    OfChannels,
    /// LRN over this number of neighbours: the divisor is computed from the neighbours' squares.
    LocalNorm(LocalNorm, usize),
    /// The data is the third input, behind scale and shift.
    DataFirst,
    /// Sizes are the second input, scales the third. True: scales are dropped; false: sizes are
    /// dropped.
    SizesOrScales(bool),
    /// FakeQuantize with this number of levels.
    Quantise(i64),
    /// The second output has indices of this type.
    Indices(ElementType),
    /// Query and key are divided by their lengths. The numbers are added to the sums of squares.
    UnitLength([f32; 2]),
}

impl ReadOperation {
    /// An operation with one output of the first input's type.
    pub(super) fn new(op: Op) -> Self {
        let (element, ports) = (OutputTypes::Of(0), Ports::Exactly(1));
        Self { op, element, shape: None, ports, ledger: Vec::new(), rewrite: InputRewrite::Nothing }
    }

    /// A TensorIterator, Loop or If, with the element types of its outputs.
    pub(super) fn with_body(op: Op, elements: Vec<ElementType>) -> Self {
        let ports = Ports::Exactly(elements.len());
        Self::new(op).with_types(OutputTypes::Each(elements)).ports(ports)
    }

    /// The operation with outputs of other types.
    pub(super) fn with_types(self, element: OutputTypes) -> Self {
        Self { element, ..self }
    }

    /// The operation with another number of output ports.
    pub(super) fn ports(self, ports: Ports) -> Self {
        Self { ports, ..self }
    }

    /// The operation with a rewrite.
    pub(super) fn rewrite_inputs(self, rewrite: InputRewrite) -> Self {
        Self { rewrite, ..self }
    }
}

pub(super) const ANY_INTEGER: std::ops::RangeInclusive<i64> = i64::MIN..=i64::MAX;

/// The most pairs of range ends of a FakeQuantize that are compared.
const MOST_RANGES: usize = 1 << 20;

/// The pairs of elements of two tensors that broadcast to one shape by NumPy's rules. `None` if the
/// shapes do not broadcast, or for no pair or more than [`MOST_RANGES`].
pub(super) fn broadcast_pairs(a: &Tensor, b: &Tensor) -> Option<Vec<(f32, f32)>> {
    let rank = a.shape().len().max(b.shape().len());
    let padded = |tensor: &Tensor| {
        let shape = tensor.shape();
        [vec![1; rank - shape.len()], shape.to_vec()].concat()
    };
    let sizes: Vec<(usize, usize)> = padded(a).into_iter().zip(padded(b)).collect();
    let fits = |&(of_a, of_b): &(usize, usize)| of_a == of_b || of_a == 1 || of_b == 1;
    let size = |&(of_a, of_b): &(usize, usize)| if of_a == 1 { of_b } else { of_a };
    let count = sizes.iter().map(size).try_fold(1, usize::checked_mul)?;
    if !sizes.iter().all(fits) || !(1..=MOST_RANGES).contains(&count) {
        return None;
    }
    // the indices of the elements of both tensors, axis by axis
    let mut places = vec![(0, 0)];
    for pair in &sizes {
        let &(of_a, of_b) = pair;
        let at = |i: usize, size: usize| if size == 1 { 0 } else { i };
        let inner = |&(in_a, in_b): &(usize, usize)| {
            (0..size(pair)).map(move |i| (in_a * of_a + at(i, of_a), in_b * of_b + at(i, of_b)))
        };
        places = places.iter().flat_map(inner).collect();
    }
    Some(places.into_iter().map(|(in_a, in_b)| (a.get_f32(in_a), b.get_f32(in_b))).collect())
}

impl GraphReader<'_, '_> {
    /// ReadValue.
    pub(super) fn read_value(&mut self, data: &mut Data) -> Option<ReadOperation> {
        let variable = self.variable(data);
        const SHAPE: &str =
            "sizes separated by commas, ? where a size is not known, ... where nothing is";
        let (mut element, mut shape) = (Some(None), Some(None));
        if data.set >= 6 {
            element = match data.peek(self.document, "variable_type") {
                Some("dynamic") => data.take(self.document, "variable_type").map(|_| None),
                Some(_) => self.element_type(data, "variable_type", &COMPUTED).map(Some),
                None => element,
            };
            if let Some(given) = data
                .take(self.document, "variable_shape")
                .filter(|given| given.text.trim() != "...")
            {
                shape = parse_shape(given.text).map(Some);
                if shape.is_none() {
                    let found = format!("variable_shape={}", quoted(given.text));
                    self.error(data.index, given.origin, found, SHAPE, "correct the shape");
                }
            }
        }
        let (variable, shape, element) = (variable?, shape?, element?);
        let stated = shape.clone().map(|shape| ("variable_shape", shape));
        let op = ReadOperation::new(Op::ReadValue { variable, shape, element });
        Some(ReadOperation {
            shape: stated,
            ..op.with_types(element.map_or(OutputTypes::Of(0), OutputTypes::Is))
        })
    }

    /// The name of a variable. `None` after an error.
    pub(super) fn variable(&mut self, data: &mut Data) -> Option<String> {
        let given = self.required(data, "variable_id", "the name of a variable, any text")?;
        Some(given.text.to_owned())
    }

    /// Interpolate: resizes by sizes or scales.
    pub(super) fn interpolate(&mut self, data: &mut Data) -> Option<ReadOperation> {
        self.required(data, "mode", "nearest, linear_onnx, cubic")?;
        // OpenVINO writes the coefficient for every mode
        let a = match data.peek(self.document, "cube_coeff") {
            Some(_) => self.number(data, "cube_coeff")?,
            None => -0.75,
        };
        let modes = [
            ("nearest", Sampling::Nearest(Nearest::Simple)),
            ("linear_onnx", Sampling::Linear),
            ("cubic", Sampling::Cubic { a, exclude_outside: false }),
        ];
        let mut sampling = self.word(data, "mode", "", &modes)?;
        let by = [("sizes", true), ("scales", false)];
        self.required(data, "shape_calculation_mode", "sizes, scales")?;
        let by_size = self.word(data, "shape_calculation_mode", "", &by);
        let scalings = [
            ("half_pixel", Scaling::HalfPixel),
            ("pytorch_half_pixel", Scaling::PytorchHalfPixel),
            ("asymmetric", Scaling::Asymmetric),
            ("align_corners", Scaling::AlignCorners),
            ("tf_half_pixel_for_nn", Scaling::HalfPixelForNearest),
        ];
        let scaling = self.word(data, "coordinate_transformation_mode", "half_pixel", &scalings);
        let modes = [
            ("round_prefer_floor", Nearest::RoundPreferFloor),
            ("round_prefer_ceil", Nearest::RoundPreferCeil),
            ("floor", Nearest::Floor),
            ("ceil", Nearest::Ceil),
            ("simple", Nearest::Simple),
        ];
        let nearest = self.word(data, "nearest_mode", "round_prefer_floor", &modes);
        self.word(data, "antialias", "false", &[("false", ()), ("0", ())])?;
        for name in ["pads_begin", "pads_end"] {
            let pads = self.integers(data, name, Presence::Optional)?;
            if pads.iter().any(|&pad| pad != 0) {
                let found = format!("{name} that are not 0");
                return self.inexpressible(data.index, found, "0", "pad by a layer of its own");
            }
        }
        let by_size = by_size?;
        let nearest = nearest?;
        if matches!(sampling, Sampling::Nearest(_)) {
            sampling = Sampling::Nearest(nearest);
        }
        let by = if by_size { ResizeBy::Sizes } else { ResizeBy::Factors };
        let resize = Resize { by, scaling: scaling?, sampling };
        let rewrite = if data.set < 11 {
            InputRewrite::SizesOrScales(by_size)
        } else {
            InputRewrite::Nothing
        };
        Some(ReadOperation::new(Op::Resize(resize)).rewrite_inputs(rewrite))
    }

    /// Applies the rewrite to the operation and the inputs. `None` after an error.
    pub(super) fn finish(
        &mut self,
        index: usize,
        operation: &mut ReadOperation,
        inputs: &mut Vec<ValueId>,
    ) -> Option<()> {
        match &operation.rewrite {
            InputRewrite::Nothing => {}
            InputRewrite::FirstInputOnly => {
                let [_, like] = inputs[..] else {
                    let found =
                        format!("ConvertLike with another number of inputs: {}", inputs.len());
                    self.error(index, self.origin(index), found, "two inputs", SAVE_AGAIN);
                    return None;
                };
                operation.element = OutputTypes::Is(self.graph.model.values[like.0].element);
                inputs.truncate(1);
            }
            InputRewrite::OfChannels => {
                let axis = Tensor::from_i64(vec![1], &[1])?;
                inputs.push(self.extra(index, Op::Constant(axis), Vec::new()));
            }
            InputRewrite::LocalNorm(norm, size) => {
                self.norm_of_neighbours(index, (*norm, *size), inputs)?
            }
            InputRewrite::Scaled => {
                let scaled = inputs.len() > 1;
                operation.op = Op::elementwise(Composed::Swish { scaled });
            }
            InputRewrite::DataFirst => {
                if inputs.len() == 5 {
                    inputs[..3].rotate_right(1);
                    operation.element =
                        OutputTypes::Is(self.graph.model.values[inputs[0].0].element);
                }
            }
            &InputRewrite::SizesOrScales(sizes) => {
                if inputs.len() > 2 {
                    inputs.remove(if sizes { 2 } else { 1 });
                }
            }
            &InputRewrite::Indices(indices) => {
                let first = inputs
                    .first()
                    .map_or(ElementType::F32, |x| self.graph.model.values[x.0].element);
                operation.element = OutputTypes::Each(vec![first, indices]);
            }
            &InputRewrite::UnitLength(addends) => {
                let axis = Tensor::from_i64(vec![1], &[3])?;
                let axis = self.extra(index, Op::Constant(axis), Vec::new());
                for (input, eps) in inputs.iter_mut().zip(addends) {
                    let length = Op::Normalize(Normalization::Length { eps, adds: true });
                    *input = self.extra(index, length, vec![*input, axis]);
                }
            }
            &InputRewrite::Quantise(levels) => self.quantise(index, levels, inputs)?,
        }
        Some(())
    }

    /// FakeQuantize. `x`, clamped to `input_low` and `input_high`, is rounded to the nearest of
    /// `levels` levels (ties to even), and the levels are mapped to the range from `output_low` to
    /// `output_high`. The layer's node is the final addition, and `inputs` becomes the operands of
    /// the addition. `None` after an error.
    fn quantise(&mut self, index: usize, levels: i64, inputs: &mut Vec<ValueId>) -> Option<()> {
        let [x, input_low, input_high, output_low, output_high] = inputs[..] else {
            let found = format!("FakeQuantize with another number of inputs: {}", inputs.len());
            self.error(index, self.origin(index), found, "five inputs", SAVE_AGAIN);
            return None;
        };
        let ends = [input_low, input_high].map(|end| self.known(end));
        let [Some(low), Some(high)] = ends else {
            let found = "FakeQuantize with a range that is not constant";
            let valid = "constants for input_low and input_high";
            return self.inexpressible(index, found, valid, "make the range constant");
        };
        let Some(pairs) = broadcast_pairs(&low, &high) else {
            let [low, high] = [low, high].map(|end| shape_text(end.shape()));
            let found = format!("FakeQuantize with ranges of shapes {low} and {high}");
            let valid = "shapes that broadcast to 1 to 2^20 ranges";
            self.error(index, self.origin(index), found, valid, "correct the range");
            return None;
        };
        let is_range = |(low, high): &(f32, f32)| low < high;
        if let Some((low, high)) = pairs.into_iter().find(|pair| !is_range(pair)) {
            let found = format!("FakeQuantize from {low} to {high}");
            self.error(
                index,
                self.origin(index),
                found,
                "an input_low below input_high",
                "correct the range",
            );
            return None;
        }
        let elementwise = |reader: &mut Self, function: Binary, operands: [ValueId; 2]| {
            reader.extra(index, Op::elementwise(function), operands.to_vec())
        };
        let steps = Tensor::from_f32(Vec::new(), &[(levels - 1) as f32])?;
        let steps = self.extra(index, Op::Constant(steps), Vec::new());
        let above = elementwise(self, Binary::Maximum, [x, input_low]);
        let within = elementwise(self, Binary::Minimum, [above, input_high]);
        let from_low = elementwise(self, Binary::Subtract, [within, input_low]);
        let range = elementwise(self, Binary::Subtract, [input_high, input_low]);
        let each = elementwise(self, Binary::Divide, [steps, range]);
        let level = elementwise(self, Binary::Multiply, [from_low, each]);
        let level = self.extra(index, Op::elementwise(MathFunction::Round), vec![level]);
        let range = elementwise(self, Binary::Subtract, [output_high, output_low]);
        let each = elementwise(self, Binary::Divide, [range, steps]);
        *inputs = vec![elementwise(self, Binary::Multiply, [level, each]), output_low];
        Some(())
    }

    /// The constant behind a value, also through Convert nodes, as stored. `None` if the value is
    /// computed or an input.
    pub(super) fn known(&self, value: ValueId) -> Option<Tensor> {
        let node = self.graph.model.nodes.iter().find(|node| node.outputs.contains(&value))?;
        match &node.op {
            Op::Constant(tensor) => Some(tensor.clone()),
            Op::Convert => self.known(*node.inputs.first()?),
            _ => None,
        }
    }

    /// Adds an auxiliary node for a layer.
    pub(super) fn extra(&mut self, index: usize, op: Op, inputs: Vec<ValueId>) -> ValueId {
        let element = match (&op, inputs.first()) {
            (Op::Constant(tensor), _) => tensor.element(),
            (_, input) => {
                input.map_or(ElementType::I64, |input| self.graph.model.values[input.0].element)
            }
        };
        let value = self.graph.add(Value {
            names: Vec::new(),
            shape: None,
            element,
            origin: self.origin(index),
        });
        self.node(index, op, inputs, vec![value], Vec::new());
        value
    }

    /// Checks the broadcasting rule: numpy, or inputs of one shape. `None` after an error.
    pub(super) fn auto_broadcast(&mut self, data: &mut Data) -> Option<()> {
        let rules = [("numpy", true), ("none", false), ("explicit", false)];
        if self.word(data, "auto_broadcast", "numpy", &rules)?
            || self.states_equal_inputs(data.index)
        {
            return Some(());
        }
        let found = "auto_broadcast is not numpy, and the input ports do not state one shape";
        let help =
            "write auto_broadcast=\"numpy\" if that is meant, else give all inputs the same shape";
        self.inexpressible(data.index, found, "numpy, or inputs of one shape", help)
    }

    /// True if all input ports state the same fixed sizes.
    fn states_equal_inputs(&self, index: usize) -> bool {
        let document = self.document;
        let side = document.children_named(self.layers[index].element, "input").next();
        let ports = side.into_iter().flat_map(|side| document.children_named(side, "port"));
        let mut shapes = ports.map(|port| {
            document
                .children_named(port, "dim")
                .map(|dim| document.text(dim).trim())
                .collect::<Vec<_>>()
        });
        let Some(first) = shapes.next() else { return true };
        !first.iter().any(|size| size.starts_with('-')) && shapes.all(|shape| shape == first)
    }
}
