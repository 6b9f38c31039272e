//! Declared models, for the macros, the Builder, and files of PyTorch's weights.
//!
//! A single layer becomes one OpenVINO operation with the states as inputs and outputs: h in, h_out
//! out. Several layers, a layer with a dense layer behind it, and a layer with a skip connection
//! become a [`Stack`].

use super::graph::Graph;
use super::keys::{Key, Macro, Spanned};
use super::layer::{Declared, LayerOutputs, StackPlace, apple};
use super::not_finite;
use super::stack::Stack;
use super::weights::{Baked, DenseLayer};
use crate::diagnostic::{Diagnostic, Diagnostics, message};
use crate::front::read_model::ReadModel;
use crate::model::limits::MOST_STATES;
use crate::model::{Model, Spelling, wrong_count};

/// Keys that only some operations have.
const ONLY_OF_SOME: [Key; 7] = [
    Key::LinearBeforeReset,
    Key::InputForget,
    Key::Peepholes,
    Key::WeightsFormat,
    Key::ApplyResetGateAfterMatMul,
    Key::ResetGate,
    Key::OutputSequence,
];

impl Declared {
    fn head(&self) -> Option<&DenseLayer> {
        self.weights.as_ref()?.value.head.as_ref()
    }

    /// The layers as a stack with the states as variables. `None` for a single layer without head
    /// and skip.
    fn stack(&self) -> Option<Stack> {
        let skip = self.keys.origin_if_true(Key::Skip);
        if self.layer_count() == 1 && self.head().is_none() && skip.is_none() {
            return None;
        }
        let (rows, steps) = (self.keys.get(Key::Batch), self.steps());
        let mut stack =
            Stack::new(self.declared_by, self.name.clone(), self.input_size.clone(), rows, steps);
        let mut layer_decl = self.clone();
        layer_decl.keys.remove(Key::Layers);
        let mut weights = layer_decl.weights.take();
        let known = weights.as_mut().map(|said| std::mem::take(&mut said.value.layers));
        for layer in 0..self.layer_count() {
            layer_decl.weights = weights.as_ref().map(
                |Spanned { value: Baked { meaning: taken, file, .. }, origin }| {
                    let layers = known.iter().flatten().skip(layer).take(1).cloned().collect();
                    Spanned {
                        value: Baked {
                            layers,
                            meaning: taken.clone(),
                            file: file.clone(),
                            ..Baked::default()
                        },
                        origin: origin.clone(),
                    }
                },
            );
            layer_decl.input_size.value = self.layer_input(layer);
            stack.push_recurrent(layer_decl.clone());
        }
        if let Some(head) = self.head() {
            stack.push_dense(head.clone());
        }
        stack.skip = skip.map(|origin| Spanned { value: true, origin: origin.clone() });
        stack.file = weights.and_then(|said| said.value.file);
        Some(stack)
    }

    /// The errors of the keys and sizes.
    pub(crate) fn problems_of_keys(&self) -> Diagnostics {
        let mut problems = Diagnostics::default();
        problems.0.extend(self.direction_of_a_step());
        problems.0.extend(self.wrong_layers());
        problems.0.extend(self.skip_of_one_layer());
        problems.0.extend(ONLY_OF_SOME.into_iter().filter_map(|key| self.key_of_others(key)));
        if self.is_apples {
            problems.0.extend(apple::problems(&self.keys));
        }
        problems.0.extend(self.too_many_states());
        problems
    }

    /// The error for a direction without a number of steps.
    fn direction_of_a_step(&self) -> Option<Diagnostic> {
        let origin = self.keys.origin(Key::Direction).filter(|_| self.steps().is_none())?;
        let valid = message!("a number of steps, {}", Key::Steps.setting());
        Some(Diagnostic::error(origin.clone(), "a direction is given for one step").valid(valid))
    }

    /// The name of the operation, if it takes neither further layers nor a skip connection.
    fn alone(&self) -> Option<&'static str> {
        match (self.is_apples, self.family.has_variants()) {
            (true, _) => Some("Apple's gru"),
            (false, false) => Some("an AUGRU"),
            (false, true) => None,
        }
    }

    /// The errors for a wrong number of layers.
    fn wrong_layers(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        if let Some(layers) = self.keys.get::<usize>(Key::Layers)
            && let Some(valid) = wrong_count(layers.value, 1)
        {
            let found = format!("{} layers", layers.value);
            let problem = Diagnostic::error(layers.origin, found);
            problems.push(problem.valid(valid));
        }
        if let Some(name) = self.alone().filter(|_| self.layer_count() > 1) {
            let found = format!("several layers of {name}");
            let problem = Diagnostic::error(self.name.origin.clone(), found);
            problems.push(problem.valid("one layer"));
        }
        problems
    }

    /// The error for a skip connection around an operation without skip connections.
    fn skip_of_one_layer(&self) -> Option<Diagnostic> {
        let (name, origin) = (self.alone()?, self.keys.origin_if_true(Key::Skip)?);
        let found = message!("{} is set on {}", Key::Skip.setting(), name);
        Some(Diagnostic::error(origin.clone(), found).valid("a GRU, an LSTM or an RNN"))
    }

    /// The error for a key that the table of keys gives to other operations only.
    fn key_of_others(&self, key: Key) -> Option<Diagnostic> {
        let origin = self.keys.origin(key)?;
        let declared_by = match self.is_apples {
            true => Some(Macro::APPLE_GRU),
            false => Macro::find(self.family, self.steps().is_some()),
        };
        if declared_by.is_some_and(|row| row.takes(key)) {
            return None;
        }
        let found = message!("{} is given, and {} has none", key.setting(), self.operation());
        let problem = Diagnostic::error(origin.clone(), found);
        Some(match key {
            Key::LinearBeforeReset if self.is_apples => problem.help(message!(
                "Apple's word for it is {}, or {}",
                Key::ApplyResetGateAfterMatMul.setting(),
                Key::ResetGate.setting()
            )),
            Key::LinearBeforeReset => problem.valid("a GRU: others have no reset gate"),
            Key::ApplyResetGateAfterMatMul | Key::ResetGate | Key::OutputSequence => {
                problem.valid("Apple's gru")
            }
            _ => problem.valid("one step of an LSTM: LSTMCell-1 has it"),
        })
    }

    /// The error for more states than a model may have.
    fn too_many_states(&self) -> Option<Diagnostic> {
        let sizes = [self.rows(), self.hidden_size.value];
        let product = sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
        if product.is_some_and(|product| product <= MOST_STATES) {
            return None;
        }
        let found = format!("{} rows of {} states", self.rows(), self.hidden_size.value);
        let problem = Diagnostic::error(self.hidden_size.origin.clone(), found);
        Some(problem.valid(format!("at most {} states in all", MOST_STATES)))
    }

    /// The warnings about the weights.
    fn problems_of_weights(&self) -> Diagnostics {
        let mut problems = Diagnostics::default();
        let Some(Spanned { value: weights, origin }) = &self.weights else { return problems };
        problems.extend(weights.warnings.clone());
        // only for tensors given in memory: a file's reader checks its tensors by name
        let given = if weights.file.is_none() { &weights.layers[..] } else { &[] };
        for (number, layer) in given.iter().enumerate() {
            for (name, tensor) in layer.tensors() {
                let name = format!("{name} of layer {number}");
                let not_finite =
                    tensor.not_finite().map(|value| not_finite(origin.clone(), &name, value));
                problems.0.extend(not_finite);
            }
        }
        problems
    }

    /// The operation's name in OpenVINO.
    fn operation(&self) -> &'static str {
        if self.steps().is_some() { self.kind().sequence_name() } else { self.kind().op_name() }
    }

    /// The model. A single layer has the inputs x `[N, I]` (a sequence: `[N, T, I]`), h `[N, H]`
    /// (`[N, D, H]`), c of an LSTM, a of an AUGRU, and w, r, b and p unless constant. Its outputs
    /// are y of a sequence `[N, D, T, H]`, h_out and c_out. Apple's `gru` has other inputs and
    /// outputs. Other declarations give [`Stack::model`].
    ///
    /// # Errors
    /// All errors of the declaration, including sizes too large to build a model. Without errors
    /// the diagnostics next to the model are warnings.
    pub(crate) fn model(&self) -> Result<ReadModel, Diagnostics> {
        let mut problems = self.problems_of_keys();
        problems.extend(self.problems_of_weights());
        if problems.has_errors() {
            return Err(problems);
        }
        let model = match self.stack() {
            None => self.single_layer(),
            Some(stack) => match stack.model(Key::Skip.setting()) {
                Ok(model) => model,
                Err(sizes) => {
                    problems.extend(sizes);
                    return Err(problems);
                }
            },
        };
        Ok(ReadModel { model, problems })
    }

    /// The model of a single layer without head and skip.
    fn single_layer(&self) -> Model {
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
        let outputs = self.layer(&mut graph, StackPlace::Alone, x);
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
