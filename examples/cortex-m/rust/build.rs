//! Compiles the network for the target that cargo names, and takes the frames along.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let denoiser = PathBuf::from("../../denoiser");
    cellc::Builder::new(denoiser.join("model/model.xml"))
        .name("rnnoise")
        .runtime(false)
        .compile()?;
    fs::copy(denoiser.join("frames.bin"), PathBuf::from(env::var("OUT_DIR")?).join("frames.bin"))?;
    Ok(())
}
