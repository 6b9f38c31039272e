//: Aligned
#[repr(C, align(ALIGNMENT))]
struct Aligned<T>(T);

//: load
/// `L` consecutive elements from index `at` on.
#[inline]
fn load<const L: usize, const N: usize>(from: &[f32; N], at: usize) -> [f32; L] {
    match from.get(at..).and_then(|from| from.first_chunk()) {
        Some(lanes) => *lanes,
        None => [0.0; L],
    }
}

//: turn_by_turn
/// Does nothing, but LLVM does not know that. Otherwise it may vectorise the loop again, with gathers, or delay stores; both are
/// slower.
#[inline]
fn turn_by_turn() {
    core::hint::black_box(());
}

//: each
/// Applies a function to every lane.
#[inline]
fn each<const L: usize>(mut x: [f32; L], function: impl Fn(f32) -> f32) -> [f32; L] {
    for x in x.iter_mut() {
        *x = function(*x);
    }
    x
}

//: weights
/// `L` consecutive weights from index `at` on.
#[inline]
fn weights<const L: usize, const N: usize>(from: &[[u8; 4]; N], at: usize) -> [f32; L] {
    let mut lanes = [0.0; L];
    if let Some(from) = from.get(at..).and_then(|from| from.first_chunk::<L>()) {
        for (lane, from) in lanes.iter_mut().pairs(from) {
            *lane = f32::from_le_bytes(*from);
        }
    }
    lanes
}

//: halves
/// `L` consecutive weights of 16 bits from index `at` on.
#[inline]
#[attribute]
fn halves<const L: usize, const N: usize>(from: &[[u8; 2]; N], at: usize) -> [f32; L] {
    let mut lanes = [0.0; L];
    if let Some(from) = from.get(at..).and_then(|from| from.first_chunk::<L>()) {
        for (lane, from) in lanes.iter_mut().pairs(from) {
            *lane = half_lane(u16::from_le_bytes(*from));
        }
    }
    lanes
}

//: half_lane
/// The value of IEEE 754 binary16. LLVM widens it to all lanes.
#[inline]
#[attribute]
fn half_lane(half: u16) -> f32 {
    let bits = (u32::from(half) & 0x7fff) << 13;
    let small = f32::from_bits(bits + 0x3880_0000) - f32::from_bits(0x3880_0000);
    let other = f32::from_bits(bits + 0x3800_0000);
    let value = if small < other { small } else { other };
    f32::from_bits(value.to_bits() | (u32::from(half) & 0x8000) << 16)
}

//: half_lane_intrinsic
/// The value of IEEE 754 binary16. LLVM widens it to all lanes.
#[inline]
#[attribute]
fn half_lane(half: u16) -> f32 {
    HALF
}

//: small_integers
/// `L` consecutive weights of 8 bits from index `at` on.
#[inline]
fn small_integers<const L: usize, const N: usize>(from: &[[u8; 1]; N], at: usize) -> [f32; L] {
    let mut lanes = [0.0; L];
    if let Some(from) = from.get(at..).and_then(|from| from.first_chunk::<L>()) {
        for (lane, from) in lanes.iter_mut().pairs(from) {
            *lane = f32::from(i8::from_le_bytes(*from));
        }
    }
    lanes
}

//: pairs_of_bytes
/// `L` consecutive pairs of weights of 8 bits from index `at` on, as 16 bits each in the halves of the bits.
#[inline]
fn pairs_of_bytes<const L: usize, const N: usize>(from: &[[u8; 2]; N], at: usize) -> [f32; L] {
    let mut lanes = [0.0; L];
    if let Some(from) = from.get(at..).and_then(|from| from.first_chunk::<L>()) {
        for (lane, [low, high]) in lanes.iter_mut().pairs(from) {
            let [low, high] = [*low as i8 as i16 as u16, *high as i8 as i16 as u16];
            *lane = f32::from_bits(low as u32 | (high as u32) << 16);
        }
    }
    lanes
}

//: splat
/// Element `at` in every lane.
#[inline]
fn splat<const L: usize, const N: usize>(from: &[f32; N], at: usize) -> [f32; L] {
    [from.get(at).copied().unwrap_or(0.0); L]
}

//: splat_weight
/// Weight `at` in every lane.
#[inline]
fn splat_weight<const L: usize, const N: usize>(from: &[[u8; 4]; N], at: usize) -> [f32; L] {
    [f32::from_le_bytes(from.get(at).copied().unwrap_or([0; 4])); L]
}

//: store
/// Writes the lanes to consecutive elements from index `at` on.
#[inline]
fn store<const L: usize, const N: usize>(to: &mut [f32; N], at: usize, lanes: [f32; L]) {
    if let Some(to) = to.get_mut(at..).and_then(|to| to.first_chunk_mut()) {
        *to = lanes;
    }
}

//: mul_add
/// a * b + c, rounded once.
#[inline]
#[attribute]
fn mul_add<const L: usize>(a: [f32; L], b: [f32; L], mut c: [f32; L]) -> [f32; L] {
    for ((a, b), c) in a.iter().pairs(&b).pairs(c.iter_mut()) {
        *c = mul_add_lane(*a, *b, *c);
    }
    c
}

//: mul_add_lane
/// a * b + c, rounded once. LLVM widens it to all lanes.
#[inline]
#[attribute]
fn mul_add_lane(a: f32, b: f32, c: f32) -> f32 {
    INTRINSIC
}

//: mul_add_lane_where_fused
/// a * b + c, rounded once. LLVM widens it to all lanes.
#[cfg(IS_FUSED)]
#[inline]
#[attribute]
fn mul_add_lane(a: f32, b: f32, c: f32) -> f32 {
    INTRINSIC
}
/// a * b + c, rounded twice. LLVM widens it to all lanes.
#[cfg(not(IS_FUSED))]
#[inline]
#[attribute]
fn mul_add_lane(a: f32, b: f32, c: f32) -> f32 {
    a * b + c
}

//: mul_add_lane_or_in_software
/// a * b + c, rounded once.
#[cfg(IS_SPELLED)]
#[inline]
#[attribute]
fn mul_add_lane(a: f32, b: f32, c: f32) -> f32 {
    INTRINSIC
}
/// a * b + c, rounded once, on other machines: the product is exact in 64 bits, and the sum is rounded to one whose last bit is 1, so that it
/// is right once it is rounded again.
#[cfg(not(IS_SPELLED))]
#[attribute]
fn mul_add_lane(a: f32, b: f32, c: f32) -> f32 {
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

//: add
/// a + b in every lane.
#[inline]
fn add<const L: usize>(mut a: [f32; L], b: [f32; L]) -> [f32; L] {
    for (a, b) in a.iter_mut().pairs(&b) {
        *a += *b;
    }
    a
}

//: sub
/// a - b in every lane.
#[inline]
fn sub<const L: usize>(mut a: [f32; L], b: [f32; L]) -> [f32; L] {
    for (a, b) in a.iter_mut().pairs(&b) {
        *a -= *b;
    }
    a
}

//: mul
/// a * b in every lane.
#[inline]
fn mul<const L: usize>(mut a: [f32; L], b: [f32; L]) -> [f32; L] {
    for (a, b) in a.iter_mut().pairs(&b) {
        *a *= *b;
    }
    a
}

//: div
/// a / b in every lane.
#[inline]
fn div<const L: usize>(mut a: [f32; L], b: [f32; L]) -> [f32; L] {
    for (a, b) in a.iter_mut().pairs(&b) {
        *a /= *b;
    }
    a
}

//: max
/// The greater one; b if either is NaN.
#[inline]
fn max<const L: usize>(a: [f32; L], mut b: [f32; L]) -> [f32; L] {
    for (a, b) in a.iter().pairs(b.iter_mut()) {
        *b = max_lane(*a, *b);
    }
    b
}

//: max_lane
/// The greater one; b if either is NaN.
#[inline]
fn max_lane(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

//: min
/// The smaller one; b if either is NaN.
#[inline]
fn min<const L: usize>(a: [f32; L], mut b: [f32; L]) -> [f32; L] {
    for (a, b) in a.iter().pairs(b.iter_mut()) {
        *b = min_lane(*a, *b);
    }
    b
}

//: min_lane
/// The smaller one; b if either is NaN.
#[inline]
fn min_lane(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

//: max_magnitude
/// |a| or b, whose bits are the greater number: NaN is greater than infinity.
#[inline]
fn max_magnitude<const L: usize>(a: [f32; L], mut b: [f32; L]) -> [f32; L] {
    for (a, b) in a.iter().pairs(b.iter_mut()) {
        *b = max_magnitude_lane(*a, *b);
    }
    b
}

//: max_magnitude_lane
/// |a| or b, whose bits are the greater number: NaN is greater than infinity.
#[inline]
fn max_magnitude_lane(a: f32, b: f32) -> f32 {
    let magnitude = a.to_bits() & 0x7fff_ffff;
    if magnitude > b.to_bits() { f32::from_bits(magnitude) } else { b }
}

//: select_less
/// c if a < b, else d.
#[inline]
fn select_less<const L: usize>(a: [f32; L], b: [f32; L], c: [f32; L], mut d: [f32; L]) -> [f32; L] {
    for (((a, b), c), d) in a.iter().pairs(&b).pairs(&c).pairs(d.iter_mut()) {
        if *a < *b {
            *d = *c;
        }
    }
    d
}

//: to_bits
/// The bits of every lane.
#[inline]
fn to_bits<const L: usize>(a: [f32; L]) -> [u32; L] {
    let mut bits = [0; L];
    for (bits, a) in bits.iter_mut().pairs(&a) {
        *bits = a.to_bits();
    }
    bits
}

//: from_bits
/// The values with the bits of every lane.
#[inline]
fn from_bits<const L: usize>(bits: [u32; L]) -> [f32; L] {
    let mut a = [0.0; L];
    for (a, bits) in a.iter_mut().pairs(&bits) {
        *a = f32::from_bits(*bits);
    }
    a
}

//: flush
/// a, or 0 if its magnitude is below 2^-100.
#[inline]
fn flush<const L: usize>(mut a: [f32; L]) -> [f32; L] {
    for a in a.iter_mut() {
        if a.abs() < FLUSH_BELOW {
            *a = 0.0;
        }
    }
    a
}

//: from_signed
/// The numbers in two's complement, rounded to f32.
#[inline]
fn from_signed<const L: usize>(bits: [u32; L]) -> [f32; L] {
    let mut a = [0.0; L];
    for (a, bits) in a.iter_mut().pairs(&bits) {
        *a = *bits as i32 as f32;
    }
    a
}

//: wrapping_add
/// a + b.
#[inline]
fn wrapping_add<const L: usize>(mut a: [u32; L], b: [u32; L]) -> [u32; L] {
    for (a, b) in a.iter_mut().pairs(&b) {
        *a = a.wrapping_add(*b);
    }
    a
}

//: dot_pairs
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign.
#[inline]
fn dot_pairs<const L: usize>(a: [u32; L], b: [u32; L], mut sum: [u32; L]) -> [u32; L] {
    for ((sum, a), b) in sum.iter_mut().pairs(&a).pairs(&b) {
        *sum = dot_pairs_lane(*a, *b, *sum);
    }
    sum
}

//: dot_pairs_lane
/// Adds the products of the halves of a with those of b: 16 bits each, with a sign.
#[inline]
fn dot_pairs_lane(a: u32, b: u32, sum: u32) -> u32 {
    let low = (a as i16 as i32).wrapping_mul(b as i16 as i32);
    let high = (a as i32 >> 16).wrapping_mul(b as i32 >> 16);
    sum.wrapping_add(low as u32).wrapping_add(high as u32)
}

//: dot_quads
/// Adds the products of the bytes of a with those of b, each with a sign.
#[inline]
fn dot_quads<const L: usize>(a: [u32; L], b: [u32; L], mut sum: [u32; L]) -> [u32; L] {
    for ((sum, a), b) in sum.iter_mut().pairs(&a).pairs(&b) {
        *sum = dot_quads_lane(*a, *b, *sum);
    }
    sum
}

//: dot_quads_lane
/// Adds the products of the bytes of a with those of b, each with a sign.
#[inline]
fn dot_quads_lane(a: u32, b: u32, sum: u32) -> u32 {
    let product = |at: u32| ((a >> at) as i8 as i32).wrapping_mul((b >> at) as i8 as i32) as u32;
    sum.wrapping_add(product(0)).wrapping_add(product(8)).wrapping_add(product(16)).wrapping_add(product(24))
}

//: dot_unsigned_quads
/// Adds the products of the bytes of a, with a sign, with those of b, without one.
#[inline]
fn dot_unsigned_quads<const L: usize>(a: [u32; L], b: [u32; L], mut sum: [u32; L]) -> [u32; L] {
    for ((sum, a), b) in sum.iter_mut().pairs(&a).pairs(&b) {
        *sum = dot_unsigned_quads_lane(*a, *b, *sum);
    }
    sum
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

//: dot_even_bytes
/// Adds the products of the bytes 0 and 2 of a with the halves of b, each with a sign.
#[inline]
fn dot_even_bytes<const L: usize>(a: [u32; L], b: [u32; L], mut sum: [u32; L]) -> [u32; L] {
    for ((sum, a), b) in sum.iter_mut().pairs(&a).pairs(&b) {
        *sum = dot_even_bytes_lane(*a, *b, *sum);
    }
    sum
}

//: dot_even_bytes_lane
/// Adds the products of the bytes 0 and 2 of a with the halves of b, each with a sign.
#[inline]
fn dot_even_bytes_lane(a: u32, b: u32, sum: u32) -> u32 {
    let product = |at: u32| ((a >> at) as i8 as i32).wrapping_mul((b >> at) as i16 as i32) as u32;
    sum.wrapping_add(product(0)).wrapping_add(product(16))
}

//: dot_odd_bytes
/// Adds the products of the bytes 1 and 3 of a with the halves of b, each with a sign.
#[inline]
fn dot_odd_bytes<const L: usize>(a: [u32; L], b: [u32; L], mut sum: [u32; L]) -> [u32; L] {
    for ((sum, a), b) in sum.iter_mut().pairs(&a).pairs(&b) {
        *sum = dot_odd_bytes_lane(*a, *b, *sum);
    }
    sum
}

//: dot_odd_bytes_lane
/// Adds the products of the bytes 1 and 3 of a with the halves of b, each with a sign.
#[inline]
fn dot_odd_bytes_lane(a: u32, b: u32, sum: u32) -> u32 {
    dot_even_bytes_lane(a >> 8, b, sum)
}

//: and
/// a & b in every lane.
#[inline]
fn and<const L: usize>(mut a: [u32; L], b: [u32; L]) -> [u32; L] {
    for (a, b) in a.iter_mut().pairs(&b) {
        *a &= *b;
    }
    a
}

//: or
/// a | b in every lane.
#[inline]
fn or<const L: usize>(mut a: [u32; L], b: [u32; L]) -> [u32; L] {
    for (a, b) in a.iter_mut().pairs(&b) {
        *a |= *b;
    }
    a
}

//: xor
/// a ^ b in every lane.
#[inline]
fn xor<const L: usize>(mut a: [u32; L], b: [u32; L]) -> [u32; L] {
    for (a, b) in a.iter_mut().pairs(&b) {
        *a ^= *b;
    }
    a
}

//: shift_left
/// The bits of every lane, shifted left.
#[inline]
fn shift_left<const L: usize>(mut a: [u32; L], by: u32) -> [u32; L] {
    for a in a.iter_mut() {
        *a <<= by;
    }
    a
}

//: to_bits_of_one
/// The bits of the one lane.
#[inline]
fn to_bits_of_one([a]: [f32; 1]) -> u32 {
    a.to_bits()
}

//: length_i32
/// Length `at`, clamped to 0 and `most`.
#[inline]
fn length_i32<const N: usize>(from: &[i32; N], at: usize, most: u32) -> u32 {
    match from.get(at) {
        Some(length) => ((*length).max(0) as u32).min(most),
        None => 0,
    }
}

//: length_i64
/// Length `at`, clamped to 0 and `most`.
#[inline]
fn length_i64<const N: usize>(from: &[i64; N], at: usize, most: u32) -> u32 {
    match from.get(at) {
        Some(length) => (*length).max(0).min(i64::from(most)) as u32,
        None => 0,
    }
}

//: length_bool
/// 1 where element `at` is true, else 0; at most `most`.
#[inline]
fn length_bool<const N: usize>(from: &[bool; N], at: usize, most: u32) -> u32 {
    match from.get(at) {
        Some(truth) => u32::from(*truth).min(most),
        None => 0,
    }
}

//: above_i32
/// How far element `at` is above `least`, at most `most`.
#[inline]
fn above_i32<const N: usize>(from: &[i32; N], at: usize, least: i32, most: u32) -> u32 {
    match from.get(at) {
        Some(number) => ((*number).max(least).abs_diff(least)).min(most),
        None => 0,
    }
}

//: above_i64
/// How far element `at` is above `least`, at most `most`.
#[inline]
fn above_i64<const N: usize>(from: &[i64; N], at: usize, least: i32, most: u32) -> u32 {
    let least = i64::from(least);
    match from.get(at) {
        Some(number) => (*number).max(least).abs_diff(least).min(u64::from(most)) as u32,
        None => 0,
    }
}

//: store_i32
/// Sets element `at` to a whole number; NaN is 0.
#[inline]
fn store_i32<const N: usize>(to: &mut [i32; N], at: usize, [value]: [f32; 1]) {
    if let Some(to) = to.get_mut(at) {
        *to = value as i32;
    }
}

//: store_i64
/// Sets element `at` to a whole number; NaN is 0.
#[inline]
fn store_i64<const N: usize>(to: &mut [i64; N], at: usize, [value]: [f32; 1]) {
    if let Some(to) = to.get_mut(at) {
        *to = value as i64;
    }
}

//: store_bool
/// Sets element `at`, which is true where the number is not 0.
#[inline]
fn store_bool<const N: usize>(to: &mut [bool; N], at: usize, [value]: [f32; 1]) {
    if let Some(to) = to.get_mut(at) {
        *to = value != 0.0;
    }
}

//: length_u32
/// Length `at`, at most `most`.
#[inline]
fn length_u32<const N: usize>(from: &[u32; N], at: usize, most: u32) -> u32 {
    match from.get(at) {
        Some(length) => (*length).min(most),
        None => 0,
    }
}

//: copy
/// Copies `L` consecutive elements.
#[inline]
fn copy<const L: usize, const N: usize, const M: usize>(to: &mut [f32; N], at: usize, from: &[f32; M], start: usize) {
    let from = from.get(start..).and_then(|from| from.first_chunk::<L>());
    let to = to.get_mut(at..).and_then(|to| to.first_chunk_mut::<L>());
    if let (Some(to), Some(from)) = (to, from) {
        *to = *from;
    }
}

//: add_elements
/// Adds `L` consecutive elements.
#[inline]
fn add_elements<const L: usize, const N: usize, const M: usize>(
    to: &mut [f32; N],
    at: usize,
    from: &[f32; M],
    start: usize,
) {
    let from = from.get(start..).and_then(|from| from.first_chunk::<L>());
    let to = to.get_mut(at..).and_then(|to| to.first_chunk_mut::<L>());
    if let (Some(to), Some(from)) = (to, from) {
        for (to, from) in to.iter_mut().pairs(from) {
            *to += *from;
        }
    }
}

//: copy_one
/// Copies one element to `L` consecutive ones.
#[inline]
fn copy_one<const L: usize, const N: usize, const M: usize>(
    to: &mut [f32; N],
    at: usize,
    from: &[f32; M],
    start: usize,
) {
    let to = to.get_mut(at..).and_then(|to| to.first_chunk_mut::<L>());
    if let (Some(to), Some(from)) = (to, from.get(start)) {
        *to = [*from; L];
    }
}

//: copy_weights
/// Copies `L` consecutive weights.
#[inline]
fn copy_weights<const L: usize, const N: usize, const M: usize>(
    to: &mut [f32; N],
    at: usize,
    from: &[[u8; 4]; M],
    start: usize,
) {
    let from = from.get(start..).and_then(|from| from.first_chunk::<L>());
    let to = to.get_mut(at..).and_then(|to| to.first_chunk_mut::<L>());
    if let (Some(to), Some(from)) = (to, from) {
        for (to, from) in to.iter_mut().pairs(from) {
            *to = f32::from_le_bytes(*from);
        }
    }
}

//: add_weights
/// Adds `L` consecutive weights.
#[inline]
fn add_weights<const L: usize, const N: usize, const M: usize>(
    to: &mut [f32; N],
    at: usize,
    from: &[[u8; 4]; M],
    start: usize,
) {
    let from = from.get(start..).and_then(|from| from.first_chunk::<L>());
    let to = to.get_mut(at..).and_then(|to| to.first_chunk_mut::<L>());
    if let (Some(to), Some(from)) = (to, from) {
        for (to, from) in to.iter_mut().pairs(from) {
            *to += f32::from_le_bytes(*from);
        }
    }
}

//: copy_weight
/// Copies one weight to `L` consecutive elements.
#[inline]
fn copy_weight<const L: usize, const N: usize, const M: usize>(
    to: &mut [f32; N],
    at: usize,
    from: &[[u8; 4]; M],
    start: usize,
) {
    let to = to.get_mut(at..).and_then(|to| to.first_chunk_mut::<L>());
    if let (Some(to), Some(from)) = (to, from.get(start)) {
        *to = [f32::from_le_bytes(*from); L];
    }
}

//: strided
/// A row of weights: the number of each, and the weight.
#[inline]
fn strided<const N: usize>(from: &[f32; N], start: usize, stride: usize) -> impl Fn(usize) -> f32 + '_ {
    move |k| match from.get(start + k * stride) {
        Some(weight) => *weight,
        None => 0.0,
    }
}

//: strided_weights
/// A row of weights: the number of each, and the weight.
#[inline]
fn strided_weights<const N: usize>(from: &[[u8; 4]; N], start: usize, stride: usize) -> impl Fn(usize) -> f32 + '_ {
    move |k| match from.get(start + k * stride) {
        Some(weight) => f32::from_le_bytes(*weight),
        None => 0.0,
    }
}

//: pack_words
/// Packs a row of whole numbers, `P` in each word. `A` words are neighbours, and such groups lie `step` apart.
fn pack_words<const P: usize, const A: usize, const N: usize, F: Fn(usize) -> f32>(
    to: &mut [f32; N],
    at: usize,
    step: usize,
    row: Row,
    count: usize,
    weight: &F,
) {
    for k in 0..count.div_ceil(P) {
        if let Some(to) = to.get_mut(at + k / A * step + k % A) {
            *to = f32::from_bits(row_word(row, P, count, weight, k));
        }
    }
}

//: pack_pairs
/// Packs a row of whole numbers, two bytes in each element. `A` elements are neighbours, and such groups lie `step` apart.
fn pack_pairs<const A: usize, const N: usize, F: Fn(usize) -> f32>(
    to: &mut [[u8; 2]; N],
    at: usize,
    step: usize,
    row: Row,
    count: usize,
    weight: &F,
) {
    for k in 0..count.div_ceil(2) {
        if let Some(to) = to.get_mut(at + k / A * step + k % A) {
            let word = row_word(row, 2, count, weight, k);
            *to = [word as u8, (word >> 16) as u8];
        }
    }
}

//: pack_words_apart
/// Packs a row of whole numbers, two in each word, such words `step` apart. Of each four words from a multiple of four on, the first halves
/// stand in front of the second ones.
fn pack_words_apart<const N: usize, F: Fn(usize) -> f32>(
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
        let four = to.get_mut(at - column + k * step..).and_then(|to| to.first_chunk_mut::<4>());
        let Some(four) = four else { continue };
        for (half, to) in [word & 0xffff, word >> 16].into_iter().zip(four.iter_mut().skip(column / 2).step_by(2)) {
            *to = f32::from_bits(if column % 2 == 0 { half } else { to.to_bits() & 0xffff | half << 16 });
        }
    }
}

//: pack_pairs_apart
/// The same of numbers of a byte.
fn pack_pairs_apart<const N: usize, F: Fn(usize) -> f32>(
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
        let four = to.get_mut(at - column + k * step..).and_then(|to| to.first_chunk_mut::<4>());
        let Some(four) = four else { continue };
        let pairs = four.iter_mut().skip(column / 2).step_by(2);
        for (byte, pair) in [word as u8, (word >> 16) as u8].into_iter().zip(pairs) {
            *pair = if column % 2 == 0 { [byte, 0] } else { [pair[0], byte] };
        }
    }
}

//: pack_scale
/// Packs what the whole numbers of a row are multiplied by.
fn pack_scale<const N: usize>(to: &mut [f32; N], at: usize, row: Row) {
    if let Some(to) = to.get_mut(at) {
        *to = row.scale;
    }
}

//: pack_start
/// Packs what the sums of a row begin at.
fn pack_start<const N: usize, F: Fn(usize) -> f32>(to: &mut [f32; N], at: usize, row: Row, count: usize, weight: &F) {
    if let Some(to) = to.get_mut(at) {
        *to = f32::from_bits(row_start(row, count, weight));
    }
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
