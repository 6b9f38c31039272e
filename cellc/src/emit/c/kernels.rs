//! Bodies: for each instruction set the activations, the kernels, and the function that runs the
//! kernels in order.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::super::traversal::{Block, FileNames, TakenNames};
use super::dialect::{C, DEEPEST, counter, ending, of_each, outlined, plus};
use super::joined::Joined;
use super::shared_texts::{Defined, Definition, Pieces, RUN, SharedTexts, target};
use super::vectors::{self, VectorFunction, spaced};
use super::{CFile, api, guarded, step_blocks, weights, wrap};
use crate::arch::{Calls, Isa, PlannedIsa};
use crate::emit::Spelled;
use crate::emit::calls::{Call, Location, Uses};
use crate::emit::elements::spelling;
use crate::emit::products;
use crate::emit::signature::{Argument, Signature};
use crate::emit::text::{List, Word, listed, part, when};
use crate::kernel::{Body, BodyRef, BufferId, Element, Kernel, Role};
use crate::request::Language;

/// Further names in the text of a body.
const TAKEN: &[&str] = &[
    "inputs", "outputs", "packed", "state", "scratch", "size_t", "int32_t", "int64_t", "uint32_t",
    "tiles_of",
];

/// The bodies of all instruction sets, with macros for their types, and the texts that bodies
/// share. Adds needed declarations to `used`.
pub(super) fn bodies(
    file: &CFile<'_>,
    shares: bool,
    used: &RefCell<BTreeSet<VectorFunction>>,
) -> (String, SharedTexts) {
    let mut joined = Joined::default();
    let mut bodies: Vec<_> =
        file.bodies().map(|spelled| Texts::new(file, spelled, shares, used)).collect();
    bodies.iter().for_each(|texts| joined.extend(&texts.dialect.needs.joined));
    for texts in &mut bodies {
        texts.write_functions(&joined);
    }
    bodies.iter().for_each(|texts| joined.extend(&texts.dialect.needs.joined));
    joined.joins = bodies.iter().any(|texts| texts.dialect.joins());
    let types: Vec<_> =
        bodies.iter_mut().flat_map(|texts| texts.dialect.expressions(&joined)).collect();
    joined.share(&types);
    let once = SharedTexts::new(
        file.prefix(),
        bodies.iter().filter(|texts| texts.dialect.shares).map(Texts::pieces),
    );
    let mut out = joined.declaration(file.prefix());
    for texts in bodies {
        let isa = texts.spelled.isa;
        let text = texts.body(file, &joined, &once);
        out.push('\n');
        guarded(&mut out, file.condition(isa).as_deref(), &text);
    }
    if !file.interface.weights.is_empty() {
        packing(file, used, &mut out);
    }
    (out, once)
}

/// The texts of a body.
struct Texts<'f> {
    spelled: Spelled<'f>,
    shared: FileNames,
    body: Body,
    /// The dialect after writing kernels and functions.
    dialect: C<'f>,
    kernels: Vec<Definition>,
    functions: Vec<Definition>,
}

impl<'f> Texts<'f> {
    /// Writes the kernels and, if the body shares texts, the function that runs the kernels.
    fn new(
        file: &'f CFile<'_>,
        spelled: Spelled<'f>,
        shares: bool,
        used: &'f RefCell<BTreeSet<VectorFunction>>,
    ) -> Self {
        let mut dialect = dialect(file, &spelled, used);
        dialect.shares = shares;
        dialect.outlines &= !dialect.shares;
        dialect.rows |= dialect.shares && !file.options.machine.target.c.rows.is_empty();
        // with multiply-adds, bodies that round twice have the text of bodies that fuse
        let mut body = match dialect.shares && !dialect.fuses {
            true => products::added(spelled.body.body.clone()),
            false => spelled.body.body.clone(),
        };
        body.kernels.iter_mut().for_each(|kernel| refer_to_header(&mut kernel.doc, file.header));
        let shared = shared(file, spelled.isa, spelled.body);
        shared.all_kernels(BodyRef { body: &body, ..spelled.body }, &mut dialect);
        let mut kernels = std::mem::take(&mut dialect.pieces);
        if shares && !file.interface.pool && spelled.isa.c.flushes.is_none() {
            let mut text = String::new();
            let body = BodyRef { body: &body, ..spelled.body };
            run(file, (spelled.isa, target(file.prefix()) + " "), body, &shared, &mut text);
            kernels.push(Definition { name: RUN.to_owned(), lanes: 0, text: wrap::lines(&text) });
        }
        Self { spelled, shared, body, dialect, kernels, functions: Vec::new() }
    }

    /// Writes the functions called by kernels and by operations of the file's macros.
    fn write_functions(&mut self, joined: &Joined) {
        if self.dialect.needs.joined.has_types() {
            self.dialect.joined_types(joined);
        }
        self.shared
            .all_functions(BodyRef { body: &self.body, ..self.spelled.body }, &mut self.dialect);
        self.functions = std::mem::take(&mut self.dialect.pieces);
    }

    /// The texts for sharing with other bodies.
    fn pieces(&self) -> Pieces<'_> {
        Pieces { isa: self.spelled.isa, kernels: &self.kernels, functions: &self.functions }
    }

    /// The text of the body.
    fn body(mut self, file: &CFile<'_>, joined: &Joined, once: &SharedTexts) -> String {
        let Spelled { isa, fused_by, body } = self.spelled;
        let profile =
            if self.dialect.needs.is_fused && fused_by.is_none() { "fused" } else { "unfused" };
        let [registers, types] = match self.dialect.needs.joined.has_types() {
            true => self.dialect.joined_types(joined),
            false => Default::default(),
        };
        let fusing: Vec<_> = file.fusing(isa).map(|other| other.name).collect();
        let fused = if fusing.is_empty() {
            String::new()
        } else {
            format!(", fused for {}", fusing.join(", "))
        };
        let (name, lanes, s) = (isa.name, isa.lanes, if isa.lanes == 1 { "" } else { "s" });
        let title = match file.bodies().nth(1) {
            None => String::new(),
            Some(_) => {
                format!("/* ---- {name}: {lanes} lane{s}, {profile} multiply-add{fused} ---- */\n")
            }
        };
        let mut defined = Defined::default();
        let functions = once.functions(isa, &self.functions, &mut defined);
        let kernels = once.kernels(isa, &self.kernels, &mut defined);
        // shared activations call operations on registers, which are declared first
        let declared =
            if self.dialect.shares { [registers, functions] } else { [functions, registers] };
        let rows: String = self.dialect.needs.rows.into_values().collect();
        let mut out = [&title, &*declared.concat(), &types, &rows, &kernels].concat();
        if !self.kernels.iter().any(|piece| piece.name == RUN) {
            let linkage = format!("static {}", spaced(file.prefix(), isa));
            run(file, (isa, linkage), body, &self.shared, &mut out);
        }
        out
    }
}

/// Replaces the equations of a kernel's comment by a reference to the comment at the top of the
/// file, if that comment has all of them.
fn refer_to_header(doc: &mut Vec<String>, header: &[String]) {
    let [title, equations @ ..] = &doc[..] else { return };
    let is_there = |line: &String| header.iter().any(|other| other.trim() == line.trim());
    let name = title.strip_suffix(':').filter(|_| equations.len() > 1);
    if let Some(name) = name.filter(|_| equations.iter().all(is_there)) {
        *doc = vec![format!("{name}: the comment at the top has the equations.")];
    }
}

/// The names of a body.
fn shared(file: &CFile<'_>, isa: &'static Isa, body: BodyRef<'_>) -> FileNames {
    let taken = reserved_names(file.prefix(), isa, body);
    let taken = TakenNames {
        around: taken.iter().map(String::as_str).collect(),
        counters: Vec::new(),
        suffix: "",
    };
    FileNames::new(body, &taken, file.interface, file.packed)
}

/// Packing at run time: the kernel, and its function in the header.
fn packing(file: &CFile<'_>, used: &RefCell<BTreeSet<VectorFunction>>, out: &mut String) {
    let (isa, own) = (file.isas[0].isa, FileNames::packing(file.program));
    let body = BodyRef { program: file.program, body: &own };
    let shared = shared(file, isa, body);
    let mut dialect = C::new(file.prefix(), isa, file.program.alignment, file.extensions(), used);
    shared.all_kernels(body, &mut dialect);
    out.push_str(&dialect.text());
    let calls = pairs(file, isa, body, (&shared, "", shared.calls(body)), out);
    let len = file.packed.run_time_len;
    let zeroed = file.zeroed("packed->values", (&len.to_string(), len));
    let pairs = file.packed.run_time_pairs;
    let lists = [("calls", calls), when("packed pairs", pairs > 0)];
    out.push_str(&text(
        file,
        isa,
        "packing",
        &lists,
        &[("ZEROED", zeroed), ("PACKED_PAIRS", pairs.to_string())],
    ));
}

/// An item of the texts for kernels.
fn text(file: &CFile<'_>, isa: &Isa, name: &str, lists: &[List], own: &[Word]) -> String {
    let common = [
        ("RUN_PARAMETERS", file.params(&file.body_signature())),
        ("ATTRIBUTE ", spaced(file.prefix(), isa)),
        ("PREFIX", file.prefix().to_owned()),
        ("MEMORY_NAME", file.interface.memory().name().to_owned()),
        ("ISA", isa.name.to_owned()),
    ];
    listed(part(include_str!("text/kernels.c"), name), lists, &[own, &common].concat())
}

/// The dialect of a body.
fn dialect<'f>(
    file: &'f CFile<'_>,
    spelled: &Spelled<'_>,
    used: &'f RefCell<BTreeSet<VectorFunction>>,
) -> C<'f> {
    let isa = spelled.isa;
    let mut dialect = C::new(file.prefix(), isa, file.program.alignment, file.extensions(), used);
    dialect.fused_by = spelled.fused_by;
    dialect.outlines = isa.code.calls == Calls::Inlined
        && file.special().any(|other| other != isa && file.named(other) == isa);
    let is_fused = |planned: &PlannedIsa| planned.isa == isa && planned.fuses;
    dialect.fuses = spelled.fused_by.is_some() || file.isas.iter().any(is_fused);
    dialect.is_alone = file.bodies().count() == 1;
    dialect.rows = !file.options.machine.target.c.rows.is_empty()
        && isa == file.options.machine.target.baseline;
    dialect
}

/// Names that the program's names must not hide.
fn reserved_names(prefix: &str, isa: &'static Isa, body: BodyRef<'_>) -> Vec<String> {
    let mut names: Vec<_> = TAKEN.iter().map(|name| name.to_string()).collect();
    names.extend(body.buffers().map(|buffer| spelling(buffer.element).c.to_owned()));
    names.extend((0..DEEPEST).flat_map(|depth| [counter(depth), format!("{}_k", counter(depth))]));
    names.extend(
        VectorFunction::ALL_LANES.iter().flat_map(|&lanes| vectors::names(prefix, lanes, isa)),
    );
    for function in &body.functions {
        for lanes in VectorFunction::ALL_LANES {
            for is_alone in [false, true] {
                let full = |name: &str| format!("{prefix}_{name}_{}", ending(lanes, isa, is_alone));
                let copied = full(&function.name);
                names.extend([of_each(&copied), full(&outlined(&function.name)), copied]);
            }
        }
    }
    names
}

/// The calls of kernels, as entries of a list. Appends the functions through which a pool calls
/// concurrent kernels to `out`.
fn pairs(
    file: &CFile<'_>,
    isa: &Isa,
    body: BodyRef<'_>,
    (shared, block, groups): (&FileNames, &str, Vec<Vec<Call<'_>>>),
    out: &mut String,
) -> Vec<Vec<Word>> {
    let prefix = file.prefix();
    let mut calls = Vec::new();
    for group in groups {
        let mut pool = vec!["pool".to_owned()];
        for (kernel, name) in &group {
            let args: Vec<_> = kernel
                .params
                .iter()
                .map(|(id, _)| file.argument(body, shared, *id, block))
                .collect();
            let (full, args) = (format!("{prefix}_{name}_{}", isa.name), args.join(", "));
            if group.len() == 1 {
                calls.push(format!("{full}({args});"));
                continue;
            }
            let param = |(id, written): &(BufferId, bool)| {
                let (constant, block) = (if *written { "" } else { "const " }, shared.buffer(*id));
                let ty = spelling(block.element).c;
                vec![
                    ("CONSTANT ", constant.to_owned()),
                    ("TYPE", ty.to_owned()),
                    ("NAME", block.name.clone()),
                ]
            };
            let members: Vec<_> = kernel
                .params
                .iter()
                .map(|(id, _)| format!("args->{}", shared.buffer(*id).name))
                .collect();
            let words = [("MEMBERS", members.join(", ")), ("FULL", full.clone())];
            out.push_str(&text(
                file,
                isa,
                "half",
                &[("params", kernel.params.iter().map(param).collect())],
                &words,
            ));
            calls.push(format!("struct {full}_args {name} = {{{args}}};"));
            pool.push(format!("{full}_call, &{name}"));
        }
        if group.len() > 1 {
            calls.push(format!("{prefix}_join({});", pool.join(", ")));
        }
    }
    calls.into_iter().map(|call| vec![("CALL", call)]).collect()
}

/// Writes the function for one step, which calls the kernels in order.
fn run(
    file: &CFile<'_>,
    (isa, linkage): (&Isa, String),
    body: BodyRef<'_>,
    shared: &FileNames,
    out: &mut String,
) {
    let block = format!("{}->block", file.interface.memory().name());
    let mut calls = pairs(file, isa, body, (shared, &block, shared.calls(body)), out);
    let mut groups = shared.calls(body);
    // variables change last, so a step can be repeated until then
    let assigned = isa.c.flushes.and_then(|_| {
        let is_variable = |id| matches!(body.buffer(body.whole(id).0).role, Role::Variable(_));
        let changes = |kernel: &Kernel| {
            kernel.params.iter().any(|(id, written)| *written && is_variable(*id))
        };
        let first = body.body.kernels.iter().position(changes)?;
        assert_eq!(
            first,
            body.body.kernels.len() - 1,
            "emit: the last kernel alone changes variables"
        );
        groups.pop();
        calls.pop()
    });
    let (uses, interface) = (Uses::new(file.packed, body, &groups), file.interface);
    let table = |(id, values): &(BufferId, Vec<u32>)| {
        let Block { name, len, element, .. } = shared.buffer(*id);
        let values: Vec<_> = values.iter().map(|v| format!("{v}u")).collect();
        vec![
            ("TYPE", spelling(*element).c.to_owned()),
            ("NAME", name.clone()),
            ("LEN", len.to_string()),
            ("VALUES", values.join(", ")),
        ]
    };
    let tables = body.program.tables.iter().filter(|(id, _)| uses.buffers.contains(id));
    let (what, function) = match isa.c.flushes {
        None => ("One step: the kernels in order.", "run"),
        Some(_) => {
            ("The kernels of a step in order, but the one that changes the state.", "kernels")
        }
    };
    let mut words =
        vec![("WHAT", what.to_owned()), ("KERNELS", function.to_owned()), ("LINKAGE ", linkage)];
    let mut lists = vec![
        when("unused pool", interface.pool && !uses.pool),
        ("tables", tables.map(table).collect()),
        when("unused memory", interface.has_memory() && !uses.memory),
        when("unused inputs", !interface.inputs.is_empty() && !uses.inputs),
        ("calls", calls),
        when("alone", isa.c.flushes.is_some()),
        when("order", interface.layout.alternates && isa.c.flushes.is_none()),
        ("phases", if isa.c.flushes.is_none() { file.phases() } else { Vec::new() }),
    ];
    if file.steps_by_run() {
        return out.push_str(&api::run_alone(file, &lists));
    }
    out.push_str(&text(file, isa, "run", &lists, &words));
    if interface.layout.steps_at_once > 1 {
        let calls = shared.calls_of_steps(body);
        let texts = pairs(file, isa, body, (shared, &block, calls), &mut String::new());
        out.push_str(&step_blocks::function(file, (isa, &words[2].1), body, &texts));
    }
    if let Some(flushes) = isa.c.flushes {
        words = vec![
            ("BEGIN\n", flushes.begin.to_owned()),
            ("END\n", flushes.end.to_owned()),
            ("FLUSHED", flushes.flushed.to_owned()),
            ("RUN_NAMES", file.body_signature().names()),
            ("AGAIN", file.again().name.to_owned()),
        ];
        let pair = interface.in_place().filter(|_| !file.copies()).map(|(input, output)| {
            let (name, size) = (&input.name, file.size(input));
            let copy = file.copied(&format!("{name}_before"), &format!("inputs->{name}"), input);
            vec![
                ("COPY", copy),
                ("FIELD_SIZE", size),
                ("FIELD", name.clone()),
                ("OUTPUT", output.name.clone()),
            ]
        });
        lists = vec![
            when("more of the step", assigned.is_some() || interface.layout.alternates),
            ("assigned", assigned.into_iter().collect()),
            ("in place without a copy", pair.into_iter().collect()),
            when("order", interface.layout.alternates),
            ("phases", file.phases()),
        ];
        out.push_str(&text(file, isa, "run twice", &lists, &words));
    }
}

impl CFile<'_> {
    /// The arguments of the pure function.
    pub(super) fn signature(&self) -> Signature<'_> {
        Signature::function(self.interface, Language::C)
    }

    /// The arguments of a body.
    pub(super) fn body_signature(&self) -> Signature<'_> {
        Signature::body(self.interface, Language::C)
    }

    /// A signature as parameters.
    pub(super) fn params(&self, signature: &Signature<'_>) -> String {
        signature.spelled(|argument| {
            let name = argument.name();
            let constant = if matches!(argument, Argument::Memory(_)) { "" } else { "const " };
            format!("{constant}{}_{name} *{name}", self.prefix())
        })
    }

    /// The place of a buffer. `block`: the place of the block.
    fn argument(&self, body: BodyRef<'_>, shared: &FileNames, id: BufferId, block: &str) -> String {
        let memory = self.interface.memory().name();
        match self.location(body, id) {
            Location::Input(field) => format!("inputs->{}", field.name),
            Location::Weights(field) => format!("weights->{}", field.name),
            Location::Output(field) => format!("outputs->{}", field.name),
            Location::Variable(field) => format!("{memory}->{}", field.name),
            Location::Order => format!("&{memory}->backwards"),
            Location::Phase(name) => format!("&{memory}->{name}"),
            Location::Block(at) => plus(block, at),
            Location::Table(_) => shared.buffer(id).name.clone(),
            Location::Packed(at) => match self.program.buffer(id).element {
                Element::F32 => plus("packed->values", at),
                _ => plus("packed->pairs", at),
            },
            Location::Baked(at) => {
                let element = self.program.buffer(id).element;
                weights::address(self, element, at * 4 / element.size())
            }
            Location::Part(buffer, at) => plus(&self.argument(body, shared, buffer, block), at),
        }
    }
}
