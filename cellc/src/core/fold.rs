//! Operations on constants, computed when compiling. Callers have checked shapes and limits.
//!
//! Floating point is computed in f64 from elements that are f32 or less and rounded to f32 once,
//! which for `+ - * /` is the f32 operation; f64 stays f64. Integers are computed in i64.

use super::{Combiner, Geometry, PointwiseFunction, broadcast_strides, strides};
use crate::model::{Activation, ElementType, Elementwise, ElementwiseKind, Tensor};

const OUT_OF_RANGE: &str = "the result does not fit its integer type";

/// The elements of a tensor named by a geometry.
pub(crate) fn strided(tensor: &Tensor, geometry: &Geometry) -> Tensor {
    let tensor = &in_bytes(tensor);
    let size = tensor.element().size();
    let bytes = tensor.bytes();
    let mut out = Vec::with_capacity(geometry.shape.iter().product::<usize>() * size);
    let strides: Vec<[isize; 1]> = geometry.strides.iter().map(|&stride| [stride]).collect();
    walk([geometry.offset as isize], &geometry.shape, &strides, |[at]| {
        let at = at as usize * size;
        out.extend_from_slice(&bytes[at..at + size]);
    });
    tensor_of(geometry.shape.clone(), tensor.element(), out)
}

/// The parts of a tensor along an axis, by `places`.
pub(crate) fn gather(tensor: &Tensor, axis: usize, places: &[usize], to: Vec<usize>) -> Tensor {
    let tensor = &in_bytes(tensor);
    let block = strides(tensor.shape())[axis] * tensor.element().size();
    let bytes = tensor.bytes();
    let mut out = Vec::with_capacity(to.iter().product::<usize>() * tensor.element().size());
    for whole in bytes.chunks_exact((block * tensor.shape()[axis]).max(1)) {
        for &place in places {
            out.extend_from_slice(&whole[place * block..(place + 1) * block]);
        }
    }
    tensor_of(to, tensor.element(), out)
}

/// Tensors side by side along an axis.
pub(crate) fn concat(
    tensors: &[&Tensor],
    axis: usize,
    shape: Vec<usize>,
    element: ElementType,
) -> Tensor {
    let tensors: Vec<Tensor> = tensors.iter().map(|tensor| in_bytes(tensor)).collect();
    let one = tensors[0].element();
    let same = tensors.iter().all(|tensor| tensor.element() == one);
    let stored = if same { one } else { common(element) };
    let parts: Vec<Vec<u8>> = match same {
        true => Vec::new(),
        false => tensors.iter().map(|tensor| in_common(tensor, element)).collect(),
    };
    let bytes = |i: usize| if same { tensors[i].bytes() } else { &parts[i][..] };
    let inner: usize = shape[axis + 1..].iter().product::<usize>() * stored.size();
    let outer: usize = shape[..axis].iter().product();
    let mut out = Vec::with_capacity(shape.iter().product::<usize>() * stored.size());
    for row in 0..outer {
        for (i, tensor) in tensors.iter().enumerate() {
            let block = tensor.shape()[axis] * inner;
            out.extend_from_slice(&bytes(i)[row * block..(row + 1) * block]);
        }
    }
    tensor_of(shape, stored, out)
}

/// A tensor with at least a byte for each element: elements of 4 bits are widened to 8 bits.
fn in_bytes(tensor: &Tensor) -> Tensor {
    let (wide, bytes): (_, Vec<u8>) = match tensor.element() {
        ElementType::I4 => (ElementType::I8, each_integer(tensor).map(|v| v as u8).collect()),
        ElementType::U4 => (ElementType::U8, each_integer(tensor).map(|v| v as u8).collect()),
        _ => return tensor.clone(),
    };
    tensor_of(tensor.shape().to_vec(), wide, bytes)
}

/// The elements of a tensor of integers.
fn each_integer(tensor: &Tensor) -> impl Iterator<Item = i64> {
    (0..tensor.len()).map(|i| tensor.get_i64(i).unwrap_or_default())
}

/// True if i64 holds every element of a tensor of integers. The largest numbers of u64 exceed i64.
fn is_i64(tensor: &Tensor) -> bool {
    tensor.element() != ElementType::U64 || each_integer(tensor).all(|v| v < i64::MAX)
}

/// The common type of elements of the model's type `element`.
fn common(element: ElementType) -> ElementType {
    match element {
        ElementType::F64 => ElementType::F64,
        element if element.is_float() => ElementType::F32,
        _ => ElementType::I64,
    }
}

fn in_common(tensor: &Tensor, element: ElementType) -> Vec<u8> {
    let all = 0..tensor.len();
    match common(element) {
        ElementType::F64 => all.flat_map(|i| tensor.get_f64(i).to_le_bytes()).collect(),
        ElementType::F32 => all.flat_map(|i| tensor.get_f32(i).to_le_bytes()).collect(),
        _ => each_integer(tensor).flat_map(i64::to_le_bytes).collect(),
    }
}

/// A conversion to integers or booleans: toward zero from floating point, modulo the type's range
/// from integers.
///
/// # Errors
/// A floating-point number outside of the type's range: no standard defines its conversion.
pub(crate) fn to_integers(tensor: &Tensor, element: ElementType) -> Result<Tensor, &'static str> {
    if !is_i64(tensor) {
        return Err(OUT_OF_RANGE);
    }
    let convert = |i: usize| match tensor.get_i64(i) {
        Some(v) => Ok(match element {
            ElementType::Bool => i64::from(v != 0),
            ElementType::I4 => i64::from((v as i8) << 4 >> 4),
            ElementType::U4 => v & 15,
            ElementType::I8 => i64::from(v as i8),
            ElementType::U8 => i64::from(v as u8),
            ElementType::I16 => i64::from(v as i16),
            ElementType::U16 => i64::from(v as u16),
            ElementType::I32 => i64::from(v as i32),
            ElementType::U32 => i64::from(v as u32),
            _ => v,
        }),
        None if element == ElementType::Bool => Ok(i64::from(tensor.get_f64(i) != 0.0)),
        // no integer type holds numbers outside of i64, or NaN
        None => match tensor.get_f64(i).trunc() {
            v if v.abs() < 9.2e18 => in_range(v as i64, element),
            _ => Err(OUT_OF_RANGE),
        },
    };
    let values: Vec<i64> = (0..tensor.len()).map(convert).collect::<Result<_, _>>()?;
    Ok(integers(tensor.shape().to_vec(), values.into_iter()))
}

/// Integers from `start` on, `step` apart, up to an i64.
///
/// # Errors
/// An integer outside of its type.
pub(crate) fn range(
    start: i64,
    step: i64,
    count: usize,
    element: ElementType,
) -> Result<Tensor, &'static str> {
    let values = (0..count as i64)
        .map(|i| in_range(start.wrapping_add(i.wrapping_mul(step)), element))
        .collect::<Result<Vec<i64>, _>>()?;
    Ok(integers(vec![count], values.into_iter()))
}

/// Reductions of `size` elements at distances of `inner`.
///
/// # Errors
/// Elements without a result.
pub(crate) fn reduce(
    combiner: Combiner,
    tensor: &Tensor,
    element: ElementType,
    size: usize,
    inner: usize,
    shape: Vec<usize>,
) -> Result<Tensor, &'static str> {
    use Elementwise as E;
    let by = match combiner {
        Combiner::Add => E::Add,
        Combiner::Multiply => E::Multiply,
        Combiner::Maximum => E::Maximum,
        Combiner::Minimum => E::Minimum,
    };
    let count: usize = shape.iter().product();
    let at = |out: usize, k: usize| (out / inner * size + k) * inner + out % inner;
    let neutral = match by {
        E::Add => 0.0,
        E::Multiply => 1.0,
        _ if size == 0 => return Err("the largest or the smallest of no elements"),
        E::Maximum => f64::NEG_INFINITY,
        _ => f64::INFINITY,
    };
    if element.is_float() {
        let sum = |out: usize| {
            let combine = |a: f64, k| combiner.of(a, tensor.get_f64(at(out, k)));
            (0..size).fold(neutral, combine)
        };
        let bytes = (0..count).flat_map(|out| (sum(out) as f32).to_le_bytes()).collect();
        return Ok(tensor_of(shape, ElementType::F32, bytes));
    }
    if !is_i64(tensor) {
        return Err(OUT_OF_RANGE);
    }
    let mut out = Vec::with_capacity(count);
    for place in 0..count {
        let get = |k: usize| tensor.get_i64(at(place, k)).unwrap_or_default();
        let mut all = if size == 0 { neutral as i64 } else { get(0) };
        for k in 1..size {
            all = of_integers(by, [all, get(k), 0])?;
        }
        out.push(in_range(all, element)?);
    }
    Ok(integers(shape, out.into_iter()))
}

/// The axis and the form of running sums.
pub(crate) struct Running {
    /// The axis.
    pub(crate) axis: usize,
    /// True if a sum leaves out its own element.
    pub(crate) exclusive: bool,
    /// True if sums begin at the last element.
    pub(crate) reverse: bool,
}

impl Running {
    /// The sums of all lines along the axis, each from zero and in order.
    fn sums<T: Copy>(
        &self,
        shape: &[usize],
        zero: T,
        add: impl Fn(T, usize) -> Result<T, &'static str>,
    ) -> Result<Vec<T>, &'static str> {
        let (size, inner) = (shape[self.axis], shape[self.axis + 1..].iter().product::<usize>());
        let count: usize = shape.iter().product();
        let mut out = vec![zero; count];
        for line in 0..count.checked_div(size).unwrap_or(0) {
            let mut sum = zero;
            for step in 0..size {
                let k = if self.reverse { size - 1 - step } else { step };
                let at = (line / inner * size + k) * inner + line % inner;
                if self.exclusive {
                    out[at] = sum;
                    // an exclusive sum never includes the last element
                    sum = if step + 1 < size { add(sum, at)? } else { sum };
                } else {
                    sum = add(sum, at)?;
                    out[at] = sum;
                }
            }
        }
        Ok(out)
    }
}

/// Running sums; each sum of floats is rounded to f32, as at run time.
///
/// # Errors
/// A sum of integers that its type does not hold.
pub(crate) fn running_sum(
    running: &Running,
    tensor: &Tensor,
    element: ElementType,
) -> Result<Tensor, &'static str> {
    let shape = tensor.shape().to_vec();
    if element.is_float() {
        let sums = running.sums(&shape, 0.0, |sum: f32, at| Ok(sum + tensor.get_f32(at)))?;
        let bytes = sums.into_iter().flat_map(f32::to_le_bytes).collect();
        return Ok(tensor_of(shape, ElementType::F32, bytes));
    }
    if !is_i64(tensor) {
        return Err(OUT_OF_RANGE);
    }
    let sums = running.sums(&shape, 0, |sum, at| {
        let sum = of_integers(Elementwise::Add, [sum, tensor.get_i64(at).unwrap_or_default(), 0])?;
        in_range(sum, element)
    })?;
    Ok(integers(shape, sums.into_iter()))
}

/// The operands of products of constant matrices.
pub(crate) struct Product {
    /// Batch, rows and columns.
    pub(crate) shape: Vec<usize>,
    /// Elements between neighbours along `shape`, in the left and in the right factor.
    pub(crate) strides: Vec<[isize; 2]>,
    /// Products in a sum.
    pub(crate) inner: usize,
    /// Elements between the operands of two neighbouring products.
    pub(crate) along: [isize; 2],
}

/// Products of matrices, with sums in f64.
pub(crate) fn product(factors: [&Tensor; 2], of: &Product, shape: Vec<usize>) -> Tensor {
    let [a, b] =
        factors.map(|tensor| (0..tensor.len()).map(|i| tensor.get_f64(i)).collect::<Vec<f64>>());
    let mut sums = Vec::with_capacity(shape.iter().product());
    walk([0; 2], &of.shape, &of.strides, |at| {
        let at = |k: usize| [0, 1].map(|i| (at[i] + k as isize * of.along[i]) as usize);
        let terms = (0..of.inner).map(at).map(|[i, j]| a[i] * b[j]);
        sums.push(terms.sum::<f64>());
    });
    if factors.iter().all(|tensor| tensor.element() == ElementType::F64) {
        return tensor_of(
            shape,
            ElementType::F64,
            sums.into_iter().flat_map(f64::to_le_bytes).collect(),
        );
    }
    tensor_of(
        shape,
        ElementType::F32,
        sums.into_iter().flat_map(|sum| (sum as f32).to_le_bytes()).collect(),
    )
}

/// An operation on constants that broadcast to `shape`. The element type of the operands decides
/// the arithmetic. `exact`: the values of activations.
///
/// # Errors
/// Operands without a result, such as a divisor of zero.
pub(crate) fn elementwise(
    function: Elementwise,
    inputs: &[(&Tensor, ElementType)],
    shape: Vec<usize>,
    exact: Exact,
) -> Result<(Tensor, ElementType), &'static str> {
    if inputs.iter().any(|(tensor, _)| !is_i64(tensor)) {
        return Err(OUT_OF_RANGE);
    }
    // the condition of a Select is no operand
    let operands = if function == Elementwise::Select { &inputs[1..] } else { inputs };
    let element = operands[0].1;
    let all: Vec<Vec<usize>> =
        inputs.iter().map(|(tensor, _)| broadcast_strides(tensor.shape(), &shape)).collect();
    let strides: Vec<[isize; 3]> = (0..shape.len())
        .map(|d| [0, 1, 2].map(|k| all.get(k).map_or(0, |s: &Vec<usize>| s[d] as isize)))
        .collect();
    let float = |k: usize, at: [isize; 3]| {
        inputs.get(k).map_or(0.0, |(tensor, _)| tensor.get_f64(at[k] as usize))
    };
    let integer = |k: usize, at: [isize; 3]| {
        let known = inputs.get(k).and_then(|(tensor, _)| tensor.get_i64(at[k] as usize));
        known.unwrap_or_default()
    };
    let gives_truth =
        matches!(function.facts().kind, ElementwiseKind::Comparison | ElementwiseKind::Logic);
    if gives_truth || !element.is_float() {
        let result_type = if gives_truth { ElementType::Bool } else { element };
        let values = each(&shape, &strides, |at| {
            let value = match element.is_float() {
                true => i64::from(compare(function, float(0, at), float(1, at))?),
                false => of_integers(function, [0, 1, 2].map(|k| integer(k, at)))?,
            };
            in_range(value, result_type)
        })?;
        return Ok((integers(shape, values.into_iter()), result_type));
    }
    let values =
        each(&shape, &strides, |at| of_floats(function, [0, 1, 2].map(|k| float(k, at)), exact))?;
    let (stored, bytes) = match operands.iter().all(|(of, _)| of.element() == ElementType::F64) {
        true => (ElementType::F64, values.into_iter().flat_map(f64::to_le_bytes).collect()),
        false => {
            let rounded = values.into_iter().map(|value| value as f32);
            (ElementType::F32, rounded.flat_map(f32::to_le_bytes).collect())
        }
    };
    Ok((tensor_of(shape, stored, bytes), element))
}

/// The result of `of` for every element of `shape`, or the last error.
fn each<T>(
    shape: &[usize],
    strides: &[[isize; 3]],
    mut of: impl FnMut([isize; 3]) -> Result<T, &'static str>,
) -> Result<Vec<T>, &'static str> {
    let mut values = Vec::with_capacity(shape.iter().product());
    let mut problem = None;
    walk([0; 3], shape, strides, |at| match of(at) {
        Ok(value) => values.push(value),
        Err(reason) => problem = Some(reason),
    });
    problem.map_or(Ok(values), Err)
}

/// The truth value of a comparison of floating-point numbers.
///
/// # Errors
/// An operation that compares no numbers.
fn compare(function: Elementwise, a: f64, b: f64) -> Result<bool, &'static str> {
    use Elementwise as E;
    match function {
        E::Equal => Ok(a == b),
        E::NotEqual => Ok(a != b),
        E::Greater => Ok(a > b),
        E::GreaterEqual => Ok(a >= b),
        E::Less => Ok(a < b),
        E::LessEqual => Ok(a <= b),
        E::Activation(_)
        | E::PRelu
        | E::Add
        | E::Subtract
        | E::Multiply
        | E::Divide
        | E::Maximum
        | E::Minimum
        | E::HardSigmoid
        | E::Swish { .. }
        | E::Mish
        | E::HardSwish
        | E::Selu
        | E::Celu { .. }
        | E::GeluTanh
        | E::Gelu
        | E::Tan
        | E::Sinh
        | E::Cosh
        | E::Asin
        | E::Acos
        | E::Asinh
        | E::Acosh
        | E::Atanh
        | E::SquaredDifference
        | E::Clamp { .. }
        | E::Negative
        | E::Abs
        | E::Power
        | E::Mod
        | E::FloorMod
        | E::Ceiling
        | E::Sign
        | E::LogicalAnd
        | E::LogicalOr
        | E::LogicalNot
        | E::Select => Err("an operation that compares no numbers"),
    }
}

/// The value of an activation in float64.
pub(crate) type Exact = fn(Activation, f64) -> f64;

/// A function of floating-point numbers. A maximum or a minimum of NaN is NaN, as at run time.
fn of_floats(function: Elementwise, operands: [f64; 3], exact: Exact) -> Result<f64, &'static str> {
    use Elementwise as E;
    if let Some(pointwise) = PointwiseFunction::of_elementwise(function) {
        return Ok(pointwise.of(&operands[..pointwise.arity()], exact));
    }
    let [a, b, c] = operands;
    Ok(match function {
        E::Mod => a % b,
        E::FloorMod => a - b * (a / b).floor(),
        E::Ceiling => a.ceil(),
        // the sign of 0 is 0, the sign of NaN is NaN
        E::Sign if a == 0.0 || a.is_nan() => a,
        E::Sign => a.signum(),
        E::Negative => -a,
        E::Abs => a.abs(),
        E::HardSigmoid | E::Clamp { .. } if a.is_nan() => a,
        E::HardSigmoid => (b * a + c).clamp(0.0, 1.0),
        E::Clamp { min, max } => a.max(f64::from(min)).min(f64::from(max)),
        E::Select if a != 0.0 => b,
        E::Select => c,
        E::Power => a.powf(b),
        E::Activation(_)
        | E::PRelu
        | E::Add
        | E::Subtract
        | E::Multiply
        | E::Divide
        | E::Maximum
        | E::Minimum
        | E::Swish { .. }
        | E::Mish
        | E::HardSwish
        | E::Selu
        | E::Celu { .. }
        | E::GeluTanh
        | E::Gelu
        | E::Tan
        | E::Sinh
        | E::Cosh
        | E::Asin
        | E::Acos
        | E::Asinh
        | E::Acosh
        | E::Atanh
        | E::SquaredDifference
        | E::Equal
        | E::NotEqual
        | E::Greater
        | E::GreaterEqual
        | E::Less
        | E::LessEqual
        | E::LogicalAnd
        | E::LogicalOr
        | E::LogicalNot => {
            return Err("an operation on floating point that only kernels compute");
        }
    })
}

/// A function of integers and booleans. Division rounds down, as OpenVINO does by default.
fn of_integers(function: Elementwise, [a, b, c]: [i64; 3]) -> Result<i64, &'static str> {
    use Elementwise as E;
    const BY_ZERO: &str = "a division of integers by zero";
    let divides = matches!(function, E::Divide | E::Mod | E::FloorMod);
    if divides && b == 0 {
        return Err(BY_ZERO);
    }
    let result = match function {
        E::Add => a.checked_add(b),
        E::Subtract => a.checked_sub(b),
        E::Multiply => a.checked_mul(b),
        E::Divide => {
            a.checked_div(b).map(|q| if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
        }
        E::Mod => a.checked_rem(b),
        E::FloorMod => {
            a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
        }
        E::Power => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        E::Maximum => Some(a.max(b)),
        E::Minimum => Some(a.min(b)),
        E::Negative => a.checked_neg(),
        E::Abs => a.checked_abs(),
        E::Activation(Activation::Floor | Activation::Round | Activation::Truncate)
        | E::Ceiling => Some(a),
        E::Sign => Some(a.signum()),
        E::Equal => Some(i64::from(a == b)),
        E::NotEqual => Some(i64::from(a != b)),
        E::Greater => Some(i64::from(a > b)),
        E::GreaterEqual => Some(i64::from(a >= b)),
        E::Less => Some(i64::from(a < b)),
        E::LessEqual => Some(i64::from(a <= b)),
        E::LogicalAnd => Some(i64::from(a != 0 && b != 0)),
        E::LogicalOr => Some(i64::from(a != 0 || b != 0)),
        E::LogicalNot => Some(i64::from(a == 0)),
        E::Select => Some(if a != 0 { b } else { c }),
        E::Clamp { min, max } => Some((a as f64).max(f64::from(min)).min(f64::from(max)) as i64),
        E::Activation(_)
        | E::PRelu
        | E::HardSigmoid
        | E::Swish { .. }
        | E::Mish
        | E::HardSwish
        | E::Selu
        | E::Celu { .. }
        | E::GeluTanh
        | E::Gelu
        | E::Tan
        | E::Sinh
        | E::Cosh
        | E::Asin
        | E::Acos
        | E::Asinh
        | E::Acosh
        | E::Atanh
        | E::SquaredDifference => {
            return Err("an operation on integers that floating point is meant for");
        }
    };
    result.ok_or(OUT_OF_RANGE)
}

fn in_range(v: i64, element: ElementType) -> Result<i64, &'static str> {
    let fits = match element {
        ElementType::I4 => (-8..8).contains(&v),
        ElementType::U4 => (0..16).contains(&v),
        ElementType::I8 => i8::try_from(v).is_ok(),
        ElementType::U8 => u8::try_from(v).is_ok(),
        ElementType::I16 => i16::try_from(v).is_ok(),
        ElementType::U16 => u16::try_from(v).is_ok(),
        ElementType::I32 => i32::try_from(v).is_ok(),
        ElementType::U32 => u32::try_from(v).is_ok(),
        ElementType::U64 => v >= 0,
        _ => true,
    };
    if fits { Ok(v) } else { Err(OUT_OF_RANGE) }
}

/// Calls `visit` with the places of every element of `shape` in C order, in `N` tensors.
fn walk<const N: usize>(
    start: [isize; N],
    shape: &[usize],
    strides: &[[isize; N]],
    mut visit: impl FnMut([isize; N]),
) {
    let mut index = vec![0usize; shape.len()];
    let mut at = start;
    for _ in 0..shape.iter().product() {
        visit(at);
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            (0..N).for_each(|k| at[k] += strides[d][k]);
            if index[d] < shape[d] {
                break;
            }
            (0..N).for_each(|k| at[k] -= strides[d][k] * shape[d] as isize);
            index[d] = 0;
        }
    }
}

fn integers(shape: Vec<usize>, values: impl Iterator<Item = i64>) -> Tensor {
    tensor_of(shape, ElementType::I64, values.flat_map(i64::to_le_bytes).collect())
}

fn tensor_of(shape: Vec<usize>, element: ElementType, bytes: Vec<u8>) -> Tensor {
    let size = bytes.len();
    Tensor::new(shape, element, bytes.into(), 0..size)
        .expect("core: a folded tensor has as many bytes as its shape")
}
