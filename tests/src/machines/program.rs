//! The C program around generated code. It contains the inputs and writes every result.

use cellc::internals::emit::names::{Field, Interface};
use cellc::internals::kernel::Element;

use super::cost::STEPS;
use super::{Trial, Written};

/// The main function: runs all trials in turn, or the counted steps of each trial.
pub(super) fn main(trials: &[Trial], written: Written) -> String {
    let each = |line: &dyn Fn(&str) -> String| {
        trials.iter().map(|trial| line(&trial.subject.name)).collect::<String>()
    };
    let ending = if written == Written::Results { "trial" } else { "count" };
    format!(
        "{}\nint main(void) {{\n{}    return 0;\n}}\n",
        each(&|name| format!("void {name}_{ending}(void);\n")),
        each(&|name| format!("    {name}_{ending}();\n"))
    )
}

/// The source of one trial: `void <name>_trial(void)`, and `void <name>_count(void)`.
pub(super) fn caller(Trial { subject, rounds }: &Trial) -> String {
    let interface = &subject.compilation.interface;
    let Interface { function: f, inputs, weights, outputs, states, .. } = interface;
    let name = &subject.name;
    let mut declarations = String::new();
    let mut take = String::new();
    for field in inputs.iter().chain(weights) {
        let calls: Vec<_> =
            subject.calls.iter().map(|call| values(field, &call[field.index])).collect();
        let (Field { name, .. }, count, len) = (field, calls.len(), field.len());
        let (stored, element) = types(field);
        let calls = calls.join(",\n");
        declarations +=
            &format!("static const {stored} given_{name}[{count}][{len}] = {{\n{calls}}};\n");
        declarations += &format!("static {element} v_{name}[{len}];\n");
        take += &format!("    memcpy(v_{name}, given_{name}[call], sizeof v_{name});\n");
    }
    let mut give = String::new();
    for field in outputs {
        let (Field { name, .. }, len, element) = (field, field.len(), types(field).1);
        declarations += &format!("static {element} v_{name}[{len}];\n");
        give += &match field.element {
            Element::F32 => format!("    give(v_{name}, {len});\n"),
            // integers are compared as f32, too
            _ => format!(
                "    for (size_t i = 0; i < {len}; i++) {{\n        const float value = (float)v_{name}[i];\n        give(&value, 1);\n    }}\n"
            ),
        };
    }
    let (mut pack, mut packed) = (String::new(), "");
    if !weights.is_empty() {
        declarations += &format!("static {f}_packed packed;\n");
        let members: Vec<_> =
            weights.iter().map(|field| format!(".{0} = v_{0}", field.name)).collect();
        pack = format!("    {f}_pack(&({f}_weights){{{}}}, &packed);\n", members.join(", "));
        packed = ", &packed";
    }
    let states = states.iter().map(|state| &inputs[state.input].name);
    let set: String = states
        .map(|name| format!("        memcpy(cell.{name}, v_{name}, sizeof cell.{name});\n"))
        .collect();
    let pair = interface.in_place();
    let argument = |field: &Field, in_place: bool| match pair {
        Some((input, output)) if in_place && field == input => format!(", v_{}", output.name),
        _ => format!(", v_{}", field.name),
    };
    let arguments = |in_place| {
        interface.step_inputs().chain(outputs).map(|f| argument(f, in_place)).collect::<String>()
    };
    let (arguments, in_place) = (arguments(false), arguments(true));
    let moved = pair.map_or_else(String::new, |(input, output)| {
        format!("    memcpy(v_{1}, v_{0}, sizeof v_{1});\n", input.name, output.name)
    });
    let calls = subject.calls.len();
    let say_isa = match subject.isas().collect::<Vec<_>>()[..] {
        [(alone, _)] => format!("    machine_write(\"{alone}\", {});\n", alone.len()),
        _ => {
            format!("    machine_write({f}_isa_name(cell.isa), strlen({f}_isa_name(cell.isa)));\n")
        }
    };
    format!(
        r#"#include <stdint.h>
#include <string.h>

#include "machine.h"
#include "{name}.h"

{declarations}static {f} cell;

/* The least significant byte first, on every machine. */
static void give(const float *values, size_t count) {{
    for (size_t i = 0; i < count; i++) {{
        uint32_t word;
        memcpy(&word, &values[i], sizeof word);
        const uint8_t bytes[] = {{(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)}};
        machine_write(bytes, sizeof bytes);
    }}
}}

static void take(int call) {{
    (void)call;
{take}}}

static void give_all(void) {{
{give}}}

void {name}_count(void);
void {name}_count(void) {{
    take(0);
{pack}    {f}_init(&cell{packed});
    machine_begin();
    for (int i = 0; i < {STEPS}; i++) {{
        {f}_step(&cell{arguments});
    }}
    machine_end();
}}

void {name}_trial(void);
void {name}_trial(void) {{
    take(0);
{pack}    {f}_init(&cell{packed});
{say_isa}    machine_write("\n", 1);
    for (int round = 0; round < {rounds}; round++) {{
        for (int call = 0; call < {calls}; call++) {{
            take(call);
            {f}_step(&cell{arguments});
            give_all();
        }}
    }}
    for (int call = 0; call < {calls}; call++) {{
        take(call);
{set}    {moved}        {f}_step(&cell{in_place});
        give_all();
    }}
}}
"#
    )
}

/// The C types for the elements of an input: in the program's data, and in the argument of a step.
/// The data of f32 are their bits.
pub(super) fn types(field: &Field) -> (&'static str, &'static str) {
    match field.element {
        Element::F32 => ("uint32_t", "float"),
        Element::I32 => ("int32_t", "int32_t"),
        Element::I64 => ("int64_t", "int64_t"),
        Element::Bool => ("uint8_t", "uint8_t"),
        other => unreachable!("no input has elements of the type {other:?}"),
    }
}

/// The initialiser of an input in one call.
pub(super) fn values(field: &Field, values: &[f32]) -> String {
    let value = |value: &f32| match field.element {
        Element::F32 => format!("0x{:08x}", value.to_bits()),
        _ => (*value as i64).to_string(),
    };
    format!("    {{{}}}", values.iter().map(value).collect::<Vec<_>>().join(", "))
}
