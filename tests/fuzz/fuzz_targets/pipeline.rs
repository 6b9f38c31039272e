//! Any bytes as an IR, through everything: what is accepted compiles, is written in both languages, and one step of it as the interpreter
//! computes it is within the bound of the reference, on every instruction set.
//!
//! ```sh
//! cargo run --release --manifest-path tests/fuzz/Cargo.toml --example seeds tests/fuzz/corpus/pipeline
//! RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir tests/fuzz -s none pipeline -- -max_len=32768 -timeout=60 -dict=tests/fuzz/reader.dict
//! ```
//!
//! Half of the inputs are mutated as text, by what a careless hand would change in an IR; libFuzzer mutates the other half.

#![no_main]

use std::ops::Range;

use cellc::Language;
use cellc::internals::front::openvino::read_bytes;
use cellc::internals::core::{CoreModel, CoreNode, CoreOp};
use cellc::Options;
use cellc::internals::random::Random;
use cellc::internals::compile::core_model;
use cellc_fuzz::split;
use cellc_tests::agreement::Compared;
use cellc_tests::random::{ORDINARY, SATURATING, SPECIAL, accepted};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

/// The most elements and multiplications of a model that is run: libFuzzer wants many small ones.
const MOST: usize = 60_000;

fuzz_target!(|data: &[u8]| {
    let (xml, bin) = split(data);
    let options = Options::default().with_batch(Some(1));
    let Ok((model, _)) = read_bytes("net.xml", xml, Some(("net.bin", bin.clone()))) else { return };
    let Ok((valid, _)) = core_model(&model, &options) else { return };
    if work(&valid) > MOST {
        return;
    }
    let seed = data.iter().fold(7, |hash: u64, byte| hash.wrapping_mul(31) + u64::from(*byte));
    let (subject, _) = accepted("net", xml, bin, options, seed).expect("what is valid compiles");
    for language in [Language::Rust, Language::C] {
        assert!(subject.files(language).iter().all(|file| !file.bytes.is_empty()));
    }
    for call in [ORDINARY, SATURATING, SPECIAL] {
        for (isa, (name, _)) in subject.isas().enumerate() {
            let mut variables = subject.variables();
            let compared = Compared::step(&subject, isa, &subject.calls[call], &mut variables);
            for (place, found, right, limit) in compared.elements() {
                let kept = found.is_nan() || !right.is_nan();
                let within = call == SPECIAL || !limit.is_finite() || (found - right).abs() <= limit;
                assert!(kept && within, "call {call} on {name}, {place:?}: {found:e}, not {right:e}, bound {limit:e}");
            }
        }
    }
});

/// About how many elements a step computes and multiplies.
fn work(model: &CoreModel) -> usize {
    let len = |shape: &[usize]| shape.iter().fold(1usize, |product, size| product.saturating_mul(*size));
    let values = model.values.iter().map(|value| len(&value.shape));
    let constants = model.constants.iter().map(|constant| constant.len());
    let given = model.parameters.iter().map(|parameter| len(&parameter.shape));
    let nodes = std::iter::once(multiplications(&model.nodes));
    values.chain(constants).chain(given).chain(nodes).fold(0, usize::saturating_add)
}

fn multiplications(nodes: &[CoreNode]) -> usize {
    let of = |node: &CoreNode| match &node.op {
        CoreOp::Cell(cell) => {
            let steps = cell.sequence.as_ref().map_or(1, |sequence| sequence.steps);
            let row = cell.kind.gates() * cell.hidden_size * (cell.input_size + cell.hidden_size);
            cell.batch.saturating_mul(steps).saturating_mul(row)
        }
        CoreOp::Loop(of) => of.trips.saturating_mul(1 + multiplications(&of.body)),
        _ => 1,
    };
    nodes.iter().map(of).fold(0, usize::saturating_add)
}

/// What may stand in place of the text between two quotes.
const VALUES: [&str; 40] = [
    "0", "1", "2", "3", "4", "5", "7", "8", "12", "16", "17", "-1", "-2", "?", "1,1", "1,2", "2,1", "1,1,1", "1,3,2", "0.5", "1e-3", "1e400",
    "-0.25", "nan", "inf", "true", "false", "f32", "f16", "i64", "i32", "forward", "reverse", "bidirectional", "relu", "sigmoid,tanh", "numpy",
    "Tanh", "Add", "",
];

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(u64::from(seed));
    if random.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut bytes = data[..size].to_vec();
    for _ in 0..1 + random.below(3) {
        let xml = split(&bytes).0.len();
        let quoted = quoted(&bytes[..xml]);
        if quoted.is_empty() {
            return fuzzer_mutate(data, size, max_size);
        }
        let at = random.below(quoted.len());
        let value = match random.below(4) {
            // another attribute's value
            0 => bytes[quoted[random.below(quoted.len())].clone()].to_vec(),
            // the next number
            1 => next(&bytes[quoted[at].clone()], &mut random),
            _ => random.choice(&VALUES).as_bytes().to_vec(),
        };
        bytes.splice(quoted[at].clone(), value);
    }
    bytes.truncate(max_size);
    data[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
});

/// The places between quotes.
fn quoted(text: &[u8]) -> Vec<Range<usize>> {
    let quotes: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'"').collect();
    quotes.as_chunks::<2>().0.iter().map(|[from, to]| from + 1..*to).collect()
}

/// A number that is one more or less; other text as it is.
fn next(text: &[u8], random: &mut Random) -> Vec<u8> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
    number.map_or(text.to_vec(), |number| number.wrapping_add(random.choice(&[-1, 1])).to_string().into_bytes())
}
