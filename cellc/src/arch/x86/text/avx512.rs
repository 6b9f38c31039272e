
//: dot_pairs_16
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign.
#[attribute]
fn dot_pairs_16(a: [u32; 16], b: [u32; 16], sum: core::arch::x86_64::__m512i) -> core::arch::x86_64::__m512i {
    let (a, b) = (sums_16(a), sums_16(b));
    core::arch::x86_64::_mm512_add_epi32(sum, core::arch::x86_64::_mm512_madd_epi16(a, b))
}

//: dot_quads_16
/// Adds the products of the bytes of a with those of b, each with a sign: that of b goes over to a, where no byte is -128.
#[attribute]
fn dot_quads_16(a: [u32; 16], b: [u32; 16], sum: core::arch::x86_64::__m512i) -> core::arch::x86_64::__m512i {
    let (a, b) = (sums_16(a), sums_16(b));
    let signed = core::arch::x86_64::_mm512_mask_sub_epi8(a, core::arch::x86_64::_mm512_movepi8_mask(b), core::arch::x86_64::_mm512_setzero_si512(), a);
    let halves = core::arch::x86_64::_mm512_maddubs_epi16(core::arch::x86_64::_mm512_abs_epi8(b), signed);
    core::arch::x86_64::_mm512_add_epi32(sum, core::arch::x86_64::_mm512_madd_epi16(halves, core::arch::x86_64::_mm512_set1_epi16(1)))
}
