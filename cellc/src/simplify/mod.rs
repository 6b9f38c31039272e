//! Passes that remove operations from core models and keep the results.

mod sweep;

pub(crate) use sweep::{needed, sweep};
