//! The outermost fields of a protobuf message, without their contents.

use std::io::{self, Read, Seek, SeekFrom};

/// Maximum number of fields examined.
const MOST: usize = 64;

/// The first fields of a message.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Fields {
    /// Numbers of the length-delimited fields: bytes, texts, messages.
    pub(super) bytes: Vec<u64>,
    /// Fields of varints: field number, value.
    pub(super) numbers: Vec<(u64, u64)>,
    /// Numbers of the groups and the fields of fixed length. None of the recognised formats has a
    /// field of these kinds.
    pub(super) other_fields: Vec<u64>,
    /// True if the last field ends beyond the end of the file.
    pub(super) cut: bool,
}

/// The first fields of a file. `None` if the file is no protobuf message.
pub(super) fn fields(file: &mut (impl Read + Seek)) -> io::Result<Option<Fields>> {
    let len = file.seek(SeekFrom::End(0))?;
    let mut fields = Fields::default();
    let mut at = 0;
    // field numbers of the open groups: fields inside a group are not fields of the message
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
            fields.other_fields.push(field);
        }
    }
    fields.cut = at > len;
    Ok(Some(fields))
}

/// A varint and its length in bytes.
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
