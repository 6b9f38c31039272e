//! Hints for LLVM, gcc and clang: patterns in kernels that these compilers turn into slow code, the
//! measured cost, and the remedy in generated files. No other file decides about hints.

use crate::arch::Isa;
use crate::emit::traversal::SumLoop;
use crate::encoding::WeightFormat;
use crate::kernel::{Expr, LaneOp, Stmt};
use crate::kernel::{Kernel, Scalar};

/// A pattern that a compiler turns into slow code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hint {
    /// The pattern, and the slow code that the compiler generates.
    pub(crate) pattern: &'static str,
    /// The compiler, with the version that was measured.
    pub(crate) compiler: &'static str,
    /// The cost without the hint.
    pub(crate) measured: &'static str,
    /// The remedy in generated code: a function, a macro, or words of the text.
    pub(crate) printed: &'static str,
}

/// A loop whose iterations compute and store vectors, or add integers to vectors in any order, or
/// load overlapping vectors.
pub(super) const VECTORISED_TWICE: Hint = Hint {
    pattern: "a loop over vectors with independent iterations is vectorised again, with gathers",
    compiler: "LLVM 20 to 22",
    measured: "a loop of vectors takes several times as long",
    printed: "turn_by_turn",
};

/// A computed vector that has been flushed and stored.
pub(super) const POSTPONED: Hint = Hint {
    pattern: "a flushed vector is computed after the vectors behind it, which spills registers",
    compiler: "LLVM 20 to 22",
    measured: "a GRU of 24 units: 3 % more instructions",
    printed: VECTORISED_TWICE.printed,
};

/// Accumulators with partial sums of one gate, or with deferred sums.
pub(super) const TAKEN_APART: Hint = Hint {
    pattern: "accumulators are split into scalars, and vectors made of them in every iteration",
    compiler: "LLVM 20 to 22",
    measured: "an RNN of 48 units on AVX2: 4 times the time",
    printed: "opaque",
};

/// Vectors stored to private memory, then loaded across vector boundaries or element by element.
pub(super) const REUSED: Hint = Hint {
    pattern: "stored vectors are shuffled in every iteration instead of being loaded",
    compiler: "LLVM 20 to 22",
    measured: "an LSTM of 40 units: 1.25 times the time",
    printed: "written",
};

/// Vectors of 16 lanes stored by one kernel and loaded in parts by a later one.
pub(super) const LOADED_IN_PARTS: Hint = Hint {
    pattern: "parts of a stored vector pass through registers of integers, not through memory",
    compiler: "LLVM 22",
    measured: "an LSTM of 40 units with a dense layer on AVX-512: 1.08 times the time",
    printed: REUSED.printed,
};

/// A store to a part of a vector that was stored earlier.
pub(super) const STORED_TWICE: Hint = Hint {
    pattern: "lanes that a second store overwrites are dropped, and sums split in every iteration",
    compiler: "LLVM 20 to 22",
    measured: "a convolution to 2 channels: twice as many instructions",
    printed: REUSED.printed,
};

/// Sums of several gates that are kept while a loop over many rows adds up other sums.
pub(super) const KEPT_SUMS: Hint = Hint {
    pattern: "kept sums stay in registers, and a sum of the loop is spilled in every row",
    compiler: "LLVM 22",
    measured: "a GRU of 256 units on AVX2: 1.10 times the time",
    printed: "kept",
};

/// As [`KEPT_SUMS`], in C and for vectors of four lanes. Longer vectors have enough registers.
pub(super) const KEPT_SUMS_IN_C: Hint = Hint {
    pattern: "kept sums of four lanes stay in registers, and sums of the loop are spilled",
    compiler: "clang 14",
    measured: "a GRU of 128 or 256 units in SSE's vectors: 1.2 times the time",
    printed: "KEPT",
};

/// Windows whose loads overlap loads from other windows.
pub(super) const MERGED_LOADS: Hint = Hint {
    pattern: "overlapping vectors of two windows are shuffled from each other, and sums spill",
    compiler: "LLVM 20 to 22",
    measured: "taps of a convolution: 3 times the time",
    printed: "elsewhere",
};

/// Passes over the same elements in code without loops, in Rust.
pub(super) const BROADCASTS_SHARED: Hint = Hint {
    pattern: "passes share broadcast elements, which are spilled as whole vectors",
    compiler: "LLVM 20 to 22",
    measured: "a pruned GRU of 256 units in bytes: 1.4 times the time",
    printed: REUSED.printed,
};

/// As [`BROADCASTS_SHARED`], in C.
pub(super) const BROADCASTS_SHARED_IN_C: Hint = Hint {
    pattern: "passes without loops share broadcast elements, which are spilled as whole vectors",
    compiler: "gcc 12.2",
    measured: "a pruned GRU of 256 units in bytes: 1.07 times the time",
    printed: "READ_AGAIN",
};

/// A loop that must stay a loop.
pub(super) const UNROLLED: Hint = Hint {
    pattern: "a short loop is unrolled, and sums are computed one after the other or spill",
    compiler: "LLVM 20 to 22",
    measured: "a convolution of 4 channels and 3 taps on AVX2: 1.7 times the time",
    printed: "hidden_chunks",
};

/// Dot products of 16-bit pairs in a long loop body. Rust therefore does not unroll the loop.
pub(crate) const PAIRS_SPLIT: Hint = Hint {
    pattern: "dot products of 16-bit pairs in long code become two instructions each",
    compiler: "LLVM 20 to 22",
    measured: "a GRU 96 -> 160 with AVX-512: 1.3 times the time",
    printed: "in C ",
};

/// A loop over rows of weights from the L2 cache. Unrolling moves the loads of one instruction far
/// apart.
pub(crate) const PREFETCHED: Hint = Hint {
    pattern: "processors prefetch between the near loads of a short loop",
    compiler: "any; rustc has no attribute to unroll",
    measured: "on a Zen 5, an LSTM of 128 units takes 0.7 of the time if unrolled",
    printed: "faster where weights are in the L2 cache",
};

/// A loop that a pragma unrolls to two iterations.
pub(super) const TWO_ITERATIONS: Hint = Hint {
    pattern: "a pragma to unroll a loop is ignored if it leaves two iterations or fewer",
    compiler: "gcc 12.2",
    measured: "a GRU of 256 units in bytes with AVX-512: 1.6 times the time",
    printed: "UNROLL",
};

/// A kernel of one lane whose accumulators fill most registers.
pub(super) const SPILLED_IN_CALLER: Hint = Hint {
    pattern: "an inlined kernel shares registers with its caller, and its sums spill",
    compiler: "gcc 12.2",
    measured: "an LSTM of 64 units on a Cortex-M4F takes 0.63 of the instructions if called",
    printed: "_CALLED",
};

/// A function that adds a row of weights to sums through their addresses.
pub(super) const ADDRESSES_TAKEN: Hint = Hint {
    pattern: "sums are moved between registers if a function takes their addresses",
    compiler: "gcc 12.2",
    measured: "more instructions in every row",
    printed: " A macro: gcc moves sums between\n * registers if a function takes their addresses.",
};

/// A copy of many floats on x86-64.
pub(super) const STRING_MOVES: Hint = Hint {
    pattern: "a copy of at least 64 floats becomes `rep movsq`",
    compiler: "gcc 12.2",
    measured: "up to 3 times the time of memcpy",
    printed: "_copy_floats",
};

/// Every pattern.
#[cfg(test)]
const ALL: [Hint; 18] = [
    VECTORISED_TWICE,
    POSTPONED,
    TAKEN_APART,
    REUSED,
    LOADED_IN_PARTS,
    STORED_TWICE,
    KEPT_SUMS,
    KEPT_SUMS_IN_C,
    MERGED_LOADS,
    BROADCASTS_SHARED,
    BROADCASTS_SHARED_IN_C,
    UNROLLED,
    PAIRS_SPLIT,
    PREFETCHED,
    TWO_ITERATIONS,
    SPILLED_IN_CALLER,
    ADDRESSES_TAKEN,
    STRING_MOVES,
];

/// The largest function, in operations, with `inline(always)`. Longer functions have the target
/// features of their module, which exclude `inline(always)`; LLVM may inline them, too.
pub(super) const INLINED: usize = 45;

/// The largest number of sum registers per iteration for which LLVM unrolls loops of twice
/// [`SHORT_LOOP_ITERATIONS`](crate::arch::SHORT_LOOP_ITERATIONS).
pub(super) const FEW_SUMS: usize = 4;

/// True if sums of `gates` gates are kept in memory while the loop `next` adds up other sums:
/// [`KEPT_SUMS`]. Loops below 192 rows save less than the stores and loads cost: 1 % of a GRU of
/// 128 units. A loop of fewer gates needs only 96 rows: it leaves registers for some of the kept
/// sums, and LLVM at opt-level 2 then spills the loop's own sums. RNNoise's GRU of 96 units took
/// 1.35 times the time.
pub(super) fn is_kept_in_memory(gates: usize, next: Option<SumLoop>) -> bool {
    let is_long = |next: SumLoop| next.rows >= 192 || next.rows >= 96 && next.gates < gates;
    gates >= 3 && next.is_some_and(is_long)
}

/// As [`is_kept_in_memory`], in C and for vectors of four lanes: [`KEPT_SUMS_IN_C`]. Loops of 128
/// rows gained 10 to 23 %; shorter loops were not measured.
pub(super) fn is_kept_in_memory_in_c(gates: usize, next: Option<SumLoop>) -> bool {
    gates >= 3 && next.is_some_and(|next| next.rows >= 128)
}

/// The smallest copy, in floats, that gcc makes with `rep movsq` on x86-64: [`STRING_MOVES`].
pub(super) const LONG_COPY: usize = 64;

/// The unroll factor that C prints for a loop of `count` iterations: half of `factor` if `factor`
/// is at least 16 and leaves two iterations or fewer, as gcc would ignore the pragma
/// ([`TWO_ITERATIONS`]). A smaller factor stays, and gcc keeps the loop: unrolled by four instead,
/// loops of 16 iterations took up to 1.05 times the time (a GRU of 128 units in 16 bits).
pub(super) fn unrolled_in_c(count: usize, factor: usize) -> usize {
    if factor >= 16 && count <= 2 * factor { factor / 2 } else { factor }
}

/// True if C unrolls loops over rows of weights in a format, and Rust keeps these loops:
/// [`PAIRS_SPLIT`].
pub(crate) fn is_unrolled_in_c_alone(format: WeightFormat) -> bool {
    format == WeightFormat::Int16
}

/// True if Rust keeps the loop with this body, which C unrolls: [`PAIRS_SPLIT`].
pub(super) fn splits_pairs(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| matches!(stmt, Stmt::Set { value: Expr::Op(LaneOp::DotPairs, _), .. }))
}

/// True if the accumulators of a kernel fill three quarters of the registers:
/// [`SPILLED_IN_CALLER`].
pub(super) fn fills_registers(kernel: &Kernel, isa: &Isa) -> bool {
    let is_full = |scalar, registers| kernel.most_accumulators(scalar) * 4 >= registers * 3;
    is_full(Scalar::F32, isa.registers) || is_full(Scalar::U32, isa.integer_registers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every hint names a pattern of its own, a compiler, a measurement and a remedy.
    #[test]
    fn every_hint_is_measured() {
        for hint in ALL {
            let Hint { pattern, compiler, measured, printed } = hint;
            assert!([pattern, compiler, measured, printed].iter().all(|text| !text.is_empty()));
            assert_eq!(ALL.iter().filter(|other| other.pattern == pattern).count(), 1);
        }
    }
}
