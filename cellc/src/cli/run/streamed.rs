//! Runs calls of a model with an open number of steps and a state kept between calls. The steps run
//! one by one, as in generated code.

use std::path::PathBuf;

use super::{KeptStates, Results, limits, say_beyond, wanted_outputs};
use crate::cli::calls::{self, Expected};
use crate::cli::progress::Progress;
use crate::cli::{Failure, report};
use crate::compile::core_model;
use crate::compile::{self, Compilation};
use crate::core::{CoreModel, StatePair};
use crate::emit::names::Field;
use crate::harness::{Executable, Harness, InputElements, Variables};
use crate::model::{Model, SizesOf, Tensor};
use crate::request::Options;

/// Calls with a state kept between them.
pub(super) struct Streamed<'a> {
    pub(super) model: &'a Model,
    /// Options for code with states as arguments.
    pub(super) options: &'a Options,
    /// Options for code with states in a struct.
    pub(super) keeping: &'a Options,
    pub(super) expected: &'a [Expected],
    /// The files of each call.
    pub(super) calls: &'a [Vec<Option<PathBuf>>],
    pub(super) kept: KeptStates,
}

/// Stores an output of one step at the given places of the call's output. `None`: the output has no
/// axis of steps, and the last step's values remain.
fn put(whole: &mut Vec<f32>, values: &[f32], places: Option<Vec<usize>>) {
    match places {
        Some(places) => places.iter().zip(values).for_each(|(&index, &value)| whole[index] = value),
        None => *whole = values.to_vec(),
    }
}

impl Streamed<'_> {
    /// Runs every call.
    pub(super) fn run(
        mut self,
        results: &mut Results<'_>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        progress.stage("compiling");
        let compilation = compile::compile(self.model, self.keeping)?;
        progress.suspend(|| report(&compilation.warnings));
        results.wanted = wanted_outputs(&compilation, &results.arguments.output)?;
        let mut harness =
            Executable::temporary(&compilation)?.start(results.arguments.execute.isa.as_deref())?;
        progress.count("running", self.calls.len());
        let limits = limits(&compilation.model);
        for k in 0..self.calls.len() {
            for limit in &limits {
                if let Some(path) = &self.calls[k][limit.parameter] {
                    let numbers = InputElements::from_tensor(&calls::read(
                        path,
                        &self.expected[limit.parameter],
                    )?);
                    progress.suspend(|| say_beyond(limit, &numbers, path));
                }
            }
            self.call(k, &mut harness, &compilation, results)?;
            progress.advance();
        }
        Ok(())
    }

    /// Runs the steps of one call.
    fn call(
        &mut self,
        k: usize,
        harness: &mut Harness,
        compilation: &Compilation,
        results: &mut Results<'_>,
    ) -> Result<(), Failure> {
        let Compilation { model, interface, .. } = compilation;
        let files = &self.calls[k];
        let steps = calls::steps_of_call(files, self.expected, model)?;
        let read =
            |(path, expected): (&Option<PathBuf>, &Expected)| -> Result<Option<Tensor>, Failure> {
                path.as_deref().map(|path| Ok(calls::read(path, expected)?)).transpose()
            };
        let given =
            files.iter().zip(self.expected).map(read).collect::<Result<Vec<_>, Failure>>()?;
        // files for all states begin a new sequence
        let begins = k == 0
            || model.states.iter().all(|pair| given[pair.parameter].is_some())
                && !model.states.is_empty();
        let shapes = self.result_shapes(&given, model, steps)?;
        let mut whole: Vec<Vec<f32>> =
            shapes.iter().map(|shape| vec![0.0; shape.iter().product()]).collect();
        let numbers: Vec<Option<(InputElements, Vec<usize>)>> = given
            .iter()
            .map(|tensor| {
                tensor.as_ref().map(|t| (InputElements::from_tensor(t), t.shape().to_vec()))
            })
            .collect();
        let mut fed: Vec<(StatePair, Vec<f32>)> = Vec::new();
        for step in 0..steps {
            let input = |(i, given): (usize, &Option<(InputElements, Vec<usize>)>)| match (
                fed.iter().find(|(pair, _)| pair.parameter == i),
                given,
            ) {
                (Some((_, values)), _) => InputElements::Floats(values.clone()),
                (None, Some((numbers, shape))) => {
                    calls::one_step(numbers, shape, &model.parameters[i].shape, step)
                }
                (None, None) => self.kept.value(i),
            };
            let inputs: Vec<InputElements> = numbers.iter().enumerate().map(input).collect();
            let variables = if begins && step == 0 { Variables::Initial } else { Variables::Kept };
            let outcome = harness.call(&inputs, true, variables)?;
            fed = model
                .states
                .iter()
                .map(|pair| (*pair, outcome.results[pair.result].clone()))
                .collect();
            for (result, values) in outcome.results.iter().enumerate() {
                self.kept.take(result, values);
                let is_each = model.steps.as_ref().is_some_and(|steps| steps.results[result]);
                let places = calls::places(&shapes[result], &model.results[result].shape, step)
                    .filter(|_| is_each);
                put(&mut whole[result], values, places);
            }
        }
        let fields: &[Field] = &interface.outputs;
        fields.iter().for_each(|field| {
            results.add(k, field, &shapes[field.index], &whole[field.index], fields)
        });
        Ok(())
    }

    /// The output shapes of a call of `steps` steps with these inputs.
    fn result_shapes(
        &self,
        given: &[Option<Tensor>],
        one: &CoreModel,
        steps: usize,
    ) -> Result<Vec<Vec<usize>>, Failure> {
        if self.model.sizes == SizesOf::Sample {
            let count = (steps > 1).then_some(steps);
            let samples = |shape: &Vec<usize>| count.iter().chain(shape).copied().collect();
            return Ok(one.results.iter().map(|result| samples(&result.shape)).collect());
        }
        let shape = |(i, tensor): (usize, &Option<Tensor>)| {
            tensor
                .as_ref()
                .map_or_else(|| one.parameters[i].shape.clone(), |tensor| tensor.shape().to_vec())
        };
        let shapes: Vec<Vec<usize>> = given.iter().enumerate().map(shape).collect();
        let mut model = self.model.clone();
        let options = calls::fix_shapes(&mut model, self.options, &shapes);
        let (valid, _) = core_model(&model, &options)?;
        Ok(valid.results.into_iter().map(|result| result.shape).collect())
    }
}
