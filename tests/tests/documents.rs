//! Documents agree with the code.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use cellc::Activation;
use cellc::internals::core::general_equations;
use cellc::internals::front::keys::Macro;
use cellc::internals::model::{CellKind, ResetGate};
use cellc_tests::command;
use cellc_tests::corpus::{self, Case};

use crate::reference_pages::{COMMANDS, Entry, entries, help};

/// A file of the repository.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(file(name)).expect(name)
}

/// Compares a document with the expected text, or writes the text with `CELLC_BLESS=1`.
pub(crate) fn compare(name: &str, text: &str) {
    if env::var_os("CELLC_BLESS").is_some() {
        fs::write(file(name), text).expect("a document can be written");
    }
    assert_eq!(read(name), text);
}

/// The options in documents are options of the command.
#[test]
fn documents_speak_of_options_that_exist() {
    let known: Vec<Entry> = COMMANDS.iter().flat_map(|name| entries(&help(name))).collect();
    // the options of cargo, the bench, compilers, CMake, valgrind, ovc and tests/machines/all
    let others = [
        "--release",
        "--path",
        "--workspace",
        "--features",
        "--lib",
        "--test",
        "--only",
        "--install",
        "--locked",
        "--compress_to_fp16",
        "--specs",
        "--no-entry",
        "--export-dynamic",
        "--build",
        "--test-dir",
        "--version",
        "--tool",
    ];
    for name in of_users() {
        let document = read(&name);
        for word in document.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c)) {
            let option = word
                .strip_prefix("--")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
            let is_known = || {
                known.iter().any(|entry| entry.option.split([' ', '[']).any(|part| part == word))
            };
            assert!(!option || others.contains(&word) || is_known(), "{name} speaks of {word}");
        }
    }
}

/// The README is read in one go, and the changelog of a first release, too.
#[test]
fn the_readme_is_short() {
    for (name, most) in [("README.md", 900), ("CHANGELOG.md", 400)] {
        let words = read(name).split_whitespace().count();
        assert!(words <= most, "{name}: {words} words");
    }
}

/// All documents outside the notebook have at most 20,000 words.
#[test]
fn the_documents_are_short() {
    let names = documents().into_iter().filter(|name| !name.starts_with("docs/notebook/"));
    let words: usize = names.map(|name| read(&name).split_whitespace().count()).sum();
    assert!(words <= 20_000, "{words} words");
}

/// Words that point to a thing named elsewhere.
const POINTERS: [&str; 12] = [
    "what", "that", "those", "which", "where", "it", "these", "they", "them", "such", "whose",
    "there",
];

/// The words of the paragraphs and lists of a document, without code, links and tables.
fn prose(text: &str) -> Vec<String> {
    let text = text.split("```").step_by(2).collect::<String>();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('|') && !line.starts_with("    "));
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    // the targets of links
    let text = text.split("](").map(|part| part.split_once(')').map_or(part, |(_, rest)| rest));
    let text = text.collect::<Vec<_>>().join(" ").to_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphabetic() && c != '\'');
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Documents name things: at most 3 % of their words point to something named elsewhere.
#[test]
fn the_documents_name_things() {
    let words: Vec<String> = documents().iter().flat_map(|name| prose(&read(name))).collect();
    let pairs = words
        .windows(2)
        .filter(|pair| [["the", "same"], ["so", "many"]].contains(&[&*pair[0], &*pair[1]]));
    let pointers =
        words.iter().filter(|word| POINTERS.contains(&word.as_str())).count() + pairs.count();
    assert!(
        words.len() > 5_000 && pointers * 100 <= 3 * words.len(),
        "{pointers} of {} words point",
        words.len()
    );
}

/// Every Markdown file of the repository, sorted.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(file(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = format!("{folder}{}", entry.file_name().to_str().expect("UTF-8"));
            let is_folder = entry.file_type().expect("a type").is_dir();
            if is_folder
                && !["target", "corpus"].contains(&name.rsplit('/').next().unwrap())
                && !name.starts_with('.')
            {
                folders.push(name + "/");
            } else if !is_folder && name.ends_with(".md") {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// README.md and the pages of the book, without the notebook.
pub(crate) fn of_users() -> Vec<String> {
    let is_page = |name: &String| {
        name == "README.md" || name.starts_with("docs/") && !name.starts_with("docs/notebook/")
    };
    documents().into_iter().filter(is_page).collect()
}

/// Every page of the book is in its table of contents.
#[test]
fn the_summary_lists_every_page() {
    let summary = read("docs/SUMMARY.md");
    for name in documents() {
        if let Some(page) = name.strip_prefix("docs/").filter(|page| *page != "SUMMARY.md") {
            assert!(summary.contains(&format!("]({page})")), "docs/SUMMARY.md has no {page}");
        }
    }
}

/// The targets of the links in the prose of a document, without addresses of the web.
fn links(text: &str) -> Vec<String> {
    // code has brackets of its own
    let prose = text.split("```").step_by(2).collect::<String>();
    let links =
        prose.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link));
    links.filter(|link| !link.contains("://")).map(str::to_owned).collect()
}

/// Links of the book work in the HTML of mdBook, too: mdBook builds the files in `docs`, and
/// renames `README.md` without its links.
#[test]
fn links_of_the_book_stay_in_the_book() {
    let book = fs::canonicalize(file("docs")).expect("the book");
    for name in documents().into_iter().filter(|name| name.starts_with("docs/")) {
        let folder = file(&name).parent().expect("a folder").to_owned();
        for link in links(&read(&name)) {
            let path = link.split('#').next().unwrap_or_default();
            // a link within the page, or a chapter that has only parts
            if path.is_empty() {
                continue;
            }
            let target = fs::canonicalize(folder.join(path)).expect(&link);
            let is_built = target
                .extension()
                .is_some_and(|ending| ["md", "svg"].iter().any(|built| ending == *built));
            let is_renamed = target.ends_with("README.md");
            assert!(
                target.starts_with(&book) && is_built && !is_renamed,
                "{name}: {link} is not in the book"
            );
        }
    }
}

/// Every link between documents leads to a file, and to a heading in it.
#[test]
fn links_lead_somewhere() {
    let anchors = |text: &str| -> Vec<String> {
        let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
        headings
            .map(|heading| {
                let heading = heading.trim_start_matches('#').trim().to_lowercase();
                heading
                    .replace(' ', "-")
                    .chars()
                    .filter(|c| c.is_alphanumeric() || "-_".contains(*c))
                    .collect()
            })
            .collect()
    };
    for name in documents() {
        let text = read(&name);
        let folder = file(&name).parent().expect("a folder").to_owned();
        for link in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { file(&name) } else { folder.join(path) };
            assert!(target.exists(), "{name}: {link}");
            if !anchor.is_empty() {
                let target = fs::read_to_string(target).expect("a document");
                assert!(anchors(&target).iter().any(|known| known == anchor), "{name}: {link}");
            }
        }
    }
}

/// Every source file that a document names exists.
#[test]
fn documents_name_files_that_exist() {
    for name in documents() {
        let text = read(&name);
        let prose = text.split("```").step_by(2).collect::<String>();
        let folder = file(&name).parent().expect("a folder").to_owned();
        let is_source =
            |span: &&str| span.contains('/') && (span.ends_with(".rs") || span.ends_with(".py"));
        for span in prose
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(is_source)
            .filter(|span| !span.contains([' ', '*']))
        {
            // named from the document, the root or the crate; names such as NAME are placeholders
            let is_pattern = span
                .split(['/', '.'])
                .any(|part| part.len() > 1 && part.chars().all(char::is_uppercase));
            let from = ["", "cellc/src", "tests/tests", "examples/service"]
                .map(|start| file(start).join(span));
            let places = from.into_iter().chain([folder.join(span)]);
            assert!(is_pattern || places.into_iter().any(|place| place.exists()), "{name}: {span}");
        }
    }
}

/// The lines of generated code in the quick start are generated code, except for the indentation.
#[test]
fn the_quick_start_shows_generated_code() {
    let lines = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let page = read("docs/quick-start.md");
    let mut shown =
        page.split("```rust,ignore\n").skip(1).filter_map(|block| block.split("```").next());
    let shown = shown.find(|block| block.starts_with("let [z0_x")).expect("generated code");
    let model = file("tests/corpus/gru_cell_128_fp16/model.xml");
    let output = Command::new(command::program())
        .arg(model)
        .args(["-o", "-"])
        .output()
        .expect("cellc starts");
    assert!(
        lines(&String::from_utf8(output.stdout).expect("UTF-8")).contains(&lines(shown)),
        "{shown}"
    );
}

/// The picture of the README, and the text that stands in for it, have the ratios of the run that
/// the notebook shows; the bars are as long as the ratios say.
#[test]
fn the_picture_shows_what_was_measured() {
    let (picture, benches) =
        (read("benches/step-of-a-gru.svg"), read("docs/notebook/2026-11-22-zen4.md"));
    let (_, run) = benches
        .split_once("GRU, linear_before_reset, sigmoid and tanh, 16 inputs, 128 units;")
        .expect("a run");
    let (run, _) = run.split_once("\n\n").expect("more than one run");
    let least = |library: &str| {
        let times = run.lines().filter(|line| line.trim_start().starts_with(library));
        let times = times
            .filter_map(|line| line.split_whitespace().find_map(|word| word.parse::<f64>().ok()));
        times.fold(f64::INFINITY, f64::min)
    };
    // the first is the title
    let texts = picture.split("<text ").skip(2).filter_map(|part| part.split(['>', '<']).nth(1));
    let texts: Vec<&str> = texts.collect();
    // the first is the background
    let widths = picture
        .split("<rect ")
        .skip(2)
        .filter_map(|part| part.split("width=\"").nth(1)?.split('"').next());
    let widths: Vec<f64> = widths.map(|width| width.parse().expect("a number")).collect();
    assert_eq!((texts.len(), widths.len()), (16, 8));
    for (pair, width) in texts.chunks(2).zip(&widths) {
        let ratio = least(pair[0]) / least("cellc");
        assert_eq!(format!("{ratio:.1}"), pair[1], "{}", pair[0]);
        assert!((width - ratio * widths[0]).abs() < 1.0, "{}: a bar of {width}", pair[0]);
    }
    let shown: Vec<String> = texts.chunks(2).map(|pair| pair.join(" ")).collect();
    let shown = format!(
        "![Time of one step, relative to cellc: {}](benches/step-of-a-gru.svg)",
        shown.join(", ")
    );
    assert!(read("README.md").contains(&shown), "{shown}");
}

/// Every case of the corpus names the program that made it, or states that the program is unknown.
#[test]
fn corpus_cases_say_where_they_come_from() {
    for Case { name, origin, .. } in corpus::cases() {
        let says = ["tests/models/", "by hand", "; the program is not kept here"]
            .iter()
            .any(|part| origin.contains(part));
        assert!(says, "{name}: {origin}");
    }
}

/// The pages of the macros have the equations in the comment at the top of generated code.
#[test]
fn the_pages_of_the_macros_have_the_equations() {
    let squeezed =
        |text: &str| text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let [before, after] = [ResetGate::BeforeMatMul, ResetGate::AfterMatMul];
    for (page, kind) in [
        ("rnn", CellKind::Rnn),
        ("gru", CellKind::Gru(before)),
        ("gru", CellKind::Gru(after)),
        ("lstm", CellKind::Lstm),
    ] {
        let text = squeezed(&read(&format!("cellc-macros/src/{page}_cell.md")));
        for line in general_equations(kind, None, false) {
            assert!(text.contains(&line), "{page}_cell.md lacks {line}");
        }
    }
    let gate = &general_equations(CellKind::Augru(before), None, false)[0];
    assert!(
        squeezed(&read("cellc-macros/src/augru_cell.md")).contains(gate),
        "augru_cell.md lacks {gate}"
    );
}

/// The page of gru_cell! lists every activation of cells, with its parameters.
#[test]
fn activations_of_cells_are_listed() {
    let page = read("cellc-macros/src/gru_cell.md");
    for name in Activation::WRITTEN {
        let call = match Activation::takes(name).expect("a name of the list") {
            0 => format!("`{name}`"),
            1 => format!("`{name}(alpha)`"),
            _ => format!("`{name}(alpha, beta)`"),
        };
        assert!(page.contains(&call), "gru_cell.md lacks {call}");
    }
}

/// The first cells of the rows of a document's tables, those that begin with `start`.
fn listed(text: &str, start: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let names =
        rows.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`').to_owned());
    names.filter(|name| name.starts_with(start)).collect()
}

/// The pages of the macros list every key, and no other.
#[test]
fn keys_are_listed() {
    let general = read("cellc-macros/src/gru_cell.md");
    for called in Macro::ALL {
        let own = file(&format!("cellc-macros/src/{}.md", called.name().trim_end_matches('!')));
        // sequences of the other cells are documented by that of GRUs
        let own_page = fs::read_to_string(own).ok();
        let own = own_page.clone().unwrap_or_else(|| read("cellc-macros/src/gru_sequence.md"));
        for key in called.keys() {
            let name = format!("`{}`", key.name());
            assert!(
                own.contains(&name) || general.contains(&name),
                "{}: {name} is not documented",
                called.name()
            );
        }
        for name in listed(&own_page.unwrap_or_default(), "") {
            assert!(
                called.keys().any(|key| key.name() == name),
                "{} has no key {name}",
                called.name()
            );
        }
    }
}

/// A new operation needs an arm in every match of all operations.
#[test]
fn extending_names_every_file_that_matches_all_operations() {
    let text = read("docs/extending.md");
    let (_, step) = text.split_once("3. Otherwise `core/NAME.rs`").expect("the step");
    let (step, _) = step.split_once("4. ").expect("the next step");
    let mut found = Vec::new();
    for path in sources() {
        let code = fs::read_to_string(file("cellc/src").join(&path)).expect("a source");
        let names = code.split("CoreOp::").skip(1).map(|rest| {
            rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
        });
        if names.collect::<std::collections::BTreeSet<_>>().len() > 10 {
            assert!(step.contains(&format!("`{path}`")), "docs/extending.md: {path}");
            found.push(path);
        }
    }
    assert_eq!(found.len(), 2, "{found:?}");
}

/// Stages read the states and steps of a recurrent operation from its facts. Outside of `core` and
/// `translate`, only the files that match all operations name its variant.
#[test]
fn extending_names_every_file_that_matches_a_recurrent_operation() {
    let text = read("docs/extending.md");
    assert!(text.contains("`OverTime::Recurrent`"));
    let names = |path: &&String| {
        let code = fs::read_to_string(file("cellc/src").join(path)).expect("a source");
        code.contains("CoreOp::LinearAttention")
    };
    let all = sources();
    let outside = all
        .iter()
        .filter(|path| !["core/", "translate/"].iter().any(|folder| path.starts_with(folder)));
    let mut found: Vec<_> = outside.filter(names).collect();
    found.sort();
    assert_eq!(found, ["evaluate/mod.rs", "lower/builder.rs"]);
}

/// The sources of the compiler, by their paths under `cellc/src`.
fn sources() -> Vec<String> {
    let root = file("cellc/src");
    let (mut folders, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let path = path.strip_prefix(&root).expect("under the root");
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found
}
