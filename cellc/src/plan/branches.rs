//! Operations that are computed only under a run-time condition.
//!
//! The model computes both sides of an If, and one Select per output chooses a side. A Select with
//! a condition of one element needs only the chosen operand. Operations on which only this operand
//! depends, the sides of an If or the operations before a Where, are then computed under the
//! condition, and the Select becomes a copy. Little work is always computed: a Select in registers
//! takes less time than a mispredicted branch.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::{CoreModel, CoreNode, CoreOp, Effort, Pointwise, PointwiseFunction, Source};

/// The least number of operations on the widest vectors that are worth a branch: they take longer
/// than a branch mispredicted every other time plus the copy after the branch.
const BRANCH: usize = 16;

/// Weights, in operations, of a division, and of an activation, a softmax or a search for the
/// largest element.
const DIVISION: usize = 4;
const FUNCTION: usize = 16;

/// A condition, and its required value.
pub type Side = (Source, bool);

/// The operations computed only on one side of a condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branches {
    /// By the first value of an operation: its sides, outermost first.
    sides: BTreeMap<usize, Vec<Side>>,
    /// The values of the Selects that copy results of a side.
    joins: BTreeSet<usize>,
}

impl Branches {
    /// Finds the branches of a model, for instruction sets of at most `lanes` lanes. `asked`: true
    /// for branches wherever possible, false for none. `None`: where branches save time.
    pub fn new(model: &CoreModel, lanes: usize, asked: Option<bool>) -> Self {
        let mut branches = Self::default();
        let least = match asked {
            Some(false) => return branches,
            Some(true) => 0,
            None => BRANCH * lanes,
        };
        let results = model.results.iter().map(|result| result.source);
        let wanted =
            results.chain(model.variables.iter().filter_map(|variable| variable.next)).collect();
        branches.scope(model, &GraphScope::new(&model.nodes, wanted, None), least);
        branches
    }

    /// The sides of the operation of a value, outermost first. Empty if the operation is always
    /// computed.
    pub fn sides(&self, value: usize) -> &[Side] {
        self.sides.get(&value).map_or(&[], |sides| sides)
    }

    /// True if a value is a Select that copies the result of one side.
    pub fn is_join(&self, value: usize) -> bool {
        self.joins.contains(&value)
    }

    /// The number of operations of each side, in order.
    pub fn counts(&self) -> BTreeMap<Side, usize> {
        let mut counts = BTreeMap::new();
        for side in self.sides.values().flatten() {
            *counts.entry(*side).or_default() += 1;
        }
        counts
    }

    fn scope(&mut self, model: &CoreModel, scope: &GraphScope<'_>, least: usize) {
        let mut work: BTreeMap<Side, usize> = BTreeMap::new();
        for (node, sides) in scope.nodes.iter().zip(scope.sides(model, |_| true)) {
            let count = operations(model, node);
            for side in sides {
                let sum = work.entry(side).or_default();
                *sum = count.saturating_add(*sum);
            }
        }
        let sides = scope.sides(model, |side| work.get(side).is_some_and(|work| *work >= least));
        let is_on = |source: Source, side: Side| {
            scope.position(source).is_some_and(|at| sides[at].contains(&side))
        };
        for node in scope.nodes {
            if let Some(choice) = scope.choice(model, node)
                && choice
                    .operands
                    .iter()
                    .any(|(source, side)| is_on(*source, (choice.condition, *side)))
            {
                self.joins.insert(choice.out);
            }
            if let CoreOp::Loop(body) = &node.op {
                let next = body.carried.iter().map(|carried| carried.next);
                let wanted = next.chain(body.results.iter().map(|result| result.value)).collect();
                self.scope(model, &GraphScope::new(&body.body, wanted, body.running), least);
            }
        }
        let operations = scope.nodes.iter().zip(sides).filter(|(_, sides)| !sides.is_empty());
        self.sides.extend(operations.map(|(node, sides)| (node.op.outputs()[0], sides)));
    }
}

/// The operations of a model, or of one loop's body.
struct GraphScope<'m> {
    nodes: &'m [CoreNode],
    /// The values that are always needed.
    wanted: Vec<Source>,
    /// The loop condition. After the end of a loop nothing is computed, so the condition needs no
    /// further check.
    running: Option<usize>,
    /// By value: the index of its operation.
    positions: BTreeMap<usize, usize>,
}

/// A Select that a branch with copies can replace.
struct Choice {
    condition: Source,
    /// The operands, each with the value of the condition that chooses it.
    operands: [(Source, bool); 2],
    out: usize,
}

impl<'m> GraphScope<'m> {
    fn new(nodes: &'m [CoreNode], wanted: Vec<Source>, running: Option<usize>) -> Self {
        let outputs = nodes.iter().enumerate();
        let outputs = outputs
            .flat_map(|(at, node)| node.op.outputs().into_iter().map(move |value| (value, at)));
        Self { nodes, wanted, running, positions: outputs.collect() }
    }

    /// The index of the operation that computes a tensor. `None`: no operation of this scope.
    fn position(&self, source: Source) -> Option<usize> {
        match source {
            Source::Value(value) => self.positions.get(&value).copied(),
            _ => None,
        }
    }

    /// The operation as a choice. `None` if it is no Select, if the condition has several elements
    /// or is the loop condition, or if an operand is broadcast.
    fn choice(&self, model: &CoreModel, node: &CoreNode) -> Option<Choice> {
        let CoreOp::Pointwise(Pointwise { function: PointwiseFunction::Select, inputs, out }) =
            &node.op
        else {
            return None;
        };
        let (condition, len) = (inputs[0], model.len(Source::Value(*out)));
        let asks = model.len(condition) == 1
            && self.running.is_none_or(|value| condition != Source::Value(value));
        let copies = inputs[1..].iter().all(|operand| model.len(*operand) == len);
        let operands = [(inputs[1], true), (inputs[2], false)];
        (asks && copies).then_some(Choice { condition, operands, out: *out })
    }

    /// By operation: the sides to which the operation can be limited, outermost first. Only sides
    /// that are `worth` a branch count.
    fn sides(&self, model: &CoreModel, worth: impl Fn(&Side) -> bool) -> Vec<Vec<Side>> {
        let mut wanted = SidesByValue::default();
        self.wanted.iter().for_each(|source| wanted.on(*source, &[]));
        let mut by_operation = vec![Vec::new(); self.nodes.len()];
        for (position, node) in self.nodes.iter().enumerate().rev() {
            let mut sides = wanted.sides(&node.op.outputs());
            // an operation can be limited only by conditions computed before it
            let is_known =
                |(condition, _): &&Side| self.position(*condition).is_none_or(|at| at < position);
            sides.truncate(sides.iter().take_while(is_known).count());
            match self.choice(model, node) {
                None => node.op.reads().into_iter().for_each(|source| wanted.on(source, &sides)),
                Some(choice) => {
                    wanted.on(choice.condition, &sides);
                    for (operand, side) in choice.operands {
                        let side = (choice.condition, side);
                        let new_side =
                            Some(side).filter(|side| worth(side) && !sides.contains(side));
                        wanted.on(
                            operand,
                            &sides.iter().copied().chain(new_side).collect::<Vec<_>>(),
                        );
                    }
                }
            }
            by_operation[position] = sides;
        }
        by_operation
    }
}

/// By value: the sides that need the value.
#[derive(Default)]
struct SidesByValue(BTreeMap<usize, Vec<Side>>);

impl SidesByValue {
    /// Adds sides that need a tensor.
    fn on(&mut self, source: Source, sides: &[Side]) {
        if let Source::Value(value) = source {
            let needed_on = self.0.entry(value).or_insert_with(|| sides.to_vec());
            common(needed_on, sides);
        }
    }

    /// The common sides of all needed values among `values`.
    fn sides(&self, values: &[usize]) -> Vec<Side> {
        let mut each = values.iter().filter_map(|value| self.0.get(value));
        let mut in_common = each.next().cloned().unwrap_or_default();
        each.for_each(|sides| common(&mut in_common, sides));
        in_common
    }
}

/// Limits `all` to the outer sides that it shares with `others`.
fn common(all: &mut Vec<Side>, others: &[Side]) {
    let same = all.iter().zip(others).take_while(|(one, other)| one == other).count();
    all.truncate(same);
}

/// The approximate number of element operations of an operation.
fn operations(model: &CoreModel, node: &CoreNode) -> usize {
    let work = node.op.facts().work;
    if let CoreOp::Loop(body) = &node.op {
        let trip =
            body.body.iter().map(|node| operations(model, node)).fold(0, usize::saturating_add);
        return trip.saturating_mul(body.trips);
    }
    let Some((count, effort)) = work.element_operations(model) else { return work.multiply_adds() };
    let each = match effort {
        Effort::Function => FUNCTION,
        Effort::Divide => DIVISION,
        Effort::Move | Effort::Convert | Effort::Select(_) | Effort::Arithmetic => 1,
    };
    count.saturating_mul(each)
}
