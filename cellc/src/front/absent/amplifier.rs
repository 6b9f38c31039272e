//! Stands in for the readers of JSON in a build without the feature `json`.

use super::model_file::ModelFile;
use super::safetensors::TensorFile;
use crate::diagnostic::{Diagnostics, quoted};
use crate::front::read_model::ReadModel;
use crate::model::ModelSize;

pub(super) fn read(
    file: ModelFile,
    _: Option<ModelSize>,
    _: Option<usize>,
) -> Result<ReadModel, Diagnostics> {
    Err(refused(&file, "a model of an amplifier"))
}

pub(super) fn read_state_dict(file: ModelFile) -> Result<TensorFile, Diagnostics> {
    Err(refused(&file, "a file of PyTorch's weights as JSON"))
}

fn refused(file: &ModelFile, what: &str) -> Diagnostics {
    let help = "compile it by the command cellc, or by cellc::Builder in a build script with \
        cellc's feature `json`";
    super::refusal::refuse(
        &format!("{} is {what}, which is not read here", quoted(&file.shown())),
        help,
    )
}
