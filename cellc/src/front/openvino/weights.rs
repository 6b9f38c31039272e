//! The `.bin` file: read once, when the first constant asks for it, and shared by all of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Origin, Setting, Wording, quoted};
use crate::front::{bounded, file_name, input_file};
use crate::model::InputFile;

/// Where the weights are.
pub(super) enum BinLocation {
    /// In a file that the user named.
    Given(PathBuf),
    /// In the file beside the model, if it is there.
    Beside(PathBuf),
    #[cfg(any(test, feature = "internals"))]
    /// In memory.
    Memory(String, Vec<u8>),
    /// The model came through a pipe, and no file with it.
    NotPiped,
    /// Only the model was given.
    Nowhere,
}

/// The name and the contents of a file.
#[derive(Clone)]
pub(super) struct NamedBytes {
    pub(super) name: String,
    pub(super) bytes: Arc<Vec<u8>>,
}

/// The weights, read when they are first asked for.
pub(super) struct BinFile {
    place: BinLocation,
    wording: Wording,
    /// `Err` after the failure has been reported.
    loaded: Option<Result<NamedBytes, ()>>,
}

impl BinFile {
    pub(super) fn new(place: BinLocation, wording: Wording) -> Self {
        Self { place, wording, loaded: None }
    }

    /// What the file holds.
    ///
    /// # Errors
    /// Why there are none, the first time; `None` after that.
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
        let option = self.wording.of(Setting::Weights);
        match std::mem::replace(&mut self.place, BinLocation::Nowhere) {
            BinLocation::Given(path) => from_file(&path, origin, format!("{option} names a file that can be read")),
            BinLocation::Beside(path) => {
                let help = format!("put the .bin file next to the .xml file, or name it with {option}");
                from_file(&path, origin, help)
            }
            #[cfg(any(test, feature = "internals"))]
            BinLocation::Memory(name, bytes) => Ok(NamedBytes { name, bytes: Arc::new(bytes) }),
            BinLocation::NotPiped => {
                let found = "a constant, but the model came through a pipe without its file of weights";
                Err(Diagnostic::error(origin.clone(), found)
                    .valid("the .bin file that was saved with the model")
                    .help(format!("name the file: {option} FILE.bin")))
            }
            BinLocation::Nowhere => Err(Diagnostic::error(origin.clone(), "a constant, but no weights were given")
                .valid("the contents of the .bin file that was saved with the model")
                .help("give the .bin file too")),
        }
    }

    /// Whether the user named weights that no constant asked for.
    pub(super) fn given_in_vain(&self) -> bool {
        self.loaded.is_none()
            && !matches!(self.place, BinLocation::Beside(_) | BinLocation::NotPiped | BinLocation::Nowhere)
    }

    /// What was read.
    pub(super) fn into_file(self) -> Option<InputFile> {
        let NamedBytes { name, bytes } = self.loaded?.ok()?;
        Some(input_file(file_name(Path::new(&name)), &bytes))
    }
}

fn from_file(path: &Path, origin: &Origin, help: String) -> Result<NamedBytes, Diagnostic> {
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
