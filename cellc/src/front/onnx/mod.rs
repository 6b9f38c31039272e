//! ONNX: a model file and its external files of tensors.

mod arrange;
mod attention;
mod attributes;
mod bodies;
mod dated;
mod features;
mod fused;
mod graph;
mod lists;
mod nodes;
mod operators;
mod proto;
mod qlinear;
mod quantized;
mod quantized_lstm;
mod recurrent;
mod remedies;
mod sequences;
mod signal;
mod stateful;
mod supported;
mod tensors;
#[cfg(test)]
mod tests;
mod walk;
mod windows;

use std::path::Path;

use prost::Message;

use super::bounded::{self, Limit};
use super::input_file;
use super::model_file::ModelFile;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::front::read_model::ReadModel;
use crate::request::NamedSize;
pub use dated::{DATED, Dated, OperatorPart};
use graph::GraphReader;
use proto::ModelProto;
pub use supported::{SUPPORTED, Supported};
use tensors::Folder;

/// Maximum size of the file. protobuf has the same limit.
const LIMIT: Limit = Limit { file_kind: "an ONNX model", bytes: 1 << 31 };

/// Advice for a file above the limit.
const BESIDE: &str = "a file of protobuf ends at 2 GiB: save the model with its weights in a file \
    beside it, onnx.save(model, \"net.onnx\", save_as_external_data=True)";

/// Reads a model from a file.
///
/// # Errors
/// If the file cannot be read or is no ONNX model.
pub(super) fn read(file: ModelFile, dims: &[NamedSize]) -> Result<ReadModel, Diagnostics> {
    let (path, shown) = (file.path, quoted(&file.shown()));
    let bytes = bounded::read(path, &LIMIT).map_err(|error| {
        let found = Diagnostic::error(Origin::Unknown, format!("cannot read {shown}: {error}"));
        let help = match error.kind() {
            std::io::ErrorKind::FileTooLarge => BESIDE,
            _ => "check the path, and that the file may be read",
        };
        Diagnostics(vec![found.help(help).cause(error)])
    })?;
    let folder = path
        .parent()
        .map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    read_from(&file.file_name(), &bytes, folder.filter(|_| !file.is_piped()), dims)
}

/// Reads a model from memory, without touching the file system.
///
/// # Errors
/// If the bytes are no ONNX model.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<ReadModel, Diagnostics> {
    read_from(name, bytes, None, &[])
}

/// Reads a model from memory and its external files from `folder`. `None`: external files are
/// refused.
///
/// # Errors
/// If the bytes are no ONNX model.
pub(crate) fn read_from(
    name: &str,
    bytes: &[u8],
    folder: Option<&Path>,
    dims: &[NamedSize],
) -> Result<ReadModel, Diagnostics> {
    let refused = |found: String| {
        let problem = Diagnostic::error(Origin::Unknown, found)
            .valid("an ONNX model in protobuf's format, below 2 GiB");
        Diagnostics(vec![problem.help("export or download the model again")])
    };
    if bytes.len() as u64 > LIMIT.bytes {
        let found = format!("{} has more than 2 GiB", quoted(name));
        let problem = Diagnostic::error(Origin::Unknown, found);
        let problem = problem.valid("an ONNX model in protobuf's format, up to 2 GiB").help(BESIDE);
        return Err(Diagnostics(vec![problem]));
    }
    let message = ModelProto::decode(bytes)
        .map_err(|error| refused(format!("{} is damaged: {error}", quoted(name))))?;
    let mut folder = Folder { path: folder.map(Path::to_owned), ..Folder::default() };
    let mut read = GraphReader::model(message, &mut folder, dims);
    read.model.files.push(input_file(name.to_owned(), bytes));
    let beside = folder.files.iter().map(|(name, bytes)| input_file(name.clone(), bytes));
    read.model.files.extend(beside);
    Ok(read)
}
