//! Arm: AArch64, always with NEON, and cores with or without vectors.

mod declared;
pub(super) mod loads;
mod work;

use crate::kernel::Element;

use declared::declares;

use super::spell::gcc;
use super::{
    Arch, ByLane, CAcross, CFlushes, CLoads, CRules, CSpelling, CVector, Calls, Code, Condition,
    DataLayout, Detection, Dot, EstimatedIn, FloatUnit, GENERIC, Isa, IsaId, NEUTRAL,
    NEUTRAL_C_RULES, NEUTRAL_CODE, ONE_LANE, RustRules, RustSpelling, RustVector, SCALAR,
    SCALAR_FMA, SOFT,
};

/// Four lanes of AArch64.
const LANES_4: CVector = CVector {
    lanes: 4,
    load: "vld1q_f32({0})",
    load_f16: "vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16({0})))",
    store: "vst1q_f32({0}, {1})",
    splat: "vdupq_n_f32({0})",
    mul_add: "vfmaq_f32({2}, {0}, {1})",
    max: "vbslq_f32(vcgtq_f32({0}, {1}), {0}, {1})",
    min: "vbslq_f32(vcltq_f32({0}, {1}), {0}, {1})",
    max_magnitude: "vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(vabsq_f32({0})), \
        vreinterpretq_u32_f32({1})))",
    select_less: "vbslq_f32(vcltq_f32({0}, {1}), {2}, {3})",
    flush: "vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32({0}), vcaltq_f32({0}, \
        vdupq_n_f32({1}))))",
    load_i8_pairs: "vreinterpretq_f32_s16(vmovl_s8(vld1_s8((const int8_t *)({0}))))",
    from_signed: "vcvtq_f32_s32((int32x4_t){0})",
    dot_pairs: "vaddq_s32((int32x4_t){2}, vpaddq_s32(vmull_s16(vget_low_s16((int16x8_t){0}), \
        vget_low_s16((int16x8_t){1})), vmull_high_s16((int16x8_t){0}, (int16x8_t){1})))",
    // no byte is -128: the sum of two products fits 16 bits
    dot_quads: "vpadalq_s16((int32x4_t){2}, vpaddq_s16(vmull_s8(vget_low_s8((int8x16_t){0}), \
        vget_low_s8((int8x16_t){1})), vmull_high_s8((int8x16_t){0}, (int8x16_t){1})))",
    ..CVector::PLAIN
};

/// Four lanes with products of bytes.
const LANES_4_DOTPROD: CVector =
    CVector { dot_quads: "vdotq_s32((int32x4_t){2}, (int8x16_t){0}, (int8x16_t){1})", ..LANES_4 };

/// Four lanes of AArch64, for bodies shared with other machines.
const LANES_4_OF_ANY: CVector = CVector {
    // the argument is a word of four bytes
    load_i8: "vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8({0})))))",
    from_signed: "",
    ..LANES_4
};

/// Dot products of pairs of 16-bit integers. A vector of weights holds the first integers of all
/// lanes in one half, and the second integers of all lanes in the other half.
const PAIRS_BY_LANE: ByLane = ByLane {
    in_word: 2,
    c: "vmlal_high_laneq_s16(vmlal_laneq_s16((int32x4_t){2}, vget_low_s16((int16x8_t){0}), \
        (int16x8_t){1}, {4}), (int16x8_t){0}, (int16x8_t){1}, {5})",
    rust: "dot_apart_4",
};

/// Dot products of four bytes.
const QUADS_BY_LANE: ByLane = ByLane {
    in_word: 4,
    c: "vdotq_laneq_s32((int32x4_t){2}, (int8x16_t){0}, (int8x16_t){1}, {3})",
    rust: "dot_quads_of_4",
};

/// Two lanes of AArch64.
const LANES_2: CVector = CVector {
    lanes: 2,
    load: "vld1_f32({0})",
    store: "vst1_f32({0}, {1})",
    splat: "vdup_n_f32({0})",
    mul_add: "vfma_f32({2}, {0}, {1})",
    max: "vbsl_f32(vcgt_f32({0}, {1}), {0}, {1})",
    min: "vbsl_f32(vclt_f32({0}, {1}), {0}, {1})",
    max_magnitude: "vreinterpret_f32_u32(vmax_u32(vreinterpret_u32_f32(vabs_f32({0})), \
        vreinterpret_u32_f32({1})))",
    select_less: "vbsl_f32(vclt_f32({0}, {1}), {2}, {3})",
    flush: "vreinterpret_f32_u32(vbic_u32(vreinterpret_u32_f32({0}), vcalt_f32({0}, \
        vdup_n_f32({1}))))",
    ..CVector::PLAIN
};

/// A load of sixteen signed bytes into four vectors of f32. Each byte becomes the highest byte of a
/// lane, and is converted as a multiple of 2^-24.
const SIXTEEN_BYTES: CLoads = CLoads {
    lanes: 4,
    element: Element::I8,
    count: Some(4),
    text: "\
\x20   const uint8x16_t all = vld1q_u8((const uint8_t *)from);
    const uint32x4_t first = {0x00ffffffu, 0x01ffffffu, 0x02ffffffu, 0x03ffffffu};
    const uint32x4_t four = vdupq_n_u32(0x04000000u);
    const uint32x4_t at0 = first, at1 = vaddq_u32(at0, four), at2 = vaddq_u32(at1, four), at3 = vaddq_u32(at2, four);
EACH     *to# = vcvtq_n_f32_s32(vreinterpretq_s32_u8(vqtbl1q_u8(all, vreinterpretq_u8_u32(at#))), 24);
",
    list: "",
};

/// A load of four vectors of pairs of signed bytes.
const PAIRS_OF_32_BYTES: CLoads = CLoads {
    lanes: 4,
    element: Element::I8Pair,
    count: Some(4),
    text: "\
\x20   const int8x16_t low = vld1q_s8((const int8_t *)from), high = vld1q_s8((const int8_t *)from \
+ 16);
    *to0 = (TYPE)vmovl_s8(vget_low_s8(low));
    *to1 = (TYPE)vmovl_high_s8(low);
    *to2 = (TYPE)vmovl_s8(vget_low_s8(high));
    *to3 = (TYPE)vmovl_high_s8(high);
",
    list: "",
};

/// A load of any other number of vectors of pairs of signed bytes.
const PAIRS_OF_BYTES: CLoads = CLoads {
    count: None,
    text: "EACH     *to# = (TYPE)vmovl_s8(vld1_s8((const int8_t *)from + 8 * #));\n",
    ..PAIRS_OF_32_BYTES
};

/// Loads of several vectors of f32, or of the bits of f32. Two vectors are loaded by two
/// instructions relative to one pointer, more vectors by one instruction from an extra pointer.
const VECTORS_OF: [CLoads; 4] = {
    let one = CLoads {
        lanes: 4,
        element: Element::F32,
        count: None,
        text: "    const float32x4xCOUNT_t all = vld1q_f32_xCOUNT(from);\nEACH     *to# = \
            (TYPE)all.val[#];\n",
        list: "",
    };
    let two =
        CLoads { count: Some(2), text: "EACH     *to# = (TYPE)vld1q_f32(from + 4 * #);\n", ..one };
    [one, CLoads { element: Element::U32, ..one }, two, CLoads { element: Element::U32, ..two }]
};

/// NEON, available on every AArch64.
pub(super) static NEON: Isa = Isa {
    id: IsaId::Neon,
    name: "neon",
    lanes: 4,
    registers: 32,
    // half of all registers: a sum also needs a register for products
    integer_registers: 16,
    dots: &[Dot::ByLane(PAIRS_BY_LANE)],
    fma: true,
    code: Code {
        rows: 4,
        loads: 4,
        // more columns add code for little gain
        vectors_per_pass: 4,
        ..NEUTRAL_CODE
    },
    c: CSpelling {
        loads: &[
            VECTORS_OF[0],
            VECTORS_OF[1],
            VECTORS_OF[2],
            VECTORS_OF[3],
            SIXTEEN_BYTES,
            PAIRS_OF_32_BYTES,
            PAIRS_OF_BYTES,
        ],
        header: "arm_neon.h",
        vectors: &[LANES_4, LANES_2],
        ..GENERIC.c
    },
    rust: RustSpelling {
        mul_add: MUL_ADD,
        vectors: &[RUST_4],
        functions: include_str!("text/neon.rs"),
        ..GENERIC.rust
    },
    ..GENERIC
};

/// NEON with dot products of bytes, optional in ARMv8.2 and mandatory in ARMv8.4.
pub(super) static NEON_DOTPROD: Isa = Isa {
    id: IsaId::NeonDotprod,
    name: "neon_dotprod",
    extends: Some(&NEON),
    dots: &[Dot::ByLane(PAIRS_BY_LANE), Dot::ByLane(QUADS_BY_LANE)],
    detection: Detection::Compiling(Condition {
        c: "defined(__ARM_FEATURE_DOTPROD)",
        rust: "target_feature = \"dotprod\"",
    }),
    c: CSpelling {
        flags: Some(&["-march=armv8.2-a+dotprod"]),
        vectors: &[LANES_4_DOTPROD, LANES_2],
        ..NEON.c
    },
    rust: RustSpelling {
        vectors: &[RustVector { operations: &[RUST_DOTPROD, RUST_ON_4], ..RUST_4 }],
        functions: concat!(include_str!("text/neon.rs"), include_str!("text/dotprod.rs")),
        ..NEON.rust
    },
    ..NEON
};

/// Rust: operations of four lanes on every AArch64. Weights are little-endian.
const RUST_ON_4: &[(&str, &str)] = &[
    ("from_lanes", "vld1q_f32(a.as_ptr())"),
    ("from_halves", "vld1q_f32(a.map(|a| half_to_f32(u16::from_le_bytes(a))).as_ptr())"),
    (
        "from_bytes",
        "vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(u64::from(u32::from_le_bytes([a[0][0], a[1][0], a[2][0], a[3][0]])))))))",
    ),
    (
        "from_pairs",
        "{ let [[a, b], [c, d], [e, f], [g, h]] = *a; vreinterpretq_f32_s16(vmovl_s8(vcreate_s8(u64::from_le_bytes([a, b, c, d, e, f, g, h])))) }",
    ),
    ("to_lanes", "vst1q_f32(b.as_mut_ptr(), a)"),
    ("all", "vdupq_n_f32(a)"),
    ("add", "vaddq_f32(a, b)"),
    ("sub", "vsubq_f32(a, b)"),
    ("mul", "vmulq_f32(a, b)"),
    ("div", "vdivq_f32(a, b)"),
    ("mul_add", "vfmaq_f32(c, a, b)"),
    ("max", "vbslq_f32(vcgtq_f32(a, b), a, b)"),
    ("min", "vbslq_f32(vcltq_f32(a, b), a, b)"),
    (
        "max_magnitude",
        "vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(vabsq_f32(a)), \
         vreinterpretq_u32_f32(b)))",
    ),
    ("select_less", "vbslq_f32(vcltq_f32(a, b), c, d)"),
    (
        "flush",
        "vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(a), vcltq_f32(vabsq_f32(a), \
         vdupq_n_f32(super::FLUSH_LIMIT))))",
    ),
    ("bits_to_exponent", "vreinterpretq_f32_u32(vshlq_n_u32::<23>(vreinterpretq_u32_f32(a)))"),
    ("to_bits", "vreinterpretq_u32_f32(a)"),
    ("from_bits", "vreinterpretq_f32_u32(a)"),
    ("from_signed", "vcvtq_f32_s32(vreinterpretq_s32_u32(a))"),
    ("all_bits", "vdupq_n_u32(a)"),
    ("and", "vandq_u32(a, b)"),
    ("or", "vorrq_u32(a, b)"),
    ("xor", "veorq_u32(a, b)"),
    ("shift_left", "vshlq_u32(a, vdupq_n_s32(b as i32))"),
    ("shift_right", "vshlq_u32(a, vdupq_n_s32((b as i32).wrapping_neg()))"),
    ("wrapping_add", "vaddq_u32(a, b)"),
    ("wrapping_sub", "vsubq_u32(a, b)"),
    (
        "dot_quads",
        "{ let (a, b) = (vreinterpretq_s8_u32(a), vreinterpretq_s8_u32(b)); let (low, high) = (vmull_s8(vget_low_s8(a), vget_low_s8(b)), vmull_high_s8(a, b)); vaddq_u32(c, vreinterpretq_u32_s32(vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)))) }",
    ),
    (
        "dot_pairs",
        "{ let (a, b) = (vreinterpretq_s16_u32(a), vreinterpretq_s16_u32(b)); let sums = vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)); vaddq_u32(c, vreinterpretq_u32_s32(sums)) }",
    ),
];

/// Rust: the dot product of bytes.
const RUST_DOTPROD: &[(&str, &str)] = &[(
    "dot_quads",
    "{
        let mut sum = c;
        // the instruction computes numbers and nothing else
        core::arch::asm!(
            \"sdot {0:v}.4s, {1:v}.16b, {2:v}.16b\",
            inout(vreg) sum, in(vreg) a, in(vreg) b, options(pure, nomem, nostack, preserves_flags)
        );
        sum
    }",
)];

/// Rust: four lanes.
const RUST_4: RustVector = RustVector {
    lanes: 4,
    processor: "aarch64",
    condition: "",
    register: "float32x4_t",
    integers: "uint32x4_t",
    operations: &[RUST_ON_4],
    helpers: &[("from_halves", "half_to_f32")],
};

/// Rust: a scalar fused multiply-add. Available on every AArch64, and LLVM vectorises it.
const MUL_ADD: &str = "unsafe { vfmas_lane_f32::<0>(c, a, vdup_n_f32(b)) }";

/// AArch64 in a file for every machine: the generic body with fused multiply-adds.
pub(super) static NEON_OF_ANY: Isa = Isa {
    id: IsaId::Neon,
    name: "neon",
    fma: true,
    body_of: Some(&GENERIC),
    detection: Detection::Compiling(Condition {
        c: has_vectors!(neon),
        rust: "target_arch = \"aarch64\"",
    }),
    code: NEUTRAL_CODE,
    c: CSpelling { header: "arm_neon.h", vectors: &[LANES_4_OF_ANY, LANES_2], ..GENERIC.c },
    rust: RustSpelling {
        mul_add: MUL_ADD,
        vectors: &[RustVector { condition: "target_arch = \"aarch64\"", ..RUST_4 }],
        ..GENERIC.rust
    },
    ..GENERIC
};

const FOR_AARCH64: &str = "compile it for AArch64, or generate it with --target any";

/// AArch64, little endian.
pub static AARCH64: Arch = Arch {
    name: "aarch64",
    triples: &["aarch64-"],
    baseline: &NEON,
    isas: &[&NEON_DOTPROD],
    instructions: Some(work::AARCH64),
    // of the widest cores
    instructions_per_cycle: 10,
    estimated_in: EstimatedIn::C,
    c: CRules {
        float_flags: "no flag of gcc or clang does otherwise there",
        refused: (concat!("!", has_vectors!(neon)), FOR_AARCH64),
        compiler: &["aarch64-linux-gnu-gcc"],
        ..NEUTRAL_C_RULES
    },
    rust: RustRules { held: "target_arch = \"aarch64\"", otherwise: FOR_AARCH64, ..NEUTRAL.rust },
    memory: DataLayout { line: 64, ..NEUTRAL.memory },
    ..NEUTRAL
};

/// C: the condition under which a fused multiply-add is a function call, or gcc may use Helium,
/// which flushes denormals to zero.
const NO_FMA: &str =
    "defined(__arm__) && (!defined(__ARM_FEATURE_FMA) || defined(__ARM_FEATURE_MVE))";

/// Cortex-M4 with its FPU.
pub static CORTEX_M4F: Arch = Arch {
    name: "cortex-m4f",
    triples: &["thumbv7em-none-eabihf"],
    // Rust has no fused multiply-add on this target: in rustc 1.96, assembly has no FPU registers
    // (`sreg` "requires the `vfp2` target feature", which no stable option enables)
    baseline: &SCALAR_FMA,
    instructions: Some(work::ONE_LANE),
    instructions_per_cycle: 1,
    estimated_in: EstimatedIn::C,
    c: CRules {
        pragmas: &[gcc::OF_FPU],
        declares,
        refused: (
            NO_FMA,
            "compile it with -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16; for a processor \
         without an FPU, generate it with --target cortex-m3 or cortex-m0; for one with Helium, \
         with --target cortex-m55",
        ),
        compiler: &[
            "arm-none-eabi-gcc",
            "-mcpu=cortex-m4",
            "-mthumb",
            "-mfloat-abi=hard",
            "-mfpu=fpv4-sp-d16",
        ],
        ..ONE_LANE.c
    },
    ..ONE_LANE
};

/// Cortex-M7 with its FPU.
pub static CORTEX_M7: Arch = Arch {
    name: "cortex-m7",
    triples: &[],
    instructions_per_cycle: 2,
    c: CRules {
        refused: (
            NO_FMA,
            "compile it with -mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-sp-d16; for a processor \
         without an FPU, generate it with --target cortex-m3 or cortex-m0; for one with Helium, \
         with --target cortex-m55",
        ),
        compiler: &[
            "arm-none-eabi-gcc",
            "-mcpu=cortex-m7",
            "-mthumb",
            "-mfloat-abi=hard",
            "-mfpu=fpv5-sp-d16",
        ],
        ..CORTEX_M4F.c
    },
    ..CORTEX_M4F
};

/// Cortex-M33 with its FPU.
pub static CORTEX_M33: Arch = Arch {
    name: "cortex-m33",
    triples: &["thumbv8m.main-none-eabihf"],
    instructions_per_cycle: 2,
    c: CRules {
        refused: (
            NO_FMA,
            "compile it with -mcpu=cortex-m33 -mfloat-abi=hard; for a processor without an FPU, \
         generate it with --target cortex-m3 or cortex-m0; for one with Helium, with --target \
         cortex-m55",
        ),
        compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard"],
        ..CORTEX_M4F.c
    },
    ..CORTEX_M4F
};

/// Four lanes of Helium. The FPU computes divisions and other operations without a vector
/// instruction.
const LANES_4_OF_HELIUM: CVector = CVector {
    lanes: 4,
    // only constants are loaded by an intrinsic: gcc assumes that load and store intrinsics access
    // only the first lane
    load_constant: "vldrwq_f32({0})",
    load_f16: "PREFIX_halves({0})",
    load_i8: "vcvtq_f32_s32(vldrbq_s32({0}))",
    splat: "vdupq_n_f32({0})",
    mul_add: "vfmaq_f32({2}, {0}, {1})",
    mul_add_one: "vfmaq_n_f32({2}, {0}, {1})",
    div: "PREFIX_quotient({0}, {1})",
    max: "PREFIX_where_less({1}, {0}, {0}, {1})",
    min: "PREFIX_where_less({0}, {1}, {0}, {1})",
    max_magnitude: "vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(vabsq_f32({0})), \
        vreinterpretq_u32_f32({1})))",
    select_less: "PREFIX_where_less({0}, {1}, {2}, {3})",
    flush: "PREFIX_not_below({0}, vdupq_n_f32({1}))",
    load_i8_pairs: "vreinterpretq_f32_s16(vldrbq_s16((const int8_t *)({0})))",
    from_signed: "vcvtq_f32_s32((int32x4_t){0})",
    dot_pairs: "vaddq_s32((int32x4_t){2}, vaddq_s32(vmullbq_int_s16((int16x8_t){0}, \
        (int16x8_t){1}), vmulltq_int_s16((int16x8_t){0}, (int16x8_t){1})))",
    ..CVector::PLAIN
};

/// Sums across lanes in assembly. With intrinsics, gcc moves sums between registers, since only
/// even registers hold sums, and computes addresses beyond 127 or 508 bytes at every row.
const ACROSS: CAcross = CAcross {
    elements: "vldrw.u32 q0, [%[elements]], #16",
    weights: "vldrw.u32 q1, [%[weights]], #16",
    pairs_of_bytes: "vldrb.s16 q1, [%[weights]], #8",
    quads: "vmladav.s8 %[{0}], q1, q0",
    add_quads: "vmladava.s8 %[{0}], q1, q0",
    pairs: "vmladav.s16 %[{0}], q1, q0",
    add_pairs: "vmladava.s16 %[{0}], q1, q0",
    zero: "mov %[{0}], #0",
    beyond: "add %[weights], %[beyond]",
    begin: "dls lr, %[turns]\\n1:",
    end: "le lr, 1b",
    meet: [
        "vmov %q[all][2], %q[all][0], %[sum0], %[sum2]",
        "vmov %q[all][3], %q[all][1], %[sum1], %[sum3]",
    ],
    // widening loads of bytes need one of the first eight registers
    pointer_to_bytes: "+l",
    sum: "=&Te",
    clobbered: "\"q0\", \"q1\", \"lr\", \"memory\"",
};

/// FPSCR's cumulative flags: UFC (bit 3), a result was flushed, and IDC (bit 7), an operand was
/// flushed. The FPU keeps denormals but may set UFC, so a step may be repeated needlessly.
const FLAGS: CFlushes = CFlushes {
    begin: "\
\x20   uint32_t flags;
    __asm__ volatile(\"vmrs %0, fpscr\" : \"=r\"(flags) : : \"memory\");
    __asm__ volatile(\"vmsr fpscr, %0\" : : \"r\"(flags & ~0x88u) : \"memory\");
",
    end: "    __asm__ volatile(\"vmrs %0, fpscr\" : \"=r\"(flags) : : \"memory\");\n",
    flushed: "(flags & 0x88u) != 0u",
};

/// Helium. Arithmetic on vectors flushes denormals.
pub(super) static HELIUM: Isa = Isa {
    id: IsaId::Helium,
    name: "helium",
    lanes: 4,
    registers: 8,
    integer_registers: 8,
    fma: true,
    dots: &[Dot::Across],
    detection: Detection::Compiling(Condition {
        c: "defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(__ARM_BIG_ENDIAN)",
        rust: "",
    }),
    instructions: Some(work::HELIUM),
    code: Code { rows: 4, calls: Calls::OneValue, ..NEUTRAL_CODE },
    c: CSpelling {
        flags: Some(&[]),
        header: "arm_mve.h",
        vectors: &[LANES_4_OF_HELIUM],
        functions: concat!(include_str!("text/helium.c"), include_str!("text/quotient.c")),
        across: Some(ACROSS),
        flushes: Some(FLAGS),
        ..GENERIC.c
    },
    ..GENERIC
};

/// Helium in a file for every machine, with lanes as columns. The registers hold half the sums of
/// the generic body; the others spill.
pub(super) static HELIUM_OF_ANY: Isa = Isa {
    dots: &[],
    c: CSpelling {
        across: None,
        vectors: &[CVector {
            // no byte is -128: the sum of two products fits 16 bits
            dot_quads: "vaddq_s32((int32x4_t){2}, \
            vaddq_s32(vmovlbq_s16(vaddq_s16(vmullbq_int_s8((int8x16_t){0}, (int8x16_t){1}), \
            vmulltq_int_s8((int8x16_t){0}, (int8x16_t){1}))), \
            vmovltq_s16(vaddq_s16(vmullbq_int_s8((int8x16_t){0}, (int8x16_t){1}), \
            vmulltq_int_s8((int8x16_t){0}, (int8x16_t){1})))))",
            ..LANES_4_OF_HELIUM
        }],
        ..HELIUM.c
    },
    ..HELIUM
};

/// The literal of [`CLANG_WITH_HELIUM`].
macro_rules! clang_with_helium {
    () => {
        "defined(__clang__) && defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)"
    };
}

/// The condition for clang with Helium. clang vectorises scalar code with Helium, which flushes
/// denormals, and no text in a file prevents this. For gcc, [`gcc::OF_HELIUM`] prevents it.
pub(super) const CLANG_WITH_HELIUM: &str = clang_with_helium!();

/// The advice for users of clang.
pub(super) const WITHOUT_HELIUM: &str =
    "clang makes 0 of subnormal numbers with Helium; take -mcpu=cortex-m55+nomve.fp";

/// Cortex-M55: Helium, and an FPU that keeps denormals.
pub static CORTEX_M55: Arch = Arch {
    name: "cortex-m55",
    triples: &[],
    isas: &[&HELIUM],
    instructions_per_cycle: 2,
    c: CRules {
        pragmas: &[gcc::OF_HELIUM],
        declares,
        refused: (
            concat!(
                "defined(__arm__) && (!defined(__ARM_FEATURE_FMA) || (",
                clang_with_helium!(),
                "))"
            ),
            "compile it with -mcpu=cortex-m55 -mfloat-abi=hard, with clang \
             -mcpu=cortex-m55+nomve.fp; for a processor without an FPU, generate it with \
             --target cortex-m3 or cortex-m0",
        ),
        compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"],
        ..CORTEX_M4F.c
    },
    ..CORTEX_M4F
};

/// Cortex-M0 with floats in software.
pub static CORTEX_M0: Arch = Arch {
    name: "cortex-m0",
    triples: &["thumbv6m-"],
    baseline: &SOFT,
    instructions: Some(work::CORTEX_M0),
    instructions_per_cycle: 1,
    estimated_in: EstimatedIn::C,
    c: CRules { compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"], ..ONE_LANE.c },
    ..ONE_LANE
};

/// Cortex-M3 with floats in software.
pub static CORTEX_M3: Arch = Arch {
    name: "cortex-m3",
    triples: &["thumbv7m-"],
    baseline: &SOFT,
    instructions: Some(work::CORTEX_M3),
    instructions_per_cycle: 1,
    estimated_in: EstimatedIn::C,
    c: CRules {
        pragmas: &[gcc::OF_SOFT_FLOATS],
        compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"],
        ..ONE_LANE.c
    },
    ..ONE_LANE
};

/// Four lanes of ARMv7's NEON. gcc does not compile operators on f32 vectors to NEON instructions,
/// so intrinsics replace the operators. The FPU computes divisions.
const LANES_4_OF_ARMV7: CVector = CVector {
    load_f16: "",
    mul_add: "vmlaq_f32({2}, {0}, {1})",
    add: "vaddq_f32({0}, {1})",
    sub: "vsubq_f32({0}, {1})",
    mul: "vmulq_f32({0}, {1})",
    div: "PREFIX_quotient({0}, {1})",
    // a comparison of integers, since a comparison of floats would flush denormals
    flush: "vreinterpretq_f32_u32(vbicq_u32(\n        vreinterpretq_u32_f32({0}),\n        \
        vcltq_u32(vreinterpretq_u32_f32(vabsq_f32({0})), \
        vreinterpretq_u32_f32(vdupq_n_f32({1})))\n    ))",
    from_signed: "vcvtq_f32_s32(vcombine_s32(vpadd_s32(vget_low_s32({0}.first), \
        vget_high_s32({0}.first)), vpadd_s32(vget_low_s32({0}.second), \
        vget_high_s32({0}.second))))",
    dot_pairs: "vmlal_s16({2}.first, vget_low_s16((int16x8_t){0}), vget_low_s16((int16x8_t){1})), \
        vmlal_s16({2}.second, vget_high_s16((int16x8_t){0}), vget_high_s16((int16x8_t){1}))",
    dot_quads: "vpadalq_s16({2}.first, vmull_s8(vget_low_s8((int8x16_t){0}), \
        vget_low_s8((int8x16_t){1}))), vpadalq_s16({2}.second, \
        vmull_s8(vget_high_s8((int8x16_t){0}), vget_high_s8((int8x16_t){1})))",
    sums: "int32x4_t first, second;",
    ..LANES_4
};

/// A load of several vectors of two registers each by one instruction.
const LOADS_OF_ARMV7: CLoads = CLoads {
    lanes: 4,
    element: Element::F32,
    count: None,
    text: "\
#if !defined(__clang__)
EACH     register float32x4_t q# __asm__(\"q#\");
    __asm__(\"vldmia %COUNT, {d0-dHALF}\"
        : LIST
        : \"r\"(from), \"m\"(*(const float(*)[4 * COUNT])from));
EACH     *to# = q#;
#else
PLAIN#endif
",
    list: "\"=w\"(q#)",
};

/// ARMv7's NEON. Arithmetic on vectors flushes denormals. Little-endian only: on big-endian
/// machines, gcc's intrinsics and gcc's vectors number lanes differently.
pub(super) static NEON_OF_ARMV7: Isa = Isa {
    id: IsaId::Neon,
    name: "neon",
    lanes: 4,
    registers: 16,
    // two registers per vector of sums
    integer_registers: 8,
    detection: Detection::Compiling(Condition {
        c: "defined(__arm__) && defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)",
        rust: "",
    }),
    instructions: Some(work::NEON),
    code: Code { rows: 4, loads: 4, calls: Calls::OneValue, ..NEUTRAL_CODE },
    c: CSpelling {
        loads: &[LOADS_OF_ARMV7],
        flags: Some(&["-mfpu=neon"]),
        header: "arm_neon.h",
        vectors: &[LANES_4_OF_ARMV7],
        functions: include_str!("text/quotient.c"),
        flushes: Some(FLAGS),
        ..GENERIC.c
    },
    ..GENERIC
};

/// ARMv7's NEON with fused multiply-add.
pub(super) static NEON_FMA: Isa = Isa {
    id: IsaId::NeonFma,
    name: "neon_fma",
    fma: true,
    body_of: Some(&NEON_OF_ARMV7),
    detection: Detection::Compiling(Condition {
        c: "defined(__arm__) && defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN) && \
            defined(__ARM_FEATURE_FMA)",
        rust: "",
    }),
    c: CSpelling {
        flags: Some(&["-mfpu=neon-vfpv4"]),
        vectors: &[CVector { mul_add: LANES_4.mul_add, ..LANES_4_OF_ARMV7 }],
        ..NEON_OF_ARMV7.c
    },
    ..NEON_OF_ARMV7
};

/// One lane with a fused multiply-add instruction.
static SCALAR_FMA_OF_ARMV7: Isa = Isa {
    body_of: Some(&SCALAR),
    detection: Detection::Compiling(Condition {
        c: "defined(__arm__) && defined(__ARM_FEATURE_FMA)",
        rust: "",
    }),
    c: CSpelling { flags: Some(&["-mfpu=vfpv4-d16"]), ..SCALAR_FMA.c },
    ..SCALAR_FMA
};

/// ARMv7-A with VFPv3-D16. NEON and fused multiply-adds depend on compiler options.
pub static ARMV7: Arch = Arch {
    name: "armv7",
    triples: &["armv7-"],
    baseline: &SCALAR,
    isas: &[&SCALAR_FMA_OF_ARMV7, &NEON_OF_ARMV7, &NEON_FMA],
    instructions: Some(work::VFP),
    // of Cortex-A15
    instructions_per_cycle: 3,
    estimated_in: EstimatedIn::C,
    c: CRules {
        pragmas: &[gcc::OF_ARMV7],
        float_unit: FloatUnit::Optional,
        compiler: &["arm-linux-gnueabihf-gcc"],
        ..ONE_LANE.c
    },
    memory: DataLayout { alignment: 8, ..ONE_LANE.memory },
    ..ONE_LANE
};

#[cfg(test)]
mod tests {
    use super::super::TARGETS;
    use super::*;

    /// Every dot product that Rust calls as a function is among the functions of the instruction
    /// set.
    #[test]
    fn dot_products_have_their_functions() {
        for isa in [&NEON, &NEON_DOTPROD] {
            for dot in isa.dots {
                let Dot::ByLane(by_lane) = dot else { continue };
                let begin = format!("//: {}\n", by_lane.rust);
                assert!(isa.rust.functions.contains(&begin), "{}: {}", isa.name, by_lane.rust);
            }
        }
    }

    /// The help of a target with an FPU names the flags of the core, and the targets for cores
    /// without an FPU instead of `--target any`.
    #[test]
    fn what_suits_another_cortex_is_said() {
        let cores = TARGETS.into_iter().filter(|arch| arch.name.starts_with("cortex-m"));
        let (soft, with_fpu): (Vec<_>, Vec<_>) =
            cores.partition(|arch| arch.baseline.id == SOFT.id);
        assert!(!soft.is_empty() && !with_fpu.is_empty());
        for arch in with_fpu {
            let help = arch.c.refused.1;
            assert!(help.contains(&format!("-mcpu={}", arch.name.trim_end_matches('f'))), "{help}");
            for other in &soft {
                assert!(help.contains(other.name) && !help.contains("--target any"), "{help}");
            }
        }
    }
}
