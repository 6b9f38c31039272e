//! Stands in for the OpenVINO IR reader in a build without the feature `read-openvino`.

use std::path::Path;

use super::model_file::ModelFile;
use crate::diagnostic::Diagnostics;
use crate::model::Model;

pub(super) fn read(_: ModelFile, _: Option<&Path>) -> Result<(Model, Diagnostics), Diagnostics> {
    Err(super::refusal::absent("openvino"))
}
