//! Correctness of timed code.

/// The distance of outputs from a float64 reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The largest error, relative to the larger of 1 and the reference.
    pub largest: f64,
    /// FNV-1a hash over the bits of all outputs: equal for bit-identical outputs.
    pub bits: u32,
}

impl Default for Agreement {
    fn default() -> Self {
        Self { largest: 0.0, bits: 0x811c_9dc5 }
    }
}

impl Agreement {
    /// Adds the output of a call. Returns the index of the first element with an error above
    /// `tolerance`. A NaN, a missing or a surplus element is an infinite error.
    pub fn see(&mut self, got: &[f32], expected: &[f64], tolerance: f64) -> Option<usize> {
        let mut wrong = None;
        if got.len() != expected.len() {
            wrong = Some(got.len().min(expected.len()));
            self.largest = f64::INFINITY;
        }
        for (j, (got, expected)) in got.iter().zip(expected).enumerate() {
            let error = (f64::from(*got) - expected).abs() / expected.abs().max(1.0);
            // a NaN is an error, too
            if error.is_nan() || error > tolerance {
                wrong = Some(wrong.map_or(j, |first| first.min(j)));
            }
            self.largest = if error.is_nan() { f64::INFINITY } else { self.largest.max(error) };
            for byte in got.to_le_bytes() {
                self.bits = (self.bits ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        }
        wrong
    }

    /// The largest error in units of 2^-23.
    pub fn error(&self) -> f64 {
        self.largest * f64::from(1 << 23)
    }
}

#[cfg(test)]
mod tests {
    use super::Agreement;

    #[test]
    fn the_first_that_is_wrong_is_named() {
        let mut agreement = Agreement::default();
        assert_eq!(agreement.see(&[0.5, 100.0], &[0.5, 100.001], 1e-4), None);
        assert!((agreement.largest - 1e-5).abs() < 1e-8);
        assert_eq!(agreement.see(&[0.5, 1.1, 2.0], &[0.5, 1.0, f64::NAN], 1e-4), Some(1));
        assert!(agreement.error().is_infinite());
        let mut agreement = Agreement::default();
        assert_eq!(agreement.see(&[0.5], &[0.5, 1.0], 1e-4), Some(1), "one is missing");
        assert!(agreement.error().is_infinite());
    }

    #[test]
    fn bits_tell_zeros_apart() {
        let bits = |value: f32| {
            let mut agreement = Agreement::default();
            agreement.see(&[value], &[0.0], 0.0);
            agreement.bits
        };
        assert_ne!(bits(0.0), bits(-0.0));
        assert_eq!(bits(0.0), bits(0.0));
    }
}
