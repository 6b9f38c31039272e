//! Compiles the network into `$OUT_DIR/rnnoise.rs`, which needs no crate at all.

fn main() -> Result<(), cellc::Error> {
    cellc::Builder::new("model/model.xml").name("rnnoise").runtime(false).compile()?;
    Ok(())
}
