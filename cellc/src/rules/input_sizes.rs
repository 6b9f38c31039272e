//! The sizes and the roles of the inputs.

/// The roles of a Parameter, found through Converts and inputs of loop bodies.
#[derive(Clone, Default)]
pub(crate) struct Uses {
    /// The role as weights, in words for messages.
    pub(crate) weight: Option<String>,
    /// True if a recurrent operator outside of loops reads the input as x, h, c, attention or
    /// lengths: the first size is the batch.
    pub(crate) batch: bool,
    /// The last size of the input that the weights of its reader require.
    pub(crate) features: Option<usize>,
    /// The role as lengths of a sequence, in words for messages.
    pub(crate) lengths: Option<String>,
    /// Any other role, in words for messages.
    pub(crate) data: Option<String>,
}

impl Uses {
    /// True if the input is only read as lengths of sequences.
    pub(crate) fn is_length(&self) -> bool {
        self.lengths.is_some() && self.data.is_none() && self.weight.is_none()
    }
}

/// The axes of an input that count the rows of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchAxes {
    pub(crate) axes: Vec<usize>,
    /// True if a name in the file or a recurrent operator shows the axes; else the first axis is
    /// taken for the batch.
    pub(crate) is_known: bool,
    /// True if the input is an initial state of recurrent operators: it has no axis of time.
    pub(crate) is_state: bool,
}

/// The axes that a sequence reads as N and T of its input `[N, T, I]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceAxes {
    pub(crate) rows: usize,
    pub(crate) steps: usize,
    /// The place of the sequence among the nodes of the model.
    pub(crate) node: usize,
}

/// The sizes of the inputs.
#[derive(Default)]
pub(crate) struct InputSizes {
    /// By parameter of the model.
    pub(crate) uses: Vec<Uses>,
    /// By parameter of the model.
    pub(crate) batch_axes: Vec<BatchAxes>,
    /// By parameter of the model.
    pub(crate) sequence_axes: Vec<Option<SequenceAxes>>,
    /// By parameter of the model; `None` after an error.
    pub(crate) shapes: Vec<Option<Vec<usize>>>,
    /// The size that a check assumes for open axes that count steps. `None`: an open size is an
    /// error.
    pub(crate) open: Option<usize>,
    /// By parameter of the model: the axes with the assumed size.
    pub(crate) open_axes: Vec<Vec<usize>>,
}

impl InputSizes {
    /// No sizes yet. `open`: the assumed size.
    pub(crate) fn new(inputs: usize, open: Option<usize>) -> Self {
        Self {
            uses: vec![Uses::default(); inputs],
            shapes: vec![None; inputs],
            open,
            open_axes: vec![Vec::new(); inputs],
            ..Self::default()
        }
    }
}
