//! The definition of every cell in float64, written to be read: what generated code is measured against.

use crate::activation::exact;
use crate::model::{ResetGate, Source, ValidCell, ValidModel, WeightSource};

/// The results of one step, each in C order, given every parameter of the model in C order.
///
/// Constants are taken as the f32 that kernels compute with; from there on everything is float64.
///
/// # Panics
/// If there are not as many parameters, or elements of one, as the model has.
pub fn reference(model: &ValidModel, parameters: &[Vec<f64>]) -> Vec<Vec<f64>> {
    assert_eq!(parameters.len(), model.parameters.len(), "a value for every parameter");
    for (parameter, values) in model.parameters.iter().zip(parameters) {
        assert_eq!(values.len(), parameter.shape.iter().product(), "elements of {:?}", parameter.names);
    }
    let constant = |i: usize| -> Vec<f64> {
        let tensor = &model.constants[i];
        (0..tensor.len()).map(|i| f64::from(tensor.get_f32(i))).collect()
    };
    let weight = |source: WeightSource, len: usize| match source {
        WeightSource::Constant(i) => constant(i),
        WeightSource::Parameter(i) => parameters[i].clone(),
        WeightSource::Zero => vec![0.0; len],
    };
    let mut states: Vec<Vec<f64>> = Vec::new();
    let value = |source: Source, states: &[Vec<f64>]| match source {
        Source::Parameter(i) => parameters[i].clone(),
        Source::Constant(i) => constant(i),
        Source::Value(i) => states[i].clone(),
        Source::Variable(_) => unreachable!("reference: a model without variables"),
    };
    for cell in model.cells() {
        let rows = cell.kind.gates() * cell.hidden_size;
        let weights = Weights {
            w: weight(cell.w, rows * cell.input_size),
            r: weight(cell.r, rows * cell.hidden_size),
            b: weight(cell.b, cell.kind.bias_parts() * cell.hidden_size),
        };
        let (x, h) = (value(cell.x, &states), value(cell.h, &states));
        let rows = x.chunks_exact(cell.input_size).zip(h.chunks_exact(cell.hidden_size));
        states.push(rows.flat_map(|(x, h)| step(cell, &weights, x, h)).collect());
    }
    model.results.iter().map(|result| value(result.source, &states)).collect()
}

struct Weights {
    /// `[G*H, I]`
    w: Vec<f64>,
    /// `[G*H, H]`
    r: Vec<f64>,
    /// `[bias_parts*H]`
    b: Vec<f64>,
}

/// One row of the batch: the new h.
fn step(cell: &ValidCell, weights: &Weights, x: &[f64], h: &[f64]) -> Vec<f64> {
    let units = cell.hidden_size;
    // gate `g` of W x, of R v, and part `g` of B, for every unit
    let wx = |g: usize| product(&weights.w[g * units * x.len()..][..units * x.len()], x);
    let rv = |g: usize, v: &[f64]| product(&weights.r[g * units * units..][..units * units], v);
    let b = |g: usize| weights.b[g * units..][..units].to_vec();
    let clip = |v: f64| cell.clip.map_or(v, |c| v.clamp(-f64::from(c), f64::from(c)));
    let f = |v: f64| exact(cell.activations[0], clip(v));

    // f(clip(W x + R h + B)): the RNN, and the update and reset gates of a GRU
    let gate = |g: usize| -> Vec<f64> {
        let (wx, rh, b) = (wx(g), rv(g, h), b(g));
        (0..units).map(|j| f(wx[j] + rh[j] + b[j])).collect()
    };
    let Some(reset) = cell.kind.reset_gate() else { return gate(0) };

    let g = |v: f64| exact(cell.activations[1], clip(v));
    let (z, r) = (gate(0), gate(1));
    let n: Vec<f64> = match reset {
        // g(clip(Wh x + Rh (r.h) + Bh))
        ResetGate::BeforeMatMul => {
            let reset_h: Vec<f64> = r.iter().zip(h).map(|(r, h)| r * h).collect();
            let (wx, rh, b) = (wx(2), rv(2, &reset_h), b(2));
            (0..units).map(|j| g(wx[j] + rh[j] + b[j])).collect()
        }
        // g(clip(Wh x + Wbh + r.(Rh h + Rbh)))
        ResetGate::AfterMatMul => {
            let (wx, rh, wb, rb) = (wx(2), rv(2, h), b(2), b(3));
            (0..units).map(|j| g(wx[j] + wb[j] + r[j] * (rh[j] + rb[j]))).collect()
        }
    };
    (0..units).map(|j| (1.0 - z[j]) * n[j] + z[j] * h[j]).collect()
}

/// Matrix times vector, the matrix row by row.
fn product(matrix: &[f64], v: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(v.len()).map(|row| row.iter().zip(v).map(|(m, v)| m * v).sum()).collect()
}

#[cfg(all(test, feature = "openvino"))]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::reference;
    use crate::front::openvino;
    use crate::model::Dim;
    use crate::options::Options;
    use crate::validate::validate;

    /// The numbers of a raw little-endian file, of `N` bytes each.
    fn numbers<const N: usize>(path: &Path, convert: impl Fn([u8; N]) -> f64) -> Option<Vec<f64>> {
        let bytes = fs::read(path).ok()?;
        Some(bytes.chunks_exact(N).map(|b| convert(b.try_into().expect("a chunk of N bytes"))).collect())
    }

    /// Every corpus case against the float64 results that are stored with it, which another program computed.
    #[test]
    fn agrees_with_the_oracle_of_the_corpus() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus");
        let cases = fs::read_dir(corpus).expect("the corpus").map(|entry| entry.expect("an entry").path());
        let cases: Vec<PathBuf> = cases.filter(|p| p.join("model.xml").exists()).collect();
        assert!(cases.len() >= 15, "{} cases", cases.len());
        for case in cases {
            let (model, _) = openvino::read(&case.join("model.xml"), None).expect("a model that can be read");
            let mut runs = 0;
            while let Some(first) = numbers(&case.join(format!("r{runs}_in0.bin")), f32_number) {
                // the batch, where the model leaves it open, as this run has it
                let x = &model.values[model.nodes[model.parameters[0]].outputs[0].0];
                let options = match x.shape.as_deref() {
                    Some([Dim::Dynamic { .. }, Dim::Fixed(row)]) => {
                        Options { batch: Some(first.len() / row), ..Options::default() }
                    }
                    _ => Options::default(),
                };
                let (model, _) = validate(&model, &options).expect("a model that is valid");
                let input = |i| numbers(&case.join(format!("r{runs}_in{i}.bin")), f32_number).expect("an input");
                let results = reference(&model, &(0..model.parameters.len()).map(input).collect::<Vec<_>>());
                for (i, result) in results.iter().enumerate() {
                    let file = case.join(format!("r{runs}_ref{i}.bin"));
                    let oracle = numbers(&file, f64::from_le_bytes).expect("a stored result");
                    assert_eq!(result.len(), oracle.len(), "{}", file.display());
                    let error = result.iter().zip(&oracle).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(error < 1e-12, "{}: {error:e}", file.display());
                }
                runs += 1;
            }
            assert!(runs > 0, "{} has no runs", case.display());
        }
    }

    fn f32_number(bytes: [u8; 4]) -> f64 {
        f64::from(f32::from_le_bytes(bytes))
    }
}
