//! The search for the states of a model. [`find_states`] writes states and restarts into the core
//! model, and returns the other findings, for messages of [`crate::check`].

use std::collections::HashMap;

use super::open_masks::open_masks;
use super::pairs::NotTaken;
use super::restarting::RestartingLayer;
use super::search::Search;
use super::{Recurrence, Recurrences};
use crate::core::{CoreModel, Source, StatePair, needed};
use crate::model::Node;
use crate::stream::dependence::Dependence;

/// The states to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedStates {
    Nothing,
    /// Inputs that serve only as initial states, each with the output that has the last state, and
    /// windows that operators define as states.
    Automatic,
    /// The pairs that the options name.
    Pairs(Vec<StatePair>),
}

/// The facts that the search reads besides the core model.
pub(crate) struct SearchContext<'s, 'a> {
    pub(crate) wanted: RequestedStates,
    /// By place of a recurrent operator, a loop or a product: the layer.
    pub(crate) layers: &'s HashMap<usize, &'a Node>,
    /// True if the inputs have the sizes of recorded calls. `begin_anew` is then empty.
    pub(crate) of_calls: bool,
}

/// A core model with its states, and the other findings of the search.
pub(crate) struct FoundStates<'a> {
    /// The model with its states and restarts.
    pub(crate) core: CoreModel,
    pub(crate) not_taken: NotTaken<'a>,
    /// The layers that compute several steps per call and do not continue from the previous call,
    /// each with the number of steps. Empty if no states were requested.
    pub(crate) begin_anew: Vec<(&'a Node, usize)>,
    /// The layers that compute one step per call, or per iteration of a loop, and lose their last
    /// state.
    pub(crate) restarting: Vec<RestartingLayer<'a>>,
    /// Inputs that are states and masks, added before a softmax. The masks start as zeros and mask
    /// nothing.
    pub(crate) open_masks: Vec<usize>,
    /// True if the model moves more elements than the search traces.
    pub(crate) gave_up: bool,
    /// The number of steps of each recurrence.
    pub(crate) steps: Vec<usize>,
    /// True if every recurrent cell has one row.
    pub(crate) is_one_row: bool,
    /// By tensor and element: the number of elements of initial states that come from this element.
    pub(crate) initial_elements: HashMap<Source, Vec<usize>>,
}

/// Finds the states of a model and writes the states into the model, together with the layers
/// outside of loops whose last states are lost.
pub(crate) fn find_states<'a>(
    mut core: CoreModel,
    given: &SearchContext<'_, 'a>,
) -> FoundStates<'a> {
    let needed = needed(&core);
    let recurrences = Recurrences::new(&core, &needed);
    let search =
        Search { model: &core, recurrences: &recurrences, needed: &needed, layers: given.layers };
    let (states, not_taken) = match &given.wanted {
        RequestedStates::Nothing => (Vec::new(), NotTaken::Nothing),
        RequestedStates::Automatic => search.automatic_states(),
        RequestedStates::Pairs(pairs) => search.given_states(pairs),
    };
    let dependence = Dependence::new(&core, &core.all_nodes());
    let continued = recurrences.continued(&core, &dependence);
    let lost = search.lost(&dependence, &continued);
    let begin_anew = if given.wanted == RequestedStates::Nothing || given.of_calls {
        Vec::new()
    } else {
        search.begin_anew(&dependence, &continued)
    };
    let restarting = search.restarting(lost);
    let open_masks = open_masks(&core, &recurrences, &states);
    let gave_up = recurrences.flow.gave_up();
    let has_one_row = |found: &Recurrence| found.cell.is_none_or(|(cell, _)| cell.batch == 1);
    let (steps, is_one_row) = (
        recurrences.all.iter().map(|recurrence| recurrence.steps).collect(),
        recurrences.all.iter().all(has_one_row),
    );
    let initial_elements = recurrences.initial_elements;
    core.states = states;
    core.restarts = restarting.iter().filter_map(RestartingLayer::restart).collect();
    FoundStates {
        core,
        not_taken,
        begin_anew,
        restarting,
        open_masks,
        gave_up,
        steps,
        is_one_row,
        initial_elements,
    }
}
