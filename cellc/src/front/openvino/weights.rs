//! The `.bin` file: read once, when the first constant asks for it, and shared by all of them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Origin, Setting, Wording, quoted};
use crate::front::{file_name, input_file};
use crate::model::InputFile;

/// The largest file of weights that is read.
const LARGEST: u64 = 1 << 34;

/// Where the weights are.
pub(super) enum BinLocation {
    /// In a file that the user named.
    Given(PathBuf),
    /// In the file beside the model, if it is there.
    Beside(PathBuf),
    #[cfg(any(test, feature = "internals"))]
    /// In memory.
    Memory(String, Vec<u8>),
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
            BinLocation::Nowhere => Err(Diagnostic::error(origin.clone(), "a constant, but no weights were given")
                .valid("the contents of the .bin file that was saved with the model")
                .help("give the .bin file too")),
        }
    }

    /// Whether the user named weights that no constant asked for.
    pub(super) fn given_in_vain(&self) -> bool {
        self.loaded.is_none() && !matches!(self.place, BinLocation::Beside(_) | BinLocation::Nowhere)
    }

    /// What was read.
    pub(super) fn into_file(self) -> Option<InputFile> {
        let NamedBytes { name, bytes } = self.loaded?.ok()?;
        Some(input_file(file_name(Path::new(&name)), &bytes))
    }
}

fn from_file(path: &Path, origin: &Origin, help: String) -> Result<NamedBytes, Diagnostic> {
    let name = path.to_string_lossy().into_owned();
    match read_file(path, LARGEST) {
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

/// The contents of a regular file of at most `largest` bytes.
pub(super) fn read_file(path: &Path, largest: u64) -> std::io::Result<Vec<u8>> {
    use std::io::Error;
    let mut file = std::fs::File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(Error::other("it is a folder"));
    }
    let mut bytes = Vec::new();
    if metadata.is_file() && metadata.len() <= largest {
        bytes.reserve_exact(metadata.len() as usize);
    }
    // a device or a pipe may have no end
    file.by_ref().take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        return Err(Error::other(format!("it holds more than {} MiB", largest >> 20)));
    }
    Ok(bytes)
}
