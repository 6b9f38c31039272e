use crate::activation;
use crate::kernel::Body;
use crate::model::Activation;
use crate::request::Accuracy;

/// Expands every symbolic activation into arithmetic with the given accuracy. `profiles`: the
/// arithmetic of all bodies in the file, true with fused multiply-add.
///
/// # Panics
/// If the name of a symbolic function is not the label of an activation: a bug in lowering.
pub(crate) fn expand(body: &mut Body, accuracy: Accuracy, profiles: &[bool]) {
    for function in &mut body.functions {
        if function.result.is_none() {
            let activation = Activation::from_label(&function.name);
            let activation =
                activation.unwrap_or_else(|| panic!("expand: no activation {:?}", function.name));
            *function = activation::expand(activation, accuracy, profiles);
        }
    }
}
