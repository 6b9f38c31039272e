//! Kinds of work, and instructions for each kind: the factors of an estimate.

/// A kind of work in generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkKind {
    /// A call of a step, including the code around its kernels.
    Step,
    /// A call of a kernel.
    Kernel,
    /// An element of state copied at the end of a step.
    Kept,
    /// The start of a loop.
    Loop,
    /// An iteration of a loop.
    Iteration,
    /// The advance of a window in an iteration.
    Window,
    /// The advance of a window that overlaps the previous window, as taps of convolutions do: deep
    /// loops spill registers.
    Overlap,
    /// A branch between two blocks.
    Branch,
    /// A load of one or more neighbouring f32 vectors by one instruction.
    Load,
    /// A load of a binary16 vector.
    LoadHalf,
    /// A load of a vector of bytes.
    LoadByte,
    /// A load of a vector of byte pairs.
    LoadBytePairs,
    /// A broadcast of an f32 element from memory.
    Splat,
    /// A load of an integer: a length or an index.
    Length,
    /// A store of a vector.
    Store,
    /// A constant operand.
    Constant,
    /// A fused multiply-add of vectors.
    MultiplyAdd,
    /// A sum or a difference of vectors.
    Add,
    /// A product of vectors.
    Multiply,
    /// A dot product of integer pairs, added to a vector.
    DotPairs,
    /// `DotPairs` with one lane of elements as the second factor, or `DotPairs` summed across lanes
    /// (including the loads).
    DotPairsOfOne,
    /// A dot product of four bytes, or of two bytes with 16-bit elements, added to a vector. Sums
    /// across lanes include the loads.
    DotQuads,
    /// A division of vectors.
    Divide,
    /// A comparison of vectors with a selection.
    Select,
    /// A flush of denormals to zero.
    Flush,
    /// A bitwise operation on vectors.
    Bits,
    /// A conversion of an integer vector to f32.
    Convert,
    /// A call of a function, without the work inside.
    Call,
    /// A copied line of elements.
    Line,
    /// An element copied with its neighbours.
    Neighbour,
    /// An element copied alone.
    Element,
}

impl WorkKind {
    /// All kinds, in order.
    pub const ALL: [Self; 31] = [
        Self::Step,
        Self::Kernel,
        Self::Kept,
        Self::Loop,
        Self::Iteration,
        Self::Window,
        Self::Overlap,
        Self::Branch,
        Self::Load,
        Self::LoadHalf,
        Self::LoadByte,
        Self::LoadBytePairs,
        Self::Splat,
        Self::Length,
        Self::Store,
        Self::Constant,
        Self::MultiplyAdd,
        Self::Add,
        Self::Multiply,
        Self::DotPairs,
        Self::DotPairsOfOne,
        Self::DotQuads,
        Self::Divide,
        Self::Select,
        Self::Flush,
        Self::Bits,
        Self::Convert,
        Self::Call,
        Self::Line,
        Self::Neighbour,
        Self::Element,
    ];
}

/// Instructions per kind of work on an architecture, for gcc 12 or clang 19 with `-O2`, fitted to
/// counts of an emulator for the models of the corpus.
#[derive(Clone, Copy, Debug)]
pub struct Instructions {
    /// Instructions for one unit of each kind. Missing kinds take none.
    pub each: &'static [(WorkKind, f64)],
    /// The compiler.
    pub compiler: &'static str,
    /// Code size, in instructions, of a call of the compiler's float library. 0 on targets with an
    /// FPU.
    pub routine: f64,
    /// Estimated bytes per instruction.
    pub bytes: f64,
}

impl Instructions {
    /// Executed instructions for one unit of `work`.
    pub fn count(&self, work: WorkKind) -> f64 {
        self.each.iter().find(|(known, _)| *known == work).map_or(0.0, |(_, count)| *count)
    }

    /// Code size, in instructions, of one unit of `work`.
    pub fn written(&self, work: WorkKind) -> f64 {
        let is_of_floats = matches!(
            work,
            WorkKind::LoadHalf
                | WorkKind::LoadByte
                | WorkKind::Add
                | WorkKind::Multiply
                | WorkKind::Divide
                | WorkKind::Select
                | WorkKind::Flush
                | WorkKind::Convert
        );
        if self.routine > 0.0 && is_of_floats { self.routine } else { self.count(work) }
    }
}
