//! Compiles Silero VAD for eight independent sessions in a step.

fn main() -> Result<(), cellc::Error> {
    cellc::Builder::new("../vad/model/silero_vad.onnx")
        .constant("sr", 16000)
        .shape("input", [1, 576])
        .shape("state", [2, 1, 128])
        .state(cellc::State::Pairs(vec![("state".into(), "stateN".into())]))
        .streams(8)
        .name("silero")
        .runtime(false)
        .compile()?;
    Ok(())
}
