//! The limits of integer inputs: kernels convert integers to f32 and clamp them to 2^22 in
//! magnitude, so that f32 also holds sums of a few integers exactly.

use crate::core::{CoreModel, CoreOp, IntegerInput, Parameter};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::Model;

/// Adds a notice for each integer input whose type has numbers beyond the limits.
pub(crate) fn limits_of_integers(model: &Model, core: &CoreModel, diagnostics: &mut Diagnostics) {
    for node in core.all_nodes() {
        let CoreOp::IntegerInput(IntegerInput { parameter, least, most, .. }) = node.op else {
            continue;
        };
        // no notice for indices of tables and lengths of sequences, whose limits the model gives,
        // and for integers of up to 16 bits, which are within the limits
        let Parameter { rows, length, element, .. } = &core.parameters[parameter];
        let of_steps = length.is_some_and(|steps| least == 0 && i32::try_from(steps) == Ok(most));
        if rows.is_some() || of_steps || element.bits() < 32 {
            continue;
        }
        let input = &model.nodes[model.parameters[parameter]];
        let found = format!(
            "the integers of the input become f32: one below {least} is read as {least}, one \
             above {most} as {most}"
        );
        let help = "give numbers within these limits; cellc run says where a file has others";
        diagnostics
            .push(Diagnostic::notice(input.origin.clone(), found).layer(input.label()).help(help));
    }
}
