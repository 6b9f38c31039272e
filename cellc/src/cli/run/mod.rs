//! `cellc run`: runs generated code on inputs in files.

mod grouped;
mod streamed;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::compile::{Compilation, core_model};
use crate::core::{CoreModel, CoreNode, CoreOp, IntegerInput, StatePair};
use crate::diagnostic::{Cause, Diagnostic, Diagnostics, Origin, quoted};
use crate::emit::names::Field;
use crate::files::{self, NewFile};
use crate::front::read_model::ReadModel;
use crate::harness::InputElements;
use crate::model::{ElementType, Model, Op};
use crate::request::Options;

use super::arguments::RunArguments;
use super::calls::{self, Calls, Expected, FileSteps};
use super::compile::refuse_to_overwrite_inputs;
use super::progress::Progress;
use super::stdio::cannot_write;
use super::{Failure, npy, report};
use grouped::Grouped;
use streamed::Streamed;

/// Runs every call, then writes all results.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let progress = Progress::start("reading the model");
    let ReadModel { mut model, problems: warnings } = arguments.model.read()?;
    progress.suspend(|| report(&warnings));
    let named = |options: Options| options.with_name(Some("model".to_owned()));
    let (options, keeping) = (named(arguments.options()), named(arguments.keeping_states()));

    progress.stage("reading the inputs");
    // generated code keeps a state between calls, unless files give the state
    let expected = calls::expected(&model, &keeping)?;
    let Calls { files: calls, by_field } = match &arguments.inputs {
        Some(path) => Calls::at(path, &expected)?,
        None => Calls::given(&arguments.input, &expected)?,
    };
    let kept = KeptStates::new(&model, &keeping, &expected, &calls)?;
    if calls.len() > 1 && !arguments.output.is_empty() {
        return Err(Failure::Usage(format!(
            "--output takes the result of one call, and --inputs holds {}: --outputs FOLDER takes \
             those of all",
            calls.len()
        )));
    }
    let given = arguments.output.iter().map(|(_, path)| path.as_path());
    refuse_to_overwrite_inputs(&arguments.model.files_read(&model.files), "--output", given)?;
    let has_variables =
        model.nodes.iter().any(|node| matches!(node.op, Op::ReadValue { .. } | Op::Assign { .. }));
    let keeps = has_variables || !kept.states.is_empty();
    let mut results = Results { arguments, by_field, wanted: Vec::new(), files: Vec::new() };
    let has_samples =
        expected.iter().any(|expected| matches!(expected.steps, FileSteps::Samples(_)));
    let goes_on = keeps && calls.len() > 1 && expected.iter().any(Expected::has_steps);
    if goes_on || has_samples {
        let calls = Streamed {
            model: &model,
            options: &options,
            keeping: &keeping,
            expected: &expected,
            calls: &calls,
            kept,
        };
        calls.run(&mut results, &progress)?;
        return results.write();
    }
    let calls = Grouped {
        model: &mut model,
        options: &options,
        expected: &expected,
        calls: &calls,
        kept,
        keeps,
    };
    calls.run(&mut results, &progress)?;
    results.write()
}

/// The results of all calls, written after the last call.
struct Results<'a> {
    arguments: &'a RunArguments,
    /// True if a file was assigned to an input by name instead of by index.
    by_field: bool,
    /// Indices of outputs, with their files.
    wanted: Vec<(usize, PathBuf)>,
    files: Vec<NewFile>,
}

impl Results<'_> {
    /// Adds an output of call `k`. `outputs`: all outputs.
    fn add(&mut self, k: usize, field: &Field, shape: &[usize], values: &[f32], outputs: &[Field]) {
        let bytes = Arc::new(npy::write(field.element, shape, values));
        let mut write = |path| self.files.push(NewFile { path, bytes: Arc::clone(&bytes) });
        if let Some(folder) = &self.arguments.outputs {
            write(folder.join(format!("r{k}_out{}.npy", field.index)));
            // a field may be named out1, like the file of output 1: the index takes precedence
            let is_place = (0..outputs.len()).any(|j| field.name == format!("out{j}"));
            if self.by_field && !is_place {
                write(folder.join(format!("r{k}_{}.npy", field.name)));
            }
        }
        let wanted = self.wanted.iter().filter(|(j, _)| *j == field.index);
        wanted.for_each(|(_, path)| write(path.clone()));
    }

    fn write(self) -> Result<(), Failure> {
        if let Some(folder) = &self.arguments.outputs {
            fs::create_dir_all(folder).map_err(|error| cannot_write(folder, error))?;
        }
        files::write_all(&self.files)?;
        Ok(())
    }
}

/// Indices of the outputs to write, with their files.
fn wanted_outputs(
    compilation: &Compilation,
    given: &[(String, PathBuf)],
) -> Result<Vec<(usize, PathBuf)>, Failure> {
    let outputs = compilation.model.results.iter().zip(&compilation.interface.outputs);
    let names: Vec<_> =
        outputs.map(|(result, field)| (&result.names[..], &field.name[..])).collect();
    let mut wanted: Vec<(usize, PathBuf)> = Vec::new();
    for (name, path) in given {
        if wanted.iter().any(|(_, other)| other == path) {
            return Err(Failure::Usage(format!(
                "two outputs are to be written to {}",
                path.display()
            )));
        }
        wanted.push((
            calls::named(&names, name, "out").map_err(|wrong| wrong.help("correct --output"))?,
            path.clone(),
        ));
    }
    Ok(wanted)
}

/// The range of an integer input in generated code. Numbers outside are clamped.
struct IntegerLimit {
    /// Index of the input.
    parameter: usize,
    least: i64,
    most: i64,
}

fn limits(model: &CoreModel) -> Vec<IntegerLimit> {
    let of_node = |node: &&CoreNode| {
        let CoreOp::IntegerInput(IntegerInput { parameter, least, most, .. }) = node.op else {
            return None;
        };
        let declared = &model.parameters[parameter];
        // booleans have no limits; indices into a table may count from its end
        let rows = declared.rows.map(|rows| [-(rows as i64), rows as i64 - 1]);
        let [least, most] = rows.unwrap_or([least.into(), most.into()]);
        (declared.element != ElementType::Bool).then_some(IntegerLimit { parameter, least, most })
    };
    model.all_nodes().iter().filter_map(of_node).collect()
}

/// Warns about numbers of a file outside of an input's range.
fn say_beyond(limit: &IntegerLimit, numbers: &InputElements, path: &Path) {
    let &IntegerLimit { least, most, .. } = limit;
    let InputElements::Integers(all) = numbers else { return };
    let beyond = all.iter().filter(|number| !(least..=most).contains(*number)).count();
    if beyond > 0 {
        let are = if beyond == 1 { "1 number is" } else { &format!("{beyond} numbers are") };
        let found = format!(
            "{}: {are} outside of {least} to {most}, and counted as the nearest of these",
            path.display()
        );
        report(&Diagnostics(vec![Diagnostic::warning(Origin::Unknown, found)]));
    }
}

/// A state without a file in at least one call.
struct KeptState {
    /// The state's input and output.
    pair: StatePair,
    shape: Vec<usize>,
    /// Value at the start of the next call.
    value: Vec<f32>,
}

/// States kept from call to call. They start at zero.
#[derive(Default)]
struct KeptStates {
    states: Vec<KeptState>,
}

impl KeptStates {
    /// Finds the states without a file in some call, and reports them in a notice.
    fn new(
        model: &Model,
        keeping: &Options,
        expected: &[Expected],
        calls: &[Vec<Option<PathBuf>>],
    ) -> Result<Self, Failure> {
        let mut kept = Self::default();
        let is_missing = |i: usize| calls.iter().any(|call| call[i].is_none());
        if !(0..expected.len()).any(is_missing) {
            return Ok(kept);
        }
        let (valid, mut warnings) = core_model(model, keeping)?;
        warnings.0.retain(|warning| calls.len() > 1 && warning.cause == Cause::SeesOneCall);
        report(&warnings);
        for pair in valid.states {
            if is_missing(pair.parameter) {
                let shape = valid.parameters[pair.parameter].shape.clone();
                let value = vec![0.0; shape.iter().product()];
                kept.states.push(KeptState { pair, shape, value });
            }
        }
        let names = kept.states.iter().map(|state| quoted(&expected[state.pair.parameter].field));
        let names = names.collect::<Vec<_>>().join(", ");
        let found = match kept.states.len() {
            1 => format!("no file is given for the state {names}"),
            _ => format!("no files are given for the states {names}"),
        };
        let found = format!(
            "{found}: the first call starts from zero, the next ones where the call before ended"
        );
        let notice = Diagnostic::notice(Origin::Unknown, found);
        let help = "to start a call from another state, give its file with --input NAME=FILE, or \
            in the folder of --inputs";
        report(&Diagnostics(vec![notice.help(help)]));
        Ok(kept)
    }

    fn state(&self, parameter: usize) -> &KeptState {
        let mut states = self.states.iter();
        states
            .find(|state| state.pair.parameter == parameter)
            .expect("calls: only states may have no file")
    }

    fn shape(&self, parameter: usize) -> &[usize] {
        &self.state(parameter).shape
    }

    fn value(&self, parameter: usize) -> InputElements {
        InputElements::Floats(self.state(parameter).value.clone())
    }

    /// Stores the values of an output as the next values of the output's state, if there is one.
    fn take(&mut self, result: usize, values: &[f32]) {
        for state in self.states.iter_mut().filter(|state| state.pair.result == result) {
            state.value = values.to_vec();
        }
    }
}
