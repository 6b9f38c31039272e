//! Integer inputs.

use super::{
    CoreModel, CoreOp, Effort, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime,
    Reach, Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros,
};
use crate::model::ElementType;

/// Run-time integers are clamped to `-INTEGER_LIMIT..INTEGER_LIMIT`. f32 represents these integers
/// exactly, and sums of a few of them.
pub const INTEGER_LIMIT: i32 = 1 << 22;

impl IntegerInput {
    /// The range of integers of this type in computations.
    pub fn limits(element: ElementType) -> [i32; 2] {
        match element {
            ElementType::Bool => [0, 1],
            ElementType::I4 => [-8, 7],
            ElementType::U4 => [0, 15],
            ElementType::I8 => [i8::MIN.into(), i8::MAX.into()],
            ElementType::U8 => [0, u8::MAX.into()],
            ElementType::I16 => [i16::MIN.into(), i16::MAX.into()],
            ElementType::U16 => [0, u16::MAX.into()],
            ElementType::U32 | ElementType::U64 => [0, INTEGER_LIMIT - 1],
            _ => [-INTEGER_LIMIT, INTEGER_LIMIT - 1],
        }
    }
}

/// The conversion of an input of integers or booleans to f32.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegerInput {
    /// Index into [`CoreModel::parameters`].
    pub parameter: usize,
    /// Lower clamp: smaller elements are treated as this value.
    pub least: i32,
    /// Upper clamp: larger elements are treated as this value. The clamps differ by less than 2^23.
    pub most: i32,
    /// The value.
    pub out: usize,
}

impl Operation for IntegerInput {
    fn facts(&self) -> Facts<'_> {
        Facts {
            name: "integers",
            operands: vec![Source::Parameter(self.parameter)],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), Effort::Convert),
            over_time: OverTime::Pointwise,
            zeros: Zeros::Unknown,
            numbers: OutputNumbers::Integers([self.least, self.most]),
            product: None,
            kernel: KernelForm::Alone,
            notation: Notation::Operand,
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

    fn repeat(&mut self, _: &mut StreamRows<'_>) {
        // the limits hold for the integers of every stream
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        let key = |integers: &Self| (integers.parameter, integers.least, integers.most);
        matches!(other, CoreOp::IntegerInput(other) if key(self) == key(other))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a conversion in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        format!("integers of {}", Source::Parameter(self.parameter))
    }
}
