/// Sums of products, a vector for each gate.
trait Sums<V, const W: usize>: Copy {
    fn zero() -> Self;
    /// Adds a row of weights times `x`; the weights of each gate are `apart` elements behind those of the gate before.
    ///
    /// # Safety
    /// `W` weights of each gate are where that says.
    unsafe fn plus<T: Weight<V, W>>(self, row: *const T, apart: usize, x: V) -> Self;
}
//* sums
impl<V: Vector<W>, const W: usize> Sums<V, W> for [V; COUNT] {
    #[inline(always)]
    fn zero() -> Self {
        [V::all(0.0); COUNT]
    }
    #[inline(always)]
    unsafe fn plus<T: Weight<V, W>>(self, row: *const T, APART_NAME, x: V) -> Self {
        let [NAMES] = self;
        // SAFETY: as the trait says
        unsafe { [
            PRODUCTS
        ] }
    }
}
//.
/// Where rows of weights stand: the first at element `FIRST`, the others `STEP` elements apart, the columns of `S` gates in each `APART` elements apart.
/// `AT_ONCE` rows stand one after the other in the code of a loop: faster where the weights are in the L2 cache.
struct Rows<const S: usize, const FIRST: usize, const STEP: usize, const APART: usize, const AT_ONCE: usize>;
impl<const S: usize, const FIRST: usize, const STEP: usize, const APART: usize, const AT_ONCE: usize>
    Rows<S, FIRST, STEP, APART, AT_ONCE>
{
    /// For each gate, the sum over all rows of its weights in these columns times the row's element.
    #[inline(always)]
    fn sums<V: Vector<W>, T: Weight<V, W>, const W: usize, const C: usize, const N: usize, const K: usize>(
        columns: Columns<V, W, C>,
        weights: &[T; N],
        elements: &[f32; K],
    ) -> [V; S]
    where
        [V; S]: Sums<V, W>,
    {
        const { assert!(FIRST + STEP * (K - 1) + APART * (S - 1) + C <= N) };
        // SAFETY: the columns are inside
        let first = unsafe { weights.as_ptr().add(FIRST + columns.0) };
        let (mut sums, mut k) = (Sums::zero(), 0);
//* unrolled
        // LLVM would unroll a loop of few turns as well, and spill what it loads
        let turns = if AT_ONCE > 1 { core::hint::black_box(K / AT_ONCE) } else { 0 };
        for _ in 0..turns {
//.
//* turns
//|if AT_ONCE > BEFORE { sums = Self::add::<V, T, W, K, TURNS_AT_ONCE>(sums, first, elements, FROM); }
//.
//* unrolled
            k += AT_ONCE;
        }
//.
        while k < K {
            sums = Self::add::<V, T, W, K, 1>(sums, first, elements, k);
            k += 1;
        }
        sums
    }
    /// Adds `TURNS` of the `K` rows, from row `from` on, whose first columns stand at `first`.
    #[inline(always)]
    fn add<V: Vector<W>, T: Weight<V, W>, const W: usize, const K: usize, const TURNS: usize>(
        sums: [V; S],
        first: *const T,
        elements: &[f32; K],
        from: usize,
    ) -> [V; S]
    where
        [V; S]: Sums<V, W>,
    {
        let mut sums = sums;
        for k in from..from + TURNS {
            // SAFETY: `sums` has asserted that the columns of `K` rows are inside
            sums = unsafe { sums.plus(first.add(STEP * k), APART, V::all(*elements.get_unchecked(k))) };
        }
        sums
    }
}
