//! Times what cellc generates beside a same-run floor and a naive loop. The README beside this package says how to read it.

mod check;
mod contender;
mod floor;
mod measure;
mod report;
mod workload;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use check::check;
use contender::contenders;
use floor::{Half, Weights, floors};
use measure::{Turn, measure};
use report::{FloorTimes, Report, Row};
use workload::{WORKLOADS, Workload};

/// Times cellc's kernels beside a same-run floor and a naive loop
#[derive(Parser)]
struct Arguments {
    /// Only these workloads: W1,W3
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Samples of every contender
    #[arg(long, default_value_t = 1000)]
    rounds: usize,
    /// The processor core to run on; the last one without it
    #[arg(long)]
    core: Option<usize>,
    /// Also write everything to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
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
    match core {
        Some(core) => println!("core {core}, {} rounds\n", arguments.rounds),
        None => println!("not pinned to a core, {} rounds\n", arguments.rounds),
    }
    let mut reports = Vec::new();
    for workload in &WORKLOADS {
        let named = |name: &String| workload.name.eq_ignore_ascii_case(name);
        if arguments.only.is_empty() || arguments.only.iter().any(named) {
            let report = bench(workload, arguments.rounds)?;
            println!("{report}");
            reports.push(report.json());
        }
    }
    if let Some(file) = &arguments.json {
        let all = json!({ "core": core, "rounds": arguments.rounds, "workloads": reports });
        std::fs::write(file, format!("{all:#}\n")).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// Keeps this thread on one core; `None` where that cannot be had.
fn pin(core: Option<usize>) -> Option<usize> {
    let cores = core_affinity::get_core_ids()?;
    let core = match core {
        Some(id) => cores.into_iter().find(|core| core.id == id)?,
        None => cores.into_iter().next_back()?,
    };
    core_affinity::set_for_current(core).then_some(core.id)
}

/// Checks everyone, then times everyone.
fn bench(workload: &Workload, rounds: usize) -> Result<Report, String> {
    let mut contenders = contenders(workload);
    let checked = contenders.iter_mut().map(|c| check(workload, &mut **c)).collect::<Result<Vec<_>, _>>()?;
    let (floors, weights, inputs) = (floors(), Weights::new(workload), workload.inputs(16));
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for floor in &floors {
        for half in [Half::Stream, Half::Arithmetic] {
            let weights = &weights;
            turns.push(Box::new(move |steps| floor.run(half, workload, weights, steps)));
        }
    }
    for contender in &mut contenders {
        let inputs = &inputs;
        turns.push(Box::new(move |steps| contender.run(inputs, steps)));
    }
    let mut samples = measure(&mut turns, rounds).into_iter();
    drop(turns);
    let mut next = || samples.next().expect("samples of everyone");
    let floors = floors.iter().map(|floor| FloorTimes { isa: floor.isa, stream: next(), arithmetic: next() }).collect();
    let rows = contenders.iter().zip(checked);
    let rows = rows
        .map(|(contender, checked)| Row {
            name: contender.name().to_string(),
            isa: contender.isa().map(str::to_string),
            samples: next(),
            checked,
        })
        .collect();
    Ok(Report { workload: *workload, floors, rows })
}
