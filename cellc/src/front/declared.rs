//! Declared models, for the macros and the builder.
//!
//! A single layer becomes one OpenVINO operation with the states as inputs and outputs: h in, h_out
//! out. Several layers, a layer with a dense layer behind it, and a layer with a skip connection
//! become a [`Stack`].

use super::graph::Graph;
use super::keys::{Key, Macro, Spanned};
use super::layer::{Declared, LayerOutputs, LayerPlace, apple};
use super::not_finite;
use super::stack::Stack;
use super::weights::{Baked, DenseLayer};
use crate::diagnostic::{Diagnostic, Diagnostics, message};
use crate::model::{Direction, Family, Model, Spelling};

/// The most layers.
const MOST_LAYERS: usize = 1000;

/// The most states of a layer, counting both directions. [`crate::check`] checks all
/// other limits.
const MOST_STATES: usize = 1 << 24;

impl Declared {
    fn head(&self) -> Option<&DenseLayer> {
        self.weights.as_ref()?.value.head.as_ref()
    }

    /// The layers as a stack with the states as variables. `None` for a single layer without head
    /// and skip.
    fn stack(&self) -> Option<Stack> {
        let skip = self.keys.on(Key::Skip);
        if self.layer_count() == 1 && self.head().is_none() && skip.is_none() {
            return None;
        }
        let (rows, steps) = (self.keys.get(Key::Batch), self.steps());
        let mut stack =
            Stack::new(self.declared_by, self.name.clone(), self.input_size.clone(), rows, steps);
        let mut one = self.clone();
        one.keys.remove(Key::Layers);
        let mut weights = one.weights.take();
        let known = weights.as_mut().map(|said| std::mem::take(&mut said.value.layers));
        for layer in 0..self.layer_count() {
            one.weights =
                weights.as_ref().map(|Spanned { value: Baked { taken, file, .. }, origin }| {
                    let layers = known.iter().flatten().skip(layer).take(1).cloned().collect();
                    Spanned {
                        value: Baked {
                            layers,
                            taken: taken.clone(),
                            file: file.clone(),
                            ..Baked::default()
                        },
                        origin: origin.clone(),
                    }
                });
            one.input_size.value = self.layer_input(layer);
            stack.push_recurrent(one.clone());
        }
        if let Some(head) = self.head() {
            stack.push_dense(head.clone());
        }
        stack.skip = skip.map(|origin| Spanned { value: true, origin: origin.clone() });
        stack.file = weights.and_then(|said| said.value.file);
        Some(stack)
    }

    /// All errors of the declaration, including sizes too large to build a model. To be called
    /// before [`Self::model`].
    pub(crate) fn problems(&self) -> Diagnostics {
        let mut problems = Diagnostics::default();
        if let (Some(origin), None) = (self.keys.origin(Key::Direction), self.steps()) {
            let valid = message!("a number of steps, {}", Key::Steps.setting());
            problems.push(
                Diagnostic::error(origin.clone(), "a direction is given for one step").valid(valid),
            );
        }
        if let Some(layers) = self.keys.get::<usize>(Key::Layers)
            && !(1..=MOST_LAYERS).contains(&layers.value)
        {
            problems.push(
                Diagnostic::error(layers.origin.clone(), format!("{} layers", layers.value))
                    .valid(format!("1 to {MOST_LAYERS}")),
            );
        }
        let alone = match (self.is_apples, self.family) {
            (true, _) => Some("Apple's gru"),
            (false, Family::Augru) => Some("an AUGRU"),
            _ => None,
        };
        if let Some(name) = alone.filter(|_| self.layer_count() > 1) {
            problems.push(
                Diagnostic::error(self.name.origin.clone(), format!("several layers of {name}"))
                    .valid("one layer"),
            );
        }
        if let (Some(name), Some(origin)) = (alone, self.keys.on(Key::Skip)) {
            problems.push(
                Diagnostic::error(
                    origin.clone(),
                    message!("{} is set on {}", Key::Skip.setting(), name),
                )
                .valid("a GRU, an LSTM or an RNN"),
            );
        }
        for key in [Key::InputForget, Key::Peepholes, Key::WeightsFormat] {
            let Some(origin) = self.keys.origin(key) else { continue };
            let declared_by = Macro::of(self.family, self.steps().is_some());
            if !declared_by.is_some_and(|row| row.takes(key)) {
                let found =
                    message!("{} is given, and {} has none", key.setting(), self.operation());
                problems.push(
                    Diagnostic::error(origin.clone(), found)
                        .valid("one step of an LSTM: LSTMCell-1 has it"),
                );
            }
        }
        if let Some(gate) = apple::contradiction(&self.keys).filter(|_| self.is_apples) {
            let found = format!(
                "the reset gate is {} here, and the flag says otherwise",
                gate.value.name()
            );
            let valid = "true with after_mat_mul, false with one of the others: \
                apply_reset_gate_after_mat_mul";
            problems.push(
                Diagnostic::error(gate.origin.clone(), found)
                    .valid(valid)
                    .help("give one of the two"),
            );
        }
        if let (true, Some(Spanned { value: Direction::Bidirectional, origin })) =
            (self.is_apples, self.keys.get(Key::Direction))
        {
            let found = "Apple's gru has no bidirectional direction";
            problems.push(Diagnostic::error(origin.clone(), found).valid("forward, reverse"));
        }
        let sizes = [self.rows(), 2, self.hidden_size.value];
        if sizes
            .iter()
            .try_fold(1usize, |all, &size| all.checked_mul(size))
            .is_none_or(|all| all > MOST_STATES)
        {
            let found = format!("{} rows of {} states", self.rows(), self.hidden_size.value);
            problems.push(
                Diagnostic::error(self.hidden_size.origin.clone(), found)
                    .valid(format!("at most {} states in all", MOST_STATES / 2)),
            );
        }
        if let Some(Spanned { value: weights, origin }) = &self.weights {
            problems.extend(weights.warnings.clone());
            // only for tensors given in memory: a file's reader checks its tensors by name
            let given = if weights.file.is_none() { &weights.layers[..] } else { &[] };
            for (number, layer) in given.iter().enumerate() {
                for (name, tensor) in layer.tensors() {
                    let name = format!("{name} of layer {number}");
                    let not_finite =
                        tensor.not_finite().map(|value| not_finite(origin.clone(), &name, value));
                    not_finite.into_iter().for_each(|warning| problems.push(warning));
                }
            }
        }
        if !problems.has_errors()
            && let Some(stack) = self.stack()
        {
            problems.extend(stack.problems(Key::Skip.setting()));
        }
        problems
    }

    /// The operation's name in OpenVINO.
    fn operation(&self) -> &'static str {
        if self.steps().is_some() { self.kind().sequence_name() } else { self.kind().op_name() }
    }

    /// The model. A single layer has the inputs x `[N, I]` (a sequence: `[N, T, I]`), h `[N, H]`
    /// (`[N, D, H]`), c of an LSTM, a of an AUGRU, and w, r, b and p unless constant. Its outputs
    /// are y of a sequence `[N, D, T, H]`, h_out and c_out. Otherwise the model is
    /// [`Stack::model`].
    pub(crate) fn model(&self) -> Model {
        if let Some(stack) = self.stack() {
            return stack.model();
        }
        let origin = &self.name.origin;
        let batch = self.rows();
        let mut graph = Graph::new(self.declared_by, &Spelling::OWN);
        let x_shape = match (self.is_apples, self.steps()) {
            (true, Some(steps)) => vec![steps.value, batch, self.input_size.value],
            (_, Some(steps)) => vec![batch, steps.value, self.input_size.value],
            (_, None) => vec![batch, self.input_size.value],
        };
        let x_name = if self.is_apples { "input" } else { "x" };
        let mut x = graph.input(x_name, x_shape, &self.input_size.origin);
        if self.is_apples {
            x = graph.transposed("input_by_row", x, &[1, 0, 2], origin);
        }
        let outputs = self.layer(&mut graph, LayerPlace::Alone, x);
        if self.is_apples {
            self.apple_results(&mut graph, &outputs);
        } else {
            if self.steps().is_some() {
                graph.result("y", outputs.output, origin);
            }
            for (name, state) in outputs.states {
                graph.result(name, state, origin);
            }
        }
        graph.model.name = Some(self.name.value.clone());
        graph.model.files.extend(self.weights.as_ref().and_then(|said| said.value.file.clone()));
        graph.model
    }

    /// Adds the outputs of Apple's `gru`: output and hidden_states.
    fn apple_results(&self, graph: &mut Graph, last: &LayerOutputs) {
        let origin = &self.name.origin;
        let hidden_size = self.hidden_size.value;
        let state = last.states[0].1;
        let output = if apple::output_sequence(&self.keys) {
            let steps = self.steps().map_or(1, |said| said.value);
            let rows = graph.reshaped(
                "output_by_row",
                last.output,
                vec![self.rows(), steps, hidden_size],
                origin,
            );
            graph.transposed("output", rows, &[1, 0, 2], origin)
        } else {
            graph.transposed("output", state, &[1, 0, 2], origin)
        };
        graph.result("output", output, origin);
        let hidden_states =
            graph.reshaped("hidden_states", state, vec![self.rows(), hidden_size], origin);
        graph.result("hidden_states", hidden_states, origin);
    }
}
