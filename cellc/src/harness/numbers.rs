//! The elements of inputs.

use crate::kernel::Element;
use crate::model::Tensor;

/// The elements of an input for generated code.
#[derive(Clone, Debug, PartialEq)]
pub enum InputElements {
    /// Elements of any floating-point type.
    Floats(Vec<f32>),
    /// Elements of any integer type, or booleans.
    Integers(Vec<i64>),
}

impl InputElements {
    /// The elements of a tensor.
    pub fn from_tensor(tensor: &Tensor) -> Self {
        let integers = || (0..tensor.len()).map(|i| tensor.get_i64(i)).collect();
        match integers() {
            Some(integers) => Self::Integers(integers),
            None => Self::Floats((0..tensor.len()).map(|i| tensor.get_f32(i)).collect()),
        }
    }

    /// The elements in f64, for the reference.
    pub fn exact(&self) -> Vec<f64> {
        match self {
            Self::Floats(values) => values.iter().map(|&v| f64::from(v)).collect(),
            Self::Integers(values) => values.iter().map(|&v| v as f64).collect(),
        }
    }

    /// The bytes of the elements as type `element` of generated code, in this machine's byte order.
    ///
    /// # Errors
    /// The first element that is too large for the type.
    pub fn bytes(&self, element: Element) -> Result<Vec<u8>, i64> {
        let mut bytes = Vec::new();
        match (self, element) {
            (Self::Floats(values), _) => values.iter().for_each(|v| bytes.extend(v.to_ne_bytes())),
            (Self::Integers(values), Element::F32) => {
                values.iter().for_each(|v| bytes.extend((*v as f32).to_ne_bytes()))
            }
            (Self::Integers(values), Element::Bool) => {
                bytes.extend(values.iter().map(|v| u8::from(*v != 0)))
            }
            (Self::Integers(values), Element::I64) => {
                values.iter().for_each(|v| bytes.extend(v.to_ne_bytes()))
            }
            (Self::Integers(values), _) => {
                for &value in values {
                    bytes.extend(i32::try_from(value).map_err(|_| value)?.to_ne_bytes());
                }
            }
        }
        Ok(bytes)
    }
}
