use std::ops::Range;
use std::sync::Arc;

/// An element type as inputs name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum ElementType {
    F16,
    Bf16,
    F32,
    F64,
    I8,
    U8,
    I32,
    I64,
    /// One byte an element, 0 or 1.
    Bool,
}

impl ElementType {
    /// Every element type, in the order in which messages list them.
    pub const ALL: [Self; 9] =
        [Self::F32, Self::F16, Self::Bf16, Self::F64, Self::I8, Self::U8, Self::I32, Self::I64, Self::Bool];

    /// Bytes an element.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }

    /// Whether it is a floating point type, computed in f32.
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
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::Bool => "boolean",
        }
    }
}

/// A constant tensor: little-endian elements in C order, a range of bytes that may be shared with other tensors.
#[derive(Clone, PartialEq)]
pub struct Tensor {
    shape: Vec<usize>,
    element: ElementType,
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Tensor {
    /// A tensor over `bytes[range]`.
    ///
    /// `None` if the range is not inside `bytes` or holds fewer bytes than the shape needs (more are allowed, and not read).
    pub fn new(shape: Vec<usize>, element: ElementType, bytes: Arc<Vec<u8>>, range: Range<usize>) -> Option<Self> {
        let need = shape.iter().try_fold(element.size(), |n, &d| n.checked_mul(d))?;
        let end = range.start.checked_add(need)?;
        let fits = end <= range.end && range.end <= bytes.len();
        fits.then_some(Self { shape, element, bytes, range: range.start..end })
    }

    /// A tensor of f32 values. `None` if there are not exactly as many as the shape needs.
    pub fn from_f32(shape: Vec<usize>, values: &[f32]) -> Option<Self> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let n = bytes.len();
        let t = Self::new(shape, ElementType::F32, Arc::new(bytes), 0..n)?;
        (t.len() == values.len()).then_some(t)
    }

    /// A tensor of i64 values. `None` if there are not exactly as many as the shape needs.
    pub fn from_i64(shape: Vec<usize>, values: &[i64]) -> Option<Self> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let n = bytes.len();
        let t = Self::new(shape, ElementType::I64, Arc::new(bytes), 0..n)?;
        (t.len() == values.len()).then_some(t)
    }

    /// As many elements as `shape` has, from element `from` on, over the same bytes. `None` if it has not so many.
    pub fn part(&self, from: usize, shape: Vec<usize>) -> Option<Self> {
        let start = from.checked_mul(self.element.size()).and_then(|at| self.range.start.checked_add(at))?;
        let range = start..self.range.end;
        (start <= self.range.end).then(|| Self::new(shape, self.element, self.bytes.clone(), range)).flatten()
    }

    /// Where its bytes stand, the same for tensors that share them.
    pub fn place(&self) -> (*const u8, usize) {
        (self.bytes.as_ptr(), self.range.start)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }

    /// Its shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How its elements are stored.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.range.len() / self.element.size()
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Element `i` in C order, widened to f64 (exact for every type but large i64).
    ///
    /// # Panics
    /// If `i` is not below [`Self::len`].
    pub fn get_f64(&self, i: usize) -> f64 {
        let size = self.element.size();
        let at = self.range.start + i * size;
        assert!(at + size <= self.range.end, "tensor index out of range");
        let b = &self.bytes[at..at + size];
        match self.element {
            ElementType::F16 => half::f16::from_le_bytes([b[0], b[1]]).to_f64(),
            ElementType::Bf16 => half::bf16::from_le_bytes([b[0], b[1]]).to_f64(),
            ElementType::F32 => f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            ElementType::F64 => f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            ElementType::I8 => f64::from(b[0] as i8),
            ElementType::U8 => f64::from(b[0]),
            ElementType::Bool => f64::from(u8::from(b[0] != 0)),
            ElementType::I32 => f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            ElementType::I64 => i64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]) as f64,
        }
    }

    /// Element `i` as the f32 that kernels compute with: f16 and bf16 expand exactly, f64 rounds once.
    ///
    /// # Panics
    /// If `i` is not below [`Self::len`].
    pub fn get_f32(&self, i: usize) -> f32 {
        if self.element == ElementType::F32 {
            // not by way of f64, which would quieten a signalling NaN
            let at = self.range.start + i * 4;
            assert!(at + 4 <= self.range.end, "tensor index out of range");
            let b = &self.bytes[at..at + 4];
            return f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        }
        match self.get_i64(i) {
            // not by way of f64, which would round twice
            Some(value) => value as f32,
            None => self.get_f64(i) as f32,
        }
    }

    /// Element `i` of an integer tensor; `None` for floating point types.
    ///
    /// # Panics
    /// If `i` is not below [`Self::len`].
    pub fn get_i64(&self, i: usize) -> Option<i64> {
        let size = self.element.size();
        let at = self.range.start + i * size;
        assert!(at + size <= self.range.end, "tensor index out of range");
        let b = &self.bytes[at..at + size];
        match self.element {
            ElementType::I8 => Some(i64::from(b[0] as i8)),
            ElementType::U8 => Some(i64::from(b[0])),
            ElementType::Bool => Some(i64::from(b[0] != 0)),
            ElementType::I32 => Some(i64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            ElementType::I64 => Some(i64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])),
            ElementType::F16 | ElementType::Bf16 | ElementType::F32 | ElementType::F64 => None,
        }
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({:?} {})", self.shape, self.element.name())
    }
}
