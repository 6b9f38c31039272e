//! The vector types and the functions on them that no operator or intrinsic spells.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{attribute, guarded, wrap};
use crate::arch::{C_FOUR_LANES, Isa};
use crate::emit::names::c_type;
use crate::emit::traversal::decimal;
use crate::kernel::{Element, FLUSH_BELOW};

/// Something that the bodies use and that the top of the file then declares, by number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum VectorFunction {
    Type(usize),
    Load(usize),
    Store(usize),
    Splat(usize),
    Max(usize),
    Min(usize),
    SelectLess(usize),
    ToBits,
    FromBits,
    LoadF16(usize),
    LoadI8(usize),
    /// Of elements of that type, which is not f32.
    Length(Element),
    /// On that instruction set.
    MulAdd(usize, &'static Isa),
    /// On that instruction set.
    Flush(usize, &'static Isa),
}

impl VectorFunction {
    /// Every number of lanes.
    pub(super) const ALL_LANES: [usize; 5] = [1, 2, 4, 8, 16];

    /// Its name in the file.
    pub(super) fn name(self, prefix: &str) -> String {
        match self {
            Self::Type(lanes) => float(prefix, lanes),
            Self::Load(lanes) => format!("{prefix}_load{lanes}"),
            Self::LoadF16(lanes) => format!("{prefix}_load_f16_{lanes}"),
            Self::LoadI8(lanes) => format!("{prefix}_load_i8_{lanes}"),
            Self::Store(lanes) => format!("{prefix}_store{lanes}"),
            Self::Splat(lanes) => format!("{prefix}_splat{lanes}"),
            Self::Max(lanes) => format!("{prefix}_max{lanes}"),
            Self::Min(lanes) => format!("{prefix}_min{lanes}"),
            Self::SelectLess(lanes) => format!("{prefix}_select_less{lanes}"),
            Self::ToBits => format!("{prefix}_to_bits"),
            Self::FromBits => format!("{prefix}_from_bits"),
            Self::Length(element) => format!("{prefix}_length_{element}"),
            Self::MulAdd(lanes, isa) => format!("{prefix}_mul_add{lanes}_{}", isa.name),
            Self::Flush(lanes, isa) => format!("{prefix}_flush{lanes}_{}", isa.name),
        }
    }

    fn lanes(self) -> usize {
        match self {
            Self::Type(lanes) | Self::Load(lanes) | Self::Store(lanes) | Self::Splat(lanes) | Self::Max(lanes) => lanes,
            Self::Min(lanes) | Self::SelectLess(lanes) | Self::MulAdd(lanes, _) => lanes,
            Self::LoadF16(lanes) | Self::LoadI8(lanes) | Self::Flush(lanes, _) => lanes,
            Self::ToBits | Self::FromBits | Self::Length(_) => 1,
        }
    }

    fn write(self, out: &mut String, prefix: &str) {
        let inline = format!("{}_INLINE", prefix.to_ascii_uppercase());
        let name = self.name(prefix);
        let lanes = self.lanes();
        let (float, bits) = (float(prefix, lanes), bits(prefix, lanes));
        let _ = match self {
            Self::Type(_) => {
                let bytes = lanes * 4;
                write!(
                    out,
                    "typedef float {float} __attribute__((vector_size({bytes})));
typedef uint32_t {bits} __attribute__((vector_size({bytes})));
typedef {float} {float}_in_memory __attribute__((aligned(4), may_alias));
"
                )
            }
            Self::Load(_) => write!(
                out,
                "\n{inline} {float} {name}(const float *from) {{\n    return *(const {float}_in_memory *)from;\n}}\n"
            ),
            Self::LoadF16(lanes) => {
                let from = |at: usize| if lanes == 1 { "*from".to_owned() } else { format!("from[{at}]") };
                let each: Vec<_> = (0..lanes).map(from).collect();
                let value = if lanes == 1 { each.concat() } else { format!("{{{}}}", each.join(", ")) };
                let min = Self::Min(lanes).name(prefix);
                let (to_bits, from_bits) = match lanes {
                    1 => (Self::ToBits.name(prefix), Self::FromBits.name(prefix)),
                    _ => (format!("({bits})"), format!("({float})")),
                };
                let value_of = if lanes == 1 { "(value)" } else { "value" };
                write!(
                    out,
                    "
/* Values of IEEE 754 binary16. Normal numbers: the exponent is moved. Denormals, multiples of 2^-24: by a subtraction, which
 * gives more than the value for a normal number. */
{inline} {float} {name}(const uint16_t *from) {{
    const {bits} half = {value};
    const {bits} magnitude = (half & 0x7fffu) << 13;
    const {float} small = {from_bits}(magnitude + 0x38800000u) - 0x1p-14f;
    const {float} value = {min}(small, {from_bits}(magnitude + 0x38000000u));
    return {from_bits}({to_bits}{value_of} | (half & 0x8000u) << 16);
}}
"
                )
            }
            // all four at once where there are vectors: the first three as positive numbers, where they stand
            Self::LoadI8(4) => write!(
                out,
                "
{inline} {float} {name}(const int8_t *from) {{
#if {C_FOUR_LANES}
    typedef int32_t integers __attribute__((vector_size(16)));
    const uint32_t word = (uint32_t)(uint8_t)from[0] | (uint32_t)(uint8_t)from[1] << 8 |
                          (uint32_t)(uint8_t)from[2] << 16 | (uint32_t)(uint8_t)from[3] << 24;
    const {bits} all = {{word, word, word, word}}, signs = {{0x80u, 0x8000u, 0x800000u, 0u}};
    const {bits} own = {{0xffu, 0xff00u, 0xff0000u, 0xff000000u}};
    const {float} unit = {{1.0f, 0x1p-8f, 0x1p-16f, 0x1p-24f}}, least = {{128.0f, 128.0f, 128.0f, 0.0f}};
    return __builtin_convertvector((integers)((all ^ signs) & own), {float}) * unit - least;
#else
    return ({float}){{(float)from[0], (float)from[1], (float)from[2], (float)from[3]}};
#endif
}}
"
            ),
            Self::LoadI8(_) => {
                let each: Vec<_> = (0..lanes).map(|i| format!("(float)from[{i}]")).collect();
                let each = each.join(", ");
                out.push('\n');
                wrap::statement(out, 0, &format!("{inline} {float} {name}(const int8_t *from) {{"));
                let value = if lanes == 1 { each } else { format!("({float}){{{each}}}") };
                wrap::statement(out, 4, &format!("return {value};"));
                writeln!(out, "}}")
            }
            Self::Store(_) => write!(
                out,
                "\n{inline} void {name}(float *to, {float} lanes) {{\n    *({float}_in_memory *)to = lanes;\n}}\n"
            ),
            Self::Splat(_) => {
                let all = vec!["x"; lanes].join(", ");
                write!(out, "\n{inline} {float} {name}(float x) {{\n    return ({float}){{{all}}};\n}}\n")
            }
            Self::Max(_) | Self::Min(_) => {
                let (word, sign) = if matches!(self, Self::Max(_)) { ("greater", '>') } else { ("smaller", '<') };
                let _ = write!(
                    out,
                    "\n/* The {word} one; b if either is NaN. */\n{inline} {float} {name}({float} a, {float} b) {{\n"
                );
                if lanes == 1 {
                    writeln!(out, "    return a {sign} b ? a : b;\n}}")
                } else {
                    write!(
                        out,
                        "    const {bits} a_is = ({bits})(a {sign} b);
    return ({float})((a_is & ({bits})a) | (~a_is & ({bits})b));
}}
"
                    )
                }
            }
            Self::SelectLess(_) => {
                let _ = write!(
                    out,
                    "\n/* c if a < b, else d. */\n{inline} {float} {name}({float} a, {float} b, {float} c, {float} d) {{\n"
                );
                if lanes == 1 {
                    writeln!(out, "    return a < b ? c : d;\n}}")
                } else {
                    write!(
                        out,
                        "    const {bits} less = ({bits})(a < b);
    return ({float})((less & ({bits})c) | (~less & ({bits})d));
}}
"
                    )
                }
            }
            Self::ToBits => write!(
                out,
                "\n{inline} uint32_t {name}(float value) {{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}}
"
            ),
            Self::FromBits => write!(
                out,
                "\n{inline} float {name}(uint32_t bits) {{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}}
"
            ),
            Self::Length(element) => {
                let ty = c_type(element);
                let (note, negative, unsigned) = match element {
                    Element::U32 => ("", "", "length".to_string()),
                    _ => ("below 0 as 0, ", "length < 0 ? 0u : ", format!("(u{ty})length")),
                };
                write!(
                    out,
                    "
/* The length of a sequence, {note}at most `most`. */
{inline} uint32_t {name}({ty} length, uint32_t most) {{
    return {negative}{unsigned} > most ? most : (uint32_t)length;
}}
"
                )
            }
            Self::MulAdd(_, isa) => {
                let attribute = spaced(prefix, isa);
                let each: Vec<_> = (0..lanes).map(|i| format!("__builtin_fmaf(a[{i}], b[{i}], c[{i}])")).collect();
                let text = format!(
                    "/* a * b + c, rounded once. */\n{inline} {attribute}{float} {name}({float} a, {float} b, {float} c) {{
    return ({float}){{{}}};\n}}\n",
                    each.join(", ")
                );
                of(isa, out, &text)
            }
            Self::Flush(_, isa) => {
                let attribute = spaced(prefix, isa);
                let limit = format!("{}f", decimal(FLUSH_BELOW));
                let body = match isa.c_vectors.iter().find(|v| v.lanes == lanes) {
                    Some(vector) => format!("    return {};\n", fill(vector.flush, &["a".to_owned(), limit])),
                    None if lanes == 1 => format!("    return __builtin_fabsf(a) < {limit} ? 0.0f : a;\n"),
                    None => format!(
                        "    const {bits} magnitude = ({bits})a & 0x7fffffffu;
    const {bits} small = ({bits})(({float})magnitude < {limit});
    return ({float})(~small & ({bits})a);\n"
                    ),
                };
                let text = format!(
                    "/* a, or 0 if its magnitude is below 2^-100. */\n{inline} {attribute}{float} {name}({float} a) {{\n{body}}}\n"
                );
                of(isa, out, &text)
            }
        };
    }
}

/// Writes a function for one instruction set.
fn of(isa: &Isa, out: &mut String, text: &str) -> std::fmt::Result {
    out.push('\n');
    guarded(out, isa.condition().map(|condition| condition.c), text);
    Ok(())
}

/// Declares what is used.
pub(super) fn write(out: &mut String, prefix: &str, used: &BTreeSet<VectorFunction>) {
    let mut all = BTreeSet::new();
    for function in used {
        if function.lanes() > 1 {
            all.insert(VectorFunction::Type(function.lanes()));
        }
        if let VectorFunction::LoadF16(lanes) = function {
            all.insert(VectorFunction::Min(*lanes));
            if *lanes == 1 {
                all.extend([VectorFunction::ToBits, VectorFunction::FromBits]);
            }
        }
        all.insert(*function);
    }
    if all.iter().any(|f| matches!(f, VectorFunction::Type(lanes) if *lanes > 1)) {
        out.push_str("\n/* Lanes as values, as bits, and in memory, where they have the alignment of one float. */\n");
    }
    for function in all {
        if function != VectorFunction::Type(1) {
            function.write(out, prefix);
        }
    }
}

/// Every name that [`write`] may declare for so many lanes.
pub(super) fn names(prefix: &str, lanes: usize, isa: &'static Isa) -> Vec<String> {
    use VectorFunction as V;
    let functions =
        [V::Load(lanes), V::Store(lanes), V::Splat(lanes), V::Max(lanes), V::Min(lanes), V::SelectLess(lanes)];
    let lengths = [Element::I32, Element::I64, Element::U32].map(V::Length);
    let narrow = [V::LoadF16(lanes), V::LoadI8(lanes)];
    let others = [V::ToBits, V::FromBits, V::MulAdd(lanes, isa), V::Flush(lanes, isa)];
    let mut names: Vec<_> =
        functions.iter().chain(&narrow).chain(&others).chain(&lengths).map(|f| f.name(prefix)).collect();
    names.extend([float(prefix, lanes), bits(prefix, lanes)]);
    names
}

/// The type of so many f32.
pub(super) fn float(prefix: &str, lanes: usize) -> String {
    if lanes == 1 { "float".to_string() } else { format!("{prefix}_f32x{lanes}") }
}

/// The type of so many u32.
pub(super) fn bits(prefix: &str, lanes: usize) -> String {
    if lanes == 1 { "uint32_t".to_string() } else { format!("{prefix}_u32x{lanes}") }
}

/// The attribute of an instruction set, followed by a space.
pub(super) fn spaced(prefix: &str, isa: &Isa) -> String {
    let attribute = attribute(prefix, isa);
    if attribute.is_empty() { attribute } else { attribute + " " }
}

/// Puts arguments into a template of the table.
pub(super) fn fill(template: &str, args: &[String]) -> String {
    let mut out = String::with_capacity(template.len() + args.iter().map(String::len).sum::<usize>());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let digit = rest.as_bytes()[at + 1] - b'0';
        out.push_str(&args[usize::from(digit)]);
        rest = &rest[at + 3..];
    }
    out.push_str(rest);
    out
}
