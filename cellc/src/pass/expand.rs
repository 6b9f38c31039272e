use crate::activation;
use crate::kernel::Body;
use crate::model::Activation;
use crate::request::Accuracy;

/// Spells every activation that is still symbolic out in arithmetic of that accuracy.
///
/// # Panics
/// If a symbolic function is not called by an activation's label: lowering's fault.
pub(crate) fn expand(body: &mut Body, accuracy: Accuracy) {
    for function in &mut body.functions {
        if function.result.is_none() {
            let activation = Activation::from_label(&function.name);
            let activation = activation.unwrap_or_else(|| panic!("expand: no activation {:?}", function.name));
            *function = activation::expand(activation, accuracy);
        }
    }
}
