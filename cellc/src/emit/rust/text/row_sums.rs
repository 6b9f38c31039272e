//* not one gate
/// Sums of products, a vector for each gate.
trait Sums<V, const W: usize>: Copy {
    /// Adds a row of weights times `x`; the weights of each gate are `apart` elements behind those of the gate before.
    ///
    /// # Safety
    /// `row` points to `W` weights, as does every pointer that is `apart` elements further, one for each gate.
    unsafe fn plusWEIGHT_GENERICS(self, row: *const WEIGHT, apart: usize, x: V) -> Self;
}
//.
//* sums and not one gate
impl<V: Vector<W>, const W: usize> Sums<V, W> for [V; COUNT] {
    #[inline(always)]
    unsafe fn plusWEIGHT_GENERICS(self, row: *const WEIGHT, APART_NAME, x: V) -> Self {
        let [NAMES] = self;
        // SAFETY: the caller promises these weights
        unsafe { [
            PRODUCTS
        ] }
    }
}
//.
//* not one gate
/// The places of rows of weights: the first row is at element `FIRST`, each other one `STEP` elements behind the one before, and in a row the columns of the `S` gates are `APART` elements apart.
//.
//* one gate
/// Rows of weights: the first is at element `FIRST`, each other one `STEP` elements further.
//.
//* unrolled
/// A loop adds `AT_ONCE` rows in each turn, which is faster where the weights are in the L2 cache: 1, or a multiple of TURNS_AT_ONCE up to MOST_AT_ONCE.
//.
struct Rows<ROW_PARAMETERS>;
impl<ROW_PARAMETERS> Rows<ROW_ARGUMENTS> {
//* not one gate
    /// For each gate, the sum over all rows of its weights in SUMMED_COLUMNS times the row's element.
//.
//* one gate
    /// The sum over all rows of the weights in SUMMED_COLUMNS times the row's element.
//.
    #[inline(always)]
    pub(super) fn sums<V: Vector<W>, WEIGHT_PARAMETER const W: usize, SIZE_OF_COLUMNS const N: usize, const K: usize>(
        COLUMNS_PARAMETER
        weights: &[WEIGHT; N],
        elements: &[f32; K],
    ) -> SUMS_TYPE
    SUMS_BOUND
    {
        const { assert!(FIRST + STEP * (K - 1) + BEFORE_LAST_GATE + ALL_COLUMNS <= N) };
//* unrolled
        const { assert!(AT_ONCE == 1 || AT_ONCE / TURNS_AT_ONCE * TURNS_AT_ONCE == AT_ONCE && AT_ONCE <= MOST_AT_ONCE) };
//.
        // SAFETY: all `K` rows are inside, as asserted, and there are `K` elements
        unsafe {
            let mut row = weights.as_ptr().add(FIRSTFIRST_COLUMN);
            let (mut x, mut sums) = (elements.as_ptr(), SUMS_START);
//* unrolled
            // LLVM would unroll a loop of few turns as well, and spill what it loads
            let turns = if AT_ONCE > 1 { core::hint::black_box(K / AT_ONCE) } else { 0 };
            for _ in 0..turns {
                sums = Self::add::<V, WEIGHT_ARGUMENT W>(sums, row, x);
//.
//* turns
                if AT_ONCE > BEFORE {
                    sums = Self::add::<V, WEIGHT_ARGUMENT W>(sums, row.add(STEP * BEFORE), x.add(BEFORE));
                }
//.
//* unrolled
                row = row.wrapping_add(STEP * AT_ONCE);
                x = x.wrapping_add(AT_ONCE);
            }
            for _ in 0..if AT_ONCE > 1 { K % AT_ONCE } else { K } {
//.
//* not unrolled
            for _ in 0..K {
//.
//* not one gate
                sums = sums.plus(row, APART, V::all(*x));
//.
//* one gate
                let [sum] = sums;
                sums = [CONVERTED(&*row.cast()).mul_add(V::all(*x), sum)];
//.
                row = row.wrapping_add(STEP);
                x = x.wrapping_add(1);
            }
            sums
        }
    }
//* unrolled
    /// Adds TURNS_AT_ONCE rows of weights, each times one element. The columns of the first row are at `row`; the first element is at `x`.
    ///
    /// # Safety
    /// `row` points to the first of TURNS_AT_ONCE rows, each with `W` weights of every gate, and `x` to as many elements.
    #[inline(always)]
    unsafe fn add<V: Vector<W>, WEIGHT_PARAMETER const W: usize>(sums: SUMS_TYPE, row: *const WEIGHT, x: *const f32) -> SUMS_TYPE
    SUMS_BOUND
    {
        let mut sums = sums;
        for k in 0..TURNS_AT_ONCE {
            // SAFETY: row and element `k` are among those that the caller promises
//.
//* unrolled and not one gate
            sums = unsafe { sums.plus(row.add(STEP * k), APART, V::all(*x.add(k))) };
//.
//* unrolled and one gate
            let (weights, x) = unsafe { (&*row.add(STEP * k).cast(), *x.add(k)) };
            let [sum] = sums;
            sums = [CONVERTED(weights).mul_add(V::all(x), sum)];
//.
//* unrolled
        }
        sums
    }
//.
}
