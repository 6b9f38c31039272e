//! Words by which other tools call what a command of cellc does, and words with typing errors.

/// Commands of other tools, and what of cellc does the same.
const COMMANDS: [(&str, &[&str]); 5] = [
    ("check", &["verify", "test", "validate", "compare", "accuracy"]),
    ("inspect", &["info", "show", "print", "summary", "view", "describe", "explain", "dump"]),
    ("run", &["exec", "execute", "infer", "predict", "eval"]),
    ("bench", &["time", "profile", "benchmark", "perf"]),
    ("help", &["usage"]),
];

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
