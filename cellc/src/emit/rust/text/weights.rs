/// The type that a weight is stored as.
trait Weight<V, const W: usize>: Sized {
    /// The weights as a vector.
    fn vector(from: &[Self; W]) -> V;
}
//* weights
impl<V: Vector<W>, const W: usize> Weight<V, W> for ELEMENT {
    #[inline(always)]
    fn vector(from: &[Self; W]) -> V {
        V::CONVERSION(from)
    }
}
//.
