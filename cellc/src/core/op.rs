//! The core operations.

use super::{
    Concat, Convolve, CoreCell, CoreLoop, CoreModel, Dense, Facts, FixedMatrices, IntegerInput,
    LinearAttention, Lookup, MatMul, PlannedProduct, Pointwise, Reduce, Reference, RunningSum,
    Softmax, Source, StateEndsMut, StreamRows, TopK, View, Work,
};
use crate::model::LedgerEntry;

/// One operation, all sizes known.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreNode {
    /// The layer's name: any text.
    pub name: String,
    /// The layer's type in the input, for messages: `GRUCell`.
    pub kind: String,
    /// The operation.
    pub op: CoreOp,
    /// The meaning of each attribute.
    pub ledger: Vec<LedgerEntry>,
    /// The place of the node from which this operation was translated.
    pub layer: LayerPlace,
}

/// The place of a node in the model of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayerPlace {
    /// Index of the node, or of the loop or If around the node, in the graph of the model.
    pub outer: usize,
    /// Index of the node in the innermost graph around the node.
    pub inner: usize,
}

/// The facts and transformations of one operation. No method has a default: a new operation states
/// each fact. The operation's kernel is in `lower`, its semantics in `evaluate`.
pub(super) trait Operation {
    /// [`CoreOp::facts`].
    fn facts(&self) -> Facts<'_>;

    /// [`CoreOp::states`].
    fn states(&mut self) -> Vec<StateEndsMut<'_>>;

    /// Visits all references to tensors, except the parameter of an [`IntegerInput`] and of
    /// sequence lengths; for a loop, also the references in the body.
    fn visit(&mut self, visit: &mut dyn FnMut(Reference));

    /// Adds a first axis with [`StreamRows::count`] rows to every tensor but weights, filters and
    /// tables, or as many rows to a batch.
    fn repeat(&mut self, rows: &mut StreamRows<'_>);

    /// [`CoreOp::same_attributes`].
    fn same_attributes(&self, other: &CoreOp) -> bool;

    /// [`CoreOp::drop_outputs`].
    fn drop_outputs(&mut self, needed: &[bool]);

    /// The operation with its operands and attributes, for `--emit model`.
    fn text(&self, model: &CoreModel) -> String;
}

/// Replaces an output that nothing needs by `None`.
pub(super) fn drop_unneeded(value: &mut Option<usize>, needed: &[bool]) {
    *value = value.filter(|&value| needed[value]);
}

/// The table of core operations: each name with the type of its attributes.
macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident($operation:ident),)*) => {
        /// The operation of a [`CoreNode`].
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant)] // cells are the most frequent variant
        pub enum CoreOp {
            $($(#[$doc])* $variant($operation),)*
        }

        impl CoreOp {
            fn operation(&self) -> &dyn Operation {
                match self {
                    $(Self::$variant(operation) => operation,)*
                }
            }

            fn operation_mut(&mut self) -> &mut dyn Operation {
                match self {
                    $(Self::$variant(operation) => operation,)*
                }
            }
        }
    };
}

operations! {
    /// A recurrent cell, one step or a sequence in one direction.
    Cell(CoreCell),
    /// `y[r, :] = x[r, :] W`, W fixed.
    Dense(Dense),
    /// `y[b] = a[b] b[b]`, computed or constant.
    MatMul(MatMul),
    /// Windows of stride 1, times fixed weights.
    Convolve(Convolve),
    /// An operation element by element.
    Pointwise(Pointwise),
    /// Softmax along one axis.
    Softmax(Softmax),
    /// A reduction along neighbouring axes.
    Reduce(Reduce),
    /// Running sums along one axis.
    RunningSum(RunningSum),
    /// Linear attention, one step or a sequence.
    LinearAttention(LinearAttention),
    /// Elements in another order: a permutation, a selection or a repetition.
    View(View),
    /// Tensors side by side along an axis.
    Concat(Concat),
    /// A body that is repeated.
    Loop(CoreLoop),
    /// An integer input, converted for kernels.
    IntegerInput(IntegerInput),
    /// Rows of a table, by number.
    Lookup(Lookup),
    /// The largest or smallest elements of every row.
    TopK(TopK),
}

impl CoreOp {
    /// The facts about the operation.
    pub fn facts(&self) -> Facts<'_> {
        self.operation().facts()
    }

    /// True if another operation has the same attributes. Sizes that may differ by the number of
    /// steps are not compared, nor are weights, operands, windows and attributes that follow from
    /// sizes.
    pub(crate) fn same_attributes(&self, other: &Self) -> bool {
        self.operation().same_attributes(other)
    }

    /// Drops optional outputs, and a loop's slices, carried values and results, unless needed.
    /// `needed`: by value, true if a Result or a variable depends on the value.
    pub(crate) fn drop_outputs(&mut self, needed: &[bool]) {
        self.operation_mut().drop_outputs(needed);
    }

    /// The states in [`Facts::recurrence`], in the same order.
    pub(crate) fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        self.operation_mut().states()
    }

    /// Adds a row for each stream, as [`Operation::repeat`].
    pub(super) fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        self.operation_mut().repeat(rows);
    }

    /// The operation for `--emit model`. Lines after the first are indented.
    pub(crate) fn text(&self, model: &CoreModel) -> String {
        self.operation().text(model)
    }

    /// The operands, as [`Facts::operands`].
    pub fn reads(&self) -> Vec<Source> {
        self.facts().operands
    }

    /// The computed values, as [`Facts::outputs`].
    pub fn outputs(&self) -> Vec<usize> {
        self.facts().outputs
    }

    /// The first value that the operation computes.
    pub(crate) fn first_value(&self) -> usize {
        self.outputs()[0]
    }

    /// The values that checks of states name by the layer of the operation: results of products, of
    /// cells and of linear attention, and the values that a loop carries.
    pub(crate) fn layer_values(&self) -> Vec<usize> {
        let facts = self.facts();
        match (self, facts.work) {
            (Self::Loop(body), _) => body.carried.iter().map(|carried| carried.value).collect(),
            (_, Work::Products { .. }) => facts.outputs,
            (_, Work::Elements { .. } | Work::Body) => Vec::new(),
        }
    }

    /// The product of vectors and fixed matrices, if the plan has sizes for the product. `None` for
    /// other operations and depthwise convolutions.
    pub(crate) fn planned(&self) -> Option<PlannedProduct<'_>> {
        match self.facts().product?.matrices {
            FixedMatrices::Planned(product) => Some(product),
            FixedMatrices::Windows(_) => None,
        }
    }

    /// True if the operation multiplies fixed matrices by vectors and the plan has panel sizes for
    /// the product: a cell or a dense layer.
    pub fn is_product(&self) -> bool {
        self.planned().is_some()
    }

    /// True if options choose the precision of the operation: a cell, a dense layer or a depthwise
    /// convolution.
    pub fn has_precision(&self) -> bool {
        self.facts().product.is_some()
    }
}

/// Visits the references of operations to tensors, in bodies of loops, too, as
/// [`Operation::visit`].
pub(crate) fn visit_references(nodes: &mut [CoreNode], visit: &mut dyn FnMut(Reference)) {
    for node in nodes {
        node.op.operation_mut().visit(visit);
    }
}
