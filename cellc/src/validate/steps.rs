//! Models whose number of steps only a call says: what is compiled is one step, which calls repeat.
//!
//! That computes the same only where every step computes for itself, but for what sequences hand on. It is shown on the model
//! compiled for a number of steps that occurs nowhere else in it: every tensor either is the same for all steps, has an
//! element for each along one axis, or is what the last step leaves.

use std::collections::HashMap;

use super::Validation;
use super::flow::Flow;
use super::parameters::example;
use super::states::goes_on;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Severity, quoted};
use crate::model::{
    Dim, Lengths, Model, Op, Source, Steps, ValidCell, ValidModel, ValidNode, ValidOp, ValidValue, Variable, View,
};

/// How a tensor depends on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    /// The same for all steps.
    Fixed,
    /// An element for each, along this axis.
    Along(usize),
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
    let open = long.open_axes.iter().all(|axes| axes.len() <= 1) && long.open_axes.iter().any(|axes| !axes.is_empty());
    if !open {
        return None;
    }
    let one = with(Some(1));
    let time: Vec<Option<usize>> = long.open_axes.iter().map(|axes| axes.first().copied()).collect();
    if long.diagnostics.has_errors() || one.diagnostics.has_errors() {
        let asked = one.options.shapes.iter().any(|(_, sizes)| sizes.contains(&None));
        let recurrent = model.nodes.iter().any(|node| matches!(node.op, Op::Sequence(..)));
        return (only_sizes && (asked || recurrent)).then(|| Err(only_some(&long, &one, &time, steps)));
    }
    let (mut diagnostics, valid, mut one) = (one.diagnostics, long.valid, one.valid);
    let found = StepAnalysis::new(&valid, steps, time).run().and_then(|found| {
        same_but_for_time(&valid, &one, steps)?;
        carry(&mut one)?;
        Ok(found)
    });
    Some(match found {
        Ok(found) => {
            // what started anew at every call goes on now
            one.restarts.clear();
            one.steps = Some(found);
            Ok((one, diagnostics))
        }
        Err(why) => {
            let origin = model.parameters.first().map_or(Origin::Unknown, |&node| model.nodes[node].origin.clone());
            let diagnostic = Diagnostic::error(origin, format!("the number of steps is open, but {why}"))
                .valid(ONE_BY_ONE)
                .help("give the whole shape, with the most steps there can be; the lengths of sequences may be less");
            diagnostics.push(diagnostic);
            Err(diagnostics)
        }
    })
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
        let texts = long.shapes.iter().zip(time).enumerate().filter_map(|(index, (shape, axis))| {
            let sizes: Vec<Dim> = shape.as_ref()?.iter().map(|&size| Dim::Fixed(size)).collect();
            let name = long.parameter_names(long.model.parameters[index]).into_iter().next().unwrap_or_default();
            Some(example(long.options.wording, &name, &sizes, Some(((*axis)?, Some(most.max(1))))))
        });
        let shapes = texts.collect::<Vec<_>>().join(" ");
        let why = format!("sequence_lengths is a constant, {most} at most");
        let help = format!(
            "give as many steps, {shapes}; or export the model with sequence_lengths that follow the number of steps"
        );
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
    let help = "give the whole shape, with the number of steps that the model was made for".to_owned();
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

/// What is wrong with reading a state for what it holds.
const CHANGED: &str = "reads a state that steps change";

struct StepAnalysis<'a> {
    model: &'a ValidModel,
    flow: Flow<'a>,
    steps: usize,
    /// By parameter: the axis of time.
    parameters: Vec<Option<usize>>,
    values: HashMap<usize, Time>,
}

impl<'a> StepAnalysis<'a> {
    fn new(model: &'a ValidModel, steps: usize, parameters: Vec<Option<usize>>) -> Self {
        let flow = Flow::new(model, &model.all_nodes());
        Self { model, flow, steps, parameters, values: HashMap::new() }
    }

    fn run(mut self) -> Found<Steps> {
        for (index, axis) in self.parameters.iter().enumerate() {
            let parameter = &self.model.parameters[index];
            if let Some(axis) = *axis
                && parameter.shape[..axis].iter().any(|&n| n > 1)
            {
                return Err(format!("input {index} has several rows: the steps of one row must follow each other"));
            }
        }
        for node in &self.model.nodes {
            self.node(node).map_err(|why| format!("{} {why}", quoted(&node.name)))?;
        }
        let mut results = Vec::new();
        for (index, result) in self.model.results.iter().enumerate() {
            let time = self.time(result.source)?;
            if time == Time::Before {
                return Err(format!("output {index} {CHANGED}"));
            }
            if let Time::Along(axis) = time
                && result.shape[..axis].iter().any(|&n| n > 1)
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
        Ok(Steps { parameters: self.parameters.iter().map(Option::is_some).collect(), results })
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
            Source::Constant(i) if self.model.constants[i].shape().contains(&self.steps) => {
                Err("reads a constant as long as there are steps".to_owned())
            }
            Source::Constant(_) => Ok(Time::Fixed),
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
                (Time::Fixed, other) | (other, Time::Fixed) => other,
                (Time::Last, Time::Last) => Time::Last,
                (Time::Along(a), Time::Along(_)) => Time::Along(a),
                (Time::Before, Time::Before) => Time::Before,
                (Time::Before, _) | (_, Time::Before) => return Err(CHANGED.to_owned()),
                _ => return Err("combines every step with what only the last one leaves".to_owned()),
            };
        }
        Ok(joined)
    }

    fn node(&mut self, node: &ValidNode) -> Found<()> {
        const ACROSS: &str = "combines different steps";
        let time = match &node.op {
            ValidOp::Cell(cell) => return self.cell(cell),
            ValidOp::Loop(_) => return Err("is a loop, which cannot continue where the previous call ended".to_owned()),
            ValidOp::Dense(dense) => match self.time(dense.x)? {
                Time::Along(axis) if axis + 1 == self.model.shape(dense.x).len() => return Err(ACROSS.to_owned()),
                time => time,
            },
            ValidOp::MatMul(matmul) => match (self.time(matmul.a)?, self.time(matmul.b)?) {
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
                Time::Along(axis) if axis == softmax.axis => return Err(ACROSS.to_owned()),
                time => time,
            },
            ValidOp::Reduce(reduce) => match self.time(reduce.input)? {
                Time::Along(axis) if (reduce.first..reduce.end).contains(&axis) => return Err(ACROSS.to_owned()),
                time => time,
            },
            ValidOp::View(view) => match self.time(view.input)? {
                Time::Along(axis) => Time::Along(self.viewed(view, axis).ok_or(ACROSS)?),
                time => time,
            },
            ValidOp::Concat(concat) => {
                let all: Vec<Time> = concat.inputs.iter().map(|&input| self.time(input)).collect::<Found<_>>()?;
                match self.joined(&concat.inputs)? {
                    Time::Along(axis) if axis == concat.axis || all.iter().any(|time| *time != Time::Along(axis)) => {
                        return Err(ACROSS.to_owned());
                    }
                    time => time,
                }
            }
        };
        for value in node.op.outputs() {
            self.values.insert(value, time);
        }
        Ok(())
    }

    fn cell(&mut self, cell: &ValidCell) -> Found<()> {
        let sequence = cell.sequence.as_ref().filter(|s| s.steps == self.steps);
        let Some(sequence) = sequence else {
            // a cell of its own, which a call takes once however many steps it has
            return Err("is a recurrent cell that does not follow the steps".to_owned());
        };
        if sequence.reverse {
            return Err("runs in reverse, so it needs the last step first".to_owned());
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

    /// The axis of a view along which it follows the input's axis of time, if no other moves in time.
    fn viewed(&self, view: &View, axis: usize) -> Option<usize> {
        let input = self.model.shape(view.input);
        let stride: usize = input[axis + 1..].iter().product();
        let period = stride * self.steps;
        let shape = &self.model.values[view.out].shape;
        let mut along = None;
        let mut inner = view.offset % period;
        for (d, (&size, &step)) in shape.iter().zip(&view.strides).enumerate() {
            let step = usize::try_from(step).ok()?;
            if size == 1 || step == 0 || step.is_multiple_of(period) {
                continue;
            }
            if size == self.steps && step == stride && along.is_none() {
                along = Some(d);
            } else {
                inner += step * (size - 1);
            }
        }
        along.filter(|_| inner < stride)
    }
}

/// Whether one step is what the model does for each of many.
fn same_but_for_time(long: &ValidModel, one: &ValidModel, steps: usize) -> Found<()> {
    let shrunk = |shape: &[usize]| shape.iter().map(|&n| if n == steps { 1 } else { n }).collect::<Vec<_>>();
    let kinds = |model: &ValidModel| model.nodes.iter().map(|n| std::mem::discriminant(&n.op)).collect::<Vec<_>>();
    let shapes = |model: &ValidModel| model.values.iter().map(|v| shrunk(&v.shape)).collect::<Vec<_>>();
    let results = |model: &ValidModel| model.results.iter().map(|r| (r.source, shrunk(&r.shape))).collect::<Vec<_>>();
    let same = kinds(long) == kinds(one) && shapes(long) == shapes(one) && results(long) == results(one);
    if same { Ok(()) } else { Err("a single step is computed in another way than several".to_owned()) }
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
            let name = node.name.clone();
            views.push((
                at + 1,
                ValidNode { name, kind: "View".to_owned(), op: ValidOp::View(view), ledger: Vec::new() },
            ));
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
