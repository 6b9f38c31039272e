//! A model as text, for `--emit model` and for snapshots.

use std::fmt::{self, Display, Formatter};

use super::{CoreModel, CoreNode, CoreOp};
use crate::model::{ElementType, LedgerEntry};

impl Display for CoreModel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            writeln!(f, "model {}", visible(name))?;
        }
        for file in &self.files {
            writeln!(f, "file {}: SHA-256 {}", visible(&file.name), file.sha256)?;
        }
        for (i, parameter) in self.parameters.iter().enumerate() {
            let weight = if parameter.weight { ", weights" } else { "" };
            let names = all_visible(&parameter.names);
            writeln!(
                f,
                "parameter {i}{names}: {}{weight}",
                tensor(parameter.element, &parameter.shape)
            )?;
        }
        for (i, constant) in self.constants.iter().enumerate() {
            writeln!(f, "constant {i}: {}", tensor(constant.element(), constant.shape()))?;
        }
        for (i, variable) in self.variables.iter().enumerate() {
            let initial = variable.initial.map_or("zero".to_owned(), |i| format!("constant {i}"));
            write!(
                f,
                "variable {i} {}: f32 {:?}, at first {initial}",
                visible(&variable.name),
                variable.shape
            )?;
            match variable.next {
                Some(next) => writeln!(f, ", then {next}")?,
                None => writeln!(f, ", never assigned")?,
            }
        }
        if !self.nodes.is_empty() {
            writeln!(f, "{}", self.text_of(&self.nodes))?;
        }
        for (i, result) in self.results.iter().enumerate() {
            let names = all_visible(&result.names);
            writeln!(
                f,
                "result {i}{names}: {} = {}",
                tensor(result.element, &result.shape),
                result.source
            )?;
        }
        for state in &self.states {
            writeln!(f, "state: parameter {} becomes result {}", state.parameter, state.result)?;
        }
        Ok(())
    }
}

impl CoreModel {
    /// The operations as text, each on one or several lines. The operations of a loop's body are
    /// indented.
    pub(super) fn text_of(&self, nodes: &[CoreNode]) -> String {
        let line = |node: &CoreNode| {
            let shape = |&v: &usize| format!("value {v} {:?}", self.values[v].shape);
            let outputs: Vec<_> = node.op.outputs().iter().map(shape).collect();
            let mut text = node.op.text(self);
            if matches!(node.op, CoreOp::Cell(_)) {
                text.extend(node.ledger.iter().map(attribute));
            }
            format!("{} = {} {}: {text}", outputs.join(", "), node.kind, visible(&node.name))
        };
        nodes.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The line for the meaning of an attribute.
fn attribute(entry: &LedgerEntry) -> String {
    let (attribute, meaning) = (visible(&entry.attribute), &entry.meaning);
    match &entry.text {
        Some(given) => format!("\n  {attribute} = {}: {meaning}", visible(given)),
        None => format!("\n  {attribute} absent: {meaning}"),
    }
}

fn tensor(element: ElementType, shape: &[usize]) -> String {
    format!("{} {shape:?}", element.name())
}

fn all_visible(names: &[String]) -> String {
    names.iter().map(|name| format!(" {}", visible(name))).collect()
}

/// A text of the input in quotes, cut to 60 characters and escaped.
pub(super) fn visible(text: &str) -> String {
    const LONGEST: usize = 60;
    let end = if text.chars().nth(LONGEST).is_some() { "…" } else { "" };
    format!(
        "\"{}{end}\"",
        text.chars().take(LONGEST).flat_map(char::escape_default).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{
        CellOutputs, CoreCell, CoreOp, CoreValue, LayerPlace, Parameter, ResultValue, Source,
        StatePair, WeightSource,
    };
    use crate::model::{CellKind, InputFile, LedgerEntry, ResetGate};

    #[test]
    fn everything_is_said_and_nothing_breaks_out() {
        let parameter = |name: &str, size| Parameter {
            names: vec![name.to_owned()],
            shape: vec![1, size],
            element: ElementType::F32,
            weight: false,
            length: None,
            rows: None,
        };
        let kind = CellKind::Gru(ResetGate::AfterMatMul);
        let weights = [WeightSource::Constant(0), WeightSource::Parameter(2), WeightSource::Zero];
        let cell =
            CoreCell::new(kind, [1, 3, 2], [Source::Parameter(0), Source::Parameter(1)], weights);
        let cell = CoreCell {
            clip: Some(0.5),
            out: CellOutputs { h: Some(0), ..CellOutputs::default() },
            ..cell
        };
        let model = CoreModel {
            name: Some("net".to_owned()),
            files: vec![InputFile { name: "net.xml".to_owned(), sha256: "00".to_owned() }],
            parameters: vec![parameter("x", 3), parameter("h", 2)],
            constants: Vec::new(),
            values: vec![CoreValue { shape: vec![1, 2] }],
            nodes: vec![CoreNode {
                name: "a\nb\u{202e}".repeat(40),
                kind: "GRUCell".to_owned(),
                ledger: vec![LedgerEntry {
                    attribute: "clip".to_owned(),
                    text: Some("0.5".to_owned()),
                    meaning: "0.5".to_owned(),
                    origin: Default::default(),
                }],
                layer: LayerPlace::default(),
                op: CoreOp::Cell(cell),
            }],
            results: vec![ResultValue {
                names: Vec::new(),
                shape: vec![1, 2],
                element: ElementType::F16,
                source: Source::Value(0),
                parts: None,
            }],
            states: vec![StatePair { parameter: 1, result: 0 }],
            ..CoreModel::default()
        };
        let name = r"a\nb\u{202e}".repeat(15);
        assert_eq!(
            model.to_string(),
            format!(
                r#"model "net"
file "net.xml": SHA-256 00
parameter 0 "x": f32 [1, 3]
parameter 1 "h": f32 [1, 2]
value 0 [1, 2] = GRUCell "{name}…": GRUCell, reset after the matrix product, sigmoid tanh, clip 0.5, batch 1, input size 3, hidden size 2
  x = parameter 0, h = parameter 1, w = constant 0, r = parameter 2, b = zero, h' = value 0
  "clip" = "0.5": 0.5
result 0: f16 [1, 2] = value 0
state: parameter 1 becomes result 0
"#
            )
        );
    }
}
