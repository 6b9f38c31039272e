//! What inputs and outputs are called, and which of them are states.

use std::collections::HashMap;

use super::Validation;
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::model::{Source, StatePair};
use crate::options::State;

impl Validation<'_> {
    pub(super) fn states(&mut self) {
        match &self.options.state {
            State::None => {}
            State::Auto => self.valid.states = self.automatic_states(),
            State::Pairs(pairs) => self.valid.states = self.given_states(pairs),
        }
    }

    /// Parameters that serve only as the initial state of one cell whose new state goes to one Result.
    fn automatic_states(&self) -> Vec<StatePair> {
        let mut results: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, result) in self.valid.results.iter().enumerate() {
            if let Source::Value(value) = result.source {
                results.entry(value).or_default().push(index);
            }
        }
        let mut pairs = Vec::new();
        for (parameter, uses) in self.uses.iter().enumerate() {
            let Some((cell, place)) = uses.initial_state_of.filter(|_| uses.weight.is_none() && uses.data_reads == 1)
            else {
                continue;
            };
            // a state and the new one have the same shape
            let new = self.new_states.get(&cell).and_then(|new| new[place]);
            if let Some([result]) = new.and_then(|value| results.get(&value)).map(Vec::as_slice) {
                pairs.push(StatePair { parameter, result: *result });
            }
        }
        pairs
    }

    fn given_states(&mut self, pairs: &[(String, String)]) -> Vec<StatePair> {
        let inputs: Vec<Vec<String>> = self.valid.parameters.iter().map(|p| p.names.clone()).collect();
        let outputs: Vec<Vec<String>> = self.valid.results.iter().map(|r| r.names.clone()).collect();
        let mut states: Vec<StatePair> = Vec::new();
        for (input, output) in pairs {
            let text = format!("{}={}", quoted(input), quoted(output));
            let mut refuse = |found: String, valid: String| {
                let diagnostic = Diagnostic::error(Origin::Unknown, format!("the state {text}: {found}"));
                self.diagnostics.push(diagnostic.valid(valid).help("correct --state"));
            };
            let parameter = find_name(&inputs, input, "in")
                .map_err(|problem| refuse(problem, format!("the inputs of the model: {}", list_names(&inputs))));
            let result = find_name(&outputs, output, "out")
                .map_err(|problem| refuse(problem, format!("the outputs of the model: {}", list_names(&outputs))));
            let (Ok(parameter), Ok(result)) = (parameter, result) else { continue };
            let (p, r) = (&self.valid.parameters[parameter], &self.valid.results[result]);
            if p.weight || p.length.is_some() {
                let what = if p.weight { "W, R or B of a cell" } else { "lengths of a sequence" };
                refuse(format!("the input is {what}"), "an input that is not".to_owned());
            } else if p.shape != r.shape {
                let found = format!("the input has the shape {:?}, the output {:?}", p.shape, r.shape);
                refuse(found, "an input and an output of the same shape".to_owned());
            } else if states.iter().any(|s| s.parameter == parameter || s.result == result) {
                refuse("its input or its output is in another pair".to_owned(), "each in one pair".to_owned());
            } else {
                states.push(StatePair { parameter, result });
            }
        }
        states
    }
}

/// The longest name that is kept, in characters, and the most names of one input or output: many outputs may share them.
const LONGEST_NAME: usize = 200;
const MOST_NAMES: usize = 4;

/// Tensor names, then the layer's; each once, none empty.
pub(super) fn names(tensor_names: &[&[String]], layer: &str) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut add = |name: &str, most: usize| {
        let name = cut(name);
        if !name.is_empty() && kept.len() < most && !kept.iter().any(|k| k == name) {
            kept.push(name.to_owned());
        }
    };
    tensor_names.iter().flat_map(|list| list.iter().take(MOST_NAMES)).for_each(|name| add(name, MOST_NAMES));
    add(layer, MOST_NAMES + 1);
    kept
}

fn cut(name: &str) -> &str {
    name.char_indices().nth(LONGEST_NAME).map_or(name, |(end, _)| &name[..end])
}

/// The input or output that is called `name`; `in0`, `out1` ... name those that nothing else is called so.
pub(super) fn find_name(all: &[Vec<String>], name: &str, fallback: &str) -> Result<usize, String> {
    let mut found = all.iter().enumerate().filter(|(_, names)| names.iter().any(|n| n == cut(name))).map(|(i, _)| i);
    let what = if fallback == "in" { "input" } else { "output" };
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(_), Some(_)) => {
            Err(format!("the model has several {what}s of that name; {fallback}0, {fallback}1 ... name them by place"))
        }
        (None, _) => name
            .strip_prefix(fallback)
            .and_then(|digits| digits.parse().ok())
            .filter(|&index: &usize| index < all.len() && format!("{fallback}{index}") == name)
            .ok_or_else(|| format!("the model has no {what} of that name")),
    }
}

pub(super) fn list_names(all: &[Vec<String>]) -> String {
    const LONGEST: usize = 12;
    let mut texts: Vec<String> =
        all.iter().take(LONGEST).map(|names| quoted(names.first().map_or("", String::as_str))).collect();
    if all.len() > LONGEST {
        texts.push(format!("and {} more", all.len() - LONGEST));
    }
    texts.join(", ")
}
