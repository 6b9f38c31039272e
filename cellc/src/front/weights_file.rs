//! What is said of a file of PyTorch's weights: by options of the command, keys of a macro, methods of the Builder, or the file's own metadata, where a key
//! is called `cellc.` and its name.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::declared::{CLIP, Declared, Family, Said, is_clip};
use super::layout::{Framework, GateOrder};
use super::safetensors::{Found, Selection, TensorFile, pytorch};
use super::underflows;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::model::{Activation, CellKind, Direction, Model, ResetGate};

/// A key, in the words of all ways in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the table says it
pub enum Key {
    Cell,
    HiddenSize,
    InputSize,
    Batch,
    Sequence,
    Direction,
    Layers,
    LinearBeforeReset,
    Clip,
    Activations,
    GateOrder,
    Prefix,
    Head,
    HeadActivation,
    Skip,
}

/// Every key, its name, and what its value is.
const KEYS: [(Key, &str, &str); 15] = [
    (Key::Cell, "cell", "rnn, gru or lstm"),
    (Key::HiddenSize, "hidden_size", "a whole number from 1"),
    (Key::InputSize, "input_size", "a whole number from 1"),
    (Key::Batch, "batch", "a whole number from 1"),
    (Key::Sequence, "sequence", "a whole number of steps from 1"),
    (Key::Direction, "direction", "forward, reverse or bidirectional"),
    (Key::Layers, "layers", "a whole number from 1"),
    (Key::LinearBeforeReset, "linear_before_reset", "true or false"),
    (Key::Clip, "clip", CLIP),
    (Key::Activations, "activations", "activations with commas between them: sigmoid,tanh"),
    (Key::GateOrder, "gate_order", "the letters i, f, c and o of an LSTM, r, z and n of a GRU: ifco, rzn"),
    (Key::Prefix, "prefix", "the name of a module"),
    (Key::Head, "head", "the name of a dense layer"),
    (Key::HeadActivation, "head_activation", "an activation: sigmoid, leaky_relu(0.1)"),
    (Key::Skip, "skip", "true or false"),
];

/// What stands in front of a key in the metadata of a file.
const METADATA: &str = "cellc.";

impl Key {
    /// Every key.
    pub fn all() -> impl Iterator<Item = Self> {
        KEYS.iter().map(|(key, ..)| *key)
    }

    /// Its name in metadata and in macros; a macro says `steps` for `sequence`.
    pub fn name(self) -> &'static str {
        KEYS[self as usize].1
    }

    fn valid(self) -> &'static str {
        KEYS[self as usize].2
    }
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue(Value);

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Cell(Family),
    Size(usize),
    Direction(Direction),
    Switch(bool),
    Number(f32),
    Activations(Vec<Activation>),
    GateOrder(GateOrder),
    Text(String),
}

impl KeyValue {
    /// Reads the value of a key.
    ///
    /// # Errors
    /// What would be valid.
    pub fn parse(key: Key, text: &str) -> Result<Self, String> {
        let text = text.trim();
        let size = || text.parse().ok().filter(|&n: &usize| n > 0).map(Value::Size);
        let value = match key {
            Key::Cell => {
                [Family::Rnn, Family::Gru, Family::Lstm].into_iter().find(|f| f.name() == text).map(Value::Cell)
            }
            Key::HiddenSize | Key::InputSize | Key::Batch | Key::Sequence | Key::Layers => size(),
            Key::Direction => Direction::ALL.into_iter().find(|d| d.name() == text).map(Value::Direction),
            Key::LinearBeforeReset | Key::Skip => text.parse().ok().map(Value::Switch),
            Key::Clip => {
                let number = text.parse().ok().filter(|n: &f32| n.is_finite() && is_clip(*n) && !underflows(text, *n));
                number.map(Value::Number)
            }
            Key::Activations => return activations(text).map(|list| Self(Value::Activations(list))),
            Key::HeadActivation => {
                return activations(text).and_then(|list| match list[..] {
                    [_] => Ok(Self(Value::Activations(list))),
                    _ => Err(format!("{} activations are given; {}", list.len(), key.valid())),
                });
            }
            Key::GateOrder => GateOrder::new(text).map(Value::GateOrder),
            Key::Prefix | Key::Head => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
        };
        value.map(Self).ok_or_else(|| key.valid().to_owned())
    }
}

/// Activations with commas between them, those of their numbers apart.
fn activations(text: &str) -> Result<Vec<Activation>, String> {
    let mut depth = 0usize;
    let mut part = String::new();
    let mut parts = Vec::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    parts.push(part);
    let one = |text: &String| text.trim().parse::<Activation>().map_err(|why| format!("{}: {why}", quoted(text)));
    parts.iter().map(one).collect()
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::Cell(family) => f.write_str(family.name()),
            Value::Size(size) => write!(f, "{size}"),
            Value::Direction(direction) => f.write_str(direction.name()),
            Value::Switch(on) => write!(f, "{on}"),
            Value::Number(number) => write!(f, "{number:?}"),
            Value::Activations(list) => f.write_str(&list.iter().map(|a| a.label()).collect::<Vec<_>>().join(", ")),
            Value::GateOrder(order) => f.write_str(&order.letters()),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// The keys that are given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys(BTreeMap<Key, Said<KeyValue>>);

impl Keys {
    /// Adds one, if it is given.
    pub fn add(&mut self, key: Key, value: Option<KeyValue>) {
        self.said(key, value.map(|KeyValue(value)| Said { value, origin: Origin::Unknown }));
    }

    fn said(&mut self, key: Key, value: Option<Said<Value>>) {
        if let Some(Said { value, origin }) = value {
            self.0.insert(key, Said { value: KeyValue(value), origin });
        }
    }

    /// The keys that are given.
    pub fn given(&self) -> impl Iterator<Item = Key> {
        self.0.keys().copied()
    }

    pub(crate) fn cell(&mut self, family: Family) {
        self.said(Key::Cell, Some(Said { value: Value::Cell(family), origin: Origin::Unknown }));
    }

    pub(crate) fn gate_order(&mut self, order: Option<&Said<GateOrder>>) {
        self.said(Key::GateOrder, order.map(|said| said.with(Value::GateOrder(said.value))));
    }

    pub(crate) fn text(&mut self, key: Key, text: Option<&Said<String>>) {
        self.said(key, text.map(|said| said.with(Value::Text(said.value.clone()))));
    }

    pub(crate) fn head_activation(&mut self, activation: Option<&Said<Activation>>) {
        self.said(Key::HeadActivation, activation.map(|said| said.with(Value::Activations(vec![said.value]))));
    }

    /// Everything that a declaration says, its sizes apart, which need not have been given.
    pub(crate) fn of_declared(&mut self, declared: &Declared) {
        let Declared { batch, steps, direction, layers, linear_before_reset, clip, activations, skip, .. } = declared;
        self.cell(declared.family);
        for (key, size) in [(Key::Batch, batch), (Key::Sequence, steps), (Key::Layers, layers)] {
            self.size(key, size.as_ref());
        }
        self.said(Key::Direction, direction.as_ref().map(|said| said.with(Value::Direction(said.value))));
        for (key, switch) in [(Key::LinearBeforeReset, linear_before_reset), (Key::Skip, skip)] {
            self.said(key, switch.as_ref().map(|said| said.with(Value::Switch(said.value))));
        }
        self.said(Key::Clip, clip.as_ref().map(|said| said.with(Value::Number(said.value))));
        self.said(Key::Activations, activations.as_ref().map(|said| said.with(Value::Activations(said.value.clone()))));
    }

    pub(crate) fn size(&mut self, key: Key, size: Option<&Said<usize>>) {
        self.said(key, size.map(|said| said.with(Value::Size(said.value))));
    }

    fn get<T>(&self, key: Key, of: impl Fn(&Value) -> Option<T>) -> Option<Said<T>> {
        let said = self.0.get(&key)?;
        Some(said.with(of(&said.value.0)?))
    }

    fn size_of(&self, key: Key) -> Option<Said<usize>> {
        self.get(key, |value| if let Value::Size(size) = value { Some(*size) } else { None })
    }

    fn switch_of(&self, key: Key) -> Option<Said<bool>> {
        self.get(key, |value| if let Value::Switch(on) = value { Some(*on) } else { None })
    }

    fn text_of(&self, key: Key) -> Option<String> {
        Some(self.get(key, |value| if let Value::Text(text) = value { Some(text.clone()) } else { None })?.value)
    }

    fn activations_of(&self, key: Key) -> Option<Said<Vec<Activation>>> {
        self.get(key, |value| if let Value::Activations(list) = value { Some(list.clone()) } else { None })
    }

    fn direction_of(&self) -> Option<Said<Direction>> {
        self.get(Key::Direction, |value| if let Value::Direction(d) = value { Some(*d) } else { None })
    }

    /// Adds what the metadata of a file say: of a key that is given, the same.
    fn with_metadata(&mut self, file: &TensorFile) -> Diagnostics {
        let mut problems = Diagnostics::default();
        for (name, text) in file.metadata() {
            let Some(own) = name.strip_prefix(METADATA) else { continue };
            let Some(key) = Key::all().find(|key| key.name() == own) else {
                let found = format!("the metadata of {} have the key {}", file.shown, quoted(name));
                let names: Vec<String> = KEYS.iter().map(|(_, name, _)| format!("{METADATA}{name}")).collect();
                problems.push(Diagnostic::error(Origin::Unknown, found).valid(names.join(", ")));
                continue;
            };
            let value = match KeyValue::parse(key, text) {
                Ok(value) => value,
                Err(valid) => {
                    let found = format!("{} is {} in the metadata of {}", name, quoted(text), file.shown);
                    problems.push(Diagnostic::error(Origin::Unknown, found).valid(valid));
                    continue;
                }
            };
            match self.0.get(&key) {
                Some(said) if said.value != value => {
                    let (name, here) = (key.name(), &said.value);
                    let found = format!("`{name}` is {here} here and {value} in the metadata of {}", file.shown);
                    let help = format!("leave `{name}` out, and that of the file is taken");
                    problems.push(Diagnostic::error(said.origin.clone(), found).valid(value.to_string()).help(help));
                }
                Some(_) => {}
                None => self.add(key, Some(value)),
            }
        }
        problems
    }
}

impl<T> Said<T> {
    /// Another value that is said at the same place.
    fn with<U>(&self, value: U) -> Said<U> {
        Said { value, origin: self.origin.clone() }
    }
}

/// Says keys as a way in says them: messages have their names between backticks.
pub fn in_words_of(problems: &mut Diagnostics, word: impl Fn(Key) -> String) {
    for problem in &mut problems.0 {
        for text in [Some(&mut problem.found), problem.valid.as_mut(), problem.help.as_mut()].into_iter().flatten() {
            for key in Key::all() {
                *text = text.replace(&format!("`{}`", key.name()), &word(key));
            }
        }
    }
}

/// Reads a file of PyTorch's weights. The second part of what is returned holds the warnings.
///
/// # Errors
/// Everything that is missing, or contradicts the file.
pub fn read(path: &Path, keys: Keys) -> Result<(Model, Diagnostics), Diagnostics> {
    let file = super::safetensors::read(path)?;
    let unplaced = |name: &str| Said { value: name.to_owned(), origin: Origin::Unknown };
    let base = |family: Family, hidden, input| {
        let declared_by = match family {
            Family::Rnn => "torch.nn.RNN",
            Family::Gru | Family::Augru => "torch.nn.GRU",
            Family::Lstm => "torch.nn.LSTM",
        };
        Some(Declared::new(family, declared_by, unplaced(family.name()), hidden, input))
    };
    let (declared, left) = declare(&file, keys, base)?;
    let mut problems = declared.problems();
    if problems.has_errors() {
        return Err(problems);
    }
    if let Some(first) = left.first() {
        let more = match left.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let found = format!("{} holds {}{more}, which nothing takes", file.shown, quoted(first));
        let mut problem = Diagnostic::warning(Origin::Unknown, found);
        problem.help = file.holds();
        problems.push(problem);
    }
    Ok((declared.model(), problems))
}

/// The layers that a file of PyTorch's weights is for, and the tensors that they do not take. `base` makes a declaration of what no file says, from the family and
/// the sizes; what `keys` and the file say is added.
///
/// # Errors
/// Everything that contradicts the file or its metadata, and what the file lacks.
pub(crate) fn declare(
    file: &TensorFile,
    mut keys: Keys,
    base: impl FnOnce(Family, Said<usize>, Said<usize>) -> Option<Declared>,
) -> Result<(Declared, Vec<String>), Diagnostics> {
    let mut problems = keys.with_metadata(file);
    let family = keys.get(Key::Cell, |value| if let Value::Cell(family) = value { Some(*family) } else { None });
    let Some(family) = family.map(|said| said.value) else {
        let found = format!("which cell {} has weights of is not said", file.shown);
        let mut problem = Diagnostic::error(Origin::Unknown, found).valid("--cell rnn, --cell gru or --cell lstm");
        problem.help = file.holds();
        problems.push(problem);
        return Err(problems);
    };
    if let (Some(said), None) = (keys.0.get(&Key::HeadActivation), keys.0.get(&Key::Head)) {
        let found = "`head_activation` is given without `head`";
        problems.push(Diagnostic::error(said.origin.clone(), found).help("name the dense layer by `head`"));
    }
    if let Some(said) = keys.0.get(&Key::LinearBeforeReset).filter(|_| family != Family::Gru) {
        let found = format!("`linear_before_reset` is given, and the cell is {}", family.name());
        problems.push(Diagnostic::error(said.origin.clone(), found).help("leave it out: only a gru has a reset gate"));
    }
    let gate_order = keys.get(Key::GateOrder, |value| if let Value::GateOrder(o) = value { Some(*o) } else { None });
    if let Some(said) = gate_order.as_ref().filter(|said| !said.value.fits(family.kind(ResetGate::AfterMatMul))) {
        let found = format!("`gate_order` is {}, and the cell is {}", said.value.letters(), family.name());
        problems.push(Diagnostic::error(said.origin.clone(), found).valid(Key::GateOrder.valid()));
    }
    if problems.has_errors() {
        return Err(problems);
    }
    let kind: CellKind = family.kind(ResetGate::AfterMatMul);
    let (prefix, head) = (keys.text_of(Key::Prefix), keys.text_of(Key::Head));
    let steps = keys.size_of(Key::Sequence);
    let direction = keys.direction_of();
    let meant = Selection {
        hidden_size: None,
        input_size: None,
        layers: keys.size_of(Key::Layers).map(|said| said.value),
        sequence: steps.as_ref().map(|_| direction.as_ref().map_or(Direction::Forward, |said| said.value)),
        prefix: prefix.as_deref(),
        head: head.as_deref(),
        head_activation: keys.activations_of(Key::HeadActivation).and_then(|said| said.value.first().copied()),
        gate_order: gate_order.map(|said| said.value),
    };
    let Found { hidden_size, input_size, baked, left } = pytorch(file, kind, &meant)?;
    for (key, read) in [(Key::HiddenSize, hidden_size), (Key::InputSize, input_size)] {
        if let Some(said) = keys.size_of(key).filter(|said| said.value != read) {
            let found = format!("`{}` is {} here and {read} in {}", key.name(), said.value, file.shown);
            let help = format!("or leave `{}` out: it is read from the file", key.name());
            problems.push(Diagnostic::error(said.origin, found).valid(read.to_string()).help(help));
        }
    }
    if problems.has_errors() {
        return Err(problems);
    }
    let unplaced = |size| Said { value: size, origin: Origin::Unknown };
    let sizes = [(Key::HiddenSize, hidden_size), (Key::InputSize, input_size)];
    let [hidden, input] = sizes.map(|(key, read)| keys.size_of(key).unwrap_or_else(|| unplaced(read)));
    let Some(mut declared) = base(family, hidden, input) else { return Err(problems) };
    (declared.batch, declared.steps, declared.direction) = (keys.size_of(Key::Batch), steps, direction);
    declared.layers = Some(keys.size_of(Key::Layers).unwrap_or_else(|| unplaced(baked.layers.len())));
    declared.linear_before_reset = keys.switch_of(Key::LinearBeforeReset);
    declared.clip = keys.get(Key::Clip, |value| if let Value::Number(n) = value { Some(*n) } else { None });
    declared.activations = keys.activations_of(Key::Activations);
    declared.skip = keys.switch_of(Key::Skip);
    declared.weights = Some(Said { value: baked, origin: Origin::Unknown });
    problems.extend(declared.computed_as_by(Framework::PyTorch, &Origin::Unknown));
    if problems.has_errors() { Err(problems) } else { Ok((declared, left)) }
}
