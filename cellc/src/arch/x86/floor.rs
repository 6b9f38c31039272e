//! The loops that measure a floor, in intrinsics: the compiler does not choose the vectors.

use super::super::floor::Loops;
use super::super::{GENERIC, Isa};
use super::{AVX_VNNI, AVX2, AVX512, AVX512_VNNI};

/// The loops of an instruction set. `None` if this machine lacks the instruction set, and for AMX
/// and code of one lane.
pub(in crate::arch) fn loops(isa: &Isa) -> Option<Loops> {
    if *isa == GENERIC {
        Some(sse2::LOOPS)
    } else if *isa == AVX2 && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        Some(avx2::LOOPS)
    } else if *isa == AVX512 && is_x86_feature_detected!("avx512f") {
        Some(avx512::LOOPS)
    } else if *isa == AVX_VNNI && is_x86_feature_detected!("avxvnni") {
        loops(&AVX2)
    } else if *isa == AVX512_VNNI && is_x86_feature_detected!("avx512vnni") {
        loops(&AVX512)
    } else {
        None
    }
}

macro_rules! vectors {
    (
        $module:ident, $features:literal, lanes $lanes:literal,
        integers $ints:ident, $zero:ident, $load:ident, $store:ident, $or:ident, $add:ident,
        floats $floats:ident, $splat:ident, $mul_add:expr,
    ) => {
        #[allow(unsafe_code, reason = "vectors at pointers, and functions of an instruction set")]
        mod $module {
            use std::arch::x86_64::*;
            use std::hint::black_box;
            use std::mem::transmute;

            use crate::arch::floor::{CHAINS, Line, Loops};

            // unsafe: `loops` returns these functions only if the machine has the features
            pub(super) const LOOPS: Loops = Loops {
                stream: |weights, out| unsafe { stream(weights, out) },
                arithmetic: |multiply_adds, out| unsafe { arithmetic(multiply_adds, out) },
            };

            #[target_feature(enable = $features)]
            fn stream(weights: &[f32], out: &mut Line<u32>) {
                let mut combined = [$zero(); 8];
                let (chunks, rest) = weights.as_chunks::<{ 8 * $lanes }>();
                for chunk in chunks {
                    for (i, combined) in combined.iter_mut().enumerate() {
                        // unsafe: a chunk is eight vectors long
                        *combined =
                            $or(*combined, unsafe { $load(chunk.as_ptr().add(i * $lanes).cast()) });
                    }
                }
                let (vectors, rest) = rest.as_chunks::<$lanes>();
                for vector in vectors {
                    // unsafe: the chunk is one vector long
                    combined[0] = $or(combined[0], unsafe { $load(vector.as_ptr().cast()) });
                }
                let [a, b, c, d, e, f, g, h] = combined;
                let reduced = $or($or($or(a, b), $or(c, d)), $or($or(e, f), $or(g, h)));
                // unsafe: a line is as long as the widest vector
                unsafe { $store(out.0.as_mut_ptr().cast(), reduced) };
                let mut last = 0;
                for w in rest {
                    last |= w.to_bits();
                }
                out.0[0] |= last;
            }

            #[target_feature(enable = $features)]
            fn arithmetic(multiply_adds: usize, out: &mut Line<u32>) {
                let (half, one) = ($splat(black_box(0.5)), $splat(black_box(1.0)));
                let mut chains = [one; CHAINS];
                let vectors = multiply_adds.div_ceil($lanes);
                for _ in 0..vectors / CHAINS {
                    for chain in &mut chains {
                        *chain = $mul_add(*chain, half, one);
                    }
                }
                // constant length: a variable index would keep the chains in memory
                for (i, chain) in chains.iter_mut().enumerate() {
                    if i < vectors % CHAINS {
                        *chain = $mul_add(*chain, half, one);
                    }
                }
                // no closure: a closure would be a function without the features
                let mut sum = $zero();
                for chain in chains {
                    // unsafe: both types have the same size, and all bits are valid
                    sum = $add(sum, unsafe { transmute::<$floats, $ints>(chain) });
                }
                // unsafe: a line is as long as the widest vector
                unsafe { $store(out.0.as_mut_ptr().cast(), sum) };
            }
        }
    };
}

// the baseline has no fused multiply-add: kernels execute an addition and a multiplication
vectors!(
    sse2, "sse2", lanes 4,
    integers __m128i, _mm_setzero_si128, _mm_load_si128, _mm_store_si128, _mm_or_si128, _mm_add_epi32,
    floats __m128, _mm_set1_ps, |a, b, c| _mm_add_ps(_mm_mul_ps(a, b), c),
);
vectors!(
    avx2, "avx2,fma", lanes 8,
    integers __m256i, _mm256_setzero_si256, _mm256_load_si256, _mm256_store_si256, _mm256_or_si256, _mm256_add_epi32,
    floats __m256, _mm256_set1_ps, _mm256_fmadd_ps,
);
vectors!(
    avx512, "avx512f", lanes 16,
    integers __m512i, _mm512_setzero_si512, _mm512_load_si512, _mm512_store_si512, _mm512_or_si512, _mm512_add_epi32,
    floats __m512, _mm512_set1_ps, _mm512_fmadd_ps,
);
