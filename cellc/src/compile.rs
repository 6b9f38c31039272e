//! The pipeline, on one screen. [`read`] and [`compile`] take these steps:
//!
//! 1. read: `front` reads a file, a macro or Builder calls into a [`Model`].
//! 2. check: `check` checks the options, the structure and the inputs.
//! 3. core: `translate` translates the model to core operations, a [`CoreModel`].
//! 4. stream: `stream` finds the states and writes them into the model, [`FoundStates`]; `check`
//!    reports them; `sweep` removes operations that no result or variable needs.
//! 5. steps: with an open number of steps, `stream` proves that the model of one step is enough.
//! 6. streams: `check` checks independent streams, `streams` gives tensors a row for each stream.
//! 7. numerics: the layers that stay in f32, and the precision of each product, [`Precisions`].
//! 8. check: `check` checks limits, precisions and threads.
//! 9. plan: sizes and layouts, and a target without vectors if the model fills none.
//! 10. lower: `lower` makes kernels, `pass` rewrites them, `pack` orders the weights.
//! 11. emit: `emit` spells the kernels in Rust or C.
//!
//! [`core_model`] takes steps 2 to 8, [`compile_core`] steps 9 to 11. Macros call the two one after
//! the other, and put the diagnostics of the first at the tokens of the declaration.
//!
//! Steps 2 to 4 run once for a model whose sizes are known ([`check_at_size`]). If a size is open,
//! they run for many steps and for one step too, and step 5 compares the models. Hints run the same
//! steps on changed models and options. `check` does not import this module, so [`Pipeline`] hands
//! [`check_model`] and [`check_at_size`] to the hints.

use std::mem::take;

use crate::check::{
    self, CheckContext, CheckResult, CheckedModel, Hints, OpenSteps, Outcome, Pipeline,
};
pub use crate::compilation::Compilation;
use crate::core::{CoreModel, streams, sweep};
#[cfg(feature = "builder")]
use crate::description::Description;
use crate::diagnostic::{Diagnostics, Severity};
use crate::emit::names::Interface;
use crate::front::formats::{self, ReadOptions};
use crate::front::model_file::ModelFile;
use crate::lower::lower;
use crate::model::Model;
use crate::numerics::{self, Precisions};
use crate::pack::{pack, pack_for_loading};
use crate::pass;
use crate::plan::{fills_no_vector, plan};
use crate::request::{Options, State, Threads, WeightsAs};
use crate::rules::input_sizes::InputSizes;
use crate::rules::size_limits;
use crate::rules::step_facts::StepFacts;
use crate::rules::unused::Unused;
use crate::stream::states::{FoundStates, SearchContext, find_states};
use crate::stream::steps::one_step;
use crate::summary;
use crate::translate::{TranslateInput, translate, unpack_weights_read_as_data};

/// Reads a model file of any format. Returns the model and all warnings.
///
/// # Errors
/// All errors in the files, and the errors of the model as far as it was read.
pub fn read<'a>(
    file: impl Into<ModelFile<'a>>,
    options: &ReadOptions,
) -> Result<(Model, Diagnostics), Diagnostics> {
    with_model_errors(formats::read(file, options)?)
}

/// Compiles a model.
///
/// # Errors
/// All problems of the model and the options.
pub fn compile(model: &Model, options: &Options) -> Result<Compilation, Diagnostics> {
    let (model, mut warnings) = core_model(model, options)?;
    let compilation = compile_core(model, options);
    warnings.extend(compilation.warnings);
    Ok(Compilation { warnings, ..compilation })
}

/// Checks a model, fixes every open size and translates the model to core operations. Returns the
/// core model and the warnings.
///
/// # Errors
/// All errors of the model and of the options for it, with the warnings.
pub fn core_model(
    model: &Model,
    options: &Options,
) -> Result<(CoreModel, Diagnostics), Diagnostics> {
    let pipeline = Some(Pipeline { check_model, check_at_size });
    check_model(CheckContext { model, options, is_partial: false, pipeline })
}

/// The result of a reader, if the reader found no errors.
///
/// # Errors
/// The errors of the reader, and those of the model as far as it was read.
pub fn with_model_errors(
    (model, mut problems): (Model, Diagnostics),
) -> Result<(Model, Diagnostics), Diagnostics> {
    if !problems.has_errors() {
        return Ok((model, problems));
    }
    // only a part of the model was read: sizes may be open, values may have no producer
    let options = &Options::default().with_state(State::None);
    let context = CheckContext { model: &model, options, is_partial: true, pipeline: None };
    let found = check_at_size(context, None).diagnostics.0.into_iter();
    problems.extend(Diagnostics(found.filter(|d| d.severity == Severity::Error).collect()));
    Err(problems)
}

/// Checks and translates a model: once, or for many steps and for one if a size is open.
fn check_model(context: CheckContext) -> CheckResult {
    let mut given = check_at_size(context, None);
    let outcome = match given.has_open_sizes() {
        true => stepwise(context, &given),
        false => Outcome { core: given.core.take(), diagnostics: take(&mut given.diagnostics) },
    };
    let Outcome { core, mut diagnostics } = outcome;
    let core = core.map(|core| final_core(context, core, &mut diagnostics));
    check::advised(&given, core, diagnostics)
}

/// The model of one step, for a model with open sizes.
fn stepwise(context: CheckContext, given: &CheckedModel) -> Outcome {
    let many = check_at_size(context, Some(check::distinct_steps(context.model)));
    let one = many.has_open_steps().then(|| check_at_size(context, Some(1)));
    match check::open_steps(given, &many, one) {
        Ok(OpenSteps { one_step: one, steps, time, diagnostics }) => {
            let proof = one_step(many.core(), one, steps, &time);
            check::proven(&many, &time, proof, diagnostics)
        }
        Err(diagnostics) => Outcome { core: None, diagnostics },
    }
}

/// Checks and translates a model for one size of the axes left open. `None`: open axes are errors.
fn check_at_size(context: CheckContext<'_>, open: Option<usize>) -> CheckedModel<'_> {
    let CheckContext { model, options, is_partial, .. } = context;
    let mut problems = Diagnostics::default();
    // check
    let sound = check::structure(context, &mut problems)
        .and_then(|()| check::numbers(options, &mut problems));
    let inputs = match sound {
        Some(()) => check::inputs(context, open, &mut problems),
        None => InputSizes::new(model.parameters.len(), open),
    };
    // core
    let (translated, steps) = match sound {
        Some(()) => {
            translate(TranslateInput { model, options, is_partial }, &inputs, &mut problems)
        }
        None => (None, StepFacts::default()),
    };
    // stream
    let hints = Hints { context, inputs: &inputs, steps: &steps };
    let (core, restart_warnings) =
        translated.and_then(|core| with_states(hints, core, &mut problems)).unzip();
    let mut diagnostics = check::options(options);
    diagnostics.extend(problems);
    let restart_warnings = restart_warnings.unwrap_or_default();
    CheckedModel { context, inputs, steps, core, restart_warnings, diagnostics }
}

/// The model with its states, and the warnings about layers that start anew. `None` after an error.
fn with_states(
    hints: Hints,
    mut core: CoreModel,
    diagnostics: &mut Diagnostics,
) -> Option<(CoreModel, Diagnostics)> {
    let CheckContext { model, options, .. } = hints.context;
    check::notice_batch_named_steps(hints, diagnostics);
    size_limits::interface_size(model, &core, diagnostics)?;
    unpack_weights_read_as_data(model, &mut core, diagnostics);
    let wanted = check::wanted_states(options, &core);
    let layers = &hints.steps.layers;
    let given = SearchContext { wanted, layers, sizes_of_call: model.sizes_of_call };
    let found: FoundStates = find_states(core, &given);
    let restart_warnings = check::states(hints, &found, diagnostics);
    let mut core = found.core;
    sweep(&mut core);
    Some((core, restart_warnings))
}

/// Gives the model a row for each independent stream, and marks the layers that stay f32. Reports
/// errors for models that are too large, and for options that do not fit.
fn final_core(
    context: CheckContext,
    mut core: CoreModel,
    diagnostics: &mut Diagnostics,
) -> CoreModel {
    let CheckContext { model, options, .. } = context;
    // streams
    let count = options.bindings.streams.filter(|_| !diagnostics.has_errors());
    if let Some(count) = count
        && check::streams(context, &core, count, diagnostics).is_some()
    {
        streams::repeat(&mut core, count);
        size_limits::interface_size(model, &core, diagnostics);
    }
    // numerics
    numerics::keep_convolutions_in_f32(&mut core);
    numerics::layers_in_f32(&mut core);
    let precisions = Precisions::new(&core, &options.numerics);
    // check
    check::limits_of_integers(model, &core, diagnostics);
    size_limits::total_size(model, &core, diagnostics);
    size_limits::source_size(model, context.options, &core, diagnostics);
    check::precision(context, &core, &precisions, diagnostics);
    check::threads(context, &core, diagnostics);
    check::common_interface(options, &core, diagnostics);
    check::loaded_weights(context, &core, &precisions, diagnostics);
    core
}

/// Compiles a model from [`core_model`] under the options of that call. The caller reports the
/// warnings of [`core_model`].
pub fn compile_core(model: CoreModel, options: &Options) -> Compilation {
    // numerics
    let precisions = Precisions::new(&model, &options.numerics);
    // plan
    let arch = if fills_no_vector(&model, options) {
        options.machine.target.in_scalars()
    } else {
        options.machine.target
    };
    let options = &options.clone().with_target(arch);
    let plan = plan(&model, options, &precisions);
    let mut warnings = Diagnostics::default();
    if let Some(reasons) = plan.why_no_second_thread(options) {
        warnings.push(Unused::SecondThread(reasons).warning());
    }
    // lower
    let program = pass::run(lower(&model, &plan), &model, &plan);
    let packed = match options.output.weights_as {
        WeightsAs::RunTime => pack_for_loading(&model, &program),
        _ => pack(&model, &program),
    };
    // emit: `Compilation::emit` and `Compilation::tokens` spell the kernels
    let name = options.output.name.as_deref().or(model.name.as_deref()).unwrap_or("model");
    let pool = options.machine.threads == Threads::Two;
    let mut interface = Interface::new(&model, &program, name, pool, options.output.language);
    if packed.loaded.is_some() {
        interface.load_weights();
    }
    Compilation {
        options: options.clone(),
        #[cfg(feature = "builder")]
        description: Description::new(
            &model,
            &precisions,
            options,
            &plan,
            &program,
            &packed,
            &interface,
        ),
        summary: summary::lines(&model, options),
        model,
        precisions,
        plan,
        program,
        packed,
        interface,
        warnings,
    }
}
