//! Notices about pairs refused by the search for states.

use super::reasons::{layer_of, why};
use super::{OWN_INPUTS, StateMessages};
use crate::core::{StatePair, StepOrder};
use crate::diagnostic::{Diagnostic, Message, Origin, Setting, listed, message, quoted};
use crate::stream::states::{Misfit, Reason, RefusedPair};

/// A name as in a command: escaped, without the quotes of messages.
fn bare(name: &str) -> String {
    let name = quoted(name);
    name[1..name.len() - 1].to_owned()
}

/// Every pair that is a state or may become a state, each tensor in one pair. `--state` names all
/// these pairs, as the option replaces found states.
fn pairs_for_option(taken: &[StatePair], refused: &[RefusedPair]) -> Vec<StatePair> {
    let mut pairs = taken.to_vec();
    for refused in refused
        .iter()
        .filter(|pair| matches!(pair.reason, Reason::Doubt(_)) && pair.other_results.is_empty())
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

impl StateMessages<'_, '_> {
    /// Reports refused pairs. Pairs of one layer with one reason, for example h and c, share a
    /// notice.
    pub(super) fn refused(&mut self, refused: &[RefusedPair]) {
        let model = &self.found.core;
        let whole = pairs_for_option(&model.states, refused);
        // h and c of a layer that are refused for the same reason
        let alike = |a: &RefusedPair, b: &RefusedPair| {
            let layer = |pair: &RefusedPair| layer_of(&pair.reason).map(std::ptr::from_ref);
            let have_no_others = a.other_results.is_empty() && b.other_results.is_empty();
            why(model, &a.reason) == why(model, &b.reason) && layer(a) == layer(b) && have_no_others
        };
        refused.chunk_by(alike).for_each(|refused| self.not_taken(refused, &whole));
    }

    /// Reports pairs refused for one reason. `whole`: the pairs that `--state` names, see
    /// [`pairs_for_option`].
    fn not_taken(&mut self, refused: &[RefusedPair], whole: &[StatePair]) {
        let reason = &refused[0].reason;
        let layer = layer_of(reason);
        let origin = layer.map_or(Origin::Unknown, |node| node.origin.clone());
        let mut notice = Diagnostic::notice(origin, self.text_of_refusal(refused));
        if let Some(node) = layer {
            notice = notice.layer(node.label());
        }
        self.diagnostics.push(notice.help(self.help_of_refusal(refused, whole)));
    }

    /// The text of a refusal: the pairs, and the first reason against a state.
    fn text_of_refusal(&self, refused: &[RefusedPair]) -> String {
        let inputs: Vec<String> = refused.iter().map(|r| self.input(r.pair.parameter)).collect();
        let results =
            refused.iter().flat_map(|r| [&[r.pair.result], &r.other_results[..]].concat());
        let outputs: Vec<String> = results.map(|result| self.output(result)).collect();
        let why = why(&self.found.core, &refused[0].reason);
        match (&inputs[..], &outputs[..]) {
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
        }
    }

    /// Advice for pairs with one reason.
    fn help_of_refusal(&self, refused: &[RefusedPair], whole: &[StatePair]) -> Message {
        let RefusedPair { reason, other_results: others, pair } = &refused[0];
        let pronoun = if refused.len() > 1 { "them" } else { "it" };
        let pairs: Vec<StatePair> = refused.iter().map(|refused| refused.pair).collect();
        match reason {
            _ if !others.is_empty() => {
                let results = [&[pair.result], &others[..]].concat();
                let lines = results
                    .iter()
                    .map(|&result| self.setting(&[StatePair { result, ..*pair }], whole).into());
                message!(
                    "to keep one of them between calls, add {}",
                    Message::joined(lines, " or ")
                )
            }
            Reason::Doubt(_) if whole.len() > refused.len() => message!(
                "to keep {} between calls with the other states, add {}",
                pronoun,
                self.setting(&pairs, whole)
            ),
            Reason::Doubt(_) => {
                message!("to keep {} between calls, add {}", pronoun, self.setting(&pairs, whole))
            }
            Reason::Misfit(Misfit::HAndC(_)) => OWN_INPUTS.into(),
            Reason::Misfit(Misfit::NotForward { order: StepOrder::Lengths, layer: Some(_) }) => {
                "give the initial state at every call".into()
            }
            Reason::Misfit(Misfit::NotForward { layer: Some(_), .. }) => {
                "give the whole sequence in one call, and the initial state with it".into()
            }
            Reason::Misfit(_) => message!(
                "to have {} kept between calls, give input and output one shape in the model",
                pronoun
            ),
        }
    }

    /// The option for `pairs`, and for the pairs of `whole` with other tensors.
    fn setting(&self, pairs: &[StatePair], whole: &[StatePair]) -> Setting {
        let shares = |pair: &&StatePair| {
            pairs.iter().any(|own| own.parameter == pair.parameter || own.result == pair.result)
        };
        let unshared = whole.iter().filter(|pair| !shares(pair)).copied();
        let mut setting: Vec<StatePair> = pairs.iter().copied().chain(unshared).collect();
        setting.sort_by_key(|pair| pair.parameter);
        let named =
            |pair: &StatePair| (bare(&self.input(pair.parameter)), bare(&self.output(pair.result)));
        Setting::StateOf(setting.iter().map(named).collect())
    }
}
