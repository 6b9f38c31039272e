//! The formats that are read, a row for each.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use super::content::{Content, head};
use super::refused::is_foreign;
use crate::diagnostic::{Diagnostics, Wording};
#[cfg(feature = "json")]
use crate::front::amplifier;
use crate::front::keys::Keys;
use crate::front::model_file::ModelFile;
#[cfg(feature = "read-onnx")]
use crate::front::onnx;
#[cfg(feature = "read-openvino")]
use crate::front::openvino;
#[cfg(feature = "read-safetensors")]
use crate::front::weights_file;
use crate::model::Model;

/// What is said of a model's file beside its path.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions<'a> {
    /// The file of a model's weights, where they are in a file of their own and it is not the one
    /// beside the model.
    pub weights: Option<&'a Path>,
    /// What is computed with weights whose file does not say it.
    pub keys: Keys,
    /// Sizes of dimensions that the file leaves open and names.
    pub dims: Vec<(String, Option<usize>)>,
    /// Inputs that are constants, and their numbers as text.
    pub constants: Vec<(String, String)>,
    /// How messages name options.
    pub wording: Wording,
}

impl<'a> ReadOptions<'a> {
    /// What is said where the file says what is computed.
    pub fn with_weights(weights: Option<&'a Path>, wording: Wording) -> Self {
        Self { weights, wording, ..Self::default() }
    }
}

/// What a reader makes of a file.
type Found = Result<(Model, Diagnostics), Diagnostics>;

/// A format that is read.
#[derive(Debug)]
pub struct Format {
    /// What messages call it and its files.
    pub(super) name: &'static str,
    /// The endings of its files' names, and what a file of that name should be.
    pub(crate) endings: &'static [(&'static str, &'static str)],
    /// Whether a file of this content and path is of this format.
    pub(super) is: fn(&Content, &Path) -> bool,
    /// Whether such a file is a model, and no other file of the same syntax.
    pub(super) is_model: fn(&Content, &Path) -> io::Result<bool>,
    /// Whether the weights are in a file of their own.
    pub weights_apart: bool,
    /// Whether it holds weights, and what is computed with them is said beside it.
    pub weights_alone: bool,
    /// Reads a file. Where what is returned has errors in it, the model is the part that was
    /// understood.
    pub(super) read: fn(ModelFile, &ReadOptions) -> Found,
}

/// The `.xml` of an OpenVINO IR.
pub(super) const OPENVINO: Format = Format {
    name: "OpenVINO (.xml)",
    endings: &[("xml", "OpenVINO model")],
    // its reader says what is wrong with a text
    is: |content, path| match content {
        Content::Xml => true,
        Content::Text => path.extension() == Some(OsStr::new("xml")),
        _ => false,
    },
    is_model: |content, path| {
        let mut head = if *content == Content::Xml { head(&mut File::open(path)?)? } else { Vec::new() };
        // UTF-16 has a zero with each letter
        head.retain(|&byte| byte != 0);
        Ok(head.windows(4).any(|word| word == b"<net"))
    },
    weights_apart: true,
    weights_alone: false,
    #[cfg(feature = "read-openvino")]
    read: |file, options| openvino::read(file, options.weights, options.wording),
    #[cfg(not(feature = "read-openvino"))]
    read: |_, _| Err(absent("openvino")),
};

/// An `.onnx` file.
const ONNX: Format = Format {
    name: "ONNX (.onnx)",
    endings: &[("onnx", "ONNX model")],
    is: |content, _| *content == Content::Onnx,
    is_model: |content, _| Ok(*content == Content::Onnx),
    weights_apart: false,
    weights_alone: false,
    #[cfg(feature = "read-onnx")]
    read: |file, options| onnx::read(file, &options.dims),
    #[cfg(not(feature = "read-onnx"))]
    read: |_, _| Err(absent("onnx")),
};

/// A `.safetensors` file: PyTorch's weights, which a declaration of the layers goes with.
const SAFETENSORS: Format = Format {
    name: "PyTorch's weights (.safetensors)",
    endings: &[("safetensors", "safetensors file")],
    is: |content, _| *content == Content::SafeTensors,
    is_model: |content, _| Ok(*content == Content::SafeTensors),
    weights_apart: false,
    weights_alone: true,
    #[cfg(feature = "read-safetensors")]
    read: |file, options| weights_file::read(file, options.keys.clone(), options.wording),
    #[cfg(not(feature = "read-safetensors"))]
    read: |_, _| Err(absent("safetensors")),
};

/// PyTorch's weights as JSON: tensors by name, as a `state_dict` has them.
const STATE_DICT: Format = Format {
    name: "PyTorch's weights as JSON (.json)",
    endings: &[],
    is: |content, _| matches!(content, Content::Json(keys) if is_state_dict(keys)),
    is_model: |content, _| Ok(matches!(content, Content::Json(keys) if is_state_dict(keys))),
    weights_apart: false,
    weights_alone: true,
    #[cfg(all(feature = "read-safetensors", feature = "json"))]
    read: |file, options| {
        let file = amplifier::read_state_dict(file)?;
        weights_file::layers(&file, options.keys.clone(), options.wording)
    },
    #[cfg(not(all(feature = "read-safetensors", feature = "json")))]
    read: |file, _| {
        let path = crate::diagnostic::quoted(&file.shown());
        let help =
            "compile it by the command cellc, or by cellc::Builder with cellc's features `json` and `safetensors`";
        Err(not_read(&format!("{path} is a file of PyTorch's weights as JSON, which is not read here"), help))
    },
};

/// Whether these are names that PyTorch gives the weights of recurrent layers.
fn is_state_dict(keys: &[String]) -> bool {
    let own = |key: &String| {
        key.rsplit('.').next().is_some_and(|own| own.starts_with("weight_ih") || own.starts_with("weight_hh"))
    };
    keys.iter().any(own)
}

/// True if an object with these keys may be the model of an amplifier.
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
    weights_alone: false,
    #[cfg(feature = "json")]
    read: |file, _| amplifier::read(file),
    #[cfg(not(feature = "json"))]
    read: |file, _| {
        let path = crate::diagnostic::quoted(&file.shown());
        let help =
            "compile it by the command cellc, or by cellc::Builder in a build script with cellc's feature `json`";
        Err(not_read(&format!("{path} is a model of an amplifier, which is not read here"), help))
    },
};

/// Every format that is read.
pub(super) static FORMATS: [Format; 5] = [OPENVINO, ONNX, STATE_DICT, AMPLIFIER, SAFETENSORS];

#[cfg(not(all(feature = "read-onnx", feature = "read-openvino", feature = "read-safetensors")))]
fn absent(feature: &str) -> Diagnostics {
    let help = format!("add it to the features of cellc in Cargo.toml: features = [\"{feature}\"]");
    not_read(&format!("this cellc was built without its feature `{feature}`"), &help)
}

#[cfg(not(all(feature = "read-onnx", feature = "read-openvino", feature = "read-safetensors", feature = "json")))]
fn not_read(found: &str, help: &str) -> Diagnostics {
    use crate::diagnostic::{Diagnostic, Origin};

    Diagnostics(vec![Diagnostic::error(Origin::Unknown, found).help(help)])
}

/// What is read, for messages.
pub(crate) fn are_read() -> String {
    let names =
        |alone: bool| FORMATS.iter().filter(move |format| format.weights_alone == alone).map(|format| format.name);
    let list = |alone: bool, between: &str| names(alone).collect::<Vec<_>>().join(between);
    format!("a model of {}; {}", list(false, ", of "), list(true, "; "))
}

/// The endings of all formats, and what files of these names should be.
pub(super) fn endings() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMATS.iter().flat_map(|format| format.endings).copied()
}

/// Whether a file of this name would be read.
pub(super) fn is_readable(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| endings().any(|(known, _)| known == ending))
}
