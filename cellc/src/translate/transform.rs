//! Fourier transforms of constant length, as products with a constant matrix, and constant windows
//! and weights for spectra.

use std::f64::consts::TAU;

use super::elementwise::compute;
use super::matmul::product;
use super::operands::{Operands, all_floats, one_for_each_axis, shapes_differ};
use super::refusal::{Refusal, Rule};
use super::rounding::rounded;
use crate::core::CoreBuilder;
use crate::core::{Geometry, Known, signed, strides};
use crate::model::{Binary, Dft, ElementType, SpectralWindow, Tensor, shape_text};

/// Cosine and sine of `part / whole` turns, exact at quarters of a turn.
fn of_turn(part: usize, whole: usize) -> [f64; 2] {
    match part * 4 {
        0 => [1.0, 0.0],
        quarters if quarters == whole => [0.0, 1.0],
        quarters if quarters == 2 * whole => [-1.0, 0.0],
        quarters if quarters == 3 * whole => [0.0, -1.0],
        _ => {
            let (sine, cosine) = (TAU * part as f64 / whole as f64).sin_cos();
            [cosine, sine]
        }
    }
}

/// The matrix of a transform along one axis.
#[derive(Clone, Copy)]
struct TransformMatrix {
    /// The length of the transform.
    length: usize,
    inverse: bool,
    /// True for a real signal and half of its spectrum.
    one_sided: bool,
    /// The number of elements of the input that the transform reads. Missing elements are zero.
    taken: usize,
    /// Parts of each element of the input: 1 for real, 2 for complex numbers.
    parts: usize,
}

impl TransformMatrix {
    /// The number of elements of the result, and the number of parts of each element.
    fn result(&self) -> [usize; 2] {
        match (self.one_sided, self.inverse) {
            (true, false) => [self.length / 2 + 1, 2],
            (true, true) => [self.length, 1],
            (false, _) => [self.length, 2],
        }
    }

    /// The factor of part `part` of input element `from` in part `of_result` of result element
    /// `to`.
    fn entry(&self, [from, part]: [usize; 2], [to, of_result]: [usize; 2]) -> f64 {
        let turns = (from as u128 * to as u128 % self.length as u128) as usize;
        let [cosine, sine] = of_turn(turns, self.length);
        let sine = if self.inverse { sine } else { -sine };
        let entry = match (part, of_result) {
            (0, 0) | (1, 1) => cosine,
            (0, _) => sine,
            (_, _) => -sine,
        };
        if !self.inverse {
            return entry;
        }
        // counts twice, as the other half of the spectrum is the conjugate of this half
        let twice = self.one_sided && from > 0 && 2 * from != self.length;
        entry * if twice { 2.0 } else { 1.0 } / self.length as f64
    }

    /// The matrix. `weight`: a factor for each element of the input.
    fn tensor(&self, weight: impl Fn(usize) -> f64) -> Known {
        let [count, parts] = self.result();
        let mut entries = Vec::with_capacity(self.taken * self.parts * count * parts);
        for row in 0..self.taken * self.parts {
            let from = [row / self.parts, row % self.parts];
            entries.extend((0..count * parts).map(|column| {
                let to = [column / parts, column % parts];
                (self.entry(from, to) * weight(from[0])) as f32
            }));
        }
        let shape = vec![self.taken * self.parts, count * parts];
        Known::floats(shape, &entries, ElementType::F32)
    }
}

/// The matrix as a constant; refused above the limits for constants.
fn transform_matrix(
    core: &mut CoreBuilder,
    matrix: TransformMatrix,
    weight: impl Fn(usize) -> f64,
) -> Rule<Known> {
    let [count, parts] = matrix.result();
    let columns = count.saturating_mul(parts);
    core.foldable(&[matrix.taken.saturating_mul(matrix.parts), columns], ElementType::F32)?;
    Ok(matrix.tensor(weight))
}

/// A transform along one axis of a tensor. The last dimension holds the parts of each number.
fn transformed(
    core: &mut CoreBuilder,
    x: &Known,
    axis: usize,
    length: usize,
    dft: Dft,
) -> Rule<Known> {
    let shape = core.shape_of(x);
    let (&parts, outer) = shape.split_last().expect("translate: an axis");
    let most = if dft.one_sided && dft.inverse { length / 2 + 1 } else { length };
    let matrix = TransformMatrix {
        length,
        inverse: dft.inverse,
        one_sided: dft.one_sided,
        taken: shape[axis].min(most),
        parts,
    };
    let entries = transform_matrix(core, matrix, |_| 1.0)?;
    // the axis and the parts become the last dimensions
    let row_major = signed(strides(&shape));
    let others: Vec<usize> = (0..outer.len()).filter(|&d| d != axis).collect();
    let sizes: Vec<usize> = others.iter().map(|&d| shape[d]).collect();
    let last = Geometry {
        offset: 0,
        strides: others.iter().chain([&axis, &outer.len()]).map(|&d| row_major[d]).collect(),
        shape: [&sizes[..], &[matrix.taken, parts]].concat(),
    };
    let rows = core.view(x, last)?;
    let rows =
        core.view(&rows, Geometry::reshaped([&sizes[..], &[matrix.taken * parts]].concat()))?;
    let y = product(core, &[rows, entries], false, false)?;
    // the axis moves back to its place
    let [count, parts] = matrix.result();
    let row_major = signed(strides(&[&sizes[..], &[count, parts]].concat()));
    let position = |d: usize| others.iter().position(|&other| other == d).unwrap_or(others.len());
    let mut to: Vec<usize> = outer.to_vec();
    to[axis] = count;
    let strides = (0..outer.len())
        .map(|d| row_major[position(d)])
        .chain([row_major[others.len() + 1]])
        .collect();
    Ok(core.view(&y, Geometry { offset: 0, strides, shape: [&to[..], &[parts]].concat() })?)
}

/// A discrete Fourier transform, as products with constant matrices.
pub(super) fn dft(core: &mut CoreBuilder, args: &Operands, attributes: Dft) -> Rule<Known> {
    let mut x = args.get(0)?;
    all_floats(std::slice::from_ref(&x))?;
    let axes = args.integers(1, "the axes")?;
    let shape = core.shape_of(&x);
    let is_real = attributes.one_sided && !attributes.inverse && !attributes.parts_of_real;
    if is_real {
        x = core.view(&x, Geometry::reshaped([&shape[..], &[1]].concat()))?;
    }
    let wanted: &[usize] =
        match (is_real, attributes.one_sided && !attributes.inverse, attributes.parts_of_real) {
            (true, ..) | (_, true, true) => &[1],
            (_, _, true) => &[1, 2],
            (_, _, false) => &[2],
        };
    let parts = *core.shape_of(&x).last().expect("translate: an axis");
    if !wanted.contains(&parts) || shape.len() < 2 && !is_real {
        let valid =
            if wanted == [1] { "real numbers" } else { "numbers of two parts, the last dimension" };
        let help = format!("reshape the input, or correct {}", args.node.spelling.onesided);
        return Err(shapes_differ(&[shape], valid, help));
    }
    // ONNX counts the dimension of the parts among the axes, OpenVINO does not
    let signal = core.shape_of(&x).len() - 1;
    let rank = if attributes.parts_of_real { signal + 1 } else { signal };
    let places = args.axes_once(&axes, rank)?;
    if places.is_empty() || places.iter().any(|&axis| axis >= signal) {
        let found = format!("the axes {} of a signal of {signal} dimensions", shape_text(&axes));
        return Err(Refusal::new(found, "axes of the signal", "correct the axes"));
    }
    let lengths = dft_lengths(core, args, attributes, &places, &x)?;
    // of several axes, the transform along the last one reads the real signal first, or computes
    // the real result last
    let (&last, others) = places.split_last().expect("translate: an axis");
    let (&length, of_others) = lengths.split_last().expect("translate: an axis");
    let whole = Dft { one_sided: false, ..attributes };
    let first = attributes.one_sided && !attributes.inverse;
    if first {
        x = transformed(core, &x, last, length, attributes)?;
    }
    for (&axis, &length) in others.iter().zip(of_others) {
        x = transformed(core, &x, axis, length, whole)?;
    }
    if !first {
        x = transformed(core, &x, last, length, attributes)?;
    }
    let shape = core.shape_of(&x);
    if attributes.one_sided && attributes.inverse && !attributes.parts_of_real {
        return Ok(core.view(&x, Geometry::reshaped(shape[..signal].to_vec()))?);
    }
    Ok(x)
}

/// The length of the transform along each axis.
fn dft_lengths(
    core: &mut CoreBuilder,
    args: &Operands,
    dft: Dft,
    axes: &[usize],
    x: &Known,
) -> Rule<Vec<usize>> {
    let given = match args.len() {
        2 => vec![-1; axes.len()],
        _ => args.integers(2, "the lengths of the transform")?,
    };
    one_for_each_axis("the lengths of the transform", &given, axes.len())?;
    let shape = core.shape_of(x);
    let to_signal = dft.one_sided && dft.inverse;
    let default_len = |at: usize| match to_signal && at + 1 == axes.len() {
        true => 2 * (shape[axes[at]] - 1),
        false => shape[axes[at]],
    };
    let length = |(at, &given): (usize, &i64)| match given {
        -1 => Some(default_len(at)),
        given => usize::try_from(given).ok(),
    };
    let lengths: Option<Vec<usize>> = given.iter().enumerate().map(length).collect();
    lengths.filter(|lengths| lengths.iter().all(|&n| n > 0)).ok_or_else(|| {
        let found =
            format!("the lengths {} of a transform of {} axes", shape_text(&given), axes.len());
        Refusal::new(found, "1 or more for each axis", "correct the lengths")
    })
}

/// A short-time Fourier transform. `one_sided`: true for the non-negative frequencies alone.
pub(super) fn stft(core: &mut CoreBuilder, args: &Operands, one_sided: bool) -> Rule<Known> {
    let signal = args.get(0)?;
    all_floats(std::slice::from_ref(&signal))?;
    let shape = core.shape_of(&signal);
    let (batch, len, parts) = match shape[..] {
        [batch, len] | [batch, len, 1] => (batch, len, 1),
        [batch, len, 2] if !one_sided => (batch, len, 2),
        _ => {
            let name = args.node.spelling.onesided;
            let valid =
                &format!("a real signal [N, T] or [N, T, 1]; without {name} [N, T, 2] as well");
            let help = format!("reshape the signal, or correct {name}");
            return Err(shapes_differ(&[shape], valid, help));
        }
    };
    let (step, length) = (args.integer(1, "the step")?, args.integer(2, "the length of a frame")?);
    let sizes = usize::try_from(step).ok().zip(usize::try_from(length).ok());
    let Some((step, length)) =
        sizes.filter(|&(step, length)| step > 0 && length > 0 && length <= len)
    else {
        let found = format!(
            "frames of {length} elements, {step} from one to the next, of a signal of {len}"
        );
        let valid = format!("a length of 1 to {len}, and a step of 1 or more");
        return Err(Refusal::new(found, valid, "correct the length and the step"));
    };
    let frames = 1 + (len - length) / step;
    let geometry = Geometry {
        offset: 0,
        strides: signed(vec![len * parts, step * parts, parts, 1]),
        shape: vec![batch, frames, length, parts],
    };
    let mut rows = core.view(&signal, geometry)?;
    let matrix = TransformMatrix { length, inverse: false, one_sided, taken: length, parts };
    let window = if args.len() > 3 { Some(args.get(3)?) } else { None };
    if let Some(window) = &window
        && core.shape_of(window) != [length]
    {
        let shapes = [core.shape_of(window)];
        return Err(shapes_differ(
            &shapes,
            &format!("a window of the {length} elements of a frame"),
            "correct it",
        ));
    }
    let known = window.as_ref().and_then(Known::tensor);
    let matrix = match known {
        Some(window) => transform_matrix(core, matrix, |at| window.get_f64(at))?,
        None => transform_matrix(core, matrix, |_| 1.0)?,
    };
    if let (None, Some(window)) = (known, &window) {
        let window = core.view(window, Geometry::reshaped(vec![length, 1]))?;
        rows = compute(core, Binary::Multiply, vec![rows, window])?;
    }
    let rows = core.view(&rows, Geometry::reshaped(vec![batch, frames, length * parts]))?;
    let y = product(core, &[rows, matrix], false, false)?;
    let count = if one_sided { length / 2 + 1 } else { length };
    Ok(core.view(&y, Geometry::reshaped(vec![batch, frames, count, 2]))?)
}

/// A window of cosines. Input: the length.
pub(super) fn spectral_window(
    core: &mut CoreBuilder,
    args: &Operands,
    spectral: SpectralWindow,
) -> Rule<Known> {
    let size = args.integer(0, "the length of the window")?;
    let least = if spectral.periodic { 1 } else { 2 };
    let Some(size) = usize::try_from(size).ok().filter(|&size| size >= least) else {
        let found = format!("a window of {size} elements");
        return Err(Refusal::new(found, format!("{least} or more"), "correct the length"));
    };
    let whole = if spectral.periodic { size } else { size - 1 };
    set_numbers(core, args, vec![size], |at| {
        let cosine = |k: usize| of_turn(k * at % whole, whole)[0];
        (0..3).map(|k| spectral.cosines[k] * cosine(k)).sum()
    })
}

/// A constant whose numbers follow from their index, with the element type that the output states.
fn set_numbers(
    core: &mut CoreBuilder,
    args: &Operands,
    shape: Vec<usize>,
    number: impl Fn(usize) -> f64,
) -> Rule<Known> {
    let element = args.element();
    if !element.is_float() {
        let found = format!("numbers of the type {}", element.name());
        return Err(Refusal::new(
            found,
            crate::rules::report::floats(),
            "compute them in floating point, and convert them",
        ));
    }
    core.foldable(&shape, element)?;
    let count = shape.iter().product();
    let bytes: Vec<u8> = (0..count).flat_map(|at| number(at).to_le_bytes()).collect();
    let size = bytes.len();
    let wide = Tensor::new(shape, ElementType::F64, bytes.into(), 0..size);
    let wide = wide.expect("translate: a shape has as many elements as numbers");
    let tensor = rounded(&wide, element).unwrap_or(wide);
    Ok(Known::Constant(tensor, element))
}

/// The constant matrix of MelWeightMatrix.
pub(super) fn mel_weights(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let sizes = [
        args.integer(0, "the bands")?,
        args.integer(1, "the length of the transform")?,
        args.integer(2, "the sampling rate")?,
    ];
    let edges: Option<Vec<f64>> = (3..5).map(|port| number(args, port)).collect();
    let valid = "constants: 1 band or more, a length and a rate of 1 or more, and frequencies \
        from 0 to half the rate";
    let sizes: Option<Vec<usize>> =
        sizes.into_iter().map(|size| usize::try_from(size).ok()).collect();
    let (Some(&[bands, length, rate]), Some(&[low, high])) = (sizes.as_deref(), edges.as_deref())
    else {
        return Err(Refusal::new("MelWeightMatrix of other inputs", valid, "correct the inputs"));
    };
    let rows = length / 2 + 1;
    let sizes_fit =
        bands > 0 && length > 0 && rate > 0 && low >= 0.0 && low < high && high.is_finite();
    if !sizes_fit {
        return Err(Refusal::new("MelWeightMatrix of other inputs", valid, "correct the inputs"));
    }
    core.foldable(&[rows, bands], ElementType::F32)?;
    let [first, last] =
        [low, high].map(|hertz| 2595.0 * (hertz / 700.0).ln_1p() / std::f64::consts::LN_10);
    let step = (last - first) / (bands + 2) as f64;
    let places: Vec<usize> = (0..bands + 2)
        .map(|k| {
            let mel = k as f64 * step + first;
            let hertz = 700.0 * (mel / 2595.0 * std::f64::consts::LN_10).exp_m1();
            ((length + 1) as f64 * hertz / rate as f64).floor() as usize
        })
        .collect();
    // the last band ends at 0 at the last place, which may lie one element behind the spectrum
    if places[bands] >= rows || places[bands + 1] > rows {
        let found = format!("bands up to {high} Hz of a spectrum up to {} Hz", rate as f64 / 2.0);
        return Err(Refusal::new(found, valid, "correct the upper frequency"));
    }
    set_numbers(core, args, vec![rows, bands], |at| {
        let (row, band) = (at / bands, at % bands);
        let [lower, center, upper] = [0, 1, 2].map(|k| places[band + k]);
        if (center..upper).contains(&row) {
            return (upper - row) as f64 / (upper - center) as f64;
        }
        match lower == center {
            true => f64::from(u8::from(row == center)),
            false if (lower..=center).contains(&row) => {
                (row - lower) as f64 / (center - lower) as f64
            }
            false => 0.0,
        }
    })
}

/// The single number of a constant input.
fn number(args: &Operands, port: usize) -> Option<f64> {
    let known = args.known(port)?;
    known
        .tensor()
        .filter(|tensor| tensor.len() == 1 && known.element().is_float())
        .map(|tensor| tensor.get_f64(0))
}
