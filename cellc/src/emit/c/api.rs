//! The surface of generated C: the header, and the functions declared there.

use super::vectors::is_small;
use super::{CFile, block_comment, guarded, interface as common, pool, streams, weights, wrap};
use crate::arch::{Isa, Processor};
use crate::emit::elements::{counted, spelling};
use crate::emit::names::Field;
use crate::emit::signature::{Argument, StepTensor};
use crate::emit::surface::{Item, OwnWords};
use crate::emit::tensors;
use crate::emit::text::{List, Word, filled, listed, part, when};
use crate::emit::{digests, host_constants};
use crate::kernel::Element;
use crate::pack::{Initial, Loaded};
use crate::request::Language;

const HEADER: &str = include_str!("text/header.h");
const SOURCE: &str = include_str!("text/source.c");

/// The separator between statements of the function that takes several steps.
const STEPS_INDENT: &str = "\n        ";

impl CFile<'_> {
    /// The macro for the number of elements of a field.
    pub(super) fn size(&self, field: &Field) -> String {
        tensors::size(field, &self.upper())
    }

    /// The enumerator of an instruction set.
    fn enumerator(&self, isa: &Isa) -> String {
        format!("{}_ISA_{}", self.upper(), isa.name.to_ascii_uppercase())
    }

    /// The enumerator of the baseline.
    fn baseline(&self) -> String {
        match self.instead().next() {
            None => self.enumerator(self.isas[0].isa),
            Some(_) => format!("{}_BASELINE", self.upper()),
        }
    }

    /// The fallback for a missing instruction set, in words.
    fn fallback(&self) -> String {
        match self.instead().next() {
            None => self.enumerator(self.isas[0].isa),
            Some(_) => "the one of the compiler's target".to_owned(),
        }
    }

    /// The parameters of `step`, after `self`. The pair that may share one array is not restricted.
    fn step_params(&self, restrict: &str) -> String {
        let pair = self.interface.in_place();
        let restrict = |field: &Field| match pair {
            Some((input, output)) if field == input || field == output => "",
            _ => restrict,
        };
        let param = |StepTensor { field, written, .. }: StepTensor<'_>| {
            let constant = if written { "" } else { "const " };
            format!(", {constant}{} *{}{}", spelling(field.element).c, restrict(field), field.name)
        };
        self.interface.step_tensors().map(param).collect()
    }

    /// The words for all items.
    pub(super) fn words(&self) -> Vec<Word> {
        let mut words = self.words_of_weights();
        words.extend(self.words_of_calls());
        words.extend(self.words_of_steps());
        words.extend(self.words_of_tensors());
        words.extend(self.words_of_isas());
        words.extend(self.names_and_sizes());
        words
    }

    /// The words for packed weights and initial states.
    fn words_of_weights(&self) -> Vec<Word> {
        let (parameter, argument) = match self.is_baked() {
            true => (String::new(), ""),
            false => (format!(", const {}_packed *packed", self.prefix()), ", packed"),
        };
        let several_packed = if self.interface.takes_weights() { "self->packed, " } else { "" };
        let initials = |text: &str| if self.loads_initials() { text } else { "" }.to_owned();
        let filled_by = if self.interface.weights.is_empty() { "load" } else { "pack" };
        let head = self.packed.loaded.as_ref().map(Loaded::head).unwrap_or_default();
        let head: Vec<_> = head.as_flattened().iter().map(|byte| format!("{byte:#04x}")).collect();
        let is_plain = self.interface.block_len == 0 && self.interface.variables.is_empty();
        vec![
            ("MEMBER_ALIGNED", self.member_aligned(true)),
            ("ORDER_ALIGNED", self.member_aligned(is_plain)),
            ("SEVERAL_PACKED ", several_packed.to_owned()),
            (" INITIALS_PARAMETER", initials(&parameter)),
            (" INITIALS_ARGUMENT", initials(", self->packed")),
            ("FILLED_BY", filled_by.to_owned()),
            ("LOADED_HEAD", head.join(", ")),
            (" PACKED_PARAMETER", parameter),
            (" PACKED_ARGUMENT", argument.to_owned()),
        ]
    }

    /// The words for calls of the step's function.
    fn words_of_calls(&self) -> Vec<Word> {
        let run = self.body_signature().spelled(|argument| match argument {
            Argument::Pool | Argument::Packed => format!("self->{}", argument.name()),
            Argument::Memory(memory) => format!("&self->{}", memory.name()),
            Argument::Inputs(_) | Argument::Outputs(_) => format!("&{}", argument.name()),
        });
        let alone = self.isas[0].isa;
        // the function for a step of the struct, and its first argument
        let advances = self.advances() && !self.steps_by_run();
        let (stepped, chosen) = match (self.interface.has_isas(), advances) {
            (false, false) => ("run".to_owned(), ""),
            (false, true) => (format!("run_{}", self.named(alone).name), ""),
            (true, false) => ("run_on".to_owned(), "self->isa, "),
            (true, true) => ("advance".to_owned(), "self->isa, "),
        };
        vec![
            ("RUN_PARAMETERS", self.params(&self.signature())),
            ("ADVANCE_PARAMETERS", self.params(&self.body_signature())),
            ("ADVANCE_NAMES", self.body_signature().names()),
            ("ADVANCE_ARGUMENTS", format!("{chosen}{run}")),
            ("ADVANCE", format!("{}_{stepped}", self.prefix())),
            ("RUN_NAMES", self.signature().names()),
            ("ONE_BODY", self.named(alone).name.to_owned()),
            ("LINKAGE", if self.interface.takes_memory { "" } else { "static " }.to_owned()),
            ("ONE_NAME", alone.name.to_owned()),
        ]
    }

    /// The words for calls with several steps.
    fn words_of_steps(&self) -> Vec<Word> {
        // MISRA C:2012 wants factors of one type (10.4)
        let cast = if self.extensions() { "" } else { "(size_t)" };
        let steps = |StepTensor { field, each_step, .. }: StepTensor<'_>| match each_step {
            true => format!(", {} + steps_done * {cast}{}", field.name, self.size(field)),
            false => format!(", {}", field.name),
        };
        // places of tensors that differ from step to step
        let step_places = |StepTensor { field, written, each_step }: StepTensor<'_>| {
            let role = if written { "outputs" } else { "inputs" };
            each_step.then(|| {
                format!("{role}.{0} = {0} + steps_done * {cast}{1};", field.name, self.size(field))
            })
        };
        let state_places = |(state, output): (&Field, &Field)| {
            let swapped = |role: &str, field: &Field, odd: &str, even: &str| {
                format!("{role}.{} = steps_done % 2u != 0u ? {odd} : {even};", field.name)
            };
            let held = format!("self->{}", state.name);
            [
                swapped("inputs", state, &held, &output.name),
                swapped("outputs", output, &output.name, &held),
            ]
        };
        let step_places: Vec<_> = self.interface.step_tensors().filter_map(step_places).collect();
        let step_places = [step_places, self.states().flat_map(state_places).collect()].concat();
        let copied = |held_from_output: bool| {
            let copied = |(state, output): (&Field, &Field)| {
                let held = format!("self->{}", state.name);
                let (to, from) =
                    if held_from_output { (&held, &output.name) } else { (&output.name, &held) };
                self.copied(to, from, state)
            };
            self.states().map(copied).collect::<Vec<_>>().join(STEPS_INDENT)
        };
        let names = |StepTensor { field, .. }: StepTensor<'_>| format!(", {}", field.name);
        let several = |fields: &[Field]| {
            let place = |f: &Field| format!(".{0} = {0} + steps_done * {1}", f.name, self.size(f));
            fields.iter().map(place).collect::<Vec<_>>().join(", ")
        };
        vec![
            (" STEPS_NAMES", self.interface.step_tensors().map(names).collect()),
            ("STEPS_PLACES", step_places.join(STEPS_INDENT)),
            ("STEPS_KEEP", copied(true)),
            ("STEPS_GIVE", copied(false)),
            ("SEVERAL_INPUTS", several(&self.interface.inputs)),
            ("SEVERAL_OUTPUTS", several(&self.interface.outputs)),
            (" STEPS_ARGUMENTS", self.interface.step_tensors().map(steps).collect()),
        ]
    }

    /// The words for inputs and outputs.
    fn words_of_tensors(&self) -> Vec<Word> {
        let place = |field: &Field| {
            format!(".{0} = {1}{0}", field.name, if self.is_kept(field) { "self->" } else { "" })
        };
        let flushed_place = |field: &Field| match self.is_flushed_before(field) {
            true => format!(".{0} = flushed_{0}", field.name),
            false => format!(".{0} = inputs->{0}", field.name),
        };
        let flushed_places: Vec<_> = self.interface.inputs.iter().map(flushed_place).collect();
        let places = |fields: &[Field]| fields.iter().map(place).collect::<Vec<_>>().join(", ");
        vec![
            ("INPUT_PLACES", places(&self.interface.inputs)),
            ("OUTPUT_PLACES", places(&self.interface.outputs)),
            ("FLUSHED_PLACES", flushed_places.join(", ")),
        ]
    }

    /// The words for instruction sets and memory.
    fn words_of_isas(&self) -> Vec<Word> {
        let stateless = self.interface.states.is_empty() && self.interface.variables.is_empty();
        let copies =
            self.interface.in_place.map_or_else(String::new, |pair| pair.copied(self.isas));
        let quoted: Vec<_> = self.isas.iter().map(|own| format!("\"{}\"", own.isa.name)).collect();
        vec![
            ("BASELINE", self.baseline()),
            ("FALLBACK", self.fallback()),
            ("BLOCK_FLOATS", counted(Element::F32, self.interface.block_len).to_owned()),
            ("MEMORY_HOLDS", self.memory_holds().to_owned()),
            (" NO_STATE", if stateless { " (it has none)" } else { "" }.to_owned()),
            ("COPIES", copies),
            ("ON_THE_STACK", self.on_the_stack()),
            ("IS_SMALL", is_small("values[i]", self.extensions())),
            ("PROCESSORS;\n", self.processors_asked()),
            ("QUOTED_ISAS", quoted.join(", ")),
        ]
    }

    /// The lists for texts in C.
    pub(super) fn lists(&self) -> Vec<List> {
        // `available`: the last instruction set of each processor. `asked`: each instruction set,
        // with `#if` before the first and `#endif` after the last one of a condition
        let (mut available, mut asked, all) =
            (Vec::new(), Vec::new(), self.asked().collect::<Vec<_>>());
        for processor in self.processors() {
            let word = if available.is_empty() { "#if" } else { "#elif" };
            let isas: Vec<_> = self.asked_of(processor).collect();
            let condition =
                self.condition(isas[0]).expect("emit: what is asked for stands under a condition");
            available.push(
                [
                    self.isa(isas[isas.len() - 1]),
                    vec![("CONDITION", format!("{word} {condition}"))],
                ]
                .concat(),
            );
        }
        for same in all.chunk_by(|a, b| a.condition() == b.condition()) {
            let condition =
                self.condition(same[0]).expect("emit: what is asked for stands under a condition");
            asked.extend(same.iter().enumerate().map(|(at, isa)| {
                let before = if at == 0 { format!("#if {condition}\n") } else { String::new() };
                let after = if at == same.len() - 1 { "#endif\n" } else { "" };
                [self.isa(isa), vec![("BEFORE\n", before), ("AFTER\n", after.to_owned())]].concat()
            }));
        }
        let (mut baselines, mut word) = (Vec::new(), "#if");
        for (isa, condition) in self.instead() {
            baselines.push(
                [
                    self.isa(isa),
                    vec![("CONDITION\n", format!("{word} {}\n", self.asked_as(condition)))],
                ]
                .concat(),
            );
            word = "#elif";
        }
        let instead = !baselines.is_empty();
        let condition = if instead { "#else\n" } else { "" };
        baselines.push(
            [self.isa(self.isas[0].isa), vec![("CONDITION\n", condition.to_owned())]].concat(),
        );
        let flushed = |field: &Field| tensors::words(field, &self.upper());
        let mut lists = vec![
            ("flushed", self.flushed_before().map(flushed).collect()),
            (
                "flushed in the struct",
                self.flushed_before().filter(|_| !self.steps_by_run()).map(flushed).collect(),
            ),
            ("available", available),
            ("asked", asked),
            when("instead", instead),
            when("several bodies", self.bodies().nth(1).is_some()),
            ("baselines when instead", if instead { baselines } else { Vec::new() }),
        ];
        lists.extend(self.chosen_baselines());
        lists.push(("model's files", digests(&self.sha256)));
        lists.push(("host", host_constants(self.interface)));
        lists.extend(common::lists(self));
        lists.extend(streams::lists(self));
        lists.extend(self.contents.lists(self));
        lists
    }

    /// True if the struct's step calls the pure function, which is the file's only body: for
    /// networks so small that the copy of a state costs nothing.
    pub(super) fn steps_by_run(&self) -> bool {
        let steps_by_run = matches!(self.isas, [own] if own.isa.code.steps_by_run);
        steps_by_run && self.interface.has_memory() == self.interface.takes_memory
    }

    /// A sentence on the scratch memory of the pure function, if it comes from the stack.
    fn on_the_stack(&self) -> String {
        let holds_memory = self.interface.has_memory() && !self.interface.takes_memory;
        match holds_memory.then_some(self.interface.block_len) {
            None | Some(0) => String::new(),
            Some(floats) => {
                format!(" Its {} bytes of scratch memory are on the stack.", floats * 4)
            }
        }
    }

    /// The contents of the struct of state and scratch memory.
    fn memory_holds(&self) -> &'static str {
        match (
            self.interface.variables.is_empty() && !self.interface.layout.alternates,
            self.interface.block_len,
        ) {
            (true, _) => "Scratch memory of a step, which keeps nothing",
            (false, 0) => "The state between steps",
            (false, _) => "The state between steps, and scratch memory",
        }
    }

    /// The list of bodies for the baseline, each under the conditions of the instruction sets that
    /// share the body; and a list that has an entry if there are conditions.
    fn chosen_baselines(&self) -> [List; 2] {
        let fallback = self.isas[0].isa;
        let mut chosen: Vec<(&'static Isa, Vec<String>)> = Vec::new();
        for (isa, condition) in self.instead() {
            match chosen.last_mut().filter(|(last, _)| self.named(last) == self.named(isa)) {
                Some((_, conditions)) => conditions.push(self.asked_as(condition)),
                None => chosen.push((isa, vec![self.asked_as(condition)])),
            }
        }
        chosen.pop_if(|(last, _)| self.named(last) == self.named(fallback));
        let mut words: Vec<_> = chosen
            .iter()
            .enumerate()
            .map(|(at, (isa, conditions))| {
                let word = if at == 0 { "#if" } else { "#elif" };
                [
                    self.isa(isa),
                    vec![("CONDITION\n", format!("{word} {}\n", conditions.join(" || ")))],
                ]
                .concat()
            })
            .collect();
        let has_conditions = !words.is_empty();
        let otherwise = if has_conditions { "#else\n" } else { "" };
        words.push([self.isa(fallback), vec![("CONDITION\n", otherwise.to_owned())]].concat());
        if !self.interface.has_isas() {
            words.clear();
        }
        [("baselines when chosen", words), when("chosen by conditions", has_conditions)]
    }

    /// The alignment specifier of a struct's first member.
    fn member_aligned(&self, is_first: bool) -> String {
        let is_aligned = is_first && self.program.alignment > 4;
        if is_aligned { format!("{}_ALIGNED ", self.upper()) } else { String::new() }
    }

    /// An item of a text, with long statements wrapped. The item `function` is wrapped later, with
    /// the file.
    pub(super) fn item(&self, text: &'static str, name: &str) -> String {
        let restrict = if text == HEADER {
            format!("{}_RESTRICT ", self.upper())
        } else {
            "restrict ".to_owned()
        };
        let words = [
            self.words(),
            vec![(" STEP_PARAMETERS", self.step_params(&restrict))],
            common::words(self),
            streams::words(self),
        ]
        .concat();
        let text = listed(part(text, name), &self.lists(), &words);
        if name == "function" { text } else { wrap::lines(&text) }
    }

    /// The instruction sets detected on a processor, best last.
    fn asked_of(&self, processor: &'static Processor) -> impl Iterator<Item = &'static Isa> + '_ {
        self.asked().filter(move |isa| {
            isa.question().is_some_and(|asked| std::ptr::eq(asked.processor, processor))
        })
    }

    /// The functions that detect features of processors.
    fn processors_asked(&self) -> String {
        let mut out = String::new();
        for processor in self.processors() {
            let condition = self.asked_of(processor).next().and_then(|isa| self.condition(isa));
            let set = |isa: &'static Isa| {
                let features = processor.c_features[usize::from(self.has_halves_among_weights())];
                let words = [("PREFIX", self.prefix()), ("FEATURES", features)];
                let c = filled(isa.question().map_or("", |question| question.c), &words);
                let enumerator = self.enumerator(isa);
                let mut out = String::new();
                let guard = self.condition(isa).filter(|guard| Some(guard) != condition.as_ref());
                let text = format!(
                    "        if ({c}) {{\n            have |= 1u << {enumerator};\n        }}\n"
                );
                guarded(&mut out, guard.as_deref(), &text);
                out
            };
            let words = [
                ("PREFIX", self.prefix()),
                ("CONDITION", condition.as_deref().unwrap_or("1")),
                ("BASELINE", &self.baseline()),
                ("SETS\n", &self.asked_of(processor).map(set).collect::<String>()),
            ];
            out.push_str(&filled(processor.c, &words));
        }
        out
    }
}

impl OwnWords for CFile<'_> {
    /// The last enumerator has no comma, as C++98 and -Wpedantic demand.
    fn isa(&self, isa: &'static Isa) -> Vec<Word> {
        let comma = if self.isas.last().is_some_and(|last| last.isa == isa) { "" } else { "," };
        let note = match self.condition(isa) {
            Some(_) => "",
            None if self.instead().next().is_some() => {
                " /* machines without a body of their own */"
            }
            None => " /* every machine */",
        };
        vec![
            ("ENUMERATOR_NOTED", format!("{}{comma}{note}", self.enumerator(isa))),
            ("ENUMERATOR", self.enumerator(isa)),
            ("BODY", self.named(isa).name.to_owned()),
            ("ISA", isa.name.to_owned()),
        ]
    }

    fn state(&self, state: &Field, output: &Field) -> Vec<Word> {
        let (pointer, size) = (format!("self->{}", state.name), self.size(state));
        vec![
            ("RESET", self.zeroed(&pointer, (&size, state.len()))),
            ("KEEP", self.copied(&pointer, &output.name, state)),
        ]
    }

    fn variable(&self, at: usize, variable: &Field) -> Vec<Word> {
        let (pointer, size) = (format!("state->{}", variable.name), self.size(variable));
        let from = |at| weights::address(self, Element::F32, at);
        let reset = match self.initial(variable) {
            None => self.zeroed(&pointer, (&size, variable.len())),
            Some(Initial { at, len, repeat: 1 }) if len == variable.len() => {
                self.copied(&pointer, &from(at), variable)
            }
            Some(Initial { at, len, repeat }) => {
                let stored =
                    if repeat > 1 { format!("i / {repeat}") } else { format!("i % {len}") };
                format!(
                    "for (size_t i = 0; i < {}; i++) {{ {pointer}[i] = ({})[{stored}]; }}",
                    variable.len(),
                    from(at)
                )
            }
        };
        let line = self.interface.layout.delay_lines.get(&variable.index);
        let note = line.map_or_else(String::new, |line| format!(" /* {line} */"));
        vec![
            ("RESET", reset),
            ("FIRST_ALIGNED", self.member_aligned(at == 0 && self.interface.block_len == 0)),
            ("LAID_OUT", note),
        ]
    }

    fn in_place(&self, input: &Field, _output: &Field) -> Vec<Word> {
        vec![("COPY", self.copied(&format!("{}_copy", self.prefix()), &input.name, input))]
    }
}

/// Writes the header.
pub(super) fn header(out: &mut String, file: &CFile<'_>) {
    let mut summary = file.summary.to_vec();
    summary.push(format!(
        "Generated by cellc {}. The source has the equations, the error bounds and the model's \
         hash.",
        env!("CARGO_PKG_VERSION")
    ));
    summary.extend(file.estimate.iter().cloned());
    block_comment(out, "", &summary);
    for item in file.items(Language::C) {
        let name = match item {
            Item::InstructionSets => "isa",
            Item::Inputs => "inputs",
            Item::Outputs => "outputs",
            Item::GivenWeights => "given weights",
            Item::Packed => "packed",
            Item::Pack => "pack",
            Item::Load => "load",
            Item::Memory => "memory",
            Item::Pool => {
                out.push_str(&pool::header(file));
                continue;
            }
            Item::Function => "function",
            Item::Struct => "struct",
            Item::Steps => "steps",
            Item::Streams => "streams",
            Item::StepInputs | Item::UnequalSteps => unreachable!("emit: C has no {item:?}"),
        };
        out.push_str(&file.item(HEADER, name));
    }
    out.push_str(&file.item(HEADER, "end"));
}

/// The pure function of a file whose only body is this function. `lists`: the lists of the body.
pub(super) fn run_alone(file: &CFile<'_>, lists: &[List]) -> String {
    let flush = match file.flushed_before().next() {
        Some(_) => file.item(SOURCE, "flush"),
        None => String::new(),
    };
    let lists = [lists.to_vec(), file.lists()].concat();
    flush + &listed(part(SOURCE, "function alone"), &lists, &file.words())
}

/// Writes the functions that the header declares.
pub(super) fn source(out: &mut String, file: &CFile<'_>) {
    let (items, flushes) = (file.items(Language::C), file.flushed_before().next().is_some());
    let has = |item| items.contains(&item);
    let steps_by_run = file.steps_by_run();
    // the function that sets the memory precedes the functions of the struct, which call them
    let texts = [
        ("declared", true),
        ("isa", file.interface.has_isas()),
        ("flush", flushes && !steps_by_run),
        ("load", has(Item::Load)),
        ("function", has(Item::Function) && !steps_by_run),
        ("memory", file.interface.sets_memory()),
        ("struct", has(Item::Struct)),
        ("several", file.interface.layout.steps_at_once > 1),
        ("steps", has(Item::Steps)),
        ("streams", has(Item::Streams)),
    ];
    for (name, _) in texts.into_iter().filter(|(_, is_wanted)| *is_wanted) {
        out.push_str(&file.item(SOURCE, name));
    }
    out.push_str(&common::source(file));
}
