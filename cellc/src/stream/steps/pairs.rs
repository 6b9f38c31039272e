//! The pairing of the nodes of a model of many steps with the nodes of the model of one step: both
//! models must compute the same results for each step.

use std::collections::HashMap;

use super::{ModelPlace, NotStepwise, Time, Why};
use crate::core::{CoreModel, CoreNode, CoreOp, Source, WeightSource};
use crate::model::Tensor;

/// Largest layer, in operations, in which the pairing looks for vanished views: views of the long
/// model that change nothing for one step and have no partner in the model of one step.
const MOST_ALIGNED: usize = 256;

/// The most attempts to find the vanished views of one layer. Layers of more operations have one
/// attempt per operation.
const MOST_TRIED: usize = 1 << 12;

/// True if two shapes agree apart from time: along each axis, the sizes are equal, or the size of
/// the long model is larger by `steps - 1`.
fn alike(of_long: &[usize], of_one: &[usize], steps: usize) -> bool {
    of_long.len() == of_one.len()
        && of_long.iter().zip(of_one).all(|(&a, &b)| a == b || (b > 0 && a == b + steps - 1))
}

/// By node of `long`, the model of `steps` steps: the matching node of `one`, the model of one
/// step. `None` for a view that changes nothing for one step. `times`: by value of `long`, its
/// time.
pub(super) fn same_but_for_time(
    long: &CoreModel,
    one: &CoreModel,
    steps: usize,
    times: &HashMap<usize, Time>,
) -> Result<Vec<Option<usize>>, NotStepwise> {
    let mut pairing =
        Pairing { long, one, steps, times, values: HashMap::new(), pairs: Vec::new(), attempts: 0 };
    let mut next = 0;
    for layer in long.nodes.chunk_by(|a, b| a.layer == b.layer) {
        let in_one =
            one.nodes[next..].iter().take_while(|node| node.layer == layer[0].layer).count();
        pairing.layer(layer, next..next + in_one)?;
        next += in_one;
    }
    if let Some(more) = one.nodes.get(next) {
        return Err(ModelPlace::new(more).refused(Why::Otherwise));
    }
    pairing.results()?;
    Ok(pairing.pairs)
}

/// The search for pairs of nodes.
struct Pairing<'m> {
    long: &'m CoreModel,
    one: &'m CoreModel,
    steps: usize,
    /// By value of the long model: its time.
    times: &'m HashMap<usize, Time>,
    /// By value of the long model: the matching tensor of the model of one step.
    values: HashMap<usize, Source>,
    pairs: Vec<Option<usize>>,
    /// The attempts that are left for the current layer.
    attempts: usize,
}

impl Pairing<'_> {
    /// Pairs the core operations translated from one node of the user's model.
    fn layer(
        &mut self,
        of_long: &[CoreNode],
        of_one: std::ops::Range<usize>,
    ) -> Result<(), NotStepwise> {
        self.attempts = MOST_TRIED.max(of_long.len());
        let start = self.pairs.len();
        let views = of_long.len().checked_sub(of_one.len());
        if let Some(views) = views
            && (views == 0 || of_long.len() <= MOST_ALIGNED)
            && self.align(of_long, of_one.clone())
        {
            return Ok(());
        }
        self.pairs.truncate(start);
        // the error names the first pair whose operations differ in numbers alone: the number of
        // steps is an operand
        for (node, at) in of_long.iter().zip(of_one) {
            let found = &self.one.nodes[at];
            if self.same_operation(node, found) && !self.same_numbers(node, found) {
                return Err(ModelPlace::new(node).refused(Why::Counts));
            }
        }
        Err(ModelPlace::new(&of_long[0]).refused(Why::Otherwise))
    }

    /// Pairs nodes in order. True if every node has a partner, apart from views of the long model
    /// that change nothing for one step.
    fn align(&mut self, mut of_long: &[CoreNode], mut of_one: std::ops::Range<usize>) -> bool {
        loop {
            let [node, rest @ ..] = of_long else { return of_one.is_empty() };
            if self.attempts == 0 {
                return false;
            }
            self.attempts -= 1;
            let partner =
                self.one.nodes[of_one.clone()].first().filter(|found| self.fits(node, found));
            let vanished = (of_long.len() > of_one.len()).then(|| self.vanished(node)).flatten();
            of_long = rest;
            if let Some(found) = partner {
                let start = self.pairs.len();
                let outputs = node.op.outputs().into_iter().zip(found.op.outputs());
                self.values.extend(outputs.map(|(a, b)| (a, Source::Value(b))));
                self.pairs.push(Some(of_one.start));
                let after = of_one.start + 1..of_one.end;
                if vanished.is_none() {
                    of_one = after;
                    continue;
                }
                if self.align(rest, after) {
                    return true;
                }
                self.pairs.truncate(start);
            }
            let Some((out, input)) = vanished else { return false };
            self.values.insert(out, input);
            self.pairs.push(None);
        }
    }

    /// True if two nodes have the same operation, matching inputs and the same numbers.
    fn fits(&self, of_long: &CoreNode, of_one: &CoreNode) -> bool {
        self.same_operation(of_long, of_one)
            && self.same_inputs(of_long, of_one)
            && self.same_numbers(of_long, of_one)
    }

    /// The value of a view that may change nothing for one step, and the tensor of the model of one
    /// step that matches the input of the view. `None` for other nodes, and for views of constants.
    fn vanished(&self, node: &CoreNode) -> Option<(usize, Source)> {
        let CoreOp::View(view) = &node.op else { return None };
        // the two models have separate indices of constants
        if matches!(view.input, Source::Constant(_)) {
            return None;
        }
        let input = self.of_one(view.input)?;
        self.is_shaped(view.out, self.one.shape(input)).then_some((view.out, input))
    }

    /// True if a value of the long model has the shape `of_one`, apart from time.
    fn is_shaped(&self, value: usize, of_one: &[usize]) -> bool {
        let shape = &self.long.values[value].shape;
        let elsewhere = |axis: &usize| match self.times.get(&value) {
            Some(Time::Along(time) | Time::WithFront(time, _)) => axis != time,
            _ => false,
        };
        alike(shape, of_one, self.steps)
            && (0..shape.len()).filter(elsewhere).all(|axis| shape[axis] == of_one[axis])
    }

    /// The tensor of the model of one step that matches a tensor of the long model: inputs,
    /// constants and variables keep their index, and callers compare constants. `None` for a value
    /// without a match.
    fn of_one(&self, source: Source) -> Option<Source> {
        match source {
            Source::Value(value) => self.values.get(&value).copied(),
            source => Some(source),
        }
    }

    /// True if both nodes have the same kind of operation, and outputs of equal shapes apart from
    /// time.
    fn same_operation(&self, of_long: &CoreNode, of_one: &CoreNode) -> bool {
        let (a, b) = (of_long.op.outputs(), of_one.op.outputs());
        std::mem::discriminant(&of_long.op) == std::mem::discriminant(&of_one.op)
            && a.len() == b.len()
            && a.iter().zip(&b).all(|(&a, &b)| self.is_shaped(a, &self.one.values[b].shape))
    }

    /// True if both nodes read matching tensors. Constants are not compared.
    fn same_inputs(&self, of_long: &CoreNode, of_one: &CoreNode) -> bool {
        let (of_long, of_one) = (of_long.op.reads(), of_one.op.reads());
        of_long.len() == of_one.len()
            && of_long.iter().zip(&of_one).all(|(&a, &b)| match (a, b) {
                (Source::Constant(_), Source::Constant(_)) => true,
                _ => self.of_one(a) == Some(b),
            })
    }

    /// True if both operations have equal attributes, constants and weights.
    fn same_numbers(&self, of_long: &CoreNode, of_one: &CoreNode) -> bool {
        let (many, single) = (of_long.op.reads(), of_one.op.reads());
        of_long.op.same_attributes(&of_one.op)
            && many.len() == single.len()
            && many.iter().zip(&single).all(|(&a, &b)| self.same_constants(a, b))
            && self.same_weights(&of_long.op, &of_one.op)
    }

    /// True if both operations have equal weights.
    fn same_weights(&self, of_long: &CoreOp, of_one: &CoreOp) -> bool {
        let (many, single) = (of_long.facts().weights, of_one.facts().weights);
        many.len() == single.len()
            && many.iter().zip(&single).all(|(a, b)| match (*a, *b) {
                (WeightSource::Constant(a), WeightSource::Constant(b)) => {
                    self.same_constants(Source::Constant(a), Source::Constant(b))
                }
                (a, b) => a == b,
            })
    }

    /// True for two equal constants, and if neither tensor is a constant. False for a constant and
    /// another tensor. A constant whose elements are all equal may be longer by `steps - 1` in the
    /// long model.
    fn same_constants(&self, of_long: Source, of_one: Source) -> bool {
        match (of_long, of_one) {
            (Source::Constant(a), Source::Constant(b)) => {
                let (a, b) = (&self.long.constants[a], &self.one.constants[b]);
                let as_many = a.shape() == b.shape() && a.bytes() == b.bytes();
                let one_number = || {
                    is_one_number(a)
                        && is_one_number(b)
                        && a.get_f64(0).to_bits() == b.get_f64(0).to_bits()
                        && a.get_i64(0) == b.get_i64(0)
                };
                a.element() == b.element()
                    && (as_many || alike(a.shape(), b.shape(), self.steps) && one_number())
            }
            (Source::Constant(_), _) | (_, Source::Constant(_)) => false,
            _ => true,
        }
    }

    /// Checks that the outputs of the two models match.
    fn results(&self) -> Result<(), NotStepwise> {
        for (index, (many, single)) in self.long.results.iter().zip(&self.one.results).enumerate() {
            if !self.same_constants(many.source, single.source) {
                return Err(ModelPlace::Output(index).refused(Why::Counts));
            }
            let same = matches!(many.source, Source::Constant(_))
                || self.of_one(many.source) == Some(single.source);
            let with_steps = match many.source {
                Source::Value(value) => matches!(self.times.get(&value), Some(Time::Along(_))),
                Source::Parameter(_) => true,
                Source::Constant(_) | Source::Variable(_) => false,
            };
            if !same || !with_steps && many.shape != single.shape {
                return Err(ModelPlace::Output(index).refused(Why::Otherwise));
            }
        }
        Ok(())
    }
}

/// True if all elements of a tensor have the same bits.
pub(super) fn is_one_number(tensor: &Tensor) -> bool {
    let size = tensor.bytes().len() / tensor.len().max(1);
    size > 0 && tensor.bytes().chunks_exact(size).all(|element| *element == tensor.bytes()[..size])
}
