//! Synonyms of cellc's commands in other tools, and misspelt words.

/// Commands of cellc, and other tools' commands with the same purpose.
const COMMANDS: [(&str, &[&str]); 5] = [
    ("check", &["verify", "test", "validate", "compare", "accuracy"]),
    ("inspect", &["info", "show", "print", "summary", "view", "describe", "explain", "dump"]),
    ("run", &["exec", "execute", "infer", "predict", "eval"]),
    ("bench", &["time", "profile", "benchmark", "perf"]),
    ("help", &["usage"]),
];

/// Other compilers' commands for compiling.
const COMPILES: [&str; 7] = ["compile", "build", "convert", "generate", "gen", "c", "rust"];

/// True for another compiler's command for compiling.
pub(super) fn compiles(word: &str) -> bool {
    COMPILES.contains(&word)
}

/// A suggestion for a word that is neither a file nor a command.
pub(super) fn instead_of(word: &str) -> Option<String> {
    if compiles(word) {
        return Some("a model alone is compiled, cellc MODEL -o FILE.rs or -o FILE.c".to_owned());
    }
    if word == "version" {
        return Some("the version is said by cellc --version".to_owned());
    }
    let command = command_for(word)?;
    let model = if ["help", "man", "completions"].contains(&command) { "" } else { " MODEL" };
    Some(format!("a similar command is cellc {command}{model}"))
}

/// The command that a synonym or a misspelt word stands for. `None` for other words and for
/// commands themselves.
pub(super) fn command_for(word: &str) -> Option<&'static str> {
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
            let advice = instead_of(word).unwrap_or_default();
            assert!(advice.ends_with(command), "{word}: {advice}");
        }
    }
}
