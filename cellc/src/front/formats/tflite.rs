//! The operators of a TensorFlow Lite model, for advice about resource variables.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum number of bytes of a model that are examined.
const LARGEST: u64 = 64 << 20;

/// Codes of the operators that name or read resource variables: VAR_HANDLE, READ_VARIABLE.
const READING: [i64; 2] = [142, 143];

/// Code of the operator that writes a resource variable: ASSIGN_VARIABLE.
const WRITING: i64 = 144;

/// The use of resource variables by a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Variables {
    /// No operator writes the variables: they are weights.
    Constant,
    /// An operator writes the variables.
    Written,
}

/// The use of resource variables by a model. `None` if the model has none.
pub(super) fn variables(path: &Path) -> io::Result<Option<Variables>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    let codes = codes(&bytes).unwrap_or_default();
    let reads = codes.iter().any(|code| READING.contains(code));
    Ok(match codes.contains(&WRITING) {
        true => Some(Variables::Written),
        false => reads.then_some(Variables::Constant),
    })
}

/// The operator codes of a model. In the flatbuffer, they are field 1 of the root table.
fn codes(bytes: &[u8]) -> Option<Vec<i64>> {
    let root = number(bytes, 0, 4)?;
    let vector = follow(bytes, field(bytes, root, 1)?)?;
    let count = number(bytes, vector, 4)?;
    let code = |at: usize| {
        let table = follow(bytes, vector + 4 + 4 * at)?;
        // codes from 128 on are stored in the newer field, and the old field holds 127
        let old = field(bytes, table, 0).and_then(|at| number(bytes, at, 1)).unwrap_or(0);
        let new = field(bytes, table, 3).and_then(|at| number(bytes, at, 4)).unwrap_or(0);
        Some(old.max(new) as i64)
    };
    (0..count.min(1024)).map(code).collect()
}

/// The offset of a field. `None` if the table omits the field.
fn field(bytes: &[u8], table: usize, number_of: usize) -> Option<usize> {
    let back = number(bytes, table, 4)? as i32;
    let fields = usize::try_from(i64::try_from(table).ok()? - i64::from(back)).ok()?;
    let len = number(bytes, fields, 2)?;
    let entry = 4 + 2 * number_of;
    let offset = if entry + 2 <= len { number(bytes, fields + entry, 2)? } else { 0 };
    (offset != 0).then_some(table + offset)
}

/// The target of the offset stored at `at`.
fn follow(bytes: &[u8], at: usize) -> Option<usize> {
    at.checked_add(number(bytes, at, 4)?)
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

/// A model that consists of a list of operator codes.
#[cfg(test)]
pub(super) fn model_of(codes: &[u8]) -> Vec<u8> {
    let word = |n: usize| (n as u32).to_le_bytes();
    let mut bytes =
        [&word(16)[..], b"TFL3", &[8, 0, 8, 0, 0, 0, 4, 0], &word(8), &word(4)].concat();
    bytes.extend(word(codes.len()));
    let tables = bytes.len() + 4 * codes.len();
    for at in 0..codes.len() {
        let offset = tables + 24 * at + 12;
        bytes.extend(word(offset - bytes.len()));
    }
    for code in codes {
        // the vtable, then the table with fields 0 and 3
        bytes.extend([12, 0, 12, 0, 8, 0, 0, 0, 0, 0, 4, 0]);
        bytes.extend(
            [&word(12)[..], &word(usize::from(*code)), &word(usize::from((*code).min(127)))]
                .concat(),
        );
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_and_damage_is_no_panic() {
        let model = model_of(&[9, 143, 142]);
        assert_eq!(codes(&model), Some(vec![9, 143, 142]));
        for at in 0..model.len() {
            _ = codes(&model[..at]);
            let mut damaged = model.clone();
            damaged[at] ^= 0xff;
            _ = codes(&damaged);
        }
    }
}
