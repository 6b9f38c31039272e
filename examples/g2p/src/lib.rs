//! How an English word is spoken: letters in, phonemes out.
//!
//! The network reads the letters, and then says one phoneme after the other, of which each is the
//! next input, until it says that the word ends. The loop is in the generated code: a call gives
//! all phonemes of a word. Nothing here needs the standard library or an allocator.
#![no_std]

mod network {
    core::include!(concat!(env!("OUT_DIR"), "/network.rs"));
}

/// The most letters of a word: the network reads one place more, for its end.
pub const LETTERS: usize = 31;

/// The most phonemes of a word.
pub const PHONEMES: usize = 20;

/// What the network says at the end of a word.
const END: usize = 3;

/// The phonemes as the network numbers them, in ARPAbet; a digit is the stress of a vowel.
const NAMES: [&str; 74] = [
    "<pad>", "<unk>", "<s>", "</s>", "AA0", "AA1", "AA2", "AE0", "AE1", "AE2", "AH0", "AH1", "AH2",
    "AO0", "AO1", "AO2", "AW0", "AW1", "AW2", "AY0", "AY1", "AY2", "B", "CH", "D", "DH", "EH0",
    "EH1", "EH2", "ER0", "ER1", "ER2", "EY0", "EY1", "EY2", "F", "G", "HH", "IH0", "IH1", "IH2",
    "IY0", "IY1", "IY2", "JH", "K", "L", "M", "N", "NG", "OW0", "OW1", "OW2", "OY0", "OY1", "OY2",
    "P", "R", "S", "SH", "T", "TH", "UH0", "UH1", "UH2", "UW", "UW0", "UW1", "UW2", "V", "W", "Y",
    "Z", "ZH",
];

/// The network.
#[derive(Clone, Debug, Default)]
pub struct Speaker {
    network: network::Network,
}

/// The phonemes of a word, in order.
#[derive(Clone, Debug)]
pub struct Phonemes {
    numbers: [i64; PHONEMES],
    len: usize,
}

impl Phonemes {
    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let numbers =
            self.numbers[..self.len].iter().filter_map(|&number| usize::try_from(number).ok());
        numbers.filter(|&number| number != END).filter_map(|number| NAMES.get(number).copied())
    }
}

impl Speaker {
    /// Asks the processor once which instructions it has.
    pub fn new() -> Self {
        Self::default()
    }

    /// The phonemes of a word in small or large letters; of a longer one than [`LETTERS`], those of
    /// its beginning.
    pub fn speak(&mut self, word: &str) -> Phonemes {
        // 0 pads, 1 is any other character, 2 ends the word, 3 to 28 are the letters
        let mut letters = [0i64; LETTERS + 1];
        let mut len = 0;
        for (place, character) in letters[..LETTERS].iter_mut().zip(word.chars()) {
            *place = match character.to_ascii_lowercase() {
                letter @ 'a'..='z' => i64::from(u32::from(letter) - u32::from('a')) + 3,
                _ => 1,
            };
            len += 1;
        }
        letters[len] = 2;
        let mut outputs = network::Outputs::new();
        self.network
            .step(&network::Inputs { letters: &letters, length: &[len as i32 + 1] }, &mut outputs);
        let [said] = outputs.phonemes_len;
        Phonemes {
            numbers: outputs.phonemes,
            len: usize::try_from(said).unwrap_or(0).min(PHONEMES),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::Speaker;
    use std::string::String;
    use std::vec::Vec;

    fn spoken(word: &str) -> String {
        Speaker::new().speak(word).names().collect::<Vec<_>>().join(" ")
    }

    /// As `tests/models/g2p.py` computes them in float64.
    #[test]
    fn words_are_spoken_as_in_float64() {
        for (word, phonemes) in [
            ("activationist", "AE2 K T IH0 V EY1 SH AH0 N IH0 S T"),
            ("zebra", "Z EH1 B R AH0"),
            ("gnocchi", "N OW1 CH IY0"),
            ("compiler", "K AH0 M P IH1 L ER0"),
            ("recurrent", "R IH0 K ER1 AH0 N T"),
            ("wugs", "W AH1 G Z"),
            ("xylophonic", "Z AY2 L AH0 F AH0 N AA1 K IH0 NG"),
        ] {
            assert_eq!(spoken(word), phonemes, "{word}");
        }
    }

    #[test]
    fn any_text_is_spoken() {
        let mut speaker = Speaker::new();
        let endless = "antidisestablishmentarian".repeat(3);
        for word in ["", "a", "\u{e9}t\u{e9}", "R2-D2", &endless] {
            assert!(speaker.speak(word).names().count() <= super::PHONEMES, "{word}");
        }
        // the state of one word is not left to the next
        assert_eq!(
            speaker.speak("zebra").names().collect::<Vec<_>>(),
            Speaker::new().speak("zebra").names().collect::<Vec<_>>()
        );
    }
}
