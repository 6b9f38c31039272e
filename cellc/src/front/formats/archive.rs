//! What a zip archive holds, by its directory alone.

use std::io::{self, Read, Seek, SeekFrom};

/// The end of an archive: a record of 22 bytes, and a comment of at most 65535 behind it.
const LONGEST_END: u64 = 22 + 0xffff;
/// As much of the directory is looked at, in bytes and in names.
const LONGEST_DIRECTORY: u64 = 1 << 20;
const MOST_NAMES: usize = 4096;

/// The names of the files in it; `None` if it has no directory, as one that is cut short.
pub(super) fn names(file: &mut (impl Read + Seek)) -> io::Result<Option<Vec<String>>> {
    let len = file.seek(SeekFrom::End(0))?;
    let end = read(file, len.saturating_sub(LONGEST_END), LONGEST_END)?;
    // the last one: a file inside may be an archive too
    let Some(at) = end.windows(4).rposition(|bytes| bytes == b"PK\x05\x06") else { return Ok(None) };
    let record = &end[at..];
    let (Some(size), Some(start)) = (number(record, 12, 4), number(record, 16, 4)) else { return Ok(None) };
    // where archive or directory are too large for 32 bits, another record has both
    let (size, start) = match size == 0xffff_ffff || start == 0xffff_ffff {
        false => (size, start),
        true => {
            let Some(locator) = at.checked_sub(20).filter(|&at| end[at..].starts_with(b"PK\x06\x07")) else {
                return Ok(None);
            };
            let Some(place) = number(&end[locator..], 8, 8) else { return Ok(None) };
            let record = read(file, place, 56)?;
            match (record.starts_with(b"PK\x06\x06"), number(&record, 40, 8), number(&record, 48, 8)) {
                (true, Some(size), Some(start)) => (size, start),
                _ => return Ok(None),
            }
        }
    };
    let directory = read(file, start, size.min(LONGEST_DIRECTORY))?;
    let mut names = Vec::new();
    let mut rest = &directory[..];
    while names.len() < MOST_NAMES && rest.starts_with(b"PK\x01\x02") {
        let (Some(name), Some(extra), Some(comment)) = (number(rest, 28, 2), number(rest, 30, 2), number(rest, 32, 2))
        else {
            break;
        };
        let end = 46 + name as usize;
        let Some(text) = rest.get(46..end) else { break };
        names.push(String::from_utf8_lossy(text).into_owned());
        rest = rest.get(end + (extra + comment) as usize..).unwrap_or_default();
    }
    Ok((size == 0 || !names.is_empty()).then_some(names))
}

/// At most `len` bytes from `start` on.
fn read(file: &mut (impl Read + Seek), start: u64, len: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.by_ref().take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A little-endian number of `len` bytes.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + len)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
