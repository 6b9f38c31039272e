//! The report as JSON.

use serde::Serialize;

use crate::cli::arguments::CheckArguments;
use crate::request::Language;

use super::compared::Compared;
use super::inputs::Source;
use super::print::inputs;
use super::table::Table;
use super::{Checked, too_far};

#[derive(Serialize)]
struct Report<'a> {
    model: String,
    language: &'static str,
    inputs: String,
    steps: usize,
    /// True if no error exceeds its bound or `--max-error`.
    passed: bool,
    /// Outputs with a largest error above `--max-error`.
    above_max_error: Vec<TooFar<'a>>,
    precisions: Vec<OfPrecision<'a>>,
}

#[derive(Serialize)]
struct TooFar<'a> {
    precision: &'static str,
    output: &'a str,
    error: f64,
}

#[derive(Serialize)]
struct OfPrecision<'a> {
    precision: &'static str,
    isa: &'a str,
    fused_multiply_add: bool,
    flash_bytes: u64,
    flash_has_code: bool,
    instructions: Option<u64>,
    outputs: Vec<Output<'a>>,
}

/// An output, or a variable after a step.
#[derive(Serialize)]
struct Output<'a> {
    name: &'a str,
    shape: &'a [usize],
    largest_value: f64,
    one_step: OneStep,
    all_steps: AllSteps,
    recording: Option<Recorded>,
}

#[derive(Serialize)]
struct OneStep {
    error: f64,
    /// The bound of the value with the largest error; `None` if the bound is useless.
    bound: Option<f64>,
    no_useful_bound: Option<String>,
    values_beyond_bound: usize,
}

/// Errors over all steps. NaN and infinite numbers become `null`.
#[derive(Serialize)]
struct AllSteps {
    error: f64,
    rms: f64,
    snr_db: f64,
}

#[derive(Serialize)]
struct Recorded {
    error: f64,
    rms: f64,
    snr_db: f64,
    cosine: f64,
    rows: usize,
    arg_max_differs: usize,
    elements: usize,
    threshold_differs: Option<usize>,
}

/// The report of all precisions.
pub(super) fn text(arguments: &CheckArguments, source: &Source, all: &[Checked]) -> String {
    let far = too_far(all, arguments);
    let report = Report {
        model: arguments.model.shown(),
        language: match arguments.execute.language() {
            Language::Rust => "rust",
            Language::C => "c",
        },
        inputs: all.first().map_or_else(String::new, |one| inputs(source, &one.compilation.model)),
        steps: all.first().map_or(0, |checked| checked.steps),
        passed: far.is_empty() && !all.iter().any(Checked::is_broken),
        above_max_error: far
            .iter()
            .map(|far| TooFar {
                precision: far.precision.name(),
                output: far.output,
                error: far.error,
            })
            .collect(),
        precisions: all.iter().map(|checked| precision(arguments, checked)).collect(),
    };
    crate::cli::json::text(&report)
}

fn precision<'a>(arguments: &CheckArguments, checked: &'a Checked) -> OfPrecision<'a> {
    let interface = &checked.compilation.interface;
    let fields = interface.outputs.iter().chain(&interface.variables);
    OfPrecision {
        precision: checked.precision.name(),
        isa: &checked.isa,
        fused_multiply_add: checked.fused,
        flash_bytes: checked.costs.flash,
        flash_has_code: checked.costs.with_code,
        instructions: checked.costs.instructions,
        outputs: fields
            .zip(&checked.tables)
            .map(|(field, table)| Output {
                name: &field.name,
                shape: &field.shape,
                largest_value: table.largest(),
                one_step: one_step(table),
                all_steps: AllSteps {
                    error: table.own_state.error,
                    rms: table.own_state.rms(),
                    snr_db: table.own_state.snr(),
                },
                recording: table.recording.as_ref().map(|compared| recorded(arguments, compared)),
            })
            .collect(),
    }
}

fn one_step(table: &Table) -> OneStep {
    let useless = table.useless();
    OneStep {
        error: table.error,
        bound: useless.is_none().then_some(table.bound),
        no_useful_bound: useless.map(|why| why.to_string()),
        values_beyond_bound: table.broken,
    }
}

fn recorded(arguments: &CheckArguments, compared: &Compared) -> Recorded {
    Recorded {
        error: compared.error,
        rms: compared.rms(),
        snr_db: compared.snr(),
        cosine: compared.cosine(),
        rows: compared.rows,
        arg_max_differs: compared.other_places,
        elements: compared.elements,
        threshold_differs: arguments.threshold.map(|_| compared.other_sides),
    }
}
