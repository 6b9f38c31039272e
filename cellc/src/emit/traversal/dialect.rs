//! The interface of a language: the spelling of each statement and expression.

use super::block::{Block, ColumnGroup};
use super::statements::{
    BlockOperands, Copying, Line, MovingWindow, Operand, RowSums, RowText, TileOperands,
};
use super::text::Text;
use crate::arch::Calls;
use crate::kernel::{BlockSums, Kernel, LaneOp, Tiles, Type};

/// The contents of private memory of a kernel after its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) enum PrivateMemory {
    /// Undefined values: the previous contents of the stack.
    Undefined,
    /// Zeros.
    Zero,
}

/// The least and the largest number of neighbouring values that one statement loads.
#[derive(Clone, Copy)]
pub(in crate::emit) struct LoadsTogether {
    pub(in crate::emit) least: usize,
    pub(in crate::emit) most: usize,
}

impl LoadsTogether {
    /// Each value has a statement of its own.
    pub(in crate::emit) const ALONE: Self = Self { least: 2, most: 1 };
}

/// The place of an expression: a kernel, whose values have several lanes, or a function, whose
/// values have a single lane that stands for any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) enum Context {
    Kernel,
    Function,
}

/// The answer of a dialect to a statement that needs a function of the dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) enum Support {
    /// The dialect has written the statement.
    Written,
    /// The dialect has no function: simpler statements follow.
    Missing,
}

/// The form of loops over column groups of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) enum PassForm {
    /// Windows walk over the columns.
    Windows,
    /// Blocks name their pass; there are no windows.
    Named,
}

/// The loops with a hint for the unroll factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) enum UnrollHints {
    /// Loops with an unroll factor.
    OnUnrolled,
    /// Also loops of sums without unrolling, with the factor 1.
    OnAllSums,
}

/// The spelling of statements and expressions in one language.
pub(in crate::emit) trait Dialect {
    /// Begins a kernel with these parameters; `true` marks a written block.
    fn begin_kernel(&mut self, kernel: &Kernel, name: &str, params: &[(&Block, bool)]);
    /// The contents of private memory after its declaration.
    fn private_memory(&self) -> PrivateMemory;
    /// Declares private memory of a kernel. `vectors` is true if vectors are loaded from the
    /// memory, false for single elements.
    fn scratch(&mut self, block: &Block, vectors: bool);
    fn end_kernel(&mut self);
    /// The functions to write: the index in `functions`, and the number of lanes. Functions do not
    /// call functions.
    fn wanted(&self, functions: &[String]) -> Vec<(usize, usize)>;
    fn begin_function(&mut self, doc: &[String], name: &str, lanes: usize, params: &[String]);
    /// Ends a function with its result.
    fn end_function(&mut self, name: &str, lanes: usize, result: Text);
    fn load(&mut self, from: &Block, offset: usize, lanes: usize) -> Text;
    fn splat(&mut self, from: &Block, offset: usize, lanes: usize) -> Text;
    fn constant(&mut self, bits: u32, ty: Type, context: Context) -> Text;
    /// An operation on `args`. `ty` is the type of the result.
    fn operation(&mut self, operation: LaneOp, ty: Type, args: Vec<Text>, context: Context)
    -> Text;
    fn call(&mut self, function: &str, lanes: usize, args: Vec<Text>) -> Text;
    fn declare(&mut self, name: &str, ty: Type, mutable: bool, value: Text, context: Context);
    fn assign(&mut self, name: &str, value: Text);
    fn store(&mut self, to: &Block, offset: usize, lanes: usize, value: Text);
    /// An integer minus `least`, clamped to 0..=`most`.
    fn length(&mut self, from: &Block, offset: usize, least: i32, most: usize) -> Text;
    /// Begins a loop of a copy at the given nesting depth, and returns the name of the counter.
    fn begin_iterations(&mut self, depth: usize, count: usize) -> String;
    fn copy(&mut self, copying: Copying<'_>);
    /// Writes `words` words, each of the low bytes of four neighbours.
    fn low_bytes(&mut self, to: Operand<'_>, from: Operand<'_>, words: usize);
    /// Computes sums of products of integers in tiles.
    fn tiles(&mut self, operands: &TileOperands<'_>, tiles: &Tiles);
    /// Computes sums of products over blocks of weights.
    fn blocks(&mut self, operands: &BlockOperands<'_>, sums: &BlockSums);
    /// Packs a row of weights.
    fn pack_line(&mut self, line: Line<'_>);
    fn begin_for(
        &mut self,
        count: usize,
        counter: Option<&str>,
        backwards: Option<&str>,
        walks: &[MovingWindow<'_>],
    );
    /// The number of values, or of their bits, that one statement loads from a block.
    fn loads(&self, _from: &Block, _ty: Type) -> LoadsTogether {
        LoadsTogether::ALONE
    }
    /// Declares neighbouring values of a type, loaded from a place.
    fn declare_loads(&mut self, _names: &[&str], _from: &Block, _offset: usize, _ty: Type) {
        unreachable!("emit: this dialect loads one value at a time")
    }
    /// The form of function calls. With [`Calls::SeveralValues`], [`Self::declare_calls`] writes
    /// several calls.
    fn calls(&self) -> Calls {
        Calls::OneValue
    }
    /// Declares the results of a function for several arguments, through temporary values named
    /// after `between`.
    fn declare_calls(
        &mut self,
        _names: &[&str],
        _between: &str,
        _function: &str,
        _args: Vec<Text>,
    ) {
        unreachable!("emit: this dialect calls a function for one value at a time")
    }
    /// The form of loops over column groups of a panel.
    fn passes(&self) -> PassForm {
        PassForm::Windows
    }
    /// Begins a loop over column groups of a panel.
    fn begin_passes(&mut self, _group: &ColumnGroup) {
        unreachable!("emit: this dialect walks over passes by windows")
    }
    /// Declares sums of rows by one function.
    fn row_sums(&mut self, _sums: &RowSums<'_>) -> Support {
        Support::Missing
    }
    /// Adds a row of weights by one function.
    fn add_row(&mut self, _row: &RowText<'_>) -> Support {
        Support::Missing
    }
    /// Before a loop: the unroll factor for the compiler.
    fn unrolled_by(&mut self, _count: usize, _factor: usize) {
        unreachable!("emit: this dialect unrolls loops")
    }
    /// The loops with a hint for the unroll factor.
    fn unroll_hints(&self) -> UnrollHints {
        UnrollHints::OnUnrolled
    }
    /// Declares a number of iterations that compilers must not know.
    fn hidden_count(&mut self, _name: &str, _count: usize) {}
    /// At the start of a loop of sums: a window that the loop reads.
    fn row(&mut self, _window: &Block) {}
    /// At the start of a loop with independent iterations: vectors computed and stored, or integers
    /// added to vectors in any order.
    fn only_vectors(&mut self) {}
    /// A computed vector has been flushed and stored.
    fn after_flush(&mut self) {}
    /// After a loop: a vector with partial sums of one gate, or with deferred sums.
    fn after_sums(&mut self, _chain: &str) {}
    /// After stores of vectors to private memory that is then loaded across vector boundaries or
    /// element by element.
    fn read_otherwise(&mut self, _of: &Block) {}

    /// At the end of a kernel: a buffer that the kernel stored in long vectors, of which a later
    /// kernel loads parts.
    fn loaded_in_parts(&mut self, _of: &Block) {}
    /// Before a pass over elements that an earlier pass of the same code has read: the arrays of
    /// the elements, and true for private arrays.
    fn read_again(&mut self, _elements: &[(&Block, bool)]) {}
    /// Before a store to a part of a vector that was stored earlier.
    fn stored_again(&mut self, _to: &Block) {}
    /// The vector registers of a value with `lanes` lanes, as (first lane, lanes).
    fn registers(&self, lanes: usize) -> Vec<(usize, usize)> {
        vec![(0, lanes)]
    }
    /// Begins a block with a window at one of several places. `most`: the last place, if `at` may
    /// be larger.
    fn begin_pick(
        &mut self,
        at: Text,
        count: usize,
        most: Option<usize>,
        walking: &MovingWindow<'_>,
    );
    fn begin_if(&mut self, a: Text, b: Text);
    fn begin_else(&mut self);
    /// Leaves the enclosing loop unless the first number is below the second.
    fn leave_unless(&mut self, a: Text, b: Text);
    /// Ends a loop or a condition.
    fn end_block(&mut self);
    fn comment(&mut self, text: &str);
}

/// The names, in both languages, of operations on lanes without an operator.
pub(in crate::emit) fn function_name(operation: LaneOp) -> &'static str {
    match operation {
        LaneOp::Add => "add",
        LaneOp::Sub => "sub",
        LaneOp::Mul => "mul",
        LaneOp::Div => "div",
        LaneOp::MulAdd => "mul_add",
        LaneOp::Max => "max",
        LaneOp::Min => "min",
        LaneOp::MaxMagnitude => "max_magnitude",
        LaneOp::SelectLess => "select_less",
        LaneOp::Flush => "flush",
        LaneOp::ToBits => "to_bits",
        LaneOp::FromBits => "from_bits",
        LaneOp::FromSigned => "from_signed",
        LaneOp::DotPairs => "dot_pairs",
        LaneOp::DotQuads => "dot_quads",
        LaneOp::DotUnsignedQuads => "dot_unsigned_quads",
        LaneOp::DotPairsByLane(_) => "dot_apart",
        LaneOp::DotQuadsByLane(_) => "dot_quads_of",
        LaneOp::WidenAndMultiplyEven => "dot_even_bytes",
        LaneOp::WidenAndMultiplyOdd => "dot_odd_bytes",
        LaneOp::ShiftLeft(_) => "shift_left",
        LaneOp::And => "and",
        LaneOp::Or => "or",
        LaneOp::Xor => "xor",
        LaneOp::WrappingAdd => "wrapping_add",
        LaneOp::WrappingSub | LaneOp::ShiftRight(_) => {
            unreachable!("emit: integer arithmetic on several lanes stands in functions only")
        }
    }
}
