//! The subject of a judgement, its trials, and the results of the passes.

use super::names::{self, Side, parameter_names};
use crate::check::input_sizes::InputSizes;
use crate::check::step_facts::StepFacts;
use crate::core::CoreModel;
use crate::diagnostic::Diagnostics;
use crate::model::Model;
use crate::request::Options;

/// The outcome for a model and its options: the core model and the warnings, or everything that is
/// wrong, warnings included.
pub(crate) type Checked = Result<(CoreModel, Diagnostics), Diagnostics>;

/// The pipeline as hints call it, for another model or other options.
#[derive(Clone, Copy)]
pub(crate) struct Trials {
    /// The outcome of a changed model. The subject has no trials.
    pub(crate) judge: fn(Subject) -> Checked,
    /// The judgement of a changed model for a size of the axes left open.
    pub(crate) judgement: for<'a> fn(Subject<'a>, Option<usize>) -> Judgement<'a>,
}

/// A model and the options for it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) model: &'a Model,
    pub(crate) options: &'a Options,
    /// True if only a part of the model was read. The reader has reported the rest.
    pub(crate) is_partial: bool,
    /// The trials of hints. `None`: no hints, as the subject is a trial or a part.
    pub(crate) trials: Option<Trials>,
}

impl<'a> Subject<'a> {
    /// The outcome of this model or a change of it, under other options. `None` if the subject has
    /// no trials.
    pub(crate) fn tried(self, model: &Model, options: &Options) -> Option<Checked> {
        let Trials { judge, .. } = self.trials?;
        Some(judge(Subject { model, options, trials: None, ..self }))
    }

    /// True if a model is right under the options of a hint.
    pub(crate) fn is_right(self, model: &Model, options: &Options) -> bool {
        self.tried(model, options).is_some_and(|outcome| outcome.is_ok())
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
        names::name(&self.names_of_input(index), Side::Input, index)
    }
}

/// A model as core operations, before the search for its states.
pub(crate) struct Translated(pub(crate) CoreModel);

/// A core model with its states.
pub(crate) struct WithStates {
    pub(crate) core: CoreModel,
    /// Warnings about layers that start anew at every call, dropped if their states are kept.
    pub(crate) restart_warnings: Diagnostics,
}

/// The judgement of a model for some sizes of its inputs.
pub(crate) struct Judgement<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) inputs: InputSizes,
    pub(crate) steps: StepFacts<'a>,
    /// The model after the last pass. `None` if a pass has stopped the judgement, which happens
    /// only with errors among the diagnostics or for a partial subject.
    pub(crate) with_states: Option<WithStates>,
    pub(crate) diagnostics: Diagnostics,
}

impl Judgement<'_> {
    /// The core model of a judgement without errors.
    pub(crate) fn core(&self) -> &CoreModel {
        &self.with_states.as_ref().expect("check: a model without errors is translated").core
    }

    /// True if some input has one axis of the assumed size, and no input has several.
    pub(crate) fn has_open_steps(&self) -> bool {
        let open = &self.inputs.open_axes;
        open.iter().all(|axes| axes.len() <= 1) && open.iter().any(|axes| !axes.is_empty())
    }

    /// The outcome of a judgement without errors.
    pub(crate) fn accepted(self) -> Checked {
        let hints = self.hints().single_steps();
        let mut diagnostics = self.diagnostics;
        let WithStates { core, restart_warnings } =
            self.with_states.expect("check: a model without errors is translated");
        diagnostics.extend(restart_warnings);
        diagnostics.0.extend(hints);
        Ok((core, diagnostics))
    }
}
