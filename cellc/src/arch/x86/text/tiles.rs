
//: tiles
/// Sums of products of bytes, four in the bits of each f32: `to[row * pitch + panel * columns + column]` is that of
/// `elements[row * words + k]` and `weights[panel * stride + k * columns + column]` for all k. `at` are the first of each, `shape` is
/// `[rows, words, columns, panels, stride, pitch]`: up to 16 rows. All tiles of 16 columns come first, then those of the columns that are left, which
/// have other shapes.
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
        count: usize,
        whole: usize,
        rest: usize,
        stride: usize,
    }
    let [rows, words, columns, panels, stride, pitch] = shape;
    let ends = [rows * words, (panels - 1) * stride + words * columns, (rows - 1) * pitch + panels * columns];
    let fits = at[0] + ends[0] <= E && at[1] + ends[1] <= N && at[2] + ends[2] <= T;
    if !fits || rows > 16 || core::mem::size_of::<W>() != 4 {
        return;
    }
    let (rest, narrow) = (words % 16, columns % 16);
    let wide = columns - narrow;
    let (row, rest_rows) = (rows as u8, if rest > 0 { rows as u8 } else { 0 });
    // of each part the first column, the number of tiles, the columns of a tile
    for [first, count, width] in [[0, wide / 16, 16], [wide, 1, narrow]] {
        if count * width == 0 {
            continue;
        }
        let (end, of_rest) = (width as u16 * 4, rest as u16 * 4);
        let end_of_rest = if rest > 0 { end } else { 0 };
        let shapes = Shapes {
            palette: 1,
            start: 0,
            reserved: [0; 14],
            bytes: [end, end, end, end, 64, end, of_rest, end_of_rest, 0, 0, 0, 0, 0, 0, 0, 0],
            rows: [row, row, row, row, row, 16, rest_rows, rest as u8, 0, 0, 0, 0, 0, 0, 0, 0],
            count,
            whole: words / 16,
            rest,
            stride: stride * 4,
        };
        // the sums that are stored stand behind the first ones as the columns of weights do
        // SAFETY: the tiles lie within what is borrowed, as was asked above; W has four bytes, and any bits are weights; the processor has these
        // instructions and the program may use them, or this module would not run
        unsafe {
            core::arch::asm!(
                "ldtilecfg [{shapes}]",
                "2:",
                "mov {left}, [{shapes} + 64]",
                "mov {from}, {weights}",
                "3:",
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "mov {element}, {elements}",
                "mov {weight}, {from}",
                "mov {turn}, [{shapes} + 72]",
                "test {turn}, {turn}",
                "jz 6f",
                "4:",
                "tileloadd tmm4, [{element} + {of_words} * 1]",
                "tileloadd tmm5, [{weight} + {of_columns} * 1]",
                "tdpbssd tmm0, tmm4, tmm5",
                "cmp {left}, 2",
                "jb 5f",
                "tileloadd tmm5, [{weight} + {of_columns} * 1 + 64]",
                "tdpbssd tmm1, tmm4, tmm5",
                "je 5f",
                "tileloadd tmm5, [{weight} + {of_columns} * 1 + 128]",
                "tdpbssd tmm2, tmm4, tmm5",
                "cmp {left}, 3",
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
                "cmp qword ptr [{shapes} + 80], 0",
                "je 7f",
                "tileloadd tmm6, [{element} + {of_words} * 1]",
                "tileloadd tmm7, [{weight} + {of_columns} * 1]",
                "tdpbssd tmm0, tmm6, tmm7",
                "cmp {left}, 2",
                "jb 7f",
                "tileloadd tmm7, [{weight} + {of_columns} * 1 + 64]",
                "tdpbssd tmm1, tmm6, tmm7",
                "je 7f",
                "tileloadd tmm7, [{weight} + {of_columns} * 1 + 128]",
                "tdpbssd tmm2, tmm6, tmm7",
                "cmp {left}, 3",
                "je 7f",
                "tileloadd tmm7, [{weight} + {of_columns} * 1 + 192]",
                "tdpbssd tmm3, tmm6, tmm7",
                "7:",
                "mov {element}, {from}",
                "sub {element}, {weights}",
                "add {element}, {to}",
                "tilestored [{element} + {of_sums} * 1], tmm0",
                "cmp {left}, 2",
                "jb 8f",
                "tilestored [{element} + {of_sums} * 1 + 64], tmm1",
                "je 8f",
                "tilestored [{element} + {of_sums} * 1 + 128], tmm2",
                "cmp {left}, 3",
                "je 8f",
                "tilestored [{element} + {of_sums} * 1 + 192], tmm3",
                "8:",
                "add {from}, 256",
                "sub {left}, 4",
                "ja 3b",
                "add {weights}, [{shapes} + 88]",
                "add {to}, {of_columns}",
                "dec {panels}",
                "jnz 2b",
                "tilerelease",
                shapes = in(reg) &raw const shapes,
                elements = in(reg) elements.as_ptr().add(at[0]),
                weights = inout(reg) weights.as_ptr().add(at[1] + first) => _,
                to = inout(reg) to.as_mut_ptr().add(at[2] + first) => _,
                of_words = in(reg) words * 4,
                of_columns = in(reg) columns * 4,
                of_sums = in(reg) pitch * 4,
                panels = inout(reg) panels => _,
                left = out(reg) _,
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
}
