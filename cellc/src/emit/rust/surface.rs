//! What a user of the generated Rust sees.

use std::fmt::Write;

use super::lints::{STYLE, UNUSED, UNUSED_NEW, UNUSED_STYLE};
use super::types::{array, element, flat, nested, parameter, zero};
use super::{RustFile, pool, runtime_impl, steps, tuple};
use crate::arch::Isa;
use crate::emit::names::{Field, Interface, pascal_case};
use crate::emit::signature::{Argument, Signature};
use crate::emit::surface::{Member, Memory, Statement};
use crate::emit::text::{Word, filled, part};
use crate::emit::traversal::decimal;
use crate::kernel::FLUSH_BELOW;
use crate::options::Language;

impl RustFile<'_> {
    /// An item with its own words.
    pub(super) fn item(&self, name: &str, own: &[Word]) -> String {
        let Interface { type_name, function, .. } = self.interface;
        let mut words: Vec<(&str, &str)> = own.iter().map(|(word, value)| (*word, value.as_str())).collect();
        let alignment = self.program.alignment.to_string();
        words.extend([
            ("#[unused_new]", UNUSED_NEW),
            ("#[unused_style]", UNUSED_STYLE),
            ("#[unused]", UNUSED),
            ("#[style]", STYLE),
            ("ALIGNMENT", &alignment),
            ("TYPE_NAME", type_name),
            ("FUNCTION", function),
        ]);
        if self.is_baked() {
            words.extend([("<'w>", ""), ("packed: &'w Packed", ""), (", packed)", ")")]);
        }
        filled(part(include_str!("text/surface.rs"), name), &words)
    }

    /// All items.
    pub(super) fn surface(&self) -> String {
        self.items(Language::Rust).into_iter().map(|name| self.of_name(name)).collect()
    }

    fn of_name(&self, name: &str) -> String {
        let interface = self.interface;
        let fields =
            |fields: &mut dyn Iterator<Item = &Field>| members(fields, |field| format!("&'a {}", array(field)));
        match name {
            "isa" => self.isa(),
            "inputs" => self.item(name, &[("FIELDS: (),", fields(&mut interface.inputs.iter()))]),
            "step inputs" => self.item(name, &[("FIELDS: (),", fields(&mut interface.step_inputs()))]),
            "outputs" => {
                let fields = members(interface.outputs.iter(), array);
                self.item(name, &[("FIELDS: (),", fields), ("ZEROS: ()", values(interface.outputs.iter()))])
            }
            "packed" => {
                let len = self.packed.run_time_len;
                let fields = members(interface.weights.iter(), |field| format!("&'a {}", nested(field)));
                let words = [("FIELDS: (),", fields), ("LENGTH", len.to_string()), ("BYTES", (len * 4).to_string())];
                self.item(name, &words) + &self.pack_module()
            }
            "state" => self.state(),
            "function" => self.function(),
            "pool" => {
                // where no state has brought that along
                let cut =
                    if self.cuts_outputs() && interface.block_len == 0 { self.item("cut", &[]) } else { String::new() };
                pool::items(&cut, self.options.arch.apart)
            }
            "struct" => self.structure(),
            _ => self.item(name, &[]),
        }
    }

    fn isa(&self) -> String {
        let all = || self.isas.iter().map(|(isa, _)| *isa);
        let kind = |isa: &Isa| pascal_case(isa.name);
        // first what is asked for, the best before others, then what the compiler chooses
        let asked = || self.asked().rev();
        let chosen = || all().filter(|isa| isa.question().is_none());
        let question = |isa: &Isa| isa.question().expect("emit: it is asked for").rust;
        let detect =
            |isa| format!("{} {{ if {} {{ return Isa(Kind::{}); }} }}", self.cfg(isa), question(isa), kind(isa));
        let choose = |isa| match self.cfg(isa) {
            cfg if cfg.is_empty() => format!("Isa(Kind::{})", kind(isa)),
            cfg => format!("{cfg} {{ Isa(Kind::{}) }}", kind(isa)),
        };
        let named = |isa: &Isa| format!("{} {:?} => Some(Isa(Kind::{})),", self.cfg(isa), isa.name, kind(isa));
        let named_if = |isa: &Isa| {
            format!("{} {:?} if {} => Some(Isa(Kind::{})),", self.cfg(isa), isa.name, question(isa), kind(isa))
        };
        let name = |isa: &Isa| format!("{} Kind::{} => {:?},", self.cfg(isa), kind(isa), isa.name);
        let words = [
            ("KINDS,", all().map(|isa| format!("{} {},", self.cfg(isa), kind(isa))).collect()),
            ("DETECTED;", asked().map(detect).chain(chosen().map(choose)).collect()),
            ("NAMED => (),", chosen().map(named).chain(asked().map(named_if)).collect()),
            ("NAMES => (),", chosen().chain(asked()).map(name).collect()),
        ];
        let processors: String = self.processors().iter().map(|processor| processor.rust).collect();
        self.item("isa", &words) + &processors
    }

    /// What the pure function works on beside its arguments.
    fn state(&self) -> String {
        let block_len = self.interface.block_len;
        let member = |memory: &Memory<'_>| {
            match memory {
            Memory::Block => format!("/// Scratch memory, {} bytes.\nblock: [f32; {block_len}],", block_len * 4),
            Memory::Variable(v) => format!("/// Shape `{:?}`.\npub {}: [f32; {}],\n", v.shape, v.name, v.len()),
            Memory::Order => "/// The order in which large weights are read, 0 and 1 alternately. No result depends on it.\nbackwards: u32,".to_owned(),
        }
        };
        let at_first = |memory: &Memory<'_>| match memory {
            Memory::Block => format!("block: [0.0; {block_len}],"),
            Memory::Variable(v) => format!("{}: [0.0; {}],", v.name, v.len()),
            Memory::Order => "backwards: 0,".to_owned(),
        };
        let memory = self.memory();
        // the order before what is an array
        let (order, arrays): (Vec<_>, Vec<_>) = memory.iter().partition(|memory| matches!(memory, Memory::Order));
        let zeros = order.into_iter().chain(arrays).map(at_first).collect();
        let new = if self.starts_at_zero() { "state at zero" } else { "state initially" };
        let words = [
            ("MEMORY: (),", memory.iter().map(member).collect()),
            ("fn NEW() {}", self.item(new, &[("ZEROS: ()", zeros)])),
            ("RESET_STATE;", self.statements(&self.resets_state(Language::Rust), "")),
        ];
        let cut = if block_len > 0 { self.item("cut", &[]) } else { String::new() };
        self.item("state", &words) + &cut
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

    /// How a function with fields for arguments names a function of the file: an argument of that name would hide it, and hides no path.
    fn path(&self, name: &str) -> String {
        if self.interface.has_field(name) { format!("self::{name}") } else { name.to_owned() }
    }

    /// The pure function.
    fn function(&self) -> String {
        let signature = Signature::function(self.interface, Language::Rust);
        let flushed = signature.spelled(|argument| match argument {
            Argument::Inputs(tensors) => tensors.value(|field| match self.is_flushed_before(field) {
                true => format!("&{}", self.flushed(field, &tensors.place(field))),
                false => tensors.place(field),
            }),
            other => other.name().to_owned(),
        });
        let words = [
            ("PARAMETERS: ()", signature.spelled(parameter)),
            ("FLUSHED", flushed),
            ("FLUSH_BELOW", format!("{}f32", decimal(FLUSH_BELOW))),
            ("BODIES;", self.chosen_body(&signature)),
        ];
        let name = if self.flushes_before() { "function that flushes" } else { "function" };
        let flat = if self.interface.inputs.iter().any(|f| !flat(f)) { self.item("flat", &[]) } else { String::new() };
        self.item(name, &words) + &flat
    }

    /// Calls the body of an instruction set.
    fn chosen_body(&self, signature: &Signature<'_>) -> String {
        let (mut names, mut places) = (Vec::new(), Vec::new());
        let args = signature.spelled(|argument| match argument {
            Argument::Packed => "&packed.values".to_owned(),
            Argument::Inputs(tensors) => {
                let rows = |field: &Field| match (flat(field), tensors.place(field)) {
                    (true, place) => place,
                    (false, place) => format!("{}({place})", self.path("flat")),
                };
                tensors.fields.iter().map(|field| rows(field)).collect::<Vec<_>>().join(", ")
            }
            Argument::Outputs(tensors) => {
                let mut rows = |field: &Field| match (flat(field), tensors.record, tensors.place(field)) {
                    (true, None, place) => place,
                    (true, Some(_), place) => format!("&mut {place}"),
                    (false, _, place) => {
                        names.push(format!("Some({})", field.name));
                        places.push(format!("{place}.as_flattened_mut().first_chunk_mut()"));
                        field.name.clone()
                    }
                };
                tensors.fields.iter().map(|field| rows(field)).collect::<Vec<_>>().join(", ")
            }
            other => other.name().to_owned(),
        });
        let call = |(isa, _): &(&'static Isa, bool)| {
            let (cfg, kind, module) = (self.cfg(isa), pascal_case(isa.name), self.named(isa).name);
            match isa.rust_features {
                "" => format!("{cfg} Kind::{kind} => {module}::run({args}),\n"),
                _ => format!(
                    "{cfg} Kind::{kind} => {{
                        // SAFETY: an Isa is made only where the machine has its features
                        unsafe {{ {module}::run({args}) }}
                    }}\n"
                ),
            }
        };
        let calls: String = self.isas.iter().map(call).collect();
        let calls = format!("match isa.0 {{\n{calls}}}\n");
        match &names[..] {
            [] => calls,
            _ => format!("if let {} = {} {{\n{calls}}}\n", tuple(&names), tuple(&places)),
        }
    }

    fn structure(&self) -> String {
        let member = |member: &Member<'_>| match member {
            Member::Packed => "packed: &'w Packed,".to_owned(),
            Member::Pool => "pair: Pair,".to_owned(),
            Member::State => "state: State,".to_owned(),
            Member::Kept(field, _) => format!("{}: {},", field.name, array(field)),
        };
        let at_first = |member: &Member<'_>| match member {
            Member::Packed => "packed,".to_owned(),
            Member::Pool => "pair: Pair::new(),".to_owned(),
            Member::State => "state: State::new(),".to_owned(),
            Member::Kept(field, _) => format!("{}: {},", field.name, zero(field)),
        };
        let members = self.members(Language::Rust);
        let doc = self.doc.iter().fold(String::new(), |mut doc, line| {
            let _ = writeln!(doc, "/// {line}");
            doc
        });
        let (const_fn, initially) = match self.starts_at_zero() {
            true => ("const fn with_isa", "zero"),
            false => ("fn with_isa", "its initial value"),
        };
        let words = [
            ("DOC!();", doc),
            ("#[aligned]", self.options.arch.rust_struct.to_owned()),
            ("MEMBERS: (),", members.iter().map(member).collect()),
            ("AT_FIRST", self.at_first().to_owned()),
            ("const fn with_isa", const_fn.to_owned()),
            ("ZEROS: ()", members.iter().map(at_first).collect()),
            ("ITS_INITIAL_VALUE", initially.to_owned()),
            ("RESET;", self.statements(&self.resets(), "")),
            ("fn METHODS() {}", self.methods()),
        ];
        let default = if self.is_baked() { self.item("default", &[]) } else { String::new() };
        self.item("struct", &words) + &default
    }

    /// The functions of the struct that depend on what it holds.
    fn methods(&self) -> String {
        let interface = self.interface;
        let statements = self.steps(Language::Rust);
        let (name, pool) = if interface.pool { ("step on threads", "&mut self.pair") } else { ("step", "") };
        let words = [
            ("PARAMETERS: ()", Signature::step(interface).spelled(parameter)),
            ("STEP;", self.statements(&statements, pool)),
            ("STEP_WITH;", self.statements(&statements, "pool")),
        ];
        let mut out = self.item(name, &words) + &steps::method(self) + &steps::in_place(self);
        for (field, _) in self.states() {
            let name = &field.name;
            let value = if self.is_flushed_before(field) { self.flushed(field, name) } else { format!("*{name}") };
            out += &self.item("kept state", &[("NAME", name.clone()), ("ARRAY", array(field)), ("VALUE", value)]);
        }
        for v in &interface.variables {
            let array = format!("[{}; {}]", element(v.element), v.len());
            out += &self
                .item("variable", &[("NAME", v.name.clone()), ("ARRAY", array), ("SHAPE", format!("{:?}", v.shape))]);
        }
        if interface.has_state() {
            out += &self.item("whole state", &[]);
        }
        out
    }

    /// Statements of a method; `pool` is that of a step.
    fn statements(&self, statements: &[Statement<'_>], pool: &str) -> String {
        let statement = |statement: &Statement<'_>| match statement {
            Statement::Variable(field, None) => format!("self.{} = [0.0; {}];", field.name, field.len()),
            Statement::Variable(field, Some(at)) => format!(
                "for (to, from) in self.{}.iter_mut().zip(const {{ part::<4, {}>({at}) }}) {{
                    *to = f32::from_le_bytes(*from);
                }}",
                field.name,
                field.len()
            ),
            Statement::State => "self.state.reset();".to_owned(),
            Statement::Zero(field) => format!("self.{} = {};", field.name, zero(field)),
            Statement::Step => self.step(pool),
            Statement::Keep(state, output) => {
                let step = Signature::step(self.interface);
                let by_reference = if step.outputs().record.is_none() { "*" } else { "" };
                format!("self.{} = {by_reference}{};", state.name, step.outputs().place(output))
            }
            Statement::Order | Statement::Copy(..) => unreachable!("emit: a statement of C"),
        };
        statements.iter().map(statement).collect()
    }

    /// The call of the pure function on what the struct holds.
    fn step(&self, pool: &str) -> String {
        let step = Signature::step(self.interface);
        let value = |field: &Field| match (self.is_kept(field), step.inputs()) {
            (false, Some(given)) => given.place(field),
            _ => format!("&self.{}", field.name),
        };
        let args = Signature::function(self.interface, Language::Rust).spelled(|argument| match argument {
            Argument::Pool => pool.to_owned(),
            Argument::State => "&mut self.state".to_owned(),
            Argument::Packed => "self.packed".to_owned(),
            Argument::Inputs(all) if step.inputs() != Some(all) => all.value(value),
            Argument::Inputs(tensors) | Argument::Outputs(tensors) => tensors.name.to_owned(),
        });
        match self.flushes_before() {
            true => format!("self.isa.run({args});"),
            false => format!("{}(self.isa, {args});", self.path(&self.interface.function)),
        }
    }

    /// The implementation of cellc-runtime's trait, by way of the type's own methods.
    pub(super) fn runtime(&self) -> String {
        self.item("runtime", &runtime_impl::words(self.interface))
    }
}

/// The public members of a struct of tensors.
fn members<'f>(fields: impl Iterator<Item = &'f Field>, ty: impl Fn(&Field) -> String) -> String {
    fields.map(|field| format!("/// Shape `{:?}`.\npub {}: {},\n", field.shape, field.name, ty(field))).collect()
}

/// Tensors, all zero.
fn values<'f>(fields: impl Iterator<Item = &'f Field>) -> String {
    fields.map(|field| format!("{}: {},", field.name, zero(field))).collect()
}
