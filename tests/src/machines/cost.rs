//! The costs of a step on a machine: executed instructions, bytes of code, bytes of the stack.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::{Machine, Trial, Written, support};
use crate::driver::run;
use crate::skipped::{has, is_required, skip};

/// The number of counted steps. It is even, because some kernels alternate between two orders.
pub(super) const STEPS: u64 = 16;

/// The costs of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Instructions of a step of the struct, including the C library's. `None` without QEMU.
    pub instructions: Option<u64>,
    /// Bytes of the code of all functions of the file, without its constants.
    pub code: u64,
    /// Bytes of the largest frame of a function. `None` if the compiler does not report frames.
    pub frame: Option<u64>,
    /// Bytes of the deepest chain of frames of a step, without the C library's. `None` if the
    /// compiler is not gcc, which reports the call graph.
    pub stack: Option<u64>,
}

impl Cost {
    /// The costs with their names.
    pub fn numbers(&self) -> [(&'static str, Option<u64>); 4] {
        let Self { instructions, code, frame, stack } = *self;
        [("instructions", instructions), ("code", Some(code)), ("frame", frame), ("stack", stack)]
    }
}

impl Machine {
    /// The costs of a step of each model, compiled with `flags` in a new folder.
    ///
    /// # Panics
    /// If a program does not compile or run.
    pub fn costs(&self, folder: &Path, trials: &[Trial], flags: &[&str]) -> Vec<Cost> {
        let is_gcc = self.compiler[0].contains("gcc");
        let frames = match (self.rust, is_gcc) {
            ("", true) => &["-fcallgraph-info=su"][..],
            ("", false) => &["-fstack-usage"],
            _ => &[],
        };
        let program = self.compile(folder, trials, &[flags, frames].concat(), Written::Count);
        let counts = self.counts(folder, &program);
        assert!(counts.is_empty() || counts.len() == trials.len(), "{}: {counts:?}", self.name);
        let cost = |(at, trial): (usize, &Trial)| {
            let name = &trial.subject.name;
            let read = |ending| {
                fs::read_to_string(folder.join(format!("{name}.{ending}")))
                    .expect("the compiler's notes")
            };
            let instructions = counts.get(at).map(|count| count / STEPS);
            if !self.rust.is_empty() {
                // the functions of the module, found by their symbols; code inlined into the caller
                // is not counted
                let code = self.code(&folder.join("libtrials.a"), &format!("{}{name}", name.len()));
                return Cost { instructions, code, frame: None, stack: None };
            }
            let code = self.code(&folder.join(format!("{name}.o")), "");
            if !is_gcc {
                return Cost { instructions, code, frame: Some(largest(&read("su"))), stack: None };
            }
            let calls = Calls::read(&read("ci"));
            let frame = calls.frames.values().copied().max();
            let step = format!("{}_step", trial.subject.compilation.interface.function);
            Cost { instructions, code, frame, stack: Some(calls.deepest(&step)) }
        };
        trials.iter().enumerate().map(cost).collect()
    }

    /// True if a program for this machine runs and its instructions and bytes can be counted;
    /// otherwise, the test is skipped. Each machine is tried once.
    pub fn counts_here(&self) -> bool {
        static ASKED: Mutex<BTreeMap<&str, bool>> = Mutex::new(BTreeMap::new());
        if !self.is_here() || !["gcc", self.size].into_iter().all(has) {
            return false;
        }
        let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        let works = *asked.entry(self.name).or_insert_with(|| self.runs_counted());
        drop(asked);
        if !works {
            assert!(
                !is_required(self.emulator[0]),
                "{} takes no plugin that counts",
                self.emulator[0]
            );
            skip(&format!("no {} that takes a plugin", self.emulator[0]));
        }
        works
    }

    /// True if QEMU runs a program with the plugin that counts, or if the emulator is not QEMU.
    fn runs_counted(&self) -> bool {
        if !self.emulator[0].starts_with("qemu-") {
            return true;
        }
        let folder = std::env::temp_dir().join(format!(
            "cellc-tests-{}-{}-count",
            std::process::id(),
            self.name
        ));
        let (counts, plugin) = (folder.join("counts.txt"), folder.join("count.so"));
        let argument = format!("{},to={}", plugin.display(), counts.display());
        let works = fs::create_dir_all(&folder).is_ok()
            && plugin_compiler(&plugin).output().is_ok_and(|output| output.status.success())
            && self.runs_a_program(&["-plugin", &argument]);
        _ = fs::remove_dir_all(&folder);
        works
    }

    /// The counts of a program that QEMU runs. Empty for another emulator.
    fn counts(&self, folder: &Path, program: &Path) -> Vec<u64> {
        if !self.emulator[0].starts_with("qemu-") {
            return Vec::new();
        }
        let (counts, plugin) = (folder.join("counts.txt"), folder.join("count.so"));
        run(&mut plugin_compiler(&plugin));
        let plugin = format!("{},to={}", plugin.display(), counts.display());
        self.run(program, &["-plugin", &plugin]);
        let counts = fs::read_to_string(counts).expect("the plugin has counted");
        counts.lines().map(|line| line.parse().expect("a count")).collect()
    }

    /// The compiler with its version: `arm-none-eabi-gcc-12.2.1`.
    pub fn compiler_version(&self) -> String {
        let output =
            Command::new(self.compiler[0]).arg("--version").output().expect("the compiler starts");
        let text = String::from_utf8(output.stdout).expect("a version is ASCII");
        let words: Vec<&str> = text.lines().next().expect("a line").split_whitespace().collect();
        // the last word that looks like a version; Arm's gcc has a date behind the version
        let numbers =
            || words.iter().rev().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let version = numbers().find(|word| word.contains('.')).or_else(|| numbers().next());
        format!("{}-{}", self.compiler[0], version.expect("a version"))
    }

    /// The bytes of an object's code sections whose names contain `named`.
    fn code(&self, object: &Path, named: &str) -> u64 {
        let output = Command::new(self.size).arg("-A").arg(object).output().expect("size starts");
        let listing = String::from_utf8(output.stdout).expect("size prints ASCII");
        let text = listing.lines().filter(|line| {
            (line.starts_with(".text") || line.starts_with("CODE")) && line.contains(named)
        });
        text.map(|line| {
            line.split_whitespace().nth(1).expect("a size").parse::<u64>().expect("a number")
        })
        .sum()
    }
}

/// The command that compiles the plugin of QEMU that counts instructions.
fn plugin_compiler(plugin: &Path) -> Command {
    let mut compiler = Command::new("gcc");
    compiler
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"])
        .arg(support().join("count.c"));
    compiler.arg("-o").arg(plugin);
    compiler
}

/// The call graph of a file and the frame size of each function, from gcc's `-fcallgraph-info=su`.
#[derive(Debug, Default)]
struct Calls {
    frames: BTreeMap<String, u64>,
    edges: Vec<(String, String)>,
}

impl Calls {
    /// Parses lines such as `node: { title: "f" label: "f\nnet.c:1:2\n16 bytes (static)" }` and
    /// `edge: { sourcename: "f" targetname: "g" label: "net.c:3:4" }`.
    fn read(text: &str) -> Self {
        let mut calls = Self::default();
        for line in text.lines() {
            let field = |name: &str| {
                let (_, rest) = line.split_once(&format!("{name}: \""))?;
                Some(rest.split_once('"').expect("a field ends").0.to_owned())
            };
            if let (Some(from), Some(to)) = (field("sourcename"), field("targetname")) {
                assert_ne!(to, "__indirect_call", "{line}");
                calls.edges.push((from, to));
            } else if let (true, Some(name), Some(label)) =
                (line.starts_with("node"), field("title"), field("label"))
            {
                // a function that is defined elsewhere has no frame
                if let Some((frame, kind)) =
                    label.rsplit("\\n").next().and_then(|last| last.split_once(" bytes "))
                {
                    assert_eq!(kind, "(static)", "{line}");
                    calls.frames.insert(name, frame.parse().expect("a size"));
                }
            }
        }
        calls
    }

    /// The bytes of the deepest chain of frames from a function.
    fn deepest(&self, function: &str) -> u64 {
        let called = self.edges.iter().filter(|(from, to)| from == function && to != function);
        let deepest = called.map(|(_, to)| self.deepest(to)).max().unwrap_or(0);
        self.frames.get(function).copied().unwrap_or(0) + deepest
    }
}

/// The largest frame that `-fstack-usage` wrote: `net.c:1:f<TAB>16<TAB>static`.
fn largest(text: &str) -> u64 {
    let frame = |line: &str| line.split('\t').nth(1).expect("a size").parse().expect("a number");
    text.lines().map(frame).max().expect("a function")
}

#[cfg(test)]
mod tests {
    use super::Calls;

    #[test]
    fn the_deepest_chain_of_frames() {
        let node = |name: &str, bytes: u64| {
            format!(
                "node: {{ title: \"{name}\" label: \"{name}\\nnet.c:1:2\\n{bytes} bytes (static)\" }}\n"
            )
        };
        let edge = |from: &str, to: &str| {
            format!("edge: {{ sourcename: \"{from}\" targetname: \"{to}\" label: \"l\" }}\n")
        };
        let text = [
            "graph: { title: \"net.c\"\n".to_owned(),
            node("step", 16),
            edge("step", "net.c:short"),
            node("net.c:short", 100),
            edge("step", "net.c:long"),
            node("net.c:long", 8),
            edge("net.c:long", "net.c:deep"),
            node("net.c:deep", 96),
            "node: { title: \"memcpy\" label: \"__builtin_memcpy\\n<built-in>\" shape : ellipse }\n".to_owned(),
            edge("net.c:deep", "memcpy"),
            node("alone", 1000),
        ];
        assert_eq!(Calls::read(&text.concat()).deepest("step"), 16 + 8 + 96);
    }
}
