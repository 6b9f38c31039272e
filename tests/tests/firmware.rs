//! `cellc MODEL --package KIND DIR`: the descriptions for each build system, and programs built
//! from the folders. CMake runs with stand-ins for the functions of Zephyr and ESP-IDF.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc_tests::skipped::has;
use cellc_tests::{command, corpus, driver};

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

/// A stand-in for the treatment of components by ESP-IDF's CMake.
const ESP_IDF: &str = r#"
function(idf_component_register)
  cmake_parse_arguments(PARSE_ARGV 0 own "" "" "SRCS;INCLUDE_DIRS")
  add_library(network STATIC ${own_SRCS})
  target_include_directories(network PUBLIC ${own_INCLUDE_DIRS})
  set(COMPONENT_LIB network PARENT_SCOPE)
endfunction()
add_subdirectory(package)
"#;

/// A stand-in for the treatment of modules by Zephyr's CMake: `build: cmake` of `module.yml` names
/// the folder.
const ZEPHYR: &str = r#"
function(zephyr_library_named)
  set(own network PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  add_library(${own} STATIC ${ARGV})
endfunction()
function(zephyr_library_compile_options)
  target_compile_options(${own} PRIVATE ${ARGV})
endfunction()
function(zephyr_include_directories)
  target_include_directories(${own} PUBLIC ${ARGV})
endfunction()
set(CONFIG_CELLC_NET y)
add_subdirectory(package/zephyr)
"#;

/// The build systems, with stand-ins for those that use CMake.
const ALL: &[(&str, Option<&str>)] = &[
    ("zephyr", Some(ZEPHYR)),
    ("esp-idf", Some(ESP_IDF)),
    ("cmsis-pack", None),
    ("arduino", None),
];

/// A folder with a package of a corpus model.
fn written(kind: &str, purpose: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("firmware_{purpose}_{kind}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the package of an earlier run goes");
    }
    fs::create_dir_all(&folder).expect("a folder");
    let model = corpus::folder().join("gru_cell_min").join("model.xml");
    let mut cellc = Command::new(command::program());
    cellc.arg(model).args(["--name", "net", "--target", "portable", "--package", kind]);
    driver::run(cellc.arg(folder.join("package")));
    fs::write(folder.join("main.c"), MAIN).expect("the program");
    folder
}

/// The files of a folder below it, sorted by path.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

#[test]
fn packages_describe_the_network() {
    for (kind, _) in ALL {
        let package = written(kind, "described").join("package");
        let mut text = String::new();
        for path in files(&package) {
            let name = path.strip_prefix(&package).expect("a file of the package");
            text += &format!("== {}\n", name.display());
            if path.extension().is_none_or(|end| end != "c" && end != "h") {
                text += &fs::read_to_string(&path).expect("text");
            }
        }
        insta::assert_snapshot!(format!("package_{}", kind.replace('-', "_")), text);
    }
}

#[test]
fn programs_are_built_from_packages() {
    let mut results = Vec::new();
    for (kind, stand_ins) in ALL {
        let folder = written(kind, "built");
        let program = match stand_ins {
            Some(_) if !has("cmake") => continue,
            Some(stand_ins) => {
                let lists = format!(
                    "cmake_minimum_required(VERSION 3.20)\nproject(firmware LANGUAGES C)\n\
                     {stand_ins}add_executable(tool main.c)\n\
                     target_link_libraries(tool network)\n"
                );
                fs::write(folder.join("CMakeLists.txt"), lists).expect("the lists");
                let mut cmake = Command::new("cmake");
                driver::run(cmake.args(["-S", ".", "-B", "build"]).current_dir(&folder));
                let mut cmake = Command::new("cmake");
                driver::run(cmake.args(["--build", "build"]).current_dir(&folder));
                folder.join("build").join("tool")
            }
            None if !has("gcc") => continue,
            None => {
                let program = folder.join("tool");
                let mut gcc = Command::new("gcc");
                gcc.args(["-Ipackage/src", "main.c", "package/src/net.c", "-lm", "-o"]);
                driver::run(gcc.arg(&program).current_dir(&folder));
                program
            }
        };
        let output = Command::new(program).output().expect("the program starts");
        results.push(String::from_utf8(output.stdout).expect("text"));
    }
    let is_number = |text: &String| text.trim().parse::<f32>().is_ok();
    assert!(results.iter().all(is_number), "{results:?}");
    assert!(results.windows(2).all(|two| two[0] == two[1]), "{results:?}");
}

#[test]
fn packages_are_refused_that_would_lose_something() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware_refused");
    let model = corpus::folder().join("gru_cell_min").join("model.xml");
    let refused = |arguments: &[&str]| {
        let mut cellc = Command::new(command::program());
        let output = cellc.arg(&model).args(arguments).output().expect("cellc starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!folder.exists(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let folder = folder.to_str().expect("UTF-8");
    assert!(refused(&["--package", "keil", folder]).contains("cmsis-pack, arduino"));
    let file = ["--package", "zephyr", folder, "--weights-as", "file"];
    assert!(refused(&file).contains("--weights-as file"));
    assert!(
        refused(&["--package", "zephyr", folder, "--emit", "rust"]).contains("--emit for rust")
    );
    assert!(refused(&["--package", "zephyr", folder, "-o", "net.c"]).contains("--output"));
}
