//! Features without a spelling in C for compilers without extensions.

use super::checker::Checker;
use crate::diagnostic::{Diagnostic, Origin};
use crate::request::{Threads, WeightsAs};

impl Checker<'_> {
    /// Refuses, for targets with C alone, features without a spelling in C.
    pub(crate) fn language_alone(&mut self) {
        if !self.options.c_only() {
            return;
        }
        let target = self.options.machine.target.name;
        let mut refuse = |found: String, valid: &str, help: &str| {
            self.diagnostics
                .push(Diagnostic::error(Origin::Unknown, found).valid(valid).help(help));
        };
        if self.options.output.weights_as == WeightsAs::File {
            refuse(
                format!(
                    "weights in a file of their own: C11, which is all that the target {target} \
                     uses, cannot take in a file"
                ),
                "weights in the source",
                "leave out where the weights are, or choose another target",
            );
        }
        if self.options.machine.threads == Threads::Two {
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
}
