//! RTen, on the ONNX model that the bench wrote.

use rten::{Model, NodeId, Value, ValueOrView};
use rten_tensor::{Tensor, TensorView};

use crate::{Engine, Result, Spec};

struct Rten {
    model: Model,
    /// x first.
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
    x_shape: Vec<usize>,
    state_shape: [usize; 3],
    /// Of the last call; the last ones are the states.
    results: Vec<Value>,
}

pub(crate) fn engine(spec: &Spec) -> Result<Box<dyn Engine>> {
    let model = Model::load_file(spec.word("onnx")?)?;
    let mut engine = Rten {
        inputs: model.input_ids().to_vec(),
        outputs: model.output_ids().to_vec(),
        x_shape: spec.onnx_shape()?,
        state_shape: [1, spec.batch, spec.units],
        results: Vec::new(),
        model,
    };
    engine.reset()?;
    Ok(Box::new(engine))
}

/// In the one thread that it computes in: to hand every call over to it would take longer than a
/// small call itself.
pub(crate) fn on_its_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rten::thread_pool().run(work)
}

impl Engine for Rten {
    fn reset(&mut self) -> Result<()> {
        self.results = self.inputs[1..].iter().map(|_| Tensor::<f32>::zeros(&self.state_shape).into()).collect();
        Ok(())
    }

    fn call(&mut self, x: &[f32]) -> Result<()> {
        let x = TensorView::from_data(&self.x_shape[..], x);
        let states = self.results.split_off(self.results.len() + 1 - self.inputs.len());
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = vec![(self.inputs[0], x.into())];
        inputs.extend(self.inputs[1..].iter().copied().zip(states.into_iter().map(|state| state.into())));
        self.results = self.model.run(inputs, &self.outputs, None)?;
        Ok(())
    }

    fn output(&self) -> Result<Vec<f32>> {
        let first: TensorView<f32> = (&self.results[0]).try_into()?;
        Ok(first.iter().copied().collect())
    }
}
