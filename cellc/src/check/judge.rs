//! The judgement of a model: the passes with the sizes that the options give, or with one step if
//! nothing but the number of steps is open.

use super::findings::{InputSizes, StepFacts};
use super::hints::Hints;
use super::interface::{self, parameter_names};
use super::steps;
use crate::core::CoreModel;
use crate::diagnostic::{Diagnostics, Severity};
use crate::model::Model;
use crate::request::{Options, State};

/// Every check and pass of a model whose sizes are given, in order. `None`: a pass has reported why
/// the next ones have nothing to work on.
pub(crate) type Passes = for<'a> fn(&mut Judgement<'a>) -> Option<()>;

/// The reason for checking a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Compilation: hints may check the model with other options.
    Compile,
    /// A trial of a hint.
    Trial,
    /// More problems of a model of which only a part was read; the reader has reported the rest.
    Partial,
}

/// A model, the options for it, and the reason for the check.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) model: &'a Model,
    pub(crate) options: &'a Options,
    pub(crate) purpose: Purpose,
    /// The passes, for trials of hints.
    pub(crate) passes: Passes,
}

impl<'a> Subject<'a> {
    /// True if only a part of the model was read.
    pub(crate) fn is_partial(self) -> bool {
        self.purpose == Purpose::Partial
    }

    /// True if hints may check the model with other options.
    pub(crate) fn tries_hints(self) -> bool {
        self.purpose == Purpose::Compile
    }

    /// The names of an input, by its place among the inputs.
    pub(crate) fn names_of_input(self, index: usize) -> Vec<String> {
        parameter_names(self.model, self.model.parameters[index])
    }

    /// The names of all inputs.
    pub(crate) fn names_of_inputs(self) -> Vec<Vec<String>> {
        (0..self.model.parameters.len()).map(|index| self.names_of_input(index)).collect()
    }

    /// The name of an input in messages and options.
    pub(crate) fn input_name(self, index: usize) -> String {
        interface::name(&self.names_of_input(index), "in", index)
    }

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

    /// All passes; `open`: the size for unknown axes behind the first.
    pub(crate) fn judged(self, open: Option<usize>) -> Judgement<'a> {
        let mut judgement = Judgement {
            subject: self,
            inputs: InputSizes::new(self.model.parameters.len(), open),
            steps: StepFacts::default(),
            core: CoreModel {
                name: self.model.name.clone(),
                files: self.model.files.clone(),
                ..CoreModel::default()
            },
            restart_warnings: Diagnostics::default(),
            diagnostics: Diagnostics::default(),
        };
        (self.passes)(&mut judgement);
        judgement
    }
}

/// The passes' results so far: each pass reads some of them and writes others.
pub(crate) struct Judgement<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) inputs: InputSizes,
    pub(crate) steps: StepFacts<'a>,
    pub(crate) core: CoreModel,
    /// Warnings about layers that start anew at every call, dropped if their states are kept.
    pub(crate) restart_warnings: Diagnostics,
    pub(crate) diagnostics: Diagnostics,
}

impl<'a> Judgement<'a> {
    /// The hints that these results allow.
    pub(crate) fn hints(&self) -> Hints<'_, 'a> {
        Hints { subject: self.subject, inputs: &self.inputs, steps: &self.steps }
    }
}

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
