//! `cellc check`: compares generated code with the float64 reference, the stated error bound, and
//! recorded outputs.

mod compared;
mod costs;
mod distance;
mod inputs;
mod json;
mod print;
mod recording;
mod table;

use crate::bound::{self, Profile};
use crate::compile::{self, Compilation};
use crate::core::CoreModel;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::emit::names::Field;
use crate::free_run::{INTEGER_STEPS, IntegerRuns, STEPS, layers_in_integers};
use crate::front::read_model::ReadModel;
use crate::harness::{Executable, InputElements, Variables};
use crate::reference::{Outcome, initial_variables, reference};
use crate::request::{Precision, Range};

use super::arguments::{CheckArguments, MaxError};
use super::progress::Progress;
use super::stdio::write_stdout;
use super::{Failure, report};
use costs::Costs;
use inputs::{Inputs, Source};
use recording::Recording;
use table::Table;

/// Errors and costs of a model in one precision.
struct Checked {
    precision: Precision,
    compilation: Compilation,
    /// The instruction set of the run.
    isa: String,
    /// True if the instruction set fuses multiply-add.
    fused: bool,
    steps: usize,
    /// One table per result, then one per variable.
    tables: Vec<Table>,
    costs: Costs,
    /// The largest magnitudes of recorded inputs and states; `None` if inputs are drawn.
    recorded_range: Option<Range>,
}

impl Checked {
    /// True if states or variables are kept between steps.
    fn keeps(&self) -> bool {
        keeps(&self.compilation.model)
    }

    fn is_broken(&self) -> bool {
        self.tables.iter().any(|table| table.broken > 0)
    }
}

/// Runs the steps in each requested precision and prints the report. Fails if an error exceeds its
/// bound or `--max-error`.
pub(crate) fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let progress = Progress::start("reading the model");
    let ReadModel { mut model, problems: warnings } = arguments.model.read()?;
    progress.suspend(|| report(&warnings));
    let mut options = arguments.options().with_name(Some("model".to_owned()));
    let mut source = match Recording::open(arguments, &mut model, &mut options)? {
        Some(recording) => Source::Recorded(recording),
        None if !arguments.output.is_empty() => {
            return Err(Failure::Usage(
                "--output is what was recorded for given inputs: add --input or --inputs".into(),
            ));
        }
        None if arguments.threshold.is_some() => {
            return Err(Failure::Usage(NOTHING_RECORDED.into()));
        }
        None => Source::Drawn { seed: arguments.seed, range: arguments.range },
    };
    let precisions = arguments.model.precisions();
    let mut found: Vec<Checked> = Vec::new();
    for &precision in &precisions {
        let options = options.clone().with_precision(precision);
        progress.stage("compiling");
        let compilation = compile::compile(&model, &options)?;
        // each warning once, before errors about the files of inputs
        let known = found.first().map_or(&[][..], |first| &first.compilation.warnings.0);
        let warnings = compilation.warnings.0.iter().filter(|warning| !known.contains(warning));
        let warnings = Diagnostics(warnings.cloned().collect());
        progress.suspend(|| report(&warnings));
        refuse_wrong_limits(&arguments.max_error, &compilation.interface.outputs)?;
        found.push(checked(arguments, compilation, &mut source, precisions.len(), &progress)?);
    }
    drop(progress);
    let text = match (arguments.json, &found[..]) {
        (true, _) => json::text(arguments, &source, &found),
        (false, [one]) => print::table(arguments, &source, one),
        (false, all) => print::precisions(arguments, &source, all),
    };
    write_stdout(text.as_bytes())?;
    let above = !too_far(&found, arguments).is_empty();
    if above || found.iter().any(Checked::is_broken) { Err(Failure::Broken) } else { Ok(()) }
}

/// The error for `--threshold` without recorded outputs.
const NOTHING_RECORDED: &str = "--threshold counts decisions that differ from a recording: add the \
    recorded outputs, --output NAME=FILE or r<k>_out<j>.npy beside the inputs";

/// The notice for a recording of calls with one step each, though the number of steps is open.
pub(in crate::cli) fn single_steps(files: usize) -> Diagnostic {
    let found = format!(
        "each of the {files} calls is a sequence of one step, which begins with the initial state"
    );
    let help = "if the recording continues from call to call, put all steps into one file for each \
        input, r0_in0.npy, along the time axis";
    Diagnostic::notice(Origin::Unknown, found).help(help)
}

/// An error above the limit of its output, or NaN.
struct TooFar<'a> {
    precision: Precision,
    output: &'a str,
    error: f64,
    /// The limit of this output.
    most: &'a MaxError,
}

fn too_far<'a>(found: &'a [Checked], arguments: &'a CheckArguments) -> Vec<TooFar<'a>> {
    let mut exceeded = Vec::new();
    for checked in found {
        for (field, table) in checked.compilation.interface.outputs.iter().zip(&checked.tables) {
            let (output, error) = (&field.name[..], table.largest_error());
            let Some(most) = limit(arguments, output) else { continue };
            if error > most.limit || error.is_nan() {
                exceeded.push(TooFar { precision: checked.precision, output, error, most });
            }
        }
    }
    exceeded
}

/// The limit of an output: the limit given with its name, else the limit of all outputs.
fn limit<'a>(arguments: &'a CheckArguments, output: &str) -> Option<&'a MaxError> {
    let largest =
        |name: Option<&str>| arguments.max_error.iter().find(|most| most.output.as_deref() == name);
    largest(Some(output)).or_else(|| largest(None))
}

/// Refuses two limits of one output, and limits of outputs that the model does not have.
fn refuse_wrong_limits(limits: &[MaxError], outputs: &[Field]) -> Result<(), Failure> {
    for (at, MaxError { output, .. }) in limits.iter().enumerate() {
        if limits[..at].iter().any(|other| other.output == *output) {
            let largest = output.as_deref().map_or_else(|| "all outputs".to_owned(), quoted);
            return Err(Failure::Usage(format!(
                "two limits of {largest} are given by --max-error"
            )));
        }
        if let Some(output) =
            output.as_deref().filter(|output| outputs.iter().all(|field| field.name != **output))
        {
            let names: Vec<&str> = outputs.iter().map(|field| &field.name[..]).collect();
            let (output, names) = (quoted(output), names.join(", "));
            return Err(Failure::Usage(format!(
                "--max-error names the output {output}; the model has: {names}"
            )));
        }
    }
    Ok(())
}

/// Runs the steps in one precision.
fn checked(
    arguments: &CheckArguments,
    compilation: Compilation,
    source: &mut Source,
    precisions: usize,
    progress: &Progress,
) -> Result<Checked, Failure> {
    if let Source::Recorded(recording) = source {
        recording.compiled(arguments, &compilation)?;
        if arguments.threshold.is_some() && !recording.has_outputs() {
            return Err(Failure::Usage(NOTHING_RECORDED.into()));
        }
        if compilation.model.steps.is_some() && recording.is_in_single_steps() {
            progress.suspend(|| report(&Diagnostics(vec![single_steps(recording.calls())])));
        }
    }
    let mut harness =
        Executable::temporary(&compilation)?.start(arguments.execute.isa.as_deref())?;
    let isa = harness.isa().to_owned();
    let fused =
        compilation.plan.isas.iter().any(|planned| planned.isa.name == isa && planned.fuses);
    let model = &compilation.model;
    let of_products = &compilation.precisions;
    let has_integers = !layers_in_integers(model, of_products).is_empty();
    let drawn = if has_integers || precisions > 1 { INTEGER_STEPS } else { STEPS };
    let steps = source.steps(arguments.steps, drawn)?;
    // the errors of each layer alone are measured for a single precision only
    let mut integers =
        (has_integers && precisions == 1).then(|| IntegerRuns::new(model, of_products));
    progress.count("checking", steps);
    let profile = &compilation.profile(fused);
    let mut run = Run::new(model, arguments.threshold);
    let mut inputs = Inputs::new(source);
    for step in 0..steps {
        run.step(step, profile, &mut inputs, source, &mut harness, integers.as_mut())?;
        progress.advance();
    }
    let mut tables = run.tables;
    for (layer, found) in integers.iter().flat_map(IntegerRuns::layers) {
        // only results that depend on the layer
        for (table, found) in tables.iter_mut().zip(found).filter(|(_, found)| found.error > 0.0) {
            table.layers.push((layer.to_owned(), *found));
        }
    }
    let recorded_range = matches!(source, Source::Recorded(_)).then_some(run.range);
    let (costs, precision) =
        (Costs::new(&compilation), compilation.options.numerics.precision.unwrap_or_default());
    Ok(Checked { precision, isa, fused, steps, tables, costs, compilation, recorded_range })
}

/// True if a model keeps states or variables between steps.
fn keeps(model: &CoreModel) -> bool {
    !model.states.is_empty() || !model.variables.is_empty()
}

/// The elements of part `i` of an outcome: the results come first, then the variables.
fn part<V>(outcome: &Outcome<V>, i: usize) -> &[V] {
    outcome.parts().nth(i).map_or(&[], Vec::as_slice)
}

/// A run of the reference and of generated code.
struct Run<'m> {
    model: &'m CoreModel,
    threshold: Option<f64>,
    tables: Vec<Table>,
    /// The parameters of a step: for generated code, and in float64 for the reference.
    given: Vec<InputElements>,
    exact: Vec<Vec<f64>>,
    /// States and variables after the last step: of the reference, and of generated code.
    exact_states: Vec<Vec<f64>>,
    own_states: Vec<Vec<f32>>,
    exact_variables: Vec<Vec<f64>>,
    own_variables: Vec<Vec<f32>>,
    /// The largest magnitudes of inputs and states so far.
    range: Range,
}

impl<'m> Run<'m> {
    fn new(model: &'m CoreModel, threshold: Option<f64>) -> Self {
        Self {
            model,
            threshold,
            tables: (0..model.results.len() + model.variables.len())
                .map(|_| Table::default())
                .collect(),
            given: vec![InputElements::Floats(Vec::new()); model.parameters.len()],
            exact: vec![Vec::new(); model.parameters.len()],
            exact_states: Vec::new(),
            own_states: Vec::new(),
            exact_variables: initial_variables(model),
            own_variables: Vec::new(),
            range: Range { x: 0.0, h: 0.0 },
        }
    }

    /// Computes one step from the reference's state, and one from the state of generated code.
    fn step(
        &mut self,
        step: usize,
        profile: &Profile,
        inputs: &mut Inputs<'_>,
        source: &Source,
        harness: &mut crate::harness::Harness,
        integers: Option<&mut IntegerRuns>,
    ) -> Result<(), Failure> {
        let model = self.model;
        let next = inputs.next(step, model, &self.exact_states, &mut self.given)?;
        let pack = next.changed.iter().any(|&i| model.parameters[i].weight);
        for i in next.changed {
            self.exact[i] = self.given[i].exact();
        }
        self.widen_range();
        if next.fresh {
            self.exact_variables = initial_variables(model);
        }
        // a step from the reference's state, rounded to f32
        let as_f32 = |values: &Vec<f64>| values.iter().map(|&v| v as f32).collect();
        let variables: Vec<Vec<f32>> = self.exact_variables.iter().map(as_f32).collect();
        let before: Vec<Vec<f64>> =
            variables.iter().map(|v| v.iter().map(|&v| f64::from(v)).collect()).collect();
        let mut expected = reference(model, &self.exact, &before);
        let bounds = bound::bound(model, profile, &self.exact, &before);
        let first = if next.fresh { Variables::Initial } else { Variables::Given(&variables) };
        let mut got = harness.call(&self.given, pack, first)?;
        for (r, table) in self.tables.iter_mut().enumerate() {
            table.one_step(step, part(&expected, r), part(&got, r), part(&bounds, r));
        }
        // a recording with states is compared with the step from the recorded states
        let brings_states =
            matches!(source, Source::Recorded(recording) if recording.gives_states(model));
        if brings_states {
            self.compare(&next.recorded, &got);
        }
        if keeps(model) && !next.fresh {
            for (s, pair) in model.states.iter().enumerate() {
                self.exact[pair.parameter] = std::mem::take(&mut self.exact_states[s]);
                self.given[pair.parameter] =
                    InputElements::Floats(std::mem::take(&mut self.own_states[s]));
            }
            expected = reference(model, &self.exact, &self.exact_variables);
            got = harness.call(&self.given, false, Variables::Given(&self.own_variables))?;
        }
        for (r, table) in self.tables.iter_mut().enumerate() {
            table.own_state(part(&expected, r), part(&got, r));
        }
        if !brings_states {
            self.compare(&next.recorded, &got);
        }
        if let Some(integers) = integers {
            integers.step(model, &self.exact, &expected, next.fresh);
        }
        self.exact_states =
            model.states.iter().map(|pair| expected.results[pair.result].clone()).collect();
        self.own_states =
            model.states.iter().map(|pair| got.results[pair.result].clone()).collect();
        self.exact_variables = expected.variables;
        self.own_variables = got.variables;
        Ok(())
    }

    /// Widens the range to the inputs and states of a step.
    fn widen_range(&mut self) {
        let held = bound::states(self.model);
        for (i, parameter) in self.model.parameters.iter().enumerate() {
            if let (InputElements::Floats(values), false) = (&self.given[i], parameter.weight) {
                let largest = if held.contains(&i) { &mut self.range.h } else { &mut self.range.x };
                *largest = values.iter().fold(*largest, |most, value| most.max(value.abs()));
            }
        }
    }

    /// Compares the results of a step with the recorded results.
    fn compare(&mut self, recorded: &[Option<Vec<f64>>], got: &Outcome<f32>) {
        for (r, recorded) in recorded.iter().enumerate() {
            let Some(recorded) = recorded else { continue };
            let columns = self.model.results[r].shape.last().copied().unwrap_or(1);
            let compared = self.tables[r].recording.get_or_insert_default();
            compared.add(recorded, &got.results[r], columns, self.threshold);
        }
    }
}
