//! Kernels with one text for several instruction sets: functions that are generic over vector
//! types, lanes and other counts.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::dialect::KernelText;
use super::lints;
use super::vectors::Used;
use crate::emit::text_comparison::{Token, groups};

/// The places at which a text calls a function outside comments.
pub(super) fn called(text: &str, function: &str) -> Vec<usize> {
    let call = format!("{function}(");
    let is_other = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let is_call = |at: usize| {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = &text[line..at];
        !before.trim_start().starts_with("//") && !before.ends_with(is_other)
    };
    text.match_indices(&call).map(|(at, _)| at).filter(|at| is_call(*at)).collect()
}

/// The tokens of a text, in order.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match is_part(first) {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => rest.find(is_part).unwrap_or(rest.len()),
        };
        // the name of a method begins after its dot
        let end = match first {
            '.' => 1,
            _ if first.is_ascii_digit() => end,
            _ => rest[..end].find('.').unwrap_or(end),
        };
        let (word, after) = rest.split_at(end);
        let lanes = |start: &str| word.strip_prefix(start).and_then(|lanes| lanes.parse().ok());
        tokens.push(match (lanes("F32x"), lanes("U32x"), word.parse()) {
            (Some(lanes), ..) => Token::Numbers(lanes),
            (_, Some(lanes), _) => Token::Bits(lanes),
            (.., Ok(count)) => Token::Count(count),
            _ => Token::Text(word),
        });
        rest = after;
    }
    tokens
}

/// The most counts, apart from lanes, that are parameters of a generic kernel.
const MOST_COUNTS: usize = 12;

/// A kernel shared by some modules.
struct SharedKernel<'a> {
    /// By module: the index of the kernel, and the generic arguments.
    calls: BTreeMap<usize, (usize, String)>,
    kernel: &'a KernelText,
    /// True if some parameters are types of vectors.
    has_vectors: bool,
    parameters: String,
    list: String,
    body: String,
    /// The name of the function. Kernels with one name may have several texts.
    name: String,
}

/// The generic kernels of a file.
pub(super) struct Generic<'a> {
    all: Vec<SharedKernel<'a>>,
}

impl<'a> Generic<'a> {
    /// The generic kernels among the kernels of modules. Kernels that call functions in `own`,
    /// which differ between modules, are not generic.
    pub(super) fn new(modules: impl Iterator<Item = &'a [KernelText]>, own: &[&str]) -> Self {
        let is_bound =
            |kernel: &KernelText| kernel.is_bound || own.iter().any(|name| kernel.used.calls(name));
        let mut named: BTreeMap<&str, Vec<(usize, usize, &KernelText)>> = BTreeMap::new();
        for (module, kernels) in modules.enumerate() {
            for (nth, kernel) in kernels.iter().enumerate().filter(|(_, kernel)| !is_bound(kernel))
            {
                named.entry(&kernel.name).or_default().push((module, nth, kernel));
            }
        }
        let kernels = named.into_values().flat_map(|same| {
            let mut found = shared(&same);
            for (number, shared) in found.iter_mut().enumerate().skip(1) {
                shared.name = format!("{}_{}", shared.name, number + 1);
            }
            found
        });
        Self { all: kernels.collect() }
    }

    /// The path and generic arguments of a module's kernel. `None` if the kernel is not generic.
    pub(super) fn call(&self, module: usize, nth: usize) -> Option<String> {
        let of_kernel = |shared: &&SharedKernel<'_>| {
            shared.calls.get(&module).is_some_and(|(at, _)| *at == nth)
        };
        let shared = self.all.iter().find(of_kernel)?;
        let arguments = match &shared.calls[&module].1 {
            none if none.is_empty() => String::new(),
            all => format!("::<{all}>"),
        };
        Some(format!("super::kernels::{}{arguments}", shared.name))
    }

    /// The module of all generic kernels.
    pub(super) fn module<'n>(
        &self,
        used: &Used,
        functions: impl Iterator<Item = &'n str>,
    ) -> String {
        if self.all.is_empty() {
            return String::new();
        }
        let mut text = String::new();
        for SharedKernel { kernel: KernelText { doc, .. }, name, parameters, list, body, .. } in
            &self.all
        {
            // kernels compute with the bits of one lane as `u32`
            let one_lane =
                if used.has_bits() { "F32x1: Vector<1, Bits = u32>" } else { "F32x1: Vector<1>" };
            let parameters = parameters.replace("F32x1: Vector<1>", one_lane);
            let parameters =
                if parameters.is_empty() { parameters } else { format!("<{parameters}>") };
            let _ = writeln!(
                text,
                "{doc}#[inline(always)] pub(super) fn {name}{parameters}({list}) {{\n{body}}}"
            );
        }
        let (mut own, mut has_vectors) = (Used::default(), false);
        for shared in &self.all {
            own.merge(&shared.kernel.used);
            has_vectors |= shared.has_vectors;
        }
        let called: Vec<_> = functions.filter(|name| own.calls(name)).collect();
        let activations = match &called[..] {
            [] => String::new(),
            called => format!("use super::activations::{{{}}};\n", called.join(", ")),
        };
        let imported: Vec<_> = own.imported(used, has_vectors).collect();
        let lints = lints::kernels(&text);
        let imported = match &imported[..] {
            [] => String::new(),
            imported => format!("use super::vectors::{{{}}};\n", imported.join(", ")),
        };
        format!("{}{lints} mod kernels {{\n{activations}{imported}{text}}}\n", lints::SHARED)
    }
}

/// Generic kernels from kernels of one name in several modules that differ only in types and
/// counts.
fn shared<'a>(same: &[(usize, usize, &'a KernelText)]) -> Vec<SharedKernel<'a>> {
    let text = |kernel: &KernelText| {
        let list: String =
            kernel.params.iter().map(|(name, ty)| format!("{name}: {ty},")).collect();
        format!("{list}\u{1}{}", kernel.body)
    };
    let texts: Vec<_> = same.iter().map(|(.., kernel)| text(kernel)).collect();
    let tokens_of_texts: Vec<_> = texts.iter().map(|text| tokens(text)).collect();
    let alike = |group: Vec<usize>| {
        let group: Vec<_> =
            group.into_iter().map(|at| (same[at], &tokens_of_texts[at][..])).collect();
        if group.len() > 1 { generic(&group) } else { None }
    };
    groups(&tokens_of_texts).into_iter().filter_map(alike).collect()
}

/// A kernel by the indices of module and kernel, and its tokens.
type Alike<'a, 't> = ((usize, usize, &'a KernelText), &'t [Token<'t>]);

/// One generic kernel from several texts. `None` if the kernel needs more than [`MOST_COUNTS`].
fn generic<'a>(alike: &[Alike<'a, '_>]) -> Option<SharedKernel<'a>> {
    let first = alike[0].1;
    let counts =
        |at: usize| alike.iter().map(|(_, tokens)| tokens[at].number()).collect::<Vec<_>>();
    let is_same = |counts: &[usize]| counts.windows(2).all(|two| two[0] == two[1]);
    // lanes of types first: a count equal to the lanes of every instance is the same parameter
    let (mut types, mut lanes) = (Vec::<Vec<usize>>::new(), Vec::<Vec<usize>>::new());
    for (at, token) in first.iter().enumerate() {
        let by_text = counts(at);
        if matches!(token, Token::Numbers(_) | Token::Bits(_)) && !types.contains(&by_text) {
            lanes.extend((!is_same(&by_text)).then(|| by_text.clone()));
            types.push(by_text);
        }
    }
    let type_name = |all: &Vec<usize>| match lanes.iter().position(|other| other == all) {
        None => format!("F32x{}", all[0]),
        Some(0) if lanes.len() == 1 => "V".to_owned(),
        Some(at) => format!("V{at}"),
    };
    let lanes_name = |at: usize| if lanes.len() == 1 { "W".to_owned() } else { format!("W{at}") };
    let mut counts_of_text = Vec::<Vec<usize>>::new();
    let mut text = String::new();
    for (at, token) in first.iter().enumerate() {
        let by_text = counts(at);
        match token {
            Token::Text(word) | Token::Function(word, _) | Token::Kernel(word) => {
                text.push_str(word)
            }
            Token::Numbers(_) => text.push_str(&type_name(&by_text)),
            Token::Bits(_) => {
                let _ = write!(text, "{}::Bits", type_name(&by_text));
            }
            Token::Count(count) if is_same(&by_text) => {
                let _ = write!(text, "{count}");
            }
            Token::Count(_) => match lanes.iter().position(|other| *other == by_text) {
                Some(at) => text.push_str(&lanes_name(at)),
                None => {
                    let known = counts_of_text.iter().position(|other| *other == by_text);
                    let number = known.unwrap_or_else(|| {
                        counts_of_text.push(by_text);
                        counts_of_text.len() - 1
                    });
                    let _ = write!(text, "AT_ONCE{number}");
                }
            },
        }
    }
    if counts_of_text.len() > MOST_COUNTS {
        return None;
    }
    let bound = |all: &Vec<usize>| {
        let lanes = lanes
            .iter()
            .position(|other| other == all)
            .map_or_else(|| all[0].to_string(), &lanes_name);
        format!("{}: Vector<{lanes}>", type_name(all))
    };
    let parameters = types.iter().map(bound);
    let parameters =
        parameters.chain((0..lanes.len()).map(|at| format!("const {}: usize", lanes_name(at))));
    let parameters =
        parameters.chain((0..counts_of_text.len()).map(|at| format!("const AT_ONCE{at}: usize")));
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    let calls = alike.iter().enumerate().map(|(at, ((module, nth, _), _))| {
        let names = types.iter().map(|all| format!("F32x{}", all[at]));
        let counts = lanes.iter().chain(&counts_of_text).map(|all| all[at].to_string());
        (*module, (*nth, names.chain(counts).collect::<Vec<_>>().join(", ")))
    });
    let calls = calls.collect();
    let (list, body) = text.split_once('\u{1}').expect("emit: a kernel has parameters and a body");
    let (list, body) = (list.to_owned(), body.to_owned());
    let kernel = alike[0].0.2;
    let (name, has_vectors) = (kernel.name.clone(), !types.is_empty());
    Some(SharedKernel { calls, kernel, has_vectors, parameters, list, body, name })
}

#[cfg(test)]
mod tests {
    use super::{Token, tokens};

    #[test]
    fn numbers_of_other_types_are_text() {
        let found = tokens("a.load::<0, 48>(x0); 1.5; 3u32; F32x16; U32x4 _");
        let counts: Vec<_> =
            found.iter().filter(|token| matches!(token, Token::Count(_))).collect();
        assert_eq!(counts, [&Token::Count(0), &Token::Count(48)]);
        assert!(found.contains(&Token::Numbers(16)) && found.contains(&Token::Bits(4)));
        assert!(found.contains(&Token::Text("1.5")) && found.contains(&Token::Text("3u32")));
    }
}
