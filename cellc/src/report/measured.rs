//! Measurements of generated code with the target's C compiler, if installed.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use crate::arch::Isa;
use crate::compile::Compilation;
use crate::request::Language;
use crate::temporary::folder::TemporaryFolder;

/// The flags for measurements.
const FLAGS: [&str; 4] = ["-std=gnu11", "-O2", "-fcallgraph-info=su", "-c"];

/// The results of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The compiler with its version and flags.
    pub compiler: String,
    /// Bytes of the code.
    pub code: u64,
    /// Bytes of all constants, including weights.
    pub constants: u64,
    /// Bytes of the deepest chain of stack frames of a step, without the C library.
    pub stack: u64,
}

impl Measured {
    /// Compiles the model's C code for an instruction set with the target's compiler. `None` if the
    /// compiler is not installed, or if the target has no compiler for this instruction set.
    ///
    /// # Errors
    /// If the compiler is installed but fails.
    pub fn measure(compilation: &Compilation, isa: &Isa) -> Result<Option<Self>, String> {
        let arch = compilation.options.machine.target;
        let [program, cpu @ ..] = arch.c.compiler else { return Ok(None) };
        let isa_flags = if isa == arch.baseline { Some(&[][..]) } else { isa.c.flags };
        let Some(isa_flags) = isa_flags else { return Ok(None) };
        let cpu = [cpu, isa_flags].concat();
        let Some(version) = output(Command::new(program).arg("-dumpfullversion")) else {
            return Ok(None);
        };
        let compilation = compilation.clone().in_language(Language::C);
        let folder = TemporaryFolder::new()
            .map_err(|error| format!("no temporary folder can be made: {error}"))?;
        let at = |name: &str| folder.path().join(name);
        for file in compilation.emit("net") {
            fs::write(at(&file.name), file.bytes.as_slice())
                .map_err(|error| format!("{}: {error}", file.name))?;
        }
        let mut compiler = Command::new(program);
        compiler.args(&cpu).args(FLAGS).args(["net.c", "-o", "net.o"]).current_dir(folder.path());
        let done = compiler
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{program}: {error}"))?;
        if !done.status.success() {
            let stderr = String::from_utf8_lossy(&done.stderr);
            let line =
                stderr.lines().find(|line| line.contains("error")).unwrap_or("it does not say why");
            return Err(format!("{program} does not compile the file: {line}"));
        }
        let size = output(Command::new(program).arg("-print-prog-name=size"));
        let sections =
            size.and_then(|size| output(Command::new(size.trim()).arg("-A").arg(at("net.o"))));
        let sections =
            sections.ok_or_else(|| format!("the size program of {program} does not run"))?;
        let step = format!("{}_step", compilation.interface.function);
        let calls = fs::read_to_string(at("net.ci")).unwrap_or_default();
        let stack = Calls::read(&calls).deepest(&step);
        let stack =
            stack.ok_or_else(|| format!("{program} does not say what stack a step takes"))?;
        let flags: Vec<_> = cpu.iter().chain(&FLAGS[1..2]).copied().collect();
        Ok(Some(Self {
            compiler: format!("{program} {} {}", version.trim(), flags.join(" ")),
            code: bytes_of(&sections, &[".text"]),
            constants: bytes_of(&sections, &[".rodata", ".data", ".bss"]),
            stack,
        }))
    }
}

/// The standard output of a program. `None` if the program fails.
fn output(command: &mut Command) -> Option<String> {
    let done = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|done| done.status.success())?;
    String::from_utf8(done.stdout).ok()
}

/// From the output of `size -A`: bytes of all sections with names that begin with one of `names`.
fn bytes_of(list: &str, names: &[&str]) -> u64 {
    let size = |line: &str| {
        let mut words = line.split_whitespace();
        let named =
            words.next().is_some_and(|name| names.iter().any(|begin| name.starts_with(begin)));
        if named { words.next()?.parse::<u64>().ok() } else { None }
    };
    list.lines().filter_map(size).sum()
}

/// The call graph of a file and the frame sizes in bytes, from gcc's `-fcallgraph-info=su`.
#[derive(Debug, Default)]
struct Calls<'a> {
    frames: BTreeMap<&'a str, u64>,
    calls: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Calls<'a> {
    /// Parses lines like `node: { title: "f" label: "f\nnet.c:1:2\n16 bytes (static)" }` and `edge:
    /// { sourcename: "f" targetname: "g" label: "net.c:3:4" }`.
    fn read(text: &'a str) -> Self {
        let mut found = Self::default();
        for line in text.lines() {
            let field = |name: &str| {
                let (_, rest) = line.split_once(name)?;
                Some(rest.strip_prefix(": \"")?.split_once('"')?.0)
            };
            if let (Some(from), Some(to)) = (field("sourcename"), field("targetname")) {
                found.calls.entry(from).or_default().push(to);
            } else if let (Some(name), Some(label)) = (field("title"), field("label")) {
                let frame = label.rsplit("\\n").next().and_then(|last| last.split_once(" bytes "));
                if let Some(frame) = frame.and_then(|(bytes, _)| bytes.parse().ok()) {
                    found.frames.insert(name, frame);
                }
            }
        }
        found
    }

    /// The bytes of the deepest chain of frames from a function. `None` for unknown functions.
    fn deepest(&self, function: &str) -> Option<u64> {
        self.frames.get(function)?;
        // each iteration lengthens the chains by one function
        let mut deepest: BTreeMap<&str, u64> = self.frames.clone();
        for _ in 0..self.frames.len() {
            let next = self.frames.iter().map(|(name, own)| {
                let called = self.calls.get(name).into_iter().flatten().filter(|to| *to != name);
                (*name, own + called.filter_map(|to| deepest.get(to)).max().unwrap_or(&0))
            });
            let next: BTreeMap<_, _> = next.collect();
            if next == deepest {
                break;
            }
            deepest = next;
        }
        deepest.get(function).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_chain_of_frames() {
        let node = |name: &str, bytes: u64| {
            format!(
                "node: {{ title: \"{name}\" label: \"{name}\\nnet.c:1:2\\n{bytes} bytes (static)\" \
                 }}\n"
            )
        };
        let edge = |from: &str, to: &str| {
            format!("edge: {{ sourcename: \"{from}\" targetname: \"{to}\" label: \"l\" }}\n")
        };
        let text = [
            node("step", 16),
            edge("step", "short"),
            node("short", 100),
            edge("step", "long"),
            node("long", 8),
            edge("long", "deep"),
            node("deep", 96),
            "node: \
             { title: \"memcpy\" label: \"__builtin_memcpy\\n<built-in>\" shape : ellipse \
             }\n"
            .to_owned(),
            edge("deep", "memcpy"),
            node("alone", 1000),
        ];
        let text = text.concat();
        let calls = Calls::read(&text);
        assert_eq!(calls.deepest("step"), Some(16 + 8 + 96));
        assert_eq!(calls.deepest("nothing"), None);
    }

    #[test]
    fn sections_are_summed_by_their_names() {
        let list = "net.o  :\nsection   size  addr\n.text  8  0\n.text.step  100  0\n.rodata  40  \
            0\n.comment 7 0\nTotal 155\n";
        assert_eq!(bytes_of(list, &[".text"]), 108);
        assert_eq!(bytes_of(list, &[".rodata", ".data"]), 40);
    }
}
