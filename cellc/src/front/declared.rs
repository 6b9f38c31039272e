//! What is declared rather than read: the part that the macros and the builder have in common.
//!
//! One layer alone is OpenVINO's operation: its states are inputs and outputs, h in and h_out out. Several layers, or one with a dense
//! layer behind it, are a network whose outputs are what the last layer gives; its states are variables, which the generated type holds and which
//! start at zero. A network that runs through time other than forward starts every call at zero.

use super::apple::{AppleGru, AppleResetGate};
use super::layout::{Framework, Wanted, layout};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::model::{
    Activation, Cell, CellKind, Dim, Direction, ElementType, Elementwise, InputFile, LedgerEntry, LstmGateOrder, Model,
    Node, Op, ResetGate, Tensor, Value, ValueId, WeightLayout,
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
}

/// A dense layer behind the last recurrent one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    /// `[outputs, inputs]`
    pub(crate) weight: Tensor,
    /// `[outputs]`
    pub(crate) bias: Option<Tensor>,
    pub(crate) activation: Option<Activation>,
}

/// Weights that were read or given, for every layer, and what is behind them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Baked {
    pub(crate) layers: Vec<CellWeights>,
    pub(crate) head: Option<Head>,
    /// What was done to them, for the ledger.
    pub(crate) taken: String,
    /// The file that they are from.
    pub(crate) file: Option<InputFile>,
}

#[cfg(feature = "safetensors")]
impl Baked {
    /// How many values they hold.
    pub(crate) fn len(&self) -> usize {
        let layers = self.layers.iter().flat_map(|l| [Some(&l.w), Some(&l.r), Some(&l.b), l.p.as_ref()]).flatten();
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
    /// None: no clipping; so, too, where it is not positive and finite.
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
    /// Where the inputs and outputs are those of Apple's `gru`.
    pub(crate) apple: Option<AppleGru>,
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

/// What a layer gives on.
struct LayerOutputs {
    /// h of a step `[N, H]`; Y of a sequence `[N, D, T, H]`
    output: ValueId,
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

    /// Whether states are variables rather than inputs and outputs.
    fn is_network(&self) -> bool {
        self.layer_count() > 1 || self.weights.as_ref().is_some_and(|said| said.value.head.is_some())
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
            refuse(&direction.origin, "a direction is given for one step".to_owned(), "a number of steps, --steps", "");
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

    fn rows(&self) -> usize {
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
    /// where they are not known in; y of a sequence `[N, D, T, H]`, h_out and c_out out. Of a network: x and a in; out, of a dense layer
    /// `[N, O]` (`[N, T, O]`), else as one layer's.
    pub(crate) fn model(&self) -> Model {
        let origin = &self.name.origin;
        let batch = self.rows();
        let mut graph = Graph { declared_by: self.declared_by, model: Model::default() };
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
        let mut last = None;
        for layer in 0..self.layer_count() {
            if let Some(LayerOutputs { output, .. }) = last {
                x = self.by_row(&mut graph, output);
            }
            last = Some(self.layer(&mut graph, layer, x));
        }
        let last = last.expect("a layer");
        let head = self.weights.as_ref().and_then(|said| said.value.head.as_ref());
        match (&self.apple, head) {
            (Some(apple), _) => self.apple_results(&mut graph, apple, &last),
            (None, Some(head)) => {
                let mut out = self.by_row(&mut graph, last.output);
                out = graph.dense(head, out, origin);
                graph.result("out", out, origin);
            }
            (None, None) => {
                if self.is_network() {
                    graph.result("out", last.output, origin);
                } else {
                    if self.steps.is_some() {
                        graph.result("y", last.output, origin);
                    }
                    for (name, state) in last.states {
                        graph.result(name, state, origin);
                    }
                }
            }
        }
        graph.model.name = Some(self.name.value.clone());
        graph.model.files.extend(self.weights.as_ref().and_then(|said| said.value.file.clone()));
        graph.model
    }

    /// One layer, from its input by rows.
    fn layer(&self, graph: &mut Graph, layer: usize, x: ValueId) -> LayerOutputs {
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
        let numbered = |name: &str| if self.layer_count() > 1 { format!("{name}_l{layer}") } else { name.to_owned() };
        let state_names: &[(&str, &'static str)] =
            if kind.has_cell_state() { &[("h", "h_out"), ("c", "c_out")] } else { &[("h", "h_out")] };

        let mut inputs = vec![x];
        for (state, _) in state_names {
            let shape = state_shape.clone();
            inputs.push(if let Some(apple) = &self.apple {
                apple.initial_states(graph, &shape, &hidden.origin)
            } else if !self.is_network() {
                graph.input(state, shape, &hidden.origin)
            } else if self.direction() == Direction::Forward {
                graph.variable(&numbered(state), shape, &hidden.origin)
            } else {
                let zeros = Tensor::from_f32(shape.clone(), &vec![0.0; shape.iter().product()]);
                graph.constant(&numbered(state), &zeros.expect("as many zeros"), &hidden.origin)
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
        match self.weights.as_ref().and_then(|said| said.value.layers.get(layer)) {
            Some(CellWeights { w, r, b, p }) => {
                for (name_of, tensor) in [("w", Some(w)), ("r", Some(r)), ("b", Some(b)), ("p", p.as_ref())] {
                    inputs.extend(tensor.map(|tensor| graph.constant(&numbered(name_of), tensor, name)));
                }
            }
            None => {
                let rows = hidden.value.saturating_mul(kind.gates());
                let front = self.steps.as_ref().filter(|_| cell.layout.directions).map(|_| d);
                let shaped = |shape: &[usize]| front.into_iter().chain(shape.iter().copied()).collect::<Vec<_>>();
                let input_size = self.layer_input(layer);
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
        graph.model.nodes.push(Node {
            name: numbered(&self.name.value),
            kind: self.declared_by.to_owned(),
            op,
            inputs,
            outputs,
            ledger,
            origin: name.clone(),
        });
        if self.is_network() && self.direction() == Direction::Forward {
            for ((state, _), (_, value)) in state_names.iter().zip(&states) {
                graph.assign(&numbered(state), *value, name);
            }
        }
        LayerOutputs { output, states }
    }

    /// What a layer gives, as the next one reads it: `[N, T, D*H]`; of a step it is that already.
    fn by_row(&self, graph: &mut Graph, output: ValueId) -> ValueId {
        let Some(steps) = &self.steps else { return output };
        let origin = &self.name.origin;
        let by_step = graph.transposed("by_step", output, &[0, 2, 1, 3], origin);
        let row = self.hidden_size.value.saturating_mul(self.direction().count());
        graph.reshaped("by_row", by_step, vec![self.rows(), steps.value, row], origin)
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
        if let Some(Said { value: Baked { taken, file, .. }, origin }) = &self.weights
            && !taken.is_empty()
        {
            let given = file.as_ref().map(|file| (file.name.clone(), origin));
            ledger.push(entry("weights", given, taken.clone()));
        }
        ledger
    }
}

/// A model under construction; values and nodes in the order in which they are added.
pub(super) struct Graph {
    declared_by: &'static str,
    model: Model,
}

impl Graph {
    fn value(&mut self, name: &str, shape: Option<Vec<usize>>, origin: &Origin) -> ValueId {
        self.model.values.push(Value {
            names: vec![name.to_owned()],
            shape: shape.map(|shape| shape.into_iter().map(Dim::Fixed).collect()),
            element: ElementType::F32,
            origin: origin.clone(),
        });
        ValueId(self.model.values.len() - 1)
    }

    fn node(&mut self, name: &str, op: Op, inputs: Vec<ValueId>, outputs: Vec<ValueId>, origin: &Origin) {
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

    fn result(&mut self, name: &str, value: ValueId, origin: &Origin) {
        // a value's own name is what the generated code calls it
        self.model.values[value.0].names = vec![name.to_owned()];
        self.model.results.push(self.model.nodes.len());
        self.node(name, Op::Result, vec![value], Vec::new(), origin);
    }

    fn constant(&mut self, name: &str, tensor: &Tensor, origin: &Origin) -> ValueId {
        let value = self.value(name, Some(tensor.shape().to_vec()), origin);
        self.model.values[value.0].element = tensor.element();
        self.node(name, Op::Constant(tensor.clone()), Vec::new(), vec![value], origin);
        value
    }

    fn integers(&mut self, name: &str, values: &[usize], origin: &Origin) -> ValueId {
        let values: Vec<i64> = values.iter().map(|&value| i64::try_from(value).unwrap_or(i64::MAX)).collect();
        let tensor = Tensor::from_i64(vec![values.len()], &values).expect("a tensor of that many values");
        self.constant(name, &tensor, origin)
    }

    /// What an operation on one or more values gives, its shape left to be found.
    fn computed(&mut self, name: &str, op: Op, inputs: Vec<ValueId>, origin: &Origin) -> ValueId {
        let value = self.value(name, None, origin);
        let kind = match &op {
            Op::Transpose => "Transpose",
            Op::Reshape { .. } => "Reshape",
            Op::MatMul { .. } => "MatMul",
            Op::Elementwise(Elementwise::Add) => "Add",
            Op::Elementwise(Elementwise::Activation(activation)) => activation.name(),
            _ => self.declared_by,
        };
        self.node(name, op, inputs, vec![value], origin);
        if let Some(node) = self.model.nodes.last_mut() {
            node.kind = kind.to_owned();
        }
        value
    }

    fn transposed(&mut self, name: &str, value: ValueId, order: &[usize], origin: &Origin) -> ValueId {
        let order = self.integers(&format!("{name}_order"), order, origin);
        self.computed(name, Op::Transpose, vec![value, order], origin)
    }

    pub(super) fn reshaped(&mut self, name: &str, value: ValueId, shape: Vec<usize>, origin: &Origin) -> ValueId {
        let shape = self.integers(&format!("{name}_shape"), &shape, origin);
        self.computed(name, Op::Reshape { special_zero: false }, vec![value, shape], origin)
    }

    fn dense(&mut self, head: &Head, x: ValueId, origin: &Origin) -> ValueId {
        let weight = self.constant("head_weight", &head.weight, origin);
        let product = Op::MatMul { transpose_a: false, transpose_b: true };
        let mut out = self.computed("head_product", product, vec![x, weight], origin);
        if let Some(bias) = &head.bias {
            let bias = self.constant("head_bias", bias, origin);
            out = self.computed("head_sum", Op::Elementwise(Elementwise::Add), vec![out, bias], origin);
        }
        match head.activation {
            Some(activation) => {
                let op = Op::Elementwise(Elementwise::Activation(activation));
                self.computed("head_activation", op, vec![out], origin)
            }
            None => out,
        }
    }

    /// A state that the type holds, zero at first.
    fn variable(&mut self, name: &str, shape: Vec<usize>, origin: &Origin) -> ValueId {
        let value = self.value(name, Some(shape), origin);
        let op = Op::ReadValue { variable: name.to_owned(), shape: None, element: None };
        self.node(name, op, Vec::new(), vec![value], origin);
        value
    }

    fn assign(&mut self, name: &str, next: ValueId, origin: &Origin) {
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
