//! Times of kernels relative to the limits of the machine: for `cellc bench`, and for the
//! benchmarks of this repository.

pub mod agreement;
pub mod floor;
pub mod process;
pub mod report;
pub mod turns;

/// A Python script that runs OpenVINO or other libraries in turns, for [`process`].
pub const PYTHON: &str = include_str!("turns.py");

/// Pins this thread and its future children to one core: `core`, or the last core by default.
/// Returns the core. `None` if impossible.
pub fn pin(core: Option<usize>) -> Option<usize> {
    Cores::pin(core).map(|cores| cores.first)
}

/// The cores of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// This thread's core.
    pub first: usize,
    /// Another available core. `None` on a single core.
    pub second: Option<usize>,
}

impl Cores {
    /// Pins this thread like [`pin`], and finds a second core. `None` if pinning is impossible.
    pub fn pin(core: Option<usize>) -> Option<Self> {
        let ids: Vec<usize> =
            core_affinity::get_core_ids()?.into_iter().map(|core| core.id).collect();
        let first = core.or(ids.last().copied()).filter(|core| ids.contains(core))?;
        put_on(first)
            .then_some(Self { first, second: ids.into_iter().rev().find(|core| *core != first) })
    }
}

/// Starts threads pinned to `core`, and returns this thread to the core `own`. `None` if
/// impossible.
pub fn on_core<T>(core: usize, own: usize, start: impl FnOnce() -> T) -> Option<T> {
    let started = put_on(core).then(start);
    // the started threads keep `core`: a thread inherits the cores of its parent
    put_on(own).then_some(started?)
}

fn put_on(core: usize) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id: core })
}
