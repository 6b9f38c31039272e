//! Models written out by hand, for tests.

use crate::core::{
    CoreModel, CoreNode, CoreOp, CoreValue, LayerPlace, Lengths, Parameter, Pointwise,
    PointwiseFunction, ResultValue, Sequence, Source, Variable, WeightSource,
};
use crate::model::{Activation, ElementType, Tensor};

/// A model that is being written.
#[derive(Default)]
pub(crate) struct Written(pub(crate) CoreModel);

impl Written {
    pub(crate) fn parameter(&mut self, shape: &[usize]) -> Source {
        let (names, shape) = (Vec::new(), shape.to_vec());
        self.0.parameters.push(Parameter {
            names,
            shape,
            element: ElementType::F32,
            weight: false,
            length: None,
            rows: None,
        });
        Source::Parameter(self.0.parameters.len() - 1)
    }

    /// Sequence lengths, up to `most`.
    pub(crate) fn lengths(&mut self, batch: usize, most: usize) -> Lengths {
        let (names, shape) = (Vec::new(), vec![batch]);
        let length = Some(most);
        self.0.parameters.push(Parameter {
            names,
            shape,
            element: ElementType::I64,
            weight: false,
            length,
            rows: None,
        });
        Lengths::Parameter(self.0.parameters.len() - 1)
    }

    pub(crate) fn constant(&mut self, shape: &[usize], values: &[f32]) -> usize {
        let tensor =
            Tensor::from_f32(shape.to_vec(), values).expect("as many values as the shape needs");
        self.0.constants.push(tensor);
        self.0.constants.len() - 1
    }

    pub(crate) fn weight(&mut self, shape: &[usize], values: &[f32]) -> WeightSource {
        WeightSource::Constant(self.constant(shape, values))
    }

    pub(crate) fn variable(&mut self, shape: &[usize], initial: Option<usize>) -> usize {
        let (name, shape) = (format!("v{}", self.0.variables.len()), shape.to_vec());
        self.0.variables.push(Variable { name, shape, initial, next: None, history: None });
        self.0.variables.len() - 1
    }

    pub(crate) fn value(&mut self, shape: &[usize]) -> usize {
        self.0.values.push(CoreValue { shape: shape.to_vec() });
        self.0.values.len() - 1
    }

    pub(crate) fn push(&mut self, op: CoreOp) {
        self.0.nodes.push(node(op));
    }

    pub(crate) fn pointwise(
        &mut self,
        function: PointwiseFunction,
        inputs: &[Source],
        shape: &[usize],
    ) -> Source {
        let out = self.value(shape);
        self.push(CoreOp::Pointwise(Pointwise { function, inputs: inputs.to_vec(), out }));
        Source::Value(out)
    }

    pub(crate) fn result(&mut self, source: Source) {
        let (names, shape) = (Vec::new(), self.0.shape(source).to_vec());
        self.0.results.push(ResultValue {
            names,
            shape,
            element: ElementType::F32,
            source,
            parts: None,
        });
    }
}

pub(crate) fn node(op: CoreOp) -> CoreNode {
    CoreNode {
        name: String::new(),
        kind: String::new(),
        op,
        ledger: Vec::new(),
        layer: LayerPlace::default(),
    }
}

/// `n` activations that leave positive numbers unchanged, so that sums can be computed by hand.
pub(crate) fn relus(n: usize) -> Vec<Activation> {
    vec![Activation::Relu; n]
}

pub(crate) fn sequence(steps: usize, reverse: bool, lengths: Lengths) -> Option<Sequence> {
    Some(Sequence { steps, reverse, lengths })
}
