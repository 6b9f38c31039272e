//! Rust: no_std, editions 2015 to 2024, without a bounds check that could fail.
//!
//! Vectors are arrays `[f32; LANES]` in named locals; inside a `#[target_feature]` function LLVM keeps them in
//! registers. Memory is walked by `as_chunks` and `zip`, whose lengths are constants, so nothing can panic.

mod dialect;
mod lanes;
mod lints;
mod pool;
mod runtime_impl;
mod steps;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Deref;

use super::Contents;
use super::names::{Field, Interface, POOL_MEMBERS};
use super::signature::{Argument, Signature};
use super::traversal::{Block, Call, MOST_CALLED, Shared, Taken, Uses, decimal};
use crate::arch::Isa;
use crate::kernel::{BodyRef, Buffer, BufferId, FLUSH_BELOW, Kernel, Role};
use crate::options::Language;
use dialect::{INLINED, MOST_CLOSURES, Rust, counter};
use lints::{STYLE, UNUSED, UNUSED_NEW, UNUSED_STYLE};
pub(crate) use types::{array, nested};
use types::{attribute, cfg, element, flat, parameter, zero};

/// What is wrong where a constant has no place.
const PACKED: &str = "emit: every constant that is read is packed";

/// Stands for the weights until formatting is done: prettyplease need not look at megabytes.
pub(super) const WEIGHTS: &str = "CELLC_WEIGHTS";

/// What else is declared where kernels' names stand.
const MODULE: [&str; 8] = ["run", "part", "blob", "state", "cut", "left", "turn", "at"];

/// How many loops a copy may have: more than any has.
const DEEPEST: usize = 24;

/// Takes parts of the block, or of an output, out of what is left of it.
const CUT: &str = "/// Skips `skip` elements and takes the next `N` off the front of `left`.
#[inline(always)]
fn cut<'a, const N: usize>(left: &mut &'a mut [f32], skip: usize) -> Option<&'a mut [f32; N]> {
    let (part, rest) = core::mem::take(left).get_mut(skip..)?.split_first_chunk_mut()?;
    *left = rest;
    Some(part)
}
";

/// What a Rust file is made from.
pub(super) struct RustFile<'a> {
    pub(super) contents: &'a Contents<'a>,
    /// Doc comment of the type.
    pub(super) doc: &'a [String],
}

impl<'a> Deref for RustFile<'a> {
    type Target = Contents<'a>;

    fn deref(&self) -> &Contents<'a> {
        self.contents
    }
}

impl RustFile<'_> {
    /// The file's items, not formatted, with [`WEIGHTS`] where the bytes of the weights belong.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.isa(&mut out);
        self.types(&mut out);
        self.state(&mut out);
        self.function(&mut out);
        if self.interface.pool {
            out.push_str(&pool::items(
                if self.cuts_outputs() && self.interface.block_len == 0 { CUT } else { "" },
                self.options.arch.apart,
            ));
        }
        out.push_str(&steps::items(self.interface));
        self.structure(&mut out);
        if self.options.runtime {
            out.push_str(&runtime_impl::text(self.interface, !self.is_baked()));
        }
        self.blocks(&mut out);
        for (isa, body) in self.bodies() {
            let head = format!("{} {STYLE} mod {}", self.cfg(isa), isa.name);
            let attribute = attribute(isa);
            self.module(&mut out, &head, isa, body, &|out, shared| self.run(out, body, shared, &attribute));
        }
        out
    }

    /// Under which the body of an instruction set is compiled: that of the baseline, where none takes its place.
    fn cfg(&self, isa: &Isa) -> String {
        let instead: Vec<_> = self.instead().map(|(_, condition)| condition).rev().collect();
        match isa.condition() {
            None if !instead.is_empty() => {
                let conditions: Vec<_> = instead.iter().map(|condition| condition.rust).collect();
                format!("#[cfg(not(any({})))]", conditions.join(", "))
            }
            _ => cfg(isa),
        }
    }

    fn isa(&self, out: &mut String) {
        let all = || self.isas.iter().map(|(isa, _)| *isa);
        let kind = |isa: &Isa| super::names::pascal_case(isa.name);
        // first what is asked for, the best before others, then what the compiler chooses
        let asked = || self.special().rev().filter_map(|isa| Some((isa, isa.question()?)));
        let chosen = || all().filter(|isa| isa.question().is_none());
        let _ = writeln!(
            out,
            "/// An instruction set of this machine. Only [`Isa::detect`] and [`Isa::from_name`] make one.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct Isa(Kind);
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            enum Kind {{"
        );
        for isa in all() {
            let _ = writeln!(out, "{} {},", self.cfg(isa), kind(isa));
        }
        let _ = writeln!(
            out,
            "}}
            {UNUSED}
            impl Isa {{
                /// The best instruction set of this machine. It asks the processor: call it once and keep the result.
                #[must_use]
                pub fn detect() -> Self {{"
        );
        for (isa, question) in asked() {
            let _ =
                writeln!(out, "{} {{ if {} {{ return Isa(Kind::{}); }} }}", self.cfg(isa), question.rust, kind(isa));
        }
        for isa in chosen() {
            let cfg = self.cfg(isa);
            let value = format!("Isa(Kind::{})", kind(isa));
            let _ = if cfg.is_empty() { writeln!(out, "{value}") } else { writeln!(out, "{cfg} {{ {value} }}") };
        }
        out.push_str(
            "}
                /// The instruction set of that name; `None` if there is no code for it here or the machine lacks it.
                #[must_use]
                pub fn from_name(name: &str) -> Option<Self> {
                    match name {",
        );
        for isa in chosen() {
            let _ = writeln!(out, "{} {:?} => Some(Isa(Kind::{})),", self.cfg(isa), isa.name, kind(isa));
        }
        for (isa, question) in asked() {
            let cfg = self.cfg(isa);
            let _ = writeln!(out, "{cfg} {:?} if {} => Some(Isa(Kind::{})),", isa.name, question.rust, kind(isa));
        }
        out.push_str(
            "_ => None,
                    }
                }
                /// Its name.
                #[must_use]
                pub fn name(self) -> &'static str {
                    match self.0 {",
        );
        for isa in chosen().chain(asked().map(|(isa, _)| isa)) {
            let _ = writeln!(out, "{} Kind::{} => {:?},", self.cfg(isa), kind(isa), isa.name);
        }
        out.push_str("}}}\n");
        for rust in self.processors().iter().map(|processor| processor.rust) {
            out.push_str(rust);
        }
    }

    fn types(&self, out: &mut String) {
        let interface = self.interface;
        let borrowed =
            |out: &mut String, doc: &str, name: &str, fields: &mut dyn Iterator<Item = &Field>, whole: bool| {
                let _ = writeln!(out, "/// {doc}\n{UNUSED}\n#[derive(Clone, Copy, Debug)]\npub struct {name}<'a> {{");
                for field in fields {
                    let ty = if whole { nested(field) } else { array(field) };
                    let _ = writeln!(out, "/// Shape `{:?}`.\npub {}: &'a {ty},", field.shape, field.name);
                }
                out.push_str("}\n");
            };
        let inputs = |signature: Signature<'_>| signature.inputs().and_then(|inputs| inputs.record);
        if let Some(record) = inputs(Signature::function(interface, Language::Rust)) {
            let doc = format!("The inputs of [`{}`], in the model's order.", interface.function);
            borrowed(out, &doc, record, &mut interface.inputs.iter(), false);
        }
        if let Some(record) = inputs(Signature::step(interface)).filter(|_| !interface.states.is_empty()) {
            let doc = format!("The inputs of [`{}::step`]: all but the state.", interface.type_name);
            borrowed(out, &doc, record, &mut interface.step_inputs(), false);
        }
        if interface.outputs.len() != 1 {
            let _ = writeln!(
                out,
                "/// The outputs, in the model's order.\n{UNUSED}\n#[derive(Clone, Copy, Debug)]\npub struct Outputs {{"
            );
            for field in &interface.outputs {
                let _ = writeln!(out, "/// Shape `{:?}`.\npub {}: {},", field.shape, field.name, array(field));
            }
            let _ = writeln!(
                out,
                "}}\n{UNUSED_NEW}\nimpl Outputs {{\n/// All zero.\n#[must_use]\npub const fn new() -> Self {{\nOutputs {{"
            );
            for field in &interface.outputs {
                let _ = writeln!(out, "{}: {},", field.name, zero(field));
            }
            out.push_str("}}}\n");
        }
        if !self.is_baked() {
            borrowed(
                out,
                "The weights, as the model's inputs hold them.",
                "Weights",
                &mut interface.weights.iter(),
                true,
            );
            let _ = writeln!(
                out,
                "/// The weights in the order in which the kernels read them. [`pack()`] fills it.
                {UNUSED}
                #[derive(Clone, Debug)]
                #[repr(C, align({2}))]
                pub struct Packed {{ values: [f32; {0}] }}
                {UNUSED_NEW}
                impl Packed {{
                    /// All zero. It has {1} bytes: keep it in a static, or make it once.
                    #[must_use]
                    pub const fn new() -> Self {{ Packed {{ values: [0.0; {0}] }} }}
                }}",
                self.packed.run_time_len,
                self.packed.run_time_len * 4,
                self.program.alignment
            );
            self.pack(out);
        }
    }

    /// What the pure function works on beside its arguments, if it is anything.
    fn state(&self, out: &mut String) {
        let Interface { function, variables, block_len, alternates, .. } = self.interface;
        if !self.interface.has_state() {
            return;
        }
        let _ = writeln!(
            out,
            "/// The state of [`{function}`] between steps, and its scratch memory.
            {UNUSED}
            #[derive(Clone, Debug)]
            #[repr(C, align({}))]
            pub struct State {{",
            self.program.alignment
        );
        if *block_len > 0 {
            let _ = writeln!(out, "/// Scratch memory, {} bytes.\nblock: [f32; {block_len}],", block_len * 4);
        }
        for v in variables {
            let _ = writeln!(out, "/// Shape `{:?}`.\npub {}: [f32; {}],", v.shape, v.name, v.len());
        }
        if *alternates {
            out.push_str("/// The order in which large weights are read, 0 and 1 alternately. No result depends on it.\nbackwards: u32,\n");
        }
        let zero = |out: &mut String| {
            if *alternates {
                out.push_str("backwards: 0,");
            }
            if *block_len > 0 {
                let _ = write!(out, "block: [0.0; {block_len}],");
            }
            for v in variables {
                let _ = write!(out, "{}: [0.0; {}],", v.name, v.len());
            }
        };
        let _ = writeln!(out, "}}\n{UNUSED_NEW}\nimpl State {{");
        if self.starts_at_zero() {
            out.push_str("/// All zero.\n#[must_use]\npub const fn new() -> Self { State {");
            zero(out);
            out.push_str("} }\n");
        } else {
            out.push_str(
                "/// Every variable has its initial value.\n#[must_use]\npub fn new() -> Self { let mut state = State {",
            );
            zero(out);
            out.push_str("}; state.reset(); state }\n");
        }
        out.push_str("/// Sets every variable to its initial value.\npub fn reset(&mut self) {");
        for v in variables {
            let _ = match self.initial(v) {
                None => writeln!(out, "self.{} = [0.0; {}];", v.name, v.len()),
                Some(at) => writeln!(
                    out,
                    "for (to, from) in self.{}.iter_mut().zip(const {{ part::<4, {}>({at}) }}) {{
                        *to = f32::from_le_bytes(*from);
                    }}",
                    v.name,
                    v.len()
                ),
            };
        }
        out.push_str("}\n}\n");
        if *block_len > 0 {
            out.push_str(CUT);
        }
    }

    /// Whether halves of a cell share its outputs.
    fn cuts_outputs(&self) -> bool {
        self.interface.pool && self.has_halves()
    }

    /// What packs weights at run time: the kernel in a module of its own, and the function that is called.
    fn pack(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "/// Puts weights into the order in which the kernels read them.
            {UNUSED}
            pub fn pack(weights: &Weights<'_>, packed: &mut Packed) {{ pack::run(weights, &mut packed.values); }}"
        );
        let own = Shared::packing(self.program);
        let body = BodyRef { program: self.program, body: &own };
        let baseline = self.isas[0].0;
        self.module(out, &format!("{STYLE} mod pack"), baseline, body, &|out, shared| self.packing(out, body, shared));
        let of_others = self.interface.block_len > 0 || self.cuts_outputs();
        if self.packed.run_time.len() > 1 && !of_others {
            out.push_str(CUT);
        }
    }

    /// The function of that module that calls the kernel.
    fn packing(&self, out: &mut String, body: BodyRef<'_>, shared: &Shared) {
        let len = self.packed.run_time_len;
        let _ = write!(out, "pub(super) fn run(weights: &super::Weights<'_>, packed: &mut [f32; {len}]) {{");
        let (mut names, mut places, mut end) = (Vec::new(), Vec::new(), 0);
        if self.packed.run_time.len() > 1 {
            out.push_str("let left = &mut &mut packed[..];\n");
        }
        for (id, _) in &body.kernels[0].params {
            let Block { name, len, .. } = shared.buffer(*id);
            match body.buffer(*id).role {
                Role::Parameter(i) => {
                    let field = self.interface.weights.iter().find(|f| f.index == i).expect("weights are fields");
                    match field.shape.len() {
                        0 | 1 => {
                            let _ = writeln!(out, "let {name} = weights.{};", field.name);
                        }
                        dims => {
                            let flat = ".as_flattened()".repeat(dims - 1);
                            names.push(format!("Some({name})"));
                            places.push(format!("weights.{}{flat}.first_chunk()", field.name));
                        }
                    }
                }
                Role::Weights if self.packed.run_time.len() == 1 => {
                    let _ = writeln!(out, "let {name} = packed;");
                }
                Role::Weights => {
                    let at = self.packed.run_time_at(*id).expect(PACKED);
                    names.push(format!("Some({name})"));
                    places.push(format!("super::cut::<{len}>(left, {})", at - end));
                    end = at + len;
                }
                _ => {
                    let _ = writeln!(out, "let {name} = {};", self.part(*id, "super::"));
                }
            }
        }
        let (kernel, (name, _)) = (&body.kernels[0], &shared.kernels[0]);
        let args = self.arguments(body, shared, kernel, false);
        let _ = match &names[..] {
            [] => writeln!(out, "{name}({args}); }}"),
            _ => writeln!(out, "if let {} = {} {{ {name}({args}); }} }}", tuple(&names), tuple(&places)),
        };
    }

    /// An expression for the bytes of one buffer of the baked block, as `&[[u8; B]; N]`.
    fn part(&self, id: BufferId, module: &str) -> String {
        let at = self.packed.baked_at(id).expect(PACKED);
        let Buffer { element, len, .. } = self.program.buffer(id);
        format!("const {{ {module}part::<{}, {len}>({at}) }}", element.size())
    }

    /// How a function with fields for arguments names a function of the file: an argument of that name would hide it, and hides no path.
    fn item(&self, name: &str) -> String {
        if self.interface.has_field(name) { format!("self::{name}") } else { name.to_owned() }
    }

    /// Whether an input is flushed before the kernels run.
    fn is_flushed_before(&self, field: &Field) -> bool {
        self.flushed_before().any(|flushed| flushed.index == field.index)
    }

    /// Whether any is: then the struct, whose states need it no more, has a way past that.
    fn flushes_before(&self) -> bool {
        self.flushed_before().next().is_some()
    }

    /// An input, flushed.
    fn flushed(&self, field: &Field, place: &str) -> String {
        match self.is_flushed_before(field) {
            true if flat(field) => format!("Isa::flushed({place})"),
            true => format!("{place}.map(|row| Isa::flushed(&row))"),
            false => place.to_owned(),
        }
    }

    /// The pure function: chooses the body.
    fn function(&self, out: &mut String) {
        let Interface { function, inputs, .. } = self.interface;
        let signature = Signature::function(self.interface, Language::Rust);
        let params = signature.spelled(parameter);
        let _ = writeln!(
            out,
            "/// One step, as a pure function: reads every input and writes every output.
            {UNUSED_STYLE}
            pub fn {function}(isa: Isa, {params}) {{"
        );
        if self.flushes_before() {
            let limit = decimal(FLUSH_BELOW);
            let args = signature.spelled(|argument| match argument {
                Argument::Inputs(tensors) => tensors.value(|field| match self.is_flushed_before(field) {
                    true => format!("&{}", self.flushed(field, &tensors.place(field))),
                    false => tensors.place(field),
                }),
                other => other.name().to_owned(),
            });
            let _ = writeln!(
                out,
                "isa.run({args});
                }}
                {STYLE}
                impl Isa {{
                    /// The values, with 0 for magnitudes below 2^-100.
                    fn flushed<const N: usize>(values: &[f32; N]) -> [f32; N] {{
                        let mut left = *values;
                        for v in left.iter_mut() {{ if v.abs() < {limit}f32 {{ *v = 0.0; }} }}
                        left
                    }}
                    /// One step, from states that are already flushed.
                    fn run(self, {params}) {{
                        let isa = self;"
            );
        }
        let mut names = Vec::new();
        let mut places = Vec::new();
        let args = signature.spelled(|argument| match argument {
            Argument::Packed => "&packed.values".to_owned(),
            Argument::Inputs(tensors) => {
                let rows = |field, place: String| match flat(field) {
                    true => place,
                    false => format!("{}({place})", self.item("flat")),
                };
                let args: Vec<_> = tensors.fields.iter().map(|field| rows(field, tensors.place(field))).collect();
                args.join(", ")
            }
            Argument::Outputs(tensors) => {
                let mut rows = |field: &Field, place: String| match (flat(field), tensors.record) {
                    (true, None) => place,
                    (true, Some(_)) => format!("&mut {place}"),
                    (false, _) => {
                        names.push(format!("Some({})", field.name));
                        places.push(format!("{place}.as_flattened_mut().first_chunk_mut()"));
                        field.name.clone()
                    }
                };
                let args: Vec<_> = tensors.fields.iter().map(|field| rows(field, tensors.place(field))).collect();
                args.join(", ")
            }
            other => other.name().to_owned(),
        });
        if !names.is_empty() {
            let _ = writeln!(out, "if let {} = {} {{", tuple(&names), tuple(&places));
        }
        out.push_str("match isa.0 {");
        for (isa, _) in self.isas {
            let kind = super::names::pascal_case(isa.name);
            let module = isa.name;
            let cfg = self.cfg(isa);
            let _ = match isa.rust_features {
                "" => writeln!(out, "{cfg} Kind::{kind} => {module}::run({args}),"),
                _ => writeln!(
                    out,
                    "{cfg} Kind::{kind} => {{
                        // SAFETY: an Isa is made only where the machine has its features
                        unsafe {{ {module}::run({args}) }}
                    }}"
                ),
            };
        }
        out.push_str("}\n");
        if !names.is_empty() {
            out.push_str("}\n");
        }
        out.push_str(if self.flushes_before() { "}\n}\n" } else { "}\n" });
        if inputs.iter().any(|f| !flat(f)) {
            out.push_str(
                "/// The rows as one array. The sizes match, so there is no `None`.
                fn flat<const I: usize, const N: usize, const L: usize>(rows: &[[f32; I]; N]) -> &[f32; L] {
                    rows.as_flattened().first_chunk().unwrap_or(&[0.0; L])
                }\n",
            );
        }
    }

    fn structure(&self, out: &mut String) {
        let interface = self.interface;
        let Interface { type_name, function, .. } = interface;
        let baked = self.is_baked();
        let (life, life_impl, anon) = if baked { ("", "", "") } else { ("<'w>", "<'w>", "<'w>") };
        for line in self.doc {
            let _ = writeln!(out, "/// {line}");
        }
        let _ = writeln!(
            out,
            "{UNUSED}\n#[derive(Clone, Debug)]\n{}
            pub struct {type_name}{life} {{ isa: Isa,",
            self.options.arch.rust_struct
        );
        if !baked {
            out.push_str("packed: &'w Packed,");
        }
        let has_state = interface.has_state();
        if interface.pool {
            out.push_str("pair: Pair,");
        }
        if has_state {
            out.push_str("state: State,");
        }
        let state_fields: Vec<_> = self.states().collect();
        for (field, _) in &state_fields {
            let _ = writeln!(out, "{}: {},", field.name, array(field));
        }
        let (packed_param, packed_arg, packed_init) =
            if baked { ("", "", "") } else { ("packed: &'w Packed", "packed", "packed,") };
        let comma = if baked { "" } else { ", " };
        let (at_first, constant) =
            if self.starts_at_zero() { ("With state zero", "const ") } else { ("With the initial state", "") };
        let state_init = if has_state { "state: State::new()," } else { "" };
        let pool_init = if interface.pool { "pair: Pair::new()," } else { "" };
        let _ = writeln!(
            out,
            "}}
            {UNUSED_STYLE}
            impl{life_impl} {type_name}{anon} {{
                /// {at_first}, on the best instruction set of this machine. It asks the processor.
                #[must_use]
                pub fn new({packed_param}) -> Self {{ Self::with_isa(Isa::detect(){comma}{packed_arg}) }}
                /// {at_first}, on a given instruction set.
                #[must_use]
                pub {constant}fn with_isa(isa: Isa{comma}{packed_param}) -> Self {{ {type_name} {{ isa: isa, {packed_init} {pool_init} {state_init}"
        );
        for (field, _) in &state_fields {
            let _ = write!(out, "{}: {},", field.name, zero(field));
        }
        out.push_str("} }\n/// The instruction set in use.\npub fn isa(&self) -> Isa { self.isa }\n");
        let reset =
            if self.starts_at_zero() { "Sets the state to zero." } else { "Sets the state to its initial value." };
        let _ = write!(out, "/// {reset}\npub fn reset(&mut self) {{");
        if has_state {
            out.push_str("self.state.reset();");
        }
        for (field, _) in &state_fields {
            let _ = write!(out, "self.{} = {};", field.name, zero(field));
        }
        out.push_str("}\n");
        // step
        let step = Signature::step(interface);
        let params = step.spelled(parameter);
        let value =
            |field: &Field| match (state_fields.iter().any(|(state, _)| state.name == field.name), step.inputs()) {
                (false, Some(given)) => given.place(field),
                _ => format!("&self.{}", field.name),
            };
        let call = |pool: &str| {
            let args = Signature::function(interface, Language::Rust).spelled(|argument| match argument {
                Argument::Pool => pool.to_owned(),
                Argument::State => "&mut self.state".to_owned(),
                Argument::Packed => "self.packed".to_owned(),
                Argument::Inputs(all) if step.inputs() != Some(all) => all.value(value),
                Argument::Inputs(tensors) | Argument::Outputs(tensors) => tensors.name.to_owned(),
            });
            match self.flushes_before() {
                true => format!("self.isa.run({args});"),
                false => format!("{}(self.isa, {args});", self.item(function)),
            }
        };
        let outputs = step.outputs();
        let kept = |(state, from): &(&Field, &Field)| match outputs.record {
            None => format!("self.{} = *{};", state.name, outputs.place(from)),
            Some(_) => format!("self.{} = {};", state.name, outputs.place(from)),
        };
        let kept: String = state_fields.iter().map(kept).collect();
        let what = "One step: reads the inputs, writes every output, keeps the new state";
        if interface.pool {
            let (own, given) = (call("&mut self.pair"), call("pool"));
            let _ = write!(
                out,
                "/// {what}. It uses two threads if that is faster; the first such step starts the helper of [`Pair`].
                pub fn step(&mut self, {params}) {{ {own} {kept} }}
                /// Like [`Self::step`], on threads of your own.
                pub fn step_with(&mut self, pool: &mut dyn Join, {params}) {{ {given} {kept} }}
                /// The threads of [`Self::step`].
                pub fn pair(&mut self) -> &mut Pair {{ &mut self.pair }}\n"
            );
        } else {
            let _ = writeln!(out, "/// {what}.\npub fn step(&mut self, {params}) {{ {} {kept} }}", call(""));
        }
        out.push_str(&steps::method(interface));
        out.push_str(&steps::in_place(interface));
        for (field, _) in &state_fields {
            let (name, ty) = (&field.name, array(field));
            let value = match self.is_flushed_before(field) {
                true => self.flushed(field, name),
                false => format!("*{name}"),
            };
            let _ = writeln!(
                out,
                "/// The state `{name}`.\npub fn {name}(&self) -> &{ty} {{ &self.{name} }}
                /// Sets the state `{name}`.\npub fn set_{name}(&mut self, {name}: &{ty}) {{ self.{name} = {value}; }}"
            );
        }
        for v in &interface.variables {
            let (name, len) = (&v.name, v.len());
            let _ = writeln!(
                out,
                "/// The variable `{name}`, shape `{:?}`.\npub fn {name}(&self) -> &[f32; {len}] {{ &self.state.{name} }}
                /// Sets the variable `{name}`.\npub fn set_{name}(&mut self, {name}: &[f32; {len}]) {{
                    self.state.{name} = *{name};
                }}",
                v.shape
            );
        }
        if has_state {
            let _ = writeln!(
                out,
                "/// The state and the scratch memory of [`{function}`].\npub fn state(&self) -> &State {{ &self.state }}
                /// The state and the scratch memory of [`{function}`].\npub fn state_mut(&mut self) -> &mut State {{ &mut self.state }}"
            );
        }
        out.push_str("}\n");
        if baked {
            let _ = writeln!(out, "impl Default for {type_name} {{\nfn default() -> Self {{ Self::new() }}\n}}");
        }
    }

    /// The constants and what reads them.
    fn blocks(&self, out: &mut String) {
        let len = self.packed.bytes.len();
        if len == 0 {
            return;
        }
        let alignment = self.program.alignment;
        let _ = writeln!(
            out,
            "/// Weights and constants: little-endian, in the order in which the kernels read them.
            #[repr(C, align({alignment}))]
            struct Aligned<T>(T);
            static WEIGHTS: Aligned<[u8; {len}]> = Aligned({WEIGHTS});
            /// `N` weights of `B` bytes, from byte `4 * at` on. Called in constants only, where a panic is a compile error.
            const fn part<const B: usize, const N: usize>(at: usize) -> &'static [[u8; B]; N] {{
                match WEIGHTS.0.split_at(4 * at).1.as_chunks().0.first_chunk() {{
                    Some(part) => part,
                    None => panic!(\"fewer weights than are read\"),
                }}
            }}"
        );
    }

    /// A module of kernels, the function that calls them first.
    fn module(
        &self,
        out: &mut String,
        head: &str,
        isa: &'static Isa,
        body: BodyRef<'_>,
        run: &dyn Fn(&mut String, &Shared),
    ) {
        let baked = self.is_baked();
        let pool = POOL_MEMBERS.into_iter().filter(|_| self.interface.pool);
        let around = lanes::names().chain(MODULE).chain(pool).collect();
        let taken = Taken { around, counters: (0..DEEPEST).map(counter).collect(), suffix: "_lane" };
        let shared = Shared::new(body, &taken, self.interface, baked);
        let calls: usize = shared.written(body.body).map(|(kernel, _)| kernel.calls()).sum();
        let long = body.functions.iter().zip(&shared.functions);
        let long = long.filter(|(function, _)| function.operations() > INLINED || calls > MOST_CLOSURES);
        let mut dialect = Rust {
            out: String::new(),
            attribute: attribute(isa),
            used: BTreeSet::new(),
            fused: !isa.rust_mul_add.is_empty(),
            long: long.map(|(_, name)| name.clone()).collect(),
        };
        let attribute = dialect.attribute.clone();
        shared.all_kernels(body, &mut dialect);
        shared.all_functions(body, &mut dialect);
        let _ = writeln!(out, "{head} {{");
        run(out, &shared);
        out.push_str(&dialect.out);
        lanes::write(out, &dialect.used, isa, &attribute, self.program.alignment);
        out.push_str("}\n");
    }

    /// The function of a module that calls its kernels in order; where there are many, through functions that call some of them each,
    /// as rustc takes more than linear time for a long one.
    fn run(&self, out: &mut String, body: BodyRef<'_>, shared: &Shared, attribute: &str) {
        let calls = shared.calls(body);
        let signature = self.signature(body, shared, &calls, true);
        let _ = write!(out, "/// One step.\n{attribute} pub(super) fn run({}) {{", signature.0);
        let mut parts = String::new();
        if shared.runs.is_empty() {
            self.calls(out, body, shared, &calls);
        }
        for (name, calls) in shared.runs.iter().zip(calls.chunks(MOST_CALLED)) {
            let (params, args) = self.signature(body, shared, calls, false);
            let _ = writeln!(out, "{name}({args});");
            let _ = write!(parts, "/// Part of a step.\n{attribute} fn {name}({params}) {{");
            self.calls(&mut parts, body, shared, calls);
            parts.push_str("}\n");
        }
        if self.interface.alternates {
            out.push_str("state.backwards ^= 1;\n");
        }
        out.push_str("}\n");
        out.push_str(&parts);
    }

    /// The parameters of a function that calls kernels, and the arguments of the same names: all that the module is given, or what
    /// those kernels use.
    fn signature(&self, body: BodyRef<'_>, shared: &Shared, calls: &[Vec<Call<'_>>], all: bool) -> (String, String) {
        let uses = Uses::of(body, calls);
        let (mut params, mut args) = (String::new(), String::new());
        let mut add = |is_used: bool, name: &str, ty: String| {
            if is_used || all {
                let unused = if is_used { "" } else { "_" };
                let _ = write!(params, "{unused}{name}: {ty},");
                let _ = write!(args, "{name},");
            }
        };
        let find = |role: Role| self.program.find(role).expect("every field has a buffer");
        for argument in Signature::function(self.interface, Language::Rust).0 {
            match argument {
                Argument::Pool => add(uses.pool, "pool", "&mut dyn super::Join".to_owned()),
                Argument::State => add(uses.state, "state", "&mut super::State".to_owned()),
                Argument::Packed => add(uses.weights || all, "blob", format!("&[f32; {}]", self.packed.run_time_len)),
                Argument::Inputs(tensors) => tensors.fields.iter().for_each(|field| {
                    let id = find(Role::Parameter(field.index));
                    let ty = format!("&[{}; {}]", element(field.element), field.len());
                    add(uses.buffers.contains(&id), &shared.buffer(id).name, ty);
                }),
                Argument::Outputs(tensors) => tensors.fields.iter().for_each(|field| {
                    let id = find(Role::Result(field.index));
                    add(uses.buffers.contains(&id), &shared.buffer(id).name, format!("&mut [f32; {}]", field.len()));
                }),
            }
        }
        (params, args)
    }

    /// What kernels read that is no argument of theirs around, then the calls.
    fn calls(&self, out: &mut String, body: BodyRef<'_>, shared: &Shared, calls: &[Vec<Call<'_>>]) {
        for id in Uses::of(body, calls).buffers {
            let block = shared.buffer(id);
            match body.buffer(id).role {
                Role::Table => {
                    let (_, values) =
                        body.program.tables.iter().find(|(table, _)| *table == id).expect("emit: a table has contents");
                    let values: Vec<_> = values.iter().map(u32::to_string).collect();
                    let _ = write!(out, "let {}: &[u32; {}] = &[{}];", block.name, block.len, values.join(", "));
                }
                Role::Weights if block.len == self.packed.run_time_len => {
                    let _ = write!(out, "let {} = blob;", block.name);
                }
                Role::Weights if !self.is_baked() => {
                    let at = self.packed.run_time_at(id).expect(PACKED);
                    let _ = write!(
                        out,
                        "let {}: &[f32; {1}] = blob.get({at}..).and_then(|b| b.first_chunk()).unwrap_or(&[0.0; {1}]);",
                        block.name, block.len
                    );
                }
                Role::Weights | Role::Constant(_) => {
                    let _ = write!(out, "let {} = {};", block.name, self.part(id, "super::"));
                }
                _ => {}
            }
        }
        for group in calls {
            let open = self.cuts(out, body, shared, group);
            let named = group.len() > 1;
            let call = |(kernel, name): &Call<'_>| format!("{name}({})", self.arguments(body, shared, kernel, named));
            let mut texts = group.iter().map(call);
            let _ = match named {
                false => writeln!(out, "{};", texts.collect::<String>()),
                true => {
                    let halves: Vec<_> = texts.by_ref().map(|text| format!("&mut || {text}")).collect();
                    writeln!(out, "pool.join({});", halves.join(","))
                }
            };
            out.push_str(&"}".repeat(open));
        }
    }

    /// Cuts the parts that some kernels use out of the block and of outputs, in the order in which they stand there; gives back how
    /// many braces are open then. Two kernels may share what they only read.
    fn cuts(&self, out: &mut String, body: BodyRef<'_>, shared: &Shared, group: &[Call<'_>]) -> usize {
        let mut used: BTreeMap<BufferId, bool> = BTreeMap::new();
        for (id, written) in group.iter().flat_map(|(kernel, _)| &kernel.params) {
            *used.entry(*id).or_default() |= written;
        }
        // by what they are cut from
        let mut parts: BTreeMap<Option<BufferId>, Vec<(usize, BufferId)>> = BTreeMap::new();
        for id in used.keys() {
            let (whole, at) = body.whole(*id);
            let place = body.block_place(whole);
            match place {
                Some(start) => parts.entry(None).or_default().push((start + at, *id)),
                None if whole != *id => parts.entry(Some(whole)).or_default().push((at, *id)),
                None => {}
            }
        }
        for (of, parts) in &mut parts {
            parts.sort_unstable();
            let mut end = 0;
            let (mut names, mut cuts) = (Vec::new(), Vec::new());
            for (at, id) in parts {
                let Block { name, len, .. } = shared.buffer(*id);
                names.push(format!("Some({name})"));
                cuts.push(format!("super::cut::<{len}>(left, {})", *at - end));
                end = *at + len;
            }
            let of = of.map_or("state.block".to_owned(), |whole| self.memory(body, shared, whole));
            let (names, cuts) = (tuple(&names), tuple(&cuts));
            let _ = writeln!(out, "let left = &mut &mut {of}[..];\nif let {names} = {cuts} {{");
        }
        if group.len() > 1 {
            // closures of older editions would take all of the state
            for (id, written) in used {
                let of_state = matches!(body.buffer(id).role, Role::Variable(_) | Role::Backwards);
                let cut = parts.values().flatten().any(|(_, part)| *part == id);
                if of_state || cut && !written {
                    let from = if cut { format!("*{}", shared.buffer(id).name) } else { self.memory(body, shared, id) };
                    let _ = writeln!(out, "let {} = &{from};", shared.buffer(id).name);
                }
            }
        }
        parts.len()
    }

    /// Where a buffer stands that is not cut from another.
    fn memory(&self, body: BodyRef<'_>, shared: &Shared, id: BufferId) -> String {
        match body.buffer(id).role {
            Role::Variable(i) => format!("state.{}", self.interface.variables[i].name),
            Role::Backwards => "[state.backwards]".to_owned(),
            _ => shared.buffer(id).name.clone(),
        }
    }

    /// The arguments of a kernel; `named`: every one has a name.
    fn arguments(&self, body: BodyRef<'_>, shared: &Shared, kernel: &Kernel, named: bool) -> String {
        let argument = |(id, written): &(BufferId, bool)| match body.buffer(*id).role {
            Role::Variable(_) | Role::Backwards if !named => {
                let mutable = if *written { "mut " } else { "" };
                format!("&{mutable}{},", self.memory(body, shared, *id))
            }
            _ => format!("{},", shared.buffer(*id).name),
        };
        kernel.params.iter().map(argument).collect()
    }
}

/// Values side by side: a pair of one is no pair.
fn tuple(list: &[String]) -> String {
    if list.len() == 1 { list[0].clone() } else { format!("({})", list.join(",")) }
}
