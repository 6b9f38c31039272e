//! How long things take beside what no machine can go below: for `cellc bench` and for this repository's own bench.

pub mod agreement;
pub mod floor;
pub mod process;
pub mod report;
pub mod turns;

/// OpenVINO in Python, and the turns of any library there: for [`process`].
pub const PYTHON: &str = include_str!("timing/turns.py");

/// Keeps this thread, and what it starts from now on, on one core: the last one without a number. `None` where that cannot be had.
pub fn pin(core: Option<usize>) -> Option<usize> {
    let cores = core_affinity::get_core_ids()?;
    let core = match core {
        Some(id) => cores.into_iter().find(|core| core.id == id)?,
        None => cores.into_iter().next_back()?,
    };
    core_affinity::set_for_current(core).then_some(core.id)
}
