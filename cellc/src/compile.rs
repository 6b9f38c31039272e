//! The pipeline, on one screen. [`read`] and [`compile`] take these steps:
//!
//! 1. read: `front` reads a file, a macro or Builder calls into a [`Model`].
//! 2. check: `check` checks the structure, the numbers in options and the inputs.
//! 3. core: `translate` translates the model to core operations, a [`CoreModel`].
//! 4. stream: `unpack_weights_read_as_data` excludes inputs that operations read as data from
//!    packing; `stream` finds the states and writes them into the model; `check` reports them;
//!    `sweep` removes operations that no result or variable needs; an amplifier's model of one
//!    sample takes any number of steps. Last, `check` checks options that contradict each other;
//!    its errors come first.
//! 5. steps: with an open number of steps, `stream` proves that the model of one step is enough.
//! 6. streams: `check` checks independent streams, `streams` gives tensors a row for each stream.
//! 7. numerics: the layers that stay in f32, and the precision of each product, [`Precisions`].
//! 8. check: `check` checks limits, precisions and threads.
//! 9. plan: sizes and layouts, and a target without vectors if the model fills none.
//! 10. lower: `lower` makes kernels, `pass` rewrites them, `pack` orders the weights.
//! 11. emit: the names of the file's items; the header (`description`), and later `emit`, which
//!     spells the kernels in Rust or C.
//!
//! [`checked_core`] takes steps 2 to 8, [`compile_core`] steps 9 to 11.
//!
//! Steps 2 to 4 run once for a model whose sizes are known ([`core_at_size`]). If a size is open,
//! they run for many steps and for one step too, and step 5 compares the models. Hints run the same
//! steps on changed models and options. `check` does not import this module, so [`Pipeline`] hands
//! [`checked_core`] and [`core_at_size`] to the hints.

use std::mem::take;

use crate::check::{
    self, CheckContext, CheckedCore, CoreAtSize, HintContext, OpenSteps, Outcome, Pipeline,
};
pub use crate::compilation::Compilation;
use crate::core::{CoreModel, Steps, streams, sweep};
#[cfg(feature = "builder")]
use crate::description::Description;
use crate::diagnostic::{Diagnostics, Severity};
use crate::emit::names::Interface;
use crate::front::formats::{self, ReadOptions};
use crate::front::model_file::ModelFile;
use crate::front::read_model::ReadModel;
use crate::kernel::Program;
use crate::lower::lower;
use crate::model::{Model, SizesOf};
use crate::numerics::{self, Precisions};
use crate::pack::{pack, pack_for_loading};
use crate::pass;
use crate::plan::{Plan, fills_no_vector, plan};
use crate::request::{Options, State, Threads, WeightsAs};
use crate::rules::input_sizes::InputSizes;
use crate::rules::size_limits;
use crate::rules::step_facts::StepFacts;
use crate::rules::unused::Unused;
use crate::stream::states::{SearchContext, find_states};
use crate::stream::steps::one_step;
use crate::summary;
use crate::translate::{TranslateInput, translate, unpack_weights_read_as_data};

/// Reads a model file of any format. The problems of the result are warnings.
///
/// # Errors
/// All errors in the files, and the errors of the model as far as it was read.
pub fn read<'a>(
    file: impl Into<ModelFile<'a>>,
    options: &ReadOptions,
) -> Result<ReadModel, Diagnostics> {
    with_model_errors(formats::read(file, options)?)
}

/// The result of a reader, if the reader found no errors.
///
/// # Errors
/// The errors of the reader, and those of the model as far as it was read.
pub fn with_model_errors(
    ReadModel { model, mut problems }: ReadModel,
) -> Result<ReadModel, Diagnostics> {
    if !problems.has_errors() {
        return Ok(ReadModel { model, problems });
    }
    // only a part of the model was read: sizes may be open, values may have no producer
    let options = &Options::default().with_state(State::None);
    let context = CheckContext { model: &model, options, is_partial: true, pipeline: None };
    let found = core_at_size(context, None).diagnostics.0.into_iter();
    problems.extend(Diagnostics(found.filter(|d| d.severity == Severity::Error).collect()));
    Err(problems)
}

/// Compiles a model: all passes from the check on.
///
/// # Errors
/// All problems of the model and the options.
pub fn compile(model: &Model, options: &Options) -> Result<Compilation, Diagnostics> {
    let (core, precisions, mut warnings) = core_with_precisions(model, options)?;
    let compilation = compile_core(core, precisions, options);
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
    core_with_precisions(model, options).map(|(core, _, warnings)| (core, warnings))
}

/// [`core_model`] with the precisions of the products.
fn core_with_precisions(model: &Model, options: &Options) -> CheckedCore {
    let pipeline = Some(Pipeline { checked_core, core_at_size });
    checked_core(CheckContext { model, options, is_partial: false, pipeline })
}

/// Steps 2 to 8: checks and translates a model, once, or for many steps and for one if a size is
/// open.
fn checked_core(context: CheckContext) -> CheckedCore {
    let CheckContext { model, options, .. } = context;
    // check, core, stream
    let mut at_size = core_at_size(context, None);
    // steps
    let Outcome { core, diagnostics: mut found } = match at_size.has_open_sizes() {
        true => stepwise(context, &at_size),
        false => Outcome { core: at_size.core.take(), diagnostics: take(&mut at_size.diagnostics) },
    };
    let core = core.map(|mut core| {
        // streams
        let rows = context.rows().filter(|_| !found.has_errors());
        if let Some((count, kind)) = rows
            && check::rows(context, &core, (count, kind), &mut found).is_some()
        {
            streams::repeat(&mut core, count, kind);
            size_limits::interface_size(model, &core, &mut found);
        }
        // numerics
        numerics::keep_convolutions_in_f32(&mut core);
        numerics::layers_in_f32(&mut core);
        let precisions = Precisions::new(&core, &options.numerics);
        // check
        check::limits_of_integers(model, &core, &mut found);
        size_limits::total_size(model, &core, &mut found);
        size_limits::source_size(model, options, &core, &mut found);
        check::precision(context, &core, &precisions, &mut found);
        check::threads(context, &core, &mut found);
        check::common_interface(options, &core, &mut found);
        check::loaded_weights(context, &core, &precisions, &mut found);
        (core, precisions)
    });
    check::advised(&at_size, core, found)
}

/// Steps 2 to 4, for one size of the axes left open. `None`: open axes are errors.
fn core_at_size(context: CheckContext<'_>, open: Option<usize>) -> CoreAtSize<'_> {
    let CheckContext { model, options, is_partial, .. } = context;
    let mut found = Diagnostics::default();
    // check
    let sound =
        check::structure(context, &mut found).and_then(|()| check::numbers(options, &mut found));
    let inputs = match sound {
        Some(()) => check::inputs(context, open, &mut found),
        None => InputSizes::new(model.parameters.len(), open),
    };
    // core
    let (core, steps) = match sound {
        Some(()) => translate(TranslateInput { model, options, is_partial }, &inputs, &mut found),
        None => (None, StepFacts::default()),
    };
    // stream
    let hints = HintContext { context, inputs: &inputs, steps: &steps };
    let (core, restart_warnings) =
        core.and_then(|core| with_states(hints, core, &mut found)).unzip();
    let restart_warnings = restart_warnings.unwrap_or_default();
    // check
    let mut diagnostics = check::options(options);
    diagnostics.extend(found);
    CoreAtSize { context, inputs, steps, core, restart_warnings, diagnostics }
}

/// Step 4: the model with its states, and the warnings about layers that start anew at every call.
/// `None` after an error.
fn with_states(
    hints: HintContext<'_, '_>,
    mut core: CoreModel,
    found: &mut Diagnostics,
) -> Option<(CoreModel, Diagnostics)> {
    let CheckContext { model, options, .. } = hints.context;
    check::notice_batch_named_steps(hints, found);
    size_limits::interface_size(model, &core, found)?;
    unpack_weights_read_as_data(model, &mut core, found);
    let wanted = check::wanted_states(options, &core);
    let of_calls = model.sizes == SizesOf::Calls;
    let search = SearchContext { wanted, layers: &hints.steps.layers, of_calls };
    let states = find_states(core, &search);
    let restart_warnings = check::states(hints, &states, found);
    let mut core = states.core;
    sweep(&mut core);
    if model.sizes == SizesOf::Sample && model.open_axes.is_empty() {
        core.steps = Some(Steps::all(&core));
    }
    Some((core, restart_warnings))
}

/// Step 5, for a model with open sizes: the model of one step.
fn stepwise(context: CheckContext, at_size: &CoreAtSize) -> Outcome {
    let many = core_at_size(context, Some(check::distinct_steps(context.model)));
    let one = many.has_open_steps().then(|| core_at_size(context, Some(1)));
    match check::open_steps(at_size, &many, one) {
        Ok(OpenSteps { one_step: one, steps, time, diagnostics }) => {
            let proof = one_step(many.core(), one, steps, &time);
            check::proven(&many, &time, proof, diagnostics)
        }
        Err(diagnostics) => Outcome { core: None, diagnostics },
    }
}

/// Steps 9 to 11: compiles a core model. `precisions`: the precisions of the model's products under
/// `options`.
pub fn compile_core(model: CoreModel, precisions: Precisions, options: &Options) -> Compilation {
    // plan, lower
    let arch = if fills_no_vector(&model, options) {
        options.machine.target.in_scalars()
    } else {
        options.machine.target
    };
    let options = &options.clone().with_target(arch);
    let (plan, program) = planned(&model, options, &precisions);
    let mut warnings = Diagnostics::default();
    if let Some(reasons) = plan.why_no_second_thread(options) {
        warnings.push(Unused::SecondThread(reasons).warning());
    }
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

/// Steps 9 and 10 but for the weights: the plan, and the kernels after the last pass.
pub(crate) fn planned(
    model: &CoreModel,
    options: &Options,
    precisions: &Precisions,
) -> (Plan, Program) {
    let plan = plan(model, options, precisions);
    let program = pass::run(lower(model, &plan), model, &plan);
    (plan, program)
}

/// Compiles a core model that a test has written.
#[cfg(test)]
pub(crate) fn compile_written(model: CoreModel, options: &Options) -> Compilation {
    let precisions = Precisions::new(&model, &options.numerics);
    compile_core(model, precisions, options)
}
