//! tract, on the ONNX model that the bench wrote.

use tract_onnx::prelude::*;

use crate::{Engine, Result, Spec};

struct Tract {
    state: TypedSimpleState,
    x_shape: Vec<usize>,
    zero: Vec<TValue>,
    /// Of the last call; the last ones are the states.
    outputs: Vec<TValue>,
    /// Which the next call takes.
    states: Vec<TValue>,
}

pub(crate) fn engine(spec: &Spec) -> Result<Box<dyn Engine>> {
    let model = tract_onnx::onnx().model_for_path(spec.word("onnx")?)?.into_optimized()?;
    let zero = Tensor::zero::<f32>(&[1, spec.batch, spec.units])?;
    let zero: Vec<TValue> = (1..model.inputs.len()).map(|_| zero.clone().into()).collect();
    Ok(Box::new(Tract {
        state: model.into_runnable()?.spawn()?,
        x_shape: spec.onnx_shape()?,
        states: zero.clone(),
        zero,
        outputs: Vec::new(),
    }))
}

impl Engine for Tract {
    fn reset(&mut self) -> Result<()> {
        self.states.clone_from(&self.zero);
        Ok(())
    }

    fn call(&mut self, x: &[f32]) -> Result<()> {
        let mut inputs = tvec![Tensor::from_shape(&self.x_shape, x)?.into()];
        inputs.extend(self.states.drain(..));
        self.outputs = self.state.run(inputs)?.into_vec();
        self.states.extend_from_slice(&self.outputs[self.outputs.len() - self.zero.len()..]);
        Ok(())
    }

    fn output(&self) -> Result<Vec<f32>> {
        Ok(self.outputs[0].to_plain_array_view::<f32>()?.iter().copied().collect())
    }
}
