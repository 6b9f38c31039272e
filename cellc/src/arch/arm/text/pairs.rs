//: pairs_of_bytes_4
/// 4 consecutive pairs of weights of 8 bits from index `at` on, as 16 bits each in the halves of the bits.
#[attribute]
fn pairs_of_bytes_4<const N: usize>(from: &[[u8; 2]; N], at: usize) -> [f32; 4] {
    use core::arch::aarch64::*;
    let Some(&[[a, b], [c, d], [e, f], [g, h]]) = from.get(at..).and_then(|from| from.first_chunk::<4>()) else { return [0.0; 4] };
    let all = vreinterpretq_f32_s16(vmovl_s8(vcreate_s8(u64::from_le_bytes([a, b, c, d, e, f, g, h]))));
    [vgetq_lane_f32::<0>(all), vgetq_lane_f32::<1>(all), vgetq_lane_f32::<2>(all), vgetq_lane_f32::<3>(all)]
}
//: dot_pairs_4
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign. The moves to vectors are no instructions. The products
/// of two lanes, not yet added in pairs, are a vector.
#[attribute]
fn dot_pairs_4(a: [u32; 4], b: [u32; 4], sum: [core::arch::aarch64::int32x4_t; 2]) -> [core::arch::aarch64::int32x4_t; 2] {
    use core::arch::aarch64::*;
    let a = vreinterpretq_s16_u32(vsetq_lane_u32::<3>(a[3], vsetq_lane_u32::<2>(a[2], vsetq_lane_u32::<1>(a[1], vdupq_n_u32(a[0])))));
    let b = vreinterpretq_s16_u32(vsetq_lane_u32::<3>(b[3], vsetq_lane_u32::<2>(b[2], vsetq_lane_u32::<1>(b[1], vdupq_n_u32(b[0])))));
    [
        vmlal_s16(sum[0], vget_low_s16(a), vget_low_s16(b)),
        vmlal_high_s16(sum[1], a, b),
    ]
}
//: from_signed_4
/// The numbers in two's complement, rounded to f32.
#[attribute]
fn from_signed_4(sum: [core::arch::aarch64::int32x4_t; 2]) -> [f32; 4] {
    use core::arch::aarch64::*;
    let all = vcvtq_f32_s32(vpaddq_s32(sum[0], sum[1]));
    [vgetq_lane_f32::<0>(all), vgetq_lane_f32::<1>(all), vgetq_lane_f32::<2>(all), vgetq_lane_f32::<3>(all)]
}
