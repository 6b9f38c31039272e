//! Lints silenced by generated code, with reasons: users may enable any lint.

use super::types::has_long_list;

/// The module's user need not call every item.
pub(super) const UNUSED: &str = "#[allow(dead_code, reason = \"a user need not call every item\")]";

/// Like [`UNUSED`], for items re-exported from an inner module.
pub(super) const UNUSED_IMPORT: &str =
    "#[allow(unused_imports, reason = \"a user need not call every item\")]";

/// Like [`UNUSED`]. `new` is the only constructor: a `Default` would be a second.
pub(super) const UNUSED_NEW: &str = "#[allow(dead_code, clippy::new_without_default, \
reason = \"one constructor, for users\")]";

/// For kernels shared by several modules.
pub(super) const SHARED: &str =
    "#[allow(dead_code, reason = \"machines differ in what they use\")]\n";

/// For modules with vector types.
pub(super) const TYPES: &str = "#[allow(dead_code, unused_imports, \
reason = \"machines differ in what they use\")]";

/// The constants of the lint `clippy::approx_constant`, which reports numbers near a constant.
const OF_MATHEMATICS: [f64; 21] = {
    use std::f64::consts as of;
    const GOLDEN_RATIO: f64 = 1.618_033_988_749_895;
    [
        of::E,
        of::FRAC_1_PI,
        of::FRAC_1_SQRT_2,
        of::FRAC_2_PI,
        of::FRAC_2_SQRT_PI,
        of::FRAC_PI_2,
        of::FRAC_PI_3,
        of::FRAC_PI_4,
        of::FRAC_PI_6,
        of::FRAC_PI_8,
        of::LN_10,
        of::LN_2,
        of::LOG10_2,
        of::LOG10_E,
        of::LOG2_10,
        of::LOG2_E,
        of::PI,
        of::SQRT_2,
        of::TAU,
        GOLDEN_RATIO,
        0.577_215_664_901_532_9,
    ]
};

/// True if a text has a number that clippy may take for a constant of mathematics: a number with a
/// decimal point, within 0.2 % of the constant.
pub(super) fn is_near_a_constant(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let numbers = text.split(|c| !is_part(c)).filter(|word| word.contains('.'));
    let near = |number: f64| {
        OF_MATHEMATICS.iter().any(|constant| (number - constant).abs() < 2e-3 * constant)
    };
    numbers.filter_map(|number| number.parse().ok()).any(near)
}

/// For modules of kernels: the lints that their text may trigger.
pub(super) fn kernels(text: &str) -> String {
    let lints = [
        (is_near_a_constant(text), ACTIVATIONS),
        (
            text.contains(" + "),
            "#[allow(clippy::assign_op_pattern, reason = \"a sum keeps the order of its \
             operands\")]",
        ),
        (
            text.lines().any(has_long_list),
            "#[allow(clippy::too_many_arguments, reason = \"a kernel takes every buffer as an \
             argument\")]",
        ),
    ];
    lints.into_iter().filter(|(is_so, _)| *is_so).map(|(_, lint)| format!("{lint}\n")).collect()
}

/// For activations.
pub(super) const ACTIVATIONS: &str = "#[allow(clippy::approx_constant, \
reason = \"a coefficient may be near a constant of mathematics\")]";

/// For functions with more parameters than clippy allows.
pub(super) const MANY: &str = "#[allow(clippy::too_many_arguments, reason = \"a function takes \
    every tensor as an argument\")]\n";
