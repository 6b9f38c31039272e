//! Thousands of valid files with random changes.

use super::*;
use crate::front::read_model::ReadModel;
use crate::random::Random;

/// Texts that are inserted into files.
const PIECES: [&str; 48] = [
    "<",
    ">",
    "/>",
    "\"",
    "'",
    "&",
    "&#",
    "&#x110000;",
    "&lt;",
    "]]>",
    "<![CDATA[",
    "<!--",
    "-->",
    "<?",
    "?>",
    "<!DOCTYPE a>",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "4",
    "12",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999",
    "?",
    "1..8",
    "nan",
    "true",
    "relu",
    "f16",
    "i64",
    "Result",
    "Parameter",
    "RNNCell",
    "Convert",
    "\u{feff}",
    "\u{202e}",
    "\0",
    "MatMul",
    "Reshape",
    "Gather",
    "TensorIterator",
    "LSTMSequence",
    "bidirectional",
    "opset5",
    "boolean",
];

/// A random range within `len` bytes, most often a short one.
fn range(random: &mut Random, len: usize) -> std::ops::Range<usize> {
    let start = random.below(len);
    let longest = random.choice(&[1, 4, 40, 400]);
    start..(start + random.below(longest) + 1).min(len)
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=[0, 0, 0, 3][random.below(4)] {
        if bytes.is_empty() {
            return;
        }
        let range = range(random, bytes.len());
        match random.below(8) {
            0 => bytes[range.start] ^= 1 << random.below(8),
            1 => drop(bytes.drain(range)),
            2 => bytes.truncate(range.start),
            3 => {
                let copy = bytes[range].to_vec();
                let at = random.below(bytes.len());
                bytes.splice(at..at, copy);
            }
            4 => drop(bytes.splice(range.start..range.start, random.choice(&PIECES).bytes())),
            5 => drop(bytes.splice(range, random.choice(&PIECES).bytes())),
            // replaces a number by another
            6 | 7 => {
                let Some(at) = bytes[range.start..].iter().position(u8::is_ascii_digit) else {
                    continue;
                };
                let at = range.start + at;
                let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
                bytes.splice(at..at + digits, PIECES[16 + random.below(12)].bytes());
            }
            _ => unreachable!(),
        }
    }
}

/// Asserts the invariants of every accepted model.
fn check_valid(valid: &CoreModel) {
    let size = |shape: &[usize]| shape.iter().product::<usize>();
    for cell in valid.cells() {
        let (n, i, h) = (cell.batch, cell.input_size, cell.hidden_size);
        assert!(n > 0 && i > 0 && h > 0);
        match &cell.sequence {
            None => {
                assert_eq!(valid.shape(cell.x), [n, i]);
                assert_eq!(valid.shape(cell.h), [n, h]);
            }
            Some(sequence) => {
                assert_eq!(valid.shape(cell.x), [n, sequence.steps, i]);
                assert_eq!(valid.shape(cell.h), [n, 1, h]);
            }
        }
        let rows = cell.kind.gates() * h;
        let bias = cell.kind.bias_parts() * h;
        for (weight, wanted) in [
            (cell.weights.w, vec![rows, i]),
            (cell.weights.r, vec![rows, h]),
            (cell.weights.b[0], vec![bias]),
        ] {
            match weight {
                WeightSource::Constant(c) => assert!(valid.constants[c].shape().ends_with(&wanted)),
                WeightSource::Parameter(p) => {
                    assert!(valid.parameters[p].shape.ends_with(&wanted));
                    assert!(valid.parameters[p].weight);
                }
                WeightSource::Zero => {
                    assert_eq!((wanted, cell.kind == CellKind::Rnn), (vec![bias], false))
                }
            }
        }
        assert_eq!(cell.activations.len(), cell.kind.default_activations().len());
        assert!(cell.clip.is_none_or(|clip| clip > 0.0 && clip.is_finite()));
    }
    for constant in &valid.constants {
        assert_eq!(constant.len(), size(constant.shape()));
        let _ = constant.len().checked_sub(1).map(|last| constant.get_f32(last));
    }
    for state in &valid.states {
        assert_eq!(valid.parameters[state.parameter].shape, valid.results[state.result].shape);
        assert!(!valid.parameters[state.parameter].weight);
    }
    assert!(!valid.results.is_empty());
    for result in &valid.results {
        assert_eq!(valid.shape(result.source), result.shape);
    }
}

/// A sequence with run-time lengths, a variable and a head.
fn whole_model() -> String {
    let mut graph = Graph::default();
    let constant = |graph: &mut Graph, shape: &str, size: usize| {
        let data = format!("element_type=\"f32\" shape=\"{shape}\" offset=\"4\" size=\"{size}\"");
        (graph.layer(("Const", "opset1"), &data, &[], 1, ""), 0)
    };
    let (x, lengths) = (graph.parameter("1,4,2", "f32"), graph.parameter("1", "i64"));
    let variable = "variable_id=\"v\" variable_type=\"f32\" variable_shape=\"1,1,1\"";
    let state = graph.layer(("ReadValue", "opset6"), variable, &[], 1, "");
    let (w, r) = (constant(&mut graph, "1,3,2", 24), constant(&mut graph, "1,3,1", 12));
    let b = constant(&mut graph, "1,3", 12);
    let data = "hidden_size=\"1\" direction=\"forward\"";
    let inputs = [(x, 0), (state, 0), (lengths, 0), w, r, b];
    let sequence = graph.layer(("GRUSequence", "opset5"), data, &inputs, 2, "");
    graph.layer(("Assign", "opset6"), "variable_id=\"v\"", &[(sequence, 7)], 1, "");
    let head = constant(&mut graph, "1,2", 8);
    let product =
        graph.layer(("MatMul", "opset1"), "transpose_a=\"false\"", &[(sequence, 6), head], 1, "");
    let twice =
        graph.layer(("Concat", "opset1"), "axis=\"-1\"", &[(product, 2), (product, 2)], 1, "");
    let softmax = graph.layer(("SoftMax", "opset8"), "axis=\"-1\"", &[(twice, 2)], 1, "");
    graph.result(softmax, 1);
    graph.result(sequence, 7);
    graph.text()
}

#[test]
fn mutated_files_are_refused_or_right() {
    let corpus = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus"));
    let mut files = vec![(GRU.as_bytes().to_vec(), weights())];
    for case in [
        "gru_cell_params",
        "gru_cell_batchdyn",
        "gru_cell_fp16",
        "gru_cell_spec_attrs",
        "rnn_cell_relu_clip",
    ] {
        let read = |name: &str| std::fs::read(corpus.join(case).join(name)).unwrap_or_default();
        files.push((read("model.xml"), read("model.bin")));
        assert!(!files.last().unwrap().0.is_empty(), "{case}");
    }
    files.push((converted("f16", "FP16", 2, "f32").into_bytes(), weights()));
    let utf16: Vec<u8> = GRU.encode_utf16().flat_map(u16::to_le_bytes).collect();
    files.push((utf16, weights()));
    files.push((whole_model().into_bytes(), weights()));
    files.push((bodies::iterator_model().into_bytes(), weights()));
    files.push((bodies::loop_model().into_bytes(), weights()));
    files.push((bodies::either_model().into_bytes(), weights()));

    let mut random = Random::new(2026);
    let (mut right, mut wrong) = (0, 0);
    for round in 0..5500 {
        let (xml, bin) = &files[round % files.len()];
        let mut xml = xml.clone();
        let mut bin = bin.clone();
        // the third file leaves the batch open
        let batch = (round % files.len() == 2).then_some(1);
        let options = Options::default().with_batch(batch);
        mutate(&mut xml, &mut random);
        if random.below(8) == 0 {
            bin.truncate(random.below(bin.len().max(1)));
        }
        let outcome = read_bytes("m.xml", &xml, Some(("m.bin", bin))).and_then(
            |ReadModel { model, problems: warnings }| {
                core_model(&model, &options).map(|(valid, more)| (valid, warnings, more))
            },
        );
        match outcome {
            Ok((valid, warnings, more)) => {
                assert!(!warnings.has_errors() && !more.has_errors());
                check_valid(&valid);
                right += 1;
            }
            Err(diagnostics) => {
                assert!(diagnostics.has_errors(), "round {round}");
                let text = diagnostics.to_string();
                assert!(text.starts_with("error: "), "round {round}: {text}");
                assert!(
                    !text.contains(['\0', '\u{202e}', '\u{feff}', '\r']),
                    "round {round}: {text}"
                );
                wrong += 1;
            }
        }
    }
    // enough files are accepted, and enough are refused
    assert!(right > 400 && wrong > 1000, "{right} {wrong}");
}

#[test]
fn the_models_that_are_mutated_are_right() {
    for text in
        [whole_model(), bodies::iterator_model(), bodies::loop_model(), bodies::either_model()]
    {
        let (valid, _) = compile(&text).unwrap_or_else(|e| panic!("{e}"));
        check_valid(&valid);
    }
}
