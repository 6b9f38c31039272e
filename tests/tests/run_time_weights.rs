//! `--weights-as run-time` and `cellc pack`: generated code with loaded weights gives the bits of
//! code with the same weights inside, and refuses weights of another layout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cellc::internals::random::Random;
use cellc_tests::command::program;
use cellc_tests::driver::{c_compilers, run, rustc};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::{Value, json};

/// Two models with equal layers, the options for reading them, and the call of many steps.
struct Pair {
    name: &'static str,
    /// The files of both models.
    files: [&'static str; 2],
    options: &'static str,
    /// True if a call takes a slice of steps.
    steps: bool,
    inputs: usize,
    outputs: usize,
}

const PAIRS: [Pair; 2] = [
    Pair {
        name: "gru",
        files: ["gru_a.safetensors", "gru_b.safetensors"],
        options: "--cell gru --prefix rnn --head lin",
        steps: false,
        inputs: 6,
        outputs: 3,
    },
    Pair {
        name: "wavenet",
        files: ["wavenet_a.nam", "wavenet_b.nam"],
        options: "",
        steps: true,
        inputs: 1,
        outputs: 1,
    },
];

/// A folder to run the command in.
struct Place(PathBuf);

impl Place {
    /// An empty folder with both models of every pair.
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run-time-weights").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the old folder goes");
        }
        fs::create_dir_all(&folder).expect("a folder");
        let place = Self(folder);
        place.write("gru_a.safetensors", &gru(20, 1));
        place.write("gru_b.safetensors", &gru(20, 2));
        place.write("gru_wide.safetensors", &gru(24, 3));
        place.write("wavenet_a.nam", &wavenet(0));
        place.write("wavenet_b.nam", &wavenet(5));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("a file");
    }

    /// Runs the command. Returns its exit status and standard error.
    fn cellc(&self, arguments: &str) -> (i32, String) {
        let mut command = Command::new(program());
        command.args(arguments.split_whitespace()).current_dir(&self.0).stdin(Stdio::null());
        let output = command.output().expect("the command starts");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        (output.status.code().expect("an exit status"), said)
    }

    #[track_caller]
    fn done(&self, arguments: &str) {
        let (status, said) = self.cellc(arguments);
        assert_eq!(status, 0, "{arguments}: {said}");
    }

    #[track_caller]
    fn refused(&self, arguments: &str, words: &[&str]) {
        let (status, said) = self.cellc(arguments);
        assert_ne!(status, 0, "{arguments}: {said}");
        for word in words {
            assert!(said.contains(word), "{arguments}: {word:?} is not said:\n{said}");
        }
    }

    /// Compiles a pair: `<name>_run` loads the weights, `<name>_own` has those of the second model.
    /// Packs them into `<name>.weights`, and those of the other pair into `other.weights`.
    fn compiled(&self, pair: &Pair, ending: &str) {
        let Pair { name, files: [a, b], options, .. } = pair;
        self.done(&format!("{a} {options} --weights-as run-time -o {name}_run.{ending}"));
        self.done(&format!("{b} {options} -o {name}_own.{ending}"));
        let like = if ending == "c" { "h" } else { ending };
        self.done(&format!("pack {b} {options} --like {name}_run.{like} -o {name}.weights"));
        let [a, b] = ["_run", "_own"].map(|end| self.path(&format!("{name}{end}.{ending}")));
        let len = |path: &Path| fs::metadata(path).expect("it is written").len();
        assert!(len(&a) < len(&b), "{name}: the weights are not outside");
    }
}

/// Weights of a GRU with a dense layer.
fn gru(units: usize, seed: u64) -> Vec<u8> {
    let shapes: [(&str, Vec<usize>); 6] = [
        ("rnn.weight_ih_l0", vec![3 * units, 6]),
        ("rnn.weight_hh_l0", vec![3 * units, units]),
        ("rnn.bias_ih_l0", vec![3 * units]),
        ("rnn.bias_hh_l0", vec![3 * units]),
        ("lin.weight", vec![3, units]),
        ("lin.bias", vec![3]),
    ];
    let mut random = Random::new(seed);
    let bytes = shapes.each_ref().map(|(_, shape)| -> Vec<u8> {
        random.even(shape.iter().product(), 0.5).into_iter().flat_map(f32::to_le_bytes).collect()
    });
    let views = shapes.iter().zip(&bytes).map(|((name, shape), bytes)| {
        (*name, TensorView::new(Dtype::F32, shape.clone(), bytes).expect("as many values"))
    });
    let file = safetensors::serialize(views, None).expect("tensors");
    assert!(SafeTensors::deserialize(&file).is_ok());
    file
}

/// A WaveNet of the tests with changed weights. The last weight, the scale of the head, is
/// unchanged.
fn wavenet(moved: u32) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers/nam_wavenet.nam");
    let text = fs::read_to_string(path).expect("a model");
    let mut model: Value = serde_json::from_str(&text).expect("JSON");
    let weights = model["weights"].as_array_mut().expect("a list");
    let count = weights.len() - 1;
    for (k, weight) in weights[..count].iter_mut().enumerate() {
        let value = weight.as_f64().expect("a number");
        let step = f64::from(moved) * ((k * 7 % 11) as f64 - 5.0) / 100.0;
        *weight = json!(value + step);
    }
    model.to_string().into_bytes()
}

#[test]
fn loaded_weights_have_the_bits_of_weights_inside_in_c() {
    let place = Place::new("c");
    for pair in &PAIRS {
        place.compiled(pair, "c");
        place.write("main.c", c_program(pair).as_bytes());
        let name = pair.name;
        for compiler in c_compilers() {
            let mut command = Command::new(compiler);
            command
                .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main"]);
            command.args(["run", "own"].map(|end| format!("{name}_{end}.c")));
            run(command.arg("-lm").current_dir(&place.0));
            run(Command::new(place.0.join("main")).current_dir(&place.0));
        }
    }
}

#[test]
fn loaded_weights_have_the_bits_of_weights_inside_in_rust() {
    let place = Place::new("rust");
    for pair in &PAIRS {
        place.compiled(pair, "rs");
        place.write("main.rs", rust_program(pair).as_bytes());
        let mut command = rustc();
        command.args(["--edition=2024", "-Dwarnings", "-Copt-level=1", "main.rs", "-o", "main"]);
        run(command.current_dir(&place.0));
        run(Command::new(place.0.join("main")).current_dir(&place.0));
    }
}

/// A program in C whose exit code is 0, or the number of the first failed check.
fn c_program(pair: &Pair) -> String {
    let Pair { name, inputs, outputs, steps, .. } = pair;
    let call = |which: &str| match steps {
        true => format!("{name}_{which}_steps(&{which}, COUNT, x, y_{which});"),
        false => format!(
            "for (int i = 0; i < COUNT; i++) {{
                {name}_{which}_step(&{which}, x + i * {inputs}, y_{which} + i * {outputs});
            }}"
        ),
    };
    let (run, own) = (call("run"), call("own"));
    format!(
        r#"#include <stdio.h>
#include <string.h>
#include "{name}_run.h"
#include "{name}_own.h"

#define COUNT 100

static {name}_run_packed packed;
static {name}_run run;
static {name}_own own;
static unsigned char bytes[1 << 20];
static float x[COUNT * {inputs}], y_run[COUNT * {outputs}], y_own[COUNT * {outputs}];

int main(void) {{
    FILE *file = fopen("{name}.weights", "rb");
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if ({name}_run_load(&packed, bytes, size - 1) || {name}_run_load(&packed, bytes, size + 1)) {{
        return 1;
    }}
    if ({name}_run_load(&packed, bytes, 0)) {{
        return 2;
    }}
    for (size_t i = 0; i < 16; i++) {{ /* the magic number and the layout */
        bytes[i] ^= 1;
        if ({name}_run_load(&packed, bytes, size)) {{
            return 3;
        }}
        bytes[i] ^= 1;
    }}
    for (size_t i = 0; i < sizeof packed.values / sizeof packed.values[0]; i++) {{
        if (packed.values[i] != 0) {{
            return 4;
        }}
    }}
    if (!{name}_run_load(&packed, bytes, size)) {{
        return 5;
    }}
    for (int i = 0; i < COUNT * {inputs}; i++) {{
        x[i] = (float)(i * 37 % 101) / 50 - 1;
    }}
    for (unsigned isa = 0; isa < 32; isa++) {{
        if (!{name}_run_isa_available(({name}_run_isa)isa)) {{
            continue;
        }}
        {name}_run_init_isa(&run, ({name}_run_isa)isa, &packed);
        {name}_own_init_isa(&own, ({name}_own_isa)isa);
        for (int again = 0; again < 2; again++) {{
            {run}
            {own}
            if (memcmp(y_run, y_own, sizeof y_run) != 0) {{
                return 6;
            }}
            {name}_run_reset(&run);
            {name}_own_reset(&own);
        }}
    }}
    return 0;
}}
"#
    )
}

/// A program in Rust that panics if something is wrong.
fn rust_program(pair: &Pair) -> String {
    let Pair { name, inputs, outputs, steps, .. } = pair;
    let ty = name[..1].to_uppercase() + &name[1..];
    let call = |which: &str| match steps {
        true => format!("{which}.steps(&x, &mut y_{which}).unwrap();"),
        false => format!("for (x, y) in x.iter().zip(&mut y_{which}) {{ {which}.step(x, y); }}"),
    };
    let (run, own) = (call("run"), call("own"));
    let row = |len: &usize| format!("[f32; {len}]");
    let (input, output) = (row(inputs), row(outputs));
    format!(
        r#"mod {name}_own;
mod {name}_run;
use {name}_run::{{LoadError, Packed, {ty}Run}};

fn threads_take<T: Send + Sync>(_: &T) {{}}

fn main() {{
    let bytes = std::fs::read("{name}.weights").unwrap();
    let mut packed = Packed::new();
    assert_eq!(bytes.len(), Packed::FILE_BYTES);
    assert_eq!(packed.load(&bytes[1..]), Err(LoadError::NoWeights));
    assert_eq!(packed.load(&[]), Err(LoadError::NoWeights));
    assert_eq!(packed.load(&bytes[..bytes.len() - 1]), Err(LoadError::OtherLength));
    let mut other = bytes.clone();
    other[9] ^= 1;
    assert_eq!(packed.load(&other), Err(LoadError::OtherLayout));
    other.push(0);
    assert_eq!(packed.load(&[&bytes[..], &[0]].concat()), Err(LoadError::OtherLength));
    packed.load(&bytes).unwrap();
    let (mut run, mut own) = ({ty}Run::new(&packed), {name}_own::{ty}Own::new());
    threads_take(&run);
    let mut number = 0;
    let x: [{input}; 100] = [(); 100].map(|()| {{
        let mut row: {input} = Default::default();
        for value in &mut row {{
            *value = (number * 37 % 101) as f32 / 50.0 - 1.0;
            number += 1;
        }}
        row
    }});
    for _ in 0..2 {{
        let zero: {output} = Default::default();
        let (mut y_run, mut y_own) = ([zero; 100], [zero; 100]);
        {run}
        {own}
        assert_eq!(y_run.map(|y| y.map(f32::to_bits)), y_own.map(|y| y.map(f32::to_bits)));
        run.reset();
        own.reset();
    }}
}}
"#
    )
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let place = Place::new("refused");
    let gru = "--cell gru --prefix rnn --head lin";
    place.done(&format!("gru_a.safetensors {gru} --weights-as run-time -o net.c"));
    place.done(&format!("gru_a.safetensors {gru} -o inside.c"));
    place.done(&format!("gru_a.safetensors {gru} --weights-as run-time --batch 3 -o three.c"));
    let pack = |model: &str, rest: &str| format!("pack {model} {gru} --like {rest}");
    place.done(&pack("gru_b.safetensors", "net.h"));
    assert!(place.path("gru_b.weights").exists());
    let other = "other layers or shapes than the model of \"net.h\"";
    place.refused(&pack("gru_wide.safetensors", "net.h"), &[other]);
    place.refused("pack wavenet_a.nam --like net.h", &[other]);
    place.refused(&pack("gru_b.safetensors", "three.h"), &["other layers or shapes"]);
    place.refused(&pack("gru_b.safetensors", "inside.h"), &["\"inside.h\" loads no weights"]);
    place.refused(&pack("gru_b.safetensors", "net.c"), &["name a file .h or .rs"]);
    place.refused(&pack("gru_b.safetensors", "none.h"), &["cannot be read"]);
    let kept = fs::read(place.path("net.h")).unwrap();
    place.refused(&pack("gru_b.safetensors", "net.h -o net.h"), &["the file of --like"]);
    assert_eq!(fs::read(place.path("net.h")).unwrap(), kept);
    let loads = |rest: &str| format!("gru_a.safetensors {gru} --weights-as run-time {rest}");
    place.refused(&loads("--precision int8 -o x.c"), &["run time", "int8"]);
    place.refused(&loads("--precision f16 -o x.c"), &["run time", "f16"]);
    place.refused(&loads("--batch streams:4 -o x.c"), &["run time", "independent streams"]);
    place.refused(&loads("--interface all.h -o x.c"), &["common interface"]);
    place.refused(&loads("-o x.wasm"), &["run-time"]);
}

/// A limit in the code of the kernels is no weight: a model with another limit is refused.
#[test]
fn a_number_in_the_code_is_refused() {
    let place = Place::new("steered");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/gru_cell_clip");
    let graph = fs::read_to_string(folder.join("model.xml")).expect("a model");
    let weights = fs::read(folder.join("model.bin")).expect("weights");
    for (name, clip) in [("a", "0.25"), ("same", "0.25"), ("b", "0.5")] {
        let graph = graph.replace("clip=\"0.25\"", &format!("clip=\"{clip}\""));
        place.write(&format!("{name}.xml"), graph.as_bytes());
        place.write(&format!("{name}.bin"), &weights);
    }
    place.done("a.xml --weights-as run-time -o net.rs");
    place.done("pack same.xml --like net.rs");
    place.refused("pack b.xml --like net.rs", &["depends on a number", "\"net.rs\""]);
}
