//! Limits the length of names and metadata of a model.

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Origin};
use crate::model::{Model, Op};

/// Maximum length of a name or a text of metadata in bytes. Longer texts are truncated.
pub(super) const LONGEST: usize = 4096;

/// Truncates long names and metadata, with a number to keep them distinct. Returns a notice if any
/// was truncated.
pub(super) fn cut(model: &mut Model) -> Option<Diagnostic> {
    let mut texts = Texts::default();
    model.name.iter_mut().for_each(|name| texts.cut(name));
    model.dimensions.iter_mut().for_each(|name| texts.cut(name));
    model.values.iter_mut().flat_map(|value| &mut value.names).for_each(|name| texts.cut(name));
    for node in &mut model.nodes {
        texts.cut(&mut node.name);
        texts.cut(&mut node.kind);
        if let Op::ReadValue { variable, .. } | Op::Assign { variable, .. } = &mut node.op {
            texts.cut(variable);
        }
        for entry in &mut node.ledger {
            texts.cut(&mut entry.attribute);
            texts.cut(&mut entry.meaning);
            entry.text.iter_mut().for_each(|given| texts.cut(given));
        }
    }
    texts.notice()
}

/// Truncated texts.
#[derive(Default)]
struct Texts {
    /// The truncated text for each original. Equal texts stay equal, different texts stay
    /// different.
    cut: HashMap<String, String>,
    /// Length of the longest text in bytes.
    longest: usize,
}

impl Texts {
    fn cut(&mut self, text: &mut String) {
        if text.len() <= LONGEST {
            return;
        }
        self.longest = self.longest.max(text.len());
        let number = self.cut.len() + 1;
        let whole = std::mem::take(text);
        text.clone_from(self.cut.entry(whole).or_insert_with_key(|whole| {
            let end = (0..LONGEST - 32).rev().find(|&end| whole.is_char_boundary(end)).unwrap_or(0);
            format!("{}…{number}", &whole[..end])
        }));
    }

    fn notice(&self) -> Option<Diagnostic> {
        if self.cut.is_empty() {
            return None;
        }
        let longest = self.longest;
        let found = match self.cut.len() {
            1 => format!(
                "a name or a text of the model's metadata has {longest} bytes: its beginning is \
                 kept, up to {LONGEST}"
            ),
            count => format!(
                "{count} of the model's names and metadata are longer than {LONGEST} bytes, the \
                 longest has {longest}: their beginnings are kept"
            ),
        };
        Some(Diagnostic::notice(Origin::Unknown, found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_stay_different() {
        let mut texts = Texts::default();
        let long = "\u{e9}".repeat(LONGEST);
        let mut samples = [long.clone(), format!("{long}2"), long.clone(), "e".repeat(LONGEST)];
        samples.iter_mut().for_each(|text| texts.cut(text));
        let [first, second, again, short] = &samples;
        assert!(
            first.len() <= LONGEST && second.len() <= LONGEST && first != second && first == again
        );
        assert_eq!(*short, "e".repeat(LONGEST));
        let notice = texts.notice().unwrap().to_string();
        assert!(
            notice.starts_with("2 of the model's names") && notice.contains("the longest has 8193"),
            "{notice}"
        );
        let mut single = Texts::default();
        single.cut(&mut long.clone());
        let notice = single.notice().unwrap().to_string();
        assert!(
            notice.starts_with("a name or a text")
                && notice.contains("8192 bytes: its beginning is"),
            "{notice}"
        );
        assert_eq!(Texts::default().notice(), None);
    }
}
