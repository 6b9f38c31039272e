//! The judgement of a model: the passes with the sizes that the options give, or with one step if
//! nothing but the number of steps is open.

use super::steps;
use crate::check::subject::{Passes, Purpose, Subject};
use crate::core::CoreModel;
use crate::diagnostic::{Diagnostics, Severity};
use crate::model::Model;
use crate::request::{Options, State};

/// Runs the passes on a model. Returns the core model and the warnings.
///
/// # Errors
/// Everything that is wrong with the model, or with the options for it, warnings included.
pub(crate) fn judge(
    model: &Model,
    options: &Options,
    purpose: Purpose,
    passes: Passes,
) -> Result<(CoreModel, Diagnostics), Diagnostics> {
    let subject = Subject { model, options, purpose, passes };
    let mut judgement = subject.judged(None);
    let warnings = judgement.hints().single_steps();
    let judged = if judgement.diagnostics.has_errors() {
        // perhaps only the number of steps is missing
        let errors =
            judgement.diagnostics.0.iter().filter(|d| d.severity == Severity::Error).count();
        let is_open = errors == judgement.inputs.unknown_sizes;
        let refused = std::mem::take(&mut judgement.diagnostics);
        steps::one_step_of(subject, is_open).unwrap_or(Err(refused)).map_err(|mut diagnostics| {
            judgement.hints().advise_sizes(&mut diagnostics);
            diagnostics
        })
    } else {
        judgement.diagnostics.extend(judgement.restart_warnings);
        Ok((judgement.core, judgement.diagnostics))
    };
    let with_warnings = |mut diagnostics: Diagnostics| {
        diagnostics.0.extend(warnings);
        diagnostics
    };
    match judged {
        Ok((core, diagnostics)) => Ok((core, with_warnings(diagnostics))),
        Err(diagnostics) => Err(with_warnings(diagnostics)),
    }
}

/// The errors in a partly read model: sizes may be open, values may have no producer.
pub(crate) fn problems(model: &Model, passes: Passes) -> Diagnostics {
    let options = Options::default().with_state(State::None);
    let subject = Subject { model, options: &options, purpose: Purpose::Partial, passes };
    let mut diagnostics = subject.judged(None).diagnostics;
    diagnostics.0.retain(|d| d.severity == Severity::Error);
    diagnostics
}

impl Subject<'_> {
    /// The judgement of a hint: this model or a change of it, under other options. `None` if the
    /// purpose allows no hints.
    pub(crate) fn tried(
        self,
        model: &Model,
        options: &Options,
    ) -> Option<Result<(CoreModel, Diagnostics), Diagnostics>> {
        self.tries_hints().then(|| judge(model, options, Purpose::Trial, self.passes))
    }

    /// True if a model is right under the options of a hint.
    pub(crate) fn is_right(self, model: &Model, options: &Options) -> bool {
        self.tried(model, options).is_some_and(|judged| judged.is_ok())
    }
}
