//! Remedies shared by several stages.

/// The remedy for an LSTM with projections. The projection P of layer l is linear: for the state h
/// before the projection, W (P h) is (W P) h.
pub(crate) const WITHOUT_PROJECTIONS: &str = "cellc computes no projections; an nn.LSTM without \
    proj_size and, behind it, an nn.Linear without a bias compute the same with these weights: \
    weight_hh of each layer is weight_hh @ weight_hr, weight_ih of the next layer is weight_ih @ \
    weight_hr, and the weight_hr of the last layer is the weight of the nn.Linear";

/// The number of steps in examples of commands and of lines that export a model.
pub(crate) const EXAMPLE_STEPS: usize = 100;
