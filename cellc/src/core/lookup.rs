//! Row lookup in a table by computed indices (Gather along axis 0; embeddings).

use super::{
    CoreModel, CoreOp, Effort, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime,
    Reach, Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros,
};

/// `out[k, :] = table[indices[k], :]`. Negative indices count from the end; indices beyond an end
/// are clamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// `[size, len]`
    pub table: Source,
    /// Number of rows of the table.
    pub size: usize,
    /// Elements of a row.
    pub len: usize,
    /// The row indices: integers, stored as f32. NaN selects row 0.
    pub indices: Source,
    /// The selected rows, as a value.
    pub out: usize,
}

impl Operation for Lookup {
    fn facts(&self) -> Facts<'_> {
        let is_computed = !matches!(self.table, Source::Constant(_));
        Facts {
            name: "lookup",
            operands: vec![self.table, self.indices],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), Effort::Select(self.table)),
            over_time: OverTime::Selects,
            zeros: Zeros::Unknown,
            numbers: OutputNumbers::Moved(vec![self.table]),
            product: None,
            kernel: KernelForm::Alone,
            notation: Notation::Function("lookup"),
            functions: Vec::new(),
            denormals: Treatment::Computes,
            constants: "table",
            reach: Reach::Far,
            between_streams: is_computed.then_some("a table that is computed"),
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        Vec::new()
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        rows.copy(&mut self.indices);
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        matches!(other, CoreOp::Lookup(other) if (self.size, self.len) == (other.size, other.len))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.table));
        visit(Reference::Source(&mut self.indices));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a lookup in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        let Self { table, size, len, indices, .. } = self;
        format!("rows {indices} of {table}, which has {size} of {len}")
    }
}
