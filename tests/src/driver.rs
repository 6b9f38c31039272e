//! Runs generated code: one program that calls every subject on every instruction set of this machine, in Rust or in C.
//!
//! A driver reads the calls from its standard input and prints a line for every result:
//! `subject isa call way result bits bits ...`, the bits as eight hexadecimal digits.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use cellc::Language;
use cellc::arch;
use cellc::emit::names::Field;
use cellc::kernel::Element;

use crate::skipped::{skip, starts};
use crate::subject::{Subject, Values, Way, bits};

/// Runs a command to its end.
///
/// # Panics
/// With everything it said, if it fails.
pub fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs commands to their ends, as many at a time as the machine has processors.
///
/// # Panics
/// If one fails.
pub fn run_all(commands: Vec<Command>) {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let queue = Mutex::new(commands.into_iter());
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("the queue").next();
                    let Some(mut command) = next else { break };
                    run(&mut command);
                }
            });
        }
    });
}

/// The Rust compiler that belongs to the cargo that runs the tests.
pub fn rustc() -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.env_remove("RUSTFLAGS");
    command
}

/// The C compilers of this machine: gcc and clang, whichever are installed.
///
/// # Panics
/// If there is none.
pub fn c_compilers() -> Vec<&'static str> {
    let found: Vec<_> = [&["gcc", "cc"][..], &["clang", "clang-19", "clang-14"]]
        .iter()
        .filter_map(|l| l.iter().copied().find(|name| starts(name)))
        .collect();
    assert!(!found.is_empty(), "no C compiler is installed");
    found
}

/// The instruction sets of [`arch::ALL`] that this machine has, as its operating system says; the others are printed.
pub fn isas() -> Vec<&'static str> {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = flags.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |feature: &str| line.split_whitespace().any(|flag| flag == feature);
    let (have, lack): (Vec<&'static arch::Isa>, Vec<_>) =
        arch::ALL.into_iter().partition(|isa| isa.rust_features.split(',').filter(|f| !f.is_empty()).all(has));
    for isa in lack {
        skip(&format!("no {}", isa.name));
    }
    have.into_iter().map(|isa| isa.name).collect()
}

/// Writes the generated files of all subjects into a folder, which is made anew.
///
/// # Panics
/// If that fails.
pub fn write_files(folder: &Path, subjects: &[Subject], language: Language) {
    if folder.exists() {
        fs::remove_dir_all(folder).expect("the old folder goes");
    }
    fs::create_dir_all(folder).expect("a folder");
    for file in subjects.iter().flat_map(|subject| subject.files(language)) {
        fs::write(folder.join(&file.name), file.bytes.as_slice()).expect("a file");
    }
}

/// Compiles the subjects' Rust as modules of one library, with `flags`, and runs a program that calls it.
///
/// # Panics
/// If it does not compile, with warnings refused, or does not run.
pub fn rust(folder: &Path, subjects: &[Subject], flags: &[&str]) -> Values {
    write_files(folder, subjects, Language::Rust);
    let modules: String = subjects.iter().map(|subject| format!("pub mod {};\n", subject.name)).collect();
    fs::write(folder.join("subjects.rs"), modules).expect("a file");
    fs::write(folder.join("main.rs"), rust_main(subjects)).expect("a file");
    let program = folder.join("driver");
    let command = |root: &str| {
        let mut command = rustc();
        command.current_dir(folder).args(["--edition=2021", "-Dwarnings", "-Cdebug-assertions=on", root]);
        command
    };
    // several units would be optimised twice, the second time together
    run(command("subjects.rs").args(["--crate-type=rlib", "-Ccodegen-units=1"]).args(flags));
    // what calls the library is long, and not what is tested: it is not optimised
    run(command("main.rs").args(["--extern", "subjects=libsubjects.rlib", "-o"]).arg(&program));
    execute(&program, subjects)
}

/// What some systems have on, and what brings symbols of its own, off.
pub const PLAIN: [&str; 2] = ["-fno-stack-protector", "-U_FORTIFY_SOURCE"];

/// Compiles the subjects' C to an object each, named as they are, and runs it.
///
/// # Panics
/// If it does not compile, with warnings refused, or does not run.
pub fn c(folder: &Path, subjects: &[Subject], compiler: &str, flags: &[&str]) -> Values {
    write_files(folder, subjects, Language::C);
    fs::write(folder.join("main.c"), c_main(subjects)).expect("a file");
    let stems: Vec<&str> = subjects.iter().map(|s| s.name.as_str()).chain(["main"]).collect();
    let compile = |stem: &&str| {
        let mut command = Command::new(compiler);
        command.current_dir(folder).args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]).args(PLAIN).args(flags);
        command.arg(format!("{stem}.c")).arg("-o").arg(format!("{stem}.o"));
        command
    };
    run_all(stems.iter().map(compile).collect());
    let program = folder.join("driver");
    let mut link = Command::new(compiler);
    link.arg("-pthread");
    run(link.current_dir(folder).args(stems.iter().map(|stem| format!("{stem}.o"))).arg("-o").arg(&program));
    execute(&program, subjects)
}

/// The symbols that an object leaves to others.
///
/// # Panics
/// If nm cannot read it.
pub fn undefined(folder: &Path, object: &str) -> Vec<String> {
    let output = Command::new("nm").args(["-u", object]).current_dir(folder).output().expect("nm starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8(output.stdout).expect("nm prints ASCII");
    listing.split_whitespace().filter(|word| *word != "U").map(str::to_owned).collect()
}

/// The symbols of an object that are neither its own nor one of the three that compilers themselves call.
///
/// # Panics
/// If nm cannot read it.
pub fn foreign(folder: &Path, object: &str) -> Vec<String> {
    let own = ["memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"];
    undefined(folder, object).into_iter().filter(|symbol| !own.contains(&symbol.as_str())).collect()
}

fn execute(program: &PathBuf, subjects: &[Subject]) -> Values {
    let input: Vec<u8> =
        subjects.iter().flat_map(|s| &s.calls).flatten().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the driver starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the driver ends");
    assert!(output.status.success(), "{program:?}: {}", output.status);
    writer.join().expect("no panic").expect("the driver reads all of its input");
    let text = String::from_utf8(output.stdout).expect("the driver writes UTF-8");
    let mut values = Values::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("a word more");
        let (name, isa) = (word().to_string(), word().to_string());
        let call = word().parse().expect("a number");
        let letter = word();
        let (way, _) = Way::ALL.into_iter().find(|(_, l)| letter == l.to_string()).expect("a way");
        let result = word().parse().expect("a number");
        let lanes = words.map(|w| bits(f32::from_bits(u32::from_str_radix(w, 16).expect("hexadecimal")))).collect();
        let before = values.insert((name, isa, call, way, result), lanes);
        assert_eq!(before, None, "printed twice: {line}");
    }
    values
}

const RUST_HEAD: &str = r##"use std::fmt::Write as _;
use std::io::Read as _;

/// Something made of f32.
trait Value {
    fn make(next: &mut dyn FnMut() -> f32) -> Self;
    fn each(&self, see: &mut dyn FnMut(f32));
}

impl Value for f32 {
    fn make(next: &mut dyn FnMut() -> f32) -> Self {
        next()
    }
    fn each(&self, see: &mut dyn FnMut(f32)) {
        see(*self);
    }
}

impl Value for i32 {
    fn make(next: &mut dyn FnMut() -> f32) -> Self {
        next() as i32
    }
    fn each(&self, see: &mut dyn FnMut(f32)) {
        see(*self as f32);
    }
}

impl Value for i64 {
    fn make(next: &mut dyn FnMut() -> f32) -> Self {
        next() as i64
    }
    fn each(&self, see: &mut dyn FnMut(f32)) {
        see(*self as f32);
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn make(next: &mut dyn FnMut() -> f32) -> Self {
        std::array::from_fn(|_| T::make(next))
    }
    fn each(&self, see: &mut dyn FnMut(f32)) {
        self.iter().for_each(|value| value.each(see));
    }
}

struct Driver {
    input: Vec<u8>,
    at: usize,
    out: String,
}

impl Driver {
    fn take<T: Value>(&mut self) -> T {
        T::make(&mut || {
            let value = f32::from_le_bytes(self.input[self.at..self.at + 4].try_into().unwrap());
            self.at += 4;
            value
        })
    }

    fn show<T: Value>(&mut self, head: std::fmt::Arguments<'_>, value: &T) {
        write!(self.out, "{head}").unwrap();
        value.each(&mut |v| write!(self.out, " {:08x}", v.to_bits()).unwrap());
        self.out.push('\n');
    }
}

/// Contents that no step may leave.
fn spoilt<T: Value>() -> T {
    T::make(&mut || f32::from_bits(0x7fc0_dead))
}

/// What is left of a state that is set.
// not called where no subject has a state
#[allow(dead_code)]
fn flushed<T: Value>(value: T) -> T {
    let mut all = Vec::new();
    value.each(&mut |v| all.push(if v.abs() < f32::from_bits(27 << 23) { 0.0 } else { v }));
    let mut all = all.into_iter();
    T::make(&mut || all.next().unwrap())
}

// not called where no subject has a state
#[allow(dead_code)]
fn same<T: Value>(a: &T, b: &T) -> bool {
    let list = |v: &T| {
        let mut all = Vec::new();
        v.each(&mut |v| all.push(v.to_bits()));
        all
    };
    list(a) == list(b)
}
"##;

fn rust_main(subjects: &[Subject]) -> String {
    let mut text = RUST_HEAD.to_string();
    for subject in subjects {
        let _ = write!(text, "\nuse subjects::{0};\n", subject.name);
        rust_subject(&mut text, subject);
    }
    text.push_str("\nfn main() {\n    let mut input = Vec::new();\n");
    text.push_str("    std::io::stdin().read_to_end(&mut input).unwrap();\n");
    text.push_str("    let mut driver = Driver { input, at: 0, out: String::new() };\n");
    for subject in subjects {
        let _ = writeln!(text, "    run_{}(&mut driver);", subject.name);
    }
    text.push_str("    assert_eq!(driver.at, driver.input.len());\n    print!(\"{}\", driver.out);\n}\n");
    text
}

/// A function that makes every call of one subject. Parameters are `p0`, `p1`, ..., whatever the model calls them.
fn rust_subject(out: &mut String, subject: &Subject) {
    let interface = &subject.compilation.interface;
    let m = &subject.name;
    let isas: Vec<_> = subject.isas().map(|(isa, _)| isa).collect();
    let _ = writeln!(out, "fn run_{m}(driver: &mut Driver) {{\n    let start = driver.at;");
    let _ = writeln!(out, "    assert!({m}::Isa::from_name(\"\").is_none());");
    let _ = writeln!(out, "    assert!({isas:?}.contains(&{m}::Isa::detect().name()));");
    let _ = writeln!(out, "    for name in {isas:?} {{");
    let _ = writeln!(out, "    let Some(isa) = {m}::Isa::from_name(name) else {{ continue }};");
    let _ = writeln!(out, "    assert_eq!(isa.name(), name);\n    driver.at = start;");
    let _ = writeln!(out, "    for call in 0..{} {{", subject.calls.len());
    for i in 0..subject.model().parameters.len() {
        let _ = writeln!(out, "        let p{i} = driver.take();");
    }
    let literal = |fields: &mut dyn Iterator<Item = &Field>| {
        fields.map(|f| format!("{}: &p{}", f.name, f.index)).collect::<Vec<_>>().join(", ")
    };
    let baked = interface.weights.is_empty();
    if !baked {
        let _ = writeln!(out, "        let mut packed = Box::new({m}::Packed::new());");
        let weights = literal(&mut interface.weights.iter());
        let _ = writeln!(out, "        {m}::pack(&{m}::Weights {{ {weights} }}, &mut packed);");
    }
    let packed = if baked { "" } else { "&packed, " };
    let outputs = |out: &mut String| {
        if interface.outputs.len() == 1 {
            out.push_str("        let mut outputs = spoilt();\n");
        } else {
            let _ = writeln!(out, "        let mut outputs = {m}::Outputs::new();");
            for field in &interface.outputs {
                let _ = writeln!(out, "        outputs.{} = spoilt();", field.name);
            }
        }
    };
    let place = |field: &Field| match interface.outputs.len() {
        1 => "outputs".to_string(),
        _ => format!("outputs.{}", field.name),
    };
    let show = |out: &mut String, way: Way| {
        let (_, letter) = Way::ALL.into_iter().find(|(w, _)| *w == way).expect("a letter");
        for (i, field) in interface.outputs.iter().enumerate() {
            let place = place(field);
            let _ =
                writeln!(out, "        driver.show(format_args!(\"{m} {{name}} {{call}} {letter} {i}\"), &{place});");
        }
    };
    outputs(out);
    let inputs = match interface.inputs.as_slice() {
        [] => String::new(),
        [one] => format!("&p{}, ", one.index),
        all => format!("&{m}::Inputs {{ {} }}, ", literal(&mut all.iter())),
    };
    let state = if interface.has_state() { format!("&mut {m}::State::new(), ") } else { String::new() };
    let pool = if interface.pool { format!("&mut {m}::Pair::new(), ") } else { String::new() };
    let _ = writeln!(out, "        {m}::{}(isa, {pool}{state}{packed}{inputs}&mut outputs);", interface.function);
    show(out, Way::Function);

    let packed = if baked { "" } else { ", &packed" };
    let ty = &interface.type_name;
    let _ = writeln!(out, "        let mut cell = {m}::{ty}::with_isa(isa{packed});");
    let _ = writeln!(out, "        assert_eq!(cell.isa(), isa);");
    let states: Vec<_> =
        interface.states.iter().map(|s| (&interface.inputs[s.input], &interface.outputs[s.output])).collect();
    let zero = |out: &mut String| {
        for (state, _) in &states {
            let _ = writeln!(out, "        cell.{0}().each(&mut |v| assert_eq!(v.to_bits(), 0));", state.name);
        }
    };
    zero(out);
    for Field { name, .. } in &interface.variables {
        let _ = writeln!(out, "        let first = *cell.{name}();\n        cell.set_{name}(&spoilt());");
        let _ =
            writeln!(out, "        assert!(same(cell.{name}(), &spoilt()) && same(&cell.state().{name}, &spoilt()));");
        let _ = writeln!(out, "        cell.state_mut().reset();\n        assert!(same(cell.{name}(), &first));");
    }
    for (state, _) in &states {
        let _ = writeln!(out, "        cell.set_{0}(&p{1});", state.name, state.index);
        let kept = if subject.compilation.options.keep_denormals { "" } else { "flushed" };
        let _ = writeln!(out, "        assert!(same(cell.{0}(), &{kept}(p{1})));", state.name, state.index);
    }
    let step: Vec<&Field> = interface.step_inputs().collect();
    let arguments = match step.as_slice() {
        [] => String::new(),
        [one] => format!("&p{}, ", one.index),
        all => {
            let ty = if states.is_empty() { "Inputs" } else { "StepInputs" };
            format!("&{m}::{ty} {{ {} }}, ", literal(&mut all.iter().copied()))
        }
    };
    for way in [Way::Step, Way::SecondStep, Way::StepAfterReset] {
        if way == Way::StepAfterReset {
            out.push_str("        cell.reset();\n");
            zero(out);
        }
        outputs(out);
        let _ = writeln!(out, "        cell.step({arguments}&mut outputs);");
        show(out, way);
        for (state, output) in &states {
            let _ = writeln!(out, "        assert!(same(cell.{}(), &{}));", state.name, place(output));
        }
    }
    out.push_str("    }\n    }\n}\n");
}

const C_HEAD: &str = r#"#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take(float *to, size_t n) {
    if (fread(to, sizeof *to, n, stdin) != n) {
        exit(2);
    }
}

void take_int32_t(int32_t *to, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float value;
        take(&value, 1);
        to[i] = (int32_t)value;
    }
}

void take_int64_t(int64_t *to, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float value;
        take(&value, 1);
        to[i] = (int64_t)value;
    }
}

static void spoil(float *to, size_t n) {
    const uint32_t bits = 0x7fc0deadu;
    for (size_t i = 0; i < n; i++) {
        memcpy(&to[i], &bits, sizeof bits);
    }
}

static void show(const char *subject, const char *isa, int call, char way, int result, const float *from, size_t n) {
    printf("%s %s %d %c %d", subject, isa, call, way, result);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        printf(" %08x", (unsigned)bits);
    }
    putchar('\n');
}

static void check(int right, int line) {
    if (!right) {
        fprintf(stderr, "main.c:%d: wrong\n", line);
        exit(1);
    }
}
"#;

fn c_main(subjects: &[Subject]) -> String {
    let mut text = String::new();
    for subject in subjects {
        let _ = writeln!(text, "#include \"{}.h\"", subject.name);
    }
    text.push_str(C_HEAD);
    for subject in subjects {
        c_subject(&mut text, subject);
    }
    text.push_str("\nint main(void) {\n");
    for subject in subjects {
        let _ = writeln!(text, "    run_{}();", subject.name);
    }
    text.push_str("    check(getchar() == EOF, __LINE__);\n    return 0;\n}\n");
    text
}

/// The type of a parameter's elements, and what reads them.
fn element(field: &Field) -> (&'static str, &'static str) {
    match field.element {
        Element::F32 => ("float", "take"),
        Element::I32 => ("int32_t", "take_int32_t"),
        Element::I64 => ("int64_t", "take_int64_t"),
        other => unreachable!("no parameter holds {other}"),
    }
}

fn c_subject(out: &mut String, subject: &Subject) {
    let interface = &subject.compilation.interface;
    let (m, f) = (&subject.name, &interface.function);
    let upper = f.to_ascii_uppercase();
    let size = |field: &Field| format!("{upper}_{}_SIZE", field.name.to_ascii_uppercase());
    let calls = subject.calls.len();
    let _ = writeln!(out, "\nstatic void run_{m}(void) {{");
    let parameters: Vec<&Field> = {
        let mut all: Vec<_> = interface.inputs.iter().chain(&interface.weights).collect();
        all.sort_by_key(|field| field.index);
        all
    };
    for field in &parameters {
        let _ = writeln!(out, "    static {} p{}[{calls}][{}];", element(field).0, field.index, size(field));
    }
    for (i, field) in interface.outputs.iter().enumerate() {
        let _ = writeln!(out, "    static float o{i}[{}];", size(field));
    }
    let _ = writeln!(out, "    for (int call = 0; call < {calls}; call++) {{");
    for field in &parameters {
        let _ = writeln!(out, "        {}(p{}[call], {});", element(field).1, field.index, size(field));
    }
    out.push_str("    }\n");
    if interface.pool {
        let _ = writeln!(out, "    {f}_pair pair;\n    check({f}_pair_start(&pair) == 0, __LINE__);");
        let _ = writeln!(out, "    const {f}_pool pool = {f}_pair_pool(&pair);");
    }
    let enumerators: Vec<_> = subject
        .compilation
        .plan
        .isas
        .iter()
        .map(|(isa, _)| format!("{upper}_ISA_{}", isa.name.to_ascii_uppercase()))
        .collect();
    let _ = writeln!(out, "    const {f}_isa isas[] = {{{}}};", enumerators.join(", "));
    let names: Vec<_> = subject.isas().map(|(isa, _)| format!("\"{isa}\"")).collect();
    let _ = writeln!(out, "    const char *const names[] = {{{}}};", names.join(", "));
    let _ = writeln!(out, "    check({f}_isa_available({f}_isa_detect()), __LINE__);");
    let _ = writeln!(out, "    for (int i = 0; i < {}; i++) {{", enumerators.len());
    let _ = writeln!(out, "        check(strcmp({f}_isa_name(isas[i]), names[i]) == 0, __LINE__);");
    let _ = writeln!(out, "        if (!{f}_isa_available(isas[i])) {{\n            continue;\n        }}");
    let _ = writeln!(out, "        for (int call = 0; call < {calls}; call++) {{");
    let literal = |fields: &[Field]| {
        fields.iter().map(|field| format!(".{} = p{}[call]", field.name, field.index)).collect::<Vec<_>>().join(", ")
    };
    let baked = interface.weights.is_empty();
    if !baked {
        let weights = literal(&interface.weights);
        let _ = writeln!(out, "            static {f}_packed packed;");
        let _ = writeln!(out, "            {f}_pack(&({f}_weights){{{weights}}}, &packed);");
    }
    let packed = if baked { "" } else { ", &packed" };
    let spoil = |out: &mut String| {
        for (i, field) in interface.outputs.iter().enumerate() {
            let _ = writeln!(out, "            spoil(o{i}, {});", size(field));
        }
    };
    let show = |out: &mut String, way: Way| {
        let (_, letter) = Way::ALL.into_iter().find(|(w, _)| *w == way).expect("a letter");
        for (i, field) in interface.outputs.iter().enumerate() {
            let n = size(field);
            let _ = writeln!(out, "            show(\"{m}\", names[i], call, '{letter}', {i}, o{i}, {n});");
        }
    };
    spoil(out);
    let inputs = match interface.inputs.is_empty() {
        true => String::new(),
        false => format!(", &({f}_inputs){{{}}}", literal(&interface.inputs)),
    };
    let outputs: Vec<_> =
        interface.outputs.iter().enumerate().map(|(i, field)| format!(".{} = o{i}", field.name)).collect();
    let outputs = outputs.join(", ");
    let mut state = "";
    if interface.has_state() {
        let _ = writeln!(out, "            static {f}_state state;\n            {f}_state_reset(&state);");
        state = ", &state";
    }
    let pool = if interface.pool { ", &pool" } else { "" };
    let _ = writeln!(out, "            {f}_run(isas[i]{pool}{packed}{state}{inputs}, &({f}_outputs){{{outputs}}});");
    show(out, Way::Function);

    let _ = writeln!(out, "            {f} cell;\n            {f}_init_isa(&cell, isas[i]{packed});");
    let _ = writeln!(out, "            check(cell.isa == isas[i], __LINE__);");
    if interface.pool {
        let _ = writeln!(out, "            check(cell.pool == NULL, __LINE__);\n            cell.pool = &pool;");
    }
    let states: Vec<_> = interface.states.iter().map(|s| (&interface.inputs[s.input], s.output)).collect();
    let zero = |out: &mut String| {
        for (state, _) in &states {
            let n = size(state);
            let _ = writeln!(out, "            for (size_t k = 0; k < {n}; k++) {{");
            let _ = writeln!(out, "                check(cell.{}[k] == 0.0f, __LINE__);\n            }}", state.name);
        }
    };
    zero(out);
    for (state, _) in &states {
        let (name, index) = (&state.name, state.index);
        let _ = writeln!(out, "            memcpy(cell.{name}, p{index}[call], sizeof cell.{name});");
    }
    let mut arguments = String::new();
    for field in interface.step_inputs() {
        let _ = write!(arguments, ", p{}[call]", field.index);
    }
    for i in 0..interface.outputs.len() {
        let _ = write!(arguments, ", o{i}");
    }
    for way in [Way::Step, Way::SecondStep, Way::StepAfterReset] {
        if way == Way::StepAfterReset {
            let _ = writeln!(out, "            {f}_reset(&cell);");
            zero(out);
        }
        spoil(out);
        let _ = writeln!(out, "            {f}_step(&cell{arguments});");
        show(out, way);
        for (state, output) in &states {
            let name = &state.name;
            let _ =
                writeln!(out, "            check(memcmp(cell.{name}, o{output}, sizeof cell.{name}) == 0, __LINE__);");
        }
    }
    out.push_str("        }\n    }\n");
    if interface.pool {
        let _ = writeln!(out, "    {f}_pair_stop(&pair);");
    }
    out.push_str("}\n");
}
