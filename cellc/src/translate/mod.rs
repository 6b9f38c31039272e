//! The translation of models to core operations. A node becomes core operations, or in most cases a
//! constant if all its inputs are constants. `walk` visits the nodes, and `operations` calls the
//! rule for each kind of node. Every other file has one rule or a family of rules, which refuse
//! nodes without a translation.

mod arithmetic;
mod arrange;
mod attention;
mod branches;
mod cells;
mod compositions;
mod computed_weights;
mod conditional_loops;
mod convolution;
mod cut;
mod dynamic_lengths;
mod einsum;
mod elementwise;
mod empty;
mod hyperbolic;
mod integers;
mod interface;
mod layout;
mod linear_attention;
mod lookup;
mod loops;
mod matmul;
mod normalize;
mod operands;
mod operations;
mod parts;
mod places;
mod powers;
mod prefixes;
mod primitives;
mod ranges;
mod reduce;
mod refusal;
mod regrouped;
mod rounding;
mod scatter;
mod sequence;
mod softmax;
mod top_k;
mod transform;
mod translator;
mod unpacked_weights;
mod variables;
mod walk;

pub(crate) use translator::TranslateInput;
pub(crate) use unpacked_weights::unpack_weights_read_as_data;
pub(crate) use walk::translate;
