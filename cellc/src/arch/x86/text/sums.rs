//: pairs_of_bytes_16
/// 16 consecutive pairs of weights of 8 bits from index `at` on, as 16 bits each in the halves of the bits. LLVM makes one load of it.
#[attribute]
fn pairs_of_bytes_16<const N: usize>(from: &[[u8; 2]; N], at: usize) -> [f32; 16] {
    let Some(from) = from.get(at..).and_then(|from| from.first_chunk::<16>()) else { return [0.0; 16] };
    let all = core::arch::x86_64::_mm512_cvtepi8_epi16(core::arch::x86_64::_mm256_set_epi16(i16::from_le_bytes(from[15]), i16::from_le_bytes(from[14]),
        i16::from_le_bytes(from[13]), i16::from_le_bytes(from[12]), i16::from_le_bytes(from[11]), i16::from_le_bytes(from[10]),
        i16::from_le_bytes(from[9]), i16::from_le_bytes(from[8]), i16::from_le_bytes(from[7]), i16::from_le_bytes(from[6]),
        i16::from_le_bytes(from[5]), i16::from_le_bytes(from[4]), i16::from_le_bytes(from[3]), i16::from_le_bytes(from[2]),
        i16::from_le_bytes(from[1]), i16::from_le_bytes(from[0])));
    let [first, second, third, fourth] = [core::arch::x86_64::_mm512_extracti32x4_epi32::<0>(all), core::arch::x86_64::_mm512_extracti32x4_epi32::<1>(all),
        core::arch::x86_64::_mm512_extracti32x4_epi32::<2>(all), core::arch::x86_64::_mm512_extracti32x4_epi32::<3>(all)];
    [
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(first) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(first) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(first) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(first) as u32),
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(second) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(second) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(second) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(second) as u32),
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(third) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(third) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(third) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(third) as u32),
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(fourth) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(fourth) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(fourth) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(fourth) as u32),
    ]
}

//: pairs_of_bytes_8
/// 8 consecutive pairs of weights of 8 bits from index `at` on, as 16 bits each in the halves of the bits. LLVM makes one load of it.
#[attribute]
fn pairs_of_bytes_8<const N: usize>(from: &[[u8; 2]; N], at: usize) -> [f32; 8] {
    let Some(from) = from.get(at..).and_then(|from| from.first_chunk::<8>()) else { return [0.0; 8] };
    let all = core::arch::x86_64::_mm256_cvtepi8_epi16(core::arch::x86_64::_mm_set_epi16(i16::from_le_bytes(from[7]), i16::from_le_bytes(from[6]),
        i16::from_le_bytes(from[5]),
        i16::from_le_bytes(from[4]), i16::from_le_bytes(from[3]), i16::from_le_bytes(from[2]), i16::from_le_bytes(from[1]),
        i16::from_le_bytes(from[0])));
    let [first, second] = [core::arch::x86_64::_mm256_extracti128_si256::<0>(all), core::arch::x86_64::_mm256_extracti128_si256::<1>(all)];
    [
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(first) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(first) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(first) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(first) as u32),
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(second) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(second) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(second) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(second) as u32),
    ]
}

//: pairs_of_bytes_4
/// 4 consecutive pairs of weights of 8 bits from index `at` on, as 16 bits each in the halves of the bits. LLVM makes one load of it.
#[attribute]
fn pairs_of_bytes_4<const N: usize>(from: &[[u8; 2]; N], at: usize) -> [f32; 4] {
    let Some(from) = from.get(at..).and_then(|from| from.first_chunk::<4>()) else { return [0.0; 4] };
    let all = core::arch::x86_64::_mm_cvtepi8_epi16(core::arch::x86_64::_mm_set_epi16(0, 0, 0, 0, i16::from_le_bytes(from[3]), i16::from_le_bytes(from[2]),
        i16::from_le_bytes(from[1]), i16::from_le_bytes(from[0])));
    [
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(all) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(all) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(all) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(all) as u32),
    ]
}

//: add_sums_16
/// The sum of two, wrapping.
#[attribute]
fn add_sums_16(a: core::arch::x86_64::__m512i, b: core::arch::x86_64::__m512i) -> core::arch::x86_64::__m512i {
    core::arch::x86_64::_mm512_add_epi32(a, b)
}

//: from_signed_16
/// The numbers in two's complement, rounded to f32.
#[attribute]
fn from_signed_16(sum: core::arch::x86_64::__m512i) -> [f32; 16] {
    let all = core::arch::x86_64::_mm512_castps_si512(core::arch::x86_64::_mm512_cvtepi32_ps(sum));
    let [first, second, third, fourth] = [core::arch::x86_64::_mm512_extracti32x4_epi32::<0>(all), core::arch::x86_64::_mm512_extracti32x4_epi32::<1>(all),
        core::arch::x86_64::_mm512_extracti32x4_epi32::<2>(all), core::arch::x86_64::_mm512_extracti32x4_epi32::<3>(all)];
    [
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(first) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(first) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(first) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(first) as u32),
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(second) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(second) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(second) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(second) as u32),
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(third) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(third) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(third) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(third) as u32),
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(fourth) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(fourth) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(fourth) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(fourth) as u32),
    ]
}

//: add_sums_8
/// The sum of two, wrapping.
#[attribute]
fn add_sums_8(a: core::arch::x86_64::__m256i, b: core::arch::x86_64::__m256i) -> core::arch::x86_64::__m256i {
    core::arch::x86_64::_mm256_add_epi32(a, b)
}

//: from_signed_8
/// The numbers in two's complement, rounded to f32.
#[attribute]
fn from_signed_8(sum: core::arch::x86_64::__m256i) -> [f32; 8] {
    let all = core::arch::x86_64::_mm256_castps_si256(core::arch::x86_64::_mm256_cvtepi32_ps(sum));
    let [first, second] = [core::arch::x86_64::_mm256_extracti128_si256::<0>(all), core::arch::x86_64::_mm256_extracti128_si256::<1>(all)];
    [
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(first) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(first) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(first) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(first) as u32),
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(second) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(second) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(second) as u32),
                f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(second) as u32),
    ]
}

//: add_sums_4
/// The sum of two, wrapping.
#[attribute]
fn add_sums_4(a: core::arch::x86_64::__m128i, b: core::arch::x86_64::__m128i) -> core::arch::x86_64::__m128i {
    core::arch::x86_64::_mm_add_epi32(a, b)
}

//: from_signed_4
/// The numbers in two's complement, rounded to f32.
#[attribute]
fn from_signed_4(sum: core::arch::x86_64::__m128i) -> [f32; 4] {
    let all = core::arch::x86_64::_mm_castps_si128(core::arch::x86_64::_mm_cvtepi32_ps(sum));
    [
        f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<0>(all) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<1>(all) as u32),
            f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<2>(all) as u32), f32::from_bits(core::arch::x86_64::_mm_extract_epi32::<3>(all) as u32),
    ]
}

//: sums_16
/// The lanes as a vector, at no cost. Sums are one, as LLVM would take their lanes apart from one row to the next.
#[attribute]
fn sums_16(a: [u32; 16]) -> core::arch::x86_64::__m512i {
    core::arch::x86_64::_mm512_set_epi32(a[15] as i32, a[14] as i32, a[13] as i32, a[12] as i32, a[11] as i32, a[10] as i32, a[9] as i32, a[8] as i32,
        a[7] as i32, a[6] as i32, a[5] as i32, a[4] as i32, a[3] as i32, a[2] as i32, a[1] as i32, a[0] as i32)
}

//: sums_8
/// The lanes as a vector, at no cost. Sums are one, as LLVM would take their lanes apart from one row to the next.
#[attribute]
fn sums_8(a: [u32; 8]) -> core::arch::x86_64::__m256i {
    core::arch::x86_64::_mm256_set_epi32(a[7] as i32, a[6] as i32, a[5] as i32, a[4] as i32, a[3] as i32, a[2] as i32, a[1] as i32, a[0] as i32)
}

//: sums_4
/// The lanes as a vector, at no cost. Sums are one, as LLVM would take their lanes apart from one row to the next.
#[attribute]
fn sums_4(a: [u32; 4]) -> core::arch::x86_64::__m128i {
    core::arch::x86_64::_mm_set_epi32(a[3] as i32, a[2] as i32, a[1] as i32, a[0] as i32)
}
