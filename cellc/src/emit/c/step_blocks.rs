//! The function of a body for several steps, by the kernels that compute them together.

use std::fmt::Write;

use super::CFile;
use super::dialect::plus;
use crate::arch::Isa;
use crate::emit::names::{Field, LEAST_TOGETHER, Phase};
use crate::emit::text::Word;
use crate::kernel::{BodyRef, BufferId};

/// The function for several steps. `texts` are the calls of the kernels.
pub(super) fn function(
    file: &CFile<'_>,
    (isa, linkage): (&Isa, &str),
    body: BodyRef<'_>,
    texts: &[Vec<Word>],
) -> String {
    let interface = file.interface;
    let (prefix, memory) = (file.prefix(), interface.memory().name());
    let (weights, packed) = match interface.takes_weights() {
        true => (format!("const {prefix}_packed *packed, "), "packed, "),
        false => (String::new(), ""),
    };
    let (input, output) = (&interface.inputs[0], &interface.outputs[0]);
    let most = interface.layout.steps_at_once;
    let step_block = body.step_block.as_ref().expect("lower: kernels of several steps");
    let pointer = |id: BufferId| {
        let at = body.block_place(id).expect("verify: input and output are in the block");
        plus(&format!("{memory}->block"), at)
    };
    let step = |field: &Field, name: &str| {
        let (member, size) = (&field.name, file.size(field));
        format!(
            "const {prefix}_{name} one_{name} = {{.{member} = {name}->{member} + at * {size}}};\n"
        )
    };
    let mut out = format!(
        "\n/* Up to {most} steps: few of them one by one, else all by each kernel. */\n\
         {linkage}void {prefix}_several_{isa}(\n    {weights}{prefix}_{memory} *{memory}, \
         size_t steps, \
         const {prefix}_inputs *inputs, const {prefix}_outputs *outputs\n) {{\n",
        isa = isa.name
    );
    let _ = write!(
        out,
        "    if (steps < {LEAST_TOGETHER}u) {{\n        \
             for (size_t at = 0; at < steps; at++) {{\n            \
                 {}            {}            \
                 {prefix}_run_{}({packed}{memory}, &one_inputs, &one_outputs);\n        \
             }}\n        \
             return;\n    \
         }}\n",
        step(input, "inputs"),
        step(output, "outputs"),
        isa.name
    );
    let (from, to) = (&input.name, &output.name);
    let (x_size, y_size) = (file.size(input), file.size(output));
    let _ = write!(
        out,
        "    float *const all = {};\n    \
             for (size_t i = 0; i < {most}u * {x_size}; i++) {{\n        \
                 all[i] = i < steps * {x_size} ? inputs->{from}[i] : 0.0f;\n    \
             }}\n",
        pointer(step_block.input)
    );
    for (_, call) in texts.iter().flatten() {
        out.extend(call.lines().map(|line| format!("    {line}\n")));
    }
    let _ = write!(
        out,
        "    const float *const made = {};\n    \
             for (size_t i = 0; i < steps * {y_size}; i++) {{\n        \
                 outputs->{to}[i] = made[i];\n    \
             }}\n",
        pointer(step_block.output)
    );
    for Phase { name, steps: period } in &interface.layout.phases {
        let _ = writeln!(
            out,
            "    {memory}->{name} = ({memory}->{name} + (uint32_t)steps) % {period}u;"
        );
    }
    out + "}\n"
}
