//! C: loads of several single lanes by one instruction.

use crate::arch::CLoads;
use crate::kernel::Element;

/// A load of several single lanes: Arm with FPU.
pub(in crate::arch) const ONE_LANE_LOADS: CLoads = CLoads {
    lanes: 1,
    element: Element::F32,
    count: None,
    text: "\
#if defined(__arm__) && defined(__ARM_FP) && !defined(__clang__)
EACH     register float s# __asm__(\"s#\");
    __asm__(\"vldmia %COUNT, {s0-sLAST}\"
        : LIST
        : \"r\"(from), \"m\"(*(const float(*)[COUNT])from));
EACH     *to# = s#;
#else
PLAIN#endif
",
    list: "\"=t\"(s#)",
};

/// A load of several binary16 lanes, two per word: Arm with an FPU that converts binary16.
pub(in crate::arch) const ONE_LANE_HALVES: CLoads = CLoads {
    lanes: 1,
    element: Element::F16,
    count: None,
    text: "\
#if defined(__ARM_FP) && defined(__ARM_FEATURE_FMA) && __ARM_ARCH_PROFILE == 'M'
PAIR     union {
PAIR         uint32_t bits;
PAIR         float value;
PAIR     } pair#;
PAIR     __builtin_memcpy(&pair#, from + #, sizeof pair#);
PAIR     __asm__(\"vcvtb.f32.f16 %0, %2\\n\\tvcvtt.f32.f16 %1, %2\" : \"=&t\"(*to#), \"=t\"(*to$) : \"t\"(pair#.value));
ODD     *to# = LOAD(from + #);
#else
PLAIN#endif
",
    list: "",
};

/// A load of a word of two pairs of bytes: Arm with products of 16-bit pairs.
pub(in crate::arch) const ONE_LANE_BYTES: CLoads = CLoads {
    lanes: 1,
    element: Element::I8Pair,
    count: Some(2),
    text: "\
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
    uint32_t all, low, high, pair0, pair1;
    __builtin_memcpy(&all, from, sizeof all);
    __asm__(\"sxtb16 %0, %1\" : \"=r\"(low) : \"r\"(all));
    __asm__(\"sxtb16 %0, %1, ror #8\" : \"=r\"(high) : \"r\"(all));
    __asm__(\"pkhbt %0, %1, %2, lsl #16\" : \"=r\"(pair0) : \"r\"(low), \"r\"(high));
    __asm__(\"pkhtb %0, %2, %1, asr #16\" : \"=r\"(pair1) : \"r\"(low), \"r\"(high));
EACH     *to# = FROM_BITS(pair#);
#else
PLAIN#endif
",
    list: "",
};

/// A load of two words of integers into any two registers: Arm with Thumb-2.
pub(in crate::arch) const ONE_LANE_WORDS: CLoads = CLoads {
    lanes: 1,
    element: Element::U32,
    count: Some(2),
    text: "\
#if defined(__ARM_FEATURE_SIMD32) && defined(__thumb2__) && defined(__GNUC__)
    typedef uint64_t both __attribute__((aligned(4), may_alias));
    uint32_t word0, word1;
    __asm__(\"ldrd %0, %1, %2\" : \"=r\"(word0), \"=r\"(word1) : \"Uv\"(*(const both *)from));
EACH     *to# = word#;
#else
PLAIN#endif
",
    list: "",
};
