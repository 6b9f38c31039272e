//! Handles SIGINT and SIGTERM: temporary files are removed before the process ends.

use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::temporary;

/// Removes the temporary files once a signal arrives; then the signal ends the process as usual.
pub(super) fn watch() {
    // If no handler can be installed, a later process of cellc removes the files.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            temporary::remove_all();
            _ = emulate_default_handler(signal);
        }
    });
}
