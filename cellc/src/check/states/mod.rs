//! Messages about states: likely pairs, misfits of the options, and states kept by no call.
//! [`crate::stream`] finds the states.

mod lost_history;
mod reasons;
mod refused;
mod restarts;
mod sequence_restarts;

pub(crate) use lost_history::{kept_states, states_go_on};

use self::reasons::{valid_pairs, why_misfit};
use super::hints::HintContext;
use crate::core::{CoreModel, StatePair};
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin, Setting, message, quoted};
use crate::request::flag;
use crate::request::{Options, State};
use crate::rules::names::{Side, find_name, list_names, name};
use crate::stream::states::{FoundStates, Misfit, NotTaken, RequestedStates};

/// The setting that names a pair of states, with IN and OUT for the names.
fn any_state() -> Setting {
    Setting::StateOf(vec![("IN".to_owned(), "OUT".to_owned())])
}

/// The places of a pair's input and output, or why the model has no tensor of that name.
type NamedPair = (Result<usize, String>, Result<usize, String>);

/// The names of the inputs and outputs of a model.
struct PairNames {
    inputs: Vec<Vec<String>>,
    outputs: Vec<Vec<String>>,
}

impl PairNames {
    fn new(model: &CoreModel) -> Self {
        Self {
            inputs: model.parameters.iter().map(|p| p.names.clone()).collect(),
            outputs: model.results.iter().map(|r| r.names.clone()).collect(),
        }
    }

    fn find(&self, (input, output): &(String, String)) -> NamedPair {
        let input = find_name(&self.inputs, input, Side::Input);
        (input, find_name(&self.outputs, output, Side::Output))
    }
}

/// The states requested by the options. Pairs with unknown names are left out: [`states`] reports
/// these pairs.
pub(crate) fn wanted_states(options: &Options, model: &CoreModel) -> RequestedStates {
    match &options.bindings.state {
        State::None => RequestedStates::Nothing,
        State::Auto => RequestedStates::Automatic,
        State::Pairs(pairs) => {
            let names = PairNames::new(model);
            let pair = |pair: &(String, String)| match names.find(pair) {
                (Ok(parameter), Ok(result)) => Some(StatePair { parameter, result }),
                _ => None,
            };
            RequestedStates::Pairs(pairs.iter().filter_map(pair).collect())
        }
    }
}

/// The advice for an LSTM with h and c in one input.
const OWN_INPUTS: &str = "export the model with a tensor of its own for h and for c";

/// The messages about the states of a model.
struct StateMessages<'c, 'a> {
    hints: HintContext<'c, 'a>,
    found: &'c FoundStates<'a>,
    restart_warnings: &'c mut Diagnostics,
    diagnostics: &'c mut Diagnostics,
}

/// Reports refused pairs, integers with the names of states, misfits of the options, masks without
/// effect, and a search that stopped. Returns the warnings about layers that start anew at every
/// call: the warnings are dropped if the states of the layers are kept.
pub(crate) fn states<'a>(
    hints: HintContext<'_, 'a>,
    found: &FoundStates<'a>,
    diagnostics: &mut Diagnostics,
) -> Diagnostics {
    let mut restart_warnings = Diagnostics::default();
    let state = &hints.context.options.bindings.state;
    let mut messages =
        StateMessages { hints, found, restart_warnings: &mut restart_warnings, diagnostics };
    match (&found.not_taken, state) {
        (NotTaken::Automatic { refused, integers }, _) => {
            messages.refused(refused);
            integers.iter().for_each(|&pair| messages.integers_like_state(pair));
        }
        (NotTaken::Given(misfits), State::Pairs(pairs)) => messages.given(pairs, misfits),
        _ => {}
    }
    messages.begin_anew();
    messages.restarts();
    messages.lost_history();
    messages.masks_that_begin_open();
    if found.gave_up && *state != State::None {
        let found = "the model moves so many elements that its states were not searched for";
        let warning = Diagnostic::warning(Origin::Unknown, found);
        let help = message!("name the inputs and outputs that are states, {}", any_state());
        diagnostics.push(warning.help(help));
    }
    restart_warnings
}

impl StateMessages<'_, '_> {
    /// The name of an input, by its place.
    fn input(&self, parameter: usize) -> String {
        name(&self.found.core.parameters[parameter].names, Side::Input, parameter)
    }

    /// The name of an output, by its place.
    fn output(&self, result: usize) -> String {
        name(&self.found.core.results[result].names, Side::Output, result)
    }

    /// Adds a notice for an integer input with the names of a state: cellc keeps no integer states.
    fn integers_like_state(&mut self, StatePair { parameter, result }: StatePair) {
        let found = format!(
            "the input {} and the output {} are not treated as a state: they are of type {}, and \
             states are of floats",
            quoted(&self.input(parameter)),
            quoted(&self.output(result)),
            self.found.core.parameters[parameter].element.name()
        );
        let help = "give the output to the input of the next call, or keep the state as floats in \
            the model";
        self.diagnostics.push(Diagnostic::notice(Origin::Unknown, found).help(help));
    }

    /// Warns of masks kept as states: as states begin at zero, nothing is masked before the first
    /// call.
    fn masks_that_begin_open(&mut self) {
        for &parameter in &self.found.open_masks {
            let found = format!(
                "the state {} is a mask that is added in front of a softmax, and it begins at \
                zero: places that no call has filled count",
                quoted(&self.input(parameter))
            );
            let help = "keep 1 for filled places and 0 for empty ones in the model, and add (mask \
                - 1) * 1e9 in front of the softmax; or set the state to -1e9 before the first \
                call and after each reset";
            self.diagnostics.push(Diagnostic::warning(Origin::Unknown, found).help(help));
        }
    }

    /// Reports pairs of the options with unknown names, and misfits. `misfits`: for each pair with
    /// known names.
    fn given(&mut self, pairs: &[(String, String)], misfits: &[Option<Misfit>]) {
        let names = PairNames::new(&self.found.core);
        let mut misfits = misfits.iter();
        for pair in pairs {
            let text = format!("{}={}", quoted(&pair.0), quoted(&pair.1));
            let mut refuse = |found: String, valid: String, help: Message| {
                let diagnostic =
                    Diagnostic::error(Origin::Unknown, format!("the state {text}: {found}"));
                self.diagnostics.push(diagnostic.valid(valid).help(help));
            };
            let correct = message!("correct {}", flag::STATE.setting());
            let (input, output) = names.find(pair);
            let misfit = if input.is_ok() && output.is_ok() { misfits.next() } else { None };
            if let Err(problem) = input {
                let valid = list_names(&names.inputs, Side::Input);
                refuse(problem, format!("the inputs of the model: {valid}"), correct.clone());
            }
            if let Err(problem) = output {
                let valid = list_names(&names.outputs, Side::Output);
                refuse(problem, format!("the outputs of the model: {valid}"), correct.clone());
            }
            if let Some(Some(misfit)) = misfit {
                let help = match misfit {
                    Misfit::HAndC(_) => OWN_INPUTS.into(),
                    _ => correct,
                };
                refuse(why_misfit(misfit), valid_pairs(misfit).to_owned(), help);
            }
        }
    }
}
