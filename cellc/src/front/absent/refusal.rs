//! The refusal of a format whose reader the build leaves out.

use crate::diagnostic::{Diagnostic, Diagnostics, Origin};

/// Names the feature that reads the format.
pub(super) fn absent(feature: &str) -> Diagnostics {
    let help = format!("add it to the features of cellc in Cargo.toml: features = [\"{feature}\"]");
    refuse(&format!("this cellc was built without its feature `{feature}`"), &help)
}

pub(super) fn refuse(found: &str, help: &str) -> Diagnostics {
    Diagnostics(vec![Diagnostic::error(Origin::Unknown, found).help(help)])
}
