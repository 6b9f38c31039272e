//! Rules for the common interface: a table of functions with one type for all models.

use std::path::Path;

use crate::core::CoreModel;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::request::{Language, Options, Threads, WeightsAs};

/// If the common interface is asked for: refuses languages other than C, weights loaded at run
/// time, two threads, and file names unfit for an `#include`.
pub(super) fn of_options(options: &Options, diagnostics: &mut Diagnostics) {
    let Some(path) = &options.output.interface else { return };
    let mut refuse = |found: String, valid: &str, help: &str| {
        diagnostics.push(Diagnostic::error(Origin::Unknown, found).valid(valid).help(help));
    };
    if options.output.language != Language::C {
        refuse(
            "the common interface is asked for, and the output is not C".to_owned(),
            "C",
            "generate C, or use the trait `Cell` of cellc-runtime, which is common to all models \
             in Rust",
        );
    }
    if options.output.weights_as == WeightsAs::RunTime {
        refuse(
            "the common interface cannot load weights at run time".to_owned(),
            "weights in the source or in a file beside it",
            "compile each model, or call the functions of the model's own header",
        );
    }
    if options.machine.threads == Threads::Two {
        refuse(
            "the common interface cannot give a step the pool of a second thread".to_owned(),
            "one thread",
            "leave out the number of threads, or call the functions of the model's own header",
        );
    }
    if !is_header(path) {
        let name = quoted(&path.file_name().unwrap_or_default().to_string_lossy());
        let valid = "a name of letters of ASCII, digits, _, - and . that ends in .h";
        refuse(
            format!("the file of the common interface cannot be called {name}"),
            valid,
            "choose another name: cellc_model.h",
        );
    }
}

/// If the common interface is asked for: refuses models with weights as inputs, as the table has no
/// function that takes weights.
pub(crate) fn common_interface(options: &Options, core: &CoreModel, diagnostics: &mut Diagnostics) {
    let weight = core.parameters.iter().find(|parameter| parameter.weight);
    let Some(first) = weight.filter(|_| options.output.interface.is_some()) else { return };
    let name = quoted(first.names.first().map_or("", String::as_str));
    let found = format!("the common interface cannot give weights at run time, as {name} is given");
    let help = "make the weights constants of the model, or call the functions of its own header";
    let problem = Diagnostic::error(Origin::Unknown, found);
    diagnostics.push(problem.valid("constant weights").help(help));
}

/// True if C can include a file of this name on every system.
fn is_header(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(".h").unwrap_or_default();
    !stem.is_empty()
        && name.len() <= 200
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}
