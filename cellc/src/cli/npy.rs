//! NumPy arrays: format versions 1 to 3, little-endian, C order.
//!
//! Written from the description of the format (numpy.lib.format). Crates for the format would add a
//! parser of Python.

use crate::kernel::Element;
use crate::model::ElementType;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The header of an array, and the offset of its elements.
#[derive(Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) shape: Vec<usize>,
    pub(crate) element: ElementType,
    /// Offset of the first element. The elements extend to the end of the file.
    pub(crate) start: usize,
}

/// Reads the header of a complete file. The error names the problem and the valid input.
pub(crate) fn read_header(file: &[u8]) -> Result<Header, String> {
    let rest =
        file.strip_prefix(MAGIC).ok_or("it is no .npy file: it does not start with \\x93NUMPY")?;
    let cut = || "its header is cut off".to_owned();
    let (length, fixed) = match *rest {
        [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([a, b])), 4),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]) as usize, 6),
        [version @ (0 | 4..), ..] => {
            return Err(format!("it is of format version {version}; 1, 2 and 3 are read"));
        }
        _ => return Err(cut()),
    };
    let text = rest.get(fixed..).and_then(|r| r.get(..length)).ok_or_else(cut)?;
    let text = str::from_utf8(text).map_err(|_| "its header is not text")?;
    let (descr, fortran_order, shape) = Literal(text)
        .header()
        .ok_or_else(|| format!("its header is not understood: {}", text.trim_end()))?;
    let element = match descr.as_str() {
        "<f2" => ElementType::F16,
        "<f4" => ElementType::F32,
        "<f8" => ElementType::F64,
        "|i1" => ElementType::I8,
        "|u1" => ElementType::U8,
        "|b1" => ElementType::Bool,
        "<i4" => ElementType::I32,
        "<i8" => ElementType::I64,
        other => {
            return Err(format!(
                "its elements are of type {other:?}; <f4, <f2, <f8, <i4, <i8, |i1, |u1 and |b1 are \
                 read (numpy: .astype(\"<f4\"))"
            ));
        }
    };
    if fortran_order && shape.iter().filter(|&&n| n != 1).count() > 1 {
        return Err(
            "it is in Fortran order; C order is needed (numpy: np.ascontiguousarray)".to_owned()
        );
    }
    let start = MAGIC.len() + fixed + length;
    let need = shape
        .iter()
        .try_fold(element.size(), |n, &d| n.checked_mul(d))
        .ok_or("its shape overflows")?;
    if file.len() - start != need {
        return Err(format!(
            "shape {shape:?} needs {need} bytes and {} follow the header",
            file.len() - start
        ));
    }
    Ok(Header { shape, element, start })
}

/// A file with the given elements in C order. Integers are given as f32.
pub(crate) fn write(element: Element, shape: &[usize], values: &[f32]) -> Vec<u8> {
    let descr = match element {
        Element::I32 => "<i4",
        Element::I64 => "<i8",
        Element::Bool => "|b1",
        _ => "<f4",
    };
    let sizes: String = shape.iter().map(|n| format!("{n}, ")).collect();
    // NumPy writes a trailing comma only for a shape of one size.
    let sizes = if shape.len() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let fixed = MAGIC.len() + 4;
    let padding = (fixed + header.len() + 1).next_multiple_of(64) - (fixed + header.len() + 1);
    header.extend(std::iter::repeat_n(' ', padding).chain(['\n']));
    let length = u16::try_from(header.len()).expect("a shape of a few sizes");
    let mut file = Vec::with_capacity(fixed + header.len() + 4 * values.len());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&[1, 0]);
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    match element {
        Element::I32 => file.extend(values.iter().flat_map(|v| (*v as i32).to_le_bytes())),
        Element::I64 => file.extend(values.iter().flat_map(|v| (*v as i64).to_le_bytes())),
        Element::Bool => file.extend(values.iter().map(|v| u8::from(*v != 0.0))),
        _ => file.extend(values.iter().flat_map(|v| v.to_le_bytes())),
    }
    file
}

/// The unread rest of a Python literal: a dict of strings, booleans and tuples of integers.
struct Literal<'a>(&'a str);

impl Literal<'_> {
    fn header(mut self) -> Option<(String, bool, Vec<usize>)> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.punctuation('{')?;
        while self.punctuation('}').is_none() {
            let key = self.string()?;
            self.punctuation(':')?;
            match key.as_str() {
                "descr" => descr = Some(self.string()?),
                "fortran_order" => order = Some(self.boolean()?),
                "shape" => shape = Some(self.tuple()?),
                _ => return None,
            }
            if self.punctuation(',').is_none() {
                self.punctuation('}')?;
                break;
            }
        }
        self.0.trim().is_empty().then_some((descr?, order?, shape?))
    }

    fn punctuation(&mut self, c: char) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(c)?;
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        let quote = ['\'', '"'].into_iter().find(|&q| self.punctuation(q).is_some())?;
        let (string, rest) = self.0.split_once(quote)?;
        self.0 = rest;
        Some(string.to_owned())
    }

    fn boolean(&mut self) -> Option<bool> {
        let text = self.0.trim_start();
        let (value, rest) = match text.strip_prefix("True") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("False")?),
        };
        self.0 = rest;
        Some(value)
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        self.punctuation('(')?;
        let mut sizes = Vec::new();
        while self.punctuation(')').is_none() {
            let text = self.0.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            sizes.push(text[..end].parse().ok()?);
            self.0 = &text[end..];
            if self.punctuation(',').is_none() {
                self.punctuation(')')?;
                break;
            }
        }
        Some(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, elements: usize) -> Vec<u8> {
        let mut file =
            [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
        file.resize(file.len() + elements, 0);
        file
    }

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![], vec![3], vec![1, 16], vec![2, 3, 4], vec![0, 5]] {
            let n: usize = shape.iter().product();
            let values: Vec<f32> = (0..n).map(|i| i as f32 - 0.5).collect();
            let file = write(Element::F32, &shape, &values);
            let header = read_header(&file).unwrap();
            assert_eq!((&header.shape, header.element), (&shape, ElementType::F32));
            assert_eq!(header.start % 64, 0);
            let read: Vec<f32> = file[header.start..]
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
                .collect();
            assert_eq!(read, values);
        }
    }

    #[test]
    fn the_bytes_are_numpy_s() {
        // numpy.save of float32 zeros of shape (3,)
        let mut expected =
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
                .to_vec();
        expected.resize(127, b' ');
        expected.push(b'\n');
        expected.resize(128 + 12, 0);
        assert_eq!(write(Element::F32, &[3], &[0.0; 3]), expected);
    }

    #[test]
    fn every_spelling_of_a_header_is_read() {
        for header in [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }  \n",
            "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f8\"}",
            "{'shape': (2, 3,), 'descr': '<f8', 'fortran_order': False}\n",
        ] {
            let header = read_header(&file(header, 48)).unwrap();
            assert_eq!((header.shape, header.element), (vec![2, 3], ElementType::F64));
        }
        // The order makes no difference for a vector.
        assert!(
            read_header(&file("{'descr': '|i1', 'fortran_order': True, 'shape': (1, 3)}", 3))
                .is_ok()
        );
        let long = "{'descr': '<f2', 'fortran_order': False, 'shape': ()}";
        for version in [2, 3] {
            let file = [
                MAGIC,
                &[version, 0],
                &(long.len() as u32).to_le_bytes(),
                long.as_bytes(),
                &[0, 0],
            ]
            .concat();
            assert_eq!(read_header(&file).unwrap().shape, [0usize; 0]);
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let fits = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        for (file, message) in [
            (b"".to_vec(), "no .npy file"),
            (b"PK\x03\x04".to_vec(), "no .npy file"),
            (MAGIC.to_vec(), "cut off"),
            ([MAGIC, &[1, 0, 255, 255]].concat(), "cut off"),
            ([MAGIC, &[2, 0, 255, 255, 255, 255]].concat(), "cut off"),
            ([MAGIC, &[9, 0]].concat(), "version 9"),
            (file("{'descr': '<f4', 'shape': (2,)}", 8), "not understood"),
            (
                file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8),
                "not understood",
            ),
            (file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8), "not understood"),
            (
                file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} and more", 8),
                "not understood",
            ),
            (file("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8), "<f4"),
            (file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", 24), "Fortran order"),
            (file(fits, 7), "needs 8 bytes and 7 follow"),
            (file(fits, 9), "needs 8 bytes and 9 follow"),
            (
                file(
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
                    0,
                ),
                "overflows",
            ),
        ] {
            let error = read_header(&file).unwrap_err();
            assert!(error.contains(message), "{error:?} does not say {message:?}");
        }
    }
}
