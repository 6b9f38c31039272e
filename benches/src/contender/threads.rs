//! Kernels of which a thread on another core does half.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cellc::internals::timing::on_core;

use super::Contender;
use crate::trade::Trade;
use crate::workload::Variant;

/// How long it runs before it is timed: a helper that has gone to sleep since the last turn is no
/// part of that.
const AWAKENING: Duration = Duration::from_micros(500);

/// How long a sample takes beside another thread: several time slices of a scheduler.
const SLICES: Duration = Duration::from_millis(20);

/// A kernel and its helper, alone on the second core or not.
pub(super) struct Helped {
    kernel: Box<dyn Contender>,
    busy: Option<Busy>,
    /// All samples beside another thread: calls and how long they took.
    total: (usize, Duration),
}

impl Helped {
    /// None where no thread can be started, or none can be put on a core.
    pub(super) fn start(
        mut kernel: Box<dyn Contender>,
        busy: bool,
        core: usize,
        own: usize,
    ) -> Option<Box<dyn Contender>> {
        on_core(core, own, || kernel.start_helper()).filter(|started| *started)?;
        let busy = if busy { Some(on_core(core, own, Busy::start)?) } else { None };
        Some(Box::new(Self { kernel, busy, total: (0, Duration::ZERO) }))
    }
}

impl Contender for Helped {
    fn name(&self) -> &str {
        self.kernel.name()
    }

    fn isa(&self) -> Option<&str> {
        self.kernel.isa()
    }

    fn variant(&self) -> Variant {
        self.kernel.variant()
    }

    fn trade(&self) -> Option<Trade> {
        Some(if self.busy.is_some() { Trade::ThreadsBusy } else { Trade::Threads })
    }

    fn reset(&mut self) -> Result<(), String> {
        self.kernel.reset()
    }

    fn call(&mut self) -> Result<Vec<f32>, String> {
        self.kernel.call()
    }

    fn outputs(&self) -> Vec<Vec<f32>> {
        self.kernel.outputs()
    }

    /// Beside another thread a sample is many samples, and what it says is their median.
    fn run(&mut self, calls: usize) -> Result<Duration, String> {
        let Some(busy) = &self.busy else {
            let start = Instant::now();
            while start.elapsed() < AWAKENING {
                self.kernel.run(1)?;
            }
            return self.kernel.run(calls);
        };
        let _at_work = busy.at_work();
        let (start, mut all) = (Instant::now(), Vec::new());
        while all.is_empty() || start.elapsed() < SLICES {
            all.push(self.kernel.run(calls)?);
        }
        self.total.0 += calls * all.len();
        self.total.1 += all.iter().sum::<Duration>();
        all.sort_unstable();
        Ok(all[all.len() / 2])
    }

    fn remark(&self) -> Option<String> {
        let (calls, time) = self.total;
        (calls > 0).then(|| format!("mean {:.1} ns", time.as_secs_f64() * 1e9 / calls as f64))
    }
}

/// A thread that turns in a loop while it is told to.
struct Busy {
    told: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

/// What it is told, and that it is at it.
const REST: u32 = 0;
const BEGIN: u32 = 1;
const BEGUN: u32 = 2;
const END: u32 = 3;

impl Busy {
    fn start() -> Self {
        let told = Arc::new(AtomicU32::new(REST));
        let theirs = Arc::clone(&told);
        let thread = thread::spawn(move || {
            loop {
                match theirs.load(Ordering::Relaxed) {
                    REST => thread::park(),
                    END => return,
                    BEGIN => theirs.store(BEGUN, Ordering::Relaxed),
                    _ => spin_loop(),
                }
            }
        });
        Self { told, thread: Some(thread) }
    }

    fn tell(&self, what: u32) {
        self.told.store(what, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// It has begun, and ends when this is dropped.
    fn at_work(&self) -> AtWork<'_> {
        self.tell(BEGIN);
        while self.told.load(Ordering::Relaxed) != BEGUN {
            spin_loop();
        }
        AtWork(self)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.tell(END);
        if let Some(thread) = self.thread.take() {
            // it cannot panic
            let _ = thread.join();
        }
    }
}

struct AtWork<'a>(&'a Busy);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.tell(REST);
    }
}
