//! The reasons of a plan, as values. `explain` words them.

/// A reason of the plan of one product.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The width of full panels, in columns.
    Panels(usize, PanelWidth),
    /// The rows of a batch share no step.
    RowByRow(RowByRow),
    /// The division between threads.
    Threading(Threading),
    /// The unrolling of loops over rows.
    Unrolling(Unrolling),
    /// Rows or steps computed together.
    RowsTogether(RowsTogether),
    /// Panels in alternating order.
    Alternation(Alternation),
    /// When the x terms of a sequence are computed.
    InputFirst(InputFirst),
    /// Instruction sets whose integer sums have up to `most` chains.
    Chains {
        /// Names, separated by commas.
        isas: String,
        /// The largest number of chains.
        most: usize,
    },
    /// Instruction sets whose loops over rows are unrolled by up to `most`.
    UnrolledRows {
        /// Names, separated by commas.
        isas: String,
        /// True if only C unrolls.
        in_c: bool,
        /// The largest factor.
        most: usize,
    },
}

/// Why full panels have their width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PanelWidth {
    /// The user asked for this number of columns, more than there are units.
    AllOf(usize),
    /// The user asked for the width.
    Asked,
    /// One text serves all of this small number of units.
    OneText(usize),
    /// Padding makes whole vectors of this small number of units.
    Padded(usize),
    /// Several rows share each weight, and the L1 cache holds a panel.
    FirstLevel,
    /// r.h is needed for all columns at once.
    ResetGate,
    /// KiB of weights, counted as f32, that are read from beyond the L2 cache.
    BeyondSecondLevel(usize),
    /// The L1 cache holds several panels from step to step.
    KeptInFirstLevel,
    /// The sums of more columns and a row of their weights do not fit the registers.
    Registers,
    /// One pass computes a panel, as its code leaves out blocks of zeros.
    OnePass,
    /// A panel has the rows of a block of weights, as blocks of zeros are left out.
    Block,
    /// Cycles of a row from the L2 cache, longer than a multiply-add.
    SlowRow(f64),
    /// The fewest cycles among the widths that fit the registers.
    Fewest(f64),
}

/// Why the rows of a batch share no step of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowByRow {
    /// The cell computes several steps of a sequence.
    Steps,
    /// Each row has a length of its own.
    Lengths,
    /// The cell has peepholes.
    Peepholes,
    /// The cell has attention.
    Attention,
}

/// The number of threads of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threading {
    /// The user did not ask for two.
    Unasked,
    /// Two threads share the product.
    Two(Sharing),
    /// One thread computes the product, though the user allows two.
    One(Sharing),
}

/// Why two threads share a product, or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// The user decided.
    Asked,
    /// Only cells are shared.
    NoCell,
    /// One panel cannot be divided.
    OnePanel,
    /// Cycles of half a step and of a synchronisation.
    Cycles(f64, f64),
}

/// Why loops over rows are unrolled, or kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrolling {
    /// Unrolled: the user asked for it.
    AskedFull,
    /// Kept: the user asked for it.
    AskedNone,
    /// Unrolled: the number of vectors of weights (cache lines of f32), and the limit, which is not
    /// exceeded.
    Within(usize, usize),
    /// Kept: the number of vectors of weights (cache lines of f32), and the exceeded limit.
    Beyond(usize, usize),
    /// Unrolled, without blocks of zeros.
    WithoutZeros {
        /// Blocks with a weight other than zero.
        present: usize,
        /// All blocks.
        all: usize,
        /// Rows and inputs of a block.
        shape: [usize; 2],
    },
    /// Loops over an index of the blocks that are not zero.
    Indexed {
        /// Blocks with a weight other than zero.
        present: usize,
        /// All blocks.
        all: usize,
        /// Rows and inputs of a block.
        shape: [usize; 2],
        /// Estimated instructions of the blocks, and of a loop over all weights.
        instructions: [usize; 2],
    },
    /// Kept: a batch.
    Batch,
    /// Kept: a sequence.
    Steps,
    /// Kept: more rows of weights than this number, on one lane.
    Rows(usize),
}

/// Rows, or steps of a sequence, that share each load of a weight.
#[derive(Clone, Debug, PartialEq)]
pub enum RowsTogether {
    /// The user decided.
    Asked(usize),
    /// The instruction set computes a narrow or padded cell one row at a time.
    Narrow(&'static str),
    /// Tiles compute `rows` rows.
    InTiles {
        /// The instruction set.
        isa: &'static str,
        /// Rows of a tile.
        rows: usize,
        /// True for the x terms of a sequence: h terms wait for the step before.
        of_input: bool,
    },
    /// Vectors compute `rows` rows.
    InVectors {
        /// The instruction set.
        isa: &'static str,
        /// Rows at once.
        rows: usize,
        /// True for the x terms of a sequence.
        of_input: bool,
        /// Cycles for a row of a panel.
        cycles: f64,
    },
    /// An instruction set with tiles does without them.
    NoTiles(&'static str, NoTiles),
}

/// Why an instruction set with tiles does without them.
#[derive(Clone, Debug, PartialEq)]
pub enum NoTiles {
    /// The user decided.
    Asked,
    /// Tiles take at least 2 rows and at most this number.
    Rows(usize),
    /// Tiles save less than a tenth of the time, or take too few rows.
    Slower {
        /// Rows of a tile.
        rows: usize,
        /// Cycles with tiles.
        by_tiles: usize,
        /// Cycles with vectors.
        by_vectors: usize,
    },
}

/// Why steps read panels in alternating order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternation {
    /// The user decided.
    Asked,
    /// The L1 cache holds a part of the weights.
    FirstLevel,
    /// More weights than this number of bytes.
    MoreThan(usize),
}

/// When the x terms of a sequence are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InputFirst {
    /// The x terms of all steps come first: the user asked for it.
    Asked,
    /// Each step computes its own x terms: the terms of all steps would take this number of bytes.
    Memory(usize),
    /// The faster way, by the estimated cycles of both.
    Cycles {
        /// Rows at once, if the terms of all steps come first.
        rows: usize,
        /// Cycles per step if the terms of all steps come first.
        first: f64,
        /// Cycles per step if each step computes its own terms.
        each: f64,
    },
}

impl Threading {
    /// True if two threads share the product.
    pub fn is_two(self) -> bool {
        matches!(self, Self::Two(_))
    }
}

impl InputFirst {
    /// True if the x terms of all steps are computed first.
    pub fn is_first(self) -> bool {
        match self {
            Self::Asked => true,
            Self::Memory(_) => false,
            Self::Cycles { first, each, .. } => first < each,
        }
    }
}
