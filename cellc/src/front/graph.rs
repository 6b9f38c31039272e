//! The graph of a model under construction, for readers and declarations.

use crate::diagnostic::Origin;
use crate::model::{
    Convolution, Dim, ElementType, Groups, LedgerEntry, Model, Node, Op, OutputSizes, Padding,
    Spelling, Tensor, Value, ValueId, Window,
};

/// A model under construction. Values and nodes are in the order of their addition.
pub(super) struct Graph {
    /// The kind of the next nodes in messages: `gru_cell!`, `GRUCell, id 8`. Nodes added by
    /// [`Self::computed`] have the name of their operation instead.
    pub(super) kind: String,
    /// Names of attributes in messages.
    spelling: &'static Spelling,
    pub(super) model: Model,
}

impl Graph {
    /// An empty graph.
    pub(super) fn new(kind: impl Into<String>, spelling: &'static Spelling) -> Self {
        Self { kind: kind.into(), spelling, model: Model::default() }
    }

    /// Adds a value.
    pub(super) fn add(&mut self, value: Value) -> ValueId {
        self.model.values.push(value);
        ValueId(self.model.values.len() - 1)
    }

    /// Adds a value of f32 with one name. `None`: the shape is inferred later.
    pub(super) fn value(
        &mut self,
        name: &str,
        shape: Option<Vec<usize>>,
        origin: &Origin,
    ) -> ValueId {
        let shape = shape.map(|shape| shape.into_iter().map(Dim::Fixed).collect());
        self.add(Value {
            names: vec![name.to_owned()],
            shape,
            element: ElementType::F32,
            origin: origin.clone(),
        })
    }

    /// The names of attributes in messages about the operations.
    pub(super) fn spelling(&self) -> &'static Spelling {
        self.spelling
    }

    /// Adds an operation. Returns its index among the nodes.
    pub(super) fn node(
        &mut self,
        name: &str,
        op: Op,
        inputs: Vec<ValueId>,
        outputs: Vec<ValueId>,
        ledger: Vec<LedgerEntry>,
        origin: &Origin,
    ) -> usize {
        let (name, kind, origin) = (name.to_owned(), self.kind.clone(), origin.clone());
        self.model.nodes.push(Node {
            name,
            kind,
            op,
            inputs,
            outputs,
            spelling: self.spelling,
            ledger,
            attribute_places: Vec::new(),
            origin,
        });
        self.model.nodes.len() - 1
    }

    /// Adds an input of type f32.
    pub(super) fn input(&mut self, name: &str, shape: Vec<usize>, origin: &Origin) -> ValueId {
        let value = self.value(name, Some(shape), origin);
        let node = self.node(name, Op::Parameter, Vec::new(), vec![value], Vec::new(), origin);
        self.model.parameters.push(node);
        value
    }

    /// Adds an output with the value `value`.
    pub(super) fn result(&mut self, name: &str, value: ValueId, origin: &Origin) {
        // generated code names the output after the value
        self.model.values[value.0].names = vec![name.to_owned()];
        let node = self.node(name, Op::Result, vec![value], Vec::new(), Vec::new(), origin);
        self.model.results.push(node);
    }

    /// Adds a constant.
    pub(super) fn constant(&mut self, name: &str, tensor: &Tensor, origin: &Origin) -> ValueId {
        let value = self.value(name, Some(tensor.shape().to_vec()), origin);
        self.model.values[value.0].element = tensor.element();
        self.node(name, Op::Constant(tensor.clone()), Vec::new(), vec![value], Vec::new(), origin);
        value
    }

    /// Adds a constant list of integers.
    pub(super) fn integers(&mut self, name: &str, values: &[usize], origin: &Origin) -> ValueId {
        let values: Vec<i64> =
            values.iter().map(|&value| i64::try_from(value).unwrap_or(i64::MAX)).collect();
        let tensor =
            Tensor::from_i64(vec![values.len()], &values).expect("a tensor of that many values");
        self.constant(name, &tensor, origin)
    }

    /// Adds an operation with one output, whose shape is inferred later. Returns the output.
    pub(super) fn computed(
        &mut self,
        name: &str,
        op: Op,
        inputs: Vec<ValueId>,
        origin: &Origin,
    ) -> ValueId {
        let value = self.value(name, None, origin);
        let kind = op.facts().name.to_owned();
        let node = self.node(name, op, inputs, vec![value], Vec::new(), origin);
        self.model.nodes[node].kind = kind;
        value
    }

    /// Adds a permutation of axes: axis i of the result is axis `order[i]` of `value`.
    pub(super) fn transposed(
        &mut self,
        name: &str,
        value: ValueId,
        order: &[usize],
        origin: &Origin,
    ) -> ValueId {
        let order = self.integers(&format!("{name}_order"), order, origin);
        self.computed(name, Op::Transpose, vec![value, order], origin)
    }

    /// Adds a reshape.
    pub(super) fn reshaped(
        &mut self,
        name: &str,
        value: ValueId,
        shape: Vec<usize>,
        origin: &Origin,
    ) -> ValueId {
        let shape = self.integers(&format!("{name}_shape"), &shape, origin);
        self.computed(name, Op::Reshape { zero_keeps: false }, vec![value, shape], origin)
    }

    /// Adds a convolution over the last axis without padding. `operands`: data `[N, C, T]`, weights
    /// `[M, C / groups, K]`, optional bias `[M]`.
    pub(super) fn convolved(
        &mut self,
        name: &str,
        operands: Vec<ValueId>,
        [dilation, groups]: [usize; 2],
        origin: &Origin,
    ) -> ValueId {
        let window = Window {
            strides: Vec::new(),
            dilations: vec![dilation],
            padding: Padding::Explicit { begin: Vec::new(), end: Vec::new() },
        };
        self.convolved_in(name, operands, (window, groups), origin)
    }

    /// Adds a convolution over the axes of a window. `operands`: data `[N, C, ..]`, weights
    /// `[M, C / groups, ..]`, optional bias `[M]`.
    pub(super) fn convolved_in(
        &mut self,
        name: &str,
        operands: Vec<ValueId>,
        (window, groups): (Window, usize),
        origin: &Origin,
    ) -> ValueId {
        let op = Op::Convolution(Box::new(Convolution {
            kernel: Vec::new(),
            window,
            groups: Groups::Count(groups as i64),
            transposed: false,
            output_padding: Vec::new(),
            output_sizes: OutputSizes::Follow,
        }));
        self.computed(name, op, operands, origin)
    }

    /// Adds a variable: a state in the generated type. Without `initial` the variable starts at
    /// zero.
    pub(super) fn variable(
        &mut self,
        name: &str,
        shape: Vec<usize>,
        initial: Option<&Tensor>,
        origin: &Origin,
    ) -> ValueId {
        let inputs =
            initial.map(|tensor| self.constant(&format!("{name}_initial"), tensor, origin));
        let value = self.value(name, Some(shape), origin);
        let op = Op::ReadValue { variable: name.to_owned(), shape: None, element: None };
        self.node(name, op, inputs.into_iter().collect(), vec![value], Vec::new(), origin);
        value
    }

    /// Sets the next value of the variable `name`.
    pub(super) fn assign(&mut self, name: &str, next: ValueId, origin: &Origin) {
        let (name, variable) = (format!("{name}_next"), name.to_owned());
        let passed_on = self.value(&name, None, origin);
        self.node(&name, Op::Assign { variable }, vec![next], vec![passed_on], Vec::new(), origin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::free_run::measure;
    use crate::model::{Activation, Cell, CellKind, Direction, ResetGate};
    use crate::reference::reference;
    use crate::request::Options;

    const HIDDEN: usize = 3;

    /// Weights of the given directions. Every direction has other weights.
    fn weights(directions: std::ops::Range<usize>, sizes: &[usize]) -> Tensor {
        let len: usize = sizes.iter().product();
        let values: Vec<f32> = (len * directions.start..len * directions.end)
            .map(|i| ((i * 37 + sizes.len() * 11) % 64) as f32 / 64.0 - 0.5)
            .collect();
        Tensor::from_f32([&[directions.len()], sizes].concat(), &values).expect("as many values")
    }

    /// A GRU of one row and 4 steps, with the weights of its directions.
    fn gru(direction: Direction, activations: &[Activation]) -> Model {
        let at = &Origin::Unknown;
        let mut graph = Graph::new("GRU", &Spelling::OWN);
        let x = graph.input("x", vec![1, 4, 2], at);
        let sets = match direction {
            Direction::Forward => 0..1,
            Direction::Reverse => 1..2,
            Direction::Bidirectional => 0..2,
        };
        let h = graph.constant("h", &weights(sets.clone(), &[1, HIDDEN]), at);
        let h = graph.reshaped("h_by_row", h, vec![1, sets.len(), HIDDEN], at);
        let lengths = graph.integers("lengths", &[4], at);
        let sizes: [&[usize]; 3] = [&[3 * HIDDEN, 2], &[3 * HIDDEN, HIDDEN], &[3 * HIDDEN]];
        let [w, r, b] =
            sizes.map(|sizes| graph.constant("weights", &weights(sets.clone(), sizes), at));
        let cell = Cell {
            activations: activations.to_vec(),
            ..Cell::new(CellKind::Gru(ResetGate::BeforeMatMul), HIDDEN)
        };
        let outputs = ["y", "h_out"].map(|name| graph.value(name, None, at));
        graph.node(
            "gru",
            Op::Sequence(cell, direction),
            vec![x, h, lengths, w, r, b],
            outputs.to_vec(),
            Vec::new(),
            at,
        );
        graph.result("y", outputs[0], at);
        graph.model
    }

    #[test]
    fn directions_have_activations_of_their_own() {
        let forward = [Activation::Sigmoid, Activation::Tanh];
        let reverse = [Activation::HardSigmoid { alpha: 0.3, beta: 0.4 }, Activation::Softsign];
        let x = vec![vec![0.5, -1.0, 0.25, 0.75, -0.5, 0.125, 1.0, -0.25]];
        let compiled = |direction, activations: &[Activation]| {
            compile(&gru(direction, activations), &Options::default())
                .unwrap_or_else(|refused| panic!("{refused}"))
        };
        let y = |direction, activations: &[Activation]| {
            reference(&compiled(direction, activations).model, &x, &[]).results.swap_remove(0)
        };
        let activations = [forward, reverse].concat();
        let wanted = [y(Direction::Forward, &forward), y(Direction::Reverse, &reverse)].concat();
        assert_eq!(y(Direction::Bidirectional, &activations), wanted);
        assert_ne!(y(Direction::Bidirectional, &forward), wanted);

        let compilation = compiled(Direction::Bidirectional, &activations);
        for at in 0..compilation.program.bodies.len() {
            let body = compilation.program.body(at);
            let run =
                measure(&compilation.model, body, &compilation.precisions, Default::default())
                    .expect("it is small");
            assert!(run.results[0].largest() > 0.1 && run.results[0].error < 1e-6, "{at}: {run:?}");
        }
        // a layer with one direction refuses the second half of the activations
        assert!(compile(&gru(Direction::Forward, &activations), &Options::default()).is_err());
    }
}
