//! The command from outside: arguments, exit statuses, output on both streams, and files on disk.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cellc_tests::command::program;

use cellc_tests::model_file::{ModelFile, Port, Stored};
use cellc_tests::skipped::{has, skip};
use tempfile::TempDir;

/// The result of one run of the command.
#[derive(Debug)]
struct Done {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A folder to run the command in.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(program());
        // Diagnostics are the same with and without a terminal's settings.
        command
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .env_remove("CLICOLOR_FORCE");
        command
    }

    fn cellc(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Done {
        done(&mut self.command(arguments))
    }

    /// The names of the files in the folder, sorted.
    fn files(&self) -> Vec<String> {
        let mut files: Vec<_> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        files
    }

    /// A script that stands for a compiler.
    fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

fn done(command: &mut Command) -> Done {
    let Output { status, stdout, stderr } = command.output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("the command writes UTF-8");
    Done { status: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

impl Done {
    #[track_caller]
    fn succeeded(self) -> Self {
        assert_eq!(self.status, Some(0), "{}", self.stderr);
        self
    }

    /// Asserts that the command failed with this status, with all of `words` on standard error and
    /// with nothing on standard output.
    #[track_caller]
    fn failed(self, status: i32, words: &[&str]) -> Self {
        assert_eq!(self.status, Some(status), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        for word in words {
            assert!(self.stderr.contains(word), "{:?} is not said:\n{}", word, self.stderr);
        }
        self
    }
}

fn corpus(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(case)
}

fn model(case: &str) -> PathBuf {
    corpus(case).join("model.xml")
}

/// Arguments of different types in one list.
macro_rules! arguments {
    ($($argument:expr),* $(,)?) => { vec![$(AsRef::<OsStr>::as_ref(&$argument).to_owned()),*] };
}

#[test]
fn help_says_what_can_be_asked() {
    let place = Place::new();
    for (name, arguments) in [
        ("help", &["-h"][..]),
        ("help_run", &["run", "-h"]),
        ("help_check", &["check", "-h"]),
        ("help_bench", &["bench", "-h"]),
        ("help_inspect", &["inspect", "-h"]),
    ] {
        let done = place.cellc(arguments).succeeded();
        assert_eq!(done.stderr, "");
        assert!(done.stdout.lines().count() <= 30, "{name} is longer than a screen");
        insta::assert_snapshot!(name, done.stdout);
    }
    let all = place.cellc(["--help"]).succeeded().stdout;
    let mut groups: Vec<&str> = Vec::new();
    for (at, _) in all.match_indices(":\n  ") {
        groups.extend(all[..at].lines().last().filter(|line| !line.starts_with(' ')));
    }
    let first = [
        "Commands",
        "Arguments",
        "Options",
        "Output",
        "Model and shapes",
        "State",
        "Machine",
        "Precision",
    ];
    assert_eq!(groups[..8], first, "{all}");
    assert_eq!(groups[8], "For developers of cellc", "{all}");
    let at = all.find("\nMachine:").expect("a group");
    insta::assert_snapshot!("help_first_groups", &all[..at]);
    insta::assert_snapshot!("help_last_groups", &all[at..]);
    let version = place.cellc(["--version"]).succeeded().stdout;
    let version = version.trim_end().strip_prefix(concat!("cellc ", env!("CARGO_PKG_VERSION")));
    let commit = version.expect("the name and the version");
    let hash = commit.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    let is_hash =
        |hash: &str| hash.len() >= 12 && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    assert!(commit.is_empty() || hash.is_some_and(is_hash), "{commit}");
}

#[test]
fn quiet_prints_errors_alone() {
    let place = Place::new();
    let model = corpus("torch_gru2_head").join("model.xml");
    let compile = arguments![model, "--shape", "x=1,1,10", "-o", "net.rs"];
    assert!(place.cellc(&compile).succeeded().stderr.starts_with("warning: "));
    for quiet in ["-q", "--quiet"] {
        let before = arguments![quiet].into_iter().chain(compile.clone());
        assert_eq!(place.cellc(before).succeeded().stderr, "");
        let behind = compile.iter().cloned().chain(arguments![quiet]);
        assert_eq!(place.cellc(behind).succeeded().stderr, "");
    }
    for arguments in [arguments!["-q", "inspect", model], arguments!["inspect", model, "-q"]] {
        let shape = arguments!["--shape", "x=1,1,10"];
        let done = place.cellc(arguments.into_iter().chain(shape)).succeeded();
        assert!(done.stderr.is_empty() && done.stdout.contains("GRU"), "{}", done.stderr);
    }
    place.cellc(["-q", "missing.xml", "-o", "a.rs"]).failed(1, &["error: cannot read"]);
}

#[test]
fn a_model_comes_from_standard_input() {
    let place = Place::new();
    let nam = Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers/nam_lstm.nam");
    fs::copy(&nam, place.path("model")).unwrap();
    let stdin = || Stdio::from(fs::File::open(&nam).unwrap());
    place.cellc(["model", "-o", "amp.c"]).succeeded();
    let from_file = fs::read(place.path("amp.c")).unwrap();
    fs::remove_file(place.path("amp.c")).unwrap();
    done(place.command(["-", "-o", "amp.c"]).stdin(stdin())).succeeded();
    let piped = fs::read_to_string(place.path("amp.c")).unwrap().replace("standard input", "model");
    assert!(piped.as_bytes() == from_file, "another file than that of the model");
    let shown = done(place.command(["inspect", "-"]).stdin(stdin())).succeeded();
    assert!(shown.stdout.contains("LSTM"), "{}", shown.stdout);
    // a pipe can be read only once
    let (reader, writer) = std::io::pipe().unwrap();
    let bytes = fs::read(&nam).unwrap();
    let written = std::thread::spawn(move || std::io::Write::write_all(&mut { writer }, &bytes));
    done(place.command(["/dev/stdin", "-o", "piped.rs"]).stdin(reader)).succeeded();
    written.join().unwrap().unwrap();
    done(&mut place.command(["-", "-o", "none.c"])).failed(1, &["is empty"]);
}

/// Messages name the pipe, never the file into which it was copied.
#[test]
fn messages_name_a_piped_model_as_the_user_did() {
    let place = Place::new();
    let from = |path: &Path, arguments: &[&str]| {
        let stdin = Stdio::from(fs::File::open(path).unwrap());
        let done = done(place.command(arguments).env("TMPDIR", place.path("")).stdin(stdin));
        let folder = place.path("").display().to_string();
        assert!(
            ![&done.stdout, &done.stderr].into_iter().any(|said| said.contains(&folder)),
            "{}",
            done.stderr
        );
        done
    };
    let gru = model("gru_cell_min");
    let alone = from(&gru, &["-", "-o", "net.c"]);
    alone.failed(
        1,
        &[
            "--> standard input:",
            "came through a pipe without its file of weights",
            "--weights FILE.bin",
        ],
    );
    let weights = gru.with_extension("bin");
    let weights = weights.to_str().unwrap();
    from(&gru, &["-", "--weights", weights, "-o", "net.c"]).succeeded();
    let checked =
        from(&gru, &["check", "-", "--weights", weights, "--steps=2", "--emit=c", "--isa=generic"]);
    assert!(checked.succeeded().stdout.starts_with("standard input: 2 steps"));
    fs::write(place.path("bad.json"), "{\"layers\": 1}").unwrap();
    from(&place.path("bad.json"), &["-", "-o", "net.c"]).failed(1, &["\"standard input\""]);
    fs::write(place.path("bad.onnx"), b"\x1c\0\0\0TFL3").unwrap();
    let lines = ["\"standard input\" is a TensorFlow Lite model", "cellc piped_model.xml -o net.c"];
    from(&place.path("bad.onnx"), &["-", "-o", "net.c"]).failed(1, &lines);

    // a command that would write into the pipe of its own model
    if cfg!(unix) {
        assert!(
            Command::new("sh")
                .args(["-c", "mkfifo pipe"])
                .current_dir(place.path(""))
                .status()
                .unwrap()
                .success()
        );
        let said = "the model comes out of the pipe pipe, and -o ./pipe writes into it";
        place.cellc(["pipe", "-o", "./pipe"]).failed(2, &[said]);
        place.cellc(["inspect", "pipe", "--svg", "pipe"]).failed(2, &["choose another output"]);
    }
}

/// A word of another tool suggests the command of cellc with this purpose.
#[test]
fn words_of_other_tools_are_understood() {
    let place = Place::new();
    for (word, meant) in [
        ("hlep", "help"),
        ("verify", "check"),
        ("test", "check"),
        ("info", "inspect"),
        ("inspct", "inspect"),
    ] {
        place
            .cellc([word, "net.onnx"])
            .failed(2, &[&format!("there is no command '{word}': a similar one is cellc {meant}")]);
        let said =
            format!("there is no file and no command '{word}': a similar command is cellc {meant}");
        place.cellc([word]).failed(2, &[&said]);
    }
    // a model with such a name is read
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers/nam_lstm.nam"),
        place.path("info"),
    )
    .unwrap();
    place.cellc(["info", "-o", "amp.c"]).succeeded();
    for (old, new) in [
        (&["--weight-format", "bf16-pair"][..], "--precision bf16"),
        (&["--weight-format=int8"], "--precision int8x16"),
        (&["--arithmetic", "int16"], "--precision int16"),
        (&["--arithmetic_of=a=int8"], "--precision-of a=int8"),
        (&["--arithmetic-of", "gru.h=int8"], "--precision-of LAYER=PRECISION"),
        (&["--arithmetic-of", "my layer=int8"], "--precision-of 'my layer=int8'"),
        (&["--plan", "fuse=off"], "--tune fuse=off"),
        (&["--flush-denormals"], "denormals are flushed"),
    ] {
        place.cellc([&["info", "-o", "amp.c"], old].concat()).failed(2, &[new]);
    }
    for limit in ["-1", "-1e-4", "nan", "much"] {
        place
            .cellc(["check", "info", "--max-error", limit])
            .failed(2, &["a number from 0 is needed"]);
    }
}

/// A tensor that an exporter gives for h and for c: no option keeps two states in one input.
#[test]
fn one_input_for_h_and_c_is_no_state() {
    let place = Place::new();
    let mut file = ModelFile::default();
    let [x, state] = [file.parameter("x", &[1, 2]), file.parameter("c", &[1, 3])];
    let [w, r, b] = [&[12, 2][..], &[12, 3], &[12]].map(|shape| filled(&mut file, shape));
    let inputs = [&x, &state, &state, &w, &r, &b];
    let next = file.operations(
        "LSTMCell",
        "opset4",
        "hidden_size=\"3\"",
        &inputs,
        &[vec![1, 3], vec![1, 3]],
    );
    for port in &next {
        file.result(port);
    }
    write(&file, &place, "net");
    let said = place.cellc(["net.xml", "-o", "net.c"]).succeeded().stderr;
    assert!(said.contains("export the model with a tensor of its own for h and for c"), "{said}");
    assert!(!said.contains("--state"), "{said}");
}

/// Headers for targets with different instruction sets measure the same steps, so they agree on the
/// outputs with a useful bound.
#[test]
fn headers_of_all_targets_agree_on_useful_bounds() {
    let place = Place::new();
    for case in ["onnx_lstm", "rnnoise_step_f32", "gru_cell_min"] {
        let model = corpus(case).join("model.xml");
        let said = |target: &str| {
            let all = arguments![&model, "--emit=c", "--target", target];
            let text = place.cellc(all).succeeded().stdout;
            let lines = text.lines().filter(|line| line.contains(" random "));
            let steps: Vec<_> =
                lines.map(|line| line.split(" random ").next().unwrap_or_default()).collect();
            let lines = text.lines().filter(|line| line.contains("no useful bound for"));
            let useless: Vec<_> =
                lines.map(|line| line.split(':').next().unwrap_or_default()).collect();
            assert!(!steps.is_empty(), "{case} {target}");
            format!("{steps:?} {useless:?}")
        };
        let portable = said("portable");
        for target in ["any", "cortex-m4f", "x86-64"] {
            assert_eq!(said(target), portable, "{case} {target}");
        }
    }
}

/// The header explains the rows of B if B has more parts than gates. Without a state, it has no
/// bound for states.
#[test]
fn headers_say_what_the_model_has() {
    let place = Place::new();
    let onnx = |case: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("onnx/cases").join(case).join("model.onnx")
    };
    let header = |case: &str, more: &[&str]| {
        let mut all = arguments![onnx(case), "--emit=c"];
        all.extend(more.iter().map(OsString::from));
        let text = place.cellc(all).succeeded().stdout;
        text.split("*/")
            .take(2)
            .collect::<String>()
            .replace("\n * ", " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let gru = header("gru_reset_after_17", &["--shape=x=1,?,6"]);
    assert!(gru.contains("Wbh = B[20..30], Rbh = B[50..60]"), "{gru}");
    assert!(gru.contains("inputs |x| <= 1 and states |h| <= 1"), "{gru}");
    let integers = header("few_integers", &[]);
    assert!(integers.contains("|x| <= 1") && !integers.contains("|h|"), "{integers}");
    let said = "x becomes f32: an integer below -4194304 is read as -4194304, one above 4194303 as 4194303.";
    assert!(integers.contains(said), "{integers}");
    let shown = place.cellc(arguments!["inspect", onnx("few_integers")]).succeeded().stdout.clone();
    assert!(
        shown.contains("i64 [3]") && shown.contains("boolean [3]") && shown.contains("i64 [1]"),
        "{shown}"
    );
    assert!(!shown.contains("output  sum      f32"), "{shown}");
}

#[test]
fn diagnostics_have_colours_where_they_are_asked_for_and_never_with_no_color() {
    let place = Place::new();
    let mut command = place.command(["missing.xml"]);
    let coloured = "\u{1b}[1m\u{1b}[91merror\u{1b}[0m: cannot read";
    done(command.env("CLICOLOR_FORCE", "1")).failed(1, &[coloured]);
    let plain = done(command.env("NO_COLOR", "1")).failed(1, &["error: cannot read"]);
    assert!(!plain.stderr.contains('\u{1b}'), "{}", plain.stderr);
}

#[test]
fn a_full_device_is_a_failure() {
    let place = Place::new();
    if !Path::new("/dev/full").exists() {
        return;
    }
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done = done(place.command(arguments).stdout(full));
        done.failed(1, &["standard output cannot be written"]);
    }
}

#[test]
fn a_signal_removes_temporary_folders() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    fs::create_dir(place.path("tmp")).unwrap();
    let compiler = place.script("cc", "touch ../../started\nexec sleep 5\n");
    let mut check = place.command(arguments!["check", model("gru_cell_min"), "--emit", "c"]);
    check
        .env("CC", compiler)
        .env("TMPDIR", place.path("tmp"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut check = check.spawn().unwrap();
    while !place.path("started").exists() {
        assert_eq!(check.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_ne!(fs::read_dir(place.path("tmp")).unwrap().count(), 0);
    assert!(Command::new("kill").arg(check.id().to_string()).status().unwrap().success());
    assert_eq!(check.wait().unwrap().signal(), Some(15));
    assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 0);
}

/// A set of files of two generations does not compile.
#[test]
fn mixed_files_do_not_compile() {
    let place = Place::new();
    let compile = |model: &Path, output: &str, options: &[&str]| {
        place
            .cellc(
                [
                    &[model.as_os_str(), "-o".as_ref(), output.as_ref()],
                    &options.iter().map(OsStr::new).collect::<Vec<_>>()[..],
                ]
                .concat(),
            )
            .succeeded();
    };
    let (one, other) = (model("gru_cell_min"), model("gru_cell_params"));
    compile(&one, "net.rs", &["--weights-as=file"]);
    let rustc = || {
        let mut rustc = Command::new("rustc");
        rustc
            .args(["--edition=2021", "--crate-type=lib", "--emit=metadata", "net.rs"])
            .current_dir(place.path(""));
        done(&mut rustc)
    };
    rustc().succeeded();
    let weights = place.path("net.rs.weights.bin");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, bytes).unwrap();
    rustc().failed(1, &["the file holds other weights than those of this source"]);

    if !has("cc") {
        return;
    }
    compile(&one, "net.c", &[]);
    let header = fs::read(place.path("net.h")).unwrap();
    compile(&other, "net.c", &[]);
    let cc = || {
        done(
            Command::new("cc")
                .args(["-std=c11", "-fsyntax-only", "net.c"])
                .current_dir(place.path("")),
        )
    };
    cc().succeeded();
    fs::write(place.path("net.h"), header).unwrap();
    cc().failed(1, &["the header belongs to another version of this file"]);
}

#[test]
fn wrong_arguments_are_status_2_and_leave_nothing() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).unwrap();
    let gru = model("gru_cell_min");
    let gru = gru.to_str().unwrap();
    for (arguments, words) in [
        (
            &[][..],
            &["Usage: cellc [OPTIONS] <MODEL>", "Compile the generated source and run it"][..],
        ),
        (&[gru], &["no output file: pass -o FILE", "-o gru.rs", "-o -"]),
        (&[gru, "-o"], &["--output"]),
        (&[gru, "-o", ""], &["--output <FILE>"]),
        (
            &[gru, "-o", "folder"],
            &["-o folder is a folder: name a file in it, such as folder/net.rs"],
        ),
        (&[gru, "-o", "gru"], &["which language", "--emit"]),
        (&[gru, "-o", "gru.cpp"], &["cellc writes C, and a header that C++ includes: -o gru.c"]),
        (&[gru, "-o", "a b.cc"], &["-o 'a b.c'"]),
        (&[gru, "-o", "gru.h"], &["names a header", "-o gru.c"]),
        (&[gru, "-o", "gru.hpp"], &["names a header", "-o gru.c"]),
        (&[gru, "-o", "gru.h", "--emit=c"], &["names a header", "-o gru.c"]),
        (&[gru, "-o", "gru.rs", "--lan", "c"], &["'--lan'", "-o FILE.rs or -o FILE.c, or --emit"]),
        (&[gru, "-o", "gru.rs", "-v"], &["'-v'", "cellc inspect MODEL"]),
        (
            &["inspect", gru, "-o", "gru.txt"],
            &["'-o': it is an option of cellc MODEL and cellc pack\n"],
        ),
        (&["run", gru, "--clock=80MHz"], &["'--clock': it is an option of cellc inspect\n"]),
        (&["inspct", gru], &["no command 'inspct'", "cellc inspect"]),
        (&["help", "inspct"], &["no command 'inspct'", "cellc inspect"]),
        (&["help", "compile"], &["no command 'compile'", "cellc MODEL -o FILE.rs"]),
        (&["compile", gru], &["no command 'compile'", "-o FILE.rs or -o FILE.c"]),
        (&["inspect", gru, "--svg=net.png"], &["asks for another format: --png net.png"]),
        (&["inspect", gru, "--html=net.pdf"], &["cellc draws SVG, PNG and HTML: --html net.html"]),
        (&[gru, "-o", "gru.rs", "--emit=c"], &["asks for rust, --emit for c"]),
        (&[gru, "-o", "gru.c", "--emit=plan"], &["asks for c, --emit for plan"]),
        (&[gru, "-o", "gru.c", "--runtime"], &["--runtime is for Rust"]),
        (
            &[gru, "-o", "-", "--emit=c", "--interface=i.h"],
            &["--interface needs a file that includes it: -o FILE.c"],
        ),
        (&[gru, "-o", "-", "--weights-as=file"], &["--weights-as file needs an output file"]),
        (&[gru, "-o", "gru.rs", "--isa=sse2"], &["generic", "avx2", "avx512"]),
        (&[gru, "-o", "gru.rs", "--batch=0"], &["at least 1"]),
        (&[gru, "-o", "gru.rs", "--state=h"], &["h=h_out"]),
        (&[gru, "-o", "gru.rs", "--no-state", "--state=h=o"], &["cannot be used with"]),
        (&[gru, "-o", "gru.rs", "--range=-1"], &["a finite magnitude from 0"]),
        (&[gru, "-o", "gru.rs", "--range", "-1"], &["a finite magnitude from 0"]),
        (&[gru, "gru.rs"], &["'gru.rs'", "-o gru.rs"]),
        (&[gru, gru], &["one model is compiled"]),
        (
            &[gru, "-o", "gru.rs", "--clock=80MHz"],
            &["'--clock'", "it is an option of cellc inspect"],
        ),
        (&["chek", gru], &["no command 'chek'", "cellc check"]),
        (&["-o", "gru.rs", "check", gru], &["run, check, inspect and bench, come first"]),
        (&["run", gru], &["<--inputs <PATH>|--input <NAME=FILE>>"]),
        (&["run", gru, "--inputs=in"], &["<--outputs <FOLDER>|--output <NAME=FILE>>"]),
        (
            &["run", gru, "--inputs=a", "--outputs=b", "--emit=plan"],
            &["[possible values: rust, c]"],
        ),
        (&["check", gru, "--steps=0"], &["at least 1"]),
        (&["check", gru, "--threshold=0.1"], &["decisions that differ from a recording"]),
        (&["check", gru, "--inputs=a", "--seed=2"], &["cannot be used with"]),
        (
            &["inspect", gru, "--svg=folder"],
            &["--svg folder is a folder: name a file in it, such as folder/net.svg"],
        ),
        (&["inspect", gru, "--svg=-", "--json"], &["--svg - and --json both want standard output"]),
        (
            &["inspect", gru, "--svg=-", "--html=-"],
            &["--svg - and --html - both want standard output"],
        ),
        (&["inspect", gru, "--svg", gru], &["would be overwritten", "--svg"]),
        (&["inspect", gru, "--isa=sse2"], &["generic", "avx2", "avx512"]),
        (&["inspect", gru, "--json=yes"], &["--json"]),
        (&["bench", gru, "--rounds=0"], &["at least 1"]),
        (&["bench", gru, "--seconds=-1"], &["a number of seconds"]),
    ] {
        place.cellc(arguments).failed(2, words);
        assert_eq!(place.files(), ["folder"], "{arguments:?}");
    }
    // a value that is spelled differently suggests nothing
    let done = place.cellc([gru, "-o", "gru.rs", "--lan", "c"]).failed(2, &[]);
    assert!(!done.stderr.contains("--tune"), "{}", done.stderr);
    for (target, is_similar) in [("esp32", false), ("riscv23", true)] {
        let done =
            place.cellc([gru, "-o", "gru.rs", "--target", target]).failed(2, &["possible values"]);
        assert_eq!(done.stderr.contains("similar"), is_similar, "{}", done.stderr);
    }
}

#[test]
fn a_refused_input_is_status_1_and_leaves_what_was_there() {
    let place = Place::new();
    fs::write(place.path("gru.rs"), "before").unwrap();
    fs::write(place.path("cut.xml"), &fs::read(model("gru_cell_min")).unwrap()[..700]).unwrap();
    let unknown = fs::read_to_string(model("gru_cell_min"))
        .unwrap()
        .replace("type=\"GRUCell\"", "type=\"Einsum\"");
    fs::write(place.path("unknown.xml"), unknown).unwrap();
    for (arguments, words) in [
        (arguments!["missing.xml"], &["missing.xml"][..]),
        (arguments!["cut.xml"], &["cut.xml:"]),
        (arguments!["unknown.xml"], &["unknown.xml:", "Einsum"]),
    ] {
        place.cellc(arguments.into_iter().chain(arguments!["-o", "gru.rs"])).failed(1, words);
    }
    // a missing file is reported before a missing output
    place.cellc(["missing.xml"]).failed(1, &["cannot read \"missing.xml\"", "check the path"]);
    let batch = model("gru_cell_batchdyn");
    place
        .cellc(arguments![batch, "-o", "gru.rs"])
        .failed(1, &["error: ", "model.xml:5:", "--batch", "--shape"]);
    let weights = arguments![model("gru_cell_min"), "--weights", "missing.bin", "-o", "gru.rs"];
    place.cellc(weights).failed(1, &["missing.bin", "--weights"]);
    place
        .cellc(arguments![model("gru_cell_min"), "-o", "cut.xml/gru.c"])
        .failed(1, &["cut.xml/gru.c cannot be written"]);
    assert_eq!(place.files(), ["cut.xml", "gru.rs", "unknown.xml"]);
    assert_eq!(fs::read(place.path("gru.rs")).unwrap(), b"before");
}

#[test]
fn files_that_are_no_models_are_named_before_anything_else_is_asked() {
    let place = Place::new();
    fs::write(place.path("amp.tflite"), b"\x1c\0\0\0TFL3\x14\0\x20\0").unwrap();
    fs::write(place.path("empty.pt"), "").unwrap();
    let tflite = [
        "\"amp.tflite\" is a TensorFlow Lite model",
        "\novc amp.tflite ",
        "\ncellc amp.xml -o amp.rs\n",
    ];
    for arguments in [
        &["amp.tflite"][..],
        &["amp.tflite", "-o", "amp"],
        &["amp.tflite", "-o", "amp.rs", "--weights", "w.bin"],
        &["check", "amp.tflite"],
        &["inspect", "amp.tflite", "--svg=-", "--json"],
        &["bench", "amp.tflite"],
        &["run", "amp.tflite"],
        &["run", "amp.tflite", "--inputs", "in", "--outputs", "out"],
    ] {
        place.cellc(arguments).failed(1, &tflite);
    }
    place.cellc(["empty.pt"]).failed(1, &["\"empty.pt\" is empty"]);
    place.cellc(["."]).failed(1, &["\".\" is a folder"]);
    place.cellc(["run", "--isa", "avx2"]).failed(2, &["MODEL"]);
    assert_eq!(place.files(), ["amp.tflite", "empty.pt"]);
}

#[test]
fn models_of_amplifiers_go_through_every_command() {
    let place = Place::new();
    let amplifier =
        |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers").join(name);
    let (nam, aida) = (amplifier("nam_lstm.nam"), amplifier("aida_gru_skip.json"));
    let printed = place.cellc(arguments![nam, "-o", "-"]).succeeded().stdout;
    for line in [
        "// nam_lstm.nam: SHA-256 ",
        "//   sample_rate \"48000\": ",
        "//   metadata.loudness \"-21.5\": ",
    ] {
        assert!(printed.contains(line), "no {line} in\n{printed}");
    }
    place.cellc(arguments![nam, "-o", "amp.c"]).succeeded();
    let header = fs::read_to_string(place.path("amp.h")).unwrap();
    let said = "The model's file says: metadata.loudness -21.5, sample_rate 48000.";
    assert!(header.contains(said), "{header}");
    fs::write(place.path("other.json"), "{\"weights\": 1}").unwrap();
    place.cellc(["other.json", "-o", "-"]).failed(1, &["\"gru.weight_ih_l0\" (PyTorch's weights)"]);
    let printed = place.cellc(arguments![aida, "-o", "-", "--emit=c"]).succeeded().stdout;
    assert!(printed.contains("in_skip \"1\": the input is added to the output"), "{printed}");
    place
        .cellc(arguments![nam, "--weights", "w.bin", "-o", "-"])
        .failed(1, &["has its own weights", "remove --weights"]);
    place.cellc(arguments!["inspect", aida]).succeeded();
    let checked =
        place.cellc(arguments!["check", nam, "--steps=20", "--emit=c"]).succeeded().stdout;
    assert!(checked.contains("every error is within its bound"), "{checked}");
    let inputs = place.path("in");
    fs::create_dir(&inputs).unwrap();
    fs::write(inputs.join("r0_in0.bin"), 0.5f32.to_le_bytes()).unwrap();
    place
        .cellc(arguments!["run", nam, "--inputs", inputs, "--outputs", "out", "--emit=c"])
        .succeeded();
    assert!(place.path("out/r0_out0.npy").exists());
    let wavenet = amplifier("nam_wavenet.nam");
    place.cellc(arguments!["inspect", wavenet]).succeeded();
    let printed = place.cellc(arguments![wavenet, "-o", "-"]).succeeded().stdout;
    for line in [
        "//   sample_rate \"48000\": ",
        "//   initial state absent: as silence leaves it",
        "pub fn steps_in_place(",
    ] {
        assert_eq!(printed.matches(line).count(), 1, "{line} in\n{printed}");
    }
    let text = fs::read_to_string(nam).unwrap().replacen("\"LSTM\"", "\"CatLSTM\"", 1);
    fs::write(place.path("cat.nam"), text).unwrap();
    place
        .cellc(["cat.nam", "-o", "-"])
        .failed(1, &["the architecture is \"CatLSTM\"", "valid: LSTM, WaveNet"]);
}

/// A file has the samples of all channels. Each channel has the bits of one channel by itself.
#[test]
fn files_of_sound_have_samples_and_channels() {
    let place = Place::new();
    let nam = Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers/nam_lstm.nam");
    let sample = |t: usize, channel: usize| (t * 7 % 11) as f32 / (11.0 + channel as f32) - 0.4;
    let write = |name: &str, shape: &[usize], samples: Vec<f32>| {
        let raw: Vec<u8> = samples.iter().flat_map(|v| v.to_le_bytes()).collect();
        fs::write(place.path(name), npy("<f4", shape, &raw)).unwrap();
    };
    let run = |input: &str, more: &[&str]| {
        let files = [format!("x={input}"), format!("out=out_{input}")];
        let mut arguments = arguments!["run", nam, "--input", files[0], "--output", files[1]];
        arguments.extend(more.iter().map(OsString::from));
        place.cellc(&arguments).succeeded();
        read_npy(&place.path(format!("out_{input}")))
    };
    write("both.npy", &[9, 2, 1, 1], (0..18).map(|i| sample(i / 2, i % 2)).collect());
    let (shape, both) = run("both.npy", &["--batch", "2"]);
    assert_eq!(shape, "9, 2, 1, 1");
    for channel in 0..2 {
        write("one.npy", &[9], (0..9).map(|t| sample(t, channel)).collect());
        let (shape, one) = run("one.npy", &[]);
        assert_eq!(shape, "9, 1, 1");
        let of_channel: Vec<f32> = both.iter().copied().skip(channel).step_by(2).collect();
        assert_eq!(one, of_channel);
    }
    let files = arguments!["--batch=2", "--input", "x=both.npy", "--output", "out=out_both.npy"];
    let checked = place.cellc([arguments!["check", nam], files].concat()).succeeded().stdout;
    assert!(checked.contains("against the recording"), "{checked}");
    let files =
        arguments!["run", nam, "--batch=3", "--input", "x=both.npy", "--output", "out=y.npy"];
    place.cellc(files).failed(1, &["its shape is [9, 2, 1, 1]; [?, 3, 1, 1] is needed"]);
}

#[test]
fn source_goes_to_files_and_nothing_else_is_said() {
    let place = Place::new();
    let gru = model("gru_cell_lbr1");
    let quiet = |done: Done| {
        let done = done.succeeded();
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
    };
    quiet(place.cellc(arguments![gru, "-o", "gru.rs"]));
    assert_eq!(place.files(), ["gru.rs"]);
    quiet(place.cellc(arguments![gru, "-o", "gru.c"]));
    assert_eq!(place.files(), ["gru.c", "gru.h", "gru.rs"]);
    quiet(place.cellc(arguments![gru, "-o", "kept.rs", "--weights-as", "file"]));
    assert_eq!(place.files(), ["gru.c", "gru.h", "gru.rs", "kept.rs", "kept.rs.weights.bin"]);
    // the same model in the other language, with other options, leaves these weights alone
    let weights = fs::read(place.path("kept.rs.weights.bin")).unwrap();
    quiet(place.cellc(arguments![
        gru,
        "-o",
        "kept.c",
        "--weights-as",
        "file",
        "--precision",
        "f16"
    ]));
    assert_eq!(fs::read(place.path("kept.rs.weights.bin")).unwrap(), weights);
    assert_ne!(fs::read(place.path("kept.c.weights.bin")).unwrap(), weights);
    // Files of cellc are replaced by the same bytes, whatever cellc had written before.
    let before = fs::read(place.path("gru.rs")).unwrap();
    for stood in
        ["", "//! Generated by cellc 0.0.1. Do not edit: change the model and compile it again.\n"]
    {
        fs::write(place.path("gru.rs"), stood).unwrap();
        quiet(place.cellc(arguments![gru, "-o", "gru.rs"]));
        assert_eq!(fs::read(place.path("gru.rs")).unwrap(), before);
    }
}

/// No file of another program is replaced: neither the source nor a file that belongs to it.
#[test]
fn a_file_that_cellc_did_not_write_stays() {
    let place = Place::new();
    let gru = model("gru_cell_min");
    let refused = |name: &str, arguments: Vec<OsString>| {
        let words = [&format!("{name} exists, and cellc did not write it: remove it")[..]];
        place.cellc(&arguments).failed(2, &words);
        assert_eq!(fs::read(place.path(name)).unwrap(), b"int mine;\n");
        fs::remove_file(place.path(name)).unwrap();
        assert_eq!(place.files(), Vec::<String>::new());
    };
    for (name, output) in [("mine.c", "mine.c"), ("mine.h", "mine.c"), ("mine.rs", "mine.rs")] {
        fs::write(place.path(name), "int mine;\n").unwrap();
        refused(name, arguments![gru, "-o", output]);
    }
    fs::write(place.path("mine.c.weights.bin"), "int mine;\n").unwrap();
    refused("mine.c.weights.bin", arguments![gru, "-o", "mine.c", "--weights-as", "file"]);
    // weights of cellc are replaced if their source is gone
    let with_weights = arguments![gru, "-o", "net.c", "--weights-as", "file"];
    let again = arguments![gru, "-o", "net.c", "--weights-as", "file", "--precision", "f16"];
    for arguments in [&with_weights, &again] {
        place.cellc(arguments).succeeded();
        fs::remove_file(place.path("net.c")).unwrap();
        fs::remove_file(place.path("net.h")).unwrap();
    }
    assert_eq!(place.files(), ["net.c.weights.bin"]);
    // files that were written together are replaced together
    for format in ["f32", "f16"] {
        let arguments =
            arguments![gru, "-o", "net.c", "--weights-as", "file", "--precision", format];
        place.cellc(arguments).succeeded();
    }
    place.cellc(arguments![gru, "--emit=c", "-o", "/dev/null"]).succeeded();
}

#[test]
fn names_come_from_the_option_or_the_file() {
    let place = Place::new();
    let gru = model("gru_cell_min");
    for (arguments, name) in [
        (arguments![gru, "-o", "-"], "Model"),
        (arguments![gru, "-o", "my-net.rs"], "MyNet"),
        (arguments![gru, "-o", "my-net.rs", "--name", "other net"], "OtherNet"),
    ] {
        let printed = place.cellc(arguments).succeeded().stdout;
        let text = if printed.is_empty() {
            fs::read_to_string(place.path("my-net.rs")).unwrap()
        } else {
            printed
        };
        assert!(text.contains(&format!("pub struct {name} ")), "no {name} in\n{text}");
    }
}

#[test]
fn a_name_that_cannot_be_kept_is_said() {
    let place = Place::new();
    let gru = model("gru_cell_min");
    for (name, kept) in [
        ("MyGru", true),
        ("my_gru", true),
        ("GRU", true),
        ("my-gru", false),
        ("uint8_t", false),
        ("9", false),
    ] {
        let said = place.cellc(arguments![gru, "-o", "gru.rs", "--name", name]).succeeded().stderr;
        assert_eq!(said.is_empty(), kept, "{name}: {said}");
        assert!(
            kept || said.contains(&format!("notice: --name {name:?} cannot be kept")),
            "{said}"
        );
    }
    for (file, kept) in [
        ("my-gru.v2.rs", true),
        ("MyGru.rs", true),
        ("exp.rs", false),
        ("fn.c", false),
        ("gr\u{fc}.c", false),
    ] {
        let said = place.cellc(arguments![gru, "-o", file]).succeeded().stderr;
        assert_eq!(said.is_empty(), kept, "{file}: {said}");
        assert!(kept || said.contains("the name of the file") && said.contains("--name"), "{said}");
    }
    let said =
        place.cellc(arguments![gru, "-o", "gru.rs", "--name", "n".repeat(60)]).succeeded().stderr;
    assert!(said.contains("longer than 40 characters is cut"), "{said}");
    let said = place.cellc(arguments![gru, "-o", "uint8_t.c"]).succeeded().stderr;
    assert!(
        said.contains("the code cannot have the name of the file, \"uint8_t\": the code is called"),
        "{said}"
    );
    assert!(said.contains("the code is called `uint8_t_cell`, its type `Uint8TCell`"), "{said}");
    assert!(fs::read_to_string(place.path("uint8_t.h")).unwrap().contains("} uint8_t_cell;"));
    assert_eq!(place.cellc(arguments![gru, "--emit=plan", "--name=fn"]).succeeded().stderr, "");
}

#[test]
fn help_completions_and_manual() {
    let place = Place::new();
    for command in ["run", "check", "inspect", "bench", "completions", "man"] {
        let help = place.cellc(["help", command]).succeeded().stdout;
        assert_eq!(help, place.cellc([command, "--help"]).succeeded().stdout);
        let page = place.cellc(["man", command]).succeeded().stdout;
        let title = format!(".TH cellc-{command} 1  \"{command} {}\"", env!("CARGO_PKG_VERSION"));
        assert!(page.contains(&title), "{page}");
        assert!(place.cellc(["help"]).succeeded().stdout.contains(&format!("\n  {command} ")));
    }
    let page = place.cellc(["man"]).succeeded().stdout;
    assert!(
        page.contains(".TH cellc 1") && page.contains("weight") && page.contains("Exit status"),
        "{page}"
    );
    for (shell, word) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef cellc"),
        ("fish", "complete -c cellc"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let script = place.cellc(["completions", shell]).succeeded().stdout;
        assert!(
            script.contains(word) && script.contains("precision-of") && script.contains("inspect"),
            "{script}"
        );
    }
    place.cellc(["completions", "ksh"]).failed(2, &["bash", "zsh"]);
    place.cellc(["completions"]).failed(2, &["<SHELL>"]);
    place.cellc(["man", "bake"]).failed(2, &["no command 'bake'", "run, check"]);
}

#[test]
fn standard_output_holds_one_file() {
    let place = Place::new();
    let gru = model("gru_cell_lbr1");
    place.cellc(arguments![gru, "-o", "gru.rs"]).succeeded();
    let rust = place.cellc(arguments![gru, "-o", "-", "--name=gru"]).succeeded();
    assert_eq!(
        (rust.stdout, rust.stderr),
        (fs::read_to_string(place.path("gru.rs")).unwrap(), String::new())
    );
    let without = place.cellc(arguments![gru, "--emit=rust", "--name=gru"]).succeeded();
    assert_eq!(without.stdout, fs::read_to_string(place.path("gru.rs")).unwrap());
    // The C source and its header as one translation unit.
    let c = place.cellc(arguments![gru, "-o", "-", "--emit=c"]).succeeded().stdout;
    fs::write(place.path("all.c"), c).unwrap();
    if !has("cc") {
        return;
    }
    let mut cc = Command::new("cc");
    done(
        cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "all.c"])
            .current_dir(place.0.path()),
    )
    .succeeded();
}

/// The first model writes the file of the common interface, and the next model leaves it alone.
#[test]
fn models_share_the_file_of_their_interface() {
    let place = Place::new();
    fs::create_dir(place.path("include")).unwrap();
    let shared = place.path("include/cellc_model.h");
    let compile = |case: &str, output: &str| {
        place.cellc(arguments![
            model(case),
            "-o",
            output,
            "--isa=generic",
            "--interface=include/cellc_model.h"
        ])
    };
    compile("gru_cell_min", "one.c").succeeded();
    let (text, time) =
        (fs::read_to_string(&shared).unwrap(), fs::metadata(&shared).unwrap().modified().unwrap());
    compile("gru_cell_lbr1", "other.c").succeeded();
    assert_eq!(fs::metadata(&shared).unwrap().modified().unwrap(), time);
    assert_eq!(place.files(), ["include", "one.c", "one.h", "other.c", "other.h"]);
    if has("cc") {
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-c", "one.c", "other.c"]);
        done(cc.current_dir(place.0.path())).succeeded();
        for object in ["one.o", "other.o"] {
            fs::remove_file(place.path(object)).unwrap();
        }
    }

    // a file with another text stays
    fs::write(&shared, text + "\n").unwrap();
    compile("gru_cell_min", "third.c")
        .failed(1, &["include/cellc_model.h", "not the common interface", "= help: "]);
    place
        .cellc(arguments![model("gru_cell_min"), "-o", "net.rs", "--interface=i.h"])
        .failed(1, &["generate C, or use the trait"]);
    assert_eq!(place.files(), ["include", "one.c", "one.h", "other.c", "other.h"]);
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let place = Place::new();
    let gru = model("gru_cell_min");
    place.cellc(arguments![gru, "-o", "/dev/null"]).succeeded();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let text = place.cellc(arguments![gru, "-o", "/dev/stdout", "--emit=model"]).succeeded().stdout;
    assert!(text.contains("GRUCell"), "{text}");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    done(place.command(arguments![gru, "-o", "-"]).stdout(full))
        .failed(1, &["standard output cannot be written"]);
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let place = Place::new();
    let mut child = place
        .command(arguments![model("gru_cell_128_f32"), "-o", "-"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    // messages of a command that writes a file go to a closed pipe
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    done(place.command(arguments![model("fake_quantized_ti_gru"), "-o", "gru.rs"]).stderr(writer))
        .succeeded();
    assert!(place.path("gru.rs").exists());
}

#[test]
fn every_stage_can_be_printed() {
    let place = Place::new();
    for (stage, words) in [
        ("model", &["GRUCell", "linear_before_reset", "\"h_out\""][..]),
        ("plan", &["generic", "avx512", "fused"]),
        ("kernel", &["# generic", "# avx2", "sigmoid"]),
    ] {
        let text =
            place.cellc(arguments![model("gru_cell_lbr1"), "--emit", stage]).succeeded().stdout;
        for word in words {
            assert!(text.contains(word), "{stage} does not say {word}:\n{text}");
        }
        place
            .cellc(arguments![model("gru_cell_lbr1"), "--emit", stage, "-o", "stage.txt"])
            .succeeded();
        assert_eq!(fs::read_to_string(place.path("stage.txt")).unwrap(), text);
    }
    let narrow = place
        .cellc(arguments![model("gru_cell_lbr1"), "--emit=plan", "--isa=avx2"])
        .succeeded()
        .stdout;
    assert!(
        narrow.contains("generic") && narrow.contains("avx2") && !narrow.contains("avx512"),
        "{narrow}"
    );
    // the plan is for C on a chip, where only C has a fused multiply-add
    assert!(narrow.starts_with("plan of the generated Rust\n"), "{narrow}");
    let chip = arguments![model("gru_cell_lbr1"), "--emit=plan", "--target=cortex-m4f"];
    let chip = place.cellc(chip).succeeded().stdout;
    assert!(chip.starts_with("plan of the generated C\n") && !chip.contains("unfused"), "{chip}");
}

#[test]
fn the_model_is_never_overwritten() {
    let place = Place::new();
    for file in ["model.xml", "model.bin"] {
        fs::copy(corpus("gru_cell_lbr1").join(file), place.path(file)).unwrap();
    }
    let before = fs::read(place.path("model.bin")).unwrap();
    let words = ["model.bin would be overwritten"];
    place.cellc(["model.xml", "-o", "model.bin", "--emit=rust"]).failed(2, &words);
    let own = ["model.xml", "--weights=model.bin", "-o", "./model.bin", "--emit=plan"];
    place.cellc(own).failed(2, &words);
    place
        .cellc(["model.xml", "-o", "model.xml", "--emit=c"])
        .failed(2, &["model.xml would be overwritten"]);
    assert_eq!(place.files(), ["model.bin", "model.xml"]);
    assert_eq!(fs::read(place.path("model.bin")).unwrap(), before);
    // The file of packed weights has a name of its own, unless the model has a file of this name.
    place.cellc(["model.xml", "-o", "model.rs", "--weights-as=file"]).succeeded();
    assert_eq!(fs::read(place.path("model.bin")).unwrap(), before);
    fs::copy(place.path("model.bin"), place.path("model.rs.weights.bin")).unwrap();
    place
        .cellc([
            "model.xml",
            "--weights=model.rs.weights.bin",
            "-o",
            "model.rs",
            "--weights-as=file",
        ])
        .failed(2, &["model.rs.weights.bin would be overwritten"]);
}

#[test]
fn any_file_name_will_do() {
    let place = Place::new();
    let named = |name: &str| {
        for extension in ["xml", "bin"] {
            let from = corpus("gru_cell_min").join("model").with_extension(extension);
            fs::copy(from, place.path(format!("{name}.{extension}"))).unwrap();
        }
    };
    named("-o");
    place.cellc(["-o", "out.rs", "--", "-o.xml"]).succeeded();
    named("run");
    place.cellc(["run.xml", "-o", "run.rs"]).succeeded();
    // Names that would end a string or a line of the source that includes the weights.
    let odd = "two words\n\"quoted\" \\ \u{202e}ünï";
    named(odd);
    for (compiler, extension) in
        [("rustc", "rs"), ("cc", "c")].into_iter().filter(|(compiler, _)| has(compiler))
    {
        let source = format!("{odd}.{extension}");
        place
            .cellc([&format!("{odd}.xml"), "-o", &source, "--weights-as=file", "--name=odd"])
            .succeeded();
        let flags: &[_] =
            if compiler == "cc" { &["-c"] } else { &["--crate-type=lib", "--crate-name=odd"] };
        let mut compile = Command::new(compiler);
        done(compile.args(flags).arg(&source).current_dir(place.0.path())).succeeded();
    }
}

/// An f16 constant of 0.5, which is no whole number, converted to f32.
fn filled(file: &mut ModelFile, shape: &[usize]) -> Port {
    file.constant(shape, Stored::F16, std::iter::repeat_n(0.5, shape.iter().product()))
}

/// Writes the `.xml` and the `.bin`.
fn write(file: &ModelFile, place: &Place, name: &str) {
    fs::write(place.path(format!("{name}.xml")), file.text()).unwrap();
    fs::write(place.path(format!("{name}.bin")), &file.weights).unwrap();
}

#[test]
fn large_weights_stand_beside_the_source() {
    let place = Place::new();
    // A little more than 1 MiB, and than 64 MiB, once they are f32.
    for (name, hidden) in [("some", 304), ("much", 2368)] {
        let mut file = ModelFile::default();
        let [x, h] = [1, hidden].map(|size| file.parameter("", &[1, size]));
        let [w, r, b] = [&[3 * hidden, 1][..], &[3 * hidden, hidden], &[3 * hidden]]
            .map(|s| filled(&mut file, s));
        let cell = file.cell("", "GRUCell", "", &[&x, &h, &w, &r, &b]);
        file.result(&cell);
        write(&file, &place, name);
    }
    place.cellc(["much.xml", "-o", "-"]).failed(1, &["64 MiB", "-o FILE.rs"]);
    place.cellc(["some.xml", "-o", "some.rs"]).succeeded();
    assert_eq!(
        place.files(),
        ["much.bin", "much.xml", "some.bin", "some.rs", "some.rs.weights.bin", "some.xml"]
    );
    let inline = place.cellc(["some.xml", "-o", "-"]).succeeded().stdout;
    assert!(inline.len() > 1 << 20 && !inline.contains("include_bytes"));
}

/// The f32 values of a `.npy` file, and its shape as its header writes it.
fn read_npy(path: &Path) -> (String, Vec<f32>) {
    let bytes = fs::read(path).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8(bytes[10..start].to_vec()).unwrap();
    let shape = header.split(['(', ')']).nth(1).unwrap().to_owned();
    (
        shape,
        bytes[start..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect(),
    )
}

fn assert_results(place: &Place, outputs: &str, case: &str, shapes: &[&str]) {
    let results: Vec<_> = fs::read_dir(place.path(outputs)).unwrap().collect();
    assert_eq!(results.len(), shapes.len());
    for (k, shape) in shapes.iter().enumerate() {
        let (got_shape, got) = read_npy(&place.path(outputs).join(format!("r{k}_out0.npy")));
        let exact = fs::read(corpus(case).join(format!("r{k}_ref0.bin"))).unwrap();
        let exact = exact.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()));
        assert_eq!(got_shape, *shape, "{case}");
        assert_eq!(got.len(), exact.len());
        for (got, exact) in got.into_iter().zip(exact) {
            assert!(
                (f64::from(got) - exact).abs() <= 2e-6,
                "{case}, call {k}: {got} is not {exact}"
            );
        }
    }
}

#[test]
fn run_takes_open_sizes_from_each_call() {
    let place = Place::new();
    let case = "gru_cell_batchdyn";
    for (language, outputs) in [("rust", "r"), ("c", "c/deeper")] {
        let done = place.cellc(arguments![
            "run",
            model(case),
            "--inputs",
            corpus(case),
            "--outputs",
            outputs,
            "--emit",
            language,
            "--isa=generic",
        ]);
        let done = done.succeeded();
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
        assert_results(&place, outputs, case, &["1, 7", "3, 7"]);
    }
    // The same bits from both languages.
    for file in ["r0_out0.npy", "r1_out0.npy"] {
        assert_eq!(
            fs::read(place.path("r").join(file)).unwrap(),
            fs::read(place.path("c/deeper").join(file)).unwrap()
        );
    }
}

/// If this machine lacks the fused multiply-add of another machine, C's library computes it.
#[test]
fn what_is_for_another_machine_runs_here() {
    let place = Place::new();
    let case = "gru_cell_min";
    for (language, outputs) in [("rust", "r"), ("c", "c")] {
        let (emit, inputs) = (["--emit", language], corpus(case));
        place
            .cellc(arguments![
                "run",
                model(case),
                "--inputs",
                inputs,
                "--outputs",
                outputs,
                "--target=cortex-m4f",
                emit[0],
                emit[1]
            ])
            .succeeded();
    }
    assert_eq!(
        fs::read(place.path("r/r0_out0.npy")).unwrap(),
        fs::read(place.path("c/r0_out0.npy")).unwrap()
    );
    let checked = place.cellc(arguments![
        "check",
        model(case),
        "--target=cortex-m4f",
        "--steps=4",
        "--emit=c"
    ]);
    let checked = checked.succeeded().stdout;
    assert!(
        checked.contains("4 steps of the generated C for cortex-m4f, run on this machine on"),
        "{checked}"
    );
}

/// `numpy.save`, version 1, of raw elements.
fn npy(descr: &str, shape: &[usize], raw: &[u8]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|n| format!("{n},")).collect();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    header += &" ".repeat(117 - header.len());
    header.push('\n');
    [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), raw].concat()
}

/// Runs a model in both languages, and asserts equal bits. Returns the folder of the results.
fn run_both(place: &Place, model: &Path, inputs: &Path) -> &'static str {
    for (language, outputs) in [("rust", "rust"), ("c", "c")] {
        let done = place.cellc(arguments![
            "run",
            model,
            "--inputs",
            inputs,
            "--outputs",
            outputs,
            "--emit",
            language,
            "--isa=generic"
        ]);
        done.succeeded();
    }
    for entry in fs::read_dir(place.path("rust")).unwrap() {
        let name = entry.unwrap().file_name();
        let both = ["rust", "c"].map(|outputs| fs::read(place.path(outputs).join(&name)).unwrap());
        assert_eq!(both[0], both[1], "{name:?}");
    }
    "c"
}

#[test]
fn run_takes_inputs_and_outputs_by_name() {
    let place = Place::new();
    let case = "gru_cell_min";
    let run = |arguments: &[&str]| {
        let mut all = arguments!["run", model(case), "--isa=generic"];
        all.extend(arguments.iter().map(OsString::from));
        place.cellc(all)
    };
    fs::create_dir(place.path("in")).unwrap();
    for (name, len) in [("x", 1), ("h", 1)] {
        let raw: Vec<u8> = (0..len).flat_map(|i| (i as f32 / 8.0 + 0.25).to_le_bytes()).collect();
        fs::write(place.path(format!("in/r0_{name}.npy")), npy("<f4", &[1, len], &raw)).unwrap();
        fs::write(place.path(format!("{name}.bin")), raw).unwrap();
    }
    // by field in a folder: results are named by place and by field
    run(&["--inputs=in", "--outputs=out"]).succeeded();
    let expected = fs::read(place.path("out/r0_out0.npy")).unwrap();
    assert_eq!(fs::read(place.path("out/r0_h_out.npy")).unwrap(), expected);
    // by option: by the model's names, by place, of raw elements
    run(&[
        "--input=x=x.bin",
        "--input",
        "h=in/r0_h.npy",
        "--output=h_out=one.npy",
        "--output=out0=two.npy",
    ])
    .succeeded();
    run(&["--input=in0=x.bin", "--input=h=h.bin", "--outputs=three", "--emit=c"]).succeeded();
    for file in ["one.npy", "two.npy", "three/r0_out0.npy", "three/r0_h_out.npy"] {
        assert_eq!(fs::read(place.path(file)).unwrap(), expected, "{file}");
    }
    // by place in a folder: so are the results
    for (i, name) in ["x", "h"].iter().enumerate() {
        fs::copy(place.path(format!("in/r0_{name}.npy")), place.path(format!("in/r1_in{i}.npy")))
            .unwrap();
    }
    run(&["--inputs=in", "--output=h_out=one.npy"]).failed(2, &["one call", "holds 2"]);
    fs::copy(place.path("in/r0_x.npy"), place.path("in/r0_in0.npy")).unwrap();
    run(&["--inputs=in", "--outputs=out"]).failed(1, &["is the same input of call 0 as"]);
    for (arguments, words) in [
        (
            &["--input=h=h.bin", "--output=out0=o.npy"][..],
            &["no file is given for", "--input x=FILE"][..],
        ),
        (
            &["--input=x=x.bin", "--input=x=x.bin", "--output=out0=o.npy"],
            &["two files are given for the input \"x\""],
        ),
        (
            &["--input=y=x.bin", "--output=out0=o.npy"],
            &["the model has no input \"y\"", "valid: x, h"],
        ),
        (
            &["--input=x=x.bin", "--input=h=h.bin", "--output=x=o.npy"],
            &["the model has no output \"x\"", "valid: h_out"],
        ),
    ] {
        run(arguments).failed(1, words);
    }
    for (arguments, words) in [
        (&["--input=x=x.bin", "--inputs=in", "--outputs=out"][..], &["cannot be used with"][..]),
        (&["--input=x", "--outputs=out"], &["x=x.npy"]),
        (&["--input=x=x.bin"], &["--outputs"]),
        (
            &["--input=x=x.bin", "--input=h=h.bin", "--output=h_out=o", "--output=out0=o"],
            &["two outputs"],
        ),
    ] {
        run(arguments).failed(2, words);
    }
    assert!(!place.path("o.npy").exists() && !place.path("o").exists());
}

/// A state without a file starts from zero and continues, as in generated code. A file replaces the
/// state.
#[test]
fn run_keeps_states_that_no_file_gives() {
    let place = Place::new();
    let run = |inputs: &str, outputs: &str| {
        place.cellc(arguments![
            "run",
            model("gru_cell_min"),
            "--isa=generic",
            "--inputs",
            inputs,
            "--outputs",
            outputs
        ])
    };
    let file = |name: &str, value: f32| {
        fs::write(place.path(name), npy("<f4", &[1, 1], &value.to_le_bytes())).unwrap()
    };
    fs::create_dir(place.path("kept")).unwrap();
    fs::create_dir(place.path("given")).unwrap();
    for (call, x) in [0.5, -0.25, 1.5].into_iter().enumerate() {
        file(&format!("kept/r{call}_x.npy"), x);
        file(&format!("given/r{call}_x.npy"), x);
        let before = call
            .checked_sub(1)
            .map(|before| read_npy(&place.path(format!("out/r{before}_h_out.npy"))).1[0]);
        file(&format!("given/r{call}_h.npy"), before.unwrap_or(0.0));
        // the calls after this one are written in the next rounds
        run("given", "out").succeeded();
    }
    let done = run("kept", "kept_out").succeeded();
    assert!(
        done.stderr
            .contains("no file is given for the state \"h\": the first call starts from zero"),
        "{done:?}"
    );
    let results = |folder: &str| {
        [0, 1, 2].map(|k| fs::read(place.path(format!("{folder}/r{k}_h_out.npy"))).unwrap())
    };
    assert_eq!(results("kept_out"), results("out"));
    file("kept/r1_h.npy", 0.125);
    run("kept", "started").succeeded();
    assert_eq!(results("started")[0], results("out")[0]);
    assert_ne!(results("started")[1], results("out")[1]);
}

/// Calls with any number of steps continue from each other with all that the model keeps: h, c, and
/// the last inputs of a convolution. Files for all states begin another sequence.
#[test]
fn run_keeps_all_of_a_model_of_any_number_of_steps() {
    let place = Place::new();
    let case = cellc_tests::corpus::onnx_folder().join("windows_and_states");
    let raw = fs::read(case.join("r0_in0.bin")).unwrap();
    let steps = raw.len() / 12;
    let exact = fs::read(case.join("r0_ref0.bin")).unwrap();
    let exact: Vec<f64> =
        exact.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let run = |parts: &[usize], more: &[&str], gives_states: bool| {
        _ = fs::remove_dir_all(place.path("in"));
        fs::create_dir(place.path("in")).unwrap();
        let mut at = 0;
        for (k, part) in parts.iter().enumerate() {
            let bytes = &raw[at * 12..(at + part) * 12];
            fs::write(place.path(format!("in/r{k}_x.npy")), npy("<f4", &[1, *part, 3], bytes))
                .unwrap();
            for name in ["h", "c"].into_iter().filter(|_| gives_states) {
                fs::write(
                    place.path(format!("in/r{k}_{name}.npy")),
                    npy("<f4", &[1, 1, 5], &[0; 20]),
                )
                .unwrap();
            }
            at += part;
        }
        let model = case.join("model.onnx");
        let arguments = arguments!["run", &model, "--isa=generic", "--inputs=in", "--outputs=out"];
        let done = place.cellc(arguments.into_iter().chain(more.iter().map(|more| more.into())));
        let text = done.succeeded().stderr.clone();
        let results =
            (0..parts.len()).flat_map(|k| read_npy(&place.path(format!("out/r{k}_y.npy"))).1);
        (results.collect::<Vec<f32>>(), text)
    };
    let differ = |found: &[f32]| {
        assert_eq!(found.len(), exact.len());
        found.iter().zip(&exact).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max)
    };
    for parts in [vec![1; steps], vec![2, 1, steps - 3], vec![steps]] {
        let (found, _) = run(&parts, &[], false);
        assert!(differ(&found) < 2e-6, "{parts:?}: {found:?}");
    }
    let asked = ["--state=h=hn", "--state=c=cn"];
    let (found, _) = run(&[2, steps - 2], &asked, false);
    assert!(differ(&found) < 2e-6, "{found:?}");
    let (found, _) = run(&[3, steps - 3], &[], true);
    assert!(differ(&found) > 1e-3, "the second call is a sequence of its own");
    // one step per call loses the inputs of the convolution, and each command warns
    let (found, text) = run(&vec![1; steps], &["--shape=x=1,1,3"], false);
    assert!(
        differ(&found) > 1e-3 && text.contains("\"conv\" sees the steps of one call only"),
        "{text}"
    );
    let model = case.join("model.onnx");
    for command in [
        arguments![&model, "--shape=x=1,1,3", "-o", "net.c"],
        arguments!["check", &model, "--shape=x=1,1,3", "--emit=c", "--inputs=in"],
        arguments!["inspect", &model, "--shape=x=1,1,3"],
    ] {
        let text = place.cellc(command).succeeded().stderr.clone();
        assert!(text.contains("\"conv\" sees the steps of one call only"), "{text}");
        assert!(text.contains("leave the number of steps open, --shape 'x=1,?,3'"), "{text}");
    }
}

/// A state that is not found continues between the calls of `run` only if `--state` names it;
/// otherwise, messages ask for its files.
#[test]
fn run_keeps_the_states_that_are_named() {
    let place = Place::new();
    let mut file = ModelFile::default();
    let [x, level, h] = ["x", "level", "h"].map(|name| file.parameter_of(name, "f32", &[1, 2]));
    let [sum, next] =
        [level, h].map(|state| file.operation("Add", "opset1", "", &[&x, &state], &[1, 2]));
    [sum, next].iter().for_each(|out| _ = file.result(out));
    write(&file, &place, "net");
    fs::create_dir(place.path("in")).unwrap();
    for k in 0..3 {
        let ones: Vec<u8> = [1f32; 2].iter().flat_map(|v| v.to_le_bytes()).collect();
        fs::write(place.path(format!("in/r{k}_x.npy")), npy("<f4", &[1, 2], &ones)).unwrap();
    }
    let run = |states: &[&str]| {
        let files = ["run", "net.xml", "--isa=generic", "--inputs=in", "--outputs=out"];
        place.cellc(files.iter().chain(states))
    };
    run(&[]).failed(1, &["calls 0 to 2 each need the inputs \"x\", \"level\" and \"h\"\n"]);
    let one = run(&["--state=level=out0"]);
    one.failed(1, &["each need the inputs \"x\" and \"h\"; the state \"level\" may have files\n"]);
    run(&["--state=level=out0", "--no-state"]).failed(2, &["--no-state"]);
    run(&["--state=level=out0", "--state=h=out1"]).succeeded();
    assert_eq!(read_npy(&place.path("out/r2_out1.npy")).1, [3.0; 2]);
}

/// For each file, the integers out of range are counted.
#[test]
fn run_says_which_integers_count_as_others() {
    let place = Place::new();
    let mut file = ModelFile::default();
    let n = file.parameter_of("n", "i32", &[3]);
    let y = file.operation("Convert", "opset1", "destination_type=\"f32\"", &[&n], &[3]);
    file.result(&y);
    write(&file, &place, "net");
    fs::create_dir(place.path("in")).unwrap();
    for (call, numbers) in [[1, 2, -4_194_304], [4_194_305, -5_000_000, 7]].into_iter().enumerate()
    {
        let raw: Vec<u8> = numbers.iter().flat_map(|n: &i32| n.to_le_bytes()).collect();
        fs::write(place.path(format!("in/r{call}_n.npy")), npy("<i4", &[3], &raw)).unwrap();
    }
    let done = place.cellc(["run", "net.xml", "--inputs=in", "--outputs=out"]).succeeded();
    let said = "r1_n.npy: 2 numbers are outside of -4194304 to 4194303, and counted as the nearest of these";
    assert!(done.stderr.contains(said) && !done.stderr.contains("r0_n.npy"), "{}", done.stderr);
    assert_eq!(read_npy(&place.path("out/r1_out0.npy")).1, [4_194_303.0, -4_194_304.0, 7.0]);
}

/// A recording of many steps for a model of one step: the command prints a script that splits the
/// recording into calls, and the script works.
#[test]
fn a_recording_for_a_model_of_one_step_is_made_into_calls() {
    let place = Place::new();
    let raw: Vec<u8> = [0.5f32, -0.25, 1.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(place.path("x.npy"), npy("<f4", &[3, 1], &raw)).unwrap();
    let run = |inputs: &[&str]| {
        let mut all = arguments!["run", model("gru_cell_min"), "--isa=generic", "--outputs=out"];
        all.extend(inputs.iter().map(OsString::from));
        place.cellc(all)
    };
    let done = run(&["--input=x=x.npy"]);
    let said = done.stderr.clone();
    done.failed(
        1,
        &[
            "one call takes one of its 3 steps",
            "numpy.take(x, k, 0).reshape([1, 1])",
            "--inputs steps",
        ],
    );
    let script =
        said.split("<<'END'\n").nth(1).and_then(|rest| rest.split("END\n").next()).unwrap();
    let has_numpy = |python: &str| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success())
    };
    if !has_numpy("python3") {
        skip("no python3 with numpy");
    } else {
        let status = Command::new("python3")
            .args(["-c", script])
            .current_dir(place.path(""))
            .status()
            .unwrap();
        assert!(status.success());
        run(&["--inputs=steps"]).succeeded();
        assert!(place.path("out/r2_h_out.npy").exists());
    }
    // a file with another number of features is no recording
    fs::write(place.path("x.npy"), npy("<f4", &[3, 2], &[0; 24])).unwrap();
    let done = run(&["--input=x=x.npy"]);
    assert!(!done.stderr.contains("steps"), "{done:?}");
}

/// Calls of one step each are no sequence: the report explains this, and does not blame the model.
#[test]
fn calls_of_one_step_are_no_sequence() {
    let place = Place::new();
    fs::create_dir(place.path("steps")).unwrap();
    for call in 0..2 {
        let raw: Vec<u8> = (0..10).flat_map(|i| (i as f32 / 8.0 - 0.5).to_le_bytes()).collect();
        fs::write(place.path(format!("steps/r{call}_in0.npy")), npy("<f4", &[1, 1, 10], &raw))
            .unwrap();
    }
    let gru = model("torch_gru2_head");
    let shape = "--shape=x=1,?,10";
    for arguments in [
        arguments!["run", &gru, shape, "--isa=generic", "--inputs=steps", "--outputs=out"],
        arguments!["check", &gru, shape, "--isa=generic", "--inputs=steps"],
    ] {
        let done = place.cellc(arguments).succeeded();
        assert!(
            done.stderr.contains("each of the 2 calls is a sequence of one step"),
            "{}",
            done.stderr
        );
        assert!(!done.stderr.contains("leave the number of steps open"), "{}", done.stderr);
    }
}

/// No name of a tensor leads to another folder.
#[test]
fn no_name_leaves_the_folder_of_the_results() {
    let place = Place::new();
    let mut file = ModelFile::default();
    let x = file.parameter("../../x", &[1, 2]);
    let y = file.named("ReLU", "opset1", "", &[&x], &[("/away/../../y", &[1, 2])]).remove(0);
    file.result(&y);
    write(&file, &place, "net");
    fs::create_dir(place.path("in")).unwrap();
    fs::write(place.path("in/r0_x.npy"), npy("<f4", &[1, 2], &[0; 8])).unwrap();
    place.cellc(["run", "net.xml", "--inputs=in", "--outputs=out/deep"]).succeeded();
    let mut found: Vec<_> =
        fs::read_dir(place.path("out/deep")).unwrap().map(|e| e.unwrap().file_name()).collect();
    found.sort();
    assert_eq!(found, ["r0_away_y.npy", "r0_out0.npy"]);
    place
        .cellc(["run", "net.xml", "--input=../../x=in/r0_x.npy", "--output=/away/../../y=y.npy"])
        .succeeded();
    assert!(place.path("y.npy").exists());
}

#[test]
fn run_keeps_variables_from_call_to_call() {
    let place = Place::new();
    let case = "stateful_gru";
    let outputs = run_both(&place, &model(case), &corpus(case));
    assert_results(&place, outputs, case, &["1, 4"; 5]);
}

/// A counter that is added to inputs of any batch: every batch has a program of its own, and the
/// count goes on.
const COUNTER: &str = r#"<net name="counter" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,1" element_type="f32"/><output><port id="0" precision="FP32" names="x"><dim>-1</dim><dim>1</dim></port></output></layer>
<layer id="1" name="first" type="Const" version="opset1"><data element_type="f32" shape="1,1" offset="0" size="4"/><output><port id="0" precision="FP32"><dim>1</dim><dim>1</dim></port></output></layer>
<layer id="2" name="one" type="Const" version="opset1"><data element_type="f32" shape="1,1" offset="4" size="4"/><output><port id="0" precision="FP32"><dim>1</dim><dim>1</dim></port></output></layer>
<layer id="3" name="read" type="ReadValue" version="opset6"><data variable_id="count" variable_type="f32" variable_shape="1,1"/><input><port id="0" precision="FP32"><dim>1</dim><dim>1</dim></port></input><output><port id="1" precision="FP32"><dim>1</dim><dim>1</dim></port></output></layer>
<layer id="4" name="next" type="Add" version="opset1"><data auto_broadcast="numpy"/><input><port id="0" precision="FP32"><dim>1</dim><dim>1</dim></port><port id="1" precision="FP32"><dim>1</dim><dim>1</dim></port></input><output><port id="2" precision="FP32"><dim>1</dim><dim>1</dim></port></output></layer>
<layer id="5" name="assign" type="Assign" version="opset6"><data variable_id="count"/><input><port id="0" precision="FP32"><dim>1</dim><dim>1</dim></port></input><output><port id="1" precision="FP32"><dim>1</dim><dim>1</dim></port></output></layer>
<layer id="6" name="sum" type="Add" version="opset1"><data auto_broadcast="numpy"/><input><port id="0" precision="FP32"><dim>-1</dim><dim>1</dim></port><port id="1" precision="FP32"><dim>1</dim><dim>1</dim></port></input><output><port id="2" precision="FP32" names="y"><dim>-1</dim><dim>1</dim></port></output></layer>
<layer id="7" name="y" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>-1</dim><dim>1</dim></port></input></layer>
</layers><edges>
<edge from-layer="1" from-port="0" to-layer="3" to-port="0"/>
<edge from-layer="3" from-port="1" to-layer="4" to-port="0"/>
<edge from-layer="2" from-port="0" to-layer="4" to-port="1"/>
<edge from-layer="4" from-port="2" to-layer="5" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="6" to-port="0"/>
<edge from-layer="3" from-port="1" to-layer="6" to-port="1"/>
<edge from-layer="6" from-port="2" to-layer="7" to-port="0"/>
</edges></net>"#;

#[test]
fn run_keeps_variables_from_shape_to_shape() {
    let place = Place::new();
    fs::write(place.path("counter.xml"), COUNTER).unwrap();
    fs::write(place.path("counter.bin"), [0.5f32, 1.0].map(f32::to_le_bytes).concat()).unwrap();
    fs::create_dir(place.path("in")).unwrap();
    let calls: [&[f32]; 4] = [&[10.0], &[10.0, 20.0], &[30.0], &[40.0]];
    for (k, values) in calls.iter().enumerate() {
        let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        fs::write(
            place.path("in").join(format!("r{k}_in0.npy")),
            npy("<f4", &[values.len(), 1], &raw),
        )
        .unwrap();
    }
    let outputs = run_both(&place, &place.path("counter.xml"), &place.path("in"));
    for (k, values) in calls.iter().enumerate() {
        let (shape, found) = read_npy(&place.path(outputs).join(format!("r{k}_out0.npy")));
        let count = 0.5 + k as f32;
        assert_eq!(shape, format!("{}, 1", values.len()));
        assert_eq!(found, values.iter().map(|v| v + count).collect::<Vec<_>>(), "call {k}");
    }
}

#[test]
fn run_takes_lengths_of_every_integer_type() {
    let place = Place::new();
    let case = "gru_seq_bi_lens_param";
    // raw i64, as the model has them; the second call's lengths as .npy of i32
    fs::create_dir(place.path("in")).unwrap();
    for file in ["r0_in0", "r0_in1", "r0_in2", "r1_in0", "r1_in1"].map(|name| format!("{name}.bin"))
    {
        fs::copy(corpus(case).join(&file), place.path("in").join(&file)).unwrap();
    }
    let lengths = fs::read(corpus(case).join("r1_in2.bin")).unwrap();
    let narrow: Vec<u8> = lengths.chunks_exact(8).flat_map(|b| b[..4].to_vec()).collect();
    fs::write(place.path("in/r1_in2.npy"), npy("<i4", &[3], &narrow)).unwrap();
    let outputs = run_both(&place, &model(case), &place.path("in"));
    for (k, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let (_, found) = read_npy(&place.path(outputs).join(format!("r{k}_out{j}.npy")));
        let exact = fs::read(corpus(case).join(format!("r{k}_ref{j}.bin"))).unwrap();
        let exact: Vec<_> =
            exact.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(found.len(), exact.len());
        assert!(
            found.iter().zip(&exact).all(|(a, b)| (f64::from(*a) - b).abs() <= 2e-6),
            "r{k}_out{j}"
        );
    }
    // a length that is no integer is refused
    fs::write(place.path("in/r1_in2.npy"), npy("<f4", &[3], &narrow)).unwrap();
    let done = place.cellc(arguments!["run", model(case), "--inputs", "in", "--outputs", "o"]);
    done.failed(1, &["whole numbers are needed"]);
}

#[test]
fn run_takes_the_number_of_steps_from_each_call() {
    let place = Place::new();
    let case = "torch_gru2_head";
    fs::create_dir(place.path("in")).unwrap();
    for (k, shape) in [[2, 5, 10], [1, 8, 10]].iter().enumerate() {
        let raw = fs::read(corpus(case).join(format!("r{k}_in0.bin"))).unwrap();
        fs::write(place.path("in").join(format!("r{k}_in0.npy")), npy("<f4", shape, &raw)).unwrap();
    }
    let outputs = run_both(&place, &model(case), &place.path("in"));
    assert_results(&place, outputs, case, &["2, 5, 4", "1, 8, 4"]);
    // only the number of steps is open
    let done = place.cellc(arguments![
        "run",
        model(case),
        "--shape=x=1,?,10",
        "--inputs",
        "in",
        "--outputs",
        "o",
        "--emit=c"
    ]);
    done.failed(1, &["r0_in0.npy: its shape is [2, 5, 10]; [1, ?, 10] is needed"]);
    fs::rename(place.path("in/r1_in0.npy"), place.path("in/r0_in0.npy")).unwrap();
    // a call of fewer steps gives the start of the results
    let (_, start) = read_npy(&place.path("in/r0_in0.npy"));
    let start: Vec<u8> = start[..30].iter().flat_map(|v| v.to_le_bytes()).collect();
    fs::write(place.path("in/r1_in0.npy"), npy("<f4", &[1, 3, 10], &start)).unwrap();
    place
        .cellc(arguments![
            "run",
            model(case),
            "--shape=x=1,?,10",
            "--inputs",
            "in",
            "--outputs",
            "o",
            "--emit=c",
            "--isa=generic"
        ])
        .succeeded();
    assert_eq!(
        fs::read(place.path("o/r0_out0.npy")).unwrap(),
        fs::read(place.path("c/r1_out0.npy")).unwrap()
    );
    let [(_, all), (_, start)] = [0, 1].map(|k| read_npy(&place.path(format!("o/r{k}_out0.npy"))));
    assert_eq!(start, all[..12]);
}

#[test]
fn a_sequence_of_which_one_step_is_made_keeps_its_type() {
    let printed = Place::new()
        .cellc(arguments![model("torch_gru2_head"), "--shape=x=1,?,10", "-o", "-"])
        .succeeded()
        .stdout;
    let titles: Vec<&str> = printed.lines().filter(|line| line.contains("\"__module")).collect();
    assert_eq!(titles.len(), 4, "{titles:?}");
    let kept =
        |title: &&str| title.contains("GRU sequence \"") && title.contains("one step at a time");
    assert!(titles.iter().all(kept), "{titles:?}");
}

#[test]
fn what_every_call_starts_anew_is_warned_about_by_every_command() {
    let place = Place::new();
    let case = "torch_gru2_head";
    let done = place.cellc(arguments![model(case), "-o", "net.rs"]);
    done.failed(
        1,
        &["help: leave the number of steps open, --shape 'x=1,?,10', and the state goes on"],
    );
    let done = place.cellc(arguments![model(case), "--shape=x=1,?,11", "-o", "net.rs"]);
    done.failed(
        1,
        &["[1, ?, 11] is given for the input, but the weights take 10", "help: correct --shape"],
    );
    fs::create_dir(place.path("in")).unwrap();
    let raw = fs::read(corpus(case).join("r1_in0.bin")).unwrap();
    fs::write(place.path("in/r0_in0.npy"), npy("<f4", &[1, 1, 10], &raw[..40])).unwrap();
    let warning = "starts every call from the same constant state: it computes one step per call, and nothing keeps h";
    let commands = [
        arguments![model(case), "--shape=x=1,1,10", "-o", "net.rs"],
        arguments!["check", model(case), "--shape=x=1,1,10", "--emit=c", "--steps=2"],
        arguments!["inspect", model(case), "--shape=x=1,1,10"],
        arguments![
            "run",
            model(case),
            "--shape=x=1,1,10",
            "--inputs",
            "in",
            "--outputs",
            "o",
            "--emit=c"
        ],
    ];
    for command in commands {
        let said = place.cellc(command.clone()).succeeded().stderr.clone();
        assert_eq!(said.matches(warning).count(), 2, "one for each layer: {command:?} {said}");
        assert!(said.contains("leave the number of steps open, --shape 'x=1,?,10'"), "{said}");
    }
    // with a request for no state, the command prints no warning; the file states the fact in both
    // cases
    for wanted in ["", "--no-state"] {
        let command = arguments![model(case), "--shape=x=1,1,10", "-o", "net.rs"];
        let command = command.into_iter().chain((!wanted.is_empty()).then(|| wanted.into()));
        assert_eq!(place.cellc(command).succeeded().stderr.is_empty(), !wanted.is_empty());
        let source = fs::read_to_string(place.path("net.rs")).unwrap();
        assert_eq!(source.matches("// State: not kept for GRUSequence").count(), 2);
    }
    for (shape, said) in [
        ("--shape=x=1,?,10", &[][..]),
        ("--shape=x=1,2,10", &["each call of 2 steps", "'x=1,?,10'"]),
    ] {
        let done = place.cellc(arguments![model(case), shape, "-o", "net.rs"]).succeeded();
        assert_eq!(done.stderr.is_empty(), said.is_empty(), "{shape}: {}", done.stderr);
        assert!(said.iter().all(|words| done.stderr.contains(words)), "{shape}: {}", done.stderr);
        assert!(!fs::read_to_string(place.path("net.rs")).unwrap().contains("not kept"), "{shape}");
    }
}

#[test]
fn states_that_are_never_kept_are_refused() {
    let place = Place::new();
    let done = place.cellc(arguments![model("lstm_seq_rev"), "-o", "net.rs"]);
    let said = done.succeeded().stderr.clone();
    let both = "notice: the inputs \"h0\" and \"c0\" and the outputs \"Ho\" and \"Co\" are not treated as states";
    assert!(said.contains(both) && said.matches("notice:").count() == 1, "{said}");
    assert!(
        said.contains(
            "runs in reverse, and the last state of the reverse direction belongs to the first step"
        ),
        "{said}"
    );
    let done = place.cellc(arguments![model("lstm_seq_rev"), "-o", "net.rs", "--state", "h0=Ho"]);
    done.failed(1, &["the state \"h0\"=\"Ho\": \"seq\" runs in reverse"]);
    let done = place.cellc(arguments![model("lstm_seq_rev"), "-o", "net.rs", "--no-state"]);
    assert_eq!(done.succeeded().stderr, "");
}

#[test]
fn check_takes_variables_lengths_and_loops() {
    let place = Place::new();
    for (case, says) in [
        ("stateful_gru", "state_h [1, 9], the variable"),
        ("gru_seq_bi_lens_param", "y [3, 2, 6, 3]"),
        ("ti_lstm_rev", "c [1, 5]"),
    ] {
        let done = place.cellc(arguments!["check", model(case), "--emit=c", "--steps=20"]);
        let out = &done.succeeded().stdout;
        assert!(out.contains(says) && out.contains("every error is within its bound"), "{out}");
        assert_eq!(
            out.contains("all steps, from the code's state"),
            case == "stateful_gru",
            "{out}"
        );
    }
}

/// The table of precisions agrees with the reports of the model compiled in each precision.
#[test]
fn inspect_compares_precisions() {
    let place = Place::new();
    let inspect = |target: &str, precision: &str| -> serde_json::Value {
        let precision = format!("--precision={precision}");
        // only integers have bodies for more instruction sets
        let isa = if target == "x86-64" { "--isa=avx512" } else { "--isa=scalar_fma" };
        let done = place.cellc(arguments![
            "inspect",
            model("torch_gru2_head_static"),
            "--json",
            "--target",
            target,
            isa,
            precision
        ]);
        serde_json::from_str(&done.succeeded().stdout).expect("it is JSON")
    };
    for (target, what) in [("cortex-m4f", "instructions"), ("x86-64", "cycles")] {
        let compared = inspect(target, "f32")["precisions"].take();
        for (at, name) in ["f32", "int16", "int8x16", "int8"].into_iter().enumerate() {
            assert_eq!(compared["names"][at], name);
            let own = inspect(target, name);
            let (rows, kernels) =
                (compared["rows"].as_array().unwrap(), own["kernels"].as_array().unwrap());
            let of_products = kernels.iter().filter(|kernel| kernel["multiply_adds"] != 0);
            let mut count = 0;
            for (row, kernel) in rows.iter().zip(of_products) {
                count += 1;
                assert_eq!(row["costs"][at]["cycles"], kernel["cycles"], "{target} {name}");
                // the product is the first layer of its kernel
                let layer = kernel["layers"][0].as_u64().unwrap() as usize;
                assert_eq!(
                    row["costs"][at]["weight_bytes"], own["layers"][layer]["weight_bytes"],
                    "{target} {name}"
                );
            }
            assert_eq!(count, 3, "{compared}");
        }
        let table = place
            .cellc(arguments!["inspect", model("torch_gru2_head_static"), "--target", target])
            .succeeded()
            .stdout
            .clone();
        assert!(
            table.contains(&format!("{what}: f32")) && table.contains("is the fastest on"),
            "{table}"
        );
    }
    // f32 has no body for an instruction set that multiplies integers
    for precision in ["int16", "int8"] {
        let done =
            place.cellc(arguments!["inspect", model("gru_cell_128_f32"), "--precision", precision]);
        let table = done.succeeded().stdout.clone();
        assert!(
            table.contains("estimated cycles of one step for each --precision on avx512_vnni")
                && table.contains("is the fastest on"),
            "{table}"
        );
        // the state of h, and the order of the panels
        assert!(table.contains("state          516 bytes"), "{table}");
    }
    // no sizes for unknown weights
    let table =
        place.cellc(arguments!["inspect", model("gru_cell_params")]).succeeded().stdout.clone();
    assert!(!table.contains("for each --precision"), "{table}");
}

/// The errors of single layers in integers add up to the error of the network, also for inputs from
/// files.
#[test]
fn check_says_what_integers_lose() {
    let place = Place::new();
    let numbers = |line: &str| -> Vec<f64> {
        line.split([' ', ',', ';']).filter_map(|word| word.parse().ok()).collect()
    };
    let line = |text: &str, part: &str| {
        let line = text
            .lines()
            .find(|line| line.contains(part))
            .unwrap_or_else(|| panic!("no {part:?} in {text}"));
        numbers(line)
    };
    for precision in ["--precision=int8", "--precision=int16"] {
        let gru = model("torch_gru2_head_static");
        let arguments = arguments!["check", &gru, "--emit=c", "--steps=50", precision];
        let checked = place.cellc(arguments).succeeded().stdout.clone();
        let rms = line(&checked, "rms error")[0];
        let alone =
            ["GRUSequence\"", "GRUSequence_1", "MatMul"].map(|layer| line(&checked, layer)[1]);
        let of_layers = f64::sqrt(alone.iter().map(|rms| rms * rms).sum());
        assert!((0.5..2.0).contains(&(rms / of_layers)), "{rms} {of_layers}: {checked}");
    }
    let folder = corpus("gru_cell_lbr1");
    let files = place.cellc(arguments![
        "check",
        model("gru_cell_lbr1"),
        "--emit=c",
        "--precision=int8",
        "--inputs",
        folder
    ]);
    let files = &files.succeeded().stdout;
    assert!(files.contains("inputs from") && line(files, "rms error")[0] > 1e-4, "{files}");
}

#[test]
fn run_reads_weights_and_npy_files() {
    let place = Place::new();
    let case = "gru_cell_params";
    fs::create_dir(place.path("in")).unwrap();
    for k in 0..2 {
        for i in 0..5 {
            let name = format!("r{k}_in{i}.bin");
            fs::copy(corpus(case).join(&name), place.path("in").join(&name)).unwrap();
        }
    }
    // An input as .npy, with twice the precision: the .bin of this input is not read.
    let raw = fs::read(place.path("in/r1_in1.bin")).unwrap();
    fs::write(place.path("in/r1_in1.bin"), "junk").unwrap();
    let values: Vec<f64> =
        raw.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()).into()).collect();
    let mut header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }".to_owned();
    header += &" ".repeat(117 - header.len());
    header.push('\n');
    let mut npy = [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes()].concat();
    npy.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    fs::write(place.path("in/r1_in1.npy"), npy).unwrap();
    place.cellc(arguments!["run", model(case), "--inputs", "in", "--outputs", "in"]).succeeded();
    fs::create_dir(place.path("out")).unwrap();
    for k in 0..2 {
        let name = format!("r{k}_out0.npy");
        fs::rename(place.path("in").join(&name), place.path("out").join(&name)).unwrap();
    }
    assert_results(&place, "out", case, &["2, 3", "2, 3"]);
}

#[test]
fn run_says_what_is_wrong_and_writes_nothing() {
    let place = Place::new();
    let min = model("gru_cell_min");
    let inputs = corpus("gru_cell_min");
    fs::create_dir(place.path("some")).unwrap();
    fs::write(place.path("some/r0_in1.bin"), [0; 4]).unwrap();
    fs::create_dir(place.path("wrong")).unwrap();
    fs::write(place.path("wrong/r0_in0.bin"), [0; 4]).unwrap();
    fs::write(place.path("wrong/r0_in1.bin"), [0; 5]).unwrap();
    let run = |inputs: &Path| {
        place.command(arguments!["run", min, "--inputs", inputs, "--outputs", "out"])
    };
    done(&mut run(Path::new("gone"))).failed(1, &["gone"]);
    done(&mut run(&place.path(""))).failed(1, &["holds no inputs", "r<k>_in<i>.npy"]);
    done(&mut run(Path::new("some"))).failed(1, &["no r0_in0.npy or .bin"]);
    done(&mut run(Path::new("wrong"))).failed(1, &["r0_in1.bin", "5 bytes", "needs 4"]);
    done(run(&inputs).env("RUSTC", "no-such-rustc"))
        .failed(1, &["no-such-rustc cannot be started", "--emit c"]);
    done(run(&inputs).arg("--emit=c").env("CC", "no-such-cc"))
        .failed(1, &["no-such-cc cannot", "--emit rust"]);
    let broken = place.script("broken", "echo it hurts >&2; exit 1");
    done(run(&inputs).env("RUSTC", &broken)).failed(1, &["it hurts", "could not compile"]);
    // Programs that report a missing instruction set, or that die.
    let lacking =
        "for last; do :; done; printf '#!/bin/sh\\nexit 3\\n' > \"$last\"; chmod +x \"$last\"";
    let lacking = place.script("lacking", lacking);
    done(run(&inputs).arg("--isa=avx512").env("RUSTC", &lacking))
        .failed(1, &["lacks the instruction set avx512"]);
    done(run(&inputs).env("RUSTC", &lacking)).failed(1, &["ended early"]);
    assert_eq!(place.files(), ["broken", "lacking", "some", "wrong"]);
}

#[test]
fn the_c_compiler_may_have_arguments() {
    let place = Place::new();
    let case = "rnn_cell_tanh";
    let arguments =
        arguments!["run", model(case), "--inputs", corpus(case), "--outputs", "out", "--emit", "c"];
    done(place.command(arguments).env("CC", "cc -Wall -Wextra -Werror")).succeeded();
    assert_results(&place, "out", case, &["2, 7", "2, 7"]);
}

#[test]
fn check_holds_the_generated_code_to_its_bound() {
    let place = Place::new();
    let gru = model("gru_cell_lbr1");
    let done = place.cellc(arguments!["check", gru, "--steps=20", "--isa=generic"]).succeeded();
    assert_eq!(done.stderr, "");
    for words in [
        "20 steps",
        "Rust on generic (unfused",
        "seed 1",
        "h_out [2, 7], the next h",
        "is within its bound",
    ] {
        assert!(done.stdout.contains(words), "{words:?} is not said:\n{}", done.stdout);
    }
    // The same seed, the same report; another seed, another.
    let seed = |seed: &str| {
        let arguments =
            arguments!["check", gru, "--steps=20", "--isa=generic", "--emit=c", "--seed", seed];
        place.cellc(arguments).succeeded().stdout
    };
    let (one, two) = (seed("1"), seed("2"));
    assert_eq!(one, done.stdout.replace("generated Rust", "generated C"));
    assert_ne!(one.lines().nth(4), two.lines().nth(4), "the largest reference value");
    // Less exact activations have bounds of their own.
    for (level, words) in
        [("fast", "tanh: at most 1.300e-6 |y|"), ("audio", "tanh: at most 1.750e-5 |y|")]
    {
        let arguments = arguments!["check", gru, "--steps=20", "--emit=c", "--accuracy", level];
        let said = place.cellc(arguments).succeeded().stdout;
        for words in [&format!("Activations: {level}"), words, "is within its bound"] {
            assert!(said.contains(words), "{words:?} is not said:\n{said}");
        }
    }
    // Inputs from files.
    let files = arguments!["check", gru, "--inputs", corpus("gru_cell_lbr1"), "--isa=generic"];
    let files = place.cellc(files).succeeded().stdout;
    assert!(files.contains("2 steps") && files.contains("inputs from"), "{files}");
    assert!(place.files().is_empty());
}

/// A file of many steps is checked step by step, and recorded outputs are compared with the
/// computed ones.
#[test]
fn check_compares_recordings_step_by_step() {
    let place = Place::new();
    let gru = model("stacked_gru_open");
    fs::create_dir(place.path("in")).unwrap();
    for name in ["case.json", "r0_in0.bin", "r0_in1.bin", "r1_in0.bin", "r1_in1.bin"] {
        fs::copy(corpus("stacked_gru_open").join(name), place.path("in").join(name)).unwrap();
    }
    place
        .cellc(arguments![
            "run",
            gru,
            "--inputs",
            "in",
            "--outputs",
            "in",
            "--emit=c",
            "--isa=generic"
        ])
        .succeeded();
    let check = |more: &[&str]| {
        let arguments = ["check", gru.to_str().unwrap(), "--emit=c", "--isa=generic"];
        place.cellc([&arguments[..], more].concat())
    };
    let steps = |folder: &str, calls: &[usize]| -> usize {
        let len = |call: &usize| {
            fs::metadata(place.path(format!("{folder}/r{call}_in0.bin"))).unwrap().len()
        };
        calls.iter().map(|call| len(call) as usize / 16).sum()
    };
    let (all, first) = (steps("in", &[0, 1]), steps("in", &[0]));
    assert!(first > 1 && all > first);
    let said = check(&["--inputs", "in", "--threshold=0.1"]).succeeded().stdout.clone();
    for words in [
        format!("{all} steps of"),
        "y [1, 1, 4]".to_owned(),
        "against the recording".to_owned(),
        format!("arg max differs                      0 of {all}\n"),
        format!("on the other side of 0.1           0 of {}\n", 4 * all),
        "every error is within its bound".to_owned(),
        "the largest error of y against the recording is".to_owned(),
        "these errors have no limit: --max-error X sets a limit".to_owned(),
    ] {
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeeze(&said).contains(&squeeze(&words)), "no {words:?} in\n{said}");
    }
    // each call has its own state, known after its last step: two layers of two calls
    assert!(said.contains(" 0 of 4\n"), "{said}");

    // one file without the state, and a recording with other values
    let one = check(&["--inputs", "in/r0_in0.bin", "--output", "y=in/r0_out0.npy", "--json"])
        .succeeded()
        .stdout
        .clone();
    let found: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!(
        (found["steps"].as_u64(), found["passed"].as_bool()),
        (Some(first as u64), Some(true))
    );
    let recording = &found["precisions"][0]["outputs"][0]["recording"];
    assert_eq!(recording["rows"].as_u64(), Some(first as u64));
    assert!(
        recording["error"].as_f64().unwrap() >= 0.0 && recording["cosine"].as_f64().unwrap() > 0.5,
        "{one}"
    );
    check(&["--input", "x=in/r0_in0.bin", "--output", "y=in/r0_out1.npy"])
        .failed(1, &["its shape is", "for each of"]);
    check(&["--output", "y=in/r0_out0.npy"]).failed(2, &["add --input"]);
    // a recorded output is read up to a limit
    fs::File::create(place.path("long.npy")).unwrap().set_len(200 << 30).unwrap();
    let long = ["--input", "x=in/r0_in0.bin", "--output", "y=long.npy"];
    check(&long).failed(1, &["the limit for a recorded output is 2 GiB"]);
    let device = ["--input", "x=in/r0_in0.bin", "--output", "y=/dev/zero"];
    if cfg!(unix) {
        check(&device).failed(1, &["it is a device"]);
    }
    // JSON escapes characters with an effect on a terminal
    let odd = "\u{202e}odd.xml";
    fs::copy(model("gru_cell_min"), place.path(odd)).unwrap();
    let weights = corpus("gru_cell_min").join("model.bin");
    let json = place
        .cellc(arguments!["check", odd, "--weights", weights, "--steps=2", "--emit=c", "--json"])
        .succeeded();
    assert!(json.stdout.contains("\\u202eodd.xml"), "{}", json.stdout);
    // an error above the limit fails, and the output is named
    let far = check(&["--inputs", "in", "--max-error=1e-9"]);
    assert_eq!(far.status, Some(1), "{}", far.stderr);
    assert!(
        far.stdout.contains("the largest error of y, ")
            && far.stdout.contains("is above --max-error 1e-9")
    );
    // inputs beyond the range of the stated bound
    let far: Vec<u8> = [5f32; 12].iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(place.path("far.bin"), far).unwrap();
    let said = check(&["--input", "x=far.bin"]).succeeded().stdout.clone();
    assert!(
        said.contains("|x| up to 5.00") && said.contains("compile with --range 5,1\n"),
        "{said}"
    );
    assert!(!check(&["--steps=3"]).succeeded().stdout.contains("--range"));
    // an output has a limit of its own, and the others the limit without a name
    let own = ["--inputs", "in", "--max-error=hn=1e-9", "--max-error=0.1"];
    let own = check(&own);
    assert_eq!(own.status, Some(1), "{}", own.stderr);
    let own = own.stdout.clone();
    assert!(
        own.contains("the largest error of hn, ") && own.contains("above --max-error hn=1e-9"),
        "{own}"
    );
    assert!(!own.contains("the largest error of y"), "{own}");
    check(&["--inputs", "in", "--max-error=y=0.1"]).succeeded();
    check(&["--max-error=z=0.1"]).failed(2, &["the output \"z\"; the model has: y, hn"]);
    check(&["--max-error=1", "--max-error=2"]).failed(2, &["two limits of all outputs"]);
    let all =
        check(&["--inputs", "in", "--precision=all", "--max-error=0.1"]).succeeded().stdout.clone();
    for words in [
        "from the recording",
        "int16",
        "int8x16",
        "int8 ",
        "flash, bytes",
        "no error is above --max-error 1e-1",
    ] {
        assert!(all.contains(words), "no {words:?} in\n{all}");
    }
    place.cellc(arguments![gru, "--precision=all"]).failed(2, &["cellc check"]);
}

#[test]
fn check_takes_models_of_every_form() {
    let place = Place::new();
    // Two cells and three results, weights known at run time, an input that nothing reads.
    let mut file = ModelFile::default();
    let [x, first, second] = [&[2, 3][..], &[2, 4], &[2, 5]].map(|shape| file.parameter("", shape));
    file.parameter("", &[2, 3, 4]);
    let [w, r, b] = [&[12, 3][..], &[12, 4], &[12]].map(|shape| file.parameter("", shape));
    let first = file.cell("", "GRUCell", "", &[&x, &first, &w, &r, &b]);
    let [w, r, b] = [&[15, 4][..], &[15, 5], &[15]].map(|shape| file.parameter("", shape));
    let second = file.cell("", "GRUCell", "", &[&first, &second, &w, &r, &b]);
    for of in [&first, &second, &x] {
        file.result(of);
    }
    write(&file, &place, "two");
    // One input, none.
    for (name, open) in [("one", true), ("none", false)] {
        let mut file = ModelFile::default();
        let x = if open { file.parameter("", &[1, 3]) } else { filled(&mut file, &[1, 3]) };
        let [h, w, r, b] =
            [&[1, 4][..], &[12, 3], &[12, 4], &[12]].map(|shape| filled(&mut file, shape));
        let cell = file.cell("", "GRUCell", "", &[&x, &h, &w, &r, &b]);
        file.result(&cell);
        write(&file, &place, name);
    }
    for (name, tables) in [("two", 3), ("one", 1), ("none", 1)] {
        for language in ["rust", "c"] {
            let model = format!("{name}.xml");
            let done = place
                .cellc(["check", &model, "--steps=4", "--emit", language, "--isa=generic"])
                .succeeded();
            assert_eq!(done.stdout.matches("one step").count(), tables, "{}", done.stdout);
        }
    }
}

#[test]
fn check_fails_where_the_generated_code_is_wrong() {
    let place = Place::new();
    // A compiler that moves every result by 2^-10.
    let wrong = "case \"$*\" in *harness.rs*) sed -i 's/y.send(/y[0][3] += 0.0009765625; y.send(/' harness.rs;; esac\n\
                 exec rustc \"$@\"";
    let wrong = place.script("wrong", wrong);
    let arguments = arguments!["check", model("gru_cell_lbr1"), "--steps=5", "--isa=generic"];
    let done = done(place.command(arguments).env("RUSTC", wrong));
    assert_eq!(done.status, Some(1), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("BROKEN: 5 values"), "{}", done.stdout);
    assert!(done.stdout.contains("element 3 (counted in C order) of step 0"), "{}", done.stdout);
    assert!(done.stdout.ends_with("the error bound is broken\n"), "{}", done.stdout);
}

#[test]
fn what_an_option_does_not_suit_is_said_at_its_layer() {
    let place = Place::new();
    let line = |case: &str, layer: &str| {
        let text = fs::read_to_string(model(case)).unwrap();
        text.lines().position(|line| line.contains("<layer ") && line.contains(layer)).unwrap() + 1
    };
    for (case, option, layer) in [
        ("gru_seq_fwd", "--threads=2", "type=\"GRUSequence\""),
        ("gru_cell_params", "--precision=f16", "type=\"GRUCell\""),
    ] {
        let done = place.cellc(arguments![model(case), option, "-o", "out.rs"]);
        done.failed(1, &[&format!("model.xml:{}:", line(case, layer))]);
    }
}

#[test]
fn bench_says_whom_it_cannot_compare_with_and_that_a_debug_build_misleads() {
    let place = Place::new();
    let nam = Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers/nam_lstm.nam");
    let done = place.cellc(arguments!["bench", nam, "--rounds=1", "--seconds=0", "--emit=c"]);
    let done = done.succeeded();
    assert!(
        done.stdout.contains("it reads OpenVINO IR (.xml) and ONNX (.onnx)"),
        "{}",
        done.stdout
    );
    // the tested command may be a release build
    assert_eq!(done.stderr.contains("debug build"), cfg!(debug_assertions), "{}", done.stderr);
}

#[test]
fn bench_checks_and_times_both_languages_and_openvino() {
    let place = Place::new();
    // 3 steps of 2 calls by a script that stands for Python
    let python = "echo \"ready itself 1.2-3\"\n\
                  while read word count; do\n\
                      case $word in call) printf '1\\n\\0\\0\\0\\0';; run) echo ${count}000000;; esac\n\
                  done";
    place.script("python3", python);
    let bench = |more: &[&str]| {
        let mut command =
            place.command(arguments!["bench", model("gru_cell_lbr1"), "--rounds=2", "--seconds=0"]);
        command.args(more).env(
            "PATH",
            format!("{}:{}", place.path("").display(), std::env::var("PATH").unwrap()),
        );
        done(&mut command).succeeded().stdout
    };
    let report: serde_json::Value = serde_json::from_str(&bench(&["--json"])).expect("JSON");
    let model = &report["model"];
    // 21 rows of 5 and 7, and 28 biases; two rows of x
    assert_eq!(
        (&model["weight_bytes"], &model["multiply_adds"]),
        (&(280 * 4).into(), &(252 * 2).into())
    );
    let (floors, rows) =
        (model["floors"].as_array().unwrap(), model["contenders"].as_array().unwrap());
    assert_eq!(rows.len(), 2 * floors.len() + 1);
    let own = |row: &&serde_json::Value| row["name"] != "OpenVINO Python";
    assert!(
        rows.iter().filter(own).all(|row| row["error_ulp_of_1"].as_f64().unwrap() < 8.0),
        "{model:#}"
    );
    assert!(rows.iter().all(|row| row["ns"]["best"].as_f64().unwrap() > 0.0), "{model:#}");
    let openvino = rows.last().unwrap();
    assert_eq!((&openvino["version"], &openvino["ns"]["median"]), (&"1.2-3".into(), &1e6.into()));
    // the library gives only one element of 14
    assert!(openvino["error_ulp_of_1"].is_null(), "{openvino}");

    place.script("python3", "echo absent ModuleNotFoundError: no such thing");
    let table = bench(&["--emit=c"]);
    assert!(table.contains("OpenVINO Python        ModuleNotFoundError: no such thing"), "{table}");
    assert!(table.contains("cellc C generic") && !table.contains("cellc Rust"), "{table}");
}

/// An inspection without the size of the generated file, which every change of its text changes.
fn without_source_size(inspection: &str) -> String {
    let line = |line: &str| match line.strip_prefix("source ") {
        Some(size) => {
            let size = size
                .trim()
                .strip_suffix(" kB")
                .expect("the source's size is in kB")
                .replace(',', "");
            assert!(size.parse::<usize>().is_ok_and(|size| size > 0), "{line}");
            "source         (kB)\n".to_owned()
        }
        None => format!("{line}\n"),
    };
    inspection.lines().map(line).collect()
}

/// Models with folded shape arithmetic, loops, variables and concatenations.
const INSPECTED: [&str; 4] =
    ["gru_cell_params", "rnnoise_stream_f32", "ti_gru", "torch_gru2_head_static"];

#[test]
fn inspect_says_what_a_model_consists_of() {
    let place = Place::new();
    for case in INSPECTED {
        let done = place.cellc(arguments!["inspect", model(case)]).succeeded();
        let begins_anew = case == "torch_gru2_head_static";
        assert_eq!(
            done.stderr.contains("begin anew at each call of 6 steps"),
            begins_anew,
            "{}",
            done.stderr
        );
        assert_eq!(
            done.stderr.matches("notice: ").count(),
            usize::from(begins_anew),
            "{}",
            done.stderr
        );
        insta::assert_snapshot!(format!("inspect_{case}"), without_source_size(&done.stdout));
    }
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn inspect_says_the_same_to_tools() {
    let place = Place::new();
    for (case, isa) in
        INSPECTED.into_iter().flat_map(|case| ["generic", "avx2", "avx512"].map(|isa| (case, isa)))
    {
        let asked = |more: &str| {
            place.cellc(arguments!["inspect", model(case), "--isa", isa, more]).succeeded().stdout
        };
        let report: serde_json::Value = serde_json::from_str(&asked("--json")).expect("JSON");
        let table = asked("--unroll=auto");
        let (kernels, totals) = (report["kernels"].as_array().unwrap(), &report["totals"]);
        let layers = report["layers"].as_array().unwrap();
        let sum = |list: &[serde_json::Value], key: &str| {
            list.iter().map(|one| one[key].as_f64().unwrap()).sum::<f64>()
        };
        for key in ["multiply_adds", "weight_bytes", "operations", "cycles"] {
            assert_eq!(sum(kernels, key), totals[key].as_f64().unwrap(), "{case}: {key}");
        }
        for key in ["multiply_adds", "weight_bytes"] {
            assert_eq!(sum(layers, key), totals[key].as_f64().unwrap(), "{case}: {key}");
        }
        assert!((sum(kernels, "share") - 1.0).abs() < 1e-9, "{case}");
        // every layer with work belongs to one kernel, and the kernel lists the layer
        for (i, layer) in layers.iter().enumerate() {
            let own = kernels
                .iter()
                .filter(|kernel| kernel["layers"].as_array().unwrap().contains(&i.into()));
            assert_eq!(own.count(), usize::from(!layer["kernel"].is_null()), "{case}: layer {i}");
        }
        // the table's lines of kernels, number by number
        for kernel in kernels {
            let name = kernel["name"].as_str().unwrap();
            let line =
                table.lines().find(|line| line.starts_with(&format!("{name} "))).expect(name);
            let numbers: Vec<String> =
                line.split_whitespace().map(|word| word.replace(',', "")).collect();
            for key in ["multiply_adds", "weight_bytes", "weight_bytes_read", "operations"] {
                let number = kernel[key].as_u64().unwrap();
                let text = if number == 0 { "-".to_owned() } else { number.to_string() };
                assert!(numbers.contains(&text), "{case}: {key} {text} is not in {line}");
            }
            assert!(
                line.contains(&format!("{:.1} %", kernel["share"].as_f64().unwrap() * 100.0)),
                "{case}: {line}"
            );
        }
    }
}

#[test]
fn inspect_says_what_a_step_costs_on_the_target() {
    let place = Place::new();
    let of_target = || arguments!["inspect", model("gru_cell_128_fp16"), "--target", "cortex-m4f"];
    let report = |more: &[&str]| -> serde_json::Value {
        let mut arguments = of_target();
        arguments.extend(more.iter().map(Into::into));
        // without a compiler
        let done = done(place.command(arguments).arg("--json").env("PATH", "")).succeeded();
        serde_json::from_str(&done.stdout).expect("JSON")
    };
    let cost = &report(&["--clock", "80MHz"])["on_target"];
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    assert_eq!(cost["multiply_adds"], 3 * 128 * (16 + 128));
    assert_eq!(cost["flash"]["weights"], 4 * (3 * 128 * (16 + 128) + 4 * 128));
    assert_eq!(cost["ram"]["state"], 4 * 128);
    let parts =
        ["state", "isa", "scratch", "packed_weights"].map(|part| number(&cost["ram"][part]));
    assert!(cost["ram"]["stack"].is_null(), "only a compiler knows the stack: {cost}");
    // a file with one body keeps no instruction set
    assert_eq!((parts[1], number(&cost["ram"]["total"])), (0, parts.iter().sum()));
    assert_eq!(cost["ram"]["scratch"], 4 * (16 + 128));
    assert!(cost["measured_by"].is_null());
    // the estimate has the order of the known size
    assert!((1000..4000).contains(&number(&cost["flash"]["code"])), "{cost}");
    let least = number(&cost["instructions_estimate"]) as f64 / 80e6;
    assert!((cost["clock"]["least_seconds"].as_f64().unwrap() - least).abs() < 1e-9, "{cost}");
    assert!(report(&[])["on_target"]["clock"].is_null());
    // the same numbers in the table and in the header
    let table = done(place.command(of_target()).args(["--clock", "80 MHz"]).env("PATH", ""))
        .succeeded()
        .stdout;
    let grouped = |n: u64| format!("{},{:03}", n / 1000, n % 1000);
    for words in [
        format!(
            "about {} instructions (an estimate)",
            grouped(number(&cost["instructions_estimate"]))
        ),
        format!("about {} of code", grouped(number(&cost["flash"]["code"]))),
        "stack is not known: arm-none-eabi-gcc is not installed".to_owned(),
        "at 80 MHz, if an instruction began in every cycle; wait states".to_owned(),
    ] {
        assert!(table.contains(&words), "{words}: {table}");
    }
    place
        .cellc(arguments![model("gru_cell_128_fp16"), "--target", "cortex-m4f", "-o", "gru.c"])
        .succeeded();
    let header = fs::read_to_string(place.path("gru.h")).unwrap();
    assert!(
        header.contains(&format!("about {} instructions", cost["instructions_estimate"])),
        "{header}"
    );
    let [state, _, scratch, _] = parts;
    let ram =
        format!("RAM: {state} bytes of state, {scratch} of scratch memory, and stack for calls.");
    assert!(header.contains(&ram), "{header}");
    // of two bodies, the default is the one for the target's compiler without flags; `--isa` names
    // the other
    let of_armv7 = |isa: &[&str]| -> serde_json::Value {
        let mut arguments =
            arguments!["inspect", model("gru_cell_128_fp16"), "--target", "armv7", "--json"];
        arguments.extend(isa.iter().map(Into::into));
        let done = done(place.command(arguments).env("PATH", "")).succeeded();
        serde_json::from_str(&done.stdout).expect("JSON")
    };
    let (vfp, neon) = (of_armv7(&[]), of_armv7(&["--isa=neon"]));
    assert_eq!((&vfp["isa"], &neon["isa"]), (&"scalar".into(), &"neon".into()));
    assert_eq!(vfp["on_target"]["name"], "armv7 (scalar)");
    let [vfp, neon] =
        [vfp, neon].map(|report| number(&report["on_target"]["instructions_estimate"]));
    assert!(neon * 3 < vfp * 2, "{neon} {vfp}");
    place
        .cellc(arguments![model("gru_cell_128_fp16"), "--target", "armv7", "-o", "gru.c"])
        .succeeded();
    let header = fs::read_to_string(place.path("gru.h")).unwrap();
    assert!(header.contains(&format!("about {vfp} instructions, {neon} with neon.")), "{header}");
    // floats are computed by calls
    let soft = done(
        place
            .command(arguments!["inspect", model("gru_cell_128_fp16"), "--target", "cortex-m0"])
            .arg("--json"),
    );
    let soft: serde_json::Value = serde_json::from_str(&soft.succeeded().stdout).expect("JSON");
    assert!(
        number(&soft["on_target"]["instructions_estimate"]) > 50 * vfp,
        "{}",
        soft["on_target"]
    );
    // unknown costs are refused
    let other = arguments!["inspect", model("gru_cell_128_fp16"), "--clock", "80MHz"];
    place.cellc(other).failed(2, &["--clock", "--target any", "cortex-m4f"]);
    for clock in ["80", "0MHz", "-1MHz", "fast", "80MB"] {
        let mut arguments = of_target();
        arguments.push(format!("--clock={clock}").into());
        place.cellc(arguments).failed(2, &["--clock"]);
    }
}

#[test]
fn inspect_counts_what_the_model_asks_for() {
    let place = Place::new();
    let report = |case: &str, more: &[&str]| -> serde_json::Value {
        let mut arguments = arguments!["inspect", model(case), "--json"];
        arguments.extend(more.iter().map(Into::into));
        serde_json::from_str(&place.cellc(arguments).succeeded().stdout).expect("JSON")
    };
    // of each GRUCell 3 H (I + H), of each dense layer I O, as the model's shapes say
    let rnnoise = report("rnnoise_stream_f32", &[]);
    let cells = 3 * (24 * (24 + 24) + 48 * (90 + 48) + 96 * (114 + 96));
    assert_eq!(rnnoise["totals"]["multiply_adds"], cells + 42 * 24 + 24 + 96 * 22);
    assert_eq!(rnnoise["totals"]["state_bytes"], 4 * (24 + 48 + 96));
    // every weight is packed, and with padding less than a cache line for each of the few runs
    let weights = 4 * (cells + 3 * (24 + 48 + 96) + 42 * 24 + 24 + 96 * 22 + 24 + 1 + 22);
    let packed = rnnoise["totals"]["weight_bytes"].as_u64().unwrap();
    assert!((weights..weights + 2048).contains(&packed), "{packed} bytes for {weights}");
    // a trip of the loop is 2 rows of one cell with I = 3, H = 4; there are 5
    let looped = report("ti_gru", &[]);
    assert_eq!(looped["totals"]["multiply_adds"], 5 * 2 * 3 * 4 * (3 + 4));
    assert_eq!(looped["layers"][2]["within"], 0);
    // the folded shape arithmetic is listed by name
    let torch = report("torch_gru2_head_static", &[]);
    let shape_of =
        torch["folded"].as_array().unwrap().iter().find(|folded| folded["kind"] == "ShapeOf");
    assert_eq!(shape_of.expect("ShapeOf is folded")["count"], 1);
    // an operator of ONNX that becomes several operations is one layer, and is not folded
    let onnx =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("onnx/cases/gru_reset_after_17/model.onnx");
    let printed =
        place.cellc(arguments!["inspect", onnx, "--shape=x=1,5,6", "--json"]).succeeded().stdout;
    let onnx: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    let kinds: Vec<&serde_json::Value> =
        onnx["folded"].as_array().unwrap().iter().map(|folded| &folded["kind"]).collect();
    assert!(
        !kinds.is_empty()
            && kinds.iter().all(|kind| **kind != "GRU" && !kind.to_string().contains(',')),
        "{onnx}"
    );
    assert_eq!(
        torch["layers"].as_array().unwrap().iter().filter(|layer| layer["done"] == "view").count(),
        2
    );
    assert_eq!(
        torch["layers"].as_array().unwrap().iter().filter(|layer| layer["done"] == "fused").count(),
        1
    );
    // the batch of the command line
    let [one, four] = ["1", "4"]
        .map(|n| report("gru_cell_batchdyn", &["--batch", n])["totals"]["multiply_adds"].as_u64());
    assert_eq!(one.map(|n| 4 * n), four);
    assert_eq!(report("gru_cell_min", &["--no-state"])["totals"]["state_bytes"], 0);
}

/// If two threads share weights, each half counts the weights that it reads in one step, apart from
/// padding.
#[test]
fn inspect_divides_weights_between_two_threads() {
    let place = Place::new();
    let (inputs, units) = (7, 80);
    let mut file = ModelFile::default();
    let [x, h] = [("x", inputs), ("h", units)].map(|(name, len)| file.parameter(name, &[1, len]));
    let [w, r, b] = [&[3 * units, inputs][..], &[3 * units, units], &[4 * units]]
        .map(|shape| filled(&mut file, shape));
    let new = file.cell("cell", "GRUCell", "linear_before_reset=\"true\"", &[&x, &h, &w, &r, &b]);
    file.result(&new);
    write(&file, &place, "net");
    let report = |more: &[&str]| -> serde_json::Value {
        let arguments = arguments!["inspect", "net.xml", "--json", "--isa", "avx2", "--tune"];
        let arguments = arguments.into_iter().chain(more.iter().map(Into::into));
        serde_json::from_str(&place.cellc(arguments).succeeded().stdout).expect("JSON")
    };
    let bytes = |of: &serde_json::Value, key: &str| of[key].as_u64().expect("a number of bytes");
    let alone = report(&["panel-columns=16"]);
    let shared = report(&["panel-columns=16,halves=on", "--threads", "2"]);
    assert_eq!(alone["totals"]["weight_bytes"], shared["totals"]["weight_bytes"]);
    let halves: Vec<_> = shared["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|k| bytes(k, "weight_bytes") > 0)
        .collect();
    // 5 panels are 3 and 2
    assert_eq!(halves.len(), 2, "{shared:#}");
    for half in &halves {
        let (own, read) = (bytes(half, "weight_bytes"), bytes(half, "weight_bytes_read"));
        assert!(own.abs_diff(read) < 64, "{own} bytes, {read} are read");
    }
    assert_ne!(halves[0]["weight_bytes"], halves[1]["weight_bytes"]);
}

#[test]
fn inspect_draws_a_picture_that_is_well_formed() {
    let place = Place::new();
    for case in INSPECTED {
        let with_file =
            place.cellc(arguments!["inspect", model(case), "--svg", "graph.svg"]).succeeded();
        let alone =
            place.cellc(arguments!["inspect", model(case), "--svg", "-"]).succeeded().stdout;
        assert_eq!(place.files(), ["graph.svg"]);
        let svg = fs::read_to_string(place.path("graph.svg")).unwrap();
        assert_eq!(svg, alone);
        assert!(with_file.stdout.contains("multiply-adds") && !with_file.stdout.contains("<svg"));
        let mut reader = quick_xml::Reader::from_str(&svg);
        let (mut depth, mut texts) = (0, Vec::new());
        loop {
            match reader.read_event().expect("well-formed") {
                quick_xml::events::Event::Start(_) => depth += 1,
                quick_xml::events::Event::End(_) => depth -= 1,
                quick_xml::events::Event::Text(text) => texts.push(text.to_string()),
                quick_xml::events::Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(depth, 0, "{case}");
        // every kernel has its box, with its share
        let json = place.cellc(arguments!["inspect", model(case), "--json"]).succeeded().stdout;
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        for kernel in report["kernels"].as_array().unwrap() {
            let share = kernel["share"].as_f64().unwrap() * 100.0;
            let title = format!("{}: {share:.1} %", kernel["name"].as_str().unwrap());
            assert!(texts.contains(&title), "{case}: {title}");
        }
        fs::remove_file(place.path("graph.svg")).unwrap();
    }
    place
        .cellc(arguments!["inspect", place.path("none.xml"), "--svg", "graph.svg"])
        .failed(1, &["none.xml"]);
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn a_depfile_names_what_was_read() {
    let place = Place::new();
    fs::create_dir(place.path("my nets")).unwrap();
    for file in ["model.xml", "model.bin"] {
        fs::copy(corpus("gru_cell_min").join(file), place.path("my nets").join(file)).unwrap();
    }
    let written = ["my nets/model.xml", "-o", "out/net.c", "--depfile", "net.d"];
    place.cellc(written).succeeded();
    let rule = fs::read_to_string(place.path("net.d")).unwrap();
    assert_eq!(rule, "out/net.c: my\\ nets/model.xml my\\ nets/model.bin\n");
    fs::copy(place.path("my nets/model.bin"), place.path("w.bin")).unwrap();
    place.cellc([&written[..], &["--weights", "w.bin"]].concat()).succeeded();
    let rule = fs::read_to_string(place.path("net.d")).unwrap();
    assert_eq!(rule, "out/net.c: my\\ nets/model.xml w.bin\n");
    // a rule is replaced if its source is gone; other files stay
    fs::remove_dir_all(place.path("out")).unwrap();
    place.cellc(written).succeeded();
    fs::remove_dir_all(place.path("out")).unwrap();
    fs::write(place.path("net.d"), "int mine;\n").unwrap();
    place.cellc(written).failed(2, &["net.d exists, and cellc did not write it"]);
    assert_eq!(fs::read_to_string(place.path("net.d")).unwrap(), "int mine;\n");
}

#[test]
fn stale_outputs_are_told() {
    let place = Place::new();
    let written = arguments![model("gru_cell_min"), "-o", "net.c"];
    let mut checked = written.clone();
    checked.push("--check-stale".into());
    place.cellc(&checked).failed(1, &["\"net.c\" does not exist", "\"net.h\" does not exist"]);
    assert_eq!(place.files(), [""; 0]);
    place.cellc(&written).succeeded();
    place.cellc(&checked).succeeded();
    fs::write(place.path("net.h"), "int mine;\n").unwrap();
    let done = place.cellc(&checked).failed(1, &["\"net.h\" is not what cellc writes"]);
    assert!(!done.stderr.contains("net.c"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(place.path("net.h")).unwrap(), "int mine;\n");
}
