//: dot_quads_4
/// Adds the products of the bytes of a with those of b, each with a sign.
#[attribute]
fn dot_quads_4(a: [u32; 4], b: [u32; 4], mut sum: core::arch::aarch64::int32x4_t) -> core::arch::aarch64::int32x4_t {
    let (a, b) = (lanes_4(a), lanes_4(b));
    // SAFETY: the instruction computes numbers and nothing else
    unsafe {
        core::arch::asm!(
            "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b",
            inout(vreg) sum, in(vreg) a, in(vreg) b, options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}
//: dot_quads_of_4
/// Adds the products of the bytes of a with those of one lane of b, each with a sign.
#[attribute]
fn dot_quads_of_4<const LANE: i32>(a: [u32; 4], b: [u32; 4], mut sum: core::arch::aarch64::int32x4_t) -> core::arch::aarch64::int32x4_t {
    let (a, b) = (lanes_4(a), lanes_4(b));
    // SAFETY: the instruction computes numbers and nothing else
    unsafe {
        core::arch::asm!(
            "sdot {0:v}.4s, {1:v}.16b, {2:v}.4b[{lane}]",
            inout(vreg) sum, in(vreg) a, in(vreg) b, lane = const LANE, options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}
