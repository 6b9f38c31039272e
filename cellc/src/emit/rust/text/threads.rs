extern crate std;
use super::Join;

use self::std::hint::spin_loop;
use self::std::mem::forget;
use self::std::sync::Arc;
use self::std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use self::std::thread::{self, JoinHandle};

/// There is no work; the helper spins.
const IDLE: u32 = 0;
/// There is no work; the helper sleeps, or is about to.
const ASLEEP: u32 = 1;
/// There is work. The thread that changes this value does it.
const OFFERED: u32 = 2;
/// The helper does the work.
const TAKEN: u32 = 3;
/// The helper has ended, or has to end.
const ENDED: u32 = 4;

/// Iterations before a spinning thread yields: some microseconds.
const TURNS: u32 = 1 << 7;
/// How often the helper yields before it sleeps.
const YIELDS: u32 = 1 << 6;

/// What both threads access, on its own cache lines.
#[derive(Debug)]
#[repr(align(APART))]
struct Shared {
    /// One of the above.
    state: AtomicU32,
    /// While there is work: points to the caller's reference to it.
    work: AtomicPtr<()>,
}

#[derive(Debug)]
struct Helper {
    shared: Arc<Shared>,
    /// `Some` until it ends.
    thread: Option<JoinHandle<()>>,
}

/// The caller's thread and a helper thread. The first [`Join::join`] starts the helper. Without work it spins for some
/// 50 microseconds, then sleeps; it ends when this is dropped. If it has not begun its half when the caller has finished the
/// other, the caller takes that half over. Memory is allocated only when the helper starts.
///
/// A clone has its own helper.
#[derive(Debug)]
pub struct Pair {
    helper: Option<Helper>,
    /// Whether the helper has been started, or could not be.
    asked: bool,
}

impl Pair {
    /// The helper is not started yet.
    #[must_use]
    pub const fn new() -> Self {
        Pair { helper: None, asked: false }
    }

    /// Starts the helper unless it has been started, so that no step waits for that. Returns `false` if there is no helper;
    /// then the caller does all work.
    pub fn start(&mut self) -> bool {
        if !self.asked {
            self.asked = true;
            let shared = Arc::new(Shared { state: AtomicU32::new(IDLE), work: AtomicPtr::new(&mut ()) });
            let theirs = Arc::clone(&shared);
            let thread = thread::Builder::new().spawn(move || help(&theirs));
            self.helper = thread.ok().map(|thread| Helper { shared, thread: Some(thread) });
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
                // from here on the helper may use the work: it is settled even if `here` panics
                let offer = Offer(&shared.state);
                match &helper.thread {
                    Some(thread) if before == ASLEEP => thread.thread().unpark(),
                    _ => {}
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
    /// Takes the work back, or waits until the helper has finished it. Returns whether the helper has done it.
    fn settle(&self) -> bool {
        if self.0.compare_exchange(OFFERED, IDLE, Ordering::Relaxed, Ordering::Acquire).is_ok() {
            return false;
        }
        let mut turns = 0;
        loop {
            // the helper may need this core
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

/// Work that the helper has begun. It is dropped only if the work panics; the helper then ends.
struct Begun<'a>(&'a AtomicU32);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.store(ENDED, Ordering::Release);
    }
}

/// The loop of the helper.
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
