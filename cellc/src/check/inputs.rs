//! The uses, axes and shapes of a model's inputs.

use super::batch_axes::batch_axes;
use super::input_shapes::input_shapes;
use super::sequence_axes::sequence_axes;
use super::uses::uses;
use crate::check::input_sizes::InputSizes;
use crate::check::subject::Subject;
use crate::diagnostic::Diagnostics;

/// Determines the use, the axes and the shape of every input. `open`: the assumed size of unknown
/// axes.
pub(crate) fn inputs(
    subject: Subject,
    open: Option<usize>,
    diagnostics: &mut Diagnostics,
) -> InputSizes {
    let mut inputs = InputSizes::new(subject.model.parameters.len(), open);
    inputs.uses = uses(subject.model, diagnostics);
    inputs.sequence_axes = sequence_axes(subject.model);
    inputs.batch_axes = batch_axes(subject.model, &inputs.sequence_axes);
    input_shapes(subject, &mut inputs, diagnostics);
    inputs
}
