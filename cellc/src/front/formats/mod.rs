//! Recognition of files: the format of a file, its reader, and advice for unsupported formats.
//!
//! A file is recognised by its content first and by its name second. Recognition examines the
//! first bytes, the directory of a zip archive, the outermost fields of a protobuf message, or the
//! names in a folder. HDF5 and TensorFlow Lite files are searched further, and advice also reads
//! the files of a folder and the pickle of `torch.save`.
//!
//! A supported format is a row in `readers`. An unsupported format is a row in `unread`.

mod advice;
mod archive;
mod content;
mod hdf5;
mod lines;
mod pickle;
mod protobuf;
mod readers;
mod saved;
#[cfg(test)]
mod tests;
mod tflite;
mod unread;

use std::io;
use std::path::Path;

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Setting, message, quoted};
use crate::front::model_file::ModelFile;
use crate::front::read_model::ReadModel;
use crate::request::Bindings;
use crate::request::flag::{self, Flag, ModelSource};
use content::Content;
pub(crate) use readers::of_macros;
use readers::{FORMATS, OPENVINO, listed};
pub use readers::{Format, ReadOptions};
pub use unread::{UNREAD, UnreadFormat};

/// Recognises the format of a file.
///
/// # Errors
/// If the file is missing or its format is not supported. The message names the format and
/// the way to convert the file.
pub fn recognise<'a>(file: impl Into<ModelFile<'a>>) -> Result<&'static Format, Diagnostics> {
    recognise_among(file.into(), None)
}

/// Recognises the format of a file. An error lists `formats` as valid; `None`: all supported
/// formats.
fn recognise_among(
    file: ModelFile,
    formats: Option<&[Format]>,
) -> Result<&'static Format, Diagnostics> {
    let path = file.path;
    let unreadable = |error| Diagnostics(vec![unreadable(&file, error, formats)]);
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() && !metadata.is_dir() {
        // a pipe can be read only once: it counts as OpenVINO IR, whose reader checks the content
        return Ok(&OPENVINO);
    }
    let content = Content::read(path).map_err(unreadable)?;
    let format = FORMATS.iter().find(|format| (format.is)(&content, path));
    format.ok_or_else(|| {
        let refusal = advice::refusal(file, &content);
        Diagnostics(vec![refusal.valid(listed(formats))])
    })
}

/// Reads a model of any format.
///
/// # Errors
/// If the format is not supported, if an option does not fit the format, or if no part of the model
/// could be read.
pub fn read<'a>(
    file: impl Into<ModelFile<'a>>,
    options: &ReadOptions,
) -> Result<ReadModel, Diagnostics> {
    let file = file.into();
    let format = recognise_among(file, options.formats)?;
    if let Some(weights) = options.weights {
        weights_belong_to_it(file, format, weights)?;
    }
    refuse_misplaced(&options.bindings, format.source)?;
    finished((format.read)(file, options)?, options)
}

/// Refuses options for models of another source, such as an option for amplifier models.
pub(crate) fn refuse_misplaced(
    bindings: &Bindings,
    source: ModelSource,
) -> Result<(), Diagnostics> {
    let refusal = |flag: &Flag| {
        let setting = flag.setting();
        let found = match flag.about {
            [ModelSource::Amplifier] => message!("{} is for amplifier models", setting.clone()),
            [ModelSource::Graph] => message!("{} is for models with a graph", setting.clone()),
            _ => message!("{} is for models in files, not for declared layers", setting.clone()),
        };
        Diagnostic::error(Origin::Unknown, found).help(message!("remove {}", setting))
    };
    match Diagnostics(flag::misplaced(bindings, source).map(refusal).collect()) {
        none if none.0.is_empty() => Ok(()),
        refused => Err(refused),
    }
}

/// Applies the options for all formats, then shortens the long texts of the model.
pub(crate) fn finished(
    ReadModel { mut model, mut problems }: ReadModel,
    options: &ReadOptions,
) -> Result<ReadModel, Diagnostics> {
    problems.extend(super::dimensions::check(&model, &options.bindings.dims));
    problems.extend(super::constants::fix(&mut model, &options.bindings.constants));
    // texts are cut last, because options name inputs by their full names
    problems.extend(Diagnostics(super::long_texts::cut(&mut model).into_iter().collect()));
    Ok(ReadModel { model, problems })
}

/// Refuses a file of weights for a model that holds its own weights, and a `.safetensors` file for
/// a model whose weights are in a `.bin` file.
fn weights_belong_to_it(
    file: ModelFile,
    format: &Format,
    weights: &Path,
) -> Result<(), Diagnostics> {
    let [model, shown] = [file.name, weights].map(|path| quoted(&path.to_string_lossy()));
    let option = Setting::Weights;
    if !format.weights_apart {
        let found =
            message!("{} names {}, and {} has its own weights", option.clone(), shown, model);
        return Err(Diagnostic::error(Origin::Unknown, found)
            .help(message!("remove {}", option))
            .into());
    }
    // a pipe can be read only once, so the reader of weights checks the content
    if weights.is_file()
        && Content::read(weights).is_ok_and(|content| content == Content::SafeTensors)
    {
        let found = message!(
            "{} names {}, a file of tensors, and {} has its own weights",
            option.clone(),
            shown,
            model
        );
        let help = message!("name the .bin of the model, or remove {}", option);
        return Err(Diagnostic::error(Origin::Unknown, found).help(help).into());
    }
    Ok(())
}

/// The message for a file that cannot be read.
fn unreadable(file: &ModelFile, error: io::Error, formats: Option<&[Format]>) -> Diagnostic {
    let found = format!("cannot read {}: {error}", quoted(&file.shown()));
    let diagnostic = Diagnostic::error(Origin::Unknown, found).valid(listed(formats));
    diagnostic.help("check the path, and that the file may be read").cause(error)
}
