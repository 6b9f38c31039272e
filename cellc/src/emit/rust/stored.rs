//! The struct of a file's constants: a field for each array that kernels read.

use std::collections::BTreeSet;

use super::RustFile;
use super::types::block_type;
use crate::emit::text::Word;
use crate::emit::traversal::Block;
use crate::pack::Initial;

/// A field of the struct of constants.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) name: String,
    /// The offset in the block, in units of 4 bytes. Identifies the field.
    at: usize,
    /// The array type.
    ty: String,
    /// Doc comment.
    doc: String,
}

impl RustFile<'_> {
    /// The fields in the order of the block. Arrays with equal contents share one field.
    fn stored(&self) -> &[Stored] {
        self.stored.get_or_init(|| self.fields())
    }

    fn fields(&self) -> Vec<Stored> {
        let readers = self.readers();
        let mut places = BTreeSet::new();
        let mut fields: Vec<Stored> = Vec::new();
        let mut add = |at: usize, name: String, ty: String, doc: String| {
            if places.insert(at) {
                fields.push(Stored { name, at, ty, doc });
            }
        };
        for (id, at) in &self.packed.parts {
            let buffer = self.program.buffer(*id);
            if buffer.len > 0 {
                let (len, element) = (buffer.len, buffer.element);
                let block = Block { name: String::new(), len, element, bytes: true, group: None };
                let (name, doc) = self.named_by(readers.get(id).copied(), *id);
                add(*at, name, block_type(&block), doc);
            }
        }
        for variable in &self.interface.variables {
            if let Some(initial) = self.initial(variable) {
                let Initial { at, len, .. } = initial;
                let part = initial.part(variable.len());
                let doc = format!("The initial value of the variable `{}`{part}.", variable.name);
                add(at, format!("initial_{}", variable.name), format!("[f32; {len}]"), doc);
            }
        }
        fields.sort_by_key(|field| field.at);
        let mut taken = BTreeSet::new();
        for field in &mut fields {
            let numbered = |number: usize| format!("{}_{number}", field.name);
            if taken.contains(&field.name) {
                let free = (2..).map(numbered).find(|name| !taken.contains(name));
                field.name = free.expect("emit: numbers do not end");
            }
            taken.insert(field.name.clone());
        }
        fields
    }

    /// The words of each field for the text.
    pub(super) fn stored_words(&self) -> Vec<Vec<Word>> {
        let words = |field: &Stored| {
            let Stored { name, ty, doc, .. } = field.clone();
            vec![("STORED_NAME", name), ("STORED_ARRAY", ty), ("STORED_DOC", doc)]
        };
        self.stored().iter().map(words).collect()
    }

    /// The name of the field at an offset.
    pub(super) fn stored_at(&self, at: usize) -> String {
        let found = self.stored().binary_search_by_key(&at, |field| field.at);
        self.stored()[found.expect("emit: a buffer that a kernel reads has a field")].name.clone()
    }
}
