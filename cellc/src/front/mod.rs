//! The front ends: readers of all kinds of input, each producing a [`Model`](crate::model::Model).

// a file of the folder `absent` stands in for each reader that the build leaves out
#[cfg_attr(not(feature = "json"), path = "absent/amplifier.rs")]
pub(crate) mod amplifier;
pub(crate) mod apple;
pub(crate) mod bounded;
pub(crate) mod causal_conv;
mod constants;
pub(crate) mod declaration;
pub(crate) mod declared;
#[cfg_attr(not(feature = "builder"), path = "absent/digest.rs")]
mod digest;
mod dimensions;
mod export;
pub mod formats;
mod graph;
pub mod keys;
pub(crate) mod layer;
pub(crate) mod layout;
pub mod local_norm;
mod long_texts;
pub mod model_file;
#[cfg_attr(not(feature = "read-onnx"), path = "absent/onnx.rs")]
pub mod onnx;
#[cfg_attr(not(feature = "read-openvino"), path = "absent/openvino.rs")]
pub mod openvino;
pub mod read_model;
#[cfg(not(all(feature = "read-onnx", feature = "read-openvino", feature = "json")))]
#[path = "absent/refusal.rs"]
mod refusal;
pub(crate) mod safetensors;
pub(crate) mod stack;
mod state_delay;
mod weight_norm;
pub(crate) mod weights;
pub mod weights_file;

use crate::diagnostic::{Diagnostic, Origin, Setting};
use crate::model::{InputFile, Tensor};
use crate::request::flag;

/// The option for the sample rate of generated code.
pub(crate) fn sample_rate_setting() -> Setting {
    flag::SAMPLE_RATE.setting()
}

/// The option for the size of an amplifier model.
pub(crate) fn size_setting() -> Setting {
    flag::SIZE.setting()
}

/// The first NaN or infinity in a constant of a graph. A single infinity is valid: it may be a
/// bound of a Maximum or a Minimum.
pub(crate) fn not_finite_in(constant: &Tensor) -> Option<f64> {
    constant.not_finite().filter(|value| constant.len() > 1 || value.is_nan())
}

/// The warning for a tensor with NaN or an infinity.
pub(crate) fn not_finite(origin: Origin, name: &str, value: f64) -> Diagnostic {
    let found = format!("{name} holds {value}: what is computed from it is not finite either");
    Diagnostic::warning(origin, found).help("check the weights: training may have diverged")
}

/// A file in the comment at the top of generated files: the name and the SHA-256 of its bytes.
/// Macros print no such comment, and there the digest is empty.
fn input_file(name: String, bytes: &[u8]) -> InputFile {
    InputFile { name, sha256: digest::sha256(bytes) }
}

/// A file's name without its folders.
fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
