//! Compiles `model/model.xml` and the `.bin` beside it into `$OUT_DIR/denoiser.rs`.

fn main() -> Result<(), cellc::Error> {
    cellc::Builder::new("model/model.xml").name("denoiser").compile()?;
    // a cell can also be declared here; its weights are then given at run time
    cellc::Builder::rnn(1, 1).activations([cellc::Activation::Relu]).name("smoother").compile()?;
    Ok(())
}
