//! A declared recurrent layer, in a model by itself or in a stack.

pub(crate) mod apple;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::diagnostic::{Origin, message};
use crate::front::apple::AppleResetGate;
use crate::front::graph::Graph;
use crate::front::keys::{Key, Keys, Spanned};
use crate::front::layout::{ConversionTarget, Framework, layout};
use crate::front::state_delay::StateDelay;
use crate::front::weights::Baked;
use crate::model::{
    Activation, Cell, CellKind, Coupled, Direction, Family, LedgerEntry, Op, ResetGate, Tensor,
    ValueId, WeightLayout,
};

/// A declaration of recurrent layers, not yet checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declared {
    /// The name of the generated type.
    pub(crate) name: Spanned<String>,
    /// The declaration's name in messages: `gru_cell!`, `Builder::gru`.
    pub(crate) declared_by: &'static str,
    pub(crate) family: Family,
    pub(crate) hidden_size: Spanned<usize>,
    pub(crate) input_size: Spanned<usize>,
    /// All other keys. Defaults are OpenVINO's.
    pub(crate) keys: Keys,
    /// The weights. `None`: inputs at run time.
    pub(crate) weights: Option<Spanned<Baked>>,
    /// True if inputs and outputs are those of Apple's `gru`.
    pub(crate) is_apples: bool,
}

/// Place of a recurrent layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::front) enum StackPlace {
    /// A model of one layer: the states are inputs and outputs.
    Alone,
    /// A layer of a stack: the generated type holds the states of a forward layer. The index is
    /// `None` in a stack of one recurrent layer. The delay holds for forward layers.
    InStack(Option<usize>, StateDelay),
}

impl StackPlace {
    /// The name of a value, with the index of the layer.
    fn numbered(self, name: &str) -> String {
        match self {
            Self::InStack(Some(layer), _) => format!("{name}_l{layer}"),
            Self::InStack(None, _) | Self::Alone => name.to_owned(),
        }
    }
}

/// The outputs of a layer.
pub(in crate::front) struct LayerOutputs {
    /// One step: h `[N, H]`. Sequence: Y `[N, D, T, H]`.
    pub(in crate::front) output: ValueId,
    /// The states after the call: h_out, then c_out.
    pub(super) states: Vec<(&'static str, ValueId)>,
}

impl Declared {
    /// A declaration of one step of a cell, without further keys.
    pub(crate) fn new(
        family: Family,
        declared_by: &'static str,
        name: Spanned<String>,
        hidden_size: Spanned<usize>,
        input_size: Spanned<usize>,
    ) -> Self {
        Self {
            name,
            declared_by,
            family,
            hidden_size,
            input_size,
            keys: Keys::default(),
            weights: None,
            is_apples: false,
        }
    }

    /// The kind of cell, with the place of its reset gate.
    pub(crate) fn kind(&self) -> CellKind {
        self.family.kind(match self.linear_before_reset() {
            Some(Spanned { value: true, .. }) => ResetGate::AfterMatMul,
            _ => ResetGate::BeforeMatMul,
        })
    }

    fn linear_before_reset(&self) -> Option<Spanned<bool>> {
        if self.is_apples {
            Some(apple::linear_before_reset(&self.keys))
        } else {
            self.keys.get(Key::LinearBeforeReset)
        }
    }

    fn activations(&self) -> Option<Spanned<Vec<Activation>>> {
        self.keys.get(Key::Activations).or_else(|| apple::activations(&self.keys))
    }

    /// Number of steps of a sequence. `None`: one step of a cell.
    pub(crate) fn steps(&self) -> Option<Spanned<usize>> {
        self.keys.get(Key::Steps)
    }

    /// The direction of a sequence. Default: forward.
    pub(crate) fn direction(&self) -> Direction {
        self.keys.value(Key::Direction).unwrap_or(Direction::Forward)
    }

    /// The number of layers. Default: 1.
    pub(crate) fn layer_count(&self) -> usize {
        self.keys.value(Key::Layers).unwrap_or(1)
    }

    /// True if the recurrent bias of a GRU's candidate is outside of the product with the reset
    /// gate.
    pub(crate) fn outer_bias(&self) -> bool {
        self.is_apples && apple::reset_gate(&self.keys) == AppleResetGate::AfterMatMulOuterBias
    }

    /// Input size of a layer.
    pub(crate) fn layer_input(&self, layer: usize) -> usize {
        match layer {
            0 => self.input_size.value,
            _ => self.hidden_size.value.saturating_mul(self.direction().count()),
        }
    }

    /// The cell that the weights of a layer must fit.
    pub(crate) fn wanted(&self, layer: usize) -> ConversionTarget {
        ConversionTarget {
            kind: self.kind(),
            hidden_size: self.hidden_size.value,
            input_size: self.layer_input(layer),
            sequence: self.steps().is_some(),
            outer_bias: self.outer_bias(),
            gate_order: None,
        }
    }

    /// The framework with the names, shapes and order of weights given at run time.
    fn framework(&self) -> Framework {
        if self.is_apples { Framework::Apple } else { Framework::OpenVino }
    }

    /// The layout of the weights in the operation's inputs.
    fn layout(&self) -> WeightLayout {
        let wanted = self.wanted(0);
        let framework = self.framework();
        if framework == Framework::OpenVino || self.weights.is_some() {
            // constant weights were converted to OpenVINO's layout
            return WeightLayout::new(
                wanted.kind,
                self.keys.value(Key::WeightsFormat).unwrap_or_default(),
            );
        }
        let biases = framework.bias_tensors(wanted).last().copied().unwrap_or_default();
        layout(framework, wanted, biases).expect("Apple has the cell that it declares")
    }

    /// Sets the keys that `framework` implies, and refuses values that the framework's layers do
    /// not compute. `origin`: the place of the weights.
    pub(crate) fn computed_as_by(&mut self, framework: Framework, origin: &Origin) -> Diagnostics {
        let mut problems = Diagnostics::default();
        let name = framework.name();
        if framework == Framework::PyTorch && self.family == Family::Gru {
            match self.linear_before_reset() {
                Some(Spanned { value: false, origin }) => {
                    let name = Key::LinearBeforeReset.setting();
                    let found =
                        message!("{} is false, and PyTorch's GRU computes it as true", name);
                    let problem =
                        Diagnostic::error(origin, found).valid("linear_before_reset = true");
                    problems.push(problem.help("or leave it out: it is known"));
                }
                Some(_) => {}
                None => self
                    .keys
                    .set(Key::LinearBeforeReset, Spanned { value: true, origin: origin.clone() }),
            }
        }
        if matches!(framework, Framework::OpenVino | Framework::Onnx) {
            return problems;
        }
        for key in [Key::InputForget, Key::Peepholes] {
            if let Some(origin) = self.keys.origin_if_true(key) {
                let found = message!("{} is true, and {}'s LSTM has none", key.setting(), name);
                problems.push(Diagnostic::error(origin.clone(), found).help("leave it out"));
            }
        }
        if let Some(origin) = self.keys.origin(Key::WeightsFormat) {
            let found = message!(
                "{} is given, and the order of {}'s gates is known",
                Key::WeightsFormat.setting(),
                name
            );
            problems.push(Diagnostic::error(origin.clone(), found).help("leave it out"));
        }
        problems
    }

    /// The batch size. Default: 1.
    pub(in crate::front) fn rows(&self) -> usize {
        self.keys.value(Key::Batch).unwrap_or(1)
    }

    fn cell(&self) -> Cell {
        let kind = self.kind();
        Cell {
            activations: match self.activations() {
                Some(said) => said.value,
                None => kind.default_activations().to_vec(),
            },
            clip: self.keys.value(Key::Clip),
            layout: self.layout(),
            coupled: self.keys.origin_if_true(Key::InputForget).map(|_| Coupled::Input),
            peepholes: self.keys.origin_if_true(Key::Peepholes).is_some(),
            ..Cell::new(kind, self.hidden_size.value)
        }
    }

    /// Adds one layer with the input `x`, of shape `[N, I]` or `[N, T, I]`. The layer has the first
    /// of the declared weights.
    pub(in crate::front) fn layer(
        &self,
        graph: &mut Graph,
        position: StackPlace,
        x: ValueId,
    ) -> LayerOutputs {
        let name = &self.name.origin;
        let hidden = &self.hidden_size;
        let cell = self.cell();
        let state_names: &[(&str, &'static str)] = if cell.kind.has_cell_state() {
            &[("h", "h_out"), ("c", "c_out")]
        } else {
            &[("h", "h_out")]
        };
        let inputs = self.inputs_of_layer(graph, position, &cell, x, state_names);
        let mut outputs = Vec::new();
        if let Some(steps) = self.steps() {
            let shape = vec![self.rows(), self.direction().count(), steps.value, hidden.value];
            outputs.push(graph.value(&position.numbered("y"), Some(shape), &hidden.origin));
        }
        let mut states = Vec::new();
        for &(_, out) in state_names {
            let shape = Some(self.state_shape());
            let value = graph.value(&position.numbered(out), shape, &hidden.origin);
            outputs.push(value);
            states.push((out, value));
        }
        let output = outputs[0];
        let ledger = self.ledger(&cell);
        let op = match self.steps() {
            Some(_) => Op::Sequence(cell, self.direction()),
            None => Op::Cell(cell),
        };
        graph.node(&position.numbered(&self.name.value), op, inputs, outputs, ledger, name);
        if position != StackPlace::Alone && self.direction() == Direction::Forward {
            for ((state, _), (_, value)) in state_names.iter().zip(&states) {
                graph.assign(&position.numbered(state), *value, name);
            }
        }
        LayerOutputs { output, states }
    }

    /// Adds the operands of a layer in port order: x, the initial states, the lengths of a
    /// sequence, the weights, and the attention of an AUGRU. `state_names`: each state and its
    /// output.
    fn inputs_of_layer(
        &self,
        graph: &mut Graph,
        position: StackPlace,
        cell: &Cell,
        x: ValueId,
        state_names: &[(&str, &'static str)],
    ) -> Vec<ValueId> {
        let (name, batch, sequence) = (&self.name.origin, self.rows(), self.steps());
        let numbered = |name: &str| position.numbered(name);
        let weights = self.weights.as_ref().and_then(|said| said.value.layers.first());
        let mut inputs = vec![x];
        for (i, (state, _)) in state_names.iter().enumerate() {
            let initial = weights.and_then(|weights| weights.initial.get(i));
            inputs.push(self.initial_state(graph, position, state, initial));
        }
        let attention = cell.kind.has_attention().then(|| {
            let shape = match &sequence {
                Some(steps) => vec![batch, steps.value, 1],
                None => vec![batch, 1],
            };
            graph.input(&numbered("a"), shape, name)
        });
        if let Some(steps) = &sequence {
            let lengths = vec![i64::try_from(steps.value).unwrap_or(i64::MAX); batch];
            let lengths = Tensor::from_i64(vec![batch], &lengths).expect("a length for every row");
            inputs.push(graph.constant(&numbered("lengths"), &lengths, &steps.origin));
        }
        match weights {
            Some(weights) => inputs.extend(
                weights
                    .tensors()
                    .map(|(port, tensor)| graph.constant(&numbered(port), tensor, name)),
            ),
            None => inputs.extend(self.weights_at_run_time(graph, cell, numbered)),
        }
        inputs.extend(attention);
        inputs
    }

    /// The shape of a state. A sequence has one state for each direction.
    fn state_shape(&self) -> Vec<usize> {
        match self.steps() {
            Some(_) => vec![self.rows(), self.direction().count(), self.hidden_size.value],
            None => vec![self.rows(), self.hidden_size.value],
        }
    }

    /// The state before the first step: an input of a layer alone, a variable of a forward layer in
    /// a stack, else a constant. `row`: the initial state of one row, with which every row of a
    /// layer in a stack starts. `None`: zero.
    fn initial_state(
        &self,
        graph: &mut Graph,
        position: StackPlace,
        state: &str,
        row: Option<&Tensor>,
    ) -> ValueId {
        let (shape, origin) = (self.state_shape(), &self.hidden_size.origin);
        if self.is_apples {
            return apple::initial_states(graph, &shape, origin);
        }
        if position == StackPlace::Alone {
            return graph.input(state, shape, origin);
        }
        let initial = row.map(|row| {
            let values: Vec<f32> =
                (0..self.rows() * row.len()).map(|at| row.get_f32(at % row.len())).collect();
            Tensor::from_f32(shape.clone(), &values).expect("a state for every unit")
        });
        let name = position.numbered(state);
        if self.direction() == Direction::Forward {
            let StackPlace::InStack(_, delay) = position else {
                unreachable!("a layer of a stack")
            };
            let mut stored = vec![graph.variable(&name, shape.clone(), initial.as_ref(), origin)];
            for steps in 2..=delay.stored() {
                let older = format!("{name}_{steps}_ago");
                let value = graph.variable(&older, shape.clone(), initial.as_ref(), origin);
                graph.assign(&older, stored[steps - 2], origin);
                stored.push(value);
            }
            return delay.state(graph, &name, &stored, origin);
        }
        let zeros = || Tensor::from_f32(shape.clone(), &vec![0.0; shape.iter().product()]);
        let initial = initial.or_else(zeros).expect("as many zeros");
        graph.constant(&name, &initial, origin)
    }

    /// Inputs for the weights: W, R, the biases, and the peepholes of a cell that has peepholes.
    fn weights_at_run_time(
        &self,
        graph: &mut Graph,
        cell: &Cell,
        numbered: impl Fn(&str) -> String,
    ) -> Vec<ValueId> {
        let hidden = &self.hidden_size;
        let rows = hidden.value.saturating_mul(cell.kind.gates());
        let directions =
            self.steps().filter(|_| cell.layout.directions).map(|_| self.direction().count());
        let shaped = |shape: &[usize]| {
            directions.into_iter().chain(shape.iter().copied()).collect::<Vec<_>>()
        };
        let input_size = self.input_size.value;
        let ([w, r], biases) = self.framework().tensor_names();
        let [w, r] = [w, r].map(|name| numbered(&name.to_lowercase()));
        let mut inputs = vec![
            graph.input(&w, shaped(&[rows, input_size]), &self.input_size.origin),
            graph.input(&r, shaped(&[rows, hidden.value]), &hidden.origin),
        ];
        for (name, parts) in biases.iter().zip(cell.layout.bias_tensors()) {
            let shape = shaped(&[hidden.value.saturating_mul(parts)]);
            inputs.push(graph.input(&numbered(&name.to_lowercase()), shape, &hidden.origin));
        }
        if cell.peepholes {
            inputs.push(graph.input(
                &numbered("p"),
                shaped(&[hidden.value.saturating_mul(3)]),
                &hidden.origin,
            ));
        }
        inputs
    }

    fn ledger(&self, cell: &Cell) -> Vec<LedgerEntry> {
        let entry = |key: Key, taken: String| entry(&self.keys, key, taken);
        let clip = self.keys.get::<f32>(Key::Clip).map(|said| said.with(said.value.to_string()));
        let activations = self.activations().map(|said| said.with(Activation::labels(&said.value)));
        let hidden_size = self.hidden_size.with(self.hidden_size.value.to_string());
        let mut ledger = vec![
            given("hidden_size", Some(hidden_size), cell.hidden_size.to_string()),
            given("activations", activations, Activation::labels(&cell.activations)),
            given(
                "clip",
                clip,
                cell.bound().map_or("no clipping".to_owned(), |bound| bound.to_string()),
            ),
        ];
        match cell.kind.reset_gate() {
            Some(_) if self.is_apples => {
                ledger.extend(apple::ledger(&self.keys).map(|(key, taken)| entry(key, taken)))
            }
            Some(reset) => ledger
                .push(entry(Key::LinearBeforeReset, (reset == ResetGate::AfterMatMul).to_string())),
            None => {}
        }
        if self.steps().is_some() {
            ledger.push(entry(Key::Direction, self.direction().name().to_owned()));
        } else if cell.kind == CellKind::Lstm {
            ledger.push(entry(Key::InputForget, cell.coupled.is_some().to_string()));
            ledger.push(entry(Key::Peepholes, cell.peepholes.to_string()));
            ledger.push(entry(Key::WeightsFormat, cell.layout.order(cell.kind)));
        }
        if let Some(skip) = self.keys.value::<bool>(Key::Skip) {
            ledger.push(entry(Key::Skip, skip.to_string()));
        }
        if let Some(Spanned { value: Baked { meaning: taken, file, .. }, origin }) = &self.weights
            && !taken.is_empty()
        {
            let file = file
                .as_ref()
                .map(|file| Spanned { value: file.name.clone(), origin: origin.clone() });
            ledger.push(given("weights", file, taken.clone()));
        }
        ledger
    }
}

/// The ledger entry of a key.
fn entry(keys: &Keys, key: Key, taken: String) -> LedgerEntry {
    given(key.name(), keys.entry(key).map(|said| said.with(said.value.to_string())), taken)
}

fn given(attribute: &str, stated: Option<Spanned<String>>, taken: String) -> LedgerEntry {
    let (given, origin) =
        stated.map_or((None, Origin::Unknown), |said| (Some(said.value), said.origin));
    LedgerEntry { attribute: attribute.to_owned(), text: given, meaning: taken, origin }
}
