//! Programs and commands of the book: they compile, run, and print what the book promises.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use cellc_tests::skipped::has;
use cellc_tests::{command, driver};
use tempfile::TempDir;

use crate::documents::{file, of_users, read};

/// The code blocks of a page, each with its language.
fn blocks(page: &str) -> Vec<(String, String)> {
    let text = read(page);
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    blocks.map(|(language, text)| (language.to_owned(), text.to_owned())).collect()
}

/// What a program printed, on both streams.
fn printed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = [stdout, stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8")).concat();
    assert!(status.success(), "{command:?}: {text}");
    text
}

/// Runs `cellc` in a folder with the words of a line. Paths in the line start at the root of the
/// repository.
fn cellc(folder: &Path, line: &str) -> String {
    let line = line.split("    #").next().unwrap_or_default().replace('\'', "");
    let words = line.split_whitespace().map(|word| {
        let is_model = ["tests/", "examples/"].iter().any(|start| word.starts_with(start));
        if is_model { file(word).into_os_string() } else { word.into() }
    });
    printed(Command::new(command::program()).args(words).current_dir(folder))
}

/// A program whose first line has the command that wrote its module.
struct Program {
    language: String,
    text: String,
    /// The arguments of `cellc`.
    arguments: String,
    /// The output that the page promises.
    promised: Option<String>,
}

fn programs(page: &str) -> Vec<Program> {
    let blocks = blocks(page);
    let programs = blocks.iter().enumerate().filter_map(|(at, (language, text))| {
        let arguments = text
            .lines()
            .next()?
            .strip_prefix("// ")?
            .split_once(" written by: cellc ")?
            .1
            .to_owned();
        let promised = blocks
            .get(at + 1)
            .filter(|(language, _)| language == "text")
            .map(|(_, text)| text.clone());
        Some(Program { language: language.clone(), text: text.clone(), arguments, promised })
    });
    programs.collect()
}

/// Compiles and runs a program.
fn run(program: &Program) -> String {
    let folder = TempDir::new().expect("a folder");
    let at = folder.path();
    cellc(at, &program.arguments);
    let module = program.arguments.rsplit(' ').next().expect("an output file");
    let warnings = ["-O1", "-Wall", "-Wextra", "-Werror"];
    let compile = |compiler: &mut Command, arguments: &[&str]| {
        printed(compiler.args(arguments).current_dir(at));
    };
    match program.language.as_str() {
        "c" => {
            fs::write(at.join("main.c"), &program.text).expect("written");
            compile(
                Command::new("cc").args(warnings),
                &["-std=c11", "main.c", module, "-o", "main"],
            );
        }
        "cpp" => {
            fs::write(at.join("main.cpp"), &program.text).expect("written");
            compile(&mut Command::new("cc"), &["-std=c11", "-O1", "-c", module, "-o", "module.o"]);
            compile(Command::new("c++").args(warnings), &["main.cpp", "module.o", "-o", "main"]);
        }
        _ => {
            fs::write(at.join("main.rs"), &program.text).expect("written");
            compile(
                &mut driver::rustc(),
                &["--edition=2024", "-Dwarnings", "main.rs", "-o", "main"],
            );
        }
    }
    printed(&mut Command::new(at.join("main")))
}

/// Every program prints what the page says below it; two programs print the same number if the page
/// shows two ways to it.
fn programs_print(page: &str, count: usize) {
    let programs = programs(page);
    assert_eq!(programs.len(), count, "{page}");
    if !has("cc") || !has("c++") {
        return;
    }
    for program in &programs {
        let printed = run(program);
        if let Some(promised) = &program.promised {
            assert_eq!(&printed, promised, "{page}");
        } else {
            let [one, other] = printed.lines().collect::<Vec<_>>()[..] else {
                panic!("{page}: {printed}")
            };
            assert_eq!(one, other, "{page}: {}", program.arguments);
            assert!(one.parse::<f32>().is_ok_and(|number| number != 0.0), "{page}: {one}");
        }
    }
}

#[test]
fn programs_of_the_readme() {
    programs_print("README.md", 1);
}

#[test]
fn programs_of_the_quick_start() {
    programs_print("docs/quick-start.md", 2);
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn programs_of_streaming() {
    programs_print("docs/streaming.md", 1);
}

#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn programs_of_the_generated_file() {
    programs_print("docs/generated-file.md", 2);
}

/// Commands that read a model of the repository run, and print or write the lines that the page
/// shows below them. Commands that compile generated code are left out, because they take long and
/// other tests run them.
#[test]
fn commands_run() {
    let mut count = 0;
    for page in of_users() {
        let blocks = blocks(&page);
        for (at, (_, text)) in
            blocks.iter().enumerate().filter(|(_, (language, _))| language == "sh")
        {
            let folder = TempDir::new().expect("a folder");
            let mut found = String::new();
            let commands = text.lines().filter_map(|line| line.strip_prefix("cellc "));
            let slow = ["check ", "run ", "bench "];
            let is_here = |line: &&str| line.contains("tests/") || line.contains("examples/");
            let is_run = |line: &&str| {
                is_here(line) && !line.contains("../") && !slow.iter().any(|s| line.starts_with(s))
            };
            for line in commands.filter(is_run) {
                found += &cellc(folder.path(), line);
                count += 1;
            }
            let written = fs::read_dir(folder.path()).expect("a folder");
            found.extend(
                written.map(|file| {
                    fs::read_to_string(file.expect("a file").path()).unwrap_or_default()
                }),
            );
            let promised = blocks.get(at + 1).filter(|(language, _)| language == "text");
            let (Some((_, promised)), false) = (promised, found.is_empty()) else { continue };
            // without the compiler, code is an estimate and the stack is unknown
            if promised.contains("A step on cortex-m4f") && !has("arm-none-eabi-gcc") {
                continue;
            }
            for line in promised.lines().filter(|line| !line.is_empty() && *line != "...") {
                assert!(found.contains(line), "{page}: {line}\n{found}");
            }
        }
    }
    assert!(count >= 8, "{count} commands");
}

/// The tutorial of a service shows the files of the example.
#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn the_tutorial_of_a_service_shows_the_example() {
    let blocks = blocks("docs/tutorial-service.md");
    for name in ["build.rs", "src/main.rs"] {
        let text = read(&format!("examples/service/{name}"));
        assert!(blocks.iter().any(|(_, block)| *block == text), "{name}");
    }
}

/// The example of the tutorial answers as the page says: each client has its own state.
#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn the_service_answers() {
    let mut service = Command::new(command::built("example-service"));
    let mut service =
        service.arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().expect("the service starts");
    let mut line = String::new();
    let mut output = BufReader::new(service.stdout.take().expect("a pipe"));
    output.read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("listening on ").expect("an address");
    let mut answers = String::new();
    for client in 1..=2 {
        let mut stream = TcpStream::connect(address).expect("the service listens");
        let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
        for _ in 0..4 - client {
            writeln!(stream, "{}", "0.5 ".repeat(10)).expect("sent");
            answers += &format!("{client} ");
            reader.read_line(&mut answers).expect("an answer");
        }
    }
    service.kill().expect("the service ends");
    service.wait().expect("the service ended");
    assert!(
        blocks("docs/tutorial-service.md").iter().any(|(_, block)| *block == answers),
        "{answers}"
    );
}

/// The program in the tutorial of a plug-in prints what the page says, except for the instruction
/// sets.
#[test]
#[cfg_attr(not(feature = "full"), ignore = "in the full tier")]
fn the_tutorial_of_a_plugin_prints_what_it_promises() {
    if !has("cc") || !has("c++") {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let at = folder.path();
    for model in ["clean", "lead"] {
        let path = format!("examples/plugin/models/{model}.nam");
        cellc(at, &format!("{path} --interface cellc_model.h -o {model}.c"));
        printed(Command::new("cc").args(["-O1", "-c", &format!("{model}.c")]).current_dir(at));
    }
    let blocks = blocks("docs/tutorial-plugin.md");
    let program = blocks.iter().position(|(language, _)| language == "cpp").expect("a program");
    fs::write(at.join("main.cpp"), &blocks[program].1).expect("written");
    let arguments = [
        "-std=c++17",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "main.cpp",
        "clean.o",
        "lead.o",
        "-o",
        "main",
    ];
    printed(Command::new("c++").args(arguments).current_dir(at));
    let numbers = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.rsplit(' ').next()).map(str::to_owned).collect()
    };
    let promised =
        blocks[program..].iter().find(|(language, _)| language == "text").expect("its output");
    assert_eq!(numbers(&printed(&mut Command::new(at.join("main")))), numbers(&promised.1));
}
