//! Compiles generated source and drives it: a small program around the pure function, spoken to over its
//! standard input and output in blocks of f32 in the machine's byte order.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cellc::compile::Compilation;
use cellc::diagnostic::{Diagnostic, Origin};
use cellc::emit::names::{Field, Interface};
use cellc::options::Language;
use tempfile::TempDir;

use super::Failure;

/// The stem of the generated files in the temporary folder.
const STEM: &str = "generated";

/// The program's exit status where the machine lacks the instruction set.
const LACKING: i32 = 3;

/// Generated code, compiled and running. It ends when dropped.
pub(crate) struct Harness {
    child: Child,
    // An Option so that it can be closed before the end is waited for.
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
    isa: String,
    interface: Interface,
    // Holds the program's file as long as it runs.
    _folder: TempDir,
}

impl Harness {
    /// Writes the source of `compilation`, compiles it with rustc or cc, and starts it on the named instruction set, or
    /// on the best that the machine has.
    pub(crate) fn start(compilation: &Compilation, language: Language, isa: Option<&str>) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("cellc-")
            .tempdir()
            .map_err(|error| problem(format!("no temporary folder can be made: {error}")))?;
        let program = build(compilation, language, folder.path())?;
        let mut child = Command::new(program)
            .args(isa)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| problem(format!("the compiled program cannot be started: {error}")))?;
        let input = child.stdin.take().map(BufWriter::new);
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let interface = compilation.interface.clone();
        let mut harness = Self { child, input, output, isa: String::new(), interface, _folder: folder };
        harness.isa = harness.greeting(isa)?;
        Ok(harness)
    }

    /// The instruction set that it runs on.
    pub(crate) fn isa(&self) -> &str {
        &self.isa
    }

    /// Calls the pure function: all Parameters in document order in, all Results out. Weights among the Parameters
    /// are packed if `pack` is set, else those of the call before stay.
    pub(crate) fn call(&mut self, parameters: &[Vec<f32>], pack: bool) -> Result<Vec<Vec<f32>>, Diagnostic> {
        self.exchange(parameters, pack).map_err(|error| match self.child.wait() {
            Ok(status) if !status.success() => problem(format!("the compiled program ended early: {status}")),
            _ => problem(format!("the compiled program cannot be talked to: {error}")),
        })
    }

    fn exchange(&mut self, parameters: &[Vec<f32>], pack: bool) -> io::Result<Vec<Vec<f32>>> {
        let input = self.input.as_mut().expect("open until dropped");
        input.write_all(&[u8::from(pack)])?;
        let weights = self.interface.weights.iter().filter(|_| pack);
        for field in self.interface.inputs.iter().chain(weights) {
            debug_assert_eq!(parameters[field.index].len(), field.len(), "{}", field.name);
            for value in &parameters[field.index] {
                input.write_all(&value.to_ne_bytes())?;
            }
        }
        input.flush()?;
        let mut results = vec![Vec::new(); self.interface.outputs.len()];
        for field in &self.interface.outputs {
            let mut bytes = vec![0; 4 * field.len()];
            self.output.read_exact(&mut bytes)?;
            results[field.index] = bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
        }
        Ok(results)
    }

    /// The name of the instruction set that the program chose: its first output.
    fn greeting(&mut self, asked: Option<&str>) -> Result<String, Diagnostic> {
        let mut name = Vec::new();
        let mut byte = [0];
        while self.output.read_exact(&mut byte).is_ok() {
            match byte {
                [b'\n'] => return Ok(String::from_utf8_lossy(&name).into_owned()),
                [byte] => name.push(byte),
            }
        }
        match (self.child.wait(), asked) {
            (Ok(status), Some(asked)) if status.code() == Some(LACKING) => {
                Err(problem(format!("this machine lacks the instruction set {asked}"))
                    .help("leave --isa out to run on the best that the machine has"))
            }
            (Ok(status), _) => Err(problem(format!("the compiled program ended early: {status}"))),
            (Err(error), _) => Err(problem(format!("the compiled program cannot be waited for: {error}"))),
        }
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        // The end of its input is its end; a failure was reported where it happened.
        drop(self.input.take());
        _ = self.child.wait();
    }
}

/// The program's file.
fn build(compilation: &Compilation, language: Language, folder: &Path) -> Result<PathBuf, Failure> {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|error| problem(format!("{}: cannot be written: {error}", path.display())))
    };
    for file in compilation.emit(STEM) {
        write(&file.name, &file.bytes)?;
    }
    let program = folder.join("harness").with_extension(env::consts::EXE_EXTENSION);
    let (mut compiler, arguments, other) = match language {
        Language::Rust => {
            write("harness.rs", rust_source(&compilation.interface).as_bytes())?;
            let rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
            (rustc, ["--edition=2021", "-Copt-level=3", "--cap-lints=allow", "harness.rs"].as_slice(), "c")
        }
        Language::C => {
            let isas: Vec<_> = compilation.plan.isas.iter().map(|(isa, _)| isa.name).collect();
            write("harness.c", c_source(&compilation.interface, &isas).as_bytes())?;
            let sources = &["-std=c11", "-O2", "harness.c", "generated.c"];
            (c_compiler(env::var_os("CC")), sources.as_slice(), "rust")
        }
    };
    compiler.args(arguments).arg("-o").arg(&program).current_dir(folder);
    let name = compiler.get_program().to_string_lossy().into_owned();
    let output = compiler.stdin(Stdio::null()).output().map_err(|error| {
        let variable = if language == Language::C { "CC" } else { "RUSTC" };
        problem(format!("the compiler {name} cannot be started: {error}"))
            .help(format!("install it, name another one in the variable {variable}, or try --emit {other}"))
    })?;
    if !output.status.success() {
        let why = problem(format!("{name} could not compile the generated source: {}", output.status));
        return Err(Failure::Toolchain { said: output.stderr, why });
    }
    Ok(program)
}

/// The C compiler, with the arguments that the variable may hold: `ccache gcc`.
fn c_compiler(variable: Option<OsString>) -> Command {
    let Some(text) = variable.as_ref().and_then(|v| v.to_str()).filter(|text| !Path::new(text).is_file()) else {
        return Command::new(variable.unwrap_or_else(|| "cc".into()));
    };
    let mut words = text.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words);
    command
}

fn rust_source(interface: &Interface) -> String {
    let Interface { function, inputs, weights, outputs, .. } = interface;
    let mut declarations = String::new();
    let mut read_inputs = String::new();
    for (i, field) in inputs.iter().enumerate() {
        declarations += &format!("    let mut x{i} = vec![0f32; {}];\n", field.len());
        read_inputs += &format!("        take(&mut input, &mut x{i})?;\n");
    }
    let mut read_weights = String::new();
    for (i, field) in weights.iter().enumerate() {
        declarations += &format!("    let mut w{i} = vec![0f32; {}];\n", field.len());
        read_weights += &format!("            take(&mut input, &mut w{i})?;\n");
    }
    if !weights.is_empty() {
        declarations += "    let mut packed = Box::new(generated::Packed::new());\n";
        let fields = rust_fields(weights, "w", |f| f.shape.clone());
        read_weights += &format!("            generated::pack(&generated::Weights {{ {fields} }}, &mut packed);\n");
    }
    let mut arguments = vec!["isa".to_owned()];
    if !weights.is_empty() {
        arguments.push("&packed".to_owned());
    }
    match &inputs[..] {
        [] => {}
        [field] => arguments.push(rust_view("x0", "as_chunks", "as_slice", &array(field))),
        _ => arguments.push(format!("&generated::Inputs {{ {} }}", rust_fields(inputs, "x", array))),
    }
    let mut write_results = String::new();
    match &outputs[..] {
        [field] => {
            declarations += &format!("    let mut y = vec![0f32; {}];\n", field.len());
            arguments.push(rust_view("y", "as_chunks_mut", "as_mut_slice", &array(field)));
            write_results += "        give(&mut output, &y)?;\n";
        }
        _ => {
            declarations += "    let mut outputs = Box::new(generated::Outputs::new());\n";
            arguments.push("&mut outputs".to_owned());
            for field in outputs {
                let flatten = ".as_flattened()".repeat(array(field).len() - 1);
                write_results += &format!("        give(&mut output, outputs.{}.as_slice(){flatten})?;\n", field.name);
            }
        }
    }
    // Arrays are built on the stack before they are boxed.
    let values: usize = inputs.iter().chain(weights).chain(outputs).map(Field::len).sum();
    let stack = (64 << 20) + 16 * values;
    let arguments = arguments.join(", ");
    format!(
        r#"mod generated;

use std::io::{{self, BufReader, BufWriter, Read, Write}};

fn take(input: &mut impl Read, values: &mut [f32]) -> io::Result<()> {{
    for value in values {{
        let mut bytes = [0; 4];
        input.read_exact(&mut bytes)?;
        *value = f32::from_ne_bytes(bytes);
    }}
    Ok(())
}}

fn give(output: &mut impl Write, values: &[f32]) -> io::Result<()> {{
    values.iter().try_for_each(|value| output.write_all(&value.to_ne_bytes()))
}}

fn serve(isa: generated::Isa) -> io::Result<()> {{
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = BufWriter::new(io::stdout().lock());
{declarations}    writeln!(output, "{{}}", isa.name())?;
    output.flush()?;
    let mut pack = [0];
    while input.read(&mut pack)? == 1 {{
{read_inputs}        if pack == [1] {{
{read_weights}        }}
        generated::{function}({arguments});
{write_results}        output.flush()?;
    }}
    Ok(())
}}

fn main() {{
    let isa = match std::env::args().nth(1) {{
        None => generated::Isa::detect(),
        Some(name) => generated::Isa::from_name(&name).unwrap_or_else(|| std::process::exit({LACKING})),
    }};
    let thread = std::thread::Builder::new().stack_size({stack}).spawn(move || serve(isa)).unwrap();
    thread.join().unwrap().unwrap();
}}
"#
    )
}

/// `x: x0.as_chunks::<16>().0.try_into().unwrap(), ...`
fn rust_fields(fields: &[Field], variable: &str, sizes: impl Fn(&Field) -> Vec<usize>) -> String {
    let field = |(i, f): (usize, &Field)| {
        format!("{}: {}", f.name, rust_view(&format!("{variable}{i}"), "as_chunks", "as_slice", &sizes(f)))
    };
    fields.iter().enumerate().map(field).collect::<Vec<_>>().join(", ")
}

/// A flat vector seen as nested arrays of these sizes, outermost first.
fn rust_view(variable: &str, chunks: &str, slice: &str, sizes: &[usize]) -> String {
    let inner = sizes.get(1..).unwrap_or_default();
    let nested: String = inner.iter().rev().map(|n| format!(".{chunks}::<{n}>().0")).collect();
    format!("{variable}.{slice}(){nested}.try_into().unwrap()")
}

/// The sizes of the arrays that inputs and outputs of generated Rust are: rows, or one flat array.
fn array(field: &Field) -> Vec<usize> {
    match field.shape[..] {
        [rows, columns] if rows != 1 => vec![rows, columns],
        _ => vec![field.len()],
    }
}

fn c_source(interface: &Interface, isas: &[&str]) -> String {
    let Interface { function, inputs, weights, outputs, .. } = interface;
    let mut declarations = String::new();
    let mut read_inputs = String::new();
    let mut read_weights = String::new();
    let mut write_results = String::new();
    let mut values = |variable: &str, fields: &[Field]| {
        let mut members = Vec::new();
        for (i, field) in fields.iter().enumerate() {
            declarations += &format!("static float {variable}{i}[{}];\n", field.len());
            members.push(format!(".{} = {variable}{i}", field.name));
        }
        members.join(", ")
    };
    let input_members = values("x", inputs);
    let weight_members = values("w", weights);
    let output_members = values("y", outputs);
    for (i, field) in inputs.iter().enumerate() {
        read_inputs += &format!("        take(x{i}, {});\n", field.len());
    }
    for (i, field) in weights.iter().enumerate() {
        read_weights += &format!("            take(w{i}, {});\n", field.len());
    }
    for (i, field) in outputs.iter().enumerate() {
        write_results += &format!("        give(y{i}, {});\n", field.len());
    }
    let mut arguments = vec!["isa"];
    if !weights.is_empty() {
        declarations += &format!("static {function}_packed packed;\n");
        read_weights += &format!("            const {function}_weights weights = {{ {weight_members} }};\n");
        read_weights += &format!("            {function}_pack(&weights, &packed);\n");
        arguments.push("&packed");
    }
    let mut structs = String::new();
    if !inputs.is_empty() {
        structs += &format!("    const {function}_inputs inputs = {{ {input_members} }};\n");
        arguments.push("&inputs");
    }
    structs += &format!("    const {function}_outputs outputs = {{ {output_members} }};\n");
    arguments.push("&outputs");
    let arguments = arguments.join(", ");
    let prefix = function.to_ascii_uppercase();
    let known: Vec<_> = isas.iter().map(|isa| format!("{prefix}_ISA_{}", isa.to_ascii_uppercase())).collect();
    let known = known.join(", ");
    format!(
        r#"#include "generated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

{declarations}
static void take(float *values, size_t n) {{
    if (fread(values, sizeof *values, n, stdin) != n) exit(1);
}}

static void give(const float *values, size_t n) {{
    if (fwrite(values, sizeof *values, n, stdout) != n) exit(1);
}}

int main(int argc, char **argv) {{
    static const {function}_isa known[] = {{ {known} }};
    {function}_isa isa = {function}_isa_detect();
    if (argc > 1) {{
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp({function}_isa_name(known[i]), argv[1]) != 0) i++;
        if (i == sizeof known / sizeof *known || !{function}_isa_available(known[i])) return {LACKING};
        isa = known[i];
    }}
    printf("%s\n", {function}_isa_name(isa));
    fflush(stdout);
{structs}    for (int pack = getchar(); pack != EOF; pack = getchar()) {{
{read_inputs}        if (pack) {{
{read_weights}        }}
        {function}_run({arguments});
{write_results}        fflush(stdout);
    }}
    return 0;
}}
"#
    )
}

fn problem(what: String) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, what)
}
