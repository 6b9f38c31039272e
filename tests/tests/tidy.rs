//! The layering rules of `cellc/ARCHITECTURE.md` that a program can check. Rules are data; every rule is shown to fail.

use std::fs;
use std::path::{Path, PathBuf};

/// What a module of cellc must not import: (module, modules that it may import; all others are forbidden).
///
/// Modules that are not listed may import anything: they are the pipeline and the ways in and out.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("diagnostic", &["diagnostic"]),
    ("model", &["diagnostic", "model"]),
    ("kernel", &["kernel"]),
    ("arch", &["arch", "kernel"]),
    ("options", &["arch"]),
    ("front/amplifier", &["diagnostic", "front", "model"]),
    ("front/formats", &["diagnostic", "front", "model"]),
    ("front/openvino", &["diagnostic", "front", "model"]),
    ("front/declaration", &["arch", "diagnostic", "front", "model", "options"]),
    ("front/declared", &["diagnostic", "front", "model"]),
    ("front/keys", &["arch", "diagnostic", "front", "model", "options"]),
    ("front/layout", &["diagnostic", "front", "model"]),
    ("validate", &["diagnostic", "encoding", "model", "options", "validate"]),
    ("plan", &["arch", "kernel", "model", "options", "plan"]),
    ("activation", &["activation", "kernel", "model", "options"]),
    ("lower", &["arch", "kernel", "lower", "model", "options", "plan"]),
    ("pass", &["activation", "kernel", "model", "options", "pass", "plan"]),
    // what each format makes of a row of weights
    ("encoding", &["encoding", "kernel", "model", "options"]),
    ("pack", &["encoding", "kernel", "model"]),
    ("evaluate", &["evaluate", "model"]),
    ("reference", &["activation", "evaluate", "model", "reference"]),
    ("bound", &["activation", "bound", "evaluate", "model", "options", "plan", "reference"]),
    ("emit", &["arch", "emit", "kernel", "options", "pack"]),
];

/// Names that say nothing about what a file or folder holds.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "helpers", "helper", "gen", "codegen", "ir", "misc"];

/// Text that must not stand in the sources, and the files in which it may.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "isa.name ==",
        &["cellc/src/arch/mod.rs", "cellc/src/cli/check.rs"],
        "an instruction set is a table; nothing compares its name",
    ),
    ("todo!(", &[], "unfinished"),
    ("unimplemented!(", &[], "unfinished"),
    ("SystemTime", &[], "output is deterministic"),
    // counting is all that the printer does with one
    (
        "HashMap<",
        &["cellc/src/front/", "cellc/src/validate", "cellc/src/cli/", "cellc/src/kernel/print.rs"],
        "output is deterministic",
    ),
];

struct Source {
    /// From the root of the repository, with forward slashes.
    path: String,
    /// Without comments, strings and unit tests.
    code: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests stands in the repository").to_path_buf()
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("cellc/src"), root().join("cellc-macros/src"), root().join("runtime/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                let path = path.strip_prefix(root()).expect("under the root").to_string_lossy().replace('\\', "/");
                found.push(Source { code: code(&text), path });
            }
        }
    }
    assert!(found.len() > 30, "the sources have moved: {} found", found.len());
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The code of a file: no comments, and nothing after the first `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
fn code(text: &str) -> String {
    let end = ["#[cfg(test)]", "#[cfg(all(test"].iter().filter_map(|mark| text.find(mark)).min();
    let text = &text[..end.unwrap_or(text.len())];
    let line = |line: &str| match line.trim_start() {
        comment if comment.starts_with("//") => String::new(),
        _ => line.to_string(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The modules of the crate that a file names: `a` for `crate::a::b`, and each of `crate::{a, b::c}`.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // the end of another word, as in `super_crate::`
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let names = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default().split(',').map(str::trim).collect(),
            None => vec![rest],
        };
        for name in names {
            let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
            if name[..end].starts_with(|c: char| c.is_lowercase()) {
                found.push(name[..end].to_string());
            }
        }
    }
    found
}

fn layering(sources: &[Source]) -> Vec<String> {
    let mut problems = Vec::new();
    for source in sources.iter().filter(|s| !is_tests(&s.path)) {
        let Some(module) = source.path.strip_prefix("cellc/src/") else { continue };
        let rule = MAY_IMPORT
            .iter()
            .find(|(name, _)| module.strip_prefix(name).is_some_and(|rest| rest.starts_with('/') || rest == ".rs"));
        let Some((name, allowed)) = rule else { continue };
        for import in imports(&source.code) {
            if !allowed.contains(&import.as_str()) {
                problems.push(format!("{}: {name} imports {import}", source.path));
            }
        }
    }
    problems
}

fn is_tests(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn names(sources: &[Source]) -> Vec<String> {
    let empty = |path: &str| path.trim_end_matches(".rs").split('/').any(|part| EMPTY_NAMES.contains(&part));
    sources.iter().filter(|s| empty(&s.path)).map(|s| format!("{}: the name says nothing", s.path)).collect()
}

fn forbidden(sources: &[Source]) -> Vec<String> {
    let mut problems = Vec::new();
    for source in sources {
        for (text, but, why) in FORBIDDEN {
            if source.code.contains(text) && !but.iter().any(|b| source.path.starts_with(b)) {
                problems.push(format!("{}: {text} ({why})", source.path));
            }
        }
    }
    problems
}

#[test]
fn layers_import_only_what_lies_below() {
    assert_eq!(layering(&sources()), Vec::<String>::new());
}

#[test]
fn names_say_what_is_held() {
    assert_eq!(names(&sources()), Vec::<String>::new());
}

#[test]
fn nothing_forbidden_stands_in_the_sources() {
    assert_eq!(forbidden(&sources()), Vec::<String>::new());
}

#[test]
fn every_module_with_a_rule_exists() {
    let sources = sources();
    for (name, _) in MAY_IMPORT {
        let there =
            |s: &Source| s.path == format!("cellc/src/{name}.rs") || s.path.starts_with(&format!("cellc/src/{name}/"));
        assert!(sources.iter().any(there), "{name} has a rule and no file");
    }
}

#[test]
fn every_rule_can_fail() {
    let planted = |path: &str, text: &str| [Source { path: path.to_string(), code: code(text) }];
    for (name, allowed) in MAY_IMPORT {
        assert!(!allowed.contains(&"cli"));
        for text in ["use crate::cli::Thing;", "use crate::{kernel, cli::Thing};", "fn f() -> crate::cli::Thing {}"] {
            assert!(!layering(&planted(&format!("cellc/src/{name}.rs"), text)).is_empty(), "{name}: {text}");
            assert!(!layering(&planted(&format!("cellc/src/{name}/inner.rs"), text)).is_empty(), "{name}: {text}");
        }
    }
    assert!(layering(&planted("cellc/src/model/mod.rs", "/// see crate::cli\nfn f() {}")).is_empty());
    for name in EMPTY_NAMES {
        assert!(!names(&planted(&format!("cellc/src/{name}/mod.rs"), "")).is_empty());
        assert!(!names(&planted(&format!("cellc/src/{name}.rs"), "")).is_empty());
    }
    for (text, _, _) in FORBIDDEN {
        assert!(!forbidden(&planted("cellc/src/lower/mod.rs", text)).is_empty(), "{text}");
    }
}
