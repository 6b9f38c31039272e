//! The [`Interface`] of generated code for a core model: names of tensors, memory, and constants
//! for the program around the model.

use crate::core::{CoreCell, CoreModel, Parameter, ResultValue, Steps, Variable};
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::emit::names::{
    Field, HostConstant, InPlace, Interface, Layout, Phase, STREAM_MEMBERS, Scope, StackArrays,
    StateField, StepFlags, pascal_case, prefix,
};
use crate::kernel::{AlignedArrays, BodyRef, Buffer, Element, Program, Role};
use crate::lower::element_of;
use crate::model::{ElementType, SAMPLE_RATE_KEYS, lasting};
use crate::request::Language;

impl Interface {
    /// The interface of generated code for `model`. `program`: the kernels of the model. `name`:
    /// the name chosen by the user or by the file. `pool`: see [`Interface::pool`]. `language`: the
    /// language of the generated code.
    pub fn new(
        model: &CoreModel,
        program: &Program,
        name: &str,
        pool: bool,
        language: Language,
    ) -> Self {
        let function = prefix(name, pool);
        let parameters =
            model.parameters.iter().map(|parameter| (&parameter.names[..], parameter.element));
        let (mut scope, names) = of_parameters(
            &function,
            [pool, model.steps.is_some(), model.streams.is_some()],
            parameters,
        );
        let mut inputs = Vec::new();
        let mut weights = Vec::new();
        let parameters = model.parameters.iter().zip(names).enumerate();
        for (index, (Parameter { shape, weight, element, .. }, name)) in parameters {
            let list = if *weight { &mut weights } else { &mut inputs };
            list.push(Field {
                name,
                index,
                shape: rows(model, shape),
                element: element_of(*element),
            });
        }
        let output = |(index, result): (usize, &ResultValue)| Field {
            name: scope.field(&lasting(&result.names), "out", index),
            index,
            shape: rows(model, &result.shape),
            element: element_of(result.element),
        };
        let outputs = model.results.iter().enumerate().map(output).collect::<Vec<_>>();
        let input_of = |parameter: usize| {
            let input = inputs.iter().position(|field: &Field| field.index == parameter);
            input.expect("a state is an input")
        };
        let states = model.states.iter();
        let states = states
            .map(|pair| StateField { input: input_of(pair.parameter), output: pair.result })
            .collect::<Vec<_>>();
        let variable = |(index, variable): (usize, &Variable)| Field {
            name: scope.field(std::slice::from_ref(&variable.name), "variable", index),
            index,
            shape: match program.delay_lines.get(&index) {
                Some(line) => vec![line.len()],
                None => rows(model, &variable.shape),
            },
            element: Element::F32,
        };
        let variables = model.variables.iter().enumerate().map(variable).collect();
        let phases = phases(&mut scope, program);
        let mut in_place = in_place(&inputs, &outputs, &states);
        if let Some(pair) = &mut in_place {
            let (input, output) = (inputs[pair.input].index, outputs[pair.output].index);
            let copies = |body: BodyRef<'_>| {
                body.reads_when_written(Role::Parameter(input), Role::Result(output))
            };
            pair.copies = program.bodies().any(copies);
        }
        let type_name = pascal_case(&function);
        let block_len = program.bodies.iter().map(|body| body.block_len).max().unwrap_or(0);
        let copied = in_place.filter(|pair| pair.copies).map(|pair| inputs[pair.input].len() * 4);
        let block = if takes_memory(model) { 0 } else { block_len * 4 };
        let stack = stack_arrays(program, language, copied.unwrap_or(0), block);
        let flags =
            |s: &Steps| StepFlags { inputs: s.parameters.clone(), outputs: s.results.clone() };
        let steps = model.steps.as_ref().map(flags);
        Self {
            type_name,
            function,
            inputs,
            weights,
            outputs,
            states,
            variables,
            steps,
            block_len,
            stack,
            layout: Layout {
                alternates: program.find(Role::Backwards).is_some(),
                phases,
                delay_lines: program.delay_lines.clone(),
                steps_at_once: program.steps_at_once.max(1),
                streams: model.streams,
                loads_weights: false,
            },
            isas: program.bodies.len(),
            takes_memory: takes_memory(model),
            in_place,
            pool,
            host: host(model),
        }
    }
}

/// The phases of the delay lines: one for each buffer with a step counter ([`Role::Phase`]).
fn phases(scope: &mut Scope, program: &Program) -> Vec<Phase> {
    let steps_of = |buffer: &Buffer| match buffer.role {
        Role::Phase(steps) => Some(steps),
        _ => None,
    };
    let phase = |steps: usize| {
        let name = scope.field(&[format!("phase {steps}")], "phase", steps);
        Phase { name, steps }
    };
    program.buffers.iter().filter_map(steps_of).map(phase).collect()
}

/// The shape of a tensor in the interface. With independent streams: one row for each stream.
fn rows(model: &CoreModel, shape: &[usize]) -> Vec<usize> {
    match model.streams {
        Some(streams) => vec![streams, shape[1..].iter().product()],
        None => shape.to_vec(),
    }
}

/// Bytes of arrays on the stack. `copied`: bytes of an input that a step copies. `block`: bytes of
/// scratch memory that the function keeps on the stack.
fn stack_arrays(program: &Program, language: Language, copied: usize, block: usize) -> StackArrays {
    // in Rust, the function that flushes denormals has a second copy of the flushed state
    let (aligned, copies_of_state) = match language {
        Language::C => (AlignedArrays::All, 1),
        Language::Rust => (AlignedArrays::OfVectors, 2),
    };
    let kernels = program.bodies().map(|body| body.array_bytes(aligned)).max().unwrap_or(0);
    let flushed = program.flushed_before.iter().map(|id| program.buffer(*id).len * 4);
    let flushed: usize = flushed.sum();
    StackArrays { step: kernels + copied, function: kernels + block + copies_of_state * flushed }
}

/// True if the caller gives the scratch memory of a step. A single operation that is no sequence,
/// in a model without variables, needs little scratch memory, which stays on the stack.
fn takes_memory(model: &CoreModel) -> bool {
    let is_sequence = |cell: &&CoreCell| cell.sequence.is_some();
    !model.variables.is_empty()
        || model.all_nodes().len() > 1
        || model.cells().iter().any(is_sequence)
}

/// The sample rate of the code of an amplifier model, in Hz.
fn sample_rate(model: &CoreModel) -> Option<String> {
    let of_file = || SAMPLE_RATE_KEYS.into_iter().find_map(|key| metadata_number(model, key));
    let rate = model.code_rate.map(|rate| rate as f64).or_else(of_file)?;
    (rate > 0.0).then(|| format!("{rate:?}"))
}

/// Levels in the metadata of an amplifier's file: the key, the constant, its meaning.
const LEVELS: [(&str, &str, &str); 4] = [
    ("metadata.loudness", "LOUDNESS", "The loudness of the model's output, in dB"),
    ("metadata.gain", "GAIN", "How much gain the model has, from 0 to 1"),
    ("metadata.input_level_dbu", "INPUT_LEVEL_DBU", "The level of full scale at the input, in dBu"),
    (
        "metadata.output_level_dbu",
        "OUTPUT_LEVEL_DBU",
        "The level of full scale at the output, in dBu",
    ),
];

/// The sample rate and the levels of an amplifier's file.
fn host(model: &CoreModel) -> Vec<HostConstant> {
    let rate_note = match model.code_rate {
        Some(_) => "The sample rate of this code, in Hz",
        None => "The sample rate of the model, in Hz",
    };
    let constant = |name, value, note| HostConstant { name, value, note };
    let rate = sample_rate(model).map(|value| constant("SAMPLE_RATE", value, rate_note));
    let level = |(key, name, note)| {
        metadata_number(model, key).map(|value| constant(name, format!("{value:?}"), note))
    };
    rate.into_iter().chain(LEVELS.into_iter().filter_map(level)).collect()
}

/// A finite number that the file of an amplifier gives for a key.
fn metadata_number(model: &CoreModel, key: &str) -> Option<f64> {
    let entries = model.all_nodes().into_iter().flat_map(|node| &node.ledger);
    let mut matching = entries.filter(|entry| entry.attribute == key);
    let number: f64 =
        matching.find_map(|entry| entry.text.as_ref()?.trim_matches('"').parse().ok())?;
    number.is_finite().then_some(number)
}

/// The only input and the only output that are no states, if both are f32 and have equal shapes
/// apart from axes of size 1. If all outputs are states, the model's only output may be a state.
fn in_place(inputs: &[Field], outputs: &[Field], states: &[StateField]) -> Option<InPlace> {
    let input =
        (0..inputs.len()).filter(|i| states.iter().all(|s| s.input != *i)).collect::<Vec<_>>();
    let mut output =
        (0..outputs.len()).filter(|i| states.iter().all(|s| s.output != *i)).collect::<Vec<_>>();
    if output.is_empty() {
        output = (0..outputs.len()).collect();
    }
    let ([input], [output]) = (&input[..], &output[..]) else { return None };
    let (x, y) = (&inputs[*input], &outputs[*output]);
    let sizes = |field: &Field| field.shape.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
    // Rust declares these shapes as arrays of rows
    let rows = |field: &Field| matches!(*field.shape, [n, _] if n != 1);
    let same = x.element == Element::F32
        && y.element == Element::F32
        && sizes(x) == sizes(y)
        && rows(x) == rows(y);
    same.then_some(InPlace { input: *input, output: *output, copies: false })
}

/// The field names of parameters, given by names and element types, and the scope of these fields.
fn of_parameters<'a>(
    function: &str,
    [pool, steps, streams]: [bool; 3],
    parameters: impl Iterator<Item = (&'a [String], ElementType)> + Clone,
) -> (Scope, Vec<String>) {
    let elements = parameters.clone().map(|(_, element)| element_of(element));
    let mut scope = Scope::members(function, pool, steps, elements);
    if streams {
        scope.take(STREAM_MEMBERS);
    }
    let fields = parameters
        .enumerate()
        .map(|(index, (names, _))| scope.field(&lasting(names), "in", index))
        .collect();
    (scope, fields)
}

impl Interface {
    /// The field names of parameters, given by names and element types, for a model not yet
    /// compiled under `name`. The conditions are true for a pool of threads, an open number of
    /// steps, and independent streams.
    pub fn input_fields<'a>(
        name: &str,
        [pool, steps, streams]: [bool; 3],
        parameters: impl Iterator<Item = (&'a [String], ElementType)> + Clone,
    ) -> Vec<String> {
        of_parameters(&prefix(name, pool), [pool, steps, streams], parameters).1
    }

    /// The notice that generated code has another name than `asked`, the name of `--name`
    /// (`by_option`) or of the file. `None` if the names differ only in case, underscores, or the
    /// separators of a file's name.
    pub fn renamed(&self, asked: &str, by_option: bool) -> Option<Diagnostic> {
        let plain = |text: &str| -> String {
            let kept = |c: &char| c.is_alphanumeric() || by_option && *c != '_';
            text.chars().filter(kept).flat_map(char::to_lowercase).collect()
        };
        if plain(asked) == plain(&self.function) {
            return None;
        }
        let (asked, function, type_name) = (quoted(asked), &self.function, &self.type_name);
        let (what, help) = match by_option {
            true => (format!("--name {asked} cannot be kept"), "choose another name"),
            false => (
                format!("the code cannot have the name of the file, {asked}"),
                "choose a name with --name",
            ),
        };
        let found = format!("{what}: the code is called `{function}`, its type `{type_name}`");
        let valid = "letters of ASCII, digits and _, a letter first; no word of Rust, C or C++, \
            and nothing that the generated file declares or includes; what is longer than 40 \
            characters is cut";
        Some(Diagnostic::notice(Origin::Unknown, found).valid(valid).help(help))
    }
}
