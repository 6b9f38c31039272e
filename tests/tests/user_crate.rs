//! Crates that use cellc: the published packages, unpacked, compile alone. A crate may be strict,
//! no_std and of any edition; it is compiled again when a model changes, and its code does not
//! depend on the machine of the build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use cellc::macros::{Macro, expand};
use cellc_tests::driver;

use crate::packages::PUBLISHED;

const SOURCE: &str = r#"//! A strict crate.
#![no_std]
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused_results, clippy::all)]

extern crate cellc_runtime;

cellc_runtime::gru_cell!(
    /// Weights in the program.
    pub Baked<model = "model/model.xml">
);
cellc_runtime::gru_cell!(pub RunTime<hidden_size = 128, input_size = 16, linear_before_reset = true>);
cellc_runtime::rnn_cell!(pub(crate) Inside<hidden_size = 3, input_size = 2, batch = 2>);

/// A module of its own.
pub mod inner {
    cellc_runtime::rnn_cell!(pub(super) Inner<hidden_size = 3, input_size = 2>);
}

/// One step.
pub fn step() -> [f32; 128] {
    let (mut cell, mut h_out) = (Baked::new(), [0.0; 128]);
    cell.step(&[1.0; 16], &mut h_out);
    h_out
}
"#;

const BUILD: &str = r#"
fn main() -> Result<(), cellc::Error> {
    cellc::Builder::new("model/model.xml").name("gru").compile()?;
    cellc::Builder::rnn(3, 2).batch(2).name("run_time").compile()?;
    // more than stands in a source: a file beside it
    let weights = vec![0.001; 512 * 512];
    let large = cellc::Builder::rnn(512, 512).weight_values(&weights, &weights, &weights[..512]).name("large").compile()?;
    assert_eq!(large.len(), 2);
    Ok(())
}
"#;

const INCLUDING: &str = r#"//! A strict crate.
#![no_std]
#![deny(warnings, missing_docs, missing_debug_implementations, unused_results, clippy::all)]

extern crate cellc_runtime;

/// A model.
pub mod gru {
    use cellc_runtime;
    cellc_runtime::include_model!("gru");
}
mod run_time {
    use cellc_runtime;
    cellc_runtime::include_model!("run_time");
}
/// A large one.
pub mod large {
    use cellc_runtime;
    cellc_runtime::include_model!("large");
}

/// One step.
pub fn step() -> [f32; 128] {
    let (mut cell, mut h_out) = (gru::Gru::new(), [0.0; 128]);
    cell.step(&[1.0; 16], &mut h_out);
    h_out
}
"#;

/// The folder of the unpacked packages that would be published.
fn published() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("published");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        cargo
            .args(["package", "--offline", "--allow-dirty", "--no-verify", "--target-dir"])
            .arg(&target);
        driver::run(cargo.args(PUBLISHED.iter().flat_map(|(name, _)| ["--package", name])));
        let folder = target.join("package");
        for (name, _) in PUBLISHED {
            let unpacked = folder.join(name);
            if unpacked.exists() {
                fs::remove_dir_all(&unpacked).expect("what an earlier run unpacked goes");
            }
            fs::create_dir(&unpacked).expect("a folder");
            let archive = format!("{name}-{}.crate", env!("CARGO_PKG_VERSION"));
            let mut tar = Command::new("tar");
            tar.args(["--strip-components=1", "-xzf", &archive, "-C", name]);
            driver::run(tar.current_dir(&folder));
        }
        folder
    })
}

/// The target folder of the packages.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("user-target")
}

/// A package in a folder outside the workspace.
struct Package {
    folder: PathBuf,
}

impl Package {
    fn new(name: &str, source: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let package = Self { folder };
        let (root, here) = (Path::new(env!("CARGO_MANIFEST_DIR")), &package.folder);
        for part in ["src", "model"] {
            fs::create_dir_all(here.join(part)).expect("a folder");
        }
        for file in ["model.xml", "model.bin"] {
            fs::copy(
                root.join("corpus/gru_cell_128_f32").join(file),
                here.join("model").join(file),
            )
            .expect("a model");
        }
        fs::copy(root.join("../Cargo.lock"), here.join("Cargo.lock"))
            .expect("the versions of the workspace");
        fs::write(here.join("src/lib.rs"), source).expect("the source");
        package.edition("2024");
        package
    }

    fn edition(&self, edition: &str) {
        let mut manifest = format!(
            "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = {edition:?}\n\n[workspace]\n\n\
             [dependencies]\ncellc-runtime = \"*\"\n\n[build-dependencies]\ncellc = \"*\"\n\n[patch.crates-io]\n"
        );
        for (name, _) in PUBLISHED {
            manifest += &format!("{name} = {{ path = {:?} }}\n", published().join(name));
        }
        fs::write(self.folder.join("Cargo.toml"), manifest).expect("the manifest");
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(&self.folder).arg("--offline").args(arguments).env_remove("RUSTFLAGS");
        command.env("CARGO_TARGET_DIR", target());
        command.envs([("CARGO_PROFILE_DEV_DEBUG", "false"), ("CARGO_INCREMENTAL", "0")]);
        command.output().expect("cargo runs")
    }

    fn check(&self) -> Result<(), String> {
        let output = self.cargo(&["check"]);
        output
            .status
            .success()
            .then_some(())
            .ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Both crates use one target folder, so that cellc is compiled once. The folder is large, and
/// removed at the end.
#[test]
fn crates_of_any_edition() {
    a_strict_crate();
    one_that_includes_what_its_build_script_compiles();
    fs::remove_dir_all(target()).expect("the folder of what is built goes");
}

fn a_strict_crate() {
    let package = Package::new("user-strict", SOURCE);
    for edition in ["2015", "2018", "2021", "2024"] {
        package.edition(edition);
        if let Err(message) = package.check() {
            panic!("edition {edition}: {message}");
        }
    }

    // compiled again when either file changes
    let (xml, bin) =
        (package.folder.join("model/model.xml"), package.folder.join("model/model.bin"));
    let text = fs::read_to_string(&xml).expect("the model");
    fs::write(&xml, text.replace("linear_before_reset=\"false\"", "linear_before_reset=\"maybe\""))
        .expect("the model");
    let message = package.check().expect_err("an attribute is wrong");
    assert!(message.contains("maybe") && message.contains("src/lib.rs:10:15"), "{message}");
    fs::write(&xml, text).expect("the model");
    package.check().expect("the model is right again");
    fs::write(&bin, b"short").expect("the weights");
    let message = package.check().expect_err("the weights are cut");
    assert!(message.contains("model.bin"), "{message}");
}

fn one_that_includes_what_its_build_script_compiles() {
    let package = Package::new("user-including", INCLUDING);
    fs::write(package.folder.join("build.rs"), BUILD).expect("the build script");
    for edition in ["2015", "2018", "2021", "2024"] {
        package.edition(edition);
        // the only `use` that differs between editions
        let source = if edition == "2015" {
            INCLUDING.to_owned()
        } else {
            INCLUDING.replace("    use cellc_runtime;\n", "")
        };
        fs::write(package.folder.join("src/lib.rs"), source).expect("the source");
        if let Err(message) = package.check() {
            panic!("edition {edition}: {message}");
        }
    }

    // the build script runs again when the model changes, and shows the model's errors
    let xml = package.folder.join("model/model.xml");
    let text = fs::read_to_string(&xml).expect("the model");
    fs::write(&xml, text.replace("hidden_size=\"128\"", "hidden_size=\"127\"")).expect("the model");
    let message = package.check().expect_err("an attribute is wrong");
    assert!(
        message.contains("model/model.xml:49:") && message.contains("hidden_size is 127"),
        "{message}"
    );
    // a warning is shown, but does not fail the build
    let alpha = text.replace("activations_alpha=\"\"", "activations_alpha=\"1.5\"");
    fs::write(&xml, &alpha).expect("the model");
    let output = package.cargo(&["check"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && message.contains("activations_alpha has no effect"),
        "{message}"
    );
}

#[test]
fn an_expansion_holds_no_path_of_the_machine() {
    // the call of the macro crate
    let call = "pub Baked<model = \"corpus/gru_cell_128_f32/model.xml\">".parse().expect("tokens");
    let text = expand(Macro::GRU_CELL, call).to_string();
    // an error has no module; a module has a `compile_error!` for other processors
    assert!(text.contains("pub mod baked"), "{text:.2000}");
    assert!(
        text.contains("include_bytes ! (concat ! (env ! (\"CARGO_MANIFEST_DIR\")"),
        "{text:.2000}"
    );
    assert!(
        !text.contains(env!("CARGO_MANIFEST_DIR").trim_end_matches("tests")),
        "a path of the machine"
    );
}
