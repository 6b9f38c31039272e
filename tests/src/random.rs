//! Models and calls drawn at random, the same for the same seed.

use cellc::compile::compile;
use cellc::front::openvino;
use cellc::model::{Activation, Source, ValidModel};
use cellc::options::{Fma, Options, Unroll};

use crate::model_file::{ModelFile, Port, Stored};
use crate::subject::Subject;

/// SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both possible.
    pub fn size(&mut self, low: usize, high: usize) -> usize {
        low + (self.bits() % (high - low + 1) as u64) as usize
    }

    /// True in so many of a hundred.
    pub fn percent(&mut self, of_a_hundred: usize) -> bool {
        self.size(0, 99) < of_a_hundred
    }

    /// One of them.
    pub fn choice<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.size(0, of.len() - 1)]
    }

    /// From -1 to 1.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// A model of one to three cells with its calls: an ordinary one, one that saturates, one of denormals, and one with
/// infinities and NaN in it.
///
/// # Panics
/// If cellc refuses it.
pub fn subject(seed: u64) -> Subject {
    let mut random = Random(seed);
    let name = format!("random_{seed}");
    let large = random.percent(8);
    let file = model_file(&mut random, large);
    let (model, _) = openvino::read_bytes("net.xml", file.text().as_bytes(), Some(("net.bin", file.weights.clone())))
        .unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}\n{}", file.text()));
    let mut options = Options { name: Some(name.clone()), ..Options::default() };
    options.unroll = match random.size(0, 3) {
        // straight-line code takes rustc far more than linear time
        0 if file.work <= 400 => Unroll::Full,
        1 => Unroll::None,
        _ => Unroll::Auto,
    };
    options.fma = if random.percent(25) { Fma::Off } else { Fma::Auto };
    options.flush_denormals = random.percent(30);
    let compilation =
        compile(&model, &options).unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}\n{}", file.text()));
    let calls = calls(&mut random, &compilation.model);
    Subject { name, compilation, calls }
}

/// The calls of [`subject`].
pub const ORDINARY: usize = 0;
/// ... with inputs up to 30 times as large, weights as they are.
pub const SATURATING: usize = 1;
/// ... with inputs and states so small that their products and they themselves are denormal.
pub const DENORMAL: usize = 2;
/// ... with some infinities, NaNs, zeros of both signs and largest numbers.
pub const SPECIAL: usize = 3;

fn calls(random: &mut Random, model: &ValidModel) -> Vec<Vec<Vec<f32>>> {
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
    let mut parameter = |call: usize, shape: &[usize], weight: bool| -> Vec<f32> {
        let scale = match (weight, call) {
            (true, _) => weight_scale(shape),
            (_, SATURATING) => 30.0,
            (_, DENORMAL) => 1e-38,
            _ => 1.0,
        };
        let len = shape.iter().product();
        let mut values: Vec<f32> = (0..len).map(|_| random.unit() * scale).collect();
        if call == SPECIAL && !weight {
            for _ in 0..1 + len / 8 {
                let at = random.size(0, len - 1);
                values[at] = random.choice(&specials);
            }
        }
        values
    };
    let calls = [ORDINARY, SATURATING, DENORMAL, SPECIAL];
    calls.map(|call| model.parameters.iter().map(|p| parameter(call, &p.shape, p.weight)).collect()).into()
}

/// Keeps pre-activation sums of ordinary inputs near 1.
fn weight_scale(shape: &[usize]) -> f32 {
    if shape.len() == 2 { 2.0 / (shape[1] as f32).sqrt() } else { 0.5 }
}

fn model_file(random: &mut Random, large: bool) -> ModelFile {
    let mut file = ModelFile::default();
    let size = |random: &mut Random| if large { random.size(64, 130) } else { random.size(1, 40) };
    let batch = if large || random.percent(60) { 1 } else { random.size(2, 5) };
    let cells = if large { 1 } else { random.choice(&[1, 1, 1, 1, 2, 3]) };
    let x = file.parameter("x", &[batch, size(random)]);
    let mut states: Vec<Port> = Vec::new();
    for i in 0..cells {
        let input = if i > 0 && random.percent(80) { states[i - 1].clone() } else { x.clone() };
        let h = match states.last() {
            // a state of its own, a constant one, or what another cell leaves
            Some(last) if random.percent(20) => last.clone(),
            _ => {
                let shape = [batch, size(random)];
                if random.percent(10) {
                    file.constant(&shape, Stored::F32, (0..batch * shape[1]).map(|_| random.unit()))
                } else {
                    file.parameter(&format!("h{i}"), &shape)
                }
            }
        };
        let state = cell(random, &mut file, i, &input, &h);
        states.push(state);
    }
    for (i, state) in states.iter().enumerate() {
        if i + 1 == cells || random.percent(60) {
            file.result(state);
        }
    }
    if random.percent(5) {
        file.result(&x);
    }
    file
}

fn cell(random: &mut Random, file: &mut ModelFile, index: usize, x: &Port, h: &Port) -> Port {
    let (inputs, hidden) = (x.shape[1], h.shape[1]);
    let (kind, gates, parts, resets) =
        random.choice(&[("RNNCell", 1, 1, None), ("GRUCell", 3, 3, Some(false)), ("GRUCell", 3, 4, Some(true))]);
    let functions: Vec<&str> = (0..if gates == 1 { 1 } else { 2 }).map(|_| random.choice(&Activation::NAMES)).collect();
    let mut attributes = String::new();
    // absent: the defaults
    if random.percent(80) {
        attributes += &format!("activations=\"{}\" ", functions.join(","));
        // by position, also to those that take none
        for list in ["activations_alpha", "activations_beta"] {
            if functions.contains(&"scaledtanh") || random.percent(50) {
                let numbers: Vec<String> = functions.iter().map(|_| format!("{:?}", 1.5 * random.unit())).collect();
                attributes += &format!("{list}=\"{}\" ", numbers.join(","));
            }
        }
    }
    if random.percent(50) {
        attributes += &format!("clip=\"{}\" ", 0.05 * random.size(1, 40) as f32);
    }
    if let Some(after) = resets
        && (after || random.percent(50))
    {
        attributes += &format!("linear_before_reset=\"{after}\" ");
    }
    let stored = if random.percent(20) { Stored::F16 } else { Stored::F32 };
    let at_run_time = random.percent(15);
    let mut tensor = |name: &str, shape: &[usize]| {
        if at_run_time {
            return file.parameter(&format!("{name}{index}"), shape);
        }
        let scale = weight_scale(shape);
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| random.unit() * scale).collect();
        file.constant(shape, stored, values.into_iter())
    };
    let w = tensor("w", &[gates * hidden, inputs]);
    let r = tensor("r", &[gates * hidden, hidden]);
    let b = tensor("b", &[parts * hidden]);
    let name = format!("out{index}");
    if gates == 3 && random.percent(25) {
        return file.cell(&name, kind, &attributes, &[x, h, &w, &r]);
    }
    file.cell(&name, kind, &attributes, &[x, h, &w, &r, &b])
}

/// Whether a result is computed by a cell, not an input or a constant passed on.
pub fn is_computed(model: &ValidModel, result: usize) -> bool {
    matches!(model.results[result].source, Source::Value(_))
}
