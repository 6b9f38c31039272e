//! The error for a format without a reader in this build.

use crate::diagnostic::{Diagnostic, Diagnostics, Origin};

/// The error with the name of the missing feature.
pub(super) fn absent(feature: &str) -> Diagnostics {
    let help = format!("add it to the features of cellc in Cargo.toml: features = [\"{feature}\"]");
    refuse(&format!("this cellc was built without its feature `{feature}`"), &help)
}

pub(super) fn refuse(found: &str, help: &str) -> Diagnostics {
    Diagnostics(vec![Diagnostic::error(Origin::Unknown, found).help(help)])
}
