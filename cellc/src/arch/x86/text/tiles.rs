
//: tiles
/// Sums of products of bytes, four in the bits of each f32: `to[row * pitch + panel * columns + column]` is that of
/// `elements[row * words + k]` and `weights[panel * stride + k * columns + column]` for all k. `at` are the first of each, `shape` is
/// `[rows, words, columns, panels, stride, pitch]`: up to 16 rows, and a multiple of 16 columns.
#[attribute]
fn tiles<W, const E: usize, const N: usize, const T: usize>(
    elements: &[f32; E],
    weights: &[W; N],
    to: &mut [f32; T],
    at: [usize; 3],
    shape: [usize; 6],
) {
    /// Of tiles 0 to 3, which are sums, 4 and 5, elements and weights, 6 and 7, those at the end of a row of elements; and how many there are.
    #[repr(C, align(64))]
    struct Shapes {
        palette: u8,
        start: u8,
        reserved: [u8; 14],
        bytes: [u16; 16],
        rows: [u8; 16],
        at_once: usize,
        groups: usize,
        whole: usize,
        rest: usize,
        stride: usize,
    }
    let [rows, words, columns, panels, stride, pitch] = shape;
    let ends = [rows * words, (panels - 1) * stride + words * columns, (rows - 1) * pitch + panels * columns];
    let fits = at[0] + ends[0] <= E && at[1] + ends[1] <= N && at[2] + ends[2] <= T;
    if !fits || rows > 16 || columns % 16 != 0 || core::mem::size_of::<W>() != 4 {
        return;
    }
    let (rest, count) = (words % 16, columns / 16);
    let at_once = if count % 4 == 0 { 4 } else if count % 3 == 0 { 3 } else if count % 2 == 0 { 2 } else { 1 };
    let (rest_rows, rest_bytes) = if rest > 0 { (rows as u8, 64) } else { (0, 0) };
    let row = rows as u8;
    let shapes = Shapes {
        palette: 1,
        start: 0,
        reserved: [0; 14],
        bytes: [64, 64, 64, 64, 64, 64, rest as u16 * 4, rest_bytes, 0, 0, 0, 0, 0, 0, 0, 0],
        rows: [row, row, row, row, row, 16, rest_rows, rest as u8, 0, 0, 0, 0, 0, 0, 0, 0],
        at_once,
        groups: count / at_once,
        whole: words / 16,
        rest,
        stride: stride * 4,
    };
    // SAFETY: the tiles lie within what is borrowed, as was asked above; W has four bytes, and any bits are weights; the processor has these
    // instructions and the program may use them, or this module would not run
    unsafe {
        core::arch::asm!(
            "ldtilecfg [{shapes}]",
            "2:",
            "mov {group}, [{shapes} + 72]",
            "mov {from}, {weights}",
            "3:",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "mov {element}, {elements}",
            "mov {weight}, {from}",
            "mov {turn}, [{shapes} + 80]",
            "test {turn}, {turn}",
            "jz 6f",
            "4:",
            "tileloadd tmm4, [{element} + {of_words} * 1]",
            "tileloadd tmm5, [{weight} + {of_columns} * 1]",
            "tdpbssd tmm0, tmm4, tmm5",
            "cmp qword ptr [{shapes} + 64], 2",
            "jb 5f",
            "tileloadd tmm5, [{weight} + {of_columns} * 1 + 64]",
            "tdpbssd tmm1, tmm4, tmm5",
            "je 5f",
            "tileloadd tmm5, [{weight} + {of_columns} * 1 + 128]",
            "tdpbssd tmm2, tmm4, tmm5",
            "cmp qword ptr [{shapes} + 64], 3",
            "je 5f",
            "tileloadd tmm5, [{weight} + {of_columns} * 1 + 192]",
            "tdpbssd tmm3, tmm4, tmm5",
            "5:",
            "add {element}, 64",
            "lea {weight}, [{weight} + {of_columns} * 8]",
            "lea {weight}, [{weight} + {of_columns} * 8]",
            "dec {turn}",
            "jnz 4b",
            "6:",
            "cmp qword ptr [{shapes} + 88], 0",
            "je 7f",
            "tileloadd tmm6, [{element} + {of_words} * 1]",
            "tileloadd tmm7, [{weight} + {of_columns} * 1]",
            "tdpbssd tmm0, tmm6, tmm7",
            "cmp qword ptr [{shapes} + 64], 2",
            "jb 7f",
            "tileloadd tmm7, [{weight} + {of_columns} * 1 + 64]",
            "tdpbssd tmm1, tmm6, tmm7",
            "je 7f",
            "tileloadd tmm7, [{weight} + {of_columns} * 1 + 128]",
            "tdpbssd tmm2, tmm6, tmm7",
            "cmp qword ptr [{shapes} + 64], 3",
            "je 7f",
            "tileloadd tmm7, [{weight} + {of_columns} * 1 + 192]",
            "tdpbssd tmm3, tmm6, tmm7",
            "7:",
            "tilestored [{to} + {of_sums} * 1], tmm0",
            "cmp qword ptr [{shapes} + 64], 2",
            "jb 8f",
            "tilestored [{to} + {of_sums} * 1 + 64], tmm1",
            "je 8f",
            "tilestored [{to} + {of_sums} * 1 + 128], tmm2",
            "cmp qword ptr [{shapes} + 64], 3",
            "je 8f",
            "tilestored [{to} + {of_sums} * 1 + 192], tmm3",
            "8:",
            "mov {turn}, [{shapes} + 64]",
            "shl {turn}, 6",
            "add {from}, {turn}",
            "add {to}, {turn}",
            "dec {group}",
            "jnz 3b",
            "add {weights}, [{shapes} + 96]",
            "dec {panels}",
            "jnz 2b",
            "tilerelease",
            shapes = in(reg) &raw const shapes,
            elements = in(reg) elements.as_ptr().add(at[0]),
            weights = inout(reg) weights.as_ptr().add(at[1]) => _,
            to = inout(reg) to.as_mut_ptr().add(at[2]) => _,
            of_words = in(reg) words * 4,
            of_columns = in(reg) columns * 4,
            of_sums = in(reg) pitch * 4,
            panels = inout(reg) panels => _,
            group = out(reg) _,
            from = out(reg) _,
            element = out(reg) _,
            weight = out(reg) _,
            turn = out(reg) _,
            out("tmm0") _,
            out("tmm1") _,
            out("tmm2") _,
            out("tmm3") _,
            out("tmm4") _,
            out("tmm5") _,
            out("tmm6") _,
            out("tmm7") _,
            options(nostack),
        );
    }
}
