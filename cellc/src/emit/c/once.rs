//! Kernels and activations that have one text on several instruction sets: the file includes itself
//! for each of them, with macros for the types of vectors, the attribute, and the counts that
//! differ.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::attribute;
use crate::arch::Isa;

/// The kernels and functions of an instruction set.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a> {
    pub(super) isa: &'static Isa,
    pub(super) kernels: &'a [Piece],
    pub(super) functions: &'a [Piece],
}

/// A kernel, or a function on so many lanes.
pub(super) struct Piece {
    pub(super) name: String,
    /// 0 for a kernel.
    pub(super) lanes: usize,
    pub(super) text: String,
}

/// The macro for the attribute of a shared function.
pub(super) fn target(prefix: &str) -> String {
    format!("{}_TARGET", prefix.to_ascii_uppercase())
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// The type of vectors of so many numbers.
    Numbers(usize),
    /// The type of their bits.
    Bits(usize),
    /// A function on them.
    Function(&'a str, usize),
    /// A kernel.
    Kernel(&'a str),
    Count(usize),
    Text(&'a str),
}

impl Token<'_> {
    /// Whether two instruction sets may differ in it.
    fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Numbers(_), Self::Numbers(_)) | (Self::Bits(_), Self::Bits(_)) => true,
            (Self::Count(_), Self::Count(_)) => true,
            (Self::Function(a, _), Self::Function(b, _)) => a == b,
            _ => self == other,
        }
    }

    /// The number in which instruction sets may differ.
    fn number(&self) -> usize {
        match self {
            Self::Numbers(n) | Self::Bits(n) | Self::Function(_, n) | Self::Count(n) => *n,
            Self::Kernel(_) | Self::Text(_) => 0,
        }
    }
}

/// The tokens of a text of an instruction set, in order. Comments are one token each.
fn tokens<'t>(text: &'t str, prefix: &str, isa: &str) -> Vec<Token<'t>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '/' => 1,
            _ if is_part(first) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            _ => rest.find(|c| is_part(c) || c == '/').unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        all.push(token(word, prefix, isa));
        rest = after;
    }
    all
}

/// The token that a word is.
fn token<'t>(word: &'t str, prefix: &str, isa: &str) -> Token<'t> {
    if let Ok(count) = word.parse() {
        return Token::Count(count);
    }
    let Some(own) = word.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')) else {
        return Token::Text(word);
    };
    let of_bits = own.strip_suffix("_bits").and_then(|own| own.strip_suffix(isa)?.strip_suffix('_'));
    let Some(name) = of_bits.or_else(|| own.strip_suffix(isa)?.strip_suffix('_')) else { return Token::Text(word) };
    let (function, lanes) = name.rsplit_once('_').map_or(("", name), |(function, lanes)| (function, lanes));
    match (lanes.strip_prefix("f32x").and_then(|lanes| lanes.parse().ok()), function, of_bits) {
        (Some(lanes), "", None) => Token::Numbers(lanes),
        (Some(lanes), "", Some(_)) => Token::Bits(lanes),
        (Some(lanes), function, None) => Token::Function(function, lanes),
        (None, _, None) => Token::Kernel(name),
        _ => Token::Text(word),
    }
}

/// How macros for types and counts are called, and their values: of each in the order of the
/// instances.
#[derive(Default)]
struct Parameters {
    lanes: Vec<Vec<usize>>,
    counts: Vec<Vec<usize>>,
}

/// The position of a list among others, where it is appended if need be.
fn position(of: Vec<usize>, all: &mut Vec<Vec<usize>>) -> usize {
    all.iter().position(|known| *known == of).unwrap_or_else(|| {
        all.push(of);
        all.len() - 1
    })
}

impl Parameters {
    /// The text for all instances whose tokens these are, if they are alike.
    fn unified(&mut self, upper: &str, instances: &[Vec<Token<'_>>]) -> Option<String> {
        let (first, others) = instances.split_first()?;
        let is_alike =
            |other: &Vec<Token<'_>>| other.len() == first.len() && first.iter().zip(other).all(|(a, b)| a.is_alike(b));
        if !others.iter().all(is_alike) {
            return None;
        }
        // lanes first: a count that is as many is the same parameter
        let numbers = |at: usize| instances.iter().map(|tokens| tokens[at].number()).collect::<Vec<_>>();
        for (at, token) in first.iter().enumerate() {
            if matches!(token, Token::Numbers(_) | Token::Bits(_) | Token::Function(..)) {
                position(numbers(at), &mut self.lanes);
            }
        }
        let mut text = String::new();
        for (at, token) in first.iter().enumerate() {
            let all = numbers(at);
            let is_same = all.windows(2).all(|two| two[0] == two[1]);
            let _ = match token {
                Token::Text(word) => write!(text, "{word}"),
                Token::Kernel(name) => write!(text, "{upper}_NAME({name})"),
                Token::Numbers(_) => write!(text, "{upper}_F{}", position(all, &mut self.lanes)),
                Token::Bits(_) => write!(text, "{upper}_U{}", position(all, &mut self.lanes)),
                Token::Function(name, _) => write!(text, "{upper}_V{}({name})", position(all, &mut self.lanes)),
                Token::Count(count) if is_same => write!(text, "{count}"),
                Token::Count(_) => match self.lanes.iter().position(|lanes| *lanes == all) {
                    Some(at) => write!(text, "{upper}_LANES{at}"),
                    None => write!(text, "{upper}_COUNT{}", position(all, &mut self.counts)),
                },
            };
        }
        Some(text)
    }

    /// Whether one type is all in which instances differ.
    fn is_type(&self) -> bool {
        self.lanes.len() == 1 && self.counts.is_empty()
    }

    /// The macros that a text uses: names and, for an instance, definitions.
    fn used(&self, prefix: &str, text: &str, isa: &Isa, instance: usize) -> Vec<(String, String)> {
        let upper = prefix.to_ascii_uppercase();
        let mut all = Vec::new();
        for (at, lanes) in self.lanes.iter().enumerate() {
            let ty = format!("f32x{}_{}", lanes[instance], isa.name);
            all.push((format!("{upper}_F{at}"), format!("{prefix}_{ty}")));
            all.push((format!("{upper}_U{at}"), format!("{prefix}_{ty}_bits")));
            all.push((format!("{upper}_V{at}(name)"), format!("{prefix}_##name##_{ty}")));
            all.push((format!("{upper}_LANES{at}"), lanes[instance].to_string()));
        }
        let counts = self.counts.iter().enumerate();
        all.extend(counts.map(|(at, counts)| (format!("{upper}_COUNT{at}"), counts[instance].to_string())));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words: BTreeSet<_> = text.split(|c| !is_part(c)).collect();
        all.retain(|(name, _)| words.contains(name.split('(').next().unwrap_or(name)));
        all
    }
}

/// The texts of a file that stand once.
#[derive(Default)]
pub(super) struct Once {
    prefix: String,
    isas: Vec<&'static Isa>,
    /// The types on which activations are written: instruction sets and lanes.
    types: Vec<(&'static Isa, usize)>,
    of_functions: Parameters,
    /// Names and texts.
    functions: Vec<(String, String)>,
    of_kernels: Parameters,
    kernels: Vec<(String, String)>,
}

impl Once {
    /// What these bodies share.
    pub(super) fn of<'a>(prefix: &str, bodies: impl Iterator<Item = Pieces<'a>>) -> Self {
        let bodies: Vec<_> = bodies.collect();
        let upper = prefix.to_ascii_uppercase();
        let mut once = Self { prefix: prefix.to_owned(), ..Self::default() };
        once.isas = bodies.iter().map(|body| body.isa).collect();
        if bodies.len() < 2 {
            return once;
        }
        for kernel in bodies[0].kernels {
            let same = bodies.iter().map(|body| {
                let named = body.kernels.iter().find(|other| other.name == kernel.name)?;
                Some(tokens(&named.text, prefix, body.isa.name))
            });
            let unified = same.collect::<Option<Vec<_>>>().and_then(|same| once.of_kernels.unified(&upper, &same));
            once.kernels.extend(unified.map(|text| (kernel.name.clone(), text)));
        }
        let functions = || bodies.iter().flat_map(|body| body.functions.iter().map(|one| (body.isa, one)));
        for (isa, function) in functions().filter(|(_, function)| function.lanes > 1) {
            let ty = (isa, function.lanes);
            if !once.types.contains(&ty) {
                once.types.push(ty);
            }
        }
        let mut names: Vec<&String> = Vec::new();
        for (_, function) in functions() {
            if !names.contains(&&function.name) {
                names.push(&function.name);
            }
        }
        for name in names {
            let same = functions().filter(|(_, one)| one.name == *name && one.lanes > 1);
            let same: Vec<_> = same.map(|(isa, one)| tokens(&one.text, prefix, isa.name)).collect();
            let mut parameters = Parameters::default();
            // types on which nothing calls it have it nevertheless
            let unified = parameters.unified(&upper, &same).filter(|_| same.len() > 1 && parameters.is_type());
            once.functions.extend(unified.map(|text| (name.clone(), text)));
        }
        if !once.types.is_empty() {
            once.of_functions.lanes.push(once.types.iter().map(|(_, lanes)| *lanes).collect());
        }
        for (_, text) in once.kernels.iter_mut().chain(&mut once.functions) {
            *text = said(text, &upper);
        }
        once
    }

    fn upper(&self) -> String {
        self.prefix.to_ascii_uppercase()
    }

    fn is_empty(&self) -> bool {
        self.kernels.is_empty() && self.functions.is_empty()
    }

    /// The functions of an instruction set: those of its own, and what includes the file for those
    /// that are shared.
    pub(super) fn functions(&self, isa: &'static Isa, own: &[Piece]) -> String {
        let shared = if self.isas.contains(&isa) { &self.functions[..] } else { &[] };
        let is_own = |piece: &&Piece| piece.lanes < 2 || !shared.iter().any(|(name, _)| *name == piece.name);
        let mut out = self.own(isa, own.iter().filter(is_own));
        let text: String = self.functions.iter().map(|(_, text)| text.as_str()).collect();
        if !text.is_empty() {
            for (at, _) in self.types.iter().enumerate().filter(|(_, (of, _))| *of == isa) {
                self.include(&mut out, isa, ACTIVATIONS, self.of_functions.used(&self.prefix, &text, isa, at));
            }
        }
        out
    }

    /// The kernels of an instruction set.
    pub(super) fn kernels(&self, isa: &'static Isa, own: &[Piece]) -> String {
        let text: String = self.kernels.iter().map(|(_, text)| text.as_str()).collect();
        let mut out = String::new();
        if let Some(at) = self.isas.iter().position(|of| *of == isa)
            && !text.is_empty()
        {
            self.include(&mut out, isa, KERNELS, self.of_kernels.used(&self.prefix, &text, isa, at));
        }
        let shared = if self.isas.contains(&isa) { &self.kernels[..] } else { &[] };
        let is_own = |piece: &&Piece| !shared.iter().any(|(name, _)| *name == piece.name);
        out + &self.own(isa, own.iter().filter(is_own))
    }

    /// Texts of one instruction set.
    fn own<'a>(&self, isa: &Isa, pieces: impl Iterator<Item = &'a Piece>) -> String {
        let upper = self.upper();
        let target = target(&self.prefix);
        let own = match &*attribute(&self.prefix, isa) {
            "" => String::new(),
            attribute => format!("{attribute} "),
        };
        pieces.map(|piece| said(&piece.text.replace(&format!("{target} "), &own), &upper)).collect()
    }

    /// Includes a part of the file for an instruction set.
    fn include(&self, out: &mut String, isa: &Isa, part: usize, macros: Vec<(String, String)>) {
        let upper = self.upper();
        let first = [
            (format!("{upper}_PART"), part.to_string()),
            (target(&self.prefix), attribute(&self.prefix, isa)),
            (format!("{upper}_NAME(name)"), format!("{}_##name##_{}", self.prefix, isa.name)),
        ];
        out.push('\n');
        let has_names = part == KERNELS;
        for (name, value) in first.into_iter().take(2 + usize::from(has_names)).chain(macros) {
            let _ = writeln!(out, "{}", format!("#define {name} {value}").trim_end());
        }
        let _ = writeln!(out, "#include {upper}_FILE");
    }

    /// What ends the file.
    pub(super) fn end(&self) -> &'static str {
        if self.is_empty() { "" } else { "#endif\n" }
    }

    /// What the file includes.
    pub(super) fn text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let upper = self.upper();
        let part = |texts: &[(String, String)], of: &Parameters, common: &[&str]| {
            let text: String = texts.iter().map(|(_, text)| text.as_str()).collect();
            let used = of.used(&self.prefix, &text, self.isas[0], 0).into_iter();
            let used = used.map(|(name, _)| name.split('(').next().unwrap_or(&name).to_owned());
            let common = common.iter().map(|name| format!("{upper}_{name}"));
            let ended: String = common.chain(used).map(|name| format!("#undef {name}\n")).collect();
            format!("{text}\n{ended}")
        };
        let functions = part(&self.functions, &self.of_functions, &["PART", "TARGET"]);
        let kernels = part(&self.kernels, &self.of_kernels, &["PART", "TARGET", "NAME"]);
        format!(
            "\n/* This file includes itself for each instruction set: the activations once for each type of vectors, and then the kernels.\n \
             * Both stand here once. In front of each #include {upper}_FILE these macros are defined:\n \
             *   F0, F1, ..: types of values;  U0, U1, ..: types of their bits;  V0(f), V1(f), ..: the function f on such values;\n \
             *   LANES0, ..: numbers in a value;  COUNT0, ..: other counts;  NAME: kernels;  TARGET: the attribute of all functions. */\n\
             #if defined({upper}_PART) && {upper}_PART == {ACTIVATIONS}\n{functions}#elif defined({upper}_PART)\n{kernels}#else /* the file proper */\n"
        )
    }

    /// The name by which the file includes itself: it may have been renamed.
    pub(super) fn own_name(&self, stem: &str) -> String {
        if self.is_empty() {
            return String::new();
        }
        let macro_name = format!("{}_FILE", self.upper());
        format!(
            "\n/* This file, which includes itself. */\n#ifndef {macro_name}\n#define {macro_name} \"{stem}.c\"\n#ifdef __has_include\n#if !__has_include(\"{stem}.c\")\n\
             #undef {macro_name}\n#define {macro_name} __FILE__\n#endif\n#endif\n#endif\n"
        )
    }
}

/// The parts of the file that it includes.
const ACTIVATIONS: usize = 1;
const KERNELS: usize = 2;

/// A text without the lines that leave a loop as it is.
fn said(text: &str, upper: &str) -> String {
    let line = format!("{upper}_UNROLL(1)");
    text.lines().filter(|other| other.trim() != line).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Parameters, Token, tokens};

    #[test]
    fn names_of_an_instruction_set_are_parameters() {
        let all =
            tokens("/* 8 */ p_f32x8_avx2 x = p_mul_add_f32x16_avx2(a0, 4, 2.0f); p_cell0_avx2(y / 3u);", "p", "avx2");
        assert_eq!(all[0], Token::Text("/* 8 */"));
        for token in [Token::Numbers(8), Token::Function("mul_add", 16), Token::Count(4), Token::Kernel("cell0")] {
            assert!(all.contains(&token), "{token:?}");
        }
        assert!(["a0", "2.0f", "3u"].iter().all(|word| all.contains(&Token::Text(word))));
        assert_eq!(tokens("p_f32x8_avx2_bits q_f32x8_avx2 p_f32x8", "p", "avx2")[0], Token::Bits(8));
    }

    #[test]
    fn texts_that_differ_in_types_and_counts_are_one() {
        let of = |isa: &'static str, lanes: usize, other: &str| {
            format!("p_f32x{lanes}_{isa} a; for ({}) p_add_f32x{lanes}_{isa}(x + {lanes}); {other}", 48 / lanes)
        };
        let [a, b] = [of("avx2", 16, ""), of("avx512", 48, "")];
        let both = [tokens(&a, "p", "avx2"), tokens(&b, "p", "avx512")];
        let text = Parameters::default().unified("P", &both).expect("they are alike");
        assert_eq!(text, "P_F0 a; for (P_COUNT0) P_V0(add)(x + P_LANES0); ");
        let c = of("avx512", 48, "return;");
        assert_eq!(Parameters::default().unified("P", &[both[0].clone(), tokens(&c, "p", "avx512")]), None);
    }
}
