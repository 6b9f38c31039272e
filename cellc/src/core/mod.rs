//! The core: a small set of operations with known sizes. Every model is translated into core
//! operations.
//!
//! A [`CoreModel`] cannot be wrong: [`crate::check`] has checked the model. Later stages
//! translate operations to kernels, evaluate operations or bound their errors.

mod cell;
mod convolve;
mod denormals;
mod equations;
mod facts;
mod model;
mod needed;
mod op;
mod print;
mod references;
mod source;

pub use cell::{CoreCell, Lengths, Sequence};
pub use convolve::{Convolve, MOST_PRODUCTS, Pairs, offsets};
pub use denormals::{Denormals, Small};
pub use equations::general_equations;
pub use facts::{Effort, Facts, Numbers, OverTime, Work, Zeros};
pub use model::{
    CoreModel, CoreValue, Parameter, Restart, ResultValue, StatePair, Steps, Variable,
};
pub(crate) use needed::needed;
pub use op::{
    Concat, CoreLoop, CoreNode, CoreOp, Dense, Integers, LARGEST_INTEGER, LayerPlace, Lookup,
    LoopCarried, LoopResult, LoopSlice, MatMul, Pointwise, PointwiseFunction, Reduce, Softmax,
    TopK, View,
};
pub(crate) use references::{Name, visit_names};
pub use source::{Source, WeightSource};
