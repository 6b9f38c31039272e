//! Limits for the sources of the compiler: lengths and depths of functions, fields of structs,
//! columns of lines, lines that depend on features, and pointer words in doc comments. An exception
//! that no longer exceeds its limit fails the test, so the lists only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A limit, and the items that exceed it: the file under `cellc/src`, and the name of the item.
struct Limit {
    most: usize,
    exceptions: &'static [(&'static str, &'static str)],
}

const LINES_OF_A_FUNCTION: Limit = Limit {
    most: 100,
    exceptions: &[
        // tables: a row for each operation, or for each word of a text; texts of programs
        ("emit/c/dialect.rs", "operation"),
        ("harness/c.rs", "serve"),
        ("harness/rust.rs", "serve"),
    ],
};
const DEPTH_OF_A_FUNCTION: Limit = Limit { most: 6, exceptions: &[] };
/// Rows of tables have as many fields as the table has columns.
const FIELDS_OF_A_STRUCT: Limit = Limit {
    most: 16,
    exceptions: &[
        // rows of tables
        ("arch/spell/c.rs", "CVector"),
    ],
};
/// Columns of a line, and the files with wider lines: how many lines are texts of other languages,
/// rows of tables, or strings without a space.
const COLUMNS: usize = 100;
const WIDE_LINES: Limit = Limit {
    most: 0,
    exceptions: &[
        ("encoding/rows.rs", "6"),
        ("emit/weights.rs", "2"),
        ("emit/rust/vectors/macros.rs", "1"),
        ("emit/rust/vectors/joined.rs", "1"),
        ("emit/reserved.rs", "60"),
        ("emit/names.rs", "7"),
        ("emit/elements.rs", "4"),
        ("emit/c/values.rs", "1"),
        ("emit/c/dialect.rs", "1"),
        ("arch/x86/vectors.rs", "4"),
        ("arch/spell/gcc.rs", "4"),
        ("arch/x86/mod.rs", "2"),
        ("arch/x86/floor.rs", "3"),
        ("arch/riscv/mod.rs", "1"),
        ("arch/arm/mod.rs", "6"),
        ("arch/arm/declared.rs", "5"),
        ("arch/arm/loads.rs", "1"),
    ],
};
/// Lines with `cfg(feature = ..)` in all files.
const FEATURE_LINES: usize = 40;
/// Pointer words of a thousand words in the doc comments of a folder.
const POINTERS_PER_THOUSAND: usize = 30;

/// Words that stand for something named elsewhere.
const POINTERS: &[&str] = &[
    "what", "that", "those", "which", "where", "it", "these", "they", "them", "such", "whose",
    "there",
];
const POINTER_PAIRS: &[[&str; 2]] = &[["the", "same"], ["so", "many"]];

/// A source file: its path under `cellc/src`, and its text without unit tests.
struct Source {
    path: String,
    text: String,
}

/// Every source file of the compiler. Unit tests and texts of generated files are left out.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cellc/src");
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
            if path.is_dir() {
                if name != "tests" && name != "text" {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
                let path = path
                    .strip_prefix(&root)
                    .expect("under the root")
                    .to_string_lossy()
                    .replace('\\', "/");
                found.push(Source { path, text: text[..end].to_owned() });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 100, "the sources have moved: {} files", found.len());
    found
}

/// The text with comments, strings and character literals replaced by spaces, line by line.
fn blanked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = out.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let len = literal(rest, is_word).unwrap_or(0);
        if len == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..len].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[len..];
        }
    }
    out
}

/// Length in bytes of the comment or literal at the start of `text`. `None`: code.
fn literal(text: &str, behind_word: bool) -> Option<usize> {
    let ends = |from: usize, end: &str| {
        text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
    };
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(ends(2, "*/"));
    }
    let raw = text.strip_prefix('b').unwrap_or(text);
    if let (false, Some(after)) = (behind_word, raw.strip_prefix('r')) {
        let hashes = after.bytes().take_while(|&byte| byte == b'#').count();
        if after[hashes..].starts_with('"') {
            let start = text.len() - after.len() + hashes + 1;
            return Some(ends(start, &format!("\"{}", "#".repeat(hashes))));
        }
    }
    if let Some(inner) = text.strip_prefix('"') {
        let mut escaped = false;
        let end = inner.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        return Some(end.map_or(text.len(), |at| at + 2));
    }
    let inner = text.strip_prefix('\'')?;
    if let Some(escape) = inner.strip_prefix('\\') {
        let end = escape.char_indices().skip(1).find(|&(_, c)| c == '\'')?;
        return Some(end.0 + 3);
    }
    let c = inner.chars().next()?;
    inner[c.len_utf8()..].starts_with('\'').then_some(c.len_utf8() + 2)
}

/// The bytes of the block that opens at `start`, and the deepest nesting of its braces.
fn block(code: &str, start: usize) -> (usize, usize) {
    let (mut depth, mut deepest) = (0usize, 0);
    for (at, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => continue,
        }
        deepest = deepest.max(depth);
        if depth == 0 {
            return (at, deepest);
        }
    }
    (code.len(), deepest)
}

/// The places behind every occurrence of a keyword, with the name that follows it.
fn items<'c>(code: &'c str, keyword: &'static str) -> impl Iterator<Item = (usize, &'c str)> {
    code.match_indices(keyword).filter_map(move |(at, _)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let after = code[at + keyword.len()..].strip_prefix(' ')?;
        let name = &after[..after.find(|c| !is_word(c)).unwrap_or(after.len())];
        let stands_alone = !code[..at].ends_with(is_word);
        (stands_alone && !name.is_empty()).then_some((at, name))
    })
}

/// A measure of an item: its file, its name, and the number.
type Measured = (String, String, usize);

/// Lines and depth of every function.
fn functions(source: &Source) -> Vec<(Measured, Measured)> {
    let code = blanked(&source.text);
    let measure = |(at, name): (usize, &str)| {
        let mut nesting = 0i32;
        let opening = code[at..].char_indices().find(|&(_, c)| {
            nesting += i32::from("([".contains(c)) - i32::from(")]".contains(c));
            nesting == 0 && "{;".contains(c)
        });
        let (start, _) = opening.filter(|&(_, c)| c == '{')?;
        let (end, depth) = block(&code, at + start);
        let lines = code[at..end].matches('\n').count() + 1;
        let of = |number| (source.path.clone(), name.to_owned(), number);
        Some((of(lines), of(depth)))
    };
    items(&code, "fn").filter_map(measure).collect()
}

/// Fields of every struct.
fn structs(source: &Source) -> Vec<Measured> {
    let code = blanked(&source.text);
    let measure = |(at, name): (usize, &str)| {
        let start = code[at..].find(['{', ';', '('])?;
        code[at + start..].starts_with('{').then_some(())?;
        let (end, _) = block(&code, at + start);
        let is_field = |line: &&str| {
            let line = line.trim_start();
            let line = line.strip_prefix("pub").map_or(line, |rest| {
                rest.strip_prefix('(')
                    .map_or(rest, |rest| rest.split_once(')').map_or(rest, |(_, rest)| rest))
            });
            let name: &str = line.trim_start().split(':').next().unwrap_or_default();
            line.contains(':')
                && name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let fields = code[at + start + 1..end].lines().filter(is_field).count();
        Some((source.path.clone(), name.to_owned(), fields))
    };
    items(&code, "struct").filter_map(measure).collect()
}

/// The violations: items above the limit that are no exceptions, and exceptions within the limit.
fn exceeding(limit: &Limit, measured: &[Measured]) -> Vec<String> {
    let above: Vec<_> = measured.iter().filter(|(.., number)| *number > limit.most).collect();
    let known = |path: &str, name: &str| limit.exceptions.contains(&(path, name));
    let mut wrong: Vec<String> = Vec::new();
    for (path, name, number) in above.iter().filter(|(path, name, _)| !known(path, name)) {
        wrong.push(format!("{path}: {name} has {number}, at most {}", limit.most));
    }
    let found: BTreeSet<_> = above.iter().map(|(path, name, _)| (&path[..], &name[..])).collect();
    for exception in limit.exceptions.iter().filter(|exception| !found.contains(*exception)) {
        wrong.push(format!("{exception:?} is within the limit: remove the exception"));
    }
    wrong
}

/// The words and the pointer words of doc comments.
fn pointers(text: &str) -> (usize, usize) {
    let mut comment = String::new();
    for line in text.lines() {
        let line = line.trim_start();
        if let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            comment.push_str(doc);
        } else {
            comment.push('\n');
        }
        comment.push(' ');
    }
    let (mut words, mut found) = (0, 0);
    for block in comment.split('\n') {
        let prose: String =
            block.split('`').step_by(2).collect::<Vec<_>>().join(" CODE ").to_lowercase();
        let all: Vec<&str> = prose
            .split(|c: char| !(c.is_ascii_alphabetic() || c == '\''))
            .filter(|word| !word.is_empty())
            .collect();
        words += all.len();
        found += all.iter().filter(|word| POINTERS.contains(word)).count();
        found +=
            all.windows(2).filter(|pair| POINTER_PAIRS.iter().any(|known| known == *pair)).count();
    }
    (words, found)
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn functions_are_short_and_flat() {
    let (lines, depths): (Vec<_>, Vec<_>) = sources().iter().flat_map(functions).unzip();
    assert_eq!(exceeding(&LINES_OF_A_FUNCTION, &lines), none());
    assert_eq!(exceeding(&DEPTH_OF_A_FUNCTION, &depths), none());
}

#[test]
fn structs_have_few_fields() {
    let fields: Vec<_> = sources().iter().flat_map(structs).collect();
    assert_eq!(exceeding(&FIELDS_OF_A_STRUCT, &fields), none());
}

#[test]
fn two_files_fit_side_by_side() {
    let wide = |source: &Source| {
        let lines = source.text.lines().filter(|line| line.chars().count() > COLUMNS).count();
        (source.path.clone(), lines.to_string(), lines)
    };
    let measured: Vec<_> = sources().iter().map(wide).collect();
    assert_eq!(exceeding(&WIDE_LINES, &measured), none());
}

#[test]
fn few_lines_depend_on_features() {
    let depends = |line: &&str| {
        let at = line.find("cfg(").or_else(|| line.find("cfg_attr("));
        at.is_some_and(|at| line[at..].contains("feature"))
    };
    let lines: usize =
        sources().iter().map(|source| source.text.lines().filter(depends).count()).sum();
    assert!(lines <= FEATURE_LINES, "{lines} lines depend on features, at most {FEATURE_LINES}");
}

#[test]
fn doc_comments_name_things() {
    let mut folders: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    // generated files contain the text of `encoding/rows.rs`
    for source in sources().iter().filter(|source| source.path != "encoding/rows.rs") {
        let folder = source.path.split_once('/').map_or("", |(folder, _)| folder);
        let (words, found) = pointers(&source.text);
        let sum = folders.entry(folder.to_owned()).or_default();
        *sum = (sum.0 + words, sum.1 + found);
    }
    for (folder, (words, found)) in folders {
        let most = words * POINTERS_PER_THOUSAND / 1000;
        assert!(found <= most, "{folder}: {found} pointer words of {words}, at most {most}");
    }
}

#[test]
fn every_limit_can_fail() {
    let bare = |limit: &Limit| Limit { most: limit.most, exceptions: &[] };
    let source = |text: &str| Source { path: "a.rs".to_owned(), text: text.to_owned() };
    let long = source(&format!("fn short() {{}}\nfn long() {{\n{}}}\n", "    // }\n".repeat(119)));
    let lines: Vec<_> = functions(&long).into_iter().map(|(lines, _)| lines).collect();
    assert_eq!(exceeding(&bare(&LINES_OF_A_FUNCTION), &lines).len(), 1, "{lines:?}");
    let deep = source("fn deep(x: [u8; { 1 }]) { { { { { { { \"}\" } } } } } } }");
    assert_eq!(functions(&deep)[0].1.2, 7);
    let wide =
        source(&format!("struct Wide {{\n{}}}", "    pub(super) a: char, // b: c\n".repeat(17)));
    assert_eq!(exceeding(&bare(&FIELDS_OF_A_STRUCT), &structs(&wide)).len(), 1);
    assert_eq!(pointers("/// What it is.\nfn f() {}\n/// The same `that`\n/// number."), (7, 3));
    assert_eq!(blanked("a('\\'', r#\"\"}\"#, '{') /**/"), "a(    ,        ,    )     ");
    let stale = Limit { most: 1, exceptions: &[("a.rs", "gone")] };
    assert_eq!(exceeding(&stale, &[]).len(), 1);
}
