//! Pairs of an input and an output that are likely a state, although the output is not the last
//! state of recurrent operators that start from the input. Messages offer these pairs to the user.

use super::Recurrences;
use super::passages::{MOST_FOLLOWED, New, Passages, UpdateKind};
use super::state_names::NameWords;
use crate::core::{CoreModel, Source, StatePair};

/// An input and an output offered as a state.
pub(crate) struct Offer {
    pub(crate) pair: StatePair,
    /// How the output is computed from the input. `None` if only the names suggest a state.
    pub(crate) update: Option<UpdateKind>,
    /// Other outputs that could be the next state instead of the pair's output.
    pub(crate) other_results: Vec<usize>,
}

/// An input, and an output of equal shape computed from the input.
struct Candidate {
    pair: StatePair,
    update: Option<UpdateKind>,
    /// True if the names are those of one state before and after a call.
    named: bool,
}

/// The search for pairs to offer.
struct Search<'m> {
    model: &'m CoreModel,
    inputs: Vec<NameWords>,
    outputs: Vec<NameWords>,
    candidates: Vec<Candidate>,
    offers: Vec<Offer>,
}

/// A pair, the other outputs that could be the next state, and how the pair's output is computed.
type SeveralOutputs = (StatePair, Vec<usize>, Option<UpdateKind>);

/// The new elements of a window. `None` if `update` is no window.
fn added(update: Option<UpdateKind>) -> Option<New> {
    update.and_then(UpdateKind::added_to_window)
}

/// The pairs to offer. `known`: pairs already taken as states or refused.
pub(crate) fn offered(
    model: &CoreModel,
    recurrences: &Recurrences,
    needed: &[bool],
    known: &[StatePair],
) -> Vec<Offer> {
    let mut search = Search {
        model,
        inputs: model.parameters.iter().map(|parameter| NameWords::new(&parameter.names)).collect(),
        outputs: model.results.iter().map(|result| NameWords::new(&result.names)).collect(),
        candidates: Vec::new(),
        offers: Vec::new(),
    };
    search.collect(&Passages::new(model, recurrences, needed), known);
    search.by_names();
    search.one_by_one(Search::is_sure);
    search.one_by_one(Search::is_likely);
    search.one_by_one(Search::is_half_named);
    search.of_several();
    if search.offers.iter().any(|offer| added(offer.update) == Some(New::Computed)) {
        search.one_by_one(Search::is_mask_of_window);
    }
    search.offers
}

impl Search<'_> {
    fn collect(&mut self, passages: &Passages, known: &[StatePair]) {
        let model = self.model;
        let is_free = |&parameter: &usize| {
            let input = &model.parameters[parameter];
            let fits = model.results.iter().any(|result| result.shape == input.shape);
            fits && !input.weight
                && input.element.is_float()
                && known.iter().all(|pair| pair.parameter != parameter)
        };
        let inputs: Vec<usize> =
            (0..model.parameters.len()).filter(is_free).take(MOST_FOLLOWED).collect();
        for parameter in inputs {
            let start = passages.start(parameter);
            for (result, returned) in model.results.iter().enumerate() {
                let taken = known.iter().any(|pair| pair.result == result);
                let same = returned.source == Source::Parameter(parameter);
                let shape = returned.element.is_float()
                    && returned.shape == model.parameters[parameter].shape;
                let fits = shape && start.any.contains(&returned.source);
                if taken || same || !fits || passages.runs_otherwise(&start, returned.source) {
                    continue;
                }
                let update = passages.update_kind(&start, returned.source);
                let named = self.inputs[parameter].become_names(&self.outputs[result]);
                self.candidates.push(Candidate {
                    pair: StatePair { parameter, result },
                    update,
                    named,
                });
            }
        }
    }

    fn offer(&mut self, pair: StatePair, update: Option<UpdateKind>, others: Vec<usize>) {
        let gone = |other: &StatePair| {
            other.parameter == pair.parameter
                || other.result == pair.result
                || others.contains(&other.result)
        };
        self.candidates.retain(|candidate| !gone(&candidate.pair));
        self.offers.push(Offer { pair, update, other_results: others });
    }

    /// Offers each pair of matching names whose input and output are in no other pair of matching
    /// names.
    fn by_names(&mut self) {
        let named: Vec<&Candidate> =
            self.candidates.iter().filter(|candidate| candidate.named).collect();
        let once = |other: &&&Candidate| {
            let shares = |c: &&&Candidate| {
                c.pair.parameter == other.pair.parameter || c.pair.result == other.pair.result
            };
            named.iter().filter(shares).count() == 1
        };
        let found: Vec<(StatePair, Option<UpdateKind>)> =
            named.iter().filter(once).map(|c| (c.pair, c.update)).collect();
        found.into_iter().for_each(|(pair, update)| self.offer(pair, update, Vec::new()));
    }

    /// Offers pairs one by one, until no pair is found: an input with a single candidate, if no
    /// other input has the candidate's output as its single candidate. `counts` selects the
    /// candidates.
    fn one_by_one(&mut self, counts: fn(&Self, &Candidate) -> bool) {
        loop {
            let counting: Vec<&Candidate> =
                self.candidates.iter().filter(|c| counts(self, c)).collect();
            let alone = |other: &&&Candidate| {
                counting.iter().filter(|c| c.pair.parameter == other.pair.parameter).count() == 1
            };
            let single: Vec<&&Candidate> = counting.iter().filter(alone).collect();
            let once = |candidate: &&&&Candidate| {
                single.iter().filter(|c| c.pair.result == candidate.pair.result).count() == 1
            };
            let Some(found) = single.iter().find(once) else { return };
            let (pair, update) = (found.pair, found.update);
            self.offer(pair, update, Vec::new());
        }
    }

    /// True if the model has another input, apart from weights and sequence lengths.
    fn has_others(&self, parameter: usize) -> bool {
        self.model
            .parameters
            .iter()
            .enumerate()
            .any(|(i, p)| i != parameter && !p.weight && p.length.is_none())
    }

    fn is_sure(&self, candidate: &Candidate) -> bool {
        let parameter = candidate.pair.parameter;
        candidate.update.is_some_and(UpdateKind::is_sure)
            && self.has_others(parameter)
            && !self.inputs[parameter].are_data()
    }

    fn is_likely(&self, candidate: &Candidate) -> bool {
        let StatePair { parameter, result } = candidate.pair;
        let data = self.inputs[parameter].are_data() || self.outputs[result].are_data();
        let constants = added(candidate.update) == Some(New::Constant);
        candidate.update.is_some() && !constants && self.has_others(parameter) && !data
    }

    /// True if all new elements of the output are constants: next to a window with computed new
    /// elements, the input is a mask of the filled places in the window.
    fn is_mask_of_window(&self, candidate: &Candidate) -> bool {
        added(candidate.update) == Some(New::Constant)
    }

    fn is_half_named(&self, candidate: &Candidate) -> bool {
        let StatePair { parameter, result } = candidate.pair;
        let named =
            self.inputs[parameter].are_surely_state() && !self.outputs[result].are_findings();
        named && self.has_others(parameter)
    }

    /// Offers inputs that are surely states but have several possible outputs, if no other input
    /// has one of these outputs as a possible output.
    fn of_several(&mut self) {
        let mut several: Vec<SeveralOutputs> = Vec::new();
        for candidate in self.candidates.iter().filter(|candidate| self.is_sure(candidate)) {
            let StatePair { parameter, result } = candidate.pair;
            match several.iter_mut().find(|(pair, ..)| pair.parameter == parameter) {
                Some((_, others, _)) => others.push(result),
                None => several.push((candidate.pair, Vec::new(), candidate.update)),
            }
        }
        let results = |(pair, others, _): &SeveralOutputs| [&[pair.result], &others[..]].concat();
        let candidates: Vec<usize> = several.iter().flat_map(results).collect();
        let alone = |several: &SeveralOutputs| {
            results(several)
                .iter()
                .all(|result| candidates.iter().filter(|other| *other == result).count() == 1)
        };
        let found: Vec<SeveralOutputs> =
            several.iter().filter(|several| alone(several)).cloned().collect();
        found.into_iter().for_each(|(pair, others, update)| self.offer(pair, update, others));
    }
}
