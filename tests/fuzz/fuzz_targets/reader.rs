//! Any bytes as an IR: the reader and the validation refuse or accept, and never panic.
//!
//! ```sh
//! RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir tests/fuzz reader tests/fuzz/corpus/reader tests/corpus -- -max_len=16384 -dict=tests/fuzz/reader.dict
//! ```
//!
//! An input is the text of the `.xml`, then perhaps `SEPARATOR` and the bytes of the `.bin`; see `cellc_fuzz::split`.

#![no_main]

use cellc::internals::front::openvino::read_bytes;
use cellc::Options;
use cellc::internals::compile::core_model;
use cellc_fuzz::split;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (xml, bin) = split(data);
    let (model, warnings) = match read_bytes("model.xml", xml, Some(("model.bin", bin))) {
        Ok(read) => read,
        Err(refusal) => {
            assert!(refusal.has_errors());
            drop(refusal.to_string());
            return;
        }
    };
    drop(warnings.to_string());
    for batch in [None, Some(2)] {
        match core_model(&model, &Options::default().with_batch(batch)) {
            Ok((valid, warnings)) => {
                assert!(!warnings.has_errors());
                drop(warnings.to_string());
                for constant in &valid.constants {
                    let _ = constant.get_f32(constant.len() - 1);
                }
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
