//! Rules on the options alone.

use super::common_interface;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Setting, message, quoted};
use crate::model::limits::MOST_STREAMS;
use crate::request::flag::{self, Flag};
use crate::request::{Options, Range, Threads, WeightsAs, is_size};

/// The errors of the options, whatever the model.
pub(crate) fn options(options: &Options) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    instruction_sets(options, &mut diagnostics);
    threads(options, &mut diagnostics);
    common_interface::of_options(options, &mut diagnostics);
    weights_in_a_file(options, &mut diagnostics);
    diagnostics
}

/// Refuses sizes of 0, a wrong number of streams, a batch size above 1 in addition to streams, a
/// place of the size control outside of 0 to 1, and magnitudes that are negative, infinite or NaN.
/// [`super::inputs`] checks the sizes of inputs. `None` after an error: later passes compute with
/// these numbers.
pub(crate) fn numbers(options: &Options, diagnostics: &mut Diagnostics) -> Option<()> {
    let before = diagnostics.0.len();
    let mut refuse_setting = |found: String, valid: &str, setting: Setting| {
        let problem = Diagnostic::error(Origin::Unknown, found).valid(valid);
        diagnostics.push(problem.help(message!("correct {}", setting)));
    };
    if let Some(streams) = options.bindings.streams.filter(|n| !(1..=MOST_STREAMS).contains(n)) {
        let valid = format!("1 to {MOST_STREAMS}");
        refuse_setting(format!("{streams} independent streams"), &valid, flag::streams());
    }
    let mut refuse = |found: String, valid: &str, flag: &Flag| {
        refuse_setting(found, valid, flag.setting());
    };
    let (bindings, tuning) = (&options.bindings, &options.tuning);
    let sizes = [
        ("a batch size", bindings.batch, &flag::BATCH),
        ("a largest count of iterations", bindings.max_steps, &flag::MAX_STEPS),
        ("a sample rate", bindings.sample_rate, &flag::SAMPLE_RATE),
        ("a number of panel columns", tuning.panel_columns, &flag::TUNE),
        ("a number of rows at once", tuning.rows_at_once, &flag::TUNE),
    ];
    let is_wrong = |size: Option<usize>| size.is_some_and(|size| !is_size(size));
    for (what, _, flag) in sizes.into_iter().filter(|(_, size, _)| is_wrong(*size)) {
        refuse(format!("{what} of 0"), "1 or more", flag);
    }
    if let (Some(batch @ 2..), Some(streams)) = (bindings.batch, bindings.streams) {
        let found = format!("a batch of {batch} in each of {streams} independent streams");
        refuse(found, "a batch size, or a number of streams", &flag::BATCH);
    }
    for (name, _) in bindings.dims.iter().filter(|(_, size)| is_wrong(*size)) {
        let found = format!("a size of 0 for the dimension {}", quoted(name));
        refuse(found, "1 or more", &flag::DIM);
    }
    if let Some(size) = bindings.size.filter(|size| !size.is_legal()) {
        let valid = "largest, smallest, or a number from 0 to 1";
        refuse(format!("the size {}", size.text()), valid, &flag::SIZE);
    }
    let Range { x, h } = options.numerics.range;
    for (role, magnitude) in [("inputs", x), ("states", h)] {
        if !Range::is_magnitude(magnitude) {
            let found = format!("a range of {role} up to {magnitude}");
            refuse(found, Range::MAGNITUDE, &flag::RANGE);
        }
    }
    (diagnostics.0.len() == before).then_some(())
}

/// Refuses a list of instruction sets with one twice, or with one that the target or the language
/// does not have.
fn instruction_sets(options: &Options, diagnostics: &mut Diagnostics) {
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

/// Refuses two threads for a target whose C has no extensions. [`super::threads`] checks
/// the cells.
fn threads(options: &Options, diagnostics: &mut Diagnostics) {
    if options.machine.threads == Threads::One || !options.c_only() {
        return;
    }
    let target = options.machine.target.name;
    let found =
        format!("two threads: they need more than C11, which is all that the target {target} uses");
    let help = "leave out the number of threads, or choose another target";
    let problem = Diagnostic::error(Origin::Unknown, found);
    diagnostics.push(problem.valid("one thread").help(help));
}

/// Refuses a file of weights for a target whose C cannot embed files.
fn weights_in_a_file(options: &Options, diagnostics: &mut Diagnostics) {
    if options.output.weights_as != WeightsAs::File || !options.c_only() {
        return;
    }
    let target = options.machine.target.name;
    let found = format!(
        "weights in a file of their own: C11, which is all that the target {target} uses, cannot \
         take in a file"
    );
    let help = "leave out where the weights are, or choose another target";
    let problem = Diagnostic::error(Origin::Unknown, found);
    diagnostics.push(problem.valid("weights in the source").help(help));
}
