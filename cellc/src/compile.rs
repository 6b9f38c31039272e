//! The pipeline, on one screen. [`read`] and [`compile`] take these steps:
//!
//! 1. read: `front` reads a file, a macro or Builder calls into a [`Model`].
//! 2. check: `check` checks the options, the structure and the inputs.
//! 3. core: `translate` translates the model to core operations, [`Translated`].
//! 4. stream: `stream` finds the states and writes them into the model, [`FoundStates`]; `check`
//!    words what it found; `sweep` leaves a [`CoreModel`].
//! 5. streams: `check` checks independent streams, `streams` gives every tensor their rows.
//! 6. numerics: the layers that stay in f32.
//! 7. check: `check` checks limits, precisions and threads.
//! 8. numerics: the precision of each product, [`Precisions`].
//! 9. plan: sizes and layouts, and a target without vectors if the model fills none.
//! 10. lower: `lower` makes kernels, `pass` rewrites them, `pack` orders the weights.
//! 11. emit: `emit` spells the kernels in Rust or C.
//!
//! [`core_model`] takes steps 2 to 7, [`compile_core`] steps 8 to 10. Macros call the two one after
//! the other, and put the diagnostics of the first at the tokens of the declaration.
//!
//! [`check_model`] takes steps 2 to 7 up to three times: for the sizes that are given and, if
//! nothing but the number of steps is open, for many steps and for one step, with step 5 last.
//! Hints run the same steps on changed models and options. `check` does not import this module, so
//! [`Pipeline`] hands [`check_model`] and [`check_at_size`] to the hints.

use crate::arch::Calls;
use crate::check::input_sizes::InputSizes;
use crate::check::step_facts::StepFacts;
use crate::check::{
    self, CheckContext, CheckResult, CheckedModel, Hints, OpenSteps, Pipeline, Unused,
};
pub use crate::compilation::Compilation;
use crate::core::{CoreModel, streams, sweep};
#[cfg(feature = "builder")]
use crate::description::Description;
use crate::diagnostic::{Diagnostics, Severity};
use crate::emit::names::Interface;
use crate::front::formats::{self, ReadOptions};
use crate::front::model_file::ModelFile;
use crate::kernel::{Program, Role, verify};
use crate::lower::lower;
use crate::model::Model;
use crate::numerics::{self, Precisions};
use crate::pack::pack;
use crate::pass;
use crate::plan::{Plan, Unrolled, fills_no_vector, plan};
use crate::request::{Options, State, Threads};
use crate::stream::states::{FoundStates, Given, find_states};
use crate::stream::steps::one_step;
use crate::summary;
use crate::translate::{Translated, translate, unpack_weights_read_as_data};

/// Reads a model file of any format. Returns the model and all warnings.
///
/// # Errors
/// All errors in the files, and the errors of the model as far as it was read.
pub fn read<'a>(
    file: impl Into<ModelFile<'a>>,
    options: &ReadOptions,
) -> Result<(Model, Diagnostics), Diagnostics> {
    complete(formats::read(file, options)?)
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
/// Everything that is wrong with the model, or with the options for it, warnings included.
pub fn core_model(
    model: &Model,
    options: &Options,
) -> Result<(CoreModel, Diagnostics), Diagnostics> {
    let pipeline = Some(Pipeline { check_model, check_at_size });
    check_model(CheckContext { model, options, is_partial: false, pipeline })
}

/// The result of a reader.
///
/// # Errors
/// The errors of the reader, and those of the model as far as it was read.
pub fn complete(
    (model, mut problems): (Model, Diagnostics),
) -> Result<(Model, Diagnostics), Diagnostics> {
    if !problems.has_errors() {
        return Ok((model, problems));
    }
    // sizes may be open, values may have no producer
    let options = &Options::default().with_state(State::None);
    let context = CheckContext { model: &model, options, is_partial: true, pipeline: None };
    let found = check_at_size(context, None).diagnostics.0.into_iter();
    problems.extend(Diagnostics(found.filter(|d| d.severity == Severity::Error).collect()));
    Err(problems)
}

/// Checks and translates a model up to three times: for the sizes that are given, for many steps,
/// for one step.
fn check_model(context: CheckContext) -> CheckResult {
    let given = check_at_size(context, None);
    if !given.diagnostics.has_errors() {
        return given.accepted();
    }
    let many = check_at_size(context, Some(check::distinct_steps(context.model)));
    let one = many.has_open_steps().then(|| check_at_size(context, Some(1)));
    let outcome = check::open_steps(&given, &many, one).and_then(|open| {
        // stream
        let OpenSteps { one, steps, time, diagnostics } = open;
        let taken = one_step(many.core(), one, steps, &time);
        check::proven(&many, &time, taken, diagnostics)
    });
    let (mut core, mut diagnostics) = check::advised(&given, outcome)?;
    // the streams of one step: the proof that all steps are alike has compared steps of one stream
    if rows(context, &mut core, &mut diagnostics).is_some() {
        sizes(context, &core, &mut diagnostics);
    }
    if diagnostics.has_errors() { Err(diagnostics) } else { Ok((core, diagnostics)) }
}

/// Checks and translates a model for one size of the axes left open. `None`: open axes are errors.
fn check_at_size(context: CheckContext<'_>, open: Option<usize>) -> CheckedModel<'_> {
    let mut inputs = InputSizes::new(context.model.parameters.len(), open);
    let mut diagnostics = check::options(context.options);
    let (mut steps, mut of_model) = (StepFacts::default(), Diagnostics::default());
    let (core, restart_warnings) = passes(context, &mut inputs, &mut steps, &mut of_model).unzip();
    let restart_warnings = restart_warnings.unwrap_or_default();
    diagnostics.extend(of_model);
    CheckedModel { context, inputs, steps, core, restart_warnings, diagnostics }
}

/// The checks and passes of a model, in order. Returns the model and the warnings about layers that
/// start anew. `None`: a pass has reported why the next ones have nothing to work on.
fn passes<'a>(
    context: CheckContext<'a>,
    inputs: &mut InputSizes,
    steps: &mut StepFacts<'a>,
    diagnostics: &mut Diagnostics,
) -> Option<(CoreModel, Diagnostics)> {
    let CheckContext { model, options, .. } = context;
    // check
    check::structure(context, diagnostics)?;
    check::numbers(options, diagnostics)?;
    *inputs = check::inputs(context, inputs.open, diagnostics);
    // core
    let mut translated: Translated = translate(context, inputs, steps, diagnostics)?;
    let hints = Hints { context, inputs, steps };
    check::notice_batch_named_steps(hints, diagnostics);
    // the translation has checked each input
    check::interface_size(model, &translated.0, diagnostics)?;
    unpack_weights_read_as_data(model, &mut translated, diagnostics);
    // stream
    let wanted = check::wanted_states(options, &translated.0);
    let given = Given { wanted, layers: &steps.layers, sizes_of_call: model.sizes_of_call };
    let found: FoundStates = find_states(translated.0, &given);
    let restart_warnings = check::states(hints, &found, diagnostics);
    let mut core: CoreModel = found.core;
    sweep(&mut core);
    // streams: without errors, as steps left open are one
    if inputs.open.is_none() && !diagnostics.has_errors() {
        rows(context, &mut core, diagnostics);
    }
    // numerics
    numerics::keep_convolutions_in_f32(&mut core);
    numerics::layers_in_f32(&mut core);
    // check
    check::limits_of_integers(model, &core, diagnostics);
    sizes(context, &core, diagnostics);
    check::precision(context, &core, diagnostics);
    check::threads(context, &core, diagnostics);
    check::common_interface(options, &core, diagnostics);
    Some((core, restart_warnings))
}

/// Gives the model a row for each independent stream of the options. `None` without streams, or
/// after an error.
fn rows(context: CheckContext, core: &mut CoreModel, diagnostics: &mut Diagnostics) -> Option<()> {
    let count = context.options.bindings.streams?;
    check::streams(context, core, count, diagnostics)?;
    streams::repeat(core, count);
    check::interface_size(context.model, core, diagnostics)
}

/// Refuses models that are too large.
fn sizes(context: CheckContext, core: &CoreModel, diagnostics: &mut Diagnostics) {
    check::total_size(context.model, core, diagnostics);
    check::source_size(context, core, diagnostics);
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
    let program = program(&model, &plan);
    let packed = pack(&model, &program);
    // emit: `Compilation::emit` and `Compilation::tokens` spell the kernels
    let name = options.output.name.as_deref().or(model.name.as_deref()).unwrap_or("model");
    let pool = options.machine.threads == Threads::Two;
    let interface = Interface::new(&model, &program, name, pool, options.output.language);
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

/// The kernels, after all passes.
pub(crate) fn program(model: &CoreModel, plan: &Plan) -> Program {
    let mut program = lower(model, plan);
    verified(&program, "lower");
    let profiles: Vec<_> = plan.isas.iter().map(|own| own.fuses).collect();
    program.bodies.iter_mut().for_each(|body| pass::expand(body, plan.accuracy, &profiles));
    verified(&program, "expand");
    for (body, _) in program.bodies.iter_mut().zip(&plan.isas).filter(|(_, own)| !own.fuses) {
        pass::split(body);
    }
    verified(&program, "split");
    program.bodies.iter_mut().for_each(pass::unroll);
    verified(&program, "unroll");
    if plan.products.iter().any(|product| product.unrolled == Unrolled::WithoutZeros) {
        let packed = pack(model, &program);
        let is_zero = pass::zeros(&packed.bytes, |id| {
            let is_of_words = program.buffers.get(id.0)?.role == Role::Weights;
            packed.baked_at(id).filter(|_| is_of_words)
        });
        program.bodies.iter_mut().for_each(|body| pass::remove_zeros(body, &is_zero));
        verified(&program, "zeros");
    }
    pass::single(&mut program.bodies);
    verified(&program, "single");
    for (body, _) in program
        .bodies
        .iter_mut()
        .zip(&plan.isas)
        .filter(|(_, own)| own.isa.code.calls == Calls::SeveralValues)
    {
        pass::gather(body);
    }
    verified(&program, "gather");
    program
}

/// Panics if a pass has left a wrong program: a fault of cellc, never of the input.
fn verified(program: &Program, pass: &str) {
    if let Err(problem) = verify(program) {
        panic!("{pass} left a program that is wrong: {problem}");
    }
}
