
//: dot_pairs_8
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign.
#[attribute]
fn dot_pairs_8(a: [u32; 8], b: [u32; 8], sum: core::arch::x86_64::__m256i) -> core::arch::x86_64::__m256i {
    let (a, b) = (sums_8(a), sums_8(b));
    core::arch::x86_64::_mm256_dpwssd_avx_epi32(sum, a, b)
}

//: dot_quads_8
/// Adds the products of the bytes of a, with a sign, with those of b, without one.
#[attribute]
fn dot_quads_8(a: [u32; 8], b: [u32; 8], sum: core::arch::x86_64::__m256i) -> core::arch::x86_64::__m256i {
    let (a, b) = (sums_8(a), sums_8(b));
    core::arch::x86_64::_mm256_dpbusd_avx_epi32(sum, b, a)
}

//: dot_pairs_4
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign.
#[attribute]
fn dot_pairs_4(a: [u32; 4], b: [u32; 4], sum: core::arch::x86_64::__m128i) -> core::arch::x86_64::__m128i {
    let (a, b) = (sums_4(a), sums_4(b));
    core::arch::x86_64::_mm_dpwssd_avx_epi32(sum, a, b)
}

//: dot_quads_4
/// Adds the products of the bytes of a, with a sign, with those of b, without one.
#[attribute]
fn dot_quads_4(a: [u32; 4], b: [u32; 4], sum: core::arch::x86_64::__m128i) -> core::arch::x86_64::__m128i {
    let (a, b) = (sums_4(a), sums_4(b));
    core::arch::x86_64::_mm_dpbusd_avx_epi32(sum, b, a)
}
