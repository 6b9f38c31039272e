//! C: rules of targets, and the spelling of vectors, loads and sums of instruction sets.

use super::gcc::GccPragmas;
use crate::kernel::Element;

/// Rules of a target for generated C.
#[derive(Clone, Copy, Debug)]
pub struct CRules {
    /// True if the file uses extensions of gcc and clang; otherwise plain C11.
    pub extensions: bool,
    /// Passes of gcc that the file turns off.
    pub pragmas: &'static [GccPragmas],
    /// True if the header of the target's intrinsics may declare the name, so that no file takes
    /// the name. Names that begin with `_` need no entry.
    pub declares: fn(&str) -> bool,
    /// Copies of long float arrays.
    pub copies: Copies,
    /// The floating-point unit of the machines that may compile the file.
    pub float_unit: FloatUnit,
    /// Words of an error message: the flags that make f32 arithmetic round to f32, by machine.
    pub float_flags: &'static str,
    /// The condition under which the file stops with an `#error`, and the remedy. Empty: none.
    pub refused: (&'static str, &'static str),
    /// The condition under which a baseline of several lanes stops with an `#error`, and the
    /// remedy.
    pub baseline_refused: (&'static str, &'static str),
    /// The condition under which loads add a constant offset at no cost, so that compilers must
    /// not compute addresses separately. Empty: never.
    pub rows: &'static str,
    /// A C compiler with its flags, for `cellc inspect` to measure code size and stack if the
    /// compiler is installed. Empty: none.
    pub compiler: &'static [&'static str],
}

/// Copies of long float arrays by gcc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// The compiler's copies are fast.
    Inlined,
    /// x86: gcc would write `rep movsq`, which takes up to three times as long as memcpy.
    ByMemcpy,
}

/// The floating-point unit of the machines that may compile a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatUnit {
    /// As the baseline assumes.
    Known,
    /// Arm cores with and without a unit may compile the file.
    Optional,
}

/// The spelling of an instruction set in C.
#[derive(Clone, Copy)]
pub struct CSpelling {
    /// Feature names of gcc and clang, comma separated. Empty: the compiler assumes the features.
    pub features: &'static str,
    /// Additional compiler flags for this body. `None`: no such flags exist. The baseline needs
    /// no flags.
    pub flags: Option<&'static [&'static str]>,
    /// The header file of the intrinsics. Empty: none.
    pub header: &'static str,
    /// The load of several vectors.
    pub loads: &'static [CLoads],
    /// Vectors that need intrinsics. Other vectors use operators.
    pub vectors: &'static [CVector],
    /// Helper functions of the vectors.
    pub functions: &'static str,
    /// Sums of products across lanes, if available.
    pub across: Option<CAcross>,
    /// Detection of flushed denormals, for vector units that flush. A scalar body repeats
    /// the steps in which the detection finds one.
    pub flushes: Option<CFlushes>,
}

/// C: loads of several vectors by one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CLoads {
    /// Lanes per vector.
    pub lanes: usize,
    /// The loaded elements.
    pub element: Element,
    /// Vectors per load. `None`: any number.
    pub count: Option<usize>,
    /// The template of a function that loads from `from` to `*to0`, `*to1`, ... A line with EACH is
    /// repeated for every vector, with # as its number. A line with PAIR is repeated for every two
    /// vectors, with # and $ as their numbers; a line with ODD is for a single vector left over. A
    /// line with PLAIN stands for assignments by operators. COUNT is the number of vectors, LAST
    /// the number of the last vector, and HALF the number of the last half if vectors have two
    /// halves. LIST stands for the elements of EACH within a line.
    pub text: &'static str,
    /// The element of LIST, and the separator.
    pub list: &'static str,
}

impl CLoads {
    /// The body for `count` vectors.
    pub(crate) fn text(&self, count: usize) -> String {
        let each =
            |text: &str| (0..count).map(|i| text.replace('#', &i.to_string())).collect::<Vec<_>>();
        let mut all = String::new();
        let mut lines = self.text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if let Some(line) = line.strip_prefix("PAIR ") {
                let mut pair = line.to_owned();
                while let Some(next) = lines.peek().and_then(|next| next.strip_prefix("PAIR ")) {
                    pair += next;
                    lines.next();
                }
                let pair =
                    |i: usize| pair.replace('#', &i.to_string()).replace('$', &(i + 1).to_string());
                all.extend((0..count / 2).map(|i| pair(2 * i)));
            } else if let Some(line) = line.strip_prefix("ODD ") {
                all.extend((count / 2 * 2..count).map(|i| line.replace('#', &i.to_string())));
            } else {
                match line.strip_prefix("EACH ") {
                    Some(line) => all += &each(line).concat(),
                    None => all += line,
                }
            }
        }
        let numbers =
            all.replace("LIST", &each(self.list).join(", ")).replace("COUNT", &count.to_string());
        numbers
            .replace("LAST", &(count - 1).to_string())
            .replace("HALF", &(2 * count - 1).to_string())
    }
}

/// Assembly for sums of integer products across lanes, one instruction each. `weights` and
/// `elements` are post-incremented pointers, `sumN` is the sum of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CAcross {
    /// Load of a vector of elements.
    pub elements: &'static str,
    /// Load of a vector of weights.
    pub weights: &'static str,
    /// Load of a vector of weights with pairs of bytes.
    pub pairs_of_bytes: &'static str,
    /// Sum of byte products, overwriting.
    pub quads: &'static str,
    /// Sum of products, accumulating.
    pub add_quads: &'static str,
    /// Sum of 16-bit products, overwriting.
    pub pairs: &'static str,
    /// Sum of products, accumulating.
    pub add_pairs: &'static str,
    /// A sum set to 0.
    pub zero: &'static str,
    /// Skip over the weights of other columns, in bytes.
    pub beyond: &'static str,
    /// Begin of a loop of a given number of iterations.
    pub begin: &'static str,
    /// End of the loop.
    pub end: &'static str,
    /// Move of four sums to the lanes of a vector, two by two.
    pub meet: [&'static str; 2],
    /// The constraint of the pointer to weights with pairs of bytes.
    pub pointer_to_bytes: &'static str,
    /// The constraint of a sum.
    pub sum: &'static str,
    /// Clobbered registers, except the sums.
    pub clobbered: &'static str,
}

/// C: operations on a vector of f32 that no operator provides. `{0}`, `{1}`, .. are the arguments,
/// PREFIX is the prefix of names in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CVector {
    /// Lanes.
    pub lanes: usize,
    /// Load from a pointer with the alignment of f32. Empty: plain C.
    pub load: &'static str,
    /// Load from constant memory. Empty: like other loads.
    pub load_constant: &'static str,
    /// Load of binary16 values, converted to f32, from a pointer with the alignment of binary16.
    pub load_f16: &'static str,
    /// Load of signed bytes, converted to f32.
    pub load_i8: &'static str,
    /// Store to a pointer.
    pub store: &'static str,
    /// One f32 in every lane.
    pub splat: &'static str,
    /// `{0} * {1} + {2}`, rounded once; rounded twice if the instruction set does not fuse.
    pub mul_add: &'static str,
    /// Multiply-add with an f32 scalar as {1}. Empty: no separate instruction.
    pub mul_add_one: &'static str,
    /// `{0} + {1}`; empty, as for the next three: the operator.
    pub add: &'static str,
    /// `{0} - {1}`.
    pub sub: &'static str,
    /// `{0} * {1}`.
    pub mul: &'static str,
    /// `{0} / {1}`.
    pub div: &'static str,
    /// [`Max`](crate::kernel::LaneOp::Max), NaN and zeros included.
    pub max: &'static str,
    /// [`Min`](crate::kernel::LaneOp::Min), NaN and zeros included.
    pub min: &'static str,
    /// [`MaxMagnitude`](crate::kernel::LaneOp::MaxMagnitude). Empty: plain C.
    pub max_magnitude: &'static str,
    /// [`SelectLess`](crate::kernel::LaneOp::SelectLess).
    pub select_less: &'static str,
    /// [`Flush`](crate::kernel::LaneOp::Flush).
    pub flush: &'static str,
    /// Load of pairs of signed bytes, widened to 16 bits each. Empty: plain C.
    pub load_i8_pairs: &'static str,
    /// [`FromSigned`](crate::kernel::LaneOp::FromSigned). Empty: plain C.
    pub from_signed: &'static str,
    /// [`DotPairs`](crate::kernel::LaneOp::DotPairs). Empty: plain C. For sums with members, one
    /// value per member.
    pub dot_pairs: &'static str,
    /// [`DotQuads`](crate::kernel::LaneOp::DotQuads), or with unsigned bytes of elements
    /// [`DotUnsignedQuads`](crate::kernel::LaneOp::DotUnsignedQuads), in the form of `dot_pairs`.
    pub dot_quads: &'static str,
    /// Members of the struct of integer sums, each a machine vector. Empty: sums are lanes.
    pub sums: &'static str,
}

impl CVector {
    /// One lane, every operation in plain C. Rows state what differs.
    pub const PLAIN: Self = Self {
        lanes: 1,
        load: "",
        load_constant: "",
        load_f16: "",
        load_i8: "",
        store: "",
        splat: "",
        mul_add: "",
        mul_add_one: "",
        add: "",
        sub: "",
        mul: "",
        div: "",
        max: "",
        min: "",
        max_magnitude: "",
        select_less: "",
        flush: "",
        load_i8_pairs: "",
        from_signed: "",
        dot_pairs: "",
        dot_quads: "",
        sums: "",
    };
}

/// C: detection of denormal operands or results that an instruction set flushed to zero.
#[derive(Clone, Copy, Debug)]
pub struct CFlushes {
    /// Statements before the step.
    pub begin: &'static str,
    /// Statements after the step.
    pub end: &'static str,
    /// The condition that is true if a denormal was flushed.
    pub flushed: &'static str,
}
