//! Names of inputs and outputs as evidence of states.

/// Words that mark the state before a call: `state_in`, `past_key`.
const BEFORE: &[&str] = &[
    "in", "input", "i", "prev", "previous", "old", "past", "initial", "init", "cur", "current",
    "last",
];

/// Words that mark the state after a call: `state_out`, `new_cache`, `hn`.
const AFTER: &[&str] = &[
    "out", "output", "o", "new", "next", "present", "updated", "update", "last", "final", "n", "t",
    "nxt", "after",
];

/// Words of an output that mark a state even if the input's name has no mark.
const SURELY_AFTER: &[&str] = &["new", "next", "nxt", "present", "updated", "n"];

/// Words of states. If two names differ only in marks, a common word of this list makes them names
/// of one state.
const STATE: &[&str] = &[
    "state", "states", "hidden", "h", "c", "cell", "cache", "caches", "cached", "buf", "buffer",
    "buffers", "mem", "memory", "hist", "history", "kv", "key", "value", "k", "v", "carry", "ctx",
    "context", "lstm", "gru", "rnn", "conv", "delay", "tail", "accum", "acc", "ema", "avg",
    "average", "window", "fifo", "queue", "overlap", "ring", "spk", "syn",
];

/// Words of an input that name a state, regardless of the output's name.
const SURELY_STATE: &[&str] = &[
    "state", "states", "cache", "caches", "cached", "buf", "buffer", "buffers", "hist", "history",
    "carry", "delay", "fifo", "rnn", "gru", "lstm", "ema", "accum", "hx", "cx",
];

/// Words that name data read or computed by a network, never a state.
const DATA: &[&str] = &[
    "x",
    "y",
    "input",
    "inputs",
    "output",
    "outputs",
    "in",
    "out",
    "data",
    "src",
    "tgt",
    "audio",
    "wav",
    "speech",
    "noisy",
    "clean",
    "signal",
    "image",
    "images",
    "img",
    "frame",
    "frames",
    "pixel",
    "pixels",
    "mel",
    "spec",
    "spectrogram",
    "feature",
    "features",
    "feat",
    "feats",
    "sample",
    "samples",
    "token",
    "tokens",
    "embedding",
    "embeddings",
    "embeds",
    "obs",
    "observation",
    "action",
    "actions",
    "logits",
    "logit",
    "probs",
    "prob",
    "mask",
    "masks",
    "pred",
    "prediction",
    "score",
    "scores",
    "reward",
    "mean",
    "std",
    "noise",
    "latent",
    "latents",
    "query",
    "enhanced",
    "target",
    "result",
    "encoder",
    "attention",
    "add",
    "residual",
    "skip",
];

/// The words of a name in lower case: `convCache_0` has `conv`, `cache` and `0`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for letter in name.chars() {
        let starts = !before.is_alphanumeric()
            || before.is_ascii_digit() != letter.is_ascii_digit()
            || (before.is_lowercase() && letter.is_uppercase());
        before = letter;
        if !letter.is_alphanumeric() {
            continue;
        }
        if starts {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.into_iter().flat_map(taken_apart).collect()
}

/// Splits a word like `hn`, `cx` or `stateout` into the word of a state and the mark. Returns other
/// words unchanged.
fn taken_apart(word: String) -> Vec<String> {
    let marks = BEFORE.iter().chain(AFTER).chain(&["x"]);
    for mark in marks {
        if let Some(state) = word.strip_suffix(mark)
            && (STATE.contains(&state) && !STATE.contains(&word.as_str()))
        {
            return vec![state.to_owned(), (*mark).to_owned()];
        }
    }
    vec![word]
}

/// The names of one tensor, each as a list of words.
pub(crate) struct NameWords(Vec<Vec<String>>);

impl NameWords {
    pub(crate) fn new(names: &[String]) -> Self {
        Self(names.iter().map(|name| words(name)).collect())
    }

    /// True if one of the names consists of words for data alone.
    pub(super) fn are_data(&self) -> bool {
        self.0.iter().any(|words| {
            !words.is_empty() && words.iter().all(|word| DATA.contains(&word.as_str()))
        })
    }

    /// True if one of the names is the name of a state, whatever the output's name is.
    pub(super) fn are_surely_state(&self) -> bool {
        self.0.iter().any(|words| {
            let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
            let data =
                |word: &String| DATA.contains(&word.as_str()) && !BEFORE.contains(&word.as_str());
            let hidden_states = has(&["hidden"]) && has(&["states"]);
            let crossed = words.first().is_some_and(|word| word == "h" || word == "c")
                && words.get(1).is_some_and(|w| w == "x");
            (has(SURELY_STATE) || crossed) && !hidden_states && (crossed || !words.iter().any(data))
        })
    }

    /// True if one of the names has a word of [`DATA`] with a meaning of its own, such as `logits`,
    /// unlike `x` or `output`.
    pub(super) fn are_findings(&self) -> bool {
        let plain = ["x", "y", "in", "out", "input", "inputs", "output", "outputs", "add"];
        let finding =
            |word: &String| DATA.contains(&word.as_str()) && !plain.contains(&word.as_str());
        self.0.iter().any(|words| words.iter().any(finding))
    }

    /// True if a name of this input and a name of the output `after` are the names of one state,
    /// before and after a call.
    pub(crate) fn become_names(&self, after: &Self) -> bool {
        self.0.iter().any(|before| after.0.iter().any(|after| become_words(before, after)))
    }
}

fn become_words(before: &[String], after: &[String]) -> bool {
    let keys = stems(before, BEFORE);
    let common = stems(after, AFTER).into_iter().find(|stem| keys.contains(stem));
    let Some(stem) = common else { return false };
    let has =
        |words: &[String], list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let named = stem.iter().any(|word| STATE.contains(&word.as_str()));
    let of_data =
        stem.iter().all(|word| DATA.contains(&word.as_str()) || word.parse::<u32>().is_ok());
    let hidden_states =
        has(before, &["hidden"]) && has(before, &["states"]) && !has(before, &["in"]);
    let marked = has(before, BEFORE) && has(after, AFTER) || has(after, SURELY_AFTER);
    !of_data && !hidden_states && (named || marked)
}

/// A name without its marks. If the last word is 0, as in `h0`, the second stem lacks the 0, which
/// marks an initial state.
fn stems(words: &[String], marks: &[&str]) -> Vec<Vec<String>> {
    let rest = |word: &&String| !marks.contains(&word.as_str()) && *word != "x";
    let stem: Vec<String> = words.iter().filter(rest).cloned().collect();
    let mut stems = vec![stem.clone()];
    if let Some((last, front)) = stem.split_last()
        && last == "0"
    {
        stems.push(front.to_vec());
    }
    stems.retain(|stem| !stem.is_empty());
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str) -> NameWords {
        NameWords::new(&[name.to_owned()])
    }

    #[test]
    fn names_of_one_state_before_and_after_a_call() {
        let pairs = "state_in=state_out state=stateN h=hn h0=hn h_in=h_out c0=cn cache=new_cache \
            buf=buf_next past_key.0=present_key.0 hx=hy_h_out mem=mem_out stateIn=stateOut h1=h1n \
            h1=h1_out conv_cache_in=conv_cache_out prev_state=next_state lstm_h_1=lstm_h_1_out \
            statein=stateout foo_in=foo_out foo=new_foo onnx::state=state_1_out hidden=hidden_out \
            i_buf=o_buf";
        let no = ["hx=hy_h_out", "onnx::state=state_1_out"];
        for pair in pairs.split_whitespace() {
            let (before, after) = pair.split_once('=').unwrap();
            assert_eq!(words(before).become_names(&words(after)), !no.contains(&pair), "{pair}");
        }
    }

    #[test]
    fn names_of_data_are_no_states() {
        let pairs = "x=y input=output x_in=x_out x=x_out sample=out_sample mel=mel_out \
            obs=next_obs h1=h2_out h=c_out hidden_states=last_hidden_state audio_in=audio_out \
            enc=enc_out x.1=x.2 input_1=output_1";
        for pair in pairs.split_whitespace() {
            let (before, after) = pair.split_once('=').unwrap();
            assert!(!words(before).become_names(&words(after)), "{pair}");
        }
        for (name, is_state) in
            [("state", true), ("kv_cache", true), ("hx", true), ("hidden_states", false)]
        {
            assert_eq!(words(name).are_surely_state(), is_state, "{name}");
        }
        for (name, is_state) in
            [("x", false), ("memory", false), ("prev_action", false), ("rnn_state_in", true)]
        {
            assert_eq!(words(name).are_surely_state(), is_state, "{name}");
        }
    }
}
