//! Who is timed: anything that can run a workload call by call.

mod c;
mod naive;
mod onnx;
mod peer;
mod rust;
mod threads;

use std::path::PathBuf;
use std::time::Duration;

use cellc::Options;
use cellc::internals::compile::core_model;
use cellc::internals::core::CoreModel;
use cellc::internals::front::formats::{self, ReadOptions};
use cellc::internals::timing::Cores;

use crate::trade::Trade;
use crate::workload::{Variant, Workload};

/// One implementation of one workload, with its state, over the workload's inputs again and again.
pub(crate) trait Contender {
    /// The language or library.
    fn name(&self) -> &str;

    /// The instruction set, if it is known: the floor that it is held against.
    fn isa(&self) -> Option<&str> {
        None
    }

    /// Its version, of another's library.
    fn version(&self) -> &str {
        ""
    }

    /// What it computes.
    fn variant(&self) -> Variant {
        Variant::Itself
    }

    /// What was chosen that is not the default.
    fn trade(&self) -> Option<Trade> {
        None
    }

    /// Starts the thread that takes half of the work, where there is one: whether it runs.
    fn start_helper(&mut self) -> bool {
        false
    }

    /// State zero, the first input.
    fn reset(&mut self) -> Result<(), String>;

    /// One call: the output.
    fn call(&mut self) -> Result<Vec<f32>, String>;

    /// Every output of the last call, in the order of the model; none of another's library.
    fn outputs(&self) -> Vec<Vec<f32>> {
        Vec::new()
    }

    /// Several calls: how long they took.
    fn run(&mut self, calls: usize) -> Result<Duration, String>;

    /// What else was found while it ran.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// The OpenVINO IR that the build wrote; its weights are beside it.
pub(crate) fn model_file(workload: &Workload, variant: Variant) -> PathBuf {
    PathBuf::from(concat!(env!("OUT_DIR"), "/")).join(workload.file(variant) + ".xml")
}

/// The model that the build wrote.
///
/// # Errors
/// If it is gone.
pub(crate) fn model(workload: &Workload, variant: Variant) -> Result<CoreModel, String> {
    let model = formats::read(&model_file(workload, variant), &ReadOptions::default())
        .map_err(|error| error.to_string())?
        .model;
    Ok(core_model(&model, &Options::default()).map_err(|error| error.to_string())?.0)
}

/// Which of so many inputs a call takes: one after the other, and those after the first `lead_in`
/// again and again.
pub(crate) fn place(call: usize, inputs: usize, lead_in: usize) -> usize {
    if call < inputs { call } else { lead_in + (call - lead_in) % (inputs - lead_in) }
}

/// Kernels of cellc with default options, then with each trade; where two threads share the work,
/// the helper runs on the second core.
pub(crate) fn traded(
    workload: &Workload,
    trades: &[Trade],
    cores: &Cores,
) -> Vec<Box<dyn Contender>> {
    let kernels = |trade: Option<Trade>| {
        let mut all = rust::kernels(workload);
        all.extend(c::kernels(workload));
        all.into_iter()
            .filter(move |kernel| kernel.trade() == trade && kernel.variant() == Variant::Itself)
    };
    let mut all: Vec<_> = kernels(None).collect();
    for &trade in trades {
        match (trade, cores.second) {
            (Trade::Threads | Trade::ThreadsBusy, Some(core)) => {
                for kernel in kernels(Some(Trade::Threads)) {
                    all.extend(threads::Helped::start(
                        kernel,
                        trade == Trade::ThreadsBusy,
                        core,
                        cores.first,
                    ));
                }
            }
            // two threads on one core would only wait for each other
            (Trade::Threads | Trade::ThreadsBusy, None) => {}
            _ => all.extend(kernels(Some(trade))),
        }
    }
    all
}

/// Everyone of this repository who computes a workload with default options.
pub(crate) fn contenders(workload: &Workload) -> Vec<Box<dyn Contender>> {
    let mut all = rust::kernels(workload);
    all.extend(c::kernels(workload));
    all.retain(|kernel| kernel.trade().is_none());
    // where a call takes tens of milliseconds, the rounds are better spent
    if let Some(cell) = workload.cell().filter(|_| workload.multiply_adds() < 2_000_000) {
        all.push(Box::new(naive::Naive::new(workload, cell)));
    }
    all
}

/// Other libraries, and the files that they read.
pub(crate) struct Peers {
    pub(crate) all: Vec<Box<dyn Contender>>,
    /// Who does not take part, and why.
    pub(crate) absent: Vec<(String, String)>,
    _files: peer::Files,
}

impl Peers {
    /// Those that are installed.
    ///
    /// # Errors
    /// If their files cannot be written.
    pub(crate) fn start(workload: &Workload) -> Result<Self, String> {
        let files = peer::Files::new(workload)
            .map_err(|error| format!("files for other libraries: {error}"))?;
        let (all, absent) = peer::peers(workload, &files);
        Ok(Self { all, absent, _files: files })
    }
}

/// Whether the build found a C compiler.
pub(crate) const HAS_C: bool = cfg!(c_kernels);
