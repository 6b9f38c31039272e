//! Checks of generated code by other tools, if installed: CBMC proves that no kernel reads or
//! writes outside of an array, clang's RealtimeSanitizer checks that no step allocates, locks or
//! waits, and Miri interprets generated Rust.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cellc::Language;
use cellc::internals::emit::names::Field;
use cellc::internals::kernel::Element;
use cellc::{Options, Precision, WeightsAs};
use cellc_tests::corpus::{self, Case};
use cellc_tests::model_file::ModelFile;
use cellc_tests::random;
use cellc_tests::skipped::{has, skip, works};
use cellc_tests::subject::Subject;
use cellc_tests::tiny::{cell, head, iterator, sequence};

/// The first clang that has RealtimeSanitizer is 20.
const CLANGS: [&str; 4] = ["clang-22", "clang-21", "clang-20", "clang"];

/// A folder with the generated C of a subject.
fn written(test: &str, subject: &Subject) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test).join(&subject.name);
    fs::create_dir_all(&folder).expect("a folder");
    for file in subject.files(Language::C) {
        fs::write(folder.join(&file.name), file.bytes.as_slice()).expect("a file");
    }
    folder
}

/// A program that makes one step with inputs and outputs of exactly their sizes. `attribute`: the
/// attribute of the function that calls the step. `call`: the name of the step.
fn program(subject: &Subject, attribute: &str, call: &str) -> String {
    let interface = &subject.compilation.interface;
    let name = &interface.function;
    let upper = name.to_ascii_uppercase();
    let size = |field: &str| format!("{upper}_{}_SIZE", field.to_ascii_uppercase());
    let array = |field: &str| format!("static float {field}_values[{}];\n", size(field));
    let fields =
        || interface.inputs.iter().chain(&interface.outputs).map(|field| field.name.as_str());
    let arrays: String = fields().map(array).collect();
    let all = |fields: &[cellc::internals::emit::names::Field]| {
        fields
            .iter()
            .map(|field| format!(".{0} = {0}_values", field.name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    // a body takes the scratch memory that the pure function of a single cell has on its stack
    let has_memory =
        if call.ends_with("_run") { interface.takes_memory } else { interface.has_memory() };
    let memory = interface.memory().name();
    let declared =
        if has_memory { format!("static {name}_{memory} {memory};\n") } else { String::new() };
    let argument = if has_memory { format!("&{memory}, ") } else { String::new() };
    format!(
        "#include \"{name}.c\"\n{arrays}{declared}static void once(void) {attribute} {{\n    \
             {call}({argument}&({name}_inputs){{{}}}, &({name}_outputs){{{}}});\n\
         }}\nint main(void) {{\n    once();\n    return 0;\n}}\n",
        all(&interface.inputs),
        all(&interface.outputs)
    )
}

fn cbmc(folder: &Path) -> Output {
    let mut command = Command::new("cbmc");
    // computed values do not influence addresses: the formula leaves them out
    command.args([
        "--bounds-check",
        "--pointer-check",
        "--unwinding-assertions",
        "--unwind",
        "20",
        "--slice-formula",
    ]);
    command.args(["--verbosity", "4", "main.c"]).current_dir(folder).output().expect("cbmc starts")
}

#[test]
fn no_kernel_leaves_its_arrays() {
    if !has("cbmc") {
        return;
    }
    let after = "linear_before_reset=\"true\"";
    let models: [(&str, ModelFile); 6] = [
        ("gru", cell("GRUCell", 3, "")),
        ("gru_after", cell("GRUCell", 3, after)),
        ("lstm", cell("LSTMCell", 4, "")),
        ("sequence", sequence()),
        ("head", head()),
        ("pieces", iterator()),
    ];
    for (name, file) in models {
        let subject =
            random::compiled(name, file, Options::default().with_isas(Some(Vec::new())), 0);
        let folder = written("proofs", &subject);
        fs::write(folder.join("main.c"), program(&subject, "", &format!("{name}_run_generic")))
            .expect("a file");
        let output = cbmc(&folder);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{name}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );

        // an array with one element less than a kernel writes
        let field = &subject.compilation.interface.outputs[0].name;
        let size = format!("{}_{}_SIZE", name.to_ascii_uppercase(), field.to_ascii_uppercase());
        let planted = program(&subject, "", &format!("{name}_run_generic"));
        let planted = planted
            .replace(&format!("{field}_values[{size}]"), &format!("{field}_values[{size} - 1]"));
        fs::write(folder.join("main.c"), planted).expect("a file");
        assert_eq!(
            cbmc(&folder).status.code(),
            Some(10),
            "{name}: an array that is too short is not seen"
        );
    }
}

/// Compiles and runs `main.c` under RealtimeSanitizer.
fn realtime(folder: &Path, clang: &str) -> Option<Output> {
    let compiled = Command::new(clang)
        .args([
            "-std=gnu2x",
            "-O2",
            "-Wno-unused-function",
            "-fsanitize=realtime",
            "main.c",
            "-o",
            "main",
        ])
        .current_dir(folder)
        .output()
        .expect("clang starts");
    compiled
        .status
        .success()
        .then(|| Command::new(folder.join("main")).output().expect("the program starts"))
}

#[test]
fn no_step_allocates_or_waits() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("realtime");
    fs::create_dir_all(&folder).expect("a folder");
    let guarded = "[[clang::nonblocking]]";
    let planted = format!(
        "#include <stdlib.h>\nstatic void f(void) {guarded} {{ free(malloc(1)); }}\nint main(void) {{ f(); return 0; }}\n"
    );
    fs::write(folder.join("main.c"), planted).expect("a file");
    let refuses =
        |clang: &&str| realtime(&folder, clang).is_some_and(|output| !output.status.success());
    let Some(clang) = CLANGS.into_iter().filter(|name| works(name)).find(refuses) else {
        skip("no clang with RealtimeSanitizer");
        return;
    };
    for name in [
        "gru_cell_128_fp16",
        "lstm_cell",
        "rnn_cell_relu_clip",
        "onnx_gru_bi_dense",
        "ti_gru",
        "stateful_gru",
    ] {
        let options = Options::default().with_weights_as(WeightsAs::Inline);
        let case = corpus::case(name);
        let (subject, _) = Case::subjects(&case, &options, "").swap_remove(0);
        let folder = written("realtime", &subject);
        let call = format!("{}_run", subject.compilation.interface.function);
        fs::write(folder.join("main.c"), program(&subject, guarded, &call)).expect("a file");
        let output = realtime(&folder, clang).unwrap_or_else(|| panic!("{name} compiles"));
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// True if cargo has Miri: `rustup toolchain install nightly --profile minimal --component
/// miri,rust-src`.
fn has_miri() -> bool {
    let miri = Command::new("cargo").args(["+nightly", "miri", "setup"]).output();
    let works = miri.is_ok_and(|output| output.status.success());
    if !works {
        skip("no Miri");
    }
    works
}

/// A value of the Rust type of a tensor: 0 for an output, otherwise 0.5 or 1, by element type.
fn rust_value(field: &Field, is_output: bool) -> String {
    let number = match (is_output, field.element) {
        (true, Element::F32) => "0.0",
        (true, Element::Bool) => "false",
        (true, _) => "0",
        (false, Element::F32) => "0.5",
        (false, Element::Bool) => "true",
        (false, _) => "1",
    };
    match *field.shape {
        [n] | [1, n] => format!("[{number}; {n}]"),
        [rows, n] => format!("[[{number}; {n}]; {rows}]"),
        _ => format!("[{number}; {}]", field.shape.iter().product::<usize>()),
    }
}

/// The function of a program that makes two steps of a subject. The subject's Rust is a module with
/// the subject's name.
fn two_steps(subject: &Subject) -> String {
    let (name, interface) = (&subject.name, &subject.compilation.interface);
    let fields: Vec<_> = interface.step_inputs().collect();
    let values: Vec<_> = fields.iter().map(|field| rust_value(field, false)).collect();
    let record = if fields.len() == interface.inputs.len() { "Inputs" } else { "StepInputs" };
    let input = match &values[..] {
        [one] => format!("&{one}"),
        _ => {
            let named = fields
                .iter()
                .zip(&values)
                .map(|(field, value)| format!("{}: &{value}", field.name));
            format!("&{name}::{record} {{ {} }}", named.collect::<Vec<_>>().join(", "))
        }
    };
    let output = match &interface.outputs[..] {
        [one] => rust_value(one, true),
        _ => format!("{name}::Outputs::new()"),
    };
    // Miri does not interpret the instruction `cpuid`
    let generic = format!("with_isa({name}::Isa::from_name(\"generic\").expect(\"a body\"))");
    let new = if interface.has_isas() { generic } else { "new()".to_owned() };
    format!(
        "fn step_{name}() {{\n    let mut cell = {name}::{}::{new};\n    let mut output = {output};\n    \
         for _ in 0..2 {{\n        cell.step({input}, &mut output);\n    }}\n}}\n",
        interface.type_name
    )
}

/// Kernels of each kind on the generic body access only their arrays, with valid alignment: Miri
/// interprets the kernels.
#[test]
fn miri_finds_no_undefined_behaviour() {
    if !has_miri() {
        return;
    }
    let after = "linear_before_reset=\"true\"";
    let generic = || Options::default().with_isas(Some(Vec::new()));
    let in_integers = |precision| generic().with_precision(Some(precision));
    let subjects = [
        random::compiled("gru", cell("GRUCell", 3, ""), generic(), 0),
        random::compiled("gru_after", cell("GRUCell", 3, after), generic(), 0),
        random::compiled("lstm", cell("LSTMCell", 4, ""), generic(), 0),
        random::compiled("rnn", cell("RNNCell", 1, ""), generic(), 0),
        random::compiled("in_scalars", cell("GRUCell", 3, ""), Options::default(), 0),
        random::compiled("sequence", sequence(), generic(), 0),
        random::compiled("head", head(), generic(), 0),
        random::compiled("pieces", iterator(), generic(), 0),
        random::compiled(
            "in_halves",
            cell("GRUCell", 3, after),
            generic().with_precision(Some(Precision::F16)),
            0,
        ),
        random::compiled("in_int8", cell("GRUCell", 3, after), in_integers(Precision::Int8), 0),
        random::compiled("in_int16", cell("LSTMCell", 4, ""), in_integers(Precision::Int16), 0),
        cellc_tests::kernels::subject("made_by_hand"),
    ];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("miri");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let manifest =
        "[package]\nname = \"interpreted\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest).expect("a file");
    let mut main = String::from("#![allow(dead_code)]\n");
    for subject in &subjects {
        let text = subject.files(Language::Rust).pop().expect("the source comes last").bytes;
        fs::write(folder.join("src").join(format!("{}.rs", subject.name)), text.as_slice())
            .expect("a file");
        main += &format!("mod {};\n{}", subject.name, two_steps(subject));
    }
    let calls: String =
        subjects.iter().map(|subject| format!("    step_{}();\n", subject.name)).collect();
    let interpreted = |calls: &str| {
        fs::write(folder.join("src/main.rs"), format!("{main}fn main() {{\n{calls}}}\n"))
            .expect("a file");
        let mut cargo = Command::new("cargo");
        // Miri has a toolchain of its own
        for variable in ["RUSTC", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "CARGO"] {
            cargo.env_remove(variable);
        }
        cargo
            .env("MIRIFLAGS", "-Zmiri-strict-provenance")
            .env("CARGO_TARGET_DIR", folder.join("target"));
        let cargo = cargo.args(["+nightly", "miri", "run", "--offline"]).current_dir(&folder);
        cargo.output().expect("cargo starts")
    };
    let output = interpreted(&calls);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // one element beyond an array is seen
    let planted = "    let array = [0.0f32; 2];\n    let _ = unsafe { *array.as_ptr().add(2) };\n";
    assert!(!interpreted(planted).status.success(), "a read beyond an array is not seen");
}
