//! A stack of layers: an amplifier model, or declared layers, if there are several or if one has a
//! dense layer or a skip connection.
//!
//! The inputs are x, and weights unless constant. There is one output. The states are variables of
//! the generated type, which start at zero or at given values. A layer with a direction other than
//! forward starts every call with its initial states.

use super::causal_conv::CausalConv;
use super::graph::Graph;
use super::keys::Key;
use super::keys::Spanned;
use super::layer::{Declared, StackPlace};
use super::layout::{Framework, WeightSet, convert};
use super::state_delay::StateDelay;
use super::weights::Baked;
use super::weights::DenseLayer;
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin, message};
use crate::model::{
    Activation, Binary, Elementwise, InputFile, Model, Op, Primitive, Softmax, Spelling, Tensor,
    ValueId, counted, shape_text,
};

#[derive(Clone, Debug, PartialEq)]
enum StackLayer {
    /// One recurrent layer, with constant weights or weights given at run time.
    Recurrent(Box<Declared>),
    Dense(DenseLayer),
    /// A function of each value.
    Activation(Activation),
    /// Softmax over the values.
    Softmax,
    Convolution(CausalConv),
    /// A factor and an addend for each value, each `[units]`.
    Scale([Tensor; 2]),
    /// PReLU: one slope for each unit, `[units]`.
    PRelu(Tensor),
}

/// A stack of layers, each of which reads the output of the previous one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stack {
    /// The stack's name in messages: `gru_cell!`, `net.nam`.
    declared_by: &'static str,
    /// The name of the generated type.
    name: Spanned<String>,
    input_size: Spanned<usize>,
    /// Batch size. `None`: 1.
    rows: Option<Spanned<usize>>,
    /// Number of steps per call. `None`: one step without an axis of steps.
    steps: Option<Spanned<usize>>,
    layers: Vec<StackLayer>,
    /// True if the signals of x are added to the output of the last layer. `None`: false.
    pub(crate) skip: Option<Spanned<bool>>,
    /// Number of signals, which are the first inputs. The other inputs are controls, to which gains
    /// and the skip connection do not apply.
    pub(crate) signals: usize,
    /// Gain of the signals, applied before the layers and the skip connection. `None`: 1.
    pub(crate) input_gain: Option<f32>,
    /// Gain of the output, applied after the layers and the skip connection. `None`: 1.
    pub(crate) output_gain: Option<f32>,
    /// The file with the weights.
    pub(crate) file: Option<InputFile>,
    /// The delay of the states of the recurrent layers.
    pub(crate) state_delay: StateDelay,
}

/// An error in a size.
fn wrong_size(origin: &Origin, found: String, valid: String) -> Diagnostic {
    Diagnostic::error(origin.clone(), found).valid(valid)
}

impl Stack {
    /// A stack without layers.
    pub(crate) fn new(
        declared_by: &'static str,
        name: Spanned<String>,
        input_size: Spanned<usize>,
        rows: Option<Spanned<usize>>,
        steps: Option<Spanned<usize>>,
    ) -> Self {
        Self {
            declared_by,
            name,
            signals: input_size.value,
            input_size,
            rows,
            steps,
            layers: Vec::new(),
            skip: None,
            input_gain: None,
            output_gain: None,
            file: None,
            state_delay: StateDelay::ONE,
        }
    }

    /// Adds a recurrent layer with weights of one direction in the layout of `framework`.
    /// `initial`: h, then c, each `[hidden_size]`; zero if empty. The layer's batch size, steps and
    /// weights are replaced.
    ///
    /// # Errors
    /// If a tensor does not fit, or `framework` has no such layer.
    pub(crate) fn add_recurrent(
        &mut self,
        mut layer: Declared,
        framework: Framework,
        weights: WeightSet,
        initial: Vec<Tensor>,
    ) -> Result<(), Diagnostics> {
        let origin = layer.hidden_size.origin.clone();
        let wrong = layer.computed_as_by(framework, &origin);
        if wrong.has_errors() {
            return Err(wrong);
        }
        for (key, size) in [(Key::Batch, &self.rows), (Key::Steps, &self.steps)] {
            match size {
                Some(size) => layer.keys.set(key, size.clone()),
                None => layer.keys.remove(key),
            }
        }
        let mut weights = convert(framework, layer.wanted(0), &[weights])?;
        weights.initial = initial;
        let taken = format!("in the order of {}", framework.name());
        let baked = Baked { layers: vec![weights], meaning: taken, ..Baked::default() };
        layer.weights = Some(Spanned { value: baked, origin });
        self.push_recurrent(layer);
        Ok(())
    }

    /// Adds a recurrent layer with the batch size and steps of the stack.
    pub(super) fn push_recurrent(&mut self, layer: Declared) {
        self.layers.push(StackLayer::Recurrent(Box::new(layer)));
    }

    /// Adds a dense layer.
    pub(crate) fn push_dense(&mut self, layer: DenseLayer) {
        self.layers.push(StackLayer::Dense(layer));
    }

    /// Adds a function of each value.
    pub(crate) fn push_activation(&mut self, activation: Activation) {
        self.layers.push(StackLayer::Activation(activation));
    }

    /// Adds a convolution over the steps.
    pub(crate) fn push_convolution(&mut self, layer: CausalConv) {
        self.layers.push(StackLayer::Convolution(layer));
    }

    /// Number of values of earlier steps that the convolutions keep for each row, all layers
    /// together.
    pub(crate) fn past(&self) -> u64 {
        let kept = |layer: &StackLayer| match layer {
            StackLayer::Convolution(convolution) => convolution.kept(),
            _ => 0,
        };
        self.layers.iter().map(kept).fold(0, u64::saturating_add)
    }

    /// Adds a factor and an addend for each value.
    pub(crate) fn push_scale(&mut self, factors: Tensor, addends: Tensor) {
        self.layers.push(StackLayer::Scale([factors, addends]));
    }

    /// Adds a PReLU with one slope for each unit.
    pub(crate) fn push_prelu(&mut self, slopes: Tensor) {
        self.layers.push(StackLayer::PRelu(slopes));
    }

    /// Adds softmax over the values.
    pub(crate) fn push_softmax(&mut self) {
        self.layers.push(StackLayer::Softmax);
    }

    /// The numbers of values that a layer reads and gives. `None` if the layer takes any number, or
    /// after an error.
    fn sizes(
        &self,
        number: usize,
        layer: &StackLayer,
        problems: &mut Diagnostics,
    ) -> Option<[usize; 2]> {
        let name = &self.name.origin;
        match layer {
            StackLayer::Recurrent(layer) => {
                let row = layer.hidden_size.value.saturating_mul(layer.direction().count());
                let sets = layer.weights.iter().flat_map(|said| &said.value.layers);
                let initial = sets.flat_map(|set| &set.initial);
                problems.0.extend(initial.filter(|state| state.len() != row).map(|state| {
                    let count = state.len();
                    let found = format!("an initial state of layer {number} has {count} values");
                    let valid = format!("{row} values, one for each state");
                    wrong_size(&layer.hidden_size.origin, found, valid)
                }));
                Some([layer.input_size.value, row])
            }
            StackLayer::Dense(DenseLayer { weight, bias, .. }) => {
                let &[outputs, inputs] = weight.shape() else {
                    let shape = shape_text(weight.shape());
                    let found = format!("the weight of layer {number} has the shape {shape}");
                    problems.push(wrong_size(name, found, "[outputs, inputs]".to_owned()));
                    return None;
                };
                if let Some(bias) = bias.as_ref().filter(|bias| bias.shape() != [outputs]) {
                    let shape = shape_text(bias.shape());
                    let found = format!("the bias of layer {number} has the shape {shape}");
                    problems.push(wrong_size(name, found, shape_text(&[outputs])));
                }
                Some([inputs, outputs])
            }
            StackLayer::Convolution(conv) => Some(conv.sizes()),
            StackLayer::Scale(_)
            | StackLayer::PRelu(_)
            | StackLayer::Activation(_)
            | StackLayer::Softmax => None,
        }
    }

    /// The errors in sizes. `skip`: the setting or the key of [`Self::skip`] in messages.
    fn problems(&self, skip: impl Into<Message>) -> Diagnostics {
        let skip: Message = skip.into();
        let mut problems = Diagnostics::default();
        let mut before = self.input_size.value;
        for (number, layer) in self.layers.iter().enumerate() {
            let Some([reads, gives]) = self.sizes(number, layer, &mut problems) else { continue };
            if reads != before {
                let found = format!("layer {number} reads {reads} values, and is given {before}");
                let origin = match layer {
                    StackLayer::Recurrent(layer) => &layer.input_size.origin,
                    _ => &self.name.origin,
                };
                problems.push(wrong_size(origin, found, format!("{before} values")));
            }
            before = gives;
        }
        if let Some(said) = self.skip.as_ref().filter(|said| said.value)
            && before != self.signals
        {
            let found = message!(
                "{} adds {} to {}",
                skip,
                counted(self.signals, "input"),
                counted(before, "output")
            );
            let problem = Diagnostic::error(said.origin.clone(), found);
            problems.push(problem.valid("as many inputs as outputs"));
        }
        problems
    }

    /// The model, or errors in sizes. Inputs: x `[N, I]` (a sequence: `[N, T, I]`), a of an AUGRU,
    /// and weights unless constant. Output: `[N, O]` (`[N, T, O]`) of a dense layer or with a skip
    /// connection, else the output of [`Declared::model`]. `skip`: the setting or the key of
    /// [`Self::skip`].
    pub(crate) fn model(&self, skip: impl Into<Message>) -> Result<Model, Diagnostics> {
        let problems = self.problems(skip);
        if problems.has_errors() {
            return Err(problems);
        }
        let origin = &self.name.origin;
        let mut graph = Graph::new(self.declared_by, &Spelling::OWN);
        let steps = self.steps.as_ref().map(|said| said.value);
        let shape = [Some(self.batch()), steps, Some(self.input_size.value)];
        let shape = shape.into_iter().flatten().collect();
        let x = graph.input("x", shape, &self.input_size.origin);
        let factors = self.input_gain.map(|gain| self.input_factors(gain));
        let x = gain(&mut graph, "input_gain", x, factors, origin);
        let mut chain = Chain::new(self, graph, x);
        self.layers.iter().for_each(|layer| chain.push(layer));
        if self.skip.as_ref().is_some_and(|said| said.value) {
            chain.sort_by_row();
            let signals = self.signals_of(&mut chain.graph, x);
            let add = Op::elementwise(Binary::Add);
            chain.out = chain.graph.computed("skip", add, vec![chain.out, signals], origin);
        }
        let Chain { mut graph, out, .. } = chain;
        let factor = self.output_gain.map(|gain| vec![gain]);
        let out = gain(&mut graph, "output_gain", out, factor, origin);
        graph.result("out", out, origin);
        graph.model.name = Some(self.name.value.clone());
        graph.model.files.extend(self.file.clone());
        Ok(graph.model)
    }

    /// The factors of the inputs for a gain of the signals: one for all, or one for each.
    fn input_factors(&self, gain: f32) -> Vec<f32> {
        match self.input_size.value {
            inputs if inputs == self.signals => vec![gain],
            inputs => (0..inputs).map(|at| if at < self.signals { gain } else { 1.0 }).collect(),
        }
    }

    /// The signals of x `[N, I]`.
    fn signals_of(&self, graph: &mut Graph, x: ValueId) -> ValueId {
        if self.signals == self.input_size.value {
            return x;
        }
        let origin = &self.name.origin;
        let bounds = [("first", 0), ("end", self.signals), ("stride", 1), ("axis", 1)];
        let bounds =
            bounds.map(|(part, at)| graph.integers(&format!("signals_{part}"), &[at], origin));
        let operands = [&[x][..], &bounds].concat();
        graph.computed("signals", Op::Slice, operands, origin)
    }

    /// The batch size.
    fn batch(&self) -> usize {
        self.rows.as_ref().map_or(1, |said| said.value)
    }

    /// True if several layers are of a kind.
    fn has_several(&self, kind: fn(&StackLayer) -> bool) -> bool {
        self.layers.iter().filter(|layer| kind(layer)).count() > 1
    }
}

/// Multiplies a value by factors along the last axis, or by one. `None`: the value stays unchanged.
fn gain(
    graph: &mut Graph,
    name: &str,
    value: ValueId,
    factors: Option<Vec<f32>>,
    origin: &Origin,
) -> ValueId {
    let Some(factors) = factors else { return value };
    let factor = Tensor::from_f32(vec![factors.len()], &factors).expect("as many values");
    let factor = graph.constant(&format!("{name}_factor"), &factor, origin);
    graph.computed(name, Op::elementwise(Binary::Multiply), vec![value, factor], origin)
}

/// The layers of a stack, one after the other, as a graph.
struct Chain<'s> {
    stack: &'s Stack,
    graph: Graph,
    /// The output of the last layer.
    out: ValueId,
    /// The last layer, if recurrent, until [`Self::sort_by_row`] has reordered its output.
    last: Option<&'s Declared>,
    /// The number of the next recurrent layer.
    recurrent: usize,
    /// The number of the next dense layer.
    dense: usize,
    /// The number of the next convolution.
    convolutions: usize,
    /// True if names of recurrent layers have numbers.
    several_recurrent: bool,
    /// True if names of dense layers have numbers.
    several_dense: bool,
}

impl<'s> Chain<'s> {
    fn new(stack: &'s Stack, graph: Graph, x: ValueId) -> Self {
        Self {
            stack,
            graph,
            out: x,
            last: None,
            recurrent: 0,
            dense: 0,
            convolutions: 0,
            several_recurrent: stack.has_several(|layer| matches!(layer, StackLayer::Recurrent(_))),
            several_dense: stack.has_several(|layer| matches!(layer, StackLayer::Dense(_))),
        }
    }

    /// Transposes the output of a recurrent layer for the next layer.
    fn sort_by_row(&mut self) {
        if let Some(layer) = self.last.take() {
            self.out = by_row(&mut self.graph, layer, self.out);
        }
    }

    fn push(&mut self, layer: &'s StackLayer) {
        self.sort_by_row();
        let (graph, origin, out) = (&mut self.graph, &self.stack.name.origin, self.out);
        self.out = match layer {
            StackLayer::Recurrent(layer) => {
                let number = self.several_recurrent.then_some(self.recurrent);
                self.recurrent += 1;
                self.last = Some(layer);
                let position = StackPlace::InStack(number, self.stack.state_delay);
                layer.layer(graph, position, out).output
            }
            StackLayer::Dense(layer) => {
                let number = self.several_dense.then_some(self.dense);
                let name = number.map_or("head".to_owned(), |number| format!("dense_{number}"));
                self.dense += 1;
                layer.add_to(graph, &name, out, origin)
            }
            StackLayer::Activation(activation) => {
                let op = Op::elementwise(*activation);
                graph.computed("activation", op, vec![out], origin)
            }
            StackLayer::Convolution(conv) => {
                let name = format!("conv_{}", self.convolutions);
                self.convolutions += 1;
                conv.add_to(graph, &name, out, self.stack.batch(), origin)
            }
            StackLayer::Scale([factors, addends]) => {
                let scaled = (out, factors);
                let scaled = elementwise(graph, "scale", Binary::Multiply, scaled, origin);
                elementwise(graph, "shift", Binary::Add, (scaled, addends), origin)
            }
            StackLayer::PRelu(slopes) => {
                elementwise(graph, "prelu", Primitive::PRelu, (out, slopes), origin)
            }
            StackLayer::Softmax => {
                let op = Op::Softmax(Softmax { axis: -1, log: false });
                graph.computed("softmax", op, vec![out], origin)
            }
        };
    }
}

/// A recurrent layer's output as the next layer's input: `[N, T, D*H]`, or unchanged for one step.
fn by_row(graph: &mut Graph, layer: &Declared, output: ValueId) -> ValueId {
    let Some(steps) = layer.steps() else { return output };
    let origin = &layer.name.origin;
    let by_step = graph.transposed("by_step", output, &[0, 2, 1, 3], origin);
    let row = layer.hidden_size.value.saturating_mul(layer.direction().count());
    graph.reshaped("by_row", by_step, vec![layer.rows(), steps.value, row], origin)
}

/// Adds an operation on a value and a constant with one element for each unit.
fn elementwise(
    graph: &mut Graph,
    name: &str,
    op: impl Into<Elementwise>,
    (x, constant): (ValueId, &Tensor),
    origin: &Origin,
) -> ValueId {
    let constant = graph.constant(&format!("{name}_by_unit"), constant, origin);
    graph.computed(name, Op::elementwise(op), vec![x, constant], origin)
}

impl DenseLayer {
    fn add_to(&self, graph: &mut Graph, name: &str, x: ValueId, origin: &Origin) -> ValueId {
        let weight = graph.constant(&format!("{name}_weight"), &self.weight, origin);
        let product = Op::MatMul { transpose_a: false, transpose_b: true };
        let mut out = graph.computed(&format!("{name}_product"), product, vec![x, weight], origin);
        if let Some(bias) = &self.bias {
            let bias = graph.constant(&format!("{name}_bias"), bias, origin);
            let sum = Op::elementwise(Binary::Add);
            out = graph.computed(&format!("{name}_sum"), sum, vec![out, bias], origin);
        }
        match self.activation {
            Some(activation) => {
                let op = Op::elementwise(activation);
                graph.computed(&format!("{name}_activation"), op, vec![out], origin)
            }
            None => out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::core_model;
    use crate::front::layout::NamedTensor;
    use crate::model::Family;
    use crate::reference::{initial_variables, reference};
    use crate::request::Options;

    /// Values from -1 to 1 that differ.
    fn values(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 37 + seed * 101) % 64) as f32 / 32.0 - 1.0).collect()
    }

    fn tensor(shape: &[usize], seed: usize) -> Tensor {
        Tensor::from_f32(shape.to_vec(), &values(shape.iter().product(), seed)).expect("a tensor")
    }

    fn set(gates: usize, inputs: usize, hidden: usize, seed: usize) -> WeightSet {
        let named = |name: &str, shape: &[usize], seed| NamedTensor {
            name: name.to_owned(),
            tensor: tensor(shape, seed),
            flat: false,
        };
        let rows = gates * hidden;
        WeightSet {
            w: named("weight_ih", &[rows, inputs], seed),
            r: named("weight_hh", &[rows, hidden], seed + 1),
            biases: vec![named("bias_ih", &[rows], seed + 2), named("bias_hh", &[rows], seed + 3)],
            peepholes: None,
        }
    }

    fn recurrent(family: Family, hidden: usize, inputs: usize) -> Declared {
        Declared::new(
            family,
            "test",
            Spanned::unplaced("amp".to_owned()),
            Spanned::unplaced(hidden),
            Spanned::unplaced(inputs),
        )
    }

    /// An LSTM of 3 units with initial states, a GRU of 2, two dense layers and a skip connection.
    fn amp(steps: Option<usize>) -> Stack {
        let mut stack = Stack::new(
            "test",
            Spanned::unplaced("amp".to_owned()),
            Spanned::unplaced(1),
            Some(Spanned::unplaced(2)),
            steps.map(Spanned::unplaced),
        );
        let initial = vec![tensor(&[3], 20), tensor(&[3], 21)];
        stack
            .add_recurrent(
                recurrent(Family::Lstm, 3, 1),
                Framework::PyTorch,
                set(4, 1, 3, 1),
                initial,
            )
            .expect("fits");
        stack
            .add_recurrent(
                recurrent(Family::Gru, 2, 3),
                Framework::PyTorch,
                set(3, 3, 2, 5),
                Vec::new(),
            )
            .expect("fits");
        let dense = |outputs, inputs, seed, activation| DenseLayer {
            weight: tensor(&[outputs, inputs], seed),
            bias: Some(tensor(&[outputs], seed + 1)),
            activation,
        };
        stack.push_dense(dense(4, 2, 9, Some(Activation::Tanh)));
        stack.push_dense(dense(1, 4, 11, None));
        stack.skip = Some(Spanned::unplaced(true));
        stack
    }

    /// The first `rows` rows of `W v + b`.
    fn affine(w: &Tensor, b: &Tensor, v: &[f64], rows: usize) -> Vec<f64> {
        let columns = v.len();
        let row = |r: usize| {
            (0..columns).map(|c| w.get_f64(r * columns + c) * v[c]).sum::<f64>() + b.get_f64(r)
        };
        (0..rows).map(row).collect()
    }

    /// The outputs of [`amp`] for one row, by the formulas of PyTorch's documentation.
    fn by_hand(xs: &[f64]) -> Vec<f64> {
        let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
        let row =
            |tensor: Tensor| (0..tensor.len()).map(|i| tensor.get_f64(i)).collect::<Vec<f64>>();
        let (lstm, gru) = (set(4, 1, 3, 1), set(3, 3, 2, 5));
        let (mut h, mut c, mut g) = (row(tensor(&[3], 20)), row(tensor(&[3], 21)), vec![0.0; 2]);
        let mut ys = Vec::new();
        for &x in xs {
            let a = affine(&lstm.w.tensor, &lstm.biases[0].tensor, &[x], 12);
            let b = affine(&lstm.r.tensor, &lstm.biases[1].tensor, &h, 12);
            let sum = |gate: usize, unit: usize| a[gate * 3 + unit] + b[gate * 3 + unit];
            for unit in 0..3 {
                c[unit] =
                    sigmoid(sum(1, unit)) * c[unit] + sigmoid(sum(0, unit)) * sum(2, unit).tanh();
                h[unit] = sigmoid(sum(3, unit)) * c[unit].tanh();
            }
            let a = affine(&gru.w.tensor, &gru.biases[0].tensor, &h, 6);
            let b = affine(&gru.r.tensor, &gru.biases[1].tensor, &g, 6);
            for unit in 0..2 {
                let (r, z) = (sigmoid(a[unit] + b[unit]), sigmoid(a[2 + unit] + b[2 + unit]));
                g[unit] = (1.0 - z) * (a[4 + unit] + r * b[4 + unit]).tanh() + z * g[unit];
            }
            let hidden: Vec<f64> = affine(&tensor(&[4, 2], 9), &tensor(&[4], 10), &g, 4)
                .into_iter()
                .map(f64::tanh)
                .collect();
            ys.push(affine(&tensor(&[1, 4], 11), &tensor(&[1], 12), &hidden, 1)[0] + x);
        }
        ys
    }

    #[test]
    fn layers_dense_layers_initial_states_and_a_skip_compute_what_their_formulas_say() {
        let xs = [[0.5, -0.25, 0.125, 1.0], [-0.75, 0.5, 0.0, 0.25]];
        let wanted = xs.map(|row| by_hand(&row));
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-6, "{got} is not {want}");

        let stack = amp(None);
        let (model, _) =
            core_model(&stack.model("`skip`").expect("sizes that fit"), &Options::default())
                .unwrap_or_else(|e| panic!("{e}"));
        let names: Vec<&str> = model.variables.iter().map(|variable| &variable.name[..]).collect();
        assert_eq!(names, ["h_l0", "c_l0", "h_l1"]);
        assert!(model.variables[0].initial.is_some() && model.variables[2].initial.is_none());
        let mut variables = initial_variables(&model);
        for t in 0..4 {
            let step = reference(&model, &[vec![xs[0][t], xs[1][t]]], &variables);
            near(step.results[0][0], wanted[0][t]);
            near(step.results[0][1], wanted[1][t]);
            variables = step.variables;
        }

        // the same outputs with two steps per call
        let (model, _) =
            core_model(&amp(Some(2)).model("`skip`").expect("sizes that fit"), &Options::default())
                .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(model.results[0].shape, [2, 2, 1]);
        let mut variables = initial_variables(&model);
        for t in [0, 2] {
            let x = [&xs[0][t..t + 2], &xs[1][t..t + 2]].concat();
            let step = reference(&model, &[x], &variables);
            for (at, want) in
                [&wanted[0][t..t + 2], &wanted[1][t..t + 2]].concat().into_iter().enumerate()
            {
                near(step.results[0][at], want);
            }
            variables = step.variables;
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let text = |stack: &Stack| stack.model("`skip`").expect_err("sizes do not fit").to_string();
        let mut stack = amp(None);
        stack.push_dense(DenseLayer {
            weight: tensor(&[3, 2], 1),
            bias: Some(tensor(&[2], 1)),
            activation: None,
        });
        for part in [
            "the bias of layer 4 has the shape [2]",
            "layer 4 reads 2 values",
            "`skip` adds 1 input to 3 outputs",
        ] {
            assert!(text(&stack).contains(part), "{part} is not in {}", text(&stack));
        }
        let mut stack = Stack::new(
            "test",
            Spanned::unplaced("amp".to_owned()),
            Spanned::unplaced(1),
            None,
            None,
        );
        let lstm = || recurrent(Family::Lstm, 3, 1);
        let refused = stack.add_recurrent(lstm(), Framework::PyTorch, set(4, 2, 3, 1), Vec::new());
        assert!(
            refused
                .expect_err("two inputs")
                .to_string()
                .contains("`weight_ih` has the shape [12, 2]")
        );
        let initial = vec![tensor(&[2], 1)];
        stack
            .add_recurrent(lstm(), Framework::PyTorch, set(4, 1, 3, 1), initial)
            .expect("weights that fit");
        assert!(
            text(&stack).contains("an initial state of layer 0 has 2 values"),
            "{}",
            text(&stack)
        );
    }
}
