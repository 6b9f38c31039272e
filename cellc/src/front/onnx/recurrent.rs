//! GRU, LSTM and RNN. Gate order, biases, layout and activations are converted to those of
//! [`Op::Sequence`].

use super::graph::{Call, GraphReader, Outputs};
use crate::diagnostic::{Origin, quoted};
use crate::front::layout::{Framework, Wanted, layout};
use crate::model::{
    Activation, BroadcastMode, Cell, CellKind, Coupled, Dim, Direction, ElementType, LedgerEntry,
    Op, ResetGate, ValueId, shape_text,
};

pub(super) fn rnn(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    recurrent(reader, call, CellKind::Rnn, Vec::new())
}

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

pub(super) fn lstm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    recurrent(reader, call, CellKind::Lstm, Vec::new())
}

fn entry(attribute: &str, given: Option<String>, taken: impl Into<String>) -> LedgerEntry {
    LedgerEntry {
        attribute: attribute.to_owned(),
        text: given,
        meaning: taken.into(),
        origin: Origin::Unknown,
    }
}

/// The direction and the attribute as written. The direction is `None` after an error.
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
    let batch_first = batch_first(reader, call);
    ledger.push(entry("layout", None, if batch_first { "batch first" } else { "steps first" }));
    let r = call.input(2)?;
    let hidden_size = hidden_size(reader, call, (r, 0), &mut ledger)?;
    let activations = activations(reader, call, kind, direction, &mut ledger);
    let clip = clip(call, &mut ledger);
    let coupled = kind == CellKind::Lstm && call.attributes.flag("input_forget", false);
    if reader.errors() > before {
        return None;
    }
    let activations = activations?;

    let count = direction.count();
    own_shapes(reader, call, kind, [count, hidden_size], batch_first)?;
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
        Some(state) if batch_first => state,
        Some(state) => transposed(reader, state, &[1, 0, 2]),
        None => {
            let zero = reader.number_like(x, 0.0);
            let rest = reader.integers(&[count as i64, hidden_size as i64]);
            let shape = reader.op(Op::Concat { axis: 0 }, vec![rows, rest]);
            reader.op(Op::Broadcast(BroadcastMode::Numpy), vec![zero, shape])
        }
    };
    let h = state(reader, call.input(5));
    let c = (kind == CellKind::Lstm).then(|| state(reader, call.input(6)));
    let gates = kind.gates();
    let b = match call.input(3) {
        Some(b) => b,
        None => {
            let zero = reader.number_like(x, 0.0);
            let shape = reader.integers(&[count as i64, (2 * gates * hidden_size) as i64]);
            reader.op(Op::Broadcast(BroadcastMode::Numpy), vec![zero, shape])
        }
    };
    let p = (kind == CellKind::Lstm).then(|| call.input(7)).flatten();
    let wanted = Wanted {
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
    if kind == CellKind::Lstm {
        let taken = if coupled { "f = 1 - i" } else { "f has weights of its own" };
        ledger.push(entry("input_forget", coupled.then(|| "1".to_owned()), taken));
    }
    let by_row = if batch_first { x } else { transposed(reader, x, &[1, 0, 2]) };
    let inputs = [Some(by_row), Some(h), c, Some(lengths), call.input(1), Some(r), Some(b), p];
    let element = reader.element(x);
    let outputs = vec![element; if c.is_some() { 3 } else { 2 }];
    let outputs = reader.ops_of(
        Op::Sequence(cell, direction),
        inputs.into_iter().flatten().collect(),
        outputs,
        ledger,
    );
    // Y is [N, D, T, H], the states [N, D, H]
    let order: [i64; 4] = if batch_first { [0, 2, 1, 3] } else { [2, 1, 0, 3] };
    let mut values = vec![transposed(reader, outputs[0], &order)];
    for &state in &outputs[1..] {
        values.push(if batch_first { state } else { transposed(reader, state, &[1, 0, 2]) });
    }
    Some(values)
}

/// True if the batch comes before the steps: the attribute `layout`, new in operator set 14.
fn batch_first(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> bool {
    match call.attributes.int("layout") {
        _ if call.version < 14 => false,
        None | Some(0) => false,
        Some(1) => true,
        Some(other) => {
            reader.error(format!("layout={other}"), "0 or 1", "write one of these");
            false
        }
    }
}

/// The number of units: the attribute, or the size of R along an axis, counted from the last axis.
/// `None` after an error.
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
    // the shapes below need a legal size
    let size = given.map_or(of_r, |size| usize::try_from(size).ok()).unwrap_or(0);
    if let Some([valid, help]) = Cell::wrong_hidden_size(size) {
        let found = given.map_or("no hidden_size, and an R of unknown shape".to_owned(), |v| {
            format!("hidden_size={v}")
        });
        reader.error(found, valid, help);
        return None;
    }
    ledger.push(entry("hidden_size", given.map(|v| v.to_string()), size.to_string()));
    Some(size)
}

/// The attribute `clip`.
fn clip(call: &mut Call<'_>, ledger: &mut Vec<LedgerEntry>) -> Option<f32> {
    let given = call.attributes.float("clip");
    ledger.push(entry("clip", given.map(|v| v.to_string()), Cell::clip_text(given)));
    given
}

/// Refuses states and biases of wrong shapes if the shapes are known. Later stages see transposed
/// tensors, so their messages would name other shapes. `None` after an error.
fn own_shapes(
    reader: &mut GraphReader<'_>,
    call: &Call<'_>,
    kind: CellKind,
    [directions, hidden_size]: [usize; 2],
    batch_first: bool,
) -> Option<()> {
    let shape_of = |reader: &mut GraphReader<'_>, value: ValueId| {
        reader.level().graph.model.values[value.0].shape.clone()
    };
    let rows = shape_of(reader, call.x())
        .filter(|shape| shape.len() == 3)
        .map(|shape| shape[usize::from(!batch_first)]);
    let (directions, hidden, rows) = (
        Dim::Fixed(directions),
        Dim::Fixed(hidden_size),
        rows.unwrap_or(Dim::Dynamic { min: 0, max: None }),
    );
    let of_state = if batch_first {
        ([rows, directions, hidden], "[N, D, H]")
    } else {
        ([directions, rows, hidden], "[D, N, H]")
    };
    let state = (
        of_state.0.to_vec(),
        format!("{}, N as in X, D the number of directions", of_state.1),
        "give the tensor this shape, or correct hidden_size",
    );
    let gates = kind.gates();
    let biases = (
        vec![directions, Dim::Fixed(2 * gates * hidden_size)],
        format!("[D, {} * H], Wb of all gates and Rb of all gates", 2 * gates),
        "give the tensor this shape, with zeros for biases that are not there, or correct \
         hidden_size",
    );
    let before = reader.errors();
    for (at, name, (wanted, what, help)) in
        [(3, "B", &biases), (5, "initial_h", &state), (6, "initial_c", &state)]
    {
        let Some(shape) = call
            .input(at)
            .filter(|_| at < 6 || kind == CellKind::Lstm)
            .and_then(|value| shape_of(reader, value))
        else {
            continue;
        };
        // a larger c means a projection, which the validation reports
        if at == 6 && matches!(shape.last(), Some(Dim::Fixed(size)) if *size > hidden_size) {
            continue;
        }
        let agree =
            |(a, b): (&Dim, &Dim)| !matches!((a, b), (Dim::Fixed(a), Dim::Fixed(b)) if a != b);
        if shape.len() != wanted.len() || !shape.iter().zip(wanted).all(agree) {
            let found = format!("{name} has the shape {}", shape_text(&shape));
            reader.error(found, format!("{}: {what}", shape_text(wanted)), *help);
        }
    }
    (reader.errors() == before).then_some(())
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
    let wanted = defaults.len() * direction.count();
    let given = call.attributes.texts("activations");
    let [alphas, betas] = ["activation_alpha", "activation_beta"]
        .map(|name| call.attributes.floats(name).unwrap_or_default());
    let mut names: Vec<String> = match &given {
        Some(names) if !names.is_empty() => names.clone(),
        _ => (0..direction.count())
            .flat_map(|_| defaults.iter().map(|a| a.name().to_owned()))
            .collect(),
    };
    if kind == CellKind::Rnn {
        // ONNX's default names two activations even for one direction
        names.truncate(wanted);
    }
    if names.len() != wanted {
        let found = format!("{} activations", names.len());
        let valid = format!("{wanted}: {} for each direction", defaults.len());
        reader.error(
            found,
            valid,
            "name those of the forward direction, then those of the reverse one",
        );
        return None;
    }
    let (mut alphas, mut betas) = (alphas.into_iter(), betas.into_iter());
    let mut all = Vec::new();
    for name in &names {
        let Some(takes) = Activation::takes(name) else {
            let found = format!("the activation {}", quoted(name));
            reader.error(
                found,
                format!("{}, in any letter case", Activation::NAMES.join(", ")),
                "correct the name",
            );
            return None;
        };
        let alpha = if takes > 0 { alphas.next() } else { None };
        let beta = if takes > 1 { betas.next() } else { None };
        let has_defaults = !name.eq_ignore_ascii_case("affine");
        match Activation::new(name, alpha, beta) {
            Ok(activation) if has_defaults || alpha.is_some() && beta.is_some() => {
                all.push(activation)
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
    let labels: Vec<String> = all.iter().map(|a| a.label()).collect();
    ledger.push(entry("activations", given.map(|names| names.join(", ")), labels.join(", ")));
    Some(all)
}
