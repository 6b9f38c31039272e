//! The number of outputs of the corpus with a useful bound in the header: `cargo test -p
//! cellc-tests --test all useful_bounds -- --ignored --nocapture` prints all outputs without one.

use cellc::Options;
use cellc::internals::arch::GENERIC;
use cellc::internals::compile::compile;
use cellc_tests::corpus;

/// The header of every case, for one instruction set and one profile.
#[test]
#[ignore = "it takes half a minute, and prints a number that changes with every case"]
fn most_outputs_have_a_useful_bound() {
    let onnx = corpus::names(&corpus::onnx_folder())
        .into_iter()
        .map(|name| corpus::onnx_folder().join(name));
    let others =
        corpus::names(&corpus::folder()).into_iter().map(|name| corpus::folder().join(name));
    let (mut useful, mut all) = (0, 0);
    for folder in others.chain(onnx) {
        let Ok(case) = corpus::case_in(&folder) else { continue };
        let options = Options::default().with_isas(Some(vec![&GENERIC]));
        // one step, if the number of steps is open
        let compiled = compile(&case.model, &options)
            .or_else(|_| compile(&case.fixed(&case.runs[0].shapes), &options));
        let Ok(mut compilation) = compiled else { continue };
        if !compilation.interface.weights.is_empty() {
            continue;
        }
        compilation.measure();
        let header = compilation.description.header.iter().map(|line| line.trim());
        let without: Vec<_> =
            header.filter(|line| line.starts_with("no useful bound for")).collect();
        let outputs = compilation.interface.outputs.len();
        useful += outputs - without.len();
        all += outputs;
        for line in without {
            println!("{}: {line}", case.name);
        }
    }
    println!("{useful} of {all} outputs have a useful bound");
    assert!(2 * useful > all, "{useful} of {all} outputs have a useful bound");
}
