//! Consistency of keys among each other and with the file.

use super::Declaration;
use super::form::NAME;
use crate::core::{CoreCell, CoreModel, CoreNode, PlannedProduct};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::front::keys::{Key, Macro, Spanned, Value};
use crate::front::layer::Declared;
use crate::model::{Cell, Dim, Direction, LstmGateOrder, Model, ResetGate};
use crate::request::Options;

impl Declaration {
    /// Reports missing keys, keys without the keys they need, and keys that exclude each other.
    /// `seen`: the keys of the call, those with a wrong value included.
    pub(super) fn check_keys(&self, seen: &[Key], problems: &mut Diagnostics) {
        let has_model = seen.contains(&Key::Model);
        let has_tensors = self.tensor_file().is_some();
        problems.extend(self.missing_keys(seen, has_model, has_tensors));
        if let (false, false, Some(weights)) = (has_model, has_tensors, self.weights_file()) {
            problems.push(self.weights_of_nothing(&weights));
        }
        // the metadata of a file of tensors may give the needed keys
        if !has_tensors && self.readable {
            problems.extend(self.keys.unmet_needs(false));
        }
        for key in [Key::Layers, Key::Skip] {
            if let (Some(_), Some(origin)) = (self.model_file(), self.keys.origin(key)) {
                let found = format!("`{}` is given together with `model`", key.name());
                problems.push(
                    Diagnostic::error(origin.clone(), found)
                        .help("remove it: a model file holds one layer"),
                );
            }
        }
    }

    /// The errors for sizes and numbers of steps that neither a key nor a file gives.
    fn missing_keys(&self, seen: &[Key], has_model: bool, has_tensors: bool) -> Diagnostics {
        let called = self.called;
        // a file of tensors has no number of steps
        let is_in_file = |key: Key| has_model || has_tensors && key != Key::Steps;
        let missing = [Key::HiddenSize, Key::InputSize, Key::Steps]
            .into_iter()
            .filter(|key| called.takes(*key) && !seen.contains(key) && !is_in_file(*key));
        let error = |key: Key| {
            let found = format!("the key `{}` is missing", key.name());
            let problem = Diagnostic::error(NAME, found).valid(key.valid(called));
            match called.takes(Key::Model) && !has_tensors {
                true => problem
                    .help("or give `model = \"model.xml\"`, and the sizes are read from the file"),
                false => problem,
            }
        };
        Diagnostics(missing.map(error).collect())
    }

    /// The error for a file of weights that is no file of tensors, without a model.
    fn weights_of_nothing(&self, weights: &Spanned<String>) -> Diagnostic {
        let takes = |key: Key| self.called.takes(key);
        let found = match takes(Key::Model) {
            true => "`weights` is given without `model`".to_owned(),
            false => format!("`weights` cannot be {:?}", weights.value),
        };
        let valid = match (takes(Key::Prefix), takes(Key::Model)) {
            (_, false) => "a .safetensors file: weights = \"net.safetensors\"",
            (false, true) => "model = \"model.xml\", weights = \"model.bin\"",
            (true, true) => {
                "model = \"model.xml\", weights = \"model.bin\"; or weights = \
                 \"net.safetensors\""
            }
        };
        Diagnostic::error(weights.origin.clone(), found).valid(valid).help(
            "without either, weights are given at run time: see `pack` in the generated module",
        )
    }

    /// Reports sizes in conflict with a file of Apple's tensors.
    pub(crate) fn disagreements_with_tensors(
        &self,
        file: &Spanned<String>,
        hidden: usize,
        input: usize,
    ) -> Diagnostics {
        let sizes = [(Key::HiddenSize, hidden), (Key::InputSize, input)];
        Diagnostics(
            sizes
                .into_iter()
                .filter_map(|(key, size)| self.disagreement(file, key, &size.into()))
                .collect(),
        )
    }

    /// The error for a macro of one step if the file's metadata declare a sequence.
    pub(crate) fn sequence_of_file(
        &self,
        file: &Spanned<String>,
        read: &Declared,
    ) -> Option<Diagnostic> {
        let steps = read.steps().filter(|_| !self.called.is_sequence())?.value;
        let sequence = Macro::find(self.called.family(), true)?;
        let found = format!("the metadata of {} say a sequence of {steps} steps", file.value);
        Some(
            Diagnostic::error(file.origin.clone(), found)
                .help(format!("declare it with {}", sequence.name())),
        )
    }

    /// The options for compiling a model file. The key `batch` is an option only if a size of an
    /// input is open; if all sizes are fixed, [`Self::check`] compares the key with the model.
    pub(crate) fn options_for(&self, model: &Model) -> Options {
        let is_open = model.parameters.iter().any(|&at| {
            let shape = model.values[model.nodes[at].outputs[0].0].shape.as_deref();
            shape.unwrap_or_default().iter().any(|dim| matches!(dim, Dim::Dynamic { .. }))
        });
        let batch = self.keys.value(Key::Batch).filter(|_| is_open);
        self.options.clone().with_batch(batch)
    }

    /// Checks that a model file contains one cell of the macro's kind, that the cell agrees with
    /// all given keys, and that a macro may embed the weights. No errors without a model file.
    pub(crate) fn check(&self, model: &CoreModel) -> Diagnostics {
        let Some(file) = self.model_file() else { return Diagnostics::default() };
        let Some(operation) = Operation::only_one(model) else {
            let found = format!("{} holds {} cells", file.value, model.cells().len());
            return Diagnostics(vec![not_one_cell(&file, found)]);
        };
        let wrong =
            self.other_macro(&file, operation.cell).or_else(|| other_operation(&file, &operation));
        if let Some(problem) = wrong {
            return Diagnostics(vec![problem]);
        }
        let bytes = 4 * model.constants.iter().map(|tensor| tensor.len()).sum::<usize>();
        let disagreement = |(key, value): (Key, Value)| self.disagreement(&file, key, &value);
        let wrong_keys = operation.keys().into_iter().filter_map(disagreement);
        Diagnostics(too_large(&file, bytes).into_iter().chain(wrong_keys).collect())
    }

    /// The error for a cell that another macro declares.
    fn other_macro(&self, file: &Spanned<String>, cell: &CoreCell) -> Option<Diagnostic> {
        let is_sequence = cell.sequence.is_some();
        if cell.kind.family() == self.called.family() && is_sequence == self.called.is_sequence() {
            return None;
        }
        let op = if is_sequence { cell.kind.sequence_name() } else { cell.kind.op_name() };
        let found = format!("the cell in {} is {op}", file.value);
        let help = format!("declare it with {}", declares(cell));
        Some(Diagnostic::error(file.origin.clone(), found).help(help))
    }

    /// The error for a key that differs from the file. `None` if they agree.
    fn disagreement(&self, file: &Spanned<String>, key: Key, read: &Value) -> Option<Diagnostic> {
        let mut declared = self.keys.entry(key)?.clone();
        if let (Key::Clip, Value::Number(clip)) = (key, &mut declared.value) {
            *clip = Cell::clip_bound(*clip).unwrap_or(NO_CLIP);
        }
        if declared.value == *read {
            return None;
        }
        let text = |value: &Value| match value {
            Value::Activations(_) => format!("[{value}]"),
            Value::Number(NO_CLIP) => format!("{value} (none)"),
            value => value.to_string(),
        };
        let (name, here, there) = (key.name(), text(&declared.value), text(read));
        let found = format!("`{name}` is {here} here and {there} in {}", file.value);
        let problem = Diagnostic::error(declared.origin, found).valid(format!("{name} = {there}"));
        Some(problem.help("or leave the key out: it is read from the file"))
    }
}

/// The recurrent operation of a model file.
struct Operation<'m> {
    model: &'m CoreModel,
    /// The cell of the operation's first direction.
    cell: &'m CoreCell,
    /// True if the operation runs in both directions.
    is_bidirectional: bool,
}

impl<'m> Operation<'m> {
    /// The recurrent operation of a model. `None` if the model has none, or more than one.
    fn only_one(model: &'m CoreModel) -> Option<Self> {
        match model.cells()[..] {
            [cell] => Some(Self { model, cell, is_bidirectional: false }),
            [cell, other]
                if cell.weights.w == other.weights.w && cell.weights.set != other.weights.set =>
            {
                Some(Self { model, cell, is_bidirectional: true })
            }
            _ => None,
        }
    }

    fn direction(&self) -> Direction {
        match &self.cell.sequence {
            _ if self.is_bidirectional => Direction::Bidirectional,
            Some(sequence) if sequence.reverse => Direction::Reverse,
            _ => Direction::Forward,
        }
    }

    /// The keys of a macro that declares the operation.
    fn keys(&self) -> [(Key, Value); 11] {
        let cell = self.cell;
        let gates = &cell.weights.layout.gates[..];
        let order = LstmGateOrder::ALL.into_iter().find(|order| order.places()[..] == *gates);
        let after = cell.kind.reset_gate() == Some(ResetGate::AfterMatMul);
        [
            (Key::HiddenSize, cell.hidden_size.into()),
            (Key::InputSize, cell.input_size.into()),
            (Key::Batch, cell.batch.into()),
            (Key::LinearBeforeReset, after.into()),
            (Key::Steps, cell.steps().into()),
            (Key::Direction, self.direction().into()),
            (Key::InputForget, cell.coupled.is_some().into()),
            (Key::Peepholes, cell.weights.p.is_some().into()),
            (Key::WeightsFormat, order.unwrap_or_default().into()),
            (Key::Clip, cell.clip.unwrap_or(NO_CLIP).into()),
            (Key::Activations, cell.activations.clone().into()),
        ]
    }
}

/// The error for a model with an operation in addition to the cell.
fn other_operation(file: &Spanned<String>, operation: &Operation) -> Option<Diagnostic> {
    // views and concatenations join the two directions of a sequence
    let is_extra = |node: &&CoreNode| match node.op.planned() {
        Some(PlannedProduct::Cell(_)) => false,
        _ => !(operation.is_bidirectional && node.op.facts().is_move()),
    };
    let extra_node = operation.model.all_nodes().into_iter().find(is_extra)?;
    let found = format!("{} has {} in addition to the cell", file.value, extra_node.kind);
    Some(not_one_cell(file, found))
}

/// The error for a model file that does not consist of one cell.
fn not_one_cell(file: &Spanned<String>, found: String) -> Diagnostic {
    Diagnostic::error(file.origin.clone(), found)
        .valid("a model of one cell")
        .help("compile whole models with cellc::Builder in a build script")
}

/// The bound that means no clipping.
const NO_CLIP: f32 = 0.0;

/// The macro that declares a cell.
fn declares(cell: &CoreCell) -> &'static str {
    Macro::find(cell.kind.family(), cell.sequence.is_some()).map_or("cellc::Builder", Macro::name)
}

/// The error for a file with more weights than a macro may embed. `None`: `bytes` are few enough.
pub(crate) fn too_large(file: &Spanned<String>, bytes: usize) -> Option<Diagnostic> {
    if bytes <= MOST_BAKED {
        return None;
    }
    let found = format!("{} holds {bytes} bytes of weights", file.value);
    let problem = Diagnostic::error(file.origin.clone(), found)
        .valid(format!("a macro bakes in at most {MOST_BAKED} bytes (8 MiB), f32"));
    Some(
        problem.help(
            "compile it with cellc::Builder in a build script, or give the weights at run time",
        ),
    )
}

/// True if the name ends in `.safetensors`.
pub(super) fn is_tensor_file(file: &str) -> bool {
    std::path::Path::new(file)
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("safetensors"))
}

/// Limit for embedded weights in bytes. A macro's output passes through the compiler's memory
/// several times, unlike a build script's.
const MOST_BAKED: usize = 8 << 20;
