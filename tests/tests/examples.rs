//! The examples run, and print the promised output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc_tests::command;
use cellc_tests::machines::CORTEX_M4F;
use cellc_tests::skipped::{has, skip};

fn output_of(package: &str) -> String {
    let output = Command::new(command::built(package)).output().expect("the example starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The numbers of a line.
fn numbers(line: &str) -> Vec<f32> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn macros() {
    let text = output_of("example-macro");
    // 8, 8 ... through h' = x / 4 + 3 h / 4
    let averages: Vec<f32> = text.lines().skip(2).take(8).map(|line| numbers(line)[1]).collect();
    let mut expected = 0.0;
    for (average, input) in averages.iter().zip([8.0, 8.0, 8.0, 8.0, 0.0, 0.0, 8.0, 0.0]) {
        expected = 0.25 * input + 0.75 * expected;
        assert!((average - expected).abs() < 1e-3, "{text}");
    }
    assert!(text.contains("step 6, row 1:"), "{text}");
    assert!(text.ends_with("[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]\n"), "{text}");
}

#[test]
fn sessions() {
    let program = command::built("example-sessions");
    let output = Command::new(program).arg("2").output().expect("the example starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("cellc         p50 "), "{text}");
    assert!(text.contains("goes on elsewhere with equal bits"), "{text}");
    assert!(text.contains("ONNX Runtime  "), "{text}");
}

#[test]
fn build_script() {
    let text = output_of("example-build-script");
    let moves: Vec<f32> = text.lines().skip(2).map(|line| numbers(line)[1]).collect();
    assert_eq!(moves.len(), 24, "{text}");
    // the state settles during a tone, and moves again at the next
    assert!(
        moves[11] < moves[0] / 10.0 && moves[12] > 10.0 * moves[11] && moves[23] < moves[12] / 10.0,
        "{text}"
    );
}

/// The frames of the corpus case with the same network; the oracle gives the probabilities of
/// speech.
fn first_twelve_frames(text: &str) {
    let speech: Vec<f32> = text.lines().skip(1).take(12).map(|line| numbers(line)[1]).collect();
    let oracle = [
        0.14709, 0.14420, 0.22395, 0.28500, 0.55840, 0.43441, 0.29197, 0.39823, 0.53768, 0.30375,
        0.49208, 0.49580,
    ];
    assert_eq!(speech.len(), oracle.len(), "{text}");
    for (speech, oracle) in speech.iter().zip(oracle) {
        assert!((speech - oracle).abs() < 2e-5, "{text}");
    }
}

#[test]
fn denoiser() {
    let text = output_of("example-denoiser");
    first_twelve_frames(&text);
    assert!(text.ends_with("0.14709 where it starts anew\n"), "{text}");
}

/// PyTorch's outputs for the same frames, as printed by `train.py`.
#[test]
fn pytorch() {
    let text = output_of("example-pytorch");
    let speech: Vec<f32> = text.lines().skip(1).map(|line| numbers(line)[2]).collect();
    let pytorch = [
        0.00348, 7e-05, 8e-05, 0.02831, 0.99953, 0.99996, 0.99981, 0.9999, 0.99702, 0.00046, 1e-05,
        1e-05, 2e-05, 1e-05, 1e-05, 1e-05, 1e-05, 1e-05, 2e-05, 0.00161, 0.99811, 0.99855, 0.00059,
        1e-05,
    ];
    assert_eq!(speech.len(), pytorch.len(), "{text}");
    for (speech, pytorch) in speech.iter().zip(pytorch) {
        assert!((speech - pytorch).abs() < 2e-5, "{text}");
    }
}

/// A copy of a project that is built by its own Makefile.
fn copy(name: &str, files: &[&str]) -> PathBuf {
    copy_to(&format!("example-{name}"), name, files)
}

fn copy_to(folder: &str, name: &str, files: &[&str]) -> PathBuf {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the copy of an earlier run goes");
    }
    for name in files {
        let to = folder.join(name);
        fs::create_dir_all(to.parent().expect("it lies in a folder")).expect("a folder");
        fs::copy(example.join(name), to).expect("the example is complete");
    }
    folder
}

/// Runs `make run` in a folder with the command. Returns standard output and standard error.
fn make_run(folder: &Path, arguments: &[&str]) -> (String, String) {
    let cellc = format!("CELLC={}", command::program().display());
    make(folder, "run", &[&[&*cellc], arguments].concat())
}

fn make(folder: &Path, goal: &str, arguments: &[&str]) -> (String, String) {
    let make =
        Command::new("make").current_dir(folder).args(["--silent", goal]).args(arguments).output();
    let output = make.expect("make is installed");
    let [printed, said] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{printed}{said}");
    (printed, said)
}

/// A copy of the C project, built by its own Makefile with the command; every state is compared
/// with the float64 reference.
#[test]
fn c_project() {
    if !has("make") || !has("cc") {
        return;
    }
    let folder = copy("c", &["Makefile", "main.c", "model/gru.xml", "model/gru.bin"]);
    let (text, said) = make_run(&folder, &[]);
    assert!(said.contains("instruction set: "), "{said}");

    let path = folder.join("model/gru.xml");
    let model = cellc::internals::front::formats::read(&path, &Default::default())
        .expect("the example's model")
        .model;
    let model = cellc::internals::compile::compile(&model, &cellc::Options::default())
        .expect("the example's model")
        .model;
    assert_eq!(text.lines().count(), 12, "{text}");
    let mut h = vec![0.0; 17];
    for (frame, line) in text.lines().enumerate() {
        let wave = |channel: usize| {
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4, 3, 2, 1][(3 * frame + 2 * channel) % 16]
        };
        let x = (0..16).map(|channel| f64::from(wave(channel)) / 4.0 - 1.0).collect();
        h = cellc::internals::reference::reference(&model, &[x, h], &[]).results.remove(0);
        let printed = numbers(line);
        assert_eq!(printed.len(), h.len(), "{line}");
        for (printed, exact) in printed.iter().zip(&h) {
            assert!(
                (f64::from(*printed) - exact).abs() < 2e-6,
                "frame {frame}: {printed}, not {exact}"
            );
        }
    }
}

/// The plug-in, built and run by its own script with every compiler that this machine has.
#[test]
fn plugin() {
    if !["cmake", "make", "cc", "c++"].into_iter().all(has) {
        return;
    }
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("example-plugin");
    if build.exists() {
        fs::remove_dir_all(&build).expect("the build of an earlier run goes");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plugin/run.sh");
    let mut run = Command::new("sh");
    run.arg(script)
        .env("CELLC", command::program())
        .env("BUILD", &build)
        .env("WINEPREFIX", build.join("wine"));
    let output = run.output().expect("sh starts");
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let lacking: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("skipped: ")).collect();
    lacking.iter().for_each(|lacking| skip(lacking));
    let runs = 3 - lacking.len();
    assert!(runs > 0, "{text}");
    for (promise, times) in [
        ("  in place, in blocks, equals out of place, at once: yes", 2),
        ("the model changed while it played: yes", 1),
        ("both channels, before and after, have the bits of the models alone: yes", 1),
        ("the callback allocated and freed nothing: yes", 1),
    ] {
        assert_eq!(
            text.lines().filter(|line| *line == promise).count(),
            times * runs,
            "{promise}: {text}"
        );
    }
}

/// An amplifier model of another trainer, with one input and one output.
fn amplifier() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers/aida_lstm_skip_gains.json")
}

/// The library of models accepts every file of an amplifier.
#[test]
fn plugin_with_models_of_other_programs() {
    if !["cmake", "make", "cc", "c++"].into_iter().all(has) {
        return;
    }
    let names =
        ["CMakeLists.txt", "host.cpp", "amplifier.cpp", "amplifier.hpp", "models/clean.nam"];
    let folder = copy_to("example-plugin-json", "plugin", &names);
    fs::copy(amplifier(), folder.join("models/lead.json")).expect("a model");
    let lists = fs::read_to_string(folder.join("CMakeLists.txt")).expect("the lists");
    fs::write(folder.join("CMakeLists.txt"), lists.replace("lead.nam", "lead.json"))
        .expect("the lists");
    let cellc = format!("-DCELLC_EXECUTABLE={}", command::program().display());
    for arguments in
        [&["-S", ".", "-B", "build", &cellc][..], &["--build", "build", "--target", "models"]]
    {
        let output = Command::new("cmake")
            .args(arguments)
            .current_dir(&folder)
            .output()
            .expect("cmake starts");
        let texts =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{}", texts.concat());
    }
    assert!(folder.join("build/cellc/models/lead.c").exists());
    // a newer file of the same content is compiled once more, and only once
    fs::copy(amplifier(), folder.join("models/lead.json")).expect("a model");
    let build = || {
        let mut build = Command::new("cmake");
        let output =
            build.args(["--build", "build", "--target", "models"]).current_dir(&folder).output();
        String::from_utf8_lossy(&output.expect("cmake starts").stdout).into_owned()
    };
    let (first, second) = (build(), build());
    assert!(
        first.contains("Compiling the network lead") && !second.contains("Compiling the network"),
        "{first}{second}"
    );
}

/// An amplifier in WebAssembly, in Node.js and, if installed, in Chromium.
#[test]
fn wasm() {
    if !["node", "make", "cc", "clang", "wasm-ld"].into_iter().all(has) {
        return;
    }
    let names = ["Makefile", "native.c", "network.mjs", "worklet.mjs", "page.mjs", "index.html"];
    let names = [&names[..], &["wav.mjs", "serve.mjs", "check.mjs"]].concat();
    let folder = copy_to("example-wasm", "wasm", &names);
    let lead = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plugin/models/lead.nam");
    // the later model is older than the code of the first
    let [first, second] = [amplifier(), lead].map(|model| wasm_of(&folder, &model));
    assert_ne!(first, second);
    // a model with two inputs does not take one sample
    let mut make = Command::new("make");
    let two = Path::new(env!("CARGO_MANIFEST_DIR")).join("amplifiers/nam_lstm_two_inputs.nam");
    make.args(["native", &format!("MODEL={}", two.display())]).current_dir(&folder);
    let output =
        make.arg(format!("CELLC={}", command::program().display())).output().expect("make starts");
    let text = String::from_utf8_lossy(&output.stderr);
    let refused = "one input and one output of one element";
    assert!(!output.status.success() && text.contains(refused), "{text}");
}

/// The output of `make check` for a model.
fn wasm_of(folder: &Path, model: &Path) -> String {
    let mut make = Command::new("make");
    make.args(["--silent", "check"]).arg(format!("MODEL={}", model.display())).current_dir(folder);
    make.arg(format!("CELLC={}", command::program().display()));
    let output = make.output().expect("make starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let same = text.lines().filter(|line| line.ends_with(", the bits of this machine")).count();
    let lacking: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("skipped: ")).collect();
    lacking.iter().for_each(|lacking| skip(lacking));
    assert_eq!(same, 2 - lacking.len(), "{text}");
    text.into_owned()
}

/// The same network on a Cortex-M4F.
#[test]
fn cortex_m() {
    if !has("make") || !CORTEX_M4F.is_here() {
        return;
    }
    let folder =
        copy("cortex-m", &["Makefile", "board.c", "board.h", "board.ld", "main.c", "compare.c"]);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let denoiser = format!("DENOISER={}", examples.join("denoiser").display());
    let (text, _) = make_run(&folder, &[&denoiser]);
    first_twelve_frames(&text);
    let cost = |begin: &str, at: usize| {
        let line =
            text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{text}"));
        numbers(line)[at]
    };
    // the estimate has the order of the known number
    assert!((86_952.0..1e6).contains(&cost("a step:", 0)), "{text}");
    assert!(
        (340_000.0..400_000.0).contains(&cost("flash:", 0)) && cost("flash:", 1) > 1000.0,
        "{text}"
    );
    assert!(
        (1000.0..4000.0).contains(&cost("RAM:", 0)) && (100.0..16_000.0).contains(&cost("RAM:", 1)),
        "{text}"
    );
    let (text, _) =
        make(&folder, "compare", &[&format!("CELLC={}", command::program().display()), &denoiser]);
    let row = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let cells = line.unwrap_or_else(|| panic!("no {name}: {text}")).split_whitespace();
        cells.map(|cell| cell.parse().expect("a number")).collect::<Vec<f64>>()
    };
    let rows = ["f32", "int16", "int8x16", "int8"].map(row);
    for (row, (flash, error)) in
        rows.iter().zip([(350e3, 0.0), (188e3, 1e-3), (104e3, 2e-2), (104e3, 2e-2)])
    {
        let [bytes, ram, stack, instructions, largest, rms] = row[..] else { panic!("{text}") };
        assert!((flash..1.06 * flash).contains(&bytes), "{text}");
        assert!((1000.0..5000.0).contains(&ram) && (100.0..16_000.0).contains(&stack), "{text}");
        assert!((86_952.0..1e6).contains(&instructions), "{text}");
        assert!(
            rms <= largest && largest <= error && (error == 0.0 || rms > error / 100.0),
            "{text}"
        );
    }
    cortex_m_in_rust(&folder);
}

/// The same in Rust without std, where a compiler for that machine is installed: rustup's, or
/// Debian's, which compiles core itself.
fn cortex_m_in_rust(folder: &Path) {
    let rustc = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", "thumbv7em-none-eabihf"])
        .output();
    let libraries = rustc.expect("rustc starts").stdout;
    let of_rustup = Path::new(String::from_utf8_lossy(&libraries).trim()).is_dir();
    let of_debian = Path::new("/usr/bin/rustc").exists()
        && Path::new("/usr/lib/rustlib/src/rust/library").exists();
    // the optimisation of cellc itself changes no bit of its output, and takes most of the time
    let unoptimised = "CARGO_FLAGS=--config profile.release.package.cellc.opt-level=0";
    let mut arguments = match (of_rustup, of_debian) {
        (true, _) => vec![unoptimised.to_owned()],
        (false, true) => vec![
            "CARGO=env -u RUSTUP_TOOLCHAIN RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 /usr/bin/cargo"
                .to_owned(),
            format!("{unoptimised} -Zbuild-std=core"),
        ],
        (false, false) => return skip("no Rust for thumbv7em-none-eabihf"),
    };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    arguments.push(format!("CRATE={}", examples.join("cortex-m/rust").display()));
    arguments.push(format!(
        "BUILD={}",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("cortex-m-rust").display()
    ));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (text, _) = make(folder, "run-rust", &arguments);
    first_twelve_frames(&text);
    let line =
        text.lines().find(|line| line.starts_with("a step:")).unwrap_or_else(|| panic!("{text}"));
    assert!((86_952.0..1e6).contains(&numbers(line)[0]), "{text}");
}

#[test]
fn a_network_is_pruned_by_blocks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/pytorch");
    let python = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.current_dir(&folder).args(["-B"]).args(arguments);
        command.env("PYTHONPATH", folder.join("../../python/src")).output().expect("it starts")
    };
    if !has("python3") || !python(&["-c", "import torch"]).status.success() {
        return skip("no python3 with torch");
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pruned.safetensors");
    let output = python(&["prune.py", file.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let plan = ["--precision=int8", "--target=cortex-m4f", "--emit=plan", "--output=-"];
    let output = Command::new(command::built("cellc")).arg(file).args(plan).output();
    let text = String::from_utf8(output.expect("cellc starts").stdout).expect("UTF-8");
    assert!(text.contains("loops over an index of the blocks that are not zero"), "{text}");
}
