//! The struct of a file's constants: a field for each array that kernels read.

use std::collections::{BTreeMap, BTreeSet};

use super::RustFile;
use super::types::block_type;
use crate::emit::constants::constant_use;
use crate::emit::names::identifier;
use crate::emit::text::Word;
use crate::emit::traversal::Block;
use crate::kernel::{BufferId, Element, Kernel, PanelGroup, PanelPart, Role};

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
    /// The fields in the order of the block. Shared contents have one field.
    fn stored(&self) -> &[Stored] {
        self.stored.get_or_init(|| self.fields())
    }

    fn fields(&self) -> Vec<Stored> {
        let readers = self.readers();
        let mut places = BTreeSet::new();
        let mut all: Vec<Stored> = Vec::new();
        let mut add = |at: usize, name: String, ty: String, doc: String| {
            if places.insert(at) {
                all.push(Stored { name, at, ty, doc });
            }
        };
        for (id, at) in &self.packed.parts {
            let buffer = self.program.buffer(*id);
            if buffer.len > 0 {
                let (len, element) = (buffer.len, buffer.element);
                let block = Block { name: String::new(), len, element, bytes: true, pass: None };
                let (name, doc) = self.named_by(readers.get(id).copied(), *id);
                add(*at, name, block_type(&block), doc);
            }
        }
        for variable in &self.interface.variables {
            if let Some(at) = self.initial(variable) {
                let doc = format!("The initial value of the variable `{}`.", variable.name);
                add(
                    at,
                    format!("initial_{}", variable.name),
                    format!("[f32; {}]", variable.len()),
                    doc,
                );
            }
        }
        all.sort_by_key(|field| field.at);
        let mut taken = BTreeSet::new();
        for field in &mut all {
            let numbered = |number: usize| format!("{}_{number}", field.name);
            if taken.contains(&field.name) {
                let free = (2..).map(numbered).find(|name| !taken.contains(name));
                field.name = free.expect("emit: numbers do not end");
            }
            taken.insert(field.name.clone());
        }
        all
    }

    /// The first kernel that reads each buffer.
    fn readers(&self) -> BTreeMap<BufferId, &Kernel> {
        let mut readers = BTreeMap::new();
        for kernel in self.program.bodies.iter().flat_map(|body| &body.kernels) {
            for (id, _) in kernel.params.iter().filter(|(_, is_written)| !is_written) {
                readers.entry(*id).or_insert(kernel);
            }
        }
        readers
    }

    /// The name of a buffer's field, and its documentation: from the first kernel that reads the
    /// buffer. `None`: only packing reads it.
    fn named_by(&self, kernel: Option<&Kernel>, id: BufferId) -> (String, String) {
        let name = kernel
            .and_then(|kernel| identifier(&kernel.name))
            .unwrap_or_else(|| "packing".to_owned());
        let buffer = self.program.buffer(id);
        if buffer.role != Role::Weights {
            let has_weights = |kernel: &Kernel| {
                // a body's own buffers hold no weights
                let buffers =
                    kernel.params.iter().filter_map(|(id, _)| self.program.buffers.get(id.0));
                buffers.into_iter().any(|buffer| buffer.role == Role::Weights)
            };
            let (noun, doc) = match kernel {
                Some(kernel) => constant_use(kernel, id, has_weights(kernel)),
                None => ("constant", "A constant".to_owned()),
            };
            return (format!("{name}_{noun}"), format!("{doc} of `{name}`."));
        }
        let format = match buffer.element {
            Element::F16 => ", as little-endian binary16",
            Element::I8 | Element::I8Pair => ", as bytes with a sign",
            _ => "",
        };
        let layout = match &buffer.layout[..] {
            [] => String::new(),
            groups => format!(": {}", layout(groups, buffer.len, self.program.alignment)),
        };
        (name.clone(), format!("The weights of `{name}`{format}{layout}."))
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

/// The panels of a buffer of `len` elements, in words.
fn layout(groups: &[PanelGroup], len: usize, alignment: usize) -> String {
    let alike = |one: &PanelGroup, other: &PanelGroup| {
        let rows = |part: &PanelPart| {
            (part.of, part.sums.clone(), part.shape[..part.shape.len() - 1].to_vec())
        };
        one.parts.iter().map(rows).eq(other.parts.iter().map(rows))
    };
    let mut texts = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let panels =
            format!("{} of {}", counted(group.count, "panel"), counted(group.columns, "unit"));
        let is_known = groups[..at].iter().any(|before| alike(before, group));
        let parts: Vec<_> = group.parts.iter().map(part).collect();
        texts.push(if is_known {
            format!("{panels} alike")
        } else {
            format!(
                "{panels}{} {}",
                if group.count == 1 { " with" } else { ", each with" },
                joined(&parts)
            )
        });
    }
    let is_m = |group: &PanelGroup| group.parts.iter().any(|part| part.sums.contains(&"m"));
    let of_m = if groups.iter().any(is_m) {
        "; m is the recurrent part of n, which r multiplies"
    } else {
        ""
    };
    let has_gaps = |group: &PanelGroup| group.parts.windows(2).any(|two| two[0].end() < two[1].at);
    let end = |group: &PanelGroup| group.count * group.parts.last().map_or(0, PanelPart::end);
    let is_filled = groups.iter().any(has_gaps) || groups.iter().map(end).sum::<usize>() < len;
    let of_gaps = match is_filled {
        true => format!("; zeros fill parts up to a multiple of {alignment} bytes"),
        false => String::new(),
    };
    format!("{}{of_m}{of_gaps}", texts.join("; then "))
}

/// A number and a noun: "1 row", "2 rows".
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A part of a panel, in words.
fn part(part: &PanelPart) -> String {
    let sizes: String = part.shape.iter().map(|size| format!("[{size}]")).collect();
    let sums: Vec<_> = part.sums.iter().map(|sum| (*sum).to_owned()).collect();
    format!("`{sizes}` {} for {}", part.of, joined(&sums))
}

/// A list of words in a sentence.
fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}
