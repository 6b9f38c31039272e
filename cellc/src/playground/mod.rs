//! The functions that the page of the folder `playground` calls. They compile a model in memory to
//! source files, a picture and costs, and access no files.

mod memory;

use serde::Serialize;

use crate::arch::{Arch, TARGETS};
use crate::compile;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::front::formats::ReadOptions;
use crate::front::read_model::ReadModel;
use crate::report::words::grouped;
use crate::report::{Report, drawing};
use crate::request::flag::{FLAGS, FlagValue};
use crate::request::{Language, Options, WeightsAs};

/// The answer to a request of the page.
#[derive(Default, Serialize)]
struct Answer {
    /// The errors as text. Empty if the model was compiled.
    errors: String,
    /// Warnings and notices as text.
    warnings: String,
    /// The page with the graph, see [`drawing::page`].
    page: String,
    /// The plan and its reasons.
    plan: String,
    /// Names and values of the costs of one step.
    costs: Vec<(String, String)>,
    /// Names, and types with shapes, of the tensors that the network keeps between steps.
    state: Vec<(String, String)>,
    /// Names and texts of the generated files.
    files: Vec<(String, String)>,
}

/// Compiles a model for the page. `files`: names and contents; `target`: the name of the target;
/// `language`: `rust` or `c`; `words`: further options, as on the command line. The answer is JSON.
pub fn answer(files: &[(String, Vec<u8>)], target: &str, language: &str, words: &str) -> String {
    let answer = compiled(files, target, language, words)
        .unwrap_or_else(|problems| Answer { errors: problems.to_string(), ..Answer::default() });
    serde_json::to_string(&answer).expect("keys are text")
}

/// The names of all targets, as JSON.
pub fn targets() -> String {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    serde_json::to_string(&names).expect("names are text")
}

fn compiled(
    files: &[(String, Vec<u8>)],
    target: &str,
    language: &str,
    words: &str,
) -> Result<Answer, Diagnostics> {
    let mut options = options(words).map_err(problem)?;
    options.machine.target = target_named(target).map_err(problem)?;
    options.output.language = if language == "c" { Language::C } else { Language::Rust };
    options.output.weights_as = WeightsAs::Inline;
    options.output.name.get_or_insert_with(|| "net".to_owned());
    let read = memory::read(files, &ReadOptions::new(&options.bindings))?;
    let ReadModel { model, problems: mut warnings } = compile::with_model_errors(read)?;
    let mut compilation = compile::compile(&model, &options)?;
    compilation.measure();
    warnings.extend(std::mem::take(&mut compilation.warnings));
    let report = Report::new(&model, &compilation, compilation.plan.isas.len() - 1, None);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let written = compilation.emit("net");
    Ok(Answer {
        errors: String::new(),
        warnings: warnings.to_string(),
        page: drawing::page(&report),
        plan: compilation.plan.to_string(),
        costs: costs(&report),
        state: state(&report),
        files: written.iter().rev().map(|f| (f.name.clone(), text(&f.bytes))).collect(),
    })
}

fn problem(found: String) -> Diagnostics {
    Diagnostic::error(Origin::Unknown, found).into()
}

fn target_named(name: &str) -> Result<&'static Arch, String> {
    let target = TARGETS.iter().find(|target| target.name == name);
    target.copied().ok_or_else(|| format!("there is no target {}", quoted(name)))
}

/// The options in a text such as `--shape x=1,16 --precision int8`.
fn options(text: &str) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let is_of = |name: &str| word.strip_prefix("--").is_some_and(|given| given == name);
        let flag = FLAGS.iter().find(|flag| is_of(flag.name));
        let flag = flag.ok_or_else(|| format!("{} is no option here", quoted(word)))?;
        let value = match flag.operand {
            FlagValue::Switch => "",
            _ => words.next().ok_or_else(|| format!("{word} needs a value"))?,
        };
        (flag.set)(&mut options, value).map_err(|valid| format!("{word} {value}: {valid}"))?;
    }
    Ok(options)
}

/// Names, and types with shapes, of the tensors kept between steps.
fn state(report: &Report) -> Vec<(String, String)> {
    let of_inputs = report.outputs.iter().filter_map(|output| {
        let input = &report.inputs[output.state?];
        Some((input.name.clone(), format!("{} {:?}", input.element, input.shape)))
    });
    let of_variables =
        report.variables.iter().map(|v| (v.name.clone(), format!("f32 {:?}", v.shape)));
    of_inputs.chain(of_variables).collect()
}

/// Names and values of the costs of one step.
fn costs(report: &Report) -> Vec<(String, String)> {
    let totals = &report.totals;
    let bytes = |n: u64| format!("{} bytes", grouped(n));
    let mut costs = vec![
        ("instruction set", report.isa.to_owned()),
        ("multiply-adds", grouped(totals.multiply_adds)),
        ("weights", bytes(totals.weight_bytes)),
        ("state", bytes(totals.state_bytes)),
        ("intermediate values", bytes(totals.block_bytes)),
    ];
    match &report.on_target {
        None => costs.push(("cycles", format!("about {}", grouped(totals.cycles.round() as u64)))),
        Some(cost) => {
            costs.push(("flash without code", bytes(cost.flash.weights + cost.flash.constants)));
            costs.push(("RAM without stack", bytes(cost.ram.state + cost.ram.scratch)));
            if let Some(instructions) = cost.instructions_estimate {
                costs.push(("instructions", format!("about {}", grouped(instructions))));
            }
        }
    }
    costs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_options() {
        let options = options("--precision int8 --shape x=1,16").expect("options");
        assert_eq!(options.bindings.shapes.len(), 1);
        for (words, expected) in [
            ("--precision", "--precision needs a value"),
            ("--nothing", "\"--nothing\" is no option here"),
            ("--precision int7", "--precision int7: "),
        ] {
            let error = super::options(words).expect_err("a refusal");
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn broken_files_are_refused() {
        for (name, bytes) in [("net.onnx", &b"broken"[..]), ("net.xml", b"<net"), ("a.txt", b"a")] {
            let files = [(name.to_owned(), bytes.to_vec())];
            let answer = answer(&files, "any", "c", "");
            assert!(answer.starts_with("{\"errors\":\"error: "), "{answer}");
        }
    }
}
