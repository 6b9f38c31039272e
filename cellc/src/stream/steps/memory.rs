//! Padding in front of the first step, and running sums over the steps. In the model of one step, a
//! variable with the last elements replaces the padding, and a variable with the last sum makes a
//! running sum one addition.
//!
//! If a tensor has `n` elements in front of the first step, the model of one step computes the
//! elements `t` to `t + n` in step `t`. Element-wise operations keep all `n` elements in front.
//! Windows over `k` elements leave `n + 1 - k` elements in front.

use super::{InFront, ModelPlace, NotStepwise, StepAnalysis, Stepwise, Time, Why};
use crate::core::{
    Concat, CoreModel, CoreNode, CoreOp, CoreValue, Pointwise, PointwiseFunction, Source, Variable,
    View, signed, strides,
};
use crate::model::Binary;
use crate::stream::states::window;

/// The operations with padding in front of the first step, and the running sums, of a model. All
/// fields refer to nodes by their index in the model.
#[derive(Default)]
pub(super) struct Padded {
    /// Concats of a constant and the steps, in the order of the nodes.
    pub memories: Vec<StepMemory>,
    /// Running sums over the steps.
    pub sums: Vec<usize>,
    /// Views of tensors with elements in front of the first step.
    pub windows: Vec<Windows>,
}

/// A Concat of a constant and the steps. In the model of one step, a variable with the last inputs
/// replaces the constant.
pub(super) struct StepMemory {
    pub node: usize,
    pub axis: usize,
    /// Length of the constant along `axis`.
    pub before: usize,
}

/// A view of a tensor with `before` elements in front of the first step, along `axis`.
pub(super) struct Windows {
    pub node: usize,
    pub axis: usize,
    pub before: usize,
    /// True for a view of the last `before` elements alone.
    pub is_last: bool,
}

impl StepAnalysis<'_> {
    /// The time of the output of Concat `at`.
    pub(super) fn concat(&mut self, at: usize, concat: &Concat) -> Stepwise<Time> {
        let times: Vec<Time> =
            concat.inputs.iter().map(|&input| self.time(input)).collect::<Stepwise<_>>()?;
        if let ([Source::Constant(constant), _], [Time::Fixed, time]) =
            (&concat.inputs[..], &times[..])
            && time.axis() == Some(concat.axis)
        {
            let before = self.model.constants[*constant].shape()[concat.axis];
            self.padded.memories.push(StepMemory { node: at, axis: concat.axis, before });
            return Ok(match time {
                Time::WithFront(axis, more) => Time::WithFront(*axis, before + more),
                _ => Time::WithFront(concat.axis, before),
            });
        }
        // a window that is a state holds the elements in front of the steps
        if let (&[past, _], &[Time::Before, Time::Along(axis)]) = (&concat.inputs[..], &times[..])
            && axis == concat.axis
            && window(self.model, &self.flow, concat).is_some_and(|found| {
                let mut states = self.model.states.iter();
                states.any(|pair| pair.parameter == found.parameter && pair.result == found.result)
            })
        {
            return Ok(Time::WithFront(axis, self.model.shape(past)[axis]));
        }
        if let Some(ahead) = self.ahead(concat, &times) {
            return Err(Why::PadsAfter(ahead));
        }
        let time = self.joined(&concat.inputs)?;
        // a Concat along another axis needs inputs of equal time, or constants next to a padded
        // tensor
        let is_pad =
            |input: &Source| matches!((time, input), (Time::WithFront(..), Source::Constant(_)));
        let mut inputs = concat.inputs.iter().zip(&times);
        match time.axis() {
            Some(axis) if axis == concat.axis => Err(Why::Across),
            Some(_) if inputs.any(|(input, other)| *other != time && !is_pad(input)) => {
                Err(Why::Across)
            }
            _ => Ok(time),
        }
    }

    /// The time of the running sums of node `at` along `axis`. `time`: the time of the operand.
    pub(super) fn sum(&mut self, at: usize, time: Time, axis: usize) -> Stepwise<Time> {
        match time {
            Time::Along(steps) if steps == axis => {
                self.padded.sums.push(at);
                Ok(time)
            }
            Time::WithFront(steps, _) if steps == axis => Err(Why::AddsFront),
            _ => Ok(time),
        }
    }

    /// The number of elements that a Concat appends after the last step. `None` if the Concat
    /// appends nothing or runs along another axis than time, or if several inputs depend on time.
    fn ahead(&self, concat: &Concat, all: &[Time]) -> Option<usize> {
        let steps = all.iter().position(|time| time.axis() == Some(concat.axis))?;
        let behind =
            concat.inputs[steps + 1..].iter().map(|&input| self.model.shape(input)[concat.axis]);
        Some(behind.sum()).filter(|&ahead| {
            ahead > 0 && all.iter().filter(|time| **time != Time::Fixed).count() == 1
        })
    }

    /// The first node that puts elements in front of the first step of one of the tensors. `None`
    /// if no tensor has elements in front.
    pub(super) fn in_front(&self, sources: &[Source]) -> Option<InFront> {
        let value = sources.iter().find_map(|source| match source {
            Source::Value(value) if matches!(self.values.get(value), Some(Time::WithFront(..))) => {
                Some(*value)
            }
            _ => None,
        })?;
        let node = &self.model.nodes
            [self.model.nodes.iter().position(|node| node.op.outputs().contains(&value))?];
        if let Some(before) = self.in_front(&node.op.reads()) {
            return Some(before);
        }
        let Time::WithFront(_, before) = self.values[&value] else { return None };
        Some(InFront { name: node.name.clone(), kind: node.kind.clone(), before })
    }
}

/// Turns each running sum over the steps into an addition of the step's element to a variable with
/// the previous sum. The variable starts as zero.
pub(super) fn carry_sums(
    long: &CoreModel,
    model: &mut CoreModel,
    sums: &[usize],
    pairs: &[Option<usize>],
) -> Result<(), NotStepwise> {
    for &sum in sums {
        let node = pairs[sum].map(|node| &mut model.nodes[node]);
        let Some(node) = node.filter(|node| node.op.facts().over_time.accumulates()) else {
            return Err(ModelPlace::new(&long.nodes[sum]).refused(Why::Otherwise));
        };
        let (input, out) = (node.op.reads()[0], node.op.first_value());
        let before = Source::Variable(model.variables.len());
        let function = PointwiseFunction::Binary(Binary::Add);
        let inputs = vec![before, input];
        node.op = CoreOp::Pointwise(Pointwise { function, inputs, out });
        model.variables.push(Variable {
            name: last_of(&node.name, &node.kind),
            shape: model.values[out].shape.clone(),
            initial: None,
            next: Some(Source::Value(out)),
            history: None,
        });
    }
    Ok(())
}

/// The name of the variable with the last inputs or the last sum of an operation.
fn last_of(name: &str, kind: &str) -> String {
    match name.rsplit('/').next() {
        Some("") | None => format!("{kind} last"),
        Some(own) => format!("{own} last"),
    }
}

/// Replaces the constant of each Concat in `memories` by a variable with the last inputs. The
/// variable starts as the constant, and each step shifts the variable by one element.
pub(super) fn remember(
    model: &mut CoreModel,
    memories: &[StepMemory],
    pairs: &[Option<usize>],
) -> Result<(), NotStepwise> {
    for memory in memories.iter().rev() {
        let StepMemory { axis, before, .. } = *memory;
        let Some(node) = pairs[memory.node] else {
            return Err(ModelPlace::Padding.refused(Why::Otherwise));
        };
        let CoreNode { name, kind, layer, .. } = model.nodes[node].clone();
        let (constant, out, front) = match &mut model.nodes[node].op {
            CoreOp::Concat(Concat { inputs, out, .. }) => match inputs.first_mut() {
                Some(front @ &mut Source::Constant(constant)) => (constant, *out, front),
                _ => return Err(ModelPlace::Layer(name).refused(Why::Otherwise)),
            },
            _ => return Err(ModelPlace::Layer(name).refused(Why::Otherwise)),
        };
        *front = Source::Variable(model.variables.len());
        let row_major = signed(strides(&model.values[out].shape));
        let mut shape = model.values[out].shape.clone();
        shape[axis] = before;
        let next = model.values.len();
        model.values.push(CoreValue { shape: shape.clone() });
        let tensor = &model.constants[constant];
        let zero = (0..tensor.len()).all(|i| tensor.get_f32(i).to_bits() == 0);
        model.variables.push(Variable {
            name: last_of(&name, &kind),
            shape,
            initial: (!zero).then_some(constant),
            next: Some(Source::Value(next)),
            history: Some(axis),
        });
        let view = View {
            input: Source::Value(out),
            offset: row_major[axis] as usize,
            strides: row_major,
            out: next,
        };
        let kept = CoreNode {
            name,
            kind: "View".to_owned(),
            op: CoreOp::View(view),
            ledger: Vec::new(),
            layer,
        };
        model.nodes.insert(node + 1, kept);
    }
    Ok(())
}

/// Checks that each view of a padded tensor begins at the same element, counted from the step, and
/// has the same strides in the model of one step and in the model of many steps.
pub(super) fn same_windows(
    long: &CoreModel,
    one: &CoreModel,
    steps: usize,
    windows: &[Windows],
    pairs: &[Option<usize>],
) -> Result<(), NotStepwise> {
    for &Windows { node, axis, before, is_last } in windows {
        let many =
            long.nodes[node].op.outputs().first().map_or(&[][..], |&out| &long.values[out].shape);
        let places = |model: &CoreModel, at: usize, steps: usize| -> Option<Vec<[usize; 3]>> {
            let CoreOp::View(view) = &model.nodes[at].op else { return None };
            let stride: usize = model.shape(view.input)[axis + 1..].iter().product();
            let period = stride * (steps + before);
            let place_of =
                |offset: usize| [offset / period, offset % period / stride, offset % stride];
            // the last `before` elements begin behind the first `steps` elements
            let skipped = if is_last { steps * stride } else { 0 };
            let mut places = vec![place_of(view.offset.checked_sub(skipped)?)];
            for (&size, &step) in many.iter().zip(&view.strides) {
                places.push(if size > 1 { place_of(usize::try_from(step).ok()?) } else { [0; 3] });
            }
            Some(places)
        };
        let (of_many, of_one) =
            (places(long, node, steps), pairs[node].and_then(|at| places(one, at, 1)));
        if of_many.is_none() || of_many != of_one {
            return Err(ModelPlace::new(&long.nodes[node]).refused(Why::Otherwise));
        }
    }
    Ok(())
}
