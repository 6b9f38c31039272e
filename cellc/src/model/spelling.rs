//! A format's names of attributes, for messages.

/// The names of attributes that checks mention in messages, for one format. Each node refers to the
/// names of its format.
#[derive(Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The name for the hidden size of a recurrent cell.
    pub hidden_size: &'static str,
    /// The name for the activation functions of a cell.
    pub activations: &'static str,
    /// The directions that the list of activation functions covers.
    pub activation_lists: ActivationLists,
    /// The name for the limit of pre-activations: every gate's sum is clipped to `[-clip, clip]`.
    pub clip: &'static str,
    /// The name for the direction of a sequence.
    pub direction: &'static str,
    /// The name for the place of the reset gate of a GRU: after the matrix product or before.
    pub linear_before_reset: &'static str,
    /// The name for the target type of a conversion.
    pub element_type: &'static str,
    /// The name for the axis of an operation.
    pub axis: &'static str,
    /// The name for the number of batch dimensions of a Gather.
    pub batch_dims: &'static str,
    /// The name for the input of a sequence with the first hidden state.
    pub initial_h: &'static str,
    /// The name for the input of a sequence with the first cell state.
    pub initial_c: &'static str,
    /// The name for the input of a sequence with the number of steps of each row.
    pub sequence_lengths: &'static str,
    /// The name for the attribute or input of a transposed convolution with the sizes of the
    /// output.
    pub output_shape: &'static str,
    /// The name for the element type of a variable.
    pub variable_type: &'static str,
    /// The name for the attribute that keeps half of the spectrum of a real signal.
    pub onesided: &'static str,
    /// True if the axis of steps, or of directions, precedes the axis of the batch in X and in the
    /// states of a sequence. The model always has the batch first.
    pub batch_second: bool,
}

/// The lists of activation functions that a bidirectional sequence accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivationLists {
    /// One list for both directions, or the list of the forward direction followed by the list of
    /// the reverse direction.
    AllOrEach,
    /// One list for both directions, or the same list twice.
    ForAll,
    /// The list of the forward direction followed by the list of the reverse direction.
    ForEach,
}

impl Spelling {
    /// The names in cellc's own declarations: macros and build scripts.
    pub const OWN: Self = Self {
        hidden_size: "hidden_size",
        activations: "activations",
        activation_lists: ActivationLists::AllOrEach,
        clip: "clip",
        direction: "direction",
        linear_before_reset: "linear_before_reset",
        element_type: "element_type",
        axis: "axis",
        batch_dims: "batch_dims",
        initial_h: "h0",
        initial_c: "c0",
        sequence_lengths: "sequence_lengths",
        output_shape: "output_shape",
        variable_type: "variable_type",
        onesided: "onesided",
        batch_second: false,
    };
}
