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
/// Rows of weights, `STEP` elements from one to the next, the first at `FIRST`. In each, the columns of `S` gates stand `APART` elements apart.
/// `AT_ONCE` rows stand one after the other in the code of a loop: faster where the weights are in the L2 cache.
struct Rows<const S: usize, const FIRST: usize, const STEP: usize, const APART: usize, const AT_ONCE: usize>;
impl<const S: usize, const FIRST: usize, const STEP: usize, const APART: usize, const AT_ONCE: usize>
    Rows<S, FIRST, STEP, APART, AT_ONCE>
{
    /// The sums of the products of their columns with the elements of all rows.
    #[inline(always)]
    fn sums<V: Vector<W>, T: Weight<V, W>, const W: usize, const C: usize, const N: usize, const K: usize>(
        columns: Columns<V, W, C>,
        weights: &[T; N],
        elements: &[f32; K],
    ) -> [V; S]
    where
        [V; S]: Sums<V, W>,
    {
        Self::add(Sums::zero(), columns, weights, elements)
    }
    /// The same, added to other sums.
    #[inline(always)]
    fn add<V: Vector<W>, T: Weight<V, W>, const W: usize, const C: usize, const N: usize, const K: usize>(
        sums: [V; S],
        columns: Columns<V, W, C>,
        weights: &[T; N],
        elements: &[f32; K],
    ) -> [V; S]
    where
        [V; S]: Sums<V, W>,
    {
        const { assert!(FIRST + STEP * (K - 1) + APART * (S - 1) + C <= N) };
        let (mut sums, mut k) = (sums, 0);
//* unrolled
        // LLVM would unroll a loop of few turns as well, and spill what it loads
        let turns = if AT_ONCE > 1 { core::hint::black_box(K / AT_ONCE) } else { 0 };
        for _ in 0..turns {
//.
//* turns
//|CONDITION{ sums = Self::turns::<V, T, W, C, N, K, TURNS_AT_ONCE>(sums, columns, weights, elements, FROM); }
//.
//* unrolled
            k += AT_ONCE;
        }
//.
        while k < K {
//|sums = Self::turns::<V, T, W, C, N, K, 1>(sums, columns, weights, elements, k);
            k += 1;
        }
        sums
    }
    /// The same of `TURNS` rows, from row `from` on.
    #[inline(always)]
    fn turns<
        V: Vector<W>,
        T: Weight<V, W>,
        const W: usize,
        const C: usize,
        const N: usize,
        const K: usize,
        const TURNS: usize,
    >(
        sums: [V; S],
        columns: Columns<V, W, C>,
        weights: &[T; N],
        elements: &[f32; K],
        from: usize,
    ) -> [V; S]
    where
        [V; S]: Sums<V, W>,
    {
        let mut sums = sums;
        for k in from..from + TURNS {
            // SAFETY: there are `K` rows and elements, and all columns are inside, as asserted
            sums = unsafe {
                let row = weights.as_ptr().add(FIRST + STEP * k + columns.0);
                sums.plus(row, APART, V::all(*elements.get_unchecked(k)))
            };
        }
        sums
    }
}
