//! Generated C on other machines: steps with states that go on, bit for bit what the interpreter computes.

use std::path::Path;

use cellc::{Fma, Options, WeightFormat};
use cellc_tests::corpus::{self, Case};
use cellc_tests::machines::{AARCH64, CORTEX_M3, CORTEX_M4F, CORTEX_M55, Machine, Walk};
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::random;
use cellc_tests::recipe;
use cellc_tests::subject::Subject;

/// Cases of the corpus, and how often their calls are repeated: cells of every kind, sequences, states of both kinds, weights at run time,
/// heads with softmax and sigmoid.
const CASES: [(&str, usize); 14] = [
    // its states fade
    ("rnnoise_step_f32", 8),
    ("rnnoise_stream_f32", 2),
    ("gru_cell_128_fp16", 2),
    ("gru_cell_params", 2),
    ("gru_seq_bi_lens_param", 2),
    ("int8_gru_head", 2),
    ("lstm_cell_clip", 8),
    ("lstm_seq_rev", 2),
    ("onnx_gru_bi_activations", 2),
    ("onnx_gru_bi_dense", 2),
    ("rnn_cell_relu_clip", 8),
    ("stateful_gru", 8),
    ("ti_gru", 2),
    ("torch_gru2_head_static", 2),
];

/// Cases with their weights in other formats, and without fused multiply-add.
const OTHERS: [(&str, Fma, WeightFormat); 4] = [
    ("gru_cell_128_fp16", Fma::Auto, WeightFormat::F16),
    ("gru_cell_128_fp16", Fma::Auto, WeightFormat::Int8),
    ("lstm_cell_fp16", Fma::Off, WeightFormat::F16),
    ("gru_cell_lbr0", Fma::Off, WeightFormat::F32),
];

/// How many models are drawn.
const DRAWN: u32 = 12;

/// The rounds of a model that is drawn: its calls saturate, are denormal, and hold NaN.
const ROUNDS: usize = 2;

/// The model whose inputs and outputs are normal numbers, and what it computes in between is not.
const BETWEEN: &str = "subnormal_in_between";

fn cases(machine: &Machine) -> Vec<Walk> {
    let walks = |name: &str, rounds, options: &Options, ending: &str| {
        let subjects = Case::subjects(&corpus::case(name), options, ending);
        subjects.into_iter().map(move |(subject, _)| Walk { subject, rounds }).collect::<Vec<_>>()
    };
    let plain = CASES.iter().flat_map(|(name, rounds)| walks(name, *rounds, &(machine.options)(), ""));
    let others = OTHERS.iter().flat_map(|(name, fma, weight_format)| {
        let options = Options { fma: *fma, weight_format: *weight_format, ..(machine.options)() };
        walks(name, 2, &options, &format!("_{fma:?}_{weight_format:?}").to_lowercase())
    });
    plain.chain(others).collect()
}

fn drawn(machine: &Machine) -> Vec<Walk> {
    let all = (0..).zip(recipe::drawn(DRAWN, 0));
    let walk = |(k, recipe)| Walk {
        subject: random::on(&format!("random_{k}"), &recipe, (machine.options)()),
        rounds: ROUNDS,
    };
    // where a machine flushes what is subnormal, nothing can keep it
    all.map(walk).filter(|walk| !(machine.flushes && walk.subject.compilation.options.keep_denormals)).collect()
}

/// Functions whose values for these inputs are subnormal, and what makes normal values of those.
fn subnormal_in_between(machine: &Machine) -> Walk {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, 8]);
    let large = file.constant(&[1, 1], Stored::F32, [1e25].into_iter());
    for (kind, set, data) in [
        ("Exp", "opset1", ""),
        ("Sigmoid", "opset1", ""),
        ("SoftPlus", "opset4", ""),
        ("SoftMax", "opset8", "axis=\"1\""),
    ] {
        let small = file.operation(kind, set, data, &[&x], &[1, 8]);
        let product = file.operation("Multiply", "opset1", "", &[&small, &large], &[1, 8]);
        let logarithm = file.operation("Log", "opset1", "", &[&small], &[1, 8]);
        let quotient = file.operation("Divide", "opset1", "", &[&large, &small], &[1, 8]);
        let root = file.operation("Divide", "opset1", "", &[&product, &large], &[1, 8]);
        [product, logarithm, quotient, root].iter().for_each(|result| _ = file.result(result));
    }
    let subject = random::compiled(BETWEEN, file, (machine.options)(), 1);
    let near = (0..8).map(|k| -80.0 - 3.0 * k as f32).collect();
    let far = [0.0, -20.0, -86.0, -87.5, -90.0, -96.0, -101.0, -103.0].to_vec();
    Walk { subject: Subject { calls: vec![vec![near], vec![far]], ..subject }, rounds: 1 }
}

/// Fails with the first bits that are not the interpreter's.
fn the_bits_of(machine: &Machine) {
    if !machine.is_here() {
        return;
    }
    let between = subnormal_in_between(machine);
    let walks: Vec<Walk> = cases(machine).into_iter().chain(drawn(machine)).chain([between]).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("machines-{}", machine.name));
    let found = machine.walk(&folder, &walks, &["-std=gnu11", "-O2"]);
    let mut wrong = Vec::new();
    for (walk, found) in walks.iter().zip(found) {
        let expected = walk.expected(&found.isa);
        let differ: Vec<_> = (0..expected.len()).filter(|at| expected[*at] != found.bits[*at]).collect();
        if machine.flushes && walk.subject.name == BETWEEN {
            // states, inputs and outputs are flushed in every body, but what is in between is not yet
            assert!(!differ.is_empty(), "{}: {BETWEEN} agrees: let it", machine.name);
        } else if let Some(&at) = differ.first() {
            let [found, expected] = [found.bits[at], expected[at]].map(f32::from_bits);
            let (name, count) = (&walk.subject.name, differ.len());
            wrong.push(format!("{name}: {count} values, first the {at}th: {found:e}, not {expected:e}"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", machine.name, wrong.join("\n"));
}

#[test]
fn cortex_m3() {
    the_bits_of(&CORTEX_M3);
}

#[test]
fn cortex_m4f() {
    the_bits_of(&CORTEX_M4F);
}

#[test]
fn cortex_m55() {
    the_bits_of(&CORTEX_M55);
}

#[test]
fn aarch64() {
    the_bits_of(&AARCH64);
}
