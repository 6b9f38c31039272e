//! The unrolling of a product's loops over rows.

use super::product::{Phase, Product};
use super::reason::Unrolling;
use super::row_layout::ZeroBlocks;
use super::sparse::Blocks;
use super::values::Values;
use crate::arch::Arch;
use crate::request::Unroll;

/// Upper limit for rows times cache lines of f32 weights of a product that `--unroll auto` unrolls
/// fully.
///
/// Compile times of straight-line code grow faster than its length: rustc takes half a second for
/// 20 vectors of 16 lanes, about 20 seconds for 240.
const UNROLL_BUDGET: usize = 32;

/// The most rows of weights that `--unroll auto` unrolls fully for a target of one lane.
const MOST_UNROLLED_ROWS: usize = 8;

/// The unrolling of a product's loops over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrolled {
    /// No loop is left.
    Fully,
    /// On instruction sets that multiply a block in one instruction, products have no loop and no
    /// blocks of zeros. On other instruction sets, loops stay.
    WithoutZeros,
    /// An iteration takes the rows per iteration of the instruction set; two iterations or more are
    /// a loop.
    SeveralRows,
    /// An iteration takes one row, or the rows of a packed word: the smallest code, which
    /// instruction sets share.
    RowByRow,
}

/// The unrolling of a product with blocks of zeros, with the reason.
pub(super) fn of_blocks(blocks: &Blocks) -> (Unrolled, Unrolling) {
    let Blocks { form, lanes, inputs, present, total: all, instructions } = *blocks;
    let shape = [lanes, inputs];
    match form {
        ZeroBlocks::Unrolled(_) => {
            (Unrolled::WithoutZeros, Unrolling::WithoutZeros { present, all, shape })
        }
        ZeroBlocks::Indexed(_) => {
            (Unrolled::SeveralRows, Unrolling::Indexed { present, all, shape, instructions })
        }
    }
}

/// The unrolling of a product's loops over rows, with the reason.
pub(super) fn unrolling(
    product: &Product,
    arch: &Arch,
    asked: Unroll,
    values: Values,
) -> (Unrolled, Unrolling) {
    let vectors = |phase| {
        product.phase_rows(phase)
            * (4 * product.active(phase) * product.units).div_ceil(arch.memory.line)
    };
    let work = Phase::ALL.iter().map(|&phase| vectors(phase)).sum::<usize>();
    let once = product.rows == 1 && product.steps == 1;
    // on one lane, each row of weights is at least one statement per column: many rows make long
    // code
    let is_long = arch.isas.is_empty()
        && arch.baseline.lanes == 1
        && Phase::ALL.iter().any(|&phase| product.phase_rows(phase) > MOST_UNROLLED_ROWS);
    match asked {
        Unroll::Full => (Unrolled::Fully, Unrolling::AskedFull),
        Unroll::None => (Unrolled::RowByRow, Unrolling::AskedNone),
        Unroll::Auto if work <= UNROLL_BUDGET && once && !is_long => {
            (Unrolled::Fully, Unrolling::Within(work, UNROLL_BUDGET))
        }
        Unroll::Auto => {
            let kept = match values.of_product(product) {
                Values::OneText => Unrolled::RowByRow,
                Values::Registers | Values::Joined | Values::Passes => Unrolled::SeveralRows,
            };
            let why = match () {
                () if product.rows > 1 => Unrolling::Batch,
                () if product.steps > 1 => Unrolling::Steps,
                () if is_long => Unrolling::Rows(MOST_UNROLLED_ROWS),
                () => Unrolling::Beyond(work, UNROLL_BUDGET),
            };
            (kept, why)
        }
    }
}
