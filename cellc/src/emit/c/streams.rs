//! Independent streams in C: the state of a row, steps of active rows, steps of many states.

use super::CFile;
use crate::emit::names::{Field, Interface};
use crate::emit::signature::StepTensor;
use crate::emit::tensors;
use crate::emit::text::{List, Word};

/// The lists for independent streams; empty for other files.
pub(super) fn lists(file: &CFile<'_>) -> Vec<List> {
    let Interface { layout, variables, .. } = file.interface;
    let streams = layout.streams.unwrap_or(1);
    let zero = "0.0f".to_owned();
    let words = |field: &Field, prefix: &str, initially: String| {
        vec![
            ("FIELD_SIZE", file.size(field)),
            ("FIELD_PLACE", format!("{prefix}{}", field.name)),
            ("ROW_LEN", (field.len() / streams).to_string()),
            ("INITIALLY", initially),
            ("FIELD", field.name.clone()),
        ]
    };
    let variable = |field: &Field| match file.initial(field) {
        Some(_) => words(field, "state.", format!("initial.{}[i]", field.name)),
        None => words(field, "state.", zero.clone()),
    };
    let states = file.states().map(|(state, _)| words(state, "", zero.clone()));
    let kept = states.chain(variables.iter().map(variable)).collect();
    let many = |written: bool| {
        let tensors = file.interface.step_tensors().filter(move |tensor| tensor.written == written);
        let words = tensors.map(|StepTensor { field, .. }| {
            let row = ("FIELD_ROW_LEN", (field.len() / streams).to_string());
            [vec![row], tensors::words(field, &file.upper())].concat()
        });
        words.collect::<Vec<_>>()
    };
    match layout.streams {
        Some(_) => vec![("kept", kept), ("many inputs", many(false)), ("many outputs", many(true))],
        None => Vec::new(),
    }
}

/// The words for independent streams; empty for other files.
pub(super) fn words(file: &CFile<'_>) -> Vec<Word> {
    let Some(streams) = file.interface.layout.streams else { return Vec::new() };
    let kept = file.states().map(|(state, _)| state).chain(&file.interface.variables);
    let lens: Vec<_> = kept.map(|field| (&*field.name, field.len() / streams)).collect();
    let total: usize = lens.iter().map(|(_, len)| len).sum();
    let hash = file.state_hash(lens.into_iter()).map(|byte| format!("{byte:#04x}"));
    let arguments = |argument: &dyn Fn(&Field) -> String| -> String {
        file.interface.step_tensors().map(|tensor| argument(tensor.field)).collect()
    };
    vec![
        ("STREAM_COUNT", streams.to_string()),
        ("ROW_BYTES", (8 + 4 * total).to_string()),
        ("LAYOUT_HASH", hash.join(", ")),
        (" STREAM_NAMES", arguments(&|field| format!(", {}", field.name))),
        (" ROWS_NAMES", arguments(&|field| format!(", rows_{}", field.name))),
        (
            " MANY_ARGUMENTS",
            arguments(&|field| {
                format!(", {0} + rows_done * {1}u", field.name, field.len() / streams)
            }),
        ),
    ]
}
