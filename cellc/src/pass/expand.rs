use crate::kernel::Body;
use crate::math;
use crate::model::MathFunction;
use crate::request::Accuracy;

/// Expands every symbolic function into arithmetic with the given accuracy. `profiles`: the
/// arithmetic of all bodies in the file, true with fused multiply-add.
///
/// # Panics
/// If the name of a symbolic function is not the label of a [`MathFunction`]: a bug in lowering.
pub(crate) fn expand(body: &mut Body, accuracy: Accuracy, profiles: &[bool]) {
    for function in &mut body.functions {
        if function.result.is_none() {
            let math_function = MathFunction::from_label(&function.name)
                .unwrap_or_else(|| panic!("expand: no function {:?}", function.name));
            *function = math::expand(math_function, accuracy, profiles);
        }
    }
}
