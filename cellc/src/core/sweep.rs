//! Removes operations, values and constants without effect on Results and variables, and renumbers
//! the rest.

use super::{
    CoreModel, CoreNode, CoreOp, Reference, Source, WeightSource, needed, visit_references,
};

/// Removes every operation, value and constant without effect on Results and variables.
pub(crate) fn sweep(model: &mut CoreModel) {
    let needed = needed(model);
    let nodes = std::mem::take(&mut model.nodes);
    model.nodes = prune(nodes, &needed);
    renumber(model, &needed);
}

fn prune(nodes: Vec<CoreNode>, needed: &[bool]) -> Vec<CoreNode> {
    let mut kept = Vec::new();
    for mut node in nodes {
        if !node.op.outputs().iter().any(|&value| needed[value]) {
            continue;
        }
        node.op.drop_outputs(needed);
        if let CoreOp::Loop(body) = &mut node.op {
            body.body = prune(std::mem::take(&mut body.body), needed);
        }
        kept.push(node);
    }
    kept
}

/// New indices of values and constants, by old index.
struct Renumbering {
    values: Vec<usize>,
    constants: Vec<usize>,
}

impl Renumbering {
    fn source(&self, source: &mut Source) {
        match source {
            Source::Value(value) => *value = self.values[*value],
            Source::Constant(constant) => *constant = self.constants[*constant],
            Source::Parameter(_) | Source::Variable(_) => {}
        }
    }

    fn weight(&self, weight: &mut WeightSource) {
        if let WeightSource::Constant(constant) = weight {
            *constant = self.constants[*constant];
        }
    }
}

fn renumber(model: &mut CoreModel, needed: &[bool]) {
    let mut read = vec![false; model.constants.len()];
    visit_references(&mut model.nodes, &mut |reference| match reference {
        Reference::Source(Source::Constant(i)) | Reference::Weight(WeightSource::Constant(i)) => {
            read[*i] = true
        }
        Reference::Constant(constant) => read[constant.0] = true,
        _ => {}
    });
    let sources = model
        .results
        .iter()
        .map(|result| result.source)
        .chain(model.variables.iter().filter_map(|v| v.next));
    for source in sources {
        if let Source::Constant(i) = source {
            read[i] = true;
        }
    }
    model.variables.iter().filter_map(|variable| variable.initial).for_each(|i| read[i] = true);
    let numbers = Renumbering { values: numbers(needed), constants: numbers(&read) };
    visit_references(&mut model.nodes, &mut |reference| match reference {
        Reference::Source(source) => numbers.source(source),
        Reference::Weight(weight) => numbers.weight(weight),
        Reference::Constant(constant) => constant.0 = numbers.constants[constant.0],
        Reference::Value(value) => *value = numbers.values[*value],
    });
    for result in &mut model.results {
        numbers.source(&mut result.source);
    }
    for variable in &mut model.variables {
        variable.next.iter_mut().for_each(|next| numbers.source(next));
        variable.initial.iter_mut().for_each(|i| *i = numbers.constants[*i]);
    }
    let mut at = 0..;
    model.values.retain(|_| at.next().is_some_and(|i: usize| needed[i]));
    let mut at = 0..;
    model.constants.retain(|_| at.next().is_some_and(|i: usize| read[i]));
}

/// New indices, by old index: the number of kept elements in front of the old index.
fn numbers(kept: &[bool]) -> Vec<usize> {
    let mut next = 0;
    let number = |&kept: &bool| {
        let number = next;
        next += usize::from(kept);
        number
    };
    kept.iter().map(number).collect()
}
