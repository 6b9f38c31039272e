//! The common interface: a table of functions that programs call alike, whatever the model.

use super::{CFile, wrap};
use crate::emit::names::c_type;
use crate::emit::signature::StepTensor;
use crate::emit::text::{filled, part};
use crate::kernel::Element;

/// The file that all models share.
pub(crate) const FILE: &str = include_str!("text/cellc_model.h");

/// The number of the interface, which the file of another interface does not have.
const NUMBER: &str = "1";

/// A text, where the interface is asked for.
fn text(file: &CFile<'_>, name: &str, own: &[(&str, &str)]) -> String {
    let Some(shared) = file.options.interface.as_deref().and_then(|path| path.file_name()?.to_str()) else {
        return String::new();
    };
    let words = [own, &[("SHARED_FILE", shared), ("NUMBER", NUMBER), ("PREFIX", file.prefix())]].concat();
    filled(part(include_str!("text/interface.c"), name), &words)
}

/// The lines of the header that take in the shared file.
pub(super) fn include(file: &CFile<'_>) -> String {
    text(file, "include", &[])
}

/// What the header declares.
pub(super) fn header(file: &CFile<'_>) -> String {
    text(file, "header", &[])
}

/// The table, and functions of the types that it wants.
pub(super) fn source(file: &CFile<'_>) -> String {
    let (prefix, interface) = (file.prefix(), file.interface);
    let (inputs, outputs): (Vec<_>, Vec<_>) = interface.step_tensors().partition(|tensor| !tensor.written);
    let pointers = |list: &str, count: usize| (0..count).map(|at| format!(", {list}[{at}]")).collect::<String>();
    let all = pointers("inputs", inputs.len()) + &pointers("outputs", outputs.len());
    let steps = match interface.steps {
        Some(_) => wrap::lines(4, &format!("{prefix}_steps(instance, steps{all});")),
        None => {
            let (mut pointers, mut arguments) = (String::new(), String::new());
            for (list, constant, tensors) in [("input", "const ", &inputs), ("output", "", &outputs)] {
                for (at, StepTensor { field, .. }) in tensors.iter().enumerate() {
                    let ty = c_type(field.element);
                    pointers += &format!("    {constant}{ty} *{list}_{at} = {list}s[{at}];\n");
                    arguments += &format!(", {list}_{at} + i * {}", file.size(field));
                }
            }
            let call = wrap::lines(8, &format!("{prefix}_step(instance{arguments});"));
            format!("{pointers}    for (size_t i = 0; i < steps; i++) {{\n{call}    }}\n")
        }
    };
    let mut tables = String::new();
    let mut table = |list: &str, tensors: &[StepTensor<'_>]| {
        let line = |StepTensor { field, each_step, .. }: &StepTensor<'_>| {
            // a step is a call, unless the number of steps is open
            let each = u8::from(interface.steps.is_none() || *each_step);
            format!("    {{\"{}\", {}, {}, {each}}},\n", field.name, file.size(field), element(field.element))
        };
        if tensors.is_empty() {
            return "NULL".to_owned();
        }
        let lines: String = tensors.iter().map(line).collect();
        tables += &format!("\nstatic const cellc_tensor {prefix}_model_{list}[] = {{\n{lines}}};\n");
        format!("{prefix}_model_{list}")
    };
    let (input_table, output_table) = (table("inputs", &inputs), table("outputs", &outputs));
    let words = [
        ("    UNUSED;\n", if inputs.is_empty() { "    (void)inputs;\n" } else { "" }),
        ("    STEPS;\n", &steps),
        ("    STEP;\n", &wrap::lines(4, &format!("{prefix}_step(instance{all});"))),
        ("TABLES;\n", &tables),
        ("INPUT_COUNT", &inputs.len().to_string()),
        ("INPUT_TABLE", &input_table),
        ("OUTPUT_COUNT", &outputs.len().to_string()),
        ("OUTPUT_TABLE", &output_table),
        ("IN_PLACE", &interface.in_place.map_or("-1".to_owned(), |pair| pair.output.to_string())),
        ("SAMPLE_RATE", interface.sample_rate.as_deref().unwrap_or("0.0")),
    ];
    text(file, "source", &words)
}

/// What the shared file calls the type of an element.
fn element(element: Element) -> &'static str {
    match element {
        Element::F32 => "CELLC_FLOAT32",
        Element::I32 => "CELLC_INT32",
        Element::I64 => "CELLC_INT64",
        Element::Bool => "CELLC_BOOL",
        Element::U32 | Element::F16 | Element::I8 | Element::I8Pair => {
            unreachable!("no argument of a step has such elements")
        }
    }
}
