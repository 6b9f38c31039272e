//! Operations over the steps of a model that keeps states: where the number of steps is fixed, the
//! first steps of every call are computed as if nothing had come before.

use super::StateMessages;
use crate::check::hints::MOST_CHOICES;
use crate::core::{CoreModel, CoreNode, Source};
use crate::core::{ElementsBefore, Front};
use crate::diagnostic::{Cause, Diagnostic, Message, listed, message, quoted};
use crate::model::Node;
use crate::request::State;
use crate::rules::names::{Side, name};
use crate::stream::states::FoundStates;

/// The most states, or operations, named by a warning.
const MOST_NAMED: usize = 4;

/// The names of the states kept between calls.
pub(crate) fn kept_states(model: &CoreModel) -> Vec<String> {
    let inputs = model
        .states
        .iter()
        .map(|pair| name(&model.parameters[pair.parameter].names, Side::Input, pair.parameter));
    let changing = |(index, next): (usize, Option<Source>)| {
        next.is_some_and(|next| next != Source::Variable(index))
    };
    let variables = model.variables.iter().enumerate();
    let variables = variables.filter(|(index, variable)| changing((*index, variable.next)));
    inputs.chain(variables.map(|(_, variable)| variable.name.clone())).collect()
}

/// The text `the state "h" goes on`, or its plural.
pub(crate) fn states_go_on(kept: &[String]) -> String {
    match kept.len() {
        1 => format!("the state {} goes on", listed(kept)),
        2..=MOST_NAMED => format!("the states {} go on", listed(kept)),
        count => format!("{count} states go on"),
    }
}

impl StateMessages<'_, '_> {
    /// Warns of operations over the steps that do not see the steps of earlier calls, though states
    /// go on.
    pub(super) fn lost_history(&mut self) {
        let FoundStates { core, initial_elements, .. } = self.found;
        let kept = kept_states(core);
        if self.hints.context.options.bindings.state == State::None || kept.is_empty() {
            return;
        }
        let mut steps = self.found.steps.clone();
        if steps.is_empty() {
            steps.push(1);
        }
        let nodes = &self.hints.context.model.nodes;
        let found = self.hints.steps.history.lookbacks.iter();
        let found = found.filter_map(|lookback| {
            Some((&nodes[lookback.node], lookback.before, lookback.along(&steps)?))
        });
        let found: Vec<(&Node, ElementsBefore, Front)> = found
            .filter(|(node, before, front)| {
                let is_unclear = matches!(before, ElementsBefore::Zero) && front.size == 1;
                !is_unclear || self.sums_steps(node)
            })
            .collect();
        let Some(&(node, before, front)) = found.first() else { return };
        let mut remedies: Vec<Message> = Vec::new();
        let is_causal = found.iter().all(|(.., front)| front.is_causal);
        let (remedy, lines) =
            self.hints.advice_to_open(core, initial_elements, front.size, is_causal).unzip();
        remedies.extend(remedy.map(|remedy| message!("{}: then all of it goes on", remedy)));
        let last = match (before, front.reach) {
            (ElementsBefore::Zero, _) => "the last sum".to_owned(),
            (ElementsBefore::Pads, 1) => "the last input".to_owned(),
            (ElementsBefore::Pads, reach) => format!("the last {reach} inputs"),
        };
        let of_each =
            if found.len() > 1 { "of each" } else { &format!("of {}", quoted(&node.name)) };
        remedies.push(message!(
            "give the model {} {} as an input, and return the next as an output",
            last,
            of_each
        ));
        remedies.push("if every call is a whole sequence, reset the states before each".into());
        let found = lost_history_found(&found, &kept);
        let warning = Diagnostic::warning(node.origin.clone(), found)
            .layer(node.label())
            .cause(Cause::SeesOneCall);
        self.restart_warnings.push(
            warning.help(Message::joined(remedies, "; or ")).lines(lines.unwrap_or_default()),
        );
    }
}

impl StateMessages<'_, '_> {
    /// True if a running sum along an axis of size 1 may sum over the steps: once the likely axes
    /// of steps are open, the node has no running sum within one step. Also true if none of these
    /// axes can be open.
    fn sums_steps(&self, node: &Node) -> bool {
        let is_within =
            |other: &&CoreNode| other.name == node.name && other.op.facts().over_time.accumulates();
        let mut opened = (0..MOST_CHOICES).filter_map(|choice| {
            let steps = (1, false);
            self.hints.opened(&self.hints.axes_of_steps(
                &self.found.core,
                &self.found.initial_elements,
                steps,
                choice,
            ))
        });
        opened.next().is_none_or(|core| !core.all_nodes().iter().any(is_within))
    }
}

/// The text of the warning about operations that do not see earlier calls, by their nodes.
fn lost_history_found(found: &[(&Node, ElementsBefore, Front)], kept: &[String]) -> String {
    let names: Vec<String> = found.iter().map(|(node, ..)| node.name.clone()).collect();
    let (_, before, front) = found[0];
    let first = if front.size == 1 { "the step" } else { "the first step" };
    let reads = match before {
        ElementsBefore::Pads => {
            format!("before {first} of a call it reads padding, not the steps before")
        }
        ElementsBefore::Zero => "it begins at zero in every call".to_owned(),
    };
    let rest_of_list = match names.len() {
        1 => String::new(),
        2..=MOST_NAMED => format!("; so do {}", listed(&names[1..])),
        count => format!("; so do {} other operations", count - 1),
    };
    let rest_of_list =
        if names.len() == 2 { rest_of_list.replacen("do", "does", 1) } else { rest_of_list };
    format!(
        "{} sees the steps of one call only: {reads}, while {} from call to call{rest_of_list}",
        quoted(&names[0]),
        states_go_on(kept)
    )
}
