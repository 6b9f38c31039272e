//! Layers of one step that start every call from the same state.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{kind_of, way};
use crate::check::checker::Checker;
use crate::core::{CoreModel, CoreOp, Parameter, Restart, Source};
use crate::diagnostic::{Cause, Diagnostic, Message, Setting, message, quoted};
use crate::model::{Dim, Direction, Node, Op};
use crate::request::State;
use crate::stream::dependence::{Change, Dependence};
use crate::stream::states::{
    Order, Recurrence, Recurrences, Start, cells_in_parts, lost, repeated_cells,
};

/// The most axes of an input that are tried as the axis of steps.
pub(super) const MOST_CHOICES: usize = 3;

/// The states of a layer, kept by no call.
struct Lost {
    start: Start,
    /// h, c, both, or a value carried by a loop.
    states: String,
}

impl Checker<'_> {
    /// The layers of one step that every call starts anew. Says how to keep their states.
    pub(crate) fn restarts(
        &mut self,
        model: &CoreModel,
        recurrences: &Recurrences,
        needed: &[bool],
    ) -> Vec<Restart> {
        let dependence = Dependence::new(model, &model.all_nodes());
        let mut found: BTreeMap<usize, Lost> = BTreeMap::new();
        let goes_on_in = recurrences.continued(model, &dependence);
        for (index, recurrence) in recurrences.all.iter().enumerate() {
            let (Some((cell, state)), 1) = (recurrence.cell, recurrence.steps) else { continue };
            let Some(initial) = (if state == 'h' { Some(cell.h) } else { cell.c }) else {
                continue;
            };
            let Some(start) = lost(recurrence, cell, initial, &dependence) else { continue };
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
        // cells that are written out in a body
        for node in model.all_nodes() {
            let CoreOp::Loop(body) = &node.op else { continue };
            let cells = || {
                body.body.iter().any(|node| matches!(node.op, CoreOp::Cell(_) | CoreOp::Loop(_)))
            };
            if body.trips > 1 || body.slices.is_empty() || cells() {
                continue;
            }
            let is_constant = |initial| {
                let origins = recurrences.flow.origins(initial).into_iter().flatten();
                origins
                    .map(|(source, _)| dependence.change(source))
                    .any(|change| change <= Change::Never)
            };
            let carried =
                body.carried.iter().filter(|c| c.next != Source::Value(c.value) && needed[c.value]);
            if carried.filter(|c| is_constant(c.initial)).count() > 0 {
                let start = Start::Constant { as_it_is: false };
                found.insert(
                    body.carried[0].value,
                    Lost { start, states: "its carried value".to_owned() },
                );
            }
        }
        for place in cells_in_parts(model, &dependence, needed) {
            found.insert(place, Lost { start: Start::InParts, states: "its state".to_owned() });
        }
        self.begins_anew(model, recurrences, &dependence, needed, &goes_on_in);
        let mut seen: HashSet<*const Node> = HashSet::new();
        let mut restarts = Vec::new();
        let repeated = repeated_cells(model);
        for (place, lost) in found {
            let Some(&node) = self.over_time.layers.get(&place) else { continue };
            if !seen.insert(node) {
                continue;
            }
            if !repeated.contains(&place) {
                let mut all = recurrences.all.iter();
                let is_other = |r: &Recurrence| {
                    r.order == Order::Lengths || r.cell.is_some_and(|(c, _)| c.batch > 1)
                };
                let opens = !all.any(|r| r.place == place && is_other(r));
                self.warn_of_restart(model, &recurrences.initial_elements, node, &lost, opens);
                restarts.push(Restart { name: node.name.clone(), kind: kind_of(node) });
            } else if let Start::Constant { .. } = lost.start {
                let found = format!(
                    "{} starts every iteration of a loop from the same constant state: no back \
                     edge carries {}",
                    quoted(&node.name),
                    lost.states
                );
                let warning = Diagnostic::warning(node.origin.clone(), found)
                    .help("carry the state from iteration to iteration by a back edge");
                self.warn(node, warning);
            }
        }
        restarts
    }

    /// Warns of a layer with [`Cause::StartsAnew`]. `opens`: true if the layer takes an open number
    /// of steps, as layers of one row without lengths do.
    fn warn_of_restart(
        &mut self,
        model: &CoreModel,
        initial_elements: &HashMap<Source, Vec<usize>>,
        node: &Node,
        lost: &Lost,
        opens: bool,
    ) {
        let (name, states) = (quoted(&node.name), &lost.states);
        let found = match lost.start {
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
                        let variable = quoted(&model.variables[variable].name);
                        (format!("the variable {variable}"), variable)
                    }
                    None => ("variables".to_owned(), "them".to_owned()),
                };
                format!(
                    "{name} starts every call from {from}, and the value that is assigned to {it} \
                    does not depend on its {states}"
                )
            }
        };
        let direction = match &node.op {
            Op::Sequence(_, direction) => Some(*direction),
            _ => None,
        };
        let (mut ways, mut lines) = (Vec::new(), Vec::new());
        if let Some(direction) = direction.filter(|direction| *direction != Direction::Forward) {
            ways.push(message!(
                "a layer that runs {} needs the whole sequence in one call: give all of its steps \
                 in {}",
                way(direction),
                Setting::Shape
            ));
        } else {
            match lost.start {
                Start::Constant { as_it_is: true } if direction.is_some() && opens => {
                    let (way, export) = self.open_steps(model, initial_elements);
                    ways.push(way);
                    lines = export;
                }
                Start::Constant { .. } | Start::InParts => {}
                Start::Variables(_) => {
                    ways.push(message!("assign the last state of {} to the variable", name))
                }
            }
            ways.push(message!(
                "export the model with the state as an input and an output{}, {}",
                if opens { "" } else { self.in_keras() },
                match lost.start {
                    Start::InParts => message!("and name them, {}", super::any_state()),
                    _ => "which are then found".into(),
                }
            ));
            if !matches!(lost.start, Start::Variables(_)) {
                ways.push("make the model stateful in OpenVINO".into());
            }
        }
        let no_state = Setting::NoState;
        ways.push(message!("if every call should start from the initial state, pass {}", no_state));
        let warning = Diagnostic::warning(node.origin.clone(), found)
            .cause(Cause::StartsAnew)
            .help(Message::joined(ways, "; or "));
        self.warn(node, warning.lines(lines));
    }

    /// Adds a warning of a node, unless the user wants no state.
    fn warn(&mut self, node: &Node, warning: Diagnostic) {
        if self.options.bindings.state != State::None {
            self.over_time.restart_warnings.push(warning.layer(node.label()));
        }
    }

    /// The advice to leave the number of steps open, and the lines for a file with a fixed number.
    fn open_steps(
        &self,
        model: &CoreModel,
        initial_elements: &HashMap<Source, Vec<usize>>,
    ) -> (Message, Vec<String>) {
        let way = "export the model with an open number of steps, and leave it open".into();
        self.ways_to_open(model, initial_elements, 1, true).unwrap_or((way, Vec::new()))
    }

    /// The advice to leave the number of steps open, and the lines for a file with a fixed number.
    /// `None` if no advice is known to work. `untried`: true if a new export may be advised
    /// although the file cannot be opened.
    pub(crate) fn ways_to_open(
        &self,
        model: &CoreModel,
        initial_elements: &HashMap<Source, Vec<usize>>,
        steps: usize,
        untried: bool,
    ) -> Option<(Message, Vec<String>)> {
        let mut tried: Vec<Vec<(usize, usize)>> = Vec::new();
        for choice in 0..MOST_CHOICES {
            let axes = self.axes_of_steps(model, initial_elements, (steps, false), choice);
            if !tried.contains(&axes)
                && let Some(way) = self.way_to_open(
                    model,
                    &axes,
                    &self.axes_of_steps(model, initial_elements, (steps, true), choice),
                )
            {
                return Some(way);
            }
            tried.push(axes);
        }
        if self.model.sizes_of_call || !untried {
            return None;
        }
        let lines = self.export_again(&tried[0], "steps");
        let way = "export the model with an open number of steps, as the lines below do".into();
        (!lines.is_empty()).then_some((way, lines))
    }

    /// The advice to leave axes of inputs open, if the model is right then. `open`: the axes left
    /// open by the model.
    fn way_to_open(
        &self,
        model: &CoreModel,
        axes: &[(usize, usize)],
        open: &[(usize, usize)],
    ) -> Option<(Message, Vec<String>)> {
        let mut names: Vec<&str> =
            axes.iter().filter_map(|&(input, axis)| self.fixed_by_name(input, axis)).collect();
        names.dedup();
        if !names.is_empty() && self.is_right_if_open(axes) {
            let dims = names.into_iter().map(|name| Setting::OpenDim(name.to_owned()).into());
            return Some((
                message!("leave the number of steps open, {}", Message::joined(dims, " ")),
                Vec::new(),
            ));
        }
        let shapes: Vec<(usize, Vec<Option<usize>>)> =
            open.iter().map(|&axis| with_open(model, axis)).collect();
        if !shapes.is_empty() && self.is_right_with(&shapes) {
            return Some((
                message!("leave the number of steps open, {}", self.shape_settings(&shapes)),
                Vec::new(),
            ));
        }
        if !self.is_right_if_open(axes) {
            return None;
        }
        if self.model.sizes_of_call {
            let shapes: Vec<(usize, Vec<Option<usize>>)> =
                axes.iter().map(|&axis| with_open(model, axis)).collect();
            let shapes = self.shape_settings(&shapes);
            return Some((
                message!("leave the number of steps open, {}, in the export as well", shapes),
                Vec::new(),
            ));
        }
        let lines = self.export_again(axes, "steps");
        if !lines.is_empty() {
            return Some((
                "export the model with an open number of steps, as the lines below do".into(),
                lines,
            ));
        }
        let lines = self.open_in_file(axes);
        (!lines.is_empty())
            .then(|| ("open the number of steps in the file, as the lines below do".into(), lines))
    }

    /// The axes of steps, each an input and an axis of size `steps`. `open`: true for axes left
    /// open by the model only. `choice`: the rank of the axis among the likely axes of an input,
    /// likeliest first.
    pub(super) fn axes_of_steps(
        &self,
        model: &CoreModel,
        initial_elements: &HashMap<Source, Vec<usize>>,
        (steps, open): (usize, bool),
        choice: usize,
    ) -> Vec<(usize, usize)> {
        let mut axes = Vec::new();
        for (index, &parameter) in self.model.parameters.iter().enumerate() {
            let node = &self.model.nodes[parameter];
            let stated = self.model.values[node.outputs[0].0].shape.as_ref();
            let Parameter { shape, weight, .. } = &model.parameters[index];
            if *weight || initial_elements.contains_key(&Source::Parameter(index)) {
                continue;
            }
            let fits = |axis: &usize| {
                let is_open = stated
                    .is_none_or(|stated| matches!(stated.get(*axis), Some(Dim::Dynamic { .. })));
                let is_batch = self.sizes.batch_axes[index].is_known
                    && self.sizes.batch_axes[index].axes.contains(axis);
                shape[*axis] == steps && (is_open || !open) && !is_batch
            };
            // a row of features comes last, with the steps in front of it; of channels, the steps
            // come last
            let last = if shape.len() > 2 { shape.len() - 1 } else { shape.len() };
            // of several steps, the axis may be the first
            let first = (open || steps > 1) && last > 1 && !self.sizes.uses[index].batch;
            let mut likely: Vec<usize> =
                (1..last).rev().take(1).chain(1..last.saturating_sub(1)).collect();
            likely.extend(Some(0).filter(|_| first));
            likely.extend(last..shape.len());
            likely.retain(fits);
            axes.extend(likely.get(choice).or(likely.last()).map(|&time| (index, time)));
        }
        axes
    }
}

/// The shape of an input with one of its axes left open.
fn with_open(model: &CoreModel, (index, axis): (usize, usize)) -> (usize, Vec<Option<usize>>) {
    let sizes = model.parameters[index].shape.iter().enumerate();
    (index, sizes.map(|(at, &size)| Some(size).filter(|_| at != axis)).collect())
}
