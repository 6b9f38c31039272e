//! A model as text, for `--emit model` and for snapshots.

use std::fmt::{self, Display, Formatter};

use super::{CoreCell, CoreLoop, CoreModel, CoreNode, CoreOp, Lengths, Source, WeightSource};
use crate::model::{ElementType, ResetGate, counted};

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
        self.nodes(&self.nodes, 0, f)?;
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
    /// At least one line for each operation. The operations of a loop's body are indented.
    fn nodes(&self, nodes: &[CoreNode], depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
        let indent = "  ".repeat(depth);
        for node in nodes {
            let outputs: Vec<_> = node
                .op
                .outputs()
                .iter()
                .map(|&v| format!("value {v} {:?}", self.values[v].shape))
                .collect();
            write!(f, "{indent}{} = {} {}: ", outputs.join(", "), node.kind, visible(&node.name))?;
            match &node.op {
                CoreOp::Cell(cell) => {
                    writeln!(f, "{}", cell.to_string().replace('\n', &format!("\n{indent}")))?
                }
                CoreOp::Dense(dense) => {
                    let w = if dense.transposed { "W'" } else { "W" };
                    writeln!(
                        f,
                        "{} {w}, {}, {w} [{}, {}], W = {}",
                        dense.x,
                        counted(dense.rows, "row"),
                        dense.inputs,
                        dense.outputs,
                        dense.w
                    )?;
                }
                CoreOp::MatMul(m) => {
                    let (batch, rows, inner, columns) = (m.batch, m.rows, m.inner, m.columns);
                    writeln!(
                        f,
                        "{} times {}, {batch} of [{rows}, {inner}] [{inner}, {columns}]",
                        m.a, m.b
                    )?;
                }
                CoreOp::Convolve(c) => {
                    let taps: Vec<String> =
                        c.taps.iter().map(|(count, step)| format!("{count} by {step}")).collect();
                    let (n, q, groups) = (c.batch * c.groups, c.positions, c.groups);
                    let (groups, taps) = (counted(groups, "group"), taps.join(", "));
                    writeln!(
                        f,
                        "convolution of {} with {}, {n} of {} to {} channels in {groups}, {q} of \
                         {} elements, {} and {} pads, {} before each of {} lines, from {}, taps \
                         {taps}",
                        c.x,
                        c.w,
                        c.inputs,
                        c.outputs,
                        c.length,
                        c.pads.0,
                        c.pads.1,
                        c.lines.1,
                        c.lines.0,
                        c.start
                    )?;
                }
                CoreOp::Pointwise(p) => {
                    writeln!(f, "{} of {}", p.function.name(), sources(&p.inputs))?
                }
                CoreOp::Softmax(s) => {
                    let log = if s.log { "logarithm of " } else { "" };
                    writeln!(f, "{log}softmax of {} along axis {}", s.input, s.axis)?;
                }
                CoreOp::Reduce(r) => {
                    let (name, chains) = (r.function.name(), counted(r.chains, "chain"));
                    writeln!(
                        f,
                        "{name} of {} along axes {} to {}, {chains}",
                        r.input,
                        r.first,
                        r.end - 1
                    )?;
                }
                CoreOp::View(v) => {
                    writeln!(f, "view of {} from {}, strides {:?}", v.input, v.offset, v.strides)?
                }
                CoreOp::Concat(c) => writeln!(f, "{} along axis {}", sources(&c.inputs), c.axis)?,
                CoreOp::Loop(body) => self.body(body, depth, f)?,
                CoreOp::Integers(i) => {
                    writeln!(f, "integers of {}", Source::Parameter(i.parameter))?
                }
                CoreOp::Lookup(l) => {
                    writeln!(
                        f,
                        "rows {} of {}, which has {} of {}",
                        l.indices, l.table, l.size, l.len
                    )?;
                }
                CoreOp::TopK(t) => {
                    let which = if t.largest { "largest" } else { "smallest" };
                    writeln!(
                        f,
                        "{} {which} of each row of {}, {} of {}",
                        t.count, t.input, t.rows, t.size
                    )?;
                }
            }
        }
        Ok(())
    }

    fn body(&self, body: &CoreLoop, depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} trips", body.trips)?;
        let indent = "  ".repeat(depth + 1);
        let order = |reverse: bool| if reverse { ", last first" } else { "" };
        for slice in &body.slices {
            let shape = &self.values[slice.piece].shape;
            let (of, axis, order) = (slice.of, slice.axis, order(slice.reverse));
            writeln!(
                f,
                "{indent}value {} {shape:?} = piece of {of} along axis {axis}{order}",
                slice.piece
            )?;
        }
        for carried in &body.carried {
            let shape = &self.values[carried.value].shape;
            let (initial, next) = (carried.initial, carried.next);
            writeln!(
                f,
                "{indent}value {} {shape:?} = {initial} at first, then {next}",
                carried.value
            )?;
        }
        if let Some(running) = body.running {
            writeln!(f, "{indent}leaves where value {running} is 0")?;
        }
        self.nodes(&body.body, depth + 1, f)?;
        for result in &body.results {
            match result.pieces {
                None => writeln!(f, "{indent}value {} = the last {}", result.out, result.of)?,
                Some((axis, reverse)) => {
                    let (of, order) = (result.of, order(reverse));
                    writeln!(
                        f,
                        "{indent}value {} = every {of} along axis {axis}{order}",
                        result.out
                    )?;
                }
            }
        }
        Ok(())
    }
}

fn sources(list: &[Source]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The operation, its attributes, its inputs and the interpretation of each attribute of the input.
impl Display for CoreCell {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sequence = self.sequence.as_ref();
        f.write_str(if sequence.is_some() {
            self.kind.sequence_name()
        } else {
            self.kind.op_name()
        })?;
        match self.kind.reset_gate() {
            None => {}
            Some(ResetGate::BeforeMatMul) => f.write_str(", reset before the matrix product")?,
            Some(ResetGate::AfterMatMul) => f.write_str(", reset after the matrix product")?,
        }
        let activations: Vec<_> = self.activations.iter().map(|a| a.label()).collect();
        write!(f, ", {}", activations.join(" "))?;
        if let Some(clip) = self.clip {
            write!(f, ", clip {clip}")?;
        }
        let order = self.layout.order(self.kind);
        if self.kind.has_cell_state() || order != self.kind.gate_letters() {
            write!(f, ", gates {order}")?;
        }
        if let Some(coupled) = self.coupled {
            write!(f, ", {}", coupled.equation())?;
        }
        if let Some(sequence) = sequence {
            write!(
                f,
                ", {}{}",
                counted(sequence.steps, "step"),
                if sequence.reverse { ", last first" } else { "" }
            )?;
            match &sequence.lengths {
                Lengths::Full => {}
                Lengths::Constant(lengths) => write!(f, ", lengths {lengths:?}")?,
                Lengths::Parameter(i) => write!(f, ", lengths parameter {i}")?,
                Lengths::Computed(source) => write!(f, ", lengths {source}")?,
            }
        }
        writeln!(
            f,
            ", batch {}, input size {}, hidden size {}",
            self.batch, self.input_size, self.hidden_size
        )?;
        write!(f, "  x = {}, h = {}", self.x, self.h)?;
        for (name, source) in [("c", self.c), ("a", self.a)] {
            if let Some(source) = source {
                write!(f, ", {name} = {source}")?;
            }
        }
        let b: Vec<_> = self.b.iter().map(ToString::to_string).collect();
        write!(f, ", w = {}, r = {}, b = {}", self.w, self.r, b.join(" and "))?;
        if let Some(p) = self.p {
            write!(f, ", p = {p}")?;
        }
        if self.weight_set > 0 {
            write!(f, ", set {} of the weights", self.weight_set)?;
        }
        for (name, value) in [("y", self.y), ("h'", self.h_out), ("c'", self.c_out)] {
            if let Some(value) = value {
                write!(f, ", {name} = value {value}")?;
            }
        }
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
    format!(
        "\"{}{end}\"",
        text.chars().take(LONGEST).flat_map(char::escape_default).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{CoreValue, LayerPlace, Parameter, ResultValue, StatePair};
    use crate::model::{CellKind, InputFile, LedgerEntry};

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
            CoreCell::new(kind, (1, 3, 2), (Source::Parameter(0), Source::Parameter(1)), weights);
        let cell = CoreCell {
            name: "a\nb\u{202e}".repeat(40),
            clip: Some(0.5),
            h_out: Some(0),
            ledger: vec![LedgerEntry {
                attribute: "clip".to_owned(),
                given: Some("0.5".to_owned()),
                taken: "0.5".to_owned(),
                origin: Default::default(),
            }],
            ..cell
        };
        let model = CoreModel {
            name: Some("net".to_owned()),
            files: vec![InputFile { name: "net.xml".to_owned(), sha256: "00".to_owned() }],
            parameters: vec![parameter("x", 3), parameter("h", 2)],
            constants: Vec::new(),
            values: vec![CoreValue { shape: vec![1, 2] }],
            nodes: vec![CoreNode {
                name: cell.name.clone(),
                kind: "GRUCell".to_owned(),
                ledger: Vec::new(),
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
