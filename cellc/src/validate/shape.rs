//! Arithmetic on shapes, and what the inputs that say shapes and axes say.

use super::{Known, Validation};
use crate::model::{Node, shape_text};

/// The most numbers of a list of sizes, axes or the like.
const LONGEST_LIST: usize = 1 << 16;

/// By dimension, how many elements lie from one index to the next in C order.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(shape[d]);
    }
    strides
}

/// Which elements of a tensor another one is: `out[i0, ..] = input[offset + sum i_d * strides_d]`.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    pub(super) offset: usize,
    pub(super) strides: Vec<isize>,
    pub(super) shape: Vec<usize>,
}

impl Geometry {
    /// The elements in their order, under another shape.
    pub(super) fn reshaped(shape: Vec<usize>) -> Self {
        Self { offset: 0, strides: signed(strides(&shape)), shape }
    }

    /// Whether the elements stand one after the other.
    pub(super) fn is_contiguous(&self) -> bool {
        let own = signed(strides(&self.shape));
        self.strides
            .iter()
            .zip(own)
            .zip(&self.shape)
            .all(|((&stride, own), &size)| size == 1 || stride == own)
    }
}

pub(super) fn signed(strides: Vec<usize>) -> Vec<isize> {
    strides.into_iter().map(|stride| stride as isize).collect()
}

/// The shape to which all of them broadcast by NumPy's rules.
pub(super) fn broadcast<'s>(shapes: impl IntoIterator<Item = &'s [usize]>) -> Option<Vec<usize>> {
    let mut all: Vec<usize> = Vec::new();
    for shape in shapes {
        if shape.len() > all.len() {
            all.splice(0..0, std::iter::repeat_n(1, shape.len() - all.len()));
        }
        let from = all.len() - shape.len();
        for (have, &size) in all[from..].iter_mut().zip(shape) {
            match (*have, size) {
                (have, size) if have == size => {}
                (1, _) => *have = size,
                (_, 1) => {}
                _ => return None,
            }
        }
    }
    Some(all)
}

/// The shape without these axes, or with a size of 1 for each where they are kept.
pub(super) fn without_axes(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let size = |(axis, &size): (usize, &usize)| match axes.contains(&axis) {
        true => keep.then_some(1),
        false => Some(size),
    };
    shape.iter().enumerate().filter_map(size).collect()
}

/// The strides with which a tensor of `shape` is read as one of shape `to`, to which it broadcasts.
pub(super) fn broadcast_strides(shape: &[usize], to: &[usize]) -> Vec<usize> {
    let own = strides(shape);
    let added = to.len() - shape.len();
    let of = |d: usize| if d < added || shape[d - added] == 1 { 0 } else { own[d - added] };
    (0..to.len()).map(of).collect()
}

/// "are" after what an input says in the plural, as in "the axes", else "is".
fn verb(what: &str) -> &'static str {
    let noun = what.split(' ').nth(1).unwrap_or_default();
    if noun.ends_with('s') && noun != "axis" { "are" } else { "is" }
}

/// Counted from the end where negative; `None` where it is not below `rank`.
pub(super) fn counted(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

impl Validation<'_> {
    /// An axis of a tensor, from the end where negative.
    pub(super) fn axis(&mut self, node: &Node, axis: i64, rank: usize) -> Option<usize> {
        let found = counted(axis, rank);
        if found.is_none() {
            let valid = match rank {
                0 => "a tensor of one dimension or more".to_owned(),
                _ => format!("{} to {}", -(rank as i64), rank - 1),
            };
            let origin = node.attribute_origin(node.spelling.axis);
            let found = format!("the axis {axis} of a tensor of {rank} dimensions");
            self.error(node, origin, found, valid, "correct the axis, or the shape of the tensor");
        }
        found
    }

    /// The integers of an input that has to be known when compiling.
    pub(super) fn integers(&mut self, node: &Node, port: usize, what: &str) -> Option<Vec<i64>> {
        let known = self.input(node, port)?;
        let tensor = match &known {
            Known::Constant(tensor, element) if !element.is_float() => tensor,
            Known::Constant(_, element) => {
                let found = format!("{what} {} of type {}", verb(what), element.name());
                self.error(node, &node.origin, found, "integers", "convert them to i64");
                return None;
            }
            Known::Source(..) | Known::Iteration(..) => {
                let found = format!("{what} {} computed at run time", verb(what));
                let valid = "integers that are known when compiling";
                let help = "connect a constant, or compute it from shapes that are known";
                self.error(node, &node.origin, found, valid, help);
                return None;
            }
        };
        if tensor.len() > LONGEST_LIST {
            let found = format!("{} numbers as {what}", tensor.len());
            self.error(
                node,
                &node.origin,
                found,
                format!("{LONGEST_LIST} or fewer"),
                "split the layer",
            );
            return None;
        }
        (0..tensor.len()).map(|i| tensor.get_i64(i)).collect()
    }

    /// The one integer of an input that has to be known when compiling.
    pub(super) fn integer(&mut self, node: &Node, port: usize, what: &str) -> Option<i64> {
        let list = self.integers(node, port, what)?;
        if let [one] = list[..] {
            return Some(one);
        }
        let found = format!("{} numbers as {what}", list.len());
        self.error(node, &node.origin, found, "one", "connect a scalar");
        None
    }

    /// Shapes that have to agree and do not.
    pub(super) fn shapes_differ(
        &mut self,
        node: &Node,
        shapes: &[Vec<usize>],
        valid: &str,
        help: &str,
    ) {
        let texts: Vec<String> = shapes.iter().take(8).map(|shape| shape_text(shape)).collect();
        let found = format!("inputs of the shapes {}", texts.join(", "));
        self.error(node, &node.origin, found, valid, help);
    }
}
