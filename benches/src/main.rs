//! Times what cellc generates beside a same-run floor, a naive loop and other libraries. The README
//! beside this package says how to read it.

mod ceilings;
mod check;
mod contender;
mod plot;
mod table;
mod trade;
mod workload;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use cellc::Isa;
use cellc::internals::timing::Cores;
use cellc::internals::timing::agreement::Agreement;
use cellc::internals::timing::floor::{Floor, LeastWork, floors};
use cellc::internals::timing::report::{ContenderRow, Report, Run};
use cellc::internals::timing::turns::Turn;
use clap::Parser;
use serde_json::json;

use ceilings::Ceilings;
use check::{Bounds, Expected, TOLERANCE, check};
use contender::{Contender, Peers, contenders, model, traded};
use table::Traded;
use trade::{ALL_TRADES, Trade, trades};
use workload::{FADED, Variant, WORKLOADS, Workload};

/// Times cellc's kernels, and compares with a lower bound measured in the same run, a naive loop
/// and other libraries
#[derive(Parser)]
struct Arguments {
    /// Only these models: gru_16_128,lstm_1_40_dense
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The number of samples of each contender
    #[arg(long, default_value_t = 1000)]
    rounds: usize,
    /// Stop sampling a model after this many seconds
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Repeat each measurement N times; print the best run, and the worst beside it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    best_of: u16,
    /// Leave out other libraries
    #[arg(long)]
    no_peers: bool,
    /// Time options that are not the default beside the default; needs the feature trades
    #[arg(long, conflicts_with_all = ["no_peers", "svg"])]
    trades: bool,
    /// The processor core to run on; the last one by default
    #[arg(long)]
    core: Option<usize>,
    /// Also write all measurements to this file
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
    if arguments.trades && !ALL_TRADES {
        return Err("built without options: cargo run --release -p cellc-bench --features trades -- --trades".into());
    }
    let all: Vec<(&Workload, &[Trade])> = match arguments.trades {
        true => trades().collect(),
        false => WORKLOADS.iter().map(|workload| (workload, [].as_slice())).collect(),
    };
    let is = |workload: &Workload, name: &String| {
        workload.file(Variant::Itself).eq_ignore_ascii_case(name)
    };
    if let Some(name) =
        arguments.only.iter().find(|name| !all.iter().any(|(workload, _)| is(workload, name)))
    {
        let names: Vec<_> =
            all.iter().map(|(workload, _)| workload.file(Variant::Itself)).collect();
        return Err(format!("there is no workload {name:?}; there are {}", names.join(", ")).into());
    }
    if cfg!(debug_assertions) {
        eprintln!(
            "note: not optimised, the times mean nothing: cargo run --release -p cellc-bench"
        );
    }
    if !contender::HAS_C {
        eprintln!("note: the build found no C compiler that works; the C kernels are left out");
    }
    let cores = Cores::pin(arguments.core);
    let runs = match arguments.best_of {
        1 => String::new(),
        n => format!(", the best of {n} runs"),
    };
    let helper = match cores.and_then(|cores| cores.second).filter(|_| arguments.trades) {
        Some(second) => format!(", helpers on core {second}"),
        None => String::new(),
    };
    let pinned = cores
        .map_or("not pinned to a core".to_owned(), |cores| format!("core {}{helper}", cores.first));
    println!("{pinned}, up to {} rounds or {} s{runs}\n", arguments.rounds, arguments.seconds);
    // default options have no code for what only integers need
    let is_of_all =
        |floor: &Floor| Isa::from_name(floor.isa).is_some_and(|isa| isa.words().is_empty());
    let (of_all, of_integers): (Vec<_>, Vec<_>) = floors().into_iter().partition(is_of_all);
    let floors: Vec<_> =
        of_integers.into_iter().filter(|_| arguments.trades).chain(of_all).collect();
    let ceilings = floors.last().map(Ceilings::measure).transpose()?;
    if let Some(ceilings) = &ceilings {
        println!("{ceilings}");
    }
    let chosen = all.into_iter().filter(|(workload, _)| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| is(workload, name))
    });
    let (mut reports, mut with_trades) = (Vec::new(), Vec::new());
    for (workload, trades) in chosen {
        if arguments.trades {
            // without a core of its own no helper has another
            let cores = cores.unwrap_or(Cores { first: 0, second: None });
            let traded = bench_trades(workload, trades, &cores, &floors, arguments)?;
            println!("{traded}");
            with_trades.push(traded);
        } else {
            let report = bench(workload, &floors, arguments)?;
            println!("{report}");
            reports.push((workload, report));
        }
    }
    match arguments.trades {
        true => print!("{}", table::trades(&with_trades)),
        false => print!("{}", table::overview(&reports)),
    }
    let write = |file: &PathBuf, text: String| {
        std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
    };
    if let Some(file) = &arguments.json {
        let workloads: Vec<_> = reports
            .iter()
            .map(|(_, report)| report.json())
            .chain(with_trades.iter().map(Traded::json))
            .collect();
        let all = json!({
            "core": cores.map(|cores| cores.first),
            "helpers_core": cores.and_then(|cores| cores.second).filter(|_| arguments.trades),
            "rounds": arguments.rounds,
            "best_of": arguments.best_of,
            "ceilings": ceilings.map(|ceilings| ceilings.json()),
            "workloads": workloads,
        });
        write(file, format!("{all:#}\n"))?;
    }
    if let Some(file) = &arguments.svg {
        write(file, plot::plot(reports.iter().map(|(_, report)| report)))?;
    }
    Ok(())
}

/// Checks everyone, then times everyone.
fn bench(workload: &Workload, floors: &[Floor], arguments: &Arguments) -> Result<Report, String> {
    let expected = Expected::new(workload)?;
    let mut contenders = contenders(workload);
    let mut rows = Vec::new();
    for contender in &mut contenders {
        let agreement = check(workload, &expected, &mut **contender, TOLERANCE)?;
        rows.push(row(&**contender, agreement));
    }
    let mut peers = if arguments.no_peers { None } else { Some(Peers::start(workload)?) };
    let mut absent = Vec::new();
    if let Some(peers) = &mut peers {
        absent.append(&mut peers.absent);
        for mut peer in peers.all.drain(..) {
            match check(workload, &expected, &mut *peer, TOLERANCE) {
                Ok(agreement) => {
                    rows.push(row(&*peer, agreement));
                    contenders.push(peer);
                }
                // no time of a wrong result is worth anything
                Err(why) => absent.push((peer.name().to_owned(), why)),
            }
        }
    }
    measure(workload, floors, arguments, &mut contenders, rows, absent)
}

/// Holds kernels with default options and with each trade against the bounds that cellc states,
/// then times them all.
fn bench_trades(
    workload: &Workload,
    trades: &[Trade],
    cores: &Cores,
    floors: &[Floor],
    arguments: &Arguments,
) -> Result<Traded, String> {
    let (expected, mut bounds) = (Expected::new(workload)?, Bounds::new(workload)?);
    let mut kernels = traded(workload, trades, cores);
    let (mut rows, mut found): (Vec<ContenderRow>, _) = (Vec::new(), Vec::new());
    for kernel in &mut kernels {
        let held = bounds.hold(workload, &mut **kernel)?;
        let agreement = check(workload, &expected, &mut **kernel, f64::INFINITY)?;
        let this = row(&**kernel, agreement);
        let threads = matches!(kernel.trade(), Some(Trade::Threads | Trade::ThreadsBusy));
        let alone = |other: &&ContenderRow| {
            other.trade.is_none() && other.name == this.name && other.isa == this.isa
        };
        if threads
            && rows.iter().find(alone).is_none_or(|alone| alone.agreement.bits != agreement.bits)
        {
            return Err(format!(
                "{} {}: two threads do not give the bits of one",
                workload.name, this.name
            ));
        }
        if workload.fades() {
            kernel.run(FADED)?;
        }
        rows.push(this);
        found.push((kernel.trade(), held));
    }
    let asked = |trade: &&Trade| !kernels.iter().any(|kernel| kernel.trade() == Some(**trade));
    let absent = trades
        .iter()
        .filter(asked)
        .map(|trade| (trade.name().to_owned(), "there is no second core".to_owned()));
    let absent = absent.collect();
    let report = measure(workload, floors, arguments, &mut kernels, rows, absent)?;
    let remark = |kernel: &dyn Contender| {
        let denormal =
            || kernel.outputs().iter().flatten().filter(|value| value.is_subnormal()).count();
        kernel
            .remark()
            .or_else(|| workload.fades().then(|| format!("{} denormal at the end", denormal())))
    };
    let rows = kernels
        .iter()
        .zip(found)
        .map(|(kernel, (trade, held))| (trade, held, remark(&**kernel)))
        .collect();
    Ok(Traded { report, rows })
}

fn measure(
    workload: &Workload,
    floors: &[Floor],
    arguments: &Arguments,
    contenders: &mut [Box<dyn Contender>],
    rows: Vec<ContenderRow>,
    absent: Vec<(String, String)>,
) -> Result<Report, String> {
    let work = LeastWork::count(&model(workload, Variant::Itself)?);
    let mut runs = Vec::new();
    for _ in 0..arguments.best_of {
        let mut turns: Vec<Turn<'_>> = contenders
            .iter_mut()
            .map(|c| -> Turn<'_> { Box::new(move |calls| c.run(calls)) })
            .collect();
        let (rounds, time) = (arguments.rounds, Duration::from_secs_f64(arguments.seconds));
        runs.push(Run::measure(floors, &work, &mut turns, workload.steps(), rounds, time)?);
    }
    Ok(Report {
        name: workload.name.to_owned(),
        description: workload.describe(),
        steps: workload.steps(),
        work,
        rows,
        runs,
        absent,
    })
}

fn row(contender: &dyn Contender, agreement: Agreement) -> ContenderRow {
    ContenderRow {
        name: contender.name().to_owned(),
        isa: contender.isa().map(str::to_owned),
        version: contender.version().to_owned(),
        other_function: contender.variant().other_function(),
        trade: contender.trade().map(Trade::name),
        agreement,
    }
}
