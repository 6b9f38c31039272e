//! Attributes, inputs and outputs of operators that only some operator sets have.

use super::graph::GraphReader;
use super::proto::NodeProto;
use crate::diagnostic::quoted;

/// An attribute, input or output of an operator.
#[derive(Debug)]
pub enum OperatorPart {
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
    pub part: OperatorPart,
    /// The first operator set with the part. 1: the operator's first definition has the part.
    pub since: i64,
    /// The first operator set without the part. `None` if the newest still has the part.
    pub until: Option<i64>,
    /// The operators with the part.
    pub operators: &'static [&'static str],
}

/// An attribute that the operators have from operator set `since` on.
const fn attribute_since(
    name: &'static str,
    since: i64,
    operators: &'static [&'static str],
) -> Dated {
    Dated { part: OperatorPart::Attribute(name), since, until: None, operators }
}

/// An attribute that the operators have in operator sets before `until`.
const fn attribute_until(
    name: &'static str,
    until: i64,
    operators: &'static [&'static str],
) -> Dated {
    Dated { part: OperatorPart::Attribute(name), since: 1, until: Some(until), operators }
}

/// The inputs from index `first` on, which the operators have from operator set `since` on.
const fn inputs_since(first: usize, since: i64, operators: &'static [&'static str]) -> Dated {
    Dated { part: OperatorPart::Input(first), since, until: None, operators }
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
    attribute_since("layout", 14, &["GRU", "LSTM", "RNN"]),
    attribute_until("min", 11, &["Clip"]),
    attribute_until("max", 11, &["Clip"]),
    inputs_since(1, 11, &["Clip"]),
    attribute_until("axes", 13, &["ReduceSum", "Squeeze", "Unsqueeze"]),
    inputs_since(1, 13, &["ReduceSum", "Squeeze", "Unsqueeze"]),
    attribute_since("noop_with_empty_axes", 13, &["ReduceSum"]),
    attribute_until("axes", 18, REDUCTIONS),
    inputs_since(1, 18, REDUCTIONS),
    attribute_since("noop_with_empty_axes", 18, REDUCTIONS),
    attribute_until("spatial", 9, &["BatchNormalization"]),
    attribute_since("training_mode", 14, &["BatchNormalization"]),
    Dated {
        part: OperatorPart::Output(3),
        since: 1,
        until: Some(14),
        operators: &["BatchNormalization"],
    },
    Dated { part: OperatorPart::Output(1), since: 8, until: None, operators: &["MaxPool"] },
    attribute_since("stash_type", 21, &["GroupNormalization"]),
    attribute_until("ratio", 12, &["Dropout"]),
    attribute_since("seed", 12, &["Dropout"]),
    inputs_since(1, 12, &["Dropout"]),
    attribute_since("saturate", 19, &["Cast", "CastLike", "QuantizeLinear"]),
    attribute_since("round_mode", 24, &["Cast", "CastLike"]),
    attribute_since("sparse_value", 11, &["Constant"]),
    attribute_since("value_float", 12, &["Constant"]),
    attribute_since("value_floats", 12, &["Constant"]),
    attribute_since("value_int", 12, &["Constant"]),
    attribute_since("value_ints", 12, &["Constant"]),
    attribute_since("value_string", 12, &["Constant"]),
    attribute_since("value_strings", 12, &["Constant"]),
    attribute_since("start", 15, &["Shape"]),
    attribute_since("end", 15, &["Shape"]),
    attribute_since("allowzero", 14, &["Reshape"]),
    attribute_until("split", 13, &["Split"]),
    inputs_since(1, 13, &["Split"]),
    attribute_since("num_outputs", 18, &["Split"]),
    attribute_until("starts", 10, &["Slice"]),
    attribute_until("ends", 10, &["Slice"]),
    attribute_until("axes", 10, &["Slice"]),
    inputs_since(1, 10, &["Slice"]),
    attribute_since("reduction", 16, &["ScatterND", "ScatterElements"]),
    attribute_since("batch_dims", 12, &["GatherND"]),
    attribute_until("axis", 20, &["DFT"]),
    inputs_since(2, 20, &["DFT"]),
    attribute_since("stash_type", 27, &["Range"]),
    attribute_since("coordinate_transformation_mode", 11, &["Resize"]),
    attribute_since("cubic_coeff_a", 11, &["Resize"]),
    attribute_since("exclude_outside", 11, &["Resize"]),
    attribute_since("extrapolation_value", 11, &["Resize"]),
    attribute_since("nearest_mode", 11, &["Resize"]),
    inputs_since(2, 11, &["Resize"]),
    attribute_since("antialias", 18, &["Resize"]),
    attribute_since("axes", 18, &["Resize"]),
    attribute_since("keep_aspect_ratio_policy", 18, &["Resize"]),
    attribute_until("scales", 9, &["Upsample"]),
    inputs_since(1, 9, &["Upsample"]),
    attribute_since("mode", 11, &["DepthToSpace"]),
    attribute_since("mode", 28, &["SpaceToDepth"]),
    attribute_since("select_last_index", 12, &["ArgMax", "ArgMin"]),
    attribute_until("k", 10, &["TopK"]),
    inputs_since(1, 10, &["TopK"]),
    attribute_since("largest", 11, &["TopK"]),
    attribute_since("sorted", 11, &["TopK"]),
    attribute_since("storage_order", 8, &["MaxPool"]),
    attribute_since("ceil_mode", 10, &["MaxPool", "AveragePool"]),
    attribute_since("dilations", 10, &["MaxPool"]),
    attribute_since("dilations", 19, &["AveragePool"]),
    attribute_until("pads", 11, &["Pad"]),
    attribute_until("value", 11, &["Pad"]),
    inputs_since(1, 11, &["Pad"]),
    inputs_since(3, 18, &["Pad"]),
    attribute_since("axis", 13, &["QuantizeLinear", "DequantizeLinear"]),
    attribute_since("block_size", 21, &["QuantizeLinear", "DequantizeLinear"]),
    attribute_since("output_dtype", 21, &["QuantizeLinear"]),
    attribute_since("output_dtype", 23, &["DequantizeLinear"]),
    attribute_since("precision", 23, &["QuantizeLinear"]),
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
            OperatorPart::Attribute(name) => node
                .attribute
                .iter()
                .any(|a| a.name.as_deref() == Some(name))
                .then(|| format!("the attribute {name}")),
            OperatorPart::Output(first) => {
                let at = node.output.iter().skip(first).position(|name| !name.is_empty());
                at.map(|at| format!("output {}, {}", first + at, quoted(&node.output[first + at])))
            }
            OperatorPart::Input(first) => {
                let at = node.input.iter().skip(first).position(|name| !name.is_empty());
                at.map(|at| format!("input {}, {}", first + at, quoted(&node.input[first + at])))
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
            let is_input = |other: &Dated| {
                matches!(other.part, OperatorPart::Input(_)) && other.since == until
            };
            let becomes_input =
                DATED.iter().any(|other| is_input(other) && other.operators.contains(&operator));
            let help = if becomes_input { "give it as an input" } else { "remove it" };
            let help = format!("{help}, or export the model again");
            reader.error(found, format!("in operator set {} or earlier", until - 1), help);
        }
    }
    reader.errors() == before
}
