//! What tensors depend on, in one call and by way of variables from call to call.

use std::cmp::max;

use crate::core::{CoreModel, CoreNode, CoreOp, Source, WeightSource, Zeros};

/// What makes a tensor another one from call to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// Nothing: it is zero. So is what is multiplied with zero, though infinity times zero is none.
    Zero,
    /// Nothing: it is computed from constants alone.
    Never,
    /// Variables, which are assigned what changes.
    Variables,
    /// Inputs.
    Inputs,
}

/// How a tensor follows from those that it is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Zero if every operand is zero.
    Linear,
    /// Zero if one operand is zero.
    Product,
    /// It is never known to be zero.
    Any,
    /// What a variable becomes: an input changes a variable, and the variable is what changes then.
    Assigned,
}

/// What every value and every variable of a model depends on. Linear in the size of the model.
pub(crate) struct Dependence<'m> {
    model: &'m CoreModel,
    /// By constant: whether every element is zero.
    zeros: Vec<bool>,
    /// By tensor: the values, then the variables.
    rules: Vec<(Rule, Vec<Source>)>,
    changes: Vec<Change>,
    /// By tensor: two that depend on each other are of one group.
    groups: Vec<usize>,
    /// How often a tensor was looked at on behalf of one that it reads or that reads it.
    pub(crate) looks: usize,
}

impl<'m> Dependence<'m> {
    /// `nodes`: all nodes of the model, those of bodies too.
    pub(crate) fn new(model: &'m CoreModel, nodes: &[&'m CoreNode]) -> Self {
        let zeros = model.constants.iter().map(|tensor| (0..tensor.len()).all(|i| tensor.get_f32(i) == 0.0)).collect();
        let mut found = Self { model, zeros, rules: Vec::new(), changes: Vec::new(), groups: Vec::new(), looks: 0 };
        found.rules.resize(model.values.len(), (Rule::Any, Vec::new()));
        nodes.iter().for_each(|node| found.rule(node));
        for variable in &model.variables {
            let sources = variable.initial.map(Source::Constant).into_iter().chain(variable.next);
            found.rules.push((Rule::Assigned, sources.collect()));
        }
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); found.rules.len()];
        for (tensor, (_, sources)) in found.rules.iter().enumerate() {
            sources.iter().filter_map(|&source| found.tensor(source)).for_each(|read| readers[read].push(tensor));
        }
        found.looks = found.propagate(&readers) + found.group(&readers);
        found
    }

    /// What changes a tensor from call to call.
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

    /// Whether each of two tensors depends on the other one, from call to call.
    pub(crate) fn mutual(&self, a: Source, b: Source) -> bool {
        match (self.tensor(a), self.tensor(b)) {
            (Some(a), Some(b)) => self.groups[a] == self.groups[b],
            _ => false,
        }
    }

    /// The sources of a value; none for a value that is always zero.
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
                self.rules[slice.piece] = (Rule::Linear, vec![slice.of]);
            }
            for carried in &body.carried {
                // a single iteration sees what was there before it
                let next = Some(carried.next).filter(|_| body.trips > 1);
                let sources = [Some(carried.initial), next].into_iter().flatten();
                self.rules[carried.value] = (Rule::Linear, sources.collect());
            }
            for result in &body.results {
                self.rules[result.out] = (Rule::Linear, vec![result.of]);
            }
            return;
        }
        let facts = node.op.facts();
        let weights = facts.weights.iter().filter_map(weight);
        let (rule, weights): (Rule, Vec<Source>) = match facts.zeros {
            Zeros::Always => (Rule::Linear, Vec::new()),
            Zeros::IfAll => (Rule::Linear, weights.collect()),
            Zeros::IfOne => (Rule::Product, weights.collect()),
            // constants neither change nor make anything zero
            Zeros::Unknown => (Rule::Any, weights.filter(|source| matches!(source, Source::Parameter(_))).collect()),
        };
        let operands = if facts.zeros == Zeros::Always { Vec::new() } else { facts.operands };
        let sources: Vec<Source> = operands.into_iter().chain(weights).collect();
        for value in facts.outputs {
            self.rules[value] = (rule, sources.clone());
        }
    }

    /// Starts from what changes least, and raises what depends on more until nothing does. Returns
    /// how many readers were looked at.
    fn propagate(&mut self, readers: &[Vec<usize>]) -> usize {
        let least = |(rule, _): &(Rule, Vec<Source>)| if *rule == Rule::Any { Change::Never } else { Change::Zero };
        self.changes = self.rules.iter().map(least).collect();
        for tensor in 0..self.rules.len() {
            let (rule, sources) = &self.rules[tensor];
            let fixed = sources.iter().filter(|source| self.tensor(**source).is_none() && *rule != Rule::Product);
            let most = fixed.map(|source| self.change(*source)).fold(self.changes[tensor], max);
            self.changes[tensor] = capped(*rule, most);
        }
        let mut open: Vec<usize> =
            (0..self.rules.len()).filter(|&tensor| self.changes[tensor] > Change::Zero).collect();
        let products = (0..self.rules.len()).filter(|&tensor| self.rules[tensor].0 == Rule::Product);
        for product in products.collect::<Vec<_>>() {
            self.changes[product] = self.product(product);
            open.extend((self.changes[product] > Change::Zero).then_some(product));
        }
        let mut looks = 0;
        // each is raised three times at most
        while let Some(tensor) = open.pop() {
            for &reader in &readers[tensor] {
                looks += 1;
                let change = match self.rules[reader].0 {
                    Rule::Product => self.product(reader),
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
        let (least, most) = factors.fold((Change::Inputs, Change::Zero), |(a, b), c| (a.min(c), b.max(c)));
        if least == Change::Zero { Change::Zero } else { most }
    }

    /// Groups of tensors that depend on each other, by Kosaraju's algorithm. Returns how many
    /// tensors were looked at on behalf of another one.
    fn group(&mut self, readers: &[Vec<usize>]) -> usize {
        let (count, mut looks) = (self.rules.len(), 0);
        let reader = |tensor: usize, at: usize| {
            let reader = *readers[tensor].get(at)?;
            // what is zero depends on nothing
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
                        if let Some(next) = next.filter(|&next| !std::mem::replace(&mut seen[next], true)) {
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
                    let sources = self.rules[tensor].1.iter().filter_map(|&source| self.tensor(source));
                    open.extend(sources.filter(|&source| groups[source] == usize::MAX));
                }
            }
        }
        self.groups = groups;
        looks
    }
}

fn capped(rule: Rule, change: Change) -> Change {
    if rule == Rule::Assigned { change.min(Change::Variables) } else { change }
}
