//! The two floating-point types of 16 bits in which files store weights. The crate `half` has the
//! same conversions, and tests compare the results. cellc does not use the crate, as it brings a
//! second copy of syn into the first build of everyone who uses a macro.

/// IEEE 754 binary16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct F16(u16);

/// bfloat16: the upper half of an f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bf16(u16);

impl F16 {
    const INFINITY: u32 = 0x7c00;

    #[cfg(test)]
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    #[cfg(test)]
    pub(crate) const fn to_bits(self) -> u16 {
        self.0
    }

    /// The nearest number, ties to even.
    pub(crate) fn from_f32(value: f32) -> Self {
        let sign = value.to_bits() >> 16 & 0x8000;
        let magnitude = value.to_bits() & 0x7fff_ffff;
        let half = if value.is_nan() {
            Self::INFINITY | 0x200 | magnitude >> 13 & 0x3ff
        } else if magnitude < (2.0f32).powi(-14).to_bits() {
            // the sum rounds to a multiple of 2^-24, as both a denormal and an f32 from 0.5 to 1
            // are
            (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits()
        } else {
            // the bias of the exponent falls from 127 to 15; larger numbers become infinite
            let moved = magnitude - (112 << 23);
            ((moved + 0xfff + (moved >> 13 & 1)) >> 13).min(Self::INFINITY)
        };
        Self((sign | half) as u16)
    }

    pub(crate) fn to_f32(self) -> f32 {
        let (sign, magnitude) = (u32::from(self.0 & 0x8000) << 16, u32::from(self.0 & 0x7fff));
        let value = match magnitude {
            0..0x400 => (magnitude as f32 * (2.0f32).powi(-24)).to_bits(),
            0x400..Self::INFINITY => (magnitude << 13) + (112 << 23),
            Self::INFINITY => f32::INFINITY.to_bits(),
            _ => f32::NAN.to_bits() | (magnitude & 0x3ff) << 13,
        };
        f32::from_bits(sign | value)
    }
}

impl Bf16 {
    #[cfg(test)]
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub(crate) const fn to_bits(self) -> u16 {
        self.0
    }

    /// The nearest number, ties to even.
    pub(crate) fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        let rounded =
            if value.is_nan() { bits | 0x40_0000 } else { bits + 0x7fff + (bits >> 16 & 1) };
        Self((rounded >> 16) as u16)
    }

    pub(crate) fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

macro_rules! both {
    ($half:ident) => {
        impl $half {
            pub(crate) const fn from_le_bytes(bytes: [u8; 2]) -> Self {
                Self(u16::from_le_bytes(bytes))
            }

            pub(crate) const fn to_le_bytes(self) -> [u8; 2] {
                self.0.to_le_bytes()
            }

            pub(crate) fn to_f64(self) -> f64 {
                f64::from(self.to_f32())
            }

            pub(crate) fn is_finite(self) -> bool {
                self.to_f32().is_finite()
            }
        }
    };
}

both!(F16);
both!(Bf16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_that_of_the_crate_half() {
        for bits in 0..=u16::MAX {
            let same = |ours: f32, theirs: f32| {
                ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan()
            };
            assert!(
                same(F16::from_bits(bits).to_f32(), half::f16::from_bits(bits).to_f32()),
                "{bits:x}"
            );
            assert!(
                same(Bf16::from_bits(bits).to_f32(), half::bf16::from_bits(bits).to_f32()),
                "{bits:x}"
            );
        }
    }

    #[test]
    fn every_rounding_is_that_of_the_crate_half() {
        // an f32 of every sign, exponent and upper half of the mantissa, with the lower halves that
        // make a tie or a neighbour of a tie
        for upper in 0..=u16::MAX {
            for lower in [
                0, 1, 0x7ff, 0x800, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x7fff, 0x8000,
                0x8001, 0xffff,
            ] {
                let value = f32::from_bits(u32::from(upper) << 16 | lower);
                let theirs = (half::f16::from_f32(value), half::bf16::from_f32(value));
                let ours = (F16::from_f32(value), Bf16::from_f32(value));
                assert_eq!(ours.0.to_bits(), theirs.0.to_bits(), "{value:e}");
                assert_eq!(ours.1.to_bits(), theirs.1.to_bits(), "{value:e}");
            }
        }
    }
}
