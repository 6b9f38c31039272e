//! The input of the checks, and their result.

use crate::core::CoreModel;
use crate::core::streams::RowKind;
use crate::diagnostic::{Cause, Diagnostics, Severity};
use crate::model::{Model, SizesOf};
use crate::numerics::Precisions;
use crate::request::Options;
use crate::rules::input_sizes::InputSizes;
use crate::rules::names::{self, Side, parameter_names};
use crate::rules::step_facts::StepFacts;

/// The result for a model and its options: the core model, the precisions of its products and the
/// warnings, or all errors and warnings.
pub(crate) type CheckedCore = Result<(CoreModel, Precisions, Diagnostics), Diagnostics>;

/// A model, after the proof of its steps if the number of steps is open. Without a model, the
/// diagnostics have errors.
pub(crate) struct Outcome {
    pub(crate) core: Option<CoreModel>,
    pub(crate) diagnostics: Diagnostics,
}

/// The pipeline as hints call it, for another model or other options.
#[derive(Clone, Copy)]
pub(crate) struct Pipeline {
    /// Checks and translates a model. The context must have no pipeline: hints do not nest.
    pub(crate) checked_core: fn(CheckContext) -> CheckedCore,
    /// Checks and translates a model with a size for the axes left open. `None`: open axes are
    /// errors.
    pub(crate) core_at_size: for<'a> fn(CheckContext<'a>, Option<usize>) -> CoreAtSize<'a>,
}

/// The model under check and the options for it.
#[derive(Clone, Copy)]
pub(crate) struct CheckContext<'a> {
    pub(crate) model: &'a Model,
    pub(crate) options: &'a Options,
    /// True if the reader has read only a part of the model and reported the rest.
    pub(crate) is_partial: bool,
    /// The pipeline for hints. `None` if there are no hints: this context belongs to a hint, or the
    /// model is partial.
    pub(crate) pipeline: Option<Pipeline>,
}

impl<'a> CheckContext<'a> {
    /// The result for a changed model or other options. `None` if the context has no pipeline.
    pub(crate) fn recheck(self, model: &Model, options: &Options) -> Option<CheckedCore> {
        let Pipeline { checked_core, .. } = self.pipeline?;
        Some(checked_core(CheckContext { model, options, pipeline: None, ..self }))
    }

    /// True if a model has no errors under the options of a hint. False if the context has no
    /// pipeline.
    pub(crate) fn accepts(self, model: &Model, options: &Options) -> bool {
        self.recheck(model, options).is_some_and(|outcome| outcome.is_ok())
    }

    /// The size of an open batch. `None` for a model of one sample of a sound, where the option
    /// gives a number of channels.
    pub(crate) fn batch_size(self) -> Option<usize> {
        match self.model.sizes {
            SizesOf::Sample => None,
            SizesOf::File | SizesOf::Calls => self.options.bindings.batch_size(),
        }
    }

    /// The number of rows that the model gets, and their kind.
    pub(crate) fn rows(self) -> Option<(usize, RowKind)> {
        let bindings = &self.options.bindings;
        let streams = bindings.streams.map(|count| (count, RowKind::Streams));
        let is_sound = self.model.sizes == SizesOf::Sample;
        let channels = bindings.batch.filter(|&count| is_sound && count > 1);
        streams.or(channels.map(|count| (count, RowKind::Channels)))
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

/// A model after the checks and passes, for one size of the axes left open.
pub(crate) struct CoreAtSize<'a> {
    pub(crate) context: CheckContext<'a>,
    pub(crate) inputs: InputSizes,
    pub(crate) steps: StepFacts<'a>,
    /// The model after the last pass. `None` if a pass has stopped the pipeline: the diagnostics
    /// have errors, or the model is partial.
    pub(crate) core: Option<CoreModel>,
    /// Warnings about layers that start anew at every call, dropped if their states are kept.
    pub(crate) restart_warnings: Diagnostics,
    pub(crate) diagnostics: Diagnostics,
}

impl CoreAtSize<'_> {
    /// The core model.
    ///
    /// # Panics
    /// If the diagnostics have errors, or if the model is partial.
    pub(crate) fn core(&self) -> &CoreModel {
        self.core.as_ref().expect("check: a model without errors is translated")
    }

    /// True if a size of an input is open.
    pub(crate) fn has_open_sizes(&self) -> bool {
        self.diagnostics.0.iter().any(|d| d.cause == Cause::OpenSizes)
    }

    /// True if every error is an open size.
    pub(crate) fn has_only_open_sizes(&self) -> bool {
        let mut errors = self.diagnostics.0.iter().filter(|d| d.severity == Severity::Error);
        errors.all(|d| d.cause == Cause::OpenSizes)
    }

    /// True if some input has one axis of the assumed size, and no input has several.
    pub(crate) fn has_open_steps(&self) -> bool {
        let open = &self.inputs.open_axes;
        open.iter().all(|axes| axes.len() <= 1) && open.iter().any(|axes| !axes.is_empty())
    }
}
