//! A chain of several cells. No model of the corpus has several cells.

use cellc::Options;
use cellc::internals::compile::compile;
use cellc::internals::front::openvino;

use crate::model_file::{ModelFile, Stored};
use crate::subject::Subject;

/// The numbers of units of the GRUCells of the chain. Instruction sets tile these sizes
/// differently. Each cell has an initial state of its own; the state of the last cell is a
/// constant.
pub const SIZES: [usize; 4] = [4, 20, 7, 33];
const INPUT_SIZE: usize = 3;

/// Small numbers without much structure.
fn values(len: usize, seed: usize) -> impl Iterator<Item = f32> {
    (0..len).map(move |i| ((i * 37 + seed * 101 + 11) % 64) as f32 / 128.0 - 0.25)
}

/// The chain, compiled, with inputs for one call.
///
/// # Panics
/// If cellc refuses the model.
pub fn subject(
    name: &str,
    options: &Options,
    linear_before_reset: bool,
    bias_at_run_time: bool,
) -> Subject {
    let (mut file, mut inputs) = (ModelFile::default(), Vec::new());
    let mut tensor = |file: &mut ModelFile, shape: &[usize], seed: usize, constant: bool| {
        let values = values(shape.iter().product(), seed);
        if constant {
            return file.constant(shape, Stored::F32, values);
        }
        inputs.push(values.collect::<Vec<f32>>());
        file.parameter("", shape)
    };
    let mut x = tensor(&mut file, &[1, INPUT_SIZE], 0, false);
    for (i, size) in SIZES.into_iter().enumerate() {
        let seed = 10 * (i + 1);
        let last = i + 1 == SIZES.len();
        let bias = if linear_before_reset { 4 } else { 3 } * size;
        let h = tensor(&mut file, &[1, size], seed, last);
        let w = tensor(&mut file, &[3 * size, x.shape[1]], seed + 1, true);
        let r = tensor(&mut file, &[3 * size, size], seed + 2, true);
        let b = tensor(&mut file, &[bias], seed + 3, !bias_at_run_time);
        let attributes = format!("linear_before_reset=\"{linear_before_reset}\"");
        x = file.cell("", "GRUCell", &attributes, &[&x, &h, &w, &r, &b]);
        file.result(&x);
    }
    let model = openvino::read_bytes(
        "chain.xml",
        file.text().as_bytes(),
        Some(("chain.bin", file.weights)),
    )
    .unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}"))
    .model;
    let options = options.clone().with_name(Some(name.to_string()));
    let compilation = compile(&model, &options)
        .unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}"));
    Subject { name: name.to_string(), compilation, calls: vec![inputs] }
}
