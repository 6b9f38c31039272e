//! Weights in fewer bits: the packed row of a matrix in each format, and the values that kernels
//! load from the row.

mod arithmetic;
mod format;
mod precision;
mod rows;

pub use arithmetic::Arithmetic;
pub use format::WeightFormat;

use crate::model::half::{Bf16, F16};

use crate::kernel::{Encoding, FLUSH_BELOW};
use rows::{
    Row, largest_of, own_scale_of, row_of_bytes, row_of_pairs, row_start, row_word, whole_of,
};

/// Largest magnitude of an 8-bit weight. -128 is unused: both signs have an equal range.
pub(crate) const INT8_MOST: f32 = 127.0;

/// Lower limit of 2^-100 for the largest magnitude of a vector, so that the vector's scale is a
/// normal number.
pub const LEAST_LARGEST: f32 = FLUSH_BELOW;

/// The offset that turns signed 8-bit elements into unsigned ones, for instructions with unsigned
/// elements.
pub const OFFSET: i32 = 128;

/// Upper 16 bits of 2^-64, the smallest magnitude of the high value of a pair. The lower 16 bits
/// hold the low value: with upper bits of zero they would form a denormal, which slows processors.
const LEAST_HIGH: u32 = (127 - 64) << 7;

impl WeightFormat {
    /// The packing of matrix rows of `line` elements.
    pub fn encoding(self, line: usize) -> Encoding {
        match self {
            Self::F32 => Encoding::F32,
            Self::F16 => Encoding::F16,
            Self::Bf16Pair => Encoding::Bf16Pair,
            Self::Int8 => Encoding::Int8,
            Self::Int16 => Encoding::Int16Pair,
            Self::Int8Pair => Encoding::Int8Pair,
            Self::Int8Quad if self.in_word(line) == 2 => Encoding::Int8Wide,
            Self::Int8Quad => Encoding::Int8Quad,
        }
    }

    /// True if the format can represent the weight.
    pub fn holds(self, weight: f32) -> bool {
        match self {
            Self::F32 => true,
            Self::F16 => F16::from_f32(weight).is_finite(),
            Self::Bf16Pair => Bf16::from_f32(weight).is_finite(),
            Self::Int8 | Self::Int16 | Self::Int8Pair | Self::Int8Quad => weight.is_finite(),
        }
    }
}

/// The f32 values, or f32 words of packed integers, that a kernel loads from a packed line of
/// weights. `given`: the number of words for packed integers; `None`: as many as the line needs.
pub fn encode(encoding: Encoding, line: &[f32], given: Option<usize>) -> Vec<f32> {
    match encoding {
        Encoding::F32 => line.to_vec(),
        Encoding::F16 => line.iter().map(|w| F16::from_f32(*w).to_f32()).collect(),
        Encoding::Bf16Pair => line
            .chunks(2)
            .map(|pair| pair.get(1).map_or(pair[0], |low| bf16_pair(pair[0], *low)))
            .collect(),
        Encoding::Int8 => whole_numbers(in_bytes(line), line),
        Encoding::Int8Scale => vec![in_bytes(line).scale],
        Encoding::Int16Pair => words(in_pairs(line), 2, line, given),
        Encoding::Int8Pair | Encoding::Int8Wide => words(in_bytes(line), 2, line, given),
        Encoding::Int8Quad => words(in_bytes(line), 4, line, given),
        Encoding::Int8Neighbours => {
            let row = in_bytes(line);
            let weight = |four: &[f32], k: usize| four.get(k).copied().unwrap_or(0.0);
            let word = |four: &[f32]| row_word(row, 4, 4, &|k| weight(four, k), 0);
            line.chunks(4).map(|four| f32::from_bits(word(four))).collect()
        }
        Encoding::Int16Neighbours => {
            let row = in_pairs(line);
            let weight = |k: usize| line.get(k).copied().unwrap_or(0.0);
            let word = |k: usize| row_word(row, 2, 2, &|at| weight(2 * k + at), 0);
            (0..encoding.len(line.len())).map(|k| f32::from_bits(word(k))).collect()
        }
        Encoding::Int8Start => {
            vec![f32::from_bits(row_start(in_bytes(line), line.len(), &|k| line[k]))]
        }
        Encoding::Int16Scale => vec![in_pairs(line).scale],
        Encoding::LowBytes => unreachable!("encoding: low bytes are of kernels, not of weights"),
    }
}

fn largest(line: &[f32]) -> f32 {
    largest_of(line.len(), &|k| line[k])
}

/// The scale of a row whose elements are 8-bit integers times one scale. 0 for all other rows,
/// which is no valid scale.
pub(crate) fn scale_of_whole_numbers(row: &[f32]) -> f32 {
    own_scale_of(row.len(), &|k| row[k], largest(row), INT8_MOST as u16)
}

/// A line in 8 bits.
fn in_bytes(line: &[f32]) -> Row {
    row_of_bytes(line.len(), &|k| line[k])
}

/// A line in up to 16 bits. The largest integer is limited: dot products with a vector must fit
/// into 32 bits.
fn in_pairs(line: &[f32]) -> Row {
    row_of_pairs(line.len(), &|k| line[k], Arithmetic::most_in_pairs(line.len()))
}

fn whole_numbers(row: Row, line: &[f32]) -> Vec<f32> {
    line.iter().map(|w| whole_of(row, *w) as f32).collect()
}

/// Packs `parts` integers into the bits of each f32.
fn words(row: Row, parts: usize, line: &[f32], given: Option<usize>) -> Vec<f32> {
    let words = given.unwrap_or(line.len().div_ceil(parts));
    let weight = |k: usize| line.get(k).copied().unwrap_or(0.0);
    (0..words).map(|k| f32::from_bits(row_word(row, parts, words * parts, &weight, k))).collect()
}

/// The f32 nearest to `high` whose lower 16 bits are `low` as bfloat16, and whose magnitude is at
/// least 2^-64 ([`LEAST_HIGH`]).
fn bf16_pair(high: f32, low: f32) -> f32 {
    let low = u32::from(Bf16::from_f32(low).to_bits());
    let (sign, upper) = (high.to_bits() & 1 << 31, high.abs().to_bits() >> 16);
    let candidates = [upper.saturating_sub(1), upper, upper + 1].map(|upper| upper.max(LEAST_HIGH));
    let values = candidates.map(|upper| f32::from_bits(sign | upper << 16 | low)).into_iter();
    let distance = |value: &f32| (f64::from(*value) - f64::from(high)).abs();
    let finite = values.filter(|value| value.is_finite());
    finite
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .expect("encoding: a weight that the format holds")
}

/// Quantises a vector x or h like kernels: integers up to `range` in magnitude, and their scale.
/// The scale is NaN if an element is not finite.
pub fn quantise(values: &[f32], range: u16) -> (Vec<f32>, f32) {
    let range = f32::from(range);
    let largest =
        values.iter().fold(LEAST_LARGEST, |most, v| if most > v.abs() { most } else { v.abs() });
    let poison: f32 = values.iter().map(|v| v * 0.0).sum();
    let inverse = range / largest;
    let whole = |v: &f32| (v * inverse).round_ties_even();
    (values.iter().map(whole).collect(), largest / range + poison)
}

/// A row of a matrix as kernels multiply the row: the stored values, and the scale of dot products.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// A stored value for each weight.
    pub values: Vec<f32>,
    /// Factor of the dot product. `None`: no scaling.
    pub scale: Option<f32>,
}

impl Stored {
    /// A row in the given format.
    pub fn new(format: WeightFormat, row: &[f32]) -> Self {
        let packed = encode(format.encoding(row.len()), row, None);
        let values = match format {
            WeightFormat::Bf16Pair => {
                let halves = |word: &f32| [*word, f32::from_bits(word.to_bits() << 16)];
                packed.iter().flat_map(halves).take(row.len()).collect()
            }
            WeightFormat::Int16 => whole_numbers(in_pairs(row), row),
            WeightFormat::Int8Pair | WeightFormat::Int8Quad => encode(Encoding::Int8, row, None),
            WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Int8 => packed,
        };
        let scale = match format {
            WeightFormat::Int8 | WeightFormat::Int8Pair | WeightFormat::Int8Quad => {
                Some(in_bytes(row).scale)
            }
            WeightFormat::Int16 => Some(in_pairs(row).scale),
            WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Bf16Pair => None,
        };
        Self { values, scale }
    }

    /// The number of weights that the stored values, scaled in f32, equal exactly.
    pub(crate) fn exact(&self, row: &[f32]) -> usize {
        let is_exact =
            |(w, stored): (&f32, &f32)| self.scale.map_or(*stored, |scale| stored * scale) == *w;
        row.iter().zip(&self.values).map(is_exact).filter(|is_exact| *is_exact).count()
    }

    /// The absolute error of each stored weight.
    pub fn errors<'a>(&'a self, row: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
        let scale = f64::from(self.scale.unwrap_or(1.0));
        row.iter()
            .zip(&self.values)
            .map(move |(w, stored)| (f64::from(*w) - scale * f64::from(*stored)).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all sizes and signs, zeros, and numbers close to the limits of formats.
    fn line() -> Vec<f32> {
        let mut state = 1u32;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(state)
        };
        let drawn = std::iter::repeat_with(next)
            .filter(|v| v.is_finite() && v.abs() < 1e30 && v.abs() > 1e-30);
        let ordinary = (0..500).map(|k| ((k * 7919) % 1000) as f32 / 1000.0 - 0.5);
        drawn
            .take(500)
            .chain(ordinary)
            .chain([0.0, -0.0, 1.0, -1.0, 1.0 + f32::EPSILON, 3e-39, -1e-45])
            .collect()
    }

    #[test]
    fn whole_numbers_are_kept_in_8_bits() {
        let line = [3.0, -90.0, 0.0, 17.0];
        assert_eq!(encode(Encoding::Int8, &line, None), line);
        assert_eq!(encode(Encoding::Int8Scale, &line, None), [1.0]);
        for other in [[3.0, -90.5, 0.0, 17.0], [3.0, -128.0, 0.0, 17.0]] {
            assert_ne!(encode(Encoding::Int8Scale, &other, None), [1.0]);
        }
        assert_eq!(encode(Encoding::Int8Scale, &[0.0; 4], None), [0.0]);
    }

    #[test]
    fn the_high_one_of_a_pair_is_the_best_there_is() {
        let line = line();
        for (k, pair) in line.windows(2).enumerate() {
            let word = encode(Encoding::Bf16Pair, pair, None)[0];
            let low = f32::from_bits(word.to_bits() << 16);
            assert_eq!(low.to_bits(), Bf16::from_f32(pair[1]).to_f32().to_bits(), "{k}");
            let distance = |bits: u32| (f64::from(f32::from_bits(bits)) - f64::from(pair[0])).abs();
            let found = distance(word.to_bits());
            assert!(word.is_finite() && word.abs() >= 2f32.powi(-64), "{k}: {pair:?} as {word:e}");
            if pair[0].abs() >= 2f32.powi(-63) {
                // no f32 in the neighbourhood with these lower bits is nearer
                let upper = word.to_bits() >> 16;
                for other in upper.saturating_sub(3)..=upper + 3 {
                    assert!(
                        found <= distance(other << 16 | word.to_bits() & 0xffff),
                        "{k}: {pair:?}"
                    );
                }
                assert!(found <= f64::from(pair[0].abs()) / 256.0, "{k}: {pair:?} as {word:e}");
            } else {
                assert!(found <= 2f64.powi(-62), "{k}: {pair:?} as {word:e}");
            }
        }
        // without a partner, the last weight stays f32
        assert_eq!(
            encode(Encoding::Bf16Pair, &[0.1, 0.2, 0.3], None)[1].to_bits(),
            0.3f32.to_bits()
        );
    }

    #[test]
    fn eight_bits_are_off_by_half_a_step_at_most() {
        for line in line().chunks(7).chain([
            &[0.0; 3][..],
            &[1e-45],
            &[2e-44, -1e-45],
            &[f32::MAX, f32::MIN, 1.0],
        ]) {
            let Stored { values, scale } = Stored::new(WeightFormat::Int8, line);
            let scale = scale.expect("a row has a scale");
            assert!(values.iter().all(|q| q.abs() <= 127.0 && q.fract() == 0.0), "{values:?}");
            let step = f64::from(scale).max(f64::from(f32::from_bits(1)) * 127.0);
            for (error, w) in Stored::new(WeightFormat::Int8, line).errors(line).zip(line) {
                assert!(error <= 0.5001 * step, "{w:e} of {line:?} is off by {error:e}");
            }
        }
    }

    #[test]
    fn vectors_in_eight_bits_have_the_scale_of_their_largest_element() {
        assert_eq!(
            quantise(&[127.0, -63.5, 62.5, 0.4, -0.0], 127),
            (vec![127.0, -64.0, 62.0, 0.0, 0.0], 1.0)
        );
        let (whole, scale) = quantise(&[f32::MAX, -f32::MAX, 1.0], 127);
        assert_eq!((whole, scale.is_finite()), (vec![127.0, -127.0, 0.0], true));
        // numbers below half a step become zero
        assert_eq!(quantise(&[0.0, 1e-45, -1e-40], 127).0, [0.0; 3]);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(
                quantise(&[1.0, bad, 2.0], 127).1.is_nan()
                    && quantise(&[bad, 1.0, 2.0], 127).1.is_nan()
            );
        }
        for line in line().chunks(9) {
            let (whole, scale) = quantise(line, 127);
            let most = line.iter().fold(LEAST_LARGEST, |most, v| most.max(v.abs()));
            for (q, v) in whole.iter().zip(line) {
                assert!(q.abs() <= 127.0 && q.fract() == 0.0, "{v:e} of {line:?} is {q}");
                let error = (f64::from(*q) * f64::from(scale) - f64::from(*v)).abs();
                assert!(
                    error <= f64::from(most) * (0.5 / 127.0 + 1e-6),
                    "{v:e} of {line:?} is off by {error:e}"
                );
            }
        }
    }

    #[test]
    fn sums_of_sixteen_bits_fit_and_are_as_fine_as_they_can_be() {
        for (len, value) in [(1, 1.0f32), (3, 0.5), (128, 0.7), (1000, 1.0), (100_000, 0.9)] {
            let vector = f64::from(Arithmetic::Int16.largest(len).unwrap());
            for spread in [0.0f32, 0.5, 0.99] {
                let line: Vec<f32> = (0..len)
                    .map(|k| value * (1.0 - spread * ((k % 7) as f32 / 7.0).sqrt()))
                    .collect();
                let Stored { values: whole, scale } = Stored::new(WeightFormat::Int16, &line);
                let scale = scale.expect("a row has a scale");
                let sum: f64 = whole.iter().map(|q| f64::from(q.abs())).sum();
                assert!(sum * vector <= f64::from(i32::MAX), "{len} {spread}");
                let full = whole.contains(&32767.0) || sum * vector > 0.99 * f64::from(i32::MAX);
                assert_eq!(
                    full,
                    spread > 0.0 && len > 1,
                    "{len} {spread}: {sum} of {}",
                    f64::from(i32::MAX) / vector
                );
                for (q, w) in whole.iter().zip(&line) {
                    assert!(
                        (f64::from(*q) * f64::from(scale) - f64::from(*w)).abs()
                            <= 0.5001 * f64::from(scale)
                    );
                }
            }
        }
        let words = |line: &[f32]| {
            encode(Encoding::Int16Pair, line, None)
                .iter()
                .map(|word| word.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&[1.0, -1.0]), [0xffff_0001]);
        assert_eq!(words(&[-1.0]), [0xffff]);
        let zeros = Stored::new(WeightFormat::Int16, &[0.0; 5]);
        assert_eq!((zeros.values, zeros.scale), (vec![0.0; 5], Some(0.0)));
    }

    #[test]
    fn lines_keep_the_scale_that_they_have() {
        let line = |times: &[i16], scale: f32| {
            times.iter().map(|times| f32::from(*times) * scale).collect::<Vec<_>>()
        };
        for scale in [1.0, 0.5, 1.0 / 256.0, 0.0123, 3e-5, 7.7] {
            let row = line(&[3, -100, 0, 71, 14, -5], scale);
            for format in [WeightFormat::Int8, WeightFormat::Int8Pair, WeightFormat::Int16] {
                let stored = Stored::new(format, &row);
                assert_eq!(
                    stored.values,
                    [3.0, -100.0, 0.0, 71.0, 14.0, -5.0],
                    "{format:?} {scale}"
                );
                assert_eq!((stored.scale, stored.exact(&row)), (Some(scale), 6), "{format:?}");
            }
        }
        // integers beyond 127 need 16 bits
        let wide = line(&[-128, 3, 77, 9], 1.0 / 256.0);
        assert!(Stored::new(WeightFormat::Int8Pair, &wide).exact(&wide) < 4);
        assert_eq!(Stored::new(WeightFormat::Int16, &wide).exact(&wide), 4);
        // a row computed as by FakeQuantize has rounding errors, and still has a scale
        let low = -127.0 * 0.0123f32;
        let each = (0.0123f32 * 127.0 - low) / 254.0;
        let computed: Vec<f32> =
            [130.0, 227.0, 127.0, 56.0].map(|level| level * each + low).to_vec();
        let stored = Stored::new(WeightFormat::Int8Pair, &computed);
        assert_eq!(stored.values, [3.0, 100.0, 0.0, -71.0]);
        assert!(
            stored.errors(&computed).all(|error| error < 1e-6),
            "{computed:?} {:?}",
            stored.scale
        );
    }

    #[test]
    fn what_is_stored_is_what_is_packed() {
        let line = line();
        for format in WeightFormat::ALL.into_iter().filter(|f| *f != WeightFormat::F16) {
            let stored = Stored::new(format, &line);
            assert_eq!(stored.values.len(), line.len());
            let encoding = format.encoding(line.len());
            let packed = encode(encoding, &line, None);
            assert_eq!(packed.len(), encoding.len(line.len()));
            let every = if format == WeightFormat::Bf16Pair { 2 } else { 1 };
            for (k, value) in packed.iter().enumerate() {
                assert_eq!(value.to_bits(), stored.values[k * every].to_bits(), "{format:?} {k}");
            }
        }
        assert!(!WeightFormat::F16.holds(65520.0) && WeightFormat::F16.holds(65519.0));
        assert!(!WeightFormat::Bf16Pair.holds(f32::MAX) && WeightFormat::Int8.holds(f32::MAX));
        assert!(!WeightFormat::Int8.holds(f32::NAN) && WeightFormat::F32.holds(f32::NAN));
    }
}
