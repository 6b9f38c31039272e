//! Conversions of constants, done when compiling.

use std::cmp::Ordering;

use half::{bf16, f16};

use crate::model::{ElementType, Tensor};

/// The tensor after a conversion to `element`; `None` where every element stays what it is.
pub(super) fn rounded(tensor: &Tensor, element: ElementType) -> Option<Tensor> {
    let stored = tensor.element();
    let exact = match (stored, element) {
        (_, ElementType::F64) => stored != ElementType::I64,
        (ElementType::F64 | ElementType::I32 | ElementType::I64, _) => stored == element,
        (_, ElementType::F32) => true,
        // 8 bits of mantissa hold what 8 bits of integer can say
        (ElementType::I8 | ElementType::U8, _) => true,
        _ => stored == element,
    };
    if exact {
        return None;
    }
    let values = 0..tensor.len();
    let bytes: Vec<u8> = match element {
        ElementType::F16 => values.flat_map(|i| f16::from_f32(odd_f32(tensor, i)).to_le_bytes()).collect(),
        ElementType::Bf16 => values.flat_map(|i| bf16::from_f32(odd_f32(tensor, i)).to_le_bytes()).collect(),
        ElementType::F64 => values.flat_map(|i| tensor.get_f64(i).to_le_bytes()).collect(),
        _ => values.flat_map(|i| tensor.get_f32(i).to_le_bytes()).collect(),
    };
    let size = bytes.len();
    Tensor::new(tensor.shape().to_vec(), element, bytes.into(), 0..size)
}

/// An element as f32, rounded to odd: a second rounding to a type of at most 22 bits of mantissa is then exact.
fn odd_f32(tensor: &Tensor, i: usize) -> f32 {
    if matches!(tensor.element(), ElementType::F32) {
        return tensor.get_f32(i);
    }
    let nearest = tensor.get_f32(i);
    // how the magnitude of what was rounded compares with the element's
    let magnitude = match tensor.get_i64(i) {
        // 2^63 needs more than an i64
        Some(exact) => (nearest.abs() as i128).cmp(&i128::from(exact).abs()),
        None => f64::from(nearest.abs()).partial_cmp(&tensor.get_f64(i).abs()).unwrap_or(Ordering::Equal),
    };
    match magnitude {
        Ordering::Equal => nearest,
        Ordering::Greater => f32::from_bits((nearest.to_bits() - 1) | 1),
        Ordering::Less => f32::from_bits(nearest.to_bits() | 1),
    }
}
