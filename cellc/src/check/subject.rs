//! The subject of a judgement, and the results of its passes.

use super::interface::{self, parameter_names};
use crate::check::input_sizes::InputSizes;
use crate::check::step_facts::StepFacts;
use crate::core::CoreModel;
use crate::diagnostic::Diagnostics;
use crate::model::Model;
use crate::request::Options;

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
