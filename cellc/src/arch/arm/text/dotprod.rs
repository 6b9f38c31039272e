//: dot_pairs_4
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign. The products of two lanes, not yet added in pairs, are
/// one of two vectors.
#[attribute]
fn dot_pairs_4(a: [u32; 4], b: [u32; 4], [first, second, all]: [core::arch::aarch64::int32x4_t; 3]) -> [core::arch::aarch64::int32x4_t; 3] {
    let (a, b) = (core::arch::aarch64::vreinterpretq_s16_u32(lanes_4(a)), core::arch::aarch64::vreinterpretq_s16_u32(lanes_4(b)));
    [
        core::arch::aarch64::vmlal_s16(first, core::arch::aarch64::vget_low_s16(a), core::arch::aarch64::vget_low_s16(b)),
        core::arch::aarch64::vmlal_high_s16(second, a, b),
        all,
    ]
}
//: dot_quads_4
/// Adds the products of the bytes of a with those of b, each with a sign, to the third vector.
#[attribute]
fn dot_quads_4(a: [u32; 4], b: [u32; 4], [first, second, mut all]: [core::arch::aarch64::int32x4_t; 3]) -> [core::arch::aarch64::int32x4_t; 3] {
    let (a, b) = (lanes_4(a), lanes_4(b));
    // SAFETY: the instruction computes numbers and nothing else
    unsafe {
        core::arch::asm!(
            "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b",
            inout(vreg) all, in(vreg) a, in(vreg) b, options(pure, nomem, nostack, preserves_flags)
        );
    }
    [first, second, all]
}
//: sums_4
/// The lanes as the third of the vectors that are added up. Sums are vectors, as LLVM would take their lanes apart from one row to the next.
#[attribute]
fn sums_4(a: [u32; 4]) -> [core::arch::aarch64::int32x4_t; 3] {
    [core::arch::aarch64::vdupq_n_s32(0), core::arch::aarch64::vdupq_n_s32(0), core::arch::aarch64::vreinterpretq_s32_u32(lanes_4(a))]
}
//: from_signed_4
/// The numbers in two's complement, rounded to f32.
#[attribute]
fn from_signed_4([first, second, all]: [core::arch::aarch64::int32x4_t; 3]) -> [f32; 4] {
    let all = core::arch::aarch64::vcvtq_f32_s32(core::arch::aarch64::vaddq_s32(core::arch::aarch64::vpaddq_s32(first, second), all));
    [core::arch::aarch64::vgetq_lane_f32::<0>(all), core::arch::aarch64::vgetq_lane_f32::<1>(all), core::arch::aarch64::vgetq_lane_f32::<2>(all),
        core::arch::aarch64::vgetq_lane_f32::<3>(all)]
}
