//! A graph of what is declared, built node by node.

use crate::diagnostic::Origin;
use crate::model::{Dim, ElementType, Elementwise, Model, Node, Op, Tensor, Value, ValueId};

/// A model under construction; values and nodes in the order in which they are added.
pub(super) struct Graph {
    declared_by: &'static str,
    pub(super) model: Model,
}

impl Graph {
    /// An empty one; `declared_by` is what diagnostics call its nodes.
    pub(super) fn new(declared_by: &'static str) -> Self {
        Self { declared_by, model: Model::default() }
    }

    pub(super) fn value(&mut self, name: &str, shape: Option<Vec<usize>>, origin: &Origin) -> ValueId {
        self.model.values.push(Value {
            names: vec![name.to_owned()],
            shape: shape.map(|shape| shape.into_iter().map(Dim::Fixed).collect()),
            element: ElementType::F32,
            origin: origin.clone(),
        });
        ValueId(self.model.values.len() - 1)
    }

    pub(super) fn node(&mut self, name: &str, op: Op, inputs: Vec<ValueId>, outputs: Vec<ValueId>, origin: &Origin) {
        let kind = self.declared_by.to_owned();
        self.model.nodes.push(Node {
            name: name.to_owned(),
            kind,
            op,
            inputs,
            outputs,
            ledger: Vec::new(),
            origin: origin.clone(),
        });
    }

    pub(super) fn input(&mut self, name: &str, shape: Vec<usize>, origin: &Origin) -> ValueId {
        let value = self.value(name, Some(shape), origin);
        self.model.parameters.push(self.model.nodes.len());
        self.node(name, Op::Parameter, Vec::new(), vec![value], origin);
        value
    }

    pub(super) fn result(&mut self, name: &str, value: ValueId, origin: &Origin) {
        // a value's own name is what the generated code calls it
        self.model.values[value.0].names = vec![name.to_owned()];
        self.model.results.push(self.model.nodes.len());
        self.node(name, Op::Result, vec![value], Vec::new(), origin);
    }

    pub(super) fn constant(&mut self, name: &str, tensor: &Tensor, origin: &Origin) -> ValueId {
        let value = self.value(name, Some(tensor.shape().to_vec()), origin);
        self.model.values[value.0].element = tensor.element();
        self.node(name, Op::Constant(tensor.clone()), Vec::new(), vec![value], origin);
        value
    }

    pub(super) fn integers(&mut self, name: &str, values: &[usize], origin: &Origin) -> ValueId {
        let values: Vec<i64> = values.iter().map(|&value| i64::try_from(value).unwrap_or(i64::MAX)).collect();
        let tensor = Tensor::from_i64(vec![values.len()], &values).expect("a tensor of that many values");
        self.constant(name, &tensor, origin)
    }

    /// What an operation on one or more values gives, its shape left to be found.
    pub(super) fn computed(&mut self, name: &str, op: Op, inputs: Vec<ValueId>, origin: &Origin) -> ValueId {
        let value = self.value(name, None, origin);
        let kind = match &op {
            Op::Transpose => "Transpose",
            Op::Reshape { .. } => "Reshape",
            Op::MatMul { .. } => "MatMul",
            Op::Elementwise(Elementwise::Add) => "Add",
            Op::Elementwise(Elementwise::Multiply) => "Multiply",
            Op::Elementwise(Elementwise::Activation(activation)) => activation.name(),
            _ => self.declared_by,
        };
        self.node(name, op, inputs, vec![value], origin);
        if let Some(node) = self.model.nodes.last_mut() {
            node.kind = kind.to_owned();
        }
        value
    }

    pub(super) fn transposed(&mut self, name: &str, value: ValueId, order: &[usize], origin: &Origin) -> ValueId {
        let order = self.integers(&format!("{name}_order"), order, origin);
        self.computed(name, Op::Transpose, vec![value, order], origin)
    }

    pub(super) fn reshaped(&mut self, name: &str, value: ValueId, shape: Vec<usize>, origin: &Origin) -> ValueId {
        let shape = self.integers(&format!("{name}_shape"), &shape, origin);
        self.computed(name, Op::Reshape { special_zero: false }, vec![value, shape], origin)
    }

    /// A state that the type holds; without `initial` it is zero at first.
    pub(super) fn variable(
        &mut self,
        name: &str,
        shape: Vec<usize>,
        initial: Option<&Tensor>,
        origin: &Origin,
    ) -> ValueId {
        let inputs = initial.map(|tensor| self.constant(&format!("{name}_initial"), tensor, origin));
        let value = self.value(name, Some(shape), origin);
        let op = Op::ReadValue { variable: name.to_owned(), shape: None, element: None };
        self.node(name, op, inputs.into_iter().collect(), vec![value], origin);
        value
    }

    pub(super) fn assign(&mut self, name: &str, next: ValueId, origin: &Origin) {
        let passed_on = self.value(&format!("{name}_next"), None, origin);
        self.node(
            &format!("{name}_next"),
            Op::Assign { variable: name.to_owned() },
            vec![next],
            vec![passed_on],
            origin,
        );
    }
}
