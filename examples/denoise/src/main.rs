//! Takes the noise out of speech:
//!
//! * `cargo run --release -p example-denoise -- noisy.wav clean.wav`
//! * `cargo run --release -p example-denoise -- --try speech.wav clean.wav` adds white noise as
//!   loud as the speech first, and prints what is gained

use std::error::Error;
use std::time::Instant;

use example_denoise::{Denoiser, RATE, noise, si_sdr};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (tries, input, output) = match &arguments[..] {
        [input, output] if input != "--try" => (false, input, output),
        [first, input, output] if first == "--try" => (true, input, output),
        _ => {
            eprintln!("usage: example-denoise [--try] IN.wav OUT.wav");
            std::process::exit(2);
        }
    };
    let speech = samples(input)?;
    let mut noisy = speech.clone();
    if tries {
        noisy.iter_mut().zip(noise(&speech, 0.0)).for_each(|(sample, noise)| *sample += noise);
    }
    let start = Instant::now();
    let cleaned = Denoiser::new().recording(&noisy);
    let took = start.elapsed().as_secs_f64();
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: RATE,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(output, spec)?;
    for sample in &cleaned {
        writer.write_sample((sample.clamp(-1.0, 1.0) * 32767.0) as i16)?;
    }
    writer.finalize()?;
    if tries {
        println!(
            "SI-SDR {:.1} dB with noise, {:.1} dB without",
            si_sdr(&speech, &noisy),
            si_sdr(&speech, &cleaned)
        );
    }
    println!("{:.0} times as fast as it is spoken", speech.len() as f64 / f64::from(RATE) / took);
    Ok(())
}

/// The first channel, from -1 to 1.
fn samples(path: &str) -> Result<Vec<f32>, Box<dyn Error>> {
    let mut reader = hound::WavReader::open(path)?;
    let spec = reader.spec();
    if spec.sample_rate != RATE {
        return Err(format!(
            "{path} has {} samples a second; the network takes {RATE}",
            spec.sample_rate
        )
        .into());
    }
    let all: Result<Vec<f32>, hound::Error> = match spec.sample_format {
        hound::SampleFormat::Float => reader.samples::<f32>().collect(),
        hound::SampleFormat::Int => {
            let full = 2f32.powi(i32::from(spec.bits_per_sample) - 1);
            reader.samples::<i32>().map(|sample| Ok(sample? as f32 / full)).collect()
        }
    };
    Ok(all?.into_iter().step_by(usize::from(spec.channels)).collect())
}
