//! `DynamicQuantizeLSTM` of com.microsoft: an LSTM with integer weights, read as a loop over the
//! steps. x is quantised once, with one scale for all steps; h is quantised at every step.

use super::bodies::finish_body;
use super::graph::{Call, GraphReader, Outputs};
use super::quantized::{Dynamic, centred, compute, product};
use super::recurrent::{activations, clip_of, coupled_gates, direction_of, entry, hidden_size};
use crate::model::{
    Activation, Binary, BroadcastMode, Cell, CellKind, Direction, ElementType, LedgerEntry, Loop,
    LoopInput, LoopOutput, Op, Slicing, Unary, ValueId,
};

const F32: ElementType = ElementType::F32;

/// The attributes of the layer.
struct Lstm {
    direction: Direction,
    hidden_size: i64,
    /// f, g and h of each direction.
    activations: Vec<Activation>,
    clip: Option<f32>,
    /// True if f is 1 - i.
    input_forget: bool,
}

/// The arithmetic of one step in one direction.
struct Gates<'a> {
    /// f, g and h.
    activations: &'a [Activation],
    clip: Option<f32>,
    /// True if f is 1 - i.
    input_forget: bool,
}

/// Inputs of the layer. All inputs except x have an axis of directions.
struct LayerInputs {
    x: ValueId,
    /// Integer weights of x, `[D, I, 4H]`.
    w: Quantised,
    /// Integer weights of h, `[D, H, 4H]`.
    r: Quantised,
    b: Option<ValueId>,
    h: Option<ValueId>,
    c: Option<ValueId>,
    peepholes: Option<ValueId>,
}

/// Integers with their scale and zero point.
struct Quantised {
    integers: ValueId,
    scale: ValueId,
    zero: ValueId,
}

/// Inputs of the loop over the steps of one direction.
struct LoopInputs {
    /// W x + b, `[T, N, 4H]`.
    sums: ValueId,
    h: ValueId,
    c: ValueId,
    /// Integer weights minus their zero point, `[H, 4H]`.
    r: ValueId,
    r_scale: ValueId,
    peepholes: Option<ValueId>,
}

/// DynamicQuantizeLSTM.
pub(super) fn dynamic_lstm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (lstm, mut ledger) = attributes(reader, call)?;
    let inputs = layer_inputs(reader, call)?;
    let quantised = Dynamic::new(reader, inputs.x);
    let centred_x = quantised.centred(reader);
    let (mut ys, mut hs, mut cs) = (Vec::new(), Vec::new(), Vec::new());
    for d in 0..lstm.direction.count() {
        let w_integers = inputs.w.centred(reader, d);
        let r = inputs.r.centred(reader, d);
        let [w_scale, r_scale] =
            [&inputs.w, &inputs.r].map(|weights| part(reader, weights.scale, d));
        // one product for the sums of all steps; the header of the generated file lists the
        // attributes at this operation
        let product = Op::MatMul { transpose_a: false, transpose_b: false };
        let listed = std::mem::take(&mut ledger);
        let sums = reader.ops_of(product, vec![centred_x, w_integers], vec![F32], listed)[0];
        let scales = compute(reader, Binary::Multiply, &[quantised.scale, w_scale]);
        let mut sums = compute(reader, Binary::Multiply, &[sums, scales]);
        if let Some(b) = inputs.b {
            let b = part(reader, b, d);
            sums = with_biases(reader, sums, b, lstm.hidden_size);
        }
        let [h, c] = [inputs.h, inputs.c].map(|given| match given {
            Some(state) => part(reader, state, d),
            None => no_state(reader, inputs.x, lstm.hidden_size),
        });
        let peepholes = inputs.peepholes.map(|peepholes| part(reader, peepholes, d));
        let reverse = lstm.direction == Direction::Reverse || d == 1;
        let inputs = LoopInputs { sums, h, c, r, r_scale, peepholes };
        let [y, h, c] = steps(reader, &lstm.gates(d), inputs, reverse)?;
        for (all, value, axis) in [(&mut ys, y, 1), (&mut hs, h, 0), (&mut cs, c, 0)] {
            let axes = reader.integers(&[axis]);
            all.push(reader.op(Op::Unsqueeze, vec![value, axes]));
        }
    }
    let mut joined = |all: Vec<ValueId>, axis: i64| match all[..] {
        [one] => one,
        _ => reader.op(Op::Concat { axis }, all),
    };
    Some(vec![joined(ys, 1), joined(hs, 0), joined(cs, 0)])
}

impl Lstm {
    fn gates(&self, direction: usize) -> Gates<'_> {
        Gates {
            activations: &self.activations[3 * direction..][..3],
            clip: self.clip,
            input_forget: self.input_forget,
        }
    }
}

impl Quantised {
    /// The integers of a direction minus their zero point.
    fn centred(&self, reader: &mut GraphReader<'_>, direction: usize) -> ValueId {
        let [integers, zero] =
            [self.integers, self.zero].map(|value| part(reader, value, direction));
        centred(reader, integers, Some(zero))
    }
}

/// Reads the attributes. Returns the layer, and the attributes for the header of the generated
/// file. `None` after an error.
fn attributes(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
) -> Option<(Lstm, Vec<LedgerEntry>)> {
    let (direction, given) = direction_of(reader, call);
    let direction = direction?;
    let mut ledger = vec![entry("direction", given, direction.name())];
    let activations = activations(reader, call, CellKind::Lstm, direction, &mut ledger)?;
    let clip = clip_of(call, &mut ledger);
    if let Some([found, help]) = clip.and_then(|clip| Cell::clip_without_effect(clip, "clip")) {
        reader.warning_with_help(found, help);
    }
    let clip = clip.and_then(Cell::clip_bound);
    let input_forget = coupled_gates(call, &mut ledger);
    let r = call.input(2)?;
    let size = hidden_size(reader, call, (r, 1), &mut ledger)?;
    // the layer becomes operations other than a cell, so `check` does not refuse these attributes
    let cell = Cell { activations: activations.clone(), ..Cell::new(CellKind::Lstm, size) };
    let wrong = cell.wrong_attributes(Some(direction), reader.level().graph.spelling());
    let is_wrong = !wrong.is_empty();
    wrong.into_iter().for_each(|wrong| reader.report(wrong.problem));
    if is_wrong {
        return None;
    }
    let hidden_size = size as i64;
    Some((Lstm { direction, hidden_size, activations, clip, input_forget }, ledger))
}

/// Reads the inputs. `None` after an error.
fn layer_inputs(reader: &mut GraphReader<'_>, call: &Call<'_>) -> Option<LayerInputs> {
    if call.input(4).is_some() {
        let help = "leave sequence_lens out where every row has all steps";
        let found = "sequence_lens of a quantised LSTM";
        return reader.inexpressible(found, "sequences of full length", help);
    }
    let scales = [8, 9, 10, 11].map(|port| call.input(port));
    let [Some(w_scale), Some(w_zero), Some(r_scale), Some(r_zero)] = scales else {
        let valid = "those of W and of R, inputs 8 to 11";
        return reader.missing("scales or zero points", valid);
    };
    Some(LayerInputs {
        x: call.x(),
        w: Quantised { integers: call.input(1)?, scale: w_scale, zero: w_zero },
        r: Quantised { integers: call.input(2)?, scale: r_scale, zero: r_zero },
        b: call.input(3),
        h: call.input(5),
        c: call.input(6),
        peepholes: call.input(7),
    })
}

/// The slice at an index of the first axis, the axis of directions.
fn part(reader: &mut GraphReader<'_>, value: ValueId, at: usize) -> ValueId {
    let (index, axis) = (reader.integer(at as i64), reader.integer(0));
    reader.op(Op::Gather { batch_dims: 0 }, vec![value, index, axis])
}

/// Adds both halves of the biases, `[8H]`, to the sums.
fn with_biases(
    reader: &mut GraphReader<'_>,
    sums: ValueId,
    b: ValueId,
    hidden_size: i64,
) -> ValueId {
    let (parts, axis) = (reader.integers(&[4 * hidden_size; 2]), reader.integer(0));
    let halves = reader.ops_of(Op::VariadicSplit, vec![b, axis, parts], vec![F32; 2], Vec::new());
    halves.into_iter().fold(sums, |sum, half| compute(reader, Binary::Add, &[sum, half]))
}

/// An initial state of zeros, `[N, H]`.
fn no_state(reader: &mut GraphReader<'_>, x: ValueId, hidden_size: i64) -> ValueId {
    let sizes = reader.op_of(Op::ShapeOf, vec![x], ElementType::I64);
    let (at, axis) = (reader.integers(&[1]), reader.integer(0));
    let rows = reader.op(Op::Gather { batch_dims: 0 }, vec![sizes, at, axis]);
    let rest = reader.integers(&[hidden_size]);
    let shape = reader.op(Op::Concat { axis: 0 }, vec![rows, rest]);
    let zero = reader.number_like(x, 0.0);
    reader.op(Op::Broadcast(BroadcastMode::Numpy), vec![zero, shape])
}

/// The loop over the steps of one direction. Returns y, `[T, N, H]`, and the last h and c.
fn steps(
    reader: &mut GraphReader<'_>,
    gates: &Gates<'_>,
    inputs: LoopInputs,
    reverse: bool,
) -> Option<[ValueId; 3]> {
    let outer_names = reader.named();
    reader.enter();
    let before = reader.errors();
    let [sums, h, c, r, r_scale] =
        ["gates", "h", "c", "R", "R_scale"].map(|name| reader.parameter(name, F32, None));
    let peepholes = inputs.peepholes.map(|_| reader.parameter("P", F32, None));
    let axes = reader.integers(&[0]);
    let sums = reader.op(Op::Squeeze { skip: false }, vec![sums, axes]);
    let sums = with_products_of_h(reader, sums, h, [r, r_scale]);
    let [next_h, next_c] = gates.step(reader, sums, c, peepholes);
    let y = reader.op(Op::Unsqueeze, vec![next_h, axes]);
    for value in [next_h, next_c, y] {
        reader.result("", value);
    }
    let level = reader.leave();
    reader.rename(outer_names);
    let level = finish_body(reader, level, before, 3)?;
    let LoopInputs { sums, h, c, r, r_scale, peepholes } = inputs;
    let outer: Vec<ValueId> = [sums, h, c, r, r_scale].into_iter().chain(peepholes).collect();
    let op = Op::Loop(Box::new(Loop {
        body: level.graph.model,
        counted: false,
        inputs: loop_inputs(outer.len(), reverse),
        outputs: loop_outputs(reverse),
        current_iteration: None,
        condition: None,
    }));
    let values = reader.ops_of(op, outer, vec![F32; 3], Vec::new());
    Some([values[2], values[0], values[1]])
}

/// Adds R h to the sums of a step; h is quantised.
fn with_products_of_h(
    reader: &mut GraphReader<'_>,
    sums: ValueId,
    h: ValueId,
    [r, r_scale]: [ValueId; 2],
) -> ValueId {
    let quantised = Dynamic::new(reader, h);
    let integers = quantised.centred(reader);
    let products = product(reader, integers, r);
    let scales = compute(reader, Binary::Multiply, &[quantised.scale, r_scale]);
    let products = compute(reader, Binary::Multiply, &[products, scales]);
    compute(reader, Binary::Add, &[sums, products])
}

/// Inputs of the loop: the sums of each step, the states h and c, and weights.
fn loop_inputs(count: usize, reverse: bool) -> Vec<LoopInput> {
    let invariant =
        |at: usize| LoopInput { parameter: at, input: at, slice: None, back_edge: None };
    let mut inputs: Vec<_> = (0..count).map(invariant).collect();
    inputs[0].slice = Some(Slicing::one_by_one(0, reverse));
    inputs[1].back_edge = Some(0);
    inputs[2].back_edge = Some(1);
    inputs
}

/// Outputs of the loop: the last h, the last c, and y of all steps.
fn loop_outputs(reverse: bool) -> Vec<LoopOutput> {
    let last = |result: usize| LoopOutput { result, concatenation: None };
    let y = LoopOutput { result: 2, concatenation: Some(Slicing::one_by_one(0, reverse)) };
    vec![last(0), last(1), y]
}

impl Gates<'_> {
    /// The next h and c from the sums of the gates i, o, f and c.
    fn step(
        &self,
        reader: &mut GraphReader<'_>,
        sums: ValueId,
        c: ValueId,
        peepholes: Option<ValueId>,
    ) -> [ValueId; 2] {
        let [f, g, h] = [0, 1, 2].map(|at| self.activations[at]);
        let axis = reader.integer(-1);
        let sums =
            reader.ops_of(Op::Split { parts: 4 }, vec![sums, axis], vec![F32; 4], Vec::new());
        let peepholes = peepholes.map(|peepholes| {
            let axis = reader.integer(-1);
            reader.ops_of(Op::Split { parts: 3 }, vec![peepholes, axis], vec![F32; 3], Vec::new())
        });
        let peephole = |at: usize| peepholes.as_ref().map(|parts| parts[at]);
        let input = self.gate(reader, sums[0], f, peephole(0).map(|p| [p, c]));
        let forget = match self.input_forget {
            true => {
                let one = reader.number_like(c, 1.0);
                compute(reader, Binary::Subtract, &[one, input])
            }
            false => self.gate(reader, sums[2], f, peephole(2).map(|p| [p, c])),
        };
        let candidate = self.gate(reader, sums[3], g, None);
        let kept = compute(reader, Binary::Multiply, &[forget, c]);
        let new = compute(reader, Binary::Multiply, &[input, candidate]);
        let next_c = compute(reader, Binary::Add, &[kept, new]);
        let output = self.gate(reader, sums[1], f, peephole(1).map(|p| [p, next_c]));
        let activated = compute(reader, h, &[next_c]);
        [compute(reader, Binary::Multiply, &[output, activated]), next_c]
    }

    /// A gate: the activation of a clipped sum. `peephole`: the factors of a product that is added
    /// to the sum.
    fn gate(
        &self,
        reader: &mut GraphReader<'_>,
        mut sum: ValueId,
        function: Activation,
        peephole: Option<[ValueId; 2]>,
    ) -> ValueId {
        if let Some(factors) = peephole {
            let product = compute(reader, Binary::Multiply, &factors);
            sum = compute(reader, Binary::Add, &[sum, product]);
        }
        if let Some(clip) = self.clip {
            sum = compute(reader, Unary::Clamp { min: -clip, max: clip }, &[sum]);
        }
        compute(reader, function, &[sum])
    }
}
