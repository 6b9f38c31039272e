//! Runs calls of fixed shapes: one program for all calls of equal input shapes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use super::{IntegerLimit, KeptStates, Results, limits, say_beyond, wanted_outputs};
use crate::cli::calls::{self, Expected};
use crate::cli::check::single_steps;
use crate::cli::progress::Progress;
use crate::cli::{Failure, report};
use crate::compile::{self, Compilation};
use crate::diagnostic::{Cause, Diagnostic, Diagnostics, Origin};
use crate::emit::names::Interface;
use crate::harness::{Executable, Harness, InputElements, Variables};
use crate::model::Model;
use crate::request::Options;

/// Calls of fixed shapes.
pub(super) struct Grouped<'a> {
    pub(super) model: &'a mut Model,
    pub(super) options: &'a Options,
    pub(super) expected: &'a [Expected],
    /// The files of each call.
    pub(super) calls: &'a [Vec<Option<PathBuf>>],
    pub(super) kept: KeptStates,
    /// True if states or variables go on from call to call. Otherwise the calls of one program run
    /// before the next program starts.
    pub(super) keeps: bool,
}

/// The input shapes of a call.
type CallShapes = Vec<Vec<usize>>;

/// A call: the index of its input shapes, and its index among the calls.
type CallOfShapes = (usize, usize);

/// The distinct input shapes of the calls, and the calls. Calls with equal input shapes share one
/// compilation.
fn by_shape(
    calls: &[Vec<Option<PathBuf>>],
    expected: &[Expected],
    kept: &KeptStates,
) -> Result<(Vec<CallShapes>, Vec<CallOfShapes>), Failure> {
    let mut shapes: Vec<CallShapes> = Vec::new();
    let mut order = Vec::new();
    for (k, paths) in calls.iter().enumerate() {
        let shape = |(i, path): (usize, &Option<PathBuf>)| match path {
            Some(path) => Ok(calls::read(path, &expected[i])?.shape().to_vec()),
            None => Ok(kept.shape(i).to_vec()),
        };
        let call = paths.iter().enumerate().map(shape).collect::<Result<_, Failure>>()?;
        let known = shapes.iter().position(|shapes| *shapes == call).unwrap_or_else(|| {
            shapes.push(call);
            shapes.len() - 1
        });
        order.push((known, k));
    }
    Ok((shapes, order))
}

/// Generated code for one set of input shapes, running.
struct Running {
    harness: Harness,
    interface: Interface,
    /// By output: index of the output that holds the number of valid parts. `None`: all are valid.
    parts: Vec<Option<usize>>,
    limits: Vec<IntegerLimit>,
}

impl Running {
    /// Builds and starts the program of a compilation. `isa`: the instruction set to use.
    fn start(compilation: Compilation, isa: Option<&str>) -> Result<Self, Failure> {
        let harness = Executable::temporary(&compilation)?.start(isa)?;
        let parts = compilation.model.results.iter().map(|result| result.parts).collect();
        let limits = limits(&compilation.model);
        Ok(Self { harness, interface: compilation.interface, parts, limits })
    }
}

impl Grouped<'_> {
    /// Runs every call.
    pub(super) fn run(
        mut self,
        results: &mut Results<'_>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let (shapes, mut order) = by_shape(self.calls, self.expected, &self.kept)?;
        if !self.keeps {
            order.sort();
        }
        progress.count("running", self.calls.len());
        let mut programs: BTreeMap<usize, Running> = BTreeMap::new();
        // The previous call's program, and the variables after the previous call.
        let mut before: Option<(usize, Vec<Vec<f32>>)> = None;
        for (shape, k) in order {
            if !self.keeps {
                programs.retain(|&at, _| at == shape);
            }
            let running = match programs.entry(shape) {
                Entry::Occupied(running) => running.into_mut(),
                Entry::Vacant(entry) => {
                    progress.stage("compiling");
                    let compilation = self.compiled(&shapes[shape], before.is_none(), progress)?;
                    results.wanted = wanted_outputs(&compilation, &results.arguments.output)?;
                    let isa = results.arguments.execute.isa.as_deref();
                    let running = Running::start(compilation, isa)?;
                    progress.stage("running");
                    entry.insert(running)
                }
            };
            let variables = match &before {
                None => Variables::Initial,
                Some((program, _)) if *program == shape => Variables::Kept,
                Some((_, left)) => Variables::Given(fitting(left, &running.interface, k)?),
            };
            let states = self.call(k, running, variables, results, progress)?;
            before = Some((shape, states));
            progress.advance();
        }
        Ok(())
    }

    /// Compiles the model for the input shapes of a call. Reports the warnings for the first call.
    fn compiled(
        &mut self,
        shapes: &CallShapes,
        is_first: bool,
        progress: &Progress,
    ) -> Result<Compilation, Failure> {
        let options = calls::fix_shapes(self.model, self.options, shapes);
        let compilation = compile::compile(self.model, &options)?;
        if is_first {
            let warnings = told(&compilation, self.expected, self.calls.len());
            progress.suspend(|| report(&warnings));
        }
        Ok(compilation)
    }

    /// Runs call `k`. Returns the variables after the call.
    fn call(
        &mut self,
        k: usize,
        running: &mut Running,
        variables: Variables<'_>,
        results: &mut Results<'_>,
        progress: &Progress,
    ) -> Result<Vec<Vec<f32>>, Failure> {
        let Running { harness, interface, parts, limits } = running;
        let read = |(i, path): (usize, &Option<PathBuf>)| match path {
            Some(path) => Ok(InputElements::from_tensor(&calls::read(path, &self.expected[i])?)),
            None => Ok(self.kept.value(i)),
        };
        let parameters =
            self.calls[k].iter().enumerate().map(read).collect::<Result<Vec<_>, Failure>>()?;
        for limit in limits.iter() {
            if let Some(path) = &self.calls[k][limit.parameter] {
                progress.suspend(|| say_beyond(limit, &parameters[limit.parameter], path));
            }
        }
        let outcome = harness.call(&parameters, true, variables)?;
        for (field, values) in interface.outputs.iter().zip(&outcome.results) {
            self.kept.take(field.index, values);
            let parts = parts[field.index].and_then(|said| outcome.results[said].first().copied());
            let (shape, values) = first_parts(&field.shape, values, parts);
            results.add(k, field, &shape, values, &interface.outputs);
        }
        Ok(outcome.variables)
    }
}

/// The warnings of a compilation. If the number of steps is open and every call has one step, a
/// notice about the files replaces the warning that every call starts anew.
fn told(compilation: &Compilation, expected: &[Expected], calls: usize) -> Diagnostics {
    let Compilation { model, warnings, .. } = compilation;
    let is_open = model.steps.is_none() && expected.iter().any(Expected::has_steps);
    if model.restarts.is_empty() || !is_open || calls < 2 {
        return warnings.clone();
    }
    let others = warnings.0.iter().filter(|warning| warning.cause != Cause::StartsAnew).cloned();
    Diagnostics(others.chain([single_steps(calls)]).collect())
}

/// The valid parts of an output along the first axis. `parts`: the number of valid parts; `None`:
/// all.
fn first_parts<'v>(
    shape: &[usize],
    values: &'v [f32],
    parts: Option<f32>,
) -> (Vec<usize>, &'v [f32]) {
    let (Some(parts), [most, rest @ ..]) = (parts, shape) else { return (shape.to_vec(), values) };
    let parts = (parts as usize).min(*most);
    let len = parts * rest.iter().product::<usize>();
    ([&[parts], rest].concat(), &values[..len])
}

/// The variables after the previous call, for a program with this interface.
///
/// # Errors
/// If a variable of the program has another size.
fn fitting<'a>(
    left: &'a [Vec<f32>],
    interface: &Interface,
    call: usize,
) -> Result<&'a [Vec<f32>], Diagnostic> {
    for (field, values) in interface.variables.iter().zip(left) {
        if values.len() != field.len() {
            let (name, found, shape) = (&field.name, values.len(), &field.shape);
            return Err(Diagnostic::error(
                Origin::Unknown,
                format!(
                    "call {call} needs {shape:?} of variable {name:?}, which holds {found} \
                    elements after the call before"
                ),
            )
            .help(
                "the variables' sizes follow the inputs': run calls of each shape by \
                themselves",
            ));
        }
    }
    Ok(left)
}
