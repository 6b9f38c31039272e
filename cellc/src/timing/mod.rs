//! How long things take beside what no machine can go below: for `cellc bench` and for this
//! repository's own bench.

pub mod agreement;
pub mod floor;
pub mod process;
pub mod report;
pub mod turns;

/// OpenVINO in Python, and the turns of any library there: for [`process`].
pub const PYTHON: &str = include_str!("turns.py");

/// Keeps this thread, and what it starts from now on, on one core: the last one without a number.
/// `None` where that cannot be had.
pub fn pin(core: Option<usize>) -> Option<usize> {
    Cores::pin(core).map(|cores| cores.first)
}

/// Where it runs.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// This thread's core.
    pub first: usize,
    #[cfg(feature = "internals")]
    /// Another that it might have had, if there is one.
    pub second: Option<usize>,
}

impl Cores {
    /// As [`pin`].
    pub fn pin(core: Option<usize>) -> Option<Self> {
        let ids: Vec<usize> = core_affinity::get_core_ids()?.into_iter().map(|core| core.id).collect();
        let first = core.or(ids.last().copied()).filter(|core| ids.contains(core))?;
        put_on(first).then_some(Self {
            first,
            #[cfg(feature = "internals")]
            second: ids.into_iter().rev().find(|core| *core != first),
        })
    }
}

#[cfg(feature = "internals")]
/// Starts threads that stay on a core, from a thread that goes back to its own. `None` where that
/// cannot be had.
pub fn on_core<T>(core: usize, own: usize, start: impl FnOnce() -> T) -> Option<T> {
    let started = put_on(core).then(start);
    // a thread inherits the cores of the one that starts it
    put_on(own).then_some(started?)
}

fn put_on(core: usize) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id: core })
}
