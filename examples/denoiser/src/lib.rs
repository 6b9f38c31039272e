//! The part of a denoiser that learns: RNNoise's network, a frame of features at a time.
//!
//! Nothing here needs the standard library or an allocator: the states of the three GRUs and the
//! memory for intermediate values are fields of [`Denoiser`], some 1.6 kB, and the weights lie in
//! the program.
#![no_std]

mod rnnoise {
    core::include!(concat!(env!("OUT_DIR"), "/rnnoise.rs"));
}

/// Features of one frame: 22 of its spectrum, their changes, pitch and variability, as RNNoise
/// computes them.
pub type Features = [f32; 42];

/// What the network says of one frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// By how much to multiply each of 22 bands, from 0 to 1.
    pub gains: [f32; 22],
    /// The probability that somebody speaks.
    pub speech: f32,
}

/// The network with its state.
#[derive(Clone, Debug, Default)]
pub struct Denoiser {
    net: rnnoise::Rnnoise,
}

impl Denoiser {
    /// At the start of a stream: asks the processor once which instructions it has.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next frame of the stream.
    pub fn process(&mut self, features: &Features) -> Frame {
        let mut outputs = rnnoise::Outputs::new();
        self.net.step(features, &mut outputs);
        let [speech] = outputs.vad;
        Frame { gains: outputs.gains, speech }
    }

    /// At the start of another stream.
    pub fn restart(&mut self) {
        self.net.reset();
    }
}
