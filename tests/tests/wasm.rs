//! `cellc MODEL -o net.wasm`: the class in Node.js computes the results of the corpus.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc_tests::skipped::has;
use cellc_tests::{command, corpus, driver};

/// Compares steps, many steps and a state that is set with the outputs of the corpus.
const PROGRAM: &str = r#"
import { readFile } from "node:fs/promises";
import { Net } from "./net.js";

const CALLS = 12;
const numbers = async (name) => {
  const bytes = await readFile(`${process.argv[2]}/${name}`);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
};
const equal = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);
const check = (is, text) => { if (!is) throw new Error(text); };

const net = await Net.load();
const [features, gains] = [[], []];
let state;
for (let k = 0; k < CALLS; k++) {
  if (k === 5) state = net.state;
  net.inputs.features.set(await numbers(`r${k}_in0.bin`));
  net.step();
  for (const [name, place] of [["gains", 0], ["vad", 1]]) {
    const expected = await numbers(`r${k}_ov${place}.bin`);
    const error = Math.max(...net.outputs[name].map((value, i) => Math.abs(value - expected[i])));
    check(net.outputs[name].length === expected.length && error < 2e-6, `${name} ${k}: ${error}`);
  }
  features.push(...net.inputs.features);
  gains.push(net.outputs.gains.slice());
}
net.state = state;
net.inputs.features.set(await numbers("r5_in0.bin"));
check(equal(net.step().gains, gains[5]), "a state is set");
net.reset();
const all = net.steps({ features: Float32Array.from(features) });
check(equal(all.gains.subarray(22 * (CALLS - 1)), gains[CALLS - 1]), "many steps");
const other = new Net(await WebAssembly.compile(await readFile("net.wasm")));
other.inputs.features.set(await numbers("r0_in0.bin"));
check(equal(other.step().gains, gains[0]), "another object has a state of its own");
const wrong = [
  () => net.steps({ features: new Float32Array(43) }),
  () => { net.state = new Uint8Array(3); },
];
for (const call of wrong) {
  let refused = false;
  try { call(); } catch (error) { refused = error instanceof RangeError; }
  check(refused, `${call} is refused`);
}
"#;

/// The case of the corpus: twelve calls, with variables that continue from call to call.
fn case() -> PathBuf {
    corpus::folder().join("rnnoise_stream_f32")
}

/// A folder with a module of a corpus model.
fn written(arguments: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    fs::create_dir_all(&folder).expect("a folder");
    let mut cellc = Command::new(command::program());
    cellc.arg(case().join("model.xml")).args(arguments).current_dir(&folder);
    driver::run(&mut cellc);
    folder
}

#[test]
fn modules_compute_what_the_corpus_says() {
    if !["clang", "wasm-ld", "node"].into_iter().all(has) {
        return;
    }
    let folder = written(&["-o", "net.wasm"]);
    fs::write(folder.join("program.mjs"), PROGRAM).expect("the program");
    let mut node = Command::new("node");
    driver::run(node.arg("program.mjs").arg(case()).current_dir(&folder));
    insta::assert_snapshot!("wasm_class", fs::read_to_string(folder.join("net.js")).expect("text"));
    insta::assert_snapshot!(
        "wasm_types",
        fs::read_to_string(folder.join("net.d.ts")).expect("text")
    );
    // cellc replaces its own module, and recognises a current one
    written(&["-o", "net.wasm"]);
    written(&["-o", "net.wasm", "--check-stale"]);
}

#[test]
fn a_module_is_refused_with_what_it_would_need() {
    let model = case().join("model.xml");
    let refused = |arguments: &[&str], clang: &str, words: &str| {
        let mut cellc = Command::new(command::program());
        let output = cellc.arg(&model).args(arguments).env("CLANG", clang).output();
        let error = String::from_utf8_lossy(&output.expect("cellc starts").stderr).into_owned();
        assert!(error.contains(words), "{arguments:?}: {error}");
    };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused.wasm");
    let file = file.to_str().expect("UTF-8");
    refused(&["-o", file], "no-such-clang", "apt install clang lld");
    refused(&["-o", file, "--target", "x86-64"], "clang", "--target wasm32");
    refused(&["-o", file, "--weights-as", "file"], "clang", "--weights-as file");
    refused(&["--emit", "wasm"], "clang", "-o net.wasm");
    refused(&["-o", file, "--emit", "c"], "clang", "--emit for c");
    assert!(!Path::new(file).exists());
}
