//! Models whose number of steps only a call says: what is compiled is one step, which calls repeat.
//!
//! That computes the same only where every step computes for itself, but for what sequences hand on. It is shown on the model
//! compiled for a number of steps that occurs nowhere else in it: every tensor either is the same for all steps, has an
//! element for each along one axis, or is what the last step leaves.

mod caches;
mod pairs;

use std::collections::HashMap;

use pairs::{OTHERWISE, is_one_number, same_but_for_time, same_windows};

use super::Validation;
use super::flow::Flow;
use super::states::goes_on;
use super::uses::Uses;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Setting, Severity, quoted};
use crate::model::{
    Concat, Dim, Lengths, Model, Op, Source, Steps, ValidCell, ValidModel, ValidNode, ValidOp, ValidValue, Variable,
    View,
};
use crate::options::State;

/// How a tensor depends on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    /// The same for all steps.
    Fixed,
    /// An element for each, along this axis.
    Along(usize),
    /// An element for each, along this axis, behind so many that come before the first.
    Behind(usize, usize),
    /// What the last step leaves.
    Last,
    /// A state, before the first step.
    Before,
}

/// One step of a model of which nothing but the number of steps is open. `None` where that is not what is wrong with it;
/// `only_sizes`: whether all that is said of it is that sizes are open.
pub(super) fn validate<'a>(
    model: &'a Model,
    only_sizes: bool,
    with: impl Fn(Option<usize>) -> Validation<'a>,
) -> Option<Result<(ValidModel, Diagnostics), Diagnostics>> {
    let steps = marker(model);
    let long = with(Some(steps));
    if only_sizes && let Some(refused) = caches::refused(&long) {
        return Some(Err(Diagnostics(vec![refused])));
    }
    let open = long.open_axes.iter().all(|axes| axes.len() <= 1) && long.open_axes.iter().any(|axes| !axes.is_empty());
    if !open {
        return None;
    }
    let one = with(Some(1));
    let time: Vec<Option<usize>> = long.open_axes.iter().map(|axes| axes.first().copied()).collect();
    if long.diagnostics.has_errors() || one.diagnostics.has_errors() {
        let by_shape = one.options.shapes.iter().any(|(_, sizes)| sizes.contains(&None));
        let asked = by_shape || !model.open_axes.is_empty();
        let recurrent = model.nodes.iter().any(|node| matches!(node.op, Op::Sequence(..)));
        // what one step is too short for may be what looks ahead
        if only_sizes
            && asked
            && !long.diagnostics.has_errors()
            && long.most_lengths.is_none()
            && let Err(why) = StepAnalysis::new(&long.valid, steps, time.clone()).run()
        {
            return Some(Err(Diagnostics(vec![not_stepwise(&long, &time, &why)])));
        }
        return (only_sizes && (asked || recurrent)).then(|| Err(only_some(&long, &one, &time, steps)));
    }
    let (mut diagnostics, mut one) = (one.diagnostics, one.valid);
    let found = StepAnalysis::new(&long.valid, steps, time.clone()).run().and_then(|(found, memories, times)| {
        let pairs = same_but_for_time(&long.valid, &one, steps, &times)?;
        same_windows(&long.valid, &one, steps, &memories, &pairs)?;
        remember(&mut one, &memories, &pairs)?;
        carry(&mut one)?;
        Ok(found)
    });
    Some(match found {
        Ok(found) => {
            // what started anew at every call goes on now
            one.restarts.clear();
            one.steps = Some(found);
            if matches!(long.options.state, State::None) {
                diagnostics.push(state_goes_on(&long));
            }
            Ok((one, diagnostics))
        }
        Err(why) => {
            diagnostics.push(not_stepwise(&long, &time, &why));
            Err(diagnostics)
        }
    })
}

/// A warning: without a state that goes on, steps of an open number would not be those of one sequence.
fn state_goes_on(long: &Validation) -> Diagnostic {
    let no_state = long.options.wording.of(Setting::NoState);
    let found =
        format!("{no_state} has no effect where the number of steps is open: the state goes on from call to call");
    Diagnostic::warning(Origin::Unknown, found).help("call reset before each sequence, or fix the number of steps")
}

/// A model whose steps cannot be taken one by one; `time`: by input, the axis of the steps.
fn not_stepwise(long: &Validation, time: &[Option<usize>], why: &str) -> Diagnostic {
    let model = long.model;
    let origin = model.parameters.first().map_or(Origin::Unknown, |&node| model.nodes[node].origin.clone());
    let mistaken = long.rows_as_steps(|input| time[input]);
    if let Some(found) = &mistaken
        && let Some((help, lines)) = long.batch_first(found)
    {
        let found = format!("the number of steps is open, but {}", long.counts_rows(found));
        return Diagnostic::error(origin, found).valid(ONE_BY_ONE).help(help).lines(lines);
    }
    let shorter = match long.uses.iter().any(Uses::is_length) {
        true => "; a call may have fewer: it gives their number as the lengths of the sequences",
        false => "",
    };
    let help = match long.rows_first(time) {
        Some(shapes) => format!("the first axis counts rows: {}", long.shape_settings(&shapes)),
        None => match long.whole_shapes(time, &long.numbers_of_steps()) {
            Some(shapes) => {
                format!("give the number of steps of every call, {}{shorter}", long.shape_settings(&shapes))
            }
            None => format!("give the number of steps of every call, by {}", long.options.wording.of(Setting::Shape)),
        },
    };
    Diagnostic::error(origin, format!("the number of steps is open, but {why}")).valid(ONE_BY_ONE).help(help)
}

/// What can be taken step by step.
const ONE_BY_ONE: &str =
    "steps that are computed one after the other: forward sequences of one row, and work on each step";

/// Why a model does not take every number of steps: of `long` and `one`, models of many steps and of one, either has errors.
fn only_some(long: &Validation, one: &Validation, time: &[Option<usize>], steps: usize) -> Diagnostics {
    let errors = |of: &Validation| -> Vec<Diagnostic> {
        of.diagnostics.0.iter().filter(|d| d.severity == Severity::Error).cloned().collect()
    };
    let refused = |origin: &Origin, layer: Option<String>, why: String, help: String| {
        let mut error = Diagnostic::error(origin.clone(), format!("the number of steps is open, but {why}"));
        error.layer = layer;
        Diagnostics(vec![error.valid(ONE_BY_ONE).help(help)])
    };
    // as many steps as a constant says are right for one number of them
    if let Some((most, node)) = long.most_lengths {
        let why = format!("sequence_lengths is a constant, {most} at most");
        const EXPORT: &str = "export the model with sequence_lengths that follow the number of steps";
        let help = match long.whole_shapes(time, &[most.max(1)]) {
            Some(shapes) => format!("give as many steps, {}; or {EXPORT}", long.shape_settings(&shapes)),
            None => EXPORT.to_owned(),
        };
        return refused(&node.origin, Some(node.label()), why, help);
    }
    let (of_long, of_one) = (errors(long), errors(one));
    let both: Vec<Diagnostic> =
        of_long.iter().filter(|error| of_one.iter().any(|other| other.found == error.found)).cloned().collect();
    if !both.is_empty() {
        // wrong with any number of steps
        return Diagnostics(both);
    }
    let (steps, wrong) = match of_long.first() {
        Some(wrong) => (steps, wrong),
        None => (1, &of_one[0]),
    };
    let why = format!("the model does not take every number of them: with {steps}, {}", wrong.found);
    let mut help = "give the whole shape, with the number of steps that the model was made for".to_owned();
    if let Some(shapes) = long.whole_shapes(time, &long.numbers_of_steps()) {
        help.push_str(&format!("; this one works: {}", long.shape_settings(&shapes)));
    }
    refused(&wrong.origin, wrong.layer.clone(), why, help)
}

/// A number of steps that nothing else in the model can be mistaken for: a prime that divides none of its sizes.
fn marker(model: &Model) -> usize {
    let mut sizes: Vec<usize> = Vec::new();
    for node in &model.nodes {
        if let Op::Constant(tensor) = &node.op {
            sizes.extend(tensor.shape());
        }
    }
    for value in &model.values {
        sizes.extend(value.shape.iter().flatten().filter_map(|dim| match dim {
            Dim::Fixed(n) => Some(*n),
            Dim::Dynamic { .. } => None,
        }));
    }
    let prime = |n: &usize| (2..=n.isqrt()).all(|d| !n.is_multiple_of(d));
    let free = |n: &usize| sizes.iter().all(|size| *size == 0 || !size.is_multiple_of(*n));
    (101..).filter(prime).find(free).expect("there are more primes than sizes")
}

type Found<T> = Result<T, String>;

/// What is wrong with reading what stands in front of the first step for anything but windows.
const PADDED: &str = "computes with elements in front of the first step, other than by windows that move over them";

/// What is wrong with what no single step can do.
const ACROSS: &str = "combines different steps";

/// What is wrong with what needs all steps at once.
const ALL: &str = "looks as many steps ahead as there are";

/// What is wrong with what is computed from the number of steps.
const COUNTS: &str = "computes with the number of steps, which only a call knows";

/// The error for an operation that reads a state by value, as steps change the state.
const CHANGED: &str = "reads a state that steps change";

/// Whether a tensor has several rows, each with steps of its own: channels in front of the axis of time are no rows, a step has all of them.
fn has_rows(shape: &[usize], axis: usize) -> bool {
    axis > 0 && shape.len() > 2 && shape[0] > 1
}

struct StepAnalysis<'a> {
    model: &'a ValidModel,
    flow: Flow<'a>,
    steps: usize,
    /// By parameter: the axis of time.
    parameters: Vec<Option<usize>>,
    values: HashMap<usize, Time>,
    /// Nodes that put a constant in front of the steps.
    memories: Vec<Memory>,
}

/// A Concat of a constant and the steps behind it, which windows then move over: of one step, the constant becomes a variable with the last inputs.
struct Memory {
    node: usize,
    axis: usize,
    before: usize,
    /// The value it gives, and others that put more along other axes of that.
    values: Vec<usize>,
    /// Nodes that read one of them: views.
    views: Vec<usize>,
}

impl<'a> StepAnalysis<'a> {
    fn new(model: &'a ValidModel, steps: usize, parameters: Vec<Option<usize>>) -> Self {
        let flow = Flow::new(model, &model.all_nodes());
        Self { model, flow, steps, parameters, values: HashMap::new(), memories: Vec::new() }
    }

    fn run(mut self) -> Found<(Steps, Vec<Memory>, HashMap<usize, Time>)> {
        for (index, axis) in self.parameters.iter().enumerate() {
            let parameter = &self.model.parameters[index];
            if let Some(axis) = *axis
                && has_rows(&parameter.shape, axis)
            {
                return Err(format!("input {index} has several rows: the steps of one row must follow each other"));
            }
        }
        for (at, node) in self.model.nodes.iter().enumerate() {
            self.node(at, node).map_err(|why| format!("{} ({}) {why}", quoted(&node.name), node.kind))?;
        }
        let mut results = Vec::new();
        for (index, result) in self.model.results.iter().enumerate() {
            let time = self.time(result.source)?;
            if time == Time::Before {
                return Err(format!("output {index} {CHANGED}"));
            }
            if let Time::Behind(_, before) = time {
                return Err(format!("output {index} has {before} elements in front of the first step"));
            }
            if let Time::Along(axis) = time
                && has_rows(&result.shape, axis)
            {
                return Err(format!("output {index} has several rows: the steps of one row must follow each other"));
            }
            results.push(matches!(time, Time::Along(_)));
        }
        for variable in &self.model.variables {
            if let Some(next) = variable.next
                && self.time(next)? != Time::Last
            {
                return Err("a variable takes a value that is not what the last step leaves".to_owned());
            }
        }
        let steps = Steps { parameters: self.parameters.iter().map(Option::is_some).collect(), results };
        Ok((steps, self.memories, self.values))
    }

    fn time(&self, source: Source) -> Found<Time> {
        match source {
            Source::Parameter(i) if self.model.states.iter().any(|pair| pair.parameter == i) => {
                match self.parameters[i] {
                    None => Ok(Time::Before),
                    Some(_) => Err("reads a state that has a size for every step".to_owned()),
                }
            }
            Source::Parameter(i) => Ok(self.parameters[i].map_or(Time::Fixed, Time::Along)),
            Source::Constant(i) => {
                let tensor = &self.model.constants[i];
                let along = |axis: &usize| tensor.shape()[*axis] == self.steps;
                let mut axes = (0..tensor.shape().len()).filter(along);
                match (axes.next(), axes.next()) {
                    (None, _) => Ok(Time::Fixed),
                    // pads beside the steps
                    (Some(axis), None) if is_one_number(tensor) => Ok(Time::Along(axis)),
                    _ => Err("reads a constant as long as there are steps".to_owned()),
                }
            }
            Source::Variable(i) if self.model.variables[i].next.is_none_or(|next| next == source) => Ok(Time::Fixed),
            Source::Variable(_) => Ok(Time::Before),
            Source::Value(value) => Ok(self.values[&value]),
        }
    }

    /// What all of some tensors have in common, apart from the axis.
    fn joined(&self, sources: &[Source]) -> Found<Time> {
        let mut joined = Time::Fixed;
        for &source in sources {
            joined = match (joined, self.time(source)?) {
                (Time::Fixed, other) | (other, Time::Fixed) if !matches!(other, Time::Behind(..)) => other,
                (Time::Last, Time::Last) => Time::Last,
                (Time::Along(a), Time::Along(_)) => Time::Along(a),
                (Time::Before, Time::Before) => Time::Before,
                (Time::Behind(..), _) | (_, Time::Behind(..)) => return Err(PADDED.to_owned()),
                (Time::Before, _) | (_, Time::Before) => return Err(CHANGED.to_owned()),
                _ => return Err("combines every step with what only the last one leaves".to_owned()),
            };
        }
        Ok(joined)
    }

    fn node(&mut self, at: usize, node: &ValidNode) -> Found<()> {
        let time = match &node.op {
            ValidOp::Cell(cell) => return self.cell(cell, &node.name),
            ValidOp::Loop(_) => return Err("is a loop, which cannot continue where the previous call ended".to_owned()),
            ValidOp::Dense(dense) => match self.time(dense.x)? {
                Time::Along(axis) => {
                    let inside = &self.model.shape(dense.x)[axis + 1..];
                    if inside.is_empty() || inside.iter().product::<usize>() < dense.inputs {
                        return Err(format!("{ALL}: it combines them"));
                    }
                    Time::Along(axis)
                }
                time => time,
            },
            // validate: of a model of one step, windows are rows of a product
            ValidOp::Convolve(_) => return Err(ACROSS.to_owned()),
            ValidOp::MatMul(matmul) => match (self.time(matmul.a)?, self.time(matmul.b)?) {
                (Time::Along(axis), Time::Fixed) => {
                    let inside = &self.model.shape(matmul.a)[axis + 1..];
                    if inside.is_empty() || inside.iter().product::<usize>() < matmul.inner {
                        return Err(ACROSS.to_owned());
                    }
                    Time::Along(axis)
                }
                (time @ (Time::Fixed | Time::Last), Time::Fixed) | (Time::Fixed, time @ Time::Last) => time,
                (Time::Last, Time::Last) => Time::Last,
                _ => return Err("multiplies matrices that steps change".to_owned()),
            },
            ValidOp::Pointwise(pointwise) => {
                let rank = self.model.values[pointwise.out].shape.len();
                let mut axes = Vec::new();
                for &input in &pointwise.inputs {
                    if let Time::Along(axis) = self.time(input)? {
                        axes.push(axis + rank - self.model.shape(input).len());
                    }
                }
                axes.dedup();
                match (self.joined(&pointwise.inputs)?, &axes[..]) {
                    (Time::Along(_), [axis]) => Time::Along(*axis),
                    (Time::Along(_), _) => return Err(ACROSS.to_owned()),
                    (time, _) => time,
                }
            }
            ValidOp::Softmax(softmax) => match self.time(softmax.input)? {
                Time::Along(axis) if axis == softmax.axis => return Err(format!("{ALL}: it combines them")),
                time => time,
            },
            ValidOp::Reduce(reduce) => match self.time(reduce.input)? {
                Time::Along(axis) if (reduce.first..reduce.end).contains(&axis) => {
                    return Err(format!("{ALL}: it combines them"));
                }
                time => time,
            },
            ValidOp::Integers(integers) => self.time(Source::Parameter(integers.parameter))?,
            ValidOp::Lookup(lookup) => match (self.time(lookup.table)?, self.time(lookup.indices)?) {
                (Time::Fixed, Time::Along(axis)) => Time::Along(axis),
                (Time::Fixed, time @ (Time::Fixed | Time::Last)) => time,
                _ => return Err(ACROSS.to_owned()),
            },
            ValidOp::TopK(top) => match self.time(top.input)? {
                Time::Along(axis) if self.model.shape(top.input).len() == axis + 1 => return Err(ACROSS.to_owned()),
                time => time,
            },
            ValidOp::View(view) => match self.time(view.input)? {
                Time::Along(axis) => match self.viewed(view, axis, 0) {
                    Some(axis) => Time::Along(axis),
                    None if self.takes_last(view, axis) => Time::Last,
                    None => return Err(self.looks(node, view, axis, 0)),
                },
                Time::Behind(axis, before) => {
                    let along = self.viewed(view, axis, before).ok_or_else(|| self.looks(node, view, axis, before))?;
                    self.memory_of(view.input).ok_or(PADDED)?.views.push(at);
                    Time::Along(along)
                }
                time => time,
            },
            ValidOp::Concat(concat) => {
                if self.beside(concat) {
                    return Ok(());
                }
                let all: Vec<Time> = concat.inputs.iter().map(|&input| self.time(input)).collect::<Found<_>>()?;
                if let [front @ .., Time::Along(axis)] = &all[..]
                    && *axis == concat.axis
                    && let ([Time::Fixed], [Source::Constant(_), x]) = (front, &concat.inputs[..])
                {
                    let before = self.model.values[concat.out].shape[*axis] - self.model.shape(*x)[*axis];
                    self.memories.push(Memory {
                        node: at,
                        axis: *axis,
                        before,
                        values: vec![concat.out],
                        views: Vec::new(),
                    });
                    self.values.insert(concat.out, Time::Behind(*axis, before));
                    return Ok(());
                }
                if let Some(ahead) = self.ahead(concat, &all) {
                    let plural = if ahead == 1 { "" } else { "s" };
                    return Err(format!(
                        "looks {ahead} step{plural} ahead: pad in front of the first step only, or cut as many outputs off right behind it"
                    ));
                }
                match self.joined(&concat.inputs)? {
                    Time::Along(axis) if axis == concat.axis || all.iter().any(|time| *time != Time::Along(axis)) => {
                        return Err(ACROSS.to_owned());
                    }
                    time => time,
                }
            }
        };
        if matches!(time, Time::Behind(..)) {
            return Err(PADDED.to_owned());
        }
        for value in node.op.outputs() {
            self.values.insert(value, time);
        }
        Ok(())
    }

    fn cell(&mut self, cell: &ValidCell, name: &str) -> Found<()> {
        let sequence = cell.sequence.as_ref().filter(|s| s.steps == self.steps);
        let Some(sequence) = sequence else {
            // a cell of its own, which a call takes once however many steps it has
            return Err("is a recurrent cell that does not follow the steps".to_owned());
        };
        if sequence.reverse {
            // the two directions of a layer read one input
            let is_other = |other: &ValidCell| {
                other.x == cell.x && other.sequence.as_ref().is_some_and(|s| !s.reverse && s.steps == self.steps)
            };
            let both = self.model.nodes.iter().any(|other| match &other.op {
                ValidOp::Cell(other_cell) => other.name == name && is_other(other_cell),
                _ => false,
            });
            return Err(match both {
                true => format!("runs in both directions, and the reverse one needs the last step first: it {ALL}"),
                false => format!("runs in reverse, so it needs the last step first: it {ALL}"),
            });
        }
        if sequence.lengths != Lengths::Full {
            return Err("has lengths of its own".to_owned());
        }
        if self.time(cell.x)? != Time::Along(1) {
            return Err("reads something else than the steps".to_owned());
        }
        if let Some(a) = cell.a
            && self.time(a)? != Time::Along(1)
        {
            return Err("reads something else than the steps".to_owned());
        }
        for (initial, last) in [(Some(cell.h), cell.h_out), (cell.c, cell.c_out)] {
            let Some(initial) = initial.filter(|initial| !matches!(initial, Source::Constant(_))) else { continue };
            if goes_on(&self.flow, self.model, initial, last) {
                continue;
            }
            return Err(match initial {
                Source::Parameter(i) if self.model.states.iter().all(|s| s.parameter != i) => {
                    "starts from an input that is no state: give the model its last state as an output".to_owned()
                }
                _ if self.time(initial)? == Time::Before => {
                    "starts from a state that is not what its last step leaves".to_owned()
                }
                _ => "starts from what the model computes".to_owned(),
            });
        }
        for (value, time) in [(cell.y, Time::Along(2)), (cell.h_out, Time::Last), (cell.c_out, Time::Last)] {
            if let Some(value) = value {
                self.values.insert(value, time);
            }
        }
        Ok(())
    }

    /// What puts elements in front of the steps of a tensor.
    fn memory_of(&mut self, source: Source) -> Option<&mut Memory> {
        self.memories.iter_mut().find(|memory| memory.values.iter().any(|&value| source == Source::Value(value)))
    }

    /// Takes a Concat that puts one number along another axis of what stands in front of the steps and of these.
    fn beside(&mut self, concat: &Concat) -> bool {
        let behind = |source: &Source| match source {
            Source::Value(value) => match self.values[value] {
                Time::Behind(axis, before) => Some((*source, axis, before)),
                _ => None,
            },
            _ => None,
        };
        let Some((source, axis, before)) =
            concat.inputs.iter().find_map(behind).filter(|(_, axis, _)| *axis != concat.axis)
        else {
            return false;
        };
        let pad = |input: &Source| match input {
            Source::Constant(constant) => is_one_number(&self.model.constants[*constant]),
            _ => *input == source,
        };
        let once = concat.inputs.iter().filter(|input| **input == source).count() == 1;
        if !once || !concat.inputs.iter().all(pad) {
            return false;
        }
        let Some(memory) = self.memory_of(source) else { return false };
        memory.values.push(concat.out);
        self.values.insert(concat.out, Time::Behind(axis, before));
        true
    }

    /// How many elements a Concat puts behind the last step.
    fn ahead(&self, concat: &Concat, all: &[Time]) -> Option<usize> {
        let steps = all.iter().position(|time| *time == Time::Along(concat.axis))?;
        let behind = concat.inputs[steps + 1..].iter().map(|&input| self.model.shape(input)[concat.axis]);
        Some(behind.sum()).filter(|&ahead| ahead > 0 && all.iter().filter(|time| **time != Time::Fixed).count() == 1)
    }

    /// What is wrong with a view that does not follow the steps one by one: how far it looks ahead, where that can be said.
    fn looks(&self, node: &ValidNode, view: &View, axis: usize, before: usize) -> String {
        let input = self.model.shape(view.input);
        let stride = input[axis + 1..].iter().product::<usize>().cast_signed();
        let period = self.steps + before;
        let shape = &self.model.values[view.out].shape;
        let along: Vec<(usize, isize)> = shape
            .iter()
            .zip(&view.strides)
            .filter(|&(&size, &step)| {
                size > 1 && step != 0 && step % stride == 0 && step % (stride * period.cast_signed()) != 0
            })
            .map(|(&size, &step)| (size, step / stride))
            .collect();
        let start = view.offset / stride.unsigned_abs() % period;
        let ahead = |steps: usize| {
            let plural = if steps == 1 { "" } else { "s" };
            format!("looks {steps} step{plural} ahead")
        };
        let reflected = along.iter().find(|(_, step)| *step < 0);
        if reflected.is_some_and(|(size, step)| *size >= self.steps && *step == -1) {
            return "reverses the steps: it needs the last one first".to_owned();
        }
        if let Some((size, _)) = reflected {
            let steps = if start < self.steps / 2 { start } else { *size };
            return format!("reflects steps at a side: it {}", ahead(steps));
        }
        // as many windows as there are steps over the stride
        let strided = along.iter().find(|(size, step)| {
            let windows = period / step.unsigned_abs();
            *step > 1 && size.abs_diff(windows) * 4 <= windows && windows > 1
        });
        if let Some((_, step)) = strided {
            let step = step.unsigned_abs();
            return format!("moves {step} steps at a time: for an output at every step, it {}", ahead(step - 1));
        }
        let fewer = along.iter().find(|(size, step)| *step == 1 && *size < self.steps && size * 2 > self.steps);
        match fewer {
            Some((size, _)) => {
                let missing = self.steps - size;
                format!("{} or leaves as many out: it gives {missing} fewer than there are", ahead(missing))
            }
            None if node.kind == "Pad" => "repeats a step at a side: pad with a constant".to_owned(),
            None if start * 2 < period => format!("{ALL}: it takes single steps out of them"),
            None => ACROSS.to_owned(),
        }
    }

    /// True if a view takes nothing but elements of the last step: `y[:, -1]`.
    fn takes_last(&self, view: &View, axis: usize) -> bool {
        let input = self.model.shape(view.input);
        let stride: usize = input[axis + 1..].iter().product();
        let period = stride * self.steps;
        let start = view.offset % period;
        if start / stride + 1 != self.steps {
            return false;
        }
        let mut inner = start % stride;
        for (&size, &step) in self.model.values[view.out].shape.iter().zip(&view.strides) {
            match usize::try_from(step) {
                _ if size == 1 => {}
                Ok(step) if step.is_multiple_of(period) => {}
                Ok(step) => inner += step * (size - 1),
                Err(_) => return false,
            }
        }
        inner < stride
    }

    /// The axis of a view along which it follows the input's axis of time, if no other moves in time, but by `before` elements that stand in
    /// front of the first step.
    fn viewed(&self, view: &View, axis: usize, before: usize) -> Option<usize> {
        let input = self.model.shape(view.input);
        let stride: usize = input[axis + 1..].iter().product();
        let period = stride * (self.steps + before);
        let shape = &self.model.values[view.out].shape;
        let mut along = None;
        let start = view.offset % period;
        // backwards, elements beside the steps may be taken
        let (mut least, mut inner, mut moved) = (start % stride, start % stride, start / stride);
        for (d, (&size, &step)) in shape.iter().zip(&view.strides).enumerate() {
            let backwards = step < 0;
            let step = step.unsigned_abs();
            if size == 1 || step == 0 || step.is_multiple_of(period) {
                continue;
            }
            if backwards {
                least = least.checked_sub(step * (size - 1))?;
                continue;
            }
            if size == self.steps && step == stride && along.is_none() {
                along = Some(d);
            } else if before > 0 && step.is_multiple_of(stride) {
                moved += step / stride * (size - 1);
            } else {
                inner += step * (size - 1);
            }
        }
        along.filter(|_| inner < stride && moved <= before)
    }
}

/// Makes what stands in front of a step a variable that holds the last inputs: it starts as the constant, and each step moves it on by one.
fn remember(model: &mut ValidModel, memories: &[Memory], pairs: &[Option<usize>]) -> Found<()> {
    for memory in memories.iter().rev() {
        let Memory { axis, before, .. } = *memory;
        let Some(node) = pairs[memory.node] else {
            return Err(format!("what stands in front of the first step {OTHERWISE}"));
        };
        let ValidNode { name, layer, .. } = model.nodes[node].clone();
        let (constant, out, front) = match &mut model.nodes[node].op {
            ValidOp::Concat(Concat { inputs, out, .. }) => match inputs.first_mut() {
                Some(front @ &mut Source::Constant(constant)) => (constant, *out, front),
                _ => return Err(format!("{} {OTHERWISE}", quoted(&name))),
            },
            _ => return Err(format!("{} {OTHERWISE}", quoted(&name))),
        };
        *front = Source::Variable(model.variables.len());
        let own = strides(&model.values[out].shape);
        let mut shape = model.values[out].shape.clone();
        shape[axis] = before;
        let next = model.values.len();
        model.values.push(ValidValue { shape: shape.clone() });
        let tensor = &model.constants[constant];
        let zero = (0..tensor.len()).all(|i| tensor.get_f32(i).to_bits() == 0);
        model.variables.push(Variable {
            name: format!("{} last", name.rsplit('/').next().unwrap_or_default()),
            shape,
            initial: (!zero).then_some(constant),
            next: Some(Source::Value(next)),
        });
        let view = View { input: Source::Value(out), offset: own[axis] as usize, strides: own, out: next };
        let kept = ValidNode { name, kind: "View".to_owned(), op: ValidOp::View(view), ledger: Vec::new(), layer };
        model.nodes.insert(node + 1, kept);
    }
    Ok(())
}

/// Makes sequences of one step cells of one step, whose states last from call to call.
fn carry(model: &mut ValidModel) -> Found<()> {
    let mut views = Vec::new();
    for (at, node) in model.nodes.iter_mut().enumerate() {
        let ValidOp::Cell(cell) = &mut node.op else { continue };
        if cell.sequence.take().is_none() {
            return Err("a cell does not follow the steps".to_owned());
        }
        let mut new = |shape: &[usize]| {
            model.values.push(ValidValue { shape: shape.to_vec() });
            model.values.len() - 1
        };
        let state = [cell.batch, 1, cell.hidden_size];
        for (initial, last, letter) in
            [(Some(&mut cell.h), &mut cell.h_out, "h"), (cell.c.as_mut(), &mut cell.c_out, "c")]
        {
            let Some(initial) = initial else { continue };
            if let Source::Constant(constant) = *initial {
                let value = *last.get_or_insert_with(|| new(&state));
                let tensor = &model.constants[constant];
                let zero = (0..tensor.len()).all(|i| tensor.get_f32(i).to_bits() == 0);
                *initial = Source::Variable(model.variables.len());
                model.variables.push(Variable {
                    name: format!("{} {letter}", node.name.rsplit('/').next().unwrap_or_default()),
                    shape: state.to_vec(),
                    initial: (!zero).then_some(constant),
                    next: Some(Source::Value(value)),
                });
            }
        }
        let h_out = *cell.h_out.get_or_insert_with(|| new(&state));
        if let Some(y) = cell.y.take() {
            let view =
                View { input: Source::Value(h_out), offset: 0, strides: strides(&model.values[y].shape), out: y };
            let (name, kind, layer) = (node.name.clone(), "View".to_owned(), node.layer);
            views.push((at + 1, ValidNode { name, kind, op: ValidOp::View(view), ledger: Vec::new(), layer }));
        }
    }
    for (at, view) in views.into_iter().rev() {
        model.nodes.insert(at, view);
    }
    Ok(())
}

/// Elements between neighbours along each dimension of a tensor in C order.
fn strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as isize;
    }
    strides
}
