//! Speech segments of a WAV file (16 kHz; the first channel), printed, and drawn with a second
//! argument; or of the microphone, as they end.
//!
//! `cargo run --release -p example-vad -- speech.wav [speech.svg]`
//!
//! `cargo run --release -p example-vad --features microphone -- microphone`

#[cfg(feature = "microphone")]
mod microphone;

use std::fmt::Write as _;
use std::{env, error, fs, process};

use example_vad::{Detector, FRAME, RATE, Segment, Segments};

/// How long a frame is.
const SECONDS: f32 = FRAME as f32 / RATE as f32;

fn main() {
    if let Err(problem) = run() {
        eprintln!("error: {problem}");
        process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (wav, svg) = match &arguments[..] {
        [word] if word == "microphone" => return listen(),
        [wav] => (wav, None),
        [wav, svg] => (wav, Some(svg)),
        _ => {
            return Err("give a WAV file of 16 kHz and, if wanted, the SVG file to draw: speech.wav speech.svg; \
                        or the word microphone"
                .into());
        }
    };
    let samples = samples(wav)?;
    let mut detector = Detector::new();
    let mut segments = Segments::default();
    let (mut speech, mut found) = (Vec::new(), Vec::new());
    for frame in samples.chunks(FRAME) {
        // the last frame is filled up with silence
        let mut whole = [0.0; FRAME];
        whole[..frame.len()].copy_from_slice(frame);
        let probability = detector.process(&whole);
        speech.push(probability);
        found.extend(segments.next(probability));
    }
    found.extend(segments.finish());
    found.iter().for_each(print);
    println!("{} segments in {:.2} s", found.len(), samples.len() as f32 / RATE as f32);
    if let Some(svg) = svg {
        fs::write(svg, drawing(&samples, &speech, &found))?;
    }
    Ok(())
}

fn print(segment: &Segment) {
    println!("{:7.2} s to {:7.2} s", segment.start as f32 * SECONDS, segment.end as f32 * SECONDS);
}

#[cfg(feature = "microphone")]
fn listen() -> Result<(), Box<dyn error::Error>> {
    let (mut detector, mut segments) = (Detector::new(), Segments::default());
    microphone::frames(|frame| {
        if let Some(segment) = segments.next(detector.process(frame)) {
            print(&segment);
        }
    })
}

#[cfg(not(feature = "microphone"))]
fn listen() -> Result<(), Box<dyn error::Error>> {
    Err("built without the microphone: cargo run --release -p example-vad --features microphone -- microphone".into())
}

/// The first channel, from -1 to 1.
fn samples(wav: &str) -> Result<Vec<f32>, Box<dyn error::Error>> {
    let mut reader = hound::WavReader::open(wav).map_err(|problem| format!("{wav}: {problem}"))?;
    let spec = reader.spec();
    if spec.sample_rate != RATE {
        return Err(format!(
            "{wav} has {} samples a second; the network takes {RATE}: resample it",
            spec.sample_rate
        )
        .into());
    }
    let channels = usize::from(spec.channels);
    let all: Result<Vec<f32>, hound::Error> = match spec.sample_format {
        hound::SampleFormat::Float => reader.samples::<f32>().collect(),
        hound::SampleFormat::Int => {
            let full = 2f32.powi(i32::from(spec.bits_per_sample) - 1);
            reader.samples::<i32>().map(|sample| Ok(sample? as f32 / full)).collect()
        }
    };
    Ok(all?.into_iter().step_by(channels).collect())
}

/// The waveform, the probability of speech above it, and the segments behind both.
fn drawing(samples: &[f32], speech: &[f32], found: &[Segment]) -> String {
    const HEIGHT: f32 = 160.0;
    let width = speech.len() as f32 * 3.0;
    let mut svg =
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\">\n");
    for segment in found {
        let (x, wide) = (segment.start as f32 * 3.0, (segment.end - segment.start) as f32 * 3.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"0\" width=\"{wide}\" height=\"{HEIGHT}\" fill=\"#cde7ff\"/>"
        );
    }
    for (frame, piece) in samples.chunks(FRAME).enumerate() {
        let loudest = piece.iter().fold(0.0f32, |most, sample| most.max(sample.abs()));
        let (x, tall) = (frame as f32 * 3.0, loudest.clamp(0.01, 1.0) * HEIGHT);
        let y = (HEIGHT - tall) / 2.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"2\" height=\"{tall}\" fill=\"#888\"/>"
        );
    }
    let line: Vec<String> = speech
        .iter()
        .enumerate()
        .map(|(frame, p)| format!("{},{}", frame as f32 * 3.0, (1.0 - p) * HEIGHT))
        .collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#c00\"/>\n</svg>",
        line.join(" ")
    );
    svg
}
