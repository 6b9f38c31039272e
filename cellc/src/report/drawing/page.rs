//! A page for browsers: the graph with zoom and search, and all that the report says about a box
//! under the pointer.

use super::svg::escape;
use super::{Picture, complete, picture};
use crate::report::Report;
use crate::report::words::{grouped, visible};

/// A page in one file, without network access. Unlike the picture of `--svg`, the page describes
/// every kernel.
pub fn page(report: &Report) -> String {
    let overview = picture(report);
    let mut pictures = vec![overview.svg];
    let complete = if overview.is_complete { None } else { complete(report) };
    let mut choice = "";
    if let Some(Picture { svg, .. }) = complete {
        pictures.push(svg);
        choice = "<select id=\"choice\" aria-label=\"Picture\">\
                  <option value=\"0\">overview</option>\
                  <option value=\"1\">every kernel</option></select>\n";
    }
    let totals = &report.totals;
    let summary = format!(
        "{}: {} multiply-adds a step, {} bytes of weights, {} of state",
        report.isa,
        grouped(totals.multiply_adds),
        grouped(totals.weight_bytes),
        grouped(totals.state_bytes)
    );
    // "<" would end the element of a script
    let json = serde_json::to_string(report).expect("keys are text").replace('<', "\\u003c");
    let parts = [
        ("TITLE", escape(&visible(&report.model))),
        ("SUMMARY", escape(&summary)),
        ("STYLE", include_str!("page.css").to_owned()),
        ("CHOICE", choice.to_owned()),
        ("PICTURES", pictures.concat()),
        ("REPORT", json),
        ("SCRIPT", include_str!("page.js").to_owned()),
    ];
    let mut page = String::new();
    let mut rest = include_str!("page.html");
    while let Some((before, behind)) = rest.split_once('$') {
        page.push_str(before);
        let (name, text) = parts
            .iter()
            .find(|(name, _)| behind.starts_with(name))
            .expect("the template names its parts");
        page.push_str(text);
        rest = &behind[name.len()..];
    }
    page + rest
}
