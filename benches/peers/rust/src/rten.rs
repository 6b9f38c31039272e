//! RTen, on the ONNX model.

use std::error::Error;

use rten::{Model, NodeId, Value, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use crate::{Peer, Spec};

pub(crate) struct Rten {
    model: Model,
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
    x: [usize; 3],
    shapes: Vec<[usize; 3]>,
    states: Vec<Value>,
    /// Where it is no state.
    output: Option<Value>,
}

impl Rten {
    pub(crate) fn new(spec: &Spec) -> Result<Self, Box<dyn Error>> {
        let (x, shapes) = spec.onnx_shapes();
        let model = Model::load_file(spec.word("onnx"))?;
        let (inputs, outputs) = (model.input_ids().to_vec(), model.output_ids().to_vec());
        let mut peer = Self { model, inputs, outputs, x, shapes, states: Vec::new(), output: None };
        peer.reset()?;
        // what it cannot compute it says when it runs
        peer.call(&vec![0.0; x.iter().product()])?;
        peer.reset()?;
        Ok(peer)
    }
}

impl Peer for Rten {
    fn reset(&mut self) -> Result<(), Box<dyn Error>> {
        self.states = self.shapes.iter().map(|shape| NdTensor::<f32, 3>::zeros(*shape).into()).collect();
        Ok(())
    }

    fn call(&mut self, x: &[f32]) -> Result<(), Box<dyn Error>> {
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = vec![(self.inputs[0], NdTensorView::from_data(self.x, x).into())];
        for (id, state) in self.inputs[1..].iter().zip(&self.states) {
            inputs.push((*id, state.into()));
        }
        let mut results = self.model.run(inputs, &self.outputs, None)?;
        // the last outputs are the states
        self.states = results.split_off(results.len() - self.shapes.len());
        self.output = results.pop();
        Ok(())
    }

    fn output(&self) -> Result<Vec<f32>, Box<dyn Error>> {
        let value = self.output.as_ref().unwrap_or(&self.states[0]);
        let view: rten_tensor::TensorView<'_, f32> = value.try_into().map_err(|_| "the output is not f32")?;
        Ok(view.iter().copied().collect())
    }
}
