//! Files of a zip archive, from its central directory.

use std::io::{self, Read, Seek, SeekFrom};

/// Maximum size of the end record: 22 bytes, and a comment of at most 65535 bytes.
const LONGEST_END: u64 = 22 + 0xffff;
/// Limits for reading the directory, in bytes and in names.
const LONGEST_DIRECTORY: u64 = 1 << 20;
const MOST_NAMES: usize = 4096;

/// Maximum size in bytes of a file read from an archive.
const LARGEST_FILE: u64 = 16 << 20;

/// A file of an archive, from its entry in the directory.
struct Entry {
    name: String,
    /// Compression method. 0: stored.
    method: u64,
    size: u64,
    /// Offset of the file's local header. The file's bytes follow the header.
    start: u64,
}

/// Names of the files in an archive. `None` if the directory is missing, as in a truncated file.
pub(super) fn names(file: &mut (impl Read + Seek)) -> io::Result<Option<Vec<String>>> {
    let entries = entries(file)?;
    Ok(entries.map(|entries| entries.into_iter().map(|entry| entry.name).collect()))
}

/// The bytes of the first file with a name that ends in `name`. `None` if the archive has no such
/// file, or if the file is compressed, too large or damaged.
pub(super) fn stored(file: &mut (impl Read + Seek), name: &str) -> io::Result<Option<Vec<u8>>> {
    let entries = entries(file)?.unwrap_or_default();
    let Some(entry) = entries.iter().find(|entry| entry.name.ends_with(name)) else {
        return Ok(None);
    };
    if entry.method != 0 || entry.size > LARGEST_FILE {
        return Ok(None);
    }
    let record = read(file, entry.start, 30)?;
    let (Some(name), Some(extra)) = (number(&record, 26, 2), number(&record, 28, 2)) else {
        return Ok(None);
    };
    let bytes = read(file, entry.start + 30 + name + extra, entry.size)?;
    Ok((record.starts_with(b"PK\x03\x04") && bytes.len() as u64 == entry.size).then_some(bytes))
}

/// The entries of an archive's directory. `None` without a directory.
fn entries(file: &mut (impl Read + Seek)) -> io::Result<Option<Vec<Entry>>> {
    let len = file.seek(SeekFrom::End(0))?;
    let end = read(file, len.saturating_sub(LONGEST_END), LONGEST_END)?;
    // the last match: a stored file may be an archive too
    let Some(at) = end.windows(4).rposition(|bytes| bytes == b"PK\x05\x06") else {
        return Ok(None);
    };
    let record = &end[at..];
    let (Some(size), Some(start)) = (number(record, 12, 4), number(record, 16, 4)) else {
        return Ok(None);
    };
    // values beyond 32 bits are in the zip64 record
    let (size, start) = match size == 0xffff_ffff || start == 0xffff_ffff {
        false => (size, start),
        true => {
            let Some(locator) =
                at.checked_sub(20).filter(|&at| end[at..].starts_with(b"PK\x06\x07"))
            else {
                return Ok(None);
            };
            let Some(offset) = number(&end[locator..], 8, 8) else { return Ok(None) };
            let record = read(file, offset, 56)?;
            match (
                record.starts_with(b"PK\x06\x06"),
                number(&record, 40, 8),
                number(&record, 48, 8),
            ) {
                (true, Some(size), Some(start)) => (size, start),
                _ => return Ok(None),
            }
        }
    };
    let directory = read(file, start, size.min(LONGEST_DIRECTORY))?;
    let mut entries = Vec::new();
    let mut rest = &directory[..];
    while entries.len() < MOST_NAMES && rest.starts_with(b"PK\x01\x02") {
        let (Some(name), Some(extra), Some(comment)) =
            (number(rest, 28, 2), number(rest, 30, 2), number(rest, 32, 2))
        else {
            break;
        };
        let end = 46 + name as usize;
        let Some(text) = rest.get(46..end) else { break };
        let field = |at: usize, len: usize| number(rest, at, len).unwrap_or_default();
        let name = String::from_utf8_lossy(text).into_owned();
        entries.push(Entry { name, method: field(10, 2), size: field(24, 4), start: field(42, 4) });
        rest = rest.get(end + (extra + comment) as usize..).unwrap_or_default();
    }
    Ok((size == 0 || !entries.is_empty()).then_some(entries))
}

/// Up to `len` bytes from `start` on.
fn read(file: &mut (impl Read + Seek), start: u64, len: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.by_ref().take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A little-endian number of `len` bytes. `None` beyond the end.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + len)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
