//! Recognition of input and output names that OpenVINO generates.

/// The names of an input or an output, except the names that OpenVINO made up.
pub(crate) fn lasting(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| !is_made_up(name)).cloned().collect()
}

/// True if OpenVINO made up the name of an input or an output, as `Parameter_270` or
/// `Result_44995`. Another export of the model changes these names.
pub(crate) fn is_made_up(name: &str) -> bool {
    let digits = ["Parameter_", "Result_"].iter().find_map(|made| name.strip_prefix(made));
    digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}
