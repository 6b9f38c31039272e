/// A format's names of the attributes that validation checks for all formats. Each node refers to
/// the names of its format.
#[derive(Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The hidden size of a recurrent cell.
    pub hidden_size: &'static str,
    /// The activation functions of a cell.
    pub activations: &'static str,
    /// The limit of pre-activations: every gate's sum is clipped to `[-clip, clip]`.
    pub clip: &'static str,
    /// The direction of a sequence.
    pub direction: &'static str,
    /// The place of the reset gate of a GRU: after the matrix product or before.
    pub linear_before_reset: &'static str,
    /// The target type of a conversion.
    pub element_type: &'static str,
    /// The axis of an operation.
    pub axis: &'static str,
    /// The number of batch dimensions of a Gather.
    pub batch_dims: &'static str,
}

impl Spelling {
    /// The names in cellc's own declarations: macros and build scripts.
    pub const OWN: Self = Self {
        hidden_size: "hidden_size",
        activations: "activations",
        clip: "clip",
        direction: "direction",
        linear_before_reset: "linear_before_reset",
        element_type: "element_type",
        axis: "axis",
        batch_dims: "batch_dims",
    };
}
