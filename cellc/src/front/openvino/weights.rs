//! The `.bin` file, which is read once, at the first constant, and shared by all constants.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Message, Origin, Setting, message, quoted};
use crate::front::{bounded, file_name, input_file};
use crate::model::InputFile;

/// Location of the weights.
pub(super) enum BinLocation {
    /// A file named by the user.
    Given(PathBuf),
    /// The file next to the model. It may be missing if the model has no constant.
    Beside(PathBuf),
    /// Name and contents in memory.
    Memory(String, Vec<u8>),
    /// The model came through a pipe, without a file of weights.
    NotPiped,
    /// No weights were given.
    Nowhere,
}

/// Name and contents of a file.
#[derive(Clone)]
pub(super) struct NamedBytes {
    pub(super) name: String,
    pub(super) bytes: Arc<Vec<u8>>,
}

/// The weights, read on first use.
pub(super) struct BinFile {
    location: BinLocation,
    /// `Err` after a reported failure. `None` before the first use.
    loaded: Option<Result<NamedBytes, ()>>,
}

impl BinFile {
    pub(super) fn new(location: BinLocation) -> Self {
        Self { location, loaded: None }
    }

    /// The contents of the file.
    ///
    /// # Errors
    /// The cause of a failure, once; `None` on later calls.
    pub(super) fn bytes(&mut self, origin: &Origin) -> Result<NamedBytes, Option<Diagnostic>> {
        match &self.loaded {
            Some(loaded) => loaded.clone().map_err(|()| None),
            None => match self.load(origin) {
                Ok(loaded) => {
                    self.loaded = Some(Ok(loaded.clone()));
                    Ok(loaded)
                }
                Err(diagnostic) => {
                    self.loaded = Some(Err(()));
                    Err(Some(diagnostic))
                }
            },
        }
    }

    fn load(&mut self, origin: &Origin) -> Result<NamedBytes, Diagnostic> {
        let option = Setting::Weights;
        match std::mem::replace(&mut self.location, BinLocation::Nowhere) {
            BinLocation::Given(path) => {
                from_file(&path, origin, message!("{} names a file that can be read", option))
            }
            BinLocation::Beside(path) => {
                let help =
                    message!("put the .bin file next to the .xml file, or name it with {}", option);
                from_file(&path, origin, help)
            }
            BinLocation::Memory(name, bytes) => Ok(NamedBytes { name, bytes: Arc::new(bytes) }),
            BinLocation::NotPiped => {
                let found =
                    "a constant, but the model came through a pipe without its file of weights";
                Err(Diagnostic::error(origin.clone(), found)
                    .valid("the .bin file that was saved with the model")
                    .help(message!("name the file: {} FILE.bin", option)))
            }
            BinLocation::Nowhere => {
                Err(Diagnostic::error(origin.clone(), "a constant, but no weights were given")
                    .valid("the contents of the .bin file that was saved with the model")
                    .help("give the .bin file too"))
            }
        }
    }

    /// True if weights were given and no constant was read from them.
    pub(super) fn given_in_vain(&self) -> bool {
        self.loaded.is_none()
            && !matches!(
                self.location,
                BinLocation::Beside(_) | BinLocation::NotPiped | BinLocation::Nowhere
            )
    }

    /// The file as an input of the model, if it was read.
    pub(super) fn into_file(self) -> Option<InputFile> {
        let NamedBytes { name, bytes } = self.loaded?.ok()?;
        Some(input_file(file_name(Path::new(&name)), &bytes))
    }
}

fn from_file(path: &Path, origin: &Origin, help: Message) -> Result<NamedBytes, Diagnostic> {
    let name = path.to_string_lossy().into_owned();
    match bounded::read(path, &bounded::WEIGHTS) {
        Ok(bytes) => Ok(NamedBytes { name, bytes: Arc::new(bytes) }),
        Err(e) => Err(Diagnostic::error(
            origin.clone(),
            format!("a constant, but its file of weights cannot be read: {}: {e}", quoted(&name)),
        )
        .valid("the .bin file that was saved with the model")
        .help(help)
        .cause(e)),
    }
}
