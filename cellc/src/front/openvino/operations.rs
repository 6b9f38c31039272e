//! What each type of layer becomes, and its attributes; those of recurrent cells stand in [`super::cells`].

use super::attributes::{COMPUTED, Data};
use super::layers::{GraphReader, SAVE_AGAIN};
use super::supported::{LayerType, Recurrent};
use super::text::parse_shape;
use crate::diagnostic::quoted;
use crate::model::{
    Activation, Blocks, BroadcastMode, Dim, ElementType, Elementwise, GatherNd, LedgerEntry, Nearest, NoAxes,
    Normalization, Op, PadMode, Resize, ResizeBy, Sampling, Scaling, Tensor, Value, ValueId,
};

/// The element types of an operation's outputs.
pub(super) enum OutputTypes {
    /// That of an input.
    Of(usize),
    /// This one.
    Is(ElementType),
    /// One for each output.
    Each(Vec<ElementType>),
}

/// How many output ports an operation has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ports {
    Exactly(usize),
    /// One or more.
    Some,
}

/// What a layer's type and attributes say.
pub(super) struct ReadOperation {
    pub(super) op: Op,
    pub(super) element: OutputTypes,
    /// The attribute that says the shape of the output, and the shape.
    pub(super) shape: Option<(&'static str, Vec<Dim>)>,
    pub(super) ports: Ports,
    pub(super) ledger: Vec<LedgerEntry>,
    pub(super) then: Then,
}

/// What is left to do when the inputs are known.
pub(super) enum Then {
    Nothing,
    /// Only the first input is read.
    FirstInputOnly,
    /// A quotient of integers is rounded towards zero.
    Truncate,
    /// A second input scales the first.
    Scaled,
    /// It runs along axis 1.
    OfChannels,
    /// Squares of neighbours divide.
    Neighbours(Neighbours),
    /// Data is the third input, scale and shift the first two.
    DataFirst,
    /// Sizes are the second input and scales the third, of which one is read.
    SizesOrScales(bool),
    /// Elements are rounded to one of so many levels of a range, which are levels of another range.
    Quantise(i64),
    /// There is a second output, indices of this type.
    Indices(ElementType),
}

/// The attributes of LRN: `v / (bias + alpha mean(v^2))^beta`, the mean over `size` neighbours along each axis.
pub(super) struct Neighbours {
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) bias: f32,
    pub(super) size: usize,
}

impl ReadOperation {
    /// One output, of the type of the first input.
    pub(super) fn new(op: Op) -> Self {
        let (element, ports) = (OutputTypes::Of(0), Ports::Exactly(1));
        Self { op, element, shape: None, ports, ledger: Vec::new(), then: Then::Nothing }
    }

    /// TensorIterator, Loop or If, with the types of its outputs.
    pub(super) fn with_body(op: Op, elements: Vec<ElementType>) -> Self {
        let ports = Ports::Exactly(elements.len());
        Self::new(op).of(OutputTypes::Each(elements)).ports(ports)
    }

    fn of(self, element: OutputTypes) -> Self {
        Self { element, ..self }
    }

    pub(super) fn ports(self, ports: Ports) -> Self {
        Self { ports, ..self }
    }

    pub(super) fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }
}

/// The element type of what an operation computes of two tensors.
fn element_of(elementwise: Elementwise) -> OutputTypes {
    use Elementwise as E;
    match elementwise {
        E::Equal | E::NotEqual | E::Greater | E::GreaterEqual | E::Less | E::LessEqual => {
            OutputTypes::Is(ElementType::Bool)
        }
        E::LogicalAnd | E::LogicalOr => OutputTypes::Is(ElementType::Bool),
        E::Select => OutputTypes::Of(1),
        _ => OutputTypes::Of(0),
    }
}

const ANY_INTEGER: std::ops::RangeInclusive<i64> = i64::MIN..=i64::MAX;

impl GraphReader<'_, '_> {
    /// What a layer does, by the definition of the operation set `set`. `None` after an error.
    pub(super) fn operation(&mut self, index: usize, set: u64, data: &mut Data) -> Option<ReadOperation> {
        let kind = self.layers[index].kind;
        let operation = match kind {
            LayerType::Parameter => {
                let (element, shape) = self.parameter(index, data)?;
                let shape = Some(("shape", shape));
                ReadOperation { shape, ..ReadOperation::new(Op::Parameter).of(OutputTypes::Is(element)) }
            }
            LayerType::Const => {
                let tensor = self.constant(index, data)?;
                let shape = Some(("shape", tensor.shape().iter().map(|&d| Dim::Fixed(d)).collect()));
                let element = OutputTypes::Is(tensor.element());
                ReadOperation { shape, ..ReadOperation::new(Op::Constant(tensor)).of(element) }
            }
            LayerType::Result => ReadOperation::new(Op::Result),
            LayerType::Convert => {
                let element = self.element_type(index, data, "destination_type", &ElementType::ALL)?;
                ReadOperation::new(Op::Convert).of(OutputTypes::Is(element))
            }
            LayerType::ConvertLike => ReadOperation::new(Op::Convert).then(Then::FirstInputOnly),
            LayerType::Cell(recurrent) => {
                let (cell, _, ledger) = self.cell(index, set, data)?;
                let outputs = if recurrent == Recurrent::Lstm { 2 } else { 1 };
                ReadOperation { ledger, ..ReadOperation::new(Op::Cell(cell)).ports(Ports::Exactly(outputs)) }
            }
            LayerType::Sequence(recurrent) => {
                let (cell, direction, ledger) = self.cell(index, set, data)?;
                let outputs = if recurrent == Recurrent::Lstm { 3 } else { 2 };
                ReadOperation {
                    ledger,
                    ..ReadOperation::new(Op::Sequence(cell, direction)).ports(Ports::Exactly(outputs))
                }
            }
            LayerType::Elementwise(Elementwise::LogicalNot) => {
                ReadOperation::new(Op::Elementwise(Elementwise::LogicalNot)).of(OutputTypes::Is(ElementType::Bool))
            }
            LayerType::Elementwise(elementwise) => ReadOperation::new(Op::Elementwise(elementwise)),
            LayerType::Broadcasting(elementwise) => {
                self.auto_broadcast(index, data)?;
                ReadOperation::new(Op::Elementwise(elementwise)).of(element_of(elementwise))
            }
            LayerType::Divide => {
                let broadcast = self.auto_broadcast(index, data);
                let floors = self.boolean(index, data, "m_pythondiv", Some(true));
                broadcast?;
                let then = if floors? { Then::Nothing } else { Then::Truncate };
                ReadOperation::new(Op::Elementwise(Elementwise::Divide)).then(then)
            }
            LayerType::Clamp => {
                let (min, max) = (self.number(index, data, "min"), self.number(index, data, "max"));
                let (min, max) = (min?, max?);
                // NaN is larger than nothing
                if !matches!(min.partial_cmp(&max), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal)) {
                    let found = format!("min={min} and max={max}");
                    let origin = data.origin_of(self.document, "min").unwrap_or_else(|| self.origin(index));
                    self.error(index, origin, found, "a min that is not larger than max", "correct the bounds");
                    return None;
                }
                ReadOperation::new(Op::Elementwise(Elementwise::Clamp { min: min as f32, max: max as f32 }))
            }
            LayerType::FakeQuantize => {
                let broadcast = self.auto_broadcast(index, data);
                // f32 counts so far without a gap
                let levels = self.whole(index, data, "levels", None, 2..=1 << 24);
                broadcast?;
                ReadOperation::new(Op::Elementwise(Elementwise::Add)).then(Then::Quantise(levels?))
            }
            LayerType::Elu => {
                let alpha = self.number(index, data, "alpha")? as f32;
                if !alpha.is_finite() {
                    let origin = data.origin_of(self.document, "alpha").unwrap_or_else(|| self.origin(index));
                    self.error(index, origin, format!("alpha={alpha}"), "a finite number", "correct the number");
                    return None;
                }
                ReadOperation::new(Op::Elementwise(Elementwise::Activation(Activation::Elu { alpha })))
            }
            LayerType::MatMul => {
                let [a, b] = ["transpose_a", "transpose_b"].map(|name| self.boolean(index, data, name, Some(false)));
                ReadOperation::new(Op::MatMul { transpose_a: a?, transpose_b: b? })
            }
            LayerType::Convolution { grouped, transposed } => self.convolution(index, data, grouped, transposed)?,
            LayerType::MaxPool => self.max_pool(index, set, data)?,
            LayerType::AvgPool => self.average_pool(index, set, data)?,
            LayerType::Pad => {
                let modes = [
                    ("constant", PadMode::Constant),
                    ("edge", PadMode::Edge),
                    ("reflect", PadMode::Reflect),
                    ("symmetric", PadMode::Symmetric),
                ];
                // this one has no default
                self.required(index, data, "pad_mode", "constant, edge, reflect, symmetric")?;
                ReadOperation::new(Op::Pad(self.word(index, data, "pad_mode", "", &modes)?))
            }
            LayerType::Softmax { log } => {
                // only the first definition lacks axes that count from the end
                let range = if log || set >= 8 { ANY_INTEGER } else { 0..=i64::MAX };
                ReadOperation::new(Op::Softmax { axis: self.whole(index, data, "axis", Some(1), range)?, log })
            }
            LayerType::Swish => {
                ReadOperation::new(Op::Elementwise(Elementwise::Swish { scaled: false })).then(Then::Scaled)
            }
            LayerType::Gelu => {
                let modes = [("erf", false), ("tanh", true)];
                let by_tanh = self.word(index, data, "approximation_mode", "erf", &modes)?;
                ReadOperation::new(Op::Elementwise(if by_tanh { Elementwise::GeluTanh } else { Elementwise::Gelu }))
            }
            LayerType::Reduce(reduction) => {
                let keep = self.boolean(index, data, "keep_dims", Some(false))?;
                ReadOperation::new(Op::Reduce { reduction, keep, no_axes: NoAxes::Same })
            }
            LayerType::Mvn => {
                let eps = self.epsilon(index, data, "eps");
                let divides = self.boolean(index, data, "normalize_variance", (set < 6).then_some(true));
                let (first, inside) = if set < 6 {
                    let across = self.boolean(index, data, "across_channels", Some(false))?;
                    (if across { 1 } else { 2 }, true)
                } else {
                    let modes = [("inside_sqrt", true), ("outside_sqrt", false)];
                    (0, self.word(index, data, "eps_mode", "inside_sqrt", &modes)?)
                };
                let (eps, divides) = (eps?, divides?);
                ReadOperation::new(Op::Normalize(Normalization::Variance { first, eps, inside, divides }))
            }
            LayerType::NormalizeL2 => {
                let eps = self.epsilon(index, data, "eps");
                let adds = self.word(index, data, "eps_mode", "add", &[("add", true), ("max", false)]);
                ReadOperation::new(Op::Normalize(Normalization::Length { eps: eps?, adds: adds? }))
            }
            LayerType::Grn => {
                let eps = self.epsilon(index, data, "bias")?;
                ReadOperation::new(Op::Normalize(Normalization::Length { eps, adds: true })).then(Then::OfChannels)
            }
            LayerType::Lrn => {
                let divide = ReadOperation::new(Op::Elementwise(Elementwise::Divide));
                divide.then(Then::Neighbours(self.neighbours(index, data)?))
            }
            LayerType::Roll => ReadOperation::new(Op::Roll),
            LayerType::Eye => {
                let element = self.element_type(index, data, "output_type", &ElementType::ALL)?;
                ReadOperation::new(Op::Eye).of(OutputTypes::Is(element))
            }
            LayerType::BatchNorm => {
                let eps = self.epsilon(index, data, "epsilon")?;
                let then = if set < 5 { Then::DataFirst } else { Then::Nothing };
                ReadOperation::new(Op::Normalize(Normalization::Batch { eps })).then(then)
            }
            LayerType::GroupNorm => {
                let groups = self.whole(index, data, "num_groups", None, 1..=i64::MAX);
                let eps = self.epsilon(index, data, "epsilon")?;
                let groups = usize::try_from(groups?).ok()?;
                ReadOperation::new(Op::Normalize(Normalization::Group { groups, eps }))
            }
            LayerType::Round => {
                let modes = [("half_to_even", true), ("half_away_from_zero", false)];
                if !self.word(index, data, "mode", "half_to_even", &modes)? {
                    let found = "halves that are rounded away from zero";
                    let help = "round to even, or compute this part outside of the model";
                    self.error(index, self.origin(index), found, "half_to_even", help);
                    return None;
                }
                ReadOperation::new(Op::Elementwise(Elementwise::Round))
            }
            LayerType::GatherElements => {
                ReadOperation::new(Op::GatherElements { axis: self.whole(index, data, "axis", None, ANY_INTEGER)? })
            }
            LayerType::GatherNd => {
                let batch_dims = self.whole(index, data, "batch_dims", Some(0), ANY_INTEGER)?;
                ReadOperation::new(Op::GatherNd(GatherNd { batch_dims, flattens_batch: set < 8 }))
            }
            LayerType::Dft(of) => ReadOperation::new(Op::Dft(of)),
            LayerType::Attention => {
                let causal = self.boolean(index, data, "causal", Some(false))?;
                ReadOperation::new(Op::Attention { causal })
            }
            // to the type that it has
            LayerType::Identity => ReadOperation::new(Op::Convert),
            LayerType::TopK => {
                let axis = self.whole(index, data, "axis", None, ANY_INTEGER);
                self.required(index, data, "mode", "max, min")?;
                let largest = self.word(index, data, "mode", "", &[("max", true), ("min", false)]);
                // without an order, any order is right
                let orders = [("value", false), ("none", false), ("index", true)];
                let sorted_by_place = self.word(index, data, "sort", "value", &orders);
                // what the port says holds
                let types = [("i32", ()), ("i64", ())];
                self.word(index, data, "index_element_type", "i32", &types)?;
                // the first of equal elements comes first
                self.boolean(index, data, "stable", Some(false))?;
                let (axis, largest, sorted_by_place) = (axis?, largest?, sorted_by_place?);
                ReadOperation::new(Op::TopK { axis, largest, last: false, sorted_by_place }).ports(Ports::Exactly(2))
            }
            LayerType::CumSum => {
                let [exclusive, reverse] =
                    ["exclusive", "reverse"].map(|name| self.boolean(index, data, name, Some(false)));
                ReadOperation::new(Op::RunningSum { exclusive: exclusive?, reverse: reverse? })
            }
            LayerType::OneHot => {
                let axis = self.whole(index, data, "axis", None, ANY_INTEGER)?;
                ReadOperation::new(Op::OneHot { axis, from_end: false }).of(OutputTypes::Of(2))
            }
            LayerType::Einsum => {
                let equation = self.required(index, data, "equation", "letters for each dimension")?.text.to_owned();
                ReadOperation::new(Op::Einsum { equation })
            }
            LayerType::Interpolate => self.interpolate(index, set, data)?,
            LayerType::Concat => {
                ReadOperation::new(Op::Concat { axis: self.whole(index, data, "axis", None, ANY_INTEGER)? })
            }
            LayerType::Split => {
                let parts = self.whole(index, data, "num_splits", None, 1..=i64::MAX)?;
                let parts = usize::try_from(parts).ok()?;
                ReadOperation::new(Op::Split { parts }).ports(Ports::Exactly(parts))
            }
            LayerType::VariadicSplit => ReadOperation::new(Op::VariadicSplit).ports(Ports::Some),
            LayerType::Reshape => {
                ReadOperation::new(Op::Reshape { zero_keeps: self.boolean(index, data, "special_zero", None)? })
            }
            LayerType::Squeeze => {
                // of opset1, OpenVINO keeps an axis that is not of size 1, and what comes from PyTorch relies on it
                let skip = set < 15 || self.boolean(index, data, "allow_axis_skip", Some(false))?;
                ReadOperation::new(Op::Squeeze { skip })
            }
            LayerType::Unsqueeze => ReadOperation::new(Op::Unsqueeze),
            LayerType::Transpose => ReadOperation::new(Op::Transpose),
            LayerType::Gather => {
                let batch_dims =
                    if set >= 7 { self.whole(index, data, "batch_dims", Some(0), ANY_INTEGER)? } else { 0 };
                ReadOperation::new(Op::Gather { batch_dims })
            }
            LayerType::Slice => ReadOperation::new(Op::Slice),
            LayerType::StridedSlice => {
                let begin_mask = self.mask(index, data, "begin_mask", true);
                let end_mask = self.mask(index, data, "end_mask", true);
                let [new_axis_mask, shrink_axis_mask, ellipsis_mask] =
                    ["new_axis_mask", "shrink_axis_mask", "ellipsis_mask"].map(|n| self.mask(index, data, n, false));
                ReadOperation::new(Op::StridedSlice {
                    begin_mask: begin_mask?,
                    end_mask: end_mask?,
                    new_axis_mask: new_axis_mask?,
                    shrink_axis_mask: shrink_axis_mask?,
                    ellipsis_mask: ellipsis_mask?,
                })
            }
            LayerType::ReverseSequence => {
                let batch_axis = self.whole(index, data, "batch_axis", Some(0), ANY_INTEGER);
                let seq_axis = self.whole(index, data, "seq_axis", Some(1), ANY_INTEGER);
                ReadOperation::new(Op::ReverseSequence { batch_axis: batch_axis?, seq_axis: seq_axis? })
            }
            LayerType::ScatterUpdate => ReadOperation::new(Op::ScatterUpdate),
            LayerType::ScatterNd | LayerType::ScatterElements => {
                let combine = match set {
                    // these define one
                    12.. => {
                        let reductions = [
                            ("none", None),
                            ("sum", Some(Elementwise::Add)),
                            ("prod", Some(Elementwise::Multiply)),
                            ("max", Some(Elementwise::Maximum)),
                            ("min", Some(Elementwise::Minimum)),
                        ];
                        self.word(index, data, "reduction", "none", &reductions)?
                    }
                    _ => None,
                };
                if kind == LayerType::ScatterNd {
                    ReadOperation::new(Op::ScatterNd { combine })
                } else {
                    if set >= 12 && !self.boolean(index, data, "use_init_val", Some(true))? && combine.is_some() {
                        let found = "a reduction without the initial values";
                        self.error(index, self.origin(index), found, "use_init_val=true", "scatter to a constant");
                        return None;
                    }
                    ReadOperation::new(Op::ScatterElements { combine })
                }
            }
            LayerType::Blocks { to_space } => {
                let size = self.whole(index, data, "block_size", Some(1), 1..=i64::MAX)?;
                let modes = [("blocks_first", false), ("depth_first", true)];
                self.required(index, data, "mode", "blocks_first, depth_first")?;
                let channel_first = self.word(index, data, "mode", "", &modes)?;
                let size = usize::try_from(size).ok()?;
                ReadOperation::new(Op::Blocks(Blocks { size, to_space, channel_first }))
            }
            LayerType::Broadcast => {
                let explicit = ("explicit", BroadcastMode::Explicit);
                let numpy = ("numpy", BroadcastMode::Numpy);
                let mode = match set {
                    // this is how the first definition's explicit mode is written
                    ..3 => self.word(index, data, "mode", "numpy", &[numpy, explicit, ("none", explicit.1)])?,
                    _ => {
                        let bidirectional = ("bidirectional", BroadcastMode::Bidirectional);
                        self.word(index, data, "mode", "numpy", &[numpy, bidirectional, explicit])?
                    }
                };
                ReadOperation::new(Op::Broadcast(mode))
            }
            LayerType::Tile => ReadOperation::new(Op::Tile),
            LayerType::ShapeOf => {
                let types = [("i64", ElementType::I64), ("i32", ElementType::I32)];
                let element = match set {
                    ..3 => ElementType::I64,
                    _ => self.word(index, data, "output_type", "i64", &types)?,
                };
                ReadOperation::new(Op::ShapeOf).of(OutputTypes::Is(element))
            }
            LayerType::Range => {
                let element = match set {
                    ..4 => OutputTypes::Of(0),
                    _ => OutputTypes::Is(self.element_type(
                        index,
                        data,
                        "output_type",
                        &[ElementType::F32, ElementType::I32, ElementType::I64],
                    )?),
                };
                ReadOperation::new(Op::Range).of(element)
            }
            LayerType::ReadValue => self.read_value(index, set, data)?,
            LayerType::Assign => {
                let variable = self.variable(index, data);
                self.no_variables_here(index)?;
                ReadOperation::new(Op::Assign { variable: variable? })
            }
            // their bodies are graphs
            LayerType::TensorIterator | LayerType::Loop | LayerType::If | LayerType::Unknown => return None,
        };
        Some(operation)
    }

    /// What is added to a variance or the like.
    fn epsilon(&mut self, index: usize, data: &mut Data, name: &'static str) -> Option<f32> {
        self.number(index, data, name).map(|eps| eps as f32)
    }

    fn read_value(&mut self, index: usize, set: u64, data: &mut Data) -> Option<ReadOperation> {
        let variable = self.variable(index, data);
        self.no_variables_here(index)?;
        const SHAPE: &str = "sizes separated by commas, ? where a size is not known, ... where nothing is";
        let (mut element, mut shape) = (Some(None), Some(None));
        if set >= 6 {
            element = match data.peek(self.document, "variable_type") {
                Some("dynamic") => data.take(self.document, "variable_type").map(|_| None),
                Some(_) => self.element_type(index, data, "variable_type", &COMPUTED).map(Some),
                None => element,
            };
            if let Some(given) = data.take(self.document, "variable_shape").filter(|given| given.text.trim() != "...") {
                shape = parse_shape(given.text).map(Some);
                if shape.is_none() {
                    let found = format!("variable_shape={}", quoted(given.text));
                    self.error(index, given.origin, found, SHAPE, "correct the shape");
                }
            }
        }
        let (variable, shape, element) = (variable?, shape?, element?);
        let stated = shape.clone().map(|shape| ("variable_shape", shape));
        let op = ReadOperation::new(Op::ReadValue { variable, shape, element });
        Some(ReadOperation { shape: stated, ..op.of(element.map_or(OutputTypes::Of(0), OutputTypes::Is)) })
    }

    fn variable(&mut self, index: usize, data: &mut Data) -> Option<String> {
        let given = self.required(index, data, "variable_id", "the name of a variable, any text")?;
        Some(given.text.to_owned())
    }

    /// Another size.
    fn interpolate(&mut self, index: usize, set: u64, data: &mut Data) -> Option<ReadOperation> {
        self.required(index, data, "mode", "nearest, linear_onnx, cubic")?;
        let a = match data.origin_of(self.document, "cube_coeff") {
            Some(_) => self.number(index, data, "cube_coeff")? as f32,
            None => -0.75,
        };
        let modes = [
            ("nearest", Sampling::Nearest(Nearest::Simple)),
            ("linear_onnx", Sampling::Linear),
            ("cubic", Sampling::Cubic { a, exclude_outside: false }),
        ];
        let mut sampling = self.word(index, data, "mode", "", &modes)?;
        let by = [("sizes", true), ("scales", false)];
        self.required(index, data, "shape_calculation_mode", "sizes, scales")?;
        let by_size = self.word(index, data, "shape_calculation_mode", "", &by);
        let scalings = [
            ("half_pixel", Scaling::HalfPixel),
            ("pytorch_half_pixel", Scaling::PytorchHalfPixel),
            ("asymmetric", Scaling::Asymmetric),
            ("align_corners", Scaling::AlignCorners),
            ("tf_half_pixel_for_nn", Scaling::HalfPixelForNearest),
        ];
        let scaling = self.word(index, data, "coordinate_transformation_mode", "half_pixel", &scalings);
        let modes = [
            ("round_prefer_floor", Nearest::RoundPreferFloor),
            ("round_prefer_ceil", Nearest::RoundPreferCeil),
            ("floor", Nearest::Floor),
            ("ceil", Nearest::Ceil),
            ("simple", Nearest::Simple),
        ];
        let nearest = self.word(index, data, "nearest_mode", "round_prefer_floor", &modes);
        self.word(index, data, "antialias", "false", &[("false", ()), ("0", ())])?;
        for name in ["pads_begin", "pads_end"] {
            let pads = self.integers(index, data, name, false)?;
            if pads.iter().any(|&pad| pad != 0) {
                let found = format!("{name} that are not 0");
                self.error(index, self.origin(index), found, "0", "pad by a layer of its own");
                return None;
            }
        }
        let by_size = by_size?;
        let nearest = nearest?;
        if matches!(sampling, Sampling::Nearest(_)) {
            sampling = Sampling::Nearest(nearest);
        }
        let by = if by_size { ResizeBy::Sizes } else { ResizeBy::Factors };
        let resize = Resize { by, scaling: scaling?, sampling };
        let then = if set < 11 { Then::SizesOrScales(by_size) } else { Then::Nothing };
        Some(ReadOperation::new(Op::Resize(resize)).then(then))
    }

    /// Refuses a variable in a body: OpenVINO has none there.
    fn no_variables_here(&mut self, index: usize) -> Option<()> {
        if self.is_body() {
            let found = "a variable inside the body of a TensorIterator, Loop or If";
            let help = "carry the value from iteration to iteration by a back edge";
            self.error(index, self.origin(index), found, "ReadValue and Assign outside of bodies", help);
            return None;
        }
        Some(())
    }

    /// Does what could not be done before the inputs were known. `None` after an error.
    pub(super) fn complete(
        &mut self,
        index: usize,
        operation: &mut ReadOperation,
        inputs: &mut Vec<ValueId>,
    ) -> Option<()> {
        match &operation.then {
            Then::Nothing => {}
            Then::FirstInputOnly => {
                let [_, like] = inputs[..] else {
                    let found = format!("ConvertLike with another number of inputs: {}", inputs.len());
                    self.error(index, self.origin(index), found, "two inputs", SAVE_AGAIN);
                    return None;
                };
                operation.element = OutputTypes::Is(self.graph.model.values[like.0].element);
                inputs.truncate(1);
            }
            Then::OfChannels => {
                let axis = Tensor::from_i64(vec![1], &[1])?;
                inputs.push(self.extra(index, Op::Constant(axis), Vec::new()));
            }
            Then::Neighbours(of) => self.norm_of_neighbours(index, of, inputs)?,
            Then::Scaled => {
                let scaled = inputs.len() > 1;
                operation.op = Op::Elementwise(Elementwise::Swish { scaled });
            }
            Then::DataFirst => {
                if inputs.len() == 5 {
                    inputs[..3].rotate_right(1);
                    operation.element = OutputTypes::Is(self.graph.model.values[inputs[0].0].element);
                }
            }
            &Then::SizesOrScales(sizes) => {
                if inputs.len() > 2 {
                    inputs.remove(if sizes { 2 } else { 1 });
                }
            }
            &Then::Indices(indices) => {
                let first = inputs.first().map_or(ElementType::F32, |x| self.graph.model.values[x.0].element);
                operation.element = OutputTypes::Each(vec![first, indices]);
            }
            &Then::Quantise(levels) => self.quantise(index, levels, inputs)?,
            Then::Truncate => {
                // a - a mod b is a multiple of b, whichever way a quotient is rounded
                let [a, b] = inputs[..] else { return Some(()) };
                if !self.graph.model.values[a.0].element.is_float() {
                    let rest = self.extra(index, Op::Elementwise(Elementwise::Mod), vec![a, b]);
                    inputs[0] = self.extra(index, Op::Elementwise(Elementwise::Subtract), vec![a, rest]);
                }
            }
        }
        Some(())
    }

    /// `x` between `input_low` and `input_high` to the nearest of `levels` equal steps, each of which is one from `output_low` to `output_high`; ties
    /// go to the even step. What is left is the sum of what `inputs` become.
    fn quantise(&mut self, index: usize, levels: i64, inputs: &mut Vec<ValueId>) -> Option<()> {
        use Elementwise as E;
        let [x, input_low, input_high, output_low, output_high] = inputs[..] else {
            let found = format!("FakeQuantize with another number of inputs: {}", inputs.len());
            self.error(index, self.origin(index), found, "five inputs", SAVE_AGAIN);
            return None;
        };
        let ends = [input_low, input_high].map(|end| self.known(end));
        let [Some(low), Some(high)] = ends else {
            let found = "FakeQuantize with a range that is not constant";
            let valid = "constants for input_low and input_high";
            self.error(index, self.origin(index), found, valid, "make the range constant");
            return None;
        };
        let (lowest, highest) = (low.len().max(1), high.len().max(1));
        let pairs = (0..lowest.max(highest)).map(|at| (low.get_f32(at % lowest), high.get_f32(at % highest)));
        if let Some((low, high)) = { pairs }.find(|(low, high)| low.partial_cmp(high) != Some(std::cmp::Ordering::Less))
        {
            let found = format!("FakeQuantize from {low} to {high}");
            self.error(index, self.origin(index), found, "an input_low below input_high", "correct the range");
            return None;
        }
        let elementwise = |reader: &mut Self, function: E, of: [ValueId; 2]| {
            reader.extra(index, Op::Elementwise(function), of.to_vec())
        };
        let steps = Tensor::from_f32(Vec::new(), &[(levels - 1) as f32])?;
        let steps = self.extra(index, Op::Constant(steps), Vec::new());
        let above = elementwise(self, E::Maximum, [x, input_low]);
        let within = elementwise(self, E::Minimum, [above, input_high]);
        let from_low = elementwise(self, E::Subtract, [within, input_low]);
        let range = elementwise(self, E::Subtract, [input_high, input_low]);
        let each = elementwise(self, E::Divide, [steps, range]);
        let level = elementwise(self, E::Multiply, [from_low, each]);
        let level = self.extra(index, Op::Elementwise(E::Round), vec![level]);
        let range = elementwise(self, E::Subtract, [output_high, output_low]);
        let each = elementwise(self, E::Divide, [range, steps]);
        *inputs = vec![elementwise(self, E::Multiply, [level, each]), output_low];
        Some(())
    }

    /// A constant of the model, converted or not.
    pub(super) fn known(&self, value: ValueId) -> Option<Tensor> {
        let node = self.graph.model.nodes.iter().find(|node| node.outputs.contains(&value))?;
        match &node.op {
            Op::Constant(tensor) => Some(tensor.clone()),
            Op::Convert => self.known(*node.inputs.first()?),
            _ => None,
        }
    }

    /// A node that is not written down, on the way to a layer's own.
    pub(super) fn extra(&mut self, index: usize, op: Op, inputs: Vec<ValueId>) -> ValueId {
        let element = match (&op, inputs.first()) {
            (Op::Constant(tensor), _) => tensor.element(),
            (_, input) => input.map_or(ElementType::I64, |input| self.graph.model.values[input.0].element),
        };
        let value = self.graph.add(Value { names: Vec::new(), shape: None, element, origin: self.origin(index) });
        self.node(index, op, inputs, vec![value], Vec::new());
        value
    }

    /// How shapes are aligned: as NumPy does, or not at all, which only equal shapes are.
    fn auto_broadcast(&mut self, index: usize, data: &mut Data) -> Option<()> {
        let rules = [("numpy", true), ("none", false), ("explicit", false)];
        if self.word(index, data, "auto_broadcast", "numpy", &rules)? || self.states_equal_inputs(index) {
            return Some(());
        }
        let found = "auto_broadcast is not numpy, and the input ports do not state one shape";
        let help = "write auto_broadcast=\"numpy\" if that is meant, else give all inputs the same shape";
        self.error(index, self.origin(index), found, "numpy, or inputs of one shape", help);
        None
    }

    /// Whether all input ports state the same sizes, none of them open.
    fn states_equal_inputs(&self, index: usize) -> bool {
        let document = self.document;
        let side = document.children_named(self.layers[index].element, "input").next();
        let ports = side.into_iter().flat_map(|side| document.children_named(side, "port"));
        let mut shapes = ports
            .map(|port| document.children_named(port, "dim").map(|dim| document.text(dim).trim()).collect::<Vec<_>>());
        let Some(first) = shapes.next() else { return true };
        !first.iter().any(|size| size.starts_with('-')) && shapes.all(|shape| shape == first)
    }
}
