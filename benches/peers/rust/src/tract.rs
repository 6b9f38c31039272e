//! tract, on the ONNX model.

use std::error::Error;
use std::sync::Arc;

use tract_onnx::prelude::*;

use crate::{Peer, Spec};

pub(crate) struct Tract {
    model: Arc<TypedSimplePlan>,
    x: [usize; 3],
    zero: Vec<TValue>,
    states: Vec<TValue>,
    output: TValue,
}

impl Tract {
    pub(crate) fn new(spec: &Spec) -> Result<Self, Box<dyn Error>> {
        let (x, shapes) = spec.onnx_shapes();
        let model = tract_onnx::onnx().model_for_path(spec.word("onnx"))?.into_optimized()?.into_runnable()?;
        let zero = shapes.iter().map(|shape| Ok(Tensor::zero::<f32>(shape)?.into())).collect::<TractResult<Vec<TValue>>>()?;
        Ok(Self { model, x, states: zero.clone(), output: zero[0].clone(), zero })
    }
}

impl Peer for Tract {
    fn reset(&mut self) -> Result<(), Box<dyn Error>> {
        self.states.clone_from(&self.zero);
        Ok(())
    }

    fn call(&mut self, x: &[f32]) -> Result<(), Box<dyn Error>> {
        let mut inputs: TVec<TValue> = tvec![Tensor::from_shape(&self.x, x)?.into()];
        inputs.extend(self.states.drain(..));
        let outputs = self.model.run(inputs)?;
        self.output = outputs[0].clone();
        // the last outputs are the states
        self.states.extend(outputs.into_iter().rev().take(self.zero.len()));
        self.states.reverse();
        Ok(())
    }

    fn output(&self) -> Result<Vec<f32>, Box<dyn Error>> {
        Ok(self.output.to_plain_array_view::<f32>()?.iter().copied().collect())
    }
}
