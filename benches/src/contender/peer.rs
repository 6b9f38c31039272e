//! Other libraries. Each runs in a process of its own on the same core and takes its turns there;
//! it is started with the workload as arguments `key=value`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cellc::internals::model::{CellKind, ResetGate};
use cellc::internals::timing::process::Process;
use tempfile::TempDir;

use super::{Contender, onnx};
use crate::contender::model_file;
use crate::workload::{Network, Variant, Workload};

/// What `peers/install` may have installed: the name, the program in `peers/built`, and its first
/// arguments, of which files are in `peers`.
const PEERS: [(&str, &str, &[&str]); 9] = [
    ("OpenVINO C++", "openvino", &[]),
    ("OpenVINO Python", "venv/bin/python", &["../../cellc/src/timing/turns.py"]),
    ("ONNX Runtime", "venv/bin/python", &["onnx_runtime.py"]),
    ("oneDNN", "onednn", &[]),
    ("tract", "engines", &["tract"]),
    ("RTen", "engines", &["rten"]),
    ("candle", "engines", &["candle"]),
    ("gemm crate", "engines", &["gemm"]),
    ("nnnoiseless", "engines", &["nnnoiseless"]),
];

struct Peer {
    name: &'static str,
    process: Process,
}

/// The files that a workload's peers read.
pub(super) struct Files(TempDir);

impl Files {
    pub(super) fn new(workload: &Workload) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("cellc-bench-").tempdir()?;
        let floats = |name: &str, values: &[f32]| {
            fs::write(
                folder.path().join(name),
                values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
            )
        };
        floats("x", &workload.inputs(Variant::Itself))?;
        floats("weights", &workload.weights())?;
        fs::write(folder.path().join("model.onnx"), onnx::model(workload))?;
        Ok(Self(folder))
    }

    /// The workload as arguments.
    fn arguments(&self, workload: &Workload) -> Vec<String> {
        let file = |name: &str| self.0.path().join(name).display().to_string();
        let (kind, activations, inputs, units, head) = match &workload.network {
            Network::Cell(cell) => {
                let kind = match cell.kind {
                    CellKind::Rnn => "rnn",
                    CellKind::Gru(ResetGate::AfterMatMul) => "gru_after",
                    CellKind::Gru(ResetGate::BeforeMatMul) => "gru_before",
                    CellKind::Lstm => "lstm",
                    CellKind::Augru(_) => unreachable!("no workload is one"),
                };
                let activations: Vec<_> = cell.activations.iter().map(|a| a.name()).collect();
                (kind, activations.join(","), cell.input_size, cell.hidden_size, cell.head)
            }
            Network::Convolution(_) => {
                ("convolution", String::new(), workload.input_len(Variant::Itself), 0, false)
            }
        };
        let states = match kind {
            "convolution" => "",
            "lstm" => "1:-2,2:-1",
            _ => "1:-1",
        };
        let shape: Vec<_> = onnx::input_shape(workload).iter().map(usize::to_string).collect();
        [
            ("cell", kind.to_owned()),
            ("activations", activations),
            ("inputs", inputs.to_string()),
            ("units", units.to_string()),
            ("batch", workload.batch().to_string()),
            ("steps", workload.steps().to_string()),
            ("head", u8::from(head).to_string()),
            ("ir", model_file(workload, Variant::Itself).display().to_string()),
            ("onnx", file("model.onnx")),
            ("onnx_shape", shape.join(",")),
            ("states", states.to_owned()),
            ("x", file("x")),
            ("weights", file("weights")),
        ]
        .map(|(key, value)| format!("{key}={value}"))
        .to_vec()
    }
}

/// Those that take part, and of the others the names and why not.
type Found = (Vec<Box<dyn Contender>>, Vec<(String, String)>);

/// Those that are installed; those that do not take part, with the reason.
pub(super) fn peers(workload: &Workload, files: &Files) -> Found {
    let (mut all, mut absent): (Vec<Box<dyn Contender>>, _) = (Vec::new(), Vec::new());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    for (name, program, first) in PEERS {
        let program = folder.join("built").join(program);
        if !program.exists() {
            absent.push((name.to_owned(), "not installed".to_owned()));
            continue;
        }
        let mut command = Command::new(program);
        command.args(first).args(files.arguments(workload)).current_dir(&folder);
        match Process::start(name, &mut command) {
            Ok(process) => all.push(Box::new(Peer { name, process })),
            Err(why) => absent.push((name.to_owned(), why)),
        }
    }
    (all, absent)
}

impl Contender for Peer {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> &str {
        &self.process.version
    }

    fn variant(&self) -> Variant {
        match &self.process.function[..] {
            "tanh" => Variant::Tanh,
            "rounded" => Variant::Rounded,
            _ => Variant::Itself,
        }
    }

    fn reset(&mut self) -> Result<(), String> {
        self.process.reset()
    }

    fn call(&mut self) -> Result<Vec<f32>, String> {
        self.process.call()
    }

    fn run(&mut self, calls: usize) -> Result<Duration, String> {
        self.process.run(calls)
    }
}
