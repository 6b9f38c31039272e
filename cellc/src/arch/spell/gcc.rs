//! Pragmas that turn passes of gcc on or off: some of gcc's defaults make kernels slower.

/// Pragma lines for gcc at the top of a C file.
#[derive(Clone, Copy, Debug)]
pub struct GccPragmas {
    /// The lines of a file whose kernels hold values in registers.
    registers: &'static [&'static str],
    /// The lines of a file whose kernels hold values in structs of registers.
    structs: &'static [&'static str],
}

impl GccPragmas {
    /// Pragmas with the same lines for both kinds of files.
    const fn of_both(lines: &'static [&'static str]) -> Self {
        Self { registers: lines, structs: lines }
    }

    /// The lines. `structs`: true if kernels hold values in structs of registers.
    pub(crate) fn text(&self, structs: bool) -> String {
        if structs { self.structs } else { self.registers }.concat()
    }
}

/// x86-64.
pub(crate) const OF_X86: GccPragmas = GccPragmas { registers: &[X86], structs: &[X86_OF_STRUCTS] };
/// Arm cores with an FPU.
pub(crate) const OF_FPU: GccPragmas = GccPragmas::of_both(&[LOADS]);
/// Arm cores that may have Helium.
pub(crate) const OF_HELIUM: GccPragmas = GccPragmas::of_both(&[LOADS, HELIUM]);
/// As [`OF_HELIUM`], in a file for every machine.
pub(crate) const OF_HELIUM_OF_ANY: GccPragmas =
    GccPragmas::of_both(&["#if defined(__arm__)\n", LOADS, HELIUM, "#endif\n"]);
/// Cores of Arm's A profile that compute one lane.
pub(crate) const OF_ARMV7: GccPragmas = GccPragmas::of_both(&[LOADS, ARMV7]);
/// Arm cores that compute floats in software.
pub(crate) const OF_SOFT_FLOATS: GccPragmas = GccPragmas::of_both(&[SOFT_FLOATS]);
/// RISC-V.
pub(crate) const OF_RISC_V: GccPragmas = GccPragmas::of_both(&[RISC_V]);

/// Keeps loads in order, and sums in registers.
const X86: &str = "\
#if defined(__x86_64__)
/* gcc's second scheduling pass reorders the loads of weights, which takes up to 1.8 times as long if they come from
 * beyond the L2 cache: the processor prefetches what is read in order. Coalescing variables makes gcc spill
 * accumulators at every row if registers are scarce. */
#pragma GCC optimize(\"no-schedule-insns2,no-tree-coalesce-vars\")
#endif
";

/// Keeps loads in order, for values in structs of registers. Coalescing stays on: without
/// coalescing, gcc would copy accumulators at every row (an LSTM of 40 units takes 1.37 times as
/// long with AVX2).
const X86_OF_STRUCTS: &str = "\
#if defined(__x86_64__)
/* gcc's second scheduling pass reorders the loads of weights, which takes up to 1.8 times as long if they come from
 * beyond the L2 cache: the processor prefetches what is read in order. */
#pragma GCC optimize(\"no-schedule-insns2\")
#endif
";

/// Keeps loads next to their uses.
const LOADS: &str = "\
/* gcc's first scheduling pass moves loads up, until they do not fit the registers. */
#pragma GCC optimize(\"no-schedule-insns\")
";

/// Further lines for compilers that may use Helium.
const HELIUM: &str = "\
#if defined(__ARM_FEATURE_MVE)
/* Helium, of which gcc would make use on its own, makes 0 of subnormal numbers. */
#pragma GCC optimize(\"no-tree-loop-vectorize,no-tree-slp-vectorize\")
/* Vectors of weights are at constant distances from one pointer: several pointers do not fit the registers. */
#pragma GCC optimize(\"no-tree-pre,no-auto-inc-dec\")
/* gcc merges variables of vectors, and spills: an LSTM of 64 units takes 9 % more. */
#pragma GCC optimize(\"no-tree-coalesce-vars\")
#endif
";

/// Further lines for a core of the A profile that computes one lane.
const ARMV7: &str = "\
/* gcc moves products down to their sums, and values to the paths that need them: their factors then
 * stay in registers. */
#pragma GCC optimize(\"no-tree-coalesce-vars,no-tree-ter,no-tree-pre\")
";

/// Keeps products next to their additions.
const SOFT_FLOATS: &str = "\
/* Products stand where they are added: as gcc arranges them, sums do not fit the registers. */
#pragma GCC optimize(\"no-schedule-insns,no-tree-reassoc\")
";

/// Makes gcc's scheduler use fewer registers.
const RISC_V: &str = "\
#if defined(__riscv)
/* gcc's first scheduling pass takes more registers than there are, and values spill. */
#pragma GCC optimize(\"sched-pressure\")
#endif
";
