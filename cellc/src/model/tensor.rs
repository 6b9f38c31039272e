//! Element types, and tensors known when compiling.

use std::ops::Range;
use std::sync::Arc;

/// An element type of tensors in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the names document the variants
pub enum ElementType {
    F16,
    Bf16,
    F32,
    F64,
    /// Two elements per byte, the first in the low four bits.
    I4,
    /// Like [`Self::I4`], unsigned.
    U4,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    /// One byte per element, 0 or 1.
    Bool,
}

impl ElementType {
    /// All element types, in the order of messages.
    pub const ALL: [Self; 15] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::F64,
        Self::I4,
        Self::U4,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::Bool,
    ];

    /// Bits per element.
    pub fn bits(self) -> usize {
        match self {
            Self::I4 | Self::U4 => 4,
            Self::I8 | Self::U8 | Self::Bool => 8,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 16,
            Self::F32 | Self::I32 | Self::U32 => 32,
            Self::F64 | Self::I64 | Self::U64 => 64,
        }
    }

    /// Bytes per element. 1 for types with two elements per byte.
    pub fn size(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// The number of bytes of `elements` elements. `None` on overflow.
    pub fn bytes(self, elements: usize) -> Option<usize> {
        match self.bits() {
            4 => Some(elements.div_ceil(2)),
            bits => elements.checked_mul(bits / 8),
        }
    }

    /// True for floating point types. Computations use f32.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// OpenVINO's name: `f16`, `i64`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I4 => "i4",
            Self::U4 => "u4",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::Bool => "boolean",
        }
    }
}

/// A constant tensor: little-endian elements in C order, a range of bytes that may be shared with
/// other tensors.
#[derive(Clone, PartialEq)]
pub struct Tensor {
    shape: Vec<usize>,
    element: ElementType,
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
    /// The number of elements in `range` in front of the first element: 1 if a tensor of 4-bit
    /// elements starts in the middle of a byte.
    skipped: usize,
}

impl Tensor {
    /// A tensor over `bytes[range]`.
    ///
    /// `None` if the range is not inside `bytes` or holds fewer bytes than the shape needs. Further
    /// bytes are allowed and not read.
    pub fn new(
        shape: Vec<usize>,
        element: ElementType,
        bytes: Arc<Vec<u8>>,
        range: Range<usize>,
    ) -> Option<Self> {
        let need = element.bytes(elements(&shape)?)?;
        let end = range.start.checked_add(need)?;
        let fits = end <= range.end && range.end <= bytes.len();
        fits.then_some(Self { shape, element, bytes, range: range.start..end, skipped: 0 })
    }

    /// A tensor of f32 values. `None` unless there is one value for each element of the shape.
    pub fn from_f32(shape: Vec<usize>, values: &[f32]) -> Option<Self> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let n = bytes.len();
        let t = Self::new(shape, ElementType::F32, Arc::new(bytes), 0..n)?;
        (t.len() == values.len()).then_some(t)
    }

    /// A tensor of i64 values. `None` unless there is one value for each element of the shape.
    pub fn from_i64(shape: Vec<usize>, values: &[i64]) -> Option<Self> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let n = bytes.len();
        let t = Self::new(shape, ElementType::I64, Arc::new(bytes), 0..n)?;
        (t.len() == values.len()).then_some(t)
    }

    /// A tensor over a part of the bytes: the elements of `shape`, from element `from` on. `None`
    /// if the tensor has too few elements.
    pub fn part(&self, from: usize, shape: Vec<usize>) -> Option<Self> {
        let count = elements(&shape)?;
        from.checked_add(count).filter(|&end| end <= self.len())?;
        let bits = self.element.bits();
        let (first, last) = (self.skipped + from, self.skipped + from + count);
        let start = self.range.start + self.element.bytes(first)?
            - usize::from(bits == 4 && first % 2 == 1);
        let end = self.range.start + self.element.bytes(last)?;
        let skipped = if bits == 4 { first % 2 } else { 0 };
        Some(Self {
            shape,
            element: self.element,
            bytes: self.bytes.clone(),
            range: start..end.max(start),
            skipped,
        })
    }

    /// The address of the first element: a pointer, and an offset in bits. Tensors that share their
    /// elements have equal addresses.
    pub fn address(&self) -> (*const u8, usize) {
        (self.bytes.as_ptr(), 8 * self.range.start + self.skipped * self.element.bits())
    }

    /// The bytes of the elements. For 4-bit elements, every byte that holds an element of the
    /// tensor.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of the elements.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True if the tensor has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `i` in C order, widened to f64 (exact for every type but large i64 and u64).
    ///
    /// # Panics
    /// If `i` is not below [`Self::len`].
    pub fn get_f64(&self, i: usize) -> f64 {
        match self.element {
            ElementType::F16 => super::half::F16::from_le_bytes(self.get(i)).to_f64(),
            ElementType::Bf16 => super::half::Bf16::from_le_bytes(self.get(i)).to_f64(),
            ElementType::F32 => f64::from(f32::from_le_bytes(self.get(i))),
            ElementType::F64 => f64::from_le_bytes(self.get(i)),
            ElementType::U64 => u64::from_le_bytes(self.get(i)) as f64,
            // all other types are integers
            _ => self.get_i64(i).map_or(f64::NAN, |value| value as f64),
        }
    }

    /// The first infinite or NaN element. `None` if all are finite.
    pub fn not_finite(&self) -> Option<f64> {
        let count = if self.element.is_float() { self.len() } else { 0 };
        (0..count).map(|i| self.get_f64(i)).find(|value| !value.is_finite())
    }

    /// Element `i` as f32, the arithmetic of kernels. f16 and bf16 expand exactly, all other types
    /// round once.
    ///
    /// # Panics
    /// If `i` is not below [`Self::len`].
    pub fn get_f32(&self, i: usize) -> f32 {
        match self.element {
            // f64 as an intermediate would make a signalling NaN quiet, and round large integers
            // twice
            ElementType::F32 => f32::from_le_bytes(self.get(i)),
            ElementType::U64 => u64::from_le_bytes(self.get(i)) as f32,
            _ => match self.get_i64(i) {
                Some(value) => value as f32,
                None => self.get_f64(i) as f32,
            },
        }
    }

    /// Element `i` of an integer tensor. A u64 above the largest i64 becomes the largest i64.
    /// `None` for floating point types.
    ///
    /// # Panics
    /// If `i` is not below [`Self::len`].
    pub fn get_i64(&self, i: usize) -> Option<i64> {
        match self.element {
            ElementType::I4 => Some(i64::from((self.nibble(i) << 4) as i8 >> 4)),
            ElementType::U4 => Some(i64::from(self.nibble(i))),
            ElementType::I8 => Some(i64::from(i8::from_le_bytes(self.get(i)))),
            ElementType::U8 => Some(i64::from(u8::from_le_bytes(self.get(i)))),
            ElementType::Bool => Some(i64::from(self.get(i) != [0])),
            ElementType::I16 => Some(i64::from(i16::from_le_bytes(self.get(i)))),
            ElementType::U16 => Some(i64::from(u16::from_le_bytes(self.get(i)))),
            ElementType::I32 => Some(i64::from(i32::from_le_bytes(self.get(i)))),
            ElementType::U32 => Some(i64::from(u32::from_le_bytes(self.get(i)))),
            ElementType::I64 => Some(i64::from_le_bytes(self.get(i))),
            ElementType::U64 => {
                Some(i64::try_from(u64::from_le_bytes(self.get(i))).unwrap_or(i64::MAX))
            }
            ElementType::F16 | ElementType::Bf16 | ElementType::F32 | ElementType::F64 => None,
        }
    }

    /// The bytes of element `i`.
    fn get<const SIZE: usize>(&self, i: usize) -> [u8; SIZE] {
        let at = self.range.start + i * SIZE;
        assert!(at + SIZE <= self.range.end, "tensor index out of range");
        std::array::from_fn(|k| self.bytes[at + k])
    }

    /// The four bits of element `i`.
    fn nibble(&self, i: usize) -> u8 {
        assert!(i < self.len(), "tensor index out of range");
        let at = self.skipped + i;
        (self.bytes[self.range.start + at / 2] >> (4 * (at % 2))) & 15
    }
}

/// The number of elements of a shape. `None` on overflow.
fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({:?} {})", self.shape, self.element.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width() {
        let cases: [(ElementType, &[u8], &[i64]); 10] = [
            (ElementType::I4, &[0x7f, 0x98], &[-1, 7, -8, -7]),
            (ElementType::U4, &[0x7f, 0x98], &[15, 7, 8, 9]),
            (ElementType::I8, &[0x80, 0x7f], &[-128, 127]),
            (ElementType::U8, &[0x80, 0xff], &[128, 255]),
            (ElementType::Bool, &[0, 1, 2], &[0, 1, 1]),
            (ElementType::I16, &[0, 0x80, 0xff, 0x7f], &[-32768, 32767]),
            (ElementType::U16, &[0, 0x80, 0xff, 0xff], &[32768, 65535]),
            (ElementType::I32, &[0, 0, 0, 0x80], &[-(1 << 31)]),
            (ElementType::U32, &[0, 0, 0, 0x80], &[1 << 31]),
            (ElementType::U64, &[0, 0, 0, 0, 0, 0, 0, 0x80], &[i64::MAX]),
        ];
        for (element, bytes, values) in cases {
            let len = bytes.len();
            let tensor =
                Tensor::new(vec![values.len()], element, Arc::new(bytes.to_vec()), 0..len).unwrap();
            let got: Vec<i64> = (0..values.len()).map(|i| tensor.get_i64(i).unwrap()).collect();
            assert_eq!(got, values, "{element:?}");
            if element != ElementType::U64 {
                assert_eq!(tensor.get_f64(0), values[0] as f64, "{element:?}");
                assert_eq!(tensor.get_f32(0), values[0] as f32, "{element:?}");
            }
            // a tensor needs all bytes of its elements
            let bytes = Arc::new(bytes.to_vec());
            assert_eq!(
                Tensor::new(vec![values.len()], element, bytes, 0..len - 1),
                None,
                "{element:?}"
            );
        }
        let large =
            Tensor::new(vec![1], ElementType::U64, Arc::new(vec![0, 0, 0, 0, 0, 0, 0, 0x80]), 0..8)
                .unwrap();
        assert_eq!((large.get_f64(0), large.get_f32(0)), (2f64.powi(63), 2f32.powi(63)));
    }

    #[test]
    fn parts_may_start_inside_a_byte() {
        let tensor = Tensor::new(
            vec![7],
            ElementType::U4,
            Arc::new(vec![0xff, 0x10, 0x32, 0x54, 0x76]),
            1..5,
        )
        .unwrap();
        let values = |t: &Tensor| (0..t.len()).map(|i| t.get_i64(i).unwrap()).collect::<Vec<_>>();
        assert_eq!(values(&tensor), [0, 1, 2, 3, 4, 5, 6]);
        for from in 0..7 {
            for count in 0..=7 - from {
                let part = tensor.part(from, vec![count]).unwrap();
                let wanted: Vec<i64> = (from..from + count).map(|v| v as i64).collect();
                assert_eq!(values(&part), wanted);
                let inner = part.part(count / 2, vec![count - count / 2]).unwrap();
                assert_eq!(values(&inner), wanted[count / 2..]);
                assert_eq!(
                    inner.address(),
                    tensor.part(from + count / 2, vec![0]).unwrap().address()
                );
            }
            assert_eq!(tensor.part(from, vec![8 - from]), None);
        }
        let wide = Tensor::from_i64(vec![2, 2], &[1, 2, 3, 4]).unwrap();
        assert_eq!(values(&wide.part(2, vec![1, 2]).unwrap()), [3, 4]);
        assert_eq!(wide.part(2, vec![3]), None);
        assert_eq!(wide.part(0, vec![usize::MAX, 2]), None);
    }
}
