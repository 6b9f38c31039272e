//! The surface of generated Rust.

use super::lints::{MANY, UNUSED, UNUSED_NEW};
use super::types::{has_long_list, parameter};
use super::{Form, RustFile, pool, steps, streams};
use crate::arch::{Isa, PlannedIsa};
use crate::emit::names::{Field, pascal_case};
use crate::emit::signature::{Argument, Signature, Tensors};
use crate::emit::surface::{Item, OwnWords};
use crate::emit::tensors::{array, flat, zero};
use crate::emit::text::{List, Word, listed, part, when};
use crate::emit::traversal::decimal;
use crate::emit::{digests, host_constants};
use crate::pack::{Initial, Loaded};
use crate::request::Language;

/// The longest list of arguments, in characters, that fits on a line with the call of a body.
const LONG_CALL: usize = 64;

impl RustFile<'_> {
    /// The text with a name.
    pub(super) fn text_of(&self, name: &str) -> String {
        listed(part(include_str!("text/surface.rs"), name), &self.lists(), &self.words())
    }

    /// The texts of all items.
    pub(super) fn surface(&self) -> String {
        let version =
            if self.form == Form::Macros { self.text_of("version") } else { String::new() };
        let items: String =
            self.items(Language::Rust).into_iter().map(|item| self.item(item)).collect();
        self.refused() + &version + &with_many(&items)
    }

    fn item(&self, item: Item) -> String {
        match item {
            Item::InstructionSets => {
                self.text_of("isa")
                    + &self.processors().iter().map(|processor| processor.rust).collect::<String>()
                    + &self
                        .asked()
                        .filter_map(Isa::question)
                        .map(|question| question.rust_functions)
                        .collect::<String>()
            }
            Item::Inputs => self.text_of("inputs"),
            Item::StepInputs => self.text_of("step inputs"),
            Item::Outputs => self.text_of("outputs"),
            Item::GivenWeights => self.text_of("given weights"),
            Item::Packed => self.text_of("packed"),
            Item::Pack => self.text_of("pack"),
            Item::Load => self.text_of("load"),
            Item::Memory => self.text_of("memory"),
            Item::Function => self.text_of("function"),
            Item::UnequalSteps => self.text_of("unequal steps"),
            Item::Struct => self.text_of("struct"),
            Item::Steps => unreachable!("emit: a method of the struct takes several steps"),
            Item::Pool => pool::items(self.options.machine.target.memory.thread_distance),
            Item::Streams => streams::items(self, &self.lists(), &self.words()),
        }
    }

    /// The compile error for machines that the file is not made for. Empty for a file for all
    /// machines.
    fn refused(&self) -> String {
        let arch = self.options.machine.target;
        let (held, help) = (arch.rust.held, arch.rust.otherwise);
        match held {
            "" => String::new(),
            _ => format!(
                "#[cfg(not({held}))]\ncompile_error!(\"this file is made for {}: {help}\");\n",
                arch.name
            ),
        }
    }

    /// The words for all items.
    fn words(&self) -> Vec<Word> {
        let function = Signature::function(self.interface, Language::Rust);
        let body = Signature::body(self.interface, Language::Rust);
        let has_isas = self.interface.has_isas();
        let step = Signature::step(self.interface);
        let zero_alone = || zero(step.outputs().fields[0]);
        let (const_fn, initially) = match self.starts_at_zero() {
            true => ("const fn", "zero"),
            false => ("fn", "its initial value"),
        };
        let pool = if self.interface.pool { "&mut self.pair" } else { "" };
        let (at_first, keeps) = match self.keeps_states() {
            true => (format!("A model with {}", self.at_first()), ", keeps the new state"),
            false => ("A model, which keeps no state".to_owned(), ""),
        };
        let mut words = vec![
            ("AT_FIRST", at_first),
            ("KEEPS_STATE", keeps.to_owned()),
            ("#[unused_new]", UNUSED_NEW.to_owned()),
            ("#[unused]", UNUSED.to_owned()),
            ("#[aligned]", self.options.machine.target.rust.structs.to_owned()),
            ("DOC!();", self.doc.iter().map(|line| format!("/// {line}\n")).collect()),
            ("CONST_FN", const_fn.to_owned()),
            ("PUB", if self.interface.takes_memory { "pub" } else { "" }.to_owned()),
            ("ITS_INITIAL_VALUE", initially.to_owned()),
            ("RUN_PARAMETERS: ()", function.spelled(parameter)),
            ("RUN_NAMES", function.names()),
            ("RUN;", self.run_step(&body)),
            ("FUNCTION_PATH_on", self.path(&format!("{}_on", self.interface.function))),
            (
                "ADVANCE_PARAMETERS: ()",
                (if has_isas { "isa: Isa, " } else { "" }).to_owned() + &body.spelled(parameter),
            ),
            ("DECIMAL_WEIGHTS", self.decimal_weights()),
            ("ONE_NAME", self.isas[0].isa.name.to_owned()),
            ("STEP_PARAMETERS: ()", step.spelled(parameter)),
            ("BODIES;", self.chosen_body(&body)),
            ("SEVERAL_IN_PLACE;", self.several_at_once("&input", "io")),
            ("BLOCK_ARRAY", format!("[f32; {}]", self.interface.block_len)),
            ("BLOCK_ZERO", format!("[0.0; {}]", self.interface.block_len)),
            ("STEP;", self.step(pool)),
            ("STEP_WITH;", self.step("pool")),
            (
                "STEP_INPUT",
                step.inputs()
                    .map_or("()".to_owned(), |inputs| format!("&'a {}", inputs.ty("<'a>"))),
            ),
            ("STEP_OUTPUT", step.outputs().ty("")),
            (
                "STEP_ZERO",
                step.outputs().record.map_or_else(zero_alone, |record| format!("{record}::new()")),
            ),
            ("STORED_TYPE", if self.is_baked() { "Weights" } else { "Constants" }.to_owned()),
            ("BAKED_BYTES", self.packed.bytes.len().to_string()),
            ("BAKED_LEN", (self.packed.bytes.len() / 4).to_string()),
            ("ISA_NAMES", self.isa_names()),
        ];
        words.extend(self.loaded_words());
        if self.is_baked() {
            let without = [("<'w>", ""), ("packed: &'w Packed", ""), (", packed)", ")")];
            words.extend(without.map(|(word, value)| (word, value.to_owned())));
        }
        words.extend(self.names_and_sizes());
        words
    }

    /// The words for weights that are an argument.
    fn loaded_words(&self) -> Vec<Word> {
        let [magic, hash] = self.packed.loaded.as_ref().map(Loaded::head).unwrap_or_default();
        let initials = |text: &str| if self.loads_initials() { text } else { "" }.to_owned();
        let filled_by = if self.interface.weights.is_empty() { "Packed::load" } else { "pack()" };
        vec![
            ("FILLED_BY", format!("[`{filled_by}`]")),
            ("LOADED_MAGIC", byte_text(&magic)),
            ("LOADED_HASH", byte_text(&hash)),
            ("INITIALS: ()", initials("packed: &Packed")),
            ("INITIALS_GIVEN", initials("packed")),
            ("INITIALS_OWN", initials("self.packed")),
        ]
    }

    /// The statement that sets a variable to its initial value, which is among the loaded weights.
    fn loaded_initial(variable: &Field, Initial { at, len, repeat }: Initial) -> String {
        let values = format!("packed.values.iter().skip({at})");
        let copied = |to: &str| {
            format!("for (to, from) in {to}.iter_mut().zip({values}) {{ *to = *from; }}")
        };
        let variable_path = format!("self.{}", variable.name);
        match repeat {
            1 if len == variable.len() => copied(&variable_path),
            1 => {
                let frames = format!("{variable_path}.as_chunks_mut::<{len}>().0.iter_mut()");
                format!("for frame in {frames} {{ {} }}", copied("frame"))
            }
            _ => {
                let rows = format!("{variable_path}.as_chunks_mut::<{repeat}>().0.iter_mut()");
                format!("for (row, value) in {rows}.zip({values}) {{ row.fill(*value); }}")
            }
        }
    }

    /// The lists for texts in Rust.
    fn lists(&self) -> Vec<List> {
        let rows = || self.rows().into_iter();
        let words =
            |rows: &mut dyn Iterator<Item = IsaRow>| rows.map(|row| row.words(self)).collect();
        let shared = self.baseline().map(|names| vec![("BASELINE_NAME", names)]);
        let file_lists = vec![
            ("several steps", steps::several(self)),
            ("model's files", digests(&self.sha256)),
            ("host", host_constants(self.interface)),
            ("stored", self.stored_words()),
            when("large weights", self.has_large_weights()),
            ("isas", words(&mut rows())),
            ("chosen", words(&mut rows().filter(|row| row.isa.question().is_none()))),
            ("shared baseline", shared.into_iter().collect()),
        ];
        // the first list of a name counts
        [file_lists, self.contents.lists(self)].concat()
    }

    /// The rows of the file's instruction sets. The instruction sets that share the body of the
    /// baseline are one row if [`Self::baseline`] is not `None`.
    fn rows(&self) -> Vec<IsaRow> {
        let row_of = |(at, planned): (usize, &PlannedIsa)| IsaRow {
            isa: planned.isa,
            number: at + 1,
            is_baseline: false,
        };
        let rows = self.isas.iter().enumerate().map(row_of);
        if self.baseline().is_none() {
            return rows.collect();
        }
        let is_shared = |isa: &'static Isa| self.sharing(self.named(isa)).count() > 1;
        let (shared, others): (Vec<_>, Vec<_>) = rows.partition(|row| is_shared(row.isa));
        let baseline = shared.into_iter().take(1).map(|row| IsaRow { is_baseline: true, ..row });
        let numbered = |(at, row): (usize, IsaRow)| IsaRow { number: at + 1, ..row };
        baseline.chain(others).enumerate().map(numbered).collect()
    }

    /// The names of all instruction sets of the file, each once.
    fn isa_names(&self) -> String {
        let with_body = self.isas.iter().map(|planned| planned.isa.name);
        let sharing = self.instead().map(|(isa, _)| isa.name);
        let mut names: Vec<_> = with_body.chain(sharing).map(|name| format!("`{name}`")).collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names.join(", ")
    }

    /// The expression for the name of the baseline's row. `None` unless the instruction sets that
    /// share the baseline's body are exactly those that replace the baseline at compile time.
    fn baseline(&self) -> Option<String> {
        let first = self.isas.first()?.isa;
        let mut sharing = self.sharing(first).filter(|isa| *isa != first).peekable();
        let alternatives: Vec<_> = self.instead().map(|(isa, _)| isa).collect();
        if first.condition().is_some() || sharing.peek().is_none() {
            return None;
        }
        let isas: Vec<_> = sharing.collect();
        let is_alone =
            isas.len() == alternatives.len() && alternatives.iter().all(|isa| isas.contains(isa));
        let named = |isa: &&'static Isa| {
            let condition = isa.condition().map_or("", |condition| condition.rust);
            format!("if cfg!({condition}) {{ {:?} }} else ", isa.name)
        };
        let names: String = alternatives.iter().map(named).collect();
        is_alone.then(|| format!("{names}{{ {:?} }}", first.name))
    }

    /// The baked weights as decimal numbers. Empty for files with other weights.
    fn decimal_weights(&self) -> String {
        if !self.has_decimal_weights() {
            return String::new();
        }
        let numbers =
            self.packed.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let spelled = numbers.map(|number| match number.is_finite() {
            true => decimal(number),
            false => format!("f32::from_bits({:#010x})", number.to_bits()),
        });
        spelled.collect::<Vec<_>>().join(", ")
    }

    /// The expression for an input, flushed if a step flushes this input.
    fn flushed(&self, field: &Field, expression: &str) -> String {
        match self.is_flushed_before(field) {
            true if flat(field) => format!("{}({expression})", self.path("flushed")),
            true => format!("{expression}.map(|row| {}(&row))", self.path("flushed")),
            false => expression.to_owned(),
        }
    }

    /// The path of a function of the file, for use in a function with fields as arguments: an
    /// argument of equal name hides a plain name, but no path.
    fn path(&self, name: &str) -> String {
        if self.interface.has_field(name) { format!("self::{name}") } else { name.to_owned() }
    }

    /// The name of the module with an instruction set's body: `baseline` if several share the body.
    pub(super) fn module_of(&self, isa: &'static Isa) -> &'static str {
        if self.sharing(isa).count() > 1 { "baseline" } else { isa.name }
    }

    /// The arguments of a body, and the statements that declare variables for these arguments.
    /// `apart`: true if the statements take records of arrays apart.
    fn body_arguments(&self, signature: &Signature<'_>, apart: bool) -> (String, String) {
        let mut flattened: Vec<(String, String)> = Vec::new();
        let mut records = String::new();
        let mut named = |field: &Field, value: String| match self.isas {
            [_] => value,
            _ => {
                flattened.push((field.name.clone(), value));
                field.name.clone()
            }
        };
        let argument_names: Vec<_> =
            signature.0.iter().map(Argument::name).chain(["isa"]).collect();
        let mut taken_apart = |tensors: &Tensors<'_>, role: &str| {
            let names: Vec<_> = tensors.fields.iter().map(|field| &*field.name).collect();
            let is_plain = tensors.fields.iter().all(|field| flat(field))
                && !names.iter().any(|name| argument_names.contains(name));
            let record = tensors.record.filter(|_| apart && is_plain)?;
            let names = names.join(", ");
            records += &format!("let {record} {{ {names} }} = {role}{};\n", tensors.name);
            Some(names)
        };
        let args = signature.spelled(|argument| match argument {
            Argument::Packed if self.packed.run_time_pairs > 0 => {
                "&packed.values, &packed.pairs".to_owned()
            }
            Argument::Packed => "&packed.values".to_owned(),
            Argument::Inputs(tensors) => {
                let mut rows = |field: &Field| match (flat(field), tensors.expression(field)) {
                    (true, expression) => expression,
                    (false, expression) => {
                        named(field, format!("{}({expression})", self.path("flat")))
                    }
                };
                let mut expressions =
                    || tensors.fields.iter().map(|field| rows(field)).collect::<Vec<_>>();
                taken_apart(tensors, "*").unwrap_or_else(|| expressions().join(", "))
            }
            Argument::Outputs(tensors) => {
                let mut rows = |field: &Field| {
                    let expression = match (tensors.record, tensors.expression(field)) {
                        (None, expression) => expression,
                        (Some(_), expression) => format!("&mut {expression}"),
                    };
                    match flat(field) {
                        true => expression,
                        false => named(field, format!("{}({expression})", self.path("flat_mut"))),
                    }
                };
                let mut expressions =
                    || tensors.fields.iter().map(|field| rows(field)).collect::<Vec<_>>();
                taken_apart(tensors, "").unwrap_or_else(|| expressions().join(", "))
            }
            other => other.name().to_owned(),
        });
        let flattened = match &flattened[..] {
            [] => String::new(),
            [(name, value)] => format!("let {name} = {value};\n"),
            all => {
                let (names, values): (Vec<_>, Vec<_>) = all.iter().cloned().unzip();
                format!("let ({}) = ({});\n", names.join(", "), values.join(", "))
            }
        };
        (args, records + &flattened)
    }

    /// The call of the body for several steps at a time. `x` and `y` are the inputs and outputs.
    pub(super) fn several_at_once(&self, x: &str, y: &str) -> String {
        let weights = if self.interface.takes_weights() { "&self.packed.values, " } else { "" };
        let args = format!("&mut self.{}, {weights}{x}, {y}", self.interface.memory().name());
        self.chosen("self.isa.0", "several", &args, String::new())
    }

    /// Calls the body of an instruction set.
    fn chosen_body(&self, signature: &Signature<'_>) -> String {
        let (args, flattened) = match self.body_arguments(signature, false) {
            (args, _) if self.isas.len() > 1 && args.len() > LONG_CALL => {
                self.body_arguments(signature, true)
            }
            arguments => arguments,
        };
        self.chosen("isa.0", "run", &args, flattened)
    }

    /// The call of a function of the body for an instruction set, after the statements `before`.
    fn chosen(&self, isa: &str, function: &str, args: &str, before: String) -> String {
        let called = |isa: &'static Isa, reason: &str| {
            let module = self.module_of(self.named(isa));
            match isa.rust.features {
                "" => format!("{module}::{function}({args})"),
                _ => format!(
                    "{{\n// SAFETY: {reason}\nunsafe {{ {module}::{function}({args}) }}\n}}"
                ),
            }
        };
        let of_kind = |row: IsaRow| {
            let call = called(row.isa, "an Isa is made only where the machine has its features");
            let [cfg, kind] = row.cfg_and_kind(self);
            format!("{cfg} Kind::{kind} => {call},\n")
        };
        match self.isas {
            [own] => called(own.isa, "the file is made for machines with these features"),
            _ => {
                let arms: String = self.rows().into_iter().map(of_kind).collect();
                format!("{before}match {isa} {{\n{arms}}}\n")
            }
        }
    }

    /// The call of the pure function with the struct's contents.
    fn step(&self, pool: &str) -> String {
        let step = Signature::step(self.interface);
        self.call(pool, |field| match (self.is_kept(field), step.inputs()) {
            (false, Some(given)) => given.expression(field),
            _ => format!("&self.{}", field.name),
        })
    }

    /// The call of the pure function, with `value` for each input.
    pub(super) fn call(&self, pool: &str, value: impl Fn(&Field) -> String) -> String {
        let step = Signature::step(self.interface);
        let args =
            Signature::body(self.interface, Language::Rust).spelled(|argument| match argument {
                Argument::Pool => pool.to_owned(),
                Argument::Memory(memory) => format!("&mut self.{}", memory.name()),
                Argument::Packed => "self.packed".to_owned(),
                Argument::Inputs(all) if step.inputs() != Some(all) => all.value(&value),
                Argument::Inputs(tensors) | Argument::Outputs(tensors) => tensors.name.to_owned(),
            });
        self.step_call("self.isa, ", &args)
    }

    /// The call in a step of the struct. With several instruction sets, `isa` precedes the other
    /// arguments.
    fn step_call(&self, isa: &str, args: &str) -> String {
        let function = &self.interface.function;
        let (called, isa) = match (self.advances(), self.interface.has_isas()) {
            (true, has_isas) => (self.path("advance"), if has_isas { isa } else { "" }),
            (false, true) => (self.path(&format!("{function}_on")), isa),
            (false, false) => (self.path(function), ""),
        };
        format!("{called}({isa}{args});")
    }

    /// The body of the pure function on a known instruction set.
    fn run_step(&self, body: &Signature<'_>) -> String {
        if !self.advances() {
            return self.chosen_body(body);
        }
        let argument_names: Vec<_> = body.0.iter().map(Argument::name).chain(["isa"]).collect();
        let is_named = |field: &Field| !argument_names.contains(&field.name.as_str());
        let value = |tensors: &Tensors<'_>, field: &Field| match self.is_flushed_before(field) {
            true => format!("&{}", self.flushed(field, &tensors.expression(field))),
            false => tensors.expression(field),
        };
        let mut flushed = String::new();
        let args = body.spelled(|argument| match argument {
            Argument::Inputs(tensors) if tensors.record.is_some() => {
                let named = tensors
                    .fields
                    .iter()
                    .filter(|field| self.is_flushed_before(field) && is_named(field));
                flushed = named
                    .map(|field| format!("let {} = {};\n", field.name, value(tensors, field)))
                    .collect();
                tensors.value(|field| match self.is_flushed_before(field) && is_named(field) {
                    true => field.name.clone(),
                    false => value(tensors, field),
                })
            }
            Argument::Inputs(tensors) => tensors.value(|field| value(tensors, field)),
            other => other.name().to_owned(),
        });
        flushed + &self.step_call("isa, ", &args)
    }
}

/// A byte-string literal, as an array.
fn byte_text(bytes: &[u8]) -> String {
    format!("*b\"{}\"", bytes.escape_ascii())
}

/// Items, with an attribute for functions with more parameters than clippy allows.
fn with_many(items: &str) -> String {
    let lint = |line: &str| if has_long_list(line) { MANY } else { "" };
    items.lines().map(|line| format!("{}{line}\n", lint(line))).collect()
}

/// An instruction set in the lists of a file, or several with one body.
struct IsaRow {
    isa: &'static Isa,
    number: usize,
    /// True for all instruction sets that share the body of the baseline.
    is_baseline: bool,
}

impl IsaRow {
    /// The attribute with the condition, and the variant of `Kind`.
    fn cfg_and_kind(&self, file: &RustFile<'_>) -> [String; 2] {
        match self.is_baseline {
            true => [String::new(), "Baseline".to_owned()],
            false => [file.cfg(self.isa), pascal_case(self.isa.name)],
        }
    }

    fn words(&self, file: &RustFile<'_>) -> Vec<Word> {
        let [cfg, kind] = self.cfg_and_kind(file);
        let choice = format!("Isa(Kind::{kind})");
        let name = match self.is_baseline {
            true => "BASELINE".to_owned(),
            false => format!("{:?}", self.isa.name),
        };
        vec![
            ("CHOICE", if cfg.is_empty() { choice } else { format!("{cfg} {{ {choice} }}") }),
            ("CFG", cfg),
            ("ISA_KIND", kind),
            ("ISA_NUMBER", self.number.to_string()),
            ("ISA_NAME", name),
            ("QUESTION", self.isa.question().map_or("", |question| question.rust).to_owned()),
        ]
    }
}

impl OwnWords for RustFile<'_> {
    fn isa(&self, isa: &'static Isa) -> Vec<Word> {
        let found = self.rows().into_iter().find(|row| row.isa == isa);
        found.map(|row| row.words(self)).unwrap_or_default()
    }

    fn state(&self, state: &Field, output: &Field) -> Vec<Word> {
        let given = match self.is_flushed_before(state) {
            true => self.flushed(state, &state.name),
            false => format!("*{}", state.name),
        };
        let step = Signature::step(self.interface);
        let by_reference = if step.outputs().record.is_none() { "*" } else { "" };
        vec![
            ("GIVEN", given),
            ("KEPT", format!("{by_reference}{}", step.outputs().expression(output))),
        ]
    }

    fn variable(&self, _at: usize, variable: &Field) -> Vec<Word> {
        let (name, len) = (&variable.name, variable.len());
        let reset = match self.initial(variable) {
            None => format!("self.{name} = [0.0; {len}];"),
            Some(initial) if self.loads_initials() => Self::loaded_initial(variable, initial),
            Some(Initial { at, len: stored, repeat: 1 }) if stored == len => {
                format!("self.{name} = {}.{}.0;", self.weights(), self.stored_at(at))
            }
            Some(Initial { at, len: stored, repeat: 1 }) => {
                let frames = format!("self.{name}.as_chunks_mut::<{stored}>().0.iter_mut()");
                let value = format!("{}.{}.0", self.weights(), self.stored_at(at));
                format!("for frame in {frames} {{ *frame = {value}; }}")
            }
            Some(Initial { at, repeat, .. })
                if self.interface.layout.delay_lines.contains_key(&variable.index) =>
            {
                let values = format!("{}.{}.0", self.weights(), self.stored_at(at));
                format!("Self::fill::<{repeat}>(self.{name}.as_chunks_mut().0, &{values});")
            }
            Some(Initial { at, repeat, .. }) => {
                let rows = format!("self.{name}.as_chunks_mut::<{repeat}>().0.iter_mut()");
                let values = format!("{}.{}.0", self.weights(), self.stored_at(at));
                format!("for (row, value) in {rows}.zip(&{values}) {{ row.fill(*value); }}")
            }
        };
        let about = match self.interface.layout.delay_lines.get(&variable.index) {
            None => format!("Shape `{:?}`", variable.shape),
            Some(line) => format!("The last {} steps, as {line}", line.history()),
        };
        vec![("RESET;", reset), ("ABOUT_VARIABLE", about)]
    }

    fn in_place(&self, _input: &Field, output: &Field) -> Vec<Word> {
        let step = match (&self.interface.outputs[..], &output.name) {
            ([_], _) => "self.step(&input, io);".to_owned(),
            (_, name) => {
                format!(
                    "let mut outputs = Outputs::new(); self.step(&input, &mut outputs); *io = \
                     outputs.{name};"
                )
            }
        };
        vec![("OUT_ARRAY", array(output)), ("STEP;", step)]
    }
}
