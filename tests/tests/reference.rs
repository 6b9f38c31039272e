//! The float64 reference against the results stored with every case of the corpus, which other
//! programs computed.
//!
//! All other tests are measured by the reference, and only reading and translating stand between a
//! file and the reference. The bound, the interpreter and both emitters start from the same core
//! model: a view or a slice that `translate` gets wrong is wrong in all of them alike, and only
//! results of other programs show the error.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::Options;
use cellc::internals::compile::core_model;
use cellc::internals::reference::{Outcome, initial_variables, reference};
use cellc_tests::agreement::exact;
use cellc_tests::corpus;
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::random::{self, ORDINARY, SATURATING};
use cellc_tests::recipe;
use cellc_tests::skipped::has;
use cellc_tests::subject::Subject;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

#[test]
fn agrees_with_the_oracle() {
    for case in corpus::cases() {
        let mut variables = None;
        for (number, run) in case.runs.iter().enumerate() {
            // the run gives the sizes that the model leaves open
            let (model, _) = core_model(&case.fixed(&run.shapes), &Options::default())
                .unwrap_or_else(|problems| panic!("{}: {problems}", case.name));
            let before = variables.take().unwrap_or_else(|| initial_variables(&model));
            let Outcome { results, variables: after } =
                reference(&model, &exact(&run.inputs), &before);
            variables = Some(after);
            assert_eq!(results.len(), run.oracle.len(), "{}", case.name);
            for (i, (result, oracle)) in results.iter().zip(&run.oracle).enumerate() {
                let place = format!("{}, run {number}, result {i}", case.name);
                assert_eq!(result.len(), oracle.len(), "{place}");
                for (found, right) in result.iter().zip(oracle) {
                    assert!((found - right).abs() < 1e-12, "{place}: {found} is not {right}");
                }
            }
        }
    }
}

/// The number of random graphs that are compared with the oracle.
const GRAPHS: u32 = 300;

/// The number of sums that are kept of each result, as in tests/models/graphs.py.
const PROJECTIONS: u64 = 2;

/// The command that writes the oracle's numbers anew, with Python 3 and NumPy.
const UPDATE: &str = "CELLC_BLESS=1 cargo test -p cellc-tests --test all reference";

/// A random graph, its two calls (the second continues from the variables of the first), and its
/// hash.
struct Graph {
    subject: Subject,
    text: String,
    weights: Vec<u8>,
    digest: String,
}

/// Models that are not drawn: a constant to the left of a product, also transposed; indices of a
/// constant in no order.
fn by_hand() -> [ModelFile; 2] {
    let numbers = |file: &mut ModelFile, shape: &[usize]| {
        let count: usize = shape.iter().product();
        file.constant(shape, Stored::F32, (0..count).map(|k| (k * 7 % 11) as f32 / 8.0 - 0.5))
    };
    let mut products = ModelFile::default();
    let x = products.parameter("x", &[4, 2]);
    for (shape, transposed) in [([3, 4], "false"), ([4, 3], "true")] {
        let left = numbers(&mut products, &shape);
        let data = format!("transpose_a=\"{transposed}\" transpose_b=\"false\"");
        let product = products.operation("MatMul", "opset1", &data, &[&left, &x], &[3, 2]);
        products.result(&product);
    }
    let mut places = ModelFile::default();
    let x = places.parameter("x", &[3, 3]);
    let (table, axis) = (numbers(&mut places, &[5, 3]), places.integers(&[], &[0]));
    let indices = places.integers(&[3], &[4, 0, 3]);
    let gathered = places.operation("Gather", "opset8", "", &[&table, &indices, &axis], &[3, 3]);
    let sum = places.operation("Add", "opset1", "", &[&x, &gathered], &[3, 3]);
    places.result(&sum);
    [products, places]
}

fn graphs() -> impl Iterator<Item = Graph> {
    let drawn = recipe::drawn(GRAPHS, 11)
        .into_iter()
        .map(|recipe| (recipe.file(), u64::from(recipe.seed) + 1));
    drawn.chain(by_hand().map(|file| (file, 1))).map(|(file, seed)| {
        let (text, weights) = (file.text(), file.weights.clone());
        let mut subject = random::compiled("graph", file, Options::default(), seed);
        subject.calls = [ORDINARY, SATURATING].map(|call| subject.calls[call].clone()).into();
        let mut digest = Sha256::new();
        digest.update(&text);
        digest.update(&weights);
        let digest = digest.finalize()[..4]
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        Graph { subject, text, weights, digest }
    })
}

/// A weight from -1 to 1: SplitMix64 of the index of an element.
fn weight(which: u64, place: usize) -> f64 {
    let z = (place as u64 + 1 + (which << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 40) as f64 / (1u64 << 23) as f64 - 1.0
}

/// Sums of all elements with weights by their indices: a wrong or misplaced element changes the
/// sums. And the magnitude of all elements together.
fn projections(values: &[f64]) -> ([f64; PROJECTIONS as usize], f64) {
    let sum = |which| {
        values.iter().enumerate().map(|(place, value)| weight(which as u64, place) * value).sum()
    };
    (std::array::from_fn(sum), values.iter().map(|value| value.abs()).sum())
}

/// Writes the graphs for tests/models/graphs.py, and runs it. Returns the text of the file with its
/// numbers.
fn by_the_oracle() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = format!(
        "# graph, digest of its files; graph, call, projections of every result; written by {UPDATE}\n"
    );
    for (k, Graph { subject, text: xml, weights, digest }) in graphs().enumerate() {
        let case = folder.path().join(k.to_string());
        fs::create_dir(&case).expect("a folder");
        fs::write(case.join("model.xml"), xml).expect("a file");
        fs::write(case.join("model.bin"), weights).expect("a file");
        let tensors = |call: &Vec<Vec<f32>>| -> Vec<Value> {
            let parameters = subject.model().parameters.iter();
            parameters
                .zip(call)
                .map(|(p, values)| json!({"shape": p.shape, "integer": !p.element.is_float(), "values": values}))
                .collect()
        };
        let calls: Vec<_> = subject.calls.iter().map(tensors).collect();
        fs::write(case.join("calls.json"), json!(calls).to_string()).expect("a file");
        let _ = writeln!(text, "{k} {digest}");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/graphs.py");
    let output =
        Command::new("python3").arg(script).arg(folder.path()).output().expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text + &String::from_utf8(output.stdout).expect("numbers are ASCII")
}

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/graphs.txt")
}

#[test]
fn agrees_with_the_oracle_on_random_graphs() {
    if std::env::var_os("CELLC_BLESS").is_some() && has("python3") {
        fs::write(kept(), by_the_oracle()).expect("the oracle's numbers can be written");
    }
    let text = fs::read_to_string(kept()).expect("the oracle's numbers");
    let lines: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').collect())
        .collect();
    let (digests, numbers) = lines.split_at(GRAPHS as usize + by_hand().len());
    let mut numbers = numbers.iter();
    let (mut compared, mut infinite) = (0, 0);
    for (k, Graph { subject, digest, .. }) in graphs().enumerate() {
        assert_eq!(digests[k], [&k.to_string(), &digest], "graph {k} is another one: {UPDATE}");
        let mut variables = initial_variables(subject.model());
        for (number, call) in subject.calls.iter().enumerate() {
            let line = numbers.next().expect("a line for every call");
            assert_eq!(line[..2], [&k.to_string(), &number.to_string()]);
            let step = reference(subject.model(), &exact(call), &variables);
            variables = step.variables;
            assert_eq!(
                line.len() - 2,
                step.results.len() * PROJECTIONS as usize,
                "results of graph {k}"
            );
            for (result, right) in step.results.iter().zip(line[2..].chunks(PROJECTIONS as usize)) {
                let (found, size) = projections(result);
                for (found, right) in found.iter().zip(right) {
                    let right: f64 = right.parse().expect("a number");
                    let same = found.is_nan() && right.is_nan()
                        || (found - right).abs() <= 1e-9 * (1.0 + size);
                    assert!(
                        same || !size.is_finite(),
                        "graph {k} call {number}: {found:e} is not {right:e}\n{}",
                        subject.model()
                    );
                    if size.is_finite() { compared += 1 } else { infinite += 1 }
                }
            }
        }
    }
    assert!(
        compared > 1000 && infinite * 50 < compared,
        "{compared} numbers compared, {infinite} infinite"
    );
}

#[test]
fn a_projection_shows_every_element_and_its_place() {
    let values: Vec<f64> = (0..40).map(|k| f64::from(k % 7) / 8.0).collect();
    let (right, size) = projections(&values);
    let other = |values: &[f64]| {
        projections(values).0.iter().zip(right).all(|(a, b)| (a - b).abs() > 1e-6 * (1.0 + size))
    };
    for k in 0..values.len() {
        let mut wrong = values.clone();
        wrong[k] += 0.01;
        assert!(other(&wrong), "element {k}");
        let mut moved = values.clone();
        moved.swap(k, (k + 1) % values.len());
        assert!(other(&moved), "elements {k} and the next");
    }
}
