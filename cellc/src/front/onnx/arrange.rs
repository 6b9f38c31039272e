//! Operators that put elements elsewhere, repeat them or sum them by a pattern.

use super::graph::{Call, GraphReader};
use super::tensors::element_type;
use crate::diagnostic::quoted;
use crate::model::{ElementType, Nearest, Op, Resize, Scaling, ValueId};

type Values = Option<Vec<ValueId>>;

pub(super) fn running_sum(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Values {
    let [exclusive, reverse] = ["exclusive", "reverse"].map(|name| call.attributes.flag(name, false));
    Some(vec![reader.op(Op::RunningSum { exclusive, reverse }, vec![call.x(), call.input(1)?])])
}

pub(super) fn one_hot(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Values {
    let axis = call.attributes.int("axis").unwrap_or(-1);
    let (indices, mut depth, values) = (call.x(), call.input(1)?, call.input(2)?);
    if reader.element(depth).is_float() {
        depth = reader.op_of(Op::Convert, vec![depth], ElementType::I64);
    }
    let zero = reader.integer(0);
    // the second is where the index says
    let [on, off] = [1, 0].map(|at| {
        let at = reader.integer(at);
        reader.op(Op::Gather { batch_dims: 0 }, vec![values, at, zero])
    });
    let element = reader.element(values);
    Some(vec![reader.op_of(Op::OneHot { axis, from_end: true }, vec![indices, depth, on, off], element)])
}

pub(super) fn triangle(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Values {
    let upper = call.attributes.flag("upper", true);
    let inputs = [Some(call.x()), call.input(1)].into_iter().flatten().collect();
    Some(vec![reader.op(Op::Triangle { upper }, inputs)])
}

pub(super) fn eye_like(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Values {
    let diagonal = call.attributes.int("k").unwrap_or(0);
    let x = call.x();
    let element = match call.attributes.int("dtype") {
        None => reader.element(x),
        Some(stated) => match element_type(i32::try_from(stated).unwrap_or(0)) {
            Ok(element) => element,
            Err(wrong) => {
                reader.error(format!("dtype={stated}: {}", wrong.found), wrong.valid, wrong.help);
                return None;
            }
        },
    };
    Some(vec![reader.op_of(Op::EyeLike { diagonal }, vec![x], element)])
}

pub(super) fn einsum(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Values {
    let Some(equation) = call.attributes.text("equation") else {
        reader.error("no equation", "the attribute equation", "export the model again");
        return None;
    };
    let inputs = call.inputs.iter().copied().flatten().collect();
    Some(vec![reader.op(Op::Einsum { equation }, inputs)])
}

/// A word of an attribute as what it means.
fn word<T: Copy>(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    name: &str,
    default: &str,
    known: &[(&str, T)],
) -> Option<T> {
    let given = call.attributes.text(name).unwrap_or_else(|| default.to_owned());
    let found = known.iter().find(|(word, _)| *word == given).map(|(_, meaning)| *meaning);
    if found.is_none() {
        let valid: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let help = "resize outside of the model, or export it with another mode";
        reader.error(format!("{name}={}", quoted(&given)), valid.join(", "), help);
    }
    found
}

pub(super) fn resize(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Values {
    word(reader, call, "mode", "nearest", &[("nearest", ())])?;
    let x = call.x();
    let (mut scaling, mut nearest) = (Scaling::Asymmetric, Nearest::Simple);
    let (mut scales, mut sizes) = (call.input(1), None);
    let mut axes = None;
    if call.version < 9 {
        scales = call.attributes.floats("scales").map(|scales| reader.numbers(&scales));
    }
    if call.version >= 11 {
        ["cubic_coeff_a", "exclude_outside", "extrapolation_value"]
            .iter()
            .for_each(|name| call.attributes.ignore(name));
        let modes = [
            ("half_pixel", Scaling::HalfPixel),
            ("pytorch_half_pixel", Scaling::PytorchHalfPixel),
            ("align_corners", Scaling::AlignCorners),
            ("asymmetric", Scaling::Asymmetric),
        ];
        scaling = word(reader, call, "coordinate_transformation_mode", "half_pixel", &modes)?;
        let modes = [
            ("round_prefer_floor", Nearest::RoundPreferFloor),
            ("round_prefer_ceil", Nearest::RoundPreferCeil),
            ("floor", Nearest::Floor),
            ("ceil", Nearest::Ceil),
        ];
        nearest = word(reader, call, "nearest_mode", "round_prefer_floor", &modes)?;
        word(reader, call, "keep_aspect_ratio_policy", "stretch", &[("stretch", ())])?;
        if call.attributes.flag("antialias", false) {
            reader.error("antialias=1", "0", "export the model without it");
            return None;
        }
        axes = call.attributes.ints("axes").map(|axes| reader.integers(&axes));
        (scales, sizes) = (call.input(2), call.input(3));
    }
    let by_size = sizes.is_some();
    let Some(numbers) = sizes.or(scales) else {
        reader.error("neither scales nor sizes", "one of them", "export the model again");
        return None;
    };
    let inputs = [Some(x), Some(numbers), axes].into_iter().flatten().collect();
    Some(vec![reader.op(Op::Resize(Resize { by_size, scaling, nearest }), inputs)])
}
