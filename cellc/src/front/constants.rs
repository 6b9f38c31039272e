//! Replaces inputs that the user fixes by constants, in a model of any format.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin, message, quoted};
use crate::model::{Dim, ElementType, Model, Op, Tensor, parse_f32};
use crate::request::flag;

/// Replaces the named inputs by constants. Each number fills all elements of its input. Dimensions
/// of unknown size get the size 1, and an input of unknown rank becomes a scalar.
pub(super) fn fix(model: &mut Model, constants: &[(String, String)]) -> Diagnostics {
    let mut problems = Diagnostics::default();
    for (name, text) in constants {
        let index = model.parameters.iter().position(|&node| {
            let node = &model.nodes[node];
            let value = &model.values[node.outputs[0].0];
            value.names.iter().any(|own| own == name) || node.name == *name
        });
        let option = flag::CONST.setting();
        let refused = |found: Message, valid: String| {
            Diagnostic::error(Origin::Unknown, found)
                .valid(valid)
                .help(message!("correct {}", option))
        };
        let Some(index) = index else {
            let names = model
                .parameters
                .iter()
                .map(|&node| quoted(&model.nodes[node].name))
                .collect::<Vec<_>>();
            let found = message!("{} names {}, which is no input", option, quoted(name));
            problems.push(refused(found, names.join(", ")));
            continue;
        };
        let node = model.parameters[index];
        let value = &mut model.values[model.nodes[node].outputs[0].0];
        let shape: Vec<usize> = match &value.shape {
            None => Vec::new(),
            Some(dims) => {
                dims.iter().map(|dim| if let Dim::Fixed(size) = dim { *size } else { 1 }).collect()
            }
        };
        let Some(tensor) = filled(&shape, value.element, text) else {
            let found = message!(
                "{} gives {} to {}, an input of type {}",
                option,
                quoted(text),
                quoted(name),
                value.element.name()
            );
            problems.push(refused(
                found,
                "one number of that type, for an input of at most a million elements".to_owned(),
            ));
            continue;
        };
        value.shape = Some(shape.into_iter().map(Dim::Fixed).collect());
        model.nodes[node].op = Op::Constant(tensor);
        model.parameters.remove(index);
    }
    problems
}

/// A tensor with all elements equal to the number. `None` if the text is no finite number that the
/// element type represents, or for more than 2^20 elements.
fn filled(shape: &[usize], element: ElementType, text: &str) -> Option<Tensor> {
    let count = shape
        .iter()
        .try_fold(1usize, |all, &size| all.checked_mul(size))
        .filter(|&count| count <= 1 << 20)?;
    let text = text.trim();
    if element.is_float() {
        let value = parse_f32(text).ok().filter(|value| value.is_finite())?;
        return Tensor::from_f32(shape.to_vec(), &vec![value; count]);
    }
    let value: i64 = match (text, element) {
        ("true", ElementType::Bool) => 1,
        ("false", ElementType::Bool) => 0,
        _ => text.parse().ok()?,
    };
    let size = element.size();
    // the number must fit into the element type
    let scalar =
        Tensor::new(Vec::new(), element, Arc::new(value.to_le_bytes()[..size].to_vec()), 0..size)?;
    if scalar.get_i64(0) != Some(value) {
        return None;
    }
    let bytes: Vec<u8> = value.to_le_bytes()[..size].repeat(count);
    let len = bytes.len();
    Tensor::new(shape.to_vec(), element, Arc::new(bytes), 0..len)
}
