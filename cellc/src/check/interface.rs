//! The names of inputs and outputs.

use crate::diagnostic::quoted;
use crate::model::{Model, is_made_up};

/// The longest kept name, in characters, and the most names of one input or output: many outputs
/// may share them.
const LONGEST_NAME: usize = 200;
const MOST_NAMES: usize = 4;

/// The names of a Parameter: the names of the tensor, then of the node.
pub(crate) fn parameter_names(model: &Model, node: usize) -> Vec<String> {
    let node = &model.nodes[node];
    names(&[&model.values[node.outputs[0].0].names], &node.name)
}

/// The names of a tensor, then the name of its layer, without repetitions and empty names.
pub(crate) fn names(tensor_names: &[&[String]], layer: &str) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut add = |name: &str, most: usize| {
        let name = cut(name);
        if !name.is_empty() && kept.len() < most && !kept.iter().any(|k| k == name) {
            kept.push(name.to_owned());
        }
    };
    tensor_names
        .iter()
        .flat_map(|list| list.iter().take(MOST_NAMES))
        .for_each(|name| add(name, MOST_NAMES));
    add(layer, MOST_NAMES + 1);
    kept
}

fn cut(name: &str) -> &str {
    name.char_indices().nth(LONGEST_NAME).map_or(name, |(end, _)| &name[..end])
}

/// The input or output called `name`. Names like `in0` and `out1` stand for unnamed ones.
pub(crate) fn find_name(all: &[Vec<String>], name: &str, fallback: &str) -> Result<usize, String> {
    let mut found = all
        .iter()
        .enumerate()
        .filter(|(_, names)| names.iter().any(|n| n == cut(name)))
        .map(|(i, _)| i);
    let what = if fallback == "in" { "input" } else { "output" };
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(_), Some(_)) => Err(format!(
            "the model has several {what}s of that name; {fallback}0, {fallback}1 ... name them by \
             place"
        )),
        (None, _) => name
            .strip_prefix(fallback)
            .and_then(|digits| digits.parse().ok())
            .filter(|&index: &usize| index < all.len() && format!("{fallback}{index}") == name)
            .ok_or_else(|| format!("the model has no {what} of that name")),
    }
}

/// The name of an input or output in messages and options, if the name is stable across exports.
pub(crate) fn name(names: &[String], fallback: &str, index: usize) -> String {
    names
        .iter()
        .find(|name| !is_made_up(name))
        .cloned()
        .unwrap_or_else(|| format!("{fallback}{index}"))
}

pub(crate) fn list_names(all: &[Vec<String>], fallback: &str) -> String {
    const LONGEST: usize = 12;
    let shown = all.iter().take(LONGEST).enumerate();
    let mut texts: Vec<String> =
        shown.map(|(index, names)| quoted(&name(names, fallback, index))).collect();
    if all.len() > LONGEST {
        texts.push(format!("and {} more", all.len() - LONGEST));
    }
    texts.join(", ")
}
