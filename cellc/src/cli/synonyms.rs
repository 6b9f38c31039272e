//! Words by which other tools call what a command of cellc does, and words with typing errors.

/// Commands of other tools, and what of cellc does the same.
const COMMANDS: [(&str, &[&str]); 5] = [
    ("check", &["verify", "test", "validate", "compare", "accuracy"]),
    ("inspect", &["info", "show", "print", "summary", "view", "describe", "explain", "dump"]),
    ("run", &["exec", "execute", "infer", "predict", "eval"]),
    ("bench", &["time", "profile", "benchmark", "perf"]),
    ("help", &["usage"]),
];

/// Commands of other compilers that compile.
const COMPILES: [&str; 7] = ["compile", "build", "convert", "generate", "gen", "c", "rust"];

/// True if other compilers call compiling so.
pub(super) fn compiles(word: &str) -> bool {
    COMPILES.contains(&word)
}

/// What to type instead of a word that is no file and no command.
pub(super) fn instead_of(word: &str) -> Option<String> {
    if compiles(word) {
        return Some("a model alone is compiled, cellc MODEL -o FILE.rs or -o FILE.c".to_owned());
    }
    if word == "version" {
        return Some("the version is said by cellc --version".to_owned());
    }
    let meant = meant(word)?;
    let model = if ["help", "man", "completions"].contains(&meant) { "" } else { " MODEL" };
    Some(format!("a similar command is cellc {meant}{model}"))
}

/// The command of cellc that a word stands for; `None` if it is one itself or stands for none.
pub(super) fn meant(word: &str) -> Option<&'static str> {
    let same = COMMANDS.iter().find(|(_, others)| others.contains(&word)).map(|(name, _)| *name);
    let names = COMMANDS.iter().map(|(name, _)| *name).chain(["completions", "man"]);
    let plain = word.len() > 2 && word.chars().all(|c| c.is_ascii_alphabetic());
    let nearest = names
        .map(|name| (name, strsim::jaro(word, name)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .filter(|(name, near)| plain && *near > 0.7 && *name != word);
    same.or(nearest.map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_files_lead_to_commands_that_run() {
        let cases = [
            ("version", "cellc --version"),
            ("build", "cellc MODEL -o FILE.rs or -o FILE.c"),
            ("inspct", "cellc inspect MODEL"),
            ("manual", "cellc man"),
        ];
        for (word, command) in cases {
            let said = instead_of(word).unwrap_or_default();
            assert!(said.ends_with(command), "{word}: {said}");
        }
    }
}
