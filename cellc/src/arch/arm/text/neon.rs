//: dot_quads_4
/// Adds the products of the bytes of a with those of b, each with a sign. No byte is -128: two products are 16 bits.
#[attribute]
fn dot_quads_4(a: [u32; 4], b: [u32; 4], sum: core::arch::aarch64::int32x4_t) -> core::arch::aarch64::int32x4_t {
    let (a, b) = (core::arch::aarch64::vreinterpretq_s8_u32(lanes_4(a)), core::arch::aarch64::vreinterpretq_s8_u32(lanes_4(b)));
    let first = core::arch::aarch64::vmull_s8(core::arch::aarch64::vget_low_s8(a), core::arch::aarch64::vget_low_s8(b));
    core::arch::aarch64::vpadalq_s16(sum, core::arch::aarch64::vpaddq_s16(first, core::arch::aarch64::vmull_high_s8(a, b)))
}
