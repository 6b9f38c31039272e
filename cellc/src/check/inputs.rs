//! The uses, axes and shapes of a model's inputs.

use super::batch_axes::batch_axes;
use super::input_shapes::input_shapes;
use super::sequence_axes::sequence_axes;
use super::uses::uses;
use crate::check::subject::CheckContext;
use crate::diagnostic::Diagnostics;
use crate::rules::input_sizes::InputSizes;

/// Determines the use, the axes and the shape of every input. `open`: the assumed size of unknown
/// axes.
pub(crate) fn inputs(
    context: CheckContext,
    open: Option<usize>,
    diagnostics: &mut Diagnostics,
) -> InputSizes {
    let mut inputs = InputSizes::new(context.model.parameters.len(), open);
    inputs.uses = uses(context.model, diagnostics);
    inputs.sequence_axes = sequence_axes(context.model);
    inputs.batch_axes = batch_axes(context.model, &inputs.sequence_axes);
    input_shapes(context, &mut inputs, diagnostics);
    inputs
}
