//! Declarations for a file of PyTorch's weights: options of the command, keys of a macro, methods
//! of the Builder, or the file's own metadata under `cellc.KEY`.

use super::keys::{Key, KeyValue, Keys, Spanned};
use super::layer::Declared;
use super::layout::{Framework, GateOrder};
use super::model_file::ModelFile;
use super::safetensors::{FileWeights, Selection, TensorFile, pytorch};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, message, quoted};
use crate::front::read_model::ReadModel;
use crate::model::{CellKind, Direction, Family, ResetGate};

/// Prefix of keys in the metadata of a file.
const METADATA: &str = "cellc.";

impl Keys {
    /// Adds the keys in the metadata of a file. A key given twice must have equal values.
    fn with_metadata(&mut self, file: &TensorFile) -> Diagnostics {
        let mut problems = Diagnostics::default();
        for (name, text) in file.metadata() {
            let Some(own) = name.strip_prefix(METADATA) else { continue };
            let Some(key) = Key::of_files().find(|key| key.name_in_files() == own) else {
                let found = format!("the metadata of {} have the key {}", file.shown, quoted(name));
                let names: Vec<String> = Key::of_files()
                    .map(|key| format!("{METADATA}{}", key.name_in_files()))
                    .collect();
                problems.push(Diagnostic::error(Origin::Unknown, found).valid(names.join(", ")));
                continue;
            };
            let value = match KeyValue::parse(key, text) {
                Ok(value) => value,
                Err(valid) => {
                    let found =
                        format!("{} is {} in the metadata of {}", name, quoted(text), file.shown);
                    problems.push(Diagnostic::error(Origin::Unknown, found).valid(valid));
                    continue;
                }
            };
            match self.entry(key) {
                Some(said) if !value.is(&said.value) => {
                    let (name, here) = (key.setting(), &said.value);
                    let found = message!(
                        "{} is {} here and {} in the metadata of {}",
                        name,
                        here.to_string(),
                        value.to_string(),
                        file.shown
                    );
                    let help = message!("leave {} out, and that of the file is taken", name);
                    problems.push(
                        Diagnostic::error(said.origin.clone(), found)
                            .valid(value.to_string())
                            .help(help),
                    );
                }
                Some(_) => {}
                None => self.add(key, Some(value)),
            }
        }
        problems
    }
}

/// Reads a file of PyTorch's weights. Returns the model and the warnings.
///
/// # Errors
/// All missing declarations, and all contradictions to the file.
pub fn read(file: ModelFile, keys: Keys) -> Result<ReadModel, Diagnostics> {
    layers(&super::safetensors::read(file)?, keys)
}

/// The model of a file of PyTorch's weights in any format, as for [`read`].
pub(super) fn layers(file: &TensorFile, keys: Keys) -> Result<ReadModel, Diagnostics> {
    let base = |family: Family, hidden, input| {
        let declared_by = match family {
            Family::Rnn => "torch.nn.RNN",
            Family::Gru | Family::Augru => "torch.nn.GRU",
            Family::Lstm => "torch.nn.LSTM",
        };
        Some(Declared::new(
            family,
            declared_by,
            Spanned::unplaced(family.name().to_owned()),
            hidden,
            input,
        ))
    };
    let (declared, left) = declare(file, keys, base)?;
    let ReadModel { model, mut problems } = declared.model()?;
    if let Some(refused) = file.undeclared(&left) {
        return Err(Diagnostics(vec![refused]));
    }
    if let Some(first) = left.first() {
        let more = match left.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let found = format!("no layer uses {}{more} in {}", quoted(first), file.shown);
        let mut problem = Diagnostic::warning(Origin::Unknown, found);
        let has_head =
            declared.weights.as_ref().is_some_and(|weights| weights.value.head.is_some());
        problem.help = file.holds_unused(&left, has_head);
        problems.push(problem);
    }
    Ok(ReadModel { model, problems })
}

/// The declared layers of a file of PyTorch's weights with their weights, and the unused tensors.
/// `base` makes a declaration from the family and the sizes, to which `keys` and the file's keys
/// are added.
///
/// # Errors
/// All contradictions to the file or its metadata, and all missing keys and tensors.
pub(crate) fn declare(
    file: &TensorFile,
    mut keys: Keys,
    base: impl FnOnce(Family, Spanned<usize>, Spanned<usize>) -> Option<Declared>,
) -> Result<(Declared, Vec<String>), Diagnostics> {
    let mut problems = keys.with_metadata(file);
    let Some(family) = keys.value::<Family>(Key::Cell) else {
        if let Some(obstacle) = file.obstacle(keys.value::<String>(Key::Prefix).as_deref()) {
            problems.push(obstacle);
            return Err(problems);
        }
        let found = format!("no kind of cell is given for the weights in {}", file.shown);
        let cell = Key::Cell.setting();
        let valid = message!("{} rnn, {} gru or {} lstm", cell, cell, cell);
        let mut problem = Diagnostic::error(Origin::Unknown, found).valid(valid);
        problem.help = file.holds();
        problems.push(problem);
        return Err(problems);
    };
    problems.extend(keys.unmet_needs(true));
    let gate_order = keys.get::<GateOrder>(Key::GateOrder);
    if let Some(said) =
        gate_order.as_ref().filter(|said| !said.value.fits(family.kind(ResetGate::AfterMatMul)))
    {
        let found = message!(
            "{} is {}, and the cell is {}",
            Key::GateOrder.setting(),
            said.value.letters(),
            family.name()
        );
        problems.push(
            Diagnostic::error(said.origin.clone(), found).valid(Key::GateOrder.valid_in_files()),
        );
    }
    if problems.has_errors() {
        return Err(problems);
    }
    let kind: CellKind = family.kind(ResetGate::AfterMatMul);
    let (prefix, head) = (keys.value::<String>(Key::Prefix), keys.value::<String>(Key::Head));
    let selection = Selection {
        hidden_size: None,
        input_size: None,
        layers: keys.value(Key::Layers),
        sequence: keys
            .origin(Key::Steps)
            .map(|_| keys.value(Key::Direction).unwrap_or(Direction::Forward)),
        prefix: prefix.as_deref(),
        head: head.as_deref(),
        head_activation: keys.value(Key::HeadActivation),
        gate_order: gate_order.map(|said| said.value),
    };
    let FileWeights { hidden_size, input_size, baked, unread: left } =
        pytorch(file, kind, &selection)?;
    let mut size = |key: Key, read: usize| {
        let declared = keys.get::<usize>(key).unwrap_or_else(|| Spanned::unplaced(read));
        if declared.value != read {
            let name = key.setting();
            let found =
                message!("{} is {} here and {} in {}", name, declared.value, read, file.shown);
            let help = message!("or leave {} out: it is read from the file", name);
            problems.push(
                Diagnostic::error(declared.origin.clone(), found)
                    .valid(read.to_string())
                    .help(help),
            );
        }
        declared
    };
    let [hidden, input] = [(Key::HiddenSize, hidden_size), (Key::InputSize, input_size)]
        .map(|(key, read)| size(key, read));
    if problems.has_errors() {
        return Err(problems);
    }
    let Some(declared) = base(family, hidden, input) else { return Err(problems) };
    if keys.origin(Key::Layers).is_none() {
        keys.set(Key::Layers, Spanned::unplaced(baked.layers.len()));
    }
    let mut declared = Declared { keys, weights: Some(Spanned::unplaced(baked)), ..declared };
    problems.extend(declared.computed_as_by(Framework::PyTorch, &Origin::Unknown));
    if problems.has_errors() { Err(problems) } else { Ok((declared, left)) }
}
