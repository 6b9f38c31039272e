/// What a format calls the attributes that are judged whichever format says them: a node carries
/// the names of its own.
#[derive(Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The length of h.
    pub hidden_size: &'static str,
    /// The activation functions of a cell.
    pub activations: &'static str,
    /// The bound on the sums of a cell's gates.
    pub clip: &'static str,
    /// Which way a sequence runs.
    pub direction: &'static str,
    /// Whether the reset gate of a GRU is behind the matrix product.
    pub linear_before_reset: &'static str,
    /// The element type that a tensor is converted to.
    pub element_type: &'static str,
    /// Along which dimension.
    pub axis: &'static str,
    /// How many dimensions a Gather takes one by one.
    pub batch_dims: &'static str,
}

impl Spelling {
    /// The names that macros and build scripts use.
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
