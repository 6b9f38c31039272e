//! States among the inputs: found pairs, likely pairs, and states that no call keeps.

mod lost_history;
mod masks;
mod restarts;
mod sequence_restarts;

pub(crate) use lost_history::{kept_states, states_go_on};

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::hints::Hints;
use super::names::{Side, find_name, list_names, name};
use super::subject::{Translated, WithStates};
use crate::core::{CoreModel, ResultValue, Source, StatePair, needed};
use crate::diagnostic::{
    Diagnostic, Diagnostics, Message, Origin, Setting, listed, message, quoted,
};
use crate::model::{Direction, Node, Op};
use crate::request::State;
use crate::request::flag;
use crate::stream::states::{NameWords, Order, Reach, Recurrence, Recurrences, offered, reached};

/// How to name a pair of states.
fn any_state() -> Setting {
    Setting::StateOf(vec![("IN".to_owned(), "OUT".to_owned())])
}

/// An output that holds the new value of a state input.
struct Update {
    parameter: usize,
    /// True if every element keeps its index.
    in_place: bool,
    /// The recurrences between the input and the output.
    through: BTreeSet<usize>,
}

/// Why a state is never kept.
fn why_never(recurrence: &Recurrence, layer: Option<&Node>) -> String {
    let name = layer.map_or(String::new(), |node| format!("{} ", quoted(&node.name)));
    match recurrence.order {
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

/// What the layer is called in OpenVINO.
fn kind_of(node: &Node) -> String {
    match &node.op {
        Op::Cell(cell) => cell.kind.op_name().to_owned(),
        Op::Sequence(cell, _) => cell.kind.sequence_name().to_owned(),
        _ => node.operator().to_owned(),
    }
}

/// The advice for an LSTM with h and c in one input.
const OWN_INPUTS: &str = "export the model with a tensor of its own for h and for c";

/// The change by which a refused pair becomes a state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// The option `--state`.
    Option,
    /// Another model: one shape for the input and the output.
    Shape,
    /// Another model: an input for h and another one for c.
    Inputs,
}

/// An input and an output that look like a state without being one.
struct RefusedPair<'a> {
    pair: StatePair,
    why: String,
    /// The layer behind the reason, and its direction.
    layer: Option<(&'a Node, Order)>,
    remedy: Remedy,
    /// Other outputs with the new state.
    others: Vec<usize>,
}

/// The output of a pair. Refused if another output has the shape of the input, is computed from the
/// input, and has the name of its next state.
fn unless_named_otherwise<'a>(
    model: &CoreModel,
    pair: StatePair,
) -> Result<usize, RefusedPair<'a>> {
    let input = NameWords::new(&model.parameters[pair.parameter].names);
    let named = |result: usize| input.become_names(&NameWords::new(&model.results[result].names));
    let fits = |&result: &usize| {
        result != pair.result
            && model.results[result].shape == model.parameters[pair.parameter].shape
            && named(result)
    };
    let others: Vec<usize> = (0..model.results.len()).filter(fits).collect();
    if others.is_empty() || named(pair.result) {
        return Ok(pair.result);
    }
    let computed = reached(model, &[Source::Parameter(pair.parameter)], Reach::Any);
    let Some(result) =
        others.into_iter().find(|&other| computed.contains(&model.results[other].source))
    else {
        return Ok(pair.result);
    };
    let found = quoted(&name(&model.results[pair.result].names, Side::Output, pair.result));
    let why = format!(
        "the recurrent operator's last state is the output {found}, which has another name"
    );
    let pair = StatePair { result, ..pair };
    Err(RefusedPair { pair, why, layer: None, remedy: Remedy::Option, others: Vec::new() })
}

/// Every pair that is a state or may become a state, each tensor in one pair. `--state` names all
/// these pairs, as the option replaces found states.
fn pairs_for_option(taken: &[StatePair], refused: &[RefusedPair]) -> Vec<StatePair> {
    let mut pairs = taken.to_vec();
    for refused in refused
        .iter()
        .filter(|refused| refused.remedy == Remedy::Option && refused.others.is_empty())
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

/// The search for the states of a model. Reports refused pairs, and layers that every call starts
/// anew.
struct States<'c, 'a> {
    hints: Hints<'c, 'a>,
    model: &'c CoreModel,
    recurrences: &'c Recurrences<'c>,
    /// By value: true if an output depends on the value.
    needed: &'c [bool],
    restart_warnings: &'c mut Diagnostics,
    diagnostics: &'c mut Diagnostics,
}

/// Adds the states of a model, and the layers that every call starts anew.
pub(crate) fn states(
    hints: Hints,
    Translated(mut core): Translated,
    diagnostics: &mut Diagnostics,
) -> WithStates {
    let needed = needed(&core);
    let recurrences = Recurrences::new(&core, &needed);
    let mut restart_warnings = Diagnostics::default();
    let state = &hints.context.options.bindings.state;
    let mut search = States {
        hints,
        model: &core,
        recurrences: &recurrences,
        needed: &needed,
        restart_warnings: &mut restart_warnings,
        diagnostics,
    };
    let states = match state {
        State::None => Vec::new(),
        State::Auto => search.automatic_states(),
        State::Pairs(pairs) => search.given_states(pairs),
    };
    let restarts = search.restarts();
    search.lost_history(&states);
    search.masks_that_begin_open(&states);
    if recurrences.flow.gave_up() && *state != State::None {
        let found = "the model moves so many elements that its states were not searched for";
        let warning = Diagnostic::warning(Origin::Unknown, found);
        let help = message!("name the inputs and outputs that are states, {}", any_state());
        diagnostics.push(warning.help(help));
    }
    core.states = states;
    core.restarts = restarts;
    WithStates { core, restart_warnings }
}

impl<'a> States<'_, 'a> {
    /// Inputs used only as the initial state of forward recurrent operators with the last state in
    /// one output.
    fn automatic_states(&mut self) -> Vec<StatePair> {
        let Self { model, recurrences, needed, .. } = *self;
        let mut updates: BTreeMap<usize, Vec<(usize, Update)>> = BTreeMap::new();
        let mut by_y: Vec<(usize, Update)> = Vec::new();
        let sizes: HashSet<usize> =
            recurrences.initial_elements.keys().map(|&source| model.len(source)).collect();
        for (result, of) in model.results.iter().enumerate() {
            if !sizes.contains(&model.len(of.source)) {
                continue;
            }
            for y in [false, true] {
                let update = recurrences.update(model, of.source, y);
                if let Some((Source::Parameter(parameter), in_place, through)) = update {
                    let update = Update { parameter, in_place, through };
                    match y {
                        false => updates.entry(parameter).or_default().push((result, update)),
                        true => by_y.push((result, update)),
                    }
                    break;
                }
            }
        }
        // Y of one step equals the state: taken if no other output is the state
        for (result, update) in by_y {
            updates.entry(update.parameter).or_insert_with(|| vec![(result, update)]);
        }
        let mut taken = Vec::new();
        let mut refused = Vec::new();
        for (parameter, updates) in updates {
            let next = self.next_value(parameter, &updates);
            match next
                .and_then(|result| unless_named_otherwise(model, StatePair { parameter, result }))
            {
                Ok(result) => taken.push(StatePair { parameter, result }),
                Err(why) => refused.push(why),
            }
        }
        let known: Vec<StatePair> =
            taken.iter().copied().chain(refused.iter().map(|refused| refused.pair)).collect();
        let offers = offered(model, recurrences, needed, &known);
        refused.extend(offers.into_iter().map(|offer| RefusedPair {
            pair: offer.pair,
            why: offer.why().to_owned(),
            layer: None,
            remedy: Remedy::Option,
            others: offer.others,
        }));
        let whole = pairs_for_option(&taken, &refused);
        // h and c of a layer that are refused for the same reason
        let alike = |a: &RefusedPair, b: &RefusedPair| {
            let layer = |of: &RefusedPair| of.layer.map(|(node, _)| std::ptr::from_ref(node));
            let one = a.others.is_empty() && b.others.is_empty();
            a.why == b.why && a.remedy == b.remedy && layer(a) == layer(b) && one
        };
        refused.chunk_by(alike).for_each(|refused| self.not_taken(refused, &whole));
        self.integers_like_states();
        taken
    }

    /// Notices for integer inputs with the names of a state: cellc keeps no integer states.
    fn integers_like_states(&mut self) {
        let model = self.model;
        for (parameter, input) in model.parameters.iter().enumerate() {
            if input.weight || input.length.is_some() || input.element.is_float() {
                continue;
            }
            let (source, words) = (Source::Parameter(parameter), NameWords::new(&input.names));
            let fits = |result: &&ResultValue| {
                let same = !result.element.is_float()
                    && result.shape == input.shape
                    && result.source != source;
                same && words.become_names(&NameWords::new(&result.names))
            };
            let computed = reached(model, &[source], Reach::Any);
            let Some(at) =
                model.results.iter().position(|of| fits(&of) && computed.contains(&of.source))
            else {
                continue;
            };
            let found = format!(
                "the input {} and the output {} are not treated as a state: they are of type {}, \
                 and states are of floats",
                quoted(&name(&input.names, Side::Input, parameter)),
                quoted(&name(&model.results[at].names, Side::Output, at)),
                input.element.name()
            );
            let help = "give the output to the input of the next call, or keep the state as floats \
                in the model";
            self.diagnostics.push(Diagnostic::notice(Origin::Unknown, found).help(help));
        }
    }

    /// The output with the next value of an input, or the reason against a state.
    fn next_value(
        &self,
        parameter: usize,
        updates: &[(usize, Update)],
    ) -> Result<usize, RefusedPair<'a>> {
        let Self { model, recurrences, .. } = *self;
        let shape = &model.parameters[parameter].shape;
        let same_shape = |(result, _): &&(usize, Update)| model.results[*result].shape == *shape;
        let fits: Vec<_> = updates.iter().filter(same_shape).collect();
        let (result, update) =
            fits.iter().find(|(_, update)| update.in_place).copied().unwrap_or(&updates[0]);
        let refused = |why: String, layer, remedy| {
            Err(RefusedPair {
                pair: StatePair { parameter, result: *result },
                why,
                layer,
                remedy,
                others: Vec::new(),
            })
        };
        if let Some(wrong) = recurrences.not_forward(&update.through) {
            let layer = self.hints.steps.layers.get(&wrong.place).copied();
            return refused(
                why_never(wrong, layer),
                layer.map(|layer| (layer, wrong.order)),
                Remedy::Shape,
            );
        }
        if fits.is_empty() {
            let found = &model.results[*result].shape;
            return refused(
                format!("the input has the shape {shape:?}, the output {found:?}"),
                None,
                Remedy::Shape,
            );
        }
        let in_place = fits.iter().filter(|(_, update)| update.in_place).count();
        if in_place == 0 {
            return refused(
                "the output holds the elements in another order".to_owned(),
                None,
                Remedy::Option,
            );
        }
        if recurrences.starts_h_and_c(Source::Parameter(parameter)) {
            return refused(
                "h and c of an LSTM start from the same elements of it".to_owned(),
                None,
                Remedy::Inputs,
            );
        }
        if in_place > 1 {
            return refused(format!("{in_place} outputs hold it"), None, Remedy::Option);
        }
        let source = Source::Parameter(parameter);
        if recurrences.read.contains(&source) {
            return refused(
                "another operation reads the input, too".to_owned(),
                None,
                Remedy::Option,
            );
        }
        if !recurrences.serves_only_as_state(source) {
            return refused(
                "several layers start from the same elements of it".to_owned(),
                None,
                Remedy::Option,
            );
        }
        Ok(*result)
    }

    /// Reports likely states and the first reason against them. `whole`: every pair of the option
    /// for keeping them.
    fn not_taken(&mut self, refused: &[RefusedPair], whole: &[StatePair]) {
        let model = self.model;
        let input = |pair: &StatePair| {
            name(&model.parameters[pair.parameter].names, Side::Input, pair.parameter)
        };
        let output = |result: usize| name(&model.results[result].names, Side::Output, result);
        let inputs: Vec<String> = refused.iter().map(|r| input(&r.pair)).collect();
        let results = refused.iter().flat_map(|r| [&[r.pair.result], &r.others[..]].concat());
        let outputs: Vec<String> = results.map(output).collect();
        let RefusedPair { why, layer, remedy, others, pair } = &refused[0];
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
        let origin = layer.map_or(Origin::Unknown, |(node, _)| node.origin.clone());
        let mut notice = Diagnostic::notice(origin, found);
        if let Some((node, _)) = layer {
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
        let help = match layer {
            _ if !others.is_empty() => {
                let results = [&[pair.result], &others[..]].concat();
                let lines =
                    results.iter().map(|&result| line(&[StatePair { result, ..*pair }]).into());
                message!(
                    "to keep one of them between calls, add {}",
                    Message::joined(lines, " or ")
                )
            }
            _ if *remedy == Remedy::Option && whole.len() > refused.len() => {
                message!("to keep {} between calls with the other states, add {}", it, line(&these))
            }
            _ if *remedy == Remedy::Option => {
                message!("to keep {} between calls, add {}", it, line(&these))
            }
            _ if *remedy == Remedy::Inputs => OWN_INPUTS.into(),
            Some((_, Order::Lengths)) => "give the initial state at every call".into(),
            Some(_) => "give the whole sequence in one call, and the initial state with it".into(),
            None => message!(
                "to have {} kept between calls, give input and output one shape in the model",
                it
            ),
        };
        self.diagnostics.push(notice.help(help));
    }

    fn given_states(&mut self, pairs: &[(String, String)]) -> Vec<StatePair> {
        let Self { model, recurrences, .. } = *self;
        let inputs: Vec<Vec<String>> = model.parameters.iter().map(|p| p.names.clone()).collect();
        let outputs: Vec<Vec<String>> = model.results.iter().map(|r| r.names.clone()).collect();
        let mut states: Vec<StatePair> = Vec::new();
        for (input, output) in pairs {
            let text = format!("{}={}", quoted(input), quoted(output));
            let correct = message!("correct {}", flag::STATE.setting());
            let mut refuse_with = |found: String, valid: String, help: Message| {
                let diagnostic =
                    Diagnostic::error(Origin::Unknown, format!("the state {text}: {found}"));
                self.diagnostics.push(diagnostic.valid(valid).help(help));
            };
            let mut refuse =
                |found: String, valid: String| refuse_with(found, valid, correct.clone());
            let parameter = find_name(&inputs, input, Side::Input).map_err(|problem| {
                refuse(
                    problem,
                    format!("the inputs of the model: {}", list_names(&inputs, Side::Input)),
                )
            });
            let result = find_name(&outputs, output, Side::Output).map_err(|problem| {
                refuse(
                    problem,
                    format!("the outputs of the model: {}", list_names(&outputs, Side::Output)),
                )
            });
            let (Ok(parameter), Ok(result)) = (parameter, result) else { continue };
            let (p, r) = (&model.parameters[parameter], &model.results[result]);
            if p.weight || !p.element.is_float() {
                let what = match (p.weight, p.length) {
                    (true, _) => "W, R or B of a cell",
                    (false, Some(_)) => "lengths of a sequence",
                    (false, None) => "of integers",
                };
                refuse(format!("the input is {what}"), "an input that is not".to_owned());
            } else if !r.element.is_float() {
                refuse("the output is of integers".to_owned(), "an output of floats".to_owned());
            } else if p.shape != r.shape {
                let found =
                    format!("the input has the shape {:?}, the output {:?}", p.shape, r.shape);
                refuse(found, "an input and an output of the same shape".to_owned());
            } else if states.iter().any(|s| s.parameter == parameter || s.result == result) {
                refuse(
                    "its input or its output is in another pair".to_owned(),
                    "each in one pair".to_owned(),
                );
            } else if let Some(wrong) = recurrences.not_forward_between(model, parameter, r.source)
            {
                let why = why_never(wrong, self.hints.steps.layers.get(&wrong.place).copied());
                refuse(why, "states of forward operators that take every step".to_owned());
            } else if let Some(place) = recurrences.of_h_and_c(Source::Parameter(parameter))
                && recurrences
                    .update(model, r.source, true)
                    .is_some_and(|(of, ..)| of == Source::Parameter(parameter))
            {
                let layer = self
                    .hints
                    .steps
                    .layers
                    .get(&place)
                    .map_or(String::new(), |node| format!(" of {}", quoted(&node.name)));
                let found = format!("h and c{layer} start from the same elements of the input");
                refuse_with(
                    found,
                    "an input for one of the two states".to_owned(),
                    OWN_INPUTS.into(),
                );
            } else {
                states.push(StatePair { parameter, result });
            }
        }
        states
    }
}
