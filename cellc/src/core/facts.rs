//! The facts about each core operation. Other stages ask for facts instead of matching all
//! operations.

use std::ops::Range;

use super::{
    Concat, Convolve, CoreCell, CoreLoop, CoreModel, CoreOp, Dense, Integers, Lengths, Lookup,
    MatMul, Pointwise, PointwiseFunction, Reduce, Softmax, Source, TopK, View, WeightSource,
};

/// The facts about one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The operation in names of kernels.
    pub name: &'static str,
    /// The operands without weights; for a loop also the outer values read by its body.
    pub operands: Vec<Source>,
    /// The weights.
    pub weights: Vec<WeightSource>,
    /// The values computed for later nodes.
    pub outputs: Vec<usize>,
    /// The work of one execution.
    pub work: Work,
    /// The steps needed for an element of the outputs.
    pub over_time: OverTime,
    /// The operands that make the outputs zero.
    pub zeros: Zeros,
    /// The numbers that the outputs may hold.
    pub numbers: Numbers,
}

/// The work of one execution of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Products of matrices.
    Products {
        /// Steps of a sequence.
        steps: usize,
        /// Multiply-adds of one step.
        each: usize,
    },
    /// Element operations, `times` for each element of a tensor.
    Elements {
        /// The tensor.
        of: Source,
        /// Element operations per element.
        times: usize,
        /// The cost class of an element operation.
        effort: Effort,
    },
    /// The work of the body in every iteration.
    Body,
}

/// The cost class of an element operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A copy.
    Move,
    /// The conversion of an integer input.
    Convert,
    /// The selection of an element from a column of this table.
    Select(Source),
    /// An addition, a multiplication or a comparison.
    Arithmetic,
    /// A division.
    Divide,
    /// An activation, or a comparison with many elements.
    Function,
}

/// The steps needed for an element of the outputs, if the operands have an axis of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverTime {
    /// The element's own step; operands broadcast.
    Elementwise,
    /// All steps, if the axis of time is among these axes of the operand. Otherwise the element's
    /// own step.
    Combines(Range<usize>),
    /// As `Combines`, for the last axis of the operand.
    CombinesLast,
    /// All steps, if the last this many elements of the operand include the axis of time. Otherwise
    /// the element's own step.
    CombinesRows(usize),
    /// The step of the index. The table must not depend on the step.
    Selects,
    /// Neighbouring steps.
    Windows,
    /// A rule of its own: cells, loops, products of computed matrices, and moved elements.
    Special,
}

/// The operands that make the outputs zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    /// The outputs are always zero.
    Always,
    /// The outputs are zero if all operands are zero.
    IfAll,
    /// The outputs are zero if one operand, or the weights, are zero.
    IfOne,
    /// Outputs are not known to be zero.
    Unknown,
}

/// The numbers that the outputs may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Elements of these operands, unchanged.
    Moved(Vec<Source>),
    /// Integers between two limits.
    Integers([i32; 2]),
    /// A rule of its own: pointwise operations and loops.
    Special,
    /// Any numbers.
    Any,
}

impl Work {
    /// `times` element operations for each element of a value.
    fn elements(of: Source, effort: Effort) -> Self {
        Self::Elements { of, times: 1, effort }
    }

    /// Multiply-adds of matrix products; 0 for other operations and for bodies.
    pub fn multiply_adds(&self) -> usize {
        match self {
            Self::Products { steps, each } => steps.saturating_mul(*each),
            Self::Elements { .. } | Self::Body => 0,
        }
    }

    /// Element operations, and their cost class; `None` for products and bodies.
    pub fn element_operations(&self, model: &CoreModel) -> Option<(usize, Effort)> {
        match *self {
            Self::Elements { of, times, effort } => {
                Some((model.len(of).saturating_mul(times), effort))
            }
            Self::Products { .. } | Self::Body => None,
        }
    }
}

/// The product of sizes, at most `usize::MAX`.
fn product(sizes: &[usize]) -> usize {
    sizes.iter().copied().fold(1, usize::saturating_mul)
}

impl CoreCell {
    fn facts(&self) -> Facts {
        let lengths = self.sequence.as_ref().and_then(|s| match s.lengths {
            Lengths::Parameter(i) => Some(Source::Parameter(i)),
            Lengths::Computed(source) => Some(source),
            Lengths::Full | Lengths::Constant(_) => None,
        });
        let width = self.input_size.saturating_add(self.hidden_size);
        Facts {
            name: if self.sequence.is_none() { "cell" } else { "sequence" },
            operands: [Some(self.x), Some(self.h), self.c, self.a, lengths]
                .into_iter()
                .flatten()
                .collect(),
            weights: [self.w, self.r]
                .into_iter()
                .chain(self.b.iter().copied())
                .chain(self.p)
                .collect(),
            outputs: self.outputs(),
            work: Work::Products {
                steps: self.steps(),
                each: product(&[self.batch, self.kind.gates(), self.hidden_size, width]),
            },
            over_time: OverTime::Special,
            zeros: Zeros::Unknown,
            numbers: Numbers::Any,
        }
    }
}

impl Dense {
    fn facts(&self) -> Facts {
        Facts {
            name: "dense",
            operands: vec![self.x],
            weights: vec![self.w],
            outputs: vec![self.out],
            work: Work::Products {
                steps: 1,
                each: product(&[self.rows, self.inputs, self.outputs]),
            },
            over_time: OverTime::CombinesRows(self.inputs),
            zeros: Zeros::IfOne,
            numbers: Numbers::Any,
        }
    }
}

impl MatMul {
    fn facts(&self) -> Facts {
        Facts {
            name: "matmul",
            operands: vec![self.a, self.b],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::Products {
                steps: 1,
                each: product(&[self.batch, self.rows, self.inner, self.columns]),
            },
            over_time: OverTime::Special,
            zeros: Zeros::IfOne,
            numbers: Numbers::Any,
        }
    }
}

impl Convolve {
    fn facts(&self) -> Facts {
        Facts {
            name: "convolve",
            operands: vec![self.x, self.w],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::Products { steps: 1, each: self.multiply_adds() },
            over_time: OverTime::Windows,
            zeros: Zeros::IfOne,
            numbers: Numbers::Any,
        }
    }
}

impl Pointwise {
    fn facts(&self) -> Facts {
        use PointwiseFunction as P;
        let effort = match self.function {
            P::Activation(_) => Effort::Function,
            P::Divide => Effort::Divide,
            _ => Effort::Arithmetic,
        };
        let zeros = match self.function {
            P::Multiply => Zeros::IfOne,
            P::Subtract if self.inputs[0] == self.inputs[1] => Zeros::Always,
            P::Add | P::Subtract => Zeros::IfAll,
            _ => Zeros::Unknown,
        };
        Facts {
            name: "pointwise",
            operands: self.inputs.clone(),
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), effort),
            over_time: OverTime::Elementwise,
            zeros,
            numbers: Numbers::Special,
        }
    }
}

impl Softmax {
    fn facts(&self) -> Facts {
        Facts {
            name: "softmax",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(self.input, Effort::Function),
            over_time: OverTime::Combines(self.axis..self.axis + 1),
            zeros: Zeros::Unknown,
            numbers: Numbers::Any,
        }
    }
}

impl Reduce {
    fn facts(&self) -> Facts {
        use PointwiseFunction as P;
        Facts {
            name: "reduce",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(self.input, Effort::Arithmetic),
            over_time: OverTime::Combines(self.first..self.end),
            zeros: if self.function == P::Add { Zeros::IfAll } else { Zeros::Unknown },
            numbers: match self.function {
                P::Maximum | P::Minimum => Numbers::Moved(vec![self.input]),
                _ => Numbers::Any,
            },
        }
    }
}

impl View {
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
}

impl Concat {
    fn facts(&self) -> Facts {
        Facts {
            name: "concat",
            operands: self.inputs.clone(),
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), Effort::Move),
            over_time: OverTime::Special,
            zeros: Zeros::IfAll,
            numbers: Numbers::Moved(self.inputs.clone()),
        }
    }
}

impl CoreLoop {
    fn facts(&self) -> Facts {
        let mut operands: Vec<Source> = self.slices.iter().map(|slice| slice.of).collect();
        operands.extend(self.carried.iter().flat_map(|carried| [carried.initial, carried.next]));
        operands.extend(self.results.iter().map(|result| result.of));
        operands.extend(self.body.iter().flat_map(|node| node.op.reads()));
        Facts {
            name: "loop",
            operands,
            weights: Vec::new(),
            outputs: self.results.iter().map(|result| result.out).collect(),
            work: Work::Body,
            over_time: OverTime::Special,
            zeros: Zeros::Unknown,
            numbers: Numbers::Special,
        }
    }
}

impl Integers {
    fn facts(&self) -> Facts {
        Facts {
            name: "integers",
            operands: vec![Source::Parameter(self.parameter)],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), Effort::Convert),
            over_time: OverTime::Elementwise,
            zeros: Zeros::Unknown,
            numbers: Numbers::Integers([self.least, self.most]),
        }
    }
}

impl Lookup {
    fn facts(&self) -> Facts {
        Facts {
            name: "lookup",
            operands: vec![self.table, self.indices],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), Effort::Select(self.table)),
            over_time: OverTime::Selects,
            zeros: Zeros::Unknown,
            numbers: Numbers::Moved(vec![self.table]),
        }
    }
}

impl TopK {
    fn facts(&self) -> Facts {
        Facts {
            name: "top_k",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: [self.values, self.places].into_iter().flatten().collect(),
            work: Work::Elements { of: self.input, times: self.count, effort: Effort::Function },
            over_time: OverTime::CombinesLast,
            zeros: Zeros::Unknown,
            numbers: Numbers::Any,
        }
    }
}

impl CoreOp {
    /// The facts about the operation.
    pub fn facts(&self) -> Facts {
        match self {
            Self::Cell(cell) => cell.facts(),
            Self::Dense(dense) => dense.facts(),
            Self::MatMul(matmul) => matmul.facts(),
            Self::Convolve(convolve) => convolve.facts(),
            Self::Pointwise(pointwise) => pointwise.facts(),
            Self::Softmax(softmax) => softmax.facts(),
            Self::Reduce(reduce) => reduce.facts(),
            Self::View(view) => view.facts(),
            Self::Concat(concat) => concat.facts(),
            Self::Loop(body) => body.facts(),
            Self::Integers(integers) => integers.facts(),
            Self::Lookup(lookup) => lookup.facts(),
            Self::TopK(top) => top.facts(),
        }
    }

    /// [`Facts::operands`].
    pub fn reads(&self) -> Vec<Source> {
        self.facts().operands
    }

    /// [`Facts::outputs`].
    pub fn outputs(&self) -> Vec<usize> {
        self.facts().outputs
    }

    /// The first value that the operation computes.
    pub(crate) fn first_value(&self) -> usize {
        self.outputs()[0]
    }

    /// True if the operation multiplies constant matrices by vectors, with sizes in the plan.
    pub fn is_product(&self) -> bool {
        matches!(self, Self::Cell(_) | Self::Dense(_))
    }

    /// True if the operation multiplies fixed matrices whose precision can be chosen: a cell, a
    /// dense layer or a depthwise convolution.
    pub fn has_precision(&self) -> bool {
        self.is_product() || matches!(self, Self::Convolve(convolve) if convolve.is_depthwise())
    }

    /// The length of the rows of x in products with constant matrices; for a depthwise convolution
    /// the taps of a window.
    pub fn input_size(&self) -> Option<usize> {
        match self {
            Self::Cell(cell) => Some(cell.input_size),
            Self::Dense(dense) => Some(dense.inputs),
            Self::Convolve(convolve) if convolve.is_depthwise() => Some(convolve.offsets().len()),
            _ => None,
        }
    }
}
