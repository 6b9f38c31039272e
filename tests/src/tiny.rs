//! Models of one construct each, as small as they can be.

use crate::model_file::{Iterated, IteratedInput, IteratedOutput, ModelFile, Port, Stored};

/// Numbers that tell the places of a tensor apart.
fn numbers(file: &mut ModelFile, shape: &[usize]) -> Port {
    let count: usize = shape.iter().product();
    file.constant(shape, Stored::F32, (0..count).map(|k| k as f32 / 8.0 - 0.5))
}

/// x, and a cell of 3 units whose states are inputs and results.
pub fn cell(kind: &str, gates: usize, attributes: &str) -> ModelFile {
    let mut file = ModelFile::default();
    let mut inputs = vec![file.parameter("x", &[1, 2]), file.parameter("h", &[1, 3])];
    if kind == "LSTMCell" {
        inputs.push(file.parameter("c", &[1, 3]));
    }
    let states = vec![vec![1, 3]; inputs.len() - 1];
    let biases = if attributes.is_empty() { gates } else { gates + 1 };
    inputs.extend(
        [&[3 * gates, 2][..], &[3 * gates, 3], &[3 * biases]]
            .map(|shape| numbers(&mut file, shape)),
    );
    let set = if kind == "LSTMCell" { "opset4" } else { "opset3" };
    let data = format!("hidden_size=\"3\" {attributes}");
    let outputs = file.operations(kind, set, &data, &inputs.iter().collect::<Vec<_>>(), &states);
    for output in &outputs {
        file.result(output);
    }
    file
}

/// Three steps of an RNN of 3 units.
pub fn sequence() -> ModelFile {
    let mut file = ModelFile::default();
    let (x, h) = (file.parameter("x", &[1, 3, 2]), file.parameter("h", &[1, 1, 3]));
    let lengths = file.integers(&[1], &[3]);
    let [w, r, b] = [&[1, 3, 2][..], &[1, 3, 3], &[1, 3]].map(|shape| numbers(&mut file, shape));
    let data = "hidden_size=\"3\" direction=\"forward\"";
    let shapes = [vec![1, 1, 3, 3], vec![1, 1, 3]];
    let outputs =
        file.operations("RNNSequence", "opset5", data, &[&x, &h, &lengths, &w, &r, &b], &shapes);
    for output in &outputs {
        file.result(output);
    }
    file
}

/// A dense layer with an activation.
pub fn head() -> ModelFile {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, 4]);
    let (w, b) = (numbers(&mut file, &[3, 4]), numbers(&mut file, &[1, 3]));
    let product = file.operation(
        "MatMul",
        "opset1",
        "transpose_a=\"false\" transpose_b=\"true\"",
        &[&x, &w],
        &[1, 3],
    );
    let sum = file.operation("Add", "opset1", "", &[&product, &b], &[1, 3]);
    let end = file.operation("ReLU", "opset1", "", &[&sum], &[1, 3]);
    file.result(&end);
    file
}

/// A TensorIterator that adds up the rows of x.
pub fn iterator() -> ModelFile {
    let mut file = ModelFile::default();
    let (x, h) = (file.parameter("x", &[4, 3]), file.parameter("h", &[1, 3]));
    let mut body = ModelFile::default();
    body.weights = std::mem::take(&mut file.weights);
    let (piece, carried) = (body.parameter("", &[1, 3]), body.parameter("", &[1, 3]));
    let sum = body.operation("Add", "opset1", "", &[&piece, &carried], &[1, 3]);
    let inputs = vec![
        IteratedInput { of: x, parameter: piece, slice: Some((0, false)), next: None },
        IteratedInput { of: h, parameter: carried, slice: None, next: Some(sum.clone()) },
    ];
    let outputs = vec![IteratedOutput { of: sum, pieces: None, shape: vec![1, 3] }];
    let outputs = file.iterator(Iterated { body, inputs, outputs, until: None });
    file.result(&outputs[0]);
    file
}
