//! Stands in for the ONNX reader in a build without the feature `read-onnx`.

use super::model_file::ModelFile;
use crate::diagnostic::Diagnostics;
use crate::front::read_model::ReadModel;

pub(super) fn read(_: ModelFile, _: &[(String, Option<usize>)]) -> Result<ReadModel, Diagnostics> {
    Err(super::refusal::absent("onnx"))
}
