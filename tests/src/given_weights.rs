//! Models whose cells have run-time weights, and equal models with constant weights.

use cellc::Options;
use cellc::internals::compile::compile;
use cellc::internals::front::openvino;
use cellc::internals::random::Random;

use crate::model_file::{ModelFile, Port, Stored};
use crate::random::unit;
use crate::subject::Subject;

/// The place of the cells' weights.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// All weights are constants of the model.
    Constant,
    /// All weights are Parameters.
    Given,
    /// R is a constant, all other weights are Parameters.
    GivenButR,
}

/// The rows of a matrix: random rows, and rows that are special cases of rounding.
fn rows(random: &mut Random, count: usize, len: usize) -> Vec<f32> {
    let mut all = Vec::new();
    for row in 0..count {
        let mut drawn = || unit(random) * 0.3;
        let mut whole = |most: f32| (drawn() * 3.0 * most).round();
        match (row + count) % 11 {
            // multiples of a scale, some beyond 127 times the scale, and integers
            1 => all.extend((0..len).map(|_| whole(127.0) / 256.0)),
            2 => all.extend((0..len).map(|_| whole(200.0) * 0.0123)),
            3 => all.extend((0..len).map(|_| whole(9.0))),
            4 => all.extend((0..len).map(|_| 0.0)),
            // multiples with rounding errors
            5 => all.extend((0..len).map(|_| whole(127.0) / 100.0 - 0.127 + 0.127)),
            6 => all.extend((0..len).map(|k| if k == 1 { 3.0 } else { drawn() / 100.0 })),
            // the scale is a denormal or zero
            7 => all.extend((0..len).map(|_| drawn() * 1e-36)),
            8 => all.extend((0..len).map(|_| whole(9.0) * f32::from_bits(1))),
            9 => all.extend((0..len).map(|_| drawn() * 1e30)),
            _ => all.extend((0..len).map(|_| drawn())),
        }
    }
    all
}

/// A GRU that resets before or after the product, an LSTM, an RNN and two dense layers, one after
/// another, compiled, with a call.
///
/// # Panics
/// If the model is refused.
pub fn subject(
    name: &str,
    options: &Options,
    weights: Weights,
    linear_before_reset: bool,
    batch: usize,
) -> Subject {
    let (mut file, mut call, mut random) = (ModelFile::default(), Vec::new(), Random::new(7));
    let mut tensor =
        |file: &mut ModelFile, shape: &[usize], given: bool, values: Vec<f32>| match given {
            true => {
                call.push(values);
                file.parameter("", shape)
            }
            false => file.constant(shape, Stored::F32, values.into_iter()),
        };
    let drawn = |random: &mut Random, shape: &[usize]| match shape {
        [rows_, len] => rows(random, *rows_, *len),
        _ => (0..shape.iter().product()).map(|_| unit(random) * 0.1).collect(),
    };
    let x: Vec<f32> = (0..batch * 7).map(|_| unit(&mut random)).collect();
    let mut x = tensor(&mut file, &[batch, 7], true, x);
    let given = weights != Weights::Constant;
    let of_gru = if linear_before_reset { 4 } else { 3 };
    for (kind, set, units, gates, biases) in [
        ("GRUCell", "opset3", 70, 3, of_gru),
        ("LSTMCell", "opset4", 5, 4, 4),
        ("RNNCell", "opset3", 33, 1, 1),
    ] {
        let mut ports: Vec<Port> = vec![x.clone()];
        for _ in 0..if kind == "LSTMCell" { 2 } else { 1 } {
            let state = (0..batch * units).map(|_| unit(&mut random)).collect();
            ports.push(tensor(&mut file, &[batch, units], false, state));
        }
        let shapes =
            [vec![gates * units, x.shape[1]], vec![gates * units, units], vec![biases * units]];
        for (i, shape) in shapes.iter().enumerate() {
            let given = given && (i != 1 || weights != Weights::GivenButR);
            let values = drawn(&mut random, shape);
            ports.push(tensor(&mut file, shape, given, values));
        }
        let reset = if kind == "GRUCell" {
            format!(" linear_before_reset=\"{linear_before_reset}\"")
        } else {
            String::new()
        };
        let data = format!("hidden_size=\"{units}\"{reset}");
        let states = vec![vec![batch, units]; if kind == "LSTMCell" { 2 } else { 1 }];
        x = file.operations(kind, set, &data, &ports.iter().collect::<Vec<_>>(), &states).remove(0);
        file.result(&x);
    }
    // the matrices of dense layers are constants: Parameters would be data. The first matrix has a
    // row for each input, the second a row for each output
    for (outputs, transposed) in [(9, false), (21, true)] {
        let inputs = x.shape[1];
        let mut values = drawn(&mut random, &[outputs, inputs]);
        if !transposed {
            values =
                (0..inputs * outputs).map(|k| values[k % outputs * inputs + k / outputs]).collect();
        }
        let shape = if transposed { [outputs, inputs] } else { [inputs, outputs] };
        let matrix = tensor(&mut file, &shape, false, values);
        let data = format!("transpose_a=\"false\" transpose_b=\"{transposed}\"");
        x = file.operation("MatMul", "opset1", &data, &[&x, &matrix], &[batch, outputs]);
        file.result(&x);
    }
    let model = openvino::read_bytes(
        "given.xml",
        file.text().as_bytes(),
        Some(("given.bin", file.weights)),
    )
    .unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}"))
    .model;
    let options = options.clone().with_name(Some(name.to_owned()));
    let compilation = compile(&model, &options)
        .unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}"));
    Subject { name: name.to_owned(), compilation, calls: vec![call] }
}
