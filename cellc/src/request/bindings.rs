//! Sizes, constants and states left open by the model.

use crate::model::ModelSize;

/// The prefix of a number of streams in the value of `--batch`: `streams:8`.
pub(super) const STREAMS: &str = "streams:";

/// True for a size that a flag, a key or a method may give.
pub(crate) fn is_size(size: usize) -> bool {
    size > 0
}

/// The inputs kept as states by the generated type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Inputs that serve only as the initial state of a forward layer, paired with the output of
    /// its last state; and windows that an operator defines as its state (`CausalConvWithState`).
    #[default]
    Auto,
    /// These pairs of input and output names.
    Pairs(Vec<(String, String)>),
    /// No input. Variables, and all states if the number of steps is open, are kept nevertheless.
    /// Layers that start every call from the same state cause no warning.
    None,
}

/// A dimension name of the file, and its size. `None`: the number of steps, given by every call.
pub type NamedSize = (String, Option<usize>);

/// A size as on the command line.
pub(crate) fn size_text(size: Option<usize>) -> String {
    size.map_or("?".to_owned(), |size| size.to_string())
}

settings! {
    /// Sizes, constants and states left open by the model.
    Bindings in bindings {
        /// The batch size, if open in the model.
        batch, with_batch: Option<usize>;
        /// The number of independent streams in a step, each with a state of its own. A batch that
        /// the model leaves open then has a size of 1. `None`: a step computes the model's batch.
        streams, with_streams: Option<usize>;
        /// Shapes by input name, if the model leaves sizes open. `None`: the number of steps.
        shapes, with_shapes: Vec<(String, Vec<Option<usize>>)>;
        /// Sizes of the named open dimensions of an ONNX file.
        dims, with_dims: Vec<NamedSize>;
        /// Upper limit for loops whose end is decided at run time, if the model has no limit.
        max_steps, with_max_steps: Option<usize>;
        /// The constant inputs, each with its number as text.
        constants, with_constants: Vec<(String, String)>;
        /// The size of an amplifier model that has several. `None`: the largest.
        size, with_size: Option<ModelSize>;
        /// The sample rate of generated code, in Hz. `None`: the rate of the amplifier model.
        sample_rate, with_sample_rate: Option<usize>;
        /// The inputs kept as states.
        state, with_state: State;
    }
}

impl Bindings {
    /// The size of a batch that the model leaves open: 1 for independent streams. `None` if no
    /// option gives the size.
    pub(crate) fn batch_size(&self) -> Option<usize> {
        self.batch.or(self.streams.map(|_| 1))
    }

    /// The batch as on the command line.
    pub(crate) fn batch_text(&self) -> Option<String> {
        let streams = self.streams.map(|streams| format!("{STREAMS}{streams}"));
        streams.or_else(|| self.batch.map(|batch| batch.to_string()))
    }

    /// Reads the size of a dimension: its name, '=' and the size, or a question mark.
    pub(crate) fn dim_of(text: &str) -> Result<NamedSize, String> {
        // split at the last '=': names may contain '=', sizes cannot
        let named = text.rsplit_once('=').and_then(|(name, size)| {
            let size = match size.trim() {
                "?" => None,
                digits => Some(digits.parse().ok().filter(|&size| is_size(size))?),
            };
            (!name.is_empty()).then(|| (name.to_owned(), size))
        });
        named.ok_or_else(|| {
            "a dimension's name, '=' and a whole number from 1 are needed, batch=1; or a question \
             mark where every call gives the number of steps, steps=?"
                .to_owned()
        })
    }

    /// Reads a constant input: the input's name, '=' and the one number that all its elements have,
    /// or `true` or `false`.
    pub(crate) fn constant_of(text: &str) -> Result<(String, String), String> {
        let named = text.rsplit_once('=').and_then(|(name, value)| {
            let value = value.trim();
            let is_number = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
            (is_number && !name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        });
        named.ok_or_else(|| "an input's name, '=' and a number are needed: sr=16000".to_owned())
    }
}

/// A shape as on the command line.
pub(super) fn shape_text(sizes: &[Option<usize>]) -> String {
    sizes.iter().map(|size| size_text(*size)).collect::<Vec<_>>().join(",")
}
