//! The traversal of a kernel program for all dialects. The traversal decides the statements; a
//! [`Dialect`] spells them.

mod block;
mod copies;
mod dialect;
mod file_names;
mod loops;
mod statements;
mod stored;
mod sums;
mod text;
mod values;
mod walk;

pub(super) use self::block::{Block, ColumnGroup};
pub(super) use self::dialect::{
    Context, Dialect, LoadsTogether, PassForm, PrivateMemory, Support, UnrollHints, function_name,
};
pub(super) use self::file_names::{FileNames, MOST_CALLED, TakenNames};
pub(super) use self::statements::{
    BlockOperands, Copying, Line, LinePart, LineRow, MovingWindow, Operand, RowSums, RowText,
    SumLoop, TileOperands,
};
pub(super) use self::text::{Subscript, Text, TextKind, decimal};
