//! Operators of the domain `ai.onnx.ml` for features. Normalizer, and operators with one number for
//! each feature, take tensors of shape `[C]` or `[N, C]`.

use super::graph::{Call, GraphReader, Outputs};
use super::remedies::BEFORE_FEATURES;
use crate::diagnostic::quoted;
use crate::model::{
    Binary, Comparison, Dim, ElementType, NoAxes, Op, Primitive, Reduce, Reduction, ValueId,
    counted,
};

fn float(reader: &mut GraphReader<'_>, value: ValueId) -> ValueId {
    if reader.element(value).is_float() {
        value
    } else {
        reader.op_of(Op::Convert, vec![value], ElementType::F32)
    }
}

/// True if a tensor has rows of features, `[C]` or `[N, C]`. Reports an error for another rank or
/// an unknown rank.
fn has_rows(reader: &mut GraphReader<'_>, x: ValueId) -> bool {
    let rank = reader.rank(x);
    if matches!(rank, Some(1 | 2)) {
        return true;
    }
    let dimensions = rank
        .map_or("an unknown number of dimensions".to_owned(), |rank| counted(rank, "dimension"));
    reader.error(
        format!("features of a tensor with {dimensions}"),
        "[C] or [N, C]",
        BEFORE_FEATURES,
    );
    false
}

/// `y` reshaped to the shape of `x`, unless both shapes are known to be equal. `y` is `x` combined
/// with `count` numbers per row: if `x` has one column, broadcasting gives `y` `count` columns, and
/// the Reshape fails.
fn of_features(reader: &mut GraphReader<'_>, x: ValueId, y: ValueId, count: usize) -> ValueId {
    let shape = reader.level().graph.model.values[x.0].shape.as_ref();
    let last = shape.and_then(|shape| shape.last().cloned());
    if count == 1 || matches!(last, Some(Dim::Fixed(size)) if size == count) {
        return y;
    }
    let shape = reader.op_of(Op::ShapeOf, vec![x], ElementType::I64);
    reader.op(Op::Reshape { zero_keeps: false }, vec![y, shape])
}

/// `(x - offset) * scale`.
pub(super) fn scaler(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let [offset, scale] =
        ["offset", "scale"].map(|name| call.attributes.finite_list(name).unwrap_or_default());
    if offset.is_empty() || offset.len() != scale.len() {
        let found =
            format!("{} of offset, and {} of scale", counted(offset.len(), "number"), scale.len());
        reader.error(
            found,
            "one of each, or one of each for each feature",
            "correct the attributes",
        );
        return None;
    }
    let x = float(reader, call.x());
    if offset.len() > 1 && !has_rows(reader, x) {
        return None;
    }
    let count = offset.len();
    let [offset, scale] = [offset, scale].map(|numbers| numbers_of(reader, &numbers));
    let moved = reader.elementwise(Binary::Subtract, &[x, offset]);
    let y = reader.elementwise(Binary::Multiply, &[moved, scale]);
    Some(vec![of_features(reader, x, y, count)])
}

/// A constant: a scalar for one number, else a list.
fn numbers_of(reader: &mut GraphReader<'_>, numbers: &[f32]) -> ValueId {
    let list = reader.numbers(numbers);
    if numbers.len() > 1 {
        return list;
    }
    let flat = reader.integers(&[]);
    reader.op(Op::Reshape { zero_keeps: false }, vec![list, flat])
}

/// Each row divided by its largest element, its sum of magnitudes or its Euclidean length. A row
/// with a divisor of 0 is unchanged.
pub(super) fn normalizer(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let norm = call.attributes.text("norm");
    let reduction = match norm.as_deref() {
        None | Some("MAX") => Reduction::Max,
        Some("L1") => Reduction::L1,
        Some("L2") => Reduction::L2,
        Some(other) => {
            reader.error(format!("norm={}", quoted(other)), "MAX, L1, L2", "correct the attribute");
            return None;
        }
    };
    let x = float(reader, call.x());
    if !has_rows(reader, x) {
        return None;
    }
    let last = reader.integers(&[-1]);
    let divisor = reader
        .op(Op::Reduce(Reduce { reduction, keep: true, no_axes: NoAxes::All }), vec![x, last]);
    let quotient = reader.elementwise(Binary::Divide, &[x, divisor]);
    let zero = reader.number_like(x, 0.0);
    let none = reader.elementwise(Comparison::Equal, &[divisor, zero]);
    let element = reader.element(x);
    Some(vec![reader.op_of(Op::elementwise(Primitive::Select), vec![none, x, quotient], element)])
}

/// Elements of the last axis by index. A vector becomes a matrix of one row.
pub(super) fn extract(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (x, places) = (call.x(), call.input(1)?);
    let Some(rank) = reader.rank(x) else {
        let found = "features of a tensor with an unknown number of dimensions";
        return reader.inexpressible(
            found,
            "a tensor whose number of dimensions is written",
            BEFORE_FEATURES,
        );
    };
    let (all, axis) = (reader.integers(&[-1]), reader.integer(-1));
    let places = reader.op(Op::Reshape { zero_keeps: false }, vec![places, all]);
    let mut y = reader.op(Op::Gather { batch_dims: 0 }, vec![x, places, axis]);
    if rank == 1 {
        let first = reader.integers(&[0]);
        y = reader.op(Op::Unsqueeze, vec![y, first]);
    }
    Some(vec![y])
}

/// 1 where x is greater than a threshold, else 0.
pub(super) fn binarizer(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let threshold = call.attributes.finite("threshold").unwrap_or(0.0);
    let x = call.x();
    let element = reader.element(x);
    // for integers: x > t is the same as x > floor(t)
    let threshold = if element.is_float() { threshold } else { threshold.floor() };
    let threshold = reader.number_like(x, threshold);
    let above = reader.elementwise(Comparison::Greater, &[x, threshold]);
    Some(vec![reader.op_of(Op::Convert, vec![above], element)])
}

/// Replaces the elements equal to a placeholder for missing values.
pub(super) fn imputer(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let element = reader.element(x);
    let floats = call.attributes.floats("imputed_value_floats").filter(|list| !list.is_empty());
    let ints = call.attributes.ints("imputed_value_int64s").filter(|list| !list.is_empty());
    let replaced_float = call.attributes.float("replaced_value_float").unwrap_or(0.0);
    let replaced_int = call.attributes.int("replaced_value_int64").unwrap_or(0);
    // replaced_value is ignored if its element type differs; imputed values of both types are an
    // error
    let count = match (&floats, &ints) {
        (Some(values), None) if element.is_float() => values.len(),
        (None, Some(values)) if !element.is_float() => values.len(),
        _ => {
            let valid = "imputed_value_floats alone for floating point, imputed_value_int64s alone \
                for integers";
            let found = format!("values for {} that do not say what replaces them", element.name());
            reader.error(found, valid, "correct the attributes");
            return None;
        }
    };
    if count > 1 && !has_rows(reader, x) {
        return None;
    }
    let missing = |reader: &mut GraphReader<'_>, function, other: ValueId| {
        reader.elementwise(function, &[x, other])
    };
    let (is_missing, values) = match (floats, ints) {
        (Some(values), _) => {
            let is_missing = if replaced_float.is_nan() {
                missing(reader, Comparison::NotEqual, x)
            } else {
                let replaced = reader.number_like(x, replaced_float);
                missing(reader, Comparison::Equal, replaced)
            };
            (is_missing, numbers_of(reader, &values))
        }
        (None, ints) => {
            let replaced = reader.integer(replaced_int);
            let values = reader.integers(&ints.unwrap_or_default());
            let [replaced, values] =
                [replaced, values].map(|value| reader.op_of(Op::Convert, vec![value], element));
            (missing(reader, Comparison::Equal, replaced), values)
        }
    };
    let y = reader.op_of(Op::elementwise(Primitive::Select), vec![is_missing, values, x], element);
    Some(vec![of_features(reader, x, y, count)])
}
