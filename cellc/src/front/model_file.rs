//! A model's file and its names in messages.

use std::path::Path;

/// A model's file.
#[derive(Clone, Copy, Debug)]
pub struct ModelFile<'a> {
    /// The file to read.
    pub path: &'a Path,
    /// The file's name in messages. It differs from `path` if the model came through a pipe.
    pub name: &'a Path,
    /// The user's output file. `None` if unknown.
    pub output: Option<&'a Path>,
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for ModelFile<'a> {
    fn from(path: &'a P) -> Self {
        Self { path: path.as_ref(), name: path.as_ref(), output: None }
    }
}

impl ModelFile<'_> {
    /// True if the model came through a pipe: no other files belong to the model, and a second read
    /// is impossible.
    pub fn is_piped(&self) -> bool {
        self.path != self.name
    }

    /// The file's name in messages.
    pub fn shown(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// [`Self::shown`] without its folder.
    pub fn file_name(&self) -> String {
        self.name.file_name().unwrap_or(self.name.as_os_str()).to_string_lossy().into_owned()
    }

    /// The name of the network if the file has none.
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }
}
