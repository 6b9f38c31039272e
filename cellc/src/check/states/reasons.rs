//! Words for the reasons against a state.

use crate::core::CoreModel;
use crate::core::StepOrder;
use crate::diagnostic::quoted;
use crate::model::{Direction, Node, Op};
use crate::rules::cell::CellPort;
use crate::rules::names::{Side, name};
use crate::stream::states::{Doubt, Misfit, Reason, UpdateKind};

/// Why the last state of a layer with sequence lengths, or of a reverse direction, is not kept.
fn why_never(order: StepOrder, layer: Option<&Node>) -> String {
    let name = layer.map_or(String::new(), |node| format!("{} ", quoted(&node.name)));
    match order {
        StepOrder::Lengths => format!(
            "{name}has sequence lengths, and the last state of a row without steps is zero, not \
             the state before"
        ),
        _ => {
            let direction = match layer.map(|node| &node.op) {
                Some(Op::Sequence(_, direction)) => *direction,
                _ => Direction::Reverse,
            };
            format!(
                "{name}runs {}, and the last state of the reverse direction belongs to the first \
                 step",
                direction_words(direction)
            )
        }
    }
}

pub(super) fn direction_words(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Reverse => "in reverse",
        Direction::Bidirectional => "in both directions",
    }
}

/// Why an input and an output cannot be a state.
pub(super) fn why_misfit(misfit: &Misfit) -> String {
    match misfit {
        Misfit::WeightInput => format!("the input is {} of a cell", CellPort::WEIGHTS),
        Misfit::LengthInput => "the input is lengths of a sequence".to_owned(),
        Misfit::IntegerInput => "the input is of integers".to_owned(),
        Misfit::IntegerOutput => "the output is of integers".to_owned(),
        Misfit::Shape { input, output } => {
            format!("the input has the shape {input:?}, the output {output:?}")
        }
        Misfit::InAnotherPair => "its input or its output is in another pair".to_owned(),
        Misfit::NotForward { order, layer } => why_never(*order, *layer),
        Misfit::HAndC(layer) => {
            let layer = layer.map_or(String::new(), |node| format!(" of {}", quoted(&node.name)));
            format!("h and c{layer} start from the same elements of the input")
        }
    }
}

/// The valid pairs in place of a misfit.
pub(super) fn valid_pairs(misfit: &Misfit) -> &'static str {
    match misfit {
        Misfit::WeightInput | Misfit::LengthInput | Misfit::IntegerInput => "an input that is not",
        Misfit::IntegerOutput => "an output of floats",
        Misfit::Shape { .. } => "an input and an output of the same shape",
        Misfit::InAnotherPair => "each in one pair",
        Misfit::NotForward { .. } => "states of forward operators that take every step",
        Misfit::HAndC(_) => "an input for one of the two states",
    }
}

/// Why the search does not take a pair by itself.
fn why_doubt(model: &CoreModel, doubt: &Doubt) -> String {
    match doubt {
        Doubt::OtherOrder => "the output holds the elements in another order".to_owned(),
        Doubt::SeveralOutputs(count) => format!("{count} outputs hold it"),
        Doubt::ReadOtherwise => "another operation reads the input, too".to_owned(),
        Doubt::SeveralLayers => "several layers start from the same elements of it".to_owned(),
        Doubt::OtherName(result) => format!(
            "the recurrent operator's last state is the output {}, which has another name",
            quoted(&name(&model.results[*result].names, Side::Output, *result))
        ),
        Doubt::OtherUpdate(update) => why_update(*update).to_owned(),
    }
}

/// Why the search does not keep a state that the model computes in this way. `None`: only the names
/// suggest a state.
fn why_update(update: Option<UpdateKind>) -> &'static str {
    match update {
        None => {
            "no recurrent operator computes the output from the input, though the names are those \
             of a state"
        }
        Some(UpdateKind::Recurrent(_)) => {
            "the state passes other operations than the recurrent operator"
        }
        Some(UpdateKind::Multiplied(_)) => {
            "several operations compute the new state, not one recurrent operator"
        }
        Some(UpdateKind::Appended(_)) => {
            "the output is the input with new elements appended, which no recurrent operator does"
        }
        Some(UpdateKind::Averaged) => {
            "the output is the input times a factor, plus new elements, which no recurrent \
             operator computes"
        }
        Some(UpdateKind::Moved(_)) => {
            "the output holds elements of the input in other places, which no recurrent operator \
             does"
        }
    }
}

/// Why the search refuses a pair.
pub(super) fn why(model: &CoreModel, reason: &Reason) -> String {
    match reason {
        Reason::Misfit(Misfit::HAndC(_)) => {
            "h and c of an LSTM start from the same elements of it".to_owned()
        }
        Reason::Misfit(misfit) => why_misfit(misfit),
        Reason::Doubt(doubt) => why_doubt(model, doubt),
    }
}

/// The layer that a reason names.
pub(super) fn layer_of<'a>(reason: &Reason<'a>) -> Option<&'a Node> {
    match reason {
        Reason::Misfit(Misfit::NotForward { layer, .. }) => *layer,
        _ => None,
    }
}
