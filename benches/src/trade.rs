//! What can be chosen that is not the default, and of which workloads it is timed: as data. The
//! build script reads this file too.

use cellc::{Accuracy, Options, Precision, Threads};

use crate::workload::{FADING, WORKLOADS, Workload};

/// One option that is not the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trade {
    /// `--precision`
    Precision(Precision),
    /// `--accuracy`
    Activations(Accuracy),
    /// `--threads 2`
    Threads,
    /// The same, while another thread keeps the helper's core busy.
    ThreadsBusy,
    /// `--keep-denormals`
    Keep,
}

use Trade::{Keep, Threads as Two, ThreadsBusy};

const F16: Trade = Trade::Precision(Precision::F16);
const BF16: Trade = Trade::Precision(Precision::Bf16);
const INT16: Trade = Trade::Precision(Precision::Int16);
const INT8X16: Trade = Trade::Precision(Precision::Int8x16);
const INT8: Trade = Trade::Precision(Precision::Int8);
const FAST: Trade = Trade::Activations(Accuracy::Fast);
const AUDIO: Trade = Trade::Activations(Accuracy::Audio);

/// The trades of a workload, by its name.
const TRADES: [(&str, &[Trade]); 9] = [
    ("GRU 16 -> 128", &[F16, BF16, INT16, INT8X16, INT8]),
    ("GRU 256 -> 256", &[F16, BF16, INT16, INT8X16, INT8, Two, ThreadsBusy]),
    ("GRU 512 -> 512", &[F16, BF16, INT16, INT8X16, INT8, Two, ThreadsBusy]),
    ("GRU 1024 -> 1024", &[F16, BF16, INT16, INT8X16, INT8]),
    ("GRU 16 -> 128, batch 32", &[INT8]),
    ("LSTM 256 -> 256", &[Two, ThreadsBusy]),
    ("GRU 1 -> 8", &[FAST, AUDIO]),
    ("LSTM 1 -> 40, dense", &[FAST, AUDIO]),
    (FADING.name, &[Keep]),
];

/// Without the feature `trades`, so that tests see something of all this in little time.
const FEW: [(&str, &[Trade]); 1] = [("GRU 1 -> 8", &[FAST, INT8, Two])];

/// Whether all are compiled.
pub(crate) const ALL_TRADES: bool = cfg!(feature = "trades");

/// The workloads that are compiled with options too, and the trades of each.
pub(crate) fn trades() -> impl Iterator<Item = (&'static Workload, &'static [Trade])> {
    let list: &[(&str, &[Trade])] = if ALL_TRADES { &TRADES } else { &FEW };
    let workload =
        |name| WORKLOADS.iter().chain([&FADING]).find(move |workload| workload.name == name);
    list.iter().filter_map(move |(name, trades)| Some((workload(*name)?, *trades)))
}

impl Trade {
    /// The options.
    pub(crate) fn options(self) -> Options {
        let mut options = Options::default();
        match self {
            Self::Precision(precision) => options.numerics.precision = Some(precision),
            Self::Activations(accuracy) => options.numerics.accuracy = accuracy,
            Self::Threads | Self::ThreadsBusy => options.machine.threads = Threads::Two,
            Self::Keep => options.numerics.keep_denormals = true,
        }
        options
    }

    /// What it is called in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Precision(precision) => precision.name(),
            Self::Activations(accuracy) => accuracy.name(),
            Self::Threads => "two threads",
            Self::ThreadsBusy => "two threads, busy",
            Self::Keep => "keep denormals",
        }
    }
}
