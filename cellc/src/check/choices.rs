//! Checks of the list of instruction sets.

use super::checker::Checker;
use crate::diagnostic::{Diagnostic, Origin, Setting, message};

impl Checker<'_> {
    /// Refuses a list of instruction sets that names one twice, or one of another architecture.
    pub(crate) fn instruction_sets(&mut self) {
        let isas = self.options.machine.isas.as_deref().unwrap_or_default();
        if let Some((_, isa)) = isas.iter().enumerate().find(|(at, isa)| isas[..*at].contains(isa))
        {
            let found = format!("the instruction set {} is given twice", isa.name);
            let diagnostic =
                Diagnostic::error(Origin::Unknown, found).valid("each instruction set once");
            self.diagnostics.push(diagnostic.help(message!("correct {}", Setting::Isa)));
        }
        let known: Vec<_> = self.options.known_isas().collect();
        for isa in isas.iter().filter(|isa| !known.contains(isa)) {
            let (language, target) =
                (self.options.output.language, self.options.machine.target.name);
            let found =
                format!("{language:?} for the target {target} has no instruction set {}", isa.name);
            let names: Vec<_> = known.iter().map(|isa| isa.name).collect();
            let diagnostic = Diagnostic::error(Origin::Unknown, found).valid(names.join(", "));
            let help = message!("leave it out of {}", Setting::Isa);
            self.diagnostics.push(diagnostic.help(help));
        }
    }
}
