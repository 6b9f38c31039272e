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
    pub(super) fn sums<V: Vector<W>, T: Weight<V, W>, const W: usize, const C: usize, const N: usize, const K: usize>(
        columns: Columns<V, W, C>,
        weights: &[T; N],
        elements: &[f32; K],
    ) -> [V; S]
    where
        [V; S]: Sums<V, W>,
    {
        const { assert!(FIRST + STEP * (K - 1) + APART * (S - 1) + C <= N) };
        // SAFETY: the columns of every row are inside, as asserted, and there are as many elements
        unsafe {
            let mut row = weights.as_ptr().add(FIRST + columns.0);
            let (mut x, mut sums) = (elements.as_ptr(), Sums::zero());
//* unrolled
            // LLVM would unroll a loop of few turns as well, and spill what it loads
            let turns = if AT_ONCE > 1 { core::hint::black_box(K / AT_ONCE) } else { 0 };
            for _ in 0..turns {
                sums = Self::add::<V, T, W, TURNS_AT_ONCE>(sums, row, x);
//.
//* turns
                if AT_ONCE > BEFORE {
                    sums = Self::add::<V, T, W, TURNS_AT_ONCE>(sums, row.add(STEP * BEFORE), x.add(BEFORE));
                }
//.
//* unrolled
                row = row.wrapping_add(STEP * AT_ONCE);
                x = x.wrapping_add(AT_ONCE);
            }
            for _ in 0..if AT_ONCE > 1 { K % AT_ONCE } else { K } {
//.
//* plain
            for _ in 0..K {
//.
                sums = Self::add::<V, T, W, 1>(sums, row, x);
                row = row.wrapping_add(STEP);
                x = x.wrapping_add(1);
            }
            sums
        }
    }
    /// Adds `TURNS` rows, the first columns of the first of which are at `row`, times the elements from `x` on.
    ///
    /// # Safety
    /// So many rows and elements are there.
    #[inline(always)]
    unsafe fn add<V: Vector<W>, T: Weight<V, W>, const W: usize, const TURNS: usize>(
        sums: [V; S],
        row: *const T,
        x: *const f32,
    ) -> [V; S]
    where
        [V; S]: Sums<V, W>,
    {
        let mut sums = sums;
        for k in 0..TURNS {
            // SAFETY: as above
            sums = unsafe { sums.plus(row.add(STEP * k), APART, V::all(*x.add(k))) };
        }
        sums
    }
}
