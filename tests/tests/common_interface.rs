//! The table of functions that all models have in common: one loop runs several models, in C and in
//! C++, with the bits of the models' own functions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::{Builder, Language, Threads};
use cellc_tests::corpus;
use cellc_tests::driver::{c_compilers, run};
use cellc_tests::skipped::{has, works};
use sha2::{Digest, Sha256};

/// A model, and a call of its own function that is equivalent to a call of `step`.
struct Model {
    name: &'static str,
    file: &'static str,
    step: &'static str,
    /// The contents of its table, in order.
    says: &'static str,
}

/// Models of two trainers with one sample a step, a model with an open number of steps, and a model
/// with several inputs and outputs, some of them integers.
const MODELS: [Model; 4] = [
    Model {
        name: "nam_amp",
        file: "../amplifiers/nam_lstm.nam",
        step: "inputs[0], outputs[0]",
        says: "48000 in place 0; x 1 float32 each; out 1 float32 each",
    },
    Model {
        name: "rt_amp",
        file: "../amplifiers/rtneural_gru.json",
        step: "inputs[0], outputs[0]",
        says: "0 in place 0; x 1 float32 each; out 1 float32 each",
    },
    Model {
        name: "frames",
        file: "torch_gru2_head/model.xml",
        step: "inputs[0], outputs[0]",
        says: "0 in place -1; x 10 float32 each; out0 4 float32 each",
    },
    Model {
        name: "lengths",
        file: "gru_seq_bi_lens_param/model.xml",
        step: "inputs[0], inputs[1], inputs[2], outputs[0], outputs[1]",
        says: "0 in place -1; x 90 float32 each; h0 18 float32 each; seq_len 3 int64 each; y 108 float32 each; ho 18 float32 each",
    },
];

/// The file that all models share.
const SHARED: &str = "cellc_model.h";

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("common-interface").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the old folder goes");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn builder(model: &Model) -> Builder {
    let builder = Builder::new(corpus::folder().join(model.file)).name(model.name);
    let builder = builder.language(Language::C).runtime(false).isa([]).interface(SHARED);
    if model.name == "frames" {
        builder.open_shape("x", [Some(1), None, Some(10)])
    } else {
        builder
    }
}

/// The generated files, and functions that call each model's own functions.
fn written(name: &str) -> PathBuf {
    let folder = folder(name);
    let mut direct = String::new();
    for model in &MODELS {
        builder(model).out_dir(&folder).compile().expect("it is compiled");
        let Model { name, step, .. } = model;
        direct += &format!(
            "#include \"{name}.h\"
            void direct_{name}(int first, const void *const *inputs, void *const *outputs);
            void direct_{name}(int first, const void *const *inputs, void *const *outputs) {{
                static {name} net;
                if (first) {name}_init(&net);
                {name}_step(&net, {step});
            }}\n"
        );
    }
    fs::write(folder.join("direct.c"), direct).expect("a file");
    fs::write(folder.join("host.c"), host()).expect("a file");
    fs::copy(folder.join("host.c"), folder.join("host.cpp")).expect("a file");
    folder
}

/// A program in the common subset of C11 and C++98. It knows only the tables, runs every model in
/// every way, and prints the contents of a table, or what is wrong.
fn host() -> String {
    let mut text = HOST.to_owned();
    let (mut tables, mut all) = (String::new(), String::new());
    for Model { name, .. } in MODELS {
        tables += &format!(
            "extern const cellc_model {name}_model;
            void direct_{name}(int first, const void *const *inputs, void *const *outputs);\n"
        );
        all += &format!("    wrong += check(&{name}_model, direct_{name});\n");
    }
    all += "    wrong += in_turns(&nam_amp_model, &rt_amp_model);\n";
    text = text.replace("TABLES\n", &tables);
    text.replace("ALL\n", &all)
}

const HOST: &str = r#"
#include <stdio.h>
#include <string.h>
#include "cellc_model.h"
#ifdef __cplusplus
extern "C" {
#endif
TABLES
#ifdef __cplusplus
}
#endif

enum { STEPS = 7, TENSORS = 4, LARGEST = 128 };

/* an instance, at a multiple of its alignment */
static char memory[3][1 << 16];
static void *instance_in(char *memory, const cellc_model *model) {
    size_t past = (size_t)memory % model->instance_alignment;
    return memory + (past == 0 ? 0 : model->instance_alignment - past);
}

/* arrays for all steps, of elements of eight bytes at most */
static double given[TENSORS][STEPS * LARGEST], expected[TENSORS][STEPS * LARGEST], got[TENSORS][STEPS * LARGEST];

static size_t bytes(const cellc_tensor *tensor) {
    return tensor->size * (tensor->element == CELLC_INT64 ? 8 : 4);
}

/* the arrays from a step on */
static void at(const cellc_tensor *tensors, size_t count, double (*memory)[STEPS * LARGEST], size_t step, void **arrays) {
    size_t i;
    for (i = 0; i < count; i++) {
        arrays[i] = (char *)memory[i] + (tensors[i].each_step ? step * bytes(&tensors[i]) : 0);
    }
}

static void fill(const cellc_model *model) {
    size_t i, k;
    for (i = 0; i < model->input_count; i++) {
        float *floats = (float *)given[i];
        for (k = 0; k < STEPS * model->inputs[i].size; k++) {
            if (model->inputs[i].element == CELLC_FLOAT32) {
                floats[k] = (float)((double)(k * 7919 % 255) - 127.0) / 100.0f;
            } else {
                /* lengths of 0 to 6 */
                int *words = (int *)given[i];
                words[2 * k] = (int)(k * 5 % 7);
                words[2 * k + 1] = 0;
            }
        }
    }
}

static void call(const cellc_model *model, void *instance, size_t from, size_t steps) {
    void *inputs[TENSORS], *outputs[TENSORS];
    const void *constant[TENSORS];
    size_t i;
    at(model->inputs, model->input_count, given, from, inputs);
    at(model->outputs, model->output_count, got, from, outputs);
    for (i = 0; i < model->input_count; i++) constant[i] = inputs[i];
    if (steps == 1 && from % 2 == 0) {
        model->step(instance, constant, outputs);
    } else {
        model->steps(instance, steps, constant, outputs);
    }
}

static int differs(const cellc_model *model, const char *way) {
    size_t i;
    for (i = 0; i < model->output_count; i++) {
        if (memcmp(got[i], expected[i], STEPS * bytes(&model->outputs[i])) != 0) {
            printf("%s: %s: %s\n", model->name, model->outputs[i].name, way);
            return 1;
        }
    }
    memset(got, 0, sizeof got);
    return 0;
}

static void print(const cellc_tensor *tensors, size_t count) {
    static const char *const elements[] = {"", "float32", "int32", "int64", "bool"};
    size_t i;
    for (i = 0; i < count; i++) {
        const cellc_tensor *tensor = &tensors[i];
        printf("; %s %lu %s %s", tensor->name, (unsigned long)tensor->size, elements[tensor->element],
               tensor->each_step ? "each" : "all");
    }
}

typedef void direct_step(int first, const void *const *inputs, void *const *outputs);

static int check(const cellc_model *model, direct_step *direct) {
    void *inputs[TENSORS], *outputs[TENSORS];
    const void *constant[TENSORS];
    void *instance = instance_in(memory[0], model);
    void *copy = instance_in(memory[1], model);
    size_t i, step;
    int wrong = model->interface_number != CELLC_INTERFACE;
    printf("%s: %g in place %d", model->name, model->sample_rate, model->in_place_output);
    print(model->inputs, model->input_count);
    print(model->outputs, model->output_count);
    printf("\n");
    if (strlen(model->isa_name(instance)) < 3) return 1;
    fill(model);
    for (step = 0; step < STEPS; step++) {
        at(model->inputs, model->input_count, given, step, inputs);
        at(model->outputs, model->output_count, expected, step, outputs);
        for (i = 0; i < model->input_count; i++) constant[i] = inputs[i];
        direct(step == 0, constant, outputs);
    }
    memset(memory, 0x5a, sizeof memory);
    model->init(instance);
    call(model, instance, 0, STEPS);
    wrong += differs(model, "all at once");
    model->reset(instance);
    for (step = 0; step < STEPS; step++) call(model, instance, step, 1);
    wrong += differs(model, "one by one");
    model->reset(instance);
    call(model, instance, 0, 3);
    call(model, instance, 3, 0);
    memcpy(copy, instance, model->instance_size);
    memset(instance, 0, model->instance_size);
    call(model, copy, 3, STEPS - 3);
    wrong += differs(model, "in blocks, with a copy of the instance");
    if (model->in_place_output >= 0) {
        /* the only input and the only output of these models */
        memcpy(got[0], given[0], sizeof got[0]);
        inputs[0] = got[0];
        constant[0] = got[0];
        model->reset(copy);
        model->steps(copy, STEPS, constant, inputs);
        wrong += differs(model, "in place");
    }
    return wrong;
}

/* a callback that does not know which model it runs */
static int in_turns(const cellc_model *one, const cellc_model *other) {
    const cellc_model *models[2];
    float blocks[2][STEPS], alone[2][STEPS];
    size_t i, step;
    models[0] = one;
    models[1] = other;
    for (i = 0; i < 2; i++) {
        models[i]->init(instance_in(memory[i], models[i]));
        models[i]->init(instance_in(memory[2], models[i]));
        for (step = 0; step < STEPS; step++) alone[i][step] = blocks[i][step] = (float)step / 8.0f - 0.3f;
        {
            const void *input = alone[i];
            void *output = alone[i];
            models[i]->steps(instance_in(memory[2], models[i]), STEPS, &input, &output);
        }
    }
    for (step = 0; step < STEPS; step++) {
        for (i = 0; i < 2; i++) {
            const void *input = &blocks[i][step];
            void *output = &blocks[i][step];
            models[i]->step(instance_in(memory[i], models[i]), &input, &output);
        }
    }
    return memcmp(blocks, alone, sizeof blocks) != 0 || memcmp(alone[0], alone[1], sizeof alone[0]) == 0;
}

int main(void) {
    int wrong = 0;
ALL
    return wrong;
}
"#;

/// The flags with which every file must compile.
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// The C++ compilers of this machine.
fn cpp_compilers() -> Vec<&'static str> {
    let clang = ["clang++", "clang++-19", "clang++-14"].into_iter().find(|name| works(name));
    ["g++"].into_iter().filter(|name| has(name)).chain(clang).collect()
}

fn compile(folder: &Path, compiler: &str, arguments: &[&str]) {
    run(Command::new(compiler).current_dir(folder).args(STRICT).args(arguments));
}

/// Links the objects with the program, and compares the output with the expected one.
fn says_what_it_should(folder: &Path, compiler: &str, arguments: &[&str]) {
    compile(folder, compiler, arguments);
    let output = Command::new(folder.join("host")).output().expect("it starts");
    let printed = String::from_utf8(output.stdout).expect("ASCII");
    let expected: String =
        MODELS.iter().map(|model| format!("{}: {}\n", model.name, model.says)).collect();
    assert_eq!((printed, output.status.code()), (expected, Some(0)), "{compiler} {arguments:?}");
}

#[test]
fn one_program_runs_every_model_with_the_bits_of_its_own_functions() {
    let folder = written("bits");
    let sources: Vec<String> = MODELS.iter().map(|model| format!("{}.c", model.name)).collect();
    let objects: Vec<String> =
        MODELS.iter().map(|model| format!("{}.o", model.name)).chain(["direct.o".into()]).collect();
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    for compiler in c_compilers() {
        let sources: Vec<&str> = sources.iter().map(String::as_str).chain(["direct.c"]).collect();
        compile(&folder, compiler, &[&["-std=c11", "-O2", "-c"], &sources[..]].concat());
        says_what_it_should(
            &folder,
            compiler,
            &[&["-std=c11", "host.c", "-o", "host"], &objects[..]].concat(),
        );
        for cpp in cpp_compilers() {
            for standard in ["-std=c++98", "-std=c++17"] {
                says_what_it_should(
                    &folder,
                    cpp,
                    &[&[standard, "host.cpp", "-o", "host"], &objects[..]].concat(),
                );
            }
        }
    }
}

/// A plug-in may hold models that other builds of cellc made.
#[test]
fn the_shared_file_is_the_same_for_all_models_and_all_0_1_versions() {
    let folder = written("shared");
    let text = fs::read(folder.join(SHARED)).expect("written");
    let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(
        env!("CARGO_PKG_VERSION").starts_with("0.1."),
        "a version that may change the file, and its number"
    );
    assert_eq!(
        digest, DIGEST,
        "the file must not change within 0.1: models that were compiled before include it"
    );
}

const DIGEST: &str = "2c08c8215b0b45dd84deb80348df1d34fa8e5214b5d2be8073e956899a363ead";

/// The header of a model refuses the file of another interface. cellc replaces no file of another
/// program, and leaves its own file alone.
#[test]
fn two_files_that_differ_are_seen() {
    let folder = written("differ");
    let shared = folder.join(SHARED);
    let text = fs::read_to_string(&shared).expect("written");
    let written_at =
        || fs::metadata(&shared).and_then(|metadata| metadata.modified()).expect("a time");
    for kept in [text.clone(), text.replace('\n', "\r\n")] {
        fs::write(&shared, &kept).expect("written");
        let before = written_at();
        builder(&MODELS[0]).out_dir(&folder).compile().expect("the file is there already");
        assert_eq!((before, fs::read_to_string(&shared).expect("there")), (written_at(), kept));
    }
    let other = text.replace("#define CELLC_INTERFACE 1", "#define CELLC_INTERFACE 2");
    assert_ne!(other, text);
    fs::write(&shared, other).expect("written");
    let refused = builder(&MODELS[0])
        .out_dir(&folder)
        .compile()
        .expect_err("it would be written over")
        .to_string();
    assert!(refused.contains("is not the common interface of this version of cellc"), "{refused}");
    let output = Command::new(c_compilers()[0])
        .current_dir(&folder)
        .args(["-c", "nam_amp.c"])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("cellc_model.h is of another version of cellc"),
        "{said}"
    );
}

#[test]
fn what_the_table_cannot_do_is_refused_by_name() {
    let folder = folder("refused");
    let case = |name: &str| {
        Builder::new(corpus::folder().join(name).join("model.xml"))
            .language(Language::C)
            .name("net")
    };
    let common = |builder: Builder| builder.interface(SHARED);
    for (builder, said) in [
        (common(case("gru_cell_params")), "cannot give weights at run time, as \"W\" is given"),
        (
            common(case("gru_cell_128_fp16")).threads(Threads::Two),
            "cannot give a step the pool of a second thread",
        ),
        (
            common(case("gru_cell_min")).language(Language::Rust),
            "the trait `Cell` of cellc-runtime",
        ),
        (case("gru_cell_min").interface("net.h"), "a file that belongs to the model has this name"),
        (case("gru_cell_min").interface("NET.h"), "a file that belongs to the model has this name"),
        (case("gru_cell_min").interface("a b.h"), "cannot be called \"a b.h\""),
        (case("gru_cell_min").interface("model.hpp"), "cannot be called"),
    ] {
        let refused = builder.out_dir(&folder).compile().expect_err(said).to_string();
        assert!(refused.contains(said), "{refused}");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0, "{said}");
    }
}

/// Tables are constants, and need no code that runs before `main`.
#[test]
fn a_table_is_constant_data() {
    let folder = written("constant");
    if !has("nm") {
        return;
    }
    for Model { name, .. } in MODELS {
        compile(
            &folder,
            c_compilers()[0],
            &["-std=c11", "-fno-pic", "-c", &format!("{name}.c"), "-o", "model.o"],
        );
        let output =
            Command::new("nm").current_dir(&folder).arg("model.o").output().expect("nm starts");
        let symbols = String::from_utf8(output.stdout).expect("ASCII");
        let of = |letters: &str| {
            let symbol = |line: &&str| {
                letters.contains(line.split_whitespace().rev().nth(1).unwrap_or_default())
            };
            symbols
                .lines()
                .filter(symbol)
                .map(|line| line.split_whitespace().last().unwrap_or_default())
                .collect::<Vec<_>>()
        };
        assert_eq!(of("R"), [format!("{name}_model")], "{symbols}");
        // the memory of the processor's answer
        let kept = of("BbDd");
        assert!(
            kept.iter().all(|symbol| symbol.starts_with(&format!("{name}_machine"))
                || symbol.starts_with("known")),
            "{kept:?}"
        );
    }
}
