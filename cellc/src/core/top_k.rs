//! The largest or smallest elements of rows.

use super::{
    CoreModel, CoreOp, Effort, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime,
    Reach, Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros, drop_unneeded,
};

/// The `count` largest or smallest elements of each row, best first, NaNs last. [`Self::last`]
/// decides the order of equal elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK {
    /// `[rows, size]`
    pub input: Source,
    /// The number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub size: usize,
    /// Selected elements per row.
    pub count: usize,
    /// True for the largest elements, false for the smallest.
    pub largest: bool,
    /// True if the last of equal elements comes first, false if the first comes first.
    pub last: bool,
    /// The elements, `[rows, count]`, as a value. `None` if unused.
    pub values: Option<usize>,
    /// The indices of the elements in the row, 0 for a NaN, `[rows, count]`, as a value. `None` if
    /// unused.
    pub indices: Option<usize>,
}

impl Operation for TopK {
    fn facts(&self) -> Facts<'_> {
        let which = if self.largest { "largest" } else { "smallest" };
        let names = [(self.values, ""), (self.indices, "places_of_")]
            .into_iter()
            .filter_map(|(value, of)| value.map(|_| format!("{of}{which}_{}", self.count)))
            .collect();
        Facts {
            name: "top_k",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: [self.values, self.indices].into_iter().flatten().collect(),
            work: Work::Elements {
                tensor: self.input,
                times: self.count,
                effort: Effort::Function,
            },
            over_time: OverTime::CombinesLast,
            zeros: Zeros::Unknown,
            numbers: OutputNumbers::Chosen,
            product: None,
            kernel: KernelForm::Alone,
            notation: Notation::Functions(names),
            functions: Vec::new(),
            denormals: Treatment::Computes,
            constants: "constant",
            reach: Reach::Far,
            between_streams: None,
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        Vec::new()
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        self.rows *= rows.count;
        rows.copy(&mut self.input);
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        let key = |top_k: &Self| (top_k.count, top_k.largest, top_k.last);
        matches!(other, CoreOp::TopK(other) if key(self) == key(other))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.input));
        self.values.iter_mut().for_each(|value| visit(Reference::Value(value)));
        self.indices.iter_mut().for_each(|value| visit(Reference::Value(value)));
    }

    fn drop_outputs(&mut self, needed: &[bool]) {
        [&mut self.values, &mut self.indices]
            .into_iter()
            .for_each(|value| drop_unneeded(value, needed));
    }

    fn text(&self, _: &CoreModel) -> String {
        let which = if self.largest { "largest" } else { "smallest" };
        let Self { count, input, rows, size, .. } = self;
        format!("{count} {which} of each row of {input}, {rows} of {size}")
    }
}
