//! Networks of convolutions and of functions of each sample, alone or inside other networks.

use super::super::causal::{Causal, Signal};
use super::super::json::Json;
use super::config::Config;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{LedgerEntry, ModelSize};

/// A network that gives as many samples as it reads.
pub(super) trait Network {
    /// Number of input channels.
    fn inputs(&self) -> usize;

    /// Number of output channels.
    fn outputs(&self) -> usize;

    /// Number of values of earlier samples that the network keeps.
    fn past(&self) -> u64;

    /// Adds the network. `prefix`: the beginning of names of nodes.
    fn add(&self, net: &mut Causal, prefix: &str, x: &Signal) -> Signal;
}

/// The reader of an architecture. Arguments: the configuration, the weights, the state of reading.
pub(super) type Reader = fn(Config, Vec<f32>, &mut Outer) -> Result<Box<dyn Network>, Diagnostic>;

/// The file of the network that is read, and the state of reading.
pub(super) struct Outer {
    /// Samples per second. `None` if the file does not say.
    pub sample_rate: Option<Json>,
    /// Entries about the network and about nested models.
    pub ledger: Vec<LedgerEntry>,
    pub warnings: Diagnostics,
    /// The size to compile, until a reader takes it.
    pub size: Option<ModelSize>,
    /// Number of models around the model that is read.
    pub depth: usize,
    /// The reader of an architecture by its name. `None` for an unknown architecture.
    pub reader: fn(&str) -> Option<Reader>,
}
