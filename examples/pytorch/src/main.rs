//! A network that `train.py` trained in PyTorch: is anybody speaking?
//!
//! `cargo run -p example-pytorch`

use cellc_runtime::gru_cell;

gru_cell!(
    /// A GRU of 16 units over the energies of 4 bands, a dense layer and a sigmoid: the probability
    /// of speech.
    ///
    /// The file says so itself: `train.py` writes it by `cellc.torch`.
    VoiceActivity<weights = "model/net.safetensors">
);

fn main() {
    let mut net = VoiceActivity::new();
    let loud = [2, 3, 4, 5, 6, 7, 12, 18, 19, 20];
    println!("frame  loud  probability");
    for frame in 0..24 {
        let energy = if loud.contains(&frame) { 1.0 } else { 0.0 };
        let bands = [1.0, 0.75, 0.5, 0.25].map(|share| energy * share + 0.125);
        let mut speech = [0.0];
        net.step(&bands, &mut speech);
        let bar = "#".repeat((speech[0] * 20.0).round() as usize);
        println!("{frame:5}  {energy:4}  {:.5}  {bar}", speech[0]);
    }
}
