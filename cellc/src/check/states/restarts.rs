//! Warnings about recurrent layers of one step whose initial state is a constant: no call
//! continues from the call before.

use std::collections::{BTreeMap, HashSet};

use super::{States, direction_words, kind_of};
use crate::core::{CoreOp, Restart, Source};
use crate::diagnostic::{Cause, Diagnostic, Message, message, quoted};
use crate::model::{Direction, Node, Op};
use crate::request::State;
use crate::request::flag;
use crate::stream::dependence::{Change, Dependence};
use crate::stream::states::{Order, Recurrence, Start, cells_in_parts, lost, repeated_cells};

/// The states of a layer, kept by no call.
struct Lost {
    start: Start,
    /// h, c, both, or a value carried by a loop.
    states: String,
}

impl States<'_, '_> {
    /// The layers of one step that every call starts anew. Says how to keep their states.
    pub(super) fn restarts(&mut self) -> Vec<Restart> {
        let Self { model, recurrences, needed, .. } = *self;
        let dependence = Dependence::new(model, &model.all_nodes());
        let goes_on_in = recurrences.continued(model, &dependence);
        let mut found = self.lost_of_cells(&dependence, &goes_on_in);
        self.add_lost_of_loops(&dependence, &mut found);
        for place in cells_in_parts(model, &dependence, needed) {
            found.insert(place, Lost { start: Start::InParts, states: "its state".to_owned() });
        }
        self.begins_anew(&dependence, &goes_on_in);
        let mut seen: HashSet<*const Node> = HashSet::new();
        let mut restarts = Vec::new();
        let repeated = repeated_cells(model);
        for (place, lost) in found {
            let Some(&node) = self.hints.steps.layers.get(&place) else { continue };
            if !seen.insert(node) {
                continue;
            }
            if !repeated.contains(&place) {
                let mut all = recurrences.all.iter();
                let is_other = |r: &Recurrence| {
                    r.order == Order::Lengths || r.cell.is_some_and(|(c, _)| c.batch > 1)
                };
                let opens = !all.any(|r| r.place == place && is_other(r));
                self.warn_of_restart(node, &lost, opens);
                restarts.push(Restart { name: node.name.clone(), kind: kind_of(node) });
            } else if let Start::Constant { .. } = lost.start {
                self.warn_of_restart_in_loop(node, &lost);
            }
        }
        restarts
    }

    /// By place: the states of recurrent cells of one step that no call keeps. `goes_on_in`: the
    /// recurrences that calls continue.
    fn lost_of_cells(
        &self,
        dependence: &Dependence,
        goes_on_in: &HashSet<usize>,
    ) -> BTreeMap<usize, Lost> {
        let mut found: BTreeMap<usize, Lost> = BTreeMap::new();
        for (index, recurrence) in self.recurrences.all.iter().enumerate() {
            let (Some((cell, state)), 1) = (recurrence.cell, recurrence.steps) else { continue };
            let Some(initial) = (if state == 'h' { Some(cell.h) } else { cell.c }) else {
                continue;
            };
            let Some(start) = lost(recurrence, cell, initial, dependence) else { continue };
            if goes_on_in.contains(&index) {
                continue;
            }
            match found.get_mut(&recurrence.place) {
                Some(other) => {
                    other.states.push_str(&format!(" and {state}"));
                    if start != (Start::Constant { as_it_is: true }) {
                        other.start = start;
                    }
                }
                None => {
                    _ = found.insert(recurrence.place, Lost { start, states: state.to_string() })
                }
            }
        }
        found
    }

    /// Adds loops of one iteration whose carried value starts from a constant: the bodies are cells
    /// made of separate operations.
    fn add_lost_of_loops(&self, dependence: &Dependence, found: &mut BTreeMap<usize, Lost>) {
        let is_constant = |initial| {
            let origins = self.recurrences.flow.origins(initial).into_iter().flatten();
            origins
                .map(|(source, _)| dependence.change(source))
                .any(|change| change <= Change::Never)
        };
        for node in self.model.all_nodes() {
            let CoreOp::Loop(body) = &node.op else { continue };
            let cells = || {
                body.body.iter().any(|node| matches!(node.op, CoreOp::Cell(_) | CoreOp::Loop(_)))
            };
            if body.trips > 1 || body.slices.is_empty() || cells() {
                continue;
            }
            let mut carried = body
                .carried
                .iter()
                .filter(|c| c.next != Source::Value(c.value) && self.needed[c.value]);
            if carried.any(|c| is_constant(c.initial)) {
                let start = Start::Constant { as_it_is: false };
                let states = "its carried value".to_owned();
                found.insert(body.carried[0].value, Lost { start, states });
            }
        }
    }

    /// Warns that a cell starts every iteration of a loop from the same state.
    fn warn_of_restart_in_loop(&mut self, node: &Node, lost: &Lost) {
        let found = format!(
            "{} starts every iteration of a loop from the same constant state: no back edge \
             carries {}",
            quoted(&node.name),
            lost.states
        );
        let warning = Diagnostic::warning(node.origin.clone(), found)
            .help("carry the state from iteration to iteration by a back edge");
        self.warn(node, warning);
    }

    /// Warns that a layer starts every call from its initial state. `opens`: true if the help may
    /// propose an open number of steps: the layer has one row and no lengths.
    fn warn_of_restart(&mut self, node: &Node, lost: &Lost, opens: bool) {
        let direction = match &node.op {
            Op::Sequence(_, direction) => Some(*direction),
            _ => None,
        };
        let (mut remedies, lines) = match direction {
            Some(direction) if direction != Direction::Forward => {
                let remedy = message!(
                    "a layer that runs {} needs the whole sequence in one call: give all of its \
                     steps in {}",
                    direction_words(direction),
                    flag::SHAPE.setting()
                );
                (vec![remedy], Vec::new())
            }
            _ => self.ways_to_go_on(node, lost.start, direction.is_some(), opens),
        };
        let no_state = flag::NO_STATE.setting();
        remedies
            .push(message!("if every call should start from the initial state, pass {}", no_state));
        let warning = Diagnostic::warning(node.origin.clone(), self.restart_in_words(node, lost))
            .cause(Cause::StartsAnew)
            .help(Message::joined(remedies, "; or "));
        self.warn(node, warning.lines(lines));
    }

    /// The start of a layer at every call, in words.
    fn restart_in_words(&self, node: &Node, lost: &Lost) -> String {
        let (name, states) = (quoted(&node.name), &lost.states);
        match lost.start {
            Start::Constant { .. } => format!(
                "{name} starts every call from the same constant state: it computes one step per \
                call, and nothing keeps {states} between calls"
            ),
            Start::InParts => format!(
                "the cell that {name} is part of starts every call from the same constant state: \
                it computes one step per call, and nothing keeps {states} between calls"
            ),
            Start::Variables(variable) => {
                let (from, it) = match variable {
                    Some(variable) => {
                        let variable = quoted(&self.model.variables[variable].name);
                        (format!("the variable {variable}"), variable)
                    }
                    None => ("variables".to_owned(), "them".to_owned()),
                };
                format!(
                    "{name} starts every call from {from}, and the value that is assigned to {it} \
                    does not depend on its {states}"
                )
            }
        }
    }

    /// The remedies that let a layer that runs forward go on from call to call, and the lines of an
    /// export.
    fn ways_to_go_on(
        &self,
        node: &Node,
        start: Start,
        is_sequence: bool,
        opens: bool,
    ) -> (Vec<Message>, Vec<String>) {
        let (mut remedies, mut lines) = (Vec::new(), Vec::new());
        match start {
            Start::Constant { as_it_is: true } if is_sequence && opens => {
                let (remedy, export) =
                    self.hints.open_steps(self.model, &self.recurrences.initial_elements);
                remedies.push(remedy);
                lines = export;
            }
            Start::Constant { .. } | Start::InParts => {}
            Start::Variables(_) => {
                let name = quoted(&node.name);
                remedies.push(message!("assign the last state of {} to the variable", name));
            }
        }
        remedies.push(message!(
            "export the model with the state as an input and an output{}, {}",
            if opens { "" } else { self.in_keras() },
            match start {
                Start::InParts => message!("and name them, {}", super::any_state()),
                _ => "which are then found".into(),
            }
        ));
        if !matches!(start, Start::Variables(_)) {
            remedies.push("make the model stateful in OpenVINO".into());
        }
        (remedies, lines)
    }

    /// Adds a warning of a node, unless the user wants no state.
    fn warn(&mut self, node: &Node, warning: Diagnostic) {
        if self.hints.context.options.bindings.state != State::None {
            self.restart_warnings.push(warning.layer(node.label()));
        }
    }
}
