//! Every name works: every identifier of generated files, of the headers that generated C includes
//! and of the two languages, in every place that a user can name, compiles without warnings.
//!
//! A model is compiled once and its text written once for each name, as a module of one Rust crate
//! and as a part of one C file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::internals::compile::{Compilation, compile};
use cellc::internals::emit::names::{Interface, prefix};
use cellc::internals::front::openvino;
use cellc::macros::Macro;
use cellc::{Language, Options, State, Threads, Tuning};
use cellc_tests::model_file::{ModelFile, Port, Stored};
use cellc_tests::skipped::{Far, compiler_works, has, skip};
use cellc_tests::{driver, kernels};
use tempfile::TempDir;

/// Compilers, their flags for the machine, and the header of the machine's intrinsics.
const INTRINSICS: [(&str, &[&str], &str); 9] = [
    ("aarch64-linux-gnu-gcc", &["-march=armv8.6-a+bf16+i8mm+dotprod+fp16+crypto"], "arm_neon.h"),
    ("aarch64-linux-gnu-gcc", &[], "arm_acle.h"),
    ("arm-linux-gnueabihf-gcc", &["-mfpu=neon-vfpv4"], "arm_neon.h"),
    ("arm-none-eabi-gcc", &["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"], "arm_mve.h"),
    (
        "clang-19",
        &["-ffreestanding", "--target=aarch64-linux-gnu", "-march=armv9-a+fp16+bf16"],
        "arm_neon.h",
    ),
    ("clang-19", &["-ffreestanding", "--target=wasm32", "-msimd128"], "wasm_simd128.h"),
    (
        "clang-19",
        &["-ffreestanding", "--target=riscv64-linux-gnu", "-march=rv64gcv"],
        "riscv_vector.h",
    ),
    (
        "clang-19",
        &["-ffreestanding", "--target=x86_64-linux-gnu", "-march=sapphirerapids"],
        "immintrin.h",
    ),
    ("gcc", &["-march=x86-64-v3"], "immintrin.h"),
];

/// True if the compiler has the header; otherwise, the test is skipped.
fn knows((compiler, flags, header): &(&str, &[&str], &str)) -> bool {
    let found = has(compiler)
        && compiler_works(compiler, flags, &format!("#include <{header}>\n"), Far::Compiled);
    if !found {
        skip(&format!("no {header} of {compiler}"));
    }
    found
}

/// No prefix of a generated file is a name that a header of intrinsics declares.
#[test]
fn intrinsics_are_no_names() {
    let mut wrong = BTreeSet::new();
    for (compiler, flags, header) in INTRINSICS.into_iter().filter(knows) {
        // names declared in the headers themselves, not in headers that these include
        let declared = |headers: &[&str]| {
            let text: String =
                headers.iter().map(|header| format!("#include <{header}>\n")).collect();
            let source = folder().join(format!("{compiler}-{header}.c"));
            fs::write(&source, text).expect("a file");
            let preprocessed = |more: &[&str]| {
                let output =
                    Command::new(compiler).args(flags).arg("-E").args(more).arg(&source).output();
                let output = output.expect("the compiler starts");
                assert!(
                    output.status.success(),
                    "{compiler}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                String::from_utf8(output.stdout).expect("it writes UTF-8")
            };
            let macros = preprocessed(&["-dM"]);
            let macros = macros
                .lines()
                .filter_map(|line| line.strip_prefix("#define ")?.split([' ', '(']).next());
            let text = preprocessed(&["-P"]);
            let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let words = text.split_inclusive(|c| !part(c)).filter_map(|word| {
                let name = word.trim_end_matches(|c| !part(c));
                (name.ends_with("_t") || word.ends_with('(')).then_some(name)
            });
            // gcc has a space between the name of a function and its parameters
            let spaced = text.split(" (").filter_map(|before| before.rsplit(|c| !part(c)).next());
            let is_plain = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
            macros
                .chain(words)
                .chain(spaced)
                .filter(is_plain)
                .map(str::to_owned)
                .collect::<BTreeSet<_>>()
        };
        let included: &[&str] =
            if compiler == "gcc" { &["stdint.h", "stdlib.h"] } else { &["stdint.h"] };
        let own = declared(&[&["stddef.h"], included, &[header]].concat());
        let own: Vec<_> =
            own.difference(&declared(&[&["stddef.h"], included].concat())).cloned().collect();
        assert!(
            own.len() > 300 || header == "arm_acle.h" || header == "immintrin.h",
            "{header}: {}",
            own.len()
        );
        // arguments of attributes
        let is_attribute = |name: &str| {
            ["target", "align_value", "aligned", "deprecated"].contains(&name)
                || name.contains("vector_type")
        };
        wrong.extend(
            own.into_iter().filter(|name| prefix(name, false) == *name && !is_attribute(name)),
        );
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The name of files in tests of other names.
const FIXED: &str = "net";

/// The size that is open in the models' files: the number of steps.
const OPEN: usize = 7;

/// A place that a user can name in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Input(usize),
    Output(usize),
    Variable(usize),
}

use Place::{Input, Output, Variable};

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("names");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn compiled(file: ModelFile, options: Options) -> Compilation {
    let text = file
        .text()
        .replace(&format!(",{OPEN},"), ",?,")
        .replace(&format!("<dim>{OPEN}</dim>"), "<dim>-1</dim>");
    let model = openvino::read_bytes("net.xml", text.as_bytes(), Some(("net.bin", file.weights)))
        .unwrap_or_else(|problems| panic!("{problems}"))
        .model;
    let options = options.with_name(Some(FIXED.to_owned()));
    compile(&model, &options).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The options for the generic instruction set alone. Others differ only in their intrinsics.
fn generic() -> Options {
    Options::default().with_isas(Some(Vec::new()))
}

fn on_two_threads(options: Options) -> Options {
    options.with_threads(Threads::Two).with_tuning(Tuning::default().with_halves(Some(true)))
}

fn of_steps(options: Options, shapes: &[(&str, &[Option<usize>])]) -> Options {
    let shapes = shapes.iter().map(|(name, shape)| (name.to_string(), shape.to_vec())).collect();
    options.with_shapes(shapes)
}

fn constant(file: &mut ModelFile, shape: &[usize]) -> Port {
    file.constant(shape, Stored::F32, (0..shape.iter().product()).map(|i| i as f32 / 8.0 - 0.5))
}

/// A run-time number of steps: the pure function, `step` and `steps` take the one input and the one
/// output.
fn steps() -> (ModelFile, Options) {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, OPEN, 1]);
    let y = file.named("ReLU", "opset1", "", &[&x], &[("y", &[1, OPEN, 1])]).remove(0);
    file.result(&y);
    (file, of_steps(generic(), &[("x", &[Some(1), None, Some(1)])]))
}

/// A model with a state in the struct, and with rows.
fn sum() -> (ModelFile, Options) {
    let mut file = ModelFile::default();
    let (x, h) = (file.parameter("x", &[2, 1]), file.parameter("h", &[2, 1]));
    let y = file.named("Add", "opset1", "", &[&x, &h], &[("y", &[2, 1])]).remove(0);
    file.result(&y);
    (file, generic().with_state(State::Pairs(vec![("h".to_owned(), "y".to_owned())])))
}

/// A cell.
fn cell() -> ModelFile {
    let mut file = ModelFile::default();
    let (x, h) = (file.parameter("x", &[1, 1]), file.parameter("h", &[1, 2]));
    let weights = [&[2, 1][..], &[2, 2], &[2]].map(|shape| constant(&mut file, shape));
    let [w, r, b] = &weights;
    let y = file.cell("h_out", "RNNCell", "activations=\"relu\"", &[&x, &h, w, r, b]);
    file.result(&y);
    file
}

/// For each name an input, a layer and an output, of a run-time number of steps.
fn elementwise(count: usize) -> (ModelFile, Options) {
    let (mut file, mut shapes) = (ModelFile::default(), Vec::new());
    for k in 0..count {
        let x = file.parameter(&format!("x{k}"), &[1, OPEN, 2]);
        let y =
            file.named("ReLU", "opset1", "", &[&x], &[(&format!("y{k}"), &[1, OPEN, 2])]).remove(0);
        file.result(&y);
        shapes.push((format!("x{k}"), vec![Some(1), None, Some(2)]));
    }
    (file, generic().with_shapes(shapes))
}

/// For each name a sequence of a run-time number of steps, whose state is a variable.
fn sequences(count: usize) -> (ModelFile, Options) {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, OPEN, 1]);
    let sizes = file.operation("ShapeOf", "opset3", "output_type=\"i64\"", &[&x], &[3]);
    let [at, axis] = [file.integers(&[1], &[1]), file.integers(&[], &[0])];
    let length =
        file.operation("Gather", "opset8", "batch_dims=\"0\"", &[&sizes, &at, &axis], &[1]);
    for _ in 0..count {
        let [h, w, r, b] = [&[1, 1, 1][..], &[1, 1, 1], &[1, 1, 1], &[1, 1]]
            .map(|shape| constant(&mut file, shape));
        let data = "hidden_size=\"1\" activations=\"relu\"";
        let inputs = [&x, &h, &length, &w, &r, &b];
        let shapes = [vec![1, 1, OPEN, 1], vec![1, 1, 1]];
        let y = file.operations("RNNSequence", "opset5", data, &inputs, &shapes).remove(0);
        file.result(&y);
    }
    (file, of_steps(generic(), &[("x", &[Some(1), None, Some(1)])]))
}

/// For each name an input of lengths, of each type that they have.
fn lengths(count: usize) -> (ModelFile, Options) {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, 2, 1]);
    for k in 0..count {
        let length =
            file.parameter_of(&format!("n{k}"), if k % 2 == 0 { "i32" } else { "i64" }, &[1]);
        let [h, w, r, b] = [&[1, 1, 1][..], &[1, 1, 1], &[1, 1, 1], &[1, 1]]
            .map(|shape| constant(&mut file, shape));
        let data = "hidden_size=\"1\" activations=\"relu\"";
        let inputs = [&x, &h, &length, &w, &r, &b];
        let y = file
            .operations("RNNSequence", "opset5", data, &inputs, &[vec![1, 1, 2, 1], vec![1, 1, 1]])
            .remove(0);
        file.result(&y);
    }
    (file, generic())
}

/// For each name an input that is copied, by loops in loops.
fn transposed(count: usize) -> (ModelFile, Options) {
    let mut file = ModelFile::default();
    let order = file.integers(&[4], &[0, 3, 2, 1]);
    for k in 0..count {
        let x = file.parameter(&format!("x{k}"), &[2, 2, 2, 3]);
        let y = file.operation("Transpose", "opset1", "", &[&x, &order], &[2, 3, 2, 2]);
        file.result(&y);
    }
    (file, generic())
}

/// For each name a variable, and a cell that two threads share.
fn variables(count: usize) -> (ModelFile, Options) {
    let mut file = cell();
    for k in 0..count {
        let (name, zero) = (format!("variable_id=\"v{k}\""), constant(&mut file, &[1, 2]));
        let kept = file.operation("ReadValue", "opset6", &name, &[&zero], &[1, 2]);
        let next = file.operation("Sigmoid", "opset1", "", &[&kept], &[1, 2]);
        file.assign(&format!("v{k}"), &next);
    }
    (file, on_two_threads(generic()))
}

/// For each name a state or a weight: cells with a state each, and one input.
fn cells(count: usize) -> (ModelFile, Options) {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[2, 1]);
    for k in 0..count {
        let inputs = [("h", &[2, 1][..]), ("w", &[1, 1]), ("r", &[1, 1]), ("b", &[1])];
        let [h, w, r, b] = inputs.map(|(name, shape)| file.parameter(&format!("{name}{k}"), shape));
        let y = file.cell(&format!("y{k}"), "RNNCell", "", &[&x, &h, &w, &r, &b]);
        file.result(&y);
    }
    (file, generic())
}

/// The words of a source, without comments and strings.
fn words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let skip = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '"' => {
                let mut escaped = false;
                let end = rest[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                end.map_or(rest.len(), |at| at + 2)
            }
            _ if word > 0 => {
                if !c.is_ascii_digit() {
                    found.insert(rest[..word].to_owned());
                }
                word
            }
            _ => c.len_utf8(),
        };
        rest = &rest[skip..];
    }
    found
}

/// The model under another name, with some of its places renamed.
fn renamed(base: &Compilation, name: &str, named: &[(Place, String)]) -> Compilation {
    let mut compilation = base.clone();
    let model = &mut compilation.model;
    for (place, name) in named {
        match place {
            Place::Input(i) => model.parameters[*i].names = vec![name.clone()],
            Place::Output(i) => model.results[*i].names = vec![name.clone()],
            Place::Variable(i) => model.variables[*i].name = name.clone(),
        }
    }
    let language = compilation.options.output.language;
    let (model, program, pool) = (&compilation.model, &compilation.program, base.interface.pool);
    compilation.interface = Interface::new(model, program, name, pool, language);
    compilation
}

/// Header and source in one text, of a model in C.
fn c_text(compilation: &Compilation) -> [String; 2] {
    let mut files = compilation
        .emit("text")
        .into_iter()
        .map(|file| String::from_utf8(file.bytes.to_vec()).expect("text"));
    let (header, source) = (files.next().expect("a header"), files.next().expect("a source"));
    let source = source.replace("#include \"text.h\"\n", "");
    [header, source]
}

fn rust_text(compilation: &Compilation) -> String {
    compilation.tokens().to_string()
}

/// A model, and the places that are tried with each name alone.
struct Kind {
    compilation: Compilation,
    places: Vec<Place>,
}

/// Models, and places whose names become names of arguments.
fn kinds(language: Language) -> Vec<Kind> {
    let kind = |(file, options): (ModelFile, Options), places: &[Place]| Kind {
        compilation: compiled(file, options.with_language(language)),
        places: places.to_vec(),
    };
    vec![
        kind(steps(), &[Input(0), Output(0)]),
        kind(sum(), &[Input(0), Input(1), Output(0)]),
        kind((cell(), on_two_threads(generic())), &[Input(0)]),
    ]
}

/// A Rust source without its inner modules, which see only names that they import by `super`.
fn outermost(text: &str) -> String {
    let (mut left, mut rest) = (String::new(), text);
    while let Some((before, inner)) = rest.split_once(" mod ") {
        left.push_str(before);
        let open = inner.find('{').expect("a module has a body");
        left.push_str(&inner[..open]);
        let mut depth = 0;
        let end = inner[open..].find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        rest = &inner[open + end.expect("a module ends") + 1..];
    }
    left + rest
}

/// The compilation in C, with its interface. A compilation made by hand has no model to compile
/// again.
fn in_c(compilation: &Compilation) -> Compilation {
    let interface = compilation.interface.clone();
    Compilation { interface, ..compilation.clone().in_language(Language::C) }
}

/// Every identifier of generated files, of Rust and of C.
fn identifiers() -> [BTreeSet<String>; 2] {
    let all_sets = |(file, options): (ModelFile, Options)| compiled(file, options.with_isas(None));
    let mut compilations: Vec<_> =
        kinds(Language::Rust).into_iter().map(|kind| kind.compilation).collect();
    compilations.extend(
        [elementwise(2), transposed(1), variables(1), sequences(1), lengths(2), cells(1)]
            .map(all_sets),
    );
    compilations.push(kernels::subject(FIXED).compilation);
    let (mut rust, mut c) = (BTreeSet::new(), BTreeSet::new());
    for compilation in &compilations {
        rust.extend(words(&rust_text(compilation)));
        c.extend(words(&c_text(&in_c(compilation)).concat()));
    }
    let of_steps =
        compilations.iter().filter(|compilation| compilation.model.steps.is_some()).count();
    assert_eq!(of_steps, 3, "models of a run-time number of steps");
    assert!(
        ["Option", "self", "generic", "step", "net", "sigmoid"]
            .iter()
            .all(|word| rust.contains(*word))
    );
    assert!(["uint32_t", "net_step", "NET_X_SIZE", "NULL"].iter().all(|word| c.contains(*word)));
    [rust, c]
}

/// Every identifier of the headers that generated C includes. Empty if no gcc works.
fn of_headers() -> BTreeSet<String> {
    if !has("gcc") {
        return BTreeSet::new();
    }
    let source = folder().join("headers.c");
    let headers =
        ["pthread.h", "sched.h", "stddef.h", "stdint.h", "string.h", "cpuid.h", "immintrin.h"];
    fs::write(&source, headers.map(|header| format!("#include <{header}>\n")).concat())
        .expect("written");
    let preprocessed = |flags: &[&str]| {
        let mut command = Command::new("gcc");
        command.args(["-std=gnu11", "-D_GNU_SOURCE", "-E"]).args(flags).arg(&source);
        String::from_utf8(command.output().expect("gcc starts").stdout).expect("headers are ASCII")
    };
    let mut found = words(&preprocessed(&["-P"]));
    let macros = preprocessed(&["-dM"]);
    found.extend(
        macros.lines().filter_map(|line| words(line.strip_prefix("#define ")?).pop_first()),
    );
    // cellc gives no name that begins with an underscore
    found.retain(|word| !word.starts_with('_'));
    assert!(
        ["uint8_t", "pthread_mutex_init", "linux", "select"]
            .iter()
            .all(|word| found.contains(*word))
    );
    found
}

/// Every prefix of a name in front of an underscore, because generated C may append the rest.
fn beginnings(names: &BTreeSet<String>) -> BTreeSet<String> {
    let all = names.iter().flat_map(|name| beginnings_of(name));
    all.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The prefixes of a name in front of its underscores.
fn beginnings_of(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('_').map(|(at, _)| &name[..at])
}

/// Models with many fields, for many names in these places at once.
fn batches(names: &BTreeSet<String>, language: Language) -> Vec<Compilation> {
    /// The maximum number of names in a model: the time grows faster than the number of names.
    const MOST: usize = 100;
    /// A function that makes a model with this many fields, and the place of the k-th name.
    type Batch = (fn(usize) -> (ModelFile, Options), fn(usize) -> Place);
    let batches: [Batch; 8] = [
        (elementwise, Input),
        (elementwise, Output),
        (transposed, Input),
        (variables, Variable),
        (sequences, Variable),
        (lengths, |k| Input(k + 1)),
        // after x: the states and the weights
        (|count| cells(count.div_ceil(4)), |k| Input(k + 1)),
        (cells, Output),
    ];
    let names: Vec<_> = names.iter().collect();
    let (mut of_count, mut all) = (BTreeMap::new(), Vec::new());
    for names in names.chunks(MOST) {
        let models = of_count.entry(names.len()).or_insert_with(|| {
            batches.map(|(model, _)| {
                let (file, options) = model(names.len());
                compiled(file, options.with_language(language))
            })
        });
        for (model, (_, place)) in models.iter().zip(batches) {
            let named: Vec<_> =
                names.iter().enumerate().map(|(k, name)| (place(k), name.to_string())).collect();
            all.push(renamed(model, FIXED, &named));
        }
    }
    all
}

/// A folder that is removed with its content on drop.
fn own_folder() -> TempDir {
    tempfile::tempdir_in(folder()).expect("a folder")
}

/// Checks Rust in one run of the compiler: a module for each text.
fn check_rust(edition: &str, texts: impl Iterator<Item = String>, flags: &[&str]) {
    let (folder, mut all) = (own_folder(), String::new());
    for (k, text) in texts.enumerate() {
        let _ = writeln!(all, "pub mod m{k} {{ {text} }}");
    }
    fs::write(folder.path().join("all.rs"), all).expect("written");
    let mut rustc = driver::rustc();
    // a library of another kind would contain the code of all functions, which takes long and is
    // not needed
    rustc.current_dir(&folder).args([
        "--crate-type=cdylib",
        "--emit=metadata",
        "-Dwarnings",
        "--edition",
        edition,
    ]);
    driver::run(rustc.args(flags).arg("all.rs"));
}

/// C files that are compiled as one: the names of their functions, all prefixes of these names in
/// front of underscores, the headers, and the files.
#[derive(Default)]
struct Unit {
    names: BTreeSet<String>,
    beginnings: BTreeSet<String>,
    texts: [String; 2],
}

impl Unit {
    /// True if the name, or a name that generated C makes of it, could be a name in one of the
    /// files, or the other way round.
    fn has_related(&self, name: &str) -> bool {
        self.names.contains(name)
            || self.beginnings.contains(name)
            || beginnings_of(name).any(|part| self.names.contains(part))
    }
}

/// Checks C, and its headers as C++, in one run of each compiler. Files with related names are in
/// different units.
fn check_c(compilations: impl Iterator<Item = Compilation>) {
    let folder = own_folder();
    let mut units: Vec<Unit> = Vec::new();
    for compilation in compilations {
        let name = &compilation.interface.function;
        let at = units.iter().position(|unit| !unit.has_related(name)).unwrap_or_else(|| {
            units.push(Unit::default());
            units.len() - 1
        });
        let unit = &mut units[at];
        unit.beginnings.extend(beginnings_of(name).map(str::to_owned));
        unit.names.insert(name.clone());
        let [header, source] = c_text(&compilation);
        unit.texts[0].push_str(&header);
        unit.texts[1].push_str(&header);
        unit.texts[1].push_str(&source);
    }
    for (at, (compiler, flags, extension)) in
        [("g++", &["-std=c++11"][..], "hpp"), ("gcc", &["-std=gnu11", "-D_GNU_SOURCE"], "c")]
            .into_iter()
            .enumerate()
    {
        if !has(compiler) {
            continue;
        }
        let mut command = Command::new(compiler);
        command
            .current_dir(&folder)
            .args(["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
            .args(flags);
        if extension == "hpp" {
            command.args(["-x", "c++"]);
        }
        for (k, Unit { texts, .. }) in units.iter().enumerate() {
            let file = format!("all_{k}.{extension}");
            fs::write(folder.path().join(&file), &texts[at]).expect("written");
            command.arg(file);
        }
        driver::run(&mut command);
    }
}

/// The model under a name, with one place of the same name.
fn same(kind: &Kind, place: Place, name: &str) -> Compilation {
    renamed(&kind.compilation, name, &[(place, name.to_owned())])
}

/// Each kind with each of its places and each of the names in its own text. Names that are only in
/// the text of another kind cannot clash.
fn each_name_of_its_own<'a>(
    kinds: &'a [Kind],
    words: impl Fn(&Compilation) -> BTreeSet<String> + 'a,
) -> impl Iterator<Item = Compilation> + 'a {
    kinds.iter().flat_map(move |kind| {
        let names = words(&kind.compilation);
        let of_place = move |place: &'a Place| -> Vec<_> {
            names.iter().map(|name| same(kind, *place, name)).collect()
        };
        kind.places.iter().flat_map(of_place)
    })
}

#[test]
fn rust_takes_any_name() {
    let kinds = kinds(Language::Rust);
    let words_of = |compilation: &Compilation| words(&outermost(&rust_text(compilation)));
    let names: BTreeSet<_> = kinds.iter().flat_map(|kind| words_of(&kind.compilation)).collect();
    assert!(
        ["flat", "generic", "step", "steps", "Inputs", "h", "Pair"]
            .iter()
            .all(|name| names.contains(*name))
    );
    let texts = each_name_of_its_own(&kinds, words_of).map(|compilation| rust_text(&compilation));
    check_rust("2024", texts, &[]);
}

#[test]
fn both_take_any_field() {
    // a name that is only in the text of one language cannot clash in the other
    let [rust, c] = identifiers();
    let of_headers = of_headers().difference(&c).cloned().collect();
    check_rust("2015", batches(&rust, Language::Rust).iter().map(rust_text), &[]);
    check_c([&c, &of_headers].into_iter().flat_map(|names| batches(names, Language::C)));
}

#[test]
fn c_takes_any_name() {
    let [_, mut names] = identifiers();
    let kinds = kinds(Language::C);
    check_c(each_name_of_its_own(&kinds, |compilation| words(&c_text(compilation).concat())));
    // with the headers of threads
    let all_headers = kinds.last().expect("there are some");
    names.append(&mut of_headers());
    names.append(&mut beginnings(&names));
    check_c(names.iter().map(|name| renamed(&all_headers.compilation, name, &[])));
}

/// The type has the name chosen by the user, whatever the names of the module and of the type in
/// it.
#[test]
fn macros_take_any_name() {
    let kinds = kinds(Language::Rust);
    let names: BTreeSet<_> =
        kinds.iter().flat_map(|kind| words(&outermost(&rust_text(&kind.compilation)))).collect();
    let types = names.iter().map(|name| {
        let mut letters = name.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    });
    // a type in the root of a crate cannot have these names
    let types: BTreeSet<_> = types.filter(|name| name != "Self" && name != "_").collect();
    let texts = types.iter().map(|name| {
        let call = format!("pub {name}<hidden_size = 1, input_size = 1>").parse().expect("tokens");
        let text = cellc::macros::expand(Macro::RNN_CELL, call).to_string();
        assert!(!text.contains("compile_error"), "{name}: {text}");
        text
    });
    // the names that the macros' code uses, without the macros
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src/lib.rs");
    let mut rustc = driver::rustc();
    rustc.args([
        "--crate-name=cellc_runtime",
        "--crate-type=lib",
        "--emit=metadata",
        "--edition=2024",
        "--out-dir",
    ]);
    let library = own_folder();
    driver::run(rustc.arg(library.path()).arg(runtime));
    check_rust(
        "2021",
        texts,
        &["--extern=cellc_runtime", &format!("-L{}", library.path().display())],
    );
}
