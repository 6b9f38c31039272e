//! Compiles generated source and drives it: a small program around the pure function, spoken to over its
//! standard input and output in blocks of numbers in the machine's byte order.
//!
//! A call is a byte of the flags below, the weights' and variables' elements if it says so, and those of the inputs; the
//! answer, the elements of every output and then of every variable.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use cellc::compile::Compilation;
use cellc::diagnostic::{Diagnostic, Origin};
use cellc::emit::names::{Field, Interface, StateField};
use cellc::kernel::Element;
use cellc::options::Language;
use tempfile::TempDir;

use super::Failure;
use super::calls::Numbers;

/// The stem of the generated files in the temporary folder.
const STEM: &str = "generated";

/// The program's exit status where the machine lacks the instruction set.
const LACKING: i32 = 3;

/// The weights follow, to be packed.
const PACK: u8 = 1;

/// Every variable becomes what it is at first.
const RESET: u8 = 2;

/// The variables follow.
const SET: u8 = 4;

/// Nothing follows but a number, eight bytes: so many calls on the inputs of the call before, each with the states that the one before left.
/// The answer is how many nanoseconds they took, eight bytes.
const TIME: u8 = 8;

/// What the variables of the model are before a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Variables<'a> {
    /// What they are at first.
    Initial,
    /// What the call before left.
    Kept,
    /// These.
    Given(&'a [Vec<f32>]),
}

/// What a call leaves, each in C order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Every result.
    pub(crate) results: Vec<Vec<f32>>,
    /// Every variable.
    pub(crate) variables: Vec<Vec<f32>>,
}

/// Generated code, compiled.
pub(crate) struct Program {
    path: PathBuf,
    interface: Interface,
    // Holds the program's file as long as it may be started.
    folder: Rc<TempDir>,
}

/// Generated code, compiled and running. It ends when dropped.
pub(crate) struct Harness {
    child: Child,
    // An Option so that it can be closed before the end is waited for.
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
    isa: String,
    interface: Interface,
    // Holds the program's file as long as it runs.
    _folder: Rc<TempDir>,
}

impl Program {
    /// Writes the source of `compilation` and compiles it with rustc or cc.
    pub(crate) fn build(compilation: &Compilation, language: Language) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("cellc-")
            .tempdir()
            .map_err(|error| problem(format!("no temporary folder can be made: {error}")))?;
        let path = build(compilation, language, folder.path())?;
        Ok(Self { path, interface: compilation.interface.clone(), folder: Rc::new(folder) })
    }

    /// Starts it on the named instruction set, or on the best that the machine has.
    pub(crate) fn start(&self, isa: Option<&str>) -> Result<Harness, Failure> {
        let mut child = Command::new(&self.path)
            .args(isa)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| problem(format!("the compiled program cannot be started: {error}")))?;
        let input = child.stdin.take().map(BufWriter::new);
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let (interface, folder) = (self.interface.clone(), Rc::clone(&self.folder));
        let mut harness = Harness { child, input, output, isa: String::new(), interface, _folder: folder };
        harness.isa = harness.greeting(isa)?;
        Ok(harness)
    }
}

impl Harness {
    /// As [`Program::build`] and [`Program::start`].
    pub(crate) fn start(compilation: &Compilation, language: Language, isa: Option<&str>) -> Result<Self, Failure> {
        Program::build(compilation, language)?.start(isa)
    }

    /// The instruction set that it runs on.
    pub(crate) fn isa(&self) -> &str {
        &self.isa
    }

    /// Calls the pure function: all Parameters in document order in, all Results out. Weights among the Parameters
    /// are packed if `pack` is set, else those of the call before stay.
    pub(crate) fn call(
        &mut self,
        parameters: &[Numbers],
        pack: bool,
        variables: Variables<'_>,
    ) -> Result<Outcome, Diagnostic> {
        let message = self.message(parameters, pack, variables)?;
        self.exchange(&message).map_err(|error| self.ended(&error))
    }

    /// So many calls on the inputs of the last one, each with the states that the one before left: how long they took.
    pub(crate) fn run(&mut self, calls: usize) -> Result<Duration, Diagnostic> {
        let mut exchange = || {
            let input = self.input.as_mut().expect("open until dropped");
            input.write_all(&[TIME])?;
            input.write_all(&(calls as u64).to_ne_bytes())?;
            input.flush()?;
            let mut nanoseconds = [0; 8];
            self.output.read_exact(&mut nanoseconds)?;
            io::Result::Ok(Duration::from_nanos(u64::from_ne_bytes(nanoseconds)))
        };
        exchange().map_err(|error| self.ended(&error))
    }

    fn ended(&mut self, error: &io::Error) -> Diagnostic {
        match self.child.wait() {
            Ok(status) if !status.success() => problem(format!("the compiled program ended early: {status}")),
            _ => problem(format!("the compiled program cannot be talked to: {error}")),
        }
    }

    /// What is sent for a call.
    fn message(&self, parameters: &[Numbers], pack: bool, variables: Variables<'_>) -> Result<Vec<u8>, Diagnostic> {
        let pack = if pack { PACK } else { 0 };
        let (flag, given) = match variables {
            Variables::Initial => (RESET, [].as_slice()),
            Variables::Kept => (0, [].as_slice()),
            Variables::Given(given) => (SET, given),
        };
        let mut message = vec![pack | flag];
        for values in given {
            values.iter().for_each(|v| message.extend(v.to_ne_bytes()));
        }
        let weights = self.interface.weights.iter().filter(|_| pack != 0);
        for field in weights.chain(&self.interface.inputs) {
            let bytes = parameters[field.index].bytes(field.element).map_err(|value| {
                problem(format!("{value} is too large for input {:?}, whose elements have 32 bits", field.name))
            })?;
            debug_assert_eq!(bytes.len(), field.element.size() * field.len(), "{}", field.name);
            message.extend(bytes);
        }
        Ok(message)
    }

    fn exchange(&mut self, message: &[u8]) -> io::Result<Outcome> {
        let input = self.input.as_mut().expect("open until dropped");
        input.write_all(message)?;
        input.flush()?;
        let mut read = |fields: &[Field]| {
            let mut all = vec![Vec::new(); fields.len()];
            for field in fields {
                let mut bytes = vec![0; 4 * field.len()];
                self.output.read_exact(&mut bytes)?;
                all[field.index] = bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
            }
            io::Result::Ok(all)
        };
        Ok(Outcome { results: read(&self.interface.outputs)?, variables: read(&self.interface.variables)? })
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
            let sources = &["-std=c11", "-O2", "-pthread", "harness.c", "generated.c"];
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
    let Interface { function, inputs, weights, outputs, states, variables, .. } = interface;
    let mut declarations = String::new();
    let mut read = [String::new(), String::new()];
    for (read, (variable, fields)) in read.iter_mut().zip([("x", inputs), ("w", weights)]) {
        for (i, field) in fields.iter().enumerate() {
            let ty = rust_element(field.element);
            declarations += &format!("    let mut {variable}{i} = vec![{ty}::default(); {}];\n", field.len());
            *read += &format!("        take(&mut input, &mut {variable}{i}, {ty}::from_ne_bytes)?;\n");
        }
    }
    let [read_inputs, mut read_weights] = read;
    let mut arguments = vec!["isa".to_owned()];
    // a helper that has gone to sleep since the last turn is no part of what is timed
    let mut awake = "";
    let mut read_variables = String::new();
    let mut reset = String::new();
    if interface.pool {
        declarations += "    let mut pool = generated::Pair::new();\n";
        awake = "            let start = Instant::now();
            while start.elapsed().as_micros() < 500 {
                generated::Join::join(&mut pool, &mut || (), &mut || ());
            }\n";
        arguments.push("&mut pool".to_owned());
    }
    if interface.has_state() {
        declarations += "    let mut state = Box::new(generated::State::new());\n";
        arguments.push("&mut state".to_owned());
    }
    if !variables.is_empty() {
        reset = format!("        if flags & {RESET} != 0 {{\n            state.reset();\n        }}\n");
    }
    if !weights.is_empty() {
        declarations += "    let mut packed = Box::new(generated::Packed::new());\n";
        let fields = rust_fields(weights, "w", |f| f.shape.clone());
        read_weights += &format!("        generated::pack(&generated::Weights {{ {fields} }}, &mut packed);\n");
        arguments.push("&packed".to_owned());
    }
    match &inputs[..] {
        [] => {}
        [field] => arguments.push(rust_view("x0", "as_chunks", "as_slice", &array(field))),
        _ => arguments.push(format!("&generated::Inputs {{ {} }}", rust_fields(inputs, "x", array))),
    }
    let mut write_results = String::new();
    // what the compiler must not know: the inputs of a call, and that nobody reads the outputs of the last but one
    let mut unknown: String = (0..inputs.len()).map(|i| format!("                black_box(&mut x{i});\n")).collect();
    let mut results = Vec::new();
    match &outputs[..] {
        [field] => {
            declarations += &format!("    let mut y = vec![0f32; {}];\n", field.len());
            arguments.push(rust_view("y", "as_chunks_mut", "as_mut_slice", &array(field)));
            unknown += "                black_box(&mut y);\n";
            results.push("&y".to_owned());
        }
        _ => {
            declarations += "    let mut outputs = Box::new(generated::Outputs::new());\n";
            arguments.push("&mut outputs".to_owned());
            unknown += "                black_box(&mut outputs);\n";
            for field in outputs {
                let flatten = ".as_flattened()".repeat(array(field).len() - 1);
                results.push(format!("outputs.{}.as_slice(){flatten}", field.name));
            }
        }
    }
    for result in &results {
        write_results += &format!("        give(&mut output, {result})?;\n");
    }
    let feed =
        |state: &StateField| format!("                x{}.copy_from_slice({});\n", state.input, results[state.output]);
    let feed: String = states.iter().map(feed).collect();
    for field in variables {
        read_variables += &format!("            take(&mut input, &mut state.{}, f32::from_ne_bytes)?;\n", field.name);
        write_results += &format!("        give(&mut output, &state.{})?;\n", field.name);
    }
    // Arrays are built on the stack before they are boxed.
    let fields = inputs.iter().chain(weights).chain(outputs).chain(variables);
    let values: usize = fields.map(Field::len).sum::<usize>() + interface.block_len;
    let stack = (64 << 20) + 16 * values;
    let arguments = arguments.join(", ");
    // a model may lack inputs of some type, or all
    let unread = "#[allow(dead_code)]";
    format!(
        r#"mod generated;

use std::hint::black_box;
use std::io::{{self, BufReader, BufWriter, Read, Write}};
use std::time::Instant;

{unread}
fn take<T, const N: usize>(input: &mut impl Read, values: &mut [T], from: fn([u8; N]) -> T) -> io::Result<()> {{
    for value in values {{
        let mut bytes = [0; N];
        input.read_exact(&mut bytes)?;
        *value = from(bytes);
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
    let mut flags = [0];
    while input.read(&mut flags)? == 1 {{
        let [flags] = flags;
        if flags & {TIME} != 0 {{
            let mut calls = [0; 8];
            input.read_exact(&mut calls)?;
{awake}            let start = Instant::now();
            for _ in 0..u64::from_ne_bytes(calls) {{
{unknown}                generated::{function}({arguments});
{feed}            }}
            output.write_all(&(start.elapsed().as_nanos() as u64).to_ne_bytes())?;
            output.flush()?;
            continue;
        }}
{reset}        if flags & {SET} != 0 {{
{read_variables}        }}
        if flags & {PACK} != 0 {{
{read_weights}        }}
{read_inputs}        generated::{function}({arguments});
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

fn rust_element(element: Element) -> &'static str {
    match element {
        Element::F32 => "f32",
        Element::I32 => "i32",
        Element::I64 => "i64",
        Element::U32 => "u32",
        Element::F16 | Element::I8 => unreachable!("only weights are narrow"),
    }
}

fn c_element(element: Element) -> &'static str {
    match element {
        Element::F32 => "float",
        Element::I32 => "int32_t",
        Element::I64 => "int64_t",
        Element::U32 => "uint32_t",
        Element::F16 | Element::I8 => unreachable!("only weights are narrow"),
    }
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
        [rows, columns] if rows != 1 && field.element == Element::F32 => vec![rows, columns],
        _ => vec![field.len()],
    }
}

fn c_source(interface: &Interface, isas: &[&str]) -> String {
    let Interface { function, inputs, weights, outputs, states, variables, .. } = interface;
    let mut declarations = String::new();
    let mut values = |variable: &str, fields: &[Field]| {
        let mut members = Vec::new();
        for (i, field) in fields.iter().enumerate() {
            declarations += &format!("static {} {variable}{i}[{}];\n", c_element(field.element), field.len());
            members.push(format!(".{} = {variable}{i}", field.name));
        }
        members.join(", ")
    };
    let input_members = values("x", inputs);
    let weight_members = values("w", weights);
    let output_members = values("y", outputs);
    let each = |fields: &[Field], call: &str, place: &dyn Fn(usize, &Field) -> String| -> String {
        let line = |(i, field)| {
            let place = place(i, field);
            format!("        {call}({place}, sizeof *{place}, {});\n", Field::len(field))
        };
        fields.iter().enumerate().map(line).collect()
    };
    let read_inputs = each(inputs, "take", &|i, _| format!("x{i}"));
    let mut read_weights = each(weights, "take", &|i, _| format!("w{i}"));
    let read_variables = each(variables, "take", &|_, field| format!("state.{}", field.name));
    let write_results = each(outputs, "give", &|i, _| format!("y{i}"))
        + &each(variables, "give", &|_, field| format!("state.{}", field.name));
    let mut arguments = vec!["isa"];
    let (mut first, mut reset, mut last) = (String::new(), String::new(), String::new());
    // as in Rust
    let (mut nothing, mut awake) = ("", "");
    if interface.pool {
        declarations += &format!("static {function}_pair pair;\n");
        first += &format!(
            "    {function}_pair_start(&pair);\n    const {function}_pool pool = {function}_pair_pool(&pair);\n"
        );
        last = format!("    {function}_pair_stop(&pair);\n");
        arguments.push("&pool");
        nothing = "static void nothing(void *argument) { (void)argument; }\n\n";
        awake = "            for (uint64_t start = nanoseconds(); nanoseconds() - start < 500000;) {
                pool.join(pool.context, nothing, NULL, nothing, NULL);
            }\n";
    }
    if !weights.is_empty() {
        declarations += &format!("static {function}_packed packed;\n");
        read_weights += &format!("        const {function}_weights weights = {{ {weight_members} }};\n");
        read_weights += &format!("        {function}_pack(&weights, &packed);\n");
        arguments.push("&packed");
    }
    if interface.has_state() {
        declarations += &format!("static {function}_state state;\n");
        first += &format!("    {function}_state_reset(&state);\n");
        reset = format!("        if (flags & {RESET}) {function}_state_reset(&state);\n");
        arguments.push("&state");
    }
    let mut structs = String::new();
    if !inputs.is_empty() {
        structs += &format!("    const {function}_inputs inputs = {{ {input_members} }};\n");
        arguments.push("&inputs");
    }
    structs += &format!("    const {function}_outputs outputs = {{ {output_members} }};\n");
    arguments.push("&outputs");
    let arguments = arguments.join(", ");
    let feed = |s: &StateField| format!("                memcpy(x{}, y{}, sizeof x{});\n", s.input, s.output, s.input);
    let feed: String = states.iter().map(feed).collect();
    let prefix = function.to_ascii_uppercase();
    let known: Vec<_> = isas.iter().map(|isa| format!("{prefix}_ISA_{}", isa.to_ascii_uppercase())).collect();
    let known = known.join(", ");
    format!(
        r#"#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include "generated.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

{declarations}
static void take(void *values, size_t size, size_t n) {{
    if (fread(values, size, n, stdin) != n) exit(1);
}}

static void give(const void *values, size_t size, size_t n) {{
    if (fwrite(values, size, n, stdout) != n) exit(1);
}}

static uint64_t nanoseconds(void) {{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}}

{nothing}int main(int argc, char **argv) {{
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
{first}{structs}    for (int flags = getchar(); flags != EOF; flags = getchar()) {{
        if (flags & {TIME}) {{
            uint64_t calls;
            take(&calls, sizeof calls, 1);
{awake}            uint64_t start = nanoseconds();
            for (uint64_t call = 0; call < calls; call++) {{
                {function}_run({arguments});
{feed}            }}
            uint64_t time = nanoseconds() - start;
            fwrite(&time, sizeof time, 1, stdout);
            fflush(stdout);
            continue;
        }}
{reset}        if (flags & {SET}) {{
{read_variables}        }}
        if (flags & {PACK}) {{
{read_weights}        }}
{read_inputs}        {function}_run({arguments});
{write_results}        fflush(stdout);
    }}
{last}    return 0;
}}
"#
    )
}

fn problem(what: String) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, what)
}
