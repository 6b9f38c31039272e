//! Times what cellc generates beside a same-run floor, a naive loop and other libraries. The README beside this package says how to read it.

mod check;
mod contender;
mod plot;
mod workload;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use cellc::timing::agreement::Agreement;
use cellc::timing::floor::{Work, floors};
use cellc::timing::pin;
use cellc::timing::report::{Report, Row, Run};
use cellc::timing::turns::Turn;
use clap::Parser;
use serde_json::json;

use check::{Expected, check, model};
use contender::{Contender, Peers, contenders};
use workload::{Variant, WORKLOADS, Workload};

/// Times cellc's kernels beside a same-run floor, a naive loop and other libraries
#[derive(Parser)]
struct Arguments {
    /// Only these workloads: W1,W3
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Samples of every contender
    #[arg(long, default_value_t = 1000)]
    rounds: usize,
    /// Seconds after which a workload has as many samples as it gets
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Measure every workload so often: what is printed is the best run, and the worst beside it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    best_of: u16,
    /// Leave other libraries out
    #[arg(long)]
    no_peers: bool,
    /// The processor core to run on; the last one without it
    #[arg(long)]
    core: Option<usize>,
    /// Also write everything to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write a picture of time over floor to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let known = |name: &String| WORKLOADS.iter().any(|w| w.name.eq_ignore_ascii_case(name));
    if let Some(name) = arguments.only.iter().find(|name| !known(name)) {
        let names: Vec<_> = WORKLOADS.iter().map(|w| w.name).collect();
        return Err(format!("there is no workload {name:?}; there are {}", names.join(", ")).into());
    }
    if cfg!(debug_assertions) {
        eprintln!("note: not optimised, the times mean nothing: cargo run --release -p cellc-bench");
    }
    if !contender::HAS_C {
        eprintln!("note: the build found no C compiler that works; the C kernels are left out");
    }
    let core = pin(arguments.core);
    let runs = match arguments.best_of {
        1 => String::new(),
        n => format!(", the best of {n} runs"),
    };
    let pinned = core.map_or("not pinned to a core".to_owned(), |core| format!("core {core}"));
    println!("{pinned}, up to {} rounds or {} s{runs}\n", arguments.rounds, arguments.seconds);
    let mut reports = Vec::new();
    for workload in &WORKLOADS {
        let named = |name: &String| workload.name.eq_ignore_ascii_case(name);
        if arguments.only.is_empty() || arguments.only.iter().any(named) {
            let report = bench(workload, arguments)?;
            println!("{report}");
            reports.push(report);
        }
    }
    let write = |file: &PathBuf, text: String| {
        std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
    };
    if let Some(file) = &arguments.json {
        let workloads: Vec<_> = reports.iter().map(Report::json).collect();
        let all =
            json!({ "core": core, "rounds": arguments.rounds, "best_of": arguments.best_of, "workloads": workloads });
        write(file, format!("{all:#}\n"))?;
    }
    if let Some(file) = &arguments.svg {
        write(file, plot::plot(&reports))?;
    }
    Ok(())
}

/// Checks everyone, then times everyone.
fn bench(workload: &Workload, arguments: &Arguments) -> Result<Report, String> {
    let expected = Expected::new(workload)?;
    let mut contenders = contenders(workload);
    let mut rows = Vec::new();
    for contender in &mut contenders {
        let agreement = check(workload, &expected, &mut **contender)?;
        rows.push(row(&**contender, agreement));
    }
    let mut peers = if arguments.no_peers { None } else { Some(Peers::start(workload)?) };
    let mut absent = Vec::new();
    if let Some(peers) = &mut peers {
        absent.append(&mut peers.absent);
        for mut peer in peers.all.drain(..) {
            match check(workload, &expected, &mut *peer) {
                Ok(agreement) => {
                    rows.push(row(&*peer, agreement));
                    contenders.push(peer);
                }
                // no time of a wrong result is worth anything
                Err(why) => absent.push((peer.name().to_owned(), why)),
            }
        }
    }
    let work = Work::of(&model(workload, Variant::Itself)?);
    let floors = floors();
    let mut runs = Vec::new();
    for _ in 0..arguments.best_of {
        let mut turns: Vec<Turn<'_>> =
            contenders.iter_mut().map(|c| -> Turn<'_> { Box::new(move |calls| c.run(calls)) }).collect();
        let (rounds, time) = (arguments.rounds, Duration::from_secs_f64(arguments.seconds));
        runs.push(Run::measure(&floors, &work, &mut turns, workload.steps, rounds, time)?);
    }
    Ok(Report {
        name: workload.name.to_owned(),
        description: workload.describe(),
        steps: workload.steps,
        work,
        rows,
        runs,
        absent,
    })
}

fn row(contender: &dyn Contender, agreement: Agreement) -> Row {
    Row {
        name: contender.name().to_owned(),
        isa: contender.isa().map(str::to_owned),
        version: contender.version().to_owned(),
        other_function: contender.variant().other_function(),
        agreement,
    }
}
