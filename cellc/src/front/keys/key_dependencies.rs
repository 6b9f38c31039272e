//! Keys that have a meaning only together with another key, or with a file of tensors.

use super::{Key, Keys, Takes};
use crate::diagnostic::{Diagnostic, Diagnostics, Setting, message};
use crate::request::flag::ModelSource;

/// The input that a key needs.
#[derive(Clone, Copy)]
pub(super) enum Need {
    Key(Key),
    /// A file with the tensors of declared layers.
    TensorFile,
}

impl Key {
    /// The input without which the key has no meaning.
    fn need(self) -> Option<Need> {
        match self.takes() {
            Takes::Flag(flag) if !flag.about.contains(&ModelSource::Declaration) => {
                Some(Need::Key(Self::Model))
            }
            _ => self.row().need,
        }
    }
}

impl Keys {
    /// An error for each key whose need is not met. `has_tensors`: true if a file of tensors has
    /// the weights.
    pub(crate) fn unmet_needs(&self, has_tensors: bool) -> Diagnostics {
        let error = |key: Key| {
            let origin = self.origin(key)?.clone();
            let name = key.setting();
            let (found, needed) = match key.need()? {
                Need::Key(needed) => {
                    if self.origin(needed).is_some() {
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
        Diagnostics(Key::all().filter_map(error).collect())
    }
}
