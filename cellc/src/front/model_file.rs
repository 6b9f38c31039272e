//! A model's file, and how messages speak of it.

use std::path::Path;

/// A model's file.
#[derive(Clone, Copy, Debug)]
pub struct ModelFile<'a> {
    /// The file to read.
    pub path: &'a Path,
    /// What messages call the file. It differs from `path` if the model came through a pipe.
    pub name: &'a Path,
    /// The file into which the user wants the model compiled; `None` where that is not known.
    pub output: Option<&'a Path>,
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for ModelFile<'a> {
    fn from(path: &'a P) -> Self {
        Self { path: path.as_ref(), name: path.as_ref(), output: None }
    }
}

impl ModelFile<'_> {
    /// True if the model came through a pipe: no other file is beside it, and no other program can
    /// read it again.
    pub fn is_piped(&self) -> bool {
        self.path != self.name
    }

    /// The file as messages name it.
    pub fn shown(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// [`Self::shown`] without its folder.
    pub fn file_name(&self) -> String {
        self.name.file_name().unwrap_or(self.name.as_os_str()).to_string_lossy().into_owned()
    }

    /// The name of the network in the file, where the file does not say one.
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }
}
