//! Facts about values, noted by the rules that compute the values, and read by rules for later
//! operations.

use std::collections::BTreeMap;

use super::interval::{ANY, Interval, TRUTH, union};
use super::{Geometry, Known, Source};
use crate::model::ElementType;

/// The kind of operation that determines a length known only at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Divider {
    /// The iterations of a loop with a run-time end.
    Loop,
    /// A Range whose limit is computed at run time.
    Range,
    /// A Slice whose stop is computed at run time.
    Slice,
}

/// The run-time length of a tensor: of an output of a loop that ends by its condition, of a Range,
/// of a Slice, or of the result of an operation on these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DynamicLength {
    /// The number of iterations or elements.
    pub(crate) count: Source,
    /// The kind of operation that first determined the length.
    pub(crate) by: Divider,
    /// True if the elements behind the run-time length are zero.
    pub(crate) is_zero: bool,
    /// The truth value whether the output was cut off at the limit of the options. `None` if the
    /// output is never cut off.
    pub(crate) truncated: Option<Source>,
    /// The axis with the run-time length. `None` for the last value of a loop: its axes have fixed
    /// lengths.
    pub(crate) parts_along: Option<usize>,
}

/// Facts about values.
#[derive(Default)]
pub(crate) struct ValueFacts {
    /// By value: the run-time length.
    pub(crate) lengths: BTreeMap<usize, DynamicLength>,
    /// By value of integers, or of floats computed from integers: the range.
    pub(crate) ranges: BTreeMap<usize, Interval>,
    /// By value: the integer input from which the elements come, and true if the value has all
    /// elements of the input in order.
    pub(crate) parameter_of: BTreeMap<usize, (usize, bool)>,
    /// By value of a convolution over several dimensions, or of element-wise operations on the
    /// convolution: the value that also contains the elements across line ends, and the view that
    /// leaves them out.
    pub(crate) lines: BTreeMap<usize, (usize, Geometry)>,
}

impl ValueFacts {
    /// Forgets the values from `first` on.
    pub(super) fn truncate(&mut self, first: usize) {
        self.lengths.split_off(&first);
        self.ranges.split_off(&first);
        self.parameter_of.split_off(&first);
        self.lines.split_off(&first);
    }

    /// The input that has exactly the elements of an integer tensor, in order. `None` for other
    /// tensors.
    pub(crate) fn given_integers(&self, source: Source) -> Option<usize> {
        match source {
            Source::Parameter(parameter) => Some(parameter),
            Source::Value(value) => self
                .parameter_of
                .get(&value)
                .filter(|(_, has_all_elements)| *has_all_elements)
                .map(|(parameter, _)| *parameter),
            _ => None,
        }
    }

    /// The known range of a tensor of integers, or of floats computed from integers. [`ANY`] if
    /// unknown.
    pub(crate) fn range_of(&self, known: &Known) -> Interval {
        match known {
            Known::Source(_, ElementType::Bool) => TRUTH,
            Known::Source(Source::Value(value), _) => {
                self.ranges.get(value).copied().unwrap_or(ANY)
            }
            Known::Constant(tensor, _) if !tensor.is_empty() => {
                let values = (0..tensor.len()).map(|i| tensor.get_f64(i));
                values.fold([f64::INFINITY, f64::NEG_INFINITY], |range, v| union(range, [v, v]))
            }
            Known::Constant(..) => TRUTH,
            Known::Source(..) | Known::Iteration(..) => ANY,
        }
    }

    /// The union of the intervals of several tensors.
    pub(crate) fn range_of_all(&self, all: &[Known]) -> Interval {
        all.iter().map(|known| self.range_of(known)).fold([f64::INFINITY, f64::NEG_INFINITY], union)
    }

    /// Stores the interval of a tensor of integers.
    pub(crate) fn set_range(&mut self, known: &Known, range: Interval) {
        if let Known::Source(Source::Value(value), element) = known
            && !element.is_float()
        {
            self.ranges.insert(*value, range);
        }
    }

    /// Stores the run-time length of a computed value.
    pub(crate) fn set_length(&mut self, known: &Known, length: DynamicLength) {
        if let Known::Source(Source::Value(value), _) = known {
            self.lengths.insert(*value, length);
        }
    }

    /// The run-time length of a tensor, if any.
    pub(crate) fn dynamic_length(&self, known: &Known) -> Option<DynamicLength> {
        match known {
            Known::Source(Source::Value(value), _) => self.lengths.get(value).copied(),
            _ => None,
        }
    }
}
