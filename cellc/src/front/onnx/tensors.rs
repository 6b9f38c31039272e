//! Tensors of a file, with data in any of ONNX's forms.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::proto::{SparseTensorProto, StringStringEntryProto, TensorProto};
use crate::diagnostic::{Message, Problem, quoted};
use crate::front::bounded;
use crate::model::{ElementType, Tensor};

/// Maximum size of one tensor in bytes.
const MOST_BYTES: u64 = 1 << 31;

/// The most elements of all sparse tensors together, zeros included.
const MOST_SPARSE: usize = 1 << 25;

/// `data_location` of a tensor with data in another file.
const EXTERNAL: i32 = 1;

/// The refusal of a tensor.
pub(super) struct TensorRefusal {
    pub(super) problem: Problem,
    /// Name of the external file if the file as a whole is refused.
    pub(super) file: Option<String>,
}

impl TensorRefusal {
    /// A refusal that does not concern an external file as a whole.
    fn new(found: impl Into<Message>, valid: impl Into<Message>, help: &'static str) -> Self {
        Problem::new(found, valid, help).into()
    }
}

impl From<Problem> for TensorRefusal {
    fn from(problem: Problem) -> Self {
        Self { problem, file: None }
    }
}

const SAVE_AGAIN: &str = "export the model again";

/// The element type for a number of `TensorProto.DataType`.
pub(super) fn element_type(number: i32) -> Result<ElementType, Problem> {
    Ok(match number {
        1 => ElementType::F32,
        2 => ElementType::U8,
        3 => ElementType::I8,
        4 => ElementType::U16,
        5 => ElementType::I16,
        6 => ElementType::I32,
        7 => ElementType::I64,
        9 => ElementType::Bool,
        10 => ElementType::F16,
        11 => ElementType::F64,
        12 => ElementType::U32,
        13 => ElementType::U64,
        16 => ElementType::Bf16,
        21 => ElementType::U4,
        22 => ElementType::I4,
        other => {
            let name = match other {
                0 => "no element type".to_owned(),
                8 => "elements of type string".to_owned(),
                14 | 15 => "complex elements".to_owned(),
                17..=20 => "elements of 8-bit floating point".to_owned(),
                _ => format!("element type {other}"),
            };
            let valid = "float, float16, bfloat16, double, bool, integers of 4 to 64 bits";
            return Err(Problem::new(name, valid, "convert the tensor to float"));
        }
    })
}

/// The folder of the model's external files, and the files read so far.
#[derive(Default)]
pub(super) struct Folder {
    /// `None` if the model has no folder, because it was read from memory or from a pipe.
    pub(super) path: Option<PathBuf>,
    /// External files read so far, with their contents, in order of use.
    pub(super) files: Vec<(String, Arc<Vec<u8>>)>,
    /// External files with an error already reported.
    pub(super) refused: BTreeSet<String>,
    /// Number of elements of all sparse tensors so far, zeros included.
    pub(super) sparse: usize,
}

impl Folder {
    /// The shape for a list of sizes. An error if a size is negative or the tensor is too large.
    fn shape(dims: &[i64]) -> Result<Vec<usize>, TensorRefusal> {
        let shape: Option<Vec<usize>> =
            dims.iter().map(|&size| usize::try_from(size).ok()).collect();
        let wrong = || {
            let valid = "sizes of 0 or more, at most 2 GiB in all";
            TensorRefusal::new(format!("a tensor of shape {dims:?}"), valid, SAVE_AGAIN)
        };
        let shape = shape.ok_or_else(wrong)?;
        let elements = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
        if elements.is_none_or(|elements| elements as u64 > MOST_BYTES) {
            return Err(wrong());
        }
        Ok(shape)
    }

    /// Decodes a dense tensor.
    pub(super) fn tensor(&mut self, tensor: &TensorProto) -> Result<Tensor, TensorRefusal> {
        let element = element_type(tensor.data_type.unwrap_or(0))?;
        let shape = Self::shape(&tensor.dims)?;
        let count: usize = shape.iter().product();
        let wanted = element.bytes(count).filter(|&bytes| bytes as u64 <= MOST_BYTES);
        let wanted = wanted.ok_or_else(|| {
            TensorRefusal::new(format!("a tensor of {count} elements"), "at most 2 GiB", SAVE_AGAIN)
        })?;
        let forms = [
            tensor.raw_data.is_some(),
            !tensor.float_data.is_empty(),
            !tensor.int32_data.is_empty(),
            !tensor.int64_data.is_empty(),
            !tensor.double_data.is_empty(),
            !tensor.uint64_data.is_empty(),
            tensor.data_location == Some(EXTERNAL),
        ];
        if forms.iter().filter(|&&form| form).count() > 1 {
            let valid = "one of raw_data, the typed fields, and an external file";
            return Err(TensorRefusal::new(
                "a tensor with its data in more than one form",
                valid,
                SAVE_AGAIN,
            ));
        }
        if tensor.data_location == Some(EXTERNAL) {
            let (bytes, range) = self.external(&tensor.external_data, wanted)?;
            let found = || {
                TensorRefusal::new(
                    "external data of another length",
                    format!("{wanted} bytes"),
                    SAVE_AGAIN,
                )
            };
            return Tensor::new(shape, element, bytes, range).ok_or_else(found);
        }
        let bytes = match &tensor.raw_data {
            Some(bytes) => bytes.clone(),
            None => typed(tensor, element, count)?,
        };
        if bytes.len() != wanted {
            let found = format!(
                "{} bytes for a tensor of {} of shape {shape:?}",
                bytes.len(),
                element.name()
            );
            return Err(TensorRefusal::new(found, format!("{wanted} bytes"), SAVE_AGAIN));
        }
        let found = || {
            TensorRefusal::new(
                "a tensor whose shape does not fit its data",
                "one that does",
                SAVE_AGAIN,
            )
        };
        Tensor::new(shape, element, Arc::new(bytes), 0..wanted).ok_or_else(found)
    }

    /// Decodes a sparse tensor. Elements without an index are 0.
    pub(super) fn sparse(&mut self, sparse: &SparseTensorProto) -> Result<Tensor, TensorRefusal> {
        let wrong = |found: String, valid: &str| TensorRefusal::new(found, valid, SAVE_AGAIN);
        let Some(values) = &sparse.values else {
            return Err(wrong("a sparse tensor without values".to_owned(), "its values"));
        };
        let values = self.tensor(values)?;
        let shape = Self::shape(&sparse.dims)?;
        let (element, count) = (values.element(), shape.iter().product::<usize>());
        self.sparse = self.sparse.saturating_add(count);
        if self.sparse > MOST_SPARSE {
            let found = format!("a sparse tensor of shape {shape:?}");
            return Err(wrong(
                found,
                "at most 2^25 elements, those of all sparse tensors together",
            ));
        }
        let size = element.size();
        if matches!(element, ElementType::I4 | ElementType::U4) {
            return Err(wrong(
                format!("a sparse tensor of {}", element.name()),
                "elements of a byte or more",
            ));
        }
        let indices = match &sparse.indices {
            Some(indices) => self.tensor(indices)?,
            None => Tensor::from_i64(vec![0], &[]).expect("no elements"),
        };
        let places = of_indices(&indices, values.len(), &shape);
        let Some(places) = places.filter(|_| values.shape().len() == 1) else {
            let found = format!(
                "a sparse tensor of shape {shape:?} with values of shape {:?} and indices of shape \
                 {:?}",
                values.shape(),
                indices.shape()
            );
            return Err(wrong(found, "one index inside of the shape for each value, ascending"));
        };
        let mut bytes = vec![0; count * size];
        for (from, index) in values.bytes().chunks(size).zip(places) {
            bytes[index * size..][..size].copy_from_slice(from);
        }
        let len = bytes.len();
        let found = || wrong(format!("a sparse tensor of shape {shape:?}"), "a shape that fits");
        Tensor::new(shape.clone(), element, Arc::new(bytes), 0..len).ok_or_else(found)
    }

    /// The contents of an external file and the byte range of a tensor of `wanted` bytes.
    fn external(
        &mut self,
        entries: &[StringStringEntryProto],
        wanted: usize,
    ) -> Result<(Arc<Vec<u8>>, std::ops::Range<usize>), TensorRefusal> {
        let entry = |name: &str| entries.iter().find(|entry| entry.key.as_deref() == Some(name));
        let text = |name: &str| entry(name).and_then(|entry| entry.value.as_deref());
        let number = |name: &str| match text(name) {
            None => Ok(None),
            Some(text) => text.trim().parse::<u64>().map(Some).map_err(|_| {
                let found = format!("external data with {name} {}", quoted(text));
                TensorRefusal::new(found, "an integer of 0 or more", SAVE_AGAIN)
            }),
        };
        let location = text("location").unwrap_or_default();
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
        let length = length.unwrap_or(wanted as u64);
        let bytes = self
            .file(location)
            .map_err(|wrong| TensorRefusal { file: Some(location.to_owned()), ..wrong })?;
        let size = bytes.len() as u64;
        if length != wanted as u64 || offset.checked_add(length).is_none_or(|end| end > size) {
            let found = format!(
                "external data: {length} bytes from byte {offset} of {}, which has {size}",
                quoted(location)
            );
            return Err(TensorRefusal::new(
                found,
                format!("{wanted} bytes, all of them in the file"),
                SAVE_AGAIN,
            ));
        }
        let (start, end) = (offset as usize, (offset + length) as usize);
        Ok((bytes, start..end))
    }

    /// The contents of an external file. Each file is read once.
    fn file(&mut self, location: &str) -> Result<Arc<Vec<u8>>, TensorRefusal> {
        if let Some((_, bytes)) = self.files.iter().find(|(name, _)| name == location) {
            return Ok(bytes.clone());
        }
        let path = Path::new(location);
        // `\` and `:` separate folders and drives on Windows, so no system accepts them
        let inside = !location.is_empty()
            && !location.contains(['\\', '\0', ':'])
            && path
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inside {
            let found = format!("external data at {}", quoted(location));
            return Err(TensorRefusal::new(
                found,
                "the name of a file in the model's folder",
                "put the file beside the model",
            ));
        }
        let Some(folder) = &self.path else {
            let found = format!("external data at {}", quoted(location));
            let help = "give the model by its path, with that file beside it: from a pipe it has \
                no folder";
            return Err(TensorRefusal::new(found, "a model in one piece", help));
        };
        let unreadable = |error: std::io::Error| {
            let found = format!("external data at {}: {error}", quoted(location));
            let help = "put the file beside the model, under this name";
            TensorRefusal::new(found, "a file beside the model that can be read", help)
        };
        // the path must have no symbolic link and end at a regular file
        let full = folder.join(path);
        let mut step = folder.clone();
        for part in path.components() {
            step.push(part);
            let metadata = fs::symlink_metadata(&step).map_err(unreadable)?;
            if metadata.is_symlink() || step == full && !metadata.is_file() {
                let found =
                    format!("external data at {}, which is a link or no file", quoted(location));
                return Err(TensorRefusal::new(
                    found,
                    "a file in the model's folder",
                    "put the file itself beside the model",
                ));
            }
        }
        // the limit holds for all external files together
        let read: u64 = self.files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let size = fs::metadata(&full).map_err(unreadable)?.len();
        if read.saturating_add(size) > bounded::WEIGHTS.bytes {
            return Err(unreadable(bounded::WEIGHTS.exceeded(Some(read.saturating_add(size)))));
        }
        let bytes = Arc::new(bounded::read(&full, &bounded::WEIGHTS).map_err(unreadable)?);
        self.files.push((location.to_owned(), bytes.clone()));
        Ok(bytes)
    }
}

/// Flat indices of a sparse tensor's elements. ONNX gives flat indices, or one index per dimension.
/// `None` if the number of indices is wrong, an index is out of range, or indices do not ascend.
fn of_indices(indices: &Tensor, values: usize, shape: &[usize]) -> Option<Vec<usize>> {
    let depth = match indices.shape() {
        [count] if *count == values => 1,
        [count, depth] if *count == values && *depth == shape.len() => *depth,
        _ => return None,
    };
    let flat = [shape.iter().product()];
    let sizes = if indices.shape().len() == 1 { &flat[..] } else { shape };
    let mut places: Vec<usize> = Vec::with_capacity(values);
    for value in 0..values {
        let mut flat_index = 0;
        for (d, &size) in sizes.iter().enumerate() {
            let index = usize::try_from(indices.get_i64(value * depth + d)?)
                .ok()
                .filter(|&index| index < size)?;
            flat_index = flat_index * size + index;
        }
        if places.last().is_some_and(|&last| last >= flat_index) {
            return None;
        }
        places.push(flat_index);
    }
    Some(places)
}

/// The bytes of a tensor with its elements in a typed field.
fn typed(
    tensor: &TensorProto,
    element: ElementType,
    count: usize,
) -> Result<Vec<u8>, TensorRefusal> {
    let packed = matches!(element, ElementType::I4 | ElementType::U4);
    let held = match element {
        ElementType::F32 => tensor.float_data.len(),
        ElementType::F64 => tensor.double_data.len(),
        ElementType::I64 => tensor.int64_data.len(),
        ElementType::U32 | ElementType::U64 => tensor.uint64_data.len(),
        _ => tensor.int32_data.len(),
    };
    let wanted = if packed { count.div_ceil(2) } else { count };
    if held != wanted {
        let found = format!(
            "{held} elements of {} for a tensor of shape {:?}",
            element.name(),
            tensor.dims
        );
        return Err(TensorRefusal::new(found, format!("{wanted} elements"), SAVE_AGAIN));
    }
    let wide = || tensor.int32_data.iter().map(|&v| i64::from(v));
    let beyond = match element {
        ElementType::U32 => {
            tensor.uint64_data.iter().find(|&&v| v > u64::from(u32::MAX)).map(u64::to_string)
        }
        _ => range_in_i32(element)
            .and_then(|range| wide().find(|v| !range.contains(v)))
            .map(|v| v.to_string()),
    };
    if let Some(value) = beyond {
        let valid = format!("values that {} holds", element.name());
        return Err(TensorRefusal::new(
            format!("an element {value} of a tensor of {}", element.name()),
            valid,
            SAVE_AGAIN,
        ));
    }
    let of_i32 = |size: usize| {
        tensor.int32_data.iter().flat_map(move |v| v.to_le_bytes().into_iter().take(size)).collect()
    };
    Ok(match element {
        ElementType::F32 => tensor.float_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ElementType::F64 => tensor.double_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ElementType::I64 => tensor.int64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ElementType::U64 => tensor.uint64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ElementType::U32 => {
            tensor.uint64_data.iter().flat_map(|v| (*v as u32).to_le_bytes()).collect()
        }
        ElementType::I32 => of_i32(4),
        ElementType::I16 | ElementType::U16 | ElementType::F16 | ElementType::Bf16 => of_i32(2),
        ElementType::I8
        | ElementType::U8
        | ElementType::Bool
        | ElementType::I4
        | ElementType::U4 => of_i32(1),
    })
}

/// Valid range of the numbers in `int32_data` for an element type; for 4-bit types, of a byte with
/// two elements. `None` if every number is valid, or if the type uses another field.
fn range_in_i32(element: ElementType) -> Option<RangeInclusive<i64>> {
    Some(match element {
        ElementType::Bool => 0..=1,
        ElementType::I8 => -(1 << 7)..=(1 << 7) - 1,
        ElementType::I16 => -(1 << 15)..=(1 << 15) - 1,
        ElementType::U8 | ElementType::U4 | ElementType::I4 => 0..=(1 << 8) - 1,
        // bit patterns of 16 bits
        ElementType::U16 | ElementType::F16 | ElementType::Bf16 => 0..=(1 << 16) - 1,
        ElementType::I32 | ElementType::U32 | ElementType::I64 | ElementType::U64 => return None,
        ElementType::F32 | ElementType::F64 => return None,
    })
}
