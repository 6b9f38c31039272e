//! Generated files of single cells are short enough to be read. Lines of weights do not count.

use cellc::internals::arch::{self, Arch};
use cellc::{Language, Options};
use cellc_tests::tiled::Layer;

/// The maximum number of lines of a file.
struct Limit {
    cell: Layer,
    target: &'static Arch,
    language: Language,
    lines: usize,
}

const fn cell(kind: &'static str, inputs: usize, units: usize) -> Layer {
    Layer { kind, attributes: "", rows: 1, inputs, units }
}

const LSTM_OF_7: Layer = cell("LSTMCell", 4, 7);
const GRU_OF_128: Layer = cell("GRUCell", 16, 128);

/// The tested files with their limits. Cells of one unit on one target have smaller files.
static LIMITS: [Limit; 6] = [
    Limit { cell: LSTM_OF_7, target: &arch::ANY, language: Language::C, lines: 700 },
    Limit { cell: LSTM_OF_7, target: &arch::ANY, language: Language::Rust, lines: 700 },
    Limit { cell: GRU_OF_128, target: &arch::ANY, language: Language::C, lines: 900 },
    Limit { cell: GRU_OF_128, target: &arch::ANY, language: Language::Rust, lines: 800 },
    Limit { cell: GRU_OF_128, target: &arch::X86_64, language: Language::C, lines: 600 },
    Limit { cell: GRU_OF_128, target: &arch::CORTEX_M4F, language: Language::C, lines: 400 },
];

/// The number of lines of a file, without lines of numbers and of byte literals.
fn lines(cell: Layer, target: &'static Arch, language: Language) -> usize {
    let subject = cell.subject("gru", Options::default().with_target(target), false);
    let files = subject.files(language);
    let text = String::from_utf8(files[0].bytes.to_vec()).expect("text");
    let text = match text.split_once("(*b\"") {
        Some((before, bytes)) => before.to_owned() + bytes.rsplit('"').next().unwrap_or_default(),
        None => text,
    };
    let is_of_numbers = |line: &&str| {
        let in_numbers = |c: char| c.is_ascii_hexdigit() || " ,.-+xpu".contains(c);
        !line.trim().is_empty() && line.chars().all(in_numbers)
    };
    text.lines().filter(|line| !is_of_numbers(line)).count()
}

#[test]
fn files_of_one_unit_have_at_most_200_lines() {
    let unit =
        |language| move |target: &&'static Arch| lines(cell("GRUCell", 1, 1), target, language);
    for language in [Language::C, Language::Rust] {
        let lengths: Vec<usize> = arch::TARGETS.iter().map(unit(language)).collect();
        assert!(lengths.iter().all(|lines| *lines <= 200), "{language:?}: {lengths:?}");
    }
}

#[test]
fn files_of_one_cell_are_short() {
    for limit in &LIMITS {
        let lines = lines(limit.cell, limit.target, limit.language);
        let Limit { cell, target, language, lines: most } = limit;
        assert!(lines <= *most, "{cell:?}, {}, {language:?}: {lines} lines", target.name);
    }
}
