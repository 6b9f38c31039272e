//! Compiles the network into `$OUT_DIR/network.rs`, with its weights in a file beside it.

fn main() -> Result<(), cellc::Error> {
    cellc::Builder::new("model/g2p_en.onnx").name("network").runtime(false).compile()?;
    Ok(())
}
