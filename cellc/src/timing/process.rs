//! A contender in a separate process with a line protocol.
//!
//! The process greets with `ready FUNCTION VERSION` or `absent REASON`. Requests and answers:
//! `reset`: `ok`; `call`: a line with the number of output elements, then the elements as f32; `run
//! K`: the nanoseconds of K calls.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The process of a contender. The process ends when this value is dropped.
pub struct Process {
    /// The name of the function that the process computes, from the greeting.
    pub function: String,
    /// The version of the library, from the greeting.
    pub version: String,
    name: String,
    child: Child,
    // an Option, to close the input before waiting for the end
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts the process, with one thread for computations.
    ///
    /// # Errors
    /// The reason if the contender cannot run.
    pub fn start(name: &str, command: &mut Command) -> Result<Self, String> {
        let libraries = ["OMP", "OPENBLAS", "MKL", "RAYON", "RTEN"];
        command.envs(libraries.map(|library| (format!("{library}_NUM_THREADS"), "1")));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let (function, version) = (String::new(), String::new());
        let mut process = Self { function, version, name: name.to_owned(), child, input, output };
        let greeting = process.line()?;
        let (word, rest) = greeting.split_once(' ').unwrap_or((&greeting, ""));
        match (word, rest.split_once(' ')) {
            ("ready", Some((function, version))) => {
                (process.function, process.version) = (function.to_owned(), version.to_owned());
                Ok(process)
            }
            ("absent", _) => Err(rest.to_owned()),
            _ => Err(format!("{name} greets with {greeting:?}")),
        }
    }

    /// Resets the state to zero. The next call has the inputs of the first call.
    ///
    /// # Errors
    /// If the process has ended or breaks the protocol.
    pub fn reset(&mut self) -> Result<(), String> {
        self.ask("reset").map(drop)
    }

    /// Makes one call. Returns the output.
    ///
    /// # Errors
    /// If the process has ended or breaks the protocol.
    pub fn call(&mut self) -> Result<Vec<f32>, String> {
        let mut bytes = vec![0; self.number("call")? as usize * 4];
        self.output
            .read_exact(&mut bytes)
            .map_err(|error| format!("{} ended early: {error}", self.name))?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect())
    }

    /// Makes several calls. Returns their duration.
    ///
    /// # Errors
    /// If the process has ended or breaks the protocol.
    pub fn run(&mut self, calls: usize) -> Result<Duration, String> {
        self.number(&format!("run {calls}")).map(Duration::from_nanos)
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
        writeln!(input, "{words}")
            .map_err(|error| format!("{} does not listen: {error}", self.name))?;
        self.line()
    }

    fn number(&mut self, words: &str) -> Result<u64, String> {
        let answer = self.ask(words)?;
        answer.parse().map_err(|_| format!("{} answers {answer:?} to {words:?}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // the process ends when its input is closed
        drop(self.input.take());
        _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Process, String> {
        Process::start("shell", Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn a_process_takes_turns() {
        let greet = "echo ready tanh 1.2 of it; read a; echo ok";
        let script = format!(
            r#"{greet}; read b; printf '1\n\0\0\200?'; read c; echo "${{c#run }}000"; read d"#
        );
        let mut process = shell(&script).expect("it greets");
        assert_eq!((&process.function[..], &process.version[..]), ("tanh", "1.2 of it"));
        assert_eq!(process.reset(), Ok(()));
        assert_eq!(process.call(), Ok(vec![1.0]));
        assert_eq!(process.run(7), Ok(Duration::from_micros(7)));
        assert_eq!(process.run(7), Err("shell ended early".to_owned()));
    }

    #[test]
    fn one_that_cannot_says_why() {
        assert_eq!(shell("echo absent no LSTM here").map(drop), Err("no LSTM here".to_owned()));
        assert_eq!(shell("exit 1").map(drop), Err("shell ended early".to_owned()));
        assert_eq!(shell("echo hello").map(drop), Err("shell greets with \"hello\"".to_owned()));
    }

    #[test]
    fn python_without_numpy_says_so() {
        // runs Python with only the standard library
        let mut command = Command::new("python3");
        command.args(["-I", "-S", "-c", crate::timing::PYTHON]);
        match Process::start("Python", &mut command).map(drop) {
            Err(reason) if reason.starts_with("cannot be started") => {}
            other => {
                assert_eq!(other, Err("ModuleNotFoundError: No module named 'numpy'".to_owned()))
            }
        }
    }
}
