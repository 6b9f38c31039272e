//! Parameters and constants: element types, shapes, and the place of constants in the weights file.

use super::attributes::{COMPUTED, Data};
use super::layers::{GraphReader, SAVE_AGAIN};
use super::text::{parse_integer, parse_shape};
use super::weights::NamedBytes;
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::front::{not_finite, not_finite_in};
use crate::model::{Dim, ElementType, Tensor};

impl GraphReader<'_, '_> {
    /// The element type and the shape of a Parameter. `None` after an error.
    pub(super) fn parameter(&mut self, data: &mut Data) -> Option<(ElementType, Vec<Dim>)> {
        let element = self.element_type(data, "element_type", &COMPUTED);
        const VALID: &str = "sizes separated by commas, ? where a size is not known: 1,16 or ?,16";
        let given = self.required(data, "shape", VALID)?;
        let shape = parse_shape(given.text);
        if shape.is_none() {
            self.error(
                data.index,
                given.origin,
                format!("shape={}", quoted(given.text)),
                VALID,
                "correct the shape",
            );
        }
        Some((element?, shape?))
    }

    /// The tensor of a Const. `None` after an error.
    pub(super) fn constant(&mut self, data: &mut Data) -> Option<Tensor> {
        const INTEGER: &str = "an integer of 0 or more: bytes";
        let element = self.element_type(data, "element_type", &ElementType::ALL);
        let shape = self.constant_shape(data);
        let [offset, size] = ["offset", "size"].map(|name| {
            let given = self.required(data, name, INTEGER)?;
            let value = parse_integer(given.text);
            if value.is_none() {
                self.error(
                    data.index,
                    given.origin.clone(),
                    format!("{name}={}", quoted(given.text)),
                    INTEGER,
                    SAVE_AGAIN,
                );
            }
            Some((value?, given.origin))
        });
        let (element, (shape, shape_origin), (offset, offset_origin), (size, size_origin)) =
            (element?, shape?, offset?, size?);
        let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let Some(need) = count.and_then(|count| element.bytes(count)) else {
            let found = format!(
                "shape {shape:?} of {} has more elements than can be addressed",
                element.name()
            );
            self.error(
                data.index,
                shape_origin,
                found,
                "a shape whose elements fit into the .bin file",
                SAVE_AGAIN,
            );
            return None;
        };
        if size < need as u64 {
            let found = format!(
                "size is {size} bytes, but shape {shape:?} of {} needs {need}",
                element.name()
            );
            self.error(data.index, size_origin, found, format!("{need} or more"), SAVE_AGAIN);
            return None;
        }
        let NamedBytes { name: file, bytes } = match self.weights.bytes(&offset_origin) {
            Ok(loaded) => loaded,
            Err(diagnostic) => {
                if let Some(diagnostic) = diagnostic {
                    self.report(data.index, diagnostic);
                }
                return None;
            }
        };
        let end = offset.checked_add(size);
        let tensor = end.filter(|&end| end <= bytes.len() as u64).and_then(|end| {
            Tensor::new(shape, element, bytes.clone(), offset as usize..end as usize)
        });
        if tensor.is_none() {
            let end =
                end.map_or_else(|| "past every file".to_owned(), |end| format!("to byte {end}"));
            let found = format!(
                "offset {offset} and size {size} reach {end}, but {} has {} bytes",
                quoted(&file),
                bytes.len()
            );
            let diagnostic = Diagnostic::error(offset_origin.clone(), found)
                .valid("a range inside the .bin file")
                .help("check that the .bin file belongs to this model and was written to its end");
            self.report(data.index, diagnostic);
        }
        if let Some(tensor) = &tensor
            && let Some(value) = not_finite_in(tensor)
        {
            self.report(data.index, not_finite(offset_origin, "the constant", value));
        }
        tensor
    }

    fn constant_shape(&mut self, data: &mut Data) -> Option<(Vec<usize>, Origin)> {
        const VALID: &str = "sizes separated by commas: 9, 2";
        let given = self.required(data, "shape", VALID)?;
        let shape: Option<Vec<usize>> = parse_shape(given.text).and_then(|dims| {
            dims.into_iter()
                .map(|dim| match dim {
                    Dim::Fixed(size) => Some(size),
                    Dim::Dynamic { .. } => None,
                })
                .collect()
        });
        if shape.is_none() {
            let found = format!("shape={}", quoted(given.text));
            self.error(data.index, given.origin.clone(), found, VALID, "correct the shape");
        }
        Some((shape?, given.origin))
    }
}
