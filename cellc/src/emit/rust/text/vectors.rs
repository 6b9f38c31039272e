//: length_i32
/// Length `AT`, clamped to 0 and `most`.
#[inline]
fn length_i32<const AT: usize, const N: usize>(from: &[i32; N], most: u32) -> u32 {
    let [length] = *part_of::<AT, 1, _, N>(from);
    (length.max(0) as u32).min(most)
}

//: length_i64
/// Length `AT`, clamped to 0 and `most`.
#[inline]
fn length_i64<const AT: usize, const N: usize>(from: &[i64; N], most: u32) -> u32 {
    let [length] = *part_of::<AT, 1, _, N>(from);
    length.max(0).min(i64::from(most)) as u32
}

//: length_bool
/// 1 where element `AT` is true, else 0; at most `most`.
#[inline]
fn length_bool<const AT: usize, const N: usize>(from: &[bool; N], most: u32) -> u32 {
    let [truth] = *part_of::<AT, 1, _, N>(from);
    u32::from(truth).min(most)
}

//: above_i32
/// How far element `AT` is above `least`, at most `most`.
#[inline]
fn above_i32<const AT: usize, const N: usize>(from: &[i32; N], least: i32, most: u32) -> u32 {
    let [number] = *part_of::<AT, 1, _, N>(from);
    number.max(least).abs_diff(least).min(most)
}

//: above_i64
/// How far element `AT` is above `least`, at most `most`.
#[inline]
fn above_i64<const AT: usize, const N: usize>(from: &[i64; N], least: i32, most: u32) -> u32 {
    let least = i64::from(least);
    let [number] = *part_of::<AT, 1, _, N>(from);
    number.max(least).abs_diff(least).min(u64::from(most)) as u32
}

//: length_u32
/// Length `AT`, at most `most`.
#[inline]
fn length_u32<const AT: usize, const N: usize>(from: &[u32; N], most: u32) -> u32 {
    let [length] = *part_of::<AT, 1, _, N>(from);
    length.min(most)
}

//: copy
/// Copies `L` consecutive elements.
#[inline]
fn copy<const L: usize, const LAST: usize, const LAST_FROM: usize, const N: usize, const M: usize>(
    to: &mut [f32; N],
    at: usize,
    from: &[f32; M],
    start: usize,
) {
    *part_from_mut::<LAST, L, _, N>(to, at) = *part_from::<LAST_FROM, L, _, M>(from, start);
}

//: low_bytes
/// Words of the low bytes of four neighbours each.
#[inline(always)]
fn low_bytes<const W: usize, const N: usize>(to: &mut [f32; W], from: &[f32; N]) {
    const { assert!(4 * W == N) };
    let low = |number: f32| number.to_bits() & 255;
    for (to, four) in to.iter_mut().pairs(from.chunks_exact(4)) {
        if let [a, b, c, d] = *four {
            *to = f32::from_bits(low(a) | low(b) << 8 | low(c) << 16 | low(d) << 24);
        }
    }
}

//: add_elements
/// Adds `L` consecutive elements.
#[inline]
fn add_elements<const L: usize, const LAST: usize, const LAST_FROM: usize, const N: usize, const M: usize>(
    to: &mut [f32; N],
    at: usize,
    from: &[f32; M],
    start: usize,
) {
    let from = part_from::<LAST_FROM, L, _, M>(from, start);
    for (to, from) in part_from_mut::<LAST, L, _, N>(to, at).iter_mut().pairs(from) {
        *to += *from;
    }
}

//: copy_one
/// Copies one element to `L` consecutive ones.
#[inline]
fn copy_one<const L: usize, const LAST: usize, const LAST_FROM: usize, const N: usize, const M: usize>(
    to: &mut [f32; N],
    at: usize,
    from: &[f32; M],
    start: usize,
) {
    let [x] = *part_from::<LAST_FROM, 1, _, M>(from, start);
    *part_from_mut::<LAST, L, _, N>(to, at) = [x; L];
}

//: part_of
/// `LEN` elements from element `AT` on: a part that is not inside does not compile.
#[inline(always)]
fn part_of<const AT: usize, const LEN: usize, T, const N: usize>(of: &[T; N]) -> &[T; LEN] {
    const { assert!(AT + LEN <= N) };
    // SAFETY: the elements are inside, as asserted
    unsafe { &*of.as_ptr().add(AT).cast() }
}

//: part_of_mut
/// `LEN` elements from element `AT` on: a part that is not inside does not compile.
#[inline(always)]
fn part_of_mut<const AT: usize, const LEN: usize, T, const N: usize>(of: &mut [T; N]) -> &mut [T; LEN] {
    const { assert!(AT + LEN <= N) };
    // SAFETY: the elements are inside, as asserted
    unsafe { &mut *of.as_mut_ptr().add(AT).cast() }
}

//: part_from
/// `LEN` elements from element `at` on, which is at most `LAST`: if the last part is not inside, this does not compile.
#[inline(always)]
fn part_from<const LAST: usize, const LEN: usize, T, const N: usize>(of: &[T; N], at: usize) -> &[T; LEN] {
    const { assert!(LAST + LEN <= N) };
    assert!(at <= LAST);
    // SAFETY: the elements are inside, as asserted
    unsafe { &*of.as_ptr().add(at).cast() }
}

//: groups
/// `COUNT` arrays of `LEN` elements from element `FIRST` on: what is outside does not compile.
#[inline(always)]
fn groups<const FIRST: usize, const LEN: usize, const COUNT: usize, T, const N: usize>(of: &[T; N]) -> &[[T; LEN]; COUNT] {
    const { assert!(FIRST + LEN * COUNT <= N) };
    // SAFETY: the elements are inside, as asserted
    unsafe { &*of.as_ptr().add(FIRST).cast() }
}

//: blocks
/// The sums of `R` rows for each count: as many blocks of weights, each times the elements of its input. No input is above the last one, which LLVM cannot prove: `min` changes no input, but spares a panic.
#[inline(always)]
fn blocks<const R: usize, const B: usize, const E: usize, const N: usize, I: Copy + Into<usize>, F: Fn(&mut [u32; R], &[f32; B], &[f32; E])>(
    to: core::slice::IterMut<'_, [f32; R]>,
    weights: core::slice::Iter<'_, [f32; B]>,
    elements: &[[f32; E]; N],
    (counts, inputs): (&[I], &[I]),
    add: F,
) {
    let mut blocks = weights.zip(inputs);
    for (to, count) in to.zip(counts) {
        let mut sums = [0; R];
        for (block, input) in blocks.by_ref().take((*count).into()) {
            let at: usize = (*input).into();
            add(&mut sums, block, &elements[at.min(N - 1)]);
        }
        *to = sums.map(f32::from_bits);
    }
}

//: blocks_quads
/// The sums of rows of blocks of four bytes of weights.
#[inline(never)]
fn blocks_quads<const R: usize, const N: usize, I: Copy + Into<usize>>(
    to: core::slice::IterMut<'_, [f32; R]>,
    weights: core::slice::Iter<'_, [f32; R]>,
    elements: &[[f32; 1]; N],
    index: (&[I], &[I]),
) {
    blocks(to, weights, elements, index, |sums, block, [x]| {
        for (sum, weight) in sums.iter_mut().zip(block) {
            *sum = dot_quads_lane(weight.to_bits(), x.to_bits(), *sum);
        }
    });
}

//: blocks_widened_quads
/// The sums of rows of blocks of four bytes of weights, times elements of 16 bits: those of the even bytes, then those of the odd bytes.
#[inline(never)]
fn blocks_widened_quads<const R: usize, const N: usize, I: Copy + Into<usize>>(
    to: core::slice::IterMut<'_, [f32; R]>,
    weights: core::slice::Iter<'_, [f32; R]>,
    elements: &[[f32; 2]; N],
    index: (&[I], &[I]),
) {
    blocks(to, weights, elements, index, |sums, block, [even, odd]| {
        for (sum, weight) in sums.iter_mut().zip(block) {
            let weight = weight.to_bits();
            *sum = dot_odd_bytes_lane(weight, odd.to_bits(), dot_even_bytes_lane(weight, even.to_bits(), *sum));
        }
    });
}

//: blocks_pairs
/// The sums of rows of blocks of two words of 16-bit weights: the first words of all rows, then the second ones.
#[inline(never)]
fn blocks_pairs<const R: usize, const B: usize, const N: usize, I: Copy + Into<usize>>(
    to: core::slice::IterMut<'_, [f32; R]>,
    weights: core::slice::Iter<'_, [f32; B]>,
    elements: &[[f32; 2]; N],
    index: (&[I], &[I]),
) {
    blocks(to, weights, elements, index, |sums, block, words| {
        for (row, x) in block.chunks_exact(R).zip(words) {
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum = dot_pairs_lane(weight.to_bits(), x.to_bits(), *sum);
            }
        }
    });
}

//: chunks
/// `COUNT` arrays of `LEN` elements from element `FIRST` on: what is outside does not compile.
#[inline(always)]
fn chunks<const FIRST: usize, const LEN: usize, const COUNT: usize, T, const N: usize>(of: &[T; N]) -> core::slice::Iter<'_, [T; LEN]> {
    const { assert!(FIRST + LEN * COUNT <= N) };
    // SAFETY: the elements are inside, as asserted
    let all: &[[T; LEN]; COUNT] = unsafe { &*of.as_ptr().add(FIRST).cast() };
    all.iter()
}

//: windows
/// `COUNT` arrays of `LEN` elements, `STEP` apart, from element `FIRST` on: if they are not inside, this does not compile.
#[inline(always)]
fn windows<const FIRST: usize, const STEP: usize, const LEN: usize, const COUNT: usize, T, const N: usize>(
    of: &[T; N],
) -> impl DoubleEndedIterator<Item = &[T; LEN]> + ExactSizeIterator {
    const { assert!(FIRST + STEP * (COUNT - 1) + LEN <= N) };
    // SAFETY: the elements are inside, as asserted
    (0..COUNT).map(move |at| unsafe { &*of.as_ptr().add(FIRST + STEP * at).cast() })
}

//: hidden_chunks
/// The number `COUNT`, which LLVM does not know: it would unroll a loop of so many turns, and spread it over what follows, or compute sums in more registers than there are.
#[derive(Clone, Copy)]
struct Hidden<const COUNT: usize>(usize);
impl<const COUNT: usize> Hidden<COUNT> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Hidden(core::hint::black_box(COUNT))
    }
}
/// As [`chunks`], in a loop that LLVM does not unroll.
#[inline(always)]
fn hidden_chunks<const FIRST: usize, const LEN: usize, const COUNT: usize, T, const N: usize>(of: &[T; N], count: Hidden<COUNT>) -> core::slice::Iter<'_, [T; LEN]> {
    let all = chunks::<FIRST, LEN, COUNT, T, N>(of).as_slice();
    // SAFETY: `count` is `COUNT`, the length of `all`: a black box returns what it is given
    unsafe { core::slice::from_raw_parts(all.as_ptr(), count.0) }.iter()
}

//: part_from_mut
/// `LEN` elements from element `at` on, which is at most `LAST`: if the last part is not inside, this does not compile.
#[inline(always)]
fn part_from_mut<const LAST: usize, const LEN: usize, T, const N: usize>(of: &mut [T; N], at: usize) -> &mut [T; LEN] {
    const { assert!(LAST + LEN <= N) };
    assert!(at <= LAST);
    // SAFETY: the elements are inside, as asserted
    unsafe { &mut *of.as_mut_ptr().add(at).cast() }
}

//: chunks_mut
/// `COUNT` arrays of `LEN` elements from element `FIRST` on: what is outside does not compile.
#[inline(always)]
fn chunks_mut<const FIRST: usize, const LEN: usize, const COUNT: usize, T, const N: usize>(of: &mut [T; N]) -> core::slice::IterMut<'_, [T; LEN]> {
    const { assert!(FIRST + LEN * COUNT <= N) };
    // SAFETY: the elements are inside, as asserted
    let all: &mut [[T; LEN]; COUNT] = unsafe { &mut *of.as_mut_ptr().add(FIRST).cast() };
    all.iter_mut()
}

//: windows_mut
/// `COUNT` arrays of `LEN` elements, `STEP` apart, from element `FIRST` on, none of which may overlap: if they are not inside, this does not compile.
#[inline(always)]
fn windows_mut<const FIRST: usize, const STEP: usize, const LEN: usize, const COUNT: usize, T, const N: usize>(
    of: &mut [T; N],
) -> impl DoubleEndedIterator<Item = &mut [T; LEN]> + ExactSizeIterator {
    const { assert!(STEP >= LEN && FIRST + STEP * (COUNT - 1) + LEN <= N) };
    let start = of.as_mut_ptr();
    // SAFETY: the elements are inside, and no parts overlap, as asserted
    let part = move |at| unsafe { &mut *start.add(FIRST + STEP * at).cast() };
    (0..COUNT).map(part)
}

//: cut
/// Skips `SKIP` elements and cuts the next `LEN` off, so that `REST` are left: if these are not all, this does not compile.
#[inline(always)]
fn cut<const SKIP: usize, const LEN: usize, const REST: usize, T, const N: usize>(
    of: &mut [T; N],
) -> (&mut [T; LEN], &mut [T; REST]) {
    const { assert!(SKIP + LEN + REST == N) };
    let start = of.as_mut_ptr();
    // SAFETY: both parts are inside, and one ends where the other begins, as asserted
    unsafe { (&mut *start.add(SKIP).cast(), &mut *start.add(SKIP + LEN).cast()) }
}

//: flattened
/// The elements of arrays as one array: another number of elements does not compile.
#[inline(always)]
fn flattened<T, const I: usize, const L: usize, const N: usize>(rows: &[[T; I]; L]) -> &[T; N] {
    const { assert!(I * L == N) };
    // SAFETY: the elements of nested arrays stand one after the other, as many as asserted
    unsafe { &*rows.as_ptr().cast() }
}

//: Aligned
/// Memory on a boundary of ALIGNMENT bytes.
#[repr(C, align(ALIGNMENT))]
struct Aligned<T>(pub(super) T);

//: turn_by_turn
/// Does nothing, but LLVM does not know that. Otherwise it may vectorise the loop again, with gathers, or delay stores; both are slower.
#[inline]
fn turn_by_turn() {
    core::hint::black_box(());
}

//: opaque
/// The vector itself, but LLVM does not know that. Otherwise it may take sums apart into numbers, and make vectors of them at every turn.
#[inline(always)]
fn opaque<V: Copy>(sum: V) -> V {
    core::hint::black_box(sum)
}

//: written
/// Does nothing, but LLVM does not know that: it then reads the elements from memory, instead of taking them from vectors that it has stored, by several shuffles for each.
#[inline(always)]
fn written<T>(elements: &mut T) {
    core::hint::black_box(elements);
}

//: kept
/// The sums themselves, in memory while a loop adds up others. Otherwise LLVM may keep some of
/// them in registers, and store sums of the loop at every turn.
#[inline(always)]
fn kept<S: Copy>(sums: S) -> S {
    core::hint::black_box(sums)
}

//: elsewhere
/// The same array, but LLVM does not know that. Otherwise it makes overlapping vectors of each other by shuffles, instead of reading them.
#[inline(always)]
fn elsewhere<T>(array: &T) -> &T {
    core::hint::black_box(array)
}

//: half_to_f32
/// The value of IEEE 754 binary16.
#[inline(always)]
fn half_to_f32(half: u16) -> f32 {
    let bits = (u32::from(half) & 0x7fff) << 13;
    let small = f32::from_bits(bits + 0x3880_0000) - f32::from_bits(0x3880_0000);
    let other = f32::from_bits(bits + 0x3800_0000);
    let value = if small < other { small } else { other };
    f32::from_bits(value.to_bits() | (u32::from(half) & 0x8000) << 16)
}

//: greater
/// The greater one; `b` if either is NaN.
fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

//: smaller
/// The smaller one; `b` if either is NaN.
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

//: select_less
/// `c` where `a < b`, else `d`.
fn select_less(a: f32, b: f32, c: f32, d: f32) -> f32 {
    if a < b { c } else { d }
}

//: flush
/// `a`, or 0 if its magnitude is below 2^-100.
fn flush(a: f32) -> f32 {
    if a.abs() < FLUSH_LIMIT { 0.0 } else { a }
}

//: dot_odd_bytes_lane
/// Adds the products of the bytes 1 and 3 of a with the halves of b, each with a sign.
#[inline]
fn dot_odd_bytes_lane(a: u32, b: u32, sum: u32) -> u32 {
    dot_even_bytes_lane(a >> 8, b, sum)
}

//: dot_even_bytes_lane
/// Adds the products of the bytes 0 and 2 of a with the halves of b, each with a sign.
#[inline]
fn dot_even_bytes_lane(a: u32, b: u32, sum: u32) -> u32 {
    let product = |at: u32| ((a >> at) as i8 as i32).wrapping_mul((b >> at) as i16 as i32) as u32;
    sum.wrapping_add(product(0)).wrapping_add(product(16))
}

//: dot_pairs_lane
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign.
#[inline]
fn dot_pairs_lane(a: u32, b: u32, sum: u32) -> u32 {
    let low = (a as i16 as i32).wrapping_mul(b as i16 as i32);
    let high = (a as i32 >> 16).wrapping_mul(b as i32 >> 16);
    sum.wrapping_add(low as u32).wrapping_add(high as u32)
}

//: dot_quads_lane
/// Adds the products of the bytes of a with those of b, each with a sign.
#[inline]
fn dot_quads_lane(a: u32, b: u32, sum: u32) -> u32 {
    let product = |at: u32| ((a >> at) as i8 as i32).wrapping_mul((b >> at) as i8 as i32) as u32;
    sum.wrapping_add(product(0)).wrapping_add(product(8)).wrapping_add(product(16)).wrapping_add(product(24))
}

//: dot_unsigned_quads_lane
/// Adds the products of the bytes of a, with a sign, with those of b, without one.
#[inline]
fn dot_unsigned_quads_lane(a: u32, b: u32, sum: u32) -> u32 {
    // LLVM 22 makes vectors of two such sums, and of their bytes those that have a sign and those that have none alike
    let a = core::hint::black_box(a);
    let product = |at: u32| ((a >> at) as i8 as i32).wrapping_mul((b >> at) as u8 as i32) as u32;
    sum.wrapping_add(product(0)).wrapping_add(product(8)).wrapping_add(product(16)).wrapping_add(product(24))
}

//: mul_add_in_software
/// a * b + c, rounded once: the product is exact in 64 bits, and the sum is rounded to one whose last bit is 1, so that it is right once it is
/// rounded again.
fn mul_add_in_software(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    let bits = sum.to_bits();
    if bits % 2 == 1 || !(error < 0.0 || error > 0.0) {
        return sum as f32;
    }
    let away_from_zero = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away_from_zero { bits.wrapping_add(1) } else { bits.wrapping_sub(1) }) as f32
}

//: Pairs
/// Pairs of what two iterators give. The standard library's `zip` is not always inlined.
trait Pairs: Iterator + Sized {
    #[inline]
    fn pairs<B: IntoIterator>(self, other: B) -> Paired<Self, B::IntoIter> {
        Paired { one: self, other: other.into_iter() }
    }
}
impl<A: Iterator> Pairs for A {}
struct Paired<A, B> {
    one: A,
    other: B,
}
impl<A: Iterator, B: Iterator> Iterator for Paired<A, B> {
    type Item = (A::Item, B::Item);
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match (self.one.next(), self.other.next()) {
            (Some(one), Some(other)) => Some((one, other)),
            _ => None,
        }
    }
}
