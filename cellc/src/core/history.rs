//! The elements in front of the first step that operations read. A model of one step needs these
//! elements from the steps before.

/// The elements that the operations of a model read in front of their axes. Operations in bodies of
/// loops and branches are left out.
#[derive(Clone, Default)]
pub(crate) struct History {
    /// The operations that read elements in front of the first element of an axis: padded windows,
    /// Pad, running sums.
    pub(crate) lookbacks: Vec<Lookback>,
    /// The first window longer than its axis.
    pub(crate) short_of: Option<ShortOf>,
}

/// An operation that computes the first elements along an axis from elements in front of the axis.
/// No input of the model gives these elements.
#[derive(Clone)]
pub(crate) struct Lookback {
    /// The place of the operation in the model.
    pub(crate) node: usize,
    pub(crate) before: ElementsBefore,
    pub(crate) fronts: Vec<Front>,
}

/// The elements before an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementsBefore {
    /// Padding, by an attribute of the operation or as a constant.
    Pads,
    /// The initial 0 of a running sum (CumSum).
    Zero,
}

/// The elements that an operation reads before an element of an axis.
#[derive(Clone, Copy)]
pub(crate) struct Front {
    /// The size of the axis.
    pub(crate) size: usize,
    /// The number of earlier elements that the operation reads.
    pub(crate) reach: usize,
    /// True if the operation, by its attributes, reads no later elements along the axis.
    pub(crate) is_causal: bool,
}

impl Lookback {
    /// The elements in front of the axis whose size is one of `sizes`. `None` if no axis or several
    /// axes have one of the sizes: windows over maps of one pixel have two such axes.
    pub(crate) fn along(&self, sizes: &[usize]) -> Option<Front> {
        let mut fitting = self.fronts.iter().filter(|front| sizes.contains(&front.size));
        fitting.next().copied().filter(|_| fitting.next().is_none())
    }
}

/// A window that is longer than its axis with pads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortOf {
    /// The place of the operation in the model.
    pub(crate) node: usize,
    /// The axis, counted among the axes of the windows.
    pub(crate) axis: usize,
    /// The number of axes of the windows.
    pub(crate) rank: usize,
    /// The size of the axis, without pads.
    pub(crate) size: usize,
    /// The number of elements that the axis, with pads, lacks for one window.
    pub(crate) missing: usize,
}
