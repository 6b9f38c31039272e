//! The report for tools.

use crate::report::Report;

/// The report as JSON: its keys are the fields of [`Report`] and what it holds.
pub(super) fn text(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("names are text, numbers are finite");
    text.push('\n');
    text
}
