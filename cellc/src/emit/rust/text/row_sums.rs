/// Sums of products, a vector for each gate.
trait Sums<V, const W: usize>: Copy {
    fn zero() -> Self;
    /// Adds a row of weights times `x`; the weights of each gate are `apart` elements behind those of the gate before.
    ///
    /// # Safety
    /// `row` points to `W` weights, as does every pointer that is `apart` elements further, one for each gate.
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
        // SAFETY: the caller promises these weights
        unsafe { [
            PRODUCTS
        ] }
    }
}
//.
/// The places of rows of weights: the first row is at element `FIRST`, each other one `STEP` elements behind the one before, and in a row the columns of the `S` gates are `APART` elements apart.
//* unrolled
/// A loop adds `AT_ONCE` rows in each turn, which is faster where the weights are in the L2 cache: 1, or a multiple of TURNS_AT_ONCE.
struct Rows<const S: usize, const FIRST: usize, const STEP: usize, const APART: usize, const AT_ONCE: usize>;
impl<const S: usize, const FIRST: usize, const STEP: usize, const APART: usize, const AT_ONCE: usize>
    Rows<S, FIRST, STEP, APART, AT_ONCE>
{
//.
//* plain
struct Rows<const S: usize, const FIRST: usize, const STEP: usize, const APART: usize>;
impl<const S: usize, const FIRST: usize, const STEP: usize, const APART: usize> Rows<S, FIRST, STEP, APART> {
//.
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
//* unrolled
        const { assert!(AT_ONCE == 1 || AT_ONCE / TURNS_AT_ONCE * TURNS_AT_ONCE == AT_ONCE && AT_ONCE <= MOST_AT_ONCE) };
//.
        // SAFETY: the columns of all `K` rows are inside, as asserted, and there are `K` elements
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
    /// Adds `TURNS` rows of weights, each times one element. The columns of the first row are at `row`; the first element is at `x`.
    ///
    /// # Safety
    /// `row` points to the first of `TURNS` rows, each with `W` weights of every gate, and `x` to as many elements.
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
            // SAFETY: row and element `k` are among those that the caller promises
            sums = unsafe { sums.plus(row.add(STEP * k), APART, V::all(*x.add(k))) };
        }
        sums
    }
}
