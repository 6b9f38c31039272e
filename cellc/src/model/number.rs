//! The conversion of text and of f64 to f32.

use std::fmt;

/// The reason why a text or a number has no f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// The text is no number.
    Text,
    /// The number is not 0, but rounds to 0.
    Underflow,
    /// The number is finite, but rounds to infinity.
    Overflow,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "not a number",
            Self::Underflow => "0 in f32",
            Self::Overflow => "beyond the range of f32",
        })
    }
}

/// Reads a number from a text, for all input formats and interfaces. Spaces around the text are
/// ignored. `inf` and `nan` are numbers: the rule of an attribute decides whether they are legal.
///
/// # Errors
/// If the text is no number, or if a number that is neither 0 nor infinite rounds to 0 or infinity.
pub fn parse_f32(text: &str) -> Result<f32, NumberError> {
    let text = text.trim();
    let number: f32 = text.parse().map_err(|_| NumberError::Text)?;
    let significand = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = significand.bytes().filter(u8::is_ascii_digit);
    // the word inf has no digits
    let [has_digits, is_nonzero] = [digits.clone().count() > 0, digits.clone().any(|d| d != b'0')];
    checked(number, number.is_infinite() && has_digits, is_nonzero)
}

/// The f32 nearest to a number. Infinities and NaN are kept.
///
/// # Errors
/// If a number that is neither 0 nor infinite rounds to 0 or infinity.
pub fn nearest_f32(number: f64) -> Result<f32, NumberError> {
    let nearest = number as f32;
    checked(nearest, nearest.is_infinite() && number.is_finite(), number != 0.0)
}

/// A rounded number. `overflows`: a finite number became infinite.
fn checked(rounded: f32, overflows: bool, is_nonzero: bool) -> Result<f32, NumberError> {
    match rounded {
        _ if overflows => Err(NumberError::Overflow),
        0.0 if is_nonzero => Err(NumberError::Underflow),
        _ => Ok(rounded),
    }
}

#[cfg(test)]
mod tests {
    use super::{NumberError, nearest_f32, parse_f32};

    /// Zeros, denormals, infinities and NaN are numbers. A finite number other than 0 that rounds
    /// to 0 or to infinity is refused, whatever its sign.
    #[test]
    fn numbers_that_f32_does_not_hold_are_refused() {
        for (text, number) in [
            ("0", 0.0),
            (" -0.0e7 ", -0.0),
            ("1e-45", 1e-45),
            ("+.5", 0.5),
            ("1e38", 1e38),
            ("0e99", 0.0),
            ("inf", f32::INFINITY),
            ("-inf", f32::NEG_INFINITY),
        ] {
            assert_eq!(parse_f32(text).map(f32::to_bits), Ok(f32::to_bits(number)), "{text}");
        }
        assert!(parse_f32("nan").is_ok_and(f32::is_nan));
        for (text, error) in [
            ("1e-60", NumberError::Underflow),
            ("-0.0001e-99", NumberError::Underflow),
            ("1e60", NumberError::Overflow),
            ("-9e39", NumberError::Overflow),
            ("", NumberError::Text),
            ("0,5", NumberError::Text),
            ("x", NumberError::Text),
        ] {
            assert_eq!(parse_f32(text), Err(error), "{text}");
        }
        assert_eq!(nearest_f32(1e-60), Err(NumberError::Underflow));
        assert_eq!(nearest_f32(-1e60), Err(NumberError::Overflow));
        assert_eq!(nearest_f32(f64::INFINITY), Ok(f32::INFINITY));
    }
}
