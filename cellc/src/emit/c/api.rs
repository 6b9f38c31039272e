//! What a user of the generated C sees: the header, and the functions that it declares.

use std::fmt::Write;

use super::vectors::is_small;
use super::{CFile, block_comment, guarded, interface as common, pool, wrap};
use crate::arch::Isa;
use crate::emit::names::{Field, c_type};
use crate::emit::signature::{Argument, StepTensor};
use crate::emit::surface::{Member, Memory, Statement};
use crate::emit::text::{Word, filled, part};
use crate::kernel::Element;
use crate::options::Language;

const HEADER: &str = include_str!("text/header.h");
const SOURCE: &str = include_str!("text/source.c");

impl CFile<'_> {
    /// The macro for the number of elements of a field.
    pub(super) fn size(&self, field: &Field) -> String {
        format!("{}_{}_SIZE", self.upper(), field.name.to_ascii_uppercase())
    }

    /// The enumerator of an instruction set.
    fn enumerator(&self, isa: &Isa) -> String {
        format!("{}_ISA_{}", self.upper(), isa.name.to_ascii_uppercase())
    }

    /// The enumerator of what every machine has that the file is compiled for.
    fn baseline(&self) -> String {
        match self.instead().next() {
            None => self.enumerator(self.isas[0].0),
            Some(_) => format!("{}_BASELINE", self.upper()),
        }
    }

    /// Writes lines for what every such machine has: the baseline, or what the compiler knows to be there in its place.
    fn by_baseline(&self, out: &mut String, lines: &dyn Fn(&'static Isa) -> String) {
        let mut word = "#if";
        for (isa, condition) in self.instead() {
            let _ = write!(out, "{word} {}\n{}", condition.c, lines(isa));
            word = "#elif";
        }
        let lines = lines(self.isas[0].0);
        match word {
            "#if" => out.push_str(&lines),
            _ => {
                let _ = write!(out, "#else\n{lines}#endif\n");
            }
        }
    }

    /// The parameters of `step`, after `self`. The two that may be one array are not restricted.
    fn step_params(&self, restrict: &str) -> String {
        let pair = self.interface.in_place();
        let restrict = |field: &Field| match pair {
            Some((input, output)) if field == input || field == output => "",
            _ => restrict,
        };
        let param = |StepTensor { field, written, .. }: StepTensor<'_>| {
            let constant = if written { "" } else { "const " };
            format!(", {constant}{} *{}{}", c_type(field.element), restrict(field), field.name)
        };
        self.interface.step_tensors().map(param).collect()
    }

    /// What `step` says of the arguments that may be one array.
    fn in_place(&self) -> Option<String> {
        let (input, output) = self.interface.in_place()?;
        let copies = if self.copies() { "the input is copied first" } else { "nothing is copied" };
        Some(format!("In place: {} and {} may be the same pointer; {copies} then.", input.name, output.name))
    }

    /// What a function of steps says.
    fn step_comment(&self, first: &str, others: Vec<String>) -> String {
        let comment: Vec<_> = [first.to_owned()].into_iter().chain(others).chain(self.in_place()).collect();
        let mut out = String::new();
        block_comment(&mut out, "", &comment);
        out
    }

    fn step_head(&self, restrict: &str, end: &str) -> String {
        let prefix = self.prefix();
        let head = format!("void {prefix}_step({prefix} *{restrict}self{}){end}", self.step_params(restrict));
        wrap::lines(0, &head)
    }

    fn steps_head(&self, restrict: &str, end: &str) -> String {
        let prefix = self.prefix();
        let params = self.step_params(restrict);
        wrap::lines(0, &format!("void {prefix}_steps({prefix} *{restrict}self, size_t steps{params}){end}"))
    }

    /// What differs in all items.
    fn words(&self) -> Vec<Word> {
        let (parameter, argument) = match self.is_baked() {
            true => (String::new(), ""),
            false => (format!(", const {}_packed *packed", self.prefix()), ", packed"),
        };
        let (alignment, upper) = (self.program.alignment, self.upper());
        let (defined, undefined, member) = match alignment {
            ..=4 => (String::new(), String::new(), String::new()),
            _ => (
                format!(
                    "#ifdef __cplusplus\n#define {upper}_ALIGNED alignas({alignment})\n#else\n#define {upper}_ALIGNED _Alignas({alignment})\n#endif\n\n"
                ),
                format!("#undef {upper}_ALIGNED\n\n"),
                format!("{upper}_ALIGNED "),
            ),
        };
        let known = match self.extensions() {
            true => {
                "#if defined(__GNUC__) || defined(_MSC_VER)\n#define UPPER_RESTRICT __restrict\n#elif !defined(__cplusplus)\n"
            }
            false => "#ifndef __cplusplus\n",
        };
        let restrict = format!("{known}#define UPPER_RESTRICT restrict\n#else\n#define UPPER_RESTRICT\n#endif\n");
        vec![
            ("ALIGNED_DEFINED\n", defined),
            ("ALIGNED_UNDEFINED\n", undefined),
            ("MEMBER_ALIGNED", member),
            ("RESTRICT_DEFINED\n", restrict.replace("UPPER", &upper)),
            ("PREFIX", self.prefix().to_owned()),
            ("UPPER", self.upper()),
            (" PACKED_PARAMETER", parameter),
            (" PACKED_ARGUMENT", argument.to_owned()),
            ("RUN_PARAMETERS", self.run_params()),
            ("BASELINE", self.baseline()),
            ("FALLBACK", self.enumerator(self.isas[0].0)),
        ]
    }

    /// An item of a file with its own words; those that stand for lines are lines.
    fn item(&self, text: &'static str, name: &str, own: &[Word]) -> String {
        let words = self.words();
        let words: Vec<_> = own.iter().chain(&words).map(|(word, value)| (*word, value.as_str())).collect();
        filled(part(text, name), &words)
    }
}

/// Writes the header.
pub(super) fn header(out: &mut String, file: &CFile<'_>) {
    let mut summary = file.summary.to_vec();
    summary.push(format!("Generated by cellc {}. The source file says from what.", env!("CARGO_PKG_VERSION")));
    summary.extend(file.estimate.iter().cloned());
    block_comment(out, "", &summary);
    for name in file.items(Language::C) {
        out.push_str(&match name {
            "pool" => pool::header(file),
            _ => file.item(HEADER, name, &declared(file, name)),
        });
    }
    out.push_str(&common::header(file));
    out.push_str(&file.item(HEADER, "end", &[]));
}

/// What differs in an item of the header.
fn declared(file: &CFile<'_>, name: &str) -> Vec<Word> {
    let (prefix, interface) = (file.prefix(), file.interface);
    let restrict = format!("{}_RESTRICT ", file.upper());
    match name {
        "isa" => {
            vec![("INCLUDES;\n", includes(file)), ("SIZES;\n", sizes(file)), ("    ENUMERATORS;\n", enumerators(file))]
        }
        "inputs" => vec![("    INPUTS;\n", members(&interface.inputs, "const "))],
        "outputs" => vec![("    OUTPUTS;\n", members(&interface.outputs, ""))],
        "packed" => vec![
            ("    WEIGHTS;\n", members(&interface.weights, "const ")),
            ("PACKED_BYTES", (file.packed.run_time_len * 4).to_string()),
            ("PACKED_LENGTH", file.packed.run_time_len.to_string()),
        ],
        "state" => {
            let bytes = (interface.block_len + interface.variables.iter().map(Field::len).sum::<usize>()) * 4;
            let padded = match file.program.alignment {
                ..=4 => String::new(),
                alignment => format!(
                    ", and padding to multiples of {alignment}. Memory from the heap has to\n * come from aligned_alloc"
                ),
            };
            vec![("STATE_BYTES", bytes.to_string()), ("PADDED", padded), ("    MEMORY;\n", memory(file))]
        }
        "function" => {
            let beside = if interface.pool {
                " Without a pool (NULL) the\n * caller computes both halves of a cell."
            } else {
                ""
            };
            vec![(" WITHOUT_POOL", beside.to_owned())]
        }
        "struct" => {
            let none =
                if interface.states.is_empty() && interface.variables.is_empty() { " (it has none)" } else { "" };
            let member = |member: Member<'_>| match member {
                Member::Packed => format!("    const {prefix}_packed *packed; /* must outlive the struct */\n"),
                Member::Pool => {
                    format!("    const {prefix}_pool *pool; /* initially NULL: the caller's thread alone */\n")
                }
                Member::State => format!("    {prefix}_state state;\n"),
                Member::Kept(state, output) => {
                    format!("    float {}[{}]; /* becomes {} */\n", state.name, file.size(state), output.name)
                }
            };
            let comment =
                file.step_comment("One step: reads the inputs, writes every output, keeps the new state.", Vec::new());
            vec![
                (" NO_STATE", none.to_owned()),
                ("    MEMBERS;\n", file.members(Language::C).into_iter().map(member).collect()),
                ("AT_FIRST", file.at_first().to_owned()),
                ("STEP_DECLARATION;\n", comment + &file.step_head(&restrict, ";")),
            ]
        }
        "steps" => {
            let each = interface.step_tensors().filter(|tensor| tensor.each_step).map(|tensor| tensor.field);
            let mut others: Vec<_> =
                each.map(|field| format!("{} holds steps * {}.", field.name, file.size(field))).collect();
            others.push(
                "An output without an axis for steps is that of the last step; without steps nothing is written."
                    .into(),
            );
            others.push(format!("The state continues from call to call. {prefix}_reset starts another sequence."));
            let comment = file.step_comment(&format!("Calls {prefix}_step for each step, in order."), others);
            vec![("STEPS_DECLARATION;\n", comment + &file.steps_head(&restrict, ";"))]
        }
        other => unreachable!("emit: {other} is no item of C"),
    }
}

fn includes(file: &CFile<'_>) -> String {
    let mut out = String::new();
    if file.interface.steps.is_some() {
        out.push_str("#include <stddef.h>\n\n");
    }
    if file.interface.pool {
        out.push_str("#include <pthread.h>\n\n");
    }
    out + &common::include(file)
}

fn sizes(file: &CFile<'_>) -> String {
    let (mut out, interface) = (String::new(), file.interface);
    for (field, kind) in fields(file) {
        let shape: Vec<_> = field.shape.iter().map(usize::to_string).collect();
        let _ =
            writeln!(out, "#define {} {} /* {kind}, shape [{}] */", file.size(field), field.len(), shape.join(", "));
    }
    if interface.block_len > 0 {
        let (len, floats) = (interface.block_len, elements(Element::F32, interface.block_len));
        let _ = writeln!(out, "#define {}_BLOCK_SIZE {len} /* {floats} of scratch memory */", file.upper());
    }
    if interface.alternates || interface.inputs.iter().chain(&interface.outputs).any(|f| f.element != Element::F32) {
        out.push_str("\n#include <stdint.h>\n");
    }
    out
}

/// The last without a comma: C++98 and -Wpedantic want none there.
fn enumerators(file: &CFile<'_>) -> String {
    let last = file.isas.len() - 1;
    let line = |(at, (isa, _)): (usize, &(&'static Isa, bool))| {
        let note = if file.condition(isa).is_none() { " /* every machine */" } else { "" };
        format!("    {}{}{note}\n", file.enumerator(isa), if at == last { "" } else { "," })
    };
    file.isas.iter().enumerate().map(line).collect()
}

/// What the state holds; its first member is aligned.
fn memory(file: &CFile<'_>) -> String {
    let upper = file.upper();
    let member = |memory| {
        match memory {
        Memory::Block => {
            format!("float block[{upper}_BLOCK_SIZE]; /* scratch memory: nothing in it outlives a step */")
        }
        Memory::Variable(field) => format!("float {}[{}];", field.name, file.size(field)),
        Memory::Order => "uint32_t backwards; /* the order in which large weights are read, 0 and 1 alternately; no result depends on it */".to_owned(),
    }
    };
    let members: Vec<_> = file.memory().into_iter().map(member).collect();
    let aligned = if file.program.alignment > 4 { format!("{upper}_ALIGNED ") } else { String::new() };
    format!("    {aligned}{}\n", members.join("\n    "))
}

/// The fields in the order of the header, and what each is.
fn fields<'a>(file: &'a CFile<'_>) -> impl Iterator<Item = (&'a Field, &'static str)> {
    let interface = file.interface;
    let inputs = interface.inputs.iter().map(|f| (f, "input"));
    let weights = interface.weights.iter().map(|f| (f, "weights"));
    let outputs = interface.outputs.iter().map(|f| (f, "output"));
    let variables = interface.variables.iter().map(|f| (f, "variable"));
    inputs.chain(weights).chain(outputs).chain(variables)
}

/// The members of a struct of tensors.
fn members(fields: &[Field], constant: &str) -> String {
    let member = |Field { name, element, shape, .. }: &Field| {
        let (ty, len) = (c_type(*element), shape.iter().product());
        format!("    {constant}{ty} *{name}; /* {len} {} */\n", elements(*element, len))
    };
    fields.iter().map(member).collect()
}

fn elements(element: Element, count: usize) -> &'static str {
    match (element, count) {
        (Element::F32 | Element::F16, 1) => "float",
        (Element::F32 | Element::F16, _) => "floats",
        (Element::Bool, _) => "of 0 or 1",
        (_, 1) => "integer",
        (_, _) => "integers",
    }
}

/// Writes the functions that the header declares.
pub(super) fn source(out: &mut String, file: &CFile<'_>) {
    out.push_str("\n/* ---- what the header declares ---- */\n");
    machine(out, file);
    let items = file.items(Language::C);
    // the function of the state stands beside those of the struct, which call it
    for name in ["isa", "function", "state", "struct", "steps"].into_iter().filter(|name| items.contains(name)) {
        if name == "function" && file.flushed_before().next().is_some() {
            out.push_str(&file.item(SOURCE, "flush", &[("IS_SMALL", is_small("from[i]", file.extensions()))]));
        }
        out.push_str(&file.item(SOURCE, name, &defined(file, name)));
    }
    out.push_str(&common::source(file));
}

/// What differs in the functions of an item.
fn defined(file: &CFile<'_>, name: &str) -> Vec<Word> {
    match name {
        "isa" => {
            let detect = |isa| {
                let name = file.enumerator(isa);
                format!("    if ({}_isa_available({name})) {{\n        return {name};\n    }}\n", file.prefix())
            };
            let asked: Vec<_> = file.asked().collect();
            let name = |(isa, _): &(&Isa, bool)| {
                format!("    case {}:\n        return \"{}\";\n", file.enumerator(isa), isa.name)
            };
            vec![
                ("    AVAILABLE;\n", available(file, &asked)),
                ("    DETECT;\n", asked.iter().copied().rev().map(detect).collect()),
                ("    NAMES;\n", file.isas.iter().map(name).collect()),
            ]
        }
        "function" => vec![
            ("    FLUSHED;\n", flush(file)),
            ("    CASES;\n", cases(file)),
            ("        OTHERWISE;\n", {
                let mut out = String::new();
                file.by_baseline(&mut out, &|isa| format!("        {}\n", call(file, isa)));
                out
            }),
        ],
        "state" => vec![("    RESET_STATE;\n", statements(file, &file.resets_state(Language::C), "state"))],
        "struct" => {
            let init = |member: &Member<'_>| match member {
                Member::Packed => "    self->packed = packed;\n",
                Member::Pool => "    self->pool = NULL;\n",
                Member::State | Member::Kept(..) => "",
            };
            // Rust's order
            let init = file.members(Language::Rust).iter().map(init).collect();
            vec![
                ("    INIT;\n", init),
                ("    RESET;\n", statements(file, &file.resets(), "self")),
                ("STEP_HEAD;\n", file.step_head("restrict ", " {")),
                ("    STEP;\n", statements(file, &file.steps(Language::C), "self")),
            ]
        }
        _ => {
            let argument = |StepTensor { field, each_step, .. }| match each_step {
                true => format!(", {} + steps_done * {}", field.name, file.size(field)),
                false => format!(", {}", field.name),
            };
            let args: String = file.interface.step_tensors().map(argument).collect();
            let call = wrap::lines(8, &format!("{}_step(self{args});", file.prefix()));
            vec![("STEPS_HEAD;\n", file.steps_head("restrict ", " {")), ("        STEP_CALL;\n", call)]
        }
    }
}

/// The functions of the processors, and what the baseline is.
fn machine(out: &mut String, file: &CFile<'_>) {
    let baseline = file.baseline();
    if file.instead().next().is_some() {
        out.push_str("\n/* What every machine has that this file is compiled for. */\n");
        file.by_baseline(out, &|isa| format!("#define {baseline} {}\n", file.enumerator(isa)));
    }
    for processor in file.processors() {
        let set = |isa: &Isa| {
            let question = isa.question().filter(|question| std::ptr::eq(question.processor, processor))?;
            let (c, enumerator) = (question.c, file.enumerator(isa));
            Some(format!("        if ({c}) {{\n            have |= 1u << {enumerator};\n        }}\n"))
        };
        let sets: String = file.asked().filter_map(set).collect();
        let condition = file.asked().find_map(|isa| {
            isa.question().filter(|question| std::ptr::eq(question.processor, processor))?;
            file.condition(isa)
        });
        let words = [
            ("PREFIX", file.prefix()),
            ("CONDITION", condition.as_deref().unwrap_or("1")),
            ("BASELINE", &baseline),
            ("SETS\n", &sets),
        ];
        out.push_str(&filled(processor.c, &words));
    }
}

/// Whether the machine has an instruction set.
fn available(file: &CFile<'_>, asked: &[&'static Isa]) -> String {
    let (mut out, mut word, prefix) = (String::new(), "#if", file.prefix());
    for same in asked.chunk_by(|a, b| a.condition() == b.condition()) {
        let condition = file.condition(same[0]).expect("emit: what is asked for stands under a condition");
        let last = file.enumerator(same[same.len() - 1]);
        let _ = write!(
            out,
            "{word} {condition}\n    return (unsigned)isa <= {last} && ({prefix}_machine() >> isa & 1u) != 0;\n"
        );
        word = "#elif";
    }
    let (otherwise, end) = if asked.is_empty() { ("", "") } else { ("#else\n", "#endif\n") };
    format!("{out}{otherwise}    return isa == {};\n{end}", file.baseline())
}

/// The call of a body.
fn call(file: &CFile<'_>, isa: &'static Isa) -> String {
    format!("{}_run_{}({});", file.prefix(), file.named(isa).name, file.signature().names())
}

/// The cases of the instruction sets that programs ask for.
fn cases(file: &CFile<'_>) -> String {
    let (mut out, asked) = (String::new(), file.asked().collect::<Vec<_>>());
    for same in asked.chunk_by(|a, b| a.condition() == b.condition()) {
        let case = |isa: &&'static Isa| {
            format!("    case {}:\n        {}\n        return;\n", file.enumerator(isa), call(file, isa))
        };
        guarded(&mut out, file.condition(same[0]).as_deref(), &same.iter().map(case).collect::<String>());
    }
    out
}

/// Flushes the inputs that are flushed before the kernels run, and takes the result for the inputs.
fn flush(file: &CFile<'_>) -> String {
    let prefix = file.prefix();
    let fields: Vec<_> = file.flushed_before().map(|field| (&field.name, file.size(field))).collect();
    if fields.is_empty() {
        return String::new();
    }
    let flushed = |(name, size): &(&String, String)| {
        format!("    {prefix}_flush(flushed_{name}, inputs->{name}, {size});\n    flushed.{name} = flushed_{name};\n")
    };
    let arrays: String = fields.iter().map(|(name, size)| format!("    float flushed_{name}[{size}];\n")).collect();
    let flushed: String = fields.iter().map(flushed).collect();
    format!("{arrays}    {prefix}_inputs flushed = *inputs;\n{flushed}    inputs = &flushed;\n")
}

/// Statements of a function that has the argument `of`, which C wants to be used.
fn statements(file: &CFile<'_>, statements: &[Statement<'_>], of: &str) -> String {
    if statements.is_empty() {
        return format!("    (void){of};\n");
    }
    let prefix = file.prefix();
    let zero = |place: &str, field: &Field| format!("    {}\n", file.zeroed(place, &file.size(field)));
    let statement = |statement: &Statement<'_>| match statement {
        Statement::Order => "    state->backwards = 0;\n".to_owned(),
        Statement::Variable(field, None) => zero(&format!("state->{}", field.name), field),
        Statement::Variable(field, Some(at)) => {
            let from = super::dialect::plus(&format!("{prefix}_weight_data.values"), *at);
            format!("    {}\n", file.copied(&format!("state->{}", field.name), &from, &file.size(field)))
        }
        Statement::State => format!("    {prefix}_state_reset(&self->state);\n"),
        Statement::Zero(state) => zero(&format!("self->{}", state.name), state),
        Statement::Copy(input, output) => {
            let (x, y, size) = (&input.name, &output.name, file.size(input));
            let copied = file.copied(&format!("{prefix}_copy"), x, &size);
            let words = [("COPIED", copied), ("INPUT_SIZE", size), ("INPUT", x.clone()), ("OUTPUT", y.clone())];
            file.item(SOURCE, "copy", &words)
        }
        Statement::Step => step(file),
        Statement::Keep(state, output) => {
            format!("    {}\n", file.copied(&format!("self->{}", state.name), &output.name, &file.size(state)))
        }
    };
    statements.iter().map(statement).collect()
}

/// The call of the pure function on what the struct holds.
fn step(file: &CFile<'_>) -> String {
    let (prefix, interface) = (file.prefix(), file.interface);
    let record = |name: &str, fields: &[Field], inputs: bool| {
        let place = |field: &Field| {
            let of = if inputs && file.is_kept(field) { "self->" } else { "" };
            format!(".{0} = {of}{0}", field.name)
        };
        let places: Vec<_> = fields.iter().map(place).collect();
        match fields.is_empty() {
            true => String::new(),
            false => format!("    const {prefix}_{name} {name} = {{{}}};\n", places.join(", ")),
        }
    };
    let args = file.signature().spelled(|argument| match argument {
        Argument::Pool | Argument::Packed => format!("self->{}", argument.name()),
        Argument::State => "&self->state".to_owned(),
        Argument::Inputs(_) | Argument::Outputs(_) => format!("&{}", argument.name()),
    });
    let (inputs, outputs) = (record("inputs", &interface.inputs, true), record("outputs", &interface.outputs, false));
    format!("{inputs}{outputs}    {prefix}_run(self->isa, {args});\n")
}
