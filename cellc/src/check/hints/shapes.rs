//! Hints about the shapes of inputs. A hint gives a shape only if the model
//! has no errors with the shape.

use std::cell::Cell;

use super::HintContext;
use crate::check::input_shapes::example;
use crate::core::CoreModel;
use crate::core::{ElementsBefore, Lookback};
use crate::diagnostic::{Cause, Diagnostic, Diagnostics, Message, Setting, message};
use crate::model::{Dim, Model, Op, ValueId};
use crate::request::Options;
use crate::request::flag;
use crate::rules::names::{Side, find_name};
use crate::rules::shape::admits;

/// Numbers of steps to try, in order of preference.
const STEPS: [usize; 8] = [100, 16, 64, 256, 1024, 16_000, 10, 1];

/// Sizes to try for open axes that count neither rows nor steps, after the sizes of the weights.
const SIZES: [usize; 5] = [100, 64, 16, 256, 1];

/// A prime, which hardly any model requires as a size.
const ANOTHER_SIZE: usize = 113;

/// The most sizes of weights to try.
const MOST_SIZES: usize = 8;

/// The most checks of shapes for inputs with open sizes, for one model.
const MOST_RECHECKS: usize = 40;

/// The most nodes that these checks look at together. Two checks are allowed for any model.
const MOST_NODES_RECHECKED: usize = 200_000;

/// Shapes of inputs, each with the place of its input. `None` leaves a size open.
pub(crate) type Shapes = Vec<(usize, Vec<Option<usize>>)>;

/// The meaning of the open axes of an input.
struct OpenInput {
    /// The place of the input among the inputs of the model.
    index: usize,
    /// The sizes of the input. Options or weights replace open sizes, if they give a size.
    sizes: Vec<Dim>,
    /// Axes of the rows of a batch.
    batch: Vec<usize>,
    /// The axis of the steps.
    time: Option<usize>,
    /// True if the first axis may count steps.
    first: bool,
    /// True if the model leaves nothing open but the rows of a batch.
    only_rows: bool,
}

/// How a proposed shape gives the number of steps.
#[derive(Clone, Copy)]
enum StepSizes {
    /// The number of steps stays open.
    Open,
    /// The number of steps of every call.
    PerCall(usize),
    /// The first axis counts the steps, and their number stays open.
    First,
}

impl OpenInput {
    /// True if an open axis counts neither rows nor steps.
    fn has_other_axes(&self) -> bool {
        (0..self.sizes.len()).any(|axis| self.is_other(axis))
    }

    fn is_other(&self, axis: usize) -> bool {
        matches!(self.sizes[axis], Dim::Dynamic { .. })
            && !self.batch.contains(&axis)
            && self.time != Some(axis)
    }

    /// A shape of one row, with `other` as the size of axes that count neither rows nor steps.
    fn shape(&self, step_sizes: StepSizes, other: usize) -> Vec<Option<usize>> {
        let size = |(axis, &dim): (usize, &Dim)| {
            let Dim::Dynamic { min, max } = dim else {
                return if let Dim::Fixed(size) = dim { Some(size) } else { None };
            };
            let within = |size: usize| Some(size.min(max.unwrap_or(size)).max(min).max(1));
            match step_sizes {
                StepSizes::First if self.first && axis == 0 => None,
                StepSizes::Open if self.time == Some(axis) => None,
                StepSizes::PerCall(steps) if self.time == Some(axis) => within(steps),
                _ if self.is_other(axis) => within(other),
                _ => within(1),
            }
        };
        self.sizes.iter().enumerate().map(size).collect()
    }
}

/// The shapes without errors, for all inputs together.
struct WorkingShapes {
    /// With [`StepSizes::Open`].
    open: Option<Shapes>,
    /// With [`StepSizes::PerCall`].
    per_call: Option<Shapes>,
    /// With [`StepSizes::First`].
    first: Option<Shapes>,
    /// True if the model has no errors with a batch size of 1 in place of shapes.
    by_batch: bool,
    /// True if the model also has no errors with [`ANOTHER_SIZE`] for axes that count neither rows
    /// nor steps.
    any_size: bool,
}

impl HintContext<'_, '_> {
    /// True if the model has no errors with these shapes of inputs.
    pub(crate) fn accepts_shapes(&self, shapes: &[(usize, Vec<Option<usize>>)]) -> bool {
        self.context.accepts(self.context.model, &self.with_shapes(shapes))
    }

    /// True if the model has no errors with the shapes of inputs, and no layer starts from its
    /// initial state in every call.
    pub(crate) fn keeps_state_with(&self, shapes: &[(usize, Vec<Option<usize>>)]) -> bool {
        let outcome = self.context.recheck(self.context.model, &self.with_shapes(shapes));
        outcome.and_then(Result::ok).is_some_and(|(_, _, warnings)| {
            !warnings.0.iter().any(|warning| warning.cause.begins_anew())
        })
    }

    /// True if the model would have no errors if the file left these axes of its inputs open.
    pub(crate) fn accepts_open_axes(&self, axes: &[(usize, usize)]) -> bool {
        self.opened(axes).is_some()
    }

    /// The core model with axes of inputs left open by the file. `None` if the model then has
    /// errors.
    pub(crate) fn opened(&self, axes: &[(usize, usize)]) -> Option<CoreModel> {
        if self.context.pipeline.is_none() || axes.is_empty() {
            return None;
        }
        let mut model: Model = self.context.model.clone();
        let mut shapes = Shapes::new();
        for &(index, axis) in axes {
            let value = model.nodes[model.parameters[index]].outputs[0];
            let known = self.inputs.shapes[index].as_deref().unwrap_or_default();
            let stated = model.values[value.0].shape.as_mut()?;
            stated[axis] = Dim::Dynamic { min: 0, max: None };
            let sizes =
                known.iter().enumerate().map(|(at, &size)| Some(size).filter(|_| at != axis));
            shapes.push((index, sizes.collect()));
        }
        let outcome = self.context.recheck(&model, &self.with_shapes(&shapes));
        outcome.and_then(Result::ok).map(|(core, ..)| core)
    }

    fn with_shapes(&self, shapes: &[(usize, Vec<Option<usize>>)]) -> Options {
        let mut options = self.context.options.clone();
        let names: Vec<Vec<String>> = self.context.names_of_inputs();
        options.bindings.shapes.retain(|(name, _)| {
            find_name(&names, name, Side::Input)
                .is_ok_and(|index| shapes.iter().all(|(input, _)| *input != index))
        });
        let named = shapes
            .iter()
            .filter_map(|(index, sizes)| Some((names[*index].first()?.clone(), sizes.clone())));
        options.bindings.shapes.extend(named);
        options
    }

    /// The setting for the shape of an input.
    fn shape_setting(&self, index: usize, sizes: &[Option<usize>]) -> Setting {
        let dims: Vec<Dim> = sizes
            .iter()
            .map(|size| size.map_or(Dim::Dynamic { min: 0, max: None }, Dim::Fixed))
            .collect();
        let name = self.context.input_name(index);
        let time = sizes.iter().position(Option::is_none).map(|axis| (axis, None));
        example(&name, &dims, time)
    }

    /// The settings that give inputs these shapes.
    pub(crate) fn shape_settings(&self, shapes: &[(usize, Vec<Option<usize>>)]) -> Message {
        let settings = shapes.iter().map(|(index, sizes)| self.shape_setting(*index, sizes).into());
        Message::joined(settings, " ")
    }

    /// The shapes for the first number in `steps` with which the model has no errors. `time`: by
    /// input, the axis of the steps.
    pub(crate) fn shapes_per_call(
        &self,
        time: &[Option<usize>],
        steps: &[usize],
    ) -> Option<Shapes> {
        let with_steps = |steps: usize| self.shapes_of_steps(time, &|_| steps);
        steps.iter().map(|&steps| with_steps(steps)).find(|shapes| self.accepts_shapes(shapes))
    }

    /// Shapes of inputs for numbers of steps. `time`: by input, the axis of the steps. `steps`: by
    /// input, the number of steps. Inputs without such an axis are left out, unless the batch size
    /// gives their open sizes.
    pub(crate) fn shapes_of_steps(
        &self,
        time: &[Option<usize>],
        steps: &dyn Fn(usize) -> usize,
    ) -> Shapes {
        let shapes =
            self.inputs.shapes.iter().zip(time).enumerate().filter_map(|(index, (shape, axis))| {
                let mut sizes: Vec<Option<usize>> =
                    shape.as_ref()?.iter().map(|&size| Some(size)).collect();
                match *axis {
                    Some(axis) => sizes[axis] = Some(steps(index)),
                    None => self.is_by_batch(index).then_some(())?,
                }
                Some((index, sizes))
            });
        shapes.collect()
    }

    /// True if the model leaves sizes of an input open and no option gives a shape: the batch size
    /// gives the open sizes.
    fn is_by_batch(&self, index: usize) -> bool {
        let names = self.context.names_of_input(index);
        let stated =
            self.context.model.values[self.value_of(index).0].shape.as_deref().unwrap_or_default();
        let is_open = stated.iter().any(|dim| matches!(dim, Dim::Dynamic { .. }));
        is_open
            && self.context.options.bindings.shapes.iter().all(|(name, _)| !names.contains(name))
    }

    /// Shapes with one row for inputs whose first axis counts rows, not steps. `time`: by input,
    /// the axis taken for steps. `None` if the model has errors with the shapes, or if an input
    /// does not show that its first axis counts rows.
    pub(crate) fn rows_first(&self, time: &[Option<usize>]) -> Option<Shapes> {
        let shapes =
            time.iter().enumerate().filter(|(_, axis)| **axis == Some(0)).map(|(index, _)| {
                let value = self.value_of(index);
                let stated = self.context.model.values[value.0].shape.as_ref()?;
                let known = self.inputs.shapes[index].as_ref().filter(|known| known.len() > 2)?;
                let mut sizes: Vec<Option<usize>> = known.iter().map(|&size| Some(size)).collect();
                sizes[0] = Some(1);
                let open =
                    (1..sizes.len() - 1).find(|&axis| matches!(stated[axis], Dim::Dynamic { .. }));
                match open {
                    Some(axis) => sizes[axis] = None,
                    // only a recurrent operator can show that the first axis counts rows
                    None if self.inputs.sequence_axes[index].is_none_or(|axes| axes.rows != 0) => {
                        return None;
                    }
                    None => {}
                }
                Some((index, sizes))
            });
        let shapes: Shapes = shapes.collect::<Option<_>>()?;
        (!shapes.is_empty() && self.accepts_shapes(&shapes)).then_some(shapes)
    }

    /// Numbers of steps to try.
    pub(crate) fn numbers_of_steps(&self) -> Vec<usize> {
        let mut numbers = STEPS.to_vec();
        numbers.extend(sizes_of_weights(self.context.model));
        // no single step next to a running sum that starts at zero in every call: the sum would be
        // the element itself
        let steps = self.inputs.open.unwrap_or(1);
        let is_sum = |lookback: &Lookback| {
            matches!(lookback.before, ElementsBefore::Zero) && lookback.along(&[steps]).is_some()
        };
        if self.steps.history.lookbacks.iter().any(is_sum) {
            numbers.retain(|&steps| steps > 1);
        }
        numbers
    }

    fn value_of(&self, index: usize) -> ValueId {
        self.context.model.nodes[self.context.model.parameters[index]].outputs[0]
    }

    /// Puts shapes without errors into the help of each error about an input with open sizes or
    /// without a shape.
    pub(crate) fn advise_sizes(&self, diagnostics: &mut Diagnostics) {
        let labels: Vec<String> = self
            .context
            .model
            .parameters
            .iter()
            .map(|&node| self.context.model.nodes[node].label())
            .collect();
        let input_of =
            |layer: &Option<String>| labels.iter().position(|label| Some(label) == layer.as_ref());
        let unknown: Vec<(usize, usize)> = (diagnostics.0.iter().enumerate())
            .filter(|(_, diagnostic)| diagnostic.cause == Cause::OpenSizes)
            .filter_map(|(at, diagnostic)| Some((at, input_of(&diagnostic.layer)?)))
            .collect();
        if self.context.pipeline.is_none() {
            return;
        }
        let without_shape = |diagnostic: &&mut Diagnostic| diagnostic.cause == Cause::NoShape;
        for diagnostic in diagnostics.0.iter_mut().filter(without_shape) {
            let Some(index) = input_of(&diagnostic.layer) else { continue };
            if let Some(sizes) = self.any_shape(index) {
                diagnostic.help = Some(message!(
                    "give its shape; this one works: {}",
                    self.shape_setting(index, &sizes)
                ));
            }
        }
        if unknown.is_empty() {
            return;
        }
        let inputs: Vec<OpenInput> =
            unknown.iter().filter_map(|&(_, index)| self.open_input(index)).collect();
        let found = self.try_shapes(&inputs);
        for (at, index) in unknown {
            let Some(input) = inputs.iter().find(|input| input.index == index) else { continue };
            let mut help = self.size_help(input, &found);
            if let Some(mistaken) = self.rows_named_steps(index) {
                help.push(format!("; {}", self.counts_rows(&mistaken)));
            }
            diagnostics.0[at].help = Some(help);
        }
    }

    /// A shape without errors for an input that has no shape in the model.
    fn any_shape(&self, index: usize) -> Option<Vec<Option<usize>>> {
        let features = self.inputs.uses[index]
            .features
            .map_or_else(|| sizes_of_weights(self.context.model), |size| vec![size]);
        let shapes = features.iter().flat_map(|&size| {
            [
                vec![Some(1), Some(size)],
                vec![Some(1), None, Some(size)],
                vec![Some(1), Some(STEPS[0]), Some(size)],
            ]
        });
        shapes.into_iter().find(|sizes| self.accepts_shapes(&[(index, sizes.clone())]))
    }

    fn open_input(&self, index: usize) -> Option<OpenInput> {
        let stated = self.context.model.values[self.value_of(index).0].shape.as_ref()?;
        let names: Vec<Vec<String>> = self.context.names_of_inputs();
        let mut given = self.context.options.bindings.shapes.iter();
        let given =
            given.find(|(name, _)| find_name(&names, name, Side::Input).ok() == Some(index));
        let sizes = self.likely(index, stated, given.map(|(_, sizes)| &sizes[..]));
        let is_open = |axis: usize| matches!(sizes[axis], Dim::Dynamic { .. });
        let is_weight = self.inputs.uses[index].weight.is_some();
        let of_batch = &self.inputs.batch_axes[index];
        let batch: Vec<usize> = of_batch.axes.iter().copied().filter(|_| !is_weight).collect();
        // the last axis holds features, unless an input of two axes has rows and steps
        let last = sizes.len() - usize::from(sizes.len() > 2 || self.inputs.uses[index].batch);
        let has_steps = !is_weight && !of_batch.is_state;
        let counts_steps = |axis: &usize| has_steps && !batch.contains(axis) && is_open(*axis);
        // behind channels, as in the input of a convolution, the last axis counts steps
        let behind = Some(sizes.len() - 1).filter(|axis| sizes.len() > 2 && counts_steps(axis));
        let time = (0..last).find(counts_steps).or(behind);
        let behind_channels = behind.is_some() && time == behind;
        let first = has_steps
            && !behind_channels
            && !of_batch.is_known
            && !self.inputs.uses[index].batch
            && sizes.len() > 1
            && is_open(0);
        let mut stated = stated.iter().enumerate();
        let only_rows =
            stated.all(|(axis, dim)| matches!(dim, Dim::Fixed(_)) || batch.contains(&axis));
        Some(OpenInput { index, batch, time, first, only_rows, sizes })
    }

    /// The sizes of an input. Open sizes are replaced by sizes from the options or the weights, if
    /// known.
    fn likely(&self, index: usize, stated: &[Dim], given: Option<&[Option<usize>]>) -> Vec<Dim> {
        let size = |(axis, dim): (usize, &Dim)| {
            let batch = self
                .context
                .options
                .bindings
                .batch
                .filter(|_| self.inputs.batch_axes[index].axes.contains(&axis));
            let features = self.inputs.uses[index].features.filter(|_| axis + 1 == stated.len());
            let known_size = given.and_then(|given| given[axis]).or(batch).or(features);
            known_size.filter(|&size| admits(*dim, size)).map_or(*dim, Dim::Fixed)
        };
        stated.iter().enumerate().map(size).collect()
    }

    fn try_shapes(&self, inputs: &[OpenInput]) -> WorkingShapes {
        let rechecks_left = Cell::new(
            MOST_RECHECKS.min(MOST_NODES_RECHECKED / self.context.model.nodes.len().max(1)).max(2),
        );
        let works = |shapes: &Shapes| {
            let may = rechecks_left.get() > 0;
            rechecks_left.set(rechecks_left.get().saturating_sub(1));
            may && self.accepts_shapes(shapes)
        };
        let shapes = |step_sizes: StepSizes, others: &[usize]| -> Shapes {
            inputs
                .iter()
                .zip(others)
                .map(|(input, &other)| (input.index, input.shape(step_sizes, other)))
                .collect()
        };
        let sizes: Vec<usize> =
            sizes_of_weights(self.context.model).into_iter().chain(SIZES).collect();
        let size_choices = combinations(inputs, &sizes);
        let has_time = inputs.iter().any(|input| input.time.is_some());
        let first_of = |step_sizes: StepSizes| {
            size_choices.iter().find_map(|sizes| Some(shapes(step_sizes, sizes)).filter(&works))
        };
        let first = Some(shapes(StepSizes::First, &size_choices[0]));
        let first = first.filter(|_| inputs.iter().any(|input| input.first)).filter(&works);
        let open = if has_time { first_of(StepSizes::Open) } else { None };
        let steps = if has_time { self.numbers_of_steps() } else { vec![1] };
        let per_call = steps.iter().find_map(|&steps| first_of(StepSizes::PerCall(steps)));
        // if the model has no errors at an arbitrary size, the sizes found are not required
        let another = per_call
            .as_ref()
            .filter(|_| inputs.iter().any(OpenInput::has_other_axes))
            .and_then(|found| {
                let (open, sizes) = (inputs.iter(), vec![ANOTHER_SIZE; inputs.len()]);
                let steps =
                    open.zip(found).find_map(|(input, (_, sizes))| sizes[input.time?]).unwrap_or(1);
                Some(shapes(StepSizes::PerCall(steps), &sizes)).filter(&works)
            });
        let by_batch = inputs.iter().any(|input| input.only_rows)
            && self
                .context
                .accepts(self.context.model, &self.context.options.clone().with_batch(Some(1)));
        WorkingShapes { open, per_call, first, by_batch, any_size: another.is_some() }
    }

    /// The help for an input with open sizes.
    fn size_help(&self, input: &OpenInput, found: &WorkingShapes) -> Message {
        // the setting names all inputs with open sizes
        let setting =
            |shapes: &Option<Shapes>| shapes.as_ref().map(|shapes| self.shape_settings(shapes));
        let (open, per_call) = (setting(&found.open), setting(&found.per_call));
        let first = setting(&found.first).filter(|_| input.first);
        let or_first = |verb: &str| match &first {
            Some(first) => {
                message!("; or, where the first axis counts steps, {} open, {}", verb, first)
            }
            None => Message::default(),
        };
        let like = match input.has_other_axes() && found.any_size {
            true => {
                "; the model leaves other sizes of it open, too: give those that it was made for"
            }
            false => "",
        };
        let many = found.per_call.as_ref().is_some_and(|shapes| shapes.len() > 1);
        match (open, per_call) {
            (Some(open), per_call) if input.time.is_some() => {
                let or_first = or_first("leave that one");
                self.help_for_open_steps(input, [open, or_first], per_call, like, found.by_batch)
            }
            (_, Some(per_call)) if input.time.is_some() => {
                let [_, of_call] = self.counted_by_steps(input);
                message!("give the {}, {}{}{}", of_call, per_call, or_first("leave that one"), like)
            }
            (_, Some(per_call)) if input.only_rows => {
                let or_first = or_first("leave their number");
                let shape = if many { "whole shapes" } else { "whole shape" };
                match found.by_batch {
                    true => {
                        let batch = Setting::BatchOf(1);
                        message!(
                            "give the batch size, {}, or the {}, {}{}",
                            batch,
                            shape,
                            per_call,
                            or_first
                        )
                    }
                    false => message!("give the {}, {}{}", shape, per_call, or_first),
                }
            }
            (_, Some(per_call)) => {
                let shape = if many { "shapes" } else { "shape" };
                message!("give the whole {}: {}{}", shape, per_call, like)
            }
            (_, None) => match first {
                Some(first) => {
                    message!("leave the number of steps, the first axis, open, {}", first)
                }
                None => {
                    message!(
                        "give the sizes that the model was made for, by {}",
                        flag::SHAPE.setting()
                    )
                }
            },
        }
    }

    /// The help for an input whose number of steps may stay open. `per_call`: a setting that fixes
    /// the number. `by_batch`: true if a batch size alone is enough.
    fn help_for_open_steps(
        &self,
        input: &OpenInput,
        [open, or_first]: [Message; 2],
        per_call: Option<Message>,
        like: &str,
        by_batch: bool,
    ) -> Message {
        const GOES_ON: &str = "and the state goes on from call to call";
        let [count, of_call] = self.counted_by_steps(input);
        let or_per_call = per_call.map_or_else(Message::default, |per_call| {
            message!("; or give the {}, {}", of_call, per_call)
        });
        match by_batch {
            true => message!(
                "give the batch size, {}: the {} stays open, {}{}{}",
                Setting::BatchOf(1),
                count,
                GOES_ON,
                or_per_call,
                like
            ),
            false => message!(
                "leave the {} open, {}, {}{}{}{}",
                count,
                open,
                GOES_ON,
                or_first,
                or_per_call,
                like
            ),
        }
    }

    /// The name of the number that the axis of steps counts, and its name for one call.
    fn counted_by_steps(&self, input: &OpenInput) -> [&'static str; 2] {
        // floats along the last axis, with all other axes of the batch or of size 1, are samples
        let value = &self.context.model.values[self.value_of(input.index).0];
        let mut other_axes =
            input.sizes.iter().enumerate().filter(|(axis, _)| input.time != Some(*axis));
        let is_row =
            other_axes.all(|(axis, dim)| input.batch.contains(&axis) || *dim == Dim::Fixed(1));
        match input.time {
            Some(time) if time + 1 == input.sizes.len() && is_row && value.element.is_float() => {
                ["number of samples", "number of samples of a call"]
            }
            _ => ["number of steps", "steps of a whole sequence"],
        }
    }
}

/// Combinations of sizes, by input, for open axes that count neither rows nor steps. At most
/// [`MOST_RECHECKS`]; combinations of the first sizes come first.
fn combinations(inputs: &[OpenInput], sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut combinations: Vec<Vec<usize>> = vec![Vec::new()];
    for input in inputs {
        let size_count = if input.has_other_axes() { sizes.len() } else { 1 };
        combinations = combinations
            .iter()
            .flat_map(|before| (0..size_count).map(|at| [&before[..], &[at]].concat()))
            .collect();
        combinations.sort_by_key(|places| places.iter().max().copied());
        combinations.truncate(MOST_RECHECKS);
    }
    combinations.iter().map(|places| places.iter().map(|&at| sizes[at]).collect()).collect()
}

/// The first [`MOST_SIZES`] sizes above 1 of constant matrices, inputs and cells, each once, in the
/// order of the model.
fn sizes_of_weights(model: &Model) -> Vec<usize> {
    let mut sizes: Vec<usize> = Vec::new();
    for node in &model.nodes {
        let of_node: Vec<usize> = match &node.op {
            Op::Constant(tensor) if tensor.element().is_float() && tensor.shape().len() > 1 => {
                tensor.shape().to_vec()
            }
            Op::Parameter => {
                let stated = model.values[node.outputs[0].0].shape.iter().flatten();
                stated
                    .filter_map(|dim| if let Dim::Fixed(size) = dim { Some(*size) } else { None })
                    .collect()
            }
            Op::Cell(cell) | Op::Sequence(cell, _) => {
                vec![cell.hidden_size, cell.kind.gates() * cell.hidden_size]
            }
            _ => continue,
        };
        for size in of_node {
            if size > 1 && !sizes.contains(&size) && sizes.len() < MOST_SIZES {
                sizes.push(size);
            }
        }
    }
    sizes
}
