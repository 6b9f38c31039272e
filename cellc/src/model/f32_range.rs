//! Numbers in text that f32 does not hold.

/// True if a number written as nonzero became 0 in f32.
pub fn underflows(written: &str, number: f32) -> bool {
    let digits = written.split(['e', 'E']).next().unwrap_or_default();
    number == 0.0 && digits.contains(|c: char| ('1'..='9').contains(&c))
}

/// True if a number written in digits became infinite in f32. The word inf is no such number.
pub(crate) fn overflows(written: &str, number: f32) -> bool {
    number.is_infinite() && written.contains(|c: char| c.is_ascii_digit())
}
