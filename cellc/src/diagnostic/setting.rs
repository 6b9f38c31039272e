//! Settings that advice names. Each user interface has its own names for them: options, methods
//! or keys.

/// A setting of the user.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Setting {
    /// The file of a model's weights.
    Weights,
    /// The batch size, with a value to set if known.
    Batch(Option<usize>),
    /// The shapes of inputs.
    Shape,
    /// The shapes of inputs, to leave a size open.
    OpenShape,
    /// The shape of an input. A size of `None` stays open.
    ShapeOf(String, Vec<Option<usize>>),
    /// Sizes of the file's named dimensions.
    Dim,
    /// A named dimension, to leave it open.
    OpenDim(String),
    /// Inputs fixed to constants.
    Constant,
    /// An input, and the number to fix it to.
    ConstantOf(String, f64),
    /// The maximum number of iterations of a loop.
    MaxSteps,
    /// The size of an amplifier model that has several.
    Size,
    /// The pairs of inputs and outputs to be states.
    State,
    /// The given pairs of inputs and outputs, as states.
    StateOf(Vec<(String, String)>),
    /// No states.
    NoState,
    /// The instruction sets.
    Isa,
    /// A key of a declaration.
    Key {
        /// Name in macros and in the Builder.
        name: &'static str,
        /// Name on the command line and in the metadata of a file.
        in_files: &'static str,
    },
}

/// The option of the command line for a setting.
pub fn option(setting: &Setting) -> String {
    match setting {
        Setting::Weights => "--weights".to_owned(),
        Setting::Batch(None) => "--batch".to_owned(),
        Setting::Batch(Some(rows)) => format!("--batch {rows}"),
        Setting::Shape | Setting::OpenShape => "--shape".to_owned(),
        Setting::ShapeOf(input, sizes) => {
            let sizes =
                sizes.iter().map(|size| size.map_or("?".to_owned(), |size| size.to_string()));
            format!(
                "--shape {}",
                in_shell(&format!("{input}={}", sizes.collect::<Vec<_>>().join(",")))
            )
        }
        Setting::Dim => "--dim".to_owned(),
        Setting::OpenDim(name) => format!("--dim {}", in_shell(&format!("{name}=?"))),
        Setting::Constant => "--const".to_owned(),
        Setting::ConstantOf(input, number) => {
            format!("--const {}", in_shell(&format!("{input}={number}")))
        }
        Setting::MaxSteps => "--max-steps".to_owned(),
        Setting::Size => "--size".to_owned(),
        Setting::State => "--state".to_owned(),
        Setting::StateOf(pairs) => {
            let pairs = pairs.iter().map(|(input, output)| {
                format!("--state {}", in_shell(&format!("{input}={output}")))
            });
            pairs.collect::<Vec<_>>().join(" ")
        }
        Setting::NoState => "--no-state".to_owned(),
        Setting::Isa => "--isa".to_owned(),
        Setting::Key { in_files, .. } => format!("--{}", in_files.replace('_', "-")),
    }
}

/// A word for a shell, quoted unless it is plain. zsh takes a question mark for a pattern.
pub(crate) fn in_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+@%,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The call of the Builder's method for a setting. `None` for settings without a value to show.
pub(crate) fn method(setting: &Setting) -> Option<String> {
    Some(match setting {
        Setting::ShapeOf(input, sizes) => {
            match sizes.iter().copied().collect::<Option<Vec<usize>>>() {
                Some(sizes) => format!("shape({input:?}, {sizes:?})"),
                None => format!("open_shape({input:?}, {sizes:?})"),
            }
        }
        Setting::StateOf(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(input, output)| format!("({input:?}.into(), {output:?}.into())"));
            format!("state(cellc::State::Pairs(vec![{}]))", pairs.collect::<Vec<_>>().join(", "))
        }
        Setting::NoState => "state(cellc::State::None)".to_owned(),
        Setting::OpenDim(name) => format!("open_dim({name:?})"),
        Setting::ConstantOf(input, number) => format!("constant({input:?}, {number})"),
        _ => return None,
    })
}
