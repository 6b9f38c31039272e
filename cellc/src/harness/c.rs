//! The program around generated C.

use super::{Subject, constants};
use crate::emit::elements::spelling;
use crate::emit::names::{Field, Interface};
use crate::emit::signature::{Argument, Signature};
use crate::request::Language;

const HEAD: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void receive(void *values, size_t size) {
    if (fread(values, 1, size, stdin) != size) exit(1);
}

static void give(const void *values, size_t size) {
    if (fwrite(values, 1, size, stdout) != size) exit(1);
}

static uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Contents that no step may leave. */
static void spoil(void *values, size_t size) {
    const unsigned char bits[] = {0xad, 0xde, 0xc0, 0x7f};
    for (size_t i = 0; i < size; i++) {
        ((unsigned char *)values)[i] = bits[i % sizeof bits];
    }
}

static void check(int right, int line) {
    if (!right) {
        fprintf(stderr, "harness.c:%d: wrong\n", line);
        exit(1);
    }
}

/* not every model has states, or a pool */
void check_zero(const float *values, size_t size, int line);
void check_zero(const float *values, size_t size, int line) {
    for (size_t i = 0; i < size / sizeof *values; i++) {
        check(values[i] == 0.0f, line);
    }
}

void nothing(void *argument);
void nothing(void *argument) { (void)argument; }
"#;

/// The program around the subjects.
pub(super) fn program(subjects: &[Subject<'_>]) -> String {
    let includes: String =
        subjects.iter().map(|subject| format!("#include \"{}.h\"\n", subject.name)).collect();
    let serve_all: String = subjects.iter().map(serve).collect();
    let choose = |Subject { name, .. }: &Subject<'_>| {
        format!(
            "    if (strcmp(argv[1], \"{name}\") == 0) return serve_{name}(argc > 2 ? argv[2] : \
             NULL);\n"
        )
    };
    let choose: String = subjects.iter().map(choose).collect();
    format!(
        "#define _POSIX_C_SOURCE 199309L /* clock_gettime */

{includes}{HEAD}
{}{serve_all}
int main(int argc, char **argv) {{
    if (argc < 2) return 1;
{choose}    return 1;
}}
",
        constants("#define ", " ", "")
    )
}

/// The statements around a call of a subject's function.
#[derive(Default)]
struct Call {
    /// Declarations of the arguments' variables.
    declared: String,
    /// Statements before the first call.
    first: String,
    /// Statements that pack weights.
    packs: String,
    /// The statement that resets the state if a call asks for it.
    reset: String,
    /// Statements that give the pool of threads to the struct.
    pooled: String,
    /// Statements before timed calls.
    awake: &'static str,
    /// Statements after the last call.
    last: String,
    /// The arguments of the call.
    arguments: String,
}

/// The statements around a call. `inputs`, `outputs` and `weights`: the members of the structs, as
/// `.name = variable`.
fn call(interface: &Interface, inputs: &str, outputs: &str, weights: &str) -> Call {
    let f = &interface.function;
    let mut call = Call::default();
    call.arguments = Signature::function(interface, Language::C).spelled(|argument| {
        match argument {
            Argument::Pool => {
                call.declared += &format!("    static {f}_pair pair;\n");
                call.first += &format!(
                    "    check({f}_pair_start(&pair) == 0, __LINE__);\n    const {f}_pool pool = \
                     {f}_pair_pool(&pair);\n"
                );
                call.last = format!("    {f}_pair_stop(&pair);\n");
                call.pooled =
                    "            check(cell.pool == NULL, __LINE__);\n            cell.pool = \
                    &pool;\n"
                        .to_owned();
                // wakes a sleeping helper thread before the timed calls
                call.awake = "            for (uint64_t start = nanoseconds(); \
                    nanoseconds() - start < 500000;) {
                pool.join(pool.context, nothing, NULL, nothing, NULL);
            }\n";
            }
            Argument::Packed => {
                call.declared += &format!("    static {f}_packed packed;\n");
                call.packs += &format!("        {f}_pack(&({f}_weights){{{weights}}}, &packed);\n");
            }
            Argument::Memory(memory) => {
                let (name, setter) = (memory.name(), memory.setter());
                call.declared += &format!("    static {f}_{name} {name};\n");
                if interface.sets_memory() {
                    call.first += &format!("    {f}_{setter}(&{name});\n");
                    call.reset =
                        format!("        if (flags & (RESET | SET)) {f}_{setter}(&{name});\n");
                }
            }
            Argument::Inputs(_) => {
                call.first += &format!("    const {f}_inputs inputs = {{{inputs}}};\n");
            }
            Argument::Outputs(_) => {
                call.first += &format!("    const {f}_outputs outputs = {{{outputs}}};\n");
            }
        }
        format!("&{}", argument.name())
    });
    call
}

/// The statements that choose the instruction set of a subject, and the statements that initialise
/// the subject's struct. `packed`: the second argument of the initialisers, after a comma, or
/// empty.
fn choice(f: &str, isas: &[&str], packed: &str) -> (String, String) {
    if let [alone] = isas {
        return (alone_in_its_file(alone), format!("            {f}_init(&cell{packed});\n"));
    }
    let begin = format!(
        "            {f}_init(&cell{packed});
            check(cell.isa == {f}_isa_detect(), __LINE__);
            {f}_init_isa(&cell, isa{packed});
            check(cell.isa == isa, __LINE__);\n"
    );
    (chosen_isa(f, isas), begin)
}

/// The function for the calls of one subject.
fn serve(subject: &Subject<'_>) -> String {
    let Subject { name: m, interface, isas, .. } = subject;
    let Interface { function: f, inputs, weights, outputs, variables, .. } = interface;
    let upper = f.to_ascii_uppercase();
    let parameter = |field: &Field| format!("p{}", field.index);
    let output = |field: &Field| format!("y{}", field.index);
    let declare = |field: &Field, name: String| {
        format!(
            "    static {} {name}[{upper}_{}_SIZE];\n",
            spelling(field.element).c,
            field.name.to_ascii_uppercase()
        )
    };
    let mut declarations: String =
        inputs.iter().chain(weights).map(|field| declare(field, parameter(field))).collect();
    declarations.extend(outputs.iter().map(|field| declare(field, output(field))));
    let each = |fields: &[Field], call: &str, expression: &dyn Fn(&Field) -> String| -> String {
        let line = |field| format!("        {call}({0}, sizeof {0});\n", expression(field));
        fields.iter().map(line).collect()
    };
    let members = |fields: &[Field], expression: &dyn Fn(&Field) -> String| {
        fields
            .iter()
            .map(|field| format!(".{} = {}", field.name, expression(field)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let of_state = |field: &Field| format!("state.{}", field.name);
    let read_inputs = each(inputs, "receive", &parameter);
    let mut read_weights = each(weights, "receive", &parameter);
    let read_variables = each(variables, "receive", &of_state);
    let spoil = each(outputs, "spoil", &output);
    let send = each(outputs, "give", &output);
    let send_variables = each(variables, "give", &of_state);
    let Call { declared, first, packs, reset, pooled, awake, last, arguments } = call(
        interface,
        &members(inputs, &parameter),
        &members(outputs, &output),
        &members(weights, &parameter),
    );
    declarations += &declared;
    read_weights += &packs;
    let (on, chosen) = if interface.has_isas() { ("_on", "isa, ") } else { ("", "") };
    let states: Vec<_> =
        interface.states.iter().map(|s| (&inputs[s.input], &outputs[s.output])).collect();
    let of_states = |line: &dyn Fn(&Field, String, String) -> String| -> String {
        states
            .iter()
            .map(|(x, y)| format!("            {}\n", line(x, parameter(x), output(y))))
            .collect()
    };
    let feed = of_states(&|_, x, y| format!("    memcpy({x}, {y}, sizeof {x});"));
    let zero =
        of_states(&|x, _, _| format!("check_zero(cell.{0}, sizeof cell.{0}, __LINE__);", x.name));
    let set =
        of_states(&|x, given, _| format!("memcpy(cell.{0}, {given}, sizeof cell.{0});", x.name));
    let kept = of_states(&|x, _, y| {
        format!("check(memcmp(cell.{0}, {y}, sizeof cell.{0}) == 0, __LINE__);", x.name)
    });
    let packed = if weights.is_empty() { "" } else { ", &packed" };
    let mut step = vec!["&cell".to_owned()];
    step.extend(interface.step_inputs().map(parameter));
    step.extend(outputs.iter().map(output));
    let step = step.join(", ");
    let (choose, begin) = choice(f, isas, packed);
    format!(
        r#"
static int serve_{m}(const char *name) {{
{choose}    fflush(stdout);
{declarations}{first}    for (int flags = getchar(); flags != EOF; flags = getchar()) {{
        if (flags & TIME) {{
            uint64_t calls;
            receive(&calls, sizeof calls);
{awake}            uint64_t start = nanoseconds();
            for (uint64_t call = 0; call < calls; call++) {{
                {f}_run{on}({chosen}{arguments});
{feed}            }}
            uint64_t time = nanoseconds() - start;
            give(&time, sizeof time);
            fflush(stdout);
            continue;
        }}
        if (flags & STRUCT) {{
            static {f} cell;
{begin}{pooled}{zero}{set}            for (int step = 0; step < 3; step++) {{
                if (step == 2) {{
                    {f}_reset(&cell);
{zero}                }}
{spoil}                {f}_step({step});
{kept}{send}            }}
            fflush(stdout);
            continue;
        }}
{reset}        if (flags & SET) {{
{read_variables}        }}
        if (flags & PACK) {{
{read_weights}        }}
{read_inputs}{spoil}        {f}_run{on}({chosen}{arguments});
{send}{send_variables}        fflush(stdout);
    }}
{last}    return 0;
}}
"#
    )
}

/// The statements that report the only instruction set of a file.
fn alone_in_its_file(isa: &str) -> String {
    format!(
        "    if (name != NULL && strcmp(name, \"{isa}\") != 0) return LACKING;
    printf(\"%s\\n\", \"{isa}\");\n"
    )
}

/// The statements that choose among the instruction sets of a file and store the choice in `isa`.
fn chosen_isa(f: &str, isas: &[&str]) -> String {
    let upper = f.to_ascii_uppercase();
    let known: Vec<_> =
        isas.iter().map(|isa| format!("{upper}_ISA_{}", isa.to_ascii_uppercase())).collect();
    let (known, names) = (
        known.join(", "),
        isas.iter().map(|isa| format!("\"{isa}\"")).collect::<Vec<_>>().join(", "),
    );
    format!(
        r#"    static const {f}_isa known[] = {{{known}}};
    static const char *const names[] = {{{names}}};
    const size_t count = sizeof known / sizeof *known;
    {f}_isa isa = {f}_isa_detect();
    check({f}_isa_available(isa), __LINE__);
    for (size_t i = 0; i < count; i++) {{
        check(strcmp({f}_isa_name(known[i]), names[i]) == 0, __LINE__);
    }}
    if (name != NULL) {{
        size_t i = 0;
        while (i < count && strcmp(names[i], name) != 0) i++;
        if (i == count || !{f}_isa_available(known[i])) return LACKING;
        isa = known[i];
    }}
    printf("%s\n", {f}_isa_name(isa));
"#
    )
}
