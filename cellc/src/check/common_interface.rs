//! Checks for the table of functions shared by all models.

use std::path::Path;

use crate::core::CoreModel;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::request::Options;

/// Refuses models without a function in the table, and names unfit for an `#include`.
pub(crate) fn common_interface(options: &Options, core: &CoreModel, diagnostics: &mut Diagnostics) {
    let Some(path) = &options.output.interface else { return };
    let mut problems = Vec::new();
    let mut refuse = |found: String, valid: &str, help: &str| {
        problems.push(Diagnostic::error(Origin::Unknown, found).valid(valid).help(help));
    };
    if !is_header(path) {
        let name = quoted(&path.file_name().unwrap_or_default().to_string_lossy());
        let valid = "a name of letters of ASCII, digits, _, - and . that ends in .h";
        refuse(
            format!("the file of the common interface cannot be called {name}"),
            valid,
            "choose another name: cellc_model.h",
        );
    }
    let weights: Vec<_> = core.parameters.iter().filter(|parameter| parameter.weight).collect();
    if let Some(first) = weights.first() {
        let name = quoted(first.names.first().map_or("", String::as_str));
        let found =
            format!("the common interface cannot give weights at run time, as {name} is given");
        refuse(
            found,
            "constant weights",
            "make the weights constants of the model, or call the functions of its own header",
        );
    }
    problems.into_iter().for_each(|problem| diagnostics.push(problem));
}

/// Whether C can include a file of this name everywhere.
fn is_header(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(".h").unwrap_or_default();
    !stem.is_empty()
        && name.len() <= 200
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}
