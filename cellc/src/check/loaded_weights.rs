//! Rules for weights that the program loads at run time.

use super::CheckContext;
use crate::core::CoreModel;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, message, quoted};
use crate::encoding::WeightFormat;
use crate::numerics::{Precisions, matrices};
use crate::request::WeightsAs;
use crate::request::flag;

/// Refuses weights that a file of weights cannot hold: inputs of the model, formats other than f32,
/// and the weights of independent streams.
pub(crate) fn loaded_weights(
    context: CheckContext,
    core: &CoreModel,
    precisions: &Precisions,
    diagnostics: &mut Diagnostics,
) {
    let options = context.options;
    if options.output.weights_as != WeightsAs::RunTime {
        return;
    }
    let mut refuse = |found: String, valid: &str| {
        let help = message!("leave out {}", flag::WEIGHTS_AS.setting());
        diagnostics.push(Diagnostic::error(Origin::Unknown, found).valid(valid).help(help));
    };
    if let Some(parameter) = core.parameters.iter().find(|parameter| parameter.weight) {
        let name = quoted(parameter.names.first().map_or("", String::as_str));
        refuse(
            format!("weights of a file at run time, and {name} gives weights at run time"),
            "weights that are constants of the model",
        );
    }
    if core.streams.is_some() {
        refuse("weights at run time for independent streams".to_owned(), "a batch");
    }
    let formats = matrices(core).into_iter().map(|matrix| (matrix.format(precisions), matrix.node));
    let asked = core.all_nodes().into_iter().filter(|node| node.op.has_precision());
    let asked = asked.map(|node| (precisions.get(node.op.first_value()).stored(), node));
    let mut formats = formats.chain(asked);
    if let Some((format, node)) = formats.find(|(format, _)| *format != WeightFormat::F32) {
        let layer = quoted(&node.name);
        refuse(format!("weights at run time for {layer}, which has {} ones", format.name()), "f32");
    }
}
