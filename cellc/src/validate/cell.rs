//! Whether a cell is right, and what a wrong shape looks like.

use super::{INPUTS, Validation, floats};
use crate::diagnostic::{Diagnostic, Origin};
use crate::model::{
    Activation, Cell, CellKind, LedgerEntry, Node, ResetGate, Source, ValidCell, WeightSource, shape_text,
};

impl Validation<'_> {
    pub(super) fn cell(&mut self, node: &Node, cell: &Cell) -> Option<ValidCell> {
        let op = cell.kind.op_name();
        if cell.hidden_size == 0 {
            let found = "hidden_size is 0";
            self.error(
                node,
                node.attribute_origin("hidden_size"),
                found,
                "an integer of 1 or more",
                "write the length of the state h",
            );
            return None;
        }
        let mut right = self.cell_types(node, cell);
        let wanted = cell.kind.default_activations();
        if cell.activations.len() != wanted.len() {
            let (takes, roles) = match cell.kind {
                CellKind::Rnn => ("1", "f"),
                CellKind::Lstm => ("3", "f for f, i and o, g for the candidate and h for the cell state"),
                CellKind::Gru(_) | CellKind::Augru(_) => ("2", "f for z and r, and g for the candidate"),
            };
            let found = match cell.activations.len() {
                1 => format!("1 activation, but {op} takes {takes}"),
                n => format!("{n} activations, but {op} takes {takes}"),
            };
            let help = format!("write {roles}; or leave activations out for {}", names_of(wanted));
            self.error(node, node.attribute_origin("activations"), found, format!("{takes}: {roles}"), help);
            right = false;
        }
        if cell.clip.is_some_and(|clip| !(clip.is_finite() && clip > 0.0)) {
            let found = "a clip that is not positive and finite";
            self.error(
                node,
                node.attribute_origin("clip"),
                found,
                "a positive number, or no clip",
                "leave clip out for no clipping",
            );
            right = false;
        }
        if cell.kind == CellKind::Rnn && node.inputs.len() < 5 {
            let help = "connect a B of zeros if the cell has no bias";
            self.error(node, &node.origin, "RNNCell without B", format!("B of shape [{}]", cell.hidden_size), help);
            right = false;
        }
        let shapes: Vec<Option<Vec<usize>>> = node.inputs.iter().map(|&value| self.shape_of(value)).collect();
        let (batch, input_size) = self.cell_shapes(node, cell, &shapes).filter(|_| right)?;
        let mut ledger = node.ledger.clone();
        let weight = |this: &mut Self, port: usize| match node.inputs.get(port) {
            None => Some(WeightSource::Zero),
            Some(&value) => match this.source(value)? {
                Source::Constant(i) => Some(WeightSource::Constant(i)),
                Source::Parameter(i) => Some(WeightSource::Parameter(i)),
                Source::Value(_) | Source::Variable(_) => {
                    let found = format!("{} is what another cell computes", INPUTS[port]);
                    let valid = "a constant or an input of the model";
                    let help = "weights do not change from step to step: connect a constant or an input";
                    this.error(node, &node.origin, found, valid, help);
                    None
                }
            },
        };
        let (w, r, b) = (weight(self, 2), weight(self, 3), weight(self, 4));
        if node.inputs.len() < 5 {
            ledger.push(LedgerEntry {
                attribute: "B".to_owned(),
                given: None,
                taken: "zero".to_owned(),
                origin: Origin::Unknown,
            });
        }
        Some(ValidCell {
            name: node.name.clone(),
            kind: cell.kind,
            batch,
            input_size,
            hidden_size: cell.hidden_size,
            activations: cell.activations.clone(),
            clip: cell.clip,
            x: self.source(node.inputs[0])?,
            h: self.source(node.inputs[1])?,
            w: w?,
            r: r?,
            b: b?,
            gate_order: cell.gate_order,
            input_forget: cell.input_forget,
            c: None,
            a: None,
            p: None,
            weight_set: 0,
            sequence: None,
            h_out: None,
            c_out: None,
            y: None,
            ledger,
        })
    }

    /// Whether all inputs of a cell are floating point.
    fn cell_types(&mut self, node: &Node, cell: &Cell) -> bool {
        let mut right = true;
        let mut elements = Vec::new();
        for (port, value) in node.inputs.iter().enumerate() {
            let element = self.model.values[value.0].element;
            elements.push(element);
            // what is wrong with an input of the model has been reported there
            if !element.is_float() && self.known[value.0].is_some() {
                let found = format!("{} is {}", INPUTS[port], element.name());
                let help = "convert it to f32, if its integers are meant as such";
                self.error(node, &self.model.values[value.0].origin, found, floats(), help);
                right = false;
            }
        }
        if elements.windows(2).any(|w| w[0] != w[1]) && elements.iter().all(|e| e.is_float()) {
            let texts: Vec<String> =
                elements.iter().zip(INPUTS).map(|(e, name)| format!("{name} {}", e.name())).collect();
            let found = format!("the inputs of {} differ in type: {}", cell.kind.op_name(), texts.join(", "));
            let diagnostic = Diagnostic::warning(node.origin.clone(), found).layer(node.label());
            self.diagnostics.push(diagnostic.valid("one type for all inputs; here all are computed in f32"));
        }
        right
    }

    /// Checks every shape that is known against hidden_size and the others, and gives N and I if all are right.
    fn cell_shapes(&mut self, node: &Node, cell: &Cell, shapes: &[Option<Vec<usize>>]) -> Option<(usize, usize)> {
        let hidden = cell.hidden_size;
        let (gates, parts) = (cell.kind.gates(), cell.kind.bias_parts());
        let (Some(rows), Some(bias)) = (hidden.checked_mul(gates), hidden.checked_mul(parts)) else {
            let found = format!("hidden_size is {hidden}");
            self.error(
                node,
                node.attribute_origin("hidden_size"),
                found,
                "a size that the tensors have",
                "write the length of the state h",
            );
            return None;
        };
        if let Some(other) = other_hidden_size(cell, shapes) {
            let known = shapes.iter().zip(INPUTS).skip(1);
            let texts: Vec<String> = known
                .filter_map(|(shape, name)| shape.as_ref().map(|shape| format!("{name} {}", shape_text(shape))))
                .collect();
            let found = format!("hidden_size is {hidden}, but the tensors are made for {other}: {}", texts.join(", "));
            let valid =
                format!("h [N, {hidden}], W [{rows}, I], R [{rows}, {hidden}], B [{bias}], or hidden_size {other}");
            let help = format!("write hidden_size={other}, or give tensors of the other size");
            self.error(node, node.attribute_origin("hidden_size"), found, valid, help);
            return None;
        }
        let of_x = |axis: usize| shapes[0].as_ref().filter(|x| x.len() == 2).map(|x| x[axis]);
        let (batch, input_size) = (of_x(0), of_x(1));
        // what is not known may be any size at all
        let wanted = [
            vec![batch, input_size],
            vec![batch, Some(hidden)],
            vec![Some(rows), input_size],
            vec![Some(rows), Some(hidden)],
            vec![Some(bias)],
        ];
        let mut right = true;
        for (port, shape) in shapes.iter().enumerate() {
            let Some(shape) = shape else {
                right = false;
                continue;
            };
            let wanted = &wanted[port];
            let fits = shape.len() == wanted.len() && shape.iter().zip(wanted).all(|(s, w)| w.is_none_or(|w| w == *s));
            if fits {
                continue;
            }
            right = false;
            let sizes: Vec<String> = wanted
                .iter()
                .zip(if port < 2 { ["N", "I"] } else { ["rows", "I"] })
                .map(|(size, letter)| size.map_or_else(|| letter.to_owned(), |n| n.to_string()))
                .collect();
            let gates = if gates == 1 { String::new() } else { format!("{gates} * ") };
            let meaning = match port {
                0 => "N rows of I elements".to_owned(),
                1 => "[N, H], N as in x".to_owned(),
                2 => format!("[{gates}H, I], I as in x"),
                3 => format!("[{gates}H, H]"),
                _ => bias_layout(cell.kind).to_owned(),
            };
            let (found, help) = advice(cell, port, shape, wanted);
            let valid = format!("[{}]: {meaning}", sizes.join(", "));
            self.error(node, &self.model.values[node.inputs[port].0].origin, found, valid, help);
        }
        Some((batch?, input_size?)).filter(|_| right)
    }
}

fn names_of(activations: &[Activation]) -> String {
    let names: Vec<&str> = activations.iter().map(|a| a.name()).collect();
    names.join(", ")
}

/// The one hidden size for which h, W, R and B are made, if it is not the one that is said.
fn other_hidden_size(cell: &Cell, shapes: &[Option<Vec<usize>>]) -> Option<usize> {
    let [h, w, r] = [shapes.get(1), shapes.get(2), shapes.get(3)].map(|shape| shape.and_then(Option::as_ref));
    let other = *r?.get(1)?;
    let rows = other.checked_mul(cell.kind.gates())?;
    let bias = other.checked_mul(cell.kind.bias_parts())?;
    let fits = *r? == [rows, other]
        && h.is_none_or(|h| h.len() == 2 && h[1] == other)
        && w.is_none_or(|w| w.len() == 2 && w[0] == rows)
        && shapes.get(4).and_then(Option::as_ref).is_none_or(|b| *b == [bias]);
    (fits && other != cell.hidden_size).then_some(other)
}

/// What B holds, for messages.
fn bias_layout(kind: CellKind) -> &'static str {
    match kind {
        CellKind::Rnn => "hidden_size, the sums Wb + Rb",
        CellKind::Lstm => "4 times hidden_size, the sums Wb + Rb of the gates f, i, c, o",
        CellKind::Gru(ResetGate::BeforeMatMul) | CellKind::Augru(ResetGate::BeforeMatMul) => {
            "3 times hidden_size, the sums Wb + Rb of the gates z, r, h (linear_before_reset is false)"
        }
        CellKind::Gru(ResetGate::AfterMatMul) | CellKind::Augru(ResetGate::AfterMatMul) => {
            "4 times hidden_size: Wb + Rb of z, Wb + Rb of r, Wb of h, Rb of h (linear_before_reset is true)"
        }
    }
}

/// What to say about a wrong shape, and what to do, going by what it looks like.
fn advice(cell: &Cell, port: usize, shape: &[usize], wanted: &[Option<usize>]) -> (String, &'static str) {
    let found = format!("{} has the shape {}", INPUTS[port], shape_text(shape));
    let of_sequence = shape.len() == wanted.len() + 1 && shape[0] == 1;
    let length = shape.last().copied().filter(|_| shape.len() == 1 || of_sequence);
    if let Some(length) = length.filter(|length| port == 4 && length % cell.hidden_size == 0) {
        const ONNX: &str = "this is ONNX's layout, Wb of z, r, h, then Rb of z, r, h";
        let parts = length / cell.hidden_size;
        let layout = match (cell.kind, parts) {
            (CellKind::Gru(ResetGate::AfterMatMul), 6) => {
                Some((ONNX, "add Wb and Rb of z and of r, and keep those of h apart: [Wbz + Rbz, Wbr + Rbr, Wbh, Rbh]"))
            }
            (CellKind::Gru(ResetGate::BeforeMatMul), 6) => {
                Some((ONNX, "add Wb and Rb of every gate: [Wbz + Rbz, Wbr + Rbr, Wbh + Rbh]"))
            }
            (CellKind::Gru(ResetGate::AfterMatMul), 3) => Some((
                "this is the layout for linear_before_reset false",
                "set linear_before_reset to false, or give Wb and Rb of h apart",
            )),
            (CellKind::Gru(ResetGate::BeforeMatMul), 4) => Some((
                "this is the layout for linear_before_reset true",
                "set linear_before_reset to true, or add the last two parts",
            )),
            (CellKind::Rnn, 2) => Some(("this is ONNX's layout, Wb, then Rb", "add the two halves")),
            _ => None,
        };
        if let Some((layout, help)) = layout {
            return (format!("{found}, {parts} times hidden_size: {layout}"), help);
        }
    }
    if of_sequence {
        let help = match port {
            0 => "remove the first dimension: a cell takes one step, without a dimension of time",
            _ => "remove the first dimension: directions belong to sequences and to ONNX, a cell has one",
        };
        return (found, help);
    }
    if let ([a, b], [rows, columns]) = (shape, wanted)
        && port >= 2
        && rows.is_none_or(|n| n == *b)
        && columns.is_none_or(|n| n == *a)
    {
        return (found, "transpose it: the weights of one unit are a row here, a column in Keras");
    }
    let help = match (port, cell.kind) {
        (0, _) => "give x two dimensions",
        (1, _) if shape.len() == 2 && shape[1] == cell.hidden_size => "give x and h the same number of rows",
        (2, _) if shape.len() == 2 && Some(shape[0]) == wanted[0] => "give the rows of x and of W the same length",
        (4, CellKind::Gru(_)) => "give the tensor this shape, or correct hidden_size or linear_before_reset",
        _ => "give the tensor this shape, or correct hidden_size",
    };
    (found, help)
}
