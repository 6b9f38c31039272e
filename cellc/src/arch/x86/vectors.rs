//! How C and Rust spell x86 vectors: intrinsics, which gcc and clang read alike.

use super::super::{CVector, RustSums};

/// Sixteen lanes; AVX-512.
const LANES_16: CVector = CVector {
    lanes: 16,
    load: "_mm512_loadu_ps({0})",
    load_constant: "",
    load_f16: "_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)({0})))",
    load_i8: "_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)({0}))))",
    store: "_mm512_storeu_ps({0}, {1})",
    splat: "_mm512_set1_ps({0})",
    mul_add: "_mm512_fmadd_ps({0}, {1}, {2})",
    mul_add_one: "",
    add: "",
    sub: "",
    mul: "",
    div: "",
    max: "_mm512_max_ps({0}, {1})",
    min: "_mm512_min_ps({0}, {1})",
    max_magnitude: "_mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(_mm512_abs_ps({0})), _mm512_castps_si512({1})))",
    select_less: "_mm512_mask_blend_ps(_mm512_cmp_ps_mask({0}, {1}, _CMP_LT_OQ), {3}, {2})",
    flush: "_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(_mm512_abs_ps({0}), _mm512_set1_ps({1}), _CMP_NLT_UQ), {0})",
    load_i8_pairs: "_mm512_castsi512_ps(_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)({0}))))",
    from_signed: "_mm512_cvtepi32_ps((__m512i){0})",
    dot_pairs: "_mm512_add_epi32((__m512i){2}, _mm512_madd_epi16((__m512i){0}, (__m512i){1}))",
    // the signs of elements go over to the weights, none of which is -128
    dot_quads: "_mm512_add_epi32((__m512i){2}, _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_abs_epi8((__m512i){1}), _mm512_mask_sub_epi8((__m512i){0}, _mm512_movepi8_mask((__m512i){1}), _mm512_setzero_si512(), (__m512i){0})), _mm512_set1_epi16(1)))",
    sums: "",
};

/// Eight lanes; AVX and FMA.
const LANES_8: CVector = CVector {
    lanes: 8,
    load: "_mm256_loadu_ps({0})",
    load_constant: "",
    load_f16: "_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)({0})))",
    load_i8: "_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)({0}))))",
    store: "_mm256_storeu_ps({0}, {1})",
    splat: "_mm256_set1_ps({0})",
    mul_add: "_mm256_fmadd_ps({0}, {1}, {2})",
    mul_add_one: "",
    add: "",
    sub: "",
    mul: "",
    div: "",
    max: "_mm256_max_ps({0}, {1})",
    min: "_mm256_min_ps({0}, {1})",
    max_magnitude: "_mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), {0})), _mm256_castps_si256({1})))",
    select_less: "_mm256_blendv_ps({3}, {2}, _mm256_cmp_ps({0}, {1}, _CMP_LT_OQ))",
    flush: "_mm256_andnot_ps(\n        _mm256_cmp_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), {0}), _mm256_set1_ps({1}), _CMP_LT_OQ),\n        {0}\n    )",
    load_i8_pairs: "_mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)({0}))))",
    from_signed: "_mm256_cvtepi32_ps((__m256i){0})",
    dot_pairs: "_mm256_add_epi32((__m256i){2}, _mm256_madd_epi16((__m256i){0}, (__m256i){1}))",
    dot_quads: "_mm256_add_epi32((__m256i){2}, _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8((__m256i){1}), _mm256_sign_epi8((__m256i){0}, (__m256i){1})), _mm256_set1_epi16(1)))",
    sums: "",
};

/// Four lanes; AVX and FMA.
const LANES_4: CVector = CVector {
    lanes: 4,
    load: "_mm_loadu_ps({0})",
    load_constant: "",
    load_f16: "_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)({0})))",
    load_i8: "_mm_cvtepi32_ps(_mm_cvtepi8_epi32(_mm_loadu_si32({0})))",
    store: "_mm_storeu_ps({0}, {1})",
    splat: "_mm_set1_ps({0})",
    mul_add: "_mm_fmadd_ps({0}, {1}, {2})",
    mul_add_one: "",
    add: "",
    sub: "",
    mul: "",
    div: "",
    max: "_mm_max_ps({0}, {1})",
    min: "_mm_min_ps({0}, {1})",
    max_magnitude: "_mm_castsi128_ps(_mm_max_epi32(_mm_castps_si128(_mm_andnot_ps(_mm_set1_ps(-0.0f), {0})), _mm_castps_si128({1})))",
    select_less: "_mm_blendv_ps({3}, {2}, _mm_cmplt_ps({0}, {1}))",
    flush: "_mm_andnot_ps(_mm_cmplt_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), {0}), _mm_set1_ps({1})), {0})",
    load_i8_pairs: "_mm_castsi128_ps(_mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)({0}))))",
    from_signed: "_mm_cvtepi32_ps((__m128i){0})",
    dot_pairs: "_mm_add_epi32((__m128i){2}, _mm_madd_epi16((__m128i){0}, (__m128i){1}))",
    dot_quads: "_mm_add_epi32((__m128i){2}, _mm_madd_epi16(_mm_maddubs_epi16(_mm_abs_epi8((__m128i){1}), _mm_sign_epi8((__m128i){0}, (__m128i){1})), _mm_set1_epi16(1)))",
    sums: "",
};

/// AVX2 with FMA.
pub(in crate::arch) static AVX2: [CVector; 2] = [LANES_8, LANES_4];

/// AVX-512.
pub(in crate::arch) static AVX512: [CVector; 3] = [LANES_16, LANES_8, LANES_4];

/// AVX2 with AVX-VNNI.
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

/// AVX-512 with its VNNI.
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

/// Rust, by lanes.
const SUMS: [RustSums; 3] = [
    RustSums {
        lanes: 16,
        begin: "sums_16",
        dot_pairs: "dot_pairs_16",
        dot_quads: "dot_quads_16",
        add: "add_sums_16",
        load: "pairs_of_bytes_16",
        from_signed: "from_signed_16",
    },
    RustSums {
        lanes: 8,
        begin: "sums_8",
        dot_pairs: "dot_pairs_8",
        dot_quads: "dot_quads_8",
        add: "add_sums_8",
        load: "pairs_of_bytes_8",
        from_signed: "from_signed_8",
    },
    RustSums {
        lanes: 4,
        begin: "sums_4",
        dot_pairs: "dot_pairs_4",
        dot_quads: "dot_quads_4",
        add: "add_sums_4",
        load: "pairs_of_bytes_4",
        from_signed: "from_signed_4",
    },
];

/// AVX2.
pub(in crate::arch) static AVX2_SUMS: [RustSums; 2] = [SUMS[1], SUMS[2]];

/// AVX-512.
pub(in crate::arch) static AVX512_SUMS: [RustSums; 3] = SUMS;
