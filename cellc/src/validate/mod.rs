//! Checks models of all readers and determines every size.
//!
//! This is the only place where legality is decided: after it, nothing can fail.

mod arrange;
mod attention;
mod axes;
mod batch;
mod best;
mod branches;
mod cell;
mod choices;
mod common_interface;
mod computed_weights;
mod convolution;
mod cut;
mod einsum;
mod elementwise;
mod empty;
mod export;
mod fold;
mod history;
mod hyperbolic;
mod integers;
mod interface;
mod language_alone;
mod layout;
mod limits;
mod lookup;
mod loops;
mod matmul;
mod mistaken;
mod normalize;
mod one_step;
mod parameters;
mod places;
mod precision;
mod prefixes;
mod ranges;
mod reduce;
mod regrouped;
mod rounding;
mod scatter;
mod sequence;
mod shape;
mod states;
mod steps;
mod structure;
#[cfg(test)]
mod tests;
mod threads;
mod transform;
mod trials;
mod until;
mod uses;
mod variables;

use std::collections::HashMap;

use crate::core::{
    CoreModel, CoreNode, CoreOp, CoreValue, LayerPlace, Parameter, ResultValue, Source,
};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Severity};
use crate::model::{Dim, ElementType, Model, Node, Op, Tensor, ValueId, shape_text};
use crate::request::{Options, State};
use crate::simplify::sweep;
use axes::SequenceAxes;
use batch::BatchAxes;
use interface::names;
use limits::{MOST_DIMS, MOST_ELEMENTS, MOST_FOLDED_ALONE, MOST_LOOKED_AT, MOST_OPERATIONS};
use rounding::rounded;
pub(crate) use states::{SEES_ONE_CALL, STARTS_ANEW};
use uses::Uses;
use variables::Variables;

/// The remedy for a model that no reader should have made.
const MALFORMED: &str = "no input file can express this model: correct the code that built it";

/// The remedy for an operation on constants without a result.
const UNDEFINED: &str = "correct the constants it is given";

/// The names of a Parameter: the names of the tensor, then of the node.
pub fn parameter_names(model: &Model, node: usize) -> Vec<String> {
    let node = &model.nodes[node];
    names(&[&model.values[node.outputs[0].0].names], &node.name)
}

/// Checks a model and fixes every open size. Returns the valid model and the warnings.
///
/// # Errors
/// Everything that is wrong with the model, or with the options for it, warnings included.
pub fn validate(model: &Model, options: &Options) -> Result<(CoreModel, Diagnostics), Diagnostics> {
    validate_and_advise(model, options, Purpose::Compile)
}

/// True if a hint that gives these options can be followed.
fn is_right(model: &Model, options: &Options) -> bool {
    validate_and_advise(model, options, Purpose::Trial).is_ok()
}

/// As [`validate`], for a purpose.
fn validate_and_advise(
    model: &Model,
    options: &Options,
    purpose: Purpose,
) -> Result<(CoreModel, Diagnostics), Diagnostics> {
    let with = |open: Option<usize>| {
        let mut validation = Validation::new(model, options, purpose);
        validation.sizes.open = open;
        validation.run();
        validation
    };
    let mut validation = with(None);
    let warnings = validation.single_steps();
    let validated = if validation.diagnostics.has_errors() {
        // perhaps only the number of steps is missing
        let errors =
            validation.diagnostics.0.iter().filter(|d| d.severity == Severity::Error).count();
        let is_open = errors == validation.sizes.unknown_sizes;
        let refused = std::mem::take(&mut validation.diagnostics);
        steps::validate(model, is_open, with).unwrap_or(Err(refused)).map_err(|mut diagnostics| {
            validation.advise_sizes(&mut diagnostics);
            diagnostics
        })
    } else {
        validation.diagnostics.extend(validation.over_time.restart_warnings);
        Ok((validation.valid, validation.diagnostics))
    };
    let with_warnings = |mut diagnostics: Diagnostics| {
        diagnostics.0.extend(warnings);
        diagnostics
    };
    match validated {
        Ok((valid, diagnostics)) => Ok((valid, with_warnings(diagnostics))),
        Err(diagnostics) => Err(with_warnings(diagnostics)),
    }
}

/// The errors in a partly read model: sizes may be open, values may have no producer.
pub(crate) fn problems(model: &Model) -> Diagnostics {
    let options = Options::default().with_state(State::None);
    let mut validation = Validation::new(model, &options, Purpose::Partial);
    validation.run();
    let mut diagnostics = validation.diagnostics;
    diagnostics.0.retain(|d| d.severity == Severity::Error);
    diagnostics
}

/// A tensor during validation.
#[derive(Clone, Debug)]
enum Known {
    /// A compile-time tensor with the element type of the model. The bytes may have another type
    /// with equal values.
    Constant(Tensor, ElementType),
    /// Anything else. Never a constant.
    Source(Source, ElementType),
    /// The number of a loop's iteration, of this shape.
    Iteration(Vec<usize>, ElementType),
}

impl Known {
    fn element(&self) -> ElementType {
        match self {
            Self::Constant(_, element) | Self::Source(_, element) | Self::Iteration(_, element) => {
                *element
            }
        }
    }

    fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Constant(tensor, _) => Some(tensor),
            Self::Source(..) | Self::Iteration(..) => None,
        }
    }
}

/// The identity of a constant: bytes, element type, shape.
type ConstantKey = (*const u8, usize, ElementType, Vec<usize>);

/// The reason for a validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Compilation: hints may validate the model with other options.
    Compile,
    /// A trial of a hint.
    Trial,
    /// More problems of a model of which only a part was read; the reader has reported the rest.
    Partial,
}

/// The sizes of the inputs.
#[derive(Default)]
struct Sizes {
    /// By parameter of the model.
    uses: Vec<Uses>,
    /// By parameter of the model.
    batch_axes: Vec<BatchAxes>,
    /// By parameter.
    sequence_axes: Vec<Option<SequenceAxes>>,
    /// By parameter of the model; `None` after an error.
    shapes: Vec<Option<Vec<usize>>>,
    /// The assumed size of unknown axes except the first. `None`: an unknown size is an error.
    open: Option<usize>,
    /// The number of errors about open sizes of inputs.
    unknown_sizes: usize,
    /// By parameter of the model: the axes with the assumed size.
    open_axes: Vec<Vec<usize>>,
}

/// The places of constants in the list.
#[derive(Default)]
struct Interned {
    /// By identity.
    places: HashMap<ConstantKey, usize>,
    /// Constants of one element that the model does not contain, by their bits.
    scalars: HashMap<u32, Tensor>,
}

/// What later checks of steps and states need of the model's layers.
#[derive(Default)]
struct TimeFindings<'a> {
    /// Recurrent layers by their last states, loops by their carried values, products by their
    /// results.
    layers: HashMap<usize, &'a Node>,
    /// The largest constant number of steps, with its reader, if the number of steps of X is open
    /// and no row has as many.
    most_lengths: Option<(usize, &'a Node)>,
    /// The operations whose windows reach in front of the first element of an axis.
    lookbacks: Vec<history::Lookback<'a>>,
    /// The first window that is longer than its axis.
    short_of: Option<steps::ShortOf>,
    /// Warnings about layers that start anew at every call, dropped if their states are kept.
    restart_warnings: Diagnostics,
}

/// The place in the current graph: the model, or the body of a loop.
#[derive(Default)]
struct Current {
    /// The operations of the graph.
    nodes: Vec<CoreNode>,
    /// The nesting depth of loops.
    depth: usize,
    /// The current node.
    layer: LayerPlace,
}

/// The work so far, for limits.
#[derive(Default)]
struct Spent {
    /// The number of visited nodes; nodes of bodies count once per iteration.
    looked_at: usize,
    /// The number of operations, including those of bodies.
    operations: usize,
    /// The work of operations on constants.
    folded: limits::Folded,
}

/// Loops that cannot stay loops, and lengths that are known only at run time.
#[derive(Default)]
struct Loops {
    /// True if a loop failed because of its form, not because of its body.
    wants_unrolling: bool,
    /// True if a loop failed because of its run-time condition.
    wants_condition: bool,
    /// True if a loop takes its upper limit from the options.
    needs_max_steps: bool,
    /// By value: run-time lengths of outputs of loops that end by a condition.
    endings: HashMap<usize, until::Ending>,
    /// The run-time length that the current operation passes on.
    hands_on: Option<until::Ending>,
}

/// Values of integers.
#[derive(Default)]
struct IntegerValues {
    /// By value: the range of the integers.
    ranges: HashMap<usize, integers::Range>,
    /// By value: the integer input with these elements; true if the value has all elements in
    /// order.
    parameter_of: HashMap<usize, (usize, bool)>,
}

/// Values of which later operations need a part.
#[derive(Default)]
struct Cuts<'a> {
    /// Values from which a slice may remove the end.
    cuttable: HashMap<ValueId, cut::Cuttable<'a>>,
    /// By value without the elements across line ends of a convolution: the value with these
    /// elements, and the selection.
    lines: HashMap<usize, (usize, shape::Geometry)>,
}

/// The check of a model and its translation to core operations.
struct Validation<'a> {
    /// The current graph: the model, or the body of a loop.
    model: &'a Model,
    options: &'a Options,
    purpose: Purpose,
    diagnostics: Diagnostics,
    /// By value; `None` before its node, after its last reader, or after an error.
    known: Vec<Option<Known>>,
    interned: Interned,
    sizes: Sizes,
    over_time: TimeFindings<'a>,
    variables: Variables<'a>,
    current: Current,
    spent: Spent,
    loops: Loops,
    integers: IntegerValues,
    cuts: Cuts<'a>,
    /// The core model so far.
    valid: CoreModel,
}

impl<'a> Validation<'a> {
    fn new(model: &'a Model, options: &'a Options, purpose: Purpose) -> Self {
        let count = model.parameters.len();
        Self {
            model,
            options,
            purpose,
            diagnostics: Diagnostics::default(),
            known: vec![None; model.values.len()],
            interned: Interned::default(),
            sizes: Sizes {
                uses: vec![Uses::default(); count],
                shapes: vec![None; count],
                open_axes: vec![Vec::new(); count],
                ..Sizes::default()
            },
            over_time: TimeFindings::default(),
            variables: Variables::default(),
            current: Current::default(),
            spent: Spent::default(),
            loops: Loops::default(),
            integers: IntegerValues::default(),
            cuts: Cuts::default(),
            valid: CoreModel {
                name: model.name.clone(),
                files: model.files.clone(),
                ..CoreModel::default()
            },
        }
    }

    /// True if only a part of the model was read.
    fn is_partial(&self) -> bool {
        self.purpose == Purpose::Partial
    }

    /// True if hints may validate the model with other options.
    fn tries_hints(&self) -> bool {
        self.purpose == Purpose::Compile
    }

    fn run(&mut self) {
        if !self.structure(self.model, 0) {
            return;
        }
        self.instruction_sets();
        self.read_uses();
        self.sizes.sequence_axes = axes::sequence_axes(self.model);
        self.sizes.batch_axes = self.batch_axes();
        self.sizes.shapes = self.parameter_shapes();
        for (index, &node) in self.model.parameters.iter().enumerate() {
            let node = &self.model.nodes[node];
            let value = &self.model.values[node.outputs[0].0];
            self.valid.parameters.push(Parameter {
                names: names(&[&value.names[..]], &node.name),
                shape: self.sizes.shapes[index].clone().unwrap_or_default(),
                element: value.element,
                weight: self.sizes.uses[index].weight.is_some(),
                length: None,
                rows: None,
            });
            // shapes that are not known have been reported
            if self.sizes.shapes[index].is_some() {
                let is_number = value.element.is_float() || self.sizes.uses[index].is_length();
                let known = match is_number {
                    true => Known::Source(Source::Parameter(index), value.element),
                    false => self.integers_of(node, index, value.element),
                };
                self.known[node.outputs[0].0] = Some(known);
            }
        }
        // before anything is made of their sizes
        if !self.interface_size(&[]) {
            return;
        }
        let mut results: HashMap<usize, ResultValue> = HashMap::new();
        self.graph(|this, index, node| {
            if let Some(result) = this.result(node) {
                results.insert(index, result);
            }
        });
        self.valid.nodes = std::mem::take(&mut self.current.nodes);
        self.assignments();
        if self.is_partial() || self.diagnostics.has_errors() {
            return;
        }
        assert_eq!(
            results.len(),
            self.model.results.len(),
            "validate: an output is missing and nothing was said"
        );
        self.valid.results =
            self.model.results.iter().filter_map(|node| results.remove(node)).collect();
        self.say_mistaken();
        self.say_endings();
        self.unneeded_count();
        let outputs: Vec<Vec<usize>> =
            self.valid.results.iter().map(|result| result.shape.clone()).collect();
        if !self.interface_size(&outputs.iter().map(Vec::as_slice).collect::<Vec<_>>()) {
            return;
        }
        self.weights_read_otherwise();
        self.states();
        sweep(&mut self.valid);
        self.limits_of_integers();
        self.beside_given_weights();
        self.layers_in_f32();
        self.total_size();
        self.source_size();
        self.precision();
        self.threads();
        self.common_interface();
        self.language_alone();
    }

    /// Visits every node of the graph in order. The caller handles Results.
    fn graph(&mut self, mut result: impl FnMut(&mut Self, usize, &'a Node)) {
        let model = self.model;
        let mut readers = vec![0usize; model.values.len()];
        model.nodes.iter().flat_map(|node| &node.inputs).for_each(|input| readers[input.0] += 1);
        let between = if self.current.depth == 0 { cut::between(model) } else { Vec::new() };
        for (index, node) in model.nodes.iter().enumerate() {
            self.spent.looked_at += 1;
            let outer = if self.current.depth == 0 { index } else { self.current.layer.outer };
            self.current.layer = LayerPlace { outer, inner: index };
            if self.spent.looked_at > MOST_LOOKED_AT && self.current.depth > 0 {
                self.bodies_too_large(node);
                return;
            }
            match &node.op {
                Op::Result => result(self, index, node),
                // whoever looks at the graph knows what they are
                Op::Parameter => {}
                // an empty tensor may stand for an input that is left out
                Op::Constant(_) if readers[node.outputs[0].0] == 0 => {}
                _ if self.reads_iteration(node)
                    || self.reads_open_end(node)
                    || self.reads_empty(node) => {}
                op => self.operation(node, op),
            }
            self.loops.hands_on = None;
            if node.outputs.first().is_some_and(|output| between.get(output.0) == Some(&true)) {
                self.keep_for_cut(node);
            }
            // folded weights are large: they go when nothing needs them any more
            for input in &node.inputs {
                readers[input.0] -= 1;
                if readers[input.0] == 0 {
                    self.known[input.0] = None;
                }
            }
        }
    }

    fn operation(&mut self, node: &'a Node, op: &'a Op) {
        match op {
            Op::Parameter | Op::Result => {}
            Op::Constant(tensor) => self.constant(node, tensor),
            Op::Convert => self.convert(node),
            Op::Cell(cell) => self.cell(node, cell, None),
            Op::Sequence(cell, direction) => self.cell(node, cell, Some(*direction)),
            Op::Elementwise(function) => {
                self.elementwise(node, *function);
                self.range_of_difference(node, *function);
            }
            Op::MatMul { transpose_a, transpose_b } => {
                self.matmul(node, *transpose_a, *transpose_b);
                self.range_of_products(node, op);
            }
            Op::Softmax { axis, log } => self.softmax(node, *axis, *log),
            Op::Reduce { reduction, keep, no_axes } => {
                self.reduce(node, *reduction, *keep, *no_axes)
            }
            Op::Normalize(normalization) => self.normalize(node, *normalization),
            Op::Concat { axis } => self.concat(node, *axis),
            Op::Split { parts } => self.split(node, *parts),
            Op::VariadicSplit => self.variadic_split(node),
            Op::Reshape { zero_keeps } => self.reshape(node, *zero_keeps),
            Op::Squeeze { skip } => self.squeeze(node, *skip),
            Op::Unsqueeze => self.unsqueeze(node),
            Op::Transpose => self.transpose(node),
            Op::Gather { batch_dims } => self.gather(node, *batch_dims),
            Op::Slice => self.slice(node),
            Op::StridedSlice { .. } => self.strided_slice(node, op),
            Op::Broadcast(mode) => self.broadcast(node, *mode),
            Op::ReverseSequence { batch_axis, seq_axis } => {
                self.reverse_sequence(node, *batch_axis, *seq_axis)
            }
            Op::ScatterUpdate => self.scatter_update(node),
            Op::ScatterNd { combine } => self.scatter_nd(node, *combine),
            Op::ScatterElements { combine } => self.scatter_elements(node, *combine),
            Op::GatherElements { axis } => self.gather_elements(node, *axis),
            Op::GatherNd(of) => self.gather_nd(node, *of),
            Op::Dft(of) => self.dft(node, *of),
            Op::Stft { half } => self.stft(node, *half),
            Op::SpectralWindow(of) => self.spectral_window(node, *of),
            Op::MelWeights => self.mel_weights(node),
            Op::Attention { causal } => self.attention(node, *causal),
            Op::Tile => self.tile(node),
            Op::RunningSum { exclusive, reverse } => self.running_sum(node, *exclusive, *reverse),
            Op::OneHot { axis, from_end } => self.one_hot(node, *axis, *from_end),
            Op::Triangle { upper } => self.triangle(node, *upper),
            Op::EyeLike { diagonal } => self.eye_like(node, *diagonal),
            Op::Eye => self.eye(node),
            Op::Roll => self.roll(node),
            Op::Unread(why) => self.unread(node, why),
            Op::Blocks(of) => self.blocks(node, *of),
            Op::Einsum { equation } => self.einsum(node, equation),
            Op::Resize(of) => self.resize(node, *of),
            Op::ShapeOf => self.shape_of_op(node),
            Op::Range => self.range(node),
            Op::ReadValue { variable, shape, element } => {
                self.read_value(node, variable, shape.as_deref(), *element);
            }
            Op::Assign { variable } => self.assign(node, variable),
            Op::Convolution(of) => {
                self.convolution(node, of);
                self.range_of_products(node, op);
            }
            Op::Pool(of) => self.pool(node, of),
            Op::Pad(mode) => self.pad(node, *mode),
            Op::TopK { axis, largest, last, sorted_by_place } => {
                self.top_k(node, *axis, *largest, *last, *sorted_by_place);
            }
            Op::Loop(body) => self.iterate(node, body),
            Op::If(choice) => self.choose(node, choice),
        }
    }

    fn bodies_too_large(&mut self, node: &Node) {
        let found = "loops of too many layers and iterations";
        let valid = format!(
            "{MOST_LOOKED_AT} layers or fewer, those of loops that are written out counted again \
             and again"
        );
        self.error_of_many(node, found, valid, "let every iteration compute the same");
    }

    /// Refuses values computed from the number of an iteration: neither shapes nor kernels know the
    /// number.
    fn reads_iteration(&mut self, node: &Node) -> bool {
        let reads = node
            .inputs
            .iter()
            .any(|input| matches!(self.known[input.0], Some(Known::Iteration(..))));
        if !reads || node.op == Op::ShapeOf {
            return false;
        }
        self.iteration_is_read(node);
        true
    }

    fn iteration_is_read(&mut self, node: &Node) {
        self.loops.wants_unrolling = true;
        let found = "the number of the iteration is read";
        let help =
            "rewrite the body so that every iteration computes the same from what it is given";
        self.error(node, &node.origin, found, "a body that does not depend on it", help);
    }

    fn constant(&mut self, node: &Node, tensor: &Tensor) {
        let value = node.outputs[0];
        if tensor.len() > MOST_ELEMENTS {
            self.too_large(node, &self.model.values[value.0].origin, tensor.shape(), MOST_ELEMENTS);
        } else {
            self.spent.folded.given(tensor);
            self.valid.has_bytes |= matches!(tensor.element(), ElementType::I8 | ElementType::U8);
            self.known[value.0] = Some(Known::Constant(tensor.clone(), tensor.element()));
        }
    }

    fn convert(&mut self, node: &Node) {
        let element = self.model.values[node.outputs[0].0].element;
        let Some(known) = self.input(node, 0) else { return };
        let before = known.element();
        let converted = match known {
            Known::Constant(tensor, _) if element.is_float() => {
                // what was computed when compiling is f32 whatever it is called
                let same = before == element
                    || tensor.element() == ElementType::F32 && before != ElementType::F32;
                let same = same && before.is_float();
                match Some(&tensor).filter(|_| !same).and_then(|tensor| rounded(tensor, element)) {
                    None => Known::Constant(tensor, element),
                    Some(rounded) => {
                        let Some(()) = self.folds(node, rounded.len(), element) else { return };
                        Known::Constant(rounded, element)
                    }
                }
            }
            Known::Constant(tensor, _) => {
                let Some(()) = self.foldable(node, tensor.shape(), element) else { return };
                match fold::to_integers(&tensor, element) {
                    Ok(tensor) => Known::Constant(tensor, element),
                    Err(reason) => {
                        self.error(
                            node,
                            &node.origin,
                            reason,
                            "an operation that has a result",
                            UNDEFINED,
                        );
                        return;
                    }
                }
            }
            Known::Source(source @ Source::Parameter(i), _)
                if self.sizes.uses[i].is_length() && !element.is_float() =>
            {
                Known::Source(source, element)
            }
            Known::Source(source, _) if element.is_float() && before.is_float() => {
                if matches!(element, ElementType::F16 | ElementType::Bf16) && before != element {
                    let found = format!(
                        "the conversion from {} to {} has no effect: the generated code computes \
                         in f32",
                        before.name(),
                        element.name()
                    );
                    self.diagnostics
                        .push(Diagnostic::warning(node.origin.clone(), found).layer(node.label()));
                }
                Known::Source(source, element)
            }
            Known::Source(..) | Known::Iteration(..) => match self.converted(node, &known, element)
            {
                Some(converted) => converted,
                None => return,
            },
        };
        self.set(node, 0, converted);
    }

    fn result(&mut self, node: &Node) -> Option<ResultValue> {
        let input = node.inputs[0];
        let known = self.with_zeros_behind(node, self.input(node, 0)?)?;
        let (shape, element) = (self.shape_of(&known), known.element());
        let value = &self.model.values[input.0];
        if shape.contains(&0) {
            let found = format!("an output of shape {}: a size of 0", shape_text(&shape));
            self.error(node, &node.origin, found, "sizes of 1 or more", "remove the output");
            return None;
        }
        if !element.is_float() {
            self.all_exact(node, std::slice::from_ref(&known))?;
            if !matches!(element, ElementType::I32 | ElementType::I64 | ElementType::Bool) {
                let wide = if element.bits() < 32 { "i32" } else { "i64" };
                let found = format!(
                    "the output is {} in the model; the generated code gives {wide}",
                    element.name()
                );
                self.diagnostics
                    .push(Diagnostic::warning(node.origin.clone(), found).layer(node.label()));
            }
        } else if element != ElementType::F32 {
            let found = format!(
                "the output is {} in the model; the generated code gives f32",
                element.name()
            );
            self.diagnostics
                .push(Diagnostic::warning(node.origin.clone(), found).layer(node.label()));
        }
        // what the value itself is declared as has been compared
        if let Some(&output) =
            node.outputs.first().filter(|output| self.model.values[output.0].shape != value.shape)
        {
            self.check_stated(node, output, &shape);
        }
        let own = node.outputs.first().map_or(&[][..], |output| &self.model.values[output.0].names);
        let names = names(&[own, &value.names], &node.name);
        Some(ResultValue { names, shape, element, source: self.source(&known)?, parts: None })
    }

    /// An output with a run-time length, padded with zeros.
    fn with_zeros_behind(&mut self, node: &Node, known: Known) -> Option<Known> {
        let open =
            self.ending_of(&known).filter(|ending| ending.parts_along.is_some() && !ending.is_zero);
        let Some(ending) = open else { return Some(known) };
        let zero = self.number_like(&known, 0.0)?;
        let out = self.only_parts(node, &known, ending, &zero)?;
        if let Known::Source(Source::Value(value), _) = out {
            self.loops.endings.insert(value, until::Ending { is_zero: true, ..ending });
        }
        Some(out)
    }

    /// The tensor of a node's input. `None` after an error.
    fn input(&self, node: &Node, port: usize) -> Option<Known> {
        self.known[node.inputs.get(port)?.0].clone()
    }

    /// The tensors of all inputs of a node. `None` after an error in one of them.
    fn inputs(&self, node: &Node) -> Option<Vec<Known>> {
        (0..node.inputs.len()).map(|port| self.input(node, port)).collect()
    }

    /// Sets the tensor of a node's output.
    fn set(&mut self, node: &Node, port: usize, known: Known) {
        let Some(output) = node.outputs.get(port) else { return };
        self.check_stated(node, *output, &self.shape_of(&known));
        if let (Some(ending), Known::Source(Source::Value(value), _)) =
            (self.loops.hands_on, &known)
            && !matches!(node.op, Op::ShapeOf)
        {
            self.loops.endings.insert(*value, ending);
        }
        self.known[output.0] = Some(known);
    }

    /// Adds a value computed by a node.
    fn value(&mut self, shape: Vec<usize>) -> usize {
        self.valid.values.push(CoreValue { shape });
        self.valid.values.len() - 1
    }

    /// Adds an operation.
    fn emit(&mut self, node: &Node, op: CoreOp) {
        let kind = match &op {
            CoreOp::Cell(cell) if cell.sequence.is_some() => cell.kind.sequence_name(),
            CoreOp::Cell(cell) => cell.kind.op_name(),
            _ => node.kind.split(',').next().unwrap_or_default(),
        };
        self.spent.operations += 1;
        let (name, kind, ledger) = (node.name.clone(), kind.to_owned(), node.ledger.clone());
        self.current.nodes.push(CoreNode { name, kind, op, ledger, layer: self.current.layer });
    }

    /// Refuses a shape above the limit for computed values.
    fn computable(&mut self, node: &Node, shape: &[usize]) -> Option<()> {
        self.computable_up_to(node, shape, self.options.machine.target.most_elements)
    }

    /// The upper limit for elements of an operation on constants: at least the elements of the
    /// operands together.
    fn most_folded(&self, node: &Node) -> usize {
        let inputs = node.inputs.iter().filter_map(|input| self.known[input.0].as_ref()?.tensor());
        inputs
            .map(Tensor::len)
            .fold(0, usize::saturating_add)
            .clamp(MOST_FOLDED_ALONE, MOST_ELEMENTS)
    }

    fn computable_up_to(&mut self, node: &Node, shape: &[usize], most: usize) -> Option<()> {
        if self.spent.operations >= MOST_OPERATIONS {
            let found = format!("the model has more than {MOST_OPERATIONS} operations");
            let help = "split the model, and compile its parts one by one";
            self.error_of_many(node, found, format!("{MOST_OPERATIONS} or fewer"), help);
            return None;
        }
        if shape.contains(&0) {
            let found = format!("a tensor of shape {}: a size of 0", shape_text(shape));
            self.error(
                node,
                &node.origin,
                found,
                "sizes of 1 or more",
                "an empty tensor has no use: remove the layer",
            );
            return None;
        }
        if shape.len() > MOST_DIMS {
            let found = format!("a tensor of {} dimensions", shape.len());
            self.error(
                node,
                &node.origin,
                found,
                format!("{MOST_DIMS} or fewer"),
                "reshape it to fewer",
            );
            return None;
        }
        if element_count(shape).is_none_or(|n| n > most) {
            self.too_large(node, &node.origin, shape, most);
            return None;
        }
        Some(())
    }

    /// Refuses a shape above the limit for operations on constants.
    fn foldable(&mut self, node: &Node, shape: &[usize], element: ElementType) -> Option<()> {
        let none = !element.is_float() && shape.contains(&0);
        let sizes: Vec<usize> =
            shape.iter().map(|&size| if none { size.max(1) } else { size }).collect();
        self.computable_up_to(node, &sizes, self.most_folded(node))?;
        let count: usize = shape.iter().product();
        self.folds(node, count, element)
    }

    /// Reports an error that later nodes share, only once.
    fn error_of_many(&mut self, node: &Node, found: impl Into<String>, valid: String, help: &str) {
        if !self.diagnostics.has_errors() {
            self.error(node, &node.origin, found, valid, help);
        }
    }

    /// Reports a promise of the model about a tensor that does not hold.
    fn check_stated(&mut self, node: &Node, output: ValueId, shape: &[usize]) {
        let value = &self.model.values[output.0];
        let Some(stated) = &value.shape else { return };
        if !admits_shape(stated, shape) && !shape.contains(&0) {
            let found = format!(
                "the output has the shape {} in the model, but the computed shape is {shape:?}, \
                 which is used",
                shape_text(stated)
            );
            self.diagnostics
                .push(Diagnostic::warning(value.origin.clone(), found).layer(node.label()));
        }
    }

    /// What messages call an input of the model, and options take.
    fn input_name(&self, index: usize) -> String {
        interface::name(&self.parameter_names(self.model.parameters[index]), "in", index)
    }

    fn parameter_names(&self, node: usize) -> Vec<String> {
        parameter_names(self.model, node)
    }

    /// The source of a tensor; adds constants to the list. `None` for the number of an iteration,
    /// after a report.
    fn source(&mut self, known: &Known) -> Option<Source> {
        match known {
            Known::Source(source, _) => Some(*source),
            Known::Constant(tensor, _) => Some(Source::Constant(self.intern(tensor))),
            Known::Iteration(..) => None,
        }
    }

    /// The place of a constant in the list.
    fn intern(&mut self, tensor: &Tensor) -> usize {
        let constants = &mut self.valid.constants;
        let (bytes, start) = tensor.place();
        *self
            .interned
            .places
            .entry((bytes, start, tensor.element(), tensor.shape().to_vec()))
            .or_insert_with(|| {
                constants.push(tensor.clone());
                constants.len() - 1
            })
    }

    fn shape_of(&self, known: &Known) -> Vec<usize> {
        match known {
            Known::Constant(tensor, _) => tensor.shape().to_vec(),
            Known::Source(source, _) => self.valid.shape(*source).to_vec(),
            Known::Iteration(shape, _) => shape.clone(),
        }
    }

    /// Refuses integer or boolean tensors computed at run time.
    fn all_floats(&mut self, node: &Node, inputs: &[Known]) -> Option<()> {
        let Some(wrong) = inputs.iter().map(Known::element).find(|element| !element.is_float())
        else {
            return Some(());
        };
        let found = format!("{} at run time", wrong.name());
        let help = "integers and booleans are known when compiling, or lengths of sequences: \
            compute in f32";
        self.error(node, &node.origin, found, floats(), help);
        None
    }

    fn too_large(&mut self, node: &Node, origin: &Origin, shape: &[usize], most: usize) {
        let bytes = element_count(shape).and_then(|count| count.checked_mul(4));
        let bytes = bytes.map_or_else(String::new, |bytes| format!(": {bytes} bytes"));
        let found = format!("a tensor of shape {}{bytes}", shape_text(shape));
        let valid = format!("{most} elements, {} bytes, or fewer", 4 * most);
        self.error(node, origin, found, valid, "split the model");
    }

    fn error(
        &mut self,
        node: &Node,
        origin: &Origin,
        found: impl Into<String>,
        valid: impl Into<String>,
        help: impl Into<String>,
    ) {
        let origin = if *origin == Origin::Unknown { &node.origin } else { origin };
        let diagnostic =
            Diagnostic::error(origin.clone(), found).layer(node.label()).valid(valid).help(help);
        self.diagnostics.push(diagnostic);
    }
}

fn floats() -> String {
    let floats: Vec<&str> =
        ElementType::ALL.into_iter().filter(|e| e.is_float()).map(ElementType::name).collect();
    floats.join(", ")
}

fn admits(dim: Dim, size: usize) -> bool {
    size > 0
        && match dim {
            Dim::Fixed(n) => n == size,
            Dim::Dynamic { min, max } => min <= size && max.is_none_or(|max| size <= max),
        }
}

fn admits_shape(stated: &[Dim], shape: &[usize]) -> bool {
    stated.len() == shape.len() && stated.iter().zip(shape).all(|(dim, &size)| admits(*dim, size))
}

fn element_count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}
