//! Copies, and rows of weights packed as integers.

use super::dialect::Dialect;
use super::statements::{Copying, Line, LinePart, LineRow};
use super::text::Subscript;
use super::walk::Traversal;
use crate::encoding::Arithmetic;
use crate::kernel::{Copied, CopiedDim, Encoding};

impl Traversal<'_> {
    /// A copy with as few loops as possible.
    pub(super) fn copy(&self, copied: &Copied, dialect: &mut impl Dialect) {
        if copied.encoding == Encoding::LowBytes {
            let [to, from] = [copied.to, copied.from].map(|place| self.operand(place));
            let line = copied.dims.last().map_or(0, |line| line.extent);
            return dialect.low_bytes(to, from, Encoding::LowBytes.len(line));
        }
        let (outer, line) = match copied.dims.split_last() {
            Some((line, outer)) if copied.encoding != Encoding::F32 => (outer, Some(line)),
            _ => (&copied.dims[..], None),
        };
        let (mut loops, run, repeated) = match line {
            None => runs(outer),
            Some(_) => (outer.iter().copied().filter(|dim| dim.extent != 1).collect(), 1, false),
        };
        assert!(!(copied.add && repeated), "emit: one element is added to several");
        // gcc keeps loops of a few elements at -O2: each element has a statement instead
        let is_short =
            |dim: &mut CopiedDim| line.is_none() && run == 1 && dim.extent <= WRITTEN_OUT;
        let single = CopiedDim { extent: 1, from_stride: 0, to_stride: 0 };
        let written_out = loops.pop_if(is_short).unwrap_or(single);
        let (mut read, mut write) =
            (Subscript::new(copied.from.offset), Subscript::new(copied.to.offset));
        for (depth, dim) in loops.iter().enumerate() {
            let i = dialect.begin_iterations(depth, dim.extent);
            read.add_counter(&i, dim.extent, dim.from_stride);
            write.add_counter(&i, dim.extent, dim.to_stride.cast_signed());
        }
        let (from, to) = (self.base(copied.from.base), self.base(copied.to.base));
        match line {
            None => {
                for (k, nth) in (0..written_out.extent).zip(0_isize..) {
                    let read = read.moved(nth * written_out.from_stride);
                    let write = write.moved((k * written_out.to_stride).cast_signed());
                    dialect.copy(Copying { from, read, to, write, run, repeated, add: copied.add });
                }
            }
            Some(line) => {
                assert!(copied.words.is_none(), "emit: such words are of weights that are known");
                let (row, part) = line_of(copied.encoding, line.extent);
                let stride = usize::try_from(line.from_stride)
                    .expect("emit: rows of weights are read forwards");
                let (count, abreast, step) = (line.extent, copied.abreast, line.to_stride);
                dialect.pack_line(Line {
                    from,
                    read,
                    count,
                    stride,
                    to,
                    write,
                    abreast,
                    step,
                    interleaves_halves: copied.interleaves_halves,
                    row,
                    part,
                });
            }
        }
        loops.iter().for_each(|_| dialect.end_block());
    }
}

/// Copies of at most this many scattered elements have one statement per element.
const WRITTEN_OUT: usize = 4;

/// The integer format of a row of weights, and the part to write.
fn line_of(encoding: Encoding, count: usize) -> (LineRow, LinePart) {
    let pairs = LineRow::Pairs(Arithmetic::most_in_pairs(count));
    match encoding {
        Encoding::Int8Quad => (LineRow::Bytes, LinePart::Words(4)),
        Encoding::Int8Wide => (LineRow::Bytes, LinePart::Words(2)),
        Encoding::Int8Pair => (LineRow::Bytes, LinePart::Pairs),
        Encoding::Int8Scale => (LineRow::Bytes, LinePart::Scale),
        Encoding::Int8Start => (LineRow::Bytes, LinePart::Start),
        Encoding::Int16Pair => (pairs, LinePart::Words(2)),
        Encoding::Int16Scale => (pairs, LinePart::Scale),
        Encoding::F32
        | Encoding::F16
        | Encoding::Bf16Pair
        | Encoding::Int8
        | Encoding::Int8Neighbours
        | Encoding::Int16Neighbours => {
            unreachable!("emit: {encoding:?} is for weights that are known")
        }
        Encoding::LowBytes => unreachable!("emit: low bytes have no rows of weights"),
    }
}

/// The loops of a copy, with contiguous neighbours merged; then, for an innermost loop that writes
/// consecutive elements, the number of elements, and true if all are read from one place.
fn runs(dims: &[CopiedDim]) -> (Vec<CopiedDim>, usize, bool) {
    let mut loops: Vec<CopiedDim> = Vec::new();
    for dim in dims.iter().filter(|dim| dim.extent != 1) {
        let joins = |outer: &CopiedDim| {
            let stride = isize::try_from(dim.extent)
                .ok()
                .and_then(|extent| dim.from_stride.checked_mul(extent));
            Some(outer.from_stride) == stride
                && Some(outer.to_stride) == dim.to_stride.checked_mul(dim.extent)
        };
        match loops.last_mut().filter(|outer| joins(outer)) {
            Some(outer) => *outer = CopiedDim { extent: outer.extent * dim.extent, ..*dim },
            None => loops.push(*dim),
        }
    }
    match loops.last().copied() {
        Some(CopiedDim { extent, from_stride: from_stride @ (0 | 1), to_stride: 1 }) => {
            loops.pop();
            (loops, extent, from_stride == 0)
        }
        _ => (loops, 1, false),
    }
}
