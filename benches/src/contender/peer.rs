//! Other libraries. Each runs in a process of its own on the same core and takes its turns there: a line in, a line out.
//!
//! A process is started with the workload as arguments `key=value`, and greets with `ready VARIANT VERSION` or `absent REASON`. Then `reset` is
//! answered by `ok`; `call`, by the number of elements of the output, a line, and those elements; `run K`, by the nanoseconds of K calls.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use cellc::model::{CellKind, ResetGate};
use tempfile::TempDir;

use super::{Contender, onnx};
use crate::check::model_file;
use crate::workload::{Variant, Workload};

/// What `peers/install` may have installed: the name, the program in `peers/built`, and its first arguments, of which files are in `peers`.
const PEERS: [(&str, &str, &[&str]); 4] = [
    ("OpenVINO C++", "openvino", &[]),
    ("OpenVINO Python", "venv/bin/python", &["peer.py", "openvino"]),
    ("ONNX Runtime", "venv/bin/python", &["peer.py", "onnxruntime"]),
    ("oneDNN", "onednn", &[]),
];

struct Peer {
    name: &'static str,
    version: String,
    variant: Variant,
    child: Child,
    // an Option so that it can be closed before the end is waited for
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The files that a workload's peers read.
pub(super) struct Files(TempDir);

impl Files {
    pub(super) fn new(workload: &Workload) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("cellc-bench-").tempdir()?;
        let floats = |name: &str, values: &[f32]| {
            fs::write(folder.path().join(name), values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
        };
        floats("x", &workload.inputs(Variant::Itself))?;
        floats("weights", &workload.weights().all())?;
        fs::write(folder.path().join("model.onnx"), onnx::model(workload))?;
        Ok(Self(folder))
    }

    /// The workload as arguments.
    fn arguments(&self, workload: &Workload) -> Vec<String> {
        let cell = match workload.kind {
            CellKind::Rnn => "rnn",
            CellKind::Gru(ResetGate::AfterMatMul) => "gru_after",
            CellKind::Gru(ResetGate::BeforeMatMul) => "gru_before",
            CellKind::Lstm => "lstm",
            CellKind::Augru(_) => unreachable!("no workload is one"),
        };
        let file = |name: &str| self.0.path().join(name).display().to_string();
        let activations: Vec<_> = workload.activations.iter().map(|a| a.name()).collect();
        [
            ("cell", cell.to_owned()),
            ("activations", activations.join(",")),
            ("inputs", workload.input_size.to_string()),
            ("units", workload.hidden_size.to_string()),
            ("batch", workload.batch.to_string()),
            ("steps", workload.steps.to_string()),
            ("head", u8::from(workload.head).to_string()),
            ("ir", model_file(workload, Variant::Itself).display().to_string()),
            ("onnx", file("model.onnx")),
            ("x", file("x")),
            ("weights", file("weights")),
        ]
        .map(|(key, value)| format!("{key}={value}"))
        .to_vec()
    }
}

/// Those that are installed; those that do not take part, with the reason.
pub(super) fn peers(workload: &Workload, files: &Files) -> (Vec<Box<dyn Contender>>, Vec<(String, String)>) {
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
        match Peer::start(name, &mut command) {
            Ok(peer) => all.push(Box::new(peer)),
            Err(why) => absent.push((name.to_owned(), why)),
        }
    }
    (all, absent)
}

impl Peer {
    fn start(name: &'static str, command: &mut Command) -> Result<Self, String> {
        // one core is all there is
        for variable in
            ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "RTEN_NUM_THREADS"]
        {
            command.env(variable, "1");
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let mut peer = Self { name, version: String::new(), variant: Variant::Itself, child, input, output };
        let greeting = peer.line()?;
        let (word, rest) = greeting.split_once(' ').unwrap_or((&greeting, ""));
        match (word, rest.split_once(' ')) {
            ("ready", Some((variant, version))) => {
                peer.version = version.to_owned();
                peer.variant = if variant == "tanh" { Variant::Tanh } else { Variant::Itself };
                Ok(peer)
            }
            ("absent", _) => Err(rest.to_owned()),
            _ => Err(format!("it greets with {greeting:?}")),
        }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(format!("{} ended early", self.name)),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(format!("{} cannot be read: {error}", self.name)),
        }
    }

    fn ask(&mut self, words: &str) -> Result<String, String> {
        let input = self.input.as_mut().expect("open until dropped");
        writeln!(input, "{words}").map_err(|error| format!("{} does not listen: {error}", self.name))?;
        self.line()
    }

    fn number(&mut self, words: &str) -> Result<u64, String> {
        let answer = self.ask(words)?;
        answer.parse().map_err(|_| format!("{} answers {answer:?} to {words:?}", self.name))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // the end of its input is its end
        drop(self.input.take());
        _ = self.child.wait();
    }
}

impl Contender for Peer {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn variant(&self) -> Variant {
        self.variant
    }

    fn reset(&mut self) -> Result<(), String> {
        self.ask("reset").map(drop)
    }

    fn call(&mut self) -> Result<Vec<f32>, String> {
        let mut bytes = vec![0; self.number("call")? as usize * 4];
        self.output.read_exact(&mut bytes).map_err(|error| format!("{} ended early: {error}", self.name))?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect())
    }

    fn run(&mut self, calls: usize) -> Result<Duration, String> {
        self.number(&format!("run {calls}")).map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Peer, String> {
        Peer::start("shell", Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn a_process_takes_turns() {
        let script = r#"echo "ready tanh 1.2 of it"; read a; echo ok; read b; printf '1\n\0\0\200?'; read c; echo "${c#run }000""#;
        let mut peer = shell(script).expect("it greets");
        assert_eq!((peer.version(), peer.variant()), ("1.2 of it", Variant::Tanh));
        assert_eq!(peer.reset(), Ok(()));
        assert_eq!(peer.call(), Ok(vec![1.0]));
        assert_eq!(peer.run(7), Ok(Duration::from_micros(7)));
        assert_eq!(peer.run(7), Err("shell ended early".to_owned()));
    }

    #[test]
    fn one_that_cannot_says_why() {
        assert_eq!(shell("echo absent no LSTM here").map(drop), Err("no LSTM here".to_owned()));
        assert_eq!(shell("exit 1").map(drop), Err("shell ended early".to_owned()));
        assert_eq!(shell("echo hello").map(drop), Err("it greets with \"hello\"".to_owned()));
    }
}
