//! Compiles the network into `$OUT_DIR/gtcrn.rs`. Its three caches become the state of the
//! generated struct.

fn main() -> Result<(), cellc::Error> {
    let pairs = ["conv_cache", "tra_cache", "inter_cache"]
        .map(|cache| (cache.into(), format!("{cache}_out")));
    cellc::Builder::new("model/gtcrn_simple.onnx")
        .state(cellc::State::Pairs(pairs.to_vec()))
        .name("gtcrn")
        .runtime(false)
        .compile()?;
    Ok(())
}
