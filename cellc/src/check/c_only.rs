//! Features without a spelling in C for compilers without extensions.

use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::request::{Options, Threads, WeightsAs};

/// Refuses features that C does not have, for targets and compilers that take C alone.
pub(crate) fn c_only(options: &Options, diagnostics: &mut Diagnostics) {
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
