//! Rust libraries that the bench compares with. The name of one is the first argument, the workload
//! the others, `key=value`; the turns are those of `cellc/src/timing/process.rs`.

mod candle;
mod gemm;
mod nnnoiseless;
mod rten;
mod tract;

// nnnoiseless's own modules `util` and `rnn`
include!(concat!(env!("OUT_DIR"), "/nnnoiseless.rs"));

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, Write};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A library with one workload, and its state.
trait Engine {
    /// State zero.
    fn reset(&mut self) -> Result<()>;

    /// One call: x as the bench has it.
    fn call(&mut self, x: &[f32]) -> Result<()>;

    /// The output of the last call.
    fn output(&self) -> Result<Vec<f32>>;
}

/// The workload.
struct Spec {
    words: HashMap<String, String>,
    inputs: usize,
    units: usize,
    batch: usize,
    steps: usize,
}

/// OpenVINO's weights: W `[G*H, I]`, R `[G*H, H]`, the biases, and of the dense layer behind it
/// `[H]` and 1, or nothing.
struct Weights {
    w: Vec<f32>,
    r: Vec<f32>,
    b: Vec<f32>,
    head: Vec<f32>,
}

impl Spec {
    fn new(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let pair = |word: String| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        let words: HashMap<_, _> = arguments.filter_map(pair).collect();
        let number = |key: &str| Ok::<usize, Box<dyn Error>>(words.get(key).ok_or(format!("no {key}"))?.parse()?);
        let [inputs, units, batch, steps] = [number("inputs")?, number("units")?, number("batch")?, number("steps")?];
        Ok(Self { inputs, units, batch, steps, words })
    }

    fn word(&self, key: &str) -> Result<&str> {
        Ok(self.words.get(key).ok_or(format!("no {key}"))?)
    }

    /// The shape of x in the ONNX model.
    fn onnx_shape(&self) -> Result<Vec<usize>> {
        self.word("onnx_shape")?.split(',').map(|n| Ok(n.parse()?)).collect()
    }

    fn floats(&self, key: &str) -> Result<Vec<f32>> {
        let bytes = fs::read(self.word(key)?)?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    fn weights(&self, gates: usize, bias_parts: usize) -> Result<Weights> {
        let rows = gates * self.units;
        let mut all = self.floats("weights")?.into_iter();
        let mut take = |len| all.by_ref().take(len).collect::<Vec<_>>();
        let [w, r, b] = [rows * self.inputs, rows * self.units, bias_parts * self.units].map(&mut take);
        Ok(Weights { w, r, b, head: all.collect() })
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let turns = || -> Result<()> {
        let spec = Spec::new(arguments)?;
        let run = |version: &str, function: &str, engine: Result<Box<dyn Engine>>| {
            take_turns(&spec, &format!("ready {function} {version}"), engine?)
        };
        match &name[..] {
            "candle" => run(env!("VERSION_candle_nn"), "itself", candle::engine(&spec)),
            "gemm" => run(env!("VERSION_gemm"), "itself", gemm::engine(&spec)),
            "nnnoiseless" => run(env!("VERSION_nnnoiseless"), "rounded", nnnoiseless::engine(&spec)),
            "rten" => rten::on_its_thread(|| {
                run(env!("VERSION_rten"), "itself", rten::engine(&spec)).map_err(|e| e.to_string())
            })
            .map_err(Into::into),
            "tract" => run(env!("VERSION_tract_onnx"), "itself", tract::engine(&spec)),
            _ => Err(format!("no library {name:?}").into()),
        }
    };
    if let Err(error) = turns() {
        println!("absent {}", error.to_string().lines().next().unwrap_or_default());
    }
}

fn take_turns(spec: &Spec, greeting: &str, mut engine: Box<dyn Engine>) -> Result<()> {
    let x = spec.floats("x")?;
    let rows: Vec<&[f32]> = x.chunks_exact(spec.batch * spec.steps * spec.inputs).collect();
    let mut out = io::stdout().lock();
    writeln!(out, "{greeting}")?;
    out.flush()?;
    let mut calls = 0;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (word, count) = line.split_once(' ').unwrap_or((&line, "0"));
        match word {
            "reset" => {
                engine.reset()?;
                calls = 0;
                writeln!(out, "ok")?;
            }
            "call" => {
                engine.call(rows[calls % rows.len()])?;
                calls += 1;
                let output = engine.output()?;
                writeln!(out, "{}", output.len())?;
                out.write_all(&output.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<_>>())?;
            }
            "run" => {
                let count = count.parse()?;
                let start = Instant::now();
                for x in rows.iter().cycle().take(count) {
                    engine.call(x)?;
                }
                writeln!(out, "{}", start.elapsed().as_nanos())?;
            }
            _ => return Err(format!("{line:?} is no turn").into()),
        }
        out.flush()?;
    }
    Ok(())
}
