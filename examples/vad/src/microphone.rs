//! Frames of the microphone, by cpal.

use std::error::Error;
use std::sync::mpsc;

use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{FromSample, SampleFormat, SizedSample, StreamConfig};
use example_vad::{FRAME, RATE};

/// Calls `work` with every frame of the default microphone, until that fails or the program is
/// ended.
pub(crate) fn frames(mut work: impl FnMut(&[f32; FRAME])) -> Result<(), Box<dyn Error>> {
    let device = cpal::default_host().default_input_device().ok_or("there is no microphone")?;
    // where it has no 16 kHz, each sample is the mean of several at a multiple of that
    let read = [SampleFormat::F32, SampleFormat::I16, SampleFormat::U16, SampleFormat::I32];
    let offered: Vec<_> = device
        .supported_input_configs()?
        .filter(|offered| read.contains(&offered.sample_format()))
        .collect();
    let at = |times: u32| {
        offered
            .iter()
            .find_map(|offered| Some((times, offered.try_with_sample_rate(times * RATE)?)))
    };
    let found = [1, 2, 3, 6].into_iter().find_map(at);
    let (times, config) =
        found.ok_or("the microphone has none of 16, 32, 48 and 96 kHz as f32, i16, u16 or i32")?;
    let (format, config): (_, StreamConfig) = (config.sample_format(), config.into());
    let (send, receive) = mpsc::channel();
    let take = Take {
        channels: usize::from(config.channels),
        times: times as usize,
        sum: 0.0,
        taken: 0,
        send,
    };
    let stream = match format {
        SampleFormat::F32 => stream::<f32>(&device, config, take),
        SampleFormat::I16 => stream::<i16>(&device, config, take),
        SampleFormat::U16 => stream::<u16>(&device, config, take),
        SampleFormat::I32 => stream::<i32>(&device, config, take),
        other => return Err(format!("the microphone gives samples as {other}").into()),
    }?;
    stream.play()?;
    eprintln!("listening; Ctrl-C ends it");
    let mut frame = [0.0; FRAME];
    let mut filled = 0;
    for sample in receive {
        frame[filled] = sample?;
        filled += 1;
        if filled == FRAME {
            work(&frame);
            filled = 0;
        }
    }
    Ok(())
}

/// Makes samples of what the device gives.
struct Take {
    channels: usize,
    /// How many samples of the device become one.
    times: usize,
    sum: f32,
    taken: usize,
    send: mpsc::Sender<Result<f32, cpal::Error>>,
}

impl Take {
    fn take(&mut self, sample: f32) {
        self.sum += sample;
        self.taken += 1;
        if self.taken == self.times {
            // who listens has ended where this fails
            let _ = self.send.send(Ok(self.sum / self.times as f32));
            (self.sum, self.taken) = (0.0, 0);
        }
    }
}

/// A stream of samples of one type, of which the first channel is taken.
fn stream<T>(
    device: &cpal::Device,
    config: StreamConfig,
    mut take: Take,
) -> Result<cpal::Stream, cpal::Error>
where
    T: SizedSample,
    f32: FromSample<T>,
{
    let (channels, send) = (take.channels, take.send.clone());
    let samples = move |all: &[T], _: &cpal::InputCallbackInfo| {
        all.iter().step_by(channels).for_each(|sample| take.take(f32::from_sample_(*sample)));
    };
    let failed = move |problem| _ = send.send(Err(problem));
    device.build_input_stream(config, samples, failed, None)
}
