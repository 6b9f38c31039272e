//! Operations on constants, computed when compiling. Callers have checked shapes and limits.
//!
//! Element-wise operations and products compute floats in f64. If all float operands are stored in
//! f64, the result is stored in f64; otherwise the result is rounded to f32 once, and `+ - * /` of
//! two f32 have the bits of the f32 operation. Reductions round to f32 once, running sums round
//! each sum to f32. Integers compute in i64.

use super::{Combiner, Geometry, PointwiseFunction, broadcast_strides, strides};
use crate::model::{
    Binary, Comparison, CurveShape, ElementType, Logic, MathFunction, Primitive, Remainder, Tensor,
    Unary,
};

const OUT_OF_RANGE: &str = "the result does not fit its integer type";

/// The elements of a tensor that a geometry selects.
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

/// The parts of a tensor at the indices `places` along an axis. `to`: the shape of the result.
pub(crate) fn gather(tensor: &Tensor, axis: usize, places: &[usize], to: Vec<usize>) -> Tensor {
    let tensor = &in_bytes(tensor);
    let block = strides(tensor.shape())[axis] * tensor.element().size();
    let bytes = tensor.bytes();
    let mut out = Vec::with_capacity(to.iter().product::<usize>() * tensor.element().size());
    for whole in bytes.chunks_exact((block * tensor.shape()[axis]).max(1)) {
        for &index in places {
            out.extend_from_slice(&whole[index * block..(index + 1) * block]);
        }
    }
    tensor_of(to, tensor.element(), out)
}

/// The concatenation of tensors along an axis. `shape`: the shape of the result. `element`: the
/// element type in the model; the tensors are converted if their stored types differ.
pub(crate) fn concat(
    tensors: &[&Tensor],
    axis: usize,
    shape: Vec<usize>,
    element: ElementType,
) -> Tensor {
    let tensors: Vec<Tensor> = tensors.iter().map(|tensor| in_bytes(tensor)).collect();
    let first_type = tensors[0].element();
    let same = tensors.iter().all(|tensor| tensor.element() == first_type);
    let stored = if same { first_type } else { common(element) };
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

/// A tensor with at least one byte for each element: elements of 4 bits are widened to 8 bits.
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

/// False if a tensor of u64 has an element that i64 does not hold, or the largest i64: such
/// elements are read as the largest i64.
fn is_i64(tensor: &Tensor) -> bool {
    tensor.element() != ElementType::U64 || each_integer(tensor).all(|v| v < i64::MAX)
}

/// The type in which constants of the type `element` are folded: F64, F32 or I64.
fn common(element: ElementType) -> ElementType {
    match element {
        ElementType::F64 => ElementType::F64,
        element if element.is_float() => ElementType::F32,
        _ => ElementType::I64,
    }
}

fn in_common(tensor: &Tensor, element: ElementType) -> Vec<u8> {
    let indices = 0..tensor.len();
    match common(element) {
        ElementType::F64 => indices.flat_map(|i| tensor.get_f64(i).to_le_bytes()).collect(),
        ElementType::F32 => indices.flat_map(|i| tensor.get_f32(i).to_le_bytes()).collect(),
        _ => each_integer(tensor).flat_map(i64::to_le_bytes).collect(),
    }
}

/// Converts a tensor to integers or booleans. Floating-point numbers are rounded toward zero;
/// integers wrap around. Every number but 0 becomes true.
///
/// # Errors
/// A floating-point number outside of the range of `element`, as no standard defines its
/// conversion, or an integer that i64 does not hold.
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
        // NaN and numbers beyond 9.2e18, near the limits of i64, are refused
        None => match tensor.get_f64(i).trunc() {
            v if v.abs() < 9.2e18 => in_range(v as i64, element),
            _ => Err(OUT_OF_RANGE),
        },
    };
    let values: Vec<i64> = (0..tensor.len()).map(convert).collect::<Result<_, _>>()?;
    Ok(integers(tensor.shape().to_vec(), values.into_iter()))
}

/// `count` integers from `start` on, with the difference `step`.
///
/// # Errors
/// An integer outside of the range of `element`.
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

/// Reduces the middle axis of a tensor viewed as `[outer, size, inner]`. `shape`: the shape of the
/// result.
///
/// # Errors
/// The extremum of no elements, an integer that i64 does not hold, or a result outside of the range
/// of `element`.
pub(crate) fn reduce(
    combiner: Combiner,
    tensor: &Tensor,
    element: ElementType,
    size: usize,
    inner: usize,
    shape: Vec<usize>,
) -> Result<Tensor, &'static str> {
    let count: usize = shape.iter().product();
    let at = |out: usize, k: usize| (out / inner * size + k) * inner + out % inner;
    let neutral = match combiner {
        Combiner::Add => 0.0,
        Combiner::Multiply => 1.0,
        Combiner::Maximum | Combiner::Minimum if size == 0 => {
            return Err("the largest or the smallest of no elements");
        }
        Combiner::Maximum => f64::NEG_INFINITY,
        Combiner::Minimum => f64::INFINITY,
    };
    if element.is_float() {
        let sum = |out: usize| {
            let combine = |a: f64, k| combiner.combine(a, tensor.get_f64(at(out, k)));
            (0..size).fold(neutral, combine)
        };
        let bytes = (0..count).flat_map(|out| (sum(out) as f32).to_le_bytes()).collect();
        return Ok(tensor_of(shape, ElementType::F32, bytes));
    }
    if !is_i64(tensor) {
        return Err(OUT_OF_RANGE);
    }
    let mut out = Vec::with_capacity(count);
    for row in 0..count {
        let get = |k: usize| tensor.get_i64(at(row, k)).unwrap_or_default();
        let mut reduced = if size == 0 { neutral as i64 } else { get(0) };
        for k in 1..size {
            reduced = binary_of_integers(combiner.binary(), reduced, get(k))?;
        }
        out.push(in_range(reduced, element)?);
    }
    Ok(integers(shape, out.into_iter()))
}

/// The attributes of a CumSum.
pub(crate) struct RunningSumAttributes {
    /// The axis.
    pub(crate) axis: usize,
    /// True if the sum at an index leaves out the element at the index.
    pub(crate) exclusive: bool,
    /// True if summation runs from the last element to the first.
    pub(crate) reverse: bool,
}

impl RunningSumAttributes {
    /// The running sums of every line along the axis, in C order. `add(sum, i)` adds the element
    /// with index `i` to a sum.
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
                    // the last element is not added: no exclusive sum needs it, and the addition
                    // may overflow
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

/// Running sums of a constant. Each sum of floats is rounded to f32, as at run time. Denormal sums
/// are kept: only sums that a step computes are flushed.
///
/// # Errors
/// A sum of integers outside of the range of `element`, or an integer that i64 does not hold.
pub(crate) fn running_sum(
    running: &RunningSumAttributes,
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
        let sum = binary_of_integers(Binary::Add, sum, tensor.get_i64(at).unwrap_or_default())?;
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
    /// Distances of neighbouring elements along the sum, in the left and in the right factor.
    pub(crate) along: [isize; 2],
}

/// Products of matrices, with sums in f64.
pub(crate) fn product(factors: [&Tensor; 2], places: &Product, shape: Vec<usize>) -> Tensor {
    let [a, b] =
        factors.map(|tensor| (0..tensor.len()).map(|i| tensor.get_f64(i)).collect::<Vec<f64>>());
    let mut sums = Vec::with_capacity(shape.iter().product());
    walk([0; 2], &places.shape, &places.strides, |at| {
        let at = |k: usize| [0, 1].map(|i| (at[i] + k as isize * places.along[i]) as usize);
        let terms = (0..places.inner).map(at).map(|[i, j]| a[i] * b[j]);
        sums.push(terms.sum::<f64>());
    });
    let is_f64 = factors.iter().all(|tensor| tensor.element() == ElementType::F64);
    float_tensor(shape, is_f64, sums)
}

/// The value of a [`MathFunction`] in float64.
pub(crate) type Exact = fn(MathFunction, f64) -> f64;

/// A folded tensor, and its element type in the model.
type Folded = Result<(Tensor, ElementType), &'static str>;

/// An element-wise operation on constants, in floats or integers as the operands are. `exact`
/// computes the values of [`MathFunction`]s.
///
/// # Errors
/// Integers without a result, such as a quotient by zero, or with a result outside of their type.
pub(crate) fn elementwise(function: Primitive, constants: &Broadcasts, exact: Exact) -> Folded {
    let first = function.first_operand();
    let is_float = constants.inputs[first].1.is_float();
    let floats = |compute: &dyn Fn([f64; 3]) -> f64| constants.to_floats(first, compute);
    let pointwise = |pointwise_function: PointwiseFunction| {
        floats(&|v| pointwise_function.compute(&v[..pointwise_function.arity()], exact))
    };
    match (function, is_float) {
        (Primitive::Math(function), true) => pointwise(PointwiseFunction::Math(function)),
        (Primitive::Math(function), false) if function.curve() == CurveShape::Stairs => {
            constants.to_integers(0, |[v, ..]| Ok(v))
        }
        (Primitive::PRelu, true) => pointwise(PointwiseFunction::PRelu),
        (Primitive::Math(_) | Primitive::PRelu, false) => {
            unreachable!("translate refuses activations of integers before folding")
        }
        (Primitive::Unary(function), true) => floats(&|[v, ..]| unary_of_float(function, v)),
        (Primitive::Unary(unary), false) => {
            constants.to_integers(0, |[v, ..]| unary_of_integer(unary, v))
        }
        (Primitive::Binary(function), true) => pointwise(function.into()),
        (Primitive::Binary(binary), false) => {
            constants.to_integers(0, |[a, b, _]| binary_of_integers(binary, a, b))
        }
        (Primitive::Comparison(function), true) => {
            constants.to_truth(Broadcasts::floats, |[a, b, _]| compare(function, &a, &b))
        }
        (Primitive::Comparison(comparison), false) => {
            constants.to_truth(Broadcasts::integers, |[a, b, _]| compare(comparison, &a, &b))
        }
        (Primitive::Logic(logic), _) => {
            constants.to_truth(Broadcasts::floats, |v| combine(logic, v.map(|v| v != 0.0)))
        }
        (Primitive::Select, true) => floats(&|[c, a, b]| if c != 0.0 { a } else { b }),
        (Primitive::Select, false) => {
            constants.to_integers(first, |[c, a, b]| Ok(if c != 0 { a } else { b }))
        }
    }
}

/// The first constant to the power of the second.
///
/// # Errors
/// A negative power of an integer, or a result outside of the type.
pub(crate) fn power(constants: &Broadcasts) -> Folded {
    match constants.inputs[0].1.is_float() {
        true => constants.to_floats(0, |[a, b, _]| a.powf(b)),
        false => constants.to_integers(0, |[a, b, _]| {
            u32::try_from(b).ok().and_then(|b| a.checked_pow(b)).ok_or(OUT_OF_RANGE)
        }),
    }
}

/// The remainder of the first constant divided by the second.
///
/// # Errors
/// An integer divided by zero, or a quotient outside of i64.
pub(crate) fn remainder(remainder: Remainder, constants: &Broadcasts) -> Folded {
    match constants.inputs[0].1.is_float() {
        true => constants.to_floats(0, |[a, b, _]| remainder_of_floats(remainder, a, b)),
        false => constants.to_integers(0, |[a, b, _]| remainder_of_integers(remainder, a, b)),
    }
}

/// Up to three constants that broadcast to one shape, with their element types in the model.
pub(crate) struct Broadcasts<'t> {
    inputs: &'t [(&'t Tensor, ElementType)],
    shape: &'t [usize],
    /// By axis of `shape`: the distance of neighbouring elements in each input.
    strides: Vec<[isize; 3]>,
}

impl<'t> Broadcasts<'t> {
    /// # Errors
    /// An integer that i64 does not hold.
    pub(crate) fn new(
        inputs: &'t [(&'t Tensor, ElementType)],
        shape: &'t [usize],
    ) -> Result<Self, &'static str> {
        if inputs.iter().any(|(tensor, _)| !is_i64(tensor)) {
            return Err(OUT_OF_RANGE);
        }
        let strides_of: Vec<Vec<usize>> =
            inputs.iter().map(|(tensor, _)| broadcast_strides(tensor.shape(), shape)).collect();
        let strides = (0..shape.len())
            .map(|d| [0, 1, 2].map(|k| strides_of.get(k).map_or(0, |s: &Vec<usize>| s[d] as isize)))
            .collect();
        Ok(Self { inputs, shape, strides })
    }

    /// One element of each input, at the index for that input; 0 for missing inputs.
    fn floats(&self, at: [usize; 3]) -> [f64; 3] {
        [0, 1, 2].map(|k| self.inputs.get(k).map_or(0.0, |(tensor, _)| tensor.get_f64(at[k])))
    }

    /// One element of each input of integers, at the index for that input; 0 for missing inputs.
    fn integers(&self, at: [usize; 3]) -> [i64; 3] {
        let known = |k: usize| self.inputs.get(k).and_then(|(tensor, _)| tensor.get_i64(at[k]));
        [0, 1, 2].map(|k| known(k).unwrap_or_default())
    }

    /// The results of `compute` as floats, with the element type of input `first`. Stored in f64 if
    /// the inputs from `first` on are stored in f64.
    fn to_floats(&self, first: usize, compute: impl Fn([f64; 3]) -> f64) -> Folded {
        let values = self.each(|at| Ok(compute(self.floats(at))))?;
        let operands = &self.inputs[first..];
        let is_f64 = operands.iter().all(|(tensor, _)| tensor.element() == ElementType::F64);
        Ok((float_tensor(self.shape.to_vec(), is_f64, values), operands[0].1))
    }

    /// The results of `compute` as integers, with the element type of input `first`.
    fn to_integers(
        &self,
        first: usize,
        compute: impl Fn([i64; 3]) -> Result<i64, &'static str>,
    ) -> Folded {
        let element = self.inputs[first].1;
        let values = self.each(|at| in_range(compute(self.integers(at))?, element))?;
        Ok((integers(self.shape.to_vec(), values.into_iter()), element))
    }

    /// The results of `compute` as truth values. `read` returns the elements of the inputs at an
    /// index.
    fn to_truth<T>(
        &self,
        read: impl Fn(&Self, [usize; 3]) -> [T; 3],
        compute: impl Fn([T; 3]) -> bool,
    ) -> Folded {
        let values = self.each(|at| Ok(i64::from(compute(read(self, at)))))?;
        Ok((integers(self.shape.to_vec(), values.into_iter()), ElementType::Bool))
    }

    /// The result of `compute` for every element of the shape, or the last error.
    fn each<T>(
        &self,
        compute: impl Fn([usize; 3]) -> Result<T, &'static str>,
    ) -> Result<Vec<T>, &'static str> {
        let mut values = Vec::with_capacity(self.shape.iter().product());
        let mut problem = None;
        walk([0; 3], self.shape, &self.strides, |at| match compute(at.map(|at| at as usize)) {
            Ok(value) => values.push(value),
            Err(reason) => problem = Some(reason),
        });
        problem.map_or(Ok(values), Err)
    }
}

fn combine(logic: Logic, [a, b, _]: [bool; 3]) -> bool {
    match logic {
        Logic::And => a && b,
        Logic::Or => a || b,
        Logic::Not => !a,
    }
}

/// The truth value of a comparison. A comparison with NaN is false, except "not equal".
fn compare<T: PartialOrd>(comparison: Comparison, a: &T, b: &T) -> bool {
    match comparison {
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b,
        Comparison::Greater => a > b,
        Comparison::GreaterEqual => a >= b,
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
    }
}

fn unary_of_float(unary: Unary, v: f64) -> f64 {
    match unary {
        Unary::Negative => -v,
        Unary::Abs => v.abs(),
        Unary::Ceiling => v.ceil(),
        // the sign of 0 is 0, the sign of NaN is NaN
        Unary::Sign if v == 0.0 || v.is_nan() => v,
        Unary::Sign => v.signum(),
        Unary::Clamp { .. } if v.is_nan() => v,
        Unary::Clamp { min, max } => v.max(f64::from(min)).min(f64::from(max)),
    }
}

const NO_INTEGER: &str = "a Clamp between whose bounds is no integer";

fn unary_of_integer(unary: Unary, v: i64) -> Result<i64, &'static str> {
    let result = match unary {
        Unary::Negative => v.checked_neg(),
        Unary::Abs => v.checked_abs(),
        Unary::Ceiling => Some(v),
        Unary::Sign => Some(v.signum()),
        Unary::Clamp { min, max } => {
            let [min, max] = Unary::integer_bounds(min, max).ok_or(NO_INTEGER)?;
            Some(v.clamp(min, max))
        }
    };
    result.ok_or(OUT_OF_RANGE)
}

const BY_ZERO: &str = "a division of integers by zero";

/// Arithmetic of two integers. Quotients are rounded down, as OpenVINO does by default. A result
/// outside of i64 is an error.
fn binary_of_integers(binary: Binary, a: i64, b: i64) -> Result<i64, &'static str> {
    let result = match binary {
        Binary::Add => a.checked_add(b),
        Binary::Subtract => a.checked_sub(b),
        Binary::Multiply => a.checked_mul(b),
        Binary::Divide if b == 0 => return Err(BY_ZERO),
        Binary::Divide => {
            a.checked_div(b).map(|q| if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
        }
        Binary::Maximum => Some(a.max(b)),
        Binary::Minimum => Some(a.min(b)),
    };
    result.ok_or(OUT_OF_RANGE)
}

fn remainder_of_floats(remainder: Remainder, a: f64, b: f64) -> f64 {
    match remainder {
        Remainder::OfDividend => a % b,
        Remainder::OfDivisor => a - b * (a / b).floor(),
    }
}

fn remainder_of_integers(remainder: Remainder, a: i64, b: i64) -> Result<i64, &'static str> {
    if b == 0 {
        return Err(BY_ZERO);
    }
    let rest = a.checked_rem(b).ok_or(OUT_OF_RANGE)?;
    Ok(match remainder {
        Remainder::OfDivisor if rest != 0 && (rest < 0) != (b < 0) => rest + b,
        Remainder::OfDividend | Remainder::OfDivisor => rest,
    })
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

/// Calls `visit` for every element of `shape` in C order, with the index of the element in each of
/// `N` tensors.
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

/// A tensor of f64, or of f32 with each number rounded.
fn float_tensor(shape: Vec<usize>, is_f64: bool, values: Vec<f64>) -> Tensor {
    let (element, bytes) = match is_f64 {
        true => (ElementType::F64, values.into_iter().flat_map(f64::to_le_bytes).collect()),
        false => {
            let rounded = values.into_iter().map(|value| value as f32);
            (ElementType::F32, rounded.flat_map(f32::to_le_bytes).collect())
        }
    };
    tensor_of(shape, element, bytes)
}
