//! Decides whether a model is right, whatever the way in, and knows every size afterwards.
//!
//! This is the only place where legality is decided: after it, nothing can fail.

mod cell;
mod interface;
mod parameters;
mod rounding;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Severity};
use crate::model::{
    CellKind, Dim, ElementType, Model, Node, Op, Parameter, ResultValue, Source, Tensor, ValidCell, ValidModel,
    ValidNode, ValidOp, ValidValue, ValueId, shape_text,
};
use crate::options::{Options, State, Unroll};
use interface::names;
use rounding::rounded;

/// The most elements of one tensor: 1 GiB of f32.
const MOST_ELEMENTS: usize = 1 << 28;
/// The most elements of all tensors together.
const MOST_ELEMENTS_IN_ALL: usize = 1 << 30;
/// The most cells, Parameters and Results, each: what is generated is source, and must stay source that a compiler takes.
const MOST_NODES: usize = 1000;
/// The most multiply-adds of a model that `--unroll full` writes out: straight-line code takes rustc more than linear
/// time, and 3,456 of them take some 20 seconds.
const MOST_UNROLLED: usize = 1 << 13;
/// What the inputs of a cell are called, in port order.
const INPUTS: [&str; 5] = ["x", "h", "W", "R", "B"];

/// What to do about a model that no front end should have made.
const MALFORMED: &str = "this model cannot be written down by any input: correct what built it";

/// Checks a model and fixes every size that it leaves open. The second part of what is returned holds the warnings.
///
/// # Errors
/// Everything that is wrong with the model, or with the options for it, warnings included.
pub fn validate(model: &Model, options: &Options) -> Result<(ValidModel, Diagnostics), Diagnostics> {
    let mut validation = Validation::new(model, options, false);
    validation.run();
    if validation.diagnostics.has_errors() {
        return Err(validation.diagnostics);
    }
    Ok((validation.valid, validation.diagnostics))
}

/// The errors in a model of which a front end has understood only a part: sizes may be open, values may be produced by nothing.
pub(crate) fn problems(model: &Model) -> Diagnostics {
    let options = Options { state: State::None, ..Options::default() };
    let mut validation = Validation::new(model, &options, true);
    validation.run();
    let mut diagnostics = validation.diagnostics;
    diagnostics.0.retain(|d| d.severity == Severity::Error);
    diagnostics
}

/// What a tensor is, as far as it is right.
#[derive(Clone)]
enum Known {
    /// Known when compiling; the value that holds the bytes, so that each stands once.
    Constant(ValueId, Tensor),
    /// Anything else. Never a constant.
    Source(Source),
}

/// One input of one node.
type Use = (usize, usize);

/// What reads a Parameter, Converts looked through.
#[derive(Clone, Default)]
struct Uses {
    /// As W, R or B of a cell.
    weight: Option<Use>,
    /// As x or h of a cell.
    batch: Option<Use>,
    /// As anything but W, R or B.
    data: Option<Use>,
    /// Nodes that read it as anything but W, R or B.
    data_reads: usize,
    /// The cell of which it is the initial state.
    initial_state_of: Option<usize>,
}

struct Validation<'a> {
    model: &'a Model,
    options: &'a Options,
    /// Whether only a part of the model is there, which has been reported.
    partial: bool,
    diagnostics: Diagnostics,
    /// By value; `None` before its node, or after an error.
    known: Vec<Option<Known>>,
    /// Values that are in the list of constants.
    interned: HashMap<ValueId, usize>,
    /// By parameter.
    uses: Vec<Uses>,
    /// By parameter; `None` after an error.
    shapes: Vec<Option<Vec<usize>>>,
    valid: ValidModel,
}

impl<'a> Validation<'a> {
    fn new(model: &'a Model, options: &'a Options, partial: bool) -> Self {
        Self {
            model,
            options,
            partial,
            diagnostics: Diagnostics::default(),
            known: vec![None; model.values.len()],
            interned: HashMap::new(),
            uses: vec![Uses::default(); model.parameters.len()],
            shapes: vec![None; model.parameters.len()],
            valid: ValidModel { name: model.name.clone(), files: model.files.clone(), ..ValidModel::default() },
        }
    }

    fn run(&mut self) {
        if !self.structure() {
            return;
        }
        self.read_uses();
        self.shapes = self.parameter_shapes();
        let mut results: HashMap<usize, ResultValue> = HashMap::new();
        // the cell, by index of its node
        let mut cells: HashMap<usize, usize> = HashMap::new();
        let parameters: HashMap<usize, usize> =
            self.model.parameters.iter().enumerate().map(|(index, &node)| (node, index)).collect();
        for (index, node) in self.model.nodes.iter().enumerate() {
            match &node.op {
                Op::Parameter => {
                    let parameter = parameters[&index];
                    // shapes that are not known have been reported
                    if self.shapes[parameter].is_some() {
                        self.known[node.outputs[0].0] = Some(Known::Source(Source::Parameter(parameter)));
                    }
                }
                Op::Constant(tensor) => self.constant(node, tensor),
                Op::Convert => self.convert(node),
                Op::Cell(cell) => {
                    if let Some(cell) = self.cell(node, cell) {
                        let value = self.valid.values.len();
                        cells.insert(index, value);
                        let shape = vec![cell.batch, cell.hidden_size];
                        self.check_stated(node, &shape);
                        self.valid.values.push(ValidValue { shape });
                        self.valid.nodes.push(ValidNode {
                            name: node.name.clone(),
                            kind: cell.kind.op_name().to_owned(),
                            ledger: cell.ledger.clone(),
                            op: ValidOp::Cell(ValidCell { h_out: Some(value), ..cell }),
                        });
                        self.known[node.outputs[0].0] = Some(Known::Source(Source::Value(value)));
                    }
                }
                Op::Result => {
                    if let Some(result) = self.result(node) {
                        results.insert(index, result);
                    }
                }
                _ => {}
            }
        }
        for (index, &node) in self.model.parameters.iter().enumerate() {
            let node = &self.model.nodes[node];
            let value = &self.model.values[node.outputs[0].0];
            self.valid.parameters.push(Parameter {
                names: names(&[&value.names[..]], &node.name),
                shape: self.shapes[index].clone().unwrap_or_default(),
                element: value.element,
                weight: self.uses[index].weight.is_some(),
                length: None,
            });
        }
        if self.diagnostics.has_errors() {
            return;
        }
        self.valid.results = self.model.results.iter().filter_map(|node| results.remove(node)).collect();
        self.total_size();
        self.source_size();
        if self.diagnostics.has_errors() {
            return;
        }
        self.states(&cells);
    }

    /// Whether the graph holds together. A front end may have been given anything.
    fn structure(&mut self) -> bool {
        let model = self.model;
        let mut produced = vec![false; model.values.len()];
        for node in &model.nodes {
            let (inputs, outputs) = match &node.op {
                Op::Parameter | Op::Constant(_) => (0..=0, 1..=1),
                Op::Convert => (1..=1, 1..=1),
                Op::Cell(_) => (4..=5, 1..=1),
                Op::Result => (1..=1, 0..=1),
                _ => continue,
            };
            if !inputs.contains(&node.inputs.len()) {
                let (name, valid) = match &node.op {
                    Op::Cell(cell) if cell.kind == CellKind::Rnn => ("RNNCell", "5: x, h, W, R and B".to_owned()),
                    Op::Cell(_) => ("GRUCell", "4 or 5: x, h, W, R and, if wanted, B".to_owned()),
                    _ => ("a layer", inputs.end().to_string()),
                };
                let found = format!("{name} with {} inputs", node.inputs.len());
                self.error(node, &node.origin, found, valid, "connect what is missing, remove what is too much");
            }
            if !outputs.contains(&node.outputs.len()) {
                let found = format!("{} outputs", node.outputs.len());
                self.error(node, &node.origin, found, outputs.end().to_string(), MALFORMED);
            }
            let exists = |input: &ValueId| produced.get(input.0).is_some_and(|&p| p || self.partial);
            if !node.inputs.iter().all(exists) {
                let found = "an input that no earlier operation produces";
                self.error(node, &node.origin, found, "operations in the order in which they are computed", MALFORMED);
            }
            for output in &node.outputs {
                if produced.get_mut(output.0).is_none_or(|p| std::mem::replace(p, true)) {
                    let found = "an output that something else produces too, or that does not exist";
                    self.error(node, &node.origin, found, "outputs of its own", MALFORMED);
                }
            }
        }
        for (list, what) in [(&model.parameters, "Parameter"), (&model.results, "Result")] {
            let listed: HashSet<usize> = list.iter().copied().collect();
            let is = |op: &Op| match op {
                Op::Parameter => what == "Parameter",
                Op::Result => what == "Result",
                _ => false,
            };
            let all = model.nodes.iter().enumerate().filter(|(_, node)| is(&node.op));
            if listed.len() != list.len() || !all.map(|(index, _)| index).eq(sorted(&listed)) {
                let found = format!("the list of {what}s of the model does not name each of them once");
                let valid = "each of them, once";
                self.diagnostics.push(Diagnostic::error(Origin::Unknown, found).valid(valid).help(MALFORMED));
            }
        }
        if model.results.is_empty() && !self.partial {
            let diagnostic = Diagnostic::error(Origin::Unknown, "the model has no Result");
            self.diagnostics.push(diagnostic.valid("at least one Result").help("give the model an output"));
        }
        !self.diagnostics.has_errors()
    }

    fn read_uses(&mut self) {
        let mut root: Vec<Option<usize>> = vec![None; self.model.values.len()];
        for (index, &node) in self.model.parameters.iter().enumerate() {
            root[self.model.nodes[node].outputs[0].0] = Some(index);
        }
        for (index, node) in self.model.nodes.iter().enumerate() {
            if node.op == Op::Convert {
                root[node.outputs[0].0] = root[node.inputs[0].0];
                continue;
            }
            let is_cell = matches!(node.op, Op::Cell(_));
            for (port, input) in node.inputs.iter().enumerate() {
                let Some(parameter) = root[input.0] else { continue };
                let uses = &mut self.uses[parameter];
                let this = (index, port);
                if is_cell && port >= 2 {
                    uses.weight.get_or_insert(this);
                    continue;
                }
                uses.data.get_or_insert(this);
                uses.data_reads += 1;
                if is_cell {
                    uses.batch.get_or_insert(this);
                }
                if is_cell && port == 1 {
                    uses.initial_state_of = Some(index);
                }
            }
        }
        for (index, uses) in self.uses.clone().into_iter().enumerate() {
            let (Some(weight), Some(data)) = (uses.weight, uses.data) else { continue };
            let node = &self.model.nodes[self.model.parameters[index]];
            let found = format!("the input is both {} and {}", self.describe_use(weight), self.describe_use(data));
            self.error(
                node,
                &node.origin,
                found,
                "an input that is W, R or B of cells and nothing else, or none of them",
                "declare two inputs and give both the same contents",
            );
        }
    }

    fn describe_use(&self, (node, port): Use) -> String {
        let node = &self.model.nodes[node];
        match node.op {
            Op::Cell(_) => format!("{} of {}", INPUTS[port], node.label()),
            _ => format!("read by {}", node.label()),
        }
    }

    fn constant(&mut self, node: &Node, tensor: &Tensor) {
        let value = node.outputs[0];
        if tensor.shape().contains(&0) {
            let found = format!("a constant of shape {:?}: a size of 0", tensor.shape());
            self.error(node, &self.model.values[value.0].origin, found, "sizes of 1 or more", "correct the shape");
        } else if tensor.len() > MOST_ELEMENTS {
            self.too_large(node, &self.model.values[value.0].origin, tensor.shape());
        } else {
            self.known[value.0] = Some(Known::Constant(value, tensor.clone()));
        }
    }

    fn convert(&mut self, node: &Node) {
        let (from, to) = (node.inputs[0], node.outputs[0]);
        let element = self.model.values[to.0].element;
        if !element.is_float() {
            let origin = node.attribute_origin("destination_type");
            let help = "cells take floating point only: remove the conversion";
            self.error(node, origin, format!("a conversion to {}", element.name()), floats(), help);
            return;
        }
        let Some(known) = self.known[from.0].clone() else { return };
        self.known[to.0] = Some(match known {
            Known::Constant(value, tensor) => match rounded(&tensor, element) {
                None => Known::Constant(value, tensor),
                Some(tensor) => Known::Constant(to, tensor),
            },
            Known::Source(source) => {
                let before = self.model.values[from.0].element;
                if matches!(element, ElementType::F16 | ElementType::Bf16) && before != element {
                    let found = format!(
                        "the conversion from {} to {} has no effect: the generated code computes in f32",
                        before.name(),
                        element.name()
                    );
                    self.diagnostics.push(Diagnostic::warning(node.origin.clone(), found).layer(node.label()));
                }
                Known::Source(source)
            }
        });
        if let Some(shape) = self.shape_of(to) {
            self.check_stated(node, &shape);
        }
    }

    fn result(&mut self, node: &Node) -> Option<ResultValue> {
        let input = node.inputs[0];
        let shape = self.shape_of(input)?;
        let value = &self.model.values[input.0];
        if !value.element.is_float() {
            let found = format!("an output of type {}", value.element.name());
            self.error(node, &node.origin, found, floats(), "remove the output, or convert the constant to f32");
            return None;
        }
        if value.element != ElementType::F32 {
            let found = format!("the output is {} in the model; the generated code gives f32", value.element.name());
            self.diagnostics.push(Diagnostic::warning(node.origin.clone(), found).layer(node.label()));
        }
        let own = node.outputs.first().map_or(&[][..], |output| &self.model.values[output.0].names);
        Some(ResultValue {
            names: names(&[own, &value.names], &node.name),
            shape,
            element: value.element,
            source: self.source(input)?,
        })
    }

    /// Says what the model promises about a tensor and does not keep.
    fn check_stated(&mut self, node: &Node, shape: &[usize]) {
        let value = &self.model.values[node.outputs[0].0];
        let Some(stated) = &value.shape else { return };
        let fits = stated.len() == shape.len() && stated.iter().zip(shape).all(|(dim, &size)| admits(*dim, size));
        if !fits {
            let found = format!(
                "the output is said to have the shape {}, but it has {shape:?}: the latter counts",
                shape_text(stated)
            );
            self.diagnostics.push(Diagnostic::warning(value.origin.clone(), found).layer(node.label()));
        }
    }

    fn total_size(&mut self) {
        let valid = &self.valid;
        let sizes = valid.parameters.iter().map(|p| element_count(&p.shape));
        let sizes = sizes.chain(valid.constants.iter().map(|t| Some(t.len())));
        let mut sizes = sizes.chain(valid.values.iter().map(|v| element_count(&v.shape)));
        let total = sizes.try_fold(0usize, |total, size| total.checked_add(size?));
        if total.is_none_or(|total| total > MOST_ELEMENTS_IN_ALL) {
            let found = "all tensors together have too many elements";
            let valid = format!("{MOST_ELEMENTS_IN_ALL} or fewer");
            self.diagnostics.push(Diagnostic::error(self.somewhere(), found).valid(valid).help("split the model"));
        }
    }

    /// What would become more source than a compiler can take is refused, not tried.
    fn source_size(&mut self) {
        let origin = self.somewhere();
        let valid = &self.valid;
        let counts =
            [("operations", valid.nodes.len()), ("inputs", valid.parameters.len()), ("outputs", valid.results.len())];
        for (what, count) in counts {
            if count > MOST_NODES {
                let found = format!("the model has {count} {what}");
                let diagnostic = Diagnostic::error(origin.clone(), found).valid(format!("{MOST_NODES} or fewer"));
                self.diagnostics.push(diagnostic.help("split the model, and compile its parts one by one"));
            }
        }
        let work = |c: &ValidCell| {
            c.batch as u128 * (c.kind.gates() * c.hidden_size) as u128 * (c.input_size + c.hidden_size) as u128
        };
        let work = valid.cells().into_iter().map(work).sum::<u128>();
        if self.options.unroll == Unroll::Full && work > MOST_UNROLLED as u128 {
            let found = format!("full unrolling of {work} multiply-adds");
            let diagnostic = Diagnostic::error(origin, found).valid(format!("{MOST_UNROLLED} or fewer"));
            self.diagnostics.push(diagnostic.help("leave unrolling to the plan: it unrolls where that pays"));
        }
    }

    /// A place for what concerns the whole model, so that the file is named: its first Result.
    fn somewhere(&self) -> Origin {
        let result = self.model.results.first().map(|&node| &self.model.nodes[node]);
        result.map_or(Origin::Unknown, |node| node.origin.clone())
    }

    fn parameter_names(&self, node: usize) -> Vec<String> {
        let node = &self.model.nodes[node];
        names(&[&self.model.values[node.outputs[0].0].names], &node.name)
    }

    /// What a tensor is, constants taken into the list.
    fn source(&mut self, value: ValueId) -> Option<Source> {
        match self.known[value.0].clone()? {
            Known::Source(source) => Some(source),
            Known::Constant(value, tensor) => {
                let constants = &mut self.valid.constants;
                let index = *self.interned.entry(value).or_insert_with(|| {
                    constants.push(tensor);
                    constants.len() - 1
                });
                Some(Source::Constant(index))
            }
        }
    }

    fn shape_of(&self, value: ValueId) -> Option<Vec<usize>> {
        match self.known[value.0].as_ref()? {
            Known::Constant(_, tensor) => Some(tensor.shape().to_vec()),
            Known::Source(Source::Parameter(index)) => self.shapes[*index].clone(),
            Known::Source(Source::Value(index)) => Some(self.valid.values[*index].shape.clone()),
            Known::Source(Source::Constant(_) | Source::Variable(_)) => None,
        }
    }

    fn too_large(&mut self, node: &Node, origin: &Origin, shape: &[usize]) {
        let found = format!("a tensor of shape {}", shape_text(shape));
        self.error(node, origin, found, format!("{MOST_ELEMENTS} elements or fewer"), "split the model");
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
        let diagnostic = Diagnostic::error(origin.clone(), found).layer(node.label()).valid(valid).help(help);
        self.diagnostics.push(diagnostic);
    }
}

fn sorted(set: &HashSet<usize>) -> Vec<usize> {
    let mut list: Vec<usize> = set.iter().copied().collect();
    list.sort_unstable();
    list
}

fn floats() -> String {
    let floats: Vec<&str> = ElementType::ALL.into_iter().filter(|e| e.is_float()).map(ElementType::name).collect();
    floats.join(", ")
}

fn admits(dim: Dim, size: usize) -> bool {
    size > 0
        && match dim {
            Dim::Fixed(n) => n == size,
            Dim::Dynamic { min, max } => min <= size && max.is_none_or(|max| size <= max),
        }
}

fn element_count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}
