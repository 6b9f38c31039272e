//! Display of progress on a terminal.

use std::borrow::Cow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::console;

/// A line on standard error, if it is a terminal. The line is removed on drop.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Shows the first stage.
    pub(crate) fn start(stage: impl Into<Cow<'static, str>>) -> Self {
        if console::is_quiet() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner().with_message(stage);
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// Shows the next stage.
    pub(crate) fn stage(&self, stage: impl Into<Cow<'static, str>>) {
        self.0.set_message(stage);
    }

    /// Shows the next stage with a count of its steps.
    pub(crate) fn count(&self, stage: impl Into<Cow<'static, str>>, steps: usize) {
        let style = ProgressStyle::with_template("{spinner} {msg} {pos}/{len}")
            .expect("a fixed template is right");
        self.0.set_style(style);
        self.0.set_length(steps as u64);
        self.0.set_position(0);
        self.0.set_message(stage);
    }

    /// Advances the count by one.
    pub(crate) fn advance(&self) {
        self.0.inc(1);
    }

    /// Runs `print` while the line is hidden.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
