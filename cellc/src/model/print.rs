//! A model as text, for `--emit model` and for snapshots.

use std::fmt::{self, Display, Formatter};

use super::{CellKind, ElementType, ResetGate, Source, ValidCell, ValidModel, WeightSource};

impl Display for ValidModel {
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
            writeln!(f, "parameter {i}{names}: {}{weight}", tensor(parameter.element, &parameter.shape))?;
        }
        for (i, constant) in self.constants.iter().enumerate() {
            writeln!(f, "constant {i}: {}", tensor(constant.element(), constant.shape()))?;
        }
        for (i, cell) in self.cells.iter().enumerate() {
            writeln!(f, "cell {i} {}: {cell}", visible(&cell.name))?;
        }
        for (i, result) in self.results.iter().enumerate() {
            let names = all_visible(&result.names);
            writeln!(f, "result {i}{names}: {} = {}", tensor(result.element, &result.shape), result.source)?;
        }
        for state in &self.states {
            writeln!(f, "state: parameter {} becomes result {}", state.parameter, state.result)?;
        }
        Ok(())
    }
}

/// The operation, its attributes, its inputs and what each attribute of the input was taken to mean.
impl Display for ValidCell {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.op_name())?;
        match self.kind {
            CellKind::Rnn => {}
            CellKind::Gru(ResetGate::BeforeMatMul) => f.write_str(", reset before the matrix product")?,
            CellKind::Gru(ResetGate::AfterMatMul) => f.write_str(", reset after the matrix product")?,
        }
        let activations: Vec<_> = self.activations.iter().map(|a| a.name()).collect();
        write!(f, ", {}", activations.join(" "))?;
        if let Some(clip) = self.clip {
            write!(f, ", clip {clip}")?;
        }
        writeln!(f, ", batch {}, input size {}, hidden size {}", self.batch, self.input_size, self.hidden_size)?;
        write!(f, "  x = {}, h = {}, w = {}, r = {}, b = {}", self.x, self.h, self.w, self.r, self.b)?;
        for entry in &self.ledger {
            let attribute = visible(&entry.attribute);
            match &entry.given {
                Some(given) => write!(f, "\n  {attribute} = {}: {}", visible(given), entry.taken)?,
                None => write!(f, "\n  {attribute} absent: {}", entry.taken)?,
            }
        }
        Ok(())
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(i) => write!(f, "parameter {i}"),
            Self::Constant(i) => write!(f, "constant {i}"),
            Self::Cell(i) => write!(f, "cell {i}"),
        }
    }
}

impl Display for WeightSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(i) => write!(f, "constant {i}"),
            Self::Parameter(i) => write!(f, "parameter {i}"),
            Self::Zero => f.write_str("zero"),
        }
    }
}

fn tensor(element: ElementType, shape: &[usize]) -> String {
    format!("{} {shape:?}", element.name())
}

fn all_visible(names: &[String]) -> String {
    names.iter().map(|name| format!(" {}", visible(name))).collect()
}

/// A text of the input, cut and escaped.
fn visible(text: &str) -> String {
    const LONGEST: usize = 60;
    let end = if text.chars().nth(LONGEST).is_some() { "…" } else { "" };
    format!("\"{}{end}\"", text.chars().take(LONGEST).flat_map(char::escape_default).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Activation, InputFile, LedgerEntry, Parameter, ResultValue, StatePair};

    #[test]
    fn everything_is_said_and_nothing_breaks_out() {
        let parameter = |name: &str, size| Parameter {
            names: vec![name.to_owned()],
            shape: vec![1, size],
            element: ElementType::F32,
            weight: false,
        };
        let cell = ValidCell {
            name: "a\nb\u{202e}".repeat(40),
            kind: CellKind::Gru(ResetGate::AfterMatMul),
            batch: 1,
            input_size: 3,
            hidden_size: 2,
            activations: vec![Activation::Sigmoid, Activation::Tanh],
            clip: Some(0.5),
            x: Source::Parameter(0),
            h: Source::Parameter(1),
            w: WeightSource::Constant(0),
            r: WeightSource::Parameter(2),
            b: WeightSource::Zero,
            ledger: vec![LedgerEntry {
                attribute: "clip".to_owned(),
                given: Some("0.5".to_owned()),
                taken: "0.5".to_owned(),
                origin: Default::default(),
            }],
        };
        let model = ValidModel {
            name: Some("net".to_owned()),
            files: vec![InputFile { name: "net.xml".to_owned(), sha256: "00".to_owned() }],
            parameters: vec![parameter("x", 3), parameter("h", 2)],
            constants: Vec::new(),
            cells: vec![cell],
            results: vec![ResultValue {
                names: Vec::new(),
                shape: vec![1, 2],
                element: ElementType::F16,
                source: Source::Cell(0),
            }],
            states: vec![StatePair { parameter: 1, result: 0 }],
        };
        let name = r"a\nb\u{202e}".repeat(15);
        assert_eq!(
            model.to_string(),
            format!(
                r#"model "net"
file "net.xml": SHA-256 00
parameter 0 "x": f32 [1, 3]
parameter 1 "h": f32 [1, 2]
cell 0 "{name}…": GRUCell, reset after the matrix product, sigmoid tanh, clip 0.5, batch 1, input size 3, hidden size 2
  x = parameter 0, h = parameter 1, w = constant 0, r = parameter 2, b = zero
  "clip" = "0.5": 0.5
result 0: f16 [1, 2] = cell 0
state: parameter 1 becomes result 0
"#
            )
        );
    }
}
