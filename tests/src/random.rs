//! Models and calls drawn at random, the same for the same seed.

use std::collections::BTreeSet;

use cellc::internals::compile::{compile, with_model_errors};
use cellc::internals::core::{CoreModel, CoreOp, Parameter};
use cellc::internals::diagnostic::Diagnostics;
use cellc::internals::front::openvino;
use cellc::internals::front::read_model::ReadModel;
use cellc::internals::model::{ElementType, ResetGate};
use cellc::internals::random::Random;
use cellc::{Accuracy, Fma, Options, Precision, Threads, Tuning, Unroll};

use crate::model_file::ModelFile;
use crate::recipe::Recipe;
use crate::subject::Subject;

/// The model of a recipe with four calls: ordinary, saturating, denormal, and with infinities and
/// NaN.
///
/// # Panics
/// As [`compiled`].
pub fn subject(name: &str, recipe: &Recipe) -> Subject {
    let subject = on(name, recipe, Options::default());
    if !two_threads_can_share(subject.model()) {
        return subject;
    }
    let options = subject.compilation.options.with_threads(Threads::Two);
    compiled(name, recipe.file(), options, u64::from(recipe.seed) + 1)
}

/// The model of a recipe on one thread. `options`: the options for a machine.
///
/// # Panics
/// As [`compiled`].
pub fn on(name: &str, recipe: &Recipe, mut options: Options) -> Subject {
    let file = recipe.file();
    let unroll = match recipe.options[0] % 4 {
        // the time of rustc grows more than linearly with straight-line code
        3 if file.work <= 400 => Unroll::Full,
        1 => Unroll::None,
        _ => Unroll::Auto,
    };
    options.tuning = tuning(recipe.seed).with_unroll(unroll);
    options.numerics.fma = if recipe.options[1] % 4 == 3 { Fma::Off } else { Fma::Auto };
    options.numerics.accuracy = match recipe.options[2] / 3 % 4 {
        2 => Accuracy::Fast,
        3 => Accuracy::Audio,
        _ => Accuracy::Exact,
    };
    options.numerics.keep_denormals = recipe.options[2] % 3 == 2;
    let at_run_time = file.weights_at_run_time;
    options.numerics.precision = match recipe.options[2] / 12 % 8 {
        2 => Some(Precision::Int8x16),
        3 => Some(Precision::Int16),
        4 => Some(Precision::Int8),
        5 if !at_run_time => Some(Precision::F16),
        6 if !at_run_time => Some(Precision::Bf16),
        _ => None,
    };
    let seed = u64::from(recipe.seed) + 1;
    if options.numerics.precision.is_some() && !at_run_time && recipe.seed % 2 == 1 {
        let whole = compiled(name, file.clone(), options.clone(), seed);
        options.numerics.precision_of = layers(whole.model(), recipe.seed);
    }
    compiled(name, file, options, seed)
}

/// A precision for one of the layers.
fn layers(model: &CoreModel, seed: u32) -> Vec<(String, Precision)> {
    let all: BTreeSet<_> = model
        .all_nodes()
        .into_iter()
        .filter(|node| node.op.has_precision())
        .map(|node| node.name.clone())
        .collect();
    let precision = Precision::ALL[seed as usize / 8 % Precision::ALL.len()];
    let at = seed as usize / 2 % all.len().max(1);
    all.into_iter().nth(at).map(|name| (name, precision)).into_iter().collect()
}

/// True if cellc accepts the model with two threads.
fn two_threads_can_share(model: &CoreModel) -> bool {
    let can = |op: &CoreOp| match op {
        CoreOp::Cell(cell) => {
            cell.sequence.is_none() && cell.kind.reset_gate() != Some(ResetGate::BeforeMatMul)
        }
        CoreOp::Loop(_) => false,
        _ => true,
    };
    !model.cells().is_empty() && model.nodes.iter().all(|node| can(&node.op))
}

/// Choices that the plan makes only by the costs of larger models than the drawn ones.
fn tuning(seed: u32) -> Tuning {
    let choice = |at: u32| (seed >> (2 * at) & 3) as usize;
    Tuning::default()
        .with_panel_columns([None, Some(2), Some(5), Some(16)][choice(0)])
        .with_rows_at_once([None, Some(2), Some(3), Some(8)][choice(1)])
        .with_alternate([None, Some(false), Some(true), Some(true)][choice(2)])
        .with_input_first([None, Some(false), Some(true), Some(true)][choice(3)])
        .with_fuse([None, Some(true), Some(true), Some(false)][choice(4)])
        .with_branches([None, Some(true), Some(true), Some(false)][choice(5)])
        .with_halves([None, Some(true)][choice(4).min(1)])
        .with_tiles([None, Some(true), Some(true), Some(false)][choice(6)])
}

/// A model with calls of all kinds.
///
/// # Panics
/// If cellc refuses the model, or finds other shapes than the file states.
pub fn compiled(name: &str, file: ModelFile, options: Options, seed: u64) -> Subject {
    let (subject, warnings) = accepted(name, file.text().as_bytes(), file.weights, options, seed)
        .unwrap_or_else(|problems| panic!("{name} is refused: {problems}"));
    let contradicted = |line: &str| {
        line.contains("said to have the shape") || line.contains("the attribute counts")
    };
    assert!(!warnings.lines().any(contradicted), "{name}: {warnings}");
    subject
}

/// An IR, compiled, with calls of all kinds, and the warnings.
///
/// # Errors
/// The problems of the IR.
pub fn accepted(
    name: &str,
    text: &[u8],
    weights: Vec<u8>,
    options: Options,
    seed: u64,
) -> Result<(Subject, String), Diagnostics> {
    let ReadModel { model, problems: warnings } =
        with_model_errors(openvino::read_bytes("net.xml", text, Some(("net.bin", weights)))?)?;
    let options = options.with_name(Some(name.to_owned()));
    let compilation = compile(&model, &options)?;
    let warnings = format!("{warnings}{}", compilation.warnings);
    let calls = calls(&mut Random::new(seed), &compilation.model);
    Ok((Subject { name: name.to_owned(), compilation, calls }, warnings))
}

/// The index of the ordinary call of [`subject`].
pub const ORDINARY: usize = 0;
/// The index of the call with inputs up to 30 times as large. Weights are ordinary.
pub const SATURATING: usize = 1;
/// The index of the call with inputs and states so small that they or their products are denormal.
pub const DENORMAL: usize = 2;
/// The index of the call with some infinities, NaNs, zeros of both signs and largest numbers.
pub const SPECIAL: usize = 3;

fn calls(random: &mut Random, model: &CoreModel) -> Vec<Vec<Vec<f32>>> {
    let specials = [
        f32::NAN,
        -f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN,
        0.0,
        -0.0,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
    ];
    let mut parameter = |call: usize, parameter: &Parameter| -> Vec<f32> {
        let Parameter { shape, weight, element, .. } = parameter;
        if *element == ElementType::Bool {
            return (0..shape.iter().product()).map(|_| random.below(2) as f32).collect();
        }
        if let Some(steps) = parameter.largest_drawn() {
            // lengths that are too small or too large, as well
            let any = |random: &mut Random| random.below(steps + 5) as f32 - 2.0;
            return (0..shape.iter().product()).map(|_| any(random)).collect();
        }
        let (weight, len) = (*weight, shape.iter().product());
        let scale = match (weight, call) {
            (true, _) => weight_scale(shape),
            (_, SATURATING) => 30.0,
            (_, DENORMAL) => 1e-38,
            _ => 1.0,
        };
        let mut values: Vec<f32> = (0..len).map(|_| unit(random) * scale).collect();
        if call == SPECIAL && !weight {
            for _ in 0..1 + len / 8 {
                let at = random.below(len);
                values[at] = random.choice(&specials);
            }
        }
        values
    };
    let calls = [ORDINARY, SATURATING, DENORMAL, SPECIAL];
    calls.map(|call| model.parameters.iter().map(|p| parameter(call, p)).collect()).into()
}

/// A number from -1 to less than 1, drawn as the numbers of tests/models/graphs.txt.
pub fn unit(random: &mut Random) -> f32 {
    (random.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

/// The scale of weights that keeps pre-activation sums of ordinary inputs near 1.
pub fn weight_scale(shape: &[usize]) -> f32 {
    if shape.len() > 1 { 2.0 / (shape[shape.len() - 1] as f32).sqrt() } else { 0.5 }
}
