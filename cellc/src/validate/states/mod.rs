//! Which inputs are states, which look like it, and what nothing keeps from call to call.

mod anew;
mod history;
mod masks;
mod offered;
mod restarts;

pub(crate) use history::SEES_ONE_CALL;
pub(super) use history::{kept_states, states_go_on};
pub(crate) use restarts::STARTS_ANEW;
mod through;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::flow::{Flow, Producer, TensorElement};
use super::interface::{find_name, list_names, name};
use super::{Validation, sweep};
use crate::core::{CoreCell, CoreLoop, CoreModel, CoreNode, CoreOp, Lengths, ResultValue, Source, StatePair};
use crate::diagnostic::{Diagnostic, Origin, Setting, listed, quoted};
use crate::model::{Direction, Node, Op};
use crate::request::State;
use through::Reach;

/// True if a warning says that something begins anew at every call.
pub(super) fn begins_anew(found: &str) -> bool {
    found.contains(STARTS_ANEW) || found.contains(SEES_ONE_CALL)
}

/// How a recurrent operator goes through time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// From the first step to the last, all of them.
    Forward,
    /// From the last step to the first.
    Reverse,
    /// Each row has steps of its own.
    Lengths,
}

/// Something that a recurrent operator hands from step to step: h, c, or a back edge of a loop.
struct Recurrence<'m> {
    /// What it is before the first step, by element; `None` where the way there is too long.
    initial: Option<Vec<TensorElement>>,
    /// The values that hold it after the last step.
    last: Vec<usize>,
    order: Order,
    steps: usize,
    /// The cell and which of its states; `None` of a loop.
    cell: Option<(&'m CoreCell, char)>,
    /// The value by which [`Validation::places`] knows the layer.
    place: usize,
}

/// Every recurrence of a model, and what of the model reads a tensor for something else.
pub(super) struct Recurrences<'m> {
    flow: Flow<'m>,
    all: Vec<Recurrence<'m>>,
    /// By value that holds a state after the last step.
    by_last: HashMap<usize, usize>,
    /// By Y of a sequence.
    by_y: HashMap<usize, usize>,
    /// By what is no value of an operation that only moves elements: how often each element is an
    /// initial state.
    starts: HashMap<Source, Vec<usize>>,
    /// What is read otherwise.
    read: BTreeSet<Source>,
}

/// An output whose elements are those of an input, some steps later.
struct Update {
    parameter: usize,
    /// Whether each element becomes the one in its own place.
    in_place: bool,
    /// The recurrences that they pass.
    through: BTreeSet<usize>,
}

impl<'m> Recurrences<'m> {
    /// `needed`: by value, whether anything depends on it.
    pub(super) fn new(model: &'m CoreModel, needed: &[bool]) -> Self {
        let is_needed = |node: &&CoreNode| node.op.outputs().iter().any(|&value| needed[value]);
        let nodes: Vec<&CoreNode> = model.all_nodes().into_iter().filter(is_needed).collect();
        let flow = Flow::new(model, &nodes);
        let mut found = Self {
            flow,
            all: Vec::new(),
            by_last: HashMap::new(),
            by_y: HashMap::new(),
            starts: HashMap::new(),
            read: BTreeSet::new(),
        };
        found.reads(model, &nodes);
        // bodies before their loops
        for node in nodes.iter().rev() {
            match &node.op {
                CoreOp::Cell(cell) => found.cell(cell),
                CoreOp::Loop(body) if body.trips > 1 => found.back_edges(model, body),
                _ => {}
            }
        }
        found
    }

    fn add(&mut self, recurrence: Recurrence<'m>) -> usize {
        for &(source, index) in recurrence.initial.iter().flatten() {
            let starts = self.starts.entry(source).or_default();
            if starts.len() <= index {
                starts.resize(index + 1, 0);
            }
            starts[index] += 1;
        }
        let index = self.all.len();
        recurrence.last.iter().for_each(|&value| _ = self.by_last.insert(value, index));
        self.all.push(recurrence);
        index
    }

    fn cell(&mut self, cell: &'m CoreCell) {
        let (order, steps) = match &cell.sequence {
            None => (Order::Forward, 1),
            Some(s) if s.reverse => (Order::Reverse, s.steps),
            Some(s) if s.lengths != Lengths::Full => (Order::Lengths, s.steps),
            Some(s) => (Order::Forward, s.steps),
        };
        let place = place_of(cell);
        for (initial, last, letter) in [(Some(cell.h), cell.h_out, 'h'), (cell.c, cell.c_out, 'c')] {
            let Some(initial) = initial else { continue };
            let initial = self.flow.origins(initial);
            let last = last.into_iter().collect();
            let index = self.add(Recurrence { initial, last, order, steps, cell: Some((cell, letter)), place });
            if let (Some(y), 'h') = (cell.y, letter) {
                self.by_y.insert(y, index);
            }
        }
    }

    /// What a loop of several iterations hands on, where it is a state of recurrent operators of
    /// its body and nothing else.
    fn back_edges(&mut self, model: &CoreModel, body: &'m CoreLoop) {
        for carried in &body.carried {
            let value = Source::Value(carried.value);
            let update = self.update(model, carried.next, false).filter(|(source, ..)| *source == value);
            let last: Vec<usize> =
                body.results.iter().filter(|r| r.pieces.is_none() && r.of == carried.next).map(|r| r.out).collect();
            match update {
                Some((_, true, through)) if self.serves_only_as_state(value) && !last.is_empty() => {
                    let orders: Vec<Order> = through.iter().map(|&i| self.all[i].order).collect();
                    let order = match orders.iter().find(|order| **order != Order::Forward) {
                        Some(order) => *order,
                        None if body.slices.iter().any(|slice| slice.reverse) => Order::Reverse,
                        None => Order::Forward,
                    };
                    let initial = self.flow.origins(carried.initial);
                    let (steps, place) = (body.trips, carried.value);
                    self.add(Recurrence { initial, last, order, steps, cell: None, place });
                }
                _ => self.mark(vec![carried.initial]),
            }
        }
    }

    /// Whether a tensor is read by recurrent operators alone, each element as the initial state of
    /// one.
    fn serves_only_as_state(&self, source: Source) -> bool {
        !self.read.contains(&source) && self.starts.get(&source).is_none_or(|starts| starts.iter().all(|n| *n <= 1))
    }

    /// True if an element of a tensor is the initial h and the initial c of one LSTM: exporters
    /// merge tensors that are given twice.
    fn starts_h_and_c(&self, source: Source) -> bool {
        self.of_h_and_c(source).is_some()
    }

    /// The place of such an LSTM.
    fn of_h_and_c(&self, source: Source) -> Option<usize> {
        let of = |letter: char| {
            let all = self.all.iter().filter(move |r| r.cell.is_some_and(|(_, own)| own == letter));
            all.flat_map(move |r| {
                let initial = r.initial.iter().flatten().filter(move |(from, _)| *from == source);
                initial.map(move |element| (r.place, *element))
            })
        };
        let c: Vec<_> = of('c').collect();
        of('h').find(|start| c.contains(start)).map(|(place, _)| place)
    }

    /// What reads tensors for what they hold.
    fn reads(&mut self, model: &CoreModel, nodes: &[&CoreNode]) {
        let mut read: Vec<Source> = model.results.iter().map(|result| result.source).collect();
        read.extend(model.variables.iter().filter_map(|variable| variable.next));
        for node in nodes {
            match &node.op {
                CoreOp::View(_) | CoreOp::Concat(_) => {}
                CoreOp::Cell(cell) => read.extend([Some(cell.x), cell.a].into_iter().flatten()),
                CoreOp::Loop(body) if body.trips == 1 => {}
                CoreOp::Loop(body) => {
                    read.extend(body.slices.iter().map(|slice| slice.of));
                    read.extend(body.results.iter().filter(|r| r.pieces.is_some()).map(|r| r.of));
                    // initial values once it is known what they are
                }
                op => read.extend(op.reads()),
            }
        }
        self.mark(read);
    }

    /// Marks what is read, and what that is moved from.
    fn mark(&mut self, read: Vec<Source>) {
        let mut open = read;
        while let Some(source) = open.pop() {
            if !self.read.insert(source) {
                continue;
            }
            if let Source::Value(value) = source {
                match self.flow.producer(value) {
                    Producer::View(view) => open.push(view.input),
                    Producer::Concat(concat) => open.extend(&concat.inputs),
                    Producer::Same(source) => open.push(source),
                    Producer::Operation => {}
                }
            }
        }
    }

    /// The recurrence and the element of its state that an element is after the last step; `by_y`:
    /// as Y says it, too.
    fn last(&self, (source, index): TensorElement, by_y: bool) -> Option<(usize, usize)> {
        let Source::Value(value) = source else { return None };
        if let Some(&recurrence) = self.by_last.get(&value) {
            return Some((recurrence, index));
        }
        let recurrence = *self.by_y.get(&value).filter(|_| by_y)?;
        let (cell, _) = self.all[recurrence].cell?;
        let sequence = cell.sequence.as_ref()?;
        let (unit, step, row) = (
            index % cell.hidden_size,
            index / cell.hidden_size % sequence.steps,
            index / cell.hidden_size / sequence.steps,
        );
        let last = if sequence.reverse { 0 } else { sequence.steps - 1 };
        (step == last && sequence.lengths == Lengths::Full).then_some((recurrence, row * cell.hidden_size + unit))
    }

    /// Where the state began that a tensor holds after the last step: the tensor, whether each
    /// element becomes the one in its own place, and what it passes. `None` where an element is
    /// anything else, or of another tensor.
    fn update(&self, model: &CoreModel, source: Source, by_y: bool) -> Option<(Source, bool, BTreeSet<usize>)> {
        let mut all: Option<(Source, bool, BTreeSet<usize>)> = None;
        for (place, element) in self.flow.origins(source)?.into_iter().enumerate() {
            let (recurrence, index) = self.last(element, by_y)?;
            let (from, at) = self.all[recurrence].initial.as_ref()?[index];
            let (of, in_place, through) = all.get_or_insert((from, true, BTreeSet::new()));
            if *of != from {
                return None;
            }
            *in_place &= at == place;
            through.insert(recurrence);
        }
        all.filter(|(of, ..)| model.len(*of) == model.len(source))
    }
}

impl<'m> Recurrences<'m> {
    /// One of those that is not forward, or takes not every step.
    fn not_forward(&self, through: &BTreeSet<usize>) -> Option<&Recurrence<'m>> {
        let of = |order: Order| through.iter().map(|&index| &self.all[index]).find(|r| r.order == order);
        of(Order::Reverse).or_else(|| of(Order::Lengths))
    }

    /// A recurrence that is not forward, starts from a part of the parameter, and ends in a part of
    /// the tensor; arithmetic element by element may come before and behind it.
    fn never(&self, model: &CoreModel, parameter: usize, source: Source) -> Option<&Recurrence<'m>> {
        let ends: BTreeSet<usize> =
            self.flow.origins(source)?.into_iter().filter_map(|e| self.last(e, true)).map(|(index, _)| index).collect();
        let near = through::reached(model, &[Source::Parameter(parameter)], Reach::Near);
        let starts = |index: &usize| self.all[*index].initial.iter().flatten().any(|(source, _)| near.contains(source));
        let ends_near = |index: &usize| {
            let of = &self.all[*index];
            let reaches =
                |&last: &usize| through::reached(model, &[Source::Value(last)], Reach::Near).contains(&source);
            of.order != Order::Forward && of.last.iter().any(reaches)
        };
        let started: Vec<usize> = (0..self.all.len()).filter(starts).collect();
        self.not_forward(&started.into_iter().filter(|index| ends.contains(index) || ends_near(index)).collect())
    }
}

/// Why a state is never kept.
fn why_never(recurrence: &Recurrence, layer: Option<&Node>) -> String {
    let name = layer.map_or(String::new(), |node| format!("{} ", quoted(&node.name)));
    match recurrence.order {
        Order::Lengths => format!(
            "{name}has sequence lengths, and the last state of a row without steps is zero, not the state before"
        ),
        _ => {
            let direction = match layer.map(|node| &node.op) {
                Some(Op::Sequence(_, direction)) => *direction,
                _ => Direction::Reverse,
            };
            format!(
                "{name}runs {}, and the last state of the reverse direction belongs to the first step",
                way(direction)
            )
        }
    }
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Reverse => "in reverse",
        Direction::Bidirectional => "in both directions",
    }
}

/// A name as it may stand in a command.
fn bare(name: &str) -> String {
    let name = quoted(name);
    name[1..name.len() - 1].to_owned()
}

/// What the layer is called in OpenVINO.
fn kind_of(node: &Node) -> String {
    match &node.op {
        Op::Cell(cell) => cell.kind.op_name().to_owned(),
        Op::Sequence(cell, _) => cell.kind.sequence_name().to_owned(),
        _ => node.kind.split(',').next().unwrap_or_default().to_owned(),
    }
}

/// Whether the state of a cell goes on from call to call as it does from step to step: each element
/// of `last` becomes, by way of a pair or a variable, the same element of `initial`.
pub(super) fn goes_on(flow: &Flow, model: &CoreModel, initial: Source, last: Option<usize>) -> bool {
    let Some(initial) = flow.origins(initial) else { return false };
    let mut kept: HashMap<Source, Option<Vec<TensorElement>>> = HashMap::new();
    initial.iter().enumerate().all(|(place, &(source, index))| {
        let next = match source {
            Source::Parameter(parameter) => {
                let pair = model.states.iter().find(|pair| pair.parameter == parameter);
                pair.map(|pair| model.results[pair.result].source)
            }
            Source::Variable(variable) => model.variables[variable].next,
            Source::Constant(_) | Source::Value(_) => None,
        };
        let Some(next) = next else { return false };
        let next = kept.entry(source).or_insert_with(|| flow.origins(next));
        let element = next.as_ref().and_then(|next| next.get(index));
        element.is_some_and(|&(source, at)| last.map(Source::Value) == Some(source) && at == place)
    })
}

/// The value by which a cell is known among all.
fn place_of(cell: &CoreCell) -> usize {
    [cell.h_out, cell.c_out, cell.y]
        .into_iter()
        .flatten()
        .next()
        .expect("validate: a cell has outputs before the sweep")
}

/// What separates h and c of an LSTM that one input gives.
const OWN_INPUTS: &str = "export the model with a tensor of its own for h and for c";

/// What keeps a pair that is not taken for a state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// The option `--state`.
    Option,
    /// Another model: one shape for the input and the output.
    Shape,
    /// Another model: an input for h and another one for c.
    Inputs,
}

/// An input and an output that are no state, though they look like one.
struct Refused<'a> {
    pair: StatePair,
    why: String,
    /// The layer that is the reason, and how it goes through time.
    layer: Option<(&'a Node, Order)>,
    remedy: Remedy,
    /// Other outputs that hold the new state as well.
    others: Vec<usize>,
}

/// The output of a pair, unless the names say that another output holds the new state: one that is
/// computed from the input and has its shape.
fn unless_named_otherwise<'a>(model: &CoreModel, pair: StatePair) -> Result<usize, Refused<'a>> {
    let input = words::Words::new(&model.parameters[pair.parameter].names);
    let named = |result: usize| input.become_names(&words::Words::new(&model.results[result].names));
    let fits = |&result: &usize| {
        result != pair.result && model.results[result].shape == model.parameters[pair.parameter].shape && named(result)
    };
    let others: Vec<usize> = (0..model.results.len()).filter(fits).collect();
    if others.is_empty() || named(pair.result) {
        return Ok(pair.result);
    }
    let computed = through::reached(model, &[Source::Parameter(pair.parameter)], Reach::Any);
    let Some(result) = others.into_iter().find(|&other| computed.contains(&model.results[other].source)) else {
        return Ok(pair.result);
    };
    let found = quoted(&name(&model.results[pair.result].names, "out", pair.result));
    let why = format!("the recurrent operator's last state is the output {found}, which has another name");
    let pair = StatePair { result, ..pair };
    Err(Refused { pair, why, layer: None, remedy: Remedy::Option, others: Vec::new() })
}

/// Every pair that is a state already or may become one, each tensor in one pair: what `--state`
/// has to name, as it replaces the states that are found.
fn whole_line(taken: &[StatePair], refused: &[Refused]) -> Vec<StatePair> {
    let mut pairs = taken.to_vec();
    for refused in refused.iter().filter(|refused| refused.remedy == Remedy::Option && refused.others.is_empty()) {
        let shares = |pair: &StatePair| pair.parameter == refused.pair.parameter || pair.result == refused.pair.result;
        if !pairs.iter().any(shares) {
            pairs.push(refused.pair);
        }
    }
    pairs.sort_by_key(|pair| pair.parameter);
    pairs
}

impl<'a> Validation<'a> {
    pub(super) fn states(&mut self) {
        let needed = sweep::needed(&self.valid);
        let model = std::mem::take(&mut self.valid);
        let recurrences = Recurrences::new(&model, &needed);
        let states = match &self.options.bindings.state {
            State::None => Vec::new(),
            State::Auto => self.automatic_states(&model, &recurrences, &needed),
            State::Pairs(pairs) => self.given_states(&model, &recurrences, pairs),
        };
        let restarts = self.restarts(&model, &recurrences, &needed);
        self.lost_history(&model, &recurrences, &states);
        self.masks_that_begin_open(&model, &recurrences, &states);
        if recurrences.flow.gave_up() && self.options.bindings.state != State::None {
            let found = "the model moves so many elements that its states were not searched for";
            let warning = Diagnostic::warning(Origin::Unknown, found);
            let help = format!("name the inputs and outputs that are states, {}", self.any_state());
            self.diagnostics.push(warning.help(help));
        }
        self.valid = model;
        self.valid.states = states;
        self.valid.restarts = restarts;
    }

    /// Inputs that serve only as the initial state of forward recurrent operators whose last state
    /// goes to one output.
    fn automatic_states(&mut self, model: &CoreModel, recurrences: &Recurrences, needed: &[bool]) -> Vec<StatePair> {
        let mut updates: BTreeMap<usize, Vec<(usize, Update)>> = BTreeMap::new();
        let mut by_y: Vec<(usize, Update)> = Vec::new();
        let sizes: HashSet<usize> = recurrences.starts.keys().map(|&source| model.len(source)).collect();
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
        // Y of one step is the state as well: it counts where nothing else is
        for (result, update) in by_y {
            updates.entry(update.parameter).or_insert_with(|| vec![(result, update)]);
        }
        let mut taken = Vec::new();
        let mut refused = Vec::new();
        for (parameter, updates) in updates {
            let judged = self.judged(model, recurrences, parameter, &updates);
            match judged.and_then(|result| unless_named_otherwise(model, StatePair { parameter, result })) {
                Ok(result) => taken.push(StatePair { parameter, result }),
                Err(why) => refused.push(why),
            }
        }
        let known: Vec<StatePair> = taken.iter().copied().chain(refused.iter().map(|refused| refused.pair)).collect();
        let offers = offered::offered(model, recurrences, needed, &known);
        refused.extend(offers.into_iter().map(|offer| Refused {
            pair: offer.pair,
            why: offer.why().to_owned(),
            layer: None,
            remedy: Remedy::Option,
            others: offer.others,
        }));
        let whole = whole_line(&taken, &refused);
        // h and c of a layer, for one reason
        let alike = |a: &Refused, b: &Refused| {
            let layer = |of: &Refused| of.layer.map(|(node, _)| std::ptr::from_ref(node));
            let one = a.others.is_empty() && b.others.is_empty();
            a.why == b.why && a.remedy == b.remedy && layer(a) == layer(b) && one
        };
        refused.chunk_by(alike).for_each(|refused| self.not_taken(model, refused, &whole));
        self.integers_like_states(model);
        taken
    }

    /// Says of integers whose names are those of a state that none is kept of them.
    fn integers_like_states(&mut self, model: &CoreModel) {
        for (parameter, input) in model.parameters.iter().enumerate() {
            if input.weight || input.length.is_some() || input.element.is_float() {
                continue;
            }
            let (source, words) = (Source::Parameter(parameter), words::Words::new(&input.names));
            let fits = |result: &&ResultValue| {
                let same = !result.element.is_float() && result.shape == input.shape && result.source != source;
                same && words.become_names(&words::Words::new(&result.names))
            };
            let computed = through::reached(model, &[source], Reach::Any);
            let Some(at) = model.results.iter().position(|of| fits(&of) && computed.contains(&of.source)) else {
                continue;
            };
            let found = format!(
                "the input {} and the output {} are not treated as a state: they are of type {}, and states are of floats",
                quoted(&name(&input.names, "in", parameter)),
                quoted(&name(&model.results[at].names, "out", at)),
                input.element.name()
            );
            let help = "give the output to the input of the next call, or keep the state as floats in the model";
            self.diagnostics.push(Diagnostic::notice(Origin::Unknown, found).help(help));
        }
    }

    /// The output that an input becomes, or why it is no state.
    fn judged(
        &self,
        model: &CoreModel,
        recurrences: &Recurrences,
        parameter: usize,
        updates: &[(usize, Update)],
    ) -> Result<usize, Refused<'a>> {
        let shape = &model.parameters[parameter].shape;
        let same_shape = |(result, _): &&(usize, Update)| model.results[*result].shape == *shape;
        let fits: Vec<_> = updates.iter().filter(same_shape).collect();
        let (result, update) = fits.iter().find(|(_, update)| update.in_place).copied().unwrap_or(&updates[0]);
        let refused = |why: String, layer, remedy| {
            Err(Refused { pair: StatePair { parameter, result: *result }, why, layer, remedy, others: Vec::new() })
        };
        if let Some(wrong) = recurrences.not_forward(&update.through) {
            let layer = self.layers.get(&wrong.place).copied();
            return refused(why_never(wrong, layer), layer.map(|layer| (layer, wrong.order)), Remedy::Shape);
        }
        if fits.is_empty() {
            let found = &model.results[*result].shape;
            return refused(format!("the input has the shape {shape:?}, the output {found:?}"), None, Remedy::Shape);
        }
        let in_place = fits.iter().filter(|(_, update)| update.in_place).count();
        if in_place == 0 {
            return refused("the output holds the elements in another order".to_owned(), None, Remedy::Option);
        }
        if recurrences.starts_h_and_c(Source::Parameter(parameter)) {
            return refused("h and c of an LSTM start from the same elements of it".to_owned(), None, Remedy::Inputs);
        }
        if in_place > 1 {
            return refused(format!("{in_place} outputs hold it"), None, Remedy::Option);
        }
        let source = Source::Parameter(parameter);
        if recurrences.read.contains(&source) {
            return refused("another operation reads the input, too".to_owned(), None, Remedy::Option);
        }
        if !recurrences.serves_only_as_state(source) {
            return refused("several layers start from the same elements of it".to_owned(), None, Remedy::Option);
        }
        Ok(*result)
    }

    /// Says which inputs and outputs look like states, and why they are none: all for the reason of
    /// the first. `whole`: every pair of the option that keeps them.
    fn not_taken(&mut self, model: &CoreModel, refused: &[Refused], whole: &[StatePair]) {
        let input = |pair: &StatePair| name(&model.parameters[pair.parameter].names, "in", pair.parameter);
        let output = |result: usize| name(&model.results[result].names, "out", result);
        let inputs: Vec<String> = refused.iter().map(|r| input(&r.pair)).collect();
        let results = refused.iter().flat_map(|r| [&[r.pair.result], &r.others[..]].concat());
        let outputs: Vec<String> = results.map(output).collect();
        let Refused { why, layer, remedy, others, pair } = &refused[0];
        let found = match (&inputs[..], &outputs[..]) {
            ([input], [output]) => format!(
                "the input {} and the output {} are not treated as a state: {why}",
                quoted(input),
                quoted(output)
            ),
            ([input], _) => format!(
                "the input {} is not treated as a state: {why}, and each of the outputs {} may be the new one",
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
            let shares =
                |pair: &&StatePair| pairs.iter().any(|of| of.parameter == pair.parameter || of.result == pair.result);
            let others = whole.iter().filter(|pair| !shares(pair)).copied();
            let mut pairs: Vec<StatePair> = pairs.iter().copied().chain(others).collect();
            pairs.sort_by_key(|pair| pair.parameter);
            let pairs: Vec<_> = pairs.iter().map(|pair| (bare(&input(pair)), bare(&output(pair.result)))).collect();
            self.options.wording.of(Setting::StateOf(&pairs))
        };
        let these: Vec<StatePair> = refused.iter().map(|refused| refused.pair).collect();
        let help = match layer {
            _ if !others.is_empty() => {
                let results = [&[pair.result], &others[..]].concat();
                let lines: Vec<String> = results.iter().map(|&result| line(&[StatePair { result, ..*pair }])).collect();
                format!("to keep one of them between calls, add {}", lines.join(" or "))
            }
            _ if *remedy == Remedy::Option && whole.len() > refused.len() => {
                format!("to keep {it} between calls with the other states, add {}", line(&these))
            }
            _ if *remedy == Remedy::Option => format!("to keep {it} between calls, add {}", line(&these)),
            _ if *remedy == Remedy::Inputs => OWN_INPUTS.to_owned(),
            Some((_, Order::Lengths)) => "give the initial state at every call".to_owned(),
            Some(_) => "give the whole sequence in one call, and the initial state with it".to_owned(),
            None => format!("to have {it} kept between calls, give input and output one shape in the model"),
        };
        self.diagnostics.push(notice.help(help));
    }

    /// How to name a pair of states.
    fn any_state(&self) -> String {
        self.options.wording.of(Setting::StateOf(&[("IN".to_owned(), "OUT".to_owned())]))
    }

    fn given_states(
        &mut self,
        model: &CoreModel,
        recurrences: &Recurrences,
        pairs: &[(String, String)],
    ) -> Vec<StatePair> {
        let inputs: Vec<Vec<String>> = model.parameters.iter().map(|p| p.names.clone()).collect();
        let outputs: Vec<Vec<String>> = model.results.iter().map(|r| r.names.clone()).collect();
        let mut states: Vec<StatePair> = Vec::new();
        for (input, output) in pairs {
            let text = format!("{}={}", quoted(input), quoted(output));
            let correct = format!("correct {}", self.options.wording.of(Setting::State));
            let mut refuse_with = |found: String, valid: String, help: &str| {
                let diagnostic = Diagnostic::error(Origin::Unknown, format!("the state {text}: {found}"));
                self.diagnostics.push(diagnostic.valid(valid).help(help));
            };
            let mut refuse = |found: String, valid: String| refuse_with(found, valid, &correct);
            let parameter = find_name(&inputs, input, "in")
                .map_err(|problem| refuse(problem, format!("the inputs of the model: {}", list_names(&inputs, "in"))));
            let result = find_name(&outputs, output, "out").map_err(|problem| {
                refuse(problem, format!("the outputs of the model: {}", list_names(&outputs, "out")))
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
                let found = format!("the input has the shape {:?}, the output {:?}", p.shape, r.shape);
                refuse(found, "an input and an output of the same shape".to_owned());
            } else if states.iter().any(|s| s.parameter == parameter || s.result == result) {
                refuse("its input or its output is in another pair".to_owned(), "each in one pair".to_owned());
            } else if let Some(wrong) = recurrences.never(model, parameter, r.source) {
                let why = why_never(wrong, self.layers.get(&wrong.place).copied());
                refuse(why, "states of forward operators that take every step".to_owned());
            } else if let Some(place) = recurrences.of_h_and_c(Source::Parameter(parameter))
                && recurrences.update(model, r.source, true).is_some_and(|(of, ..)| of == Source::Parameter(parameter))
            {
                let layer = self.layers.get(&place).map_or(String::new(), |node| format!(" of {}", quoted(&node.name)));
                let found = format!("h and c{layer} start from the same elements of the input");
                refuse_with(found, "an input for one of the two states".to_owned(), OWN_INPUTS);
            } else {
                states.push(StatePair { parameter, result });
            }
        }
        states
    }
}
