//! The outermost fields of a protobuf message, without what is in them.

use std::io::{self, Read, Seek, SeekFrom};

/// As many fields are looked at.
const MOST: usize = 64;

/// The first fields of a message.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Fields {
    /// Numbers of those that are bytes: texts, messages.
    pub(super) bytes: Vec<u64>,
    /// Those that are numbers of variable length: field, value.
    pub(super) numbers: Vec<(u64, u64)>,
    /// Numbers of those of fixed length and of groups: no message that is looked for defines one.
    pub(super) others: Vec<u64>,
    /// Whether the last one says that it is longer than the file.
    pub(super) cut: bool,
}

/// The first fields of a file that may be a message; `None` if it cannot be one.
pub(super) fn fields(file: &mut (impl Read + Seek)) -> io::Result<Option<Fields>> {
    let len = file.seek(SeekFrom::End(0))?;
    let mut fields = Fields::default();
    let mut at = 0;
    // the numbers of the groups that have begun: a group's own fields are none of the message
    let mut groups = Vec::new();
    for _ in 0..MOST {
        if at >= len {
            break;
        }
        file.seek(SeekFrom::Start(at))?;
        let mut start = Vec::new();
        file.by_ref().take(20).read_to_end(&mut start)?;
        let Some((tag, tag_len)) = varint(&start) else { return Ok(None) };
        let (field, kind) = (tag >> 3, tag & 7);
        if field == 0 {
            return Ok(None);
        }
        at += tag_len as u64;
        match kind {
            0 | 2 => {
                let Some((value, value_len)) = varint(&start[tag_len..]) else { return Ok(None) };
                let skipped = if kind == 2 { value } else { 0 };
                at = at.saturating_add(value_len as u64).saturating_add(skipped);
                match kind {
                    _ if !groups.is_empty() => {}
                    0 => fields.numbers.push((field, value)),
                    _ => fields.bytes.push(field),
                }
                continue;
            }
            1 => at = at.saturating_add(8),
            5 => at = at.saturating_add(4),
            3 => groups.push(field),
            4 if groups.pop() == Some(field) => continue,
            _ => return Ok(None),
        }
        if groups.len() <= usize::from(kind == 3) {
            fields.others.push(field);
        }
    }
    fields.cut = at > len;
    Ok(Some(fields))
}

/// A number of variable length, and in how many bytes.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * i as u32)?;
        if byte & 0x80 == 0 {
            return Some((value, i + 1));
        }
    }
    None
}
