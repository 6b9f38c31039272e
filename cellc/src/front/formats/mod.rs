//! Files of every format: which one a file is of, who reads it, and what is said of those that nobody reads.
//!
//! A file is known by its content first and by its name second. No more of it is looked at than its first bytes, the directory of a zip archive,
//! and the outermost fields of a protobuf message.

mod advice;
mod archive;
mod content;
mod protobuf;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::model::Model;
pub(crate) use advice::READ;
use content::Content;

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The `.xml` of an OpenVINO IR.
    OpenVino,
    /// A `.safetensors` file: weights, which a declaration of the layers goes with.
    SafeTensors,
    /// A model of an amplifier: `.nam`, or the `.json` of RTNeural and AIDA-X.
    Json,
}

/// Which format a file is of.
///
/// # Errors
/// If there is no such file, or if it is not read: what it is, and how to make of it a file that is.
pub fn recognise(path: &Path) -> Result<Format, Diagnostics> {
    let unreadable = |error| Diagnostics(vec![unreadable(path, error)]);
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() && !metadata.is_dir() {
        // a pipe can be read only once: its reader judges it
        return Ok(Format::OpenVino);
    }
    let content = Content::of(path).map_err(unreadable)?;
    match &content {
        Content::Xml => Ok(Format::OpenVino),
        Content::SafeTensors => Ok(Format::SafeTensors),
        Content::Json(keys) if !advice::is_foreign(keys) => Ok(Format::Json),
        // its reader says what is wrong with a text
        Content::Text if path.extension() == Some(OsStr::new("xml")) => Ok(Format::OpenVino),
        _ => Err(Diagnostics(vec![advice::refusal(path, &content)])),
    }
}

/// Reads a model of any format. The second part of what is returned holds the warnings.
///
/// `weights` is the `.bin` of an OpenVINO IR, where it is not the one beside it.
///
/// # Errors
/// Everything that is wrong with the files.
pub fn read(path: &Path, weights: Option<&Path>) -> Result<(Model, Diagnostics), Diagnostics> {
    match recognise(path)? {
        Format::OpenVino => openvino(path, weights),
        Format::SafeTensors => weights_file(path),
        Format::Json => match weights {
            None => amplifier(path),
            Some(weights) => {
                let [model, weights] = [path, weights].map(|path| quoted(&path.to_string_lossy()));
                let found = format!("--weights names {weights}, and {model} has its own weights");
                Err(Diagnostics(vec![Diagnostic::error(Origin::Unknown, found).help("remove --weights")]))
            }
        },
    }
}

#[cfg(feature = "read-openvino")]
fn openvino(path: &Path, weights: Option<&Path>) -> Result<(Model, Diagnostics), Diagnostics> {
    super::openvino::read(path, weights)
}

#[cfg(not(feature = "read-openvino"))]
fn openvino(_: &Path, _: Option<&Path>) -> Result<(Model, Diagnostics), Diagnostics> {
    Err(Diagnostics(vec![Diagnostic::error(Origin::Unknown, "this cellc was built without its feature `openvino`")]))
}

/// PyTorch's weights whose metadata say what is computed with them.
#[cfg(feature = "read-safetensors")]
fn weights_file(path: &Path) -> Result<(Model, Diagnostics), Diagnostics> {
    super::weights_file::read(path, super::keys::Keys::default())
}

#[cfg(not(feature = "read-safetensors"))]
fn weights_file(_: &Path) -> Result<(Model, Diagnostics), Diagnostics> {
    let found = "this cellc was built without its feature `safetensors`";
    Err(Diagnostics(vec![Diagnostic::error(Origin::Unknown, found)]))
}

#[cfg(feature = "json")]
fn amplifier(path: &Path) -> Result<(Model, Diagnostics), Diagnostics> {
    super::amplifier::read(path)
}

#[cfg(not(feature = "json"))]
fn amplifier(path: &Path) -> Result<(Model, Diagnostics), Diagnostics> {
    let found = format!("{} is a model of an amplifier, which is not read here", quoted(&path.to_string_lossy()));
    let help = "compile it by the command cellc, or by cellc::Builder in a build script with cellc's feature `json`";
    Err(Diagnostics(vec![Diagnostic::error(Origin::Unknown, found).help(help)]))
}

/// A file that cannot be opened.
fn unreadable(path: &Path, error: io::Error) -> Diagnostic {
    let found = format!("cannot read {}: {error}", quoted(&path.to_string_lossy()));
    let diagnostic = Diagnostic::error(Origin::Unknown, found).valid(READ);
    diagnostic.help("check the path, and that the file may be read").cause(error)
}
