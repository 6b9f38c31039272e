//! Keys that have a meaning only together with another key, or with a file of tensors.

use super::{Key, Keys};
use crate::diagnostic::{Diagnostic, Diagnostics, Setting, message};

/// The input that a key needs.
enum Need {
    Key(Key),
    /// A file with the tensors of declared layers.
    TensorFile,
}

/// The keys with a need.
const NEEDS: [(Key, Need); 6] = [
    (Key::Prefix, Need::TensorFile),
    (Key::Head, Need::TensorFile),
    (Key::GateOrder, Need::TensorFile),
    (Key::HeadActivation, Need::Key(Key::Head)),
    (Key::Dim, Need::Key(Key::Model)),
    (Key::Const, Need::Key(Key::Model)),
];

impl Keys {
    /// An error for each key whose need is not met. `has_tensors`: true if a file of tensors has
    /// the weights.
    pub(crate) fn unmet_needs(&self, has_tensors: bool) -> Diagnostics {
        let error = |(key, need): &(Key, Need)| {
            let origin = self.origin(*key)?.clone();
            let name = key.setting();
            let (found, needed) = match need {
                Need::Key(needed) => {
                    if self.origin(*needed).is_some() {
                        return None;
                    }
                    let needed = needed.setting();
                    (message!("{} is given without {}", name, needed.clone()), needed)
                }
                Need::TensorFile if has_tensors => return None,
                Need::TensorFile => {
                    (message!("{} is given without a file of tensors", name), Setting::TensorFile)
                }
            };
            let help = message!("give {} as well, or leave {} out", needed, key.setting());
            Some(Diagnostic::error(origin, found).help(help))
        };
        Diagnostics(NEEDS.iter().filter_map(error).collect())
    }
}
