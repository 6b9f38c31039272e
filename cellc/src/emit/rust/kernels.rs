//! The modules of kernels: one for each instruction set, and one that packs weights at run time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::dialect::{FunctionText, KernelText, MOST_CLOSURES, Rust, counter};
use super::generic::{Generic, called};
use super::lints::{self, ACTIVATIONS, is_near_a_constant};
use super::numbers::Values;
use super::types::{attribute, cfg, none_of};
use super::vectors::{self, Beginning, Declared, Form, Forms, Types, Used};
use super::{RustFile, lanes, unroll};
use crate::arch::{Arch, GENERIC, Isa};
use crate::emit::Spelled;
use crate::emit::calls::{Call, Location, MemoryParts, Uses};
use crate::emit::elements::spelling;
use crate::emit::hints;
use crate::emit::names::{Field, LEAST_TOGETHER, POOL_MEMBERS, Phase};
use crate::emit::products;
use crate::emit::signature::{Argument, Signature};
use crate::emit::text::COLUMNS;
use crate::emit::traversal::{Block, FileNames, MOST_CALLED, TakenNames};
use crate::kernel::{BodyRef, BufferId, Element, Kernel, Role};
use crate::request::Language;

/// Further names in the scope of kernels.
const MODULE: [&str; 10] =
    ["run", "part", "blob", "pairs", "state", "scratch", "left", "left_pairs", "turn", "at"];

/// Upper limit for the loops of a copy, beyond all needs.
const DEEPEST: usize = 24;

/// The most kernels of a module whose function `run` calls generic kernels directly. LLVM inlines
/// functions with one call; the limit bounds the compile time of `run`. A kernel with a loop whose
/// end is decided at run time has a function of its own: LLVM keeps values of iterations in
/// registers only if arguments are known not to overlap.
const MOST_CALLED_DIRECTLY: usize = 12;

/// The attribute of functions that are never inlined.
const APART: &str = "#[inline(never)]\n";

/// Columns in front of a statement of a function in a module.
const MARGIN: usize = 8;

/// The head of a module: documentation, the attribute with the condition under which it is
/// compiled, and the name.
struct Head {
    doc: String,
    condition: String,
    name: &'static str,
}

/// A module of kernels, still without vector types: the operations of the types depend on all
/// modules of the file.
pub(super) struct Module {
    head: Head,
    /// The attribute of the functions.
    attribute: String,
    kernels: Vec<KernelText>,
    /// The function `run` with the calls of kernels in order, and helper functions of kernels.
    text: String,
    /// Functions with a generic vector type.
    functions: Vec<FunctionText>,
    /// The needs of the module.
    vectors: Used,
    /// The needs of `run` and of helper functions.
    used_in_run: Used,
    /// True if `run` calls halves of a cell concurrently.
    joins: bool,
    isa: &'static Isa,
    fused_by: Option<&'static Isa>,
    /// The kernels that compute several steps together. In a module with such kernels, these and
    /// all kernels with several calls are never inlined: a stream has many layers of few shapes.
    /// `None`: no kernels compute several steps.
    step_kernels: Option<BTreeSet<String>>,
    /// Items after the module.
    after: String,
}

impl Module {
    /// True if some kernels flush small magnitudes to 0.
    pub(super) fn flushes(&self) -> bool {
        self.vectors.flushes()
    }

    /// The needs of the text in the module. `is_generic` is true for the kernels that several
    /// modules share.
    fn used_in_text(&self, is_generic: impl Fn(usize) -> bool) -> Used {
        let mut used = self.used_in_run.clone();
        let printed = self.kernels.iter().enumerate().filter(|(nth, _)| !is_generic(*nth));
        printed.for_each(|(_, kernel)| used.merge(&kernel.used));
        used
    }
}

/// The rest of a memory after cuts.
struct RestOfMemory<'a> {
    memory: &'a str,
    /// The variable for the rest after the next cut.
    rest: &'static str,
    /// The offset of the rest in the memory, in elements.
    at: usize,
    len: usize,
}

impl RestOfMemory<'_> {
    /// Cuts off the part `name`. The last cut leaves no rest.
    fn cut(
        &mut self,
        name: &str,
        (at, len): (usize, usize),
        is_last: bool,
        vectors: &mut Used,
    ) -> String {
        let Self { memory, rest: left, at: before, len: all } = *self;
        let (skip, rest) = (at - before, before + all - at - len);
        (self.at, self.len) = (at + len, rest);
        if (skip, rest) == (0, 0) {
            return format!("let {name} = {memory};");
        }
        self.memory = left;
        vectors.shared(if is_last { "part_of_mut" } else { "cut" });
        match is_last {
            true => format!("let {name} = part_of_mut::<{skip}, {len}, _, _>({memory});"),
            false => {
                format!("let ({name}, {left}) = cut::<{skip}, {len}, {rest}, _, _>({memory});")
            }
        }
    }
}

/// Modules, after shared traits, macros and functions. `outside` are shared items used outside the
/// modules.
pub(super) fn modules<'m>(
    modules: &'m [Module],
    arch: &Arch,
    form: Form,
    alignment: usize,
    outside: &[&'static str],
) -> String {
    let mut used = Used::default();
    outside.iter().for_each(|name| used.shared(name));
    for module in modules {
        used.merge(&module.vectors);
        used.processors([Some(module.isa), module.fused_by], arch);
    }
    let common = common(modules);
    let module_functions: Vec<_> = modules
        .iter()
        .flat_map(|module| &module.functions)
        .map(|function| &function.name[..])
        .filter(|name| !common.contains_key(name))
        .collect();
    let generic = Generic::new(modules.iter().map(|module| &module.kernels[..]), &module_functions);
    let mut declared: Vec<Declared<'m>> = Vec::new();
    let mut forms = Forms::default();
    let text = |(at, module): (usize, &'m Module)| {
        let Module { head, functions, vectors: own, isa, fused_by, after, .. } = module;
        let text = with_kernels(module, |nth| generic.call(at, nth));
        let text = if module.joins { text } else { with_weights_in_calls(&text) };
        let used_in_text = module.used_in_text(|nth| generic.call(at, nth).is_some());
        let Head { doc, condition, name } = head;
        let types = Types {
            used: own,
            used_in_text: &used_in_text,
            used_in_file: &used,
            isa,
            fused_by: *fused_by,
            arch,
            form,
        };
        let Beginning { text: types, types: own_types, forms: own_forms } =
            types.text(&text, condition, &declared);
        forms.merge(&own_forms);
        declared.push(Declared { module: name, condition, types: own_types });
        let (mut names, mut others) = (Vec::new(), String::new());
        for FunctionText { name, text, .. } in functions {
            match common.contains_key(name.as_str()) {
                true if used_in_text.calls(name) => names.push(name.as_str()),
                true => {}
                false => others.push_str(text),
            }
        }
        let imports = match &names[..] {
            [] => String::new(),
            names => format!("use super::activations::{{{}}};\n", names.join(", ")),
        };
        let of_types = if types.is_empty() { "" } else { lints::TYPES };
        let lints = of_types.to_owned() + &lints::kernels(&[&*text, &others].concat());
        format!("{doc}{lints}{condition} mod {name} {{\n{imports}{types}{text}{others}}}\n{after}")
    };
    let text: String = modules.iter().enumerate().map(text).collect();
    let common_names: Vec<_> = common.keys().map(|name| (*name).to_owned()).collect();
    let functions: String = common.into_values().collect();
    let of_modules = || modules.iter().flat_map(|module| &module.functions);
    let functions = activations_module(functions, of_modules().any(|f| f.has_vectors));
    let mut text = generic.module(&used, common_names.iter().map(String::as_str)) + &text;
    if !used.has_unrolled_rows() {
        // each iteration adds one row: the functions have no parameter for rows per iteration
        text = text.replace(", 1>::sums(", ">::sums(");
    }
    if used.has_sums_of_one_gate() {
        text = without_gates(&text);
    }
    if used.has_first_columns_alone() {
        text = without_columns(&text);
    }
    if used.has_float_weights() {
        text = without_type_of_weights(&text);
    }
    vectors::shared(&used, &forms, form, alignment, arch) + &functions + &text
}

/// The module of the functions that several modules call. Empty without functions. `has_vectors` is
/// true if functions compute with vectors.
fn activations_module(functions: String, has_vectors: bool) -> String {
    if functions.is_empty() {
        return functions;
    }
    let imports = if has_vectors { "use super::vectors::Vector;\n" } else { "" };
    let lint = if is_near_a_constant(&functions) { ACTIVATIONS } else { "" };
    format!("{lint} mod activations {{\n{imports}{functions}}}\n")
}

/// The function `run` of a module and the other functions with calls, then the kernels. `generic`
/// returns the path of a kernel that is a function with generic vector types.
fn with_kernels(module: &Module, generic: impl Fn(usize) -> Option<String>) -> String {
    let Module { attribute, kernels, text, step_kernels, joins, .. } = module;
    let mut text = text.clone();
    let calls_direct = kernels.len() == 1 || kernels.len() <= MOST_CALLED_DIRECTLY && !joins;
    for (nth, kernel) in kernels.iter().enumerate() {
        let KernelText { name, doc, params, body, has_open_loop, .. } = kernel;
        let calls = called(&text, name);
        let is_apart = step_kernels.as_ref().is_some_and(|of| of.contains(name) || calls.len() > 1);
        let shared = if is_apart { APART } else { "" };
        let list: String = params.iter().map(|(name, ty)| format!("{name}: {ty},")).collect();
        let _ = match generic(nth) {
            Some(call) if calls_direct && !has_open_loop && calls.len() == 1 => {
                text.replace_range(calls[0]..calls[0] + name.len(), &call);
                Ok(())
            }
            Some(call) => {
                let names: Vec<_> = params.iter().map(|(name, _)| &name[..]).collect();
                let names = names.join(", ");
                writeln!(text, "{shared}{attribute} fn {name}({list}) {{ {call}({names}); }}")
            }
            None => writeln!(text, "{doc}{shared}{attribute} fn {name}({list}) {{\n{body}}}"),
        };
    }
    text
}

/// A text with loads of columns that have no parameter for the type of weights.
fn without_type_of_weights(text: &str) -> String {
    const LOAD: &str = ".load::<";
    let shorter = |load: &str| match load.split_once('(') {
        Some((types, rest)) => format!("{LOAD}{}({rest}", types.replacen(", _, _>", ", _>", 1)),
        None => format!("{LOAD}{load}"),
    };
    let mut pieces = text.split(LOAD);
    let first = pieces.next().unwrap_or_default().to_owned();
    first + &pieces.map(shorter).collect::<String>()
}

/// A text of a module in which the calls of kernels name the weights that a function reads once, if
/// a line holds the call. For modules without closures, which capture variables.
fn with_weights_in_calls(text: &str) -> String {
    text.split_inclusive("\n}\n").map(with_weights_in_calls_of).collect()
}

/// As [`with_weights_in_calls`], for the text of one function.
fn with_weights_in_calls_of(function: &str) -> String {
    const DECLARED: &str = " = &super::";
    let mut text = function.to_owned();
    let names = function.match_indices(DECLARED).filter_map(|(at, _)| {
        let name = function[..at].rsplit_once("let ")?.1;
        let value = function[at + " = ".len()..].split_once(';')?.0;
        let declaration = format!("let {name} = {value};");
        (!name.contains(' ')).then_some((name, value, declaration))
    });
    for (name, value, declaration) in names {
        let is_word = |at: &usize| {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            !text[..*at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
        };
        let places: Vec<_> = text.match_indices(name).map(|(at, _)| at).filter(is_word).collect();
        let [_, used] = places[..] else { continue };
        let start = text[..used].rfind([';', '\n', '{']).map_or(0, |at| at + 1);
        let end = text[start..].find(';').map_or(text.len(), |len| start + len + 1);
        let call = text[start..end].replace(' ', "").replace(",)", ")").replace(",>", ">");
        let columns = MARGIN + call.len() + call.matches(',').count();
        if columns + value.len() - name.len() <= COLUMNS {
            text.replace_range(used..used + name.len(), value);
            text = text.replacen(&declaration, "", 1);
        }
    }
    text
}

/// A text whose places of rows have neither a number of gates nor a distance between gates.
fn without_gates(text: &str) -> String {
    let mut pieces = text.split("Rows::<");
    let first = pieces.next().unwrap_or_default().to_owned();
    let of_one_gate = |piece: &str| {
        let (places, rest) = piece.split_once('>').expect("emit: places of rows");
        let places: Vec<_> = places.split(", ").collect();
        let [_, first, step, _, at_once @ ..] = &places[..] else {
            unreachable!("emit: places of rows have gates");
        };
        let places: Vec<_> = [first, step].into_iter().chain(at_once).copied().collect();
        format!("Rows::<{}>{rest}", places.join(", "))
    };
    first + &pieces.map(of_one_gate).collect::<String>()
}

/// A text whose sums are those of the first columns of a panel, without the type for columns.
fn without_columns(text: &str) -> String {
    let mut pieces = text.split("::sums(Columns::<");
    let first = pieces.next().unwrap_or_default().to_owned();
    let of_vector = |piece: &str| {
        let (columns, rest) = piece.split_once(">::first(), ").expect("emit: the first columns");
        let (vector, _) = columns.rsplit_once(", ").expect("emit: columns of a vector");
        format!("::sums::<{vector}, _, _>({rest}")
    };
    first + &pieces.map(of_vector).collect::<String>()
}

/// Functions with equal text in all their modules, by name.
fn common(modules: &[Module]) -> BTreeMap<&str, String> {
    let mut texts: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for FunctionText { name, text, .. } in modules.iter().flat_map(|module| &module.functions) {
        let known = texts.entry(name).or_insert(Some(text));
        if *known != Some(text) {
            *known = None;
        }
    }
    let public = |text: &str| text.replacen("fn ", "pub(super) fn ", 1);
    texts.into_iter().filter_map(|(name, text)| Some((name, text.map(public)?))).collect()
}

/// True if the text of a body has fused multiply-adds.
fn has_fused_products(isa: &Isa, fused_by: Option<&Isa>) -> bool {
    !isa.rust.mul_add.is_empty() || fused_by.is_some()
}

impl RustFile<'_> {
    /// The module of an instruction set.
    pub(super) fn body_module(&self, spelled: &Spelled<'_>) -> Module {
        let Spelled { isa, fused_by, body } = *spelled;
        let mut unrolled = unroll::unrolled(body.body, isa.lanes);
        if !has_fused_products(isa, fused_by) {
            unrolled = products::added(unrolled);
        }
        let body = BodyRef { program: body.program, body: &unrolled };
        let conditions: Vec<_> = self.bodies_instead().map(|condition| condition.rust).collect();
        let cfg = match isa.condition() {
            None if !conditions.is_empty() => none_of(&conditions),
            Some(condition) if condition.rust == self.options.machine.target.rust.held => {
                String::new()
            }
            _ => cfg(isa),
        };
        let sharing: Vec<_> = self.sharing(isa).map(|isa| isa.name).collect();
        let head = Head {
            doc: match sharing.len() {
                1 => String::new(),
                _ => format!("/// The body of {}.\n", sharing.join(" and ")),
            },
            condition: cfg,
            name: self.module_of(isa),
        };
        self.module(head, (isa, fused_by), body, &|shared, vectors| {
            self.run(body, shared, &attribute(self, isa, fused_by), vectors)
        })
    }

    /// The module that packs weights at run time.
    pub(super) fn pack_module(&self) -> Module {
        let packing = FileNames::packing(self.program);
        let body = BodyRef { program: self.program, body: &packing };
        // GENERIC has no condition and no features: any function may call the module
        let head = Head { doc: String::new(), condition: String::new(), name: "pack" };
        self.module(head, (&GENERIC, None), body, &|shared, vectors| {
            self.packing(body, shared, vectors)
        })
    }

    /// A module of kernels. The function with the calls comes first.
    fn module(
        &self,
        head: Head,
        (isa, fused_by): (&'static Isa, Option<&'static Isa>),
        body: BodyRef<'_>,
        run: &dyn Fn(&FileNames, &mut Used) -> String,
    ) -> Module {
        let pool = POOL_MEMBERS.into_iter().filter(|_| self.interface.pool);
        let around = lanes::names().chain(vectors::names()).chain(MODULE).chain(pool).collect();
        let taken =
            TakenNames { around, counters: (0..DEEPEST).map(counter).collect(), suffix: "" };
        let shared = FileNames::new(body, &taken, self.interface, self.packed);
        let calls: usize = shared.written(body.body).map(|(kernel, _)| kernel.calls()).sum();
        let long = body.functions.iter().zip(&shared.functions);
        let long = long.filter(|(function, _)| {
            function.operations() > hints::INLINED || calls > MOST_CLOSURES
        });
        let long: BTreeSet<_> = long.map(|(_, name)| name.clone()).collect();
        let dialect = |values| Rust {
            values,
            kernels: Vec::new(),
            used_around: Used::default(),
            out: String::new(),
            around: String::new(),
            functions: Vec::new(),
            attribute: attribute(self, isa, fused_by),
            vectors: Used::default(),
            dots: isa.dots,
            widest: isa.lanes,
            long: long.clone(),
        };
        let spelled = |values| {
            let mut dialect = dialect(values);
            shared.all_kernels(body, &mut dialect);
            shared.all_functions(body, &mut dialect);
            dialect
        };
        let of_numbers = (self.is_of_numbers() && isa.lanes == 1).then(|| spelled(Values::Numbers));
        let of_numbers = of_numbers.filter(|dialect| dialect.values == Values::Numbers);
        let dialect = of_numbers.unwrap_or_else(|| spelled(Values::Vectors));
        let Rust { mut vectors, functions, kernels, attribute, out, .. } = dialect;
        let mut used_in_run = Used::default();
        let mut text = run(&shared, &mut used_in_run) + &out;
        kernels.iter().for_each(|kernel| vectors.merge(&kernel.used));
        vectors.merge(&used_in_run);
        lanes::write(&mut text, vectors.own_functions(), isa, &attribute);
        let calls_of_steps = shared.calls_of_steps(body);
        let joins = shared.calls(body).iter().chain(&calls_of_steps).any(|group| group.len() > 1);
        let of_steps = calls_of_steps.into_iter().flatten();
        let of_steps = of_steps.map(|(_, name)| name.to_owned());
        let step_kernels = body.step_block.is_some().then(|| of_steps.collect());
        Module {
            head,
            attribute,
            kernels,
            text,
            functions,
            vectors,
            used_in_run,
            joins,
            isa,
            fused_by,
            step_kernels,
            after: String::new(),
        }
    }

    /// The function with the call of the packing kernel.
    fn packing(&self, body: BodyRef<'_>, shared: &FileNames, vectors: &mut Used) -> String {
        let (len, pairs) = (self.packed.run_time_len, self.packed.run_time_pairs);
        let pairs =
            if pairs > 0 { format!(", pairs: &mut [[u8; 2]; {pairs}]") } else { String::new() };
        let mut out = format!(
            "pub(super) fn run(weights: &super::Weights<'_>, packed: &mut [f32; {len}]{pairs}) {{"
        );
        let mut memories = [
            RestOfMemory { memory: "packed", rest: "left", at: 0, len },
            RestOfMemory {
                memory: "pairs",
                rest: "left_pairs",
                at: 0,
                len: self.packed.run_time_pairs,
            },
        ];
        for (id, _) in &body.kernels[0].params {
            let Block { name, len, element, .. } = shared.buffer(*id);
            let line = match self.location(body, *id) {
                Location::Weights(field) => {
                    let mut value = format!("weights.{}", field.name);
                    for (nth, inner) in field.shape.iter().enumerate().skip(1) {
                        let outer: usize = field.shape[..nth].iter().product();
                        vectors.shared("flattened");
                        value =
                            format!("flattened::<_, {inner}, {outer}, {}>({value})", inner * outer);
                    }
                    format!("let {name} = {value};")
                }
                Location::Packed(at) => {
                    let memory_left = &mut memories[usize::from(*element != Element::F32)];
                    let is_last = at + len == memory_left.at + memory_left.len;
                    memory_left.cut(name, (at, *len), is_last, vectors)
                }
                Location::Baked(at) => format!("let {name} = {};", self.part(*id, at, vectors)),
                _ => unreachable!("emit: weights and constants are packed"),
            };
            let _ = writeln!(out, "{line}");
        }
        let (kernel, (name, _)) = (&body.kernels[0], &shared.kernels[0]);
        out + &format!("{name}({});", self.arguments(body, shared, kernel, false)) + "}\n"
    }

    /// An expression for one buffer of the baked block.
    fn part(&self, id: BufferId, at: usize, vectors: &mut Used) -> String {
        let buffer = self.program.buffer(id);
        let len = self.packed.bytes.len() / 4;
        match buffer.element {
            Element::F32 if self.has_decimal_weights() && (at, buffer.len) == (0, len) => {
                "&super::WEIGHTS".to_owned()
            }
            Element::F32 if self.has_decimal_weights() => {
                vectors.shared("part_of");
                format!("part_of::<{at}, {}, _, _>(&super::WEIGHTS)", buffer.len)
            }
            _ if buffer.len == 0 => "&[]".to_owned(),
            _ => format!("&super::{}.{}.0", self.weights(), self.stored_at(at)),
        }
    }

    /// The function of a module with the calls of kernels in order. Many calls are split over
    /// several functions, as compile times of long functions grow faster than their length.
    fn run(
        &self,
        body: BodyRef<'_>,
        shared: &FileNames,
        attribute: &str,
        vectors: &mut Used,
    ) -> String {
        let calls = shared.calls(body);
        let block = format!("&mut {}.block", self.interface.memory().name());
        let signature = self.signature(body, shared, &calls, true);
        let mut out = format!("/// One step.\n{attribute} pub(super) fn run({}) {{", signature.0);
        let mut parts = String::new();
        if shared.runs.is_empty() {
            self.calls(&mut out, body, shared, &calls, vectors, &block);
        }
        for (name, calls) in shared.runs.iter().zip(calls.chunks(MOST_CALLED)) {
            let (params, args) = self.signature(body, shared, calls, false);
            let _ = writeln!(out, "{name}({args});");
            let _ = write!(parts, "/// Part of a step.\n{attribute} fn {name}({params}) {{");
            self.calls(&mut parts, body, shared, calls, vectors, &block);
            parts.push_str("}\n");
        }
        let memory = self.interface.memory().name();
        if self.interface.layout.steps_at_once > 1 {
            parts += &self.several(body, shared, attribute, vectors);
        }
        let mut order = match self.interface.layout.alternates {
            true => format!("{memory}.backwards ^= 1;\n"),
            false => String::new(),
        };
        order.extend(self.interface.layout.phases.iter().map(|phase| self.counted_on(phase)));
        format!("{out}{order}}}\n{parts}")
    }

    /// The statement that counts one more step.
    fn counted_on(&self, Phase { name, steps }: &Phase) -> String {
        let count = format!("{}.{name}", self.interface.memory().name());
        let last = steps - 1;
        format!("{count} = if {count} < {last} {{ {count}.wrapping_add(1) }} else {{ 0 }};\n")
    }

    /// The function of a module for several steps, by the kernels that compute them together.
    fn several(
        &self,
        body: BodyRef<'_>,
        shared: &FileNames,
        attribute: &str,
        vectors: &mut Used,
    ) -> String {
        let memory = self.interface.memory();
        let (name, calls) = (memory.name(), shared.calls_of_steps(body));
        let (x, y) = (&self.interface.inputs[0], &self.interface.outputs[0]);
        let array = |field: &Field| format!("[{}; {}]", spelling(field.element).rust, field.len());
        let loads = self.interface.takes_weights();
        let weights = match loads {
            true => format!(", blob: &[f32; {}]", self.packed.run_time_len),
            false => String::new(),
        };
        let memory_parameter = format!("{name}: &mut super::{}", memory.type_name());
        let state = format!("{memory_parameter}{weights}");
        let arguments = if loads { format!("{name}, blob") } else { name.to_owned() };
        let step_block = body.step_block.as_ref().expect("lower: kernels of several steps");
        let part = |id: BufferId| {
            let at = body.block_place(id).expect("verify: input and output are in the block");
            format!("::<{at}, {}, _, _>", body.buffer(id).len)
        };
        vectors.shared("part_of");
        vectors.shared("part_of_mut");
        let mut out = format!(
            "/// Several steps: few of them one by one, else all by each kernel.\n{attribute} \
             pub(super) fn several({state}, x: &[{}], y: &mut [{}]) {{
            if x.len() < {LEAST_TOGETHER} {{
                for (x, y) in x.iter().zip(y) {{ run({arguments}, x, y); }}
                return;
            }}
            let input = part_of_mut{}(&mut {name}.block);
            input.fill(0.0);
            for (to, from) in input.as_chunks_mut::<{}>().0.iter_mut().zip(x) {{ *to = *from; }}\n",
            array(x),
            array(y),
            part(step_block.input),
            x.len()
        );
        let (mut parts, block) = (String::new(), format!("&mut {name}.block"));
        if shared.runs_of_steps.is_empty() {
            self.calls(&mut out, body, shared, &calls, vectors, &block);
        }
        for (part, calls) in shared.runs_of_steps.iter().zip(calls.chunks(MOST_CALLED)) {
            let reads = loads && Uses::new(self.packed, body, calls).weights;
            let (arguments, state) =
                if reads { (&*arguments, &state) } else { (name, &memory_parameter) };
            let _ = writeln!(out, "{part}({arguments});");
            let _ = write!(parts, "/// Part of several steps.\n{attribute} fn {part}({state}) {{");
            self.calls(&mut parts, body, shared, calls, vectors, &block);
            parts.push_str("}\n");
        }
        let _ = write!(
            out,
            "let output = part_of{}(&{name}.block);
            for (to, from) in y.iter_mut().zip(output.as_chunks::<{}>().0) {{ *to = *from; }}\n",
            part(step_block.output),
            y.len()
        );
        for Phase { name: count, steps } in &self.interface.layout.phases {
            let _ = writeln!(
                out,
                "{name}.{count} = {name}.{count}.wrapping_add(x.len() as u32) % {steps};"
            );
        }
        out + "}\n" + &parts
    }

    /// The parameters of a function with calls of kernels, and arguments of equal names: all
    /// parameters of the module, or those needed by the calls.
    fn signature(
        &self,
        body: BodyRef<'_>,
        shared: &FileNames,
        calls: &[Vec<Call<'_>>],
        all: bool,
    ) -> (String, String) {
        let uses = Uses::new(self.packed, body, calls);
        let (mut params, mut args) = (String::new(), String::new());
        let mut add = |is_used: bool, name: &str, ty: String| {
            if is_used || all {
                let unused = if is_used { "" } else { "_" };
                let _ = write!(params, "{unused}{name}: {ty},");
                let _ = write!(args, "{name},");
            }
        };
        for argument in Signature::body(self.interface, Language::Rust).0 {
            let (tensors, mutable, role) = match argument {
                Argument::Pool => {
                    add(uses.pool, "pool", "&mut dyn super::Join".to_owned());
                    continue;
                }
                Argument::Memory(memory) => {
                    let ty = format!("&mut super::{}", memory.type_name());
                    add(uses.memory, memory.name(), ty);
                    continue;
                }
                Argument::Packed => {
                    add(
                        uses.weights || all,
                        "blob",
                        format!("&[f32; {}]", self.packed.run_time_len),
                    );
                    if self.packed.run_time_pairs > 0 {
                        add(
                            uses.weights || all,
                            "pairs",
                            format!("&[[u8; 2]; {}]", self.packed.run_time_pairs),
                        );
                    }
                    continue;
                }
                Argument::Inputs(tensors) => (tensors, "", Role::Parameter as fn(usize) -> Role),
                Argument::Outputs(tensors) => (tensors, "mut ", Role::Result as fn(usize) -> Role),
            };
            for field in tensors.fields {
                let id = self.program.find(role(field.index)).expect("every field has a buffer");
                let ty = format!("&{mutable}[{}; {}]", spelling(field.element).rust, field.len());
                add(uses.buffers.contains(&id), &shared.buffer(id).name, ty);
            }
        }
        (params, args)
    }

    /// Declares the buffers of kernels that are no parameters, then calls the kernels.
    fn calls(
        &self,
        out: &mut String,
        body: BodyRef<'_>,
        shared: &FileNames,
        calls: &[Vec<Call<'_>>],
        vectors: &mut Used,
        block: &str,
    ) {
        for id in Uses::new(self.packed, body, calls).buffers {
            let Block { name, len, .. } = shared.buffer(id);
            let _ = match (body.buffer(id).role, self.location(body, id)) {
                (_, Location::Table(values)) => {
                    let values: Vec<_> = values.iter().map(u32::to_string).collect();
                    let ty = spelling(body.buffer(id).element).rust;
                    write!(out, "let {name}: &[{ty}; {len}] = &[{}];", values.join(", "))
                }
                (Role::Weights, _)
                    if self.packed.run_time.len() == 1 && *len == self.packed.run_time_len =>
                {
                    write!(out, "let {name} = blob;")
                }
                (_, Location::Packed(at)) => {
                    let blob =
                        if body.buffer(id).element == Element::F32 { "blob" } else { "pairs" };
                    vectors.shared("part_of");
                    write!(out, "let {name} = part_of::<{at}, {len}, _, _>({blob});")
                }
                (_, Location::Baked(at)) => {
                    write!(out, "let {name} = {};", self.part(id, at, vectors))
                }
                _ => Ok(()),
            };
        }
        for group in calls {
            let named = group.len() > 1;
            out.push_str(if named { "{\n" } else { "" });
            self.cut(out, body, (shared, block), group, vectors);
            let call = |(kernel, name): &Call<'_>| {
                format!("{name}({})", self.arguments(body, shared, kernel, named))
            };
            let texts: Vec<_> = group.iter().map(call).collect();
            let _ = match named {
                false => writeln!(out, "{};", texts.concat()),
                true => writeln!(out, "pool.join(&mut || {});", texts.join(",&mut || ")),
            };
            out.push_str(if named { "}\n" } else { "" });
        }
    }

    /// Writes the statements that divide memory among the kernels of a group.
    fn cut(
        &self,
        out: &mut String,
        body: BodyRef<'_>,
        (shared, block): (&FileNames, &str),
        group: &[Call<'_>],
        vectors: &mut Used,
    ) {
        let cuts = self.cuts(body, group, shared);
        for MemoryParts { whole: whole_buffer, parts } in &cuts.cuts {
            let (memory, len) = match whole_buffer {
                None => (block.to_owned(), self.interface.block_len),
                Some(whole) => {
                    let is_field = matches!(self.location(body, *whole), Location::Variable(_));
                    let memory = self.memory(body, shared, *whole);
                    (
                        if is_field { format!("&mut {memory}") } else { memory },
                        shared.buffer(*whole).len,
                    )
                }
            };
            let mut memory_left = RestOfMemory { memory: &memory, rest: "left", at: 0, len };
            for (nth, (id, skip)) in parts.iter().enumerate() {
                let Block { name, len, .. } = shared.buffer(*id);
                let part = (memory_left.at + skip, *len);
                let _ = writeln!(
                    out,
                    "{}",
                    memory_left.cut(name, part, nth + 1 == parts.len(), vectors)
                );
            }
        }
        // closures of older editions would capture the whole state: they borrow variables instead
        for (id, is_cut) in cuts.shared.into_iter().filter(|_| group.len() > 1) {
            let name = &shared.buffer(id).name;
            let from = if is_cut { format!("*{name}") } else { self.memory(body, shared, id) };
            let _ = writeln!(out, "let {name} = &{from};");
        }
    }

    /// The expression for a buffer that is not a part of another.
    fn memory(&self, body: BodyRef<'_>, shared: &FileNames, id: BufferId) -> String {
        let memory = self.interface.memory().name();
        match self.location(body, id) {
            Location::Variable(field) => format!("{memory}.{}", field.name),
            Location::Order => format!("[{memory}.backwards]"),
            Location::Phase(name) => format!("[{memory}.{name}]"),
            _ => shared.buffer(id).name.clone(),
        }
    }

    /// The arguments of a kernel. `named`: true if every argument is a variable, for calls in
    /// closures.
    fn arguments(
        &self,
        body: BodyRef<'_>,
        shared: &FileNames,
        kernel: &Kernel,
        named: bool,
    ) -> String {
        let argument = |(id, written): &(BufferId, bool)| match body.buffer(*id).role {
            Role::Variable(_) | Role::Backwards | Role::Phase(_) if !named => {
                let mutable = if *written { "mut " } else { "" };
                format!("&{mutable}{},", self.memory(body, shared, *id))
            }
            _ => format!("{},", shared.buffer(*id).name),
        };
        kernel.params.iter().map(argument).collect()
    }
}
