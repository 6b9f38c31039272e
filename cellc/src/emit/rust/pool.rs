//! Where the halves of a cell run: a trait for the caller's own pool, and a pair of threads for those who have none.

use std::fmt::Write;

use super::lints::{UNUSED, UNUSED_IMPORT, UNUSED_STYLE};

/// The trait and its implementation by threads of std; `cut` where no state has brought that along.
pub(super) fn items(cut: &str) -> String {
    let mut out = JOIN.replace("UNUSED", UNUSED);
    let _ = writeln!(out, "{UNUSED_IMPORT}\npub use self::threads::Pair;\n{UNUSED_STYLE}\nmod threads {{");
    out.push_str(PAIR);
    out.push_str("}\n");
    out.push_str(cut);
    out
}

const JOIN: &str = "/// Where the two halves of a cell run: at the same time, if it can. [`Pair`] does; so would a thread pool that is there already.
UNUSED
pub trait Join {
    /// Calls both, each once, on whatever threads, and returns when both have returned.
    fn join(&mut self, here: &mut (dyn FnMut() + Send), there: &mut (dyn FnMut() + Send));
}
";

const PAIR: &str = "
extern crate std;
use super::Join;
use self::std::hint::spin_loop;
use self::std::mem::forget;
use self::std::sync::Arc;
use self::std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use self::std::thread::{self, JoinHandle};

/// Nothing to do; the helper waits in a loop.
const IDLE: u32 = 0;
/// Nothing to do; the helper sleeps, or is about to.
const ASLEEP: u32 = 1;
/// There is work, which whoever changes this may do.
const OFFERED: u32 = 2;
/// The helper is at it.
const TAKEN: u32 = 3;
/// The helper has ended, or is to end.
const ENDED: u32 = 4;

/// Turns of a loop before a thread that waits lets others run: some microseconds.
const TURNS: u32 = 1 << 7;
/// How often the helper lets others run before it sleeps.
const YIELDS: u32 = 1 << 6;

/// What both threads see; on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Shared {
    /// One of the above.
    state: AtomicU32,
    /// While there is work: where the caller keeps its reference to it.
    work: AtomicPtr<()>,
}

#[derive(Debug)]
struct Helper {
    shared: Arc<Shared>,
    /// There until it ends.
    thread: Option<JoinHandle<()>>,
}

/// The caller's thread and a helper. The helper is started by the first [`Join::join`], waits for work in a loop for some
/// 50 microseconds at a time, then sleeps, and ends when this is dropped. What it has not begun when the caller has done its own
/// part, the caller takes over. Nothing is allocated but at the start.
///
/// A clone starts a helper of its own.
#[derive(Debug)]
pub struct Pair {
    helper: Option<Helper>,
    /// Whether a thread has been asked for.
    asked: bool,
}

impl Pair {
    /// Without a helper yet.
    #[must_use]
    pub const fn new() -> Self {
        Pair { helper: None, asked: false }
    }

    /// Starts the helper, where none has been started, so that no step waits for it. `false`: there is none, and the caller does
    /// all work.
    pub fn start(&mut self) -> bool {
        if !self.asked {
            self.asked = true;
            let shared = Arc::new(Shared { state: AtomicU32::new(IDLE), work: AtomicPtr::new(&mut ()) });
            let theirs = Arc::clone(&shared);
            let thread = thread::Builder::new().spawn(move || help(&theirs));
            self.helper = thread.ok().map(|thread| Helper { shared: shared, thread: Some(thread) });
        }
        self.helper.is_some()
    }
}

impl Default for Pair {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Pair {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.shared.state.store(ENDED, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Join for Pair {
    fn join(&mut self, here: &mut (dyn FnMut() + Send), mut there: &mut (dyn FnMut() + Send)) {
        self.start();
        let mut done = false;
        match &self.helper {
            None => here(),
            Some(helper) => {
                let shared = &*helper.shared;
                let work: *mut &mut (dyn FnMut() + Send) = &mut there;
                shared.work.store(work as *mut (), Ordering::Relaxed);
                let before = shared.state.swap(OFFERED, Ordering::AcqRel);
                // from here on the work may be in use: settled even where `here` panics
                let offer = Offer(&shared.state);
                if before == ASLEEP {
                    if let Some(thread) = &helper.thread {
                        thread.thread().unpark();
                    }
                }
                here();
                done = offer.settle();
                forget(offer);
            }
        }
        if !done {
            there();
        }
    }
}

/// Work that the helper may have begun.
struct Offer<'a>(&'a AtomicU32);

impl Offer<'_> {
    /// Takes it back, or waits for its end; then the helper has no use for it any more. Whether the helper has done it.
    fn settle(&self) -> bool {
        if self.0.compare_exchange(OFFERED, IDLE, Ordering::Relaxed, Ordering::Acquire).is_ok() {
            return false;
        }
        let mut turns = 0;
        loop {
            // where the helper shares the caller's core, it needs it
            match self.0.load(Ordering::Acquire) {
                TAKEN if turns < TURNS => {
                    turns += 1;
                    spin_loop();
                }
                TAKEN => thread::yield_now(),
                state => return state != ENDED,
            }
        }
    }
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        self.settle();
    }
}

/// Work that the helper has begun: dropped only where it panics, as then the helper ends.
struct Begun<'a>(&'a AtomicU32);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.store(ENDED, Ordering::Release);
    }
}

/// What the helper does.
fn help(shared: &Shared) {
    let state = &shared.state;
    let mut turns = 0;
    loop {
        match state.load(Ordering::Relaxed) {
            OFFERED => {
                if state.compare_exchange(OFFERED, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    let begun = Begun(state);
                    let work = shared.work.load(Ordering::Relaxed) as *mut &mut (dyn FnMut() + Send);
                    // SAFETY: `work` was stored before OFFERED, which was acquired. What it points to outlives TAKEN and is used
                    // by nobody else: `Offer::settle`, without which `join` does not end, waits for another state
                    unsafe { (*work)() };
                    forget(begun);
                    state.store(IDLE, Ordering::Release);
                    turns = 0;
                }
            }
            ENDED => return,
            _ if turns < TURNS => {
                turns += 1;
                spin_loop();
            }
            _ if turns < TURNS + YIELDS => {
                turns += 1;
                thread::yield_now();
            }
            _ => {
                if state.compare_exchange(IDLE, ASLEEP, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    while state.load(Ordering::Relaxed) == ASLEEP {
                        thread::park();
                    }
                }
                turns = 0;
            }
        }
    }
}
";
