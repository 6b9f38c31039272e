//! The dependence of tensors on inputs and variables: within a call, and through variables from
//! call to call.

use std::cmp::max;

use crate::core::{CoreModel, CoreNode, CoreOp, Source, WeightSource, Zeros};

/// The cause of a tensor's changes from call to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// No cause: the tensor is zero. A product with zero counts as zero, although infinity times
    /// zero is NaN.
    Zero,
    /// No input: the tensor is computed from constants, or from variables that depend on no input.
    Never,
    /// Variables whose next values depend on inputs.
    Variables,
    /// Inputs.
    Inputs,
}

/// How a tensor depends on its operands: when the tensor is zero, and which changes of the operands
/// pass to the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandEffect {
    /// Zero if every operand is zero.
    Linear,
    /// Zero if at least one operand is zero.
    Product,
    /// Never known to be zero, whatever the operands are.
    Any,
    /// A variable: zero if its initial value and its next value are zero. If inputs change the next
    /// value, the variable's change is still [`Change::Variables`].
    Assigned,
}

/// The dependence of every value and every variable of a model. Computed in time linear in the size
/// of the model.
pub(crate) struct Dependence<'m> {
    model: &'m CoreModel,
    /// By constant: true if every element is zero.
    zeros: Vec<bool>,
    /// By tensor: the operands' effect, and the operands. Tensors are numbered: the model's values,
    /// then the variables.
    rules: Vec<(OperandEffect, Vec<Source>)>,
    changes: Vec<Change>,
    /// By tensor: the number of its group. Tensors of one group depend on each other.
    groups: Vec<usize>,
    /// The number of visits to tensors in [`Self::propagate`] and [`Self::group`]: the cost of the
    /// analysis.
    pub(crate) looks: usize,
}

impl<'m> Dependence<'m> {
    /// `nodes`: all nodes of the model, including nodes in bodies of loops.
    pub(crate) fn new(model: &'m CoreModel, nodes: &[&'m CoreNode]) -> Self {
        let zeros = model
            .constants
            .iter()
            .map(|tensor| (0..tensor.len()).all(|i| tensor.get_f32(i) == 0.0))
            .collect();
        let mut found = Self {
            model,
            zeros,
            rules: Vec::new(),
            changes: Vec::new(),
            groups: Vec::new(),
            looks: 0,
        };
        found.rules.resize(model.values.len(), (OperandEffect::Any, Vec::new()));
        nodes.iter().for_each(|node| found.rule(node));
        for variable in &model.variables {
            let sources = variable.initial.map(Source::Constant).into_iter().chain(variable.next);
            found.rules.push((OperandEffect::Assigned, sources.collect()));
        }
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); found.rules.len()];
        for (tensor, (_, sources)) in found.rules.iter().enumerate() {
            sources
                .iter()
                .filter_map(|&source| found.tensor(source))
                .for_each(|read| readers[read].push(tensor));
        }
        found.looks = found.propagate(&readers) + found.group(&readers);
        found
    }

    /// The cause of a tensor's changes from call to call.
    pub(crate) fn change(&self, source: Source) -> Change {
        match source {
            Source::Parameter(_) => Change::Inputs,
            Source::Constant(constant) if self.zeros[constant] => Change::Zero,
            Source::Constant(_) => Change::Never,
            Source::Variable(_) | Source::Value(_) => {
                self.tensor(source).map_or(Change::Inputs, |tensor| self.changes[tensor])
            }
        }
    }

    /// True if `a` and `b` depend on each other, within a call or from call to call. False if one
    /// of them is an input or a constant.
    pub(crate) fn mutual(&self, a: Source, b: Source) -> bool {
        match (self.tensor(a), self.tensor(b)) {
            (Some(a), Some(b)) => self.groups[a] == self.groups[b],
            _ => false,
        }
    }

    /// The operands and run-time weights of a value. Empty for a value known to be zero.
    pub(crate) fn reads(&self, value: usize) -> &[Source] {
        if self.changes[value] == Change::Zero { &[] } else { &self.rules[value].1 }
    }

    fn tensor(&self, source: Source) -> Option<usize> {
        match source {
            Source::Value(value) => Some(value),
            Source::Variable(variable) => Some(self.model.values.len() + variable),
            Source::Parameter(_) | Source::Constant(_) => None,
        }
    }

    fn rule(&mut self, node: &CoreNode) {
        let weight = |weight: &WeightSource| match *weight {
            WeightSource::Constant(constant) => Some(Source::Constant(constant)),
            WeightSource::Parameter(parameter) => Some(Source::Parameter(parameter)),
            WeightSource::Zero => None,
        };
        if let CoreOp::Loop(body) = &node.op {
            for slice in &body.slices {
                self.rules[slice.piece] = (OperandEffect::Linear, vec![slice.whole]);
            }
            for carried in &body.carried {
                // in a loop of one iteration, the carried value is the initial value
                let next = Some(carried.next).filter(|_| body.trips > 1);
                let sources = [Some(carried.initial), next].into_iter().flatten();
                self.rules[carried.value] = (OperandEffect::Linear, sources.collect());
            }
            for result in &body.results {
                self.rules[result.out] = (OperandEffect::Linear, vec![result.value]);
            }
            return;
        }
        let facts = node.op.facts();
        let weights = facts.weights.iter().filter_map(weight);
        let (rule, weights): (OperandEffect, Vec<Source>) = match facts.zeros {
            Zeros::Always => (OperandEffect::Linear, Vec::new()),
            Zeros::IfAll => (OperandEffect::Linear, weights.collect()),
            Zeros::IfOne => (OperandEffect::Product, weights.collect()),
            // of the weights, only run-time weights count: constants neither change nor make
            // outputs zero
            Zeros::Unknown => (
                OperandEffect::Any,
                weights.filter(|source| matches!(source, Source::Parameter(_))).collect(),
            ),
        };
        let operands = if facts.zeros == Zeros::Always { Vec::new() } else { facts.operands };
        let sources: Vec<Source> = operands.into_iter().chain(weights).collect();
        for value in facts.outputs {
            self.rules[value] = (rule, sources.clone());
        }
    }

    /// Starts every tensor at its least change, then raises each reader of a changed tensor until
    /// no change is missing. Returns the number of visited readers.
    fn propagate(&mut self, readers: &[Vec<usize>]) -> usize {
        let least = |(rule, _): &(OperandEffect, Vec<Source>)| {
            if *rule == OperandEffect::Any { Change::Never } else { Change::Zero }
        };
        self.changes = self.rules.iter().map(least).collect();
        for tensor in 0..self.rules.len() {
            let (rule, sources) = &self.rules[tensor];
            let fixed = sources.iter().filter(|source| {
                self.tensor(**source).is_none() && *rule != OperandEffect::Product
            });
            let most = fixed.map(|source| self.change(*source)).fold(self.changes[tensor], max);
            self.changes[tensor] = capped(*rule, most);
        }
        let mut open: Vec<usize> =
            (0..self.rules.len()).filter(|&tensor| self.changes[tensor] > Change::Zero).collect();
        let products =
            (0..self.rules.len()).filter(|&tensor| self.rules[tensor].0 == OperandEffect::Product);
        for product in products.collect::<Vec<_>>() {
            self.changes[product] = self.product(product);
            open.extend((self.changes[product] > Change::Zero).then_some(product));
        }
        let mut looks = 0;
        // ends, as a tensor is raised at most three times
        while let Some(tensor) = open.pop() {
            for &reader in &readers[tensor] {
                looks += 1;
                let change = match self.rules[reader].0 {
                    OperandEffect::Product => self.product(reader),
                    rule => capped(rule, self.changes[tensor]),
                };
                if change > self.changes[reader] {
                    self.changes[reader] = change;
                    open.push(reader);
                }
            }
        }
        looks
    }

    fn product(&self, tensor: usize) -> Change {
        let factors = self.rules[tensor].1.iter().map(|&factor| self.change(factor));
        let (least, most) =
            factors.fold((Change::Inputs, Change::Zero), |(a, b), c| (a.min(c), b.max(c)));
        if least == Change::Zero { Change::Zero } else { most }
    }

    /// Finds the groups of mutually dependent tensors with Kosaraju's algorithm. Returns the number
    /// of visited tensors, with repetition.
    fn group(&mut self, readers: &[Vec<usize>]) -> usize {
        let (count, mut looks) = (self.rules.len(), 0);
        let reader = |tensor: usize, at: usize| {
            let reader = *readers[tensor].get(at)?;
            // a tensor that is zero depends on nothing, so the search does not continue there
            Some(Some(reader).filter(|&reader| self.changes[reader] > Change::Zero))
        };
        let (mut order, mut seen) = (Vec::with_capacity(count), vec![false; count]);
        for start in 0..count {
            let mut path = if seen[start] { Vec::new() } else { vec![(start, 0)] };
            seen[start] = true;
            while let Some((tensor, at)) = path.last_mut() {
                match reader(*tensor, *at) {
                    None => {
                        order.push(*tensor);
                        path.pop();
                    }
                    Some(next) => {
                        *at += 1;
                        looks += 1;
                        if let Some(next) =
                            next.filter(|&next| !std::mem::replace(&mut seen[next], true))
                        {
                            path.push((next, 0));
                        }
                    }
                }
            }
        }
        let mut groups = vec![usize::MAX; count];
        for start in order.into_iter().rev() {
            let mut open = vec![start];
            while let Some(tensor) = open.pop() {
                looks += 1;
                if groups[tensor] != usize::MAX {
                    continue;
                }
                groups[tensor] = start;
                if self.changes[tensor] > Change::Zero {
                    let sources =
                        self.rules[tensor].1.iter().filter_map(|&source| self.tensor(source));
                    open.extend(sources.filter(|&source| groups[source] == usize::MAX));
                }
            }
        }
        self.groups = groups;
        looks
    }
}

fn capped(rule: OperandEffect, change: Change) -> Change {
    if rule == OperandEffect::Assigned { change.min(Change::Variables) } else { change }
}
