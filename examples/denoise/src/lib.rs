//! A denoiser of speech: GTCRN between a Fourier transform and its inverse, 16 ms at a time.

use std::f32::consts::PI;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

mod gtcrn {
    core::include!(concat!(env!("OUT_DIR"), "/gtcrn.rs"));
}

/// Samples a second.
pub const RATE: u32 = 16_000;

/// Samples that come and go at a time; what goes is as much behind what comes.
pub const HOP: usize = 256;

/// Samples that are transformed at a time.
const FRAME: usize = 2 * HOP;

/// The network with its state, and the halves of frames that are still open.
pub struct Denoiser {
    net: gtcrn::Gtcrn,
    forward: Arc<dyn RealToComplex<f32>>,
    inverse: Arc<dyn ComplexToReal<f32>>,
    /// The root of a Hann window: its square, a hop apart, adds up to 1.
    window: [f32; FRAME],
    /// The last two hops of the input.
    input: [f32; FRAME],
    /// The second half of the last frame of the output.
    overlap: [f32; HOP],
}

impl Default for Denoiser {
    fn default() -> Self {
        let mut planner = RealFftPlanner::new();
        Self {
            net: gtcrn::Gtcrn::new(),
            forward: planner.plan_fft_forward(FRAME),
            inverse: planner.plan_fft_inverse(FRAME),
            window: std::array::from_fn(|i| (PI * i as f32 / FRAME as f32).sin()),
            input: [0.0; FRAME],
            overlap: [0.0; HOP],
        }
    }
}

impl Denoiser {
    /// At the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// The speech in the hop before this one.
    pub fn process(&mut self, hop: &[f32; HOP]) -> [f32; HOP] {
        self.input.copy_within(HOP.., 0);
        self.input[HOP..].copy_from_slice(hop);
        let mut frame: [f32; FRAME] = std::array::from_fn(|i| self.input[i] * self.window[i]);
        let mut spectrum = [Complex::new(0.0, 0.0); FRAME / 2 + 1];
        self.forward.process(&mut frame, &mut spectrum).expect("lengths as planned");
        let mix =
            std::array::from_fn(
                |i| if i % 2 == 0 { spectrum[i / 2].re } else { spectrum[i / 2].im },
            );
        let mut outputs = gtcrn::Outputs::new();
        self.net.step(&mix, &mut outputs);
        for (bin, pair) in spectrum.iter_mut().zip(outputs.enh.chunks_exact(2)) {
            *bin = Complex::new(pair[0], pair[1]);
        }
        // a real signal has none, and the transform takes nothing else
        spectrum[0].im = 0.0;
        spectrum[FRAME / 2].im = 0.0;
        self.inverse.process(&mut spectrum, &mut frame).expect("lengths as planned");
        let scaled = |i: usize| frame[i] * self.window[i] / FRAME as f32;
        let speech = std::array::from_fn(|i| self.overlap[i] + scaled(i));
        self.overlap = std::array::from_fn(|i| scaled(HOP + i));
        speech
    }

    /// The speech in a whole recording, in its place.
    pub fn recording(&mut self, samples: &[f32]) -> Vec<f32> {
        let mut speech = Vec::with_capacity(samples.len() + FRAME);
        // two hops of silence: what is left of the last ones
        let silent = [0.0; FRAME];
        let mut hop = [0.0; HOP];
        let mut all = samples.iter().chain(&silent).copied();
        while speech.len() < samples.len() + HOP {
            hop.iter_mut().for_each(|sample| *sample = all.next().unwrap_or(0.0));
            speech.extend(self.process(&hop));
        }
        speech.drain(..HOP);
        speech.truncate(samples.len());
        speech
    }
}

/// How much louder than all else a signal is in another one, in dB, at the best scale (SI-SDR).
pub fn si_sdr(signal: &[f32], of: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
    };
    let scale = dot(of, signal) / dot(signal, signal);
    let rest: f64 =
        of.iter().zip(signal).map(|(of, s)| (f64::from(*of) - scale * f64::from(*s)).powi(2)).sum();
    10.0 * (scale * scale * dot(signal, signal) / rest).log10()
}

/// White noise, as loud as a signal divided by so many dB.
pub fn noise(signal: &[f32], db: f32) -> Vec<f32> {
    let mut state = 1u64;
    let mut uniform = || {
        // Knuth's generator
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    let power = |x: &[f32]| x.iter().map(|v| v * v).sum::<f32>();
    let drawn: Vec<f32> = signal.iter().map(|_| uniform()).collect();
    let scale = (power(signal) / power(&drawn) / 10f32.powf(db / 10.0)).sqrt();
    drawn.iter().map(|v| v * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ONNX Runtime 1.32 computes of the same file, between NumPy's transforms.
    #[test]
    fn samples_are_those_of_onnx_runtime() {
        let wanted = [
            -0.006_918_704,
            -0.002_733_753,
            0.020_844_642,
            0.012_971_705,
            -0.021_368_518,
            -0.018_527_122,
            0.018_308_843,
            0.034_134_515,
            -0.017_133_24,
            -0.024_903_584,
        ];
        let sample = |i: usize| {
            let t = i as f64;
            (0.3 * (0.05 * t).sin() * (0.002 * t).sin() + 0.02 * (1.7 * t).sin()) as f32
        };
        let mut denoiser = Denoiser::new();
        let hops = (0..12)
            .flat_map(|hop| denoiser.process(&std::array::from_fn(|i| sample(hop * HOP + i))));
        let found: Vec<f32> = hops.skip(8 * HOP).step_by(97).take(wanted.len()).collect();
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-5, "{found}, {wanted} expected");
        }
    }

    /// 2.9 s of speech by espeak-ng in white noise as loud as it.
    #[test]
    fn noise_goes_and_speech_stays() {
        let mut reader = hound::WavReader::open("speech.wav").unwrap();
        let speech: Vec<f32> =
            reader.samples::<i16>().map(|sample| f32::from(sample.unwrap()) / 32768.0).collect();
        let noisy: Vec<f32> = speech.iter().zip(noise(&speech, 0.0)).map(|(a, b)| a + b).collect();
        let cleaned = Denoiser::new().recording(&noisy);
        assert_eq!(cleaned.len(), speech.len());
        assert!(si_sdr(&speech, &noisy).abs() < 0.2);
        assert!(si_sdr(&speech, &cleaned) > 9.0, "{} dB", si_sdr(&speech, &cleaned));
    }
}
