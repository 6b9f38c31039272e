//! Settings that advice names. Each user interface has its own names for settings: options, methods
//! or keys.

/// A setting of the user.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Setting {
    /// The file of a model's weights.
    Weights,
    /// The file with the tensors of declared layers.
    TensorFile,
    /// An option, without a value to show.
    Flag(FlagNames),
    /// The batch size to set.
    BatchOf(usize),
    /// The shapes of inputs, to leave a size open.
    OpenShape,
    /// The shape of an input. A size of `None` stays open.
    ShapeOf(String, Vec<Option<usize>>),
    /// A named dimension to leave open.
    OpenDim(String),
    /// An input to fix to a constant, and the constant.
    ConstantOf(String, f64),
    /// Pairs of inputs and outputs to keep as states.
    StateOf(Vec<(String, String)>),
    /// A key of a declaration.
    Key {
        /// Name in macros and in the Builder.
        name: &'static str,
        /// Name on the command line and in the metadata of a file.
        in_files: &'static str,
    },
}

/// The names of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlagNames {
    /// The option of the command line, without hyphens in front.
    pub flag: &'static str,
    /// The Builder's method; with arguments if one call has the effect of the flag. Empty: the name
    /// of the flag, with `_` in place of `-`.
    pub method: &'static str,
}

impl FlagNames {
    /// The name of a key of macros for the option, if macros have such a key.
    pub(crate) fn key(self) -> String {
        self.flag.replace('-', "_")
    }
}

/// The option of the command line for a setting.
pub fn option(setting: &Setting) -> String {
    let pair = |flag: &str, name: &str, value: &str| {
        format!("--{flag} {}", in_shell(&format!("{name}={value}")))
    };
    match setting {
        Setting::Weights => "--weights".to_owned(),
        Setting::TensorFile => "a .safetensors file".to_owned(),
        Setting::Flag(names) => format!("--{}", names.flag),
        Setting::BatchOf(rows) => format!("--batch {rows}"),
        Setting::OpenShape => "--shape".to_owned(),
        Setting::ShapeOf(input, sizes) => {
            let sizes =
                sizes.iter().map(|size| size.map_or("?".to_owned(), |size| size.to_string()));
            pair("shape", input, &sizes.collect::<Vec<_>>().join(","))
        }
        Setting::OpenDim(name) => pair("dim", name, "?"),
        Setting::ConstantOf(input, number) => pair("const", input, &number.to_string()),
        Setting::StateOf(pairs) => {
            let pairs = pairs.iter().map(|(input, output)| pair("state", input, output));
            pairs.collect::<Vec<_>>().join(" ")
        }
        Setting::Key { in_files, .. } => format!("--{}", in_files.replace('_', "-")),
    }
}

/// A word for a shell, quoted unless all its characters are plain. A question mark is not plain:
/// zsh takes it for a pattern.
pub(crate) fn in_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+@%,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The name of the Builder's method for a setting without a value to show.
pub(crate) fn method_name(setting: &Setting) -> String {
    match setting {
        Setting::Flag(names) if names.method.is_empty() => names.key(),
        Setting::Flag(names) => names.method.to_owned(),
        Setting::OpenShape => "open_shape".to_owned(),
        Setting::Key { name, .. } => (*name).to_owned(),
        Setting::TensorFile => "safetensors".to_owned(),
        _ => "weights".to_owned(),
    }
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
        Setting::BatchOf(rows) => format!("batch({rows})"),
        Setting::Flag(names) if names.method.contains('(') => names.method.to_owned(),
        Setting::OpenDim(name) => format!("open_dim({name:?})"),
        Setting::ConstantOf(input, number) => format!("constant({input:?}, {number})"),
        _ => return None,
    })
}
