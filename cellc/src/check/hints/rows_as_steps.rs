//! Batch axes mistaken for the steps of a recurrent layer.

use super::HintContext;
use crate::check::batch_axes::names_steps;
use crate::check::pytorch_export::export_again;
use crate::diagnostic::{Diagnostic, Diagnostics, Message, message, quoted};
use crate::model::Dim;
use crate::rules::input_sizes::SequenceAxes;

/// An input with a batch axis mistaken for the axis of steps.
pub(crate) struct Mistaken {
    /// The place of the input.
    input: usize,
    axes: SequenceAxes,
}

impl HintContext<'_, '_> {
    /// The first input whose axis `axis_of(input)` counts the batch rows of a sequence and not the
    /// steps.
    pub(crate) fn rows_as_steps(
        &self,
        axis_of: impl Fn(usize) -> Option<usize>,
    ) -> Option<Mistaken> {
        let inputs = self.inputs.sequence_axes.iter().enumerate();
        inputs.filter_map(|(input, axes)| Some(Mistaken { input, axes: (*axes)? })).find(|found| {
            // an axis that is both the rows and the steps of a sequence is no mistake
            found.axes.rows != found.axes.steps && axis_of(found.input) == Some(found.axes.rows)
        })
    }

    /// The batch axis of an input, if the model gives the axis a name that means steps.
    pub(crate) fn rows_named_steps(&self, input: usize) -> Option<Mistaken> {
        let names = self.context.names_of_input(input);
        let rows = self.inputs.sequence_axes[input]?.rows;
        let says = |axis_name: &&crate::model::AxisName| {
            axis_name.axis == rows
                && names.contains(&axis_name.input)
                && names_steps(&axis_name.name)
        };
        self.context.model.axis_names.iter().find(says)?;
        self.rows_as_steps(|other| Some(rows).filter(|_| other == input))
    }

    /// The text that the axis counts the batch rows of a layer, not its steps.
    pub(crate) fn counts_rows(&self, found: &Mistaken) -> String {
        let layer = &self.context.model.nodes[found.axes.node];
        format!(
            "axis {} of the input {} counts the rows of the batch of {}, not its steps, which axis \
             {} counts",
            found.axes.rows,
            quoted(&self.context.input_name(found.input)),
            layer.label(),
            found.axes.steps
        )
    }

    /// Advice to fix the batch at 1, and the lines of an export with an open number of steps.
    /// `None` if the model has errors with a batch of 1, leaves another axis open, or gives the
    /// input no shape.
    pub(crate) fn batch_first(&self, found: &Mistaken) -> Option<(Message, Vec<String>)> {
        let &Mistaken { input, axes } = found;
        let node = &self.context.model.nodes[self.context.model.parameters[input]];
        let stated = self.context.model.values[node.outputs[0].0].shape.as_ref()?;
        let size = |(axis, dim): (usize, &Dim)| match *dim {
            _ if axis == axes.rows => Some(Some(1)),
            Dim::Fixed(size) => Some(Some(size)),
            Dim::Dynamic { .. } if axis == axes.steps => Some(None),
            Dim::Dynamic { .. } => None,
        };
        let sizes: Vec<Option<usize>> =
            stated.iter().enumerate().map(size).collect::<Option<_>>()?;
        let steps = sizes[axes.steps];
        let shapes = [(input, sizes)];
        if !self.accepts_shapes(&shapes) {
            return None;
        }
        let shape = self.shape_settings(&shapes);
        let Some(steps) = steps else {
            return Some((
                message!("leave axis {} open and fix the batch, {}", axes.steps, shape),
                Vec::new(),
            ));
        };
        let calls = if steps == 1 { "one step".to_owned() } else { format!("{steps} steps") };
        let mut help = message!(
            "fix the batch, {}, for calls of {}; for an open number of steps export the \
             model with axis {} open",
            shape,
            calls,
            axes.steps
        );
        let lines = export_again(self.context.model, &[(input, axes.steps)], "steps");
        if !lines.is_empty() {
            let way = if axes.rows == 1 { "True" } else { "False" };
            help.push(format!(
                ", as the lines below do, or, where axis {} was meant for the steps, build the \
                 layer with batch_first={way}",
                axes.rows
            ));
        }
        Some((help, lines))
    }
}

/// Adds a notice for each input with several batch rows along an axis with a name that means steps.
pub(crate) fn notice_batch_named_steps(hints: HintContext, diagnostics: &mut Diagnostics) {
    let model = hints.context.model;
    for input in 0..hints.inputs.shapes.len() {
        let Some(found) = hints.rows_named_steps(input) else { continue };
        let rows = hints.inputs.shapes[input].as_ref().map_or(0, |shape| shape[found.axes.rows]);
        if rows < 2 {
            continue;
        }
        let notice = format!(
            "{}: a call computes {rows} sequences beside each other",
            hints.counts_rows(&found)
        );
        let origin = model.nodes[model.parameters[input]].origin.clone();
        let (help, lines) = hints.batch_first(&found).unwrap_or_else(|| {
            let SequenceAxes { rows, steps, .. } = found.axes;
            (
                message!(
                    "for one sequence give 1 as the size of axis {}, and the steps \
                    along axis {}",
                    rows,
                    steps
                ),
                export_again(model, &[(input, steps)], "steps"),
            )
        });
        diagnostics.push(Diagnostic::notice(origin, notice).help(help).lines(lines));
    }
}
