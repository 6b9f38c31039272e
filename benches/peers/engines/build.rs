//! Says which versions the libraries have, and where nnnoiseless lies: its layers are private, so
//! its own module of them is compiled here once more, with a way in.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rerun-if-changed=build.rs");
    let [cargo, target, out] = ["CARGO", "TARGET", "OUT_DIR"].map(|key| env::var(key).expect("cargo sets it"));
    let found = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version=1", "--filter-platform", &target])
        .output()?;
    let metadata: Value = serde_json::from_slice(&found.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    for name in ["candle-nn", "gemm", "nnnoiseless", "rten", "tract-onnx"] {
        let package =
            packages.iter().find(|package| package["name"] == name).ok_or(format!("{name} is no dependency"))?;
        let text = |key: &str| package[key].as_str().ok_or(format!("{name} has no {key}"));
        println!("cargo::rustc-env=VERSION_{}={}", name.replace('-', "_"), text("version")?);
        if name == "nnnoiseless" {
            let sources = Path::new(text("manifest_path")?).with_file_name("src");
            let [util, rnn] = ["util.rs", "rnn.rs"].map(|file| sources.join(file));
            // of the library's own code one function is called: the rest is unused here
            let modules = format!(
                "#[path = {util:?}]
#[allow(dead_code, reason = \"the benchmark calls one function of the library\")]
mod util;

#[allow(dead_code, reason = \"the benchmark calls one function of the library\")]
mod rnn {{
    include!({rnn:?});

    pub(crate) fn step(layer: &GruLayer, state: &mut [f32], x: &[f32]) {{
        layer.compute(state, x);
    }}
}}
"
            );
            fs::write(Path::new(&out).join("nnnoiseless.rs"), modules)?;
        }
    }
    Ok(())
}
