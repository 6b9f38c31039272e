//! Models with an open number of steps: one step is compiled, and calls repeat the step. The
//! pipeline calls `stream::steps` for the proof; this module puts the refusals into words.

mod caches;
mod hints;
mod words;

use crate::check::subject::{CheckedCore, CoreAtSize, Outcome};
use crate::core::CoreModel;
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin, Severity, message};
use crate::model::{Dim, Model, Op};
use crate::numerics::Precisions;
use crate::request::State;
use crate::rules::unused::Unused;
use crate::stream::steps::{NotStepwise, why_not_stepwise};
use words::in_words;

/// One step of a model whose only problem is an open number of steps. The pipeline proves with the
/// model of many steps that all steps are alike.
pub(crate) struct OpenSteps {
    /// The model compiled for one step.
    pub(crate) one_step: CoreModel,
    /// The number of steps of the model of many steps.
    pub(crate) steps: usize,
    /// By input, the axis of the steps.
    pub(crate) time: Vec<Option<usize>>,
    /// The warnings about one step.
    pub(crate) diagnostics: Diagnostics,
}

/// The model of one step, for a model whose errors at the given sizes an open number of steps may
/// cause. `many`: the model at [`distinct_steps`]. `one`: the model at one step, if the model has
/// open steps.
///
/// # Errors
/// The problems that an open number of steps does not solve.
pub(crate) fn open_steps(
    given: &CoreAtSize,
    many: &CoreAtSize,
    one: Option<CoreAtSize>,
) -> Result<OpenSteps, Diagnostics> {
    let only_sizes = given.has_only_open_sizes();
    if only_sizes && let Some(refused) = caches::refused(many) {
        return Err(refused.into());
    }
    let others = || given.diagnostics.clone();
    let (one, steps) = one.zip(many.inputs.open).ok_or_else(others)?;
    let model = many.context.model;
    let time: Vec<Option<usize>> =
        many.inputs.open_axes.iter().map(|axes| axes.first().copied()).collect();
    if many.diagnostics.has_errors() || one.diagnostics.has_errors() {
        let by_shape =
            one.context.options.bindings.shapes.iter().any(|(_, sizes)| sizes.contains(&None));
        let asked = by_shape || !model.open_axes.is_empty();
        let recurrent = model.nodes.iter().any(|node| matches!(node.op, Op::Sequence(..)));
        // an operation that looks ahead may be the cause of an error with one step
        if only_sizes
            && asked
            && !many.diagnostics.has_errors()
            && many.steps.most_lengths.is_none()
            && let Some(refused) = why_not_stepwise(many.core(), steps, &time)
        {
            return Err(not_stepwise(many, &time, &refused).into());
        }
        return Err(match only_sizes && (asked || recurrent) {
            true => only_some(many, &one, &time, steps),
            false => others(),
        });
    }
    let (one, diagnostics) = (one.core.ok_or_else(others)?, one.diagnostics);
    Ok(OpenSteps { one_step: one, steps, time, diagnostics })
}

/// The outcome of the proof that the steps of a model can be taken one by one.
pub(crate) fn proven(
    long: &CoreAtSize,
    time: &[Option<usize>],
    proof: Result<CoreModel, NotStepwise>,
    mut diagnostics: Diagnostics,
) -> Outcome {
    match &proof {
        Ok(_) if matches!(long.context.options.bindings.state, State::None) => {
            diagnostics.push(Unused::NoState.warning());
        }
        Ok(_) => {}
        Err(refused) => diagnostics.push(not_stepwise(long, time, refused)),
    }
    Outcome { core: proof.ok(), diagnostics }
}

/// The result of all checks, with warnings and advice on the given sizes.
pub(crate) fn advised(
    given: &CoreAtSize,
    core: Option<(CoreModel, Precisions)>,
    mut diagnostics: Diagnostics,
) -> CheckedCore {
    let warnings = given.hints().single_steps();
    if diagnostics.has_errors() {
        given.hints().advise_sizes(&mut diagnostics);
        diagnostics.0.extend(warnings);
        return Err(diagnostics);
    }
    diagnostics.0.extend(given.restart_warnings.0.iter().cloned().chain(warnings));
    let (core, precisions) = core.expect("check: a model without errors is translated");
    Ok((core, precisions, diagnostics))
}

/// The error for a model whose steps cannot be taken one by one. `time`: by input, the axis of the
/// steps.
fn not_stepwise(long: &CoreAtSize, time: &[Option<usize>], refused: &NotStepwise) -> Diagnostic {
    let why = &in_words(refused)[..];
    let model = long.context.model;
    let origin =
        model.parameters.first().map_or(Origin::Unknown, |&node| model.nodes[node].origin.clone());
    let mistaken = long.hints().rows_as_steps(|input| time[input]);
    if let Some(found) = &mistaken
        && let Some((help, lines)) = long.hints().batch_first(found)
    {
        let found = format!("the number of steps is open, but {}", long.hints().counts_rows(found));
        return Diagnostic::error(origin, found).valid(ONE_BY_ONE).help(help).lines(lines);
    }
    // the help proposes no number of steps, as the model would read one step only
    if !long.hints().single_steps().is_empty() {
        let error = Diagnostic::error(origin, message!("the number of steps is open, but {}", why));
        return error
            .valid(ONE_BY_ONE)
            .help("export the model with its number of steps, as the warning says");
    }
    let help = match long.hints().rows_first(time) {
        Some(shapes) => {
            message!("the first axis counts rows: {}", long.hints().shape_settings(&shapes))
        }
        None => Message::joined(
            hints::pads_in_front(long)
                .into_iter()
                .map(Message::from)
                .chain([hints::fixed_steps(long, time)]),
            "; or ",
        ),
    };
    Diagnostic::error(origin, message!("the number of steps is open, but {}", why))
        .valid(ONE_BY_ONE)
        .help(help)
}

/// The models whose steps can be taken one by one.
const ONE_BY_ONE: &str = "steps that are computed one after the other: forward sequences of one \
    row, and work on each step";

/// The errors of a model that does not take every number of steps. `long`, the model of many steps,
/// or `one`, the model of one step, has errors.
fn only_some(
    long: &CoreAtSize,
    one: &CoreAtSize,
    time: &[Option<usize>],
    steps: usize,
) -> Diagnostics {
    let errors = |checked: &CoreAtSize| -> Vec<Diagnostic> {
        checked.diagnostics.0.iter().filter(|d| d.severity == Severity::Error).cloned().collect()
    };
    let refused = |origin: &Origin, layer: Option<String>, why: Message, help: Message| {
        let mut error =
            Diagnostic::error(origin.clone(), message!("the number of steps is open, but {}", why));
        error.layer = layer;
        Diagnostics(vec![error.valid(ONE_BY_ONE).help(help)])
    };
    // constant sequence lengths fit one number of steps
    if let Some((most, node)) = long.steps.most_lengths {
        let lengths = node.spelling.sequence_lengths;
        let why = format!("{lengths} is a constant, {most} at most").into();
        let export = format!("export the model with {lengths} that follow the number of steps");
        let help = match long.hints().shapes_per_call(time, &[most.max(1)]) {
            Some(shapes) => {
                message!(
                    "give as many steps, {}; or {}",
                    long.hints().shape_settings(&shapes),
                    &export[..]
                )
            }
            None => export.into(),
        };
        return refused(&node.origin, Some(node.label()), why, help);
    }
    let (of_long, of_one) = (errors(long), errors(one));
    let whole = long.hints().shapes_per_call(time, &long.hints().numbers_of_steps());
    let errors: Vec<Diagnostic> =
        of_long.iter().filter_map(|error| wrong_with_both(error, steps, &of_one)).collect();
    if whole.is_none() && !errors.is_empty() {
        return Diagnostics(errors);
    }
    let (steps, wrong) = match of_long.first() {
        Some(wrong) => (steps, wrong),
        None => (1, &of_one[0]),
    };
    let why =
        message!("the model does not take every number of them: with {}, {}", steps, wrong.found);
    let mut help =
        Message::from("give the whole shape, with the number of steps that the model was made for");
    if let Some(pads) = hints::pads_in_front(long) {
        help = message!("{}; or {}", pads, help);
    }
    if let Some(shapes) = whole {
        help.push(message!("; this one works: {}", long.hints().shape_settings(&shapes)));
    }
    refused(&wrong.origin, wrong.layer.clone(), why, help)
}

/// An error of the model with `steps` steps, if the errors `of_one` step have an equal problem: the
/// number of steps is not the cause. If the text depends on the number, the text names the number.
fn wrong_with_both(error: &Diagnostic, steps: usize, of_one: &[Diagnostic]) -> Option<Diagnostic> {
    let mut alike = of_one.iter().filter(|other| other.is_alike(error)).peekable();
    alike.peek()?;
    let found = match alike.any(|other| other.found == error.found) {
        true => error.found.clone(),
        false => message!("with any number of steps, for example {}: {}", steps, error.found),
    };
    Some(Diagnostic { found, ..error.clone() })
}

/// A number of steps unlike all sizes of the model: a prime, and no divisor of a size.
pub(crate) fn distinct_steps(model: &Model) -> usize {
    let mut sizes: Vec<usize> = Vec::new();
    for node in &model.nodes {
        if let Op::Constant(tensor) = &node.op {
            sizes.extend(tensor.shape());
        }
    }
    for value in &model.values {
        sizes.extend(value.shape.iter().flatten().filter_map(|dim| match dim {
            Dim::Fixed(n) => Some(*n),
            Dim::Dynamic { .. } => None,
        }));
    }
    let prime = |n: &usize| (2..=n.isqrt()).all(|d| !n.is_multiple_of(d));
    let free = |n: &usize| sizes.iter().all(|size| *size == 0 || !size.is_multiple_of(*n));
    (101..).filter(prime).find(free).expect("there are more primes than sizes")
}
