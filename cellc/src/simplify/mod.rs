//! The translation of models to core operations: each kind of node becomes core operations or an
//! equal constant. Every file has one kind, and refuses nodes without a translation.
//! [`crate::compile`] lists the passes.

mod arrange;
mod attention;
mod branches;
mod cells;
mod computed_weights;
mod convolution;
mod cut;
mod einsum;
mod elementwise;
mod empty;
mod fold;
mod hyperbolic;
mod integers;
mod layout;
mod lookup;
mod loops;
mod matmul;
mod normalize;
mod operations;
mod places;
mod prefixes;
mod ranges;
mod reduce;
mod regrouped;
mod rounding;
mod scatter;
mod sequence;
mod sweep;
mod top_k;
mod transform;
mod until;

pub(crate) use operations::translate;
pub(crate) use sweep::sweep;
