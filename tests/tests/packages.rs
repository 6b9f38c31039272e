//! The content of each published crate in the registry (`user_crate` unpacks and builds the
//! packages). The workspace compiles its dependencies once.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use cellc_tests::command;

/// The name and the folder of each published crate.
pub(crate) const PUBLISHED: &[(&str, &str)] =
    &[("cellc", "cellc"), ("cellc-macros", "cellc-macros"), ("cellc-runtime", "runtime")];

#[test]
fn packages_hold_their_licences_and_a_readme() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, folder) in PUBLISHED {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(&root).args([
            "package",
            "--list",
            "--offline",
            "--allow-dirty",
            "--package",
            name,
        ]);
        let output = command.output().expect("cargo runs");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let list = String::from_utf8(output.stdout).expect("paths are UTF-8");
        let holds = |file: &str| list.lines().any(|line| line == file);
        assert!(holds("README.md"), "{name} has no README.md");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(holds(licence), "{name} has no {licence}");
            let text = |path: &Path| fs::read_to_string(path).expect("a licence");
            assert_eq!(
                text(&root.join(folder).join(licence)),
                text(&root.join(licence)),
                "{name}: {licence}"
            );
            assert!(text(&root.join(licence)).contains("The cellc authors"));
        }
    }
}

/// `cargo build`, `cargo doc` and `cargo test` of the workspace, and `cargo test` of the default
/// members, need each package with one set of features, for programs and for build scripts and
/// macros alike. Otherwise, cellc is compiled again, also by tests that build the command or an
/// example.
#[test]
fn every_package_has_one_set_of_features() {
    let packages = |arguments: &[&str]| -> BTreeSet<String> {
        let mut command = Command::new(env!("CARGO"));
        command
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .args(["tree", "--offline"]);
        let output = command
            .args(["--prefix=none", "--format={p} {f}", "--no-dedupe"])
            .args(arguments)
            .output();
        let output = output.expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout)
            .expect("names are UTF-8")
            .lines()
            .map(str::to_owned)
            .collect()
    };
    let tested = packages(&["--workspace", "--edges=normal,build,dev"]);
    for arguments in [&["--workspace", "--edges=normal,build"][..], &["--edges=normal,build,dev"]] {
        let built = packages(arguments);
        let differ: Vec<_> = built.difference(&tested).collect();
        assert!(
            differ.is_empty() && built.len() > 50,
            "make these what tests need, in tests/Cargo.toml: {differ:?}"
        );
    }
    let mut named = BTreeSet::new();
    // the name, the version and the place; the features come last
    let package = |line: &str| {
        line.rsplit_once(' ').map_or_else(String::new, |(package, _)| package.to_owned())
    };
    let twice: Vec<_> = tested.iter().filter(|line| !named.insert(package(line))).collect();
    assert!(
        twice.is_empty(),
        "make these what other packages need, in tests/Cargo.toml: {twice:?}"
    );
}

/// The build script of the example needs cellc with the features of the command.
#[test]
fn programs_of_the_tests_share_what_is_compiled() {
    command::built("example-service");
    let compiled = command::compiled_for("cellc");
    assert!(compiled.is_empty(), "compiled once more: {compiled:?}");
}
