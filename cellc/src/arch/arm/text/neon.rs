//: dot_pairs_4
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign. The products of two lanes, not yet added in pairs, are
/// a vector.
#[attribute]
fn dot_pairs_4(a: [u32; 4], b: [u32; 4], sum: [core::arch::aarch64::int32x4_t; 2]) -> [core::arch::aarch64::int32x4_t; 2] {
    let (a, b) = (core::arch::aarch64::vreinterpretq_s16_u32(lanes_4(a)), core::arch::aarch64::vreinterpretq_s16_u32(lanes_4(b)));
    [
        core::arch::aarch64::vmlal_s16(sum[0], core::arch::aarch64::vget_low_s16(a), core::arch::aarch64::vget_low_s16(b)),
        core::arch::aarch64::vmlal_high_s16(sum[1], a, b),
    ]
}
//: dot_quads_4
/// Adds the products of the bytes of a with those of b, each with a sign. The products of two lanes, added in pairs, are a vector.
#[attribute]
fn dot_quads_4(a: [u32; 4], b: [u32; 4], sum: [core::arch::aarch64::int32x4_t; 2]) -> [core::arch::aarch64::int32x4_t; 2] {
    let (a, b) = (core::arch::aarch64::vreinterpretq_s8_u32(lanes_4(a)), core::arch::aarch64::vreinterpretq_s8_u32(lanes_4(b)));
    [
        core::arch::aarch64::vpadalq_s16(sum[0], core::arch::aarch64::vmull_s8(core::arch::aarch64::vget_low_s8(a), core::arch::aarch64::vget_low_s8(b))),
        core::arch::aarch64::vpadalq_s16(sum[1], core::arch::aarch64::vmull_high_s8(a, b)),
    ]
}
//: sums_4
/// The lanes as what becomes them when neighbours are added. Sums are vectors, as LLVM would take their lanes apart from one row to the next.
#[attribute]
fn sums_4(a: [u32; 4]) -> [core::arch::aarch64::int32x4_t; 2] {
    let (all, zero) = (core::arch::aarch64::vreinterpretq_s32_u32(lanes_4(a)), core::arch::aarch64::vdupq_n_s32(0));
    [core::arch::aarch64::vzip1q_s32(all, zero), core::arch::aarch64::vzip2q_s32(all, zero)]
}
//: from_signed_4
/// The numbers in two's complement, rounded to f32.
#[attribute]
fn from_signed_4(sum: [core::arch::aarch64::int32x4_t; 2]) -> [f32; 4] {
    let all = core::arch::aarch64::vcvtq_f32_s32(core::arch::aarch64::vpaddq_s32(sum[0], sum[1]));
    [core::arch::aarch64::vgetq_lane_f32::<0>(all), core::arch::aarch64::vgetq_lane_f32::<1>(all), core::arch::aarch64::vgetq_lane_f32::<2>(all),
        core::arch::aarch64::vgetq_lane_f32::<3>(all)]
}
