//! The function of a body for several steps: each stage for all of them, then the next.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::CFile;
use crate::arch::Isa;
use crate::emit::calls::{Call, Uses};
use crate::emit::names::Field;
use crate::emit::text::Word;
use crate::kernel::{BodyRef, Role};

/// A stage: its calls, as text and as kernels.
struct Stage<'a> {
    texts: &'a [Vec<Word>],
    calls: &'a [Vec<Call<'a>>],
}

/// The function for several steps. `texts` are the statements of the calls, with the place `block`
/// of a step's block.
pub(super) fn function(
    file: &CFile<'_>,
    (isa, linkage): (&Isa, &str),
    body: BodyRef<'_>,
    calls: &[Vec<Call<'_>>],
    texts: &[Vec<Word>],
) -> String {
    let (prefix, memory) = (file.prefix(), file.interface.memory().name());
    let (mut stages, mut saved) = (String::new(), String::new());
    let (mut first, mut moved, mut again) = (0, BTreeSet::<usize>::new(), BTreeSet::new());
    for count in &body.stages {
        let range = first..first + count;
        first += count;
        let stage = Stage { texts: &texts[range.clone()], calls: &calls[range] };
        let uses = Uses::of(body, stage.calls);
        let phases: Vec<usize> = uses
            .buffers
            .iter()
            .filter_map(|id| match body.buffer(*id).role {
                Role::Phase(steps) => Some(steps),
                _ => None,
            })
            .collect();
        // every stage begins at the first step
        for steps in phases.iter().filter(|steps| moved.contains(*steps)) {
            again.insert(*steps);
            let name = file.interface.phase(*steps);
            let _ = writeln!(stages, "    {memory}->{name} = {name};");
        }
        moved.extend(&phases);
        stages += &repeated(file, body, &stage, (&uses, &phases));
    }
    for steps in again {
        let name = file.interface.phase(steps);
        let _ = writeln!(saved, "    const uint32_t {name} = {memory}->{name};");
    }
    let most = file.interface.layout.steps_at_once;
    format!(
        "\n/* Up to {most} steps: each stage for all of them, then the next. */\n{linkage}void \
         {prefix}_several_{}(\n    {prefix}_{memory} *{memory}, size_t steps, \
         const {prefix}_inputs *all_inputs, const {prefix}_outputs *all_outputs\n) {{\n\
         {saved}{stages}}}\n",
        isa.name
    )
}

/// The loop of a stage over the steps.
fn repeated(
    file: &CFile<'_>,
    body: BodyRef<'_>,
    stage: &Stage<'_>,
    (uses, phases): (&Uses, &[usize]),
) -> String {
    let (interface, memory) = (file.interface, file.interface.memory().name());
    let is_used = |is: fn(Role) -> bool| uses.buffers.iter().any(|id| is(body.buffer(*id).role));
    let mut out = "    for (size_t at = 0; at < steps; at++) {\n".to_owned();
    let mut step = |field: &Field, name: &str| {
        let (prefix, member, size) = (file.prefix(), &field.name, file.size(field));
        let _ = write!(
            out,
            "        const {prefix}_{name} one_{name} = {{.{member} = all_{name}->{member} + at * \
             {size}}};\n        const {prefix}_{name} *const {name} = &one_{name};\n"
        );
    };
    if is_used(|role| matches!(role, Role::Parameter(_))) {
        step(&interface.inputs[0], "inputs");
    }
    if is_used(|role| matches!(role, Role::Result(_))) {
        step(&interface.outputs[0], "outputs");
    }
    if is_used(|role| role == Role::Scratch) {
        let len = interface.block_len;
        let _ = writeln!(out, "        float *block = {memory}->block + at * {len};");
    }
    for (_, call) in stage.texts.iter().flatten() {
        out.extend(call.lines().map(|line| format!("        {line}\n")));
    }
    for steps in phases {
        let (count, last) = (format!("{memory}->{}", interface.phase(*steps)), steps - 1);
        let _ = writeln!(out, "        {count} = {count} < {last}u ? {count} + 1u : 0u;");
    }
    out + "    }\n"
}
