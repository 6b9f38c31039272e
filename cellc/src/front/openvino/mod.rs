//! OpenVINO IR: `model.xml` and the `model.bin` next to it.

mod attributes;
mod bodies;
mod cells;
mod kinds;
mod layers;
mod net;
mod operations;
mod order;
mod readers;
mod supported;
mod tensors;
#[cfg(test)]
mod tests;
mod text;
mod weights;
mod windows;
mod xml;

use std::io;
use std::path::Path;

use super::file_name;
use super::model_file::ModelFile;
use super::{bounded, input_file};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::front::read_model::ReadModel;
pub use supported::SUPPORTED;
pub use supported::Supported;
use weights::{BinFile, BinLocation};

/// Reads an IR from files. Returns the model and all problems found. After an error in these, the
/// model contains the valid part of the file only.
///
/// Constants are in `weights`, or else in the file next to `file` with the same stem and the
/// extension `bin`; a piped model has no such file. The weights are read only if the model uses a
/// constant.
///
/// # Errors
/// If a file cannot be read or is no XML.
pub(super) fn read(file: ModelFile, weights: Option<&Path>) -> Result<ReadModel, Diagnostics> {
    let bytes = bounded::read(file.path, &xml::LIMIT).map_err(|e| unreadable(&file, e))?;
    let location = match weights {
        Some(path) => BinLocation::Given(path.to_owned()),
        None if file.is_piped() => BinLocation::NotPiped,
        None => BinLocation::Beside(file.path.with_extension("bin")),
    };
    read_from(&file.shown(), &file.file_name(), &bytes, BinFile::new(location))
}

fn unreadable(file: &ModelFile, error: io::Error) -> Diagnostics {
    let found = format!("cannot read {}: {error}", quoted(&file.shown()));
    let mut diagnostic = Diagnostic::error(Origin::Unknown, found);
    diagnostic = match error.kind() {
        // only the first bytes of the file looked like XML, so it may be of another format
        io::ErrorKind::FileTooLarge => diagnostic
            .valid(
                "XML, which this file's content is taken for, of at most 256 MiB; the weights \
                are in a .bin file",
            )
            .help("save the model again; if it is of another format, its beginning is damaged"),
        _ => diagnostic
            .valid("the .xml file of a model that OpenVINO saved")
            .help("check the path, and that the file may be read"),
    };
    Diagnostics(vec![diagnostic.cause(error)])
}

/// Reads an IR from memory, without access to the file system. `weights`: name and contents of the
/// `.bin` file. Returns the model and all problems found, as the reader of files does.
///
/// # Errors
/// If the file is no XML.
pub fn read_bytes(
    name: &str,
    xml: &[u8],
    weights: Option<(&str, Vec<u8>)>,
) -> Result<ReadModel, Diagnostics> {
    let location = match weights {
        Some((name, bytes)) => BinLocation::Memory(name.to_owned(), bytes),
        None => BinLocation::Nowhere,
    };
    read_from(name, &file_name(Path::new(name)), xml, BinFile::new(location))
}

fn read_from(
    path: &str,
    name: &str,
    bytes: &[u8],
    mut weights: BinFile,
) -> Result<ReadModel, Diagnostics> {
    let document = xml::Document::parse(path, bytes).map_err(|d| Diagnostics(vec![d]))?;
    let mut read = net::read(&document, &mut weights);
    read.model.files.push(input_file(name.to_owned(), bytes));
    read.model.files.extend(weights.into_file());
    Ok(read)
}
