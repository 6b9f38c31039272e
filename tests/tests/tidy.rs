//! The layering rules of `docs/design.md` that a program can check. Rules are data; every rule is
//! shown to fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The imports of modules: (module, modules that it may import). All other imports of these modules
/// are forbidden.
///
/// Modules that are not listed may import anything: they are the pipeline, the readers and the
/// interfaces.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("diagnostic", &["diagnostic"]),
    ("model", &["diagnostic", "model"]),
    ("core", &["core", "model"]),
    ("kernel", &["kernel"]),
    ("arch", &["arch", "kernel"]),
    ("request", &["arch", "diagnostic", "model", "request"]),
    ("numerics", &["core", "encoding", "kernel", "math", "model", "numerics", "request"]),
    ("front/amplifier", &["diagnostic", "front", "math", "model"]),
    ("front/formats", &["diagnostic", "front", "model", "request"]),
    ("front/apple", &["diagnostic", "front", "model"]),
    ("front/graph", &["diagnostic", "front", "model"]),
    ("front/layout", &["diagnostic", "front", "model"]),
    ("front/safetensors", &["diagnostic", "front", "model"]),
    ("front/layer", &["diagnostic", "front", "model"]),
    ("front/weights", &["diagnostic", "front", "model"]),
    ("front/stack", &["diagnostic", "front", "model"]),
    ("front/weights_file", &["diagnostic", "front", "model"]),
    ("front/openvino", &["diagnostic", "front", "model"]),
    ("front/declaration", &["arch", "core", "diagnostic", "front", "model", "request"]),
    ("front/declared", &["diagnostic", "front", "model"]),
    ("front/keys", &["arch", "diagnostic", "front", "model", "request"]),
    (
        "check",
        &[
            "check",
            "core",
            "diagnostic",
            "encoding",
            "model",
            "numerics",
            "request",
            "rules",
            "stream",
        ],
    ),
    ("rules", &["core", "diagnostic", "model", "request", "rules"]),
    (
        "translate",
        &["core", "diagnostic", "encoding", "math", "model", "request", "rules", "translate"],
    ),
    ("stream", &["core", "model", "stream"]),
    // the explanation reads facts about compilers
    (
        "plan/explain",
        &["arch", "emit", "encoding", "kernel", "model", "numerics", "plan", "request"],
    ),
    ("plan", &["arch", "core", "encoding", "kernel", "model", "numerics", "plan", "request"]),
    ("math", &["kernel", "math", "model", "request"]),
    (
        "lower",
        &["arch", "core", "encoding", "kernel", "lower", "model", "numerics", "plan", "request"],
    ),
    ("pass", &["arch", "core", "kernel", "math", "model", "pack", "pass", "plan", "request"]),
    // the encodings of a row of weights
    ("encoding", &["encoding", "kernel", "model", "request"]),
    ("pack", &["core", "encoding", "kernel", "model", "pack"]),
    ("evaluate", &["core", "evaluate", "model"]),
    (
        "reference",
        &["core", "encoding", "evaluate", "math", "model", "numerics", "reference", "request"],
    ),
    (
        "bound",
        &[
            "bound",
            "core",
            "encoding",
            "evaluate",
            "math",
            "model",
            "numerics",
            "reference",
            "request",
        ],
    ),
    // descriptions of a compilation
    ("summary", &["core", "model", "request"]),
    (
        "header",
        &[
            "bound", "core", "emit", "encoding", "free_run", "header", "math", "model", "numerics",
            "plan", "request", "summary",
        ],
    ),
    (
        "description",
        &[
            "core", "emit", "estimate", "header", "kernel", "model", "numerics", "pack", "plan",
            "request",
        ],
    ),
    (
        "free_run",
        &[
            "bound",
            "core",
            "encoding",
            "free_run",
            "kernel",
            "numerics",
            "pack",
            "random",
            "reference",
            "request",
        ],
    ),
    ("estimate", &["arch", "core", "emit", "estimate", "kernel", "pack", "plan"]),
    (
        "report",
        &[
            "arch",
            "compile",
            "core",
            "encoding",
            "estimate",
            "kernel",
            "lower",
            "model",
            "numerics",
            "pass",
            "plan",
            "report",
            "request",
            "temporary",
        ],
    ),
    (
        "model_names",
        &["core", "diagnostic", "emit", "kernel", "lower", "model", "model_names", "request"],
    ),
    ("timing", &["arch", "core", "timing"]),
    (
        "harness",
        &[
            "compile",
            "diagnostic",
            "emit",
            "evaluate",
            "harness",
            "kernel",
            "model",
            "request",
            "temporary",
        ],
    ),
    ("temporary", &["temporary"]),
    ("emit", &["arch", "emit", "encoding", "kernel", "pack", "request"]),
];

/// The tools around the compiler, which only tools may import.
const TOOLS: &[&str] = &["cli", "harness", "playground", "report", "timing"];

/// Names that do not describe the content of a file or folder.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "common", "helpers", "helper", "gen", "codegen", "ir", "misc"];

/// Texts that must not be in the sources, and the files in which they may be.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    (
        "isa.name ==",
        &["cellc/src/arch/mod.rs", "cellc/src/cli/check/mod.rs"],
        "an instruction set is a table; nothing compares its name",
    ),
    ("x86", ARCH, "what an architecture is called and has stands in arch/"),
    ("cpuid", ARCH, "how a processor is asked stands in arch/"),
    ("avx", ARCH, "an instruction set is a row"),
    ("AVX", ARCH, "an instruction set is a row"),
    ("target_arch", ARCH, "what an architecture is called stands in arch/"),
    ("__aarch64__", ARCH, "what an architecture is called stands in arch/"),
    ("todo!(", &[], "unfinished"),
    ("unimplemented!(", &[], "unfinished"),
    ("let own ", &[], NAME_OF_A_LOCAL),
    ("let mut own ", &[], NAME_OF_A_LOCAL),
    ("let of ", &[], NAME_OF_A_LOCAL),
    ("let mut of ", &[], NAME_OF_A_LOCAL),
    ("SystemTime", &[], "output is deterministic"),
    // the printer uses a hash map for counting only
    (
        "HashMap<",
        &[
            "cellc/src/front/",
            "cellc/src/check",
            "cellc/src/rules/",
            "cellc/src/translate",
            "cellc/src/stream/",
            "cellc/src/cli/",
            "cellc/src/kernel/print.rs",
        ],
        "output is deterministic",
    ),
];

/// The name of a local variable is a noun, not a relation.
const NAME_OF_A_LOCAL: &str = "a local variable names what it holds";

/// Where architectures may be named: in their room, and in examples for users.
/// In the table of hints, too: compilers differ by architecture.
const ARCH: &[&str] = &[
    "cellc/src/arch/",
    "cellc/src/cli/arguments.rs",
    "cellc/src/emit/hints.rs",
    "cellc/src/front/keys/",
];

#[derive(Clone)]
struct Source {
    /// The path from the root of the repository, with forward slashes.
    path: String,
    /// The code without comments, strings and unit tests.
    code: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests stands in the repository")
        .to_path_buf()
}

fn sources() -> Vec<Source> {
    let found = sources_in(&["cellc/src", "cellc-macros/src", "runtime/src"]);
    assert!(found.len() > 30, "the sources have moved: {} found", found.len());
    found
}

fn sources_in(folders: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                let path = path
                    .strip_prefix(root())
                    .expect("under the root")
                    .to_string_lossy()
                    .replace('\\', "/");
                found.push(Source { code: code(&text), path });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The code of a file: no comments, and no item under `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
fn code(text: &str) -> String {
    let mut code = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let unindented = line.trim_start();
        if ["#[cfg(test)]", "#[cfg(all(test"].iter().any(|mark| unindented.starts_with(mark)) {
            // to the end of the item: rustfmt has indented the end like the start
            let indent = &line[..line.len() - unindented.len()];
            let ends = |line: &str| {
                let own = line.strip_prefix(indent).filter(|rest| !rest.starts_with([' ', '#']));
                own.is_some_and(|rest| rest.ends_with([';', '}', ',']))
            };
            lines.find(|line| ends(line));
        } else if !unindented.starts_with("//") {
            code.push(line);
        }
    }
    code.join("\n")
}

fn layering(sources: &[Source]) -> Vec<String> {
    let mut problems = Vec::new();
    for source in sources.iter().filter(|s| !is_tests(&s.path)) {
        let Some(module) = source.path.strip_prefix("cellc/src/") else { continue };
        let is_in = |name: &str| {
            module.strip_prefix(name).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
        };
        let paths = paths(&source.code, &module_of(&source.path)[1..]);
        let imports = || paths.iter().filter_map(|path| path.first());
        if module != "lib.rs" && !TOOLS.iter().any(|tool| is_in(tool)) {
            let tools = imports().filter(|import| TOOLS.contains(&import.as_str()));
            problems.extend(tools.map(|tool| format!("{}: imports the tool {tool}", source.path)));
        }
        let Some((name, allowed)) = MAY_IMPORT.iter().find(|(name, _)| is_in(name)) else {
            continue;
        };
        for import in imports() {
            if import.starts_with(char::is_lowercase) && !allowed.contains(&import.as_str()) {
                problems.push(format!("{}: {name} imports {import}", source.path));
            }
        }
    }
    problems
}

/// The paths after `crate::`, `self::` or `super::` in a file, from the root of its package.
fn paths(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (word, start) in
        [("crate", 0), ("self", module.len()), ("super", module.len().saturating_sub(1))]
    {
        for (at, _) in code.match_indices(&format!("{word}::")) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':')) {
                continue;
            }
            tree(&code[at + word.len() + 2..], &module[..start], &mut found);
        }
    }
    found
}

/// Adds the paths of a tree of imports under a prefix. Returns the text after the tree.
fn tree<'t>(text: &'t str, prefix: &[String], found: &mut Vec<Vec<String>>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut list) = text.strip_prefix('{') {
        loop {
            list = list.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
            match list.strip_prefix('}') {
                Some(rest) => return rest,
                None if list.is_empty() => return list,
                None => list = tree(list, prefix, found),
            }
        }
    }
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '*'))).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path: Vec<String> = match name {
        "super" => prefix[..prefix.len().saturating_sub(1)].to_vec(),
        "self" => prefix.to_vec(),
        _ => prefix.iter().cloned().chain([name.to_owned()]).collect(),
    };
    if let Some(inner) = rest.strip_prefix("::") {
        return tree(inner, &path, found);
    }
    found.push(path);
    // an alias, or other text in front of the next path
    rest.find([',', '}', ';']).map_or("", |at| &rest[at..])
}

/// The path of a file's module, with the package first.
fn module_of(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(".rs").replace("/src/", "/");
    let mut module: Vec<String> = path.split('/').map(str::to_owned).collect();
    module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    module
}

/// Cycles of imports among the modules of one folder: modules that import themselves by way of
/// others.
fn cycles(sources: &[Source]) -> Vec<String> {
    let mut modules: BTreeMap<Vec<String>, Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|s| !is_tests(&s.path)) {
        modules.entry(module_of(&source.path)).or_default().push(source);
    }
    let mut imports: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (module, sources) in &modules {
        for source in sources {
            for path in paths(&source.code, &module[1..]) {
                let path: Vec<String> = module[..1].iter().cloned().chain(path).collect();
                let other = (1..=path.len())
                    .rev()
                    .map(|end| &path[..end])
                    .find(|path| modules.contains_key(*path));
                let other = other.unwrap_or(&module[..1]);
                let same = module.iter().zip(other).take_while(|(a, b)| a == b).count();
                // a module and a module inside it are no neighbours
                if same < module.len().min(other.len()) {
                    imports
                        .entry(module[..=same].to_vec())
                        .or_default()
                        .insert(other[..=same].to_vec());
                }
            }
        }
    }
    let mut found = Vec::new();
    for start in imports.keys() {
        let mut seen = BTreeSet::from([start]);
        let mut next = vec![start];
        while let Some(module) = next.pop() {
            for other in imports.get(module).into_iter().flatten() {
                if other == start {
                    found.push(format!(
                        "{} and {} import each other",
                        start.join("/"),
                        module.join("/")
                    ));
                }
                if seen.insert(other) {
                    next.push(other);
                }
            }
        }
    }
    found
}

fn is_tests(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn names(sources: &[Source]) -> Vec<String> {
    let empty = |path: &str| {
        path.trim_end_matches(".rs").split('/').any(|part| EMPTY_NAMES.contains(&part))
    };
    sources
        .iter()
        .filter(|s| empty(&s.path))
        .map(|s| format!("{}: the name says nothing", s.path))
        .collect()
}

/// Files next to the folder of their own modules: such a file should be `mod.rs` in the folder.
fn beside_folders(sources: &[Source]) -> Vec<String> {
    let folder = |s: &Source| s.path.trim_end_matches(".rs").to_owned() + "/";
    let beside = |s: &&Source| sources.iter().any(|other| other.path.starts_with(&folder(s)));
    sources
        .iter()
        .filter(beside)
        .map(|s| format!("{}: its place is {}mod.rs", s.path, folder(s)))
        .collect()
}

fn forbidden(sources: &[Source]) -> Vec<String> {
    let mut problems = Vec::new();
    for source in sources.iter().filter(|s| !is_tests(&s.path)) {
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
fn no_modules_of_a_folder_import_each_other() {
    assert_eq!(cycles(&sources()), Vec::<String>::new());
    assert_eq!(cycles(&sources_in(&["benches/src"])), Vec::<String>::new());
}

#[test]
fn names_say_what_is_held() {
    assert_eq!(names(&sources()), Vec::<String>::new());
}

#[test]
fn a_module_with_modules_of_its_own_is_a_folder() {
    let others = sources_in(&["benches/src", "tests/src"]);
    assert_eq!(beside_folders(&[sources(), others].concat()), Vec::<String>::new());
}

#[test]
fn nothing_forbidden_stands_in_the_sources() {
    assert_eq!(forbidden(&sources()), Vec::<String>::new());
}

#[test]
fn every_module_with_a_rule_exists() {
    let sources = sources();
    for (name, _) in MAY_IMPORT {
        let there = |s: &Source| {
            s.path == format!("cellc/src/{name}.rs")
                || s.path.starts_with(&format!("cellc/src/{name}/"))
        };
        assert!(sources.iter().any(there), "{name} has a rule and no file");
    }
}

#[test]
fn a_cycle_is_found_however_it_is_spelled() {
    let cycle = |a: &str, b: &str| {
        let file = |path: &str, code: &str| Source {
            path: format!("cellc/src/{path}.rs"),
            code: code.to_owned(),
        };
        cycles(&[
            file("lower/mod", "mod a; mod b;"),
            file("lower/a", a),
            file("lower/b/mod", b),
            file("lower/b/c", ""),
        ])
    };
    let there = "use super::{a::{self, Thing}, b::c::Other};";
    for back in [
        "use crate::lower::a;",
        "use super::a::Thing as Else;",
        "fn f() -> super::a::Thing {}",
        "use super::{c, a};",
    ] {
        assert_eq!(cycle(there, back).len(), 2, "{back}");
        assert_eq!(cycle("use super::Parent;", back), Vec::<String>::new());
    }
    assert_eq!(cycle(there, "use self::c::Other; use super::super::lower;"), Vec::<String>::new());
}

#[test]
fn unit_tests_are_no_code_and_what_follows_them_is() {
    let text = "#[cfg(test)]\nmod tests;\n#[cfg(all(test, unix))]\n#[path = \"x\"]\nmod more {\n    use a;\n}\nuse b;\nimpl C {\n    \
                #[cfg(test)]\n    fn d(\n        e: F,\n    ) {\n    }\n    // g\n    fn h() {}\n}";
    assert_eq!(code(text), "use b;\nimpl C {\n    fn h() {}\n}");
}

#[test]
fn every_rule_can_fail() {
    let planted = |path: &str, text: &str| [Source { path: path.to_string(), code: code(text) }];
    for (name, allowed) in MAY_IMPORT {
        assert!(!allowed.contains(&"cli"));
        for text in [
            "use crate::cli::Thing;",
            "use crate::{kernel, cli::Thing};",
            "fn f() -> crate::cli::Thing {}",
        ] {
            assert!(
                !layering(&planted(&format!("cellc/src/{name}.rs"), text)).is_empty(),
                "{name}: {text}"
            );
            assert!(
                !layering(&planted(&format!("cellc/src/{name}/inner.rs"), text)).is_empty(),
                "{name}: {text}"
            );
        }
    }
    let of_tool = planted("cellc/src/builder/mod.rs", "use crate::timing::Floor;");
    assert_eq!(layering(&of_tool), ["cellc/src/builder/mod.rs: imports the tool timing"]);
    assert!(
        layering(&planted("cellc/src/model/mod.rs", "/// see crate::cli\nfn f() {}")).is_empty()
    );
    for name in EMPTY_NAMES {
        assert!(!names(&planted(&format!("cellc/src/{name}/mod.rs"), "")).is_empty());
        assert!(!names(&planted(&format!("cellc/src/{name}.rs"), "")).is_empty());
    }
    let module = |path: &str| [planted(path, ""), planted("cellc/src/plan/cost.rs", "")].concat();
    assert_eq!(
        beside_folders(&module("cellc/src/plan.rs")),
        ["cellc/src/plan.rs: its place is cellc/src/plan/mod.rs"]
    );
    assert!(beside_folders(&module("cellc/src/plan/mod.rs")).is_empty());
    for (text, _, _) in FORBIDDEN {
        assert!(!forbidden(&planted("cellc/src/core/mod.rs", text)).is_empty(), "{text}");
    }
}

/// Snapshots contain parts of files, so that a reviewer can read a change of one.
#[test]
fn snapshots_are_short() {
    const LINES: usize = 150;
    let mut folders =
        ["cellc", "cellc-macros", "runtime", "tests"].map(|folder| root().join(folder)).to_vec();
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "snap") {
                let lines = fs::read_to_string(&path).expect("text").lines().count();
                assert!(lines <= LINES, "{} has {lines} lines", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 90, "{count} snapshots");
}
