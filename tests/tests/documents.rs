//! Documents that repeat what the code says.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use cellc::internals::front::keys::{Key, Macro};
use cellc::internals::front::onnx;
use cellc::internals::front::openvino::SUPPORTED;
use cellc::internals::model::{CellKind, ResetGate, general_equations};
use cellc_tests::command;
use cellc_tests::corpus::{self, Case};

/// A file of the repository.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(file(name)).expect(name)
}

/// Compares a document with what it has to be, or writes it with `CELLC_BLESS=1`.
fn compare(name: &str, text: &str) {
    if env::var_os("CELLC_BLESS").is_some() {
        fs::write(file(name), text).expect("a document can be written");
    }
    assert_eq!(read(name), text);
}

/// docs/reference/operations.md is made from the table by which the reader tells layers apart; `CELLC_BLESS=1` writes it anew.
#[test]
fn the_operations_are_those_of_the_reader() {
    let mut text = String::from(
        "# Operations that cellc reads\n\n\
         A model with any other operation is refused by name: `cellc inspect` names all of them at once. *Constant* means known when compiling: a\n\
         Const, an initializer, or computed from constants and shapes by these operations. *Computed when compiling* means that all inputs must be\n\
         constant.\n\n\
         This file is made from the tables of the readers by `CELLC_BLESS=1 cargo test -p cellc-tests --test all documents`, and the test fails where the\n\
         two differ.\n\n\
         ## OpenVINO\n\n\
         | operation | operation sets | |\n|---|---|---|\n",
    );
    for row in SUPPORTED {
        let _ = writeln!(text, "| {} | {} | {} |", row.name, row.sets.join(", "), row.what);
    }
    text += "\n## ONNX\n\nOperator sets 7 to 28. *Defined in* are the operator sets that change the definition: each holds until the next.\n\n\
             | operator | defined in | |\n|---|---|---|\n";
    let mut rows: Vec<_> = onnx::SUPPORTED.iter().collect();
    rows.sort_by_key(|row| (row.domain, row.name));
    for row in rows {
        let domain = if row.domain.is_empty() { String::new() } else { format!("{}.", row.domain) };
        let versions: Vec<String> = row.versions.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "| {domain}{} | {} | {} |", row.name, versions.join(", "), row.what);
    }
    text += "\n### What some operator sets do not have\n\nA file that uses it all the same is refused. *Since* is the first operator set that has the attribute, input or output \
             (with those behind it),\n*until* the first that no longer has it.\n\n| attribute, input or output | since | until | operators |\n|---|---|---|---|\n";
    for onnx::Dated { part, since, until, operators } in onnx::DATED {
        let part = match part {
            onnx::Part::Attribute(name) => (*name).to_owned(),
            onnx::Part::Input(place) => format!("input {place}"),
            onnx::Part::Output(place) => format!("output {place}"),
        };
        let since = if *since > 1 { since.to_string() } else { String::new() };
        let until = until.map(|until| until.to_string()).unwrap_or_default();
        let _ = writeln!(text, "| {part} | {since} | {until} | {} |", operators.join(", "));
    }
    compare("docs/reference/operations.md", &text);
}

/// What the help of a command says of an option.
#[derive(Clone, PartialEq)]
struct Entry {
    /// The heading that it is under.
    heading: String,
    /// As in `-o, --output <FILE>`.
    option: String,
    text: String,
}

/// The commands that take a model; the first has no name of its own.
const COMMANDS: [&str; 5] = ["", "run", "check", "inspect", "bench"];

/// What `cellc help` prints of a command.
fn help(name: &str) -> String {
    let output = Command::new(command::program()).arg("help").args((!name.is_empty()).then_some(name)).output();
    String::from_utf8(output.expect("cellc starts").stdout).expect("UTF-8")
}

/// The options in a help text, but for `--help` and `--version`.
fn entries(help: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut heading = "";
    for line in help.lines().filter(|line| !line.trim().is_empty()) {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if indent == 0 {
            heading = text.strip_suffix(':').unwrap_or_default();
        } else if heading.starts_with("Options") {
            let text = text.replace('|', "\\|").replace('<', "&lt;");
            if indent < 10 {
                let option = line.trim().to_owned();
                entries.push(Entry { heading: heading.to_owned(), option, text: String::new() });
            } else if let Some(entry) = entries.last_mut() {
                let value = text.strip_prefix("- ").and_then(|value| value.split_once(':'));
                match value {
                    Some((value, what)) => {
                        let _ = write!(entry.text, "<br>`{value}`: {}", what.trim());
                    }
                    None => entry.text.extend([if entry.text.is_empty() { "" } else { "<br>" }, &text]),
                }
            }
        }
    }
    entries.retain(|entry| !entry.option.ends_with("--help") && !entry.option.ends_with("--version"));
    entries
}

/// The second part of docs/reference/options.md is what the command prints; `CELLC_BLESS=1` writes it anew.
#[test]
fn the_options_are_those_of_the_command() {
    const HEADING: &str = "## All options\n";
    let document = read("docs/reference/options.md");
    let (by_hand, _) = document.split_once(HEADING).expect("options.md has a second part");
    let mut text = format!(
        "{by_hand}{HEADING}\nThis part is made from `cellc help` by\n\
         `CELLC_BLESS=1 cargo test -p cellc-tests --test all documents`, and the test fails where the two differ.\n"
    );
    let of_commands = COMMANDS.map(|name| entries(&help(name)));
    let common: Vec<Entry> =
        of_commands[0].iter().filter(|entry| of_commands.iter().all(|other| other.contains(entry))).cloned().collect();
    let mut table = |title: &str, entries: Vec<&Entry>| {
        assert!(!entries.is_empty(), "{title}");
        let _ = writeln!(text, "\n### {title}\n\n| option | |\n|---|---|");
        for entry in entries {
            let _ = writeln!(text, "| `{}` | {} |", entry.option, entry.text);
        }
    };
    table("Every command that takes a model", common.iter().filter(|entry| entry.heading == "Options").collect());
    let of_files = common.iter().filter(|entry| entry.heading != "Options");
    table("Every command that takes a model: PyTorch's weights", of_files.collect());
    for (name, entries) in COMMANDS.iter().zip(&of_commands) {
        let title = format!("`{}`", format!("cellc {name}").trim_end());
        table(&title, entries.iter().filter(|entry| !common.contains(entry)).collect());
    }
    compare("docs/reference/options.md", &text);
}

/// The options that documents speak of are the command's.
#[test]
fn documents_speak_of_options_that_exist() {
    let known: Vec<Entry> = COMMANDS.iter().flat_map(|name| entries(&help(name))).collect();
    // of cargo, the bench, ovc and tests/machines/all
    let others = [
        "--release",
        "--path",
        "--workspace",
        "--lib",
        "--test",
        "--only",
        "--install",
        "--locked",
        "--compress_to_fp16",
        "--specs",
    ];
    for name in of_users() {
        let document = read(&name);
        for word in document.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c)) {
            let option = word.strip_prefix("--").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
            let is_known = || known.iter().any(|entry| entry.option.split([' ', '[']).any(|part| part == word));
            assert!(!option || others.contains(&word) || is_known(), "{name} speaks of {word}");
        }
    }
}

/// The README is read in one go.
#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= 1600, "{words} words");
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
            if is_folder && !["target", "corpus"].contains(&name.rsplit('/').next().unwrap()) && !name.starts_with('.')
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
fn of_users() -> Vec<String> {
    let is_page =
        |name: &String| name == "README.md" || name.starts_with("docs/") && !name.starts_with("docs/notebook/");
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

/// Every link between documents leads to a file, and to a heading in it.
#[test]
fn links_lead_somewhere() {
    let anchors = |text: &str| -> Vec<String> {
        let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
        headings
            .map(|heading| {
                let heading = heading.trim_start_matches('#').trim().to_lowercase();
                heading.replace(' ', "-").chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
            })
            .collect()
    };
    for name in documents() {
        let text = read(&name);
        let folder = file(&name).parent().expect("a folder").to_owned();
        // code has brackets of its own
        let prose = text.split("```").step_by(2).collect::<String>();
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link));
        for link in links.filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file(&name) } else { folder.join(path) };
            assert!(target.exists(), "{name}: {link}");
            if !anchor.is_empty() {
                let target = fs::read_to_string(target).expect("a document");
                assert!(anchors(&target).iter().any(|known| known == anchor), "{name}: {link}");
            }
        }
    }
}

/// Every source file that a document names is there.
#[test]
fn documents_name_files_that_exist() {
    for name in documents() {
        let text = read(&name);
        let prose = text.split("```").step_by(2).collect::<String>();
        let folder = file(&name).parent().expect("a folder").to_owned();
        let is_source = |span: &&str| span.contains('/') && (span.ends_with(".rs") || span.ends_with(".py"));
        for span in prose.split('`').skip(1).step_by(2).filter(is_source).filter(|span| !span.contains([' ', '*'])) {
            // as named from the document, the root or the crate; NAME and the like are anybody's
            let is_pattern = span.split(['/', '.']).any(|part| part.len() > 1 && part.chars().all(char::is_uppercase));
            let places = [folder.join(span), file(span), file("cellc/src").join(span), file("tests/tests").join(span)];
            assert!(is_pattern || places.iter().any(|place| place.exists()), "{name}: {span}");
        }
    }
}

/// The lines of generated code that the README shows are generated code, but for the indentation.
#[test]
fn the_readme_shows_generated_code() {
    let lines = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let readme = read("README.md");
    let mut shown = readme.split("```rust,ignore\n").skip(1).filter_map(|block| block.split("```").next());
    let shown = shown.find(|block| block.starts_with("let h_k")).expect("generated code");
    let model = file("tests/corpus/gru_cell_128_fp16/model.xml");
    let output = Command::new(command::program()).arg(model).args(["-o", "-"]).output().expect("cellc starts");
    assert!(lines(&String::from_utf8(output.stdout).expect("UTF-8")).contains(&lines(shown)), "{shown}");
}

/// The picture of the README, and the text that stands in for it, have the ratios of the run that benches/README.md
/// shows; the bars are as long as the ratios say.
#[test]
fn the_picture_shows_what_was_measured() {
    let (picture, benches) = (read("benches/step-of-a-gru.svg"), read("benches/README.md"));
    let (_, run) =
        benches.split_once("GRU, linear_before_reset, sigmoid and tanh, 16 inputs, 128 units;").expect("a run");
    let (run, _) = run.split_once("\n\n").expect("more than one run");
    let least = |library: &str| {
        let times = run.lines().filter(|line| line.trim_start().starts_with(library));
        let times = times.filter_map(|line| line.split_whitespace().find_map(|word| word.parse::<f64>().ok()));
        times.fold(f64::INFINITY, f64::min)
    };
    // the first is the title
    let texts = picture.split("<text ").skip(2).filter_map(|part| part.split(['>', '<']).nth(1));
    let texts: Vec<&str> = texts.collect();
    // the first is the background
    let widths = picture.split("<rect ").skip(2).filter_map(|part| part.split("width=\"").nth(1)?.split('"').next());
    let widths: Vec<f64> = widths.map(|width| width.parse().expect("a number")).collect();
    assert_eq!((texts.len(), widths.len()), (16, 8));
    for (pair, width) in texts.chunks(2).zip(&widths) {
        let ratio = least(pair[0]) / least("cellc");
        assert_eq!(format!("{ratio:.1}"), pair[1], "{}", pair[0]);
        assert!((width - ratio * widths[0]).abs() < 1.0, "{}: a bar of {width}", pair[0]);
    }
    let shown: Vec<String> = texts.chunks(2).map(|pair| pair.join(" ")).collect();
    let shown = format!("![Time of one step over cellc's: {}](benches/step-of-a-gru.svg)", shown.join(", "));
    assert!(read("README.md").contains(&shown), "{shown}");
}

/// Every case of the corpus says which program made it, or that nobody kept it.
#[test]
fn corpus_cases_say_where_they_come_from() {
    for Case { name, origin, .. } in corpus::cases() {
        let says =
            ["tests/models/", "by hand", "; the program is not kept here"].iter().any(|part| origin.contains(part));
        assert!(says, "{name}: {origin}");
    }
}

/// The pages of the macros say what the comment at the top of generated code says.
#[test]
fn the_pages_of_the_macros_have_the_equations() {
    let squeezed = |text: &str| text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
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
    assert!(squeezed(&read("cellc-macros/src/augru_cell.md")).contains(gate), "augru_cell.md lacks {gate}");
}

/// The first cells of the rows of a document's tables, those that begin with `start`.
fn listed(text: &str, start: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let names = rows.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`').to_owned());
    names.filter(|name| name.starts_with(start)).collect()
}

/// The pages of the macros, and the table of what a file of weights may say, list the keys that there are.
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
            assert!(own.contains(&name) || general.contains(&name), "{}: {name} is not documented", called.name());
        }
        for name in listed(&own_page.unwrap_or_default(), "") {
            assert!(called.keys().any(|key| key.name() == name), "{} has no key {name}", called.name());
        }
    }
    let mut of_files: Vec<_> = Key::of_files().map(|key| format!("cellc.{}", key.name_in_files())).collect();
    let mut in_table = listed(&read("docs/reference/options.md"), "cellc.");
    of_files.sort();
    in_table.sort();
    assert_eq!(in_table, of_files);
}
