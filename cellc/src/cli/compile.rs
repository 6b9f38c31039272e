//! `cellc model.xml -o gru.rs`: compiles a model to source files.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::arch;
use crate::compile::{self, Compilation};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, in_shell, quoted};
use crate::emit::names;
use crate::emit::{INTERFACE, OutputFile};
use crate::files::{self, NewFile, OutputTarget};
use crate::front::read_model::ReadModel;
use crate::request::{Language, Options, WeightsAs};

use super::Failure;
use super::arguments::{CompileArguments, Delivery, Emit};
use super::console::{report, report_success};
use super::package::Package;
use super::progress::Progress;
use super::stdio::{cannot_write, write_device, write_stdout};
use super::wasm;

/// Maximum size in bytes of the weights in a source that goes to standard output.
const LARGEST_INLINE: usize = 64 << 20;

/// The target of the output.
#[derive(Debug, PartialEq)]
pub(super) enum Destination {
    /// Standard output.
    Stdout,
    /// A device, a pipe or an open descriptor.
    Device(PathBuf),
    /// A file; the header and the weights of a source are written to the same folder.
    File(PathBuf),
}

/// Reads a model, compiles it, and writes the output.
pub(crate) fn compile(arguments: &CompileArguments) -> Result<(), Failure> {
    // An unsupported model file is reported before any other error, and an output with a wrong
    // extension later.
    let is_right = |path: &&Path| {
        *path == Path::new("-")
            || path.extension().is_some_and(|end| end == "rs" || end == "c" || end == "wasm")
    };
    arguments.model.recognise_for(arguments.output.as_deref().filter(is_right))?;
    let package = Package::given(&arguments.package)?;
    let destination = destination(arguments, package.as_ref())?;
    let emit = emit(arguments, &destination)?;
    let mut options = options(arguments, &destination, emit)?;
    if package.is_some() {
        // build systems compile the source alone, so the weights cannot be in a file of their own
        options.output.weights_as = inline_in_package(options.output.weights_as)?;
    }

    let progress = Progress::start("reading the model");
    let ReadModel { model, problems: warnings } = arguments.model.read()?;
    progress.suspend(|| report(&warnings));
    progress.stage("compiling");
    let mut compilation = compile::compile(&model, &options)?;
    drop(model);
    progress.suspend(|| report(&compilation.warnings));

    let text = match emit {
        Emit::Model => compilation.model.to_string(),
        Emit::Plan => format!(
            "plan of the generated {}\n{}",
            options.output.language.name(),
            compilation.plan
        ),
        Emit::Kernel => {
            let program = &compilation.program;
            let bodies = compilation.plan.isas.iter().zip(program.bodies());
            let bodies =
                bodies.map(|(planned, body)| format!("# {}\n\n{body}\n", planned.isa.name));
            format!("{program}\n{}", bodies.collect::<String>())
        }
        Emit::Rust | Emit::C | Emit::Wasm => {
            compilation.measure();
            let asked = options.output.name.as_deref().unwrap_or_default();
            let renamed = compilation
                .interface
                .renamed(asked, arguments.options().output.name.is_some())
                .into_iter()
                .collect();
            progress.suspend(|| report(&Diagnostics(renamed)));
            if let (Emit::Wasm, Destination::File(path)) = (emit, &destination) {
                progress.stage("compiling the C");
                let files = wasm::files(&compilation, path)?;
                return write_files(arguments, path, files, &compilation, progress);
            }
            return write_source(arguments, &destination, package, compilation, progress);
        }
    };
    let read = arguments.model.files_read(&compilation.model.files);
    drop(compilation);
    drop(progress);
    destination.write(text.into_bytes(), &read, "-o")
}

fn destination(
    arguments: &CompileArguments,
    package: Option<&Package>,
) -> Result<Destination, Failure> {
    if let Some(package) = package {
        let name = arguments.options().output.name;
        let name = name.unwrap_or_else(|| stem(arguments.model.path()));
        return Ok(Destination::File(package.source(&names::prefix(&name, false))));
    }
    let Some(path) = &arguments.output else {
        return match arguments.emit {
            Some(_) => Ok(Destination::Stdout),
            None => Err(Failure::Usage(
                "no output file: pass -o FILE, for example -o gru.rs or -o gru.c; -o - is standard \
                 output".to_owned(),
            )),
        };
    };
    Destination::parse(path, "-o", if arguments.emit == Some(Emit::C) { "c" } else { "rs" })
}

impl Destination {
    /// The target of a path given with an option.
    ///
    /// # Errors
    /// If the path is a folder, or if its folder does not exist. Messages suggest a file with the
    /// given extension.
    pub(super) fn parse(path: &Path, option: &str, extension: &str) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        if path.is_dir() || path.file_name().is_none() {
            let file = in_shell(&path.join(format!("net.{extension}")).to_string_lossy());
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{option} {path} is a folder: name a file in it, such as {file}"
            )));
        }
        match OutputTarget::resolve(path).map_err(|error| cannot_write(path, error))? {
            OutputTarget::Through(device) => Ok(Self::Device(device)),
            OutputTarget::Regular(_) => Ok(Self::File(path.to_owned())),
        }
    }

    /// Writes a single file. `read` has the files that the model was read from.
    ///
    /// # Errors
    /// If the file is one of those in `read`, or if it cannot be written.
    pub(super) fn write(
        &self,
        text: Vec<u8>,
        read: &[PathBuf],
        option: &str,
    ) -> Result<(), Failure> {
        match self {
            Self::Stdout => write_stdout(&text)?,
            Self::Device(path) => write_device(path, &text)?,
            Self::File(path) => {
                refuse_to_overwrite_inputs(read, option, [path.as_path()])?;
                files::write_all(&[NewFile { path: path.clone(), bytes: Arc::new(text) }])?;
            }
        }
        Ok(())
    }
}

fn emit(arguments: &CompileArguments, destination: &Destination) -> Result<Emit, Failure> {
    let Destination::File(path) = destination else {
        return match arguments.emit {
            Some(Emit::Wasm) => Err(Failure::Usage(
                "--emit wasm writes three files: name the module, -o net.wasm".to_owned(),
            )),
            other => Ok(other.unwrap_or(Emit::Rust)),
        };
    };
    let by_ending = match path.extension().and_then(OsStr::to_str) {
        Some("rs") => Some(Emit::Rust),
        Some("c") => Some(Emit::C),
        Some("wasm") => Some(Emit::Wasm),
        _ => None,
    };
    let file = path.display();
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    let source = in_shell(&path.with_extension("c").to_string_lossy());
    match (arguments.emit, by_ending) {
        (Some(asked), Some(named)) if asked != named => {
            let name = |emit: Emit| format!("{emit:?}").to_lowercase();
            Err(Failure::Usage(format!(
                "-o {file} asks for {}, --emit for {}",
                name(named),
                name(asked)
            )))
        }
        (Some(Emit::C) | None, None) if ["h", "hh", "hpp", "hxx", "h++"].contains(&&ending[..]) => {
            Err(Failure::Usage(format!(
                "-o {file} names a header: cellc writes the header, for C and for C++, next to the \
                 source: -o {source}"
            )))
        }
        (Some(emit), _) | (None, Some(emit)) => Ok(emit),
        (None, None) if ["cc", "cpp", "cxx", "c++"].contains(&&ending[..]) => {
            Err(Failure::Usage(format!(
                "-o {file} asks for C++: cellc writes C, and a header that C++ includes: -o \
                 {source}"
            )))
        }
        (None, None) => Err(Failure::Usage(format!(
            "-o {file} does not say which language: name it .rs, .c or .wasm, or add --emit"
        ))),
    }
}

fn options(
    arguments: &CompileArguments,
    destination: &Destination,
    emit: Emit,
) -> Result<Options, Failure> {
    let mut options = arguments.options();
    options.output.language = match emit {
        Emit::C | Emit::Wasm => Language::C,
        Emit::Plan => Language::of_target(options.machine.target),
        _ => Language::Rust,
    };
    if emit == Emit::Wasm {
        for_web(&mut options)?;
    }
    if options.output.runtime && options.output.language == Language::C {
        return Err(Failure::Usage("--runtime is for Rust: the crate's trait has no C".to_owned()));
    }
    let named = match destination {
        Destination::File(path) => path,
        Destination::Stdout | Destination::Device(_) => {
            if options.output.weights_as == WeightsAs::File {
                return Err(Failure::Usage(
                    "--weights-as file needs an output file: pass -o FILE".to_owned(),
                ));
            }
            if options.output.interface.is_some() {
                return Err(Failure::Usage(
                    "--interface needs a file that includes it: -o FILE.c".to_owned(),
                ));
            }
            if options.output.weights_as != WeightsAs::RunTime {
                options.output.weights_as = WeightsAs::Inline;
            }
            arguments.model.path()
        }
    };
    options.output.name.get_or_insert_with(|| stem(named));
    Ok(options)
}

/// Chooses the target of browsers, and puts the weights into the module.
///
/// # Errors
/// If the options ask for another target, or for weights or an interface outside of the module.
fn for_web(options: &mut Options) -> Result<(), Failure> {
    let target = options.machine.target;
    if target != &arch::ANY && target != &arch::WASM32 {
        return Err(Failure::Usage(format!(
            ".wasm is for --target wasm32, not for {}",
            target.name
        )));
    }
    let is_apart = matches!(options.output.weights_as, WeightsAs::File | WeightsAs::RunTime);
    if options.output.interface.is_some() || is_apart {
        return Err(Failure::Usage(
            "--interface and --weights-as file or run-time are for C: a .wasm file has all in it"
                .to_owned(),
        ));
    }
    options.machine.target = &arch::WASM32;
    options.output.weights_as = WeightsAs::Inline;
    Ok(())
}

/// The place of the weights in a package.
///
/// # Errors
/// If the options ask for a file of weights.
fn inline_in_package(weights_as: WeightsAs) -> Result<WeightsAs, Failure> {
    match weights_as {
        WeightsAs::File => Err(Failure::Usage(
            "--package writes a source with weights: leave out --weights-as file".to_owned(),
        )),
        WeightsAs::Auto => Ok(WeightsAs::Inline),
        other => Ok(other),
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn write_source(
    arguments: &CompileArguments,
    destination: &Destination,
    package: Option<Package>,
    mut compilation: Compilation,
    progress: Progress,
) -> Result<(), Failure> {
    progress.stage("writing");
    // `packed` has the weights: drop the constants of the model, which may be large
    compilation.model.constants = Vec::new();
    let path = match destination {
        Destination::File(path) => path,
        Destination::Stdout | Destination::Device(_) => {
            let bytes = compilation.packed.bytes.len();
            if bytes > LARGEST_INLINE {
                let (found, most) = (bytes >> 20, LARGEST_INLINE >> 20);
                return Err(Diagnostic::error(
                    Origin::Unknown,
                    format!("{found} MiB of weights do not go to standard output"),
                )
                .valid(format!("at most {most} MiB"))
                .help(
                    "write to a file: -o FILE.rs or -o FILE.c; the weights are then written to a \
                     .bin file next to it",
                )
                .into());
            }
            let source = self_contained(compilation.emit(&stem(arguments.model.path())));
            drop(progress);
            match destination {
                Destination::Device(path) => write_device(path, &source)?,
                _ => write_stdout(&source)?,
            }
            return Ok(());
        }
    };
    let mut emitted = compilation.emit(&stem(path));
    let source = emitted.pop().expect("there is always a source");
    // next to the source, in the folder as the user wrote it
    let beside = |OutputFile { name, bytes }| NewFile { path: path.with_file_name(name), bytes };
    let mut new: Vec<_> = emitted.into_iter().map(beside).collect();
    if let Some(other) = new.iter().find(|other| other.path.file_name() == path.file_name()) {
        let name = other.path.display();
        return Err(Failure::Usage(format!(
            "-o {name} is the name of another file that is written with it"
        )));
    }
    new.push(NewFile { path: path.clone(), bytes: source.bytes });
    if let Some(interface) = &arguments.options().output.interface {
        let read = arguments.model.files_read(&compilation.model.files);
        refuse_to_overwrite_inputs(&read, "--interface", [interface.as_path()])?;
        // the interface comes first, because the header includes it
        if let Some(interface) = files::common_interface(interface, &new)? {
            new.insert(0, interface);
        }
    }
    if let Some(package) = package {
        // at the front: the report lists the files in reverse, the source first
        new.splice(0..0, package.descriptions(path, &compilation.model.files));
    }
    write_files(arguments, path, new, &compilation, progress)
}

/// Writes, or compares, the files of an output.
fn write_files(
    arguments: &CompileArguments,
    path: &Path,
    mut new: Vec<NewFile>,
    compilation: &Compilation,
    progress: Progress,
) -> Result<(), Failure> {
    if arguments.delivery() == Delivery::Compare {
        return refuse_stale(&new);
    }
    let read = arguments.model.files_read(&compilation.model.files);
    let depfile = arguments.depfile.as_ref();
    let written = new.iter().map(|file| &file.path).chain(depfile);
    refuse_to_overwrite_inputs(&read, "-o", written.map(PathBuf::as_path))?;
    refuse_to_overwrite_foreign(path, &new)?;
    if let Some(depfile) = depfile {
        refuse_foreign_depfile(path, depfile)?;
        let bytes = Arc::new(dependencies(path, &read).into_bytes());
        new.insert(0, NewFile { path: depfile.clone(), bytes });
    }
    files::write_all(&new)?;
    drop(progress);
    new.retain(|file| Some(&file.path) != arguments.depfile.as_ref());
    let written = new.iter().rev().map(|file| file.path.display().to_string());
    report_success(&written.collect::<Vec<_>>(), compilation);
    Ok(())
}

/// Refuses output files with other contents than `new`.
fn refuse_stale(new: &[NewFile]) -> Result<(), Failure> {
    let stale: Vec<_> = new.iter().rev().filter(|file| !file.is_written()).collect();
    let stale: Vec<_> =
        stale.iter().map(|file| Diagnostic::error(Origin::Unknown, stale_text(file))).collect();
    match stale.is_empty() {
        true => Ok(()),
        false => Err(Diagnostics(stale).into()),
    }
}

fn stale_text(file: &NewFile) -> String {
    let path = quoted(&file.path.to_string_lossy());
    match file.path.exists() {
        true => format!("{path} is not what cellc writes for this model and these options"),
        false => format!("{path} does not exist"),
    }
}

/// The files that a compilation read, as a rule for make: `net.c: net.xml net.bin`.
fn dependencies(source: &Path, read: &[PathBuf]) -> String {
    let read: String = read.iter().map(|path| format!(" {}", in_rule(path))).collect();
    format!("{}{read}\n", target_of_rule(source))
}

/// The start of a rule for make: `net.c:`.
fn target_of_rule(source: &Path) -> String {
    format!("{}:", in_rule(source))
}

/// A path in a rule for make.
fn in_rule(path: &Path) -> String {
    let escaped = |c: char| match c {
        ' ' | '#' => format!("\\{c}"),
        '$' => "$$".to_owned(),
        _ => c.to_string(),
    };
    path.to_string_lossy().chars().map(escaped).collect()
}

/// Source and header in one text: the header replaces its own #include.
fn self_contained(mut emitted: Vec<OutputFile>) -> Arc<Vec<u8>> {
    let source = emitted.pop().expect("there is always a source").bytes;
    let Some(OutputFile { name, bytes: header }) = emitted.pop() else {
        return source;
    };
    let include = format!("#include \"{name}\"\n").into_bytes();
    let Some(at) = source.windows(include.len()).position(|w| w == include) else {
        // no #include for this name: the source contains the header already
        return source;
    };
    Arc::new([&source[..at], &header, &source[at + include.len()..]].concat())
}

/// Refuses to overwrite a `--depfile` that has no rule for `source`, unless cellc wrote the source.
fn refuse_foreign_depfile(source: &Path, depfile: &Path) -> Result<(), Failure> {
    let has_rule =
        |old: Vec<u8>| old.is_empty() || old.starts_with(target_of_rule(source).as_bytes());
    let is_foreign = files::is_foreign(source) != Some(false)
        && files::is_foreign(depfile) == Some(true)
        && !fs::read(depfile).is_ok_and(has_rule);
    if is_foreign { Err(not_by_cellc(depfile, "--depfile")) } else { Ok(()) }
}

fn not_by_cellc(path: &Path, option: &str) -> Failure {
    Failure::Usage(format!(
        "{} exists, and cellc did not write it: remove it, or name another file with {option}",
        path.display()
    ))
}

/// Refuses to overwrite files of other programs. If cellc wrote the existing source, the other
/// existing files are assumed to be by cellc, too.
fn refuse_to_overwrite_foreign(source: &Path, new: &[NewFile]) -> Result<(), Failure> {
    if files::is_foreign(source) == Some(false) {
        return Ok(());
    }
    // `common_interface` has checked the file of the interface
    match new.iter().find(|file| {
        *file.bytes != INTERFACE.as_bytes() && files::is_foreign(&file.path) == Some(true)
    }) {
        None => Ok(()),
        Some(file) => Err(not_by_cellc(&file.path, "-o")),
    }
}

/// Refuses to overwrite the files that a model was read from. For example,
/// `cellc gru.xml -o gru.rs` may write gru.bin, the weights of gru.xml.
pub(super) fn refuse_to_overwrite_inputs<'a>(
    read: &[PathBuf],
    option: &str,
    outputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let inputs: Vec<_> = read.iter().map(|input| fs::canonicalize(input).ok()).collect();
    for output in outputs {
        let canonical = fs::canonicalize(output).ok();
        if canonical.is_some() && inputs.contains(&canonical) {
            return Err(Failure::Usage(format!(
                "{} would be overwritten, and the model was read from it: choose another name or \
                 folder for {option}",
                output.display()
            )));
        }
    }
    Ok(())
}
