//! Names that Arm's headers of intrinsics declare.

use super::super::spell::declares_vector;

/// The beginnings of Arm's intrinsics with a type in the name: `vadd_f32`.
#[rustfmt::skip]
const NEON: &[&str] = &[
    "vab", "vadd", "van", "vbf", "vbi", "vbs", "vca", "vce", "vcg", "vcl", "vcm", "vcn", "vco", "vcr", "vcv", "vdi",
    "vdo", "vdu", "veo", "vex", "vfm", "vge", "vha", "vhs", "vld", "vma", "vmi", "vml", "vmo", "vmu", "vmv", "vne",
    "vor", "vpa", "vpm", "vqa", "vqd", "vqm", "vqn", "vqr", "vqs", "vqt", "vra", "vrb", "vre", "vrh", "vrn", "vrs",
    "vse", "vsh", "vsl", "vsq", "vsr", "vst", "vsu", "vtb", "vtr", "vts", "vuq", "vus", "vuz", "vzi",
];

/// The names of types in Arm's intrinsics, without the number of bits.
const TYPES: [&str; 6] = ["s", "u", "f", "p", "bf", "mf"];

/// Helium's intrinsics without a type in the name.
#[rustfmt::skip]
const HELIUM: &[&str] = &[
    "asrl", "lsll", "sqrshr", "sqrshrl", "sqrshrl_sat48", "sqshl", "sqshll", "srshr", "srshrl", "uqrshl", "uqrshll",
    "uqrshll_sat48", "uqshl", "uqshll", "urshr", "urshrl", "vpnot",
];

/// True if `arm_neon.h` or `arm_mve.h` may declare the name.
pub(super) fn declares(name: &str) -> bool {
    let (first, rest) = name.split_once('_').unwrap_or((name, ""));
    let number = |text: &str| matches!(text, "8" | "16" | "32" | "64" | "128");
    let is_type = |part: &str| TYPES.iter().any(|kind| part.strip_prefix(kind).is_some_and(number));
    let begins_with = |words: &[&str]| words.iter().any(|word| first.starts_with(word));
    let says_a_type = rest.split('_').any(is_type);
    // names without a type, such as `vaddq`
    let of_quadwords = first.len() >= 5 && first.starts_with('v') && first.ends_with('q');
    let of_lanes = matches!(first, "splat" | "splatq") && rest.starts_with("lane");
    of_quadwords
        || of_lanes
        || begins_with(NEON) && says_a_type
        || HELIUM.contains(&name)
        || declares_vector(name)
}
