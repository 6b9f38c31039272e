//! Checks of the list of instruction sets.

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, message};
use crate::request::Options;
use crate::request::flag;

/// Refuses a list of instruction sets that names one twice, or one of another architecture.
pub(crate) fn instruction_sets(options: &Options, diagnostics: &mut Diagnostics) {
    let isas = options.machine.isas.as_deref().unwrap_or_default();
    if let Some((_, isa)) = isas.iter().enumerate().find(|(at, isa)| isas[..*at].contains(isa)) {
        let found = format!("the instruction set {} is given twice", isa.name);
        let diagnostic =
            Diagnostic::error(Origin::Unknown, found).valid("each instruction set once");
        diagnostics.push(diagnostic.help(message!("correct {}", flag::ISA.setting())));
    }
    let known: Vec<_> = options.known_isas().collect();
    for isa in isas.iter().filter(|isa| !known.contains(isa)) {
        let (language, target) = (options.output.language, options.machine.target.name);
        let found =
            format!("{language:?} for the target {target} has no instruction set {}", isa.name);
        let names: Vec<_> = known.iter().map(|isa| isa.name).collect();
        let diagnostic = Diagnostic::error(Origin::Unknown, found).valid(names.join(", "));
        let help = message!("leave it out of {}", flag::ISA.setting());
        diagnostics.push(diagnostic.help(help));
    }
}
