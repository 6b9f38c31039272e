/// `W` neighbours of the `C` columns of a panel, the first of which the number tells; a vector `V` holds as many numbers.
#[derive(Clone, Copy)]
struct Columns<V, const W: usize, const C: usize>(usize, core::marker::PhantomData<V>);
impl<V: Vector<W>, const W: usize, const C: usize> Columns<V, W, C> {
//* first
    /// The first `W` columns.
    #[inline(always)]
    pub(super) fn first() -> Self {
        const { assert!(W <= C) };
        Columns(0, core::marker::PhantomData)
    }
//.
//* all
    /// All columns of a panel, `W` at a time.
    #[inline(always)]
    pub(super) fn all() -> impl Iterator<Item = Self> {
        const { assert!(C / W * W == C) };
        (0..const { C / W }).map(|pass| Columns(pass * W, core::marker::PhantomData))
    }
//.
//* load
    /// The numbers of these columns from an array of all columns that begins at element `AT` of `run`.
    #[inline(always)]
    pub(super) fn load<const AT: usize, WEIGHT_PARAMETER const N: usize>(self, run: &[WEIGHT; N]) -> V {
        const { assert!(AT + C <= N) };
        // SAFETY: the columns are among the `C` of the array, which is inside `run`, as asserted
        CONVERTED(unsafe { &*run.as_ptr().add(AT + self.0).cast() })
    }
//.
//* store
    /// Writes the numbers of these columns to an array of all columns that begins at element `AT` of `run`.
    #[inline(always)]
    pub(super) fn store<const AT: usize, const N: usize>(self, value: V, run: &mut [f32; N]) {
        const { assert!(AT + C <= N) };
        // SAFETY: the columns are among the `C` of the array, which is inside `run`, as asserted
        value.to_lanes(unsafe { &mut *run.as_mut_ptr().add(AT + self.0).cast() })
    }
//.
}
