//! What code does that takes instructions, and how many it takes for each: what an estimate multiplies.

/// What code does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// A call of a step, with all that is around its kernels.
    Step,
    /// A call of a kernel.
    Kernel,
    /// An element of state that a step keeps by copying it.
    Kept,
    /// A loop that begins.
    Loop,
    /// An iteration of a loop.
    Iteration,
    /// A window that an iteration moves on.
    Window,
    /// One that overlaps the window of the iteration before, as those of taps do, in loops so deep that registers are short.
    Overlap,
    /// A choice between two blocks.
    Branch,
    /// An instruction that loads vectors of f32, as many neighbours as the instruction set has it.
    Load,
    /// A vector of binary16 that is loaded.
    LoadHalf,
    /// A vector of bytes that is loaded.
    LoadByte,
    /// A vector of pairs of bytes that is loaded.
    LoadBytePairs,
    /// An element that is loaded to every lane, from f32.
    Splat,
    /// An integer that is loaded: a length, a place of a table.
    Length,
    /// A vector that is stored.
    Store,
    /// A constant among operands.
    Constant,
    /// A fused multiply-add of vectors.
    MultiplyAdd,
    /// A sum or a difference of vectors.
    Add,
    /// A product of vectors.
    Multiply,
    /// The products of vectors of pairs of integers, added to a vector.
    DotPairs,
    /// The same where an instruction multiplies by one lane, or adds the products of all lanes: then with what loads them.
    DotPairsOfOne,
    /// `DotPairs` of fours of bytes; where elements have 16 bits, of two of them. Where all lanes are added, with what loads them.
    DotQuads,
    /// A quotient of vectors.
    Divide,
    /// A comparison of vectors, and what it selects.
    Select,
    /// What is subnormal becomes 0.
    Flush,
    /// An operation on bits, vector by vector.
    Bits,
    /// A vector of integers that become f32.
    Convert,
    /// A function of a vector, its operations apart: where functions are called, a call.
    Call,
    /// A line of elements that is copied.
    Line,
    /// An element that is copied among its neighbours.
    Neighbour,
    /// An element that is copied on its own.
    Element,
}

impl Work {
    /// All, in order.
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

/// How many instructions each kind of work takes on an architecture, by gcc 12 or clang 19 with `-O2`: fitted to what an emulator counts for the
/// models of the corpus.
#[derive(Clone, Copy, Debug)]
pub struct Instructions {
    /// What takes any.
    pub each: &'static [(Work, f64)],
    /// The compiler.
    pub compiler: &'static str,
    /// How many a call of the compiler's library takes in the code where it computes floats; 0 where instructions do.
    pub routine: f64,
    /// Bytes of an instruction, about.
    pub bytes: f64,
    /// Bytes that the frames of a step take beside arrays and the registers that they save, about.
    pub frames: u64,
}

impl Instructions {
    /// Of one piece of that work.
    pub fn of(&self, work: Work) -> f64 {
        self.each.iter().find(|(known, _)| *known == work).map_or(0.0, |(_, count)| *count)
    }

    /// How many stand in the code for one piece of that work.
    pub fn written(&self, work: Work) -> f64 {
        let is_of_floats = matches!(
            work,
            Work::LoadHalf
                | Work::LoadByte
                | Work::Add
                | Work::Multiply
                | Work::Divide
                | Work::Select
                | Work::Flush
                | Work::Convert
        );
        if self.routine > 0.0 && is_of_floats { self.routine } else { self.of(work) }
    }
}
