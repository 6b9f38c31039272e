//! Any bytes as an ONNX file: the reader and the validation refuse or accept, and never panic.
//!
//! ```sh
//! RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir tests/fuzz onnx tests/fuzz/corpus/onnx SEEDS -- -max_len=16384
//! ```
//!
//! `SEEDS` is a folder with copies of the small files `model.onnx` of `tests/onnx`.

#![no_main]

use cellc::Options;
use cellc::internals::front::onnx::read_bytes;
use cellc::internals::compile::core_model;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (model, problems) = match read_bytes("model.onnx", data) {
        Ok(read) => read,
        Err(refusal) => {
            assert!(refusal.has_errors());
            drop(refusal.to_string());
            return;
        }
    };
    drop(problems.to_string());
    for batch in [None, Some(2)] {
        match core_model(&model, &Options::default().with_batch(batch)) {
            Ok((valid, warnings)) => {
                assert!(!warnings.has_errors());
                for result in &valid.results {
                    assert_eq!(valid.shape(result.source), result.shape);
                }
            }
            Err(refusal) => {
                assert!(refusal.has_errors());
                drop(refusal.to_string());
            }
        }
    }
});
