//! Quantisation of a row of weights. Generated Rust that packs weights contains this text too, and
//! generated C contains the same arithmetic: rows packed at run time and rows packed here have the
//! same bits. A line `//: NAME` begins each part.

//: Row
/// What a row of weights becomes: whole numbers up to a range, and what these are multiplied by, which is NaN where a weight is not finite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) scale: f32,
    pub(super) range: f32,
}
/// A number rounded to a whole one, half to even. Above 2^22 it may be another large one.
fn whole_number(value: f32) -> f32 {
    (value + 12_582_912.0) - 12_582_912.0
}
/// The whole number that a weight becomes.
pub(super) fn whole_of(row: Row, weight: f32) -> i32 {
    if row.scale > 0.0 {
        whole_number(weight / row.scale).min(row.range).max(-row.range) as i32
    } else {
        0
    }
}
/// The largest magnitude of a row; NaN where a weight is not finite.
pub(super) fn largest_of<F: Fn(usize) -> f32>(count: usize, weight: &F) -> f32 {
    let mut largest = 0.0f32;
    for k in 0..count {
        let magnitude = weight(k).abs();
        if magnitude > largest {
            largest = magnitude;
        }
        // the product is NaN where one is not finite
        largest += magnitude * 0.0;
    }
    largest
}
/// Whether all weights are a scale times whole numbers up to a range, but for the slack.
fn is_own_scale<F: Fn(usize) -> f32>(
    count: usize,
    weight: &F,
    scale: f32,
    range: u16,
    slack: f32,
) -> bool {
    (0..count).all(|k| {
        let times = whole_number(weight(k) / scale);
        (times * scale - weight(k)).abs() <= slack && times.abs() <= f32::from(range)
    })
}
/// The scale of which all weights of a row are multiples, by whole numbers up to a range, as those of a quantised model are: 1 for whole numbers, which so stay what they are, else
/// the largest such scale; multiples may be off by 2^-21 of the largest weight, as models compute them in f32. 0 if there is none.
pub(super) fn own_scale_of<F: Fn(usize) -> f32>(
    count: usize,
    weight: &F,
    largest: f32,
    range: u16,
) -> f32 {
    if largest > 0.0 {
        if is_own_scale(count, weight, 1.0, range, 0.0) {
            return 1.0;
        }
        // the largest weight is a multiple too
        for times in 1..=range {
            let share = (largest / f32::from(times)).to_bits();
            for bits in [share, share.wrapping_add(1), share.wrapping_sub(1)] {
                if is_own_scale(count, weight, f32::from_bits(bits), range, 0.0) {
                    return f32::from_bits(bits);
                }
            }
        }
        for times in 1..=range {
            let share = largest / f32::from(times);
            if is_own_scale(count, weight, share, range, largest / 2_097_152.0) {
                return share;
            }
        }
    }
    0.0
}
//: row_of_bytes
/// What a row becomes in 8 bits: the largest weight is 127, unless the row has a scale already.
pub(super) fn row_of_bytes<F: Fn(usize) -> f32>(count: usize, weight: &F) -> Row {
    let largest = largest_of(count, weight);
    let grid_scale = own_scale_of(count, weight, largest, 127);
    Row { scale: if grid_scale > 0.0 { grid_scale } else { largest / 127.0 }, range: 127.0 }
}
//: row_of_pairs
/// The sum of the magnitudes of a row.
fn magnitudes_of<F: Fn(usize) -> f32>(row: Row, count: usize, weight: &F) -> u64 {
    (0..count).map(|k| u64::from(whole_of(row, weight(k)).unsigned_abs())).sum()
}
/// What a row becomes in 16 bits: the largest weight is the largest number for which the sum of the magnitudes is not above the given one, unless the row has a scale already.
pub(super) fn row_of_pairs<F: Fn(usize) -> f32>(count: usize, weight: &F, most: u32) -> Row {
    let largest = largest_of(count, weight);
    let row = Row { scale: own_scale_of(count, weight, largest, 255), range: 255.0 };
    if row.scale > 0.0 && magnitudes_of(row, count, weight) <= u64::from(most) {
        return row;
    }
    let row_within = |range: u64| Row { scale: largest / range as f32, range: range as f32 };
    let mut row = row_within(32_767);
    let sum = magnitudes_of(row, count, weight);
    if sum > u64::from(most) {
        // each number may be rounded up by a half
        let range_sum = u64::from(most).saturating_sub(count as u64 / 2);
        let mut range = (range_sum * 32_767 / sum.max(1)).clamp(1, 32_766);
        row = row_within(range);
        while range > 1 && magnitudes_of(row, count, weight) > u64::from(most) {
            range -= 1;
            row = row_within(range);
        }
    }
    row
}
//: row_word
/// The `k`-th word of a row of whole numbers: a row is cut into as many parts as a word holds numbers, and this word holds the `k`-th ones of all, so that vectors of words
/// are made of vectors.
pub(super) fn row_word<F: Fn(usize) -> f32>(
    row: Row,
    parts: usize,
    count: usize,
    weight: &F,
    k: usize,
) -> u32 {
    let (words, bits) = (count.div_ceil(parts.max(1)), if parts == 4 { 8 } else { 16 });
    let mut word = 0;
    for part in 0..parts {
        let at = part * words + k;
        if at < count {
            let whole = whole_of(row, weight(at)) as u32;
            word |= (whole & (u32::MAX >> (32 - bits))) << (bits * part as u32);
        }
    }
    word
}
//: row_start
/// What the sums of a row begin at where each number that it multiplies is 128 more than what it stands for.
pub(super) fn row_start<F: Fn(usize) -> f32>(row: Row, count: usize, weight: &F) -> u32 {
    let sum: i32 = (0..count).map(|k| whole_of(row, weight(k))).sum();
    sum.wrapping_mul(-128) as u32
}
