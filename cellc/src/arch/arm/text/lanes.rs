//: dot_pairs_4
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign.
#[attribute]
fn dot_pairs_4(a: [u32; 4], b: [u32; 4], sum: core::arch::aarch64::int32x4_t) -> core::arch::aarch64::int32x4_t {
    let (a, b) = (core::arch::aarch64::vreinterpretq_s16_u32(lanes_4(a)), core::arch::aarch64::vreinterpretq_s16_u32(lanes_4(b)));
    let first = core::arch::aarch64::vmull_s16(core::arch::aarch64::vget_low_s16(a), core::arch::aarch64::vget_low_s16(b));
    core::arch::aarch64::vaddq_s32(sum, core::arch::aarch64::vpaddq_s32(first, core::arch::aarch64::vmull_high_s16(a, b)))
}
//: dot_apart_4
/// Adds the products of the first half of all halves of a with one half of b, and those of the second half with another: 16 bits each, with a sign.
#[attribute]
fn dot_apart_4<const LOW: i32, const HIGH: i32>(a: [u32; 4], b: [u32; 4], sum: core::arch::aarch64::int32x4_t) -> core::arch::aarch64::int32x4_t {
    let (a, b) = (core::arch::aarch64::vreinterpretq_s16_u32(lanes_4(a)), core::arch::aarch64::vreinterpretq_s16_u32(lanes_4(b)));
    let sum = core::arch::aarch64::vmlal_laneq_s16::<LOW>(sum, core::arch::aarch64::vget_low_s16(a), b);
    core::arch::aarch64::vmlal_high_laneq_s16::<HIGH>(sum, a, b)
}
//: sums_4
/// The lanes as a vector. Sums are vectors, as LLVM would take their lanes apart from one row to the next.
#[attribute]
fn sums_4(a: [u32; 4]) -> core::arch::aarch64::int32x4_t {
    core::arch::aarch64::vreinterpretq_s32_u32(lanes_4(a))
}
//: from_signed_4
/// The numbers in two's complement, rounded to f32.
#[attribute]
fn from_signed_4(sum: core::arch::aarch64::int32x4_t) -> [f32; 4] {
    let all = core::arch::aarch64::vcvtq_f32_s32(sum);
    [core::arch::aarch64::vgetq_lane_f32::<0>(all), core::arch::aarch64::vgetq_lane_f32::<1>(all), core::arch::aarch64::vgetq_lane_f32::<2>(all),
        core::arch::aarch64::vgetq_lane_f32::<3>(all)]
}
//: pairs_of_bytes_4
/// 4 consecutive pairs of weights of 8 bits from index `at` on, as 16 bits each in the halves of the bits.
#[attribute]
fn pairs_of_bytes_4<const N: usize>(from: &[[u8; 2]; N], at: usize) -> [f32; 4] {
    let Some(&[[a, b], [c, d], [e, f], [g, h]]) = from.get(at..).and_then(|from| from.first_chunk::<4>()) else { return [0.0; 4] };
    let all = core::arch::aarch64::vreinterpretq_f32_s16(core::arch::aarch64::vmovl_s8(core::arch::aarch64::vcreate_s8(u64::from_le_bytes([a, b, c, d, e, f,
        g, h]))));
    [core::arch::aarch64::vgetq_lane_f32::<0>(all), core::arch::aarch64::vgetq_lane_f32::<1>(all), core::arch::aarch64::vgetq_lane_f32::<2>(all),
        core::arch::aarch64::vgetq_lane_f32::<3>(all)]
}
//: lanes_4
/// The lanes as a vector, at no cost.
#[attribute]
fn lanes_4(a: [u32; 4]) -> core::arch::aarch64::uint32x4_t {
    core::arch::aarch64::vsetq_lane_u32::<3>(a[3], core::arch::aarch64::vsetq_lane_u32::<2>(a[2], core::arch::aarch64::vsetq_lane_u32::<1>(a[1],
        core::arch::aarch64::vdupq_n_u32(a[0]))))
}
