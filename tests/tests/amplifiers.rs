//! Models of amplifiers (`tests/amplifiers`): the interpreter, generated Rust and generated C
//! compute what NumPy computes in float64.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::internals::arch::{AVX2, X86_64};
use cellc::internals::compile::compile;
use cellc::internals::compile::core_model;
use cellc::internals::front::formats::{self, ReadOptions};
use cellc::internals::front::read_model::ReadModel;
use cellc::internals::model::Model;
use cellc::internals::reference::{initial_variables, reference};
use cellc::{Language, ModelSize, Options};
use cellc_tests::driver::{self, run};
use cellc_tests::selection::with_fewer_bodies;
use cellc_tests::subject::{Subject, Values, assert_same, of_subjects};
use serde_json::Value;

struct Case {
    name: String,
    model: Model,
    /// Inputs and expected outputs, by sample.
    x: Vec<Vec<f32>>,
    y: Vec<Vec<f64>>,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "expected"));
    paths.sort();
    assert!(paths.len() >= 11, "models have been lost: {paths:?}");
    paths.iter().map(|path| case(path)).collect()
}

fn case(expected: &Path) -> Case {
    let mut model = expected.with_extension("");
    let mut options = ReadOptions::default();
    let mut name = String::new();
    if model.extension().is_some_and(|ending| ending == "smallest") {
        model.set_extension("");
        options.bindings.size = Some(ModelSize::Smallest);
        name = "smallest_".to_owned();
    }
    let ending = model.extension().map(|ending| ending.to_string_lossy().into_owned());
    if let Some(rate) = ending.and_then(|ending| ending.parse::<usize>().ok()) {
        model.set_extension("");
        options.bindings.sample_rate = Some(rate);
        name = format!("at_{rate}_");
    }
    name += &model.file_stem().expect("a name").to_string_lossy();
    let ReadModel { model, problems: warnings } =
        formats::read(&model, &options).unwrap_or_else(|problems| panic!("{name}: {problems}"));
    assert_eq!(warnings.to_string(), "", "{name}");
    let text = fs::read_to_string(expected).expect("what is expected");
    let numbers: Value = serde_json::from_str(&text).expect("JSON");
    let rows = |key: &str| -> Vec<Vec<f64>> {
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let row = |row: &Value| {
            list(row).iter().map(|number| number.as_f64().expect("a number")).collect()
        };
        list(&numbers[key]).iter().map(row).collect()
    };
    let x = rows("x").iter().map(|row| row.iter().map(|v| *v as f32).collect()).collect();
    Case { name, model, x, y: rows("y") }
}

fn options(case: &Case) -> Options {
    Options::default().with_name(Some(case.name.clone()))
}

#[test]
fn samples_are_those_of_numpy() {
    for case in cases() {
        let (model, _) = core_model(&case.model, &options(&case))
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let mut variables = initial_variables(&model);
        for (t, (x, y)) in case.x.iter().zip(&case.y).enumerate() {
            let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
            let step = reference(&model, &[x], &variables);
            assert_eq!(step.results[0].len(), y.len(), "{}", case.name);
            for (got, want) in step.results[0].iter().zip(y) {
                // two biases of a GRU are summed in f32
                let allowed = if case.name.contains("lstm") { 1e-12 } else { 1e-6 };
                assert!((got - want).abs() < allowed, "{} {t}: {got}, not {want}", case.name);
            }
            variables = step.variables;
        }
    }
}

#[test]
fn generated_code_starts_from_the_initial_states_and_returns_to_them() {
    let subjects: Vec<Subject> = cases()
        .into_iter()
        .map(|case| {
            let compilation = compile(&case.model, &options(&case))
                .unwrap_or_else(|problems| panic!("{}: {problems}", case.name));
            let calls = case.x.iter().take(2).map(|x| vec![x.clone()]).collect();
            Subject { name: case.name, compilation, calls }
        })
        .collect();
    let isas = driver::isas();
    let expected: Values = subjects.iter().flat_map(|s| s.expected(&isas)).collect();
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let in_rust = with_fewer_bodies(&subjects, Language::Rust);
    let found = driver::rust(&folder("amplifiers-rust"), &in_rust, &["-Copt-level=1"]);
    assert_same("rust", &of_subjects(&expected, &in_rust), &found);
    let in_c = with_fewer_bodies(&subjects, Language::C);
    for (compiler, taken) in driver::c_compilers_with(&in_c) {
        let found = driver::c(&folder("amplifiers-c"), &taken, compiler, &["-std=gnu11", "-O1"]);
        assert_same(compiler, &of_subjects(&expected, &taken), &found);
    }
}

fn subject(case: &Case, options: &Options) -> Subject {
    let compilation = compile(&case.model, options)
        .unwrap_or_else(|problems| panic!("{}: {problems}", case.name));
    assert!(compilation.model.steps.is_some(), "{} takes no blocks", case.name);
    let name = options.output.name.clone().expect("a name");
    Subject { name, compilation, calls: Vec::new() }
}

/// Models for any number of samples in a call.
fn streams() -> Vec<(Case, Subject)> {
    let stream = |case: Case| {
        let subject = subject(&case, &options(&case));
        (case, subject)
    };
    cases().into_iter().map(stream).collect()
}

/// Models of one channel, and of two. On x86-64 C has kernels of several samples, too. Models that
/// fill no vector with one channel are left out: they have no fused multiply-add.
fn stereo() -> Vec<(Case, [Subject; 2])> {
    let names = [
        "aida_conv1d_lstm",
        "aida_gru_skip",
        "nam_conv_net",
        "nam_lstm",
        "nam_lstm_two_inputs",
        "nam_wavenet_condition",
        "nam_wavenet_film",
        "nam_wavenet_gated",
        "rtneural_conv2d_gru",
    ];
    let cases = cases().into_iter().filter(|case| names.contains(&&*case.name));
    let both = |case: Case| {
        let one = options(&case).with_target(&X86_64).with_isas(Some(vec![&AVX2]));
        let name = format!("{}_stereo", case.name);
        let two = one.clone().with_batch(Some(2)).with_name(Some(name));
        let subjects = [subject(&case, &one), subject(&case, &two)];
        (case, subjects)
    };
    let found: Vec<_> = cases.map(both).collect();
    assert_eq!(found.len(), names.len());
    found
}

/// The samples of a case as text, with `suffix` behind each number.
fn samples(case: &Case, suffix: &str) -> String {
    let number = |value: &f32| format!("{value:?}{suffix}");
    case.x.iter().flatten().map(number).collect::<Vec<_>>().join(", ")
}

/// Checks what a program printed: the outputs of every case.
fn assert_near(streams: &[(Case, Subject)], program: &Path) {
    let output = Command::new(program).output().expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let mut found = printed.lines().map(|line| line.parse::<f64>().expect("a number"));
    for (case, _) in streams {
        for want in case.y.iter().flatten() {
            let got = found.next().expect("as many numbers as outputs");
            let allowed = 1e-5 * want.abs().max(1.0);
            assert!((got - want).abs() < allowed, "{}: {got}, not {want}", case.name);
        }
    }
    assert_eq!(found.next(), None);
}

/// Blocks of 5, 16 and 3 samples give the bits of single samples, also in place.
#[test]
fn blocks_have_the_bits_of_single_samples_in_rust() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("amplifier-blocks-rust");
    let streams = streams();
    let subjects: Vec<Subject> = streams.iter().map(|(_, subject)| subject.clone()).collect();
    let subjects = with_fewer_bodies(&subjects, Language::Rust);
    driver::write_files(&folder, &subjects, Language::Rust);
    let (mut modules, mut calls) = (String::new(), String::new());
    for (case, subject) in &streams {
        let (name, ty) = (&case.name, &subject.compilation.interface.type_name);
        let (steps, inputs, outputs) = (case.x.len(), case.x[0].len(), case.y[0].len());
        modules += &format!("mod {name};\n");
        calls += &format!(
            "{{
                let x: [f32; {}] = [{}];
                let x = x.as_chunks::<{inputs}>().0;
                let (mut single, mut blocks) = ([[0.0; {outputs}]; {steps}], [[0.0; {outputs}]; {steps}]);
                let mut net = {name}::{ty}::new();
                for (x, out) in x.iter().zip(&mut single) {{ net.step(x, out); }}
                net.reset();
                for (from, to) in [(0, 5), (5, 21), (21, {steps})] {{
                    assert_eq!(net.steps(&x[from..to], &mut blocks[from..to]), Ok(()));
                }}
                assert_eq!(single.map(|v| v.map(f32::to_bits)), blocks.map(|v| v.map(f32::to_bits)));
                {}
                for value in single.as_flattened() {{ println!(\"{{value:?}}\"); }}
            }}\n",
            steps * inputs,
            samples(case, ""),
            match inputs == outputs {
                true =>
                    "net.reset();
                    let mut io = blocks;
                    io.copy_from_slice(x);
                    net.steps_in_place(&mut io);
                    assert_eq!(io, blocks);",
                false => "",
            }
        );
    }
    fs::write(folder.join("main.rs"), format!("{modules}fn main() {{\n{calls}}}\n"))
        .expect("a file");
    let program = folder.join("main");
    let mut command = driver::rustc();
    command.args(["--edition=2024", "-Dwarnings", "-Copt-level=1"]).arg(folder.join("main.rs"));
    run(command.arg("-o").arg(&program));
    assert_near(&streams, &program);
}

#[test]
fn blocks_have_the_bits_of_single_samples_in_c() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("amplifier-blocks-c");
    let streams = streams();
    let subjects: Vec<Subject> = streams.iter().map(|(_, subject)| subject.clone()).collect();
    let subjects = with_fewer_bodies(&subjects, Language::C);
    driver::write_files(&folder, &subjects, Language::C);
    let (mut includes, mut calls) = (String::new(), String::new());
    for (case, _) in &streams {
        let name = &case.name;
        let (steps, inputs, outputs) = (case.x.len(), case.x[0].len(), case.y[0].len());
        includes += &format!("#include \"{name}.h\"\n");
        calls += &format!(
            "{{
                static const float x[] = {{{}}};
                static float single[{steps} * {outputs}], blocks[{steps} * {outputs}];
                static {name} net;
                {name}_init(&net);
                for (int i = 0; i < {steps}; i++) {name}_step(&net, x + i * {inputs}, single + i * {outputs});
                {name}_reset(&net);
                {name}_steps(&net, 5, x, blocks);
                {name}_steps(&net, 16, x + 5 * {inputs}, blocks + 5 * {outputs});
                {name}_steps(&net, {steps} - 21, x + 21 * {inputs}, blocks + 21 * {outputs});
                if (memcmp(single, blocks, sizeof single) != 0) return 1;
                {}
                for (int i = 0; i < {steps} * {outputs}; i++) printf(\"%.9g\\n\", (double)single[i]);
            }}\n",
            samples(case, "f"),
            match inputs == outputs {
                true => format!(
                    "{name}_reset(&net);
                    memcpy(blocks, x, sizeof blocks);
                    {name}_steps(&net, {steps}, blocks, blocks);
                    if (memcmp(single, blocks, sizeof single) != 0) return 1;"
                ),
                false => String::new(),
            }
        );
    }
    let main = format!(
        "{includes}#include <stdio.h>\n#include <string.h>\nint main(void) {{\n{calls}return 0;\n}}\n"
    );
    fs::write(folder.join("main.c"), main).expect("a file");
    for compiler in driver::c_compilers() {
        let program = folder.join(format!("main-{compiler}"));
        let mut command = Command::new(compiler);
        command.current_dir(&folder).args(["-std=c11", "-O1", "-Wall", "-Werror", "main.c"]);
        command.args(streams.iter().map(|(case, _)| format!("{}.c", case.name)));
        run(command.arg("-o").arg(&program));
        assert_near(&streams, &program);
    }
}

/// The channels of a call, the second of half the level, have the bits of two models of one channel.
#[test]
fn channels_have_the_bits_of_one_channel_in_rust() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("amplifier-channels-rust");
    let stereo = stereo();
    let subjects: Vec<Subject> = stereo.iter().flat_map(|(_, both)| both.clone()).collect();
    driver::write_files(&folder, &subjects, Language::Rust);
    let (mut modules, mut calls) = (String::new(), String::new());
    for (case, both) in &stereo {
        let [(one, mono), (two, both)] =
            both.each_ref().map(|s| (&s.name, &s.compilation.interface.type_name));
        let (steps, inputs, outputs) = (case.x.len(), case.x[0].len(), case.y[0].len());
        modules += &format!("mod {one};\nmod {two};\n");
        calls += &format!(
            "{{
                let x: [f32; {}] = [{}];
                let half = x.map(|v| v / 2.0);
                let channels = [&x, &half].map(|x| x.as_chunks::<{inputs}>().0);
                let made = channels.map(|x| {{
                    let mut out = [[0.0; {outputs}]; {steps}];
                    assert_eq!({one}::{mono}::new().steps(x, &mut out), Ok(()));
                    out
                }});
                let x: [[f32; 2 * {inputs}]; {steps}] = core::array::from_fn(|t| {{
                    *channels.map(|x| x[t]).as_flattened().first_chunk().unwrap()
                }});
                let mut net = {two}::{both}::new();
                for lengths in [&[5, 16, {steps} - 21][..], &[1; {steps}]] {{
                    let mut out = [[0.0; 2 * {outputs}]; {steps}];
                    let mut from = 0;
                    for len in lengths {{
                        let block = from..from + len;
                        assert_eq!(net.steps(&x[block.clone()], &mut out[block]), Ok(()));
                        from += len;
                    }}
                    for (t, out) in out.iter().enumerate() {{
                        let made = made.map(|made| made[t].map(f32::to_bits));
                        assert_eq!(out.map(f32::to_bits), made.as_flattened(), \"{two}, {{t}}\");
                    }}
                    net.reset();
                }}
            }}\n",
            steps * inputs,
            samples(case, ""),
        );
    }
    fs::write(folder.join("main.rs"), format!("{modules}fn main() {{\n{calls}}}\n"))
        .expect("a file");
    let program = folder.join("main");
    let mut command = driver::rustc();
    command.args(["--edition=2024", "-Dwarnings", "-Copt-level=1"]).arg(folder.join("main.rs"));
    run(command.arg("-o").arg(&program));
    run(&mut Command::new(program));
}

#[test]
fn channels_have_the_bits_of_one_channel_in_c() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("amplifier-channels-c");
    let stereo = stereo();
    let subjects: Vec<Subject> = stereo.iter().flat_map(|(_, both)| both.clone()).collect();
    driver::write_files(&folder, &subjects, Language::C);
    let (mut includes, mut calls) = (String::new(), String::new());
    for (case, [one, two]) in &stereo {
        let [one, two] = [&one.name, &two.name];
        let (steps, inputs, outputs) = (case.x.len(), case.x[0].len(), case.y[0].len());
        includes += &format!("#include \"{one}.h\"\n#include \"{two}.h\"\n");
        calls += &format!(
            "{{
                static const float x[{steps}][{inputs}] = {{{}}};
                static float half[{steps}][{inputs}], xs[{steps}][2][{inputs}];
                static float left[{steps}][{outputs}], right[{steps}][{outputs}];
                static float out[{steps}][2][{outputs}];
                static {one} mono;
                static {two} stereo;
                for (int t = 0; t < {steps}; t++) {{
                    for (int i = 0; i < {inputs}; i++) {{
                        half[t][i] = x[t][i] / 2.0f;
                        xs[t][0][i] = x[t][i];
                        xs[t][1][i] = half[t][i];
                    }}
                }}
                {one}_init(&mono);
                {one}_steps(&mono, {steps}, x[0], left[0]);
                {one}_reset(&mono);
                {one}_steps(&mono, {steps}, half[0], right[0]);
                {two}_init(&stereo);
                for (int by_block = 0; by_block < 2; by_block++) {{
                    for (int t = 0, len; t < {steps}; t += len) {{
                        len = !by_block ? 1 : t == 0 ? 5 : t == 5 ? 16 : {steps} - 21;
                        {two}_steps(&stereo, (size_t)len, xs[t][0], out[t][0]);
                    }}
                    for (int t = 0; t < {steps}; t++) {{
                        if (memcmp(out[t][0], left[t], sizeof left[t]) != 0
                            || memcmp(out[t][1], right[t], sizeof right[t]) != 0) {{
                            printf(\"{two}, %d\\n\", t);
                            return 1;
                        }}
                    }}
                    {two}_reset(&stereo);
                }}
            }}\n",
            case.x.iter().map(|x| row(x)).collect::<String>(),
        );
    }
    let main = format!(
        "{includes}#include <stdio.h>\n#include <string.h>\nint main(void) {{\n{calls}return 0;\n}}\n"
    );
    fs::write(folder.join("main.c"), main).expect("a file");
    for compiler in driver::c_compilers() {
        let program = folder.join(format!("main-{compiler}"));
        let mut command = Command::new(compiler);
        command.current_dir(&folder).args(["-std=c11", "-O1", "-Wall", "-Werror", "main.c"]);
        command.args(subjects.iter().map(|subject| format!("{}.c", subject.name)));
        run(command.arg("-o").arg(&program));
        run(&mut Command::new(program));
    }
}

/// A row of an array in C.
fn row(values: &[f32]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:?}f")).collect();
    format!("{{{}}}, ", values.join(", "))
}
