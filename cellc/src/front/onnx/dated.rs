//! Attributes, inputs and outputs of operators that only some operator sets have.

use super::graph::GraphReader;
use super::proto::NodeProto;
use crate::diagnostic::quoted;

/// An attribute, input or output of an operator.
#[derive(Debug)]
pub enum Part {
    /// The attribute with this name.
    Attribute(&'static str),
    /// All inputs from this index on.
    Input(usize),
    /// All outputs from this index on.
    Output(usize),
}

/// The operator sets with a part of an operator's definition.
#[derive(Debug)]
pub struct Dated {
    /// The attribute, inputs or outputs.
    pub part: Part,
    /// The first operator set with the part. 1: the operator's first definition has the part.
    pub since: i64,
    /// The first operator set without the part. `None` if the newest still has the part.
    pub until: Option<i64>,
    /// The operators with the part.
    pub operators: &'static [&'static str],
}

const fn came(name: &'static str, since: i64, operators: &'static [&'static str]) -> Dated {
    Dated { part: Part::Attribute(name), since, until: None, operators }
}

const fn went(name: &'static str, until: i64, operators: &'static [&'static str]) -> Dated {
    Dated { part: Part::Attribute(name), since: 1, until: Some(until), operators }
}

const fn input(place: usize, since: i64, operators: &'static [&'static str]) -> Dated {
    Dated { part: Part::Input(place), since, until: None, operators }
}

/// Reductions with axes as an input since operator set 18.
const REDUCTIONS: &[&str] = &[
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
];

/// Changes between the oldest and the newest supported operator set. `tests/models/dated.py`
/// compares the table with the package onnx.
pub static DATED: &[Dated] = &[
    came("layout", 14, &["GRU", "LSTM", "RNN"]),
    went("min", 11, &["Clip"]),
    went("max", 11, &["Clip"]),
    input(1, 11, &["Clip"]),
    went("axes", 13, &["ReduceSum", "Squeeze", "Unsqueeze"]),
    input(1, 13, &["ReduceSum", "Squeeze", "Unsqueeze"]),
    came("noop_with_empty_axes", 13, &["ReduceSum"]),
    went("axes", 18, REDUCTIONS),
    input(1, 18, REDUCTIONS),
    came("noop_with_empty_axes", 18, REDUCTIONS),
    went("spatial", 9, &["BatchNormalization"]),
    came("training_mode", 14, &["BatchNormalization"]),
    Dated { part: Part::Output(3), since: 1, until: Some(14), operators: &["BatchNormalization"] },
    Dated { part: Part::Output(1), since: 8, until: None, operators: &["MaxPool"] },
    came("stash_type", 21, &["GroupNormalization"]),
    went("ratio", 12, &["Dropout"]),
    came("seed", 12, &["Dropout"]),
    input(1, 12, &["Dropout"]),
    came("saturate", 19, &["Cast", "CastLike", "QuantizeLinear"]),
    came("round_mode", 24, &["Cast", "CastLike"]),
    came("sparse_value", 11, &["Constant"]),
    came("value_float", 12, &["Constant"]),
    came("value_floats", 12, &["Constant"]),
    came("value_int", 12, &["Constant"]),
    came("value_ints", 12, &["Constant"]),
    came("value_string", 12, &["Constant"]),
    came("value_strings", 12, &["Constant"]),
    came("start", 15, &["Shape"]),
    came("end", 15, &["Shape"]),
    came("allowzero", 14, &["Reshape"]),
    went("split", 13, &["Split"]),
    input(1, 13, &["Split"]),
    came("num_outputs", 18, &["Split"]),
    went("starts", 10, &["Slice"]),
    went("ends", 10, &["Slice"]),
    went("axes", 10, &["Slice"]),
    input(1, 10, &["Slice"]),
    came("reduction", 16, &["ScatterND", "ScatterElements"]),
    came("batch_dims", 12, &["GatherND"]),
    went("axis", 20, &["DFT"]),
    input(2, 20, &["DFT"]),
    came("stash_type", 27, &["Range"]),
    came("coordinate_transformation_mode", 11, &["Resize"]),
    came("cubic_coeff_a", 11, &["Resize"]),
    came("exclude_outside", 11, &["Resize"]),
    came("extrapolation_value", 11, &["Resize"]),
    came("nearest_mode", 11, &["Resize"]),
    input(2, 11, &["Resize"]),
    came("antialias", 18, &["Resize"]),
    came("axes", 18, &["Resize"]),
    came("keep_aspect_ratio_policy", 18, &["Resize"]),
    went("scales", 9, &["Upsample"]),
    input(1, 9, &["Upsample"]),
    came("mode", 11, &["DepthToSpace"]),
    came("mode", 28, &["SpaceToDepth"]),
    came("select_last_index", 12, &["ArgMax", "ArgMin"]),
    went("k", 10, &["TopK"]),
    input(1, 10, &["TopK"]),
    came("largest", 11, &["TopK"]),
    came("sorted", 11, &["TopK"]),
    came("storage_order", 8, &["MaxPool"]),
    came("ceil_mode", 10, &["MaxPool", "AveragePool"]),
    came("dilations", 10, &["MaxPool"]),
    came("dilations", 19, &["AveragePool"]),
    went("pads", 11, &["Pad"]),
    went("value", 11, &["Pad"]),
    input(1, 11, &["Pad"]),
    input(3, 18, &["Pad"]),
    came("axis", 13, &["QuantizeLinear", "DequantizeLinear"]),
    came("block_size", 21, &["QuantizeLinear", "DequantizeLinear"]),
    came("output_dtype", 21, &["QuantizeLinear"]),
    came("output_dtype", 23, &["DequantizeLinear"]),
    came("precision", 23, &["QuantizeLinear"]),
];

/// Refuses parts of a node that its operator set does not define. False after an error.
pub(super) fn check(
    reader: &mut GraphReader<'_>,
    node: &NodeProto,
    operator: &str,
    set: i64,
) -> bool {
    let before = reader.errors();
    for row in DATED.iter().filter(|row| row.operators.contains(&operator)) {
        let given = match row.part {
            Part::Attribute(name) => node
                .attribute
                .iter()
                .any(|a| a.name.as_deref() == Some(name))
                .then(|| format!("the attribute {name}")),
            Part::Output(place) => {
                let at = node.output.iter().skip(place).position(|name| !name.is_empty());
                at.map(|at| format!("output {}, {}", place + at, quoted(&node.output[place + at])))
            }
            Part::Input(place) => {
                let at = node.input.iter().skip(place).position(|name| !name.is_empty());
                at.map(|at| format!("input {}, {}", place + at, quoted(&node.input[place + at])))
            }
        };
        let Some(given) = given else { continue };
        let found = format!("{given}: operator set {set} does not have it");
        if set < row.since {
            let help = format!(
                "remove it; or, if it is meant, state operator set {} in the file (opset_import)",
                row.since
            );
            reader.error(found, format!("in operator set {} or later", row.since), help);
        } else if let Some(until) = row.until.filter(|&until| set >= until) {
            let is_input =
                |other: &Dated| matches!(other.part, Part::Input(_)) && other.since == until;
            let becomes_input =
                DATED.iter().any(|other| is_input(other) && other.operators.contains(&operator));
            let help = if becomes_input { "give it as an input" } else { "remove it" };
            let help = format!("{help}, or export the model again");
            reader.error(found, format!("in operator set {} or earlier", until - 1), help);
        }
    }
    reader.errors() == before
}
