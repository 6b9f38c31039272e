//: store_i32
/// Sets element `AT` to a whole number; NaN is 0.
#[inline]
fn store_i32<const AT: usize, const N: usize>(to: &mut [i32; N], F32x1(value): F32x1) {
    *part_of_mut::<AT, 1, _, N>(to) = [value as i32];
}

//: store_i64
/// Sets element `AT` to a whole number; NaN is 0.
#[inline]
fn store_i64<const AT: usize, const N: usize>(to: &mut [i64; N], F32x1(value): F32x1) {
    *part_of_mut::<AT, 1, _, N>(to) = [value as i64];
}

//: store_bool
/// Sets element `AT`, which is true where the number is not 0.
#[inline]
fn store_bool<const AT: usize, const N: usize>(to: &mut [bool; N], F32x1(value): F32x1) {
    *part_of_mut::<AT, 1, _, N>(to) = [value != 0.0];
}

//: strided
/// A row of weights: the number of each, and the weight. The last one is number `LAST` of all, which LLVM cannot prove: `min` changes no place, but spares a panic.
#[inline]
fn strided<const LAST: usize, const N: usize>(
    from: &[f32; N],
    start: usize,
    stride: usize,
) -> impl Fn(usize) -> f32 + '_ {
    move |k| part_from::<LAST, 1, _, N>(from, (start + k * stride).min(LAST))[0]
}

//: pack_words
/// Packs a row of whole numbers, `P` in each word. `A` words are neighbours, and such groups lie `step` apart. The last word is number `LAST` of all, which LLVM cannot prove: `min` changes no place, but spares a panic.
fn pack_words<const P: usize, const A: usize, const LAST: usize, const N: usize, F: Fn(usize) -> f32>(
    to: &mut [f32; N],
    at: usize,
    step: usize,
    row: Row,
    count: usize,
    weight: &F,
) {
    for k in 0..count.div_ceil(P) {
        let word = row_word(row, P, count, weight, k);
        *part_from_mut::<LAST, 1, _, N>(to, (at + k / A * step + k % A).min(LAST)) = [f32::from_bits(word)];
    }
}

//: pack_pairs
/// Packs a row of whole numbers, two bytes in each element. `A` elements are neighbours, and such groups lie `step` apart. The last element is number `LAST` of all, which LLVM cannot prove: `min` changes no place, but spares a panic.
fn pack_pairs<const A: usize, const LAST: usize, const N: usize, F: Fn(usize) -> f32>(
    to: &mut [[u8; 2]; N],
    at: usize,
    step: usize,
    row: Row,
    count: usize,
    weight: &F,
) {
    for k in 0..count.div_ceil(2) {
        let word = row_word(row, 2, count, weight, k);
        *part_from_mut::<LAST, 1, _, N>(to, (at + k / A * step + k % A).min(LAST)) = [[word as u8, (word >> 16) as u8]];
    }
}

//: pack_words_apart
/// Packs a row of whole numbers, two in each word, such words `step` apart. Of each four words from a multiple of four on, the first halves stand in front of the second ones. The last four begin at `LAST`, which LLVM cannot prove: `min` changes no place, but spares a panic.
fn pack_words_apart<const LAST: usize, const N: usize, F: Fn(usize) -> f32>(
    to: &mut [f32; N],
    at: usize,
    step: usize,
    row: Row,
    count: usize,
    weight: &F,
) {
    let column = at % 4;
    for k in 0..count.div_ceil(2) {
        let word = row_word(row, 2, count, weight, k);
        let four = part_from_mut::<LAST, 4, _, N>(to, (at - column + k * step).min(LAST));
        for (half, to) in [word & 0xffff, word >> 16].into_iter().zip(four.iter_mut().skip(column / 2).step_by(2)) {
            *to = f32::from_bits(if column % 2 == 0 { half } else { to.to_bits() & 0xffff | half << 16 });
        }
    }
}

//: pack_pairs_apart
/// Packs a row of whole numbers of a byte, two in each element, such elements `step` apart. Of each four elements from a multiple of four on, the first bytes stand in front of the second ones. The last four begin at `LAST`, which LLVM cannot prove: `min` changes no place, but spares a panic.
fn pack_pairs_apart<const LAST: usize, const N: usize, F: Fn(usize) -> f32>(
    to: &mut [[u8; 2]; N],
    at: usize,
    step: usize,
    row: Row,
    count: usize,
    weight: &F,
) {
    let column = at % 4;
    for k in 0..count.div_ceil(2) {
        let word = row_word(row, 2, count, weight, k);
        let four = part_from_mut::<LAST, 4, _, N>(to, (at - column + k * step).min(LAST));
        let pairs = four.iter_mut().skip(column / 2).step_by(2);
        for (byte, pair) in [word as u8, (word >> 16) as u8].into_iter().zip(pairs) {
            *pair = if column % 2 == 0 { [byte, 0] } else { [pair[0], byte] };
        }
    }
}

//: pack_scale
/// Packs what the whole numbers of a row are multiplied by.
fn pack_scale<const LAST: usize, const N: usize>(to: &mut [f32; N], at: usize, row: Row) {
    *part_from_mut::<LAST, 1, _, N>(to, at.min(LAST)) = [row.scale];
}

//: pack_start
/// Packs what the sums of a row begin at.
fn pack_start<const LAST: usize, const N: usize, F: Fn(usize) -> f32>(
    to: &mut [f32; N],
    at: usize,
    row: Row,
    count: usize,
    weight: &F,
) {
    *part_from_mut::<LAST, 1, _, N>(to, at.min(LAST)) = [f32::from_bits(row_start(row, count, weight))];
}
