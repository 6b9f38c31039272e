//! Keras models in HDF5 files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes per read.
const BLOCK: usize = 1 << 16;

/// Keras's attribute for the configuration of a whole model.
const CONFIGURATION: &[u8] = b"model_config";

/// True if the bytes of a file contain the name of the attribute with a Keras model's
/// configuration.
pub(super) fn has_model(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    loop {
        // the name may cross the border of two blocks
        bytes.drain(..bytes.len().saturating_sub(CONFIGURATION.len()));
        if file.by_ref().take(BLOCK as u64).read_to_end(&mut bytes)? == 0 {
            return Ok(false);
        }
        if bytes.windows(CONFIGURATION.len()).any(|window| window == CONFIGURATION) {
            return Ok(true);
        }
    }
}
