//! Readers of Conv, ConvTranspose, the pools, LRN and Pad.

use super::graph::{Call, GraphReader, Outputs};
use crate::diagnostic::quoted;
use crate::front::local_norm::{LocalNorm, Neighbours};
use crate::model::{
    Binary, Convolution, Groups, MathFunction, Op, OutputSizes, PadMode, Padding, Pool, PoolKind,
    Rounding, Unary, Window, shape_text,
};

/// An attribute with a list of sizes, empty if the attribute is missing. `None` after an error.
fn sizes(reader: &mut GraphReader<'_>, call: &mut Call<'_>, name: &str) -> Option<Vec<usize>> {
    let given = call.attributes.ints(name).unwrap_or_default();
    given.into_iter().map(|size| size_attribute(reader, name, size)).collect()
}

/// A number of an attribute as a size. `None` after an error about a negative number.
pub(super) fn size_attribute(reader: &mut GraphReader<'_>, name: &str, size: i64) -> Option<usize> {
    let number = usize::try_from(size).ok();
    if number.is_none() {
        reader.error(format!("{name} of {size}"), "0 or more", "correct the attribute");
    }
    number
}

/// Strides, dilations and padding. `None` after an error.
fn window(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<Window> {
    let (strides, dilations) = (sizes(reader, call, "strides")?, sizes(reader, call, "dilations")?);
    let pads = call.attributes.ints("pads").unwrap_or_default();
    let auto = call.attributes.text("auto_pad");
    let padding = match auto.as_deref() {
        None | Some("NOTSET") => {
            if !pads.len().is_multiple_of(2) {
                let valid = "a number for each side of each axis";
                let found = format!("pads={}", shape_text(&pads));
                reader.error(found, valid, "correct the attribute");
                return None;
            }
            let (begin, end) = pads.split_at(pads.len() / 2);
            Padding::Explicit { begin: begin.to_vec(), end: end.to_vec() }
        }
        Some("SAME_UPPER") => Padding::SameUpper,
        Some("SAME_LOWER") => Padding::SameLower,
        Some("VALID") => Padding::Valid,
        Some(other) => {
            let found = format!("auto_pad={}", quoted(other));
            reader.error(found, "NOTSET, SAME_UPPER, SAME_LOWER, VALID", "correct the attribute");
            return None;
        }
    };
    if !matches!(padding, Padding::Explicit { .. }) && pads.iter().any(|&pad| pad != 0) {
        let auto = quoted(auto.as_deref().unwrap_or_default());
        let found = format!("pads={} beside auto_pad={auto}", shape_text(&pads));
        reader.error(found, "one of the two", "leave out the pads, or auto_pad");
        return None;
    }
    Some(Window { strides, dilations, padding })
}

pub(super) fn convolution(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    transposed: bool,
) -> Outputs {
    let window = window(reader, call)?;
    let groups = call.attributes.int("group").unwrap_or(1);
    let kernel = sizes(reader, call, "kernel_shape")?;
    let (mut output_padding, mut output_sizes) = (Vec::new(), OutputSizes::Follow);
    if transposed {
        output_padding = sizes(reader, call, "output_padding")?;
        let given = sizes(reader, call, "output_shape")?;
        if !given.is_empty() {
            output_sizes = OutputSizes::Given(given);
        }
    }
    let groups = Groups::Count(groups);
    let op = Op::Convolution(Box::new(Convolution {
        kernel,
        window,
        groups,
        transposed,
        output_padding,
        output_sizes,
    }));
    Some(vec![reader.op(op, call.inputs.iter().copied().flatten().collect())])
}

pub(super) fn conv(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    convolution(reader, call, false)
}

pub(super) fn conv_transpose(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    convolution(reader, call, true)
}

fn pool(reader: &mut GraphReader<'_>, call: &mut Call<'_>, kind: PoolKind) -> Outputs {
    let kernel = kernel(reader, call)?;
    pool_of(reader, call, kind, kernel)
}

fn kernel(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<Vec<usize>> {
    let kernel = sizes(reader, call, "kernel_shape")?;
    if kernel.is_empty() {
        return reader.missing("kernel_shape", "a size for each dimension");
    }
    Some(kernel)
}

fn pool_of(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    kind: PoolKind,
    kernel: Vec<usize>,
) -> Outputs {
    let window = window(reader, call)?;
    let rounding = if call.attributes.flag("ceil_mode", false) {
        Rounding::CeilInside
    } else {
        Rounding::Floor
    };
    let op = Op::Pool(Box::new(Pool { kind, kernel, window, rounding }));
    Some(vec![reader.op(op, vec![call.x()])])
}

pub(super) fn max_pool(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    // storage_order only affects the indices, the second output, which is not supported
    call.attributes.ignore("storage_order");
    pool(reader, call, PoolKind::Max)
}

pub(super) fn average_pool(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let count_pads = call.attributes.flag("count_include_pad", false);
    pool(reader, call, PoolKind::Average { count_pads })
}

/// `(sum |v|^p)^(1 / p)` of each window, for p of 1 or 2.
pub(super) fn lp_pool(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let p = call.attributes.int("p").unwrap_or(2);
    let help = "write it as Pow, AveragePool with count_include_pad=1, Mul and Pow";
    match call.attributes.flag("ceil_mode", false) {
        _ if p != 1 && p != 2 => return reader.inexpressible(format!("p={p}"), "1 or 2", help),
        true => return reader.inexpressible("ceil_mode=1", "0", help),
        false => {}
    }
    let magnitude = match p {
        1 => reader.elementwise(Unary::Abs, &[call.x()]),
        _ => reader.elementwise(MathFunction::Square, &[call.x()]),
    };
    call.inputs[0] = Some(magnitude);
    let kernel = kernel(reader, call)?;
    let size = kernel.iter().fold(1, |product: usize, &size| product.saturating_mul(size));
    let mean = pool_of(reader, call, PoolKind::Average { count_pads: true }, kernel)?[0];
    let sum = super::operators::scaled(reader, mean, size as f32);
    match p {
        1 => Some(vec![sum]),
        _ => Some(vec![reader.elementwise(MathFunction::Sqrt, &[sum])]),
    }
}

/// LRN: `v / (bias + alpha mean(v^2))^beta`. The mean is over `size` neighbouring channels, padded
/// with zeros.
pub(super) fn channel_norm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let [alpha, beta, bias] = [("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)]
        .map(|(name, default)| call.attributes.finite(name).unwrap_or(default));
    let Some(size) = call.attributes.int("size") else {
        return reader.missing("size", "the number of channels of a mean");
    };
    let Some(size) = usize::try_from(size).ok().filter(|&size| size > 0) else {
        reader.error(format!("size of {size}"), "1 or more", "correct the attribute");
        return None;
    };
    let x = call.x();
    let Some(rank @ 2..=4) = reader.rank(x) else {
        let help = "write it as AveragePool over the channels, Pow and Div";
        return reader.inexpressible("data of other dimensions", "2 to 4 dimensions", help);
    };
    let mut around = vec![[0, 0]; rank - 1];
    around[0] = [size.saturating_sub(1) / 2, size / 2];
    let neighbours = Neighbours { of_channels: true, around };
    let norm = LocalNorm { alpha, beta, bias };
    let divisor = norm.divisor(x, &neighbours, &mut |op, inputs| match op {
        Op::Constant(tensor) => reader.constant(&tensor),
        op => reader.op(op, inputs),
    });
    Some(vec![reader.elementwise(Binary::Divide, &[x, divisor])])
}

fn global(reader: &mut GraphReader<'_>, call: &mut Call<'_>, kind: PoolKind) -> Outputs {
    let window = Window { strides: Vec::new(), dilations: Vec::new(), padding: Padding::Valid };
    let op =
        Op::Pool(Box::new(Pool { kind, kernel: Vec::new(), window, rounding: Rounding::Floor }));
    Some(vec![reader.op(op, vec![call.x()])])
}

pub(super) fn global_max_pool(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    global(reader, call, PoolKind::Max)
}

pub(super) fn global_average_pool(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    global(reader, call, PoolKind::Average { count_pads: false })
}

pub(super) fn pad(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let text = call.attributes.text("mode");
    let mode = match text.as_deref() {
        None | Some("constant") => PadMode::Constant,
        Some("reflect") => PadMode::Reflect,
        Some("edge") => PadMode::Edge,
        Some("wrap") => PadMode::Wrap,
        Some(other) => {
            reader.error(
                format!("mode={}", quoted(other)),
                "constant, reflect, edge, wrap",
                "pad outside of the model",
            );
            return None;
        }
    };
    let (pads, value, axes) = if call.version < 11 {
        let pads = call.attributes.ints("pads").map(|pads| reader.integers(&pads));
        let value = call.attributes.float("value").unwrap_or(0.0);
        (pads, Some(reader.number_like(x, value)), None)
    } else {
        (call.input(1), call.input(2), call.input(3))
    };
    let Some(pads) = pads else {
        return reader.missing("pads", "two for each axis");
    };
    let zero = reader.integer(0);
    let element = reader.element(pads);
    let halves =
        reader.ops_of(Op::Split { parts: 2 }, vec![pads, zero], vec![element; 2], Vec::new());
    let value = match value {
        Some(value) => value,
        None => reader.number_like(x, 0.0),
    };
    let inputs = [Some(x), Some(halves[0]), Some(halves[1]), Some(value), axes];
    Some(vec![reader.op(Op::Pad(mode), inputs.into_iter().flatten().collect())])
}
