//! Statements with the names of their operands in generated code.

use super::block::Block;
use super::text::Subscript;
use crate::emit::rows::AddedRow;

/// An operand in memory.
#[derive(Clone, Copy)]
pub(in crate::emit) struct Operand<'a> {
    pub(in crate::emit) block: &'a Block,
    /// The index of the first element in the block.
    pub(in crate::emit) offset: usize,
}

/// The operands of sums of products in tiles.
pub(in crate::emit) struct TileOperands<'a> {
    pub(in crate::emit) elements: Operand<'a>,
    pub(in crate::emit) weights: Operand<'a>,
    pub(in crate::emit) sums: Operand<'a>,
}

/// The operands of sums of products over blocks of weights.
pub(in crate::emit) struct BlockOperands<'a> {
    pub(in crate::emit) elements: Operand<'a>,
    pub(in crate::emit) weights: Operand<'a>,
    /// The number of blocks in each row of blocks.
    pub(in crate::emit) counts: Operand<'a>,
    /// The input of each block.
    pub(in crate::emit) inputs: Operand<'a>,
    pub(in crate::emit) sums: Operand<'a>,
}

/// Declarations of sums over rows of weights. A row adds, to each sum, the weights of the sum's
/// columns times one element.
pub(in crate::emit) struct RowSums<'a> {
    /// The sums.
    pub(in crate::emit) names: Vec<&'a str>,
    /// Columns of each sum.
    pub(in crate::emit) lanes: usize,
    pub(in crate::emit) weights: Operand<'a>,
    /// The distance between rows of weights, in elements.
    pub(in crate::emit) row_stride: usize,
    /// The distance between the weights of neighbouring sums, in elements.
    pub(in crate::emit) sum_stride: usize,
    /// The elements, one for each row.
    pub(in crate::emit) elements: Operand<'a>,
    /// The number of rows.
    pub(in crate::emit) rows: usize,
    /// Unroll factor of the rows.
    pub(in crate::emit) at_once: usize,
    /// The loop that adds up other sums while the values of these sums are kept. `None`: no loop.
    pub(in crate::emit) next: Option<SumLoop>,
}

/// A loop that adds rows of weights to the sums of some gates.
#[derive(Clone, Copy, Debug)]
pub(in crate::emit) struct SumLoop {
    pub(in crate::emit) gates: usize,
    pub(in crate::emit) rows: usize,
}

/// A row of weights to add, with the names of its parts in the generated code.
pub(in crate::emit) struct RowText<'a> {
    pub(in crate::emit) sums: Vec<&'a str>,
    pub(in crate::emit) weights: Operand<'a>,
    pub(in crate::emit) element: Operand<'a>,
    pub(in crate::emit) row: &'a AddedRow,
}

/// One moving window of a loop.
pub(in crate::emit) struct MovingWindow<'a> {
    pub(in crate::emit) window: &'a Block,
    /// The buffer or window that contains the window.
    pub(in crate::emit) block: &'a Block,
    /// The start of the first window in `block`.
    pub(in crate::emit) offset: usize,
    /// The distance between windows, in elements.
    pub(in crate::emit) stride: usize,
    pub(in crate::emit) written: bool,
    /// True if the loop walks from the last window to the first.
    pub(in crate::emit) reverse: bool,
    /// The variable that holds the number of windows, if compilers must not know the number.
    pub(in crate::emit) count: Option<&'a str>,
    /// True if compilers must not know the addresses of the windows: see
    /// [`Hints::unrelated`](crate::kernel::Hints::unrelated).
    pub(in crate::emit) hides_place: bool,
    /// True if the windows are the column groups of a panel's passes.
    pub(in crate::emit) is_pass: bool,
}

impl MovingWindow<'_> {
    /// True if the windows overlap or have gaps.
    pub(in crate::emit) fn is_apart(&self) -> bool {
        self.stride != self.window.len
    }
}

/// The innermost loop of a copy.
pub(in crate::emit) struct Copying<'a> {
    pub(in crate::emit) from: &'a Block,
    /// The first element to read.
    pub(in crate::emit) read: Subscript,
    pub(in crate::emit) to: &'a Block,
    /// The first element to write.
    pub(in crate::emit) write: Subscript,
    /// The number of consecutive elements to write.
    pub(in crate::emit) run: usize,
    /// True to repeat one element; otherwise elements are read consecutively.
    pub(in crate::emit) repeated: bool,
    /// True to add to the destination, without repetition.
    pub(in crate::emit) add: bool,
}

/// A row of weights to pack as integers.
pub(in crate::emit) struct Line<'a> {
    pub(in crate::emit) from: &'a Block,
    /// The first weight.
    pub(in crate::emit) read: Subscript,
    /// The number of weights.
    pub(in crate::emit) count: usize,
    /// The distance between weights, in elements.
    pub(in crate::emit) stride: usize,
    pub(in crate::emit) to: &'a Block,
    /// The first element to write.
    pub(in crate::emit) write: Subscript,
    /// The number of neighbouring elements in a group.
    pub(in crate::emit) abreast: usize,
    /// The distance between groups, in elements.
    pub(in crate::emit) step: usize,
    /// True if the halves of four words are interleaved.
    pub(in crate::emit) interleaves_halves: bool,
    pub(in crate::emit) row: LineRow,
    pub(in crate::emit) part: LinePart,
}

/// The integer format of a row of weights.
#[derive(Clone, Copy)]
pub(in crate::emit) enum LineRow {
    /// Integers of 8 bits.
    Bytes,
    /// Integers of 16 bits, with the upper limit for the sum of their magnitudes.
    Pairs(u32),
}

/// The part of a packed row to write.
#[derive(Clone, Copy)]
pub(in crate::emit) enum LinePart {
    /// Integers in the bits of f32 elements, with their number per element.
    Words(usize),
    /// Two bytes in each element.
    Pairs,
    Scale,
    /// The zero-point correction.
    Start,
}
