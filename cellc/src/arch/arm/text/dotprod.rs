//: dot_quads_of_4
/// Adds the products of the bytes of a with those of one lane of b, each with a sign.
#[inline]
#[attribute]
fn dot_quads_of_4<const LANE: i32>(a: U32x4, b: U32x4, sum: U32x4) -> U32x4 {
    let mut sum = sum.0;
    // SAFETY: the instruction computes numbers and nothing else
    unsafe {
        core::arch::asm!(
            "sdot {0:v}.4s, {1:v}.16b, {2:v}.4b[{lane}]",
            inout(vreg) sum, in(vreg) a.0, in(vreg) b.0, lane = const LANE, options(pure, nomem, nostack, preserves_flags)
        );
    }
    U32x4(sum)
}
