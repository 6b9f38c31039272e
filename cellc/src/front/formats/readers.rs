//! Supported formats, a row for each.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use super::content::{Content, head};
use super::unread::is_foreign;
use crate::diagnostic::Diagnostics;
use crate::front::amplifier;
use crate::front::keys::Keys;
use crate::front::model_file::ModelFile;
use crate::front::onnx;
use crate::front::openvino;
use crate::front::read_model::ReadModel;
use crate::front::weights_file;
use crate::request::Bindings;
use crate::request::flag::ModelSource;

/// Options for reading a model's file.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions<'a> {
    /// The file with the weights. `None`: the weights are in the model's file, or in the file next
    /// to it.
    pub weights: Option<&'a Path>,
    /// Declaration of the layers, for files with weights only.
    pub keys: Keys,
    /// The sizes and constants that the user gives.
    pub bindings: Bindings,
    /// The formats that messages list. `None`: every supported format.
    pub formats: Option<&'static [Format]>,
}

impl<'a> ReadOptions<'a> {
    /// Options for a model that needs no declaration of layers.
    pub fn with_weights(weights: Option<&'a Path>) -> Self {
        Self { weights, ..Self::default() }
    }

    /// Options with the sizes and constants that the user gives.
    pub(crate) fn new(bindings: &Bindings) -> Self {
        Self { bindings: bindings.clone(), ..Self::default() }
    }
}

/// A supported format.
#[derive(Debug)]
pub struct Format {
    /// Name of the format and its files in messages.
    pub(super) name: &'static str,
    /// Endings of file names, each with its kind of file.
    pub(crate) endings: &'static [(&'static str, &'static str)],
    /// True if a file with this content and path is of this format.
    pub(super) is: fn(&Content, &Path) -> bool,
    /// True if a file of this format is a model, and not another file of the same syntax.
    pub(super) is_model: fn(&Content, &Path) -> io::Result<bool>,
    /// True if the weights are in a separate file.
    pub weights_apart: bool,
    /// What the file holds. [`ModelSource::Declaration`]: weights only, the user declares the
    /// layers.
    pub source: ModelSource,
    /// Reads a file.
    pub(super) read: fn(ModelFile, &ReadOptions) -> Result<ReadModel, Diagnostics>,
}

/// The `.xml` of an OpenVINO IR.
pub(super) const OPENVINO: Format = Format {
    name: "OpenVINO (.xml)",
    endings: &[("xml", "OpenVINO model")],
    // a text named .xml is no XML: the reader says what is wrong with it
    is: |content, path| match content {
        Content::Xml => true,
        Content::Text => path.extension() == Some(OsStr::new("xml")),
        _ => false,
    },
    is_model: |content, path| {
        let mut head =
            if *content == Content::Xml { head(&mut File::open(path)?)? } else { Vec::new() };
        // drops the zero bytes of UTF-16
        head.retain(|&byte| byte != 0);
        Ok(head.windows(4).any(|word| word == b"<net"))
    },
    weights_apart: true,
    source: ModelSource::Graph,
    read: |file, options| openvino::read(file, options.weights),
};

/// An `.onnx` file.
const ONNX: Format = Format {
    name: "ONNX (.onnx)",
    endings: &[("onnx", "ONNX model")],
    is: |content, _| *content == Content::Onnx,
    is_model: |content, _| Ok(*content == Content::Onnx),
    weights_apart: false,
    source: ModelSource::Graph,
    read: |file, options| onnx::read(file, &options.bindings.dims),
};

/// A `.safetensors` file: PyTorch's weights, to be combined with a declaration of the layers.
const SAFETENSORS: Format = Format {
    name: "PyTorch's weights (.safetensors)",
    endings: &[("safetensors", "safetensors file")],
    is: |content, _| *content == Content::SafeTensors,
    is_model: |content, _| Ok(*content == Content::SafeTensors),
    weights_apart: false,
    source: ModelSource::Declaration,
    read: |file, options| weights_file::read(file, options.keys.clone()),
};

/// PyTorch's weights as JSON: the tensors of a `state_dict` by name.
const STATE_DICT: Format = Format {
    name: "PyTorch's weights as JSON (.json)",
    endings: &[],
    is: |content, _| matches!(content, Content::Json(keys) if is_state_dict(keys)),
    is_model: |content, _| Ok(matches!(content, Content::Json(keys) if is_state_dict(keys))),
    weights_apart: false,
    source: ModelSource::Declaration,
    read: |file, options| {
        let file = amplifier::read_state_dict(file)?;
        weights_file::layers(&file, options.keys.clone())
    },
};

/// True if a key is a name of PyTorch's for weights of a recurrent layer.
fn is_state_dict(keys: &[String]) -> bool {
    let last_part = |key: &String| {
        key.rsplit('.').next().is_some_and(|last_part| {
            last_part.starts_with("weight_ih") || last_part.starts_with("weight_hh")
        })
    };
    keys.iter().any(last_part)
}

/// True if an object with these keys may be a model of an amplifier.
fn is_amplifier(keys: &[String]) -> bool {
    !is_foreign(keys) && !is_state_dict(keys)
}

/// A model of an amplifier: `.nam`, or the `.json` of RTNeural and AIDA-X.
const AMPLIFIER: Format = Format {
    name: "Neural Amp Modeler (.nam), of RTNeural or AIDA-X (.json)",
    endings: &[("nam", "model of Neural Amp Modeler"), ("json", "JSON file")],
    is: |content, _| matches!(content, Content::Json(keys) if is_amplifier(keys)),
    is_model: |content, _| {
        let model = |key: &String| ["architecture", "in_shape", "layers"].contains(&&key[..]);
        Ok(matches!(content, Content::Json(keys) if is_amplifier(keys) && keys.iter().any(model)))
    },
    weights_apart: false,
    source: ModelSource::Amplifier,
    read: |file, options| {
        amplifier::read(file, options.bindings.size, options.bindings.sample_rate)
    },
};

/// All supported formats.
pub(super) static FORMATS: [Format; 5] = [OPENVINO, ONNX, STATE_DICT, AMPLIFIER, SAFETENSORS];

/// The formats of models that macros read: OpenVINO and ONNX.
pub(crate) fn of_macros() -> &'static [Format] {
    &FORMATS[..2]
}

/// Formats as the valid inputs in a message. `None`: every supported format.
pub(super) fn listed(formats: Option<&[Format]>) -> String {
    let names = |alone: bool| {
        let formats = formats.unwrap_or(&FORMATS).iter();
        formats
            .filter(|format| (format.source == ModelSource::Declaration) == alone)
            .map(|f| f.name)
            .collect::<Vec<_>>()
    };
    match &names(true)[..] {
        [] => format!("a model of {}", names(false).join(" or ")),
        alone => format!("a model of {}; {}", names(false).join(", of "), alone.join("; ")),
    }
}

/// The endings of all supported formats, each with its kind of file.
pub(super) fn endings() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMATS.iter().flat_map(|format| format.endings).copied()
}

/// True if the ending of a file name belongs to a supported format.
pub(super) fn is_readable(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| endings().any(|(known, _)| known == ending))
}
