//! The module for CMake, with make and with ninja.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc_tests::skipped::has;
use cellc_tests::{command, corpus};

const LISTS: &str = r#"
cmake_minimum_required(VERSION 3.20)
project(tool LANGUAGES C)
include(cellc.cmake)
add_executable(tool main.c)
cellc_add_model(tool "net of mine/model.xml" NAME net OPTIONS --target portable)
"#;

const MAIN: &str = r#"
#include "net.h"
#include <stdio.h>

int main(void) {
    static net gru;
    const float x[NET_X_SIZE] = {0.5f};
    float h_out[NET_H_OUT_SIZE];
    net_init(&gru);
    net_step(&gru, x, h_out);
    printf("%.9g\n", h_out[0]);
    return 0;
}
"#;

/// Runs cmake, and returns its output.
fn cmake(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("cmake").args(arguments).current_dir(folder).output();
    let output = output.expect("cmake starts");
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

/// A project with a model.
fn project(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the build of an earlier run goes");
    }
    let model = folder.join("net of mine");
    fs::create_dir_all(&model).expect("a folder");
    for file in ["model.xml", "model.bin"] {
        fs::copy(corpus::folder().join("gru_cell_min").join(file), model.join(file))
            .expect("the model");
    }
    fs::write(folder.join("CMakeLists.txt"), LISTS).expect("the lists");
    fs::write(folder.join("main.c"), MAIN).expect("the program");
    let module = Command::new(command::program()).arg("cmake").output().expect("cellc starts");
    fs::write(folder.join("cellc.cmake"), module.stdout).expect("the module");
    folder
}

/// The network is generated again only if a file of the model has changed. Its results are correct
/// in a Debug build whose other files are compiled with `-ffast-math`.
fn builds(generator: &str, tool: &str) {
    if !["cmake", "cc", tool].into_iter().all(has) {
        return;
    }
    let folder = project(&format!("cmake-{tool}"));
    let cellc = format!("-DCELLC_EXECUTABLE={}", command::program().display());
    cmake(
        &folder,
        &[
            "-S",
            ".",
            "-B",
            "build",
            "-G",
            generator,
            "-DCMAKE_BUILD_TYPE=Debug",
            "-DCMAKE_C_FLAGS=-ffast-math",
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            &cellc,
        ],
    );
    let build = || cmake(&folder, &["--build", "build"]).contains("Compiling the network net");
    let run = || {
        let output = Command::new(folder.join("build/tool")).output().expect("the tool starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(build());
    let before = run();
    assert!(!build(), "nothing has changed");
    let weights = folder.join("net of mine/model.bin");
    let mut bytes = fs::read(&weights).expect("weights");
    bytes[..4].copy_from_slice(&0.75f32.to_le_bytes());
    fs::write(&weights, bytes).expect("other weights");
    assert!(build(), "the weights have changed");
    assert_ne!(run(), before);
    assert!(!build(), "nothing has changed");
    let commands =
        fs::read_to_string(folder.join("build/compile_commands.json")).expect("the commands");
    let of_net = commands.lines().find(|line| line.contains("command") && line.contains("net.c"));
    assert!(of_net.is_some_and(|line| line.contains("-O2")), "{commands}");
}

#[test]
fn the_module_builds_with_make() {
    builds("Unix Makefiles", "make");
}

#[test]
fn the_module_builds_with_ninja() {
    builds("Ninja", "ninja");
}

/// The module names what a project lacks.
#[test]
fn the_module_says_what_is_missing() {
    if !["cmake", "make", "cc"].into_iter().all(has) {
        return;
    }
    let folder = project("cmake-refused");
    let cellc = format!("-DCELLC_EXECUTABLE={}", command::program().display());
    for (from, to, said) in [
        ("LANGUAGES C", "LANGUAGES NONE", "add C to the languages"),
        ("OPTIONS", "OPTION", "behind OPTIONS"),
    ] {
        fs::write(folder.join("CMakeLists.txt"), LISTS.replace(from, to)).expect("the lists");
        let arguments = ["-S", ".", "-B", "build", &cellc];
        let output = Command::new("cmake").args(arguments).current_dir(&folder).output();
        let output = output.expect("cmake starts");
        let text = String::from_utf8_lossy(&output.stderr).replace("\n  ", " ");
        assert!(!output.status.success() && text.contains(said), "{text}");
    }
}
