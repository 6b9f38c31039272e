//! Models of guitar amplifiers: Neural Amp Modeler's `.nam`, and the JSON of RTNeural and AIDA-X.
//!
//! The model of NAM's LSTM or of RTNeural's layers computes one sample: x `[1, inputs]` in, out
//! `[1, outputs]` out, with the states as variables. NAM's networks of convolutions have an open
//! number of samples. Numbers are rounded to the nearest f64, then to the nearest f32, as in the
//! programs that play these files.

mod causal;
mod json;
mod nam;
mod rate;
mod rtneural;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use super::bounded::{self, Limit};
use super::keys::Spanned;
use super::long_texts::LONGEST;
use super::model_file::ModelFile;
use super::safetensors::TensorFile;
use super::stack::Stack;
use super::{file_name, input_file};
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin, message, quoted};
use crate::front::read_model::ReadModel;
use crate::model::{LedgerEntry, Model, ModelSize, Op, SizesOf, counted};
use json::{Json, Object};

/// Limit for a file of JSON.
const LIMIT: Limit = Limit { file_kind: "the JSON of an amplifier model", bytes: 64 << 20 };

/// The result of a reader.
struct AmplifierModel {
    network: Network,
    /// Entries about the model as a whole: facts, gains, rates and the like.
    ledger: Vec<LedgerEntry>,
    warnings: Diagnostics,
    /// The sample rate of the code, in Hz. `None` for the model's.
    code_rate: Option<u64>,
}

/// The network that a reader builds.
enum Network {
    /// NAM's LSTM, or the layers of RTNeural, one sample per call.
    Stack(Box<Stack>),
    /// A network of NAM's convolutions with an open number of samples.
    Model(Box<Model>),
}

/// The bytes of a file, at most [`LIMIT`].
fn read_file(file: ModelFile) -> Result<Vec<u8>, Diagnostic> {
    let shown = quoted(&file.shown());
    let refused = |found: String| Diagnostic::error(Origin::Unknown, found);
    bounded::read(file.path, &LIMIT)
        .map_err(|error| refused(format!("cannot read {shown}: {error}")).cause(error))
}

/// Reads an amplifier model. `size`: see [`ModelSize`].
/// `sample_rate`: the rate of the code in Hz, `None` for the rate of the model.
///
/// # Errors
/// If the file cannot be read or is invalid, or if the size or the rate does not fit the model.
pub(super) fn read(
    file: ModelFile,
    size: Option<ModelSize>,
    sample_rate: Option<usize>,
) -> Result<ReadModel, Diagnostics> {
    let bytes = read_file(file)?;
    let mut read = read_bytes(&file.shown(), &file.stem(), &bytes, size, sample_rate)?;
    read.model.files.push(input_file(file.file_name(), &bytes));
    Ok(read)
}

/// Reads PyTorch's weights as JSON: an object with the tensors of a `state_dict` by name, as nested
/// lists of numbers.
///
/// # Errors
/// If the file cannot be read or is invalid.
pub(super) fn read_state_dict(file: ModelFile) -> Result<TensorFile, Diagnostics> {
    let bytes = read_file(file)?;
    let shown = file.shown();
    let Some(object) = Object::from_json(json::parse(&shown, &bytes)?) else {
        return Err(Diagnostic::error(Origin::Unknown, "the JSON is no object of tensors").into());
    };
    let mut tensors = BTreeMap::new();
    for (name, value) in object.rest() {
        let tensor = value.tensor(&format!("{}, {}", quoted(&shown), quoted(&name)))?;
        tensors.insert(name, tensor);
    }
    Ok(TensorFile::new(shown, input_file(file.file_name(), &bytes), tensors))
}

/// The model in the text of a file. `name`: the model's name in generated code.
pub(crate) fn read_bytes(
    path: &str,
    name: &str,
    bytes: &[u8],
    size: Option<ModelSize>,
    sample_rate: Option<usize>,
) -> Result<ReadModel, Diagnostics> {
    let parsed = json::parse(path, bytes)?;
    let name = Spanned::unplaced(name.to_owned());
    let found = match Object::from_json(parsed) {
        Some(object) if object.has("architecture") => nam::read(object, name, size, sample_rate),
        Some(object) if object.has("layers") => match size {
            Some(_) => Err(one_size().into()),
            None => rtneural::read(object, name, sample_rate),
        },
        _ => Err(Diagnostic::error(Origin::Unknown, "the JSON is no model of an amplifier")
            .valid(
                "an object with \"architecture\", \"config\" and \"weights\" (.nam), with \
                 \"in_shape\" and \"layers\" (RTNeural, AIDA-X), or with tensors by name, such as \
                 \"gru.weight_ih_l0\" (PyTorch's weights)",
            )
            .into()),
    };
    let shown = quoted(path);
    let in_file = |mut problems: Diagnostics| {
        for problem in &mut problems.0 {
            let key_path = problem.layer.take().filter(|key_path| !key_path.is_empty());
            let key_path = key_path.map_or(String::new(), |key_path| format!(", {key_path}"));
            problem.layer = Some(format!("{shown}{key_path}"));
        }
        problems
    };
    let AmplifierModel { network, ledger, warnings, code_rate } = found.map_err(in_file)?;
    let mut model = match network {
        Network::Model(model) => *model,
        Network::Stack(stack) => stack.model("`in_skip`").map_err(in_file)?,
    };
    model.code_rate = code_rate;
    model.sizes = SizesOf::Sample;
    let file = file_name(Path::new(path));
    for entry in model
        .nodes
        .iter_mut()
        .flat_map(|node| &mut node.ledger)
        .filter(|entry| entry.attribute == "weights")
    {
        entry.text = Some(file.clone());
    }
    // the header lists the entries with the first cell, or else with the first matrix product or
    // convolution
    let first = |is: fn(&Op) -> bool| model.nodes.iter().position(|node| is(&node.op));
    let first = first(|op| matches!(op, Op::Cell(_)))
        .or_else(|| first(|op| matches!(op, Op::MatMul { .. } | Op::Convolution(_))));
    if let Some(at) = first {
        model.nodes[at].ledger.extend(ledger);
    }
    Ok(ReadModel { model, problems: in_file(warnings) })
}

/// The error for a chosen size of a model that has only one size.
fn one_size() -> Diagnostic {
    let found = message!("{} is given, and the model has one size", super::size_setting());
    refusal("", found).help(message!("remove {}", super::size_setting()))
}

fn refusal(key_path: &str, found: impl Into<Message>) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, found).layer(key_path)
}

/// A ledger entry for a fact about the model without influence on its results.
fn about(key: &str, value: &Json) -> LedgerEntry {
    let text = match value {
        Json::Text(text) => text.clone(),
        other => other.to_string(),
    };
    let origin = Origin::Unknown;
    LedgerEntry {
        attribute: key.to_owned(),
        text: Some(text),
        meaning: "about the model, not computed with".to_owned(),
        origin,
    }
}

/// Ledger entries for an object of facts about the model. The `listed` keys, by which a host
/// adjusts rate and levels, get entries of their own.
fn of_metadata(metadata: Json, listed: &[&str]) -> Vec<LedgerEntry> {
    let whole = about("metadata", &metadata);
    let Some(mut metadata) = Object::from_json(metadata) else { return vec![whole] };
    let entry = |key: &&str| {
        let value = metadata.take(key).filter(|value| *value != Json::Null)?;
        Some(about(&format!("metadata.{key}"), &value))
    };
    let mut entries: Vec<_> = listed.iter().filter_map(entry).collect();
    // if the entries cover all keys, an entry for the whole is redundant
    if entries.is_empty() || metadata.rest().next().is_some() {
        entries.insert(0, whole);
    }
    entries
}

/// Number of keys in all objects inside a value.
fn nested_keys(value: &Json) -> usize {
    match value {
        Json::Object(inner) => inner.iter().map(|(_, value)| 1 + nested_keys(value)).sum(),
        Json::List(items) => items.iter().map(nested_keys).sum(),
        _ => 0,
    }
}

/// Adds the keys of an object that no reader took to the ledger, up to [`LONGEST`] bytes. Keys
/// other than the `known` facts about the model also cause warnings.
fn remaining(
    object: Object,
    known: &[&str],
    ledger: &mut Vec<LedgerEntry>,
    warnings: &mut Diagnostics,
) {
    let (mut room, mut left_out) = (LONGEST, 0);
    for (key, value) in object.rest() {
        let entry = about(&key, &value);
        let len = entry.attribute.len() + entry.text.as_ref().map_or(0, String::len);
        if len > room {
            left_out += 1 + nested_keys(&value);
            continue;
        }
        room -= len;
        if !known.contains(&&key[..]) {
            let found =
                format!("the key {} is not known, and nothing is computed with it", quoted(&key));
            warnings.push(Diagnostic::warning(Origin::Unknown, found));
        }
        ledger.push(entry);
    }
    if left_out > 0 {
        let keys = counted(left_out, "more key");
        let found = format!(
            "nothing is computed with {keys}, which the header leaves out: it lists {LONGEST} bytes"
        );
        warnings.push(Diagnostic::notice(Origin::Unknown, found));
    }
}
