//! Rust libraries that take turns as `cellc/src/timing/process.rs` says: the library's name, then the workload as arguments `key=value`.

mod candle;
mod rten;
mod tract;

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, Write};
use std::time::Instant;

/// A workload.
struct Spec(HashMap<String, String>);

/// A library with the workload's network, and its state.
trait Peer {
    fn reset(&mut self) -> Result<(), Box<dyn Error>>;

    fn call(&mut self, x: &[f32]) -> Result<(), Box<dyn Error>>;

    /// Of the call before.
    fn output(&self) -> Result<Vec<f32>, Box<dyn Error>>;
}

impl Spec {
    fn word(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    fn number(&self, key: &str) -> usize {
        self.word(key).parse().unwrap_or_default()
    }

    fn floats(&self, key: &str) -> io::Result<Vec<f32>> {
        let bytes = fs::read(self.word(key))?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect())
    }

    /// The shapes of x and of every state in the ONNX model.
    fn onnx_shapes(&self) -> ([usize; 3], Vec<[usize; 3]>) {
        let [steps, batch, inputs, units] = ["steps", "batch", "inputs", "units"].map(|key| self.number(key));
        let states = if self.word("cell") == "lstm" { 2 } else { 1 };
        ([steps, batch, inputs], vec![[1, batch, units]; states])
    }
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let library = arguments.next().unwrap_or_default();
    let pairs = arguments.filter_map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())));
    let spec = Spec(pairs.collect());
    let ready = match &library[..] {
        "tract" => tract::Tract::new(&spec).map(|peer| (Box::new(peer) as Box<dyn Peer>, "0.23")),
        "rten" => rten::Rten::new(&spec).map(|peer| (Box::new(peer) as Box<dyn Peer>, "0.27")),
        "candle" => candle::Candle::new(&spec).map(|peer| (Box::new(peer) as Box<dyn Peer>, "0.11, products by the crate gemm")),
        other => Err(format!("there is no {other} here").into()),
    };
    match ready {
        Ok((peer, version)) => {
            println!("ready itself {version}");
            serve(peer, &spec).map_err(|error| io::Error::other(error.to_string()))
        }
        Err(error) => {
            println!("absent {}", error.to_string().lines().next().unwrap_or_default());
            Ok(())
        }
    }
}

fn serve(mut peer: Box<dyn Peer>, spec: &Spec) -> Result<(), Box<dyn Error>> {
    let x = spec.floats("x")?;
    let rows: Vec<&[f32]> = x.chunks_exact(spec.number("batch") * spec.number("steps") * spec.number("inputs")).collect();
    let mut calls = 0;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("reset", _) => {
                peer.reset()?;
                calls = 0;
                writeln!(out, "ok")?;
            }
            ("call", _) => {
                peer.call(rows[calls % rows.len()])?;
                calls += 1;
                let output = peer.output()?;
                writeln!(out, "{}", output.len())?;
                out.write_all(&output.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>())?;
            }
            (_, count) => {
                let count = count.parse()?;
                let start = Instant::now();
                for row in rows.iter().cycle().take(count) {
                    peer.call(row)?;
                }
                writeln!(out, "{}", start.elapsed().as_nanos())?;
            }
        }
        out.flush()?;
    }
    Ok(())
}
