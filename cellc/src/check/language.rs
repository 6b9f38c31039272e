//! Options that the output's language does not have.

use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::request::{Language, Options, Threads, WeightsAs};

/// Refuses options of the other language, and extensions of C for targets without them.
pub(crate) fn language(options: &Options, diagnostics: &mut Diagnostics) {
    let mut refuse = |found: &str, valid: &str, help: &str| {
        diagnostics.push(Diagnostic::error(Origin::Unknown, found).valid(valid).help(help));
    };
    if options.output.interface.is_some() && options.output.language != Language::C {
        refuse(
            "the common interface is asked for, and the output is not C",
            "C",
            "generate C, or use the trait `Cell` of cellc-runtime, which is common to all models \
             in Rust",
        );
    }
    c11_alone(options, diagnostics);
}

/// Refuses what needs extensions of C11, for targets whose files have none.
fn c11_alone(options: &Options, diagnostics: &mut Diagnostics) {
    if !options.c_only() {
        return;
    }
    let target = options.machine.target.name;
    let mut refuse = |found: String, valid: &str, help: &str| {
        diagnostics.push(Diagnostic::error(Origin::Unknown, found).valid(valid).help(help));
    };
    if options.output.weights_as == WeightsAs::File {
        refuse(
            format!(
                "weights in a file of their own: C11, which is all that the target {target} \
                 uses, cannot take in a file"
            ),
            "weights in the source",
            "leave out where the weights are, or choose another target",
        );
    }
    if options.machine.threads == Threads::Two {
        refuse(
            format!(
                "two threads: they need more than C11, which is all that the target {target} \
                 uses"
            ),
            "one thread",
            "leave out the number of threads, or choose another target",
        );
    }
}
