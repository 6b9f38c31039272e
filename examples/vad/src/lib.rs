//! A detector of speech: Silero VAD, a frame of 32 ms at a time.
//!
//! Nothing here needs the standard library or an allocator: the state of the network is a field of
//! [`Detector`], and the weights are in the program.
#![no_std]

mod silero {
    core::include!(concat!(env!("OUT_DIR"), "/silero.rs"));
}

/// Samples a second.
pub const RATE: u32 = 16_000;

/// Samples of a frame.
pub const FRAME: usize = 512;

/// How many samples of the frame before the network sees again.
const CONTEXT: usize = 64;

/// The network with its state.
#[derive(Clone, Debug)]
pub struct Detector {
    net: silero::Silero,
    /// The end of the frame before, then the frame.
    input: [f32; CONTEXT + FRAME],
}

impl Default for Detector {
    fn default() -> Self {
        Self { net: silero::Silero::new(), input: [0.0; CONTEXT + FRAME] }
    }
}

impl Detector {
    /// At the start of a stream: asks the processor once which instructions it has.
    pub fn new() -> Self {
        Self::default()
    }

    /// The probability that somebody speaks in the next frame of the stream; samples are from -1 to
    /// 1.
    pub fn process(&mut self, frame: &[f32; FRAME]) -> f32 {
        self.input.copy_within(FRAME.., 0);
        self.input[CONTEXT..].copy_from_slice(frame);
        let mut outputs = silero::Outputs::new();
        self.net.step(&self.input, &mut outputs);
        let [speech] = outputs.output;
        speech
    }

    /// At the start of another stream.
    pub fn restart(&mut self) {
        self.net.reset();
        self.input = [0.0; CONTEXT + FRAME];
    }
}

/// A piece of a stream in which somebody speaks: frames from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The first frame.
    pub start: usize,
    /// One past the last frame.
    pub end: usize,
}

/// Finds segments in probabilities as they come: speech begins above 0.5, and ends when it was
/// below 0.35 for some frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segments {
    frame: usize,
    start: Option<usize>,
    quiet: usize,
}

impl Segments {
    const BEGINS: f32 = 0.5;
    const ENDS: f32 = 0.35;
    /// Frames of silence that end a segment: about 100 ms.
    const SILENCE: usize = 3;
    /// Frames of the shortest segment: about 250 ms.
    const SHORTEST: usize = 8;

    /// The next probability; a segment that has just ended.
    pub fn next(&mut self, speech: f32) -> Option<Segment> {
        let frame = self.frame;
        self.frame += 1;
        if speech >= Self::BEGINS {
            self.start.get_or_insert(frame);
            self.quiet = 0;
        } else if self.start.is_some() && speech < Self::ENDS {
            self.quiet += 1;
            if self.quiet >= Self::SILENCE {
                return self.end_at(frame + 1 - self.quiet);
            }
        }
        None
    }

    /// At the end of the stream: a segment that goes on till there.
    pub fn finish(&mut self) -> Option<Segment> {
        self.end_at(self.frame)
    }

    fn end_at(&mut self, end: usize) -> Option<Segment> {
        self.quiet = 0;
        let start = self.start.take()?;
        (end - start >= Self::SHORTEST).then_some(Segment { start, end })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn probabilities_are_those_of_onnx_runtime() {
        // computed by ONNX Runtime 1.32 from the same file
        let wanted =
            [0.286_789_24, 0.545_256, 0.350_506_37, 0.194_448_29, 0.588_364_84, 0.352_052_12];
        let mut detector = Detector::new();
        for _ in 0..2 {
            for (frame, wanted) in wanted.iter().enumerate() {
                let at = |i: usize| (frame * FRAME + i) as f64;
                let sample =
                    |i: usize| (f64::sin(at(i) * 0.05) * f64::sin(at(i) * 0.002) * 0.5) as f32;
                let speech = detector.process(&core::array::from_fn(sample));
                assert!(
                    (speech - wanted).abs() < 1e-5,
                    "frame {frame}: {speech}, {wanted} expected"
                );
            }
            detector.restart();
        }
    }

    #[test]
    fn segments_bridge_short_silence_and_drop_short_speech() {
        let mut segments = Segments::default();
        let mut found = std::vec::Vec::new();
        // speech for 10 frames with 2 of silence inside, then silence; 4 frames of speech; speech
        // till the end
        let runs = [(0.0, 3), (0.9, 5), (0.1, 2), (0.9, 5), (0.1, 6), (0.9, 4), (0.1, 5), (0.9, 9)];
        for (speech, count) in runs {
            (0..count).for_each(|_| found.extend(segments.next(speech)));
        }
        found.extend(segments.finish());
        assert_eq!(found, [Segment { start: 3, end: 15 }, Segment { start: 30, end: 39 }]);
    }
}
