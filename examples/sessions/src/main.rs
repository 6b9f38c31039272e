//! A thousand sessions of Silero VAD on plain threads. Every thread has a network to work in and a
//! part of the sessions; a session is a state of 1 KiB. Sessions end and begin all the time. Prints
//! the time of a call for eight sessions, beside ONNX Runtime if Python has it.
//!
//! `cargo run --release -p example-sessions -- [seconds]`

use std::env;
use std::error::Error;
use std::f32::consts::TAU;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

mod silero {
    core::include!(concat!(env!("OUT_DIR"), "/silero.rs"));
}

use silero::{RowState, Silero};

/// How many sessions there are.
const SESSIONS: usize = 1000;

/// Samples of a frame of 32 ms, after the last 64 samples of the frame before.
const INPUT: usize = 576;

/// The sessions of one thread.
struct Worker {
    network: Silero,
    states: Vec<RowState>,
    /// The number of the last frame.
    frame: usize,
    /// The time of every call.
    times: Vec<Duration>,
}

impl Worker {
    fn new(sessions: usize) -> Self {
        let states = vec![RowState::new(); sessions];
        Self { network: Silero::new(), states, frame: 0, times: Vec::new() }
    }

    /// The next frame of each session, eight in a call. One session ends, and another begins.
    fn next(&mut self) -> Result<(), Box<dyn Error>> {
        self.frame += 1;
        let ending = self.frame * 7 % self.states.len();
        self.states[ending] = RowState::new();
        for (group, states) in self.states.chunks_mut(Silero::ROWS).enumerate() {
            let frames: Vec<_> =
                (0..states.len()).map(|i| samples(group * Silero::ROWS + i, self.frame)).collect();
            let mut speech = [[0.0]; Silero::ROWS];
            let mut next = [[0.0; 256]; Silero::ROWS];
            let (speech, next) = (&mut speech[..states.len()], &mut next[..states.len()]);
            let start = Instant::now();
            let mut states: Vec<&mut RowState> = states.iter_mut().collect();
            self.network.step_many(&mut states, &frames, speech, next)?;
            self.times.push(start.elapsed());
        }
        Ok(())
    }

    fn run(&mut self, until: Instant) -> Result<(), String> {
        while Instant::now() < until {
            self.next().map_err(|problem| problem.to_string())?;
        }
        Ok(())
    }
}

/// A voice of its own for each session: a tone that rises and falls.
fn samples(session: usize, frame: usize) -> [f32; INPUT] {
    core::array::from_fn(|i| {
        let t = (frame * 512 + i) as f32 / 16_000.0;
        let tone = 100.0 + (session % 100) as f32;
        0.3 * (TAU * tone * t).sin() * (0.5 + 0.5 * (TAU * 3.0 * t).sin())
    })
}

/// Moves a session to another network, as bytes.
fn restored(worker: &mut Worker) -> Result<(), Box<dyn Error>> {
    let saved = worker.states[3].to_bytes();
    let mut other = Worker::new(1);
    other.states[0] = RowState::from_bytes(&saved)?;
    let frame = [samples(3, worker.frame + 1)];
    let step = |worker: &mut Worker, session: usize| -> Result<[f32; 1], Box<dyn Error>> {
        let (mut speech, mut next) = ([[0.0]], [[0.0; 256]]);
        let Worker { network, states, .. } = worker;
        network.step_many(&mut [&mut states[session]], &frame, &mut speech, &mut next)?;
        Ok(speech[0])
    };
    let (here, there) = (step(worker, 3)?, step(&mut other, 0)?);
    if here.map(f32::to_bits) != there.map(f32::to_bits) {
        return Err("a session that was saved goes on in another way".into());
    }
    println!("a session saved in {} bytes goes on elsewhere with equal bits", saved.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = env::args().nth(1).map_or(Ok(10.0), |text| text.parse())?;
    let threads = thread::available_parallelism()?.get();
    let sessions = SESSIONS / threads;
    let mut workers: Vec<_> = (0..threads).map(|_| Worker::new(sessions)).collect();
    let start = Instant::now();
    let until = start + Duration::from_secs_f64(seconds);
    thread::scope(|scope| {
        let running: Vec<_> =
            workers.iter_mut().map(|worker| scope.spawn(|| worker.run(until))).collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("a worker does not panic"))
    })?;
    let mut times: Vec<_> = workers.iter().flat_map(|worker| &worker.times).collect();
    times.sort();
    let micros = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e6;
    println!("{} sessions, {threads} threads, eight sessions a call", sessions * threads);
    println!("cellc         p50 {:6.0} us  p99 {:6.0} us a call", micros(50), micros(99));
    restored(&mut workers[0])?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/onnx_runtime.py");
    match Command::new("python3")
        .args([script, &seconds.to_string(), &threads.to_string()])
        .status()
    {
        Ok(status) if status.success() => {}
        _ => println!("ONNX Runtime  needs python3 with onnxruntime and numpy"),
    }
    Ok(())
}
