//! What advice tells users to set. Each way in names it as its users write it: an option, a method,
//! a key.

/// Something that a user sets.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Setting<'a> {
    /// The file of a model's weights.
    Weights,
    /// The batch size, and to which value.
    Batch(Option<usize>),
    /// The shapes of inputs.
    Shape,
    /// The shapes of inputs, where one leaves a size open.
    OpenShape,
    /// The shape of an input; `None` is a size that is left open.
    ShapeOf(&'a str, &'a [Option<usize>]),
    /// Sizes of dimensions that the file names.
    Dim,
    /// A named dimension that is left open.
    OpenDim(&'a str),
    /// Inputs that are constants.
    Constant,
    /// An input, and the number that it is.
    ConstantOf(&'a str, f64),
    /// The most iterations of a loop.
    MaxSteps,
    /// Which inputs and outputs are states.
    State,
    /// These are: names of inputs and outputs.
    StateOf(&'a [(String, String)]),
    /// Nothing is a state.
    NoState,
    /// The instruction sets.
    Isa,
    /// A key of a declaration.
    Key {
        /// What macros and the Builder call it.
        name: &'static str,
        /// What the command line and the metadata of a file call it.
        in_files: &'static str,
    },
}

/// How a way in names what its users set.
#[derive(Clone, Copy, Debug)]
pub struct Wording(pub fn(Setting<'_>) -> String);

impl Wording {
    /// The name of a setting, and its value if it has one.
    pub fn of(self, setting: Setting<'_>) -> String {
        (self.0)(setting)
    }
}

/// As the command line has it.
impl Default for Wording {
    fn default() -> Self {
        Self(option)
    }
}

/// Two wordings of a diagnostic are equal: tests compare diagnostics by their content.
impl PartialEq for Wording {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The option of the command line.
fn option(setting: Setting<'_>) -> String {
    match setting {
        Setting::Weights => "--weights".to_owned(),
        Setting::Batch(None) => "--batch".to_owned(),
        Setting::Batch(Some(rows)) => format!("--batch {rows}"),
        Setting::Shape | Setting::OpenShape => "--shape".to_owned(),
        Setting::ShapeOf(input, sizes) => {
            let sizes = sizes.iter().map(|size| size.map_or("?".to_owned(), |size| size.to_string()));
            format!("--shape {}", in_shell(&format!("{input}={}", sizes.collect::<Vec<_>>().join(","))))
        }
        Setting::Dim => "--dim".to_owned(),
        Setting::OpenDim(name) => format!("--dim {}", in_shell(&format!("{name}=?"))),
        Setting::Constant => "--const".to_owned(),
        Setting::ConstantOf(input, number) => format!("--const {}", in_shell(&format!("{input}={number}"))),
        Setting::MaxSteps => "--max-steps".to_owned(),
        Setting::State => "--state".to_owned(),
        Setting::StateOf(pairs) => {
            let pairs =
                pairs.iter().map(|(input, output)| format!("--state {}", in_shell(&format!("{input}={output}"))));
            pairs.collect::<Vec<_>>().join(" ")
        }
        Setting::NoState => "--no-state".to_owned(),
        Setting::Isa => "--isa".to_owned(),
        Setting::Key { in_files, .. } => format!("--{}", in_files.replace('_', "-")),
    }
}

/// A word for a shell, in quotes where one could take it for something else: zsh takes a question
/// mark for a pattern.
pub(crate) fn in_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+@%,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The call of the Builder's method that sets shapes or states.
pub(crate) fn method(setting: Setting<'_>) -> Option<String> {
    Some(match setting {
        Setting::ShapeOf(input, sizes) => match sizes.iter().copied().collect::<Option<Vec<usize>>>() {
            Some(sizes) => format!("shape({input:?}, {sizes:?})"),
            None => format!("open_shape({input:?}, {sizes:?})"),
        },
        Setting::StateOf(pairs) => {
            let pairs = pairs.iter().map(|(input, output)| format!("({input:?}.into(), {output:?}.into())"));
            format!("state(cellc::State::Pairs(vec![{}]))", pairs.collect::<Vec<_>>().join(", "))
        }
        Setting::NoState => "state(cellc::State::None)".to_owned(),
        Setting::OpenDim(name) => format!("open_dim({name:?})"),
        Setting::ConstantOf(input, number) => format!("constant({input:?}, {number})"),
        _ => return None,
    })
}
