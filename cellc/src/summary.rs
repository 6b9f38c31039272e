//! The summary of a model, a line for each cell.

use std::fmt::Write;

use crate::core::{CoreCell, CoreModel, Lengths};
use crate::model::{LedgerEntry, SAMPLE_RATE_KEYS, counted};
use crate::request::Options;

/// A line for each cell, the sample rate and the levels of an amplifier, and the treatment of
/// denormals.
pub(crate) fn lines(model: &CoreModel, options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    for (node, cell) in model.cell_nodes() {
        lines.push(format!("{}.", title(&node.name, cell, model.steps.is_some())));
    }
    if lines.is_empty() {
        lines.push("A model without cells.".to_string());
    }
    lines.extend(rate_and_levels(model));
    lines.push(denormals(options).to_string());
    lines
}

/// The sample rate and the levels in the file of an amplifier, under the file's keys, and the
/// sample rate of the code if the user has chosen another one.
fn rate_and_levels(model: &CoreModel) -> impl Iterator<Item = String> {
    let of_host = |entry: &&LedgerEntry| {
        let key = &entry.attribute[..];
        SAMPLE_RATE_KEYS.contains(&key) || key.starts_with("metadata.")
    };
    let nodes = model.all_nodes();
    let ledger = nodes.iter().flat_map(|node| &node.ledger);
    let mut texts: Vec<String> = Vec::new();
    for entry in ledger.filter(of_host) {
        let Some(given) = &entry.text else { continue };
        let text = escape(&format!("{} {given}", entry.attribute));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let file = (!texts.is_empty()).then(|| format!("The model's file says: {}.", texts.join(", ")));
    let code = model.code_rate.map(|rate| format!("The sample rate of this code is {rate} Hz."));
    file.into_iter().chain(code)
}

/// The treatment of denormals.
pub(crate) fn denormals(options: &Options) -> &'static str {
    match options.numerics.keep_denormals {
        true => "Denormals are kept.",
        false => "Inputs, states and outputs below 2^-100 in magnitude become 0.",
    }
}

/// A cell in one line. `name`: the layer's name. `open`: true if every call gives the number of
/// steps.
pub(crate) fn title(name: &str, cell: &CoreCell, open: bool) -> String {
    let CoreCell { batch, input_size, hidden_size, .. } = cell;
    let family = cell.kind.family().name().to_uppercase();
    let name = match name {
        "" => String::new(),
        name => format!(" \"{}\"", escape(name)),
    };
    let (form, steps) = match &cell.sequence {
        None if open => ("sequence", ", one step at a time".to_string()),
        None => ("cell", String::new()),
        Some(sequence) => {
            let direction = if sequence.reverse { ", in reverse" } else { "" };
            let lengths = match &sequence.lengths {
                Lengths::Full => "",
                Lengths::Constant(_) => ", lengths of the model",
                Lengths::Parameter(_) => ", lengths given at every call",
                Lengths::Computed(_) => ", lengths computed at every call",
            };
            (
                "sequence",
                format!(
                    ", {} at every call{direction}{lengths}",
                    counted(sequence.steps, "time step")
                ),
            )
        }
    };
    let sizes = format!("batch {batch}, input_size {input_size}, hidden_size {hidden_size}");
    format!("{family} {form}{name}{steps}, {sizes}")
}

/// Text of the input as it may stand in a comment: printable ASCII, not long, without comment
/// signs.
pub(crate) fn escape(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            out.push_str("...");
            break;
        }
        match c {
            '\\' => out.push_str("\\\\"),
            // stars and question marks are escaped: they could end a comment or begin a trigraph
            c if c.is_ascii_alphanumeric() || " _-/.,:;=()[]{}+<>#%&@!'|~^$".contains(c) => {
                out.push(c)
            }
            c => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_readable_and_end_no_comment() {
        let torch = "__module.r/aten::gru/GRUSequence";
        assert_eq!(escape(torch), torch);
        assert_eq!(escape("a*/b\n??/"), "a\\u{2a}/b\\u{a}\\u{3f}\\u{3f}/");
    }
}
