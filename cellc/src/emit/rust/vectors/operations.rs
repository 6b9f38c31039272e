//! The table of operations on vectors and on their bits.

/// The trait of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationTrait {
    Vector,
    /// The trait of the bits of vectors.
    Bits,
}

/// The operands and the result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// From an array of lanes with this element type.
    From(&'static str),
    /// To an array of lanes.
    To,
    /// From one number.
    Splat,
    /// From this number of vectors.
    Lanes(usize),
    /// From bits and a number of places.
    Shift,
    ToBits,
    OfBits,
    /// Any operands; the body is the same for all types.
    Provided,
}

pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) set: OperationTrait,
    pub(super) shape: Shape,
    /// Doc comment.
    pub(super) doc: &'static str,
    /// The result for the lanes `a`, `b`, `c` and `d`. For a provided operation, the whole body.
    pub(super) lane: &'static str,
    /// Other operations that the operation calls.
    pub(super) needs: &'static [&'static str],
    /// Helper functions of the file that the body of a provided operation calls, or the expression
    /// for one lane.
    pub(super) helpers: &'static [&'static str],
}

/// An operation without calls of other operations.
const fn operation(
    name: &'static str,
    set: OperationTrait,
    shape: Shape,
    doc: &'static str,
    lane: &'static str,
) -> Operation {
    Operation { name, set, shape, doc, lane, needs: &[], helpers: &[] }
}

/// An operation with one body for all types.
const fn provided(
    name: &'static str,
    needs: &'static [&'static str],
    helpers: &'static [&'static str],
    doc: &'static str,
    lane: &'static str,
) -> Operation {
    Operation {
        name,
        set: OperationTrait::Vector,
        shape: Shape::Provided,
        doc,
        lane,
        needs,
        helpers,
    }
}

use OperationTrait::{Bits, Vector};
use Shape::{From, Lanes, OfBits, Shift, Splat, To, ToBits};

/// All operations, in the order of traits and macros.
pub(super) const OPERATIONS: &[Operation] = &[
    operation("from_lanes", Vector, From("f32"), "", "a"),
    Operation {
        name: "from_halves",
        set: Vector,
        shape: From("[u8; 2]"),
        doc: "Of binary16.",
        lane: "half_to_f32(u16::from_le_bytes(a))",
        needs: &[],
        helpers: &["half_to_f32"],
    },
    operation(
        "from_bytes",
        Vector,
        From("[u8; 1]"),
        "Of integers.",
        "f32::from(i8::from_le_bytes(a))",
    ),
    operation(
        "from_pairs",
        Vector,
        From("[u8; 2]"),
        "Of pairs of integers, which become the halves of the lanes' bits.",
        "f32::from_bits(a[0] as i8 as i16 as u16 as u32 | (a[1] as i8 as i16 as u16 as u32) << 16)",
    ),
    operation("to_lanes", Vector, To, "", "a"),
    operation("all", Vector, Splat, "The number in every lane.", "a"),
    provided(
        "load",
        &["from_lanes"],
        &["part_of"],
        "The elements from `AT` on.",
        "fn load<const AT: usize, const N: usize>(from: &[f32; N]) -> Self \
         { Self::from_lanes(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "halves",
        &["from_halves"],
        &["part_of"],
        "The weights of 16 bits from `AT` on.",
        "fn halves<const AT: usize, const N: usize>(from: &[[u8; 2]; N]) -> Self \
         { Self::from_halves(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "bytes",
        &["from_bytes"],
        &["part_of"],
        "The weights of 8 bits from `AT` on.",
        "fn bytes<const AT: usize, const N: usize>(from: &[[u8; 1]; N]) -> Self \
         { Self::from_bytes(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "pairs_of_bytes",
        &["from_pairs"],
        &["part_of"],
        "The pairs of weights of 8 bits from `AT` on.",
        "fn pairs_of_bytes<const AT: usize, const N: usize>(from: &[[u8; 2]; N]) -> Self \
         { Self::from_pairs(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "splat",
        &["all"],
        &["part_of"],
        "Element `AT` in every lane.",
        "fn splat<const AT: usize, const N: usize>(from: &[f32; N]) -> Self \
         { let [x] = *part_of::<AT, 1, _, N>(from); Self::all(x) }",
    ),
    provided(
        "store",
        &["to_lanes"],
        &["part_of_mut"],
        "Writes the elements from `AT` on.",
        "fn store<const AT: usize, const N: usize>(self, to: &mut [f32; N]) \
         { self.to_lanes(part_of_mut::<AT, L, _, N>(to)) }",
    ),
    operation("add", Vector, Lanes(2), "", "a + b"),
    operation("sub", Vector, Lanes(2), "", "a - b"),
    operation("mul", Vector, Lanes(2), "", "a * b"),
    operation("div", Vector, Lanes(2), "", "a / b"),
    operation(
        "mul_add",
        Vector,
        Lanes(3),
        "`self * b + c`, rounded once by an instruction set that fuses, else twice.",
        "$mul_add",
    ),
    operation(
        "max",
        Vector,
        Lanes(2),
        "The greater one; `b` if either is NaN.",
        "if a > b { a } else { b }",
    ),
    operation(
        "min",
        Vector,
        Lanes(2),
        "The smaller one; `b` if either is NaN.",
        "if a < b { a } else { b }",
    ),
    operation(
        "max_magnitude",
        Vector,
        Lanes(2),
        "`|self|` or `b`, whose bits are the greater number: NaN is greater than infinity.",
        "if a.to_bits() & 0x7fff_ffff > b.to_bits() { f32::from_bits(a.to_bits() & 0x7fff_ffff) } \
         else { b }",
    ),
    operation(
        "select_less",
        Vector,
        Lanes(4),
        "`c` where `self < b`, else `d`.",
        "if a < b { c } else { d }",
    ),
    operation(
        "flush",
        Vector,
        Lanes(1),
        "0 where the magnitude is below 2^-100.",
        "if a.abs() < super::FLUSH_LIMIT { 0.0 } else { a }",
    ),
    operation(
        "bits_and",
        Vector,
        Lanes(2),
        "The bits that are set in both.",
        "f32::from_bits(a.to_bits() & b.to_bits())",
    ),
    operation(
        "bits_or",
        Vector,
        Lanes(2),
        "The bits that are set in either.",
        "f32::from_bits(a.to_bits() | b.to_bits())",
    ),
    operation(
        "bits_xor",
        Vector,
        Lanes(2),
        "The bits in which both differ.",
        "f32::from_bits(a.to_bits() ^ b.to_bits())",
    ),
    operation(
        "bits_to_exponent",
        Vector,
        Lanes(1),
        "The bits, 23 places to the left: the lowest ones become the exponent.",
        "f32::from_bits(a.to_bits() << 23)",
    ),
    operation(
        "bits_shift_left",
        Vector,
        Shift,
        "The bits, `n` places to the left.",
        "f32::from_bits(a.to_bits() << n)",
    ),
    operation(
        "bits_shift_right",
        Vector,
        Shift,
        "The bits, `n` places to the right; zeros are shifted in.",
        "f32::from_bits(a.to_bits() >> n)",
    ),
    operation(
        "bits_wrapping_add",
        Vector,
        Lanes(2),
        "The sum of the bits as integers.",
        "f32::from_bits(a.to_bits().wrapping_add(b.to_bits()))",
    ),
    operation(
        "bits_wrapping_sub",
        Vector,
        Lanes(2),
        "The difference of the bits as integers.",
        "f32::from_bits(a.to_bits().wrapping_sub(b.to_bits()))",
    ),
    operation("to_bits", Vector, ToBits, "", "a.to_bits()"),
    operation("from_bits", Vector, OfBits, "", "f32::from_bits(a)"),
    operation(
        "from_signed",
        Vector,
        OfBits,
        "The numbers in two's complement, rounded to f32.",
        "a as i32 as f32",
    ),
    operation("all_bits", Bits, Splat, "The number in every lane.", "a"),
    operation("and", Bits, Lanes(2), "", "a & b"),
    operation("or", Bits, Lanes(2), "", "a | b"),
    operation("xor", Bits, Lanes(2), "", "a ^ b"),
    operation("shift_left", Bits, Shift, "", "a << n"),
    operation("shift_right", Bits, Shift, "Zeros are shifted in.", "a >> n"),
    operation("wrapping_add", Bits, Lanes(2), "", "a.wrapping_add(b)"),
    operation("wrapping_sub", Bits, Lanes(2), "", "a.wrapping_sub(b)"),
];
