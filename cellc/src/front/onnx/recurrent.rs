//! GRU, LSTM and RNN become [`Op::Sequence`]. The cell's layout states ONNX's order of gates and
//! biases; x, states and outputs are transposed.

use super::graph::{Call, GraphReader, Outputs};
use crate::diagnostic::{Origin, quoted};
use crate::front::layout::{ConversionTarget, Framework, layout};
use crate::model::{
    Activation, BroadcastMode, Cell, CellKind, Coupled, Dim, Direction, ElementType, LedgerEntry,
    Op, ResetGate, ValueId, unknown_activations,
};

/// RNN.
pub(super) fn rnn(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    recurrent(reader, call, CellKind::Rnn, Vec::new())
}

/// GRU.
pub(super) fn gru(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let given = call.attributes.int("linear_before_reset");
    // any value except 0 is true
    let (gate, taken) = match given.unwrap_or(0) {
        0 => (ResetGate::BeforeMatMul, "the reset gate is before the matrix product"),
        _ => (ResetGate::AfterMatMul, "the reset gate is after the matrix product"),
    };
    let entry = entry("linear_before_reset", given.map(|v| v.to_string()), taken);
    recurrent(reader, call, CellKind::Gru(gate), vec![entry])
}

/// LSTM.
pub(super) fn lstm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    recurrent(reader, call, CellKind::Lstm, Vec::new())
}

pub(super) fn entry(
    attribute: &str,
    given: Option<String>,
    taken: impl Into<String>,
) -> LedgerEntry {
    LedgerEntry {
        attribute: attribute.to_owned(),
        text: given,
        meaning: taken.into(),
        origin: Origin::Unknown,
    }
}

/// The direction, and the text of the attribute. The direction is `None` after an error.
pub(super) fn direction_of(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
) -> (Option<Direction>, Option<String>) {
    let text = call.attributes.text("direction");
    let named = text.as_deref().unwrap_or("forward");
    let direction = Direction::ALL.into_iter().find(|direction| direction.name() == named);
    if direction.is_none() {
        let found = format!("direction={}", quoted(named));
        reader.error(found, Direction::ALL.map(Direction::name).join(", "), "write one of these");
    }
    (direction, text)
}

fn recurrent(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    kind: CellKind,
    mut ledger: Vec<LedgerEntry>,
) -> Outputs {
    let before = reader.errors();
    let (direction, given) = direction_of(reader, call);
    let direction = direction.unwrap_or(Direction::Forward);
    ledger.push(entry("direction", given, direction.name()));
    let (batch_first, given) = batch_first(reader, call);
    ledger.push(entry("layout", given, if batch_first { "batch first" } else { "steps first" }));
    let r = call.input(2)?;
    let hidden_size = hidden_size(reader, call, (r, 0), &mut ledger)?;
    let activations = activations(reader, call, kind, direction, &mut ledger);
    let clip = clip_of(call, &mut ledger);
    let coupled = kind == CellKind::Lstm && coupled_gates(call, &mut ledger);
    if reader.errors() > before {
        return None;
    }
    let activations = activations?;

    let count = direction.count();
    // `check` refuses an illegal hidden_size later; until then, initial states have one unit
    let is_legal = Cell::new(kind, hidden_size).wrong_hidden_size("").is_none();
    let length_of_states = if is_legal { hidden_size } else { 1 };
    let x = call.x();
    let Operands { h, c, lengths, b } =
        operands(reader, call, kind, [count, length_of_states], batch_first);
    let p = (kind == CellKind::Lstm).then(|| call.input(7)).flatten();
    let wanted = ConversionTarget {
        kind,
        hidden_size,
        input_size: 0,
        sequence: true,
        outer_bias: false,
        gate_order: None,
    };
    let cell = Cell {
        activations,
        clip,
        layout: layout(Framework::Onnx, wanted, 1).expect("ONNX has every cell"),
        coupled: coupled.then_some(Coupled::Forget),
        peepholes: p.is_some(),
        ..Cell::new(kind, hidden_size)
    };
    let x_by_row = by_row(reader, x, batch_first);
    let inputs = [Some(x_by_row), Some(h), c, Some(lengths), call.input(1), Some(r), Some(b), p];
    let element = reader.element(x);
    let outputs = vec![element; if c.is_some() { 3 } else { 2 }];
    let outputs = reader.ops_of(
        Op::Sequence(cell, direction),
        inputs.into_iter().flatten().collect(),
        outputs,
        ledger,
    );
    if !batch_first {
        reader.word_batch_second();
    }
    // Y is [N, D, T, H], the states [N, D, H]
    let order: [i64; 4] = if batch_first { [0, 2, 1, 3] } else { [2, 1, 0, 3] };
    let mut values = vec![transposed(reader, outputs[0], &order)];
    for &state in &outputs[1..] {
        values.push(if batch_first { state } else { transposed(reader, state, &[1, 0, 2]) });
    }
    Some(values)
}

/// The inputs of a sequence that a file may leave out.
struct Operands {
    /// The initial h, `[N, D, H]`.
    h: ValueId,
    /// The initial c, `[N, D, H]`. `None` if the cell has no c.
    c: Option<ValueId>,
    lengths: ValueId,
    b: ValueId,
}

/// The inputs of a sequence that a file may leave out: absent states and biases are zeros, absent
/// lengths are the number of steps.
fn operands(
    reader: &mut GraphReader<'_>,
    call: &Call<'_>,
    kind: CellKind,
    [directions, hidden_size]: [usize; 2],
    batch_first: bool,
) -> Operands {
    let x = call.x();
    let sizes = reader.op_of(Op::ShapeOf, vec![x], ElementType::I64);
    let (batch_axis, step_axis) = if batch_first { (0, 1) } else { (1, 0) };
    let size = |reader: &mut GraphReader<'_>, axis: i64| {
        let (at, zero) = (reader.integers(&[axis]), reader.integer(0));
        reader.op(Op::Gather { batch_dims: 0 }, vec![sizes, at, zero])
    };
    let rows = size(reader, batch_axis);
    let lengths = match call.input(4) {
        Some(lengths) => lengths,
        None => {
            let steps = size(reader, step_axis);
            reader.op(Op::Broadcast(BroadcastMode::Numpy), vec![steps, rows])
        }
    };
    let state = |reader: &mut GraphReader<'_>, given: Option<ValueId>| match given {
        Some(state) => by_row(reader, state, batch_first),
        None => {
            let zero = reader.number_like(x, 0.0);
            let rest = reader.integers(&[directions as i64, hidden_size as i64]);
            let shape = reader.op(Op::Concat { axis: 0 }, vec![rows, rest]);
            reader.op(Op::Broadcast(BroadcastMode::Numpy), vec![zero, shape])
        }
    };
    let h = state(reader, call.input(5));
    let c = (kind == CellKind::Lstm).then(|| state(reader, call.input(6)));
    let b = match call.input(3) {
        Some(b) => b,
        None => {
            let zero = reader.number_like(x, 0.0);
            let shape =
                reader.integers(&[directions as i64, (2 * kind.gates() * hidden_size) as i64]);
            reader.op(Op::Broadcast(BroadcastMode::Numpy), vec![zero, shape])
        }
    };
    Operands { h, c, lengths, b }
}

/// True if the batch comes before the steps, and the number of the attribute `layout`, which is new
/// in operator set 14.
fn batch_first(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> (bool, Option<String>) {
    let given = call.attributes.int("layout");
    let batch_first = match given {
        _ if call.version < 14 => false,
        None | Some(0) => false,
        Some(1) => true,
        Some(other) => {
            reader.error(format!("layout={other}"), "0 or 1", "write one of these");
            false
        }
    };
    (batch_first, given.map(|layout| layout.to_string()))
}

/// The number of units: the attribute, or else the size of R along `axis`, counted from the last
/// axis. `None` after an error.
pub(super) fn hidden_size(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    (r, axis): (ValueId, usize),
    ledger: &mut Vec<LedgerEntry>,
) -> Option<usize> {
    let shape = reader.level().graph.model.values[r.0].shape.as_ref();
    let of_r = shape.and_then(|shape| match shape.iter().rev().nth(axis) {
        Some(Dim::Fixed(size)) => Some(*size),
        _ => None,
    });
    let given = call.attributes.int("hidden_size");
    let Some(size) = given.map_or(of_r, |size| usize::try_from(size).ok()) else {
        let found = given.map_or("no hidden_size, and an R of unknown shape".to_owned(), |v| {
            format!("hidden_size={v}")
        });
        let [valid, help] = Cell::valid_hidden_size();
        reader.error(found, valid, help);
        return None;
    };
    ledger.push(entry("hidden_size", given.map(|v| v.to_string()), size.to_string()));
    Some(size)
}

/// The attribute `clip`.
pub(super) fn clip_of(call: &mut Call<'_>, ledger: &mut Vec<LedgerEntry>) -> Option<f32> {
    let given = call.attributes.float("clip");
    ledger.push(entry("clip", given.map(|v| v.to_string()), Cell::clip_text(given)));
    given
}

/// The attribute `input_forget` of an LSTM.
pub(super) fn coupled_gates(call: &mut Call<'_>, ledger: &mut Vec<LedgerEntry>) -> bool {
    let coupled = call.attributes.flag("input_forget", false);
    let taken = if coupled { "f = 1 - i" } else { "f has weights of its own" };
    ledger.push(entry("input_forget", coupled.then(|| "1".to_owned()), taken));
    coupled
}

/// X or a state with the batch as its first axis. A tensor whose rank is not 3 stays unchanged: the
/// check of the cell refuses the shape.
fn by_row(reader: &mut GraphReader<'_>, value: ValueId, batch_first: bool) -> ValueId {
    let has_other_rank = reader.rank(value).is_some_and(|rank| rank != 3);
    if batch_first || has_other_rank { value } else { transposed(reader, value, &[1, 0, 2]) }
}

fn transposed(reader: &mut GraphReader<'_>, value: ValueId, order: &[i64]) -> ValueId {
    let order = reader.integers(order);
    reader.op(Op::Transpose, vec![value, order])
}

/// The activations of all directions. An activation with parameters takes the next numbers of
/// activation_alpha and activation_beta. `None` after an error.
pub(super) fn activations(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    kind: CellKind,
    direction: Direction,
    ledger: &mut Vec<LedgerEntry>,
) -> Option<Vec<Activation>> {
    let defaults = kind.default_activations();
    let given = call.attributes.texts("activations");
    let [alphas, betas] = ["activation_alpha", "activation_beta"]
        .map(|name| call.attributes.floats(name).unwrap_or_default());
    let mut names: Vec<String> = match &given {
        Some(names) if !names.is_empty() => names.clone(),
        _ => (0..direction.count())
            .flat_map(|_| defaults.iter().map(|a| a.name().to_owned()))
            .collect(),
    };
    // ONNX's default of RNN names Tanh twice, even for one direction: the second is dropped
    let is_default = |name: &String| name.eq_ignore_ascii_case("Tanh");
    if kind == CellKind::Rnn && names.len() == 2 && names.iter().all(is_default) {
        names.truncate(direction.count());
    }
    let (mut alphas, mut betas) = (alphas.into_iter(), betas.into_iter());
    let mut activations = Vec::new();
    for name in &names {
        let Some(takes) = Activation::takes(name) else {
            if let Some(problem) = unknown_activations([&name[..]]) {
                reader.report(problem);
            }
            return None;
        };
        let alpha = if takes > 0 { alphas.next() } else { None };
        let beta = if takes > 1 { betas.next() } else { None };
        // Affine has no defaults, because ONNX has no operator of this name
        let any = Activation::new(name, Some(1.0), Some(0.0));
        let has_defaults = !matches!(any, Ok(Activation::Affine { .. }));
        match Activation::new(name, alpha, beta) {
            Ok(activation) if has_defaults || alpha.is_some() && beta.is_some() => {
                activations.push(activation)
            }
            other => {
                let reason = match other {
                    Err(error) => error.to_string(),
                    Ok(_) => "alpha or beta is missing, which have no defaults".to_owned(),
                };
                let found = format!("the activation {}: {reason}", quoted(name));
                let help = "give a number for each activation that takes one, in their order";
                reader.error(found, "numbers", help);
                return None;
            }
        }
    }
    for (name, left) in [("activation_alpha", alphas.count()), ("activation_beta", betas.count())] {
        if left > 0 {
            reader.warning(format!(
                "{left} numbers of {name} belong to no activation that takes one"
            ));
        }
    }
    let labels: Vec<String> = activations.iter().map(|a| a.label()).collect();
    ledger.push(entry("activations", given.map(|names| names.join(", ")), labels.join(", ")));
    Some(activations)
}
