//! `cellc bench`: the time of a call of generated code and its lower bound on this machine. For
//! comparison: OpenVINO and, for ONNX files, ONNX Runtime and PyTorch, if installed.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::bound::states;
use crate::compile;
use crate::core::CoreModel;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::front::read_model::ReadModel;
use crate::harness::{Executable, Harness, InputElements, Variables};
use crate::random::Random;
use crate::reference::{initial_variables, reference};
use crate::request::{Language, Threads};
use crate::temporary::folder::TemporaryFolder;
use crate::timing::agreement::Agreement;
use crate::timing::floor::{Floor, LeastWork, floors};
use crate::timing::process::Process;
use crate::timing::report::{ContenderRow, Report, Run};
use crate::timing::turns::Turn;
use crate::timing::{PYTHON, pin};
use serde_json::json;

use super::arguments::BenchArguments;
use super::progress::Progress;
use super::stdio::write_stdout;
use super::{Failure, report};

/// Compiles the model, calls each implementation once, measures, and prints one table.
pub(crate) fn bench(arguments: &BenchArguments) -> Result<(), Failure> {
    if cfg!(debug_assertions) {
        let found = "this cellc is a debug build, whose lower bound of the time is far too high";
        let help = "install cellc, or use `cargo run --release -p cellc`";
        report(&Diagnostics(vec![Diagnostic::warning(Origin::Unknown, found).help(help)]));
    }
    let progress = Progress::start("reading the model");
    let ReadModel { model, problems: warnings } = arguments.model.read()?;
    progress.suspend(|| report(&warnings));
    progress.stage("compiling");
    let options = arguments.options().with_name(Some("model".to_owned()));
    let mut compilation = compile::compile(&model, &options)?;
    drop(model);
    progress.suspend(|| report(&compilation.warnings));
    let mut programs = Vec::new();
    for language in arguments.languages() {
        compilation = compilation.in_language(language);
        programs.push((language, Executable::temporary(&compilation)?));
    }
    let model = &compilation.model;
    // two threads on one core would wait for each other: pin them only on request
    let one_core = compilation.options.machine.threads == Threads::One || arguments.core.is_some();
    let core = if one_core { pin(arguments.core) } else { None };
    let floors: Vec<Floor> =
        floors().into_iter().filter(|floor| compiled(&compilation, floor.isa)).collect();

    progress.stage("checking");
    let Implementations { rows, mut harnesses, mut peers, absent } =
        Implementations::start(arguments, &compilation, &programs, &floors)?;

    progress.stage("measuring");
    let work = LeastWork::count(model);
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for harness in &mut harnesses {
        turns
            .push(Box::new(move |calls| harness.run(calls).map_err(|problem| problem.to_string())));
    }
    for peer in &mut peers {
        turns.push(Box::new(|calls| peer.process.run(calls)));
    }
    let time = Duration::from_secs_f64(arguments.seconds);
    let run =
        Run::measure(&floors, &work, &mut turns, 1, arguments.rounds, time).map_err(problem)?;
    drop(turns);
    drop(progress);
    let rounds = run.rounds();
    let name = model.name.clone().unwrap_or_else(|| arguments.model.shown());
    let description = format!("a call of {} multiply-adds", work.multiply_adds());
    let found = Report { name, description, steps: 1, work, rows, runs: vec![run], absent };
    let text = if arguments.json {
        super::json::text(&json!({ "core": core, "rounds": rounds, "model": found.json() }))
    } else {
        let pinned = core.map_or("not pinned to a core".to_owned(), |core| format!("core {core}"));
        format!("{pinned}, {rounds} rounds\n\n{found}")
    };
    write_stdout(text.as_bytes())?;
    Ok(())
}

/// The implementations to measure, after one call each.
struct Implementations {
    /// The rows of the table: generated code, then libraries.
    rows: Vec<ContenderRow>,
    harnesses: Vec<Harness>,
    peers: Vec<Peer>,
    /// Libraries that did not start, with the reasons.
    absent: Vec<(String, String)>,
}

impl Implementations {
    /// Starts each program with each instruction set, and each library, and compares a call with
    /// the reference.
    fn start(
        arguments: &BenchArguments,
        compilation: &compile::Compilation,
        programs: &[(Language, Executable)],
        floors: &[Floor],
    ) -> Result<Self, Failure> {
        let model = &compilation.model;
        let given = inputs(model, arguments.range.x);
        let exact: Vec<Vec<f64>> = given.iter().map(InputElements::exact).collect();
        let expected = reference(model, &exact, &initial_variables(model)).results;
        let expected = expected.first().ok_or_else(|| problem("the model has no output"))?;
        let mut bench =
            Self { rows: Vec::new(), harnesses: Vec::new(), peers: Vec::new(), absent: Vec::new() };
        for floor in floors {
            for (language, program) in programs {
                let mut harness = program.start(Some(floor.isa))?;
                let results = harness.call(&given, true, Variables::Initial)?.results;
                let name = if *language == Language::C { "cellc C" } else { "cellc Rust" };
                let isa = Some(floor.isa.to_owned());
                bench
                    .rows
                    .push(ContenderRow { isa, ..row(name, String::new(), &results[0], expected) });
                bench.harnesses.push(harness);
            }
        }
        for library in libraries(arguments) {
            let started = Peer::start(library, arguments, model, &given);
            let called =
                started.and_then(|mut peer| peer.process.call().map(|first| (peer, first)));
            match called {
                Ok((peer, first)) => {
                    let version = peer.process.version.clone();
                    bench.rows.push(row(library.name, version, &first, expected));
                    bench.peers.push(peer);
                }
                Err(why) => bench.absent.push((library.name.to_owned(), why)),
            }
        }
        Ok(bench)
    }
}

/// A Python library, timed if `python3` can import it.
#[derive(Clone, Copy, Debug)]
struct Library {
    /// The name in the table.
    name: &'static str,
    /// The library's name in `turns.py`.
    key: &'static str,
}

const OPENVINO: Library = Library { name: "OpenVINO Python", key: "openvino" };
const ONNX_RUNTIME: Library = Library { name: "ONNX Runtime Python", key: "onnxruntime" };
const PYTORCH: Library = Library { name: "PyTorch (onnx2torch)", key: "torch" };

/// The libraries for the model's format. For formats other than ONNX: OpenVINO, listed as absent if
/// it cannot read the file.
fn libraries(arguments: &BenchArguments) -> &'static [Library] {
    match is_onnx(arguments) {
        true => &[OPENVINO, ONNX_RUNTIME, PYTORCH],
        false => &[OPENVINO],
    }
}

fn is_onnx(arguments: &BenchArguments) -> bool {
    arguments
        .model
        .recognise()
        .is_ok_and(|format| format.endings.iter().any(|(ending, _)| *ending == "onnx"))
}

fn compiled(compilation: &compile::Compilation, isa: &str) -> bool {
    compilation.plan.isas.iter().any(|planned| isa == planned.isa.name)
}

fn row(name: &str, version: String, got: &[f32], expected: &[f64]) -> ContenderRow {
    let mut agreement = Agreement::default();
    // no distance is too large here: the table prints it, and `cellc check` compares it with limits
    agreement.see(got, expected, f64::INFINITY);
    ContenderRow {
        name: name.to_owned(),
        isa: None,
        version,
        other_function: None,
        trade: None,
        agreement,
    }
}

/// The inputs of all calls: random numbers; zeros for states and integers; full lengths.
fn inputs(model: &CoreModel, most: f32) -> Vec<InputElements> {
    let mut random = Random::new(1);
    let held = states(model);
    let input = |(i, parameter): (usize, &crate::core::Parameter)| {
        let len = parameter.shape.iter().product();
        match parameter.length {
            Some(longest) => InputElements::Integers(vec![longest as i64; len]),
            None if !parameter.element.is_float() => InputElements::Integers(vec![0; len]),
            // like PyTorch's initial weights: sums have the order of 1 for every size
            None if parameter.weight => InputElements::Floats(
                random
                    .even(len, parameter.shape.last().map_or(1.0, |&n| (n as f32).sqrt().recip())),
            ),
            None if held.contains(&i) => InputElements::Floats(vec![0.0; len]),
            None => InputElements::Floats(random.even(len, most)),
        }
    };
    model.parameters.iter().enumerate().map(input).collect()
}

/// A running library, and the temporary folder with the inputs of the library.
struct Peer {
    process: Process,
    _inputs: TemporaryFolder,
}

impl Peer {
    fn start(
        library: &Library,
        arguments: &BenchArguments,
        model: &CoreModel,
        given: &[InputElements],
    ) -> Result<Self, String> {
        if arguments.model.is_weights_file() {
            return Err("it reads models, and the file holds weights".to_owned());
        }
        if !is_onnx(arguments)
            && !arguments.model.recognise().is_ok_and(|format| format.weights_apart)
        {
            return Err("it reads OpenVINO IR (.xml) and ONNX (.onnx)".to_owned());
        }
        let fed = |i: usize| model.states.iter().any(|pair| pair.parameter == i);
        let folder = TemporaryFolder::new()
            .map_err(|error| format!("no temporary folder can be made: {error}"))?;
        let inputs = folder.path().join("inputs");
        let mut file = File::create(&inputs)
            .map_err(|error| format!("no temporary file can be made: {error}"))?;
        for (_, numbers) in given.iter().enumerate().filter(|(i, _)| !fed(*i)) {
            let bytes: Vec<u8> = match numbers {
                InputElements::Floats(values) => {
                    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
                }
                InputElements::Integers(values) => {
                    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
                }
            };
            file.write_all(&bytes)
                .map_err(|error| format!("a temporary file cannot be written: {error}"))?;
        }
        let sizes =
            |shape: &[usize]| shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let shapes: Vec<_> =
            model.parameters.iter().map(|parameter| sizes(&parameter.shape)).collect();
        let states: Vec<_> =
            model.states.iter().map(|s| format!("{}:{}", s.parameter, s.result)).collect();
        let absolute = |path: &Path| {
            fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
        };
        let mut command = Command::new("python3");
        command.args(["-c", PYTHON]).arg(format!("library={}", library.key));
        command.arg(format!("ir={}", absolute(arguments.model.path())));
        if let Some(weights) = &arguments.model.weights {
            command.arg(format!("bin={}", absolute(weights)));
        }
        command
            .arg(format!("shapes={}", shapes.join(";")))
            .arg(format!("states={}", states.join(",")));
        command.arg(format!("x={}", absolute(&inputs)));
        Ok(Self { process: Process::start(library.name, &mut command)?, _inputs: folder })
    }
}

fn problem(what: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, what.into())
}
