//! A compiled model with inputs, and the results of its interpreted kernels.

use std::collections::{BTreeMap, BTreeSet};

use cellc::Language;
use cellc::internals::arch::PLAIN;
use cellc::internals::compile::Compilation;
use cellc::internals::core::CoreModel;
use cellc::internals::emit::OutputFile;
use cellc::internals::emit::names::Interface;
use cellc::internals::kernel::{Role, interpret, interpret_step_block};
use cellc::internals::pack;
use cellc::internals::plan::Values as Spelled;
use cellc::internals::reference::{initial_variables, reference};

/// A compiled model and calls of it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// A unique identifier: the name of the module, of the files and of the functions.
    pub name: String,
    /// The results of all stages.
    pub compilation: Compilation,
    /// Calls of a step: every Parameter in C order, integers as f32 of the same value.
    pub calls: Vec<Vec<Vec<f32>>>,
}

/// The call that computed a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The pure function.
    Function,
    /// `step` of the struct, after its states were set.
    Step,
    /// A second `step` with the same inputs.
    SecondStep,
    /// `step` after `reset`.
    StepAfterReset,
}

impl Way {
    /// All ways, in the order in which a program calls them.
    pub const ALL: [Self; 4] = [Self::Function, Self::Step, Self::SecondStep, Self::StepAfterReset];
}

/// The identity of a result: subject, instruction set, index of the call, way, index of the result.
pub type Key = (String, String, usize, Way, usize);

/// The bits of every result. All NaNs have equal bits.
pub type Values = BTreeMap<Key, Vec<u32>>;

/// The bits by which results are compared. All NaNs are equal, because their signs and payloads
/// depend on the processor.
pub fn bits(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }
}

impl Subject {
    /// The core model.
    pub fn model(&self) -> &CoreModel {
        &self.compilation.model
    }

    /// The names of the instruction sets and whether each fuses multiply-add.
    pub fn isas(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.compilation.plan.isas.iter().map(|own| (own.isa.name, own.fuses))
    }

    /// Index, name and profile of the instruction sets whose bodies differ from all earlier bodies
    /// of the same profile. The interpreter has equal results for the others.
    pub fn distinct(&self) -> Vec<(usize, &'static str, bool)> {
        let bodies = &self.compilation.program.bodies;
        let all: Vec<_> =
            self.isas().enumerate().map(|(at, (name, fused))| (at, name, fused)).collect();
        let is_new = |(at, _, fused): &(usize, &str, bool)| {
            !all[..*at]
                .iter()
                .any(|(before, _, other)| other == fused && bodies[*before] == bodies[*at])
        };
        all.iter().copied().filter(is_new).collect()
    }

    /// The generated files.
    pub fn files(&self, language: Language) -> Vec<OutputFile> {
        self.in_language(language).emit(&self.name)
    }

    /// The compilation in a language.
    fn in_language(&self, language: Language) -> Compilation {
        let planned = self.compilation.clone().in_language(language);
        let names = |compilation: &Compilation| -> Vec<String> {
            compilation.program.bodies[0].kernels.iter().map(|kernel| kernel.name.clone()).collect()
        };
        if names(&planned) == names(&self.compilation) {
            return planned;
        }
        // a program that was made by hand has no plan: only its spelling changes
        let mut by_hand = self.compilation.clone();
        by_hand.options.output.language = language;
        by_hand.plan.values = planned.plan.values;
        by_hand
    }

    /// The subject in a language with the bodies of some of its instruction sets, always including
    /// the first. The kept bodies and the memory do not change.
    pub fn with_bodies(&self, language: Language, is_kept: impl Fn(&str) -> bool) -> Self {
        let mut compilation = self.in_language(language);
        let values = compilation.plan.values;
        let first = compilation.plan.isas[0].isa.name;
        let is_kept = |isa: &str| isa == first || is_kept(isa);
        let (isas, bodies) = (&compilation.plan.isas, compilation.program.bodies);
        let bodies = bodies.into_iter().zip(isas).filter(|(_, own)| is_kept(own.isa.name));
        compilation.program.bodies = bodies.map(|(body, _)| body).collect();
        compilation.plan.isas.retain(|own| is_kept(own.isa.name));
        // if fewer bodies would change how kernels are spelled, all bodies are kept
        if values != Spelled::new(language, &compilation.plan.isas) {
            let compilation = self.in_language(language);
            return Self { compilation, ..self.clone() };
        }
        let (model, pool) = (&compilation.model, compilation.interface.pool);
        let name = compilation.options.output.name.as_deref().or(model.name.as_deref());
        compilation.interface =
            Interface::new(model, &compilation.program, name.unwrap_or("model"), pool, language);
        Self { compilation, ..self.clone() }
    }

    /// The model's variables before the first step.
    pub fn variables(&self) -> Vec<Vec<f32>> {
        let exact = initial_variables(self.model()).into_iter();
        exact.map(|values| values.into_iter().map(|v| v as f32).collect()).collect()
    }

    /// The results of the first step by the body of one instruction set, interpreted.
    pub fn interpret(&self, isa: usize, parameters: &[Vec<f32>]) -> Vec<Vec<f32>> {
        self.interpret_from(isa, parameters, &mut self.variables())
    }

    /// Runs one step from these variables, and updates them. Returns the results.
    pub fn interpret_from(
        &self,
        isa: usize,
        parameters: &[Vec<f32>],
        variables: &mut [Vec<f32>],
    ) -> Vec<Vec<f32>> {
        let program = &self.compilation.program;
        let mut memory = self.memory(variables, STEP);
        for (buffer, contents) in program.buffers.iter().zip(&mut memory) {
            if let Role::Parameter(i) = buffer.role {
                contents.clone_from(&parameters[i]);
            }
        }
        pack::pack_memory(program, &mut memory);
        interpret(program.body(isa), &mut memory);
        for (buffer, contents) in program.buffers.iter().zip(&memory) {
            if let Role::Variable(i) = buffer.role {
                variables[i] = program.variable_values(i, contents, STEP + 1);
            }
        }
        let result =
            |i| memory[program.find(Role::Result(i)).expect("a buffer for every result").0].clone();
        (0..self.model().results.len()).map(result).collect()
    }

    /// The output of a model with one input and one output in several calls from its initial state.
    /// `calls`: the number of steps of each call. Calls of one step run the kernels of a step.
    pub fn interpret_calls(&self, isa: usize, x: &[f32], calls: &[usize]) -> Vec<f32> {
        let program = &self.compilation.program;
        let body = program.body(isa);
        let mut memory = self.memory(&self.variables(), 0);
        pack::pack_memory(program, &mut memory);
        let [input, output] = [Role::Parameter(0), Role::Result(0)]
            .map(|role| program.find(role).expect("one input and one output").0);
        let (mut x, mut y) = (x, Vec::new());
        for &steps in calls {
            let (own, rest) = x.split_at(steps * memory[input].len());
            x = rest;
            if steps == 1 {
                memory[input].copy_from_slice(own);
                interpret(body, &mut memory);
                y.extend(&memory[output]);
            } else {
                y.extend(interpret_step_block(body, &mut memory, own, steps));
            }
        }
        y
    }

    /// The memory of the program before a step, weights not packed.
    fn memory(&self, variables: &[Vec<f32>], step: usize) -> Vec<Vec<f32>> {
        let program = &self.compilation.program;
        program
            .buffers
            .iter()
            .map(|buffer| match buffer.role {
                Role::Variable(i) => program.variable_memory(i, &variables[i], step),
                Role::Phase(steps) => vec![(step % steps) as f32],
                Role::Constant(i) => {
                    let tensor = &self.model().constants[i];
                    (0..tensor.len()).map(|k| tensor.get_f32(k)).collect()
                }
                _ => vec![0.0; buffer.len],
            })
            .collect()
    }

    /// The results of one step in float64, from the variables' initial values.
    pub fn reference(&self, parameters: &[Vec<f32>]) -> Vec<Vec<f64>> {
        let parameters: Vec<Vec<f64>> =
            parameters.iter().map(|p| p.iter().map(|v| f64::from(*v)).collect()).collect();
        reference(self.model(), &parameters, &initial_variables(self.model())).results
    }

    /// The expected results of a driver on the instruction sets `on` and on the scalar body of
    /// small networks. One body is interpreted for all instruction sets that fuse multiply-add, and
    /// one for all others: their results have equal bits.
    pub fn expected(&self, on: &[&str]) -> Values {
        let mut values = Values::new();
        let mut interpreted = [None, None];
        for (index, isa, fused) in self.bodies_on(on) {
            let all: &mut Values =
                interpreted[usize::from(fused)].get_or_insert_with(|| self.every_call(index));
            for ((name, _, call, way, result), bits) in &*all {
                values.insert((name.clone(), isa.to_owned(), *call, *way, *result), bits.clone());
            }
        }
        values
    }

    /// As [`Self::expected`] for a program made by hand: its bodies differ, so each is interpreted.
    pub fn expected_of_each_body(&self, on: &[&str]) -> Values {
        self.bodies_on(on).flat_map(|(index, ..)| self.every_call(index)).collect()
    }

    /// Index, name and profile of the bodies for `on`, and of the scalar body.
    fn bodies_on(&self, on: &[&str]) -> impl Iterator<Item = (usize, &'static str, bool)> {
        let all = self.isas().enumerate().map(|(index, (isa, fused))| (index, isa, fused));
        all.filter(move |(_, isa, _)| on.contains(isa) || *isa == PLAIN.name)
    }

    /// The results of every call, by the body of one instruction set.
    fn every_call(&self, isa: usize) -> Values {
        let mut values = Values::new();
        let (name, _) = self.isas().nth(isa).expect("an instruction set");
        for (call, parameters) in self.calls.iter().enumerate() {
            let mut variables = self.variables();
            let first = self.interpret_from(isa, parameters, &mut variables);
            let (second, reset) = if self.model().states.is_empty() && variables.is_empty() {
                (first.clone(), first.clone())
            } else {
                let (mut next, mut zero) = (parameters.clone(), parameters.clone());
                for pair in &self.model().states {
                    next[pair.parameter].clone_from(&first[pair.result]);
                    zero[pair.parameter].fill(0.0);
                }
                (self.interpret_from(isa, &next, &mut variables), self.interpret(isa, &zero))
            };
            for (way, results) in Way::ALL.into_iter().zip([&first, &first, &second, &reset]) {
                for (result, lanes) in results.iter().enumerate() {
                    let key = (self.name.clone(), name.to_owned(), call, way, result);
                    values.insert(key, lanes.iter().copied().map(bits).collect());
                }
            }
        }
        values
    }
}

/// The number of the interpreted step. It is not 0, so that delay lines do not start at row 0.
const STEP: usize = 5;

/// The values of these subjects, on the instruction sets of their bodies.
pub fn of_subjects(values: &Values, subjects: &[Subject]) -> Values {
    let bodies: BTreeSet<(&str, &str)> = subjects
        .iter()
        .flat_map(|subject| subject.isas().map(|(isa, _)| (subject.name.as_str(), isa)))
        .collect();
    values
        .iter()
        .filter(|((name, isa, ..), _)| bodies.contains(&(name.as_str(), isa.as_str())))
        .map(|(key, bits)| (key.clone(), bits.clone()))
        .collect()
}

/// Compares expected values with the values of generated code.
///
/// # Panics
/// At the first difference.
pub fn assert_same(what: &str, expected: &Values, found: &Values) {
    for (key, bits) in expected {
        let Some(other) = found.get(key) else { panic!("{what}: {key:?} was not computed") };
        assert_eq!(bits.len(), other.len(), "{what}: elements of {key:?}");
        if let Some(at) = (0..bits.len()).find(|i| bits[*i] != other[*i]) {
            let (a, b) = (f32::from_bits(bits[at]), f32::from_bits(other[at]));
            panic!(
                "{what}: {key:?} element {at} is {b:e} ({:08x}), not {a:e} ({:08x})",
                other[at], bits[at]
            );
        }
    }
    let more: Vec<_> = found.keys().filter(|key| !expected.contains_key(*key)).collect();
    assert!(more.is_empty(), "{what}: computed without being asked for: {more:?}");
}
