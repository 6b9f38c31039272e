//! Cells that the macros declare, compared with the equations.

use std::sync::Mutex;

use cellc_runtime::{
    Cell, Element, Port, augru_cell, augru_sequence, gru, gru_cell, gru_sequence, lstm_cell,
    lstm_sequence, rnn_cell, rnn_sequence,
};
use safetensors::SafeTensors;

gru_cell!(
    /// A GRU whose reset gate stands after the matrix product.
    pub After<hidden_size = 5, input_size = 3, linear_before_reset = true, clip = 0.8, activations = [sigmoid, tanh]>
);
// all keys with defaults left out; two cells in one module do not clash
gru_cell!(pub(crate) Before<input_size = 3, hidden_size = 5>);
rnn_cell!(Rows<input_size = 3, batch = 2, activations = [relu], hidden_size = 5,>);
// these keys change results only by rounding
gru_cell!(Everything<hidden_size = 5, input_size = 3, fma = off, unroll = full, isa = [avx2], keep_denormals = false>);
gru_cell!(Quick<hidden_size = 5, input_size = 3, accuracy = audio>);
// large enough for two threads
gru_cell!(Alone<hidden_size = 256, input_size = 64, linear_before_reset = true>);
gru_cell!(Shared<hidden_size = 256, input_size = 64, linear_before_reset = true, threads = 2>);
// a clip of 0 is no clip
gru_cell!(Unclipped<hidden_size = 5, input_size = 3, clip = 0.0>);
gru_cell!(#[derive(PartialEq)] Baked<model = "corpus/gru_cell_lbr1/model.xml">);
gru_cell!(
    Agreeing<
        model = "corpus/gru_cell_clip_lbr1/model.xml",
        weights = "corpus/gru_cell_clip_lbr1/model.bin",
        linear_before_reset = true,
        clip = 0.7,
        activations = [Sigmoid, TANH],
    >
);
gru_sequence!(OfOnnx<model = "onnx/cases/gru_lens_bi_dyn/model.onnx", dim = ["T=5", "N=3"], direction = bidirectional>);
gru_sequence!(
    OfFixedLengths<
        model = "onnx/cases/gru_lens_bi_dyn/model.onnx", dim = ["T=5", "N=3"], const = ["lens=3"], direction = bidirectional,
    >
);
gru_cell!(OpenBatch<model = "corpus/gru_cell_batchdyn/model.xml", batch = 3>);
gru_cell!(RunTimeWeights<model = "corpus/gru_cell_params/model.xml">);
// a name that no identifier of C may have, and a name from macro_rules
rnn_cell!(pub Größe<hidden_size = 1, input_size = 1>);

lstm_cell!(Lstm<hidden_size = 5, input_size = 3>);
lstm_cell!(
    LstmOfLstmCell1<
        hidden_size = 5, input_size = 3, clip = 0.9, peepholes = true, input_forget = true, weights_format = ifco,
        activations = [hard_sigmoid(0.2, 0.5), tanh, relu],
    >
);
augru_cell!(Attentive<hidden_size = 5, input_size = 3>);
augru_sequence!(AttentiveSequence<hidden_size = 5, input_size = 3, steps = 4>);
gru_sequence!(Sequence<hidden_size = 5, input_size = 3, steps = 4>);
gru_sequence!(Step<hidden_size = 5, input_size = 3, steps = 1>);
rnn_sequence!(Backwards<hidden_size = 5, input_size = 3, steps = 4, direction = reverse>);

// files of PyTorch: a sequence, and networks whose outputs are those of a dense layer
gru_sequence!(OfPyTorch<weights = "frameworks/pytorch_gru.safetensors", prefix = "gru", batch = 2, steps = 4>);
gru_cell!(
    WithHead<
        weights = "frameworks/pytorch_gru_with_head.safetensors",
        prefix = "gru", head = "fc", head_activation = sigmoid, layers = 2, hidden_size = 5, input_size = 3,
    >
);
lstm_sequence!(
    BothWaysWithHead<
        weights = "frameworks/pytorch_lstm_both_ways_with_head.safetensors",
        prefix = "lstm", head = "fc", head_activation = sigmoid, direction = bidirectional, batch = 2, steps = 4,
    >
);

// Apple's operation, and its equivalent in OpenVINO's terms
gru!(
    AppleAfter<
        weights = "frameworks/apple_gru_after.safetensors",
        prefix = "apple", apply_reset_gate_after_mat_mul = true, batch = 2, steps = 4,
    >
);
gru!(AppleOuterBias<weights = "frameworks/apple_gru_outer_bias.safetensors", prefix = "apple", batch = 2, steps = 4>);
gru!(
    AppleLast<
        weights = "frameworks/apple_gru_outer_bias.safetensors",
        prefix = "apple", reset_gate = after_mat_mul_outer_bias, output_sequence = false, batch = 2, steps = 4,
    >
);
gru_sequence!(OuterBias<weights = "frameworks/pytorch_gru_outer_bias.safetensors", prefix = "gru", batch = 2, steps = 4>);
gru!(
    AppleAfterAtRunTime<hidden_size = 5, input_size = 3, batch = 2, steps = 4, apply_reset_gate_after_mat_mul = true>
);
gru!(AppleOuterBiasAtRunTime<hidden_size = 5, input_size = 3, batch = 2, steps = 4>);
gru!(AppleBeforeAtRunTime<hidden_size = 5, input_size = 3, steps = 4, reset_gate = before_mat_mul, activation = tanh>);

macro_rules! declare {
    ($visibility:vis $name:ident, $hidden:literal, $clip:expr) => {
        gru_cell!($visibility $name<hidden_size = $hidden, input_size = 3, clip = $clip>);
    };
}
declare!(pub Wrapped, 5, 2.0);

/// A pseudo-random weight from -0.7 to 0.7.
fn weight(i: usize) -> f32 {
    let bits = (i as u32).wrapping_mul(0x9e37_79b9).rotate_left(13).wrapping_mul(0x85eb_ca6b);
    (bits >> 8) as f32 / (1 << 24) as f32 * 1.4 - 0.7
}

fn weights<const COLUMNS: usize, const ROWS: usize>(seed: usize) -> [[f32; COLUMNS]; ROWS] {
    std::array::from_fn(|row| std::array::from_fn(|column| weight(seed + row * COLUMNS + column)))
}

/// `m v`, for the rows of one gate.
fn product<const N: usize>(m: &[[f32; N]], gate: usize, v: &[f64; N]) -> [f64; 5] {
    std::array::from_fn(|i| m[gate * 5 + i].iter().zip(v).map(|(m, v)| f64::from(*m) * v).sum())
}

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// One step of GRUCell-3 with 3 inputs and 5 states, as the specification writes it.
fn gru(
    x: &[f64; 3],
    h: &[f64; 5],
    w: &[[f32; 3]; 15],
    r: &[[f32; 5]; 15],
    b: &[f32],
    after: bool,
    clip: f64,
) -> [f64; 5] {
    augru(x, h, (w, r, b), after, clip, 0.0)
}

/// [`gru`] with attention, as in AUGRUCell.
fn augru(
    x: &[f64; 3],
    h: &[f64; 5],
    (w, r, b): (&[[f32; 3]; 15], &[[f32; 5]; 15], &[f32]),
    after: bool,
    clip: f64,
    attention: f64,
) -> [f64; 5] {
    let bias = |part: usize, i: usize| f64::from(b[part * 5 + i]);
    let gate = |g: usize| {
        let (wx, rh) = (product(w, g, x), product(r, g, h));
        std::array::from_fn(|i| sigmoid((wx[i] + rh[i] + bias(g, i)).clamp(-clip, clip)))
    };
    let (z, reset): ([f64; 5], [f64; 5]) = (gate(0), gate(1));
    let (wx, rh) = (product(w, 2, x), product(r, 2, h));
    let gated = std::array::from_fn(|i| reset[i] * h[i]);
    let before = product(r, 2, &gated);
    std::array::from_fn(|i| {
        let recurrent = if after { reset[i] * (rh[i] + bias(3, i)) } else { before[i] };
        let candidate = (wx[i] + bias(2, i) + recurrent).clamp(-clip, clip).tanh();
        let update = (1.0 - attention) * z[i];
        (1.0 - update) * candidate + update * h[i]
    })
}

const INPUTS: [[f32; 3]; 4] =
    [[1.0, -0.5, 0.25], [0.0, 0.75, -1.0], [2.0, 2.0, -2.0], [-0.125, 0.0, 1.5]];

/// Steps a cell and the equations side by side.
fn follows<C>(mut cell: C, step: impl Fn(&[f64; 3], &[f64; 5]) -> [f64; 5])
where
    C: for<'a> Cell<Input<'a> = &'a [f32; 3], Output = [f32; 5]>,
{
    let mut first = None;
    for _ in 0..2 {
        let (mut h, mut h_out) = ([0.0; 5], C::zeroed_output());
        for x in &INPUTS {
            h = step(&x.map(f64::from), &h);
            cell.step(x, &mut h_out);
            for (got, wanted) in h_out.iter().zip(h) {
                assert!(
                    (f64::from(*got) - wanted).abs() < 2e-6,
                    "{h_out:?}, not {h:?}, on {}",
                    cell.isa_name()
                );
            }
        }
        // after a reset, the first results again
        assert_eq!(*first.get_or_insert(h_out), h_out);
        cell.reset();
    }
}

#[test]
fn a_gru_follows_its_equation_in_every_form() {
    let (w, r, b): (_, _, [f32; 20]) =
        (weights(0), weights(100), std::array::from_fn(|i| weight(200 + i)));
    let short = b.first_chunk().expect("15 of 20");
    macro_rules! packed {
        ($module:ident, $b:expr) => {{
            let mut packed = $module::Packed::new();
            $module::pack(&$module::Weights { w: &w, r: &r, b: $b }, &mut packed);
            packed
        }};
    }
    let none = f64::INFINITY;
    let packed = packed!(after, &b);
    for name in ["generic", "avx2", "avx512"] {
        let Some(isa) = after::Isa::from_name(name) else { continue };
        follows(After::with_isa(isa, &packed), |x, h| gru(x, h, &w, &r, &b, true, 0.8));
    }
    follows(Before::new(&packed!(before, short)), |x, h| gru(x, h, &w, &r, &b, false, none));
    follows(Everything::new(&packed!(everything, short)), |x, h| {
        gru(x, h, &w, &r, &b, false, none)
    });
    follows(Unclipped::new(&packed!(unclipped, short)), |x, h| gru(x, h, &w, &r, &b, false, none));
    follows(Wrapped::new(&packed!(wrapped, short)), |x, h| gru(x, h, &w, &r, &b, false, 2.0));
}

#[test]
fn quick_activations_are_near_the_exact_ones() {
    let (w, r, b): (_, _, [f32; 15]) =
        (weights(0), weights(100), std::array::from_fn(|i| weight(200 + i)));
    let (mut exact_weights, mut quick_weights) = (before::Packed::new(), quick::Packed::new());
    before::pack(&before::Weights { w: &w, r: &r, b: &b }, &mut exact_weights);
    quick::pack(&quick::Weights { w: &w, r: &r, b: &b }, &mut quick_weights);
    let (mut exact, mut quick) = (Before::new(&exact_weights), Quick::new(&quick_weights));
    let (mut right, mut found) = ([0.0; 5], [0.0; 5]);
    for x in &INPUTS {
        exact.step(x, &mut right);
        quick.step(x, &mut found);
        assert_ne!(found, right);
        assert!(
            found.iter().zip(right).all(|(a, b)| (a - b).abs() < 2e-4),
            "{found:?}, not {right:?}"
        );
    }
}

#[test]
fn two_threads_give_the_bits_of_one() {
    let fill = |to: &mut [f32], values: &dyn Fn(usize) -> f32| {
        (0..).zip(to).for_each(|(k, to)| *to = values(k))
    };
    let (mut w, mut r, mut b) = (vec![[0.0; 64]; 768], vec![[0.0; 256]; 768], [0.0; 1024]);
    fill(w.as_flattened_mut(), &|k| weight(k) / 8.0);
    fill(r.as_flattened_mut(), &|k| weight(50_000 + k) / 8.0);
    fill(&mut b, &weight);
    let (w, r) =
        (w.as_slice().try_into().expect("rows of W"), r.as_slice().try_into().expect("rows of R"));
    // too large for the stack of a test
    static ONE: Mutex<alone::Packed> = Mutex::new(alone::Packed::new());
    static TWO: Mutex<shared::Packed> = Mutex::new(shared::Packed::new());
    let (mut one, mut two) = (ONE.lock().expect("weights"), TWO.lock().expect("weights"));
    alone::pack(&alone::Weights { w, r, b: &b }, &mut one);
    shared::pack(&shared::Weights { w, r, b: &b }, &mut two);
    let (mut alone, mut own, mut given) = (Alone::new(&one), Shared::new(&two), Shared::new(&two));
    let mut pair = shared::Pair::new();
    assert!(pair.start() && own.pair().start());
    let (mut wanted, mut out) = ([0.0; 256], [0.0; 256]);
    for step in 0..20 {
        let x = std::array::from_fn(|i| weight(step * 64 + i));
        alone.step(&x, &mut wanted);
        own.step(&x, &mut out);
        assert_eq!(out.map(f32::to_bits), wanted.map(f32::to_bits), "step {step}");
        given.step_with(&mut pair, &x, &mut out);
        assert_eq!(
            out.map(f32::to_bits),
            wanted.map(f32::to_bits),
            "step {step} on a pair that is given"
        );
    }
    assert!(wanted.iter().any(|h| h.abs() > 0.1));
}

#[test]
fn only_the_named_instruction_sets_are_written() {
    assert!(everything::Isa::from_name("avx512").is_none());
    assert!(everything::Isa::from_name("generic").is_some());
}

#[test]
fn a_batch_of_an_rnn_follows_its_equation_row_by_row() {
    let (w, r, b): (_, _, [f32; 5]) =
        (weights(0), weights(100), std::array::from_fn(|i| weight(200 + i)));
    let mut packed = rows::Packed::new();
    rows::pack(&rows::Weights { w: &w, r: &r, b: &b }, &mut packed);
    let mut cell = Rows::new(&packed);
    let (mut h, mut h_out) = ([[0.0; 5]; 2], [[0.0; 5]; 2]);
    for x in INPUTS.windows(2) {
        for (h, x) in h.iter_mut().zip(x) {
            let (wx, rh) = (product(&w, 0, &x.map(f64::from)), product(&r, 0, h));
            *h = std::array::from_fn(|i| (wx[i] + rh[i] + f64::from(b[i])).max(0.0));
        }
        cell.step(&[x[0], x[1]], &mut h_out);
        for (got, wanted) in h_out.as_flattened().iter().zip(h.as_flattened()) {
            assert!((f64::from(*got) - wanted).abs() < 2e-5, "{h_out:?}, not {h:?}");
        }
    }
    assert_eq!(cell.h(), &h_out);
}

/// The values of a file of little-endian f32.
fn read<const N: usize>(file: &[u8]) -> [f32; N] {
    let values: Vec<f32> =
        file.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    values.try_into().expect("a tensor of that size")
}

macro_rules! case {
    ($case:literal, $tensor:literal) => {
        &read(include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/corpus/",
            $case,
            "/",
            $tensor,
            ".bin"
        )))
    };
}

fn near(got: &[f32], wanted: &[f32]) {
    assert_eq!(got.len(), wanted.len());
    for (got_one, wanted_one) in got.iter().zip(wanted) {
        assert!((got_one - wanted_one).abs() < 2e-6, "{got:?}, not {wanted:?}");
    }
}

/// `[f32; N * I]` as rows.
fn in_rows<const I: usize, const N: usize>(flat: &[f32]) -> [[f32; I]; N] {
    let rows: Vec<[f32; I]> = flat.as_chunks().0.to_vec();
    rows.try_into().expect("that many rows")
}

#[test]
fn baked_cells_give_what_openvino_gives() {
    let x: &[f32; 10] = case!("gru_cell_lbr1", "r0_in0");
    let h: &[f32; 14] = case!("gru_cell_lbr1", "r0_in1");
    let wanted: &[f32; 14] = case!("gru_cell_lbr1", "r0_ov0");
    let mut cell = Baked::new();
    let mut h_out = [[0.0; 7]; 2];
    cell.set_h(&in_rows(h));
    assert!(cell != Baked::new(), "attributes in front of the declaration are the type's");
    cell.step(&in_rows(x), &mut h_out);
    near(h_out.as_flattened(), wanted);

    let x: &[f32; 10] = case!("gru_cell_clip_lbr1", "r0_in0");
    let h: &[f32; 14] = case!("gru_cell_clip_lbr1", "r0_in1");
    let wanted: &[f32; 14] = case!("gru_cell_clip_lbr1", "r0_ov0");
    let mut h_out = [[0.0; 7]; 2];
    let inputs = agreeing::Inputs { x: &in_rows(x), h: &in_rows(h) };
    agreeing::agreeing(&inputs, &mut h_out);
    near(h_out.as_flattened(), wanted);
}

#[test]
fn a_batch_that_the_file_leaves_open_is_the_one_that_is_said() {
    let x: &[f32; 15] = case!("gru_cell_batchdyn", "r1_in0");
    let h: &[f32; 21] = case!("gru_cell_batchdyn", "r1_in1");
    let wanted: &[f32; 21] = case!("gru_cell_batchdyn", "r1_ov0");
    let mut cell = OpenBatch::new();
    cell.set_h(&in_rows(h));
    let mut h_out = OpenBatch::zeroed_output();
    cell.step(&in_rows(x), &mut h_out);
    near(h_out.as_flattened(), wanted);
}

#[test]
fn an_onnx_model_s_dimensions_are_given_by_name() {
    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/onnx/cases/gru_lens_bi_dyn");
    let file =
        |name: &str| std::fs::read(format!("{FOLDER}/{name}.bin")).expect("a tensor of the case");
    let floats = |name: &str| -> Vec<f32> {
        file(name).as_chunks().0.iter().map(|bytes: &[u8; 4]| f32::from_le_bytes(*bytes)).collect()
    };
    let x: [f32; 45] = floats("r0_in0").try_into().expect("5 steps of 3 rows of 3");
    let lens: Vec<i32> =
        file("r0_in1").as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect();
    let lens: [i32; 3] = lens.try_into().expect("3 rows");
    let mut outputs = of_onnx::Outputs::new();
    OfOnnx::new().step(&of_onnx::Inputs { x: &x, lens: &lens }, &mut outputs);
    near(&outputs.y, &floats("r0_ort0"));
    near(&outputs.y_h, &floats("r0_ort1"));

    // equal lengths, known at compile time
    OfOnnx::new().step(&of_onnx::Inputs { x: &x, lens: &[3; 3] }, &mut outputs);
    let mut fixed = of_fixed_lengths::Outputs::new();
    OfFixedLengths::new().step(&x, &mut fixed);
    assert_eq!((outputs.y, outputs.y_h), (fixed.y, fixed.y_h));
}

#[test]
fn weights_that_the_file_does_not_hold_are_given_at_run_time() {
    let x: &[f32; 10] = case!("gru_cell_params", "r0_in0");
    let h: &[f32; 6] = case!("gru_cell_params", "r0_in1");
    let w: &[f32; 45] = case!("gru_cell_params", "r0_in2");
    let r: &[f32; 27] = case!("gru_cell_params", "r0_in3");
    let b: &[f32; 12] = case!("gru_cell_params", "r0_in4");
    let wanted: &[f32; 6] = case!("gru_cell_params", "r0_ov0");
    let weights = run_time_weights::Weights { w: &in_rows(w), r: &in_rows(r), b };
    let mut packed = run_time_weights::Packed::new();
    run_time_weights::pack(&weights, &mut packed);
    let mut cell = RunTimeWeights::new(&packed);
    cell.set_h(&in_rows(h));
    let mut h_out = RunTimeWeights::zeroed_output();
    cell.step(&in_rows(x), &mut h_out);
    near(h_out.as_flattened(), wanted);
}

#[test]
fn the_trait_describes_a_cell() {
    assert_eq!(After::INPUTS, [Port { name: "x", shape: &[1, 3], element: Element::F32 }]);
    assert_eq!(After::OUTPUTS, [Port { name: "h_out", shape: &[1, 5], element: Element::F32 }]);
    assert_eq!(Rows::STATES, [Port { name: "h", shape: &[2, 5], element: Element::F32 }]);
    assert_eq!(Rows::STATES[0].len(), 10);
}

#[test]
fn a_type_keeps_its_name() {
    let mut packed = größe::Packed::new();
    größe::pack(&größe::Weights { w: &[[0.5]], r: &[[0.0]], b: &[0.0] }, &mut packed);
    let (mut cell, mut h_out) = (Größe::new(&packed), [0.0]);
    cell.step(&[1.0], &mut h_out);
    near(&h_out, &[0.5f32.tanh()]);
}

/// One step of an LSTM with 3 inputs and 5 states, gates in the order f, i, c, o: h and c.
fn lstm(
    x: &[f64; 3],
    [h, c]: &[[f64; 5]; 2],
    (w, r, b): (&[[f32; 3]; 20], &[[f32; 5]; 20], &[f32; 20]),
    p: &[f32; 15],
    of_lstm_cell_1: bool,
) -> [[f64; 5]; 2] {
    // the places of f, i, c, o
    let order = if of_lstm_cell_1 { [1, 0, 2, 3] } else { [0, 1, 2, 3] };
    let clip = if of_lstm_cell_1 { 0.9 } else { f64::INFINITY };
    type Function = fn(f64) -> f64;
    let (f, last): (Function, Function) = match of_lstm_cell_1 {
        // constants are f32
        true => (|v| (f64::from(0.2f32) * v + 0.5).clamp(0.0, 1.0), |v| v.max(0.0)),
        false => (sigmoid, f64::tanh),
    };
    let sum = |gate: usize, i: usize| {
        let at = order[gate];
        product(w, at, x)[i] + product(r, at, h)[i] + f64::from(b[at * 5 + i])
    };
    let peep = |gate: usize, i: usize, c: f64| {
        if of_lstm_cell_1 { f64::from(p[gate * 5 + i]) * c } else { 0.0 }
    };
    let clipped = |v: f64| v.clamp(-clip, clip);
    let mut next = [[0.0; 5]; 2];
    for i in 0..5 {
        let forget = f(clipped(sum(0, i) + peep(0, i, c[i])));
        let input =
            if of_lstm_cell_1 { 1.0 - forget } else { f(clipped(sum(1, i) + peep(1, i, c[i]))) };
        let cell = forget * c[i] + input * clipped(sum(2, i)).tanh();
        let output = f(clipped(sum(3, i) + peep(2, i, cell)));
        (next[0][i], next[1][i]) = (output * last(cell), cell);
    }
    next
}

fn near_f64(got: &[f32], wanted: &[f64]) {
    let wanted: Vec<f32> = wanted.iter().map(|v| *v as f32).collect();
    near(got, &wanted);
}

#[test]
fn an_lstm_follows_its_equation_with_and_without_what_lstm_cell_1_has() {
    let (w, r, b, p): (_, _, [f32; 20], [f32; 15]) = (
        weights(0),
        weights(100),
        std::array::from_fn(|i| weight(300 + i)),
        std::array::from_fn(|i| weight(400 + i)),
    );
    macro_rules! follows {
        ($module:ident, $type:ident, $weights:expr, $first:literal) => {
            let mut packed = $module::Packed::new();
            $module::pack(&$weights, &mut packed);
            let (mut cell, mut outputs) = ($type::new(&packed), $type::zeroed_output());
            let mut states = [[0.0; 5]; 2];
            for x in &INPUTS {
                states = lstm(&x.map(f64::from), &states, (&w, &r, &b), &p, $first);
                cell.step(x, &mut outputs);
                near_f64(&outputs.h_out, &states[0]);
                near_f64(&outputs.c_out, &states[1]);
            }
            assert_eq!((cell.h(), cell.c()), (&outputs.h_out, &outputs.c_out));
        };
    }
    follows!(lstm, Lstm, lstm::Weights { w: &w, r: &r, b: &b }, false);
    let weights = lstm_of_lstm_cell1::Weights { w: &w, r: &r, b: &b, p: &p };
    follows!(lstm_of_lstm_cell1, LstmOfLstmCell1, weights, true);
}

#[test]
fn sequences_are_their_cells_step_after_step() {
    let (w, r, b): ([[f32; 3]; 15], [[f32; 5]; 15], [f32; 15]) =
        (weights(0), weights(100), std::array::from_fn(|i| weight(200 + i)));
    let attention = [0.25, 1.0, 0.0, 0.75];
    macro_rules! packed {
        ($module:ident, $w:expr, $r:expr, $b:expr) => {{
            let mut packed = $module::Packed::new();
            $module::pack(&$module::Weights { w: $w, r: $r, b: $b }, &mut packed);
            packed
        }};
    }
    // equal bits: the whole sequence, pieces of one step, and cells
    let (whole, piece) = (packed!(sequence, &[w], &[r], &[b]), packed!(step, &[w], &[r], &[b]));
    let one = packed!(before, &w, &r, &b);
    let (mut whole, mut piece, mut one) =
        (Sequence::new(&whole), Step::new(&piece), Before::new(&one));
    let mut outputs = Sequence::zeroed_output();
    whole.step(INPUTS.as_flattened().try_into().expect("4 steps"), &mut outputs);
    for (x, y) in INPUTS.iter().zip(outputs.y.as_chunks::<5>().0) {
        let (mut of_piece, mut h_out) = (Step::zeroed_output(), [0.0; 5]);
        piece.step(x, &mut of_piece);
        one.step(x, &mut h_out);
        assert_eq!((&of_piece.h_out, &h_out), (y, y));
    }
    assert_eq!(outputs.y[15..], outputs.h_out);

    // with attention
    let (whole, one) =
        (packed!(attentive_sequence, &[w], &[r], &[b]), packed!(attentive, &w, &r, &b));
    let (mut whole, mut one) = (AttentiveSequence::new(&whole), Attentive::new(&one));
    let mut outputs = AttentiveSequence::zeroed_output();
    let x = INPUTS.as_flattened().try_into().expect("4 steps");
    whole.step(&attentive_sequence::StepInputs { x, a: &attention }, &mut outputs);
    let mut h = [0.0; 5];
    for (t, x) in INPUTS.iter().enumerate() {
        let mut h_out = [0.0; 5];
        one.step(&attentive::StepInputs { x, a: &[attention[t]] }, &mut h_out);
        assert_eq!(h_out, outputs.y[t * 5..][..5]);
        h = augru(
            &x.map(f64::from),
            &h,
            (&w, &r, &b),
            false,
            f64::INFINITY,
            f64::from(attention[t]),
        );
        near_f64(&h_out, &h);
    }

    // in reverse, y stays at its step
    let (w, r, b): ([[f32; 3]; 5], [[f32; 5]; 5], [f32; 5]) =
        (weights(0), weights(100), std::array::from_fn(|i| weight(200 + i)));
    let packed = packed!(backwards, &[w], &[r], &[b]);
    let (mut cell, mut outputs) = (Backwards::new(&packed), Backwards::zeroed_output());
    // the state is the caller's: the last one belongs to the first step
    cell.step(&backwards::Inputs { x, h: &[0.0; 5] }, &mut outputs);
    let mut h = [0.0; 5];
    for (t, x) in INPUTS.iter().enumerate().rev() {
        let (wx, rh) = (product(&w, 0, &x.map(f64::from)), product(&r, 0, &h));
        h = std::array::from_fn(|i| (wx[i] + rh[i] + f64::from(b[i])).tanh());
        near_f64(&outputs.y[t * 5..][..5], &h);
    }
    near_f64(&outputs.h_out, &h);
}

/// A tensor of a file that PyTorch wrote.
fn of_file(file: &[u8], name: &str) -> Vec<f32> {
    let tensors = SafeTensors::deserialize(file).expect("a file of tensors");
    let bytes = tensors.tensor(name).expect("a tensor of that name").data();
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

macro_rules! of_file {
    ($file:literal, $tensor:expr) => {
        of_file(include_bytes!(concat!("../frameworks/", $file, ".safetensors")), $tensor)
    };
}

fn array<const N: usize>(values: &[f32]) -> &[f32; N] {
    values.try_into().expect("that many values")
}

#[test]
fn what_pytorch_saved_gives_what_pytorch_gives() {
    let mut cell = OfPyTorch::new();
    cell.set_h(array(&of_file!("pytorch_gru", "h0")));
    let mut outputs = OfPyTorch::zeroed_output();
    cell.step(array(&of_file!("pytorch_gru", "x")), &mut outputs);
    near(&outputs.y, &of_file!("pytorch_gru", "y"));
    near(&outputs.h_out, &of_file!("pytorch_gru", "hn"));

    // two layers and a dense layer, step by step; a reset starts the second row of the batch
    let (x, out) =
        (of_file!("pytorch_gru_with_head", "x"), of_file!("pytorch_gru_with_head", "out"));
    let mut cell = WithHead::new();
    for (x, wanted) in x.chunks_exact(12).zip(out.chunks_exact(8)) {
        cell.reset();
        for (x, wanted) in x.as_chunks().0.iter().zip(wanted.chunks_exact(2)) {
            let mut out = [0.0; 2];
            cell.step(x, &mut out);
            near(&out, wanted);
        }
    }
    assert_eq!(WithHead::OUTPUTS, [Port { name: "out", shape: &[1, 2], element: Element::F32 }]);

    // both directions: every call starts at zero
    let mut cell = BothWaysWithHead::new();
    for _ in 0..2 {
        let mut out = BothWaysWithHead::zeroed_output();
        cell.step(array(&of_file!("pytorch_lstm_both_ways_with_head", "x")), &mut out);
        near(&out, &of_file!("pytorch_lstm_both_ways_with_head", "out"));
    }
}

/// `[2, 4, ..]` as `[4, 2, ..]`
fn time_first(values: &[f32]) -> Vec<f32> {
    let row = values.len() / 8;
    (0..8).flat_map(|i| values[(i % 2 * 4 + i / 2) * row..][..row].to_vec()).collect()
}

#[test]
fn apples_gru_gives_the_bits_of_openvinos_terms() {
    macro_rules! same {
        ($apple:ident, $openvino:ident, $file:literal) => {{
            let (x, h0): (Vec<f32>, Vec<f32>) = (of_file!($file, "x"), of_file!($file, "h0"));
            let mut wanted = $openvino::zeroed_output();
            let mut cell = $openvino::new();
            cell.set_h(array(&h0));
            cell.step(array(&x), &mut wanted);
            let mut got = $apple::zeroed_output();
            let (input, h0) = (time_first(&x), in_rows(&h0));
            let mut cell = $apple::new();
            cell.set_initial_hidden_states(&h0);
            cell.step(array(&input), &mut got);
            assert_eq!(*cell.initial_hidden_states(), got.hidden_states);
            assert_eq!(got.hidden_states.as_flattened(), wanted.h_out);
            near(got.hidden_states.as_flattened(), &of_file!($file, "hn"));
            (got.output, time_first(&wanted.y))
        }};
    }
    let (output, y) = same!(AppleAfter, OfPyTorch, "pytorch_gru");
    assert_eq!(output[..], y);
    let (output, y) = same!(AppleOuterBias, OuterBias, "pytorch_gru_outer_bias");
    assert_eq!(output[..], y);
    let (last, y) = same!(AppleLast, OuterBias, "pytorch_gru_outer_bias");
    assert_eq!(last, y[30..]);

    // before the product: rows z, r, h as r, n, z
    fn turned<T: Copy>(rows: &[T; 15]) -> [T; 15] {
        std::array::from_fn(|i| rows[(i + 5) % 15])
    }
    let (w, r, b): ([[f32; 3]; 15], [[f32; 5]; 15], [f32; 15]) =
        (weights(0), weights(100), std::array::from_fn(|i| weight(200 + i)));
    let mut of_apple = apple_before_at_run_time::Packed::new();
    let of_weights = apple_before_at_run_time::Weights {
        input_hidden_weight: &turned(&w),
        hidden_hidden_weight: &turned(&r),
        bias: &turned(&b),
    };
    apple_before_at_run_time::pack(&of_weights, &mut of_apple);
    let mut packed = sequence::Packed::new();
    sequence::pack(&sequence::Weights { w: &[w], r: &[r], b: &[b] }, &mut packed);
    let (mut got, mut wanted) = (AppleBeforeAtRunTime::zeroed_output(), Sequence::zeroed_output());
    let x = INPUTS.as_flattened().try_into().expect("4 steps");
    AppleBeforeAtRunTime::new(&of_apple).step(x, &mut got);
    Sequence::new(&packed).step(x, &mut wanted);
    assert_eq!((got.output, got.hidden_states), (wanted.y, wanted.h_out));
}

#[test]
fn apples_weights_at_run_time_give_the_bits_of_its_file() {
    macro_rules! same {
        ($baked:ident, $run_time:ident, $module:ident, $file:literal, $($bias:ident)*) => {{
            let (w, r) = (of_file!($file, "apple.input_hidden_weight"), of_file!($file, "apple.hidden_hidden_weight"));
            $(let $bias = of_file!($file, concat!("apple.", stringify!($bias)));)*
            let weights = $module::Weights {
                input_hidden_weight: &in_rows(&w),
                hidden_hidden_weight: &in_rows(&r),
                $($bias: array(&$bias),)*
            };
            let mut packed = $module::Packed::new();
            // a second time over the first
            $module::pack(&weights, &mut packed);
            $module::pack(&weights, &mut packed);
            let (x, h0) = (time_first(&of_file!($file, "x")), in_rows(&of_file!($file, "h0")));
            let (mut got, mut wanted) = ($run_time::zeroed_output(), $baked::zeroed_output());
            let (mut one, mut other) = ($run_time::new(&packed), $baked::new());
            one.set_initial_hidden_states(&h0);
            one.step(array(&x), &mut got);
            other.set_initial_hidden_states(&h0);
            other.step(array(&x), &mut wanted);
            assert_eq!((got.output, got.hidden_states), (wanted.output, wanted.hidden_states));
        }};
    }
    same!(AppleAfter, AppleAfterAtRunTime, apple_after_at_run_time, "apple_gru_after", bias input_bias);
    same!(
        AppleOuterBias,
        AppleOuterBiasAtRunTime,
        apple_outer_bias_at_run_time,
        "apple_gru_outer_bias",
        bias
    );
}
