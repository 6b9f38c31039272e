//! Documents that repeat what the code says.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use cellc::front::openvino::SUPPORTED;

/// OPERATIONS.md is made from the table by which the reader tells layers apart; `CELLC_BLESS=1` writes it anew.
#[test]
fn the_operations_are_those_of_the_reader() {
    let mut text = String::from(
        "# What is read of an OpenVINO IR\n\n\
         A model that uses anything else is refused by name. This file is made from the reader's own table by\n\
         `CELLC_BLESS=1 cargo test -p cellc-tests --test documents`, and the test fails where the two differ.\n\n\
         | layer | operation sets | |\n|---|---|---|\n",
    );
    for row in SUPPORTED {
        let _ = writeln!(text, "| {} | {} | {} |", row.name, row.sets.join(", "), row.what);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../OPERATIONS.md");
    if env::var_os("CELLC_BLESS").is_some() {
        fs::write(&file, &text).expect("OPERATIONS.md can be written");
    }
    assert_eq!(fs::read_to_string(&file).expect("OPERATIONS.md"), text);
}

/// What the README prints is what the example uses.
#[test]
fn the_function_for_pytorch_is_the_examples() {
    let read = |file| {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file))
            .expect("a file of the repository")
    };
    let example = read("examples/pytorch/save_for_cellc.py");
    let (_, function) = example.split_once("\n\n").expect("a line that says what it is");
    assert!(function.starts_with("from safetensors.torch") && function.contains("def save_for_cellc("));
    assert!(read("README.md").contains(&format!("```python\n{function}```")), "README.md shows another function");
}
