//! Prints how words are spoken: `cargo run --release -p example-g2p -- zebra compiler`.

use example_g2p::Speaker;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() {
        eprintln!("usage: example-g2p WORD...");
        std::process::exit(2);
    }
    let mut speaker = Speaker::new();
    for word in words {
        let phonemes: Vec<&str> = speaker.speak(&word).names().collect();
        println!("{word}: {}", phonemes.join(" "));
    }
}
