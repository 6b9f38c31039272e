//! Ways to leave the number of steps open: an option, a shape, a new export, a change of the file.

use std::collections::HashMap;

use super::HintContext;
use crate::check::pytorch_export::export_again;
use crate::core::{CoreModel, Parameter, Source};
use crate::diagnostic::{Message, Setting, message};
use crate::model::{Dim, SizesOf};

/// The most axes of an input that the hints consider as the axis of steps.
pub(crate) const MOST_CHOICES: usize = 3;

impl HintContext<'_, '_> {
    /// The advice to leave the number of steps open, and the lines that open a fixed number in a
    /// new export or in the file.
    pub(crate) fn open_steps(
        &self,
        model: &CoreModel,
        initial_elements: &HashMap<Source, Vec<usize>>,
    ) -> (Message, Vec<String>) {
        let advice = "export the model with an open number of steps, and leave it open".into();
        self.advice_to_open(model, initial_elements, 1, true).unwrap_or((advice, Vec::new()))
    }

    /// [`Self::open_steps`] for axes of size `steps`. `None` if no advice is known to work.
    /// `untried`: true if a new export may be advised although the model has errors with the likely
    /// axes open.
    pub(crate) fn advice_to_open(
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
                && let Some(advice) = self.advice_for_axes(
                    model,
                    &axes,
                    &self.axes_of_steps(model, initial_elements, (steps, true), choice),
                )
            {
                return Some(advice);
            }
            tried.push(axes);
        }
        if self.context.model.sizes == SizesOf::Calls || !untried {
            return None;
        }
        let lines = export_again(self.context.model, &tried[0], "steps");
        let advice = "export the model with an open number of steps, as the lines below do".into();
        (!lines.is_empty()).then_some((advice, lines))
    }

    /// The advice to leave `axes` of inputs open. `None` if the model has errors with open axes, or
    /// if neither an export nor a change of the file is known. `open`: the step axes that the file
    /// leaves open.
    fn advice_for_axes(
        &self,
        model: &CoreModel,
        axes: &[(usize, usize)],
        open: &[(usize, usize)],
    ) -> Option<(Message, Vec<String>)> {
        let mut names: Vec<&str> =
            axes.iter().filter_map(|&(input, axis)| self.fixed_by_name(input, axis)).collect();
        names.dedup();
        if !names.is_empty() && self.accepts_open_axes(axes) {
            let dims = names.into_iter().map(|name| Setting::OpenDim(name.to_owned()).into());
            return Some((
                message!("leave the number of steps open, {}", Message::joined(dims, " ")),
                Vec::new(),
            ));
        }
        let shapes: Vec<(usize, Vec<Option<usize>>)> =
            open.iter().map(|&axis| with_open(model, axis)).collect();
        if !shapes.is_empty() && self.accepts_shapes(&shapes) {
            return Some((
                message!("leave the number of steps open, {}", self.shape_settings(&shapes)),
                Vec::new(),
            ));
        }
        if !self.accepts_open_axes(axes) {
            return None;
        }
        if self.context.model.sizes == SizesOf::Calls {
            let shapes: Vec<(usize, Vec<Option<usize>>)> =
                axes.iter().map(|&axis| with_open(model, axis)).collect();
            let shapes = self.shape_settings(&shapes);
            return Some((
                message!("leave the number of steps open, {}, in the export as well", shapes),
                Vec::new(),
            ));
        }
        let lines = export_again(self.context.model, axes, "steps");
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

    /// The axes of steps, each an input and an axis of size `steps`. `open`: true for only the axes
    /// that the model leaves open. `choice`: the rank of the axis among the likely axes of an
    /// input, likeliest first.
    pub(crate) fn axes_of_steps(
        &self,
        model: &CoreModel,
        initial_elements: &HashMap<Source, Vec<usize>>,
        (steps, open): (usize, bool),
        choice: usize,
    ) -> Vec<(usize, usize)> {
        let mut axes = Vec::new();
        for (index, &parameter) in self.context.model.parameters.iter().enumerate() {
            let node = &self.context.model.nodes[parameter];
            let stated = self.context.model.values[node.outputs[0].0].shape.as_ref();
            let Parameter { shape, weight, .. } = &model.parameters[index];
            if *weight || initial_elements.contains_key(&Source::Parameter(index)) {
                continue;
            }
            let fits = |axis: &usize| {
                let is_open = stated
                    .is_none_or(|stated| matches!(stated.get(*axis), Some(Dim::Dynamic { .. })));
                let is_batch = self.inputs.batch_axes[index].is_known
                    && self.inputs.batch_axes[index].axes.contains(axis);
                shape[*axis] == steps && (is_open || !open) && !is_batch
            };
            // the step axis is most likely the axis in front of the features, which are last;
            // behind channels it is the last axis
            let last = if shape.len() > 2 { shape.len() - 1 } else { shape.len() };
            // a first axis of fixed size 1 counts rows, not steps
            let first = (open || steps > 1) && last > 1 && !self.inputs.uses[index].batch;
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
