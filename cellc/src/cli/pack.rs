//! `cellc pack new.onnx --like net.h`: writes the weights of a model for generated code with
//! `--weights-as run-time`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::compile::compile;
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::emit::record::RECORD;
use crate::files::{self, NewFile};
use crate::front::read_model::ReadModel;
use crate::pack::Layout;
use crate::request::{Language, Options, WeightsAs};

use super::Failure;
use super::arguments::PackArguments;
use super::compile::refuse_to_overwrite_inputs;
use super::console::report;

/// Reads and compiles a model with the options of a generated file, and writes the model's weights.
///
/// # Errors
/// If the generated file loads no weights, or weights of another layout than the model's.
pub(super) fn pack(arguments: &PackArguments) -> Result<(), Failure> {
    arguments.model.recognise()?;
    let like = &arguments.like;
    let language = language(like)?;
    let record = record(like)?;
    let options = options(arguments, &record, language)?;
    let ReadModel { model, problems: warnings } = arguments.model.read_with(&options.bindings)?;
    report(&warnings);
    let compilation = compile(&model, &options)?;
    report(&compilation.warnings);
    let loaded = compilation.packed.loaded.ok_or_else(|| other_layout(like, &record, None))?;
    if loaded.layout != record.layout {
        return Err(other_layout(like, &record, Some(loaded.layout)));
    }
    let path = arguments.output.clone();
    let path = path.unwrap_or_else(|| arguments.model.path().with_extension("weights"));
    let read = arguments.model.files_read(&model.files);
    refuse_to_overwrite_inputs(&read, "-o", [path.as_path()])?;
    if fs::canonicalize(&path).is_ok_and(|canonical| Some(canonical) == fs::canonicalize(like).ok())
    {
        let name = path.display();
        return Err(Failure::Usage(format!(
            "-o {name} is the file of --like: choose another name"
        )));
    }
    files::write_all(&[NewFile { path, bytes: Arc::new(loaded.file()) }])?;
    Ok(())
}

/// The record of a generated file: options and layout of the weights that the file loads.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    /// The version of cellc.
    version: String,
    layout: Layout,
    /// [`Options::given`].
    options: Vec<String>,
}

impl Record {
    /// Finds the record in the text of a generated file. `None` if there is no valid record.
    fn find(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once(RECORD)?;
        let (record, _) = rest.split_once('"')?;
        let mut parts = record.split(':');
        let version = parts.next()?.to_owned();
        let (shapes, program) = parts.next()?.split_once('-')?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        let layout = Layout { shapes: number(shapes)?, program: number(program)? };
        Some(Self { version, layout, options: parts.map(decoded).collect::<Option<_>>()? })
    }
}

/// The inverse of [`encoded`](crate::emit::record::encoded). `None` if `text` is not encoded.
fn decoded(text: &str) -> Option<String> {
    let (first, rest) = text.split_once('%').map_or((text, None), |(a, b)| (a, Some(b)));
    let mut bytes = first.as_bytes().to_vec();
    for part in rest.iter().flat_map(|rest| rest.split('%')) {
        let (digits, after) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(after.bytes());
    }
    String::from_utf8(bytes).ok()
}

/// The record of a generated file.
///
/// # Errors
/// If the file cannot be read, or loads no weights.
fn record(like: &Path) -> Result<Record, Failure> {
    let name = quoted(&like.to_string_lossy());
    let text = fs::read_to_string(like).map_err(|error| {
        Diagnostic::error(Origin::Unknown, format!("{name} cannot be read: {error}"))
    })?;
    let none = || {
        Diagnostic::error(Origin::Unknown, format!("{name} loads no weights"))
            .valid("the header or the Rust file that cellc has written with --weights-as run-time")
    };
    Ok(Record::find(&text).ok_or_else(none)?)
}

/// The language of a generated file, by the extension of the file.
///
/// # Errors
/// If the extension is neither `.rs` nor `.h`.
fn language(like: &Path) -> Result<Language, Failure> {
    match like.extension().and_then(OsStr::to_str) {
        Some("rs") => Ok(Language::Rust),
        Some("h") => Ok(Language::C),
        _ => {
            let like = like.display();
            Err(Failure::Usage(format!("--like {like}: name a file .h or .rs of cellc")))
        }
    }
}

/// The options of the command line, with the options of a generated file.
///
/// # Errors
/// If this version of cellc does not know an option of the generated file.
fn options(
    arguments: &PackArguments,
    record: &Record,
    language: Language,
) -> Result<Options, Failure> {
    let mut options = arguments.options();
    options.output.weights_as = WeightsAs::RunTime;
    options.output.language = language;
    options.take(&record.options).ok_or_else(|| {
        let (like, version) = (&arguments.like.to_string_lossy(), quoted(&record.version));
        let found = format!("{} has options unknown to this version of cellc", quoted(like));
        let help = format!("use cellc {version}, or generate the file again");
        Diagnostic::error(Origin::Unknown, found).help(help)
    })?;
    Ok(options)
}

/// The error for a model whose weights have another layout than the recorded one. `found`: the
/// layout of the model; `None` if no weights are loaded.
fn other_layout(like: &Path, record: &Record, found: Option<Layout>) -> Failure {
    let name = quoted(&like.to_string_lossy());
    let same_shapes = found.is_some_and(|found| found.shapes == record.layout.shapes);
    let (found, help) = match same_shapes {
        _ if record.version != env!("CARGO_PKG_VERSION") => (
            format!("cellc {} has written {name} and orders weights otherwise", record.version),
            "generate it again with this version, or pack with that one",
        ),
        true => (
            format!(
                "the code of {name} depends on a number that is another one in this model: an \
                 attribute such as a clip, or a constant that is no weight"
            ),
            "compile this model by itself",
        ),
        false => (
            format!("this model has other layers or shapes than the model of {name}"),
            "pack a model of the same layers and shapes, or compile this model by itself",
        ),
    };
    Diagnostic::error(Origin::Unknown, found).help(help).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::record::encoded;

    #[test]
    fn words_read_back_as_they_were() {
        for word in ["--batch", "4", "länge \"%\": ?=3\\", "", "%"] {
            let text = encoded(word);
            assert!(!text.contains([' ', '"', '?', '\\', ':']), "{text}");
            assert_eq!(decoded(&text).as_deref(), Some(word));
        }
        assert_eq!([decoded("%"), decoded("%x0"), decoded("%4")], [None, None, None]);
    }

    #[test]
    fn a_record_is_found_in_a_file() {
        let layout = Layout { shapes: 7, program: u64::MAX };
        let text = format!("int x;\n#define L \"{RECORD}0.1.0:{layout}:--batch:4\"\n\"\"");
        let options = ["--batch", "4"].map(str::to_owned).to_vec();
        let record = Record { version: "0.1.0".to_owned(), layout, options };
        assert_eq!(Record::find(&text), Some(record));
        assert_eq!(Record::find("int net_step(void);"), None);
        assert_eq!(Record::find(&format!("{RECORD}0.1.0:7-x\"")), None);
    }
}
