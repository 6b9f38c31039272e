//! Documentation of a file's constants: the kernel that reads each array, and the array's panels in
//! order.

use std::collections::BTreeMap;

use super::Contents;
use super::constants::constant_use;
use super::names::identifier;
use crate::kernel::{BufferId, Element, Kernel, PanelGroup, PanelPart, Role};

impl Contents<'_> {
    /// The first kernel that reads each buffer.
    pub(super) fn readers(&self) -> BTreeMap<BufferId, &Kernel> {
        let mut readers = BTreeMap::new();
        for kernel in self.program.bodies.iter().flat_map(|body| &body.kernels) {
            for (id, _) in kernel.params.iter().filter(|(_, is_written)| !is_written) {
                readers.entry(*id).or_insert(kernel);
            }
        }
        readers
    }

    /// The name and the documentation of a buffer's field. `kernel`: the first kernel that reads
    /// the buffer. `None`: only packing reads the buffer.
    pub(super) fn named_by(&self, kernel: Option<&Kernel>, id: BufferId) -> (String, String) {
        let name = kernel
            .and_then(|kernel| identifier(&kernel.name))
            .unwrap_or_else(|| "packing".to_owned());
        let buffer = self.program.buffer(id);
        if buffer.role != Role::Weights {
            let has_weights = |kernel: &Kernel| {
                // the buffers of a body, after those of the program, hold no weights
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
}

/// The panels of a buffer of `len` elements, in words.
fn layout(groups: &[PanelGroup], len: usize, alignment: usize) -> String {
    let alike = |one: &PanelGroup, other: &PanelGroup| {
        let rows = |part: &PanelPart| {
            (part.content, part.sums.clone(), part.shape[..part.shape.len() - 1].to_vec())
        };
        one.parts.iter().map(rows).eq(other.parts.iter().map(rows))
    };
    let mut texts = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let padded = match group.units < group.columns {
            true => format!(", padded to {} with zeros,", group.columns),
            false => String::new(),
        };
        let units = counted(group.units, "unit");
        let panels = format!("{} of {units}{padded}", counted(group.count, "panel"));
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
    format!("`{sizes}` {} for {}", part.content, joined(&sums))
}

/// A list of words in a sentence.
fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}
