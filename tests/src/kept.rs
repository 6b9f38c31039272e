//! Measured numbers that a file keeps by compiler: no number grows unnoticed.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};

/// The maximum difference of a number from the kept number, in percent.
const LIMIT: u64 = 3;

/// A file of numbers: each line has a compiler with its version, a name and a number.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// The name of the file in `tests/tests`.
    pub file: &'static str,
    /// The meaning of the lines, for the first line of the file.
    pub about: &'static str,
    /// The command that writes the file anew.
    pub update: &'static str,
}

/// Messages about numbers: the messages in `refused` fail the test, the others are only printed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    said: Vec<String>,
    refused: Vec<String>,
}

impl Kept {
    /// All kept numbers with their names, for every compiler.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn all(&self) -> Vec<(String, u64)> {
        let text = self.text();
        let lines = text.lines().filter(|line| !line.starts_with('#')).map(read);
        lines.map(|(_, name, count)| (name.to_owned(), count)).collect()
    }

    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(self.file)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).expect("the numbers that are kept")
    }

    /// Compares the found numbers with the numbers kept for a compiler, and prints which have
    /// become smaller. If the variable `CELLC_BLESS` is set, the found numbers are written first.
    ///
    /// # Panics
    /// If a number has grown, or if no such number is kept. If `CI` is set, also if no numbers are
    /// kept for the compiler.
    pub fn check(&self, compiler: &str, found: &[(String, u64)]) {
        if env::var_os("CELLC_BLESS").is_some() {
            fs::write(self.path(), self.blessed(&self.text(), compiler, found))
                .expect("the numbers can be written");
        }
        self.check_some(compiler, found);
    }

    /// Compares some of the kept numbers. Writes nothing.
    ///
    /// # Panics
    /// As [`Self::check`].
    pub fn check_some(&self, compiler: &str, found: &[(String, u64)]) {
        let verdict = self.verdict(&self.text(), compiler, found, env::var_os("CI").is_some());
        // standard error is visible even if the test passes
        verdict.said.iter().for_each(|line| writeln!(stderr(), "{line}").expect("standard error"));
        assert!(verdict.refused.is_empty(), "{}", verdict.refused.join("\n"));
    }

    /// The text of the file with new numbers for one compiler.
    fn blessed(&self, text: &str, compiler: &str, found: &[(String, u64)]) -> String {
        let mut out = format!("# {}; written by {}\n", self.about, self.update);
        for line in text.lines().filter(|line| !line.starts_with('#') && read(line).0 != compiler) {
            let _ = writeln!(out, "{line}");
        }
        for (name, count) in found {
            let _ = writeln!(out, "{compiler} {name} {count}");
        }
        out
    }

    /// `required`: true if it is an error that no numbers are kept for the compiler.
    fn verdict(
        &self,
        text: &str,
        compiler: &str,
        found: &[(String, u64)],
        required: bool,
    ) -> Verdict {
        let update = self.update;
        let kept: Vec<_> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(read)
            .filter(|l| l.0 == compiler)
            .collect();
        let mut verdict = Verdict::default();
        if kept.is_empty() {
            let line = format!("no numbers are kept for {compiler}; add them: {update}");
            if required { &mut verdict.refused } else { &mut verdict.said }.push(line);
            return verdict;
        }
        for (name, now) in found {
            let Some((_, _, was)) = kept.iter().find(|(_, kept, _)| kept == name) else {
                verdict.refused.push(format!("{name}: no number is kept; add it: {update}"));
                continue;
            };
            let change = format!("{name}: {now}, {was} are kept");
            if now * 100 > was * (100 + LIMIT) {
                verdict
                    .refused
                    .push(format!("{change}: more than {LIMIT} % more; if it has to be: {update}"));
            } else if now * 100 < was * (100 - LIMIT) {
                verdict
                    .said
                    .push(format!("{change}: more than {LIMIT} % fewer; keep it so: {update}"));
            }
        }
        verdict
    }
}

/// Splits a line of a file into compiler, name and number.
fn read(line: &str) -> (&str, &str, u64) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [compiler, name, count] = words[..] else {
        panic!("not a compiler, a name and a count: {line}")
    };
    (compiler, name, count.parse().expect("a count"))
}

#[cfg(test)]
mod tests {
    use super::{Kept, Verdict};

    #[test]
    fn growth_is_refused_and_the_rest_is_said() {
        let file = Kept { file: "none", about: "compiler, what, count", update: "a command" };
        let named = |counts: &[(&str, u64)]| {
            counts.iter().map(|(name, k)| (name.to_string(), *k)).collect::<Vec<_>>()
        };
        let kept = file.blessed("", "1.95.0", &named(&[("one", 1000), ("two", 100)]));
        let of = |compiler: &str, one, two| {
            let found = named(&[("one", one), ("two", two)]);
            let Verdict { said, refused } = file.verdict(&kept, compiler, &found, false);
            (said.len(), refused.len())
        };
        assert_eq!(of("1.95.0", 1000, 100), (0, 0));
        assert_eq!(of("1.95.0", 1030, 97), (0, 0));
        assert_eq!(of("1.95.0", 1031, 100), (0, 1));
        assert_eq!(of("1.95.0", 969, 104), (1, 1));
        assert_eq!(of("1.96.0", 5000, 500), (1, 0));
        assert_eq!(file.verdict(&kept, "1.95.0", &named(&[("three", 1)]), false).refused.len(), 1);
        // if numbers are required, a compiler without kept numbers is refused
        assert_eq!(file.verdict(&kept, "1.96.0", &named(&[("one", 1000)]), true).refused.len(), 1);

        let both = file.blessed(&kept, "1.96.0", &named(&[("one", 7)]));
        assert_eq!(both, format!("{kept}1.96.0 one 7\n"));
        let lines = |text: &str| text.lines().skip(1).map(str::to_string).collect::<Vec<_>>();
        assert_eq!(
            lines(&file.blessed(&both, "1.95.0", &named(&[("one", 8)]))),
            ["1.96.0 one 7", "1.95.0 one 8"]
        );
    }
}
