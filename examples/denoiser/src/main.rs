//! Twelve frames through the network, as a stream would bring them.
//!
//! `cargo run -p example-denoiser`

use example_denoiser::{Denoiser, Features};

/// Features of twelve frames: little-endian f32.
static FRAMES: &[u8] = include_bytes!("../frames.bin");

fn main() {
    let values: Vec<f32> =
        FRAMES.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let frames: &[Features] = values.as_chunks().0;
    let mut denoiser = Denoiser::new();
    println!("frame  speech  gains of 22 bands, from 0 to 9");
    for (index, features) in frames.iter().enumerate() {
        let frame = denoiser.process(features);
        let gains: String =
            frame.gains.iter().map(|gain| char::from(b'0' + (gain * 9.99) as u8)).collect();
        println!("{index:5}  {:.5}  {gains}", frame.speech);
    }
    let before = denoiser.process(&frames[0]).speech;
    denoiser.restart();
    let after = denoiser.process(&frames[0]).speech;
    println!(
        "the first frame again: {before:.5} where the stream goes on, {after:.5} where it starts anew"
    );
}
