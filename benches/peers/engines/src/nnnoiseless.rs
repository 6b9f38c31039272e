//! A GRU of nnnoiseless. Its weights have 8 bits, in units of 1/256, and its sigmoid is one of a
//! table.

use crate::rnn::{Activation, GruLayer, step};
use crate::{Engine, Result, Spec};

struct Layer {
    layer: GruLayer,
    state: Vec<f32>,
}

pub(crate) fn engine(spec: &Spec) -> Result<Box<dyn Engine>> {
    if spec.word("cell")? != "gru_before" || spec.batch * spec.steps > 1 {
        return Err("its only cell is a GRU that resets before the product, of one row and step".into());
    }
    let weights = spec.weights(3, 3)?;
    let rounded = |v: f32| (v * 256.0).round() as i8;
    // column by column
    let transposed = |matrix: &[f32], len: usize| -> Vec<i8> {
        (0..len).flat_map(|k| matrix.iter().skip(k).step_by(len)).map(|&v| rounded(v)).collect()
    };
    let layer = GruLayer {
        bias: weights.b.iter().map(|&v| rounded(v)).collect(),
        input_weights: transposed(&weights.w, spec.inputs).into(),
        recurrent_weights: transposed(&weights.r, spec.units).into(),
        nb_inputs: spec.inputs,
        nb_neurons: spec.units,
        activation: if spec.word("activations")?.contains("relu") { Activation::Relu } else { Activation::Tanh },
    };
    Ok(Box::new(Layer { layer, state: vec![0.0; spec.units] }))
}

impl Engine for Layer {
    fn reset(&mut self) -> Result<()> {
        self.state.fill(0.0);
        Ok(())
    }

    fn call(&mut self, x: &[f32]) -> Result<()> {
        step(&self.layer, &mut self.state, x);
        Ok(())
    }

    fn output(&self) -> Result<Vec<f32>> {
        Ok(self.state.clone())
    }
}
