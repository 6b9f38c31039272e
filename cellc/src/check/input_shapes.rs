//! The shapes of the inputs, from the model and the options.

use super::pytorch_export::export_again;
use crate::check::subject::CheckContext;
use crate::core::element_count;
use crate::diagnostic::{
    Cause, Diagnostic, Diagnostics, Message, Origin, Problem, Setting, message, quoted,
};
use crate::model::limits::MOST_ELEMENTS;
use crate::model::{Dim, ElementType, Node, Op, Value, shape_text};
use crate::request::flag;
use crate::rules::input_sizes::InputSizes;
use crate::rules::names::{Side, find_name, list_names};
use crate::rules::report::{floats, refusal};
use crate::rules::shape::admits;
use crate::rules::size_limits::too_large;
use crate::rules::unused::Unused;

const ANY: Dim = Dim::Dynamic { min: 0, max: None };

/// Determines the shape of every input from the model and the options. `inputs`: the uses and the
/// axes of inputs, without shapes.
pub(super) fn input_shapes(
    context: CheckContext,
    inputs: &mut InputSizes,
    diagnostics: &mut Diagnostics,
) {
    let shapes = InputShapes { context, inputs, diagnostics }.shapes();
    inputs.shapes = shapes;
}

struct InputShapes<'c, 'a> {
    context: CheckContext<'a>,
    inputs: &'c mut InputSizes,
    diagnostics: &'c mut Diagnostics,
}

impl InputShapes<'_, '_> {
    fn error(
        &mut self,
        node: &Node,
        origin: &Origin,
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) {
        self.diagnostics.push(refusal(node, origin, Problem::new(found, valid, help)));
    }

    /// The shape of each input. `None` after an error, or if later options may fix a size.
    fn shapes(&mut self) -> Vec<Option<Vec<usize>>> {
        let all_names = self.context.names_of_inputs();
        let mut given: Vec<Option<&[Option<usize>]>> = vec![None; all_names.len()];
        for (name, shape) in &self.context.options.bindings.shapes {
            match find_name(&all_names, name, Side::Input) {
                Ok(index) if given[index].is_some() => {
                    let found = format!("two shapes are given for the input {}", quoted(name));
                    let diagnostic = Diagnostic::error(Origin::Unknown, found).valid("one");
                    let diagnostic =
                        diagnostic.help(message!("remove one {}", shape_option(Some(shape))));
                    self.diagnostics.push(diagnostic);
                }
                Ok(index) => given[index] = Some(shape),
                Err(problem) => self.diagnostics.push(
                    Diagnostic::error(
                        Origin::Unknown,
                        format!("a shape is given for {}, but {problem}", quoted(name)),
                    )
                    .valid(format!(
                        "the inputs of the model: {}",
                        list_names(&all_names, Side::Input)
                    ))
                    .help(message!("correct the name in {}", shape_option(Some(shape)))),
                ),
            }
        }
        // the batch size has an effect if it completes the shape of a variable
        let mut batch_used = self.context.model.nodes.iter().any(|node| {
            let shape = || self.context.model.values[node.outputs[0].0].shape.as_ref()?.first();
            matches!(node.op, Op::ReadValue { .. }) && matches!(shape(), Some(Dim::Dynamic { .. }))
        });
        let shapes = (0..given.len())
            .map(|index| self.parameter_shape(index, given[index], &mut batch_used))
            .collect();
        // no warning for a batch of 1, which most models with a fixed batch have
        let asked = self.context.batch_size().is_some_and(|batch| batch > 1);
        if asked && !batch_used && !self.diagnostics.has_errors() {
            self.diagnostics.push(Unused::Batch.warning());
        }
        shapes
    }

    /// Checks the type of an input, and warns if generated code takes another type. `None` if the
    /// type is refused.
    fn parameter_type(&mut self, index: usize, node: &Node, value: &Value) -> Option<()> {
        let is_wide = matches!(value.element, ElementType::I32 | ElementType::I64);
        let is_read = value.element.is_float()
            || is_wide
            || value.element.bits() > 4 && !self.inputs.uses[index].is_length();
        if !is_read {
            let found = format!("an input of type {}", value.element.name());
            let valid = format!(
                "{}; i32 or i64; other integers and booleans that are no lengths",
                floats()
            );
            self.error(node, &value.origin, found, valid, "convert it before it enters the model");
            return None;
        }
        if !value.element.is_float() && !is_wide && value.element != ElementType::Bool {
            let wide = if value.element.bits() < 32 { "i32" } else { "i64" };
            let found = format!(
                "the input is {} in the model; the generated code takes {wide}",
                value.element.name()
            );
            self.diagnostics
                .push(Diagnostic::warning(value.origin.clone(), found).layer(node.label()));
        }
        if value.element.is_float() && value.element != ElementType::F32 {
            let found = format!(
                "the input is {} in the model; the generated code takes f32 and computes in f32",
                value.element.name()
            );
            self.diagnostics
                .push(Diagnostic::warning(value.origin.clone(), found).layer(node.label()));
        }
        Some(())
    }

    /// Checks the shape that the options give against the stated shape. `None` after an error.
    fn fits_stated(
        &mut self,
        node: &Node,
        value: &Value,
        stated: &[Dim],
        given: &[Option<usize>],
    ) -> Option<()> {
        let fits = stated.len() == given.len()
            && stated
                .iter()
                .zip(given)
                .all(|(dim, size)| size.is_none_or(|size| admits(*dim, size)));
        if !fits {
            let against = match given.contains(&Some(0)) {
                true => ": a size of 0".to_owned(),
                false => format!(", but the model says {}", shape_text(stated)),
            };
            let found = format!("the shape {} is given for the input{against}", given_text(given));
            let valid = "sizes of 1 or more that agree with the model where it knows them";
            let help = message!("correct {}", shape_option(Some(given)));
            self.error(node, &value.origin, found, valid, help);
            return None;
        }
        Some(())
    }

    /// Refuses an input with an open size, or a given shape whose last size does not fit the
    /// weights.
    fn unknown_sizes(&mut self, index: usize, stated: &[Dim], given: Option<&[Option<usize>]>) {
        let node = &self.context.model.nodes[self.context.model.parameters[index]];
        let value = &self.context.model.values[node.outputs[0].0];
        if let (Some(given), Some(features)) = (given, self.other_features(index, given)) {
            let found = format!(
                "the shape {} is given for the input, but the weights take {features} \
                 in its last axis",
                given_text(given)
            );
            let right = format!("{features} as the last size");
            let help = message!("correct {}", shape_option(Some(given)));
            self.error(node, &value.origin, found, right, help);
            return;
        }
        // `advise_sizes` replaces the help after it has found shapes for all inputs
        let help = message!("give the sizes, by {}", flag::SHAPE.setting());
        let found =
            format!("the input has the shape {}: not every size is known", shape_text(stated));
        let valid = "sizes that are fixed when compiling";
        let refusal = refusal(node, &value.origin, Problem::new(found, valid, help));
        self.diagnostics.push(refusal.cause(Cause::OpenSizes));
    }

    /// Refuses an input whose shape in the model contradicts a size: 0, or the batch size.
    fn wrong_size(&mut self, index: usize, stated: &[Dim], size: usize) {
        let node = &self.context.model.nodes[self.context.model.parameters[index]];
        let value = &self.context.model.values[node.outputs[0].0];
        let shape = shape_text(stated);
        let (found, help) = match size {
            0 => (
                format!("the input has the shape {shape}: a size of 0"),
                message!(
                    "an input without elements gives nothing to a call: save the model \
                    with an example of 1 or more; where 0 stands for an open size, give \
                    the size by {}",
                    flag::SHAPE.setting()
                ),
            ),
            _ => (
                format!("the batch size {size}, but the input has the shape {shape}"),
                message!("correct {}", flag::BATCH.setting()),
            ),
        };
        self.error(
            node,
            &value.origin,
            found,
            "sizes of 1 or more that agree with the model",
            help,
        );
    }

    /// The shape of an input in the model, with open axes for sizes that only the options give.
    /// `None` after an error, and without a shape in a partial model.
    fn stated_shape(
        &mut self,
        node: &Node,
        value: &Value,
        given: Option<&[Option<usize>]>,
    ) -> Option<Vec<Dim>> {
        match (&value.shape, given) {
            // some exporters write 0 for an open size
            (Some(shape), Some(_)) => {
                let open = |&dim: &Dim| if dim == Dim::Fixed(0) { ANY } else { dim };
                Some(shape.iter().map(open).collect())
            }
            (Some(shape), None) => Some(shape.clone()),
            (None, Some(given)) => Some(vec![ANY; given.len()]),
            (None, None) if self.context.is_partial => None,
            (None, None) => {
                // `advise_sizes` replaces the help by a shape that works
                let help = message!("give its shape, by {}", flag::SHAPE.setting());
                let problem = Problem::new("an input without a shape", "a shape", help);
                let refusal = refusal(node, &value.origin, problem);
                self.diagnostics.push(refusal.cause(Cause::NoShape));
                None
            }
        }
    }

    /// True if the batch size of the options completes or confirms the shape of an input.
    /// `open_batch`: true if the model leaves an axis of the batch open. `None` after an error.
    fn fits_batch(&mut self, index: usize, shape: &[usize], open_batch: bool) -> Option<bool> {
        let Some(batch) = self.context.batch_size() else { return Some(false) };
        let Some(&size) = shape.first().filter(|_| self.inputs.uses[index].batch) else {
            return Some(open_batch);
        };
        if size == batch {
            return Some(true);
        }
        let node = &self.context.model.nodes[self.context.model.parameters[index]];
        let origin = &self.context.model.values[node.outputs[0].0].origin;
        let found =
            format!("the batch size {batch} is given, but the input has the shape {shape:?}");
        let batch = flag::BATCH.setting();
        let help = message!("leave out {}, or save the model with another batch size", batch);
        self.error(node, origin, found, format!("a batch size of {size}"), help);
        None
    }

    /// The shape of an input. `None` after an error, or if later options may fix a size.
    fn parameter_shape(
        &mut self,
        index: usize,
        given: Option<&[Option<usize>]>,
        batch_used: &mut bool,
    ) -> Option<Vec<usize>> {
        let node = &self.context.model.nodes[self.context.model.parameters[index]];
        let value = &self.context.model.values[node.outputs[0].0];
        let is_weight = self.inputs.uses[index].weight.is_some();
        self.parameter_type(index, node, value)?;
        let stated = self.stated_shape(node, value, given)?;
        if let Some(given) = given {
            self.fits_stated(node, value, &stated, given)?;
        }
        let by_name = |axis: usize| self.context.model.open_axes.contains(&(node.outputs[0], axis));
        let asked_for =
            |axis: usize| by_name(axis) || given.is_some_and(|given| given[axis].is_none());
        if let Some((axis, size)) = stated.iter().enumerate().find_map(|(axis, dim)| match dim {
            Dim::Fixed(size) if asked_for(axis) => Some((axis, size)),
            _ => None,
        }) {
            self.not_open(index, (axis, *size), &stated, given);
            return None;
        }
        let batch_axes = self.inputs.batch_axes[index].clone();
        let is_batch = |axis: usize| !is_weight && batch_axes.axes.contains(&axis);
        let is_time = |axis: usize| {
            !is_weight && (!is_batch(axis) && !batch_axes.is_state || asked_for(axis))
        };
        let mut shape = Vec::new();
        for (axis, &dim) in stated.iter().enumerate() {
            let known_size = given.and_then(|given| given[axis]);
            let size = match (known_size, dim, self.context.batch_size()) {
                (Some(size), _, _) => size,
                (None, Dim::Fixed(size), _) => size,
                (None, Dim::Dynamic { .. }, Some(batch)) if is_batch(axis) && !asked_for(axis) => {
                    batch
                }
                // the axis counts steps: it is no batch axis, or the options leave it open
                (None, Dim::Dynamic { .. }, _) if is_time(axis) && self.inputs.open.is_some() => {
                    self.inputs.open_axes[index].push(axis);
                    self.inputs.open?
                }
                // later options may fix the size
                (None, Dim::Dynamic { .. }, _) if self.context.is_partial => return None,
                (None, Dim::Dynamic { .. }, _) => {
                    self.unknown_sizes(index, &stated, given);
                    return None;
                }
            };
            if !admits(dim, size) {
                self.wrong_size(index, &stated, size);
                return None;
            }
            shape.push(size);
        }
        if element_count(&shape).is_none_or(|n| n > MOST_ELEMENTS) {
            self.diagnostics.push(too_large(node, &value.origin, &shape, MOST_ELEMENTS));
            return None;
        }
        let is_open = |axis: usize| matches!(stated[axis], Dim::Dynamic { .. });
        let open_batch = (0..stated.len()).any(|axis| is_batch(axis) && is_open(axis));
        *batch_used |= self.fits_batch(index, &shape, open_batch)?;
        Some(shape)
    }

    /// Reports an axis left open by options with a fixed size in the model, and the axes that may
    /// be open.
    fn not_open(
        &mut self,
        index: usize,
        (axis, size): (usize, usize),
        stated: &[Dim],
        given: Option<&[Option<usize>]>,
    ) {
        let node = &self.context.model.nodes[self.context.model.parameters[index]];
        let origin = &self.context.model.values[node.outputs[0].0].origin;
        let found = message!(
            "{} leaves axis {} of the input open, but the model says {}",
            shape_option(given),
            axis,
            shape_text(stated)
        );
        let axes = self.inputs.sequence_axes[index];
        let is_features = stated.len() > 1
            && axis + 1 == stated.len()
            && self.inputs.uses[index].features.is_some();
        let counts = match axes {
            _ if is_features => Some("features"),
            Some(axes) if axes.rows == axis => Some("the rows of a batch"),
            Some(axes) if axes.steps != axis => Some("features"),
            _ => None,
        };
        let steps = axes.map(|axes| axes.steps).filter(|steps| *steps != axis && counts.is_some());
        let fixed_steps = steps.filter(|&steps| matches!(stated[steps], Dim::Fixed(_)));
        let (again, to_open) = match (counts, steps, fixed_steps) {
            (None, ..) => {
                // the first axis of a model without recurrent operators counts rows or steps
                let is_steps = axes.is_some() || axis > 0;
                (
                    export_again(
                        self.context.model,
                        &[(index, axis)],
                        if is_steps { "steps" } else { "rows" },
                    ),
                    None,
                )
            }
            (Some(_), _, Some(steps)) => {
                (export_again(self.context.model, &[(index, steps)], "steps"), Some(steps))
            }
            (Some(_), ..) => (Vec::new(), None),
        };
        let help = help_for_fixed_axis(counts, to_open, !again.is_empty(), fixed_steps);
        self.error(node, origin, found, format!("{size} in place of the ?"), help);
        if let Some(error) = self.diagnostics.0.last_mut() {
            error.lines = again;
        }
    }

    /// The size of the last axis required by the weights, if the given shape has another.
    fn other_features(&self, index: usize, given: Option<&[Option<usize>]>) -> Option<usize> {
        let last = given?.last().copied()??;
        self.inputs.uses[index].features.filter(|&features| features != last)
    }
}

/// The help for an axis that must not be open. `counts`: the things that the axis counts, if not
/// steps. `to_open`: the axis of steps that an export may leave open. `fixed_steps`: the axis of
/// steps, if its size is fixed.
fn help_for_fixed_axis(
    counts: Option<&str>,
    to_open: Option<usize>,
    has_export: bool,
    fixed_steps: Option<usize>,
) -> String {
    let Some(counts) = counts else {
        return match has_export {
            true => "give the size, or export the model with an open size there, as these lines do",
            false => "give the size, or save the model with a dynamic size there",
        }
        .to_owned();
    };
    let fixed = format!(
        "give the number of {counts}, which is fixed; only the number of steps may be open"
    );
    match (to_open.filter(|_| has_export), fixed_steps) {
        (Some(steps), _) => format!("{fixed}, axis {steps}: export the model as these lines do"),
        (None, Some(steps)) => {
            format!("{fixed}: save the model with a dynamic size of axis {steps}")
        }
        (None, None) => fixed,
    }
}

/// The setting for the shape of an input: a shape with an open size if `given` has one.
fn shape_option(given: Option<&[Option<usize>]>) -> Setting {
    let is_open = given.is_some_and(|given| given.contains(&None));
    if is_open { Setting::OpenShape } else { flag::SHAPE.setting() }
}

/// A given shape in words of messages: `[1, ?, 16]`.
fn given_text(sizes: &[Option<usize>]) -> String {
    let texts: Vec<String> =
        sizes.iter().map(|size| size.map_or("?".to_owned(), |n| n.to_string())).collect();
    format!("[{}]", texts.join(", "))
}

/// The setting with an example of a shape. `time`: an axis and its size in the example.
pub(crate) fn example(name: &str, stated: &[Dim], time: Option<(usize, Option<usize>)>) -> Setting {
    let sizes: Vec<Option<usize>> = stated
        .iter()
        .take(8)
        .enumerate()
        .map(|(axis, dim)| match (time, *dim) {
            (Some((time, size)), _) if axis == time => size,
            (_, Dim::Fixed(n)) => Some(n),
            (_, Dim::Dynamic { min, .. }) => Some(min.max(1)),
        })
        .collect();
    let name = quoted(name);
    Setting::ShapeOf(name[1..name.len() - 1].to_owned(), sizes)
}
