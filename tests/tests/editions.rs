//! One text of generated Rust compiles with warnings refused in every edition: as the root of a
//! crate, as a module, through `include!`, with std and without.

use std::fs;
use std::path::Path;
use std::process::Command;

use cellc::internals::kernel::Body;
use cellc::{Language, Options, Precision, WeightsAs};
use cellc_tests::selection::with_fewer_bodies;
use cellc_tests::subject::Subject;
use cellc_tests::tiled::Layer;
use cellc_tests::{corpus, driver, kernels, random, recipe};

const EDITIONS: [&str; 4] = ["2015", "2018", "2021", "2024"];

/// The corpus, partly with weights in a file; random models, which have several inputs, outputs and
/// cells; and a model with every form of kernels.
fn subjects() -> Vec<Subject> {
    let options = |weights_as| Options::default().with_weights_as(weights_as);
    let compiled = |case: corpus::Case| {
        let file =
            case.name.contains("clip").then(|| case.subjects(&options(WeightsAs::File), "_file"));
        case.subjects(&options(WeightsAs::Auto), "").into_iter().chain(file.into_iter().flatten())
    };
    let corpus = corpus::cases().into_iter().flat_map(compiled).map(|(subject, _)| subject);
    let random = recipe::drawn(12, 0).into_iter().enumerate();
    let random = random.map(|(k, recipe)| random::subject(&format!("random_{k}"), &recipe));
    let cell = Layer { kind: "GRUCell", attributes: "", rows: 16, inputs: 16, units: 48 };
    let tiled =
        cell.subject("tiled", Options::default().with_precision(Some(Precision::Int8)), false);
    corpus.chain(random).chain([kernels::subject("made_by_hand"), tiled]).collect()
}

/// Checks a crate: all lints of rustc, no machine code.
fn check(folder: &Path, edition: &str, root: &str) -> Command {
    let mut command = driver::rustc();
    command.current_dir(folder).args(["--crate-type=lib", "--emit=metadata", "-Dwarnings"]);
    let stem = root.trim_end_matches(".rs");
    command
        .arg(format!("--edition={edition}"))
        .arg(root)
        .arg("-o")
        .arg(format!("{stem}-{edition}.rmeta"));
    command
}

/// A way for a crate to hold generated files: the name of the way, the head of the crate, the item
/// that holds one.
type Way = (&'static str, &'static str, fn(&str) -> String);

const WAYS: [Way; 4] = [
    // unused items of a private module must not cause warnings
    ("private_modules", "", |name| format!("mod {name};\n")),
    ("public_modules", "#![no_std]\n#![forbid(unused)]\n", |name| format!("pub mod {name};\n")),
    ("included", "", include),
    ("included_no_std", "#![no_std]\n", include),
];

fn include(name: &str) -> String {
    format!("pub mod {name} {{ include!(\"{name}.rs\"); }}\n")
}

#[test]
fn editions_and_ways_to_hold_a_file() {
    let subjects = with_fewer_bodies(&subjects(), Language::Rust);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("editions");
    driver::write_files(&folder, &subjects, Language::Rust);
    let mut commands = Vec::new();
    for (nth, (way, head, item)) in WAYS.into_iter().enumerate() {
        for (at, edition) in EDITIONS.into_iter().enumerate() {
            // each subject is in one crate of the newest edition, and in one of the other editions,
            // which have two ways each; the subject with every form of kernels is in all crates
            let newest = edition == "2024";
            if !newest && !(at + nth).is_multiple_of(2) {
                continue;
            }
            let (crates, own) = if newest { (4, nth) } else { (6, at * 2 + nth / 2) };
            let taken = |(k, name): &(usize, &str)| k % crates == own || *name == "made_by_hand";
            let names =
                subjects.iter().map(|subject| subject.name.as_str()).enumerate().filter(taken);
            let items: String = names.map(|(_, name)| item(name)).collect();
            let root = format!("{way}_{edition}.rs");
            fs::write(folder.join(&root), format!("{head}{items}"))
                .expect("the folder can be written to");
            commands.push(check(&folder, edition, &root));
        }
    }
    let roots = [
        "gru_cell_min",
        "gru_cell_params",
        "gru_cell_batchdyn_3",
        "rnn_cell_relu_clip_file",
        "random_5",
        "made_by_hand",
    ];
    for root in roots {
        assert!(subjects.iter().any(|subject| subject.name == root), "no subject is called {root}");
        commands.extend(EDITIONS.map(|edition| check(&folder, edition, &format!("{root}.rs"))));
    }
    driver::run_all(commands);
    // the output of rustc for all crates is 100 MB
    fs::remove_dir_all(&folder).expect("the folder goes");
}

/// Reviewers read generated files side by side. Weights are strings of bytes.
#[test]
fn no_line_is_wider_than_100_columns() {
    let mut wide = Vec::new();
    for subject in subjects() {
        let text = subject.files(Language::Rust).pop().expect("the source comes last").bytes;
        let text = String::from_utf8(text.to_vec()).expect("source is UTF-8");
        let code = text.split("transmute::<").next().unwrap_or_default();
        let lines = code.lines().filter(|line| line.chars().count() > 100);
        wide.extend(lines.map(|line| format!("{}: {line}", subject.name)));
    }
    assert_eq!(wide, Vec::<String>::new());
}

#[test]
fn a_warning_would_be_noticed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("planted.rs"), "pub fn f() { let planted = 1; }\n")
        .expect("a file");
    for edition in EDITIONS {
        let output = check(folder.path(), edition, "planted.rs").output().expect("rustc starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("unused variable"), "{said}");
    }
}

/// Functions of generated files that return parts of arrays.
const OF_ARRAYS: [&str; 18] = [
    "flat",
    "flat_mut",
    "part_of",
    "part_of_mut",
    "part_from",
    "part_from_mut",
    "chunks",
    "chunks_mut",
    "windows",
    "windows_mut",
    "cut",
    "flattened",
    "hidden_chunks",
    "load",
    "store",
    "plus",
    "sums",
    "add",
];

#[test]
fn unsafe_stands_only_where_the_processor_is_asked_and_says_why() {
    for subject in subjects() {
        let text = subject.files(Language::Rust).pop().expect("the source comes last").bytes;
        let text = String::from_utf8(text.to_vec()).expect("source is UTF-8");
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.starts_with("#[")).collect();
        // operations on vectors are expressions of intrinsics, and the macro gives the reason once
        let of_vectors = |line: &str| line.contains("unsafe { $") || line.starts_with("number!(");
        // the documentation of such a function states the duties of the caller
        let is_block = |line: &str| {
            line.contains("unsafe") && !of_vectors(line) && !line.starts_with("unsafe fn ")
        };
        let all: Vec<usize> = (0..lines.len()).filter(|i| is_block(lines[*i])).collect();
        // functions that assert sizes at compile time take parts of arrays
        let function = |place: &usize| {
            lines[..*place]
                .iter()
                .rev()
                .map(|line| line.strip_prefix("pub(super) ").unwrap_or(line))
                .find_map(|line| line.strip_prefix("unsafe ").unwrap_or(line).strip_prefix("fn "))
        };
        let of_arrays = |place: &usize| {
            function(place)
                .and_then(|line| line.split(['<', '(']).next())
                .is_some_and(|name| OF_ARRAYS.contains(&name))
        };
        let (asserted, places): (Vec<usize>, Vec<usize>) = all.into_iter().partition(of_arrays);
        let macros = text.matches("macro_rules! register {").count();
        assert_eq!(
            text.matches("// SAFETY, of every expression: ").count(),
            macros,
            "{}",
            subject.name
        );
        // detection and calls of bodies that not every machine can run, the weights, detection and
        // use of tiles, and, with two threads, the data for the other thread
        let bodies = &subject.compilation.program.bodies;
        let two_threads = bodies.iter().any(Body::has_halves);
        // the weights of small networks are decimal numbers
        let weights =
            usize::from(text.contains("static WEIGHTS: ") && text.contains("transmute::<"));
        let of_tiles = ["fn has_tiles(", "fn tiles<"]
            .into_iter()
            .filter(|text_of| text.contains(text_of))
            .count();
        let asked = ["fn has(", "fn has_avx_vnni(", "fn has_avx512_vnni("];
        let called = text.matches("SAFETY: an Isa is made only where").count();
        let of_isas = called + asked.into_iter().filter(|name| text.contains(name)).count();
        assert_eq!(
            places.len(),
            of_isas + weights + of_tiles + usize::from(two_threads),
            "{}",
            subject.name
        );
        for place in asserted.into_iter().chain(places) {
            assert!(lines[place].contains("unsafe {"), "{}: {}", subject.name, lines[place]);
            let said = lines[..place].iter().rev().take_while(|line| line.starts_with("//")).last();
            assert!(
                said.is_some_and(|line| line.starts_with("// SAFETY: ")),
                "{}: {said:?}",
                subject.name
            );
        }
        assert!(two_threads || !text.contains("std::"), "{}", subject.name);
        assert!(!text.contains("#![") && !text.contains("cellc_comment"), "{}", subject.name);
    }
}
