//! Warnings about recurrent layers of one step that start every call, or every iteration of a loop,
//! from the same state: no call continues from the call before.

use super::StateMessages;
use super::reasons::direction_words;
use crate::diagnostic::{Cause, Diagnostic, Message, message, quoted};
use crate::model::{Direction, Node, Op};
use crate::request::State;
use crate::request::flag;
use crate::stream::states::{InitialValue, Lost, LostStates, RestartingLayer, StartsEvery};

/// The lost states in words: h, c, both, the state of a cell of separate operations, or a value
/// carried by a loop.
fn states_in_words(states: &LostStates) -> String {
    match states {
        LostStates::OfCell(letters) => {
            letters.iter().map(char::to_string).collect::<Vec<_>>().join(" and ")
        }
        LostStates::InParts => "its state".to_owned(),
        LostStates::Carried => "its carried value".to_owned(),
    }
}

impl StateMessages<'_, '_> {
    /// Warns of the layers of one step that start every call or iteration anew. Says how to keep
    /// states.
    pub(super) fn restarts(&mut self) {
        for RestartingLayer { node, lost, starts_every } in &self.found.restarting {
            match *starts_every {
                StartsEvery::Call { opens } => self.warn_of_restart(node, lost, opens),
                StartsEvery::Iteration => self.warn_of_restart_in_loop(node, lost),
            }
        }
    }

    /// Warns that a cell starts every iteration of a loop from one state.
    fn warn_of_restart_in_loop(&mut self, node: &Node, lost: &Lost) {
        let found = format!(
            "{} starts every iteration of a loop from the same constant state: no back edge \
             carries {}",
            quoted(&node.name),
            states_in_words(&lost.states)
        );
        let warning = Diagnostic::warning(node.origin.clone(), found)
            .help("carry the state from iteration to iteration by a back edge");
        self.warn(node, warning);
    }

    /// Warns that a layer starts every call from its initial state. `opens`: as
    /// [`StartsEvery::Call`].
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
        let (name, states) = (quoted(&node.name), states_in_words(&lost.states));
        match lost.start {
            InitialValue::Constant { .. } => format!(
                "{name} starts every call from the same constant state: it computes one step per \
                call, and nothing keeps {states} between calls"
            ),
            InitialValue::InParts => format!(
                "the cell that {name} is part of starts every call from the same constant state: \
                it computes one step per call, and nothing keeps {states} between calls"
            ),
            InitialValue::Variables(variable) => {
                let (from, it) = match variable {
                    Some(variable) => {
                        let variable = quoted(&self.found.core.variables[variable].name);
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

    /// The remedies for a forward layer to continue from call to call, and the lines of an export.
    fn ways_to_go_on(
        &self,
        node: &Node,
        start: InitialValue,
        is_sequence: bool,
        opens: bool,
    ) -> (Vec<Message>, Vec<String>) {
        let (mut remedies, mut lines) = (Vec::new(), Vec::new());
        match start {
            InitialValue::Constant { as_it_is: true } if is_sequence && opens => {
                let (remedy, export) =
                    self.hints.open_steps(&self.found.core, &self.found.initial_elements);
                remedies.push(remedy);
                lines = export;
            }
            InitialValue::Constant { .. } | InitialValue::InParts => {}
            InitialValue::Variables(_) => {
                let name = quoted(&node.name);
                remedies.push(message!("assign the last state of {} to the variable", name));
            }
        }
        remedies.push(message!(
            "export the model with the state as an input and an output{}, {}",
            if opens { "" } else { self.in_keras() },
            match start {
                InitialValue::InParts => message!("and name them, {}", super::any_state()),
                _ => "which are then found".into(),
            }
        ));
        if !matches!(start, InitialValue::Variables(_)) {
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
