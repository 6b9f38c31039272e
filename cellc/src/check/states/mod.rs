//! Messages about states: likely pairs, pairs of the options that do not fit, and states that no
//! call keeps. [`crate::stream`] finds the states.

mod lost_history;
mod restarts;
mod sequence_restarts;

pub(crate) use lost_history::{kept_states, states_go_on};

use super::hints::Hints;
use super::names::{Side, find_name, list_names, name};
use crate::core::{CoreModel, StatePair};
use crate::diagnostic::{
    Diagnostic, Diagnostics, Message, Origin, Setting, listed, message, quoted,
};
use crate::model::{Direction, Node, Op};
use crate::request::flag;
use crate::request::{Options, State};
use crate::stream::states::{
    Doubt, FoundStates, Misfit, NotTaken, Order, Reason, RefusedPair, UpdateKind, Wanted,
};

/// How to name a pair of states.
fn any_state() -> Setting {
    Setting::StateOf(vec![("IN".to_owned(), "OUT".to_owned())])
}

/// Why a layer that does not run forward through every step keeps no state.
fn why_never(order: Order, layer: Option<&Node>) -> String {
    let name = layer.map_or(String::new(), |node| format!("{} ", quoted(&node.name)));
    match order {
        Order::Lengths => format!(
            "{name}has sequence lengths, and the last state of a row without steps is zero, not \
             the state before"
        ),
        _ => {
            let direction = match layer.map(|node| &node.op) {
                Some(Op::Sequence(_, direction)) => *direction,
                _ => Direction::Reverse,
            };
            format!(
                "{name}runs {}, and the last state of the reverse direction belongs to the first \
                 step",
                direction_words(direction)
            )
        }
    }
}

fn direction_words(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Reverse => "in reverse",
        Direction::Bidirectional => "in both directions",
    }
}

/// A name in the form for a command.
fn bare(name: &str) -> String {
    let name = quoted(name);
    name[1..name.len() - 1].to_owned()
}

/// The advice for an LSTM with h and c in one input.
const OWN_INPUTS: &str = "export the model with a tensor of its own for h and for c";

/// Why an input and an output cannot be a state.
fn why_misfit(misfit: &Misfit) -> String {
    match misfit {
        Misfit::WeightInput => "the input is W, R or B of a cell".to_owned(),
        Misfit::LengthInput => "the input is lengths of a sequence".to_owned(),
        Misfit::IntegerInput => "the input is of integers".to_owned(),
        Misfit::IntegerOutput => "the output is of integers".to_owned(),
        Misfit::Shape { input, output } => {
            format!("the input has the shape {input:?}, the output {output:?}")
        }
        Misfit::InAnotherPair => "its input or its output is in another pair".to_owned(),
        Misfit::NotForward { order, layer } => why_never(*order, *layer),
        Misfit::HAndC(layer) => {
            let layer = layer.map_or(String::new(), |node| format!(" of {}", quoted(&node.name)));
            format!("h and c{layer} start from the same elements of the input")
        }
    }
}

/// The valid pairs for an option with this misfit.
fn valid_pairs(misfit: &Misfit) -> &'static str {
    match misfit {
        Misfit::WeightInput | Misfit::LengthInput | Misfit::IntegerInput => "an input that is not",
        Misfit::IntegerOutput => "an output of floats",
        Misfit::Shape { .. } => "an input and an output of the same shape",
        Misfit::InAnotherPair => "each in one pair",
        Misfit::NotForward { .. } => "states of forward operators that take every step",
        Misfit::HAndC(_) => "an input for one of the two states",
    }
}

/// Why the search does not take a pair by itself.
fn why_doubt(model: &CoreModel, doubt: &Doubt) -> String {
    match doubt {
        Doubt::OtherOrder => "the output holds the elements in another order".to_owned(),
        Doubt::SeveralOutputs(count) => format!("{count} outputs hold it"),
        Doubt::ReadOtherwise => "another operation reads the input, too".to_owned(),
        Doubt::SeveralLayers => "several layers start from the same elements of it".to_owned(),
        Doubt::OtherName(result) => format!(
            "the recurrent operator's last state is the output {}, which has another name",
            quoted(&name(&model.results[*result].names, Side::Output, *result))
        ),
        Doubt::OtherUpdate(update) => why_update(*update).to_owned(),
    }
}

/// Why a state with this computation is not kept. `None`: only the names suggest a state.
fn why_update(update: Option<UpdateKind>) -> &'static str {
    match update {
        None => {
            "no recurrent operator computes the output from the input, though the names are those \
             of a state"
        }
        Some(UpdateKind::Recurrent(_)) => {
            "the state passes other operations than the recurrent operator"
        }
        Some(UpdateKind::Multiplied(_)) => {
            "several operations compute the new state, not one recurrent operator"
        }
        Some(UpdateKind::Appended(_)) => {
            "the output is the input with new elements appended, which no recurrent operator does"
        }
        Some(UpdateKind::Averaged) => {
            "the output is the input times a factor, plus new elements, which no recurrent \
             operator computes"
        }
        Some(UpdateKind::Moved(_)) => {
            "the output holds elements of the input in other places, which no recurrent operator \
             does"
        }
    }
}

/// Why the search refuses a pair.
fn why(model: &CoreModel, reason: &Reason) -> String {
    match reason {
        Reason::Misfit(Misfit::HAndC(_)) => {
            "h and c of an LSTM start from the same elements of it".to_owned()
        }
        Reason::Misfit(misfit) => why_misfit(misfit),
        Reason::Doubt(doubt) => why_doubt(model, doubt),
    }
}

/// The layer behind a reason.
fn layer_of<'a>(reason: &Reason<'a>) -> Option<&'a Node> {
    match reason {
        Reason::Misfit(Misfit::NotForward { layer, .. }) => *layer,
        _ => None,
    }
}

/// Every pair that is a state or may become a state, each tensor in one pair. `--state` names all
/// these pairs, as the option replaces found states.
fn pairs_for_option(taken: &[StatePair], refused: &[RefusedPair]) -> Vec<StatePair> {
    let mut pairs = taken.to_vec();
    for refused in
        refused.iter().filter(|of| matches!(of.reason, Reason::Doubt(_)) && of.others.is_empty())
    {
        let shares = |pair: &StatePair| {
            pair.parameter == refused.pair.parameter || pair.result == refused.pair.result
        };
        if !pairs.iter().any(shares) {
            pairs.push(refused.pair);
        }
    }
    pairs.sort_by_key(|pair| pair.parameter);
    pairs
}

/// The tensors of a pair in the options, or why the model has no such tensors.
type Named = (Result<usize, String>, Result<usize, String>);

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

    fn find(&self, (input, output): &(String, String)) -> Named {
        let input = find_name(&self.inputs, input, Side::Input);
        (input, find_name(&self.outputs, output, Side::Output))
    }
}

/// The states that the options ask for. Pairs with unknown names are left out: [`states`] reports
/// them.
pub(crate) fn wanted_states(options: &Options, model: &CoreModel) -> Wanted {
    match &options.bindings.state {
        State::None => Wanted::Nothing,
        State::Auto => Wanted::Automatic,
        State::Pairs(pairs) => {
            let names = PairNames::new(model);
            let pair = |pair: &(String, String)| match names.find(pair) {
                (Ok(parameter), Ok(result)) => Some(StatePair { parameter, result }),
                _ => None,
            };
            Wanted::Pairs(pairs.iter().filter_map(pair).collect())
        }
    }
}

/// The messages about the states of a model.
struct StateMessages<'c, 'a> {
    hints: Hints<'c, 'a>,
    found: &'c FoundStates<'a>,
    restart_warnings: &'c mut Diagnostics,
    diagnostics: &'c mut Diagnostics,
}

/// Reports refused pairs, pairs of the options that do not fit, and masks without effect. Returns
/// the warnings about layers that start anew at every call, dropped if their states are kept.
pub(crate) fn states<'a>(
    hints: Hints<'_, 'a>,
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

    /// Reports likely states, h and c of a layer together.
    fn refused(&mut self, refused: &[RefusedPair]) {
        let model = &self.found.core;
        let whole = pairs_for_option(&model.states, refused);
        // h and c of a layer that are refused for the same reason
        let alike = |a: &RefusedPair, b: &RefusedPair| {
            let layer = |of: &RefusedPair| layer_of(&of.reason).map(std::ptr::from_ref);
            let one = a.others.is_empty() && b.others.is_empty();
            why(model, &a.reason) == why(model, &b.reason) && layer(a) == layer(b) && one
        };
        refused.chunk_by(alike).for_each(|refused| self.not_taken(refused, &whole));
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

    /// Warns of kept masks without effect before the first call.
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

    /// Reports likely states and the first reason against them. `whole`: every pair of the option
    /// for keeping them.
    fn not_taken(&mut self, refused: &[RefusedPair], whole: &[StatePair]) {
        let input = |pair: &StatePair| self.input(pair.parameter);
        let output = |result: usize| self.output(result);
        let inputs: Vec<String> = refused.iter().map(|r| input(&r.pair)).collect();
        let results = refused.iter().flat_map(|r| [&[r.pair.result], &r.others[..]].concat());
        let outputs: Vec<String> = results.map(output).collect();
        let RefusedPair { reason, others, pair } = &refused[0];
        let why = why(&self.found.core, reason);
        let found = match (&inputs[..], &outputs[..]) {
            ([input], [output]) => format!(
                "the input {} and the output {} are not treated as a state: {why}",
                quoted(input),
                quoted(output)
            ),
            ([input], _) => format!(
                "the input {} is not treated as a state: {why}, and each of the outputs {} may be \
                 the new one",
                quoted(input),
                listed(&outputs)
            ),
            _ => format!(
                "the inputs {} and the outputs {} are not treated as states: {why}",
                listed(&inputs),
                listed(&outputs)
            ),
        };
        let layer = layer_of(reason);
        let origin = layer.map_or(Origin::Unknown, |node| node.origin.clone());
        let mut notice = Diagnostic::notice(origin, found);
        if let Some(node) = layer {
            notice = notice.layer(node.label());
        }
        let it = if refused.len() > 1 { "them" } else { "it" };
        let line = |pairs: &[StatePair]| {
            let shares = |pair: &&StatePair| {
                pairs.iter().any(|of| of.parameter == pair.parameter || of.result == pair.result)
            };
            let others = whole.iter().filter(|pair| !shares(pair)).copied();
            let mut pairs: Vec<StatePair> = pairs.iter().copied().chain(others).collect();
            pairs.sort_by_key(|pair| pair.parameter);
            let pairs: Vec<_> =
                pairs.iter().map(|pair| (bare(&input(pair)), bare(&output(pair.result)))).collect();
            Setting::StateOf(pairs)
        };
        let these: Vec<StatePair> = refused.iter().map(|refused| refused.pair).collect();
        let help = match reason {
            _ if !others.is_empty() => {
                let results = [&[pair.result], &others[..]].concat();
                let lines =
                    results.iter().map(|&result| line(&[StatePair { result, ..*pair }]).into());
                message!(
                    "to keep one of them between calls, add {}",
                    Message::joined(lines, " or ")
                )
            }
            Reason::Doubt(_) if whole.len() > refused.len() => {
                message!("to keep {} between calls with the other states, add {}", it, line(&these))
            }
            Reason::Doubt(_) => message!("to keep {} between calls, add {}", it, line(&these)),
            Reason::Misfit(Misfit::HAndC(_)) => OWN_INPUTS.into(),
            Reason::Misfit(Misfit::NotForward { order: Order::Lengths, layer: Some(_) }) => {
                "give the initial state at every call".into()
            }
            Reason::Misfit(Misfit::NotForward { layer: Some(_), .. }) => {
                "give the whole sequence in one call, and the initial state with it".into()
            }
            Reason::Misfit(_) => message!(
                "to have {} kept between calls, give input and output one shape in the model",
                it
            ),
        };
        self.diagnostics.push(notice.help(help));
    }

    /// Reports the pairs of the options with unknown names, and those that do not fit. `misfits`:
    /// by pair with known names.
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
