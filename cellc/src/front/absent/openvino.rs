//! Stands in for the OpenVINO IR reader in a build without the feature `read-openvino`.

use std::path::Path;

use super::model_file::ModelFile;
use crate::diagnostic::Diagnostics;
use crate::front::read_model::ReadModel;

pub(super) fn read(_: ModelFile, _: Option<&Path>) -> Result<ReadModel, Diagnostics> {
    Err(super::refusal::absent("openvino"))
}
