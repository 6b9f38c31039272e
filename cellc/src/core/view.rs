//! Views: elements in another order.

use super::{CoreModel, Effort, Facts, Name, Numbers, Operation, OverTime, Source, Work, Zeros};

/// `out[i0, i1, ..] = input[offset + sum i_d * strides_d]`, in elements of the input in C order;
/// always in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The input.
    pub input: Source,
    /// The first element.
    pub offset: usize,
    /// By dimension of the value; 0 repeats.
    pub strides: Vec<isize>,
    /// The value.
    pub out: usize,
}

impl Operation for View {
    fn facts(&self) -> Facts {
        Facts {
            name: "view",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), Effort::Move),
            over_time: OverTime::Special,
            zeros: Zeros::IfAll,
            numbers: Numbers::Moved(vec![self.input]),
        }
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Name)) {
        visit(Name::Source(&mut self.input));
        visit(Name::Value(&mut self.out));
    }

    fn text(&self, _: &CoreModel) -> String {
        format!("view of {} from {}, strides {:?}", self.input, self.offset, self.strides)
    }
}
