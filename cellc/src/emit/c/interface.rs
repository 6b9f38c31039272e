//! The common interface: a table of functions that programs call alike, whatever the model.

use std::fmt::Write;

use super::{CFile, wrap};
use crate::emit::names::{Field, c_type};
use crate::kernel::Element;

/// The file that all models share.
pub(crate) const FILE: &str = include_str!("text/cellc_model.h");

/// The number of the interface, which the file of another interface does not have.
const NUMBER: u32 = 1;

/// The lines of the header that take in the shared file, if the interface is asked for.
pub(super) fn include(file: &CFile<'_>) -> String {
    let Some(name) = file.options.interface.as_deref().and_then(|path| path.file_name()?.to_str()) else {
        return String::new();
    };
    format!(
        "#include \"{name}\"
#if CELLC_INTERFACE != {NUMBER}
#error \"{name} is of another version of cellc than this file: generate all models with one version\"
#endif

"
    )
}

/// What the header declares.
pub(super) fn header(file: &CFile<'_>) -> String {
    if file.options.interface.is_none() {
        return String::new();
    }
    let prefix = file.prefix();
    format!(
        "
/* The model as a table of functions, which all models have in common. An instance is a {prefix}. */
extern const cellc_model {prefix}_model;
"
    )
}

/// The table, and functions of the types that it wants.
pub(super) fn source(file: &CFile<'_>) -> String {
    if file.options.interface.is_none() {
        return String::new();
    }
    let (prefix, interface) = (file.prefix(), file.interface);
    let inputs: Vec<&Field> = interface.step_inputs().collect();
    let outputs: Vec<&Field> = interface.outputs.iter().collect();
    // a step is a call, unless the number of steps is open
    let each_step = |field: &Field, input: bool| match &interface.steps {
        None => true,
        Some(flags) if input => flags.inputs[field.index],
        Some(flags) => flags.outputs[field.index],
    };
    let mut out = format!(
        "
/* ---- the common interface ---- */

static void {prefix}_model_init(void *instance) {{
    {prefix}_init(instance);
}}

static void {prefix}_model_reset(void *instance) {{
    {prefix}_reset(instance);
}}
"
    );
    let pointers = |list: &str, count: usize| (0..count).map(|at| format!(", {list}[{at}]")).collect::<String>();
    let all = pointers("inputs", inputs.len()) + &pointers("outputs", outputs.len());
    let unused = if inputs.is_empty() { "    (void)inputs;\n" } else { "" };
    let tensors = "const void *const *inputs, void *const *outputs";
    let _ = write!(
        out,
        "
static void {prefix}_model_step(void *instance, {tensors}) {{
{unused}"
    );
    wrap::statement(&mut out, 4, &format!("{prefix}_step(instance{all});"));
    let _ = write!(
        out,
        "}}

static void {prefix}_model_steps(void *instance, size_t steps, {tensors}) {{
{unused}"
    );
    match interface.steps {
        Some(_) => {
            wrap::statement(&mut out, 4, &format!("{prefix}_steps(instance, steps{all});"));
        }
        None => {
            let mut arguments = String::new();
            for (list, constant, fields) in [("input", "const ", &inputs), ("output", "", &outputs)] {
                for (at, field) in fields.iter().enumerate() {
                    let ty = c_type(field.element);
                    let _ = writeln!(out, "    {constant}{ty} *{list}_{at} = {list}s[{at}];");
                    let _ = write!(arguments, ", {list}_{at} + i * {}", file.size(field));
                }
            }
            out.push_str("    for (size_t i = 0; i < steps; i++) {\n");
            wrap::statement(&mut out, 8, &format!("{prefix}_step(instance{arguments});"));
            out.push_str("    }\n");
        }
    }
    let _ = write!(
        out,
        "}}

static const char *{prefix}_model_isa_name(const void *instance) {{
    return {prefix}_isa_name(((const {prefix} *)instance)->isa);
}}
"
    );
    let mut table = |list: &str, input: bool, fields: &[&Field]| {
        if fields.is_empty() {
            return "NULL".to_owned();
        }
        let _ = write!(out, "\nstatic const cellc_tensor {prefix}_model_{list}[] = {{\n");
        for field in fields {
            let (size, element, each) = (file.size(field), element(field.element), u8::from(each_step(field, input)));
            let _ = writeln!(out, "    {{\"{}\", {size}, {element}, {each}}},", field.name);
        }
        out.push_str("};\n");
        format!("{prefix}_model_{list}")
    };
    let (inputs_at, outputs_at) = (table("inputs", true, &inputs), table("outputs", false, &outputs));
    let (input_count, output_count) = (inputs.len(), outputs.len());
    let in_place = interface.in_place.map_or("-1".to_owned(), |pair| pair.output.to_string());
    let sample_rate = interface.sample_rate.as_deref().unwrap_or("0.0");
    let _ = write!(
        out,
        "
const cellc_model {prefix}_model = {{
    .interface_number = CELLC_INTERFACE,
    .name = \"{prefix}\",
    .sample_rate = {sample_rate},
    .instance_size = sizeof({prefix}),
    .instance_alignment = _Alignof({prefix}),
    .input_count = {input_count},
    .inputs = {inputs_at},
    .output_count = {output_count},
    .outputs = {outputs_at},
    .in_place_output = {in_place},
    .init = {prefix}_model_init,
    .reset = {prefix}_model_reset,
    .step = {prefix}_model_step,
    .steps = {prefix}_model_steps,
    .isa_name = {prefix}_model_isa_name,
}};
"
    );
    out
}

/// What the shared file calls the type of an element.
fn element(element: Element) -> &'static str {
    match element {
        Element::F32 => "CELLC_FLOAT32",
        Element::I32 => "CELLC_INT32",
        Element::I64 => "CELLC_INT64",
        Element::U32 | Element::F16 | Element::I8 => unreachable!("no argument of a step has such elements"),
    }
}
