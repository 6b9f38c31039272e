//! The input and the output in one array: optimised code of both languages gives the bits of two
//! arrays.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::{Builder, Framework, Language, Tuning};
use cellc_tests::corpus;
use cellc_tests::driver::{c_compilers, run, rustc};

/// A model whose input and output have equal types.
struct Model {
    name: &'static str,
    type_name: &'static str,
    /// Elements of the input.
    len: usize,
    /// The names in generated code.
    input: &'static str,
    output: &'static str,
    /// True if the model has other outputs.
    several: bool,
    /// True if a step in C must copy the input.
    copies: bool,
    /// True if generated code has `steps`.
    steps: bool,
}

/// In a cell, one panel after another reads the input; in a sequence, one step after another. A
/// second layer does not read the input.
const MODELS: [Model; 4] = [
    Model {
        name: "gru_one",
        type_name: "GruOne",
        len: 24,
        input: "x",
        output: "h_out",
        several: false,
        copies: true,
        steps: false,
    },
    Model {
        name: "layers",
        type_name: "Layers",
        len: 24,
        input: "x",
        output: "out",
        several: false,
        copies: false,
        steps: false,
    },
    Model {
        name: "sequence",
        type_name: "Sequence",
        len: 5 * 24,
        input: "x",
        output: "y",
        several: true,
        copies: true,
        steps: false,
    },
    Model {
        name: "stepwise",
        type_name: "Stepwise",
        len: 10,
        input: "x",
        output: "out0",
        several: false,
        copies: false,
        steps: true,
    },
];

/// Calls of a step, or steps of a call.
const CALLS: usize = 6;

/// Numbers of a magnitude that sums round.
fn values(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 % 255) as f32 - 127.0) / 300.0).collect()
}

/// The generated files, in a new folder.
fn written(language: Language, keep_denormals: bool) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("in-place-{language:?}-{keep_denormals}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the old folder goes");
    }
    fs::create_dir_all(&folder).expect("a folder");
    let write = |builder: Builder, name: &str| {
        let builder =
            builder.name(name).language(language).keep_denormals(keep_denormals).runtime(false);
        builder.out_dir(&folder).compile().expect("it is compiled");
    };
    let gru = |hidden: usize, inputs: usize| {
        [values(3 * hidden * inputs), values(3 * hidden * hidden), values(4 * hidden)]
    };
    // the reset gate after the product: a panel is done before the next one reads the input
    let gru_of = |units| Builder::gru(units, units).linear_before_reset(true);
    let [w, r, b] = gru(24, 24);
    let panels = Tuning::default().with_panel_columns(Some(8)).with_input_first(Some(false));
    write(gru_of(24).weight_values(&w, &r, &b).tuning(panels), "gru_one");
    let layers = gru_of(24).layers(2);
    let layer = |builder: Builder| builder.weights_of(Framework::OpenVino, &[&w, &r, &b]);
    write(layer(layer(layers)), "layers");
    write(gru_of(24).steps(5).weight_values(&w, &r, &b).tuning(panels), "sequence");
    // two layers and a head, which becomes as wide as the input
    let case = corpus::folder().join("torch_gru2_head");
    let mut xml = fs::read_to_string(case.join("model.xml")).expect("the model");
    for (from, to) in [
        (
            "shape=\"4, 12\" offset=\"3562\" size=\"96\"",
            "shape=\"10, 12\" offset=\"2602\" size=\"240\"",
        ),
        (
            "shape=\"1, 1, 4\" offset=\"3658\" size=\"8\"",
            "shape=\"1, 1, 10\" offset=\"3466\" size=\"20\"",
        ),
        ("<dim>4</dim>", "<dim>10</dim>"),
    ] {
        assert!(xml.contains(from), "{from}");
        xml = xml.replace(from, to);
    }
    fs::write(folder.join("model.xml"), xml).expect("written");
    let model = Builder::new(folder.join("model.xml")).weights(case.join("model.bin"));
    write(model.open_shape("x", [Some(1), None, Some(10)]), "stepwise");
    folder
}

fn literals(len: usize, suffix: &str) -> String {
    let all: Vec<String> = values(len).iter().map(|v| format!("{:?}{suffix}", v * 3.0)).collect();
    all.join(", ")
}

#[test]
fn one_array_gives_the_bits_of_two_in_rust() {
    let folder = written(Language::Rust, false);
    let mut main = String::new();
    let mut calls = String::new();
    for Model { name, type_name, len, output, several, steps, .. } in MODELS {
        main += &format!("mod {name};\n");
        let step = match several {
            false => format!("let mut y = [0.0; {len}]; apart.step(x, &mut y);"),
            true => format!("apart.step(x, &mut outputs); let y = outputs.{output};"),
        };
        let outputs = if several {
            format!("let mut outputs = {name}::Outputs::new();")
        } else {
            String::new()
        };
        calls += &format!(
            "{{
                let x: [f32; {}] = [{}];
                let x = x.as_chunks::<{len}>().0;
                let mut apart = {name}::{type_name}::new();
                let mut in_place = apart.clone();
                {outputs}
                let mut all = Vec::new();
                for x in x {{
                    {step}
                    let mut io = *x;
                    in_place.step_in_place(&mut io);
                    assert_eq!(io.map(f32::to_bits), y.map(f32::to_bits), \"{name}\");
                    all.push(y);
                }}
                assert_ne!(all[0], all[1]);
                {}
            }}\n",
            CALLS * len,
            literals(CALLS * len, ""),
            match steps {
                false => "",
                true =>
                    "let mut io = x.to_vec();
                    in_place.reset();
                    in_place.steps_in_place(&mut io);
                    assert_eq!(io, all);",
            }
        );
    }
    main += &format!("fn main() {{\n{calls}}}\n");
    fs::write(folder.join("main.rs"), main).expect("a file");
    let program = folder.join("main");
    run(rustc()
        .args(["--edition=2021", "-Copt-level=3", "-Dwarnings", "-Adead_code"])
        .arg(folder.join("main.rs"))
        .arg("-o")
        .arg(&program));
    run(&mut Command::new(program));
}

/// A program whose exit code is the number of models with other bits in place.
fn c_main() -> String {
    let mut main = String::from("#include <stdio.h>\n#include <string.h>\n");
    for Model { name, .. } in MODELS {
        main += &format!("#include \"{name}.h\"\n");
    }
    main += "int main(void) {\n    int wrong = 0;\n";
    for Model { name, len, several, steps, .. } in MODELS {
        // the last state of the sequence
        let (more, last) = if several { (", last", "float last[24];") } else { ("", "") };
        let at_once = match steps {
            false => String::new(),
            true => format!(
                "memcpy(io, x, sizeof io); {name}_reset(&in_place); {name}_steps(&in_place, {CALLS}, io, io);
                differs |= memcmp(io, y, sizeof io);"
            ),
        };
        main += &format!(
            "{{
                static const float x[] = {{{}}};
                float y[{CALLS} * {len}], io[{CALLS} * {len}];
                {last}
                static {name} apart, in_place;
                int differs = 0;
                {name}_init(&apart);
                {name}_init(&in_place);
                memcpy(io, x, sizeof io);
                for (int i = 0; i < {CALLS}; i++) {{
                    {name}_step(&apart, x + i * {len}, y + i * {len}{more});
                    {name}_step(&in_place, io + i * {len}, io + i * {len}{more});
                }}
                differs |= memcmp(io, y, sizeof io);
                {at_once}
                if (differs) {{ wrong++; puts(\"{name}\"); }}
            }}\n",
            literals(CALLS * len, "f"),
        );
    }
    main + "    return wrong;\n}\n"
}

#[test]
fn one_array_gives_the_bits_of_two_in_c() {
    let _ = one_array_in_c(false);
    // leaving out the copy changes results; a kernel that flushes its input reads the input before
    // it writes
    let (folder, wrong) = one_array_in_c(true);
    let mut needed = String::new();
    for Model { name, input, output, copies, .. } in MODELS {
        let path = folder.join(format!("{name}.c"));
        let text = fs::read_to_string(&path).expect("written");
        let condition = format!("if ({input} == {output}) {{");
        assert_eq!(text.contains(&condition), copies, "{name}");
        fs::write(&path, text.replace(&condition, "if (0) {")).expect("written");
        let header = fs::read_to_string(path.with_extension("h")).expect("written");
        let promise = format!("In place: {input} and {output} may be the same pointer");
        assert!(header.contains(&promise), "{name}");
        if copies {
            needed += &format!("{name}\n");
        }
    }
    assert_eq!(wrong(c_compilers()[0], &["-O3"]), needed);
}

/// The folder with the files, and a function that compiles the files and reports models with other
/// bits: there are none.
fn one_array_in_c(keep_denormals: bool) -> (PathBuf, impl Fn(&str, &[&str]) -> String) {
    let folder = written(Language::C, keep_denormals);
    fs::write(folder.join("main.c"), c_main()).expect("a file");
    let sources: Vec<String> = MODELS.iter().map(|model| format!("{}.c", model.name)).collect();
    let place = folder.clone();
    let wrong = move |compiler: &str, flags: &[&str]| {
        let mut command = Command::new(compiler);
        command
            .current_dir(&place)
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main"]);
        run(command.args(flags).args(&sources));
        let output = Command::new(place.join("main")).output().expect("it starts");
        String::from_utf8(output.stdout).expect("names")
    };
    for compiler in c_compilers() {
        for flags in [&["-O3"][..], &["-O2", "-flto"]] {
            if compiler.starts_with("clang") && flags.contains(&"-flto") {
                continue; // its linker may not be there
            }
            assert_eq!(wrong(compiler, flags), "", "{compiler} {flags:?}");
        }
    }
    (folder, wrong)
}

/// The header does not promise one array if several outputs are candidates, or if the types differ.
#[test]
fn other_models_have_one_array_for_each() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("in-place-none");
    fs::create_dir_all(&folder).expect("a folder");
    for builder in [Builder::gru(3, 4), Builder::lstm(4, 4), Builder::augru(4, 4)] {
        let builder = builder.name("net");
        let files = builder.clone().out_dir(&folder).compile().expect("it is compiled");
        let text = fs::read_to_string(&files[0]).expect("written");
        assert!(!text.contains("in_place"), "{builder:?}");
    }
}
