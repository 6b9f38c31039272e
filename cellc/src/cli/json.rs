//! Reports as JSON.

use serde::Serialize;

/// A report as JSON, with a line break at its end. Its keys are the fields of `report`.
pub(super) fn text(report: &impl Serialize) -> String {
    let mut text = escaped(&serde_json::to_string_pretty(report).expect("keys are text"));
    text.push('\n');
    text
}

/// Replaces characters with an effect on a terminal or a viewer by JSON's escapes. Only strings
/// contain these characters.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // DEL and C1 controls; marks, embeddings, overrides and isolates of direction; line
            // separators
            '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn characters_with_an_effect_are_escaped() {
        let name = "a\u{7f}\u{80}\u{9b}31m\u{9f}\u{a0}\u{e9}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}\n";
        let json = serde_json::to_string(name).unwrap();
        let text = escaped(&json);
        let expected = "\"a\\u007f\\u0080\\u009b31m\\u009f\u{a0}\u{e9}\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a\\u202e\\u2066\\u2069\\n\"";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), name);
    }
}
