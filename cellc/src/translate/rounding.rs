//! Conversions between element types. Conversions of constants are computed when compiling.

use std::cmp::Ordering;

use super::integers::converted;
use super::refusal::{Refusal, Rule};
use super::translator::Translator;
use crate::core::fold::to_integers;
use crate::core::{CoreBuilder, Known, Source};
use crate::model::half::{Bf16, F16};
use crate::model::{ElementType, Node, Tensor};

impl<'a> Translator<'_, 'a> {
    pub(super) fn convert(&mut self, node: &'a Node) {
        let element = self.model.values[node.outputs[0].0].element;
        let Some(known) = self.input(node, 0) else { return };
        let before = known.element();
        if let Known::Source(..) = known
            && matches!(element, ElementType::F16 | ElementType::Bf16)
            && before.is_float()
            && before != element
        {
            let found = format!(
                "the conversion from {} to {} has no effect: the generated code computes in f32",
                before.name(),
                element.name()
            );
            self.warn(node, found);
        }
        let is_length = |parameter: usize| self.inputs.uses[parameter].is_length();
        let output = match known {
            Known::Source(source @ Source::Parameter(i), _)
                if is_length(i) && !element.is_float() =>
            {
                Some(Known::Source(source, element))
            }
            known => self.build(node, |core| convert(core, &known, element)),
        };
        self.set_all(node, output.map(|known| vec![known]));
    }
}

/// A tensor converted to an element type.
pub(super) fn convert(core: &mut CoreBuilder, known: &Known, element: ElementType) -> Rule<Known> {
    let Known::Constant(tensor, before) = known else { return converted(core, known, element) };
    if !element.is_float() {
        core.foldable(tensor.shape(), element)?;
        let tensor = to_integers(tensor, element).map_err(Refusal::undefined)?;
        return Ok(Known::Constant(tensor, element));
    }
    // a folded tensor is stored as f32, even if the model states another type
    let is_folded = tensor.element() == ElementType::F32 && *before != ElementType::F32;
    let is_same = before.is_float() && (*before == element || is_folded);
    match Some(tensor).filter(|_| !is_same).and_then(|tensor| rounded(tensor, element)) {
        None => Ok(Known::Constant(tensor.clone(), element)),
        Some(rounded) => {
            core.folds(rounded.len(), element)?;
            Ok(Known::Constant(rounded, element))
        }
    }
}

/// The tensor after a conversion to `element`. `None` if no element changes.
pub(super) fn rounded(tensor: &Tensor, element: ElementType) -> Option<Tensor> {
    let stored = tensor.element();
    let exact = match (stored, element) {
        (_, ElementType::F64) => !matches!(stored, ElementType::I64 | ElementType::U64),
        (ElementType::F64 | ElementType::I32 | ElementType::I64, _) => stored == element,
        (ElementType::U32 | ElementType::U64, _) => stored == element,
        (_, ElementType::F32) => true,
        // every integer of 8 bits is exact in every floating-point type: bf16 has 8 bits of
        // mantissa
        (
            ElementType::I4
            | ElementType::U4
            | ElementType::I8
            | ElementType::U8
            | ElementType::Bool,
            _,
        ) => true,
        _ => stored == element,
    };
    if exact {
        return None;
    }
    let values = 0..tensor.len();
    let bytes: Vec<u8> = match element {
        ElementType::F16 => {
            values.flat_map(|i| F16::from_f32(odd_f32(tensor, i)).to_le_bytes()).collect()
        }
        ElementType::Bf16 => {
            values.flat_map(|i| Bf16::from_f32(odd_f32(tensor, i)).to_le_bytes()).collect()
        }
        ElementType::F64 => values.flat_map(|i| tensor.get_f64(i).to_le_bytes()).collect(),
        _ => values.flat_map(|i| tensor.get_f32(i).to_le_bytes()).collect(),
    };
    let size = bytes.len();
    Tensor::new(tensor.shape().to_vec(), element, bytes.into(), 0..size)
}

/// An element as f32, rounded to odd: a second rounding, to a type of at most 22 bits of mantissa,
/// then gives the number that one rounding gives.
fn odd_f32(tensor: &Tensor, i: usize) -> f32 {
    if matches!(tensor.element(), ElementType::F32) {
        return tensor.get_f32(i);
    }
    let nearest = tensor.get_f32(i);
    // compares the rounded magnitude with the magnitude of the element
    let magnitude = match tensor.get_i64(i) {
        // i128, as the magnitude of the least i64 is 2^63
        Some(exact) => (nearest.abs() as i128).cmp(&i128::from(exact).abs()),
        None => f64::from(nearest.abs())
            .partial_cmp(&tensor.get_f64(i).abs())
            .unwrap_or(Ordering::Equal),
    };
    match magnitude {
        Ordering::Equal => nearest,
        Ordering::Greater => f32::from_bits((nearest.to_bits() - 1) | 1),
        Ordering::Less => f32::from_bits(nearest.to_bits() | 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(element: ElementType, bytes: Vec<u8>) -> Tensor {
        let size = bytes.len();
        Tensor::new(vec![size / element.size()], element, bytes.into(), 0..size).unwrap()
    }

    fn f64s(values: &[f64]) -> Tensor {
        tensor(ElementType::F64, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    fn i64s(values: &[i64]) -> Tensor {
        tensor(ElementType::I64, values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    fn bits16(tensor: &Tensor, element: ElementType) -> Vec<u16> {
        let rounded = rounded(tensor, element).unwrap();
        assert_eq!(rounded.element(), element);
        (0..rounded.len())
            .map(|i| match element {
                ElementType::F16 => F16::from_f32(rounded.get_f32(i)).to_bits(),
                _ => Bf16::from_f32(rounded.get_f32(i)).to_bits(),
            })
            .collect()
    }

    /// Every tie between two neighbours of a 16-bit type, and the next f64 on both sides, which f32
    /// cannot tell from the tie.
    #[test]
    fn ties_and_their_neighbours_round_once() {
        let to_f16 = |bits: u16| F16::from_bits(bits).to_f64();
        let to_bf16 = |bits: u16| Bf16::from_bits(bits).to_f64();
        for (element, finite, value) in [
            (ElementType::F16, 0x7bffu16, &to_f16 as &dyn Fn(u16) -> f64),
            (ElementType::Bf16, 0x7f7f, &to_bf16),
        ] {
            for low in 0..finite {
                let tie = (value(low) + value(low + 1)) / 2.0;
                // the neighbouring numbers of f64
                let above = f64::from_bits(tie.to_bits() + 1);
                let below = f64::from_bits(tie.to_bits() - 1);
                let even = low + (low & 1);
                let sign = 0x8000;
                let values = f64s(&[tie, above, below, -tie, -above, -below]);
                let wanted = [even, low + 1, low, sign | even, sign | (low + 1), sign | low];
                assert_eq!(bits16(&values, element), wanted, "{element:?} {low:#x}");
            }
        }
    }

    #[test]
    fn overflow_zero_infinities_and_nan() {
        let values =
            f64s(&[65519.9, 65520.0, 1e300, -1e300, 0.0, -0.0, 1e-300, f64::INFINITY, f64::NAN]);
        let rounded = rounded(&values, ElementType::F16).unwrap();
        let inf = f32::INFINITY;
        let values: Vec<f32> = (0..8).map(|i| rounded.get_f32(i)).collect();
        assert_eq!(values, [65504.0, inf, inf, -inf, 0.0, -0.0, 0.0, inf]);
        assert!(values[5].is_sign_negative());
        assert!(rounded.get_f32(8).is_nan());
    }

    #[test]
    fn integers_round_once() {
        // 2^24 + 1 lies between two f32. 2^31 + 2^7 + 1 lies just above a tie of f32. 2^62 + 2^38 +
        // 1 does, too, and f64 rounds it to the tie.
        let values = [
            (1i64 << 24) + 1,
            (1 << 31) + (1 << 7) + 1,
            (1 << 62) + (1 << 38) + 1,
            i64::MAX,
            i64::MIN,
        ];
        let integers = i64s(&values);
        let wanted: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        let f32s = rounded(&integers, ElementType::F32).unwrap();
        assert_eq!((0..5).map(|i| f32s.get_f32(i)).collect::<Vec<_>>(), wanted);
        // a tie of bf16, and the next integers above and below
        let tie = (1i64 << 62) + (1 << 54);
        let bf16s = rounded(&i64s(&[tie, tie + 1, tie - 1, -tie - 1]), ElementType::Bf16).unwrap();
        let (low, high) = (4_611_686_018_427_387_904.0, 4_647_714_815_446_351_872.0);
        assert_eq!((0..4).map(|i| bf16s.get_f32(i)).collect::<Vec<_>>(), [low, high, low, -high]);
    }

    #[test]
    fn what_is_exact_is_left_alone() {
        use ElementType::{Bf16, Bool, F16, F32, F64, I4, I8, I16, I32, I64, U4, U8, U16, U32};
        let exact = [
            (F16, F32),
            (F16, F64),
            (F16, F16),
            (Bf16, F32),
            (Bf16, F64),
            (Bf16, Bf16),
            (F32, F32),
            (F32, F64),
            (F64, F64),
            (I16, F32),
            (I16, F64),
            (U16, F32),
            (U16, F64),
            (I32, F64),
            (U32, F64),
        ];
        for from in ElementType::ALL {
            for to in [F16, Bf16, F32, F64] {
                let zeros = tensor(from, vec![0; 2 * from.size()]);
                let narrow = [I4, U4, I8, U8, Bool].contains(&from);
                assert_eq!(
                    rounded(&zeros, to).is_none(),
                    narrow || exact.contains(&(from, to)),
                    "{from:?} {to:?}"
                );
            }
        }
        assert!(rounded(&i64s(&[1]), F64).is_some());
        assert_eq!((I32.size(), I64.size()), (4, 8));
        // bf16 has the shortest mantissa, and represents every integer of 8 bits exactly
        for i in 0..=255u8 {
            assert_eq!(super::Bf16::from_f32(f32::from(i)).to_f32(), f32::from(i));
        }
    }
}
