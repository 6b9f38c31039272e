//! Sums over rows of weights, and the columns of panels.

use super::used::Used;
use crate::arch::SHORT_LOOP_ITERATIONS;
use crate::emit::text::{Word, listed, when};

/// The functions that add rows of weights to sums.
pub(super) fn row_sums(used: &Used) -> String {
    let added = |count: &usize| {
        let names: Vec<_> = (0..*count).map(|at| format!("s{at}")).collect();
        let product = |(at, name): (usize, &String)| {
            let row = match at {
                0 => "row".to_owned(),
                1 => "row.add(apart)".to_owned(),
                at => format!("row.add({at} * apart)"),
            };
            format!("CONVERTED(&*{row}.cast()).mul_add(x, {name})")
        };
        let products: Vec<_> = names.iter().enumerate().map(product).collect();
        let apart = if *count == 1 { "_: usize" } else { "apart: usize" };
        vec![
            ("COUNT", count.to_string()),
            ("NAMES", names.join(", ")),
            ("PRODUCTS", products.join(",\n            ")),
            ("APART_NAME", apart.to_owned()),
        ]
    };
    let short_loop = |first: usize| vec![("BEFORE", first.to_string())];
    let is_unrolled = used.has_unrolled_rows();
    let is_one = used.has_sums_of_one_gate();
    let short_loops = (SHORT_LOOP_ITERATIONS..used.at_once)
        .step_by(SHORT_LOOP_ITERATIONS)
        .map(short_loop)
        .collect();
    let lists = [
        ("sums", used.sums.iter().map(added).collect()),
        when("one gate", is_one),
        ("turns", short_loops),
        when("unrolled", is_unrolled),
    ];
    let sizes = [
        ("TURNS_AT_ONCE", SHORT_LOOP_ITERATIONS.to_string()),
        ("MOST_AT_ONCE", used.at_once.to_string()),
    ];
    let [sums, start, bound, gates] = match is_one {
        true => ["[V; 1]", "[V::all(0.0)]", "", ""],
        false => ["[V; S]", "[V::all(0.0); S]", "where [V; S]: Sums<V, W>,", "APART * (S - 1) + "],
    };
    let at_once = if is_unrolled { ", AT_ONCE" } else { "" };
    let names = match is_one {
        true => format!("FIRST, STEP{at_once}"),
        false => format!("S, FIRST, STEP, APART{at_once}"),
    };
    let parameters: Vec<_> = names.split(", ").map(|name| format!("const {name}: usize")).collect();
    let of_rows = [("ROW_PARAMETERS", parameters.join(", ")), ("ROW_ARGUMENTS", names)];
    let of_sums = [
        ("SUMS_TYPE", sums),
        ("SUMS_START", start),
        ("SUMS_BOUND", bound),
        ("BEFORE_LAST_GATE + ", gates),
    ];
    let of_sums = of_sums.map(|(word, value)| (word, value.to_owned()));
    let sizes = sizes.into_iter().chain(of_sums).chain(of_rows);
    let sizes = sizes.chain(words_of_columns(used.has_first_columns_alone()));
    let text = listed(ROW_SUMS, &lists, &sizes.collect::<Vec<_>>());
    listed(&text, &[], &used.words_of_weights())
}

/// The words for the columns of a panel in the text of sums.
fn words_of_columns(are_first: bool) -> [Word; 5] {
    let [docs, size, parameter, width, first_column] = match are_first {
        true => ["the first columns", "", "", "W", ""],
        false => {
            ["these columns", "const C: usize,", "columns: Columns<V, W, C>,", "C", " + columns.0"]
        }
    };
    [
        ("SUMMED_COLUMNS", docs.to_owned()),
        ("SIZE_OF_COLUMNS", size.to_owned()),
        ("COLUMNS_PARAMETER", parameter.to_owned()),
        ("ALL_COLUMNS", width.to_owned()),
        ("FIRST_COLUMN", first_column.to_owned()),
    ]
}

/// The conversions of weights to vectors.
pub(super) fn weights(used: &Used) -> String {
    let conversion = |name: &&'static str| {
        let element = match *name {
            "from_halves" => "[u8; 2]",
            "from_bytes" => "[u8; 1]",
            _ => "f32",
        };
        vec![("ELEMENT", element.to_owned()), ("CONVERSION", (*name).to_owned())]
    };
    listed(WEIGHTS, &[("weights", used.weights.iter().map(conversion).collect())], &[])
}

/// The type for some columns of a panel.
pub(super) fn columns(used: &Used) -> String {
    let lists =
        ["first", "all", "load", "store"].map(|name| when(name, used.columns.contains(name)));
    listed(COLUMNS, &lists, &used.words_of_weights())
}

const COLUMNS: &str = include_str!("../text/columns.rs");
const ROW_SUMS: &str = include_str!("../text/row_sums.rs");
const WEIGHTS: &str = include_str!("../text/weights.rs");
