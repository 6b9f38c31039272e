//! The front ends: readers of all kinds of input, each producing a [`Model`](crate::model::Model).

#[cfg(feature = "json")]
mod amplifier;
pub(crate) mod apple;
pub(crate) mod bounded;
mod constants;
pub(crate) mod declaration;
pub(crate) mod declared;
mod dimensions;
mod export;
pub mod formats;
mod graph;
pub mod keys;
pub(crate) mod layer;
pub(crate) mod layout;
mod long_texts;
pub mod model_file;
#[cfg(feature = "read-onnx")]
pub mod onnx;
#[cfg(feature = "read-openvino")]
pub mod openvino;
#[cfg(feature = "read-safetensors")]
pub(crate) mod safetensors;
pub(crate) mod stack;
mod weight_norm;
pub(crate) mod weights;
#[cfg(feature = "read-safetensors")]
pub mod weights_file;

use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::model::Model;
use crate::validate;

/// True if a number written as nonzero became 0 in f32.
pub fn underflows(written: &str, number: f32) -> bool {
    let digits = written.split(['e', 'E']).next().unwrap_or_default();
    number == 0.0 && digits.contains(|c: char| ('1'..='9').contains(&c))
}

/// True if a number written in digits became infinite in f32. The word inf is no such number.
#[cfg(feature = "read-openvino")]
fn overflows(written: &str, number: f32) -> bool {
    number.is_infinite() && written.contains(|c: char| c.is_ascii_digit())
}

/// The warning for a tensor with NaN or an infinity.
pub(crate) fn not_finite(origin: Origin, name: &str, value: f64) -> Diagnostic {
    let found = format!("{name} holds {value}: what is computed from it is not finite either");
    Diagnostic::warning(origin, found).help("check the weights: training may have diverged")
}

/// The final result of a reader. If the reader found errors, errors of the partial model are added
/// to them.
fn complete((model, mut problems): (Model, Diagnostics)) -> Result<(Model, Diagnostics), Diagnostics> {
    if problems.has_errors() {
        problems.extend(validate::problems(&model));
        return Err(problems);
    }
    Ok((model, problems))
}

/// A file of the model, for the header of generated code.
#[cfg(any(feature = "read-onnx", feature = "read-openvino", feature = "read-safetensors", feature = "json"))]
fn input_file(name: String, bytes: &[u8]) -> crate::model::InputFile {
    #[cfg(not(feature = "builder"))]
    let _ = bytes;
    crate::model::InputFile {
        name,
        #[cfg(feature = "builder")]
        sha256: sha256(bytes),
    }
}

/// SHA-256 of a file's bytes, lower-case hexadecimal.
#[cfg(all(
    feature = "builder",
    any(feature = "read-onnx", feature = "read-openvino", feature = "read-safetensors", feature = "json")
))]
fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    use std::fmt::Write;

    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A file's name without its folders.
#[cfg(any(feature = "read-onnx", feature = "read-openvino", feature = "json"))]
fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
