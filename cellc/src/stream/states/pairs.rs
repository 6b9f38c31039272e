//! The choice of pairs: an input and an output that are one state before and after a call. Other
//! pairs get the reason why they are no state.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::search::Search;
use super::{NameWords, Reach, UpdateKind, offered, reached, windows};
use crate::core::{CoreModel, ResultValue, Source, StatePair, StepOrder};
use crate::model::Node;

/// The pairs that the search does not take as states.
pub(crate) enum NotTaken<'a> {
    /// No states were requested.
    Nothing,
    Automatic {
        /// Pairs that look like states, each with the reason against the pair.
        refused: Vec<RefusedPair<'a>>,
        /// Pairs of integers with the names of states.
        integers: Vec<StatePair>,
    },
    /// For each pair of the options, the reason why the pair is no state. `None` for a state.
    Given(Vec<Option<Misfit<'a>>>),
}

/// An input and an output that look like a state without being one.
pub(crate) struct RefusedPair<'a> {
    pub(crate) pair: StatePair,
    pub(crate) reason: Reason<'a>,
    /// Other outputs that could be the next state instead of the pair's output.
    pub(crate) other_results: Vec<usize>,
}

/// The reason why the search does not take a pair.
pub(crate) enum Reason<'a> {
    /// The pair cannot be a state, even if an option names the pair.
    Misfit(Misfit<'a>),
    /// The pair is a state if an option names the pair.
    Doubt(Doubt),
}

/// The reason why a pair cannot be a state.
pub(crate) enum Misfit<'a> {
    /// The input is W, R, B or P of a cell.
    WeightInput,
    /// The input holds sequence lengths.
    LengthInput,
    IntegerInput,
    IntegerOutput,
    /// Input and output differ in shape.
    Shape {
        input: Vec<usize>,
        output: Vec<usize>,
    },
    /// The input or the output is in an earlier pair that is a state.
    InAnotherPair,
    /// A layer between the input and the output runs in reverse or has sequence lengths.
    NotForward {
        order: StepOrder,
        layer: Option<&'a Node>,
    },
    /// h and c of an LSTM start from the same element of the input.
    HAndC(Option<&'a Node>),
}

/// The reason why a pair is a state only if an option names the pair.
pub(crate) enum Doubt {
    /// The output holds the elements in another order.
    OtherOrder,
    /// This many outputs hold the next value.
    SeveralOutputs(usize),
    /// The input is also read for another purpose than as an initial state, or returned.
    ReadOtherwise,
    /// Several elements of states start from the same element of the input.
    SeveralLayers,
    /// The pair's output has the better name, but the output with this index holds the next state.
    OtherName(usize),
    /// The output is not the last state of recurrent operators that start from the input. `None` if
    /// only the names suggest a state.
    OtherUpdate(Option<UpdateKind>),
}

/// An output that holds the new value of a state input.
struct Update {
    parameter: usize,
    /// True if every element keeps its index.
    in_place: bool,
    /// The recurrences between the input and the output.
    through: BTreeSet<usize>,
}

/// The output of a pair. Refused if another output has the shape of the input, is computed from the
/// input, and has the name of the input's next state, but the pair's output has no such name.
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
    let candidates: Vec<usize> = (0..model.results.len()).filter(fits).collect();
    if candidates.is_empty() || named(pair.result) {
        return Ok(pair.result);
    }
    let computed = reached(model, &[Source::Parameter(pair.parameter)], Reach::Any);
    let Some(result) =
        candidates.into_iter().find(|&other| computed.contains(&model.results[other].source))
    else {
        return Ok(pair.result);
    };
    let reason = Reason::Doubt(Doubt::OtherName(pair.result));
    Err(RefusedPair { pair: StatePair { result, ..pair }, reason, other_results: Vec::new() })
}

impl<'a> Search<'_, '_, 'a> {
    /// The states: inputs that are only initial states of forward recurrent operators, with the
    /// last states in one output, and windows that operators define as states. Also returns the
    /// pairs that look like states, each with the reason against the pair.
    pub(super) fn automatic_states(&self) -> (Vec<StatePair>, NotTaken<'a>) {
        let Self { model, recurrences, needed, .. } = *self;
        let mut taken = Vec::new();
        let mut refused = Vec::new();
        for (parameter, updates) in self.updates() {
            let next = self.next_value(parameter, &updates);
            match next
                .and_then(|result| unless_named_otherwise(model, StatePair { parameter, result }))
            {
                Ok(result) => taken.push(StatePair { parameter, result }),
                Err(why) => refused.push(why),
            }
        }
        for window in windows(model, &recurrences.flow) {
            let shares = |pair: &StatePair| {
                pair.parameter == window.parameter || pair.result == window.result
            };
            if taken.iter().chain(refused.iter().map(|refused| &refused.pair)).any(shares) {
                continue;
            }
            match unless_named_otherwise(model, window) {
                Ok(result) => taken.push(StatePair { result, ..window }),
                Err(why) => refused.push(why),
            }
        }
        taken.sort_by_key(|pair| pair.parameter);
        let known: Vec<StatePair> =
            taken.iter().copied().chain(refused.iter().map(|refused| refused.pair)).collect();
        let offers = offered(model, recurrences, needed, &known);
        refused.extend(offers.into_iter().map(|offer| RefusedPair {
            pair: offer.pair,
            reason: Reason::Doubt(Doubt::OtherUpdate(offer.update)),
            other_results: offer.other_results,
        }));
        (taken, NotTaken::Automatic { refused, integers: integers_like_states(model) })
    }

    /// By input: the outputs that hold the next value.
    fn updates(&self) -> BTreeMap<usize, Vec<(usize, Update)>> {
        let Self { model, recurrences, .. } = *self;
        let mut updates: BTreeMap<usize, Vec<(usize, Update)>> = BTreeMap::new();
        let mut by_y: Vec<(usize, Update)> = Vec::new();
        let sizes: HashSet<usize> =
            recurrences.initial_elements.keys().map(|&source| model.len(source)).collect();
        for (result, returned) in model.results.iter().enumerate() {
            if !sizes.contains(&model.len(returned.source)) {
                continue;
            }
            for y in [false, true] {
                let update = recurrences.update(model, returned.source, y);
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
        // the last step of Y equals the last state: Y counts if no other output holds the last
        // state
        for (result, update) in by_y {
            updates.entry(update.parameter).or_insert_with(|| vec![(result, update)]);
        }
        updates
    }

    /// The output that holds the next value of an input, or the reason why the input is no state.
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
        let in_place = fits.iter().filter(|(_, update)| update.in_place).count();
        let source = Source::Parameter(parameter);
        let reason = if let Some(wrong) = recurrences.not_forward(&update.through) {
            let (order, layer) = (wrong.order, self.layer(wrong.layer));
            Reason::Misfit(Misfit::NotForward { order, layer })
        } else if fits.is_empty() {
            let output = model.results[*result].shape.clone();
            Reason::Misfit(Misfit::Shape { input: shape.clone(), output })
        } else if in_place == 0 {
            Reason::Doubt(Doubt::OtherOrder)
        } else if let Some(layer) = recurrences.of_h_and_c(source) {
            Reason::Misfit(Misfit::HAndC(self.layer(layer)))
        } else if in_place > 1 {
            Reason::Doubt(Doubt::SeveralOutputs(in_place))
        } else if recurrences.read.contains(&source) {
            Reason::Doubt(Doubt::ReadOtherwise)
        } else if !recurrences.serves_only_as_state(source) {
            Reason::Doubt(Doubt::SeveralLayers)
        } else {
            return Ok(*result);
        };
        let pair = StatePair { parameter, result: *result };
        Err(RefusedPair { pair, reason, other_results: Vec::new() })
    }

    /// The pairs of the options that are states, and for each pair the reason why the pair is no
    /// state.
    pub(super) fn given_states(&self, pairs: &[StatePair]) -> (Vec<StatePair>, NotTaken<'a>) {
        let mut states: Vec<StatePair> = Vec::new();
        let mut misfits = Vec::new();
        for &pair in pairs {
            let misfit = self.misfit(pair, &states);
            if misfit.is_none() {
                states.push(pair);
            }
            misfits.push(misfit);
        }
        (states, NotTaken::Given(misfits))
    }

    /// The reason why a pair of the options cannot be a state. `None` for a state. `states`: the
    /// earlier pairs that are states.
    fn misfit(&self, pair: StatePair, states: &[StatePair]) -> Option<Misfit<'a>> {
        let Self { model, recurrences, .. } = *self;
        let StatePair { parameter, result } = pair;
        let (input, output) = (&model.parameters[parameter], &model.results[result]);
        let source = Source::Parameter(parameter);
        if input.weight || !input.element.is_float() {
            return Some(match (input.weight, input.length) {
                (true, _) => Misfit::WeightInput,
                (false, Some(_)) => Misfit::LengthInput,
                (false, None) => Misfit::IntegerInput,
            });
        }
        if !output.element.is_float() {
            return Some(Misfit::IntegerOutput);
        }
        if input.shape != output.shape {
            let (input, output) = (input.shape.clone(), output.shape.clone());
            return Some(Misfit::Shape { input, output });
        }
        if states.iter().any(|pair| pair.parameter == parameter || pair.result == result) {
            return Some(Misfit::InAnotherPair);
        }
        if let Some(wrong) = recurrences.not_forward_between(model, parameter, output.source) {
            let (order, layer) = (wrong.order, self.layer(wrong.layer));
            return Some(Misfit::NotForward { order, layer });
        }
        let layer = recurrences.of_h_and_c(source)?;
        let (updated, ..) = recurrences.update(model, output.source, true)?;
        (updated == source).then(|| Misfit::HAndC(self.layer(layer)))
    }
}

/// Pairs of an integer input and an integer output of equal shape, computed from the input, that
/// have the names of a state.
fn integers_like_states(model: &CoreModel) -> Vec<StatePair> {
    let mut found = Vec::new();
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
        let mut results = model.results.iter();
        let result = results.position(|result| fits(&result) && computed.contains(&result.source));
        found.extend(result.map(|result| StatePair { parameter, result }));
    }
    found
}
