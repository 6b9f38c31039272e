//! Arithmetic on shapes, and the elements that a view reads.

use crate::model::legal_axis;

/// The distance of neighbouring elements along each dimension, in elements, in C order.
pub(crate) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(shape[d]);
    }
    strides
}

/// The number of elements; `None` if `usize` cannot hold the number.
pub(crate) fn element_count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}

/// The elements of a tensor read by a view: `out[i0, ..] = input[offset + sum i_d * strides_d]`.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub(crate) offset: usize,
    pub(crate) strides: Vec<isize>,
    pub(crate) shape: Vec<usize>,
}

impl Geometry {
    /// All elements of a tensor in C order, under another shape.
    pub(crate) fn reshaped(shape: Vec<usize>) -> Self {
        Self { offset: 0, strides: signed(strides(&shape)), shape }
    }

    /// True if the selected elements are neighbours in C order.
    pub(crate) fn is_contiguous(&self) -> bool {
        let row_major = signed(strides(&self.shape));
        self.strides
            .iter()
            .zip(row_major)
            .zip(&self.shape)
            .all(|((&stride, row_major), &size)| size == 1 || stride == row_major)
    }
}

/// Strides as signed integers.
pub(crate) fn signed(strides: Vec<usize>) -> Vec<isize> {
    strides.into_iter().map(|stride| stride as isize).collect()
}

/// The common broadcast shape by NumPy's rules. `None` if the shapes do not broadcast.
pub(crate) fn broadcast<'s>(shapes: impl IntoIterator<Item = &'s [usize]>) -> Option<Vec<usize>> {
    let mut common: Vec<usize> = Vec::new();
    for shape in shapes {
        if shape.len() > common.len() {
            common.splice(0..0, std::iter::repeat_n(1, shape.len() - common.len()));
        }
        let from = common.len() - shape.len();
        for (have, &size) in common[from..].iter_mut().zip(shape) {
            match (*have, size) {
                (have, size) if have == size => {}
                (1, _) => *have = size,
                (_, 1) => {}
                _ => return None,
            }
        }
    }
    Some(common)
}

/// The shape without `axes`. With `keep`, the axes stay with size 1.
pub(crate) fn without_axes(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let size = |(axis, &size): (usize, &usize)| match axes.contains(&axis) {
        true => keep.then_some(1),
        false => Some(size),
    };
    shape.iter().enumerate().filter_map(size).collect()
}

/// The strides for reading a tensor of `shape` as a tensor of the broadcast shape `to`; 0 along
/// broadcast axes.
pub(crate) fn broadcast_strides(shape: &[usize], to: &[usize]) -> Vec<usize> {
    let row_major = strides(shape);
    let added = to.len() - shape.len();
    let stride_of =
        |d: usize| if d < added || shape[d - added] == 1 { 0 } else { row_major[d - added] };
    (0..to.len()).map(stride_of).collect()
}

/// The index of an axis; a negative axis counts from the end. `None` unless the axis is in
/// `-rank..rank`.
pub(crate) fn axis_index(axis: i64, rank: usize) -> Option<usize> {
    legal_axis(axis, rank, 0).ok()
}
