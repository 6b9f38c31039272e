//! The operands of a node: tensors, and constants that give axes, sizes and lists of integers.

use std::fmt::Display;

use super::refusal::{Refusal, Rule};
use crate::core::Known;
use crate::core::interval::EXACT;
use crate::diagnostic::Message;
use crate::model::limits::LONGEST_LIST;
use crate::model::{ElementType, Model, Node, legal_axis, shape_text, wrong_extent};
use crate::rules::report::floats;
use crate::rules::shape::verb;

/// A node and its operands.
#[derive(Clone)]
pub(super) struct Operands<'n> {
    pub(super) node: &'n Node,
    /// The tensors of the inputs. `None` after an error.
    pub(super) known: Vec<Option<Known>>,
    /// The graph of the node.
    pub(super) model: &'n Model,
}

impl Operands<'_> {
    /// The operands with another tensor for input `port`.
    pub(super) fn with(&self, port: usize, known: Known) -> Self {
        let mut args = self.clone();
        args.known[port] = Some(known);
        args
    }

    /// The number of inputs.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The tensor of an input. `None` for a missing input or after an error.
    pub(super) fn known(&self, port: usize) -> Option<&Known> {
        self.known.get(port)?.as_ref()
    }

    /// The tensor of an input.
    pub(super) fn get(&self, port: usize) -> Rule<Known> {
        self.known(port).cloned().ok_or(Refusal::Reported)
    }

    /// The tensors of all inputs.
    pub(super) fn all(&self) -> Rule<Vec<Known>> {
        (0..self.len()).map(|port| self.get(port)).collect()
    }

    /// The element type that the model states for the first output.
    pub(super) fn element(&self) -> ElementType {
        self.model.values[self.node.outputs[0].0].element
    }

    /// The index of an axis; a negative axis counts from the end.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Rule<usize> {
        legal_axis(axis, rank, 0).map_err(|problem| {
            Refusal::from(problem).located(self.node.attribute_origin(self.node.spelling.axis))
        })
    }

    /// The indices of axes, none of them twice. Negative axes count from the end.
    pub(super) fn axes_once(&self, axes: &[i64], rank: usize) -> Rule<Vec<usize>> {
        let places =
            axes.iter().map(|&axis| self.axis(axis, rank)).collect::<Rule<Vec<usize>>>()?;
        let mut seen = vec![false; rank];
        let twice = places.iter().find(|&&axis| std::mem::replace(&mut seen[axis], true));
        if let Some(axis) = twice {
            let found = format!("the axes {}, of which two are axis {axis}", shape_text(axes));
            return Err(Refusal::new(found, "each axis once", "correct the axes"));
        }
        Ok(places)
    }

    /// The integers of a constant input.
    pub(super) fn integers(&self, port: usize, what: &str) -> Rule<Vec<i64>> {
        let known = self.get(port)?;
        let tensor = match &known {
            Known::Constant(tensor, element) if !element.is_float() => tensor,
            Known::Constant(_, element) => {
                let found = format!("{what} {} of type {}", verb(what), element.name());
                return Err(Refusal::new(found, "integers", "convert them to i64"));
            }
            Known::Source(..) | Known::Iteration(..) => {
                let found = format!("{what} {} computed at run time", verb(what));
                let valid = "integers that are known when compiling";
                let help = "connect a constant, or compute it from shapes that are known";
                return Err(Refusal::new(found, valid, help));
            }
        };
        if tensor.len() > LONGEST_LIST {
            let found = format!("{} numbers as {what}", tensor.len());
            let valid = format!("{LONGEST_LIST} or fewer");
            return Err(Refusal::new(found, valid, "split the layer"));
        }
        let integers: Option<Vec<i64>> = (0..tensor.len()).map(|i| tensor.get_i64(i)).collect();
        integers.ok_or(Refusal::Reported)
    }

    /// The integer of a constant input with one element.
    pub(super) fn integer(&self, port: usize, what: &str) -> Rule<i64> {
        let list = self.integers(port, what)?;
        if let [one] = list[..] {
            return Ok(one);
        }
        let found = format!("{} numbers as {what}", list.len());
        Err(Refusal::new(found, "one", "connect a scalar"))
    }
}

/// Refuses numbers (sizes or pads along an axis) whose magnitude is above the limit. `what`: the
/// number in messages.
pub(super) fn legal_extents(what: &str, numbers: impl IntoIterator<Item = i64>) -> Rule<()> {
    match numbers.into_iter().find_map(|number| wrong_extent(what, number)) {
        Some(problem) => Err(problem.into()),
        None => Ok(()),
    }
}

/// Refuses a list without exactly one entry for each axis. `name`: the attribute or input.
pub(super) fn one_for_each_axis(name: &str, entries: &[impl Display], axes: usize) -> Rule<()> {
    if entries.len() == axes {
        return Ok(());
    }
    let axes = if axes == 1 { "1 axis".to_owned() } else { format!("{axes} axes") };
    let found = format!("{name}: {} for {axes}", shape_text(entries));
    Err(Refusal::new(found, "one entry for each axis", "correct the list"))
}

/// Refuses integer and boolean tensors, constants included.
pub(super) fn all_floats(inputs: &[Known]) -> Rule<()> {
    let Some(wrong) = inputs.iter().map(Known::element).find(|element| !element.is_float()) else {
        return Ok(());
    };
    let found = format!("{} at run time", wrong.name());
    let help = "integers and booleans are known when compiling, or lengths of sequences: \
        compute in f32";
    Err(Refusal::new(found, floats(), help))
}

/// The refusal of inputs with different shapes.
pub(super) fn shapes_differ(
    shapes: &[Vec<usize>],
    valid: &str,
    help: impl Into<Message>,
) -> Refusal {
    let texts: Vec<String> = shapes.iter().take(8).map(|shape| shape_text(shape)).collect();
    Refusal::new(format!("inputs of the shapes {}", texts.join(", ")), valid, help)
}

/// The refusal of inputs that mix integers and floating point.
pub(super) fn differ_in_type(inputs: &[Known]) -> Refusal {
    let names: Vec<&str> = inputs.iter().take(8).map(|input| input.element().name()).collect();
    let found = format!("inputs of the types {}", names.join(", "));
    Refusal::new(found, "one type for all inputs", "convert the others")
}

/// Refuses integer constants above [`EXACT`] in magnitude: f32 does not hold all of these.
pub(super) fn all_exact(inputs: &[Known]) -> Rule<()> {
    for input in inputs.iter().filter(|input| !input.element().is_float()) {
        let wrong = match input {
            Known::Constant(tensor, _) => {
                (0..tensor.len()).find(|&i| tensor.get_f64(i).abs() > EXACT)
            }
            _ => None,
        };
        if let (Some(at), Some(tensor)) = (wrong, input.tensor()) {
            let found = format!("{} in arithmetic at run time", tensor.get_f64(at));
            return Err(too_large_integer(found));
        }
    }
    Ok(())
}

/// The refusal of an integer above [`EXACT`] in magnitude: f32 does not hold all of these.
pub(super) fn too_large_integer(found: String) -> Refusal {
    let valid = format!("integers of at most {EXACT} in magnitude, which f32 holds");
    let help = "clip the integers before, or compute this part outside of the model";
    Refusal::new(found, valid, help)
}
