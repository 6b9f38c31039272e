//! What is declared rather than read: the part that the macros and the builder have in common.
//!
//! One layer alone is OpenVINO's operation: its states are inputs and outputs, h in and h_out out. Several layers, one with a dense layer behind
//! it, and one whose input is added to its output are a [`Stack`].

use super::apple::{AppleGru, AppleResetGate};
use super::graph::Graph;
use super::layout::{Framework, Wanted, layout};
use super::not_finite;
use super::stack::{DenseLayer, Stack};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::model::{
    Activation, Cell, CellKind, Direction, InputFile, LedgerEntry, LstmGateOrder, Model, Op, ResetGate, Tensor,
    ValueId, WeightLayout,
};

/// Something that was said, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// Which cell, its variants apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub(crate) enum Family {
    Rnn,
    Gru,
    Augru,
    Lstm,
}

impl Family {
    /// The family of a kind.
    pub(crate) fn of(kind: CellKind) -> Self {
        match kind {
            CellKind::Rnn => Self::Rnn,
            CellKind::Gru(_) => Self::Gru,
            CellKind::Augru(_) => Self::Augru,
            CellKind::Lstm => Self::Lstm,
        }
    }

    /// The kind, the reset gate of those that have one in its place.
    pub(crate) fn kind(self, reset: ResetGate) -> CellKind {
        match self {
            Self::Rnn => CellKind::Rnn,
            Self::Gru => CellKind::Gru(reset),
            Self::Augru => CellKind::Augru(reset),
            Self::Lstm => CellKind::Lstm,
        }
    }

    /// Its name in lower case.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rnn => "rnn",
            Self::Gru => "gru",
            Self::Augru => "augru",
            Self::Lstm => "lstm",
        }
    }

    /// Whether it has a reset gate.
    pub(crate) fn has_reset_gate(self) -> bool {
        matches!(self, Self::Gru | Self::Augru)
    }
}

/// W, R, B and P as constants, as the operation takes them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CellWeights {
    pub(crate) w: Tensor,
    pub(crate) r: Tensor,
    pub(crate) b: Tensor,
    pub(crate) p: Option<Tensor>,
    /// What a row's states are at first and after `reset`: h, then c, each `[D * hidden_size]`; none: zero. Only a [`Stack`] has them.
    pub(crate) initial: Vec<Tensor>,
}

/// Weights that were read or given, for every layer, and what is behind them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Baked {
    pub(crate) layers: Vec<CellWeights>,
    pub(crate) head: Option<DenseLayer>,
    /// What was done to them, for the ledger.
    pub(crate) taken: String,
    /// The file that they are from.
    pub(crate) file: Option<InputFile>,
    /// What was said of the tensors of that file.
    pub(crate) warnings: Diagnostics,
}

impl CellWeights {
    fn tensors(&self) -> impl Iterator<Item = (&'static str, &Tensor)> {
        let all = [("w", Some(&self.w)), ("r", Some(&self.r)), ("b", Some(&self.b)), ("p", self.p.as_ref())];
        all.into_iter().filter_map(|(name, tensor)| Some((name, tensor?)))
    }
}

#[cfg(feature = "read-safetensors")]
impl Baked {
    /// How many values they hold.
    pub(crate) fn len(&self) -> usize {
        let layers = self.layers.iter().flat_map(CellWeights::tensors).map(|(_, tensor)| tensor);
        let head = self.head.iter().flat_map(|head| [Some(&head.weight), head.bias.as_ref()]).flatten();
        layers.chain(head).map(Tensor::len).sum()
    }
}

/// Recurrent layers with their inputs and outputs; nothing in it has been judged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declared {
    /// The name of the type.
    pub(crate) name: Said<String>,
    /// What diagnostics call the declaration: `gru_cell!`, `Builder::gru`.
    pub(crate) declared_by: &'static str,
    pub(crate) family: Family,
    pub(crate) hidden_size: Said<usize>,
    pub(crate) input_size: Said<usize>,
    /// None: 1.
    pub(crate) batch: Option<Said<usize>>,
    /// How many steps a sequence has; none: one step, and no sequence.
    pub(crate) steps: Option<Said<usize>>,
    /// None: forward.
    pub(crate) direction: Option<Said<Direction>>,
    /// None: 1.
    pub(crate) layers: Option<Said<usize>>,
    /// None: false, as in OpenVINO.
    pub(crate) linear_before_reset: Option<Said<bool>>,
    /// None: no clipping; so, too, where it is 0 or infinite.
    pub(crate) clip: Option<Said<f32>>,
    /// None: those of the kind.
    pub(crate) activations: Option<Said<Vec<Activation>>>,
    /// None: false.
    pub(crate) input_forget: Option<Said<bool>>,
    /// None: false.
    pub(crate) peepholes: Option<Said<bool>>,
    /// None: OpenVINO's.
    pub(crate) weights_format: Option<Said<LstmGateOrder>>,
    /// None: given at run time.
    pub(crate) weights: Option<Said<Baked>>,
    /// Whether x is added to the output; none: false.
    pub(crate) skip: Option<Said<bool>>,
    /// Where the inputs and outputs are those of Apple's `gru`.
    pub(crate) apple: Option<AppleGru>,
}

/// What a clip may be that is declared. An attribute of a model may be negative, as OpenVINO takes that as none.
pub(crate) const CLIP: &str = "0 for no clipping, or a number above it that f32 holds: 3.0";

/// Whether a clip may be declared so.
pub(crate) fn is_clip(clip: f32) -> bool {
    clip >= 0.0
}

/// The bound that a clip attribute stands for; OpenVINO takes whatever is not positive and finite as none.
pub(crate) fn clip_bound(clip: f32) -> Option<f32> {
    (clip > 0.0 && clip.is_finite()).then_some(clip)
}

/// Advice names options of the command line; a way in that has other words for them says it in its own.
pub(crate) fn in_words_of(problems: &mut Diagnostics, words: &[(&str, &str)]) {
    for problem in &mut problems.0 {
        for text in [&mut problem.valid, &mut problem.help].into_iter().flatten() {
            for (option, word) in words {
                *text = text.replace(option, word);
            }
        }
    }
}

/// The largest number of layers.
const MOST_LAYERS: usize = 1000;

/// The largest number of states that a declared layer has, both ways; [`crate::validate`] judges the rest.
const MOST_STATES: usize = 1 << 24;

/// Where a recurrent layer is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// By itself: its states are inputs and outputs.
    Alone,
    /// In a stack, whose type holds its states; with its number where the stack has several.
    InStack(Option<usize>),
}

/// What a layer gives on.
pub(super) struct LayerOutputs {
    /// h of a step `[N, H]`; Y of a sequence `[N, D, T, H]`
    pub(super) output: ValueId,
    /// The states after it: h_out, then c_out.
    states: Vec<(&'static str, ValueId)>,
}

impl Declared {
    /// One step of a cell, all attributes left out.
    pub(crate) fn new(
        family: Family,
        declared_by: &'static str,
        name: Said<String>,
        hidden_size: Said<usize>,
        input_size: Said<usize>,
    ) -> Self {
        Self {
            name,
            declared_by,
            family,
            hidden_size,
            input_size,
            batch: None,
            steps: None,
            direction: None,
            layers: None,
            linear_before_reset: None,
            clip: None,
            activations: None,
            input_forget: None,
            peepholes: None,
            weights_format: None,
            weights: None,
            skip: None,
            apple: None,
        }
    }

    pub(crate) fn kind(&self) -> CellKind {
        match &self.linear_before_reset {
            Some(Said { value: true, .. }) => self.family.kind(ResetGate::AfterMatMul),
            _ => self.family.kind(ResetGate::BeforeMatMul),
        }
    }

    pub(crate) fn direction(&self) -> Direction {
        self.direction.as_ref().map_or(Direction::Forward, |said| said.value)
    }

    pub(crate) fn layer_count(&self) -> usize {
        self.layers.as_ref().map_or(1, |said| said.value)
    }

    /// Whether the recurrent bias of a GRU's candidate stands outside of the reset gate.
    pub(crate) fn outer_bias(&self) -> bool {
        self.apple.as_ref().is_some_and(|apple| apple.reset_gate() == AppleResetGate::AfterMatMulOuterBias)
    }

    /// The length of a row that layer `layer` reads.
    pub(crate) fn layer_input(&self, layer: usize) -> usize {
        match layer {
            0 => self.input_size.value,
            _ => self.hidden_size.value.saturating_mul(self.direction().count()),
        }
    }

    /// What the weights of a layer are to be in order for.
    pub(crate) fn wanted(&self, layer: usize) -> Wanted {
        Wanted {
            kind: self.kind(),
            hidden_size: self.hidden_size.value,
            input_size: self.layer_input(layer),
            sequence: self.steps.is_some(),
            outer_bias: self.outer_bias(),
            gate_order: None,
        }
    }

    /// Whose names, shapes and order the weights have that are given at run time.
    fn framework(&self) -> Framework {
        if self.apple.is_some() { Framework::Apple } else { Framework::OpenVino }
    }

    /// How the operation's inputs hold its weights.
    fn layout(&self) -> WeightLayout {
        let wanted = self.wanted(0);
        let framework = self.framework();
        if framework == Framework::OpenVino || self.weights.is_some() {
            // weights that are known have been put in order
            let order = self.weights_format.as_ref().map_or(LstmGateOrder::default(), |said| said.value);
            return WeightLayout::new(wanted.kind, order);
        }
        let biases = framework.bias_tensors(wanted).last().copied().unwrap_or_default();
        layout(framework, wanted, biases).expect("Apple has the cell that it declares")
    }

    fn head(&self) -> Option<&DenseLayer> {
        self.weights.as_ref()?.value.head.as_ref()
    }

    /// The layers one after the other, where states are variables rather than inputs and outputs.
    fn stack(&self) -> Option<Stack> {
        let skip = self.skip.as_ref().filter(|said| said.value);
        if self.layer_count() == 1 && self.head().is_none() && skip.is_none() {
            return None;
        }
        let (rows, steps) = (self.batch.clone(), self.steps.clone());
        let mut stack = Stack::new(self.declared_by, self.name.clone(), self.input_size.clone(), rows, steps);
        let mut one = Self { layers: None, ..self.clone() };
        let mut weights = one.weights.take();
        let known = weights.as_mut().map(|said| std::mem::take(&mut said.value.layers));
        for layer in 0..self.layer_count() {
            one.weights = weights.as_ref().map(|Said { value: Baked { taken, file, .. }, origin }| {
                let layers = known.iter().flatten().skip(layer).take(1).cloned().collect();
                Said {
                    value: Baked { layers, taken: taken.clone(), file: file.clone(), ..Baked::default() },
                    origin: origin.clone(),
                }
            });
            one.input_size.value = self.layer_input(layer);
            stack.push_recurrent(one.clone());
        }
        if let Some(head) = self.head() {
            stack.push_dense(head.clone());
        }
        stack.skip = skip.cloned();
        stack.file = weights.and_then(|said| said.value.file);
        Some(stack)
    }

    /// What does not go together, or is of a size that nothing could be made of: to be asked before [`Self::model`].
    pub(crate) fn problems(&self) -> Diagnostics {
        let mut problems = Diagnostics::default();
        let mut refuse = |origin: &Origin, found: String, valid: &str, help: &str| {
            let mut problem = Diagnostic::error(origin.clone(), found).valid(valid);
            problem.help = (!help.is_empty()).then(|| help.to_owned());
            problems.push(problem);
        };
        if let (Some(direction), None) = (&self.direction, &self.steps) {
            refuse(
                &direction.origin,
                "a direction is given for one step".to_owned(),
                "a number of steps, --sequence",
                "",
            );
        }
        if let Some(clip) = self.clip.as_ref().filter(|clip| !is_clip(clip.value)) {
            refuse(&clip.origin, format!("`clip` is {}", clip.value), CLIP, "");
        }
        if let Some(layers) = &self.layers
            && !(1..=MOST_LAYERS).contains(&layers.value)
        {
            refuse(&layers.origin, format!("{} layers", layers.value), &format!("1 to {MOST_LAYERS}"), "");
        }
        let alone = match (&self.apple, self.family) {
            (Some(_), _) => Some("Apple's gru"),
            (None, Family::Augru) => Some("an AUGRU"),
            _ => None,
        };
        if let Some(name) = alone.filter(|_| self.layer_count() > 1) {
            refuse(&self.name.origin, format!("several layers of {name}"), "one layer", "");
        }
        if let (Some(name), Some(skip)) = (alone, self.skip.as_ref().filter(|said| said.value)) {
            refuse(&skip.origin, format!("`skip` is set on {name}"), "a GRU, an LSTM or an RNN", "");
        }
        if self.family == Family::Augru
            && let Some(direction) = self.direction.as_ref().filter(|said| said.value != Direction::Forward)
        {
            let found = format!("AUGRUSequence with the direction {}", direction.value.name());
            refuse(&direction.origin, found, "forward", "");
        }
        let lstm = [
            ("input_forget", self.input_forget.as_ref().map(|said| &said.origin)),
            ("peepholes", self.peepholes.as_ref().map(|said| &said.origin)),
            ("weights_format", self.weights_format.as_ref().map(|said| &said.origin)),
        ];
        for (name, origin) in lstm {
            let Some(origin) = origin else { continue };
            if self.family != Family::Lstm || self.steps.is_some() {
                let found = format!("`{name}` is given, and {} has none", self.operation());
                refuse(origin, found, "one step of an LSTM: LSTMCell-1 has it", "");
            }
        }
        if let Some(gate) = self.apple.as_ref().and_then(AppleGru::contradiction) {
            let found = format!("the reset gate is {} here, and the flag says otherwise", gate.value.name());
            let valid = "true with after_mat_mul, false with one of the others: apply_reset_gate_after_mat_mul";
            refuse(&gate.origin, found, valid, "give one of the two");
        }
        if let (Some(_), Some(direction)) = (&self.apple, &self.direction)
            && direction.value == Direction::Bidirectional
        {
            let found = "Apple's gru has no bidirectional direction".to_owned();
            refuse(&direction.origin, found, "forward, reverse", "");
        }
        let sizes = [self.rows(), 2, self.hidden_size.value];
        if sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size)).is_none_or(|all| all > MOST_STATES) {
            let found = format!("{} rows of {} states", self.rows(), self.hidden_size.value);
            refuse(&self.hidden_size.origin, found, &format!("at most {} states in all", MOST_STATES / 2), "");
        }
        if let Some(Said { value: weights, origin }) = &self.weights {
            problems.extend(weights.warnings.clone());
            // given in memory: the names of tensors in a file are known where it is read
            let given = if weights.file.is_none() { &weights.layers[..] } else { &[] };
            for (number, layer) in given.iter().enumerate() {
                for (name, tensor) in layer.tensors() {
                    let name = format!("{name} of layer {number}");
                    let not_finite = tensor.not_finite().map(|value| not_finite(origin.clone(), &name, value));
                    not_finite.into_iter().for_each(|warning| problems.push(warning));
                }
            }
        }
        if !problems.has_errors()
            && let Some(stack) = self.stack()
        {
            problems.extend(stack.problems());
        }
        problems
    }

    /// The operation's name in OpenVINO.
    fn operation(&self) -> &'static str {
        if self.steps.is_some() { self.kind().sequence_name() } else { self.kind().op_name() }
    }

    /// Takes from `framework` what it always computes, and refuses what it never does; `origin` is where its weights were given.
    pub(crate) fn computed_as_by(&mut self, framework: Framework, origin: &Origin) -> Diagnostics {
        let mut problems = Diagnostics::default();
        let name = framework.name();
        if framework == Framework::PyTorch && self.family == Family::Gru {
            match &self.linear_before_reset {
                Some(Said { value: false, origin }) => problems.push(
                    Diagnostic::error(
                        origin.clone(),
                        "`linear_before_reset` is false, and PyTorch's GRU computes it as true",
                    )
                    .valid("linear_before_reset = true")
                    .help("or leave it out: it is known"),
                ),
                Some(_) => {}
                None => self.linear_before_reset = Some(Said { value: true, origin: origin.clone() }),
            }
        }
        if matches!(framework, Framework::OpenVino | Framework::Onnx) {
            return problems;
        }
        for (key, said) in [("input_forget", &self.input_forget), ("peepholes", &self.peepholes)] {
            if let Some(said) = said.as_ref().filter(|said| said.value) {
                let found = format!("`{key}` is true, and {name}'s LSTM has none");
                problems.push(Diagnostic::error(said.origin.clone(), found).help("leave it out"));
            }
        }
        if let Some(said) = &self.weights_format {
            let found = format!("`weights_format` is given, and the order of {name}'s gates is known");
            problems.push(Diagnostic::error(said.origin.clone(), found).help("leave it out"));
        }
        problems
    }

    pub(super) fn rows(&self) -> usize {
        self.batch.as_ref().map_or(1, |said| said.value)
    }

    fn cell(&self) -> Cell {
        let kind = self.kind();
        let on = |said: &Option<Said<bool>>| said.as_ref().is_some_and(|said| said.value);
        Cell {
            activations: match &self.activations {
                Some(said) => said.value.clone(),
                None => kind.default_activations().to_vec(),
            },
            clip: self.clip.as_ref().and_then(|said| clip_bound(said.value)),
            layout: self.layout(),
            input_forget: on(&self.input_forget),
            peepholes: on(&self.peepholes),
            ..Cell::new(kind, self.hidden_size.value)
        }
    }

    /// The model. Of one layer: x `[N, I]` (a sequence: `[N, T, I]`), h `[N, H]` (`[N, D, H]`), c of an LSTM, a of an AUGRU, w, r, b and p
    /// where they are not known in; y of a sequence `[N, D, T, H]`, h_out and c_out out. Else that of [`Stack::model`].
    pub(crate) fn model(&self) -> Model {
        if let Some(stack) = self.stack() {
            return stack.model();
        }
        let origin = &self.name.origin;
        let batch = self.rows();
        let mut graph = Graph::new(self.declared_by);
        let x_shape = match (&self.apple, &self.steps) {
            (Some(_), Some(steps)) => vec![steps.value, batch, self.input_size.value],
            (_, Some(steps)) => vec![batch, steps.value, self.input_size.value],
            (_, None) => vec![batch, self.input_size.value],
        };
        let x_name = if self.apple.is_some() { "input" } else { "x" };
        let mut x = graph.input(x_name, x_shape, &self.input_size.origin);
        if self.apple.is_some() {
            x = graph.transposed("input_by_row", x, &[1, 0, 2], origin);
        }
        let outputs = self.layer(&mut graph, Place::Alone, x);
        if let Some(apple) = &self.apple {
            self.apple_results(&mut graph, apple, &outputs);
        } else {
            if self.steps.is_some() {
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

    /// One layer, from its input by rows: the first where several are declared.
    pub(super) fn layer(&self, graph: &mut Graph, place: Place, x: ValueId) -> LayerOutputs {
        let name = &self.name.origin;
        let hidden = &self.hidden_size;
        let (batch, d) = (self.rows(), self.direction().count());
        let cell = self.cell();
        let kind = cell.kind;
        // states of a layer; a sequence has one for each direction
        let state_shape = match self.steps {
            Some(_) => vec![batch, d, hidden.value],
            None => vec![batch, hidden.value],
        };
        let numbered = |name: &str| match place {
            Place::InStack(Some(layer)) => format!("{name}_l{layer}"),
            Place::InStack(None) | Place::Alone => name.to_owned(),
        };
        let in_stack = matches!(place, Place::InStack(_));
        let weights = self.weights.as_ref().and_then(|said| said.value.layers.first());
        let state_names: &[(&str, &'static str)] =
            if kind.has_cell_state() { &[("h", "h_out"), ("c", "c_out")] } else { &[("h", "h_out")] };

        let mut inputs = vec![x];
        for (i, (state, _)) in state_names.iter().enumerate() {
            let shape = state_shape.clone();
            // every row starts alike
            let initial = weights.and_then(|weights| weights.initial.get(i)).map(|row| {
                let values: Vec<f32> = (0..batch * row.len()).map(|at| row.get_f32(at % row.len())).collect();
                Tensor::from_f32(shape.clone(), &values).expect("a state for every unit")
            });
            inputs.push(if let Some(apple) = &self.apple {
                apple.initial_states(graph, &shape, &hidden.origin)
            } else if !in_stack {
                graph.input(state, shape, &hidden.origin)
            } else if self.direction() == Direction::Forward {
                graph.variable(&numbered(state), shape, initial.as_ref(), &hidden.origin)
            } else {
                let zeros = || Tensor::from_f32(shape.clone(), &vec![0.0; shape.iter().product()]);
                let initial = initial.or_else(zeros).expect("as many zeros");
                graph.constant(&numbered(state), &initial, &hidden.origin)
            });
        }
        let attention = kind.has_attention().then(|| {
            let shape = match &self.steps {
                Some(steps) => vec![batch, steps.value, 1],
                None => vec![batch, 1],
            };
            graph.input(&numbered("a"), shape, name)
        });
        if let Some(steps) = &self.steps {
            let lengths = vec![i64::try_from(steps.value).unwrap_or(i64::MAX); batch];
            let lengths = Tensor::from_i64(vec![batch], &lengths).expect("a length for every row");
            inputs.push(graph.constant(&numbered("lengths"), &lengths, &steps.origin));
        }
        match weights {
            Some(weights) => {
                for (name_of, tensor) in weights.tensors() {
                    inputs.push(graph.constant(&numbered(name_of), tensor, name));
                }
            }
            None => {
                let rows = hidden.value.saturating_mul(kind.gates());
                let front = self.steps.as_ref().filter(|_| cell.layout.directions).map(|_| d);
                let shaped = |shape: &[usize]| front.into_iter().chain(shape.iter().copied()).collect::<Vec<_>>();
                let input_size = self.input_size.value;
                let ([w, r], biases) = self.framework().tensor_names();
                let [w, r] = [w, r].map(|name| numbered(&name.to_lowercase()));
                inputs.push(graph.input(&w, shaped(&[rows, input_size]), &self.input_size.origin));
                inputs.push(graph.input(&r, shaped(&[rows, hidden.value]), &hidden.origin));
                for (name, parts) in biases.iter().zip(cell.layout.bias_tensors()) {
                    let shape = shaped(&[hidden.value.saturating_mul(parts)]);
                    inputs.push(graph.input(&numbered(&name.to_lowercase()), shape, &hidden.origin));
                }
                if cell.peepholes {
                    inputs.push(graph.input(&numbered("p"), shaped(&[hidden.value.saturating_mul(3)]), &hidden.origin));
                }
            }
        }
        inputs.extend(attention);

        let mut outputs = Vec::new();
        if let Some(steps) = &self.steps {
            let shape = vec![batch, d, steps.value, hidden.value];
            outputs.push(graph.value(&numbered("y"), Some(shape), &hidden.origin));
        }
        let mut states = Vec::new();
        for &(_, out) in state_names {
            let value = graph.value(&numbered(out), Some(state_shape.clone()), &hidden.origin);
            outputs.push(value);
            states.push((out, value));
        }
        let output = outputs[0];
        let ledger = self.ledger(&cell);
        let op = match self.steps {
            Some(_) => Op::Sequence(cell, self.direction()),
            None => Op::Cell(cell),
        };
        graph.node(&numbered(&self.name.value), op, inputs, outputs, ledger, name);
        if in_stack && self.direction() == Direction::Forward {
            for ((state, _), (_, value)) in state_names.iter().zip(&states) {
                graph.assign(&numbered(state), *value, name);
            }
        }
        LayerOutputs { output, states }
    }

    /// The results in Apple's terms: output and hidden_states.
    fn apple_results(&self, graph: &mut Graph, apple: &AppleGru, last: &LayerOutputs) {
        let origin = &self.name.origin;
        let hidden = self.hidden_size.value;
        let state = last.states[0].1;
        let output = if apple.output_sequence() {
            let steps = self.steps.as_ref().map_or(1, |said| said.value);
            let rows = graph.reshaped("output_by_row", last.output, vec![self.rows(), steps, hidden], origin);
            graph.transposed("output", rows, &[1, 0, 2], origin)
        } else {
            graph.transposed("output", state, &[1, 0, 2], origin)
        };
        graph.result("output", output, origin);
        let hidden_states = graph.reshaped("hidden_states", state, vec![self.rows(), hidden], origin);
        graph.result("hidden_states", hidden_states, origin);
    }

    fn ledger(&self, cell: &Cell) -> Vec<LedgerEntry> {
        let list = |activations: &[Activation]| activations.iter().map(|a| a.label()).collect::<Vec<_>>().join(", ");
        let entry = |attribute: &str, said: Option<(String, &Origin)>, taken: String| {
            let (given, origin) = said.map_or((None, Origin::Unknown), |(text, origin)| (Some(text), origin.clone()));
            LedgerEntry { attribute: attribute.to_owned(), given, taken, origin }
        };
        let switch = |attribute: &str, said: &Option<Said<bool>>, taken: bool| {
            entry(attribute, said.as_ref().map(|said| (said.value.to_string(), &said.origin)), taken.to_string())
        };
        let mut ledger = vec![
            entry(
                "hidden_size",
                Some((self.hidden_size.value.to_string(), &self.hidden_size.origin)),
                cell.hidden_size.to_string(),
            ),
            entry(
                "activations",
                self.activations.as_ref().map(|said| (list(&said.value), &said.origin)),
                list(&cell.activations),
            ),
            entry(
                "clip",
                self.clip.as_ref().map(|said| (said.value.to_string(), &said.origin)),
                cell.clip.map_or("no clipping".to_owned(), |bound| bound.to_string()),
            ),
        ];
        if let Some(reset) = cell.kind.reset_gate() {
            let after = reset == ResetGate::AfterMatMul;
            match &self.apple {
                Some(apple) => ledger.extend(apple.ledger()),
                None => ledger.push(switch("linear_before_reset", &self.linear_before_reset, after)),
            }
        }
        if self.steps.is_some() {
            ledger.push(entry(
                "direction",
                self.direction.as_ref().map(|said| (said.value.name().to_owned(), &said.origin)),
                self.direction().name().to_owned(),
            ));
        } else if cell.kind == CellKind::Lstm {
            ledger.push(switch("input_forget", &self.input_forget, cell.input_forget));
            ledger.push(switch("peepholes", &self.peepholes, cell.peepholes));
            ledger.push(entry(
                "weights_format",
                self.weights_format.as_ref().map(|said| (said.value.name().to_owned(), &said.origin)),
                cell.layout.order(cell.kind),
            ));
        }
        if self.skip.is_some() {
            let skip = self.skip.as_ref().is_some_and(|said| said.value);
            ledger.push(switch("skip", &self.skip, skip));
        }
        if let Some(Said { value: Baked { taken, file, .. }, origin }) = &self.weights
            && !taken.is_empty()
        {
            let given = file.as_ref().map(|file| (file.name.clone(), origin));
            ledger.push(entry("weights", given, taken.clone()));
        }
        ledger
    }
}
