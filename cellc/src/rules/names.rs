//! The names of inputs and outputs.

use crate::diagnostic::quoted;
use crate::model::{Model, is_made_up};

/// The longest kept name, in characters.
const LONGEST_NAME: usize = 200;
/// The most names kept of one tensor: a tensor may have many names, and several outputs may be one
/// tensor.
const MOST_NAMES: usize = 4;

/// The kind of a named tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

impl Side {
    /// The prefix of a made-up name: `in0` is the first input.
    fn prefix(self) -> &'static str {
        match self {
            Self::Input => "in",
            Self::Output => "out",
        }
    }

    /// The noun in messages.
    fn noun(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

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

/// The input or output called `name`. Made-up names such as `in0` and `out1` stand for unnamed
/// tensors.
pub(crate) fn find_name(all: &[Vec<String>], name: &str, side: Side) -> Result<usize, String> {
    let mut found = all
        .iter()
        .enumerate()
        .filter(|(_, names)| names.iter().any(|n| n == cut(name)))
        .map(|(i, _)| i);
    let (what, prefix) = (side.noun(), side.prefix());
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(_), Some(_)) => Err(format!(
            "the model has several {what}s of that name; {prefix}0, {prefix}1 ... name them by \
             place"
        )),
        (None, _) => name
            .strip_prefix(prefix)
            .and_then(|digits| digits.parse().ok())
            .filter(|&index: &usize| index < all.len() && format!("{prefix}{index}") == name)
            .ok_or_else(|| format!("the model has no {what} of that name")),
    }
}

/// The name of an input or output in messages and options: the first name that OpenVINO has not
/// made up, or else a name such as `in0` or `out1`.
pub(crate) fn name(names: &[String], side: Side, index: usize) -> String {
    names
        .iter()
        .find(|name| !is_made_up(name))
        .cloned()
        .unwrap_or_else(|| format!("{}{index}", side.prefix()))
}

/// The names of the first inputs or outputs as a list in a message.
pub(crate) fn list_names(all: &[Vec<String>], side: Side) -> String {
    const MOST_LISTED: usize = 12;
    let shown = all.iter().take(MOST_LISTED).enumerate();
    let mut texts: Vec<String> =
        shown.map(|(index, names)| quoted(&name(names, side, index))).collect();
    if all.len() > MOST_LISTED {
        texts.push(format!("and {} more", all.len() - MOST_LISTED));
    }
    texts.join(", ")
}
