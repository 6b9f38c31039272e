use super::*;
use crate::options::Options;
use crate::validate::validate;

/// An LSTM of one unit, all of whose 16 weights are 0.5.
fn nam() -> String {
    let weights = ["0.5"; 16].join(", ");
    format!(
        r#"{{"version": "0.5.4", "architecture": "LSTM", "config": {{"input_size": 1, "hidden_size": 1, "num_layers": 1}}, "weights": [{weights}], "sample_rate": 48000}}"#
    )
}

/// A GRU of one unit and a dense layer.
const RTNEURAL: &str = r#"{"in_shape": [null, null, 1], "in_skip": 1, "in_gain": 6, "layers": [
    {"type": "gru", "activation": "tanh", "shape": [null, null, 1], "weights": [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9], [1, 2, 3]]]},
    {"type": "dense", "activation": "", "shape": [null, null, 1], "weights": [[[0.5]], [0.25]]}]}"#;

fn read(text: &str) -> Result<(Model, Diagnostics), String> {
    read_bytes("amp.json", "amp", text.as_bytes()).map_err(|problems| problems.to_string())
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let changed = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        read(&text.replacen(from, to, 1)).expect_err(to)
    };
    let nam = |from: &str, to: &str| changed(&nam(), from, to);
    let rt = |from: &str, to: &str| changed(RTNEURAL, from, to);
    let said = [
        nam("0.5.4", "0.4.0"),
        nam("0.5.4", "1.0.0"),
        nam("\"version\": \"0.5.4\", ", ""),
        nam("LSTM", "WaveNet"),
        nam("LSTM", "CatLSTM"),
        nam("[0.5, ", "["),
        nam("[0.5, ", "[0.5, 0.5, "),
        nam("[0.5, ", "[\"a\", "),
        nam("[0.5, ", "[1e39, "),
        nam("[0.5, ", "[NaN, "),
        nam(", 0.5,", ",\n -Infinity,"),
        nam("[0.5, ", "[1e999, "),
        nam("\"hidden_size\": 1", "\"hidden_size\": 0"),
        nam("\"hidden_size\": 1", "\"hidden_size\": 1.5"),
        nam("\"hidden_size\": 1", "\"hidden_size\": 65536"),
        nam("\"num_layers\": 1", "\"num_layers\": 65536"),
        nam("\"num_layers\": 1", "\"num_layers\": 1, \"out_channels\": 2"),
        nam("\"num_layers\": 1", "\"num_layers\": 1, \"num_layers\": 1"),
        nam("\"sample_rate\": 48000}", ""),
        nam("\"weights\": [", &format!("\"deep\": {}", "[".repeat(1000))),
        rt("[null, null, 1], \"in_skip\"", "[1, 2, 3, 4], \"in_skip\""),
        rt("[null, null, 1], \"in_skip\"", "[null, null, 2], \"in_skip\""),
        rt("\"in_skip\": 1", "\"in_skip\": 2"),
        rt("\"in_gain\": 6", "\"in_gain\": \"6\""),
        rt("\"in_gain\": 6", "\"in_gain\": 1000"),
        rt("\"gru\"", "\"conv1d\""),
        rt("\"gru\"", "\"batchnorm\""),
        rt("\"gru\"", "\"lstm\""),
        rt("\"tanh\"", "\"relu\""),
        rt("\"activation\": \"\"", "\"activation\": \"softmax\""),
        rt("\"activation\": \"\"", "\"activation\": \"\", \"groups\": 2"),
        rt("[[1, 2, 3]]", "[[1, 2], [3]]"),
        rt("[[1, 2, 3]]", "[1, 2, 3]"),
        rt("[[1, 2, 3]]", "[[1, 2, null]]"),
        rt("[[7, 8, 9], [1, 2, 3]]", "[7, 8, 9]"),
        rt(", [[7, 8, 9], [1, 2, 3]]", ""),
        rt("[[0.5]]", "[[0.5, 0.5]]"),
        rt("\"layers\"", "\"levels\""),
        read("[1, 2]").expect_err("a list"),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn what_is_not_computed_with_is_listed_or_warned_about() {
    let ledger = |text: &str| {
        let (model, warnings) = read(text).unwrap();
        validate(&model, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
        let cell = model.nodes.iter().find(|node| matches!(node.op, Op::Cell(_))).unwrap();
        let line = |entry: &LedgerEntry| {
            format!("{} {:?}: {}\n", entry.attribute, entry.given.as_deref().unwrap_or_default(), entry.taken)
        };
        cell.ledger.iter().map(line).collect::<String>() + &warnings.to_string()
    };
    let metadata =
        "\"metadata\": {\"name\": \"amp\", \"loudness\": -20.5, \"input_level_dbu\": null}, \"notes\": [1, 2]";
    let nam = nam().replacen("\"sample_rate\"", &format!("{metadata}, \"sample_rate\""), 1);
    let rtneural =
        RTNEURAL.replacen("\"in_gain\"", "\"samplerate\": \"48000\", \"esr\": 0.5, \"out_gain\": -95, \"in_gain\"", 1);
    insta::assert_snapshot!(ledger(&nam) + "\n" + &ledger(&rtneural));
    // what its entries say is not said twice
    let rate = RTNEURAL.replacen("\"in_gain\"", "\"metadata\": {\"samplerate\": 48000}, \"in_gain\"", 1);
    assert_eq!(ledger(&rate).matches("samplerate").count(), 1);
}

#[test]
fn only_a_part_of_much_metadata_is_listed() {
    let keys: String = (0..10_000).map(|i| format!("\"key{i}\": \"{}\", ", "v".repeat(100))).collect();
    let (model, warnings) = read(&nam().replacen("\"sample_rate\"", &format!("{keys}\"sample_rate\""), 1)).unwrap();
    let listed: usize = model.nodes.iter().map(|node| node.ledger.len()).sum();
    assert!((30..100).contains(&listed), "{listed}");
    assert!(warnings.0.iter().any(|warning| warning.found.contains("more keys, which the header leaves out")));
}

#[test]
fn a_byte_order_mark_is_no_part_of_it() {
    assert!(read(&format!("\u{feff}{}", nam())).is_ok());
}

#[test]
fn gains_are_those_of_a_mixer() {
    for (decibels, gain) in [(0.0, 1.0), (20.0, 10.0), (-20.0, 0.1), (-90.0, 0.0), (-1000.0, 0.0)] {
        assert_eq!(rtneural::factor(decibels), gain);
    }
}
