//! Detection of instruction sets, by the compiler or at run time.

/// Detection of an instruction set by generated code.
#[derive(Clone, Copy, Debug)]
pub enum Detection {
    /// Every machine of the target has the instruction set.
    Baseline,
    /// The compiler decides: the last instruction set whose condition holds replaces the baseline.
    Compiling(Condition),
    /// The program asks the processor, if the condition holds.
    Running(Condition, Question),
}

/// A condition on the machine for which a compiler compiles. Empty for a language without such a
/// condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition for the C preprocessor.
    pub c: &'static str,
    /// The condition for Rust's `cfg`.
    pub rust: &'static str,
}

#[cfg(feature = "builder")]
impl Condition {
    /// True if the preprocessor's condition has several terms.
    pub(crate) fn has_terms(self) -> bool {
        self.c.contains("&&") || self.c.contains("||")
    }
}

/// The run-time question for an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The part shared by all instruction sets of the architecture.
    pub processor: &'static Processor,
    /// C: the condition.
    pub c: &'static str,
    /// Rust: the condition.
    pub rust: &'static str,
    /// Rust: helper functions of the condition.
    pub rust_functions: &'static str,
}

/// Run-time detection of the instruction sets of one architecture.
#[derive(Debug)]
pub struct Processor {
    /// C: the header file that `c` needs.
    pub c_header: &'static str,
    /// C: a function that returns a bit for each instruction set of the machine. PREFIX is replaced
    /// by the prefix of the file, CONDITION by the condition under which the program asks the
    /// processor, BASELINE by the baseline's enumerator, and the line SETS by a statement for each
    /// question.
    pub c: &'static str,
    /// C: the value of FEATURES in questions, in files without and with binary16 weights.
    pub c_features: [&'static str; 2],
    /// Rust: helper functions of the questions.
    pub rust: &'static str,
}
