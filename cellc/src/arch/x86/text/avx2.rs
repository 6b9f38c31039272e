
//: dot_pairs_8
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign.
#[attribute]
fn dot_pairs_8(a: [u32; 8], b: [u32; 8], sum: core::arch::x86_64::__m256i) -> core::arch::x86_64::__m256i {
    let (a, b) = (sums_8(a), sums_8(b));
    core::arch::x86_64::_mm256_add_epi32(sum, core::arch::x86_64::_mm256_madd_epi16(a, b))
}

//: dot_quads_8
/// Adds the products of the bytes of a with those of b, each with a sign: that of b goes over to a, where no byte is -128.
#[attribute]
fn dot_quads_8(a: [u32; 8], b: [u32; 8], sum: core::arch::x86_64::__m256i) -> core::arch::x86_64::__m256i {
    let (a, b) = (sums_8(a), sums_8(b));
    let halves = core::arch::x86_64::_mm256_maddubs_epi16(core::arch::x86_64::_mm256_abs_epi8(b), core::arch::x86_64::_mm256_sign_epi8(a, b));
    core::arch::x86_64::_mm256_add_epi32(sum, core::arch::x86_64::_mm256_madd_epi16(halves, core::arch::x86_64::_mm256_set1_epi16(1)))
}

//: dot_pairs_4
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign.
#[attribute]
fn dot_pairs_4(a: [u32; 4], b: [u32; 4], sum: core::arch::x86_64::__m128i) -> core::arch::x86_64::__m128i {
    let (a, b) = (sums_4(a), sums_4(b));
    core::arch::x86_64::_mm_add_epi32(sum, core::arch::x86_64::_mm_madd_epi16(a, b))
}

//: dot_quads_4
/// Adds the products of the bytes of a with those of b, each with a sign: that of b goes over to a, where no byte is -128.
#[attribute]
fn dot_quads_4(a: [u32; 4], b: [u32; 4], sum: core::arch::x86_64::__m128i) -> core::arch::x86_64::__m128i {
    let (a, b) = (sums_4(a), sums_4(b));
    let halves = core::arch::x86_64::_mm_maddubs_epi16(core::arch::x86_64::_mm_abs_epi8(b), core::arch::x86_64::_mm_sign_epi8(a, b));
    core::arch::x86_64::_mm_add_epi32(sum, core::arch::x86_64::_mm_madd_epi16(halves, core::arch::x86_64::_mm_set1_epi16(1)))
}
