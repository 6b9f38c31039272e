//! Compiles the network into `$OUT_DIR/silero.rs`, which needs no crate at all.

fn main() -> Result<(), cellc::Error> {
    cellc::Builder::new("model/silero_vad.onnx")
        .constant("sr", 16000)
        .shape("input", [1, 576])
        .shape("state", [2, 1, 128])
        .state(cellc::State::Pairs(vec![("state".into(), "stateN".into())]))
        .name("silero")
        .runtime(false)
        .compile()?;
    Ok(())
}
