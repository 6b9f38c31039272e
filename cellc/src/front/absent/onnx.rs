//! Stands in for the ONNX reader in a build without the feature `read-onnx`.

use super::model_file::ModelFile;
use crate::diagnostic::Diagnostics;
use crate::model::Model;

pub(super) fn read(
    _: ModelFile,
    _: &[(String, Option<usize>)],
) -> Result<(Model, Diagnostics), Diagnostics> {
    Err(super::refusal::absent("onnx"))
}
