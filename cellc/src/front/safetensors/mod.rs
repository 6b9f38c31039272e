//! Weights from files of tensors, `.safetensors` or another format: PyTorch's by the names in a
//! `state_dict`, Apple's by the names of `gru`'s arguments.

mod header;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use super::apple::AppleResetGate;
use super::bounded;
use super::export::EXPORT_WITH_OPEN_STEPS;
use super::keys::Key;
use super::layout::{
    ConversionTarget, Framework, GateOrder, NamedTensor, WeightSet, convert, in_f32,
};
use super::model_file::ModelFile;
use super::not_finite;
use super::weight_norm::{projection, remedy_of_weight_norm, undeclared};
use super::weights::{Baked, CellWeights, DenseLayer};
use crate::diagnostic::{
    Diagnostic, Diagnostics, Message, Origin, WITHOUT_PROJECTIONS, message, quoted,
};
use crate::model::{Activation, CellKind, Direction, ElementType, InputFile, Tensor, shape_text};

/// The most surplus tensors in a message.
const MOST_LISTED: usize = 8;

/// The tensors of a file, as ranges of its bytes.
#[derive(Debug)]
pub(crate) struct TensorFile {
    /// The file as named by the user.
    pub(super) shown: String,
    file: InputFile,
    metadata: BTreeMap<String, String>,
    /// Tensors by name. `Err`: the name of an unsupported element type.
    tensors: BTreeMap<String, Result<Tensor, &'static str>>,
}

/// The tensors to read from a file, and their declared sizes and order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection<'a> {
    /// `None`: as in the file.
    pub(crate) hidden_size: Option<usize>,
    /// `None`: as in the file.
    pub(crate) input_size: Option<usize>,
    /// `None`: all layers of the file.
    pub(crate) layers: Option<usize>,
    /// Direction of a sequence. `None`: one step of a cell.
    pub(crate) sequence: Option<Direction>,
    /// The name of the recurrent module, a prefix of the names of its tensors.
    pub(crate) prefix: Option<&'a str>,
    /// The name of the dense layer behind the recurrent layers.
    pub(crate) head: Option<&'a str>,
    pub(crate) head_activation: Option<Activation>,
    /// `None`: PyTorch's order.
    pub(crate) gate_order: Option<GateOrder>,
}

/// The weights found in a file.
#[derive(Debug)]
pub(crate) struct FileWeights {
    pub(crate) hidden_size: usize,
    pub(crate) input_size: usize,
    pub(crate) baked: Baked,
    /// The names of the unused tensors, which all belong to other modules.
    pub(crate) unread: Vec<String>,
}

fn error(found: impl Into<Message>) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, found)
}

/// Reads the tensors and the metadata of a `.safetensors` file.
///
/// # Errors
/// If the file cannot be read or is no `.safetensors` file.
pub(crate) fn read<'a>(file: impl Into<ModelFile<'a>>) -> Result<TensorFile, Diagnostics> {
    let file = file.into();
    let shown = file.shown();
    let refuse = |why: String| {
        let problem =
            error(format!("cannot read {}: {why}", quoted(&shown))).valid("a .safetensors file");
        Diagnostics(vec![problem])
    };
    let unreadable = |e: io::Error| {
        let mut problems = refuse(e.to_string());
        let help = match e.kind() {
            io::ErrorKind::FileTooLarge => "save the tensors of the recurrent layers alone",
            _ => "check the path, and that the file may be read",
        };
        problems.0[0].help = Some(help.into());
        problems.0[0].cause = e.into();
        problems
    };
    let bytes = bounded::read(file.path, &bounded::WEIGHTS).map_err(unreadable)?;
    let header = header::read(&bytes).map_err(refuse)?;
    let file = super::input_file(file.file_name(), &bytes);
    let bytes = Arc::new(bytes);
    let mut tensors = BTreeMap::new();
    for info in header.tensors {
        let tensor = match info.element {
            (name, None) => Err(name),
            (_, Some(element)) => {
                let tensor = Tensor::new(info.shape, element, bytes.clone(), info.bytes);
                Ok(tensor
                    .ok_or_else(|| refuse(format!("the tensor {} is cut", quoted(&info.name))))?)
            }
        };
        tensors.insert(info.name, tensor);
    }
    Ok(TensorFile { shown, file, metadata: header.metadata, tensors })
}

impl TensorFile {
    /// Tensors of a file in another format, without metadata. `shown`: the file as named by the
    /// user.
    pub(super) fn new(shown: String, file: InputFile, tensors: BTreeMap<String, Tensor>) -> Self {
        let tensors = tensors.into_iter().map(|(name, tensor)| (name, Ok(tensor))).collect();
        Self { shown, file, metadata: BTreeMap::new(), tensors }
    }

    /// The tensor of a name. `None` if the tensor is missing or has an unsupported element type.
    pub(crate) fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)?.as_ref().ok()
    }

    /// The file's metadata, sorted by name.
    pub(super) fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.iter().map(|(name, text)| (&name[..], &text[..]))
    }

    /// The error for the first of the tensors `names` that belongs to a layer that no option
    /// declares. `None` if there is none.
    pub(super) fn undeclared(&self, names: &[String]) -> Option<Diagnostic> {
        let axes = |name: &str| self.get(name).map_or(0, |tensor| tensor.shape().len());
        let (name, what) = undeclared(names.iter().map(|name| (&name[..], axes(name))))?;
        let found = format!(
            "{} in {} is {what}, which no declared layer computes",
            quoted(name),
            self.shown
        );
        let kind = what.split_once(' ').map_or(what, |(_, kind)| kind);
        let help = format!(
            "export the whole network, for example {EXPORT_WITH_OPEN_STEPS}; if the layers are \
             wanted without the {kind}, remove its tensors from the file"
        );
        Some(error(found).valid("recurrent layers, and one dense layer behind them").help(help))
    }

    /// The error for a file that no options can declare: all LSTM layers under `prefix` have
    /// projections, or a layer of the file is neither recurrent nor dense. For users who have given
    /// no kind of cell.
    pub(super) fn obstacle(&self, prefix: Option<&str>) -> Option<Diagnostic> {
        let prefix = with_dot(prefix);
        let members = || self.tensors.keys().filter(|name| name.starts_with(&prefix));
        let count =
            |tensor: &str| members().filter(|name| name.rsplit('.').next() == Some(tensor)).count();
        if count("weight_hr_l0") == count("weight_hh_l0")
            && let Some(name) = projection(members().map(|name| &name[..]))
        {
            return Some(self.with_projection(name));
        }
        self.undeclared(&self.tensors.keys().cloned().collect::<Vec<_>>())
    }

    fn with_projection(&self, name: &str) -> Diagnostic {
        let found = format!(
            "{} has the tensor {}: an LSTM with projections (proj_size)",
            self.shown,
            quoted(name)
        );
        error(found).valid("an LSTM without proj_size").help(WITHOUT_PROJECTIONS)
    }

    /// A list of the file's modules, for messages. `None` for a file without tensors.
    pub(super) fn holds(&self) -> Option<Message> {
        let names: Vec<String> = self.tensors.keys().cloned().collect();
        self.lists(&names, &self.head_inputs())
    }

    /// A list of the modules with unused tensors, for messages. `has_head`: true if the dense layer
    /// is declared.
    pub(super) fn holds_unused(&self, unused: &[String], has_head: bool) -> Option<Message> {
        let head_inputs = if has_head { BTreeSet::new() } else { self.head_inputs() };
        self.lists(unused, &head_inputs)
    }

    /// A list of the modules of the given tensors, for messages. `head_inputs`: numbers of columns
    /// of the matrices that may be the dense layer behind the recurrent layers.
    fn lists(&self, names: &[String], head_inputs: &BTreeSet<usize>) -> Option<Message> {
        let mut modules: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
        for (name, tensor) in self.tensors.iter().filter(|(name, _)| names.contains(name)) {
            let (module, own) = name.rsplit_once('.').unwrap_or(("", name));
            let shape = tensor
                .as_ref()
                .map_or_else(|element| format!("of {element}"), |t| shape_text(t.shape()));
            modules.entry(module).or_default().insert(own, shape);
        }
        let mut told: Vec<Message> = modules
            .iter()
            .map(|(module, tensors)| self.module(module, tensors, head_inputs))
            .collect();
        let is_undeclared = |module: &&&str| {
            self.dense(module).is_some_and(|(_, inputs)| !head_inputs.contains(&inputs))
        };
        let undeclared: Vec<String> =
            modules.keys().filter(is_undeclared).map(|module| quoted(module)).collect();
        let more = told.len().saturating_sub(MOST_LISTED);
        told.truncate(MOST_LISTED);
        if more > 0 {
            told.push(format!("{more} modules more").into());
        }
        if told.is_empty() {
            return None;
        }
        let told = Message::joined(told, "; ");
        Some(match &undeclared[..] {
            [] => message!("the file has {}", told),
            layers => message!(
                "no option declares {}: for a network that computes them, {}. The file has {}",
                layers.join(", "),
                EXPORT_WITH_OPEN_STEPS,
                told
            ),
        })
    }

    /// Rows and columns of a module's matrix `weight`. `None` without a module name or without this
    /// matrix.
    fn dense(&self, module: &str) -> Option<(usize, usize)> {
        if module.is_empty() { None } else { self.matrix(module, "weight") }
    }

    /// Rows and columns of a module's matrix. `None` if the tensor is missing or no matrix.
    fn matrix(&self, module: &str, own: &str) -> Option<(usize, usize)> {
        match self.get(&format!("{}{own}", with_dot(Some(module))))?.shape() {
            &[rows, columns] => Some((rows, columns)),
            _ => None,
        }
    }

    /// Possible input sizes of a dense layer: the hidden sizes of the file's layers, and twice the
    /// hidden sizes of bidirectional layers.
    fn head_inputs(&self) -> BTreeSet<usize> {
        let units = |name: &String| {
            let last_part =
                name.rsplit('.').next().filter(|last_part| last_part.starts_with("weight_hh"))?;
            let columns = *self.get(name)?.shape().get(1)?;
            Some(if last_part.ends_with("_reverse") { columns.saturating_mul(2) } else { columns })
        };
        self.tensors.keys().filter_map(units).collect()
    }

    /// A module in words: its likely kind of layer, and the options to select it.
    fn module(
        &self,
        module: &str,
        tensors: &BTreeMap<&str, String>,
        head_inputs: &BTreeSet<usize>,
    ) -> Message {
        let matrix = |own: &str| self.matrix(module, own);
        let first = |name: &str| matrix(&format!("{name}_l0")).or_else(|| matrix(name));
        let prefix = if module.is_empty() {
            Message::default()
        } else {
            message!(" {} {}", Key::Prefix.setting(), module)
        };
        if let (Some((rows, inputs)), Some((_, hidden))) = (first("weight_ih"), first("weight_hh"))
            && let Some((name, _, word)) =
                CELLS.iter().find(|(_, gates, _)| Some(rows) == gates.checked_mul(hidden))
        {
            let layers = (0..tensors.len())
                .take_while(|l| tensors.contains_key(&format!("weight_ih_l{l}")[..]))
                .count();
            let layers = if layers > 1 { format!(", {layers} layers") } else { String::new() };
            let is_bidirectional = tensors.keys().any(|own| own.ends_with("_reverse"));
            let directions = if is_bidirectional { ", both ways" } else { "" };
            let plural = if inputs == 1 { "" } else { "s" };
            return message!(
                "{} of {} units and {} input{}{}{} ({} \
                 {}{})",
                name,
                hidden,
                inputs,
                plural,
                layers,
                directions,
                Key::Cell.setting(),
                word,
                prefix
            );
        }
        if let Some((outputs, inputs)) = self.dense(module) {
            let option = if head_inputs.contains(&inputs) {
                message!("{} {}", Key::Head.setting(), module)
            } else {
                quoted(module).into()
            };
            return message!("a dense layer from {} to {} ({})", inputs, outputs, option);
        }
        let listed: Vec<String> = tensors
            .iter()
            .take(MOST_LISTED)
            .map(|(own, shape)| format!("{} {shape}", quoted(own)))
            .collect();
        let in_module =
            if module.is_empty() { String::new() } else { format!(" in {}", quoted(module)) };
        format!("{}{in_module}", listed.join(", ")).into()
    }
}

/// PyTorch's cells: name, number of gates, and the option's word.
const CELLS: [(&str, usize, &str); 3] =
    [("an RNN", 1, "rnn"), ("a GRU", 3, "gru"), ("an LSTM", 4, "lstm")];

/// A reader of tensors that records the names of the tensors taken.
struct TensorReader<'a> {
    file: &'a TensorFile,
    taken: BTreeSet<String>,
    problems: Diagnostics,
}

impl<'a> TensorReader<'a> {
    fn new(file: &'a TensorFile) -> Self {
        Self { file, taken: BTreeSet::new(), problems: Diagnostics::default() }
    }

    /// A tensor of the recurrent module. `None` after an error. `shape`: the expected shape, for
    /// messages.
    fn tensor(&mut self, name: &str, shape: &str) -> Option<NamedTensor> {
        self.module_tensor(name, shape, Key::Prefix)
    }

    /// A tensor of the module named by the option `key`. `None` after an error.
    fn module_tensor(&mut self, name: &str, shape: &str, key: Key) -> Option<NamedTensor> {
        self.taken.insert(name.to_owned());
        match self.file.tensors.get(name) {
            Some(Ok(tensor)) => match beyond_f32(tensor) {
                None => {
                    let named = format!("{} in {}", quoted(name), self.file.shown);
                    let not_finite =
                        tensor.not_finite().map(|value| not_finite(Origin::Unknown, &named, value));
                    self.problems.0.extend(not_finite);
                    Some(NamedTensor { name: name.to_owned(), tensor: tensor.clone(), flat: false })
                }
                Some(value) => {
                    let found = format!(
                        "{} in {} holds {value:e}, more than f32 holds",
                        quoted(name),
                        self.file.shown
                    );
                    self.problems.push(error(found).valid("numbers of a magnitude up to 3.4e38"));
                    None
                }
            },
            Some(Err(element)) => {
                let found = format!(
                    "{} in {} has elements of type {element}",
                    quoted(name),
                    self.file.shown
                );
                self.problems.push(error(found).valid("f32, f16, bf16, f64"));
                None
            }
            None => {
                let found = format!("{} has no tensor {}", self.file.shown, quoted(name));
                let mut problem =
                    error(found).valid(format!("a tensor of that name, of shape {shape}"));
                let normed = remedy_of_weight_norm(self.file.tensors.keys().map(String::as_str));
                let help = normed.map(Message::from).or_else(|| self.elsewhere(name, key));
                if let Some(help) = help.or_else(|| self.file.holds()) {
                    problem = problem.help(help);
                }
                self.problems.push(problem);
                None
            }
        }
    }

    /// Help with the names of other modules that contain a tensor of this name and, for
    /// [`Key::Head`], may be the dense layer. `None` if no module does.
    fn elsewhere(&self, name: &str, key: Key) -> Option<Message> {
        let last_part = name.rsplit('.').next()?;
        let inputs = self.file.head_inputs();
        let fits = |module: &&str| {
            key != Key::Head
                || self.file.dense(module).is_some_and(|(_, columns)| inputs.contains(&columns))
        };
        let names = self.file.tensors.keys();
        let modules: Vec<&str> = names
            .filter_map(|other| other.strip_suffix(last_part)?.strip_suffix('.'))
            .filter(fits)
            .take(3)
            .collect();
        let modules: Vec<String> = modules.into_iter().map(quoted).collect();
        let option = key.setting();
        (!modules.is_empty()).then(|| {
            message!("the file has it in {}: name the module by {}", modules.join(", "), option)
        })
    }

    fn has(&self, name: &str) -> bool {
        self.file.tensors.contains_key(name)
    }

    /// Reports the tensors under `prefix` that were not taken. `help`: the advice for the first
    /// tensor.
    fn surplus(&mut self, prefix: &str, help: impl Fn(&str) -> Message) {
        let names = self.file.tensors.keys();
        let surplus: Vec<&String> =
            names.filter(|name| name.starts_with(prefix) && !self.taken.contains(*name)).collect();
        let listed: Vec<String> =
            surplus.iter().take(MOST_LISTED).map(|name| quoted(name)).collect();
        let Some(first) = surplus.first() else { return };
        let rest = match surplus.len().saturating_sub(MOST_LISTED) {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        let found = format!("no layer uses {}{rest} in {}", listed.join(", "), self.file.shown);
        self.problems.push(error(found).help(help(first)));
    }
}

/// The first finite number beyond the range of f32.
fn beyond_f32(tensor: &Tensor) -> Option<f64> {
    let count = if tensor.element() == ElementType::F64 { tensor.len() } else { 0 };
    (0..count)
        .map(|i| tensor.get_f64(i))
        .find(|value| value.is_finite() && (*value as f32).is_infinite())
}

fn with_dot(prefix: Option<&str>) -> String {
    match prefix.map(|prefix| prefix.trim_end_matches('.')) {
        None | Some("") => String::new(),
        Some(prefix) => format!("{prefix}."),
    }
}

/// Recurrent layers of PyTorch and the dense layer behind them. The tensors are `weight_ih_l0`,
/// `weight_hh_l0`, `bias_ih_l0` and `bias_hh_l0`, with the suffix `_reverse` for the reverse
/// direction; for a cell module, without `_l0`. Biases are present in all layers or in none.
///
/// # Errors
/// Every tensor that is missing, surplus, or of the wrong shape or type. Or a module with
/// projections, with weights of another kind of cell, with both directions where one is declared,
/// or with fewer tensors than declared layers.
pub(crate) fn pytorch(
    file: &TensorFile,
    kind: CellKind,
    selection: &Selection<'_>,
) -> Result<FileWeights, Diagnostics> {
    let mut reading = TensorReader::new(file);
    let module = Module::new(file, kind, selection);
    module.refuse_what_is_not_read(file)?;
    let (layers, numbered) = module.layers(file)?;
    let (hidden_size, input_size) = module.sizes(&mut reading)?;
    module.refuse_other_cells(file, hidden_size)?;
    let any_bias =
        file.tensors.keys().any(|name| name.starts_with(&format!("{}bias_", module.prefix)));
    let mut converted: Vec<CellWeights> = Vec::new();
    for layer in 0..layers {
        let inputs =
            if layer == 0 { input_size } else { hidden_size.saturating_mul(module.directions) };
        let Some(sets) = module.weights(&mut reading, layer, [hidden_size, inputs], any_bias)
        else {
            continue;
        };
        let wanted = ConversionTarget {
            kind,
            hidden_size,
            input_size: inputs,
            sequence: selection.sequence.is_some(),
            outer_bias: false,
            gate_order: selection.gate_order,
        };
        match convert(Framework::PyTorch, wanted, &sets) {
            Ok(weights) => converted.push(weights),
            Err(problems) => reading.problems.extend(problems),
        }
    }
    let outputs = hidden_size.saturating_mul(module.directions);
    let head =
        selection.head.and_then(|head| reading.head(head, outputs, selection.head_activation));
    reading.surplus(&module.prefix, |name| module.help_for_surplus(name, numbered));
    if reading.problems.has_errors() {
        return Err(reading.problems);
    }
    let unread =
        file.tensors.keys().filter(|name| !reading.taken.contains(*name)).cloned().collect();
    let taken = reading.with_types(&order_of_gates(kind, any_bias, selection));
    let baked = Baked {
        layers: converted,
        head,
        meaning: taken,
        file: Some(file.file.clone()),
        warnings: reading.problems,
    };
    Ok(FileWeights { hidden_size, input_size, baked, unread })
}

/// The conversion of the file's gates and biases to those of the cell, for the comment at the top
/// of generated files.
fn order_of_gates(kind: CellKind, any_bias: bool, selection: &Selection<'_>) -> String {
    if let Some(given) = selection.gate_order {
        return format!("gates given as {}, biases as PyTorch has them", given.letters());
    }
    let order = match (kind, any_bias) {
        (CellKind::Gru(_), true) => {
            "PyTorch's r, z, n to z, r, h; b_ih + b_hh of z and r summed in f32"
        }
        (CellKind::Gru(_), false) => "PyTorch's r, z, n to z, r, h; no biases",
        (CellKind::Lstm, true) => "PyTorch's i, f, g, o to f, i, c, o; b_ih + b_hh summed in f32",
        (CellKind::Lstm, false) => "PyTorch's i, f, g, o to f, i, c, o; no biases",
        (_, true) => "PyTorch's; b_ih + b_hh summed in f32",
        (_, false) => "PyTorch's; no biases",
    };
    order.to_owned()
}

/// A recurrent module of PyTorch in a file of tensors.
struct Module<'s> {
    kind: CellKind,
    selection: &'s Selection<'s>,
    /// The start of the names of the module's tensors, with its dot.
    prefix: String,
    /// True for `nn.GRUCell` and the like: the names of the only layer's tensors have no number.
    is_cell: bool,
    directions: usize,
}

impl<'s> Module<'s> {
    fn new(file: &TensorFile, kind: CellKind, selection: &'s Selection<'s>) -> Self {
        let prefix = with_dot(selection.prefix);
        let is_cell = selection.sequence.is_none()
            && file.tensors.contains_key(&format!("{prefix}weight_ih"));
        Self {
            kind,
            selection,
            prefix,
            is_cell,
            directions: selection.sequence.map_or(1, Direction::count),
        }
    }

    /// The name of a tensor of a layer and direction. The layers of a reverse sequence have the
    /// names of forward layers: they were trained forward on reversed input, as PyTorch has no
    /// layers of the reverse direction alone.
    fn name(&self, tensor: &str, layer: usize, reverse: bool) -> String {
        let prefix = &self.prefix;
        match (self.is_cell, reverse) {
            (true, _) => format!("{prefix}{tensor}"),
            (false, false) => format!("{prefix}{tensor}_l{layer}"),
            (false, true) => format!("{prefix}{tensor}_l{layer}_reverse"),
        }
    }

    /// Refuses projections, and layers of both directions where one direction is declared.
    fn refuse_what_is_not_read(&self, file: &TensorFile) -> Result<(), Diagnostics> {
        let own_names = || {
            file.tensors.keys().filter_map(|name| Some((name, name.strip_prefix(&self.prefix)?)))
        };
        if let Some(name) = projection(own_names().map(|(name, _)| &name[..])) {
            return Err(Diagnostics(vec![file.with_projection(name)]));
        }
        let is_reverse = |own: &str| own.starts_with("weight_ih") && own.ends_with("_reverse");
        let Some((name, _)) =
            own_names().find(|(_, own)| is_reverse(own)).filter(|_| self.directions == 1)
        else {
            return Ok(());
        };
        let found =
            format!("{} has the tensor {}: layers that run both ways", file.shown, quoted(name));
        let [steps, direction] = [Key::Steps, Key::Direction].map(|key| key.setting());
        let help = message!(
            "they see the whole sequence in a call: give its steps by {}, and {} \
             bidirectional",
            steps,
            direction
        );
        Err(Diagnostics(vec![error(found).valid("layers that run forward").help(help)]))
    }

    /// The number of layers to read, and the number of numbered layers in the file.
    fn layers(&self, file: &TensorFile) -> Result<(usize, usize), Diagnostics> {
        // PyTorch numbers layers without gaps, and a file has at least one tensor per layer
        let is_there = |layer: &usize| {
            file.tensors.contains_key(&format!("{}weight_ih_l{layer}", self.prefix))
        };
        let numbered = (0..file.tensors.len()).take_while(is_there).count();
        let layers = self.selection.layers.unwrap_or(numbered.max(1));
        if layers <= file.tensors.len().max(1) {
            return Ok((layers, numbered));
        }
        let found =
            format!("{layers} layers are declared, and {} has {}", file.shown, numbered.max(1));
        let valid = message!("{}, {}", numbered.max(1), Key::Layers.setting());
        Err(Diagnostics(vec![error(found).valid(valid)]))
    }

    /// The sizes of the hidden state and of the input, declared or those of the first layer's
    /// matrices.
    fn sizes(&self, reading: &mut TensorReader<'_>) -> Result<(usize, usize), Diagnostics> {
        let matrices = ["weight_hh", "weight_ih"].map(|name| self.name(name, 0, false));
        let columns = |name: &String| match reading.file.tensors.get(name) {
            Some(Ok(tensor)) => tensor.shape().get(1).copied(),
            _ => None,
        };
        let [hidden, input] = [self.selection.hidden_size, self.selection.input_size];
        let sizes =
            [hidden.or_else(|| columns(&matrices[0])), input.or_else(|| columns(&matrices[1]))];
        if let [Some(hidden), Some(input)] = sizes {
            return Ok((hidden, input));
        }
        let gates = self.kind.gates();
        for (name, columns) in matrices.iter().zip(["hidden_size", "input_size"]).rev() {
            reading.tensor(name, &format!("[{gates} * hidden_size, {columns}]"));
        }
        if !reading.problems.has_errors() {
            reading
                .problems
                .push(error(format!("the weights in {} are no matrices", reading.file.shown)));
        }
        Err(std::mem::take(&mut reading.problems))
    }

    /// Refuses weights with the shape of another kind of cell.
    fn refuse_other_cells(&self, file: &TensorFile, hidden_size: usize) -> Result<(), Diagnostics> {
        let gates = self.kind.gates();
        let recurrent = file.tensors.get(&self.name("weight_hh", 0, false));
        let Some(Ok([rows, columns])) = recurrent.map(|tensor| tensor.as_ref().map(Tensor::shape))
        else {
            return Ok(());
        };
        let fits = |count: usize| {
            count != gates
                && *rows == count.saturating_mul(*columns)
                && *columns == hidden_size
                && hidden_size > 0
        };
        let Some((cell, _, word)) = CELLS.iter().find(|(_, cell, _)| fits(*cell)) else {
            return Ok(());
        };
        let found = format!(
            "the weights in {} are those of {cell}: {rows} rows of {hidden_size}",
            file.shown
        );
        let gate_rows = gates.saturating_mul(hidden_size);
        let valid = format!("those of {}: {gate_rows} rows of {hidden_size}", self.kind.op_name());
        let help = message!("declare what the file holds: {} {}", Key::Cell.setting(), word);
        Err(Diagnostics(vec![error(found).valid(valid).help(help)]))
    }

    /// The weights of a layer, one set for each direction. `None` after an error.
    fn weights(
        &self,
        reading: &mut TensorReader<'_>,
        layer: usize,
        [hidden_size, input_size]: [usize; 2],
        any_bias: bool,
    ) -> Option<Vec<WeightSet>> {
        let rows = self.kind.gates().saturating_mul(hidden_size);
        let mut sets = Vec::new();
        for direction in 0..self.directions {
            let mut tensor = |name: &str, shape: &[usize]| {
                reading.tensor(&self.name(name, layer, direction == 1), &shape_text(shape))
            };
            let w = tensor("weight_ih", &[rows, input_size]);
            let r = tensor("weight_hh", &[rows, hidden_size]);
            let names: &[&str] = if any_bias { &["bias_ih", "bias_hh"] } else { &[] };
            let biases: Vec<Option<NamedTensor>> =
                names.iter().map(|name| tensor(name, &[rows])).collect();
            if let (Some(w), Some(r), Some(biases)) = (w, r, biases.into_iter().collect()) {
                sets.push(WeightSet { w, r, biases, peepholes: None });
            }
        }
        (sets.len() == self.directions).then_some(sets)
    }

    /// The advice for a tensor of the module that no layer takes.
    fn help_for_surplus(&self, name: &str, numbered: usize) -> Message {
        let suffix = &name[self.prefix.len()..];
        let starts = ["weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"];
        let is_of_layer = starts.iter().any(|start| suffix.starts_with(start));
        if is_of_layer && self.selection.layers.is_some_and(|layers| layers < numbered) {
            let layers = Key::Layers.setting();
            message!("the file has {} layers: leave out {}, and all are taken", numbered, layers)
        } else if is_of_layer {
            format!(
                "the layers of the file are numbered from 0 to {} without a gap",
                numbered.saturating_sub(1)
            )
            .into()
        } else if self.selection.prefix.is_none() {
            let [prefix, head] = [Key::Prefix, Key::Head].map(|key| key.setting());
            message!(
                "name the recurrent module by {}, and the dense layer behind it by {}",
                prefix,
                head
            )
        } else {
            "remove it from the file: nothing in the module may be ignored".into()
        }
    }
}

impl TensorReader<'_> {
    /// The dense layer: `weight [O, inputs]` and optionally `bias [O]`. `None` after an error.
    fn head(
        &mut self,
        name: &str,
        inputs: usize,
        activation: Option<Activation>,
    ) -> Option<DenseLayer> {
        let prefix = with_dot(Some(name));
        let shape = format!("[outputs, {inputs}]");
        let weight = self.module_tensor(&format!("{prefix}weight"), &shape, Key::Head)?;
        let bias_name = format!("{prefix}bias");
        let bias = if self.has(&bias_name) {
            Some(self.module_tensor(&bias_name, "[outputs]", Key::Head)?)
        } else {
            None
        };
        let before = self.problems.0.len();
        let outputs = weight.tensor.shape().first().copied().unwrap_or(0);
        let shapes = [(Some(&weight), vec![outputs, inputs]), (bias.as_ref(), vec![outputs])];
        for (named, shape) in shapes {
            if let Some(named) = named {
                super::layout::check(named, &shape, &mut self.problems);
            }
        }
        (self.problems.0.len() == before).then(|| DenseLayer {
            weight: in_f32(&weight.tensor),
            bias: bias.map(|bias| in_f32(&bias.tensor)),
            activation,
        })
    }

    /// The text `done` with the element types of tensors other than f32.
    fn with_types(&self, done: &str) -> String {
        let other_element = |name: &String| match self.file.tensors.get(name) {
            Some(Ok(tensor)) if tensor.element() != ElementType::F32 => {
                Some(tensor.element().name())
            }
            _ => None,
        };
        let types: BTreeSet<&str> = self.taken.iter().filter_map(other_element).collect();
        if types.is_empty() {
            return done.to_owned();
        }
        let types: Vec<&str> = types.into_iter().collect();
        format!("{done}; {} taken as f32", types.join(" and "))
    }
}

/// The weights of Apple's `gru` by the names of its arguments.
///
/// # Errors
/// If a tensor is missing, surplus, or of the wrong shape or type, if `input_bias` comes without
/// `bias`, or if the metadata have keys for layers of PyTorch.
pub(crate) fn apple(
    file: &TensorFile,
    gate: AppleResetGate,
    selection: &Selection<'_>,
) -> Result<FileWeights, Diagnostics> {
    let mut reading = TensorReader::new(file);
    let (kind, outer_bias) =
        (CellKind::Gru(gate.reset_gate()), gate == AppleResetGate::AfterMatMulOuterBias);
    let prefix = with_dot(selection.prefix);
    if let Some((name, _)) = file.metadata().find(|(name, _)| name.starts_with("cellc.")) {
        let found = format!("the metadata of {} have the key {}", file.shown, quoted(name));
        return Err(Diagnostics(vec![
            error(found).valid("such keys are for layers of PyTorch, not for Apple's gru"),
        ]));
    }
    let (matrices, biases) = Framework::Apple.tensor_names();
    let names = matrices.map(|name| format!("{prefix}{name}"));
    let matrices: Vec<NamedTensor> =
        names.iter().filter_map(|name| reading.tensor(name, "[3 * hidden_size, ..]")).collect();
    let biases: Vec<String> = biases.iter().map(|name| format!("{prefix}{name}")).collect();
    let mut given = Vec::new();
    for name in biases {
        if reading.has(&name) {
            given.extend(reading.tensor(&name, "[3 * hidden_size]"));
        }
    }
    let biases = given;
    reading.surplus(&prefix, |_| {
        "Apple's names are input_hidden_weight, hidden_hidden_weight, bias, input_bias".into()
    });
    let [w, r] = <[NamedTensor; 2]>::try_from(matrices).map_err(|_| reading.problems.clone())?;
    let columns = |named: &NamedTensor| named.tensor.shape().get(1).copied().unwrap_or(0);
    let (hidden_size, input) = (
        selection.hidden_size.unwrap_or_else(|| columns(&r)),
        selection.input_size.unwrap_or_else(|| columns(&w)),
    );
    let wanted = ConversionTarget {
        kind,
        hidden_size,
        input_size: input,
        sequence: true,
        outer_bias,
        gate_order: None,
    };
    if biases.len() == 1 && biases[0].name.ends_with("input_bias") {
        let found = format!("{} has `input_bias` and no `bias`", file.shown);
        reading.problems.push(error(found).valid("bias, or bias and input_bias, or neither"));
    }
    let converted =
        convert(Framework::Apple, wanted, &[WeightSet { w, r, biases, peepholes: None }]);
    match (converted, reading.problems.has_errors()) {
        (Ok(weights), false) => {
            let taken = reading.with_types("Apple's r, n, z to z, r, h");
            let (file, warnings) = (Some(file.file.clone()), reading.problems);
            let baked = Baked { layers: vec![weights], head: None, meaning: taken, file, warnings };
            Ok(FileWeights { hidden_size, input_size: input, baked, unread: Vec::new() })
        }
        (converted, _) => {
            reading.problems.extend(converted.err().unwrap_or_default());
            Err(reading.problems)
        }
    }
}
