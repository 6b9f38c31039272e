//! x86 vectors in C and Rust: intrinsics with equal spelling for gcc and clang.

use super::super::{CVector, RustVector};

/// Sixteen lanes; AVX-512.
const LANES_16: CVector = CVector {
    lanes: 16,
    load: "_mm512_loadu_ps({0})",
    load_f16: "_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)({0})))",
    load_i8: "_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)({0}))))",
    store: "_mm512_storeu_ps({0}, {1})",
    splat: "_mm512_set1_ps({0})",
    mul_add: "_mm512_fmadd_ps({0}, {1}, {2})",
    max: "_mm512_max_ps({0}, {1})",
    min: "_mm512_min_ps({0}, {1})",
    max_magnitude: "_mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(_mm512_abs_ps({0})), \
        _mm512_castps_si512({1})))",
    select_less: "_mm512_mask_blend_ps(_mm512_cmp_ps_mask({0}, {1}, _CMP_LT_OQ), {3}, {2})",
    flush: "_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(_mm512_abs_ps({0}), _mm512_set1_ps({1}), \
        _CMP_NLT_UQ), {0})",
    load_i8_pairs: "_mm512_castsi512_ps(_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i \
        *)({0}))))",
    from_signed: "_mm512_cvtepi32_ps((__m512i){0})",
    dot_pairs: "_mm512_add_epi32((__m512i){2}, _mm512_madd_epi16((__m512i){0}, (__m512i){1}))",
    // moves the signs of elements to the weights: no weight is -128
    dot_quads: "_mm512_add_epi32((__m512i){2}, \
        _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_abs_epi8((__m512i){1}), \
        _mm512_mask_sub_epi8((__m512i){0}, _mm512_movepi8_mask((__m512i){1}), \
        _mm512_setzero_si512(), (__m512i){0})), _mm512_set1_epi16(1)))",
    ..CVector::PLAIN
};

/// Eight lanes: AVX2, FMA and F16C.
const LANES_8: CVector = CVector {
    lanes: 8,
    load: "_mm256_loadu_ps({0})",
    load_f16: "_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)({0})))",
    load_i8: "_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)({0}))))",
    store: "_mm256_storeu_ps({0}, {1})",
    splat: "_mm256_set1_ps({0})",
    mul_add: "_mm256_fmadd_ps({0}, {1}, {2})",
    max: "_mm256_max_ps({0}, {1})",
    min: "_mm256_min_ps({0}, {1})",
    max_magnitude: "_mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), {0})), _mm256_castps_si256({1})))",
    select_less: "_mm256_blendv_ps({3}, {2}, _mm256_cmp_ps({0}, {1}, _CMP_LT_OQ))",
    flush: "_mm256_andnot_ps(\n        _mm256_cmp_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), {0}), \
        _mm256_set1_ps({1}), _CMP_LT_OQ),\n        {0}\n    )",
    load_i8_pairs: "_mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i \
        *)({0}))))",
    from_signed: "_mm256_cvtepi32_ps((__m256i){0})",
    dot_pairs: "_mm256_add_epi32((__m256i){2}, _mm256_madd_epi16((__m256i){0}, (__m256i){1}))",
    dot_quads: "_mm256_add_epi32((__m256i){2}, \
        _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8((__m256i){1}), \
        _mm256_sign_epi8((__m256i){0}, (__m256i){1})), _mm256_set1_epi16(1)))",
    ..CVector::PLAIN
};

/// Four lanes: the 128-bit forms of AVX2 bodies (SSE4.1, FMA and F16C).
const LANES_4: CVector = CVector {
    lanes: 4,
    load: "_mm_loadu_ps({0})",
    load_f16: "_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)({0})))",
    load_i8: "_mm_cvtepi32_ps(_mm_cvtepi8_epi32(_mm_loadu_si32({0})))",
    store: "_mm_storeu_ps({0}, {1})",
    splat: "_mm_set1_ps({0})",
    mul_add: "_mm_fmadd_ps({0}, {1}, {2})",
    max: "_mm_max_ps({0}, {1})",
    min: "_mm_min_ps({0}, {1})",
    max_magnitude: "_mm_castsi128_ps(_mm_max_epi32(_mm_castps_si128(_mm_andnot_ps(_mm_set1_ps(-0.0f), {0})), _mm_castps_si128({1})))",
    select_less: "_mm_blendv_ps({3}, {2}, _mm_cmplt_ps({0}, {1}))",
    flush: "_mm_andnot_ps(_mm_cmplt_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), {0}), _mm_set1_ps({1})), \
        {0})",
    load_i8_pairs: "_mm_castsi128_ps(_mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)({0}))))",
    from_signed: "_mm_cvtepi32_ps((__m128i){0})",
    dot_pairs: "_mm_add_epi32((__m128i){2}, _mm_madd_epi16((__m128i){0}, (__m128i){1}))",
    dot_quads: "_mm_add_epi32((__m128i){2}, \
        _mm_madd_epi16(_mm_maddubs_epi16(_mm_abs_epi8((__m128i){1}), _mm_sign_epi8((__m128i){0}, \
        (__m128i){1})), _mm_set1_epi16(1)))",
    ..CVector::PLAIN
};

/// AVX2 with FMA.
pub(in crate::arch) static AVX2: [CVector; 2] = [LANES_8, LANES_4];

/// AVX-512.
pub(in crate::arch) static AVX512: [CVector; 3] = [LANES_16, LANES_8, LANES_4];

/// AVX2 with AVX-VNNI. `dot_quads` multiplies unsigned bytes of elements.
pub(in crate::arch) static AVX_VNNI: [CVector; 2] = [
    CVector {
        dot_pairs: "_mm256_dpwssd_avx_epi32((__m256i){2}, (__m256i){0}, (__m256i){1})",
        dot_quads: "_mm256_dpbusd_avx_epi32((__m256i){2}, (__m256i){1}, (__m256i){0})",
        ..LANES_8
    },
    CVector {
        dot_pairs: "_mm_dpwssd_avx_epi32((__m128i){2}, (__m128i){0}, (__m128i){1})",
        dot_quads: "_mm_dpbusd_avx_epi32((__m128i){2}, (__m128i){1}, (__m128i){0})",
        ..LANES_4
    },
];

/// AVX-512 with AVX-512 VNNI. `dot_quads` multiplies unsigned bytes of elements.
pub(in crate::arch) static AVX512_VNNI: [CVector; 3] = [
    CVector {
        dot_pairs: "_mm512_dpwssd_epi32((__m512i){2}, (__m512i){0}, (__m512i){1})",
        dot_quads: "_mm512_dpbusd_epi32((__m512i){2}, (__m512i){1}, (__m512i){0})",
        ..LANES_16
    },
    CVector {
        dot_pairs: "_mm256_dpwssd_epi32((__m256i){2}, (__m256i){0}, (__m256i){1})",
        dot_quads: "_mm256_dpbusd_epi32((__m256i){2}, (__m256i){1}, (__m256i){0})",
        ..LANES_8
    },
    CVector {
        dot_pairs: "_mm_dpwssd_epi32((__m128i){2}, (__m128i){0}, (__m128i){1})",
        dot_quads: "_mm_dpbusd_epi32((__m128i){2}, (__m128i){1}, (__m128i){0})",
        ..LANES_4
    },
];

/// Rust: operations of 128 bits in SSE2.
const BITS_128: &[(&str, &str)] = &[
    ("from_lanes", "_mm_loadu_ps(a.as_ptr())"),
    ("to_lanes", "_mm_storeu_ps(b.as_mut_ptr(), a)"),
    ("all", "_mm_set1_ps(a)"),
    ("add", "_mm_add_ps(a, b)"),
    ("sub", "_mm_sub_ps(a, b)"),
    ("mul", "_mm_mul_ps(a, b)"),
    ("div", "_mm_div_ps(a, b)"),
    ("max", "_mm_max_ps(a, b)"),
    ("min", "_mm_min_ps(a, b)"),
    ("to_bits", "_mm_castps_si128(a)"),
    ("from_bits", "_mm_castsi128_ps(a)"),
    ("from_signed", "_mm_cvtepi32_ps(a)"),
    ("all_bits", "_mm_set1_epi32(a as i32)"),
    ("bits_and", "_mm_and_ps(a, b)"),
    ("bits_or", "_mm_or_ps(a, b)"),
    ("bits_xor", "_mm_xor_ps(a, b)"),
    ("bits_to_exponent", "_mm_castsi128_ps(_mm_slli_epi32::<23>(_mm_castps_si128(a)))"),
    ("and", "_mm_and_si128(a, b)"),
    ("or", "_mm_or_si128(a, b)"),
    ("xor", "_mm_xor_si128(a, b)"),
    ("shift_left", "_mm_sll_epi32(a, _mm_cvtsi32_si128(b as i32))"),
    ("shift_right", "_mm_srl_epi32(a, _mm_cvtsi32_si128(b as i32))"),
    ("wrapping_add", "_mm_add_epi32(a, b)"),
    ("wrapping_sub", "_mm_sub_epi32(a, b)"),
    ("dot_pairs", "_mm_add_epi32(c, _mm_madd_epi16(a, b))"),
];

/// Rust: operations of four lanes of SSE2. A multiply-add has two roundings. Bytes become 16 bits
/// by a comparison with zero. For a shift by 8, LLVM leaves the low byte undefined and fills this
/// byte from a register that makes every product wait for the previous product.
const ON_SSE2: &[(&str, &str)] = &[
    ("from_halves", "_mm_loadu_ps(a.map(|a| half_to_f32(u16::from_le_bytes(a))).as_ptr())"),
    ("from_bytes", "_mm_loadu_ps(a.map(|a| f32::from(i8::from_le_bytes(a))).as_ptr())"),
    (
        "from_pairs",
        "{ let bytes = _mm_loadl_epi64(a.as_ptr().cast()); \
         _mm_castsi128_ps(_mm_unpacklo_epi8(bytes, _mm_cmpgt_epi8(_mm_setzero_si128(), bytes))) }",
    ),
    ("mul_add", "_mm_add_ps(_mm_mul_ps(a, b), c)"),
    (
        "max_magnitude",
        "{ let (a, b) = (_mm_and_si128(_mm_castps_si128(a), _mm_set1_epi32(0x7fff_ffff)), _mm_castps_si128(b)); let greater = _mm_cmpgt_epi32(a, b); _mm_castsi128_ps(_mm_or_si128(_mm_and_si128(greater, a), _mm_andnot_si128(greater, b))) }",
    ),
    (
        "select_less",
        "{ let less = _mm_cmplt_ps(a, b); _mm_or_ps(_mm_and_ps(less, c), _mm_andnot_ps(less, d)) }",
    ),
    (
        "flush",
        "_mm_andnot_ps(_mm_cmplt_ps(_mm_andnot_ps(_mm_set1_ps(-0.0), a), \
         _mm_set1_ps(super::FLUSH_LIMIT)), a)",
    ),
    (
        "dot_quads",
        "{ let zero = _mm_setzero_si128(); let (a_sign, b_sign) = (_mm_cmpgt_epi8(zero, a), \
         _mm_cmpgt_epi8(zero, b)); let low = _mm_madd_epi16(_mm_unpacklo_epi8(a, a_sign), \
         _mm_unpacklo_epi8(b, b_sign)); let high = _mm_madd_epi16(_mm_unpackhi_epi8(a, a_sign), \
         _mm_unpackhi_epi8(b, b_sign)); let (low, high) = (_mm_castsi128_ps(low), \
         _mm_castsi128_ps(high)); let sums = \
         _mm_add_epi32(_mm_castps_si128(_mm_shuffle_ps::<0x88>(low, high)), \
         _mm_castps_si128(_mm_shuffle_ps::<0xdd>(low, high))); _mm_add_epi32(c, sums) }",
    ),
];

/// Rust: operations of four lanes of AVX2 with FMA. Dot products of bytes move the signs of
/// elements to the weights: no weight is -128.
const ON_4: &[(&str, &str)] = &[
    ("from_halves", "_mm_cvtph_ps(_mm_loadl_epi64(a.as_ptr().cast()))"),
    ("from_bytes", "_mm_cvtepi32_ps(_mm_cvtepi8_epi32(_mm_loadu_si32(a.as_ptr().cast())))"),
    ("from_pairs", "_mm_castsi128_ps(_mm_cvtepi8_epi16(_mm_loadl_epi64(a.as_ptr().cast())))"),
    ("mul_add", "_mm_fmadd_ps(a, b, c)"),
    (
        "max_magnitude",
        "_mm_castsi128_ps(_mm_max_epi32(_mm_castps_si128(_mm_andnot_ps(_mm_set1_ps(-0.0), a)), \
         _mm_castps_si128(b)))",
    ),
    ("select_less", "_mm_blendv_ps(d, c, _mm_cmplt_ps(a, b))"),
    (
        "flush",
        "_mm_andnot_ps(_mm_cmplt_ps(_mm_andnot_ps(_mm_set1_ps(-0.0), a), \
         _mm_set1_ps(super::FLUSH_LIMIT)), a)",
    ),
    (
        "dot_quads",
        "_mm_add_epi32(c, _mm_madd_epi16(_mm_maddubs_epi16(_mm_abs_epi8(b), _mm_sign_epi8(a, b)), \
         _mm_set1_epi16(1)))",
    ),
];

/// Rust: operations of 256 bits.
const BITS_256: &[(&str, &str)] = &[
    ("from_lanes", "_mm256_loadu_ps(a.as_ptr())"),
    ("to_lanes", "_mm256_storeu_ps(b.as_mut_ptr(), a)"),
    ("all", "_mm256_set1_ps(a)"),
    ("add", "_mm256_add_ps(a, b)"),
    ("sub", "_mm256_sub_ps(a, b)"),
    ("mul", "_mm256_mul_ps(a, b)"),
    ("div", "_mm256_div_ps(a, b)"),
    ("max", "_mm256_max_ps(a, b)"),
    ("min", "_mm256_min_ps(a, b)"),
    ("to_bits", "_mm256_castps_si256(a)"),
    ("from_bits", "_mm256_castsi256_ps(a)"),
    ("from_signed", "_mm256_cvtepi32_ps(a)"),
    ("all_bits", "_mm256_set1_epi32(a as i32)"),
    ("bits_and", "_mm256_and_ps(a, b)"),
    ("bits_or", "_mm256_or_ps(a, b)"),
    ("bits_xor", "_mm256_xor_ps(a, b)"),
    ("bits_to_exponent", "_mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_castps_si256(a)))"),
    ("and", "_mm256_and_si256(a, b)"),
    ("or", "_mm256_or_si256(a, b)"),
    ("xor", "_mm256_xor_si256(a, b)"),
    ("shift_left", "_mm256_sll_epi32(a, _mm_cvtsi32_si128(b as i32))"),
    ("shift_right", "_mm256_srl_epi32(a, _mm_cvtsi32_si128(b as i32))"),
    ("wrapping_add", "_mm256_add_epi32(a, b)"),
    ("wrapping_sub", "_mm256_sub_epi32(a, b)"),
    ("dot_pairs", "_mm256_add_epi32(c, _mm256_madd_epi16(a, b))"),
];

/// Rust: operations of eight lanes.
const ON_8: &[(&str, &str)] = &[
    ("from_halves", "_mm256_cvtph_ps(_mm_loadu_si128(a.as_ptr().cast()))"),
    ("from_bytes", "_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(a.as_ptr().cast())))"),
    ("from_pairs", "_mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm_loadu_si128(a.as_ptr().cast())))"),
    ("mul_add", "_mm256_fmadd_ps(a, b, c)"),
    (
        "max_magnitude",
        "_mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(_mm256_andnot_ps(_mm256_set1_ps(-0.0), a)), _mm256_castps_si256(b)))",
    ),
    ("select_less", "_mm256_blendv_ps(d, c, _mm256_cmp_ps::<{ _CMP_LT_OQ }>(a, b))"),
    (
        "flush",
        "_mm256_andnot_ps(_mm256_cmp_ps::<{ _CMP_LT_OQ }>(_mm256_andnot_ps(_mm256_set1_ps(-0.0), \
         a), _mm256_set1_ps(super::FLUSH_LIMIT)), a)",
    ),
    (
        "dot_quads",
        "_mm256_add_epi32(c, _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(b), \
         _mm256_sign_epi8(a, b)), _mm256_set1_epi16(1)))",
    ),
];

/// Rust: operations of 512 bits.
const BITS_512: &[(&str, &str)] = &[
    ("from_lanes", "_mm512_loadu_ps(a.as_ptr())"),
    ("to_lanes", "_mm512_storeu_ps(b.as_mut_ptr(), a)"),
    ("all", "_mm512_set1_ps(a)"),
    ("add", "_mm512_add_ps(a, b)"),
    ("sub", "_mm512_sub_ps(a, b)"),
    ("mul", "_mm512_mul_ps(a, b)"),
    ("div", "_mm512_div_ps(a, b)"),
    ("max", "_mm512_max_ps(a, b)"),
    ("min", "_mm512_min_ps(a, b)"),
    ("to_bits", "_mm512_castps_si512(a)"),
    ("from_bits", "_mm512_castsi512_ps(a)"),
    ("from_signed", "_mm512_cvtepi32_ps(a)"),
    ("all_bits", "_mm512_set1_epi32(a as i32)"),
    ("bits_and", "_mm512_and_ps(a, b)"),
    ("bits_or", "_mm512_or_ps(a, b)"),
    ("bits_xor", "_mm512_xor_ps(a, b)"),
    ("bits_to_exponent", "_mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_castps_si512(a)))"),
    ("and", "_mm512_and_si512(a, b)"),
    ("or", "_mm512_or_si512(a, b)"),
    ("xor", "_mm512_xor_si512(a, b)"),
    ("shift_left", "_mm512_sll_epi32(a, _mm_cvtsi32_si128(b as i32))"),
    ("shift_right", "_mm512_srl_epi32(a, _mm_cvtsi32_si128(b as i32))"),
    ("wrapping_add", "_mm512_add_epi32(a, b)"),
    ("wrapping_sub", "_mm512_sub_epi32(a, b)"),
    ("dot_pairs", "_mm512_add_epi32(c, _mm512_madd_epi16(a, b))"),
];

/// Rust: operations of sixteen lanes.
const ON_16: &[(&str, &str)] = &[
    ("from_halves", "_mm512_cvtph_ps(_mm256_loadu_si256(a.as_ptr().cast()))"),
    ("from_bytes", "_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(a.as_ptr().cast())))"),
    (
        "from_pairs",
        "_mm512_castsi512_ps(_mm512_cvtepi8_epi16(_mm256_loadu_si256(a.as_ptr().cast())))",
    ),
    ("mul_add", "_mm512_fmadd_ps(a, b, c)"),
    (
        "max_magnitude",
        "_mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(_mm512_abs_ps(a)), \
         _mm512_castps_si512(b)))",
    ),
    ("select_less", "_mm512_mask_blend_ps(_mm512_cmp_ps_mask::<{ _CMP_LT_OQ }>(a, b), d, c)"),
    (
        "flush",
        "_mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<{ _CMP_NLT_UQ }>(_mm512_abs_ps(a), \
         _mm512_set1_ps(super::FLUSH_LIMIT)), a)",
    ),
    (
        "dot_quads",
        "_mm512_add_epi32(c, _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_abs_epi8(b), \
         _mm512_mask_sub_epi8(a, _mm512_cmplt_epi8_mask(b, _mm512_setzero_si512()), \
         _mm512_setzero_si512(), a)), _mm512_set1_epi16(1)))",
    ),
];

/// Rust: dot products of four lanes in AVX-512 VNNI.
const VNNI_4: &[(&str, &str)] = &[
    ("dot_pairs", "_mm_dpwssd_epi32(c, a, b)"),
    ("dot_unsigned_quads", "_mm_dpbusd_epi32(c, b, a)"),
];

/// Rust: dot products of eight lanes in AVX-512 VNNI.
const VNNI_8: &[(&str, &str)] = &[
    ("dot_pairs", "_mm256_dpwssd_epi32(c, a, b)"),
    ("dot_unsigned_quads", "_mm256_dpbusd_epi32(c, b, a)"),
];

/// Rust: dot products of sixteen lanes in AVX-512 VNNI.
const VNNI_16: &[(&str, &str)] = &[
    ("dot_pairs", "_mm512_dpwssd_epi32(c, a, b)"),
    ("dot_unsigned_quads", "_mm512_dpbusd_epi32(c, b, a)"),
];

/// Rust: dot products of four lanes in AVX-VNNI.
const AVX_VNNI_4: &[(&str, &str)] = &[
    ("dot_pairs", "_mm_dpwssd_avx_epi32(c, a, b)"),
    ("dot_unsigned_quads", "_mm_dpbusd_avx_epi32(c, b, a)"),
];

/// Rust: dot products of eight lanes in AVX-VNNI.
const AVX_VNNI_8: &[(&str, &str)] = &[
    ("dot_pairs", "_mm256_dpwssd_avx_epi32(c, a, b)"),
    ("dot_unsigned_quads", "_mm256_dpbusd_avx_epi32(c, b, a)"),
];

/// Rust: SSE2, available on every x86-64. For bodies shared with other machines.
pub(in crate::arch) static SSE2: [RustVector; 1] = [RustVector {
    lanes: 4,
    processor: "x86_64",
    condition: "target_arch = \"x86_64\"",
    register: "__m128",
    integers: "__m128i",
    operations: &[ON_SSE2, BITS_128],
    helpers: &[("from_halves", "half_to_f32")],
}];

/// Rust: a register of `lanes` lanes, for bodies for x86-64 only.
const fn register(
    lanes: usize,
    operations: &'static [&'static [(&'static str, &'static str)]],
) -> RustVector {
    let (register, integers) = match lanes {
        4 => ("__m128", "__m128i"),
        8 => ("__m256", "__m256i"),
        _ => ("__m512", "__m512i"),
    };
    RustVector {
        lanes,
        processor: "x86_64",
        condition: "",
        register,
        integers,
        operations,
        helpers: &[],
    }
}

/// Rust: AVX2 with FMA.
pub(in crate::arch) static RUST_AVX2: [RustVector; 2] =
    [register(8, &[ON_8, BITS_256]), register(4, &[ON_4, BITS_128])];

/// Rust: AVX-512.
pub(in crate::arch) static RUST_AVX512: [RustVector; 3] = [
    register(16, &[ON_16, BITS_512]),
    register(8, &[ON_8, BITS_256]),
    register(4, &[ON_4, BITS_128]),
];

/// Rust: AVX2 with AVX-VNNI.
pub(in crate::arch) static RUST_AVX_VNNI: [RustVector; 2] =
    [register(8, &[AVX_VNNI_8, ON_8, BITS_256]), register(4, &[AVX_VNNI_4, ON_4, BITS_128])];

/// Rust: AVX-512 with AVX-512 VNNI.
pub(in crate::arch) static RUST_AVX512_VNNI: [RustVector; 3] = [
    register(16, &[VNNI_16, ON_16, BITS_512]),
    register(8, &[VNNI_8, ON_8, BITS_256]),
    register(4, &[VNNI_4, ON_4, BITS_128]),
];
