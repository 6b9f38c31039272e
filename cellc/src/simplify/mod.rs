//! Passes from core models to core models that compute the same with fewer operations.

mod sweep;

pub(crate) use sweep::{needed, sweep};
