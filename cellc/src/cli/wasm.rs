//! `cellc net.onnx -o net.wasm`: the generated C, compiled by clang, with a class for JavaScript
//! and its declarations for TypeScript.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::Failure;
use crate::compile::Compilation;
use crate::diagnostic::{Diagnostic, Origin};
use crate::emit::elements::spelling;
use crate::emit::names::{self, Field};
use crate::emit::text::{Word, listed};
use crate::files::NewFile;
use crate::harness::Failed;
use crate::kernel::Element;
use crate::temporary::folder::TemporaryFolder;

/// Arguments of clang. The stack lies below the data, so that an overflow traps instead of
/// overwriting data.
const FLAGS: &[&str] = &[
    "--target=wasm32",
    "-msimd128",
    "-mbulk-memory",
    "-O3",
    "-std=c11",
    "-isystem",
    ".",
    "-fvisibility=hidden",
    "-nostdlib",
    "-Wl,--no-entry,--export-dynamic,--strip-all,--stack-first,-z,stack-size=1048576",
    "-o",
    "module.wasm",
    "module.c",
];

/// Help for a missing clang: packages with clang and its linker, and ways around clang.
const GET_CLANG: &str = "clang with lld makes .wasm files (Debian: apt install clang lld; \
     macOS: brew install llvm lld); the variable CLANG names another clang. Without clang: \
     -o net.rs --target wasm32, and rustc";

/// The files to write: types, the class for JavaScript, and last the module.
///
/// # Errors
/// If a temporary file cannot be written, or if clang cannot be started or reports an error.
pub(super) fn files(compilation: &Compilation, path: &Path) -> Result<Vec<NewFile>, Failure> {
    let prefix = names::prefix(compilation.options.output.name.as_deref().unwrap_or("net"), false);
    let folder = TemporaryFolder::new().map_err(not_written)?;
    let write =
        |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).map_err(not_written);
    for file in compilation.emit(&prefix) {
        write(&file.name, &file.bytes)?;
    }
    let interface = &compilation.interface;
    let inputs: Vec<_> =
        interface.step_inputs().enumerate().map(|(i, field)| words("input", i, field)).collect();
    let outputs: Vec<_> =
        interface.outputs.iter().enumerate().map(|(i, field)| words("output", i, field)).collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let fields = [&inputs[..], &outputs].concat();
    let exports = ["input", "output"].into_iter().zip([inputs.len(), outputs.len()]);
    let exports = exports.flat_map(|(kind, count)| (0..count).map(move |i| format!("{kind}{i}")));
    let arguments = exports.map(|export| format!(", {export}_elements")).collect();
    let model = compilation.model.files.first().map_or("a macro", |file| &file.name);
    let shared = [
        ("PREFIX", prefix.clone()),
        ("ARGUMENTS", arguments),
        ("VERSION", env!("CARGO_PKG_VERSION").to_owned()),
        ("MODEL", model.escape_default().to_string()),
        ("CLASS", names::pascal_case(&prefix)),
        ("STEM", stem.escape_default().to_string()),
    ];
    let lists = [("field", fields), ("input", inputs), ("output", outputs)];
    let filled = |text: &str| listed(text, &lists, &shared).into_bytes();
    write("module.c", &filled(include_str!("wasm/module.c")))?;
    write("string.h", include_str!("wasm/string.h").as_bytes())?;
    compile(folder.path(), &format!("{prefix}.c"))?;
    let module = marked(fs::read(folder.path().join("module.wasm")).map_err(not_written)?);
    let file = |extension: &str, bytes| NewFile {
        path: path.with_extension(extension),
        bytes: Arc::new(bytes),
    };
    Ok(vec![
        file("d.ts", filled(include_str!("wasm/network.d.ts"))),
        file("js", filled(include_str!("wasm/network.js"))),
        NewFile { path: path.to_owned(), bytes: Arc::new(module) },
    ])
}

/// The words that templates contain for an input or output, with their replacements.
fn words(kind: &str, index: usize, field: &Field) -> Vec<Word> {
    let shape: Vec<_> = field.shape.iter().map(usize::to_string).collect();
    vec![
        ("FIELD", field.name.clone()),
        ("TYPE", spelling(field.element).c.to_owned()),
        ("LEN", field.len().to_string()),
        ("EXPORT", format!("{kind}{index}")),
        ("ARRAY", array(field.element).to_owned()),
        ("SHAPE", shape.join(", ")),
    ]
}

/// The typed array of JavaScript for elements of the interface.
fn array(element: Element) -> &'static str {
    match element {
        Element::I32 => "Int32Array",
        Element::I64 => "BigInt64Array",
        Element::Bool => "Uint8Array",
        Element::U32 => "Uint32Array",
        _ => "Float32Array",
    }
}

/// Compiles `module.c` and the source of the network with clang, or with the compiler that the
/// variable CLANG names.
fn compile(folder: &Path, network: &str) -> Result<(), Failure> {
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let named = clang.to_string_lossy();
    let problem = |text: String| Diagnostic::error(Origin::Unknown, text).help(GET_CLANG);
    let output = Command::new(&clang)
        .current_dir(folder)
        .args(FLAGS)
        .arg(network)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| problem(format!("{named} cannot be started: {error}")))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let why = problem(format!("{named} does not compile the network to WebAssembly"));
            Err(Failed { stderr: output.stderr, why }.into())
        }
    }
}

/// Inserts a custom section with the name and version of cellc behind the header of a module. By
/// this section, cellc later recognises the file as its own and may replace the file.
fn marked(module: Vec<u8>) -> Vec<u8> {
    const NAME: &str = "cellc";
    const TEXT: &str = concat!("Generated by cellc ", env!("CARGO_PKG_VERSION"));
    const SIZE: usize = 1 + NAME.len() + TEXT.len();
    // sizes below 128 are one byte
    const { assert!(SIZE < 128) };
    let (header, sections) = module.split_at(8);
    [header, &[0, SIZE as u8, NAME.len() as u8], NAME.as_bytes(), TEXT.as_bytes(), sections]
        .concat()
}

fn not_written(error: std::io::Error) -> Failure {
    Diagnostic::error(Origin::Unknown, format!("temporary files: {error}")).into()
}
