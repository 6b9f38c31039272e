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
