//! Readers of GatherND, CumSum, OneHot, Trilu, EyeLike, Einsum, DepthToSpace, SpaceToDepth, Resize
//! and Upsample.

use super::graph::{Call, GraphReader, Outputs};
use super::tensors::element_type;
use super::windows::size_attribute;
use crate::diagnostic::quoted;
use crate::model::{
    Blocks, ElementType, GatherNd, Nearest, OneHot, Op, Resize, ResizeBy, RunningSum, Sampling,
    Scaling, ValueId,
};

pub(super) fn gather_nd(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let batch_dims = call.attributes.int("batch_dims").unwrap_or(0);
    let gather = GatherNd { batch_dims, flattens_batch: false };
    Some(vec![reader.op(Op::GatherNd(gather), vec![call.x(), call.input(1)?])])
}

pub(super) fn running_sum(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let [exclusive, reverse] =
        ["exclusive", "reverse"].map(|name| call.attributes.flag(name, false));
    Some(vec![
        reader
            .op(Op::RunningSum(RunningSum { exclusive, reverse }), vec![call.x(), call.input(1)?]),
    ])
}

pub(super) fn one_hot(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let axis = call.attributes.int("axis").unwrap_or(-1);
    let (indices, mut depth, values) = (call.x(), call.input(1)?, call.input(2)?);
    if reader.element(depth).is_float() {
        depth = reader.op_of(Op::Convert, vec![depth], ElementType::I64);
    }
    let zero = reader.integer(0);
    // values are [off, on]
    let [on, off] = [1, 0].map(|at| {
        let at = reader.integer(at);
        reader.op(Op::Gather { batch_dims: 0 }, vec![values, at, zero])
    });
    let element = reader.element(values);
    Some(vec![reader.op_of(
        Op::OneHot(OneHot { axis, from_end: true }),
        vec![indices, depth, on, off],
        element,
    )])
}

pub(super) fn triangle(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let upper = call.attributes.flag("upper", true);
    let inputs = [Some(call.x()), call.input(1)].into_iter().flatten().collect();
    Some(vec![reader.op(Op::Triangle { upper }, inputs)])
}

pub(super) fn eye_like(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let diagonal = call.attributes.int("k").unwrap_or(0);
    let x = call.x();
    let element = match call.attributes.int("dtype") {
        None => reader.element(x),
        Some(stated) => match element_type(i32::try_from(stated).unwrap_or(0)) {
            Ok(element) => element,
            Err(problem) => {
                reader.report(problem.of(&format!("dtype={stated}")));
                return None;
            }
        },
    };
    Some(vec![reader.op_of(Op::EyeLike { diagonal }, vec![x], element)])
}

pub(super) fn einsum(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let Some(equation) = call.attributes.text("equation") else {
        return reader.missing("equation", "the attribute equation");
    };
    let inputs = call.inputs.iter().copied().flatten().collect();
    Some(vec![reader.op(Op::Einsum { equation }, inputs)])
}

/// Looks up the word of an attribute in a table. `None` after an error.
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
        let help = "export the model with another mode, or compute this part outside of it";
        reader.error(format!("{name}={}", quoted(&given)), valid.join(", "), help);
    }
    found
}

fn blocks(reader: &mut GraphReader<'_>, call: &mut Call<'_>, to_space: bool) -> Outputs {
    let Some(size) = call.attributes.int("blocksize") else {
        return reader.missing("blocksize", "the size of a block");
    };
    let size = size_attribute(reader, "blocksize", size)?;
    let mut channel_first = false;
    if to_space || call.version >= 28 {
        channel_first = word(reader, call, "mode", "DCR", &[("DCR", false), ("CRD", true)])?;
    }
    Some(vec![reader.op(Op::Blocks(Blocks { size, to_space, channel_first }), vec![call.x()])])
}

pub(super) fn depth_to_space(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    blocks(reader, call, true)
}

pub(super) fn space_to_depth(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    blocks(reader, call, false)
}

/// The sampling of `mode`, with [`Nearest::Simple`] for `nearest`. Operator set 11 and later choose
/// the neighbour by another attribute. `None` after an error.
fn sampling(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<Sampling> {
    let cubic = Sampling::Cubic {
        a: call.attributes.float("cubic_coeff_a").unwrap_or(-0.75),
        exclude_outside: call.attributes.flag("exclude_outside", false),
    };
    let modes = [
        ("nearest", Sampling::Nearest(Nearest::Simple)),
        ("linear", Sampling::Linear),
        ("cubic", cubic),
    ];
    let modes = if call.version < 11 { &modes[..2] } else { &modes };
    word(reader, call, "mode", "nearest", modes)
}

/// The words of `coordinate_transformation_mode`: the place in the input of an element of the
/// output.
const SCALINGS: [(&str, Scaling); 6] = [
    ("half_pixel", Scaling::HalfPixel),
    ("pytorch_half_pixel", Scaling::PytorchHalfPixel),
    ("align_corners", Scaling::AlignCorners),
    ("asymmetric", Scaling::Asymmetric),
    ("half_pixel_symmetric", Scaling::HalfPixelSymmetric),
    ("tf_half_pixel_for_nn", Scaling::HalfPixelForNearest),
];

/// The words of `nearest_mode`: the choice of a neighbour.
const NEIGHBOURS: [(&str, Nearest); 4] = [
    ("round_prefer_floor", Nearest::RoundPreferFloor),
    ("round_prefer_ceil", Nearest::RoundPreferCeil),
    ("floor", Nearest::Floor),
    ("ceil", Nearest::Ceil),
];

/// The words of `keep_aspect_ratio_policy`: the relation of the output's sizes to the given sizes.
const POLICIES: [(&str, ResizeBy); 3] = [
    ("stretch", ResizeBy::Sizes),
    ("not_larger", ResizeBy::NotLarger),
    ("not_smaller", ResizeBy::NotSmaller),
];

pub(super) fn resize(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let mut sampling = sampling(reader, call)?;
    let x = call.x();
    let (mut scaling, mut by) = (Scaling::Asymmetric, ResizeBy::Sizes);
    let (mut scales, mut sizes) = (call.input(1), None);
    let mut axes = None;
    if call.version < 9 {
        scales = call.attributes.floats("scales").map(|scales| reader.numbers(&scales));
    }
    if call.version >= 11 {
        call.attributes.ignore("extrapolation_value");
        let name = "coordinate_transformation_mode";
        scaling = word(reader, call, name, "half_pixel", &SCALINGS)?;
        let nearest = word(reader, call, "nearest_mode", "round_prefer_floor", &NEIGHBOURS)?;
        if matches!(sampling, Sampling::Nearest(_)) {
            sampling = Sampling::Nearest(nearest);
        }
        by = word(reader, call, "keep_aspect_ratio_policy", "stretch", &POLICIES)?;
        if call.attributes.flag("antialias", false) {
            return reader.inexpressible("antialias=1", "0", "export the model without it");
        }
        axes = call.attributes.ints("axes").map(|axes| reader.integers(&axes));
        (scales, sizes) = (call.input(2), call.input(3));
    }
    // files of operator set 11 omit scales or sizes by an empty tensor
    let mut present = |input: Option<ValueId>| {
        input.filter(|&input| !reader.known(input).is_some_and(|tensor| tensor.is_empty()))
    };
    (scales, sizes) = (present(scales), present(sizes));
    if sizes.is_none() {
        by = ResizeBy::Factors;
    }
    let numbers = match (scales, sizes) {
        (Some(numbers), None) | (None, Some(numbers)) => numbers,
        (given, _) => {
            let found =
                if given.is_some() { "scales and sizes" } else { "neither scales nor sizes" };
            reader.error(found, "one of them", "export the model again");
            return None;
        }
    };
    let inputs = [Some(x), Some(numbers), axes].into_iter().flatten().collect();
    Some(vec![reader.op(Op::Resize(Resize { by, scaling, sampling }), inputs)])
}
