//: dot_apart_4
/// Adds to the i32 lanes of `sum`: the first four i16 of `a` times i16 `LOW` of `b`, and the last four times i16 `HIGH`.
#[inline]
#[attribute]
fn dot_apart_4<const LOW: i32, const HIGH: i32>(a: U32x4, b: U32x4, sum: U32x4) -> U32x4 {
    let (a, b, sum) = (core::arch::aarch64::vreinterpretq_s16_u32(a.0), core::arch::aarch64::vreinterpretq_s16_u32(b.0), core::arch::aarch64::vreinterpretq_s32_u32(sum.0));
    let sum = core::arch::aarch64::vmlal_laneq_s16::<LOW>(sum, core::arch::aarch64::vget_low_s16(a), b);
    U32x4(core::arch::aarch64::vreinterpretq_u32_s32(core::arch::aarch64::vmlal_high_laneq_s16::<HIGH>(sum, a, b)))
}
