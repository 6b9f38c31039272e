//! Reasons against single steps in words.

use crate::diagnostic::quoted;
use crate::model::counted;
use crate::stream::steps::{InFront, ModelPlace, NotStepwise, Why};

/// The operations that may follow elements in front of the first step.
const ONLY_WINDOWS: &str = "only windows (convolutions, pools) and work on each element follow \
    elements in front of the first step; without the pad, give them as the first steps";

/// The words for operations over all steps.
const ALL: &str = "looks as many steps ahead as there are";

/// The reason in words: the operation, input or output at fault, and the fault.
pub(super) fn in_words(NotStepwise { in_front, subject, why }: &NotStepwise) -> String {
    let mut text = String::new();
    if let Some(InFront { name, kind, before }) = in_front {
        let elements = counted(*before, "element");
        text =
            format!("{} ({kind}) puts {elements} in front of the first step, and ", quoted(name));
    }
    let subject = match subject {
        ModelPlace::Node { name, kind } => format!("{} ({kind})", quoted(name)),
        ModelPlace::Layer(name) => quoted(name),
        ModelPlace::Input(index) => format!("input {index}"),
        ModelPlace::Output(index) => format!("output {index}"),
        ModelPlace::Variable => "a variable".to_owned(),
        ModelPlace::Padding => "what stands in front of the first step".to_owned(),
        ModelPlace::Cell => "a cell".to_owned(),
    };
    format!("{text}{subject} {}", why_in_words(why))
}

fn why_in_words(why: &Why) -> String {
    let text = match why {
        Why::Across => "combines different steps",
        Why::Reverses => "reverses the steps: it needs the last one first",
        Why::Repeats => "repeats a step at a side: pad with a constant",
        Why::Counts => "computes with the number of steps, which only a call knows",
        Why::Changed => "reads a state that steps change",
        Why::ChangedMatrices => "multiplies matrices that steps change",
        Why::SeveralRows => "has several rows: the steps of one row must follow each other",
        Why::StateOfEverySize => "reads a state that has a size for every step",
        Why::LongConstant => "reads a constant as long as there are steps",
        Why::LastWithEvery => "combines every step with what only the last one leaves",
        Why::NotOfLast => "takes a value that is not what the last step leaves",
        Why::OutsideSteps => "does not follow the steps",
        Why::OperatorOutsideSteps => "is a recurrent operator that does not follow the steps",
        Why::OwnLengths => "has lengths of its own",
        Why::OtherThanSteps => "reads something else than the steps",
        Why::StartsFromInput => {
            "starts from an input that is no state: give the model its last state as an output"
        }
        Why::StartsFromOtherState => "starts from a state that is not what its last step leaves",
        Why::StartsFromComputed => "starts from what the model computes",
        Why::Loop { of_cell: true } => {
            "computes with weights that are computed, as a loop, which cannot continue where the \
             previous call ended"
        }
        Why::Loop { of_cell: false } => {
            "is a loop, which cannot continue where the previous call ended"
        }
        Why::Otherwise => "is computed in another way for one step than for several",
        Why::CombinesAll => return format!("{ALL}: it combines them"),
        Why::TakesSingle => return format!("{ALL}: it takes single steps out of them"),
        Why::RunsInReverse => {
            return format!("runs in reverse, so it needs the last step first: it {ALL}");
        }
        Why::RunsInBoth => {
            return format!(
                "runs in both directions, and the reverse one needs the last step first: it {ALL}"
            );
        }
        Why::Reflects(steps) => {
            return format!("reflects steps at a side: it {}", ahead(*steps));
        }
        Why::Moves { by } => {
            return format!(
                "moves {by} steps at a time: for an output at every step, it {}",
                ahead(by - 1)
            );
        }
        Why::Shortens(steps) => {
            return format!(
                "{} or leaves as many out: it gives {steps} fewer than there are",
                ahead(*steps)
            );
        }
        Why::PadsAfter(steps) => {
            return format!(
                "{}: pad in front of the first step only, or cut as many outputs off right behind \
                 it",
                ahead(*steps)
            );
        }
        Why::TakesFrontAsSteps => return format!("takes them as steps: {ONLY_WINDOWS}"),
        Why::AddsFront => return format!("adds them up: {ONLY_WINDOWS}"),
        Why::HasFront(before) => return format!("has {before} of them: {ONLY_WINDOWS}"),
    };
    text.to_owned()
}

fn ahead(steps: usize) -> String {
    format!("looks {} ahead", counted(steps, "step"))
}
