//! Decides whether a model is right, whatever the way in, and knows every size afterwards.
//!
//! This is the only place where legality is decided: after it, nothing can fail.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use half::{bf16, f16};

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Severity, quoted};
use crate::model::{
    Activation, Cell, CellKind, Dim, ElementType, LedgerEntry, Model, Node, Op, Parameter, ResetGate, ResultValue,
    Source, StatePair, Tensor, ValidCell, ValidModel, ValueId, WeightSource,
};
use crate::options::{Options, State};

/// The most elements of one tensor: 1 GiB of f32.
const MOST_ELEMENTS: usize = 1 << 28;
/// The most elements of all tensors together.
const MOST_ELEMENTS_IN_ALL: usize = 1 << 30;
/// What the inputs of a cell are called, in port order.
const INPUTS: [&str; 5] = ["x", "h", "W", "R", "B"];

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
        let mut results: BTreeMap<usize, ResultValue> = BTreeMap::new();
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
                        cells.insert(index, self.valid.cells.len());
                        let source = Source::Cell(self.valid.cells.len());
                        self.check_stated(node, &[cell.batch, cell.hidden_size]);
                        self.valid.cells.push(cell);
                        self.known[node.outputs[0].0] = Some(Known::Source(source));
                    }
                }
                Op::Result => {
                    if let Some(result) = self.result(node) {
                        results.insert(index, result);
                    }
                }
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
            });
        }
        if self.diagnostics.has_errors() {
            return;
        }
        self.valid.results = self.model.results.iter().filter_map(|node| results.remove(node)).collect();
        self.total_size();
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
            };
            if !inputs.contains(&node.inputs.len()) {
                let valid = match &node.op {
                    Op::Cell(cell) if cell.kind == CellKind::Rnn => "5: x, h, W, R and B".to_owned(),
                    Op::Cell(_) => "4 or 5: x, h, W, R and, if wanted, B".to_owned(),
                    _ => inputs.end().to_string(),
                };
                self.error(
                    node,
                    &node.origin,
                    format!("{} inputs", node.inputs.len()),
                    valid,
                    "connect what is missing",
                );
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
                self.diagnostics.push(Diagnostic::error(Origin::Unknown, found));
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

    /// The shape of every Parameter, once the options have their say. `None` after an error.
    fn parameter_shapes(&mut self) -> Vec<Option<Vec<usize>>> {
        let all_names: Vec<Vec<String>> =
            self.model.parameters.iter().map(|&node| self.parameter_names(node)).collect();
        let mut given: Vec<Option<&[usize]>> = vec![None; all_names.len()];
        for (name, shape) in &self.options.shapes {
            match find_name(&all_names, name, "in") {
                Ok(index) if given[index].is_some() => {
                    let found = format!("two shapes are given for the input {}", quoted(name));
                    self.diagnostics.push(Diagnostic::error(Origin::Unknown, found).valid("one"));
                }
                Ok(index) => given[index] = Some(shape),
                Err(problem) => self.diagnostics.push(
                    Diagnostic::error(Origin::Unknown, format!("a shape is given for {}, but {problem}", quoted(name)))
                        .valid(format!("the inputs of the model: {}", list_names(&all_names)))
                        .help("correct the name in --shape"),
                ),
            }
        }
        if self.options.batch == Some(0) {
            let found = "a batch size of 0";
            self.diagnostics.push(Diagnostic::error(Origin::Unknown, found).valid("1 or more").help("correct --batch"));
        }
        let mut batch_used = false;
        let shapes = (0..given.len()).map(|index| self.parameter_shape(index, given[index], &mut batch_used)).collect();
        if self.options.batch.is_some() && !batch_used {
            let found = "the batch size that was given has no effect: no input of the model has a batch";
            self.diagnostics.push(Diagnostic::warning(Origin::Unknown, found));
        }
        shapes
    }

    fn parameter_shape(&mut self, index: usize, given: Option<&[usize]>, batch_used: &mut bool) -> Option<Vec<usize>> {
        let node = &self.model.nodes[self.model.parameters[index]];
        let value = &self.model.values[node.outputs[0].0];
        let name = self.parameter_names(self.model.parameters[index]).into_iter().next().unwrap_or_default();
        let is_weight = self.uses[index].weight.is_some();
        if !value.element.is_float() {
            self.error(
                node,
                &value.origin,
                format!("an input of type {}", value.element.name()),
                floats(),
                "integer inputs are not read: remove the input, or convert it before it enters the model",
            );
            return None;
        }
        if value.element != ElementType::F32 {
            let found = format!(
                "the input is {} in the model; the generated code takes f32 and computes in f32",
                value.element.name()
            );
            self.diagnostics.push(Diagnostic::warning(value.origin.clone(), found).layer(node.label()));
        }
        let stated = match (&value.shape, given) {
            (Some(shape), _) => shape.clone(),
            (None, Some(given)) => vec![ANY; given.len()],
            (None, None) if self.partial => return None,
            (None, None) => {
                let help = format!("give its shape: --shape {name}=1,16");
                self.error(node, &value.origin, "an input without a shape", "a shape", help);
                return None;
            }
        };
        if let Some(given) = given {
            let fits = stated.len() == given.len() && stated.iter().zip(given).all(|(dim, &size)| admits(*dim, size));
            if !fits {
                let found =
                    format!("the shape {given:?} is given for the input, but the model says {}", shape_text(&stated));
                let valid = "sizes of 1 or more that agree with the model where it knows them";
                self.error(node, &value.origin, found, valid, "correct --shape");
                return None;
            }
        }
        let mut shape = Vec::new();
        for (axis, &dim) in stated.iter().enumerate() {
            let size = match (given, dim, self.options.batch) {
                (Some(given), _, _) => given[axis],
                (None, Dim::Fixed(size), _) => size,
                (None, Dim::Dynamic { .. }, Some(batch)) if axis == 0 && !is_weight => batch,
                // the options may yet fix it
                (None, Dim::Dynamic { .. }, _) if self.partial => return None,
                (None, Dim::Dynamic { .. }, _) => {
                    let by_shape = example(&name, &stated);
                    let help = match axis == 0 && !is_weight {
                        true => format!("give the batch size, --batch 1, or the whole shape, {by_shape}"),
                        false => format!("give the whole shape: {by_shape}"),
                    };
                    let found = format!("the input has the shape {}: not every size is known", shape_text(&stated));
                    self.error(node, &value.origin, found, "sizes that are fixed when compiling", help);
                    return None;
                }
            };
            if !admits(dim, size) {
                let shape = shape_text(&stated);
                let (found, help) = match size {
                    0 => (
                        format!("the input has the shape {shape}: a size of 0"),
                        "an empty tensor has no result: correct the shape",
                    ),
                    _ => (format!("the batch size {size}, but the input has the shape {shape}"), "correct --batch"),
                };
                self.error(node, &value.origin, found, "sizes of 1 or more that agree with the model", help);
                return None;
            }
            shape.push(size);
        }
        let Some(elements) = element_count(&shape).filter(|&n| n <= MOST_ELEMENTS) else {
            self.too_large(node, &value.origin, &shape);
            return None;
        };
        debug_assert!(elements > 0);
        if let (Some(batch), Some(&size), Some(_)) = (self.options.batch, shape.first(), self.uses[index].batch) {
            *batch_used = true;
            if size != batch {
                let found = format!("the batch size {batch} is given, but the input has the shape {shape:?}");
                let help = "leave out --batch, or save the model with another batch size";
                self.error(node, &value.origin, found, format!("a batch size of {size}"), help);
                return None;
            }
        } else if self.options.batch.is_some() && stated.first().is_some_and(|d| matches!(d, Dim::Dynamic { .. })) {
            *batch_used |= !is_weight;
        }
        Some(shape)
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

    fn cell(&mut self, node: &Node, cell: &Cell) -> Option<ValidCell> {
        let op = cell.kind.op_name();
        if cell.hidden_size == 0 {
            let found = "hidden_size is 0";
            self.error(
                node,
                node.attribute_origin("hidden_size"),
                found,
                "an integer of 1 or more",
                "write the length of the state h",
            );
            return None;
        }
        let mut right = self.cell_types(node, cell);
        let wanted = cell.kind.default_activations();
        if cell.activations.len() != wanted.len() {
            let (takes, roles) = match cell.kind {
                CellKind::Rnn => ("1", "f"),
                CellKind::Gru(_) => ("2", "f for z and r, and g for the candidate"),
            };
            let found = match cell.activations.len() {
                1 => format!("1 activation, but {op} takes {takes}"),
                n => format!("{n} activations, but {op} takes {takes}"),
            };
            let help = format!("write {roles}; or leave activations out for {}", names_of(wanted));
            self.error(node, node.attribute_origin("activations"), found, format!("{takes}: {roles}"), help);
            right = false;
        }
        if cell.clip.is_some_and(|clip| !(clip.is_finite() && clip > 0.0)) {
            let found = "a clip that is not positive and finite";
            self.error(
                node,
                node.attribute_origin("clip"),
                found,
                "a positive number, or no clip",
                "leave clip out for no clipping",
            );
            right = false;
        }
        if cell.kind == CellKind::Rnn && node.inputs.len() < 5 {
            let help = "connect a B of zeros if the cell has no bias";
            self.error(node, &node.origin, "RNNCell without B", format!("B of shape [{}]", cell.hidden_size), help);
            right = false;
        }
        let shapes: Vec<Option<Vec<usize>>> = node.inputs.iter().map(|&value| self.shape_of(value)).collect();
        let (batch, input_size) = self.cell_shapes(node, cell, &shapes).filter(|_| right)?;
        let mut ledger = node.ledger.clone();
        let weight = |this: &mut Self, port: usize| match node.inputs.get(port) {
            None => Some(WeightSource::Zero),
            Some(&value) => match this.source(value)? {
                Source::Constant(i) => Some(WeightSource::Constant(i)),
                Source::Parameter(i) => Some(WeightSource::Parameter(i)),
                Source::Cell(_) => {
                    let found = format!("{} is what another cell computes", INPUTS[port]);
                    let valid = "a constant or an input of the model";
                    let help = "weights do not change from step to step: connect a constant or an input";
                    this.error(node, &node.origin, found, valid, help);
                    None
                }
            },
        };
        let (w, r, b) = (weight(self, 2), weight(self, 3), weight(self, 4));
        if node.inputs.len() < 5 {
            ledger.push(LedgerEntry {
                attribute: "B".to_owned(),
                given: None,
                taken: "zero".to_owned(),
                origin: Origin::Unknown,
            });
        }
        Some(ValidCell {
            name: node.name.clone(),
            kind: cell.kind,
            batch,
            input_size,
            hidden_size: cell.hidden_size,
            activations: cell.activations.clone(),
            clip: cell.clip,
            x: self.source(node.inputs[0])?,
            h: self.source(node.inputs[1])?,
            w: w?,
            r: r?,
            b: b?,
            ledger,
        })
    }

    /// Whether all inputs of a cell are floating point.
    fn cell_types(&mut self, node: &Node, cell: &Cell) -> bool {
        let mut right = true;
        let mut elements = Vec::new();
        for (port, value) in node.inputs.iter().enumerate() {
            let element = self.model.values[value.0].element;
            elements.push(element);
            // what is wrong with an input of the model has been reported there
            if !element.is_float() && self.known[value.0].is_some() {
                let found = format!("{} is {}", INPUTS[port], element.name());
                let help = "convert it to f32, if its integers are meant as such";
                self.error(node, &self.model.values[value.0].origin, found, floats(), help);
                right = false;
            }
        }
        if elements.windows(2).any(|w| w[0] != w[1]) && elements.iter().all(|e| e.is_float()) {
            let texts: Vec<String> =
                elements.iter().zip(INPUTS).map(|(e, name)| format!("{name} {}", e.name())).collect();
            let found = format!("the inputs of {} differ in type: {}", cell.kind.op_name(), texts.join(", "));
            let diagnostic = Diagnostic::warning(node.origin.clone(), found).layer(node.label());
            self.diagnostics.push(diagnostic.valid("one type for all inputs; here all are computed in f32"));
        }
        right
    }

    /// Checks every shape that is known against hidden_size and the others, and gives N and I if all are right.
    fn cell_shapes(&mut self, node: &Node, cell: &Cell, shapes: &[Option<Vec<usize>>]) -> Option<(usize, usize)> {
        let hidden = cell.hidden_size;
        let (gates, parts) = (cell.kind.gates(), cell.kind.bias_parts());
        let (Some(rows), Some(bias)) = (hidden.checked_mul(gates), hidden.checked_mul(parts)) else {
            let found = format!("hidden_size is {hidden}");
            self.error(
                node,
                node.attribute_origin("hidden_size"),
                found,
                "a size that the tensors have",
                "write the length of the state h",
            );
            return None;
        };
        if let Some(other) = other_hidden_size(cell, shapes) {
            let known = shapes.iter().zip(INPUTS).skip(1);
            let texts: Vec<String> = known
                .filter_map(|(shape, name)| shape.as_ref().map(|shape| format!("{name} {}", fixed_shape_text(shape))))
                .collect();
            let found = format!("hidden_size is {hidden}, but the tensors are made for {other}: {}", texts.join(", "));
            let valid =
                format!("h [N, {hidden}], W [{rows}, I], R [{rows}, {hidden}], B [{bias}], or hidden_size {other}");
            let help = format!("write hidden_size={other}, or give tensors of the other size");
            self.error(node, node.attribute_origin("hidden_size"), found, valid, help);
            return None;
        }
        let of_x = |axis: usize| shapes[0].as_ref().filter(|x| x.len() == 2).map(|x| x[axis]);
        let (batch, input_size) = (of_x(0), of_x(1));
        // what cannot be known is any size at all
        let wanted = [
            (vec![batch, input_size], "[N, I]"),
            (vec![batch, Some(hidden)], "[N, H]"),
            (vec![Some(rows), input_size], "[gates * H, I]"),
            (vec![Some(rows), Some(hidden)], "[gates * H, H]"),
            (vec![Some(bias)], "[H for each part]"),
        ];
        let mut right = true;
        for (port, shape) in shapes.iter().enumerate() {
            let Some(shape) = shape else {
                right = false;
                continue;
            };
            let (wanted, meaning) = &wanted[port];
            let fits = shape.len() == wanted.len() && shape.iter().zip(wanted).all(|(s, w)| w.is_none_or(|w| w == *s));
            if fits {
                continue;
            }
            right = false;
            let letters = if port < 2 { ["N", "I"] } else { ["rows", "I"] };
            let texts: Vec<String> = wanted
                .iter()
                .zip(letters)
                .map(|(size, letter)| size.map_or_else(|| letter.to_owned(), |n| n.to_string()))
                .collect();
            let (found, help) = advice(cell, port, shape, wanted);
            let valid = match port {
                4 => format!("[{}]: {}", texts.join(", "), bias_layout(cell.kind)),
                _ => format!("[{}], which is {meaning} for hidden_size {hidden}", texts.join(", ")),
            };
            let origin = self.model.values[node.inputs[port].0].origin.clone();
            let origin = if origin == Origin::Unknown { node.origin.clone() } else { origin };
            self.error(node, &origin, found, valid, help);
        }
        Some((batch?, input_size?)).filter(|_| right)
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
        let mut sizes = sizes.chain(valid.cells.iter().map(|c| c.batch.checked_mul(c.hidden_size)));
        let total = sizes.try_fold(0usize, |total, size| total.checked_add(size?));
        if total.is_none_or(|total| total > MOST_ELEMENTS_IN_ALL) {
            let found = "all tensors together have too many elements";
            let valid = format!("{MOST_ELEMENTS_IN_ALL} or fewer");
            self.diagnostics.push(Diagnostic::error(Origin::Unknown, found).valid(valid).help("split the model"));
        }
    }

    fn states(&mut self, cells: &HashMap<usize, usize>) {
        match &self.options.state {
            State::None => {}
            State::Auto => self.valid.states = self.automatic_states(cells),
            State::Pairs(pairs) => self.valid.states = self.given_states(pairs),
        }
    }

    /// Parameters that serve only as the initial state of one cell whose new state goes to one Result.
    fn automatic_states(&self, cells: &HashMap<usize, usize>) -> Vec<StatePair> {
        let mut results: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, result) in self.valid.results.iter().enumerate() {
            if let Source::Cell(cell) = result.source {
                results.entry(cell).or_default().push(index);
            }
        }
        let mut pairs = Vec::new();
        for (parameter, uses) in self.uses.iter().enumerate() {
            let Some(cell) = uses.initial_state_of.filter(|_| uses.weight.is_none() && uses.data_reads == 1) else {
                continue;
            };
            // h and the new state have the same shape, [N, H]
            if let Some([result]) = cells.get(&cell).and_then(|cell| results.get(cell)).map(Vec::as_slice) {
                pairs.push(StatePair { parameter, result: *result });
            }
        }
        pairs
    }

    fn given_states(&mut self, pairs: &[(String, String)]) -> Vec<StatePair> {
        let inputs: Vec<Vec<String>> = self.valid.parameters.iter().map(|p| p.names.clone()).collect();
        let outputs: Vec<Vec<String>> = self.valid.results.iter().map(|r| r.names.clone()).collect();
        let mut states: Vec<StatePair> = Vec::new();
        for (input, output) in pairs {
            let text = format!("{}={}", quoted(input), quoted(output));
            let mut refuse = |found: String, valid: String| {
                let diagnostic = Diagnostic::error(Origin::Unknown, format!("the state {text}: {found}"));
                self.diagnostics.push(diagnostic.valid(valid).help("correct --state"));
            };
            let parameter = find_name(&inputs, input, "in")
                .map_err(|problem| refuse(problem, format!("the inputs of the model: {}", list_names(&inputs))));
            let result = find_name(&outputs, output, "out")
                .map_err(|problem| refuse(problem, format!("the outputs of the model: {}", list_names(&outputs))));
            let (Ok(parameter), Ok(result)) = (parameter, result) else { continue };
            let (p, r) = (&self.valid.parameters[parameter], &self.valid.results[result]);
            if p.weight {
                refuse("the input is W, R or B of a cell".to_owned(), "an input that is not".to_owned());
            } else if p.shape != r.shape {
                let found = format!("the input has the shape {:?}, the output {:?}", p.shape, r.shape);
                refuse(found, "an input and an output of the same shape".to_owned());
            } else if states.iter().any(|s| s.parameter == parameter || s.result == result) {
                refuse("its input or its output is in another pair".to_owned(), "each in one pair".to_owned());
            } else {
                states.push(StatePair { parameter, result });
            }
        }
        states
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
            Known::Source(Source::Cell(index)) => {
                self.valid.cells.get(*index).map(|cell| vec![cell.batch, cell.hidden_size])
            }
            Known::Source(Source::Constant(_)) => None,
        }
    }

    fn too_large(&mut self, node: &Node, origin: &Origin, shape: &[usize]) {
        let found = format!("a tensor of shape {}", fixed_shape_text(shape));
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

const ANY: Dim = Dim::Dynamic { min: 0, max: None };

fn sorted(set: &HashSet<usize>) -> Vec<usize> {
    let mut list: Vec<usize> = set.iter().copied().collect();
    list.sort_unstable();
    list
}

fn floats() -> String {
    let floats: Vec<&str> = ElementType::ALL.into_iter().filter(|e| e.is_float()).map(ElementType::name).collect();
    floats.join(", ")
}

fn names_of(activations: &[Activation]) -> String {
    let names: Vec<&str> = activations.iter().map(|a| a.name()).collect();
    names.join(", ")
}

/// The longest name that is kept, in characters, and the most names of one input or output: many outputs may share them.
const LONGEST_NAME: usize = 200;
const MOST_NAMES: usize = 4;

/// Tensor names, then the layer's; each once, none empty.
fn names(tensor_names: &[&[String]], layer: &str) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut add = |name: &str, most: usize| {
        let name = cut(name);
        if !name.is_empty() && kept.len() < most && !kept.iter().any(|k| k == name) {
            kept.push(name.to_owned());
        }
    };
    tensor_names.iter().flat_map(|list| list.iter().take(MOST_NAMES)).for_each(|name| add(name, MOST_NAMES));
    add(layer, MOST_NAMES + 1);
    kept
}

fn cut(name: &str) -> &str {
    name.char_indices().nth(LONGEST_NAME).map_or(name, |(end, _)| &name[..end])
}

/// The input or output that is called `name`; `in0`, `out1` ... name those that nothing else is called so.
fn find_name(all: &[Vec<String>], name: &str, fallback: &str) -> Result<usize, String> {
    let mut found = all.iter().enumerate().filter(|(_, names)| names.iter().any(|n| n == cut(name))).map(|(i, _)| i);
    let what = if fallback == "in" { "input" } else { "output" };
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(_), Some(_)) => Err(format!("the model has several {what}s of that name")),
        (None, _) => name
            .strip_prefix(fallback)
            .and_then(|digits| digits.parse().ok())
            .filter(|&index: &usize| index < all.len() && format!("{fallback}{index}") == name)
            .ok_or_else(|| format!("the model has no {what} of that name")),
    }
}

fn list_names(all: &[Vec<String>]) -> String {
    const LONGEST: usize = 12;
    let mut texts: Vec<String> =
        all.iter().take(LONGEST).map(|names| quoted(names.first().map_or("", String::as_str))).collect();
    if all.len() > LONGEST {
        texts.push(format!("and {} more", all.len() - LONGEST));
    }
    texts.join(", ")
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

fn shape_text(shape: &[Dim]) -> String {
    let texts = shape.iter().map(|dim| match dim {
        Dim::Fixed(n) => n.to_string(),
        Dim::Dynamic { min: 0, max: None } => "?".to_owned(),
        Dim::Dynamic { min, max: None } => format!("{min}.."),
        Dim::Dynamic { min, max: Some(max) } => format!("{min}..{max}"),
    });
    bracketed(texts, shape.len())
}

fn fixed_shape_text(shape: &[usize]) -> String {
    bracketed(shape.iter().map(usize::to_string), shape.len())
}

/// The sizes of a shape, which may have any number of them.
fn bracketed(texts: impl Iterator<Item = String>, rank: usize) -> String {
    const LONGEST: usize = 12;
    let mut texts: Vec<String> = texts.take(LONGEST).collect();
    if rank > LONGEST {
        texts.push("...".to_owned());
    }
    format!("[{}]", texts.join(", "))
}

/// How to give a shape on the command line.
fn example(name: &str, stated: &[Dim]) -> String {
    let sizes: Vec<String> = stated
        .iter()
        .take(8)
        .map(|dim| match *dim {
            Dim::Fixed(n) => n.to_string(),
            Dim::Dynamic { min, .. } => min.max(1).to_string(),
        })
        .collect();
    let name = quoted(name);
    format!("--shape {}={}", &name[1..name.len() - 1], sizes.join(","))
}

/// The one hidden size for which h, W, R and B are made, if it is not the one that is said.
fn other_hidden_size(cell: &Cell, shapes: &[Option<Vec<usize>>]) -> Option<usize> {
    let [h, w, r] = [shapes.get(1), shapes.get(2), shapes.get(3)].map(|shape| shape.and_then(Option::as_ref));
    let other = *r?.get(1)?;
    let rows = other.checked_mul(cell.kind.gates())?;
    let bias = other.checked_mul(cell.kind.bias_parts())?;
    let fits = *r? == [rows, other]
        && h.is_none_or(|h| h.len() == 2 && h[1] == other)
        && w.is_none_or(|w| w.len() == 2 && w[0] == rows)
        && shapes.get(4).and_then(Option::as_ref).is_none_or(|b| *b == [bias]);
    (fits && other != cell.hidden_size).then_some(other)
}

/// What B holds, for messages.
fn bias_layout(kind: CellKind) -> &'static str {
    match kind {
        CellKind::Rnn => "hidden_size sums Wb + Rb",
        CellKind::Gru(ResetGate::BeforeMatMul) => {
            "3 times hidden_size, the sums Wb + Rb of the gates z, r, h (linear_before_reset is false)"
        }
        CellKind::Gru(ResetGate::AfterMatMul) => {
            "4 times hidden_size: Wb + Rb of z, Wb + Rb of r, Wb of h, Rb of h (linear_before_reset is true)"
        }
    }
}

/// What to do about a model that no front end should have made.
const MALFORMED: &str = "this model cannot be written down by any input: correct what built it";

/// What to say about a wrong shape, and what to do, going by what it looks like.
fn advice(cell: &Cell, port: usize, shape: &[usize], wanted: &[Option<usize>]) -> (String, &'static str) {
    let found = format!("{} has the shape {}", INPUTS[port], fixed_shape_text(shape));
    let of_sequence = shape.len() == wanted.len() + 1 && shape[0] == 1;
    let length = shape.last().copied().filter(|_| shape.len() == 1 || of_sequence);
    if let Some(length) = length.filter(|length| port == 4 && length % cell.hidden_size == 0) {
        const ONNX: &str = "this is ONNX's layout, Wb of z, r, h, then Rb of z, r, h";
        let parts = length / cell.hidden_size;
        let layout = match (cell.kind, parts) {
            (CellKind::Gru(ResetGate::AfterMatMul), 6) => {
                Some((ONNX, "add Wb and Rb of z and of r, and keep those of h apart: [Wbz + Rbz, Wbr + Rbr, Wbh, Rbh]"))
            }
            (CellKind::Gru(ResetGate::BeforeMatMul), 6) => {
                Some((ONNX, "add Wb and Rb of every gate: [Wbz + Rbz, Wbr + Rbr, Wbh + Rbh]"))
            }
            (CellKind::Gru(ResetGate::AfterMatMul), 3) => Some((
                "this is the layout for linear_before_reset false",
                "set linear_before_reset to false, or give Wb and Rb of h apart",
            )),
            (CellKind::Gru(ResetGate::BeforeMatMul), 4) => Some((
                "this is the layout for linear_before_reset true",
                "set linear_before_reset to true, or add the last two parts",
            )),
            (CellKind::Rnn, 2) => Some(("this is ONNX's layout, Wb, then Rb", "add the two halves")),
            _ => None,
        };
        if let Some((layout, help)) = layout {
            return (format!("{found}, {parts} times hidden_size: {layout}"), help);
        }
    }
    if of_sequence {
        return (found, "remove the first dimension: the number of directions belongs to sequences and to ONNX");
    }
    if let ([a, b], [rows, columns]) = (shape, wanted)
        && port >= 2
        && rows.is_none_or(|n| n == *b)
        && columns.is_none_or(|n| n == *a)
    {
        return (found, "transpose it: the weights of one unit are a row here, a column in Keras");
    }
    match cell.kind {
        CellKind::Gru(_) if port == 4 => {
            (found, "give the tensor this shape, or correct hidden_size or linear_before_reset")
        }
        _ => (found, "give the tensor this shape, or correct hidden_size"),
    }
}

/// The tensor after a conversion to `element`; `None` where every element stays what it is.
fn rounded(tensor: &Tensor, element: ElementType) -> Option<Tensor> {
    let stored = tensor.element();
    let exact = match (stored, element) {
        (_, ElementType::F64) => stored != ElementType::I64,
        (ElementType::F64 | ElementType::I32 | ElementType::I64, _) => stored == element,
        (_, ElementType::F32) => true,
        // 8 bits of mantissa hold what 8 bits of integer can say
        (ElementType::I8 | ElementType::U8, _) => true,
        _ => stored == element,
    };
    if exact {
        return None;
    }
    let values = 0..tensor.len();
    let bytes: Vec<u8> = match element {
        ElementType::F16 => values.flat_map(|i| f16::from_f32(odd_f32(tensor, i)).to_le_bytes()).collect(),
        ElementType::Bf16 => values.flat_map(|i| bf16::from_f32(odd_f32(tensor, i)).to_le_bytes()).collect(),
        ElementType::F64 => values.flat_map(|i| tensor.get_f64(i).to_le_bytes()).collect(),
        _ => values.flat_map(|i| tensor.get_f32(i).to_le_bytes()).collect(),
    };
    let size = bytes.len();
    Tensor::new(tensor.shape().to_vec(), element, bytes.into(), 0..size)
}

/// An element as f32, rounded to odd: a second rounding to a type of at most 22 bits of mantissa is then exact.
fn odd_f32(tensor: &Tensor, i: usize) -> f32 {
    if matches!(tensor.element(), ElementType::F32) {
        return tensor.get_f32(i);
    }
    let nearest = tensor.get_f32(i);
    // how the magnitude of what was rounded compares with the element's
    let magnitude = match tensor.get_i64(i) {
        // 2^63 needs more than an i64
        Some(exact) => (nearest.abs() as i128).cmp(&i128::from(exact).abs()),
        None => f64::from(nearest.abs()).partial_cmp(&tensor.get_f64(i).abs()).unwrap_or(Ordering::Equal),
    };
    match magnitude {
        Ordering::Equal => nearest,
        Ordering::Greater => f32::from_bits((nearest.to_bits() - 1) | 1),
        Ordering::Less => f32::from_bits(nearest.to_bits() | 1),
    }
}
