//! Models in memory, such as files dropped on a page.

use std::path::Path;

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::front::formats::{self, ReadOptions};
use crate::front::read_model::ReadModel;
use crate::front::{amplifier, onnx, openvino};

/// Reads a model from a file with a name, and for OpenVINO from a second file with weights. Returns
/// the model and all problems.
///
/// # Errors
/// If the files contain no model, or no model in a format of ONNX, OpenVINO, Neural Amp Modeler,
/// RTNeural or AIDA-X.
pub(super) fn read(
    files: &[(String, Vec<u8>)],
    options: &ReadOptions,
) -> Result<ReadModel, Diagnostics> {
    let is_weights = |name: &str| name.ends_with(".bin");
    let Some((name, bytes)) = files.iter().find(|(name, _)| !is_weights(name)) else {
        let found = "there is no model among the files";
        return Err(Diagnostic::error(Origin::Unknown, found).into());
    };
    let weights = files.iter().find(|(name, _)| is_weights(name));
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let read = match first {
        Some(b'<') => {
            let weights = weights.map(|(name, bytes)| (&name[..], bytes.clone()));
            openvino::read_bytes(name, bytes, weights)
        }
        Some(b'{') => {
            let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
            amplifier::read_bytes(
                name,
                &stem,
                bytes,
                options.bindings.size,
                options.bindings.sample_rate,
            )
        }
        _ if name.ends_with(".onnx") => onnx::read_from(name, bytes, None, &options.bindings.dims),
        _ => {
            let found = format!("{} is no model that this page reads", quoted(name));
            return Err(Diagnostic::error(Origin::Unknown, found)
                .valid(".onnx, .xml with its .bin, .nam, .json of RTNeural or AIDA-X")
                .help("the command cellc names many other formats, and how to convert them")
                .into());
        }
    };
    formats::finished(read?, options)
}
