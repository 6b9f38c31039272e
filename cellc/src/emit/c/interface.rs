//! The common interface: a table of functions, independent of the model.

use super::CFile;
use crate::emit::signature::StepTensor;
use crate::emit::tensors;
use crate::emit::text::{List, Word, when};

/// The header that all models share.
pub(crate) const FILE: &str = include_str!("text/cellc_model.h");

/// The version of the interface, part of the header.
const NUMBER: &str = "1";

/// The name of the header. `None` without the option for the interface.
fn common_file<'a>(file: &'a CFile<'_>) -> Option<&'a str> {
    file.options.output.interface.as_deref().and_then(|path| path.file_name()?.to_str())
}

/// The lists for the texts of the interface.
pub(super) fn lists(file: &CFile<'_>) -> Vec<List> {
    let interface = file.interface;
    let open = interface.steps.is_some();
    let calls_by = |is_written: bool| {
        let tensors = interface.step_tensors().filter(|tensor| tensor.written == is_written);
        let words = |(at, StepTensor { field, each_step, .. }): (usize, StepTensor<'_>)| {
            // each call is one step, unless the number of steps is open
            let each = u8::from(!open || each_step).to_string();
            let step_words = [("EACH_STEP", each), ("AT", at.to_string())];
            [tensors::words(field, &file.upper()), step_words.to_vec()].concat()
        };
        tensors.enumerate().map(words).collect::<Vec<_>>()
    };
    vec![
        when("common", common_file(file).is_some()),
        ("read", calls_by(false)),
        ("written", calls_by(true)),
    ]
}

/// The words for the texts of the interface.
pub(super) fn words(file: &CFile<'_>) -> Vec<Word> {
    let interface = file.interface;
    let (inputs, outputs) = (interface.step_inputs().count(), interface.outputs.len());
    let pointers = |list: &str, count: usize| {
        (0..count).map(|at| format!(", {list}[{at}]")).collect::<String>()
    };
    let mut counts = [0, 0];
    let advancing = interface.step_tensors().map(|StepTensor { field, written, .. }| {
        let (list, at) = (if written { "output" } else { "input" }, counts[usize::from(written)]);
        counts[usize::from(written)] += 1;
        format!(", {list}_{at} + i * {}", file.size(field))
    });
    let rate = interface.host.iter().find(|constant| constant.name == "SAMPLE_RATE");
    vec![
        (" ADVANCING", advancing.collect()),
        (" POINTERS", pointers("inputs", inputs) + &pointers("outputs", outputs)),
        ("INPUT_COUNT", inputs.to_string()),
        ("OUTPUT_COUNT", outputs.to_string()),
        ("IN_PLACE", interface.in_place.map_or("-1".to_owned(), |pair| pair.output.to_string())),
        ("SAMPLE_RATE", rate.map_or("0.0".to_owned(), |rate| rate.value.clone())),
        ("COMMON_FILE", common_file(file).unwrap_or_default().to_owned()),
        ("COMMON_NUMBER", NUMBER.to_owned()),
    ]
}

/// The table, and its functions with common types.
pub(super) fn source(file: &CFile<'_>) -> String {
    match common_file(file) {
        None => String::new(),
        Some(_) => file.item(include_str!("text/interface.c"), "source"),
    }
}
