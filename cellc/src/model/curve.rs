/// The shape of the curve of a function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CurveShape {
    /// Any other curve, perhaps with a jump.
    Curve,
    /// The logistic function: the slope at the value z is z (1 - z).
    Logistic,
    /// A rising step function whose steps are whole numbers; integers stay unchanged. Kernels
    /// compute the value exactly, so the values at both ends of a range of arguments bound all
    /// values of the range.
    Stairs,
    /// 0 below 0, the argument itself from 0 on. Multiples of a scale therefore stay multiples.
    Ramp,
    /// Two lines that meet at 0: kernels compute one multiplication and one selection.
    Bend,
}
