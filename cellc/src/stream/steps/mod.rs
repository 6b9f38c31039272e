//! Models of one step, for an open number of steps. Callers repeat the step.
//!
//! Repeated single steps compute the results of a sequence only if, states aside, no step depends
//! on another step. To prove this, the analysis reads the model compiled for a number of steps that
//! no other size of the model equals, and finds the [`Time`] of every tensor.

mod memory;
mod obstacles;
mod pairs;
mod views;

use std::collections::HashMap;
use std::ops::Range;

use memory::{Padded, Windows, carry_sums, remember, same_windows};
pub(crate) use obstacles::{InFront, ModelPlace, NotStepwise, Why};
use pairs::{is_one_number, same_but_for_time};

use super::flow::Flow;
use super::states::goes_on;
use crate::core::{
    CoreModel, CoreNode, CoreOp, CoreValue, Facts, OverTime, RecurrentSteps, Source, StateEndsMut,
    StepOrder, Steps, Variable, View, signed, strides,
};
use crate::model::Tensor;

/// The reason why the steps of a model cannot be computed one by one. `None` if they can. `axes`:
/// by parameter, the axis of time.
pub(crate) fn why_not_stepwise(
    model: &CoreModel,
    steps: usize,
    axes: &[Option<usize>],
) -> Option<NotStepwise> {
    StepAnalysis::new(model, steps, axes.to_vec()).run().err()
}

/// The model of one step, which callers repeat. `one`: the model compiled for one step.
///
/// # Errors
/// The reason why the steps of `long`, the model compiled for `steps` steps, cannot be computed one
/// by one, or the place at which `one` does not match `long`.
pub(crate) fn one_step(
    long: &CoreModel,
    mut one: CoreModel,
    steps: usize,
    axes: &[Option<usize>],
) -> Result<CoreModel, NotStepwise> {
    let (found, padded, times) = StepAnalysis::new(long, steps, axes.to_vec()).run()?;
    let pairs = same_but_for_time(long, &one, steps, &times)?;
    same_windows(long, &one, steps, &padded.windows, &pairs)?;
    carry_sums(long, &mut one, &padded.sums, &pairs)?;
    remember(&mut one, &padded.memories, &pairs)?;
    carry(&mut one)?;
    // layers that restarted at every call now keep their states from step to step
    one.restarts.clear();
    one.steps = Some(found);
    Ok(one)
}

/// The dependence of a tensor on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    /// Independent of the step.
    Fixed,
    /// One element for each step, along this axis.
    Along(usize),
    /// `WithFront(axis, count)`: along `axis`, `count` elements in front of the first step, then
    /// one element for each step. The model of one step computes the element of the step and the
    /// `count` elements before it.
    WithFront(usize, usize),
    /// A result of the last step.
    Last,
    /// A state, before the first step.
    Before,
}

impl Time {
    /// The axis with one element for each step. `None` if the tensor has no axis of time.
    fn axis(self) -> Option<usize> {
        match self {
            Self::Along(axis) | Self::WithFront(axis, _) => Some(axis),
            _ => None,
        }
    }

    /// The dependence on time after the axis of time moved to `axis`.
    fn moved_to(self, axis: usize) -> Self {
        match self {
            Self::Along(_) => Self::Along(axis),
            Self::WithFront(_, before) => Self::WithFront(axis, before),
            other => other,
        }
    }
}

/// A fact about single steps, or the reason why steps cannot be computed one by one.
type Stepwise<T> = Result<T, Why>;

/// True if a tensor has several rows, each with its own steps. Only the first axis counts: the axes
/// between the first axis and the axis of time are channels, and one step has all channels.
fn has_rows(shape: &[usize], axis: usize) -> bool {
    axis > 0 && shape.len() > 2 && shape[0] > 1
}

struct StepAnalysis<'a> {
    model: &'a CoreModel,
    flow: Flow<'a>,
    steps: usize,
    /// By parameter: the axis of time.
    parameters: Vec<Option<usize>>,
    values: HashMap<usize, Time>,
    /// The operations with elements in front of the first step, and the running sums.
    padded: Padded,
}

impl<'a> StepAnalysis<'a> {
    fn new(model: &'a CoreModel, steps: usize, parameters: Vec<Option<usize>>) -> Self {
        let flow = Flow::new(model, &model.all_nodes());
        Self { model, flow, steps, parameters, values: HashMap::new(), padded: Padded::default() }
    }

    fn run(mut self) -> Result<(Steps, Padded, HashMap<usize, Time>), NotStepwise> {
        for (index, axis) in self.parameters.iter().enumerate() {
            let parameter = &self.model.parameters[index];
            if let Some(axis) = *axis
                && has_rows(&parameter.shape, axis)
            {
                return Err(ModelPlace::Input(index).refused(Why::SeveralRows));
            }
        }
        for (at, node) in self.model.nodes.iter().enumerate() {
            self.node(at, node).map_err(|why| self.refused(node, why))?;
        }
        let mut results = Vec::new();
        for (index, result) in self.model.results.iter().enumerate() {
            let output = ModelPlace::Output(index);
            let time = match self.time(result.source) {
                Ok(Time::Before) => return Err(output.refused(Why::Changed)),
                Ok(time) => time,
                Err(why) => return Err(output.refused(why)),
            };
            if let Time::WithFront(_, before) = time {
                let in_front = self.in_front(&[result.source]);
                return Err(NotStepwise { in_front, subject: output, why: Why::HasFront(before) });
            }
            if let Time::Along(axis) = time
                && has_rows(&result.shape, axis)
            {
                return Err(output.refused(Why::SeveralRows));
            }
            results.push(matches!(time, Time::Along(_)));
        }
        for variable in &self.model.variables {
            match variable.next.map(|next| self.time(next)) {
                None | Some(Ok(Time::Last)) => {}
                Some(Ok(_)) => return Err(ModelPlace::Variable.refused(Why::NotOfLast)),
                Some(Err(why)) => return Err(ModelPlace::Variable.refused(why)),
            }
        }
        let steps =
            Steps { parameters: self.parameters.iter().map(Option::is_some).collect(), results };
        Ok((steps, self.padded, self.values))
    }

    fn time(&self, source: Source) -> Stepwise<Time> {
        match source {
            Source::Parameter(i) if self.model.states.iter().any(|pair| pair.parameter == i) => {
                match self.parameters[i] {
                    None => Ok(Time::Before),
                    Some(_) => Err(Why::StateOfEverySize),
                }
            }
            Source::Parameter(i) => Ok(self.parameters[i].map_or(Time::Fixed, Time::Along)),
            Source::Constant(i) => {
                let tensor = &self.model.constants[i];
                let along = |axis: &usize| tensor.shape()[*axis] == self.steps;
                let mut axes = (0..tensor.shape().len()).filter(along);
                match (axes.next(), axes.next()) {
                    (None, _) => Ok(Time::Fixed),
                    // a constant of equal elements, with one element for each step, is padding: one
                    // step reads one element
                    (Some(axis), None) if is_one_number(tensor) => Ok(Time::Along(axis)),
                    _ => Err(Why::LongConstant),
                }
            }
            Source::Variable(i)
                if self.model.variables[i].next.is_none_or(|next| next == source) =>
            {
                Ok(Time::Fixed)
            }
            Source::Variable(_) => Ok(Time::Before),
            Source::Value(value) => Ok(self.values[&value]),
        }
    }

    /// The common dependence of several tensors on time. The tensors may have different axes of
    /// time: the result has the axis of the first tensor with an axis of time.
    fn joined(&self, sources: &[Source]) -> Stepwise<Time> {
        let mut joined = Time::Fixed;
        for &source in sources {
            joined = match (joined, self.time(source)?) {
                (Time::Fixed, other) | (other, Time::Fixed) => other,
                (Time::Last, Time::Last) => Time::Last,
                (Time::Along(a), Time::Along(_)) => Time::Along(a),
                (Time::Before, Time::Before) => Time::Before,
                (Time::WithFront(a, more), Time::WithFront(_, others)) if more == others => {
                    Time::WithFront(a, more)
                }
                (Time::WithFront(..), _) | (_, Time::WithFront(..)) => return Err(Why::Across),
                (Time::Before, _) | (_, Time::Before) => return Err(Why::Changed),
                _ => {
                    return Err(Why::LastWithEvery);
                }
            };
        }
        Ok(joined)
    }

    /// True if the last `factors` elements of a tensor lie behind the axis of time `axis`, so that
    /// products of these elements combine no steps.
    fn is_inside(&self, source: Source, axis: usize, factors: usize) -> bool {
        let inside = &self.model.shape(source)[axis + 1..];
        !inside.is_empty() && inside.iter().product::<usize>() >= factors
    }

    fn node(&mut self, at: usize, node: &CoreNode) -> Stepwise<()> {
        let time = match &node.op {
            CoreOp::Loop(body) => return Err(Why::Loop { of_cell: body.is_cell }),
            CoreOp::MatMul(matmul) => match (self.time(matmul.a)?, self.time(matmul.b)?) {
                (time @ (Time::Along(axis) | Time::WithFront(axis, _)), Time::Fixed) => {
                    if !self.is_inside(matmul.a, axis, matmul.inner) {
                        return Err(Why::Across);
                    }
                    time
                }
                (time @ (Time::Fixed | Time::Last), Time::Fixed)
                | (Time::Fixed, time @ Time::Last) => time,
                (Time::Last, Time::Last) => Time::Last,
                _ => return Err(Why::ChangedMatrices),
            },
            CoreOp::View(view) => match self.time(view.input)? {
                Time::Along(axis) => match self.viewed(view, axis, 0) {
                    Some((axis, _)) => Time::Along(axis),
                    None if self.takes_last(view, axis) => Time::Last,
                    None => return Err(self.looks(node, view, axis, 0)),
                },
                Time::WithFront(axis, before) => {
                    let along = self.viewed(view, axis, before);
                    let is_last = along.is_none() && self.takes_front(view, axis, before);
                    self.padded.windows.push(Windows { node: at, axis, before, is_last });
                    match along {
                        Some((axis, 0)) => Time::Along(axis),
                        Some((axis, before)) => Time::WithFront(axis, before),
                        None if is_last => Time::Last,
                        None => return Err(self.looks(node, view, axis, before)),
                    }
                }
                time => time,
            },
            CoreOp::Concat(concat) => self.concat(at, concat)?,
            op => {
                let facts = op.facts();
                if let Some(steps) = facts.recurrence() {
                    return self.recurrent(&node.name, steps);
                }
                self.of_facts(at, &facts)?
            }
        };
        for value in node.op.outputs() {
            self.values.insert(value, time);
        }
        Ok(())
    }

    /// The time of the outputs of node `at`, from its [`OverTime`].
    fn of_facts(&mut self, at: usize, facts: &Facts<'_>) -> Stepwise<Time> {
        let first = facts.operands[0];
        let rank = self.model.shape(first).len();
        let combines = |axes: Range<usize>, why: Why| match self.time(first)? {
            time if time.axis().is_some_and(|axis| axes.contains(&axis)) => Err(why),
            time => Ok(time),
        };
        match &facts.over_time {
            OverTime::Pointwise => self.elementwise(&facts.operands, facts.outputs[0]),
            OverTime::Combines(axes) => combines(axes.clone(), Why::CombinesAll),
            OverTime::CombinesLast => combines(rank - 1..rank, Why::Across),
            OverTime::CombinesRows(elements) => {
                let time = self.time(first)?;
                match time.axis().is_some_and(|axis| !self.is_inside(first, axis, *elements)) {
                    true => Err(Why::CombinesAll),
                    false => Ok(time),
                }
            }
            OverTime::Accumulates(axis) => {
                let time = self.time(first)?;
                self.sum(at, time, *axis)
            }
            OverTime::Selects => match (self.time(first)?, self.time(facts.operands[1])?) {
                (Time::Fixed, time) if time != Time::Before => Ok(time),
                _ => Err(Why::Across),
            },
            // `translate` turns the windows of a model of one step into rows of a product, so other
            // windows combine steps
            OverTime::Windows => Err(Why::Across),
            OverTime::Recurrent(_) | OverTime::AnyStep => match self.joined(&facts.operands)? {
                Time::Fixed => Ok(Time::Fixed),
                _ => Err(Why::Across),
            },
        }
    }

    /// The time of the output of an element-wise operation.
    fn elementwise(&self, operands: &[Source], out: usize) -> Stepwise<Time> {
        let rank = self.model.values[out].shape.len();
        let mut axes = Vec::new();
        for &input in operands {
            if let Some(axis) = self.time(input)?.axis() {
                axes.push(axis + rank - self.model.shape(input).len());
            }
        }
        axes.dedup();
        let time = self.joined(operands)?;
        match (time.axis(), &axes[..]) {
            (Some(_), [axis]) => Ok(time.moved_to(*axis)),
            (Some(_), _) => Err(Why::Across),
            (None, _) => Ok(time),
        }
    }

    fn recurrent(&mut self, name: &str, steps: &RecurrentSteps) -> Stepwise<()> {
        for &operand in &steps.over_time {
            if let Time::WithFront(..) = self.time(operand)? {
                return Err(Why::TakesFrontAsSteps);
            }
        }
        if steps.steps != Some(self.steps) {
            // an operator outside of the steps runs once per call, whatever the number of steps is
            return Err(Why::OperatorOutsideSteps);
        }
        match steps.order {
            StepOrder::Forward => {}
            StepOrder::Lengths => return Err(Why::OwnLengths),
            StepOrder::Reverse if self.runs_forward(name, steps) => return Err(Why::RunsInBoth),
            StepOrder::Reverse => return Err(Why::RunsInReverse),
        }
        for &operand in &steps.over_time {
            if self.time(operand)? != Time::Along(1) {
                return Err(Why::OtherThanSteps);
            }
        }
        for state in &steps.states {
            self.starts(state.initial, state.last)?;
            self.values.extend(state.last.map(|value| (value, Time::Last)));
        }
        self.values.extend(steps.each.map(|(value, axis)| (value, Time::Along(axis))));
        Ok(())
    }

    /// True if a recurrent layer runs forward, too: the two directions of a bidirectional layer
    /// have the layer's name and read one input.
    fn runs_forward(&self, name: &str, reversed: &RecurrentSteps) -> bool {
        let is_forward = |other: &RecurrentSteps| {
            other.over_time[0] == reversed.over_time[0]
                && other.order != StepOrder::Reverse
                && other.steps == reversed.steps
        };
        self.model
            .nodes
            .iter()
            .any(|node| node.name == name && node.op.facts().recurrence().is_some_and(is_forward))
    }

    /// Refuses an initial state that is neither a constant nor a state with `last` as its next
    /// value.
    fn starts(&self, initial: Source, last: Option<usize>) -> Stepwise<()> {
        match initial {
            Source::Constant(_) => Ok(()),
            _ if goes_on(&self.flow, self.model, initial, last) => Ok(()),
            Source::Parameter(i) if self.model.states.iter().all(|s| s.parameter != i) => {
                Err(Why::StartsFromInput)
            }
            _ if self.time(initial)? == Time::Before => Err(Why::StartsFromOtherState),
            _ => Err(Why::StartsFromComputed),
        }
    }
}

/// Turns a constant initial state into a variable whose next value is the last state. Adds a value
/// for the last state if the operation has none.
fn keep_constant(
    (variables, values, constants): (&mut Vec<Variable>, &mut Vec<CoreValue>, &[Tensor]),
    name: &str,
    state: StateEndsMut<'_>,
) {
    let Source::Constant(constant) = *state.initial else { return };
    let value = last_of(values, state.last, &state.shape);
    let tensor = &constants[constant];
    let zero = (0..tensor.len()).all(|i| tensor.get_f32(i).to_bits() == 0);
    *state.initial = Source::Variable(variables.len());
    variables.push(Variable {
        name: format!("{} {}", name.rsplit('/').next().unwrap_or_default(), state.name),
        shape: state.shape,
        initial: (!zero).then_some(constant),
        next: Some(Source::Value(value)),
        history: None,
    });
}

/// The value of a last state. A missing value is added.
fn last_of(values: &mut Vec<CoreValue>, last: &mut Option<usize>, shape: &[usize]) -> usize {
    *last.get_or_insert_with(|| {
        values.push(CoreValue { shape: shape.to_vec() });
        values.len() - 1
    })
}

/// Turns sequences of one step into cells. Constant initial states become variables, so callers
/// keep the states from step to step.
fn carry(model: &mut CoreModel) -> Result<(), NotStepwise> {
    let mut views = Vec::new();
    for (at, node) in model.nodes.iter_mut().enumerate() {
        for state in node.op.states() {
            let kept = (&mut model.variables, &mut model.values, &model.constants[..]);
            keep_constant(kept, &node.name, state);
        }
        let CoreOp::Cell(cell) = &mut node.op else { continue };
        if cell.sequence.take().is_none() {
            return Err(ModelPlace::Cell.refused(Why::OutsideSteps));
        }
        let state = [cell.batch, 1, cell.hidden_size];
        let h_out = last_of(&mut model.values, &mut cell.out.h, &state);
        if let Some(y) = cell.out.y.take() {
            let view = View {
                input: Source::Value(h_out),
                offset: 0,
                strides: signed(strides(&model.values[y].shape)),
                out: y,
            };
            let (name, kind, layer) = (node.name.clone(), "View".to_owned(), node.layer);
            views.push((
                at + 1,
                CoreNode { name, kind, op: CoreOp::View(view), ledger: Vec::new(), layer },
            ));
        }
    }
    for (at, view) in views.into_iter().rev() {
        model.nodes.insert(at, view);
    }
    Ok(())
}
