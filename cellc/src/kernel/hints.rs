//! Hints of a kernel for compilers. Hints change the printed text and never results;
//! `emit/hints.rs` says how each hint is printed, and why.

use super::{BufferId, Var, WindowId};

/// Parts of a kernel with patterns for which compilers generate slow code.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hints {
    /// Partial sums of a single gate: vectors that loops add terms to and that are summed at the
    /// end.
    pub chains: Vec<Var>,
    /// Deferred sums: vectors that loops add terms to, to hide latency.
    pub meanwhile: Vec<Var>,
    /// Private buffers that are stored as vectors and read element by element.
    pub elements: Vec<BufferId>,
    /// Written parameters that are stored as long vectors, of which a later kernel loads parts.
    pub loaded_in_parts: Vec<BufferId>,
    /// Windows whose loads LLVM must not merge with overlapping loads from other windows.
    pub unrelated: Vec<WindowId>,
    /// Unroll factors for compilers, by the window of a loop's first walk. 1: compilers must not
    /// unroll the loop.
    pub unrolled_by: Vec<(WindowId, usize)>,
    /// Loops over column groups of a panel, by the window of their first walk.
    pub passes: Vec<WindowId>,
}
