//! The user's sizes for named dimensions of a file.

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, message, quoted};
use crate::model::Model;
use crate::request::flag;
use crate::request::{NamedSize, size_text};

/// Refuses sizes for names that no input has for a dimension, and two sizes for one name.
pub(super) fn check(model: &Model, dims: &[NamedSize]) -> Diagnostics {
    let mut problems = Diagnostics::default();
    let option = flag::DIM.setting();
    for (at, (name, size)) in dims.iter().enumerate() {
        let shown = quoted(name);
        if let Some((_, other)) = dims[..at].iter().find(|(earlier, _)| earlier == name) {
            let (other, size) = (size_text(*other), size_text(*size));
            let found = message!("{} gives {} two sizes, {} and {}", option, shown, other, size);
            problems.push(
                Diagnostic::error(Origin::Unknown, found).valid("one size for each dimension"),
            );
        } else if !model.dimensions.contains(name) {
            let found = message!("{} names {}, which no input has for a dimension", option, shown);
            let names: Vec<_> = model.dimensions.iter().map(|name| quoted(name)).collect();
            let problem = Diagnostic::error(Origin::Unknown, found);
            problems.push(match &names[..] {
                [] => problem.help(message!(
                    "leave {} out: the file names no dimension of its inputs",
                    option
                )),
                names => problem.valid(names.join(", ")).help(message!("correct {}", option)),
            });
        }
    }
    problems
}
