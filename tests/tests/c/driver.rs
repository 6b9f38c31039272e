//! Runs generated C on given inputs, and the interpreter on the same.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use cellc::internals::compile::Compilation;
use cellc::internals::kernel::{BodyRef, Role, interpret};
use cellc::internals::pack;
use cellc::internals::random::Random;
use cellc_tests::skipped::skip;

use crate::toolchain::{Compiler, succeed};

/// The parameters of one call, by index into the model's.
pub(crate) type Call = Vec<Vec<f32>>;

/// A program around `<prefix>.h`: for every instruction set of the machine, the pure function on each call of `calls.bin`,
/// then the struct on the calls' inputs, the state its own.
pub(crate) fn source(compilation: &Compilation, calls: usize) -> String {
    let interface = &compilation.interface;
    let p = &interface.function;
    let upper = p.to_ascii_uppercase();
    let baked = interface.weights.is_empty();
    let mut out = format!(
        "#include \"{p}.h\"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *input;
static void take(float *values, size_t n) {{ if (fread(values, sizeof *values, n, input) != n) exit(2); }}
static void give(const float *values, size_t n) {{ fwrite(values, sizeof *values, n, stdout); }}

"
    );
    let fields = interface.inputs.iter().chain(&interface.weights).chain(&interface.outputs);
    for field in fields {
        let _ = writeln!(out, "static float v_{0}[{upper}_{1}_SIZE];", field.name, field.name.to_ascii_uppercase());
    }
    let members = |fields: &[cellc::internals::emit::names::Field]| {
        fields.iter().map(|f| format!(".{0} = v_{0}", f.name)).collect::<Vec<_>>().join(", ")
    };
    let size = |name: &str| format!("sizeof v_{name} / sizeof(float)");
    let mut fields: Vec<_> = interface.inputs.iter().chain(&interface.weights).collect();
    fields.sort_by_key(|f| f.index);
    out.push_str("static void take_call(void) {\n");
    for field in fields {
        let _ = writeln!(out, "    take(v_{}, {});", field.name, size(&field.name));
    }
    out.push_str("}\nstatic void give_results(void) {\n");
    for field in &interface.outputs {
        let _ = writeln!(out, "    give(v_{}, {});", field.name, size(&field.name));
    }
    out.push_str("}\n");
    let (pack, packed, packed_param) = if baked {
        (String::new(), "", "")
    } else {
        let _ = writeln!(out, "static {p}_packed packed;");
        let weights = members(&interface.weights);
        (format!("const {p}_weights weights = {{{weights}}}; {p}_pack(&weights, &packed);"), "&packed, ", ", &packed")
    };
    let inputs = members(&interface.inputs);
    let outputs = members(&interface.outputs);
    let step: Vec<_> = interface.step_inputs().chain(&interface.outputs).map(|f| format!("v_{}", f.name)).collect();
    let _ = write!(
        out,
        "
int main(void) {{
    const {p}_inputs inputs = {{{inputs}}};
    const {p}_outputs outputs = {{{outputs}}};
    {p} cell;
    for (int i = 0; i < {}; i++) {{
        const {p}_isa isa = ({p}_isa)i;
        if (!{p}_isa_available(isa)) continue;
        printf(\"%s\\n\", {p}_isa_name(isa));
        input = fopen(\"calls.bin\", \"rb\");
        for (int call = 0; call < {calls}; call++) {{
            take_call();
            {pack}
            {p}_run(isa, {packed}&inputs, &outputs);
            give_results();
        }}
        rewind(input);
        {p}_init_isa(&cell, isa{packed_param});
        if (cell.isa != isa) return 3;
        for (int call = 0; call < {calls}; call++) {{
            take_call();
            {pack}
            {p}_step(&cell, {});
            give_results();
        }}
        fclose(input);
    }}
    {p}_init(&cell{packed_param});
    return cell.isa == {p}_isa_detect() ? 0 : 4;
}}
",
        compilation.plan.isas.len(),
        step.join(", ")
    );
    out
}

/// Compiles and runs [`source`] on `calls`, and compares bits with the interpreter on every instruction set. How many ran.
pub(crate) fn check(
    folder: &Path,
    compiler: Compiler,
    objects: &[&str],
    compilation: &Compilation,
    calls: &[Call],
) -> usize {
    fs::write(folder.join("main.c"), source(compilation, calls.len())).expect("written");
    let bytes: Vec<u8> = calls.iter().flatten().flatten().flat_map(|v| v.to_le_bytes()).collect();
    fs::write(folder.join("calls.bin"), bytes).expect("written");
    succeed(folder, compiler.c, &[&["-w", "main.c", "-o", "main"], objects].concat());
    let printed = succeed(folder, "./main", &[]);
    let mut rest = printed.as_slice();
    let mut ran = 0;
    for ((isa, _), body) in compilation.plan.isas.iter().zip(compilation.program.bodies()) {
        let Some(after) = rest.strip_prefix(format!("{}\n", isa.name).as_bytes()) else {
            skip(&format!("no {}", isa.name));
            continue;
        };
        rest = after;
        let expected = expected(compilation, body, calls);
        assert!(rest.len() >= expected.len() * 4, "{}: the program printed too little", isa.name);
        for (i, (got, wanted)) in rest.chunks_exact(4).zip(&expected).enumerate() {
            let got = f32::from_le_bytes(got.try_into().expect("four bytes"));
            let same = got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan();
            assert!(same, "{} in {}: value {i} is {got:e}, not {wanted:e}", isa.name, folder.display());
        }
        rest = &rest[expected.len() * 4..];
        ran += 1;
    }
    assert!(rest.is_empty(), "the program printed too much");
    assert!(ran > 0, "every machine has the generic body");
    ran
}

/// What the interpreter makes of the calls: the pure function's results, then the struct's.
fn expected(compilation: &Compilation, body: BodyRef<'_>, calls: &[Call]) -> Vec<f32> {
    let program = body.program;
    let mut all = Vec::new();
    let mut memory: Vec<Vec<f32>> = program.buffers.iter().map(|b| vec![0.0; b.len]).collect();
    for (buffer, contents) in program.buffers.iter().zip(&mut memory) {
        if let Role::Constant(i) = buffer.role {
            *contents = (0..buffer.len).map(|k| compilation.model.constants[i].get_f32(k)).collect();
        }
    }
    let mut run = |call: &Call| {
        for (buffer, contents) in program.buffers.iter().zip(&mut memory) {
            if let Role::Parameter(i) = buffer.role {
                contents.clone_from(&call[i]);
            }
        }
        pack::pack_memory(program, &mut memory);
        interpret(body, &mut memory);
        let result = |i| program.find(Role::Result(i)).expect("a buffer for each result");
        (0..compilation.model.results.len()).map(|i| memory[result(i).0].clone()).collect::<Vec<_>>()
    };
    for call in calls {
        all.extend(run(call).concat());
    }
    let states = &compilation.model.states;
    let mut state: Vec<_> = states.iter().map(|s| vec![0.0; calls[0][s.parameter].len()]).collect();
    for call in calls {
        let mut call = call.clone();
        for (pair, value) in states.iter().zip(&state) {
            call[pair.parameter].clone_from(value);
        }
        let results = run(&call);
        for (pair, value) in states.iter().zip(&mut state) {
            value.clone_from(&results[pair.result]);
        }
        all.extend(results.concat());
    }
    all
}

/// Calls that a model must get right: everyday values, then some that find the seams.
pub(crate) fn calls(compilation: &Compilation) -> Vec<Call> {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let special = [0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 20.0, -110.0];
    (0..5)
        .map(|call| {
            let parameters = compilation.model.parameters.iter();
            parameters
                .map(|parameter| {
                    (0..parameter.shape.iter().product::<usize>())
                        .map(|_| match call {
                            // weights stay ordinary
                            3 if !parameter.weight => random.unit() * 40.0,
                            4 if !parameter.weight && random.below(6) == 0 => random.choice(&special),
                            _ => random.unit(),
                        })
                        .collect()
                })
                .collect()
        })
        .collect()
}
