//! Comparison of the reader with the crate `safetensors`. `what_the_crate_ignores_is_refused` tests
//! headers that only the crate accepts.

use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use super::*;
use crate::random::Random;

/// The contents of a header: the type, the shape and the bytes of each tensor by name, and the
/// metadata.
type Parsed = (BTreeMap<String, (String, Vec<usize>, Range<usize>)>, BTreeMap<String, String>);

fn ours(file: &[u8]) -> Result<Parsed, String> {
    let header = read(file)?;
    let tensor = |t: TensorInfo| (t.name, (t.element.0.to_owned(), t.shape, t.bytes));
    Ok((header.tensors.into_iter().map(tensor).collect(), header.metadata))
}

fn of_crate(file: &[u8]) -> Result<Parsed, String> {
    let (length, header) = SafeTensors::read_metadata(file).map_err(|error| error.to_string())?;
    let tensors = header
        .tensors()
        .into_iter()
        .map(|(name, info)| {
            let (start, end) = info.data_offsets;
            (
                name,
                (
                    format!("{:?}", info.dtype),
                    info.shape.clone(),
                    start + 8 + length..end + 8 + length,
                ),
            )
        })
        .collect();
    Ok((tensors, header.metadata().clone().unwrap_or_default().into_iter().collect()))
}

fn file(header: &[u8], data: usize) -> Vec<u8> {
    let length = u64::try_from(header.len()).expect("a length");
    [&length.to_le_bytes(), header, &vec![0; data]].concat()
}

fn below(random: &mut Random, end: usize) -> usize {
    usize::try_from(random.lengths(1, end - 1)[0]).expect("a number from 0")
}

/// A file as the crate writes it.
fn written(random: &mut Random) -> Vec<u8> {
    const NAMES: [&str; 12] = [
        "",
        "a",
        "gru.weight_ih_l0",
        "\"",
        "\\",
        "\n",
        "\u{1}",
        "é",
        "😀",
        "__metadata",
        "\u{7f}",
        "名.bias",
    ];
    const TYPES: [Dtype; 22] = [
        Dtype::BOOL,
        Dtype::F4,
        Dtype::F6_E2M3,
        Dtype::F6_E3M2,
        Dtype::U8,
        Dtype::I8,
        Dtype::F8_E5M2,
        Dtype::F8_E4M3,
        Dtype::F8_E8M0,
        Dtype::F8_E4M3FNUZ,
        Dtype::F8_E5M2FNUZ,
        Dtype::I16,
        Dtype::U16,
        Dtype::F16,
        Dtype::BF16,
        Dtype::I32,
        Dtype::U32,
        Dtype::F32,
        Dtype::C64,
        Dtype::F64,
        Dtype::I64,
        Dtype::U64,
    ];
    let data = [0; 4 * 3 * 2 * 8];
    let mut tensors = HashMap::new();
    for _ in 0..below(random, 5) {
        let (dtype, name) = (TYPES[below(random, TYPES.len())], NAMES[below(random, NAMES.len())]);
        // a multiple of 4, so that types of 4 and 6 bits fill bytes; or no dimension at all
        let shape = match below(random, 4) {
            0 if dtype.bitsize() >= 8 => vec![],
            1 => vec![4, 0],
            rank => [4, 3, 2][..rank.max(1)].to_vec(),
        };
        let bytes = shape.iter().product::<usize>() * dtype.bitsize() / 8;
        tensors.insert(name, TensorView::new(dtype, shape, &data[..bytes]).expect("as many bytes"));
    }
    let metadata = match below(random, 3) {
        0 => None,
        count => Some(
            NAMES[..count]
                .iter()
                .map(|key| (key.to_string(), NAMES[below(random, 12)].to_owned()))
                .collect(),
        ),
    };
    serialize(tensors, metadata).expect("a file")
}

#[test]
fn what_the_crate_writes_is_read() {
    let mut random = Random::new(1);
    for _ in 0..2000 {
        let file = written(&mut random);
        assert_eq!(ours(&file), of_crate(&file), "{}", file.escape_ascii());
        assert!(ours(&file).is_ok(), "{}", file.escape_ascii());
    }
}

/// Changes a file in a few places.
fn changed(file: &mut Vec<u8>, random: &mut Random) {
    const PIECES: [&[u8]; 44] = [
        b" ",
        b"\n",
        b"\t",
        b"\r",
        b"\x0b",
        b"\x0c",
        b"\xff",
        b"\xc3\xa9",
        b"\xc2\xa0",
        b"\0",
        b"\"",
        b"\\",
        b"\\\"",
        b"\\/",
        b"\\n",
        b"\\x",
        b"\\u0041",
        b"\\u00",
        b"\\ud83d\\ude00",
        b"\\ud83d",
        b"\\ude00",
        b"\\u+123",
        b"0",
        b"1",
        b"9",
        b"-",
        b"+",
        b".0",
        b"e0",
        b"E+1",
        b"18446744073709551615",
        b"18446744073709551616",
        b"null",
        b"true",
        b"{}",
        b"[]",
        b"{",
        b"]",
        b",",
        b":",
        b"\"a\":",
        b"\"F32\"",
        b"\"__metadata__\":{},",
        b"\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},",
    ];
    let length = 8 + usize::from(u16::from_le_bytes([file[0], file[1]]));
    let (mut header, mut data) = (file[8..length].to_vec(), file.len() - length);
    for _ in 0..=below(random, 3) {
        let at = below(random, header.len() + 1);
        let end = (at + below(random, 8)).min(header.len());
        match below(random, 8) {
            0 => header.drain(at..end).for_each(drop),
            1 => header.splice(at..at, header[at..end].to_vec()).for_each(drop),
            2 => header
                .splice(at..end, PIECES[below(random, PIECES.len())].iter().copied())
                .for_each(drop),
            3 => data = (data + below(random, 17)).saturating_sub(8),
            _ => header
                .splice(at..at, PIECES[below(random, PIECES.len())].iter().copied())
                .for_each(drop),
        }
    }
    let stated = match below(random, 32) {
        0 => header.len() + below(random, 3),
        1 => header.len().saturating_sub(1),
        _ => header.len(),
    };
    *file = self::file(&header, data);
    file[..8].copy_from_slice(&(stated as u64).to_le_bytes());
}

/// The number of changed headers that both readers accept. Panics if the readers differ, except in
/// headers that only the crate accepts.
fn accepted(seed: u64, headers: usize) -> usize {
    let mut random = Random::new(seed);
    let mut accepted = 0;
    for _ in 0..headers {
        let mut file = written(&mut random);
        changed(&mut file, &mut random);
        match (ours(&file), of_crate(&file)) {
            (Err(why), Ok(_)) => {
                let ignored = why.contains("twice") || why.contains("unknown key");
                assert!(ignored, "{why}: {}", file.escape_ascii());
            }
            (Err(_), Err(_)) => {}
            (ours, of_crate) => {
                assert_eq!(ours, of_crate, "{}", file.escape_ascii());
                accepted += 1;
            }
        }
    }
    accepted
}

#[test]
fn changed_headers_are_accepted_where_the_crate_accepts_them() {
    let accepted = accepted(2, 20_000);
    assert!((1000..19_000).contains(&accepted), "{accepted}");
}

#[test]
#[ignore = "takes minutes: by hand, after a change of the reader"]
fn many_more_headers() {
    for seed in 3..1000 {
        accepted(seed, 10_000);
    }
}

const A: &str = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;

#[test]
fn what_is_wrong_with_a_header_is_said() {
    let refused = |file: &[u8]| {
        assert!(of_crate(file).is_err(), "{}", file.escape_ascii());
        ours(file).expect_err("the crate refuses it")
    };
    assert!(ours(&file(A.as_bytes(), 4)).is_ok());
    assert_eq!(
        refused(b"1234567"),
        "it has 7 bytes, fewer than the 8 that every header begins with"
    );
    assert_eq!(
        refused(&[255; 8]),
        "its header would have 18446744073709551615 bytes, and at most 100000000 are read"
    );
    let of_length = |length: usize| [(length as u64).to_le_bytes(), *b"{}      "].concat();
    let why = "its header would have 100000001 bytes, and at most 100000000 are read";
    assert_eq!(refused(&of_length(LONGEST + 1)), why);
    let why = "it has 16 bytes and is cut: its header ends at byte 100000008";
    assert_eq!(refused(&of_length(LONGEST)), why);
    assert_eq!(
        refused(&file(A.as_bytes(), 4)[..20]),
        "it has 20 bytes and is cut: its header ends at byte 62"
    );
    assert_eq!(refused(&file(b"{\"\xff", 0)), "byte 10 is not UTF-8");
    assert_eq!(
        refused(&file(A.as_bytes(), 3)),
        "it has 3 bytes of data and is cut: its tensors have 4"
    );
    assert_eq!(
        refused(&file(A.as_bytes(), 5)),
        "it has 5 bytes of data too many: its tensors have 4"
    );
    let deep = format!("{{\"a\":{}", "[".repeat(1_000_000));
    assert!(
        refused(&file(deep.as_bytes(), 0))
            .ends_with(r#"has "[" at byte 13 of the file, where `{` should be"#)
    );
    for (from, to, why) in [
        (A, "", "its header has the end at byte 8 of the file, where `{` should be"),
        ("}}", "}", "its header has the end at byte 61 of the file, where `,` or `}` should be"),
        (
            "}}",
            "}},",
            r#"its header has "," at byte 62 of the file, where the end of the header should be"#,
        ),
        ("\"a\"", "a", r#"its header has "a" at byte 9 of the file, where `"` should be"#),
        (
            "\"a\"",
            "\"\t\"",
            r#"its header has "\u{9}" at byte 10 of the file, where the rest of a text should be"#,
        ),
        (
            "\"a\"",
            r#""\ud800""#,
            "its header has \"ud800\" at byte 11 of the file, where `u` and both halves of a pair \
             of surrogates should be",
        ),
        (
            "\"a\"",
            r#""\u004""#,
            "its header has \"u004\" at byte 11 of the file, where one of \"\\/bfnrt, or `u` with \
             four hexadecimal digits should be",
        ),
        ("\"dtype\":\"F32\",", "", "the tensor \"a\" has no dtype"),
        ("\"shape\":[1],", "", "the tensor \"a\" has no shape"),
        (",\"data_offsets\":[0,4]", "", "the tensor \"a\" has no data_offsets"),
        ("[0,4]", "[0,4,4]", "the tensor \"a\" has 3 data_offsets in place of 2"),
        (
            "[0,4]",
            "[0,4.0]",
            "its header has \"4.0\" at byte 58 of the file, where a whole number up to \
             18446744073709551615 should be",
        ),
        (
            "[0,4]",
            "[-1,4]",
            "its header has \"-1\" at byte 56 of the file, where a whole number up to \
             18446744073709551615 should be",
        ),
        (
            "[0,4]",
            "[00,4]",
            "its header has \"00\" at byte 56 of the file, where a whole number up to \
             18446744073709551615 should be",
        ),
        (
            "[1]",
            "[18446744073709551616]",
            "its header has \"18446744073709551616\" at byte 37 of the file, where a whole number \
             up to 18446744073709551615 should be",
        ),
        (
            "[0,4]",
            "[4,0]",
            "the tensor \"a\" ends at byte 0 of the data, before it starts, at byte 4",
        ),
        (
            "[0,4]",
            "[4,8]",
            "the data of the tensor \"a\" start at byte 4 and should at byte 0, without a gap or \
             an overlap",
        ),
        ("[0,4]", "[0,3]", "the tensor \"a\" has 3 bytes of data, and F32 of shape [1] has 4"),
        (
            "[1]",
            "[1,9223372036854775808,2,0]",
            "the tensor \"a\" is F32 of shape [1, 9223372036854775808, 2, 0]: more bytes than can \
             be counted",
        ),
        (
            "[1]",
            "[9223372036854775808]",
            "the tensor \"a\" is F32 of shape [9223372036854775808]: more bytes than can be \
             counted",
        ),
        (
            "F32\",\"shape\":[1]",
            "F4\",\"shape\":[7]",
            "the tensor \"a\" is F4 of shape [7]: it ends within a byte",
        ),
        (
            "{\"a\"",
            "{\"__metadata__\":{\"k\":1},\"a\"",
            r#"its header has "1" at byte 29 of the file, where `"` should be"#,
        ),
        (
            "{\"a\"",
            "{\"__metadata__\":[],\"a\"",
            r#"its header has "[" at byte 24 of the file, where `{` should be"#,
        ),
        (
            "{\"a\"",
            "{\"__metadata__\":{},\"__metadata__\":{},\"a\"",
            "the header has the key \"__metadata__\" twice",
        ),
    ] {
        assert!(A.contains(from), "{from}");
        let header = A.replacen(from, to, 1);
        assert_eq!(refused(&file(header.as_bytes(), 4)), why, "{header}");
    }
    let unknown = refused(&file(A.replace("F32", "F8").as_bytes(), 4));
    assert!(
        unknown.starts_with("the tensor \"a\" is of the unknown type \"F8\"; known are BOOL, F4,"),
        "{unknown}"
    );
    let overlapping = A.replace("}}", r#"},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}"#);
    let found = refused(&file(overlapping.as_bytes(), 6));
    assert_eq!(
        found,
        "the data of the tensor \"b\" start at byte 2 and should at byte 4, without a gap or an \
         overlap"
    );
}

#[test]
fn what_the_crate_ignores_is_refused() {
    for (from, to, why) in [
        // the crate takes the last of two equal keys
        (
            "}}",
            r#"},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}"#,
            "the header has the key \"a\" twice",
        ),
        (
            "{\"a\"",
            r#"{"__metadata__":{"k":"1","k":"2"},"a""#,
            "`__metadata__` has the key \"k\" twice",
        ),
        (
            "[1],",
            "[1],\"scale\":2,",
            "the tensor \"a\" has the unknown key \"scale\" beside dtype, shape and data_offsets",
        ),
        // forms that the derived reader of the crate accepts and the format does not have
        (
            "\"F32\"",
            "{\"F32\":null}",
            r#"its header has "{" at byte 22 of the file, where `"` should be"#,
        ),
        (
            r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#,
            r#"["F32",[1],[0,4]]"#,
            r#"its header has "[" at byte 13 of the file, where `{` should be"#,
        ),
    ] {
        let file = file(A.replacen(from, to, 1).as_bytes(), 4);
        assert!(of_crate(&file).is_ok(), "{to}");
        assert_eq!(ours(&file).as_ref().map_err(|why| &why[..]), Err(why), "{to}");
    }
}

#[test]
fn tensors_that_end_where_no_file_does_are_refused() {
    // eight tensors of 2^61 - 1 bytes and one of 7: with the header, the crate's sum overflows
    const MOST: u64 = (1 << 61) - 1;
    let tensor = |i: u64| {
        let (start, bytes) = (i * MOST, if i == 8 { 7 } else { MOST });
        let end = start + bytes;
        format!(r#""{i}":{{"dtype":"U8","shape":[{bytes}],"data_offsets":[{start},{end}]}}"#)
    };
    let tensors: Vec<String> = (0..9).map(tensor).collect();
    let file = file(format!("{{{}}}", tensors.join(",")).as_bytes(), 4);
    let found = "it has 4 bytes of data and is cut: its tensors have 18446744073709551615";
    assert_eq!(ours(&file).as_ref().map_err(|why| &why[..]), Err(found));
}

#[test]
fn null_is_no_metadata() {
    let file =
        file(A.replacen("{\"a\"", "{ \"__metadata__\" : null , \"\\u0061\"", 1).as_bytes(), 4);
    assert_eq!(ours(&file), of_crate(&file));
    assert!(ours(&file).is_ok_and(|(tensors, _)| tensors.contains_key("a")));
}
