//! The one rule for the number of an axis.

/// The index of an axis of a tensor of `rank` dimensions; a negative axis counts from the end.
/// `ends`: 1 if the axis may equal the rank.
///
/// # Errors
/// For an axis of no dimension: what was found, what is valid, and help.
pub(crate) fn legal_axis(axis: i64, rank: usize, ends: usize) -> Result<usize, [String; 3]> {
    let from_front = |rank: i64| if axis < 0 { axis.checked_add(rank) } else { Some(axis) };
    let index = i64::try_from(rank).ok().and_then(from_front);
    let index = index.and_then(|index| usize::try_from(index).ok());
    index.filter(|&index| index < rank + ends).ok_or_else(|| {
        let valid = match rank + ends {
            0 => "a tensor of one dimension or more".to_owned(),
            count => format!("{} to {}", -(rank as i64), count - 1),
        };
        let found = format!("the axis {axis} of a tensor of {rank} dimensions");
        [found, valid, "correct the axis, or the shape of the tensor".to_owned()]
    })
}
