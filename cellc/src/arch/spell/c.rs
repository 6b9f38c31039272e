//! C: rules of targets, and the spelling of vectors, loads and sums of instruction sets.

use super::gcc::GccPragmas;
use crate::kernel::Element;

/// Rules of a target for generated C.
#[derive(Clone, Copy, Debug)]
pub struct CRules {
    /// True if the file uses extensions of gcc and clang; otherwise plain C11.
    pub extensions: bool,
    /// Pragmas that turn passes of gcc on or off.
    pub pragmas: &'static [GccPragmas],
    /// True if the header of the target's intrinsics may declare a name, so that generated files
    /// must not declare the name. Names that begin with `_` are not covered.
    pub declares: fn(&str) -> bool,
    /// Copies of long float arrays.
    pub copies: Copies,
    /// The floating-point unit of the machines that may compile the file.
    pub float_unit: FloatUnit,
    /// A part of an error message: the compiler flags, for each machine, that make f32 arithmetic
    /// round to f32.
    pub float_flags: &'static str,
    /// The condition under which the file stops with an `#error`, and the remedy. Empty: none.
    pub refused: (&'static str, &'static str),
    /// The condition under which a file whose baseline has several lanes stops with an `#error`,
    /// and the remedy.
    pub baseline_refused: (&'static str, &'static str),
    /// The condition under which loads add a constant offset at no cost, and the code keeps
    /// compilers from computing addresses separately. Empty: never.
    pub rows: &'static str,
    /// A C compiler with its flags, for `cellc inspect` to measure code size and stack if the
    /// compiler is installed. Empty: none.
    pub compiler: &'static [&'static str],
}

/// How generated C copies long float arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// The compiler's copies are fast.
    Inlined,
    /// Copies call memcpy. On x86, gcc would otherwise use `rep movsq`, which takes up to three
    /// times as long.
    ByMemcpy,
}

/// The floating-point unit of the machines that may compile a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatUnit {
    /// The unit that the baseline assumes.
    Known,
    /// The file may be compiled for machines with and without a floating-point unit.
    Optional,
}

/// The spelling of an instruction set in C.
#[derive(Clone, Copy)]
pub struct CSpelling {
    /// Feature names of gcc and clang, comma separated. Empty: the compiler assumes the features.
    pub features: &'static str,
    /// Compiler flags, in addition to the target's, with which the compiler chooses this body.
    /// `None`: no flags do so. The baseline needs no flags.
    pub flags: Option<&'static [&'static str]>,
    /// The header file of the intrinsics. Empty: none.
    pub header: &'static str,
    /// Loads of several vectors.
    pub loads: &'static [CLoads],
    /// Vectors that need intrinsics. Other vectors use operators.
    pub vectors: &'static [CVector],
    /// Helper functions of the vectors.
    pub functions: &'static str,
    /// Sums of products across lanes, if available.
    pub across: Option<CAcross>,
    /// Detection of flushed denormals, for vector units that flush. A scalar body repeats the steps
    /// in which a denormal was flushed.
    pub flushes: Option<CFlushes>,
}

/// C: a function that loads several vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CLoads {
    /// Lanes per vector.
    pub lanes: usize,
    /// The loaded elements.
    pub element: Element,
    /// Vectors per load. `None`: any number.
    pub count: Option<usize>,
    /// The template of a function that loads from `from` to `*to0`, `*to1`, ... A line with EACH is
    /// repeated for every vector, with # as the number. A line with PAIR is repeated for every two
    /// vectors, with # and $ as their numbers; a line with ODD is for a single vector left over. A
    /// line with PLAIN stands for assignments by operators. COUNT is the number of vectors, LAST
    /// the number of the last vector, and HALF the number of the last half if vectors have two
    /// halves. TYPE is the vector type, LOAD loads one vector, and FROM_BITS converts from bits.
    /// LIST stands for a list with [`Self::list`] for each vector.
    pub text: &'static str,
    /// The entry of LIST for one vector, with # as the number of the vector.
    pub list: &'static str,
}

impl CLoads {
    /// The body of the function for `count` vectors. TYPE, LOAD, FROM_BITS and PLAIN are not yet
    /// replaced.
    pub(crate) fn text(&self, count: usize) -> String {
        let each =
            |text: &str| (0..count).map(|i| text.replace('#', &i.to_string())).collect::<Vec<_>>();
        let mut text = String::new();
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
                text.extend((0..count / 2).map(|i| pair(2 * i)));
            } else if let Some(line) = line.strip_prefix("ODD ") {
                text.extend((count / 2 * 2..count).map(|i| line.replace('#', &i.to_string())));
            } else {
                match line.strip_prefix("EACH ") {
                    Some(line) => text += &each(line).concat(),
                    None => text += line,
                }
            }
        }
        let numbers =
            text.replace("LIST", &each(self.list).join(", ")).replace("COUNT", &count.to_string());
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
    /// Sum of byte products, written to `sumN`.
    pub quads: &'static str,
    /// Sum of byte products, added to `sumN`.
    pub add_quads: &'static str,
    /// Sum of 16-bit products, written to `sumN`.
    pub pairs: &'static str,
    /// Sum of 16-bit products, added to `sumN`.
    pub add_pairs: &'static str,
    /// Sets a sum to 0.
    pub zero: &'static str,
    /// Advances the pointer to weights over the weights of other columns.
    pub beyond: &'static str,
    /// Start of a loop with a given number of iterations.
    pub begin: &'static str,
    /// End of the loop.
    pub end: &'static str,
    /// Two instructions that move four sums to the lanes of a vector.
    pub meet: [&'static str; 2],
    /// The constraint of the pointer to weights with pairs of bytes.
    pub pointer_to_bytes: &'static str,
    /// The constraint of a sum.
    pub sum: &'static str,
    /// Clobbered registers, except the sums.
    pub clobbered: &'static str,
}

/// C: operations on a vector of f32 that no operator provides. `{0}`, `{1}`, .. are the arguments,
/// PREFIX is the prefix of names in the file. An empty text stands for plain C, unless the field
/// says otherwise.
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
    /// `{0} + {1}`. Empty, for this and the next three operations: the operator of C.
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
    /// [`DotPairs`](crate::kernel::LaneOp::DotPairs). Empty: plain C. If `sums` has members, one
    /// value per member.
    pub dot_pairs: &'static str,
    /// [`DotQuads`](crate::kernel::LaneOp::DotQuads), or with unsigned bytes of elements
    /// [`DotUnsignedQuads`](crate::kernel::LaneOp::DotUnsignedQuads), in the form of `dot_pairs`.
    pub dot_quads: &'static str,
    /// The members, each a machine vector, of the struct that holds integer sums. Empty: a vector
    /// with one sum per lane holds integer sums.
    pub sums: &'static str,
}

impl CVector {
    /// One lane, with every operation in plain C. Other vectors state only the differences.
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
