//! Kernels and activations with one text for several instruction sets. The file includes itself for
//! each instance, with macros for vector types, the attribute, and different counts.
//!
//! Printed texts are compared token by token. Any number of a text may differ between instruction
//! sets: an offset, a bound, a stride, the lanes in a name. The printing of one instruction set
//! cannot tell which numbers differ, and a record of the numbers would repeat the whole text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::attribute;
use crate::arch::{Calls, Isa};
use crate::emit::text_comparison::{Token, are_alike, groups};

/// The kernels and functions of an instruction set.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a> {
    pub(super) isa: &'static Isa,
    pub(super) kernels: &'a [Definition],
    pub(super) functions: &'a [Definition],
}

/// A kernel, or a function for a number of lanes.
pub(super) struct Definition {
    pub(super) name: String,
    /// 0 for a kernel.
    pub(super) lanes: usize,
    pub(super) text: String,
}

/// The macro for the linkage and the attribute of a shared function.
pub(super) fn target(prefix: &str) -> String {
    format!("{}_TARGET", prefix.to_ascii_uppercase())
}

/// The tokens of an instruction set's text, in order. A comment is one token.
fn tokens<'t>(text: &'t str, prefix: &str, isa: &str) -> Vec<Token<'t>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            '/' => 1,
            _ if is_part(first) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            _ => rest.find(|c| is_part(c) || c == '/').unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        tokens.push(token(word, prefix, isa));
        rest = after;
    }
    tokens
}

/// The token of a word.
fn token<'t>(word: &'t str, prefix: &str, isa: &str) -> Token<'t> {
    if let Ok(count) = word.parse() {
        return Token::Count(count);
    }
    let Some(own) = word.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')) else {
        return Token::Text(word);
    };
    let of_bits =
        own.strip_suffix("_bits").and_then(|own| own.strip_suffix(isa)?.strip_suffix('_'));
    let Some(name) = of_bits.or_else(|| own.strip_suffix(isa)?.strip_suffix('_')) else {
        return Token::Text(word);
    };
    let (function, lanes) =
        name.rsplit_once('_').map_or(("", name), |(function, lanes)| (function, lanes));
    match (lanes.strip_prefix("f32x").and_then(|lanes| lanes.parse().ok()), function, of_bits) {
        (Some(lanes), "", None) => Token::Numbers(lanes),
        (Some(lanes), "", Some(_)) => Token::Bits(lanes),
        (Some(lanes), function, None) => Token::Function(function, lanes),
        (None, _, None) => Token::Kernel(name),
        _ => Token::Text(word),
    }
}

/// Values of the macros for lanes and counts: one list per macro, with one value per instance.
#[derive(Default)]
struct Parameters {
    lanes: Vec<Vec<usize>>,
    counts: Vec<Vec<usize>>,
    /// True for activations: their one type has macros without a number.
    is_unnumbered: bool,
}

/// The index of a list in `all`. Appends a missing list.
fn position(key: Vec<usize>, all: &mut Vec<Vec<usize>>) -> usize {
    all.iter().position(|known| *known == key).unwrap_or_else(|| {
        all.push(key);
        all.len() - 1
    })
}

impl Parameters {
    /// The shared text of all instances. `None` if the instances differ in more than names and
    /// numbers.
    fn unified(&mut self, upper: &str, instances: &[Vec<Token<'_>>]) -> Option<String> {
        let (first, others) = instances.split_first()?;
        if !others.iter().all(|other| are_alike(first, other)) {
            return None;
        }
        // lanes first: a count equal to the lanes of every instance is the same parameter
        let numbers =
            |at: usize| instances.iter().map(|tokens| tokens[at].number()).collect::<Vec<_>>();
        for (at, token) in first.iter().enumerate() {
            if matches!(token, Token::Numbers(_) | Token::Bits(_) | Token::Function(..)) {
                position(numbers(at), &mut self.lanes);
            }
        }
        let mut text = String::new();
        for (at, token) in first.iter().enumerate() {
            let by_instance = numbers(at);
            let is_same = by_instance.windows(2).all(|two| two[0] == two[1]);
            let mut ty = |by_instance| {
                let at = position(by_instance, &mut self.lanes);
                self.number(at)
            };
            let _ = match token {
                Token::Text(word) => write!(text, "{word}"),
                Token::Kernel(name) => write!(text, "{upper}_NAME({name})"),
                Token::Numbers(_) => write!(text, "{upper}_F{}", ty(by_instance)),
                Token::Bits(_) => write!(text, "{upper}_U{}", ty(by_instance)),
                Token::Function(name, _) => write!(text, "{upper}_V{}({name})", ty(by_instance)),
                Token::Count(count) if is_same => write!(text, "{count}"),
                Token::Count(_) => {
                    match self.lanes.iter().position(|lanes| *lanes == by_instance) {
                        Some(at) => write!(text, "{upper}_LANES{}", self.number(at)),
                        None => {
                            write!(text, "{upper}_COUNT{}", position(by_instance, &mut self.counts))
                        }
                    }
                }
            };
        }
        Some(text)
    }

    /// The end of the names of a type's macros.
    fn number(&self, at: usize) -> String {
        if self.is_unnumbered { String::new() } else { at.to_string() }
    }

    /// True if instances differ in one type only.
    fn is_type(&self) -> bool {
        self.lanes.len() == 1 && self.counts.is_empty()
    }

    /// The macros with different values per instance that a text uses, directly or by names of
    /// types: name, and value per instance.
    fn differing(&self, upper: &str, text: &str) -> Vec<(String, &[usize])> {
        let words = words(text);
        let is_used = |names: &[String]| names.iter().any(|name| words.contains(name.as_str()));
        // the macro for lanes selects the section of activations, and is therefore always defined
        let differs = |numbers: &[usize]| {
            self.is_unnumbered || numbers.windows(2).any(|two| two[0] != two[1])
        };
        let lanes =
            self.lanes.iter().enumerate().filter(|(_, lanes)| differs(lanes)).map(|(at, lanes)| {
                let macro_name = |kind: &str| format!("{upper}_{kind}{}", self.number(at));
                (
                    macro_name("LANES"),
                    is_used(&["LANES", "F", "U", "V"].map(macro_name)),
                    &lanes[..],
                )
            });
        let counts = self.counts.iter().enumerate().map(|(at, counts)| {
            let name = format!("{upper}_COUNT{at}");
            let is_used = is_used(std::slice::from_ref(&name));
            (name, is_used, &counts[..])
        });
        lanes
            .chain(counts)
            .filter(|(_, is_used, _)| *is_used)
            .map(|(name, _, numbers)| (name, numbers))
            .collect()
    }

    /// Definitions of macros for the types, bits and functions that a text uses, composed of lanes
    /// and instruction set.
    fn types(&self, prefix: &str, text: &str) -> Vec<(String, String)> {
        let (upper, words) = (prefix.to_ascii_uppercase(), words(text));
        let mut definitions = Vec::new();
        for (at, lanes) in self.lanes.iter().enumerate() {
            let number = self.number(at);
            let is_same = lanes.windows(2).all(|two| two[0] == two[1]);
            let lanes = if is_same && !self.is_unnumbered {
                lanes[0].to_string()
            } else {
                format!("{upper}_LANES{number}")
            };
            for (name, parameter, begin, end) in [
                ("F", "", format!("{prefix}_f32x"), ""),
                ("U", "", format!("{prefix}_f32x"), "_bits"),
                ("V", "(name)", format!("{prefix}_##name##_f32x"), ""),
            ] {
                let name = format!("{upper}_{name}{number}");
                if words.contains(name.as_str()) {
                    let value = format!("{upper}_PASTED({begin}, {lanes}, {upper}_ISA, {end})");
                    definitions.push((name + parameter, value));
                }
            }
        }
        definitions
    }
}

/// The words of a text.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect()
}

/// Texts included for several instances: vector types for activations, instruction sets for
/// kernels.
#[derive(Default)]
struct SharedText {
    isas: Vec<&'static Isa>,
    /// The lanes of each instance of the activations.
    lanes: Vec<usize>,
    parameters: Parameters,
    /// Names and texts.
    texts: Vec<(String, String)>,
}

impl SharedText {
    /// The texts, concatenated.
    fn text(&self) -> String {
        self.texts.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The instruction set and the lanes of each instance of the activations.
    fn instances(&self) -> impl Iterator<Item = (&'static Isa, usize)> {
        self.isas.iter().copied().zip(self.lanes.iter().copied())
    }

    fn has(&self, name: &str) -> bool {
        self.texts.iter().any(|(known, _)| known == name)
    }

    /// The included section of the file: definitions of names, the texts, and an `#undef` for each
    /// macro that differs between inclusions, and for `ends`. With several sections of kernels
    /// (`is_one_of`), also for each macro of a type.
    fn section(&self, prefix: &str, is_one_of: bool, ends: &[String]) -> String {
        let (upper, text) = (prefix.to_ascii_uppercase(), self.text());
        let mut names = self.parameters.types(prefix, &text);
        let given = self.parameters.differing(&upper, &text).into_iter().map(|(name, _)| name);
        let name_of = |(name, _): &(String, String)| {
            name.split('(').next().unwrap_or(name.as_str()).to_owned()
        };
        let first_names: Vec<_> =
            if is_one_of { names.iter().map(name_of).collect() } else { Vec::new() };
        let ended = given.chain(first_names).chain(ends.iter().cloned());
        let ended: String = ended.map(|name| format!("#undef {name}\n")).collect();
        if words(&text).contains(format!("{upper}_NAME").as_str()) {
            let value = format!("{upper}_PASTED({prefix}_##name, , {upper}_ISA, )");
            names.push((format!("{upper}_NAME(name)"), value));
        }
        let defined: String =
            names.iter().map(|(name, value)| format!("#define {name} {value}\n")).collect();
        let space = if ended.is_empty() { "" } else { "\n" };
        format!("{defined}{text}{space}{ended}")
    }
}

/// The macros of a body for its included sections, with their values.
#[derive(Default)]
pub(super) struct Defined {
    values: BTreeMap<String, String>,
}

impl Defined {
    /// Defines a macro unless the macro already has the value.
    fn define(&mut self, out: &mut String, name: String, value: String) {
        match self.values.get(&name) {
            Some(known) if *known == value => return,
            Some(_) => _ = writeln!(out, "#undef {name}"),
            None => {}
        }
        _ = writeln!(out, "{}", format!("#define {name} {value}").trim_end());
        self.values.insert(name, value);
    }

    /// Ends the macros, after the last section of a body.
    pub(super) fn end(&self) -> String {
        self.values.keys().map(|name| format!("#undef {name}\n")).collect()
    }
}

/// The shared texts of a file.
#[derive(Default)]
pub(super) struct SharedTexts {
    prefix: String,
    activations: SharedText,
    /// Kernels: one part for each group of instruction sets.
    kernels: Vec<SharedText>,
}

impl SharedTexts {
    /// Finds the kernels and activations shared by these bodies.
    pub(super) fn new<'a>(prefix: &str, bodies: impl Iterator<Item = Pieces<'a>>) -> Self {
        let bodies: Vec<_> = bodies.collect();
        let mut once = Self { prefix: prefix.to_owned(), ..Self::default() };
        if bodies.len() > 1 {
            once.share_kernels(&bodies);
            once.share_activations(&bodies);
        }
        once
    }

    /// Finds, for each kernel, the bodies with equal texts apart from names and numbers.
    fn share_kernels(&mut self, bodies: &[Pieces<'_>]) {
        let upper = self.upper();
        for name in named(bodies.iter().flat_map(|body| body.kernels)) {
            let kernels =
                bodies.iter().flat_map(|body| body.kernels.iter().map(|kernel| (body.isa, kernel)));
            let (isas, texts): (Vec<_>, Vec<_>) = kernels
                .filter(|(_, kernel)| kernel.name == name)
                .map(|(isa, kernel)| (isa, tokens(&kernel.text, &self.prefix, isa.name)))
                .unzip();
            for group in groups(&texts).into_iter().filter(|group| group.len() > 1) {
                let (isas, texts): (Vec<_>, Vec<_>) =
                    group.iter().map(|at| (isas[*at], texts[*at].clone())).unzip();
                if name == RUN && !self.has_all_kernels(bodies, &isas) {
                    continue;
                }
                let at =
                    self.kernels.iter().position(|part| part.isas == isas).unwrap_or_else(|| {
                        self.kernels.push(SharedText { isas, ..SharedText::default() });
                        self.kernels.len() - 1
                    });
                let part = &mut self.kernels[at];
                let target = target(&self.prefix);
                let text = part
                    .parameters
                    .unified(&upper, &texts)
                    .map(|text| without_empty_hints(&text, &upper));
                part.texts.extend(text.map(|text| {
                    (name.to_owned(), text.replace(&target, &format!("static {target}")))
                }));
            }
        }
    }

    /// True if one part has all kernels of these instruction sets. The function that runs the
    /// kernels can then follow the part.
    fn has_all_kernels(&self, bodies: &[Pieces<'_>], isas: &[&'static Isa]) -> bool {
        let part = self.kernels.iter().find(|part| part.isas == isas);
        let kernels = bodies
            .iter()
            .filter(|body| isas.contains(&body.isa))
            .flat_map(|body| body.kernels)
            .filter(|piece| piece.name != RUN);
        part.is_some_and(|part| kernels.into_iter().all(|piece| part.has(&piece.name)))
    }

    /// Finds the activations with texts that differ in the type only. Every type gets every shared
    /// activation, used or not.
    fn share_activations(&mut self, bodies: &[Pieces<'_>]) {
        let upper = self.upper();
        let functions =
            || bodies.iter().flat_map(|body| body.functions.iter().map(|one| (body.isa, one)));
        for name in named(functions().map(|(_, one)| one)) {
            let same = functions().filter(|(_, one)| one.name == name);
            let same: Vec<_> =
                same.map(|(isa, one)| tokens(&one.text, &self.prefix, isa.name)).collect();
            let mut parameters = Parameters { is_unnumbered: true, ..Parameters::default() };
            let text = parameters
                .unified(&upper, &same)
                .filter(|_| same.len() > 1 && parameters.is_type());
            let text = text.map(|text| without_empty_hints(&text, &upper));
            self.activations.texts.extend(text.map(|text| (name.to_owned(), text)));
        }
        let mut types: Vec<(&'static Isa, usize)> = Vec::new();
        for (isa, one) in functions() {
            if !types.contains(&(isa, one.lanes)) {
                types.push((isa, one.lanes));
            }
        }
        (self.activations.isas, self.activations.lanes) = types.into_iter().unzip();
        self.activations.parameters.is_unnumbered = true;
        self.activations.parameters.lanes.push(self.activations.lanes.clone());
        let (target, linkage) = (target(&self.prefix), self.linkage());
        for (_, text) in &mut self.activations.texts {
            *text = text.replace(&target, &format!("{linkage} {target}"));
        }
    }

    /// The linkage of shared activations: a macro if instances differ.
    fn linkage(&self) -> String {
        let linkages = self.activations.instances().map(|(isa, lanes)| self.linked(isa, lanes));
        let linkages: BTreeSet<_> = linkages.collect();
        match linkages.into_iter().collect::<Vec<_>>().as_slice() {
            [one] => one.clone(),
            _ => self.upper() + "_LINKAGE",
        }
    }

    /// The macros that end with the section of the kernels. Empty if a body may include another
    /// section after the kernels.
    fn ends(&self) -> Vec<String> {
        let [kernels] = &self.kernels[..] else { return Vec::new() };
        if !self.activations.isas.iter().all(|isa| kernels.isas.contains(isa)) {
            return Vec::new();
        }
        let linkage = Some(self.linkage()).filter(|linkage| linkage.ends_with("_LINKAGE"));
        let macros = [self.upper() + "_ISA", target(&self.prefix)];
        macros.into_iter().chain(linkage).collect()
    }

    fn upper(&self) -> String {
        self.prefix.to_ascii_uppercase()
    }

    fn is_empty(&self) -> bool {
        self.activations.texts.is_empty() && self.kernels.is_empty()
    }

    /// The activations of an instruction set: its own texts, and the lines that include shared
    /// texts.
    pub(super) fn functions(
        &self,
        isa: &'static Isa,
        own: &[Definition],
        defined: &mut Defined,
    ) -> String {
        let shares = self.activations.isas.contains(&isa);
        let mut out = self
            .own(isa, own.iter().filter(|piece| !(shares && self.activations.has(&piece.name))));
        if shares && !self.activations.texts.is_empty() {
            self.include(&mut out, (isa, defined), None, &self.activations);
        }
        out
    }

    /// The kernels of an instruction set: lines that include shared texts, then other texts.
    pub(super) fn kernels(
        &self,
        isa: &'static Isa,
        own: &[Definition],
        defined: &mut Defined,
    ) -> String {
        let mut out = String::new();
        let parts = || self.kernels.iter().enumerate().filter(|(_, part)| part.isas.contains(&isa));
        for (at, part) in parts() {
            let number = Some(at + 1).filter(|_| self.kernels.len() > 1);
            self.include(&mut out, (isa, defined), number, part);
        }
        if self.ends().is_empty() {
            out += &defined.end();
        }
        out + &self
            .own(isa, own.iter().filter(|piece| !parts().any(|(_, part)| part.has(&piece.name))))
    }

    /// The linkage of a function for a number of lanes, or of a kernel: 0 lanes.
    fn linked(&self, isa: &Isa, lanes: usize) -> String {
        match lanes {
            0 => "static".to_owned(),
            1 if isa.code.calls != Calls::Inlined => self.upper() + "_CALLED",
            _ => self.upper() + "_INLINE",
        }
    }

    /// Texts of one instruction set.
    fn own<'a>(&self, isa: &Isa, pieces: impl Iterator<Item = &'a Definition>) -> String {
        let (upper, target) = (self.upper(), target(&self.prefix));
        // a call takes longer than a function of one statement, which is therefore inlined
        let linked = |piece: &Definition| match (piece.lanes, piece.text.matches(';').count()) {
            (1, 0..=1) => self.linked(isa, usize::MAX),
            (lanes, _) => self.linked(isa, lanes),
        };
        let attribute = attribute(&self.prefix, isa);
        let with_attribute =
            |piece: &Definition| format!("{} {attribute}", linked(piece)).trim_end().to_owned();
        pieces
            .map(|piece| {
                without_empty_hints(&piece.text.replace(&target, &with_attribute(piece)), &upper)
            })
            .collect()
    }

    /// Includes a section of the file for all its instances of an instruction set. `number`: the
    /// number of the section, if the file has several sections of kernels.
    fn include(
        &self,
        out: &mut String,
        (isa, defined): (&'static Isa, &mut Defined),
        number: Option<usize>,
        part: &SharedText,
    ) {
        let upper = self.upper();
        let differing = part.parameters.differing(&upper, &part.text());
        if !part.lanes.is_empty() {
            out.push('\n');
        }
        if let Some(number) = number {
            defined.define(out, format!("{upper}_PART"), number.to_string());
        }
        for (at, _) in part.isas.iter().enumerate().filter(|(_, known)| **known == isa) {
            defined.define(out, format!("{upper}_ISA"), isa.name.to_owned());
            defined.define(out, target(&self.prefix), attribute(&self.prefix, isa));
            if let (Some(lanes), true) = (part.lanes.get(at), self.linkage().ends_with("_LINKAGE"))
            {
                defined.define(out, upper.clone() + "_LINKAGE", self.linked(isa, *lanes));
            }
            for (name, numbers) in &differing {
                let _ = writeln!(out, "#define {name} {}", numbers[at]);
            }
            let _ = writeln!(out, "#include {upper}_FILE");
        }
    }

    /// The end of the file.
    pub(super) fn end(&self) -> &'static str {
        if self.is_empty() { "" } else { "#endif\n" }
    }

    /// The sections that the file includes.
    pub(super) fn text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let upper = self.upper();
        let is_one_of = self.kernels.len() > 1;
        let condition = |number: usize| match is_one_of {
            true => format!("defined({upper}_PART) && {upper}_PART == {number}"),
            false => format!("defined({upper}_ISA)"),
        };
        let ends = self.ends();
        let numbered =
            self.kernels.iter().enumerate().map(|(at, part)| {
                (condition(at + 1), part.section(&self.prefix, is_one_of, &ends))
            });
        let activations = Some(&self.activations).filter(|part| !part.texts.is_empty());
        let activations = activations.map(|part| {
            (format!("defined({upper}_LANES)"), part.section(&self.prefix, false, &[]))
        });
        let sections = activations.into_iter().chain(numbered).enumerate();
        let sections = sections.map(|(at, (condition, section))| {
            let word = if at == 0 { "if" } else { "elif" };
            format!("#{word} {condition}\n{section}")
        });
        let sections: String = sections.collect();
        format!(
            "\n/* This file includes itself for each instruction set: the activations once for\n \
             * each type of vectors, then the kernels. Each part stands here once. Its macros:\n \
             *   F, F0, F1, ..: types of values; U, U0, ..: types of their bits\n \
             *   V(f), V0(f), ..: the function f on such values\n \
             *   LANES, LANES0, ..: numbers in a value; COUNT0, ..: other counts\n \
             *   NAME: kernels; TARGET: the attribute of functions */\n\
             {sections}#else /* the file proper */\n"
        )
    }

    /// The macro for the name with which the file includes itself. A renamed file works if the
    /// compiler has `__FILE_NAME__`.
    pub(super) fn own_name(&self, stem: &str) -> String {
        if self.is_empty() {
            return String::new();
        }
        let upper = self.upper();
        let macro_name = format!("{upper}_FILE");
        format!(
            "\n/* This file, which includes itself. */\n\
             #if !defined({macro_name}) && defined(__FILE_NAME__)\n\
             #define {macro_name} __FILE_NAME__\n#elif !defined({macro_name})\n\
             #define {macro_name} \"{stem}.c\"\n#endif\n\
             #define {upper}_PASTE(begin, lanes, isa, end) begin##lanes##_##isa##end\n\
             #define {upper}_PASTED(begin, lanes, isa, end) {upper}_PASTE(begin, lanes, isa, end)\n"
        )
    }
}

/// The names of pieces, each once.
fn named<'a>(pieces: impl Iterator<Item = &'a Definition>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for piece in pieces {
        if !names.contains(&&*piece.name) {
            names.push(&*piece.name);
        }
    }
    names
}

/// The name of the function that runs the kernels of a body.
pub(super) const RUN: &str = "run";

/// A text without hints that change nothing: an unroll factor of 1, sums that may stay in
/// registers.
fn without_empty_hints(text: &str, upper: &str) -> String {
    let (unrolled, kept) = (format!("{upper}_UNROLL(1)"), format!("{upper}_KEPT(0, "));
    let has_effect = |line: &&str| line.trim() != unrolled && !line.trim().starts_with(&kept);
    text.lines().filter(has_effect).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Parameters, Token, tokens};

    #[test]
    fn names_of_an_instruction_set_are_parameters() {
        let all = tokens(
            "/* 8 */ p_f32x8_avx2 x = p_mul_add_f32x16_avx2(a0, 4, 2.0f); p_cell0_avx2(y / 3u);",
            "p",
            "avx2",
        );
        assert_eq!(all[0], Token::Text("/* 8 */"));
        for token in [
            Token::Numbers(8),
            Token::Function("mul_add", 16),
            Token::Count(4),
            Token::Kernel("cell0"),
        ] {
            assert!(all.contains(&token), "{token:?}");
        }
        assert!(["a0", "2.0f", "3u"].iter().all(|word| all.contains(&Token::Text(word))));
        assert_eq!(
            tokens("p_f32x8_avx2_bits q_f32x8_avx2 p_f32x8", "p", "avx2")[0],
            Token::Bits(8)
        );
    }

    #[test]
    fn texts_that_differ_in_types_and_counts_are_one() {
        let piece = |isa: &'static str, lanes: usize, other: &str| {
            format!(
                "p_f32x{lanes}_{isa} a; for ({}) p_add_f32x{lanes}_{isa}(x + {lanes}); {other}",
                48 / lanes
            )
        };
        let [a, b] = [piece("avx2", 16, ""), piece("avx512", 48, "")];
        let instances = [tokens(&a, "p", "avx2"), tokens(&b, "p", "avx512")];
        let text = Parameters::default().unified("P", &instances).expect("they are alike");
        assert_eq!(text, "P_F0 a; for (P_COUNT0) P_V0(add)(x + P_LANES0); ");
        let c = piece("avx512", 48, "return;");
        assert_eq!(
            Parameters::default().unified("P", &[instances[0].clone(), tokens(&c, "p", "avx512")]),
            None
        );
    }
}
