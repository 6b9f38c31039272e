//! The core: a small set of operations with known sizes, into which every model is translated.
//!
//! [`crate::check`] refuses a [`CoreModel`] by its states, its steps, its rows for independent
//! streams and its sizes. Later stages refuse nothing: they translate operations to kernels,
//! evaluate operations or bound their errors.

mod build_error;
mod builder;
mod cell;
mod concat;
mod convolve;
mod denormals;
mod dense;
mod equations;
mod facts;
pub(crate) mod fold;
mod folded;
mod geometry;
mod history;
mod integers;
pub(crate) mod interval;
mod known;
mod linear_attention;
mod live_values;
mod lookup;
mod loops;
mod matmul;
mod model;
mod number;
mod op;
mod pointwise;
mod print;
mod reduce;
mod running_sum;
mod softmax;
mod source;
pub mod streams;
mod sweep;
mod top_k;
mod value_facts;
mod view;

pub(crate) use build_error::{BuildError, Built};
pub(crate) use builder::{CoreBuilder, Layer};
pub use cell::{CellOutputs, CoreCell, Lengths, Sequence, WeightSources};
pub use concat::Concat;
pub use convolve::{
    Convolve, MOST_DENSE_GROUPS, Pairs, PhaseRun, Phased, TapLoop, offsets, window_shape,
};
pub use denormals::{Denormals, TensorDenormals};
pub use dense::Dense;
pub use equations::general_equations;
pub use facts::{
    Effort, Facts, OutputNumbers, OverTime, RecurrentSteps, StateEnds, StepOrder, Work, Zeros,
};
pub(crate) use facts::{
    Factor, FixedMatrices, FixedProduct, KernelForm, Notation, PlannedProduct, Reach, StateEndsMut,
};
use facts::{Treatment, product};
pub(crate) use geometry::{
    Geometry, axis_index, broadcast, broadcast_strides, element_count, signed, strides,
    without_axes,
};
pub(crate) use history::{ElementsBefore, Front, History, Lookback, ShortOf};
pub use integers::{INTEGER_LIMIT, IntegerInput};
pub(crate) use known::Known;
pub use linear_attention::{AttentionSizes, Decay, LinearAttention};
pub(crate) use live_values::needed;
pub use lookup::Lookup;
pub use loops::{CoreLoop, LoopCarried, LoopResult, LoopSlice};
pub use matmul::MatMul;
pub(crate) use model::is_f32_product;
pub use model::{
    CoreModel, CoreValue, Parameter, Restart, ResultValue, StatePair, Steps, Variable,
};
pub(crate) use number::Number;
pub(crate) use op::visit_references;
pub use op::{CoreNode, CoreOp, LayerPlace};
use op::{Operation, drop_unneeded};
pub use pointwise::{Pointwise, PointwiseFunction};
pub use reduce::{Combiner, Reduce, chains_of_short_rows};
pub use running_sum::RunningSum;
pub use softmax::Softmax;
pub(crate) use source::Reference;
use source::listed;
pub use source::{ConstantId, Source, WeightSource};
use streams::StreamRows;
pub(crate) use sweep::sweep;
pub use top_k::TopK;
pub(crate) use value_facts::{Divider, DynamicLength, ValueFacts};
pub use view::View;
