//! Advice for models with steps that cannot stay open.

use super::super::states::{kept_states, states_go_on};
use crate::check::subject::{CheckContext, CoreAtSize, Pipeline};
use crate::core::ShortOf;
use crate::diagnostic::{Message, message, quoted};
use crate::model::{Model, Op, Padding};
use crate::request::State;
use crate::request::flag;
use crate::rules::input_sizes::Uses;

/// The most operations that [`pads_in_front`] pads.
const MOST_PADDED: usize = 32;

/// How to give the number of steps of every call. `time`: by input, the axis of the steps.
pub(crate) fn fixed_steps(long: &CoreAtSize, time: &[Option<usize>]) -> Message {
    let shorter = match long.inputs.uses.iter().any(Uses::is_length) {
        true => "; a call may have fewer: it gives their number as the lengths of the sequences",
        false => "",
    };
    let Some(shapes) = long.hints().shapes_per_call(time, &long.hints().numbers_of_steps()) else {
        return message!("give the number of steps of every call, by {}", flag::SHAPE.setting());
    };
    let whole = long.hints().shape_settings(&shapes);
    let kept = kept_states(long.core());
    if kept.is_empty() || long.context.options.bindings.state == State::None {
        return message!("give the number of steps of every call, {}{}", whole, shorter);
    }
    let go_on = states_go_on(&kept);
    let single_step =
        long.hints().shapes_per_call(time, &[1]).filter(|one| long.hints().keeps_state_with(one));
    match single_step {
        Some(single_step) => message!(
            "take one step per call, {}: {} from call to call; or give the number of steps \
            of every call, {}{}",
            long.hints().shape_settings(&single_step),
            go_on,
            whole,
            shorter
        ),
        None if long.hints().keeps_state_with(&shapes) => {
            message!(
                "give the number of steps of every call, {}: {} from call to \
                 call{}",
                whole,
                go_on,
                shorter
            )
        }
        None => message!(
            "give a whole sequence to every call, {}, and reset the states before it: \
            {} from call to call, but not what other operations need of earlier steps{}",
            whole,
            go_on,
            shorter
        ),
    }
}

/// How to make windows without pads take any number of steps: by pads in front of the first step.
/// `None` if the model has errors with the pads, if no window is too long for one step, or if more
/// than [`MOST_PADDED`] are.
pub(crate) fn pads_in_front(long: &CoreAtSize) -> Option<String> {
    let Pipeline { core_at_size, .. } = long.context.pipeline?;
    let mut model: Model = long.context.model.clone();
    let mut padded: Vec<ShortOf> = Vec::new();
    // the first window too long for one step
    let short_of = |model: &Model| {
        core_at_size(CheckContext { model, pipeline: None, ..long.context }, Some(1))
            .steps
            .history
            .short_of
    };
    while let Some(short) = short_of(&model) {
        if padded.len() == MOST_PADDED {
            return None;
        }
        add_pads(&mut model.nodes[short.node].op, short)?;
        padded.push(short);
    }
    let first = padded.first()?;
    if !long.context.accepts(&model, long.context.options) {
        return None;
    }
    let ShortOf { axis, rank, missing, .. } = *first;
    let behind = "0, 0, ".repeat(rank - 1 - axis);
    let likewise = match padded.len() {
        1 => String::new(),
        _ => ", and likewise in front of the others without padding".to_owned(),
    };
    let name = quoted(&long.context.model.nodes[first.node].name);
    let plural = if missing == 1 { "" } else { "s" };
    Some(format!(
        "to leave the number of steps open, put {missing} element{plural} of padding in front of \
        the steps of {name} in the model, in PyTorch torch.nn.functional.pad(input, \
        ({behind}{missing}, 0)), where input is what that layer takes, channels before \
        steps{likewise}: there is then an output for every step"
    ))
}

/// Adds pads in front of an axis of an operation. `None` if the operation is neither a pool nor a
/// convolution that is not transposed, or if its padding depends on sizes.
fn add_pads(op: &mut Op, short: ShortOf) -> Option<()> {
    let window = match op {
        Op::Convolution(convolution) if !convolution.transposed => &mut convolution.window,
        Op::Pool(pool) => &mut pool.window,
        _ => return None,
    };
    let (mut begin, mut end) = match &window.padding {
        Padding::Explicit { begin, end } => (begin.clone(), end.clone()),
        Padding::Valid => (Vec::new(), Vec::new()),
        Padding::SameUpper | Padding::SameLower => return None,
    };
    begin.resize(short.rank, 0);
    end.resize(short.rank, 0);
    begin[short.axis] += i64::try_from(short.missing).ok()?;
    window.padding = Padding::Explicit { begin, end };
    Some(())
}
