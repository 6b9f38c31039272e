/// What numbers are stored as.
trait Weight<V, const W: usize>: Sized {
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
